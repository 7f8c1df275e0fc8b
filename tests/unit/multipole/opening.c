/* The acceptance criterion: its forms against the scalar one, and what makes bounds of it safe. */
#include "kernels/multipole/opening_body.h"

#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#pragma GCC diagnostic ignored "-Wpsabi" /* no vector goes from one object to another */
typedef float v8f __attribute__((vector_size(32)));

static NB_HD v8f square_root(v8f v)
{
	for (int k = 0; k < 8; k++)
		v[k] = sqrtf(v[k]);
	return v;
}
#define NB_REAL v8f
#define NB_REAL_NAME v8f
#define NB_SQRT square_root
#include "kernels/multipole/opening_body.h"

/* A cell and a target of sizes, distances and masses over six decades, or hostile: without size, in one place, far. */
struct pair {
	double mass, enclosing, radius, reach, d2, eps2, limit;
};

static struct pair any_pair(void)
{
	struct pair p = {
		decades(1e-6, 1), 0, decades(1e-3, 1), decades(1e-3, 1), decades(1e-4, 1e4), 0, decades(1e-12, 1e-2)};
	p.enclosing = p.mass * decades(1, 100);
	const unsigned hostile = (unsigned)(random_u64() % 16);
	if (hostile == 0)
		p.radius = 0;
	if (hostile == 1)
		p.reach = 0;
	if (hostile == 2)
		p.d2 = 0;
	if (hostile == 3)
		p.eps2 = decades(1e-6, 1);
	if (hostile == 4)
		p.radius = p.reach = p.d2 = 0;
	if (hostile == 5)
		p.d2 = INFINITY;
	if (hostile == 6)
		p.mass = p.enclosing = INFINITY;
	return p;
}

static double size2_of(const struct pair *p)
{
	return (p->radius + p->reach) * (p->radius + p->reach);
}

static int on_cell(int order, const struct pair *p)
{
	return nb_mac_accepts_on_cell(
		order, p->mass, p->enclosing, size2_of(p), p->reach * p->reach, p->d2, p->d2 + p->eps2, 1, p->limit);
}

static int on_body(int order, const struct pair *p)
{
	return nb_mac_accepts_on_body(order, p->mass, p->radius, sqrt(p->d2) - p->reach, p->eps2, p->limit);
}

/* Lane by lane the vectors are the floats, and these the doubles but for rounding; what is no number is none in all. */
static void test_forms(int order)
{
	struct pair p[8];
	v8f mass, enclosing, size2, reach2, radius2, inv;
	for (int k = 0; k < 8; k++) {
		p[k] = any_pair();
		mass[k] = (float)p[k].mass, enclosing[k] = (float)p[k].enclosing;
		size2[k] = (float)size2_of(&p[k]), reach2[k] = (float)(p[k].reach * p[k].reach);
		radius2[k] = (float)(p[k].radius * p[k].radius), inv[k] = 1 / (float)(p[k].d2 + p[k].eps2);
	}
	const v8f cell = nb_mac_on_cell_v8f(order, mass, enclosing, size2, reach2, inv),
		  body = nb_mac_on_body_v8f(order, mass, radius2, inv);
	for (int k = 0; k < 8; k++) {
		const float one[2] = {nb_mac_on_cell_f32(order, mass[k], enclosing[k], size2[k], reach2[k], inv[k]),
			nb_mac_on_body_f32(order, mass[k], radius2[k], inv[k])};
		const double exact[2] = {nb_mac_on_cell_f64(order, p[k].mass, p[k].enclosing, size2_of(&p[k]),
						 p[k].reach * p[k].reach, 1 / (p[k].d2 + p[k].eps2)),
			nb_mac_on_body_f64(order, p[k].mass, p[k].radius * p[k].radius, 1 / (p[k].d2 + p[k].eps2))};
		const float lane[2] = {cell[k], body[k]};
		for (int s = 0; s < 2; s++) {
			CHECK(lane[s] == one[s] || (isnan(lane[s]) && isnan(one[s])));
			CHECK(isnan(one[s]) == isnan(exact[s]));
			if (exact[s] > 1e-30 && exact[s] < 1e30)
				CHECK_NEAR(one[s] / exact[s], 1, 2e-6);
		}
	}
}

/* What is accepted stays so for what is farther, smaller, lighter, or tolerates more: so the nearest, largest and least
 * tolerant of some targets stands for all of them.  Nothing is accepted that overlaps the target, that has no finite
 * mass, or where nothing is tolerated. */
static void test_bounds(int order)
{
	const struct pair p = any_pair();
	struct pair less = p;
	less.d2 *= 1 + uniform();
	less.reach *= uniform();
	less.radius *= uniform();
	less.mass *= uniform();
	less.enclosing *= uniform();
	less.limit *= 1 + uniform();
	CHECK(!on_cell(order, &p) || on_cell(order, &less) || isinf(p.d2));
	CHECK(!on_body(order, &p) || on_body(order, &less) || isinf(p.d2));
	if (p.d2 <= size2_of(&p) || isinf(p.mass))
		CHECK(!on_cell(order, &p));
	if (sqrt(p.d2) <= p.radius + p.reach || isinf(p.mass))
		CHECK(!on_body(order, &p));
	less = p;
	less.limit = 0;
	CHECK(!on_cell(order, &less) && !on_body(order, &less));
}

/* By hand: a cell of mass 1 and radius 0.1 at distance 2 of a target of reach 0.1. */
static void test_by_hand(void)
{
	const double t = 0.04 / 4, s = 0.01 / 4, b = 0.01 / 3.61;
	CHECK_NEAR(nb_mac_on_cell_f64(2, 1, 3, 0.04, 0.01, 0.25), 0.25 * (pow(t, 3) + 1.5 * pow(s, 3)), 1e-15);
	CHECK_NEAR(nb_mac_on_cell_f64(3, 1, 3, 0.04, 0.01, 0.25), 0.25 * (pow(t, 3.5) + 1.5 * pow(s, 3.5)), 1e-15);
	CHECK_NEAR(nb_mac_on_cell_f64(4, 1, 3, 0.04, 0.01, 0.25), 0.25 * (pow(t, 4) + 1.5 * pow(s, 4)), 1e-15);
	CHECK_NEAR(nb_mac_on_body_f64(2, 1, 0.01, 1 / 3.61), 0.5 * b * b / 3.61, 1e-15);
	CHECK_NEAR(nb_mac_on_body_f64(3, 1, 0.01, 1 / 3.61), 0.5 * pow(b, 2.5) / 3.61, 1e-15);
	CHECK_NEAR(nb_mac_on_body_f64(4, 1, 0.01, 1 / 3.61), 1.5 * pow(b, 3) / 3.61, 1e-15);
	/* softening lets cells be accepted that overlap, unless they may share bodies */
	CHECK(nb_mac_accepts_on_cell(2, 1e-9, 1e-9, 1, 0.25, 0.5, 4, 0, 1));
	CHECK(!nb_mac_accepts_on_cell(2, 1e-9, 1e-9, 1, 0.25, 0.5, 4, 1, 1));
}

int main(void)
{
	test_by_hand();
	for (int order = 1; order <= 4; order++)
		for (int k = 0; k < 20000; k++) {
			test_forms(order);
			test_bounds(order);
		}
	return unit_end();
}
