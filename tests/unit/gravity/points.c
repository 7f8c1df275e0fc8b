/* The field at points against the oracle: bodies as points, other points, every law of softening and instruction set,
 * awkward numbers of both, hard cases, extreme units. */
#include "common/cpu.h"
#include "kernels/gravity/gravity.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { MOST = 5000 };

static double pos[3 * MOST], vel[3 * MOST], mass[MOST], eps[MOST], at[3 * MOST], at_eps[MOST];
static double acc[3 * MOST], pot[MOST], strength[MOST], jerk[3 * MOST];
static double ref_acc[3 * MOST], ref_pot[MOST], ref_strength[MOST], ref_jerk[3 * MOST], ref_turn[MOST];
static uint32_t target[MOST];
static const char *const isa_name[] = {"plain", "avx2", "avx512"};
enum law { COMMON, UNSOFTENED, EACH, SPLINE, EACH_SPLINE, LAWS };
static char label[100];

/* Every fifth body has no mass, and the third is where the fourth is. */
static struct nb_gravity problem(size_t n, enum law law)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t d = 0; d < 3; d++)
			pos[3 * i + d] = uniform() - 0.5;
		for (size_t d = 0; d < 3; d++)
			vel[3 * i + d] = 4 * (uniform() - 0.5);
		mass[i] = i % 5 == 2 ? 0 : 0.1 + uniform();
		eps[i] = i % 3 == 2 ? 0 : 0.5 * pow(uniform(), 3);
	}
	if (n > 3)
		memcpy(pos + 6, pos + 9, 3 * sizeof *pos);
	return (struct nb_gravity){.n = n,
		.pos = pos,
		.vel = vel,
		.mass = mass,
		.eps = law == COMMON || law == SPLINE ? 0.03 : 0,
		.G = 1.5,
		.precision = NB_F64,
		.softening = law == SPLINE || law == EACH_SPLINE ? NB_SPLINE : NB_PLUMMER,
		.body_eps = law == EACH || law == EACH_SPLINE ? eps : NULL};
}

/* -1 times the potential of a unit mass at squared distance d2. */
static double pull(const struct nb_gravity *g, double d2, double e)
{
	const double h = 2.8 * e, u = sqrt(d2) / h, u2 = u * u;
	if (g->softening == NB_PLUMMER)
		return d2 + e * e > 0 ? 1 / sqrt(d2 + e * e) : 0;
	if (!(sqrt(d2) < h))
		return d2 > 0 ? 1 / sqrt(d2) : 0;
	if (u < 0.5)
		return (2.8 - u2 * (16.0 / 3 + u2 * (6.4 * u - 9.6))) / h;
	return (3.2 - 1 / (15 * u) - u2 * (32.0 / 3 + u * (-16 + u * (9.6 - 32.0 / 15 * u)))) / h;
}

/* The sum of G m p^2 at x, without body self; and that of 4 G m p^3 u, u the speed relative to a body at row self: what
 * a jerk could be without cancellation. */
static double slow_strength(const struct nb_gravity *g, size_t self, const double *x, double own, double *turn)
{
	double sum = 0, lost = 0;
	*turn = 0;
	for (size_t j = 0; j < g->n; j++) {
		const double *y = g->pos + 3 * j, e = fmax(own, g->body_eps ? g->body_eps[j] : g->eps);
		const double d2 = (x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) +
				  (x[2] - y[2]) * (x[2] - y[2]);
		const double *v = g->vel + 3 * j, *w = g->vel + 3 * (self < g->n ? self : j);
		const double u = hypot(hypot(v[0] - w[0], v[1] - w[1]), v[2] - w[2]);
		const double p = j == self ? 0 : pull(g, d2, e);
		*turn += 4 * g->G * g->mass[j] * p * p * p * u;
		const double term = g->G * g->mass[j] * p * p - lost;
		const double next = sum + term;
		lost = (next - sum) - term;
		sum = next;
	}
	return sum;
}

