#include "tools/filter/watch.h"

#include "common/die.h"
#include "common/system.h"
#include "common/timer.h"
#include "tools/filter/interrupt.h"
#include "tools/filter/running.h"
#include "tools/fold/meet.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Seconds that an instance has to notice, and between two looks meanwhile. */
static const double PATIENCE = 1, PAUSE = 0.1;

static struct {
	pthread_mutex_t lock;
	int link[NB_WATCH_MOST];    /* those that are watched */
	double died[NB_WATCH_MOST]; /* when each was found at its end, 0: not yet */
	int n;
	int wake[2]; /* nb_system_event: there is another one to be watched */
	struct nb_voice voice;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = {-1, -1}};

static _Noreturn void give_up(void)
{
	nb_speak_as(&all.voice);
	nb_warn("truncated stream: a process of this folded pipeline has been killed");
	nb_fall_silent();
	nb_running_pass_on(SIGTERM);
	if (ftrylockfile(stdout) == 0)
		fflush(stdout);
	_exit(NB_EXIT_FAILED);
}

/* What to wait for: the event, then the links that are not at their end.  With the lock. */
static nfds_t list(struct pollfd file[NB_WATCH_MOST + 1])
{
	nfds_t n = 1;
	file[0] = (struct pollfd){all.wake[0], POLLIN, 0};
	for (int i = 0; i < all.n; i++)
		if (!all.died[i])
			file[n++] = (struct pollfd){all.link[i], POLLIN, 0};
	return n;
}

/* Something to read is no end. */
int nb_link_is_at_end(int link)
{
	struct pollfd file = {link, 0, 0};
	return poll(&file, 1, 0) > 0;
}

/* A process that got a signal asks whether it is to end by it. */
static void answer(int link)
{
	int signal;
	while ((signal = nb_meet_hear(link)) > 0)
		if (!nb_interrupt_hear(signal))
			nb_meet_dismiss(link, signal);
}

/* Notes which links are at their end, as they are now: since work() was woken, one may have been closed, and its number
 * given to another.  1 if there is one; gives up if one has been so for too long.  With the lock. */
static int note(void)
{
	int any = 0;
	for (int i = 0; i < all.n; i++) {
		if (!all.died[i])
			answer(all.link[i]);
		if (!all.died[i] && nb_link_is_at_end(all.link[i]))
			all.died[i] = nb_now();
		if (all.died[i] && nb_now() - all.died[i] > PATIENCE)
			give_up();
		any |= all.died[i] != 0;
	}
	return any;
}

static void *work(void *context)
{
	int any = 0;
	(void)context;
	for (;;) {
		struct pollfd file[NB_WATCH_MOST + 1];
		pthread_mutex_lock(&all.lock);
		const nfds_t n = list(file);
		pthread_mutex_unlock(&all.lock);
		if (poll(file, n, any ? (int)(PAUSE * 1000) : -1) < 0)
			continue;
		if (file[0].revents)
			nb_system_lower(all.wake);
		pthread_mutex_lock(&all.lock);
		any = note();
		pthread_mutex_unlock(&all.lock);
	}
	return NULL;
}

/* With the lock.  Without memory for a thread nobody watches, and the instances look by themselves. */
static void start(void)
{
	pthread_t thread;
	sigset_t every, old;
	all.voice = (struct nb_voice){.program = nb_program(), .file = nb_voice_file()};
	if (nb_system_event(all.wake))
		return;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &old);
	if (pthread_create(&thread, NULL, work, NULL) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int nb_watch(int link)
{
	pthread_mutex_lock(&all.lock);
	const int room = all.n < NB_WATCH_MOST;
	if (all.wake[0] < 0)
		start();
	if (room) {
		all.died[all.n] = 0;
		all.link[all.n++] = link;
	}
	nb_system_raise(all.wake);
	pthread_mutex_unlock(&all.lock);
	return room;
}

void nb_watch_no_more(int link)
{
	pthread_mutex_lock(&all.lock);
	for (int i = 0; i < all.n; i++)
		if (all.link[i] == link) {
			all.n--;
			all.link[i] = all.link[all.n];
			all.died[i] = all.died[all.n];
			break;
		}
	pthread_mutex_unlock(&all.lock);
}
