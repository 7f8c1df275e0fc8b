#!/usr/bin/env bats
# nb-force: methods, precisions, options, and the errors of the tree against the direct sum.
# as a filter: nb-force -m direct

load helper



TREE='nb-sort-zorder | nb-build-tree | nb-force'

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 4000 >plummer.nb
	nb-gen uniform -n 4000 >uniform.nb
	nb-gen clusters -n 4000 >clusters.nb
	# two bodies far from a cluster: the pair must feel each other and the cluster as one
	{
		echo 'id,mass,x,y,z,vx,vy,vz'
		echo '1000000,0.5,1000,0,0,0,0,0'
		echo '1000001,0.5,1000.001,0,0,0,0,0'
		nb-gen plummer -n 3000 | nb-convert --no-comments --to csv | awk -F, '
			NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
			{ print $c["id"] "," $c["mass"] "," $c["x"] "," $c["y"] "," $c["z"] "," $c["vx"] "," $c["vy"] "," $c["vz"] }'
	} | nb-convert --from csv >pair.nb
	for m in plummer uniform clusters pair; do
		nb-force -m direct --precision f64 -e 0.001 --potential <$m.nb >$m-exact.nb
	done
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

two_bodies() { # two_bodies DISTANCE MASS0 MASS1
	printf 'id,mass,x,y,z,vx,vy,vz\n0,%s,0,0,0,0,0,0\n1,%s,%s,0,0,0,0,0\n' "$2" "$3" "$1" | nb-convert --from csv
}

@test "two unit masses attract with equal and opposite force" {
	for precision in f32 mixed f64; do
		two_bodies 2 1 1 | nb-force --precision $precision >two.nb
		read -r x0 y0 z0 x1 y1 z1 < <(mutate show acc <two.nb | paste -s -d ' ')
		close_to 0.25 "$x0" 1e-7
		[ "$y0 $z0 ${y1#-} ${z1#-}" = '0.0 0.0 0.0 0.0' ]
		[ "$x1" = "-$x0" ]
	done
}

@test "without gravity there are no forces, whatever the method" {
	for method in direct tree; do
		nb-gen plummer -n 300 | nb-sort-zorder | nb-build-tree | nb-force --G 0 --potential -m $method >free.nb
		nb-stats --check <free.nb
		for field in acc pot; do
			[ "$(python3 "$NB_TOP/tests/mutate.py" show $field <free.nb | tr -s ' \n' '\n' | sort -u)" = 0.0 ]
		done
	done
	nb-gen plummer -n 10 >p.nb
	fails_with 2 "invalid G '-1' (want a number >= 0)" 'nb-force --G -1 <p.nb'
}

@test "softening, G and the potential are those of the Plummer law" {
	two_bodies 3 2 5 | nb-force -e 4 --G 10 --potential >two.nb
	# r^2 + e^2 = 25: acc_0 = 10 * 5 * 3 / 125, pot_0 = -10 * 5 / 5
	read -r a _ < <(mutate show acc <two.nb)
	read -r p < <(mutate show pot <two.nb)
	close_to 1.2 "$a" 1e-13
	close_to -10 "$p" 1e-12
	# softening and G stay with the frame
	nb-force --potential --no-history <two.nb >again.nb
	[ "$(mutate show acc <again.nb)" = "$(mutate show acc <two.nb)" ]
	[ "$(nb-stats --attributes <two.nb | grep -c -x -e 'softening=4' -e 'G=10')" -eq 2 ]
	# a potential goes when forces of another law come
	nb-force -e 5 <two.nb | nb-stats --fields >fields
	grep -q acc fields
	run grep pot fields
	[ "$status" -eq 1 ]
}

# bats test_tags=once
@test "bodies at the same place do not accelerate each other" {
	for e in 0 0.1; do
		for precision in f32 mixed f64; do
			two_bodies 0 1 1 | nb-force -m direct -e $e --precision $precision >two.nb
			[ "$(mutate show acc <two.nb | tr -d -- -)" = "$(printf '0.0 0.0 0.0\n0.0 0.0 0.0')" ]
		done
		two_bodies 0 1 1 | nb-sort-zorder | nb-build-tree | nb-force -e $e >two.nb
		[ "$(mutate show acc <two.nb | tr -d -- -)" = "$(printf '0.0 0.0 0.0\n0.0 0.0 0.0')" ]
	done
}

