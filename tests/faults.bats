#!/usr/bin/env bats
# Bad input and bad output, for every program: one line on stderr, exit 1 (2 for usage), no end marker.

load helper

# Every program that reads a stream, with options that a small frame with acc satisfies: the test file of a program says
# in lines "# as a filter:" how it is called, or none.
mapfile -t FILTERS < <(sed -n '/none$/d; s/^# as a filter: //p' "$NB_TOP"/tests/nb-*.bats)


setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 3 --no-history | nb-sort-zorder --no-history | nb-force --no-history -m direct >one.nb
	cat one.nb one.nb >two.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "the test file of every program says how it is called as a filter" {
	for t in "${NB_TOOLS[@]}"; do
		grep -qE "^# as a filter: ($t( |\$)|none\$)" "$NB_TOP/tests/$t.bats" || { echo "$t"; return 1; }
	done
	[ ${#FILTERS[@]} -ge 8 ]
}

@test "no bytes at all are a truncated stream" {
	for f in "${FILTERS[@]}"; do
		fails_with 1 'truncated stream' "$f </dev/null"
		fails_with 1 'truncated stream' "cat /dev/null | $f"
	done
}

# bats test_tags=once
@test "a file that becomes shorter while it is read ends every filter with one line, folded or not" {
	local f fold code cut=0
	cut_it() { head -c 1 >first; truncate -s 1000 shrinks.nb; cat >rest; }
	nb-gen plummer -n 9000 | nb-sort-zorder | nb-force -m direct >long.nb
	for f in "${FILTERS[@]}" 'nb-transform --shift 1,2,0 | nb-sort-zorder'; do
		for fold in on off; do
			cat long.nb long.nb long.nb long.nb >shrinks.nb
			code=0
			# the first byte of what is written says that the file is being read; then the pipe is full
			# (outside of the braces bash would start cut_it as a child of the command, and not wait for it)
			{ NB_FOLD=$fold bash -o pipefail -c "$f" <shrinks.nb 2>said || code=$?; } > >(cut_it)
			wait $!
			case $code in
			0) [ ! -s said ] ;; # it had read all
			1) head -n 1 said | grep -q 'truncated stream: ' && { [ "$(wc -l <said)" -eq 1 ] || [[ $f == *'|'* ]]; } ;;
			*) false ;;
			esac || { echo "status $code: $f"; cat said; return 1; }
			cut=$((cut + $(grep -c 'has become shorter while it was read$' said || :)))
		done
	done
	[ $cut -ge 10 ]
}

