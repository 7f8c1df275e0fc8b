#!/usr/bin/env bats
# The CUDA backend against the CPU, program by program.  Skipped without a device; NB_REQUIRE_GPU=1 makes that a failure.

# bats file_tags=gpu
load helper


setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	if nb-gen plummer -n 2 | nb-force -b cuda >/dev/null 2>why; then touch device; fi
	for n in 1 2 31 33 257 4099; do
		nb-gen plummer -n $n --no-history >p$n.nb
	done
	nb-gen clusters -n 20001 --no-history >clusters.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
	if [ ! -e device ]; then
		[ -z "${NB_REQUIRE_GPU:-}" ] || { cat why; return 1; }
		skip "no CUDA device: $(cat why)"
	fi
}


@test "direct sum: every precision and odd n, with potential and jerk" {
	for n in 1 2 31 33 257 4099; do
		nb-force -b cpu --precision f64 -e 0.01 --potential --jerk <p$n.nb >cpu.nb
		for precision in f32 mixed f64; do
			nb-force -b cuda -m direct --precision $precision -e 0.01 --potential --jerk <p$n.nb >gpu.nb
			[ $n -eq 1 ] && continue
			limit=3e-6
			[ $precision = f64 ] && limit=1e-12
			at_most $limit "$(compare cpu.nb rms_ratio <gpu.nb)"
			for c in pot jerk; do
				paste -d ' ' <(mutate show $c <cpu.nb) <(mutate show $c <gpu.nb) | awk '
					{ n = NF / 2; for (i = 1; i <= n; i++) { d = $i - $(i + n); e += d * d; s += $i * $i } }
					END { printf "%.3g\n", (e / s) ^ 0.5 }' >error
				at_most "$([ $precision = f64 ] && echo 1e-11 || echo 1e-4)" "$(cat error)"
			done
		done
	done
}

@test "forces at points by the tree are computed on the CPU, and asked for on a device refused" {
	nb-sort-zorder -b cuda <p4099.nb | nb-build-tree -b cuda >tree.nb
	fails_with 2 'method tree computes forces at points on the CPU only (want -b cpu, or -m direct' \
		'nb-force -b cuda -m tree --at p257.nb <tree.nb'
	nb-force -b cpu -m tree --no-history --at p257.nb <tree.nb >cpu.nb
	nb-force -b auto -m tree --no-history --at p257.nb <tree.nb | cmp - cpu.nb
	nb-sort-zorder -b cuda <p4099.nb | nb-build-tree -b cuda | nb-force -m tree --no-history --at p257.nb | nb-stats --check
}

@test "groups have the same bytes on the device, in a folded pipeline, too, and of bodies that come from one" {
	for p in '' '--periodic 1'; do
		for arg in '' '--min 1' --catalogue '--catalogue --density 5'; do
			# shellcheck disable=SC2086
			nb-groups -b cpu -l 0.02 $p $arg --no-history clusters.nb >cpu.nb
			# shellcheck disable=SC2086
			nb-groups -b cuda -l 0.02 $p $arg --no-history clusters.nb | cmp - cpu.nb
		done
	done
	nb-sort-zorder -b cpu --no-history clusters.nb | nb-groups -b cpu -l 0.02 --no-history >cpu.nb
	nb-sort-zorder -b cuda --no-history clusters.nb | nb-groups -b cuda -l 0.02 --no-history | cmp - cpu.nb
	nb-groups -b cuda -l 0.02 --no-history clusters.nb | nb-sort-zorder -b cuda --no-history | nb-stats --fields | grep -q 'group *particle <u4'
}

@test "a body far away leaves the forces of the others as they are, or is refused, in every method, precision and kernel" {
	far_body_is_seen cuda 10
	nb-calc 'x = id == 5 ? 1e30 : x' 'mass = id == 5 ? 0 : mass' <p4099.nb | nb-sort-zorder -b cpu >far.nb
	fails_with 1 'bodies lie so far off' 'nb-build-tree -b cuda <far.nb'
	nb-build-tree -b cpu <far.nb >tree.nb
	fails_with 1 'bodies lie so far off' 'nb-force -b cuda <tree.nb'
	nb-calc 'x = id == 5 ? 1e6 : x' 'mass = id == 5 ? 0 : mass' <p4099.nb | nb-sort-zorder -b cpu | nb-build-tree -b cpu >tree.nb
	nb-force -b cpu -m direct --precision f64 <tree.nb >exact.nb
	at_most 3e-4 "$(nb-force -b cuda <tree.nb | compare exact.nb rms)"
}

@test "tree: the jerk of the direct sum to the opening angle's accuracy, and Taylor steps that keep the energy" {
	nb-gen clusters -n 20001 --sigma 0.1 --no-history >moving.nb
	for f in p257 p4099 moving; do
		nb-force -b cpu -m direct -e 0.01 --jerk <$f.nb | nb-sort-zorder -b cpu | mutate show jerk >exact
		for precision in f32 mixed f64; do
			nb-sort-zorder -b cuda <$f.nb | nb-build-tree -b cuda | nb-force -b cuda -t 0.4 -e 0.01 --precision $precision --jerk |
				mutate show jerk | paste -d ' ' - exact | awk -v of="$f $precision" '
				{ for (k = 1; k <= 3; k++) { e += ($k - $(k + 3)) ^ 2; j += $(k + 3) ^ 2 } }
				END { printf "%s: %g\n", of, sqrt(e / j); exit !(NR > 250 && e / j < 5e-3 ^ 2 && e > 0) }'
		done
	done
	local k
	for k in 25 50 100; do
		nb-step -b cuda --integrator taylor -d "$(awk -v k=$k 'BEGIN { printf "%.17g", 1 / k }')" -k $k --every $k \
			'nb-sort-zorder -b cuda | nb-build-tree -b cuda | nb-force -b cuda -t 0.3 --precision f64 -e 0.3 --jerk --potential' <p4099.nb |
			nb-stats --format tsv | awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "drift") c = i }
				END { printf "%.17g\n", $c < 0 ? -$c : $c }' >drift.$k
	done
	paste drift.25 drift.50 drift.100 | awk '{ print; exit !($1 / $2 > 3.4 && $1 / $2 < 4.6 && $2 / $3 > 3.4 && $2 / $3 < 4.6) }'
}

