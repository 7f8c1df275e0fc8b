/* nb-convert: particle streams from and to the formats of other programs (formats/exchange). */
#include "tools/nb-convert/convert.h"

#include "common/parse.h"
#include "kernels/order/order.h"
#include "tools/filter/files.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------------ */

/* "princeton|csv|npy", or only those that are read, which stand before the others */
static void list_formats(char *to, size_t size, int read)
{
	const struct nb_format *format;
	size_t used = 0;
	for (size_t k = 0; (format = nb_format_number(k)) != NULL && used < size && (!read || format->open); k++)
		used += (size_t)snprintf(to + used, size - used, "%s%s", k ? "|" : "", format->name);
}

static void list_from(char *to, size_t size)
{
	list_formats(to, size, 1);
}

static void list_to(char *to, size_t size)
{
	list_formats(to, size, 0);
}

/* "1; princeton: 6.67e-11" */
static void list_G(char *to, size_t size)
{
	const struct nb_format *format;
	size_t used = (size_t)snprintf(to, size, "1");
	for (size_t k = 0; (format = nb_format_number(k)) != NULL && used < size; k++)
		if (format->open && format->G != 1)
			used += (size_t)snprintf(to + used, size - used, "; %s: %g", format->name, format->G);
}

static const struct nb_option options[] = {
	{0, "columns", NB_TEXT(struct convert, columns), .arg = "LIST", .fallback = "a header line",
		.help = "csv: names of the columns of a table without header, - for one to skip"},
	{0, "frame", NB_TEXT(struct convert, chosen_text), .arg = "K", .fallback = "all",
		.help = "export frame K only, counted from 0, or 'last'"},
	{0, "from", NB_CHOICE(struct convert, from), .make_arg = list_from, .help = "read this format, write a stream"},
	{0, "G", NB_REAL(struct convert, G), .max = 1e300, .arg = "G", .make_fallback = list_G,
		.help = "gravitational constant of the imported data"},
	{0, "no-comments", NB_FLAG(struct convert, plain),
		.help = "csv: no lines with attributes and types before the header"},
	{0, "safe-cells", NB_FLAG(struct convert, safe),
		.help = "csv: an apostrophe before text that a spreadsheet would compute"},
	{0, "to", NB_CHOICE(struct convert, to), .make_arg = list_to, .help = "read a stream, write this format"},
};

/* --frame: a number, last, or -1, which is the last too */
static void parse_frame(struct convert *opt)
{
	opt->last = strcmp(opt->chosen_text, "last") == 0 || strcmp(opt->chosen_text, "-1") == 0;
	if (!opt->last && nb_parse_count(opt->chosen_text, 0, UINT64_MAX, &opt->chosen) != NB_PARSE_OK)
		nb_die(NB_EXIT_USAGE, "invalid frame '%s' (want a number from 0, or 'last')", opt->chosen_text);
}

/* Options that only one way, or a table, has. */
static void check_options(struct nb_run *run, const struct convert *opt, int from, const struct nb_format *format)
{
	const int table = (format->traits & NB_TABLE) != 0;
	if (from && opt->chosen_text)
		nb_die(NB_EXIT_USAGE, "option '--frame' needs '--to'");
	if (!from && (nb_given(run, &opt->G) || run->common.no_history))
		nb_die(NB_EXIT_USAGE, "option '%s' needs '--from'", nb_given(run, &opt->G) ? "--G" : "--no-history");
	if (opt->safe && !table)
		nb_die(NB_EXIT_USAGE, "option '--safe-cells' needs '--from csv' or '--to csv'");
	if (opt->columns && (!from || !table))
		nb_die(NB_EXIT_USAGE, "option '--columns' needs '--from csv'");
	if (opt->plain && (from || !table))
		nb_die(NB_EXIT_USAGE, "option '--no-comments' needs '--to csv'");
}

/* With --to the operand is the output, unless that is given with --output: it is the input then.  A stream is not
 * taken for the output, as it would be the input of any other program. */
static void check_operand(struct nb_run *run, struct convert *opt, int from)
{
	if (run->noperand == 0)
		return;
	const char *path = run->operand[0];
	if (!from && run->common.output) {
		run->from = (struct nb_operands){.n = 1, .path = run->operand};
		return;
	}
	opt->path = strcmp(path, "-") != 0 ? path : NULL;
	if (!from && nb_file_is_stream(path))
		nb_die(NB_EXIT_USAGE,
			"'%s' is a particle stream, and with '--to' FILE is the output (want 'nb-convert --to %s -o "
			"OUT "
			"FILE')",
			path, nb_format_number((size_t)opt->to)->name);
}

