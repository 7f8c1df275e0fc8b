/* system.h - bodies in uniform boxes, and their field by the oracle, for the tests of the fast multipole method. */
#ifndef NB_UNIT_FMM_SYSTEM_H
#define NB_UNIT_FMM_SYSTEM_H

#include "common/mem.h"
#include "kernels/fmm/fmm.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

enum model { UNIFORM, SPHERE, PLANE };
static const char *const model_name[] = {"uniform", "sphere", "plane"};

struct system_ {
	struct nb_fmm fmm;
	size_t n;
	double *pos, *mass, *acc, *pot, *true_acc, *true_pot;
	uint64_t *first;
	int32_t *neighbour;
	double eps, G;
};

/* Everything but pos, mass and cube, which are there; bodies become sorted. */
static inline void finish(struct system_ *s)
{
	const size_t nbox = (size_t)1 << s->fmm.dim * s->fmm.level, n = s->n;
	uint64_t *key = nb_alloc(n, sizeof *key);
	uint32_t *perm = nb_alloc(n, sizeof *perm);
	double *pos = nb_alloc(n, 3 * sizeof *pos), *mass = nb_alloc(n, sizeof *mass);
	s->first = nb_alloc(nbox + 1, sizeof *s->first);
	s->neighbour = nb_alloc(nbox * 26, sizeof *s->neighbour);
	s->acc = nb_alloc(n, 3 * sizeof(double));
	s->pot = nb_alloc(n, sizeof(double));
	s->true_acc = nb_alloc(n, 3 * sizeof(double));
	s->true_pot = nb_alloc(n, sizeof(double));
	CHECK(nb_morton_keys_cpu(n, s->pos, s->fmm.dim, &s->fmm.cube, key) == NB_OK);
	CHECK(nb_sort_keys_cpu(n, key, perm) == NB_OK);
	CHECK(nb_permute_cpu(n, perm, 3 * sizeof *pos, s->pos, pos) == NB_OK);
	CHECK(nb_permute_cpu(n, perm, sizeof *mass, s->mass, mass) == NB_OK);
	CHECK(nb_boxes_build_cpu(n, key, s->fmm.dim, s->fmm.level, s->first, s->neighbour) == NB_OK);
	nb_free(s->pos);
	nb_free(s->mass);
	s->pos = pos;
	s->mass = mass;
	nb_free(key);
	nb_free(perm);
}

/* Unequal masses, 1 in all; scale: of lengths. */
static inline struct system_ make(enum model model, size_t n, int level, double scale)
{
	struct system_ s = {.fmm = {model == PLANE ? 2 : 3, level, 4, {{0, 0, 0}, 1}}, .n = n, .G = 1};
	size_t bad;
	random_state = 20241119 + n;
	s.pos = nb_alloc(n, 3 * sizeof *s.pos);
	s.mass = nb_alloc(n, sizeof *s.mass);
	for (size_t i = 0; i < n; i++) {
		double *x = s.pos + 3 * i;
		if (model == SPHERE) { /* Plummer's, within 10 of its radii */
			double r;
			do
				r = 1 / sqrt(pow(uniform(), -2.0 / 3) - 1);
			while (r > 10);
			on_sphere(r, x);
		} else {
			for (int d = 0; d < 3; d++)
				x[d] = model == PLANE && d == 2 ? 0 : uniform();
		}
		for (int d = 0; d < 3; d++)
			x[d] *= scale;
		s.mass[i] = (0.5 + uniform()) / (double)n;
	}
	CHECK(nb_morton_cube_cpu(n, s.pos, s.fmm.dim, &s.fmm.cube, &bad) == NB_OK);
	finish(&s);
	return s;
}

static inline void free_system(struct system_ *s)
{
	void *const all[] = {s->pos, s->mass, s->acc, s->pot, s->true_acc, s->true_pot, s->first, s->neighbour};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		nb_free(all[k]);
}

static inline struct nb_gravity gravity_of(const struct system_ *s, enum nb_precision precision)
{
	return (struct nb_gravity){
		s->n, s->pos, NULL, s->mass, s->acc, s->pot, NULL, s->eps, s->G, precision, NB_PLUMMER, NULL};
}

static inline struct nb_boxes boxes_of(const struct system_ *s)
{
	return (struct nb_boxes){
		(size_t)1 << s->fmm.dim * s->fmm.level, s->first, s->neighbour, s->fmm.dim == 3 ? 26 : 8};
}

static inline void truth(const struct system_ *s)
{
	const struct nb_gravity g = gravity_of(s, NB_F64);
	CHECK(nb_gravity_ref(&g, NULL, 0, s->true_acc, s->true_pot, NULL) == NB_OK);
}

static inline void poison(const struct system_ *s)
{
	memset(s->acc, 0xff, 3 * s->n * sizeof *s->acc);
	memset(s->pot, 0xff, s->n * sizeof *s->pot);
}

static inline void compute(const struct system_ *s, enum nb_precision precision)
{
	const struct nb_gravity g = gravity_of(s, precision);
	const struct nb_boxes boxes = boxes_of(s);
	poison(s);
	CHECK(nb_gravity_fmm_cpu(&g, &boxes, &s->fmm, NULL) == NB_OK);
}

/* rms(|got - want|) / rms(|want|) */
static inline double error_of(const double *got, const double *want, size_t count)
{
	double wrong = 0, size = 0;
	for (size_t k = 0; k < count; k++) {
		wrong += (got[k] - want[k]) * (got[k] - want[k]);
		size += want[k] * want[k];
	}
	return sqrt(wrong / size);
}

static inline double rms_of(const struct system_ *s)
{
	return error_of(s->acc, s->true_acc, 3 * s->n);
}

static inline double rms_pot(const struct system_ *s)
{
	return error_of(s->pot, s->true_pot, s->n);
}

/* |sum of the forces| / sum of |force| */
static inline double momentum(const struct system_ *s)
{
	double sum[3] = {0}, all = 0;
	for (size_t i = 0; i < s->n; i++) {
		const double *a = s->acc + 3 * i;
		for (int d = 0; d < 3; d++)
			sum[d] += s->mass[i] * a[d];
		all += s->mass[i] * sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
	}
	return sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]) / all;
}

#endif
