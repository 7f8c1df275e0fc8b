/* cost.h - what work costs on the CPU and on a device, from a table of measured figures; a part of backend.h.
 *
 * A choice between the two needs no more than a factor of 2, and must be the same whenever the same work is done on the
 * same machine: so nothing is timed, and no device is asked before it would win. */
#ifndef NB_COST_H
#define NB_COST_H

#include "common/cpu.h"
#include "common/status.h"

#include <stddef.h>

NB_C_BEGIN

/* Kinds of work, and the unit in which an amount is counted: cost.def. */
enum nb_work {
#define NB_COST(work, unit, core, widens, cores, device, frame, wide) NB_WORK_##work,
#include "kernels/backend/cost.def"
#undef NB_COST
	NB_NWORK
};

enum nb_place { NB_ON_CPU, NB_ON_DEVICE };

/* Rates of a device against those of the H200 of the table. */
struct nb_device_speed {
	double f32, f64;
};

struct nb_machine {
	int cores;
	enum nb_isa isa;
	struct nb_device_speed device;
};

/* Seconds that an amount of work takes in one frame. */
double nb_cost(enum nb_work work, double amount, enum nb_place place, const struct nb_machine *machine);
/* Seconds to copy so many bytes from host memory to a device, or back. */
double nb_cost_copy(double bytes, enum nb_place to);
/* Seconds until a process has a context of a device. */
double nb_cost_context(void);

/* How often each of n bodies counts in a tree walk, by opening angle, 0 included; high: multipoles of third and fourth
 * order serve small angles. */
double nb_cost_angle(double theta, double n, int high);
/* The same for the criterion by acceleration. */
double nb_cost_alpha(double alpha, double n);
/* How often a pair counts that gives a potential, a jerk, or both besides an acceleration. */
double nb_cost_outputs(int potential, int jerk);

NB_C_END
#endif
