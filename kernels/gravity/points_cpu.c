/* points_cpu.c - the field at points on the CPU.
 *
 * Sources are cut into parts and points into blocks, by their numbers alone.  A thread takes a block and a part; the
 * sums of the parts are added in their order at the end, so that bytes are the same for any number of threads, and a
 * single point keeps all of them busy. */
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/gravity/cpu_internal.h"

#include <string.h>

static nb_points_unit *const unit_of[] = {NB_ISA_TABLE(nb_points_unit)};

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t greater(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* The checked job, and how its sources are divided. */
static int make_job(const struct nb_gravity *g, const struct nb_gravity_points *points, struct nb_points_job *job)
{
	enum { UNITS = 512, LEAST = 4 * NB_POINTS_TILE };
	struct nb_gravity bodies = *g;
	struct nb_gravity_points at = *points;
	bodies.jerk = points->jerk; /* so that velocities are looked at */
	if ((points->jerk || points->spread) && !points->target)
		return NB_EINVAL;
	if (points->target) {
		at.pos = NULL; /* within the bodies */
		at.eps = NULL;
	}
	*job = (struct nb_points_job){.points = points};
	const int status = nb_gravity_plan_points(&bodies, &at, &job->plan);
	job->plan.g = g;
	if (status || points->n == 0 || g->n == 0)
		return status;
	for (size_t k = 0; points->target && k < points->n; k++)
		if (points->target[k] >= g->n)
			return NB_EINVAL;
	if (at.eps && job->plan.law == NB_LAW_COMMON)
		job->plan.law = NB_LAW_PLUMMER;
	const size_t blocks = (points->n + NB_POINTS_TARGETS - 1) / NB_POINTS_TARGETS;
	job->parts = greater(1, lesser((UNITS + blocks - 1) / blocks, g->n / LEAST));
	job->part = (g->n + job->parts - 1) / job->parts;
	return NB_OK;
}

/* Sums of all parts, in the caller's units. */
static void finish(const struct nb_points_job *job)
{
	const struct nb_gravity_points *points = job->points;
	const struct nb_pair_scale *s = &job->plan.scale;
	for (size_t k = 0; k < points->n; k++) {
		const size_t to = points->spread ? points->target[k] : k;
		double sum[NB_POINTS_SUMS] = {0};
		for (size_t part = 0; part < job->parts; part++)
			for (int c = 0; c < NB_POINTS_SUMS; c++)
				sum[c] += job->sum[(part * points->n + k) * NB_POINTS_SUMS + (size_t)c];
		for (int c = 0; c < 3 && points->acc; c++)
			points->acc[3 * to + (size_t)c] = sum[c] * s->pot_out * s->length;
		if (points->pot)
			points->pot[to] = sum[3] * s->pot_out;
		if (points->strength)
			points->strength[to] = sum[4] * s->pot_out * s->length;
		for (int c = 0; c < 3 && points->jerk; c++)
			points->jerk[3 * to + (size_t)c] = sum[5 + c] * s->pot_out * s->length / s->velocity *
							   s->length;
	}
}

/* The outputs, of so many rows. */
static void clear(const struct nb_gravity_points *points, size_t rows)
{
	if (points->acc)
		memset(points->acc, 0, 3 * rows * sizeof *points->acc);
	if (points->pot)
		memset(points->pot, 0, rows * sizeof *points->pot);
	if (points->strength)
		memset(points->strength, 0, rows * sizeof *points->strength);
	if (points->jerk)
		memset(points->jerk, 0, 3 * rows * sizeof *points->jerk);
}

int nb_gravity_points_cpu(const struct nb_gravity *g, const struct nb_gravity_points *points)
{
	struct nb_points_job job;
	const int status = make_job(g, points, &job);
	if (!status && points->spread)
		clear(points, g->n);
	if (status || points->n == 0)
		return status;
	if (g->n == 0) {
		clear(points, points->n);
		return NB_OK;
	}
	if (points->n > SIZE_MAX / (NB_POINTS_SUMS * sizeof *job.sum) / job.parts)
		return NB_ENOMEM;
	job.sum = nb_alloc(job.parts * points->n, NB_POINTS_SUMS * sizeof *job.sum);
	if (!job.sum)
		return NB_ENOMEM;
	const size_t units = (points->n + NB_POINTS_TARGETS - 1) / NB_POINTS_TARGETS * job.parts;
	nb_points_unit *const act = unit_of[nb_cpu_isa()];
	const int threads = units > 1 ? nb_cpu_threads() : 1;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (units > 1)
	for (size_t u = 0; u < units; u++)
		act(&job, u / job.parts, u % job.parts);
	finish(&job);
	nb_free(job.sum);
	return NB_OK;
}
