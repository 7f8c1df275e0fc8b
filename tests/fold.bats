#!/usr/bin/env bats
# Folded pipelines: nothing but the speed changes, nothing hangs, no process stays.
#
# Most tests run a command twice, with NB_FOLD=on and NB_FOLD=off, and compare all that it leaves; and a third time with
# -v, to see what was folded.

load helper

# Seconds that a command of a few bodies may take before it counts as hanging, also where the processors have other work
PATIENCE=200

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	export NB_FOLD=off
	nb-gen plummer -n 200 --no-history >one.nb
	nb-gen plummer -n 150 --precision f32 >f32.nb
	nb-gen uniform -n 0 >none.nb
	(nb-gen -n 40; nb-gen -n 0; nb-gen -n 300 -s 3) >three.nb
	nb-force -e 0.1 --potential --jerk <one.nb >force.nb
	nb-sort-zorder <one.nb | nb-build-tree >tree.nb
	nb-convert --to csv <one.nb >one.csv
	nb-convert --from princeton "$NB_TOP/tests/data/planets.txt" >planets.nb
	mutate set pos 3 0 nan <one.nb >nan.nb
	mutate drop vel <one.nb >still.nb
	mutate drop mass <one.nb >light.nb
	(cat one.nb; mutate set pos 3 0 nan <one.nb) >late.nb
	head -c -128 three.nb >unended.nb
	head -c 9000 three.nb >cut.nb
	head -c 100 one.nb >stub.nb
	(cat one.nb; head -c 3000 /dev/zero) >noise.nb
	# a filter of the user's own, of which a shell stays
	printf '#!/bin/sh\ncat\nexit $?\n' >filter
	chmod +x filter
	mkfifo quiet
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	unset NB_FOLD
	export MARK=fold.$BATS_TEST_NUMBER.$$
	ln -s "$BATS_FILE_TMPDIR" data # the commands run in a directory beside it
}

teardown() {
	end_marked
}

# ---- helpers ----------------------------------------------------------------------------------------

# try on|off COMMAND DIRECTORY: runs it there and leaves standard output, messages (in any order, without process ids and
# seconds), and the status of every program of the last pipeline, beside the files that it writes itself.
try() {
	local code=0
	rm -rf "$3"
	mkdir "$3"
	printf '%s\nprintf "%%s " "${PIPESTATUS[@]}" >status\n' "$2" >"$3/.command"
	(cd "$3" && TEST_MARK=$MARK NB_FOLD=$1 exec timeout -k 1 $PATIENCE bash .command >stdout 2>.messages) || code=$?
	# which program begins to write first is chance
	sed -E '/: (not )?folded: /d; /^nb-step: waiting for /d; /^\.command: line/d; s/[0-9.e+-]+ s(econds)?\b/SECONDS/g' "$3/.messages" | sort >"$3/messages"
	if [ $code -ge 124 ] || [ ! -s "$3/status" ]; then
		echo "status $code, NB_FOLD=$1: $2"
		cat "$3/.messages"
		return 1
	fi
	nothing_stays || { echo "NB_FOLD=$1: $2" && return 1; }
}

