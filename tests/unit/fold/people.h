/* people.h - processes for the tests of tools/fold: a FIFO, a writer that is a fork of the test, what it experienced.
 */
#ifndef NB_TEST_PEOPLE_H
#define NB_TEST_PEOPLE_H

#include "tools/fold/meet.h"

#include "common/timer.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { BROKEN = 99, PLAIN = 100, TOO_LONG = 600 };

/* What a writer experienced, in memory that it shares with the test. */
struct experience {
	double seconds;
	char why[NB_WHY_SIZE];
};
static struct experience *experience;

static inline void meet_people(void)
{
	experience = mmap(NULL, sizeof *experience, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsetenv("NB_FOLD");
	for (int i = 1; i < 32; i++) /* a program in the background may ignore some from its start */
		signal(i, SIG_DFL);
	alarm(TOO_LONG);
}

/* A fork of the test that does not outlive it. */
static inline pid_t person(void)
{
	fflush(NULL);
	const pid_t test = getpid(), pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(TOO_LONG);
		if (getppid() != test)
			_exit(1);
	}
	return pid;
}

static inline int ending_of(pid_t pid)
{
	int status = -1;
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static inline int exits_with(pid_t pid, int status)
{
	const int ending = ending_of(pid);
	return WIFEXITED(ending) && WEXITSTATUS(ending) == status;
}

static inline int dies_of(pid_t pid, int signal)
{
	const int ending = ending_of(pid);
	return WIFSIGNALED(ending) && WTERMSIG(ending) == signal;
}

/* The writer, in its own process: offers what it has and ends as it is told, PLAIN if nobody takes over. */
static inline void write_fifo(int fd, int listener)
{
	static char name[] = "nb-test", option[] = "-t 1", empty[] = "";
	static char *argv[] = {name, option, empty, NULL};
	const struct nb_handover offer = {.argc = 3,
		.argv = argv,
		.environment = environ,
		.in = STDIN_FILENO,
		.err = STDERR_FILENO,
		.directory = -1,
		.listener = listener};
	int link;
	const double start = nb_now();
	const int accepted = nb_meet_hand_over(fd, &offer, &link, experience->why);
	experience->seconds = nb_now() - start;
	if (!accepted)
		_exit(PLAIN);
	const int status = nb_meet_wait(link, NULL);
	_exit(status == NB_MEET_BROKEN ? BROKEN : status);
}

/* A writer that first does `change`, which may be NULL.  Takes the write end from the test, whose FIFO has then but
 * this one writer. */
static inline pid_t writer_of(int fifo[2], void (*change)(void))
{
	const pid_t pid = person();
	if (pid == 0) {
		/* what a shell would give it: no listening socket of the test */
		close_range(STDERR_FILENO + 1, (unsigned)fifo[1] - 1, 0);
		close_range((unsigned)fifo[1] + 1, ~0U, 0);
		if (change)
			change();
		write_fifo(fifo[1], -1);
	}
	close(fifo[1]);
	return pid;
}

/* A call in a process of its own, and again if something failed there: where the processors have other work, a writer
 * gives up before a reader has had a turn, and a reader before it has heard the offer.  One of n times all is well. */
#define IN_ONE_OF(n, call)                                       \
	do {                                                     \
		int left_ = (n);                                 \
		for (; left_ > 1; left_--) {                     \
			const pid_t pid_ = person();             \
			if (pid_ == 0) {                         \
				unit_failed = 0;                 \
				call;                            \
				CHECK(waitpid(-1, NULL, 0) < 0); \
				fflush(NULL);                    \
				_exit(unit_failed != 0);         \
			}                                        \
			if (exits_with(pid_, 0))                 \
				break;                           \
		}                                                \
		if (left_ == 1)                                  \
			call;                                    \
		unit_checked++;                                  \
	} while (0)

static inline int is_pending(int listener)
{
	struct pollfd p = {listener, POLLIN, 0};
	return poll(&p, 1, 60000) == 1;
}

/* Waits for a connection and looks at it: what nb_meet_accept returns. */
static inline int accept_from(int listener, int fifo, struct nb_handover *h, char why[NB_WHY_SIZE])
{
	why[0] = '\0';
	memset(h, 0, sizeof *h);
	h->in = h->err = h->directory = h->listener = h->link = -1;
	return is_pending(listener) ? nb_meet_accept(listener, fifo, h, why) : -1;
}

static inline int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

#endif
