/* scarce.h - memory runs out: one call of malloc or nb_alloc, or of their relatives, fails.  For test programs of the
 * name scarce.c, which the Makefile links so that these calls come here (--wrap). */
#ifndef NB_UNIT_SCARCE_H
#define NB_UNIT_SCARCE_H

#include "tests/unit/unit.h"

#include <errno.h>

static _Atomic long scarce_calls, scarce_fails;
static int scarce_blocks_only; /* only nb_alloc fails: OpenMP's own calls of malloc end the process */
static int scarce_not_memory;  /* another call of the test program fails instead, which asks scarce_strikes */

/* The k-th call from now on fails, k = 0: none. */
static void scarce_at(long k)
{
	scarce_calls = 0;
	scarce_fails = k;
}

/* Whether it has; after that, none fails. */
static int scarce_struck(void)
{
	const int struck = scarce_fails && scarce_calls >= scarce_fails;
	scarce_fails = 0;
	return struck;
}

static int scarce_strikes(void)
{
	return scarce_fails && ++scarce_calls == scarce_fails;
}

#define SCARCE(type, name, parameters, arguments, is_block)                                        \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return !scarce_not_memory && (is_block || !scarce_blocks_only) && scarce_strikes() \
			       ? (errno = ENOMEM, NULL)                                            \
			       : __real_##name arguments;                                          \
	}
SCARCE(void *, malloc, (size_t bytes), (bytes), 0)
SCARCE(void *, calloc, (size_t count, size_t size), (count, size), 0)
SCARCE(void *, realloc, (void *p, size_t bytes), (p, bytes), 0)
SCARCE(char *, strdup, (const char *text), (text), 0)
SCARCE(void *, nb_alloc, (size_t count, size_t size), (count, size), 1)
SCARCE(void *, nb_alloc_zero, (size_t count, size_t size), (count, size), 1)
#undef SCARCE

/* Does the work again and again, while its first, second ... call fails, until none is left: work returns what `failed`
 * is if it failed as promised, 0 if it was done all the same, and rightly.  Says how many calls there were. */
static long scarce_each(const char *label, int (*work)(void *context), void *context, int failed)
{
	for (long k = 1;; k++) {
		scarce_at(k);
		const int status = work(context);
		if (!scarce_struck()) {
			WANT(status == 0);
			WANT(k > 1); /* else it has no memory to run out of */
			return k - 1;
		}
		if (status != failed && status != 0) {
			unit_failed++;
			fprintf(stderr, "%s: status %d after call %ld failed\n", label, status, k);
		}
		unit_checked++;
	}
}

#endif
