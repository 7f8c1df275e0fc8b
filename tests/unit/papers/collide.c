/* The collision step of Xu, Xu & Chen: by hand, and what it keeps. */
#include "kernels/papers/papers.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

enum { MOST = 400 };

static double pos[3 * MOST], vel[3 * MOST], dx[3 * MOST], dv[3 * MOST], mass[MOST], radius[MOST];
static uint64_t contacts;

/* Bodies on the x axis; the rest 0. */
static void place(size_t i, double x, double v, double m, double r, double dt)
{
	memset(pos + 3 * i, 0, 3 * sizeof *pos);
	memset(vel + 3 * i, 0, 3 * sizeof *vel);
	memset(dx + 3 * i, 0, 3 * sizeof *dx);
	memset(dv + 3 * i, 0, 3 * sizeof *dv);
	pos[3 * i] = x;
	vel[3 * i] = v;
	mass[i] = m;
	radius[i] = r;
	dx[3 * i] = v * dt;
}

static int step(size_t n)
{
	const struct nb_xu_step s = {
		.n = n, .pos = pos, .vel = vel, .dx = dx, .dv = dv, .mass = mass, .radius = radius};
	contacts = 99;
	return nb_xu_collide(&s, &contacts);
}

static void test_two(void)
{
	/* equal ones exchange velocities, and wait where they were; what gravity would have added is lost */
	place(0, 0, 1, 2, 0.5, 1);
	place(1, 2, -1, 2, 0.5, 1);
	dv[0] = 0.25;
	CHECK(step(2) == NB_OK && contacts == 1);
	CHECK(pos[0] == 0 && pos[3] == 2 && vel[0] == -1 && vel[3] == 1);
	CHECK(dx[0] == 0 && dx[3] == 0 && dv[0] == 0 && dv[3] == 0);
	/* too short a step to touch: 2 - 2 * 0.49 > 1; moved to the last bit */
	place(0, 0, 1, 2, 0.5, 0.49);
	place(1, 2, -1, 2, 0.5, 0.49);
	dv[1] = 0.25;
	CHECK(step(2) == NB_OK && contacts == 0);
	CHECK(pos[0] == 0.49 && pos[3] == 2 - 0.49 && vel[0] == 1 && vel[1] == 0.25 && vel[3] == -1);
	/* exactly touching counts */
	place(0, 0, 1, 2, 0.5, 0.5);
	place(1, 2, -1, 2, 0.5, 0.5);
	CHECK(step(2) == NB_OK && contacts == 1);
	/* only the end is looked at: fast ones pass through each other */
	place(0, 0, 1, 2, 0.5, 2);
	place(1, 2, -1, 2, 0.5, 2);
	CHECK(step(2) == NB_OK && contacts == 0 && pos[0] == 2 && pos[3] == 0);
	/* nobody asks whether they approach: two that overlap and part are turned towards each other */
	place(0, 0, -1, 2, 0.5, 0.1);
	place(1, 0.5, 1, 2, 0.5, 0.1);
	CHECK(step(2) == NB_OK && contacts == 1 && vel[0] == 1 && vel[3] == -1);
}

static void test_masses(void)
{
	/* 3 at 1 meets 1 at rest: 0.5 and 1.5 */
	place(0, 0, 1, 3, 0.5, 1);
	place(1, 1.5, 0, 1, 0.5, 1);
	CHECK(step(2) == NB_OK && contacts == 1);
	CHECK_NEAR(vel[0], 0.5, 1e-15);
	CHECK_NEAR(vel[3], 1.5, 1e-15);
	/* one without mass does all the turning; two without are equal */
	place(0, 0, 1, 0, 0.5, 1);
	place(1, 1.5, 0, 1, 0.5, 1);
	CHECK(step(2) == NB_OK && vel[0] == -1 && vel[3] == 0);
	place(0, 0, 1, 0, 0.5, 1);
	place(1, 1.5, 0, 0, 0.5, 1);
	CHECK(step(2) == NB_OK && vel[0] == 0 && vel[3] == 1);
	/* the line is that of the centres before the step, here x, and not that of where they touch */
	place(0, 0, 1, 1, 0.5, 1);
	place(1, 1.5, 0, 1, 0.5, 1);
	dx[4] = 0.8;
	vel[4] = 0.8;
	CHECK(step(2) == NB_OK && contacts == 1);
	CHECK(vel[0] == 0 && vel[3] == 1 && vel[1] == 0 && vel[4] == 0.8);
	/* at one place there is none: they are held, and keep their velocities */
	place(0, 0, 1, 1, 0, 1);
	place(1, 0, 1, 1, 0, 1);
	CHECK(step(2) == NB_OK && contacts == 1 && pos[0] == 0 && vel[0] == 1 && vel[3] == 1);
}

