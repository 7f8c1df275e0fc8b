/* King, Hernquist, Dehnen and NFW spheres, also with anisotropy, rings and mass functions against their formulas; mass,
 * scale radius and G.  Bounds as in model.c. */
#include "kernels/models/imf_internal.h"
#include "kernels/models/sphere_internal.h"
#include "tests/unit/models/bodies.h"

enum { N = 40000 };

static struct nb_sphere *sphere_of(struct nb_sphere_law law)
{
	struct nb_sphere *s;
	if (nb_sphere_create(&law, &s)) {
		printf("no sphere\n");
		exit(1);
	}
	return s;
}

static struct nb_sphere *sphere(enum nb_sphere_profile profile, double shape)
{
	return sphere_of((struct nb_sphere_law){.profile = profile, .shape = shape});
}

static struct nb_sphere *dehnen(double gamma, double cut, double ra)
{
	return sphere_of(
		(struct nb_sphere_law){.profile = NB_SPHERE_DEHNEN, .shape = gamma, .cut = cut, .ra = ra, .scale = 1});
}

/* ---- King, by the equations of the second order in r -------------------------------------------- */

static double king_rho(double W)
{
	return W > 0 ? exp(W) * erf(sqrt(W)) - sqrt(4 * W / M_PI) * (1 + 2 * W / 3) : 0;
}

enum { KING = 200000 };
struct king_table {
	double r[KING], W[KING], mass[KING];
	int n;
};

/* W'' + 2 W' / r = -9 rho / rho0 by Stoermer's rule for r W, until W is 0 */
static void king_integrate(struct king_table *t, double W0, double step)
{
	double before = 0, now = step * (W0 - 1.5 * step * step), mass = 0;
	for (t->n = 0; t->n < KING && now > 0; t->n++) {
		const double r = (t->n + 1) * step, W = now / r, rho = king_rho(W) / king_rho(W0);
		mass += 9 * rho * r * r * step;
		t->r[t->n] = r;
		t->W[t->n] = W;
		t->mass[t->n] = mass;
		const double next = 2 * now - before - 9 * rho * r * step * step;
		before = now;
		now = next;
	}
	EXPECT(t->n < KING, "W0 %g does not end", W0);
}

/* share of the speeds below v in the field of a distribution function */
static double speed_share(double (*f)(double), double psi, double v, double most)
{
	enum { STEPS = 200 };
	double below = 0, all = 0;
	for (int k = 0; k < STEPS; k++) {
		const double a = (k + 0.5) / STEPS, x = v * a, y = v + (most - v) * a;
		below += v / STEPS * x * x * f(psi - x * x / 2);
		all += (most - v) / STEPS * y * y * f(psi - y * y / 2);
	}
	return below / (below + all);
}

static double king_f(double E)
{
	return expm1(fmax(E, 0));
}

