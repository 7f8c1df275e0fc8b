#include "tools/filter/running.h"

#include "common/die.h"
#include "kernels/ranks/ranks.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct nb_coprocess *running[NB_RUNNING_MOST];
static void (*end)(struct nb_coprocess *co);
static volatile sig_atomic_t running_group[NB_RUNNING_MOST];
static pthread_mutex_t running_lock = PTHREAD_MUTEX_INITIALIZER;

/* How many commands are being started. */
static atomic_int held;

void nb_running_hold(sigset_t *blocked)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, blocked);
	atomic_fetch_add(&held, 1);
}

void nb_running_release(const sigset_t *blocked)
{
	atomic_fetch_sub(&held, 1);
	pthread_sigmask(SIG_SETMASK, blocked, NULL);
}

void nb_running_pass_on(int signal)
{
	/* that is in other threads, as this one would have blocked the signal */
	static const struct timespec look = {.tv_nsec = 100000};
	while (atomic_load(&held))
		nanosleep(&look, NULL);
	for (int i = 0; i < NB_RUNNING_MOST; i++)
		if (running_group[i] > 0)
			kill(-(pid_t)running_group[i], signal);
}

static void pass_on(int signal)
{
	nb_fall_silent(); /* of the commands that end now */
	nb_running_pass_on(signal);
	nb_ranks_halt();
	raise(signal); /* the handler is gone (SA_RESETHAND): this ends the process */
}

static void kill_all(void)
{
	for (int i = 0; i < NB_RUNNING_MOST; i++)
		if (running[i])
			end(running[i]);
}

static void watch_for_end(void)
{
	static const int signals[] = {SIGQUIT, SIGPIPE};
	static int watched;
	if (watched)
		return;
	watched = 1;
	atexit(kill_all);
	signal(SIGCHLD, SIG_DFL); /* ignored, it would take away the exit status of a command */
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct sigaction action, old;
		memset(&action, 0, sizeof action);
		action.sa_handler = pass_on;
		action.sa_flags = (int)SA_RESETHAND;
		sigemptyset(&action.sa_mask);
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

int nb_running_enter(struct nb_coprocess *co, void (*kill)(struct nb_coprocess *co))
{
	int entered = 0;
	pthread_mutex_lock(&running_lock);
	end = kill;
	watch_for_end();
	for (int i = 0; i < NB_RUNNING_MOST && !entered; i++)
		if (!running[i]) {
			running[i] = co;
			running_group[i] = 0;
			entered = 1;
		}
	pthread_mutex_unlock(&running_lock);
	return entered;
}

void nb_running_note(const struct nb_coprocess *co, pid_t group)
{
	for (int i = 0; i < NB_RUNNING_MOST; i++)
		if (running[i] == co)
			running_group[i] = group;
}

void nb_running_forget(const struct nb_coprocess *co)
{
	pthread_mutex_lock(&running_lock);
	for (int i = 0; i < NB_RUNNING_MOST; i++)
		if (running[i] == co) {
			running_group[i] = 0;
			running[i] = NULL;
		}
	pthread_mutex_unlock(&running_lock);
}
