/* swarm_cpu.c - steps of many systems, each by a thread. */
#include "common/mem.h"
#include "kernels/small/small.h"

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
	for (size_t k = 0; k < systems; k++)
		(*swarm)->w[k].failed = 0;
	return NB_OK;
}

/* Where a step fails, all are made again up to that. */
static void make_steps(struct nb_whfast *w, uint64_t steps)
{
	struct nb_whfast before = *w;
	if (w->failed || nb_whfast_steps(w, steps) == NB_OK)
		return;
	for (*w = before; nb_whfast_steps(w, 1) == NB_OK; before = *w)
		;
	before.failed = w->failed;
	*w = before;
}

int nb_whfast_swarm_steps_cpu(struct nb_whfast_swarm *swarm, const uint64_t *steps)
{
#pragma omp parallel for schedule(dynamic) if (swarm->systems > 1)
	for (size_t k = 0; k < swarm->systems; k++)
		make_steps(&swarm->w[k], steps[k]);
	return NB_OK;
}

int nb_whfast_swarm_state_cpu(const struct nb_whfast_swarm *swarm, struct nb_whfast *w)
{
	if (swarm->systems)
		memcpy(w, swarm->w, swarm->systems * sizeof *w);
	return NB_OK;
}

void nb_whfast_swarm_free_cpu(struct nb_whfast_swarm *swarm)
{
	nb_free(swarm);
}