@test "the jerk of two bodies is the derivative of their acceleration" {
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,0,0,0,0,0,0\n1,1,2,0,0,0.5,0.25,0\n' | nb-convert --from csv >j.nb
	# a = dx / r^3, j = dv / r^3 - 3 (dx.dv) dx / r^5
	for pipeline in 'nb-force --jerk' 'nb-sort-zorder | nb-build-tree -l 1 | nb-force --precision f64 --jerk'; do
		bash -c "$pipeline" <j.nb >j2.nb
		read -r jx jy _ < <(mutate show jerk <j2.nb)
		close_to -0.125 "$jx" 1e-14
		close_to 0.03125 "$jy" 1e-14
	done
	nb-convert --no-comments --to csv <j.nb | cut -d, -f 1-5 | nb-convert --from csv >still.nb
	fails_with 1 "field 'vel' missing" 'nb-sort-zorder <still.nb | nb-build-tree | nb-force --jerk'
}

# bats test_tags=once
@test "the jerk of the tree is that of the direct sum, in every precision, at rest or in motion" {
	nb-gen plummer -n 3000 -s 4 >rest.nb
	nb-gen merger -n 3000 -s 4 >flight.nb
	for m in rest flight; do
		nb-sort-zorder <$m.nb | nb-build-tree >tree.nb
		nb-force -m direct -e 0.01 --jerk <tree.nb | mutate show jerk >exact
		for options in '--precision f32' '--precision mixed' '--precision f64' '--mac acceleration' '--potential'; do
			# shellcheck disable=SC2086
			nb-force -t 0.4 -e 0.01 $options --jerk <tree.nb | mutate show jerk | paste - exact | awk -v of="$m $options" '
				{ for (k = 1; k <= 3; k++) { e += ($k - $(k + 3)) ^ 2; j += $(k + 3) ^ 2 } }
				END { printf "%s: %g\n", of, sqrt(e / j); exit !(NR == 3000 && e / j < 5e-3 ^ 2 && e > 0) }'
		done
	done
}

# bats test_tags=once
@test "direct f32 and mixed agree with f64 to 1e-6 rms" {
	for m in plummer uniform; do
		at_most 1e-6 "$(nb-force -m direct -e 0.01 --precision f32 <$m.nb | compare <(nb-force -e 0.01 <$m.nb) rms_ratio)"
	done
	for m in plummer uniform clusters; do
		at_most 1e-6 "$(nb-force -m direct -e 0.001 --precision mixed <$m.nb | compare $m-exact.nb rms_ratio)"
	done
}

@test "mixed keeps close pairs exact far from the origin" {
	nb-convert --no-comments --to csv <plummer.nb | awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; print; next }
		{ $c["x"] = sprintf("%.17g", $c["x"] + 1e6); print }' | nb-convert --from csv >far.nb
	nb-force --precision f64 -e 0.001 <far.nb >far-exact.nb
	at_most 1e-6 "$(nb-force --precision mixed -e 0.001 <far.nb | compare far-exact.nb rms)"
}

@test "units of SI do not overflow" {
	printf 'id,mass,x,y,z,vx,vy,vz\n0,2e30,0,0,0,0,0,0\n1,6e24,1.5e11,0,0,0,3e4,0\n2,1e41,3e20,0,0,0,0,0\n' |
		nb-convert --from csv >si.nb
	nb-force --G 6.67e-11 --precision f64 <si.nb >exact.nb
	at_most 1e-6 "$(nb-force --G 6.67e-11 --precision f32 <si.nb | compare exact.nb max)"
	at_most 1e-5 "$(nb-sort-zorder <si.nb | nb-build-tree | nb-force --G 6.67e-11 -t 0.3 --precision mixed | compare exact.nb max)"
}

# bats test_tags=once
@test "tree against direct sum: percentiles on plummer, uniform, clusters and a pair far from a cluster" {
	for m in plummer uniform clusters pair; do
		bash -o pipefail -c "cat $m.nb | $TREE -t 0.5 -e 0.001 >$m-tree.nb"
		at_most 3e-4 "$(compare $m-exact.nb median <$m-tree.nb)"
		at_most 5e-3 "$(compare $m-exact.nb p99 <$m-tree.nb)"
		at_most 5e-2 "$(compare $m-exact.nb max <$m-tree.nb)"
	done
}

