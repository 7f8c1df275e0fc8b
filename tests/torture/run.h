/* run.h - runs of pipelines in which something goes wrong: starts the programs, waits, judges what they did, counts.
 *
 * The programs of a pipeline are either files in a folder, or forks of the test, which is linked with all tools; a fork
 * is much quicker, above all under sanitizers. */
#ifndef NB_TEST_RUN_H
#define NB_TEST_RUN_H

#include "common/timer.h"
#include "tools/filter/filter.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STAGES = 6, WORDS = 31, TEXT = 512, NAMES = 8, NAME = 24 };

/* Seconds after which a pipeline hangs, and what it has left does not end: many, as other work may have the processors.
 */
enum { PATIENCE = 120, REST_PATIENCE = 60 };

static inline _Noreturn __attribute__((format(printf, 1, 2))) void give_up(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

/* ---- a pipeline ----------------------------------------------------------------------------------- */

/* `a | b 'c d'` as its programs and their words. */
struct line {
	size_t n;
	char *argv[STAGES][WORDS + 1];
	size_t nprogram, nname; /* also those within quotes; the same name once */
	char name[NAMES][NAME];
	const char *source;
	char text[TEXT]; /* the words */
};

static inline void note_names(struct line *line, const char *at)
{
	for (; (at = strstr(at, "nb-")) != NULL; at++) {
		const size_t size = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
		char name[NAME];
		snprintf(name, sizeof name, "%.*s", (int)size, at);
		size_t k = 0;
		if (!nb_tool_find(name))
			continue;
		while (k < line->nname && strcmp(line->name[k], name) != 0)
			k++;
		if (k == line->nname && k < NAMES)
			strcpy(line->name[line->nname++], name);
		line->nprogram++;
	}
}

static inline void parse_line(struct line *line, const char *text)
{
	memset(line, 0, sizeof *line);
	line->source = text;
	note_names(line, text);
	char *to = line->text;
	size_t words = 0;
	for (const char *at = text; *at;) {
		at += strspn(at, " ");
		if (*at == '|' || !*at) {
			line->n += *at == '|';
			words = 0;
			at += *at == '|';
			continue;
		}
		if (line->n == STAGES || words == WORDS || strlen(text) >= TEXT)
			give_up("too long: %s", text);
		line->argv[line->n][words++] = to;
		for (int quoted = 0; *at && (quoted || (*at != ' ' && *at != '|')); at++)
			if (*at == '\'')
				quoted = !quoted;
			else
				*to++ = *at;
		*to++ = '\0';
	}
	line->n++;
}

/* ---- a run ---------------------------------------------------------------------------------------- */

struct how {
	const char *bin;    /* folder of the programs; NULL: forks of this process */
	char **environment; /* of programs from a folder */
	int in;		    /* standard input of the first */
	double seconds;	    /* after which they hang */
};

struct bytes {
	char *at;
	size_t n;
};

struct outcome {
	int status[STAGES]; /* as waitpid gives it */
	int hung, left;	    /* whether processes had to be killed: of the pipeline, or those that these started */
	struct bytes out, err;
};

static inline struct bytes bytes_of(int fd)
{
	struct stat s;
	struct bytes b = {NULL, fstat(fd, &s) ? 0 : (size_t)s.st_size};
	b.at = malloc(b.n + 1);
	if (!b.at || pread(fd, b.at, b.n, 0) != (ssize_t)b.n)
		give_up("cannot read what a program wrote");
	b.at[b.n] = '\0';
	return b;
}

static inline struct bytes bytes_of_file(const char *path)
{
	const int fd = open(path, O_RDONLY);
	if (fd < 0)
		give_up("cannot open '%s'", path);
	const struct bytes b = bytes_of(fd);
	close(fd);
	return b;
}

static inline int memory_file(void)
{
	const int fd = memfd_create("torture", MFD_CLOEXEC);
	if (fd < 0)
		give_up("no file in memory");
	return fd;
}

static inline _Noreturn void become(char **argv, const struct how *how, int in, int out, int err)
{
	char path[4200];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	close_range(3, ~0U, how->bin ? CLOSE_RANGE_CLOEXEC : 0);
	if (how->bin) {
		snprintf(path, sizeof path, "%s/%s", how->bin, argv[0]);
		execve(path, argv, how->environment);
		_exit(127);
	}
	int argc = 0;
	while (argv[argc])
		argc++;
	const struct nb_tool *tool = nb_tool_find(argv[0]);
	exit(tool ? nb_tool_main(tool, argc, argv) : 127);
}

/* Ends what is left of a run: the children of this process, which has nothing else.  Returns whether there were any
 * that did not end within some seconds. */
static inline int end_rest(double seconds)
{
	const double start = nb_now();
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 && nb_now() - start < seconds)
		if (pid == 0)
			usleep(500);
	if (pid < 0)
		return 0;
	do {
		char path[64], text[4096];
		snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
		const int fd = open(path, O_RDONLY | O_CLOEXEC);
		const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
		close(fd);
		text[n > 0 ? n : 0] = '\0';
		for (char *at = text, *end; (pid = (pid_t)strtol(at, &end, 10)) > 0; at = end)
			kill(pid, SIGKILL);
		usleep(500);
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
	} while (pid == 0);
	return 1;
}

