#!/usr/bin/env bats
# nb-groups: the groups are those of exact arithmetic, whatever the order of bodies, the threads and the distribution.
# as a filter: nb-groups -l 0.2

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# Bodies at x,y,z of each line of a file.
bodies() { { echo x,y,z; cat "$1"; } | nb-convert --from csv; }

# groups ARG...: the column group of a stream on stdin, one number a line
groups() { nb-groups --min 1 "$@" | mutate show group; }

# exact FILE LENGTH EDGE: the same by union-find of rational numbers, masses of 1, rows as ids
exact() {
	python3 - "$@" <<-'END'
		import sys
		from fractions import Fraction as F
		x = [[F(float(c)) for c in line.split(",")] for line in open(sys.argv[1])]
		length, box = F(float(sys.argv[2])), F(float(sys.argv[3]))
		n = len(x)
		top = list(range(n))
		def root(i):
		    while top[i] != i:
		        i = top[i]
		    return i
		for i in range(n):
		    for j in range(i):
		        d2 = 0
		        for a, b in zip(x[i], x[j]):
		            d = abs(a - b)
		            if box and d > box / 2:
		                d = box - d
		            d2 += d * d
		        if d2 <= length * length:
		            a, b = sorted((root(i), root(j)))
		            top[b] = a
		of = [root(i) for i in range(n)]
		order = sorted(set(of), key=lambda r: (-of.count(r), r))
		print("\n".join(str(order.index(r) + 1) for r in of))
	END
}

