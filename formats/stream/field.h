/* field.h - the standard columns of a particle stream (formats/stream/field.def) and NumPy type strings. */
#ifndef NB_STREAM_FIELD_H
#define NB_STREAM_FIELD_H

#include <stddef.h>
#include <stdint.h>

enum nb_table { NB_PARTICLE, NB_NODE, NB_BOX, NB_NTABLE };

enum nb_column_flag {
	NB_DERIVED = 1 /* follows from positions; stale once bodies move */
};

/* what input must fulfil; not in the stream */
enum nb_field_trait {
	NB_FINITE = 1,	     /* no NaN, no infinity */
	NB_NOT_NEGATIVE = 2, /* >= 0 */
	NB_FINITE_RESULT = 4 /* as NB_FINITE, but of no matter to tools that replace the column or do not use it */
};

enum nb_field {
#define NB_FIELD(id, name, table, dtype, ncomp, unit, flags, traits, csv, meaning) NB_##id,
#include "formats/stream/field.def"
#undef NB_FIELD
	NB_NFIELD
};

struct nb_field_info {
	const char *name;
	enum nb_table table;
	const char *dtype;
	uint32_t ncomp; /* 0: varies */
	const char *unit;
	uint32_t flags;
	unsigned traits;
	const char *csv; /* names of the components in csv, "x y [z]"; in brackets: not there where dim is 2 */
	const char *meaning;
};

extern const struct nb_field_info nb_field_info[NB_NFIELD];
extern const char *const nb_table_name[NB_NTABLE]; /* "particle", "node", "box" */

/* The standard column of that name, or NULL. */
const struct nb_field_info *nb_field_find(const char *name);

/* Bytes of one component of a NumPy type string such as "<f8", "|u1", "<i4", "|S16"; 0 if the string
 * is not one that a stream may carry: little-endian ('<') or single-byte ('|') of kind b i u f c S V. */
size_t nb_dtype_size(const char *dtype);
/* 1 if nb_dtype_to_f64 and nb_dtype_from_f64 can convert it: kinds i, u, f of their usual sizes. */
int nb_dtype_is_number(const char *dtype);
/* count numbers, host memory.  f64 to an integer kind rounds toward zero; only unsigned integers become u64. */
void nb_dtype_to_u64(const char *dtype, size_t count, const void *from, uint64_t *to);
void nb_dtype_to_f64(const char *dtype, size_t count, const void *from, double *to);
void nb_dtype_from_f64(const char *dtype, size_t count, const double *from, void *to);

#endif
