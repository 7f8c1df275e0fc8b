#!/usr/bin/env bats
# nb-sort-zorder: keys, order, permutation of all columns.
# as a filter: nb-sort-zorder

load helper


setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# the Morton key in python, digit by digit, from positions and the cube of the stream
check_keys() { # check_keys FILE DIM
	mutate show key pos <"$1" >keys.txt
	nb-stats --attributes <"$1" 2>/dev/null | sed -n 's/^.*key_cube[= \t]*//p' | head -n 1 >cube.txt
	[ -s cube.txt ]
	python3 - "$2" <<-'END'
		import sys
		dim = int(sys.argv[1]); bits = {2: 31, 3: 21}[dim]
		cube = [float(x) for x in open("cube.txt").read().strip().split(",")]
		last = -1
		for line in open("keys.txt"):
		    key, *pos = line.split()
		    key = int(key); cell = [int((float(pos[d]) - cube[d]) / cube[3] * 2 ** bits) for d in range(dim)]
		    want = 0
		    for b in reversed(range(bits)):
		        for d in range(dim):
		            want = want << 1 | cell[d] >> b & 1
		    assert key == want, (key, want, pos)
		    assert key >= last
		    last = key
	END
}

@test "keys are those of the cells, and ascend, in 3-D and 2-D" {
	nb-gen plummer -n 2000 | nb-sort-zorder >s.nb
	check_keys s.nb 3
	nb-gen uniform --dim 2 -n 2000 | nb-sort-zorder >s.nb
	check_keys s.nb 2
	nb-gen plummer -n 2000 | nb-sort-zorder --dim 2 >s.nb
	check_keys s.nb 2
	nb-stats --attributes <s.nb | grep -q -x 'dim=2'
}

@test "every column goes with its body" {
	nb-gen plummer -n 5000 --no-history | mutate add strange >p.nb
	nb-sort-zorder --no-history <p.nb >s.nb
	for c in mass pos vel strange; do
		cmp <(mutate show id $c <p.nb | sort -n) \
			<(mutate show id $c <s.nb | sort -n)
	done
	run cmp -s <(mutate show id <p.nb) <(mutate show id <s.nb)
	[ "$status" -eq 1 ]
	# columns of several blocks, as positions and keys tell, and masses that are ids
	awk 'BEGIN { print "id,mass,x,y,z"; for (i = 0; i < 600000; i++) print i "," i "," i % 7 "," i % 11 "," i % 13 }' |
		nb-convert --from csv --no-history >many.nb
	NB_FOLD=off nb-sort-zorder <many.nb >sorted.nb
	nb-build-tree <sorted.nb >/dev/null
	nb-convert --no-comments --to csv <sorted.nb | awk -F, 'NR > 1 && !($1 == $2 && $3 == $1 % 7 && $5 == $1 % 13) { bad = 1 }
		END { exit bad || NR != 600001 }'
}

@test "the sort is stable, and sorting twice changes nothing" {
	nb-gen uniform -n 3000 --no-history | nb-sort-zorder --no-history >once.nb
	nb-sort-zorder --no-history <once.nb >twice.nb
	cmp once.nb twice.nb
	# bodies in one place keep their order
	{ echo id,mass,x,y,z,vx,vy,vz; for i in 5 3 9 1 7; do echo "$i,1,$((i % 2)),0,0,0,0,0"; done; echo 2,1,2,0,0,0,0,0; } |
		nb-convert --from csv | nb-sort-zorder >same.nb
	[ "$(mutate show id <same.nb | tr '\n' ' ')" = '5 3 9 1 7 2 ' ]
}

@test "positions may be the last column" {
	printf 'id,mass,x,y,z\n1,1,0,0,0\n2,1,1,1,1\n' | nb-convert --from csv >last.nb
	cat last.nb last.nb | NB_FOLD=off nb-sort-zorder | nb-stats --check
	NB_FOLD=off nb-sort-zorder <last.nb >sorted.nb
	[ "$(mutate show id <sorted.nb | tr '\n' ' ')" = '1 2 ' ]
	printf 'x' | dd of=last.nb bs=1 seek=$(($(stat -c %s last.nb) - 192)) conv=notrunc status=none
	fails_with 1 'has the wrong CRC' 'NB_FOLD=off nb-sort-zorder <last.nb'
}

@test "n = 0, 1, 2, 255, 257" {
	for n in 0 1 2 255 257; do
		nb-gen plummer -n $n | nb-sort-zorder >s.nb
		nb-stats --check <s.nb
		[ "$(mutate show key <s.nb | wc -l)" -eq $n ]
	done
}

@test "a cube of one's own is obeyed, and a body outside it refused" {
	nb-gen uniform -n 100 >u.nb
	nb-sort-zorder --cube=-10,-10,-10,20 <u.nb >s.nb
	check_keys s.nb 3
	fails_with 1 'outside the cube' 'nb-sort-zorder --cube 100,0,0,1 <u.nb'
	fails_with 1 'outside the cube' 'nb-sort-zorder --cube=-1,0,-1,2 <u.nb'
	fails_with 1 'outside the cube' 'nb-sort-zorder --cube=-1,-1,0,2 <u.nb'
	nb-sort-zorder --dim 2 --cube=-1,-1,0,2 <u.nb >s.nb
	fails_with 2 "invalid cube '1,2' (want x,y,z,edge" 'nb-sort-zorder --cube 1,2 <u.nb'
	fails_with 2 "invalid cube '0,0,0,0'" 'nb-sort-zorder --cube 0,0,0,0 <u.nb'
	fails_with 2 "invalid dim '4'" 'nb-sort-zorder --dim 4 <u.nb'
}

