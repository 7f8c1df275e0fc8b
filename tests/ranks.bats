#!/usr/bin/env bats
# A program built with MPI=1, alone and as several ranks: bytes of one process, streams that no launcher touches, and
# one line and a status when something goes wrong.
# as a filter: none

load helper

MPI_BIN=$NB_TOP/build/mpi/bin
TREE='nb-sort-zorder | nb-build-tree | nb-force -m tree -t 0.5 -e 0.01'

setup_file() {
	case ${NB_CONFIG:-$(basename "${NB_BIN%/bin}")} in cuda | cpu) ;; *) return ;; esac
	command -v mpirun.openmpi >/dev/null || return 0
	make -s -C "$NB_TOP" MPI=1 CUDA=0 all
}

setup() {
	case ${NB_CONFIG:-$(basename "${NB_BIN%/bin}")} in cuda | cpu) ;; *) skip 'ranks are built without sanitizers' ;; esac
	command -v mpirun.openmpi >/dev/null || skip 'no Open MPI'
	cd "$BATS_TEST_TMPDIR" || return 1
	export PATH="$MPI_BIN:$PATH"
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	# as in a container, where one process may not read the memory of another one
	export OMPI_MCA_btl_vader_single_copy_mechanism=none
	export MARK=ranks.$BATS_SUITE_TEST_NUMBER.$$
}

teardown() { end_marked; }

ranks() { echo "mpirun.openmpi --oversubscribe -n $1"; }

# A program of the force pipeline that starts late does not fold, and the other ranks have no part then.
late() { grep -q '^nb-step: not all of the force pipeline runs in this process' said; }

# folded COMMAND...: from in.nb to several.nb, and what it says to said, in one of several runs without such a program
folded() { in_one_of 20 folded_now "$@" || { cat said; return 1; }; }
folded_now() { "$@" <in.nb >several.nb 2>said && ! late; }

# same N ARGUMENTS: the run of N ranks from in.nb has the bytes of one process, and they have shared work
same() {
	nb-step -d 0.01 -k 2 "${@:2}" <in.nb >one.nb
	folded nb-step -v --mpi "$(ranks "$1")" -d 0.01 -k 2 "${@:2}" || return 1
	grep -qE "$1 ranks shared [1-9][0-9]* computations" said || { cat said; return 1; }
	cmp one.nb several.nb
}

@test "the program with MPI is that without, where no launcher is" {
	nb-gen plummer -n 8200 >in.nb
	nb-step -d 0.01 -k 2 "$TREE" <in.nb >with.nb
	"$NB_BIN/nb-step" -b cpu -d 0.01 -k 2 "${TREE/nb-force/nb-force -b cpu}" <in.nb >without.nb
	nb-diff --no-history with.nb without.nb || nb-diff with.nb without.nb
	fails_with 1 "option '--mpi': this program was built without MPI (make MPI=1)" \
		"$NB_BIN/nb-step --mpi 'mpirun -n 2' -d 0.01 -k 1 'nb-force -e 0.01' <in.nb"
}

@test "1 to 4 ranks write the bytes of one process, each with a part of the bodies: trees" {
	nb-gen plummer -n 20000 | nb-calc 'far = x > 1' >in.nb
	nb-step -d 0.01 -k 3 --every 2 "$TREE" <in.nb >one.nb
	for n in 1 2 3 4; do
		folded nb-step -v --mpi "$(ranks $n)" -d 0.01 -k 3 --every 2 "$TREE"
		cmp one.nb several.nb
		grep -q "rank 0 of $n, with" said
		[ $n -gt 1 ] || continue
		grep -q "nb-step: $n ranks shared 4 computations of forces" said
		grep -qx "nb-step: each of $n ranks has a part of the bodies" said
		read -r most memory < <(sed -n 's/.* a rank had \([0-9]*\) bodies .* in \([0-9.]*\) MB$/\1 \2/p' said)
		[ "$most" -lt $((20000 * 3 / 2 / n)) ]
		awk -v was="${was:-1e9}" -v is="$memory" 'BEGIN { exit !(is > 0 && is < was) }'
		was=$memory
	done
}

