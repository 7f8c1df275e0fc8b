/* bodies.h - the bodies of a model, and measures of them. */
#ifndef NB_UNIT_MODELS_BODIES_H
#define NB_UNIT_MODELS_BODIES_H

#include "common/mem.h"
#include "kernels/models/models.h"
#include "tests/unit/unit.h"

/* CHECK of unit.h, with the numbers */
#define EXPECT(condition, ...)                                                                  \
	do {                                                                                    \
		unit_checked++;                                                                 \
		if (!(condition)) {                                                             \
			unit_failed++;                                                          \
			fprintf(stderr, "%s:%d: failed: %s: ", __FILE__, __LINE__, #condition); \
			fprintf(stderr, __VA_ARGS__);                                           \
			fputc('\n', stderr);                                                    \
		}                                                                               \
	} while (0)

static const double tau = 6.283185307179586477;

struct bodies {
	size_t n;
	double *mass, *pos, *vel;
	uint8_t *species;
	double G;
};

static inline struct bodies make(const struct nb_model_param *param)
{
	struct nb_model *model;
	const char *why;
	if (nb_model_create(param, &model, &why)) {
		printf("model %d: %s\n", (int)param->kind, why ? why : "no memory");
		exit(1);
	}
	struct bodies b = {.n = (size_t)nb_model_count(model), .G = nb_model_G(model)};
	b.mass = nb_alloc(b.n, sizeof(double));
	b.pos = nb_alloc(3 * b.n, sizeof(double));
	b.vel = nb_alloc(3 * b.n, sizeof(double));
	b.species = nb_alloc(b.n, 1);
	if (nb_model_fill(model, NB_MODEL_MASS, 0, b.n, b.mass) || nb_model_fill(model, NB_MODEL_POS, 0, b.n, b.pos) ||
		nb_model_fill(model, NB_MODEL_VEL, 0, b.n, b.vel)) {
		printf("model %d cannot be filled\n", (int)param->kind);
		exit(1);
	}
	nb_model_species(model, 0, b.n, b.species);
	nb_model_free(model);
	return b;
}

static inline void drop(struct bodies *b)
{
	nb_free(b->mass);
	nb_free(b->pos);
	nb_free(b->vel);
	nb_free(b->species);
}

static inline struct nb_model_param defaults(enum nb_model_kind kind)
{
	struct nb_model_param param;
	static const struct nb_elements two[] = {
		{.mass = 0.75, .radius = NAN, .a = NAN, .period = NAN, .about = -1},
		{.mass = 0.25, .radius = NAN, .a = 1, .e = 0.5, .period = NAN, .inclination = 30, .about = -1},
	};
	nb_model_defaults(&param, kind);
	if (kind == NB_MODEL_ORBITS) {
		param.elements = two;
		param.nelements = 2;
	}
	return param;
}

static inline double norm(const double *a)
{
	return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

static inline int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* sqrt(n) times the largest distance of the n probabilities p (sorted here) from the uniform distribution: above 1.95
 * with probability 0.001 */
static inline double ks(double *p, size_t n)
{
	double d = 0;
	qsort(p, n, sizeof *p, by_size);
	for (size_t i = 0; i < n; i++) {
		const double low = p[i] - (double)i / (double)n, high = (double)(i + 1) / (double)n - p[i];
		if (!(low <= d))
			d = low;
		if (!(high <= d))
			d = high;
	}
	return d * sqrt((double)n);
}

static const double ks_bound = 1.95;

static inline double normal_cdf(double x)
{
	return erfc(-x / sqrt(2)) / 2;
}

/* largest component of sum m a / sum m */
static inline double largest_mean(const struct bodies *b, const double *a)
{
	double sum[3] = {0}, mass = 0, large = 0;
	for (size_t i = 0; i < b->n; i++) {
		mass += b->mass[i];
		for (int c = 0; c < 3; c++)
			sum[c] += b->mass[i] * a[3 * i + c];
	}
	for (int c = 0; c < 3; c++)
		if (!(fabs(sum[c]) <= large))
			large = fabs(sum[c]);
	return large / mass;
}

static inline double kinetic(const struct bodies *b)
{
	double sum = 0;
	for (size_t i = 0; i < b->n; i++)
		sum += b->mass[i] * norm(b->vel + 3 * i) * norm(b->vel + 3 * i) / 2;
	return sum;
}

/* -sum over i of m_i M(<r_i) / r_i for spherical systems of equal masses */
static inline double potential_of_shells(const struct bodies *b)
{
	double *r = nb_alloc(b->n, sizeof *r), sum = 0;
	for (size_t i = 0; i < b->n; i++)
		r[i] = norm(b->pos + 3 * i);
	qsort(r, b->n, sizeof *r, by_size);
	for (size_t i = 0; i < b->n; i++)
		sum -= b->mass[0] * b->mass[0] * ((double)i + 0.5) / r[i];
	nb_free(r);
	return sum;
}

static inline double potential(const struct bodies *b)
{
	double sum = 0;
	for (size_t i = 0; i < b->n; i++)
		for (size_t j = 0; j < i; j++) {
			double d[3];
			for (int c = 0; c < 3; c++)
				d[c] = b->pos[3 * i + c] - b->pos[3 * j + c];
			sum -= b->G * b->mass[i] * b->mass[j] / norm(d);
		}
	return sum;
}

#endif
