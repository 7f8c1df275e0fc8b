#!/usr/bin/env bats
# nb-gen lpt: a cosmological box, its attributes and units, its spectrum, and what is refused.
# as a filter: none

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# table FACTOR: P = 1000 FACTOR / k, of which sigma8^2 is 9000 FACTOR / (8 pi^2 64), as CLASS and CAMB write it
table() {
	awk -v f="$1" 'BEGIN { print "# k (h/Mpc)  P (Mpc/h)^3\n"
		for (k = 1e-3; k < 40; k *= 1.5) print k, 1000 * f / k, "1.0 # and more" }'
}

@test "a cosmological box has the attributes of its universe, and its mean density" {
	nb-gen lpt -n 512 --box 64 --redshift 19 --omega0 0.3 >box.nb
	nb-stats --check <box.nb
	nb-stats --attributes box.nb >is
	for line in time=0.05 box=64 redshift=19 omega0=0.3 omega_lambda=0.7 H0=100 hubble_param=0.6766 G=43.0091727 \
		model=lpt seed=1 dim=3 'units=Mpc/h, 1e10 Msun/h, km/s'; do
		grep -qx -- "$line" is
	done
	run ! grep -qE '^(omega_r|w0|wa|softening)=' is
	# the critical density is 3 H0^2 / (8 pi G)
	close_to "$(awk 'BEGIN { printf "%.9g", 0.3 * 27.7536627 * 64^3 }')" "$(nb-calc '@sum = sum(mass)' <box.nb | nb-stats --attributes | sed -n 's/^sum=//p')" 1
	nb-gen lpt -n 27 --omega-lambda 0.6 --omega-r 0.01 --dark-w0 -0.9 --dark-wa 0.1 --hubble 0.7 | nb-stats --attributes >is
	for line in omega_lambda=0.6 omega_r=0.01 w0=-0.9 wa=0.1 hubble_param=0.7; do grep -qx -- "$line" is; done
}

@test "bodies are displaced from a lattice within their box, whatever the width of columns" {
	nb-gen lpt -n 4096 --redshift 2 --order 3 >wide.nb
	nb-gen lpt -n 4096 --redshift 2 --order 3 --precision f32 >narrow.nb
	# early, those that were at 0 are almost there, or almost at the other end, which rounding would reach
	nb-gen lpt -n 4096 --redshift 9999 --precision f32 | mutate show pos | cat - <(mutate show pos <narrow.nb) | awk '{ for (c = 1; c <= 3; c++) if (!($c >= 0 && $c < 100)) exit 1 }'
	mutate show pos <wide.nb | awk '
		function near(x, at,  d) { d = x - at * 6.25; d -= d > 50 ? 100 : d < -50 ? -100 : 0; sum += d * d
			if (!(d < 20 && d > -20)) bad = 1 }
		{ i = NR - 1; near($1, int(i / 256)); near($2, int(i / 16) % 16); near($3, i % 16) }
		END { exit bad || NR != 4096 || !(sum > 4096) }'
	nb-diff --tolerance 1e-5 wide.nb narrow.nb
	for n in 0 1 8; do
		nb-gen lpt -n $n --order 3 >few.nb
		nb-stats --check <few.nb | grep -q " $n bod"
		run ! grep -q '[1-9]' <(mutate show vel <few.nb)
	done
}

@test "velocities are a H f times displacements, and follow from the scale factor as growth says" {
	# without dark energy D = a, f = 1, and a H = 100 / sqrt(a)
	for z in 24 99; do
		nb-gen lpt -n 512 --order 1 --omega0 1 --redshift $z | mutate show pos vel >"at$z"
	done
	paste at24 at99 | awk '
		function shift(x, i,  d) { d = x - i * 12.5; return d > 50 ? d - 100 : d < -50 ? d + 100 : d }
		function off(x, y) { return x - y > 1e-9 || y - x > 1e-9 }
		{ i[1] = int((NR - 1) / 64); i[2] = int((NR - 1) / 8) % 8; i[3] = (NR - 1) % 8
			for (c = 1; c <= 3; c++) {
				early = shift($(6 + c), i[c]); late = shift($c, i[c])
				if (off($(3 + c), 500 * late) || off($(9 + c), 1000 * early) || off(late, 4 * early)) bad = 1
			} }
		END { exit bad || NR != 512 }'
}

