/* What names of an expression mean in a frame: columns, components, formulas, attributes. */
#include "tools/filter/expression.h"

#include "common/nearest.h"
#include "common/parse.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

int nb_item_of(const char *dtype, enum nb_expr_item *item)
{
	static const struct {
		const char *dtype;
		enum nb_expr_item item;
	} known[] = {
		{"<f8", NB_ITEM_F64},
		{"<f4", NB_ITEM_F32},
		{"<u8", NB_ITEM_U64},
		{"<u4", NB_ITEM_U32},
		{"<u2", NB_ITEM_U16},
		{"|u1", NB_ITEM_U8},
		{"<i8", NB_ITEM_I64},
		{"<i4", NB_ITEM_I32},
		{"<i2", NB_ITEM_I16},
		{"|i1", NB_ITEM_I8},
	};
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		if (strcmp(dtype, known[k].dtype) == 0) {
			*item = known[k].item;
			return 1;
		}
	*item = NB_ITEM_TEXT;
	return dtype[1] == 'S';
}

int nb_component_find(const char *name, enum nb_field *field, uint32_t *component)
{
	const size_t length = strlen(name);
	for (int f = 0; f < NB_NFIELD; f++) {
		const char *word = nb_field_info[f].csv;
		for (uint32_t k = 0; *word; k++) {
			word += *word == '[';
			const size_t n = strcspn(word, " ]");
			if (n == length && strncmp(word, name, n) == 0) {
				*field = (enum nb_field)f;
				*component = k;
				return 1;
			}
			word += n;
			word += strspn(word, " ]");
		}
	}
	return 0;
}

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
	/* one that could be there is no misspelling */
	struct nb_nearest nearest = info ? nb_nearest_to("", 0) : nb_nearest_in(name, strlen(name), list, " ");
	for (size_t k = 0; k < sizeof derived / sizeof *derived; k++)
		nb_nearest_offer(&nearest, derived[k].name, strlen(derived[k].name));
	for (size_t c = 0; c < frame->ncolumn && !info; c++) /* of which the list may have components */
		if (frame->column[c].table == NB_PARTICLE)
			nb_nearest_offer(&nearest, frame->column[c].name, strlen(frame->column[c].name));
	for (const char *at = scope->also; at && *at; at += strcspn(at, "|"), at += *at == '|')
		nb_nearest_offer(&nearest, at, strcspn(at, "|"));
	if (reason)
		snprintf(why, NB_EXPR_MESSAGE, "no column '%s' in frame %" PRIu64 " (%s)", name, frame->number, reason);
	else if (info && info->flags & NB_DERIVED && scope->dropped_by)
		snprintf(why, NB_EXPR_MESSAGE, "no column '%s' in frame %" PRIu64 " ('%.200s' made it stale)", name,
			frame->number, scope->dropped_by);
	else
		snprintf(why, NB_EXPR_MESSAGE, "no column '%s' in frame %" PRIu64 " (%sthere are: %s)", name,
			frame->number, nearest.hint, list);
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
	const char *data = nb_require_memory(frame, nb_column_read(column, &nb_space_host, NB_WIRE));
	value->data = data + first * size;
	value->stride = column->rowsize;
	value->ncomp = count;
	value->width = size;
	value->unit = column->unit;
	return 1;
}

/* NAME_2 of a column NAME with several components. */
static struct nb_column *numbered(const struct nb_frame *frame, const char *name, uint32_t *component)
{
	char head[NB_EXPR_NAME];
	uint64_t number;
	const char *line = strrchr(name, '_');
	if (!line || nb_parse_u64(line + 1, 0, UINT32_MAX, &number) != NB_PARSE_OK)
		return NULL;
	snprintf(head, sizeof head, "%.*s", (int)(line - name), name);
	struct nb_column *column = nb_frame_find(frame, head);
	*component = (uint32_t)number;
	return column && column->ncomp > 1 && number < column->ncomp ? column : NULL;
}

struct nb_column *nb_named_column(const struct nb_frame *frame, const char *name, uint32_t *first, uint32_t *count)
{
	struct nb_column *column = nb_frame_find(frame, name);
	enum nb_field field;
	*first = 0;
	*count = column ? column->ncomp : 1;
	if (column)
		return column;
	if (!nb_component_find(name, &field, first))
		return numbered(frame, name, first);
	column = nb_frame_field(frame, field);
	return column && *first < column->ncomp ? column : NULL;
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