/* Of all outputs, from the oracle: points are bodies of no mass behind the others. */
static void ask_oracle(const struct nb_gravity *g, const struct nb_gravity_points *points)
{
	static double all_pos[6 * MOST], all_mass[2 * MOST], all_eps[2 * MOST];
	static size_t row[MOST];
	struct nb_gravity all = *g;
	const size_t n = points->n;
	memcpy(all_pos, g->pos, 3 * g->n * sizeof *pos);
	memcpy(all_mass, g->mass, g->n * sizeof *mass);
	for (size_t j = 0; j < g->n; j++)
		all_eps[j] = g->body_eps ? g->body_eps[j] : g->eps;
	for (size_t k = 0; k < n; k++) {
		const size_t i = row[k] = points->target ? points->target[k] : g->n + k;
		if (!points->target) {
			memcpy(all_pos + 3 * i, points->pos + 3 * k, 3 * sizeof *pos);
			all_mass[i] = 0;
			all_eps[i] = points->eps ? points->eps[k] : 0;
		}
		ref_strength[k] = slow_strength(g, i, all_pos + 3 * i, all_eps[i], &ref_turn[k]);
	}
	all.n = points->target ? g->n : g->n + n;
	all.pos = all_pos;
	all.mass = all_mass;
	all.body_eps = all_eps;
	CHECK(nb_gravity_ref(&all, row, n, ref_acc, ref_pot, points->target ? ref_jerk : NULL) == 0);
}

static void poison(void)
{
	memset(acc, 0xff, sizeof acc);
	memset(pot, 0xff, sizeof pot);
	memset(strength, 0xff, sizeof strength);
	memset(jerk, 0xff, sizeof jerk);
}

/* |da| / f, the same of jerks, and the errors of pot and f themselves. */
static void compare(const struct nb_gravity_points *points, double by)
{
	for (size_t k = 0; k < points->n; k++) {
		const double f = ref_strength[k];
		for (size_t d = 0; d < 3 && points->acc; d++)
			WANT(fabs(acc[3 * k + d] - ref_acc[3 * k + d]) <= by * f);
		for (size_t d = 0; d < 3 && points->jerk; d++)
			WANT(fabs(jerk[3 * k + d] - ref_jerk[3 * k + d]) <= by * ref_turn[k]);
		if (points->pot)
			WANT(fabs(pot[k] - ref_pot[k]) <= by * fabs(ref_pot[k]));
		if (points->strength)
			WANT(fabs(strength[k] - f) <= by * f);
	}
}

static void accuracy(int best)
{
	static const size_t sources[] = {1, 2, 7, 480, 481, 5000}, places[] = {0, 1, 3, 64, 65, 130};
	for (int c = 0; c < 6 * LAWS * 18; c++) {
		const enum law law = (enum law)(c / 18 % LAWS);
		const size_t n = sources[c / 18 / LAWS], count = places[c / 3 % 6];
		const int kind = c % 3;
		if (n == 5000 && (count != 64 || (UNIT_SANITIZED && kind > 0)))
			continue;
		const struct nb_gravity g = problem(n, law);
		for (size_t k = 0; k < count; k++) {
			target[k] = (uint32_t)((n - 1 - k % n) * 7 % n);
			at_eps[k] = k % 2 ? 0.2 * uniform() : 0;
			for (size_t d = 0; d < 3; d++)
				at[3 * k + d] = k == 1 ? pos[d] : 1.5 * uniform() - 0.75;
		}
		struct nb_gravity_points points = {.n = count,
			.pos = kind ? at : NULL,
			.target = kind ? NULL : target,
			.eps = kind == 2 ? at_eps : NULL};
		ask_oracle(&g, &points);
		for (int isa = 0; isa <= best; isa++) {
			snprintf(label, sizeof label, "%s, law %d, n %zu, %zu points of kind %d", isa_name[isa], law, n,
				count, kind);
			setenv("NB_SIMD", isa_name[isa], 1);
			for (int more = 0; more < 4; more++) {
				points.acc = acc;
				points.pot = more % 2 ? pot : NULL;
				points.strength = more % 2 ? strength : NULL;
				points.jerk = more / 2 && points.target ? jerk : NULL;
				poison();
				WANT(nb_gravity_points_cpu(&g, &points) == 0);
				compare(&points, 1e-13);
			}
		}
	}
}

