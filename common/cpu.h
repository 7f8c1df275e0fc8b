/* cpu.h - which SIMD instructions to use, decided once at run time.
 *
 * A file kernels/NAME_simd.c is compiled once for each instruction set of the processor's family (NB_ISAS), with
 * NB_ISA_NAME = plain and so on, and names its public functions NB_ISA(function): function_plain, function_avx2.
 * The dispatcher in NAME_cpu.c takes that of nb_cpu_isa() from a table, NB_ISA_TABLE.  Binaries therefore run on any
 * processor of the family.  The plain variant gives the same bytes on all little-endian families. */
#ifndef NB_CPU_H
#define NB_CPU_H

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "nb does not run on big-endian processors: its stream is little-endian, and columns lie in memory as in it"
#endif

/* ROW(f, NAME, name) for each instruction set of this family of processors, from the least to the best */
#if defined(__x86_64__)
#define NB_ISAS(ROW, f) ROW(f, PLAIN, plain) ROW(f, AVX2, avx2) ROW(f, AVX512, avx512)
#elif defined(__aarch64__)
#define NB_ISAS(ROW, f) ROW(f, PLAIN, plain) ROW(f, NEON, neon)
#else
#define NB_ISAS(ROW, f) ROW(f, PLAIN, plain)
#endif

#define NB_ISA_MEMBER(prefix, NAME, name) prefix##NAME,
enum nb_isa { NB_ISAS(NB_ISA_MEMBER, NB_ISA_) };

/* f_plain and its variants, objects of a type f; and the elements of an array of them by enum nb_isa */
#define NB_ISA_DECLARATION(f, NAME, name) extern f f##_##name;
#define NB_ISA_DECLARE(f) NB_ISAS(NB_ISA_DECLARATION, f)
#define NB_ISA_ELEMENT(f, NAME, name) f##_##name,
#define NB_ISA_TABLE(f) NB_ISAS(NB_ISA_ELEMENT, f)

/* The best that both the processor and the environment variable NB_SIMD allow; it sets no limit if it is unset, or the
 * name of one of another family. */
enum nb_isa nb_cpu_isa(void);
const char *nb_cpu_isa_name(enum nb_isa isa);
/* Whether it is the name of one, of any family. */
int nb_cpu_knows_isa(const char *name);
/* Whether that is NB_ISA_AVX512 with carry-less multiplication of 512 bits, which not all such processors have. */
int nb_cpu_folds_checksums(void);

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
