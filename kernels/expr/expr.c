/* Expressions as their users see them. */
#include "kernels/expr/expr_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nb_expr_fail(struct nb_expr_error *error, size_t at, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	error->row = SIZE_MAX;
	vsnprintf(error->text, sizeof error->text, format, list);
	va_end(list);
	const size_t used = strlen(error->text);
	if (at != SIZE_MAX)
		snprintf(error->text + used, sizeof error->text - used, " at character %zu", at + 1);
	return NB_EINVAL;
}

int nb_expr_no_memory(struct nb_expr_error *error)
{
	(void)nb_expr_fail(error, SIZE_MAX, "out of memory");
	return NB_ENOMEM;
}

int nb_expr_parse_assignment(
	struct nb_expr **expr, const char *text, struct nb_expr_target *target, struct nb_expr_error *error)
{
	*expr = calloc(1, sizeof **expr);
	char *copy = strdup(text);
	int status = *expr && copy ? NB_OK : nb_expr_no_memory(error);
	if (!status)
		status = nb_expr_tree_parse(&(*expr)->tree, text, target, error);
	if (status) {
		free(*expr);
		free(copy);
		*expr = NULL;
	} else {
		(*expr)->text = copy;
	}
	return status;
}

int nb_expr_parse(struct nb_expr **expr, const char *text, struct nb_expr_error *error)
{
	return nb_expr_parse_assignment(expr, text, NULL, error);
}

const char *nb_expr_source(const struct nb_expr *expr)
{
	return expr->text;
}

int nb_expr_is_random(const struct nb_expr *expr)
{
	return expr->tree.nrandom > 0;
}

void nb_expr_set_seed(struct nb_expr *expr, uint64_t seed)
{
	expr->seed = seed;
}
