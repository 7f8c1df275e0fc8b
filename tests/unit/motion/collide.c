/* Contacts against values worked out by hand, against what must be conserved, and against the search through all
 * pairs, byte by byte. */
#include "kernels/motion/motion.h"

#include <float.h>
#include <stdint.h>

#include "common/cpu.h"
#include "tests/unit/unit.h"

typedef int (*collide_function)(const struct nb_collide *c, struct nb_collide_count *count);
static const collide_function both[] = {nb_collide_cpu, nb_collide_ref};

static double uniform(void)
{
	static uint64_t state = 20261121;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

/* ---- sets of bodies ----------------------------------------------------------------------------------- */

struct bodies {
	size_t n, left;
	double *pos, *vel, *later, *mass, *radius;
	uint64_t *id;
	uint32_t *keep;
};

static struct bodies make(size_t n)
{
	struct bodies b = {n, n, calloc(3 * n + 1, 8), calloc(3 * n + 1, 8), calloc(3 * n + 1, 8), calloc(n + 1, 8),
		calloc(n + 1, 8), calloc(n + 1, 8), calloc(n + 1, 4)};
	for (size_t i = 0; i < n; i++) {
		b.mass[i] = 1;
		b.radius[i] = 1;
		b.id[i] = i;
	}
	return b;
}

static void release(struct bodies *b)
{
	free(b->pos);
	free(b->vel);
	free(b->later);
	free(b->mass);
	free(b->radius);
	free(b->id);
	free(b->keep);
}

/* row k of the copy is row order[k], or k */
static struct bodies copy_of(const struct bodies *b, const size_t *order)
{
	struct bodies c = make(b->n);
	for (size_t k = 0; k < b->n; k++) {
		const size_t i = order ? order[k] : k;
		memcpy(c.pos + 3 * k, b->pos + 3 * i, 24);
		memcpy(c.vel + 3 * k, b->vel + 3 * i, 24);
		memcpy(c.later + 3 * k, b->later + 3 * i, 24);
		c.mass[k] = b->mass[i];
		c.radius[k] = b->radius[i];
		c.id[k] = b->id[i];
	}
	return c;
}

static int drift(struct bodies *b, collide_function collide, enum nb_collide_mode mode, double dt,
	struct nb_collide_count *count)
{
	const struct nb_collide c = {b->n, mode, dt, b->pos, b->vel, b->later, b->mass, b->radius, b->id,
		mode == NB_COLLIDE_MERGE ? b->keep : NULL, NULL, 0};
	int status = collide(&c, count);
	b->left = status ? b->n : count->left;
	for (size_t i = 0; i < b->n && mode == NB_COLLIDE_ELASTIC; i++)
		b->keep[i] = (uint32_t)i;
	return status;
}

static uint64_t contacts(struct bodies *b, collide_function collide, enum nb_collide_mode mode, double dt)
{
	struct nb_collide_count count = {0, 0, 0};
	CHECK(drift(b, collide, mode, dt, &count) == NB_OK);
	CHECK(count.left == (mode == NB_COLLIDE_MERGE ? b->n - count.contacts : b->n));
	return count.contacts;
}

static int same(const struct bodies *a, const struct bodies *b)
{
	if (a->n != b->n || a->left != b->left || memcmp(a->keep, b->keep, 4 * a->left) != 0)
		return 0;
	for (size_t k = 0; k < a->left; k++) {
		const size_t i = a->keep[k];
		if (memcmp(a->pos + 3 * i, b->pos + 3 * i, 24) != 0 ||
			memcmp(a->vel + 3 * i, b->vel + 3 * i, 24) != 0 ||
			memcmp(a->later + 3 * i, b->later + 3 * i, 24) != 0 || a->mass[i] != b->mass[i] ||
			a->radius[i] != b->radius[i])
			return 0;
	}
	return 1;
}

static void place(struct bodies *b, size_t i, double x, double y, double vx, double vy)
{
	b->pos[3 * i] = x;
	b->pos[3 * i + 1] = y;
	b->vel[3 * i] = vx;
	b->vel[3 * i + 1] = vy;
}

struct sums {
	double mass, momentum[3], moment[3], ekin, volume, later[3], scale;
};

/* of those that are left; moment: mass times position; scale: sum of |momenta| */
static struct sums sums_of(const struct bodies *b, int all)
{
	struct sums s;
	memset(&s, 0, sizeof s);
	for (size_t k = 0; k < (all ? b->n : b->left); k++) {
		const size_t i = all ? k : b->keep[k];
		const double m = b->mass[i];
		s.mass += m;
		s.volume += b->radius[i] * b->radius[i] * b->radius[i];
		for (size_t d = 0; d < 3; d++) {
			const double v = b->vel[3 * i + d];
			s.momentum[d] += m * v;
			s.later[d] += m * b->later[3 * i + d];
			s.moment[d] += m * b->pos[3 * i + d];
			s.ekin += m * v * v / 2;
			s.scale += m * fabs(v);
		}
	}
	return s;
}

/* ---- elastic, by hand ----------------------------------------------------------------------------------- */

static void head_on(collide_function collide)
{
	/* equal bodies exchange their velocities: gap 2, closing at 4, contact at 0.5 */
	struct bodies b = make(2);
	place(&b, 0, -2, 0, 3, 0);
	place(&b, 1, 2, 0, -1, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 2) == 1);
	CHECK(b.vel[0] == -1 && b.vel[3] == 3);
	CHECK_NEAR(b.pos[0], -0.5 - 1.5, 1e-15);
	CHECK_NEAR(b.pos[3], 1.5 + 4.5, 1e-15);
	/* and back to the start */
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, -2) == 1);
	CHECK(b.vel[0] == 3 && b.vel[3] == -1);
	CHECK_NEAR(b.pos[0], -2, 1e-15);
	CHECK_NEAR(b.pos[3], 2, 1e-15);
	/* not within reach in this drift, not at all, or going apart */
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 0.49) == 0);
	place(&b, 0, -2, 0, -3, 0);
	place(&b, 1, 2, 0, 1, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 100) == 0);
	place(&b, 0, -2, 2.001, 3, 0);
	place(&b, 1, 2, 0, -1, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 100) == 0);
	place(&b, 0, -2, 1.999, 3, 0);
	place(&b, 1, 2, 0, -1, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 100) == 1);
	release(&b);
}

