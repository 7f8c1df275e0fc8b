#!/usr/bin/env bats
# nb-power: the spectrum is that of sums over all bodies, whatever their order, the mesh, the threads and the units.
# as a filter: nb-power --mesh 8 --periodic 4

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# Bodies at x,y,z of each line of a file.
bodies() { { echo x,y,z; cat "$1"; } | nb-convert --from csv; }

power() { nb-power --format tsv "$@"; }

# column NAME <TABLE: its numbers, one a line
column() { awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at[name] }'; }

# differ NAME A B: the largest relative difference of a column of two tables, of the lines that both have
differ() {
	paste <(column "$1" <"$2") <(column "$1" <"$3") | awk '
		NF == 2 { d = $1 == $2 ? 0 : ($1 - $2) / ($1 + $2) * 2; d = d < 0 ? -d : d; if (!(d <= most)) most = d; n++ }
		END { printf "%.3g\n", (n > 1) ? most : "nan" }'
}

@test "shells have the powers of sums over all bodies, and their modes" {
	nb-gen clusters -n 300 -s 2 | nb-calc 'pos *= 0.9' >in.nb
	mutate show mass pos <in.nb >rows
	nb-power --mesh 96 --periodic 5 --limit 0.15 --format tsv in.nb >got
	python3 - <<-'END' >want
		from math import cos, sin, pi, sqrt
		L = 5.0
		rows = [list(map(float, line.split())) for line in open("rows")]
		total = sum(r[0] for r in rows)
		shells = {}
		for a in range(-5, 6):
		    for b in range(-5, 6):
		        for c in range(-5, 6):
		            r = sqrt(a * a + b * b + c * c)
		            if not 0 < r < 5.5 or (a, b, c) < (0, 0, 0):
		                continue
		            re = im = 0
		            for m, x, y, z in rows:
		                t = 2 * pi / L * (a * x + b * y + c * z)
		                re += m * cos(t)
		                im += m * sin(t)
		            s = shells.setdefault(round(r), [0, 0, 0])
		            s[0] += 2
		            s[1] += 2 * r
		            s[2] += 2 * (re * re + im * im) / total ** 2
		print("k", "P", "shot", "modes", sep="\t")
		for s in range(1, 6):
		    n, r, p = shells[s]
		    print(2 * pi / L * r / n, L ** 3 * p / n, L ** 3 * sum(m[0] ** 2 for m in rows) / total ** 2, n, sep="\t")
	END
	for name in k shot modes; do at_most 1e-12 "$(differ $name got want)"; done
	at_most 1e-6 "$(differ P got want)"
	equals "$(head -n 4 got | column modes | paste -s -d ' ')" '18 62 98'
}

@test "a plane wave has the powers of Bessel functions, at its own wave number and the second harmonic" {
	python3 - <<-'END' >wave
		from math import sin, pi
		n, A = 24, 0.01
		for i in range(n):
		    for j in range(n):
		        for k in range(n):
		            x, y, z = ((c + 0.5) / n for c in (i, j, k))
		            print(repr(x + A * sin(2 * pi * 3 * x)), y, z, sep=",")
	END
	bodies wave >wave.nb
	power --mesh 96 --periodic 1 --limit 0.2 wave.nb >got
	awk -F '\t' 'function bessel(m, x,   i, sum, term) {
			term = 1
			for (i = 1; i <= m; i++) term *= x / 2 / i
			for (i = 0; i < 20; i++) { sum += term; term *= -x * x / 4 / (i + 1) / (m + i + 1) }
			return sum
		}
		NR == 4 { print 2 * bessel(1, 6 * 3.14159265358979 * 0.01) ^ 2 / $6, $4 }
		NR == 7 { print 2 * bessel(2, 12 * 3.14159265358979 * 0.01) ^ 2 / $6, $4 }
		NR == 2 || NR == 3 || NR == 5 || NR == 6 || NR == 8 { if ($4 > 1e-12) print 0, 1 }' got >pairs
	equals "$(wc -l <pairs)" 2
	while read -r want found; do
		at_most 1e-4 "$(awk -v a="$want" -v b="$found" 'BEGIN { d = b / a - 1; print d < 0 ? -d : d }')"
	done <pairs
}

