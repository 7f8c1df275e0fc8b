/* The co-process: frames pass through a command, and a command that fails is found out.
 *
 * Without arguments this is the unit test.  With one it is a filter for the tests of nb-step, which adds the
 * acceleration of a spring, acc = -pos, and, where there is vel, jerk = -vel (so that every trajectory is known), and
 * then misbehaves:
 *   spring      does not                          reverse     turns the order of the bodies round
 *   label       adds a column that depends on id, and fails if one that it gets does not fit
 *   few, many   a body less, a body more          other-id    another id
 *   no-NAME     leaves out that field             same-row, far-row   spoils one row number of nb-step
 *   nan         one acc is a NaN                  hollow      one radius is -1
 *   again       answers with its first answer     twice       answers twice
 *   extra       one frame more at the end
 *   no-end      leaves out the end marker         fail-end    exits with status 5 after it
 *   slow        takes 0.3 s a frame               stop        sets velocities to 0, where it gets them
 *   die N       exits with status 3 instead of answering frame N */
#include "tools/filter/coprocess.h"
#include "common/die.h"
#include "tests/unit/unit.h"
#include "tools/filter/require.h"

#include <poll.h>
#include <unistd.h>

/* ---- the filter --------------------------------------------------------------------------------- */

static void reverse(struct nb_frame *frame)
{
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		char *data = nb_column_update(column, &nb_space_host, NB_WIRE), row[1024];
		const size_t size = column->rowsize;
		for (size_t i = 0, j = column->rows; data && i + 1 < j; i++) {
			j--;
			memcpy(row, data + i * size, size);
			memcpy(data + i * size, data + j * size, size);
			memcpy(data + j * size, row, size);
		}
	}
}

/* The same frame with other numbers of bodies: the first ones, or the last one doubled. */
static void resize(struct nb_frame *frame, size_t n)
{
	struct nb_frame other;
	nb_frame_init(&other);
	if (nb_frame_copy(&other, frame))
		nb_die(1, "out of memory");
	frame->rows[NB_PARTICLE] = n;
	for (size_t c = 0; c < other.ncolumn; c++) {
		const struct nb_column *from = &other.column[c];
		struct nb_column *to = nb_frame_add(
			frame, from->name, from->table, from->dtype, from->ncomp, from->unit, from->flags);
		char *data = nb_column_write(to, &nb_space_host, NB_WIRE);
		const char *old = from->copy[0].data;
		for (size_t i = 0; i < n; i++)
			memcpy(data + i * from->rowsize, old + (i < from->rows ? i : from->rows - 1) * from->rowsize,
				from->rowsize);
	}
	nb_frame_clear(&other);
}

static void label(struct nb_frame *frame)
{
	struct nb_column *old = nb_frame_find(frame, "label");
	const uint32_t *seen = old ? nb_column_read(old, &nb_space_host, NB_WIRE) : NULL;
	const uint64_t *id = nb_column_read(nb_frame_field(frame, NB_ID), &nb_space_host, NB_WIRE);
	const size_t n = frame->rows[NB_PARTICLE];
	for (size_t i = 0; seen && i < n; i++)
		if (seen[i] != (uint32_t)(7 * id[i] + 1))
			nb_die(1, "label %u does not belong to id %llu", seen[i], (unsigned long long)id[i]);
	if (old)
		return;
	uint32_t *made = nb_column_write(
		nb_frame_add(frame, "label", NB_PARTICLE, "<u4", 1, "", 0), &nb_space_host, NB_WIRE);
	id = nb_column_read(nb_frame_field(frame, NB_ID), &nb_space_host, NB_WIRE);
	for (size_t i = 0; i < n; i++)
		made[i] = (uint32_t)(7 * id[i] + 1);
}

static void spring(struct nb_frame *frame)
{
	const size_t count = 3 * frame->rows[NB_PARTICLE];
	nb_require_new_f64(frame, NB_ACC, NULL, &nb_space_host);
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host, 0);
	double *acc = nb_column_write(nb_frame_field(frame, NB_ACC), &nb_space_host, NB_AS_F64);
	for (size_t i = 0; i < count; i++)
		acc[i] = -pos[i];
	if (nb_frame_field(frame, NB_VEL)) {
		nb_require_new_f64(frame, NB_JERK, NULL, &nb_space_host);
		const double *vel = nb_require_f64(frame, NB_VEL, &nb_space_host, 0);
		double *jerk = nb_column_write(nb_frame_field(frame, NB_JERK), &nb_space_host, NB_AS_F64);
		for (size_t i = 0; i < count; i++)
			jerk[i] = -vel[i];
	}
	nb_require_attribute_set_f64(frame, "softening", 0.25);
	if (nb_frame_add_attribute(frame, "history", "spring"))
		nb_die(1, "out of memory");
}

