/* cpu.h - which SIMD instructions to use, decided once at run time.
 *
 * A file kernels/NAME_simd.c is compiled three times, with NB_ISA_NAME = plain, avx2 and avx512, and
 * names its public functions NB_ISA(function): function_plain, function_avx2, function_avx512.  The
 * dispatcher in NAME_cpu.c picks by nb_cpu_isa().  Binaries therefore run on any x86-64, or, with
 * the plain variant alone, on any processor. */
#ifndef NB_CPU_H
#define NB_CPU_H

enum nb_isa { NB_ISA_PLAIN, NB_ISA_AVX2, NB_ISA_AVX512 };

/* The best that both the processor and the environment variable NB_SIMD (plain, avx2 or avx512;
 * unset: no limit) allow. */
enum nb_isa nb_cpu_isa(void);
const char *nb_cpu_isa_name(enum nb_isa isa);

enum {
	NB_THREADS_MOST = 4096,
	NB_STACK_LEAST = 256 << 10 /* bytes, of a thread: twice of what nb-gen merger needs */
};

/* Threads that OpenMP would use: -j, else OMP_NUM_THREADS, else the processors this process may use. */
int nb_cpu_threads(void);
void nb_cpu_set_threads(int n); /* 0: default */

#ifdef NB_ISA_NAME
#define NB_ISA_PASTE2(f, isa) f##_##isa
#define NB_ISA_PASTE(f, isa) NB_ISA_PASTE2(f, isa)
#define NB_ISA(f) NB_ISA_PASTE(f, NB_ISA_NAME)
#endif

#endif
