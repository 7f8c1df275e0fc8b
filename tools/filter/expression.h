/* expression.h - expressions (kernels/expr/expr.h) over the bodies of a frame, for options and operands of tools.
 *
 *     check:  opt->where = nb_expression(text);          wrong text ends the tool with status 2
 *     frame:  nb_bind_condition(opt->where, frame);      a name that the frame does not have: with status 1
 *             nb_condition_mask(opt->where, frame, mask);
 *     clear:  nb_expr_free(opt->where);
 *
 * Names are those of columns, their components as csv has them (x, vy, NAME_0), attributes (@softening), and those of
 * nb-calc(1), such as r, v2 and time. */
#ifndef NB_FILTER_EXPRESSION_H
#define NB_FILTER_EXPRESSION_H

#include "formats/stream/stream.h"
#include "kernels/expr/expr.h"

struct nb_expr *nb_expression(const char *text);
/* The seed of --seed: each program, and each of its expressions by its place, then has other random numbers. */
void nb_expression_seed(struct nb_expr *expr, const char *program, uint64_t place, uint64_t seed);
/* Binds an expression to a frame.  ncomp: components of the result, 0: any.  The contents of columns that it names must
 * not change as long as it is used. */
void nb_bind_expression(struct nb_expr *expr, struct nb_frame *frame, uint32_t ncomp);
/* The same for one that must be a condition. */
void nb_bind_condition(struct nb_expr *expr, struct nb_frame *frame);
/* For each body 1 where it holds, else 0. */
void nb_condition_mask(const struct nb_expr *expr, const struct nb_frame *frame, uint8_t *mask);
/* A number for each body, of an expression that was bound with ncomp 1. */
void nb_expression_f64(const struct nb_expr *expr, const struct nb_frame *frame, double *to);

/* ---- in pieces ---------------------------------------------------------------------------------- */

/* What names mean in a frame: the context of nb_scope_find. */
struct nb_scope {
	struct nb_frame *frame;
	const char *also;	    /* words with '|' between them that the name could be too; NULL: none */
	const char *dropped_by;	    /* the text that made derived columns stale, for messages; NULL: none */
	const char *const *nothing; /* attributes that are NaN if the frame does not have them ... */
	size_t nnothing;	    /* ... so many */
	double real;
	uint64_t whole;
};
nb_expr_find nb_scope_find;
/* The field and component of a name that csv has for one, such as vx; 1, or 0 if there is none. */
int nb_component_find(const char *name, enum nb_field *field, uint32_t *component);
/* The column that a name means, and which of its components: all of them, or one (vx, NAME_2).  NULL: none. */
struct nb_column *nb_named_column(const struct nb_frame *frame, const char *name, uint32_t *first, uint32_t *count);
/* The item of a NumPy type; 1, or 0 if it is none to compute with. */
int nb_item_of(const char *dtype, enum nb_expr_item *item);
/* Ends the tool after a failure in a frame. */
_Noreturn void nb_expression_failed(
	const struct nb_expr *expr, const struct nb_frame *frame, const struct nb_expr_error *error);

#endif