# bats test_tags=once
@test "groups are those of rational numbers, of lattices whose neighbours are a linking length apart, too" {
	python3 - <<-'END'
		import random
		random.seed(5)
		def write(name, rows):
		    random.shuffle(rows)
		    with open(name, "w") as f:
		        for r in rows:
		            f.write(",".join(map(repr, r)) + "\n")
		for step, name in ((0.1, "tenths"), (0.125, "eighths")):
		    m = round(1 / step)
		    write(name, [(i * step, j * step, k * step) for i in range(m) for j in range(m) for k in range(m) if random.random() < 0.15])
		write("random", [tuple(random.random() for _ in range(3)) for _ in range(150)])
		write("clumps", [tuple(c + random.gauss(0, 0.01) for c in random.choice(((0.02, 0.5, 0.01), (0.5, 0.5, 0.3)))) for _ in range(60)])
	END
	awk -F , '{ for (i = 1; i <= 3; i++) printf "%.17g%s", $i < 0 ? $i + 1 : $i, i < 3 ? "," : "\n" }' clumps >wrapped
	below=0.12499999999999999
	for set in tenths:0.1 tenths:0.2 tenths:0.30000000000000004 eighths:0.125 eighths:$below random:0.12 random:0.3 wrapped:0.01; do
		for edge in 0 1; do
			f=${set%:*} l=${set#*:}
			exact "$f" "$l" $edge >want
			bodies "$f" | nb-calc "@box = $edge" | groups -l "$l" >got
			cmp want got || { echo "$set, edge $edge"; return 1; }
		done
	done
	bodies clumps | groups -l 0.01 --periodic 1 | cmp got - # bodies below 0 come in by the other face
}

@test "a pair is one of friends at exactly the linking length, through a face, an edge or a corner, too" {
	for pair in '0,0,0 3,4,0' '-1,0.5,0 2,4.5,0' '0,0,0 0,0,5' '7.5,0,0 2.5,0,0'; do
		tr ' ' '\n' <<<"$pair" >two
		equals "$(bodies two | groups -l 5 | paste -s -d ' ')" '1 1'
		equals "$(bodies two | groups -l 4.999999999999999 | paste -s -d ' ')" '1 2'
	done
	for pair in '0.5,1,1 15.5,1,1' '0.5,0.5,1 15.75,15.5,1' '0.25,0.25,0.25 15.75,15.75,15.75'; do
		tr ' ' '\n' <<<"$pair" >two
		l=$(python3 -c 'import sys; a, b = (list(map(float, p.split(","))) for p in sys.argv[1].split()); print(repr(sum(min(abs(x - y), 16 - abs(x - y)) ** 2 for x, y in zip(a, b)) ** 0.5 * (1 + 1e-15)))' "$pair")
		equals "$(bodies two | groups -l "$l" --periodic 16 | paste -s -d ' ')" '1 1'
		equals "$(bodies two | groups -l "$l" | paste -s -d ' ')" '1 2'
		equals "$(bodies two | nb-calc '@box = 16' | groups -l "$l" | paste -s -d ' ')" '1 1'
	done
}

@test "linking lengths above half of the edge of the box join what is that near by its nearest images" {
	# 5/8 apart are the first two; the third is 33/64^(1/2) from the second and 3^(1/2)/2 from the first, as far as can be
	printf '%s\n' 0,0,0 0.5,0.375,0 0.5,0.5,0.5 >far
	printf '%s\n' 0.75,0.875,0.75 0.25,0.25,0.75 0.25,0.375,0.25 >moved
	for f in far moved; do
		for case in '0.5 123' '0.52 211' '0.62499999999999989 211' '0.625 111' '0.86 111' '0.87 111' '1 111' '1e300 111'; do
			equals "${case% *} $(bodies $f | groups -l "${case% *}" --periodic 1 | tr -d '\n')" "$case"
		done
	done
	printf '%s\n' 0,0,0 0.5,0.5,0.5 >far
	equals "$(bodies far | groups -l 0.866025 --periodic 1 | tr -d '\n') $(bodies far | groups -l 0.866026 --periodic 1 | tr -d '\n')" '12 11'
}

@test "groups have places by mass, then by smallest id, and small ones are in none" {
	printf '%s\n' id,mass,x,y,z 9,1,0,0,0 8,1,0,0,0 3,2,5,0,0 7,2,9,0,0 6,2,9,0,0 5,9,3,3,3 >b.csv
	nb-convert --from csv b.csv >b.nb
	equals "$(groups -l 1 <b.nb | paste -s -d ' ')" '4 4 3 2 2 1'
	equals "$(nb-groups -l 1 --min 2 b.nb | mutate show group | paste -s -d ' ')" '2 2 0 1 1 0'
	equals "$(nb-groups -l 1 b.nb | mutate show group | paste -s -d ' ')" '0 0 0 0 0 0'
	equals "$(nb-groups -l 1 --min 2 b.nb | nb-select --where 'group == 1' | mutate show id | paste -s -d ' ')" '7 6'
	nb-select --fields pos b.nb | groups -l 1 >bare
	equals "$(paste -s -d ' ' bare)" '1 1 3 2 2 4'
	nb-calc --dtype u8 'alias = id == 3 ? 8 : id' b.nb | nb-select --drop id | mutate rename alias id >twice.nb
	nb-groups -l 1 --min 1 twice.nb 2>err | mutate show group >got
	equals "$(paste -s -d ' ' got)" '3 3 4 2 2 1'
	grep -q 'id 8 appears twice in frame 0' err
}

@test "the mass of a group is that of its bodies rounded once, so that it does not depend on their order" {
	nb-gen clusters -n 3000 | nb-calc 'mass = exp(30 * (id * 0.618 - floor(id * 0.618) - 0.5))' >odd.nb
	nb-groups -l 0.1 --catalogue odd.nb | mutate show mass >got
	nb-sort-zorder odd.nb | nb-groups -l 0.1 --catalogue | mutate show mass | cmp - got
	nb-groups -l 0.1 odd.nb | tee grouped.nb | mutate show mass >each_mass
	mutate show group <grouped.nb | paste -d ' ' - each_mass >members
	python3 - <<-'END'
		import math
		of = {}
		for line in open("members"):
		    g, m = line.split()
		    of.setdefault(int(g), []).append(float(m))
		want = [math.fsum(of[g]) for g in sorted(of) if g]
		got = [float(line) for line in open("got")]
		assert len(got) >= 8 and got == want, (got, want)
	END
}

@test "bytes do not depend on the number of threads, nor groups on the order of the bodies" {
	nb-gen clusters -n 30000 -s 3 | nb-merge --common - <(nb-gen uniform -n 30000 | nb-calc 'id += 30000' 'pos *= 4') 2>/dev/null >in.nb
	for j in 1 2 7; do nb-groups -l 0.03 -j $j --no-history in.nb >$j.nb; done
	cmp 1.nb 2.nb
	cmp 1.nb 7.nb
	[ "$(nb-select --where 'group == 8' 1.nb | nb-stats --format tsv | stat_of n)" -gt 100 ]
	nb-sort-zorder in.nb | nb-groups -l 0.03 --no-history >sorted.nb
	nb-diff --fields group --tolerance 0 1.nb sorted.nb
	NB_FOLD=off bash -c 'nb-select --where 1 in.nb --no-history | nb-groups -l 0.03 --no-history' | cmp - <(nb-select --where 1 in.nb --no-history | nb-groups -l 0.03 --no-history)
}

@test "no bodies, one, and all in one place or on a line are groups, too" {
	: >none
	nb-gen plummer -n 1 | nb-select --where 'mass < 0' | nb-groups -l 1 | nb-stats --fields | grep -q 'group *particle <u4 *1 - *0 '
	equals "$(nb-gen plummer -n 1 | groups -l 0)" 1
	nb-gen plummer -n 1000 | nb-calc 'pos *= 0' | groups -l 0 | sort | uniq -c >got
	equals "$(awk '{ print $1, $2 }' got)" '1000 1'
	seq 0 999 | awk '{ print $1 ",0,0" }' >line
	equals "$(bodies line | groups -l 1 | sort -u)" 1
	equals "$(bodies line | groups -l 0.5 | sort -nu | wc -l)" 1000
	equals "$(bodies line | groups -l 1e300 | sort -u)" 1
	# so far from a body that all keys of the others are the same
	{ seq 0 99 | awk '{ print $1 * 37 % 100 ",0,0" }'; echo 1e18,0,0; } >far
	equals "$(bodies far | groups -l 1 | sort | uniq -c | awk '{ print $1, $2 }' | paste -s -d /)" '100 1/1 2'
	equals "$(bodies far | groups -l 0.5 | sort -nu | wc -l)" 101
	equals "$(bodies line | groups -l 1e-320 | sort -nu | wc -l)" 1000
	equals "$(nb-gen uniform -n 500 --dim 2 | nb-groups --min 1 --fraction 30 --periodic 1 | mutate show group | sort -u)" 1
}

@test "bodies of single precision have the groups of the same numbers in double precision" {
	nb-gen clusters -n 3000 -s 3 --precision f32 | nb-calc 'mass *= 1 + id % 7' >single.nb
	nb-convert --to gadget single.nb -o wide 2>/dev/null
	nb-convert --from gadget wide >wide.nb
	nb-stats --fields wide.nb | grep -q ' pos *particle <f8 '
	nb-groups -l 0.06 --periodic 4 wide.nb | mutate show group >want
	nb-groups -l 0.06 --periodic 4 single.nb | mutate show group | cmp want
	[ "$(sort -nu want | wc -l)" -gt 5 ]
	for f in wide single; do nb-groups -l 0.06 --bound --catalogue $f.nb | mutate show mass >$f; done
	cmp wide single
}

# bats test_tags=once
@test "half of the bodies in one place or in a ball take no time that grows as their square" {
	nb-gen uniform -n 400000 >u.nb
	nb-calc 'pos *= row % 2 == 0 ? 1e-9 : 1' u.nb >ball.nb
	nb-calc 'pos *= row % 2 == 0 ? 0 : 1' u.nb >point.nb
	for f in ball point; do
		for l in 0.003 0.02; do
			timeout 60 nb-groups -l $l $f.nb | nb-select --where 'group == 1' | nb-stats --format tsv | stat_of n >count
			[ "$(<count)" -ge 200000 ]
		done
	done
}

@test "the catalogue has the sums of each group, also of one that lies across a corner of the box" {
	nb-gen clusters -n 1600 -s 4 >c.nb
	nb-calc 'vx = 3 + y' 'vy = x * z - 1' 'vz = y' 'mass *= 1 + 0.3 * (row % 3)' c.nb >m.nb
	nb-groups -l 0.15 m.nb >g.nb
	nb-groups -l 0.15 --catalogue m.nb >cat.nb
	mutate show group mass pos vel <g.nb >bodies.txt
	mutate show group count mass pos vel r_rms r_max vdisp angular wraps <cat.nb >cat.txt
	python3 - <<-'END'
		from math import sqrt, fsum
		members = {}
		for line in open("bodies.txt"):
		    r = list(map(float, line.split()))
		    members.setdefault(int(r[0]), []).append(r[1:])
		rows = [list(map(float, line.split())) for line in open("cat.txt")]
		assert [r[0] for r in rows] == list(range(1, 9)) == sorted(members)
		for r in rows:
		    b = members[int(r[0])]
		    M = fsum(x[0] for x in b)
		    com = [fsum(x[0] * x[1 + k] for x in b) / M for k in range(3)]
		    vel = [fsum(x[0] * x[4 + k] for x in b) / M for k in range(3)]
		    d = [[x[1 + k] - com[k] for k in range(3)] for x in b]
		    u = [[x[4 + k] - vel[k] for k in range(3)] for x in b]
		    J = [fsum(x[0] * (p[(k + 1) % 3] * q[(k + 2) % 3] - p[(k + 2) % 3] * q[(k + 1) % 3]) for x, p, q in zip(b, d, u)) for k in range(3)]
		    want = [len(b), M, *com, *vel, sqrt(fsum(x[0] * sum(c * c for c in p) for x, p in zip(b, d)) / M),
		            sqrt(max(sum(c * c for c in p) for p in d)), sqrt(fsum(x[0] * sum(c * c for c in q) for x, q in zip(b, u)) / M / 3), *J, 0]
		    for got, expect in zip(r[1:], want, strict=True):
		        assert abs(got - expect) <= 1e-11 * max(1, abs(expect)), (r, want)
	END
	nb-calc 'x = x < 0 ? x + 8 : x' 'y = y < 0 ? y + 8 : y' 'z = z < 0 ? z + 8 : z' m.nb | nb-transform --shift -0.49,-0.49,0.51 |
		nb-groups -l 0.15 --periodic 8 --catalogue >box.nb
	nb-diff --fields mass,vel,count,r_rms,r_max,vdisp,angular,b_over_a,c_over_a --absolute 1e-10 cat.nb box.nb
	nb-calc 'x = (x + 7.51) % 8' 'y = (y + 7.51) % 8' 'z = (z + 8.51) % 8' cat.nb | nb-diff --fields pos --absolute 1e-10 - <(nb-calc 'x = (x + 1e-11) % 8' 'y = (y + 1e-11) % 8' 'z = (z + 1e-11) % 8' box.nb)
	equals "$(nb-select --where 'x < 0.1 && y < 0.1 && z < 0.1' box.nb | nb-stats --format tsv | stat_of n)" 1
	NB_FOLD=off bash -c 'nb-calc "mass *= 2" m.nb | nb-groups -l 0.15 --catalogue --density 1 | nb-select --where 1' | cmp - <(nb-calc 'mass *= 2' m.nb | nb-groups -l 0.15 --catalogue --density 1 | nb-select --where 1)
	nb-groups -j 1 --no-history -l 0.15 --catalogue m.nb | cmp - <(nb-groups -j 3 --no-history -l 0.15 --catalogue m.nb)
}

@test "a group that goes around the box says so, and has no radius" {
	seq 0 0.1 9.95 | awk '{ print $1 ",5,5" }' >line
	bodies line | nb-groups -l 0.11 --periodic 10 --catalogue | mutate show count wraps r_max >got
	equals "$(<got)" '100 1 nan'
	head -n 99 line >open
	bodies open | nb-groups -l 0.11 --periodic 10 --catalogue | mutate show count wraps r_max >got
	equals "$(awk '{ print $1, $2, ($3 > 4.89 && $3 < 4.91) }' got)" '99 0 1'
	nb-gen plummer -n 10 | nb-groups -l 0 --catalogue | nb-stats --fields | grep -q 'count *particle <u4 *1 - *0 '
}

@test "the sphere of a given density is that of all bodies by distance, also across the faces of the box" {
	nb-gen plummer -n 4000 -s 2 | nb-transform --scale length=0.2 | nb-calc 'mass *= row % 2 + 0.5' | nb-force -t 0.5 -e 0.01 --potential >p.nb
	nb-groups -l 0.02 --min 100 --catalogue --density 5 p.nb >cat.nb
	mutate show centre m_sphere r_sphere vmax r_vmax <cat.nb | head -n 1 >got
	mutate show mass pos pot <p.nb >bodies.txt
	python3 - <<-'END'
		from math import pi, sqrt
		got = list(map(float, open("got").read().split()))
		b = [list(map(float, line.split())) for line in open("bodies.txt")]
		centre = min(b, key=lambda r: r[4])[1:4]
		assert got[:3] == centre
		r = sorted((sqrt(sum((x - c) ** 2 for x, c in zip(q[1:4], centre))), q[0]) for q in b)
		m, best = 0, (0, 0)
		for i, (d, own) in enumerate(r):
		    m += own
		    if i >= 9:
		        best = max(best, (m / d, d))
		        R = (3 * m / (4 * pi * 5)) ** (1 / 3)
		        if R < r[i + 1][0]:
		            break
		for x, want in zip(got[3:], (m, R, sqrt(best[0]), best[1])):
		    assert abs(x - want) < 1e-12 * want, (x, want)
	END
	[ "$(nb-groups -l 0.02 --min 100 --catalogue p.nb | mutate show count | head -n 1)" -lt 3900 ]
	nb-transform --shift 0.01,9.98,0.02 p.nb | nb-groups -l 0.02 --min 100 --periodic 10 --catalogue --density 5 >box.nb
	mutate show m_sphere r_sphere vmax <cat.nb | head -n 1 >open
	mutate show m_sphere r_sphere vmax <box.nb | head -n 1 | cat open - | awk '{ for (i = 1; i <= 3; i++) { d = $i - last[i]; if (NR == 2 && !(d * d < 1e-20)) exit 1; last[i] = $i } }'
	for n in 9 10; do nb-gen plummer -n $n | nb-calc 'pos *= 0' | nb-groups -l 0 --min 1 --catalogue --density 1 | mutate show m_sphere; done >few
	equals "$(awk '{ printf "%.9g ", $1 }' few)" 'nan 1 '
	equals "$(nb-groups -l 0.02 --min 100 --catalogue --density 1e9 p.nb | mutate show m_sphere vmax | sort -u)" 'nan nan'
	equals "$(nb-groups -l 0.5 --min 100 --periodic 10 --catalogue --density 1e-9 p.nb | mutate show r_sphere | sort -u)" nan
}

@test "with --bound those bodies leave whose energy is not below 0, until all that are left have less" {
	nb-gen plummer -n 600 | nb-calc '@softening = 0.02' 'vx += id < 20 ? 40 : 0' 'vz += id >= 20 && id < 250 ? 0.7 : 0' >hot.nb
	nb-groups -l 20 --bound hot.nb >got.nb
	equals "$(nb-select --where 'group == 0 && id < 20' got.nb | nb-stats --format tsv | stat_of n)" 20
	nb-select --where 'group == 1' got.nb | nb-convert --to csv --no-comments >left.csv
	nb-groups -l 20 --bound --catalogue hot.nb | nb-convert --to csv --no-comments >catalogue.csv
	python3 - <<-'END'
		import csv
		from math import dist, fsum, hypot
		rows = list(csv.DictReader(open("left.csv")))
		row = list(csv.DictReader(open("catalogue.csv")))
		col = lambda *names: [[float(r[n]) for n in names] for r in rows]
		x, v, m = col("x", "y", "z"), col("vx", "vy", "vz"), [c[0] for c in col("mass")]
		n, mass = len(m), fsum(m)
		mean = lambda of: [fsum(m[i] * of[i][k] for i in range(n)) / mass for k in range(3)]
		pot = [-fsum(m[j] / hypot(dist(x[i], x[j]), 0.02) for j in range(n) if j != i) for i in range(n)]
		u, com = mean(v), mean(x)
		kin = [dist(v[i], u) ** 2 / 2 for i in range(n)]
		assert 100 < n < 580 and max(k + p for k, p in zip(kin, pot)) < 0, n
		assert len(row) == 1 and int(row[0]["count"]) == n
		def near(name, want):
		    assert abs(float(row[0][name]) / want - 1) < 1e-11, (name, row[0][name], want)
		ekin, epot = fsum(a * b for a, b in zip(m, kin)), fsum(a * b for a, b in zip(m, pot)) / 2
		near("ekin", ekin)
		near("epot", epot)
		for k in range(3):
		    near(f"centre_{k}", x[pot.index(min(pot))][k])
		j = [0, 0, 0]
		for i in range(n):
		    for k in range(3):
		        p, q = (k + 1) % 3, (k + 2) % 3
		        j[k] += m[i] * ((x[i][p] - com[p]) * (v[i][q] - u[q]) - (x[i][q] - com[q]) * (v[i][p] - u[p]))
		near("spin_bound", hypot(*j) * abs(ekin + epot) ** 0.5 / mass ** 2.5)
	END
}

# bats test_tags=once
@test "what is bound does not depend on threads, order or the corner of the box where it lies; what nothing holds has no group" {
	nb-gen plummer -n 1200 | nb-calc '@softening = 0.05' 'vx += id < 100 ? 3 : 0' 'pos *= 0.5' >hot.nb
	for j in 1 3; do nb-groups -l 9 --bound -j $j --no-history hot.nb >$j.nb; done
	cmp 1.nb 3.nb
	nb-calc 'x -= 30 * floor(x / 30)' 'y -= 30 * floor(y / 30)' 'z -= 30 * floor(z / 30)' hot.nb | nb-groups -l 9 --bound --periodic 30 >corner.nb
	nb-diff --fields group --tolerance 0 1.nb corner.nb
	nb-sort-zorder hot.nb | nb-groups -l 9 --bound | nb-diff --fields group --tolerance 0 1.nb -
	nb-calc 'vx *= 50' 'vy *= 50' 'vz *= 50' hot.nb | nb-groups -l 9 --bound --min 1 | nb-select --where 'group > 0' | nb-stats --fields | grep -q 'group *particle <u4 *1 - *0 '
	nb-gen plummer -n 10000 | nb-groups -l 20 --bound --catalogue | mutate show epot >tree
	nb-gen plummer -n 10000 | nb-groups -l 20 --bound | nb-select --where 'group == 1' | nb-stats --epot direct --format tsv | stat_of epot >by_pairs
	at_most 1e-4 "$(paste -d ' ' tree by_pairs | awk '{ printf "%.3g\n", ($1 / $2 - 1) ^ 2 < 1e-8 ? 0 : 1 }')"
	fails_with 1 "field 'vel' missing in frame 0" 'nb-gen plummer -n 30 | nb-select --drop vel | nb-groups -l 1 --bound'
}

@test "masses of a cosmology are those of spheres of its densities, by H0 or by the matter in the box" {
	nb-gen nfw -n 4000 | nb-calc '@omega0 = 0.3' '@redshift = 1' '@G = 2' '@H0 = 0.05' >halo.nb
	nb-groups -l 0.5 --catalogue --cosmology halo.nb | nb-calc '@G = 1' | nb-convert --to csv --no-comments >got.csv
	# a catalogue that is a file is one that all programs read
	nb-groups -l 0.5 --catalogue --cosmology halo.nb -o catalogue.nb
	nb-stats --check catalogue.nb
	python3 - >densities <<-'END'
		from math import pi
		m = 0.3 * 3 * 0.05 ** 2 / (8 * pi * 2)
		o = 0.3 * 8 / (0.3 * 8 + 0.7)
		x = o - 1
		for d in 200 * m / o, 500 * m / o, 200 * m, (18 * pi ** 2 + 82 * x - 39 * x * x) * m / o:
		    print(repr(d))
	END
	while read -r d; do
		nb-groups -l 0.5 --catalogue --density "$d" halo.nb | nb-calc '@G = 1' | nb-convert --to csv --no-comments | sed -n 2p
	done <densities >want.csv
	nb-groups -l 0.5 --catalogue --density 1 halo.nb | nb-calc '@G = 1' | nb-convert --to csv --no-comments | sed -n 1p | cat - want.csv >spheres.csv
	python3 - <<-'END'
		import csv
		got = list(csv.DictReader(open("got.csv")))[0]
		want = list(csv.DictReader(open("spheres.csv")))
		for row, name in zip(want, ("200c", "500c", "200m", "vir")):
		    for kind in "m", "r":
		        a, b = float(got[kind + name]), float(row[kind + "_sphere"])
		        assert a > 0 and abs(a / b - 1) < 1e-12, (name, a, b)
		for name, of_a in ("vmax", 2 ** 0.5), ("r_vmax", 1), ("spin_sphere", 0.5 ** 0.5):
		    a, b = float(got[name]), float(want[0][name]) * of_a
		    assert a > 0 and abs(a / b - 1) < 1e-12, (name, a, b)
		assert float(got["m500c"]) < float(got["m200c"]) < float(got["mvir"])
	END
	nb-calc '@H0 = 0' '@redshift = 0' halo.nb | nb-groups -l 0.5 --periodic 1000 --catalogue --cosmology | mutate show r200m >r
	python3 -c 'r = float(open("r").read()); m = 4000 / 4000; assert r > 0, r'
	nb-gen lpt -n 0 | nb-calc '@H0 = 0' | nb-groups -l 1 --catalogue --cosmology --bound >empty.nb
	equals "$(mutate show r200m <empty.nb)" '' # no matter, no group
	fails_with 1 'needs attribute H0 or a periodic box' "nb-calc '@H0 = 0' halo.nb | nb-groups -l 1 --catalogue --cosmology"
	fails_with 1 'needs attribute omega0 > 0' 'nb-gen plummer -n 30 | nb-groups -l 1 --catalogue --cosmology'
	fails_with 2 "option '--cosmology' needs '--catalogue'" 'nb-groups -l 1 --cosmology halo.nb'
}

@test "a halo in comoving coordinates has the members, energies, vmax and spins of the same one in physical space" {
	# H = 0.8 at a = 0.25, in a universe of matter alone
	nb-gen plummer -n 300 | nb-calc '@softening = 0.02' 'vx += id < 10 ? 40 : 0' 'vz += id >= 10 && id < 90 ? 0.5 : 0' 'vy += 0.3 * x' 'pos += 30' >halo.nb
	nb-calc 'vel += 0.8 * pos' halo.nb >physical.nb
	nb-calc 'pos *= 4' '@softening = 0.08' '@box = 1000; @time = 0.25; @omega0 = 1; @H0 = 0.1' halo.nb >comoving.nb
	nb-groups -l 20 --bound physical.nb -o want.nb
	nb-groups -l 80 --bound comoving.nb | nb-diff --fields group --tolerance 0 want.nb -
	# some are bound only where space does not expand
	[ "$(nb-groups -l 20 --bound halo.nb | nb-select --where 'group == 1' | mutate show id | wc -l)" -gt \
		"$(nb-select --where 'group == 1' want.nb | mutate show id | wc -l)" ]
	nb-groups -l 20 --bound --catalogue --density 0.064 physical.nb |
		nb-calc 'angular *= 4; r_vmax *= 4; r_sphere *= 4; r_rms *= 4' >want.nb
	[ "$(mutate show vmax <want.nb)" != nan ]
	for redshift in '@redshift = 3' '@time = 0; @redshift = 3'; do
		nb-calc "$redshift" comoving.nb | nb-groups -l 80 --bound --catalogue --density 0.001 | nb-diff --tolerance 1e-9 \
			--fields mass,angular,vdisp,ekin,epot,spin_bound,m_sphere,r_sphere,r_vmax,r_rms,vmax,spin_sphere want.nb -
	done
	# H0 of the masses in the box, 1e-9 of all, and densities at a redshift that only the time says
	nb-calc '@H0 = sqrt(8 * pi / 3 * 1e-9)' comoving.nb | nb-groups -l 80 --bound --catalogue --cosmology --no-history >want.nb
	nb-calc '@H0 = 0' comoving.nb | nb-groups -l 80 --bound --catalogue --cosmology | nb-diff --tolerance 1e-12 \
		--fields ekin,vdisp,m200c,r200c,mvir,vmax,spin_sphere want.nb -
	nb-calc '@time = 0; @redshift = 3' comoving.nb | nb-calc '@H0 = 0' | nb-groups -l 80 --bound --catalogue --cosmology |
		nb-diff --tolerance 1e-12 --fields r200c,mvir,vmax want.nb -
	nb-select --where 'mass < 0' comoving.nb | nb-groups -l 80 --bound --catalogue | nb-stats --fields | grep -q 'ekin *particle <f8 *1 .* 0 '
	# there is no flow about a centre that is none
	nb-calc 'x = 5 * id; y = 1; z = 1' '@box = 1500' comoving.nb | nb-groups -l 5 --catalogue >ring.nb
	equals "$(mutate show wraps vdisp <ring.nb)" '1 nan'
	fails_with 1 'is its scale factor' "nb-calc '@redshift = 1' comoving.nb | nb-groups -l 80 --bound"
	fails_with 1 'the time of cosmological frame 0 is 0' "nb-calc '@time = 0' comoving.nb | nb-groups -l 80 --catalogue"
}

# bats test_tags=once
@test "the spin of a ball in rigid rotation is that of its moment of inertia" {
	nb-gen uniform -n 40000 | nb-select --where 'r < 0.5' | nb-calc 'vx = -3 * y + 5' 'vy = 3 * x' 'vz = 0' '@G = 4' >ball.nb
	nb-groups -l 0.1 --catalogue --density "$(nb-stats --format tsv ball.nb | stat_of mass | awk '{ print $1 / 0.5235987755982988 / 2 }')" ball.nb |
		nb-convert --to csv --no-comments >got.csv
	python3 - <<-'END'
		import csv
		row = list(csv.DictReader(open("got.csv")))[0]
		m, r = float(row["m_sphere"]), float(row["r_sphere"])
		want = 0.4 * 0.25 * 3 / (2 * 4 * m * r) ** 0.5
		assert abs(r / (0.5 * 2 ** (1 / 3)) - 1) < 0.01 and abs(float(row["spin_sphere"]) / want - 1) < 0.02, (r, row["spin_sphere"], want)
	END
}

@test "a group is matched with that of another frame of the largest merit, by ids" {
	# here 1: ids 1-6, 2: 7-10, 3: 11-12; there 2: 1-3 of three, 1: 4-7 and 13-20, 3: 9-8; 11 in none, 12 missing
	nb-convert --from csv - <<-'END' >here.nb
		id,x,y,z
		1,0,0,0
		4,0,0,0
		2,0,0,0
		5,0,0,0
		3,0,0,0
		6,0,0,0
		7,5,0,0
		8,5,0,0
		9,5,0,0
		10,5,0,0
		11,9,0,0
		12,9,0,0
	END
	{ echo id,x,y,z; for i in 11 9 8 3 2 1 4 5 6 7 13 14 15 16 17 18 19 20; do
		case $i in 1 | 2 | 3) x=2 ;; 8 | 9) x=3 ;; 11) x=4 ;; *) x=1 ;; esac
		echo $i,$x,0,0
	done; } | nb-convert --from csv | nb-groups -l 0 --min 2 >there.nb
	nb-groups -l 0 --min 2 --catalogue --match there.nb here.nb | mutate show group count match shared merit >got
	equals "$(awk '{ printf "%s %s %s %s %.6f;", $1, $2, $3, $4, $5 }' got)" '1 6 2 3 0.500000;2 4 3 2 0.500000;3 2 0 0 0.000000;'
	nb-sort-zorder here.nb | nb-groups -l 0 --min 2 --catalogue --match <(nb-sort-zorder there.nb) | mutate show group count match shared merit | cmp got -
}

