/* Models as lists of parts, and their bodies by random access.
 *
 * A part is a number of bodies drawn from one distribution in its own units, then scaled, turned, placed and set in
 * motion (struct nb_model_part).  A model is one to eight parts, or a table of up to 64 bodies worked out when it is
 * created; a galaxy has a part for each component, a merger two galaxies (build_cpu.c, orbit_cpu.c).  Body i is found
 * by its part and its number there, and drawn from its own random numbers, so that any range of bodies can be had in
 * any order and by any thread.  What is random is drawn in model_simd.c, galaxy_cpu.c, sphere_cpu.c and orbit_cpu.c, by
 * draw_cpu.c; system_cpu.c makes binaries of the bodies and segregates them.
 *
 * Sections: what is done to a whole model: masses from a mass function, centring, scaling; the interface, which fills
 * columns.
 */
#include "kernels/models/model_internal.h"

#include "common/mem.h"
#include "kernels/lpt/lpt.h"
#include "kernels/models/galaxy_internal.h"
#include "kernels/models/sphere_internal.h"

#include <math.h>
#include <string.h>

/* ---- the whole ---------------------------------------------------------------------------------- */

/* Of a number of bodies: mass, mass times position, mass times velocity. */
struct moment {
	double mass, pos[3], vel[3];
};

/* Positions or velocities of bodies of a part, or of the centres of its systems. */
static int draw_centres(const struct nb_model *model, const struct nb_model_part *part, int vel, uint64_t start,
	size_t count, double *out)
{
	if (!model->systems)
		return nb_model_draw(model, part, vel, start, count, out);
	int status = NB_OK;
	for (size_t i = 0; i < count && status == NB_OK; i++)
		status = nb_system_centre(model, vel, start + i, out + 3 * i);
	return status;
}

static int block_moment(
	const struct nb_model *model, const struct nb_model_part *part, uint64_t start, struct moment *sum)
{
	const uint64_t left = part->n - start;
	const size_t count = left < NB_MODEL_BLOCK ? (size_t)left : (size_t)NB_MODEL_BLOCK;
	double *pos = nb_alloc(6 * NB_MODEL_BLOCK, sizeof *pos), *vel = pos + 3 * NB_MODEL_BLOCK;
	int status = pos ? draw_centres(model, part, 0, start, count, pos) : NB_ENOMEM;
	if (status == NB_OK)
		status = draw_centres(model, part, 1, start, count, vel);
	memset(sum, 0, sizeof *sum);
	for (size_t i = 0; i < count && status == NB_OK; i++) {
		const double mass = model->systems ? nb_system_mass(model, start + i)
						   : nb_model_mass_of(model, part, start + i);
		sum->mass += mass;
		for (int c = 0; c < 3; c++) {
			sum->pos[c] += mass * pos[3 * i + c];
			sum->vel[c] += mass * vel[3 * i + c];
		}
	}
	nb_free(pos);
	return status;
}

/* Adds a part; block by block, so that the sum is the same for any number of threads. */
static int add_moment(const struct nb_model *model, const struct nb_model_part *part, struct moment *sum)
{
	const int64_t n = (int64_t)((part->n + NB_MODEL_BLOCK - 1) / NB_MODEL_BLOCK);
	struct moment *block = nb_alloc((size_t)n, sizeof *block);
	int status = block || n == 0 ? NB_OK : NB_ENOMEM;
#pragma omp parallel for schedule(dynamic) if (status == NB_OK)
	for (int64_t b = 0; b < (block ? n : 0); b++) {
		int got = block_moment(model, part, (uint64_t)b * NB_MODEL_BLOCK, &block[b]);
		if (got) {
#pragma omp atomic write
			status = got;
		}
	}
	for (int64_t b = 0; b < n && status == NB_OK; b++) {
		sum->mass += block[b].mass;
		for (int c = 0; c < 3; c++) {
			sum->pos[c] += block[b].pos[c];
			sum->vel[c] += block[b].vel[c];
		}
	}
	nb_free(block);
	return status;
}

/* Brings the centre of mass and the momentum of parts that are not centred block by block to 0, and the masses of a
 * mass function to a total of 1. */
static int settle(struct nb_model *model)
{
	struct moment sum = {0};
	for (size_t k = 0; k < model->npart; k++) {
		const struct nb_model_part *part = &model->part[k];
		if (part->sampler == NB_SAMPLE_TABLE) {
			sum.mass += model->mass[0];
			continue;
		}
		int status = add_moment(model, part, &sum);
		if (status)
			return status;
	}
	model->drawn = sum.mass;
	for (size_t k = 0; k < model->npart && sum.mass > 0; k++) {
		struct nb_model_part *part = &model->part[k];
		part->mass = part->imf ? part->mass / sum.mass : part->mass;
		for (int c = 0; c < 3; c++) {
			double *x = part->sampler == NB_SAMPLE_TABLE ? &model->pos[c] : &part->centre[c];
			double *v = part->sampler == NB_SAMPLE_TABLE ? &model->vel[c] : &part->motion[c];
			*x -= part->centred ? sum.pos[c] / sum.mass : 0;
			*v -= sum.vel[c] / sum.mass;
		}
	}
	return NB_OK;
}