# bats test_tags=once
@test "the error of the tree falls with theta, and theta 0 is the direct sum" {
	last=1
	for t in 1.0 0.7 0.5 0.35; do
		error=$(bash -c "cat plummer.nb | $TREE -t $t -e 0.001" | compare plummer-exact.nb rms)
		at_most "$(awk -v l="$last" 'BEGIN { print 0.8 * l }')" "$error"
		last=$error
	done
	at_most 2e-6 "$(bash -c "cat plummer.nb | $TREE -t 0 -e 0.001" | compare plummer-exact.nb rms_ratio)"
	at_most 1e-13 "$(bash -c "cat plummer.nb | $TREE -t 0 -e 0.001 --precision f64" | compare plummer-exact.nb rms)"
}

# bats test_tags=once
@test "quadrupoles beat monopoles" {
	quadrupole=$(bash -c "nb-sort-zorder | nb-build-tree -p 2 | nb-force -t 0.6 -e 0.001" <plummer.nb | compare plummer-exact.nb rms)
	monopole=$(bash -c "nb-sort-zorder | nb-build-tree -p 1 | nb-force -t 0.6 -e 0.001" <plummer.nb | compare plummer-exact.nb rms)
	at_most "$monopole" "$(awk -v q="$quadrupole" 'BEGIN { print 2 * q }')"
}

# interactions of bodies, and of cells with bodies or cells
work() {
	nb-force -v -b cpu -m tree -e 0.001 "$@" <tree.nb 2>&1 >/dev/null |
		sed -n 's/.*body-body \([0-9]*\), body-cell \([0-9]*\), cell-cell \([0-9]*\).*/\1 \2 \3/p' |
		awk '{ print $1, $2 + $3 }'
}

# bats test_tags=once
@test "an angle means the same error with multipoles of third and fourth order, with fewer pairs of bodies, or fewer cells" {
	nb-gen plummer -n 20000 -s 3 | nb-sort-zorder >sorted.nb
	nb-build-tree <sorted.nb >tree.nb
	nb-build-tree -p 1 <sorted.nb >low.nb
	nb-force -b cpu -m direct -e 0.001 <sorted.nb >exact.nb
	for t in 0.5 0.2; do
		two=$(nb-force -b cpu -m tree -t $t -e 0.001 <tree.nb | compare exact.nb rms_ratio)
		read -r pairs cells <<<"$(work -t $t)"
		for p in 3 4; do
			error=$(nb-force -b cpu -m tree -p $p -t $t -e 0.001 <tree.nb | compare exact.nb rms_ratio)
			at_most "$(awk -v e="$two" 'BEGIN { print 1.5 * e }')" "$error"
			at_most "$error" "$(awk -v e="$two" 'BEGIN { print e / 1.5 }')"
			read -r fewer_pairs fewer_cells <<<"$(work -p $p -t $t)"
			[ "$fewer_pairs" -gt 0 ]
			# fourth order has larger leaves, as its cells take long
			if [ $p -eq 3 ]; then
				[ "$fewer_pairs" -lt $((pairs * 3 / 4)) ]
			else
				[ "$fewer_cells" -lt $((cells * 3 / 4)) ]
			fi
		done
	done
	# whatever moments the tree has
	for p in 1 2 3; do
		nb-force -b cpu -m tree -p $p -e 0.001 --no-history <tree.nb | nb-select --fields id,acc --no-history >with
		nb-force -b cpu -m tree -p $p -e 0.001 --no-history <low.nb | nb-select --fields id,acc --no-history >without
		nb-diff --tolerance 1e-6 with without
	done
	fails_with 2 "option '--order' is 5 (limit 4 for method tree)" 'nb-force -m tree -p 5 <tree.nb'
	fails_with 2 "option '--jerk' of method tree goes with '--order' 1 or 2" 'nb-force -m tree -p 3 --jerk <tree.nb'
}

@test "the acceleration criterion reaches its tolerance" {
	coarse=$(bash -c "cat clusters.nb | $TREE --mac acceleration --alpha 0.01 -e 0.001" | compare clusters-exact.nb rms)
	fine=$(bash -c "cat clusters.nb | $TREE --mac acceleration --alpha 0.0005 -e 0.001" | compare clusters-exact.nb rms)
	at_most "$coarse" "$(awk -v f="$fine" 'BEGIN { print 2 * f }')"
	at_most 5e-3 "$fine"
}

