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
	CHECK(poll(&end, 1, 60000) == 1 && end.revents & POLLHUP);
	nb_meet_tell(&h, 7, 0);
	CHECK(exits_with(writer, 7));
	nb_meet_clear(&h);
	close(fifo[0]);
	close(listener);
}

/* One writer, a reader that begins to listen after so many microseconds; the work ends by exit or by a signal. */
static int found_late(useconds_t late, int status, int signal)
{
	int fifo[2];
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const pid_t writer = writer_of(fifo, NULL);
	usleep(late);
	const int listener = nb_meet_listen(fifo[0]);
	const int found = accept_from(listener, fifo[0], &h, why) == 1;
	if (found) {
		CHECK(nb_meet_take(&h) == 0);
		nb_meet_tell(&h, status, signal);
		nb_meet_clear(&h);
	}
	CHECK(found && signal ? dies_of(writer, signal) : exits_with(writer, found ? status : PLAIN));
	close(fifo[0]);
	close(listener);
	return found;
}

/* On a busy machine the search may end before the reader has had a turn. */
static void late_reader(useconds_t late, int status, int signal)
{
	int found = 0;
	for (int i = 0; i < 10 && !found; i++)
		found = found_late(late, status, signal);
	CHECK(found);
}

/* ---- a chain ----------------------------------------------------------------------------------- */

/* a | b | c, where c is the test: b hands over to c, while a waits for b, for so many microseconds; or, if that is 0,
 * before a comes and finds the socket of b. */
static void the_last_collects_the_chain(useconds_t a_waits)
{
	int ab[2], bc[2];
	struct nb_handover b, a;
	char why[NB_WHY_SIZE];
	CHECK(pipe2(ab, O_CLOEXEC) == 0 && pipe2(bc, O_CLOEXEC) == 0);
	const int listener = nb_meet_listen(bc[0]);
	const pid_t middle = person();
	if (middle == 0) {
		close(ab[1]);
		close(bc[0]);
		if (dup2(ab[0], STDIN_FILENO) < 0)
			_exit(1);
		close(ab[0]);
		write_fifo(bc[1], nb_meet_listen(STDIN_FILENO));
	}
	close(bc[1]);
	close(ab[0]);
	pid_t first = a_waits ? writer_of(ab, NULL) : 0;
	usleep(a_waits);
	CHECK(accept_from(listener, bc[0], &b, why) == 1);
	CHECK(b.pid == middle && b.listener >= 0);
	CHECK(nb_meet_take(&b) == 0);
	usleep(a_waits ? 0 : 20000);
	if (!a_waits)
		first = writer_of(ab, NULL);
	CHECK(accept_from(b.listener, b.in, &a, why) == 1);
	CHECK(a.pid == first && a.listener == -1);
	CHECK(nb_meet_take(&a) == 0);
	nb_meet_tell(&a, 3, 0);
	nb_meet_clear(&a);
	nb_meet_tell(&b, 4, 0);
	nb_meet_clear(&b);
	CHECK(exits_with(first, 3));
	CHECK(exits_with(middle, 4));
	close(bc[0]);
	close(listener);
}

/* (a; b) | c */
static void writers_come_one_after_the_other(void)
{
	int fifo[2];
	struct nb_handover h;
	char why[NB_WHY_SIZE], name[NB_HOLDER_NAME];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const int listener = nb_meet_listen(fifo[0]);
	for (int i = 0; i < 3; i++) {
		int end[2] = {fifo[0], dup(fifo[1])};
		const pid_t writer = writer_of(end, NULL);
		CHECK(accept_from(listener, fifo[0], &h, why) == 1);
		CHECK(nb_meet_take(&h) == 0);
		nb_meet_tell(&h, i, 0);
		nb_meet_clear(&h);
		CHECK(exits_with(writer, i));
	}
	CHECK(nb_meet_writers(fifo[0], name) != NB_HOLDER_OURS); /* the test itself does not count */
	close(fifo[1]);
	CHECK(nb_meet_writers(fifo[0], name) == NB_HOLDER_NONE && !*name);
	close(fifo[0]);
	close(listener);
}

