/* nb-stats: measures the frames of a particle stream, compares, lists or checks them. */
#include "tools/nb-stats/stats.h"
#include "tools/filter/require.h"
#include "tools/filter/systems.h"

#include <stdio.h>
#include <string.h>

static const struct mode *const modes[NMODE] = {
	[MEASURE] = &nb_stats_measure,
	[ATTRIBUTES] = &nb_stats_attributes,
	[CHECK] = &nb_stats_check,
	[COMPARE] = &nb_stats_compare,
	[FIELDS] = &nb_stats_fields,
	[HEALPIX] = &nb_stats_healpix,
	[HISTORY] = &nb_stats_history,
	[LEVELS] = &nb_stats_levels,
	[ORBITS] = &nb_stats_orbits,
	[TRANSITS] = &nb_stats_transits,
	[VELOCITY] = &nb_stats_velocity,
	[PROFILE] = &nb_stats_profile,
};

static const struct nb_option options[] = {
	{0, "attributes", NB_FLAG(struct stats, wanted[ATTRIBUTES]), .help = "print the attributes of each frame"},
	{0, "axis", NB_CHOICE(struct stats, axis), .arg = "angular|x|y|z", .fallback = "angular",
		.help = "axis of rotation of a profile; angular: that of the angular momentum"},
	{0, "bins", NB_INT(struct stats, bins), .min = 1, .max = NB_PROFILE_BINS, .arg = "N", .fallback = "20",
		.help = "number of bins of a profile"},
	{0, "bound", NB_FLAG(struct stats, bound),
		.help = "add number, mass, energies, virial ratios and radii of the bound bodies"},
	{0, "by", NB_CHOICE(struct stats, by), .arg = "all|species", .fallback = "all",
		.help = "what is measured together; species: one line, or profile, for each"},
	{0, "by-number", NB_FLAG(struct stats, by_number),
		.help = "count each body once in radii and profiles, instead of its mass"},
	{0, "center", NB_TEXT(struct stats, center), .arg = "origin|com|density|X,Y,Z|id:N", .fallback = "com",
		.help = "centre of radii, shapes and profiles; density: the centre of density, adds the core radius"},
	{0, "check", NB_FLAG(struct stats, wanted[CHECK]),
		.help = "verify the stream without holding a frame in memory"},
	{0, "compare", NB_FILE(struct stats, compare_path), .arg = "FILE",
		.help = "print the errors of acc against acc of the stream in FILE"},
	{0, "each", NB_TEXT(struct stats, each), .arg = "COLUMN",
		.help = "measure the bodies of each value of a column of whole numbers as a frame of their own"},
	{0, "epot", NB_CHOICE(struct stats, epot), .arg = "auto|direct|none", .fallback = "auto",
		.help = "potential energy; auto: field pot, or a direct sum if n is small; direct: the sum for any n"},
	{0, "fields", NB_FLAG(struct stats, wanted[FIELDS]), .help = "list the columns of the stream"},
	{0, "format", NB_CHOICE(struct stats, report.format), .arg = NB_REPORT_FORMATS, .fallback = "table",
		.help = "output format"},
	{0, "healpix", NB_INT(struct stats, wanted[HEALPIX]), .min = 1, .max = NB_HEALPIX_MOST, .arg = "NSIDE",
		.help = "print the pixels of a sky of 12 NSIDE^2, around the origin, that have bodies"},
	{0, "history", NB_FLAG(struct stats, wanted[HISTORY]), .help = "print the commands that made the stream"},
	{0, "lagrangian", NB_TEXT(struct stats, lagrangian), .arg = "LIST", .fallback = "10,50,90",
		.help = "percentages of the mass for the Lagrangian radii"},
	{0, "levels", NB_FLAG(struct stats, wanted[LEVELS]), .help = "print how many bodies made steps of each length"},
	{0, "nfw", NB_FLAG(struct stats, nfw),
		.help = "add the scale radius and density of the profile of Navarro, Frenk and White that fits best"},
	{0, "orbits", NB_TEXT(struct stats, orbits), .arg = "heaviest|id:N|jacobi|barycentric",
		.help = "print the orbital elements of all bodies about that one, each about those before it, or "
			"about the centre of mass of all"},
	{0, "profile", NB_FLAG(struct stats, wanted[PROFILE]), .help = "print a radial profile of each frame"},
	{0, "radial-velocity", NB_CHOICE(struct stats, velocity.axis), .arg = "x|y|z",
		.help = "print how fast the heaviest body goes away from an observer far away on this axis"},
	{0, "range", NB_TEXT(struct stats, range), .arg = "A:B", .fallback = "all bodies",
		.help = "radii between which a profile, its fit or a shape is measured"},
	{0, "rings", NB_FLAG(struct stats, rings), .help = "bins of a profile are rings about the axis, not shells"},
	{0, "shape", NB_CHOICE(struct stats, shape), .arg = "reduced|unreduced", .optional = 1, .fallback = "reduced",
		.help = "add axis ratios; reduced: by a tensor that weights all radii equally"},
	{0, "stack", NB_FLAG(struct stats, stack),
		.help = "--profile --each: one profile of all bodies, each about the centre of its own value"},
	{'e', "softening", NB_REAL(struct stats, eps), .arg = "EPS", .fallback = "the frame's value, else 0",
		.help = "softening of the direct sum; the sum is then computed even if there is a field pot"},
	{0, "spacing", NB_CHOICE(struct stats, spacing), .arg = "equal|log|linear", .fallback = "equal",
		.help = "bins of a profile; equal: of equal mass"},
	{0, "species", NB_TEXT(struct stats, species), .arg = "LIST", .fallback = "all",
		.help = "species to be measured, as 0,2"},
	{0, "transits", NB_CHOICE(struct stats, transits.axis), .arg = "x|y|z",
		.help = "print when bodies pass in front of the heaviest one, seen from far away on this axis"},
};

