/* The co-process: frames pass through a command, and a command that fails is found out. */
#include "tools/filter/coprocess.h"

#include "common/timer.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int writes, failing; /* to commands so far; the one that fails, with this errno */
static int failing_with;
static int command_input = -1;

/* In place of that of the C library. */
ssize_t write(int fd, const void *data, size_t bytes)
{
	if (fd == command_input && ++writes == failing) {
		errno = failing_with;
		return -1;
	}
	return syscall(SYS_write, fd, data, bytes);
}

static void make_frame(struct nb_frame *frame, size_t n)
{
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = n;
	double *mass = nb_column_write(nb_frame_add_field(frame, NB_MASS, NULL, 0), &nb_space_host, NB_AS_F64);
	for (size_t i = 0; i < n; i++)
		mass[i] = (double)i;
}

static int same_frame(const struct nb_frame *frame, size_t n)
{
	struct nb_column *mass = nb_frame_field(frame, NB_MASS);
	const double *data = mass ? nb_column_read(mass, &nb_space_host, NB_AS_F64) : NULL;
	if (!data || frame->rows[NB_PARTICLE] != n)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (data[i] != (double)i)
			return 0;
	return 1;
}

/* Frames from nothing to many times what the pipes hold come back through a command. */
static void passes(const char *command)
{
	static const size_t sizes[] = {0, 1, 1000, 3000000, 2, 1000000};
	struct nb_coprocess co;
	struct nb_frame sent, got;
	CHECK(nb_coprocess_start(&co, command, environ, 2) == 0);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		make_frame(&sent, sizes[i]);
		nb_frame_init(&got);
		CHECK(nb_coprocess_send(&co, &sent) == 0);
		CHECK(sent.ncolumn == 0);
		CHECK(nb_coprocess_receive(&co, &got) == 0);
		CHECK(same_frame(&got, sizes[i]));
		nb_frame_clear(&got);
	}
	CHECK(nb_coprocess_finish(&co) == 0);
	CHECK(co.group.id == 0);
}

/* The command fails to answer a large frame.  Whether in the way that the error tells. */
static int has_failed(const char *command, const char *error)
{
	struct nb_coprocess co;
	struct nb_frame sent, got;
	make_frame(&sent, 1000000);
	nb_frame_init(&got);
	CHECK(nb_coprocess_start(&co, command, environ, 2) == 0);
	co.notice = co.notice_answer = 0.3;
	co.patience = 30;
	CHECK(nb_coprocess_send(&co, &sent) == 0);
	CHECK(nb_coprocess_receive(&co, &got) == -1);
	const int as_told = strstr(co.error, error) != NULL;
	if (!as_told)
		fprintf(stderr, "'%s' %s, want %s\n", command, co.error, error);
	nb_coprocess_kill(&co);
	CHECK(co.group.id == 0 && !co.writing);
	nb_frame_clear(&got);
	return as_told;
}

/* Of a command that takes seconds to end, where the processors have other work, the error does not tell how: one time
 * in five it does. */
static void fails(const char *command, const char *error)
{
	int tries = 1;
	while (!has_failed(command, error) && tries < 5)
		tries++;
	CHECK(tries < 5);
}

/* All processes of a command end, even if they refuse: the pipe that they all hold is seen to close. */
static void dies_when_told(void)
{
	struct nb_coprocess co;
	int held[2];
	struct pollfd end = {-1, POLLIN, 0};
	CHECK(pipe(held) == 0);
	end.fd = held[0];
	CHECK(nb_coprocess_start(&co, "trap '' TERM; sleep 1000 | sleep 1000", environ, 2) == 0);
	close(held[1]);
	nb_pause(0.05);
	CHECK(poll(&end, 1, 0) == 0);
	nb_coprocess_kill(&co);
	CHECK(co.group.id == 0);
	CHECK(poll(&end, 1, 60000) == 1 && end.revents == POLLHUP);
	close(held[0]);
}

/* Three frames through a command, of which one write fails: an error at once, whichever it is. */
static void cannot_write(int which, int error, const char *command)
{
	struct nb_coprocess co;
	struct nb_frame sent, got;
	int status = 0;
	nb_frame_init(&got);
	CHECK(nb_coprocess_start(&co, command, environ, 2) == 0);
	writes = 0;
	failing_with = error;
	failing = which;
	command_input = co.to.fd;
	const double start = nb_now();
	for (size_t k = 0; k < 3 && !status; k++) {
		make_frame(&sent, 30000);
		status = nb_coprocess_send(&co, &sent) || nb_coprocess_receive(&co, &got);
		nb_frame_clear(&sent);
	}
	status = status || nb_coprocess_finish(&co);
	CHECK(nb_now() - start < 500); /* the command would wait for ever */
	CHECK(status);
	CHECK(strstr(co.error, "cannot be written to: ") && strstr(co.error, strerror(error)));
	nb_coprocess_kill(&co);
	CHECK(co.group.id == 0 && !co.writing);
	command_input = -1;
	nb_frame_clear(&got);
}