static void test_king(void)
{
	static struct king_table t;
	static const struct {
		double W0, step;
	} at[] = {{1, 1e-4}, {6, 2e-4}, {9, 1e-3}};
	double *pos = nb_alloc(3 * N, sizeof *pos), *vel = nb_alloc(3 * N, sizeof *vel), *p = nb_alloc(N, sizeof *p);
	for (size_t k = 0; k < sizeof at / sizeof *at; k += 1 + 2 * UNIT_SANITIZED) {
		struct nb_sphere *s = sphere(NB_SPHERE_KING, at[k].W0);
		king_integrate(&t, at[k].W0, at[k].step);
		const double edge = t.r[t.n - 1], mass = t.mass[t.n - 1];
		EXPECT(fabs(nb_sphere_edge(s) / edge - 1) < 2e-3, "W0 %g: edge %g, want %g", at[k].W0,
			nb_sphere_edge(s), edge);
		for (int i = t.n / 20; i < t.n; i += t.n / 20)
			EXPECT(fabs(nb_sphere_inside(s, t.r[i]) - t.mass[i] / mass) < 1e-3, "W0 %g: %g within %g",
				at[k].W0, nb_sphere_inside(s, t.r[i]), t.r[i]);
		nb_sphere_draw(s, 5, 0, 0, 0, N, pos);
		nb_sphere_draw(s, 5, 0, 1, 0, N, vel);
		for (size_t i = 0; i < N; i++)
			p[i] = t.mass[(int)fmin(fmax(norm(pos + 3 * i) / at[k].step - 0.5, 0), t.n - 1)] / mass;
		EXPECT(ks(p, N) < ks_bound, "W0 %g: %g", at[k].W0, ks(p, N));
		double fastest = 0;
		for (size_t i = 0; i < N; i++) {
			const double W = t.W[(int)fmin(fmax(norm(pos + 3 * i) / at[k].step - 0.5, 0), t.n - 1)];
			const double most = sqrt(2 * W), v = norm(vel + 3 * i);
			p[i] = i < N / 10 ? speed_share(king_f, W, fmin(v, most), most) : 0;
			fastest = fmax(fastest, v / sqrt(2 * at[k].W0));
		}
		EXPECT(ks(p, N / 10) < ks_bound, "W0 %g: speeds %g", at[k].W0, ks(p, N / 10));
		EXPECT(fastest < 1 && fastest > 0.7, "W0 %g: fastest body %g of the escape speed", at[k].W0, fastest);
		nb_sphere_free(s);
	}
	/* shallow ones are polytropes of index 5/2, xi_1 = 5.35528 (Chandrasekhar 1939, table 4), W = -6/5 / R */
	struct nb_sphere *s = sphere(NB_SPHERE_KING, 0.1);
	EXPECT(fabs(nb_sphere_edge(s) / (5.35528 * sqrt(0.1 / 9)) - 1) < 0.02, "edge %g", nb_sphere_edge(s));
	EXPECT(fabs(nb_sphere_length(s) * nb_sphere_edge(s) / 2.4 - 1) < 0.01, "W %g", nb_sphere_length(s) / 2);
	nb_sphere_free(s);
	nb_free(pos);
	nb_free(vel);
	nb_free(p);
}

/* ---- Hernquist ---------------------------------------------------------------------------------- */

/* Hernquist 1990, eq. 17 */
static double hernquist_f(double E)
{
	const double q = sqrt(fmax(E, 0)), q2 = q * q;
	return (3 * asin(q) + q * sqrt(1 - q2) * (1 - 2 * q2) * (8 * q2 * q2 - 8 * q2 - 3)) / pow(1 - q2, 2.5);
}

static void test_hernquist(void)
{
	double *pos = nb_alloc(3 * N, sizeof *pos), *vel = nb_alloc(3 * N, sizeof *vel), *p = nb_alloc(N, sizeof *p);
	static const double cut[] = {3, 60, 1e4};
	for (int k = 0; k < 3; k++) {
		struct nb_sphere *s = dehnen(1, cut[k], 0);
		const double all = pow(cut[k] / (1 + cut[k]), 2);
		double far = 0;
		nb_sphere_draw(s, 9, 0, 0, 0, N, pos);
		nb_sphere_draw(s, 9, 0, 1, 0, N, vel);
		for (size_t i = 0; i < N; i++) {
			const double r = norm(pos + 3 * i);
			p[i] = pow(r / (1 + r), 2) / all;
			far = fmax(far, r);
		}
		EXPECT(ks(p, N) < ks_bound, "cut at %g: %g", cut[k], ks(p, N));
		EXPECT(far <= cut[k] * (1 + 1e-4) && fabs(nb_sphere_edge(s) / cut[k] - 1) < 1e-4, "farthest %g of %g",
			far, cut[k]);
		for (size_t i = 0; i < N / 10; i++) {
			const double psi = 1 / (1 + norm(pos + 3 * i)), most = sqrt(2 * psi);
			p[i] = speed_share(hernquist_f, psi, fmin(norm(vel + 3 * i), most), most);
		}
		EXPECT(ks(p, N / 10) < ks_bound, "cut at %g: speeds %g", cut[k], ks(p, N / 10));
		nb_sphere_free(s);
	}
	/* without a cut-off W = -1/6 (Hernquist 1990, eq. 5 and 6) */
	struct nb_sphere *s = dehnen(1, 1e12, 0);
	EXPECT(fabs(nb_sphere_length(s) - 1. / 3) < 1e-9 && fabs(nb_sphere_speed(s) / sqrt(3) - 1) < 1e-9,
		"length %g, speed %g", nb_sphere_length(s), nb_sphere_speed(s));
	nb_sphere_free(s);
	for (double henon = 1.5; henon < 1000; henon *= 5) {
		s = dehnen(1, nb_sphere_dehnen_cut(1, henon), 0);
		EXPECT(fabs(nb_sphere_edge(s) * nb_sphere_length(s) / henon - 1) < 1e-4, "cut-off %g, want %g",
			nb_sphere_edge(s) * nb_sphere_length(s), henon);
		nb_sphere_free(s);
	}
	nb_free(pos);
	nb_free(vel);
	nb_free(p);
}

