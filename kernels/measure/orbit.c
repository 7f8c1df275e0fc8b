#include "kernels/measure/measure.h"

#include <math.h>

#define TURN 6.28318530717958647692

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double c[3])
{
	c[0] = a[1] * b[2] - a[2] * b[1];
	c[1] = a[2] * b[0] - a[0] * b[2];
	c[2] = a[0] * b[1] - a[1] * b[0];
}

/* Into [0, 2 pi). */
static double positive(double angle)
{
	angle = fmod(angle, TURN);
	if (angle < 0)
		angle += TURN;
	return angle < TURN ? angle : 0;
}

/* Mean anomaly from r.v and 1 - r / a, which is e cos E or, with a < 0, e cosh H. */
static double mean_anomaly(const struct nb_orbit *orbit, double mu, double rv, double cosine)
{
	const double sine = rv / sqrt(mu * fabs(orbit->a)); /* e sin E, e sinh H */
	if (orbit->a > 0)
		return positive(atan2(sine, cosine) - sine);
	return sine - asinh(sine / orbit->e);
}

void nb_orbit_elements(const double pos[3], const double vel[3], double mu, struct nb_orbit *orbit)
{
	*orbit = (struct nb_orbit){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	const double r = sqrt(dot(pos, pos)), v2 = dot(vel, vel);
	if (!(mu > 0) || !(r > 0))
		return;
	double h[3], towards[3], node[3] = {1, 0, 0}, across[3]; /* towards: the pericentre, of length e */
	cross(pos, vel, h);
	cross(vel, h, towards);
	for (int k = 0; k < 3; k++)
		towards[k] = towards[k] / mu - pos[k] / r;
	const double h2 = dot(h, h), rv = dot(pos, vel), binding = 2 / r - v2 / mu;
	orbit->a = 1 / binding;
	orbit->e = sqrt(dot(towards, towards));
	if (isinf(orbit->e)) /* a hyperbola whose square of e is too large a number */
		orbit->e = hypot(hypot(towards[0], towards[1]), towards[2]);
	orbit->q = h2 / (mu * (1 + orbit->e));
	if (binding > 0)
		orbit->period = TURN * orbit->a * sqrt(orbit->a / mu);
	if (binding != 0)
		orbit->M = mean_anomaly(orbit, mu, rv, 1 - r * binding);
	if (h2 == 0)
		return;

	const double tilt = hypot(h[0], h[1]), length = sqrt(h2);
	orbit->i = atan2(tilt, h[2]);
	orbit->Omega = 0;
	if (tilt > 0) {
		orbit->Omega = positive(atan2(h[0], -h[1]));
		node[0] = -h[1] / tilt;
		node[1] = h[0] / tilt;
	}
	cross(h, node, across);
	orbit->omega = orbit->e > 0 ? positive(atan2(dot(towards, across) / length, dot(towards, node))) : 0;
	if (orbit->e == 0) /* from the node */
		orbit->M = positive(atan2(dot(pos, across) / length, dot(pos, node)));
}

void nb_orbits(size_t n, const double *mass, const double *pos, const double *vel, size_t about, double G,
	struct nb_orbit *orbit)
{
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++) {
		double x[3], v[3];
		for (int k = 0; k < 3; k++) {
			x[k] = pos[3 * i + k] - pos[3 * about + k];
			v[k] = vel[3 * i + k] - vel[3 * about + k];
		}
		nb_orbit_elements(x, v, i == about ? 0 : G * (mass[about] + mass[i]), &orbit[i]);
	}
}

void nb_orbits_barycentric(
	size_t n, const double *mass, const double *pos, const double *vel, double G, struct nb_orbit *orbit)
{
	double all = 0, centre[3] = {0}, drift[3] = {0};
	for (size_t i = 0; i < n; i++) {
		all += mass[i];
		const double share = mass[i] / (all > 0 ? all : 1);
		for (int k = 0; k < 3; k++) {
			centre[k] += share * (pos[3 * i + k] - centre[k]);
			drift[k] += share * (vel[3 * i + k] - drift[k]);
		}
	}
	for (size_t i = 0; i < n; i++) {
		double x[3], v[3];
		const double others = 1 - mass[i] / all;
		for (int k = 0; k < 3; k++) {
			x[k] = pos[3 * i + k] - centre[k];
			v[k] = vel[3 * i + k] - drift[k];
		}
		nb_orbit_elements(x, v, all > 0 ? G * all * others * others * others : 0, &orbit[i]);
	}
}

void nb_orbits_jacobi(
	size_t n, const double *mass, const double *pos, const double *vel, double G, struct nb_orbit *orbit)
{
	double within = 0, centre[3] = {0}, drift[3] = {0};
	for (size_t i = 0; i < n; i++) {
		double x[3], v[3];
		const double all = within + mass[i], share = all > 0 ? mass[i] / all : 0;
		for (int k = 0; k < 3; k++) {
			x[k] = pos[3 * i + k] - centre[k];
			v[k] = vel[3 * i + k] - drift[k];
			centre[k] += share * x[k];
			drift[k] += share * v[k];
		}
		nb_orbit_elements(x, v, i == 0 || within == 0 ? 0 : G * all, &orbit[i]);
		within = all;
	}
}
