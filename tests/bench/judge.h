/* judge.h - what a result must be like before its time counts.
 *
 * A sample of bodies is compared with the oracle, and every number of all bodies must be finite, so that a body that
 * the kernel forgot shows: the outputs held NaN before.
 *
 * Two errors have the same bound: rms(|da|) / rms(|a|), and the median over the bodies of |da| / |a|, since rms is that
 * of the few bodies with close neighbours.
 *
 * Sums over all pairs or all near pairs: 1e-5 in f32 and mixed, 1e-12 in f64; jerks ten times as much, since most of
 * their rms is that of close pairs, whose separation loses digits.
 *
 * A single sum in f32 that takes up n bodies one after another: n 2^-27 if that is more, an eighth of what holds for
 * any such sum.  In clusters each term of a far one is a tiny part of the sum, and many in a row are rounded the same
 * way.
 *
 * Trees with an opening angle theta > 0: 0.1 theta.  Their errors grow as theta^2, and are at most 0.055 at 1.  An
 * angle beyond 1 is no excuse for more.  Jerks of trees, which lose a digit where velocities cancel: 0.3 theta.
 *
 * A NaN is in no bound. */
#ifndef NB_BENCH_JUDGE_H
#define NB_BENCH_JUDGE_H

#include <math.h>
#include <stdlib.h>

struct judgement {
	double rms;    /* rms(|d|) / rms(|want|) */
	double median; /* of |d| / |want| */
	size_t bad;    /* bodies of all n with a number that is not finite */
};

static inline int judge_order(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y; /* no NaN among them */
}

/* got n x 3, against want, some x 3, for the bodies target[0 .. some-1]; error: room for some numbers. */
static inline struct judgement judge(
	size_t n, const double *got, size_t some, const size_t *target, const double *want, double *error)
{
	struct judgement j = {0, 0, 0};
	double num = 0, den = 0;
	for (size_t i = 0; i < n; i++)
		j.bad += !(isfinite(got[3 * i]) && isfinite(got[3 * i + 1]) && isfinite(got[3 * i + 2]));
	for (size_t k = 0; k < some; k++) {
		double d2 = 0, w2 = 0;
		for (size_t c = 0; c < 3; c++) {
			const double d = got[3 * target[k] + c] - want[3 * k + c];
			d2 += d * d;
			w2 += want[3 * k + c] * want[3 * k + c];
		}
		num += d2;
		den += w2;
		/* of nothing, only nothing is right */
		error[k] = isfinite(d2) ? (d2 == 0 ? 0 : sqrt(d2 / w2)) : INFINITY;
	}
	j.rms = num == 0 ? 0 : sqrt(num / den);
	qsort(error, some, sizeof *error, judge_order);
	j.median = some ? error[some / 2] : 0;
	return j;
}

/* f64: the arithmetic is; theta 0: no tree, or one that opens every cell; running: the bodies that are added to a
 * single sum one after another, 0 where the kernel does otherwise. */
static inline double judge_bound(int f64, double theta, int jerk, size_t running)
{
	if (theta > 0)
		return (jerk ? 0.3 : 0.1) * fmin(theta, 1);
	return (jerk ? 10 : 1) * (f64 ? 1e-12 : fmax(1e-5, 0x1p-27 * (double)running));
}

static inline int judge_accepts(struct judgement j, double bound)
{
	return j.bad == 0 && j.rms <= bound && j.median <= bound;
}

#endif
