#include "tools/filter/interrupt.h"

#include "common/die.h"
#include "tools/filter/running.h"
#include "tools/fold/meet.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Signals that come in less than so many seconds are one: timeout(1) sends each twice, to the process and to its group,
 * and of a pipeline each process hears of it. */
static const double ONE = 0.1;

static volatile sig_atomic_t watched, held, own, asked;
static volatile sig_atomic_t link_of = -1;
static volatile double first; /* when the first came */

/* common/timer.h, for a signal handler */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void nb_interrupt_end_by(int number)
{
	struct sigaction action;
	sigset_t set;
	nb_fall_silent(); /* of the commands that end now */
	nb_running_pass_on(number);
	memset(&action, 0, sizeof action);
	action.sa_handler = SIG_DFL;
	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + number); /* not reached */
}

static void handle(int number)
{
	const double time = now();
	if (own && time - first < ONE)
		return;
	if (own || (!held && link_of < 0))
		nb_interrupt_end_by(number);
	first = time;
	own = asked = number;
	if (link_of >= 0 && nb_meet_interrupt(link_of, number))
		nb_interrupt_end_by(number);
}

void nb_interrupt_watch(void)
{
	static const int signals[] = {SIGINT, SIGTERM};
	if (watched)
		return;
	watched = 1;
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct sigaction action, old;
		memset(&action, 0, sizeof action);
		action.sa_handler = handle;
		action.sa_flags = SA_RESTART;
		sigemptyset(&action.sa_mask);
		sigaddset(&action.sa_mask, SIGINT);
		sigaddset(&action.sa_mask, SIGTERM);
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

void nb_interrupt_hold(int on)
{
	held = on;
}

void nb_interrupt_tell(int link)
{
	link_of = link;
	nb_interrupt_watch();
}

int nb_interrupt_hear(int number)
{
	if (!held)
		return 0;
	if (!asked)
		asked = number;
	return 1;
}

int nb_interrupted(void)
{
	return asked;
}

void nb_interrupt_end(void)
{
	if (own)
		nb_interrupt_end_by(own);
}
