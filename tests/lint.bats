#!/usr/bin/env bats
# tests/lint: that its rules find what they are for.

load helper

@test "conditions of a bats file that cannot fail are found where they begin, and nothing else" {
	cd "$NB_TOP/tests"
	grep -n '# bad' data/conditions.txt | cut -d: -f1 >"$BATS_TEST_TMPDIR/want"
	awk -f bats-conditions.awk data/conditions.txt | cut -d: -f2 >"$BATS_TEST_TMPDIR/got"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/want")" -ge 14 ]
	diff "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got"
	# each file on its own: what one leaves open does not reach the next
	printf '@test "x" {\n\techo "$(echo\n' >"$BATS_TEST_TMPDIR/open.bats"
	run awk -f bats-conditions.awk "$BATS_TEST_TMPDIR/open.bats" data/conditions.txt
	[ "${#lines[@]}" -eq "$(wc -l <"$BATS_TEST_TMPDIR/want")" ]
}
