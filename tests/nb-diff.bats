#!/usr/bin/env bats
# nb-diff: differences of two streams, body by body, against arithmetic in Python; exit status 0, 1 or 2.
# as a filter: none

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	nb-gen plummer -n 300 --no-history >a.nb
}

# diff_of KEY COLUMN FILES...: a value in the last line of that column
diff_of() {
	local key=$1 column=$2
	shift 2
	nb-diff --format tsv "$@" | awk -F '\t' -v key="$key" -v column="$column" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && $at["column"] == column { value = $at[key] } END { print value }'
}

# gives N COMMAND...: its exit status
gives() {
	local want=$1
	shift
	run "$@"
	[ "$status" -eq "$want" ] || { echo "status $status, want $want: $*"; echo "$output"; return 1; }
}

@test "a stream does not differ from itself, in any order of its bodies" {
	nb-sort-zorder <a.nb >s.nb
	gives 0 nb-diff -q a.nb a.nb
	gives 0 nb-diff -q a.nb s.nb
	gives 0 nb-diff -q s.nb a.nb
	nb-diff --format tsv a.nb s.nb >got.tsv 2>err
	equals "$(cut -f 3,5,9,14,15 got.tsv)" "column	max	scale	id	result
mass	0	$(mutate show mass <a.nb | head -n 1)	NA	within
pos	0	$(diff_of scale pos a.nb a.nb)	NA	within
vel	0	$(diff_of scale vel a.nb a.nb)	NA	within"
	equals "$(<err)" "nb-diff: column 'key' is only in 's.nb'"
}

@test "largest, rms and percentiles, absolute and relative, are those of Python" {
	nb-gen plummer -n 300 -s 2 --precision f32 | nb-sort-zorder >b.nb
	for f in a b; do mutate show id pos <$f.nb >$f.txt; done
	nb-diff -q --fields pos --tolerance 1e9 a.nb b.nb
	run nb-diff --format tsv --fields pos a.nb b.nb
	printf '%s\n' "$output" | grep -v '^nb-diff' >got.tsv
	python3 - <<-'END'
		from math import sqrt, isclose
		def load(name):
		    return {int(r[0]): [float(x) for x in r[1:]] for r in map(str.split, open(name))}
		a, b = load("a.txt"), load("b.txt")
		d = {i: sqrt(sum((x - y) ** 2 for x, y in zip(a[i], b[i]))) for i in a}
		s = sorted(d.values()); n = len(s)
		def percentile(p):
		    at = (n - 1) * p; low = int(at)
		    return s[low] + (s[low + 1] - s[low]) * (at - low)
		scale = sqrt(sum(x * x for v in a.values() for x in v) / n)
		rms = sqrt(sum(x * x for x in s) / n)
		want = {"max": s[-1], "rms": rms, "p50": percentile(0.5), "p99": percentile(0.99), "scale": scale, "n": n,
		        "rel_max": s[-1] / scale, "rel_rms": rms / scale, "rel_p50": percentile(0.5) / scale,
		        "rel_p99": percentile(0.99) / scale, "id": max(d, key=d.get), "frame": 0, "time": 0}
		names, values = [line.rstrip("\n").split("\t") for line in open("got.tsv")]
		got = dict(zip(names, values))
		for key, value in want.items():
		    assert isclose(float(got[key]), value, rel_tol=1e-13), (key, got[key], value)
		assert got["column"] == "pos" and got["result"] == "differs" and set(got) == set(want) | {"column", "result"}
	END
}

