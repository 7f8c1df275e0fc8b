/* swarm_cpu.c - steps of many systems, each by a thread. */
#include "common/mem.h"
#include "kernels/small/small.h"

#include <math.h>
#include <string.h>

struct nb_whfast_swarm {
	size_t systems;
	struct nb_whfast w[];
};

int nb_whfast_swarm_begin_cpu(struct nb_whfast_swarm **swarm, const struct nb_whfast *w, size_t systems)
{
	*swarm = nb_alloc(1, sizeof **swarm + systems * sizeof *w);
	if (!*swarm)
		return NB_ENOMEM;
	(*swarm)->systems = systems;
	if (systems)
		memcpy((*swarm)->w, w, systems * sizeof *w);
	for (size_t k = 0; k < systems; k++) {
		(*swarm)->w[k].failed = 0;
		(*swarm)->w[k].closest = 0;
	}
	return NB_OK;
}

/* Returns whether they have failed. */
static int make_steps(struct nb_whfast *w, uint64_t steps)
{
	const struct nb_whfast before = *w;
	const struct nb_variation varied = w->variation ? *w->variation : (struct nb_variation){0};
	if (w->failed)
		return 0;
	if (nb_whfast_steps(w, steps) == NB_OK) {
		w->closest = fmax(w->closest, before.closest);
		return 0;
	}
	const size_t failed = w->failed;
	*w = before;
	w->failed = failed;
	if (w->variation)
		*w->variation = varied;
	return 1;
}

int nb_whfast_swarm_steps_cpu(struct nb_whfast_swarm *swarm, const uint64_t *steps, int *failed)
{
	int any = 0;
#pragma omp parallel for schedule(dynamic) reduction(| : any) if (swarm->systems > 1)
	for (size_t k = 0; k < swarm->systems; k++)
		any |= make_steps(&swarm->w[k], steps[k]);
	*failed = any;
	return NB_OK;
}

int nb_whfast_swarm_state_cpu(struct nb_whfast_swarm *swarm, struct nb_whfast *w)
{
	if (swarm->systems)
		memcpy(w, swarm->w, swarm->systems * sizeof *w);
	for (size_t k = 0; k < swarm->systems; k++)
		swarm->w[k].closest = 0;
	return NB_OK;
}

void nb_whfast_swarm_free_cpu(struct nb_whfast_swarm *swarm)
{
	nb_free(swarm);
}

/* ---- ias15 --------------------------------------------------------------------------------------- */

struct nb_ias15_swarm {
	size_t systems;
	const size_t *first;
	struct one {
		struct nb_ias15 s;
		struct nb_ias15_time begun, ended;
		uint64_t steps;
		int failed;
	} one[];
};

int nb_ias15_swarm_begin_cpu(struct nb_ias15_swarm **swarm, const struct nb_ias15_bodies *all)
{
	struct nb_ias15_swarm *to = nb_alloc(1, sizeof *to + all->systems * sizeof *to->one);
	*swarm = NULL;
	if (!to)
		return NB_ENOMEM;
	to->systems = all->systems;
	to->first = all->first;
	for (size_t k = 0; k < all->systems; k++) {
		struct one *one = &to->one[k];
		const size_t row = all->first[k], n = all->first[k + 1] - row;
		if (n > NB_SMALL_MOST) {
			nb_free(to);
			return NB_EUNSUPPORTED;
		}
		one->begun = one->ended = all->begun;
		one->steps = 0;
		one->failed = nb_ias15_begin(&one->s, n, all->mass + row, all->G, all->eps) ||
			      nb_ias15_load(&one->s, all->pos + 3 * row, all->vel + 3 * row, all->eta, all->longest,
				      all->way);
	}
	*swarm = to;
	return NB_OK;
}

static int is_before(const struct one *one, double time)
{
	const double ahead = nb_ias15_ahead(one->ended, time);
	return !one->failed && !isnan(time) && (one->s.last == 0 || (one->s.next > 0 ? ahead < 0 : ahead > 0));
}

int nb_ias15_swarm_until_cpu(struct nb_ias15_swarm *swarm, const double *time, uint64_t most, size_t *left)
{
	size_t all_left = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : all_left) if (swarm->systems > 1)
	for (size_t k = 0; k < swarm->systems; k++) {
		struct one *one = &swarm->one[k];
		for (uint64_t j = 0; j < most && is_before(one, time[k]); j++) {
			one->failed = nb_ias15_step(&one->s) != NB_OK;
			if (one->failed)
				break;
			one->begun = one->ended;
			one->ended = nb_ias15_later(one->begun, one->s.last);
			one->failed = !isfinite(one->ended.time) ||
				      fabs(one->s.last) <= NB_IAS15_SHORTEST * fabs(one->s.elapsed);
			one->steps += !one->failed;
		}
		all_left += is_before(one, time[k]);
	}
	*left = all_left;
	return NB_OK;
}

int nb_ias15_swarm_at_cpu(
	struct nb_ias15_swarm *swarm, const double *time, double *pos, double *vel, struct nb_ias15_ended *ended)
{
	for (size_t k = 0; k < swarm->systems; k++) {
		const struct one *one = &swarm->one[k];
		const struct nb_ias15 *s = &one->s;
		const size_t row = 3 * swarm->first[k];
		const double within = nb_ias15_within(one->begun, one->ended, s->last, time[k]);
		nb_ias15_at(s, one->failed ? s->last : within, pos + row, vel + row);
		ended[k] = (struct nb_ias15_ended){.next = s->next,
			.last = s->last,
			.elapsed = s->elapsed,
			.rest = s->rest,
			.begun = one->begun,
			.ended = one->ended,
			.steps = one->steps,
			.forces = s->forces,
			.repeated = s->repeated,
			.failed = one->failed};
	}
	return NB_OK;
}

void nb_ias15_swarm_free_cpu(struct nb_ias15_swarm *swarm)
{
	nb_free(swarm);
}
