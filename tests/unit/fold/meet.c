/* Programs at the two ends of a FIFO find each other, and one takes over the work of the other. */
#include "tests/unit/fold/people.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- found ------------------------------------------------------------------------------------- */

static int same_file(int fd, const char *path)
{
	struct stat a, b;
	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void go_elsewhere(void)
{
	setenv("COLOUR", "blue", 1); /* is handed over, need not be the same */
	if (chdir("/") || dup2(open("/dev/zero", O_RDONLY), STDIN_FILENO) < 0)
		_exit(1);
}

static int has_variable(char *const *environment, const char *variable)
{
	for (; *environment; environment++)
		if (strcmp(*environment, variable) == 0)
			return 1;
	return 0;
}

static void everything_is_handed_over(void)
{
	int fifo[2];
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const int listener = nb_meet_listen(fifo[0]);
	CHECK(listener > STDERR_FILENO);
	CHECK(nb_meet_accept(listener, fifo[0], &h, why) == -1);
	const pid_t writer = writer_of(fifo, go_elsewhere);
	CHECK(accept_from(listener, fifo[0], &h, why) == 1);
	CHECK(h.pid == writer);
	CHECK(h.argc == 3 && strcmp(h.argv[0], "nb-test") == 0 && strcmp(h.argv[1], "-t 1") == 0 && !*h.argv[2]);
	CHECK(h.argv[3] == NULL);
	CHECK(has_variable(h.environment, "COLOUR=blue"));
	CHECK(same_file(h.directory, "/") && same_file(h.in, "/dev/zero") && same_file(h.err, "/proc/self/fd/2"));
	CHECK(h.listener == -1);
	CHECK(fcntl(h.in, F_GETFD) == FD_CLOEXEC && fcntl(h.link, F_GETFD) == FD_CLOEXEC);
	CHECK(nb_meet_take(&h) == 0);
	/* the waiting process has closed its end: the FIFO ends when the host says so */
	struct pollfd end = {fifo[0], POLLIN, 0};
	CHECK(poll(&end, 1, 1000) == 1 && end.revents & POLLHUP);
	nb_meet_tell(&h, 7, 0);
	CHECK(exits_with(writer, 7));
	nb_meet_clear(&h);
	close(fifo[0]);
	close(listener);
}

/* One writer, a reader that begins to listen after so many microseconds; the work ends by exit or by a signal. */
static void late_reader(useconds_t late, int status, int signal)
{
	int fifo[2];
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const pid_t writer = writer_of(fifo, NULL);
	usleep(late);
	const int listener = nb_meet_listen(fifo[0]);
	CHECK(accept_from(listener, fifo[0], &h, why) == 1);
	CHECK(nb_meet_take(&h) == 0);
	nb_meet_tell(&h, status, signal);
	nb_meet_clear(&h);
	CHECK(signal ? dies_of(writer, signal) : exits_with(writer, status));
	close(fifo[0]);
	close(listener);
}

int main(void)
{
	meet_people();
	everything_is_handed_over();
	late_reader(5000, 0, 0);
	late_reader(0, 0, SIGPIPE);
	late_reader(0, 0, SIGTERM);
	return unit_end();
}
