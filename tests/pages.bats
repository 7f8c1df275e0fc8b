#!/usr/bin/env bats
# The manual: every example of every page runs, and every page is found.

load helper

# the .Dl lines below EXAMPLES, roff escapes undone
examples() {
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE ALSO/s/^\.Dl //p' "$1" | sed "s/\\\\(aq/'/g; s/\\\\-/-/g; s/\\\\e/\\\\/g"
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
@test "the examples of the page of every program run" {
	for t in "${NB_TOOLS[@]}"; do
		echo "# $t"
		run_examples "$NB_TOP/man/$t.1"
	done
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
	equals "$(find share/man -type f | wc -l)" $((${#NB_TOOLS[@]} + 3))
	[ "$(stat -c %s bin/nb)" -lt $((30 << 20)) ]
	bin/nb-gen plummer -n 10 | bin/nb-stats --check
}
