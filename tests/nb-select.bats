#!/usr/bin/env bats
# nb-select: frames, bodies, columns, order, and what is whole of a damaged stream.
# as a filter: nb-select --where mass!=-1

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 30 | nb-step -d 0.125 -k 10 'nb-force -e 0.1' -o run.nb # times 0, 0.125 ... 1.25
	nb-gen merger -n 400 --no-history | mutate add strange | nb-sort-zorder --no-history | nb-force --potential --no-history -e 0.1 >full.nb
	nb-build-tree --no-history full.nb -o tree.nb
	head -c -128 run.nb >unended.nb
	head -c $(($(stat -c %s run.nb) / 2)) run.nb >cut.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# the times of the frames of a stream, in eighths
eighths() { nb-stats --epot none --format tsv | awk -F '\t' 'NR > 1 { printf "%s%g", (NR > 2 ? " " : ""), 8 * $2 }'; }

# selects WANT OPTION...: these frames go out: from a file, from a pipe, folded with what is before and behind, and not
selects() {
	local want=$1
	shift
	nb-select "$@" run.nb >selected.nb
	nb-stats --check selected.nb >/dev/null
	equals "$(eighths <selected.nb)" "$want"
	equals "$(nb-select "$@" <run.nb | eighths)" "$want"
	equals "$(NB_FOLD=off nb-select "$@" <run.nb | NB_FOLD=off eighths)" "$want"
	equals "$(cat run.nb | nb-select "$@" | cat | eighths)" "$want"
	equals "$(nb-sort-zorder run.nb | nb-select "$@" | eighths)" "$want"
	equals "$(nb-sort-zorder run.nb | nb-select --sort id "$@" | cat | eighths)" "$want"
}

# ---- frames -----------------------------------------------------------------------------------------

# bats test_tags=once
@test "frames by number, range, step, and from the end; both ends of a range are included" {
	selects '0 1 2 3 4 5 6 7 8 9 10'
	selects '3' --frames 3
	selects '0 5 10' --frames 0:10:5
	selects '0 4 8' --frames ::4
	selects '2 3 4' --frames 2:4
	selects '8 9 10' --frames 8:
	selects '0 1' --frames :1
	selects '0 5 10' --frames 0:100:5
	selects '1 3 5 6 7' --frames 7,1:5:2,6,5
	selects '10' --frames last
	selects '10' --frames -1
	selects '0 10' --frames 0,last
	selects '10' --frames=-1:
	selects '0 3 6 9' --frames 0:last:3
	selects '0 1 2 3 4 5 6 7 8 9' --frames 0:-2
	selects '0 2 4 6 8' --frames :-2:2
	selects '' --frames 11:20
	selects '0 1 2 3 4 5 6 7 8 9 10' --frames 0:1e1
	selects '10' --frames 1e1
	selects '0 10' --frames 0:1k:1e1
}

@test "frames counted from the end of a file" {
	equals "$(nb-select --frames -3:-1 run.nb | eighths)" '8 9 10'
	equals "$(nb-select --frames=-3: <run.nb | eighths)" '8 9 10'
	equals "$(nb-select --frames -11 run.nb | eighths)" '0'
	equals "$(nb-select --frames=-100:1 run.nb | eighths)" '0 1'
	equals "$(nb-select --frames 2:-3:2 run.nb | eighths)" '2 4 6 8'
	equals "$(nb-select --frames -3,0 run.nb run.nb | eighths)" '0 8'
	fails_with 1 "frames '-3:-1': only the last frame of a pipe can be told from the end (want a FILE)" \
		'cat run.nb | nb-select --frames -3:-1'
	# a single frame must be there, once all is known; ranges may be empty
	fails_with 1 'the stream has no frame -12 (it has 11)' 'nb-select --frames -12 run.nb'
	nb-select --frames=-12:-11 run.nb | nb-stats --check
	run nb-select --frames 2,11 run.nb -o none.nb
	[ "$output" = 'nb-select: the stream has no frame 11 (it has 11)' ]
	[ ! -e none.nb ]
	fails_with 1 'the stream has no frame 0 (it has 0)' 'nb-select --frames 200: run.nb | nb-select --frames 0 -o /dev/null'
	fails_with 1 'the stream has no frame last (it has 0)' 'nb-select --frames 200: run.nb | nb-select --frames last -o /dev/null'
}

@test "frames of several files are counted on" {
	equals "$(nb-select --frames 10:12 run.nb run.nb | eighths)" '10 0 1'
	nb-select --frames 0 run.nb -o first.nb
	equals "$(nb-select --frames last run.nb first.nb run.nb | eighths)" '10'
	nb-select --frames 10:12 run.nb run.nb | nb-stats --check
}

@test "frames by time; a bound is met to rounding" {
	selects '0 1 2 3 4' --time 0:0.5
	selects '8 9 10' --time 1:
	selects '0' --time :0
	selects '2 4' --time 0.25,0.5
	selects '4 5' --time 0.5:9 --frames :5
	selects '10' --time 0: --frames last
	nb-gen kepler | nb-step -d 0.1 -k 10 nb-force -o tenth.nb
	equals "$(nb-select --time 0.3:0.7 tenth.nb | nb-stats --format tsv | wc -l)" 6
	fails_with 1 'the stream has no frame of time 0.26' 'nb-select --time 0.26 run.nb -o /dev/null'
	fails_with 2 "invalid time '5:2'" 'nb-select --time 5:2 run.nb'
	for time in x x:1 0:x; do fails_with 2 "invalid time '$time'" "nb-select --time $time run.nb"; done
	fails_with 2 "invalid time ''" "nb-select --time '' run.nb"
}