/* No sources, bodies that coincide, no gravity, bad arguments. */
static void edges(void)
{
	struct nb_gravity g = problem(4, UNSOFTENED);
	struct nb_gravity_points points = {.n = 2, .pos = at, .acc = acc, .pot = pot, .strength = strength};
	memset(at, 0, sizeof at);
	g.n = 0;
	poison();
	CHECK(nb_gravity_points_cpu(&g, &points) == 0);
	CHECK(acc[0] == 0 && acc[5] == 0 && pot[1] == 0 && strength[1] == 0);

	/* at a source: nothing without softening, its potential with it */
	g = problem(1, UNSOFTENED);
	memcpy(at, pos, 3 * sizeof *pos);
	CHECK(nb_gravity_points_cpu(&g, &points) == 0);
	CHECK(acc[0] == 0 && pot[0] == 0 && strength[0] == 0);
	g.eps = 0.25;
	CHECK(nb_gravity_points_cpu(&g, &points) == 0);
	CHECK(acc[0] == 0);
	CHECK_NEAR(pot[0], -g.G * mass[0] * 4, 1e-13);
	CHECK_NEAR(strength[0], g.G * mass[0] * 16, 1e-12);
	/* but not at itself */
	target[0] = 0;
	points.n = 1;
	points.target = target;
	CHECK(nb_gravity_points_cpu(&g, &points) == 0);
	CHECK(acc[0] == 0 && pot[0] == 0 && strength[0] == 0);
	g.G = 0;
	CHECK(nb_gravity_points_cpu(&g, &points) == 0);
	CHECK(acc[0] == 0 && pot[0] == 0 && strength[0] == 0);

	points.jerk = jerk;
	CHECK(nb_gravity_points_cpu(&g, &points) == 0);
	CHECK(acc[0] == 0 && pot[0] == 0 && jerk[0] == 0 && jerk[2] == 0);
	target[0] = 1;
	CHECK(nb_gravity_points_cpu(&g, &points) == NB_EINVAL);
	points.target = NULL;
	CHECK(nb_gravity_points_cpu(&g, &points) == NB_EINVAL); /* of what velocity? */
	points.jerk = NULL;
	at[1] = NAN;
	CHECK(nb_gravity_points_cpu(&g, &points) == NB_ENONFINITE);
	at[1] = 0;
	points.eps = at_eps;
	at_eps[0] = -1;
	CHECK(nb_gravity_points_cpu(&g, &points) == NB_EINVAL);
	at_eps[0] = INFINITY;
	CHECK(nb_gravity_points_cpu(&g, &points) == NB_ENONFINITE);
	points.eps = NULL;
	g.eps = -1;
	CHECK(nb_gravity_points_cpu(&g, &points) == NB_EINVAL);
	g.eps = 0;
	mass[0] = NAN;
	CHECK(nb_gravity_points_cpu(&g, &points) == NB_ENONFINITE);
}

/* In other units all outputs change by powers of them; a point far from all bodies is inside the scale. */
static void units(void)
{
	static double other_acc[3 * MOST], other_pot[MOST], other_strength[MOST], other_jerk[3 * MOST];
	const double length = 0x1p300, weight = 0x1p-500;
	for (enum law law = COMMON; law < LAWS; law++) {
		struct nb_gravity g = problem(700, law);
		for (size_t k = 0; k < 3 * 20; k++)
			at[k] = k == 0 ? 1e9 : uniform();
		struct nb_gravity_points points = {.n = 20, .pos = at, .acc = acc, .pot = pot, .strength = strength};
		struct nb_gravity_points bodies = {.n = 20, .target = target, .jerk = jerk};
		for (size_t k = 0; k < 20; k++)
			target[k] = (uint32_t)(7 * k);
		CHECK(nb_gravity_points_cpu(&g, &bodies) == 0);
		memcpy(other_jerk, jerk, sizeof jerk);
		CHECK(nb_gravity_points_cpu(&g, &points) == 0);
		CHECK_NEAR(acc[0] * 1e18, pot[0] * 1e9, 1e-6 * fabs(pot[0] * 1e9));
		memcpy(other_acc, acc, sizeof acc);
		memcpy(other_pot, pot, sizeof pot);
		memcpy(other_strength, strength, sizeof strength);
		for (size_t i = 0; i < 3 * g.n; i++)
			pos[i] *= length;
		for (size_t i = 0; i < g.n; i++) {
			mass[i] *= weight;
			eps[i] *= length;
		}
		for (size_t k = 0; k < 3 * 20; k++)
			at[k] *= length;
		g.eps *= length;
		CHECK(nb_gravity_points_cpu(&g, &points) == 0);
		for (size_t k = 0; k < 20; k++) {
			for (size_t d = 0; d < 3; d++)
				CHECK(acc[3 * k + d] == other_acc[3 * k + d] * weight / length / length);
			CHECK(pot[k] == other_pot[k] * weight / length);
			CHECK(strength[k] == other_strength[k] * weight / length / length);
		}
		for (size_t i = 0; i < 3 * g.n; i++)
			vel[i] *= 0x1p40;
		CHECK(nb_gravity_points_cpu(&g, &bodies) == 0);
		for (size_t k = 0; k < 60; k++)
			CHECK(jerk[k] == other_jerk[k] * weight / length / length * 0x1p40 / length);
	}
}