/* ---- Dehnen and Plummer, with the anisotropy of Osipkov and Merritt ------------------------------ */

struct profile {
	double gamma, cut, ra; /* gamma < 0: Plummer; ra 0: isotropic */
};

static double mass_within(const struct profile *p, double r)
{
	return p->gamma < 0 ? pow(r * r / (1 + r * r), 1.5) : pow(r / (1 + r), 3 - p->gamma);
}

/* 4 pi */
static double density_at(const struct profile *p, double r)
{
	return p->gamma < 0 ? 3 * pow(1 + r * r, -2.5) : (3 - p->gamma) * pow(r, -p->gamma) * pow(1 + r, p->gamma - 4);
}

/* sigma_r^2 by the Jeans equation, whose integrating factor is r^2 + ra^2 (Binney & Tremaine 2008, eq. 4.298) */
static double radial2(const struct profile *p, double r)
{
	enum { STEPS = 100 };
	const double step = 20. / STEPS, ra2 = p->ra * p->ra;
	double sum = 0;
	for (int k = 0; k < STEPS; k++) {
		const double x = r * exp((k + 0.5) * step);
		sum += step * (p->ra > 0 ? (x * x + ra2) / (r * r + ra2) : 1) * density_at(p, x) * mass_within(p, x) /
		       x;
	}
	return sum / density_at(p, r);
}

static void test_anisotropy(void)
{
	static const struct profile at[] = {{0, 1e4, 0}, {0, 30, 0.6}, {0.5, 100, 0.5}, {1, 56, 0.3}, {1.5, 40, 0.2},
		{2, 20, 0}, {2, 20, 0.1}, {2.2, 1e3, 0}, {-1, 34, 0.9}, {-1, 5, 2}};
	double *pos = nb_alloc(3 * N, sizeof *pos), *vel = nb_alloc(3 * N, sizeof *vel), *p = nb_alloc(N, sizeof *p);
	for (size_t k = 0; k < sizeof at / sizeof *at; k += 1 + 2 * UNIT_SANITIZED) {
		const struct profile *of = &at[k];
		struct nb_sphere *s = of->gamma < 0 ? sphere_of((struct nb_sphere_law){.profile = NB_SPHERE_PLUMMER,
							      .cut = of->cut,
							      .length = 3 * M_PI / 16,
							      .ra = of->ra,
							      .scale = 1})
						    : dehnen(of->gamma, of->cut, of->ra);
		nb_sphere_draw(s, 7, 0, 0, 0, N, pos);
		nb_sphere_draw(s, 7, 0, 1, 0, N, vel);
		double known[2000]; /* sigma_r^2, radii in steps of 2 percent */
		for (int i = 0; i < 2000; i++)
			known[i] = radial2(of, exp(0.02 * (i - 1000)));
		/* shells of 8 tenths of the bodies, about the middle */
		double radial[8] = {0}, tangential[8] = {0}, want[8] = {0}, beta[8] = {0};
		for (size_t i = 0; i < N; i++) {
			const double *x = pos + 3 * i, *v = vel + 3 * i, r = norm(x);
			const double inside = mass_within(of, r) / mass_within(of, of->cut), v2 = norm(v) * norm(v);
			const double vr = (x[0] * v[0] + x[1] * v[1] + x[2] * v[2]) / r;
			const int shell = (int)(10 * inside) - 1;
			p[i] = inside;
			if (shell < 0 || shell > 7)
				continue;
			radial[shell] += vr * vr;
			tangential[shell] += (v2 - vr * vr) / 2;
			const double sigma2 = known[(int)lround(log(r) / 0.02) + 1000];
			want[shell] += sigma2;
			beta[shell] += sigma2 * (of->ra > 0 ? r * r / (r * r + of->ra * of->ra) : 0);
		}
		EXPECT(ks(p, N) < ks_bound, "gamma %g, ra %g: %g", of->gamma, of->ra, ks(p, N));
		for (int b = 0; b < 8; b++) {
			/* of 4000 bodies, whose squares scatter by about 1.4 times their mean */
			EXPECT(fabs(radial[b] / want[b] - 1) < 0.09, "gamma %g, ra %g, shell %d: sigma_r^2 %g of %g",
				of->gamma, of->ra, b, radial[b], want[b]);
			EXPECT(fabs((1 - tangential[b] / want[b]) - beta[b] / want[b]) < 0.09,
				"gamma %g, ra %g, shell %d: beta %g, not %g", of->gamma, of->ra, b,
				1 - tangential[b] / radial[b], beta[b] / want[b]);
		}
		nb_sphere_free(s);
	}
	/* The smallest ra for which f is not negative.  Hernquist: Baes & Dejonghe 2002, A&A 393, 485, a table; others
	 * of Dehnen: see Carollo et al. 1995, MNRAS 276, 1131.  Plummer: rho_Q = (1 - 1/ra^2) psi^5 + psi^3/ra^2, so
	 * that f goes with Q^(7/2) (1 - 1/ra^2 + 7 / (16 ra^2 Q^2)), which is not negative at Q = 1 from ra = 3/4 on.
	 */
	static const struct profile least[] = {{0, 1e3, 0.445}, {1, 1e3, 0.202}, {-1, 1e3, 0.75}};
	for (size_t k = 0; k < sizeof least / sizeof *least; k++)
		for (int more = 0; more < 2; more++) {
			struct nb_sphere *s;
			const int got = nb_sphere_create(
				&(struct nb_sphere_law){
					.profile = least[k].gamma < 0 ? NB_SPHERE_PLUMMER : NB_SPHERE_DEHNEN,
					.shape = least[k].gamma,
					.cut = least[k].cut,
					.length = 3 * M_PI / 16,
					.ra = least[k].ra * (more ? 1.02 : 0.98),
					.scale = 1},
				&s);
			EXPECT(got == (more ? NB_OK : NB_EINVAL), "gamma %g, %d: %d", least[k].gamma, more, got);
			nb_sphere_free(s);
		}
	nb_free(pos);
	nb_free(vel);
	nb_free(p);
}