@test "so they do where a rank has few of the cells of others, along a filament" {
	cells() { # MOST: divided cells that a rank has, of 1000
		read -r here all < <(sed -n 's/.* and \([0-9]*\) of \([0-9]*\) divided cells, at most, in .* MB$/\1 \2/p' said)
		[ $((1000 * here)) -le $(($1 * all)) ] || { cat said; return 1; }
	}
	nb-gen plummer -n 200000 | nb-calc 'x = id % 1000' >in.nb
	same 2 "$TREE -p 1"
	grep -q ' and \([0-9]*\) of \1 divided cells' said # which take little memory
	same 4 "$TREE -p 4 --precision mixed"
	cells 600
	same 7 "$TREE --precision f64 --potential"
	cells 450
}

@test "so do runs that choose their steps, measure energies, or make three forces a step; and frames after frames" {
	nb-gen plummer -n 8200 >in.nb
	spread() { same 3 "$@" && grep -qx 'nb-step: each of 3 ranks has a part of the bodies' said; }
	spread --eta 0.05 --until 0.02 -k 20 "$TREE --potential"
	spread -k 11 --every 0 "$TREE --potential" # the energy is looked at in step 10
	spread --integrator yoshida -k 1 "$TREE"
	# bodies in one place, all of them and some; and accelerations and a kick from before
	nb-calc 'x = 0.1' 'y = 0.2' 'z = 0.3' <in.nb >place.nb
	nb-calc 'x = id < 6000 ? 0.1 : x' 'y = id < 6000 ? 0.2 : y' 'z = id < 6000 ? 0.3 : z' <in.nb >places.nb
	nb-sort-zorder <in.nb | nb-build-tree | nb-force -e 0.01 | nb-step -d 0.01 >kick.nb
	nb-gen plummer -n 8200 --precision f32 | cat place.nb places.nb kick.nb - >in.nb
	spread "$TREE"
	equals "$(grep -c 'has a part of the bodies' said)" 4
}

@test "a body that leaves the range of numbers is named, and what cannot be spread stays with rank 0, which says why" {
	nb-gen plummer -n 8200 >in.nb
	for dt in 1e200 1e154; do
		run ! nb-step -d $dt -k 3 "$TREE" <in.nb 2>one.err >one.nb
		run ! nb-step --mpi "$(ranks 2)" -d $dt -k 3 "$TREE" <in.nb 2>several.err >several.nb
		cmp one.err several.err
		[ -s one.err ]
		cmp one.nb several.nb
	done
	stays() {
		in_one_of 20 stays_now "$@" || { cat said; return 1; }
	}
	stays_now() {
		nb-step -v --mpi "$(ranks 2)" -d 0.01 "${@:2}" <in.nb 2>said >out.nb || true # some cannot be computed at all
		grep -qxF "nb-step: the bodies stay with rank 0: $1" said
	}
	stays 'nb-force --jerk or --mac acceleration' "$TREE --mac acceleration"
	stays 'the force pipeline is not nb-sort-zorder | nb-build-tree | nb-force' "$TREE | nb-calc 'q = mass'"
	stays "a softening kernel other than Plummer's" "$TREE --softening-kernel spline"
	stays 'the integrator' --integrator euler "$TREE"
	nb-calc 'pos *= 1e-200' <in.nb >small.nb
	mv small.nb in.nb
	nb-step -d 0.01 -k 1 "$TREE" <in.nb >one.nb
	folded nb-step -v --mpi "$(ranks 2)" -d 0.01 -k 1 "$TREE"
	cmp one.nb several.nb
	grep -qx 'nb-step: the bodies go back to rank 0: their distances are extreme' said || { cat said; return 1; }
	nb-gen plummer -n 100 >in.nb
	stays 'fewer than 8192 of them' "$TREE"
}

