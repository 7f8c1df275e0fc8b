/* Profiles, centres, shapes and bound bodies: against plain sums, distributions of known profile and shape, and bodies
 * worked out by hand; the same bytes for 1, 2 and 3 threads. */
#include "common/cpu.h"
#include "kernels/measure/measure_internal.h"
#include "tests/unit/unit.h"

enum { N = 100003 };
#define PI 3.14159265358979323846

static double mass[N], pos[3 * N], vel[3 * N], pot[N];

static uint64_t state = 11;

static double random_number(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	const double u = random_number(), v = random_number();
	return sqrt(-2 * log(u)) * cos(2 * PI * v);
}

static void direction(double x[3])
{
	double r = 0;
	for (int k = 0; k < 3; k++) {
		x[k] = normal();
		r += x[k] * x[k];
	}
	for (int k = 0; k < 3; k++)
		x[k] /= sqrt(r);
}

/* A Plummer sphere of mass 1 and scale radius 1 about a centre, with the dispersions of each direction as given in
 * units of a radius-dependent speed, that turns about z with the given speed; all moves with 3, -4, 5. */
static const double middle[3] = {10, -20, 30}, moves[3] = {3, -4, 5};

static void make_plummer(double radial, double tangential, double turns)
{
	for (size_t i = 0; i < N; i++) {
		double e[3], phi[3], theta[3];
		const double r = 1 / sqrt(pow(random_number(), -2. / 3) - 1);
		direction(e);
		const double R = hypot(e[0], e[1]), speed = 1 / sqrt(sqrt(1 + r * r));
		phi[0] = -e[1] / R;
		phi[1] = e[0] / R;
		phi[2] = 0;
		theta[0] = phi[1] * e[2];
		theta[1] = -phi[0] * e[2];
		theta[2] = phi[0] * e[1] - phi[1] * e[0];
		const double a = speed * radial * normal(), b = speed * tangential * normal(),
			     c = turns + speed * tangential * normal();
		mass[i] = 1. / N;
		for (int k = 0; k < 3; k++) {
			pos[3 * i + k] = middle[k] + r * e[k];
			vel[3 * i + k] = moves[k] + a * e[k] + b * theta[k] + c * phi[k];
		}
	}
}

static struct nb_profile all_of(size_t n)
{
	struct nb_profile of = {.n = n, .mass = mass, .pos = pos, .vel = vel, .dim = 3, .axis = {0, 0, 1}};
	memcpy(of.centre.pos, middle, sizeof middle);
	memcpy(of.centre.vel, moves, sizeof moves);
	return of;
}

/* Mass within r is r^3 / (1 + r^2)^(3/2). */
static double plummer_within(double r)
{
	return pow(r * r / (1 + r * r), 1.5);
}

static void plummer_sphere(void)
{
	enum { BINS = 12 };
	struct nb_profile_bin bin[BINS];
	double edge[BINS + 1];
	make_plummer(0.5, 0.5, 0.25);
	const struct nb_profile of = all_of(N);
	nb_profile_edges_log(0.1, 10, BINS, edge);
	CHECK(edge[0] == 0.1 && edge[BINS] == 10);
	CHECK_NEAR(edge[6], 1, 1e-15);
	CHECK(nb_profile_bins(&of, BINS, edge, bin) == NB_OK);
	uint64_t total = 0;
	for (int k = 0; k < BINS; k++) {
		const struct nb_profile_bin *b = &bin[k];
		const double want = plummer_within(b->outer) - plummer_within(b->inner), few = 4 / sqrt((double)b->n);
		const double volume = 4 * PI / 3 * (pow(b->outer, 3) - pow(b->inner, 3));
		/* within four standard deviations of the counts */
		CHECK(b->n > 20);
		CHECK_NEAR(b->mass, (double)b->n / N, 1e-12);
		CHECK_NEAR(b->mass / want, 1, few);
		CHECK_NEAR(b->density, b->mass / volume, 1e-12 * b->density);
		CHECK_NEAR(b->within, plummer_within(b->outer), 0.01);
		CHECK(b->radius > b->inner && b->radius < b->outer);
		CHECK_NEAR(b->v[0], 0, 0.5 * few);
		CHECK_NEAR(b->v[1], 0, 0.5 * few);
		CHECK_NEAR(b->v[2], 0.25, 0.5 * few);
		CHECK_NEAR(b->sigma[0] * pow(1 + b->radius * b->radius, 0.25), 0.5, 0.02 + 0.5 * few);
		CHECK_NEAR(b->beta, 0, 3 * few);
		total += b->n;
	}
	CHECK_NEAR((double)total / N, plummer_within(10) - plummer_within(0.1), 0.01);
}

