#include "kernels/measure/nfw.h"

#include <math.h>

#include "common/mem.h"

#define PI 3.14159265358979323846
enum { CHUNK = 4096, STEPS = 60 };

/* Radii and weights, whose sum is the number of bodies that count. */
struct radii {
	size_t n;
	double *r, *weight, *part; /* part: one for each CHUNK */
	double inner, outer, mass, number;
};

static int gather(size_t n, const double *mass, const double *pos, const double centre[3], struct radii *all)
{
	double m1 = 0, m2 = 0, farthest = 0;
	all->r = nb_alloc(n, sizeof *all->r);
	all->weight = nb_alloc(n, sizeof *all->weight);
	all->part = nb_alloc(n / CHUNK + 1, sizeof *all->part);
	if (!all->r || !all->weight || !all->part)
		return NB_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		double r2 = 0;
		for (size_t k = 0; k < 3; k++)
			r2 += (pos[3 * i + k] - centre[k]) * (pos[3 * i + k] - centre[k]);
		const double r = sqrt(r2);
		if (!(r > all->inner && r <= all->outer && mass[i] > 0))
			continue;
		all->r[all->n] = r;
		all->weight[all->n++] = mass[i];
		farthest = fmax(farthest, r);
		m1 += mass[i];
		m2 += mass[i] * mass[i];
	}
	all->outer = isinf(all->outer) ? farthest : all->outer;
	all->mass = m1;
	all->number = m1 * m1 / m2;
	for (size_t i = 0; i < all->n; i++)
		all->weight[i] *= m1 / m2;
	return NB_OK;
}

/* Mass between the radii, in units of 4 pi rho rs^3. */
static double mass_between(double inner, double outer, double rs)
{
	const double a = inner / rs, b = outer / rs;
	return log1p((outer - inner) / (rs + inner)) - b / (1 + b) + a / (1 + a);
}

/* Logarithm of the likelihood, less what does not depend on rs. */
static double likelihood(const struct radii *all, double log_rs)
{
	const double rs = exp(log_rs);
	double sum = 0;
#pragma omp parallel for
	for (size_t chunk = 0; chunk <= all->n / CHUNK; chunk++) {
		const size_t end = (chunk + 1) * CHUNK < all->n ? (chunk + 1) * CHUNK : all->n;
		all->part[chunk] = 0;
		for (size_t i = chunk * CHUNK; i < end; i++)
			all->part[chunk] -= 2 * all->weight[i] * log1p(all->r[i] / rs);
	}
	for (size_t chunk = 0; chunk <= all->n / CHUNK; chunk++)
		sum += all->part[chunk];
	return sum - all->number * (2 * log_rs + log(mass_between(all->inner, all->outer, rs)));
}

static double log_rho(const struct radii *all, double log_rs)
{
	const double rs = exp(log_rs);
	return log(all->mass / (4 * PI * rs * rs * rs * mass_between(all->inner, all->outer, rs)));
}

/* The maximum by golden sections. */
static void find_best(const struct radii *all, struct nb_nfw *fit)
{
	const double golden = 0.6180339887498949, least = log(all->outer) - 12, most = log(all->outer) + 5, h = 0.01;
	double lo = least, hi = most, a = hi - golden * (hi - lo), b = lo + golden * (hi - lo);
	double at_a = likelihood(all, a), at_b = likelihood(all, b);
	for (int step = 0; step < STEPS; step++)
		if (at_a > at_b) {
			hi = b, b = a, at_b = at_a;
			a = hi - golden * (hi - lo);
			at_a = likelihood(all, a);
		} else {
			lo = a, a = b, at_a = at_b;
			b = lo + golden * (hi - lo);
			at_b = likelihood(all, b);
		}
	const double s = (lo + hi) / 2;
	const double curvature = (likelihood(all, s + h) - 2 * likelihood(all, s) + likelihood(all, s - h)) / (h * h);
	if (!(s > least + 0.1 && s < most - 0.1 && curvature < 0))
		return;
	const double error = sqrt(-1 / curvature), slope = (log_rho(all, s + h) - log_rho(all, s - h)) / (2 * h);
	fit->rs = exp(s);
	fit->rs_error = fit->rs * error;
	fit->rho = exp(log_rho(all, s));
	fit->rho_error = fit->rho * sqrt(slope * slope * error * error + 1 / all->number);
}

int nb_nfw_fit(size_t n, const double *mass, const double *pos, const double centre[3], double inner, double outer,
	struct nb_nfw *fit)
{
	struct radii all = {.inner = inner, .outer = outer};
	const int status = gather(n, mass, pos, centre, &all);
	*fit = (struct nb_nfw){NAN, NAN, NAN, NAN, all.n};
	if (!status && all.n >= NB_NFW_FEW)
		find_best(&all, fit);
	nb_free_all(all.r, all.weight, all.part);
	return status;
}
