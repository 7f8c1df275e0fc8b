/* Which bodies are shown, and what to do when something fails with them. */
#include "tools/filter/plan.h"
#include "tools/filter/require.h"
#include "tools/nb-view/shot.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- failures ----------------------------------------------------------------------------------- */

static void leave(struct nb_voice *voice, int status)
{
	struct host *host = (struct host *)(void *)voice;
	(void)status;
	longjmp(host->failed, 1);
}

int nb_view_try(struct host *host, void (*act)(void *context), void *context, char *why, size_t size)
{
	const struct nb_voice voice = host->voice;
	jmp_buf outer; /* of a call that this one is inside of */
	int pair[2];
	volatile int failed = 1;
	*why = '\0';
	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK))
		return -1;
	host->voice.file = pair[1];
	host->voice.leave = leave;
	memcpy(&outer, &host->failed, sizeof outer);
	if (setjmp(host->failed) == 0) {
		act(context);
		failed = 0;
	}
	memcpy(&host->failed, &outer, sizeof outer);
	host->voice = voice;
	close(pair[1]);
	const ssize_t n = failed ? read(pair[0], why, size - 1) : 0;
	close(pair[0]);
	why[n > 0 ? n : 0] = '\0';
	char *text = strstr(why, ": "); /* "nb-view: text\n" */
	if (text)
		memmove(why, text + 2, strlen(text + 2) + 1);
	why[strcspn(why, "\n")] = '\0';
	return failed ? -1 : 0;
}

double nb_view_seconds(clockid_t clock)
{
	struct timespec t;
	return clock_gettime(clock, &t) ? 0 : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int nb_view_threads(const struct host *host)
{
	return host->ended || host->follows ? host->threads : 1;
}

void nb_view_enter(struct host *host)
{
	if (!host->entered && nb_backend_enter_thread())
		nb_blame_device();
	host->entered = 1;
}

/* ---- which bodies ------------------------------------------------------------------------------- */

/* x, below 2^bits, to another such number; no two become the same. */
static uint64_t mixed(uint64_t x, int bits)
{
	const uint64_t mask = ((uint64_t)1 << bits) - 1;
	for (int round = 0; round < 3; round++) {
		x = (x * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u) & mask;
		x ^= x >> (bits + 1) / 2;
	}
	return x;
}

void nb_shot_choose_rows(struct host *host, size_t n, size_t count)
{
	int bits = 1;
	if (host->of == n && host->nrow >= count && host->row)
		return;
	free(host->row);
	host->row = malloc((count ? count : 1) * sizeof *host->row);
	host->of = n;
	host->nrow = host->row ? count : 0;
	if (!host->row)
		nb_die(NB_EXIT_FAILED, "out of memory");
	while ((uint64_t)1 << bits < n)
		bits++;
	uint64_t x = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t row;
		do
			row = mixed(x++, bits);
		while (row >= n);
		host->row[i] = (uint32_t)row;
	}
}

void nb_shot_rows(struct host *host, size_t count, const uint32_t *rows, int (*wanted)(void *context, const char *name),
	void *context, struct nb_frame *to)
{
	const struct nb_space *space = nb_plan_space(&host->frame);
	uint32_t *there = NULL;
	if (space)
		nb_view_enter(host);
	nb_require_ok(nb_frame_share(to, &host->frame), &host->frame);
	for (size_t c = to->ncolumn; c > 0; c--)
		if (to->column[c - 1].table != NB_PARTICLE || !wanted(context, to->column[c - 1].name))
			nb_frame_drop(to, to->column[c - 1].name);
	if (space) {
		there = nb_require_memory(to, space->alloc(space, (count ? count : 1) * sizeof *rows));
		nb_require_ok(space->from_host(space, there, rows, count * sizeof *rows), to);
	}
	const int status = nb_frame_gather(to, NB_PARTICLE, count, there ? there : rows, space ? space : &nb_space_host,
		space ? host->now->permute : nb_permute_cpu);
	if (there)
		space->release(space, there);
	nb_require_ok(status, to);
}

void *nb_shot_block(struct shot *shot, uint64_t bytes)
{
	unsigned char *block = nb_require_memory(NULL, malloc(bytes ? bytes : 1));
	shot->bytes[shot->nblock] = bytes;
	shot->block[shot->nblock++] = block;
	return block;
}
