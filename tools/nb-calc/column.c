/* Columns, and components of columns. */
#include "tools/nb-calc/calc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What an assignment sets: components first to first + count - 1 of a column, or a new column. */
struct place {
	struct nb_column *column;	  /* NULL: there is none of that name */
	const struct nb_field_info *info; /* of a standard one */
	uint32_t first, count;		  /* 0: as many as the result has */
};

/* ---- where -------------------------------------------------------------------------------------- */

static struct place find_place(const struct nb_frame *frame, const struct assignment *assignment)
{
	const struct nb_expr_target *target = &assignment->target;
	struct place place = {.info = nb_field_find(target->name)};
	enum nb_field field;
	uint32_t component;
	place.column = nb_named_column(frame, target->name, &place.first, &place.count);
	if (place.column) {
		const uint32_t named = place.count;
		if (place.column->field < NB_NFIELD)
			place.info = &nb_field_info[place.column->field];
		if (target->component >= 0) {
			place.first = named == place.column->ncomp ? (uint32_t)target->component : UINT32_MAX;
			place.count = 1;
		}
		if (place.first >= place.column->ncomp)
			nb_calc_fail(assignment, "no component %d of '%s' in frame %" PRIu64 ", which has %u",
				target->component, target->name, frame->number, named);
		return place;
	}
	if (nb_component_find(target->name, &field, &component) && nb_field_info[field].ncomp > 1)
		nb_calc_fail(assignment, "no column '%s' in frame %" PRIu64 " (set the whole of it before: '%s = 0')",
			nb_field_info[field].name, frame->number, nb_field_info[field].name);
	if (target->component >= 0)
		nb_calc_fail(assignment, "no column '%s' in frame %" PRIu64, target->name, frame->number);
	place.first = 0;
	place.count = place.info ? place.info->ncomp : 0;
	return place;
}

/* ---- type and unit ------------------------------------------------------------------------------ */

/* NumPy types of the words of --dtype. */
static const char *dtype_given(const struct calc *calc)
{
	static const char *const dtype[] = {"<f8", "<f4", "<u8", "<u4", "<u2", "|u1", "<i8", "<i4", "<i2", "|i1"};
	return calc->dtype ? dtype[calc->dtype - 1] : NULL;
}

/* A standard column keeps its kind. */
static const char *choose_dtype(struct calc *calc, const struct place *place, const struct nb_expr *expr)
{
	const char *given = dtype_given(calc), *now = place->column ? place->column->dtype : NULL;
	const int whole = !place->column || (place->first == 0 && place->count == place->column->ncomp);
	if (given && whole && (!place->info || place->info->dtype[1] == given[1])) {
		calc->took = 1;
		return given;
	}
	if (now || place->info)
		return now ? now : place->info->dtype;
	return nb_expr_kind(expr) == NB_EXPR_CONDITION ? "|u1" : "<f8";
}

/* The unit that was given, or that of the column, or for a new one that of the result. */
static void choose_unit(const struct nb_scope *scope, const struct assignment *assignment, const struct place *place,
	char unit[NB_UNIT_SIZE + 1])
{
	const struct nb_expr_target *target = &assignment->target;
	const char *found = nb_expr_unit(assignment->expr), *doubt = nb_expr_unit_doubt(assignment->expr);
	const char *has = place->column ? place->column->unit : place->info ? place->info->unit : NULL;
	snprintf(unit, NB_UNIT_SIZE + 1, "%.*s", NB_UNIT_SIZE, target->has_unit ? target->unit : has ? has : "");
	if (target->has_unit)
		return;
	if (*doubt)
		nb_verbose("frame %" PRIu64 ": '%.300s': units: %s%s", scope->frame->number,
			nb_expr_source(assignment->expr), doubt, has ? "" : "; the column gets none");
	else if (has && *has && *found && strcmp(found, has) != 0)
		nb_verbose("frame %" PRIu64 ": '%.300s': units: a result in '%s' for a column in '%s'",
			scope->frame->number, nb_expr_source(assignment->expr), found, has);
	else if (!has && strlen(found) > NB_UNIT_SIZE)
		nb_verbose("frame %" PRIu64 ": '%.300s': units: '%s' is too long; the column gets none",
			scope->frame->number, nb_expr_source(assignment->expr), found);
	else if (!has)
		snprintf(unit, NB_UNIT_SIZE + 1, "%.*s", NB_UNIT_SIZE, found);
}

/* ---- values ------------------------------------------------------------------------------------- */

static double real_at(const char *data, int is_single)
{
	double x;
	float y;
	if (!is_single) {
		memcpy(&x, data, sizeof x);
		return x;
	}
	memcpy(&y, data, sizeof y);
	return (double)y;
}

/* What is not finite, though all that it was made of is. */
static void require_finite(const struct nb_scope *scope, const struct assignment *assignment, const char *data,
	size_t rowsize, int is_single)
{
	for (size_t i = 0; i < scope->frame->rows[NB_PARTICLE]; i++) {
		const double x = real_at(data + i * rowsize, is_single);
		if (!isfinite(x) && nb_expr_reads_finite(assignment->expr, i))
			nb_calc_fail(assignment, "the result is %s in row %zu of frame %" PRIu64,
				isnan(x) ? "nan"
				: x > 0	 ? "inf"
					 : "-inf",
				i, scope->frame->number);
	}
}

