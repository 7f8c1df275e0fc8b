/* direct.c - speed of the direct sum on the CPU, checked against the oracle before it is timed.
 *
 *     direct [N] [THREADS]        default 32768, all
 *
 * One line per case, min of 5; interactions are n (n - 1).  "/ plain" is the ratio to
 * a plain C loop of the same precision that the compiler vectorises for the same instruction set, timed in the
 * same run; "must" the rate wanted of the reference machine, 2 cores with AVX-512.  Exits 1 if a result is off. */
#include "common/cpu.h"
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/gravity/gravity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5, SAMPLE = 256 };

static size_t n = 32768;
static double *pos, *vel, *mass, *acc, *pot, *jerk;
static size_t target[SAMPLE];
static double ref_acc[3 * SAMPLE], ref_pot[SAMPLE], ref_jerk[3 * SAMPLE];
static const double eps = 0.01;
static int failed;

static double uniform(void)
{
	static uint64_t state = 20240607;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

/* a Plummer sphere (Aarseth, Henon & Wielen 1974), masses equal or spread over a factor of 100 */
static void make(int equal)
{
	for (size_t i = 0; i < n; i++) {
		const double r = 1 / sqrt(pow(uniform(), -2.0 / 3.0) - 1), z = 2 * uniform() - 1,
			     phi = 2 * M_PI * uniform();
		const double s = sqrt(1 - z * z);
		pos[3 * i] = r * s * cos(phi);
		pos[3 * i + 1] = r * s * sin(phi);
		pos[3 * i + 2] = r * z;
		for (int d = 0; d < 3; d++)
			vel[3 * i + d] = uniform() - 0.5;
		mass[i] = (equal ? 1 : exp(log(100) * uniform())) / (double)n;
	}
}

/* ---- plain loops, with OpenMP and SIMD pragmas but nothing written by hand ------------------------- */

#ifdef __x86_64__
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,prefer-vector-width=512"), noinline))
#define AVX2 __attribute__((target("avx2,fma"), noinline))
#else
#define AVX512
#define AVX2
#endif
#define PLAIN_ROW(T, SQRT, ISA, TARGET)                                                      \
	TARGET static void plain_row_##T##_##ISA(                                            \
		const T *x, const T *y, const T *z, const T *m, size_t i, T eps2, double *a) \
	{                                                                                    \
		T ax = 0, ay = 0, az = 0;                                                    \
		_Pragma("omp simd reduction(+ : ax, ay, az)") for (size_t j = 0; j < n; j++) \
		{                                                                            \
			const T dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];        \
			const T r2 = dx * dx + dy * dy + dz * dz + eps2;                     \
			const T rinv = 1 / SQRT(r2);                                         \
			const T w = m[j] * rinv * rinv * rinv;                               \
			ax += w * dx;                                                        \
			ay += w * dy;                                                        \
			az += w * dz;                                                        \
		}                                                                            \
		a[0] = (double)ax;                                                           \
		a[1] = (double)ay;                                                           \
		a[2] = (double)az;                                                           \
	}
#define PLAIN(T, SQRT)                                                                                   \
	PLAIN_ROW(T, SQRT, plain, )                                                                      \
	PLAIN_ROW(T, SQRT, avx2, AVX2)                                                                   \
	PLAIN_ROW(T, SQRT, avx512, AVX512)                                                               \
	static void plain_##T(void)                                                                      \
	{                                                                                                \
		T *x = nb_alloc(n, sizeof *x), *y = nb_alloc(n, sizeof *y), *z = nb_alloc(n, sizeof *z); \
		T *m = nb_alloc(n, sizeof *m);                                                           \
		if (!x || !y || !z || !m)                                                                \
			abort();                                                                         \
		for (size_t i = 0; i < n; i++) {                                                         \
			x[i] = (T)pos[3 * i];                                                            \
			y[i] = (T)pos[3 * i + 1];                                                        \
			z[i] = (T)pos[3 * i + 2];                                                        \
			m[i] = (T)mass[i];                                                               \
		}                                                                                        \
		void (*row)(const T *, const T *, const T *, const T *, size_t, T,                       \
			double *) = nb_cpu_isa() == NB_ISA_AVX512 ? plain_row_##T##_avx512               \
				    : nb_cpu_isa() == NB_ISA_AVX2 ? plain_row_##T##_avx2                 \
								  : plain_row_##T##_plain;               \
		_Pragma("omp parallel for") for (size_t i = 0; i < n; i++)                               \
			row(x, y, z, m, i, (T)(eps * eps), acc + 3 * i);                                 \
		nb_free(x);                                                                              \
		nb_free(y);                                                                              \
		nb_free(z);                                                                              \
		nb_free(m);                                                                              \
	}
PLAIN(float, sqrtf)
PLAIN(double, sqrt)

/* ---- cases ----------------------------------------------------------------------------------------- */

struct bench {
	const char *kernel, *precision, *masses;
	enum nb_precision p;
	int want_pot, want_jerk;
	void (*plain)(void);
	double bound; /* largest rms error that counts as right */
	double least; /* G interactions/s */
};

static void run(const struct bench *b, struct nb_gravity *g)
{
	if (b->plain) {
		b->plain();
		return;
	}
	int status = nb_gravity_direct_cpu(g, NULL);
	if (status) {
		fprintf(stderr, "bench: %s\n", nb_status_text(status));
		exit(1);
	}
}

