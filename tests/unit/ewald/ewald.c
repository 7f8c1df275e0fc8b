/* Gravity in a periodic box: sums that are known, symmetries, two splits against each other, hard cases. */
#include "kernels/ewald/ewald.h"
#include "common/cpu.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { MOST = 600 };
/* -psi(0): of a body and its own images, Brush, Sahlin & Teller 1966, J. Chem. Phys. 45, 2102 */
static const double OWN = 2.837297479480619614;

static double pos[3 * MOST], mass[MOST], eps[MOST], acc[3 * MOST], pot[MOST], acc2[3 * MOST], pot2[MOST];
static char label[100];

static struct nb_gravity bodies(size_t n, double box)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t d = 0; d < 3; d++)
			pos[3 * i + d] = box * uniform();
		mass[i] = i % 7 == 3 ? 0 : 0.1 + uniform();
		eps[i] = i % 3 == 2 ? 0 : 0.15 * box * pow(uniform(), 3);
	}
	return (struct nb_gravity){.n = n, .pos = pos, .mass = mass, .acc = acc, .pot = pot, .G = 1.5};
}

static double rms(size_t n, const double *x)
{
	double sum = 0;
	for (size_t k = 0; k < n; k++)
		sum += x[k] * x[k];
	return sqrt(sum / (double)n);
}

static double rms_difference(size_t n, const double *x, const double *y)
{
	double sum = 0;
	for (size_t k = 0; k < n; k++)
		sum += (x[k] - y[k]) * (x[k] - y[k]);
	return sqrt(sum / (double)n);
}

/* Of one body and of j^3 on a lattice: no force, and the potential of its images. */
static void check_lattices(void)
{
	for (int split = 0; split < 2; split++)
		for (int j = 1; j <= 5; j++) {
			size_t n = 0;
			struct nb_gravity g = bodies(0, 1);
			for (int k = 0; k < j * j * j; k++, n++) {
				pos[3 * n] = 4.0 * (0.1 + k % j) / j;
				pos[3 * n + 1] = 4.0 * (0.7 + k / j % j) / j;
				pos[3 * n + 2] = 4.0 * (0.3 + k / (j * j)) / j;
				mass[n] = 2;
			}
			g.n = n;
			snprintf(label, sizeof label, "split %d, lattice of %d^3", split, j);
			WANT(nb_ewald_cpu(&g, 4, (enum nb_ewald_split)split, NULL, NULL) == NB_OK);
			for (size_t i = 0; i < n; i++) {
				WANT(fabs(pot[i] - g.G * 2 * OWN * j / 4) < 1e-12);
				WANT(fabs(acc[3 * i]) + fabs(acc[3 * i + 1]) + fabs(acc[3 * i + 2]) < 3e-12);
			}
		}
}

/* psi by another split of the sum, whose terms are computed as they are written: alpha 5, 5^3 images, |k| <= 11. */
static double psi(const double *d, double *force)
{
	const double alpha = 5, pi = M_PI;
	double sum = -pi / (alpha * alpha);
	memset(force, 0, 3 * sizeof *force);
	for (int k = 0; k < 23 * 23 * 23; k++) {
		const double h[3] = {k % 23 - 11, k / 23 % 23 - 11, k / 529 - 11};
		const double h2 = h[0] * h[0] + h[1] * h[1] + h[2] * h[2];
		const double angle = 2 * pi * (h[0] * d[0] + h[1] * d[1] + h[2] * d[2]);
		if (h2 == 0)
			continue;
		const double weight = exp(-pi * pi * h2 / (alpha * alpha)) / (pi * h2);
		sum += weight * cos(angle);
		for (int c = 0; c < 3; c++)
			force[c] += 2 * pi * h[c] * weight * sin(angle);
	}
	for (int k = 0; k < 125; k++) {
		const double x[3] = {d[0] + (k % 5 - 2), d[1] + (k / 5 % 5 - 2), d[2] + (k / 25 - 2)};
		const double r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]), u = alpha * r;
		sum += erfc(u) / r;
		for (int c = 0; c < 3; c++)
			force[c] += x[c] * (erfc(u) + 2 * u / sqrt(pi) * exp(-u * u)) / (r * r * r);
	}
	return sum;
}

/* Two bodies at all separations on an edge, the diagonals of a face and of the box: also where the table of Boys
 * functions goes on to its next row. */
