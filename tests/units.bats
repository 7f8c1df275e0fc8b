#!/usr/bin/env bats
# The unit test programs tests/unit/ROOM/*.c and *.cu; each says itself what fails.

load helper

unit() {
	local program=$NB_BIN/../tests/unit/$1
	shift
	if [ ! -x "$program" ] && [ -f "$NB_TOP/tests/unit/${program#*/tests/unit/}.cu" ] && [ -z "${NB_REQUIRE_GPU:-}" ]; then
		skip "${program#*/tests/} is not part of a build without CUDA"
	fi
	run "$program" "$@"
	echo "$output"
	if [ "$status" -eq 77 ] && [ -z "${NB_REQUIRE_GPU:-}" ]; then skip 'no CUDA device'; fi
	[ "$status" -eq 0 ]
}

@test "decimal text" { unit common/decimal; }
@test "numbers of options" { unit common/parse; }
@test "messages" { unit common/die; }
@test "environment of a call" { unit common/environment; }
@test "memory" { unit common/mem; }
@test "names of files" { unit common/named; }
@test "files that are whole" { unit common/whole; }
@test "text for a terminal" { unit common/printable; }
@test "messages of libgomp" { unit common/openmp; }
@test "texts of statuses" { unit common/status; }
@test "first bad number" { unit common/space; }
@test "checksums" { unit stream/crc32; }
@test "checksums without wide instructions" { NB_SIMD=plain unit stream/crc32; }
@test "stream" { unit stream/stream; }
@test "what frames and writers refuse" { unit stream/refuse; }
@test "numbers of every type" { unit stream/types; }
@test "frames made in blocks" { unit stream/fill; }
@test "what other programs see of frames and streams" { unit stream/nb; }
@test "frames that share columns" { unit stream/share; }
@test "frames and streams when memory runs out" { unit stream/scarce; }
@test "co-process" { unit filter/coprocess; }
@test "progress of a run in a log" { unit filter/progress; }
@test "what -b auto chooses" { unit filter/choose; }
@test "what -b auto chooses is fast where both were measured" { unit filter/choose "$NB_TOP/tests/bench/results/auto-h200.tsv"; }
@test "what work costs" { unit backend/cost; }
@test "masses on a mesh, their modes and shells" { unit mesh/mesh; }
# bats test_tags=once
@test "masses on a mesh, their modes and shells with every instruction set" { for simd in plain avx2; do NB_SIMD=$simd unit mesh/mesh; done; }
@test "masses on a mesh, their modes, shells and field on a device" { unit mesh/mesh_cuda; }
@test "what work takes in the memory of a device" { unit filter/capacity; }
@test "the processes whose work is done here" { unit filter/watch; }
@test "tools on frames in memory, also where the host cannot read them" { unit filter/places; }
@test "tools on a device that fails at any call, or has no memory left" { unit filter/lost; }
@test "programs meet at a FIFO" { unit fold/meet; }
@test "programs that lie or die when they meet" { unit fold/trouble; }
@test "random numbers and vectors of models" { unit models/simd; }
@test "models" { unit models/model; }
@test "spherical models, rings and mass functions" { unit models/sphere; }
@test "binaries and mass segregation" { unit models/system; }
@test "galaxies" { unit models/galaxy; }
@test "the solar system" { unit models/solar; }
@test "expansion and growth" { unit cosmology/cosmology; }
@test "random fields of density and displacements by them" { unit lpt/lpt; }
@test "displacements when memory runs out" { unit lpt/scarce; }
@test "neighbours" { unit near/near; }
@test "gravity in a periodic box" { unit ewald/ewald; }
@test "gravity in a periodic box by a mesh and pairs" { unit treepm/treepm; }
@test "gravity in a periodic box by a mesh and pairs on a device" { unit treepm/treepm_cuda; }
@test "gravity in a periodic box by a mesh and pairs on a device that does the work of three" { unit treepm/treepm_cuda 0,0,0; }
# bats test_tags=once
@test "gravity in a periodic box by a mesh and pairs with every instruction set" { for simd in plain avx2; do NB_SIMD=$simd unit treepm/treepm; done; }
@test "formats of other programs" { unit exchange/exchange; }
@test "what is wrong with a text" { unit exchange/text; }
@test "parts of what is imported, and its bytes" { unit exchange/part; }
@test "formats of other programs when memory runs out" { unit exchange/scarce; }
@test "binary formats that are damaged" { unit exchange/damage; }
@test "a file takes its name when it is complete" { unit exchange/output; }
@test "a tool that makes frames in memory" { unit filter/make; }
@test "direct sum and near field" { unit gravity/gravity; }
@test "softenings of single bodies, and splines" { unit gravity/soften; }
@test "the field at points" { unit gravity/points; }
@test "fast multipole method" { unit fmm/fmm; }
@test "fields of potentials" { unit field/field; }
# bats test_tags=long
@test "forces by several ranks" { unit walk/ranks; }
@test "threads as ranks" { unit ranks/threads; }
@test "Morton keys" { unit order/morton; }
@test "sort and permutation" { unit order/sort; }
@test "ids" { unit order/ids; }
@test "uniform boxes" { unit boxes/boxes; }
@test "tree" { unit tree/build; }
@test "what is no tree" { unit tree/check; }
@test "what is accepted as a whole: forms and bounds of the criterion" { unit multipole/opening; }
@test "what is accepted as a whole: the device's forms, compiled for the host" { unit multipole/opening_cuda host; }
# bats test_tags=gpu
@test "what is accepted as a whole: the device's forms, on a device" { unit multipole/opening_cuda; }
@test "multipoles" { unit multipole/multipole; }
@test "tree walk" { unit walk/walk; }
@test "the field at points by the tree" { unit walk/points; }
# bats test_tags=long
@test "jerks of the tree walk" { unit walk/jerk; }
# bats test_tags=long
@test "softenings in the tree walk" { unit walk/soften; }
@test "diagnostics" { unit measure/measure; }
@test "profiles, centres, shapes and bound bodies" { unit measure/profile; }
@test "orbital elements" { unit measure/orbit; }
@test "transits" { unit measure/transit; }
@test "splat" { unit picture/splat; }
@test "what moves in a picture" { unit picture/moving; }
@test "camera and exposure" { unit picture/exposure; }
@test "colours and PPM" { unit image/image; }
@test "forces and steps of a few bodies" { unit small/small; }