# alike STATUSES STATUSES: the same; but a program before the last one may have written all before its reader failed (0), or
# not (141), which in a pipeline of processes is a race.
alike() {
	local i
	local -a a b
	read -ra a <<<"$1"
	read -ra b <<<"$2"
	[ ${#a[@]} -eq ${#b[@]} ] || return 1
	for ((i = 0; i < ${#a[@]}; i++)); do
		[ "${a[i]}" = "${b[i]}" ] && continue
		((i < ${#a[@]} - 1)) || return 1
		[[ ${a[i]},${b[i]} == @(0,141|141,0) ]] || return 1
	done
}

# verbose COMMAND: with -v at every program
verbose() { sed -E 's/\bnb-(gen|convert|sort-zorder|build-tree|force|step|stats|render-ppm)\b([^.])/nb-\1 -v\2/g; s/\bnb-[a-z-]+$/& -v/' <<<"$1"; }

# A busy machine may start a program too late to fold, or let it look for others too late: one run in so many does as it
# should.  A program that waits for what comes late is no slower for that.
ATTEMPTS=20

# folds COMMAND 'gen | stats'...: its -v tells of each of these chains, with the programs without "nb-".
folds() { in_one_of $ATTEMPTS folds_now "$@"; }
folds_now() {
	local command=$1 chain missing=
	shift
	try on "$(verbose "$command")" verbose || return 1
	sed -n 's/.*: folded: //p' verbose/.messages | sed 's/nb-//g' | sort -u >chains
	for chain; do grep -qxF -- "$chain" chains || missing+="$chain; "; done
	[ -n "$missing" ] || return 0
	echo "not folded: $missing in: $command"
	cat verbose/.messages
	return 1
}

# same COMMAND [CHAIN...]: all is the same folded and not, and these chains are folded (none: none need be).
same() {
	local command=$1
	shift
	try off "$command" off && try on "$command" on || return 1
	if ! diff -r -x status -x '.*' off on >difference; then
		echo "differs when folded: $command"
		head -c 2000 difference
		return 1
	fi
	alike "$(<off/status)" "$(<on/status)" || { echo "status $(<off/status) is $(<on/status) when folded: $command" && return 1; }
	[ $# -eq 0 ] || folds "$command" "$@"
}

# fine ...: the same, and every program ends with 0.
fine() {
	same "$@" || return 1
	[[ $(<on/status) != *[1-9]* ]] || { echo "status $(<on/status): $1"; cat on/messages; return 1; }
}

# fails TEXT ...: the same, the last program ends with another status, a message has the text, and there is no end marker.
fails() {
	local text=$1
	shift
	same "$@" || return 1
	[[ $(<on/status) == *[1-9]* ]] || { echo "status $(<on/status): $1"; return 1; }
	grep -qF -- "$text" on/messages || { echo "no message has '$text': $1"; cat on/messages; return 1; }
	! ends_well on/stdout || { echo "the output has an end marker: $1"; return 1; }
}

# ---- nothing else changes ---------------------------------------------------------------------------

@test "chains of two to six programs give the same bytes" {
	fine 'nb-gen -n 300 | nb-stats' 'gen | stats'
	fine 'nb-gen -n 300 | nb-sort-zorder' 'gen | sort-zorder'
	fine 'nb-gen -n 300 | nb-sort-zorder | nb-build-tree' 'gen | sort-zorder | build-tree'
	fine 'nb-gen -n 300 | nb-sort-zorder | nb-build-tree | nb-force -t 0.5' 'gen | sort-zorder | build-tree | force'
	fine 'nb-gen -n 300 | nb-sort-zorder | nb-build-tree | nb-force | nb-step -d 0.1' 'gen | sort-zorder | build-tree | force | step'
	fine 'nb-gen -n 300 | nb-sort-zorder | nb-build-tree | nb-force | nb-step -d 0.1 | nb-convert --to csv' \
		'gen | sort-zorder | build-tree | force | step | convert'
	fine 'nb-gen -n 300 | nb-render-ppm -W 32 -H 32' 'gen | render-ppm'
	fine 'nb-gen -n 300 | nb-force | nb-render-ppm -W 32 -H 32 --by speed' 'gen | force | render-ppm'
	fine 'nb-sort-zorder <../data/one.nb | nb-build-tree' 'sort-zorder | build-tree'
	for n in 0 1 2; do
		fine "nb-gen uniform -n $n | nb-sort-zorder | nb-build-tree | nb-force -t 0.5 -e 0.1 | nb-step -d 0.1 | nb-stats --format tsv" \
			'gen | sort-zorder | build-tree | force | step | stats'
	done
	if ends_well data/unended.nb; then false; fi # the check of all these tests
	ends_well data/three.nb
}

@test "every program, with its own options, gives the same in a chain" {
	for model in uniform sphere clusters disk merger; do
		fine "nb-gen -n 500 -s 5 $model | nb-sort-zorder -j 1" 'gen | sort-zorder'
	done
	for model in solar figure8 kepler 'boxes --level 2'; do fine "nb-gen $model | nb-sort-zorder -j 1" 'gen | sort-zorder'; done
	local tree='nb-sort-zorder <../data/one.nb | nb-build-tree'
	for options in '-m direct' '-m direct --precision f32' '-m direct --precision mixed --potential --jerk' '-t 0.3 --mac acceleration' '-m tree --potential' '-m tree --jerk' '--G 2'; do
		fine "$tree -l 4 -p 1 | nb-force -e 0.1 $options" 'sort-zorder | build-tree | force'
	done
	fine 'nb-gen boxes --level 2 | nb-sort-zorder | nb-build-tree --kind boxes --level 2 | nb-force -m near' 'gen | sort-zorder | build-tree | force'
	fine 'nb-gen boxes --level 2 | nb-sort-zorder | nb-build-tree --kind boxes --level 2 | nb-force -m fmm -p 3' 'gen | sort-zorder | build-tree | force'
	kernel=$(nb-force --kernel help 2>&1 | awk '$1 ~ /^[a-z0-9-]+$/ && NF > 2 { print $1; exit }')
	[ -n "$kernel" ]
	same "nb-gen -n 256 | nb-force -e 0.1 --kernel $kernel | nb-stats" 'gen | force | stats'
	for options in '--attributes' '--compare ../data/force.nb' '--fields' '--format tsv' '--format json' '--history' '--lagrangian 20,80' '-e 0.2' '--epot none' \
		'--epot direct -j 1'; do
		fine "nb-gen -n 200 --no-history | nb-force -e 0.1 | nb-stats $options" 'gen | force | stats'
	done
	fine 'nb-gen -n 200 | nb-stats --check' 'gen | stats'
	fine '(nb-gen -n 9000; nb-gen clusters -n 4097; nb-force <../data/one.nb) | nb-stats --check' 'gen | stats' 'force | stats'
	fine '(nb-gen -n 9; cat ../data/three.nb) | nb-stats --check'
	fails "body with id 3 is not finite in frame 1" 'nb-select --frames 0: ../data/late.nb | nb-stats --check' 'select | stats'
	fine 'nb-gen -n 30000 | nb-sort-zorder | nb-stats --check' 'gen | sort-zorder | stats'
	for options in '--by speed' '--view 30,40 --zoom 2' '--draw discs' '--range 0.1,10 --stretch log' '--neighbours 4' \
		'--by acc --by-scale log --label colour' '--follow densest --fit 90' '--by id --trail 2 --draw points --label time,scale --title x'; do
		fine "nb-gen -n 200 | nb-force -e 0.1 | nb-render-ppm -W 24 -H 16 $options" 'gen | force | render-ppm'
	done
	fine "nb-gen merger -n 500 | nb-render-ppm -W 24 -H 16 --by species --only 2,3" 'gen | render-ppm'
	fine 'nb-convert --from csv ../data/one.csv | nb-sort-zorder' 'convert | sort-zorder'
	fine 'nb-convert --from csv --G 2 <../data/one.csv | nb-stats' 'convert | stats'
	fine "nb-convert --from princeton '$NB_TOP/tests/data/planets.txt' | nb-force | nb-convert --to princeton" 'convert | force | convert'
	fine 'nb-gen -n 20 | nb-convert --to csv -o out.csv' 'gen | convert'
	fine 'nb-sort-zorder <../data/three.nb | nb-convert --to csv --frame 2' 'sort-zorder | convert'
}

@test "nb-step in a chain gives the same, with and without a force pipeline" {
	local gen='nb-gen -n 64 -s 2 | nb-step --dt 0.01'
	fine 'nb-force -e 0.1 --jerk <../data/one.nb | nb-step -d 0.1 --integrator taylor' 'force | step'
	fine "$gen -k 3 'nb-force' | nb-stats" 'gen | step | stats' 'force'
	fine "$gen -k 3 'nb-sort-zorder | nb-build-tree | nb-force -t 0.5' | nb-stats" 'gen | step | stats' 'sort-zorder | build-tree | force'
	fine "$gen -k 4 --every 2 'nb-force --jerk' --integrator taylor" 'gen | step' 'force'
	fine "$gen -k 4 --every 2 --integrator taylor 'nb-sort-zorder | nb-build-tree | nb-force -t 0.5 --jerk' | nb-stats" 'gen | step | stats' \
		'sort-zorder | build-tree | force'
	fine "$gen -k 4 --every 0 --integrator euler 'nb-force -m direct' | nb-convert --to csv" 'gen | step | convert' 'force'
	fine "$gen --until 0.05 --eta 0.1 'nb-force -e 0.1' | nb-stats" 'gen | step | stats' 'force'
	fine "$gen --send-velocities 'nb-force' -k 2 | nb-stats" 'gen | step | stats' 'force'
	fine "nb-gen -n 64 --radius 0.05 | nb-step -d 0.01 --collide merge -k 5 'nb-sort-zorder | nb-force' | nb-stats" 'gen | step | stats' 'sort-zorder | force'
	fine "nb-gen -n 64 --radius 0.05 | nb-step -d 0.01 --collide elastic -k 5 'nb-force' | nb-stats" 'gen | step | stats' 'force'
	fine "nb-gen -n 64 --radius 0.05 | nb-step -d 0.01 --collide bounce --restitution 0.5 -k 5 'nb-force' | nb-stats" 'gen | step | stats' 'force'
	fine "nb-step -d 0.01 -k 2 'nb-sort-zorder | nb-force' <../data/three.nb" 'sort-zorder | force'
	fine "nb-step -d 86400 -k 3 'nb-force --potential' <../data/planets.nb | nb-render-ppm -W 16 -H 16" 'step | render-ppm' 'force'
	fine "nb-step -d 86400 -k 3 'nb-force' <../data/planets.nb | nb-render-ppm -W 16 -H 16 --trail 2 --follow id:0 --fit all" 'step | render-ppm' 'force'
	fine "$gen -k 2 'nb-force | nb-step -k 0 -d 1' --send-velocities | nb-stats" # no force; as a filter within
	fine "$gen -k 2 'nb-force' | nb-step -d 0.02 -k 2 'nb-force -e 0.1' | nb-stats" 'gen | step | step | stats' 'force'
	same "$gen -k 2 'nb-step -d 0.001 -k 2 \"nb-force\" --every 0 | nb-force' | nb-stats" 'gen | step | stats'
	for n in 0 1; do
		fine "nb-gen uniform -n $n | nb-step -d 0.1 -k 3 'nb-sort-zorder | nb-build-tree | nb-force' | nb-stats" 'gen | step | stats' \
			'sort-zorder | build-tree | force'
	done
}

@test "several frames, streams one after the other, widths and histories are the same" {
	fine 'nb-sort-zorder <../data/three.nb | nb-build-tree | nb-force -e 0.1 | nb-step -d 0.1 | nb-stats' 'sort-zorder | build-tree | force | step | stats'
	fine '(nb-gen -n 9; nb-gen -n 7) | nb-stats' 'gen | stats'
	fine '(nb-gen -n 9; nb-gen -n 7) | nb-sort-zorder | nb-stats' 'gen | sort-zorder | stats'
	fine '(nb-gen -n 9 | nb-force; nb-gen -n 7) | nb-sort-zorder' 'gen | force | sort-zorder' 'gen | sort-zorder'
	fine '(cat ../data/three.nb; nb-gen -n 7) | nb-stats'
	fine '(nb-gen -n 7; cat ../data/three.nb) | nb-sort-zorder' 'gen | sort-zorder'
	fine '(nb-gen -n 7; cat ../data/three.nb; nb-gen -n 8 | nb-force) | nb-sort-zorder | nb-stats' 'gen | sort-zorder | stats'
	fine "(nb-gen -n 7; nb-gen -n 8; nb-gen -n 0) | nb-step -d 0.1 -k 2 'nb-force' | nb-stats" 'gen | step | stats' 'force'
	fine 'nb-force <../data/f32.nb | nb-sort-zorder' 'force | sort-zorder'
	fine 'nb-force --precision f32 <../data/f32.nb | nb-step -d 0.1 | nb-stats --format tsv' 'force | step | stats'
	fine "nb-step -d 0.1 -k 3 'nb-force' <../data/f32.nb | nb-stats --fields" 'step | stats' 'force'
	fine 'nb-sort-zorder <../data/none.nb | nb-build-tree | nb-force | nb-stats' 'sort-zorder | build-tree | force | stats'
	fine 'nb-gen -n 9 --no-history | nb-sort-zorder | nb-force --no-history' 'gen | sort-zorder | force'
	fine 'nb-gen -n 900 -j 1 | nb-sort-zorder -j 2 | nb-force -j 1 -q | nb-stats -q' 'gen | sort-zorder | force | stats'
	fine 'nb-gen -n 9 | nb-sort-zorder -v | nb-force -v | nb-stats -v' 'gen | sort-zorder | force | stats'
	fine 'nb gen -n 9 | nb force | nb nb-stats'
	fine "nb gen -n 9 | nb sort-zorder | nb step -d 1 'nb force' | nb-stats" 'gen | sort-zorder | step | stats'
}

@test "other programs at any place of a chain change nothing" {
	local chain='nb-gen -n 300 | nb-sort-zorder'
	for filter in 'cat' 'tee copy' '../data/filter' "sh -c 'cat; exit 0'" 'dd bs=1000 status=none' "python3 -c 'import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)'"; do
		fine "$chain | $filter | nb-build-tree | nb-force" 'gen | sort-zorder' 'build-tree | force'
	done
	fine 'cat ../data/three.nb | nb-sort-zorder | nb-build-tree' 'sort-zorder | build-tree'
	fine "$chain | cat" 'gen | sort-zorder'
	fine "$chain | ../data/filter" 'gen | sort-zorder'
	fine "../data/filter <../data/three.nb | nb-sort-zorder | nb-stats" 'sort-zorder | stats'
	fine 'nb-gen -n 30 | cat | nb-sort-zorder | cat | nb-force | cat | nb-stats'
	local gen='nb-gen -n 30 | nb-step -d 0.01 -k 3'
	fine "$gen 'cat | nb-sort-zorder | nb-force' | nb-stats" 'gen | step | stats' 'sort-zorder | force'
	fine "$gen 'nb-sort-zorder | cat | nb-force' | nb-stats" 'gen | step | stats' 'force'
	fine "$gen 'nb-sort-zorder | nb-force | cat' | nb-stats" 'gen | step | stats' 'sort-zorder | force'
	fine "$gen '../data/filter | nb-force | ../data/filter' | nb-stats" 'gen | step | stats'
	fine "$gen 'nb-sort-zorder | tee copy | nb-build-tree | nb-force' | nb-stats" 'gen | step | stats' 'build-tree | force'
	fine "$gen 'exec nb-force' | nb-stats" 'gen | step | stats' 'force'
	fine "$gen '(nb-sort-zorder | nb-force)' | nb-stats" 'gen | step | stats' 'sort-zorder | force'
	fine "$gen 'nb-sort-zorder | (cd / && nb-force)' | nb-stats" 'gen | step | stats' 'sort-zorder | force'
	fine "$gen 'sh -c \"nb-sort-zorder | nb-force\"' | nb-stats" 'gen | step | stats' 'sort-zorder | force'
}

@test "pipes of other kinds, directories and closed files change nothing" {
	# without job control, programs in the background ignore SIGINT, and those in the foreground do not
	fine 'mkfifo p; nb-gen -n 30 >p & nb-sort-zorder <p; code=$?; wait $!; rm p; (exit $code)'
	fine 'set -m; mkfifo p; nb-gen -n 30 >p & nb-sort-zorder <p; code=$?; wait $!; rm p; (exit $code)' 'gen | sort-zorder'
	fine 'set -m; mkfifo p q; nb-gen -n 30 >p & nb-sort-zorder <p >q & nb-stats <q; rm p q; wait' 'gen | sort-zorder | stats'
	fine 'mkdir d; cp ../data/one.csv d; (cd d; nb-convert --from csv one.csv) | (mkdir e; cd e; nb-convert --to csv -o two.csv)' 'convert | convert'
	fine 'mkdir d; cp ../data/force.nb d; (cd /; nb-gen -n 200 --no-history) | nb-force -e 0.1 | (cd d; nb-stats --compare force.nb)' 'gen | force | stats'
	fine '(mkdir d; cd d; rmdir ../d; nb-gen -n 9) | nb-stats' 'gen | stats'
	fine 'nb-stats < <(nb-gen -n 30 | nb-sort-zorder)' 'gen | sort-zorder | stats'
	fine '{ nb-gen -n 30; } > >(nb-stats >out); wait $!' 'gen | stats'
	fine 'nb-gen -n 30 <&- | nb-sort-zorder | nb-stats' 'gen | sort-zorder | stats'
	fine 'nb-gen -n 30 2>&- | nb-sort-zorder 2>&- | nb-stats 2>&-'
	fine 'nb-gen -n 30 <&- 2>&- | nb-sort-zorder 2>&- | nb-stats <&0 2>&-'
	fine "nb-gen -n 30 <&- 2>&- | nb-step -d 0.1 -k 2 'nb-sort-zorder | nb-force' 2>&- | nb-stats"
	fine "nb-gen -n 30 | nb-step -d 0.1 -k 2 'nb-sort-zorder 2>&- | nb-force 2>messages' 2>&- | nb-stats"
	fine 'nb-gen -n 30 | nb-sort-zorder 5<&0 6>&1 7>seven | nb-stats' 'gen | sort-zorder | stats'
	same 'nb-gen -n 30 | nb-sort-zorder >&-' 'gen | sort-zorder'
	same 'nb-gen -n 30 | nb-stats >&-' 'gen | stats'
	same 'nb-sort-zorder <&- | nb-stats'
	same 'nb-gen -n 30 | nb-force <&- | nb-stats'
	same 'nb-gen -n 30 >&- | nb-stats'
	same 'nb-gen -x 2>one | nb-force 2>two | nb-stats 2>three'
	same 'nb-gen -n 9 2>one | nb-force -e 1x 2>two | nb-stats 2>three'
	same 'nb-force <../data/late.nb 2>>one | nb-sort-zorder 2>>one | nb-stats 2>three'
	same 'nb-force -y 2>&1 <../data/late.nb | nb-stats' # the message is in the stream
	same 'nb-force <../data/late.nb 2>&1 | nb-stats'
}

# ---- errors -----------------------------------------------------------------------------------------

@test "an error of any program in a chain gives the same messages and statuses" {
	local -a chain=('nb-gen -n 30' 'nb-sort-zorder' 'nb-build-tree' 'nb-force' 'nb-step -d 0.1' 'nb-stats')
	for ((k = 0; k < ${#chain[@]}; k++)); do
		for options in -x '-j 0' 'one two three'; do
			local -a broken=("${chain[@]}")
			broken[k]+=" $options"
			fails "${broken[k]%% *}: " "$(printf '%s | ' "${broken[@]}")cat"
			broken[${#chain[@]}-1]+=' >&2' # its table is no part of the stream
			fails "${broken[k]%% *}: " "${broken[0]} | ${broken[1]} | ${broken[2]} | ${broken[3]} | ${broken[4]} | ${broken[5]}"
		done
	done
	fails 'unknown model' 'nb-gen pluto | nb-sort-zorder | nb-build-tree'
	fails 'nb-build-tree' 'nb-gen -n 30 | nb-build-tree | nb-force | nb-sort-zorder' 'gen | build-tree | force | sort-zorder'
	fails "field 'acc' missing" 'nb-gen -n 30 | nb-sort-zorder | nb-step -d 1 | nb-sort-zorder' 'gen | sort-zorder | step | sort-zorder'
	fails "field 'mass' missing" 'nb-sort-zorder <../data/light.nb | nb-force | nb-sort-zorder' 'sort-zorder | force | sort-zorder'
	fails "field 'vel' missing" 'nb-force <../data/still.nb | nb-step -d 1 | nb-sort-zorder' 'force | step | sort-zorder'
	fails 'No such file' 'nb-convert --from csv nothing.csv | nb-sort-zorder | nb-force' 'sort-zorder | force'
	fails 'No such file' 'nb-gen -n 30 | nb-force | nb-stats --compare nothing.nb'
	fails 'no boxes in frame 0' 'nb-sort-zorder <../data/one.nb | nb-build-tree | nb-force -m near | nb-sort-zorder' \
		'sort-zorder | build-tree | force | sort-zorder'
	fails 'backend' 'nb-gen -n 9 | nb-sort-zorder -b nothing | nb-force | nb-sort-zorder'
	fails 'NB_FOLD' 'export NB_FOLD=maybe; nb-gen -n 9 | nb-sort-zorder'
	fails 'NB_MAX_FRAME' 'export NB_MAX_FRAME=10000; nb-gen -n 3000 | nb-sort-zorder | nb-force'
	fails 'nb-force: ' 'nb-gen -n 3000 | nb-sort-zorder | NB_MAX_FRAME=10000 nb-force'
	fails 'nb-sort-zorder: ' 'nb-gen -n 3000 | NB_MAX_FRAME=10000 nb-sort-zorder | nb-force'
}

@test "a bad stream gives the same messages, statuses and frames" {
	local rest='nb-build-tree | nb-force'
	for file in nan light cut unended stub noise late; do
		case $file in
		nan | late) text='not finite' ;;
		light) text="field 'mass' missing" ;;
		cut | stub | unended) text='truncated stream' ;;
		noise) text='not a particle stream' ;;
		esac
		fails "$text" "nb-sort-zorder <../data/$file.nb | $rest" 'sort-zorder | build-tree | force'
		fails "$text" "cat ../data/$file.nb | nb-sort-zorder | $rest | nb-step -d 0.1" 'sort-zorder | build-tree | force | step'
		fails "$text" "nb-sort-zorder <../data/$file.nb | nb-stats" 'sort-zorder | stats'
		fails "$text" "(nb-gen -n 9; cat ../data/$file.nb) | nb-sort-zorder | $rest"
		fails "$text" "nb-step -d 0.1 -k 2 'nb-sort-zorder | nb-force' <../data/$file.nb | nb-sort-zorder" 'step | sort-zorder'
	done
	fails 'truncated stream' 'nb-sort-zorder </dev/null | nb-build-tree | nb-force' 'sort-zorder | build-tree | force'
	fails 'truncated stream' 'true | nb-sort-zorder | nb-build-tree' 'sort-zorder | build-tree'
	fails 'truncated stream' '(nb-gen -n 9; head -c 500 ../data/one.nb; nb-gen -n 9) | nb-sort-zorder | nb-build-tree'
	fails 'truncated stream' 'nb-gen -n 300 | head -c 1000 | nb-sort-zorder | nb-build-tree' 'sort-zorder | build-tree'
	# a sound stream after one that has not ended
	fails 'corrupt stream' '(cat ../data/unended.nb; sleep 0.1; nb-gen -n 9) | nb-stats'
	fails 'corrupt stream' '(nb-force <../data/unended.nb; nb-gen -n 9) | nb-sort-zorder | nb-build-tree' 'force | sort-zorder | build-tree'
	fails 'corrupt stream' '(nb-sort-zorder <../data/late.nb; nb-gen -n 9 | nb-force) | nb-stats' 'sort-zorder | stats'
	same '(nb-force <../data/stub.nb; nb-gen -n 9) | nb-sort-zorder | nb-stats' 'force | sort-zorder | stats' 'gen | sort-zorder | stats'
}

@test "a full disk and a closed reader give the same messages and statuses" {
	fails 'No space left' 'nb-gen -n 30 | nb-sort-zorder | nb-build-tree >/dev/full' 'gen | sort-zorder | build-tree'
	fails 'No space left' 'nb-gen -n 30 | nb-sort-zorder | nb-stats >/dev/full' 'gen | sort-zorder | stats'
	fails 'No space left' 'nb-gen -n 30 | nb-render-ppm -W 16 -H 16 >/dev/full' 'gen | render-ppm'
	fails 'No space left' 'nb-gen -n 30 | nb-sort-zorder | nb-convert --to csv -o /dev/full' 'gen | sort-zorder | convert'
	fails 'No space left' "nb-gen -n 30 | nb-step -d 1 -k 3 'nb-sort-zorder | nb-force' >/dev/full" 'gen | step' 'sort-zorder | force'
	same 'nb-gen -n 30 | nb-sort-zorder | tee /dev/full | nb-force | nb-stats' 'gen | sort-zorder' 'force | stats'
	local big='nb-gen -n 30000 | nb-sort-zorder'
	same "$big | nb-build-tree | head -c 1000" 'gen | sort-zorder | build-tree'
	same "$big | sleep 0.5" 'gen | sort-zorder'
	same "$big | head -c 1000 | nb-build-tree" 'gen | sort-zorder'
	# nb-step ends its command by a signal for the group, and of two processes one may see the end of the other first
	same "nb-gen -n 30 | nb-step -d 0.001 -k 100 '(nb-sort-zorder | nb-force) 2>/dev/null' | head -c 1000" 'gen | step'
	same "nb-gen -n 30 | nb-step -d 0.001 -k 100000 '(nb-sort-zorder | nb-force) 2>/dev/null' | true"
	# the signal also ends the force pipeline, of which nothing is said
	for ((i = 0; i < 60; i++)); do NB_FOLD=off nb-step -d 1e-3 -k 100000 'nb-sort-zorder | nb-force' <data/three.nb | true; done 2>messages
	[ ! -s messages ] || { cat messages; return 1; }
	# where SIGPIPE is ignored, as in a service: status 1, with messages
	local long="trap '' PIPE; nb-step -d 1e-3 -k 200 'nb-force' <../data/one.nb"
	fails 'nb-step: write error: Broken pipe' "$long | nb-build-tree" 'step | build-tree'
	same "$long | nb-sort-zorder | head -c 1000" 'step | sort-zorder'
}

@test "an error in the force pipeline of nb-step gives the same messages and statuses" {
	for command in 'nb-force -x' 'nb-sort-zorder | nb-force -x' 'nb-sort-zorder -x | nb-force' 'nb-force -x | cat' 'nb-build-tree | nb-force' \
		'nb-sort-zorder' 'true' 'exit 3' 'no-such-program' 'nb-force; exit 3' 'nb-gen -n 30' 'nb-gen -n 30 | nb-force' 'nb-stats' 'nb-force | nb-stats' \
		'nb-sort-zorder | no-such-program' 'nb-force | head -c 1000' \
		'nb-force | false' 'false | nb-force' 'nb-force --precision f16' 'nb-sort-zorder --cube 0,0,0,1e-9' 'nb-force | nb-gen' \
		'nb-force -e 0 | nb-step' '(nb-force; nb-force)' 'nb-force <../data/one.nb'; do
		fails 'nb-step: ' "nb-step -d 0.1 -k 3 \"$command\" <../data/three.nb | nb-sort-zorder"
	done
}

# slots TOOL: its options that take a FILE to read, and its operands
slots() {
	"$1" --help | awk '/^usage:/ { sub(/.*\[options\] ?/, ""); print }
		/^ +(-., )?--/ { name = $1 ~ /,$/ ? $2 : $1; if (name != "--output" && match($0, name " [^ ]*FILE")) print name }'
}

# reads TOOL SLOT: a command that reads FILE, and the kind of file that it wants there
reads() {
	case "$1 $2" in
	'nb-gen '*) ;; # reads none
	'nb-select --ids') echo 'ids nb-select --ids FILE all.nb' ;;
	'nb-step --resume') echo "run nb-step --resume FILE -d 0.1 --until 0.5 'nb-force -e 0.1'" ;;
	'nb-convert '*) echo 'csv nb-convert --from csv FILE' ;;
	'nb-merge '*) echo 'nb nb-merge --ids offset all.nb FILE' ;;
	'nb-diff '*) echo 'nb nb-diff all.nb FILE' ;;
	'nb-render-ppm --camera') echo 'camera nb-render-ppm -W 32 -H 32 --camera FILE all.nb' ;;
	'nb-plot '*) echo 'nb nb-plot phase FILE all.nb' ;;
	'nb-extra '*) echo 'nb nb-extra gr-potential:c=10 FILE all.nb' ;;
	'nb-field '*) echo "table nb-field --alone table\\ file=FILE all.nb" ;;
	'nb-calc '*) echo 'nb nb-calc a=mass FILE all.nb' ;;
	'nb-groups --match') echo 'groups nb-groups -l 0.3 --min 2 --catalogue --match FILE all.nb' ;;
	'nb-groups '*) echo 'nb nb-groups -l 0.3 FILE all.nb' ;;
	'nb-power --randoms') echo 'nb nb-power --pairs 0,1 --randoms FILE all.nb' ;;
	'nb-power --cross') echo 'nb nb-power --mesh 8 --periodic 4 --cross FILE all.nb' ;;
	'nb-power '*) echo 'nb nb-power --mesh 8 --periodic 4 FILE all.nb' ;;
	'nb-neighbours '*) echo 'nb nb-neighbours --nearest 1 FILE all.nb' ;;
	'nb-transform '*) echo 'nb nb-transform --recenter com FILE all.nb' ;;
	'nb-step '*) echo "nb nb-step -d 0.1 'nb-force -e 0.1' FILE all.nb" ;;
	'nb-view '*) echo 'nb nb-view --exit -q FILE all.nb' ;;
	*' --'*) echo "nb $1 $2 FILE all.nb" ;;
	*) echo "nb $1 FILE all.nb" ;;
	esac
}