static int take_imf(struct nb_model *model, const struct nb_model_param *p)
{
	if (nb_model_takes(p->kind, NB_PARAMETER_imf) && p->imf != NB_IMF_NONE) {
		nb_imf_init(&model->imf, (enum nb_imf_kind)p->imf, p->mass_range[0], p->mass_range[1]);
		for (size_t k = 0; k < model->npart; k++) {
			model->part[k].imf = &model->imf;
			model->part[k].mass = 1;
			model->part[k].whole = 1;
		}
	}
	int status = nb_systems_create(model, p);
	if (status == NB_OK && model->npart && model->part[model->npart - 1].whole)
		status = settle(model);
	return status;
}

/* Velocities that follow from gravity go as sqrt(G M / length). */
static int rescale(struct nb_model *model, const struct nb_model_param *p)
{
	if (!nb_model_takes(p->kind, NB_PARAMETER_mass))
		return NB_OK;
	const int drawn = nb_model_takes(p->kind, NB_PARAMETER_imf) && p->imf != NB_IMF_NONE && p->imf_total &&
			  model->drawn > 0;
	const double mass = drawn ? model->drawn : p->mass,
		     length = p->rscale > 0 && model->scale_radius > 0 ? p->rscale / model->scale_radius : 1;
	const double speed = nb_model_takes(p->kind, NB_PARAMETER_sigma) ? 1 : sqrt(p->G) * sqrt(mass) / sqrt(length);
	if (!(speed > tiny && speed < 1 / tiny && length > tiny && length < 1 / tiny))
		return nb_model_refuse(model, "mass, rscale and G give lengths or velocities out of range");
	model->G *= p->G;
	model->total = mass;
	if (model->systems && p->semi_major[0] == 0) {
		model->systems->semi_major[0] = 1e-4 * length;
		model->systems->semi_major[1] = 1e-2 * length;
	}
	for (size_t k = 0; k < model->npart; k++) {
		struct nb_model_part *part = &model->part[k];
		part->mass *= mass;
		part->length *= length;
		part->speed *= speed;
		for (int c = 0; c < 3; c++) {
			part->centre[c] *= length;
			part->motion[c] *= speed;
		}
	}
	for (int i = 0; i < NB_MODEL_TABLE; i++) {
		model->mass[i] *= mass;
		for (int c = 0; c < 3; c++) {
			model->pos[3 * i + c] *= length;
			model->vel[3 * i + c] *= speed;
		}
	}
	return NB_OK;
}

/* ---- interface ---------------------------------------------------------------------------------- */

static nb_model_build *const build[NB_MODEL_NKIND] = {
#define NB_MODEL(id, name, ...) [NB_MODEL_##id] = nb_model_build_##name,
#include "kernels/models/model.def"
};

int nb_model_create(const struct nb_model_param *param, struct nb_model **out, const char **why)
{
	*out = NULL;
	*why = nb_model_invalid(param);
	if (*why)
		return NB_EINVAL;
	struct nb_model *model = nb_alloc_zero(1, sizeof *model);
	if (!model)
		return NB_ENOMEM;
	model->seed = param->seed;
	model->G = 1;
	if (nb_model_takes(param->kind, NB_PARAMETER_radius) && param->radius >= 0) {
		model->has_radius = 1;
		for (int i = 0; i < NB_MODEL_TABLE; i++)
			model->radius[i] = param->radius;
	}
	int status = build[param->kind](model, param);
	if (status == NB_OK)
		status = take_imf(model, param);
	if (status == NB_OK)
		status = rescale(model, param);
	if (status) {
		*why = model->why;
		nb_model_free(model);
		return status;
	}
	*out = model;
	return NB_OK;
}

void nb_model_free(struct nb_model *model)
{
	if (model) {
		nb_galaxy_free(model->galaxy);
		nb_sphere_free(model->sphere);
		nb_systems_free(model->systems);
		nb_lpt_free(model->lpt);
	}
	nb_free(model);
}

uint64_t nb_model_count(const struct nb_model *model)
{
	return model->n;
}

double nb_model_mass(const struct nb_model *model)
{
	return model->total;
}

double nb_model_sigma8(const struct nb_model *model)
{
	return model->sigma8;
}

double nb_model_displacement(const struct nb_model *model)
{
	return nb_lpt_displacement(model->lpt);
}

double nb_model_G(const struct nb_model *model)
{
	return model->G;
}

int nb_model_has_species(const struct nb_model *model)
{
	return model->has_species;
}

