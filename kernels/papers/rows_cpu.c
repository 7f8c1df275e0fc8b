/* rows_cpu.c - all pairs on the CPU as two of the papers have them, in f64.
 *
 * Gangavarapu et al.: algorithm 1 and, with OpenMP, algorithm 3, in 2-D, over an array of bodies.  The slides print
 * d * mass(i) / d_sq^3; mass(j) / d^3 is meant, d_sq being the square.  Their algorithm 3 opens a second parallel
 * region inside the first; OpenMP gives it one thread unless told otherwise, and so do we.
 *
 * Xu, Xu & Chen: three loops over arrays of vectors, each pair giving dv and dx of a Taylor step; here acc and, where
 * wanted, jerk, from which nb-step makes the same dv and dx.  Their reduction over the inner loop is done in a fixed
 * number of slices, added in order, so that the number of threads changes nothing. */
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/papers/cpu_internal.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static int scaled(const struct nb_paper_job *job, struct nb_gravity_plan *plan, double *eps2)
{
	const int status = nb_gravity_plan(job->gravity, plan);
	*eps2 = plan->eps * plan->eps;
	return status;
}

static void count_pairs(size_t n, struct nb_gravity_count *count)
{
	if (count && n > 0)
		count->p2p += (uint64_t)n * (n - 1);
}

/* ---- Gangavarapu et al. ------------------------------------------------------------------------------ */

struct particle {
	double x, y, mass, fx, fy;
};

static void find_force(size_t i, size_t n, double eps2, struct particle *p)
{
	double force[2] = {0, 0};
	for (size_t j = 0; j < n; j++)
		if (j != i) {
			const double d[2] = {p[j].x - p[i].x, p[j].y - p[i].y};
			nb_paper_interact(2, d, NULL, p[j].mass, eps2, force, NULL);
		}
	p[i].fx = force[0];
	p[i].fy = force[1];
}

static int gangavarapu(const struct nb_paper_job *job, int parallel, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	double eps2;
	int status = scaled(job, &plan, &eps2);
	if (status || g->n == 0)
		return status;
	struct particle *particles = nb_alloc(g->n, sizeof *particles);
	if (!particles)
		return NB_ENOMEM;
	for (size_t i = 0; i < g->n; i++)
		particles[i] = (struct particle){.x = g->pos[3 * i] * plan.scale.length,
			.y = g->pos[3 * i + 1] * plan.scale.length,
			.mass = g->mass[i] * plan.scale.mass};
	if (parallel) {
#pragma omp parallel for schedule(static)
		for (size_t i = 0; i < g->n; i++)
			find_force(i, g->n, eps2, particles);
	} else {
		for (size_t i = 0; i < g->n; i++)
			find_force(i, g->n, eps2, particles);
	}
	for (size_t i = 0; i < g->n; i++) {
		g->acc[3 * i] = particles[i].fx * plan.scale.acc_out;
		g->acc[3 * i + 1] = particles[i].fy * plan.scale.acc_out;
		g->acc[3 * i + 2] = 0;
	}
	nb_free(particles);
	count_pairs(g->n, count);
	return NB_OK;
}

int nb_paper_gangavarapu_pairs(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return gangavarapu(job, 0, count);
}

int nb_paper_gangavarapu_pairs_omp(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return gangavarapu(job, 1, count);
}

/* ---- Xu, Xu & Chen ------------------------------------------------------------------------------------- */

enum { SLICES = 64 };

struct vect {
	double v[3];
};

/* cs, vs, ms of the report */
struct bodies {
	size_t n;
	double eps2;
	struct vect *c, *v; /* v NULL: no jerk */
	double *m;
};

/* what bodies first .. last-1 give body i */
static void impulses(const struct bodies *b, size_t i, size_t first, size_t last, double acc[3], double jerk[3])
{
	for (size_t j = first; j < last; j++) {
		if (j == i)
			continue;
		double d[3], v[3] = {0, 0, 0};
		for (int c = 0; c < 3; c++) {
			d[c] = b->c[j].v[c] - b->c[i].v[c];
			if (b->v)
				v[c] = b->v[j].v[c] - b->v[i].v[c];
		}
		nb_paper_interact(3, d, v, b->m[j], b->eps2, acc, b->v ? jerk : NULL);
	}
}

