/* Calls the "driver" as the CUDA runtime does, for the test of driver.c. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

typedef int get(const char *name, void **function, int version, uint64_t flags, int *found);

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	get *first = driver ? (get *)(uintptr_t)dlsym(driver, "cuGetProcAddress_v2") : NULL;
	void *f[5] = {NULL};
	static const char *const name[] = {
		"cuGetProcAddress", "cuMemAlloc", "cuLaunchKernel", "cuMemcpy", "cuGetErrorString"};
	if (!first || first(name[0], &f[0], 12000, 0, NULL))
		return 1;
	for (int k = 1; k < 5; k++)
		if (((get *)(uintptr_t)f[0])(name[k], &f[k], 12000, 0, NULL))
			return 1;
	if (first("cuNothing", &f[0], 12000, 0, NULL) != 500)
		return 1;
	for (int round = 1; round <= 3; round++) {
		uint64_t at = 0;
		const char *text = "";
		int status = ((int (*)(uint64_t *, uint64_t))(uintptr_t)f[1])(&at, 100);
		printf("%d: %d, at %llu\n", round, status, (unsigned long long)at);
		status = ((int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
			void **, void **))(uintptr_t)f[2])(
			(void *)1, 2, 3, 4, 5, 6, 7, 8, (void *)9, (void **)10, (void **)11);
		printf("%d: %d\n", round, status);
		status = ((int (*)(double, float, double, double, double, double, double, double, double))(
			uintptr_t)f[3])(1.5, 2.5f, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5);
		printf("%d: %d\n", round, status);
		(void)((int (*)(int, const char **))(uintptr_t)f[4])(status, &text);
		printf("%d: %s\n", round, text);
	}
	return 0;
}
