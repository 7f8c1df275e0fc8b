/* models.h - initial conditions: bodies of a model by random access, reproducible for a seed.
 *
 * A model is prepared once from its parameters; then any range of any field can be had, from any number
 * of threads, without holding the rest.  Body i depends on the parameters, the seed and i alone (in the last block of a
 * part also on the number of bodies: see centring).
 *
 * Units: G = 1 and total mass 1, except solar (AU, day, solar mass), figure8 (three masses of 1) and lpt (Mpc/h,
 * 10^10 solar masses / h, km/s).
 * plummer, king, hernquist, nfw and sphere have energy -1/4 (Henon units); uniform, clusters and boxes have edge 1
 * unless told otherwise; a disk has energy -1/4 to about 2 %, a merger the same before its galaxies interact; kepler
 * has semi-major axis 1, and a ring reaches from 1 to 2. The parameters mass, rscale and G change these units: masses
 * are multiplied, lengths too, and all velocities that follow from gravity (so not sigma), so that the virial ratio
 * stays.
 *
 * Centring: plummer, king, hernquist, nfw, sphere, clusters, disk and merger have their centre of mass and total
 * momentum at 0 to rounding, because each block of NB_MODEL_BLOCK bodies has (its mean is taken off; signs are drawn so
 * that this mean is small, see model_simd.c).  A ring, and what has an initial mass function, has them there as a
 * whole, which takes a pass over all bodies when the model is created.  uniform and boxes have zero momentum; their
 * positions stay where they were drawn.
 *
 * Binaries and segregation (plummer, king, hernquist, dehnen): of n bodies the first are the components of binaries,
 * two and two, whose centres move like single bodies; positions and velocities of all centres are those of the
 * model, whatever their masses, or by segregation such that the heavier are bound more strongly; as a whole the centre
 * of mass and the momentum are 0.  See system_cpu.c.
 *
 * lpt holds all its bodies (kernels/lpt/lpt.h): each depends on all modes of the lattice.
 *
 * Same bytes for any number of threads and for every instruction set (disk, merger, king, hernquist, nfw, ring,
 * lpt and mass functions also use the C library's elementary functions and are the same bytes wherever these are; lpt
 * also differs in the last bits where there is no fused multiply-add, by its transforms). */
#ifndef NB_MODELS_H
#define NB_MODELS_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* A body of the model orbits: on an orbit about the centre of mass of those before it, or about one of them. */
enum { NB_ELEMENTS_MOST = 64 /* bodies */ };
struct nb_elements {
	double mass, radius;			       /* radius NAN: not given */
	double a, e;				       /* semi-major axis, negative for e > 1; NAN: not given */
	double period;				       /* in place of a; NAN: not given */
	double inclination, node, pericentre, anomaly; /* degrees; of the pericentre the argument */
	int is_true;				       /* the anomaly is the true one, not the mean one */
	int about;				       /* the body; -1: the centre of mass of all before it */
};
/* What is wrong with body i of the list, for this G: a phrase, or NULL. */
const char *nb_elements_fault(const struct nb_elements *list, size_t i, double G);

enum nb_model_kind {
#define NB_MODEL(id, ...) NB_MODEL_##id,
#include "kernels/models/model.def"
	NB_MODEL_NKIND
};

enum { NB_MODEL_BLOCK = 4096 };
enum { NB_MODEL_2D = 1 << 2, NB_MODEL_3D = 1 << 3 };

struct nb_model_info {
	const char *name, *about, *units;
	unsigned dims; /* NB_MODEL_2D, NB_MODEL_3D */
};
extern const struct nb_model_info nb_model_info[NB_MODEL_NKIND];

/* ---- parameters --------------------------------------------------------------------------------- */

struct nb_lpt_table;