static void check_pairs(void)
{
	static const double way[3][3] = {{1, 0, 0}, {1, 1, 0}, {1, 1, 1}};
	struct nb_gravity g = bodies(2, 1);
	mass[0] = 1;
	mass[1] = 3;
	for (int k = 0; k < 3; k++)
		for (double s = 1e-6; s < 0.75; s *= 1.37) {
			double d[3], force[3];
			for (int c = 0; c < 3; c++) {
				d[c] = s * way[k][c];
				pos[c] = 0.99;
				pos[3 + c] = 0.99 + d[c] - (0.99 + d[c] >= 1);
				d[c] = pos[3 + c] - pos[c];
				d[c] -= rint(d[c]);
			}
			const double want = psi(d, force), size = 3 * fmax(want * want, 1);
			snprintf(label, sizeof label, "pair on way %d at %g", k, s);
			for (int split = 0; split < 2; split++) {
				WANT(nb_ewald_cpu(&g, 1, (enum nb_ewald_split)split, NULL, NULL) == NB_OK);
				WANT(fabs(pot[0] - 1.5 * (OWN - 3 * want)) < 1e-13 * size);
				WANT(fabs(pot[1] - 1.5 * (3 * OWN - want)) < 1e-13 * size);
				for (int c = 0; c < 3; c++) {
					WANT(fabs(acc[c] - 4.5 * force[c]) < 3e-13 * size);
					WANT(fabs(acc[3 + c] + 1.5 * force[c]) < 3e-13 * size);
				}
			}
		}
}

/* Other places of the origin, mirrors and turns of the axes; the sum of forces. */
static void check_symmetries(void)
{
	struct nb_gravity g = bodies(300, 1);
	double moved[3 * MOST], sum[3] = {0, 0, 0};
	g.eps = 0.003;
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_OK);
	const double size = rms(3 * g.n, acc);
	for (size_t k = 0; k < 3 * g.n; k++) {
		const double x = pos[k] + (k % 3 == 0 ? 0.25 : k % 3 == 1 ? 0.5 : 0.8125);
		moved[k] = x - floor(x);
		sum[k % 3] += mass[k / 3] * acc[k];
	}
	CHECK(fabs(sum[0]) + fabs(sum[1]) + fabs(sum[2]) < 1e-12 * size * (double)g.n);
	struct nb_gravity other = g;
	other.pos = moved;
	other.acc = acc2;
	other.pot = pot2;
	CHECK(nb_ewald_cpu(&other, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_OK);
	CHECK(rms_difference(3 * g.n, acc, acc2) < 1e-12 * size);
	CHECK(rms_difference(g.n, pot, pot2) < 1e-12 * rms(g.n, pot));
	for (size_t k = 0; k < 3 * g.n; k++) { /* y, -z, x */
		const double x = pos[3 * (k / 3) + (k + 1) % 3];
		moved[k] = k % 3 == 1 ? 1 - x : x;
	}
	CHECK(nb_ewald_cpu(&other, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_OK);
	for (size_t k = 0; k < 3 * g.n; k++)
		moved[k] = (k % 3 == 1 ? -1 : 1) * acc[3 * (k / 3) + (k + 1) % 3];
	CHECK(rms_difference(3 * g.n, moved, acc2) < 1e-12 * size);
}

/* Two splits, every law of softening, softened pairs in Newton's range; forces as slopes of potentials. */
static void check_laws(void)
{
	for (int law = 0; law < 5; law++) {
		struct nb_gravity g = bodies(200, 2);
		g.softening = law > 2 ? NB_SPLINE : NB_PLUMMER;
		g.eps = law == 0 ? 0 : 0.04;
		g.body_eps = law == 2 || law == 4 ? eps : NULL;
		memcpy(pos + 6, pos + 9, 3 * sizeof *pos); /* two at one place */
		snprintf(label, sizeof label, "law %d", law);
		WANT(nb_ewald_cpu(&g, 2, NB_EWALD_NEAREST, NULL, NULL) == NB_OK);
		struct nb_gravity other = g;
		other.acc = acc2;
		other.pot = pot2;
		WANT(nb_ewald_cpu(&other, 2, NB_EWALD_IMAGES, NULL, NULL) == NB_OK);
		WANT(rms_difference(3 * g.n, acc, acc2) < 1e-12 * rms(3 * g.n, acc));
		WANT(rms_difference(g.n, pot, pot2) < 1e-12 * rms(g.n, pot));
		if (law == 1 || law == 2) /* which are cut off at half of the box */
			continue;

		enum { POINTS = 12 };
		double at[3 * POINTS], slope[3 * POINTS], there[3 * POINTS], up[POINTS], down[POINTS];
		for (size_t k = 0; k < 3 * POINTS; k++)
			at[k] = 4 * uniform() - 1; /* also outside the box */
		struct nb_gravity_points points = {.n = POINTS, .pos = at, .acc = there};
		WANT(nb_ewald_cpu(&g, 2, NB_EWALD_NEAREST, &points, NULL) == NB_OK);
		points.acc = NULL;
		for (size_t d = 0; d < 3; d++)
			for (int side = 1; side >= -1; side -= 2) {
				const double h = side * 1e-5;
				for (size_t k = 0; k < POINTS; k++)
					at[3 * k + d] += h;
				points.pot = side > 0 ? up : down;
				WANT(nb_ewald_cpu(&g, 2, NB_EWALD_NEAREST, &points, NULL) == NB_OK);
				for (size_t k = 0; k < POINTS; k++)
					at[3 * k + d] -= h;
				for (size_t k = 0; side < 0 && k < POINTS; k++)
					slope[3 * k + d] = (down[k] - up[k]) / 2e-5;
			}
		WANT(rms_difference(3 * POINTS, slope, there) < 1e-6 * rms(3 * POINTS, there));
	}
}

/* Some of the bodies, and all; any threads; a box of another power of two: the same bits. */
static void check_bytes(void)
{
	struct nb_gravity g = bodies(MOST, 1);
	uint32_t target[] = {599, 0, 17, 18, 255};
	double some[15], some_pot[5], big[3 * MOST];
	g.eps = 0.01;
	nb_cpu_set_threads(1);
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_OK);
	struct nb_gravity other = g;
	other.acc = acc2;
	other.pot = pot2;
	for (int threads = 2; threads < 6; threads += 1 + 2 * UNIT_SANITIZED) {
		nb_cpu_set_threads(threads);
		CHECK(nb_ewald_cpu(&other, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_OK);
		CHECK(memcmp(acc, acc2, sizeof acc) == 0);
		CHECK(memcmp(pot, pot2, sizeof pot) == 0);
	}
	const struct nb_gravity_points points = {.n = 5, .target = target, .acc = some, .pot = some_pot};
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, &points, NULL) == NB_OK);
	for (size_t k = 0; k < 5; k++) {
		CHECK(memcmp(some + 3 * k, acc + 3 * (size_t)target[k], 3 * sizeof *acc) == 0);
		CHECK(some_pot[k] == pot[target[k]]);
	}
	nb_cpu_set_threads(0);
	for (size_t k = 0; k < 3 * g.n; k++)
		big[k] = pos[k] * 0x1p100;
	other.pos = big;
	other.eps = g.eps * 0x1p100;
	CHECK(nb_ewald_cpu(&other, 0x1p100, NB_EWALD_NEAREST, NULL, NULL) == NB_OK);
	for (size_t k = 0; k < 3 * g.n; k++)
		acc2[k] *= 0x1p200;
	CHECK(memcmp(acc, acc2, sizeof acc) == 0);
}