static void oblique(collide_function collide)
{
	/* body 1 at rest is hit at 45 degrees; textbook: only the component along the line of centres changes */
	struct bodies b = make(2);
	const double r = sqrt(2), m0 = 3, m1 = 5;
	b.mass[0] = m0;
	b.mass[1] = m1;
	place(&b, 0, -10 - r, 0, 2, 0);
	place(&b, 1, 0, r, 0, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 6) == 1);
	const double along = 2 * 2 * m0 / (m0 + m1) / sqrt(2); /* of body 1 */
	CHECK_NEAR(b.vel[3], along / sqrt(2), 1e-15);
	CHECK_NEAR(b.vel[4], along / sqrt(2), 1e-15);
	CHECK_NEAR(b.vel[0], 2 - m1 / m0 * along / sqrt(2), 1e-15);
	CHECK_NEAR(b.vel[1], -m1 / m0 * along / sqrt(2), 1e-15);
	/* contact after 5, one unit of time to go */
	CHECK_NEAR(b.pos[0], -r + b.vel[0], 1e-14);
	CHECK_NEAR(b.pos[3], b.vel[3], 1e-14);
	CHECK_NEAR(b.pos[4], r + b.vel[4], 1e-14);
	release(&b);
}

static void weights(collide_function collide)
{
	static const double mass[][4] = {/* masses; velocities after 1 and -1 meet */
		{0, 0, -1, 1}, {0, 7, -3, -1}, {7, 0, 1, 3}, {8e307, 1e-300, 1, 3}, {DBL_MAX / 4, DBL_MAX / 4, -1, 1},
		{5e-324, 5e-324, -1, 1}};
	for (size_t k = 0; k < sizeof mass / sizeof *mass; k++) {
		struct bodies b = make(2);
		b.mass[0] = mass[k][0];
		b.mass[1] = mass[k][1];
		place(&b, 0, -2, 0, 1, 0);
		place(&b, 1, 2, 0, -1, 0);
		CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 1.5) == 1);
		CHECK(b.vel[0] == mass[k][2] && b.vel[3] == mass[k][3]);
		release(&b);
	}
}

static void cradle(collide_function collide)
{
	/* the impulse runs through five touching balls in no time, whatever their order in memory */
	static const uint64_t order[][6] = {{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {3, 1, 5, 0, 4, 2}};
	for (size_t k = 0; k < 3; k++) {
		struct bodies b = make(6);
		for (size_t i = 0; i < 6; i++) {
			place(&b, order[k][i], i ? 2 * (double)i : -1, 0, i ? 0 : 1, 0);
			b.id[i] = order[(k + 1) % 3][i];
		}
		CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 3) == 5);
		for (size_t i = 0; i < 6; i++) {
			CHECK(b.vel[3 * order[k][i]] == (i == 5));
			CHECK_NEAR(b.pos[3 * order[k][i]], i == 0 ? 0 : i < 5 ? 2 * (double)i : 12, 1e-14);
		}
		release(&b);
	}
}