@test "1 to 4 ranks write the bytes of one process: direct sums" {
	nb-gen plummer -n 8200 >in.nb
	for n in 1 2 3 4; do
		folded nb-step -v --mpi "$(ranks $n)" -d 0.01 -k 2 'nb-force -m direct -e 0.01'
		[ $n -gt 1 ] || mv several.nb one.nb
		[ $n -eq 1 ] || grep -q "nb-step: $n ranks shared 3 computations of forces" said
		[ $n -eq 1 ] || cmp one.nb several.nb
	done
	nb-step -d 0.01 -k 2 'nb-force -m direct -e 0.01' <in.nb | cmp - one.nb
}

@test "so do trees of every order, precision, softening and criterion" {
	nb-gen plummer -n 8200 >in.nb
	same 3 'nb-sort-zorder | nb-build-tree | nb-force -m tree -t 0.4 -p 3 --potential'
	same 3 'nb-sort-zorder | nb-build-tree | nb-force -m tree -t 0.4 -p 4 -e 0.01 --precision f64'
	same 3 'nb-sort-zorder | nb-build-tree | nb-force -m tree -t 0.4 -e 0.01 --softening-kernel spline'
	same 3 'nb-sort-zorder | nb-build-tree | nb-force -m tree --mac acceleration -e 0.01'
	same 3 --integrator hermite 'nb-sort-zorder | nb-build-tree | nb-force -m tree -t 0.4 -e 0.01 --jerk'
	nb-calc 'softening = 0.01 + 0.001 * sin(id)' <in.nb >soft.nb
	mv soft.nb in.nb
	same 3 'nb-sort-zorder | nb-build-tree | nb-force -m tree -t 0.4'
	same 3 --levels 3 --eta 0.05 'nb-sort-zorder | nb-build-tree | nb-force -m tree -t 0.4 -e 0.01'
	grep -qx 'nb-step: the bodies stay with rank 0: --levels' said
}

@test "so do direct sums of every precision and softening" {
	nb-gen plummer -n 8200 >in.nb
	same 2 'nb-force -m direct -e 0.01 --precision f64 --potential'
	same 2 --integrator hermite 'nb-force -m direct -e 0.01 --jerk'
	same 2 'nb-force -m direct -e 0.01 --softening-kernel spline'
}

@test "with any number of threads, and the instructions of the poorest processor" {
	nb-gen plummer -n 8200 >in.nb
	same 2 -j 3 "$TREE -j 1"
	# ranks that share processors divide them
	env -u OMP_NUM_THREADS nb-step -v --mpi "$(ranks 1)" -d 0.01 "$TREE" <in.nb 2>said >several.nb
	grep -Eqx "nb-step: rank 0 of 1, with $(env -u OMP_NUM_THREADS nproc) threads?" said
	env -u OMP_NUM_THREADS nb-step -v --mpi "$(ranks 3)" -d 0.01 "$TREE" <in.nb 2>said >few.nb
	grep -Eqx "nb-step: rank 0 of 3, with $((($(env -u OMP_NUM_THREADS nproc) + 2) / 3)) threads?" said
	for rank in 0 1; do
		first=auto second=auto
		[ $rank -eq 0 ] && first=plain || second=plain
		env NB_SIMD=plain nb-step -d 0.01 -k 2 "$TREE" <in.nb >one.nb
		mpirun.openmpi --oversubscribe -n 1 env NB_SIMD="${first/auto/}" nb-step -d 0.01 -k 2 "$TREE" : \
			-n 1 env NB_SIMD="${second/auto/}" nb-step -d 0.01 -k 2 "$TREE" <in.nb | cmp - one.nb
	done
}

@test "frames of no body, of one, and of fewer than ranks, and a stream without frames" {
	for n in 0 1 3; do
		nb-gen plummer -n $n >in.nb
		nb-step -d 0.01 -k 2 "$TREE" <in.nb >one.nb
		nb-step --mpi "$(ranks 4)" -d 0.01 -k 2 "$TREE" <in.nb >several.nb
		cmp one.nb several.nb
	done
	nb-convert --from csv <<<'x,y,frame' >none.nb
	nb-step --mpi "$(ranks 2)" -d 0.01 -k 2 "$TREE" <none.nb >several.nb
	ends_well several.nb
}

