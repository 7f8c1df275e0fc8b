/* lecture8_cpu.c - the CPU versions of the lecture: plain on one thread, SIMD on one thread, SIMD on all; f32.
 * SIMD is the lecture's four lanes of SSE (lecture8_sse_cpu.c), or the widest of the processor (lecture8_simd.c). */
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/papers/cpu_internal.h"

#include <math.h>

static void count_pairs(size_t n, struct nb_gravity_count *count)
{
	if (count)
		count->p2p += (uint64_t)n * (n - 1);
}

/* What all n bodies do to one at me. */
static NB_PAPER_SCALAR struct nb_paper_body naive_sum(
	size_t n, const struct nb_paper_body *body, const struct nb_paper_body me, float eps2)
{
	struct nb_paper_body a = {0, 0, 0, 0};
	for (size_t j = 0; j < n; j++) {
		const float dx = body[j].x - me.x, dy = body[j].y - me.y, dz = body[j].z - me.z;
		float square = dx * dx + dy * dy + dz * dz;
		square += eps2;
		const float inverse = 1 / sqrtf(square);
		const float s = body[j].m * (inverse * inverse * inverse);
		a.x += dx * s;
		a.y += dy * s;
		a.z += dz * s;
	}
	return a;
}

int nb_paper_lecture_naive(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	const int status = nb_paper_plan(g, &plan);
	if (status || g->n == 0)
		return status;
	struct nb_paper_body *body = nb_alloc(g->n, sizeof *body);
	if (!body)
		return NB_ENOMEM;
	for (size_t i = 0; i < g->n; i++)
		body[i] = nb_paper_body_of(&plan, i);
	const float eps2 = nb_pair_eps2_f32(plan.eps);
	for (size_t i = 0; i < g->n; i++) {
		const struct nb_paper_body a = naive_sum(g->n, body, body[i], eps2);
		g->acc[3 * i] = (double)a.x * plan.scale.acc_out;
		g->acc[3 * i + 1] = (double)a.y * plan.scale.acc_out;
		g->acc[3 * i + 2] = (double)a.z * plan.scale.acc_out;
	}
	nb_free(body);
	count_pairs(g->n, count);
	return NB_OK;
}

static nb_lecture_rows *const rows_of[] = {NB_ISA_TABLE(nb_lecture_rows)};

static int simd(const struct nb_paper_job *job, nb_lecture_rows *sum, int parallel, struct nb_gravity_count *count)
{
	enum { WIDEST = 16, CHUNK = 32 };
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	const int status = nb_paper_plan(g, &plan);
	if (status || g->n == 0)
		return status;
	const size_t padded = (g->n + WIDEST - 1) / WIDEST * WIDEST;
	float *columns = nb_alloc_zero(4 * padded, sizeof *columns);
	if (!columns)
		return NB_ENOMEM;
	float *const x = columns, *const y = x + padded, *const z = y + padded, *const m = z + padded;
	for (size_t i = 0; i < g->n; i++) {
		const struct nb_paper_body body = nb_paper_body_of(&plan, i);
		x[i] = body.x;
		y[i] = body.y;
		z[i] = body.z;
		m[i] = body.m;
	}
	const struct nb_lecture_bodies bodies = {g->n, padded, x, y, z, m, nb_pair_eps2_f32(plan.eps)};
	const size_t chunks = (g->n + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(dynamic) if (parallel)
	for (size_t c = 0; c < chunks; c++)
		sum(&bodies, c * CHUNK, (c + 1) * CHUNK < g->n ? (c + 1) * CHUNK : g->n, g->acc);
	nb_free(columns);
	nb_gravity_unscale(&plan);
	count_pairs(g->n, count);
	return NB_OK;
}

int nb_paper_lecture_sse(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return simd(job, nb_lecture_rows_sse, 0, count);
}

int nb_paper_lecture_sse_threads(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return simd(job, nb_lecture_rows_sse, 1, count);
}

int nb_paper_lecture_simd(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return simd(job, rows_of[nb_cpu_isa()], 0, count);
}

int nb_paper_lecture_threads(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return simd(job, rows_of[nb_cpu_isa()], 1, count);
}
