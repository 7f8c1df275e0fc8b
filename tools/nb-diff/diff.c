/* nb-diff: the differences of two streams, body by body. */
#include "tools/nb-diff/diff.h"

#include "common/mem.h"
#include "kernels/order/order.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct nb_option options[] = {
	{0, "absolute", NB_REAL(struct diff, absolute), .arg = "T", .fallback = "0",
		.help = "accept differences up to T, in the unit of the column"},
	{0, "atol", NB_REAL(struct diff, absolute), .arg = "T", .help = "the same as --absolute"},
	{0, "fields", NB_TEXT(struct diff, fields), .arg = "NAME,...", .fallback = "all columns of reals",
		.help = "columns to compare"},
	{0, "format", NB_CHOICE(struct diff, report.format), .arg = NB_REPORT_FORMATS, .fallback = "table",
		.help = "output format"},
	{0, "rtol", NB_REAL(struct diff, tolerance), .arg = "T", .help = "the same as --tolerance"},
	{0, "tolerance", NB_REAL(struct diff, tolerance), .arg = "T", .fallback = "0",
		.help = "accept differences up to T times the rms value of the column in A"},
};

/* ---- options ------------------------------------------------------------------------------------ */

static void check_fields(const char *fields)
{
	for (const char *at = fields; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		const size_t length = strcspn(at, ",");
		if (length == 0 || length > NB_NAME_SIZE)
			nb_die(NB_EXIT_USAGE, "invalid fields '%s' (want names of columns, separated by commas)",
				fields);
	}
}

static void check(struct nb_run *run, void *self)
{
	struct diff *opt = self;
	if (run->noperand != 2)
		nb_die(NB_EXIT_USAGE, "want two files (such as 'nb-diff a.nb b.nb'; '-' is standard input)");
	nb_source_check(run);
	check_fields(opt->fields);
	if (run->common.quiet && nb_given(run, &opt->report.format))
		nb_die(NB_EXIT_USAGE, "option '--format' has no effect with '--quiet'");
	opt->standard = strcmp(run->operand[0], "-") == 0 ? 0 : strcmp(run->operand[1], "-") == 0 ? 1 : -1;
	if (opt->standard >= 0) { /* frames come from the skeleton */
		run->streams = NB_READS;
		run->stream = NULL;
	}
}

static void begin(struct nb_run *run, void *self)
{
	struct diff *opt = self;
	for (int s = 0; s < 2; s++) {
		struct side *side = &opt->side[s];
		side->frame = &side->own;
		if (s != opt->standard)
			nb_source_open(run, &side->source, run->operand[s]);
		else
			side->source.path = "-";
		side->name = nb_source_name(&side->source, side->text);
	}
}

static void clear(void *self)
{
	struct diff *opt = self;
	for (int s = 0; s < 2; s++) {
		nb_source_close(&opt->side[s].source);
		nb_frame_clear(&opt->side[s].own);
		nb_free(opt->side[s].row);
	}
	nb_frame_clear(&opt->reported);
}

/* ---- bodies ------------------------------------------------------------------------------------- */

/* Rows of the bodies that both have, for each side. */
static void match(struct diff *opt, size_t na, const uint64_t *a, size_t nb, const uint64_t *b)
{
	const size_t room = na < nb ? na : nb;
	for (int s = 0; s < 2; s++)
		opt->side[s].row = nb_require_memory(opt->side[s].frame, nb_alloc(room, sizeof *opt->side[s].row));
	nb_require_ok(nb_ids_common(na, a, nb, b, opt->side[0].row, opt->side[1].row, &opt->count), opt->side[0].frame);
}

/* The first body that the other side does not have; row ascends for side 0 only, so marks are kept. */
static void tell_lonely(const struct diff *opt, int s, const uint64_t *id)
{
	const struct side *side = &opt->side[s];
	const size_t n = side->frame->rows[NB_PARTICLE];
	size_t first = 0;
	if (n == opt->count)
		return;
	unsigned char *seen = nb_require_memory(side->frame, nb_alloc_zero(n, 1));
	for (size_t k = 0; k < opt->count; k++)
		seen[side->row[k]] = 1;
	while (seen[first])
		first++;
	nb_free(seen);
	nb_warn("frame %" PRIu64 ": %zu of %zu bodies are only in %s (the first has id %" PRIu64 ")",
		side->frame->number, n - opt->count, n, side->name, id[first]);
}

static void match_bodies(struct nb_run *run, struct diff *opt)
{
	const uint64_t *id[2];
	size_t n[2];
	for (int s = 0; s < 2; s++) {
		nb_free(opt->side[s].row);
		opt->side[s].row = NULL;
		id[s] = nb_require_unique_ids(opt->side[s].frame, opt->side[s].name);
		n[s] = opt->side[s].frame->rows[NB_PARTICLE];
	}
	if (!id[0] != !id[1] || (!id[0] && n[0] != n[1]))
		nb_die(NB_EXIT_FAILED,
			"column 'id' missing in frame %" PRIu64
			" of %s (bodies are matched by it, or by row if neither has it and their numbers are equal)",
			opt->side[id[0] != NULL].frame->number, opt->side[id[0] != NULL].name);
	opt->count = n[0];
	if (!id[0] || (n[0] == n[1] && (n[0] == 0 || memcmp(id[0], id[1], n[0] * sizeof *id[0]) == 0)))
		return;
	match(opt, n[0], id[0], n[1], id[1]);
	for (int s = 0; s < 2; s++) {
		if (opt->count < n[s])
			run->verdict = DIFFERENT;
		tell_lonely(opt, s, id[s]);
	}
}