/* Outputs in the rows of the bodies have the numbers of those that are not, and 0 for all others. */
static void spread(void)
{
	static double out[5][3 * MOST];
	const struct nb_gravity g = problem(700, EACH);
	for (size_t count = 0; count <= 70; count += 35) {
		const struct nb_gravity_points points = {
			.n = count, .target = target, .acc = acc, .pot = pot, .strength = strength, .jerk = jerk};
		struct nb_gravity_points all = points;
		all.acc = out[0], all.pot = out[1], all.strength = out[2], all.jerk = out[3], all.spread = 1;
		memset(out, 0xff, sizeof out);
		for (size_t k = 0; k < 700; k++)
			out[4][k] = 0; /* whether it is a target */
		for (size_t k = 0; k < count; k++) {
			target[k] = (uint32_t)(699 - 10 * k);
			out[4][target[k]] = 1;
		}
		CHECK(nb_gravity_points_cpu(&g, &points) == NB_OK);
		CHECK(nb_gravity_points_cpu(&g, &all) == NB_OK);
		for (size_t k = 0; k < count; k++) {
			CHECK(memcmp(&out[0][3 * target[k]], &acc[3 * k], 3 * sizeof *acc) == 0);
			CHECK(out[1][target[k]] == pot[k] && out[2][target[k]] == strength[k]);
			CHECK(memcmp(&out[3][3 * target[k]], &jerk[3 * k], 3 * sizeof *jerk) == 0);
		}
		for (size_t i = 0; i < 700; i++)
			if (out[4][i] == 0)
				for (size_t d = 0; d < 3; d++)
					CHECK(out[0][3 * i + d] == 0 && out[1][i] == 0 && out[2][i] == 0 &&
						out[3][3 * i + d] == 0);
	}
	const struct nb_gravity_points places = {.n = 1, .pos = at, .acc = acc, .spread = 1};
	CHECK(nb_gravity_points_cpu(&g, &places) == NB_EINVAL);
}

/* The same bytes for any number of threads. */
static void threads(void)
{
	static double one[3 * MOST], one_jerk[3 * MOST];
	const struct nb_gravity g = problem(MOST, COMMON);
	const struct nb_gravity_points points = {.n = 100, .target = target, .acc = acc, .pot = pot, .jerk = jerk};
	for (size_t k = 0; k < 100; k++)
		target[k] = (uint32_t)(49 * k);
	for (int n = 1; n <= 5; n++) {
		nb_cpu_set_threads(n);
		poison();
		CHECK(nb_gravity_points_cpu(&g, &points) == 0);
		if (n == 1) {
			memcpy(one, acc, 300 * sizeof *one);
			memcpy(one_jerk, jerk, 300 * sizeof *one);
		}
		CHECK(memcmp(one, acc, 300 * sizeof *one) == 0);
		CHECK(memcmp(one_jerk, jerk, 300 * sizeof *one) == 0);
	}
	nb_cpu_set_threads(0);
}

int main(void)
{
	const int best = (int)nb_cpu_isa();
	nb_cpu_set_threads(2);
	accuracy(best);
	for (int isa = 0; isa <= best; isa++) {
		setenv("NB_SIMD", isa_name[isa], 1);
		units();
		edges();
	}
	spread();
	threads();
	return unit_end();
}
