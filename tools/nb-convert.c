/* nb-convert - particle streams from and to other formats. */
#include "common/die.h"
#include "formats/exchange/exchange.h"
#include "kernels/measure/measure.h"
#include "kernels/order/order.h"
#include "tools/filter/options.h"
#include "tools/filter/require.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define FORMATS "princeton|csv"
enum { PRINCETON, CSV };

static int from, to, from_given, to_given, G_given, frame_given;
static double G = 1;
static uint64_t chosen;

static const struct nb_option options[] = {
	{0, "frame", NB_OPT_U64, &chosen, 0, 1e18, "K", "all", "export frame K alone, counted from 0", 0, &frame_given},
	{0, "from", NB_OPT_CHOICE, &from, 0, 0, FORMATS, NULL, "read this format, write a stream", 0, &from_given},
	{0, "G", NB_OPT_F64, &G, 0, 1e300, "G", "1, princeton: 6.67e-11", "gravitational constant of what is imported",
		0, &G_given},
	{0, "to", NB_OPT_CHOICE, &to, 0, 0, FORMATS, NULL, "read a stream, write this format", 0, &to_given},
};

static const struct nb_command command = {
	.about = "convert particle streams from and to other formats",
	.operands = "[FILE]",
	.max_operands = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_HISTORY | NB_COMMON_THREADS,
	.footer = "FILE is read with --from and written with --to; standard input and output without it.\n",
};

/* ---- import ------------------------------------------------------------------------------------- */

/* Two bodies with one id would be confused by whoever compares or collides them. */
static void require_unique_ids(const struct nb_frame *frame, uint64_t nframe, const char *name)
{
	const size_t n = frame->rows[NB_PARTICLE];
	const uint64_t *id = nb_column_read(nb_frame_field(frame, NB_ID), &nb_space_host, NB_WIRE);
	size_t first, second;
	int status = id ? nb_ids_unique(n, id, &first, &second) : NB_ENOMEM;
	if (status)
		nb_die(NB_EXIT_FAILED, "%s in frame %" PRIu64, nb_status_text(status), nframe);
	if (first < n)
		nb_die(NB_EXIT_FAILED, "%s: id %" PRIu64 " appears twice in frame %" PRIu64 " (bodies %zu and %zu)",
			name, id[first], nframe, first, second);
}

static void send(struct nb_writer *writer, struct nb_frame *frame)
{
	if (G_given || !nb_frame_attribute(frame, "G"))
		nb_require_attribute_set_f64(frame, "G", G);
	nb_require_history(frame);
	nb_verbose("frame %" PRIu64 ": %" PRIu64 " bodies", writer->nframe, frame->rows[NB_PARTICLE]);
	nb_require_written(writer, frame);
}

static void import_csv(struct nb_lines *lines, struct nb_writer *writer)
{
	struct nb_csv_reader reader;
	struct nb_frame frame;
	nb_frame_init(&frame);
	if (nb_csv_open(&reader, lines))
		nb_die(NB_EXIT_FAILED, "%s", lines->error);
	enum nb_answer answer;
	while ((answer = nb_csv_next(&reader, &frame)) == NB_FRAME) {
		require_unique_ids(&frame, writer->nframe, lines->name);
		send(writer, &frame);
	}
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", lines->error);
	nb_csv_close(&reader);
	nb_frame_clear(&frame);
}

static void import_princeton(struct nb_lines *lines, struct nb_writer *writer)
{
	struct nb_frame frame;
	nb_frame_init(&frame);
	if (nb_princeton_read(lines, &frame))
		nb_die(NB_EXIT_FAILED, "%s", lines->error);
	send(writer, &frame);
	nb_frame_clear(&frame);
}

static void import(const char *path)
{
	struct nb_writer writer;
	struct nb_lines lines;
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (fd < 0)
		nb_die(NB_EXIT_FAILED, "'%s':", path);
	nb_require_output(&writer);
	if (nb_lines_open(&lines, fd, path ? path : "standard input"))
		nb_die(NB_EXIT_FAILED, "out of memory");
	if (from == CSV)
		import_csv(&lines, &writer);
	else
		import_princeton(&lines, &writer);
	nb_lines_close(&lines);
	nb_require_closed(&writer);
}

/* ---- export ------------------------------------------------------------------------------------- */

struct export
{
	const char *path;
	struct nb_text_out out;
	struct nb_csv_writer csv;
	int several; /* frames */
};

