/* whfast_cpu.c - coordinates and correctors of Wisdom and Holman's map; the steps are those of whfast_simd.c. */
#include "kernels/small/whfast_internal.h"

#include <math.h>
#include <string.h>

enum { STAGES_MOST = 8 };

/* The corrector of order 2n + 1 has n stages on each side, with a_k = k a, a^2 = 7/40, and b_k of
 *     4 sum_k b_k a_k^(2j-1) / (2j-1)! = -B_2j(1/2) / (2j)!,    j = 1 .. n
 * where B_2j(1/2) = (2^(1-2j) - 1) B_2j are values of Bernoulli's polynomials.  With that a, b_k / a are rational. */
static const double alpha = 0.41833001326703778;
static const struct corrector {
	int order, n;
	double b[STAGES_MOST]; /* / alpha */
} correctors[] = {
	{0, 0, {0}},
	{3, 1, {5.0 / 84}},
	{5, 2, {25.0 / 252, -5.0 / 252}},
	{7, 3, {267605.0 / 2074464, -22651.0 / 518616, 12361.0 / 2074464}},
	{11, 5,
		{3394141.0 / 19559232, -14556229.0 / 159733728, 895249.0 / 30425472, -329447.0 / 58677696,
			2798927.0 / 5750414208}},
	{17, 8,
		{45815578591785473.0 / 205962111278763840, -104807478104929387.0 / 672529342951065600,
			422297952838709.0 / 5448733102612800, -27170077124018711.0 / 941541080131491840,
			512169946345.0 / 64666282976064, -33737961615779.0 / 22191203908823040,
			26880679644439.0 / 147115793770545600, -682938344463443.0 / 65907875609204428800.0}},
};

static nb_whfast_run *const run_of[] = {NB_ISA_TABLE(nb_whfast_run)};

/* From coordinates, n x 3, positions relative to the star. */
static void leave_coordinates(const struct nb_whfast *w, double *x)
{
	for (size_t d = 0; d < 3 && !w->democratic; d++) {
		double inside = 0; /* the centre of mass of those before, relative to the star */
		for (size_t i = 1; i < w->n; i++) {
			const double q = x[3 * i + d];
			x[3 * i + d] += inside;
			inside += w->share[i - 1] * q;
		}
	}
}

/* From accelerations, n x 3, those of coordinates; of the momentum of the star all have their share. */
static void enter_coordinates(const struct nb_whfast *w, double *a)
{
	for (size_t d = 0; d < 3 && !w->democratic; d++) {
		double inside = w->star * a[d];
		for (size_t i = 1; i < w->n; i++) {
			const double back = w->inner[i - 1] * inside;
			inside += w->gm[i - 1] * a[3 * i + d];
			a[3 * i + d] -= back;
		}
	}
}

/* The kick of other forces. */
static void kick_extra(struct nb_whfast *w, double kick)
{
	enum { NUMBERS = 3 * NB_WHFAST_MOST };
	double x[NUMBERS] = {0}, dx[NUMBERS], a[NUMBERS] = {0}, da[NUMBERS] = {0}, gm[NB_WHFAST_MOST] = {w->star};
	struct nb_variation *own = w->variation;
	for (size_t i = 1; i < w->n; i++) {
		gm[i] = w->gm[i - 1];
		for (size_t d = 0; d < 3; d++)
			x[3 * i + d] = w->q[d][i - 1];
	}
	leave_coordinates(w, x);
	nb_extra_add(w->extra, w->n, gm, x, NULL, a, NULL);
	enter_coordinates(w, a);
	if (own) {
		memcpy(dx, own->d, sizeof dx);
		leave_coordinates(w, dx);
		nb_extra_vary(w->extra, w->n, gm, x, dx, da);
		enter_coordinates(w, da);
	}
	for (size_t k = 3; k < 3 * w->n; k++) {
		w->v[k % 3][k / 3 - 1] += kick * a[k];
		if (own)
			own->u[k] += kick * da[k];
	}
}

static int run(struct nb_whfast *w, double kick, double drift)
{
	if (w->extra && kick != 0)
		kick_extra(w, kick);
	return run_of[nb_cpu_isa()](w, kick, 0, drift, 1);
}

int nb_whfast_drift(struct nb_whfast *w, double h)
{
	return run(w, 0, h);
}

static const struct corrector *corrector_of(int order)
{
	for (size_t k = 0; k < sizeof correctors / sizeof *correctors; k++)
		if (correctors[k].order == order)
			return &correctors[k];
	return NULL;
}

static int is_mass(double m)
{
	return m >= 0 && isfinite(m);
}

