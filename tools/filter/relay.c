#include "tools/filter/relay.h"

#include "kernels/backend/backend.h"
#include "tools/filter/require.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct nb_relay {
	struct nb_voice voice; /* that of the instance, but for where a failure leads; the first member */
	struct nb_voice *main; /* of the instance itself */
	int died;	       /* see struct nb_voice */
	jmp_buf failed;
	int (*put)(void *context, struct nb_frame *frame, int last);
	void *context;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct nb_frame waiting; /* to be taken next, if there is one */
	int entered;		 /* the device, in the thread */
	int occupied, busy, quit;
	int status;
};

static void leave(struct nb_voice *voice, int status)
{
	struct nb_relay *relay = (struct nb_relay *)(void *)voice;
	relay->status = status;
	longjmp(relay->failed, 1);
}

/* In the thread, without the lock. */
static int give(struct nb_relay *relay, struct nb_frame *frame)
{
	if (setjmp(relay->failed) != 0)
		return relay->status;
	if (!relay->entered && nb_backend_enter_thread())
		nb_out_of_memory(frame);
	relay->entered = 1;
	return relay->put(relay->context, frame, 1);
}

static void *work(void *context)
{
	struct nb_relay *relay = context;
	nb_speak_as(&relay->voice);
	pthread_mutex_lock(&relay->lock);
	for (;;) {
		while (!relay->occupied && !relay->quit)
			pthread_cond_wait(&relay->changed, &relay->lock);
		if (!relay->occupied)
			break;
		struct nb_frame frame = relay->waiting;
		const int wanted = relay->status == NB_EXIT_OK;
		relay->occupied = 0;
		relay->busy = 1;
		pthread_cond_broadcast(&relay->changed);
		pthread_mutex_unlock(&relay->lock);
		const int status = wanted ? give(relay, &frame) : NB_EXIT_OK;
		nb_frame_clear(&frame);
		pthread_mutex_lock(&relay->lock);
		relay->busy = 0;
		if (status)
			relay->status = status;
		pthread_cond_broadcast(&relay->changed);
	}
	pthread_mutex_unlock(&relay->lock);
	return NULL;
}

static int put(void *context, struct nb_frame *frame, int last)
{
	struct nb_relay *relay = context;
	struct nb_frame copy;
	nb_frame_init(&copy);
	if (nb_frame_give(&copy, frame, last))
		nb_out_of_memory(frame);
	pthread_mutex_lock(&relay->lock);
	while (relay->occupied && !relay->status)
		pthread_cond_wait(&relay->changed, &relay->lock);
	const int status = relay->status;
	if (!status) {
		relay->waiting = copy;
		relay->occupied = 1;
		pthread_cond_broadcast(&relay->changed);
	}
	pthread_mutex_unlock(&relay->lock);
	if (status)
		nb_frame_clear(&copy);
	return status;
}

struct nb_relay *nb_relay_start(struct nb_run *run)
{
	struct nb_relay *relay = calloc(1, sizeof *relay);
	if (!relay)
		return NULL;
	relay->voice = run->voice;
	relay->voice.leave = leave;
	relay->voice.place = NULL;
	relay->main = &run->voice;
	relay->voice.died = &relay->died;
	relay->put = run->pass.put;
	relay->context = run->pass.context;
	pthread_mutex_init(&relay->lock, NULL);
	pthread_cond_init(&relay->changed, NULL);
	/* signals go to the other threads */
	sigset_t most, old;
	sigfillset(&most);
	sigdelset(&most, SIGPIPE);
	sigdelset(&most, SIGBUS); /* common/mapped.h */
	pthread_sigmask(SIG_SETMASK, &most, &old);
	const int error = pthread_create(&relay->thread, NULL, work, relay);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error) {
		free(relay);
		return NULL;
	}
	run->voice.died = &relay->died;
	run->pass.put = put;
	run->pass.context = relay;
	return relay;
}

int nb_relay_drain(struct nb_relay *relay)
{
	pthread_mutex_lock(&relay->lock);
	while (relay->occupied || relay->busy)
		pthread_cond_wait(&relay->changed, &relay->lock);
	const int status = relay->status;
	pthread_mutex_unlock(&relay->lock);
	return status;
}

void nb_relay_stop(struct nb_relay *relay)
{
	if (!relay)
		return;
	pthread_mutex_lock(&relay->lock);
	relay->quit = 1;
	pthread_cond_broadcast(&relay->changed);
	pthread_mutex_unlock(&relay->lock);
	pthread_join(relay->thread, NULL);
	relay->main->died = NULL;
	pthread_cond_destroy(&relay->changed);
	pthread_mutex_destroy(&relay->lock);
	free(relay);
}
