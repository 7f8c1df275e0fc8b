/* nb-convert: particle streams from and to the formats of other programs (formats/exchange). */
#include "formats/exchange/exchange.h"
#include "kernels/order/order.h"
#include "tools/filter/filter.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct convert {
	int from, to; /* number of the format */
	double G;
	uint64_t chosen; /* --frame */
	int safe;	 /* --safe-cells */

	const char *path; /* operand, or NULL */
	struct nb_import in;
	struct nb_export out;
	int one;	       /* one frame is exported: the chosen one, or the only one */
	uint64_t nframe;       /* of the stream that is exported, so far */
	struct nb_frame *held; /* to be written when it is known what follows */
	struct nb_frame frame; /* what held points to */
};

/* ---- options ------------------------------------------------------------------------------------ */

/* "princeton|csv" */
static void list_formats(char *to, size_t size)
{
	const struct nb_format *format;
	size_t used = 0;
	for (size_t k = 0; (format = nb_format_number(k)) != NULL && used < size; k++)
		used += (size_t)snprintf(to + used, size - used, "%s%s", k ? "|" : "", format->name);
}

/* "1; princeton: 6.67e-11" */
static void list_G(char *to, size_t size)
{
	const struct nb_format *format;
	size_t used = (size_t)snprintf(to, size, "1");
	for (size_t k = 0; (format = nb_format_number(k)) != NULL && used < size; k++)
		if (format->G != 1)
			used += (size_t)snprintf(to + used, size - used, "; %s: %g", format->name, format->G);
}

static const struct nb_option options[] = {
	{0, "frame", NB_U64(struct convert, chosen), .max = 1e18, .arg = "K", .fallback = "all",
		.help = "export frame K only, counted from 0"},
	{0, "from", NB_CHOICE(struct convert, from), .make_arg = list_formats,
		.help = "read this format, write a stream"},
	{0, "G", NB_REAL(struct convert, G), .max = 1e300, .arg = "G", .make_fallback = list_G,
		.help = "gravitational constant of the imported data"},
	{0, "safe-cells", NB_FLAG(struct convert, safe),
		.help = "csv: an apostrophe before text that a spreadsheet would compute"},
	{0, "to", NB_CHOICE(struct convert, to), .make_arg = list_formats, .help = "read a stream, write this format"},
};

static void check(struct nb_run *run, void *self)
{
	struct convert *opt = self;
	const int from = nb_given(run, &opt->from), frame = nb_given(run, &opt->chosen), G = nb_given(run, &opt->G);
	opt->path = run->noperand && strcmp(run->operand[0], "-") != 0 ? run->operand[0] : NULL;
	if (from == nb_given(run, &opt->to))
		nb_die(NB_EXIT_USAGE, "give either --from FORMAT or --to FORMAT (see '%s --help')", nb_program());
	if (from && frame)
		nb_die(NB_EXIT_USAGE, "option '--frame' needs '--to'");
	if (!from && (G || run->common.no_history))
		nb_die(NB_EXIT_USAGE, "option '%s' needs '--from'", G ? "--G" : "--no-history");
	if (!from && run->common.output)
		nb_die(NB_EXIT_USAGE, "option '--output' needs '--from' (with '--to', the operand is the output)");
	const struct nb_format *format = nb_format_number((size_t)(from ? opt->from : opt->to));
	if (opt->safe && !(format->traits & NB_FORMULAS))
		nb_die(NB_EXIT_USAGE, "option '--safe-cells' needs '--from csv' or '--to csv'");
	opt->one = frame || !(format->traits & NB_MANY_FRAMES);
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
		return;
	}
	status = nb_import_open(
		&opt->in, nb_format_number((size_t)opt->from), run->files.in, opt->path, NULL, opt->safe);
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

/* Programs that compare or collide bodies would confuse two bodies with the same id. */
static void require_unique_ids(const struct nb_frame *frame, const char *name)
{
	const uint64_t *id = nb_require_ids(frame, &nb_space_host);
	const size_t n = frame->rows[NB_PARTICLE];
	size_t first = n, second = n;
	int status = id ? nb_ids_unique(n, id, &first, &second) : NB_OK;
	if (status)
		nb_die(NB_EXIT_FAILED, "%s in frame %" PRIu64, nb_status_text(status), frame->number);
	if (first < n)
		nb_die(NB_EXIT_FAILED, "%s: id %" PRIu64 " appears twice in frame %" PRIu64 " (bodies %zu and %zu)",
			name, id[first], frame->number, first, second);
}

static int import(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct convert *opt = self;
	enum nb_answer answer = nb_import_next(&opt->in, frame);
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", opt->in.error);
	if (answer == NB_END)
		return 0;
	require_unique_ids(frame, opt->in.name);
	if (nb_given(run, &opt->G))
		nb_set_attribute_f64(frame, "G", opt->G);
	nb_verbose("frame %" PRIu64 ": %" PRIu64 " bodies", frame->number, frame->rows[NB_PARTICLE]);
	return 1;
}

/* ---- export: what is lost ----------------------------------------------------------------------- */

static void warn_of_columns(const struct nb_format *format, const struct nb_frame *frame)
{
	char list[400];
	size_t used = 0;
	for (size_t c = 0; c < frame->ncolumn && used < sizeof list; c++) {
		struct nb_column *column = &frame->column[c];
		if (column->table == NB_PARTICLE && !format->holds(frame, column))
			used += (size_t)snprintf(
				list + used, sizeof list - used, "%s%s", used ? ", " : "", column->name);
	}
	if (used)
		nb_warn("%s cannot represent these columns, which are left out: %s", format->about, list);
}