@test "the boxes of nb-gen boxes are those of the key cube" {
	nb-gen boxes --level 3 --per-box 5 | nb-sort-zorder | nb-build-tree --kind boxes --level 3 >b.nb
	[ "$(mutate show box_first <b.nb | awk '$1 != 5 * (NR - 1)' | wc -l)" -eq 0 ]
}

@test "several frames are sorted one by one" {
	nb-gen plummer -n 50 >a.nb
	nb-gen plummer -n 70 -s 5 | cat a.nb - | nb-sort-zorder >s.nb
	run nb-stats --check <s.nb
	[[ $output == *'2 frames'* ]]
}

@test "a tree is dropped, accelerations are kept" {
	nb-gen plummer -n 50 | nb-force | nb-sort-zorder | nb-build-tree | nb-sort-zorder | nb-stats --fields >fields
	[ "$(grep -c node_ fields)" -eq 0 ]
	grep -q acc fields
}

@test "memory stays below 1.2 times the frame" {
	[ -x "$NB_BIN/../tests/bench/measure" ] || make_here "${NB_BIN%/bin}/tests/bench/measure"
	[[ $NB_BIN == */san/* ]] && skip 'sanitizers use memory of their own'
	# the frame: 72 bytes a body with the key
	NB_FOLD=off nb-gen plummer -n 2000000 | "$NB_BIN/../tests/bench/measure" m.txt nb-sort-zorder -b cpu | nb-stats --check
	at_most "$((2000000 * 72 * 12 / 10 + 8000000))" "$(cut -d ' ' -f 3 m.txt)"
	# folded, the frame is there when the sort begins, and one column twice
	nb-gen plummer -n 2000000 | "$NB_BIN/../tests/bench/measure" f.txt nb-sort-zorder -b cpu | nb-stats --check
	at_most "$((2000000 * 72 * 15 / 10 + 8000000))" "$(cut -d ' ' -f 3 f.txt)"
}

# bodies in a core of 1e-9 of the extent, as CSV on standard output
core() { # core N
	awk -v n="$1" 'BEGIN { srand(5); print "id,mass,x,y,z,vx,vy,vz"; for (i = 0; i < n; i++) { s = i % 5 ? 1e-9 : 1
		printf "%d,1,%.17g,%.17g,%.17g,0,0,0\n", i, s * rand(), s * rand(), s * rand() } }'
}

@test "bodies with one key are in the order of deeper keys" {
	core 2000 | nb-convert --from csv | nb-sort-zorder >s.nb
	mutate show key pos <s.nb >rows.txt
	python3 - <<-'END'
		import math
		from fractions import Fraction
		rows = [line.split() for line in open("rows.txt")]
		def check(pos, depth):
		    """The deeper keys of these bodies ascend, and so do those of each part that they do not tell apart."""
		    lo = [min(p[d] for p in pos) for d in range(3)]
		    extent = max(max(p[d] for p in pos) - lo[d] for d in range(3))
		    if extent == 0:
		        return depth
		    edge = Fraction(2) ** math.frexp(extent)[1]
		    last, part, deepest = -1, [], depth
		    for p in pos + [None]:
		        key = None
		        if p:
		            cell = [int(Fraction(p[d] - lo[d]) / edge * 2 ** 21) for d in range(3)]
		            key = 0
		            for b in reversed(range(21)):
		                for d in range(3):
		                    key = key << 1 | cell[d] >> b & 1
		            assert key >= last, (key, last)
		        if key != last and len(part) > 1:
		            deepest = max(deepest, check(part, depth + 1))
		        part = part + [p] if key == last else [p]
		        last = key
		    return deepest
		key, part, most = None, [], 0
		for k, *p in rows + [[None]]:
		    if k != key:
		        if len(part) > 1:
		            most = max(most, len(part))
		            check(part, 1)
		        key, part = k, []
		    part.append([float(x) for x in p])
		assert most > 1000, most
	END
	# a leaf holds no more than it may
	nb-build-tree -l 4 <s.nb | mutate show node_count >count.txt
	nb-build-tree -l 4 <s.nb | mutate show node_nchild | paste count.txt - | awk '$2 == 0 && $1 > 4 { exit 1 }'
}

@test "bodies in one place keep their order" {
	core 200 | awk -F , -v OFS=, 'NR > 1 && NR % 3 == 0 { $3 = $4 = $5 = 1e-10 } { print }' | nb-convert --from csv |
		nb-sort-zorder >s.nb
	mutate show id pos <s.nb |
		awk '$2 == 1e-10 && $3 == 1e-10 { if ($1 < last) exit 1; last = $1; n++ } END { exit n != 67 }'
}
