#!/usr/bin/env bats
# The unit test programs tests/unit_*.c and unit_*.cu; each says itself what fails.

load helper

unit() {
	local program=$NB_BIN/../tests/$1
	shift
	[ -x "$program" ] || skip "${program##*/} is not part of this build"
	run "$program" "$@"
	echo "$output"
	if [ "$status" -eq 77 ] && [ -z "${NB_REQUIRE_GPU:-}" ]; then skip 'no CUDA device'; fi
	[ "$status" -eq 0 ]
}

@test "decimal text" { unit unit_decimal; }
@test "memory" { unit unit_mem; }
@test "checksums" { unit unit_crc32; }
@test "checksums without wide instructions" { NB_SIMD=plain unit unit_crc32; }
@test "stream" { unit unit_stream; }
@test "co-process" { unit unit_coprocess; }
@test "models" { unit unit_model; }
@test "direct sum and near field" { unit unit_gravity; }
@test "sort, tree and walk" { unit unit_tree; }
@test "diagnostics" { unit unit_diagnostics; }
@test "splat" { unit unit_splat; }
@test "collisions and mergers" { unit unit_collide; }
@test "kernels of the papers" { unit unit_paper; }
# bats test_tags=gpu
@test "kernels of the papers on the GPU" { unit unit_paper cuda; }
# bats test_tags=gpu
@test "direct sum and near field on the GPU" { unit unit_gravity_cuda; }
# bats test_tags=gpu
@test "sort, tree and walk on the GPU" { unit unit_tree_cuda; }

@test "every unit test program is in the list above" {
	for f in "$NB_TOP"/tests/unit_*.c "$NB_TOP"/tests/unit_*.cu; do
		name=$(basename "${f%.*}")
		grep -q "unit $name;" "$BATS_TEST_FILENAME"
	done
}
