/* fifteen.h - what steps of order 15 give, for the tests of other integrators. */
#ifndef NB_UNIT_FIFTEEN_H
#define NB_UNIT_FIFTEEN_H

#include "kernels/small/small.h"
#include "tests/unit/unit.h"

/* x and v of n bodies become those after a time; extra: forces beside gravity, or NULL. */
static void follow_fifteen(
	size_t n, const double *mass, const struct nb_extra *extra, double time, double *x, double *v)
{
	struct nb_ias15 s;
	CHECK(nb_ias15_begin(&s, n, mass, 1, 0) == NB_OK);
	s.extra = extra;
	CHECK(nb_ias15_load(&s, x, v, 0.175, INFINITY, 1) == NB_OK);
	while (s.elapsed < time)
		CHECK(nb_ias15_step(&s) == NB_OK);
	nb_ias15_at(&s, s.last - (s.elapsed - time), x, v);
}

#endif