/* ---- plain bytes ------------------------------------------------------------------------------- */

/* The reader of a FIFO is a command, after so many microseconds. */
static pid_t command(int fd, const char *program, char *const *argv)
{
	pid_t pid = -1;
	posix_spawn_file_actions_t files;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
	CHECK(posix_spawn(&pid, program, &files, NULL, argv, environ) == 0);
	posix_spawn_file_actions_destroy(&files);
	return pid;
}

static void another_program_reads(const char *program, char *const *argv, const char *phrase, double most)
{
	int fifo[2];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const pid_t reader = command(fifo[0], program, argv);
	while (nb_runs_this_program(reader)) /* it has not begun */
		usleep(100);
	close(fifo[0]);
	const pid_t writer = writer_of(fifo, NULL);
	CHECK(exits_with(writer, PLAIN));
	if (!strstr(experience->why, phrase))
		fprintf(stderr, "'%s'\n", experience->why);
	CHECK(strstr(experience->why, phrase) != NULL);
	CHECK(experience->seconds < most);
	printf("%s: plain bytes after %.2f ms (%s)\n", program, experience->seconds * 1000, experience->why);
	CHECK(exits_with(reader, 0));
}

static void nobody_reads(void)
{
	int fifo[2];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const pid_t writer = person();
	if (writer == 0) {
		close(fifo[0]);
		usleep(5000);
		write_fifo(fifo[1], -1);
	}
	close(fifo[0]);
	close(fifo[1]);
	CHECK(exits_with(writer, PLAIN));
	CHECK(strcmp(experience->why, "nobody reads") == 0);
	CHECK(experience->seconds < 5 * NB_MEET_SEARCH);
	printf("nobody: plain bytes after %.2f ms\n", experience->seconds * 1000);
}

static void without_a_listener(void)
{
	int fifo[2];
	char name[NB_HOLDER_NAME];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const pid_t writer = writer_of(fifo, NULL);
	enum nb_holder holder =
		NB_HOLDER_MAYBE; /* where the processors have other work, it may lack the time to look */
	for (int tries = 0; tries < 100 && holder == NB_HOLDER_MAYBE; tries++)
		holder = nb_meet_writers(fifo[0], name);
	CHECK(holder == NB_HOLDER_OURS && strcmp(name, "meet") == 0);
	CHECK(exits_with(writer, PLAIN));
	CHECK(strcmp(experience->why, "meet does not fold") == 0);
	CHECK(experience->seconds >= 0.75 * NB_MEET_SEARCH && experience->seconds < 5 * NB_MEET_SEARCH);
	printf("a reader that does not listen: plain bytes after %.2f ms\n", experience->seconds * 1000);
	close(fifo[0]);
}

static void its_own_reader(void)
{
	int fifo[2];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const pid_t writer = person();
	if (writer == 0) {
		const int own = nb_meet_listen(fifo[0]);
		write_fifo(fifo[1], own);
	}
	CHECK(exits_with(writer, PLAIN));
	CHECK(strcmp(experience->why, "it reads its own output") == 0);
	close(fifo[0]);
	close(fifo[1]);
}

static void switch_off(void)
{
	setenv("NB_FOLD", "off", 1);
}

static void switched_off(void)
{
	int fifo[2];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	switch_off();
	CHECK(nb_meet_listen(fifo[0]) == -1);
	unsetenv("NB_FOLD");
	const int listener = nb_meet_listen(fifo[0]);
	CHECK(nb_meet_listen(fifo[0]) == -1); /* the name is taken */
	CHECK(exits_with(writer_of(fifo, switch_off), PLAIN));
	CHECK(strcmp(experience->why, "NB_FOLD=off") == 0);
	CHECK(nb_meet_listen(open("/dev/null", O_RDONLY)) == -1);
	CHECK(nb_meet_listen(-1) == -1);
	close(listener);
	close(fifo[0]);
}

