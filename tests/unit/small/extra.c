/* Forces beside gravity: rates of orbits that theory gives; accelerations as slopes of potentials; momentum; the
 * integrators that have them agree; texts that are refused. */
#include "tests/unit/small/fifteen.h"

#include <math.h>
#include <string.h>

enum { MOST = 3 };

static struct nb_extra extra_of(const char *text, size_t n, const double *mass)
{
	struct nb_extra e;
	char why[NB_TERM_WHY] = "";
	const int status = nb_extra_parse(text, &e, why);
	if (status)
		printf("%s: %s\n", text, why);
	CHECK(status == NB_OK);
	CHECK(nb_extra_find(&e, n, mass, NULL, why) == NB_OK);
	return e;
}

/* ---- orbits ------------------------------------------------------------------------------------- */

/* Of body 1 about body 0, whose G m are these. */
struct elements {
	double a, e, i, node, peri; /* peri: from x, in the orbit; about the node for inclined ones */
};

static void cross(const double *a, const double *b, double *c)
{
	for (int d = 0; d < 3; d++)
		c[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

static double dot(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static struct elements elements_of(double mu, const double *x, const double *v)
{
	struct elements el;
	double l[3], e[3];
	const double r = sqrt(dot(x, x));
	cross(x, v, l);
	cross(v, l, e);
	for (int d = 0; d < 3; d++)
		e[d] = e[d] / mu - x[d] / r;
	el.a = 1 / (2 / r - dot(v, v) / mu);
	el.e = sqrt(dot(e, e));
	el.i = acos(l[2] / sqrt(dot(l, l)));
	el.node = atan2(l[0], -l[1]);
	const double node[3] = {cos(el.node), sin(el.node), 0};
	double side[3];
	cross(l, node, side);
	el.peri = atan2(dot(e, side) / sqrt(dot(l, l)), dot(e, node));
	if (el.i < 1e-8)
		el.peri = atan2(e[1], e[0]);
	return el;
}

/* A body at its pericentre, a = 1, in the field of a mass of 1. */
static void place(double gm, double e, double inc, double *x, double *v)
{
	const double speed = sqrt((1 + gm) * (1 + e) / (1 - e));
	memset(x, 0, 6 * sizeof *x);
	memset(v, 0, 6 * sizeof *v);
	x[3] = 1 - e;
	v[4] = speed * cos(inc);
	v[5] = speed * sin(inc);
}

/* How the elements of an orbit change in so many periods; mu of the elements. */
static struct elements change(const char *text, double gm, double mu, double e, double inc, double periods)
{
	const double mass[2] = {1, gm};
	const struct nb_extra extra = extra_of(text, 2, mass);
	double x[6], v[6], q[3], u[3];
	place(gm, e, inc, x, v);
	const struct elements from = elements_of(mu, x + 3, v + 3);
	follow_fifteen(2, mass, &extra, 2 * M_PI / sqrt(1 + gm) * periods, x, v);
	for (int d = 0; d < 3; d++) {
		q[d] = x[3 + d] - x[d];
		u[d] = v[3 + d] - v[d];
	}
	const struct elements to = elements_of(mu, q, u);
	const struct elements by = {
		to.a - from.a, to.e - from.e, to.i - from.i, to.node - from.node, to.peri - from.peri};
	printf("%s: a %.4g e %.4g i %.4g node %.6g peri %.6g\n", text, by.a, by.e, by.i, by.node, by.peri);
	return by;
}

static void test_rates(void)
{
	/* 6 pi G M / (c^2 a (1 - e^2)) an orbit */
	const double advance = 60 * M_PI * 1e-6 / (1 - 0.09);
	CHECK_NEAR(change("gr c=1000", 0, 1, 0.3, 0, 10).peri / advance, 1, 3e-4);
	CHECK_NEAR(change("gr-potential c=1000", 0, 1, 0.3, 0, 10).peri / advance, 1, 1e-3);

	CHECK_NEAR(change("gr-full c=1000", 0.5, 1.5, 0.3, 0, 10).peri / (1.5 * advance), 1, 1e-3);

	/* the node goes back, and the pericentre stands still at 63.43 degrees */
	const double n_j2 = 20 * M_PI * 1e-6 * 0.25 / ((1 - 0.04) * (1 - 0.04)), inc = 0.7;
	const struct elements by = change("oblate j2=1e-6 r=0.5", 0, 1, 0.2, inc, 10);
	CHECK_NEAR(by.node / (-1.5 * n_j2 * cos(inc)), 1, 3e-4);
	CHECK_NEAR(by.peri / (0.75 * n_j2 * (5 * cos(inc) * cos(inc) - 1)), 1, 3e-4);
	CHECK_NEAR(change("oblate j2=1e-6 r=0.5", 0, 1, 0.2, acos(sqrt(0.2)), 10).peri / n_j2, 0, 1e-3);
	CHECK_NEAR(change("oblate j2=1e-6 r=0.5", 0, 1, 0.2, 0, 10).peri / (1.5 * n_j2), 1, 3e-4);
	/* the node of a circle by j4: 15/8 n j4 (R/a)^4 cos i (2 - 7/2 sin^2 i) with the sign of this potential */
	const double n_j4 = 20 * M_PI * 1e-6 * 0.0625, s2 = sin(inc) * sin(inc);
	CHECK_NEAR(change("oblate j2=0 j4=1e-6 r=0.5", 0, 1, 0, inc, 10).node /
			   (15.0 / 8 * n_j4 * cos(inc) * (2 - 3.5 * s2)),
		1, 1e-3);

	const double bulge = 0.1 * 1e-3 * pow(0.2, 5); /* k2 m (R/a)^5 */
	CHECK_NEAR(change("tides k2=0.1 r=0.2", 1e-3, 1.001, 0.01, 0, 10).peri / (20 * M_PI * 7.5 * bulge), 1, 5e-3);
	CHECK_NEAR(change("tides k2=0.1 r=0.2 tau=0.01", 1e-3, 1.001, 0, 0, 10).a / (20 * M_PI * -6 * 0.01 * bulge), 1,
		5e-3);
	/* a body that turns as the orbit does has no torque, and one that turns faster drives it out */
	CHECK_NEAR(
		change("tides k2=0.1 r=0.2 tau=0.01 omega=1", 1e-3, 1.001, 0, 0, 10).a / (20 * M_PI * 6 * 0.01 * bulge),
		0, 2e-3);
	CHECK_NEAR(change("tides k2=0.1 r=0.2 tau=0.01 omega=3", 1e-3, 1.001, 0, 0, 10).a /
			   (20 * M_PI * 6 * 0.01 * 2 * bulge),
		1, 5e-3);

	/* Poynting and Robertson */
	CHECK_NEAR(change("radiation beta=1e-4 c=1e4", 0, 1 - 1e-4, 0, 0, 10).a / (-20 * M_PI * 2 * 1e-8), 1, 1e-3);
	CHECK_NEAR(change("radiation beta=1e-4 c=1e4", 0, 1 - 1e-4, 0.5, 0, 10).a /
			   (-20 * M_PI * 1e-8 * 2.75 / pow(0.75, 1.5)),
		1, 3e-3);

	CHECK_NEAR(change("damp on=1 tau_a=1e6", 0, 1, 0, 0, 10).a / (-20 * M_PI * 1e-6), 1, 1e-3);
	CHECK_NEAR(change("damp on=1 tau_e=1e6", 0, 1, 0.01, 0, 10).e / (-20 * M_PI * 1e-8), 1, 1e-3);
	CHECK_NEAR(change("damp on=1 tau_i=1e6", 0, 1, 0, 0.01, 10).i / (-20 * M_PI * 1e-8), 1, 1e-3);
	CHECK_NEAR(change("damp on=1 tau_a=-1e6", 0, 1, 0, 0, 10).a / (20 * M_PI * 1e-6), 1, 1e-3);
}

/* ---- forces ------------------------------------------------------------------------------------- */

static const double mass3[MOST] = {2, 0.3, 0.1};
static const double x3[3 * MOST] = {0.1, -0.2, 0.3, 1.1, 0.4, -0.2, -0.8, 1.5, 0.9};
static const double v3[3 * MOST] = {0, 0.1, 0, 0.2, 1, -0.3, 0.6, -0.1, 0.2};

static double energy(const struct nb_extra *e, const double *x)
{
	double acc[3 * MOST] = {0}, pot[MOST] = {0}, sum = 0;
	nb_extra_add(e, MOST, mass3, x, NULL, acc, pot);
	for (int i = 0; i < MOST; i++)
		sum += mass3[i] * pot[i] / 2;
	return sum;
}

static void test_slopes(void)
{
	static const char *const texts[] = {"gr-potential c=3", "oblate j2=0.1 r=0.4 inc=30 node=70",
		"oblate j2=0 j4=0.3 r=0.4 inc=130 node=20 body=1", "tides k2=0.3 r=0.4"};
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
		const struct nb_extra e = extra_of(texts[k], MOST, mass3);
		double acc[3 * MOST] = {0};
		CHECK(!nb_extra_needs_velocities(&e));
		nb_extra_add(&e, MOST, mass3, x3, NULL, acc, NULL);
		for (int i = 0; i < 3 * MOST; i++) {
			double up[3 * MOST], down[3 * MOST];
			memcpy(up, x3, sizeof up);
			memcpy(down, x3, sizeof down);
			up[i] += 1e-4;
			down[i] -= 1e-4;
			CHECK_NEAR(mass3[i / 3] * acc[i], -(energy(&e, up) - energy(&e, down)) / 2e-4, 1e-8);
		}
	}
}

static void test_momentum(void)
{
	const struct nb_extra e = extra_of(
		"gr c=3; gr-potential c=3; oblate j2=1 r=0.3 inc=20; tides k2=1 r=0.3 tau=0.1 omega=2 body=1", MOST,
		mass3);
	double acc[3 * MOST] = {0};
	nb_extra_add(&e, MOST, mass3, x3, v3, acc, NULL);
	CHECK(nb_extra_needs_velocities(&e) && e.from[0] == 0 && e.from[3] == 1);
	for (int d = 0; d < 3; d++) {
		CHECK_NEAR(2 * acc[d] + 0.3 * acc[3 + d] + 0.1 * acc[6 + d], 0, 1e-15);
		CHECK(acc[d] != 0 && acc[3 + d] != 0 && acc[6 + d] != 0);
	}
}

static double apart(const double *x, const double *y)
{
	double most = 0;
	for (int k = 0; k < 3 * MOST; k++)
		most = fmax(most, fabs(x[k] - y[k]));
	return most;
}

/* The energy in the first order of relativity, of the Lagrangian of Einstein, Infeld and Hoffmann; light INFINITY: that
 * of Newton. */
static double energy_of_pairs(double light, const double *x, const double *v)
{
	double sum = 0, terms = 0;
	for (int i = 0; i < MOST; i++) {
		const double *vi = &v[3 * i], v2 = dot(vi, vi);
		double depth = 0;
		sum += mass3[i] / 2 * v2;
		terms += 3.0 / 8 * mass3[i] * v2 * v2;
		for (int j = 0; j < MOST; j++) {
			const double *vj = &v[3 * j], d[3] = {x[3 * i] - x[3 * j], x[3 * i + 1] - x[3 * j + 1],
							      x[3 * i + 2] - x[3 * j + 2]};
			const double r2 = dot(d, d), w = i == j ? 0 : mass3[i] * mass3[j] / sqrt(r2);
			sum -= w / 2;
			depth += w / mass3[i];
			terms += i == j ? 0 : w / 4 * (6 * v2 - 7 * dot(vi, vj) - dot(d, vi) * dot(d, vj) / r2);
		}
		terms += mass3[i] / 2 * depth * depth;
	}
	return sum + terms / (light * light);
}

static void test_all_pairs(void)
{
	/* about a body that stands still, as gr */
	static const double mass[2] = {1, 0};
	const double x[6] = {0.1, 0.2, 0, 1, 0.5, 0.3}, v[6] = {0, 0, 0, -0.4, 0.9, 0.1};
	double one[6] = {0}, all[6] = {0}, y[3 * MOST], u[3 * MOST];
	const struct nb_extra gr = extra_of("gr c=10", 2, mass), full = extra_of("gr-full c=10", 2, mass);
	nb_extra_add(&gr, 2, mass, x, v, one, NULL);
	nb_extra_add(&full, 2, mass, x, v, all, NULL);
	for (int d = 0; d < 6; d++)
		CHECK_NEAR(all[d], one[d], 1e-17);
	CHECK(all[4] != 0 && nb_extra_needs_velocities(&full));
	/* the energy is conserved to the next order, about a centre that moves */
	const struct nb_extra e = extra_of("gr-full c=1000", MOST, mass3);
	double fall[3] = {0};
	memcpy(y, x3, sizeof y);
	memcpy(u, v3, sizeof u);
	for (int k = 0; k < 3 * MOST; k++)
		fall[k % 3] += mass3[k / 3] * u[k] / 2.4;
	for (int k = 0; k < 3 * MOST; k++)
		u[k] -= fall[k % 3];
	const double first = energy_of_pairs(1000, y, u), newton = energy_of_pairs(INFINITY, y, u);
	follow_fifteen(MOST, mass3, &e, 2, y, u);
	printf("energy: %.3g, of Newton %.3g\n", energy_of_pairs(1000, y, u) - first,
		energy_of_pairs(INFINITY, y, u) - newton);
	CHECK_NEAR(energy_of_pairs(1000, y, u), first, 5e-10);
	CHECK(fabs(energy_of_pairs(INFINITY, y, u) - newton) > 1e-7);
	/* as fast as it moves, the forces are the same */
	double still[3 * MOST] = {0}, moving[3 * MOST] = {0};
	nb_extra_add(&e, MOST, mass3, y, u, still, NULL);
	for (int k = 0; k < 3 * MOST; k++)
		u[k] += 5;
	nb_extra_add(&e, MOST, mass3, y, u, moving, NULL);
	CHECK(apart(still, moving) < 1e-17);
}

/* ---- integrators -------------------------------------------------------------------------------- */

/* The potential of relativity of the star in the kicks of vectors is that of nb_extra_add. */
static void test_relativity(void)
{
	static const double mass[MOST] = {1, 1e-3, 1e-3};
	const double x0[3 * MOST] = {0, 0, 0, 1, 0, 0, 0, 2.1, 0.1}, v0[3 * MOST] = {0, 0, 0, 0, 1.05, 0.1, -0.7};
	const struct nb_extra e = extra_of("gr-potential c=10", MOST, mass);
	double x[2][3 * MOST], v[3 * MOST];
	for (int k = 0; k < 2; k++) {
		struct nb_whfast w;
		CHECK(nb_whfast_begin(&w, MOST, mass, 1, 17, 0) == NB_OK);
		if (k == 0)
			nb_whfast_add_extra(&w, &e);
		else
			w.extra = &e;
		CHECK(!w.extra == (k == 0));
		CHECK(nb_whfast_load(&w, x0, v0, 0.1) == NB_OK);
		CHECK(nb_whfast_steps(&w, 1000) == NB_OK && nb_whfast_store(&w, x[k], v) == NB_OK);
	}
	CHECK(apart(x[0], x[1]) < 1e-11);
}

static void test_integrators(void)
{
	static const double mass[MOST] = {1, 1e-3, 1e-3};
	const double x0[3 * MOST] = {0, 0, 0, 1, 0, 0, 0, 2.1, 0.1}, v0[3 * MOST] = {0, 0, 0, 0, 1.05, 0.1, -0.7};
	const struct nb_extra e = extra_of("gr-potential c=50; oblate j2=1e-3 r=0.3 inc=10", MOST, mass);
	double x[3 * MOST], v[3 * MOST], y[3 * MOST], u[3 * MOST], none[3 * MOST], error[2];
	memcpy(x, x0, sizeof x);
	memcpy(v, v0, sizeof v);
	follow_fifteen(MOST, mass, &e, 50, x, v);
	memcpy(none, x0, sizeof x);
	memcpy(v, v0, sizeof v);
	follow_fifteen(MOST, mass, NULL, 50, none, v);
	CHECK(apart(x, none) > 1e-2);
	for (int k = 0; k < 2; k++) {
		struct nb_whfast w;
		CHECK(nb_whfast_begin(&w, MOST, mass, 1, 17, 0) == NB_OK);
		nb_whfast_add_extra(&w, &e);
		CHECK(w.extra == &e && nb_whfast_load(&w, x0, v0, 0.2 / (k + 1)) == NB_OK);
		CHECK(nb_whfast_steps(&w, 250 * ((uint64_t)k + 1)) == NB_OK && nb_whfast_store(&w, y, u) == NB_OK);
		error[k] = apart(x, y);
	}
	printf("whfast: %.3g %.3g\n", error[0], error[1]);
	CHECK(error[0] < 1e-5 && error[1] < error[0] / 3);
	for (int k = 0; k < 2; k++) {
		struct nb_trace t;
		CHECK(nb_trace_begin(&t, MOST, mass, 1) == NB_OK);
		t.extra = &e;
		nb_trace_load(&t, x0, v0);
		for (int step = 0; step < 500 << k; step++)
			CHECK(nb_trace_step(&t, 0.1 / (1 << k)) == NB_OK);
		nb_trace_store(&t, y, u);
		error[k] = apart(x, y);
	}
	printf("trace: %.3g %.3g\n", error[0], error[1]);
	CHECK(error[0] < 1e-3 && error[0] / error[1] > 3.5 && error[0] / error[1] < 4.5);
}

/* At multiples of 90 degrees without the error of a sine of pi. */
static void test_axes(void)
{
	static const struct {
		const char *text;
		double axis[3];
	} of[] = {{"oblate j2=1 r=1 inc=180", {0, 0, -1}}, {"oblate j2=1 r=1 inc=-360", {0, 0, 1}},
		{"oblate j2=1 r=1 inc=90 node=180", {0, 1, 0}}, {"oblate j2=1 r=1 inc=270 node=-90", {1, 0, 0}}};
	for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
		const struct nb_extra e = extra_of(of[k].text, MOST, mass3);
		for (int d = 0; d < 3; d++)
			CHECK(e.axis[0][d] == of[k].axis[d]);
	}
}

static void test_texts(void)
{
	static const char *const bad[] = {"", "gr", "gr c=0", "gr c=1 r=2", "oblate r=1", "wind c=1", "gr c=1; ",
		"damp", "damp on=1", "damp on=1 tau_a=1 tau_e=0", "damp on=0.5 tau_a=1", "gr c=1 body=9007199254740992",
		"gr-full c=1 body=0", "tides k2=1 r=1 omega=1", "tides k2=1 r=1 tau=1 inc=3"};
	const uint64_t id[2] = {7, 9};
	const double massless[2] = {1, 0}, mass17[NB_SMALL_MOST + 1] = {1};
	struct nb_extra e;
	char why[NB_TERM_WHY];
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
		CHECK(nb_extra_parse(bad[k], &e, why) == NB_EINVAL);
	CHECK(nb_extra_parse("gr c=1 body=8; damp:on=9,tau_a=1", &e, why) == NB_OK);
	CHECK(nb_extra_find(&e, 2, mass3, id, why) == NB_EINVAL && strstr(why, "id 8"));
	CHECK(nb_extra_parse("gr c=1 body=9; damp:on=9,tau_a=1", &e, why) == NB_OK);
	CHECK(nb_extra_find(&e, 2, mass3, id, why) == NB_OK);
	CHECK(e.from[0] == 1 && e.from[1] == 0 && e.on[1] == 1);
	CHECK(nb_extra_parse("damp on=7 tau_a=1", &e, why) == NB_OK);
	CHECK(nb_extra_find(&e, 2, mass3, id, why) == NB_EINVAL && strstr(why, "centre itself"));
	CHECK(nb_extra_parse("gr-full c=1", &e, why) == NB_OK);
	CHECK(nb_extra_find(&e, NB_SMALL_MOST + 1, mass17, NULL, why) == NB_EINVAL && strstr(why, "more than 16"));
	CHECK(nb_extra_parse("tides k2=1 r=1 body=9", &e, why) == NB_OK);
	CHECK(nb_extra_find(&e, 2, massless, id, why) == NB_EINVAL && strstr(why, "body 9, has no mass"));
}

int main(void)
{
	test_rates();
	test_slopes();
	test_momentum();
	test_all_pairs();
	test_integrators();
	test_relativity();
	test_axes();
	test_texts();
	return unit_end();
}