static void overlapping(collide_function collide)
{
	struct bodies b = make(2);
	place(&b, 0, 0, 0, -1, 0);
	place(&b, 1, 0.5, 0, 1, 0); /* separating: left alone */
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 0.1) == 0);
	CHECK(b.pos[0] == -0.1 && b.pos[3] == 0.6 && b.vel[0] == -1);
	place(&b, 0, 0, 0, 1, 0.25);
	place(&b, 1, 0.5, 0, -1, -0.25); /* approaching: at once */
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 1) == 1);
	CHECK(b.vel[0] == -1 && b.vel[1] == 0.25 && b.pos[0] == -1 && b.pos[3] == 1.5);
	place(&b, 0, 0, 0, 1, 0);
	place(&b, 1, 0, 0, -1, 0); /* at one place: no line of centres */
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 1) == 0);
	CHECK(b.pos[0] == 1 && b.pos[3] == -1);
	release(&b);
}

static void three_at_once(collide_function collide)
{
	/* two bodies hit a third from both sides at the same time: ids decide who is first, here it is left first */
	struct bodies b = make(3);
	place(&b, 2, 0, 0, 0, 0);
	place(&b, 0, -3, 0, 1, 0);
	place(&b, 1, 3, 0, -2, 0);
	b.pos[3] = 4;
	/* contacts at 1: (0, 2) gives 2 the velocity 1; (1, 2) exchanges it for -2; then (0, 2) again */
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 1.5) == 3);
	CHECK(b.vel[0] == -2 && b.vel[6] == 0 && b.vel[3] == 1);
	release(&b);
	/* a triangle that closes in on a ball: the result depends on the order, which is that of ids in any case */
	double seen[12] = {0};
	for (size_t turn = 0; turn < 4; turn++) {
		struct bodies c = make(4);
		for (size_t i = 0; i < 4; i++) {
			const size_t row = (i + turn) % 4;
			const double angle = 2 * M_PI / 3 * (double)i;
			c.id[row] = 100 - i;
			if (i < 3)
				place(&c, row, 3 * cos(angle), 3 * sin(angle), -cos(angle), -sin(angle));
		}
		contacts(&c, collide, NB_COLLIDE_ELASTIC, 2);
		for (size_t i = 0; i < 4; i++)
			for (size_t d = 0; d < 3; d++) {
				const double v = c.vel[3 * ((i + turn) % 4) + d];
				CHECK(turn == 0 || seen[3 * i + d] == v);
				seen[3 * i + d] = v;
			}
		release(&c);
	}
}

static void rattling(collide_function collide)
{
	/* a light ball between two walls 8 apart (radius 1 each): 6 of free way, speed 30 */
	struct bodies b = make(3);
	struct nb_collide_count count;
	b.mass[0] = b.mass[1] = 1;
	b.mass[2] = 0;
	place(&b, 0, -5, 0, 0, 0);
	place(&b, 1, 5, 0, 0, 0);
	place(&b, 2, 0, 0, 30, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 1) == 5); /* after 3, then every 6 */
	CHECK_NEAR(b.pos[6], -3 + 3, 1e-13);
	CHECK(b.vel[6] == -30 && b.vel[0] == 0);
	/* beyond the limit it leaves through the wall, and says so */
	place(&b, 2, 0, 0, 3000, 0);
	CHECK(drift(&b, collide, NB_COLLIDE_ELASTIC, 1, &count) == NB_OK);
	CHECK(count.contacts == NB_COLLIDE_MOST && count.limited == 1);
	CHECK_NEAR(b.pos[6], -3 + 3000 - (3 + 6 * (NB_COLLIDE_MOST - 1)), 1e-9); /* the last one was on the left */
	release(&b);
}

static void fast(collide_function collide)
{
	/* a small fast body does not jump over a small one far away; 4e-9 off the line it passes by */
	for (int off = 0; off < 2; off++) {
		struct bodies b = make(2);
		b.radius[0] = b.radius[1] = 1e-9;
		place(&b, 0, 0, off ? 4e-9 : 1e-9, 1, 0);
		place(&b, 1, 0.7, 0, 0, 0);
		CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 1) == (uint64_t)!off);
		release(&b);
	}
}

