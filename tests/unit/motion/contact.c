/* Contacts and mergers of a few bodies against values worked out by hand, by the tree and by all pairs. */
#include "tests/unit/motion/bodies.h"

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

/* Bodies a and b, a on the left, exchange momentum if they approach each other. */
static int hit(const double mass[3], double vel[3], int a, int b)
{
	const double w = vel[b] - vel[a], total = mass[a] + mass[b];
	if (!(w < 0))
		return 0;
	vel[a] += 2 * mass[b] / total * w;
	vel[b] -= 2 * mass[a] / total * w;
	return 1;
}

/* Two bodies on a line hit a third between them at the same time.  Masses differ, so the velocities tell which contact
 * came first.  The page: the one whose smaller id is smallest, and among these the one whose larger id is smallest. */
static void order_of_ids(collide_function collide)
{
	enum { LEFT, MIDDLE, RIGHT };
	static const double mass[3] = {1, 3, 2}, x[3] = {-4, 0, 4}, v[3] = {1, 0, -1};
	static const uint64_t id[4][3] = {/* the first two: the larger ids decide; the others: the smaller ones */
		{5, 1, 7}, {7, 1, 5}, {5, 9, 7}, {7, 9, 5}};
	for (size_t k = 0; k < 4; k++)
		for (size_t turn = 0; turn < 3; turn++) {
			const int right_first = id[k][RIGHT] < id[k][LEFT];
			double want[3], other[3];
			memcpy(want, v, sizeof v);
			memcpy(other, v, sizeof v);
			uint64_t count = 0;
			for (int i = right_first; i < 20 + right_first; i++) {
				count += (uint64_t)(i % 2 ? hit(mass, want, MIDDLE, RIGHT)
							  : hit(mass, want, LEFT, MIDDLE));
				(void)(i % 2 ? hit(mass, other, LEFT, MIDDLE) : hit(mass, other, MIDDLE, RIGHT));
			}
			CHECK(fabs(want[MIDDLE] - other[MIDDLE]) > 0.1);
			struct bodies b = make(3);
			for (size_t i = 0; i < 3; i++) {
				const size_t row = (i + turn) % 3;
				place(&b, row, x[i], 0, v[i], 0);
				b.mass[row] = mass[i];
				b.id[row] = id[k][i];
			}
			CHECK(contacts(&b, collide, NB_COLLIDE_ELASTIC, 4) == count);
			for (size_t i = 0; i < 3; i++)
				CHECK_NEAR(b.vel[3 * ((i + turn) % 3)], want[i], 1e-14);
			release(&b);
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
	struct nb_collide c = {
		2, NB_COLLIDE_ELASTIC, 2, b.pos, b.vel, NULL, b.mass, b.radius, NULL, NULL, acc, 1, 1, NULL, NULL};
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
	c = (struct nb_collide){
		2, NB_COLLIDE_ELASTIC, 2, b.pos, b.vel, NULL, b.mass, b.radius, NULL, NULL, away, 0, 1, NULL, NULL};
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

/* ---- limits --------------------------------------------------------------------------------------------- */

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
		order_of_ids(both[k]);
		rattling(both[k]);
		fast(both[k]);
		later_velocities(both[k]);
		velocity_at_contact(both[k]);
		two_merge(both[k]);
		chains(both[k]);
		refused(both[k]);
	}
	return unit_end();
}
