/* nb-stats: measures the frames of a particle stream, compares, lists or checks them. */
#include "tools/nb-stats/stats.h"

#include "kernels/order/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct mode *const modes[NMODE] = {
	[MEASURE] = &nb_stats_measure,
	[ATTRIBUTES] = &nb_stats_attributes,
	[CHECK] = &nb_stats_check,
	[COMPARE] = &nb_stats_compare,
	[FIELDS] = &nb_stats_fields,
	[HISTORY] = &nb_stats_history,
};

static const struct nb_option options[] = {
	{0, "attributes", NB_FLAG(struct stats, wanted[ATTRIBUTES]), .help = "print the attributes of each frame"},
	{0, "check", NB_FLAG(struct stats, wanted[CHECK]),
		.help = "verify the stream without holding a frame in memory"},
	{0, "compare", NB_TEXT(struct stats, compare_path), .arg = "FILE",
		.help = "print the errors of acc against acc of the stream in FILE"},
	{0, "epot", NB_CHOICE(struct stats, epot), .arg = "auto|direct|none", .fallback = "auto",
		.help = "potential energy; auto: field pot, or a direct sum if n is small; direct: the sum for any n"},
	{0, "fields", NB_FLAG(struct stats, wanted[FIELDS]), .help = "list the columns of the stream"},
	{0, "format", NB_CHOICE(struct stats, report.format), .arg = NB_REPORT_FORMATS, .fallback = "table",
		.help = "output format"},
	{0, "history", NB_FLAG(struct stats, wanted[HISTORY]), .help = "print the commands that made the stream"},
	{0, "lagrangian", NB_TEXT(struct stats, lagrangian), .arg = "LIST", .fallback = "10,50,90",
		.help = "percentages of the mass for the Lagrangian radii"},
	{'e', "softening", NB_REAL(struct stats, eps), .max = 1e300, .arg = "EPS",
		.fallback = "the frame's value, else 0",
		.help = "softening of the direct sum; the sum is then computed even if there is a field pot"},
};

/* No option is read and then ignored. */
static void check(struct nb_run *run, void *self)
{
	struct stats *opt = self;
	int chosen = 0;
	opt->eps_given = nb_given(run, &opt->eps);
	opt->wanted[COMPARE] = opt->compare_path != NULL;
	opt->mode = modes[MEASURE];
	for (int m = 0; m < NMODE; m++)
		if (opt->wanted[m]) {
			opt->mode = modes[m];
			chosen++;
		}
	if (chosen > 1)
		nb_die(NB_EXIT_USAGE, "options '--attributes', '--check', '--compare', '--fields' and '--history' "
				      "exclude each other");
	const char *idle = nb_given(run, &opt->epot)		      ? "epot"
			   : opt->eps_given			      ? "softening"
			   : nb_given(run, &opt->lagrangian)	      ? "lagrangian"
			   : strcmp(run->common.backend, "auto") != 0 ? "backend"
								      : NULL;
	if (chosen && idle)
		nb_die(NB_EXIT_USAGE, "option '--%s' has no effect with '--%s'", idle, opt->mode->option);
	if (opt->wanted[CHECK] && nb_given(run, &opt->report.format))
		nb_die(NB_EXIT_USAGE, "option '--format' has no effect with '--check'");
	if (opt->eps_given && opt->epot == EPOT_NONE)
		nb_die(NB_EXIT_USAGE, "option '--softening' has no effect with '--epot none'");
	if (!opt->mode->stream)
		run->stream = NULL; /* frame by frame */
	run->whole_stream = opt->wanted[CHECK];
}

static void begin(struct nb_run *run, void *self)
{
	struct stats *opt = self;
	if (opt->mode->begin)
		opt->mode->begin(run, opt);
}

static void frame_in_memory(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct stats *opt = self;
	opt->mode->frame(run, opt, frame);
}

static void stream(struct nb_run *run, void *self)
{
	struct stats *opt = self;
	opt->mode->stream(run, opt);
}

static void end(struct nb_run *run, void *self)
{
	struct stats *opt = self;
	if (opt->mode->end)
		opt->mode->end(run, opt);
	nb_require_flushed();
}

static void work(struct nb_run *run, void *self, struct nb_plan *plan)
{
	struct stats *opt = self;
	(void)run;
	if (opt->mode->work)
		opt->mode->work(opt, plan);
}

static void clear(void *self)
{
	struct stats *opt = self;
	if (opt->mode && opt->mode->clear)
		opt->mode->clear(opt);
}

/* ---- for the modes ------------------------------------------------------------------------------ */

int nb_stats_next(struct nb_run *run, struct nb_frame *frame, nb_visit *visit, void *context)
{
	if (!nb_next_head(run, frame))
		return 0;
	if (nb_reader_body(&run->in, frame, visit, context) == NB_ERROR)
		nb_fail_input(run);
	return 1;
}

void nb_stats_require_ok(int status, const struct nb_frame *frame)
{
	if (status)
		nb_die(NB_EXIT_FAILED, "%s in frame %" PRIu64, nb_status_text(status), frame->number);
}

void nb_stats_require_unique(size_t n, const uint64_t *id, const struct nb_frame *frame, const char *where)
{
	size_t first, second;
	nb_stats_require_ok(nb_ids_unique(n, id, &first, &second), frame);
	if (first < n)
		nb_die(NB_EXIT_FAILED, "id %" PRIu64 " appears twice in frame %" PRIu64 "%s%s%s (bodies %zu and %zu)",
			id[first], frame->number, where ? " of '" : "", where ? where : "", where ? "'" : "", first,
			second);
}

const struct nb_tool nb_tool_stats = {
	.name = "nb-stats",
	.about = "measure a particle stream: energies, momenta, radii, force errors",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_LOOKER | NB_COMMON_THREADS,
	.size = sizeof(struct stats),
	.defaults = &(const struct stats){.epot = EPOT_AUTO, .lagrangian = "10,50,90"},
	.streams = NB_READS,
	.check = check,
	.begin = begin,
	.frame = frame_in_memory,
	.end = end,
	.clear = clear,
	.work = work,
	.stream = stream,
};
