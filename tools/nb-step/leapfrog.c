/* Leapfrog, kick-drift-kick: symplectic, time-reversible, second order. */
#include "tools/nb-step/integrators.h"

static int advance(const struct nb_backend *backend, const struct nb_bodies *b, double dt)
{
	int status = backend->kick(b->n, b->vel, b->acc, dt / 2);
	return status ? status : backend->drift(b->n, b->pos, b->vel, dt);
}

const struct nb_integrator nb_integrator_leapfrog = {
	.lag = 0.5,
	.advance = advance,
	.drift_time = 0.5,
};
