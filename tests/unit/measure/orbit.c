/* Keplerian elements: positions and velocities are made from elements, by rotations and Kepler's equation, and must
 * give the elements back; and cases without a plane, a pericentre or a period. */
#include "kernels/measure/measure.h"
#include "tests/unit/unit.h"

#define PI 3.14159265358979323846

static void rotate(double x[3], int a, int b, double angle)
{
	const double c = cos(angle), s = sin(angle), p = x[a], q = x[b];
	x[a] = c * p - s * q;
	x[b] = s * p + c * q;
}

/* Position and velocity of an orbit; E is the eccentric anomaly, of a hyperbola the hyperbolic one. */
static void make(const struct nb_orbit *o, double mu, double E, double x[3], double v[3])
{
	const double e = o->e, a = fabs(o->a), n = sqrt(mu / (a * a * a)), b = a * sqrt(fabs(1 - e * e));
	if (e < 1) {
		const double rate = n / (1 - e * cos(E));
		x[0] = a * (cos(E) - e), x[1] = b * sin(E);
		v[0] = -a * sin(E) * rate, v[1] = b * cos(E) * rate;
	} else {
		const double rate = n / (e * cosh(E) - 1);
		x[0] = a * (e - cosh(E)), x[1] = b * sinh(E);
		v[0] = -a * sinh(E) * rate, v[1] = b * cosh(E) * rate;
	}
	x[2] = v[2] = 0;
	for (int k = 0; k < 2; k++) {
		double *y = k ? v : x;
		rotate(y, 0, 1, o->omega);
		rotate(y, 1, 2, o->i);
		rotate(y, 0, 1, o->Omega);
	}
}

/* The difference of two angles, to full turns. */
static double apart(double a, double b)
{
	return fabs(remainder(a - b, 2 * PI));
}

static void there_and_back(void)
{
	static const double es[] = {1e-6, 0.2, 0.9, 0.999, 1.001, 1.5, 20};
	static const double is[] = {1e-4, 1, PI / 2, 3}, anomalies[] = {-3, -0.5, 1e-3, 1, 2.5};
	for (size_t p = 0; p < sizeof es / sizeof *es; p++)
		for (size_t q = 0; q < sizeof is / sizeof *is; q++)
			for (size_t s = 0; s < sizeof anomalies / sizeof *anomalies; s++) {
				const double E = anomalies[s], e = es[p], mu = 2.5;
				const struct nb_orbit want = {.a = e < 1 ? 3 : -3,
					.e = e,
					.i = is[q],
					.Omega = 0.3 + (double)s,
					.omega = 5.9 - (double)q,
					.M = e < 1 ? E - e * sin(E) : e * sinh(E) - E};
				struct nb_orbit got;
				double x[3], v[3];
				make(&want, mu, E, x, v);
				nb_orbit_elements(x, v, mu, &got);
				/* near a parabola, 2 / r and v^2 / mu cancel at the pericentre */
				const double blur = 1e-12 / fmin(e, 1) / want.i, loss = 1e-15 / pow(1 - e, 2) + 1e-13;
				CHECK_NEAR(got.a / want.a, 1, loss);
				CHECK_NEAR(got.e, e, 1e-12 * e + 1e-13);
				CHECK_NEAR(got.q, want.a * (1 - e), 1e-10);
				CHECK_NEAR(got.i, want.i, 1e-12);
				CHECK_NEAR(apart(got.Omega, want.Omega), 0, 1e-11 / want.i);
				CHECK_NEAR(apart(got.omega, want.omega), 0, blur);
				CHECK(got.omega >= 0 && got.omega < 2 * PI && got.Omega >= 0 && got.Omega < 2 * PI);
				CHECK_NEAR(
					e < 1 ? apart(got.M, want.M) : fabs(got.M / want.M - 1), 0, 10 * loss + blur);
				CHECK(e < 1 ? fabs(got.period / (2 * PI * sqrt(27 / mu)) - 1) < 2 * loss
					    : isnan(got.period));
			}
}

/* A body so fast that the square of e is no number. */
static void fast(void)
{
	const double x[3] = {1, 0, 0}, v[3] = {0, 1e90, 1e90};
	struct nb_orbit got;
	nb_orbit_elements(x, v, 1, &got);
	CHECK_NEAR(got.e / 2e180, 1, 1e-14);
}

static void special(void)
{
	struct nb_orbit o;
	const double x[3] = {2, 0, 0}, y[3] = {0, 2, 0}, circle[3] = {0, 0.5, 0}, back[3] = {-0.5, 0, 0};
	const double parabola[3] = {0, 1, 0}, fall[3] = {-1, 0, 0}, none[3] = {0, 0, 0}, down[3] = {0, -0.5, 0};
	/* mu = 0.5: v^2 = mu / r = 1/4 is a circle in the plane */
	nb_orbit_elements(x, circle, 0.5, &o);
	CHECK(o.a == 2 && o.e == 0 && o.i == 0 && o.Omega == 0 && o.omega == 0 && o.M == 0 && o.q == 2);
	CHECK_NEAR(o.period, 8 * PI, 1e-14);
	nb_orbit_elements(y, back, 0.5, &o); /* a quarter later */
	CHECK(o.e == 0 && o.omega == 0);
	CHECK_NEAR(o.M, PI / 2, 1e-15);
	nb_orbit_elements(x, down, 0.5, &o);
	CHECK(o.e == 0 && o.i == PI && o.Omega == 0);
	nb_orbit_elements(x, parabola, 1, &o); /* v^2 = 2 mu / r */
	CHECK(isinf(o.a) && o.e == 1 && o.q == 2 && isnan(o.M) && isnan(o.period) && o.i == 0 && o.omega == 0);
	nb_orbit_elements(x, fall, 1.5, &o);
	CHECK(o.e == 1 && o.q == 0 && isnan(o.i) && isnan(o.omega));
	CHECK_NEAR(o.a, 3, 1e-15);
	nb_orbit_elements(none, circle, 1, &o);
	CHECK(isnan(o.a) && isnan(o.e) && isnan(o.M));
	nb_orbit_elements(x, circle, 0, &o);
	CHECK(isnan(o.a) && isnan(o.q));
}

/* G (M + m), and relative to the body in question, which has no orbit about itself */
static void several(void)
{
	const double m[2] = {1, 3}, x[6] = {5, 7, 0, 5, 5, 0}, v[6] = {1, 0, 0, 3, 0, 0};
	struct nb_orbit o[2];
	nb_orbits(2, m, x, v, 1, 2, o);
	CHECK_NEAR(o[0].a, 2, 1e-15); /* v^2 = 4 = 2 * 4 / 2 */
	CHECK_NEAR(o[0].e, 0, 1e-15);
	CHECK_NEAR(o[0].period, 2 * PI, 1e-14);
	CHECK(isnan(o[1].a) && isnan(o[1].period));
	nb_orbits(0, m, x, v, 0, 1, o);
}

int main(void)
{
	there_and_back();
	special();
	fast();
	several();
	return unit_end();
}
