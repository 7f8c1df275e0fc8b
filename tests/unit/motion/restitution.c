/* Collisions that lose energy, against values worked out by hand, by the tree and by all pairs. */
#include "tests/unit/motion/bodies.h"

static const double restitutions[] = {0, 0.25, 0.5, 0.75, 1};
enum { RESTITUTIONS = sizeof restitutions / sizeof *restitutions };

static void head_on(collide_function collide)
{
	/* equal bodies, 3 and -1: gap 2, contact at 0.5; about the mean 1 they come with 2 and go with 2 e */
	for (int k = 0; k < RESTITUTIONS; k++) {
		const double e = restitutions[k];
		struct bodies b = make(2);
		b.restitution = e;
		place(&b, 0, -2, 0, 3, 0);
		place(&b, 1, 2, 0, -1, 0);
		CHECK(contacts(&b, collide, NB_COLLIDE_BOUNCE, 2) == 1);
		CHECK(b.vel[0] == 1 - 2 * e && b.vel[3] == 1 + 2 * e);
		CHECK_NEAR(b.pos[0], -0.5 + 1.5 * (1 - 2 * e), 1e-15);
		CHECK_NEAR(b.pos[3], 1.5 + 1.5 * (1 + 2 * e), 1e-15);
		release(&b);
	}
}

static void weights(collide_function collide)
{
	/* 3 and 5, with 1 and -1: momentum -2, so -0.25 is what both have after e = 0; they come with 1.25 and 0.75 */
	for (int k = 0; k < RESTITUTIONS; k++) {
		const double e = restitutions[k];
		struct bodies b = make(2);
		b.restitution = e;
		b.mass[0] = 3;
		b.mass[1] = 5;
		place(&b, 0, -2, 0, 1, 0);
		place(&b, 1, 2, 0, -1, 0);
		const struct sums before = sums_of(&b, 1);
		CHECK(contacts(&b, collide, NB_COLLIDE_BOUNCE, 1.5) == 1);
		const struct sums after = sums_of(&b, 1);
		CHECK_NEAR(b.vel[0], -0.25 - 1.25 * e, 1e-15);
		CHECK_NEAR(b.vel[3], -0.25 + 0.75 * e, 1e-15);
		CHECK_NEAR(after.momentum[0], before.momentum[0], 4e-15);
		/* mu = 15/8, v = 2 */
		CHECK_NEAR(before.ekin - after.ekin, (1 - e * e) * 15.0 / 8 * 4 / 2, 1e-15);
		release(&b);
	}
	/* a wall, and a body without mass */
	struct bodies b = make(2);
	b.restitution = 0.5;
	b.mass[1] = 0;
	place(&b, 0, -2, 0, 1, 0);
	place(&b, 1, 2, 0, -1, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_BOUNCE, 1.5) == 1);
	CHECK(b.vel[0] == 1 && b.vel[3] == 2);
	release(&b);
}

static void oblique(collide_function collide)
{
	/* body 1 at rest is hit at 45 degrees: along the line of centres 2 / sqrt(2), across it nothing changes */
	for (int k = 0; k < RESTITUTIONS; k++) {
		const double e = restitutions[k], r = sqrt(2), m0 = 3, m1 = 5, v = 2 / r;
		struct bodies b = make(2);
		b.restitution = e;
		b.mass[0] = m0;
		b.mass[1] = m1;
		place(&b, 0, -10 - r, 0, 2, 0);
		place(&b, 1, 0, r, 0, 0);
		const struct sums before = sums_of(&b, 1);
		CHECK(contacts(&b, collide, NB_COLLIDE_BOUNCE, 6) == 1);
		const struct sums after = sums_of(&b, 1);
		const double given = (1 + e) * v * m0 / (m0 + m1);
		CHECK_NEAR(b.vel[3], given / r, 1e-14);
		CHECK_NEAR(b.vel[4], given / r, 1e-14);
		CHECK_NEAR(((b.vel[3] - b.vel[0]) + (b.vel[4] - b.vel[1])) / r, e * v, 1e-14);
		CHECK_NEAR(b.vel[0] - b.vel[1], 2, 1e-14); /* across */
		for (int d = 0; d < 2; d++)
			CHECK_NEAR(after.momentum[d], before.momentum[d], 4e-15);
		CHECK_NEAR(before.ekin - after.ekin, (1 - e * e) * m0 * m1 / (m0 + m1) * v * v / 2, 1e-14);
		release(&b);
	}
}

