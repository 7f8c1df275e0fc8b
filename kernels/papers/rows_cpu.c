/* rows_cpu.c - all pairs on the CPU as Gangavarapu et al. have them: algorithm 1 and, with OpenMP, algorithm 3, in 2-D,
 * over an array of bodies; in f64, since the slides name no precision.
 *
 * The slides print d * mass(i) / d_sq^3; mass(j) / d^3 is meant, d_sq being the distance.  Their algorithm 3 opens a
 * second parallel region, a reduction over the bodies j, inside the first.  OpenMP gives such a region one thread
 * unless the program asks for nested ones, which the slides do not mention; so its sum is that of one thread, and so is
 * ours. */
#include "common/mem.h"
#include "kernels/papers/cpu_internal.h"

struct particle {
	double x, y, mass, fx, fy;
};

static void find_force(size_t i, size_t n, double eps2, struct particle *p)
{
	double force[2] = {0, 0};
	for (size_t j = 0; j < n; j++)
		if (j != i) {
			const double d[2] = {p[j].x - p[i].x, p[j].y - p[i].y};
			nb_paper_interact_f64(2, d, NULL, p[j].mass, eps2, force, NULL);
		}
	p[i].fx = force[0];
	p[i].fy = force[1];
}

static int gangavarapu(const struct nb_paper_job *job, int parallel, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	const int status = nb_paper_plan(g, &plan);
	if (status || g->n == 0)
		return status;
	const double eps2 = plan.eps * plan.eps;
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
	if (count)
		count->p2p += (uint64_t)g->n * (g->n - 1);
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
