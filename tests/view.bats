#!/usr/bin/env bats
# The page of nb-view, in a browser without a window.

# bats file_tags=once
load helper

@test "the page of a live run turns, tells of a body and saves the picture that nb-render-ppm draws" {
	command -v chromium >/dev/null || skip "no chromium"
	[ -n "$(nb-view --help 2>/dev/null)" ] || skip "no nb-view"
	cd "$BATS_TEST_TMPDIR"
	timeout 900 python3 -B "$NB_TOP/tests/view/page.py"
}

@test "the page shows the walls of a periodic box, where trails end and go on at the opposite ones" {
	command -v chromium >/dev/null || skip "no chromium"
	[ -n "$(nb-view --help 2>/dev/null)" ] || skip "no nb-view"
	cd "$BATS_TEST_TMPDIR"
	timeout 900 python3 -B "$NB_TOP/tests/view/box.py"
}

@test "the page is one file of at most 150 kB that names no other place" {
	awk -f "$NB_TOP/tools/nb-view/page/join.awk" "$NB_TOP/tools/nb-view/page/page.html" >"$BATS_TEST_TMPDIR/page.html"
	[ "$(wc -c <"$BATS_TEST_TMPDIR/page.html")" -le 150000 ]
	run ! grep -nE '^@include|https?://[^w]|(src|href)="[^d]|@import|url\(' "$BATS_TEST_TMPDIR/page.html"
}