/* beta = 1 - (0.3 / 0.6)^2 */
static void anisotropy(void)
{
	struct nb_profile_bin bin[2];
	double edge[3];
	make_plummer(0.6, 0.3, 0);
	struct nb_profile of = all_of(N);
	CHECK(nb_profile_edges_equal(&of, 0, 100, 2, edge) == NB_OK);
	CHECK(edge[0] == 0 && edge[2] == 100);
	CHECK_NEAR(edge[1], 1 / sqrt(pow(0.5, -2. / 3) - 1), 0.03); /* half of the mass */
	CHECK(nb_profile_bins(&of, 2, edge, bin) == NB_OK);
	CHECK(bin[0].n > bin[1].n - 100 && bin[0].n < bin[1].n + 200);
	for (int k = 0; k < 2; k++) {
		CHECK_NEAR(bin[k].beta, 0.75, 0.01);
		CHECK_NEAR(bin[k].sigma_t / bin[k].sigma[0], 0.5, 0.01);
	}
	/* a centre that is taken to rest moves the means, and dispersions do not care */
	of.centre.vel[0] = 0;
	CHECK(nb_profile_bins(&of, 2, edge, bin) == NB_OK);
	CHECK_NEAR(bin[0].vel[0], 3, 0.02);
	CHECK_NEAR(bin[0].vel[1], 0, 0.02);
}

/* Distances 0, 1, 2, 2, 4 along x and y, about the origin. */
static void by_hand(void)
{
	const double m[5] = {5, 1, 2, 6, 3}, x[15] = {0, 0, 0, 1, 0, 0, 0, 2, 0, -2, 0, 0, 0, 0, 4};
	const double v[15] = {9, 9, 9, 2, 3, 0, 1, 4, 0, -4, 1, 0, 7, 0, 1}, edge[4] = {0, 1, 2, 3};
	struct nb_profile of = {.n = 5, .mass = m, .pos = x, .vel = v, .dim = 3, .axis = {0, 0, 1}};
	struct nb_profile_bin bin[3];
	CHECK(nb_profile_bins(&of, 3, edge, bin) == NB_OK);
	CHECK(bin[0].n == 2 && bin[0].mass == 6 && bin[0].within == 6 && bin[0].v[0] == 2 && bin[0].v[2] == 3);
	CHECK_NEAR(bin[0].radius, 1. / 6, 1e-15);
	CHECK_NEAR(bin[0].vel[0], (5 * 9 + 2) / 6., 1e-15);
	CHECK(bin[0].sigma[0] == 0 && isnan(bin[0].beta));
	CHECK(bin[1].n == 2 && bin[1].mass == 8 && bin[1].within == 14 && bin[1].radius == 2);
	CHECK_NEAR(bin[1].density, 8 / (4 * PI / 3 * 7), 1e-15);
	/* both move outwards with 4, and with -1 along phi */
	CHECK(bin[1].v[0] == 4 && bin[1].v[2] == -1 && bin[1].v[1] == 0 && bin[1].sigma_t == 0);
	CHECK(bin[2].n == 0 && bin[2].density == 0 && bin[2].within == 14 && isnan(bin[2].radius));
	of.by_number = 1;
	CHECK(nb_profile_bins(&of, 3, edge, bin) == NB_OK && bin[0].radius == 0.5 && bin[0].mass == 6);
	const double lone[2] = {1.5, 3};
	CHECK(nb_profile_bins(&of, 1, lone, bin) == NB_OK && bin[0].n == 2 && bin[0].within == 14);
	of.dim = 2;
	CHECK(nb_profile_bins(&of, 1, edge + 1, bin) == NB_OK);
	CHECK_NEAR(bin[0].density, 9 / (3 * PI), 1e-15);
	/* on the axis, across is any direction */
	of.dim = 3;
	const double far[2] = {3, 5};
	CHECK(nb_profile_bins(&of, 1, far, bin) == NB_OK && bin[0].n == 1 && bin[0].v[0] == 1);
	CHECK_NEAR(hypot(bin[0].v[1], bin[0].v[2]), 7, 1e-14);
	double nearest, farthest;
	nb_profile_extent(&of, &nearest, &farthest);
	CHECK(nearest == 1 && farthest == 4);
	of.vel = NULL;
	CHECK(nb_profile_bins(&of, 3, edge, bin) == NB_OK && bin[1].mass == 8 && isnan(bin[1].v[0]));
	of.n = 0;
	nb_profile_extent(&of, &nearest, &farthest);
	CHECK(nearest == 0 && farthest == 0);
	double none[3];
	CHECK(nb_profile_edges_equal(&of, 0, 1, 2, none) == NB_OK && isnan(none[1]));
	CHECK(nb_profile_bins(&of, 3, edge, bin) == NB_OK && bin[2].n == 0 && bin[2].within == 0);
	CHECK(nb_profile_bins(&of, 0, edge, bin) == NB_EINVAL);
}