@test "random bodies have the power of their shot noise, with every window, and of their masses" {
	nb-gen uniform -n 20000 -s 3 >in.nb
	nb-calc 'mass = id % 2 == 1 ? 3 : 1' in.nb >unequal.nb
	for w in ngp cic tsc pcs; do
		for f in in unequal; do
			power --mesh 64 --periodic 1 --limit 0.4 --window $w $f.nb |
				awk -F '\t' 'NR > 1 { sum += $6 * $4; n += $6; shot = $5 } END { printf "%.9g %.9g\n", (sum / n / shot - 1) ^ 2 / (2 / n), shot }' >got
			read -r chi2 shot <got
			at_most 9 "$chi2"
			at_most 1e-12 "$(awk -v f=$f -v s="$shot" 'BEGIN { want = (f == "in" ? 1 : 1.25) / 20000; d = s / want - 1; print d < 0 ? -d : d }')"
		done
	done
	power --mesh 16 --periodic 1 in.nb >with
	power --mesh 16 --periodic 1 --subtract-shot in.nb >without
	paste with without | awk -F '\t' 'NR > 1 { d = $4 - $5 - $11; if (d * d > 1e-28) bad = 1 } END { exit bad || NR < 5 }'
}

@test "a single body, and none" {
	echo 0.25,0.5,0.75 >one
	bodies one >one.nb
	power --mesh 8 --periodic 1 --limit 1 one.nb >got
	equals "$(column modes <got | paste -s -d ' ')" '18 62 98'
	column P <got | while read -r p; do at_most 0.02 "$(awk -v p="$p" 'BEGIN { print (p > 1) ? p - 1 : 1 - p }')"; done
	equals "$(column shot <got | sort -u)" 1
	echo 1.26,-2.49,0.76 >one # between cells, and outside
	bodies one | power --mesh 8 --periodic 1 >got
	column P <got | while read -r p; do at_most 0.02 "$(awk -v p="$p" 'BEGIN { print (p > 1) ? p - 1 : 1 - p }')"; done
	nb-select --where 'x > 1' one.nb | power --mesh 8 --periodic 1 >got
	equals "$(column P <got | sort -u)" NA
	nb-calc 'mass = 0' one.nb | power --mesh 8 --periodic 1 | cmp - got
	for m in 1e300 1e-300; do
		nb-calc "mass = $m" one.nb >extreme.nb
		fails_with 1 'the squares of the masses of frame 0 are out of range' 'nb-power --periodic 1 --mesh 8 extreme.nb'
	done
}

@test "axes, units of mass, shifts by the edge and bodies out of the box change nothing" {
	nb-gen clusters -n 2000 -s 5 | nb-calc 'pos += 2' 'mass = 1 + id % 3' >in.nb
	power --mesh 30 --periodic 4 in.nb >want
	nb-calc 'x = y' 'y = z' 'z = vx' <(nb-calc 'vx = x' in.nb) | power --mesh 30 --periodic 4 >turned
	nb-calc 'mass *= 1e10' in.nb | power --mesh 30 --periodic 4 >heavy
	nb-calc 'x += id % 2 == 1 ? 4 : -8' 'z -= 400' in.nb | power --mesh 30 --periodic 4 >moved
	nb-calc 'pos *= 1024' '@box = 4096' in.nb | power --mesh 30 | awk -F '\t' -v OFS='\t' 'NR > 1 { $3 *= 1024; $4 /= 1024 ^ 3; $5 /= 1024 ^ 3 } 1' OFMT=%.17g CONVFMT=%.17g >scaled
	for f in turned heavy moved scaled; do
		for name in k P shot modes; do at_most 1e-9 "$(differ $name want $f)"; done
	done
	nb-calc 'pos += 0.3' in.nb | power --mesh 30 --periodic 4 --limit 0.2 >elsewhere
	at_most 1e-4 "$(differ P want elsewhere)"
}