/* Warns of every attribute that the format cannot represent. */
static void warn_of_losses(const struct nb_export *out, const struct nb_frame *frame)
{
	const struct nb_format *format = out->format;
	const unsigned traits = format->traits;
	const char *kick = nb_frame_attribute(frame, "pending_kick");
	const double G = nb_require_attribute(frame, "G", 1), time = nb_require_attribute(frame, "time", 0);
	if ((traits & NB_LOSES_G) && G != format->G)
		nb_warn("%s cannot represent attribute G=%s (give '--G' when it is read back)", format->about,
			nb_frame_attribute(frame, "G"));
	if ((traits & NB_FIXED_G) && G != format->G)
		nb_warn("attribute G is %.17g, but readers of %s assume %g", G, format->about, format->G);
	if ((traits & NB_LOSES_KICK) && kick)
		nb_warn("%s cannot represent attribute pending_kick=%s: the velocities lag behind the positions",
			format->about, kick);
	if ((traits & (out->several ? NB_LOSES_TIME : NB_LOSES_TIME | NB_LOSES_TIME_OF_ONE)) && time != 0)
		nb_warn("%s cannot represent attribute time=%s", format->about, nb_frame_attribute(frame, "time"));
}

/* ---- export ------------------------------------------------------------------------------------- */

/* frame: the one that was written, NULL after the last. */
static void require_exported(const struct convert *opt, int status, const struct nb_frame *frame)
{
	if (status == -1 && opt->path)
		nb_die(NB_EXIT_FAILED, "write error: '%s':", opt->path);
	if (status == -1)
		nb_die(NB_EXIT_FAILED, "write error:");
	if (status && !frame)
		nb_die(NB_EXIT_FAILED, "%s", status == NB_EINVAL ? opt->out.error : nb_status_text(status));
	if (status == NB_EINVAL)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 ": %s", frame->number, opt->out.error);
	if (status == NB_ENOMEM)
		nb_out_of_memory(frame);
	if (status)
		nb_die(NB_EXIT_FAILED, "%s in frame %" PRIu64, nb_status_text(status), frame->number);
}

static void export(struct convert *opt, const struct nb_frame *frame)
{
	const struct nb_format *format = opt->out.format;
	nb_require_field(frame, NB_POS);
	if (format->traits & NB_ONLY_VALID)
		nb_require_valid(frame);
	for (int f = 0; f < NB_NFIELD; f++)
		if (format->needs & NB_NEED(f))
			nb_require_field(frame, (enum nb_field)f);
	require_exported(opt, nb_export_frame(&opt->out, frame), frame);
	if ((format->traits & NB_LOSES_EMPTY) && opt->out.several && frame->rows[NB_PARTICLE] == 0)
		nb_warn("%s cannot represent frame %" PRIu64 ", which has no bodies", format->about, frame->number);
	nb_verbose("frame %" PRIu64 ": %" PRIu64 " bodies", frame->number, frame->rows[NB_PARTICLE]);
	if (opt->out.nframe == 1) {
		warn_of_columns(format, frame);
		warn_of_losses(&opt->out, frame);
	}
}

static void export_held(struct convert *opt)
{
	export(opt, opt->held);
	nb_frame_clear(opt->held);
	opt->held = NULL;
}

/* Another frame follows those that have been taken. */
static void expect(struct nb_run *run, struct convert *opt)
{
	if (opt->nframe != 1)
		return;
	if (opt->one && !nb_given(run, &opt->chosen))
		nb_die(NB_EXIT_FAILED,
			"the stream has several frames, but %s holds only one (choose it with '--frame K')",
			opt->out.format->about);
	if (opt->one)
		return;
	opt->out.several = 1;
	export_held(opt);
}

/* The first frame is held back: what comes before it in the file depends on whether there are more. */
static void take(struct convert *opt, struct nb_frame *frame)
{
	const uint64_t k = opt->nframe++;
	if (k == (opt->one ? opt->chosen : 0)) {
		opt->frame = *frame;
		opt->held = &opt->frame;
		nb_frame_init(frame);
	} else if (!opt->one) {
		export(opt, frame);
	}
}

static void take_next(struct nb_run *run, void *self, struct nb_frame *frame)
{
	expect(run, self);
	take(self, frame);
}

static void end(struct nb_run *run, void *self)
{
	struct convert *opt = self;
	if (!(run->streams & NB_READS))
		return;
	if (opt->one && !opt->held)
		nb_die(NB_EXIT_FAILED, "the stream has no frame %" PRIu64 " (it has %" PRIu64 ")", opt->chosen,
			opt->nframe);
	if (opt->nframe == 0)
		nb_die(NB_EXIT_FAILED, "the stream has no frames, and %s needs one for its header",
			opt->out.format->about);
	if (opt->held)
		export_held(opt);
	require_exported(opt, nb_export_close(&opt->out), NULL);
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
			expect(run, opt);
			nb_next_columns(run, &frame, SIZE_MAX);
			take(opt, &frame);
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
	.footer = "FILE is read with --from and written with --to; without it, standard input or output is used.\n",
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