/* ids 0, 1, 2 ... come back by themselves */
static int is_row_number(struct nb_column *id)
{
	const uint64_t *value = strcmp(id->dtype, "<u8") == 0 ? nb_column_read(id, &nb_space_host, NB_WIRE) : NULL;
	for (size_t i = 0; value && i < id->rows; i++)
		if (value[i] != i)
			return 0;
	return value != NULL;
}

static int is_left_out(const struct nb_frame *frame, struct nb_column *column)
{
	if (to == CSV)
		return column->table == NB_PARTICLE && !nb_csv_holds(column);
	if (column->table != NB_PARTICLE || (column->flags & NB_DERIVED) || nb_princeton_holds(frame, column))
		return 0;
	if (column == nb_frame_field(frame, NB_ID))
		return !is_row_number(column);
	if (column == nb_frame_field(frame, NB_SPECIES)) /* the colours tell them */
		return !nb_frame_find(frame, "colour") || nb_frame_find(frame, "name");
	return 1;
}

/* What the text has no place for is not lost silently. */
static void warn_of_losses(const struct nb_frame *frame, uint64_t nframe, int with_time)
{
	static const char *const format[] = {"princeton", "csv"};
	char list[400];
	size_t used = 0;
	for (size_t c = 0; c < frame->ncolumn && used < sizeof list; c++)
		if (is_left_out(frame, &frame->column[c]))
			used += (size_t)snprintf(
				list + used, sizeof list - used, "%s%s", used ? ", " : "", frame->column[c].name);
	if (used)
		nb_warn("%s text has no place for these columns, they are left out: %s", format[to], list);
	double frame_G = nb_require_attribute(frame, "G", 1, nframe),
	       time = nb_require_attribute(frame, "time", 0, nframe);
	if (to == CSV && frame_G != 1)
		nb_warn("csv text has no place for attribute G=%s (give --G when it is read back)",
			nb_frame_attribute(frame, "G"));
	if (to == PRINCETON && frame_G != NB_PRINCETON_G)
		nb_warn("attribute G is %.17g, readers of princeton text take %g", frame_G, NB_PRINCETON_G);
	if (nb_frame_attribute(frame, "pending_kick"))
		nb_warn("%s text has no place for attribute pending_kick=%s: the velocities lag behind the positions",
			format[to], nb_frame_attribute(frame, "pending_kick"));
	if (!with_time && time != 0)
		nb_warn("%s text has no place for attribute time=%s", format[to], nb_frame_attribute(frame, "time"));
}

static _Noreturn void write_failed(const struct export *export)
{
	if (export->path)
		nb_die(NB_EXIT_FAILED, "write error: '%s':", export->path);
	nb_die(NB_EXIT_FAILED, "write error:");
}

static void require_done(const struct export *export, int status, uint64_t nframe, const char *why)
{
	if (status == -1)
		write_failed(export);
	if (status == NB_EINVAL)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 ": %s", nframe, why);
	if (status)
		nb_die(NB_EXIT_FAILED, "%s in frame %" PRIu64, nb_status_text(status), nframe);
}

static void export_frame(struct export *export, const struct nb_frame *frame, uint64_t nframe)
{
	char why[NB_TEXT_ERROR_SIZE] = "";
	const int first = !export->out.buffer;
	nb_require_field(frame, NB_POS, nframe);
	if (first && nb_text_open(&export->out, export->path ? -1 : STDOUT_FILENO, export->path))
		nb_die(NB_EXIT_FAILED, "out of memory");
	if (to == PRINCETON) { /* csv shows what is there, which helps to find where a NaN came from */
		nb_require_finite(frame, nframe);
		nb_require_field(frame, NB_VEL, nframe);
		nb_require_field(frame, NB_MASS, nframe);
		require_done(export, nb_princeton_write(&export->out, frame, why), nframe, why);
	} else {
		if (first)
			require_done(export, nb_csv_begin(&export->csv, &export->out, frame, export->several, why),
				nframe, why);
		require_done(export, nb_csv_write(&export->csv, frame, nframe, why), nframe, why);
		if (export->several && frame->rows[NB_PARTICLE] == 0)
			nb_warn("frame %" PRIu64 " has no bodies and leaves no line", nframe);
	}
	nb_verbose("frame %" PRIu64 ": %" PRIu64 " bodies", nframe, frame->rows[NB_PARTICLE]);
	if (first)
		warn_of_losses(frame, nframe, to == CSV && export->several);
}

