#include "tools/filter/expression.h"

#include "common/die.h"
#include "common/parse.h"
#include "kernels/order/order.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- names -------------------------------------------------------------------------------------- */

/* Names that stand for formulas of the columns that there are. */
static const struct {
	const char *name, *formula;
} derived[] = {
	{"r", "sqrt(r2)"},
	{"r2", "x*x + y*y + z*z"},
	{"R", "hypot(x, y)"},
	{"phi", "atan2(y, x)"},
	{"v", "sqrt(v2)"},
	{"speed", "sqrt(v2)"},
	{"v2", "vx*vx + vy*vy + vz*vz"},
	{"vr", "r > 0 ? (x*vx + y*vy + z*vz) / r : 0"},
	{"vt", "r > 0 ? l / r : 0"},
	{"vphi", "R > 0 ? lz / R : 0"},
	{"lx", "y*vz - z*vy"},
	{"ly", "z*vx - x*vz"},
	{"lz", "x*vy - y*vx"},
	{"l", "sqrt(lx*lx + ly*ly + lz*lz)"},
};

/* The names that csv has for the columns of bodies. */
static void list_names(const struct nb_frame *frame, char *to, size_t size)
{
	size_t used = 0;
	to[0] = '\0';
	for (size_t c = 0; c < frame->ncolumn && used < size; c++) {
		const struct nb_column *column = &frame->column[c];
		const char *csv = column->field < NB_NFIELD && column->ncomp > 1 ? nb_field_info[column->field].csv
										 : column->name;
		if (column->table != NB_PARTICLE)
			continue;
		if (used)
			to[used++] = ' ';
		for (; *csv && used + 4 < size; csv++)
			if (*csv != '[' && *csv != ']')
				to[used++] = *csv;
		if (used + 4 >= size) {
			memcpy(to + size - 4, "...", 4);
			return;
		}
		to[used] = '\0';
	}
}

static int unknown(const struct nb_scope *scope, const char *name, char why[NB_EXPR_MESSAGE])
{
	const struct nb_frame *frame = scope->frame;
	enum nb_field field;
	uint32_t component;
	char list[400], key[NB_NAME_SIZE + 16];
	const char *reason = NULL;
	const struct nb_field_info *info = nb_field_find(name);
	if (!info && nb_component_find(name, &field, &component))
		info = &nb_field_info[field];
	if (info) {
		snprintf(key, sizeof key, "missing_%s", info->name);
		reason = nb_frame_attribute(frame, key);
	}
	list_names(frame, list, sizeof list);
	if (reason)
		snprintf(why, NB_EXPR_MESSAGE, "no column '%s' in frame %" PRIu64 " (%s)", name, frame->number, reason);
	else if (info && info->flags & NB_DERIVED && scope->dropped_by)
		snprintf(why, NB_EXPR_MESSAGE, "no column '%s' in frame %" PRIu64 " ('%.200s' made it stale)", name,
			frame->number, scope->dropped_by);
	else
		snprintf(why, NB_EXPR_MESSAGE, "no column '%s' in frame %" PRIu64 " (there are: %s)", name,
			frame->number, list);
	return 0;
}

/* Units of attributes that have one. */
static const char *unit_of_attribute(const char *key)
{
	if (strcmp(key, "G") == 0)
		return "length velocity^2/mass";
	if (strcmp(key, "softening") == 0)
		return "length";
	return strcmp(key, "time") == 0 ? "time" : "";
}

static int real_value(struct nb_scope *scope, double x, const char *unit, struct nb_expr_value *value)
{
	scope->real = x;
	value->item = NB_ITEM_F64;
	value->data = &scope->real;
	value->unit = unit;
	return 1;
}

static int whole_value(struct nb_scope *scope, uint64_t x, struct nb_expr_value *value)
{
	scope->whole = x;
	value->item = NB_ITEM_U64;
	value->data = &scope->whole;
	return 1;
}

