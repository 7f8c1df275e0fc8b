#!/usr/bin/env bats
# nb-neighbours: the nearest bodies are those of all pairs, in every box, and densities follow from them.
# as a filter: nb-neighbours --radius 0.3

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# Bodies at x,y,z of each line of a file.
bodies() { { echo x,y,z; cat "$1"; } | nb-convert --from csv; }

# The value of an attribute of the stream on stdin.
attribute() { nb-stats --attributes | sed -n "s/^$1=//p"; }

@test "neighbours are those of all pairs by the distance of the nearest images, the smaller id first where they tie" {
	python3 - <<-'END'
		import random
		random.seed(3)
		with open("lattice", "w") as f, open("random", "w") as g:
		    for i in range(200):
		        f.write("%g,%g,%g\n" % tuple(random.randrange(8) / 8 for _ in range(3)))
		        g.write("%.17g,%.17g,%.17g\n" % tuple(random.random() * 1.5 - 0.2 for _ in range(3)))
	END
	for set in lattice random; do
		for edge in 0 1; do
			bodies $set | nb-calc "@box = $edge" | nb-neighbours --nearest 12 --ids --distances --radius 0.375 >n.nb
			mutate show pos neighbours distances n_within m_within hsml <n.nb >got
			python3 - $edge <<-'END'
				import sys
				box = float(sys.argv[1])
				rows = [list(map(float, line.split())) for line in open("got")]
				x = [[c % box if box else c for c in r[:3]] for r in rows]
				for i, r in enumerate(rows):
				    d2 = []
				    for j, p in enumerate(x):
				        d = [abs(a - b) for a, b in zip(x[i], p)]
				        d = [box - c if box and c > box / 2 else c for c in d]
				        d2.append((d[0] * d[0] + d[1] * d[1] + d[2] * d[2], j))
				    del d2[i]
				    d2.sort()
				    assert r[3:15] == [j for _, j in d2[:12]], (i, r)
				    assert all(abs(a - b[0] ** 0.5) < 1e-15 for a, b in zip(r[15:27], d2))
				    assert r[27] == r[28] == sum(a <= 0.375 ** 2 for a, _ in d2)
				    assert r[29] == r[26]
			END
		done
	done
}

@test "the density of a uniform box is its mass by volume, to the corners if it is periodic" {
	nb-gen uniform -n 20000 | nb-calc 'vx = x < 0 ? 3 : -3' 'vy = 0' 'vz = 0' '@box = 1' | nb-neighbours --nearest 64 --radius 0.1 >u.nb
	nb-calc '@mean = mean(density)' '@five = mean(density_5)' u.nb >m.nb
	close_to 1.169312 "$(attribute mean <m.nb)" 0.01 # the body itself adds 32 / (3 x 63), by chance alone
	close_to 1 "$(attribute five <m.nb)" 0.01
	nb-calc '@mean = mean(m_within)' u.nb >m.nb
	close_to 0.0041888 "$(attribute mean <m.nb)" 0.00003
	nb-select --where 'x > 0.2 && x < 0.3' u.nb | nb-calc '@most = max(vdisp)' | attribute most >moved
	at_most 1e-14 "$(<moved)"
	nb-gen uniform -n 20000 | nb-neighbours --nearest 64 | nb-select --where 'x < -0.49 && y < -0.49' | nb-calc '@mean = mean(density)' | attribute mean >open
	at_most 0.5 "$(<open)"
	nb-select --where 'abs(x) < 0.01' u.nb | nb-calc '@mean = mean(vdisp)' | attribute mean >border
	close_to 1.7 "$(<border)" 0.05 # half of 3, twice: (9 / 3)^(1/2) where each side has half of the neighbours
}

@test "columns of neighbours stay with their bodies, and without --nearest --radius adds its own alone" {
	nb-gen plummer -n 100 | nb-neighbours | nb-stats --fields >fields
	for c in 'hsml *particle <f8 *1' 'density *particle <f8 *1' 'density_5 *particle <f8 *1' 'vdisp *particle <f8 *1'; do
		grep -q " $c" fields
	done
	run ! grep -qE 'neighbours|distances|within' fields
	nb-gen plummer -n 100 | nb-neighbours --nearest 4 --ids >n.nb
	nb-step -d 0.1 -k 1 --every 0 nb-force <n.nb | nb-select --where 'id > 50' | mutate show id neighbours hsml >moved
	mutate show id neighbours hsml <n.nb | tail -n 49 | cmp - moved
	nb-gen plummer -n 100 | nb-select --drop vel | nb-neighbours --radius 1 | nb-stats --fields >within
	grep -q 'n_within *particle <u4 *1' within
	run ! grep -q hsml within
	nb-gen plummer -n 100 | nb-select --drop vel,mass | nb-neighbours --nearest 4 --radius 100 | mutate show n_within m_within | sort -u >count
	equals "$(<count)" '99 99.0'
	nb-gen plummer -n 100 | nb-select --drop vel | nb-neighbours --nearest 4 | nb-stats --fields >few
	run ! grep -qE 'density_5|vdisp' few
}

