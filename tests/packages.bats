#!/usr/bin/env bats
# The archive of a release, and the packages that are made of it.
# bats file_tags=once

load helper

@test "an archive of a release has the same bytes from git under another umask and from itself, and one version" {
	[ -e "$NB_TOP/.git" ] || skip 'no git'
	cd "$BATS_TEST_TMPDIR" || return 1
	local archive
	git clone -q "$NB_TOP" one
	make -s -C one dist >sums
	archive=$(echo one/build/release/*.tar.gz)
	equals "${archive##*/}" "$(nb --version | tr ' ' -).tar.gz"
	tar -xzf "$archive"
	(umask 077 && git clone -q "$NB_TOP" two && make -s -C two dist)
	touch two/tests/*
	make -s -C "$(nb --version | tr ' ' -)" dist
	for folder in two nb-*; do cmp "$archive" "$folder/build/release/${archive##*/}"; done
	equals "$(tar -tzf "$archive" | grep -vc '/$')" "$(git -C one ls-files | wc -l)"
	echo more >>two/README.md
	run make -s -C two dist
	[[ $status -ne 0 && ${lines[0]} == 'make dist: uncommitted changes'* ]]
	git -C two checkout -q .
	run make -s -C two dist VERSION=9.0
	[[ $status -ne 0 && ${lines[0]} == "make dist: NEWS begins with 'nb "*"', and the Makefile has 9.0" ]]
}
