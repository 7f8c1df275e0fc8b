/* Block time steps with whole frames: each body makes the step dt/2^level that suits it, and whenever one or more come
 * to the end of theirs, all are predicted for that moment and only these get a force.  With hermite, that corrects
 * them.  With the leapfrog, bodies drift with the velocities in the middle of their steps, and the force is that of two
 * half kicks, which end a step and begin the next.  Times of a step dt of all bodies are counted in the shortest step
 * that the levels allow, so they are exact; at its end all bodies are there, and get the force at their places.
 *
 * Sources: Makino & Aarseth 1992, PASJ 44, 141; McMillan 1986, in The Use of Supercomputers in Stellar Dynamics, 156,
 * for steps that are powers of two; Springel 2005, MNRAS 364, 1105, section 4, for kicks and drifts. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <math.h>
#include <string.h>

/* The column of when the step of a body began. */
static const char begun_name[] = "nb_step_begun";

/* The bodies at the beginnings of their steps (s->here), on the host.  Those of the leapfrog have no forces there, and
 * velocities half a step later. */
struct bodies {
	struct nb_hermite at;
	unsigned char *level;
};

static double *update(struct step *s, const char *name)
{
	struct nb_column *column = nb_frame_find(&s->here, name);
	double *data = column ? nb_column_update(column, &nb_space_host, NB_AS_F64) : NULL;
	if (column && !data)
		nb_out_of_memory(s->frame);
	return data;
}

/* Anew after each force, as the pipeline may have put bodies into another order. */
static struct bodies look(struct step *s)
{
	struct bodies b = {
		.at = {.n = s->here.rows[NB_PARTICLE],
			.unit = s->blocks.unit,
			.pos = update(s, "pos"),
			.vel = update(s, "vel"),
			.acc = update(s, "acc"),
			.jerk = update(s, "jerk"),
			.begun = update(s, begun_name),
			.scale = update(s, "timescale")},
		.level = nb_column_update(nb_frame_field(&s->here, NB_LEVEL), &nb_space_host, NB_WIRE),
	};
	if (!b.level)
		nb_out_of_memory(s->frame);
	return b;
}

/* ---- who makes which step ----------------------------------------------------------------------- */

/* Half of the step of a body. */
static void kick(const struct bodies *b, const struct step *s, const double *acc, size_t i)
{
	const double half = nb_step_level_length(s, b->level[i]) * s->blocks.unit / 2;
	for (size_t k = 3 * i; k < 3 * i + 3; k++)
		b->at.vel[k] += half * acc[k];
}

/* Begins the leapfrog's steps of the bodies that are marked, or of all. */
static void begin_kicks(struct step *s, const struct bodies *b, double now)
{
	const struct wish w = nb_step_find_wish(s);
	for (size_t i = 0; i < b->at.n; i++)
		if (now == 0 || s->blocks.mark[i]) {
			b->level[i] = (unsigned char)nb_step_choose_level_by_field(s, &w, i, now);
			kick(b, s, w.acc, i);
		}
}

/* other: of the binaries that are known, or NULL. */
static void choose_levels(struct step *s, const struct bodies *b, const uint32_t *other, double now)
{
	for (size_t i = 0; i < b->at.n; i++)
		if (now == 0 || s->blocks.mark[i]) {
			const double rate = other && other[i] != i ? nb_hermite_binary_rate(&b->at, i, other[i]) : 0;
			b->level[i] = (unsigned char)nb_step_choose_level(s, b->level[i], b->at.scale[i], rate, now);
		}
}

/* When the next steps end. */
static double next_end(const struct step *s, const struct bodies *b)
{
	double next = INFINITY;
	for (size_t i = 0; i < b->at.n; i++)
		next = fmin(next, b->at.begun[i] + nb_step_level_length(s, b->level[i]));
	return next;
}

/* Marks whose steps end then, and returns how many do. */
static size_t mark_ends(struct step *s, const struct bodies *b, double now)
{
	size_t count = 0;
	for (size_t i = 0; i < b->at.n; i++) {
		s->blocks.mark[i] = b->at.begun[i] + nb_step_level_length(s, b->level[i]) == now;
		count += s->blocks.mark[i];
	}
	return count;
}

/* ---- forces ------------------------------------------------------------------------------------- */

