#!/usr/bin/env bats
# nb-force -m treepm: forces of a mesh and pairs in a periodic box.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 700 --seed 3 | nb-transform --scale length=0.02,mass=1,velocity=1 --shift 0.98,0.5,0.01 >clump.nb
	nb-gen uniform -n 700 --seed 5 | nb-merge --ids renumber - clump.nb | nb-calc '@box = 1' 'vx = 0' 'vy = 0' 'vz = 0' |
		nb-transform --shift 0,0,0 >box.nb
	nb-gen uniform -n 900 --seed 5 | nb-calc '@box = 1' | nb-transform --shift 0,0,0 >few.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

error() { nb-stats --attributes | awk -F = -v key="error_$1" '$1 ~ key "$" { print $2 }'; }
below() { awk -v x="$1" -v y="$2" 'BEGIN { exit !(x + 0 == x && y + 0 == y && x < y) }'; }

@test "forces and potentials are those of Ewald's sum, also of a cluster across the walls" {
	nb-force -e 0.002 --softening-kernel spline --potential --audit 1400 box.nb >mesh.nb
	below "$(error p50 <mesh.nb)" 1e-5
	below "$(error max <mesh.nb)" 1e-4
	nb-force -m direct -e 0.002 --softening-kernel spline --potential box.nb >sum.nb
	nb-calc 'q = pot' sum.nb | nb-calc 'vx = pot' >want.nb
	nb-calc 'vx = pot' mesh.nb | nb-diff --fields vel --absolute 2e-3 - want.nb
	run nb-diff --fields vel --absolute 1 want.nb sum.nb
	equals "$status" 1
}

@test "many bodies in a box take treepm, few take the sum, and options choose" {
	nb-force -v box.nb 2>&1 >out | grep -q ': treepm on cpu'
	nb-force -v few.nb 2>&1 >out | grep -q ': direct on cpu'
	nb-force -v --mesh 24 few.nb 2>&1 >out | grep -q ': treepm on cpu'
	nb-force -v --split 1.2 few.nb 2>&1 >out | grep -q ': treepm on cpu'
	nb-force -v -m direct --at few.nb box.nb 2>&1 >out | grep -q ': direct on cpu'
	nb-force -v --at few.nb box.nb 2>&1 >out | grep -q ': treepm on cpu'
}

@test "a finer mesh has fewer pairs, and a longer split smaller errors" {
	for how in '--mesh 24' '--mesh 48' '--mesh 48 --split 2.6'; do
		read -ra options <<<"$how"
		nb-force -v "${options[@]}" -e 0.002 --softening-kernel spline --audit 300 box.nb 2>said | error p50
		sed -n 's/.*body-body \([0-9]*\),.*/\1/p' said >>pairs
	done >errors
	below "$(sed -n 2p pairs)" "$(sed -n 1p pairs)"
	below "$(sed -n 2p pairs)" "$(sed -n 3p pairs)"
	below "$(sed -n 3p errors)" "$(sed -n 2p errors)"
}

# bats test_tags=once
@test "--accuracy is kept in a box" {
	for a in 1e-3 1e-4 5e-5 1e-5 1e-7; do
		nb-force -v --accuracy $a box.nb 2>said >out.nb
		below "$(error p99 <out.nb)" $a
		grep -c ': treepm' said || true
	done >mesh
	equals "$(tr '\n' ' ' <mesh)" '1 1 1 1 0 '
}

@test "bodies on a lattice that divides the mesh are at rest" {
	awk 'BEGIN { print "x,y,z"; for (i = 0; i < 1728; i++) printf "%.17g,%.17g,%.17g\n",
		(i % 12 + 0.3) / 12, (int(i / 12) % 12 + 0.7) / 12, (int(i / 144) + 0.1) / 12 }' |
		nb-convert --from csv | nb-calc '@box = 1' 'mass = 1 / 1728.' >lattice.nb
	for mesh in 24 36; do
		nb-force --mesh $mesh lattice.nb | nb-select --where 'abs(ax) + abs(ay) + abs(az) > 1e-12' |
			nb-stats --epot none --format tsv | stat_of n >moving
		equals "$(cat moving)" 0
	done
	nb-force --mesh 28 lattice.nb | nb-select --where 'abs(ax) > 1e-12' | nb-stats --epot none --format tsv | stat_of n >moving
	equals "$(cat moving)" 1728
}

@test "runs have the same bytes with any number of threads, folded or not, and conserve energy" {
	force='nb-force -e 0.01 --softening-kernel spline --potential'
	nb-step -d 0.0001 -k 20 --every 10 "$force -j 1" box.nb --no-history >run.nb
	nb-step -d 0.0001 -k 20 --every 10 "$force -j 3" box.nb --no-history | cmp - run.nb
	NB_FOLD=off nb-step -d 0.0001 -k 20 --every 10 "$force -j 1" box.nb --no-history | cmp - run.nb
	close_to 0 "$(nb-stats --format tsv run.nb | stat_of drift)" 1e-3
}

@test "in mixed precision forces differ by less than 1e-7 of their rms, and not by nothing" {
	local options fields
	for options in '-e 0.002 --softening-kernel spline' '-e 0.002' '--potential'; do
		read -ra args <<<"-b cpu -m treepm $options"
		fields=acc
		[[ $options != *potential* ]] || fields=acc,pot
		nb-force "${args[@]}" box.nb >exact.nb
		nb-force "${args[@]}" --precision mixed box.nb >mixed.nb
		nb-diff --fields "$fields" --tolerance 4e-6 exact.nb mixed.nb
		nb-diff --fields acc --format tsv exact.nb mixed.nb >difference || true
		below 1e-10 "$(stat_of rel_rms <difference)"
		below "$(stat_of rel_rms <difference)" 1e-7
		nb-force -j 1 "${args[@]}" --precision mixed box.nb | nb-diff --fields "$fields" - mixed.nb
	done
}

@test "what treepm cannot do is refused in a line" {
	fails_with 2 "has a prime factor above 7 (want 24)" 'nb-force --mesh 22 box.nb'
	fails_with 2 "option '--mesh' needs '--method treepm'" 'nb-force -m direct --mesh 24 box.nb'
	fails_with 2 "option '--split' needs '--method treepm'" 'nb-force -t 0.5 --split 1 box.nb'
	fails_with 2 "contradicts '--accuracy'" 'nb-force --accuracy 1e-3 --split 1 box.nb'
	fails_with 1 'not below half of its periodic box (want --mesh 18' 'nb-force --mesh 16 box.nb'
	fails_with 1 'want --mesh 21 or less' 'nb-force -e 0.4 box.nb'
	fails_with 1 "has no attribute 'box'" 'nb-gen uniform -n 9 | nb-force -m treepm'
	fails_with 1 "has no attribute 'box'" 'nb-gen uniform -n 9 | nb-force --mesh 24'
}
