/* shan_cpu.c - Shan & Lei 2012 on the CPU: the serial near field of section II B, which their speed-ups refer to, and
 * the operation counts of section IV: tables I and II, and a model of the device's kernels that counts. */
#include "common/mem.h"
#include "kernels/papers/cpu_internal.h"

#include <math.h>
#include <string.h>

/* ---- the serial algorithm ----------------------------------------------------------------------------------- */

struct flat {
	float x, y, m;
};
struct vec {
	float x, y;
};

/* What bodies first .. last-1, of which me is none, do to me, body after body.  A square root and a division, as
 * section IV counts. */
static inline __attribute__((always_inline)) struct vec pull(
	const struct flat *body, size_t first, size_t last, struct flat me, float eps2, struct vec acc)
{
	for (size_t j = first; j < last; j++) {
		const float dx = body[j].x - me.x, dy = body[j].y - me.y, r2 = dy * dy + (dx * dx + eps2);
		const float s = body[j].m / (r2 * sqrtf(r2));
		acc.x += s * dx;
		acc.y += s * dy;
	}
	return acc;
}

/* Bodies of a box: (1) their own box, (2) its neighbours.  Returns the interactions. */
static NB_PAPER_SCALAR uint64_t serial_box(
	const struct flat *body, const struct nb_boxes *boxes, size_t box, float eps2, double unit, double *out)
{
	const size_t first = boxes->box_first[box], last = boxes->box_first[box + 1];
	const int32_t *next = boxes->neighbour + box * (size_t)boxes->nneighbour;
	uint64_t p2p = 0;
	for (size_t i = first; i < last; i++) {
		struct vec acc = pull(body, first, i, body[i], eps2, (struct vec){0, 0});
		acc = pull(body, i + 1, last, body[i], eps2, acc);
		p2p += last - first - 1;
		for (int k = 0; k < boxes->nneighbour; k++) {
			if (next[k] < 0)
				continue;
			const size_t begin = boxes->box_first[next[k]], end = boxes->box_first[next[k] + 1];
			acc = pull(body, begin, end, body[i], eps2, acc);
			p2p += end - begin;
		}
		out[3 * i] = (double)acc.x * unit;
		out[3 * i + 1] = (double)acc.y * unit;
		out[3 * i + 2] = 0;
	}
	return p2p;
}

int nb_paper_shan_serial(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	const char *wrong = NULL;
	int status = nb_paper_plan(g, &plan);
	if (!status)
		status = nb_boxes_check_cpu(job->boxes, g->n, &wrong);
	if (!status && wrong)
		status = NB_EINVAL;
	if (status || g->n == 0)
		return status;
	struct flat *body = nb_alloc(g->n, sizeof *body);
	if (!body)
		return NB_ENOMEM;
	const double length = plan.scale.length;
	for (size_t i = 0; i < g->n; i++)
		body[i] = (struct flat){(float)(g->pos[3 * i] * length - plan.middle[0]),
			(float)(g->pos[3 * i + 1] * length - plan.middle[1]), (float)(g->mass[i] * plan.scale.mass)};
	const float eps2 = nb_pair_eps2_f32(plan.eps);
	uint64_t p2p = 0;
	for (size_t box = 0; box < job->boxes->nbox; box++)
		p2p += serial_box(body, job->boxes, box, eps2, plan.scale.acc_out, g->acc);
	nb_free(body);
	if (count)
		count->p2p += p2p;
	return NB_OK;
}

/* ---- tables I and II ------------------------------------------------------------------------------------------ */

/* numbers a body has in memory, and an acceleration */
enum { BODY = 3, ACC = 2 };

void nb_shan_table(int64_t N, int64_t P, int64_t B, int improved, struct nb_shan_operations out[NB_SHAN_PROCEDURES])
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

void nb_shan_change(int64_t N, int64_t P, int64_t B, int64_t *registers, int64_t *shared, int64_t *global, int64_t *cp)
{
	struct nb_shan_operations old[NB_SHAN_PROCEDURES], better[NB_SHAN_PROCEDURES];
	nb_shan_table(N, P, B, 0, old);
	nb_shan_table(N, P, B, 1, better);
	*registers = *shared = *global = *cp = 0;
	for (int k = 0; k < NB_SHAN_PROCEDURES; k++) {
		*registers += better[k].rr + better[k].rw - old[k].rr - old[k].rw;
		*shared += better[k].sr + better[k].sw - old[k].sr - old[k].sw;
		*global += better[k].gr + better[k].gw - old[k].gr - old[k].gw;
		*cp += better[k].cp - old[k].cp;
	}
}

int nb_shan_situation(int64_t computation, int64_t access)
{
	if (computation == 0)
		return 0;
	return computation < 0 ? (access > 0 ? 1 : 2) : access < 0 ? 3 : 4;
}

/* ---- a model of the kernels that counts ----------------------------------------------------------------------- */

