#!/usr/bin/env bats
# What the attack on a GPU (tests/torture/run-gpu) is made of, where there is none.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	local cc="${CC:-cc} -std=c17 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror" from=$NB_TOP/tests/torture
	[ "$(uname -m)" = x86_64 ] || return 0
	$cc -shared -fPIC -o driver.so "$from/driver.c" -ldl
	$cc -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so.1 "$from/dummy-driver.c"
	$cc -o client "$from/dummy-client.c" -ldl
	LD_LIBRARY_PATH=. ./client >whole
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
	[ -e client ] || skip 'the stubs are for x86-64'
}

# attack VARIABLE=VALUE...: the client with a driver that fails
attack() { env LD_LIBRARY_PATH=. LD_PRELOAD=./driver.so "$@" ./client; }

@test "the driver that can fail passes on every argument and result, and counts the calls of each kind" {
	[ "$(wc -l <whole)" -eq 21 ]
	grep -qx 'launch 1 2 3 4 5 6 7 8 9 10 11' whole
	grep -qx 'copy 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5 9.5' whole
	attack NB_DRIVER_COUNT=count | cmp - whole
	equals "$(grep -v ' 0$' count | sort | xargs)" 'allocate 3 any 9 copy 3 launch 3'
}

@test "the call that is to fail does so, alone, from then on, or with all others" {
	equals "$(attack NB_DRIVER_FAIL=launch:2 NB_DRIVER_ERROR=700 | grep -c '^launch')" 2
	equals "$(attack NB_DRIVER_FAIL=launch:2 NB_DRIVER_ERROR=700 | grep -xc '2: 700')" 1
	equals "$(attack NB_DRIVER_FAIL=allocate:2:from NB_DRIVER_REPORT=report | grep '^[0-9]: 2, at' | xargs)" '2: 2, at 0 3: 2, at 0'
	equals "$(cat report)" cuMemAlloc
	equals "$(attack NB_DRIVER_FAIL=any:5:lost NB_DRIVER_ERROR=46 | grep -c ': 46')" 5
	equals "$(attack NB_DRIVER_FAIL=any:5:lost NB_DRIVER_ERROR=46 | grep -c 'an error')" 3
	run attack NB_DRIVER_FAIL=nothing:1
	[ "$status" -eq 99 ]
}

@test "a number of a stream is another one, with right checksums" {
	mkdir -p from to
	nb-gen plummer -n 100 | nb-sort-zorder | nb-build-tree -l 4 >from/t.nb
	printf '%s\n' 't node_count 2 0 77' 't mass 3 0 nan' 't mass 1000 0 1' 't nothing 0 0 0' |
		python3 "$NB_TOP/tests/torture/damage.py" from to
	equals "$(cd to && echo *)" 't-mass-3-0-nan.nb t-node_count-2-0-77.nb'
	nb-stats --fields <to/t-node_count-2-0-77.nb >/dev/null
	equals "$(mutate show node_count <to/t-node_count-2-0-77.nb | sed -n 3p)" 77
	fails_with 1 'corrupt tree' 'nb-force -e 0.1 <to/t-node_count-2-0-77.nb'
}