static void predict(struct step *s, const struct bodies *b, double now)
{
	double *pos = nb_require_memory(
		s->frame, nb_column_write(nb_frame_field(s->frame, NB_POS), &nb_space_host, NB_AS_F64));
	if (s->opt.integrator->corrections) {
		double *vel = nb_require_memory(
			s->frame, nb_column_write(nb_frame_field(s->frame, NB_VEL), &nb_space_host, NB_AS_F64));
		nb_hermite_predict(&b->at, now, pos, vel);
	} else {
		nb_drift_from(b->at.n, b->at.begun, now, b->at.unit, b->at.pos, b->at.vel, pos);
	}
	nb_step_require_in_range(s, s->clock.step + 1, s->opt.dt);
}

/* The forces on the marked bodies, where all are predicted. */
static void compute_forces(struct step *s, size_t count, double now)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	struct nb_column *column = nb_new_column(s->frame, NB_ACTIVE, NULL, 0);
	unsigned char *active = nb_require_memory(s->frame, nb_column_write(column, &nb_space_host, NB_WIRE));
	memcpy(active, s->blocks.mark, n);
	nb_require_alive(s->run);
	s->clock.now = nb_step_later(s->blocks.begun, now * s->blocks.unit);
	s->blocks.sent += (double)count;
	nb_step_compute_force(s);
	nb_frame_drop_field(s->frame, NB_ACTIVE);
}

/* ---- a step of all bodies ----------------------------------------------------------------------- */

/* What stays here while forces are computed. */
static void set_aside(struct step *s)
{
	static const char *const kept[] = {"pos", "vel", "level", "acc", "jerk", "timescale"};
	const size_t nkept = s->opt.integrator->corrections ? 6 : 3;
	struct nb_frame *here = &s->here;
	const size_t n = s->frame->rows[NB_PARTICLE];
	struct nb_column *level = nb_frame_field(s->frame, NB_LEVEL);
	if (!level || strcmp(level->dtype, "|u1") != 0 || level->ncomp != 1)
		nb_step_set_level(s, 0);
	if (nb_frame_share(here, s->frame))
		nb_out_of_memory(s->frame);
	for (size_t c = here->ncolumn; c-- > 0;) {
		size_t k = 0;
		while (k < nkept && strcmp(here->column[c].name, kept[k]) != 0)
			k++;
		if (k == nkept)
			nb_frame_drop(here, here->column[c].name);
	}
	double *begun = nb_column_write(
		nb_frame_add(here, begun_name, NB_PARTICLE, "<f8", 1, "", 0), &nb_space_host, NB_AS_F64);
	nb_free(s->blocks.mark);
	s->blocks.mark = nb_alloc(n + 1, 1);
	nb_free(s->blocks.other);
	s->blocks.other = nb_alloc(n + 1, sizeof *s->blocks.other);
	if (!begun || !s->blocks.mark || !s->blocks.other)
		nb_out_of_memory(s->frame);
	for (size_t i = 0; i < n; i++)
		begun[i] = 0;
	s->aside = here;
}

/* Bodies that orbit each other many times in a step of all lose energy in each orbit, which adds up, and those that
 * pass each other closely lose much of it at once.  Their steps are corrected twice, and are as long as they would be
 * back in time; then no trend is left. */
static size_t find_binaries(struct step *s, const struct bodies *b, double now)
{
	return nb_hermite_find_binaries(&b->at, now, s->blocks.mark, nb_step_read(s, NB_POS, &nb_space_host),
		nb_step_read(s, NB_VEL, &nb_space_host), nb_step_read(s, NB_ACC, &nb_space_host), fabs(s->opt.dt) / 4,
		s->blocks.other);
}

/* Puts the binaries whose steps end there where the first correction leads, for another force. */
static int correct_binaries(struct step *s, double now)
{
	const struct bodies b = look(s);
	mark_ends(s, &b, now);
	if (!find_binaries(s, &b, now))
		return 0;
	const double *acc = nb_step_read(s, NB_ACC, &nb_space_host), *jerk = nb_step_read(s, NB_JERK, &nb_space_host);
	double *pos = nb_step_update(s, NB_POS, &nb_space_host), *vel = nb_step_update(s, NB_VEL, &nb_space_host);
	for (size_t i = 0; i < b.at.n; i++)
		if (s->blocks.other[i] != i)
			nb_hermite_place(&b.at, now, i, acc, jerk, pos + 3 * i, vel + 3 * i);
	nb_step_require_in_range(s, s->clock.step + 1, s->opt.dt);
	return 1;
}

/* Takes back steps of binaries that prove too long at their end, if nobody has begun a step in the meantime: nothing
 * has changed then since they began, and the halves take their place. */
