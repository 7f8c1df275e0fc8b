/* nb-force --at: the field of the bodies of a frame at the positions of another stream. */
#include "tools/filter/files.h"
#include "tools/filter/kick.h"
#include "tools/filter/require.h"
#include "tools/filter/views.h"
#include "tools/nb-force/force.h"

#include "common/timer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void nb_force_at_check(struct nb_run *run, const struct force *opt)
{
	if (!opt->at_path)
		return;
	if (strcmp(opt->at_path, "-") == 0)
		nb_die(NB_EXIT_USAGE, "option '--at' wants a file: standard input has the sources");
	if (opt->method == METHOD_NEAR || opt->method == METHOD_FMM)
		nb_die(NB_EXIT_USAGE, "method %s computes no forces at points (want -m direct or tree with '--at')",
			nb_method_name[opt->method]);
	if (opt->mac_given || opt->kernel_text)
		nb_die(NB_EXIT_USAGE, "option '--%s' has no effect with '--at'", opt->mac_given ? "mac" : "kernel");
	if (nb_force_at_method(opt) == METHOD_DIRECT && (opt->precision == NB_F32 || opt->precision == NB_MIXED))
		nb_die(NB_EXIT_USAGE, "option '--at' computes direct sums in f64 only (want -m tree for others)");
	if (opt->jerk || opt->audit || opt->accuracy > 0)
		nb_die(NB_EXIT_USAGE, "option '--%s' has no effect with '--at'",
			opt->jerk	    ? "jerk"
			: opt->accuracy > 0 ? "accuracy"
					    : "audit");
	run->needs.own_backend = nb_force_at_method(opt) == METHOD_TREE;
}

/* The walk for points is one of the CPU. */
static void choose_backend(struct nb_run *run)
{
	const char *name = run->common.backend;
	nb_choose_backend(run, strcmp(name, "auto") == 0 ? "cpu" : name);
	if (run->backend->space->device >= 0)
		nb_die(NB_EXIT_USAGE, "method tree computes forces at points on the CPU only (want -b cpu, or -m "
				      "direct with '--at')");
}

void nb_force_at_begin(struct nb_run *run, struct force *opt)
{
	if (!opt->at_path)
		return;
	if (run->needs.own_backend)
		choose_backend(run);
	nb_source_open(run, &opt->at.source, opt->at_path);
	if (!nb_source_next(&opt->at.source, &opt->at.now))
		nb_die(NB_EXIT_FAILED, "'%s' has no frames with points", opt->at_path);
	opt->at.more = opt->at.several = nb_source_next(&opt->at.source, &opt->at.next);
}

/* The next frame of points, if there are several. */
static void advance(struct force *opt)
{
	if (opt->at.count == 0 || !opt->at.several)
		return;
	if (!opt->at.more)
		nb_die(NB_EXIT_FAILED, "'%s' has %" PRIu64 " frames, but the stream has more", opt->at_path,
			opt->at.count);
	const struct nb_frame swap = opt->at.now;
	opt->at.now = opt->at.next;
	opt->at.next = swap;
	opt->at.more = nb_source_next(&opt->at.source, &opt->at.next);
}

void nb_force_at_end(const struct force *opt)
{
	if (opt->at.more && opt->at.count > 0)
		nb_die(NB_EXIT_FAILED, "'%s' has more frames than the %" PRIu64 " of the stream", opt->at_path,
			opt->at.count);
}

void nb_force_at_clear(struct force *opt)
{
	nb_frame_clear(&opt->at.now);
	nb_frame_clear(&opt->at.next);
	nb_frame_clear(&opt->at.out);
	nb_source_close(&opt->at.source);
}

