/* shan_cpu.c - Shan & Lei 2012 on the CPU: the serial near field of section II B, which their speed-ups refer to. */
#include "common/mem.h"
#include "kernels/papers/cpu_internal.h"

#include <math.h>

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
