/* shan.h - Shan & Lei 2012, section IV: the operations of bpb and bpb-n3 by the formulas of tables I and II, and by a
 * model of the device's kernels that counts them. */
#ifndef NB_BENCH_SHAN_H
#define NB_BENCH_SHAN_H

#include "common/mem.h"
#include "kernels/pair/pair.h"
#include "kernels/papers/papers.h"

#include <math.h>
#include <string.h>

/* ---- tables I and II ------------------------------------------------------------------------------------------ */

/* numbers a body has in memory, and an acceleration */
enum { SHAN_BODY = 3, SHAN_ACC = 2 };

/* Table I: N bodies, P in each box, B neighbours of all boxes together; improved: bpb-n3, else bpb. */
static void shan_table(int64_t N, int64_t P, int64_t B, int improved, struct nb_shan_operations out[NB_SHAN_PROCEDURES])
{
	struct nb_shan_operations *father = &out[NB_SHAN_FATHER], *neighbour = &out[NB_SHAN_NEIGHBOUR];
	out[NB_SHAN_RETURN] = (struct nb_shan_operations){.gw = 2 * N, .rr = 2 * N};
	if (improved) {
		*father = (struct nb_shan_operations){.gr = 3 * N,
			.gw = 2 * N,
			.sr = 3 * N * (P - 1) / 2 + 2 * N,
			.sw = 3 * N + 2 * N + N * (P - 1),
			.rw = 2 * N * (P - 1) / 2,
			.cp = N * (P - 1) / 2};
		*neighbour = (struct nb_shan_operations){.gr = 3 * B * P / 2,
			.gw = B * P,
			.sr = 3 * B * P * P / 2 + B * P,
			.sw = 3 * B * P / 2 + B * P + B * P * P,
			.rw = B * P * P,
			.cp = B * P * P / 2};
	} else {
		*father = (struct nb_shan_operations){
			.gr = 3 * N, .sr = 3 * N * (P - 1), .sw = 3 * N, .rw = 2 * N * (P - 1), .cp = N * (P - 1)};
		*neighbour = (struct nb_shan_operations){
			.gr = 3 * B * P, .sr = 3 * B * P * P, .sw = 3 * B * P, .rw = 2 * B * P * P, .cp = B * P * P};
	}
}

/* Table II, first row, from table I: what bpb-n3 needs more than bpb. */
static void shan_change(
	int64_t N, int64_t P, int64_t B, int64_t *registers, int64_t *shared, int64_t *global, int64_t *cp)
{
	struct nb_shan_operations old[NB_SHAN_PROCEDURES], better[NB_SHAN_PROCEDURES];
	shan_table(N, P, B, 0, old);
	shan_table(N, P, B, 1, better);
	*registers = *shared = *global = *cp = 0;
	for (int k = 0; k < NB_SHAN_PROCEDURES; k++) {
		*registers += better[k].rr + better[k].rw - old[k].rr - old[k].rw;
		*shared += better[k].sr + better[k].sw - old[k].sr - old[k].sw;
		*global += better[k].gr + better[k].gw - old[k].gr - old[k].gw;
		*cp += better[k].cp - old[k].cp;
	}
}

/* Which of the four situations of section V a change of computation and of data access is, 1 .. 4:
 *   1  less computation, more access           2  less computation, access the same or less
 *   3  more computation, less access           4  more computation, access the same or more, which can only harm
 * 0 where the computation does not change. */
static int shan_situation(int64_t computation, int64_t access)
{
	if (computation == 0)
		return 0;
	return computation < 0 ? (access > 0 ? 1 : 2) : access < 0 ? 3 : 4;
}

/* ---- a model of the kernels that counts ----------------------------------------------------------------------- */

struct shan_box_run {
	const float *body; /* n x SHAN_BODY, global memory */
	float *acc;	   /* n x SHAN_ACC, global memory */
	float *a, *b, *d;  /* arrays A and B in shared memory; d_acc, in registers, of each thread */
	float eps2;
	int improved;
};

/* A box's bodies into array A; the improved algorithm clears array B. */
static void shan_load(const struct shan_box_run *r, size_t first, size_t count, struct nb_shan_operations *did)
{
	memcpy(r->a, r->body + SHAN_BODY * first, SHAN_BODY * count * sizeof *r->a);
	did->gr += SHAN_BODY * (int64_t)count;
	did->sw += SHAN_BODY * (int64_t)count;
	if (r->improved) {
		memset(r->b, 0, SHAN_ACC * count * sizeof *r->b);
		did->sw += SHAN_ACC * (int64_t)count;
	}
}

