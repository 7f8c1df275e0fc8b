#!/usr/bin/env bats
# nb-gen: every model as a stream, parameters, and what is refused.
# as a filter: none

load helper

MODELS=$NB_TOP/kernels/models
ALL=$(sed -n 's/^NB_MODEL([A-Z0-9_]*, *\([a-z0-9_]*\),.*/\1/p' "$MODELS/model.def" | grep -vx orbits) # which needs an operand more
# any n: all but a lattice
FREE=$(sed -n 's/^NB_PARAMETER_ROW(n, .*"number of bodies", \(.*\))$/\1/p' "$MODELS/parameter.def" | tr -d , | sed 's/ lpt$//')

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# bats test_tags=once
@test "every model is a sound stream with its fields and attributes" {
	local m
	for m in $ALL; do
		nb-gen "$m" >m.nb
		nb-stats --check <m.nb
		nb-gen "$m" --precision f32 | nb-stats --check
		nb-stats --fields <m.nb >fields
		grep -q mass fields
		grep -q pos fields
		grep -q vel fields
		grep -aq "^model=$m\$" m.nb
		grep -aq "time=$([ "$m" = lpt ] && echo 0.02 || echo 0)\$" m.nb
		grep -aq '^units=' m.nb
		grep -aq "^history=nb-gen [0-9.]*: nb-gen $m\$" m.nb
	done
	nb-gen boxes | grep -aq '^dim=2$'
	nb-gen solar | grep -aq '^G=0.000295912208285591'
	nb-gen figure8 | grep -aq '^G=1$'
	nb-gen plummer -s 77 | grep -aq '^seed=77$'
	run bash -c 'nb-gen solar | grep -a ^seed='
	[ "$status" -eq 1 ]
}

@test "plummer with 65536 bodies is the default" {
	nb-gen --no-history >a.nb
	nb-gen plummer -n 65536 -s 1 --no-history --precision f64 --dim 3 --rmax 20 --imf none >b.nb
	cmp a.nb b.nb
}

# bats test_tags=once
@test "what the help and the page call a default is one" {
	local options
	while read -r options; do
		# shellcheck disable=SC2086
		nb-gen $options --no-history >given.nb
		# shellcheck disable=SC2086
		nb-gen ${options%% *} --no-history >default.nb
		cmp given.nb default.nb
	done <<-'END'
		uniform -n 65536 -s 1 --dim 3 --size 1 --sigma 0
		sphere -n 65536 -s 1 --dim 3 --virial 0
		clusters -n 65536 -s 1 --dim 3 --size 1 --spread 0.05 --sigma 0
		disk -n 65536 --disk 0.15 --bulge 0.04 --toomre 1.2 --height 0.15
		merger --disk 0.15 --bulge 0.04 --toomre 1.2 --height 0.15 --pericentre 0.2 --separation 2.5 --eccentricity 1 --ratio 1 --inclination 15,60 --node 0,90
		boxes -n 262144 --level 7 --per-box 16 --sigma 0 --dim 2
		kepler -n 2 --eccentricity 0.5 --ratio 1
		king -n 65536 -s 1 --w0 6 --dim 3 --imf none
		hernquist --rmax 20
		nfw --concentration 10
		dehnen --gamma 1 --rmax 20
		ring -n 65536 -s 1 --inner 1 --outer 2 --ring-mass 0.001 --eccentricity 0.01 --dim 3
		solar -n 9
		figure8 -n 3
	END
	nb-gen king --imf kroupa --mass-range 0.08,100 --no-history >given.nb
	nb-gen king --imf kroupa --no-history | cmp - given.nb
	# only what the units are called differs
	for options in 'plummer --mass 1' 'hernquist --G 1' 'kepler --rscale 1' 'ring --mass 1'; do
		# shellcheck disable=SC2086
		nb-gen $options | mutate show vel >a
		nb-gen "${options%% *}" | mutate show vel >b
		cmp a b
	done
	# a sphere of radius 2.4 is the one of energy -1/4; only what the units are called differs
	nb-gen sphere -n 100 | mutate show pos >a
	nb-gen sphere -n 100 --size 2.4 | mutate show pos >b
	cmp a b
}

