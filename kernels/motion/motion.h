/* motion.h - how bodies move: kicks, drifts and Taylor steps (step.h), Hermite's corrector (hermite.h), solid bodies
 * that collide (collide.h), and bodies that are put elsewhere (place.h). */
#ifndef NB_MOTION_H
#define NB_MOTION_H

#include "kernels/motion/collide.h"
#include "kernels/motion/hermite.h"
#include "kernels/motion/place.h"
#include "kernels/motion/step.h"

#endif
