/* nb-power: the power spectrum of the density in a periodic box. */
#include "tools/nb-power/power.h"

#include "common/mem.h"
#include "tools/filter/plan.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct nb_option options[] = {
	{0, "cross", NB_FILE(struct nb_power, cross), .arg = "FILE",
		.help = "add the spectrum of the first frame of another stream, and the cross spectrum"},
	{0, "fold", NB_INT(struct nb_power, fold), .max = NB_POWER_FOLDS, .arg = "N", .fallback = "0",
		.help = "go on to larger k: fold the box by 2, 4, ... 2^N along each edge"},
	{0, "format", NB_CHOICE(struct nb_power, report.format), .arg = NB_REPORT_FORMATS, .fallback = "table",
		.help = "output format"},
	{0, "limit", NB_POSITIVE(struct nb_power, limit), .max = 1, .arg = "PART", .fallback = "0.7",
		.help = "largest k, as a part of the Nyquist frequency of the mesh"},
	{0, "mesh", NB_INT(struct nb_power, cells), .min = NB_MESH_LEAST, .max = NB_MESH_MOST, .arg = "M",
		.fallback = "256", .help = "cells of the mesh along an edge of the box"},
	{0, "no-interlace", NB_FLAG(struct nb_power, alone),
		.help = "use one mesh, without the one that is half a cell away"},
	{0, "pairs", NB_TEXT(struct nb_power, pairs.edges), .arg = "EDGES",
		.help = "instead: the correlation function by pairs at distances between these edges, R,R,..."},
	{0, "periodic", NB_POSITIVE(struct nb_power, box), .arg = "L", .fallback = "attribute box",
		.help = "edge of the periodic box, from 0 to L in each coordinate"},
	{0, "project", NB_TEXT(struct nb_power, pairs.project), .arg = "REACH[,N]",
		.help = "--pairs: distances across z, the correlation summed up to REACH along z, in N parts"},
	{0, "randoms", NB_FILE(struct nb_power, pairs.randoms), .arg = "FILE",
		.help = "--pairs: compare with the bodies of another stream, which are placed at random"},
	{0, "subtract-shot", NB_FLAG(struct nb_power, subtract), .help = "take the shot noise off P"},
	{0, "window", NB_CHOICE(struct nb_power, order), .min = 1, .arg = "ngp|cic|tsc|pcs", .fallback = "pcs",
		.help = "how a body is spread over 1, 2, 3 or 4 cells along each axis"},
};

static void check(struct nb_run *run, void *self)
{
	struct nb_power *opt = self;
	const int size = nb_mesh_size(opt->cells);
	const struct {
		const void *answer;
		const char *name;
	} of_mesh[] = {{&opt->cross, "cross"}, {&opt->fold, "fold"}, {&opt->limit, "limit"}, {&opt->cells, "mesh"},
		{&opt->alone, "no-interlace"}, {&opt->subtract, "subtract-shot"}, {&opt->order, "window"}};
	for (size_t k = 0; opt->pairs.edges && k < sizeof of_mesh / sizeof *of_mesh; k++)
		if (nb_given(run, of_mesh[k].answer))
			nb_die(NB_EXIT_USAGE, "options '--pairs' and '--%s' exclude each other", of_mesh[k].name);
	if (!opt->pairs.edges && (opt->pairs.project || opt->pairs.randoms))
		nb_die(NB_EXIT_USAGE, "option '--%s' needs '--pairs'", opt->pairs.project ? "project" : "randoms");
	if (opt->pairs.edges)
		nb_power_check_pairs(opt);
	if (size != opt->cells)
		nb_die(NB_EXIT_USAGE, "a mesh of %d cells has a prime factor above 7 (want '--mesh %d')", opt->cells,
			size <= NB_MESH_MOST ? size : NB_MESH_MOST);
}

static void begin(struct nb_run *run, void *self)
{
	struct nb_power *opt = self;
	opt->report.take = run->take_line;
	opt->report.context = run->line_context;
	nb_frame_init(&opt->other);
	if (opt->cross || opt->pairs.randoms)
		nb_source_open(run, &opt->source, opt->cross ? opt->cross : opt->pairs.randoms);
}

static void clear(void *self)
{
	struct nb_power *opt = self;
	nb_power_release(opt);
	nb_free(opt->pairs.rr);
	nb_frame_clear(&opt->other);
	nb_source_close(&opt->source);
}

/* Edge of the box of a frame. */
static double find_box(const struct nb_power *opt, const struct nb_frame *frame)
{
	const double named = nb_require_attribute(frame, "box_size", 0);
	if (opt->box == 0 && named > 0 && !opt->pairs.randoms && nb_require_attribute(frame, "box", 0) == 0)
		nb_die(NB_EXIT_FAILED,
			"frame %" PRIu64 " has no attribute box (its box_size is %g: want '--periodic %g')",
			frame->number, named, named);
	const double box = nb_require_box(frame, opt->box);
	if (box == 0 && opt->pairs.randoms)
		return 0;
	if (box == 0 || !isfinite(box))
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has no periodic box (want '--periodic L', or attribute box)",
			frame->number);
	return box;
}