@test "a launcher that is none of MPI does not start the program without end" {
	nb-gen -n 20 >in.nb
	fails_with 1 "nb-step: 'env' starts no ranks of MPI (want mpirun -n 4)" \
		"(ulimit -u 20000; timeout 60 nb-step --mpi env -d 0.01 -k 2 'nb-force -e 0.1' <in.nb)"
}

@test "with --mpi, a run stands in a pipeline as ever, and takes and makes files" {
	nb-gen plummer -n 8200 >in.nb
	nb-step -d 0.01 -k 2 "$TREE" <in.nb >one.nb
	nb-gen plummer -n 8200 | nb-step --mpi "$(ranks 2)" -d 0.01 -k 2 "$TREE" | nb-select --frames 0: >several.nb
	nb-diff one.nb several.nb
	nb-step -d 0.01 -k 2 -o file.nb "$TREE" in.nb
	nb-step --mpi "$(ranks 2)" -d 0.01 -k 2 -o several.nb "$TREE" in.nb
	cmp file.nb several.nb
	# a file that is open already, before its end
	head -c 100 /dev/zero >appended
	nb-step --mpi "$(ranks 2)" -d 0.01 -k 2 "$TREE" <in.nb >>appended
	tail -c +101 appended | cmp - one.nb
	{ head -c 100 /dev/zero; nb-step --mpi "$(ranks 2)" -d 0.01 -k 2 "$TREE" <in.nb; head -c 50 /dev/zero; } >middle
	tail -c +101 middle | head -c -50 | cmp - one.nb
	equals "$(stat -c %s middle)" $(($(stat -c %s one.nb) + 150))
	cat in.nb in.nb >two.nb
	{ dd bs="$(stat -c %s in.nb)" count=1 status=none of=/dev/null; nb-step --mpi "$(ranks 2)" -d 0.01 -k 2 "$TREE"; } <two.nb |
		cmp - one.nb
}

@test "mpirun on the command line: rank 0 opens its files and pipes, and no others" {
	nb-gen plummer -n 8200 >in.nb
	nb-step -d 0.01 -k 2 "$TREE" <in.nb >one.nb
	$(ranks 2) nb-step -d 0.01 -k 2 "$TREE" <in.nb >several.nb
	cmp one.nb several.nb
	$(ranks 2) nb-step -d 0.01 -k 2 "$TREE" <in.nb | cmp - one.nb
	nb-gen plummer -n 8200 | $(ranks 2) --stdin none nb-step -d 0.01 -k 2 "$TREE" | cmp - one.nb
	nb-step -d 0.01 -k 2 -o file.nb "$TREE" in.nb
	$(ranks 2) nb-step -d 0.01 -k 2 -o several.nb "$TREE" in.nb </dev/null
	cmp file.nb several.nb
	fails_with 1 'standard input is a pipe, of which mpirun takes bytes (want mpirun --stdin none ..., or nb-step --mpi ' \
		"cat in.nb | { $(ranks 2) -q nb-step -d 0.01 -k 2 '$TREE'; code=\$?; cat >/dev/null; exit \$code; }"
}

@test "what fails in rank 0 is said once, with its status, and no stream ends well" {
	nb-gen plummer -n 8200 >in.nb
	run_it="nb-step --mpi '$(ranks 2)' -d 0.01 -k 2"
	fails_with 2 "option '--bad'" "$run_it --bad 'nb-force -e 0.01' <in.nb"
	fails_with 1 'truncated stream' "$run_it 'nb-force -e 0.01' </dev/null"
	fails_with 1 'truncated stream' "head -c 100000 in.nb | $run_it 'nb-force -e 0.01'"
	fails_with 1 'standard output of process' "$run_it 'nb-force -e 0.01' <in.nb >&-"
	fails_with 1 "'cannot.nb': No such file" "$run_it 'nb-force -e 0.01' cannot.nb"
	pipeline "$run_it 'nb-force -m near' <in.nb | cat >out.nb"
	[ "$status" -eq 1 ]
	[[ $output == *'nb-force: no boxes in frame 0'* ]]
	run ! ends_well out.nb
	pipeline "$run_it 'nb-force -e 0.01' <in.nb >/dev/full"
	[ "$status" -eq 1 ]
	[[ $output == *'write error: No space left on device' ]]
	fails_with 2 "option '--mpi' needs the force pipeline as operand" "nb-step -d 0.1 --mpi 'mpirun -n 2' <in.nb"
}

