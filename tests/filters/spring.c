/* A misbehaving filter for the tests of nb-step.  It adds the acceleration of a spring, acc = -pos, and, where there is
 * vel, jerk = -vel (so that every trajectory is known), and then:
 *   spring      does no harm                      reverse     turns the order of the bodies round
 *   label       adds a column that depends on id, and fails if one that it gets does not fit
 *   few, many   a body less, a body more          other-id    another id
 *   no-NAME     leaves out that field             same-row, far-row   spoils one row number of nb-step
 *   nan         one acc is a NaN                  hollow      one radius is -1
 *   again       answers with its first answer     twice       answers twice
 *   extra       one frame more at the end
 *   no-end      leaves out the end marker         fail-end    exits with status 5 after it
 *   slow        takes 0.3 s a frame               stop        sets velocities to 0, where it gets them
 *   die N       exits with status 3 instead of answering frame N */
#include "tests/filters/spring.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

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

/* What a mode does to the frame, beside the spring. */
static void spoil(const char *mode, struct nb_frame *frame)
{
	const size_t n = frame->rows[NB_PARTICLE];
	if (strcmp(mode, "stop") == 0 && nb_frame_field(frame, NB_VEL))
		memset(update(nb_frame_field(frame, NB_VEL)), 0, n * 24);
	else if (strcmp(mode, "reverse") == 0)
		reverse(frame);
	else if (strcmp(mode, "label") == 0)
		label(frame);
	else if (strcmp(mode, "few") == 0)
		resize(frame, n - 1);
	else if (strcmp(mode, "many") == 0)
		resize(frame, n + 1);
	else if (strcmp(mode, "other-id") == 0)
		((uint64_t *)update(nb_frame_field(frame, NB_ID)))[n / 2] += 1000000;
	else if (strcmp(mode, "same-row") == 0 || strcmp(mode, "far-row") == 0)
		((uint32_t *)update(nb_frame_find(frame, "nb_step_row")))[n / 2] = mode[0] == 's' ? 0 : UINT32_MAX;
	else if (strncmp(mode, "no-", 3) == 0 && strcmp(mode, "no-end") != 0)
		nb_frame_drop(frame, mode + 3);
	else if (strcmp(mode, "nan") == 0)
		((double *)update(nb_frame_field(frame, NB_ACC)))[3 * (n / 2)] = NAN;
	else if (strcmp(mode, "hollow") == 0)
		((double *)update(nb_frame_field(frame, NB_RADIUS)))[n / 2] = -1;
}

static void write_frame(struct nb_writer *out, const struct nb_frame *frame)
{
	if (nb_writer_next(out, frame) || nb_writer_flush(out))
		nb_die(1, "%s", out->error);
}

int main(int argc, char **argv)
{
	struct nb_voice voice = {"filter", 0, STDERR_FILENO, NULL, NULL, NULL};
	const char *mode = argc > 1 ? argv[1] : "spring";
	struct nb_reader in;
	struct nb_writer out;
	struct nb_frame frame, first;
	enum nb_answer answer;
	nb_speak_as(&voice);
	if (nb_reader_open(&in, STDIN_FILENO) || nb_writer_open(&out, STDOUT_FILENO))
		nb_die(1, "out of memory");
	nb_frame_init(&frame);
	nb_frame_init(&first);
	while (nb_wait_for_input(&in), (answer = nb_reader_next(&in, &frame)) == NB_FRAME) {
		if (strcmp(mode, "die") == 0 && frame.number == strtoull(argc > 2 ? argv[2] : "0", NULL, 10))
			_exit(3);
		if (strcmp(mode, "slow") == 0)
			usleep(300000);
		spring(&frame);
		spoil(mode, &frame);
		if (strcmp(mode, "again") == 0 && first.ncolumn == 0 && nb_frame_share(&first, &frame))
			nb_die(1, "out of memory");
		write_frame(&out, strcmp(mode, "again") == 0 ? &first : &frame);
		if (strcmp(mode, "twice") == 0)
			write_frame(&out, &frame);
	}
	if (answer == NB_ERROR)
		nb_die(1, "%s", in.error);
	if (strcmp(mode, "extra") == 0)
		write_frame(&out, &frame);
	if (strcmp(mode, "no-end") == 0)
		nb_writer_abandon(&out);
	else if (nb_writer_close(&out))
		nb_die(1, "%s", out.error);
	nb_frame_clear(&frame);
	nb_frame_clear(&first);
	nb_reader_close(&in);
	return strcmp(mode, "fail-end") == 0 ? 5 : 0;
}
