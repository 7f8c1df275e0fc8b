/* gems3_cpu.c - what GPU Gems 3, chapter 31, compares its GPU with: portable C on one thread, without SIMD, each pair
 * of bodies once (section 31.6 and its footnote 3), with the arithmetic of listing 31-1 in f32.  All pairs, and the
 * leaf cells of section 31.6: each with itself and with its neighbours. */
#include "common/mem.h"
#include "kernels/papers/cpu_internal.h"

#include <math.h>

struct sums {
	const struct nb_paper_body *body;
	float (*acc)[3]; /* of each body */
	float eps2;
};

/* Body i and each of bodies first..last-1 attract each other. */
static NB_PAPER_SCALAR void meet(const struct sums *s, size_t i, size_t first, size_t last)
{
	const struct nb_paper_body bi = s->body[i];
	float ax = 0, ay = 0, az = 0;
	for (size_t j = first; j < last; j++) {
		const struct nb_paper_body bj = s->body[j];
		const float rx = bj.x - bi.x, ry = bj.y - bi.y, rz = bj.z - bi.z;
		const float square = rx * rx + ry * ry + rz * rz + s->eps2;
		const float sixth = square * square * square;
		const float inverse = 1 / sqrtf(sixth), to_i = bj.m * inverse, to_j = bi.m * inverse;
		ax += rx * to_i;
		ay += ry * to_i;
		az += rz * to_i;
		s->acc[j][0] -= rx * to_j;
		s->acc[j][1] -= ry * to_j;
		s->acc[j][2] -= rz * to_j;
	}
	s->acc[i][0] += ax;
	s->acc[i][1] += ay;
	s->acc[i][2] += az;
}

/* Bodies first..last-1 among themselves.  Returns the interactions, two a pair. */
static uint64_t within(const struct sums *s, size_t first, size_t last)
{
	for (size_t i = first; i < last; i++)
		meet(s, i, i + 1, last);
	return (uint64_t)(last - first) * (last > first ? last - first - 1 : 0);
}

static uint64_t all_leaves(const struct sums *s, const struct nb_boxes *boxes)
{
	const uint64_t *first = boxes->box_first;
	const size_t around = (size_t)boxes->nneighbour;
	uint64_t done = 0;
	for (size_t leaf = 0; leaf < boxes->nbox; leaf++) {
		done += within(s, first[leaf], first[leaf + 1]);
		for (size_t k = 0; k < around; k++) {
			const int64_t other = boxes->neighbour[leaf * around + k];
			if (other <= (int64_t)leaf) /* none, or it has met this one */
				continue;
			for (size_t i = first[leaf]; i < first[leaf + 1]; i++)
				meet(s, i, first[other], first[other + 1]);
			done += 2 * (first[leaf + 1] - first[leaf]) * (first[other + 1] - first[other]);
		}
	}
	return done;
}

/* boxes NULL: all pairs */
static int serial(const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count)
{
	struct nb_gravity_plan plan;
	const char *wrong = NULL;
	int status = nb_paper_plan(g, &plan);
	if (!status && boxes)
		status = nb_boxes_check_cpu(boxes, g->n, &wrong);
	if (!status && wrong)
		status = NB_EINVAL;
	if (status || g->n == 0)
		return status;
	struct nb_paper_body *body = nb_alloc(g->n, sizeof *body);
	float(*acc)[3] = nb_alloc_zero(g->n, sizeof *acc);
	if (body && acc) {
		for (size_t i = 0; i < g->n; i++)
			body[i] = nb_paper_body_of(&plan, i);
		const struct sums s = {body, acc, nb_gems3_eps2(plan.eps)};
		const uint64_t done = boxes ? all_leaves(&s, boxes) : within(&s, 0, g->n);
		for (size_t k = 0; k < 3 * g->n; k++)
			g->acc[k] = (double)acc[k / 3][k % 3] * plan.scale.acc_out;
		if (count)
			count->p2p += done;
	} else {
		status = NB_ENOMEM;
	}
	nb_free_all(body, acc);
	return status;
}

int nb_paper_gems3_serial(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return serial(job->gravity, NULL, count);
}

int nb_paper_gems3_leaves_serial(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return serial(job->gravity, job->boxes, count);
}
