#!/usr/bin/env bats
# Force pipelines that misbehave, and what ends them: tests/filters/misbehave.c does wrong what a program can do wrong, at
# the first frame, at the second, and at the last.  nb-step must say so in one line and leave no end marker, or write what
# is right; it must never wait without an end, and leave no process.

load helper

STEPS=5 # so frames 0 to 5

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	ln -s "$(cd "$NB_BIN/../tests/filters" && pwd)/misbehave" misbehave
	ln -s "$(cd "$NB_BIN/../tests/filters" && pwd)/spring" spring
	nb-gen plummer -n 257 --no-history >start.nb
	nb-step --no-history -d 0.01 -k $STEPS ./spring <start.nb >right.nb
	nb-step --no-history -d 0.01 -k $STEPS './spring | nb-force -e 0.1' <start.nb >force.nb
	ends_well right.nb && ends_well force.nb
}

# Seconds within which a program that behaves answers, if nothing else runs; beside other tests under sanitizers it starts
# slowly.
LITTLE=1
[[ $NB_BIN != */san/* ]] || LITTLE=5

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
	export MARK=misbehave.$BATS_TEST_NUMBER.$$
	rm -f wrong
}

teardown() {
	end_marked
}

# ---- helpers ------------------------------------------------------------------------------------------

# judge STATUS OUT ERR VERDICT WHOLE: what is wrong with a run.  The verdict is "whole": the same bytes as in file WHOLE,
# without a word; "sound": a stream that nb-stats accepts, without a word; or the end of the line of nb-step.
judge() {
	case $4 in
	whole | sound)
		[ "$1" -eq 0 ] || echo "status $1"
		[ ! -s "$3" ] || echo 'it says something'
		[ "$4" = sound ] || cmp "$2" "$5"
		nb-stats --check <"$2" >/dev/null
		;;
	*)
		[ "$1" -eq 1 ] || echo "status $1"
		[ "$(wc -l <"$3")" -eq 1 ] || echo 'not one line'
		grep -qF -- "$4" "$3" || echo "no '$4'"
		! ends_well "$2" || echo 'an end marker'
		;;
	esac 2>&1
	[ ! -s "$3" ] || grep -vE '^ *misbehave$' "$3" || :
}

# is_late ERR VERDICT: nb-step says in ERR that something came too late, of which the verdict knows nothing: a program that
# does not get a processor has no time to answer, and may take longer to end than nb-step waits for its status.
is_late() {
	grep -qF -e 'exceeded the patience' -e 'closed its output before it answered' -e 'stopped reading its input' \
		-e 'ended its stream before it answered' -e 'lost its last program' "$1" && ! grep -qF -- "$2" "$1"
}

# case_of MODE K VERDICT [OPTIONS]: a run; in the verdict, @ is K and @@ the next one.  A run that shall end by its patience
# gets little of it, others get much.  What is late runs again.
case_of() {
	local mode=$1 k=$2 verdict options=${4:-} name=$1.$2${4:+.x} patience=200 code fault i
	[[ $3 != *patience* && $mode != trickle && $mode != closein ]] || patience=$LITTLE
	for ((i = 0; i < 10; i++)); do
		verdict=${3//@@/$((k + 1))}
		verdict=${verdict//@/$k}
		verdict=${verdict//#/$patience}
		code=0
		# shellcheck disable=SC2086
		TEST_MARK=$MARK timeout 600 nb-step --no-history -d 0.01 -k $STEPS --patience $patience $options \
			"exec ./misbehave $mode $k" <start.nb >"$name.out" 2>"$name.err" || code=$?
		sed -i '/^nb-step: waiting for /d' "$name.err"
		[[ $mode != stderr ]] || sed -i '/^ *misbehave$/d' "$name.err"
		is_late "$name.err" "$verdict" || break
		[[ $mode = trickle || $patience -ge 16 ]] || patience=$((2 * patience))
	done
	fault=$(judge $code "$name.out" "$name.err" "$verdict" right.nb)
	[ -z "$fault" ] || [ "$fault" = "$(cat "$name.err")" ] || printf '%s at frame %s %s:\n%s\n' "$mode" "$k" "$options" "$fault" >>wrong
	rm -f "$name.out" "$name.err"
}

# many FUNCTION ARGUMENTS...: in the background, a few at a time
many() {
	while [ "$(jobs -rp | wc -l)" -ge 6 ]; do wait -n || :; done
	"$@" 3>&- &
}

at_each() { for k in 0 1 $STEPS; do many case_of "$1" "$k" "${@:2}"; done; }

nothing_wrong() {
	wait
	[ ! -s wrong ] || { cat wrong; return 1; }
	nothing_stays
}

# ---- modes --------------------------------------------------------------------------------------------

# bats test_tags=once
@test "a program that changes what it may change does no harm" {
	at_each none whole
	at_each vel whole
	at_each stderr whole
	at_each trickle whole
	at_each posf4 sound
	at_each accf4 sound
	at_each halfmass sound
	at_each bigattr sound
	nothing_wrong
}

@test "columns that are not what was sent are refused, before anything of that frame is written" {
	at_each more 'returned 258 bodies instead of 257 in step @'
	at_each less 'returned 256 bodies instead of 257 in step @'
	at_each ids 'returned other ids than it was given in step @'
	at_each swapids 'returned other ids than it was given in step @'
	at_each ids 'returned other ids than it was given in step @' --send-velocities
	at_each rowdup "changed the column 'nb_step_row' in step @"
	at_each rowbig "changed the column 'nb_step_row' in step @"
	at_each rowtype "changed the column 'nb_step_row' in step @"
	at_each rowwide "changed the column 'nb_step_row' in step @"
	at_each norow "returned no field 'nb_step_row' in step @"
	at_each nopos "returned no field 'pos' in step @"
	at_each accf2 "returned field 'acc' of type '<f2', which no tool reads in step @"
	at_each nanacc "field 'acc' of the body with id 1 is not finite in step @"
	at_each nanpos "returned a bad frame: field 'pos' of the body with id 1 is not finite in step @"
	at_each nanvel "returned a bad frame: field 'vel' of the body with id 1 is not finite in step @" --send-velocities
	at_each nanpot "returned a bad frame: field 'pot' of the body with id 1 is not finite in step @"
	at_each infmass "returned a bad frame: field 'mass' of the body with id 1 is not finite in step @"
	at_each negmass "returned a bad frame: field 'mass' of the body with id 1 is -1 (want a number >= 0) in step @"
	at_each negradius "returned a bad frame: field 'radius' of the body with id 1 is -1 (want a number >= 0) in step @"
	at_each step 'returned a frame of step 1000 in step @'
	nothing_wrong
}

@test "a program that ends, or ends its stream, too early is found out at once" {
	at_each die 'ended with status 0 before it answered in step @'
	at_each die3 'ended with status 3 in step @'
	at_each kill9 'was ended by signal 9 (Killed) in step @'
	at_each half 'ended with status 0 before it answered (truncated stream: '
	at_each end 'ended its stream before it answered in step @'
	at_each endgo 'ended its stream before it answered in step @'
	at_each endexit 'ended its stream before it answered in step @'
	at_each garbage 'wrote a bad stream: not a particle stream'
	nothing_wrong
}

# bats test_tags=once
@test "a program that does not answer, or does not go on, is ended after its time" {
	at_each skip 'exceeded the patience of # s (waiting for its answer) in step @'
	at_each hang 'exceeded the patience of # s (waiting for its answer) in step @'
	at_each halfhang 'exceeded the patience of # s (waiting for the rest of its answer) in step @'
	for k in 0 1; do many case_of closein $k 'stopped reading its input in step @@'; done
	many case_of closein $STEPS 'stopped reading its input'
	nothing_wrong
}

@test "what a program does wrong after its last answer is found out, too" {
	for k in 0 1; do many case_of twice $k 'returned a frame of step @ in step @@'; done
	many case_of twice $STEPS 'wrote more frames than it was given'
	many case_of extra 0 'wrote more frames than it was given'
	many case_of status5 0 'ended with status 5'
	many case_of noend 0 'ended with status 0 before it answered (truncated stream: no end marker after frame 5)'
	many case_of trail 0 'wrote a bad stream: not a particle stream'
	many case_of hangnoend 0 'exceeded the patience of # s (waiting for the end of its stream)'
	many case_of hangend 0 'exceeded the patience of # s (waiting for its exit)'
	many case_of hangclosed 0 'exceeded the patience of # s (waiting for its exit)'
	nothing_wrong
}

# before_force FOLD MODE VERDICT: a program of nb behind the one that misbehaves, folded or not.  What it says of its input,
# and the shell of a program that was killed, comes before the line of nb-step.
before_force() {
	local name=$2.$1 code fault i patience=$LITTLE verdict
	[[ $3 != whole && $3 != sound ]] || patience=200 # others may end by it
	for ((i = 0; i < 10; i++)); do
		verdict=${3//#/$patience} code=0
		TEST_MARK=$MARK NB_FOLD=$1 timeout 600 nb-step --no-history -d 0.01 -k $STEPS --patience $patience "./misbehave $2 1 | nb-force -e 0.1" \
			<start.nb >"$name.out" 2>"$name.err" || code=$?
		sed -i '/^nb-step: waiting for /d; /^nb-force: /d; /^nb-step: /!{ /Killed/d }' "$name.err"
		is_late "$name.err" "$verdict" || break
		[ $patience -ge 16 ] || patience=$((2 * patience))
	done
	fault=$(judge $code "$name.out" "$name.err" "$verdict" force.nb)
	[ -z "$fault" ] || [ "$fault" = "$(cat "$name.err")" ] || printf '%s, NB_FOLD=%s:\n%s\n' "$2" "$1" "$fault" >>wrong
	rm -f "$name.out" "$name.err"
}

# bats test_tags=once
@test "the same before a program of nb, whether or not that is folded" {
	local mode late="exceeded the patience of # s" failed="nb-step: force pipeline './misbehave"
	for fold in on off; do
		for mode in none vel nanacc accf4 accf2; do many before_force $fold $mode whole; done
		for mode in posf4 halfmass endgo; do many before_force $fold $mode sound; done
		for mode in more less ids swapids rowdup nopos norow nanpos negmass step die die3 kill9 half garbage endexit twice extra noend trail; do
			many before_force $fold $mode "$failed"
		done
		for mode in skip hang halfhang closein end hangnoend hangend; do many before_force $fold $mode "$late"; done
	done
	nothing_wrong
}

# ---- silence ------------------------------------------------------------------------------------------

# warned MODE WHAT: after 10 seconds of silence there is a warning, and only one.  Between it and the end, nb-step may have to
# wait for a processor.
warned() {
	local err=$1.warned code=0
	TEST_MARK=$MARK timeout 300 nb-step -d 0.01 -k $STEPS --patience 25 "exec ./misbehave $1 1" <start.nb 2>"$err" >/dev/null || code=$?
	sed 1q "$err" | grep -qE "^nb-step: waiting for (1[0-9]|2[0-4]) seconds in step [0-9]: force pipeline '.*misbehave $1 1' $2\$" || code=no
	tail -n 1 "$err" | grep -q 'exceeded the patience of 25 s' || code=no
	[ "$code $(wc -l <"$err")" = '1 2' ] || { echo "status $code, $1:"; cat "$err"; } >>wrong
}

# bats test_tags=slow,once
@test "whatever is waited for, there is a warning after 10 seconds of silence" {
	warned hang 'does not answer .*' &
	warned halfhang 'has stopped in the middle of an answer' &
	warned hangnoend 'does not end its stream' &
	warned hangend 'has ended its stream and does not exit' &
	warned hangclosed 'has ended its stream and does not exit' &
	nothing_wrong
}

# bats test_tags=once
@test "work that takes longer than the patience is not ended while bytes move" {
	# frames of 10 MB, of which the pipeline takes a little from time to time, and answers at the end
	nb-gen plummer -n 200000 --no-history >many.nb
	goes_on() {
		bash -o pipefail -c "nb-step -d 0.01 -k 1 --patience 2 \"python3 -c 'import os, time
while data := os.read(0, 2000000): time.sleep(0.2); os.write(1, data)' | ./spring\" <many.nb 2>err | nb-stats --check"
	}
	in_one_of 10 goes_on # it fails if the pipeline gets no processor for 2 s
}

@test "--patience needs a force pipeline and a positive number, and is no part of the history" {
	fails_with 2 "option '--patience' needs the force pipeline" 'nb-step -d 0.1 --patience 1 <start.nb'
	fails_with 2 "invalid patience '0' (want a number > 0" 'nb-step -d 0.1 --patience 0 ./spring <start.nb'
	fails_with 2 "invalid patience 'long'" 'nb-step -d 0.1 --patience long ./spring <start.nb'
	nb-step -d 0.1 --patience 9 ./spring <start.nb | nb-stats --history >history
	[ "$(grep -c patience history)" -eq 0 ]
	grep -q 'nb-step -d 0.1 ./spring' history
}

# ---- processes that are left --------------------------------------------------------------------------

# leaves_nothing N STATUS TEXT PIPELINE: run N ends so; TEXT is the file with its output, or what it says
leaves_nothing() {
	local fold name code fault i
	for fold in on off; do
		name=left.$1.$fold fault=
		for ((i = 0; i < 10; i++)); do
			code=0
			TEST_MARK=$MARK NB_FOLD=$fold timeout 600 nb-step --no-history -d 0.01 -k $STEPS "$4" <start.nb >"$name.out" 2>"$name.err" || code=$?
			is_late "$name.err" "$3" || break
		done
		if [ "$2" -eq 0 ]; then cmp "$name.out" "$3"; else grep -qF "$3" "$name.err"; fi || fault=,
		[ $code$fault = "$2" ] || { echo "status $code: $4"; cat "$name.err"; } >>wrong
	done
}

# bats test_tags=once
@test "what a pipeline leaves in the background ends with nb-step, whether or not it holds the output" {
	many leaves_nothing 1 0 right.nb 'sleep 2000 >&- 2>&- & ./spring'
	many leaves_nothing 2 0 right.nb 'sleep 2000 & ./spring'
	many leaves_nothing 3 0 force.nb 'sleep 2000 & ./spring | nb-force -e 0.1'
	many leaves_nothing 4 1 'ended with status 3 in step 0' 'sleep 2000 & exit 3'
	many leaves_nothing 5 1 'ended with status 3 in step 0' 'sleep 2000 >&- 2>&- & exit 3'
	many leaves_nothing 6 1 'was ended by signal 9 (Killed) in step 2' 'sleep 2000 & exec ./misbehave kill9 2'
	many leaves_nothing 7 0 right.nb "trap '' TERM; sleep 2000 >&- 2>&- & ./spring"
	nothing_wrong
	# one that ends soon is given the time, which is 2 s
	finishes() {
		rm -f late
		leaves_nothing 8 0 right.nb '(sleep 0.5; echo done >late) >&- & ./spring'
		[ -e late ]
	}
	in_one_of 10 finishes
	nothing_wrong
	[ "$(cat late)" = 'done' ]
}

# struck_by SIGNAL: a pipeline that sits there, and refuses to end, when nb-step gets the signal
struck_by() {
	local step name=struck.$1 code=0
	TEST_MARK=$MARK ASAN_OPTIONS=handle_segv=0 env --default-signal=INT,QUIT,HUP,TERM,PIPE nb-step -d 0.01 -k $STEPS \
		"trap '' TERM INT HUP QUIT; sleep 2000 & sleep 2000 >&- & ./spring | (echo >$name.ready; sleep 2000; cat)" \
		<start.nb >"$name.out" 2>"$name.err" &
	step=$!
	wait_until test -s "$name.ready" || echo "not ready for SIG$1" >>wrong
	sleep 0.1
	kill -"$1" $step
	wait $step || code=$?
	[ $code -eq $((128 + $(kill -l "$1"))) ] || echo "status $code after SIG$1" >>wrong
	! ends_well "$name.out" || echo "an end marker after SIG$1" >>wrong
}

@test "however nb-step is ended, a pipeline that refuses to end does so too" {
	for signal in TERM INT HUP QUIT PIPE KILL SEGV; do many struck_by $signal; done
	nothing_wrong
}

# ---- whatever a program starts -------------------------------------------------------------------------

# A command for each file of nb that starts another program; it sits there, and so does what it has started.
starts() {
	local python
	case $1 in
	tools/filter/coprocess.c) starter=(nb-step -d 0.01 'sleep 2000; sleep 2000') ;;
	tools/filter/launch.c)
		starter=("$NB_TOP/build/mpi/bin/nb-step" --mpi 'sleep 2000;' -d 0.01 nb-force)
		[ -x "${starter[0]}" ]
		;;
	formats/exchange/hdf5/read.c)
		starter=(nb-convert --from gadget-hdf5 endless.hdf5)
		if nb-convert --from gadget-hdf5 /dev/null 2>&1 | grep -q 'not built in'; then return 1; fi
		for python in python3 /usr/bin/python3; do
			"$python" "$NB_TOP/tests/make-hdf5.py" endless endless.hdf5 && break
		done 2>/dev/null
		;;
	tools/nb-render-ppm/output.c) # it waits for a frame, and ffmpeg for a picture
		command -v ffmpeg >/dev/null || return 1
		[ -p never ] || mkfifo never
		starter=(nb-render-ppm -W 32 -H 32 -o film.mp4 start.nb never)
		;;
	tools/nb-view/start.c)
		starter=(nb-view start.nb)
		if nb-view --exit start.nb 2>&1 | grep -aq 'not built in'; then return 1; fi
		;;
	formats/canvas/canvas.c) return 1 ;; # as read.c of HDF5, for as long as a picture takes
	*)
		echo "add a command that lets $1 start a program" >>wrong
		return 1
		;;
	esac
}

has_started() { [ "$(marked | wc -l)" -gt 1 ]; }

@test "no process outlives the program of nb that started it, not even SIGKILL" {
	local from signal starter some=0
	for from in $(cd "$NB_TOP" && grep -lE '\bnb_(child_start|held_start|spawn|group_start)\(' -r --include='*.c' common formats kernels tools |
		grep -vxE '(common/(child|held_(linux|posix))|tools/filter/(spawn|group))\.c'); do
		starts "$from" || continue
		for signal in TERM KILL; do
			rm -f film.* # what ends holds the lock of its output a moment longer than its environment
			TEST_MARK=$MARK "${starter[@]}" <start.nb >/dev/null 2>&1 &
			wait_until has_started
			sleep 0.05
			kill -$signal $!
			wait $! || :
			within_a_time nothing_is_marked || { echo "$from, SIG$signal: $(for p in $(marked); do tr '\0' ' ' <"/proc/$p/cmdline"; done)" >>wrong; end_marked; }
		done
		some=1
	done
	[ $some = 1 ]
	nothing_wrong
}

# Within 8 seconds: what must end takes 2, and what computes goes on for longer.
within_a_time() {
	local end=$((SECONDS + 8))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

# bats test_tags=once
@test "of a pipeline that is not folded, any process may be struck at any moment" {
	export NB_FOLD=off
	strike() { ASAN_OPTIONS=detect_leaks=0 python3 "$NB_TOP/tests/strike.py" "$@"; }
	strike TERM,INT,HUP,KILL,PIPE,QUIT 16 \
		"nb-gen -n 90 | nb-step -d 0.01 -k 20 --patience 1 'cat | nb-force | cat' | nb-stats" \
		"nb-step -d 0.01 -k 20 --patience 1 'nb-sort-zorder | nb-force' <../start.nb | nb-sort-zorder" \
		"nb-gen -n 90 | nb-step -d 0.01 -k 20 --patience 1 '../spring | sh -c cat'"
	strike -TERM,-INT,-HUP,-QUIT,-PIPE 8 "nb-gen -n 90 | nb-step -d 0.01 -k 20 'cat | nb-force | cat' | nb-sort-zorder"
}

# killed_in_others FOLD: the shell and cat stay, and wait, so the patience ends the run; or it ended it before
killed_in_others() {
	local code=0 step killed=1
	rm -f victim
	TEST_MARK=$MARK NB_FOLD=$1 nb-step -d 1e-6 -k 100000000 --every 0 --patience 5 'cat | sh -c "echo \$\$ >victim; exec nb-force"' \
		<start.nb >killed.out 2>killed.err 3>&- &
	step=$!
	wait_until test -s victim || return 1
	sleep 0.2
	kill -KILL "$(cat victim)" || killed=0
	wait $step || code=$?
	[ $code -eq 1 ] || { echo "status $code"; return 1; }
	if ends_well killed.out; then return 1; fi
	nothing_stays || return 1
	[ $killed = 1 ]
}

# bats test_tags=once
@test "a program that somebody kills in a pipeline of others ends the run" {
	for fold in on off; do in_one_of 5 killed_in_others $fold; done
}