/* Each body into the bin that a search from the first edge finds. */
static void against_plain_search(void)
{
	enum { BINS = 77 };
	struct nb_profile_bin bin[BINS];
	double edge[BINS + 1];
	uint64_t count[BINS] = {0};
	const struct nb_profile of = all_of(N);
	CHECK(nb_profile_edges_equal(&of, 0.2, 3, BINS, edge) == NB_OK);
	CHECK(nb_profile_bins(&of, BINS, edge, bin) == NB_OK);
	for (size_t i = 0; i < N; i++) {
		double d[3];
		for (int k = 0; k < 3; k++)
			d[k] = pos[3 * i + k] - middle[k];
		const double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
		for (int k = 0; k < BINS && r >= edge[0]; k++)
			if (r <= edge[k + 1]) {
				count[k]++;
				break;
			}
	}
	for (int k = 0; k < BINS; k++) {
		CHECK(bin[k].n == count[k]);
		CHECK(bin[k].n + 1 >= bin[0].n && bin[k].n <= bin[0].n + 1);
	}
}

/* ---- density centre ----------------------------------------------------------------------------- */

static void density_centre(void)
{
	struct nb_centre c;
	make_plummer(0.1, 0.1, 0);
	for (size_t i = 0; i < N / 4; i++) { /* a quarter, far away and spread out, moves the centre of mass by 25 */
		pos[3 * i] = middle[0] + 100 + 20 * normal();
		vel[3 * i] = 50;
	}
	CHECK(nb_density_centre(N, mass, pos, vel, &c) == NB_OK);
	for (int k = 0; k < 3; k++) {
		CHECK_NEAR(c.pos[k], middle[k], 0.05);
		CHECK_NEAR(c.vel[k], moves[k], 0.01);
	}
	/* by the weights of the paper: the integral of density^2 r over that of density^2, 0.679 scale radii */
	CHECK_NEAR(c.core, 0.679, 0.01);
	CHECK(nb_density_centre(N, mass, pos, NULL, &c) == NB_OK && isnan(c.vel[0]));
	/* few bodies: their centre of mass; none, or massless ones: nothing */
	const double m[3] = {1, 3, 0}, x[9] = {0, 0, 0, 4, 0, 8, 1e9, 0, 0}, v[9] = {0, 4, 0, 0, 0, 0, 9, 9, 9};
	CHECK(nb_density_centre(3, m, x, v, &c) == NB_OK && c.pos[0] == 3 && c.pos[2] == 6 && c.vel[1] == 1);
	CHECK(nb_density_centre(0, m, x, v, &c) == NB_OK && isnan(c.pos[0]));
	CHECK(nb_density_centre(1, m + 2, x, v, &c) == NB_OK && isnan(c.pos[0]) && isnan(c.vel[0]));
	/* all in one place */
	for (size_t i = 0; i < 3 * N; i++)
		pos[i] = 7;
	CHECK(nb_density_centre(N, mass, pos, vel, &c) == NB_OK);
	CHECK_NEAR(c.pos[1], 7, 1e-12);
	CHECK(c.core == 0);
}

