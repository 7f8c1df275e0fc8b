/* What goes wrong when programs meet: peers that lie, are silent or are somebody else, and processes that die. */
#include "tests/unit/fold/people.h"

#include "tools/fold/message.h"

#include <sys/resource.h>

/* ---- a peer that knows the protocol, and breaks it ---------------------------------------------- */

/* A FIFO whose reader, the test, listens. */
struct scene {
	int fifo[2], listener, before;
};

static struct scene scene_begin(void)
{
	struct scene s;
	CHECK(pipe2(s.fifo, O_CLOEXEC) == 0);
	s.listener = nb_meet_listen(s.fifo[0]);
	CHECK(s.listener >= 0);
	s.before = open_descriptors();
	return s;
}

static void scene_end(const struct scene *s)
{
	CHECK(open_descriptors() == s->before);
	close(s->fifo[0]);
	close(s->fifo[1]);
	close(s->listener);
}

static int connection(int fd)
{
	struct nb_fifo fifo;
	struct sockaddr_un address;
	const int link = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (nb_fifo_of(&fifo, fd) || connect(link, (struct sockaddr *)&address, nb_fold_address(&address, &fifo)))
		_exit(1);
	return link;
}

/* A file in memory with these bytes, sealed or not. */
static int file_of(const void *bytes, size_t size, int sealed)
{
	const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (write(fd, bytes, size) != (ssize_t)size)
		_exit(1);
	if (sealed)
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	return fd;
}

#define STRINGS(argc, variables, text)    \
	file_of(&(struct {                \
		uint32_t head[2];         \
		char bytes[sizeof(text)]; \
	}){{argc, variables}, text},      \
		2 * sizeof(uint32_t) + sizeof(text), 1)

enum { ALL = 1 << NB_OFFERS_STRINGS | 1 << NB_OFFERS_DIRECTORY | 1 << NB_OFFERS_IN | 1 << NB_OFFERS_ERR };

/* An offer with these strings; otherwise all is well. */
static void offer_strings(int link, int strings)
{
	struct nb_record offer;
	const int fd[] = {strings, open("/", O_PATH), 0, 2};
	nb_record_init(&offer, NB_SAYS_OFFER, ALL);
	(void)nb_record_send(link, &offer, fd, 4, 0);
}

static int good_strings(void)
{
	static char name[] = "x", *argv[] = {name, NULL};
	return nb_strings_pack(1, argv, environ);
}

static void is_good(int link)
{
	offer_strings(link, good_strings());
}

/* A process that has connected and leaves the offer to another one: its own number may be somebody else's by then. */
static void lends_the_connection(int link)
{
	if (fork() == 0) {
		is_good(link);
		_exit(0);
	}
}

static void says_nothing(int link)
{
	(void)link;
	pause();
}

static void leaves(int link)
{
	close(link);
}

static void sends_less(int link)
{
	struct nb_record offer;
	nb_record_init(&offer, NB_SAYS_OFFER, ALL);
	(void)send(link, &offer, sizeof offer - 1, 0);
}

static void sends_more(int link)
{
	struct nb_record offer[2];
	nb_record_init(offer, NB_SAYS_OFFER, ALL);
	offer[1] = offer[0];
	(void)send(link, offer, sizeof offer, 0);
}

static void is_of_another_build(int link)
{
	struct nb_record offer;
	const int fd[] = {good_strings(), open("/", O_PATH), 0, 2};
	nb_record_init(&offer, NB_SAYS_OFFER, ALL);
	offer.build[NB_BUILD_SIZE - 1] ^= 1;
	(void)nb_record_send(link, &offer, fd, 4, 0);
}

static void says_something_else(int link)
{
	struct nb_record offer;
	const int fd[] = {good_strings(), open("/", O_PATH), 0, 2};
	nb_record_init(&offer, NB_SAYS_EXITED, ALL);
	(void)nb_record_send(link, &offer, fd, 4, 0);
}

static void announces_more(int link)
{
	struct nb_record offer;
	const int fd[] = {good_strings(), open("/", O_PATH), 0};
	nb_record_init(&offer, NB_SAYS_OFFER, ALL);
	(void)nb_record_send(link, &offer, fd, 3, 0);
}

static void announces_less(int link)
{
	struct nb_record offer;
	const int fd[] = {good_strings(), open("/", O_PATH), 0, 2, 2};
	nb_record_init(&offer, NB_SAYS_OFFER, ALL);
	(void)nb_record_send(link, &offer, fd, 5, 0);
}

static void announces_nothing(int link)
{
	struct nb_record offer;
	nb_record_init(&offer, NB_SAYS_OFFER, 0);
	(void)nb_record_send(link, &offer, NULL, 0, 0);
}