@test "a FILE is the same file however its name leads there, of every option and operand" {
	local tool slot kind command name fold way reader seen=0
	local -a some=(a /dev/fd/7 ../a) ways all=(a /dev/fd/7 /proc/self/fd/7 //dev/fd/7 link '<(cat a)' fifo ../a)
	cp data/one.nb start.nb
	nb-sort-zorder start.nb | nb-build-tree | nb-force -e 0.1 --potential >all.nb
	cp all.nb a.nb
	nb-gen -n 120 -s 9 | nb-sort-zorder | nb-build-tree | nb-force -e 0.1 --potential >b.nb
	seq 0 2 30 >a.ids
	seq 1 3 60 >b.ids
	nb-convert --to csv <a.nb >a.csv
	nb-convert --to csv <b.nb >b.csv
	printf '1 -1\n2 -0.5\n4 -0.2\n' >a.table
	printf '1 -3\n2 -1\n5 -0.3\n' >b.table
	echo '0 30,20 1' >a.camera
	echo '0 70,10 2' >b.camera
	for name in a b; do nb-groups -l 0.3 --min 2 "$name.nb" >"$name.groups"; done
	for name in a b; do nb-step -d 0.1 --until 0.2 'nb-force -e 0.1' "$name.nb" >"$name.run"; done
	ln -s /dev/fd/7 link1
	ln -s link1 link
	mkfifo fifo
	mkdir below
	for tool in "${NB_TOOLS[@]}"; do
		reader='cat' # of what is no stream
		if "$tool" --help | grep -q -- --no-history; then reader='nb-stats --format tsv'; fi
		while read -r slot; do
			read -r kind command < <(reads "$tool" "$slot") || continue
			cp "a.$kind" a
			cp "b.$kind" b
			ways=("${all[@]}")
			[[ $slot != '[FILE ...]' ]] || ways=("${some[@]}") # which the skeleton opens for all
			for name in "${ways[@]}"; do
				way="${command//FILE/$name}"
				case $name in
				fifo) way="(cat a >fifo & $way; code=\$?; kill \$! 2>/dev/null; exit \$code)" ;;
				../a) way="(cd below && ${way//all.nb/../all.nb})" ;;
				esac
				for fold in off on; do
					NB_FOLD=$fold timeout -k 1 60 bash -c "$way 7<a | $reader 7<b; printf '\n%s\n' \"\${PIPESTATUS[*]}\"" >$fold.out 2>$fold.err || { echo "hangs: $way"; return 1; }
				done
				cmp off.out on.out && diff <(sort off.err) <(sort on.err) || { echo "differs when folded: $way"; return 1; }
				[ "$name" != a ] || cp on.out first
				diff first on.out || { echo "not as with the name of the file: $way"; cat on.err; return 1; }
				seen=$((seen + 1))
			done
			[[ $(tail -n 1 first) == '0 0' || $tool == nb-diff ]] || { echo "$command fails"; cat on.err; return 1; }
		done < <(slots "$tool")
	done
	echo "$seen seen"
	[ $seen -gt 80 ]
}