# bats test_tags=once
@test "masses of an initial mass function may stay as they were drawn" {
	for imf in kroupa salpeter; do
		for model in plummer king hernquist uniform sphere; do
			nb-gen $model -n 5000 --imf $imf --imf-total drawn --G 4.30091e-3 >drawn.nb
			nb-gen $model -n 5000 --imf $imf >scaled.nb
			mutate show mass <drawn.nb >m
			awk 'NR == 1 { low = high = $1 } { s += $1; low = $1 < low ? $1 : low; high = $1 > high ? $1 : high }
				END { exit !(low >= 0.08 && low < 0.0802 && high > 10 && high <= 100); }' m
			total=$(awk '{ s += $1 } END { printf "%.12g", s }' m)
			# the same draw, in other units
			awk -v m="$total" '{ printf "%.5g\n", $1 * m }' <(mutate show mass <scaled.nb) | diff - <(awk '{ printf "%.5g\n", $1 }' m)
			close_to "$(nb-stats --format tsv scaled.nb | stat_of virial)" "$(nb-stats --format tsv drawn.nb | stat_of virial)" 1e-9
			close_to "$total" "$(nb-stats --attributes drawn.nb | sed -n 's/^units=.*M=//p')" 1e-6
		done
	done
	close_to 0.574 "$(nb-gen uniform -n 1e6 --imf kroupa --imf-total drawn | nb-calc '@mean=mean(mass)' | nb-stats --attributes | sed -n 's/^mean=//p')" 0.01
	close_to 0.283 "$(nb-gen uniform -n 1e6 --imf salpeter --imf-total drawn | nb-calc '@mean=mean(mass)' | nb-stats --attributes | sed -n 's/^mean=//p')" 0.005
	nb-gen plummer -n 0 --imf kroupa --imf-total drawn | nb-stats --check
	nb-gen king --imf kroupa --imf-total mass --no-history | cmp - <(nb-gen king --imf kroupa --no-history)
	fails_with 2 '--imf-total needs --imf kroupa or --imf salpeter' 'nb-gen king --imf-total drawn'
	fails_with 2 '--imf-total drawn and --mass exclude each other' 'nb-gen king --imf kroupa --imf-total drawn --mass 3'
	fails_with 2 "model 'nfw' takes no --imf-total" 'nb-gen nfw --imf-total drawn'
}

@test "counts may be written as 1e3, 1.5k or 1Ki" {
	local text
	nb-gen -n 1000 --no-history >plain.nb
	for text in 1e3 1k 1K 1.0e+3 0.001M; do
		nb-gen -n $text --no-history | cmp - plain.nb
	done
	equals "$(nb-gen -n 1.5k | nb-stats --check | cut -d , -f 2)" ' 1500 bodies'
	equals "$(nb-gen -n 1Ki | nb-stats --check | cut -d , -f 2)" ' 1024 bodies'
	nb-gen -n 9 -s 1e3 | grep -aq '^seed=1000$'
	# a count that is an int, and one that is not
	equals "$(nb-gen kepler | nb-force | nb-step -d 0.01 -k 2e0 --every 1 nb-force | nb-stats --check | cut -d , -f 1)" 'ok: 3 frames'
	nb-gen -n 9 --threads 0.1e1 | nb-stats --check
}

# bats test_tags=once
@test "any number of bodies, numbered from 0" {
	local m n
	for m in $FREE; do
		for n in 0 1 2 9 255 257 4095 4096 4097 8193; do
			nb-gen "$m" -n $n >m.nb
			nb-stats --check <m.nb
			nb-convert --to csv --no-comments <m.nb |
				awk -F, -v n=$n 'NR == 1 { bad = $1 != "id"; next } $1 != NR - 2 { bad = 1 } END { exit bad || NR != n + 1 }'
		done
	done
}

# bats test_tags=once
@test "the same bytes for any number of threads and every instruction set, others for another seed" {
	local m
	for m in $ALL; do
		nb-gen "$m" --no-history -j 1 >one.nb
		nb-gen "$m" --no-history -j 3 >three.nb
		cmp one.nb three.nb
		NB_SIMD=avx2 nb-gen "$m" --no-history >avx2.nb
		cmp one.nb avx2.nb
		[ "$m" != lpt ] || continue # of which nb-gen-lpt.bats has more
		NB_SIMD=plain nb-gen "$m" --no-history >plain.nb
		cmp one.nb plain.nb
	done
	for m in $FREE boxes; do
		nb-gen "$m" -s 1 | nb-select --where 'id < 4096' | mutate show pos >a
		nb-gen "$m" -s 18446744073709551615 | nb-select --where 'id < 4096' | mutate show pos >b
		run ! cmp -s a b
	done
}