/* rms(|da|) / rms(|a|) over the sample */
static double error_of(const double *got, const double *want, int width)
{
	double num = 0, den = 0;
	for (size_t k = 0; k < SAMPLE; k++)
		for (int d = 0; d < width; d++) {
			const double w = want[(size_t)width * k + (size_t)d];
			const double e = got[(size_t)width * target[k] + (size_t)d] - w;
			num += e * e;
			den += w * w;
		}
	return sqrt(num / den);
}

/* worst of acc, pot and jerk */
static double error_now(const struct bench *b)
{
	double e = error_of(acc, ref_acc, 3);
	if (b->want_pot)
		e = fmax(e, error_of(pot, ref_pot, 1));
	if (b->want_jerk)
		e = fmax(e, error_of(jerk, ref_jerk, 3));
	return e;
}

static double measure(const struct bench *b, double plain_rate)
{
	struct nb_gravity g = {.n = n,
		.pos = pos,
		.vel = vel,
		.mass = mass,
		.acc = acc,
		.pot = b->want_pot ? pot : NULL,
		.jerk = b->want_jerk ? jerk : NULL,
		.eps = eps,
		.G = 1,
		.precision = b->p};
	memset(acc, 0, 3 * n * sizeof *acc);
	run(b, &g);
	const double error = error_now(b);
	double best = INFINITY;
	for (int k = 0; k < RUNS; k++) {
		const double start = nb_now();
		run(b, &g);
		best = fmin(best, nb_now() - start);
	}
	const double rate = (double)n * (double)(n - 1) / best * 1e-9;
	printf("%-16s %-6s %-8s %8zu %3d %-7s %8.2f %9.1e ", b->kernel, b->precision, b->masses, n, nb_cpu_threads(),
		nb_cpu_isa_name(nb_cpu_isa()), rate, error);
	if (b->want_pot || b->want_jerk)
		printf("%7s", "-"); /* the plain loop has acc alone */
	else
		printf("%7.2f", plain_rate > 0 ? rate / plain_rate : 1.0);
	if (b->least > 0 && n == 32768)
		printf("%6.1f", b->least);
	putchar('\n');
	fflush(stdout);
	if (!(error <= b->bound)) {
		fprintf(stderr, "bench: %s %s: error %.1e exceeds %.1e\n", b->kernel, b->precision, error, b->bound);
		failed = 1;
	}
	return rate;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		n = strtoul(argv[1], NULL, 10);
	if (argc > 2)
		nb_cpu_set_threads(atoi(argv[2]));
	if (n < 2) {
		fprintf(stderr, "usage: direct [N] [THREADS]\n");
		return 2;
	}
	pos = nb_alloc(n, 3 * sizeof *pos);
	vel = nb_alloc(n, 3 * sizeof *vel);
	mass = nb_alloc(n, sizeof *mass);
	acc = nb_alloc(n, 3 * sizeof *acc);
	pot = nb_alloc(n, sizeof *pot);
	jerk = nb_alloc(n, 3 * sizeof *jerk);
	if (!pos || !vel || !mass || !acc || !pot || !jerk) {
		fprintf(stderr, "bench: out of memory\n");
		return 1;
	}
	static const struct bench benches[] = {
		{"plain loop", "f32", "equal", NB_F32, 0, 0, plain_float, 1e-5, 0},
		{"direct", "f32", "equal", NB_F32, 0, 0, NULL, 1e-6, 8},
		{"direct", "f32", "unequal", NB_F32, 0, 0, NULL, 1e-6, 8},
		{"direct", "mixed", "equal", NB_MIXED, 0, 0, NULL, 1e-6, 0},
		{"direct+pot", "f32", "unequal", NB_F32, 1, 0, NULL, 1e-6, 0},
		{"direct+pot+jerk", "f32", "unequal", NB_F32, 1, 1, NULL, 1e-5, 0},
		{"plain loop", "f64", "equal", NB_F64, 0, 0, plain_double, 1e-12, 0},
		{"direct", "f64", "equal", NB_F64, 0, 0, NULL, 1e-13, 2.5},
		{"direct", "f64", "unequal", NB_F64, 0, 0, NULL, 1e-13, 2.5},
		{"direct+pot", "f64", "unequal", NB_F64, 1, 0, NULL, 1e-13, 0},
		{"direct+pot+jerk", "f64", "unequal", NB_F64, 1, 1, NULL, 1e-12, 0},
	};
	printf("%-16s %-6s %-8s %8s %3s %-7s %8s %9s %7s %5s\n", "kernel", "prec", "masses", "n", "thr", "isa",
		"G inter/s", "rms error", "/ plain", "must");
	double plain_rate = 0;
	int equal = -1;
	for (size_t k = 0; k < sizeof benches / sizeof *benches; k++) {
		const struct bench *b = &benches[k];
		if (equal != (strcmp(b->masses, "equal") == 0)) {
			equal = strcmp(b->masses, "equal") == 0;
			make(equal);
			struct nb_gravity g = {.n = n, .pos = pos, .vel = vel, .mass = mass, .eps = eps, .G = 1};
			for (size_t s = 0; s < SAMPLE; s++)
				target[s] = s * (n - 1) / (SAMPLE - 1);
			if (nb_gravity_ref(&g, target, SAMPLE, ref_acc, ref_pot, ref_jerk))
				return 1;
		}
		const double rate = measure(b, b->plain ? 0 : plain_rate);
		if (b->plain)
			plain_rate = rate;
	}
	return failed;
}
