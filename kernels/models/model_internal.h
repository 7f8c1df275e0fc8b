/* model_internal.h - what the files of the models share; private. */
#ifndef NB_MODELS_MODEL_INTERNAL_H
#define NB_MODELS_MODEL_INTERNAL_H

#include "kernels/models/imf_internal.h"
#include "kernels/models/models.h"
#include "kernels/models/part_internal.h"

enum { NB_MODEL_PARTS = 8, NB_MODEL_TABLE = 9 };

struct nb_model {
	uint64_t n, seed;
	double G;
	int has_species, has_radius;
	size_t npart;
	struct nb_model_part part[NB_MODEL_PARTS];
	struct nb_galaxy *galaxy;
	struct nb_sphere *sphere;
	struct nb_imf imf;
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
/* Bodies start .. start + count - 1 of a ring (NB_SAMPLE_RING), count x 3 numbers each; orbit_cpu.c. */
void nb_model_draw_ring(
	const struct nb_model_part *part, uint64_t seed, uint64_t start, size_t count, double *pos, double *vel);

#endif
