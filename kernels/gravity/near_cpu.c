/* near_cpu.c - the near field of uniform boxes on the CPU.
 *
 * A box's bodies are targets; the bodies of the box and of its neighbours are gathered into tiles of
 * sources (tile_body.h), full ones whatever the occupancy of the boxes, and swept.  Bodies of a crowded
 * box are targets in several parts.  Threads take the parts in chunks; which thread takes what changes
 * nothing, as nobody else writes a body's sums.  Counter-forces are not used: a target meets the sources
 * of 9 or 27 boxes at once, so lanes are full, and no two threads meet. */
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/gravity/cpu_internal.h"

#include <omp.h>

static nb_near_rows *const rows_of[] = {NB_ISA_TABLE(nb_near_rows)};

/* the box that holds body i */
static size_t box_of(const struct nb_boxes *boxes, size_t i)
{
	size_t low = 0, high = boxes->nbox;
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;
		if (boxes->box_first[middle] <= i)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The parts that begin with one of the bodies begin..end-1. */
static uint64_t chunk(const struct nb_gravity_plan *plan, const struct nb_boxes *boxes, nb_near_rows *near,
	size_t begin, size_t end, void *buffer)
{
	uint64_t p2p = 0;
	for (size_t box = box_of(boxes, begin); box < boxes->nbox && boxes->box_first[box] < end; box++) {
		const size_t first = boxes->box_first[box], n = boxes->box_first[box + 1] - first;
		if (n == 0)
			continue;
		const size_t parts = (n + NB_TILE_F64 - 1) / NB_TILE_F64, size = (n + parts - 1) / parts;
		for (size_t part = first; part < first + n; part += size)
			if (part >= begin && part < end)
				p2p += near(plan, boxes, box, part, part + size < first + n ? part + size : first + n,
					buffer);
	}
	return p2p;
}

int nb_gravity_near_cpu(const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count)
{
	struct nb_gravity_plan plan;
	const char *wrong = NULL;
	int status = nb_gravity_make_plan(g, &plan);
	if (!status)
		status = nb_boxes_check_cpu(boxes, g->n, &wrong);
	if (!status && wrong)
		status = NB_EINVAL;
	if (status || g->n == 0)
		return status;
	enum { CHUNK = 512 };
	const size_t chunks = (g->n + CHUNK - 1) / CHUNK;
	const int threads = chunks > 1 ? nb_cpu_threads() : 1;
	char *buffer = nb_alloc((size_t)threads, NB_TILE_BYTES);
	if (!buffer)
		return NB_ENOMEM;
	nb_near_rows *near = rows_of[nb_cpu_isa()];
	uint64_t p2p = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : p2p)
	for (size_t c = 0; c < chunks; c++)
		p2p += chunk(&plan, boxes, near, c * CHUNK, (c + 1) * CHUNK < g->n ? (c + 1) * CHUNK : g->n,
			buffer + (size_t)omp_get_thread_num() * NB_TILE_BYTES);
	nb_free(buffer);
	nb_gravity_unscale(&plan);
	if (count)
		count->p2p += p2p;
	return NB_OK;
}
