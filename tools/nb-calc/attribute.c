/* Attributes: a number or a text for the whole frame. */
#include "tools/nb-calc/calc.h"

#include "common/mem.h"
#include "common/parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Attributes that programs compute with. */
static int has_meaning(const char *key)
{
	return strcmp(key, "time") == 0 || strcmp(key, "G") == 0 || strcmp(key, "softening") == 0 ||
	       strcmp(key, "dim") == 0;
}

/* A mean or an extreme of no bodies is no number, and none that a frame without bodies gets. */
static int is_of_nothing(const struct nb_scope *scope, const struct assignment *assignment)
{
	struct nb_expr_error error;
	double x = 0;
	if (scope->frame->rows[NB_PARTICLE] > 0 || nb_expr_kind(assignment->expr) != NB_EXPR_REAL ||
		has_meaning(assignment->target.name))
		return 0;
	return nb_expr_values(assignment->expr, 0, 1, 0, NB_ITEM_F64, &x, sizeof x, &error) == NB_OK && isnan(x);
}

static void leave_out(struct calc *calc, struct nb_scope *scope, const char *key)
{
	nb_frame_drop_attribute(scope->frame, key);
	calc->nothing[calc->nnothing++] = key;
	scope->nnothing = calc->nnothing;
	nb_verbose("frame %" PRIu64 ": no bodies, and so no attribute '@%s'", scope->frame->number, key);
}

/* A number that the result is, as text. */
static void number_of(const struct nb_scope *scope, const struct assignment *assignment, char number[NB_F64_TEXT])
{
	const struct nb_expr *expr = assignment->expr;
	struct nb_expr_error error;
	double x = 0;
	uint64_t natural;
	int64_t whole = 0;
	int status;
	if (nb_expr_kind(expr) == NB_EXPR_REAL) {
		status = nb_expr_values(expr, 0, 1, 0, NB_ITEM_F64, &x, sizeof x, &error);
		if (!status && !isfinite(x))
			nb_calc_fail(assignment, "the result is %s in frame %" PRIu64,
				isnan(x) ? "nan"
				: x > 0	 ? "inf"
					 : "-inf",
				scope->frame->number);
		nb_format_f64(x, number);
	} else if (nb_expr_values(expr, 0, 1, 0, NB_ITEM_U64, &natural, sizeof natural, &error) == NB_OK) {
		status = NB_OK;
		snprintf(number, NB_F64_TEXT, "%" PRIu64, natural);
	} else {
		status = nb_expr_values(expr, 0, 1, 0, NB_ITEM_I64, &whole, sizeof whole, &error);
		snprintf(number, NB_F64_TEXT, "%" PRId64, whole);
	}
	error.row = SIZE_MAX;
	if (status)
		nb_expression_failed(expr, scope->frame, &error);
}

static void set(struct nb_scope *scope, const struct assignment *assignment)
{
	char number[NB_F64_TEXT];
	size_t length;
	if (nb_expr_kind(assignment->expr) != NB_EXPR_TEXT) {
		number_of(scope, assignment, number);
		nb_set_attribute(scope->frame, assignment->target.name, number);
		return;
	}
	const char *text = nb_expr_text(assignment->expr, 0, &length);
	char *copy = nb_require_memory(scope->frame, nb_alloc(length + 1, 1));
	memcpy(copy, text, length);
	copy[length] = '\0';
	nb_set_attribute(scope->frame, assignment->target.name, copy);
	nb_free(copy);
}

static void require_sense(const struct nb_scope *scope, const struct assignment *assignment)
{
	const char *key = assignment->target.name;
	double x;
	if (strcmp(key, "dim") == 0)
		(void)nb_require_dim(scope->frame);
	else if (!has_meaning(key))
		return;
	x = nb_require_attribute(scope->frame, key, 0);
	if (x < 0 && strcmp(key, "softening") == 0)
		nb_calc_fail(assignment, "softening is %g (want a number >= 0)", x);
}

/* Forces were computed with the softening that the frame has, and with a G of 1 if it has none. */
static void drop_stale(struct nb_scope *scope, const struct assignment *assignment, int had, double before)
{
	struct nb_frame *frame = scope->frame;
	const char *key = assignment->target.name;
	const int is_force = strcmp(key, "G") == 0 || (had && strcmp(key, "softening") == 0);
	if ((is_force || strcmp(key, "dim") == 0) && nb_require_attribute(frame, key, before) != before)
		nb_calc_drop(scope, assignment, is_force ? NB_CHANGED_FORCE : NB_CHANGED_POS);
	if (strcmp(key, "time") == 0)
		nb_frame_drop_attribute(frame, "time_rest");
}

void nb_calc_attribute(struct calc *calc, struct nb_scope *scope, const struct assignment *assignment)
{
	struct nb_frame *frame = scope->frame;
	const char *key = assignment->target.name;
	struct nb_expr *expr = assignment->expr;
	struct nb_expr_error error;
	double before = strcmp(key, "dim") == 0 ? 3 : 1;
	if (nb_expr_bind(expr, frame->rows[NB_PARTICLE], 1, nb_scope_find, scope, &error))
		nb_expression_failed(expr, frame, &error);
	if (!nb_expr_is_uniform(expr))
		nb_calc_fail(assignment,
			"an attribute is the same for all bodies of frame %" PRIu64 " (want such as max(x) or mean(x))",
			frame->number);
	if (is_of_nothing(scope, assignment)) {
		leave_out(calc, scope, key);
		return;
	}
	const int had = nb_frame_attribute(frame, key) != NULL;
	if (had && (strcmp(key, "G") == 0 || strcmp(key, "softening") == 0 || strcmp(key, "dim") == 0))
		before = nb_require_attribute(frame, key, before);
	set(scope, assignment);
	if (strcmp(key, "dim") == 0)
		calc->set |= 1u << NB_POS | 1u << NB_VEL | 1u << NB_ACC | 1u << NB_JERK;
	require_sense(scope, assignment);
	drop_stale(scope, assignment, had, before);
}