/* The mass of the five nearest in the sphere of the sixth, of all pairs. */
static double plain_density(size_t n, const uint32_t *row, size_t of)
{
	double sum = 0, last = 0, before = -1;
	for (int k = 0; k < NB_DENSITY_NEIGHBOURS; k++, before = last) {
		double m = 0;
		last = INFINITY;
		for (size_t i = 0; i < n; i++) {
			const double x = pos[3 * row[i]] - pos[3 * of], y = pos[3 * row[i] + 1] - pos[3 * of + 1],
				     z = pos[3 * row[i] + 2] - pos[3 * of + 2], r = sqrt(x * x + y * y + z * z);
			if (row[i] != of && r > before && r < last) {
				last = r;
				m = mass[row[i]];
			}
		}
		sum += k < NB_DENSITY_NEIGHBOURS - 1 ? m : 0;
	}
	return sum / pow(last, 3);
}

static void densities(void)
{
	static uint32_t row[N];
	static double density[N];
	const size_t sizes[] = {7, 8, 9, 64, 65, 1000};
	make_plummer(0.1, 0.1, 0);
	for (size_t i = 0; i < N; i++) {
		mass[i] = random_number();
		row[i] = (uint32_t)(N - 1 - 3 * i % N);
	}
	for (int k = 0; k < 3; k++) /* one so far out that keys do not tell the others apart */
		pos[3 * row[2] + k] = 1e13;
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		const size_t n = sizes[k];
		double unit = 0, worst = 0;
		CHECK(nb_densities(n, row, mass, pos, density) == NB_OK);
		for (size_t i = 0; i < n; i++) {
			const double ratio = density[row[i]] / plain_density(n, row, row[i]);
			unit = unit > 0 ? unit : ratio;
			worst = fmax(worst, fabs(ratio / unit - 1));
		}
		CHECK(worst < 1e-9);
	}
	/* in units in which squares and cubes have no numbers */
	for (size_t i = 0; i < 3 * N; i++)
		pos[i] *= 1e-200;
	CHECK(nb_densities(1000, row, mass, pos, density) == NB_OK && density[row[0]] > 0 && isfinite(density[row[0]]));
}

/* The larger of two crowds counts, and not a place between them. */
static void two_crowds(void)
{
	struct nb_centre c;
	make_plummer(0.1, 0.1, 0);
	for (size_t i = 0; i < 2 * N / 5; i++)
		pos[3 * i] += 20;
	CHECK(nb_density_centre(N, mass, pos, vel, &c) == NB_OK);
	CHECK_NEAR(c.pos[0], middle[0], 0.05);
	CHECK_NEAR(c.core, 0.679, 0.02);
}

/* ---- shapes ------------------------------------------------------------------------------------- */

/* Bodies on similar ellipsoids, density a^-2 out to a = 1, of axes 1, b, c along the columns of a rotation; spread
 * evenly instead of by chance, as a shell magnifies noise. */
static void make_ellipsoid(double b, double c)
{
	const double s = sqrt(0.5), turn[3][3] = {{s, 0.5, 0.5}, {-s, 0.5, 0.5}, {0, -s, s}};
	for (size_t i = 0; i < N; i++) {
		const double a = fmod((double)i * sqrt(2), 1), z = 1 - (2 * (double)i + 1) / N, axis[3] = {1, b, c};
		const double turns = fmod((double)i * (sqrt(5) - 1) / 2, 1), R = sqrt(1 - z * z);
		const double e[3] = {R * cos(2 * PI * turns), R * sin(2 * PI * turns), z};
		mass[i] = 1. / N;
		for (int k = 0; k < 3; k++) {
			pos[3 * i + k] = middle[k];
			for (int j = 0; j < 3; j++)
				pos[3 * i + k] += a * turn[k][j] * axis[j] * e[j];
		}
	}
}

static void check_shape(double inner, double outer, int reduced, double b, double c, double by)
{
	struct nb_shape shape;
	const double s = sqrt(0.5);
	CHECK(nb_shape_of(N, mass, pos, middle, 3, inner, outer, reduced, &shape) == NB_OK);
	CHECK(shape.settled && shape.n > 20000);
	CHECK_NEAR(shape.b_over_a, b, by);
	CHECK_NEAR(shape.c_over_a, c, by);
	CHECK_NEAR(fabs(shape.axis[0][0] - shape.axis[0][1]) * s, 1, 0.01);
	CHECK_NEAR(fabs(shape.axis[2][0] + shape.axis[2][1] + shape.axis[2][2] / s) / 2, 1, 0.01);
}

/* Round inside and flat outside, and each body with its mirror images, so that the axes are those of the coordinates:
 * the ratios are those of the plain iteration. */
