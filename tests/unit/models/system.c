/* Binaries against the distributions of their orbits and masses; segregation: what it keeps and what it orders. */
#include "kernels/models/imf_internal.h"
#include "tests/unit/models/bodies.h"

static const enum nb_model_kind kinds[] = {NB_MODEL_PLUMMER, NB_MODEL_KING, NB_MODEL_HERNQUIST};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct nb_model_param stars(enum nb_model_kind kind, uint64_t n)
{
	struct nb_model_param p = defaults(kind);
	p.n = n;
	p.imf = NB_IMF_KROUPA;
	p.mass_range[0] = 0.1;
	p.mass_range[1] = 5;
	return p;
}

/* 2 T / |W| of systems, W with the mass within each: as in a sphere */
static double virial(const struct bodies *b)
{
	double *order = nb_alloc(2 * b->n, sizeof *order), within = 0, W = 0;
	for (size_t i = 0; i < b->n; i++) {
		order[2 * i] = norm(b->pos + 3 * i);
		order[2 * i + 1] = b->mass[i];
	}
	qsort(order, b->n, 2 * sizeof *order, by_size);
	for (size_t i = 0; i < b->n; i++) {
		W -= order[2 * i + 1] * (within + order[2 * i + 1] / 2) / order[2 * i];
		within += order[2 * i + 1];
	}
	nb_free(order);
	return -2 * kinetic(b) / (b->G * W);
}

/* ---- binaries ----------------------------------------------------------------------------------- */

/* The share of stars with less mass. */
static double below(const struct nb_imf *imf, double mass)
{
	double low = 0, high = 1;
	for (int k = 0; k < 60; k++) {
		const double u = (low + high) / 2;
		if (nb_imf_mass(imf, u) < mass)
			low = u;
		else
			high = u;
	}
	return low;
}

enum { A, E2, COSINE, NODE, ANOMALY, RATIO, HEAVIER, LIGHTER, NP };

/* What is uniform from 0 to 1, of a binary: first is the heavier. */
static void probabilities(
	const struct bodies *b, size_t first, const double a[2], const double low, double *p, size_t n)
{
	const double *x = b->pos + 3 * first, *v = b->vel + 3 * first, *m = b->mass + first;
	double d[3], w[3], r, radial = 0, v2 = 0;
	for (int c = 0; c < 3; c++) {
		d[c] = x[3 + c] - x[c];
		w[c] = v[3 + c] - v[c];
		radial += d[c] * w[c];
		v2 += w[c] * w[c];
	}
	r = norm(d);
	const double mu = b->G * (m[0] + m[1]), axis = 1 / (2 / r - v2 / mu);
	const double h[3] = {d[1] * w[2] - d[2] * w[1], d[2] * w[0] - d[0] * w[2], d[0] * w[1] - d[1] * w[0]};
	const double sine = radial / sqrt(mu * axis), cosine = 1 - r / axis; /* e sin E, e cos E */
	const double anomaly = atan2(sine, cosine) - sine;
	p[A * n] = log(axis / a[0]) / log(a[1] / a[0]);
	p[E2 * n] = sine * sine + cosine * cosine;
	p[COSINE * n] = (1 + h[2] / norm(h)) / 2;
	p[NODE * n] = atan2(h[0], -h[1]) / tau + 0.5;
	p[ANOMALY * n] = anomaly / tau + 0.5;
	p[RATIO * n] = (m[1] - low) / (m[0] - low);
}

