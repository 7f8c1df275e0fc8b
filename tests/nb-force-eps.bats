#!/usr/bin/env bats
# nb-force with a softening of each body, and with splines; what other programs make of them.

load helper


setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen merger -n 3000 -s 3 --no-history | nb-calc --no-history 'eps = x > 0 ? 0.05 : 0.01' >merger.nb
	nb-gen plummer -n 3000 -s 5 --no-history | nb-calc --no-history 'eps = 0.02' >same.nb
	nb-gen plummer -n 3000 -s 5 --no-history >none.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# pair DISTANCE EPS0 EPS1: two unit masses
pair() {
	printf 'id,mass,x,y,z,vx,vy,vz,eps\n0,1,0,0,0,0,0,0,%s\n1,1,%s,0,0,0,0,0,%s\n' "$2" "$1" "$3" |
		nb-convert --from csv
}

# the first component of acc of the first body, and its potential
pull() {
	nb-force --potential "$@" >pull.nb
	echo "$(mutate show acc <pull.nb | sed -n '1s/ .*//p') $(mutate show pot <pull.nb | sed -n 1p)"
}

number() { # EXPRESSION [ASSIGNMENT]
	awk "BEGIN { ${2:-}; printf \"%.17g\", $1 }"
}

total() { # of the energies
	nb-stats --format tsv "$@" | awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "epot") c = i } END { print $c }'
}

# bats test_tags=once
@test "the softening of a pair is the larger one, for both bodies" {
	for precision in f32 mixed f64; do
		for order in '0.3 0.4' '0.4 0.3' '0 0.4' '0.4 0.4'; do
			# shellcheck disable=SC2086
			read -r a p < <(pair 0.5 $order | pull --precision $precision)
			close_to "$(number '0.5 / 0.41 ^ 1.5')" "$a" 1e-5
			close_to "$(number '-1 / 0.41 ^ 0.5')" "$p" 1e-5
			[ "$(mutate show acc <pull.nb | tail -n 1 | cut -d ' ' -f 1)" = "-$a" ]
		done
	done
}

# bats test_tags=once
@test "a spline is Newton's law beyond 2.8 eps, and -1/eps in the centre" {
	for precision in f32 mixed f64; do
		read -r a p < <(pair 2.8000001 0.1 1 | pull --softening-kernel spline --precision $precision)
		close_to "$(number '1 / 2.8000001 ^ 2')" "$a" 1e-6
		close_to "$(number '-1 / 2.8000001')" "$p" 1e-6
		read -r a p < <(pair 1e-6 0.1 0.5 | pull --softening-kernel spline --precision $precision)
		close_to -2 "$p" 1e-5
		# GADGET-2, forcetree.c, at u = 1/4 and u = 3/4
		read -r a _ < <(pair 0.7 1 1 | pull --softening-kernel spline --precision $precision)
		close_to "$(number '0.7 / 2.8 ^ 3 * (10.666666666667 + u * u * (32 * u - 38.4))' 'u = 0.25')" "$a" 1e-5
		read -r a _ < <(pair 2.1 1 1 | pull --softening-kernel spline --precision $precision)
		close_to "$(number '2.1 / 2.8 ^ 3 * (21.333333333333 - 48 * u + 38.4 * u ^ 2 - 10.666666666667 * u ^ 3 - 0.066666666667 / u ^ 3)' 'u = 0.75')" "$a" 1e-5
	done
}

# bats test_tags=once
@test "one softening for all bodies is that of each" {
	nb-sort-zorder <same.nb | nb-build-tree >same-tree.nb
	nb-sort-zorder <none.nb | nb-build-tree >none-tree.nb
	for precision in f32 mixed f64; do
		limit=2e-6
		[ $precision = f64 ] && limit=1e-12
		for kernel in plummer spline; do
			for method in direct tree; do
				nb-force -m $method -e 0.02 --softening-kernel $kernel --precision $precision <none-tree.nb >one.nb
				nb-force -m $method --softening-kernel $kernel --precision $precision <same-tree.nb >each.nb
				at_most $limit "$(compare one.nb rms_ratio <each.nb 2>/dev/null)"
			done
		done
	done
}

