/* Columns of csv text: what the names of the cells mean, and what column and component each becomes. */
#include "formats/exchange/csv/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_WIDTH = 32 };

/* ---- what the names mean ------------------------------------------------------------------------ */

static struct cell *find_cell(const struct csv_reader *reader, const char *name)
{
	for (size_t i = 0; i < reader->ncell; i++)
		if (strcmp(reader->cell[i].name, name) == 0)
			return &reader->cell[i];
	return NULL;
}

/* The cells without a meaning so far whose name is that one (exact), or could be meant so: how many; the first in
 * *found, the second in *other. */
static size_t cells_for(
	struct csv_reader *reader, const char *name, int exact, struct cell **found, struct cell **other)
{
	size_t n = 0;
	for (size_t i = 0; i < reader->ncell; i++) {
		struct cell *cell = &reader->cell[i];
		if (*cell->name || cell->kind == CELL_SKIPPED || strcmp(cell->known[exact], name) != 0)
			continue;
		*(n ? other : found) = cell;
		n++;
	}
	return n;
}

static int find_meaning(struct csv_reader *reader, const char *name)
{
	struct nb_lines *lines = &reader->lines;
	struct cell *cell = NULL, *other = NULL;
	char known[NB_NAME_SIZE + 1];
	size_t n = find_cell(reader, name) ? 0 : cells_for(reader, name, 1, &cell, &other);
	if (n > 1)
		return nb_lines_fail(lines, "column '%s' appears twice", name);
	if (n == 0 && !find_cell(reader, name))
		n = cells_for(reader, name, 0, &cell, &other);
	if (n > 1)
		return nb_lines_fail(lines, "columns '%s' and '%s' could both be %s (call one of them so)", cell->raw,
			other->raw, name);
	if (n == 1 && nb_csv_meant(cell->raw, known, cell->unit) == NB_ELIMIT)
		return nb_lines_fail(lines, "the unit in '%s' is longer than %d characters", cell->raw, NB_UNIT_SIZE);
	if (n == 1)
		strcpy(cell->name, name);
	return NB_OK;
}

/* A name that csv does not know: that of a column, without blanks. */
static int keep_name(struct csv_reader *reader, struct cell *cell)
{
	struct nb_lines *lines = &reader->lines;
	char name[NB_CSV_NAME + 1];
	size_t i = 0;
	for (; cell->raw[i]; i++)
		name[i] = cell->raw[i] == ' ' ? '_' : cell->raw[i];
	name[i] = '\0';
	if (!nb_subset_needs(&lines->in->subset, name)) {
		cell->kind = CELL_SKIPPED;
		return NB_OK;
	}
	if (i > NB_NAME_SIZE)
		return nb_lines_fail(lines, "name '%.*s...' of column %zu is longer than %d characters", SHOWN, name,
			(size_t)(cell - reader->cell) + 1, NB_NAME_SIZE);
	if (find_cell(reader, name))
		return nb_lines_fail(lines, "column '%s' appears twice", name);
	if (nb_field_find(name))
		return nb_lines_fail(
			lines, "column '%s' is not a single number per body (vectors are x,y,z  vx,vy,vz ...)", name);
	strcpy(cell->name, name);
	return NB_OK;
}

/* Nothing is asked of the cells of a field that is not wanted. */
static void skip_cells(struct csv_reader *reader, const char *name)
{
	struct cell *cell, *other;
	while (cells_for(reader, name, 1, &cell, &other) || cells_for(reader, name, 0, &cell, &other))
		cell->kind = CELL_SKIPPED;
}

/* Names that the comments do not explain. */
static int understand_names(struct csv_reader *reader)
{
	char name[NB_NAME_SIZE + 1];
	int flat;
	size_t kept = 0;
	if (find_meaning(reader, "frame") || find_meaning(reader, "time"))
		return NB_EINVAL;
	for (int f = 0; f < NB_NFIELD; f++)
		for (uint32_t k = 0; nb_csv_component(f, k, name, &flat); k++)
			if (f != NB_POS && !nb_subset_needs(&reader->lines.in->subset, nb_field_info[f].name))
				skip_cells(reader, name);
			else if (find_meaning(reader, name))
				return NB_EINVAL;
	for (size_t i = 0; i < reader->ncell; i++) {
		struct cell *cell = &reader->cell[i];
		if (*cell->name || cell->kind == CELL_SKIPPED)
			continue;
		if (keep_name(reader, cell))
			return NB_EINVAL;
		kept += cell->kind != CELL_SKIPPED;
		if (kept > NB_MAX_COLUMNS)
			return too_many(reader);
	}
	return NB_OK;
}