@test "bytes do not depend on threads, the order of bodies or folding" {
	nb-gen clusters -n 20000 -s 4 >in.nb
	nb-sort-zorder in.nb >sorted.nb
	for w in ngp pcs; do
		for j in 1 2 5; do nb-power -j $j --mesh 42 --periodic 3 --fold 1 --window $w in.nb >$j.txt; done
		cmp 1.txt 2.txt
		cmp 1.txt 5.txt
		nb-power --mesh 42 --periodic 3 --fold 1 --window $w sorted.nb | cmp - 1.txt
	done
	nb-gen clusters -n 20000 -s 4 | nb-power --mesh 42 --periodic 3 --fold 1 --window pcs | cmp - 1.txt
	nb-gen clusters -n 20000 -s 4 | NB_FOLD=off nb-power --mesh 42 --periodic 3 --fold 1 --window pcs | cmp - 1.txt
}

@test "a folded box has the modes of a finer mesh" {
	nb-gen clusters -n 3000 -s 6 >in.nb
	power --mesh 40 --periodic 3 --fold 2 --limit 0.5 in.nb >got
	power --mesh 160 --periodic 3 --limit 0.5 in.nb >fine
	equals "$(column fold <got | uniq -c | awk '{ print $2 ":" $1 }' | paste -s -d ' ')" '1:10 2:5 4:5'
	at_most 2e-4 "$(differ P <(head -n 11 got) fine)"
	python3 - <<-'END'
		import csv
		read = lambda f: [{k: float(v) for k, v in r.items()} for r in csv.DictReader(open(f), delimiter="\t")]
		got, fine = read("got"), read("fine")
		# shells twice as wide have an eighth of the modes, so powers scatter: compare sums of modes
		for fold in (2, 4):
		    rows = [r for r in got if r["fold"] == fold]
		    near = [r for r in fine if rows[0]["k"] * 0.97 < r["k"] < rows[-1]["k"] * 1.03]
		    mean = lambda t: sum(r["P"] * r["modes"] for r in t) / sum(r["modes"] for r in t)
		    assert abs(mean(rows) / mean(near) - 1) < 0.2, (fold, mean(rows), mean(near))
		    assert abs(rows[0]["modes"] / next(r["modes"] for r in fine if abs(r["k"] / rows[0]["k"] * fold - 1) < 0.02) - 1) < 1e-9
	END
	nb-calc 'pos *= 2' in.nb | power --mesh 40 --periodic 3 --limit 0.5 | sed 2,6d >twice
	awk -F '\t' 'NR == 1 || $7 == 2' got >second
	for name in P modes; do at_most 1e-12 "$(differ $name twice second)"; done
}

@test "the cross spectrum with the same bodies is their own, of independent ones nothing, and follows a shift" {
	nb-gen clusters -n 3000 -s 7 | nb-calc '@box = 3' >a.nb
	power --mesh 32 --cross a.nb a.nb >same
	for name in P_other P_cross; do
		paste <(column P <same) <(column $name <same) | awk '{ d = $2 / $1 - 1; if (!(d * d < 1e-24)) bad = 1 } END { exit bad || NR < 5 }'
	done
	equals "$(column shot_other <same)" "$(column shot <same)"
	power --mesh 32 a.nb | cut -f 3-5 | cmp - <(cut -f 3-5 same)
	nb-gen uniform -n 3000 -s 8 >u.nb
	nb-gen uniform -n 1000 -s 9 | nb-calc 'mass = 1 + id % 2' >v.nb
	power --mesh 32 --periodic 1 --cross u.nb v.nb | awk -F '\t' '
		NR > 1 { c += $8 * $9; n += $9; a += $4 * $9; b += $6 * $9 }
		END { chi2 = (c / n) ^ 2 / (a / n * b / n / n); print chi2; exit !(chi2 < 9) || $5 < $7 }'
	nb-calc 'x += 1.5' a.nb | power --mesh 32 --limit 0.1 --cross a.nb >half # modes of odd n_x change their sign
	awk -F '\t' 'NR > 1 && ($8 >= $4 || $8 <= -$4) { bad = 1 } END { exit bad || NR != 2 }' half
}