@test "the potential of the tree agrees with the direct sum" {
	bash -c "cat plummer.nb | $TREE -t 0.5 -e 0.001 --potential" >tree.nb
	paste <(mutate show id pot <tree.nb | sort -n) \
		<(paste <(mutate show id <plummer-exact.nb) <(mutate show pot <plummer-exact.nb) | sort -n) |
		awk '{ d = ($2 - $4) / $4; if (d < 0) d = -d; if (!(d <= worst)) worst = d } END { print worst }' >worst
	at_most 2e-3 "$(cat worst)"
}

@test "momentum is conserved by the direct sum" {
	nb-force -m direct --precision f64 <plummer.nb >f.nb
	mutate show mass acc <f.nb |
		awk '{ x += $1 * $2; y += $1 * $3; z += $1 * $4; s += $1 * ($2 < 0 ? -$2 : $2) } END { printf "%.3g\n", (x*x + y*y + z*z) ^ 0.5 / s }' >p
	at_most 1e-13 "$(cat p)"
}

# bats test_tags=once
@test "random, radius-sorted and Z-sorted input give each id the same force" {
	nb-convert --no-comments --to csv <plummer.nb >p.csv
	{ head -n 1 p.csv; tail -n +2 p.csv | sort -R --random-source=p.csv; } | nb-convert --from csv >random.nb
	nb-sort-zorder <plummer.nb >sorted.nb
	for order in random sorted; do
		bash -c "cat $order.nb | $TREE -t 0.6 -e 0.001" >o.nb
		bash -c "cat plummer.nb | $TREE -t 0.6 -e 0.001" >t.nb
		at_most 2e-6 "$(compare t.nb max <o.nb)"
	done
}

@test "near field: with one box it is the direct sum, with many the sum over adjacent boxes" {
	nb-gen boxes --level 3 --per-box 8 >b.nb
	nb-force -m direct <b.nb >exact.nb
	nb-sort-zorder --dim 2 <b.nb | nb-build-tree --kind boxes --level 1 | nb-force | compare exact.nb rms >near
	at_most 1e-13 "$(cat near)" # level 1: every box touches every other
	nb-sort-zorder --dim 2 <b.nb | nb-build-tree --kind boxes --level 3 | nb-force >near.nb
	run compare exact.nb median <near.nb
	[ "$status" -eq 0 ]
	awk -v e="$output" 'BEGIN { exit !(e > 0.01) }' # far boxes really are left out
}

BOXES='nb-build-tree --kind boxes --level'

# bats test_tags=once
@test "far field of boxes: with the near field it is the whole, in space and in the plane, closer with each order" {
	last=1
	for p in 2 4 6 8; do
		error=$(bash -c "nb-sort-zorder <uniform.nb | $BOXES 3 | nb-force -m fmm -p $p -e 0.001 --potential" |
			compare uniform-exact.nb rms_ratio)
		at_most "$(awk -v l="$last" 'BEGIN { print 0.6 * l }')" "$error"
		last=$error
	done
	at_most 2e-4 "$last"
	nb-gen boxes --level 5 --per-box 5 >b.nb
	nb-force -m direct -e 0.01 <b.nb >exact.nb
	nb-sort-zorder --dim 2 <b.nb | $BOXES 5 | nb-force -m fmm -e 0.01 >order8.nb
	at_most 2.4e-4 "$(compare exact.nb rms_ratio <order8.nb)"
	nb-sort-zorder --dim 2 <b.nb | $BOXES 5 | nb-force -m fmm -e 0.01 --precision f64 -p 12 |
		compare exact.nb rms_ratio >order12
	at_most 2e-5 "$(cat order12)"
	# the default orders are 6 and 8
	nb-sort-zorder --dim 2 <b.nb | $BOXES 5 | nb-force -m fmm -e 0.01 -p 8 --no-history | mutate show acc >given
	mutate show acc <order8.nb | cmp - given
	nb-sort-zorder <clusters.nb | $BOXES 5 | nb-force -m fmm -e 0.001 -p 6 >order6.nb
	at_most 1e-3 "$(compare clusters-exact.nb rms <order6.nb)"
	nb-sort-zorder <clusters.nb | $BOXES 5 | nb-force -m fmm -e 0.001 | mutate show acc >given
	mutate show acc <order6.nb | cmp - given
}

