#include "tools/filter/require.h"

#include "common/die.h"
#include "common/parse.h"
#include "tools/filter/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { LIST_SIZE = 400 };

static _Noreturn void no_memory(uint64_t nframe)
{
	nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, nframe);
}

void nb_require_input(struct nb_reader *reader)
{
	if (isatty(STDIN_FILENO))
		nb_die(NB_EXIT_USAGE,
			"standard input is a terminal (want a particle stream, e.g. 'nb-gen plummer -n 1000 | %s')",
			nb_program());
	if (nb_reader_open(reader, STDIN_FILENO))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

/* Waits for input.  A reader of stdout that goes away meanwhile ends the tool, as a write would: in a pipeline
 * that is kept waiting for more, the programs before one that failed must not stay for ever. */
static void wait_for_input(const struct nb_reader *reader)
{
	struct pollfd p[2] = {{reader->fd, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
	if (reader->map)
		return;
	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (p[0].revents == 0 && (p[1].revents & (POLLERR | POLLHUP))) {
		raise(SIGPIPE);
		nb_die(NB_EXIT_FAILED, "write error: %s", strerror(EPIPE)); /* where the signal is ignored */
	}
}

int nb_require_frame(struct nb_reader *reader, struct nb_frame *frame)
{
	wait_for_input(reader);
	enum nb_answer answer = nb_reader_next(reader, frame);
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", reader->error);
	return answer == NB_FRAME;
}

int nb_require_head(struct nb_reader *reader, struct nb_frame *frame)
{
	wait_for_input(reader);
	enum nb_answer answer = nb_reader_head(reader, frame);
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", reader->error);
	return answer == NB_FRAME;
}

void nb_require_columns(struct nb_reader *reader, struct nb_frame *frame, size_t count)
{
	if (nb_reader_columns(reader, frame, count) == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", reader->error);
}

void nb_require_output(struct nb_writer *writer)
{
	if (isatty(STDOUT_FILENO))
		nb_die(NB_EXIT_USAGE, "standard output is a terminal and the stream is binary (redirect it, or pipe it "
				      "into nb-stats)");
	if (nb_writer_open(writer, STDOUT_FILENO))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

void nb_require_written(struct nb_writer *writer, const struct nb_frame *frame)
{
	if (nb_writer_next(writer, frame) || nb_writer_flush(writer))
		nb_die(NB_EXIT_FAILED, "%s", writer->error);
}

void nb_require_closed(struct nb_writer *writer)
{
	if (nb_writer_close(writer))
		nb_die(NB_EXIT_FAILED, "%s", writer->error);
}

struct nb_column *nb_require_field(const struct nb_frame *frame, enum nb_field field, uint64_t nframe)
{
	struct nb_column *column = nb_frame_field(frame, field);
	char list[LIST_SIZE];
	if (!column && field == NB_VEL && nb_frame_find(frame, "nb_step_row"))
		nb_die(NB_EXIT_FAILED,
			"field 'vel' missing in frame %" PRIu64 " (nb-step keeps it unless --send-velocities is given)",
			nframe);
	if (!column)
		nb_die(NB_EXIT_FAILED, "field '%s' missing in frame %" PRIu64 " (stream has: %s)",
			nb_field_info[field].name, nframe, nb_frame_list(frame, list, sizeof list));
	return column;
}

const double *nb_require_f64(
	const struct nb_frame *frame, enum nb_field field, const struct nb_space *space, uint64_t nframe)
{
	const double *data = nb_column_read(nb_require_field(frame, field, nframe), space, NB_AS_F64);
	if (!data)
		no_memory(nframe);
	return data;
}

double *nb_require_new_f64(struct nb_frame *frame, enum nb_field field, const char *dtype, const struct nb_space *space)
{
	struct nb_column *column = nb_frame_add_field(frame, field, dtype, 0);
	double *data = column ? nb_column_write(column, space, NB_AS_F64) : NULL;
	if (!data)
		nb_die(NB_EXIT_FAILED, "out of memory for field '%s'", nb_field_info[field].name);
	return data;
}

uint64_t nb_require_body_id(const struct nb_frame *frame, size_t i)
{
	struct nb_column *id = nb_frame_field(frame, NB_ID);
	const double *value = NULL;
	const uint64_t *exact = NULL;
	if (id && strcmp(id->dtype, "<u8") == 0)
		exact = nb_column_read(id, &nb_space_host, NB_WIRE);
	else if (id)
		value = nb_column_read(id, &nb_space_host, NB_AS_F64);
	return exact ? exact[i] : value ? (uint64_t)value[i] : i;
}

static void require_not_negative(const struct nb_frame *frame, struct nb_column *column, uint64_t nframe)
{
	const double *x = nb_column_read(column, &nb_space_host, NB_AS_F64);
	if (!x)
		no_memory(nframe);
	for (size_t i = 0; i < column->rows; i++)
		if (x[i] < 0)
			nb_die(NB_EXIT_FAILED,
				"field '%s' of the body with id %" PRIu64 " is %g in frame %" PRIu64
				" (want a number >= 0)",
				column->name, nb_require_body_id(frame, i), x[i], nframe);
}

void nb_require_finite_column(const struct nb_frame *frame, struct nb_column *column, uint64_t nframe)
{
	if (!column)
		return;
	size_t bad = nb_column_first_nonfinite(column);
	if (bad == SIZE_MAX)
		no_memory(nframe);
	if (bad < column->rows)
		nb_die(NB_EXIT_FAILED, "field '%s' of the body with id %" PRIu64 " is not finite in frame %" PRIu64,
			column->name, nb_require_body_id(frame, bad), nframe);
}

void nb_require_finite(const struct nb_frame *frame, uint64_t nframe)
{
	static const enum nb_field checked[] = {NB_POS, NB_VEL, NB_MASS, NB_RADIUS};
	for (size_t k = 0; k < sizeof checked / sizeof *checked; k++) {
		struct nb_column *column = nb_frame_field(frame, checked[k]);
		if (!column)
			continue;
		nb_require_finite_column(frame, column, nframe);
		if (checked[k] == NB_MASS || checked[k] == NB_RADIUS)
			require_not_negative(frame, column, nframe);
	}
}

double nb_require_attribute(const struct nb_frame *frame, const char *key, double fallback, uint64_t nframe)
{
	double value;
	if (nb_frame_attribute_f64(frame, key, fallback, &value))
		nb_die(NB_EXIT_FAILED, "attribute %s='%s' of frame %" PRIu64 " is not a number", key,
			nb_frame_attribute(frame, key), nframe);
	return value;
}

int nb_require_dim(const struct nb_frame *frame, uint64_t nframe)
{
	double dim = nb_require_attribute(frame, "dim", 3, nframe);
	if (dim != 2 && dim != 3)
		nb_die(NB_EXIT_FAILED, "attribute dim='%s' of frame %" PRIu64 " (want 2 or 3)",
			nb_frame_attribute(frame, "dim"), nframe);
	return (int)dim;
}

void nb_require_key_cube(const struct nb_frame *frame, uint64_t nframe, double cube[4])
{
	const char *text = nb_frame_attribute(frame, "key_cube");
	size_t count;
	if (!text)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " is not sorted (put 'nb-sort-zorder' before)", nframe);
	if (nb_parse_f64_list(text, 4, cube, &count) != NB_PARSE_OK || count != 4 || !(cube[3] > 0))
		nb_die(NB_EXIT_FAILED, "attribute key_cube='%s' of frame %" PRIu64 " (want x,y,z,edge)", text, nframe);
}

void nb_require_attribute_set(struct nb_frame *frame, const char *key, const char *value)
{
	if (nb_frame_set_attribute(frame, key, value))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

void nb_require_attribute_set_f64(struct nb_frame *frame, const char *key, double value)
{
	if (nb_frame_set_attribute_f64(frame, key, value))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

void nb_require_history(struct nb_frame *frame)
{
	if (!nb_common.no_history && nb_frame_add_attribute(frame, "history", nb_options_history()))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

const char *nb_real_dtype(const struct nb_frame *frame)
{
	const struct nb_column *pos = nb_frame_field(frame, NB_POS);
	return pos && strcmp(pos->dtype, "<f4") == 0 ? "<f4" : "<f8";
}
