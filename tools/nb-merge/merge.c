/* nb-merge: the bodies of several streams in one, frame by frame. */
#include "tools/nb-merge/merge.h"

#include "common/mem.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

static const struct nb_option options[] = {
	{0, "common", NB_FLAG(struct merge, common), .help = "leave out columns that not all inputs have"},
	{0, "fill", NB_FLAG(struct merge, fill),
		.help = "zeros in radius, species and columns with names of one's own where an input has none"},
	{0, "ids", NB_CHOICE(struct merge, ids), .arg = "keep|renumber|offset", .fallback = "keep",
		.help = "keep: as they are, and an error if one appears twice; renumber: 0 to n - 1; offset: add to "
			"those of each input what keeps them apart"},
	{0, "last", NB_FLAG(struct merge, last), .help = "an input that ends goes on with its last frame"},
	{0, "origin", NB_FLAG(struct merge, origin),
		.help = "add a column 'origin': 0, 1, 2 ... for the inputs, and for those that they were merged from"},
	{0, "shortest", NB_FLAG(struct merge, shortest), .help = "end with the input that ends first"},
	{0, "species", NB_FLAG(struct merge, species), .help = "set species to 0, 1, 2 ... for the inputs"},
	{0, "systems", NB_FLAG(struct merge, systems),
		.help = "each input is a system of its own, or several: set column 'system' to 0, 1, 2 ..."},
	{0, "time-tolerance", NB_REAL(struct merge, time_tolerance), .arg = "T", .fallback = "1e-9 of the time",
		.help = "largest difference of times of frames that are merged"},
};

enum { MOST_SPECIES = 256 };

static void check(struct nb_run *run, void *self)
{
	struct merge *opt = self;
	opt->given_tolerance = nb_given(run, &opt->time_tolerance);
	if (run->noperand == 0)
		nb_die(NB_EXIT_USAGE, "no files given (want 'nb-merge a.nb b.nb'; '-' is standard input)");
	if (opt->common && opt->fill)
		nb_die(NB_EXIT_USAGE, "options '--common' and '--fill' exclude each other");
	if (opt->last && opt->shortest)
		nb_die(NB_EXIT_USAGE, "options '--last' and '--shortest' exclude each other");
	if (opt->species && run->noperand > MOST_SPECIES)
		nb_die(NB_EXIT_USAGE, "option '--species' has numbers for %d inputs at most", MOST_SPECIES);
	if (opt->origin && run->noperand > UINT16_MAX)
		nb_die(NB_EXIT_USAGE, "option '--origin' has numbers for %d inputs at most", UINT16_MAX);
	nb_source_check(run);
}

static void begin(struct nb_run *run, void *self)
{
	struct merge *opt = self;
	opt->input = nb_require_memory(NULL, nb_alloc_zero((size_t)run->noperand, sizeof *opt->input));
	opt->ninput = run->noperand;
	for (int k = 0; k < opt->ninput; k++)
		nb_source_open(run, &opt->input[k].source, run->operand[k]);
}

static void clear(void *self)
{
	struct merge *opt = self;
	for (int k = 0; k < opt->ninput; k++) {
		nb_frame_clear(&opt->input[k].frame);
		nb_source_close(&opt->input[k].source);
	}
	nb_free_all(opt->input, opt->acc);
	nb_frame_clear(&opt->reported);
}

/* ---- inputs ------------------------------------------------------------------------------------- */

/* The next frame of an input, if there is one; its contents only with --last. */
static void advance(struct merge *opt, struct input *input)
{
	if (input->ended)
		return;
	if (opt->last) {
		struct nb_frame next;
		nb_frame_init(&next);
		input->ended = !nb_source_next(&input->source, &next);
		if (input->ended)
			return;
		nb_frame_clear(&input->frame);
		input->frame = next;
	} else {
		input->ended = !nb_source_head(&input->source, &input->frame);
	}
	input->nframe += !input->ended;
}

/* The rest of what is not merged must be sound all the same. */
static void read_rest(struct input *input)
{
	while (!input->ended) {
		nb_source_body(&input->source, &input->frame, NULL, NULL);
		input->ended = !nb_source_head(&input->source, &input->frame);
	}
}

static _Noreturn void refuse_lengths(const struct merge *opt, const struct input *shorter, const struct input *longer)
{
	char name[2][NB_SOURCE_NAME];
	nb_source_name(&shorter->source, name[0]);
	nb_source_name(&longer->source, name[1]);
	if (opt->last)
		nb_die(NB_EXIT_FAILED, "%s has no frames, and so no last one", name[0]);
	nb_die(NB_EXIT_FAILED,
		"%s has %" PRIu64
		" frames, and %s has more (give '--last' to go on with the last frame, or '--shortest')",
		name[0], shorter->nframe, name[1]);
}

/* 1 if there is a frame of each input; 0 at the end of all. */
static int next_frames(struct merge *opt)
{
	const struct input *ended = NULL, *going = NULL;
	for (int k = 0; k < opt->ninput; k++) {
		struct input *input = &opt->input[k];
		advance(opt, input);
		if (!input->ended)
			going = going ? going : input;
		else if (!opt->last || input->nframe == 0)
			ended = ended ? ended : input;
	}
	if (!going)
		return 0;
	if (ended && !opt->shortest)
		refuse_lengths(opt, ended, going);
	for (int k = 0; ended && k < opt->ninput; k++)
		read_rest(&opt->input[k]);
	return !ended;
}

/* Bodies of different times are no system. */
static void require_same_time(const struct merge *opt)
{
	const struct input *first = NULL;
	double want = 0;
	for (int k = 0; k < opt->ninput; k++) {
		const struct input *input = &opt->input[k];
		if (input->ended)
			continue;
		const double time = nb_require_attribute(&input->frame, "time", 0);
		want = first ? want : time;
		first = first ? first : input;
		const double most = opt->given_tolerance ? opt->time_tolerance : 1e-9 * fmax(fabs(time), fabs(want));
		char name[2][NB_SOURCE_NAME];
		if (!(fabs(time - want) <= most))
			nb_die(NB_EXIT_FAILED,
				"frame %" PRIu64 " is at time %.10g in %s and at %.10g in %s (give '--time-tolerance')",
				opt->count, want, nb_source_name(&first->source, name[0]), time,
				nb_source_name(&input->source, name[1]));
	}
}

static int make(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct merge *opt = self;
	nb_require_alive(run);
	if (!next_frames(opt))
		return 0;
	require_same_time(opt);
	nb_merge_bodies(opt, frame);
	nb_merge_attributes(opt, frame);
	nb_verbose("frame %" PRIu64 ": %" PRIu64 " bodies of %d inputs", opt->count, frame->rows[NB_PARTICLE],
		opt->ninput);
	opt->count++;
	return 1;
}

const struct nb_tool nb_tool_merge = {
	.name = "nb-merge",
	.about = "put the bodies of several streams together, frame by frame",
	.operands = "FILE...",
	.max_operands = INT_MAX,
	.own_files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.footer = "FILE may be '-' for standard input.\n",
	.size = sizeof(struct merge),
	.streams = NB_WRITES,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.begin = begin,
	.make = make,
	.clear = clear,
};
