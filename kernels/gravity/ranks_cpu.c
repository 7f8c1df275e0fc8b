/* Bodies of rank 0 on all ranks (plan.h). */
#include "kernels/gravity/plan.h"

#include "common/mem.h"
#include "kernels/ranks/ranks.h"

int nb_gravity_alloc_replica(struct nb_gravity *g)
{
	const size_t n = g->n;
	const int pot = g->pot != NULL, jerk = g->jerk != NULL, eps = g->body_eps != NULL;
	g->pos = nb_alloc(n, 3 * sizeof *g->pos);
	g->mass = nb_alloc(n, sizeof *g->mass);
	g->acc = nb_alloc(n, 3 * sizeof *g->acc);
	g->pot = pot ? nb_alloc(n, sizeof *g->pot) : NULL;
	g->vel = jerk ? nb_alloc(n, 3 * sizeof *g->vel) : NULL;
	g->jerk = jerk ? nb_alloc(n, 3 * sizeof *g->jerk) : NULL;
	g->body_eps = eps ? nb_alloc(n, sizeof *g->body_eps) : NULL;
	return g->pos && g->mass && g->acc && (g->pot || !pot) && ((g->vel && g->jerk) || !jerk) &&
			       (g->body_eps || !eps)
		       ? NB_OK
		       : NB_ENOMEM;
}

void nb_gravity_free_replica(struct nb_gravity *g)
{
	nb_free_all((void *)(uintptr_t)g->pos, (void *)(uintptr_t)g->mass, (void *)(uintptr_t)g->vel,
		(void *)(uintptr_t)g->body_eps, g->acc, g->pot, g->jerk);
}

void nb_gravity_replicate(const struct nb_gravity *g)
{
	nb_ranks_broadcast((void *)(uintptr_t)g->pos, 3 * g->n * sizeof *g->pos);
	nb_ranks_broadcast((void *)(uintptr_t)g->mass, g->n * sizeof *g->mass);
	if (g->jerk)
		nb_ranks_broadcast((void *)(uintptr_t)g->vel, 3 * g->n * sizeof *g->vel);
	if (g->body_eps)
		nb_ranks_broadcast((void *)(uintptr_t)g->body_eps, g->n * sizeof *g->body_eps);
}