@test "frames that are no numbers or ranges" {
	local list
	for list in '' x '1,,2' '1,' 5:2 -1:-2 1:2:0 1:2:-1 1:2:3:4 0x1 1.5 1e-1 --1 -+1 1kk 1e30 99999999999999999999 first; do
		fails_with 2 "invalid frames '$list'" "nb-select --frames '$list' run.nb"
	done
	nb-select --frames : run.nb | nb-stats --check
}

@test "frames go out as they came, but for number and history" {
	nb-select --no-history --frames 0:10 run.nb | cmp run.nb
	cat run.nb | nb-select --no-history | cmp run.nb
	nb-select --frames 4 run.nb -o four.nb
	equals "$(nb-stats --attributes four.nb | sed -n 's/^\(time\|step\)=//p' | paste -sd ' ')" '0.5 4'
	nb-stats --history four.nb | tail -n 1 | grep -q ': nb-select --frames 4 run.nb$'
	nb-select --no-history full.nb | cmp full.nb
	cat tree.nb | nb-select --no-history | cmp tree.nb
	nb-select --no-history --frames 0 tree.nb | nb-force -t 0.5 | nb-stats --check
}

@test "what is left out is not checked for damage, what goes out is" {
	local at
	mutate flip 2000 <run.nb >flipped.nb # in a column of frame 0
	fails_with 1 'has the wrong CRC' 'nb-stats --check flipped.nb'
	for at in '<flipped.nb' flipped.nb; do
		bash -c "nb-select --frames 1: $at" | nb-stats --check
		run bash -c "nb-select --frames 0 $at -o never.nb"
		[ "$status" -eq 1 ]
		[[ $output == *'has the wrong CRC' ]]
		[ ! -e never.nb ]
	done
	cat flipped.nb | nb-select --frames 1: | nb-stats --check
	# an input that is not ended is an error, whatever was wanted of it
	fails_with 1 "'unended.nb': truncated stream: no end marker after frame 10" 'nb-select --frames 0 unended.nb -o /dev/null'
	fails_with 1 'truncated stream' 'cat cut.nb | nb-select --frames 0 -o /dev/null'
}

# ---- bodies -----------------------------------------------------------------------------------------

# column COLUMN: of the bodies of the stream on standard input, on one line
column() { mutate show "$1" | paste -sd ' '; }

@test "bodies by a condition, with all their columns" {
	nb-select --where 'species == 0 || species == 2' full.nb -o some.nb
	nb-stats --check some.nb
	[ "$(column species <some.nb | tr ' ' '\n' | sort -u | paste -sd ' ')" = '0 2' ]
	equals "$(column species <some.nb | wc -w)" "$(column species <full.nb | tr ' ' '\n' | grep -c '[02]')"
	mutate show id strange <some.nb |
		awk '$2 != 3 * $1 || $3 != 3 * $1 + 1 || $4 != 3 * $1 + 2 { bad = 1 } END { exit bad || NR < 10 }'
	for c in pos vel mass; do
		cmp <(mutate show id $c <full.nb | sort >all; mutate show id $c <some.nb | sort | comm -12 - all) \
			<(mutate show id $c <some.nb | sort)
	done
	equals "$(nb-select --where 'id < 5' full.nb | column id | wc -w)" 5
	nb-select --where 'r < 0' full.nb | nb-stats --check | grep -q ' 0 bodies'
	# pos, vel and pot can all be asked for, though pot does not go out
	equals "$(nb-select --where 'pot < -1 && r < 100' full.nb | nb-select --where 'mass > 0' | column id | wc -w)" \
		"$(column pot <full.nb | tr ' ' '\n' | awk '$1 < -1' | wc -l)"
	fails_with 2 "'mass >': " "nb-select --where 'mass >' full.nb"
	fails_with 1 "no column 'colour' in frame 0" "nb-select --where 'colour == 1' full.nb -o /dev/null"
	fails_with 1 "is not a condition" "nb-select --where 'mass' full.nb -o /dev/null"
}

@test "the bodies that go out are finite, those that are left out need not be" {
	nb-gen plummer -n 5 --no-history | mutate set pos 2 0 nan >bad.nb
	fails_with 1 "field 'pos' of the body with id 2 is not finite" "nb-select --where 'id >= 0' bad.nb -o /dev/null"
	equals "$(nb-select --where 'r < inf' bad.nb | column id)" '0 1 3 4'
}

