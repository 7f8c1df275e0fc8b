#include "tools/nb-step/integrators.h"

static const struct nb_integrator *const table[] = {
#define ROW(name) &nb_integrator_##name,
	NB_INTEGRATORS(ROW)
#undef ROW
};

const struct nb_integrator *nb_integrator(size_t k)
{
	return table[k];
}