@test "softenings of single bodies, and splines, are those of the CPU: direct sum, tree and near field" {
	nb-calc --no-history 'eps = x > 0 ? 0.05 : 0.01' <p4099.nb >eps.nb
	for kernel in plummer spline; do
		nb-force -b cpu --softening-kernel $kernel --potential <eps.nb >cpu.nb
		for precision in f32 mixed f64; do
			limit=3e-6
			[ $precision = f64 ] && limit=1e-11
			nb-force -b cuda -m direct --softening-kernel $kernel --precision $precision --potential <eps.nb >gpu.nb
			at_most $limit "$(compare cpu.nb rms_ratio <gpu.nb)"
			nb-sort-zorder -b cuda <eps.nb | nb-build-tree -b cuda |
				nb-force -b cuda -t 0.5 --softening-kernel $kernel --precision $precision --potential >tree.nb
			at_most 3e-4 "$(compare cpu.nb rms_ratio <tree.nb)"
			# boxes of level 1 are all neighbours
			nb-sort-zorder -b cuda <eps.nb | nb-build-tree -b cuda --kind boxes --level 1 |
				nb-force -b cuda -m near --softening-kernel $kernel --precision $precision >near.nb
			at_most $limit "$(compare cpu.nb rms_ratio <near.nb)"
		done
		nb-step -b cuda -d 0.005 -k 4 --every 4 "nb-force -b cuda --softening-kernel $kernel --precision f64" <eps.nb |
			nb-select --frames 1 >gpu.nb
		nb-step -b cpu -d 0.005 -k 4 --every 4 "nb-force -b cpu --softening-kernel $kernel --precision f64" <eps.nb |
			nb-select --frames 1 >cpu.nb
		at_most 1e-9 "$(compare cpu.nb rms_ratio <gpu.nb)"
	done
}

@test "forces near the largest double: no factor on the way is beyond it" {
	printf 'id,mass,x,y,z,vx,vy,vz,eps\n0,1e300,0,0,0,0,0,0,0.1\n1,1e300,10,0,0,0,0,0,0.1\n' | nb-convert --from csv |
		nb-sort-zorder -b cpu >two.nb
	nb-build-tree -b cpu <two.nb >two-tree.nb
	nb-build-tree -b cpu --kind boxes --level 1 <two.nb >two-boxes.nb
	for kernel in none plummer spline; do
		for precision in f32 mixed f64; do
			for method in direct tree near; do
				[ $method = direct ] && f=two || f=two-${method/near/boxes}
				[ $kernel = none ] && choice='-e 0.1' fields='--drop eps' || choice="--softening-kernel $kernel" fields=
				# shellcheck disable=SC2086
				nb-select $fields $f.nb | nb-force -b cuda -m $method --precision $precision $choice --potential --jerk |
					nb-convert -q --no-comments --to csv >out.csv
				awk -F, -v of="$kernel $precision $method" 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i } NR == 2 {
					print of, $column["ax"], $column["pot"]
					exit !($column["ax"] > 0.999e298 && $column["ax"] < 1.001e298 && $column["pot"] < -0.99e299) }' out.csv
			done
		done
	done
}

@test "sort: the same bytes as on the CPU, 2-D and 3-D" {
	for n in 1 2 33 4099; do
		for dim in 2 3; do
			nb-sort-zorder -b cpu --dim $dim --no-history <p$n.nb >cpu.nb
			nb-sort-zorder -b cuda --dim $dim --no-history <p$n.nb >gpu.nb
			cmp cpu.nb gpu.nb
		done
	done
}

@test "tree: the same number of nodes and the same forces to the opening angle's accuracy" {
	for f in p33 p257 p4099 clusters; do
		nb-force -b cpu -e 0.001 --potential <$f.nb >exact.nb
		nb-sort-zorder -b cuda <$f.nb | nb-build-tree -b cuda | nb-force -b cuda -t 0.5 -e 0.001 --potential >gpu.nb
		at_most 2e-3 "$(compare exact.nb rms_ratio <gpu.nb)"
		at_most 1e-2 "$(compare exact.nb p99 <gpu.nb)"
		# trees travel: built here, walked there
		nb-sort-zorder -b cpu <$f.nb | nb-build-tree -b cpu | nb-force -b cuda -t 0.5 -e 0.001 >gpu.nb
		at_most 2e-3 "$(compare exact.nb rms_ratio <gpu.nb)"
		nb-sort-zorder -b cuda <$f.nb | nb-build-tree -b cuda | nb-force -b cpu -t 0.5 -e 0.001 >cpu.nb
		at_most 2e-3 "$(compare exact.nb rms_ratio <cpu.nb)"
	done
	nb-sort-zorder <clusters.nb >s.nb
	[ "$(nb-build-tree -b cpu <s.nb | mutate show node_mass | wc -l)" -eq "$(nb-build-tree -b cuda <s.nb | mutate show node_mass | wc -l)" ]
}

@test "tree: theta 0 is the direct sum; the acceleration criterion; 2-D; f64" {
	nb-force -b cpu -e 0.01 <p4099.nb >exact.nb
	nb-sort-zorder <p4099.nb | nb-build-tree >t.nb
	at_most 1e-5 "$(nb-force -b cuda -t 0 -e 0.01 <t.nb | compare exact.nb rms_ratio)"
	at_most 1e-12 "$(nb-force -b cuda -t 0 -e 0.01 --precision f64 <t.nb | compare exact.nb rms_ratio)"
	at_most 1e-3 "$(nb-force -b cuda --mac acceleration --alpha 0.001 -e 0.01 <t.nb | compare exact.nb rms_ratio)"
	nb-gen uniform --dim 2 -n 3001 >q.nb
	nb-force -b cpu -e 0.01 <q.nb >exact.nb
	at_most 2e-3 "$(nb-sort-zorder <q.nb | nb-build-tree | nb-force -b cuda -t 0.4 -e 0.01 | compare exact.nb rms_ratio)"
}

@test "tree: orders 3 and 4, without softening, with one, with one of each body, and with a spline" {
	nb-gen plummer -n 30000 | nb-calc 'eps = id % 4 == 1 ? 0.02 : 0.005' | nb-sort-zorder >each.nb
	nb-select --drop eps each.nb >one.nb
	for law in 'one -e 0' 'one -e 0.01' 'each' 'one -e 0.01 --softening-kernel spline'; do
		read -r -a options <<<"$law"
		file=${options[0]}.nb options=("${options[@]:1}")
		nb-force -b cuda -m direct --precision f64 "${options[@]}" --potential <"$file" >exact.nb
		nb-build-tree <"$file" >t.nb
		for order in 3 4; do
			for precision in f32 mixed f64; do
				nb-force -b cuda -m tree -p "$order" -t 0.25 --precision "$precision" "${options[@]}" --potential <t.nb >got.nb
				at_most 4e-5 "$(compare exact.nb rms_ratio <got.nb)"
				at_most 2e-4 "$(compare exact.nb p99 <got.nb)"
			done
		done
		nb-force -b cuda -m tree -p 4 -t 0.25 --precision f64 "${options[@]}" --potential <t.nb | cmp - got.nb
	done
	# an order that is asked for by its error
	for accuracy in 1e-4 1e-6; do
		nb-build-tree <one.nb | nb-force -b cuda -e 0 --accuracy $accuracy >got.nb
		at_most "$(awk "BEGIN { print 1.5 * $accuracy }")" "$(nb-stats --attributes got.nb | sed -n 's/^error_p99=//p')"
	done
}