@test "far field of boxes: what it does not offer is refused" {
	nb-sort-zorder <uniform.nb | $BOXES 3 >boxes.nb
	fails_with 1 "is not sorted (put 'nb-sort-zorder | nb-build-tree --kind boxes' before)" 'nb-force -m fmm <uniform.nb'
	fails_with 1 'no boxes in frame 0' 'nb-sort-zorder <uniform.nb | nb-force -m fmm'
	fails_with 2 "option '--order' needs '--method tree' or fmm" 'nb-force -p 4 <boxes.nb'
	fails_with 2 "invalid order '0' (want" 'nb-force -m fmm -p 0 <boxes.nb'
	fails_with 1 "option '--order' is 9 for frame 0 (limit 8 in 3-D, 12 in 2-D)" 'nb-force -m fmm -p 9 <boxes.nb'
	fails_with 1 'method fmm offers no jerk' 'nb-force -m fmm --jerk <boxes.nb'
	mutate set box_neighbour 9 3 77 <boxes.nb >bad.nb
	fails_with 1 'the boxes of frame 0 are not those of its keys' 'nb-force -m fmm <bad.nb'
	mutate set box_first 300 0 "$(mutate show box_first <boxes.nb | sed -n 300p)" <boxes.nb >bad.nb
	fails_with 1 'the boxes of frame 0 are not those of its keys' 'nb-force -m fmm <bad.nb'
	nb-gen disk -n 1000 | nb-sort-zorder --dim 2 | $BOXES 3 >thick.nb
	fails_with 1 'method fmm is 2-D: body' 'nb-force -m fmm <thick.nb'
}

@test "far field of boxes in extreme units, and with a softening whose square is none" {
	# three bodies far apart, in boxes of level 2 that do not touch
	for unit in '1 1' '1e170 1e300' '1e-170 1e-200' '1e100 1e-300'; do
		read -r length mass <<<"$unit"
		printf 'x,y,z,vx,vy,vz,mass\n%s,0,0,0,0,0,%s\n0,%s,0,0,0,0,%s\n0,0,%s,0,0,0,%s\n' \
			"$length" "$mass" "$length" "$mass" "$length" "$mass" | nb-convert --from csv |
			nb-sort-zorder | nb-build-tree --kind boxes --level 2 >units.nb
		nb-force -m direct --potential <units.nb >exact.nb
		nb-force -m fmm -p 8 --precision f64 --potential <units.nb >far.nb
		at_most 5e-3 "$(compare exact.nb rms_ratio <far.nb)"
		for column in acc pot; do # every digit that matters is there
			paste -d ' ' <(mutate show $column <exact.nb) <(mutate show $column <far.nb) | awk '
				{ n = NF / 2; for (i = 1; i <= n; i++) if (($i == 0) != ($(i + n) == 0)) { print; exit 1 } }'
		done
	done
	nb-gen uniform -n 300 | nb-sort-zorder | nb-build-tree --kind boxes --level 2 >wide.nb
	for eps in 1e100 1e160 1e200; do
		nb-force -m direct --potential -e $eps <wide.nb | mutate show pot >want
		nb-force -m fmm --precision f64 --potential -e $eps <wide.nb | mutate show pot | paste - want | awk '
			{ if (!($1 < 0 && ($1 / $2 - 1) ^ 2 < 1e-12)) { print; exit 1 } }'
	done
}

# as_chain FILE OPTION ...: the bytes of three programs, without keys and nodes, and what is kept of a frame in a file
as_chain() {
	local file=$1 leaf=()
	shift
	[[ $1 != -l ]] || leaf=(-l "$2")
	nb-sort-zorder "$file" | nb-build-tree "${leaf[@]}" | nb-force --no-history "${@:1+${#leaf[@]}}" >chain.nb
	nb-force --no-history "$@" "$file" >alone.nb
	nb-select --drop key --drop-table node --no-history chain.nb | nb-convert -o chain.csv
	nb-convert alone.nb -o alone.csv
	grep -vE '^# (key_cube|leaf_size|order|tree|history)=' chain.csv | cmp - <(grep -v '^# history=' alone.csv)
	run ! grep -qE ' (node|key) |^0 key' <(nb-stats --fields alone.nb)
}

