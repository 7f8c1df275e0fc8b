#include "tools/filter/environment.h"

#include "common/cpu.h"
#include "common/die.h"
#include "formats/stream/stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Of a variable that is not empty. */
static const char *wish(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

static void require_fold(void)
{
	const char *fold = wish("NB_FOLD");
	if (fold && strcmp(fold, "on") != 0 && strcmp(fold, "off") != 0)
		nb_die(NB_EXIT_USAGE, "NB_FOLD='%.40s' (want on or off)", fold);
}

static void require_simd(void)
{
	const char *simd = wish("NB_SIMD");
	if (simd && !nb_cpu_knows_isa(simd))
		nb_die(NB_EXIT_USAGE, "NB_SIMD='%.40s' (want plain, avx2, avx512 or neon)", simd);
}

static void require_max_frame(void)
{
	const char *limit = wish("NB_MAX_FRAME");
	uint64_t bytes;
	if (limit && nb_reader_limit(limit, &bytes))
		nb_die(NB_EXIT_USAGE, "NB_MAX_FRAME='%.40s' (want a number of bytes)", limit);
}

void nb_require_environment(void)
{
	require_fold();
	require_simd();
	require_max_frame();
}

void nb_require_stack(int threads)
{
	enum { OF_A_THREAD = 128 }; /* bytes that libgomp takes of the stack of who starts it */
	struct rlimit limit;
	const int want = NB_STACK_LEAST / 2 + OF_A_THREAD * threads,
		  least = want > NB_STACK_LEAST ? want : NB_STACK_LEAST;
	if (threads > NB_THREADS_MOST)
		nb_die(NB_EXIT_USAGE, "%d threads (want at most %d, see OMP_NUM_THREADS)", threads, NB_THREADS_MOST);
	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < (rlim_t)least)
		nb_die(NB_EXIT_FAILED, "stack limit of %lu KiB (want at least %d, see ulimit -s)",
			(unsigned long)limit.rlim_cur >> 10, (least + 1023) >> 10);
}