static void reduced(void)
{
	double b = 1, c = 1;
	struct nb_shape shape;
	const size_t n = N / 8 * 8;
	for (size_t i = 0; i < n; i += 8) {
		double e[3];
		const double a = random_number();
		direction(e);
		for (size_t k = 0; k < 8; k++) {
			mass[i + k] = 1;
			pos[3 * (i + k)] = middle[0] + (k & 1 ? -a : a) * e[0];
			pos[3 * (i + k) + 1] = middle[1] + (k & 2 ? -a : a) * e[1] * (1 - 0.4 * a);
			pos[3 * (i + k) + 2] = middle[2] + (k & 4 ? -a : a) * e[2] * (1 - 0.7 * a);
		}
	}
	for (int step = 0; step < 100; step++) {
		double sum[3] = {0, 0, 0};
		for (size_t i = 0; i < n; i++) {
			const double x = pos[3 * i] - middle[0], y = pos[3 * i + 1] - middle[1],
				     z = pos[3 * i + 2] - middle[2];
			const double s2 = x * x + y * y / (b * b) + z * z / (c * c);
			sum[0] += x * x / s2;
			sum[1] += y * y / s2;
			sum[2] += z * z / s2;
		}
		b = sqrt(sum[1] / sum[0]);
		c = sqrt(sum[2] / sum[0]);
	}
	CHECK(nb_shape_of(n, mass, pos, middle, 3, 0, INFINITY, 1, &shape) == NB_OK && shape.settled);
	CHECK_NEAR(shape.b_over_a, b, 1e-3);
	CHECK_NEAR(shape.c_over_a, c, 1e-3);
	CHECK(nb_shape_of(n, mass, pos, middle, 3, 0, INFINITY, 0, &shape) == NB_OK);
	CHECK(shape.b_over_a < b - 0.01 && shape.c_over_a < c - 0.01); /* the flat outside counts more */
}

static void shapes(void)
{
	struct nb_shape shape;
	make_ellipsoid(0.7, 0.4);
	check_shape(0, INFINITY, 0, 0.7, 0.4, 0.002);
	check_shape(0, INFINITY, 1, 0.7, 0.4, 0.002);
	check_shape(0, 0.6, 0, 0.7, 0.4, 0.002);
	check_shape(0.3, 0.7, 1, 0.7, 0.4, 0.002);
	check_shape(0.3, 0.7, 0, 0.7, 0.4, 0.002);
	make_ellipsoid(0.9, 0.05);
	check_shape(0, 0.8, 1, 0.9, 0.05, 0.002);
	/* of the same density everywhere, there is none within a radius, and chance rarely finds one */
	state = 5;
	for (size_t i = 0; i < N; i++)
		for (int k = 0; k < 3; k++)
			pos[3 * i + k] = middle[k] + 2 * (random_number() - 0.5) * (k + 1);
	for (size_t n = 2000; n <= 32000; n *= 2) {
		CHECK(nb_shape_of(n, mass, pos, middle, 3, 0, 0.3, 0, &shape) == NB_OK);
		CHECK(!shape.settled && isnan(shape.b_over_a) && isnan(shape.c_over_a) && isnan(shape.axis[2][2]));
	}
	/* a square: two equal axes in its plane */
	const double m[4] = {1, 1, 1, 1}, x[12] = {1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0}, origin[3] = {0, 0, 0};
	CHECK(nb_shape_of(4, m, x, origin, 3, 0, INFINITY, 0, &shape) == NB_OK);
	CHECK(shape.settled && shape.b_over_a == 1 && shape.c_over_a == 0 && shape.n == 4);
	CHECK(nb_shape_of(4, m, x, origin, 3, 0, INFINITY, 1, &shape) == NB_OK);
	CHECK(shape.settled && shape.b_over_a == 1 && shape.c_over_a == 0 && shape.n == 4);
	CHECK(nb_shape_of(4, m, x, origin, 2, 0, INFINITY, 1, &shape) == NB_OK);
	CHECK(shape.settled && shape.b_over_a == 1 && isnan(shape.c_over_a) && shape.axis[2][2] == 1);
	CHECK(nb_shape_of(2, m, x, origin, 3, 0, 2, 0, &shape) == NB_OK);
	CHECK(shape.settled && shape.b_over_a == 0 && shape.axis[0][0] == 1);
	CHECK(nb_shape_of(0, m, x, origin, 3, 0, 2, 1, &shape) == NB_OK);
	CHECK(shape.settled && isnan(shape.b_over_a) && isnan(shape.c_over_a) && shape.n == 0);
}