# within VALUE VALUE FACTOR
within() {
	at_most "$(awk -v b="$2" -v f="$3" 'BEGIN { print f * b }')" "$1"
	at_most "$(awk -v a="$1" -v f="$3" 'BEGIN { print f * a }')" "$2"
}

@test "tree: at equal theta the errors of CPU and device are within 1.6 times of each other" {
	for model in plummer uniform disk; do
		nb-gen $model -n 100000 | nb-sort-zorder >s.nb
		nb-force -b cuda -m direct --precision f64 -e 0.01 <s.nb >exact.nb
		nb-build-tree -b cpu <s.nb >t.nb
		for theta in 0.3 0.5 0.7; do
			for walk in cpu cuda; do
				nb-force -b $walk -t $theta -e 0.01 <t.nb | nb-stats --compare exact.nb --format tsv >$walk.tsv
			done
			for value in rms_ratio p99; do
				cpu=$(stat_of $value <cpu.tsv) gpu=$(stat_of $value <cuda.tsv)
				within "$cpu" "$gpu" 1.6 || { echo "$model theta $theta $value: CPU $cpu, device $gpu"; return 1; }
			done
		done
	done
}

@test "near field in 2-D and 3-D" {
	nb-gen boxes --level 3 --per-box 37 | nb-sort-zorder | nb-build-tree --kind boxes --level 3 >b2.nb
	nb-gen clusters -n 5000 | nb-sort-zorder | nb-build-tree --kind boxes --level 2 >b3.nb
	for f in b2 b3; do
		nb-force -b cpu -e 0.001 <$f.nb >cpu.nb
		at_most 1e-12 "$(nb-force -b cuda -e 0.001 <$f.nb | compare cpu.nb rms_ratio)"
		at_most 1e-4 "$(nb-force -b cuda -e 0.001 --precision f32 <$f.nb | compare cpu.nb rms_ratio)"
	done
}

@test "far field of boxes in 2-D and 3-D" {
	nb-gen boxes --level 4 --per-box 12 | nb-sort-zorder | nb-build-tree --kind boxes --level 4 >b2.nb
	nb-gen clusters -n 5000 | nb-sort-zorder | nb-build-tree --kind boxes --level 4 >b3.nb
	for f in b2 b3; do
		nb-force -b cpu -m fmm -p 7 -e 0.01 --precision f64 <$f.nb >cpu.nb
		at_most 1e-12 "$(nb-force -b cuda -m fmm -p 7 -e 0.01 --precision f64 <$f.nb | compare cpu.nb rms_ratio)"
		at_most 1e-5 "$(nb-force -b cuda -m fmm -p 7 -e 0.01 <$f.nb | compare cpu.nb rms_ratio)"
		nb-force -b cuda -m fmm -e 0.01 --no-history <$f.nb >one.nb
		nb-force -b cuda -m fmm -e 0.01 --no-history <$f.nb | cmp - one.nb
	done
}

@test "the same bytes on every run" {
	nb-sort-zorder <clusters.nb | nb-build-tree >t.nb
	for f in 'nb-force -b cuda -m direct --precision f32' 'nb-force -b cuda -m direct' 'nb-force -b cuda -m tree -t 0.6'; do
		$f -e 0.01 --no-history <t.nb >one.nb
		$f -e 0.01 --no-history <t.nb >two.nb
		cmp one.nb two.nb
	done
	# also with a tree that nb-force builds for itself
	nb-sort-zorder -b cuda <clusters.nb | nb-build-tree -b cuda | nb-force -b cuda -t 0.6 -e 0.01 >one.nb
	nb-force -b cuda -t 0.6 -e 0.01 <clusters.nb | nb-convert --no-comments --to csv | cmp - <(nb-select --drop key one.nb | nb-convert -q --no-comments --to csv)
}

@test "kick and drift on the device give the bytes of the CPU" {
	nb-force -b cpu -e 0.01 <p4099.nb >f.nb
	nb-step -b cpu -d 0.01 --no-history <f.nb >cpu.nb
	nb-step -b cuda -d 0.01 --no-history <f.nb >gpu.nb
	cmp cpu.nb gpu.nb
}

# the numbers of two tables are the same to 1e-12, or absent in both
same_table() {
	paste "$1" "$2" | awk -F '\t' 'NR == 1 { next }
		{ n = NF / 2; for (i = 1; i <= n; i++) {
			a = $i; b = $(i + n)
			if ((a == "NA") != (b == "NA")) bad = 1
			d = a - b; if (d < 0) d = -d
			size = (a < 0 ? -a : a) + 0.01
			if (!(d <= 1e-12 * size)) { print "column " i ": " a " and " b; bad = 1 }
		} }
		END { exit bad }'
}

@test "nb-stats: the measures of the CPU, and the same bytes on every run" {
	nb-force -e 0.01 --potential <clusters.nb | nb-step -d 0.01 | nb-force -e 0.01 --potential >moving.nb
	for f in p1 p2 p33 p4099 clusters moving; do
		for command in nb-stats 'nb-stats --epot direct -e 0.02' 'nb-stats --epot none' \
			'nb-stats --epot none --lagrangian 0.1,1,5,50,99,100'; do
			$command -b cpu --format tsv <$f.nb >cpu.tsv
			$command -b cuda --format tsv <$f.nb >gpu.tsv
			$command -b cuda --format tsv <$f.nb | cmp - gpu.tsv
			# sums over pairs are others there, all else is the same
			if [[ $command == *none* || $f:$command == moving:nb-stats ]]; then
				cmp cpu.tsv gpu.tsv
			else
				same_table cpu.tsv gpu.tsv
			fi
		done
	done
	nb-gen plummer -n 0 >none.nb
	cmp <(nb-stats -b cpu --format tsv <none.nb) <(nb-stats -b cuda --format tsv <none.nb)
}

# no more than 1 in a channel, in no more than one value of a thousand
same_pictures() {
	[ "$(wc -c <"$1")" -eq "$(wc -c <"$2")" ]
	{ cmp -l "$1" "$2" || :; } | awk -v size="$(wc -c <"$1")" '
		function decimal(octal) { return 64 * int(octal / 100) + 8 * int(octal / 10 % 10) + octal % 10 }
		{ d = decimal($2) - decimal($3); if (d * d > most) most = d * d }
		END { print NR " of " size " values differ, squared by at most " most + 0; exit most > 1 || NR > size / 1000 }'
}

