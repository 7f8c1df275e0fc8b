/* The tables of models and of their parameters, defaults and ranges. */
#include "kernels/models/models.h"

#include "kernels/models/part_internal.h"

#include <math.h>
#include <string.h>

/* the models by name, as the tables have them */
enum {
#define NB_MODEL(id, name, ...) name = NB_MODEL_##id,
#include "kernels/models/model.def"
};

const struct nb_model_info nb_model_info[NB_MODEL_NKIND] = {
#define NB_MODEL(id, name, dims, units, help) [NB_MODEL_##id] = {#name, help, units, dims},
#include "kernels/models/model.def"
};

#define RANGE_REAL(low, high) "at least " #low " and at most " #high
#define RANGE_POSITIVE(low, high) "above " #low " and at most " #high
#define RANGE_INT RANGE_REAL
#define RANGE_COUNT RANGE_REAL
#define RANGE_ANGLES(low, high) "two finite numbers"
#define RANGE_RANGE(low, high) "two numbers above " #low " and at most " #high ", the smaller first"
#define RANGE_CHOICE RANGE_REAL
#define RANGE_FLAG RANGE_REAL
#define RANGE_TABLE(low, high) "a name"
#define MEMBER(member) offsetof(struct nb_model_param, member), sizeof((struct nb_model_param *)0)->member

const struct nb_parameter_info nb_parameter_info[NB_NPARAMETER] = {
#define NB_PARAMETER_ROW(member, letter, option, kind, low, high, argument, value, text, help, ...) \
	[NB_PARAMETER_##member] = {option, NB_KIND_##kind, low, high, MEMBER(member),               \
		option " must be " RANGE_##kind(low, high), (const int[]){__VA_ARGS__},             \
		sizeof((const int[]){__VA_ARGS__}) / sizeof(int)},
#include "kernels/models/parameter.def"
};

int nb_model_takes(enum nb_model_kind kind, enum nb_parameter parameter)
{
	const struct nb_parameter_info *info = &nb_parameter_info[parameter];
	for (size_t i = 0; i < info->nmodel; i++)
		if (info->model[i] == (int)kind)
			return 1;
	return 0;
}

void nb_model_defaults(struct nb_model_param *param, enum nb_model_kind kind)
{
	const int known = (int)kind >= 0 && kind < NB_MODEL_NKIND;
	*param = (struct nb_model_param){
		.kind = kind,
		.dim = !known || nb_model_info[kind].dims & NB_MODEL_3D ? 3 : 2,
#define NB_PARAMETER_ROW(member, letter, option, kind, low, high, argument, value, ...) .member = value,
#include "kernels/models/parameter.def"
	};
#define NB_DEFAULT(model, member, value) \
	if ((int)kind == model)          \
		param->member = value;
#include "kernels/models/parameter.def"
}

static int in_range(const struct nb_parameter_info *info, const void *value)
{
	const double *x = value;
	switch (info->kind) {
	case NB_KIND_REAL: return *x >= info->low && *x <= info->high; /* false for NaN; squares stay finite */
	case NB_KIND_POSITIVE: return *x > info->low && *x <= info->high;
	case NB_KIND_CHOICE:
	case NB_KIND_FLAG:
	case NB_KIND_INT: return *(const int *)value >= (int)info->low && *(const int *)value <= (int)info->high;
	case NB_KIND_COUNT: {
		const uint64_t n = *(const uint64_t *)value;
		return n >= (uint64_t)info->low && (info->high >= 0x1p64 || n <= (uint64_t)info->high);
	}
	case NB_KIND_ANGLES: return isfinite(x[0]) && isfinite(x[1]);
	case NB_KIND_TABLE: return 1;
	case NB_KIND_RANGE: return x[0] > info->low && x[0] < x[1] && x[1] <= info->high;
	}
	return 0;
}

const char *nb_model_invalid(const struct nb_model_param *param)
{
	if ((int)param->kind < 0 || param->kind >= NB_MODEL_NKIND)
		return "unknown model";
	if (param->dim < 2 || param->dim > 3 || !(nb_model_info[param->kind].dims >> param->dim & 1))
		return "the model does not have this number of dimensions";
	struct nb_model_param usual;
	nb_model_defaults(&usual, param->kind);
	for (int p = 0; p < NB_NPARAMETER; p++) {
		const struct nb_parameter_info *info = &nb_parameter_info[p];
		const char *value = (const char *)param + info->at;
		const int is_default = memcmp(value, (const char *)&usual + info->at, info->size) == 0;
		if (nb_model_takes(param->kind, (enum nb_parameter)p) && !is_default && !in_range(info, value))
			return info->invalid;
	}
	return NULL;
}
