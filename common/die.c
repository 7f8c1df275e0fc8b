#include "common/die.h"

#include "common/printable.h"
#include "common/singular.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct nb_voice nobody = {.file = STDERR_FILENO}; /* the name this process was started by */
static _Thread_local struct nb_voice *voice = &nobody;
static volatile sig_atomic_t silent;

void nb_fall_silent(void)
{
	silent = 1;
}

struct nb_voice *nb_speak_as(struct nb_voice *next)
{
	struct nb_voice *before = voice;
	voice = next ? next : &nobody;
	return before;
}

const char *nb_program(void)
{
	return voice->program ? voice->program : program_invocation_short_name;
}

int nb_verbosity(void)
{
	return voice->verbosity;
}

int nb_voice_file(void)
{
	return voice->file;
}

/* place: see struct nb_voice.  One write, so that the lines of tools that share a terminal do not mix. */
static void message(const char *format, va_list ap, const char *place)
{
	char line[1024];
	int error = errno;
	while (silent)
		pause();
	snprintf(line, sizeof line, "%s: ", nb_program());
	size_t used = strlen(line);
	vsnprintf(line + used, sizeof line - used, format, ap);
	nb_make_singular(line + used);
	used = strlen(line);
	if (line[used - 1] == ':')
		snprintf(line + used, sizeof line - used, " %s", strerror(error));
	used = strlen(line);
	if (place)
		snprintf(line + used, sizeof line - used, " (%s)", place);
	nb_make_printable(line);
	used = strlen(line);
	line[used++] = '\n'; /* in place of the NUL */
	(void)!write(voice->file, line, used);
	errno = error;
}

void nb_die(int status, const char *format, ...)
{
	if (!voice->died || !__atomic_exchange_n(voice->died, 1, __ATOMIC_RELAXED)) {
		va_list ap;
		va_start(ap, format);
		message(format, ap, voice->place);
		va_end(ap);
	}
	if (voice->leave)
		voice->leave(voice, status);
	exit(status);
}

void nb_die_at_once(int status, const char *format, ...)
{
	static atomic_flag dying = ATOMIC_FLAG_INIT;
	va_list ap;
	while (atomic_flag_test_and_set(&dying))
		pause(); /* another thread has come first, and ends the process */
	va_start(ap, format);
	message(format, ap, NULL);
	va_end(ap);
	_exit(status); /* other threads go on with what exit() would take down */
}

void nb_warn(const char *format, ...)
{
	if (voice->verbosity < 0)
		return;
	va_list ap;
	va_start(ap, format);
	message(format, ap, NULL);
	va_end(ap);
}

void nb_verbose(const char *format, ...)
{
	if (voice->verbosity < 1)
		return;
	va_list ap;
	va_start(ap, format);
	message(format, ap, NULL);
	va_end(ap);
}

int nb_end_by_signal(int number)
{
	struct sigaction action;
	sigset_t set;
	memset(&action, 0, sizeof action);
	action.sa_handler = SIG_DFL;
	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number; /* one that ends nothing */
}
