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
	size_t first;	 /* row of its first body in the output */
	uint64_t offset; /* --ids offset: of its ids, from the first frame on */
	uint64_t origin; /* --origin: of its bodies, or added to what they have; from the first frame on */
};

struct merge {
	int ids; /* enum ids */
	int common, fill, species, origin, last, shortest;
	double time_tolerance;
	int given_tolerance;

	struct input *input;
	int ninput;
	double *acc;	      /* of an input whose velocities lag, while it is read */
	uint64_t count;	      /* frames made */
	struct nb_frame told; /* its attributes have the keys of what need not be told again */
};

/* ---- columns.c ------------------------------------------------------------------------------------ */

/* Gives the frame, which is empty, the bodies of all inputs. */
void nb_merge_bodies(struct merge *opt, struct nb_frame *frame);

/* The contents of a column of the frame, to be changed. */
void *nb_merge_wire(const struct nb_frame *frame, struct nb_column *column);

/* ---- ids.c ---------------------------------------------------------------------------------------- */

/* With --ids offset: those of input k, which are in the frame, are brought behind the ones of the inputs before it. */
void nb_merge_offset(struct merge *opt, struct nb_frame *frame, int k);
/* After the last input: numbers them if that is wanted, and ends the tool if an id is there twice. */
void nb_merge_finish_ids(struct merge *opt, struct nb_frame *frame);

/* ---- attributes.c --------------------------------------------------------------------------------- */

void nb_merge_attributes(struct merge *opt, struct nb_frame *frame);

#endif
