/* The host: the thread that makes what pages want to see, and the process that serves them. */
#include "tools/nb-view/view.h"

#include "common/cpu.h"
#include "common/system.h"
#include "common/timer.h"
#include "tools/filter/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Share of the time since the start that is spent for those who look, while frames come: where others want the same
 * processors or a device, and where nobody does. */
static const double SHARE = 0.02, SHARE_ALONE = 0.2;
/* Seconds that may be spent at once if that has been saved before. */
static const double CREDIT = 0.5;

/* ---- what the thread does ----------------------------------------------------------------------- */

static void set_gone(struct host *host)
{
	pthread_mutex_lock(&host->lock);
	if (!host->gone && !host->quit)
		nb_warn("the server of the page has ended; the stream goes on without it");
	host->gone = 1;
	pthread_cond_broadcast(&host->changed);
	pthread_mutex_unlock(&host->lock);
}

/* What has been spent for those who look, here and by the server. */
static double spent(const struct host *host)
{
	clockid_t server;
	return nb_view_seconds(CLOCK_THREAD_CPUTIME_ID) +
	       (clock_getcpuclockid(host->process, &server) ? 0 : nb_view_seconds(server));
}

/* Of work on a device the time that has passed counts, as its thread may sleep meanwhile: what is more than spent()
 * sees is noted.  idle: what has passed without work of this thread, before. */
static double idle(void)
{
	return nb_now() - nb_view_seconds(CLOCK_THREAD_CPUTIME_ID);
}

static void note_device(struct host *host, double before)
{
	if (host->now && host->now->space->device >= 0)
		host->spent -= idle() - before;
}

/* Seconds until something may be made, 0: now. */
static double rest(struct host *host)
{
	const double share = host->alone ? SHARE_ALONE : SHARE;
	const double now = nb_now(), due = host->begun + (spent(host) - host->spent) / share;
	if (now - due > CREDIT / share) /* a long time in which nobody looked is no licence */
		host->begun += now - due - CREDIT / share;
	return host->ended || host->follows || now > due ? 0 : due - now;
}

/* The newest frame becomes that which is looked at. */
static void take_frame(struct host *host)
{
	struct nb_frame old;
	nb_frame_init(&old);
	pthread_mutex_lock(&host->lock);
	if (host->occupied) {
		old = host->frame;
		host->frame = host->waiting;
		nb_frame_init(&host->waiting);
		host->now = host->backend;
		host->number = host->passed - 1;
		host->has_frame = 1;
		host->occupied = 0;
	}
	host->hungry = 1;
	pthread_mutex_unlock(&host->lock);
	nb_frame_clear(&old);
}

static void note_sent(struct host *host)
{
	pthread_mutex_lock(&host->lock);
	host->shown = host->final && !host->occupied;
	pthread_cond_broadcast(&host->changed);
	pthread_mutex_unlock(&host->lock);
}

/* Makes a frame if somebody could take it.  Seconds until that is to be looked at again, < 0: at the next event. */
static double serve(struct host *host)
{
	if (host->needs.ready == 0)
		return -1;
	pthread_mutex_lock(&host->lock);
	host->ended = host->final; /* what waits now is the last one */
	/* The first frame that is looked at is not counted: pages want a part of it, and then all. */
	const int first = host->sent == 0 || (host->sent == host->first && !host->occupied);
	pthread_mutex_unlock(&host->lock);
	const double pause = first ? 0 : rest(host);
	if (pause > 0)
		return pause;
	take_frame(host);
	const int news = host->has_frame &&
			 (host->sent != host->number + 1 || host->fresh || host->ended != host->told_end);
	if (news) {
		host->needs.ready = 0;
		host->fresh = 0;
		host->told_end = host->ended;
		const double before = idle();
		if (nb_view_send_frame(host))
			set_gone(host);
		note_device(host, before);
		if (host->sent == 0)
			host->first = host->number + 1;
		host->sent = host->number + 1;
		if (first)
			host->spent = spent(host);
	}
	if (news || host->ended)
		note_sent(host);
	return -1;
}

/* Draws the picture that has been wanted longest.  Seconds as above; 0: there are others. */
static double draw(struct host *host)
{
	if (host->ndraw == 0)
		return -1;
	const double pause = host->sent == 0 ? 0 : rest(host);
	if (pause > 0)
		return pause;
	const struct view_draw first = host->draw[0];
	memmove(host->draw, host->draw + 1, --host->ndraw * sizeof first);
	const double before = idle();
	if (nb_view_send_picture(host, first.client, &first.want))
		set_gone(host);
	note_device(host, before);
	return host->ndraw ? 0 : -1;
}

static void measure(void *host)
{
	nb_view_measure(host);
}

/* The first frame that there is, so that later ones can be compared with it. */
static void measure_first(struct host *host)
{
	char unused[100];
	take_frame(host);
	if (host->has_frame && host->frame.rows[NB_PARTICLE] <= VIEW_SAMPLE)
		(void)nb_view_try(host, measure, host, unused, sizeof unused);
}

static void take_needs(struct host *host, const struct talk_needs *needs)
{
	struct talk_needs before = host->needs;
	before.ready = needs->ready;
	before.clients = needs->clients;
	host->fresh |= memcmp(&before, needs, sizeof before) != 0;
	host->needs = *needs;
	pthread_mutex_lock(&host->lock);
	host->looked = needs->clients > 0;
	pthread_cond_broadcast(&host->changed);
	pthread_mutex_unlock(&host->lock);
}

