/* Transits: of circles, to the order of the polynomial; behind, and away from the other body; and where none is. */
#include "kernels/measure/measure.h"
#include "tests/unit/unit.h"

/* On a circle of radius 1 and period 2 pi, tilted against the axis z, which it is over at the angle 0. */
static struct nb_relative circle(double angle, double tilt)
{
	struct nb_relative r;
	const double x[3] = {sin(angle), sin(tilt) * cos(angle), cos(tilt) * cos(angle)};
	const double v[3] = {cos(angle), -sin(tilt) * sin(angle), -cos(tilt) * sin(angle)};
	for (int d = 0; d < 3; d++) {
		r.pos[d] = x[d];
		r.vel[d] = v[d];
		r.acc[d] = -x[d];
	}
	return r;
}

/* From a third of the step before it, and so on for x and y. */
static double error_of(double h, double tilt)
{
	double most = 0;
	for (int axis = 0; axis < 3; axis++) {
		struct nb_relative state[2], seen[2];
		struct nb_transit t = {0};
		for (int k = 0; k < 2; k++) {
			state[k] = circle(k ? 2 * h / 3 : -h / 3, tilt);
			for (int d = 0; d < 3; d++) {
				seen[k].pos[(d + axis + 1) % 3] = state[k].pos[d];
				seen[k].vel[(d + axis + 1) % 3] = state[k].vel[d];
				seen[k].acc[(d + axis + 1) % 3] = state[k].acc[d];
			}
		}
		CHECK(nb_transit_find(&seen[0], &seen[1], h, axis, &t));
		most = fmax(most, fabs(t.time - h / 3));
		CHECK_NEAR(t.distance, sin(tilt), 1e-4);
		CHECK_NEAR(t.speed, 1, 1e-4);
	}
	printf("h %g: %.3g\n", h, most);
	return most;
}

int main(void)
{
	const double one = error_of(2 * M_PI / 20, 0.1), half = error_of(2 * M_PI / 40, 0.1);
	struct nb_relative from = circle(-0.1, 0.1), to = circle(0.1, 0.1);
	struct nb_transit t;
	CHECK(one < 1e-8 && one / half > 25 && one / half < 150);
	CHECK(error_of(2 * M_PI / 100, 0.1) < 1e-12);
	CHECK(!nb_transit_find(&to, &from, 0.2, 2, &t)); /* no least distance */
	from = circle(M_PI - 0.1, 0.1);
	to = circle(M_PI + 0.1, 0.1);
	CHECK(!nb_transit_find(&from, &to, 0.2, 2, &t)); /* behind */
	from = circle(0.1, 0.1);
	to = circle(0.2, 0.1);
	CHECK(!nb_transit_find(&from, &to, 0.1, 2, &t)); /* over */
	return unit_end();
}