/* A model ignores the members that it does not take. */
struct nb_model_param {
	enum nb_model_kind kind;
	int dim;			    /* 2 or 3; 2: z and its velocity are 0 */
	const struct nb_elements *elements; /* orbits: of so many bodies, without a fault */
	size_t nelements;
	/* double rmax and so on: those of parameter.def */
#define NB_TYPE_REAL(member) double member;
#define NB_TYPE_POSITIVE(member) double member;
#define NB_TYPE_INT(member) int member;
#define NB_TYPE_COUNT(member) uint64_t member;
#define NB_TYPE_ANGLES(member) double member[2];
#define NB_TYPE_RANGE(member) double member[2];
#define NB_TYPE_CHOICE(member) int member;
#define NB_TYPE_FLAG(member) int member;
#define NB_TYPE_TABLE(member) const char *member;
#define NB_PARAMETER_ROW(member, letter, option, kind, ...) NB_TYPE_##kind(member)
#include "kernels/models/parameter.def"
	/* lpt: what the file of `spectrum` holds (kernels/lpt/lpt.h), or NULL */
	const struct nb_lpt_table *table;
	/* lpt: what the file of `glass` holds, n x 3 in edges of its box, or NULL: the bodies are n tiles^3, whatever
	 * param.n is; kept by the caller until nb_model_free */
	const double *place;
	uint64_t nplace;
#undef NB_TYPE_REAL
#undef NB_TYPE_POSITIVE
#undef NB_TYPE_INT
#undef NB_TYPE_COUNT
#undef NB_TYPE_ANGLES
#undef NB_TYPE_RANGE
#undef NB_TYPE_CHOICE
#undef NB_TYPE_FLAG
#undef NB_TYPE_TABLE
};

enum nb_parameter {
#define NB_PARAMETER_ROW(member, ...) NB_PARAMETER_##member,
#include "kernels/models/parameter.def"
	NB_NPARAMETER
};

enum nb_parameter_kind {
	NB_KIND_REAL,
	NB_KIND_POSITIVE,
	NB_KIND_INT,
	NB_KIND_COUNT,
	NB_KIND_ANGLES,
	NB_KIND_RANGE,
	NB_KIND_CHOICE,
	NB_KIND_FLAG,
	NB_KIND_TABLE
};

struct nb_parameter_info {
	const char *option; /* name of the option, without dashes */
	enum nb_parameter_kind kind;
	double low, high;
	size_t at, size;     /* of the member in struct nb_model_param */
	const char *invalid; /* phrase, e.g. "rmax must be at least 1.5 and at most 1e100" */
	const int *model;    /* those that take it */
	size_t nmodel;
};
extern const struct nb_parameter_info nb_parameter_info[NB_NPARAMETER];

int nb_model_takes(enum nb_model_kind kind, enum nb_parameter parameter);

/* ---- models ------------------------------------------------------------------------------------- */

enum nb_model_field { NB_MODEL_MASS, NB_MODEL_POS, NB_MODEL_VEL, NB_MODEL_RADIUS, NB_MODEL_NFIELD };

struct nb_model;

/* The defaults of a kind. */
void nb_model_defaults(struct nb_model_param *param, enum nb_model_kind kind);

/* Prepares a model; release with nb_model_free.  NB_EINVAL: a parameter out of its range, with a
 * phrase in *why ("separation must exceed pericentre"); NB_ENOMEM. */
NB_MUST_CHECK int nb_model_create(const struct nb_model_param *param, struct nb_model **model, const char **why);
void nb_model_free(struct nb_model *model);

uint64_t nb_model_count(const struct nb_model *model);
double nb_model_G(const struct nb_model *model);
double nb_model_mass(const struct nb_model *model); /* in all, of models that take the parameter mass */
/* Of lpt: the rms of the density today by linear theory, and that of displacements over the spacing of a lattice. */
double nb_model_sigma8(const struct nb_model *model);
double nb_model_displacement(const struct nb_model *model);
int nb_model_has_species(const struct nb_model *model);
int nb_model_has_binaries(const struct nb_model *model);	    /* param.binaries > 0 */
uint64_t nb_model_binary(const struct nb_model *model, uint64_t i); /* of body i: 1, 2, ..., or 0: it is single */
int nb_model_has_radius(const struct nb_model *model);		    /* solar, and where param.radius >= 0 */

/* Field of bodies [first, first + count), first + count <= nb_model_count: count numbers, or count x 3 for
 * NB_MODEL_POS and NB_MODEL_VEL.  Runs in OpenMP threads unless called from a parallel region; costs
 * least when first is a multiple of NB_MODEL_BLOCK.  NB_OK, NB_ENOMEM, or NB_EINVAL (range, no radius). */
NB_MUST_CHECK int nb_model_fill(
	const struct nb_model *model, enum nb_model_field field, uint64_t first, size_t count, double *out);
/* Species of bodies [first, first + count); 0 where the model has none.
 *   clusters: number of the corner, bit 0 for x, bit 1 for y, bit 2 for z     solar: 0 Sun, 1 Mercury ... 8 Neptune
 *   ring: 0 central body, 1 ring
 *   disk, merger: 0 disk, 1 bulge, 2 halo; 3, 4, 5 those of the second galaxy */
void nb_model_species(const struct nb_model *model, uint64_t first, size_t count, uint8_t *out);
#endif
