/* Spherical models; sphere_internal.h describes them.  Tables are made once per model, then each body costs two table
 * look-ups and a few elementary functions. */
#include "kernels/models/sphere_internal.h"

#include "common/mem.h"
#include "kernels/models/sample_internal.h"

enum {
	NG = 2049,   /* radii, in equal steps of log r, at which mass and potential are known */
	NF = 512,    /* energies at which Eddington's formula is evaluated, as radii */
	NR = 385,    /* radii of the table of speeds */
	NQ = 160,    /* quantiles of the speed at each radius */
	NSTEP = 400, /* steps of an integral over energy */
};

struct grid {
	double first, step; /* of log r */
	double mass[NG], mass_slope[NG], psi[NG];
};

struct nb_sphere {
	enum nb_sphere_profile profile;
	double shape;
	double ra2;	      /* anisotropy radius, squared; infinite: isotropic */
	double length, speed; /* see nb_sphere_length, nb_sphere_speed */
	double inner;	      /* M ~ r^inner within the first radius */
	double share;	      /* of the mass of the grid that is drawn from */
	struct grid grid;     /* G = 1; psi: potential > 0, relative to infinity */
	double log_inside[NG];
	double log_f[NF];    /* but KING: f at Q = psi(r), r in equal steps of log r */
	double quantile[NQ]; /* probabilities q; */
	double rate[NR][NQ]; /* the q-quantile of the speed over the largest one at the radius */
};

/* ---- mass and potential ------------------------------------------------------------------------- */

static double radius(const struct grid *g, int i)
{
	return exp(g->first + i * g->step);
}

static double last_log(const struct grid *g)
{
	return g->first + (NG - 1) * g->step;
}

/* Cubic polynomial by the values and slopes at both ends of a step of length h; t from 0 to 1. */
static double hermite(double t, double h, double y0, double y1, double slope0, double slope1)
{
	const double s = 1 - t;
	return s * s * ((1 + 2 * t) * y0 + t * h * slope0) + t * t * ((1 + 2 * s) * y1 - s * h * slope1);
}

struct inside {
	double mass, psi;
};

static struct inside inside_of(const struct grid *g, double log_r)
{
	const double place = (log_r - g->first) / g->step;
	int i = place > 0 ? (int)place : 0;
	i = i > NG - 2 ? NG - 2 : i;
	const double t = fmin(fmax(place - i, 0), 1);
	struct inside in;
	in.mass = hermite(t, g->step, g->mass[i], g->mass[i + 1], g->mass_slope[i], g->mass_slope[i + 1]);
	in.psi = hermite(
		t, g->step, g->psi[i], g->psi[i + 1], -g->mass[i] / radius(g, i), -g->mass[i + 1] / radius(g, i + 1));
	return in;
}

static void grid_init(struct grid *g, double first, double last)
{
	g->first = log(first);
	g->step = log(last / first) / (NG - 1);
}

/* ---- King --------------------------------------------------------------------------------------- */

/* exp(W) erf(sqrt(W)) - sqrt(4 W / pi) (1 + 2 W / 3), the density but for a factor (King 1966, eq. 11), as the series
 * of positive terms W^(5/2 + k) / Gamma(7/2 + k) */
static double king_density(double W)
{
	if (W <= 0)
		return 0;
	double term = W * W * sqrt(W) * 8 / (15 * sqrt(M_PI)), sum = 0;
	for (int k = 0; term > 1e-17 * sum; k++) {
		sum += term;
		term *= W / (3.5 + k);
	}
	return sum;
}

/* W and the mass in units of sigma^2 r0 / G, as functions of s = log r: dW/ds = -M / r, dM/ds = 9 rho / rho0 r^3 */
struct king {
	double W, mass;
};

static struct king king_slope(struct king at, double s, double rho0)
{
	const double r = exp(s);
	return (struct king){-at.mass / r, 9 * king_density(at.W) / rho0 * r * r * r};
}

