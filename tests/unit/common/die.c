/* Messages: one line each, whatever is in it; who speaks, and how loud; what a process says that is about to end. */
#include "common/die.h"

#include "common/status.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

/* What has been said since the last time. */
static const char *heard(void)
{
	static char text[4096];
	const ssize_t n = read(ends[0], text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void test_messages(void)
{
	char long_text[3000];
	struct nb_voice voice = {"nb-test", 0, ends[1], NULL, NULL, NULL};
	CHECK(strcmp(nb_program(), "die") == 0 && nb_voice_file() == STDERR_FILENO); /* this file's */
	nb_speak_as(&voice);
	CHECK(strcmp(nb_program(), "nb-test") == 0 && nb_voice_file() == ends[1]);
	nb_warn("%d bodies", 3);
	CHECK(strcmp(heard(), "nb-test: 3 bodies\n") == 0);
	nb_warn("%d bodies (%d frames), 11 bytes, 0.1 bytes, '1 files', %d files", 1, 1, 1);
	CHECK(strcmp(heard(), "nb-test: 1 body (1 frame), 11 bytes, 0.1 bytes, '1 files', 1 file\n") == 0);
	nb_warn("run 1 files.csv:2: %d cells", 1);
	CHECK(strcmp(heard(), "nb-test: run 1 files.csv:2: 1 cell\n") == 0);
	nb_warn("frame %d bodies, 1 is 1 s, in 1 bodiesx 1 ies 1 boxes 1 %s", 1, "systems");
	CHECK(strcmp(heard(), "nb-test: frame 1 bodies, 1 is 1 s, in 1 bodiesx 1 ies 1 box 1 system\n") == 0);
	errno = ENOENT;
	nb_warn("cannot open 'x':");
	CHECK(strcmp(heard(), "nb-test: cannot open 'x': No such file or directory\n") == 0);
	CHECK(errno == ENOENT);
	nb_warn("a\nb\033[31m\177");
	CHECK(strcmp(heard(), "nb-test: a?b?[31m?\n") == 0);
	memset(long_text, 'y', sizeof long_text - 1);
	long_text[sizeof long_text - 1] = '\0';
	nb_warn("%s", long_text);
	const char *cut = heard();
	CHECK(strlen(cut) == 1024 && cut[1023] == '\n' && cut[1022] == 'y');

	nb_verbose("not asked for");
	CHECK(*heard() == '\0');
	voice.verbosity = 1;
	nb_verbose("asked for");
	CHECK(strcmp(heard(), "nb-test: asked for\n") == 0);
	voice.verbosity = -1;
	nb_warn("unwanted");
	CHECK(*heard() == '\0' && nb_verbosity() == -1);
	CHECK(nb_speak_as(NULL) == &voice && nb_verbosity() == 0);
}

static jmp_buf out;
static int left_with;

static void leave(struct nb_voice *voice, int status)
{
	(void)voice;
	left_with = status;
	longjmp(out, 1);
}

/* One of several instances leaves alone; a program with one ends. */
static void test_ends(void)
{
	struct nb_voice alone = {"nb-test", -1, ends[1], NULL, NULL, NULL},
			one = {"nb-one", 0, ends[1], leave, NULL, NULL};
	nb_speak_as(&one);
	if (!setjmp(out))
		nb_die(NB_EXIT_USAGE, "unknown option '%s'", "-x");
	CHECK(left_with == NB_EXIT_USAGE && strcmp(heard(), "nb-one: unknown option '-x'\n") == 0);
	nb_speak_as(&alone);
	const pid_t child = fork();
	if (child == 0)
		nb_die(NB_EXIT_FAILED, "no more");
	int status;
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == NB_EXIT_FAILED);
	CHECK(strcmp(heard(), "nb-test: no more\n") == 0); /* also after -q */
	nb_speak_as(NULL);
}

static void finish(int number)
{
	(void)number;
	exit(7);
}

/* Of what ends because a signal ends the process, nobody hears. */
static void test_silence(void)
{
	struct nb_voice voice = {"nb-test", 0, ends[1], NULL, NULL, NULL};
	nb_speak_as(&voice);
	const pid_t child = fork();
	if (child == 0) {
		signal(SIGALRM, finish);
		alarm(1);
		nb_fall_silent();
		nb_warn("the reader is gone");
		exit(0); /* it was not to come so far */
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CHECK(*heard() == '\0');
	nb_speak_as(NULL);
}

/* Every status has a text of its own. */
static void test_status(void)
{
	static const int all[] = {
		NB_OK, NB_ENOMEM, NB_ENODEV, NB_EDEVICE, NB_EINVAL, NB_ENONFINITE, NB_ELIMIT, NB_EUNSUPPORTED, 1000};
	for (size_t a = 0; a < sizeof all / sizeof *all; a++)
		for (size_t b = 0; b < a; b++)
			CHECK(strcmp(nb_status_text(all[a]), nb_status_text(all[b])) != 0);
	CHECK(strcmp(nb_status_text(NB_ENOMEM), "out of memory") == 0);
	CHECK(strcmp(nb_status_text(1000), "unknown status") == 0);
}

int main(void)
{
	CHECK(pipe2(ends, O_NONBLOCK) == 0);
	test_messages();
	test_ends();
	test_silence();
	test_status();
	return unit_end();
}