/* ---- frames ------------------------------------------------------------------------------------- */

static void tell_times(struct diff *opt)
{
	const double a = nb_require_attribute(opt->side[0].frame, "time", 0);
	const double b = nb_require_attribute(opt->side[1].frame, "time", 0);
	if (!(fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b))) && nb_report_once(&opt->reported, "time"))
		nb_warn("frame %" PRIu64 " is at time %.10g in %s and at %.10g in %s", opt->side[0].frame->number, a,
			opt->side[0].name, b, opt->side[1].name);
}

static void compare_frames(struct nb_run *run, struct diff *opt)
{
	tell_times(opt);
	match_bodies(run, opt);
	nb_diff_columns(run, opt);
}

/* The next frame of a side that is a file. */
static void advance(struct side *side)
{
	side->ended = side->ended || !nb_source_next(&side->source, &side->own);
	side->nframe += !side->ended;
}

static void count_rest(struct side *side)
{
	while (!side->ended) {
		side->ended = !nb_source_head(&side->source, &side->own);
		if (side->ended)
			break;
		nb_source_body(&side->source, &side->own, NULL, NULL);
		side->nframe++;
	}
}

static void tell_lengths(struct nb_run *run, const struct diff *opt)
{
	const struct side *a = &opt->side[0], *b = &opt->side[1];
	if (a->nframe == b->nframe)
		return;
	run->verdict = DIFFERENT;
	nb_warn("%s has %" PRIu64 " frames, %s has %" PRIu64, a->name, a->nframe, b->name, b->nframe);
}

/* Two files. */
static void compare_files(struct nb_run *run, void *self)
{
	struct diff *opt = self;
	struct side *a = &opt->side[0], *b = &opt->side[1];
	for (;;) {
		advance(a);
		advance(b);
		if (a->ended || b->ended)
			break;
		compare_frames(run, opt);
	}
	count_rest(a);
	count_rest(b);
}

/* A file, and standard input, whose next frame this is. */
static void compare_frame(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct diff *opt = self;
	struct side *here = &opt->side[opt->standard], *file = &opt->side[1 - opt->standard];
	here->frame = frame;
	here->nframe++;
	advance(file);
	if (!file->ended)
		compare_frames(run, opt);
}

/* The last line of a table. */
static void print_summary(const struct nb_run *run, const struct diff *opt)
{
	const uint64_t frames = opt->side[0].nframe < opt->side[1].nframe ? opt->side[0].nframe : opt->side[1].nframe;
	const int differ = run->verdict == DIFFERENT;
	printf("%s: ", differ ? "different" : opt->sum.not_equal ? "within the tolerance" : "equal");
	if (differ && opt->sum.differ == 0)
		printf("bodies, frames or components that only one of the streams has; ");
	if (opt->sum.differ > 0)
		printf("%" PRIu64 " of ", opt->sum.differ);
	printf("%" PRIu64 " columns of %" PRIu64 " frames", opt->sum.compared, frames);
	if (opt->sum.not_equal > 0)
		printf("; most in %s of frame %" PRIu64 ": %.3g (%.3g of the rms value) for body %" PRIu64 ", %" PRIu64
		       " of %" PRIu64 " bodies beyond the tolerance",
			opt->sum.column, opt->sum.frame, opt->sum.max, opt->sum.relative, opt->sum.id, opt->sum.beyond,
			opt->sum.n);
	putchar('\n');
}

static void end(struct nb_run *run, void *self)
{
	struct diff *opt = self;
	for (int s = 0; s < 2; s++)
		if (s != opt->standard)
			count_rest(&opt->side[s]);
	tell_lengths(run, opt);
	if (opt->report.format == NB_REPORT_TABLE && !run->common.quiet)
		print_summary(run, opt);
	nb_require_flushed();
}

const struct nb_tool nb_tool_diff = {
	.name = "nb-diff",
	.about = "compare the columns of two particle streams, body by body",
	.operands = "A B",
	.max_operands = 2,
	.own_files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS,
	.footer = "A and B are files; '-' is standard input.  Exit status: 0 within the tolerance, 1 different, 2 "
		  "trouble.\n",
	.size = sizeof(struct diff),
	.obeys_box = 1,
	.obeys_systems = 1,
	.failed = TROUBLE,
	.check = check,
	.begin = begin,
	.frame = compare_frame,
	.end = end,
	.clear = clear,
	.stream = compare_files,
};
