/* plan.h - what the programs of this process have to do with a frame and those that come of it, for -b auto.
 *
 * A plan goes along the chain from one instance to the next, into the force pipeline of nb-step if that is folded, and
 * adds up what the work costs (kernels/backend/cost.h) in two cases: every instance that is free to choose computes on
 * the CPU, or on a device.  Where a frame must go from one to the other, that costs, too.
 * The hook work of a tool (filter.h) says what the tool does with a frame, and what the frame is like afterwards. */
#ifndef NB_FILTER_PLAN_H
#define NB_FILTER_PLAN_H

#include "tools/filter/filter.h"
#include "tools/filter/watch.h"

/* Attribute of a frame that nb-step sends to another process: how many it will send, for the estimate there. */
#define NB_PLAN_TO_COME "frames_to_come"
enum { NB_PLAN_MEMBERS = NB_WATCH_MOST + 1 }; /* the programs whose work is done here, and this one */

/* Columns that are computed with. */
enum nb_plan_column { NB_PLAN_POS, NB_PLAN_VEL, NB_PLAN_MASS, NB_PLAN_EPS, NB_PLAN_KEY, NB_PLAN_COLUMNS };
#define NB_PLAN(column) (1u << NB_PLAN_##column)

struct nb_plan {
	/* the frame as it comes to an instance, */
	const struct nb_frame *frame; /* with attributes and columns as the first instance of all gets it */
	double n, row;		      /* bodies, and the bytes of each */
	int dim;
	int tree, level; /* there are the nodes of a tree; boxes of this level, -1: none */
	int acc, pot;
	double times; /* passes per frame */
	/* in the memory of a device: units of nb_plan_take; bytes of tables of nodes or boxes that the frame has; and
	 * bytes for each body that are kept for other frames */
	double count[NB_MEMORY_UNITS], tables, aside;

	/* for choose.c: the memory of a device in both cases (enum nb_place) */
	struct nb_plan_held {
		int all;       /* every column of the frame is there */
		unsigned used; /* these are, in f64 */
		double made;   /* if not all are: bytes for each body of those that were made there */
		struct {
			double bytes; /* at most; 0: not reached */
			const char *tool;
		} stage[NB_MEMORY_STAGES];
		enum nb_memory_stage at; /* where most is needed: */
		double most;
	} held[2];

	/* private: the current instance, both cases, and all instances */
	struct {
		double wire, wide; /* bytes for each body of a column, and of its f64 form if that is another */
	} column[NB_PLAN_COLUMNS];
	struct nb_machine machine;
	int alone;		       /* the first instance is the last */
	const char *tool;	       /* name of its tool */
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
/* Where the instance computes it uses these columns, bits NB_PLAN(...); it brings all columns there; it takes them back
 * to the host; it makes columns of so many bytes for each body, which plan->row counts if the frame has them new. */
void nb_plan_use(struct nb_plan *plan, unsigned columns);
void nb_plan_use_all(struct nb_plan *plan);
void nb_plan_release(struct nb_plan *plan);
void nb_plan_make_columns(struct nb_plan *plan, double row);
/* pos and vel, or others, are of <f8 from now on. */
void nb_plan_widen(struct nb_plan *plan, unsigned columns);
/* A stage of the instance takes memory beside these columns, for plan->count units; traits: those of a job. */
void nb_plan_take(struct nb_plan *plan, enum nb_memory_stage stage, unsigned traits);
/* What such a stage takes becomes a table of the frame. */
void nb_plan_add_table(struct nb_plan *plan, enum nb_memory_stage stage, unsigned traits);
/* The frames go through the instance first and those behind it, and come back. */
void nb_plan_chain(struct nb_plan *plan, struct nb_run *first);
/* The frames go to host memory, and come back. */
void nb_plan_by_host(struct nb_plan *plan);

/* ---- for choose.c ------------------------------------------------------------------------------- */

/* What to suppose: a number of bodies; a device; and whether to leave out the instances behind the first one, to which
 * another thread may have given a frame already. */
struct nb_plan_case {
	double n;
	struct nb_device_speed device;
	int alone;
};
/* All that follows from a frame which has come to an instance. */
void nb_plan_make(
	struct nb_plan *plan, struct nb_run *first, const struct nb_frame *frame, const struct nb_plan_case *suppose);
/* Whether auto is what the instance was given and it has no backend yet. */
int nb_plan_is_undecided(const struct nb_run *run);
/* The device that a frame must be fetched from, NULL if its positions are on the host. */
const struct nb_space *nb_plan_space(const struct nb_frame *frame);

#endif