int nb_whfast_begin(struct nb_whfast *w, size_t n, const double *mass, double G, int corrector, int lazy)
{
	double within = 0;
	if (n > NB_WHFAST_MOST || !corrector_of(corrector) || !is_mass(G) || (n > 1 && !(G * mass[0] > 0)))
		return NB_EUNSUPPORTED;
	*w = (struct nb_whfast){.n = n, .corrector = corrector, .lazy = lazy};
	for (size_t i = 0; i < n; i++) {
		const double gm = G * mass[i];
		if (!is_mass(mass[i]) || !isfinite(gm + within))
			return NB_EUNSUPPORTED;
		if (i == 0)
			w->star = gm;
		else {
			w->gm[i - 1] = gm;
			w->inner[i - 1] = 1 / within;
			w->mu[i - 1] = within + gm;
			w->inverse_mu[i - 1] = 1 / w->mu[i - 1];
			w->share[i - 1] = gm / w->mu[i - 1];
		}
		within += gm;
	}
	return NB_OK;
}

void nb_whfast_democratic(struct nb_whfast *w)
{
	w->democratic = 1;
	for (size_t i = 0; i + 1 < w->n; i++) {
		w->mu[i] = w->star;
		w->inverse_mu[i] = 1 / w->star;
		w->share[i] = w->gm[i] / w->star;
	}
}

void nb_whfast_relativity(struct nb_whfast *w, double light)
{
	w->relativity = 6 * w->star / (light * light);
}

void nb_whfast_add_extra(struct nb_whfast *w, const struct nb_extra *e)
{
	if (e->n == 1 && e->term[0].kind == NB_EXTRA_GR_POTENTIAL && e->from[0] == 0)
		nb_whfast_relativity(w, e->term[0].value[NB_EXTRA_KEY_C]);
	else if (e->n > 0)
		w->extra = e;
}

/* Lanes without a planet stand far beyond all others, where no planet comes close to them in a run, on a line that no
 * axis has; and so that squares of distances stay in the range of numbers, whatever those of the planets are. */
static void fill_lanes(struct nb_whfast *w)
{
	static const double line[3] = {1, 0.75, 0.625};
	double most = 0;
	for (size_t i = 0; i + 1 < w->n; i++)
		for (int d = 0; d < 3; d++)
			most = fmax(most, fabs(w->q[d][i]));
	const double unit = most > 0 ? fmin(most, 0x1p450) * 0x1p40 : 1;
	for (size_t i = w->n > 0 ? w->n - 1 : 0; i < NB_WHFAST_MOST; i++)
		for (int d = 0; d < 3; d++) {
			w->q[d][i] = line[d] * (1 + (double)i) * unit;
			w->v[d][i] = 0;
		}
}

/* Z(a, b): D(a) K(-b) D(-2a) K(b) D(a), from left to right, all times h. */
static int stage(struct nb_whfast *w, double a, double b)
{
	int status = run(w, 0, a * w->h);
	if (!status)
		status = run(w, -b * w->h, -2 * a * w->h);
	return status ? status : run(w, b * w->h, a * w->h);
}

int nb_whfast_correct(struct nb_whfast *w, int way)
{
	const struct corrector *c = corrector_of(w->corrector);
	int status = NB_OK;
	for (int k = c->n; k >= 1 && !status; k--)
		status = stage(w, -k * alpha, -way * alpha * c->b[k - 1]);
	for (int k = 1; k <= c->n && !status; k++)
		status = stage(w, k * alpha, way * alpha * c->b[k - 1]);
	return status;
}

/* Of positions or velocities of planets relative to the star: how far the centre of mass is from that. */
static double centre_of(const struct nb_whfast *w, const double *of_planet)
{
	double all = 1, sum = 0;
	for (size_t i = 0; i + 1 < w->n; i++) {
		all += w->share[i];
		sum += w->share[i] * of_planet[i];
	}
	return sum / all;
}

static void load_democratic(struct nb_whfast *w, const double *pos, const double *vel)
{
	for (size_t d = 0; d < 3; d++) {
		for (size_t i = 1; i < w->n; i++) {
			w->q[d][i - 1] = pos[3 * i + d] - pos[d];
			w->v[d][i - 1] = vel[3 * i + d] - vel[d];
		}
		const double v = centre_of(w, w->v[d]);
		w->centre[d] = pos[d] + centre_of(w, w->q[d]);
		w->drift[d] = vel[d] + v;
		for (size_t i = 1; i < w->n; i++)
			w->v[d][i - 1] -= v;
	}
}