static void messages_in_the_stream(void)
{
	int fifo[2];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const int listener = nb_meet_listen(fifo[0]);
	const pid_t writer = person();
	if (writer == 0) {
		if (dup2(fifo[1], STDERR_FILENO) < 0)
			_exit(1);
		write_fifo(fifo[1], -1);
	}
	CHECK(exits_with(writer, PLAIN));
	CHECK(strcmp(experience->why, "its messages go into the same pipe") == 0);
	close(fifo[0]);
	close(fifo[1]);
	close(listener);
}

/* ---- surroundings ------------------------------------------------------------------------------ */

static void other_variable(void)
{
	setenv("NB_SIMD", "plain", 1);
}

static void missing_variable(void)
{
	unsetenv("OMP_SCHEDULE");
}

static void nicer(void)
{
	if (nice(1) < 0)
		_exit(1);
}

static void smaller_files(void)
{
	const struct rlimit limit = {1 << 20, 1 << 20};
	setrlimit(RLIMIT_FSIZE, &limit);
}

static void other_umask(void)
{
	umask(0177);
}

static void deaf_to_pipes(void)
{
	signal(SIGPIPE, SIG_IGN);
}

static void one_processor(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof set, &set);
}

static void batch(void)
{
	const struct sched_param none = {0};
	sched_setscheduler(0, SCHED_BATCH, &none);
}

/* The reader refuses, the writer learns why, and the next one is found. */
static void refused(void (*change)(void), const char *phrase)
{
	int fifo[2];
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const int listener = nb_meet_listen(fifo[0]), before = open_descriptors();
	const pid_t writer = writer_of(fifo, change);
	const int answer = accept_from(listener, fifo[0], &h, why);
	CHECK(answer == 0);
	if (answer == 1)
		nb_meet_refuse(&h, "");
	CHECK(exits_with(writer, PLAIN));
	if (strcmp(why, phrase) != 0 || strcmp(experience->why, phrase) != 0)
		fprintf(stderr, "want '%s', reader says '%s', writer learns '%s'\n", phrase, why, experience->why);
	CHECK(strcmp(why, phrase) == 0);
	CHECK(strcmp(experience->why, phrase) == 0);
	CHECK(open_descriptors() == before - 1); /* the write end of the test */
	close(fifo[0]);
	close(listener);
}