@test "each frame of a run has its lines, as a table, TSV or JSON" {
	nb-gen plummer -n 50 | nb-step -d 0.1 -k 4 --every 2 'nb-force -e 0.1' >run.nb
	power --mesh 8 --periodic 9 run.nb >run.tsv
	equals "$(cut -f 1,2 run.tsv | sort -u | paste -s -d ' ')" "$(printf '0\t0 1\t0.2 2\t0.4 frame\ttime')"
	nb-power --mesh 8 --periodic 9 --format json run.nb | jq -r .P | cmp - <(column P <run.tsv)
	nb-power --mesh 8 --periodic 9 run.nb | awk 'END { exit NR != 7 }'
	nb-power --mesh 8 --periodic 9 -v run.nb 2>&1 >/dev/null | grep -c 'frame [012]: 50 bodies on a mesh of 8^3 cells in a box of edge 9: painting' >lines
	equals "$(cat lines)" 3
}

@test "bodies of single precision have the spectrum, pairs and neighbours of the same numbers in double precision" {
	nb-gen clusters -n 3000 --precision f32 | nb-calc 'mass *= 1 + id % 7' >single.nb
	nb-convert -q --to gadget single.nb -o snapshot
	nb-convert --from gadget snapshot >wide.nb
	for f in wide single; do
		nb-power --mesh 16 --periodic 8 --format tsv $f.nb | cut -f 3-
		nb-power --pairs 0.1,1 --periodic 8 --format tsv $f.nb | cut -f 3-
		cat $f.nb | nb-neighbours --nearest 8 --periodic 8 >$f.near
		mutate show density <$f.near
	done | awk '{ seen[$0]++ } END { for (line in seen) if (seen[line] % 2) exit 1 }'
	nb-diff --fields id,pos,vel,mass --tolerance 0 single.nb single.near
}

@test "what has no box, no third dimension, no memory or no such mesh is refused" {
	nb-gen plummer -n 10 >p.nb
	fails_with 1 "frame 0 has no periodic box (want '--periodic L', or attribute box)" 'nb-power p.nb'
	nb-calc '@box_size = 7' p.nb >told.nb
	fails_with 1 "frame 0 has no attribute box (its box_size is 7: want '--periodic 7')" 'nb-power told.nb'
	nb-calc '@box = -1' p.nb >negative.nb
	fails_with 1 'attribute box is -1 in frame 0 (want a number >= 0)' 'nb-power negative.nb'
	nb-gen disk2d -n 10 >flat.nb 2>/dev/null || nb-calc '@dim = 2' 'z = 0' 'vz = 0' p.nb >flat.nb
	fails_with 1 'frame 0 is two-dimensional' 'nb-power --mesh 8 --periodic 1 flat.nb'
	# where sanitizers watch, they end a program that asks for so much
	[ "${NB_CONFIG:-}" = san ] || fails_with 1 "meshes of 4096^3 cells take 2.2e+03 GB (want a smaller '--mesh', or '--no-interlace')" \
		'nb-power --mesh 4096 --periodic 1 --cross p.nb p.nb'
	fails_with 2 "a mesh of 11 cells has a prime factor above 7 (want '--mesh 12')" 'nb-power --mesh 11 --periodic 1 p.nb'
	for m in 0 7 4097 x; do fails_with 2 "invalid mesh '$m'" "nb-power --mesh $m --periodic 1 p.nb"; done
	for l in 0 -1 nan x; do fails_with 2 "invalid periodic '$l'" "nb-power --periodic $l p.nb"; done
	for l in 0 1.1 nan; do fails_with 2 "invalid limit '$l'" "nb-power --limit $l p.nb"; done
	fails_with 2 "invalid fold '17'" 'nb-power --fold 17 p.nb'
	fails_with 2 "window 'box'" 'nb-power --window box p.nb'
	: >none
	bodies none | nb-select --frames 5 >empty.nb 2>/dev/null || :
	fails_with 1 "No such file or directory" 'nb-power --mesh 8 --periodic 1 --cross nowhere p.nb'
	fails_with 1 "'one.csv'" 'echo a >one.csv; nb-power --mesh 8 --periodic 1 --cross one.csv p.nb'
}

