/* The parts of a model that is being made. */
#include "kernels/models/model_internal.h"

#include <string.h>

int nb_model_refuse(struct nb_model *model, const char *why)
{
	model->why = why;
	return NB_EINVAL;
}

struct nb_model_part *nb_model_add_part(struct nb_model *model, enum nb_model_sampler sampler, int dim, uint64_t n)
{
	struct nb_model_part *part = &model->part[model->npart];
	memset(part, 0, sizeof *part);
	part->sampler = sampler;
	part->dim = dim;
	part->stream = (uint32_t)model->npart;
	part->first = model->n;
	part->n = n;
	part->length = 1;
	model->npart++;
	model->n += n;
	return part;
}