/* The header of the next frame. 1, or 0 at the end of the stream. */
static int next_head(struct nb_reader *reader, struct nb_frame *frame)
{
	enum nb_answer answer = nb_reader_head(reader, frame);
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", reader->error);
	return answer == NB_FRAME;
}

/* Reads the rest of the stream, so that a broken one is noticed. Returns the frames in it. */
static uint64_t skip_frames(struct nb_reader *reader, struct nb_frame *frame, int have_head, uint64_t count)
{
	uint64_t skipped = 0;
	while (skipped < count && (have_head || next_head(reader, frame))) {
		have_head = 0;
		if (nb_reader_body(reader, frame, NULL, NULL) == NB_ERROR)
			nb_die(NB_EXIT_FAILED, "%s", reader->error);
		skipped++;
	}
	return skipped;
}

static void export_one(struct export *export, struct nb_reader *reader, struct nb_frame *frame, struct nb_frame *next)
{
	uint64_t k = frame_given ? chosen : 0;
	uint64_t before = skip_frames(reader, next, 0, k);
	if (before < k || !nb_require_frame(reader, frame))
		nb_die(NB_EXIT_FAILED, "the stream has no frame %" PRIu64 " (it has %" PRIu64 ")", k, before);
	if (frame_given)
		skip_frames(reader, next, 0, UINT64_MAX);
	else if (next_head(reader, next))
		nb_die(NB_EXIT_FAILED,
			"the stream has several frames and princeton text holds one (--frame K picks it)");
	export_frame(export, frame, k);
}

/* The contents of columns whose header has been read already. */
struct contents {
	const struct nb_frame *frame;
	char *to[NB_MAX_COLUMNS];
};

static int keep_block(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	const struct contents *contents = context;
	memcpy(contents->to[column - contents->frame->column] + offset, data, bytes);
	return 0;
}

static void require_body(struct nb_reader *reader, struct nb_frame *frame)
{
	struct contents contents = {.frame = frame};
	for (size_t c = 0; c < frame->ncolumn; c++)
		if (!(contents.to[c] = nb_column_write(&frame->column[c], &nb_space_host, NB_WIRE)))
			nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, reader->nframe);
	if (nb_reader_body(reader, frame, keep_block, &contents) == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", reader->error);
}

/* Whether another frame follows the first must be known before the header line is written. */
static void export_all(struct export *export, struct nb_reader *reader, struct nb_frame *frame, struct nb_frame *next)
{
	if (!nb_require_frame(reader, frame))
		nb_die(NB_EXIT_FAILED, "the stream has no frames, and csv text needs one for its header");
	int more = export->several = next_head(reader, next);
	export_frame(export, frame, 0);
	nb_frame_clear(frame);
	for (uint64_t nframe = 1; more; nframe++) {
		require_body(reader, next);
		export_frame(export, next, nframe);
		more = next_head(reader, next);
	}
}

static void export_stream(const char *path)
{
	struct export export = {.path = path};
	struct nb_reader reader;
	struct nb_frame frame, next;
	nb_frame_init(&frame);
	nb_frame_init(&next);
	nb_require_input(&reader);
	if (to == PRINCETON || frame_given)
		export_one(&export, &reader, &frame, &next);
	else
		export_all(&export, &reader, &frame, &next);
	nb_csv_end(&export.csv);
	if (nb_text_close(&export.out))
		write_failed(&export);
	nb_frame_clear(&frame);
	nb_frame_clear(&next);
	nb_reader_close(&reader);
}

int main(int argc, char **argv)
{
	int operand = nb_options_parse(&command, argc, argv);
	const char *path = operand < argc && strcmp(argv[operand], "-") != 0 ? argv[operand] : NULL;
	if (from_given == to_given)
		nb_die(NB_EXIT_USAGE, "give either --from FORMAT or --to FORMAT (see '%s --help')", nb_program());
	if (from_given && frame_given)
		nb_die(NB_EXIT_USAGE, "option '--frame' goes with --to");
	if (to_given && (G_given || nb_common.no_history))
		nb_die(NB_EXIT_USAGE, "option '%s' goes with --from", G_given ? "--G" : "--no-history");
	if (from_given)
		import(path);
	else
		export_stream(path);
	return NB_EXIT_OK;
}