@test "nb-render-ppm: the pictures of the CPU, and the same bytes on every run" {
	nb-gen disk -n 60000 --no-history >disk.nb
	cat clusters.nb p1.nb p4099.nb >film.nb
	for f in p1 p2 p33 p257 p4099 clusters disk film; do
		for command in nb-render-ppm 'nb-render-ppm --by speed' 'nb-render-ppm --draw discs' \
			'nb-render-ppm --neighbours 0 --stretch log --zoom 3' 'nb-render-ppm --size 1e4 --view 30,40'; do
			$command -W 640 -H 360 -b cpu <$f.nb >cpu.ppm
			$command -W 640 -H 360 -b cuda <$f.nb >gpu.ppm
			$command -W 640 -H 360 -b cuda <$f.nb | cmp - gpu.ppm
			same_pictures cpu.ppm gpu.ppm || { echo "$f: $command"; return 1; }
		done
	done
	for command in 'nb-render-ppm --hide none' 'nb-render-ppm --only 0,1' 'nb-render-ppm --hide 0'; do
		$command --by species -b cpu <disk.nb >cpu.ppm
		$command --by species -b cuda <disk.nb >gpu.ppm
		same_pictures cpu.ppm gpu.ppm
	done
	nb-gen plummer -n 0 | nb-render-ppm -W 16 -H 16 -b cuda | cmp - <(nb-gen plummer -n 0 | nb-render-ppm -W 16 -H 16 -b cpu)
}

@test "a run with every stage on the device conserves energy" {
	nb-step -b cuda -d 0.01 -k 20 --every 20 \
		'nb-sort-zorder -b cuda | nb-build-tree -b cuda | nb-force -b cuda -t 0.5 -e 0.05 --potential' <p4099.nb |
		nb-stats --format tsv >run.tsv
	change=$(stat_of drift <run.tsv)
	at_most 1e-4 "${change#-}"
}

# how many bodies were active in each frame, as nb-force -v said in file $1
told_active() {
	sed -n 's/.*[ (]\([0-9]*\) active.*/\1/p' "$1"
}

@test "block steps of whole frames on the device, by forces on active bodies alone, go where those of the CPU go" {
	for how in '--integrator hermite --eta 0.02' '--blocks whole --eta 0.1'; do
		s="nb-step --no-history --levels 10 -d 0.03125 -k 3 --every 0 $how"
		f='nb-force -m direct --precision f64 -e 0.02 --potential'
		[[ $how != *hermite* ]] || f+=' --jerk'
		bash -c "$s -b cpu '$f -v -b cpu'" <p257.nb >cpu.nb 2>cpu.said
		bash -c "$s -b cuda '$f -v -b cuda'" <p257.nb >gpu.nb 2>gpu.said
		bash -c "$s -b cuda '$f -b cuda'" <p257.nb | cmp - gpu.nb
		told_active gpu.said >gpu.active
		told_active cpu.said | cmp - gpu.active
		# of frames with few, their forces alone were computed
		[ "$(grep -c 'direct on cuda:0, n 257, [0-9]* active, ' gpu.said)" -gt 5 ]
		[ "$(awk '$1 <= 257 / 2' gpu.active | wc -l)" -eq "$(grep -c 'n 257, [0-9]* active,' gpu.said)" ]
		[ "$(awk '$1 > 257 / 2' gpu.active | wc -l)" -eq "$(grep -c 'forces on all ([0-9]* active)' gpu.said)" ]
		for c in pos vel acc; do
			paste -d ' ' <(mutate show $c <cpu.nb) <(mutate show $c <gpu.nb) | awk '
				{ for (i = 1; i <= 3; i++) if (!(($i - $(i + 3)) ^ 2 < 1e-18)) { print; exit 1 } } END { exit NR != 257 }'
		done
		cmp <(mutate show level <cpu.nb) <(mutate show level <gpu.nb)
	done
}

@test "forces on active bodies alone on the device are those of the CPU, and 0 for all others" {
	for n in 1 33 4099; do
		for share in 1500 30 3 1; do
			nb-calc --no-history "active = id % $share == 0" <p$n.nb >some.nb
			for law in '-e 0' '-e 0.01' '-e 0.01 --softening-kernel spline'; do
				for wanted in '' '--jerk --potential'; do
					bash -c "nb-force --no-history -b cpu -m direct $law $wanted" <some.nb >cpu.nb
					bash -c "nb-force --no-history -b cuda -m direct $law $wanted" <some.nb >gpu.nb
					nb-diff --fields "acc${wanted:+,jerk,pot}" --tolerance 1e-10 cpu.nb gpu.nb >report || { cat report; return 1; }
					bash -c "nb-force --no-history -b cuda -m direct $law $wanted" <some.nb | cmp - gpu.nb
					cmp <(mutate show acc <cpu.nb | grep -n '^0.0 0.0 0.0$') <(mutate show acc <gpu.nb | grep -n '^0.0 0.0 0.0$')
				done
			done
		done
	done
	# a column of another type, softenings of the bodies, and a frame that is sorted there and stays there
	nb-calc --no-history --dtype u2 'active = 256 * (id % 30 == 7)' 'eps = 0.001 * (id % 4)' <p4099.nb >some.nb
	for where in cpu cuda; do
		bash -c "nb-sort-zorder --no-history -b $where | nb-force --no-history -v -b $where -m direct --jerk --potential" <some.nb 2>$where.said >$where.nb
		grep -q 'n 4099, 137 active, .* body-body 561563,' $where.said
	done
	nb-diff --fields id,acc,pot,jerk --tolerance 1e-10 cpu.nb cuda.nb >report || { cat report; return 1; }
	# what is not this sum is computed of all, and said so
	nb-calc --no-history 'active = id == 7' <p257.nb >some.nb
	while IFS=: read -r how why; do
		bash -c "nb-sort-zorder <some.nb | nb-build-tree | nb-force -v -b cuda $how" 2>said >gpu.nb
		grep -q "n 257, forces on all ($why), " said
		[ "$(mutate show acc <gpu.nb | grep -c '^0.0 0.0 0.0$')" -eq 0 ]
	done <<-'END'
		-m direct --precision f32:precision is not f64
		-m direct --precision mixed:precision is not f64
		-m direct --audit 10:option --audit
		-m tree -t 0.5:tree on a device
		-m tree -t 0.5 --jerk:tree with --jerk
	END
	nb-calc --no-history 'active = 0 * id' <p257.nb | nb-force -v -b cuda -m direct --jerk --potential 2>said >none.nb
	grep -q 'n 257, 0 active, ' said
	[ "$(mutate show acc <none.nb | grep -c '^0.0 0.0 0.0$')" -eq 257 ]
	nb-gen plummer -n 0 | nb-calc 'active = 0 * id' | nb-force -b cuda -m direct | nb-stats --check
}