@test "a tree that is missing or stale is built, gives the forces of the chain, and is not written" {
	nb-gen boxes --level 2 --per-box 10 >flat.nb
	nb-calc 'active = id % 8 == 0' plummer.nb >active.nb
	nb-sort-zorder plummer.nb | nb-build-tree | mutate set pos 17 0 0.123 >moved.nb
	as_chain plummer.nb -t 0.5
	as_chain plummer.nb -m tree -e 0.01 --potential --jerk
	as_chain plummer.nb -l 5 -m tree --precision f64 -p 3
	as_chain plummer.nb -l 40 -t 0.7 -p 1 --audit 50
	as_chain clusters.nb --mac acceleration --softening-kernel spline -e 0.02
	as_chain uniform.nb --accuracy 1e-3
	as_chain flat.nb -t 0.5
	as_chain active.nb -t 0.5
	as_chain moved.nb -t 0.5
	# what is there is used, and stays
	nb-sort-zorder plummer.nb --cube=-100,-100,-100,200 | tee sorted.nb | nb-build-tree -l 7 | tee tree.nb | nb-force -t 0.5 >chain.nb
	nb-force -t 0.5 -l 7 sorted.nb | nb-diff --fields key,acc chain.nb -
	nb-force tree.nb | nb-diff chain.nb - >/dev/null
	nb-force moved.nb | nb-diff --fields acc alone.nb -
	fails_with 1 "frame 0 has a tree: option '--leaf-size' is for one that nb-force builds" 'nb-force -l 7 -t 0.5 tree.nb'
	for options in '-l 7' '-l 7 -m direct'; do
		fails_with 2 "option '--leaf-size' needs '--method tree', '--theta' or '--accuracy'" "nb-force $options plummer.nb"
	done
	nb-gen plummer -n 1 | nb-force -t 0.5 | nb-stats >/dev/null
	nb-gen plummer -n 0 | nb-force -t 0.5 | nb-stats >/dev/null
	fails_with 1 "no boxes in frame 0 (put 'nb-sort-zorder | nb-build-tree --kind boxes' before)" 'nb-force -m near <plummer.nb'
}

# bats test_tags=once
@test "a run with nb-force alone has the bytes of one with the three programs" {
	local tree='nb-sort-zorder | nb-build-tree' fold
	for fold in on off; do
		NB_FOLD=$fold nb-step -d 0.01 -k 3 --no-history "$tree | nb-force -t 0.7 -e 0.03" plummer.nb >chain.nb
		NB_FOLD=$fold nb-step -d 0.01 -k 3 --no-history 'nb-force -t 0.7 -e 0.03' plummer.nb | cmp - chain.nb
	done
	nb-step -d 0.01 -k 2 --no-history --integrator hermite "$tree | nb-force -t 0.7 -e 0.03 --jerk" plummer.nb >chain.nb
	nb-step -d 0.01 -k 2 --no-history --integrator hermite 'nb-force -t 0.7 -e 0.03 --jerk' plummer.nb | cmp - chain.nb
	nb-step -d 0.01 -k 2 --no-history --levels 3 --eta 0.05 "$tree | nb-force -t 0.7 -e 0.03" plummer.nb >chain.nb
	nb-step -d 0.01 -k 2 --no-history --levels 3 --eta 0.05 'nb-force -t 0.7 -e 0.03' plummer.nb | cmp - chain.nb
}

@test "a corrupt tree is refused, not walked" {
	nb-sort-zorder <plummer.nb | nb-build-tree >tree.nb
	mutate set node_child 0 0 0 <tree.nb >bad.nb
	fails_with 1 'corrupt tree' 'nb-force <bad.nb'
	mutate set node_count 3 0 4000000000 <tree.nb >bad.nb
	fails_with 1 'corrupt tree' 'nb-force <bad.nb'
	mutate set node_first 5 0 3999 <tree.nb >bad.nb
	fails_with 1 'corrupt tree' 'nb-force <bad.nb'
	mutate set node_nchild 2 0 200 <tree.nb >bad.nb
	fails_with 1 'corrupt tree' 'nb-force <bad.nb'
}

@test "a tree of other masses, or with damaged moments, is refused" {
	nb-sort-zorder <plummer.nb | nb-build-tree >tree.nb
	mutate set mass 7 0 0.5 <tree.nb >bad.nb
	fails_with 1 "corrupt tree in frame 0: a node's mass is not the sum of its bodies' masses" 'nb-force <bad.nb'
	for value in 0 -1 nan inf 0.123; do
		mutate set node_mass 3 0 $value <tree.nb >bad.nb
		fails_with 1 "corrupt tree in frame 0: a node's mass is not the sum of its bodies' masses" 'nb-force <bad.nb'
		mutate set node_com 3 1 $value <tree.nb >bad.nb
		fails_with 1 "corrupt tree in frame 0: a node's centre of mass is not that of its bodies" 'nb-force <bad.nb'
		mutate set node_box 3 4 $value <tree.nb >bad.nb
		fails_with 1 "corrupt tree in frame 0: a node's box is not that of its bodies" 'nb-force <bad.nb'
		mutate set node_quad 3 5 $value <tree.nb >bad.nb
		fails_with 1 "corrupt tree in frame 0: a node's second moments are not those of its bodies" 'nb-force <bad.nb'
	done
}