static void store_democratic(const struct nb_whfast *w, double *pos, double *vel)
{
	for (size_t d = 0; d < 3; d++) {
		pos[d] = w->centre[d] - centre_of(w, w->q[d]);
		vel[d] = w->drift[d];
		for (size_t i = 1; i < w->n; i++) {
			vel[d] -= w->share[i - 1] * w->v[d][i - 1];
			pos[3 * i + d] = pos[d] + w->q[d][i - 1];
			vel[3 * i + d] = w->drift[d] + w->v[d][i - 1];
		}
	}
}

int nb_whfast_load(struct nb_whfast *w, const double *pos, const double *vel, double h)
{
	w->h = h;
	w->failed = 0;
	w->variation = NULL;
	if (w->democratic && w->n > 0)
		load_democratic(w, pos, vel);
	for (int d = 0; d < 3 && w->n > 0 && !w->democratic; d++) {
		double x = pos[d], v = vel[d];
		for (size_t i = 1; i < w->n; i++) {
			w->q[d][i - 1] = pos[3 * i + (size_t)d] - x;
			w->v[d][i - 1] = vel[3 * i + (size_t)d] - v;
			x += w->share[i - 1] * w->q[d][i - 1];
			v += w->share[i - 1] * w->v[d][i - 1];
		}
		w->centre[d] = x;
		w->drift[d] = v;
	}
	fill_lanes(w);
	const int status = nb_whfast_correct(w, 1);
	return status ? status : run(w, 0, h / 2);
}

int nb_whfast_store(const struct nb_whfast *w, double *pos, double *vel)
{
	struct nb_whfast at = *w;
	at.variation = NULL;
	int status = run(&at, 0, -at.h / 2);
	if (!status)
		status = nb_whfast_correct(&at, -1);
	if (w->democratic && !status && w->n > 0)
		store_democratic(&at, pos, vel);
	for (size_t d = 0; d < 3 && !status && w->n > 0 && !w->democratic; d++) {
		double x = at.centre[d], v = at.drift[d];
		for (size_t i = w->n - 1; i > 0; i--) {
			x -= w->share[i - 1] * at.q[d][i - 1];
			v -= w->share[i - 1] * at.v[d][i - 1];
			pos[3 * i + d] = x + at.q[d][i - 1];
			vel[3 * i + d] = v + at.v[d][i - 1];
		}
		pos[d] = x;
		vel[d] = v;
	}
	return status;
}

int nb_whfast_steps(struct nb_whfast *w, uint64_t steps)
{
	const double ahead = w->lazy ? w->h * w->h / 12 : 0;
	int status = NB_OK;
	w->closest = 0;
	if (!w->extra)
		return run_of[nb_cpu_isa()](w, w->h, ahead, w->h, steps);
	for (; steps > 0 && !status && w->democratic; steps--) {
		kick_extra(w, w->h / 2);
		status = run_of[nb_cpu_isa()](w, w->h, 0, 0, 1);
		kick_extra(w, w->h / 2);
		status = status ? status : run_of[nb_cpu_isa()](w, 0, 0, w->h, 1);
	}
	for (; steps > 0 && !status; steps--) {
		kick_extra(w, w->h);
		status = run_of[nb_cpu_isa()](w, w->h, ahead, w->h, 1);
	}
	return status;
}

void nb_whfast_save(const struct nb_whfast *w, double *q, double *v)
{
	for (size_t i = 0; i < w->n; i++)
		for (size_t d = 0; d < 3; d++) {
			q[3 * i + d] = i == 0 ? w->centre[d] : w->q[d][i - 1];
			v[3 * i + d] = i == 0 ? w->drift[d] : w->v[d][i - 1];
		}
}

void nb_whfast_restore(struct nb_whfast *w, const double *q, const double *v, double h)
{
	w->h = h;
	w->failed = 0;
	w->variation = NULL;
	for (size_t i = 0; i < w->n; i++)
		for (size_t d = 0; d < 3; d++) {
			*(i == 0 ? &w->centre[d] : &w->q[d][i - 1]) = q[3 * i + d];
			*(i == 0 ? &w->drift[d] : &w->v[d][i - 1]) = v[3 * i + d];
		}
	fill_lanes(w);
}

double nb_whfast_axis(const struct nb_whfast *w, size_t i, double *period)
{
	double r2 = 0, v2 = 0;
	for (int d = 0; d < 3; d++) {
		r2 += w->q[d][i - 1] * w->q[d][i - 1];
		v2 += w->v[d][i - 1] * w->v[d][i - 1];
	}
	const double mu = w->mu[i - 1], beta = 2 * mu / sqrt(r2) - v2;
	*period = beta > 0 ? 2 * M_PI * mu / (beta * sqrt(beta)) : 0;
	return mu / beta;
}
