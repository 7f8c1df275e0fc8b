#!/usr/bin/env bats
# nb-build-tree: the tree and the boxes are what the page says; degenerate input neither hangs nor crashes.
# as a filter: nb-build-tree

load helper


setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

check_tree() { # check_tree FILE LEAF: invariants and moments, in python
	for c in pos mass node_first node_count node_child node_nchild node_box node_com node_mass; do
		mutate show $c <"$1" >$c.txt
	done
	python3 - "$2" <<-'END'
		import sys
		leaf = int(sys.argv[1])
		def load(name, kind): return [[kind(x) for x in line.split()] for line in open(name + ".txt")]
		pos, mass = load("pos", float), [m[0] for m in load("mass", float)]
		first, count, child, nchild = ([r[0] for r in load("node_" + k, int)] for k in ("first", "count", "child", "nchild"))
		box, com, total = load("node_box", float), load("node_com", float), [r[0] for r in load("node_mass", float)]
		n, nodes = len(pos), len(first)
		assert first[0] == 0 and count[0] == n
		seen = {0}
		for k in range(nodes):
		    members = range(first[k], first[k] + count[k])
		    if nchild[k]:
		        assert count[k] > leaf and 2 <= nchild[k] <= 8 and child[k] > k
		        children = set(range(child[k], child[k] + nchild[k]))
		        assert not children & seen
		        seen |= children
		        assert [first[c] for c in range(child[k], child[k] + nchild[k])] == \
		            [first[k] + sum(count[child[k]:c]) for c in range(child[k], child[k] + nchild[k])]
		        assert sum(count[child[k]:child[k] + nchild[k]]) == count[k]
		    m = sum(mass[i] for i in members)
		    assert abs(total[k] - m) <= 1e-12 * m
		    for d in range(3):
		        xs = [pos[i][d] for i in members]
		        assert box[k][d] == min(xs) and box[k][3 + d] == max(xs)
		        assert abs(com[k][d] - sum(mass[i] * pos[i][d] for i in members) / m) <= 1e-12 * (1 + abs(com[k][d]))
		assert seen == set(range(nodes))
	END
}

# bats test_tags=once
@test "children partition their parents; boxes, masses and centres are exact" {
	nb-gen plummer -n 1500 | nb-sort-zorder | nb-build-tree -l 8 >t.nb
	check_tree t.nb 8
	nb-gen clusters -n 1001 | nb-sort-zorder | nb-build-tree -l 1 >t.nb
	check_tree t.nb 1
	nb-gen uniform --dim 2 -n 1001 | nb-sort-zorder | nb-build-tree >t.nb
	check_tree t.nb 16
}

@test "n = 0, 1, 2 and coincident bodies" {
	nb-gen plummer -n 0 | nb-sort-zorder | nb-build-tree | nb-stats --check
	for n in 1 2; do
		nb-gen plummer -n $n | nb-sort-zorder | nb-build-tree -l 1 >t.nb
		check_tree t.nb 1
	done
	{ echo id,mass,x,y,z,vx,vy,vz; for i in $(seq 300); do echo "$i,1,0.5,0.5,0.5,0,0,0"; done; } |
		nb-convert --from csv | nb-sort-zorder | nb-build-tree -l 4 >t.nb
	[ "$(mutate show node_count <t.nb)" = 300 ]
}

# bats test_tags=once
@test "a million coincident and a million nearly coincident bodies pass tree and force" {
	for spread in 0 1e-14; do
		awk -v spread=$spread 'BEGIN { srand(1); print "id,mass,x,y,z,vx,vy,vz"
			for (i = 0; i < 1000000; i++) printf "%d,1e-6,%.17g,0.25,0.125,0,0,0\n", i, 0.5 + spread * rand() }' |
			nb-convert --from csv >c.nb
		timeout 1200 bash -o pipefail -c 'nb-sort-zorder <c.nb | nb-build-tree | nb-force -t 0.7 -e 0.01 | nb-stats --check'
	done
}

@test "orders 1 and 2: without and with second moments" {
	nb-gen plummer -n 100 | nb-sort-zorder >s.nb
	[ "$(nb-build-tree -p 1 <s.nb | nb-stats --fields | grep -c node_quad)" -eq 0 ]
	[ "$(nb-build-tree -p 2 <s.nb | nb-stats --fields | grep -c node_quad)" -eq 1 ]
}