@test "the exit status is 0 within the tolerance and 1 beyond it" {
	mutate set vel 17 1 100 <a.nb >b.nb
	close_to 100 "$(diff_of max vel a.nb b.nb)" 2
	equals "$(diff_of id vel a.nb b.nb)" 17
	equals "$(diff_of result pos a.nb b.nb)" within
	largest=$(diff_of max vel a.nb b.nb)
	relative=$(diff_of rel_max vel a.nb b.nb)
	gives 1 nb-diff -q a.nb b.nb
	gives 0 nb-diff -q --fields pos,mass a.nb b.nb
	gives 0 nb-diff -q --absolute "$largest" a.nb b.nb
	gives 1 nb-diff -q --absolute "$(awk -v x="$largest" 'BEGIN { printf "%.17g", x * (1 - 1e-12) }')" a.nb b.nb
	gives 0 nb-diff -q --tolerance "$(awk -v x="$relative" 'BEGIN { printf "%.17g", x * (1 + 1e-12) }')" a.nb b.nb
	gives 1 nb-diff -q --tolerance "$(awk -v x="$relative" 'BEGIN { printf "%.17g", x * (1 - 1e-12) }')" a.nb b.nb
	# either of the two is enough
	gives 0 nb-diff -q --tolerance 1e-9 --absolute 1000 a.nb b.nb
	gives 0 nb-diff -q --tolerance 1e9 --absolute 1e-9 a.nb b.nb
	# the smallest difference that there is
	mutate set pos 0 0 0 <a.nb >zero.nb
	mutate set pos 0 0 4.9e-324 <a.nb >tiny.nb
	gives 1 nb-diff -q zero.nb tiny.nb
	# of all zeros, too: every fraction of 0 is 0
	nb-gen uniform -n 4 >still.nb
	mutate set vel 1 1 1e-3 <still.nb >moving.nb
	gives 1 nb-diff -q --tolerance 1e9 still.nb moving.nb
	equals "$(diff_of rel_max vel still.nb moving.nb)" inf
	gives 0 nb-diff -q --absolute 1e-3 still.nb moving.nb
	mutate set pos 0 0 -0.0 <a.nb >minus.nb
	gives 0 nb-diff -q zero.nb minus.nb
}

@test "a table has lines of what differs, and one that sums up" {
	nb-step -d 0.1 -k 2 --every 1 'nb-force -e 0.1' <a.nb >s.nb
	equals "$(nb-diff s.nb s.nb)" 'equal: 12 columns of 3 frames'
	equals "$(nb-diff -v s.nb s.nb 2>/dev/null | wc -l)" 14
	nb-calc 'pos.x += frame == 1 and id < 17 ? 0.5*id : 0; vel.y += id == 5 ? 1e-9 : 0' s.nb >t.nb
	for options in '' '--rtol 1e-6' '--tolerance 1e-6' '--atol 4' '--absolute 4'; do
		# shellcheck disable=SC2086
		gives 1 nb-diff --fields pos,vel $options s.nb t.nb
		echo "$output" >"out$options"
	done
	equals "$(tail -n 1 out)" "different: 4 of 6 columns of 3 frames; most in pos of frame 1: 8 ($(printf %.3g "$(nb-diff --format tsv s.nb t.nb 2>/dev/null | awk '$1 == 1 && $3 == "pos" { print $10 }')") of the rms value) for body 16, 16 of 300 bodies beyond the tolerance"
	equals "$(head -n 5 out | awk '{ print $3 }' | tr '\n' ' ')" 'column vel pos vel vel '
	[[ $(tail -n 1 'out--rtol 1e-6') == 'different: 1 of 6 columns of 3 frames; most in pos of frame 1: 8 '*', 16 of 300 bodies beyond the tolerance' ]]
	[[ $(tail -n 1 'out--atol 4') == 'different: 1 of 6 columns of 3 frames; most in pos of frame 1: 8 '*', 8 of 300 bodies beyond the tolerance' ]]
	cmp 'out--rtol 1e-6' 'out--tolerance 1e-6'
	cmp 'out--atol 4' 'out--absolute 4'
	gives 0 nb-diff --fields pos,vel --rtol 100 s.nb t.nb
	[[ ${lines[-1]} == 'within the tolerance: 6 columns of 3 frames; most in pos of frame 1'*', 0 of 300 bodies beyond the tolerance' ]]
	run nb-diff a.nb s.nb
	[[ ${lines[-1]} == 'different: bodies, frames or components that only one of the streams has; 3 columns of 1 frames' ]]
}