@test "ranks on hosts of their own, with FILE operands" {
	# what mpirun takes for other hosts is a shell here: rank 0 has a daemon as its parent
	cat >remote <<-'EOF'
		#!/bin/sh
		mkdir -p "$PWD/$1"
		TMPDIR=$PWD/$1
		shift
		exec env -i PATH="$PATH" TMPDIR="$TMPDIR" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "$*"
	EOF
	chmod +x remote
	nb-gen plummer -n 8200 >in.nb
	nb-step -d 0.01 -k 2 -o one.nb "$TREE" in.nb
	remote="mpirun.openmpi -q --mca btl tcp,self --mca plm_rsh_agent $PWD/remote --host fake1:1,fake2:2 -n 3"
	$remote "$MPI_BIN/nb" step -d 0.01 -k 2 -o several.nb "$TREE" in.nb </dev/null
	cmp one.nb several.nb
	# mpirun warns where what it has started was quicker than itself
	fails_there() { fails_with 1 "$1" "{ $remote $2 2>&1 >&3 | grep -v 'plm:rsh: Warning: setpgid' >&2; } 3>&1"; }
	fails_there 'rank 0 does not find its standard input (give FILE operands' "$MPI_BIN/nb step -d 0.01 '$TREE' <in.nb"
	fails_there 'rank 0 does not find its standard output (give --output' "$MPI_BIN/nb step -d 0.01 '$TREE' in.nb </dev/null"
}

@test "srun is asked to end all ranks when one dies, unless the user says otherwise" {
	nb-gen plummer -n 10 >in.nb
	asked() { nb-step --mpi 'env >seen; mpirun.openmpi -n 1' -d 0.01 nb-force <in.nb >out.nb && grep ^SLURM_KILL_BAD_EXIT= seen; }
	[ "$(asked)" = SLURM_KILL_BAD_EXIT=1 ]
	[ "$(SLURM_KILL_BAD_EXIT=0 asked)" = SLURM_KILL_BAD_EXIT=0 ]
}

@test "a launcher that starts no rank is an error" {
	nb-gen plummer -n 10 >in.nb
	fails_with 1 "'true' ended with status 0, and has started no rank on this host" "nb-step --mpi true -d 0.01 -k 1 nb-force <in.nb"
	fails_with 1 "'exit 3;' ended with status 3, and has started no rank on this host" "nb-step --mpi 'exit 3;' -d 0.01 -k 1 nb-force <in.nb"
	pipeline "nb-step --mpi no-such-launcher -d 0.01 -k 1 nb-force <in.nb | cat >out"
	[ "$status" -eq 1 ]
	[ ! -s out ]
}

# long_run [PIPELINE]: in the background, with pid $front, after its first frame
long_run() {
	nb-gen plummer -n 20000 >in.nb
	in_one_of 20 long_run_now "$@"
}
long_run_now() {
	rm -f out.nb
	TEST_MARK=$MARK nb-step --mpi "$(ranks 3) -x TEST_MARK" -d 0.001 -k 100000 --every 2 "${1:-nb-force -m direct -e 0.01}" <in.nb >out.nb 2>said &
	front=$!
	wait_until test -s out.nb || return 1
	late || return 0
	kill -KILL "$front"
	wait "$front" || :
	nothing_stays || :
	return 1
}

rank_pids() { # of rank $1
	local pid
	for pid in $(marked); do
		tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && [ "$(cat "/proc/$pid/comm")" = nb ] && echo "$pid"
	done
}

@test "a rank that dies ends all, with one line" {
	for rank in 2 0; do
		if [ "$rank" -eq 2 ]; then long_run "$TREE"; else long_run; fi
		kill -KILL "$(rank_pids $rank | head -n 1)"
		code=0
		wait "$front" || code=$?
		cat said
		[ $code -eq 1 ]
		[ "$(grep -c . said)" -eq 1 ]
		grep -qE "^nb-step: '.*': a rank ended by signal 9 \(Killed\)$" said
		run ! ends_well out.nb
		nothing_stays
	done
}