/* The field of g at the points, by the tree of its frame or directly; says what it took. */
static void compute(struct nb_run *run, struct force *opt, enum method method, struct nb_frame *frame,
	const struct nb_gravity *g, const struct nb_gravity_points *points)
{
	const struct nb_backend *backend = run->backend;
	const int walks = method == METHOD_TREE;
	const struct nb_tree tree = walks ? nb_require_tree(frame, backend) : (struct nb_tree){.nnode = 0};
	const struct nb_tree_walk walk = nb_force_walk(run, opt);
	struct nb_gravity_count count = {0, 0, 0, 0};
	char counted[120] = "";
	const double start = nb_now();
	const int status = walks	  ? backend->gravity_tree_points(g, &tree, &walk, points, &count)
			   : opt->box > 0 ? nb_force_box_forces(backend, opt, method, g, points, NULL)
					  : backend->gravity_points(g, points);
	nb_require_done(run, status, "the forces at points of", frame);
	const double seconds = nb_now() - start;
	if (walks)
		snprintf(counted, sizeof counted, ", body-body %" PRIu64 ", body-cell %" PRIu64 ", cell-cell %" PRIu64,
			count.p2p, count.m2p, count.m2l);
	nb_verbose("frame %" PRIu64 ": %s on %s, n %zu at %zu points, %.4g s%s", frame->number, nb_method_name[method],
		backend->name, g->n, points->n, seconds, counted);
}

/* The points without what is said of forces there, at the time of the sources. */
static struct nb_frame *prepare(struct force *opt, struct nb_frame *sources)
{
	static const char *const of_sources[] = {"time", "time_rest", "G", "box"};
	struct nb_frame *out = &opt->at.out;
	nb_require_valid(&opt->at.now);
	if (!nb_frame_field(&opt->at.now, NB_POS))
		nb_die(NB_EXIT_FAILED, "field 'pos' missing in frame %" PRIu64 " of '%s'", opt->at.now.number,
			opt->at_path);
	if (nb_frame_share(out, &opt->at.now))
		nb_out_of_memory(sources);
	nb_complete_kick(out);
	if (nb_require_attribute(out, "pending_kick", 0) != 0)
		nb_die(NB_EXIT_FAILED,
			"the velocities of frame %" PRIu64
			" of '%s' lag behind the positions, and there is no field 'acc' to complete the kick",
			opt->at.now.number, opt->at_path);
	nb_frame_drop_field(out, NB_ACC);
	nb_frame_drop_field(out, NB_POT);
	nb_frame_drop_field(out, NB_JERK);
	nb_drop_run_attributes(out);
	for (size_t k = 0; k < sizeof of_sources / sizeof *of_sources; k++) {
		const char *text = nb_frame_attribute(sources, of_sources[k]);
		if (text)
			nb_set_attribute(out, of_sources[k], text);
		else
			nb_frame_drop_attribute(out, of_sources[k]);
	}
	out->number = sources->number;
	return out;
}

void nb_force_at(struct nb_run *run, struct force *opt, struct nb_frame *frame)
{
	const struct nb_space *space;
	enum method method = nb_force_at_method(opt);
	struct nb_gravity g = {.n = frame->rows[NB_PARTICLE], .precision = nb_force_precision(opt, method)};
	struct nb_gravity_points points = {.n = 0};
	nb_require_valid(frame);
	opt->box = nb_force_box(run, opt, &method, frame);
	space = run->backend->space;
	advance(opt);
	opt->at.count++;
	nb_require_field(frame, NB_POS);
	nb_require_field(frame, NB_MASS);
	if (method == METHOD_TREE)
		nb_force_tree_make(run, opt, frame);
	g.G = nb_force_constant(run, opt, frame);
	g.pos = nb_require_f64(frame, NB_POS, space);
	g.mass = nb_require_f64(frame, NB_MASS, space);
	nb_force_soften(run, opt, frame, &g, "", 0);
	if (opt->box > 0)
		nb_force_check_box_softening(opt, method, frame, &g);

	struct nb_frame *out = prepare(opt, frame);
	const char *dtype = nb_real_dtype(out);
	points.n = out->rows[NB_PARTICLE];
	points.acc = nb_new_f64(out, NB_ACC, dtype, space);
	if (opt->potential)
		points.pot = nb_new_f64(out, NB_POT, dtype, space);
	points.pos = nb_require_f64(out, NB_POS, space);
	if (nb_frame_field(out, NB_EPS) && !nb_given(run, &opt->softening))
		points.eps = nb_require_f64(out, NB_EPS, space);
	compute(run, opt, method, frame, &g, &points);
	const char *name = nb_method_name[method];
	nb_force_require_in_range(run, name, out, nb_frame_field(out, NB_ACC), "an acceleration");
	nb_force_require_in_range(run, name, out, nb_frame_field(out, NB_POT), "a potential");
	nb_force_note_law(run, opt, out, &g);

	const struct nb_frame sources = *frame;
	*frame = *out;
	*out = sources;
	nb_frame_clear(out);
}