static void has_no_directory(int link)
{
	struct nb_record offer;
	const int fd = good_strings();
	nb_record_init(&offer, NB_SAYS_OFFER, 1 << NB_OFFERS_STRINGS);
	(void)nb_record_send(link, &offer, &fd, 1, 0);
}

static void sends_many_descriptors(int link)
{
	enum { MANY = 200 };
	struct nb_record offer;
	int fd[MANY] = {0};
	union {
		char bytes[CMSG_SPACE(sizeof fd)];
		struct cmsghdr header;
	} control;
	struct iovec bytes = {&offer, sizeof offer};
	struct msghdr m = {.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof control.bytes};
	nb_record_init(&offer, NB_SAYS_OFFER, ALL);
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(&control.header), fd, sizeof fd);
	(void)sendmsg(link, &m, 0);
}

static void gives_a_socket_that_does_not_listen(int link)
{
	struct nb_record offer;
	const int fd[] = {good_strings(), open("/", O_PATH), 0, 2, link};
	nb_record_init(&offer, NB_SAYS_OFFER, ALL | 1 << NB_OFFERS_LISTENER);
	(void)nb_record_send(link, &offer, fd, 5, 0);
}

static void has_strings_that_may_change(int link)
{
	offer_strings(link, file_of("\1\0\0\0\0\0\0\0x", 10, 0));
}

static void has_strings_in_a_pipe(int link)
{
	int fifo[2];
	if (pipe(fifo))
		_exit(1);
	offer_strings(link, fifo[0]);
	pause(); /* reading it would wait for ever */
}

static void has_no_arguments(int link)
{
	offer_strings(link, STRINGS(0, 1, "x=y"));
}

static void has_an_empty_file(int link)
{
	offer_strings(link, file_of("", 0, 1));
}

static void has_a_cut_head(int link)
{
	offer_strings(link, file_of("\1\0\0\0\0\0\0", 8, 1));
}

static void has_no_last_nul(int link)
{
	offer_strings(link, file_of("\1\0\0\0\0\0\0\0xyz", 11, 1));
}

static void counts_too_many_arguments(int link)
{
	offer_strings(link, STRINGS(3, 0, "x\0y"));
}

static void counts_too_few_arguments(int link)
{
	offer_strings(link, STRINGS(1, 0, "x\0y"));
}

static void counts_beyond_32_bits(int link)
{
	offer_strings(link, STRINGS(0xffffffff, 3, "x\0y"));
}

static void counts_variables_for_gigabytes(int link)
{
	offer_strings(link, STRINGS(1, 0xfffffff0, "x\0y"));
}

/* A writer that behaves so: the reader says that phrase and has lost nothing; NULL: the offer is good. */
static void peer(void (*behaves)(int link), const char *phrase, double most)
{
	struct scene s = scene_begin();
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	const pid_t pid = person();
	if (pid == 0) {
		behaves(connection(s.fifo[1]));
		pause();
	}
	const double start = nb_now();
	const int answer = accept_from(s.listener, s.fifo[0], &h, why);
	CHECK(nb_now() - start < most);
	CHECK(answer == (phrase == NULL));
	if (strcmp(why, phrase ? phrase : "") != 0)
		fprintf(stderr, "want '%s', got '%s'\n", phrase, why);
	CHECK(strcmp(why, phrase ? phrase : "") == 0);
	if (answer == 1)
		nb_meet_refuse(&h, "");
	kill(pid, SIGKILL);
	CHECK(dies_of(pid, SIGKILL));
	scene_end(&s);
}

static void peers_that_lie(void)
{
	static void (*const bad[])(int) = {says_something_else, lends_the_connection, announces_more, announces_less,
		announces_nothing, has_no_directory, gives_a_socket_that_does_not_listen, has_strings_that_may_change,
		has_strings_in_a_pipe, has_no_arguments, has_an_empty_file, has_a_cut_head, has_no_last_nul,
		counts_too_many_arguments, counts_too_few_arguments, counts_beyond_32_bits,
		counts_variables_for_gigabytes};
	IN_ONE_OF(10, peer(is_good, NULL, 0.5));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		IN_ONE_OF(10, peer(bad[i], "an offer that is not understood", 0.5));
	IN_ONE_OF(10, peer(sends_less, "another build, or too many open files", 0.5));
	IN_ONE_OF(10, peer(sends_more, "another build, or too many open files", 0.5));
	IN_ONE_OF(10, peer(sends_many_descriptors, "another build, or too many open files", 0.5));
	IN_ONE_OF(10, peer(is_of_another_build, "another build, or too many open files", 0.5));
	IN_ONE_OF(10, peer(leaves, "it makes no offer", 0.5));
	IN_ONE_OF(10, peer(says_nothing, "it makes no offer", 1.5));
}

/* ---- somebody else ------------------------------------------------------------------------------ */

