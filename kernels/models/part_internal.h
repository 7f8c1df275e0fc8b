/* part_internal.h - what the files of the model kernel share; not for others.
 *
 * A model is a list of parts: bodies [first, first + n) of the frame drawn from one distribution, with
 * one mass and one species, whose centre of mass is put at a place and given a velocity.  A part is drawn
 * in blocks of NB_MODEL_BLOCK bodies; a block depends on nothing but the part, the seed and its number. */
#ifndef NB_MODELS_PART_INTERNAL_H
#define NB_MODELS_PART_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/cpu.h"

enum nb_model_sampler {
	/* SIMD, kernels/models/model_simd.c: position; velocity is its own for PLUMMER, else Gaussian */
	NB_SAMPLE_PLUMMER, /* scale: mu = largest r / sqrt(1 + r^2); length[0] scale radius; speed[0] unit of velocity
			    */
	NB_SAMPLE_CUBE,	   /* length[0] edge */
	NB_SAMPLE_BALL,	   /* length[0] radius; a disc where dim is 2 */
	NB_SAMPLE_BOXES,   /* level */
	NB_SAMPLE_GALAXY,  /* kernels/models/galaxy_cpu.c: component of *galaxy */
	NB_SAMPLE_SPHERE,  /* kernels/models/sphere_cpu.c: *sphere */
	NB_SAMPLE_RING,	   /* ring; speed, length: units */
	NB_SAMPLE_LATTICE, /* all bodies of *lpt of struct nb_model */
	NB_SAMPLE_TABLE	   /* bodies of struct nb_model: pos and vel are theirs */
};

/* No body of NB_SAMPLE_BOXES is nearer to the edge of its box than this (but for the two anchors): enough that
 * rounding to f32, or a square made from the bodies' extent, moves none into the next box. */
#define NB_MODEL_BOX_MARGIN 0x1p-22

struct nb_galaxy;
struct nb_sphere;
struct nb_imf;

/* Orbits about a mass at the origin, the plane x-y. */
struct nb_ring {
	double inner, outer; /* semi-major axes, of uniform surface density */
	double eccentricity; /* root mean square; that of the inclinations is half of it, or 0 in two dimensions */
	double mass;	     /* of the central body */
};

struct nb_model_part {
	enum nb_model_sampler sampler;
	int dim;
	uint32_t stream; /* number of the part: word 3 of the random counter */
	int species;
	uint64_t first, n;
	double mass; /* of each body, or what its mass from imf is multiplied by */
	const struct nb_imf *imf;
	double length; /* see the samplers */
	double speed;  /* unit of velocity (PLUMMER, GALAXY, SPHERE, RING), else the dispersion of one component */
	double mu;     /* PLUMMER: sqrt(s), s = r^2 / (1 + r^2) at the truncation radius */
	int level;     /* BOXES */
	int centred;   /* the mean position of the bodies is made 0 before centre is added */
	int whole; /* the blocks keep their means: the centre of mass of all bodies is made 0 by centre and motion */
	double centre[3], motion[3];
	double turn[9]; /* GALAXY, RING: rotation matrix, row-major */
	const struct nb_galaxy *galaxy;
	int component;
	const struct nb_sphere *sphere;
	struct nb_ring ring;
};

struct nb_model_param;
/* Why there is no such model: a phrase, or NULL if each parameter is in its range. */
const char *nb_model_invalid(const struct nb_model_param *param);

/* Positions (vel = 0) or velocities (vel = 1) of count <= NB_MODEL_BLOCK bodies of the part from its body
 * start on, a multiple of NB_MODEL_BLOCK; out has count x 3 numbers.  Before centring. */
typedef void nb_model_draw_block(
	const struct nb_model_part *part, uint64_t seed, int vel, uint64_t start, size_t count, double *out);
NB_ISA_DECLARE(nb_model_draw_block)

/* out (count x 3): the mean becomes shift (centred) or shift is added. */
typedef void nb_model_shift(size_t count, int centred, const double shift[3], double *out);
NB_ISA_DECLARE(nb_model_shift)

#endif