/* ---- NFW ---------------------------------------------------------------------------------------- */

static double nfw_mass(double r)
{
	return log(1 + r) - r / (1 + r);
}

/* The isotropic Jeans equation in the profile's own mass, 4 pi rho = dM/dr / r^2 from differences of it. */
static double jeans_sigma2(const struct nb_sphere *s, double r, double edge)
{
	enum { STEPS = 300 };
	const double step = log(edge / r) / STEPS;
	double sum = 0;
	for (int k = 0; k < STEPS; k++) {
		const double a = r * exp(k * step), b = r * exp((k + 1) * step), x = sqrt(a * b);
		const double inside = nb_sphere_inside(s, x);
		sum += (nb_sphere_inside(s, b) - nb_sphere_inside(s, a)) * inside / (x * x * x * x);
	}
	const double h = 1e-4 * r;
	return sum * r * r * 2 * h / (nb_sphere_inside(s, r + h) - nb_sphere_inside(s, r - h));
}

static void test_nfw(void)
{
	double *pos = nb_alloc(3 * N, sizeof *pos), *vel = nb_alloc(3 * N, sizeof *vel), *p = nb_alloc(N, sizeof *p);
	static const double shape[] = {2, 10, 40};
	for (int k = 0; k < 3; k++) {
		const double c = shape[k];
		struct nb_sphere *s = sphere(NB_SPHERE_NFW, c);
		nb_sphere_draw(s, 3, 0, 0, 0, N, pos);
		nb_sphere_draw(s, 3, 0, 1, 0, N, vel);
		size_t within = 0;
		for (size_t i = 0; i < N; i++)
			if (norm(pos + 3 * i) < c)
				p[within++] = nfw_mass(norm(pos + 3 * i)) / nfw_mass(c);
		EXPECT(ks(p, within) < ks_bound, "c %g: %g", c, ks(p, within));
		EXPECT(fabs((double)within / N - nb_sphere_inside(s, c)) < 4 * sqrt(0.1 / N), "c %g: %zu within", c,
			within);
		EXPECT(nb_sphere_inside(s, c) > 0.65 && nb_sphere_inside(s, c) < 0.95, "c %g: %g within", c,
			nb_sphere_inside(s, c));
		/* velocities are of the mass that the profile has for itself; their scale from the length */
		const double unit = pow(nb_sphere_speed(s), 2) * nb_sphere_length(s);
		static const double edge[] = {0.01, 0.03, 0.1, 0.3, 0.6, 1, 1.3, 1.8, 4};
		for (int j = 0; j < 8; j++) {
			double sum = 0, want = 0, square = 0;
			int count = 0;
			for (size_t i = 0; i < N; i += 3) { /* an integral for each */
				const double r = norm(pos + 3 * i);
				if (r < edge[j] * c || r >= edge[j + 1] * c)
					continue;
				const double v2 = pow(norm(vel + 3 * i), 2) / 3 * unit;
				const double w = jeans_sigma2(s, r, nb_sphere_edge(s));
				sum += v2;
				want += w;
				square += (v2 - w) * (v2 - w);
				count++;
			}
			EXPECT(count > 20 && fabs(sum - want) < 4 * sqrt(square) + 0.003 * want,
				"c %g, %g < r / c < %g: sigma^2 %g, want %g (%d bodies)", c, edge[j], edge[j + 1],
				sum / count, want / count, count);
		}
		nb_sphere_free(s);
	}
	nb_free(pos);
	nb_free(vel);
	nb_free(p);
}

