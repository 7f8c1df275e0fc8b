/* Steps of order 15 of a few bodies (kernels/small/ias15.h), which find their own length.  States at given times are
 * those of the polynomials within the step that passes them, so that nobody who looks changes a step. */
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>

const struct nb_integrator nb_integrator_ias15 = {.few = NB_FEW_IAS15};

/* --eta, if it is not given: of the order of the rounding of a double. */
static const double ETA = 0.175;

/* Shorter ones, as a fraction of the time since the beginning, do not move the time. */
static const double STEP_LEAST = 1e-15;

static double way_of(const struct step *s)
{
	return s->opt.dt < 0 ? -1 : 1;
}

static _Noreturn void fail(struct step *s, const char *what)
{
	nb_step_progress_clear(&s->progress);
	nb_die(NB_EXIT_FAILED, "%s in step %" PRIu64 ", at the time %g (want a softening, or an earlier end)", what,
		s->clock.step + 1, s->fifteen.ended.time);
}

void nb_step_ias15_begin(struct step *s)
{
	struct nb_ias15 *run = &s->fifteen.run;
	const double longest = s->opt.dt_given ? fabs(s->opt.dt) : INFINITY, eta = s->opt.eta_given ? s->opt.eta : ETA;
	s->fifteen.ended = s->fifteen.begun = s->clock.now;
	s->fifteen.within = 0;
	if (nb_ias15_begin(run, s->frame->rows[NB_PARTICLE], nb_step_read(s, NB_MASS, &nb_space_host),
		    nb_require_attribute(s->frame, "G", 1), nb_require_attribute(s->frame, "softening", 0)))
		nb_die(NB_EXIT_FAILED,
			"'--integrator ias15' takes no masses or softening as extreme as those of frame %" PRIu64,
			s->frame->number);
	if (nb_ias15_load(run, nb_step_read(s, NB_POS, &nb_space_host), nb_step_read(s, NB_VEL, &nb_space_host), eta,
		    longest, (int)way_of(s)))
		fail(s, "bodies are at the same place, or too far apart,");
}

static double time_after(const struct moment *from, double time)
{
	return (time - from->time) - from->rest;
}

static void make_step(struct step *s)
{
	struct fifteen *f = &s->fifteen;
	if (nb_ias15_step(&f->run))
		fail(s, "bodies collide, or leave the range of numbers,");
	f->begun = f->ended;
	f->ended = nb_step_later(f->begun, f->run.last);
	if (!isfinite(f->ended.time))
		fail(s, "steps grow beyond the range of numbers, as nothing pulls a body,");
	if (fabs(f->run.last) <= STEP_LEAST * fabs(f->run.elapsed))
		fail(s, "bodies come so close, or go so far, that steps no longer move the time,");
	s->clock.step++;
}

uint64_t nb_step_ias15(struct step *s, uint64_t most, double *exact)
{
	enum { MOST = 1 << 10 }; /* milliseconds, for signals and progress */
	struct fifteen *f = &s->fifteen;
	double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
	const double mark = *exact;
	uint64_t made = 0;
	*exact = NAN;
	f->within = 0;
	for (most = most < MOST ? most : MOST;; made++) {
		if (isfinite(mark) && f->run.last != 0 && way_of(s) * time_after(&f->ended, mark) <= 0) {
			nb_ias15_at(&f->run, time_after(&f->begun, mark), x, v);
			s->clock.now = (struct moment){.time = mark};
			*exact = mark;
			f->within = time_after(&f->ended, mark) != 0;
			break;
		}
		if (made == most) {
			nb_ias15_at(&f->run, f->run.last, x, v);
			s->clock.now = f->ended;
			break;
		}
		make_step(s);
	}
	nb_step_few_show(s, x, v, f->run.last);
	return made;
}
