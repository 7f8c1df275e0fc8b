#!/usr/bin/env bats
# nb-gen orbits: bodies by the elements of their orbits.
# as a filter: none

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# elements ABOUT ID: a, e, i, Omega, omega and M of the frame on stdin
elements() { nb-stats --orbits "id:$1" --format tsv | awk -F '\t' -v id="$2" '$3 == id { print $4, $5, $6, $7, $8, $9 }'; }

# are 'NUMBERS' 'NUMBERS': each is within 1e-9 of the other
are() {
	paste -d ' ' <(tr ' ' '\n' <<<"$1") <(tr ' ' '\n' <<<"$2") | awk '
		{ d = $1 - $2; if (d < 0) d = -d; if (NF != 2 || !(d <= 1e-9 * (1 + ($1 < 0 ? -$1 : $1)))) { print; exit 1 } }'
}

@test "the elements of a planet, a comet on a hyperbola and a moon come back" {
	nb-gen orbits 'm=1; m=1e-3 a=1.5 e=0.1 i=30 Omega=20 omega=40 M=77;
		m=1e-9 P=0.1 e=0.97 about=1 i=120 Omega=330 omega=200 M=359; a=-3 e=1.5 i=10 Omega=1 omega=2 M=-300 about=0' >o.nb
	are "$(elements 0 1 <o.nb)" '1.5 0.1 30 20 40 77'
	are "$(elements 1 2 <o.nb | cut -d ' ' -f 2-)" '0.97 120 330 200 359'
	close_to "$(awk 'BEGIN { pi = 4 * atan2(1, 1); printf "%.17g", ((1e-3 + 1e-9) * (0.1 / 2 / pi) ^ 2) ^ (1 / 3) }')" \
		"$(elements 1 2 <o.nb | cut -d ' ' -f 1)" 1e-12
	are "$(elements 0 3 <o.nb)" '-3 1.5 10 1 2 -300'
	# by the true anomaly: tan(f/2) = sqrt((e + 1) / (e - 1)) tanh(F/2) for F = 1, and M = e sinh F - F; E = 1 with tan
	f=$(awk 'BEGIN { t = (exp(1) - 1) / (exp(1) + 1) * sqrt(5); printf "%.17g", 2 * atan2(t, 1) * 45 / atan2(1, 1) }')
	M=$(awk 'BEGIN { printf "%.17g", (1.5 * (exp(1) - exp(-1)) / 2 - 1) * 45 / atan2(1, 1) }')
	are "$(nb-gen orbits "m=1; a=-3 e=1.5 f=$f" | elements 0 1)" "-3 1.5 0 0 0 $M"
	f=$(awk 'BEGIN { printf "%.17g", 2 * atan2(sqrt(3) * sin(0.5), cos(0.5)) * 45 / atan2(1, 1) }')
	M=$(awk 'BEGIN { printf "%.17g", (1 - 0.5 * sin(1)) * 45 / atan2(1, 1) }')
	are "$(nb-gen orbits "m=1; a=3 e=0.5 i=90 Omega=5 omega=6 f=$f" | elements 0 1)" "3 0.5 90 5 6 $M"
	# hyperbolas that are almost parabolas, from a very small anomaly to a large one
	for M in 1e-6 -0.005 0.3 -20 4e4; do
		are "$(nb-gen orbits "m=1; a=-1 e=1.0000001 omega=40 M=$M" | elements 0 1 | cut -d ' ' -f 2,6)" "1.0000001 $M"
	done
}