static void chain(collide_function collide)
{
	/* 1 hits 0, that one hits a third, and is caught again: e = 1/2, gaps 1, all numbers exact */
	struct bodies b = make(3);
	b.restitution = 0.5;
	place(&b, 0, 0, 0, 1, 0);
	place(&b, 1, 3, 0, 0, 0);
	place(&b, 2, 6, 0, 0, 0);
	/* at 1: 1/4 and 3/4; at 1 + 4/3: 3/16 and 9/16, with 0 two thirds behind, which closes with 1/16 */
	CHECK(contacts(&b, collide, NB_COLLIDE_BOUNCE, 12) == 2);
	CHECK(b.vel[0] == 0.25 && b.vel[3] == 0.1875 && b.vel[6] == 0.5625);
	place(&b, 0, 0, 0, 1, 0);
	place(&b, 1, 3, 0, 0, 0);
	place(&b, 2, 6, 0, 0, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_BOUNCE, 14) == 3);
	CHECK(b.vel[0] == 0.203125 && b.vel[3] == 0.234375 && b.vel[6] == 0.5625);
	release(&b);
}

static void later_velocities(collide_function collide)
{
	struct bodies b = make(2);
	b.restitution = 0.5;
	place(&b, 0, -2, 0, 1, 0);
	place(&b, 1, 2, 0, -1, 0);
	b.mass[1] = 3;
	b.later[0] = 10;
	b.later[3] = 20;
	CHECK(contacts(&b, collide, NB_COLLIDE_BOUNCE, 2) == 1);
	CHECK(b.vel[0] == -1.25 && b.vel[3] == -0.25); /* by 3 / 4 and 1 / 4 of 3 */
	CHECK(b.later[0] == 7.75 && b.later[3] == 20.75);
	release(&b);
}

/* One that is hit with 1 meets another with 2^-11, which is so slow beside it that the contact is elastic: they
 * exchange their velocities.  Met with 2^-9, or by bodies that nothing has hit, it is not. */
static void slow(collide_function collide)
{
	for (size_t turn = 0; turn < 2; turn++)
		for (int k = 0; k < 3; k++) {
			const double gap = 0x1p-12, closing = k == 1 ? 0x1p-9 : 0x1p-11;
			const size_t middle = 1 + turn, last = 2 - turn; /* so that ids do not matter */
			struct bodies b = make(3);
			b.restitution = 0.5;
			b.id[0] = turn ? 9 : 0;
			place(&b, 0, k == 2 ? -100 : -3, 0, k == 2 ? 0 : 1, 0);
			place(&b, middle, 0, 0, k == 2 ? 0.75 : 0, 0);
			place(&b, last, 2 + gap + (k == 2 ? 0 : 0.75 - closing), 0, 0, 0);
			b.pos[3 * last] -= k == 2 ? 0 : 2 * (0.75 - closing);
			b.vel[3 * last] = 0.75 - closing;
			CHECK(contacts(&b, collide, NB_COLLIDE_BOUNCE, 4) == (k == 2 ? 1 : 2));
			const double go = k == 0 ? 1 : 0.5; /* the restitution that acts */
			CHECK_NEAR(b.vel[3 * middle], 0.75 - closing * (1 + go) / 2, 1e-15);
			CHECK_NEAR(b.vel[3 * last], 0.75 - closing * (1 - go) / 2, 1e-15);
			release(&b);
		}
}

/* A row of bodies that is hit: without an end of contacts, were it not for elastic ones.  Nobody goes through another.
 * A short row with e = 0 goes on together with the mean velocity, but for what slow elastic contacts leave. */
static void collapse(collide_function collide)
{
	static const double e[] = {0, 0.05, 0.3};
	enum { MOST = 12 };
	for (int k = 0; k < 3; k++)
		for (size_t n = 4; n <= MOST; n += 8) {
			struct bodies b = make(n);
			b.restitution = e[k];
			for (size_t i = 0; i < n; i++)
				place(&b, i, i ? 2 + 2.01 * (double)i : 0, 0, i ? 0 : 1, 0);
			const struct sums before = sums_of(&b, 1);
			struct nb_collide_count count;
			CHECK(drift(&b, collide, NB_COLLIDE_BOUNCE, 1000, &count) == NB_OK);
			CHECK(count.limited == 0 && count.contacts > n && count.contacts < 50 * n);
			const struct sums after = sums_of(&b, 1);
			CHECK_NEAR(after.momentum[0], before.momentum[0], 1e-14);
			CHECK(after.ekin < 0.6 * before.ekin);
			for (size_t i = 1; i < n; i++)
				CHECK(b.pos[3 * i] - b.pos[3 * i - 3] > 2 - 1e-9);
			for (size_t i = 0; i < n && k == 0; i++)
				CHECK_NEAR(b.vel[3 * i], 1 / (double)n, n == 4 ? 2e-3 : 2e-2);
			release(&b);
		}
}

