/* nb-force --at: the field of the bodies of a frame at the positions of another stream. */
#include "tools/filter/files.h"
#include "tools/filter/kick.h"
#include "tools/filter/require.h"
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
	if (opt->method != METHOD_AUTO && opt->method != METHOD_DIRECT)
		nb_die(NB_EXIT_USAGE, "method %s computes no forces at points (want -m direct with '--at')",
			nb_method_name[opt->method]);
	if (opt->theta_given || opt->mac_given || opt->kernel_text)
		nb_die(NB_EXIT_USAGE, "option '--%s' has no effect with '--at', which sums directly",
			opt->theta_given ? "theta"
			: opt->mac_given ? "mac"
					 : "kernel");
	if (opt->precision == NB_F32 || opt->precision == NB_MIXED)
		nb_die(NB_EXIT_USAGE, "option '--at' computes in f64 only");
	if (opt->jerk || opt->audit)
		nb_die(NB_EXIT_USAGE, "option '--%s' has no effect with '--at'",
			opt->jerk	    ? "jerk"
			: opt->accuracy > 0 ? "accuracy"
					    : "audit");
	run->opens = opt->at_path;
}

void nb_force_at_begin(struct nb_run *run, struct force *opt)
{
	if (!opt->at_path)
		return;
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

/* The points without what is said of forces there, at the time of the sources. */
static struct nb_frame *prepare(struct force *opt, struct nb_frame *sources)
{
	static const char *const of_sources[] = {"time", "time_rest", "G"};
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
	const struct nb_space *space = run->backend->space;
	struct nb_gravity g = {.n = frame->rows[NB_PARTICLE], .precision = NB_F64};
	struct nb_gravity_points points = {.n = 0};
	nb_require_valid(frame);
	advance(opt);
	opt->at.count++;
	nb_require_field(frame, NB_POS);
	nb_require_field(frame, NB_MASS);
	g.G = nb_force_constant(run, opt, frame);
	g.pos = nb_require_f64(frame, NB_POS, space);
	g.mass = nb_require_f64(frame, NB_MASS, space);
	nb_force_soften(run, opt, frame, &g, "", 0);

	struct nb_frame *out = prepare(opt, frame);
	const char *dtype = nb_real_dtype(out);
	points.n = out->rows[NB_PARTICLE];
	points.acc = nb_new_f64(out, NB_ACC, dtype, space);
	if (opt->potential)
		points.pot = nb_new_f64(out, NB_POT, dtype, space);
	points.pos = nb_require_f64(out, NB_POS, space);
	if (nb_frame_field(out, NB_EPS) && !nb_given(run, &opt->softening))
		points.eps = nb_require_f64(out, NB_EPS, space);
	const double start = nb_now();
	nb_require_done(run, run->backend->gravity_points(&g, &points), "the forces at points of", frame);
	const double seconds = nb_now() - start;
	nb_force_require_in_range(run, "direct", out, nb_frame_field(out, NB_ACC), "an acceleration");
	nb_force_require_in_range(run, "direct", out, nb_frame_field(out, NB_POT), "a potential");
	nb_verbose("frame %" PRIu64 ": direct on %s, n %zu at %zu points, %.4g s", frame->number, run->backend->name,
		g.n, points.n, seconds);
	nb_force_note_law(run, opt, out, &g);

	const struct nb_frame sources = *frame;
	*frame = *out;
	*out = sources;
	nb_frame_clear(out);
}
