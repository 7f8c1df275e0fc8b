#!/usr/bin/env bats
# Attribute box makes a frame periodic: each program obeys it, or refuses the frame with one line.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	nb-gen uniform -n 60 --seed 5 | nb-calc '@box = 1' | nb-transform --shift 0,0,0 >box.nb
	nb-gen uniform -n 60 --seed 6 >open.nb
}

# What each program does with a frame in a box.  A new program gets a row here.
deeds() {
	cat <<-'END'
		nb-build-tree   obeys    nb-sort-zorder box.nb | nb-build-tree
		nb-build-tree   refuses  nb-sort-zorder box.nb | nb-build-tree --kind boxes
		nb-calc         obeys    nb-calc 'mass *= 2' box.nb
		nb-convert      obeys    nb-convert --to csv <box.nb
		nb-diff         obeys    nb-diff box.nb box.nb
		nb-extra        refuses  nb-extra gr:c=10 box.nb
		nb-field        refuses  nb-field 'plummer m=1 a=1' box.nb
		nb-force        obeys    nb-force --potential --audit 9 box.nb
		nb-force        obeys    nb-force -m treepm --potential --audit 9 box.nb
		nb-force        obeys    nb-force -m treepm --precision mixed box.nb
		nb-force        refuses  nb-force -m treepm --jerk box.nb
		nb-force        refuses  nb-force -m treepm --precision f32 box.nb
		nb-force        refuses  nb-force -t 0.5 box.nb
		nb-force        refuses  nb-sort-zorder box.nb | nb-build-tree | nb-force
		nb-force        refuses  nb-force -m fmm box.nb
		nb-force        refuses  nb-force -m near box.nb
		nb-force        refuses  nb-force -m direct --precision f32 box.nb
		nb-force        refuses  nb-force -m direct --precision mixed box.nb
		nb-force        refuses  nb-force --jerk box.nb
		nb-force        refuses  nb-force -b cpu --kernel gems3-serial box.nb
		nb-gen          obeys    nb-gen uniform -n 1
		nb-gen          obeys    nb-gen lpt -n 27
		nb-groups       obeys    nb-groups -l 0.1 box.nb
		nb-merge        obeys    nb-merge --ids renumber box.nb box.nb
		nb-merge        refuses  nb-merge --ids renumber box.nb open.nb
		nb-merge        refuses  nb-merge --ids renumber open.nb box.nb
		nb-neighbours   obeys    nb-neighbours --nearest 2 box.nb
		nb-plot         obeys    nb-plot --x x --y y --format svg -o /dev/null box.nb
		nb-power        obeys    nb-power --mesh 8 box.nb
		nb-render-ppm   obeys    nb-render-ppm box.nb
		nb-select       obeys    nb-select --where 'x < 0.5' box.nb
		nb-select       obeys    nb-calc '@omega0 = 1; @time = 0.5' box.nb | nb-step --cosmology -d 0.1 'nb-force -e 0.1' | nb-select --light-cone 0,0,0 --light 9
		nb-sort-zorder  obeys    nb-sort-zorder box.nb
		nb-stats        obeys    nb-stats --epot none box.nb
		nb-stats        obeys    nb-stats --profile box.nb
		nb-stats        obeys    nb-stats --healpix 2 box.nb
		nb-stats        obeys    nb-stats --radial-velocity x box.nb
		nb-stats        obeys    nb-stats box.nb
		nb-stats        refuses  nb-stats --epot direct box.nb
		nb-stats        refuses  nb-stats --orbits heaviest box.nb
		nb-stats        refuses  nb-force -m treepm -e 0.1 box.nb | nb-stats --transits z
		nb-step         obeys    nb-force -e 0.1 box.nb | nb-step -d 0.1
		nb-step         obeys    nb-step -d 0.1 'nb-force -m treepm -e 0.1' box.nb
		nb-step         obeys    nb-step -d 0.1 --integrator chin 'nb-force -e 0.1' box.nb
		nb-step         obeys    nb-calc '@omega0 = 1; @time = 0.5' box.nb | nb-step --cosmology -d 0.1 'nb-force -e 0.1'
		nb-step         refuses  nb-step -d 0.1 'nb-force -t 0.5' box.nb
		nb-step         refuses  nb-step -d 0.1 --integrator euler 'nb-force -e 0.1' box.nb
		nb-step         refuses  nb-step -d 0.1 --integrator whfast nb-force box.nb
		nb-step         refuses  nb-step --integrator ias15 nb-force box.nb
		nb-step         refuses  nb-step -d 0.1 --integrator trace nb-force box.nb
		nb-step         refuses  nb-step --integrator ar nb-force box.nb
		nb-step         refuses  nb-step -d 0.1 --integrator hermite 'nb-force -e 0.1 --jerk' box.nb
		nb-step         obeys    nb-step -d 0.1 --eta 0.1 --levels 3 'nb-force -e 0.1' box.nb
		nb-step         refuses  nb-step -d 0.1 --eta 0.1 --levels 3 --blocks whole 'nb-force -e 0.1' box.nb
		nb-step         refuses  nb-calc 'radius = 0.001' box.nb | nb-step -d 0.1 --collide bounce 'nb-force -e 0.1'
		nb-transform    obeys    nb-transform --shift 0.5,0,0 --scale length=2 box.nb
		nb-transform    refuses  nb-transform --rotate z:30 box.nb
		nb-transform    refuses  nb-transform --recenter com box.nb
		nb-view         obeys    nb-view --exit -q box.nb
	END
}

