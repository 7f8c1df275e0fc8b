/* mem.h - checked memory.  Blocks are 64-byte aligned, so that SIMD and cache lines fit. */
#ifndef NB_MEM_H
#define NB_MEM_H

#include <stddef.h>
#include <string.h>

/* count * size bytes, 64-byte aligned, large blocks backed by huge pages where the system offers them.
 * NULL when memory is exhausted, when large blocks would be more than the machine has, with swap space, and when the
 * product overflows.  nb_alloc(0, s) is a valid empty block. */
void *nb_alloc(size_t count, size_t size);
void *nb_alloc_zero(size_t count, size_t size);
void nb_free(void *p);
/* The same for each of several blocks. */
#define nb_free_all(...) nb_free_each((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
void nb_free_each(void *const *p, size_t n);
/* Bytes that large blocks may still take: of what the machine has, with swap space, or the process may have. */
size_t nb_memory_left(void);
/* 1 if a * b overflows size_t, else 0 and the product in *product. */
int nb_mul_overflow(size_t a, size_t b, size_t *product);

/* An array of `more` rows that begins with the first n rows of the array, which it replaces.  NULL if memory is
 * exhausted: the array stays. */
static inline void *nb_enlarge(void *array, size_t n, size_t more, size_t rowsize)
{
	char *larger = (char *)nb_alloc(more, rowsize);
	if (larger && n)
		memcpy(larger, array, n * rowsize);
	if (larger)
		nb_free(array);
	return larger;
}

/* Room for `wanted` elements in an array (of nb_alloc, or NULL) that holds n and has room for `room`, both of which
 * change where it must grow: to twice the room at least.  0, or -1 if memory is exhausted: the array stays. */
#define nb_reserve(array, n, wanted, room) \
	((wanted) <= (room) ? 0 : nb_reserve_rows(&(array), n, wanted, &(room), sizeof *(array)))
int nb_reserve_rows(void *array, size_t n, size_t wanted, size_t *room, size_t rowsize);

#endif