@test "f32 is f64 rounded" {
	nb-gen merger -n 500 | mutate show vel >wide
	nb-gen merger -n 500 --precision f32 >f32.nb
	mutate show vel <f32.nb >narrow
	python3 - <<-'END'
		import struct
		for a, b in zip(open("wide"), open("narrow"), strict=True):
		    for x, y in zip(a.split(), b.split(), strict=True):
		        assert struct.unpack("f", struct.pack("f", float(x)))[0] == float(y), (x, y)
	END
	[ "$(nb-stats --fields <f32.nb | grep -c '<f4')" -eq 3 ]
}

# bats test_tags=once
@test "a Plummer sphere is in virial equilibrium with energy -1/4 and at rest" {
	nb-gen plummer -n 16384 | nb-force -m direct --precision f64 --potential | nb-stats --format tsv >s
	close_to 0.5 "$(stat_of virial <s)" 0.01
	close_to -0.25 "$(stat_of etot <s)" 0.01
	for c in x y z; do
		close_to 0 "$(stat_of com$c <s)" 1e-14
		close_to 0 "$(stat_of p$c <s)" 1e-14
	done
}

# bats test_tags=once
@test "masses, lengths and G of other units leave the virial ratio" {
	local m
	for m in plummer king hernquist nfw disk; do
		nb-gen $m -n 4000 --mass 1e5 --rscale 5 --G 4.30091e-3 >m.nb
		grep -aq '^G=0.00430091$' m.nb
		grep -aq '^units=G=0.00430091 M=100000$' m.nb
		nb-force --potential <m.nb | nb-stats --format tsv >s
		close_to 1e5 "$(stat_of mass <s)" 1e-5
		close_to 0.5 "$(stat_of virial <s)" 0.025
	done
	# a circular orbit with G M = 3 (2 pi)^2 and radius 2 takes sqrt(8 / 3)
	nb-gen kepler --eccentricity 0 --mass 3 --rscale 2 --G 39.47841760435743 >k.nb
	nb-step -d 8.16496580927726e-4 -k 2000 --every 0 nb-force <k.nb >end.nb
	close_to "$(mutate show pos <k.nb | awk 'NR == 1 { print $1 }')" "$(mutate show pos <end.nb | awk 'NR == 1 { print $1 }')" 1e-2
}

# bats test_tags=once
@test "a mass function keeps the total mass, the centre and the range of masses" {
	for imf in kroupa salpeter; do
		nb-gen plummer -n 10k --imf $imf --mass-range 0.5,8 --mass 3 >m.nb
		nb-stats --format tsv <m.nb >s
		close_to 3 "$(stat_of mass <s)" 1e-12
		for c in x y z; do
			close_to 0 "$(stat_of com$c <s)" 1e-14
			close_to 0 "$(stat_of p$c <s)" 1e-14
		done
		mutate show mass <m.nb | sort -g | awk 'NR == 1 { low = $1 } END { print $1 / low; exit !($1 / low > 12 && $1 / low < 16) }'
	done
	equals "$(nb-gen plummer -n 100 | mutate show mass | sort -u)" 0.01
}