@test "auto takes the device for long work and says so; a device that is not there is an error" {
	run bash -c 'nb-force -v <p33.nb 2>&1 >/dev/null'
	[[ $output == *' backend cpu: '*' on a device'* ]]
	run bash -c 'nb-gen uniform -n 300000 | nb-force -v -j 1 2>&1 >/dev/null'
	[[ $output == *' backend cuda:0: '*' on the CPU'* ]]
	fails_with 1 'no CUDA device 99' 'nb-force -b cuda:99 <p33.nb'
	fails_with 1 'no CUDA device 99' 'nb-stats -b cuda:99 <p33.nb'
}

@test "forces in a periodic box are those of the CPU, of bodies and at points, with the same bytes each time" {
	nb-gen uniform -n 3000 --seed 5 --no-history | nb-calc '@box = 1; eps = 0.001 * (id % 4)' --no-history |
		nb-transform --shift 0,0,0 --no-history >box.nb
	nb-gen uniform -n 200 --seed 6 --no-history >at.nb
	local options
	for options in '' '-e 0.01' '-e 0.01 --softening-kernel spline' '--softening-kernel spline' '--mesh 36 --split 1.75' '--at at.nb' \
		'--at at.nb -e 0.01'; do
		read -ra args <<<"-m treepm --potential --no-history $options"
		nb-force -b cpu "${args[@]}" box.nb >cpu.nb
		nb-force -b cuda "${args[@]}" box.nb >gpu.nb
		nb-diff --fields acc,pot --tolerance 1e-11 cpu.nb gpu.nb
		nb-force -b cuda "${args[@]}" box.nb | cmp - gpu.nb
		nb-force -b cuda --precision mixed "${args[@]}" box.nb >gpu.nb
		nb-diff --fields acc,pot --tolerance 5e-6 cpu.nb gpu.nb
	done
	nb-force -v -b cuda --audit 300 -e 0.01 --softening-kernel spline box.nb 2>told >audited.nb
	grep -q ': treepm on cuda:0, n 3000, .* body-body [1-9].*, errors of 300 bodies: p50 [0-9.]*e-0[56]' told
	nb-force -b cuda --accuracy 1e-5 -e 0.01 --softening-kernel spline box.nb | nb-stats --check
	fails_with 1 'method direct on a device does not obey the periodic box' 'nb-force -b cuda -m direct box.nb'
	fails_with 1 'precision f32 does not obey the periodic box' 'nb-force -b cuda -m treepm --precision f32 box.nb'
	fails_with 1 'is outside its periodic box, at 1.5 (want' "nb-calc 'y = id == 7 ? 1.5 : y' box.nb | nb-force -b cuda"
	fails_with 1 'reaches further than the pairs of method treepm' "nb-calc 'eps = id == 7 ? 0.4 : 0' box.nb | nb-force -b cuda"
}

@test "steps in a periodic box are those of the CPU, in an expanding universe, too" {
	nb-gen uniform -n 3000 --seed 5 --sigma 0.3 --no-history | nb-calc '@box = 1; mass = 1.0 / 3000' --no-history |
		nb-transform --shift 0,0,0 --no-history >box.nb
	nb-gen lpt -n 4096 --box 50 --no-history >lpt.nb
	local more
	for more in '-d 0.01:box' '-d 0.01 --integrator chin:box' '-d 0.1 --cosmology:lpt'; do
		read -ra args <<<"-k 10 --every 5 --no-history ${more%:*}"
		for b in cpu cuda; do
			nb-step -b $b "${args[@]}" "nb-force -b $b -m treepm -e 0.02 --softening-kernel spline --potential" "${more#*:}.nb" >$b.nb
		done
		nb-diff --fields pos,vel --tolerance 1e-9 cpu.nb cuda.nb
		NB_FOLD=off nb-step -b cuda "${args[@]}" 'nb-force -b cuda -m treepm -e 0.02 --softening-kernel spline --potential' "${more#*:}.nb" |
			cmp - cuda.nb
	done
	# by levels, and from columns of f32
	nb-gen lpt -n 4096 --box 25 --redshift 9 --no-history >late.nb
	nb-gen lpt -n 4096 --box 25 --redshift 9 --no-history --precision f32 >narrow.nb
	for more in '--cosmology -d 0.1 --levels 4 --eta 0.4:late' '--cosmology -d 0.1 --levels 4 --eta 0.4:narrow' \
		'--cosmology -d 0.05:narrow' '-d 0.1 --levels 4 --eta 0.2:box'; do
		read -ra args <<<"-k 5 --every 0 --no-history ${more%:*}"
		for b in cpu cuda; do
			nb-step -b $b "${args[@]}" "nb-force -b $b -m treepm -e 0.02 --softening-kernel spline" "${more#*:}.nb" >$b.nb
		done
		nb-diff --fields pos,vel --tolerance 1e-6 cpu.nb cuda.nb
	done
}

@test "n = 0 passes every program on the device" {
	nb-gen plummer -n 0 | nb-sort-zorder -b cuda | nb-build-tree -b cuda | nb-force -b cuda -t 0.5 | nb-step -b cuda -d 0.01 |
		nb-stats --check
}

@test "external fields are those of the CPU, in a run that stays on the device" {
	awk 'BEGIN { for (r = 0; r <= 10; r += 0.05) print r, -1 / sqrt(r * r + 1) }' >t.txt
	local field='nfw m=1 rs=0.5; disk m=0.5 a=0.5 b=0.1 inc=30; bar m=0.3 a=1 b=0.2 c=0.1 omega=0.5; table file=t.txt x=0.3 vx=0.1'
	for n in 1 257 4099; do
		nb-force -b cpu -e 0.1 --potential --jerk <p$n.nb >forces.nb
		nb-field -b cpu "$field" <forces.nb >cpu.nb
		nb-field -b cuda "$field" <forces.nb >gpu.nb
		nb-diff --fields acc,pot,pot_field,jerk --tolerance 1e-11 cpu.nb gpu.nb
		nb-field -b cuda "$field" <forces.nb | cmp gpu.nb -
	done
	nb-step -b cuda -d 0.01 -k 20 --every 0 "nb-force -b cuda -e 0.1 --potential | nb-field -b cuda '$field'" <p4099.nb >gpu.nb
	nb-step -b cpu -d 0.01 -k 20 --every 0 "nb-force -b cpu -e 0.1 --potential | nb-field -b cpu '$field'" <p4099.nb >cpu.nb
	nb-diff --fields pos,vel --tolerance 1e-9 cpu.nb gpu.nb
	close_to "$(nb-stats -b cpu --format tsv <cpu.nb | stat_of etot)" "$(nb-stats -b cuda --format tsv <gpu.nb | stat_of etot)" 1e-10
}