# bats test_tags=once
@test "tree and near field have the errors of one softening" {
	for kernel in plummer spline; do
		nb-force --softening-kernel $kernel --potential <merger.nb >exact.nb
		nb-sort-zorder <merger.nb | nb-build-tree >tree.nb
		for options in '-t 0.5' '-t 0.5 --precision f64' '-t 0.5 --potential'; do
			# shellcheck disable=SC2086
			nb-force --softening-kernel $kernel $options <tree.nb >walk.nb
			at_most 3e-4 "$(compare exact.nb rms_ratio <walk.nb)"
			at_most 1.5e-3 "$(compare exact.nb p99 <walk.nb)"
		done
		at_most 2.5e-3 "$(nb-force --softening-kernel $kernel --mac acceleration <tree.nb | compare exact.nb rms_ratio)"
		# boxes of level 1 are all neighbours
		for precision in f32 mixed f64; do
			nb-sort-zorder <merger.nb | nb-build-tree --kind boxes --level 1 |
				nb-force -m near --softening-kernel $kernel --precision $precision --potential >near.nb
			at_most 3e-6 "$(compare exact.nb rms_ratio <near.nb)"
			close_to "$(total <exact.nb)" "$(total <near.nb)" 1e-5
		done
	done
}

@test "momentum is conserved" {
	for kernel in plummer spline; do
		nb-force --softening-kernel $kernel <merger.nb | nb-calc 'fx = mass * ax' >force.nb
		mutate show fx <force.nb | awk '{ s += $1; a += $1 < 0 ? -$1 : $1 } END { print s / a; exit !(s * s < 1e-24 * a * a) }'
	done
}

# bats test_tags=once
@test "energies of nb-stats are of the same law" {
	for kernel in plummer spline; do
		nb-force --softening-kernel $kernel --potential <merger.nb >pot.nb
		close_to "$(total <pot.nb)" "$(total --epot direct <pot.nb)" 1e-6
		other=$(total -e 0.3 <pot.nb)
		[ "$other" != "$(total <pot.nb)" ]
	done
	[ "$(nb-stats --attributes <pot.nb | grep softening)" = softening_kernel=spline ]
	plummer=$(nb-force --potential <merger.nb | total)
	[ "$plummer" != "$(total <pot.nb)" ]
}

# bats test_tags=once
@test "a run keeps its energy, and each body its softening" {
	for kernel in plummer spline; do
		nb-step -d 0.005 -k 20 --every 20 "nb-sort-zorder | nb-build-tree | nb-force -t 0.3 --softening-kernel $kernel --potential" \
			<merger.nb >run.nb
		drift=$(nb-stats --format tsv <run.nb | awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "drift") c = i }
			END { print $c < 0 ? -$c : $c }')
		at_most 2e-4 "$drift"
		[ "$(nb-select --frames 0 <run.nb | mutate show eps | sort -u | tr '\n' ' ')" = '0.01 0.05 ' ]
		nb-convert --frame last --to csv <run.nb | nb-convert --from csv | nb-calc 'odd = eps - 0.01' | mutate show eps | sort -u >kept
		[ "$(tr '\n' ' ' <kept)" = '0.01 0.05 ' ]
	done
}

@test "--eta takes the least sqrt(eps / a) of any body" {
	pair 2 0.09 0.04 | nb-step --eta 0.5 -k 1 nb-force >eta.nb
	time=$(nb-select --frames 1 <eta.nb | nb-stats --attributes | sed -n 's/^time=//p')
	close_to "$(number '0.5 * (0.04 / a) ^ 0.5' 'a = 2 / (4 + 0.0081) ^ 1.5')" "$time" 1e-9
	pair 2 0 0.09 >zero.nb
	fails_with 1 "field 'eps' of the body with id 0" 'nb-step --eta 0.5 -k 1 --every 0 nb-force <zero.nb'
}

@test "-e is the softening of all bodies, in the column too" {
	nb-force -e 0.02 --potential <merger.nb >all.nb
	[ "$(mutate show eps <all.nb | sort -u)" = 0.02 ]
	[ "$(nb-stats --attributes <all.nb | grep softening)" = softening=0.02 ]
	close_to "$(total <all.nb)" "$(total --epot direct <all.nb)" 1e-6
	# and inside of nb-step
	nb-step -d 0.01 -k 1 'nb-force -e 0.02' <merger.nb | nb-select --frames 1 >step.nb
	[ "$(mutate show eps <step.nb | sort -u)" = 0.02 ]
	# where the column counts, there is no other softening
	nb-force <all.nb | nb-stats --attributes >attributes
	run ! grep -q '^softening' attributes
}