/* Runge & Kutta's step of fourth order */
static struct king king_step(struct king y, double s, double h, double rho0)
{
	const struct king a = king_slope(y, s, rho0);
	const struct king b = king_slope((struct king){y.W + h / 2 * a.W, y.mass + h / 2 * a.mass}, s + h / 2, rho0);
	const struct king c = king_slope((struct king){y.W + h / 2 * b.W, y.mass + h / 2 * b.mass}, s + h / 2, rho0);
	const struct king d = king_slope((struct king){y.W + h * c.W, y.mass + h * c.mass}, s + h, rho0);
	return (struct king){y.W + h / 6 * (a.W + 2 * b.W + 2 * c.W + d.W),
		y.mass + h / 6 * (a.mass + 2 * b.mass + 2 * c.mass + d.mass)};
}

static void make_king(struct nb_sphere *sphere, double W0)
{
	const double first = 1e-3, h = 1. / 256, rho0 = king_density(W0);
	const struct king start = {W0 - 1.5 * first * first, 3 * first * first * first};
	struct king y = start, next;
	double s = log(first), low = 0, high = h;
	while ((next = king_step(y, s, h, rho0)).W > 0) {
		y = next;
		s += h;
	}
	for (int k = 0; k < 60; k++) { /* the part of the step after which W is 0 */
		const double middle = (low + high) / 2;
		if (king_step(y, s, middle, rho0).W > 0)
			low = middle;
		else
			high = middle;
	}
	const double edge = exp(s + low), mass = king_step(y, s, low, rho0).mass;
	struct grid *g = &sphere->grid;
	grid_init(g, first, edge);
	y = start;
	for (int i = 0; i < NG; i++) {
		if (i > 0)
			for (int k = 0; k < 4; k++)
				y = king_step(y, g->first + (i - 1 + k / 4.) * g->step, g->step / 4, rho0);
		g->mass[i] = i < NG - 1 ? y.mass : mass;
		g->mass_slope[i] = i < NG - 1 ? king_slope(y, g->first + i * g->step, rho0).mass : 0;
		g->psi[i] = mass / edge + (i < NG - 1 ? fmax(y.W, 0) : 0);
	}
	sphere->inner = 3;
}

/* ---- Dehnen, Plummer ---------------------------------------------------------------------------- */

/* 4 pi rho, its logarithmic slope, and the derivative of that by log r */
struct density {
	double rho, slope, curve;
};

/* rho ~ r^-gamma (1 + r)^(gamma - 4), M = (r / (1 + r))^(3 - gamma) */
static struct density dehnen_density(double gamma, double r)
{
	return (struct density){(3 - gamma) * pow(r, -gamma) * pow(1 + r, gamma - 4), -(gamma + 4 * r) / (1 + r),
		-(4 - gamma) * r / ((1 + r) * (1 + r))};
}

static struct inside dehnen_inside(double gamma, double r)
{
	const double fall = log1p(1 / r), rest = 2 - gamma;
	return (struct inside){exp(-(3 - gamma) * fall), rest == 0 ? fall : -expm1(-rest * fall) / rest};
}

/* 2 |W| of the bodies within the cut-off, their mass called 1; s = r / (1 + r) there */
static double dehnen_length(double gamma, double s)
{
	return 2 * (3 - gamma) / ((5 - 2 * gamma) * s) - 1;
}

double nb_sphere_dehnen_cut(double gamma, double henon)
{
	double low = 0, high = 1;
	for (int k = 0; k < 100; k++) {
		const double s = (low + high) / 2;
		if (dehnen_length(gamma, s) * s / (1 - s) < henon)
			low = s;
		else
			high = s;
	}
	return low / (1 - low);
}

static struct density plummer_density(double r)
{
	const double s = 1 + r * r;
	return (struct density){3 / (s * s * sqrt(s)), -5 * r * r / s, -10 * r * r / (s * s)};
}

static struct inside plummer_inside(double r)
{
	const double s = hypot(1, r);
	return (struct inside){r / s * (r / s) * (r / s), 1 / s};
}