# lists of several devices that this machine has: one twice, and two if there are two
lists() {
	echo cuda:0,0
	[ "$(nvidia-smi --list-gpus | wc -l)" -lt 2 ] || printf '%s\n' cuda:0,1 cuda:1,0 cuda:all
}

# same_for_lists STREAM OPTION...: nb-force gives the bytes of one device
same_for_lists() {
	local stream=$1 list
	shift
	nb-force -b cuda --no-history "$@" <"$stream" >one.nb
	for list in $(lists); do
		nb-force -b "$list" --no-history "$@" <"$stream" >several.nb
		cmp one.nb several.nb || { echo "$list: $stream $*"; return 1; }
	done
}

@test "several devices give the bytes of one: direct sum, tree and near field of 100001 bodies" {
	for model in plummer uniform clusters; do
		nb-gen $model -n 100001 --no-history | nb-sort-zorder -b cuda --no-history >s.nb
		nb-build-tree -b cuda --no-history <s.nb >t.nb
		nb-build-tree -b cuda --no-history --kind boxes --level 3 <s.nb >b.nb
		precisions=(f32)
		[ $model != plummer ] || precisions=(f32 mixed f64)
		for precision in "${precisions[@]}"; do
			same_for_lists s.nb -m direct --precision "$precision" -e 0
			same_for_lists t.nb -m tree --precision "$precision" -e 0.01
			same_for_lists b.nb -m near --precision "$precision" -e 0
		done
		for order in 3 4; do
			same_for_lists t.nb -m tree -p "$order" --precision mixed -e 0
			same_for_lists t.nb -m tree -p "$order" --precision f64 -e 0.01
		done
		same_for_lists t.nb -m tree -e 0 --potential --jerk
		same_for_lists b.nb -m near -e 0.01 --potential
		same_for_lists s.nb -m direct -e 0.01 --potential --jerk
	done
}

@test "several devices give the bytes of one: a periodic box" {
	nb-gen lpt -n 110592 --box 100 --redshift 1 --no-history >l.nb
	nb-gen clusters -n 100001 --no-history | nb-calc --no-history \
		'x = 3 * x - floor(3 * x); y = 3 * y - floor(3 * y); z = 3 * z - floor(3 * z); @box = 1' >c.nb
	for stream in l c; do
		same_for_lists $stream.nb -m treepm
		same_for_lists $stream.nb -m treepm --precision mixed -e 0.01 --softening-kernel spline --potential
	done
	nb-force -v -b cuda:0,0 -m treepm l.nb 2>told >forces.nb
	[ "$(grep -c 'nb-force: device 0, .* parts\? in ' told)" -eq 2 ] || { cat told; return 1; }
	run ! grep ': 0 parts' told
	local steps='--cosmology -d 0.05 -k 2 --every 1 --no-history'
	for list in cuda $(lists); do
		# shellcheck disable=SC2086
		nb-step -b "$list" $steps "nb-force -b $list --no-history -m treepm" l.nb >"steps.$list.nb"
		cmp steps.cuda.nb "steps.$list.nb"
	done
}

@test "several devices give the bytes of one: as few bodies as devices, and fewer" {
	for n in 0 1 2 3 33 1000; do
		nb-gen plummer -n $n --no-history | nb-sort-zorder -b cuda --no-history >s.nb
		nb-build-tree -b cuda --no-history <s.nb >t.nb
		nb-build-tree -b cuda --no-history --kind boxes --level 1 <s.nb >b.nb
		same_for_lists s.nb -m direct -e 0.01
		same_for_lists t.nb -m tree -e 0.01
		same_for_lists b.nb -m near -e 0.01
	done
	nb-gen uniform -n 100001 --no-history >s.nb
	for kernel in direct-tiled direct-blocked direct-symmetric; do
		same_for_lists s.nb --kernel $kernel -e 0.01
	done
	fails_with 2 'kernel gems3 runs on one device (want -b cuda:N)' 'nb-force -b cuda:0,0 --kernel gems3 <s.nb'
	fails_with 2 'kernel gems3 runs on one device (want -b cuda:N)' 'nb-force -b cuda:all --kernel gems3 <s.nb'
}

@test "several devices give the bytes of one: steps in one process, and a second frame" {
	nb-gen plummer -n 150000 --no-history >p.nb
	local list steps='-d 0.001 -k 3 --every 1 --no-history'
	run_on() {
		# shellcheck disable=SC2086
		nb-step -v -b "$1" $steps "nb-sort-zorder -b $1 --no-history | nb-build-tree -b $1 --no-history |
			nb-force -v -b $1 --no-history -t 0.5 -e 0.01 --potential" <p.nb 2>told
	}
	run_on cuda >one.nb
	for list in $(lists); do
		run_on "$list" >several.nb
		cmp one.nb several.nb
		[ "$(grep -c 'nb-force: device [0-9]*, .* parts in .* s, waited .* s, .* GB of memory' told)" -ge 2 ]
		# of many devices some are left without a part
		[ "$list" = cuda:all ] || run ! grep ': 0 parts' told
	done
	cat p.nb p.nb | nb-force -b cuda --no-history -e 0.01 >one.nb
	cat p.nb p.nb | nb-force -b cuda:0,0 --no-history -e 0.01 | cmp - one.nb
}

# Bodies that are spread over devices from 2^25 of them on, times devices: here over one that does the work of eight.
spread_over() { # spread_over LIST ARGUMENTS-OF-nb-step ARGUMENTS-OF-nb-force
	# shellcheck disable=SC2086
	nb-step -v -b "$1" -d 0.001 --no-history $2 ${MPI:+--mpi "$MPI"} "nb-sort-zorder -b $1 --no-history |
		nb-build-tree -b $1 --no-history | nb-force -b $1 --no-history $3" <m.nb 2>told
}

