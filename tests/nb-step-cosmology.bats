#!/usr/bin/env bats
# nb-step --cosmology: a plane wave against the exact solution, steps, outputs, and what is refused.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	# bodies at rest to be moved: a lattice, and 40 anywhere
	lattice 4 >lattice.nb
	nb-gen uniform -n 40 --sigma 0.1 --seed 3 --no-history | nb-transform --scale length=0.5,velocity=1,mass=1 |
		nb-calc 'mass = 1.0 / 40' '@box = 1; @omega0 = 0.3; @time = 0.25; @redshift = 3' --no-history |
		nb-transform --shift 0,0,0 --no-history >few.nb
	# of which every eighth falls faster
	nb-calc 'eps = id % 8 == 0 ? 0.001 : 0.05' --no-history few.nb >some.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# lattice N: N^3 bodies of total mass 1 in a box of edge 1
lattice() {
	awk -v n="$1" 'BEGIN { print "x,y,z,mass"
		for (i = 0; i < n^3; i++) printf "%.17g,%.17g,%.17g,%.17g\n", i % n / n, int(i / n) % n / n, int(i / n / n) / n, n^-3 }' |
		nb-convert --from csv --no-history
}

# wave A K: a plane wave along K, "1 1 0", on the lattice on stdin at scale factor A, in a universe of matter that begins to
# cross itself at 1; column f: displacement over A and K; q1 q2 q3: the lattice
wave() {
	local kx ky kz
	read -r kx ky kz <<<"$2"
	nb-calc "f = -sin(2 * pi * ($kx * x + $ky * y + $kz * z)) / (2 * pi * ($kx^2 + $ky^2 + $kz^2)) * ${3:-1}" \
		'q1 = x; q2 = y; q3 = z' "x += $1 * $kx * f; y += $1 * $ky * f; z += $1 * $kz * f" \
		"vel = sqrt(8 * pi / 3 * $1) * f; vx *= $kx; vy *= $ky; vz *= $kz" \
		"@box = 1; @omega0 = 1; @time = $1; @redshift = 1 / $1 - 1" --no-history |
		nb-transform --shift 0,0,0 --no-history
}

# along WORD K: mean of column x y z, vx vy vz, ... (WORD "", v, a) of the frame on stdin along the wave, over K f
along() {
	local kx ky kz
	read -r kx ky kz <<<"$2"
	nb-calc "@along = sum(($kx * $1x + $ky * $1y + $kz * $1z) * f) / sum(($kx^2 + $ky^2 + $kz^2) * f^2)" |
		nb-stats --attributes | sed -n 's/^ *along=//p'
}

# times of the frames on stdin, one a line
times() { grep -a -o '^time=[-+.0-9e]*' | cut -d= -f2; }

# ---- the equations ------------------------------------------------------------------------------------

# growth EPSILON OMEGA END: size and velocity at a = END of a wave that is 0.1 at a = 0.1 and grows there as a, when the force
# is EPSILON times that of a continuum; by Runge and Kutta in ln a
growth() {
	awk -v epsilon="$1" -v m="$2" -v end="$3" '
		function rate(x, d, y,  e, a) { a = exp(x); e = m / a^3 + 1 - m; return -(2 - 1.5 * m / a^3 / e) * y + 1.5 * m / a^3 / e * epsilon * d }
		BEGIN { n = 400; x = log(0.1); h = (log(end) - x) / n; d = y = 0.1
			y /= sqrt(1 + (1 - m) / m * 0.1^3) # as velocities of wave are those of matter alone
			for (k = 0; k < n; k++) {
				k1 = y; l1 = rate(x, d, y); k2 = y + h / 2 * l1; l2 = rate(x + h / 2, d + h / 2 * k1, k2)
				k3 = y + h / 2 * l2; l3 = rate(x + h / 2, d + h / 2 * k2, k3); k4 = y + h * l3; l4 = rate(x + h, d + h * k3, k4)
				d += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4); y += h / 6 * (l1 + 2 * l2 + 2 * l3 + l4); x += h }
			printf "%.15g %.15g\n", d, end * sqrt(8 * atan2(0, -1) / 3 / m * (m / end^3 + 1 - m)) * y }'
}