static void complete_grid(struct nb_sphere *s, double cut)
{
	struct grid *g = &s->grid;
	const int plummer = s->profile == NB_SPHERE_PLUMMER;
	s->inner = plummer ? 3 : 3 - s->shape;
	grid_init(g, pow(1e-10, 1 / s->inner), fmax(1e6, 10 * cut));
	for (int i = 0; i < NG; i++) {
		const double r = radius(g, i);
		const struct inside in = plummer ? plummer_inside(r) : dehnen_inside(s->shape, r);
		const struct density d = plummer ? plummer_density(r) : dehnen_density(s->shape, r);
		g->mass[i] = in.mass;
		g->mass_slope[i] = d.rho * r * r * r;
		g->psi[i] = in.psi;
	}
}

/* The energies of the bodies within the cut-off R, before their mass is called 1: by the virial theorem T = |W| / 2 +
 * R^3 p / 2, with p = 4 pi rho sigma_r^2 = int from R of (r^2 + ra^2) / (R^2 + ra^2) 4 pi rho M / r^2 dr; Simpson's
 * rule. */
static void cut_off(struct nb_sphere *s, double cut)
{
	enum { STEPS = 4000 };
	const int plummer = s->profile == NB_SPHERE_PLUMMER;
	const double mass = plummer ? plummer_inside(cut).mass : dehnen_inside(s->shape, cut).mass, step = 40. / STEPS;
	double pressure = 0;
	for (int k = 0; k < STEPS; k++) {
		const double r = cut * exp(k * step), weight = step / 3 * (k == 0 ? 1 : k % 2 ? 4 : 2);
		const double m = plummer ? plummer_inside(r).mass : dehnen_inside(s->shape, r).mass;
		const double rho = plummer ? plummer_density(r).rho : dehnen_density(s->shape, r).rho;
		const double spread = isinf(s->ra2) ? 1 : (r * r + s->ra2) / (cut * cut + s->ra2);
		pressure += weight * spread * rho * m / r;
	}
	const double ekin = s->length * mass * mass / 4 + cut * cut * cut * pressure / 2;
	s->speed = sqrt(0.25 * mass / ekin);
	s->share = mass / s->grid.mass[NG - 1];
}

/* ---- Navarro, Frenk & White --------------------------------------------------------------------- */

enum { NFW_STEEP = 10, NFW_END = 4 }; /* virial radius over the length of the exponential; the grid's end over it */

static struct density nfw_density(double c, double r)
{
	const double x = fmin(r, c);
	struct density d = {1 / (x * (1 + x) * (1 + x)), -(1 + 3 * x) / (1 + x), -2 * x / ((1 + x) * (1 + x))};
	if (r > c) {
		const double power = d.slope + NFW_STEEP;
		d.rho *= pow(r / c, power) * exp(-NFW_STEEP * (r / c - 1));
		d.slope = power - NFW_STEEP * r / c;
		d.curve = -NFW_STEEP * r / c;
	}
	return d;
}

/* Integrals by the trapezoidal rule with its first correction. */
static void nfw(struct nb_sphere *sphere, double c)
{
	struct grid *g = &sphere->grid;
	grid_init(g, 1e-5, NFW_END * c);
	double slope[NG]; /* of mass_slope */
	for (int i = 0; i < NG; i++) {
		const double r = radius(g, i), cube = r * r * r;
		const struct density d = nfw_density(c, r);
		g->mass_slope[i] = d.rho * cube;
		slope[i] = d.rho * cube * (3 + d.slope);
		if (r <= c)
			g->mass[i] = log1p(r) - r / (1 + r);
		else
			g->mass[i] = g->mass[i - 1] + g->step / 2 * (g->mass_slope[i - 1] + g->mass_slope[i]) +
				     g->step * g->step / 12 * (slope[i - 1] - slope[i]);
	}
	g->psi[NG - 1] = g->mass[NG - 1] / radius(g, NG - 1);
	for (int i = NG - 2; i >= 0; i--) {
		const double r0 = radius(g, i), r1 = radius(g, i + 1);
		const double slope0 = (g->mass_slope[i] - g->mass[i]) / r0;
		const double slope1 = (g->mass_slope[i + 1] - g->mass[i + 1]) / r1;
		g->psi[i] = g->psi[i + 1] + g->step / 2 * (g->mass[i] / r0 + g->mass[i + 1] / r1) +
			    g->step * g->step / 12 * (slope0 - slope1);
	}
	sphere->inner = 2;
}

