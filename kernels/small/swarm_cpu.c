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
