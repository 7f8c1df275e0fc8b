#!/usr/bin/env bats
# FILE operands of the programs that read a stream, and --output of those that write.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 40 --no-history >a.nb
	nb-gen plummer -n 30 -s 2 --no-history >b.nb
	cat a.nb b.nb >ab.nb
	for f in a b; do nb-sort-zorder --no-history <$f.nb | nb-force --no-history -e 0.1 -m direct >ready-$f.nb; done
	cat ready-a.nb ready-b.nb >ready-ab.nb
	head -c -128 a.nb >unended.nb
	head -c 1000 b.nb >cut.nb
	: >empty.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# Every reader but nb-merge and nb-plot, whose files are not one stream, with options for which the frames above are ready.
mapfile -t READERS < <(sed -n '/none$/d; /nb-convert/d; /nb-merge/d; /nb-view/d; /nb-plot/d; s/^# as a filter: //p' "$NB_TOP"/tests/nb-*.bats)

# with_files COMMAND FILE...: the command with FILE operands; nb-step has its force pipeline before them
with_files() {
	local command=$1
	shift
	[[ $command != 'nb-step -'* || $command == *\'* ]] || command+=" 'nb-force -m direct --no-history'"
	echo "$command $*"
}

# ---- operands ---------------------------------------------------------------------------------------

# bats test_tags=once
@test "every reader takes files: one as from standard input, several as one stream, and - for standard input" {
	local f history
	[ ${#READERS[@]} -ge 7 ]
	for f in "${READERS[@]}"; do
		history=$("${f%% *}" --help | grep -o -- --no-history) || :
		echo "$f"
		bash -c "$(with_files "$f" "$history") <ready-a.nb" >want
		bash -c "$(with_files "$f" "$history" ready-a.nb)" >got
		cmp want got
		bash -c "$(with_files "$f" "$history" -) <ready-a.nb" >got
		cmp want got
		bash -c "$(with_files "$f" "$history") <ready-ab.nb" >want
		bash -c "$(with_files "$f" "$history -v" ready-a.nb ready-b.nb)" >got 2>messages
		cmp want got
		grep -qx "${f%% *}: from frame 1 on: 'ready-b.nb'" messages
		bash -c "cat ready-a.nb | $(with_files "$f" "$history" - ready-b.nb)" >got
		cmp want got
		bash -c "$(with_files "$f" "$history" ready-a.nb -) <ready-b.nb" >got
		cmp want got
		bash -c "$(with_files "$f" "$history" '<(cat ready-a.nb)' '<(cat ready-b.nb)')" >got
		cmp want got
	done
}

@test "the history has the files" {
	nb-sort-zorder a.nb 'b.nb' | nb-stats --history | grep -q ': nb-sort-zorder a.nb b.nb$'
	nb-sort-zorder -o sorted.nb a.nb
	nb-stats --history sorted.nb | grep -q ': nb-sort-zorder a.nb$'
}

@test "a folder, and a file that is not there, are refused in the same words by all that open one" {
	local f
	for f in 'nb-stats' 'nb-stats a.nb' 'nb-stats --compare=FILE a.nb' 'nb-diff FILE a.nb' 'nb-diff a.nb' 'nb-merge' 'nb-gen lpt --glass' \
		'nb-convert --from csv' 'nb-convert --from auto' 'nb-convert --from gadget' 'nb-convert --from nemo' 'nb-view' \
		'nb-select --ids ./FILE a.nb' "nb-field --alone 'table file=FILE' a.nb" 'nb-render-ppm --camera FILE a.nb' 'nb-plot ./FILE' \
		"nb-step -d 1 --resume FILE nb-force" 'nb-convert -q --to csv a.nb -o FILE/' 'nb-sort-zorder a.nb -o FILE/'; do
		[[ $f == *FILE* ]] || f+=' FILE'
		for name in folder/x.d missing/x.d; do
			mkdir -p folder/x.d
			run bash -c "${f//FILE/$name} 2>&1 >/dev/null </dev/null"
			case $name in folder*) why='Is a directory' ;; *) why='No such file or directory' ;; esac
			[[ $status == [12] && $output =~ ^"${f%% *}: '"(./)?$name/?"': $why"$ ]] || { echo "$f: $status $output"; return 1; }
		done
	done
}

@test "what is wrong with a file is said with its name, before any work where that can be known" {
	fails_with 1 "nb-stats: 'none.nb': No such file or directory" 'nb-stats none.nb'
	fails_with 1 "nb-stats: 'none.nb': No such file or directory" 'nb-stats a.nb none.nb'
	fails_with 1 "'empty.nb': truncated stream: empty input" 'nb-sort-zorder empty.nb -o /dev/null'
	fails_with 1 "'unended.nb': truncated stream: no end marker after frame 0" 'nb-stats --check unended.nb'
	fails_with 1 "'cut.nb': truncated stream" 'nb-stats --check a.nb cut.nb'
	# a stream that is not ended does not go on in the next file, and an empty file is no end
	fails_with 1 "'unended.nb': truncated stream: no end marker after frame 0" 'nb-stats --check unended.nb b.nb'
	fails_with 1 "'empty.nb': truncated stream: empty input" 'nb-stats --check a.nb empty.nb'
	fails_with 1 "'empty.nb': truncated stream: empty input" 'nb-stats --check a.nb empty.nb b.nb'
	fails_with 1 "no boxes in frame 0 (put 'nb-sort-zorder | nb-build-tree --kind boxes' before) (frame 0 of 'ab.nb')" \
		'nb-force -m near -o /dev/null ab.nb b.nb'
	# also by a program that works inside of another
	nb-select --drop pos b.nb -o nopos.nb
	fails_with 1 "nb-force: field 'pos' missing in frame 1 (stream has: id, mass, vel) (frame 0 of 'nopos.nb')" 'nb-force -t 0.5 -o /dev/null a.nb nopos.nb'
	[ "$(nb-stats --check a.nb b.nb ab.nb)" = "ok: 4 frames, 140 bodies, $((2 * $(stat -c %s ab.nb))) bytes" ]
}

# says PATTERN COMMAND: its messages have the pattern, and it prints a line for each of two frames; a program that starts
# late does not fold, so several times
says() {
	local k
	for ((k = 0; k < 20; k++)); do
		bash -c "$2" >out 2>err <a.nb
		[ "$(wc -l <out)" -eq 3 ] || return 1
		! grep -q "$1" err || return 0
	done
	cat err
	return 1
}

# bats test_tags=linux
@test "a program that reads files is the first of its chain, and folds with those behind it" {
	export NB_FOLD=on
	mkdir -p folder
	ln -sf /dev/stdin link
	says 'folded: nb-sort-zorder | nb-stats' 'nb-sort-zorder -v <(cat a.nb b.nb) | nb-stats --format tsv'
	says 'folded: nb-sort-zorder | nb-stats' 'nb-sort-zorder -v a.nb b.nb | nb-stats --format tsv'
	says 'folded: nb-sort-zorder | nb-stats' 'nb-sort-zorder -v - b.nb | nb-stats --format tsv'
	# the directory of one program is not that of the other
	says 'folded: nb-sort-zorder | nb-stats' 'env -C folder nb-sort-zorder -v ../a.nb ../b.nb | nb-stats --format tsv'
	# a path that only this process has
	says "not folded: only this process can open '/dev/fd/" 'nb-sort-zorder -v <(cat a.nb) b.nb | nb-stats --format tsv'
	says "not folded: only this process can open 'link'" 'nb-sort-zorder -v link b.nb | nb-stats --format tsv'
	# one that writes a pipe which is an operand
	says 'folded: nb-sort-zorder | nb-stats' 'nb-stats -v --format tsv <(nb-sort-zorder a.nb b.nb)'
	# what is before it has no reader
	run bash -c 'nb-gen -n 100000 | nb-sort-zorder a.nb | nb-stats --check; echo "${PIPESTATUS[@]}"'
	[[ $output == "ok: 1 frames, 40 bodies, "*"141 0 0" ]]
}

@test "a file that is missing in a chain fails it as without folding" {
	local fold
	for fold in on off; do
		NB_FOLD=$fold bash -c 'nb-sort-zorder a.nb none.nb | nb-force | nb-stats; echo "${PIPESTATUS[@]}"' >out 2>err
		[ "$(<out)" = '1 1 1' ]
		head -n 1 err | grep -q "nb-sort-zorder: 'none.nb': No such file" || grep -q "nb-sort-zorder: 'none.nb': No such file" err
		
		NB_FOLD=$fold bash -c 'nb-sort-zorder a.nb cut.nb | nb-force | nb-stats; echo "${PIPESTATUS[@]}"' >out 2>err
		[ "$(tail -n 1 out)" = '1 1 1' ]
		grep -q "nb-sort-zorder: 'cut.nb': truncated stream" err
	done
}

# ---- output -----------------------------------------------------------------------------------------

# what is in the folder, hidden files too
entries() { find . -mindepth 1 -printf '%f\n' | sort | paste -sd ' '; }

@test "--output is the file that > would give, for every program that writes" {
	rm -rf out
	mkdir out
	cd out || return 1
	nb-gen plummer -n 40 --no-history -o a.nb
	cmp a.nb ../a.nb
	nb-sort-zorder --no-history ../a.nb --output=s.nb
	nb-build-tree --no-history <s.nb -o t.nb
	nb-force --no-history -t 0.5 t.nb -o f.nb
	nb-sort-zorder --no-history <../a.nb | nb-build-tree --no-history | nb-force --no-history -t 0.5 | cmp f.nb
	nb-step -d 0.01 --no-history 'nb-force -e 0.1' -o r.nb f.nb
	nb-step -d 0.01 --no-history 'nb-force -e 0.1' <f.nb | cmp r.nb
	nb-convert --no-comments --to csv -o f.csv <f.nb
	nb-convert --from csv f.csv -o g.nb
	nb-convert --from csv f.csv | cmp g.nb
	nb-render-ppm -W 32 -H 16 -o p.ppm r.nb
	nb-render-ppm -W 32 -H 16 r.nb | cmp p.ppm
	[ "$(entries)" = 'a.nb f.csv f.nb g.nb p.ppm r.nb s.nb t.nb' ]
	# nothing goes to standard output, and the option is not in the history
	[ "$(nb-gen -n 3 -o x.nb | wc -c)" -eq 0 ]
	nb-stats --history x.nb | grep -q ': nb-gen -n 3$'
	[ "$(stat -c %a x.nb)" = "$(printf '%o' $((0666 & ~0$(umask))))" ]
}

# bats test_tags=linux
@test "a program with --output does not hand over its work, and takes over that of those before it" {
	local k
	export NB_FOLD=on
	for ((k = 0; k < 20; k++)); do # it may start late
		nb-gen -v -n 5 2>err | nb-sort-zorder -o folded.nb
		! grep -q 'nb-gen: folded: nb-gen | nb-sort-zorder' err || break
	done
	[ "$k" -lt 20 ]
	nb-stats --check folded.nb
	fails_with 1 'empty input' 'nb-gen -n 5 -o x.nb | nb-stats'
}

@test "where anything fails there is no file, and an older one stays as it was" {
	local fold
	for fold in on off; do
		export NB_FOLD=$fold
		rm -rf fail
		mkdir fail
		cd fail || return 1
		run ! nb-sort-zorder ../cut.nb -o new.nb
		run ! bash -c 'nb-sort-zorder ../unended.nb 2>/dev/null | nb-force -o new.nb'
		run ! bash -c 'nb-gen -n 5 | nb-force -m near | nb-sort-zorder -o new.nb'
		run ! bash -c 'false | nb-sort-zorder -o new.nb'
		run ! nb-sort-zorder ../a.nb ../cut.nb -o new.nb
		run ! nb-render-ppm -W 16 -H 16 ../a.nb ../cut.nb -o new.ppm
		run ! nb-step -d 0.01 -k 5 'nb-force | head -c 3000' ../a.nb -o new.nb
		run nb-force --kernel help -o new.nb
		[ "$status" -eq 0 ]
		[ "$(entries)" = '' ]
		echo old >old.nb
		run ! nb-sort-zorder ../a.nb ../cut.nb -o old.nb
		[ "$(<old.nb)" = old ]
		run ! nb-sort-zorder ../a.nb -o none/new.nb
		run ! nb-sort-zorder ../a.nb -o .
		[ "$(entries)" = 'old.nb' ]
		cd .. || return 1
	done
}

# has_frames N: there are N parts, with several frames in the last
has_frames() { [ "$(entries | wc -w)" = "$1" ] && [ "$(stat -c %s run.nb.part)" -gt 40000 ]; }

@test "what a program with --output has written when it is killed, or fails after two frames, is in FILE.part" {
	local fold k
	for fold in on off; do
		export NB_FOLD=$fold
		rm -rf stopped
		mkdir stopped
		cd stopped || return 1
		run ! nb-sort-zorder --no-history ../a.nb ../b.nb ../cut.nb -o run.nb
		[ "$(entries)" = run.nb.part ]
		nb-select --recover run.nb.part 2>/dev/null | nb-stats --check | grep '^ok: 2 frames, 70 bodies'
		rm run.nb.part
		for k in 1 2; do # the second keeps what the first has left
			nb-step -d 0.01 -k 100000000 --every 10 'nb-force -e 0.1' -o run.nb ../ready-a.nb &
			wait_until has_frames $k
			fails_with 1 "nb-sort-zorder: 'run.nb' is being written by another program" 'nb-sort-zorder -o run.nb ../a.nb'
			kill -KILL $!
			wait $! || :
		done
		[ "$(entries)" = 'run.nb.part run.nb.part~' ]
		fails_with 1 "nb-step: 'run.nb' is not there, but 'run.nb.part' of a run that was stopped (want --resume run.nb.part)" \
			"nb-step -d 0.01 -k 1 'nb-force -e 0.1' --resume run.nb"
		fails_with 2 'whose frames would be lost' "nb-step -d 0.01 -k 1 'nb-force -e 0.1' --resume run.nb.part -o run.nb"
		nb-step -d 0.01 -k 1 'nb-force -e 0.1' --resume run.nb.part -o rest.nb 2>err
		grep -q 'the run goes on from frame' err
		cd .. || return 1
	done
}

@test "a full disk is an error" {
	run bash -c 'nb-gen -n 5 -o /dev/full'
	[ "$status" -eq 1 ]
	[[ $output == *'No space left on device' ]]
	run nb-render-ppm -W 16 -H 16 -o /dev/full a.nb
	[ "$status" -eq 1 ]
	[[ $output == *'No space left on device' ]]
}

@test "the output may be one of the inputs" {
	cp a.nb both.nb
	nb-sort-zorder both.nb -o both.nb
	[ "$(nb-stats --check both.nb | cut -d ' ' -f 1-5)" = 'ok: 1 frames, 40 bodies,' ]
	nb-stats --fields both.nb | grep -q key
	nb-force -e 0.1 -m direct both.nb -o both.nb
	bash -c "nb-force -e 0.1 -m direct <both.nb -o both.nb"
	nb-stats --fields both.nb | grep -q acc
	nb-step -d 0.01 -k 1 nb-force a.nb both.nb -o both.nb
	[ "$(nb-stats --check both.nb | cut -d ' ' -f 1-5)" = 'ok: 4 frames, 160 bodies,' ]
}

@test "a file that could only be emptied before it is read stays as it was" {
	local as=() tight wrong=0
	if [ "$(id -u)" -eq 0 ]; then # who writes everywhere
		command -v setpriv >/dev/null || skip 'no setpriv'
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	fi
	tight=$(mktemp -d) # where anybody may go
	cp a.nb b.nb "$tight/"
	chmod 666 "$tight"/*.nb
	chmod 555 "$tight"
	"${as[@]}" "$NB_BIN/nb-stats" "$tight/a.nb" >/dev/null || wrong=skip
	if [ "$wrong" = 0 ]; then
		run "${as[@]}" nb-sort-zorder "$tight/a.nb" -o "$tight/a.nb"
		cmp a.nb "$tight/a.nb" || wrong=1
		[ "$output" = "nb-sort-zorder: '$tight/a.nb' is both input and output, and its folder takes no new file" ] || wrong=2
		run "${as[@]}" nb-sort-zorder "$tight/a.nb" "$tight/b.nb" -o "$tight/b.nb"
		cmp b.nb "$tight/b.nb" || wrong=3
		"${as[@]}" nb-sort-zorder "$tight/a.nb" -o "$tight/b.nb" || wrong=4
		nb-stats --fields "$tight/b.nb" | grep -q key || wrong=5
	fi
	chmod 755 "$tight"
	rm -r "$tight"
	[ "$wrong" != skip ] || skip 'nobody may read here'
	equals "$wrong" 0
}

@test "devices, pipes and standard output are written as they are" {
	nb-gen -n 7 --no-history >want
	nb-gen -n 7 --no-history -o - | cmp want
	nb-gen -n 7 --no-history -o /dev/stdout | cmp want
	nb-gen -n 7 -v -o - 2>&1 >/dev/null | grep -q . || nb-gen -n 7 -v -o - 2>err | nb-stats
	nb-gen -n 7 -o /dev/null
	[ -c /dev/null ]
	rm -f pipe
	mkfifo pipe
	cat pipe >got &
	nb-gen -n 7 --no-history -o pipe
	wait $!
	cmp want got
	rm -f checked
	nb-sort-zorder a.nb -o >(nb-stats --check >checked)
	wait_until test -s checked
	grep -q 'ok: 1 frames' checked
	# whatever is closed
	nb-gen -n 7 --no-history -o closed.nb >&-
	cmp want closed.nb
	nb-gen -n 7 --no-history -o closed.nb >&- <&-
	cmp want closed.nb
}

@test "a closed standard stream is not the file that is opened next" {
	cd "$BATS_TEST_TMPDIR" || return 1
	nb-gen -n 7 >a.nb
	nb-gen -n 7 -s 2 >b.nb
	for command in 'nb-diff a.nb -' 'nb-diff - a.nb' 'nb-merge --ids offset a.nb -' 'nb-merge --ids offset a.nb b.nb -' 'nb-view' 'nb-stats'; do
		run timeout 20 bash -c "$command <&- 2>&1 >/dev/null"
		[ "$status" -ne 0 ]
		[ "$status" -ne 124 ]
		[[ $output == *'read error: Bad file descriptor' ]]
	done
	run bash -c 'nb-gen -n 3 >&-'
	[[ $status -eq 1 && $output == 'nb-gen: write error: Bad file descriptor' ]]
	# a child of a program whose own streams are closed has a pipe of its own, not one of these
	if command -v ffmpeg >/dev/null; then
		for closed in '>&- 2>&-' '<&- >&- 2>&-' '<&- 2>&-'; do
			timeout 20 bash -c "nb-render-ppm -W 64 -H 64 -o closed.mp4 a.nb $closed"
			[ -s closed.mp4 ]
			rm closed.mp4
		done
	fi
}
