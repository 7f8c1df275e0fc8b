/* Block time steps by hierarchical splitting: the bodies that want a step shorter than that of their frame make, alone,
 * two steps of half the length, with the force of each other; what pulls them from outside comes with the long step.
 * So the force pipeline gets whole frames only, of fewer and fewer bodies, and no position is predicted.
 *
 * A step h of a frame S, whose bodies want it or more except those of F (a leapfrog for each part of H = sum H_n):
 *     S is kicked by a(S) h/2, F by -a(F) h/2;  S without F drifts by h, F makes two steps of h/2;  the kicks again
 * where a(S) is the acceleration by the bodies of S alone.  In a periodic box it is that of S and its images, less that
 * of the mean density of S, so those of S without F and of F add up, too.  In an expanding universe (--cosmology) times
 * and steps are shares of the step of all bodies, and kicks and drifts are integrals over them.
 *
 * Sources: Pelupessy, Jaenes & Portegies Zwart 2012, New Astronomy 17, 711 (HOLD); Springel et al. 2021, MNRAS 506,
 * 2871 (GADGET-4's hierarchical gravity; with a third or more in F, all make the shorter steps: S twice costs less than
 * S once and F three times). */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The name of the column with which a sub-frame says where its bodies are in the frame that it is of. */
static const char origin_name[] = "nb_step_origin";

void nb_step_blocks_check(struct step *s)
{
	const char *other = s->opt.collide != COLLIDE_NONE ? "collide"
			    : s->opt.send_velocities	   ? "send-velocities"
							   : NULL;
	const int given = nb_given(s->run, &s->opt.blocks_number);
	if (given && s->opt.levels < 2)
		nb_die(NB_EXIT_USAGE, "option '--blocks' needs '--levels' of 2 or more");
	if (!s->opt.levels_given)
		return;
	if (!s->opt.command)
		nb_die(NB_EXIT_USAGE, "option '--levels' needs the force pipeline as operand");
	if (s->opt.integrator != &nb_integrator_leapfrog && !s->opt.integrator->corrections)
		nb_die(NB_EXIT_USAGE, "option '--levels' needs '--integrator leapfrog' or 'hermite'");
	if (given && s->opt.blocks_number == BLOCKS_SPLIT && s->opt.integrator->corrections)
		nb_die(NB_EXIT_USAGE,
			"'--integrator hermite' makes no split steps (want '--blocks whole', or nothing)");
	s->opt.whole = s->opt.blocks_number == BLOCKS_WHOLE || s->opt.integrator->corrections;
	if (other)
		nb_die(NB_EXIT_USAGE,
			"give either --levels or --%s (bodies that make steps of their own are sent alone)", other);
	if (!s->opt.dt_given || !s->opt.eta_given)
		nb_die(NB_EXIT_USAGE, "option '--levels' needs the longest step and how short others are (give -d and "
				      "--eta)");
}

/* ---- sub-frames --------------------------------------------------------------------------------- */

void nb_step_set_level(struct step *s, int level)
{
	struct nb_column *column = nb_frame_field(s->frame, NB_LEVEL);
	if (!column || strcmp(column->dtype, "|u1") != 0 || column->ncomp != 1)
		column = nb_new_column(s->frame, NB_LEVEL, NULL, 0);
	unsigned char *data = nb_require_memory(s->frame, nb_column_write(column, &nb_space_host, NB_WIRE));
	memset(data, level, s->frame->rows[NB_PARTICLE]);
}

/* The rows that are marked, as the column of a frame of their own. */
static const uint32_t *list_marked(struct step *s, struct nb_frame *origin, size_t count)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	nb_frame_clear(origin);
	origin->rows[NB_PARTICLE] = count;
	struct nb_column *column = nb_frame_add(origin, origin_name, NB_PARTICLE, "<u4", 1, "", 0);
	uint32_t *row = nb_require_memory(s->frame, nb_column_write(column, &nb_space_host, NB_WIRE));
	for (size_t i = 0, k = 0; i < n; i++)
		if (s->blocks.mark[i])
			row[k++] = (uint32_t)i;
	nb_free(s->blocks.mark);
	s->blocks.mark = NULL;
	return nb_require_memory(s->frame, nb_column_read(column, s->backend->space, NB_WIRE));
}

/* Makes the marked bodies a frame, which is the one at work from then on. */
static void descend(struct step *s, struct sub *sub, size_t count)
{
	const struct nb_frame *whole = s->frame;
	const uint32_t *row = list_marked(s, &sub->origin, count);
	if (nb_frame_share(&sub->frame, s->frame))
		nb_out_of_memory(whole);
	sub->whole = s->frame;
	sub->aside = s->aside;
	s->frame = &sub->frame;
	nb_step_drop_stale(s);
	nb_frame_drop_tree(s->frame);
	int status = nb_frame_gather(s->frame, NB_PARTICLE, count, row, s->backend->space, s->backend->permute);
	if (status == NB_ENOMEM)
		nb_out_of_memory(whole);
	nb_step_require(s, status);
	s->aside = &sub->origin;
}