static void no_write_may_fail(void)
{
	static const int errors[] = {EIO, ENOSPC, ENOMEM};
	writes = 0;
	failing = 0;
	/* a frame of this size takes a few writes, the end marker one: the last */
	for (int which = 1, last = 3 * 3 + 1; which <= last; which++)
		cannot_write(which, errors[which % 3], which % 2 ? "cat" : "cat | cat");
	CHECK(writes == 3 * 3 + 1);
}

/* Without a byte for so long in any state, the command has failed; it says what was waited for.  Whether it did. */
static int has_lost_patience(const char *command, int frames, double patience, const char *awaited)
{
	char error[200];
	struct nb_coprocess co;
	struct nb_frame sent, got;
	int status = 0;
	nb_frame_init(&got);
	CHECK(nb_coprocess_start(&co, command, environ, 2) == 0);
	co.patience = patience;
	co.notice = co.notice_answer = patience / 2;
	for (int k = 0; k < frames && !status; k++) {
		make_frame(&sent, 100000);
		status = nb_coprocess_send(&co, &sent) || nb_coprocess_receive(&co, &got);
		nb_frame_clear(&sent);
	}
	status = status || nb_coprocess_finish(&co);
	CHECK(status);
	snprintf(error, sizeof error, "exceeded the patience of %g s (%s)", patience, awaited);
	const int as_told = strstr(co.error, error) != NULL;
	if (!as_told)
		fprintf(stderr, "'%s' %s, want %s\n", command, co.error, error);
	nb_coprocess_kill(&co);
	CHECK(co.group.id == 0 && !co.writing);
	nb_frame_clear(&got);
	return as_told;
}

/* The more patience, the surer the command has come so far, also where the processors have other work. */
static void loses_patience(const char *command, int frames, const char *awaited)
{
	double patience = 0.3;
	while (!has_lost_patience(command, frames, patience, awaited) && patience < 30)
		patience *= 3;
	CHECK(patience < 30);
}

/* One that answers what it has not read: the next frame finds no room. */
static void finds_no_room(void)
{
	struct nb_frame frame;
	struct nb_writer out;
	char name[] = "/tmp/nb-coprocess.XXXXXX", command[80];
	const int file = mkstemp(name);
	make_frame(&frame, 100000);
	CHECK(file >= 0 && nb_writer_open(&out, file) == 0);
	CHECK(nb_writer_next(&out, &frame) == 0 && nb_writer_close(&out) == 0);
	nb_frame_clear(&frame);
	snprintf(command, sizeof command, "cat %s; sleep 1000", name);
	loses_patience(command, 2, "waiting for it to read its input");
	unlink(name);
}

/* This program reads, and waits for more, in a command whose last program never begins, or whose shell or another
 * program may still answer. */
static void loses_its_last_program(const char *reader)
{
	static const char *const answers[] = {"%s read | %s read",
		"exec 3<&0; %s read <&3 >&2 & sleep 1000 >&2; :", "exec 3<&0; %s read <&3 >&2 & while :; do :; done"};
	char command[200];
	snprintf(command, sizeof command, "%s read | cat | sh -c 'kill -9 $$'", reader);
	fails(command, "lost its last program before it answered");
	/* for a second it looks the same where the shell itself answers then, or fails */
	snprintf(
		command, sizeof command, "exec 3<&0; %s read <&3 >&2 & %s late </dev/null >&2; exit 3", reader, reader);
	fails(command, "ended with status 3");
	for (size_t k = 0; k < sizeof answers / sizeof *answers; k++) {
		snprintf(command, sizeof command, answers[k], reader, reader);
		loses_patience(command, 1, "waiting for its answer");
	}
}

int main(int argc, char **argv)
{
	char read_away[4096];
	if (argc > 1 && strcmp(argv[1], "late") == 0)
		sleep(1);
	while (argc > 1 && read(0, read_away, sizeof read_away) > 0)
		;
	if (argc > 1)
		return 0;
	alarm(1200); /* a command that is waited for for ever */
	passes("cat");
	passes("cat | cat | cat");
	passes("exec dd bs=16M status=none");
	fails("exit 3", "ended with status 3");
	fails("true", "ended with status 0 before it answered");
	fails("kill -9 $$", "was ended by signal 9");
	fails("echo garbage", "not a particle stream");
	fails("head -c 4000", "truncated stream");
	fails("cat >/dev/null & exec >&-; sleep 1000", "closed its output before it answered");
	fails("exec <&-; sleep 1000", "stopped reading its input");
	dies_when_told();
	no_write_may_fail();
	loses_patience("cat >/dev/null", 1, "waiting for its answer");
	loses_patience("sleep 1000", 1, "waiting for its answer");
	loses_patience("head -c 300000; sleep 1000", 1, "waiting for the rest of its answer");
	loses_patience("cat >/dev/null; sleep 1000", 0, "waiting for the end of its stream");
	loses_patience("cat; sleep 1000", 1, "waiting for its exit");
	loses_patience("cat; exec >&-; sleep 1000", 1, "waiting for its exit");
	finds_no_room();
	loses_its_last_program(argv[0]);
	return unit_end();
}