@test "bytes do not depend on the number of threads, nor neighbours on the order of the bodies or the instructions" {
	nb-gen clusters -n 20000 -s 3 | nb-neighbours --nearest 20 --ids --radius 0.01 --no-history -j 1 >1.nb
	nb-gen clusters -n 20000 -s 3 | nb-neighbours --nearest 20 --ids --radius 0.01 --no-history -j 5 | cmp - 1.nb
	nb-gen clusters -n 20000 -s 3 | NB_SIMD=plain nb-neighbours --nearest 20 --ids --radius 0.01 --no-history | cmp - 1.nb
	nb-gen clusters -n 20000 -s 3 | nb-sort-zorder | nb-neighbours --nearest 20 --ids --radius 0.01 --no-history >sorted.nb
	nb-diff --fields neighbours,hsml,density,density_5,vdisp,n_within --tolerance 0 1.nb sorted.nb
	nb-diff --fields m_within --tolerance 1e-12 1.nb sorted.nb
}

@test "no bodies, and many in one place or on a line, have their neighbours" {
	nb-gen plummer -n 1 | nb-select --where 'mass < 0' | nb-neighbours --nearest 3 --ids --radius 1 | nb-stats --fields | grep -q 'neighbours *particle <u8 *3'
	equals "$(nb-gen plummer -n 1 | nb-neighbours --radius 1 | mutate show n_within m_within)" '0 0.0'
	nb-gen plummer -n 50 | nb-calc 'pos *= 0' | nb-neighbours --nearest 6 --ids --radius 0 >p.nb
	equals "$(mutate show neighbours <p.nb | sed -n '1p;4p;50p' | paste -s -d /)" '1 2 3 4 5 6/0 1 2 4 5 6/0 1 2 3 4 5'
	equals "$(mutate show n_within hsml density <p.nb | sort -u)" '49 0.0 inf'
	seq 0 99 | awk '{ print $1 ",0,0" }' >line
	equals "$(bodies line | nb-neighbours --nearest 2 --ids | mutate show neighbours | sed -n '1p;50p;100p' | paste -s -d /)" '1 2/48 50/98 97'
	equals "$(bodies line | nb-neighbours --nearest 2 --ids --periodic 100 | mutate show neighbours | sed -n '1p;50p;100p' | paste -s -d /)" '1 99/48 50/0 98'
	nb-gen plummer -n 20 | nb-calc --dtype u8 'alias = (id - id % 2) / 2' | nb-select --drop id | mutate rename alias id | nb-neighbours --nearest 3 2>err >/dev/null
	grep -q 'appears twice in frame 0' err
}

# bats test_tags=once
@test "half of the bodies in one place or in a ball take no time that grows as their square" {
	nb-gen uniform -n 300000 >u.nb
	nb-calc 'pos *= row % 2 == 0 ? 1e-9 : 1' u.nb >ball.nb
	nb-calc 'pos *= row % 2 == 0 ? 0 : 1' u.nb >point.nb
	for f in ball point; do
		timeout 60 nb-neighbours --nearest 8 --radius 0.01 $f.nb | nb-calc '@most = max(n_within)' | attribute most >crowd
		[ "$(printf %.0f "$(<crowd)")" -ge 149999 ]
	done
}

@test "what cannot be done is refused" {
	fails_with 1 'frame 0 has 8 bodies, too few for 8 neighbours of each' 'nb-gen plummer -n 8 | nb-neighbours --nearest 8'
	fails_with 1 'radius 0.6 is more than half of the box of frame 0, whose edge is 1' 'nb-gen uniform -n 8 | nb-neighbours --radius 0.6 --periodic 1'
	nb-gen uniform -n 8 | mutate set pos 3 0 nan >nan.nb
	fails_with 1 "field 'pos' of the body with id 3 is not finite" 'nb-neighbours --nearest 2 nan.nb'
	fails_with 1 'attribute box is -1' 'nb-gen uniform -n 8 | nb-calc "@box = -1" | nb-neighbours --nearest 2'
	fails_with 2 'nearest' 'nb-gen uniform -n 8 | nb-neighbours --nearest 0'
	fails_with 2 'nearest' 'nb-gen uniform -n 8 | nb-neighbours --nearest 129'
	fails_with 2 'radius' 'nb-gen uniform -n 8 | nb-neighbours --radius -1'
	fails_with 2 "option '--ids' needs '--nearest'" 'nb-gen uniform -n 8 | nb-neighbours --radius 1 --ids'
	# under a sanitizer no program starts with so little
	[ "${NB_CONFIG:-}" = san ] || fails_with 1 'out of memory: the neighbours of 60000 bodies in frame 0 take 0.126 GB beside the frame, and 0.1' \
		'nb-gen uniform -n 60000 | (ulimit -v 120000; nb-neighbours --nearest 128 --ids --distances -j 1)'
	# of a file, what is put in order is copied first
	nb-gen uniform -n 60000 -o file.nb
	[ "${NB_CONFIG:-}" = san ] || fails_with 1 'the neighbours of 60000 bodies in frame 0 take 0.13 GB beside the frame' \
		'ulimit -v 120000; nb-neighbours --nearest 128 --ids --distances -j 1 file.nb'
	fails_with 2 "option '--distances' needs '--nearest'" 'nb-gen uniform -n 8 | nb-neighbours --radius 1 --distances'
}