/* ---- bound bodies ------------------------------------------------------------------------------- */

/* Two at rest with each other, one that only moves with them if the frame is that of the two, one that escapes. */
static void bound(void)
{
	const double m[4] = {2, 2, 1, 4}, v[12] = {1, 0, 0, 1, 0, 0, 2.9, 0, 0, -9, 0, 0}, w[4] = {-2, -2, -2, -3};
	double u[3] = {0, 0, 0};
	unsigned char is[4];
	CHECK(nb_bound_bodies(4, m, v, w, u, is) == NB_OK);
	/* the mean of the first two is 1, and with the third 1.38 */
	CHECK(is[0] == 1 && is[1] == 1 && is[2] == 1 && is[3] == 0);
	CHECK_NEAR(u[0], (2 + 2 + 2.9) / 5, 1e-15);
	/* of two, with the reduced mass 2/3, the distance (4, 15, 5) and its acceleration (6, 9, 9) */
	const double x[12] = {1, -10, 0, 3, -10, 0, 5, 5, 5, 6, 6, 6}, a[12] = {3, 0, 0, -3, 1, 0, 9, 9, 9, 9, 9, 9};
	const struct nb_centre near = {{1e3, 7, 3}, {1, 2, 3}, 0};
	const unsigned char two[4] = {1, 0, 1, 0}, none[4] = {0};
	struct nb_bound_energies e;
	CHECK(nb_bound_find_energies(4, m, x, v, w, a, &near, two, &e) == NB_OK && e.count == 2 && e.mass == 3);
	CHECK_NEAR(e.ekin, 1.9 * 1.9 / 3, 1e-12);
	CHECK_NEAR(e.epot, -3, 1e-12);
	CHECK_NEAR(e.clausius, -2. / 3 * (4 * 6 + 15 * 9 + 5 * 9), 1e-9);
	CHECK(nb_bound_find_energies(4, m, x, NULL, NULL, NULL, &near, NULL, &e) == NB_OK && e.mass == 9 &&
		isnan(e.ekin));
	CHECK(isnan(e.epot) && isnan(e.clausius));
	CHECK(nb_bound_find_energies(4, m, x, v, w, a, &near, none, &e) == NB_OK && e.count == 0 && isnan(e.ekin));
	double far[3] = {0, 0, 100};
	CHECK(nb_bound_bodies(4, m, v, w, far, is) == NB_OK && !is[0] && !is[3] && far[2] == 100);
	CHECK(nb_bound_bodies(0, m, v, w, far, is) == NB_OK);
}

static void same_bytes_for_any_threads(void)
{
	enum { BINS = 30 };
	struct {
		struct nb_profile_bin bin[BINS];
		double edge[BINS + 1], u[3];
		struct nb_centre centre;
		struct nb_shape shape;
		unsigned char bound[N];
	} *result = calloc(3, sizeof *result);
	make_plummer(0.5, 0.4, 0.1);
	for (size_t i = 0; i < N; i++)
		pot[i] = -random_number();
	const struct nb_profile of = all_of(N);
	for (int t = 0; t < 3; t++) {
		nb_cpu_set_threads(t + 1);
		memcpy(result[t].u, moves, sizeof moves);
		CHECK(nb_profile_edges_equal(&of, 0, 10, BINS, result[t].edge) == NB_OK);
		CHECK(nb_profile_bins(&of, BINS, result[t].edge, result[t].bin) == NB_OK);
		CHECK(nb_density_centre(N, mass, pos, vel, &result[t].centre) == NB_OK);
		CHECK(nb_shape_of(N, mass, pos, middle, 3, 0, 2, 1, &result[t].shape) == NB_OK);
		CHECK(nb_bound_bodies(N, mass, vel, pot, result[t].u, result[t].bound) == NB_OK);
	}
	nb_cpu_set_threads(0);
	CHECK(memcmp(&result[0], &result[1], sizeof result[0]) == 0);
	CHECK(memcmp(&result[0], &result[2], sizeof result[0]) == 0);
	free(result);
}

int main(void)
{
	plummer_sphere();
	anisotropy();
	by_hand();
	against_plain_search();
	density_centre();
	densities();
	two_crowds();
	reduced();
	shapes();
	bound();
	same_bytes_for_any_threads();
	return unit_end();
}