static int filter(const char *mode, const char *argument)
{
	struct nb_reader in;
	struct nb_writer out;
	struct nb_frame frame, first;
	nb_program_init("filter");
	nb_require_input(&in);
	nb_require_output(&out);
	nb_frame_init(&frame);
	nb_frame_init(&first);
	while (nb_require_frame(&in, &frame)) {
		const size_t n = frame.rows[NB_PARTICLE];
		if (strcmp(mode, "die") == 0 && in.nframe - 1 == strtoull(argument, NULL, 10))
			_exit(3);
		if (strcmp(mode, "slow") == 0)
			usleep(300000);
		spring(&frame);
		if (strcmp(mode, "stop") == 0 && nb_frame_field(&frame, NB_VEL))
			memset(nb_column_write(nb_frame_field(&frame, NB_VEL), &nb_space_host, NB_WIRE), 0, n * 24);
		else if (strcmp(mode, "reverse") == 0)
			reverse(&frame);
		else if (strcmp(mode, "label") == 0)
			label(&frame);
		else if (strcmp(mode, "few") == 0)
			resize(&frame, n - 1);
		else if (strcmp(mode, "many") == 0)
			resize(&frame, n + 1);
		else if (strcmp(mode, "other-id") == 0)
			((uint64_t *)nb_column_update(
				nb_frame_field(&frame, NB_ID), &nb_space_host, NB_WIRE))[n / 2] += 1000000;
		else if (strcmp(mode, "same-row") == 0 || strcmp(mode, "far-row") == 0)
			((uint32_t *)nb_column_update(nb_frame_find(&frame, "nb_step_row"), &nb_space_host,
				NB_WIRE))[n / 2] = mode[0] == 's' ? 0 : UINT32_MAX;
		else if (strncmp(mode, "no-", 3) == 0 && strcmp(mode, "no-end") != 0)
			nb_frame_drop(&frame, mode + 3);
		else if (strcmp(mode, "nan") == 0)
			((double *)nb_column_update(
				nb_frame_field(&frame, NB_ACC), &nb_space_host, NB_WIRE))[3 * (n / 2)] = NAN;
		else if (strcmp(mode, "hollow") == 0)
			((double *)nb_column_update(
				nb_frame_field(&frame, NB_RADIUS), &nb_space_host, NB_WIRE))[n / 2] = -1;
		if (strcmp(mode, "again") == 0 && first.ncolumn == 0 && nb_frame_copy(&first, &frame))
			nb_die(1, "out of memory");
		nb_require_written(&out, strcmp(mode, "again") == 0 ? &first : &frame);
		if (strcmp(mode, "twice") == 0)
			nb_require_written(&out, &frame);
	}
	if (strcmp(mode, "extra") == 0)
		nb_require_written(&out, &frame);
	if (strcmp(mode, "no-end") == 0)
		nb_writer_abandon(&out);
	else
		nb_require_closed(&out);
	nb_frame_clear(&frame);
	nb_frame_clear(&first);
	nb_reader_close(&in);
	return strcmp(mode, "fail-end") == 0 ? 5 : 0;
}

/* ---- the unit test ------------------------------------------------------------------------------ */

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
	CHECK(nb_coprocess_start(&co, command) == 0);
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
	CHECK(nb_coprocess_start(&co, command) == 0);
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
	CHECK(nb_coprocess_start(&co, "trap '' TERM; sleep 100 | sleep 100") == 0);
	close(held[1]);
	CHECK(nb_coprocess_answers(&co, 0.05) == 0);
	CHECK(poll(&end, 1, 0) == 0);
	nb_coprocess_kill(&co);
	CHECK(co.group == 0);
	CHECK(poll(&end, 1, 1000) == 1 && end.revents == POLLHUP);
	close(held[0]);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return filter(argv[1], argc > 2 ? argv[2] : "0");
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
