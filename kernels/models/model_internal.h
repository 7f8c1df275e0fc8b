/* model_internal.h - what the files of the models share; private. */
#ifndef NB_MODELS_MODEL_INTERNAL_H
#define NB_MODELS_MODEL_INTERNAL_H

#include "kernels/models/imf_internal.h"
#include "kernels/models/models.h"
#include "kernels/models/part_internal.h"

enum { NB_MODEL_PARTS = 8, NB_MODEL_TABLE = NB_ELEMENTS_MOST /* bodies, at least 9 of solar */ };

/* Binaries and single bodies: system j has bodies 2 j and 2 j + 1 if it is one of the first nbinary, else j + nbinary
 * alone.  Its centre moves like body orbit[j] of the only part, in which systems are counted. */
struct nb_systems {
	uint64_t n, nbinary;
	int has_binaries, pairing;
	double low, semi_major[2]; /* smallest mass of the mass function; limits, in the units of the bodies */
	uint64_t *orbit;	   /* NULL: j */
};

struct nb_model {
	uint64_t n, seed;
	double G;
	int has_species, has_radius;
	size_t npart;
	struct nb_model_part part[NB_MODEL_PARTS];
	struct nb_galaxy *galaxy;
	struct nb_sphere *sphere;
	struct nb_lpt *lpt;
	double sigma8;
	struct nb_imf imf;
	struct nb_systems *systems;    /* NULL: each body is one */
	double drawn, total;	       /* mass as imf has it; as it is */
	double scale_radius;	       /* of the model as built; of the models that take rscale */
	const char *why;	       /* it was refused */
	double radius[NB_MODEL_TABLE]; /* the first that of all, unless there is a table */
	/* NB_SAMPLE_TABLE: one part whose bodies are these */
	double mass[NB_MODEL_TABLE], pos[3 * NB_MODEL_TABLE], vel[3 * NB_MODEL_TABLE];
};

static const double tiny = 1e-150; /* the square of a length above this is not 0 */

/* nb_model_build_NAME of each model adds its parts: NB_OK, NB_EINVAL by nb_model_refuse, or NB_ENOMEM.  Each parameter
 * is in its range (parameter.c); what must hold besides, e.g. between two of them, is for the function to check. */
typedef int nb_model_build(struct nb_model *, const struct nb_model_param *);
#define NB_MODEL(id, name, ...) nb_model_build nb_model_build_##name;
#include "kernels/models/model.def"

/* Says why there is no such model, and returns NB_EINVAL. */
int nb_model_refuse(struct nb_model *model, const char *why);
/* A part of n bodies, in its own units, at the origin and at rest. */
struct nb_model_part *nb_model_add_part(struct nb_model *model, enum nb_model_sampler sampler, int dim, uint64_t n);
/* orbit_cpu.c: a table of n bodies, and no other part; shifted so that centre of mass and momentum vanish. */
void nb_model_begin_table(struct nb_model *model, uint64_t n);
void nb_model_centre_table(struct nb_model *model);
/* draw_cpu.c: positions or velocities of bodies [start, start + count) of a part, and the mass of one.  A block is
 * centred as a block; a sphere can be drawn from any body on. */
NB_MUST_CHECK int nb_model_draw(const struct nb_model *model, const struct nb_model_part *part, int vel, uint64_t start,
	size_t count, double *out);
double nb_model_mass_of(const struct nb_model *model, const struct nb_model_part *part, uint64_t i);

/* system_cpu.c: model->systems where the parameters ask for binaries or segregation. */
NB_MUST_CHECK int nb_systems_create(struct nb_model *model, const struct nb_model_param *param);
void nb_systems_free(struct nb_systems *systems);
/* Position or velocity of the centre of a system, and its mass; position or velocity of a body. */
NB_MUST_CHECK int nb_system_centre(const struct nb_model *model, int vel, uint64_t j, double out[3]);
double nb_system_mass(const struct nb_model *model, uint64_t j);
NB_MUST_CHECK int nb_system_body(const struct nb_model *model, int vel, uint64_t i, double out[3]);

/* An orbit about a mass at the origin; longitudes of the mean anomaly, the perihelion and the node; degrees. */
struct nb_orbit {
	double a, e, inclination, longitude, perihelion, node;
};
/* From the plane of an orbit, with the pericentre on the first axis, x, y and their velocities; angles in degrees, the
 * last one from the node to the pericentre. */
void nb_orbit_turn(
	const double plane[4], double inclination, double node, double pericentre, double pos[3], double vel[3]);
/* mu: G times both masses */
void nb_orbit_place(const struct nb_orbit *orbit, double mu, double pos[3], double vel[3]);

/* Bodies start .. start + count - 1 of a ring (NB_SAMPLE_RING), count x 3 numbers each; orbit_cpu.c. */
void nb_model_draw_ring(
	const struct nb_model_part *part, uint64_t seed, uint64_t start, size_t count, double *pos, double *vel);

#endif