/* ---- Eddington's formula ------------------------------------------------------------------------- */

/* d^2 rho_Q / d psi^2 times |d psi / d ln r|, but for a factor: rho_Q = (1 + r^2 / ra^2) rho (Osipkov, Merritt) */
static double curvature(const struct nb_sphere *s, double log_r)
{
	const double r = exp(log_r), mass = inside_of(&s->grid, log_r).mass;
	struct density d = s->profile == NB_SPHERE_NFW	     ? nfw_density(s->shape, r)
			   : s->profile == NB_SPHERE_PLUMMER ? plummer_density(r)
							     : dehnen_density(s->shape, r);
	const double psi1 = -mass / (r * r), psi2 = 2 * mass / (r * r * r) - d.rho;
	const double more = r * r / s->ra2, all = 1 + more;
	d.rho *= all;
	d.slope += 2 * more / all;
	d.curve += 4 * more / (all * all);
	const double rho1 = d.rho * d.slope / r, rho2 = d.rho * (d.slope * d.slope - d.slope + d.curve) / (r * r);
	return (rho2 * psi1 - rho1 * psi2) / (psi1 * psi1 * psi1) * -psi1 * r;
}

/* f at Q = psi(r); with r' = r exp(t^2) the root in the denominator is harmless at t = 0 */
static double eddington(const struct nb_sphere *s, double log_r)
{
	const struct grid *g = &s->grid;
	const double psi = inside_of(g, log_r).psi, dt = sqrt(last_log(g) - log_r) / NSTEP;
	double sum = 0;
	for (int k = 0; k < NSTEP; k++) {
		const double t = (k + 0.5) * dt, at = log_r + t * t;
		sum += curvature(s, at) * 2 * t / sqrt(psi - inside_of(g, at).psi);
	}
	return sum * dt;
}

/* NB_EINVAL: f would be negative somewhere. */
static int tabulate_f(struct nb_sphere *s)
{
	int negative = 0;
#pragma omp parallel for schedule(static) reduction(| : negative)
	for (int i = 0; i < NF; i++) {
		const struct grid *g = &s->grid;
		const double f = i < NF - 1 ? eddington(s, g->first + i * g->step * (NG - 1) / (NF - 1)) : 0;
		negative |= f < 0;
		s->log_f[i] = f > 0 ? log(f) : -700;
	}
	return negative && !isinf(s->ra2) ? NB_EINVAL : NB_OK;
}

/* ---- tables ------------------------------------------------------------------------------------- */

/* f at energy psi, which is the potential at r; any factor */
static double distribution(const struct nb_sphere *s, double log_r, double psi)
{
	const struct grid *g = &s->grid;
	if (s->profile == NB_SPHERE_KING)
		return expm1(fmax(psi - g->psi[NG - 1], 0));
	const double place = (log_r - g->first) / (g->step * (NG - 1)) * (NF - 1);
	int i = place > 0 ? (int)place : 0;
	i = i > NF - 2 ? NF - 2 : i;
	return exp(s->log_f[i] + (place - i) * (s->log_f[i + 1] - s->log_f[i]));
}

/* Quantiles of the speed at a radius: v^2 f(psi - v^2 / 2), with v from 0 (r' = r) to the speed that just reaches the
 * last radius. */
