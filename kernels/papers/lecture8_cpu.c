/* lecture8_cpu.c - the CPU versions of the lecture: plain on one thread, SIMD on one thread, SIMD on all; f32. */
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/papers/cpu_internal.h"

#include <math.h>

static void count_pairs(size_t n, struct nb_gravity_count *count)
{
	if (count)
		count->p2p += (uint64_t)n * (n - 1);
}

/* packed values, as the lecture's float4 */
struct body {
	float x, y, z, m;
};

static float coordinate(const struct nb_gravity_plan *plan, size_t i, int c)
{
	return (float)(plan->g->pos[3 * i + c] * plan->scale.length - plan->middle[c]);
}

int nb_paper_lecture_naive(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	const int status = nb_gravity_plan(g, &plan);
	if (status || g->n == 0)
		return status;
	struct body *body = nb_alloc(g->n, sizeof *body);
	if (!body)
		return NB_ENOMEM;
	for (size_t i = 0; i < g->n; i++)
		body[i] = (struct body){coordinate(&plan, i, 0), coordinate(&plan, i, 1), coordinate(&plan, i, 2),
			(float)(g->mass[i] * plan.scale.mass)};
	const float eps2 = nb_pair_eps2_f32(plan.eps);
	for (size_t i = 0; i < g->n; i++) {
		const struct body me = body[i];
		float ax = 0, ay = 0, az = 0;
		for (size_t j = 0; j < g->n; j++) {
			const float dx = body[j].x - me.x, dy = body[j].y - me.y, dz = body[j].z - me.z;
			const float inverse = 1 / sqrtf(nb_pair_r2_f32(dx, dy, dz, eps2));
			const float s = body[j].m * (inverse * inverse * inverse);
			nb_pair_add_f32(s, dx, dy, dz, &ax, &ay, &az);
		}
		g->acc[3 * i] = (double)ax * plan.scale.acc_out;
		g->acc[3 * i + 1] = (double)ay * plan.scale.acc_out;
		g->acc[3 * i + 2] = (double)az * plan.scale.acc_out;
	}
	nb_free(body);
	count_pairs(g->n, count);
	return NB_OK;
}

typedef void rows(const struct nb_lecture_bodies *b, size_t first, size_t last, double *acc);

static rows *rows_of(enum nb_isa isa)
{
	switch (isa) {
#ifdef __x86_64__
	case NB_ISA_AVX512: return nb_lecture_rows_avx512;
	case NB_ISA_AVX2: return nb_lecture_rows_avx2;
#endif
	default: return nb_lecture_rows_plain;
	}
}

static int simd(const struct nb_paper_job *job, int parallel, struct nb_gravity_count *count)
{
	enum { WIDEST = 16, CHUNK = 32 };
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	const int status = nb_gravity_plan(g, &plan);
	if (status || g->n == 0)
		return status;
	const size_t padded = (g->n + WIDEST - 1) / WIDEST * WIDEST;
	float *room = nb_alloc_zero(4 * padded, sizeof *room);
	if (!room)
		return NB_ENOMEM;
	float *const x = room, *const y = x + padded, *const z = y + padded, *const m = z + padded;
	for (size_t i = 0; i < g->n; i++) {
		x[i] = coordinate(&plan, i, 0);
		y[i] = coordinate(&plan, i, 1);
		z[i] = coordinate(&plan, i, 2);
		m[i] = (float)(g->mass[i] * plan.scale.mass);
	}
	const struct nb_lecture_bodies bodies = {g->n, padded, x, y, z, m, nb_pair_eps2_f32(plan.eps)};
	rows *const sum = rows_of(nb_cpu_isa());
	const size_t chunks = (g->n + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(dynamic) if (parallel)
	for (size_t c = 0; c < chunks; c++)
		sum(&bodies, c * CHUNK, (c + 1) * CHUNK < g->n ? (c + 1) * CHUNK : g->n, g->acc);
	nb_free(room);
	nb_gravity_unscale(&plan);
	count_pairs(g->n, count);
	return NB_OK;
}

int nb_paper_lecture_simd(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return simd(job, 0, count);
}

int nb_paper_lecture_threads(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return simd(job, 1, count);
}
