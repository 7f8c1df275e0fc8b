#include "common/cpu.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const char *const isa_name[] = {"plain", "avx2", "avx512"};

const char *nb_cpu_isa_name(enum nb_isa isa)
{
	return isa_name[isa];
}

static enum nb_isa processor_isa(void)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt") &&
	           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
	if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return NB_ISA_AVX512;
	if (avx2)
		return NB_ISA_AVX2;
#endif
	return NB_ISA_PLAIN;
}

enum nb_isa nb_cpu_isa(void)
{
	enum nb_isa isa = processor_isa();
	const char *wish = getenv("NB_SIMD");
	if (wish)
		for (int i = NB_ISA_PLAIN; i < (int)isa; i++)
			if (strcmp(wish, isa_name[i]) == 0)
				return (enum nb_isa)i;
	return isa;
}

int nb_cpu_threads(void)
{
	return omp_get_max_threads();
}

void nb_cpu_set_threads(int n)
{
	if (n > 0)
		omp_set_num_threads(n);
}