# bats test_tags=once
@test "a small wave of a lattice grows as its forces say, with matter alone and with a cosmological constant" {
	while read -r omega k; do
		lattice 4 | wave 0.1 "$k" 1e-3 | nb-calc "@omega0 = $omega" >start.nb
		epsilon=$(nb-force start.nb | along a "$k" | awk '{ printf "%.17g", $1 / 0.1 / 4 / atan2(0, -1) }')
		nb-step --cosmology -d 0.02 --at a=0.8 nb-force <start.nb >end.nb
		read -r d v < <(growth "$epsilon" "$omega" 0.8)
		nb-calc 'x -= q1; y -= q2; z -= q3; x -= round(x); y -= round(y); z -= round(z)' end.nb | along '' "$k" >got
		close_to 1 "$(awk -v d="$d" '{ printf "%.15g", $1 / d }' got)" 1e-4
		close_to 1 "$(along v "$k" <end.nb | awk -v v="$v" '{ printf "%.15g", $1 / v }')" 1e-4
	done <<-'END'
		1 1 0 0
		0.3 1 1 0
	END
}

# bats test_tags=once
@test "a plane wave grows as Zel'dovich's solution to what the lattice leaves, along it and across, and as its forces say to 1e-4" {
	for k in '1 0 0' '1 1 0'; do
		# the force on the exact solution half-way, of which that of the run hardly differs
		epsilon=$(lattice 16 | wave 0.15 "$k" | nb-force -m treepm | along a "$k" | awk '{ printf "%.17g", $1 / 0.15 / 4 / atan2(0, -1) }')
		lattice 16 | wave 0.1 "$k" | nb-step --cosmology -d 0.02 --at a=0.2 'nb-force -m treepm' | along v "$k" >got
		read -r _ v < <(growth "$epsilon" 1 0.2)
		close_to 1 "$(awk -v v="$v" '{ printf "%.15g", $1 / v }' got)" 1e-4
		close_to 1 "$(awk '{ printf "%.15g", $1 / sqrt(8 * atan2(0, -1) / 3 * 0.2) }' got)" 0.012
	done
}

# few START OPTION...: the last state of a run of few.nb, which begins with START
few() { nb-step --cosmology --every 0 --no-history "${@:2}" 'nb-force -e 0.05' <"$1"; }

# apart A B: root mean square of the differences of positions
apart() { nb-diff --fields pos --format tsv --absolute 0 "$1" "$2" | awk -F '\t' '$3 == "pos" { print $6 }'; }

# bats test_tags=once
@test "halving the step divides the error by four, in any variable, and steps back lead to the start" {
	for variable in lna a t; do
		for k in 12 24 48; do few few.nb --steps-in $variable -k $k --until 0.5 >$variable$k.nb; done
		coarse=$(apart ${variable}12.nb ${variable}24.nb || true) fine=$(apart ${variable}24.nb ${variable}48.nb || true)
		awk -v a="$coarse" -v b="$fine" 'BEGIN { exit !(a > 1e-7 && a / b > 3.5 && a / b < 4.5) }'
		few ${variable}12.nb --steps-in $variable -k 12 --until 0.25 >back.nb
		nb-diff --fields pos,vel --tolerance 1e-10 few.nb back.nb
	done
}