@test "an orbit is about the centre of mass of all bodies before, which is at rest in the origin with all" {
	nb-gen orbits --G 2 'm=3; m=1 a=1; m=4 a=8 e=0.25 ; ' >o.nb
	mutate show mass pos vel <o.nb | awk '
		{ m[NR] = $1; x[NR] = $2; y[NR] = $3; v[NR] = $6; M += $1; X += $1 * $2; Y += $1 * $3; V += $1 * $6 }
		END {
			q = x[3] - (3 * x[1] + x[2]) / 4; u = v[3] - (3 * v[1] + v[2]) / 4
			r = x[2] - x[1]; w = v[2] - v[1]
			print q, u, r, w, X, Y, V
			ok = q - 6 < 1e-14 && 6 - q < 1e-14 && u * u - 16 * (2 / 6 - 1 / 8) < 1e-14 && 16 * (2 / 6 - 1 / 8) - u * u < 1e-14
			ok = ok && r - 1 < 1e-14 && 1 - r < 1e-14 && w * w - 8 < 1e-14 && 8 - w * w < 1e-14
			exit !(ok && X * X < 1e-28 && Y * Y < 1e-28 && V * V < 1e-28 && NR == 3) }'
	nb-stats --attributes o.nb >attributes
	grep -qx 'G=2' attributes
	grep -qx 'units=G=2 M=8' attributes
	grep -qx 'model=orbits' attributes
	# one body, without a mass; radii, and none
	[ "$(nb-gen orbits 'm=0' | mutate show mass pos vel)" = '0.0 0.0 0.0 0.0 0.0 0.0 0.0' ]
	run ! grep -q radius <(nb-stats --fields o.nb)
	[ "$(nb-gen orbits --precision f64 'm=1 r=0.5; a=1;a=2 r=0.25' | mutate show radius | paste -sd ' ')" = '0.5 0.0 0.25' ]
	nb-gen orbits --precision f32 "m=1$(for k in {1..63}; do printf '; a=%d' "$k"; done)" | nb-stats --check
	nb-gen orbits -n 2 'm=1; a=1' | nb-stats --check
	nb-gen orbits 'm=1; m=1e-3 a=1' | nb-step --integrator whfast -d 0.1 -k 3 nb-force | nb-stats --check
}

@test "bad elements are refused with the number of the body" {
	local text want
	while IFS='|' read -r text want; do
		fails_with 2 "$want" "nb-gen orbits '$text'"
	done <<-'END'
		|orbits: body 0 has no elements
		m=1;; a=1|orbits: body 1 has no elements
		m=1 a=3|orbits: body 0 has no orbit
		m=-1|orbits: body 0: m must be at least 0
		m=1 r=-1|orbits: body 0: r must be at least 0
		m=1; e=0.5|orbits: body 1: a or P is missing
		m=1; a=1 P=2|orbits: body 1: a and P exclude each other
		m=1; P=-2|orbits: body 1: P must be above 0
		m=1; P=2 e=2|orbits: body 1: an orbit with e above 1 has no P
		m=1; a=1 e=-0.1|orbits: body 1: e must be at least 0
		m=1; a=1 e=1|orbits: body 1: e must not be 1
		m=1; a=1; a=0|orbits: body 2: a must be above 0 where e is below 1
		m=1; a=1 e=1.5|orbits: body 1: a must be below 0 where e is above 1
		m=1; a=-1 e=2 f=121|orbits: body 1: f is beyond the end of the hyperbola
		m=1; a=1 M=3 f=3|orbits: body 1: M and f exclude each other
		m=1; a=1 a=1|orbits: body 1: 'a' is given twice
		m=1; a=1 about=1|orbits: body 1: about must be the number of a body before it
		m=1; a=1 about=-1|orbits: body 1: about must be the number of a body before it
		m=1; a=1 about=0.5|orbits: body 1: about must be the number of a body before it
		m=0; a=1|orbits: body 1: there is no mass to orbit
		m=1; a=1; a=2 about=1|orbits: body 2: there is no mass to orbit
		m=1; a=1e300|orbits: body 1: the orbit or its velocities are out of range
		m=1; a=-1e100 e=1e300|orbits: body 1: the orbit or its velocities are out of range
		m=1; a=1 abot=0|orbits: body 1: unknown element 'abot' (did you mean 'about'? want
		m=1; a=1 pomega=3|orbits: body 1: unknown element 'pomega' (want omega, which is pomega - Omega)
		m=1; x=1|orbits: body 1: unknown element 'x' (bodies with positions and velocities come by nb-convert --from csv)
		m=1; m=1e-3, a=1|orbits: body 1: invalid number 'm=1e-3,' (want blanks between elements, and ';' between bodies)
		m=1; a=1 7|orbits: body 1: '7' is not an element
		m=1; a=1x|orbits: body 1: invalid number 'a=1x' (want a finite number, or '--systems' for an expression)
		m=1; a=nan|orbits: body 1: invalid number 'a=nan'
		m=1; =3|orbits: body 1: '=3' is not an element
	END
	fails_with 2 'orbits: more than 64 bodies' "nb-gen orbits 'm=1$(for k in {1..64}; do printf '; a=%d' "$k"; done)'"
	fails_with 2 "model 'orbits' needs a second operand" 'nb-gen orbits'
	fails_with 2 "unexpected operand 'm=1'" "nb-gen kepler m=1"
	fails_with 2 "model 'orbits' has 2 bodies, not 3" "nb-gen orbits -n 3 'm=1; a=1'"
	fails_with 2 "model 'orbits' takes no --radius" "nb-gen orbits --radius 1 'm=1; a=1'"
}