static void store(const struct nb_gravity_plan *plan, size_t i, const double acc[3], const double jerk[3])
{
	for (int c = 0; c < 3; c++) {
		plan->g->acc[3 * i + c] = acc[c] * plan->scale.acc_out;
		if (plan->g->jerk)
			plan->g->jerk[3 * i + c] = jerk[c] * plan->scale.jerk_out;
	}
}

static void sequential(const struct bodies *b, const struct nb_gravity_plan *plan)
{
	for (size_t i = 0; i < b->n; i++) {
		double acc[3] = {0, 0, 0}, jerk[3] = {0, 0, 0};
		impulses(b, i, 0, b->n, acc, jerk);
		store(plan, i, acc, jerk);
	}
}

/* "parallel in outer loop with manual batch split" */
static void outer(const struct bodies *b, const struct nb_gravity_plan *plan)
{
#pragma omp parallel
	{
		const size_t size = b->n / (size_t)omp_get_num_threads() + 1;
		const size_t start = (size_t)omp_get_thread_num() * size;
		const size_t end = start + size < b->n ? start + size : b->n;
		for (size_t i = start; i < end; i++) {
			double acc[3] = {0, 0, 0}, jerk[3] = {0, 0, 0};
			impulses(b, i, 0, b->n, acc, jerk);
			store(plan, i, acc, jerk);
		}
	}
}

/* "parallel in inner loop with parallel for": a parallel region for every body */
static void inner(const struct bodies *b, const struct nb_gravity_plan *plan)
{
	for (size_t i = 0; i < b->n; i++) {
		double part[SLICES][6];
#pragma omp parallel for schedule(static)
		for (int s = 0; s < SLICES; s++) {
			double acc[3] = {0, 0, 0}, jerk[3] = {0, 0, 0};
			impulses(b, i, b->n * (size_t)s / SLICES, b->n * (size_t)(s + 1) / SLICES, acc, jerk);
			memcpy(part[s], acc, sizeof acc);
			memcpy(part[s] + 3, jerk, sizeof jerk);
		}
		double sum[6] = {0, 0, 0, 0, 0, 0};
		for (int s = 0; s < SLICES; s++)
			for (int c = 0; c < 6; c++)
				sum[c] += part[s][c];
		store(plan, i, sum, sum + 3);
	}
}

static int xu(const struct nb_paper_job *job, void (*loop)(const struct bodies *, const struct nb_gravity_plan *),
	struct nb_gravity_count *count)
{
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	struct bodies b = {.n = g->n};
	int status = scaled(job, &plan, &b.eps2);
	if (status || g->n == 0)
		return status;
	b.c = nb_alloc(g->n, sizeof *b.c);
	b.v = g->jerk ? nb_alloc(g->n, sizeof *b.v) : NULL;
	b.m = nb_alloc(g->n, sizeof *b.m);
	if (b.c && b.m && (b.v || !g->jerk)) {
		for (size_t i = 0; i < g->n; i++) {
			for (int c = 0; c < 3; c++) {
				b.c[i].v[c] = g->pos[3 * i + c] * plan.scale.length;
				if (b.v)
					b.v[i].v[c] = g->vel[3 * i + c] * plan.scale.velocity;
			}
			b.m[i] = g->mass[i] * plan.scale.mass;
		}
		loop(&b, &plan);
		count_pairs(g->n, count);
	} else {
		status = NB_ENOMEM;
	}
	nb_free(b.c);
	nb_free(b.v);
	nb_free(b.m);
	return status;
}

int nb_paper_xu_pairs(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return xu(job, sequential, count);
}

int nb_paper_xu_outer(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return xu(job, outer, count);
}

int nb_paper_xu_inner(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return xu(job, inner, count);
}
