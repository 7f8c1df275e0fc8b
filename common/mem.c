/* Blocks that were freed wait for the next request of their size.  A tool that handles frame after frame would
 * otherwise give its memory back and have the kernel clear it again for every frame, which costs as much as the copies
 * through the pipes.
 *
 * A request is rounded up to one of eight sizes for each power of two, at most an eighth more, so that the blocks of a
 * frame fit for the next one, whose tree has some nodes more.  A small block waits in one of a few slots of its size,
 * which are exchanged without a lock.  Large blocks wait in a list; those in use and in the list together are hardly
 * more than were in use at once, so the list adds nothing to the largest memory of a program.  What is too much leaves
 * the list for the heap, which joins it with its neighbours, or for the system if it is BIG.  Where blocks that have
 * left are asked for again and again, as in the steps of a run, whose stages have blocks of different sizes, the list
 * may have a quarter more. */
#include "common/mem.h"

#include "common/system.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
	ALIGN = 64,
	HUGE = 2 << 20,
	BIG = 2 * HUGE,	   /* from here on blocks are aligned to huge pages */
	EMPTIED = 1 << 20, /* from here on blocks of the heap take no memory while they are free */
	PAGE = 64 << 10,   /* of the system, or several of them */
	LARGE = 64 << 10,  /* from here on blocks are in the list */
	SMALL_SIZES = 64,  /* classes below LARGE */
	SIZES = 512,	   /* all classes */
	SLOTS = 8,	   /* for each of them */
	LISTED = 256,	   /* blocks in the list */
	PAD = 8 << 20,	   /* by so much the heap grows */
	TRIMMED = 32 << 20 /* it gives its free end back if that is longer */
};

#ifdef __SANITIZE_ADDRESS__
enum { KEEP = 0 }; /* a block that waits would hide that it is used after nb_free */
#else
enum { KEEP = 1 };
#endif

static _Atomic(void *) slot[SMALL_SIZES][SLOTS];

struct block {
	void *at;
	size_t bytes;
};
static struct block list[LISTED];		  /* the oldest first */
static size_t nlist, listed, in_use, most_in_use; /* blocks; bytes of large blocks */
static unsigned char has_left[SIZES];		  /* for each class: a block was too much, */
static unsigned char was_missed[SIZES];		  /* and one was asked for after that */
static size_t missed;				  /* bytes of blocks that were missed again */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

int nb_mul_overflow(size_t a, size_t b, size_t *product)
{
	return __builtin_mul_overflow(a, b, product);
}

/* ---- sizes -------------------------------------------------------------------------------------- */

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

/* The smallest class of at least so many bytes, which are not 0. */
static unsigned class_of(size_t bytes)
{
	const size_t u = (bytes - 1) / ALIGN;
	const int shift = u < 16 ? 0 : 60 - __builtin_clzll(u);
	return 8u * (unsigned)shift + (unsigned)(u >> shift);
}

static size_t class_bytes(unsigned class)
{
	const unsigned shift = class < 16 ? 0 : class / 8 - 1;
	return (size_t)(class - 8 * shift + 1) * ALIGN << shift;
}

/* ---- the system --------------------------------------------------------------------------------- */

/* All blocks that are not BIG come from the heap, which grows and shrinks in large steps.  Without this the C library
 * gives its end back and clears it again many times for each frame. */
__attribute__((constructor)) static void keep_heap(void)
{
	nb_system_set_heap(2 * BIG, TRIMMED, PAD);
}

/* What lies before a block. */
struct head {
	size_t bytes;  /* of the block */
	void *map;     /* NULL: from the heap */
	size_t mapped; /* bytes of the map */
};

static struct head *head_of(void *p)
{
	return (struct head *)(void *)((char *)p - ALIGN);
}

/* A map in which the block begins with a huge page; the head is in the page before. */
static void *from_map(size_t bytes)
{
	const size_t mapped = bytes + 2 * HUGE;
	void *map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	void *p = (char *)map + (round_up((uintptr_t)map + ALIGN, HUGE) - (uintptr_t)map);
	nb_system_widen(p, bytes); /* fewer page faults */
	*head_of(p) = (struct head){bytes, map, mapped};
	return p;
}

static void *from_heap(size_t bytes)
{
	if (bytes > LARGE)
		nb_system_widen_heap(HUGE, PAD); /* most of it is not touched yet, as it grows by PAD */
	char *start = aligned_alloc(ALIGN, bytes + ALIGN);
	if (!start)
		return NULL;
	*head_of(start + ALIGN) = (struct head){.bytes = bytes};
	return start + ALIGN;
}

static void *from_system(size_t bytes)
{
	return bytes >= BIG ? from_map(bytes) : from_heap(bytes);
}

static void to_system(void *p)
{
	const struct head head = *head_of(p);
	if (head.map) {
		munmap(head.map, head.mapped);
		return;
	}
	if (head.bytes >= EMPTIED) /* it may be long until the heap ends before it; its own notes are at both ends */
		nb_system_forget((char *)round_up((uintptr_t)p + PAGE, PAGE), (head.bytes - 3 * PAGE) / PAGE * PAGE);
	free((char *)p - ALIGN);
}

/* ---- small blocks ------------------------------------------------------------------------------- */

static void *from_slot(size_t bytes)
{
	_Atomic(void *) *of = slot[class_of(bytes)];
	for (int i = 0; i < SLOTS; i++)
		if (atomic_load_explicit(&of[i], memory_order_relaxed)) {
			void *p = atomic_exchange(&of[i], NULL);
			if (p)
				return p;
		}
	return NULL;
}