static void later_velocities(collide_function collide)
{
	/* they take part in the impulses and have no say in them */
	struct bodies b = make(2);
	place(&b, 0, -2, 0, 1, 0);
	place(&b, 1, 2, 0, -1, 0);
	b.mass[1] = 3;
	b.later[0] = 10;
	b.later[1] = 7;
	b.later[3] = 20;
	CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 2) == 1);
	CHECK(b.vel[0] == -2 && b.vel[3] == 0);
	CHECK(b.later[0] == 7 && b.later[1] == 7 && b.later[3] == 21);
	release(&b);
	b = make(2);
	place(&b, 0, -2, 0, 1, 0);
	place(&b, 1, 2, 0, -1, 0);
	b.mass[1] = 3;
	b.later[0] = 10;
	b.later[3] = 20;
	CHECK(contacts(&b, collide, NB_COLLIDE_MERGE, 2) == 1);
	CHECK(b.keep[0] == 1 && b.later[3] == 17.5 && b.vel[3] == -0.5);
	release(&b);
}

static void velocity_at_contact(collide_function collide)
{
	/* they fall towards each other: at the contact, half a unit of time before the middle, by 0.25 slower than then
	 */
	const double acc[6] = {0.5, 0, 0, -0.5, 0, 0};
	struct bodies b = make(2);
	place(&b, 0, -1, 0, 1, 0);
	place(&b, 1, 1, 0, -1, 0);
	struct nb_collide c = {2, NB_COLLIDE_ELASTIC, 2, b.pos, b.vel, NULL, b.mass, b.radius, NULL, NULL, acc, 1};
	struct nb_collide_count count;
	b.radius[0] = b.radius[1] = 0.5;
	CHECK(collide(&c, &count) == 0 && count.contacts == 1);
	/* 0.75 at t = 0.5: the impulse is twice that */
	CHECK_NEAR(b.vel[0], 1 - 2 * 0.75, 1e-15);
	CHECK_NEAR(b.vel[3], -1 + 2 * 0.75, 1e-15);
	CHECK_NEAR(b.pos[0], -0.5 + 1.5 * b.vel[0], 1e-15);
	release(&b);
	/* thrown up so slowly that at the contact they go apart already */
	const double away[6] = {-3, 0, 0, 3, 0, 0};
	b = make(2);
	place(&b, 0, -0.6, 0, 0.1, 0);
	place(&b, 1, 0.6, 0, -0.1, 0);
	c = (struct nb_collide){2, NB_COLLIDE_ELASTIC, 2, b.pos, b.vel, NULL, b.mass, b.radius, NULL, NULL, away, 0};
	b.radius[0] = b.radius[1] = 0.5;
	CHECK(collide(&c, &count) == 0 && count.contacts == 0);
	CHECK(b.vel[0] == 0.1 && b.vel[3] == -0.1);
	release(&b);
}

/* ---- mergers, by hand --------------------------------------------------------------------------------- */

static void two_merge(collide_function collide)
{
	struct bodies b = make(3);
	b.mass[0] = 1;
	b.mass[1] = 3;
	b.radius[0] = 3;
	b.radius[1] = 4;
	b.radius[2] = 0; /* a point: is met by what is larger */
	b.mass[2] = 4;
	place(&b, 0, -7.5, 0, 1, 2);
	place(&b, 1, 0, 0, 0, 0);
	place(&b, 2, 100, 100, 0, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_MERGE, 3) == 1);
	CHECK(b.left == 2 && b.keep[0] == 1 && b.keep[1] == 2);
	CHECK(b.mass[1] == 4 && b.vel[3] == 0.25 && b.vel[4] == 0.5);
	CHECK_NEAR(b.radius[1], cbrt(91), 1e-15);
	/* the centre of mass: (-7.5 + 3 + 0) / 4 and 6 / 4 */
	CHECK_NEAR(b.pos[3], -1.125, 1e-15);
	CHECK_NEAR(b.pos[4], 1.5, 1e-15);
	release(&b);
	/* equal masses: the smaller id, wherever it is */
	b = make(2);
	b.id[0] = 8;
	b.id[1] = 7;
	place(&b, 0, 0, 0, 0, 0);
	place(&b, 1, 1, 0, 0, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_MERGE, 1) == 1 && b.keep[0] == 1);
	release(&b);
	b = make(2);
	place(&b, 0, 0, 0, -5, 0); /* overlapping bodies are one even if they separate */
	place(&b, 1, 1, 0, 5, 0);
	b.mass[0] = b.mass[1] = 0; /* bodies without mass count as equal */
	CHECK(contacts(&b, collide, NB_COLLIDE_MERGE, 1) == 1);
	CHECK(b.keep[0] == 0 && b.mass[0] == 0 && b.pos[0] == 0.5 && b.vel[0] == 0);
	release(&b);
}

