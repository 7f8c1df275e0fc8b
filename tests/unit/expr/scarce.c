/* Expressions when memory runs out: each call that fails is reported, and nothing is left; the next try succeeds. */
#include "tests/unit/scarce.h"
#include "common/cpu.h"
#include "kernels/expr/expr.h"

enum { N = 2000 };

static double x[N];

static int find(void *context, const char *name, int in_formula, struct nb_expr_value *value, char why[NB_EXPR_MESSAGE])
{
	(void)context;
	(void)in_formula;
	(void)why;
	if (strcmp(name, "twice") == 0)
		value->formula = "2*x";
	else
		*value = (struct nb_expr_value){
			.item = NB_ITEM_F64, .data = x, .stride = sizeof *x, .ncomp = 1, .unit = "length"};
	return 1;
}

static int work(void *context)
{
	static double got[N];
	struct nb_expr *expr = NULL;
	(void)context;
	struct nb_expr_target target;
	struct nb_expr_error error = {.text = ""};
	int status = nb_expr_parse_assignment(
		&expr, "y = x + twice - sum(x^1.5)/max(abs(x)) + (x > 0 ? 1 : random())", &target, &error);
	if (!status)
		status = nb_expr_bind(expr, N, 1, find, NULL, &error);
	if (!status)
		status = nb_expr_values(expr, 0, N, 0, NB_ITEM_F64, got, sizeof *got, &error);
	CHECK(status == NB_OK || (status == NB_ENOMEM && strcmp(error.text, "out of memory") == 0));
	nb_expr_free(expr);
	return status;
}

int main(void)
{
	for (size_t i = 0; i < N; i++)
		x[i] = (double)i;
	nb_cpu_set_threads(1);
	CHECK(work(NULL) == NB_OK);
	CHECK(scarce_each("an assignment", work, NULL, NB_ENOMEM) > 10);
	return unit_end();
}
