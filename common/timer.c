#include "common/timer.h"

#include <errno.h>
#include <time.h>

static double seconds_of(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double nb_now(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

double nb_now_roughly(void)
{
	return seconds_of(CLOCK_MONOTONIC_COARSE);
}

void nb_pause(double seconds)
{
	struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

struct timespec nb_time_after(double seconds)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)seconds;
	t.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}