static void check(struct nb_run *run, void *self)
{
	struct convert *opt = self;
	const int from = nb_given(run, &opt->from);
	if (from == nb_given(run, &opt->to))
		nb_die(NB_EXIT_USAGE, "give either --from FORMAT or --to FORMAT (see '%s --help')", nb_program());
	const struct nb_format *format = nb_format_number((size_t)(from ? opt->from : opt->to));
	check_options(run, opt, from, format);
	check_operand(run, opt, from);
	if (opt->chosen_text)
		parse_frame(opt);
	opt->one = opt->chosen_text || !(format->traits & NB_MANY_FRAMES);
	run->streams = from ? NB_WRITES : NB_READS;
}

static void begin(struct nb_run *run, void *self)
{
	struct convert *opt = self;
	int status;
	if (run->streams & NB_READS) {
		if (nb_export_open(&opt->out, nb_format_number((size_t)opt->to), opt->path))
			nb_die(NB_EXIT_FAILED, "out of memory");
		opt->out.safe = opt->safe;
		opt->out.plain = opt->plain;
		return;
	}
	const struct nb_table_text table = {.safe = opt->safe, .columns = opt->columns};
	status = nb_import_open(&opt->in, nb_format_number((size_t)opt->from), run->files.in, opt->path, NULL, &table);
	if (status == -1)
		nb_die(NB_EXIT_FAILED, "'%s':", opt->path);
	if (status)
		nb_die(NB_EXIT_FAILED, "%s", opt->in.error);
}

/* What has been written of a file goes; the rest ends with the process. */
static void abandon(void *self)
{
	nb_export_abandon(&((struct convert *)self)->out);
}

static void clear(void *self)
{
	struct convert *opt = self;
	nb_import_close(&opt->in);
	nb_export_abandon(&opt->out);
	nb_frame_clear(&opt->frame);
}

/* ---- import ------------------------------------------------------------------------------------- */

static int import(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct convert *opt = self;
	enum nb_answer answer = nb_import_next(&opt->in, frame);
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", opt->in.error);
	if (answer == NB_END)
		return 0;
	if (*opt->in.warning)
		nb_warn("%s", opt->in.warning);
	nb_require_unique_ids(frame, opt->in.name);
	if (nb_given(run, &opt->G))
		nb_set_attribute_f64(frame, "G", opt->G);
	nb_verbose("frame %" PRIu64 ": %" PRIu64 " bodies", frame->number, frame->rows[NB_PARTICLE]);
	return 1;
}

/* ---- export ------------------------------------------------------------------------------------- */

static void take_next(struct nb_run *run, void *self, struct nb_frame *frame)
{
	(void)run;
	nb_convert_expect(self);
	nb_convert_take(self, frame);
}

static void end(struct nb_run *run, void *self)
{
	if (run->streams & NB_READS)
		nb_convert_end(self);
}

/* ---- on streams --------------------------------------------------------------------------------- */

/* What is known once the head of a frame has come need not wait for the rest. */
static void convert_stream(struct nb_run *run, void *self)
{
	struct convert *opt = self;
	struct nb_frame frame;
	nb_frame_init(&frame);
	if (run->streams & NB_WRITES)
		while (import(run, opt, &frame))
			nb_emit(run, &frame);
	else
		while (nb_next_head(run, &frame)) {
			nb_convert_expect(opt);
			nb_next_columns(run, &frame, SIZE_MAX);
			nb_convert_take(opt, &frame);
		}
	nb_frame_clear(&frame);
}

const struct nb_tool nb_tool_convert = {
	.name = "nb-convert",
	.about = "convert particle streams from and to other formats",
	.operands = "[FILE]",
	.max_operands = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_HISTORY | NB_COMMON_THREADS | NB_COMMON_OUTPUT,
	.footer = "With --from, FILE is read.  With --to, FILE is written, or, after -o OUT, the stream in FILE is "
		  "read.\n"
		  "Without FILE, standard input or output is used.\n",
	.size = sizeof(struct convert),
	.check = check,
	.begin = begin,
	.make = import,
	.frame = take_next,
	.end = end,
	.stream = convert_stream,
	.abandon = abandon,
	.clear = clear,
};