/* A body that is held cannot reach the next one any more. */
static void test_order(void)
{
	place(0, 0, 0, 1, 0.5, 1);
	place(1, 1.9, 1, 1, 0.5, 1);
	place(2, 3, 0, 1, 0.5, 1);
	dx[0] = 2; /* runs into 1 */
	CHECK(step(3) == NB_OK && contacts == 1);
	CHECK(pos[0] == 0 && pos[3] == 1.9 && pos[6] == 3 && vel[6] == 0);
	/* in another order of the bodies 1 and 2 come first, and then 0 touches nothing */
	place(0, 3, 0, 1, 0.5, 1);
	place(1, 1.9, 1, 1, 0.5, 1);
	place(2, 0, 0, 1, 0.5, 1);
	dx[6] = 0.8;
	CHECK(step(3) == NB_OK && contacts == 1);
	CHECK(pos[0] == 3 && pos[3] == 1.9 && pos[6] == 0.8 && vel[0] == 1 && vel[3] == 0);
}

static void measure(size_t n, double momentum[3], double *energy)
{
	memset(momentum, 0, 3 * sizeof *momentum);
	*energy = 0;
	for (size_t k = 0; k < 3 * n; k++) {
		momentum[k % 3] += mass[k / 3] * vel[k];
		*energy += mass[k / 3] * vel[k] * vel[k] / 2;
	}
}

static void test_many(void)
{
	static double old_pos[3 * MOST], old_vel[3 * MOST];
	double before[3], after[3], energy, left;
	for (size_t i = 0; i < MOST; i++) {
		for (size_t c = 0; c < 3; c++) {
			pos[3 * i + c] = uniform();
			vel[3 * i + c] = uniform() - 0.5;
			dx[3 * i + c] = 0.1 * vel[3 * i + c];
			dv[3 * i + c] = 0;
		}
		mass[i] = 0.1 + uniform();
		radius[i] = 0.03;
	}
	memcpy(old_pos, pos, sizeof pos);
	memcpy(old_vel, vel, sizeof vel);
	measure(MOST, before, &energy);
	CHECK(step(MOST) == NB_OK && contacts > 50);
	measure(MOST, after, &left);
	CHECK_NEAR(left / energy, 1, 1e-13);
	for (int c = 0; c < 3; c++)
		CHECK_NEAR(after[c], before[c], 1e-12);
	size_t held = 0;
	for (size_t i = 0; i < MOST; i++) {
		const int stays = memcmp(pos + 3 * i, old_pos + 3 * i, 3 * sizeof *pos) == 0;
		const int turns = memcmp(vel + 3 * i, old_vel + 3 * i, 3 * sizeof *vel) != 0;
		CHECK(stays == turns);
		held += (size_t)stays;
	}
	CHECK(held > 80 && held < MOST);
}

static void test_errors(void)
{
	CHECK(step(0) == NB_OK && contacts == 0);
	place(0, 1, 2, 3, 4, 1);
	CHECK(step(1) == NB_OK && contacts == 0 && pos[0] == 3);
	const double wrong[] = {-1, NAN, INFINITY};
	for (int k = 0; k < 3; k++)
		for (int field = 0; field < 6; field++) {
			double *const all[] = {pos, vel, dx, dv, mass, radius};
			if (field < 4 && k == 0)
				continue;
			place(0, 0, 1, 1, 0.5, 1);
			place(1, 1.5, 0, 1, 0.5, 1);
			all[field][field < 4 ? 4 : 1] = wrong[k];
			CHECK(step(2) == (field < 4 ? NB_ENONFINITE : NB_EINVAL));
			CHECK(pos[0] == 0 && vel[0] == 1 && dx[0] == 1);
		}
}

int main(void)
{
	test_two();
	test_masses();
	test_order();
	test_many();
	test_errors();
	return unit_end();
}