@test "each program obeys the box of a frame, or refuses it in one line" {
	deeds | each_does_as_said '^nb-[a-z-]*: .* box'
}

@test "a box that is no edge is refused, and 0 is an open system" {
	for b in -1 '"nan"' '"inf"' '"1,2,3"' '"x"'; do
		nb-calc "@box = $b" open.nb >bad.nb
		for program in 'nb-groups -l 0.1' 'nb-field "plummer m=1 a=1"' 'nb-force' 'nb-stats'; do
			fails_with 1 'attribute box' "$program bad.nb"
		done
	done
	nb-calc '@box = 0' open.nb | nb-force | nb-stats --format tsv >zero
	nb-force open.nb | nb-stats --format tsv | cmp - zero
}

@test "bodies of two boxes are not merged, and the error names both" {
	nb-calc '@box = 2' box.nb >other.nb
	fails_with 1 "attribute box is 1 in 'box.nb' and 2 in 'other.nb'" 'nb-merge --ids renumber box.nb other.nb'
	nb-merge --ids renumber box.nb box.nb | nb-stats --attributes | grep -q '^ *box=1'
}

@test "nb-transform keeps bodies in the box, whatever the width of its numbers, and scales it" {
	for type in f64 f32; do
		nb-gen uniform -n 60 --precision $type | nb-calc '@box = 1' 'x = 0' >there.nb
		nb-transform --shift -1e-17,0.7,-3.3 there.nb >moved.nb
		equals "$(nb-select --where 'x >= 0 && x < 1 && y >= 0 && y < 1 && z >= 0 && z < 1' moved.nb | nb-stats --epot none --format tsv | stat_of n)" 60
	done
	nb-transform --scale length=4 box.nb | nb-stats --attributes | grep -q '^ *box=4'
}

@test "nb-diff takes the distance of nearest images in a box" {
	{ echo x,y,z; echo 0.01,0.5,0.5; } | nb-convert --from csv | nb-calc '@box = 1' >a.nb
	{ echo x,y,z; echo 0.99,0.5,0.5; } | nb-convert --from csv | nb-calc '@box = 1' >b.nb
	nb-diff --absolute 0.021 a.nb b.nb
	run nb-diff --absolute 0.019 a.nb b.nb
	equals "$status" 1
	nb-calc '@box = 0' a.nb >c.nb
	run nb-diff --absolute 0.9 c.nb b.nb
	equals "$status" 1
}

@test "nb-stats finds the centre of a cluster astride a corner of the box" {
	nb-gen plummer -n 500 | nb-transform --scale length=0.01,mass=1,velocity=1 >p.nb
	nb-stats --epot none --format tsv p.nb | stat_of r50 >want
	nb-calc '@box = 1' p.nb | nb-transform --shift 0,0,0 | nb-stats --epot none --format tsv | stat_of r50 >got
	close_to "$(cat want)" "$(cat got)" 1e-6
	nb-calc '@box = 1' p.nb | nb-transform --shift 0,0,0 | nb-stats --epot none --format json | jq -e '.lx == null and .virial == null'
}

@test "nb-stats leaves the potential energy out in a box without pot, and says so once" {
	nb-gen uniform -n 50 | nb-calc '@box = 3; x = x - 3 * floor(x / 3); y = y - 3 * floor(y / 3); z = z - 3 * floor(z / 3)' >b.nb
	nb-select b.nb b.nb | nb-stats --format json >out 2>err
	equals "$(wc -l <out)" 2
	jq -e '.epot == null and .etot == null and .ekin != null' out
	equals "$(cat err)" "nb-stats: potential energy absent: no field 'pot', and a direct sum does not obey the periodic box (put 'nb-force --potential' before)"
	nb-force -e 0.1 --potential b.nb | nb-stats --format json | jq -e '.epot != null'
}

# Bodies x,y,z,mass of each line of stdin, in a box of edge 1.
boxed() { { echo x,y,z,mass; cat; } | nb-convert --from csv | nb-calc '@box = 1'; }

