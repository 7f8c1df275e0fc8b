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

#include <math.h>
#include <omp.h>

typedef uint64_t near_rows(const struct nb_gravity_plan *plan, const struct nb_boxes *boxes, size_t box, size_t first,
	size_t last, void *room);

static near_rows *rows_of(enum nb_isa isa)
{
	switch (isa) {
#ifdef __x86_64__
	case NB_ISA_AVX512: return nb_near_rows_avx512;
	case NB_ISA_AVX2: return nb_near_rows_avx2;
#endif
	default: return nb_near_rows_plain;
	}
}

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
static uint64_t chunk(const struct nb_gravity_plan *plan, const struct nb_boxes *boxes, near_rows *near, size_t begin,
	size_t end, void *room)
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
					room);
	}
	return p2p;
}

int nb_gravity_near_cpu(const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count)
{
	struct nb_gravity_plan plan;
	const char *wrong = NULL;
	int status = nb_gravity_plan(g, &plan);
	if (!status)
		status = nb_boxes_check_cpu(boxes, g->n, &wrong);
	if (!status && wrong)
		status = NB_EINVAL;
	if (status || g->n == 0)
		return status;
	enum { CHUNK = 512 };
	const size_t chunks = (g->n + CHUNK - 1) / CHUNK;
	const int threads = chunks > 1 ? nb_cpu_threads() : 1;
	char *room = nb_alloc((size_t)threads, NB_TILE_ROOM);
	if (!room)
		return NB_ENOMEM;
	near_rows *near = rows_of(nb_cpu_isa());
	uint64_t p2p = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : p2p)
	for (size_t c = 0; c < chunks; c++)
		p2p += chunk(&plan, boxes, near, c * CHUNK, (c + 1) * CHUNK < g->n ? (c + 1) * CHUNK : g->n,
			room + (size_t)omp_get_thread_num() * NB_TILE_ROOM);
	nb_free(room);
	nb_gravity_unscale(&plan);
	if (count)
		count->p2p += p2p;
	return NB_OK;
}

/* ---- the serial algorithm -------------------------------------------------------------------------- */

/* For each precision (where: type of coordinates, real: of arithmetic): a body's record, filled from body
 * i of the plan, and the sum of what the bodies first..last-1 do to body i. */
