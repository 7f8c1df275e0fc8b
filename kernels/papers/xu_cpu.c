/* xu_cpu.c - all pairs on the CPU as Xu, Xu & Chen have them, in f32, as most of their listings, and f64.
 *
 * Each pair gives dv and dx of a Taylor step; here acc and, where wanted, jerk, from which nb-step makes the same dv
 * and dx.  The sequential program has an array of structures, the two with OpenMP an array for each quantity.  Its r is
 * a double among floats; here everything has the precision asked for.  Their reduction over the inner loop is done in a
 * fixed number of slices, added in order, so that the number of threads changes nothing. */
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/papers/cpu_internal.h"

#include <omp.h>
#include <string.h>

enum { SLICES = 64 };
enum loop { SEQUENTIAL, OUTER, INNER };

#define REAL float
#define INTERACT nb_paper_interact_f32
#define XU(name) name##_f32
#include "kernels/papers/xu_body.h"

#define REAL double
#define INTERACT nb_paper_interact_f64
#define XU(name) name##_f64
#include "kernels/papers/xu_body.h"

static int xu(const struct nb_paper_job *job, enum loop loop, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	int status = nb_paper_plan(g, &plan);
	if (status || g->n == 0)
		return status;
	if (loop == SEQUENTIAL)
		status = g->precision == NB_F64 ? sequential_f64(&plan) : sequential_f32(&plan);
	else
		status = g->precision == NB_F64 ? parallel_f64(&plan, loop) : parallel_f32(&plan, loop);
	if (!status && count)
		count->p2p += (uint64_t)g->n * (g->n - 1);
	return status;
}

int nb_paper_xu_pairs(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return xu(job, SEQUENTIAL, count);
}

int nb_paper_xu_outer(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return xu(job, OUTER, count);
}

int nb_paper_xu_inner(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return xu(job, INNER, count);
}
