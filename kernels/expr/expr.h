/* expr.h - arithmetic on the rows of a table, from text such as "0.5*v2 + pot" or "species == 0 && r < 2".
 *
 * Text becomes a tree once (nb_expr_parse).  For each table it is bound to what its names stand for (nb_expr_bind),
 * which finds the types and computes all that is the same for every row, such as sum(mass); then it gives its values
 * for any range of rows.  The language is described in nb-calc(1).
 *
 * Numbers are real (f64) or whole.  Whole numbers are exact: they have 128 bits, and are compared with real ones
 * without rounding.  A condition holds or does not; where a number is wanted it is 1 or 0.  Texts are only compared.
 * Where vectors take part, an expression is computed for each component.  Every result is the same for any number of
 * threads. */
#ifndef NB_EXPR_H
#define NB_EXPR_H

#include "common/status.h"

#include <stddef.h>
#include <stdint.h>

enum nb_expr_kind { NB_EXPR_REAL, NB_EXPR_WHOLE, NB_EXPR_CONDITION, NB_EXPR_TEXT };

enum nb_expr_item {
	NB_ITEM_F64,
	NB_ITEM_F32,
	NB_ITEM_U64,
	NB_ITEM_U32,
	NB_ITEM_U16,
	NB_ITEM_U8,
	NB_ITEM_I64,
	NB_ITEM_I32,
	NB_ITEM_I16,
	NB_ITEM_I8,
	NB_ITEM_TEXT
};

enum { NB_EXPR_MESSAGE = 640, NB_EXPR_NAME = 64, NB_EXPR_UNIT = 128, NB_EXPR_COMPONENTS = 16 };

/* What is wrong, as a phrase such as "expected ')' at character 12". */
struct nb_expr_error {
	char text[NB_EXPR_MESSAGE];
	size_t row; /* where the values of a row are wrong; SIZE_MAX: no row */
};

/* What a name stands for: numbers in memory, a formula, or the number of the row.  The numbers of rows, and texts, must
 * stay there as long as the expression is used; a number that is the same in all rows, until the next name is asked
 * for.
 */
struct nb_expr_value {
	const char *formula; /* not NULL: the name stands for this expression, which has no texts */
	int is_row;	     /* else the number of the row, from 0; and else: */
	enum nb_expr_item item;
	const void *data; /* of row 0, component 0; aligned to the item */
	size_t stride;	  /* bytes from a row to the next; 0: the same in all rows */
	uint32_t ncomp;	  /* components, one behind the other */
	size_t width;	  /* bytes of a text, which may end earlier with a NUL */
	const char *unit; /* as in a stream, "velocity^2"; "": none */
};

/* Looks up a name, which is "@key" for an attribute; in_formula: one in a formula, that of a name before.  1, or 0 and
 * the reason in why. */
typedef int nb_expr_find(
	void *context, const char *name, int in_formula, struct nb_expr_value *value, char why[NB_EXPR_MESSAGE]);

struct nb_expr;

/* ---- text --------------------------------------------------------------------------------------- */

/* NB_OK; NB_EINVAL and the reason; NB_ENOMEM and "out of memory". */
NB_MUST_CHECK int nb_expr_parse(struct nb_expr **expr, const char *text, struct nb_expr_error *error);

/* What an assignment sets. */
struct nb_expr_target {
	char name[NB_EXPR_NAME]; /* without @ */
	int is_attribute;
	int component; /* of NAME[2], -1: not given */
	int has_unit;
	char unit[NB_EXPR_UNIT]; /* of NAME [UNIT] */
};

/* "NAME = EXPRESSION", and "NAME += EXPRESSION", which is NAME = NAME + (EXPRESSION); also -= *= /= %= ^=. */
NB_MUST_CHECK int nb_expr_parse_assignment(
	struct nb_expr **expr, const char *text, struct nb_expr_target *target, struct nb_expr_error *error);

const char *nb_expr_source(const struct nb_expr *expr); /* the text */
/* random() and normal() give other numbers for another seed; 0 at first. */
void nb_expr_set_seed(struct nb_expr *expr, uint64_t seed);
/* Whether it has one of these. */
int nb_expr_is_random(const struct nb_expr *expr);
/* Whether it has a function of all rows of a table, such as sum(). */
int nb_expr_takes_all_rows(const struct nb_expr *expr);
void nb_expr_free(struct nb_expr *expr);

/* ---- values ------------------------------------------------------------------------------------- */

/* Binds the expression to a table of n rows, again if it was bound before.  ncomp: components that the result shall
 * have (one that has no vectors then gives all of them the same); 0: as many as it has.  The numbers of random() depend
 * on the column 'id' if the table has one, else on the row.  NB_OK, NB_EINVAL or NB_ENOMEM. */
NB_MUST_CHECK int nb_expr_bind(
	struct nb_expr *expr, size_t n, uint32_t ncomp, nb_expr_find *find, void *context, struct nb_expr_error *error);

/* Of a bound expression: */
enum nb_expr_kind nb_expr_kind(const struct nb_expr *expr);
uint32_t nb_expr_ncomp(const struct nb_expr *expr);
int nb_expr_is_uniform(const struct nb_expr *expr);  /* the same in all rows */
int nb_expr_is_unsigned(const struct nb_expr *expr); /* whole, and cannot be negative */
/* The unit of the result, "" if it has none or none is known. */
const char *nb_expr_unit(const struct nb_expr *expr);
/* Why the unit is not known, "": it is; e.g. "'length' and 'mass' at character 7". */
const char *nb_expr_unit_doubt(const struct nb_expr *expr);

/* Component comp of rows first to first + count - 1 as items, stride bytes from one to the next; of a uniform
 * expression also row 0 of a table without rows.  NB_EINVAL if a value is not one of the item's (error->row says
 * where): a real number for whole items that is not whole, or one out of range.  A real number out of range of f32
 * becomes infinite. */
NB_MUST_CHECK int nb_expr_values(const struct nb_expr *expr, size_t first, size_t count, uint32_t comp,
	enum nb_expr_item item, void *to, size_t stride, struct nb_expr_error *error);
/* The same of a condition: 1 where it holds, else 0. */
NB_MUST_CHECK int nb_expr_mask(
	const struct nb_expr *expr, size_t first, size_t count, uint8_t *mask, struct nb_expr_error *error);
/* The text of a row; not NUL-terminated. */
const char *nb_expr_text(const struct nb_expr *expr, size_t row, size_t *length);
/* Whether all real numbers that the result of a row is made of are finite. */
int nb_expr_reads_finite(const struct nb_expr *expr, size_t row);

#endif