@test "what is not a number differs from everything" {
	mutate set pos 5 2 nan <a.nb >nan.nb
	mutate set pos 5 2 inf <a.nb >inf.nb
	gives 1 nb-diff -q --absolute 1e300 a.nb nan.nb
	gives 1 nb-diff -q --absolute 1e300 nan.nb a.nb
	gives 1 nb-diff -q --absolute 1e300 nan.nb nan.nb
	gives 1 nb-diff -q --absolute 1e300 inf.nb inf.nb
	equals "$(diff_of id pos a.nb nan.nb)" 5
	equals "$(diff_of max pos a.nb nan.nb)" inf
	# JSON has no such numbers
	run nb-diff --format json a.nb nan.nb
	[[ $output == *'"column":"pos","n":300,"max":null,'* ]]
}

@test "-q prints nothing, also of what is told" {
	nb-sort-zorder <a.nb | nb-force >b.nb
	nb-gen plummer -n 299 >c.nb
	run nb-diff -q a.nb b.nb
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	run nb-diff -q a.nb c.nb
	[ "$status" -eq 1 ]
	[ -z "$output" ]
}

@test "bodies that only one stream has are told, and the others compared" {
	nb-convert --no-comments --to csv <a.nb | sed '8d;9d' | nb-convert --from csv >b.nb
	run --separate-stderr nb-diff --fields pos --format tsv a.nb b.nb
	[ "$status" -eq 1 ]
	equals "$stderr" "nb-diff: frame 0: 2 of 300 bodies are only in 'a.nb' (the first has id 6)"
	equals "$(tail -n 1 <<<"$output" | cut -f 4,5,15)" '298	0	within'
	run --separate-stderr nb-diff --fields pos --format tsv b.nb a.nb
	[ "$status" -eq 1 ]
	equals "$stderr" "nb-diff: frame 0: 2 of 300 bodies are only in 'a.nb' (the first has id 6)"
	mutate set id 3 0 1000 <a.nb >c.nb
	run --separate-stderr nb-diff a.nb c.nb
	[ "$status" -eq 1 ]
	equals "$stderr" "nb-diff: frame 0: 1 of 300 bodies are only in 'a.nb' (the first has id 3)
nb-diff: frame 0: 1 of 300 bodies are only in 'c.nb' (the first has id 1000)"
	mutate set id 3 0 4 <a.nb >twice.nb
	gives 2 nb-diff a.nb twice.nb
	equals "$output" "nb-diff: 'twice.nb': id 4 appears twice in frame 0 (bodies 3 and 4)"
	# without ids row by row
	mutate drop id <a.nb >none.nb
	gives 0 nb-diff -q none.nb none.nb
	gives 2 nb-diff none.nb a.nb
	[[ $output == "nb-diff: column 'id' missing in frame 0 of 'none.nb'"* ]]
	gives 2 nb-diff a.nb none.nb
	[[ $output == "nb-diff: column 'id' missing in frame 0 of 'none.nb'"* ]]
}

@test "frames are compared one by one, and their number is told" {
	nb-step -d 0.1 -k 3 --every 1 'nb-force -e 0.1' <a.nb >three.nb
	nb-step -d 0.1 -k 1 --every 1 'nb-force -e 0.1' <a.nb >one.nb
	run --separate-stderr nb-diff --fields pos --format tsv three.nb one.nb
	[ "$status" -eq 1 ]
	equals "$stderr" "nb-diff: 'three.nb' has 4 frames, 'one.nb' has 2"
	equals "$(cut -f 1,2,15 <<<"$output")" 'frame	time	result
0	0	within
1	0.1	within'
	for pair in 'one.nb three.nb' '- one.nb' 'one.nb -'; do
		# shellcheck disable=SC2086
		gives 1 nb-diff $pair <three.nb
		[[ $output == *' has 2'* && $output == *' has 4'* ]]
	done
	gives 0 nb-diff -q three.nb three.nb
	cp three.nb same.nb
	gives 0 nb-diff -q - three.nb <same.nb
	mutate attribute time 7 <a.nb >later.nb
	run --separate-stderr nb-diff a.nb later.nb
	[ "$status" -eq 0 ]
	equals "$stderr" "nb-diff: frame 0 is at time 0 in 'a.nb' and at 7 in 'later.nb'"
}