/* Puts the bodies of the sub-frame back, with all that the pipeline made of their columns. */
static void ascend(struct step *s, struct sub *sub)
{
	const struct nb_space *space = s->backend->space;
	const uint32_t *row = nb_require_memory(s->frame, nb_column_read(&sub->origin.column[0], space, NB_WIRE));
	for (size_t c = 0; c < sub->frame.ncolumn; c++) {
		struct nb_column *from = &sub->frame.column[c], *to = nb_frame_find(sub->whole, from->name);
		if (from->table != NB_PARTICLE || !to || (from->flags & NB_DERIVED))
			continue;
		if (strcmp(from->dtype, to->dtype) != 0 || from->ncomp != to->ncomp) {
			char what[160];
			snprintf(what, sizeof what, "returned field '%s' with another type of some bodies only",
				from->name);
			nb_step_fail_force(s, what);
		}
		const void *source = nb_require_memory(s->frame, nb_column_read(from, space, NB_WIRE));
		const unsigned never = to->never & from->never;
		void *target = nb_require_memory(s->frame, nb_column_update(to, space, NB_WIRE));
		nb_step_require(s, s->backend->scatter(from->rows, row, from->rowsize, source, target));
		to->never = never;
	}
	s->frame = sub->whole;
	s->aside = sub->aside;
	nb_frame_clear(&sub->frame);
	nb_frame_clear(&sub->origin);
}

/* ---- steps -------------------------------------------------------------------------------------- */

/* The step h that begins at this time of that of all bodies, for a kick. */
static double kick_length(const struct step *s, double at, double h)
{
	return s->opt.cosmology ? nb_step_comoving_kick(s, at, at + h) : h;
}

static void drift(struct step *s, struct nb_frame *frame, double at, double h)
{
	struct nb_frame *at_work = s->frame;
	s->frame = frame;
	nb_step_drift(s, s->opt.cosmology ? nb_step_comoving_drift(s, at, at + h) : h);
	s->frame = at_work;
}

static void compute_force(struct step *s, double at)
{
	nb_require_alive(s->run);
	s->clock.now = s->opt.cosmology ? (struct moment){.time = nb_step_comoving_time(s, at)}
					: nb_step_later(s->blocks.begun, at);
	s->blocks.sent += (double)s->frame->rows[NB_PARTICLE];
	nb_step_compute_force(s);
}

static void make_step(struct step *s, int level, double h, double at);

/* The bodies of the frame that want less than h make two steps of h/2, and the others drift. */
static void make_parts(struct step *s, int level, double h, double at, size_t fast)
{
	struct sub *sub = &s->blocks.sub[level];
	descend(s, sub, fast);
	compute_force(s, at);
	nb_step_kick(s, -kick_length(s, at, h / 2));
	drift(s, sub->whole, at, h);
	for (int half = 0; half < 2; half++) {
		make_step(s, level + 1, h / 2, at + half * (h / 2));
		compute_force(s, at + (half + 1) * (h / 2));
		nb_step_finish_kick(s);
	}
	nb_step_kick(s, -kick_length(s, at + h / 2, h / 2));
	ascend(s, sub);
}

/* A step h of the frame at work, which begins at this time of the step of all bodies.  The last kick is left
 * (s->clock.pending), as it needs the force at the new positions. */
static void make_step(struct step *s, int level, double h, double at)
{
	struct blocks *b = &s->blocks;
	const size_t n = s->frame->rows[NB_PARTICLE],
		     fast = nb_step_choose_fast(s, level, s->opt.cosmology ? nb_step_comoving_fall(s, at, at + h) : h);
	if (fast && fast >= (n + 2) / 3) {
		make_step(s, level + 1, h / 2, at);
		compute_force(s, at + h / 2);
		nb_step_finish_kick(s);
		make_step(s, level + 1, h / 2, at + h / 2);
		return;
	}
	b->deepest = level > b->deepest ? level : b->deepest;
	nb_step_set_level(s, level);
	nb_step_kick(s, kick_length(s, at, h / 2));
	if (fast)
		make_parts(s, level, h, at, fast);
	else
		drift(s, s->frame, at, h);
	nb_step_drop_stale(s);
	s->clock.pending = kick_length(s, at + h / 2, h / 2);
	nb_step_require_in_range(s, s->clock.step + 1, h);
}

void nb_step_advance_blocks(struct step *s, double dt)
{
	struct blocks *b = &s->blocks;
	const size_t n = s->frame->rows[NB_PARTICLE];
	b->begun = s->clock.now;
	b->deepest = 0;
	make_step(s, 0, dt, 0);
	s->clock.now = b->begun;
	b->whole += ldexp((double)n, b->deepest);
	b->most = b->deepest > b->most ? b->deepest : b->most;
	b->sent += (double)n;
}

void nb_step_blocks_begin(struct step *s)
{
	if (s->opt.levels > 1 && !nb_frame_field(s->frame, NB_LEVEL))
		nb_step_set_level(s, 0);
}

void nb_step_blocks_warn(struct step *s)
{
	struct blocks *b = &s->blocks;
	if (b->warned || !(b->hasty > 0))
		return;
	b->warned = 1;
	nb_step_progress_clear(&s->progress);
	nb_warn("bodies want shorter steps than --levels %d has, in step %" PRIu64 " (want %s)", s->opt.levels,
		s->clock.step + 1, s->opt.levels < NB_STEP_LEVELS ? "--levels max" : "a softening, or a shorter -d");
}

void nb_step_blocks_report(const struct step *s)
{
	const struct blocks *b = &s->blocks;
	if (s->opt.levels < 2 || b->sent == 0)
		return;
	nb_verbose("levels: shortest step dt/%.0f; %.4g times as many %s if all made that of each dt",
		ldexp(1, b->most), b->whole / b->sent, s->opt.whole ? "forces" : "bodies through the force pipeline");
	if (b->hasty > 0)
		nb_verbose(
			"levels: %.3g %% of the steps of the last level should be shorter", 100 * b->hasty / b->last);
}

void nb_step_blocks_free(struct blocks *b)
{
	for (int k = 0; k < NB_STEP_LEVELS; k++) {
		nb_frame_clear(&b->sub[k].frame);
		nb_frame_clear(&b->sub[k].origin);
	}
	nb_free(b->mark);
	b->mark = NULL;
	nb_free(b->other);
	b->other = NULL;
}
