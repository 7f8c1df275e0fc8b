#!/usr/bin/env bats
# Faults that make torture has found, each by itself, and that its drivers see what they are for.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	[ "${NB_BIN##*san/bin}" ] || return 0
	make_here torture-programs
	nb-gen plummer -n 10 --no-history >ten.nb
}

setup() {
	[ "${NB_BIN##*san/bin}" ] || skip 'AddressSanitizer takes no library before it'
	cd "$BATS_FILE_TMPDIR" || return 1
	TORTURE=${NB_BIN%/bin}/tests/torture
}

# with_fault 'PROGRAM CALL K ERROR' COMMAND
with_fault() {
	run env PATH="$TORTURE/bin:$PATH" NB_FAULT="$1" LD_PRELOAD="$TORTURE/faults.so" timeout 300 bash -o pipefail -c "$2"
}

@test "a program that cannot hear whether its work was taken over does not do it a second time" {
	nb-gen plummer -n 10 | nb-force -j 2 | nb-stats >want.txt
	with_fault 'nb-gen recvmsg 2 ENOMEM' 'nb-gen plummer -n 10 | nb-force -j 2 | nb-stats'
	[ "$status" -eq 0 ]
	equals "$output" "$(cat want.txt)"
}

@test "a program that has no memory for the work of another lets it go on by itself" {
	for ((k = 1; k <= 16; k++)); do
		with_fault "nb-stats calloc $k+ ENOMEM" 'nb-gen plummer -n 10 | nb-force -j 2 | nb-stats'
		[ "$status" -ne 124 ] # it went on waiting
	done
}

@test "a program that cannot wait, or is not heard, does not keep the others waiting" {
	nb-gen plummer -n 10 >in.nb
	with_fault 'nb-sort-zorder poll 1+ ENOMEM' 'nb-gen plummer -n 10 | nb-sort-zorder | nb-build-tree | nb-force | nb-stats'
	[ "$status" -eq 1 ]
	[[ $output == *'nb-sort-zorder: cannot wait for input: Cannot allocate memory'* ]]
	with_fault 'nb-stats accept4 1+ EMFILE' 'nb-gen plummer -n 10 | nb-force | nb-stats' # goes on with bytes
	[ "$status" -eq 0 ]
	for k in 1 2 3 4; do
		with_fault "nb-step sendmsg $k EAGAIN" "nb-step -d 0.01 -k 2 'nb-force -e 0.1' <in.nb >out.nb"
		[ "$status" -le 1 ]
	done
}

@test "where there is no shell, nb-step says so" {
	with_fault 'nb-step posix_spawn 1 ENOENT' "nb-step -d 0.01 -k 2 'nb-force -e 0.1' <ten.nb"
	[ "$status" -eq 1 ]
	equals "$output" "nb-step: force pipeline 'nb-force -e 0.1' cannot be started: there is no /bin/sh, which runs it"
}

@test "a frame is written whole or not at all, whichever request for memory fails" {
	nb-force -e 0.1 <ten.nb >want.nb
	for ((k = 1; k <= 60; k++)); do
		with_fault "nb-force malloc $k ENOMEM" 'nb-force -e 0.1 <ten.nb >got.nb'
		if [ "$status" -eq 0 ]; then
			cmp want.nb got.nb
		else
			[ "$status" -eq 1 ]
			[[ $output == nb-force:* ]]
		fi
	done
}

@test "a fault that is let through is a finding, and so is a stream that is taken although it is cut" {
	# a program that does not look at what it writes
	mkdir -p careless
	printf '#!/bin/sh\n/usr/bin/head -c 100 /dev/zero 2>/dev/null\nexit 0\n' >careless/nb-gen
	chmod +x careless/nb-gen
	run "$TORTURE/inject" --bin careless --library "$TORTURE/faults.so" --seeds . --only 'nb-gen solar'
	[ "$status" -ne 0 ]
	[[ $output == *'faults.so sees no call of nb-gen'* ]]
	# two streams one after the other: a cut behind the first is none
	cat ten.nb ten.nb >twice.nb
	run "$TORTURE/vary" --cuts --sample 50 --findings . twice.nb
	[ "$status" -eq 0 ]
	[[ $output =~ right\ [0-9]+\ refused\ [1-9] ]]
}

@test "of two threads of a program that fail at once, one says why" {
	for ((k = 0; k < 3; k++)); do cat ten.nb; done >frames.nb
	for ((k = 10; k <= 60; k++)); do
		with_fault "nb-select calloc $k+ ENOMEM" "nb-select --where 'r < 1' --sample 3 --sort -x --drop vel <frames.nb >out.nb"
		[ "${#lines[@]}" -le 1 ]
	done
}

@test "a program without a backend says in which frame memory ran out" {
	local failed=0
	for ((k = 1; k <= 40; k++)); do
		with_fault "nb-select aligned_alloc $k+ ENOMEM" "nb-select --where 'r < 9' --sample 3 --sort -x <ten.nb >out.nb"
		[ "$status" -le 1 ]
		[ "${#lines[@]}" -le 1 ]
		[[ $output != *'frame 0: out of memory' ]] || failed=1
	done
	[ $failed = 1 ]
}

@test "an array beside a TIPSY file is read, or the file is refused, whichever call fails" {
	nb-select --sort -x <ten.nb | nb-convert -q --to tipsy -o beside
	nb-convert --no-history --from tipsy beside >want.nb
	for fault in 'open 2' 'open 2+' 'fstat 2' 'fstat 3' 'lseek 1+' 'lseek 2' 'read 2'; do
		with_fault "nb-convert $fault EIO" 'nb-convert --no-history --from tipsy beside >got.nb'
		if [ "$status" -eq 0 ]; then
			cmp want.nb got.nb
		else
			[ "$status" -eq 1 ]
			[ "${#lines[@]}" -eq 1 ]
		fi
	done
}

@test "an array beside a TIPSY file that may not be read is told" {
	nb-select --sort -x <ten.nb | nb-convert -q --to tipsy -o beside
	with_fault 'nb-convert open 3 EACCES' 'nb-convert --from tipsy beside >out.nb'
	[ "$status" -eq 0 ]
	[ "$output" = 'nb-convert: beside.iord is not read: Permission denied' ]
}

@test "nobody waits for the process that reads HDF5 when it is not heard" {
	nb-convert --to gadget-hdf5 -o ten.hdf5 <ten.nb 2>err || skip "$(cat err)"
	nb-convert --from gadget-hdf5 ten.hdf5 >out.nb 2>err || skip "$(cat err)"
	for fault in 'read 2 EIO' 'read 2 EAGAIN' 'read 3 EIO' 'send 1 ENOMEM'; do
		with_fault "nb-convert $fault" 'nb-convert --from auto ten.hdf5 >out.nb'
		[ "$status" -le 1 ] # 124: it waited
		[ "$status" -eq 0 ] || [ ! -s out.nb ]
	done
}

@test "csv is read or refused, whichever request for memory fails" {
	nb-convert --to csv <ten.nb >ten.csv
	for ((k = 30; k <= 50; k++)); do
		with_fault "nb-convert malloc $k ENOMEM" 'nb-convert --from csv ten.csv >got.nb'
		[ "$status" -le 1 ]
	done
}