@test "bodies by ids, of a list or a file" {
	equals "$(nb-gen -n 20 | nb-select --ids 3,1,5-7 | column id)" '1 3 5 6 7'
	printf '%s\n' '# members' 4 '' '  17  # the binary' 2 8-9 '9-10' >ids.txt
	equals "$(nb-gen -n 20 | nb-select --ids ids.txt | column id)" '2 4 8 9 10 17'
	equals "$(nb-gen -n 20 | nb-select --ids ids.txt --sort -id | nb-select --ids 17,2 | column id)" '17 2'
	equals "$(nb-gen -n 20 -o twenty.nb && nb-select --ids <(echo 7) twenty.nb | nb-sort-zorder | column id)" '7'
	: >no-ids
	equals "$(nb-gen -n 20 | nb-select --ids no-ids | column id)" ''
	run --separate-stderr bash -c 'nb-gen -n 20 | nb-select --ids 5,30,40-50 | nb-stats --format tsv | cut -f 3'
	[ "$status" -eq 0 ]
	[ "$stderr" = "nb-select: 2 of the 3 ids of '--ids' are not in frame 0, the first is 30" ]
	run --separate-stderr bash -c 'nb-gen -n 20 | nb-select --ids 5,30 | nb-stats'
	[ "$stderr" = "nb-select: id 30 of '--ids' is not in frame 0" ]
	run --separate-stderr bash -c 'nb-gen -n 20 | nb-select -q --ids 5,30 | nb-stats'
	[ -z "$stderr" ]
	fails_with 2 "invalid ids '1,,2'" 'nb-select --ids 1,,2 twenty.nb -o /dev/null'
	fails_with 1 "'none.txt': No such file" 'nb-select --ids none.txt twenty.nb'
	echo 5 x >wrong.txt
	fails_with 1 "'wrong.txt': line 1: '5 x' is no id" 'nb-select --ids wrong.txt twenty.nb'
	fails_with 1 "field 'id' missing in frame 0" "nb-select --drop id twenty.nb | nb-select --ids 1 -o /dev/null"
}

@test "a sample is the same bodies in each frame, and for each order of them" {
	nb-select --sample 10 -s 3 run.nb -o ten.nb
	nb-select --frames 0 ten.nb | column id >first
	[ "$(wc -w <first)" -eq 10 ]
	nb-select --frames last ten.nb | column id | cmp first
	nb-sort-zorder run.nb | nb-select --sample 10 -s 3 --sort id | nb-select --frames 5 | column id | cmp first
	run cmp -s first <(nb-select --sample 10 -s 4 --frames 0 run.nb | column id)
	[ "$status" -eq 1 ]
	# a larger sample has the smaller one, and all bodies are as many as there are
	equals "$(nb-select --sample 11 -s 3 --frames 0 run.nb | column id | tr ' ' '\n' | grep -cxFf <(tr ' ' '\n' <first))" 10
	nb-select --frames 0 --sample 1000 --no-history run.nb | cmp - <(nb-select --frames 0 --no-history run.nb)
	nb-gen -n 100000 -o many.nb
	close_to 10000 "$(nb-select --sample 0.1 many.nb | column id | wc -w)" 300
	close_to 50000 "$(nb-select --sample 50% many.nb | column id | wc -w)" 500
	nb-select --sample 100% --no-history many.nb | cmp - <(nb-select --no-history many.nb)
	# not the first ones
	close_to 50000 "$(nb-select --sample 0.1 many.nb | column id | tr ' ' '\n' | awk '{ s += $1 } END { print s / NR }')" 1000
	# of those that the other options leave
	equals "$(nb-select --sample 7 --where 'id < 10' many.nb | column id | tr ' ' '\n' | awk '$1 < 10' | wc -l)" 7
	# as people write numbers
	cmp <(nb-select --sample 1e3 --no-history many.nb) <(nb-select --sample 1000 --no-history many.nb)
	cmp <(nb-select --sample 1.5k --no-history many.nb) <(nb-select --sample 1500 --no-history many.nb)
	equals "$(nb-select --sample 10k many.nb | column id | wc -w)" 10000
	cmp <(nb-select --sample 1e-1 --no-history many.nb) <(nb-select --sample 0.1 --no-history many.nb)
	local part
	for part in 0 -1 1.0 -1k 1e30 0.1k2 1.5 101% 0% x '' %; do fails_with 2 "invalid sample '$part'" "nb-select --sample '$part' run.nb"; done
	fails_with 2 "option '--seed' needs '--sample'" 'nb-select -s 1 run.nb'
}

@test "random() in a condition has a seed, and numbers of its own" {
	nb-gen -n 20000 | nb-calc 'u = random()' -o u.nb
	nb-select --where 'random() < 0.1' u.nb -o tenth.nb
	close_to 2000 "$(column id <tenth.nb | wc -w)" 170
	# those of nb-calc are other ones: their mean is 0.5
	close_to 0.5 "$(column u <tenth.nb | tr ' ' '\n' | awk '{ s += $1 } END { print s / NR }')" 0.03
	nb-select -s 0 --where 'random() < 0.1' u.nb | column id | cmp - <(column id <tenth.nb)
	nb-select -s 7 --where 'random() < 0.1' u.nb -o other.nb
	close_to 2000 "$(column id <other.nb | wc -w)" 170
	close_to 200 "$(comm -12 <(column id <tenth.nb | tr ' ' '\n' | sort) <(column id <other.nb | tr ' ' '\n' | sort) | wc -l)" 60
	# the order is another draw than the condition
	nb-select --where 'random() < 0.5' --sort 'random()' u.nb | column u | tr ' ' '\n' | head -n 100 >first
	run cmp -s first <(nb-select --where 'random() < 0.5' --sort 'random()' -s 1 u.nb | column u | tr ' ' '\n' | head -n 100)
	[ "$status" -eq 1 ]
	fails_with 2 "option '--seed' needs '--sample', or random() in '--where' or '--sort'" "nb-select -s 1 --where 'x > 0' --sort x u.nb"
}