/* One message of the server: 0, or -1: there will be no other. */
static int hear(struct host *host)
{
	struct talk_head head;
	union {
		struct talk_needs needs;
		struct talk_ask ask;
		struct talk_want want;
	} body;
	if (nb_talk_receive(host->socket, &head, sizeof head) || head.bytes > sizeof body ||
		nb_talk_receive(host->socket, &body, head.bytes))
		return -1;
	if (head.kind == TALK_NEEDS && head.bytes == sizeof body.needs)
		take_needs(host, &body.needs);
	if (head.kind == TALK_DRAW && head.bytes == sizeof body.want && host->ndraw < VIEW_DRAWS)
		host->draw[host->ndraw++] = (struct view_draw){head.client, body.want};
	if (head.kind == TALK_ASK && head.bytes == sizeof body.ask)
		return nb_view_send_body(host, head.client, &body.ask);
	return 0;
}

static int is_over(struct host *host)
{
	pthread_mutex_lock(&host->lock);
	const int over = host->quit || host->gone;
	pthread_mutex_unlock(&host->lock);
	return over;
}

static void *work(void *context)
{
	struct host *host = context;
	nb_speak_as(&host->voice);
	for (int told = 0; !is_over(host);) {
		nb_cpu_set_threads(nb_view_threads(host));
		if (!host->has_frame && !host->follows)
			measure_first(host);
		double pause = serve(host);
		const double until = draw(host);
		pause = until >= 0 && (pause < 0 || until < pause) ? until : pause;
		struct pollfd file[] = {{host->socket, POLLIN, 0}, {host->wake[0], POLLIN, 0}};
		if (host->ended && !told) {
			told = 1;
			if (nb_talk_send(host->socket, TALK_END, 0, NULL, 0))
				set_gone(host);
		}
		(void)poll(file, 2, pause < 0 ? -1 : (int)(1000 * pause) + 1);
		if (file[1].revents)
			nb_system_lower(host->wake);
		if (file[0].revents && hear(host))
			set_gone(host);
	}
	nb_view_release_painter(host);
	nb_frame_clear(&host->frame);
	free(host->row);
	return NULL;
}

/* ---- for the instance --------------------------------------------------------------------------- */

int nb_view_start_thread(struct host *host)
{
	sigset_t most, old;
	sigfillset(&most);
	sigdelset(&most, SIGBUS); /* common/mapped.h */
	pthread_sigmask(SIG_SETMASK, &most, &old);
	const int error = pthread_create(&host->thread, NULL, work, host);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	host->has_thread = !error;
	return error;
}

void nb_view_offer(struct host *host, const struct nb_backend *backend, struct nb_frame *frame)
{
	struct nb_frame old;
	pthread_mutex_lock(&host->lock);
	old = host->waiting;
	host->waiting = *frame;
	nb_frame_init(frame);
	host->backend = backend;
	host->occupied = 1;
	host->passed++;
	const int hungry = host->hungry;
	host->hungry = 0;
	pthread_mutex_unlock(&host->lock);
	nb_frame_clear(&old);
	if (hungry)
		nb_system_raise(host->wake);
}

void nb_view_end(struct host *host, double patience)
{
	const struct timespec until = nb_time_after(patience);
	pthread_mutex_lock(&host->lock);
	host->final = 1;
	nb_system_raise(host->wake);
	while (patience > 0 && !host->shown && !host->gone && host->looked &&
		pthread_cond_clockwait(&host->changed, &host->lock, CLOCK_MONOTONIC, &until) == 0)
		;
	pthread_mutex_unlock(&host->lock);
}

static void leave(int number)
{
	(void)number;
	_exit(NB_EXIT_OK);
}

/* Whoever looks at what is complete ends that by Ctrl-C as a success.  What the process ignores stays ignored. */
static void end_by_signals(void)
{
	static const int number[] = {SIGINT, SIGTERM, SIGHUP};
	for (size_t k = 0; k < sizeof number / sizeof *number; k++) {
		struct sigaction action = {.sa_handler = number[k] == SIGINT ? leave : SIG_DFL}, old;
		if (sigaction(number[k], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(number[k], &action, NULL);
	}
}

int nb_view_wait(struct host *host, int for_first)
{
	if (for_first)
		end_by_signals();
	pthread_mutex_lock(&host->lock);
	host->follows = 1;
	while (!host->gone && (!host->looked || host->occupied))
		pthread_cond_wait(&host->changed, &host->lock);
	const int gone = host->gone;
	pthread_mutex_unlock(&host->lock);
	return !gone;
}

void nb_view_linger(struct host *host)
{
	end_by_signals();
	nb_interrupt_end(); /* one that came just before */
	pthread_mutex_lock(&host->lock);
	while (!host->gone)
		pthread_cond_wait(&host->changed, &host->lock);
	pthread_mutex_unlock(&host->lock);
	_exit(NB_EXIT_OK);
}

void nb_view_stop(struct host *host)
{
	int status;
	if (!host)
		return;
	pthread_mutex_lock(&host->lock);
	host->quit = 1;
	pthread_mutex_unlock(&host->lock);
	shutdown(host->socket, SHUT_RDWR);
	nb_system_raise(host->wake);
	if (host->has_thread)
		pthread_join(host->thread, NULL);
	close(host->socket);
	close(host->wake[0]);
	if (host->wake[1] != host->wake[0])
		close(host->wake[1]);
	close(host->voice.file);
	(void)waitpid(host->process, &status, WNOHANG); /* it ends when all is sent */
	nb_frame_clear(&host->waiting);
	nb_view_stop_stats(host);
	free(host);
}