/* 1 if there was a free slot. */
static int to_slot(void *p, size_t bytes)
{
	_Atomic(void *) *of = slot[class_of(bytes)];
	for (int i = 0; i < SLOTS; i++) {
		void *empty = NULL;
		if (!atomic_load_explicit(&of[i], memory_order_relaxed) &&
			atomic_compare_exchange_strong(&of[i], &empty, p))
			return 1;
	}
	return 0;
}

/* ---- large blocks ------------------------------------------------------------------------------- */

static void *take(size_t i)
{
	void *p = list[i].at;
	listed -= list[i].bytes;
	nlist--;
	memmove(&list[i], &list[i + 1], (nlist - i) * sizeof *list);
	return p;
}

/* The newest, which may still be in a cache, of those that fit best and are at most a quarter too long. */
static void *from_list(size_t bytes)
{
	size_t best = nlist, least = bytes + bytes / 4;
	for (size_t i = nlist; i-- > 0 && least > bytes;)
		if (list[i].bytes >= bytes && list[i].bytes <= least && (best == nlist || list[i].bytes < least)) {
			best = i;
			least = list[i].bytes;
		}
	return best < nlist ? take(best) : NULL;
}

static void shorten_list(size_t bytes)
{
	while (nlist && listed > bytes) {
		has_left[class_of(list[0].bytes)] = 1;
		to_system(take(0));
	}
}

/* Bytes that the machine has, with swap space.  The system grants more, and ends the program where it is used. */
static size_t machine_bytes(void)
{
	static _Atomic size_t all;
	if (!all)
		all = nb_system_memory();
	return all;
}

/* A block or NULL.  Counts the bytes as in use, and gives back what is then too much. */
static void *large_alloc(size_t bytes)
{
	pthread_mutex_lock(&list_lock);
	void *p = from_list(bytes);
	if (!p && has_left[class_of(bytes)]) {
		has_left[class_of(bytes)] = 0;
		missed += was_missed[class_of(bytes)] ? bytes : 0;
		was_missed[class_of(bytes)] = 1;
	}
	in_use += p ? head_of(p)->bytes : bytes;
	if (most_in_use < in_use)
		most_in_use = in_use;
	const size_t more = most_in_use / 4;
	shorten_list(most_in_use - in_use + (missed < more ? missed : more));
	pthread_mutex_unlock(&list_lock);
	return p;
}

static int large_fits(size_t bytes)
{
	pthread_mutex_lock(&list_lock);
	const int fits = bytes <= machine_bytes() && in_use <= machine_bytes() - bytes;
	pthread_mutex_unlock(&list_lock);
	return fits;
}

size_t nb_memory_left(void)
{
	struct rlimit may;
	size_t most = machine_bytes();
	if (getrlimit(RLIMIT_AS, &may) == 0 && may.rlim_cur < most)
		most = (size_t)may.rlim_cur;
	pthread_mutex_lock(&list_lock);
	const size_t left = in_use < most ? most - in_use : 0;
	pthread_mutex_unlock(&list_lock);
	return left;
}

/* 1 if the list took it; without p, the bytes are no longer in use. */
static int large_free(void *p, size_t bytes)
{
	pthread_mutex_lock(&list_lock);
	in_use -= bytes;
	const int taken = p && nlist < LISTED;
	if (taken) {
		list[nlist++] = (struct block){p, bytes};
		listed += bytes;
	}
	pthread_mutex_unlock(&list_lock);
	return taken;
}

/* The system has no such block: without those that wait it may have. */
static void *large_retry(size_t bytes)
{
	pthread_mutex_lock(&list_lock);
	shorten_list(0);
	pthread_mutex_unlock(&list_lock);
	void *p = from_system(bytes);
	if (!p)
		large_free(NULL, bytes);
	return p;
}

/* ---- all blocks --------------------------------------------------------------------------------- */

static void *alloc_class(size_t bytes)
{
	const int large = bytes > LARGE;
	if (large && !large_fits(bytes))
		return NULL;
	void *p = large ? large_alloc(bytes) : from_slot(bytes);
	if (!p)
		p = from_system(bytes);
	return !p && large ? large_retry(bytes) : p;
}

void *nb_alloc(size_t count, size_t size)
{
	size_t bytes;
	if (nb_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX / 2)
		return NULL;
	bytes = round_up(bytes ? bytes : 1, bytes < BIG ? (size_t)ALIGN : (size_t)HUGE);
	return KEEP ? alloc_class(class_bytes(class_of(bytes))) : aligned_alloc(ALIGN, bytes);
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
	if (!p || !KEEP) {
		free(p);
		return;
	}
	const size_t bytes = head_of(p)->bytes;
	if (!(bytes > LARGE ? large_free(p, bytes) : to_slot(p, bytes)))
		to_system(p);
}

int nb_reserve_rows(void *array, size_t n, size_t wanted, size_t *room, size_t rowsize)
{
	enum { LEAST = 64 };
	void *now;
	memcpy(&now, array, sizeof now); /* a pointer of any type */
	const size_t twice = *room > LEAST / 2 ? 2 * *room : LEAST, more = wanted > twice ? wanted : twice;
	void *larger = nb_enlarge(now, n, more, rowsize);
	if (!larger)
		return -1;
	memcpy(array, &larger, sizeof larger);
	*room = more;
	return 0;
}

void nb_free_each(void *const *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		nb_free(p[i]);
}