/* ---- as models ---------------------------------------------------------------------------------- */

static void test_energies(void)
{
	static const struct {
		enum nb_model_kind kind;
		double shape;
	} at[] = {{NB_MODEL_KING, 1}, {NB_MODEL_KING, 6}, {NB_MODEL_KING, 12}, {NB_MODEL_HERNQUIST, 3},
		{NB_MODEL_HERNQUIST, 20}, {NB_MODEL_NFW, 3}, {NB_MODEL_NFW, 10}, {NB_MODEL_NFW, 30},
		{NB_MODEL_DEHNEN, 20}, {NB_MODEL_PLUMMER, 20}};
	for (size_t k = 0; k < sizeof at / sizeof *at; k += 1 + 2 * UNIT_SANITIZED) {
		struct nb_model_param param = defaults(at[k].kind);
		param.n = N;
		param.w0 = param.rmax = param.concentration = at[k].shape;
		param.gamma = 0;
		param.ra = at[k].kind == NB_MODEL_DEHNEN || at[k].kind == NB_MODEL_PLUMMER ? 0.7 : 0;
		struct bodies b = make(&param);
		const double ekin = kinetic(&b), epot = potential_of_shells(&b);
		EXPECT(fabs(ekin - 0.25) < 0.004, "model %d, %g: T = %g", (int)at[k].kind, at[k].shape, ekin);
		EXPECT(fabs(epot + 0.5) < 0.01, "model %d, %g: W = %g", (int)at[k].kind, at[k].shape, epot);
		EXPECT(fabs(ekin / -epot - 0.5) < 0.008, "model %d, %g: T/|W| = %g", (int)at[k].kind, at[k].shape,
			ekin / -epot);
		drop(&b);
	}
}

