/* direct_simd.c - units of work of the direct sum and of the near field, for one instruction set. */
#include "common/cpu.h"
#include "kernels/gravity/cpu_internal.h"
#include "kernels/simd/simd.h"

#include <stddef.h>
#include <string.h>

#define NB_TILE_PRECISION 0
#include "kernels/gravity/tile_body.h"
#define NB_TILE_PRECISION 1
#include "kernels/gravity/tile_body.h"
#define NB_TILE_PRECISION 2
#include "kernels/gravity/tile_body.h"

void NB_ISA(nb_direct_pair)(const struct nb_gravity_plan *plan, size_t a, size_t b, void *buffer)
{
	switch (plan->g->precision) {
	case NB_F32: direct_pair_f32(plan, a, b, buffer); break;
	case NB_MIXED: direct_pair_mixed(plan, a, b, buffer); break;
	case NB_F64: direct_pair_f64(plan, a, b, buffer); break;
	}
}

void NB_ISA(nb_direct_add)(const struct nb_gravity_plan *plan, size_t a, size_t b, const void *buffer)
{
	switch (plan->g->precision) {
	case NB_F32: direct_add_f32(plan, a, b, buffer); break;
	case NB_MIXED: direct_add_mixed(plan, a, b, buffer); break;
	case NB_F64: direct_add_f64(plan, a, b, buffer); break;
	}
}

uint64_t NB_ISA(nb_near_rows)(const struct nb_gravity_plan *plan, const struct nb_boxes *boxes, size_t box,
	size_t first, size_t last, void *buffer)
{
	switch (plan->g->precision) {
	case NB_F32: return near_rows_f32(plan, boxes, box, first, last, buffer);
	case NB_MIXED: return near_rows_mixed(plan, boxes, box, first, last, buffer);
	case NB_F64: return near_rows_f64(plan, boxes, box, first, last, buffer);
	}
	return 0;
}