@test "Kepler orbits of all kinds" { unit small/kepler; }

@test "Wisdom and Holman's map" { unit small/whfast; }

@test "steps of order 15" { unit small/ias15; }

@test "planets that meet" { unit small/trace; }

@test "bodies that collide" { unit small/ar; }

@test "how fast orbits part" { unit small/variation; }

@test "relativity, oblateness, tides, radiation and damping" { unit small/extra; }
@test "the largest acceleration, kicks and drifts in one pass" { unit motion/step; }
@test "Hermite's corrector, and time scales" { unit motion/hermite; }
@test "expressions" { unit expr/expr; }
@test "expressions when memory runs out" { unit expr/scarce; }
@test "collisions and mergers by hand" { unit motion/contact; }
@test "collisions that lose energy" { unit motion/restitution; }
@test "collisions and mergers of many" { unit motion/collide; }
@test "lists of devices" { unit backend/list; }
@test "kernels of the papers" { unit papers/papers; }
@test "threads of the kernels of the papers" { unit papers/threads; }
@test "what the benchmark of the papers accepts" { unit papers/judge; }
@test "collisions of Xu, Xu & Chen" { unit papers/collide; }
# bats test_tags=gpu
@test "checks, conversions, boxes, measures and motions on the GPU" { unit backend/agree; }
# bats test_tags=gpu
@test "pictures on the GPU" { unit backend/pictures; }
# bats test_tags=gpu
@test "kernels of the papers on the GPU" { unit papers/papers cuda; }
# bats test_tags=gpu
@test "direct sum and near field on the GPU" { unit gravity/gravity_cuda; }
# bats test_tags=gpu
@test "one GPU that does the work of two" { unit team/team_cuda; }
# bats test_tags=gpu
@test "bodies spread over ranks, in the memory of a GPU" { unit domain/domain_cuda; }
# bats test_tags=gpu
@test "bodies spread over several GPUs, or over one that does their work" { unit team/spread_cuda; }
# bats test_tags=gpu
@test "one GPU that does the work of three" { unit team/team_cuda 0,0,0; }
# bats test_tags=gpu
@test "two GPUs" {
	[ "$(nvidia-smi --list-gpus 2>/dev/null | wc -l)" -ge 2 ] || skip 'fewer than two CUDA devices'
	unit team/team_cuda 0,1
}
# bats test_tags=gpu
@test "the field at points on the GPU" { unit gravity/points_cuda; }
# bats test_tags=gpu
@test "forces on some of the bodies on the GPU" { unit gravity/active_cuda; }
# bats test_tags=gpu
@test "fast multipole method on the GPU" { unit fmm/device; }
# bats test_tags=gpu
@test "fields of potentials on the GPU" { unit field/device; }
# bats test_tags=gpu
@test "Wisdom and Holman's map for many systems on the GPU" { unit small/whfast_cuda; }
# bats test_tags=gpu
@test "steps of order 15 of many systems on the GPU" { unit small/ias15_cuda; }
# bats test_tags=gpu
@test "neighbours on the GPU" { unit near/near_cuda; }
# bats test_tags=gpu
@test "sort, tree and walk on the GPU" { unit tree/tree_cuda; }
# bats test_tags=gpu
@test "jerks of the tree walk on the GPU" { unit walk_gpu/jerk_cuda; }
# bats test_tags=gpu
@test "softenings in the tree walk on the GPU" { unit walk_gpu/soften_cuda; }
# bats test_tags=gpu
@test "cells of high order in the tree walk on the GPU" { unit walk_gpu/high_cuda; }
# bats test_tags=gpu
@test "groups on the GPU" { unit groups/groups_cuda; }

@test "every unit test program is in the list above" {
	for f in "$NB_TOP"/tests/unit/*/*.c "$NB_TOP"/tests/unit/*/*.cu; do
		name=${f#"$NB_TOP"/tests/unit/} name=${name%.*}
		grep -q "unit $name;" "$BATS_TEST_FILENAME"
	done
}