@test "a body in a box feels its images in its potential, and nobody in its acceleration" {
	echo 0.3,0.9,0,2 | boxed | nb-force --potential >one.nb
	close_to "$(mutate show pot <one.nb)" 5.674594958961239 1e-13
	nb-calc 'a = abs(ax) + abs(ay) + abs(az)' one.nb | mutate show a >size
	# Terms of about 20 cancel here, in an order that depends on the processor's vectors.
	close_to 0 "$(cat size)" 1e-12
	boxed </dev/null | nb-force --potential | nb-stats --check
}

@test "two bodies attract through the face between them, and audit and points agree with the sum" {
	printf '%s\n' 0.05,0.5,0.5,1 0.95,0.5,0.5,1 | boxed >two.nb
	nb-force --potential --audit 2 two.nb >f.nb
	nb-select --where 'x < 0.5' f.nb | mutate show acc | awk '{ exit !($1 < -99 && $1 > -101) }'
	nb-stats --attributes f.nb >said
	awk -F = '/error_max/ { exit !($2 < 1e-13) }' said
	grep -q 'error_measure=acc' said
	echo 1.5,0.5,-0.5 | { echo x,y,z; cat; } | nb-convert --from csv >at.nb
	nb-force --at at.nb --potential two.nb | nb-calc 'a = abs(ax) + abs(ay) + abs(az)' | mutate show a >size
	close_to 0 "$(cat size)" 1e-12
}

@test "forces in a box have the same bytes with any number of threads" {
	nb-force -j 1 --potential -e 0.01 box.nb --no-history >1.nb
	nb-force -j 3 --potential -e 0.01 box.nb --no-history | cmp - 1.nb
}

@test "bodies outside the box and softenings above half of it are refused" {
	nb-calc 'x += 0.5' box.nb >out.nb
	fails_with 1 'is outside its periodic box' 'nb-force out.nb'
	fails_with 1 'is outside its periodic box' 'nb-step -d 0.1 "nb-force -e 0.1" out.nb'
	nb-transform --shift 0,0,0 out.nb | nb-force | nb-stats --check
	fails_with 1 'reaches further than half of its periodic box' 'nb-force -e 0.51 box.nb'
	fails_with 1 'reaches further than half of its periodic box' 'nb-force -e 0.2 --softening-kernel spline box.nb'
	fails_with 1 'reaches further than half of its periodic box (limit 0.178571)' 'nb-force -m treepm -e 0.2 --softening-kernel spline box.nb'
	fails_with 1 'two-dimensional' 'nb-gen uniform -n 8 --dim 2 | nb-calc "@box = 1" | nb-force'
}

# bats test_tags=once
@test "nb-step keeps bodies in the box, and conserves energy and momentum" {
	nb-calc 'vx = 1' 'vy = -0.7' 'vz = 0' box.nb | nb-step -d 0.005 -k 200 --every 50 "nb-force -e 0.1 --softening-kernel spline --potential" >run.nb
	nb-select --where 'x < 0 || x >= 1 || y < 0 || y >= 1 || z < 0 || z >= 1' run.nb | nb-stats --epot none --format tsv | stat_of n >out
	equals "$(cat out)" 0
	close_to 1 "$(nb-stats --format tsv run.nb | stat_of px)" 1e-10
	close_to 0 "$(nb-stats --format tsv run.nb | stat_of drift)" 1e-4
}

# forces FILE: their root mean square
forces() { nb-force -m treepm "$1" | nb-calc '@a = sqrt(mean(ax^2 + ay^2 + az^2))' | nb-stats --attributes | sed -n 's/^ *a=//p'; }

@test "bodies that go against their forces become a glass, which tiles" {
	nb-gen uniform -n 512 --seed 2 | nb-calc 'mass = 1 / 512' '@box = 1' | nb-transform --shift 0,0,0 >glass.nb
	before=$(forces glass.nb)
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		nb-force -m treepm glass.nb | nb-calc 'pos -= acc / (4 * pi)' | nb-transform --shift 0,0,0 >next.nb
		mv next.nb glass.nb
	done
	after=$(forces glass.nb)
	awk -v a="$before" -v b="$after" 'BEGIN { exit !(b > 0 && a / b > 30) }'
	nb-power --mesh 16 --format tsv glass.nb | awk -F '\t' 'NR == 2 { exit !($4 > 0 && $4 < 1e-3 * $5) }'
	for tile in 0,0,0 1,0,0 0,1,0 1,1,0 0,0,1 1,0,1 0,1,1 1,1,1; do nb-calc 'mass /= 8' '@box = 2' glass.nb | nb-transform --shift $tile >tile-$tile.nb; done
	nb-merge --ids renumber tile-*.nb | nb-transform --scale length=0.5 >large.nb
	# at half of all lengths the same density pulls half as much, as far as the meshes are exact
	close_to "$(awk -v b="$after" 'BEGIN { printf "%.17g", b / 2 }')" "$(forces large.nb)" 1e-3
}
