/* plan.h - what the programs of this process have to do with a frame and those that come of it, for -b auto.
 *
 * A plan goes along the chain from one instance to the next, into the force pipeline of nb-step if that is folded, and
 * adds up what the work costs (kernels/backend/cost.h) in two cases: every instance that is free to choose computes on
 * the CPU, or on a device.  Where a frame must go from one to the other, that costs, too.
 * The hook work of a tool (filter.h) says what the tool does with a frame, and what the frame is like afterwards. */
#ifndef NB_FILTER_PLAN_H
#define NB_FILTER_PLAN_H

#include "tools/filter/filter.h"

enum { NB_PLAN_MEMBERS = 64 };

struct nb_plan {
	/* the frame as it comes to an instance, */
	const struct nb_frame *frame; /* with attributes and columns as the first instance of all gets it */
	double n, row;		      /* bodies, and the bytes of each */
	int dim;
	int tree, level; /* there are the nodes of a tree; boxes of this level, -1: none */
	int acc, pot;
	double times; /* and how many times one comes */

	/* private: the current instance, both cases (enum nb_place), and all instances */
	struct nb_machine machine;
	enum nb_place at[2], where[2]; /* where the instance computes, and where the frame is */
	double seconds[2];
	const struct nb_backend *device; /* that an instance has already, NULL: none */
	const struct nb_space *space;	 /* the frame comes from there, NULL: the host */
	int undecided, nmember;
	struct nb_run *member[NB_PLAN_MEMBERS];
};

/* ---- for hooks ---------------------------------------------------------------------------------- */

/* The instance does so much work with each frame. */
void nb_plan_add(struct nb_plan *plan, enum nb_work work, double amount);
/* The frames go through the instance first and those behind it, and come back. */
void nb_plan_chain(struct nb_plan *plan, struct nb_run *first);
/* The frames go to host memory, and come back. */
void nb_plan_by_host(struct nb_plan *plan);

/* ---- for choose.c ------------------------------------------------------------------------------- */

/* All that follows from a frame which has come to an instance. */
void nb_plan_make(
	struct nb_plan *plan, struct nb_run *first, const struct nb_frame *frame, struct nb_device_speed device);
/* Whether auto is what the instance was given and it has no backend yet. */
int nb_plan_is_undecided(const struct nb_run *run);
/* The device that a frame must be fetched from, NULL if its positions are on the host. */
const struct nb_space *nb_plan_space(const struct nb_frame *frame);

#endif
