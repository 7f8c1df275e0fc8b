/* Bodies of a part: positions, velocities and masses, block by block or one by one. */
#include "kernels/models/model_internal.h"

#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/models/galaxy_internal.h"
#include "kernels/models/sample_internal.h"
#include "kernels/models/sphere_internal.h"

#include <math.h>

static nb_model_draw_block *const draw_of[] = {NB_ISA_TABLE(nb_model_draw_block)};
static nb_model_shift *const shift_of[] = {NB_ISA_TABLE(nb_model_shift)};

/* One block of a part whose positions and velocities are made together, since signs go by both. */
static int pair_block(const struct nb_model *model, const struct nb_model_part *part, int vel, uint64_t start,
	size_t count, double *out)
{
	double *other = nb_alloc(3 * NB_MODEL_BLOCK, sizeof *other);
	if (!other)
		return NB_ENOMEM;
	double *pos = vel ? other : out, *v = vel ? out : other;
	if (part->sampler == NB_SAMPLE_GALAXY)
		nb_galaxy_draw(part->galaxy, (enum nb_galaxy_component)part->component, model->seed, part->stream,
			start, count, pos, v);
	else
		nb_model_draw_ring(part, model->seed, start, count, pos, v);
	const double scale = vel ? part->speed : part->length, *t = part->turn;
	for (size_t i = 0; i < count; i++) {
		double *a = out + 3 * i;
		const double x = a[0] * scale, y = a[1] * scale, z = a[2] * scale;
		a[0] = t[0] * x + t[1] * y + t[2] * z;
		a[1] = t[3] * x + t[4] * y + t[5] * z;
		a[2] = t[6] * x + t[7] * y + t[8] * z;
	}
	nb_free(other);
	return NB_OK;
}

int nb_model_draw(const struct nb_model *model, const struct nb_model_part *part, int vel, uint64_t start, size_t count,
	double *out)
{
	const enum nb_isa isa = nb_cpu_isa();
	if (part->sampler == NB_SAMPLE_SPHERE) {
		nb_sphere_draw(part->sphere, model->seed, part->stream, vel, start, count, out);
		const double scale = vel ? part->speed : part->length;
		for (size_t i = 0; i < 3 * count; i++)
			out[i] *= scale;
	} else if (part->sampler == NB_SAMPLE_GALAXY || part->sampler == NB_SAMPLE_RING) {
		int status = pair_block(model, part, vel, start, count, out);
		if (status)
			return status;
	} else {
		draw_of[isa](part, model->seed, vel, start, count, out);
	}
	shift_of[isa](count, !part->whole && (vel || part->centred), vel ? part->motion : part->centre, out);
	return NB_OK;
}

static double mass_uniform(const struct nb_model *model, const struct nb_model_part *part, uint64_t i)
{
	const struct source from = {model->seed, i, part->stream};
	double u[2];
	draw(&from, DRAW_MASS, u);
	return u[0];
}

uint64_t nb_model_binary(const struct nb_model *model, uint64_t i)
{
	return model->systems && i < 2 * model->systems->nbinary ? i / 2 + 1 : 0;
}

/* The first of a binary is the heavier. */
double nb_model_mass_of(const struct nb_model *model, const struct nb_model_part *part, uint64_t i)
{
	if (part->sampler == NB_SAMPLE_TABLE)
		return model->mass[i];
	if (!part->imf)
		return part->mass;
	const double u = mass_uniform(model, part, i), own = nb_imf_mass(part->imf, u);
	if (nb_model_binary(model, i) == 0)
		return part->mass * own;
	const double other = nb_imf_mass(part->imf, mass_uniform(model, part, i ^ 1));
	if (model->systems->pairing) {
		const double least = model->systems->low;
		return part->mass * (i % 2 ? least + u * (other - least) : own);
	}
	return part->mass * (i % 2 ? fmin(own, other) : fmax(own, other));
}
