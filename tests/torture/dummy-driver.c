/* A "driver" for the test of driver.c, to be libcuda.so.1: functions that say what they got. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int allocate(uint64_t *at, uint64_t bytes)
{
	*at = 4096;
	printf("allocate %llu\n", (unsigned long long)bytes);
	return 0;
}

/* More arguments than registers. */
static int launch(void *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned shared,
	void *stream, void **parameters, void **extra)
{
	printf("launch %d %u %u %u %u %u %u %u %d %d %d\n", (int)(intptr_t)f, a, b, c, d, e, g, shared,
		(int)(intptr_t)stream, (int)(intptr_t)parameters, (int)(intptr_t)extra);
	return 0;
}

static int copy(double a, float b, double c, double d, double e, double f, double g, double h, double on_stack)
{
	printf("copy %g %g %g %g %g %g %g %g %g\n", a, (double)b, c, d, e, f, g, h, on_stack);
	return 7;
}

static int say_error(int error, const char **text)
{
	(void)error;
	*text = "an error";
	return 0;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found)
{
	(void)version;
	(void)flags;
	(void)found;
	*function = strcmp(name, "cuMemAlloc") == 0	    ? (void *)(uintptr_t)allocate
		    : strcmp(name, "cuLaunchKernel") == 0   ? (void *)(uintptr_t)launch
		    : strcmp(name, "cuMemcpy") == 0	    ? (void *)(uintptr_t)copy
		    : strcmp(name, "cuGetErrorString") == 0 ? (void *)(uintptr_t)say_error
		    : strcmp(name, "cuGetProcAddress") == 0 ? (void *)(uintptr_t)cuGetProcAddress_v2
							    : NULL;
	return *function ? 0 : 500;
}