@test "positions in single precision, without ids and masses, are read too" {
	nb-gen clusters -n 500 -s 3 >in.nb
	nb-calc --dtype f4 'pos = pos' in.nb >single.nb 2>/dev/null || cp in.nb single.nb
	nb-select --fields pos single.nb | power --mesh 20 --periodic 3 >bare
	power --mesh 20 --periodic 3 in.nb >want
	at_most 1e-4 "$(differ P bare want)"
}

@test "pairs of a lattice are those of its shells, and of one place all" {
	for i in 0 1 2 3 4 5; do for j in 0 1 2 3 4 5; do for k in 0 1 2 3 4 5; do echo "$i,$j,$k"; done; done; done >lattice
	bodies lattice | power --periodic 6 --pairs 0.5,1,1.1,1.5,1.8,2,2.1 | column DD | paste -s -d ' ' >got
	equals "$(<got)" "0 $((216 * 6)) $((216 * 12)) $((216 * 8)) 0 $((216 * 6))"
	nb-gen plummer -n 5000 | nb-calc 'pos *= 0' | power --periodic 1 --pairs 0,0.1,0.2 | column DD | paste -s -d ' ' >got
	equals "$(<got)" "$((5000 * 4999)) 0"
}

@test "pairs of thousands of bodies with themselves are those with the same bodies in another file, but for the bodies" {
	nb-gen uniform -n 4000 >u.nb
	power --periodic 1 --pairs 0,0.1,0.2,0.5 --randoms u.nb u.nb >got
	paste <(column DD <got) <(column RR <got) <(column DR <got) | awk '{ $3 -= NR == 1 ? 4000 : 0; if ($1 != $2 || $1 != $3) print }' >differ
	[ ! -s differ ]
	[ "$(column DD <got | wc -l)" -eq 3 ]
}

@test "the correlation function is that of all pairs, in a box, with bodies at random, and projected" {
	nb-gen uniform -n 150 -s 4 | nb-calc 'x = x * x' >a.nb
	nb-gen uniform -n 220 -s 5 >b.nb
	mutate show pos <a.nb >a
	mutate show pos <b.nb >b
	for edge in 0 0.9; do
		for project in '' 0.3,2; do
			for randoms in '' b.nb; do
				[ "$edge$randoms" != 0 ] || continue
				nb-calc "@box = $edge" a.nb | power --pairs 0,0.1,0.2,0.45 ${project:+--project $project} ${randoms:+--randoms $randoms} >got
				python3 - $edge "${project:-0,1}" "$randoms" <<-'END'
					import sys
					from math import pi, sqrt
					L, (reach, parts), randoms = float(sys.argv[1]), map(float, sys.argv[2].split(",")), sys.argv[3]
					a, b = ([tuple(map(float, line.split())) for line in open(f)] for f in "ab")
					if L:
					    a, b = ([tuple(c % L for c in r) for r in s] for s in (a, b))
					edges, parts = (0, 0.1, 0.2, 0.45), int(parts)
					def count(p, q):
					    n = [[0] * parts for _ in edges[1:]]
					    for i, x in enumerate(p):
					        for j, y in enumerate(q):
					            if p is q and i == j:
					                continue
					            d = [abs(u - v) for u, v in zip(x, y)]
					            d = [L - c if L and c > L / 2 else c for c in d]
					            r = sqrt(d[0] ** 2 + d[1] ** 2 + (0 if reach else d[2] ** 2))
					            part = int(d[2] / reach * parts) if reach else 0
					            for k in range(3):
					                if edges[k] <= r < edges[k + 1] and part < parts:
					                    n[k][part] += 1
					    return n
					dd, dr, rr = count(a, a), count(a, b), count(b, b)
					n, m = len(a), len(b)
					head, *rows = [line.rstrip("\n").split("\t") for line in open("got")]
					assert head[-1] == ("w_p" if reach else "xi")
					for k, row in enumerate(rows):
					    assert row[head.index("DD")] == str(sum(dd[k]))
					    want = 0
					    for p in range(parts):
					        x = dd[k][p] / n / (n - 1)
					        if randoms:
					            y, z = dr[k][p] / n / m, rr[k][p] / m / (m - 1)
					            want += (x - 2 * y + z) / z
					        elif reach:
					            want += x / (pi * (edges[k + 1] ** 2 - edges[k] ** 2) * 2 * reach / parts / L ** 3) - 1
					        else:
					            want += x / (4 * pi / 3 * (edges[k + 1] ** 3 - edges[k] ** 3) / L ** 3) - 1
					    want *= 2 * reach / parts if reach else 1
					    assert abs(float(row[-1]) - want) <= 1e-12 * (1 + abs(want)), (row, want)
				END
			done
		done
	done
	nb-calc '@box = 0.9' a.nb | power -j 3 --pairs 0,0.1,0.2 | cmp - <(nb-calc '@box = 0.9' a.nb | NB_SIMD=plain power -j 1 --pairs 0,0.1,0.2)
}

