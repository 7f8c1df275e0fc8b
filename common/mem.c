#include "common/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64, HUGE = 2 << 20 };

int nb_mul_overflow(size_t a, size_t b, size_t *product)
{
	return __builtin_mul_overflow(a, b, product);
}

void *nb_alloc(size_t count, size_t size)
{
	size_t bytes;
	if (nb_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - HUGE)
		return NULL;
	size_t align = bytes >= 2 * (size_t)HUGE ? (size_t)HUGE : (size_t)ALIGN;
	bytes = bytes ? (bytes + align - 1) / align * align : align;
	void *p = aligned_alloc(align, bytes);
	if (p && align == (size_t)HUGE)
		madvise(p, bytes, MADV_HUGEPAGE); /* fewer page faults; failure is harmless */
	return p;
}

void *nb_alloc_zero(size_t count, size_t size)
{
	void *p = nb_alloc(count, size);
	if (p)
		memset(p, 0, count * size);
	return p;
}

void nb_free(void *p)
{
	free(p);
}