/* ---- what the columns are ----------------------------------------------------------------------- */

int nb_csv_adds_ids(const struct csv_reader *reader)
{
	return !reader->has_id && !(reader->said.complete && !nb_frame_field(&reader->said.frame, NB_ID));
}

static int add_target(struct csv_reader *reader, const struct target *target)
{
	if (reader->rows.ncolumn == NB_MAX_COLUMNS)
		return too_many(reader);
	struct target *grown = realloc(reader->target, (reader->rows.ncolumn + 1) * sizeof *grown);
	if (!grown)
		return no_memory(reader);
	reader->target = grown;
	grown[reader->rows.ncolumn] = *target;
	const size_t rowsize = target->ncomp * nb_dtype_size(target->dtype);
	return nb_rows_add(&reader->rows, rowsize) ? no_memory(reader) : NB_OK;
}

/* The cell is component k of the column to be added next. */
static void describe_cell(struct csv_reader *reader, struct cell *cell, const struct target *target, uint32_t k)
{
	const struct nb_field_info *info = nb_field_find(target->name);
	cell->type = target->dtype[1];
	switch (cell->type) {
	case 'f': cell->kind = info ? CELL_REAL : CELL_FREE; break;
	case 'u':
	case 'i': cell->kind = CELL_WHOLE; break;
	case 'S': cell->kind = CELL_TEXT; break;
	default: cell->kind = CELL_BYTES;
	}
	if (cell->type != 'S' && !nb_dtype_is_number(target->dtype))
		cell->kind = CELL_BYTES;
	cell->not_negative = info && (info->traits & NB_NOT_NEGATIVE);
	cell->size = nb_dtype_size(target->dtype);
	cell->column = reader->rows.ncolumn;
	cell->offset = k * cell->size;
}

/* A column that the comments describe: its components are all in the header, or none of them. */
static int place_described(struct csv_reader *reader, const struct nb_column *column, size_t *hint)
{
	struct target target = {.ncomp = column->ncomp, .flags = column->flags};
	strcpy(target.name, column->name);
	strcpy(target.dtype, column->dtype);
	strcpy(target.unit, column->unit);
	target.widens = column->dtype[1] == 'S' && column->ncomp == 1;
	uint32_t present = 0, absent = 0;
	char name[NB_CSV_NAME + 1], missing[NB_CSV_NAME + 1] = "";
	int flat;
	for (uint32_t k = 0; k < column->ncomp; k++) {
		nb_csv_name(column, k, name, &flat);
		struct cell *cell = NULL;
		for (size_t i = 0; i < reader->ncell && !cell; i++, *hint = *hint + 1 < reader->ncell ? *hint + 1 : 0)
			if (!*reader->cell[*hint].name && reader->cell[*hint].kind != CELL_SKIPPED &&
				strcmp(reader->cell[*hint].raw, name) == 0)
				cell = &reader->cell[*hint];
		if (cell) {
			strcpy(cell->name, name);
			describe_cell(reader, cell, &target, k);
			present++;
		} else if (!flat) {
			absent++;
			strcpy(missing, name);
		}
		if (!present && absent > 1)
			break; /* it has been taken out of the table */
	}
	if (present && absent)
		return nb_lines_fail(&reader->lines, "column '%s' is missing ('%s' has %" PRIu32 " components)",
			missing, column->name, column->ncomp);
	reader->has_gaps |= present && present < column->ncomp;
	return present ? add_target(reader, &target) : NB_OK;
}