/* Thread i, body `mine`, reads body j of array A; d_acc gains, and B, or only one of them. */
static void shan_interact(
	const struct shan_box_run *r, const float *mine, size_t i, size_t j, struct nb_shan_operations *did)
{
	const float dx = r->a[SHAN_BODY * j] - mine[0], dy = r->a[SHAN_BODY * j + 1] - mine[1];
	const float r2 = nb_pair_r2_f32(dx, dy, 0, r->eps2), w = r2 > 0 ? 1 / (r2 * sqrtf(r2)) : 0;
	did->sr += SHAN_BODY;
	r->d[SHAN_ACC * i] += r->a[SHAN_BODY * j + 2] * w * dx;
	r->d[SHAN_ACC * i + 1] += r->a[SHAN_BODY * j + 2] * w * dy;
	did->rw += SHAN_ACC;
	if (r->improved) {
		r->b[SHAN_ACC * j] -= mine[2] * w * dx;
		r->b[SHAN_ACC * j + 1] -= mine[2] * w * dy;
		did->sw += SHAN_ACC;
	}
	did->cp++;
}

/* Array B to the accelerations of the box it belongs to. */
static void shan_flush(const struct shan_box_run *r, size_t first, size_t count, struct nb_shan_operations *did)
{
	if (!r->improved)
		return;
	for (size_t k = 0; k < SHAN_ACC * count; k++)
		r->acc[SHAN_ACC * first + k] += r->b[k];
	did->sr += SHAN_ACC * (int64_t)count;
	did->gw += SHAN_ACC * (int64_t)count;
}

static void shan_run_box(
	const struct shan_box_run *r, const struct nb_boxes *boxes, size_t box, struct nb_shan_operations *did)
{
	const size_t first = boxes->box_first[box], n = boxes->box_first[box + 1] - first;
	const int32_t *next = boxes->neighbour + box * (size_t)boxes->nneighbour;
	if (n == 0)
		return;
	memset(r->d, 0, SHAN_ACC * n * sizeof *r->d);
	shan_load(r, first, n, &did[NB_SHAN_FATHER]);
	for (size_t i = 0; i < n; i++)
		for (size_t j = r->improved ? i + 1 : 0; j < n; j++)
			if (j != i)
				shan_interact(r, r->body + SHAN_BODY * (first + i), i, j, &did[NB_SHAN_FATHER]);
	shan_flush(r, first, n, &did[NB_SHAN_FATHER]);
	for (int k = 0; k < boxes->nneighbour; k++) {
		if (next[k] < 0 || (r->improved && (size_t)next[k] < box))
			continue;
		const size_t other = boxes->box_first[next[k]], m = boxes->box_first[next[k] + 1] - other;
		shan_load(r, other, m, &did[NB_SHAN_NEIGHBOUR]);
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < m; j++)
				shan_interact(r, r->body + SHAN_BODY * (first + i), i, j, &did[NB_SHAN_NEIGHBOUR]);
		shan_flush(r, other, m, &did[NB_SHAN_NEIGHBOUR]);
	}
	for (size_t k = 0; k < SHAN_ACC * n; k++)
		r->acc[SHAN_ACC * first + k] += r->d[k];
	did[NB_SHAN_RETURN].rr += SHAN_ACC * (int64_t)n;
	did[NB_SHAN_RETURN].gw += SHAN_ACC * (int64_t)n;
}

/* A model of these kernels for machines without a device: goes through the steps of section III one after the other,
 * over boxes of any occupancy, counts every access, and does the sums as well: acc (n x 2, f32 arithmetic, in the units
 * of pos, G = 1).  0, NB_EINVAL or NB_ENOMEM. */
static int shan_run(size_t n, const double *pos, const double *mass, const struct nb_boxes *boxes, double eps,
	int improved, float *acc, struct nb_shan_operations out[NB_SHAN_PROCEDURES])
{
	memset(out, 0, NB_SHAN_PROCEDURES * sizeof *out);
	if (!(eps >= 0) || (boxes->nbox ? boxes->box_first[boxes->nbox] : 0) != n)
		return NB_EINVAL;
	float *room = nb_alloc(n, (2 * SHAN_BODY + 2 * SHAN_ACC) * sizeof *room); /* a box may hold all bodies */
	if (!room)
		return NB_ENOMEM;
	struct shan_box_run r = {.body = room,
		.acc = acc,
		.a = room + SHAN_BODY * n,
		.b = room + 2 * SHAN_BODY * n,
		.d = room + (2 * SHAN_BODY + SHAN_ACC) * n,
		.eps2 = (float)(eps * eps),
		.improved = improved};
	for (size_t i = 0; i < n; i++) {
		room[SHAN_BODY * i] = (float)pos[3 * i];
		room[SHAN_BODY * i + 1] = (float)pos[3 * i + 1];
		room[SHAN_BODY * i + 2] = (float)mass[i];
	}
	memset(acc, 0, SHAN_ACC * n * sizeof *acc);
	for (size_t box = 0; box < boxes->nbox; box++)
		shan_run_box(&r, boxes, box, out);
	nb_free(room);
	return NB_OK;
}

#endif
