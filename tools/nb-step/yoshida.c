/* Three leapfrogs, the second one back in time: symplectic, time-reversible, fourth order.  Sources: Forest & Ruth
 * 1990, Physica D 43, 105; Yoshida 1990, Phys. Lett. A 150, 262. */
#include "tools/nb-step/integrators.h"

/* 1 / (2 - 2^(1/3)), and 1 - 2 OUTER */
#define OUTER 1.3512071919596578
#define INNER (1 - 2 * OUTER)

static const struct nb_kick_drift stage[] = {
	{.kick = OUTER / 2, .drift = OUTER},
	{.kick = (OUTER + INNER) / 2, .drift = INNER},
	{.kick = (INNER + OUTER) / 2, .drift = OUTER},
};

const struct nb_integrator nb_integrator_yoshida = {
	.lag = OUTER / 2,
	.stage = stage,
	.nstage = sizeof stage / sizeof *stage,
};
