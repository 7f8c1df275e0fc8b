/* unit.h - the whole test framework: CHECK says what failed and where; the program exits 1 if anything did. */
#ifndef NB_UNIT_H
#define NB_UNIT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1 under sanitizers, which look at memory and not at numbers, and where branches are counted; both take many times as
 * long: what is checked for many models or angles is then done for few. */
#if defined(__SANITIZE_ADDRESS__) || defined(NB_COVERAGE)
enum { UNIT_SANITIZED = 1 };
#else
enum { UNIT_SANITIZED = 0 };
#endif

#ifdef __cplusplus
static int unit_failed, unit_checked;
#else
static _Atomic int unit_failed, unit_checked; /* several threads check in some tests */
#endif

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		unit_checked++;                                                                 \
		if (!(condition)) {                                                             \
			unit_failed++;                                                          \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
		}                                                                               \
	} while (0)

/* Says which case it was: the text `label` of the test program. */
#define WANT(condition)                                           \
	do {                                                      \
		const int before_ = unit_failed;                  \
		CHECK(condition);                                 \
		if (unit_failed != before_)                       \
			fprintf(stderr, "  in case %s\n", label); \
	} while (0)

/* A NaN on either side fails. */
#define CHECK_NEAR(got, want, by)                                                                                    \
	do {                                                                                                         \
		const double got_ = (got), want_ = (want), by_ = (by);                                               \
		unit_checked++;                                                                                      \
		if (!(fabs(got_ - want_) <= by_)) {                                                                  \
			unit_failed++;                                                                               \
			fprintf(stderr, "%s:%d: %s = %.17g, want %.17g within %g\n", __FILE__, __LINE__, #got, got_, \
				want_, by_);                                                                         \
		}                                                                                                    \
	} while (0)

static inline int unit_end(void)
{
	printf("%d checks, %d failed\n", unit_checked, unit_failed);
	return unit_failed || !unit_checked ? 1 : 0;
}

#endif