static void chains(collide_function collide)
{
	/* five in a row, each overlapping the next: one body, though two of them would be too small to reach a third */
	struct bodies b = make(5);
	for (size_t i = 0; i < 5; i++) {
		place(&b, i, 1.99 * (double)((i * 2) % 5), 0, (double)i, 0);
		b.id[i] = 10 - i;
	}
	b.mass[3] = 2;
	const struct sums before = sums_of(&b, 1);
	CHECK(contacts(&b, collide, NB_COLLIDE_MERGE, 0.5) == 4);
	CHECK(b.left == 1 && b.keep[0] == 3 && b.mass[3] == 6);
	CHECK_NEAR(b.radius[3], cbrt(5), 1e-15);
	CHECK_NEAR(b.vel[9], before.momentum[0] / 6, 1e-15);
	CHECK_NEAR(b.pos[9], before.moment[0] / 6 + 0.5 * before.momentum[0] / 6, 1e-14);
	release(&b);
	/* a projectile and two planets in line: it stops in the first one */
	b = make(3);
	b.mass[0] = 1e-6;
	place(&b, 0, -10, 0, 100, 0);
	place(&b, 1, 0, 0, 0, 0);
	place(&b, 2, 10, 0, 0, 0);
	CHECK(contacts(&b, collide, NB_COLLIDE_MERGE, 1) == 1);
	CHECK(b.left == 2 && b.keep[0] == 1 && b.keep[1] == 2 && b.mass[2] == 1);
	release(&b);
	/* two that merge grow, and so reach a third that they would have missed, and that one a fourth */
	b = make(4);
	place(&b, 0, -1.5, 0, 1, 0);
	place(&b, 1, 1.5, 0, -1, 0);
	place(&b, 2, 0, 2.2, 0, 0);
	place(&b, 3, 0, 2.2 / 3, 0, 0);
	b.pos[11] = 2.4;
	CHECK(contacts(&b, collide, NB_COLLIDE_MERGE, 1) == 3);
	CHECK(b.left == 1 && b.keep[0] == 0 && b.mass[0] == 4);
	CHECK_NEAR(b.pos[1], 2.2 / 3, 1e-15);
	CHECK_NEAR(b.pos[2], 0.6, 1e-15);
	release(&b);
}

/* ---- conservation --------------------------------------------------------------------------------------- */

static void gas(struct bodies *b, double radius)
{
	for (size_t i = 0; i < b->n; i++) {
		b->radius[i] = radius * (0.5 + uniform());
		b->mass[i] = pow(10, 3 * uniform());
		for (size_t k = 3 * i; k < 3 * i + 3; k++) {
			b->pos[k] = uniform();
			b->vel[k] = uniform() - 0.5;
			b->later[k] = uniform();
		}
	}
}

static void conserved(void)
{
	struct bodies b = make(3000);
	gas(&b, 0.02);
	uint64_t total = 0;
	struct sums before = sums_of(&b, 1);
	for (int step = 0; step < 20; step++)
		total += contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, step % 3 == 2 ? -0.02 : 0.02);
	struct sums after = sums_of(&b, 1);
	CHECK(total > 3000);
	CHECK_NEAR(after.ekin / before.ekin, 1, 1e-14 * sqrt((double)total));
	for (int d = 0; d < 3; d++) {
		CHECK_NEAR(after.momentum[d], before.momentum[d], 1e-15 * before.scale);
		CHECK_NEAR(after.later[d], before.later[d], 1e-14 * before.scale);
	}
	release(&b);

	b = make(3000);
	gas(&b, 0.012);
	before = sums_of(&b, 1);
	total = contacts(&b, nb_collide_cpu, NB_COLLIDE_MERGE, 0.1);
	after = sums_of(&b, 0);
	CHECK(total > 300 && total < 2900);
	CHECK_NEAR(after.mass / before.mass, 1, 1e-13);
	CHECK_NEAR(after.volume / before.volume, 1, 1e-13);
	for (int d = 0; d < 3; d++) {
		CHECK_NEAR(after.momentum[d], before.momentum[d], 1e-14 * before.scale);
		CHECK_NEAR(after.later[d], before.later[d], 1e-14 * before.scale);
		CHECK_NEAR(after.moment[d], before.moment[d] + 0.1 * before.momentum[d], 1e-14 * before.mass);
	}
	/* and nobody is left who overlaps another */
	size_t overlaps = 0;
	for (size_t k = 0; k < b.left; k++)
		for (size_t l = k + 1; l < b.left; l++) {
			const size_t i = b.keep[k], j = b.keep[l];
			double d2 = 0;
			for (size_t d = 0; d < 3; d++)
				d2 += pow(b.pos[3 * i + d] - b.pos[3 * j + d], 2);
			overlaps += sqrt(d2) < (b.radius[i] + b.radius[j]) * (1 - 1e-12);
		}
	CHECK(overlaps == 0);
	release(&b);
}