static void check_edges(void)
{
	struct nb_gravity g = bodies(2, 1);
	CHECK(nb_ewald_cpu(&g, 0, NB_EWALD_NEAREST, NULL, NULL) == NB_EINVAL);
	CHECK(nb_ewald_cpu(&g, -1, NB_EWALD_NEAREST, NULL, NULL) == NB_EINVAL);
	CHECK(nb_ewald_cpu(&g, NAN, NB_EWALD_NEAREST, NULL, NULL) == NB_EINVAL);
	CHECK(nb_ewald_cpu(&g, INFINITY, NB_EWALD_NEAREST, NULL, NULL) == NB_EINVAL);
	g.eps = 0.51;
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_EINVAL);
	g.eps = 0.5;
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_OK);
	g.softening = NB_SPLINE;
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_EINVAL);
	g.eps = -1;
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_EINVAL);
	g.eps = 0;
	pos[4] = NAN;
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_ENONFINITE);
	const uint32_t row = 2;
	double strength;
	const struct nb_gravity_points none = {.n = 1, .target = &row, .acc = acc},
				       strong = {.n = 1, .target = &row, .strength = &strength};
	pos[4] = 0.5;
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, &none, NULL) == NB_EINVAL);
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, &strong, NULL) == NB_EINVAL);
	g.n = 0;
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, NULL, NULL) == NB_OK);
	const struct nb_gravity_points point = {.n = 1, .pos = pos, .acc = acc, .pot = pot};
	acc[0] = pot[0] = 7;
	CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, &point, NULL) == NB_OK);
	CHECK(acc[0] == 0);
	CHECK(pot[0] == 0);
}

int main(void)
{
	check_lattices();
	check_pairs();
	check_symmetries();
	check_laws();
	check_bytes();
	check_edges();
	return unit_end();
}