@test "several devices give the bytes of one: many bodies, of which each device has a part" {
	local order eight=cuda:0,0,0,0,0,0,0,0
	nb-gen plummer -n 4194304 --no-history | nb-calc --no-history 'far = x > 1' >m.nb
	spread_over cuda '-k 3 --every 2' '-t 0.6 -e 0.01' >one.nb
	spread_over "$eight" '-k 3 --every 2' '-t 0.6 -e 0.01' >several.nb
	cmp one.nb several.nb
	grep -qx 'nb-step: each of 8 devices has a part of the bodies' told
	grep -q 'nb-step: 8 devices shared 4 computations of forces' told
	if [[ -z ${MPI:-} ]]; then # so does one program that stands for three
		nb-step -v -b "$eight" -d 0.001 --no-history -k 3 --every 2 "nb-force -b $eight --no-history -t 0.6 -e 0.01" <m.nb 2>told | cmp - one.nb
		grep -qx 'nb-step: each of 8 devices has a part of the bodies' told
	fi
	[ "$(grep -cE 'nb-step: member [0-7], device 0: [0-9]+ bodies, .* s in walks, waited .* s, .* GB of memory at most' told)" -eq 8 ]
	spread_over cuda '--integrator yoshida -k 1' '-t 0.5 --precision f64 --potential' >one.nb
	spread_over "$eight" '--integrator yoshida -k 1' '-t 0.5 --precision f64 --potential' >several.nb
	cmp one.nb several.nb
	grep -q '8 devices shared 4 computations' told
	for order in 3 4; do
		spread_over cuda '-k 1' "-m tree -t 0.4 -e 0.01 -p $order" >one.nb
		spread_over "$eight" '-k 1' "-m tree -t 0.4 -e 0.01 -p $order" >several.nb
		cmp one.nb several.nb
		grep -q '8 devices shared 2 computations' told
	done
	spread_over "$eight" '-k 1' '-m tree --mac acceleration -e 0.01' >/dev/null
	grep -qx 'nb-step: the bodies stay with the first device: nb-force --jerk or --mac acceleration' told
	nb-gen plummer -n 100000 --no-history >m.nb
	spread_over "$eight" '-k 1' '-t 0.6 -e 0.01' >/dev/null
	grep -qx 'nb-step: the bodies stay with the first device: too few of them' told
}

@test "several devices: none has much more than its part of the bodies, of a frame in f32, too" {
	[ "$(nvidia-smi --list-gpus | wc -l)" -ge 2 ] || skip 'one device'
	nb-gen uniform -n 16777216 --precision f32 --no-history >m.nb
	spread_over cuda:0,1 '-k 2 --every 0' '-t 0.6 -e 0.001' >/dev/null
	sed -n 's/.*member [01], .* in walks, .*, \([0-9.]*\) GB of memory at most/\1/p' told | paste -s | awk '
		NF != 2 || $1 > 1.25 * $2 { print; bad = 1 } END { exit bad || NR != 1 }'
}

@test "ranks of MPI with a device each give the bytes of one device" {
	local bin=$NB_BIN/../../mpi-cuda/bin mpirun=${NB_MPIRUN:-mpirun.openmpi}
	[ -x "$bin/nb-step" ] || skip 'no program with MPI and CUDA (make MPI=1)'
	command -v "$mpirun" >/dev/null || skip 'no Open MPI'
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
	nb-gen plummer -n 300000 --no-history | nb-calc --no-history 'far = x > 1' >m.nb
	spread_over cuda '-k 3 --every 2' '-t 0.5 -e 0.01' >one.nb
	same() { # same N [OPTION..]: of mpirun
		MPI="$mpirun --oversubscribe ${*:2} -n $1" PATH=$bin:$PATH \
			spread_over cuda '-k 3 --every 2' '-t 0.5 -e 0.01' >several.nb
		cmp one.nb several.nb
		grep -Eqx "nb-step: each of $1 ranks has a part of the bodies, on a device(, and MPI sends from there)?" told
	}
	same 3
	same 2
	if grep -q 'MPI sends from there' told; then
		same 2 --mca opal_cuda_support 0
		run ! grep -q 'MPI sends from there' told
	fi
}

# started BACKEND: how many devices the driver has opened once a first frame is there
started() {
	local pid
	rm -f frames
	mkfifo frames
	nb-gen plummer -n 1000 >p.nb
	nb-step -b "$1" -d 1e-6 --until 1 'nb-force -e 0.1' <p.nb >frames &
	pid=$!
	exec 5<frames
	head -c 200000 <&5 >/dev/null
	find "/proc/$pid/fd" -lname '/dev/nvidia[0-9]*' -printf '%l\n' | sort -u | wc -l
	kill "$pid"
	exec 5<&-
	wait "$pid" || :
}

@test "several devices: those behind the last one that is named are not started" {
	[ "$(nvidia-smi --list-gpus | wc -l)" -ge 2 ] || skip "one device"
	[ "$(started cuda)" = 1 ]
	[ "$(started cuda:0,1)" = 2 ]
	[ "$(CUDA_VISIBLE_DEVICES=1,0 started cuda:0)" = 1 ]
	[ "$(started cuda:all)" = "$(nvidia-smi --list-gpus | wc -l)" ]
}

@test "several devices: those that are not there, closed pipes and full disks" {
	fails_with 1 "backend 'cuda:0,99': no CUDA device 99 (there " 'nb-force -b cuda:0,99 <p33.nb'
	fails_with 1 "backend 'cuda:99,0': no CUDA device 99 (there " 'nb-force -b cuda:99,0 <p33.nb'
	fails_with 2 "'' is not the number of a device" 'nb-force -b cuda:0,,0 <p33.nb'
	nb-gen uniform -n 100001 >s.nb
	[ "$(nb-force -b cuda:0,0 -e 0.01 <s.nb | head -c 1000 | wc -c)" -eq 1000 ]
	fails_with 1 'No space left on device' 'nb-force -b cuda:0,0 -e 0.01 <s.nb >/dev/full'
	nb-sort-zorder -b cuda:0,0 --no-history <s.nb >several.nb
	nb-sort-zorder -b cuda --no-history <s.nb | cmp - several.nb
	nb-stats -b cuda:0,0 --epot direct -e 0.01 --format tsv <s.nb >several.tsv
	nb-stats -b cuda --epot direct -e 0.01 --format tsv <s.nb | cmp - several.tsv
}

# The figures of -v: what was expected, and what was used at most by a device alone.  Ratio of the two.  What is used has
# 0.18 GB for stacks of a walk, which count as those of the program: 5 % of these frames.
ratio_of_memory() { # ratio_of_memory FILE
	awk '/memory of cuda:0: about / && !want { for (i = 1; i < NF; i++) if ($i == "about") want = $(i + 1) }
		/: device 0, .* GB of memory at most/ { for (i = 1; i < NF; i++) if ($(i + 1) == "GB" && $(i + 3) == "memory") got = $i }
		END { if (want == "" || got == "") exit 1; printf "%g %g %.3f\n", want, got, got / want }' "$1"
}

