/* calc.h - the parts of nb-calc. */
#ifndef NB_CALC_H
#define NB_CALC_H

#include "tools/filter/expression.h"
#include "tools/filter/filter.h"
#include "tools/filter/require.h"

struct assignment {
	struct nb_expr *expr;
	struct nb_expr_target target;
};

struct calc {
	char *text; /* of assignments that are being parsed */
	int dtype;  /* of --dtype, from 1 in its order; 0: not given */
	uint64_t seed;
	struct assignment *list;
	size_t n;
	const char **nothing; /* attributes that this frame does not get, as their values are those of no bodies; */
	size_t nnothing;      /* room for n */
	int took;	      /* an assignment has taken the type of --dtype in this frame */
	unsigned set;	      /* which fields the assignments have set in this frame: bit 1 << field */
	void *contents;	      /* of a column that is being made; of nb_space_host */
};

_Static_assert(NB_NFIELD <= 32, "set has a bit for each field");

#define NB_CALC_DTYPES "f8|f4|u8|u4|u2|u1|i8|i4|i2|i1"

/* Sets an attribute, or a column or a component of one; scope->dropped_by becomes the text if that makes derived
 * columns stale, which are dropped. */
void nb_calc_attribute(struct calc *calc, struct nb_scope *scope, const struct assignment *assignment);
void nb_calc_column(struct calc *calc, struct nb_scope *scope, const struct assignment *assignment);

/* ---- assignment.c ---- */

/* Drops what changes of these kinds make stale. */
enum nb_calc_change { NB_CHANGED_POS, NB_CHANGED_MASS, NB_CHANGED_VEL, NB_CHANGED_FORCE };
void nb_calc_drop(struct nb_scope *scope, const struct assignment *assignment, enum nb_calc_change change);

/* Ends the tool: 'text': message. */
_Noreturn void nb_calc_fail(const struct assignment *assignment, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