/* A number if it is one; real, unless that would round it. */
static int find_attribute(struct nb_scope *scope, const char *key, struct nb_expr_value *value, char *why)
{
	const char *text = nb_frame_attribute(scope->frame, key);
	double x;
	uint64_t whole;
	for (size_t k = 0; !text && k < scope->nnothing; k++)
		if (strcmp(scope->nothing[k], key) == 0)
			return real_value(scope, NAN, unit_of_attribute(key), value);
	if (!text) {
		char list[400] = "";
		size_t used = 0;
		for (size_t k = 0; k < scope->frame->nattribute && used < sizeof list; k++)
			if (strcmp(scope->frame->attribute[k].key, "history") != 0)
				used += (size_t)snprintf(
					list + used, sizeof list - used, " @%s", scope->frame->attribute[k].key);
		snprintf(why, NB_EXPR_MESSAGE, "no attribute '@%s' in frame %" PRIu64 " (%s%s)", key,
			scope->frame->number, used ? "there are:" : "there are none", list);
		return 0;
	}
	if (nb_parse_u64(text, (uint64_t)1 << 53, UINT64_MAX, &whole) == NB_PARSE_OK)
		return whole_value(scope, whole, value);
	if (nb_parse_f64(text, &x) == NB_PARSE_OK)
		return real_value(scope, x, unit_of_attribute(key), value);
	value->item = NB_ITEM_TEXT;
	value->data = text;
	value->width = strlen(text);
	return 1;
}

/* count components of a column from the first on. */
static int column_value(struct nb_scope *scope, struct nb_column *column, uint32_t first, uint32_t count,
	struct nb_expr_value *value, char *why)
{
	const struct nb_frame *frame = scope->frame;
	const size_t size = nb_dtype_size(column->dtype);
	if (column->table != NB_PARTICLE) {
		snprintf(why, NB_EXPR_MESSAGE, "column '%s' of frame %" PRIu64 " is one of the %s table, not of bodies",
			column->name, frame->number, nb_table_name[column->table]);
		return 0;
	}
	if (!nb_item_of(column->dtype, &value->item)) {
		snprintf(why, NB_EXPR_MESSAGE,
			"column '%s' of frame %" PRIu64 " has type '%s', which no program computes with", column->name,
			frame->number, column->dtype);
		return 0;
	}
	const char *data = nb_column_read(column, &nb_space_host, NB_WIRE);
	if (!data)
		nb_out_of_memory(frame);
	value->data = data + first * size;
	value->stride = column->rowsize;
	value->ncomp = count;
	value->width = size;
	value->unit = column->unit;
	return 1;
}

/* What is the same for all bodies. */
static int find_constant(struct nb_scope *scope, const char *name, struct nb_expr_value *value)
{
	const struct nb_frame *frame = scope->frame;
	if (strcmp(name, "n") == 0)
		return whole_value(scope, frame->rows[NB_PARTICLE], value);
	if (strcmp(name, "frame") == 0)
		return whole_value(scope, frame->number, value);
	if (strcmp(name, "time") == 0)
		return real_value(scope, nb_require_attribute(frame, "time", 0), "time", value);
	if (strcmp(name, "G") == 0)
		return real_value(scope, nb_require_attribute(frame, "G", 1), unit_of_attribute("G"), value);
	if (strcmp(name, "pi") == 0)
		return real_value(scope, M_PI, "", value);
	if (strcmp(name, "nan") == 0)
		return real_value(scope, NAN, "", value);
	return strcmp(name, "inf") == 0 ? real_value(scope, INFINITY, "", value) : 0;
}

static int find_formula(const char *name, struct nb_expr_value *value)
{
	for (size_t k = 0; k < sizeof derived / sizeof *derived; k++)
		if (strcmp(name, derived[k].name) == 0) {
			value->formula = derived[k].formula;
			return 1;
		}
	return 0;
}

/* What formulas are made of: each other, and components of standard columns.  A column of that name with another
 * meaning would make them wrong. */
static int find_in_formula(struct nb_scope *scope, const char *name, struct nb_expr_value *value, char *why)
{
	enum nb_field field;
	uint32_t component;
	if (find_formula(name, value))
		return 1;
	if (!nb_component_find(name, &field, &component))
		return unknown(scope, name, why);
	struct nb_column *column = nb_frame_field(scope->frame, field);
	if (column && component < column->ncomp)
		return column_value(scope, column, component, 1, value, why);
	return unknown(scope, nb_field_info[field].name, why);
}

int nb_scope_find(
	void *context, const char *name, int in_formula, struct nb_expr_value *value, char why[NB_EXPR_MESSAGE])
{
	struct nb_scope *scope = context;
	struct nb_frame *frame = scope->frame;
	uint32_t first, count;
	if (in_formula)
		return find_in_formula(scope, name, value, why);
	if (*name == '@')
		return find_attribute(scope, name + 1, value, why);
	struct nb_column *column = nb_named_column(frame, name, &first, &count);
	if (column)
		return column_value(scope, column, first, count, value, why);
	if (find_constant(scope, name, value))
		return 1;
	if (strcmp(name, "row") == 0)
		return value->is_row = 1;
	return find_formula(name, value) || unknown(scope, name, why);
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