@test "the same bytes for any number of threads, another box for another seed, and the defaults of the page" {
	for order in 1 3; do
		nb-gen lpt -n 1000 --order $order --no-history -j 1 >one.nb
		nb-gen lpt -n 1000 --order $order --no-history -j 3 | cmp one.nb -
		# multiplications are added in one rounding, or in two
		NB_SIMD=plain nb-gen lpt -n 1000 --order $order --no-history >plain.nb
		nb-diff --tolerance 1e-13 one.nb plain.nb
	done
	run ! cmp -s one.nb <(nb-gen lpt -n 1000 --order 3 --no-history -s 2)
	nb-gen lpt -n 1000 --no-history --redshift 49 --box 100 --omega0 0.3111 --omega-b 0.049 --hubble 0.6766 --ns 0.9665 \
		--sigma8 0.8102 --order 2 --omega-r 0 --dark-w0 -1 --dark-wa 0 | mutate show pos vel >given
	nb-gen lpt -n 1000 | mutate show pos vel | cmp - given
}

@test "the spectrum of the bodies is that of a table, at the redshift of the table" {
	table 1 >now.txt
	table 0.01 >before.txt
	# in a universe of matter alone, amplitudes go as 1 / (1 + z)
	nb-gen lpt -n 4096 --omega0 1 --redshift 199 --fixed --spectrum now.txt >box.nb
	nb-gen lpt -n 4096 --omega0 1 --redshift 199 --fixed --spectrum before.txt --spectrum-redshift 9 >same.nb
	nb-diff --tolerance 1e-9 box.nb same.nb
	printf '1e-3 1000\n10 1000\n' >flat.txt
	nb-gen lpt -n 4096 --omega0 1 --redshift 199 --fixed --spectrum flat.txt | nb-power --mesh 32 --format tsv | awk -F '\t' '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		NR < 8 { r = $at["P"] * 200^2 / 1000; print r; if (!(r > 0.99 && r < 1.01)) bad = 1 }
		END { exit bad || NR < 9 }'
	for of in 'now.txt' 'before.txt --spectrum-redshift 9'; do
		# shellcheck disable=SC2086
		nb-gen lpt -n 27 --omega0 1 --spectrum $of -v 2>said >/dev/null
		close_to "$(awk 'BEGIN { print sqrt(9000 / (8 * 3.14159265 * 3.14159265 * 64)) }')" \
			"$(sed -n 's/.*sigma8 is \([0-9.]*\) .*/\1/p' said)" 1e-5
	done
	# the rms of displacements, by that of velocities: a H = 100 / sqrt(a)
	nb-gen lpt -n 512 --omega0 1 --order 1 --redshift 24 -v 2>said >one.nb
	close_to "$(mutate show vel <one.nb | awk '{ s += $1^2 + $2^2 + $3^2 } END { print sqrt(s / 512) / 500 / 12.5 }')" \
		"$(sed -n 's/.*bodies are \([0-9.]*\) spacings.*/\1/p' said)" 1e-3
	# twice the amplitude is twice the displacement, in first order
	nb-gen lpt -n 512 --order 1 --spectrum now.txt --sigma8 0.2 | mutate show vel >a
	nb-gen lpt -n 512 --order 1 --spectrum now.txt --sigma8 0.4 | mutate show vel >b
	nb-gen lpt -n 512 --order 1 --spectrum now.txt --sigma8 0.2 --paired | mutate show vel >c
	paste a b c | awk '{ for (c = 1; c <= 3; c++) { d = 2 * $c - $(3 + c); s = $c + $(6 + c)
		if (!(d * d < 1e-20 && s * s < 1e-20)) exit 1 } }'
}