@test "binaries are numbered, two and two, and with them or segregation the bytes do not depend on threads" {
	local options
	nb-gen king -n 100 --binaries 0.25 --imf kroupa >b.nb
	nb-stats --check <b.nb
	nb-convert --to csv --no-comments b.nb | awk -F, 'NR == 1 { exit $NF != "binary" ? bad = 1 : 0 } END { exit bad }'
	nb-convert --to csv --no-comments b.nb | awk -F, 'NR > 1 { want = NR - 2 < 40 ? int((NR - 2) / 2) + 1 : 0; if ($NF != want) exit 1 }'
	run ! grep binary <(nb-gen king -n 100 --imf kroupa --binaries 0 | nb-stats --fields)
	nb-gen -n 0 --binaries 1 | nb-stats --fields | grep -q 'binary .*<u8'
	for options in '--binaries 0.5' '--imf salpeter --segregation 0.5' '--imf kroupa --segregation 1 --binaries 0.3 --pairing uniform'; do
		# shellcheck disable=SC2086
		nb-gen -n 9001 $options --no-history -j 1 >one.nb
		# shellcheck disable=SC2086
		NB_SIMD=plain nb-gen -n 9001 $options --no-history -j 3 | cmp one.nb -
	done
	nb-gen -n 5000 --imf kroupa --no-history >plain.nb
	nb-gen -n 5000 --imf kroupa --segregation 0 --binaries 0 --no-history | cmp plain.nb -
	fails_with 2 '--semi-major needs --binaries above 0' 'nb-gen --semi-major 1,2'
	fails_with 2 '--pairing needs --binaries above 0' 'nb-gen --imf kroupa --pairing uniform'
	fails_with 2 '--pairing needs --imf kroupa or --imf salpeter' 'nb-gen --binaries 1 --pairing uniform'
	fails_with 2 '--segregation needs --imf kroupa or --imf salpeter' 'nb-gen --segregation 1'
	fails_with 2 '--binaries needs --precision f64' 'nb-gen --binaries 1 --precision f32'
	fails_with 2 "invalid binaries '1.1' (want a number >= 0 and <= 1)" 'nb-gen --binaries 1.1'
	fails_with 2 "invalid semi-major '2,1' (want two numbers, LOW,HIGH" 'nb-gen --binaries 1 --semi-major 2,1'
	fails_with 2 "model 'nfw' takes no --binaries" 'nb-gen nfw --binaries 0.5'
	fails_with 2 'segregation wants a mass-range whose smallest mass is at least 1/256 of the mean' \
		'nb-gen -n 100 --imf kroupa --mass-range 1e-5,100 --segregation 1'
}

