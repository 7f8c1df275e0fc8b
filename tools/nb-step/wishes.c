/* Who wants a shorter step than the others of a frame, for block time steps. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>

enum { PARALLEL = 10000 /* bodies: fewer are not worth starting threads */ };

/* Accelerations of a body in the middle of others cancel, and it would make a long step among bodies with short ones.
 * So the strength of the field is an acceleration, or, if it is more, DEPTH pot^2 / (G M), which does not cancel: with
 * DEPTH 1 the acceleration by all the mass in one point.  With 10, errors of the energy of King spheres of 1000
 * softened bodies are 30 to 500 times smaller than without potentials, for three times the work.  In a periodic box
 * potentials do not say how deep a body is. */
static const double DEPTH_SOFTENED = 10, DEPTH = 1;

/* In whole frames potentials are those of all bodies at each level, and steps may follow them more closely: DEPTH_WHOLE
 * |pot|^3 / (G M mean), with the mean |pot| of all.  For a King sphere of 8192 bodies, w0 12, that takes 6 forces for
 * each body where the other takes 11, and leaves a smaller error of the energy. */
static const double DEPTH_WHOLE = 2.5;

static const double *read_if_there(const struct step *s, enum nb_field field)
{
	return nb_frame_field(s->frame, field) ? nb_step_read(s, field, &nb_space_host) : NULL;
}

struct wish nb_step_find_wish(struct step *s)
{
	struct wish w = {
		.eta = s->opt.eta,
		.depth = s->opt.whole ? DEPTH_WHOLE : DEPTH_SOFTENED,
		.mean = s->opt.whole ? s->blocks.mean : 0,
		.eps = nb_require_attribute(s->frame, "softening", 0),
		.acc = nb_step_read(s, NB_ACC, &nb_space_host),
		.pot = nb_box_of(s->frame) > 0 ? NULL : read_if_there(s, NB_POT),
		.field = read_if_there(s, NB_POT_FIELD),
		.own_eps = read_if_there(s, NB_EPS),
		.mass = read_if_there(s, NB_MASS),
	};
	for (size_t i = 0; w.mass && i < s->frame->rows[NB_PARTICLE]; i++)
		w.total += w.mass[i]; /* one by one: the same for any number of threads */
	w.pull = fabs(nb_require_attribute(s->frame, "G", 1)) * w.total;
	return w;
}

/* The potential of the bodies themselves. */
static double potential(const struct wish *w, size_t i)
{
	return w->field ? w->pot[i] - w->field[i] : w->pot[i];
}

void nb_step_find_mean(struct step *s)
{
	const struct wish w = nb_step_find_wish(s);
	double sum = 0;
	for (size_t i = 0; w.pot && w.mass && i < s->frame->rows[NB_PARTICLE]; i++)
		sum += w.mass[i] * fabs(potential(&w, i));
	s->blocks.mean = w.total > 0 ? sum / w.total : 0;
}

static double strength(const struct wish *w, size_t i, double depth)
{
	const double *acc = w->acc + 3 * i, a = sqrt(acc[0] * acc[0] + acc[1] * acc[1] + acc[2] * acc[2]);
	const double pot = w->pot && w->pull > 0 ? potential(w, i) : 0;
	return pot != 0 ? fmax(a, depth * pot * pot / w->pull) : a;
}

int nb_step_wants_less(const struct wish *w, size_t i, double h)
{
	const double eps = w->own_eps ? w->own_eps[i] : w->eps;
	if (eps > 0) {
		const double deep = w->pot && w->mean > 0 ? fabs(potential(w, i)) / w->mean : 1;
		return w->eta * sqrt(eps) < h * sqrt(strength(w, i, w->depth * deep));
	}
	if (w->pot && potential(w, i) != 0)
		return w->eta * sqrt(fabs(potential(w, i))) < h * strength(w, i, DEPTH);
	return strength(w, i, 0) > 0 ? 2 : 0;
}

void nb_step_refuse_wish(struct step *s)
{
	nb_step_progress_clear(&s->progress);
	if (nb_box_of(s->frame) > 0)
		nb_die(NB_EXIT_FAILED,
			"option '--levels' in a periodic box needs a softening in step %" PRIu64
			" (give nb-force a softening > 0)",
			s->clock.step);
	nb_die(NB_EXIT_FAILED,
		"option '--levels' needs a softening or potentials in step %" PRIu64
		" (give nb-force a softening > 0, or --potential)",
		s->clock.step);
}

/* Marks who wants less than h, and returns how many do. */
static size_t mark_fast(struct step *s, const struct wish *w, size_t n, double h)
{
	unsigned char *mark = s->blocks.mark;
	size_t fast = 0, unknown = 0;
#pragma omp parallel for schedule(static) reduction(+ : fast, unknown) if (n > PARALLEL)
	for (size_t i = 0; i < n; i++) {
		const int wants = nb_step_wants_less(w, i, h);
		mark[i] = (unsigned char)wants;
		fast += wants == 1;
		unknown += wants == 2;
	}
	if (unknown)
		nb_step_refuse_wish(s);
	return fast;
}

/* A heavy body is what makes light ones fast while it hardly moves: with four times the mass of one of them, or more,
 * it wants at least twice its step.  If it has a hundredth of all mass, or more, it goes with them, or it would pull
 * them with the long step.  Returns how many such bodies there are more. */
static size_t mark_heavy(struct step *s, const struct wish *w, size_t n)
{
	unsigned char *mark = s->blocks.mark;
	double least = INFINITY;
	size_t more = 0;
	for (size_t i = 0; w->mass && i < n; i++)
		least = mark[i] ? fmin(least, w->mass[i]) : least;
	for (size_t i = 0; w->mass && i < n; i++)
		if (!mark[i] && w->mass[i] > 0 && w->mass[i] >= w->total / 100 && w->mass[i] >= 4 * least) {
			mark[i] = 1;
			more++;
		}
	return more;
}

size_t nb_step_choose_fast(struct step *s, int level, double h)
{
	struct blocks *b = &s->blocks;
	const size_t n = s->frame->rows[NB_PARTICLE];
	const struct wish w = nb_step_find_wish(s);
	nb_free(b->mark);
	b->mark = nb_require_memory(s->frame, nb_alloc(n, 1));
	const size_t fast = mark_fast(s, &w, n, fabs(h));
	if (level + 1 >= s->opt.levels) {
		b->last += (double)n;
		b->hasty += (double)fast;
		return 0;
	}
	return fast ? fast + mark_heavy(s, &w, n) : 0;
}