# How many pairs of bodies a walk sums for each body, from -v.
pairs_of() { # pairs_of FILE N
	nb-sort-zorder <"$1" | nb-build-tree | NB_FOLD=off nb-force -v -e 0 --G 1e-150 2>&1 >/dev/null |
		sed -n 's/.*body-body \([0-9]*\).*/\1/p' | awk -v n="$2" '{ print int($1 / n) }'
}

# bats test_tags=once
@test "a walk takes n log n whatever the distribution" {
	# id, mass, x, y, z: uniform in a cube; half of it in a core; ten nested cores; scales from 1 to 2^-50; huge and tiny
	for model in 'cube 1' 'core i%2?1:1e-6' 'nested 0.1^(i%10)' 'depth 2^-(50*rand())' 'huge 1e200' 'tiny 1e-200'; do
		awk -v n=20000 'BEGIN { srand(3); print "id,mass,x,y,z,vx,vy,vz"; for (i = 0; i < n; i++) { s = '"${model#* }"'
			printf "%d,%.17g,%.17g,%.17g,%.17g,0,0,0\n", i, 1 / n, s * rand(), s * rand(), s * rand() } }' |
			nb-convert --from csv >"${model%% *}.nb"
	done
	cube=$(pairs_of cube.nb 20000)
	[ "$cube" -gt 100 ]
	for model in core nested depth huge tiny; do
		pairs=$(pairs_of $model.nb 20000)
		echo "$model: $pairs pairs a body, a cube $cube"
		at_most $((2 * cube)) "$pairs"
	done
}

@test "a missing field is named, with what the stream has" {
	mutate drop mass <plummer.nb >m.nb
	fails_with 1 "field 'mass' missing in frame 0 (stream has: id, pos, vel" 'nb-force <m.nb'
}

@test "options that contradict each other are usage errors" {
	fails_with 2 "'--alpha' needs" 'nb-force --alpha 0.1 <plummer.nb'
	fails_with 2 'belong to method tree' 'nb-force -m direct -t 0.5 <plummer.nb'
	fails_with 2 "invalid method 'trees' (did you mean 'tree'? want auto|direct|tree|near|fmm|treepm)" 'nb-force -m trees <plummer.nb'
}

@test "forces near the largest double: no factor on the way is beyond it" {
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1e300,0,0,0,0,0,0\n1,1e300,10,0,0,0,0,0\n' | nb-convert --from csv |
		nb-sort-zorder | nb-build-tree >two.nb
	for method in 'direct' 'direct --jerk --potential' tree; do
		# shellcheck disable=SC2086
		ax=$(nb-force -m $method <two.nb | nb-convert --no-comments --to csv |
			awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "ax") c = i } NR == 2 { print $c }')
		close_to 1e298 "$ax" 1e291
	done
}

@test "an acceleration that overflows is an error" {
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1e300,0,0,0,0,0,0\n1,1e300,1e-150,0,0,0,0,0\n' | nb-convert --from csv >o.nb
	fails_with 1 'an acceleration of frame 0 overflows' 'nb-force <o.nb'
}

@test "a jerk that overflows is an error, also where the acceleration does not" {
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1e154,-0.25,0,0,0,-1e300,0\n1,1e154,0.25,0,0,0,1e300,0\n' | nb-convert --from csv >o.nb
	nb-force <o.nb >/dev/null
	fails_with 1 'a jerk of frame 0 overflows' 'nb-force --jerk <o.nb'
	fails_with 1 'a jerk of frame 0 overflows' 'nb-force --kernel xu-tree --jerk <o.nb'
}