static void binaries(struct nb_model_param p, const double a[2], double unit)
{
	const struct bodies b = make(&p);
	const size_t two = (size_t)llround((double)p.n * p.binaries / (1 + p.binaries)), n = b.n - two;
	struct bodies centre = {.n = n, .G = b.G};
	centre.mass = nb_alloc(n, sizeof(double));
	centre.pos = nb_alloc(3 * n, sizeof(double));
	centre.vel = nb_alloc(3 * n, sizeof(double));
	double *u = nb_alloc(NP * two, sizeof *u);
	struct nb_imf imf;
	nb_imf_init(&imf, NB_IMF_KROUPA, p.mass_range[0], p.mass_range[1]);
	for (size_t j = 0; j < n; j++) {
		const size_t first = j < two ? 2 * j : j + two;
		const double m = b.mass[first], other = j < two ? b.mass[first + 1] : 0;
		centre.mass[j] = m + other;
		for (size_t c = 0; c < 3; c++) {
			const size_t k = 3 * first + c, l = j < two ? k + 3 : k;
			centre.pos[3 * j + c] = (m * b.pos[k] + other * b.pos[l]) / (m + other);
			centre.vel[3 * j + c] = (m * b.vel[k] + other * b.vel[l]) / (m + other);
		}
		if (j >= two)
			continue;
		probabilities(&b, first, a, p.imf ? p.mass_range[0] * unit : 0, u + j, two);
		EXPECT(m >= other && u[j] > -1e-6 && u[j] < 1 + 1e-6, "%zu: masses %g %g, a %g", j, m, other, u[j]);
		u[HEAVIER * two + j] = p.imf ? pow(below(&imf, m / unit), p.pairing ? 1 : 2) : 0;
		u[LIGHTER * two + j] = p.imf ? 1 - pow(1 - below(&imf, other / unit), 2) : 0;
	}
	for (int k = 0; k < NP; k++)
		if (k < RATIO || (p.imf && k == HEAVIER) || (p.imf && k == (p.pairing ? RATIO : LIGHTER)))
			EXPECT(ks(u + (size_t)k * two, two) < ks_bound, "kind %d: distribution %d of binaries: %g",
				(int)p.kind, k, ks(u + (size_t)k * two, two));
	EXPECT(fabs(virial(&centre) - 1) < 0.03, "virial ratio of centres: %g", virial(&centre));
	EXPECT(largest_mean(&b, b.pos) < 1e-13 / unit && largest_mean(&b, b.vel) < 1e-12, "not centred");
	drop(&centre);
	nb_free(u);
	struct bodies rest = b;
	drop(&rest);
}

static void test_binaries(void)
{
	static const double usual[2] = {1e-4, 1e-2}, wide[2] = {3e-6, 7e-2};
	for (int k = 0; k < KINDS; k++) {
		struct nb_model_param p = stars(kinds[k], 15000);
		p.binaries = 0.5;
		p.pairing = k % 2;
		p.segregation = k == 0;
		struct nb_model *model;
		const char *why;
		CHECK(nb_model_create(&p, &model, &why) == NB_OK);
		double mass[2];
		CHECK(nb_model_binary(model, 0) == 1 && nb_model_binary(model, 9999) == 5000);
		CHECK(nb_model_binary(model, 10000) == 0 && nb_model_has_binaries(model));
		/* any range is that of the whole */
		double some[21], all[21];
		CHECK(nb_model_fill(model, NB_MODEL_VEL, 9996, 7, all) == NB_OK);
		for (uint64_t i = 0; i < 7; i++)
			CHECK(nb_model_fill(model, NB_MODEL_VEL, 9996 + i, 1, some + 3 * i) == NB_OK);
		CHECK(memcmp(some, all, sizeof all) == 0);
		CHECK(nb_model_fill(model, NB_MODEL_MASS, 0, 2, mass) == NB_OK);
		nb_model_free(model);
		/* the unit of mass, by one that is known */
		struct nb_model_param drawn = p;
		drawn.imf_total = 1;
		drawn.n = 15000;
		CHECK(nb_model_create(&drawn, &model, &why) == NB_OK);
		double same;
		CHECK(nb_model_fill(model, NB_MODEL_MASS, 0, 1, &same) == NB_OK);
		nb_model_free(model);
		binaries(p, usual, mass[0] / same);
		drawn.semi_major[0] = wide[0];
		drawn.semi_major[1] = wide[1];
		drawn.G = 4.3e-3;
		if (k < 2)
			binaries(drawn, wide, 1);
	}
	/* equal masses, all of them binaries; lengths in other units */
	struct nb_model_param p = defaults(NB_MODEL_PLUMMER);
	p.n = 5000;
	p.binaries = 1;
	p.rscale = 5;
	p.G = 2;
	struct nb_model_param single = defaults(NB_MODEL_PLUMMER), scaled = p;
	single.binaries = scaled.binaries = 1e-9;
	single.n = p.n;
	struct bodies here = make(&single), there = make(&scaled);
	const double factor = norm(there.pos) / norm(here.pos), limits[2] = {1e-4 * factor, 1e-2 * factor};
	drop(&here);
	drop(&there);
	binaries(p, limits, 1);
	for (p.n = 0; p.n < 4; p.n++) {
		struct bodies b = make(&p);
		CHECK(b.n == p.n);
		drop(&b);
	}
}

