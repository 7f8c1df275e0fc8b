#include "tools/filter/interrupt.h"

#include "common/die.h"
#include "common/system.h"
#include "common/timer.h"
#include "tools/filter/running.h"
#include "tools/fold/meet.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Signals that come in less than so many seconds are one: timeout(1) sends each twice, to the process and to its group,
 * and of a pipeline each process hears of it. */
static const double ONE = 0.1;

static volatile sig_atomic_t watched, held, own, asked;
static volatile sig_atomic_t link_of = -1;
static int event[2] = {-1, -1};
static volatile double first; /* when the first came */

void nb_interrupt_end_by(int number)
{
	nb_fall_silent(); /* of the commands that end now */
	nb_running_pass_on(number);
	_exit(nb_end_by_signal(number));
}

static void show(void)
{
	static const char text[] = "\nnb-step: ends after this step, with a last frame (a second signal: at once)\n";
	(void)!write(STDERR_FILENO, text, sizeof text - 1);
}

static void handle(int number, siginfo_t *info, void *context)
{
	const double time = nb_now(); /* which a signal handler may call */
	const int saved = errno;
	(void)context;
	/* one that a reader passes on is the same one, too, however late it comes */
	if (own && (time - first < ONE || info->si_code == SI_QUEUE))
		return;
	if (own || (!held && link_of < 0))
		nb_interrupt_end_by(number);
	first = time;
	own = asked = number;
	if (held == NB_HOLD_SHOWN_RUN)
		show();
	nb_system_raise(event);
	if (link_of >= 0 && nb_meet_signalled(link_of, number))
		nb_interrupt_end_by(number);
	errno = saved;
}

void nb_interrupt_watch(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	if (watched)
		return;
	watched = 1;
	(void)nb_system_event(event);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct sigaction action, old;
		memset(&action, 0, sizeof action);
		action.sa_sigaction = handle;
		action.sa_flags = SA_RESTART | SA_SIGINFO;
		sigemptyset(&action.sa_mask);
		for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
			sigaddset(&action.sa_mask, signals[k]);
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

void nb_interrupt_hold(enum nb_hold what)
{
	held = (int)what;
}

enum nb_hold nb_interrupt_held(void)
{
	return (enum nb_hold)held;
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
	nb_system_raise(event);
	return 1;
}

int nb_interrupted(void)
{
	return asked;
}

int nb_interrupt_file(void)
{
	return event[0];
}

void nb_interrupt_forget(void)
{
	if (own)
		return;
	asked = 0;
	nb_system_lower(event);
}

int nb_interrupt_pass_on(int fifo)
{
	const pid_t writer = nb_meet_writer(fifo);
	const union sigval value = {.sival_int = 0};
	return writer > 0 && getpgid(writer) == getpgrp() && sigqueue(writer, asked, value) == 0;
}

void nb_interrupt_end(void)
{
	if (own)
		nb_interrupt_end_by(own);
}

/* Instances are threads: what one of them holds for its input must not take the place of another one's run. */
static int change(enum nb_hold from, enum nb_hold to)
{
	sig_atomic_t before = (sig_atomic_t)from;
	(void)__atomic_compare_exchange_n(&held, &before, (sig_atomic_t)to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return before < NB_HOLD_RUN;
}

int nb_interrupt_hold_input(void)
{
	return change(NB_HOLD_NOTHING, NB_HOLD_INPUT);
}

void nb_interrupt_let_go(void)
{
	if (change(NB_HOLD_INPUT, NB_HOLD_NOTHING))
		nb_interrupt_end();
}