@test "bodies in the order of a column or an expression, stable" {
	nb-gen plummer -n 50 -o fifty.nb
	equals "$(nb-select --sort -id fifty.nb | column id)" "$(seq 49 -1 0 | paste -sd ' ')"
	nb-select --sort -r fifty.nb | nb-select --sort x | nb-convert --no-comments --to csv | awk -F , 'NR > 2 && $3 < last { exit 1 } { last = $3 }'
	nb-select --sort vx*vx fifty.nb | nb-convert --no-comments --to csv | awk -F , 'NR > 2 && $6 * $6 < last { exit 1 } { last = $6 * $6 }'
	nb-select --sort '-x + 0' fifty.nb | nb-convert --no-comments --to csv | awk -F , 'NR > 2 && -$3 < last { exit 1 } { last = NR == 1 ? -1e9 : -$3 }'
	printf '%s\n' id,mass,x,y,k 9,1,0,0,2 4,1,-0,0,nan 7,1,0,0,-3 1,1,1,0,2 3,1,-1,0,-0 8,1,0,0,0 | nb-convert --from csv -o k.nb
	equals "$(nb-select --sort k k.nb | column id)" '7 3 8 9 1 4'
	equals "$(nb-select --sort -k k.nb | column id)" '9 1 3 8 7 4'
	equals "$(nb-select --sort x k.nb | column id)" '3 9 4 7 8 1'
	equals "$(nb-select --sort '2 - id' k.nb | column id)" '9 8 7 4 3 1'
	equals "$(nb-select --sort=-2*id k.nb | column id)" '9 8 7 4 3 1'
	fails_with 1 "no column 'weight' in frame 0" 'nb-select --sort weight k.nb -o /dev/null'
	fails_with 1 "'pos'" 'nb-select --sort pos k.nb -o /dev/null'
	fails_with 1 "'\"a\"' is a text, and bodies are sorted by numbers" "nb-select --sort '\"a\"' k.nb"
}

# ---- what becomes stale -----------------------------------------------------------------------------

# the columns of a stream, then its attributes but for the history
holds() { { nb-stats --fields --format tsv "$1" | cut -f 2 | tail -n +2; nb-stats --attributes "$1" | cut -d = -f 1; } | sort | paste -sd ' '; }

@test "where bodies are left out, so is what follows from all of them" {
	nb-stats --attributes tree.nb | grep -q ^leaf_size
	nb-select --where 'id % 2 == 0' tree.nb -o half.nb
	equals "$(holds half.nb)" "$(holds full.nb | tr ' ' '\n' | grep -vxE 'acc|pot' | paste -sd ' ')"
	nb-select -v --where 'id % 2 == 0' tree.nb 2>&1 >/dev/null | grep -q -x 'nb-select: frame 0: leaving out bodies makes stale, and drops: acc pot tree'
	nb-select -v --sort x tree.nb 2>&1 >/dev/null | grep -q -x 'nb-select: frame 0: another order makes stale, and drops: key tree'
	nb-select -v --drop mass,acc tree.nb 2>&1 >/dev/null | grep -q -x 'nb-select: frame 0: leaving out columns makes stale, and drops: tree'
	run ! grep stale <(nb-select -v --where 'id >= 0' --fields id,mass,pos tree.nb 2>&1 >/dev/null)
	nb-select --where 'id % 2 == 0' --keep-derived tree.nb -o half.nb
	equals "$(holds half.nb)" "$(holds full.nb)"
	nb-select --where 'id % 2 == 0' --fields id,pot,mass tree.nb -o half.nb
	nb-stats --fields half.nb | grep -q ' pot '
	# nothing is stale where all stay, and in their order
	nb-select --where 'id >= 0' --sort key --no-history tree.nb | cmp tree.nb
	fails_with 2 "option '--keep-derived' needs" 'nb-select --keep-derived tree.nb'
}

@test "keys stay where they are still in order" {
	nb-select --where 'species != 1' tree.nb | nb-build-tree | nb-force -t 0.5 | nb-stats --check
	nb-select --sort x tree.nb -o x.nb
	nb-stats --fields x.nb | grep -q acc
	run grep -E ' (key|node_mass) ' <(nb-stats --fields x.nb)
	[ "$status" -eq 1 ]
	run grep -E '^(key_cube|tree)=' <(nb-stats --attributes x.nb)
	[ "$status" -eq 1 ]
	# bodies of one key are in the order of deeper keys, which depend on those that were there
	printf '%s\n' id,mass,x,y,z 1,1,0,0,0 2,1,1e-9,0,0 3,1,2e-9,0,0 4,1,1,1,1 | nb-convert --from csv | nb-sort-zorder -o deep.nb
	nb-select --ids 2-4 deep.nb | nb-stats --fields >fields
	run grep ' key ' fields
	[ "$status" -eq 1 ]
	nb-select --ids 2,4 deep.nb | nb-stats --fields | grep -q ' key '
}

