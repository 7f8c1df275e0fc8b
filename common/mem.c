#include "common/mem.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64, HUGE = 2 << 20, BIG = 2 * HUGE };

/* Big blocks that were freed wait here for the next request of about their size: a tool that handles frame
 * after frame would otherwise give its memory back and have the kernel clear it again for every frame, which
 * costs as much as the copies through the pipes.  A request that finds nothing empties the store, so that
 * memory of sizes no longer in use is never held on top of what is in use. */
#ifdef __SANITIZE_ADDRESS__
enum { STORE = 0 }; /* a block in the store would hide that it is used after nb_free */
#else
enum { STORE = 64 };
#endif
static void *store[STORE + 1];
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;

int nb_mul_overflow(size_t a, size_t b, size_t *product)
{
	return __builtin_mul_overflow(a, b, product);
}

/* A block of at least so many bytes and at most an eighth more, or NULL. */
static void *from_store(size_t bytes)
{
	void *found = NULL;
	pthread_mutex_lock(&store_lock);
	for (int i = 0; i < STORE && !found; i++) {
		size_t size = store[i] ? malloc_usable_size(store[i]) : 0;
		if (size >= bytes && size - bytes <= bytes / 8) {
			found = store[i];
			store[i] = NULL;
		}
	}
	for (int i = 0; i < STORE && !found; i++) {
		free(store[i]);
		store[i] = NULL;
	}
	pthread_mutex_unlock(&store_lock);
	return found;
}

/* 1 if the store took it. */
static int to_store(void *p)
{
	int taken = 0;
	pthread_mutex_lock(&store_lock);
	for (int i = 0; i < STORE && !taken; i++)
		if (!store[i]) {
			store[i] = p;
			taken = 1;
		}
	pthread_mutex_unlock(&store_lock);
	return taken;
}

void *nb_alloc(size_t count, size_t size)
{
	size_t bytes;
	if (nb_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - HUGE)
		return NULL;
	size_t align = bytes >= BIG ? (size_t)HUGE : (size_t)ALIGN;
	bytes = bytes ? (bytes + align - 1) / align * align : align;
	void *p = bytes >= BIG ? from_store(bytes) : NULL;
	if (p)
		return p;
	p = aligned_alloc(align, bytes);
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
	/* only blocks that nb_alloc aligned as big ones: a small one may be as long by chance, but not so aligned */
	if (p && ((uintptr_t)p % HUGE) == 0 && malloc_usable_size(p) >= BIG && to_store(p))
		return;
	free(p);
}
