/* The columns of nb-gen: of a model any block of rows, of many systems what has been made of each. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-gen/gen.h"

#include <inttypes.h>
#include <string.h>

static int is_field(const struct nb_column *column, enum nb_field field)
{
	return strcmp(column->name, nb_field_info[field].name) == 0;
}

/* ---- many systems ------------------------------------------------------------------------------- */

static int make_one(const struct gen *gen, size_t k)
{
	struct nb_model_param param = gen->param;
	struct nb_elements elements[NB_ELEMENTS_MOST];
	const size_t n = nb_model_count(gen->model);
	struct nb_model *model;
	const char *why;
	param.seed += k;
	param.elements = elements;
	nb_gen_orbits_of(&gen->orbits, k, elements);
	int status = nb_model_create(&param, &model, &why);
	if (status)
		return status;
	for (int field = 0; field < NB_MODEL_NFIELD && !status; field++) {
		const size_t ncomp = field == NB_MODEL_POS || field == NB_MODEL_VEL ? 3 : 1;
		if (gen->own[field])
			status = nb_model_fill(
				model, (enum nb_model_field)field, 0, n, gen->own[field] + k * n * ncomp);
	}
	nb_model_free(model);
	return status;
}

void nb_gen_make_systems(struct gen *gen)
{
	const uint64_t n = nb_model_count(gen->model), systems = gen->systems;
	int status = NB_OK;
	if (systems > 0 && n > UINT32_MAX / systems)
		nb_die(NB_EXIT_USAGE, "%" PRIu64 " systems of %" PRIu64 " bodies are too many (limit 2^32 - 1 bodies)",
			systems, n);
	for (int field = 0; field < NB_MODEL_NFIELD; field++)
		if (field != NB_MODEL_RADIUS || nb_model_has_radius(gen->model))
			gen->own[field] = nb_require_memory(NULL,
				nb_alloc(systems * n,
					(field == NB_MODEL_POS || field == NB_MODEL_VEL ? 3 : 1) * sizeof(double)));
#pragma omp parallel for schedule(dynamic, 16) reduction(max : status) if (systems > 16)
	for (size_t k = 0; k < systems; k++) {
		const int own = make_one(gen, k);
		status = own > status ? own : status;
	}
	if (status)
		nb_die(NB_EXIT_FAILED, "%s", nb_status_text(status));
}

/* ---- contents ----------------------------------------------------------------------------------- */

/* Row by row, what has no array. */
static void fill_numbers(const struct gen *gen, const struct nb_column *column, uint64_t first, size_t count, void *to)
{
	const uint64_t n = nb_model_count(gen->model);
	for (size_t i = 0; i < count; i++) {
		const uint64_t row = first + i, body = row % n, system = row / n;
		if (is_field(column, NB_SPECIES)) {
			nb_model_species(gen->model, body, 1, (uint8_t *)to + i);
			continue;
		}
		const uint64_t binary = is_field(column, NB_ID) || is_field(column, NB_SYSTEM)
						? 0
						: nb_model_binary(gen->model, body);
		((uint64_t *)to)[i] = is_field(column, NB_ID)	    ? row
				      : is_field(column, NB_SYSTEM) ? system
				      : binary > 0		    ? binary + system * n
								    : 0;
	}
}

static int fill_reals(
	const struct gen *gen, enum nb_model_field field, uint64_t first, size_t count, size_t ncomp, double *to)
{
	if (!gen->many)
		return nb_model_fill(gen->model, field, first, count, to);
	memcpy(to, gen->own[field] + first * ncomp, count * ncomp * sizeof *to);
	return NB_OK;
}

/* The wire bytes of rows [first, first + count) of a column, for nb_filler. */
static int fill(void *context, const struct nb_column *column, uint64_t first, size_t count, void *to)
{
	const struct gen *gen = context;
	if (is_field(column, NB_SPECIES) && !gen->many) {
		nb_model_species(gen->model, first, count, to);
		return NB_OK;
	}
	if (is_field(column, NB_ID) || is_field(column, NB_SYSTEM) || is_field(column, NB_SPECIES) ||
		strcmp(column->name, NB_GEN_BINARY) == 0) {
		fill_numbers(gen, column, first, count, to);
		return NB_OK;
	}
	const enum nb_model_field field = is_field(column, NB_MASS)  ? NB_MODEL_MASS
					  : is_field(column, NB_POS) ? NB_MODEL_POS
					  : is_field(column, NB_VEL) ? NB_MODEL_VEL
								     : NB_MODEL_RADIUS;
	if (gen->precision == PRECISION_F64)
		return fill_reals(gen, field, first, count, column->ncomp, to);
	double wide[3 * NB_MODEL_BLOCK];
	int status = fill_reals(gen, field, first, count, column->ncomp, wide);
	if (field == NB_MODEL_POS)
		nb_gen_keep_inside(gen, 3 * count, wide);
	if (!status)
		nb_dtype_from_f64(column->dtype, count * column->ncomp, wide, to);
	return status;
}

struct nb_filler nb_gen_filler(struct gen *gen)
{
	return (struct nb_filler){.rows = NB_MODEL_BLOCK, .block = fill, .context = gen};
}