@test "what a FILE brings with it, and a command that a program starts, find the files of their own process" {
	mkdir below there
	nb-gen -n 60 | nb-convert --to gadget --files 3 -o there/snap
	fine '(cd ../below && nb-convert --from gadget ../there/snap.1) | nb-stats' 'convert | stats'
	fine '(cd ../below && nb-convert --from auto ../there/snap) | nb-stats' 'convert | stats'
	local run="nb-step -d 0.1 -k 2 'tee /dev/fd/7 | nb-force' ../data/one.nb"
	refused 'other open files for its commands' "$run 7>mine | nb-stats 7>other"
	[ -s on/mine ]
	[ ! -s on/other ]
	fine "(cd ../below && nb-step -d 0.1 -k 2 'tee copy | nb-force' ../data/one.nb && rm copy) | nb-stats"
}

# ---- what folds, and what does not ------------------------------------------------------------------

# refused REASON COMMAND [CHAIN...]: the same bytes, and -v gives the reason why a program does not fold
refused() {
	local reason=$1
	shift
	fine "$@" || return 1
	in_one_of $ATTEMPTS gives_reason "$reason" "$1"
}
gives_reason() {
	try on "$(verbose "$2")" verbose || return 1
	grep -q ": not folded: $1" verbose/.messages || { echo "no reason '$1': $2"; cat verbose/.messages; return 1; }
}