static void reversed(void)
{
	/* a dilute gas, some collisions a body, there and back */
	struct bodies b = make(1000);
	gas(&b, 0.02);
	for (size_t i = 0; i < b.n; i++) /* no overlaps in the beginning: a lattice */
		for (size_t d = 0, at = i; d < 3; d++, at /= 10)
			b.pos[3 * i + d] = 0.1 * (double)(at % 10);
	struct bodies start = copy_of(&b, NULL);
	uint64_t there = 0, back = 0;
	for (int step = 0; step < 10; step++)
		there += contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, 0.02);
	for (int step = 0; step < 10; step++)
		back += contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, -0.02);
	CHECK(there > 200 && there == back);
	double most = 0;
	for (size_t i = 0; i < 3 * b.n; i++)
		most = fmax(most, fabs(b.pos[i] - start.pos[i]) + fabs(b.vel[i] - start.vel[i]));
	CHECK_NEAR(most, 0, 1e-8);
	release(&b);
	release(&start);
}

static void untouched(void)
{
	struct bodies b = make(5001), c;
	gas(&b, 1e-9);
	c = copy_of(&b, NULL);
	CHECK(contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, 0.3) == 0);
	CHECK(nb_drift_cpu(c.n, c.pos, c.vel, 0.3) == NB_OK);
	for (size_t i = 0; i < c.n; i++)
		c.keep[i] = (uint32_t)i;
	CHECK(same(&b, &c));
	release(&b);
	release(&c);
}

/* ---- against all pairs ---------------------------------------------------------------------------------- */

enum { KINDS = 16 };

static void spread(struct bodies *b, int kind)
{
	const size_t n = b->n;
	gas(b, kind == 1 ? 0.2 : 0.3 / cbrt((double)n + 1));
	for (size_t i = 0; i < n; i++) {
		double *x = b->pos + 3 * i, *v = b->vel + 3 * i;
		b->id[i] = (i * 7919 + 13) % (n ? n : 1) + (i % 5 == 0 && kind == 2 ? 1 : 0); /* some equal */
		switch (kind) {
		case 3: /* clusters of clusters */
			for (int d = 0; d < 3; d++)
				x[d] = floor(2 * x[d]) + 1e-3 * floor(3 * uniform()) + 1e-7 * uniform();
			b->radius[i] = pow(10, -8.5 + 3 * uniform());
			v[0] *= 1e-3;
			break;
		case 4: b->radius[i] = pow(10, -9 * uniform() - 0.5); break;
		case 5: /* all at one place */ x[0] = x[1] = x[2] = 0.3; break;
		case 6: /* nearly */
			for (int d = 0; d < 3; d++)
				x[d] = 0.3 + 1e-13 * x[d];
			break;
		case 7: /* a lattice whose balls just touch, some of which move along it */
			for (size_t d = 0, at = i; d < 3; d++, at /= 4)
				x[d] = (double)(at % 4) * 0.25;
			x[0] += floor((double)i / 64) * 1.25;
			b->radius[i] = 0.125;
			b->mass[i] = 1;
			v[0] = (double)(i % 7 == 0) - (double)(i % 11 == 0);
			v[1] = v[2] = 0;
			break;
		case 8: /* at rest */ v[0] = v[1] = v[2] = 0; break;
		case 9: /* points, some of them large; some without mass */
			b->radius[i] = i % 3 ? 0 : b->radius[i];
			b->mass[i] = i % 2 ? 0 : b->mass[i];
			break;
		case 10: /* some very fast ones */
			for (int d = 0; d < 3; d++)
				v[d] *= i % 17 == 0 ? 1000 : 1;
			break;
		case 11: /* in a plane */ x[2] = v[2] = 0; break;
		case 12: /* on a line, at regular places, equal speeds: many contacts at the same time */
			x[0] = (double)((i * 37) % (n + 1));
			x[1] = x[2] = v[1] = v[2] = 0;
			v[0] = i % 2 ? 4 : -4;
			b->radius[i] = 0.25;
			b->mass[i] = 1;
			break;
		case 13: /* far from the origin, with small radii */
			for (int d = 0; d < 3; d++)
				x[d] = 1e5 + 1e-4 * x[d], v[d] *= 1e-3;
			b->radius[i] = 1e-5 * uniform();
			break;
		case 14:
		case 15: /* near the ends of the range of numbers */
			for (int d = 0; d < 3; d++) {
				x[d] *= kind == 14 ? 1e300 : 1e-290;
				v[d] *= kind == 14 ? 1e300 : 1e-290;
			}
			b->radius[i] *= kind == 14 ? 1e300 : 1e-290;
			break;
		default: break;
		}
	}
}