@test "King, Hernquist, Dehnen and NFW spheres keep their radii and energy for some dynamical times" {
	[[ $NB_BIN == */san/* ]] && skip 'too slow under sanitizers; its programs are tested elsewhere'
	local m key
	for m in king hernquist nfw 'dehnen --gamma 0 --ra 0.3' 'plummer --ra 1'; do
		# shellcheck disable=SC2086
		nb-gen $m -n 3000 | nb-step -d 0.02 -k 400 --every 0 'nb-force -m direct --precision f32 -e 0.01 --potential' >end.nb
		# shellcheck disable=SC2086
		nb-gen $m -n 3000 | nb-stats --format tsv >before
		nb-stats --format tsv <end.nb >after
		for key in r10 r50 r90; do
			echo "$m $key $(stat_of $key <before) $(stat_of $key <after)"
			awk -v a="$(stat_of $key <before)" -v b="$(stat_of $key <after)" 'BEGIN { exit !(b > 0.9 * a && b < 1.12 * a) }'
		done
		close_to 0.5 "$(stat_of virial <after)" 0.03
	done
}

# bats test_tags=once
@test "velocities are radial beyond --ra and isotropic within, and an --ra that no sphere can have is refused" {
	# 1 - sigma_t^2 / sigma_r^2 = r^2 / (r^2 + ra^2); ra is a length of the output
	for case in 'plummer 1 20' 'plummer 2 20 --rscale 1' 'hernquist 0.4 20' 'nfw 3 20' 'dehnen 0.5 20 --gamma 2'; do
		read -r model ra bins more <<<"$case"
		# shellcheck disable=SC2086
		nb-gen "$model" -n 50000 --ra "$ra" $more >m.nb
		nb-stats --profile --center origin --bins "$bins" --format tsv m.nb | awk -F '\t' -v ra="$ra" '
			NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			{ r = $at["r"]; b = r^2 / (r^2 + ra^2); d = $at["beta"] - b; if (d < 0) d = -d
				if (!(d < 0.1)) { print r, $at["beta"], b; bad = 1 } }
			END { exit bad || NR != 21 }'
		close_to 0.5 "$(nb-select --sample 8000 m.nb | nb-calc 'mass *= 6.25' | nb-stats --epot direct --format tsv | stat_of virial)" 0.03
	done
	fails_with 2 'ra is too small for this profile: the density of some velocities would be negative' 'nb-gen hernquist --ra 0.07'
	nb-gen hernquist -n 10 --ra 0.075 | nb-stats --check
	fails_with 2 "model 'king' takes no --ra" 'nb-gen king --ra 1'
}

@test "Dehnen spheres have the slope at the centre that was asked for, and that of slope 1 is Hernquist's" {
	nb-gen hernquist -n 1000 --no-history | mutate show vel >h
	nb-gen dehnen --gamma 1 -n 1000 --no-history | mutate show vel | cmp - h
	# M = (r / (r + a))^(3 - gamma), and 1 at the cut-off
	for gamma in 0 0.5 1.5 2; do
		nb-gen dehnen --gamma $gamma -n 50000 --rscale 1 --rmax 19 |
			nb-stats --epot none --center origin --lagrangian 10,50 --format tsv >t
		for k in 10 50; do
			awk -v r="$(stat_of r$k <t)" -v g=$gamma -v k=$k \
				'BEGIN { d = (r / (1 + r) * 20 / 19)^(3 - g) * 100 / k - 1; exit !(d * d < 16 * 100 / k / 50000) }'
		done
	done
	fails_with 2 'rmax is too small for this gamma' 'nb-gen dehnen --gamma 2.2 --rmax 2.5'
}

@test "radii of Hernquist spheres, bulges and halos are those of the page" {
	page() { sed -n "s/$1/\1/p" "$NB_TOP/man/nb-gen.1"; }
	radius() { nb-stats --epot none --center origin --lagrangian "$@" --format tsv | stat_of "r$1"; }
	nb-gen hernquist -n 100000 --rscale 1 >h.nb
	close_to "$(page 'The scale radius a is .* the cut-off is at \(.*\) a, and.*')" "$(radius 100 <h.nb)" 0.01
	close_to "$(page '.* half of the mass is within \(.*\) a; 3.5 % of a complete sphere.*')" "$(radius 50 <h.nb)" 0.03
	a=$(page 'The scale radius a is \(0[0-9.]*\) by default, the cut-off.*')
	# the cut-off is 20 in the units of E = -1/4
	close_to "$a" "$(awk "BEGIN { print 20 / $(radius 100 <h.nb) }")" 0.002
	close_to 3.5 "$(awk "BEGIN { r = $(radius 100 <h.nb); print 100 * (1 - (r / (1 + r))^2) }")" 0.03
	nb-gen disk -n 200000 --rscale 1 >d.nb
	numbers=$(page 'Half of the mass is within \(.*\) in the halo, where .*')
	close_to "${numbers% in the*}" "$(radius 50 --species 1 <d.nb)" 0.01
	close_to "${numbers##* }" "$(radius 50 --species 2 <d.nb)" 0.06
}

# bats test_tags=once
@test "a ring stays a ring" {
	nb-gen ring -n 301 --eccentricity 0.02 | nb-step -d 0.01 -k 630 --every 0 'nb-force -e 0.001' >end.nb
	mutate show pos <end.nb | awk 'NR == 1 { x = $1; y = $2; next }
		{ r = sqrt(($1 - x) ^ 2 + ($2 - y) ^ 2); if (r < 0.9 || r > 2.2) { print NR, r; bad = 1 } } END { exit bad || NR != 301 }'
	equals "$(mutate show species <end.nb | sort -n | uniq -c | awk '{ print $2 ":" $1 }' | paste -sd ' ')" '0:1 1:300'
	# without mass they are test particles
	nb-gen ring -n 3 --ring-mass 0 | mutate show mass | paste -sd ' ' | grep -qx '1.0 0.0 0.0'
}

@test "a disk holds its half-mass radius and its thickness for a rotation" {
	[[ $NB_BIN == */san/* ]] && skip 'too slow under sanitizers; its programs are tested elsewhere'
	half() { mutate show species | paste -d ' ' - "$1" | awk '$1 == 0 { print sqrt($2 * $2 + $3 * $3) }' | sort -g |
		awk '{ r[NR] = $1 } END { print r[int(NR / 2)] }'; }
	height() { mutate show species | paste -d ' ' - "$1" | awk '$1 == 0 { print $4 < 0 ? -$4 : $4 }' | sort -g |
		awk '{ z[NR] = $1 } END { print z[int(NR / 2)] }'; }
	nb-gen disk -n 12000 >start.nb
	nb-step -d 0.02 -k 135 --every 0 'nb-force -m direct --precision f32 -e 0.02' <start.nb >end.nb
	mutate show pos <start.nb >a
	mutate show pos <end.nb >b
	awk -v a="$(half a <start.nb)" -v b="$(half b <end.nb)" 'BEGIN { print a, b; exit !(b > 0.95 * a && b < 1.1 * a) }'
	awk -v a="$(height a <start.nb)" -v b="$(height b <end.nb)" 'BEGIN { print a, b; exit !(b > 0.9 * a && b < 1.7 * a) }'
}

@test "boxes hold as many bodies each, as nb-build-tree counts them" {
	local how
	for how in f64 f32; do
		nb-gen boxes --level 3 --per-box 5 --precision $how | nb-sort-zorder | nb-build-tree --kind boxes --level 3 >b.nb
		mutate show box_first <b.nb | awk '$1 != 5 * (NR - 1) { bad = 1 } END { exit bad || NR < 64 }'
	done
}

@test "--radius adds a column" {
	nb-gen sphere -n 10 --radius 0.25 | mutate show radius >r
	[ "$(sort -u r)" = 0.25 ]
	[ "$(wc -l <r)" -eq 10 ]
	nb-gen sphere -n 10 --radius 0 --precision f32 | nb-stats --fields | grep radius | grep -q '<f4'
	# the Sun's is its own: 695,700 km in AU
	close_to 0.0046504673 "$(nb-gen solar | mutate show radius | head -n 1)" 1e-9
}

@test "species tell disk, bulge and halo of each galaxy" {
	nb-gen merger -n 1000 --ratio 0.25 | mutate show species | sort -n | uniq -c | awk '{ print $2 ":" $1 }' | paste -sd ' ' >s
	[ "$(cat s)" = '0:400 1:80 2:320 3:100 4:20 5:80' ]
}

@test "a parameter that the model does not take is refused" {
	fails_with 2 "model 'king' takes no --rmax" 'nb-gen king --rmax 5'
	fails_with 2 "model 'nfw' takes no --w0" 'nb-gen nfw --w0 5'
	fails_with 2 "model 'nfw' takes no --imf" 'nb-gen nfw --imf kroupa'
	fails_with 2 "model 'solar' takes no --mass" 'nb-gen solar --mass 2'
	fails_with 2 "model 'figure8' takes no --G" 'nb-gen figure8 --G 2'
	fails_with 2 "model 'merger' takes no --rscale" 'nb-gen merger --rscale 2'
	fails_with 2 "model 'king' has no --dim 2" 'nb-gen king --dim 2'
	fails_with 2 '--mass-range needs --imf' 'nb-gen king --mass-range 1,2'
	fails_with 2 '--mass-range needs --imf' 'nb-gen king --imf none --mass-range 1,2'
	fails_with 2 "model 'plummer' takes no --virial" 'nb-gen plummer --virial 0.5'
	fails_with 2 "model 'plummer' takes no --size" 'nb-gen --size 2'
	fails_with 2 "model 'sphere' takes no --rmax" 'nb-gen sphere --rmax 5'
	fails_with 2 "model 'uniform' takes no --spread" 'nb-gen uniform --spread 1'
	fails_with 2 "model 'sphere' takes no --sigma" 'nb-gen sphere --sigma 1'
	fails_with 2 "model 'disk' takes no --pericentre" 'nb-gen disk --pericentre 1'
	fails_with 2 "model 'disk' takes no --inclination" 'nb-gen disk --inclination 1,2'
	fails_with 2 "model 'disk' takes no --ratio" 'nb-gen disk --ratio 2'
	fails_with 2 "model 'kepler' takes no --toomre" 'nb-gen kepler --toomre 2'
	fails_with 2 "model 'kepler' takes no --node" 'nb-gen kepler --node 1,2'
	fails_with 2 "model 'kepler' takes no --seed" 'nb-gen kepler -s 2'
	fails_with 2 "model 'plummer' takes no --level" 'nb-gen plummer --level 2'
	fails_with 2 "model 'merger' takes no --per-box" 'nb-gen merger --per-box 2'
	fails_with 2 "model 'solar' takes no --radius" 'nb-gen solar --radius 1'
	fails_with 2 "model 'plummer' has no --dim 2" 'nb-gen plummer --dim 2'
	fails_with 2 "model 'boxes' has no --dim 3" 'nb-gen boxes --dim 3'
	fails_with 2 "model 'solar' has no --dim 2" 'nb-gen solar --dim 2'
}

@test "a model with its own number of bodies refuses another" {
	fails_with 2 "model 'solar' has 9 bodies, not 10" 'nb-gen solar -n 10'
	fails_with 2 "model 'figure8' has 3 bodies, not 0" 'nb-gen figure8 -n 0'
	fails_with 2 "model 'boxes' has 320 bodies, not 100" 'nb-gen boxes --level 3 --per-box 5 -n 100'
}

@test "bad numbers and names are refused" {
	fails_with 2 "unknown model 'plumer'" 'nb-gen plumer'
	fails_with 2 "unknown model ''" "nb-gen ''"
	fails_with 2 "invalid count '1e-3' (want an integer from 0 to 1099511627776)" 'nb-gen -n 1e-3'
	fails_with 2 "invalid count '1.5' (want an integer" 'nb-gen -n 1.5'
	fails_with 2 "invalid count '2T' (want an integer" 'nb-gen -n 2T'
	fails_with 2 "invalid count '10m' (want an integer" 'nb-gen -n 10m'
	fails_with 2 "invalid count '-1'" 'nb-gen -n -1'
	fails_with 2 "invalid seed '18446744073709551616'" 'nb-gen -s 18446744073709551616'
	fails_with 2 "invalid dim '4' (want 2|3)" 'nb-gen uniform --dim 4'
	fails_with 2 "invalid precision 'f16' (want f32|f64)" 'nb-gen --precision f16'
	fails_with 2 'rmax must be at least 1.5' 'nb-gen --rmax 1'
	fails_with 2 'rmax must be at least 1.5' 'nb-gen hernquist --rmax 1.4'
	fails_with 2 'rmax must be at least a tenth of rscale' 'nb-gen hernquist --rmax 1 --rscale 11'
	fails_with 2 "invalid rmax '0' (want a number > 0" 'nb-gen --rmax 0'
	fails_with 2 "invalid mass '0' (want a number > 0" 'nb-gen --mass 0'
	fails_with 2 "invalid w0 '17' (want a number >= 0.1 and <= 16)" 'nb-gen king --w0 17'
	fails_with 2 "invalid imf 'chabrier' (want none|kroupa|salpeter)" 'nb-gen --imf chabrier'
	fails_with 2 "invalid mass-range '2,1' (want two numbers, LOW,HIGH, above 0, the smaller first)" 'nb-gen --imf kroupa --mass-range 2,1'
	fails_with 2 "invalid mass-range '0,1'" 'nb-gen --imf kroupa --mass-range 0,1'
	fails_with 2 'the outer radius must exceed the inner one' 'nb-gen ring --inner 2'
	fails_with 2 'eccentricity must be at least 0 and at most 0.5' 'nb-gen ring --eccentricity 0.6'
	fails_with 2 'mass, rscale and G give lengths or velocities out of range' 'nb-gen --mass 1e100 --G 1e100 --rscale 1e-120'
	nb-gen -n 3 --rmax 1 --rscale 0.1 | nb-stats --check
	fails_with 2 "invalid size '0' (want a number > 0" 'nb-gen uniform --size 0'
	fails_with 2 "invalid level '13' (want an integer from 0 to 12)" 'nb-gen boxes --level 13'
	fails_with 2 "invalid per-box '0'" 'nb-gen boxes --per-box 0'
	fails_with 2 "invalid inclination '30' (want two numbers in degrees, A,B)" 'nb-gen merger --inclination 30'
	fails_with 2 "invalid node '1,2,3'" 'nb-gen merger --node 1,2,3'
	fails_with 2 "invalid node '1,nan'" 'nb-gen merger --node 1,nan'
	fails_with 2 'eccentricity must be at least 0 and below 1' 'nb-gen kepler --eccentricity 1'
	fails_with 2 'the separation must exceed the pericentre' 'nb-gen merger --separation 0.1'
	fails_with 2 'the separation exceeds the apocentre' 'nb-gen merger --eccentricity 0.5'
	fails_with 2 'disk and bulge together at most 0.99' 'nb-gen disk --disk 0.6 --bulge 0.5'
	fails_with 2 'per-box times the number of boxes must be at most 2^40' 'nb-gen boxes --level 12 --per-box 1000000000'
}

@test "the frame is not held in memory" {
	# 512 MB of stream from a process of at most 100 MB
	run python3 - <<-'END'
		import resource, subprocess
		with subprocess.Popen(["nb-gen", "-n", "8000000", "-j", "2"], stdout=subprocess.PIPE) as gen:
		    size = 0
		    while block := gen.stdout.read(1 << 20):
		        size += len(block)
		assert gen.returncode == 0
		assert size > 512000000, size
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
	END
	echo "$output kB"
	[ "$status" -eq 0 ]
	[ "$output" -lt 100000 ]
}

@test "-v says what was written" {
	run --separate-stderr bash -c 'nb-gen disk -n 100 -v >d.nb'
	[[ $stderr == 'nb-gen: disk: 100 bodies written in '* ]]
}