@test "a table that is cut, unsorted or negative, or does not suit the box, is refused" {
	table 1 >good.txt
	fails_with 1 "'/no/such/file'" 'nb-gen lpt -n 27 --spectrum /no/such/file'
	fails_with 1 "'bad.txt' line 3: k is 0.1 after 0.2 (want ascending k)" \
		'printf "# k P\n0.2 1\n0.1 2\n" >bad.txt; nb-gen lpt -n 27 --spectrum bad.txt'
	fails_with 1 "'bad.txt' line 1: k is 0.2 and P -1 (want numbers > 0)" \
		'printf "0.2 -1\n" >bad.txt; nb-gen lpt -n 27 --spectrum bad.txt'
	fails_with 1 "'bad.txt' line 2 does not begin with two numbers, k and P" \
		'printf "0.2 1\n0.3\n" >bad.txt; nb-gen lpt -n 27 --spectrum bad.txt'
	fails_with 1 "'bad.txt' has 1 row of k and P (want 2 or more)" \
		'printf "0.2 1\n" >bad.txt; nb-gen lpt -n 27 --spectrum bad.txt'
	fails_with 1 'k from 0.1 to 30, and the modes of the box are from 0.0628319 to 0.108828' \
		'printf "0.1 1\n30 1\n" >bad.txt; nb-gen lpt -n 27 --spectrum bad.txt'
	fails_with 1 '(want a longer table, or --extrapolate)' 'nb-gen lpt -n 4096 --box 1 --spectrum good.txt'
	fails_with 1 'and --sigma8 is of 0.01 to 1' \
		'printf "0.05 1\n1 1\n" >bad.txt; nb-gen lpt -n 27 --spectrum bad.txt --sigma8 1'
	nb-gen lpt -n 4096 --box 1 --spectrum good.txt --extrapolate | nb-stats --check
	nb-gen lpt -n 4096 --box 1.5 --spectrum good.txt --sphere | nb-stats --check
	fails_with 1 '(want a longer table' 'nb-gen lpt -n 4096 --box 1.5 --spectrum good.txt'
}

@test "what has no effect, and what no lattice or universe has, is refused" {
	fails_with 2 "model 'lpt' wants a cube of bodies, whose edge has no prime factor above 7, not 1331 (the nearest are 1000 and 1728)" \
		'nb-gen lpt -n 1331'
	fails_with 2 "model 'lpt' has at most 8589934592 bodies, not 1000000000000" 'nb-gen lpt -n 1e12'
	fails_with 2 '--extrapolate needs --spectrum' 'nb-gen lpt --extrapolate'
	fails_with 2 '--spectrum-redshift needs --spectrum' 'nb-gen lpt --spectrum-redshift 3'
	for option in '--omega-b 0.04' '--ns 1' --no-wiggles; do
		fails_with 2 "${option%% *} and --spectrum exclude each other" "nb-gen lpt $option --spectrum x"
	done
	fails_with 2 'omega-b must be less than omega0, of which it is a part' 'nb-gen lpt -n 27 --omega-b 0.4'
	fails_with 2 'no universe of these densities has expanded until today' 'nb-gen lpt -n 27 --omega0 0.01 --omega-lambda 3'
	fails_with 2 "invalid order '4' (want an integer from 1 to 3)" 'nb-gen lpt --order 4'
	fails_with 2 "invalid box '0'" 'nb-gen lpt --box 0'
	fails_with 2 "invalid redshift '-1'" 'nb-gen lpt --redshift -1'
	fails_with 2 "model 'lpt' takes no --mass" 'nb-gen lpt --mass 2'
	fails_with 2 "model 'plummer' takes no --spectrum" 'nb-gen plummer --spectrum x'
	fails_with 2 "model 'lpt' has no --dim 2" 'nb-gen lpt --dim 2'
}

@test "bodies of a glass are displaced by the same modes as those of a lattice" {
	awk 'BEGIN { print "x,y,z"; for (i = 0; i < 512; i++) printf "%g,%g,%g\n", int(i / 64) / 8, int(i / 8) % 8 / 8, i % 8 / 8 }' >lattice.csv
	nb-convert --from csv lattice.csv | nb-calc '@box = 1' >glass.nb
	nb-calc 'pos *= 7' '@box = 7' <glass.nb >longer.nb
	for order in 1 2 3; do
		nb-gen lpt -n 512 --redshift 4 --order $order -v 2>said >lattice.nb
		nb-gen lpt --glass longer.nb --redshift 4 --order $order -v 2>same >bodies.nb
		nb-diff --tolerance 1e-12 lattice.nb bodies.nb
		equals "$(head -1 said)" "$(head -1 same)"
	done
	# half of the lattice, twice along each edge: its bodies in another order
	nb-select --where 'x < 0.5 && y < 0.5 && z < 0.5' glass.nb | nb-calc 'pos *= 2' >half.nb
	for of in '-n 512' '--glass half.nb --tiles 2'; do
		# shellcheck disable=SC2086
		nb-gen lpt $of --redshift 49 | mutate show pos vel | awk '{ for (c = 1; c <= 6; c++) printf "%.6f ", $c; print "" }' | sort >"sorted$of"
	done
	cmp sorted*
	# any number of bodies, which is none of a lattice; bytes do not depend on threads
	nb-gen uniform -n 1331 | nb-calc '@box = 1' 'mass = 0' | nb-transform --shift 0,0,0 >any.nb
	nb-gen lpt --glass any.nb --no-history -j 1 >one.nb
	nb-gen lpt --glass any.nb --no-history -j 3 | cmp one.nb -
	nb-stats --check <one.nb | grep -q ' 1331 bod'
	nb-select --where 'x > 2' any.nb >none.nb
	nb-gen lpt --glass none.nb | nb-stats --check | grep -q ' 0 bod'
}