# bats test_tags=once
@test "a header that claims 20 million bodies costs no filter memory, and 40000 attributes cost no time" {
	[[ $NB_BIN != */san/* ]] || skip 'sanitizers take memory of their own'
	python3 - "${FILTERS[@]}" <<-'END'
		import resource, struct, subprocess, sys, zlib
		rows, entries, up = 20000000, b"", lambda n: (n + 63) // 64 * 64
		whole = offset = 128 + 64 + 4 * 128
		for name, dtype, ncomp, unit in (b"id", b"<u8", 1, b""), (b"mass", b"<f8", 1, b"mass"), (b"pos", b"<f8", 3, b"length"), (b"vel", b"<f8", 3, b"velocity"):
		    entries += struct.pack("<32s8sIII4x24sQQ32x", name, dtype, 0, ncomp, 0, unit, offset, rows * 8 * ncomp)
		    offset += up(rows * 8 * ncomp)
		def head(crc):
		    h = struct.pack("<8sHHIIIQQQQQIIQ", b"\x89NBS\r\n\x1a\n", 1, 0, 128, 1, crc, 0, rows, 0, 0, 7, 4, 128, offset - whole + 64)
		    return h.ljust(128, b"\0") + b"time=0\n".ljust(64, b"\0") + entries
		for f in sys.argv[1:]:
		    done = subprocess.run(["bash", "-c", "exec " + f], input=head(zlib.crc32(head(0))), capture_output=True)
		    assert done.returncode == 1 and done.stderr.count(b"\n") == 1, (f, done)
		    # of all so far, in KiB
		    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 200 << 10, f
	END
	# linear: 0.1 s; with each compared to all others 3.5 s
	awk 'BEGIN { print "# nb-stream 1"; print "# time=0"; for (i = 0; i < 40000; i++) print "# k" i "=v"
		print "id,mass,x,y,z,vx,vy,vz"; print "0,1,0,0,0,0,0,0" }' >many.csv
	for c in 'nb-convert --from csv many.csv' 'nb-merge --ids offset many.nb many.nb'; do
		(ulimit -t 2; $c >out.nb) || { echo "$c"; return 1; }
		[ -e many.nb ] || mv out.nb many.nb
	done
	equals "$(nb-stats --attributes <many.nb | grep -c '^k[0-9]*=v$')" 40000
}

@test "the failure of any program reaches the end of the pipe, even without pipefail" {
	run bash -c 'false | nb-stats'
	[ "$status" -eq 1 ]
	run bash -c 'nb-gen plummer -n 10 | false | nb-sort-zorder | nb-stats 2>/dev/null'
	[ "$status" -eq 1 ]
}

@test "an end marker alone is a stream without frames" {
	head -c 0 /dev/null | python3 -c '
import struct, sys, zlib
h = bytearray(128); h[:8] = b"\x89NBS\r\n\x1a\n"
struct.pack_into("<HHII", h, 8, 1, 0, 128, 2); struct.pack_into("<I", h, 68, 128)
struct.pack_into("<I", h, 20, zlib.crc32(bytes(h))); sys.stdout.buffer.write(h)' >end.nb
	[ "$(stat -c %s end.nb)" -eq 128 ]
	for f in "nb-sort-zorder" "nb-build-tree" "nb-force" "nb-step -d 0.01"; do
		$f <end.nb >out.nb
		cmp end.nb out.nb
	done
	for f in "nb-stats" "nb-stats --check" "nb-render-ppm -W 16 -H 16"; do
		$f <end.nb >/dev/null
	done
}

# bats test_tags=once
@test "a stream cut at any byte of its header is truncated" {
	local each=1 f='nb-sort-zorder'
	[[ $NB_BIN != */san/* ]] || each=9
	for ((cut = 1; cut < 128; cut += each)); do
		head -c $cut one.nb >cut.nb
		fails_with 1 'truncated stream' "$f <cut.nb"
	done
	for f in "${FILTERS[@]}"; do
		for cut in 1 7 8 19 20 63 64 127; do
			head -c $cut one.nb >cut.nb
			fails_with 1 'truncated stream' "cat cut.nb | $f"
		done
	done
}

# bats test_tags=once
@test "a stream cut anywhere behind its header is truncated" {
	size=$(stat -c %s one.nb)
	for f in "${FILTERS[@]}"; do
		for ((cut = 128; cut < size - 128; cut += 192)); do
			head -c $cut one.nb >cut.nb
			fails_with 1 'truncated stream' "$f <cut.nb"
			fails_with 1 'truncated stream' "cat cut.nb | $f"
		done
	done
}

# bats test_tags=once
@test "a stream cut at a frame boundary is truncated" {
	size=$(stat -c %s one.nb)
	for f in "${FILTERS[@]}"; do
		head -c $((size - 128)) one.nb >cut.nb
		run bash -c "$f <cut.nb 2>&1 >out.nb"
		[ "$status" -eq 1 ]
		[[ $output == *'no end marker after frame 0'* ]]
		# whatever was written is not a complete stream
		if [[ $f != nb-stats* && $f != nb-render* && $f != nb-convert* ]]; then
			run nb-stats --check <out.nb
			[ "$status" -eq 1 ]
		fi
		head -c $((size + size - 128)) two.nb >cut.nb
		run bash -c "$f <cut.nb 2>&1 >/dev/null"
		[ "$status" -eq 1 ]
		[[ $output == *'no end marker after frame 1'* ]]
	done
}

@test "cat a b is a stream" {
	for f in "${FILTERS[@]}"; do
		$f <two.nb >/dev/null
		cat two.nb | $f >/dev/null
	done
}

# bats test_tags=once
@test "a flipped bit in header or column is caught by its CRC" {
	size=$(stat -c %s one.nb)
	{ mutate show pos <one.nb; mutate show id <one.nb; mutate show acc <one.nb; } >shown
	for ((at = 24; at < size - 128; at += 131)); do
		mutate flip $at <one.nb >flip.nb
		if cmp -s shown <(mutate show pos <flip.nb; mutate show id <flip.nb; mutate show acc <flip.nb) 2>/dev/null; then
			continue # the flip hit padding or an attribute
		fi
		fails_with 1 'corrupt stream' 'nb-stats --check <flip.nb'
		fails_with 1 'corrupt stream' 'nb-sort-zorder <flip.nb'
	done
	mutate flip 21 <one.nb >flip.nb
	for f in "${FILTERS[@]}"; do
		fails_with 1 'wrong CRC' "$f <flip.nb"
	done
}

@test "what is not a stream is refused by its magic" {
	for f in "${FILTERS[@]}"; do
		fails_with 1 'not a particle stream' "head -c 500 /dev/zero | $f"
		fails_with 1 'not a particle stream' "echo 'N-body data, as text' | $f"
	done
	sed 's/\r$//' one.nb >text.nb
	fails_with 1 'text-mode' 'nb-sort-zorder <text.nb'
}

@test "a position, velocity or mass that is not finite is refused with the id of its body" {
	for value in nan inf -inf; do
		for field in pos vel mass; do
			[[ $NB_BIN != */san/* || $value$field == @(nanpos|infvel|-infmass) ]] || continue
			mutate set $field 1 0 $value <one.nb >bad.nb
			id=$(mutate show id <one.nb | sed -n 2p)
			for f in "${FILTERS[@]}"; do
				[[ $f == nb-convert* || $f == nb-plot* || $f == nb-view* ]] && continue # show what is there
				run bash -c "$f <bad.nb 2>&1 >/dev/null"
				[ "$status" -eq 1 ]
				[[ $output == *"id $id "*'not finite'* ]]
			done
		done
	done
}

@test "a negative mass is refused" {
	mutate set mass 0 0 -1 <one.nb >bad.nb
	fails_with 1 "field 'mass' of the body with id" 'nb-force -m direct <bad.nb'
}

@test "a full disk is an error" {
	for f in "${FILTERS[@]}" ; do
		run bash -c "$f <one.nb >/dev/full"
		[ "$status" -eq 1 ]
		[[ $output == *'No space left on device'* ]]
	done
	run bash -c 'nb-gen plummer -n 10 >/dev/full'
	[ "$status" -eq 1 ]
	run bash -c 'nb-gen plummer -n 100000 >/dev/full'
	[ "$status" -eq 1 ]
	for t in "${NB_TOOLS[@]}"; do
		run bash -c "$t --help >/dev/full"
		case $t in
		nb-diff) [ "$status" -eq 2 ] ;; # 1 means that streams differ
		*) [ "$status" -eq 1 ] ;;
		esac
	done
}

@test "a file that may not grow any further (ulimit -f) is an error like a full disk, in one line" {
	for f in 'nb-gen plummer -n 3' "${FILTERS[@]}"; do
		run bash -c "ulimit -f 0; $f <one.nb 2>&1 >limited"
		[[ $status == 1 && ${output##*$'\n'} == "${f%% *}: "*': File too large' ]] || { echo "$f: $status $output"; return 1; }
	done
	nb-gen plummer -n 5000 >more.nb
	run bash -c 'ulimit -f 1; nb-sort-zorder more.nb 2>&1 >limited'
	[ "$status" -eq 1 ]
	equals "$output" 'nb-sort-zorder: write error: File too large'
	[ "$(stat -c %s limited)" -eq 1024 ] # as the shell counts
	run bash -c 'ulimit -f 1; nb-sort-zorder -o limited.nb more.nb'
	[ "$status" -eq 1 ]
	equals "$output" 'nb-sort-zorder: write error: File too large'
	[ ! -e limited.nb ]
}

# bats test_tags=once
@test "a closed reader ends each program by SIGPIPE" {
	nb-gen plummer -n 100000 | nb-sort-zorder | nb-build-tree | nb-force -t 1 -e 0.1 >big.nb
	for f in 'nb-gen plummer -n 100000' 'nb-sort-zorder' 'nb-build-tree' 'nb-force -t 2' 'nb-step -d 0.01' 'nb-convert --to csv' \
		'nb-render-ppm -W 640 -H 480'; do
		run bash -c "$f <big.nb | head -c 1000 >/dev/null; echo \${PIPESTATUS[0]}"
		[ "$output" = 141 ]
	done
	rm big.nb
}

@test "usage errors exit 2 with one line and no output" {
	local -A own=([nb-step]='-d 1' [nb-calc]='e=1' [nb-groups]='-l 1' [nb-neighbours]='--nearest 1' [nb-extra]='gr:c=1' [nb-field]='point:m=1' [nb-transform]='--shift 1,0,0' [nb-plot]='energy') # what must stand before a file
	for t in "${NB_TOOLS[@]}"; do
		fails_with 2 'unknown' "$t --no-such-option <one.nb"
		fails_with 2 'unknown' "$t -~ <one.nb"
		if "$t" --help | grep -q '^usage: .*\[FILE \.\.\.\]'; then
			fails_with 1 "No such file or directory" "$t ${own[$t]:-} one two three <one.nb"
		elif [ "$t" != nb-merge ]; then
			fails_with 2 "operand" "$t one two three <one.nb"
		fi
	done
	for t in nb-sort-zorder nb-build-tree nb-force nb-stats; do
		fails_with 2 "invalid threads '0' (want an integer from 1 to 4096)" "$t -j 0 <one.nb"
		fails_with 2 "invalid threads '2x'" "$t -j 2x <one.nb"
		fails_with 2 'needs an argument' "$t --threads <one.nb"
	done
	fails_with 2 "invalid softening '-1' (want a number >= 0)" 'nb-force -e -1 <one.nb'
	fails_with 2 "invalid softening 'nan' (want a number >= 0)" 'nb-force -e nan <one.nb'
	fails_with 2 "invalid softening '1e999' (want a number >= 0)" 'nb-force -e 1e999 <one.nb'
	fails_with 2 'invalid backend' 'nb-force -b gpu <one.nb' || fails_with 2 "backend 'gpu'" 'nb-force -b gpu <one.nb'
}

@test "help and version go to stdout with exit 0" {
	for t in "${NB_TOOLS[@]}"; do
		run --separate-stderr "$t" --help
		[ "$status" -eq 0 ]
		[[ $output == "usage: $t "* ]]
		[ -z "$stderr" ]
		run --separate-stderr "$t" -V
		[ "$status" -eq 0 ]
		[[ $output == "$t (nb) "[0-9]* ]]
	done
}

@test "an unknown column passes through every filter and is sorted with its bodies" {
	nb-gen plummer -n 257 --no-history | mutate add strange >u.nb
	for f in 'nb-sort-zorder' 'nb-sort-zorder | nb-build-tree' 'nb-force' \
		'nb-sort-zorder | nb-build-tree | nb-force -t 0.5 | nb-step -d 0.01'; do
		bash -o pipefail -c "cat u.nb | $f >v.nb"
		mutate show id strange <v.nb |
			awk '$2 != 3 * $1 || $3 != 3 * $1 + 1 || $4 != 3 * $1 + 2 { bad = 1 } END { exit bad || NR != 257 }'
	done
}

# bats test_tags=once
@test "every filter that writes a stream keeps an unknown column with its bodies, and a sound stream" {
	nb-gen plummer -n 257 --no-history | mutate add strange | nb-sort-zorder | nb-force >u.nb
	for f in "${FILTERS[@]}"; do
		$f <u.nb >v.nb
		cmp -s -n 8 u.nb v.nb || continue # no stream
		echo "$f"
		nb-stats --check <v.nb
		mutate show id strange <v.nb |
			awk '$2 != 3 * $1 || $3 != 3 * $1 + 1 || $4 != 3 * $1 + 2 { bad = 1 } END { exit bad || NR != 257 }'
	done
}

# bats test_tags=once
@test "every filter gives the same bytes with 1 and 3 threads, and takes frames of 0, 1 and 2 bodies" {
	nb-gen plummer -n 5000 --no-history | nb-sort-zorder --no-history | nb-force --no-history >in.nb
	for n in 0 1 2; do nb-gen uniform -n $n | nb-sort-zorder | nb-force >in$n.nb; done
	for f in "${FILTERS[@]}"; do
		echo "$f"
		OMP_NUM_THREADS=1 $f <in.nb >one_thread
		OMP_NUM_THREADS=3 $f <in.nb >three_threads
		cmp one_thread three_threads
		for n in 0 1 2; do $f <in$n.nb >/dev/null; done
	done
}

@test "frames of 0, 1, 2, 255 and 257 bodies pass the whole chain" {
	for n in 0 1 2 255 257; do
		nb-gen uniform -n $n | nb-sort-zorder | nb-build-tree | nb-force -t 0.5 --potential -e 0.01 |
			nb-step -d 0.001 | nb-force -m direct >out.nb
		nb-stats --check <out.nb
		[ "$(mutate show acc <out.nb | wc -l)" -eq $n ]
		nb-render-ppm -W 16 -H 16 <out.nb >out.ppm
		[ "$(stat -c %s out.ppm)" -eq $((13 + 16 * 16 * 3)) ]
	done
}

# bats test_tags=once
@test "every program gives the same bytes with 1 and 2 threads" {
	nb-gen plummer -n 20000 --no-history -j 1 >one_thread.nb
	nb-gen plummer -n 20000 --no-history -j 2 >two_threads.nb
	cmp one_thread.nb two_threads.nb
	cp one_thread.nb in.nb
	for f in nb-sort-zorder nb-build-tree 'nb-force -t 0.6 -e 0.01 --potential' 'nb-step -d 0.01' 'nb-force -m direct --precision f32' \
		'nb-render-ppm -W 64 -H 64' ; do
		$f -j 1 <in.nb >one_thread.nb
		$f -j 2 <in.nb >two_threads.nb
		cmp one_thread.nb two_threads.nb
		[[ $f == nb-render* ]] || cp one_thread.nb in.nb
	done
	nb-stats -j 1 --format tsv <in.nb >one_thread.nb
	nb-stats -j 2 --format tsv <in.nb >two_threads.nb
	cmp one_thread.nb two_threads.nb
}