static void tabulate_speeds(struct nb_sphere *sphere, int i)
{
	const struct grid *g = &sphere->grid;
	const double log_r = g->first + i * g->step * (NG - 1) / (NR - 1), psi = inside_of(g, log_r).psi;
	const double dt = sqrt(last_log(g) - log_r) / NSTEP;
	double v[NSTEP + 1], sum[NSTEP + 1], last = 0;
	v[0] = sum[0] = 0;
	for (int k = 1; k <= NSTEP; k++) {
		const double t = k * dt, at = log_r + t * t, psi1 = inside_of(g, at).psi;
		v[k] = sqrt(fmax(2 * (psi - psi1), 0));
		const double here = v[k] * v[k] * distribution(sphere, at, psi1);
		sum[k] = sum[k - 1] + (here + last) * (v[k] - v[k - 1]) / 2;
		last = here;
	}
	for (int q = 0, k = 0; q < NQ; q++) {
		const double want = sphere->quantile[q] * sum[NSTEP];
		while (k < NSTEP - 1 && sum[k + 1] < want)
			k++;
		const double width = sum[k + 1] - sum[k], part = width > 0 ? (want - sum[k]) / width : 0;
		sphere->rate[i][q] = (v[k] + fmin(part, 1) * (v[k + 1] - v[k])) / v[NSTEP];
	}
}

/* -int M dM / r, the mass called 1 */
static double potential_energy(const struct grid *g)
{
	double sum = 0, before = 0;
	for (int i = 0; i < NG; i++) {
		const double mass = g->mass[i] / g->mass[NG - 1];
		sum -= (mass * mass - before * before) / (2 * exp(g->first + (i - 0.5) * g->step));
		before = mass;
	}
	return sum;
}

/* Mass and potential, and the units. */
static void build(struct nb_sphere *s, const struct nb_sphere_law *law)
{
	const struct grid *g = &s->grid;
	if (law->profile == NB_SPHERE_KING || law->profile == NB_SPHERE_NFW) {
		if (law->profile == NB_SPHERE_KING)
			make_king(s, law->shape);
		else
			nfw(s, law->shape);
		/* in equilibrium T = |W| / 2; velocities are those of the mass of the grid */
		s->length = -2 * potential_energy(g);
		s->speed = 1 / sqrt(g->mass[NG - 1] * s->length);
	} else {
		complete_grid(s, law->cut);
		s->length = law->profile == NB_SPHERE_PLUMMER ? law->length
							      : dehnen_length(law->shape, law->cut / (1 + law->cut));
	}
	const double ra = law->ra / (law->scale > 0 ? law->scale : s->length);
	s->ra2 = ra > 0 ? ra * ra : INFINITY;
	if (law->cut > 0)
		cut_off(s, law->cut);
}

int nb_sphere_create(const struct nb_sphere_law *law, struct nb_sphere **sphere)
{
	struct nb_sphere *s = nb_alloc_zero(1, sizeof *s);
	*sphere = s;
	if (!s)
		return NB_ENOMEM;
	s->profile = law->profile;
	s->shape = law->shape;
	s->share = 1;
	build(s, law);
	if (s->profile != NB_SPHERE_KING && tabulate_f(s))
		return NB_EINVAL;
	for (int i = 0; i < NG; i++)
		s->log_inside[i] = log(s->grid.mass[i] / s->grid.mass[NG - 1]);
	for (int q = 0; q < NQ; q++) { /* dense at both ends */
		const double x = (double)q / (NQ - 1);
		s->quantile[q] = x * x * x * (4 - 3 * x);
	}
#pragma omp parallel for schedule(static)
	for (int i = 0; i < NR - 1; i++)
		tabulate_speeds(s, i);
	for (int q = 0; q < NQ; q++)
		s->rate[NR - 1][q] = s->rate[NR - 2][q];
	return NB_OK;
}

void nb_sphere_free(struct nb_sphere *sphere)
{
	nb_free(sphere);
}

double nb_sphere_length(const struct nb_sphere *sphere)
{
	return sphere->length;
}

double nb_sphere_speed(const struct nb_sphere *sphere)
{
	return sphere->speed;
}