@test "types that differ and columns that one lacks are told once" {
	nb-gen plummer -n 300 --precision f32 >s.nb
	nb-force <s.nb | cat - a.nb >two.nb
	cat a.nb a.nb >both.nb
	run --separate-stderr nb-diff --tolerance 1e-6 both.nb two.nb
	[ "$status" -eq 0 ]
	equals "$stderr" "nb-diff: column 'mass' is '<f8' in 'both.nb' and '<f4' in 'two.nb'
nb-diff: column 'pos' is '<f8' in 'both.nb' and '<f4' in 'two.nb'
nb-diff: column 'vel' is '<f8' in 'both.nb' and '<f4' in 'two.nb'
nb-diff: column 'acc' is only in 'two.nb'"
	gives 1 nb-diff -q both.nb two.nb
	nb-calc 'wide = pos' a.nb | cat - <(nb-calc 'wide = pos' a.nb) >two.nb
	nb-calc 'wide = x' a.nb | cat - <(nb-calc 'wide = x' a.nb) >both.nb
	run --separate-stderr nb-diff two.nb both.nb
	[ "$status" -eq 1 ]
	equals "$stderr" "nb-diff: column 'wide' has 3 components in 'two.nb' and 1 in 'both.nb'"
}

@test "columns by name: any numbers, of any width" {
	nb-sort-zorder <a.nb | mutate add mine >k.nb
	gives 0 nb-diff -q --fields key,mine,id k.nb k.nb
	nb-diff --format tsv --fields key,pos k.nb k.nb | awk 'NR > 1 { print $3 }' >order
	equals "$(tr '\n' ' ' <order)" 'key pos '
	# keys that differ by 1 in the last of 63 bits
	key=$(mutate show key <k.nb | tail -n 1)
	mutate set key 299 0 $((key + 1)) <k.nb >l.nb
	gives 1 nb-diff -q --fields key k.nb l.nb
	equals "$(diff_of max key --fields key k.nb l.nb)" 1
	equals "$(diff_of max key --fields key l.nb k.nb)" 1
	equals "$(diff_of id key --fields key k.nb l.nb)" "$(mutate show id <k.nb | tail -n 1)"
	gives 0 nb-diff -q --fields key --absolute 1 k.nb l.nb
	gives 0 nb-diff -q k.nb l.nb
	mutate set mine 4 1 0 <k.nb >m.nb
	gives 1 nb-diff -q --fields mine k.nb m.nb
	equals "$(diff_of max mine --fields mine k.nb m.nb)" "$(mutate show mine <k.nb | awk 'NR == 5 { print $2 }')"
	gives 2 nb-diff --fields pos,acc k.nb k.nb
	[[ $output == *"column 'acc' missing in frame 0 of 'k.nb' (stream has: id, "* ]]
	mutate type mine '|S2' <k.nb >text.nb
	gives 2 nb-diff --fields mine text.nb text.nb
	[[ $output == *"column 'mine' in frame 0 of 'text.nb' has type '|S2', which is no number" ]]
	for fields in '' ',' 'pos,' pos,,vel 123456789012345678901234567890123; do
		fails_with 2 "invalid fields '$fields'" "nb-diff --fields '$fields' k.nb k.nb"
	done
}

