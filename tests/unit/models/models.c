/* Initial conditions against their formulas.  Seeds are fixed, so a statistical bound either holds or not;
 * Kolmogorov-Smirnov distances are bounded at probability 0.001, moments at 4 standard errors. */
#include "kernels/models/models.h"

#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/models/galaxy_internal.h"
#include "kernels/models/part_internal.h"
#include "kernels/models/random_internal.h"

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

/* ---- helpers ------------------------------------------------------------------------------------ */

struct bodies {
	size_t n;
	double *mass, *pos, *vel;
	uint8_t *species;
	double G;
};

static struct bodies make(const struct nb_model_param *param)
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

static void drop(struct bodies *b)
{
	nb_free(b->mass);
	nb_free(b->pos);
	nb_free(b->vel);
	nb_free(b->species);
}

static struct nb_model_param defaults(enum nb_model_kind kind)
{
	struct nb_model_param param;
	nb_model_defaults(&param, kind);
	return param;
}

static double norm(const double *a)
{
	return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* sqrt(n) times the largest distance of the n probabilities p (sorted here) from the uniform distribution: above 1.95
 * with probability 0.001 */
static double ks(double *p, size_t n)
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

static double normal_cdf(double x)
{
	return erfc(-x / sqrt(2)) / 2;
}

/* largest component of sum m a / sum m */
static double largest_mean(const struct bodies *b, const double *a)
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

static double kinetic(const struct bodies *b)
{
	double sum = 0;
	for (size_t i = 0; i < b->n; i++)
		sum += b->mass[i] * norm(b->vel + 3 * i) * norm(b->vel + 3 * i) / 2;
	return sum;
}

/* -sum over i of m_i M(<r_i) / r_i for spherical systems of equal masses */
static double potential_of_shells(const struct bodies *b)
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

static double potential(const struct bodies *b)
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

/* ---- generator ---------------------------------------------------------------------------------- */

static void test_philox(void)
{
	/* Random123 distribution, tests/kat_vectors, philox4x32 10 */
	static const uint32_t known[3][10] = {{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
			0xa20bc7c6, 0x6d5451fd},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
			0x5001e420, 0x24126ea1}};
	for (int k = 0; k < 3; k++) {
		uint32_t out[4];
		nb_philox4x32(known[k], known[k] + 4, out);
		EXPECT(memcmp(out, known[k] + 6, sizeof out) == 0, "vector %d gives %08x", k, out[0]);
	}
	EXPECT(nb_uniform52(0) == 0x1p-53, "%a", nb_uniform52(0));
	EXPECT(nb_uniform52(UINT64_MAX) == 1 - 0x1p-53, "%a", nb_uniform52(UINT64_MAX));
}

/* ---- SIMD against the C library ----------------------------------------------------------------- */

typedef void draw_function(const struct nb_model_part *, uint64_t, int, uint64_t, size_t, double *);

static const double tau = 6.283185307179586477;

static void reference(const struct nb_model_part *part, uint64_t seed, int vel, uint64_t i, double out[3])
{
	double u[3], d[2], v[6], w[4];
	nb_random3(seed, part->stream, i, 0, u);
	nb_random2(seed, part->stream, i, 1, d);
	nb_random3(seed, part->stream, i, 16, v);
	nb_random3(seed, part->stream, i, 17, v + 3);
	nb_random2(seed, part->stream, i, 18, w);
	const double p = fmax(u[0], fmax(u[1], u[2]));
	if (vel && part->sampler == NB_SAMPLE_PLUMMER) {
		double five[5];
		memcpy(five, v, sizeof five);
		qsort(five, 5, sizeof *five, by_size);
		const double x = p * part->mu, speed = part->speed * pow((1 - x) * (1 + x), 0.25) * sqrt(five[1]);
		out[0] = speed * sqrt(v[5]) * cos(tau * w[0]);
		out[1] = speed * sqrt(v[5]) * sin(tau * w[0]);
		out[2] = speed * sqrt(1 - v[5]) * sin(tau / 2 * (w[1] - 0.5));
	} else if (vel) {
		nb_random2(seed, part->stream, i, 16, w);
		nb_random2(seed, part->stream, i, 17, w + 2);
		const double r = part->speed * sqrt(-2 * log(w[0])), r1 = part->speed * sqrt(-2 * log(w[2]));
		out[0] = r * cos(tau * w[1]);
		out[1] = r * sin(tau * w[1]);
		out[2] = r1 * cos(tau * w[3]);
	} else if (part->sampler == NB_SAMPLE_CUBE) {
		for (int c = 0; c < 3; c++)
			out[c] = part->length * (u[c] - 0.5);
	} else {
		const double x = p * part->mu, r = part->sampler == NB_SAMPLE_PLUMMER ? x / sqrt((1 - x) * (1 + x)) : p;
		const double z = 2 * d[0] - 1, ring = sqrt((1 - z) * (1 + z));
		out[0] = part->length * r * ring * cos(tau * d[1]);
		out[1] = part->length * r * ring * sin(tau * d[1]);
		out[2] = part->length * r * z;
	}
}

/* Up to the sign of the vector, which the block chooses, every instruction set gives the formula's bodies, and all
 * give the same bytes. */
