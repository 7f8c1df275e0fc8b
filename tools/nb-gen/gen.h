/* gen.h - the parts of nb-gen. */
#ifndef NB_GEN_H
#define NB_GEN_H

#include "kernels/lpt/lpt.h"
#include "kernels/models/models.h"
#include "tools/filter/filter.h"
#include "tools/filter/pairs.h"
#include "tools/nb-gen/orbits.h"

enum precision { PRECISION_F32, PRECISION_F64 };

struct gen {
	struct nb_model_param answer;	 /* of the options; what was not given is undefined */
	const char *pair[NB_NPARAMETER]; /* of parameters that are two numbers */
	int precision;			 /* enum precision */

	struct nb_model_param param;
	uint64_t systems;	      /* --systems; */
	int many;		      /* it is given; then */
	double *own[NB_MODEL_NFIELD]; /* of the bodies of all systems */
	struct orbits orbits;	      /* of that model */
	struct nb_pairs pairs;	      /* k and P of --spectrum, */
	struct nb_lpt_table spectrum; /* which are this */
	double *place;		      /* of --glass */
	struct nb_model *model;
	struct nb_filler blocks;
	int made;  /* the frame */
	int shown; /* it had no contents */
	double start;
};

/* ---- columns: contents.c ------------------------------------------------------------------------ */

#define NB_GEN_BINARY "binary" /* column: the binary that a body belongs to */

struct nb_filler nb_gen_filler(struct gen *gen);
/* Makes the bodies of all systems. */
void nb_gen_make_systems(struct gen *gen);

/* ---- the model lpt: lpt.c ----------------------------------------------------------------------- */

/* A number of bodies that is none of a lattice ends the tool, which names the nearest ones. */
void nb_gen_check_lpt(const struct gen *gen);
/* Reads the places of --glass. */
void nb_gen_read_glass(struct nb_run *run, struct gen *gen);
/* Reads the table of --spectrum; one that does not suit the box ends the tool. */
void nb_gen_read_spectrum(struct gen *gen);
/* For --verbose. */
void nb_gen_tell_lpt(const struct gen *gen);
/* Of n coordinates, those that rounding to f32 would move to the far side of the box become 0. */
void nb_gen_keep_inside(const struct gen *gen, size_t n, double *x);
/* The attributes of a universe and its box. */
void nb_gen_describe_lpt(const struct gen *gen, struct nb_frame *frame);

#endif
