/* there.h - the tables of both backends, and arrays on the device. */
#ifndef NB_BACKEND_THERE_H
#define NB_BACKEND_THERE_H

#include "kernels/backend/backend.h"
#include "tests/unit/unit.h"

static const struct nb_backend *cpu, *cuda;

/* 0 if there is no device. */
static int both_backends(void)
{
	char why[NB_BACKEND_WHY];
	if (!nb_backend_choose("cpu", &cpu, why) && !nb_backend_choose("cuda", &cuda, why))
		return 1;
	fprintf(stderr, "%s\n", why);
	return 0;
}

/* An array of the host, on the device. */
static void *there(const void *host, size_t bytes)
{
	void *p = cuda->space->alloc(cuda->space, bytes);
	CHECK(p && cuda->space->from_host(cuda->space, p, host, bytes) == NB_OK);
	return p;
}

static void drop(const void *device)
{
	cuda->space->release(cuda->space, (void *)(uintptr_t)device);
}

static void back(void *host, void *device, size_t bytes)
{
	CHECK(cuda->space->to_host(cuda->space, host, device, bytes) == NB_OK);
	drop(device);
}

static double uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-53;
}

/* Whether two numbers are the same up to 1e-13 of scale; NaN is the same as NaN. */
static int agree(double a, double b, double scale)
{
	return isnan(a) || isinf(a) ? (isnan(a) ? isnan(b) : a == b) : fabs(a - b) <= 1e-13 * fabs(scale);
}

#endif
