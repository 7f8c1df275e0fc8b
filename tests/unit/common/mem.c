/* Checked memory: alignment, overflow, and big blocks that are used again. */
#include "common/mem.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static long faults(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* A block that was freed comes back for every request of about its size, of any size. */
static void same_block(void)
{
#ifndef __SANITIZE_ADDRESS__
	for (size_t bytes = 1; bytes < (UNIT_SANITIZED ? 4u : 40u) * MIB; bytes += bytes / 3 + 1) {
		char *p = nb_alloc(bytes, 1);
		nb_free(p);
		char *q = nb_alloc(bytes, 1);
		CHECK(p && p == q);
		nb_free(q);
	}
#endif
}

/* Blocks that are larger together than memory and swap space are not given, though the system would: each alone could
 * be had. */
static void more_than_there_is(void)
{
#ifndef __SANITIZE_ADDRESS__
	enum { PARTS = 8 };
	struct sysinfo info;
	char *part[PARTS];
	size_t given = 0;
	CHECK(sysinfo(&info) == 0);
	const size_t all = ((size_t)info.totalram + info.totalswap) * info.mem_unit;
	for (int k = 0; k < PARTS; k++) {
		part[k] = nb_alloc(all / 4, 1);
		given += part[k] ? all / 4 : 0;
	}
	CHECK(part[0] && given <= all && !part[PARTS - 1]);
	for (int k = 0; k < PARTS; k++)
		nb_free(part[k]);
	char *again = nb_alloc(all / 4, 1);
	CHECK(again != NULL);
	nb_free(again);
#endif
}

/* Like the steps of a run: blocks of many sizes, some a little larger from step to step, in two phases that have
 * different ones.  Their pages are touched for the first time in the first steps, and never more of them are held than
 * were in use at once. */
static void steps(void)
{
	enum { BLOCKS = 40, STEPS = UNIT_SANITIZED ? 1 : 50 };
	long before = 0;
	for (int step = 0; step < STEPS; step++) {
		for (int phase = 0; phase < 2; phase++) {
			char *p[BLOCKS];
			for (size_t i = 0; i < BLOCKS; i++) {
				const size_t bytes = (1000 + i * i * 1000 + (size_t)phase * 7000) * 10 + (size_t)step;
				p[i] = nb_alloc(bytes, 1);
				CHECK(p[i] != NULL);
				memset(p[i], step, bytes);
			}
			for (size_t i = 0; i < BLOCKS; i++)
				nb_free(p[i]);
		}
		if (step == STEPS / 5)
			before = faults();
	}
#ifndef __SANITIZE_ADDRESS__
	CHECK(faults() - before < 1000); /* of 100000 */
#else
	(void)before;
#endif
}

/* Stages whose blocks have sizes of their own, together a fifth more than are in use at once: in later steps none is
 * had from the system.  In a process of its own, which has not used more before. */
static void stages(void)
{
#ifndef __SANITIZE_ADDRESS__
	const pid_t child = fork();
	if (child > 0) {
		int status = 0;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	if (child)
		return;
	enum { STEPS = 12, LEARNT = 8 };
	static const size_t stage[][2] = {{6, 8}, {11, 4}, {16, 0}};
	long before = 0;
	char *whole = nb_alloc(120, MIB);
	CHECK(whole != NULL);
	for (int step = 0; whole && step < STEPS; step++) {
		for (size_t k = 0; k < sizeof stage / sizeof *stage; k++) {
			char *a = nb_alloc(stage[k][0], MIB), *b = nb_alloc(stage[k][1], MIB);
			CHECK(a && b);
			memset(a, step, stage[k][0] * MIB);
			memset(b, step, stage[k][1] * MIB);
			nb_free(a);
			nb_free(b);
		}
		if (step == LEARNT - 1)
			before = faults();
	}
	CHECK(faults() - before < 4); /* of 20 for each step, with huge pages */
	nb_free(whole);
	_exit(unit_failed != 0);
#endif
}

/* More large blocks than are kept, all in use at once, then none, twice: each is its own. */
static void many(void)
{
	enum { MANY = 300, BYTES = 100000 };
	static unsigned char *p[MANY];
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < MANY; i++) {
			p[i] = nb_alloc(BYTES, 1);
			CHECK(p[i] != NULL);
			memset(p[i], i % 251, BYTES);
		}
		size_t wrong = 0;
		for (int i = 0; i < MANY; i++)
			wrong += p[i][0] != i % 251 || p[i][BYTES - 1] != i % 251;
		CHECK(wrong == 0);
		for (int i = 0; i < MANY; i++)
			nb_free(p[i]);
	}
}

/* What there is no room for is refused, also where blocks wait that could be given back first; they still can be used.
 */