static void against_all_pairs(void)
{
	static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 16, 17, 63, 64, 65, 120};
	uint64_t found[2][KINDS] = {{0}};
	for (int kind = 0; kind < KINDS; kind++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (int variant = 0; variant < 4; variant++) {
				const enum nb_collide_mode mode = variant % 2 ? NB_COLLIDE_MERGE : NB_COLLIDE_ELASTIC;
				const double dt = (variant < 2 ? 1 : -1) * (kind == 3 ? 1e-3 : 0.3);
				struct bodies a = make(sizes[k]);
				spread(&a, kind);
				struct bodies b = copy_of(&a, NULL);
				struct nb_collide_count count_a = {0, 0, 0}, count_b = {1, 1, 1};
				CHECK(drift(&a, nb_collide_cpu, mode, dt, &count_a) == NB_OK);
				CHECK(drift(&b, nb_collide_ref, mode, dt, &count_b) == NB_OK);
				int equal = same(&a, &b) && count_a.contacts == count_b.contacts &&
					    count_a.limited == count_b.limited;
				if (!equal)
					fprintf(stderr, "kind %d, n = %zu, variant %d: %zu and %zu contacts\n", kind,
						sizes[k], variant, (size_t)count_a.contacts, (size_t)count_b.contacts);
				CHECK(equal);
				found[mode][kind] += count_a.contacts;
				release(&a);
				release(&b);
			}
	/* each kind says something: only bodies at rest or at one place do not collide */
	for (int kind = 0; kind < KINDS; kind++) {
		CHECK((found[NB_COLLIDE_ELASTIC][kind] > 30) == (kind != 5 && kind != 8));
		CHECK(found[NB_COLLIDE_MERGE][kind] > 30);
	}
}

/* n too large for all pairs of all pairs, but few contacts: enough for a first contact of each */
static void larger_against_all_pairs(void)
{
	for (int mode = 0; mode < 2; mode++) {
		struct bodies a = make(4500);
		gas(&a, 2.5e-3);
		struct bodies b = copy_of(&a, NULL);
		const uint64_t here = contacts(&a, nb_collide_cpu, mode, 0.02),
			       there = contacts(&b, nb_collide_ref, mode, 0.02);
		CHECK(here > 3 && here == there && same(&a, &b));
		release(&a);
		release(&b);
	}
}

/* ---- order of rows, threads ----------------------------------------------------------------------------- */

static void any_order(void)
{
	enum { N = 500 };
	size_t order[N];
	for (int kind = 0; kind < KINDS; kind++)
		for (int mode = 0; mode < 2; mode++) {
			struct bodies a = make(N);
			spread(&a, kind);
			for (size_t i = 0; i < N; i++) {
				order[i] = (i * 277 + 31) % N;
				a.id[i] = i * 3;
			}
			struct bodies b = copy_of(&a, order);
			const uint64_t x = contacts(&a, nb_collide_cpu, mode, 0.1),
				       y = contacts(&b, nb_collide_cpu, mode, 0.1);
			CHECK(x == y && a.left == b.left);
			size_t wrong = 0;
			for (size_t k = 0; k < b.left; k++) {
				const size_t j = b.keep[k], i = order[j];
				size_t at = 0;
				while (at < a.left && a.keep[at] != i)
					at++;
				wrong += at == a.left || memcmp(a.pos + 3 * i, b.pos + 3 * j, 24) != 0 ||
					 memcmp(a.vel + 3 * i, b.vel + 3 * j, 24) != 0 || a.mass[i] != b.mass[j] ||
					 a.radius[i] != b.radius[j];
			}
			CHECK(wrong == 0);
			release(&a);
			release(&b);
		}
}