static inline void wait_for(const pid_t *pid, size_t n, double seconds, struct outcome *o)
{
	const double start = nb_now();
	for (size_t k = 0; k < n; k++) {
		struct pollfd p = {(int)syscall(SYS_pidfd_open, pid[k], 0), POLLIN, 0};
		const double left = start + seconds - nb_now();
		if (p.fd < 0 || poll(&p, 1, left > 0 ? (int)(1000 * left) : 0) != 1) {
			o->hung = 1;
			for (size_t j = k; j < n; j++)
				kill(pid[j], SIGKILL);
		}
		close(p.fd);
		waitpid(pid[k], &o->status[k], 0);
	}
	o->left = end_rest(o->hung ? 0.1 : REST_PATIENCE) && !o->hung;
}

/* Runs a pipeline.  The caller clears the outcome. */
static inline struct outcome run_line(const struct line *line, const struct how *how)
{
	struct outcome o = {.hung = 0};
	pid_t pid[STAGES];
	const int out = memory_file(), err = memory_file();
	int in = how->in, fifo[2] = {-1, -1};
	for (size_t k = 0; k < line->n; k++) {
		const int last = k + 1 == line->n;
		if (!last && pipe2(fifo, O_CLOEXEC))
			give_up("no pipe");
		pid[k] = fork();
		if (pid[k] < 0)
			give_up("cannot fork");
		if (pid[k] == 0)
			become((char **)line->argv[k], how, in, last ? out : fifo[1], err);
		if (in != how->in)
			close(in);
		if (!last)
			close(fifo[1]);
		in = fifo[0];
	}
	wait_for(pid, line->n, how->seconds, &o);
	o.out = bytes_of(out);
	o.err = bytes_of(err);
	close(out);
	close(err);
	return o;
}

static inline void clear_outcome(struct outcome *o)
{
	free(o->out.at);
	free(o->err.at);
}

/* ---- what became of it ---------------------------------------------------------------------------- */

enum verdict {
	RIGHT,	 /* the output of the run without a fault, exit status 0 */
	REFUSED, /* failed as promised: status 1 or 2, one line for each program that failed, no end marker */
	LATE,	 /* the same, or SIGPIPE, but only after the whole output */
	TAKEN,	 /* another whole stream with exit status 0, where nothing tells that the input is damaged */
	FINDINGS,
	CRASH = FINDINGS, /* a signal, or a report of a sanitizer */
	HANG,
	LEFT,	/* processes went on after the pipeline had ended */
	SILENT, /* another output with exit status 0 */
	MARKER, /* an end marker after a failure */
	ODD,	/* no line, too many, or one without the name of its program */
	VERDICTS
};

static const char *const verdict_names[] = {
	"right", "refused", "late", "taken", "crash", "hang", "left", "silent", "marker", "message"};

