/* The processes whose work is done here: only the end of one that is still watched ends this process. */
#include "tools/filter/watch.h"
#include "tests/unit/unit.h"
#include "tools/filter/stage.h"

#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pid_t first;	  /* thread */
static sem_t held, go_on; /* the other one has been woken; it may see why */
static _Atomic int holds;

/* In place of that of the C library. */
int poll(struct pollfd *file, nfds_t n, int milliseconds)
{
	const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
	const int got = ppoll(file, n, milliseconds < 0 ? NULL : &time, NULL);
	if (gettid() != first && n > 1 && got > 0 && !(file[0].revents & POLLIN) && holds) {
		holds = 0;
		sem_post(&held);
		sem_wait(&go_on);
	}
	return got;
}

/* A process ends after its work is done, and before the thread has seen that, the next one has its link. */
static void test_same_number(void)
{
	int old[2], next[2];
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, old) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, next) == 0);
	holds = 1;
	CHECK(nb_watch(old[0]));
	usleep(50000); /* it waits for both of its files then */
	close(old[1]);
	sem_wait(&held);
	nb_watch_no_more(old[0]);
	CHECK(dup2(next[0], old[0]) == old[0]);
	CHECK(nb_watch(old[0]));
	sem_post(&go_on);
	usleep(1500000);
	CHECK(1); /* still here */
	nb_watch_no_more(old[0]);
}

/* One more than there is room for is refused, not forgotten. */
static void test_full(void)
{
	int link[NB_WATCH_MOST + 1][2];
	for (int k = 0; k <= NB_WATCH_MOST; k++) {
		CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, link[k]) == 0);
		CHECK(nb_watch(link[k][0]) == (k < NB_WATCH_MOST));
	}
	nb_watch_no_more(link[7][0]);
	CHECK(nb_watch(link[NB_WATCH_MOST][0]));
	CHECK(!nb_watch(link[7][0]));
	for (int k = 0; k <= NB_WATCH_MOST; k++) {
		nb_watch_no_more(link[k][0]);
		close(link[k][0]);
		close(link[k][1]);
	}
}

/* Programs whose names have no room are dots, never half a name. */
static void test_names(void)
{
	static struct nb_tool tool = {.name = "nb-sort-zorder"};
	static struct nb_run run[NB_WATCH_MOST + 1];
	char names[NB_STAGE_NAMES];
	for (int n = 1; n <= NB_WATCH_MOST; n++) {
		run[n - 1].tool = run[n].tool = &tool;
		run[n - 1].next = n > 1 ? &run[n - 2] : NULL;
		nb_stage_names(&run[n - 1], names);
		const size_t length = strlen(names), whole = (size_t)n * 17 - 3;
		CHECK(strncmp(names, "nb-sort-zorder", 14) == 0 && length < NB_STAGE_NAMES);
		if (length != whole)
			CHECK(whole >= NB_STAGE_NAMES - 40 && strcmp(names + length - 20, "nb-sort-zorder | ...") == 0);
	}
}

int main(void)
{
	first = gettid();
	sem_init(&held, 0, 0);
	sem_init(&go_on, 0, 0);
	test_same_number();
	test_full();
	test_names();
	return unit_end();
}
