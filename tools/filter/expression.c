#include "tools/filter/expression.h"

#include "common/die.h"
#include "kernels/order/order.h"

#include <inttypes.h>

struct nb_expr *nb_expression(const char *text)
{
	struct nb_expr *expr;
	struct nb_expr_error error;
	const int status = nb_expr_parse(&expr, text, &error);
	if (status)
		nb_die(status == NB_ENOMEM ? NB_EXIT_FAILED : NB_EXIT_USAGE, "'%.300s': %s", text, error.text);
	return expr;
}

void nb_expression_seed(struct nb_expr *expr, const char *program, uint64_t place, uint64_t seed)
{
	uint64_t stream = nb_id_hash(place);
	for (const char *c = program; *c; c++)
		stream = nb_id_hash(stream ^ (unsigned char)*c);
	nb_expr_set_seed(expr, stream + seed);
}

_Noreturn void nb_expression_failed(
	const struct nb_expr *expr, const struct nb_frame *frame, const struct nb_expr_error *error)
{
	if (error->row != SIZE_MAX)
		nb_die(NB_EXIT_FAILED, "'%.300s': %s in row %zu of frame %" PRIu64, nb_expr_source(expr), error->text,
			error->row, frame->number);
	nb_die(NB_EXIT_FAILED, "'%.300s': %s", nb_expr_source(expr), error->text);
}

/* ---- values ------------------------------------------------------------------------------------- */

void nb_bind_expression(struct nb_expr *expr, struct nb_frame *frame, uint32_t ncomp)
{
	struct nb_scope scope = {.frame = frame};
	struct nb_expr_error error;
	if (nb_expr_bind(expr, frame->rows[NB_PARTICLE], ncomp, nb_scope_find, &scope, &error))
		nb_expression_failed(expr, frame, &error);
}

void nb_bind_condition(struct nb_expr *expr, struct nb_frame *frame)
{
	nb_bind_expression(expr, frame, 1);
	if (nb_expr_kind(expr) != NB_EXPR_CONDITION)
		nb_die(NB_EXIT_FAILED, "'%.300s' is not a condition (such as 'r < 2' or 'species == 1')",
			nb_expr_source(expr));
}

void nb_condition_mask(const struct nb_expr *expr, const struct nb_frame *frame, uint8_t *mask)
{
	struct nb_expr_error error;
	if (nb_expr_mask(expr, 0, frame->rows[NB_PARTICLE], mask, &error))
		nb_expression_failed(expr, frame, &error);
}

void nb_expression_f64(const struct nb_expr *expr, const struct nb_frame *frame, double *to)
{
	struct nb_expr_error error;
	if (nb_expr_values(expr, 0, frame->rows[NB_PARTICLE], 0, NB_ITEM_F64, to, sizeof *to, &error))
		nb_expression_failed(expr, frame, &error);
}