/* ---- drawing ------------------------------------------------------------------------------------ */

/* The interval of the sorted table that x is in. */
static int interval(const double *table, int n, double x)
{
	int low = 0, high = n - 1;
	while (high - low > 1) {
		const int middle = (low + high) / 2;
		if (table[middle] <= x)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* log of the radius within which the share u of the mass lies */
static double log_radius_of(const struct nb_sphere *s, double u)
{
	const double want = log(u * s->share);
	if (want < s->log_inside[0])
		return s->grid.first + (want - s->log_inside[0]) / s->inner;
	const int i = interval(s->log_inside, NG, want);
	const double width = s->log_inside[i + 1] - s->log_inside[i];
	return s->grid.first + (i + (width > 0 ? fmin((want - s->log_inside[i]) / width, 1) : 0)) * s->grid.step;
}

double nb_sphere_edge(const struct nb_sphere *sphere)
{
	return exp(log_radius_of(sphere, 1));
}

double nb_sphere_potential(const struct nb_sphere *sphere, double r)
{
	return inside_of(&sphere->grid, log(r)).psi;
}

double nb_sphere_inside(const struct nb_sphere *sphere, double r)
{
	const struct grid *g = &sphere->grid;
	const double log_r = log(r);
	if (log_r < g->first)
		return exp(sphere->log_inside[0] + sphere->inner * (log_r - g->first)) / sphere->share;
	return fmin(inside_of(g, log_r).mass / g->mass[NG - 1] / sphere->share, 1);
}

static double speed_at(const struct nb_sphere *s, double log_r, double u)
{
	const struct grid *g = &s->grid;
	double place = (log_r - g->first) / (g->step * (NG - 1)) * (NR - 1);
	place = fmin(fmax(place, 0), NR - 1);
	int i = (int)place;
	i = i > NR - 2 ? NR - 2 : i;
	const int q = interval(s->quantile, NQ, u);
	const double part = (u - s->quantile[q]) / (s->quantile[q + 1] - s->quantile[q]);
	const double v0 = s->rate[i][q] + part * (s->rate[i][q + 1] - s->rate[i][q]);
	const double v1 = s->rate[i + 1][q] + part * (s->rate[i + 1][q + 1] - s->rate[i + 1][q]);
	const double most = 2 * (inside_of(g, log_r).psi - g->psi[NG - 1]);
	return (v0 + (place - i) * (v1 - v0)) * sqrt(fmax(most, 0));
}

/* The tangential part of v becomes smaller: Q = psi - v_r^2 / 2 - (1 + r^2 / ra^2) v_t^2 / 2. */
static void squeeze(double log_r, double ra2, const double place[2], double v[3])
{
	double e[3];
	spherical(1, place[0], place[1], e);
	const double radial = v[0] * e[0] + v[1] * e[1] + v[2] * e[2], part = 1 / sqrt(1 + exp(2 * log_r) / ra2);
	for (int k = 0; k < 3; k++)
		v[k] = part * v[k] + (1 - part) * radial * e[k];
}

void nb_sphere_draw(const struct nb_sphere *sphere, uint64_t seed, uint32_t stream, int vel, uint64_t start,
	size_t count, double *out)
{
	double sum[3] = {0};
	for (size_t i = 0; i < count; i++) {
		const struct source from = {seed, start + i, stream};
		double u[2], d[2], v[2];
		draw(&from, 0, u);
		draw(&from, vel ? DRAW_VEL + 1 : 1, d);
		const double log_r = log_radius_of(sphere, u[0]);
		if (vel)
			draw(&from, DRAW_VEL, v);
		spherical(vel ? speed_at(sphere, log_r, v[0]) : exp(log_r), d[0], d[1], out + 3 * i);
		if (vel && !isinf(sphere->ra2)) {
			draw(&from, 1, d);
			squeeze(log_r, sphere->ra2, d, out + 3 * i);
		}
		balance(sum, out + 3 * i, 3);
	}
}