/* ---- segregation -------------------------------------------------------------------------------- */

static int heavy_first(const void *a, const void *b)
{
	return by_size(b, a);
}

/* before: what it returned for a smaller S, how much farther out the lightest are */
static double segregated(enum nb_model_kind kind, double S, double before)
{
	enum { N = 8000, TENTH = N / 10 };
	struct nb_model_param p = stars(kind, N);
	struct bodies plain = make(&p);
	p.segregation = S;
	struct bodies b = make(&p);
	CHECK(memcmp(b.mass, plain.mass, N * sizeof *b.mass) == 0);
	if (S == 0)
		CHECK(memcmp(b.pos, plain.pos, 3 * N * sizeof *b.pos) == 0);
	p.imf = NB_IMF_NONE;
	p.segregation = 0;
	struct bodies equal = make(&p);
	static double r[N], x[N], row[2 * N], mean[10];
	for (size_t i = 0; i < N; i++) {
		r[i] = norm(equal.pos + 3 * i);
		x[i] = b.pos[3 * i];
		row[2 * i] = b.mass[i];
		row[2 * i + 1] = norm(b.pos + 3 * i);
	}
	qsort(r, N, sizeof *r, by_size);
	qsort(x, N, sizeof *x, by_size);
	qsort(row, N, 2 * sizeof *row, heavy_first);
	size_t twice = 0;
	for (size_t i = 1; i < N; i++)
		twice += x[i] == x[i - 1];
	EXPECT(twice == 0, "%zu bodies are where another is", twice);
	/* the density of mass is that of equal masses */
	for (size_t q = 1; q < 20; q++) {
		double inside = 0, all = 0;
		for (size_t i = 0; i < N; i++) {
			all += b.mass[i];
			inside += norm(b.pos + 3 * i) < r[q * N / 20] ? b.mass[i] : 0;
		}
		EXPECT(fabs(inside / all - (double)q / 20) < 0.03, "kind %d S %g: mass within quantile %zu: %g",
			(int)kind, S, q, inside / all);
	}
	EXPECT(fabs(virial(&b) - 1) < 0.03, "kind %d S %g: virial ratio %g", (int)kind, S, virial(&b));
	/* tenths by mass: the heavier they are, the nearer the centre */
	for (size_t t = 0; t < 10; t++) {
		mean[t] = 0;
		for (size_t i = t * TENTH; i < (t + 1) * TENTH; i++)
			mean[t] += log(row[2 * i + 1]) / TENTH;
		if (t > 0 && S == 1)
			EXPECT(mean[t] > mean[t - 1], "kind %d: tenth %zu is no farther out", (int)kind, t);
	}
	const double apart = mean[9] - mean[0];
	EXPECT(S == 0 ? fabs(apart) < 0.15 : apart > before + 0.5, "kind %d S %g: %g after %g", (int)kind, S, apart,
		before);
	drop(&plain);
	drop(&equal);
	drop(&b);
	return apart;
}

static void test_segregation(void)
{
	for (int k = 0; k < KINDS; k++) {
		double apart = 0;
		for (int S = 0; S <= 2; S++)
			apart = segregated(kinds[k], S / 2., apart);
	}
	struct nb_model_param p = stars(NB_MODEL_PLUMMER, 100);
	struct nb_model *model;
	const char *why = "";
	p.segregation = 1;
	p.mass_range[0] = 1e-5;
	CHECK(nb_model_create(&p, &model, &why) == NB_EINVAL && strstr(why, "segregation wants a mass-range"));
	p.mass_range[0] = 0.08;
	for (p.n = 0; p.n < 3; p.n++) {
		struct bodies b = make(&p);
		CHECK(b.n == p.n);
		drop(&b);
	}
}

int main(void)
{
	test_binaries();
	test_segregation();
	return unit_end();
}
