#include "common/cpu.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#if defined(CPU_FEATURE_ACTIVE) && !defined(__SANITIZE_ADDRESS__)
/* What the C library found at the start: GCC's own function asks the processor again, which takes 0.1 ms of each start
 * in a virtual machine.  A sanitizer stops at the library's macro, which shifts a signed 1 by 31. */
#define HAS(NAME, name) CPU_FEATURE_ACTIVE(NAME)
#else
#define HAS(NAME, name) (__builtin_cpu_init(), __builtin_cpu_supports(#name))
#endif

#define WORD(f, NAME, name) #name,
static const char *const isa_name[] = {NB_ISAS(WORD, )};

const char *nb_cpu_isa_name(enum nb_isa isa)
{
	return isa_name[isa];
}

int nb_cpu_knows_isa(const char *name)
{
	static const char *const all[] = {"plain", "avx2", "avx512", "neon"};
	int known = 0;
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		known |= strcmp(name, all[k]) == 0;
	return known;
}

static enum nb_isa processor_isa(void)
{
#ifdef __x86_64__
	const int avx2 = HAS(AVX2, avx2) && HAS(FMA, fma) && HAS(POPCNT, popcnt) && HAS(BMI1, bmi) && HAS(BMI2, bmi2);
	if (avx2 && HAS(AVX512F, avx512f) && HAS(AVX512DQ, avx512dq) && HAS(AVX512BW, avx512bw) &&
		HAS(AVX512VL, avx512vl))
		return NB_ISA_AVX512;
	if (avx2)
		return NB_ISA_AVX2;
#elif defined(__aarch64__)
	return NB_ISA_NEON; /* which every one has */
#endif
	return NB_ISA_PLAIN;
}

enum nb_isa nb_cpu_isa(void)
{
	static _Atomic int known; /* 1 more than the processor's, once it has been asked */
	const char *wish = getenv("NB_SIMD");
	if (!known)
		known = 1 + (int)processor_isa();
	const int isa = known - 1;
	if (wish)
		for (int i = NB_ISA_PLAIN; i < isa; i++)
			if (strcmp(wish, isa_name[i]) == 0)
				return (enum nb_isa)i;
	return (enum nb_isa)isa;
}

int nb_cpu_folds_checksums(void)
{
#ifdef __x86_64__
	return nb_cpu_isa() == NB_ISA_AVX512 && HAS(PCLMULQDQ, pclmul) && HAS(VPCLMULQDQ, vpclmulqdq);
#else
	return 0;
#endif
}

#ifdef _OPENMP /* the installed library is without */
int nb_cpu_threads(void)
{
	return omp_get_max_threads();
}

void nb_cpu_set_threads(int n)
{
	static int own; /* what the environment and the processor say */
	if (!own)
		own = omp_get_max_threads();
	omp_set_num_threads(n > 0 ? n : own);
}

/* The programs of a pipeline share the processors.  A thread that waits at a barrier by spinning, as libgomp does
 * for milliseconds, keeps the processor from the very program that it waits for: a pipeline of three took two to
 * eight times as long.  libgomp reads its environment in a constructor; it is linked statically, so that this one,
 * of the highest priority, comes before.  A user's own setting counts. */
__attribute__((constructor(101))) static void spin_briefly(void)
{
	if (!getenv("OMP_WAIT_POLICY"))
		setenv("GOMP_SPINCOUNT", "1000", 0); /* some microseconds, then sleep */
}
#else
int nb_cpu_threads(void)
{
	return 1;
}
#endif