/* A column that nobody has given a type does not round ids. */
static void require_exact(
	const struct nb_scope *scope, const struct assignment *assignment, const char *data, size_t rowsize)
{
	const double most = 0x1p53;
	for (size_t i = 0; i < scope->frame->rows[NB_PARTICLE]; i++)
		if (!(fabs(real_at(data + i * rowsize, 0)) < most))
			nb_calc_fail(assignment,
				"a whole number in row %zu of frame %" PRIu64
				" is too large for type f8 (want --dtype %s)",
				i, scope->frame->number, nb_expr_is_unsigned(assignment->expr) ? "u8" : "i8");
}

/* calc->contents of the column: memory of their own. */
static void make_contents(struct calc *calc, const struct nb_scope *scope, const struct assignment *assignment,
	const struct place *place, const char *dtype)
{
	const struct nb_frame *frame = scope->frame;
	const size_t n = frame->rows[NB_PARTICLE], size = nb_dtype_size(dtype);
	const size_t ncomp = place->column ? place->column->ncomp : place->count, rowsize = ncomp * size;
	enum nb_expr_item item;
	struct nb_expr_error error;
	if (nb_expr_kind(assignment->expr) == NB_EXPR_TEXT)
		nb_calc_fail(assignment, "a column cannot be set to a text (an attribute can: '@%s = ...')",
			assignment->target.name);
	if (!nb_item_of(dtype, &item) || item == NB_ITEM_TEXT)
		nb_calc_fail(assignment, "column '%s' of frame %" PRIu64 " has type '%s', which cannot be set",
			place->column->name, frame->number, dtype);
	char *data = calc->contents = nb_require_memory(frame, nb_space_host.alloc(&nb_space_host, n * rowsize));
	if (place->count < ncomp && n > 0) {
		const void *before = nb_require_memory(frame, nb_column_read(place->column, &nb_space_host, NB_WIRE));
		memcpy(data, before, n * rowsize);
	}
	for (uint32_t k = 0; k < place->count; k++) {
		char *to = data + (place->first + k) * size;
		if (nb_expr_values(assignment->expr, 0, n, k, item, to, rowsize, &error))
			nb_expression_failed(assignment->expr, frame, &error);
		if (item == NB_ITEM_F64 || item == NB_ITEM_F32)
			require_finite(scope, assignment, to, rowsize, item == NB_ITEM_F32);
	}
	if (!place->column && item == NB_ITEM_F64 && nb_expr_kind(assignment->expr) == NB_EXPR_WHOLE)
		for (uint32_t k = 0; k < place->count; k++)
			require_exact(scope, assignment, data + k * size, rowsize);
}

static void drop_stale(struct nb_scope *scope, const struct assignment *assignment, const struct nb_field_info *info)
{
	const enum nb_field field = info ? (enum nb_field)(info - nb_field_info) : NB_NFIELD;
	if (field == NB_POS)
		nb_calc_drop(scope, assignment, NB_CHANGED_POS);
	else if (field == NB_MASS)
		nb_calc_drop(scope, assignment, NB_CHANGED_MASS);
	else if (field == NB_VEL)
		nb_calc_drop(scope, assignment, NB_CHANGED_VEL);
	else if (field == NB_EPS)
		nb_calc_drop(scope, assignment, NB_CHANGED_FORCE);
	else if (field == NB_ACC)
		nb_frame_drop_errors(scope->frame);
	else if (field == NB_ID)
		nb_frame_drop_attribute(scope->frame, "names");
}

void nb_calc_column(struct calc *calc, struct nb_scope *scope, const struct assignment *assignment)
{
	struct nb_frame *frame = scope->frame;
	struct place place = find_place(frame, assignment);
	struct nb_expr *expr = assignment->expr;
	struct nb_expr_error error;
	char unit[NB_UNIT_SIZE + 1], dtype[NB_DTYPE_SIZE + 1], name[NB_NAME_SIZE + 1];
	if (place.column && place.column->table != NB_PARTICLE)
		nb_calc_fail(assignment, "column '%s' of frame %" PRIu64 " is one of the %s table, not of bodies",
			place.column->name, frame->number, nb_table_name[place.column->table]);
	if (place.count > NB_EXPR_COMPONENTS)
		nb_calc_fail(assignment, "'%s' has %u components (name one, such as %s[0])", assignment->target.name,
			place.count, assignment->target.name);
	if (nb_expr_bind(expr, frame->rows[NB_PARTICLE], place.count, nb_scope_find, scope, &error))
		nb_expression_failed(expr, frame, &error);
	place.count = nb_expr_ncomp(expr);
	snprintf(dtype, sizeof dtype, "%s", choose_dtype(calc, &place, expr));
	choose_unit(scope, assignment, &place, unit);
	make_contents(calc, scope, assignment, &place, dtype);
	snprintf(name, sizeof name, "%.*s", NB_NAME_SIZE, place.column ? place.column->name : assignment->target.name);
	if (!place.column || strcmp(place.column->dtype, dtype) != 0) {
		const uint32_t flags = place.column ? place.column->flags : place.info ? place.info->flags : 0;
		if (!place.column && frame->ncolumn == NB_MAX_COLUMNS)
			nb_calc_fail(assignment, "frame %" PRIu64 " has %zu columns, the most there may be",
				frame->number, frame->ncolumn);
		place.column = nb_require_memory(
			frame, nb_frame_add(frame, name, NB_PARTICLE, dtype,
				       place.column ? place.column->ncomp : place.count, unit, flags));
	}
	nb_column_adopt(place.column, &nb_space_host, calc->contents);
	calc->contents = NULL;
	snprintf(place.column->unit, sizeof place.column->unit, "%s", unit);
	calc->set |= place.info ? 1u << (place.info - nb_field_info) : 0;
	drop_stale(scope, assignment, place.info);
}