@test "pairs that cannot be counted are refused" {
	nb-gen uniform -n 9 >u.nb
	fails_with 1 'distance 0.6 is more than half of the box of frame 0, whose edge is 1' 'nb-power --periodic 1 --pairs 0,0.6 u.nb'
	fails_with 1 'distance 0.7 is more than half of the box' 'nb-power --periodic 1 --pairs 0,0.2 --project 0.7 u.nb'
	fails_with 1 'has no periodic box' 'nb-power --pairs 0,0.6 u.nb'
	fails_with 2 "invalid edges '0.5,0.2'" 'nb-power --periodic 1 --pairs 0.5,0.2 u.nb'
	fails_with 2 "invalid edges '1'" 'nb-power --periodic 1 --pairs 1 u.nb'
	fails_with 2 "invalid reach '1,0'" 'nb-power --periodic 1 --pairs 0,1 --project 1,0 u.nb'
	fails_with 2 "'--pairs' and '--mesh' exclude each other" 'nb-power --periodic 1 --pairs 0,1 --mesh 8 u.nb'
	fails_with 2 "'--randoms' needs '--pairs'" 'nb-power --periodic 1 --randoms u.nb u.nb'
	nb-gen uniform -n 9 --dim 2 >flat.nb
	fails_with 1 'is two-dimensional' 'nb-power --periodic 1 --pairs 0,0.1 --project 0.1 flat.nb'
	fails_with 1 'another number of dimensions' 'nb-power --periodic 1 --pairs 0,0.1 --randoms flat.nb u.nb'
}

@test "with -o the table is a file, which may not be one that is read" {
	nb-gen uniform -n 500 | nb-calc 'pos = pos + 0.5' '@box = 1' >box.nb
	nb-power --mesh 16 -o table.txt box.nb
	nb-power --mesh 16 box.nb | cmp - table.txt
	cp box.nb before.nb
	for t in 'nb-power --mesh 16' nb-stats; do
		fails_with 2 "'--output' is 'box.nb', a file that is read, and would be lost" "$t -o box.nb box.nb"
	done
	cmp box.nb before.nb
	fails_with 1 'truncated stream' 'head -c -9 box.nb | nb-power --mesh 16 -o table.txt'
	nb-power --mesh 16 box.nb | cmp - table.txt
	nb-stats -o measured.txt box.nb
	nb-stats box.nb | cmp - measured.txt
}