static void any_threads(void)
{
	for (int mode = 0; mode < 2; mode++)
		for (int kind = 0; kind < 2; kind++) {
			struct bodies a = make(kind ? 6000 : 20000), first;
			gas(&a, kind ? 0.02 : 1e-3); /* many overlaps, and few */
			for (int threads = 1; threads <= 4; threads++) {
				struct bodies b = copy_of(&a, NULL);
				nb_cpu_set_threads(threads);
				CHECK(contacts(&b, nb_collide_cpu, mode, 0.01) > 10);
				if (threads == 1)
					first = b;
				else {
					CHECK(same(&first, &b));
					release(&b);
				}
			}
			release(&first);
			release(&a);
		}
	nb_cpu_set_threads(0);
}

/* ---- limits --------------------------------------------------------------------------------------------- */

static void many_at_one_place(void)
{
	/* in no more than n log n; all pairs would take minutes */
	for (int kind = 0; kind < 3; kind++) {
		struct bodies b = make(300000);
		for (size_t i = 0; i < b.n; i++) {
			b.radius[i] = 0.03;
			for (size_t d = 3 * i; d < 3 * i + 3; d++) {
				b.pos[d] = kind == 0 ? 0.7 : kind == 1 ? 0.7 + 1e-5 * uniform() : uniform();
				b.vel[d] = uniform() - 0.5;
			}
		}
		b.mass[777] = 2;
		const struct sums before = sums_of(&b, 1);
		CHECK(contacts(&b, nb_collide_cpu, NB_COLLIDE_MERGE, 0.01) == b.n - 1);
		CHECK(b.keep[0] == 777 && b.mass[777] == (double)b.n + 1);
		CHECK_NEAR(b.radius[777], 0.03 * cbrt((double)b.n), 1e-10);
		CHECK_NEAR(b.vel[3 * 777], before.momentum[0] / before.mass, 1e-12);
		release(&b);
	}
	/* points at one place have nothing to do with each other, one ball among them or not */
	struct bodies b = make(300000);
	memset(b.radius, 0, b.n * sizeof *b.radius);
	for (size_t i = 0; i < 3 * b.n; i++)
		b.vel[i] = uniform() - 0.5;
	CHECK(contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, 1) == 0);
	memset(b.pos, 0, 3 * b.n * sizeof *b.pos);
	b.radius[5] = 0.1;
	b.vel[15] = 0;
	CHECK(contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, 1) == 0);
	release(&b);
}

static void refused(collide_function collide)
{
	struct nb_collide_count count;
	static const struct {
		size_t column;
		double value;
		int status;
	} bad[] = {{0, NAN, NB_ENONFINITE}, {0, INFINITY, NB_ENONFINITE}, {1, NAN, NB_ENONFINITE},
		{1, -INFINITY, NB_ENONFINITE}, {1, 1e308, NB_ENONFINITE}, {2, -1, NB_EINVAL}, {2, NAN, NB_EINVAL},
		{2, INFINITY, NB_EINVAL}, {3, -1e-300, NB_EINVAL}, {3, NAN, NB_EINVAL}, {3, INFINITY, NB_EINVAL},
		{2, 1e308, NB_ELIMIT}, {3, 1e308, NB_ELIMIT}};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		struct bodies b = make(3);
		for (size_t i = 0; i < 3; i++)
			place(&b, i, 10 * (double)i, 0, 1, 0);
		double *column[] = {b.pos, b.vel, b.mass, b.radius};
		column[bad[k].column][bad[k].column < 2 ? 4 : 1] = bad[k].value;
		struct bodies before = copy_of(&b, NULL);
		CHECK(drift(&b, collide, NB_COLLIDE_ELASTIC, 100, &count) == bad[k].status);
		CHECK(memcmp(b.pos, before.pos, 72) == 0 && memcmp(b.vel, before.vel, 72) == 0);
		release(&b);
		release(&before);
	}
	const struct nb_collide huge = {.n = UINT32_MAX};
	CHECK(collide(&huge, &count) == NB_ELIMIT);
}

int main(void)
{
	for (size_t k = 0; k < 2; k++) {
		head_on(both[k]);
		oblique(both[k]);
		weights(both[k]);
		cradle(both[k]);
		overlapping(both[k]);
		three_at_once(both[k]);
		rattling(both[k]);
		fast(both[k]);
		later_velocities(both[k]);
		velocity_at_contact(both[k]);
		two_merge(both[k]);
		chains(both[k]);
		refused(both[k]);
	}
	conserved();
	reversed();
	untouched();
	against_all_pairs();
	larger_against_all_pairs();
	any_order();
	any_threads();
	many_at_one_place();
	return unit_end();
}