# ---- columns ----------------------------------------------------------------------------------------

@test "columns that are kept, or left out" {
	local in
	for in in '' '<'; do
		bash -c "nb-select --fields id,pos,strange $in tree.nb" >some.nb
		nb-stats --check some.nb
		equals "$(nb-stats --fields some.nb --format tsv | cut -f 2 | paste -sd ' ')" 'name id pos strange'
		equals "$(nb-stats --attributes some.nb | grep -cE '^(tree|leaf_size|key_cube)=')" 0
		cmp <(mutate show strange <tree.nb) <(mutate show strange <some.nb)
		bash -c "nb-select --drop acc,strange $in tree.nb" >some.nb
		equals "$(holds some.nb)" "$(holds tree.nb | tr ' ' '\n' | grep -vxE 'acc|strange' | paste -sd ' ')"
		nb-force -t 0.5 some.nb | nb-stats --check
		bash -c "nb-select --drop-table node $in tree.nb" >some.nb
		equals "$(holds some.nb)" "$(holds full.nb)"
		nb-build-tree --no-history some.nb | nb-select --drop-table box --no-history | nb-force -t 0.5 | nb-stats --check
		# what needs a column goes with it
		bash -c "nb-select --drop mass $in tree.nb" >some.nb
		equals "$(nb-stats --fields some.nb | grep -cE ' (mass|node_mass|key) ')" 1
		bash -c "nb-select --drop pos $in tree.nb" >some.nb
		equals "$(nb-stats --fields some.nb | grep -cE ' (pos|node_mass|key) ')" 0
	done
	nb-select --fields id,pos full.nb | nb-force 2>&1 >/dev/null | grep -q "field 'mass' missing in frame 0"
	nb-sort-zorder full.nb | nb-build-tree --kind boxes --level 2 | nb-select --drop-table box --no-history | nb-stats --fields >fields
	run grep box fields
	[ "$status" -eq 1 ]
	fails_with 1 "column 'colour' missing in frame 0 (stream has: id, " 'nb-select --drop colour tree.nb -o /dev/null'
	fails_with 1 "column 'colour' missing in frame 0" "nb-select --fields id,colour --where 'id > 3' tree.nb -o /dev/null"
	fails_with 1 "column 'node_mass' of frame 0 is one of the node table" 'nb-select --drop node_mass tree.nb -o /dev/null'
	fails_with 2 "invalid fields 'id,'" 'nb-select --fields id, tree.nb'
	fails_with 2 "exclude each other" 'nb-select --fields id --drop acc tree.nb'
	fails_with 2 "has no effect with '--fields'" 'nb-select --fields id --drop-table node tree.nb'
	fails_with 2 "invalid drop-table 'particle'" 'nb-select --drop-table particle tree.nb'
}

# ---- recovery ---------------------------------------------------------------------------------------

# recovers WANT-FRAMES WANT-MESSAGE INPUT...: by --recover, with status 3
recovers() {
	local want=$1 text=$2 code=0
	shift 2
	nb-select --recover "$@" >recovered.nb 2>messages || code=$?
	cat messages
	equals "$code" 3
	grep -qF -- "$text" messages
	nb-stats --check recovered.nb
	equals "$(eighths <recovered.nb)" "$want"
}

@test "a stream that is cut keeps its whole frames, and says what is lost" {
	local size k
	size=$(stat -c %s run.nb)
	recovers '0 1 2 3 4 5 6 7 8 9 10' "'unended.nb': truncated stream: no end marker after frame 10" unended.nb
	grep -q '11 whole frames recovered' messages
	recovers '0 1 2 3 4' 'lost: all from byte' cut.nb
	cat cut.nb | nb-select --recover 2>/dev/null | cmp - <(nb-select --recover <cut.nb 2>/dev/null)
	# at any place
	for ((k = 1; k < 24; k++)); do
		head -c $((size * k / 24)) run.nb >part.nb
		run -3 nb-select --recover --no-history -q part.nb -o whole.nb || run -1 nb-select --recover -q part.nb
		[ "$status" -eq 1 ] || nb-stats --check whole.nb
	done
	# a whole stream has nothing to be recovered
	nb-select --recover --no-history run.nb | cmp run.nb
	nb-select --recover --frames last run.nb | eighths | grep -qx 10
	# with other options
	recovers '4' 'lost' --frames last cut.nb
	recovers '1 3' 'lost' --frames 1:9:2 --where 'id < 7' cut.nb
	equals "$(nb-stats --format tsv recovered.nb | awk 'NR > 1 { print $3 }' | sort -u)" 7
	fails_with 1 "only the last frame of a damaged stream can be told from the end" 'nb-select --recover --frames -2 cut.nb'
	# nothing is whole
	head -c 100 run.nb >part.nb
	run nb-select --recover part.nb -o never.nb
	[ "$status" -eq 1 ]
	[ "${lines[1]}" = 'nb-select: no frame is whole' ]
	[ ! -e never.nb ]
	run nb-select --recover <<<'this is no stream'
	[ "$status" -eq 1 ]
}