struct box_run {
	const float *body; /* n x BODY, global memory */
	float *acc;	   /* n x ACC, global memory */
	float *a, *b, *d;  /* arrays A and B in shared memory; d_acc, in registers, of each thread */
	float eps2;
	int improved;
};

/* A box's bodies into array A; the improved algorithm clears array B. */
static void load(const struct box_run *r, size_t first, size_t count, struct nb_shan_operations *did)
{
	memcpy(r->a, r->body + BODY * first, BODY * count * sizeof *r->a);
	did->gr += BODY * (int64_t)count;
	did->sw += BODY * (int64_t)count;
	if (r->improved) {
		memset(r->b, 0, ACC * count * sizeof *r->b);
		did->sw += ACC * (int64_t)count;
	}
}

/* Thread i, body `mine`, reads body j of array A; d_acc gains, and B, or only one of them. */
static void interact(const struct box_run *r, const float *mine, size_t i, size_t j, struct nb_shan_operations *did)
{
	const float dx = r->a[BODY * j] - mine[0], dy = r->a[BODY * j + 1] - mine[1];
	const float r2 = nb_pair_r2_f32(dx, dy, 0, r->eps2), w = r2 > 0 ? 1 / (r2 * sqrtf(r2)) : 0;
	did->sr += BODY;
	r->d[ACC * i] += r->a[BODY * j + 2] * w * dx;
	r->d[ACC * i + 1] += r->a[BODY * j + 2] * w * dy;
	did->rw += ACC;
	if (r->improved) {
		r->b[ACC * j] -= mine[2] * w * dx;
		r->b[ACC * j + 1] -= mine[2] * w * dy;
		did->sw += ACC;
	}
	did->cp++;
}

/* Array B to the accelerations of the box it belongs to. */
static void flush(const struct box_run *r, size_t first, size_t count, struct nb_shan_operations *did)
{
	if (!r->improved)
		return;
	for (size_t k = 0; k < ACC * count; k++)
		r->acc[ACC * first + k] += r->b[k];
	did->sr += ACC * (int64_t)count;
	did->gw += ACC * (int64_t)count;
}

static void run_box(const struct box_run *r, const struct nb_boxes *boxes, size_t box, struct nb_shan_operations *did)
{
	const size_t first = boxes->box_first[box], n = boxes->box_first[box + 1] - first;
	const int32_t *next = boxes->neighbour + box * (size_t)boxes->nneighbour;
	if (n == 0)
		return;
	memset(r->d, 0, ACC * n * sizeof *r->d);
	load(r, first, n, &did[NB_SHAN_FATHER]);
	for (size_t i = 0; i < n; i++)
		for (size_t j = r->improved ? i + 1 : 0; j < n; j++)
			if (j != i)
				interact(r, r->body + BODY * (first + i), i, j, &did[NB_SHAN_FATHER]);
	flush(r, first, n, &did[NB_SHAN_FATHER]);
	for (int k = 0; k < boxes->nneighbour; k++) {
		if (next[k] < 0 || (r->improved && (size_t)next[k] < box))
			continue;
		const size_t other = boxes->box_first[next[k]], m = boxes->box_first[next[k] + 1] - other;
		load(r, other, m, &did[NB_SHAN_NEIGHBOUR]);
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < m; j++)
				interact(r, r->body + BODY * (first + i), i, j, &did[NB_SHAN_NEIGHBOUR]);
		flush(r, other, m, &did[NB_SHAN_NEIGHBOUR]);
	}
	for (size_t k = 0; k < ACC * n; k++)
		r->acc[ACC * first + k] += r->d[k];
	did[NB_SHAN_RETURN].rr += ACC * (int64_t)n;
	did[NB_SHAN_RETURN].gw += ACC * (int64_t)n;
}

int nb_shan_run(size_t n, const double *pos, const double *mass, const struct nb_boxes *boxes, double eps, int improved,
	float *acc, struct nb_shan_operations out[NB_SHAN_PROCEDURES])
{
	memset(out, 0, NB_SHAN_PROCEDURES * sizeof *out);
	if (!(eps >= 0) || (boxes->nbox ? boxes->box_first[boxes->nbox] : 0) != n)
		return NB_EINVAL;
	float *room = nb_alloc(n, (2 * BODY + 2 * ACC) * sizeof *room); /* a box may hold all bodies */
	if (!room)
		return NB_ENOMEM;
	struct box_run r = {.body = room,
		.acc = acc,
		.a = room + BODY * n,
		.b = room + 2 * BODY * n,
		.d = room + (2 * BODY + ACC) * n,
		.eps2 = (float)(eps * eps),
		.improved = improved};
	for (size_t i = 0; i < n; i++) {
		room[BODY * i] = (float)pos[3 * i];
		room[BODY * i + 1] = (float)pos[3 * i + 1];
		room[BODY * i + 2] = (float)mass[i];
	}
	memset(acc, 0, ACC * n * sizeof *acc);
	for (size_t box = 0; box < boxes->nbox; box++)
		run_box(&r, boxes, box, out);
	nb_free(room);
	return NB_OK;
}
