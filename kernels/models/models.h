/* models.h - initial conditions: bodies of a model by random access, reproducible for a seed.
 *
 * A model is prepared once from its parameters; then any range of any field can be had, from any number
 * of threads, without holding the rest.  Body i depends on the parameters, the seed and i alone (in the last block of a
 * part also on the number of bodies: see centring).
 *
 * Units: G = 1 and total mass 1, except solar (AU, day, solar mass) and figure8 (three masses of 1).
 * plummer and sphere have energy -1/4 (Henon units); uniform, clusters and boxes have edge 1 unless told otherwise;
 * a disk has energy -1/4 to about 2 %, a merger the same before its galaxies interact; kepler has semi-major axis 1.
 *
 * Centring: plummer, sphere, clusters, disk and merger have their centre of mass and total momentum at 0 to rounding,
 * because each block of NB_MODEL_BLOCK bodies has (its mean is taken off; signs are drawn so that this mean
 * is small, see model_simd.c).  uniform and boxes have zero momentum; their positions stay where they were drawn.
 *
 * Same bytes for any number of threads and for every instruction set (disk and merger also use the C library's
 * elementary functions and are the same bytes wherever these are). */
#ifndef NB_MODELS_H
#define NB_MODELS_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum nb_model_kind {
	NB_MODEL_PLUMMER,  /* Plummer sphere in virial equilibrium, cut at rmax */
	NB_MODEL_UNIFORM,  /* cube of edge size about 0 (square where dim is 2) */
	NB_MODEL_SPHERE,   /* homogeneous sphere (disc), cold unless virial > 0 */
	NB_MODEL_CLUSTERS, /* groups of radius spread at the 8 (4) corners of a cube (square) of edge size: Xu, Xu &
			      Chen */
	NB_MODEL_DISK,	   /* disk galaxy: exponential disk, bulge, live dark halo: see galaxy.h */
	NB_MODEL_MERGER,   /* two of them on an orbit about each other */
	NB_MODEL_BOXES,	   /* 2-D, [0, 1)^2: per_box bodies in each of 4^level boxes: Shan & Lei 2012 */
	NB_MODEL_SOLAR,	   /* Sun and eight planets, J2000 */
	NB_MODEL_FIGURE8,  /* three bodies: Chenciner & Montgomery 2000, Annals of Mathematics 152, 881 */
	NB_MODEL_KEPLER,   /* two bodies, at pericentre, in the x-y plane */
	NB_MODEL_NKIND
};

enum { NB_MODEL_BLOCK = 4096, NB_MODEL_MAX_LEVEL = 12 };

struct nb_model_param {
	enum nb_model_kind kind;
	int dim; /* 2 or 3; 2: z and its velocity are 0 (uniform, sphere, clusters; always for boxes) */
	uint64_t seed;
	uint64_t n;	       /* bodies; ignored where the model has its own number: boxes, solar, figure8, kepler */
	double rmax;	       /* plummer: truncation radius, > 0.05 */
	double size;	       /* uniform, clusters: edge; sphere: radius, 0 = that of energy -1/4; > 0 */
	double spread;	       /* clusters: radius of a group, > 0 */
	double sigma;	       /* uniform, clusters, boxes: dispersion of each velocity component, >= 0 */
	double virial;	       /* sphere: T/|W| of the velocities, Gaussian; 0 cold; in [0, 1) */
	double disk;	       /* disk, merger: mass of the disk in a galaxy's mass; > 0 */
	double bulge;	       /* and of the bulge, >= 0; the halo has the rest, > 0 */
	double toomre;	       /* Toomre's Q of the disk at 2.5 scale lengths, > 0 */
	double height;	       /* scale height z0 of the disk in scale lengths, > 0 */
	double pericentre;     /* merger: of the orbit, as of point masses; > 0 */
	double separation;     /* merger: of the centres at the start, > pericentre */
	double eccentricity;   /* merger: of the orbit, >= 0 (1: parabola); kepler: in [0, 1) */
	double ratio;	       /* merger, kepler: mass of the second over that of the first, > 0 */
	double inclination[2]; /* merger: of each disk against the orbit, degrees; 0 turns with the orbit, 180 against
				*/
	double node[2];	       /* merger: longitude of each ascending node from the direction of pericentre, degrees */
	int level;	       /* boxes: K, 0..NB_MODEL_MAX_LEVEL */
	uint64_t per_box;      /* boxes: P, >= 1 */
};

enum nb_model_field { NB_MODEL_MASS, NB_MODEL_POS, NB_MODEL_VEL, NB_MODEL_RADIUS };

struct nb_model;

/* The defaults of a kind: n = 65536 where it is free, seed 1, dim 3 (boxes: 2), and those of nb-gen(1). */
void nb_model_defaults(struct nb_model_param *param, enum nb_model_kind kind);

/* Prepares a model; release with nb_model_free.  NB_EINVAL: a parameter out of its range, with a
 * phrase in *why ("separation must exceed pericentre"); NB_ENOMEM. */
NB_MUST_CHECK int nb_model_create(const struct nb_model_param *param, struct nb_model **model, const char **why);
void nb_model_free(struct nb_model *model);

uint64_t nb_model_count(const struct nb_model *model);
double nb_model_G(const struct nb_model *model);
int nb_model_has_species(const struct nb_model *model);
int nb_model_has_radius(const struct nb_model *model); /* solar */

/* Field of bodies [first, first + count), first + count <= nb_model_count: count numbers, or count x 3 for
 * NB_MODEL_POS and NB_MODEL_VEL.  Runs in OpenMP threads unless called from a parallel region; costs
 * least when first is a multiple of NB_MODEL_BLOCK.  NB_OK, NB_ENOMEM, or NB_EINVAL (range, no radius). */
NB_MUST_CHECK int nb_model_fill(
	const struct nb_model *model, enum nb_model_field field, uint64_t first, size_t count, double *out);
/* Species of bodies [first, first + count); 0 where the model has none.
 *   clusters: number of the corner, bit 0 for x, bit 1 for y, bit 2 for z     solar: 0 Sun, 1 Mercury ... 8 Neptune
 *   disk, merger: 0 disk, 1 bulge, 2 halo; 3, 4, 5 those of the second galaxy */
void nb_model_species(const struct nb_model *model, uint64_t first, size_t count, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