/* The components of a field are all there or all absent. */
static int place_field(struct csv_reader *reader, int field)
{
	const struct nb_field_info *info = &nb_field_info[field];
	struct target target = {.ncomp = info->ncomp, .flags = info->flags};
	const struct cell *first = NULL;
	char name[NB_NAME_SIZE + 1];
	int flat, present = 0;
	uint32_t k = 0;
	for (; nb_csv_component(field, k, name, &flat); k++) {
		const struct cell *cell = find_cell(reader, name);
		present += cell != NULL;
		first = first ? first : cell;
		if (cell && cell->column != NONE)
			return NB_OK; /* the comments have described it */
	}
	if (k == 0 || (!present && field != NB_POS))
		return NB_OK;
	strcpy(target.name, info->name);
	strcpy(target.dtype, info->dtype);
	strcpy(target.unit, first && *first->unit ? first->unit : info->unit);
	target.widens = info->dtype[1] == 'S';
	for (k = 0; nb_csv_component(field, k, name, &flat); k++) {
		struct cell *cell = find_cell(reader, name);
		flat &= reader->dim == 2;
		if (!cell && !flat)
			return nb_lines_fail(&reader->lines, "column '%s' is missing%s", name,
				present || field != NB_POS ? ""
							   : " (name it so, or name all columns with '--columns')");
		if (cell && flat)
			return nb_lines_fail(&reader->lines, "there is a column '%s' but no column 'z'", name);
		if (cell && strcmp(cell->unit, first->unit) != 0)
			return nb_lines_fail(
				&reader->lines, "columns '%s' and '%s' have different units", first->raw, cell->raw);
		if (cell)
			describe_cell(reader, cell, &target, k);
	}
	return add_target(reader, &target);
}

int nb_csv_lay_out(struct csv_reader *reader)
{
	size_t hint = 0;
	nb_rows_clear(&reader->rows);
	reader->has_gaps = 0;
	for (size_t i = 0; i < reader->ncell; i++) {
		struct cell *cell = &reader->cell[i];
		cell->kind = cell->kind == CELL_SKIPPED ? CELL_SKIPPED : CELL_UNKNOWN;
		cell->column = NONE;
		*cell->name = *cell->unit = '\0';
	}
	for (size_t c = 0; c < reader->said.frame.ncolumn; c++)
		if (place_described(reader, &reader->said.frame.column[c], &hint))
			return NB_EINVAL;
	if (understand_names(reader))
		return NB_EINVAL;
	struct cell *frame = find_cell(reader, "frame"), *time = find_cell(reader, "time");
	reader->has_frame = frame && frame->column == NONE;
	reader->has_time = time && time->column == NONE;
	reader->has_id = find_cell(reader, "id") != NULL;
	if (reader->has_frame) {
		frame->kind = CELL_FRAME;
		frame->type = 'u';
		frame->size = sizeof(uint64_t);
	}
	if (reader->has_time) {
		time->kind = CELL_TIME;
		time->size = sizeof(double);
	}
	const struct cell *z = find_cell(reader, "z");
	reader->dim = z && (z->column == NONE || strcmp(reader->target[z->column].name, "pos") == 0) ? 3 : 2;
	reader->has_gaps |= reader->dim == 2;
	for (int f = 0; f < NB_NFIELD; f++)
		if (place_field(reader, f))
			return NB_EINVAL;
	for (size_t i = 0; i < reader->ncell; i++) {
		struct cell *cell = &reader->cell[i];
		if (cell->column != NONE &&
			!nb_subset_needs(&reader->lines.in->subset, reader->target[cell->column].name))
			cell->kind = CELL_UNWANTED;
	}
	reader->first_row_seen = 0;
	reader->laid_out = 1;
	return reader->rows.ncolumn == NB_MAX_COLUMNS && nb_csv_adds_ids(reader) ? too_many(reader) : NB_OK;
}

int nb_csv_place_unknown(struct csv_reader *reader, struct cell *cell, const char *text, int quoted)
{
	struct target target = {.ncomp = 1};
	double x;
	if (cell->kind != CELL_UNKNOWN)
		return NB_OK;
	target.widens = quoted || nb_csv_number(text, &x);
	strcpy(target.name, cell->name);
	if (target.widens)
		snprintf(target.dtype, sizeof target.dtype, "|S%d", TEXT_WIDTH);
	else
		strcpy(target.dtype, "<f8");
	describe_cell(reader, cell, &target, 0);
	return add_target(reader, &target);
}