static void load_other(struct nb_run *run, struct nb_power *opt)
{
	char name[NB_SOURCE_NAME];
	if (!opt->cross || opt->loaded)
		return;
	(void)nb_source_name(&opt->source, name);
	if (!nb_source_next(&opt->source, &opt->other))
		nb_die(NB_EXIT_FAILED, "%s has no frame", name);
	opt->with = nb_power_load(run, &opt->other);
	opt->loaded = 1;
}

/* One line: a shell of the box folded by `fold`. */
static void add_shell(struct nb_power *opt, const struct nb_frame *frame, double time, double shot, double box,
	int fold, const struct nb_mesh_shell *shell)
{
	struct nb_report *report = &opt->report;
	const double volume = box * box * box, noise = volume * shot, other = volume * opt->with.shot;
	nb_report_integer(report, "frame", 5, frame->number);
	nb_report_real(report, "time", time);
	nb_report_real(report, "k", 2 * 3.14159265358979323846 / box * fold * shell->distance / shell->modes);
	nb_report_real(report, "P", volume * shell->power[0] / shell->modes - (opt->subtract ? noise : 0));
	nb_report_real(report, "shot", noise);
	if (opt->cross) {
		nb_report_real(
			report, "P_other", volume * shell->power[1] / shell->modes - (opt->subtract ? other : 0));
		nb_report_real(report, "shot_other", other);
		nb_report_real(report, "P_cross", volume * shell->cross / shell->modes);
	}
	nb_report_integer(report, "modes", 9, (uint64_t)shell->modes);
	nb_report_integer(report, "fold", 4, (uint64_t)fold);
	nb_report_row(report);
}

static void find_power(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct nb_power *opt = self;
	const double box = find_box(opt, frame), time = nb_require_attribute(frame, "time", 0);
	const double nyquist = 0.5 * opt->cells;
	const int last = (opt->cells + 1) / 2 - 1;
	if (opt->pairs.edges) {
		nb_power_find_pairs(run, opt, frame, box);
		return;
	}
	nb_power_make_room(run, opt);
	const struct nb_power_bodies bodies = nb_power_load(run, frame);
	load_other(run, opt);
	memset(&opt->seconds, 0, sizeof opt->seconds);
	/* A mesh is left for the next one, which is twice as fine, at half of its Nyquist frequency. */
	for (int level = 0, from = 1; level <= opt->fold; level++) {
		const double part = level < opt->fold && opt->limit > 0.5 ? 0.5 : opt->limit;
		const int to = part * nyquist < last ? (int)(part * nyquist) : last;
		nb_power_measure(run, opt, frame, &bodies, box, 1 << level);
		for (int k = from; k <= to; k++)
			add_shell(opt, frame, time, bodies.shot, box, 1 << level, &opt->shell[k]);
		from = to / 2 + 1;
	}
	nb_require_flushed();
	nb_verbose("frame %" PRIu64
		   ": %zu bodies on a mesh of %d^3 cells in a box of edge %.9g: painting %.4g s, transforms "
		   "%.4g s, shells %.4g s",
		frame->number, bodies.n, opt->cells, box, opt->seconds.paint, opt->seconds.transform,
		opt->seconds.shells);
}

static void end(struct nb_run *run, void *self)
{
	(void)self;
	nb_warn_of_no_frames(run);
	nb_require_flushed();
}

static void work(struct nb_run *run, void *self, struct nb_plan *plan)
{
	const struct nb_power *opt = self;
	const double meshes = opt->alone ? 1 : 2, cells = pow(opt->cells, 3), levels = 1 + opt->fold;
	(void)run;
	if (opt->pairs.edges) {
		nb_plan_by_host(plan);
		return;
	}
	nb_plan_add(plan, NB_WORK_PAINT, plan->n * opt->order * opt->order * meshes * levels);
	nb_plan_add(plan, NB_WORK_MODES, cells * meshes * levels * (opt->cross ? 2 : 1));
	nb_plan_use(plan, NB_PLAN(POS) | NB_PLAN(MASS));
	plan->count[NB_MEMORY_CELL] = cells * meshes * (opt->cross ? 2 : 1);
	nb_plan_take(plan, NB_MEMORY_MESH, 0);
}

const struct nb_tool nb_tool_power = {
	.name = "nb-power",
	.about = "measure the power spectrum of the density in a periodic box, and pairs of bodies",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_LOOKER | NB_COMMON_THREADS | NB_COMMON_OUTPUT,
	.size = sizeof(struct nb_power),
	.defaults = &(const struct nb_power){.cells = 256, .order = 4, .limit = 0.7},
	.streams = NB_READS,
	.obeys_box = 1,
	.check = check,
	.work = work,
	.begin = begin,
	.clear = clear,
	.frame = find_power,
	.end = end,
};