@test "boxes: occupancy and neighbours, in 2-D and 3-D" {
	nb-gen uniform --dim 2 -n 500 | nb-sort-zorder | nb-build-tree --kind boxes --level 2 >b.nb
	# corner 3, edge 5, middle 8 neighbours: 4 corners, 8 edges, 4 in the middle
	[ "$(mutate show box_neighbour <b.nb | awk '{ n = 0; for (i = 1; i <= NF; i++) n += $i >= 0; print n }' | sort -n | uniq -c |
		tr -s ' \n' ' ')" = ' 4 3 8 5 4 8 ' ]
	[ "$(mutate show box_first <b.nb | wc -l)" -eq 16 ]
	nb-gen uniform -n 500 | nb-sort-zorder | nb-build-tree --kind boxes --level 2 >b.nb
	[ "$(mutate show box_neighbour <b.nb | awk '{ n = 0; for (i = 1; i <= NF; i++) n += $i >= 0; print n }' | sort -n | uniq -c |
		tr -s ' \n' ' ')" = ' 8 7 24 11 24 17 8 26 ' ]
	# neighbours are mutual
	mutate show box_neighbour <b.nb | awk '{ for (i = 1; i <= NF; i++) if ($i >= 0) p[NR - 1, $i] = 1 }
		END { for (k in p) { split(k, a, SUBSEP); if (!((a[2], a[1]) in p)) exit 1 } }'
}

@test "bodies that are not sorted, or moved since, are refused" {
	nb-gen plummer -n 100 >p.nb
	fails_with 1 "frame 0 is not sorted (put 'nb-sort-zorder' before)" 'nb-build-tree <p.nb'
	nb-sort-zorder <p.nb | mutate set pos 7 1 0.5 >moved.nb
	fails_with 1 "is stale: bodies have moved since (put 'nb-sort-zorder' before)" 'nb-build-tree <moved.nb'
}

@test "bodies with one key are refused where they are not in order" {
	{
		echo id,mass,x,y,z,vx,vy,vz
		echo 0,1,1,1,1,0,0,0
		awk 'BEGIN { for (i = 1; i < 40; i++) printf "%d,1,%.17g,0,0,0,0,0\n", i, 1e-9 * i }'
	} | nb-convert --from csv | nb-sort-zorder >s.nb
	nb-build-tree -l 4 <s.nb | nb-stats --check
	[ "$(nb-build-tree -l 4 <s.nb | mutate show node_count | wc -l)" -gt 10 ]
	mutate set pos 3 0 30e-9 <s.nb >bad.nb
	fails_with 1 "bodies of frame 0 with one key are not in order (put 'nb-sort-zorder' before)" 'nb-build-tree -l 4 <bad.nb'
}

@test "options are checked" {
	nb-gen plummer -n 100 | nb-sort-zorder >s.nb
	fails_with 2 "invalid leaf-size '0'" 'nb-build-tree -l 0 <s.nb'
	fails_with 2 "invalid order '3'" 'nb-build-tree -p 3 <s.nb'
	fails_with 2 "'--level' needs '--kind boxes'" 'nb-build-tree --level 3 <s.nb'
	fails_with 1 'no quadtree' 'nb-build-tree --kind quadtree <s.nb'
	fails_with 1 'limit 8 in 3-D' 'nb-build-tree --kind boxes --level 9 <s.nb'
}

@test "boxes in the place of a tree leave none of its attributes, nor a tree those of boxes" {
	nb-gen plummer -n 500 | nb-sort-zorder | nb-build-tree -l 8 >t.nb
	nb-build-tree --kind boxes --level 2 <t.nb | nb-stats --attributes >boxes.txt
	grep -q 'level' boxes.txt
	[ "$(grep -cE 'leaf_size|order' boxes.txt)" -eq 0 ]
	nb-build-tree --kind boxes --level 2 <t.nb | nb-build-tree | nb-stats --attributes >tree.txt
	grep -q 'leaf_size' tree.txt
	[ "$(grep -c 'level' tree.txt)" -eq 0 ]
}