/* Masses, lengths and velocities change by one factor each, such that the virial ratio stays. */
static void test_scale(void)
{
	static const enum nb_model_kind kind[] = {NB_MODEL_PLUMMER, NB_MODEL_KING, NB_MODEL_HERNQUIST, NB_MODEL_NFW,
		NB_MODEL_DEHNEN, NB_MODEL_DISK, NB_MODEL_KEPLER, NB_MODEL_SPHERE, NB_MODEL_MERGER, NB_MODEL_RING};
	for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
		if (UNIT_SANITIZED && kind[k] == NB_MODEL_MERGER) /* two tables of the disk before it */
			continue;
		struct nb_model_param param = defaults(kind[k]);
		param.n = 1000;
		param.virial = 0.5;
		struct bodies one = make(&param);
		param.mass = 1e5;
		param.rscale = 5;
		param.G = 4.30091e-3;
		struct bodies b = make(&param);
		const double length = norm(b.pos) / norm(one.pos), speed = norm(b.vel) / norm(one.vel);
		double worst = 0;
		for (size_t i = 0; i < b.n; i++) {
			worst = fmax(worst, fabs(b.mass[i] / one.mass[i] / 1e5 - 1));
			for (int c = 0; c < 3; c++) {
				worst = fmax(worst, fabs(b.pos[3 * i + c] - length * one.pos[3 * i + c]) / length);
				worst = fmax(worst, fabs(b.vel[3 * i + c] - speed * one.vel[3 * i + c]) / speed);
			}
		}
		EXPECT(worst < 1e-12, "model %d: %g", (int)kind[k], worst);
		EXPECT(fabs(speed * speed * length / (param.G * param.mass) - 1) < 1e-12,
			"model %d: speed %g, length %g", (int)kind[k], speed, length);
		EXPECT(b.G == param.G, "model %d: G %g", (int)kind[k], b.G);
		EXPECT(nb_model_takes(kind[k], NB_PARAMETER_rscale) ? length >= 5 : length == 1, "model %d: length %g",
			(int)kind[k], length);
		drop(&one);
		drop(&b);
	}
	/* half of the mass of a Hernquist sphere is within 1 + sqrt(2) scale radii, a quarter within 1 */
	struct nb_model_param param = defaults(NB_MODEL_HERNQUIST);
	param.n = N;
	param.rscale = 3;
	param.rmax = 900;
	struct bodies b = make(&param);
	double half = 0, quarter = 0;
	for (size_t i = 0; i < b.n; i++) {
		half += norm(b.pos + 3 * i) < 3 * (1 + sqrt(2));
		quarter += norm(b.pos + 3 * i) < 3;
	}
	EXPECT(fabs(half / N - 0.5) < 2 / sqrt(N) && fabs(quarter / N - 0.25) < 1.8 / sqrt(N), "%g, %g", half / N,
		quarter / N);
	drop(&b);
	/* a Plummer sphere has (1/2)^(3/2) of its mass within the scale radius, and its cut-off is that of the output
	 */
	param = defaults(NB_MODEL_PLUMMER);
	param.n = N;
	param.rscale = 100;
	param.rmax = 1e4;
	b = make(&param);
	double within = 0, far = 0;
	for (size_t i = 0; i < b.n; i++) {
		within += norm(b.pos + 3 * i) < 100;
		far = fmax(far, norm(b.pos + 3 * i));
	}
	EXPECT(fabs(within / N - pow(0.5, 1.5)) < 2 / sqrt(N), "%g within the scale radius", within / N);
	EXPECT(far < 1.01e4 && far > 1e3, "farthest body at %g", far);
	drop(&b);
	/* given velocities stay */
	param = defaults(NB_MODEL_UNIFORM);
	param.n = 100;
	param.sigma = 2;
	struct bodies one = make(&param);
	param.mass = 7;
	param.G = 3;
	b = make(&param);
	EXPECT(memcmp(one.vel, b.vel, 300 * sizeof(double)) == 0 && b.mass[0] == 0.07 && b.G == 3, "uniform");
	drop(&one);
	drop(&b);
}

/* ---- mass functions ----------------------------------------------------------------------------- */

static double salpeter_share(double m, double low, double high)
{
	return (pow(low, -1.35) - pow(m, -1.35)) / (pow(low, -1.35) - pow(high, -1.35));
}

/* Kroupa 2001, eq. 2: the integral of m^-alpha over each part of the range, joined at 0.08 and 0.5 */
static double kroupa_count(double low, double high)
{
	static const double alpha[] = {0.3, 1.3, 2.3}, edge[] = {0, 0.08, 0.5, 1e9};
	const double height[] = {1 / 0.08, 1, 0.5}; /* so that they meet: 0.08^-0.3 / 0.08 = 0.08^-1.3 and so on */
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		const double a = fmax(low, edge[i]), b = fmin(high, edge[i + 1]);
		sum += a < b ? height[i] * (pow(b, 1 - alpha[i]) - pow(a, 1 - alpha[i])) / (1 - alpha[i]) : 0;
	}
	return sum;
}

