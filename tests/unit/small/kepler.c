/* Orbits of all kinds against closed forms in long double, by what rounding of the input does to the result; there and
 * back; what is refused. */
#include "kernels/small/small.h"
#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define TWO_PI 6.283185307179586476925286766559L

static char label[160];

static double uniform(void)
{
	static uint64_t state = 11;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

/* ---- the oracle: closed forms, and bisection ---------------------------------------------------- */

struct functions {
	long double g0, g1, g2, g3;
};

static struct functions functions_at(long double beta, long double X)
{
	const long double z = beta * X * X, s = sqrtl(fabsl(z));
	struct functions g;
	if (s < 1) {
		long double c2 = 1, c3 = 1;
		for (int k = 12; k > 0; k--) {
			c2 = 1 - z * c2 / ((2 * k + 1) * (2 * k + 2));
			c3 = 1 - z * c3 / ((2 * k + 2) * (2 * k + 3));
		}
		g = (struct functions){1 - z * c2 / 2, X * (1 - z * c3 / 6), X * X * c2 / 2, X * X * X * c3 / 6};
	} else if (z > 0) {
		const long double half = sinl(s / 2);
		g = (struct functions){cosl(s), X * sinl(s) / s, 2 * half * half / beta, X * (1 - sinl(s) / s) / beta};
	} else {
		const long double half = sinhl(s / 2);
		g = (struct functions){
			coshl(s), X * sinhl(s) / s, -2 * half * half / beta, X * (1 - sinhl(s) / s) / beta};
	}
	return g;
}

static long double dot(const long double *a, const long double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* from: mu, h, x, v; to: x, v. */
static void move(const long double from[8], long double to[6])
{
	const long double mu = from[0], *x = from + 2, *v = from + 5, r = sqrtl(dot(x, x)), eta = dot(x, v);
	const long double beta = 2 * mu / r - dot(v, v), zeta = mu - beta * r;
	long double h = from[1], low = 0, high;
	if (beta > 0)
		h = remainderl(h, TWO_PI * mu / (beta * sqrtl(beta)));
	const long double way = h < 0 ? -1 : 1;
	struct functions g;
	for (high = fabsl(h) / r;; high *= 2) {
		g = functions_at(beta, high);
		if (!(r * high + way * eta * g.g2 + zeta * g.g3 < fabsl(h)))
			break;
	}
	for (int k = 0; k < 200 && low < high; k++) {
		const long double X = low + (high - low) / 2;
		g = functions_at(beta, X);
		const long double f = r * X + way * eta * g.g2 + zeta * g.g3 - fabsl(h);
		if (X == low || X == high)
			break;
		if (f < 0)
			low = X;
		else
			high = X;
	}
	g = functions_at(beta, low);
	const long double end = r + way * eta * g.g1 + zeta * g.g2;
	for (int d = 0; d < 3; d++) {
		to[d] = (1 - mu * g.g2 / r) * x[d] + (h - way * mu * g.g3) * v[d];
		to[3 + d] = -way * mu * g.g1 / (r * end) * x[d] + (1 - mu * g.g2 / end) * v[d];
	}
}

/* ---- comparison --------------------------------------------------------------------------------- */

static double distance(const long double *a, const long double *b)
{
	const long double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
	return (double)sqrtl(dot(d, d));
}

/* Error of x and v in units of what half an ulp in each of the numbers does, and in the result; the larger one. */
static double error_of(double mu, double h, const double x[3], const double v[3])
{
	static const long double change = 1e-12L;
	long double from[8] = {mu, h, x[0], x[1], x[2], v[0], v[1], v[2]}, want[6], near[6], got[6];
	double to_x[3], to_v[3], least[2];
	move(from, want);
	for (int k = 0; k < 2; k++)
		least[k] = (double)sqrtl(dot(want + 3 * k, want + 3 * k)) * 0x1p-53;
	for (int k = 0; k < 8; k++) {
		long double other[8];
		memcpy(other, from, sizeof other);
		/* a number that cancelled to 0 has the error of the others */
		if (k < 2)
			other[k] *= 1 + change;
		else
			other[k] += change * sqrtl(dot(from + (k < 5 ? 2 : 5), from + (k < 5 ? 2 : 5)));
		move(other, near);
		for (int part = 0; part < 2; part++)
			least[part] += distance(near + 3 * part, want + 3 * part) * (double)(0x1p-53L / change);
	}
	memcpy(to_x, x, sizeof to_x);
	memcpy(to_v, v, sizeof to_v);
	WANT(nb_kepler_move(mu, h, to_x, to_v) == NB_OK);
	for (int d = 0; d < 3; d++) {
		got[d] = to_x[d];
		got[3 + d] = to_v[d];
	}
	const double in_x = distance(got, want) / least[0], in_v = distance(got + 3, want + 3) / least[1];
	return in_x > in_v || isnan(in_x) ? in_x : in_v;
}

/* A body on an orbit of pericentre q and this eccentricity, at a random place on it, turned at random. */
static void place(double mu, double q, double e, double x[3], double v[3])
{
	const double most = e < 1 ? M_PI : acos(-1 / e) * 0.98, f = most * (2 * uniform() - 1), p = q * (1 + e);
	const double r = p / (1 + e * cos(f)), speed = sqrt(mu / p), a = 7 * uniform(), b = 7 * uniform();
	const double plane[4] = {r * cos(f), r * sin(f), -speed * sin(f), speed * (e + cos(f))};
	for (int k = 0; k < 2; k++) {
		const double s = plane[2 * k], t = plane[2 * k + 1];
		double *to = k == 0 ? x : v;
		to[0] = s * cos(a) - t * sin(a);
		to[1] = (s * sin(a) + t * cos(a)) * cos(b);
		to[2] = (s * sin(a) + t * cos(a)) * sin(b);
	}
}

static void test_orbits(void)
{
	static const double e[] = {0, 0.01, 0.2, 0.7, 0.95, 0.999, 1 - 1e-9, 1, 1 + 1e-9, 1.01, 3, 1e4};
	const int times = UNIT_SANITIZED ? 4 : 40;
	double worst = 0;
	for (size_t k = 0; k < sizeof e / sizeof *e; k++)
		for (int i = 0; i < times; i++) {
			const double mu = exp(20 * uniform() - 10), q = exp(20 * uniform() - 10);
			const double period = 2 * M_PI * sqrt(q / mu) * q / (e[k] < 1 ? pow(1 - e[k], 1.5) : 1);
			const double h = period * exp(-19 + 22 * uniform()) * (uniform() < 0.5 ? -1 : 1);
			double x[3], v[3];
			place(mu, q, e[k], x, v);
			snprintf(label, sizeof label, "e %.17g, mu %.17g, q %.17g, h %.17g = %g periods, number %d",
				e[k], mu, q, h, h / period, i);
			const double error = error_of(mu, h, x, v);
			WANT(error < (e[k] > 1 ? 300 : 2));
			worst = fmax(worst, error);
		}
	printf("largest error %.3g\n", worst);
}

/* On a line through the origin, in and out again. */
static void test_lines(void)
{
	static const double speed[] = {-2, -1.5, -1, -0.3, 0, 0.3, 1.3, 1.5, 4};
	for (size_t k = 0; k < sizeof speed / sizeof *speed; k++)
		for (int i = 0; i < (UNIT_SANITIZED ? 3 : 20); i++) {
			const double h = 8 * uniform() - 4, x[3] = {1, 0, 0}, v[3] = {speed[k], 0, 0};
			snprintf(label, sizeof label, "on a line, speed %g, h %.17g", speed[k], h);
			WANT(error_of(1, h, x, v) < (speed[k] > 1.5 ? 40 : 4));
		}
	double x[3] = {1, 2, 3}, v[3] = {-0.5, 0.25, 1};
	CHECK(nb_kepler_move(0, 4, x, v) == NB_OK);
	CHECK_NEAR(x[0], -1, 1e-15);
	CHECK_NEAR(x[1], 3, 1e-15);
	CHECK_NEAR(x[2], 7, 1e-15);
	CHECK(v[0] == -0.5 && v[1] == 0.25 && v[2] == 1);
}

static void test_return(void)
{
	double x[3] = {1, 0.1, 0.2}, v[3] = {-0.2, 0.9, 0.1}, to_x[3], to_v[3];
	memcpy(to_x, x, sizeof x);
	memcpy(to_v, v, sizeof v);
	CHECK(nb_kepler_move(1, 0, to_x, to_v) == NB_OK);
	CHECK(memcmp(to_x, x, sizeof x) == 0 && memcmp(to_v, v, sizeof v) == 0);
	for (int k = 0; k < 20; k++)
		CHECK(nb_kepler_move(1, 0.37, to_x, to_v) == NB_OK);
	CHECK(nb_kepler_move(1, -20 * 0.37, to_x, to_v) == NB_OK);
	for (int d = 0; d < 3; d++) {
		CHECK_NEAR(to_x[d], x[d], 2e-14);
		CHECK_NEAR(to_v[d], v[d], 2e-14);
	}
}

static int refuses(double mu, double h, double x0, double v0)
{
	double x[3] = {x0, 0, 0}, v[3] = {0, v0, 0};
	const int status = nb_kepler_move(mu, h, x, v);
	if (status == NB_OK)
		return !(isfinite(x[0]) && isfinite(x[1]) && isfinite(v[0]) && isfinite(v[1])) ? -1 : 0;
	return status == NB_EUNSUPPORTED && memcmp(&x[0], &x0, sizeof x0) == 0 && memcmp(&v[1], &v0, sizeof v0) == 0;
}

static void test_extremes(void)
{
	static const double extreme[] = {
		0, 1e-308, 1e-200, 1e-30, 1, 1e30, 1e200, 1e308, (double)INFINITY, (double)NAN};
	enum { N = sizeof extreme / sizeof *extreme };
	for (int k = 0; k < N * N * N * N; k++) {
		const double mu = extreme[k % N], h = extreme[k / N % N], x = extreme[k / N / N % N],
			     v = extreme[k / N / N / N];
		CHECK(refuses(mu, h, x, v) >= 0);
	}
	CHECK(refuses(1, 1, 1, 1) == 0);
	CHECK(refuses(-1, 1, 1, 1) == 1);
	CHECK(refuses(1, 1, 0, 1) == 1);
	CHECK(refuses(1, (double)NAN, 1, 1) == 1);
	CHECK(refuses(1, 1, 1, (double)INFINITY) == 1);
	CHECK(refuses(1, 1e17, 1, 1) == 1); /* periods that a double cannot count */
	CHECK(refuses(1, 1e15, 1, 1) == 0);
}

int main(void)
{
	test_orbits();
	test_lines();
	test_return();
	test_extremes();
	return unit_end();
}