/* No option is read and then ignored: each belongs to some modes. */
static void check_uses(const struct nb_run *run, const struct stats *opt, int mode)
{
	enum { M = 1 << MEASURE, P = 1 << PROFILE };
	const struct {
		int given;
		const char *name;
		int modes;
		const char *needs;
	} use[] = {
		{nb_given(run, &opt->epot), "epot", M, NULL},
		{opt->eps_given, "softening", M, NULL},
		{nb_given(run, &opt->lagrangian), "lagrangian", M, NULL},
		{strcmp(run->common.backend, "auto") != 0, "backend", M, NULL},
		{opt->bound, "bound", M, NULL},
		{opt->nfw, "nfw", M, NULL},
		{opt->shape_given, "shape", M, NULL},
		{nb_given(run, &opt->center), "center", M | P, NULL},
		{nb_given(run, &opt->by), "by", M | P, NULL},
		{opt->each != NULL, "each", M | P | 1 << ORBITS, NULL},
		{opt->by_number, "by-number", M | P, NULL},
		{nb_given(run, &opt->species), "species", M | P, NULL},
		{nb_given(run, &opt->range), "range", (opt->shape_given || opt->nfw ? M | P : P) | 1 << HEALPIX,
			"healpix', '--profile', '--nfw' or '--shape"},
		{nb_given(run, &opt->bins), "bins", P, "profile"},
		{nb_given(run, &opt->spacing), "spacing", P, "profile"},
		{nb_given(run, &opt->axis), "axis", P, "profile"},
		{opt->rings, "rings", P, "profile"},
		{opt->stack, "stack", P, "profile"},
	};
	for (size_t k = 0; k < sizeof use / sizeof *use; k++) {
		if (!use[k].given || use[k].modes & 1 << mode)
			continue;
		if (mode == MEASURE)
			nb_die(NB_EXIT_USAGE, "option '--%s' needs '--%s'", use[k].name, use[k].needs);
		nb_die(NB_EXIT_USAGE, "option '--%s' has no effect with '--%s'", use[k].name, opt->mode->option);
	}
	if (opt->stack && !opt->each)
		nb_die(NB_EXIT_USAGE, "option '--stack' needs '--each'");
	if (opt->wanted[CHECK] && nb_given(run, &opt->report.format))
		nb_die(NB_EXIT_USAGE, "option '--format' has no effect with '--check'");
	if (opt->epot == EPOT_NONE && (opt->eps_given || opt->bound))
		nb_die(NB_EXIT_USAGE, "option '--%s' has no effect with '--epot none'",
			opt->bound ? "bound" : "softening");
}

