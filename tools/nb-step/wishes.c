/* Who wants a shorter step than the others of a frame, for block time steps. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>

enum { PARALLEL = 10000 /* bodies: fewer are not worth starting threads */ };

/* What sets the steps of a frame, on the host. */
struct wish {
	double eta, eps;
	double total, pull;			  /* mass of all bodies; G times it */
	const double *acc, *pot, *own_eps, *mass; /* NULL: there is none */
	const double *field;			  /* what of pot is of an external field, or NULL */
};

static const double *read_if_there(const struct step *s, enum nb_field field)
{
	return nb_frame_field(s->frame, field) ? nb_step_read(s, field, &nb_space_host) : NULL;
}

static struct wish find_wish(struct step *s)
{
	struct wish w = {
		.eta = s->eta,
		.eps = nb_require_attribute(s->frame, "softening", 0),
		.acc = nb_step_read(s, NB_ACC, &nb_space_host),
		.pot = read_if_there(s, NB_POT),
		.field = read_if_there(s, NB_POT_FIELD),
		.own_eps = read_if_there(s, NB_EPS),
		.mass = read_if_there(s, NB_MASS),
	};
	for (size_t i = 0; w.mass && i < s->frame->rows[NB_PARTICLE]; i++)
		w.total += w.mass[i]; /* one by one: the same for any number of threads */
	w.pull = fabs(nb_require_attribute(s->frame, "G", 1)) * w.total;
	return w;
}

/* Accelerations of a body in the middle of others cancel, and it would make a long step among bodies with short ones.
 * So the strength of the field is an acceleration, or, if it is more, DEPTH pot^2 / (G M), which does not cancel: with
 * DEPTH 1 the acceleration by all the mass in one point.  With 10, errors of the energy of King spheres of 1000
 * softened bodies are 30 to 500 times smaller than without potentials, for three times the work. */
static const double DEPTH_SOFTENED = 10, DEPTH = 1;

/* The potential of the bodies themselves. */
static double potential(const struct wish *w, size_t i)
{
	return w->field ? w->pot[i] - w->field[i] : w->pot[i];
}

static double strength(const struct wish *w, size_t i, double depth)
{
	const double *acc = w->acc + 3 * i, a = sqrt(acc[0] * acc[0] + acc[1] * acc[1] + acc[2] * acc[2]);
	const double pot = w->pot && w->pull > 0 ? potential(w, i) : 0;
	return pot != 0 ? fmax(a, depth * pot * pot / w->pull) : a;
}

/* Whether eta sqrt(eps / f), or eta sqrt(|pot|) / f of a body without softening, is less than h > 0, where f is the
 * strength of the field: 1, or 0; 2 if there is neither. */
static int wants_less(const struct wish *w, size_t i, double h)
{
	const double eps = w->own_eps ? w->own_eps[i] : w->eps;
	if (eps > 0)
		return w->eta * sqrt(eps) < h * sqrt(strength(w, i, DEPTH_SOFTENED));
	if (w->pot && potential(w, i) != 0)
		return w->eta * sqrt(fabs(potential(w, i))) < h * strength(w, i, DEPTH);
	return strength(w, i, 0) > 0 ? 2 : 0;
}

/* Marks who wants less than h, and returns how many do. */
static size_t mark_fast(struct step *s, const struct wish *w, size_t n, double h)
{
	unsigned char *mark = s->blocks.mark;
	size_t fast = 0, unknown = 0;
#pragma omp parallel for schedule(static) reduction(+ : fast, unknown) if (n > PARALLEL)
	for (size_t i = 0; i < n; i++) {
		const int wants = wants_less(w, i, h);
		mark[i] = (unsigned char)wants;
		fast += wants == 1;
		unknown += wants == 2;
	}
	if (unknown) {
		nb_step_progress_clear(s);
		nb_die(NB_EXIT_FAILED,
			"option '--levels' needs a softening or potentials in step %" PRIu64
			" (give nb-force a softening > 0, or --potential)",
			s->step);
	}
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
	const struct wish w = find_wish(s);
	nb_free(b->mark);
	b->mark = nb_alloc(n, 1);
	if (!b->mark)
		nb_out_of_memory(s->frame);
	const size_t fast = mark_fast(s, &w, n, fabs(h));
	if (level + 1 >= s->levels) {
		b->last += (double)n;
		b->hasty += (double)fast;
		return 0;
	}
	return fast ? fast + mark_heavy(s, &w, n) : 0;
}