/* A copy of this program, which is another program, with the role as its argument and the ends of the FIFO. */
static pid_t stranger(const char *role, int in, int out)
{
	char copy[] = "/tmp/nb-fold-XXXXXX", end[16], name[32];
	char buffer[1 << 16];
	const int to = mkstemp(copy), from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	for (ssize_t n; (n = read(from, buffer, sizeof buffer)) > 0;)
		CHECK(write(to, buffer, (size_t)n) == n);
	fchmod(to, 0700);
	close(to);
	close(from);
	snprintf(end, sizeof end, "%d", out);
	snprintf(name, sizeof name, "%s", role);
	const pid_t pid = person();
	if (pid == 0) {
		if (in >= 0)
			dup2(in, STDIN_FILENO);
		if (out >= 0)
			dup2(out, STDOUT_FILENO);
		execl(copy, copy, name, NULL);
		_exit(1);
	}
	if (strcmp(role, "reads") == 0) { /* it stops when it listens */
		int status;
		CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
		kill(pid, SIGCONT);
	} else {
		usleep(50000); /* until it has begun */
	}
	unlink(copy);
	return pid;
}

static int stranger_main(const char *role)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(TOO_LONG);
	if (strcmp(role, "writes") == 0)
		connection(STDOUT_FILENO);
	else if (nb_meet_listen(STDIN_FILENO) < 0 || raise(SIGSTOP))
		return 1;
	pause();
	return 1;
}

static void a_stranger_has_the_name(void)
{
	int fifo[2];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const pid_t pid = stranger("reads", fifo[0], -1);
	CHECK(nb_meet_listen(fifo[0]) == -1);
	const pid_t writer = writer_of(fifo, NULL);
	CHECK(exits_with(writer, PLAIN));
	CHECK(strcmp(experience->why, "the reader is another program, or a copy or another build of this one") == 0);
	kill(pid, SIGKILL);
	CHECK(dies_of(pid, SIGKILL));
	close(fifo[0]);
}

static void a_stranger_writes(void)
{
	struct scene s = scene_begin();
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	const pid_t pid = stranger("writes", -1, s.fifo[1]);
	CHECK(accept_from(s.listener, s.fifo[0], &h, why) == 0);
	CHECK(strcmp(why, "another program") == 0);
	kill(pid, SIGKILL);
	CHECK(dies_of(pid, SIGKILL));
	scene_end(&s);
}

/* The program is right, but it neither reads nor writes. */
static void one_who_does_not_write(void)
{
	struct scene s = scene_begin();
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	const pid_t pid = person();
	if (pid == 0) {
		close(s.fifo[1]);
		const int link = connection(s.fifo[0]);
		is_good(link);
		pause();
	}
	CHECK(accept_from(s.listener, s.fifo[0], &h, why) == 0);
	CHECK(strcmp(why, "it does not write this pipe") == 0);
	kill(pid, SIGKILL);
	CHECK(dies_of(pid, SIGKILL));
	scene_end(&s);
}