static void test_imf(void)
{
	struct nb_model_param param = defaults(NB_MODEL_PLUMMER);
	double *p = nb_alloc(N, sizeof *p);
	param.n = N;
	for (param.imf = NB_IMF_KROUPA; param.imf <= NB_IMF_SALPETER; param.imf++) {
		struct bodies b = make(&param);
		double total = 0, least = INFINITY, most = 0;
		for (size_t i = 0; i < N; i++) {
			total += b.mass[i];
			least = fmin(least, b.mass[i]);
			most = fmax(most, b.mass[i]);
		}
		EXPECT(fabs(total - 1) < 1e-12, "total mass %.17g", total);
		EXPECT(most / least < 100 / 0.08 && most / least > 100, "masses from %g to %g", least, most);
		EXPECT(largest_mean(&b, b.pos) < 3e-15 && largest_mean(&b, b.vel) < 3e-15, "centre %g, momentum %g",
			largest_mean(&b, b.pos), largest_mean(&b, b.vel));
		/* the smallest of 40000 masses is the lower end of the range to 1e-4 */
		for (size_t i = 0; i < N; i++) {
			const double m = b.mass[i] / least * 0.08;
			p[i] = param.imf == NB_IMF_SALPETER ? salpeter_share(m, 0.08, 100)
			       : i < N / 10		    ? kroupa_count(0.08, m) / kroupa_count(0.08, 100)
							    : 0;
		}
		const size_t n = param.imf == NB_IMF_SALPETER ? N : N / 10;
		EXPECT(ks(p, n) < ks_bound, "mass function %d: %g", param.imf, ks(p, n));
		/* where a body is does not depend on its mass */
		double inner = 0, outer = 0;
		for (size_t i = 0; i < N; i++)
			*(norm(b.pos + 3 * i) < 0.769 ? &inner : &outer) += b.mass[i] < 2 * least;
		EXPECT(fabs(inner - outer) < 4 * sqrt(inner + outer), "%g inside, %g outside", inner, outer);
		drop(&b);
	}
	/* below 0.08 too, and a range that begins or ends in the middle of a part */
	static const double range[][2] = {{0.01, 50}, {0.02, 0.3}, {0.6, 8}, {0.03, 0.07}};
	for (int k = 0; k < 4; k++) {
		struct nb_imf imf;
		nb_imf_init(&imf, NB_IMF_KROUPA, range[k][0], range[k][1]);
		for (double u = 0; u <= 1; u += 0.0625) {
			const double m = nb_imf_mass(&imf, u);
			EXPECT(fabs(kroupa_count(range[k][0], m) / kroupa_count(range[k][0], range[k][1]) - u) < 1e-12,
				"range %d, share %g: mass %g", k, u, m);
		}
		EXPECT(fabs(nb_imf_mass(&imf, 0) / range[k][0] - 1) < 1e-12 &&
				fabs(nb_imf_mass(&imf, 1) / range[k][1] - 1) < 1e-12,
			"ends of range %d", k);
	}
	nb_free(p);
}

/* ---- rings -------------------------------------------------------------------------------------- */

static void test_ring(void)
{
	for (int dim = 2; dim <= 3; dim++) {
		struct nb_model_param param = defaults(NB_MODEL_RING);
		param.n = N + 1;
		param.dim = dim;
		param.inner = 3;
		param.outer = 4;
		param.ring_mass = 0.25;
		param.eccentricity = 0.05;
		struct bodies b = make(&param);
		double *p = nb_alloc(N, sizeof *p), e2 = 0, i2 = 0, total = b.mass[0];
		int turning = 1;
		EXPECT(b.mass[0] == 0.75 && b.species[0] == 0, "central body %g", b.mass[0]);
		for (size_t i = 0; i < N; i++) {
			double x[3], v[3];
			for (int c = 0; c < 3; c++) {
				x[c] = b.pos[3 * i + 3 + c] - b.pos[c];
				v[c] = b.vel[3 * i + 3 + c] - b.vel[c];
			}
			const double l[3] = {
				x[1] * v[2] - x[2] * v[1], x[2] * v[0] - x[0] * v[2], x[0] * v[1] - x[1] * v[0]};
			const double a = 1 / (2 / norm(x) - norm(v) * norm(v) / 0.75);
			total += b.mass[i + 1];
			e2 += 1 - norm(l) * norm(l) / (0.75 * a);
			i2 += pow(atan2(hypot(l[0], l[1]), l[2]), 2);
			turning = turning && l[2] > 0 && b.species[i + 1] == 1;
			p[i] = (a * a - 9) / 7;
		}
		EXPECT(turning, "a body turns the other way, or is of another species");
		EXPECT(ks(p, N) < ks_bound, "semi-major axes: %g", ks(p, N));
		/* squares of Rayleigh's numbers scatter as much as their mean */
		EXPECT(fabs(e2 / N / 0.0025 - 1) < 4 / sqrt(N), "rms eccentricity %g", sqrt(e2 / N));
		EXPECT(dim == 2 ? i2 == 0 : fabs(i2 / N / 0.000625 - 1) < 4 / sqrt(N), "rms inclination %g",
			sqrt(i2 / N));
		EXPECT(fabs(total - 1) < 1e-12, "mass %.17g", total);
		drop(&b);
		nb_free(p);
	}
}

int main(void)
{
	test_king();
	test_hernquist();
	test_anisotropy();
	test_nfw();
	test_energies();
	test_scale();
	test_imf();
	test_ring();
	return unit_end();
}