static void test_simd(void)
{
	draw_function *const draw[] = {nb_model_draw_plain,
#ifdef __x86_64__
		nb_model_draw_avx2, nb_model_draw_avx512
#endif
	};
	static double plain[3 * NB_MODEL_BLOCK], out[3 * NB_MODEL_BLOCK];
	const enum nb_model_sampler samplers[] = {NB_SAMPLE_PLUMMER, NB_SAMPLE_BALL, NB_SAMPLE_CUBE};
	const uint64_t seed = 0xfedcba9876543210, start = ((uint64_t)5 << 32) + 2 * NB_MODEL_BLOCK;
	for (int s = 0; s < 3; s++)
		for (int vel = 0; vel < 2; vel++) {
			struct nb_model_part part = {.sampler = samplers[s],
				.dim = 3,
				.stream = 3,
				.length = 1.25,
				.speed = 0.75,
				.mu = 0.9995};
			nb_model_draw_plain(&part, seed, vel, start, NB_MODEL_BLOCK, plain);
			double worst = 0;
			for (size_t i = 0; i < NB_MODEL_BLOCK; i++) {
				double want[3], *got = plain + 3 * i;
				reference(&part, seed, vel, start + i, want);
				const double sign = got[0] * want[0] < 0 ? -1 : 1, size = norm(want);
				for (int c = 0; c < 3; c++) {
					const double error = fabs(got[c] - sign * want[c]) / size;
					if (!(error <= worst))
						worst = error;
				}
			}
			EXPECT(worst < 4e-15, "sampler %d, vel %d: %g", s, vel, worst);
			for (int isa = 1; isa <= (int)nb_cpu_isa(); isa++) {
				/* an odd count too: the last group is cut */
				nb_model_draw_plain(&part, seed, vel, start, 1003, plain);
				draw[isa](&part, seed, vel, start, 1003, out);
				EXPECT(memcmp(plain, out, 3 * 1003 * sizeof *out) == 0,
					"sampler %d, vel %d differ on %s", s, vel, nb_cpu_isa_name((enum nb_isa)isa));
			}
		}
}

/* ---- properties of all models ------------------------------------------------------------------- */

/* Any range, any number of threads, any instruction set: the same bytes. */
static void test_access(void)
{
	for (int kind = 0; kind < NB_MODEL_NKIND; kind++) {
		struct nb_model_param param = defaults((enum nb_model_kind)kind);
		param.n = 3 * NB_MODEL_BLOCK + 77;
		param.sigma = 0.5;
		param.virial = 0.25;
		param.level = 3;
		param.per_box = 200;
		nb_cpu_set_threads(1);
		setenv("NB_SIMD", "plain", 1);
		struct bodies one = make(&param);
		nb_cpu_set_threads(3);
		unsetenv("NB_SIMD");
		struct bodies many = make(&param);
		EXPECT(one.n == many.n && memcmp(one.pos, many.pos, 24 * one.n) == 0 &&
				memcmp(one.vel, many.vel, 24 * one.n) == 0,
			"model %d", kind);
		struct nb_model *model;
		const char *why;
		double part[600];
		uint8_t species[200];
		if (nb_model_create(&param, &model, &why)) {
			EXPECT(0, "model %d", kind);
			continue;
		}
		for (size_t first = 0; first < one.n; first += first ? first + 997 : 1) {
			const size_t count = one.n - first < 200 ? one.n - first : 200;
			EXPECT(nb_model_fill(model, NB_MODEL_VEL, first, count, part) == NB_OK &&
					memcmp(part, one.vel + 3 * first, 24 * count) == 0,
				"model %d from %zu", kind, first);
			nb_model_species(model, first, count, species);
			EXPECT(memcmp(species, one.species + first, count) == 0, "model %d from %zu", kind, first);
		}
		EXPECT(nb_model_fill(model, NB_MODEL_POS, one.n, 0, part) == NB_OK, "model %d", kind);
		EXPECT(nb_model_fill(model, NB_MODEL_POS, one.n, 1, part) == NB_EINVAL, "model %d", kind);
		EXPECT(nb_model_fill(model, NB_MODEL_POS, 1, one.n, part) == NB_EINVAL, "model %d", kind);
		nb_model_free(model);
		param.seed = 2;
		struct bodies other = make(&param);
		const int fixed = kind == NB_MODEL_SOLAR || kind == NB_MODEL_FIGURE8 || kind == NB_MODEL_KEPLER;
		EXPECT((memcmp(one.pos, other.pos, 24 * one.n) == 0) == fixed, "model %d and its seed", kind);
		drop(&one);
		drop(&many);
		drop(&other);
	}
	nb_cpu_set_threads(2);
}

static void test_centre(void)
{
	static const size_t sizes[] = {1, 2, 3, 9, 10, 255, 257, 5000, 50001};
	for (int kind = 0; kind < NB_MODEL_NKIND; kind++)
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			struct nb_model_param param = defaults((enum nb_model_kind)kind);
			param.n = sizes[s];
			param.sigma = 0.5;
			param.virial = 0.25;
			param.level = 2;
			param.ratio = 0.3;
			struct bodies b = make(&param);
			double mass = 0;
			for (size_t i = 0; i < b.n; i++)
				mass += b.mass[i];
			if (kind != NB_MODEL_SOLAR && kind != NB_MODEL_FIGURE8)
				EXPECT(fabs(mass - 1) < 1e-12, "model %d, n %zu: mass %.17g", kind, b.n, mass);
			/* 1e-15 of the largest coordinates there are */
			const double speed = kind == NB_MODEL_SOLAR ? 0.01 : 1;
			/* a merger of few bodies does not have the masses that its orbit was made for */
			const int exact = kind != NB_MODEL_MERGER || b.n >= 5000;
			if (exact && kind != NB_MODEL_UNIFORM && kind != NB_MODEL_BOXES)
				EXPECT(largest_mean(&b, b.pos) < 3e-15, "model %d, n %zu: %g", kind, b.n,
					largest_mean(&b, b.pos));
			EXPECT(!exact || largest_mean(&b, b.vel) < 3e-15 * speed, "model %d, n %zu: %g", kind, b.n,
				largest_mean(&b, b.vel));
			drop(&b);
		}
	struct nb_model_param param = defaults(NB_MODEL_PLUMMER);
	param.n = 0;
	struct bodies b = make(&param);
	EXPECT(b.n == 0, "%zu bodies", b.n);
	drop(&b);
}