# ticks PID: how many of the clock's ticks it has computed
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

# children SHELL N: it has so many, whose ids are in pids
children() {
	pids=()
	read -ra pids <"/proc/$1/task/$1/children" || : # it has no end of line
	[ ${#pids[@]} -ge "$2" ]
}

# one_has_computed TICKS PID...: one of them has, for so long
one_has_computed() {
	local pid
	for pid in "${@:2}"; do if [ "$(ticks "$pid")" -ge "$1" ]; then return 0; fi; done
	return 1
}

# A process that is late does not fold, and works itself.
last_does_all() {
	last_is_seen || { end_marked; return 1; }
}
last_is_seen() {
	local shell pids k idle=1
	TEST_MARK=$MARK bash -c 'nb-gen -n 300000 | nb-sort-zorder | nb-build-tree | nb-force -m direct -e 0.1 | nb-stats >out; :' &
	shell=$!
	wait_until children $shell 5 || return 1
	# ticks of 10 ms; the others have only begun
	wait_until one_has_computed 60 "${pids[@]}" || return 1
	for ((k = 0; k < 4; k++)); do
		[ "$(ticks "${pids[k]}")" -le 20 ] || idle=0
		[ "$(find "/proc/${pids[k]}/task" -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ] || idle=0
	done
	kill -KILL "${pids[4]}" || return 1
	wait "$shell" || :
	nothing_stays || return 1
	[ $idle = 1 ]
}

@test "of a folded chain the last process does all the work" {
	in_one_of $ATTEMPTS last_does_all
}

@test "-v gives the reason why a program does not fold" {
	refused 'cat reads' 'nb-gen -n 9 | cat'
	refused 'NB_FOLD=off' 'NB_FOLD=off nb-gen -n 9 | nb-stats'
	refused 'nb-stats does not fold' 'nb-gen -n 9 | NB_FOLD=off nb-stats'
	refused 'another environment: NB_SIMD' 'nb-gen -n 9 | NB_SIMD=avx2 nb-sort-zorder | nb-stats'
	refused 'another environment: OMP_NUM_THREADS' 'nb-gen -n 9 | OMP_NUM_THREADS=1 nb-sort-zorder | nb-stats'
	refused 'another environment: NB_MAX_FRAME' 'NB_MAX_FRAME=1000000 nb-gen -n 9 | nb-stats'
	[ "$(nice)" -eq 19 ] || refused 'another niceness' 'nb-gen -n 9 | nice -n 3 nb-sort-zorder | nb-stats'
	refused 'other resource limits' '(ulimit -n 300; nb-gen -n 9) | nb-stats'
	[[ $NB_BIN == */san/* ]] || refused 'other resource limits' 'nb-gen -n 9 | (ulimit -v 20000000; nb-sort-zorder) | nb-stats'  # sanitizers want all addresses
	refused 'another umask' '(umask 0777; nb-gen -n 9) | nb-stats'
	refused 'other processors allowed' 'nb-gen -n 9 | taskset -c 0 nb-sort-zorder | nb-stats'
	refused 'other ignored signals' "(trap '' HUP; nb-gen -n 9) | nb-stats"
	messages_in_stream() {
		bash -c 'nb-gen -n 9 -v 2>&1 | (exec nb-sort-zorder 2>/dev/null) || :; nb-gen -n 9 -v 2>&1 | cat' | grep -aq 'not folded: its messages go into the same pipe'
	}
	in_one_of $ATTEMPTS messages_in_stream
	fine 'nb-gen -n 9 2>&1 | nb-stats'
	fine 'nb-gen -n 9 | nb-stats --check'
	fine '(export EDITOR=ed; nb-gen -n 9) | nb-stats' 'gen | stats'
	fine '(umask 0022; nb-gen -n 9) | (umask 0022; nb-stats)' 'gen | stats'
	# in the force pipeline
	local run='nb-gen -n 30 | nb-step -d 0.1 -k 2'
	fine "$run 'NB_SIMD=avx2 nb-sort-zorder | nb-force' | nb-stats" 'gen | step | stats' 'force'
	fine "$run 'nb-sort-zorder | nice nb-force' | nb-stats" 'gen | step | stats'
	fine "$run '(umask 0777; nb-sort-zorder) | (ulimit -n 99; nb-force)' | nb-stats" 'gen | step | stats'
	fine "$run 'NB_FOLD=off nb-sort-zorder | NB_FOLD=off nb-force' | nb-stats" 'gen | step | stats'
}

@test "-v of nb-step tells whether the force pipeline is folded" {
	local run='nb-gen -n 30 | nb-step -v -d 0.1 -k 2'
	told() { in_one_of $ATTEMPTS told_now "$@"; } # told TEXT PIPELINE
	told_now() {
		bash -c "$run '$2' 2>told >out" || return 1
		grep -qxF -- "nb-step: $1" told || { cat told; return 1; }
	}
	told 'folded: force pipeline: nb-sort-zorder | nb-build-tree | nb-force' 'nb-sort-zorder | nb-build-tree | nb-force'
	told 'folded: force pipeline: nb-force, but not cat' 'nb-sort-zorder | cat | nb-force'
	told 'not folded: force pipeline: its last program does not fold, or started too late' 'nb-force | cat'
	told 'not folded: force pipeline: nb-force writes' 'nb-sort-zorder | NB_FOLD=off nb-force'
	run='nb-gen -n 30 | NB_FOLD=off nb-step -v -d 0.1 -k 2'
	told 'not folded: force pipeline: NB_FOLD=off' 'nb-force'
	[ "$(grep -c 'force pipeline: ' told)" -eq 1 ]
}

@test "a force pipeline folds, however long nb-step waits for its first frame" {
	nb-gen -n 30 >in.nb
	run='(sleep 1.5; cat in.nb) | nb-step -v -d 0.1 -k 2'
	folds() {
		bash -c "$run 'nb-sort-zorder | nb-build-tree | nb-force' 2>told >out" || return 1
		grep -qxF 'nb-step: folded: force pipeline: nb-sort-zorder | nb-build-tree | nb-force' told || { cat told; return 1; }
	}
	in_one_of $ATTEMPTS folds
}

# hands_over START: nb-gen hands its work to nb-stats, which that command starts
hands_over() {
	# a background job ignores SIGINT, and one of nohup SIGHUP, but what timeout(1) starts there does not
	env --default-signal=HUP,INT,QUIT bash -c "nb-gen -v -n 9 2>told | $1 nb-stats >out" || return 1
	[ "$(<told)" = 'nb-gen: folded: nb-gen | nb-stats
'"$(grep ' made in ' told)" ]
}

# bats test_tags=once
@test "a limit of the time of the program before a run is one of the run, unless that program is kept from folding" {
	# ends STEPS COMMAND...: the last time that is measured, and what all end with
	ends() {
		env --default-signal bash -c "${*:2} | nb-step -d 0.001 -k $1 --every 0 'nb-force -e 0.1' | nb-stats --format tsv | tail -n 1 | cut -f 2; echo \"\${PIPESTATUS[*]}\"" |
			tr '\n' ' '
	}
	limited() { # the longer run takes seconds, the shorter one about the limit
		[[ $(ends 20000 'timeout 1 nb-gen plummer -n 1000') == *'124 143 0 0 0 ' ]] &&
			[ "$(ends 4000 'timeout 1 env NB_FOLD=off nb-gen plummer -n 1000')" = '4 0 0 0 0 0 ' ]
	}
	in_one_of $ATTEMPTS limited
}

@test "a program that a command such as timeout(1) starts folds every time" {
	local start round i missed folded late=0
	for start in 'timeout 900' setsid '/usr/bin/env A=1'; do
		missed=1 folded=0
		# twelve times without a miss; a machine on which programs without such a command start too late to fold needs more
		for ((round = 0; round < 8 && missed > 0; round++)); do
			sleep "$round" # ever farther apart, as in_one_of
			missed=0
			for ((i = 0; i < 12; i++)); do
				if hands_over "$start"; then folded=1; else cat told && missed=$((missed + 1)); fi
				if ! hands_over ''; then late=$((late + 1)); fi
			done
		done
		echo "$start: $missed not folded, without it $late"
		[ "$missed" -eq 0 ] || [ "$late" -gt 0 ]
		[ "$folded" -eq 1 ]
	done
}

@test "another copy of the program, and another build, work beside this one" {
	mkdir copy
	cp -L "$NB_BIN/nb" copy/nb
	for t in "${NB_TOOLS[@]}"; do ln -s nb "copy/$t"; done
	refused '\(the reader is another program, or a copy or another build of this one\|nb reads\)' 'nb-gen -n 30 | ../copy/nb-sort-zorder | nb-stats'
	fine '../copy/nb-gen -n 30 | ../copy/nb-sort-zorder | nb-stats' 'gen | sort-zorder'
	fine "nb-gen -n 30 | nb-step -d 0.1 -k 2 'PATH=../copy:\$PATH; nb-sort-zorder | nb-force' | nb-stats" 'gen | step | stats' 'sort-zorder | force'
	fine 'ln -s "$NB_BIN/nb" nb-gen; ./nb-gen -n 30 | nb-stats; rm nb-gen' 'gen | stats'
	# replaced while a reader is late, as by make
	fine '../copy/nb-gen -n 30 | (cp ../copy/nb ../copy/new; mv ../copy/new ../copy/nb; exec ../copy/nb-stats)'
}

# bats test_tags=once
@test "a copy in a force pipeline may take a second for its first answer" {
	mkdir slow
	cp -L "$NB_BIN/nb" slow/nb-force
	nb-gen -n 70000 -o many.nb
	nb-step -d 0.1 -k 1 --every 0 'slow/nb-force -e 0.1 -j 1' many.nb | nb-stats --check
}

@test "programs of another user in the middle change nothing" {
	[ "$(id -u)" -eq 0 ] || skip 'wants root'
	local nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
	$nobody test -x "$NB_BIN/nb" || skip 'nobody cannot run the programs'
	refused '\(another user\|nobody\)' "nb-gen -n 30 | $nobody nb-sort-zorder | nb-stats"
	fine "nb-gen -n 30 | $nobody nb-sort-zorder | $nobody nb-force | nb-stats" 'sort-zorder | force'
	fine "$nobody nb-gen -n 30 | nb-sort-zorder | nb-stats" 'sort-zorder | stats'
	fine "nb-gen -n 30 | nb-step -d 0.1 -k 3 'nb-sort-zorder | $nobody nb-force' | nb-stats" 'gen | step | stats'
	fine "nb-gen -n 30 | nb-step -d 0.1 -k 3 '$nobody nb-sort-zorder | nb-force' | nb-stats" 'gen | step | stats' 'force'
	fine "$nobody bash -c 'nb-gen -n 30 | nb-sort-zorder | nb-stats'" 'gen | sort-zorder | stats'
	# a reader that could not come back to its directory
	chmod 755 . # for nobody
	fine "mkdir shut && chown 65534 shut && $nobody bash -c 'cd shut && chmod 0 . && (cd / && nb-gen -n 9) | nb-stats'"
}

# repeat N TEXT: so many times
repeat() { printf "$2%.0s" $(seq "$1"); }

@test "a chain of more programs than a process does the work of gives the same bytes, folded in part" {
	local n middle
	nb-gen -n 50 | nb-sort-zorder --no-history >want
	for n in 64 65 66 130; do # with the first and the last
		middle=$(repeat $((n - 2)) ' | nb-sort-zorder --no-history')
		TEST_MARK=$MARK timeout -k 1 60 bash -c "nb-gen -n 50 $middle | nb-sort-zorder --no-history" >got
		cmp got want
	done
	told() {
		timeout -k 1 60 bash -c "nb-gen -v -n 50 $(repeat 66 ' | nb-sort-zorder -v') | nb-stats" 2>err >out
		grep -q 'not folded: its reader does the work of as many programs as it can' err
	}
	in_one_of $ATTEMPTS told
	nothing_stays
}

@test "programs that could not open their files in one process do not fold" {
	local n
	cp data/one.nb a.nb
	for n in 10 12 13 14 20 34 36; do
		(ulimit -n "$n"; NB_FOLD=off timeout -k 1 60 bash -o pipefail -c 'nb-gen -n 9 | nb-calc a=mass | nb-stats') >apart 2>/dev/null || continue
		(ulimit -n "$n"; timeout -k 1 60 bash -o pipefail -c 'nb-gen -n 9 | nb-calc a=mass | nb-stats') >folded
		cmp apart folded
	done
	fine "ulimit -n 60; nb-merge --ids offset$(repeat 50 ' ../a.nb') | nb-sort-zorder | nb-stats"
}

@test "another user who connects ten thousand times, and stays, decides nothing" {
	[ "$(id -u)" -eq 0 ] || skip 'wants root'
	local nobody=(env PATH=/usr/bin:/bin setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${nobody[@]}" python3 -c '' || skip 'nobody cannot run python3'
	mkfifo pipe
	local command="(nb-gen -n 30; until [ -e ../over ]; do sleep 0.05; done; nb-gen -n 20) >../pipe & nb-sort-zorder <../pipe | nb-stats"
	touch over
	try off "$command" off
	rm over
	# half of the connections stay open for a while, and nothing is said
	timeout 40 "${nobody[@]}" python3 -c 'if 1:
	import socket, sys, time
	made, kept = 0, []
	while made < 10000:
	    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	    s.setblocking(False)
	    try:
	        s.connect("\0nb-fold-0-" + sys.argv[1])
	        made += 1
	        kept = kept[-400:] + [s] if made % 2 else kept
	    except OSError:
	        time.sleep(0.0005)
	print(made)
	' "$(printf '%x-%x' "$(stat -c %d pipe)" "$(stat -c %i pipe)")" >made 2>&1 &
	local stranger=$!
	(wait_until test -s made; touch over) &
	try on "$command" on
	wait "$stranger"
	[ "$(<made)" -ge 10000 ]
	cmp off/stdout on/stdout
	diff off/messages on/messages
	[ "$(<on/status)" = '0 0 ' ]
}

@test "who connects without end does not keep a program from the end of its input" {
	python3 -c '' || skip 'no python3'
	mkfifo pipe
	exec 8<>pipe # the socket has a name before there is a writer
	nb-stats <pipe >stats 8>&- &
	local program=$!
	TEST_MARK=$MARK timeout 60 python3 -c 'if 1:
	import os, socket, sys
	os.fork(), os.fork()
	made = 0
	while 1:
	    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	    s.setblocking(False)
	    made += not s.connect_ex("\0nb-fold-" + sys.argv[1])
	    if made == 100:
	        open("connected", "a").close()
	    s.close()
	' "$(printf '%d-%x-%x' "$(id -u)" "$(stat -c %d pipe)" "$(stat -c %i pipe)")" 8>&- &
	wait_until test -e connected
	NB_FOLD=off nb-gen -n 30 >&8
	exec 8>&-
	local code=0
	timeout 20 tail --pid="$program" -f /dev/null || code=$?
	end_marked
	[ "$code" -eq 0 ] || kill "$program"
	wait "$program"
	NB_FOLD=off nb-gen -n 30 | nb-stats | cmp - stats
}

# ---- nothing hangs, no process stays ----------------------------------------------------------------

PIPELINES=(
	'nb-gen -n 300 | nb-sort-zorder | nb-build-tree | nb-force'
	"nb-gen -n 90 | nb-step -d 0.01 -k 20 'nb-sort-zorder | nb-force' | nb-stats"
	"nb-step -d 0.01 -k 30 'nb-sort-zorder | nb-build-tree | nb-force' <../data/one.nb"
	'(nb-gen -n 200 && nb-gen -n 300) | nb-sort-zorder | tee copy | nb-force | nb-convert --to csv'
	"nb-gen -n 90 | nb-step -d 0.01 -k 9 'nb-sort-zorder | cat | nb-force' | nb-render-ppm -W 16 -H 16"
	"nb-gen -n 40 | nb-step -d 0.01 -k 9 --send-velocities 'nb-step -k 0 -d 1 \"nb-sort-zorder | nb-force\" | nb-force' | nb-stats"
)

# a search for leaks is a process of its own, which must not be killed
strike() { ASAN_OPTIONS=detect_leaks=0 python3 "$NB_TOP/tests/strike.py" "$@"; }

# bats test_tags=once
@test "a pipeline of which a process is killed at any moment fails, and no process stays" {
	strike KILL 20 "${PIPELINES[@]}"
}

@test "a pipeline of which a process is ended by a signal at any moment fails, and no process stays" {
	strike TERM,INT,HUP,PIPE 12 "${PIPELINES[@]}"
}

# bats test_tags=once
@test "a signal for all processes of a pipeline at any moment ends them" {
	strike -INT,-TERM,-QUIT 6 "${PIPELINES[@]}"
}

@test "a process that is stopped for a while at any moment changes nothing" {
	strike STOP 8 "${PIPELINES[@]}"
}

# runs_child SHELL NAME: it has a child of that name, whose id is then in pid, or has ended
runs_child() {
	local child name
	local -a all=()
	pid=
	grep -qs '^State:.[^Z]' "/proc/$1/status" || return 0
	read -ra all <"/proc/$1/task/$1/children" || : # it has no end of line
	for child in "${all[@]}"; do
		read -r name 2>/dev/null <"/proc/$child/comm" || continue
		[ "$name" != "$2" ] || pid=$child
	done
	[ -n "$pid" ]
}

# killed NAME COMMAND: kills the program of that name when it has run for a while; the pipeline must end.  A short one may
# have ended by then.
killed() { in_one_of 5 killed_now "$@"; }
killed_now() {
	local shell pid struck=1
	TEST_MARK=$MARK bash -c "$2; :" >out 2>messages &
	shell=$!
	wait_until runs_child $shell "$1" || return 1
	sleep 0.3
	kill -KILL "$pid" || struck=0
	nothing_stays || { echo "killed $1: $2"; end_marked; return 1; }
	[ $struck = 1 ]
}

@test "a program that is killed in the middle of a long run ends the pipeline at once" {
	local run="nb-gen -n 100 | nb-step -d 1e-6 -k 100000000 --every 0"
	for which in nb-step nb-sort-zorder nb-stats; do killed $which "$run 'nb-sort-zorder | nb-force' | nb-sort-zorder | nb-stats"; done
	killed nb-step "$run 'nb-sort-zorder | cat | nb-force' | nb-stats"
	killed nb-step "nb-step -d 1e-6 -k 100000000 --every 0 'nb-force' <data/one.nb | nb-stats"
	killed nb-sort-zorder "(nb-gen -n 9; sleep 1) | nb-sort-zorder | nb-force | nb-stats"
	killed nb-force "(nb-gen -n 9; sleep 1) | nb-sort-zorder | nb-force | nb-stats"
}

# bats test_tags=once
@test "two hundred short pipelines, one after the other and sixteen at a time, give the same bytes" {
	local command="nb-gen -n 60 | nb-step -d 0.1 -k 2 'nb-sort-zorder | nb-force -e 0.1' | nb-sort-zorder"
	try off "$command" off
	cat >repeat <<-'END'
		# repeat FIRST LAST COMMAND
		for ((i = $1; i <= $2; i++)); do
			eval "$3" >"out.$i" && [ "${PIPESTATUS[*]}" = 0 ] || echo "run $i failed"
			cmp out.$i off/stdout && rm out.$i
		done
	END
	TEST_MARK=$MARK timeout 1200 bash -o pipefail repeat 1 200 "$command" 2>messages
	for ((k = 0; k < 16; k++)); do
		TEST_MARK=$MARK timeout 1200 bash -o pipefail repeat $((k + 1))000 $((k + 1))009 "$command" &
	done 2>>messages
	wait
	[ ! -s messages ] || { cat messages; return 1; }
	[ "$(find . -name 'out.*' | wc -l)" -eq 0 ]
	nothing_stays
}

@test "a reader or a writer that comes 2 seconds late, or answers late, changes nothing" {
	late() { # late N COMMAND: in a directory of its own
		mkdir "late.$1" && cd "late.$1" && ln -s ../data data && MARK=$MARK.$1 fine "$2"
	}
	local late=() k code=0
	for command in \
		'nb-gen -n 30 | (sleep 2; exec nb-sort-zorder)' \
		'nb-gen -n 30 | nb-sort-zorder | (sleep 2; exec nb-stats)' \
		'nb-gen -n 30 | (sleep 2; exec nb-sort-zorder) | nb-stats' \
		'(sleep 2; exec nb-gen -n 30) | nb-sort-zorder | nb-stats' \
		'mkfifo p; nb-gen -n 30 >p & sleep 2; nb-sort-zorder <p; code=$?; wait $!; rm p; (exit $code)' \
		"(sleep 2; exec nb-gen -n 30) | nb-step -d 0.1 -k 2 'nb-sort-zorder | nb-force' | nb-stats" \
		"nb-gen -n 30 | nb-step -d 0.1 -k 2 'sleep 2; nb-sort-zorder | nb-force' | nb-stats" \
		"nb-gen -n 30 | nb-step -d 0.1 -k 2 'nb-sort-zorder | (sleep 2; exec nb-force)' | nb-stats" \
		"nb-gen -n 30 | nb-step -d 0.1 -k 2 '(sleep 2; exec nb-sort-zorder) | nb-force' | nb-stats" \
		'(nb-gen -n 30; sleep 2; nb-gen -n 20) | nb-sort-zorder'; do
		k=${#late[@]}
		late "$k" "$command" >"late.$k.log" 2>&1 &
		late+=($!)
	done
	for ((k = 0; k < ${#late[@]}; k++)); do
		wait "${late[k]}" || { code=1; cat "late.$k.log"; }
	done
	[ $code -eq 0 ]
}

# waits COMMAND MOST: by how many microseconds the median time of 20 runs with folding is above that without, in turns, must
# be MOST or less; of up to 15 such sets, as other work of the machine makes some of them wrong
waits() {
	python3 - "$1" "$2" <<-'END'
		import os, statistics, subprocess, sys, time
		command, most = sys.argv[1], int(sys.argv[2])
		for _ in range(15):
		    took = {"on": [], "off": []}
		    for _ in range(20):
		        for way in took:
		            start = time.perf_counter()
		            subprocess.run(["bash", "-c", command], env=dict(os.environ, NB_FOLD=way), check=True, stdout=subprocess.DEVNULL)
		            took[way].append(time.perf_counter() - start)
		    folded, plain = (statistics.median(took[way]) * 1e6 for way in took)
		    print(f"{command}: {folded:.0f} us, with NB_FOLD=off {plain:.0f} us")
		    if folded - plain <= most:
		        sys.exit()
		sys.exit(1)
	END
}

# bats test_tags=once
@test "a pipeline of other programs waits for no more than 20 ms" {
	local most=25000
	[[ $NB_BIN != */san/* ]] || most=125000 # there it is 100 ms
	for reader in cat "sh -c 'cat'" "sh -c 'cat; :'" '(while read -r line; do :; done)' 'wc -c' 'true' '../data/filter'; do
		waits "nb-gen -n 9 | ${reader/../.}" $most
	done
	for writer in 'cat data/one.nb' "sh -c 'sleep 0; cat data/one.nb'"; do
		waits "$writer | nb-stats" $most
	done
	# three programs look for their neighbours, one after the other
	waits "nb-step -d 0.1 'cat | nb-force | cat' <data/one.nb" $((2 * most + 10000))
}