static inline int same(struct bytes a, struct bytes b)
{
	return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

static inline int ends_with_marker(struct bytes b)
{
	return b.n >= 128 && memcmp(b.at + b.n - 128, "\x89NBS\r\n\x1a\n", 8) == 0 && b.at[b.n - 112] == 2;
}

/* Whether messages are as promised: lines that begin with the name of a program, not more than there are programs. */
static inline int messages_fit(const struct line *line, struct bytes err, int failed)
{
	size_t lines = 0;
	for (const char *at = err.at, *end; *at; at = end + 1, lines++) {
		size_t k = 0, size = strcspn(at, ":");
		end = strchr(at, '\n');
		while (k < line->nname && (strlen(line->name[k]) != size || memcmp(at, line->name[k], size) != 0))
			k++;
		if (k == line->nname || !end || end - at < (ptrdiff_t)size + 3)
			return 0;
	}
	return failed ? lines >= 1 && lines <= line->nprogram : 1;
}

/* want: the output of the run without a fault; NULL: it is not known, or must not come. */
static inline enum verdict judge(const struct line *line, const struct outcome *o, const struct bytes *want)
{
	int failed = 0, broken = 0;
	for (size_t k = 0; k < line->n; k++) {
		const int status = o->status[k];
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
			broken = 1;
		else if (!o->hung && (!WIFEXITED(status) || WEXITSTATUS(status) > 2))
			return CRASH;
		failed |= WIFEXITED(status) && WEXITSTATUS(status);
	}
	if (o->hung)
		return HANG;
	if (strstr(o->err.at, "ERROR: ") || strstr(o->err.at, "runtime error") || strstr(o->err.at, "WARNING: Thread"))
		return CRASH;
	if (o->left)
		return LEFT;
	const int whole = want && same(o->out, *want);
	if (broken && !failed)
		return whole && o->status[line->n - 1] == 0 ? LATE : CRASH;
	if (!messages_fit(line, o->err, failed))
		return ODD;
	if (!failed)
		return whole ? RIGHT : SILENT;
	if (whole && o->out.n)
		return LATE;
	if (o->status[line->n - 1] == 0)
		return SILENT;
	return ends_with_marker(o->out) ? MARKER : REFUSED;
}

/* ---- many runs ------------------------------------------------------------------------------------ */

/* Of findings with the same verdict and message, whatever numbers are in it, so many are printed. */
enum { TOLD_KINDS = 1024, TOLD = 3 };

/* In memory that all workers share. */
struct tally {
	_Atomic size_t next;
	_Atomic long runs, struck, verdict[VERDICTS];
	_Atomic int told[TOLD_KINDS]; /* findings that were printed */
	double until;		      /* no new run after this time; 0: no limit */
};

static inline struct tally *new_tally(double seconds)
{
	struct tally *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		give_up("out of memory");
	memset(t, 0, sizeof *t);
	t->until = seconds > 0 ? nb_now() + seconds : 0;
	return t;
}

/* Counts a run, and returns whether the caller is to tell of it. */
static inline int count_run(struct tally *t, enum verdict v, const struct outcome *o)
{
	unsigned hash = v;
	t->runs++;
	t->verdict[v]++;
	if (v < FINDINGS)
		return 0;
	for (const char *at = o->err.at; *at && (*at != '\n' || at == o->err.at); at++)
		if (!isdigit((unsigned char)*at))
			hash = 31 * hash + (unsigned char)*at;
	return t->told[hash % TOLD_KINDS]++ < TOLD;
}

/* "FINDING kind: what (first line of its messages)" */
static inline void tell(enum verdict v, const struct outcome *o, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static inline void tell(enum verdict v, const struct outcome *o, const char *format, ...)
{
	char text[2048];
	va_list ap;
	size_t used = (size_t)snprintf(text, sizeof text, "FINDING %s: ", verdict_names[v]);
	va_start(ap, format);
	used += (size_t)vsnprintf(text + used, sizeof text - used, format, ap);
	va_end(ap);
	if (used < sizeof text - 8) {
		const char *at = o->err.at + strspn(o->err.at, "=\n ");
		used += (size_t)snprintf(text + used, sizeof text - used, "   (%.*s)", (int)strcspn(at, "\n"), at);
	}
	used = used < sizeof text - 1 ? used : sizeof text - 2;
	for (size_t k = 0; k < used; k++)
		if (!isprint((unsigned char)text[k]))
			text[k] = '?';
	text[used++] = '\n';
	(void)!write(STDOUT_FILENO, text, used);
}

enum { STRIDE = 1000003 }; /* a prime */

/* Cases 0 to n - 1 by some processes; of them only each `sample`-th, spread by a hash, so that a sample has some of
 * everything. */
static inline int is_in_sample(size_t k, size_t sample)
{
	uint64_t x = k + 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (x ^ x >> 31) % sample == 0;
}

static inline void run_all(struct tally *t, int workers, size_t n, size_t sample, void (*one)(struct tally *, size_t))
{
	fflush(NULL);
	for (int w = 0; w < workers; w++) {
		const pid_t pid = fork();
		if (pid < 0)
			give_up("cannot fork");
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		for (size_t k; (k = t->next++) < n && (t->until == 0 || nb_now() < t->until);) {
			/* in an order that has some of everything in any time */
			const size_t which = n % STRIDE && n < SIZE_MAX / STRIDE ? k * STRIDE % n : k;
			if (is_in_sample(which, sample))
				one(t, which);
		}
		_exit(0);
	}
	for (int status; wait(&status) > 0;)
		if (status) {
			t->verdict[CRASH]++;
			printf("FINDING crash: a worker of the test itself\n");
		}
}

/* "torture NAME runs 12 right 3 ..."; 1 if there is a finding */
static inline int end_tally(const struct tally *t, const char *name)
{
	long findings = 0;
	printf("torture %s: runs %ld", name, t->runs);
	if (t->struck)
		printf(" struck %ld", t->struck);
	for (int v = 0; v < VERDICTS; v++) {
		if (v < TAKEN || t->verdict[v])
			printf(" %s %ld", verdict_names[v], t->verdict[v]);
		findings += v >= FINDINGS ? t->verdict[v] : 0;
	}
	printf(" findings %ld\n", findings);
	return findings > 0 || t->runs == 0;
}

#endif
