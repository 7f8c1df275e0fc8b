# helper.bash - what every test file loads: PATH to the programs under test, pipelines, numbers.
#
#   pipeline 'nb-gen -n 64 | nb-stats'      run it with pipefail; sets $status, $output (text only)
#   fails_with 1 'truncated' 'cmd'          cmd exits so, with one line on stderr that has the text, and
#                                           without a single byte on stdout
#   close_to 0.5 "$x" 0.01                  |x - 0.5| <= 0.01; not a number never passes
#   stat_of KEY                             value of KEY in the tsv of nb-stats on stdin (last frame)
#   equals "$(command)" text                the two are the same; says both where they are not
#   mutate ...                              tests/mutate.py: damages a stream, or shows what is in it
#   make_here TARGET...                     make, for the build under test
#   compare EXACT KEY                       error KEY of the stream on stdin against that in file EXACT
#   TEST_MARK=$MARK command                 a command whose processes are found again: marked prints their ids, end_marked
#                                           kills them, and nothing_stays waits until there is none
#   wait_until COMMAND...                   until it succeeds; fails after a time that only what hangs needs
#   in_one_of 5 COMMAND...                  it succeeds in one of 5 runs, ever farther apart: what other work of the machine may
#                                           spoil, and a defect spoils each time
#   deeds | each_does_as_said PATTERN       each program obeys or refuses, as a row "PROGRAM obeys|refuses COMMAND" says
#   without_waiting FILE                    its lines, except those that tell of 10 seconds of silence
#   last_state FILE                         positions and velocities in its last frame, a body a line
#   agree_within FILE FILE LIMIT            their last states differ by no more than that in any number
#   ends_well FILE                          1 if the stream does not end with an end marker
#   bytes_read COMMAND                      how many bytes it and what it runs read; its output goes to out
#   python_with MODULE [MORE]               the first Python that has it, and for which the statements MORE hold
#   python_with_h5py                        that with h5py, NB_PYTHON first, or nothing
#   "${NB_TOOLS[@]}"                        the names of all programs
#   integrators                             those of nb-step that take any force pipeline
#   one_force                               those that make a step with one force, so without a force pipeline, too
#   jerk_for INTEGRATOR                     --jerk if it needs that of nb-force

bats_require_minimum_version 1.5.0

# Bats notes the line of every command before it runs, which takes 0.2 ms.  The line is known when one fails, too.
if declare -F bats_debug_trap bats_error_trap bats_check_status_from_trap bats_capture_stack_trace >/dev/null; then
	bats_debug_trap() { trap - DEBUG; }
	bats_error_trap() {
		bats_check_status_from_trap
		[ -n "${BATS_DEBUG_LAST_STACK_TRACE_IS_VALID:-}" ] || bats_capture_stack_trace
		BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
	}
fi

NB_TOP=$(cd "${BATS_TEST_DIRNAME:-.}/.." && pwd)
if [ -z "${NB_BIN:-}" ]; then
	for config in ${NB_CONFIG:-cuda cpu san}; do
		if [ -d "$NB_TOP/build/$config/bin" ]; then
			NB_BIN=$NB_TOP/build/$config/bin
			break
		fi
	done
fi
export NB_BIN NB_TOP
export PATH="$NB_BIN:$PATH"
export LC_ALL=C
# Bats loads this once more for each test, which finds what the load for the file has asked.
[ "${NB_TOOLS_OF:-}" = "$NB_BIN" ] || NB_TOOLS_THERE=$(nb --help | awk '$1 ~ /^nb-[a-z-]+$/ && NF > 1 { print $1 }')
export NB_TOOLS_OF=$NB_BIN NB_TOOLS_THERE
mapfile -t NB_TOOLS <<<"$NB_TOOLS_THERE"

last_state() { nb-select --frames -1: "$1" | mutate show pos vel; }

agree_within() {
	paste <(last_state "$1") <(last_state "$2") | awk -v limit="$3" '
		{ for (k = 1; k <= 6; k++) { d = $k - $(k + 6); if (d < 0) d = -d; if (!(d <= limit)) { print k, d; bad = 1 } } }
		END { exit bad || NR == 0 }'
}

pipeline() {
	run bash -o pipefail -c "$1"
}