static void exhausted(void)
{
#ifndef __SANITIZE_ADDRESS__
	struct rlimit before, low;
	CHECK(getrlimit(RLIMIT_AS, &before) == 0);
	char *kept = nb_alloc(64, MIB);
	CHECK(kept != NULL);
	nb_free(kept);
	low = before;
	low.rlim_cur = (rlim_t)4096 * MIB;
	CHECK(setrlimit(RLIMIT_AS, &low) == 0);
	CHECK(nb_alloc((size_t)8192, MIB) == NULL);
	CHECK(nb_alloc_zero((size_t)8192, MIB) == NULL);
	const size_t left = nb_memory_left();
	CHECK(left <= (size_t)4096 * MIB);
	kept = nb_alloc(64, MIB);
	CHECK(kept != NULL);
	CHECK(nb_memory_left() == left - (size_t)64 * MIB);
	nb_free(kept);
	CHECK(nb_memory_left() == left);
	CHECK(setrlimit(RLIMIT_AS, &before) == 0);
#endif
}

enum { CALLS = UNIT_SANITIZED ? 2000 : 20000, SHARED = 16 };

static _Atomic(unsigned char *) shared[SHARED];
static atomic_int wrong;

/* Leaves blocks that begin with their length and end with a mark, and frees those that it finds if they still do. */
static void *exchange(void *context)
{
	uint32_t random = *(uint32_t *)context;
	for (int i = 0; i < CALLS; i++) {
		random = random * 1664525 + 1013904223;
		size_t bytes = 2 * sizeof bytes + ((size_t)1 << (random >> 8) % 19) + (random >> 16) % 1000;
		unsigned char *mine = nb_alloc(bytes, 1);
		if (!mine) {
			wrong++;
			break;
		}
		memcpy(mine, &bytes, sizeof bytes);
		memcpy(mine + bytes - sizeof bytes, &bytes, sizeof bytes);
		unsigned char *other = atomic_exchange(&shared[(random >> 24) % SHARED], mine);
		if (!other)
			continue;
		memcpy(&bytes, other, sizeof bytes);
		wrong += bytes > 2 * MIB || memcmp(other, other + bytes - sizeof bytes, sizeof bytes) != 0;
		memset(other, 0, bytes <= 2 * MIB ? bytes : 0);
		nb_free(other);
	}
	return NULL;
}

/* Blocks that one thread makes and another frees belong to nobody else meanwhile. */
static void threads(void)
{
	enum { THREADS = 4 };
	pthread_t thread[THREADS];
	uint32_t seed[THREADS];
	for (uint32_t t = 0; t < THREADS; t++) {
		seed[t] = 12345 * t + 1;
		CHECK(pthread_create(&thread[t], NULL, exchange, &seed[t]) == 0);
	}
	for (int t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	for (int i = 0; i < SHARED; i++)
		nb_free(atomic_exchange(&shared[i], NULL));
	CHECK(wrong == 0);
}

/* An array that grows keeps what it holds; one for which there is no memory stays. */
static void grown(void)
{
	uint64_t *row = NULL;
	size_t room = 0;
	for (size_t n = 0; n < 1000; n++) {
		CHECK(nb_reserve(row, n, n + 1, room) == 0 && room > n && room <= 2 * n + 64);
		row[n] = n * n;
	}
	const uint64_t *before = row;
	const size_t had = room;
	CHECK(nb_reserve(row, 1000, SIZE_MAX, room) == -1 && row == before && room == had);
	for (size_t n = 0; n < 1000; n++)
		CHECK(row[n] == n * n);
	nb_free(row);
}

int main(void)
{
	size_t product;
	CHECK(nb_mul_overflow(SIZE_MAX / 2, 3, &product) == 1);
	CHECK(nb_mul_overflow(1 << 20, 12, &product) == 0 && product == 12 << 20);
	CHECK(nb_alloc(SIZE_MAX / 2, 3) == NULL);
	CHECK(nb_alloc(SIZE_MAX, 1) == NULL);

	for (size_t bytes = 0; bytes < (UNIT_SANITIZED ? 4u : 40u) * MIB; bytes = bytes ? 3 * bytes : 1) {
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

	stages();
	same_block();
	threads();
	steps();

	/* two blocks, again and again: their pages are touched for the first time once */
	long before = 0;
	for (int i = 0; i < (UNIT_SANITIZED ? 2 : 20); i++) {
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
	for (size_t i = 0; i < (UNIT_SANITIZED ? 5 : 100); i++) {
		size_t bytes = (20 + i * 37 % 100 / 2) * MIB;
		char *p = nb_alloc(bytes, 1);
		CHECK(p != NULL);
		memset(p, 1, bytes);
		nb_free(p);
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed on purpose */
	CHECK(usage.ru_maxrss < 400 * 1024);
#endif
	many();
	grown();
	exhausted();
	more_than_there_is();
	return unit_end();
}