int nb_model_has_radius(const struct nb_model *model)
{
	return model->has_radius;
}

/* Bodies [from, to) of a part, which lie in one block. */
static int block_range(const struct nb_model *model, const struct nb_model_part *part, int vel, uint64_t from,
	uint64_t to, double *out)
{
	const uint64_t start = from / NB_MODEL_BLOCK * NB_MODEL_BLOCK, left = part->n - start;
	const size_t count = left < NB_MODEL_BLOCK ? (size_t)left : (size_t)NB_MODEL_BLOCK;
	if (from == start && to - from == count)
		return nb_model_draw(model, part, vel, start, count, out);
	double *block = nb_alloc(3 * NB_MODEL_BLOCK, sizeof *block);
	if (!block)
		return NB_ENOMEM;
	int status = nb_model_draw(model, part, vel, start, count, block);
	if (status == NB_OK)
		memcpy(out, block + 3 * (from - start), 3 * (size_t)(to - from) * sizeof *out);
	nb_free(block);
	return status;
}

/* Positions or velocities of bodies [from, to) of a model with systems. */
static int system_range(const struct nb_model *model, int vel, uint64_t from, uint64_t to, double *out)
{
	int status = NB_OK;
#pragma omp parallel for schedule(static) if (to - from > NB_MODEL_BLOCK)
	for (uint64_t i = from; i < to; i++) {
		int got = nb_system_body(model, vel, i, out + 3 * (i - from));
		if (got) {
#pragma omp atomic write
			status = got;
		}
	}
	return status;
}

/* Bodies [from, to) of a part. */
static int part_range(const struct nb_model *model, const struct nb_model_part *part, enum nb_model_field field,
	uint64_t from, uint64_t to, double *out)
{
	if (field == NB_MODEL_MASS || field == NB_MODEL_RADIUS) {
#pragma omp parallel for if (part->imf && to - from > NB_MODEL_BLOCK)
		for (uint64_t i = from; i < to; i++)
			out[i - from] = field == NB_MODEL_MASS		   ? nb_model_mass_of(model, part, i)
					: part->sampler == NB_SAMPLE_TABLE ? model->radius[i]
									   : model->radius[0];
		return NB_OK;
	}
	const int vel = field == NB_MODEL_VEL;
	if (model->systems)
		return system_range(model, vel, from, to, out);
	if (part->sampler == NB_SAMPLE_LATTICE) {
		nb_lpt_fill(model->lpt, vel, from, (size_t)(to - from), out);
		return NB_OK;
	}
	if (part->sampler == NB_SAMPLE_TABLE) {
		memcpy(out, (vel ? model->vel : model->pos) + 3 * from, 3 * (size_t)(to - from) * sizeof *out);
		return NB_OK;
	}
	const int64_t first = (int64_t)(from / NB_MODEL_BLOCK), last = (int64_t)((to - 1) / NB_MODEL_BLOCK);
	int status = NB_OK;
#pragma omp parallel for schedule(dynamic) if (last > first)
	for (int64_t b = first; b <= last; b++) {
		const uint64_t low = (uint64_t)b * NB_MODEL_BLOCK, high = low + NB_MODEL_BLOCK;
		const uint64_t a = low > from ? low : from, z = high < to ? high : to;
		int got = block_range(model, part, vel, a, z, out + 3 * (a - from));
		if (got) {
#pragma omp atomic write
			status = got;
		}
	}
	return status;
}

int nb_model_fill(const struct nb_model *model, enum nb_model_field field, uint64_t first, size_t count, double *out)
{
	const size_t ncomp = field == NB_MODEL_POS || field == NB_MODEL_VEL ? 3 : 1;
	if (first > model->n || count > model->n - first || (field == NB_MODEL_RADIUS && !model->has_radius))
		return NB_EINVAL;
	for (size_t p = 0; p < model->npart; p++) {
		const struct nb_model_part *part = &model->part[p];
		const uint64_t end = part->first + (model->systems ? model->n : part->n), last = first + count;
		const uint64_t from = first > part->first ? first : part->first, to = last < end ? last : end;
		if (from >= to)
			continue;
		int status = part_range(
			model, part, field, from - part->first, to - part->first, out + ncomp * (from - first));
		if (status)
			return status;
	}
	return NB_OK;
}

void nb_model_species(const struct nb_model *model, uint64_t first, size_t count, uint8_t *out)
{
	for (size_t p = 0, i = 0; i < count; i++) {
		while (p + 1 < model->npart && first + i >= model->part[p].first + model->part[p].n)
			p++;
		const struct nb_model_part *part = &model->part[p];
		if (part->sampler == NB_SAMPLE_TABLE)
			out[i] = model->has_species ? (uint8_t)(first + i) : 0;
		else
			out[i] = (uint8_t)part->species;
	}
}