@test "memory: a step takes what was expected, to a tenth" {
	nb-gen plummer -n 16777216 --no-history >p.nb
	local options
	for options in '' '--potential' '-p 3' '-p 4 --precision f64' '--mac acceleration' '--softening-kernel spline'; do
		nb-step -v -b cuda --no-history -d 0.001 -k 2 --every 0 \
			"nb-sort-zorder -b cuda | nb-build-tree -b cuda | nb-force -v -b cuda -m tree -e 0.01 $options" <p.nb 2>told >/dev/null
		cat told
		ratio_of_memory told >ratio
		echo "options '$options': expected, used, ratio: $(cat ratio)"
		awk '{ exit !($3 > 0.9 && $3 < 1.1) }' ratio
	done
}

@test "memory: near fields of boxes and a walk in one pass take what was expected, to a tenth" {
	nb-gen boxes --level 7 --per-box 256 --no-history >b.nb
	nb-gen uniform -n 16777216 --no-history >u.nb
	{ nb-sort-zorder -v -b cuda <b.nb | nb-build-tree -v -b cuda --kind boxes --level 7 | nb-force -v -b cuda --precision f32 -e 1e-4; } 2>told >/dev/null
	ratio_of_memory told >ratio || { cat told; return 1; }
	awk '{ print; exit !($3 > 0.9 && $3 < 1.1) }' ratio
	{ nb-sort-zorder -v -b cuda <u.nb | nb-build-tree -v -b cuda -l 32 | nb-force -v -b cuda -t 0.5 -e 1e-4; } 2>told >/dev/null
	ratio_of_memory told >ratio || { cat told; return 1; }
	# nodes of a uniform cube are 0.5 to 1.4 times those that are expected
	awk '{ print; exit !($3 > 0.75 && $3 < 1.2) }' ratio
}

@test "memory: a step in a periodic box takes what was expected, to a tenth" {
	nb-gen lpt -n 2097152 --box 128 --no-history >lpt.nb
	nb-step -v -b cuda --no-history -d 0.1 -k 2 --every 0 --cosmology "nb-force -v -b cuda -e 0.02 --softening-kernel spline" <lpt.nb 2>told >/dev/null
	ratio_of_memory told >ratio || { cat told; return 1; }
	awk '{ print; exit !($3 > 0.9 && $3 < 1.1) }' ratio
}

@test "memory: a frame that does not fit is refused before it is read" {
	local most
	most=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | head -n 1)
	[ "$most" -lt 180000 ] || skip "this device has $most MiB"
	export NB_FOLD=off NB_MAX_FRAME=1000000000000
	fails_with 1 '4200000000 bodies do not fit into the ' 'nb-gen uniform -n 4200000000 | nb-sort-zorder -b cuda'
}

@test "many systems that whfast moves on the device have the bytes of the CPU" {
	nb-gen orbits --systems 1500 --no-history \
		'm=1; m=1e-4 a=1 e=0.0005*system M=6*system; m=1e-4*(system%3) a=1.7+0.01*system M=90' >systems.nb
	for steps in '-d 0.1 -k 2500 --every 500' '-d 0.1 --until 300 --every-time 77 --corrector 7' \
		'-d 0.1 -k 2500 --every 1200 --megno' '-d 0.1 --until 300 --every-time 77 --corrector 7 --megno'; do
		# shellcheck disable=SC2086 # options
		nb-step -b cpu --integrator whfast $steps --no-history nb-force <systems.nb >cpu.nb
		# shellcheck disable=SC2086 # options
		nb-step -v -b cuda --integrator whfast $steps --no-history nb-force <systems.nb >gpu.nb 2>why
		cmp cpu.nb gpu.nb
		grep -q 'steps of 1500 systems on cuda' why
	done
	fails_with 1 'want -b cpu' \
		"nb-step -b cuda --integrator whfast -d 0.1 -k 5 --stop-when 'rmax > 100' nb-force <systems.nb"
	fails_with 1 'want -b cpu' 'nb-step -b cuda --integrator ar --until 5 nb-force <systems.nb'
}

@test "many systems that ias15 moves on the device have the bytes of the CPU, and those that collide end alone" {
	nb-gen orbits --systems 600 --no-history \
		'm=1; m=1e-3 a=1 e=0.0015*system M=6*system; m=1e-3*(system%3) a=1.3+0.001*system M=90' >systems.nb
	printf 'id,mass,x,y,z,vx,vy,vz\n0,0.5,0.5,0,0,0,0,0\n1,0.5,-0.5,0,0,0,0,0\n' | nb-convert --from csv >fall.nb
	nb-merge --systems --ids renumber fall.nb systems.nb | nb-calc --no-history '@time = 0.1' >mixed.nb
	for steps in '--until 8 --every-time 3' '--until -3 -d -0.5 --eta 0.1 --every 0'; do
		# shellcheck disable=SC2086 # options
		nb-step -b cpu --integrator ias15 $steps --no-history nb-force <mixed.nb >cpu.nb 2>/dev/null
		# shellcheck disable=SC2086 # options
		nb-step -v -b cuda --integrator ias15 $steps --no-history nb-force <mixed.nb >gpu.nb 2>why
		cmp cpu.nb gpu.nb
		grep -q 'steps of 601 systems on cuda' why
		grep -q 'system 0 ends alone' why
	done
	fails_with 1 'want -b cpu' 'nb-step -b cuda --integrator ias15 --megno --until 5 nb-force <systems.nb'
	fails_with 1 "want '-b cpu'" "nb-step -b cuda --integrator ias15 --until 5 'nb-force | nb-extra gr:c=10' <systems.nb"
}

@test "power spectra of the device are those of the CPU, of a frame that is there, too" {
	nb-gen uniform -n 3000 | nb-calc 'mass = 1 + id % 3' >other.nb
	for mesh in 8 60 64; do
		for more in '' '--fold 2 --window tsc' '--no-interlace --window cic --cross other.nb'; do
			read -ra args <<<"--format tsv --mesh $mesh --periodic 3 $more"
			nb-power -b cpu "${args[@]}" clusters.nb >cpu.tsv
			nb-power -b cuda "${args[@]}" clusters.nb >gpu.tsv
			nb-sort-zorder -b cuda clusters.nb | nb-power "${args[@]}" | cmp - gpu.tsv
			paste cpu.tsv gpu.tsv | awk -F '\t' '
				{ n = NF / 2; for (i = 1; i <= n; i++) { d = $i - $(i + n); if (NR == 1 ? $i != $(i + n) : d * d > 1e-22 * $i * $i + ($i == $4 ? 0 : 1e-22 * $4 * $4)) bad = 1 } }
				END { exit bad || NR < 3 }'
		done
	done
	fails_with 1 '1.1e+03 GB are needed (nb-power, meshes), however few the bodies: more than the ' 'nb-power -b cuda --mesh 4096 --periodic 1 clusters.nb'
}
