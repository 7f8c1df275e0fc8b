#include "tools/nb-step/integrators.h"

static const struct nb_integrator *const table[] = {
#define ROW(name) &nb_integrator_##name,
	NB_INTEGRATORS(ROW)
#undef ROW
};

const struct nb_integrator *nb_integrator_at(size_t k)
{
	return table[k];
}

size_t nb_integrator_forces(const struct nb_integrator *integrator)
{
	size_t forces = integrator->nstage ? integrator->nstage : 1;
	if (integrator->corrections)
		return (size_t)integrator->corrections;
	for (size_t k = 0; k < integrator->nstage; k++)
		forces += integrator->stage[k].ahead != 0;
	return forces;
}
