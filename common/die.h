/* die.h - messages for people, and the end of a tool.  Only tools and what they share call these. */
#ifndef NB_DIE_H
#define NB_DIE_H

/* exit statuses of every tool */
enum { NB_EXIT_OK = 0, NB_EXIT_FAILED = 1, NB_EXIT_USAGE = 2 };

/* Who speaks: each instance of a tool has a voice, and the thread that runs the instance borrows it. */
struct nb_voice {
	const char *program; /* the name that starts every message */
	int verbosity;	     /* -1 after -q, 0, 1 after -v, 2 after -vv */
	int file;	     /* descriptor that messages go to */
	/* What nb_die does after its message, NULL: exit(status).  Must not return; a program that runs several
	 * instances leaves the one that failed by longjmp. */
	void (*leave)(struct nb_voice *voice, int status);
	const char *place; /* of what is worked on, at the end of what nb_die says: "frame 2 of 'b.nb'"; NULL: none */
	/* Of an instance with two threads, both of which may fail: set by the first nb_die, the only one that says
	 * why.  NULL: one thread. */
	int *died;
};

/* The voice of this thread from now on; NULL: that of the process, by the name that it was started by.  Returns the one
 * before. */
struct nb_voice *nb_speak_as(struct nb_voice *voice);
const char *nb_program(void);
int nb_verbosity(void);
int nb_voice_file(void);

/* "program: message\n" on the voice's file, then the end of the instance.  A message that ends in ':' gets
 * strerror(errno). */
_Noreturn void nb_die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for code that cannot be left by longjmp, such as a callback of a library: ends the process, with one message
 * however many threads come here. */
_Noreturn void nb_die_at_once(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nb_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Like nb_warn, but only after -v. */
void nb_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A signal is about to end the process: what other threads notice of that is no news, and one that has a message waits
 * for the end instead.  May be called by a signal handler. */
void nb_fall_silent(void);

/* Ends the process as this signal ends one; also for a signal handler.  Returns 128 + number if that ends nothing. */
int nb_end_by_signal(int number);

#endif
