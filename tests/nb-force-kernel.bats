#!/usr/bin/env bats
# nb-force --kernel: the kernels of the papers by name, from the command line.  tests/unit/papers tests the kernels.

load helper


setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 1000 >space.nb
	nb-gen uniform --dim 2 -n 1000 >plane.nb
	nb-gen boxes --level 3 --per-box 8 | nb-sort-zorder --dim 2 | nb-build-tree --kind boxes --level 3 >boxes.nb
	for f in space plane; do nb-force -m direct -e 0.01 <$f.nb >$f-exact.nb; done
	nb-force -m near -e 0.01 <boxes.nb >boxes-exact.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# the kernels on a backend
kernels_on() { nb-force --kernel help | awk -v b="$1" '/^[a-z]/ && $2 == b { print $1 }'; }

# a frame that every kernel of that name accepts
input_of() {
	case $1 in
	gangavarapu-*) echo plane ;;
	shan-* | near* | gems3-leaves*) echo boxes ;;
	*) echo space ;;
	esac
}

# runs every kernel of a backend; those that know trees, with theta 0
every_kernel() {
	local kernel input theta
	for kernel in $(kernels_on "$1"); do
		input=$(input_of "$kernel") theta=
		case $kernel in *-tree*) theta='-t 0' ;; esac
		# shellcheck disable=SC2086
		nb-force -b "$1" --kernel "$kernel" $theta -e 0.01 <$input.nb >k.nb
		error=$(compare "$input-exact.nb" rms <k.nb)
		echo "$kernel: rms $error"
		at_most 1e-5 "$error"
	done
}

@test "help lists every kernel with its backend and source, and needs no input" {
	run nb-force --kernel help </dev/null
	[ "$status" -eq 0 ]
	for name in shan-serial lecture8-naive gangavarapu-tree-omp xu-inner direct near; do
		[ "$(grep -c "^$name  *cpu  " <<<"$output")" -eq 1 ]
	done
	for name in gems3 shan-bpb-n3 xu-pairs direct; do # in every build
		[ "$(grep -c "^$name  *cuda  " <<<"$output")" -eq 1 ]
	done
	[ "$(grep -c 'Shan & Lei 2012, ' <<<"$output")" -ge 1 ]
	[ "$(grep -c '(needs a GPU' <<<"$output")" -eq "$(grep -c '^[a-z][a-z0-9-]*  *cuda  ' <<<"$output")" ]
	fails_with 1 'write error' 'nb-force --kernel help </dev/null >/dev/full'
}

@test "every kernel on the CPU agrees with the direct sum or the near field" {
	[ "$(kernels_on cpu | wc -l)" -ge 15 ]
	every_kernel cpu
}

# bats test_tags=gpu
@test "every kernel on the GPU agrees with the direct sum or the near field" {
	if ! nb-force -b cuda <space.nb >/dev/null 2>&1; then
		[ -z "${NB_REQUIRE_GPU:-}" ]
		skip 'no CUDA device'
	fi
	[ "$(kernels_on cuda | wc -l)" -ge 15 ]
	every_kernel cuda
	nb-force -b cuda --kernel gems3:p=64,q=4,unroll=8 -e 0.01 <space.nb | compare space-exact.nb rms >error
	at_most 1e-5 "$(cat error)"
	nb-sort-zorder <space.nb | nb-build-tree --kind boxes --level 2 >cubes.nb
	for kernel in shan-bpt shan-ppt shan-bpb shan-bpb-n3; do
		fails_with 1 "kernel $kernel is 2-D" "nb-force -b cuda --kernel $kernel <cubes.nb"
	done
	fails_with 2 'exceeds 1024 threads' 'nb-force -b cuda --kernel gems3:p=512,q=4 <space.nb'
	fails_with 2 "invalid p '63' (want 16|32|64|128|256|512)" 'nb-force -b cuda --kernel gems3:p=63 <space.nb'
}

