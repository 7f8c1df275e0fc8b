/* Initial conditions against their formulas.  Seeds are fixed, so a statistical bound either holds or not;
 * Kolmogorov-Smirnov distances are bounded at probability 0.001, moments at 4 standard errors. */
#include "common/cpu.h"
#include "kernels/models/part_internal.h"
#include "tests/unit/models/bodies.h"

/* ---- properties of all models ------------------------------------------------------------------- */

/* Any range, any number of threads, any instruction set: the same bytes. */
static void test_access(void)
{
	for (int kind = 0; kind < NB_MODEL_NKIND; kind++) {
		struct nb_model_param param = defaults((enum nb_model_kind)kind);
		if (UNIT_SANITIZED &&
			kind == NB_MODEL_MERGER) /* two of the galaxies before it, whose tables take seconds */
			continue;
		/* a lattice is transformed, whose last bits depend on the instruction set */
		const int lattice = kind == NB_MODEL_LPT;
		param.n = lattice ? 8000 : 3 * NB_MODEL_BLOCK + 77;
		param.sigma = 0.5;
		param.virial = 0.25;
		param.level = 3;
		param.per_box = 200;
		nb_cpu_set_threads(1);
		setenv("NB_SIMD", lattice ? "" : "plain", 1);
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
		const int fixed = kind == NB_MODEL_SOLAR || kind == NB_MODEL_FIGURE8 || kind == NB_MODEL_KEPLER ||
				  kind == NB_MODEL_ORBITS;
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
			/* a lattice of its own mass, whose centre moves; and bodies that are listed */
			if (kind == NB_MODEL_LPT || kind == NB_MODEL_ORBITS)
				continue;
			if (UNIT_SANITIZED && s % 7 &&
				((kind >= NB_MODEL_KING && kind <= NB_MODEL_NFW) || kind == NB_MODEL_DISK ||
					kind == NB_MODEL_MERGER))
				continue; /* their tables take a tenth of a second to a second and more */
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
	REFUSED(NB_MODEL_PLUMMER, mass = 0);
	REFUSED(NB_MODEL_PLUMMER, rscale = -1);
	REFUSED(NB_MODEL_PLUMMER, G = NAN);
	REFUSED(NB_MODEL_PLUMMER, imf = 3);
	REFUSED(NB_MODEL_PLUMMER, mass_range[0] = 0);
	REFUSED(NB_MODEL_PLUMMER, mass_range[0] = 100);
	REFUSED(NB_MODEL_PLUMMER, mass_range[1] = INFINITY);
	REFUSED(NB_MODEL_KING, w0 = 0);
	REFUSED(NB_MODEL_KING, w0 = 17);
	REFUSED(NB_MODEL_HERNQUIST, rmax = 1.4);
	REFUSED(NB_MODEL_HERNQUIST, rmax = -1);
	REFUSED(NB_MODEL_RING, outer = 1);
	REFUSED(NB_MODEL_RING, inner = 2);
	REFUSED(NB_MODEL_RING, eccentricity = 0.6);
	REFUSED(NB_MODEL_RING, ring_mass = 1);
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
	p = defaults(NB_MODEL_NFW);
	p.concentration = 0.5;
	EXPECT(nb_model_create(&p, &model, &why) == NB_EINVAL &&
			strcmp(why, "concentration must be at least 1 and at most 100") == 0,
		"%s", why ? why : "");
	/* a radius for all bodies */
	for (int kind = 0; kind < NB_MODEL_NKIND; kind++) {
		double radius[2] = {0};
		if (kind == NB_MODEL_LPT || kind == NB_MODEL_ORBITS)
			continue;			       /* their bodies have none, or each its own */
		if (UNIT_SANITIZED && kind == NB_MODEL_MERGER) /* two tables of the disk before it */
			continue;
		p = defaults((enum nb_model_kind)kind);
		EXPECT(nb_model_create(&p, &model, &why) == NB_OK, "model %d", kind);
		EXPECT(nb_model_has_radius(model) == (kind == NB_MODEL_SOLAR), "model %d", kind);
		nb_model_free(model);
		if (kind == NB_MODEL_ORBITS) /* its bodies have radii of their own */
			continue;
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
	const size_t n = UNIT_SANITIZED ? 40000 : 100000;
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
	const size_t n = UNIT_SANITIZED ? 40000 : 100000;
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
	const size_t n = UNIT_SANITIZED ? 40000 : 100000;
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

int main(void)
{
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
	return unit_end();
}