@test "the frame remembers the kernel, and --compare notices another one" {
	nb-force --softening-kernel spline <same.nb >spline.nb
	nb-force <spline.nb >again.nb
	[ "$(mutate show acc <spline.nb | md5sum)" = "$(mutate show acc <again.nb | md5sum)" ]
	nb-force --softening-kernel plummer <spline.nb >plummer.nb
	[ "$(mutate show acc <spline.nb | md5sum)" != "$(mutate show acc <plummer.nb | md5sum)" ]
	nb-stats --attributes <plummer.nb >attributes
	run ! grep -q softening_kernel attributes
	nb-stats --compare plummer.nb <spline.nb 2>err >/dev/null
	grep -q 'softening kernel is spline in frame 0 and plummer' err
	nb-force -e 0.02 <none.nb >none-force.nb
	nb-force -e 0.02 <same.nb | nb-stats --compare none-force.nb 2>err >/dev/null
	grep -q "has a column 'eps', unlike" err
}

@test "frames of no body and of one" {
	for kernel in plummer spline; do
		for n in 0 1; do
			nb-gen plummer -n $n | nb-calc 'eps = 0.1' | nb-sort-zorder | nb-build-tree >few.nb
			for method in direct tree; do
				nb-force -m $method --softening-kernel $kernel --potential <few.nb | nb-stats --check
			done
		done
	done
	[ "$(nb-gen plummer -n 1 | nb-calc 'eps = 0.1' | nb-force --potential | mutate show pot)" = 0.0 ] ||
		[ "$(nb-gen plummer -n 1 | nb-calc 'eps = 0.1' | nb-force --potential | mutate show pot)" = -0.0 ]
}

# bats test_tags=once
@test "the same bytes for any number of threads" {
	nb-sort-zorder <merger.nb | nb-build-tree >tree.nb
	for options in '-m direct' '-m tree' '-m tree --softening-kernel spline' '-m direct --softening-kernel spline --jerk'; do
		# shellcheck disable=SC2086
		nb-force -j 1 --no-history $options <tree.nb >one.nb
		# shellcheck disable=SC2086
		nb-force -j 3 --no-history $options <tree.nb >three.nb
		cmp one.nb three.nb
	done
}

@test "softenings follow a change of units" {
	nb-transform --scale length=16 <merger.nb | mutate show eps | sort -u >scaled
	[ "$(tr '\n' ' ' <scaled)" = '0.16 0.8 ' ]
	# the forces of the larger system are those that were scaled
	nb-force --potential <merger.nb | nb-transform --scale length=2 >larger.nb
	nb-transform --scale length=2 <merger.nb | nb-force --potential >again.nb
	at_most 1e-12 "$(compare again.nb rms_ratio <larger.nb)"
}

@test "nb-calc drops forces of other softenings" {
	nb-force --potential <merger.nb | nb-calc 'eps = 2 * eps' >other.nb
	run ! mutate show acc <other.nb
	[ "$(mutate show eps <other.nb | sort -u | tr '\n' ' ')" = '0.02 0.1 ' ]
}

@test "methods of one softening refuse others" {
	nb-sort-zorder <merger.nb | nb-build-tree --kind boxes --level 2 >boxes.nb
	fails_with 1 "method fmm has one softening for all bodies, and frame 0 has column 'eps'" 'nb-force -m fmm <boxes.nb'
	nb-force -m fmm -e 0.02 <boxes.nb | nb-stats --check
	fails_with 1 'method fmm has no spline softening' 'nb-force -m fmm -e 0.02 --softening-kernel spline <boxes.nb'
	fails_with 1 'kernel gems3-serial has one softening' 'nb-force --kernel gems3-serial -b cpu <merger.nb'
}

@test "a softening that is none is refused" {
	printf 'id,mass,x,y,z,vx,vy,vz,eps\n0,1,0,0,0,0,0,0,0.1\n1,1,1,0,0,0,0,0,-1\n' >negative.csv
	fails_with 1 'eps -1 is negative' 'nb-convert --from csv <negative.csv'
	nb-calc '@softening_kernel = 3' <none.nb >odd.nb
	fails_with 1 "attribute softening_kernel of frame 0 is '3' (want plummer or spline)" 'nb-force <odd.nb'
	fails_with 2 'invalid softening-kernel' 'nb-force --softening-kernel cubic <none.nb'
}
