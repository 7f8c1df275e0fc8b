/* What both backends begin with: the mesh, scaled units, the law of the near part. */
#include "kernels/treepm/treepm_internal.h"

#include "kernels/mesh/mesh.h"

#include <math.h>
#include <string.h>

enum {
	LONG = 512 /* cells of a mesh that may be longer if it is transformed in fewer passes: no less than 4 from there
		      on */
};

struct nb_treepm nb_treepm_choose(size_t n, double split)
{
	struct nb_treepm how = {0, 6, split > 0 ? split : 1.3, split < 1.75 ? 6.5 : 7};
	const double along = ceil(2 * cbrt((double)n) * (1 - 0x1p-40)), least = ceil(how.cut * how.split / 0.4);
	const int m = (int)fmin(fmax(along, fmax(least, NB_MESH_LEAST)), NB_MESH_MOST), side = m / 2;
	const int lattice = (size_t)side * (size_t)side * (size_t)side == n && nb_mesh_size(m) == m; /* maybe */
	how.mesh = m < LONG || lattice ? nb_mesh_size(m) : nb_mesh_quick_size(m);
	return how;
}

double nb_treepm_reach(const struct nb_treepm *how, double box)
{
	return how->cut * how->split * (box / how->mesh);
}

double nb_treepm_longest_eps(const struct nb_treepm *how, double box, enum nb_softening softening)
{
	return nb_treepm_reach(how, box) / (softening == NB_SPLINE ? NB_SPLINE_SUPPORT : 1);
}

/* ---- the law ------------------------------------------------------------------------------------ */

/* Boys functions F_0 and F_1, see kernels/ewald. */
static void boys(double t, double f[2])
{
	f[0] = t > 0 ? 0.5 * sqrt(M_PI / t) * erf(sqrt(t)) : 1;
	if (t > 0.5) {
		f[1] = (f[0] - exp(-t)) / (2 * t);
		return;
	}
	double term = 1;
	f[1] = 0;
	for (int k = 0; k < 20; k++) {
		f[1] += term / (2 * k + 3);
		term *= -t / (k + 1);
	}
}

/* The polynomial of v, -1 <= v <= 1, that has the values at the points cos(pi (k + 1/2) / NB_TREEPM_TERMS): a series of
 * Chebyshev polynomials T_k(v), whose coefficients are sums over the points, written out by T_k+1 = 2 v T_k - T_k-1. */
static void fit(const double *value, double *term)
{
	enum { N = NB_TREEPM_TERMS };
	double before[N] = {0}, now[N] = {1};
	for (int j = 0; j < N; j++)
		term[j] = 0;
	for (int k = 0; k < N; k++) {
		double part = 0, next[N] = {0};
		for (int i = 0; i < N; i++)
			part += value[i] * cos(M_PI * k * (i + 0.5) / N) * (k ? 2 : 1) / N;
		for (int j = 0; j < N; j++) {
			term[j] += part * now[j];
			next[j] = (k ? 2 : 1) * (j ? now[j - 1] : 0) - before[j];
		}
		memcpy(before, now, sizeof now);
		memcpy(now, next, sizeof now);
		if (k == 0)
			before[0] = 1;
	}
}

static void fill_law(const struct nb_gravity *g, const struct nb_gravity_points *points, struct nb_treepm_plan *plan)
{
	struct nb_treepm_law *law = &plan->law;
	const double alpha = 0.5 / plan->split;
	double acc[NB_TREEPM_TERMS], pot[NB_TREEPM_TERMS];
	const double eps = g->eps * plan->scale.length;
	const int own = points && !points->target && points->eps;
	law->law = own && g->softening == NB_PLUMMER ? NB_LAW_PLUMMER : nb_pair_law_of(g);
	law->eps2 = nb_pair_eps2_f64(eps);
	law->none = eps > NB_TREEPM_LEAST_EPS ? -1 : law->eps2;
	law->cut2 = plan->reach * plan->reach;
	law->scale = 2 / law->cut2;
	law->far = 3 * plan->box;
	for (int i = 0; i < NB_TREEPM_TERMS; i++) {
		const double v = cos(M_PI * (i + 0.5) / NB_TREEPM_TERMS), u = alpha * plan->reach;
		double f[2];
		boys(0.5 * (1 + v) * u * u, f);
		acc[i] = 2 * M_2_SQRTPI * alpha * alpha * alpha * f[1];
		pot[i] = M_2_SQRTPI * alpha * f[0];
	}
	fit(acc, law->acc);
	fit(pot, law->pot);
}

/* ---- the problem -------------------------------------------------------------------------------- */

int nb_treepm_check(
	const struct nb_gravity *g, double box, const struct nb_treepm *how, const struct nb_gravity_points *points)
{
	if (!(box > 0 && isfinite(box)) || !isfinite(g->G) || g->jerk || how->mesh < NB_MESH_LEAST ||
		how->mesh > NB_MESH_MOST || nb_mesh_size(how->mesh) != how->mesh || how->order < 3 ||
		how->order > NB_MESH_ORDERS || !(how->split > 0) || !(nb_treepm_reach(how, box) < box / 2))
		return NB_EINVAL;
	if (points && (points->jerk || points->strength || (points->spread && !points->target)))
		return NB_EINVAL;
	return g->n > INT32_MAX || (points && points->n > INT32_MAX) ? NB_ELIMIT : NB_OK;
}

void nb_treepm_make_plan(const struct nb_gravity *g, double box, const struct nb_treepm *how,
	const struct nb_gravity_points *points, double heaviest, struct nb_treepm_plan *plan)
{
	plan->scale = nb_pair_scale_of(nb_pair_power2(box, 20), heaviest, 0, g->G);
	plan->box = box * plan->scale.length;
	plan->split = how->split * plan->box / how->mesh;
	plan->reach = nb_treepm_reach(how, plan->box);
	/* no finer than that cells have a few bodies */
	const double along = floor(NB_TREEPM_AROUND * plan->box / plan->reach), most = ceil(cbrt((double)g->n));
	plan->side = (size_t)fmax(1, fmin(along, most));
	/* no more even if the quotient is rounded up from that: what is beyond is at the end of the cut */
	plan->around = (size_t)fmin(NB_TREEPM_AROUND, ceil(plan->reach / (plan->box / (double)plan->side)));
	fill_law(g, points, plan);
}

/* Of the mean potential of the near part, 4 pi rho s^2, the share that is beyond u: 4 int_u^inf v erfc(v) dv. */
static double mean_beyond(double u)
{
	return (1 - 2 * u * u) * erfc(u) + M_2_SQRTPI * u * exp(-u * u);
}

double nb_treepm_background(const struct nb_treepm_plan *plan, const struct nb_treepm *how, double total)
{
	const double within = 1 - mean_beyond(how->cut / 2);
	return 4 * M_PI * total / (plan->box * plan->box * plan->box) * plan->split * plan->split * within;
}