@test "a body alone keeps its momentum, and moves by the integral of the expansion" {
	# universe: attributes, and the drift of the whole step, the integral of da / (a^3 H) / H0 from 0.25 to 0.5
	while read -r attributes; do
		{ echo x,y,z,vx,vy,vz,mass; echo 0.9,0.1,0.5,3,-2,1,1; } | nb-convert --from csv |
			nb-calc '@box = 1; @time = 0.25' "@omega0 = ${attributes%% *}; ${attributes#* }" \
				'@H0 = sqrt(8 * pi / 3 / @omega0)' >one.nb
		nb-step --cosmology -d 0.3 --at z=1 nb-force <one.nb >end.nb
		nb-stats --attributes end.nb | sed 's/ //g' >said
		drift=$(awk -F = '{ at[$1] = $2 }
			function lambda(a) { return at["omega_lambda"] != "" ? at["omega_lambda"] : 1 - at["omega0"] - at["omega_r"] }
			function f(a,  k, w0) { k = 1 - at["omega0"] - at["omega_r"] - lambda(a); w0 = at["w0"] == "" ? -1 : at["w0"]
				k /= a^2
				return a^-3 / sqrt(at["omega_r"] / a^4 + at["omega0"] / a^3 + k + lambda(a) * a^(-3 * (1 + w0 + at["wa"])) * exp(-3 * at["wa"] * (1 - a))) }
			END { n = 2000; h = 0.25 / n; s = f(0.25) + f(0.5)
				for (k = 1; k < n; k++) s += (k % 2 ? 4 : 2) * f(0.25 + k * h)
				printf "%.15g", s * h / 3 / at["H0"] }' said)
		nb-calc "ex = x - 0.9 - 0.25 * 3 * $drift; ey = y - 0.1 + 0.25 * 2 * $drift; ez = z - 0.5 - 0.25 * $drift" \
			'e = abs(ex - round(ex)) + abs(ey - round(ey)) + abs(ez - round(ez)) + abs(vx - 1.5) + abs(vy + 1) + abs(vz - 0.5)' end.nb |
			mutate show e >size
		close_to 0 "$(cat size)" 1e-11
	done <<-'END'
		1 @omega_lambda = 0
		0.3 @omega_r = 0
		0.3 @omega_lambda = 0.2; @omega_r = 0.01
		0.3 @w0 = -0.8; @wa = 0.3
	END
}

@test "a lattice stays at rest, and the sum of all momenta is kept" {
	nb-calc '@box = 1; @omega0 = 1; @time = 0.1; vel = 0' lattice.nb >rest.nb
	nb-step --cosmology -d 1 --until 1 --every 0 nb-force <rest.nb >end.nb
	nb-diff --fields pos --absolute 1e-12 rest.nb end.nb
	few few.nb -d 0.05 --until 0.5 | nb-calc '@p = abs(sum(mass * vx)) + abs(sum(mass * vy)) + abs(sum(mass * vz))' >end.nb
	few few.nb -k 0 | nb-calc '@p = abs(sum(mass * vx)) + abs(sum(mass * vy)) + abs(sum(mass * vz))' >begin.nb
	close_to "$(nb-stats --attributes begin.nb | sed -n 's/^ *p=//p' | awk '{ printf "%.17g", $1 / 2 }')" \
		"$(nb-stats --attributes end.nb | sed -n 's/^ *p=//p')" 1e-14
}

@test "energy, kinetic energy over the scale factor and expansion add up, the better the smaller the step" {
	for d in 0.06 0.03 0.015; do
		nb-step -v --cosmology -d $d --at z=1 'nb-force -e 0.1 --softening-kernel spline --potential' <few.nb 2>err >end.nb
		nb-stats --format tsv end.nb | stat_of drift >drift$d
		# nb-step says the same, with fewer digits
		close_to "$(awk '{ printf "%.2g", $1 < 0 ? -$1 : $1 }' drift$d)" "$(sed -n 's/.* error \([-.0-9e]*\) in the end.*/\1/p' err)" 1e-9
	done
	paste drift0.06 drift0.03 drift0.015 | awk '{ exit !($1 > 2e-4 && $1 / $2 > 3 && $1 / $2 < 5 && $2 / $3 > 3 && $2 / $3 < 5) }'
	# another system has another energy, and so has a box at rest
	nb-stats --attributes end.nb | grep -q '^ekin_da='
	run ! grep -a -q '^ekin_da=\|^etot0=' <(nb-calc 'mass *= 1' end.nb)
	nb-calc '@omega0 = 0' end.nb | nb-step -d 0.01 'nb-force -e 0.05 --potential' | nb-stats --format tsv | stat_of drift >at-rest
	close_to 0 "$(cat at-rest)" 1e-2
}

# ---- levels ------------------------------------------------------------------------------------------------

# levels START OPTION...: a run of some.nb by levels, with its softenings
levels() { nb-step --cosmology --levels 8 --eta 1 --every 0 --no-history "${@:2}" nb-force <"$1"; }

# momentum FILE: the sum of its momenta, p = a v
momentum() { nb-calc '@p = @time * (abs(sum(mass * vx)) + abs(sum(mass * vy)) + abs(sum(mass * vz)))' "$1" | nb-stats --attributes | sed -n 's/^ *p=//p'; }

@test "one level is a run without, and short steps of all bodies by levels are those of a shorter -d" {
	few few.nb --levels 1 --eta 1 -d 0.1 --until 0.5 | cmp <(few few.nb -d 0.1 --until 0.5) -
	for variable in lna a t; do
		few few.nb --steps-in $variable -d 1 --until 0.5 --levels 4 --eta 1e-9 2>/dev/null >deep.nb
		few few.nb --steps-in $variable -k 8 --until 0.5 | nb-diff --fields pos,vel --tolerance 1e-9 - deep.nb
	done
}

# bats test_tags=once
@test "by levels halving step and eta divides the error by four, and the sum of all momenta is kept" {
	nb-step --cosmology --every 0 -k 1024 --until 0.5 nb-force <some.nb >best.nb
	for k in 1 2 4; do levels some.nb -d "$(awk -v k=$k 'BEGIN { print 0.0867 / k }')" --until 0.5 --eta "$(awk -v k=$k 'BEGIN { print 1 / k }')" >l$k.nb; done
	nb-stats --levels l4.nb | awk 'NR > 1 { n += $4 > 0 } END { exit !(n == 2) }'
	awk -v a="$(apart l1.nb best.nb || true)" -v b="$(apart l2.nb best.nb || true)" -v c="$(apart l4.nb best.nb || true)" \
		'BEGIN { exit !(c > 1e-6 && a / b > 3.5 && a / b < 4.5 && b / c > 3.5 && b / c < 4.5) }'
	close_to "$(momentum some.nb)" "$(momentum l1.nb)" 1e-14
}

# bats test_tags=once
@test "by levels steps back lead to the start where all bodies keep their levels" {
	nb-calc 'eps = id % 8 == 0 ? 1e-4 : 0.05' --no-history few.nb >two.nb
	for steps in 'lna -d 0.03' 'a -d 0.01' 't -d 0.001'; do
		# shellcheck disable=SC2086 # several words
		levels two.nb --levels 2 --eta 0.5 --steps-in $steps --until 0.5 2>/dev/null >end.nb
		equals "$(nb-stats --levels --format tsv end.nb | awk 'NR > 1 { print $4 }' | tr '\n' ' ')" '35 5 '
		# shellcheck disable=SC2086
		levels end.nb --levels 2 --eta 0.5 --steps-in ${steps/-d /-d -} --until 0.25 2>/dev/null >back.nb
		nb-diff --fields pos,vel --absolute 1e-11 two.nb back.nb
	done
}

@test "by levels bodies cross the walls of a box, a run that goes on has the same bytes, and threads change nothing" {
	levels some.nb -d 0.1 --until 0.5 >a.nb
	levels some.nb -d 0.1 --until 0.5 -j 3 | cmp - a.nb
	equals "$(nb-select --where 'x < 0 || x >= 1 || y < 0 || y >= 1 || z < 0 || z >= 1' a.nb | nb-stats --epot none --format tsv | stat_of n)" 0
	nb-transform --shift 0.5,0.3,0.9 some.nb | levels /dev/stdin -d 0.1 --until 0.5 | nb-transform --shift -0.5,-0.3,-0.9 |
		nb-diff --fields pos,vel --tolerance 1e-9 a.nb -
	levels some.nb -d 0.1 --until 0.5 --every 1 >run.nb
	head -c $(($(stat -c %s run.nb) * 55 / 100)) run.nb >cut.nb
	levels /dev/null -d 0.1 --until 0.5 --every 1 --resume cut.nb >rest.nb 2>err
	cmp <(last_state rest.nb) <(last_state run.nb)
	fails_with 1 "option '--levels' in a periodic box needs a softening in step 0 (give nb-force a softening > 0)" "nb-step --cosmology --every 0 --levels 4 --eta 0.15 -d 0.1 'nb-force --potential' <few.nb"
}

# ---- the schedule --------------------------------------------------------------------------------------

@test "states of --at are met to the last bit, in equal steps, and have their redshift" {
	nb-step --cosmology -d 0.2 --at z=3,1,0.6,0 --no-history 'nb-force -e 0.05' <few.nb >run.nb
	equals "$(times <run.nb | tr '\n' ' ')" '0.25 0.5 0.625 1 '
	equals "$(grep -a -o '^redshift=.*' run.nb | tr '\n' ' ')" 'redshift=3 redshift=1 redshift=0.6 redshift=0 '
	equals "$(grep -a -o '^step=.*' run.nb | tr '\n' ' ')" 'step=0 step=4 step=6 step=9 '
	nb-step --cosmology -d 0.2 --at a=0.25,0.5,0.625,1 --no-history 'nb-force -e 0.05' <few.nb | cmp - run.nb
	equals "$(few few.nb --at z=1 --until 1 -d 0.2 | times | tr '\n' ' ')" '0.5 1 '
	equals "$(nb-step --cosmology -d -0.2 --at a=0.2,0.1 'nb-force -e 0.05' <few.nb | times | tr '\n' ' ')" '0.2 0.1 '
	# steps are equal in their variable
	equals "$(nb-step --cosmology --steps-in a -k 4 --until 0.75 nb-force <few.nb | times | tr '\n' ' ')" '0.25 0.375 0.5 0.625 0.75 '
	nb-step --cosmology -k 4 --until 4 nb-force <few.nb | times | awk '{ d = $1 - 2^(NR - 3); if (d * d > 1e-30) exit 1 }'
	nb-calc '@omega0 = 1' few.nb | nb-step --cosmology --steps-in t -k 7 --until 1 nb-force | times |
		awk '{ d = $1^1.5 - NR / 8; if (d * d > 1e-30) exit 1 }'
	equals "$(nb-step --cosmology --steps-in a -d 0.125 -k 2 nb-force <few.nb | times | tr '\n' ' ')" '0.25 0.375 0.5 '
}

@test "a run that goes on from any of its frames has the same bytes" {
	for options in '-d 0.1 --at z=2,1,0.5 --every 1' '-k 9 --until 0.6' '--steps-in t -d 0.02 --until 0.4'; do
		s="nb-step --cosmology --no-history $options"
		nb-transform --shift 0,0,0 few.nb --no-history | nb-calc '@step = 5' --no-history | $s 'nb-force -e 0.05 --potential' >whole.nb
		head -c $(($(stat -c %s whole.nb) * 55 / 100)) whole.nb >cut.nb
		$s --resume cut.nb 'nb-force -e 0.05 --potential' >rest.nb 2>err
		tail -c "$(stat -c %s rest.nb)" whole.nb >want.nb
		equals "$(times <rest.nb)" "$(times <whole.nb | tail -n "$(times <rest.nb | wc -l)")"
		cmp <(last_state rest.nb) <(last_state whole.nb)
	done
	# what is written in between changes nothing
	few few.nb -d 0.1 --until 1 >a.nb
	nb-step --cosmology -d 0.1 --until 1 --no-history 'nb-force -e 0.05' <few.nb >b.nb
	cmp <(last_state a.nb) <(last_state b.nb)
	few few.nb -d 0.1 --until 1 -j 3 | cmp - a.nb
}

# the last frame of a file, as text with all attributes
last_state() { nb-convert --to csv --frame "$(($(times <"$1" | wc -l) - 1))" "$1"; }

# ---- the universe of a frame ------------------------------------------------------------------------------

@test "H0 is that of the masses, and is written; masses that do not agree are told or refused" {
	few few.nb -k 1 -d 0.1 >end.nb
	close_to "$(awk 'BEGIN { printf "%.17g", sqrt(8 * 3.14159265358979324 / 3 / 0.3) }')" "$(grep -a -o '^H0=.*' end.nb | cut -d= -f2)" 1e-13
	nb-calc '@H0 = 5.27' few.nb | nb-step --cosmology -k 1 -d 0.1 nb-force 2>err >out.nb
	grep -q '^nb-step: the masses of frame 0 are 1.00[0-9]* times what attributes omega0, H0, G and box say$' err
	fails_with 1 'the masses of frame 0 are 1.06' "nb-calc '@H0 = 5.125' few.nb | nb-step --cosmology -k 1 -d 0.1 nb-force"
	# one of time and redshift is enough
	nb-calc '@redshift = 3' lattice.nb | nb-calc '@box = 1; @omega0 = 0.3; vel = 0' | nb-step --cosmology -k 0 'nb-force' | times | grep -qx 0.25
}

@test "a scaled universe, or one in other units, moves as it did" {
	nb-calc '@H0 = sqrt(8 * pi / 3 / 0.3)' few.nb | nb-force -e 0.05 >start.nb
	nb-step --cosmology -k 4 --until 0.5 --every 0 nb-force <start.nb >end.nb
	for how in '--scale length=3,mass=5,velocity=virial' '--from-units 1kpc,1e10Msun --units Mpc,1e12Msun,km/s'; do
		# shellcheck disable=SC2086 # several words
		nb-transform $how start.nb | nb-step --cosmology -k 4 --until 0.5 --every 0 nb-force >moved.nb
		# shellcheck disable=SC2086
		nb-transform $how end.nb | nb-diff --fields pos,vel --tolerance 1e-10 - moved.nb
		equals "$(times <moved.nb)" 0.5
	done
}

@test "frames that are no universe, and options that do not belong to one, are refused in one line" {
	s='nb-step --cosmology -d 0.1'
	fails_with 1 "frame 0 is of an expanding universe (want '--cosmology', or nb-calc '@omega0 = 0'" 'nb-step -d 0.1 nb-force <few.nb'
	fails_with 1 "option '--cosmology' needs a periodic box and attribute omega0 > 0, and frame 0 has box=0 and omega0=0.3" \
		"nb-calc '@box = 0' few.nb | $s nb-force"
	fails_with 1 'has box=1 and omega0=0' "nb-calc '@omega0 = 0' few.nb | $s nb-force"
	fails_with 1 'frame 0 has time=0.5 and redshift=3' "nb-calc '@time = 0.5' few.nb | $s nb-force"
	fails_with 1 'is 0 (want its scale factor > 0' "nb-calc '@time = 0; @box = 1; @omega0 = 1; vel = 0' lattice.nb | $s nb-force"
	fails_with 1 'attribute H0 missing' "nb-calc 'mass = 0' few.nb | $s nb-force"
	fails_with 1 'attribute H0 is -1' "nb-calc '@H0 = -1' few.nb | $s nb-force"
	fails_with 1 'are not a universe that expands' "nb-calc '@omega_lambda = 50' few.nb | $s nb-force"
	fails_with 1 'does not expand to a scale factor of 9' "nb-calc '@omega_lambda = -0.1' few.nb | $s --until 9 nb-force"
	fails_with 1 'has a pending half kick' "nb-calc '@omega0 = 0' few.nb | nb-force | nb-step -d 0.01 | nb-calc '@omega0 = 0.3; @time = 0.25' | $s nb-force"
	fails_with 1 'leaves the expanding universe' "nb-step --cosmology --steps-in a -d -0.1 -k 9 --every 0 nb-force <few.nb"
	fails_with 1 'the step is too small' "nb-step --cosmology --steps-in a -d 1e-20 -k 9 --every 0 nb-force <few.nb"
	fails_with 1 "'--at' begins with a scale factor of 0.1, redshift 9, and frame 0 is at 0.25, redshift 3" "$s --at z=9,1 nb-force <few.nb"
	for at in 1 z= z=x 'z=1,1' z=1,2 z=-1 a=0 a=2,1 b=1; do fails_with 2 "invalid at '$at'" "$s --at $at nb-force <few.nb"; done
	fails_with 2 "behind '--until' 0.3" "$s --at z=1 --until 0.3 nb-force <few.nb"
	fails_with 2 "option '--at' ends the run" "$s --at z=1 -k 3 nb-force <few.nb"
	fails_with 2 "option '--at' needs a time step" "nb-step --cosmology -k 0 --at z=1 nb-force <few.nb"
	fails_with 2 'want a scale factor > 0' "$s --until -1 nb-force <few.nb"
	fails_with 2 'no time step' 'nb-step --cosmology nb-force <few.nb'
	fails_with 2 "option '--cosmology' needs the force pipeline" "$s <few.nb"
	for option in '--eta 0.1' '--blocks whole --levels 2 --eta 0.1' '--every-time 1' --send-velocities '--collide bounce' '--integrator yoshida'; do
		name=${option#--}
		fails_with 2 "option '--${name%% *}" "$s $option nb-force <few.nb"
		fails_with 2 "with '--cosmology'" "$s $option nb-force <few.nb"
	done
	for option in '--at z=1' '--steps-in a'; do
		name=${option#--}
		fails_with 2 "option '--${name%% *}' needs '--cosmology'" "nb-step -d 0.1 $option nb-force <few.nb"
	done
	# no bodies
	nb-select --where 'x < 0' few.nb | nb-calc '@H0 = 1' | $s --until 1 nb-force | times | tail -n 1 | grep -qx 1
}