@test "frames behind damage are found again" {
	python3 - <<-'END'
		run = open("run.nb", "rb").read()
		magic = b"\x89NBS\r\n\x1a\n"
		at = [k for k in range(len(run)) if run.startswith(magic, k)] # of the frames, then of the end marker
		def put(name, bytes_): open(name, "wb").write(bytes_)
		column = bytearray(run); column[(at[4] + at[5]) // 2] ^= 1; put("column.nb", column)
		header = bytearray(run); header[at[4] + 30] ^= 1; put("header.nb", header)
		put("shorter.nb", run[:at[4] + 2000] + run[at[4] + 2003:]) # what follows is not aligned
		put("gap.nb", run[:at[2]] + run[at[5]:])
		put("twice.nb", run[:at[7]] + run)
		put("mess.nb", magic * 9 + run[:at[1]] + b"x" * 100 + magic + run[at[1]:])
	END
	recovers '0 1 2 3 5 6 7 8 9 10' "of frame 4 has the wrong CRC (lost: bytes" column.nb
	recovers '0 1 2 3 5 6 7 8 9 10' 'header of frame 4' header.nb
	recovers '0 1 2 3 5 6 7 8 9 10' 'frame 4' shorter.nb
	recovers '0 1 5 6 7 8 9 10' 'frame 2 is numbered 5' gap.nb
	recovers '0 1 2 3 4 5 6 0 1 2 3 4 5 6 7 8 9 10' 'frame 7 is numbered 0' twice.nb
	recovers '0 1 2 3 4 5 6 7 8 9 10' 'not a particle stream: wrong magic at the start of frame 1' mess.nb
	# frames keep their numbers
	recovers '5 7 9' 'frame 4' --frames 5:9:2 header.nb
	# of a pipe, behind a frame whose length is known
	recovers '0 1 2 3 5 6 7 8 9 10' 'has the wrong CRC' <(cat column.nb)
	recovers '0 1 2 3' 'lost: all from byte' <(cat header.nb)
	# each of several files
	recovers '0 1 2 3 4 0 1 2 3 5 6 7 8 9 10 0 1 2 3 4 5 6 7 8 9 10' "'column.nb': corrupt stream" cut.nb column.nb run.nb
	grep -q "'cut.nb': truncated stream" messages
	grep -q '26 whole frames recovered' messages
}

# bats test_tags=linux
@test "the status 3 of --recover reaches the shell, with a whole output" {
	run bash -c 'nb-select -q --recover cut.nb | nb-sort-zorder | nb-stats --check; echo "${PIPESTATUS[@]}"'
	[ "${lines[1]}" = '3 0 0' ]
	run bash -c 'cat cut.nb | nb-select -q --recover | nb-stats --check; echo "${PIPESTATUS[@]}"'
	[ "${lines[1]}" = '0 3 0' ]
	run nb-select -q --recover cut.nb -o saved.nb
	[ "$status" -eq 3 ]
	[ -z "$output" ]
	nb-stats --check saved.nb
	nb-select --recover saved.nb | nb-stats --check
	# programs before it write bytes
	export NB_FOLD=on
	for ((k = 0; k < 20; k++)); do # it may start late
		nb-gen -n 5 -v 2>err | nb-select --recover | nb-stats >/dev/null
		! grep -q 'nb-gen: not folded: its reader wants the bytes of the stream' err || break
	done
	[ "$k" -lt 20 ]
}

# ---- all together -----------------------------------------------------------------------------------

@test "n = 0 and 1, and streams without frames" {
	for n in 0 1; do
		nb-gen plummer -n $n | nb-select --where 'r < 9' --ids 0 --sample 5 --sort -mass -q | nb-stats --check
		nb-gen plummer -n $n | nb-select --frames last --fields id | nb-stats --check
	done
	nb-select --frames 100: run.nb -o end.nb
	[ "$(stat -c %s end.nb)" -eq 128 ]
	nb-select --where 'r < 1' --sort id end.nb | cmp end.nb
	nb-select --recover end.nb | cmp end.nb
	cat end.nb | nb-select --frames 0:-2 | cmp end.nb
}

@test "an attribute that is no time" {
	mutate attribute time soon <full.nb >odd.nb
	fails_with 1 "attribute time='soon'" 'nb-select --time 1: odd.nb -o /dev/null'
}

@test "velocities that lag behind are completed before acc goes" {
	nb-gen plummer -n 100 | nb-force -e 0.1 | nb-step -d 0.5 | nb-force -e 0.1 >lag.nb
	nb-stats --attributes <lag.nb | grep -q pending_kick
	nb-select --where 'id < 50' --keep-derived <lag.nb | nb-stats --epot none --format tsv | cut -f 1-4 >want
	for how in "--where 'id < 50'" "--where 'id < 50' --fields id,mass,pos,vel"; do
		bash -c "nb-select $how <lag.nb" | nb-force -e 0.1 | nb-stats --epot none --format tsv | cut -f 1-4 | cmp - want
	done
	nb-stats --epot none --format tsv <lag.nb | cut -f 1-4 >want
	nb-select --drop acc <lag.nb | nb-stats --epot none --format tsv | cut -f 1-4 | cmp - want
	cat lag.nb lag.nb | nb-select --drop acc -o two.nb # as it is read
	run ! grep -a -q pending_kick <(nb-stats --attributes two.nb)
	nb-stats --epot none --format tsv two.nb | tail -n 1 | cut -f 2-4 | cmp - <(tail -n 1 want | cut -f 2-4)
	# without acc the next forces complete the kick, as they would have
	nb-gen plummer -n 100 | nb-force -e 0.1 | nb-step -d 0.5 | nb-select --where 'id < 50' | nb-stats --attributes | grep -q pending_kick
}

@test "one frame is in memory when the last is wanted" {
	[ -x "$NB_BIN/../tests/bench/measure" ] || make_here "${NB_BIN%/bin}/tests/bench/measure"
	[[ $NB_BIN == */san/* ]] && skip 'sanitizers use memory of their own'
	nb-gen plummer -n 500000 >big.nb
	"$NB_BIN/../tests/bench/measure" m.txt nb-select --frames last <(cat big.nb big.nb big.nb) | cat >/dev/null
	at_most "$((500000 * 64 * 12 / 10 + 8000000))" "$(cut -d ' ' -f 3 m.txt)"
}

@test "a frame that was lost is not selected from what is whole" {
	nb-gen plummer -n 50 | nb-step -d 0.02 -k 4 --every 1 'nb-force -e 0.1' >run.nb
	size=$(($(wc -c <run.nb) / 5))
	{ head -c $((size + size / 2)) run.nb; printf XXXX; tail -c +$((size + size / 2 + 5)) run.nb; } >damaged.nb
	run bash -c 'nb-select --recover --frames 1 damaged.nb 2>&1 >out.nb'
	[ "$status" -eq 1 ]
	[[ $output == *'frame 1 is not among those that are whole'* ]]
	run bash -c 'nb-select --recover --frames 2 damaged.nb 2>/dev/null | nb-stats --format tsv | tail -n 1 | cut -f 2'
	equals "$output" 0.04
}

# the options of all programs that take a range, or a list of ranges, by their help
@test "every option that takes a range takes a:b and a-b, and means the same" {
	local t option arg of count=0
	nb-gen merger -n 200 | nb-step -d 1 -k 5 'nb-force -e 0.1' >r.nb
	nb-convert --to csv <r.nb >r.csv
	while read -r t option arg; do
		of=r.nb
		case "$t $option" in
		'nb-convert --rows') of='--from csv r.csv' ;;
		'nb-convert --species') of='--from csv r.csv' ;;
		'nb-gen --mass-range') of='plummer -n 5 --imf kroupa' ;;
		'nb-gen --semi-major') of='plummer -n 6 --binaries 0.5' ;;
		'nb-render-ppm --by-range') of='-W 32 -H 32 --by speed r.nb' ;;
		'nb-render-ppm --speed-range') of='-W 32 -H 32 --by speed r.nb' ;;
		'nb-render-ppm --range') of='-W 32 -H 32 --draw density r.nb' ;;
		'nb-render-ppm --hide' | 'nb-render-ppm --only') of='-W 32 -H 32 r.nb' ;;
		'nb-plot --y') continue ;; # of expressions
		'nb-plot --x-range' | 'nb-plot --y-range') of='-x x -y y --format text r.nb' ;;
		'nb-select --frames' | 'nb-select --ids' | 'nb-select --time') ;;
		'nb-stats --range') of='--profile r.nb' ;;
		'nb-stats --species') ;;
		*) echo "a new one: $t $option $arg" && return 1 ;;
		esac
		[[ $t != @(nb-convert|nb-select|nb-gen) ]] || of="--no-history $of"
		# shellcheck disable=SC2086
		$t $option 1:3 $of >a
		# shellcheck disable=SC2086
		$t $option 1-3 $of | cmp - a
		# shellcheck disable=SC2086
		$t $option 1:2 $of | run ! cmp -s - a
		count=$((count + 1))
	done < <(for t in $(nb --help | awk '$1 ~ /^nb-[a-z-]+$/ && NF > 1 { print $1 }'); do
		"$t" --help | awk -v t="$t" '/^ +(-., )?--/ { k = $1 ~ /,$/ ? 2 : 1; if ($(k + 1) ~ /^(A:B|FIRST:LAST.*|L[OW]+,HI(GH)?|LIST.*)$/ && $k !~ /--(fields|columns|drop|lagrangian)/) print t, $k, $(k + 1) }'
	done)
	[ "$count" -ge 13 ]
}

# ---- the light cone --------------------------------------------------------------------------------------

# cone_run [END]: 64 bodies that move in a universe of matter alone, from a scale factor of 0.25
cone_run() {
	nb-gen uniform -n 64 --seed 4 | nb-calc 'mass = 1.0 / 64; pos = pos / 4' '@box = 1; @omega0 = 1; @G = 1; @time = 0.25; @units = "Mpc/h, 1e10 Msun/h, km/s"' 'vel *= 0.1' |
		nb-transform --shift 0,0,0 | nb-step --cosmology --steps-in a -k 6 --until "${1:-1.1}" 'nb-force -e 0.2'
}

@test "each body of each image crosses the light cone once, at the distance of light, whatever frames there are" {
	cone_run >walk.nb
	c=3.5
	nb-select --light-cone 0.3,0.9,0.1 --light $c walk.nb >cone.nb
	nb-stats --check cone.nb
	# chi = c 2 (1 - sqrt(a)) / H0 with H0^2 = 8 pi / 3: to the middle of what rounds
	nb-calc "@off = max(abs(r - $c * 2 * (1 - sqrt(a)) / sqrt(8 * pi / 3)))" cone.nb | nb-stats --attributes --format tsv | awk -F '\t' '$2 == "off" { n++; if (!($3 < 1e-13)) exit 1 } END { exit n < 2 }'
	# in the first frame, all images that were inside and are outside; together about as many as space has
	crossed() { nb-stats --epot none --format tsv "$1" | awk -F '\t' 'NR > 1 { n += $3 } END { print n }'; }
	for x in -2 -1 0 1 2; do for y in -2 -1 0 1 2; do for z in -2 -1 0 1 2; do echo "(x + $x - 0.3)^2 + (y + $y - 0.9)^2 + (z + $z - 0.1)^2"; done; done; done >images
	far=$(awk -v c=$c 'BEGIN { printf "%.17g", (c * 2 * 0.5 / sqrt(8 * atan2(0, -1) / 3))^2 }')
	inside=$(nb-select --frames 0 walk.nb | nb-calc "@n = sum($(awk -v far="$far" '{ printf "%s((%s) < %s)", (NR > 1 ? " + " : ""), $0, far }' images))" | nb-stats --attributes | sed -n 's/^ *n=//p')
	equals "$(crossed cone.nb)" "$inside"
	[ "$inside" -gt 300 ]
	# few frames or many: straight lines are not, but bodies are slow
	nb-select --frames 0,2,4,last walk.nb | nb-select --light-cone 0.3,0.9,0.1 --light $c >coarse.nb
	equals "$(crossed coarse.nb)" "$inside"
	nb-select --light-cone 0.3,0.9,0.1 --light $c -j 3 --no-history walk.nb | cmp - <(nb-select --light-cone 0.3,0.9,0.1 --light $c --no-history walk.nb)
	# bodies are matched by their ids
	nb-select --sort -id walk.nb | nb-select --light-cone 0.3,0.9,0.1 --light $c | nb-select --sort 'body + 100 * a' | nb-diff --absolute 1e-14 - <(nb-select --sort 'body + 100 * a' cone.nb)
	# the velocity of light is that of the units
	nb-calc '@H0 = 0; @G = 1e10' 'vel *= 1e5' walk.nb | nb-select --light-cone 0.3,0.9,0.1 >units.nb
	nb-calc '@H0 = 0; @G = 1e10' 'vel *= 1e5' walk.nb | nb-select --light-cone 0.3,0.9,0.1 --light 299792.458 | nb-diff units.nb -
}

@test "a light cone of other frames than a run's, and options that do not go with it, are refused" {
	cone_run 0.5 >walk.nb
	s='nb-select --light-cone 0,0,0 --light 3'
	fails_with 1 'needs two frames or more, and there is one' "nb-select --frames 0 walk.nb | $s"
	fails_with 1 'frame 1 is not a later state of the universe of frame 0' "nb-select --frames 3 walk.nb >b.nb; $s b.nb walk.nb"
	fails_with 1 'frame 1 is not a later state' "nb-calc '@w0 = -0.9' walk.nb >b.nb; nb-select --frames 0 walk.nb >a.nb; $s a.nb b.nb"
	fails_with 1 'do not have the same bodies' "nb-select --where 'id > 0' walk.nb | nb-calc 'mass *= 64.0 / 63' >b.nb; nb-select --frames 0 walk.nb >a.nb; $s a.nb <(nb-select --frames 1 b.nb)"
	fails_with 1 'the body with id 0 of frame 0 is not in frame 1' "nb-calc 'id = id + 1' walk.nb >b.nb; nb-select --frames 0 walk.nb >a.nb; nb-select --frames 1 b.nb >c.nb; $s a.nb c.nb"
	fails_with 1 "option '--light-cone' needs a periodic box and attribute omega0 > 0" "nb-calc '@omega0 = 0' walk.nb | $s"
	fails_with 1 "units='none' of frame 1 has no velocity, and so there is no speed of light (give '--light')" "nb-calc '@units = \"none\"' walk.nb | nb-select --light-cone 0,0,0"
	fails_with 1 'reaches too many images of the box' "nb-select --light-cone 0,0,0 --light 1e9 walk.nb"
	fails_with 1 "field 'vel' missing" "nb-select --drop vel walk.nb | $s"
	for option in '--frames 0' '--time 1' --recover '--fields pos' '--drop pos' '--drop-table node' "--where 'x<1'" '--ids 1' '--sort x'; do
		fails_with 2 "option '--light-cone' with '--" "$s $option walk.nb"
	done
	for at in 1 1,2 x 1,2,3,4; do fails_with 2 "invalid light-cone '$at'" "nb-select --light-cone $at walk.nb"; done
	fails_with 2 "option '--light' needs '--light-cone'" 'nb-select --light 3 walk.nb'
	# no bodies, and a run behind today
	nb-select --where 'x < 0' walk.nb | nb-calc '@H0 = 1' | $s | nb-stats --epot none --format tsv | awk -F '\t' 'NR > 1 { n += $3 } END { exit n != 0 }'
	nb-calc '@time = 1 + @time; @redshift = 1 / @time - 1' walk.nb | $s | nb-stats --check
}
