/* merge.h - an instance of nb-merge: a frame of each input, and what becomes of their columns and attributes. */
#ifndef NB_MERGE_H
#define NB_MERGE_H

#include "tools/filter/source.h"

enum ids { IDS_KEEP, IDS_RENUMBER, IDS_OFFSET };

struct input {
	struct nb_source source;
	struct nb_frame frame; /* with contents only if it may be needed again */
	uint64_t nframe;       /* read so far */
	int ended;
	size_t first;	     /* row of its first body in the output */
	uint64_t offset;     /* --ids offset: of its ids, from the first frame on */
	uint64_t system;     /* --systems: the same of numbers of systems */
	uint64_t origin;     /* --origin: of its bodies, or added to what they have; from the first frame on */
	uint64_t origin_end; /* one more than the largest of the present frame */
};

struct merge {
	int ids; /* enum ids */
	int common, fill, species, origin, systems, last, shortest;
	double time_tolerance;
	int given_tolerance;

	struct input *input;
	int ninput;
	double *acc;		  /* of an input whose velocities lag, while it is read */
	uint64_t count;		  /* frames made */
	struct nb_frame reported; /* its attributes have the keys of what need not be reported again */
};

/* ---- columns.c ------------------------------------------------------------------------------------ */

/* Gives the frame, which is empty, the bodies of all inputs. */
void nb_merge_bodies(struct merge *opt, struct nb_frame *frame);

/* ---- origin.c ------------------------------------------------------------------------------------- */

#define NB_MERGE_ORIGIN "origin"

/* Whether the column of an input says what its bodies have come from. */
int nb_merge_has_origins(const struct merge *opt, const struct nb_column *column);
/* n numbers of it become those of the frame from row first on; what is no whole number ends the tool. */
void nb_merge_take_origins(struct input *input, const struct nb_frame *frame, const struct nb_column *column,
	size_t first, size_t n, const void *data);
/* After the columns of an input: its number for its bodies if it has no such column; that of the next input. */
void nb_merge_finish_origins(struct merge *opt, const struct nb_frame *frame, struct input *input);

/* ---- ids.c ---------------------------------------------------------------------------------------- */

/* With --ids offset: those of input k, which are in the frame, are brought behind the ones of the inputs before it;
 * with --systems the numbers of systems, too. */
void nb_merge_offset(struct merge *opt, struct nb_frame *frame, int k);
/* After the last input: numbers them if that is wanted, and ends the tool if an id is there twice. */
void nb_merge_finish_ids(struct merge *opt, struct nb_frame *frame);

/* ---- systems.c ------------------------------------------------------------------------------------ */

/* Without --systems: inputs of which some alone have systems end the tool. */
void nb_merge_require_systems(const struct merge *opt);
/* The same at the end: bodies of two inputs with one number pull each other, which may not be meant; reported once. */
void nb_merge_warn_of_systems(struct merge *opt, struct nb_frame *frame);

/* ---- attributes.c --------------------------------------------------------------------------------- */

void nb_merge_attributes(struct merge *opt, struct nb_frame *frame);

#endif