@test "the CUDA backend without a device is an error; auto falls back to the CPU" {
	if nb-force -b cuda <plummer.nb >/dev/null 2>&1; then skip 'a CUDA device is there'; fi
	[ -z "${NB_REQUIRE_GPU:-}" ]
	fails_with 1 "backend 'cuda'" 'nb-force -b cuda <plummer.nb'
	run bash -c 'nb-force -v -b auto <plummer.nb 2>&1 >/dev/null'
	[[ $output == *' on cpu,'* ]]
}

@test "a list of devices that is none is refused, and a list without a device is an error" {
	local list
	for list in '' x '0,' ',0' '0,,1' 0,x 1.5 -1 ' 0' 0,all all,0 99999999999 1:2; do
		fails_with 2 'is not the number of a device (want cuda:N, cuda:N,N, cuda:N-N or cuda:all)' "nb-force -b 'cuda:$list' <plummer.nb"
	done
	fails_with 2 "backend 'cuda:0,,1': '' is not" 'nb-force -b cuda:0,,1 <plummer.nb'
	fails_with 2 'more than 16 devices' 'nb-force -b cuda:0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0 <plummer.nb'
	fails_with 2 'want auto, cpu, cuda, cuda:N, cuda:N,N, cuda:N-N or cuda:all' 'nb-force -b cudo:0 <plummer.nb'
	if nb-force -b cuda <plummer.nb >/dev/null 2>&1; then skip 'a CUDA device is there'; fi
	[ -z "${NB_REQUIRE_GPU:-}" ]
	for list in 0,1 0,0 all 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0; do
		fails_with 1 "backend 'cuda:$list'" "nb-force -b cuda:$list <plummer.nb"
		fails_with 1 "backend 'cuda:$list'" "nb-gen plummer -n 0 | nb-stats -b cuda:$list"
	done
}

@test "-v says what auto chose, and why" {
	run bash -c 'nb-gen plummer -n 1000 | nb-force -v -j 2 2>&1 >/dev/null'
	[[ $output =~ 'nb-force: backend cpu: about '[0-9.e-]+' s, 0.34 s on a device'$'\n' ]]
	run bash -c 'nb-gen plummer -n 1000 | nb-force -v -b cpu 2>&1 >/dev/null'
	[[ $output != *'backend cpu: about'* ]]
}

@test "auto says why there is no device where one would be faster" {
	if nb-force -b cuda <plummer.nb >/dev/null 2>&1; then skip 'a CUDA device is there'; fi
	[ -z "${NB_REQUIRE_GPU:-}" ]
	# which it does before it computes, and that would take minutes under sanitizers
	nb-gen uniform -n 70000 >many.nb
	NB_SIMD=plain nb-force -v -j 1 --precision f32 <many.nb >/dev/null 2>told &
	force=$!
	until grep -q 'backend' told; do kill -0 $force; sleep 0.05; done
	kill $force
	wait $force || :
	grep -q 'backend cpu: about .* s on a device, but: ' told
}

# bats test_tags=once
@test "each instruction set gives the same forces to rounding" {
	for isa in plain avx2 avx512; do
		at_most 1e-6 "$(NB_SIMD=$isa nb-force -m direct --precision f32 -e 0.001 <plummer.nb | compare plummer-exact.nb rms)"
		at_most 1e-13 "$(NB_SIMD=$isa nb-force -m direct --precision f64 -e 0.001 <plummer.nb | compare plummer-exact.nb rms)"
		at_most 5e-3 "$(NB_SIMD=$isa bash -c "cat plummer.nb | $TREE -t 0.5 -e 0.001" | compare plummer-exact.nb p99)"
	done
}

@test "a body far away leaves the forces of the others as they are, or is refused, in every method, precision and kernel" {
	far_body_is_seen cpu 20
	nb-gen plummer -n 500 >near.nb
	nb-calc 'x = id == 5 ? 1e40 : x' 'mass = id == 5 ? 0 : mass' near.nb >farther.nb # of many: a few have sums of their own
	fails_with 1 'bodies lie so far off that distances between the others are lost' 'nb-stats --epot direct <farther.nb'
	# a tree has the others in leaves of their own
	for D in 1e30 1e80; do
		nb-calc "x = id == 5 ? $D : x" 'mass = id == 5 ? 0 : mass' <near.nb | nb-sort-zorder | nb-build-tree >$D.nb
	done
	nb-force -m direct <1e30.nb >exact.nb
	at_most 3e-4 "$(nb-force <1e30.nb | compare exact.nb rms)"
	fails_with 1 'bodies lie so far off that distances between the others are lost' 'nb-force <1e80.nb'
}