static void check(struct nb_run *run, void *self)
{
	struct stats *opt = self;
	int chosen = 0, mode = MEASURE;
	opt->eps_given = nb_given(run, &opt->eps);
	opt->shape_given = nb_given(run, &opt->shape);
	opt->wanted[COMPARE] = opt->compare_path != NULL;
	opt->wanted[ORBITS] = opt->orbits != NULL;
	opt->wanted[TRANSITS] = nb_given(run, &opt->transits.axis);
	opt->wanted[VELOCITY] = nb_given(run, &opt->velocity.axis);
	for (int m = 0; m < NMODE; m++)
		if (opt->wanted[m]) {
			mode = m;
			chosen++;
		}
	opt->mode = modes[mode];
	if (chosen > 1)
		nb_die(NB_EXIT_USAGE, "options '--attributes', '--check', '--compare', '--fields', '--healpix', "
				      "'--history', '--levels', '--orbits', '--profile', '--radial-velocity' and "
				      "'--transits' exclude each other");
	check_uses(run, opt, mode);
	nb_stats_parse(opt);
	if (!opt->mode->stream)
		run->stream = NULL; /* frame by frame */
	run->needs.parts = opt->wanted[CHECK];
}

static void begin(struct nb_run *run, void *self)
{
	struct stats *opt = self;
	opt->report.take = run->take_line;
	opt->report.context = run->line_context;
	if (opt->mode->begin)
		opt->mode->begin(run, opt);
}

/* What would take bodies of several systems as one, in words; NULL: nothing. */
static const char *what_mixes(const struct stats *opt, const struct nb_frame *frame)
{
	const int measures = opt->mode == modes[MEASURE] && opt->epot != EPOT_NONE;
	return opt->mode == modes[ORBITS]	    ? "option '--orbits'"
	       : opt->bound			    ? "option '--bound'"
	       : opt->centre.kind == CENTRE_DENSITY ? "option '--center density'"
	       : !measures			    ? NULL
	       : opt->epot == EPOT_DIRECT	    ? "option '--epot direct'"
	       : opt->eps_given			    ? "option '--softening'"
	       : !nb_frame_field(frame, NB_POT)	    ? "the potential energy of a frame without pot"
						    : NULL;
}

static void frame_in_memory(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct stats *opt = self;
	opt->boxed = !opt->each && (opt->mode == modes[MEASURE] || opt->mode == modes[PROFILE]) && nb_box_of(frame) > 0;
	if (opt->mode == modes[ORBITS] || opt->mode == modes[TRANSITS])
		nb_refuse_box(frame, opt->mode == modes[ORBITS] ? "option '--orbits'" : "option '--transits'", "");
	const char *mixes = what_mixes(opt, frame);
	if (!opt->each && mixes)
		nb_refuse_systems(frame, mixes, "'--each system'");
	if (opt->boxed)
		nb_stats_open_box(opt, frame);
	if (opt->each)
		nb_stats_each(run, opt, frame, mixes);
	else
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
	if (!opt->wanted[CHECK]) /* which says how many there are */
		nb_warn_of_no_frames(run);
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
	nb_stats_release_each(opt);
	if (opt->mode && opt->mode->clear)
		opt->mode->clear(opt);
}

/* ---- for the modes ------------------------------------------------------------------------------ */

const struct nb_tool nb_tool_stats = {
	.name = "nb-stats",
	.about = "measure a particle stream: energies, momenta, radii, profiles, orbits, force errors",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_LOOKER | NB_COMMON_THREADS | NB_COMMON_OUTPUT,
	.size = sizeof(struct stats),
	.defaults = &(const struct stats){.epot = EPOT_AUTO, .lagrangian = "10,50,90", .center = "com", .bins = 20},
	.streams = NB_READS,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.begin = begin,
	.frame = frame_in_memory,
	.end = end,
	.clear = clear,
	.work = work,
	.stream = stream,
};