@test "n = 0 and 1, and streams without frames" {
	for n in 0 1; do
		nb-gen uniform -n $n >n.nb
		gives 0 nb-diff -q n.nb n.nb
		nb-diff --format tsv n.nb n.nb >out
	done
	nb-gen uniform -n 0 >n.nb
	equals "$(nb-diff --format tsv --fields pos n.nb n.nb | tail -n 1 | cut -f 4,5,10)" '0	NA	NA'
	gives 1 nb-diff a.nb n.nb
	gives 1 nb-diff -q n.nb a.nb
	printf 'id,mass,x,y,z\n' | nb-convert --from csv >empty.nb
	gives 0 nb-diff -q empty.nb empty.nb
}

@test "trouble gives 2 and one line" {
	head -c 2000 a.nb >cut.nb
	fails_with 2 "'cut.nb': truncated stream" 'nb-diff a.nb cut.nb'
	fails_with 2 "'cut.nb': truncated stream" 'nb-diff cut.nb a.nb'
	fails_with 2 'truncated stream' 'nb-diff - a.nb <cut.nb'
	fails_with 2 'truncated stream' 'nb-diff a.nb - </dev/null'
	fails_with 2 "'absent.nb': No such file" 'nb-diff a.nb absent.nb'
	fails_with 2 'standard input can be read only once' 'nb-diff - - <a.nb'
	fails_with 2 'want two files' 'nb-diff a.nb'
	fails_with 2 'unexpected operand' 'nb-diff a.nb a.nb a.nb'
	fails_with 2 "invalid tolerance '-1'" 'nb-diff --tolerance -1 a.nb a.nb'
	fails_with 2 "option '--format' has no effect with '--quiet'" 'nb-diff -q --format json a.nb a.nb'
	run bash -c 'nb-diff a.nb a.nb >/dev/full'
	[ "$status" -eq 2 ]
	# also after frames that differ, and where what is left over is cut
	nb-gen plummer -n 300 -s 2 >b.nb
	head -c -128 b.nb >unended.nb
	gives 2 nb-diff -q a.nb unended.nb
	cat a.nb unended.nb >late.nb
	gives 2 nb-diff -q a.nb late.nb
	gives 2 nb-diff -q - a.nb <late.nb
	gives 2 bash -c 'false | nb-diff -q - a.nb'
}

# bats test_tags=linux
@test "in pipelines, folded and not" {
	export NB_FOLD
	for NB_FOLD in on off; do
		gives 0 bash -o pipefail -c 'nb-gen plummer -n 300 | nb-sort-zorder | nb-diff -q - a.nb'
		gives 0 bash -o pipefail -c 'nb-gen plummer -n 300 | nb-sort-zorder | nb-diff -q a.nb -'
		gives 1 bash -o pipefail -c 'nb-gen plummer -n 300 -s 3 | nb-diff -q a.nb -'
		gives 1 bash -o pipefail -c 'nb-gen plummer -n 300 | nb-transform --boost 0,0,1e-9 | nb-diff --format tsv a.nb - >out'
		cut -f 1-13,15 out >"$NB_FOLD"
		gives 0 bash -o pipefail -c 'nb-diff -q <(nb-gen plummer -n 300) a.nb'
		gives 2 bash -c 'nb-gen plummer -n 300 | nb-force -e x | nb-diff -q a.nb -'
	done
	cmp on off
	[ "$(wc -l <on)" -eq 4 ]
	NB_FOLD=on
	folded() { # a busy machine may start a program too late
		local i
		for ((i = 0; i < 20; i++)); do
			nb-gen plummer -n 300 | nb-diff -v a.nb - >out 2>&1
			grep -q 'folded: nb-gen | nb-diff' out && break
		done
		((i < 20))
	}
	folded
}

@test "the same with 1 and 3 threads" {
	nb-gen plummer -n 30000 >x.nb
	nb-gen plummer -n 30000 -s 2 | nb-sort-zorder >y.nb
	for j in 1 3; do nb-diff -j "$j" --format json x.nb y.nb >"$j.json" 2>/dev/null || [ $? -eq 1 ]; done
	cmp 1.json 3.json
}