fails_with() {
	local want=$1 text=$2 command=$3
	local out=$BATS_TEST_TMPDIR/fails.out err=$BATS_TEST_TMPDIR/fails.err code=0 lines
	bash -o pipefail -c "$command" >"$out" 2>"$err" || code=$?
	if [ "$code" -ne "$want" ]; then
		echo "exit status $code, want $want: $command"
		cat "$err"
		return 1
	fi
	mapfile lines <"$err"
	if [[ ${lines[*]} != *"$text"* ]]; then
		echo "stderr lacks '$text': $command"
		cat "$err"
		return 1
	fi
	if [[ ${#lines[@]} -ne 1 || ${lines[0]} != *$'\n' ]]; then
		echo "stderr has not one line: $command"
		cat "$err"
		return 1
	fi
	if [ -s "$out" ]; then
		echo "stdout is not empty: $command"
		return 1
	fi
}

close_to() {
	awk -v want="$1" -v got="$2" -v by="$3" 'BEGIN {
		if (got !~ /^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$/) { print "not a number: " got; exit 1 }
		d = got - want; if (d < 0) d = -d
		if (!(d <= by)) { print got " is not within " by " of " want; exit 1 }
	}'
}

bytes_read() {
	[ -r /proc/self/io ] || skip 'no /proc/self/io'
	bash -c "$1"' >out; cat /proc/$$/io' | awk '$1 == "rchar:" { print $2 }'
}

equals() {
	[ "$1" = "$2" ] || { printf 'got:  %s\nwant: %s\n' "$1" "$2" && return 1; }
}

integrators() { nb-step --help | sed -n 's/.*--integrator \([a-z0-9_|]*\).*/\1/p' | tr '|' '\n' | grep -vxE 'whfast|ias15|trace|ar'; }

one_force() {
	local integrator
	nb-gen kepler | nb-force --jerk >"$BATS_TEST_TMPDIR/one_force.nb"
	for integrator in $(integrators); do
		nb-step -d 0.1 --integrator "$integrator" <"$BATS_TEST_TMPDIR/one_force.nb" >/dev/null 2>&1 || continue
		echo "$integrator"
	done
}

jerk_for() {
	local message
	message=$(nb-gen kepler | nb-step -d 0.1 --integrator "$1" nb-force 2>&1 >/dev/null) || [[ $message != *--jerk* ]] || echo --jerk
}

# make in the configuration of the programs under test, whose build directory it uses
make_here() {
	local config=${NB_CONFIG:-$(basename "${NB_BIN%/bin}")}
	local build=${NB_BIN%/bin}
	# by the name that make check has for it, as under another one all would be put together again, beside other tests
	make -s -C "$NB_TOP" BUILD="${build#"$NB_TOP"/}" CUDA="$([ "$config" = cuda ] && echo 1 || echo 0)" \
		SAN="$([ "$config" = san ] && echo 1 || echo 0)" COV="$([ "$config" = cov ] && echo 1 || echo 0)" "${@#"$NB_TOP"/}"
}

# Where python3 is a script that looks for the program, as pyenv's is, it takes 0.1 s to begin: the system's goes first.
NB_PYTHONS=("$(type -P python3)" /usr/bin/python3)
if [[ ${NB_PYTHONS[0]} == */shims/* && -x /usr/bin/python3 ]]; then
	NB_PYTHONS=(/usr/bin/python3 "${NB_PYTHONS[0]}")
	python3() { /usr/bin/python3 "$@"; }
fi
mutate() { python3 -I -S "$NB_TOP/tests/mutate.py" "$@"; } # without site packages it begins twice as fast

compare() { nb-stats --compare "$1" --format tsv | stat_of "$2"; }

at_most() {
	awk -v limit="$1" -v got="$2" 'BEGIN {
		if (got !~ /^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$/) { print "not a number: " got; exit 1 }
		if (!(got + 0 <= limit + 0)) { print got " exceeds " limit; exit 1 }
	}'
}

# nb-stats --format tsv: a header line, then one line a frame
stat_of() {
	awk -F '\t' -v key="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == key) column = i }
		{ value = $column } END { if (!column) { print "no column " key; exit 1 } print value }'
}

wait_until() {
	local end=$((SECONDS + 300))
	until "$@"; do
		[ "$SECONDS" -lt $end ] || { echo "not within 300 s: $*"; return 1; }
		sleep 0.02
	done
}

in_one_of() {
	local i
	for ((i = 1; i < $1; i++)); do
		if "${@:2}" >"$BATS_TEST_TMPDIR/one_of"; then return 0; fi
		sleep "$(((i - 1) / 10)).$(((i - 1) % 10))" # longer each time: what spoils it may last for seconds
	done
	"${@:2}"
}

# A table of what each program does with a command: "obeys", or "refuses" with a message of the pattern.
each_does_as_said() {
	local program deed command code
	cat >table
	equals "$(awk '{ print $1 }' table | sort -u)" "$(printf '%s\n' "${NB_TOOLS[@]}" | sort -u)" || return 1
	while read -r program deed command; do
		code=0
		bash -o pipefail -c "$command" >out 2>err </dev/null || code=$?
		if [ "$deed" = obeys ]; then
			[ "$code" -eq 0 ] || { echo "$program: $command"; cat err; return 1; }
		else
			[ "$code" -ne 0 ] || { echo "$program does not refuse: $command"; return 1; }
			grep -q "$1" err || { echo "$program: $command"; cat err; return 1; }
		fi
	done <table
}

without_waiting() { grep -vE '^nb-step: waiting for [0-9]+ seconds in step ' "$1" || :; }

# They have the mark, or one that goes on with a point, in their environment, unless they hide it.
marked() {
	grep -lsazxE "TEST_MARK=${MARK//./[.]}([.].*)?" /proc/[0-9]*/environ | cut -d / -f 3
}

nothing_is_marked() { [ -z "$(marked)" ]; }

end_marked() {
	local pid
	for pid in $(marked); do kill -KILL "$pid" 2>/dev/null || :; done
}

# All of them end, within 300 s: one that sleeps must do so for longer.
nothing_stays() {
	local left
	wait_until nothing_is_marked >/dev/null && return 0
	left=$(marked)
	echo "still there: $(for pid in $left; do tr '\0' ' ' <"/proc/$pid/cmdline"; echo "($pid)"; done)"
	return 1
}

# The first Python that has a module, and what else is true of it; nothing is imported that MORE does not import.
python_with() {
	local p
	for p in "${NB_PYTHONS[@]}" ${NB_PYTHON:-}; do
		"$p" -W ignore -c "from importlib.util import find_spec; assert find_spec('${1%%.*}') and find_spec('$1'); ${2:-}" 2>/dev/null &&
			echo "$p" && return
	done
	echo "no python3 with $1" >&2
	return 1
}
numpy_python() { python_with numpy; }

# NB_PYTHON may be one with newer readers.
python_with_h5py() {
	for python in ${NB_PYTHON:-} "${NB_PYTHONS[@]}"; do
		"$python" -c 'import h5py' 2>/dev/null && echo "$python" && break
	done
	:
}

# The last 128 bytes are an end marker (nb-stream(5)).
ends_well() { [ "$(tail -c 128 "$1" | head -c 17 | od -A n -t x1 | tr -d ' \n')" = 894e42530d0a1a0a010000008000000002 ]; }

# far_body_is_seen BACKEND LEAST: two bodies and one far away, with every method, precision and kernel of nb-force: the
# force between the two is right, which it has to be in LEAST cases, or the frame is refused for the far body
far_body_is_seen() {
	local options=() method precision kernel D ax tried=0
	words() { nb-force --help | sed -n "s/^ .*--$1 \([a-z0-9|]*\)$/\1/p" | tr '|' '\n'; }
	for method in $(words method); do
		[ "$method" != treepm ] || continue # in a box nothing is far away
		for precision in $(words precision); do options+=("-m $method --precision $precision"); done
	done
	options+=('-m direct --jerk' '-m tree --jerk' '-m direct -e 1e-4' '-m tree --softening-kernel spline -e 1e-4')
	for kernel in $(nb-force --kernel help | awk -v b="$1" '/^[a-z]/ && $2 == b { print $1 }'); do options+=("--kernel $kernel"); done
	[ ${#options[@]} -ge 35 ]
	for D in 1e18 1e40; do
		printf 'id,mass,x,y,z,vx,vy,vz\n0,1,0,0,0,0,0,0\n1,1e-3,1,0,0,0,1,0\n2,0,%s,0,0,0,0,0\n' $D | nb-convert -q --from csv >far.nb
		nb-sort-zorder --dim 2 <far.nb | nb-build-tree --kind boxes --level 1 >boxes.nb
		nb-sort-zorder <far.nb | nb-build-tree >tree.nb
		for o in "${options[@]}"; do
			case $o in *tree*) in=tree ;; *shan* | *near* | *leaves* | *fmm*) in=boxes ;; *) in=far ;; esac
			# shellcheck disable=SC2086
			if ! nb-force -b "$1" $o <$in.nb >out.nb 2>err; then
				grep -q 'bodies lie so far off that distances between the others are lost' err || { echo "$o"; cat err; return 1; }
				continue
			fi
			ax=$(nb-convert -q --no-comments --to csv <out.nb | awk -F, '
				NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } $c["id"] == 1 { print $c["ax"] + 1 }')
			echo "$D $o: error $ax"
			at_most 1e-3 "${ax#-}"
			tried=$((tried + 1))
		done
	done
	[ $tried -ge "$2" ]
}