#define SERIAL(name, T, where, real, root)                                                                      \
	struct body_##name {                                                                                    \
		where x, y, z;                                                                                  \
		real m, vx, vy, vz;                                                                             \
	};                                                                                                      \
	static void body_##name(const struct nb_gravity_plan *plan, size_t i, struct body_##name *b)            \
	{                                                                                                       \
		const struct nb_gravity *g = plan->g;                                                           \
		const double length = plan->scale.length, speed = plan->scale.velocity;                         \
		const double shift = sizeof(where) == sizeof(float) ? 1 : 0;                                    \
		b->x = (where)(g->pos[3 * i] * length - shift * plan->middle[0]);                               \
		b->y = (where)(g->pos[3 * i + 1] * length - shift * plan->middle[1]);                           \
		b->z = (where)(g->pos[3 * i + 2] * length - shift * plan->middle[2]);                           \
		b->m = (real)(g->mass[i] * plan->scale.mass);                                                   \
		b->vx = g->jerk ? (real)(g->vel[3 * i] * speed) : 0;                                            \
		b->vy = g->jerk ? (real)(g->vel[3 * i + 1] * speed) : 0;                                        \
		b->vz = g->jerk ? (real)(g->vel[3 * i + 2] * speed) : 0;                                        \
	}                                                                                                       \
	static void serial_##name(const struct nb_gravity_plan *plan, const struct body_##name *body, size_t i, \
		size_t first, size_t last)                                                                      \
	{                                                                                                       \
		const struct nb_gravity *g = plan->g;                                                           \
		const real eps2 = nb_pair_eps2_##T(plan->eps), none = plan->eps > 0 ? -1 : eps2;                \
		real ax = 0, ay = 0, az = 0, pot = 0, jx = 0, jy = 0, jz = 0;                                   \
		for (size_t j = first; j < last; j++) {                                                         \
			const real dx = (real)(body[j].x - body[i].x);                                          \
			const real dy = (real)(body[j].y - body[i].y);                                          \
			const real dz = (real)(body[j].z - body[i].z);                                          \
			const real r2 = nb_pair_r2_##T(dx, dy, dz, eps2);                                       \
			if (j == i || !(r2 > none))                                                             \
				continue;                                                                       \
			const real rinv = 1 / root(r2), rinv2 = rinv * rinv, w = body[j].m * (rinv * rinv2);    \
			nb_pair_add_##T(w, dx, dy, dz, &ax, &ay, &az);                                          \
			pot -= body[j].m * rinv;                                                                \
			if (g->jerk) {                                                                          \
				real vx = body[j].vx - body[i].vx, vy = body[j].vy - body[i].vy;                \
				real vz = body[j].vz - body[i].vz;                                              \
				nb_pair_jerk_##T(rinv2, dx, dy, dz, &vx, &vy, &vz);                             \
				nb_pair_add_##T(w, vx, vy, vz, &jx, &jy, &jz);                                  \
			}                                                                                       \
		}                                                                                               \
		const real acc[3] = {ax, ay, az}, jerk[3] = {jx, jy, jz};                                       \
		for (int d = 0; d < 3; d++)                                                                     \
			g->acc[3 * i + d] += (double)acc[d];                                                    \
		if (g->pot)                                                                                     \
			g->pot[i] += (double)pot;                                                               \
		for (int d = 0; g->jerk && d < 3; d++)                                                          \
			g->jerk[3 * i + d] += (double)jerk[d];                                                  \
	}                                                                                                       \
	static uint64_t serial_boxes_##name(                                                                    \
		const struct nb_gravity_plan *plan, const struct nb_boxes *boxes, void *room)                   \
	{                                                                                                       \
		struct body_##name *body = room;                                                                \
		uint64_t p2p = 0;                                                                               \
		for (size_t i = 0; i < plan->g->n; i++)                                                         \
			body_##name(plan, i, &body[i]);                                                         \
		for (size_t box = 0; box < boxes->nbox; box++)                                                  \
			for (size_t i = boxes->box_first[box]; i < boxes->box_first[box + 1]; i++) {            \
				p2p += boxes->box_first[box + 1] - boxes->box_first[box] - 1;                   \
				serial_##name(plan, body, i, boxes->box_first[box], boxes->box_first[box + 1]); \
				const int32_t *next = boxes->neighbour + box * (size_t)boxes->nneighbour;       \
				for (int k = 0; k < boxes->nneighbour; k++) {                                   \
					if (next[k] < 0)                                                        \
						continue;                                                       \
					const size_t first = boxes->box_first[next[k]];                         \
					const size_t last = boxes->box_first[next[k] + 1];                      \
					p2p += last - first;                                                    \
					serial_##name(plan, body, i, first, last);                              \
				}                                                                               \
			}                                                                                       \
		return p2p;                                                                                     \
	}
SERIAL(f32, f32, float, float, sqrtf)
SERIAL(mixed, f32, double, float, sqrtf)
SERIAL(f64, f64, double, double, sqrt)

int nb_gravity_near_serial(const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count)
{
	struct nb_gravity_plan plan;
	const char *wrong = NULL;
	int status = nb_gravity_plan(g, &plan);
	if (!status)
		status = nb_boxes_check_cpu(boxes, g->n, &wrong);
	if (!status && wrong)
		status = NB_EINVAL;
	if (status || g->n == 0)
		return status;
	void *room = nb_alloc(g->n, sizeof(struct body_f64)); /* the largest */
	if (!room)
		return NB_ENOMEM;
	nb_gravity_clear(g, 0, g->n);
	uint64_t p2p = g->precision == NB_F32	  ? serial_boxes_f32(&plan, boxes, room)
		       : g->precision == NB_MIXED ? serial_boxes_mixed(&plan, boxes, room)
						  : serial_boxes_f64(&plan, boxes, room);
	nb_free(room);
	nb_gravity_unscale(&plan);
	if (count)
		count->p2p += p2p;
	return NB_OK;
}