static void test_invalid(void)
{
	struct nb_model *model;
	const char *why;
	struct nb_model_param p;
#define REFUSED(model_kind, change) \
	p = defaults(model_kind);   \
	p.change;                   \
	why = NULL;                 \
	EXPECT(nb_model_create(&p, &model, &why) == NB_EINVAL && why && !model, #model_kind " with " #change)
	REFUSED(NB_MODEL_NKIND, n = 1);
	REFUSED(NB_MODEL_UNIFORM, dim = 1);
	REFUSED(NB_MODEL_UNIFORM, size = 0);
	REFUSED(NB_MODEL_UNIFORM, sigma = -1);
	REFUSED(NB_MODEL_UNIFORM, sigma = NAN);
	REFUSED(NB_MODEL_UNIFORM, n = ((uint64_t)1 << 40) + 1);
	REFUSED(NB_MODEL_PLUMMER, rmax = 1.4);
	REFUSED(NB_MODEL_PLUMMER, rmax = INFINITY);
	REFUSED(NB_MODEL_PLUMMER, dim = 2);
	REFUSED(NB_MODEL_SPHERE, virial = 1);
	REFUSED(NB_MODEL_SPHERE, size = -1);
	REFUSED(NB_MODEL_CLUSTERS, spread = 0);
	REFUSED(NB_MODEL_BOXES, level = 13);
	REFUSED(NB_MODEL_BOXES, per_box = 0);
	REFUSED(NB_MODEL_BOXES, dim = 3);
	REFUSED(NB_MODEL_DISK, disk = 0);
	REFUSED(NB_MODEL_DISK, bulge = 0.9);
	REFUSED(NB_MODEL_DISK, toomre = 0);
	REFUSED(NB_MODEL_DISK, height = NAN);
	REFUSED(NB_MODEL_MERGER, separation = 0.1);
	REFUSED(NB_MODEL_MERGER, pericentre = 0);
	REFUSED(NB_MODEL_MERGER, eccentricity = 0.1);
	REFUSED(NB_MODEL_MERGER, ratio = 0);
	REFUSED(NB_MODEL_MERGER, node[1] = INFINITY);
	REFUSED(NB_MODEL_KEPLER, eccentricity = 1);
	REFUSED(NB_MODEL_KEPLER, ratio = -1);
	REFUSED(NB_MODEL_KEPLER, radius = -2);
	REFUSED(NB_MODEL_CLUSTERS, size = 1e-160);
	REFUSED(NB_MODEL_SOLAR, dim = 2);
}

/* The tables: what --help says of a parameter is what the model has. */
static void test_tables(void)
{
	for (int k = 0; k < NB_MODEL_NKIND; k++) {
		const struct nb_model_param usual = defaults((enum nb_model_kind)k);
		EXPECT(usual.kind == (enum nb_model_kind)k && nb_model_info[k].dims >> usual.dim & 1, "%s",
			nb_model_info[k].name);
	}
	for (enum nb_parameter p = 0; p < NB_NPARAMETER; p++) {
		const struct nb_parameter_info *info = &nb_parameter_info[p];
		EXPECT(info->nmodel > 0 && info->nmodel <= NB_MODEL_NKIND, "%s", info->option);
		EXPECT(info->low <= info->high && info->at + info->size <= sizeof(struct nb_model_param), "%s",
			info->option);
		size_t takes = 0;
		for (int k = 0; k < NB_MODEL_NKIND; k++)
			takes += (size_t)nb_model_takes((enum nb_model_kind)k, p);
		EXPECT(takes == info->nmodel, "%s has a model twice", info->option);
	}
	EXPECT(nb_model_takes(NB_MODEL_MERGER, NB_PARAMETER_ratio) &&
			!nb_model_takes(NB_MODEL_DISK, NB_PARAMETER_ratio),
		"ratio");
	EXPECT(defaults(NB_MODEL_SPHERE).size == 0 && defaults(NB_MODEL_CLUSTERS).size == 1, "size");
	EXPECT(defaults(NB_MODEL_KEPLER).eccentricity == 0.5 && defaults(NB_MODEL_MERGER).eccentricity == 1,
		"eccentricity");
	EXPECT(defaults(NB_MODEL_MERGER).node[1] == 90, "node");
}

/* What a model does not take is ignored; a range is told with its ends. */
static void test_ranges(void)
{
	struct nb_model *model;
	const char *why;
	struct nb_model_param p = defaults(NB_MODEL_PLUMMER);
	p.virial = -1;
	p.level = 99;
	EXPECT(nb_model_create(&p, &model, &why) == NB_OK, "%s", why ? why : "");
	nb_model_free(model);
	p.rmax = 1.4;
	EXPECT(nb_model_create(&p, &model, &why) == NB_EINVAL &&
			strcmp(why, "rmax must be at least 1.5 and at most 1e100") == 0,
		"%s", why ? why : "");
	/* a radius for all bodies */
	for (int kind = 0; kind < NB_MODEL_NKIND; kind++) {
		double radius[2] = {0};
		p = defaults((enum nb_model_kind)kind);
		EXPECT(nb_model_create(&p, &model, &why) == NB_OK, "model %d", kind);
		EXPECT(nb_model_has_radius(model) == (kind == NB_MODEL_SOLAR), "model %d", kind);
		nb_model_free(model);
		p.radius = 0.25;
		EXPECT(nb_model_create(&p, &model, &why) == NB_OK, "model %d", kind);
		EXPECT(nb_model_fill(model, NB_MODEL_RADIUS, 0, 2, radius) == NB_OK &&
				(radius[0] == 0.25) == (kind != NB_MODEL_SOLAR) && radius[1] > 0,
			"model %d", kind);
		nb_model_free(model);
	}
}

/* ---- Plummer ------------------------------------------------------------------------------------ */

/* distribution of q^2 = (v / v_esc)^2: Beta(3/2, 9/2), by Simpson's rule on 2 q^2 (1 - q^2)^(7/2) dq */
static double plummer_speed_cdf(double q)
{
	enum { N = 200 };
	double sum = 0;
	for (int k = 0; k <= N; k++) {
		const double x = q * k / N;
		sum += (k == 0 || k == N ? 1 : k % 2 ? 4 : 2) * x * x * pow(1 - x * x, 3.5);
	}
	return sum * q / N / 3 * 512 / (7 * M_PI); /* int_0^1 = 7 pi / 512 */
}

static void test_plummer(void)
{
	const size_t n = 100000;
	struct nb_model_param param = defaults(NB_MODEL_PLUMMER);
	param.n = n;
	param.rmax = 1e6;
	struct bodies b = make(&param);
	double *p = nb_alloc(n, sizeof *p);
	const double a = 3 * M_PI / 16;
	for (size_t i = 0; i < n; i++) {
		const double r = norm(b.pos + 3 * i) / a;
		p[i] = pow(r * r / (1 + r * r), 1.5);
	}
	EXPECT(ks(p, n) < ks_bound, "mass profile: %g", ks(p, n));
	for (size_t i = 0; i < n; i++) {
		const double r = norm(b.pos + 3 * i), escape = sqrt(2 / sqrt(r * r + a * a));
		p[i] = plummer_speed_cdf(norm(b.vel + 3 * i) / escape);
	}
	EXPECT(ks(p, n) < ks_bound, "speeds: %g", ks(p, n));
	/* isotropy; signs of positions are not independent, since far bodies are balanced by many near ones */
	for (int c = 0; c < 3; c++) {
		size_t positive = 0;
		for (size_t i = 0; i < n; i++) {
			p[i] = fabs(b.pos[3 * i + c]) / norm(b.pos + 3 * i);
			positive += b.pos[3 * i + c] > 0;
		}
		EXPECT(ks(p, n) < ks_bound, "direction of position, component %d: %g", c, ks(p, n));
		EXPECT(fabs((double)positive - (double)n / 2) < 3 * sqrt((double)n), "component %d: %zu > 0", c,
			positive);
		for (size_t i = 0; i < n; i++)
			p[i] = (1 + b.vel[3 * i + c] / norm(b.vel + 3 * i)) / 2;
		EXPECT(ks(p, n) < ks_bound, "direction of velocity, component %d: %g", c, ks(p, n));
	}
	for (size_t i = 0; i < n; i++) {
		const double *x = b.pos + 3 * i, *v = b.vel + 3 * i;
		p[i] = (1 + (x[0] * v[0] + x[1] * v[1] + x[2] * v[2]) / (norm(x) * norm(v))) / 2;
	}
	EXPECT(ks(p, n) < ks_bound, "angle between them: %g", ks(p, n));
	for (size_t i = 0; i < n; i++)
		p[i] = (atan2(b.vel[3 * i + 1], b.vel[3 * i]) + M_PI) / tau;
	EXPECT(ks(p, n) < ks_bound, "azimuth of velocity: %g", ks(p, n));
	drop(&b);

	/* T = 1/4 and W = -1/2 for any truncation; the sample's own scatter is the tolerance */
	static const double cut[] = {1.5, 3, 20};
	for (int k = 0; k < 3; k++) {
		param.rmax = cut[k];
		b = make(&param);
		double far = 0, spread = 0;
		const double ekin = kinetic(&b), epot = potential_of_shells(&b);
		for (size_t i = 0; i < n; i++) {
			const double v2 = norm(b.vel + 3 * i) * norm(b.vel + 3 * i) / 2;
			spread += (v2 - ekin) * (v2 - ekin) / (double)n / (double)n;
			far = fmax(far, norm(b.pos + 3 * i));
		}
		EXPECT(fabs(ekin - 0.25) < 4 * sqrt(spread), "rmax %g: T = %g +- %g", cut[k], ekin, sqrt(spread));
		EXPECT(fabs(epot + 0.5) < 0.006, "rmax %g: W = %g", cut[k], epot);
		EXPECT(fabs(ekin / -epot - 0.5) < 0.008, "rmax %g: T/|W| = %g", cut[k], ekin / -epot);
		EXPECT(far < cut[k] * 1.01 && far > cut[k] * 0.9, "rmax %g: farthest body at %g", cut[k], far);
		drop(&b);
	}
	/* the shells against the sum over pairs */
	param.rmax = 20;
	param.n = 8192;
	b = make(&param);
	EXPECT(fabs(potential(&b) / potential_of_shells(&b) - 1) < 0.01, "W = %g", potential(&b));
	EXPECT(fabs(kinetic(&b) + potential(&b) + 0.25) < 0.012, "E = %g", kinetic(&b) + potential(&b));
	drop(&b);
	nb_free(p);
}

/* ---- cube, sphere, clusters, boxes -------------------------------------------------------------- */

static void test_uniform(void)
{
	const size_t n = 100000;
	struct nb_model_param param = defaults(NB_MODEL_UNIFORM);
	param.n = n;
	param.size = 2.5;
	param.sigma = 0.7;
	struct bodies b = make(&param);
	double *p = nb_alloc(n, sizeof *p);
	for (int c = 0; c < 3; c++) {
		double mean = 0, square = 0, inside = 1;
		for (size_t i = 0; i < n; i++) {
			const double x = b.pos[3 * i + c];
			mean += x / (double)n;
			square += x * x / (double)n;
			inside = inside && fabs(x) < 1.25;
			p[i] = x / 2.5 + 0.5;
		}
		/* variances L^2/12 of x, L^4/180 of x^2 */
		EXPECT(inside, "component %d leaves the cube", c);
		EXPECT(fabs(mean) < 4 * sqrt(6.25 / 12 / (double)n), "mean %g", mean);
		EXPECT(fabs(square - 6.25 / 12) < 4 * sqrt(39.0625 / 180 / (double)n), "mean square %g", square);
		EXPECT(ks(p, n) < ks_bound, "component %d: %g", c, ks(p, n));
		for (size_t i = 0; i < n; i++)
			p[i] = normal_cdf(b.vel[3 * i + c] / 0.7);
		EXPECT(ks(p, n) < ks_bound, "velocity component %d: %g", c, ks(p, n));
	}
	/* coordinates independent: correlations vanish */
	for (int c = 0; c < 3; c++) {
		double xy = 0, xv = 0;
		for (size_t i = 0; i < n; i++) {
			xy += b.pos[3 * i + c] * b.pos[3 * i + (c + 1) % 3];
			xv += b.pos[3 * i + c] * b.vel[3 * i + c];
		}
		EXPECT(fabs(xy) / (double)n < 4 * 6.25 / 12 / sqrt((double)n), "%g", xy);
		EXPECT(fabs(xv) / (double)n < 4 * sqrt(6.25 / 12) * 0.7 / sqrt((double)n), "%g", xv);
	}
	drop(&b);
	param.dim = 2;
	b = make(&param);
	int flat = 1;
	for (size_t i = 0; i < n; i++)
		flat = flat && b.pos[3 * i + 2] == 0 && b.vel[3 * i + 2] == 0 && b.pos[3 * i] != 0 &&
		       b.vel[3 * i + 1] != 0;
	EXPECT(flat, "two dimensions");
	drop(&b);
	nb_free(p);
}

static void test_sphere(void)
{
	const size_t n = 100000;
	double *p = nb_alloc(n, sizeof *p);
	for (int dim = 2; dim <= 3; dim++) {
		struct nb_model_param param = defaults(NB_MODEL_SPHERE);
		param.n = n;
		param.dim = dim;
		param.virial = 0.3;
		struct bodies b = make(&param);
		const double self = dim == 3 ? 0.6 : 8 / (3 * M_PI), radius = 4 * self * 0.7;
		for (size_t i = 0; i < n; i++)
			p[i] = pow(norm(b.pos + 3 * i) / radius, dim);
		EXPECT(ks(p, n) < ks_bound, "dim %d: %g", dim, ks(p, n));
		/* W = -self / radius exactly, so E = -1/4 means T = 0.3 |W| */
		EXPECT(fabs(kinetic(&b) * radius / self - 0.3) < 4 * 0.3 * sqrt(2. / dim / (double)n),
			"dim %d: T/|W| = %g", dim, kinetic(&b) * radius / self);
		drop(&b);
		param.n = 4000;
		b = make(&param);
		EXPECT(fabs(potential(&b) + self / radius) < 0.01, "dim %d: W = %g", dim, potential(&b));
		EXPECT(fabs(kinetic(&b) + potential(&b) + 0.25) < 0.012, "dim %d: E = %g", dim,
			kinetic(&b) + potential(&b));
		drop(&b);
	}
	struct nb_model_param param = defaults(NB_MODEL_SPHERE);
	param.n = 1000;
	param.size = 3;
	struct bodies b = make(&param);
	double far = 0;
	for (size_t i = 0; i < b.n; i++)
		far = fmax(far, norm(b.pos + 3 * i));
	EXPECT(kinetic(&b) == 0, "the default is cold");
	EXPECT(far > 2.9 && far < 3.05, "farthest body at %g", far);
	drop(&b);
	nb_free(p);
}

static void test_clusters(void)
{
	for (int dim = 2; dim <= 3; dim++) {
		struct nb_model_param param = defaults(NB_MODEL_CLUSTERS);
		param.n = 8003;
		param.dim = dim;
		param.size = 10;
		param.spread = 0.5;
		struct bodies b = make(&param);
		size_t count[8] = {0};
		double worst = 0;
		for (size_t i = 0; i < b.n; i++) {
			const int g = b.species[i];
			double d[3];
			for (int c = 0; c < 3; c++)
				d[c] = b.pos[3 * i + c] - (c < dim ? 10 * ((g >> c & 1) - 0.5) : 0);
			worst = fmax(worst, norm(d));
			count[g]++;
		}
		EXPECT(worst > 0.45 && worst < 0.52, "dim %d: farthest body at %g from its corner", dim, worst);
		for (int g = 0; g < 8; g++) {
			const size_t want = dim == 3 ? 8003 / 8 + (g < 3) : g < 4 ? 8003 / 4 + (g < 3) : 0;
			EXPECT(count[g] == want, "dim %d: group %d has %zu", dim, g, count[g]);
		}
		drop(&b);
	}
}

static void test_boxes(void)
{
	static const struct {
		int level;
		uint64_t per_box;
	} cases[] = {{0, 1}, {0, 100}, {1, 1}, {3, 7}, {7, 16}, {10, 1}};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct nb_model_param param = defaults(NB_MODEL_BOXES);
		param.level = cases[k].level;
		param.per_box = cases[k].per_box;
		struct bodies b = make(&param);
		const uint32_t side = 1u << cases[k].level;
		uint64_t *count = nb_alloc_zero(side * side, sizeof *count);
		EXPECT(b.n == side * side * cases[k].per_box, "%zu bodies", b.n);
		for (int how = 0; how < 3; how++) {
			/* as drawn; in the square that nb_morton_cube makes from the bodies; the same after rounding to
			 * f32 */
			double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
			for (size_t i = 0; i < b.n; i++)
				for (int c = 0; c < 2; c++) {
					double *x = &b.pos[3 * i + c];
					*x = how == 2 ? (double)(float)*x : *x;
					low[c] = fmin(low[c], *x);
					high[c] = fmax(high[c], *x);
				}
			double size = fmax(high[0] - low[0], high[1] - low[1]) * (1 + 0x1p-40);
			if (how == 0 || cases[k].level == 0) {
				low[0] = low[1] = 0;
				size = 1;
			}
			memset(count, 0, side * side * sizeof *count);
			for (size_t i = 0; i < b.n; i++) {
				const double x = (b.pos[3 * i] - low[0]) / size * side,
					     y = (b.pos[3 * i + 1] - low[1]) / size * side;
				if (x >= 0 && x < side && y >= 0 && y < side)
					count[(uint32_t)y * side + (uint32_t)x]++;
			}
			size_t wrong = 0;
			for (uint32_t box = 0; box < side * side; box++)
				wrong += count[box] != cases[k].per_box;
			EXPECT(wrong == 0, "level %d, %d per box, way %d: %zu boxes wrong", cases[k].level,
				(int)cases[k].per_box, how, wrong);
		}
		nb_free(count);
		drop(&b);
	}
}