static int take_back(struct step *s, const struct bodies *b, const double *acc, const double *jerk, double now)
{
	double latest = 0;
	int count = 0;
	for (size_t i = 0; i < b->at.n; i++)
		latest = fmax(latest, b->at.begun[i]);
	for (size_t i = 0; i < b->at.n; i++) {
		const size_t j = s->blocks.other[i];
		if (j == i || b->at.begun[i] < latest || b->level[i] + 1 >= s->opt.levels)
			continue;
		const double scale = nb_hermite_binary_scale(&b->at, now, i, j, acc, jerk) / fabs(b->at.unit);
		if (nb_step_level_is_too_long(s, b->level[i], sqrt(s->opt.eta) * scale, 0)) {
			b->level[i]++;
			count++;
		}
	}
	return count;
}

/* Of hermite, whose steps end there: corrects them, and chooses the next ones.  0 if some are taken back instead. */
static int end_and_begin(struct step *s, int binaries, double now)
{
	struct bodies b = look(s);
	const double *acc = nb_step_read(s, NB_ACC, &nb_space_host), *jerk = nb_step_read(s, NB_JERK, &nb_space_host);
	const uint32_t *other = NULL;
	if (binaries) { /* bodies may have been sorted since */
		mark_ends(s, &b, now);
		other = find_binaries(s, &b, now) ? s->blocks.other : NULL;
		if (other && take_back(s, &b, acc, jerk, now))
			return 0;
	}
	nb_hermite_correct(&b.at, now, s->blocks.mark, other, acc, jerk);
	if (now < nb_step_level_length(s, 0))
		choose_levels(s, &b, other, now);
	return 1;
}

/* The same of the leapfrog. */
static void kick_twice(struct step *s, double now)
{
	const struct bodies b = look(s);
	const double *acc = nb_step_read(s, NB_ACC, &nb_space_host), *pos = nb_step_read(s, NB_POS, &nb_space_host);
	mark_ends(s, &b, now);
	for (size_t i = 0; i < b.at.n; i++)
		if (s->blocks.mark[i]) {
			kick(&b, s, acc, i);
			memcpy(b.at.pos + 3 * i, pos + 3 * i, 3 * sizeof *pos);
			b.at.begun[i] = now;
		}
	begin_kicks(s, &b, now);
}

void nb_step_advance_individual(struct step *s, double dt)
{
	struct blocks *b = &s->blocks;
	const int corrects = s->opt.integrator->corrections;
	const size_t n = s->frame->rows[NB_PARTICLE];
	const double all = ldexp(1, s->opt.levels - 1);
	b->begun = s->clock.now;
	b->unit = dt / all;
	b->deepest = 0;
	set_aside(s);
	struct bodies bodies = look(s);
	if (corrects) {
		choose_levels(s, &bodies, NULL, 0);
	} else {
		nb_step_find_mean(s);
		begin_kicks(s, &bodies, 0);
	}
	for (double now = 0; n > 0 && now < all;) {
		bodies = look(s);
		now = next_end(s, &bodies);
		const size_t count = mark_ends(s, &bodies, now);
		predict(s, &bodies, now);
		if (now == all && !corrects) /* where they are: the force at the end of the step is this one */
			break;
		compute_forces(s, count, now);
		const int binaries = corrects && correct_binaries(s, now);
		if (binaries)
			compute_forces(s, count, now);
		if (corrects && !end_and_begin(s, binaries, now))
			now = 0;
		if (!corrects)
			kick_twice(s, now);
	}
	if (corrects) {
		nb_frame_exchange(s->frame, "pos", &s->here, "pos");
		nb_frame_exchange(s->frame, "vel", &s->here, "vel");
	}
	nb_step_drop_stale(s);
	s->clock.now = b->begun;
	b->whole += ldexp((double)n, b->deepest);
	b->most = b->deepest > b->most ? b->deepest : b->most;
	b->sent += (double)n;
}

void nb_step_end_individual(struct step *s)
{
	if (s->opt.integrator->corrections) {
		nb_new_column(s->frame, NB_TIMESCALE, NULL, 0);
		nb_frame_exchange(s->frame, "timescale", &s->here, "timescale");
	} else {
		const struct bodies b = look(s);
		const double *acc = nb_step_read(s, NB_ACC, &nb_space_host);
		for (size_t i = 0; i < b.at.n; i++)
			kick(&b, s, acc, i);
		nb_frame_exchange(s->frame, "vel", &s->here, "vel");
	}
	nb_frame_exchange(s->frame, "level", &s->here, "level");
	s->aside = NULL;
	nb_frame_clear(&s->here);
}
