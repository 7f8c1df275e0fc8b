#include "common/timer.h"

#include <time.h>

static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double nb_now(void)
{
	return seconds(CLOCK_MONOTONIC);
}

double nb_now_roughly(void)
{
	return seconds(CLOCK_MONOTONIC_COARSE);
}
