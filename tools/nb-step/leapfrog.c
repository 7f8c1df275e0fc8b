/* Leapfrog, kick-drift-kick: symplectic, time-reversible, second order. */
#include "tools/nb-step/integrators.h"

static const struct nb_kick_drift stage = {.kick = 0.5, .drift = 1};

const struct nb_integrator nb_integrator_leapfrog = {
	.lag = 0.5,
	.stage = &stage,
	.nstage = 1,
	.drift_time = 0.5,
};
