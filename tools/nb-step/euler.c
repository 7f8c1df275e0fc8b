/* Explicit Euler: first order, for comparison. */
#include "tools/nb-step/integrators.h"

#include <string.h>

static int advance(const struct nb_backend *backend, const struct nb_bodies *b, double dt)
{
	int status = backend->drift(b->n, b->pos, b->vel, dt);
	return status ? status : backend->kick(b->n, b->vel, b->acc, dt);
}

static int drift(const struct nb_bodies *b, double dt, double *mean, double *end)
{
	memcpy(mean, b->vel, 3 * b->n * sizeof *mean);
	memcpy(end, b->vel, 3 * b->n * sizeof *end);
	return nb_kick_cpu(b->n, end, b->acc, dt);
}

const struct nb_integrator nb_integrator_euler = {
	.advance = advance,
	.drift = drift,
};