static void no_new_rights(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* The writer looks at the rights of who listens before it is greeted. */
static void other_rights(void)
{
	int fifo[2];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const int listener = nb_meet_listen(fifo[0]);
	const pid_t writer = writer_of(fifo, no_new_rights);
	struct pollfd end = {fifo[0], POLLIN, 0};
	CHECK(poll(&end, 1, 60000) == 1 && end.revents & POLLHUP);
	kill(writer, SIGKILL); /* unless it has ended */
	CHECK(exits_with(writer, PLAIN));
	CHECK(strcmp(experience->why, "another sandbox") == 0);
	close(fifo[0]);
	close(listener);
}

static void other_surroundings(void)
{
	setenv("OMP_SCHEDULE", "static", 1);
	IN_ONE_OF(10, refused(other_variable, "another environment: NB_SIMD"));
	IN_ONE_OF(10, refused(missing_variable, "another environment: OMP_SCHEDULE"));
	unsetenv("OMP_SCHEDULE");
	if (getpriority(PRIO_PROCESS, 0) < 19)
		IN_ONE_OF(10, refused(nicer, "another niceness"));
	IN_ONE_OF(10, refused(smaller_files, "other resource limits"));
	IN_ONE_OF(10, refused(other_umask, "another umask"));
	IN_ONE_OF(10, refused(deaf_to_pipes, "other ignored signals"));
	IN_ONE_OF(10, refused(batch, "another scheduling policy"));
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		IN_ONE_OF(10, refused(one_processor, "other processors allowed"));
}

/* The program that takes over may refuse for a reason of its own. */
static void refused_by_the_caller(void)
{
	int fifo[2];
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const int listener = nb_meet_listen(fifo[0]);
	const pid_t writer = writer_of(fifo, NULL);
	CHECK(accept_from(listener, fifo[0], &h, why) == 1);
	nb_meet_refuse(&h, "an odd option");
	CHECK(exits_with(writer, PLAIN));
	CHECK(strcmp(experience->why, "an odd option") == 0);
	close(fifo[0]);
	close(listener);
}

/* ---- many times -------------------------------------------------------------------------------- */

/* One writer hands over and over, which a program does not; it counts its descriptors. */
static void again_and_again(int fd, int times)
{
	static char name[] = "nb-test", *argv[] = {name, NULL};
	const int before = open_descriptors();
	for (int i = 0; i < times; i++) {
		int link;
		const struct nb_handover offer = {.argc = 1,
			.argv = argv,
			.environment = environ,
			.in = open("/dev/null", O_RDONLY),
			.err = STDERR_FILENO,
			.directory = -1,
			.listener = -1};
		const int end = dup(fd);
		if (nb_meet_hand_over(end, &offer, &link, experience->why) != 1 ||
			nb_meet_wait(link, NULL) != (i & 255))
			_exit(PLAIN);
	}
	_exit(open_descriptors() == before ? 0 : 1);
}

static void nothing_leaks(void)
{
	enum { TIMES = 1000 };
	int fifo[2], fine = 1;
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const int listener = nb_meet_listen(fifo[0]);
	const pid_t writer = person();
	if (writer == 0) {
		close(fifo[0]);
		again_and_again(fifo[1], TIMES);
	}
	close(fifo[1]);
	const int before = open_descriptors();
	const double start = nb_now();
	for (int i = 0; i < TIMES && fine; i++) {
		fine = accept_from(listener, fifo[0], &h, why) == 1 && nb_meet_take(&h) == 0;
		if (fine) {
			nb_meet_tell(&h, i & 255, 0);
			nb_meet_clear(&h);
		}
	}
	printf("%d times handed over: %.3f ms each\n", TIMES, (nb_now() - start) / TIMES * 1000);
	CHECK(fine);
	CHECK(open_descriptors() == before);
	CHECK(exits_with(writer, 0));
	close(fifo[0]);
	close(listener);
}

int main(void)
{
	static char cat[] = "cat", sh[] = "sh", flag[] = "-c", reads[] = "while read -r x; do :; done; sleep 0.1";
	static char *by_cat[] = {cat, NULL}, *by_shell[] = {sh, flag, reads, NULL};
	meet_people();
	IN_ONE_OF(10, everything_is_handed_over());
	late_reader(5000, 0, 0);
	late_reader(0, 0, SIGPIPE);
	late_reader(0, 0, SIGTERM);
	IN_ONE_OF(10, the_last_collects_the_chain(0));
	IN_ONE_OF(10, the_last_collects_the_chain(20000));
	IN_ONE_OF(10, the_last_collects_the_chain(1500000)); /* a reader that waits for its own input */
	IN_ONE_OF(10, writers_come_one_after_the_other());
	IN_ONE_OF(10, another_program_reads("/bin/cat", by_cat, "cat reads", 5 * NB_MEET_SEARCH));
	IN_ONE_OF(10, another_program_reads("/bin/sh", by_shell, "sh reads", 6 * NB_MEET_SEARCH));
	IN_ONE_OF(10, nobody_reads());
	IN_ONE_OF(100, without_a_listener());
	IN_ONE_OF(10, its_own_reader());
	IN_ONE_OF(10, switched_off());
	IN_ONE_OF(10, messages_in_the_stream());
	IN_ONE_OF(10, other_rights());
	other_surroundings();
	IN_ONE_OF(10, refused_by_the_caller());
	IN_ONE_OF(10, nothing_leaks());
	CHECK(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
	return unit_end();
}