/* ---- few bodies --------------------------------------------------------------------------------- */

static void accelerate(const struct bodies *b, const double *pos, double *acc)
{
	memset(acc, 0, 3 * b->n * sizeof *acc);
	for (size_t i = 0; i < b->n; i++)
		for (size_t j = 0; j < b->n; j++) {
			double d[3];
			for (int c = 0; c < 3; c++)
				d[c] = pos[3 * j + c] - pos[3 * i + c];
			const double r = norm(d);
			for (int c = 0; c < 3 && i != j; c++)
				acc[3 * i + c] += b->G * b->mass[j] * d[c] / (r * r * r);
		}
}

/* classical Runge-Kutta, order 4; at most 9 bodies */
static void evolve(struct bodies *b, double time, int steps)
{
	double k[4][54], state[54], at[54];
	const size_t m = 3 * b->n;
	const double h = time / steps;
	memcpy(state, b->pos, m * sizeof *state);
	memcpy(state + m, b->vel, m * sizeof *state);
	for (int s = 0; s < steps; s++) {
		static const double node[4] = {0, 0.5, 0.5, 1};
		for (int stage = 0; stage < 4; stage++) {
			for (size_t i = 0; i < 2 * m; i++)
				at[i] = state[i] + (stage ? node[stage] * h * k[stage - 1][i] : 0);
			memcpy(k[stage], at + m, m * sizeof *at);
			accelerate(b, at, k[stage] + m);
		}
		for (size_t i = 0; i < 2 * m; i++)
			state[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
	}
	memcpy(b->pos, state, m * sizeof *state);
	memcpy(b->vel, state + m, m * sizeof *state);
}

static double farthest(const struct bodies *a, const struct bodies *b)
{
	double worst = 0;
	for (size_t i = 0; i < 3 * a->n; i++)
		if (!(fabs(a->pos[i] - b->pos[i]) <= worst))
			worst = fabs(a->pos[i] - b->pos[i]);
	return worst;
}

static void test_few(void)
{
	struct nb_model_param param = defaults(NB_MODEL_FIGURE8);
	struct bodies a = make(&param), b = make(&param);
	evolve(&b, 6.32591398, 6000); /* the period, Chenciner & Montgomery 2000 */
	EXPECT(farthest(&a, &b) < 1e-7, "figure of eight misses its start by %g", farthest(&a, &b));
	evolve(&b, 6.32591398 / 3, 2000); /* a third later each body is where the next one was */
	double third = 0;
	for (int c = 0; c < 3; c++)
		third = fmax(third, fmin(fabs(b.pos[c] - a.pos[3 + c]), fabs(b.pos[c] - a.pos[6 + c])));
	EXPECT(third < 1e-7, "after a third of the period %g", third);
	EXPECT(fabs(kinetic(&a) + potential(&a) + 1.287142) < 1e-5, "E = %.8g", kinetic(&a) + potential(&a));
	drop(&a);
	drop(&b);

	param = defaults(NB_MODEL_KEPLER);
	param.eccentricity = 0.6;
	param.ratio = 0.25;
	a = make(&param);
	b = make(&param);
	const double m = a.mass[0] * a.mass[1];
	EXPECT(fabs(a.mass[1] / a.mass[0] - 0.25) < 1e-15, "mass ratio %g", a.mass[1] / a.mass[0]);
	EXPECT(fabs(kinetic(&a) + potential(&a) + m / 2) < 1e-15, "E = %.17g", kinetic(&a) + potential(&a));
	evolve(&b, M_PI, 4000); /* half a period: apocentre, 1 + e on the other side */
	EXPECT(fabs(b.pos[3] - b.pos[0] + 1.6) < 1e-9, "apocentre at %.12g", b.pos[3] - b.pos[0]);
	evolve(&b, M_PI, 4000);
	EXPECT(farthest(&a, &b) < 1e-8, "ellipse misses its start by %g", farthest(&a, &b));
	drop(&a);
	drop(&b);

	param = defaults(NB_MODEL_SOLAR);
	a = make(&param);
	EXPECT(a.n == 9 && fabs(a.G - 2.9591220828559e-4) < 1e-16, "G = %.17g", a.G);
	/* semi-major axes by the vis-viva equation; heliocentric distance and longitude of the Earth at J2000: the
	 * Astronomical Almanac has 0.98333 AU and 100.38 degrees, the elements are good to 20 arc seconds */
	static const double axis[9] = {
		0, 0.38709927, 0.72333566, 1.00000261, 1.52371034, 5.202887, 9.53667594, 19.18916464, 30.06992276};
	for (int i = 1; i < 9; i++) {
		double d[3], v[3];
		for (int c = 0; c < 3; c++) {
			d[c] = a.pos[3 * i + c] - a.pos[c];
			v[c] = a.vel[3 * i + c] - a.vel[c];
		}
		const double found = 1 / (2 / norm(d) - norm(v) * norm(v) / (a.G * (1 + a.mass[i])));
		EXPECT(fabs(found / axis[i] - 1) < 1e-13, "planet %d: a = %.12g", i, found);
		EXPECT(d[0] * v[1] - d[1] * v[0] > 0, "planet %d goes backwards", i);
		if (i == 3) {
			EXPECT(fabs(norm(d) - 0.98333) < 1e-4, "Earth at %.8g AU", norm(d));
			EXPECT(fabs(atan2(d[1], d[0]) * 180 / M_PI - 100.38) < 0.01, "Earth at %.8g degrees",
				atan2(d[1], d[0]) * 180 / M_PI);
		}
	}
	drop(&a);
}

/* ---- galaxies ----------------------------------------------------------------------------------- */

/* velocity dispersion of an isotropic Hernquist sphere, M = a = 1: Hernquist 1990, eq. 10 */
static double hernquist_sigma2(double r)
{
	return (12 * r * pow(1 + r, 3) * log((1 + r) / r) - r / (1 + r) * (25 + 52 * r + 42 * r * r + 12 * r * r * r)) /
	       12;
}

static void test_galaxy(void)
{
	/* a halo almost alone, in units of its scale length and mass */
	enum { N = 60000 };
	struct nb_galaxy *g;
	double *pos = nb_alloc(3 * N, sizeof *pos), *vel = nb_alloc(3 * N, sizeof *vel), *p = nb_alloc(N, sizeof *p);
	if (!pos || !vel || !p || nb_galaxy_create(1e-6, 0, 1, 0.1, &g)) {
		EXPECT(0, "no memory");
		return;
	}
	nb_galaxy_draw(g, NB_GALAXY_HALO, 7, 0, 0, N, pos, vel);
	/* what is cut off at 15 scale lengths is hardly missed within one: the Hernquist profile, M ~ (r / (r + a))^2
	 */
	size_t count_in = 0;
	for (size_t i = 0; i < N; i++) {
		const double r = norm(pos + 3 * i);
		if (r < 4)
			p[count_in++] = 4 * r * r / ((r + 4) * (r + 4));
	}
	EXPECT(ks(p, count_in) < ks_bound, "halo: %g", ks(p, count_in));
	const double mass = 4. * (double)count_in / N; /* of the whole sphere */
	static const double edge[] = {0.1, 0.2, 0.4, 0.8, 1.6};
	for (int k = 0; k < 4; k++) {
		double sum = 0, want = 0, square = 0;
		int count = 0;
		for (size_t i = 0; i < N; i++) {
			const double r = norm(pos + 3 * i) / 4;
			if (r < edge[k] || r >= edge[k + 1])
				continue;
			const double v2 = norm(vel + 3 * i) * norm(vel + 3 * i) / (mass / 4) / 3,
				     w = hernquist_sigma2(r);
			sum += v2;
			want += w;
			square += (v2 - w) * (v2 - w);
			count++;
		}
		EXPECT(fabs(sum - want) < 4 * sqrt(square), "%g < r < %g: sigma^2 %g, want %g (%d bodies)", edge[k],
			edge[k + 1], sum / count, want / count, count);
	}
	/* a disk without weight of its own oscillates through the halo with frequency Omega: sigma_z = Omega z_rms, and
	 * sech^2 has z_rms = pi / sqrt(12) heights */
	struct nb_galaxy_disk light;
	nb_galaxy_disk_at(g, 2.5, &light);
	EXPECT(fabs(light.sigma_z / (light.vcirc / 2.5 * 0.1 * M_PI / sqrt(12)) - 1) < 0.003, "sigma_z %g",
		light.sigma_z);
	nb_galaxy_free(g);

	/* the disk's frequencies: kappa from its definition, Q where it is set, and Kepler far out */
	if (nb_galaxy_create(0.15, 0.04, 1.3, 0.15, &g)) {
		EXPECT(0, "no memory");
		return;
	}
	for (double R = 0.3; R < 8; R *= 1.5) {
		struct nb_galaxy_disk at, low, high;
		const double h = 1e-4 * R;
		nb_galaxy_disk_at(g, R, &at);
		nb_galaxy_disk_at(g, R - h, &low);
		nb_galaxy_disk_at(g, R + h, &high);
		const double omega2 = pow(at.vcirc / R, 2);
		const double slope = (pow(high.vcirc / (R + h), 2) - pow(low.vcirc / (R - h), 2)) / (2 * h);
		EXPECT(fabs(at.kappa * at.kappa / (4 * omega2 + R * slope) - 1) < 1e-5, "kappa at %g", R);
		EXPECT(fabs(at.sigma_phi / at.sigma_R - at.kappa * R / (2 * at.vcirc)) < 1e-12, "sigma_phi at %g", R);
		EXPECT(at.vphi < at.vcirc && (R < 1.5 || at.vphi > 0.8 * at.vcirc), "rotation %g of %g at %g", at.vphi,
			at.vcirc, R);
	}
	struct nb_galaxy_disk at;
	nb_galaxy_disk_at(g, 2.5, &at);
	const double sigma = 0.15 / (2 * M_PI) * exp(-2.5);
	EXPECT(fabs(at.sigma_R * at.kappa / (3.36 * sigma) - 1.3) < 1e-12, "Q = %g",
		at.sigma_R * at.kappa / (3.36 * sigma));

	/* the disk as drawn: profile, thickness, rotation and dispersions at R about 2.5 */
	nb_galaxy_draw(g, NB_GALAXY_DISK, 7, 0, 0, N, pos, vel);
	double rotation = 0, radial = 0, around = 0, vertical = 0;
	int count = 0;
	for (size_t i = 0; i < N; i++) {
		const double *x = pos + 3 * i, *v = vel + 3 * i, R = hypot(x[0], x[1]);
		p[i] = (1 - (1 + R) * exp(-R)) / (1 - 11 * exp(-10));
		if (fabs(R - 2.5) < 0.1) {
			const double vR = (x[0] * v[0] + x[1] * v[1]) / R, vphi = (x[0] * v[1] - x[1] * v[0]) / R;
			rotation += vphi;
			radial += vR * vR;
			around += vphi * vphi;
			vertical += v[2] * v[2];
			count++;
		}
	}
	EXPECT(ks(p, N) < ks_bound, "exponential disk: %g", ks(p, N));
	for (size_t i = 0; i < N; i++)
		p[i] = (1 + tanh(pos[3 * i + 2] / 0.15)) / 2;
	EXPECT(ks(p, N) < ks_bound, "sech^2: %g", ks(p, N));
	const double tolerance = 4 / sqrt(count);
	rotation /= count;
	around = sqrt(around / count - rotation * rotation);
	EXPECT(fabs(rotation - at.vphi) < tolerance * at.sigma_phi, "rotation %g, want %g", rotation, at.vphi);
	EXPECT(fabs(around / at.sigma_phi - 1) < tolerance, "sigma_phi %g, want %g", around, at.sigma_phi);
	EXPECT(fabs(sqrt(radial / count) / at.sigma_R - 1) < tolerance, "sigma_R %g", sqrt(radial / count));
	EXPECT(fabs(sqrt(vertical / count) / at.sigma_z - 1) < tolerance, "sigma_z %g", sqrt(vertical / count));
	nb_galaxy_free(g);
	nb_free(pos);
	nb_free(vel);
	nb_free(p);

	/* the whole galaxy: energy by pairs, parts */
	struct nb_model_param param = defaults(NB_MODEL_DISK);
	param.n = 8000;
	struct bodies b = make(&param);
	size_t of[3] = {0};
	double share[3] = {0};
	for (size_t i = 0; i < b.n; i++) {
		of[b.species[i] % 3]++;
		share[b.species[i] % 3] += b.mass[i];
	}
	EXPECT(of[0] == 4000 && of[1] == 800 && of[2] == 3200, "%zu, %zu, %zu bodies", of[0], of[1], of[2]);
	EXPECT(fabs(share[0] - param.disk) < 1e-12 && fabs(share[1] - param.bulge) < 1e-12, "masses %g, %g", share[0],
		share[1]);
	const double ekin = kinetic(&b), epot = potential(&b);
	EXPECT(fabs(ekin / -epot - 0.5) < 0.02, "T/|W| = %g", ekin / -epot);
	EXPECT(fabs(ekin + epot + 0.25) < 0.02, "E = %g", ekin + epot);
	drop(&b);
}

static void test_merger(void)
{
	struct nb_model_param param = defaults(NB_MODEL_MERGER);
	param.n = 40000;
	param.ratio = 1. / 3;
	param.separation = 3;
	param.pericentre = 0.4;
	param.inclination[0] = 0;
	param.inclination[1] = 70;
	param.node[1] = 30;
	struct bodies b = make(&param);
	double mass[2] = {0}, x[2][3] = {{0}}, v[2][3] = {{0}}, spin[2][3] = {{0}};
	for (size_t i = 0; i < b.n; i++) {
		const int k = b.species[i] / 3;
		mass[k] += b.mass[i];
		for (int c = 0; c < 3; c++) {
			x[k][c] += b.mass[i] * b.pos[3 * i + c];
			v[k][c] += b.mass[i] * b.vel[3 * i + c];
		}
	}
	double d[3], w[3];
	for (int c = 0; c < 3; c++) {
		for (int k = 0; k < 2; k++) {
			x[k][c] /= mass[k];
			v[k][c] /= mass[k];
		}
		d[c] = x[1][c] - x[0][c];
		w[c] = v[1][c] - v[0][c];
	}
	EXPECT(fabs(mass[1] - 0.25) < 1e-12, "mass of the second %g", mass[1]);
	EXPECT(fabs(norm(d) - 3) < 1e-12, "separation %g", norm(d));
	EXPECT(fabs(norm(w) * norm(w) / 2 - 1 / norm(d)) < 1e-12, "a parabola has no energy");
	EXPECT(d[0] * w[0] + d[1] * w[1] < 0, "they must approach");
	/* L^2 = 2 G M r_p of a parabola */
	EXPECT(fabs(d[0] * w[1] - d[1] * w[0] - sqrt(0.8)) < 1e-12, "angular momentum %g", d[0] * w[1] - d[1] * w[0]);
	for (size_t i = 0; i < b.n; i++) {
		const int k = b.species[i] / 3;
		if (b.species[i] % 3)
			continue;
		double a[3], u[3];
		for (int c = 0; c < 3; c++) {
			a[c] = b.pos[3 * i + c] - x[k][c];
			u[c] = b.vel[3 * i + c] - v[k][c];
		}
		for (int c = 0; c < 3; c++)
			spin[k][c] += b.mass[i] * (a[(c + 1) % 3] * u[(c + 2) % 3] - a[(c + 2) % 3] * u[(c + 1) % 3]);
	}
	const double degree = M_PI / 180, want[3] = {sin(30 * degree) * sin(70 * degree),
						  -cos(30 * degree) * sin(70 * degree), cos(70 * degree)};
	double height[2] = {0};
	for (size_t i = 0; i < b.n; i++) {
		const int k = b.species[i] / 3;
		double above = 0;
		for (int c = 0; c < 3; c++)
			above += (k ? want[c] : c == 2) * (b.pos[3 * i + c] - x[k][c]);
		height[k] += b.species[i] % 3 ? 0 : above * above / mass[k];
	}
	/* lengths go like the root of the mass */
	EXPECT(fabs(sqrt(height[1] / height[0]) - sqrt(1. / 3)) < 0.02, "heights %g", sqrt(height[1] / height[0]));
	EXPECT(spin[0][2] / norm(spin[0]) > 0.9999, "spin of the first");
	EXPECT((spin[1][0] * want[0] + spin[1][1] * want[1] + spin[1][2] * want[2]) / norm(spin[1]) > 0.9999,
		"spin of the second (%g, %g, %g)", spin[1][0], spin[1][1], spin[1][2]);
	drop(&b);
}

int main(void)
{
	test_philox();
	test_simd();
	test_access();
	test_centre();
	test_invalid();
	test_tables();
	test_ranges();
	test_plummer();
	test_uniform();
	test_sphere();
	test_clusters();
	test_boxes();
	test_few();
	test_galaxy();
	test_merger();
	return unit_end();
}