@test "the files of the papers' figures name kernels that exist, once each" {
	[ "$(cat "$NB_TOP"/tests/bench/papers/*.tsv | grep -c -v '^#')" -gt 200 ]
	for backend in cpu cuda; do
		kernels_on $backend >known
		[ -s known ]
		# columns: 2 backend, 5 kernel, 10 baseline
		# collide and xu-collide are no forces, but rows of their own
		awk -F '\t' -v b=$backend '!/^#/ { sub(/\*.*/, "", $2) } !/^#/ && $2 == b && $5 !~ /collide$/ { sub(/[: ].*/, "", $5); print $5 }' \
			"$NB_TOP"/tests/bench/papers/*.tsv | sort -u >named
		run grep -v -x -F -f known named
		[ -z "$output" ]
		run grep -v -x -F -f named known
		echo "of no paper: $output"
		[ -z "$output" ]
	done
}

@test "a kernel's tree obeys theta" {
	coarse=$(nb-force -b cpu --kernel gangavarapu-tree -t 0.9 -e 0.01 <plane.nb | compare plane-exact.nb rms)
	fine=$(nb-force -b cpu --kernel gangavarapu-tree -t 0.3 -e 0.01 <plane.nb | compare plane-exact.nb rms)
	at_most "$coarse" "$(awk -v f="$fine" 'BEGIN { print 4 * f }')"
	at_most 0.2 "$coarse"
}

# bats test_tags=once
@test "the kernels with jerk give that of the direct sum, in f32 unless f64 is asked for" {
	nb-force -m direct -e 0.01 --jerk <space.nb >j.nb
	mutate show jerk <j.nb >exact
	for kernel in xu-pairs xu-outer xu-inner 'xu-tree -t 0' 'xu-tree-omp -t 0'; do
		for precision in f32 f64; do
			bash -c "nb-force -b cpu --kernel $kernel -e 0.01 --jerk --precision $precision" <space.nb >k.nb
			bound=1e-4 # most of it from close pairs
			[ $precision = f32 ] || bound=1e-12
			mutate show jerk <k.nb | paste - exact | awk -v kernel="$kernel" -v bound=$bound '
				{ for (i = 1; i <= 3; i++) { num += ($i - $(i + 3)) ^ 2; den += $(i + 3) ^ 2; n++ } }
				END { if (!(n == 3000 && den > 0 && num <= bound ^ 2 * den)) { print kernel, n, num, den; exit 1 } }'
		done
		bash -c "nb-force -b cpu --kernel $kernel -e 0.01 --jerk --no-history" <space.nb >default.nb
		bash -c "nb-force -b cpu --kernel $kernel -e 0.01 --jerk --no-history --precision f32" <space.nb | cmp - default.nb
	done
}

@test "the history names the kernel, and -v says which one ran" {
	nb-force -b cpu --kernel lecture8-simd -e 0.01 <space.nb | nb-stats --history | grep -q -- '--kernel lecture8-simd'
	run bash -c 'nb-force -v -b cpu --kernel lecture8-simd -e 0.01 <space.nb 2>&1 >/dev/null'
	[[ $output == *lecture8-simd\ on\ cpu* ]]
}

@test "a kernel on the CPU alone runs there whatever auto would choose" {
	nb-force --kernel xu-outer -e 0.01 <space.nb >a.nb
	nb-force -b cpu --kernel xu-outer -e 0.01 --no-history <space.nb >b.nb
	[ "$(nb-convert --no-comments --to csv <a.nb | cksum)" = "$(nb-convert --no-comments --to csv <b.nb | cksum)" ]
}

@test "a kernel of the other backend says so" {
	fails_with 2 'runs on cpu, not on cuda' 'nb-force -b cuda --kernel shan-serial <boxes.nb'
	fails_with 2 'runs on cuda, not on cpu' 'nb-force -b cpu --kernel gems3 <space.nb'
	if nb-force --kernel help | grep -q 'a build with CUDA'; then
		for backend in auto cuda; do
			fails_with 2 'kernel gems3 needs a GPU, and this program was built without CUDA' \
				"nb-force -b $backend --kernel gems3 <space.nb"
		done
	fi
}

@test "what a kernel does not offer is a usage error" {
	fails_with 2 "unknown kernel 'fast'" 'nb-force --kernel fast <space.nb'
	fails_with 2 "unknown kernel ''" "nb-force --kernel '' <space.nb"
	fails_with 2 "no parameter in 'p=4'" 'nb-force -b cpu --kernel direct:p=4 <space.nb'
	fails_with 2 'offers no jerk' 'nb-force --kernel lecture8-naive --jerk <space.nb'
	fails_with 2 'offers no potential' 'nb-force --kernel xu-pairs --potential <space.nb'
	fails_with 2 'does not offer that precision' 'nb-force --kernel gangavarapu-pairs --precision f32 <plane.nb'
	fails_with 2 'kernel shan-serial offers no potential' 'nb-force --kernel shan-serial --potential <boxes.nb'
	fails_with 2 'kernel shan-serial offers no jerk' 'nb-force --kernel shan-serial --jerk <boxes.nb'
	fails_with 2 'kernel shan-serial does not offer that' 'nb-force --kernel shan-serial --precision f64 <boxes.nb'
	fails_with 2 'has no opening angle' 'nb-force --kernel xu-pairs -t 0.5 <space.nb'
	fails_with 2 "contradict '--kernel'" 'nb-force -m direct --kernel xu-pairs <space.nb'
	fails_with 2 "contradict '--kernel'" 'nb-force --mac acceleration --kernel xu-pairs <space.nb'
	nb-force -b cpu --kernel direct --potential <space.nb | nb-stats --check
}

@test "a frame that a kernel cannot take is an error that says why" {
	fails_with 1 'kernel gangavarapu-pairs is 2-D' 'nb-force -b cpu --kernel gangavarapu-pairs <space.nb'
	fails_with 1 'no boxes in frame 0' 'nb-force --kernel shan-serial <plane.nb'
	nb-sort-zorder <space.nb | nb-build-tree --kind boxes --level 2 >cubes.nb
	fails_with 1 'kernel shan-serial is 2-D' 'nb-force -b cpu --kernel shan-serial <cubes.nb'
	nb-force -b cpu --kernel near <cubes.nb >near.nb
}
