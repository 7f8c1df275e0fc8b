#!/usr/bin/env bats
# The manual: every example of every page runs, and every page is found.

load helper

# the .Dl lines below EXAMPLES, roff escapes undone
examples() {
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE ALSO/s/^\.Dl //p' "$1" | sed "s/\\\\(aq/'/g; s/\\\\(dq/\"/g; s/\\\\-/-/g; s/\\\\e/\\\\/g"
}

run_examples() {
	cd "$BATS_TEST_TMPDIR" || return 1
	local line count=0
	while read -r line; do
		if [[ $line == *ffmpeg* ]] && ! command -v ffmpeg >/dev/null; then
			continue
		fi
		echo "$line"
		if [[ $line == *'| head'* ]]; then
			bash -c "$line" >out </dev/null
		else
			bash -o pipefail -c "$line" >out </dev/null
		fi
		count=$((count + 1))
	done < <(examples "$1")
	[ "$count" -gt 0 ]
}

@test "the examples of nb(7) run" { run_examples "$NB_TOP/man/nb.7"; }
@test "the examples of nb-filter(7) run" { run_examples "$NB_TOP/man/nb-filter.7"; }
@test "the commands of nb-papers(7) that need no GPU run" {
	cd "$BATS_TEST_TMPDIR" || return 1
	sed -n '/^\.Dl nb-/s/^\.Dl //p' "$NB_TOP/man/nb-papers.7" | sed "s/\\\\(aq/'/g; s/\\\\-/-/g" | grep -v -e '-b cuda' >commands
	[ "$(wc -l <commands)" -ge 12 ]
	bash -e -o pipefail commands >out
}
@test "the filter in Python of nb-filter(7) doubles the masses, and fails when its input is cut" {
	cd "$BATS_TEST_TMPDIR" || return 1
	sed -n '/^import struct/,/^\.Ed/p' "$NB_TOP/man/nb-filter.7" | sed '/^\.Ed/d; s/\\e/\\/g' >double.py
	nb-gen plummer -n 300 >one.nb
	cat one.nb one.nb | python3 double.py >two.nb
	equals "$(nb-stats --check <two.nb)" "ok: 2 frames, 600 bodies, $((2 * $(stat -c %s one.nb))) bytes"
	equals "$(nb-stats --format tsv <two.nb | awk 'NR == 3 { printf "%.9f", $4 }')" 2.000000000
	nb-step -d 0.01 -k 2 'nb-sort-zorder | python3 double.py | nb-force -e 0.1' <one.nb >run.nb
	nb-stats --check <run.nb
	head -c -128 one.nb | { python3 double.py 2>err >cut.nb && return 1; [ "$(<err)" = 'double: truncated stream' ]; }
	run ! nb-stats --check <cut.nb
}
@test "the examples of the page of every program run" {
	for t in "${NB_TOOLS[@]}"; do
		echo "# $t"
		run_examples "$NB_TOP/man/$t.1"
	done
}

@test "the figures of README.md are those of the tables in tests/bench/results" {
	compare_figures() { "$NB_TOP/tests/readme-figures" "$1" "$NB_TOP/tests/readme-figures.tsv" "$NB_TOP/tests/bench/results"; }
	compare_figures "$NB_TOP/README.md"
	# a figure that is off in its last digit, and a row that nobody measured
	sed 's/3\.18e12/3.19e12/' "$NB_TOP/README.md" >"$BATS_TEST_TMPDIR/off.md"
	run compare_figures "$BATS_TEST_TMPDIR/off.md"
	[ "$status" -eq 1 ]
	[[ $output == *"does not have 3.18e12"* ]]
	sed 's/^| tree, Plummer sphere of 2^16,.*/&\n| magic | 1 ms | | | |/' "$NB_TOP/README.md" >"$BATS_TEST_TMPDIR/more.md"
	run compare_figures "$BATS_TEST_TMPDIR/more.md"
	[ "$status" -eq 1 ]
	[[ $output == *"of no row: | magic |"* ]]
}

@test "the commands of README.md run" {
	cd "$BATS_TEST_TMPDIR" || return 1
	# the indented lines of the section 'A first pipeline'
	sed -n '/^## A first pipeline/,/^## /s/^    //p' "$NB_TOP/README.md" >commands
	[ -s commands ]
	bash -e -o pipefail commands >out
}

@test "make install puts programs, pages and completions below DESTDIR, and uninstall takes them away" {
	make_here install uninstall DESTDIR="$BATS_TEST_TMPDIR/none" PREFIX=/usr
	[ -z "$(find "$BATS_TEST_TMPDIR/none" -type f)" ]
	make_here install DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr
	cd "$BATS_TEST_TMPDIR/root/usr" || return 1
	equals "$(find bin -type f)" bin/nb
	equals "$(find bin -type l | wc -l)" ${#NB_TOOLS[@]}
	equals "$(find share/man -type f | wc -l)" $((${#NB_TOOLS[@]} + 4))
	[ "$(stat -c %s bin/nb)" -lt $((30 << 20)) ]
	bin/nb-gen plummer -n 10 | bin/nb-stats --check
}

@test "the promises of nb(7) and nb-stream(5) name the tests that there are" {
	cd "$BATS_TEST_TMPDIR" || return 1
	for page in nb.7 nb-stream.5; do
		sed -n '/^\.S[hs] P[Rr][Oo][Mm][Ii][Ss][Ee][Ss]/,/^\.Sh EXAMPLES\|^\.Ss Folding/p' "$NB_TOP/man/$page" >promises
		grep -oE '[a-z/-]+\.(bats|c)\b' promises | sort -u >names
		[ "$(wc -l <names)" -ge 4 ]
		while read -r name; do [ -f "$NB_TOP/tests/$name" ]; done <names
		# and none is without a test
		[ "$(grep -c '^\.It$' promises)" -eq "$(grep -c '^\.Pq Pa .*\.$' promises)" ]
	done
}
