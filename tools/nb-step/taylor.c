/* Taylor steps with the time derivative of the acceleration: second order.  Source: motion.h. */
#include "tools/nb-step/integrators.h"

#include <string.h>

static int advance(const struct nb_backend *backend, const struct nb_bodies *b, double dt)
{
	return backend->taylor(b->n, b->pos, b->vel, b->acc, b->jerk, dt);
}

static int drift(const struct nb_bodies *b, double dt, double *mean, double *end)
{
	memcpy(mean, b->vel, 3 * b->n * sizeof *mean);
	memcpy(end, b->vel, 3 * b->n * sizeof *end);
	int status = nb_kick_cpu(b->n, end, b->acc, dt);
	if (!status)
		status = nb_kick_cpu(b->n, end, b->jerk, dt * dt / 2);
	if (!status)
		status = nb_kick_cpu(b->n, mean, b->acc, dt / 2);
	return status ? status : nb_kick_cpu(b->n, mean, b->jerk, dt * dt / 6);
}

const struct nb_integrator nb_integrator_taylor = {
	.needs_jerk = 1,
	.advance = advance,
	.drift = drift,
	.drift_time = 0.5,
};
