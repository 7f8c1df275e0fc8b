/* Checked memory: alignment, overflow, and big blocks that are used again. */
#include "common/mem.h"
#include "tests/unit/unit.h"

#include <stdint.h>
#include <sys/resource.h>

enum { MIB = 1 << 20 };

static long faults(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

int main(void)
{
	size_t product;
	CHECK(nb_mul_overflow(SIZE_MAX / 2, 3, &product) == 1);
	CHECK(nb_mul_overflow(1 << 20, 12, &product) == 0 && product == 12 << 20);
	CHECK(nb_alloc(SIZE_MAX / 2, 3) == NULL);
	CHECK(nb_alloc(SIZE_MAX, 1) == NULL);

	for (size_t bytes = 0; bytes < 40u * MIB; bytes = bytes ? 3 * bytes : 1) {
		unsigned char *p = nb_alloc(bytes, 1), *q = nb_alloc_zero(bytes, 1);
		CHECK(p && q && p != q && (uintptr_t)p % 64 == 0 && (uintptr_t)q % 64 == 0);
		memset(p, 1, bytes);
		size_t not_zero = 0;
		for (size_t i = 0; i < bytes; i++)
			not_zero += q[i] != 0;
		CHECK(not_zero == 0);
		memset(q, 1, bytes); /* the next nb_alloc_zero may get this block */
		nb_free(p);
		nb_free(q);
	}
	nb_free(NULL);

	/* two blocks, again and again: their pages are touched for the first time once */
	long before = 0;
	for (int i = 0; i < 20; i++) {
		char *p = nb_alloc(64, MIB), *q = nb_alloc(24, MIB);
		CHECK(p && q && (q + 24 * MIB <= p || p + 64 * MIB <= q));
		memset(p, i, 64 * MIB);
		memset(q, i, 24 * MIB);
		nb_free(q);
		nb_free(p);
		if (i == 0)
			before = faults();
	}
#ifndef __SANITIZE_ADDRESS__
	CHECK(faults() - before < 100);
#else
	(void)before;
#endif

	/* blocks of ever other sizes are not kept: all of these at once would be 4 GB */
	for (size_t i = 0; i < 100; i++) {
		size_t bytes = (20 + i * 37 % 100 / 2) * MIB;
		char *p = nb_alloc(bytes, 1);
		CHECK(p != NULL);
		memset(p, 1, bytes);
		nb_free(p);
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed on purpose */
	CHECK(usage.ru_maxrss < 300 * 1024);
#endif
	return unit_end();
}
