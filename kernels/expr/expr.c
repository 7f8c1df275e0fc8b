/* Expressions as their users see them. */
#include "kernels/expr/expr_internal.h"

#include <stdlib.h>
#include <string.h>

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

int nb_expr_takes_all_rows(const struct nb_expr *expr)
{
	int takes = 0;
	for (int k = 0; k < expr->tree.nnode; k++) {
		const struct nb_expr_node *node = &expr->tree.node[k];
		const int is_order = node->what == NB_DO_MIN || node->what == NB_DO_MAX;
		takes |= node->kind == NB_NODE_APPLY &&
			 (node->what == NB_DO_COUNT || node->what == NB_DO_MEAN || node->what == NB_DO_SUM ||
				 (is_order && node->arg[1] < 0));
	}
	return takes;
}

void nb_expr_set_seed(struct nb_expr *expr, uint64_t seed)
{
	expr->seed = seed;
}

enum nb_expr_kind nb_expr_kind(const struct nb_expr *expr)
{
	return expr->instr[expr->result[0]].kind;
}