@test "a glass that is cut, has no box, several frames or bodies outside is refused" {
	nb-gen lpt -n 27 --box 1 >good.nb
	fails_with 1 "'/no/such/file'" 'nb-gen lpt --glass /no/such/file'
	fails_with 2 "option '--glass' wants a file" 'nb-gen lpt --glass -'
	fails_with 2 '--count and --glass exclude each other (see --tiles)' 'nb-gen lpt -n 27 --glass good.nb'
	fails_with 2 '--tiles needs --glass' 'nb-gen lpt --tiles 2'
	fails_with 2 "model 'plummer' takes no --glass" 'nb-gen plummer --glass good.nb'
	fails_with 1 '256 tiles of' 'nb-gen uniform -n 1000 | nb-calc "@box = 1" | nb-transform --shift 0,0,0 >g.nb; nb-gen lpt --glass g.nb --tiles 256'
	fails_with 1 "'open.nb' has no glass (want field 'pos' and attribute box, in 3 dimensions)" \
		'nb-calc "@box = 0" good.nb >open.nb; nb-gen lpt --glass open.nb'
	fails_with 1 "'flat.nb' has no glass" 'nb-gen uniform --dim 2 -n 3 | nb-calc "@box = 1" >flat.nb; nb-gen lpt --glass flat.nb'
	fails_with 1 "a body of 'out.nb' is outside its periodic box" \
		'nb-gen uniform -n 9 | nb-calc "@box = 1" >out.nb; nb-gen lpt --glass out.nb'
	fails_with 1 "has more than one frame (want 'nb-select --frames' before)" \
		'nb-step --cosmology -d 0.1 --at z=40,30 nb-force <good.nb >run.nb; nb-gen lpt --glass run.nb'
	fails_with 1 'truncated stream' 'head -c 900 good.nb >cut.nb; nb-gen lpt --glass cut.nb'
}

# bats test_tags=once
@test "the fit of the spectrum has the shape of a universe of baryons" {
	# -n: the fixed amplitudes of a lattice are those of the fit; 3 % of oscillations of baryons near k = 0.1
	for how in '' --no-wiggles; do
		# shellcheck disable=SC2086
		nb-gen lpt -n 32768 --box 800 --redshift 199 --fixed $how | nb-power --mesh 64 --format tsv |
			awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } NR < 15 { print $at["P"] }' >"p$how"
	done
	paste p p--no-wiggles | awk '{ r = $1 / $2; high = r > high ? r : high; low = !low || r < low ? r : low }
		END { print low, high; exit !(high > 1.03 && high < 1.12 && low < 0.97 && low > 0.9) }'
}

# bats test_tags=once
@test "a run from an early start comes to where the theory puts bodies later, in second order nearer than in first" {
	# waves much longer than the lattice's spacing; there its bodies attract as matter does, to 1 %
	awk 'BEGIN { for (k = 1e-3; k < 3; k *= 1.2) print k, k * exp(-(k / 0.05)^2) + 1e-12 }' >long.txt
	for order in 1 2; do
		start="nb-gen lpt -n 4096 --box 200 --order $order --spectrum long.txt --sigma8 1"
		$start --redshift 24 | nb-step --cosmology -d 0.1 --at z=9 'nb-force -m treepm -e 0.2' | mutate show pos vel >run
		$start --redshift 9 | mutate show pos vel >theory
		paste run theory | awk '{ for (c = 1; c <= 6; c++) { d = $c - $(6 + c); d += c > 3 ? 0 : d > 100 ? -200 : d < -100 ? 200 : 0
				off[c > 3] += d * d; size += c > 3 ? $c * $c : 0 } }
			END { print sqrt(off[0] / NR), sqrt(off[1] / size) }' >off$order
	done
	paste off1 off2 | awk '{ print; exit !($3 < 0.8 * $1 && $4 < 0.8 * $2 && $3 < 0.03 && $4 < 0.03) }'
}
