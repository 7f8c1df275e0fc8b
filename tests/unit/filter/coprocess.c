/* The co-process: frames pass through a command, and a command that fails is found out. */
#include "tools/filter/coprocess.h"

#include "tests/unit/unit.h"

#include <poll.h>
#include <unistd.h>

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
		CHECK(nb_coprocess_answers(&co, 60) == 1);
		CHECK(nb_coprocess_receive(&co, &got) == 0);
		CHECK(same_frame(&got, sizes[i]));
		nb_frame_clear(&got);
	}
	CHECK(nb_coprocess_finish(&co) == 0);
	CHECK(co.group == 0);
}

/* The command fails to answer a large frame in the way that the error tells. */
static void fails(const char *command, const char *error)
{
	struct nb_coprocess co;
	struct nb_frame sent, got;
	make_frame(&sent, 1000000);
	nb_frame_init(&got);
	CHECK(nb_coprocess_start(&co, command, environ, 2) == 0);
	CHECK(nb_coprocess_send(&co, &sent) == 0);
	CHECK(nb_coprocess_receive(&co, &got) == -1);
	if (!strstr(co.error, error))
		fprintf(stderr, "'%s' %s, want %s\n", command, co.error, error);
	CHECK(strstr(co.error, error) != NULL);
	nb_coprocess_kill(&co);
	CHECK(co.group == 0 && !co.writing);
	nb_frame_clear(&got);
}

/* All processes of a command end, even if they refuse: the pipe that they all hold is seen to close. */
static void dies_when_told(void)
{
	struct nb_coprocess co;
	int held[2];
	struct pollfd end = {-1, POLLIN, 0};
	CHECK(pipe(held) == 0);
	end.fd = held[0];
	CHECK(nb_coprocess_start(&co, "trap '' TERM; sleep 100 | sleep 100", environ, 2) == 0);
	close(held[1]);
	CHECK(nb_coprocess_answers(&co, 0.05) == 0);
	CHECK(poll(&end, 1, 0) == 0);
	nb_coprocess_kill(&co);
	CHECK(co.group == 0);
	CHECK(poll(&end, 1, 1000) == 1 && end.revents == POLLHUP);
	close(held[0]);
}

int main(void)
{
	passes("cat");
	passes("cat | cat | cat");
	passes("exec dd bs=16M status=none");
	fails("exit 3", "ended with status 3");
	fails("true", "ended with status 0 before it answered");
	fails("kill -9 $$", "was ended by signal 9");
	fails("echo garbage", "not a particle stream");
	fails("head -c 4000", "truncated stream");
	fails("cat >/dev/null & exec >&-; sleep 100", "closed its output before it answered");
	fails("exec <&-; sleep 100", "stopped reading its input");
	dies_when_told();
	return unit_end();
}
