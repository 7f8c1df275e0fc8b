/* cpu_internal.h - what the CPU kernels of the papers share; not for callers of papers.h. */
#ifndef NB_PAPERS_CPU_INTERNAL_H
#define NB_PAPERS_CPU_INTERNAL_H

#include "common/cpu.h"
#include "kernels/gravity/gravity.h"
#include "kernels/papers/pair_internal.h"
#include "kernels/papers/papers.h"
#include "kernels/papers/tree_internal.h"

/* Code that is to be as a paper has it, one number at a time: at -O3 gcc makes four-lane SIMD even of sums in order. */
#define NB_PAPER_SCALAR __attribute__((noinline, optimize("no-tree-vectorize")))

/* nb_gravity_make_plan; NB_EFAR where positions about the middle of all bodies would put most of them in one place. */
NB_MUST_CHECK static inline int nb_paper_plan(const struct nb_gravity *g, struct nb_gravity_plan *plan)
{
	const int status = nb_gravity_make_plan(g, plan);
	return !status && plan->remote ? NB_EFAR : status;
}

/* Packed values, as the papers' float4: scaled, from the middle of all bodies. */
struct nb_paper_body {
	float x, y, z, m;
};

static inline struct nb_paper_body nb_paper_body_of(const struct nb_gravity_plan *plan, size_t i)
{
	const double *pos = plan->g->pos + 3 * i, *middle = plan->middle, length = plan->scale.length;
	const struct nb_paper_body body = {(float)(pos[0] * length - middle[0]), (float)(pos[1] * length - middle[1]),
		(float)(pos[2] * length - middle[2]), (float)(plan->g->mass[i] * plan->scale.mass)};
	return body;
}

int nb_paper_gems3_serial(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_gems3_leaves_serial(const struct nb_paper_job *job, struct nb_gravity_count *count);

int nb_paper_shan_serial(const struct nb_paper_job *job, struct nb_gravity_count *count);

int nb_paper_lecture_naive(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_lecture_sse(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_lecture_sse_threads(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_lecture_simd(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_lecture_threads(const struct nb_paper_job *job, struct nb_gravity_count *count);

int nb_paper_gangavarapu_pairs(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_gangavarapu_pairs_omp(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_gangavarapu_tree(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_gangavarapu_tree_omp(const struct nb_paper_job *job, struct nb_gravity_count *count);

int nb_paper_xu_pairs(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_xu_outer(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_xu_inner(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_xu_tree(const struct nb_paper_job *job, struct nb_gravity_count *count);
int nb_paper_xu_tree_omp(const struct nb_paper_job *job, struct nb_gravity_count *count);

/* Bodies as the lecture's SIMD code reads them: scaled, about the middle, a multiple of 16 with massless padding. */
struct nb_lecture_bodies {
	size_t n, padded;
	const float *x, *y, *z, *m;
	float eps2;
};

/* Sums of bodies first .. last-1, on the calling thread; acc n x 3. */
typedef void nb_lecture_rows(const struct nb_lecture_bodies *b, size_t first, size_t last, double *acc);
NB_ISA_DECLARE(nb_lecture_rows)
extern nb_lecture_rows nb_lecture_rows_sse; /* the lecture's own */

#endif
