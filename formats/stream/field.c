#include "formats/stream/field.h"

#include <string.h>

const struct nb_field_info nb_field_info[NB_NFIELD] = {
#define NB_FIELD(id, name, table, dtype, ncomp, unit, flags, traits, csv, meaning) \
	{name, NB_##table, dtype, ncomp, unit, flags, traits, csv, meaning},
#include "formats/stream/field.def"
#undef NB_FIELD
};

const char *const nb_table_name[NB_NTABLE] = {"particle", "node", "box"};

const struct nb_field_info *nb_field_find(const char *name)
{
	for (int f = 0; f < NB_NFIELD; f++)
		if (strcmp(nb_field_info[f].name, name) == 0)
			return &nb_field_info[f];
	return NULL;
}

size_t nb_dtype_size(const char *dtype)
{
	enum { MAX_ITEM = 4096 };
	if (dtype[0] != '<' && dtype[0] != '|')
		return 0;
	if (dtype[1] == '\0' || !strchr("biufcSV", dtype[1]))
		return 0;
	size_t size = 0;
	const char *c = dtype + 2;
	if (*c < '1' || *c > '9')
		return 0;
	for (; *c >= '0' && *c <= '9' && size <= MAX_ITEM; c++)
		size = 10 * size + (size_t)(*c - '0');
	if (*c || size > MAX_ITEM)
		return 0;
	int single = size == 1 || dtype[1] == 'S' || dtype[1] == 'V';
	return (dtype[0] == '|') == single ? size : 0;
}

/* One loop for each type, written once. */
#define NB_UNSIGNED_TYPES(DO) \
	DO("<u8", uint64_t)   \
	DO("<u4", uint32_t)   \
	DO("<u2", uint16_t)   \
	DO("|u1", uint8_t)
#define NB_NUMBER_TYPES(DO)   \
	NB_UNSIGNED_TYPES(DO) \
	DO("<f8", double)     \
	DO("<f4", float)      \
	DO("<i8", int64_t)    \
	DO("<i4", int32_t)    \
	DO("<i2", int16_t)    \
	DO("|i1", int8_t)

int nb_dtype_is_number(const char *dtype)
{
#define NB_DO(string, type)             \
	if (strcmp(dtype, string) == 0) \
		return 1;
	NB_NUMBER_TYPES(NB_DO)
#undef NB_DO
	return 0;
}

void nb_dtype_to_f64(const char *dtype, size_t count, const void *from, double *to)
{
#define NB_DO(string, type)                        \
	if (strcmp(dtype, string) == 0) {          \
		const type *item = from;           \
		for (size_t i = 0; i < count; i++) \
			to[i] = (double)item[i];   \
	}
	NB_NUMBER_TYPES(NB_DO)
#undef NB_DO
}

void nb_dtype_to_u64(const char *dtype, size_t count, const void *from, uint64_t *to)
{
#define NB_DO(string, type)                        \
	if (strcmp(dtype, string) == 0) {          \
		const type *item = from;           \
		for (size_t i = 0; i < count; i++) \
			to[i] = (uint64_t)item[i]; \
	}
	NB_UNSIGNED_TYPES(NB_DO)
#undef NB_DO
}

void nb_dtype_from_f64(const char *dtype, size_t count, const double *from, void *to)
{
#define NB_DO(string, type)                        \
	if (strcmp(dtype, string) == 0) {          \
		type *item = to;                   \
		for (size_t i = 0; i < count; i++) \
			item[i] = (type)from[i];   \
	}
	NB_NUMBER_TYPES(NB_DO)
#undef NB_DO
}
