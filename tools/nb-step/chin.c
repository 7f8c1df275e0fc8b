/* Algorithm A of Chin, all of whose steps go forward: time-reversible, fourth order.  The gradient of its middle kick,
 * a + dt^2/48 grad |a|^2, comes from a force at displaced positions, a(x + dt^2/24 a(x)), which is the same to fourth
 * order.  Sources: Chin 1997, Phys. Lett. A 226, 344; Omelyan 2006, Phys. Rev. E 74, 036703. */
#include "tools/nb-step/integrators.h"

static const struct nb_kick_drift stage[] = {
	{.kick = 1 / 6., .drift = 1 / 2.},
	{.kick = 2 / 3., .drift = 1 / 2., .ahead = 1 / 24.},
};

const struct nb_integrator nb_integrator_chin = {
	.lag = 1 / 6.,
	.stage = stage,
	.nstage = sizeof stage / sizeof *stage,
};