@test "SIGTERM ends a run of ranks after its step, with a whole stream" {
	long_run "$TREE"
	kill -TERM "$front"
	code=0
	wait "$front" || code=$?
	cat said
	[ $code -eq 143 ]
	equals "$(sed 's/step [0-9]*, time [0-9.e+-]*/step N, time T/' said)" "nb-step: the run ends with the whole state of step N, time T (the same command with '--resume FILE', the file of this output, goes on, into another file)"
	ends_well out.nb
	nothing_stays
}

@test "nothing stays where the process that waits is killed" {
	long_run
	kill -KILL "$front"
	nothing_stays
	run ! ends_well out.nb
}

@test "a reader that goes away ends all ranks, without a word" {
	nb-gen plummer -n 8200 >in.nb
	goes_away() {
		TEST_MARK=$MARK bash -c "nb-step --mpi '$(ranks "$1") -x TEST_MARK' -d 0.001 -k 100000 'nb-force -e 0.01' <in.nb 2>said | head -c 1000 >/dev/null; echo \${PIPESTATUS[0]} >code"
		equals "$(cat code)" 141 || return 1
		[ ! -s said ] || { cat said; return 1; }
		nothing_stays
	}
	for n in 2 3; do in_one_of 20 goes_away $n; done
}

@test "a force pipeline in processes of its own is computed, and said to be alone" {
	nb-gen plummer -n 8200 >in.nb
	NB_FOLD=off nb-step -d 0.01 -k 1 'env >seen; nb-force -e 0.01' <in.nb >one.nb
	NB_FOLD=off nb-step --mpi "$(ranks 2)" -d 0.01 -k 1 'env >seen; nb-force -e 0.01' <in.nb >several.nb 2>said
	run ! grep -E '^(OMPI_COMM|PMIX|PMI|NB_RANKS)_' seen # they are no ranks
	cmp one.nb several.nb
	equals "$(cat said)" 'nb-step: not all of the force pipeline runs in this process (-v says why): the other ranks have no part in the rest'
}

@test "the job of Slurm makes a run, and goes on with one that was ended or cut" {
	export LAUNCHER
	LAUNCHER=$(ranks 2)
	N=8200 STEPS=10 NB_BIN=$MPI_BIN "$NB_TOP/examples/slurm-step" whole
	equals "$(nb-stats --format tsv <whole/run.nb | tail -n +2 | cut -f 1,2 | tr '\n\t' ' :')" '0:0 1:0.05 2:0.1 '
	mkdir cut
	cp whole/start.nb cut
	head -c "$(($(stat -c %s whole/run.nb) - 1000))" whole/run.nb >cut/run.nb
	N=8200 STEPS=10 NB_BIN=$MPI_BIN "$NB_TOP/examples/slurm-step" cut
	equals "$(nb-convert -q --no-comments --to csv <cut/run.nb)" "$(nb-convert -q --no-comments --to csv <whole/run.nb)"
	N=8200 STEPS=10 NB_BIN=$MPI_BIN "$NB_TOP/examples/slurm-step" whole
	equals "$(nb-stats --format tsv <whole/run.nb | wc -l)" 4
	# SIGTERM, which Slurm sends before the limit of time, to a script that is slow where that concerns it
	echo "trap '[[ \$BASH_COMMAND != *TERM* ]] || sleep 1' DEBUG" >late
	BASH_ENV=late N=8200 STEPS=100000 NB_BIN=$MPI_BIN TEST_MARK=$MARK "$NB_TOP/examples/slurm-step" ended &
	wait_until test -s ended/run.nb
	code=0
	kill -TERM $!
	wait $! || code=$?
	equals "$code" 143
	ends_well ended/run.nb
}

@test "make bench-ranks measures each row, with the same bytes" {
	"$NB_TOP/tests/bench/run-ranks" --quick build/mpi >table || { cat table; return 1; }
	cat table
	equals "$(grep -c '	same$' table)" 3
	grep -q '^# mpirun -n 1 cat: 1000000 bytes, .* GB/s$' table
}