/* Steps of the leapfrog under a constant acceleration g towards a body that does not move. */
static double highest; /* after the first contact */

static double fall(collide_function collide, double e, double height, double dt, int steps)
{
	struct bodies b = make(2);
	const double acc[6] = {0, 0, 0, -1, 0, 0};
	b.mass[1] = 0;
	place(&b, 0, 0, 0, 0, 0);
	place(&b, 1, 2 + height, 0, 0, 0);
	uint64_t total = 0;
	highest = 0;
	for (int k = 0; k < steps; k++) {
		const struct nb_collide c = {2, NB_COLLIDE_BOUNCE, dt, b.pos, b.vel, NULL, b.mass, b.radius, b.id, NULL,
			acc, dt / 2, e, NULL, NULL};
		struct nb_collide_count count;
		b.vel[3] -= dt / 2;
		CHECK(collide(&c, &count) == NB_OK);
		b.vel[3] -= dt / 2;
		total += count.contacts;
		if (total)
			highest = fmax(highest, b.pos[3] - b.pos[0] - 2);
	}
	const double gap = b.pos[3] - b.pos[0] - 2;
	CHECK(total > 0);
	release(&b);
	return gap;
}

static void resting(collide_function collide)
{
	for (int k = 0; k < (UNIT_SANITIZED ? 1 : RESTITUTIONS - 1); k++) {
		const double e = restitutions[k];
		/* from a height of 1 it rises to e^2 */
		fall(collide, e, 1, 1e-3, e > 0.5 ? 2900 : 2400);
		CHECK_NEAR(highest, e * e, 4e-3);
		/* and in the end it lies there, and does not sink in: neither with a fall before nor without */
		for (int from = 0; from < 2; from++) {
			const double gap = fall(collide, e, from, 1e-2, 20000);
			CHECK(gap > -1e-3 && gap < 1e-3);
		}
	}
}

static void refused(collide_function collide)
{
	const double bad[] = {-1e-9, 1 + 1e-9, NAN, INFINITY};
	struct bodies b = make(2);
	struct nb_collide_count count;
	place(&b, 1, 5, 0, 0, 0);
	for (int k = 0; k < 4; k++) {
		b.restitution = bad[k];
		CHECK(drift(&b, collide, NB_COLLIDE_BOUNCE, 1, &count) == NB_EINVAL);
		CHECK(drift(&b, collide, NB_COLLIDE_ELASTIC, 1, &count) == NB_OK); /* which has none */
	}
	release(&b);
}

/* A gas with restitution 1 is the elastic one, byte by byte; the less it is, the more the gas cools; it keeps its
 * momentum. */
static void gases(void)
{
	struct bodies start = make(2000), elastic;
	for (size_t i = 0; i < start.n; i++) {
		start.radius[i] = 0.015 * (0.5 + uniform());
		start.mass[i] = 1 + uniform();
		for (size_t d = 3 * i; d < 3 * i + 3; d++) {
			start.pos[d] = uniform();
			start.vel[d] = uniform() - 0.5;
		}
	}
	const struct sums before = sums_of(&start, 1);
	elastic = copy_of(&start, NULL);
	for (int step = 0; step < 10; step++)
		contacts(&elastic, nb_collide_cpu, NB_COLLIDE_ELASTIC, 0.02);
	double last = 0;
	for (int k = 0; k < RESTITUTIONS; k++) {
		struct bodies b = copy_of(&start, NULL);
		b.restitution = restitutions[k];
		uint64_t total = 0;
		for (int step = 0; step < 10; step++)
			total += contacts(&b, nb_collide_cpu, NB_COLLIDE_BOUNCE, 0.02);
		const struct sums after = sums_of(&b, 1);
		CHECK(total > 500);
		CHECK(same(&b, &elastic) == (b.restitution == 1));
		for (int d = 0; d < 3; d++)
			CHECK_NEAR(after.momentum[d], before.momentum[d], 1e-15 * before.scale);
		CHECK(after.ekin > last);
		last = after.ekin;
		release(&b);
	}
	CHECK_NEAR(last / before.ekin, 1, 1e-12);
	release(&start);
	release(&elastic);
}

int main(void)
{
	for (int k = 0; k < 2; k++) {
		head_on(both[k]);
		weights(both[k]);
		oblique(both[k]);
		chain(both[k]);
		later_velocities(both[k]);
		slow(both[k]);
		collapse(both[k]);
		resting(both[k]);
		refused(both[k]);
	}
	gases();
	return unit_end();
}