static void one_who_does_not_read(void)
{
	static char cat[] = "cat", *argv[] = {cat, NULL};
	int fifo[2], ready[2];
	char byte;
	CHECK(pipe2(fifo, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0);
	const pid_t liar = person();
	if (liar == 0) {
		const int own = nb_meet_listen(fifo[0]);
		close(fifo[0]);
		close(fifo[1]);
		if (own < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	const pid_t reader = person();
	if (reader == 0) {
		dup2(fifo[0], STDIN_FILENO);
		execv("/bin/cat", argv);
		_exit(1);
	}
	close(fifo[0]);
	usleep(20000);
	const pid_t writer = writer_of(fifo, NULL);
	CHECK(exits_with(writer, PLAIN));
	CHECK(strcmp(experience->why, "another program has the name of the socket") == 0);
	kill(liar, SIGKILL);
	CHECK(dies_of(liar, SIGKILL));
	CHECK(exits_with(reader, 0));
	close(ready[0]);
	close(ready[1]);
}

/* ---- deaths ------------------------------------------------------------------------------------- */

static void the_writer_dies_before_it_is_accepted(void)
{
	struct scene s = scene_begin();
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	const pid_t writer = writer_of(s.fifo, NULL);
	CHECK(is_pending(s.listener));
	kill(writer, SIGKILL);
	CHECK(dies_of(writer, SIGKILL));
	CHECK(accept_from(s.listener, s.fifo[0], &h, why) == 0);
	s.before--;
	scene_end(&s);
}

static void the_writer_dies_before_it_is_taken(void)
{
	struct scene s = scene_begin();
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	const pid_t writer = writer_of(s.fifo, NULL);
	CHECK(accept_from(s.listener, s.fifo[0], &h, why) == 1);
	kill(writer, SIGKILL);
	CHECK(dies_of(writer, SIGKILL));
	CHECK(nb_meet_take(&h) == -1);
	s.before--;
	scene_end(&s);
}

static void the_writer_dies_while_it_waits(int signal)
{
	struct scene s = scene_begin();
	struct nb_handover h;
	char why[NB_WHY_SIZE];
	const pid_t writer = writer_of(s.fifo, NULL);
	CHECK(accept_from(s.listener, s.fifo[0], &h, why) == 1);
	CHECK(nb_meet_take(&h) == 0);
	struct pollfd link = {h.link, POLLIN, 0};
	CHECK(poll(&link, 1, 20) == 0);
	kill(writer, signal);
	CHECK(dies_of(writer, signal));
	CHECK(poll(&link, 1, 60000) == 1 && link.revents & POLLHUP);
	nb_meet_tell(&h, 1, 0);
	nb_meet_clear(&h);
	s.before--;
	scene_end(&s);
}

/* The host is a process of its own here.  taken: it dies after it has accepted the work. */
static pid_t the_host_dies(int taken)
{
	int fifo[2], ready[2];
	char byte;
	CHECK(pipe2(fifo, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0);
	const pid_t host = person();
	if (host == 0) {
		struct nb_handover h;
		char why[NB_WHY_SIZE];
		close(fifo[1]);
		const int listener = nb_meet_listen(fifo[0]);
		if (accept_from(listener, fifo[0], &h, why) != 1 || (taken && nb_meet_take(&h)))
			_exit(1);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(fifo[0]);
	const pid_t writer = writer_of(fifo, NULL);
	CHECK(read(ready[0], &byte, 1) == 1);
	usleep(20000); /* the writer waits */
	kill(host, SIGKILL);
	CHECK(dies_of(host, SIGKILL));
	close(ready[0]);
	close(ready[1]);
	return writer;
}

static void the_reader_dies_before_it_looks(void)
{
	int fifo[2];
	CHECK(pipe2(fifo, O_CLOEXEC) == 0);
	const int listener = nb_meet_listen(fifo[0]);
	const pid_t writer = writer_of(fifo, NULL);
	CHECK(is_pending(listener));
	close(listener);
	CHECK(exits_with(writer, PLAIN));
	CHECK(strcmp(experience->why, "the reader does not answer") == 0);
	close(fifo[0]);
}

/* A host that may open no more files still answers. */
static void without_descriptors(int left, const char *phrase)
{
	struct scene s = scene_begin();
	struct nb_handover h;
	struct rlimit old, few;
	char why[NB_WHY_SIZE];
	int first, last = -1, fd;
	const pid_t writer = writer_of(s.fifo, NULL);
	CHECK(is_pending(s.listener));
	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &few);
	first = dup(0);
	while ((fd = dup(0)) >= 0)
		last = fd;
	for (int i = 0; i < left; i++)
		close(last - i);
	const int answer = accept_from(s.listener, s.fifo[0], &h, why);
	setrlimit(RLIMIT_NOFILE, &old);
	for (fd = first; fd <= last; fd++)
		close(fd);
	CHECK(answer < 1);
	CHECK(exits_with(writer, PLAIN));
	if (strcmp(experience->why, phrase) != 0)
		fprintf(stderr, "%d descriptors left: want '%s', got '%s'\n", left, phrase, experience->why);
	CHECK(strcmp(experience->why, phrase) == 0);
	close(s.fifo[0]);
	close(s.listener);
}

int main(int argc, char **argv)
{
	meet_people();
	if (argc > 1)
		return stranger_main(argv[1]);
	peers_that_lie();
	IN_ONE_OF(10, a_stranger_has_the_name());
	IN_ONE_OF(10, a_stranger_writes());
	IN_ONE_OF(10, one_who_does_not_write());
	IN_ONE_OF(10, one_who_does_not_read());
	IN_ONE_OF(10, the_writer_dies_before_it_is_accepted());
	IN_ONE_OF(10, the_writer_dies_before_it_is_taken());
	IN_ONE_OF(10, the_writer_dies_while_it_waits(SIGKILL));
	IN_ONE_OF(10, the_writer_dies_while_it_waits(SIGTERM));
	IN_ONE_OF(10, the_writer_dies_while_it_waits(SIGINT));
	IN_ONE_OF(10, the_writer_dies_while_it_waits(SIGPIPE));
	IN_ONE_OF(10, CHECK(exits_with(the_host_dies(0), PLAIN)));
	IN_ONE_OF(10, CHECK(dies_of(the_host_dies(1), SIGPIPE)));
	IN_ONE_OF(10, the_reader_dies_before_it_looks());
	IN_ONE_OF(10, without_descriptors(0, "too many open files"));
	IN_ONE_OF(10, without_descriptors(4, "another build, or too many open files"));
	signal(SIGPIPE, SIG_IGN);
	IN_ONE_OF(10, CHECK(exits_with(the_host_dies(1), BROKEN)));
	CHECK(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
	return unit_end();
}
