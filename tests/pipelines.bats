#!/usr/bin/env bats
# Programs together: what a user composes, and what holds for the whole.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

@test "a run through a tree pipeline conserves energy and momentum" {
	nb-gen plummer -n 2000 |
		nb-step -d 0.01 -k 50 --every 50 'nb-sort-zorder | nb-build-tree | nb-force -t 0.5 -e 0.05 --potential' |
		nb-stats --format tsv >run.tsv
	drift=$(stat_of drift <run.tsv)
	at_most 2e-4 "${drift#-}"
	for p in px py pz; do
		value=$(stat_of $p <run.tsv)
		at_most 1e-4 "${value#-}"
	done
}

@test "the history tells each program and command that made a frame" {
	nb-gen plummer -n 10 -s 3 | nb-sort-zorder -j 2 | nb-build-tree -l 4 | nb-force -t 0.5 -v 2>/dev/null | nb-stats --history >history
	[ "$(wc -l <history)" -eq 4 ]
	grep -q 'nb-gen [0-9.]*: nb-gen -n 10 -s 3 plummer' history
	[ "$(grep -c -- '-j\|-v' history)" -eq 0 ] # what cannot change the result is left out
	grep -q 'nb-build-tree -l 4' history
	[ "$(nb-gen plummer -n 10 --no-history | nb-stats --history | wc -l)" -eq 0 ]
}

@test "a long command line is in the history whole" {
	operand="nb-force # $(printf '%9000s' '' | tr ' ' x) end"
	nb-gen plummer -n 10 | nb-step -d 0.01 "$operand" >long.nb
	nb-stats --history <long.nb | tail -n 1 >history
	[ "$(wc -c <history)" -gt 9000 ]
	grep -qF "'$operand'" history
}

@test "tee and files in the middle of a pipeline change nothing" {
	nb-gen plummer -n 3000 --no-history >p.nb
	nb-sort-zorder --no-history <p.nb | tee s.nb | nb-build-tree --no-history | nb-force -t 0.5 --no-history >a.nb
	nb-build-tree --no-history <s.nb >b.nb
	nb-force -t 0.5 --no-history <b.nb >c.nb
	cmp a.nb c.nb
}

# bats test_tags=linux
@test "threads that wait do not take the processor from the rest of the pipeline" {
	run bash -c 'OMP_DISPLAY_ENV=verbose nb-force --version 2>&1 >/dev/null'
	[[ $output == *"GOMP_SPINCOUNT = '1000'"* ]]
	run bash -c 'GOMP_SPINCOUNT=7 OMP_DISPLAY_ENV=verbose nb-force --version 2>&1 >/dev/null'
	[[ $output == *"GOMP_SPINCOUNT = '7'"* ]]
}

# threads_of JOBS: threads of nb-force -j JOBS after its first frame, while it waits for more
threads_of() {
	local pid count
	mkfifo "in$1" "out$1"
	nb-force -b cpu -m direct --no-history -j "$1" <"in$1" >"out$1" &
	pid=$!
	exec 7>"in$1" 8<"out$1"
	cat p.nb >&7
	head -c "$size" <&8 >/dev/null
	count=$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)
	exec 7>&-
	cat <&8 >/dev/null
	exec 8<&-
	wait "$pid"
	echo "$count"
}

@test "-j N: a program computes on N threads" {
	cd "$BATS_TEST_TMPDIR"
	nb-gen plummer -n 3000 >p.nb
	size=$(($(nb-force -m direct --no-history <p.nb | wc -c) - 128)) # without the end marker
	one=$(threads_of 1)
	[ "$(threads_of 2)" -eq $((one + 1)) ]
	[ "$(threads_of 5)" -eq $((one + 4)) ]
}

@test "units stay: planets in SI keep their G and turn around the Sun" {
	# 200 steps of a day
	nb-convert --from princeton "$NB_TOP/tests/data/planets.txt" |
		nb-step -d 86400 -k 200 --every 200 'nb-force --potential' >run.nb
	nb-stats --attributes <run.nb | grep -q 'G=6.67e-11'
	drift=$(nb-stats --format tsv <run.nb | stat_of drift)
	at_most 1e-4 "${drift#-}"
	# the Earth is where its year of 365 days puts it, seen from the Sun
	nb-convert -q --no-comments --to csv --frame 1 <run.nb | awk -F , 'NR > 1 { print $3, $4 }' >end
	angle=$(awk 'NR == 1 { x = $1; y = $2 } NR == 4 { a = atan2($2 - y, $1 - x) / (8 * atan2(1, 1)); print a < 0 ? a + 1 : a }' end)
	close_to "$(awk 'BEGIN { print 200 / 365.25 }')" "$angle" 0.01
}

@test "a stream of f32 columns stays f32 through the whole chain, until it is integrated" {
	nb-gen plummer -n 500 --precision f32 | nb-sort-zorder | nb-build-tree | nb-force -t 0.5 -e 0.05 >f.nb
	nb-stats --fields <f.nb >fields
	[ "$(grep -E ' (pos|vel|mass|acc) ' fields | grep -c '<f4')" -eq 4 ]
	# a step is small against a position: pos and vel are then f64 (nb-step(1)), the rest as it was
	nb-step -d 0.01 <f.nb | nb-stats --fields >fields
	[ "$(grep -E ' (pos|vel) ' fields | grep -c '<f8')" -eq 2 ]
	[ "$(grep -E ' mass ' fields | grep -c '<f4')" -eq 1 ]
}

@test "two-dimensional bodies stay in the plane" {
	nb-gen uniform --dim 2 -n 500 |
		nb-step -d 0.01 -k 3 --every 3 'nb-sort-zorder | nb-build-tree | nb-force -t 0.6 -e 0.05' >plane.nb
	python3 "$NB_TOP/tests/mutate.py" show pos <plane.nb | awk '$3 != 0 { exit 1 }'
}