@test "a linking length that is wrong, missing or without the box that it needs is refused" {
	nb-gen plummer -n 10 >p.nb
	fails_with 2 "want a number >= 0" 'nb-groups -l -1 p.nb'
	fails_with 2 "'nan'" 'nb-groups -l nan p.nb'
	fails_with 2 "needs '--catalogue'" 'nb-groups -l 1 --density 1 p.nb'
	fails_with 1 "are for three dimensions" 'nb-gen uniform -n 9 --dim 2 | nb-groups -l 1 --min 1 --catalogue --density 1'
	fails_with 2 "needs '--catalogue'" 'nb-groups -l 1 --match p.nb p.nb'
	fails_with 1 "'p.nb' has no column 'group'" 'nb-groups -l 1 --catalogue --match p.nb p.nb'
	fails_with 1 "is no number of nb-groups" "nb-calc --dtype u4 'group = 11' p.nb >g.nb; nb-groups -l 1 --catalogue --match g.nb p.nb"
	nb-groups -l 1 p.nb | nb-select --drop id >bare.nb
	fails_with 1 "'bare.nb' has no column 'id' in its first frame" 'nb-groups -l 1 --catalogue --match bare.nb p.nb'
	nb-groups -l 1 p.nb | nb-calc --dtype u8 'alias = id == 3 ? 8 : id' | nb-select --drop id | mutate rename alias id >twice.nb
	fails_with 1 "'twice.nb': id 8 appears twice in frame 0 (bodies 3 and 8)" 'nb-groups -l 1 --catalogue --match twice.nb p.nb'
	fails_with 1 'id 8 appears twice in frame 0 (bodies 3 and 8)' 'nb-groups -l 1 --catalogue --match <(nb-groups -l 1 p.nb) twice.nb'
	fails_with 1 "needs field 'id'" "nb-groups -l 1 p.nb >g.nb; nb-select --drop id p.nb | nb-groups -l 1 --catalogue --match g.nb"
	fails_with 1 "option '--fraction', which without '--length' is 0.2, needs a box, and frame 0 has none (want '--length" 'nb-groups p.nb'
	nb-gen uniform -n 3000 | nb-calc 'pos = pos + 0.5' '@box = 1' >box.nb
	nb-groups --min 2 --catalogue --no-history box.nb | cmp - <(nb-groups --min 2 --fraction 0.2 --catalogue --no-history box.nb)
	nb-groups --min 2 --catalogue --no-history box.nb | run ! cmp -s - <(nb-groups --min 2 --fraction 0.25 --catalogue --no-history box.nb)
	fails_with 2 "exclude each other" 'nb-groups -l 1 --fraction 0.2 p.nb'
	fails_with 2 "'0'" 'nb-groups --fraction 0 --periodic 1 p.nb'
	fails_with 2 "'0'" 'nb-groups -l 1 --periodic 0 p.nb'
	fails_with 1 "needs a box, and frame 0 has none" 'nb-groups --fraction 0.2 p.nb'
	fails_with 1 "attribute box is -1 in frame 0" "nb-calc '@box = -1' p.nb | nb-groups -l 1"
	nb-calc '@box_size = 10' p.nb | nb-groups -l 1 2>err >/dev/null
	grep -q "want '--periodic 10' for that" err
}
