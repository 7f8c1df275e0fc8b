/* A frame: its columns, what is known of them, and frames made of others. */
#include "formats/stream/frame_internal.h"

#include "common/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nb_frame_init(struct nb_frame *frame)
{
	memset(frame, 0, sizeof *frame);
}

void nb_frame_clear(struct nb_frame *frame)
{
	for (size_t i = 0; i < frame->ncolumn; i++)
		nb_column_release(&frame->column[i]);
	free(frame->column);
	for (size_t i = 0; i < frame->nattribute; i++) {
		free(frame->attribute[i].key);
		free(frame->attribute[i].value);
	}
	free(frame->attribute);
	nb_frame_init(frame);
}

/* ---- columns ---------------------------------------------------------------------------------- */

struct nb_column *nb_frame_find(const struct nb_frame *frame, const char *name)
{
	for (size_t i = 0; i < frame->ncolumn; i++)
		if (frame->column[i].name[0] == name[0] && strcmp(frame->column[i].name, name) == 0)
			return &frame->column[i];
	return NULL;
}

struct nb_column *nb_frame_field(const struct nb_frame *frame, enum nb_field field)
{
	for (size_t i = 0; i < frame->ncolumn; i++)
		if (frame->column[i].field == field)
			return &frame->column[i];
	return NULL;
}

static struct nb_column *add(struct nb_frame *frame, enum nb_field field, const char *name, enum nb_table table,
	const char *dtype, uint32_t ncomp, const char *unit, uint32_t flags)
{
	size_t item = nb_dtype_size(dtype), rowsize, bytes;
	if (item == 0 || ncomp == 0 || strlen(name) > NB_NAME_SIZE || strlen(dtype) > NB_DTYPE_SIZE ||
		strlen(unit) > NB_UNIT_SIZE || nb_mul_overflow(item, ncomp, &rowsize) ||
		nb_mul_overflow(rowsize, frame->rows[table], &bytes))
		return NULL;
	struct nb_column *column = field < NB_NFIELD ? nb_frame_field(frame, field) : nb_frame_find(frame, name);
	if (column) {
		nb_column_release(column);
	} else {
		if (frame->ncolumn == NB_MAX_COLUMNS)
			return NULL;
		struct nb_column *grown = realloc(frame->column, (frame->ncolumn + 1) * sizeof *grown);
		if (!grown)
			return NULL;
		frame->column = grown;
		column = &grown[frame->ncolumn++];
	}
	memset(column, 0, sizeof *column);
	strcpy(column->name, name);
	strcpy(column->dtype, dtype);
	strcpy(column->unit, unit);
	column->field = field;
	column->table = table;
	column->ncomp = ncomp;
	column->flags = flags;
	column->rows = frame->rows[table];
	column->rowsize = rowsize;
	nb_column_changed(column);
	return column;
}

struct nb_column *nb_frame_add(struct nb_frame *frame, const char *name, enum nb_table table, const char *dtype,
	uint32_t ncomp, const char *unit, uint32_t flags)
{
	const struct nb_field_info *info = nb_field_find(name);
	const enum nb_field field = info ? (enum nb_field)(info - nb_field_info) : NB_NFIELD;
	return add(frame, field, name, table, dtype, ncomp, unit, flags);
}

struct nb_column *nb_frame_add_field(struct nb_frame *frame, enum nb_field field, const char *dtype, uint32_t ncomp)
{
	const struct nb_field_info *info = &nb_field_info[field];
	return add(frame, field, info->name, info->table, dtype ? dtype : info->dtype, ncomp ? ncomp : info->ncomp,
		info->unit, info->flags);
}

static int is_error(const char *key, const char *any)
{
	(void)any;
	return strncmp(key, "error_", 6) == 0;
}

void nb_frame_drop_errors(struct nb_frame *frame)
{
	nb_frame_drop_attributes(frame, 0, is_error, NULL);
}

/* What is said of a column goes with it. */
static void drop_at(struct nb_frame *frame, size_t i)
{
	if (frame->column[i].field == NB_ACC)
		nb_frame_drop_errors(frame);
	nb_column_release(&frame->column[i]);
	frame->ncolumn--;
	memmove(&frame->column[i], &frame->column[i + 1], (frame->ncolumn - i) * sizeof *frame->column);
}

void nb_frame_drop(struct nb_frame *frame, const char *name)
{
	struct nb_column *column = nb_frame_find(frame, name);
	if (column)
		drop_at(frame, (size_t)(column - frame->column));
}

void nb_frame_drop_field(struct nb_frame *frame, enum nb_field field)
{
	struct nb_column *column = nb_frame_field(frame, field);
	if (column)
		drop_at(frame, (size_t)(column - frame->column));
}

void nb_frame_exchange(struct nb_frame *a, const char *name_a, struct nb_frame *b, const char *name_b)
{
	struct nb_column *in_a = nb_frame_find(a, name_a), *in_b = nb_frame_find(b, name_b);
	struct nb_column column = *in_a;
	*in_a = *in_b;
	*in_b = column;
}

void nb_frame_drop_table(struct nb_frame *frame, enum nb_table table)
{
	for (size_t i = frame->ncolumn; i-- > 0;)
		if (frame->column[i].table == table)
			drop_at(frame, i);
	frame->rows[table] = 0;
}

int nb_attribute_is_of_tree(const char *key)
{
	switch (key[0]) {
	case 't': return strcmp(key, "tree") == 0;
	case 'l': return strcmp(key, "leaf_size") == 0 || strcmp(key, "level") == 0;
	case 'o': return strcmp(key, "order") == 0;
	default: return 0;
	}
}

static int is_of_tree(const char *key, const char *any)
{
	(void)any;
	return nb_attribute_is_of_tree(key);
}

void nb_frame_drop_tree(struct nb_frame *frame)
{
	nb_frame_drop_table(frame, NB_NODE);
	nb_frame_drop_table(frame, NB_BOX);
	nb_frame_drop_attributes(frame, 0, is_of_tree, NULL);
}

void nb_frame_drop_order(struct nb_frame *frame)
{
	nb_frame_drop_field(frame, NB_KEY);
	nb_frame_drop_tree(frame);
	nb_frame_drop_attribute(frame, "key_cube");
}

void nb_frame_drop_derived(struct nb_frame *frame)
{
	for (size_t i = frame->ncolumn; i-- > 0;)
		if (frame->column[i].flags & NB_DERIVED)
			drop_at(frame, i);
	nb_frame_drop_tree(frame);
	nb_frame_drop_attribute(frame, "key_cube");
}

/* ---- facts ------------------------------------------------------------------------------------ */

static uint64_t mixed(uint64_t sum, uint64_t value)
{
	sum = (sum ^ value) * 0x9E3779B97F4A7C15u;
	return sum ^ sum >> 32;
}

static uint64_t mixed_text(uint64_t sum, const char *text)
{
	for (; text && *text; text++)
		sum = mixed(sum, (unsigned char)*text);
	return mixed(sum, 256);
}

/* A number that stands for the present contents of all that a fact is about. */
static uint64_t state_of(const struct nb_frame *frame, enum nb_fact fact)
{
	static const enum nb_field field[] = {NB_KEY, NB_POS, NB_MASS};
	static const enum nb_table of[NB_NFACT] = {
		[NB_KEYS_CURRENT] = NB_NTABLE, [NB_TREE_SOUND] = NB_NODE, [NB_BOXES_SOUND] = NB_BOX};
	const struct nb_column *pos = nb_frame_field(frame, NB_POS);
	uint64_t sum = 1 + (uint64_t)fact;
	if (fact == NB_EXTENT_KNOWN)
		return pos ? pos->state : 0;
	for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
		const struct nb_column *column = nb_frame_field(frame, field[i]);
		if (field[i] != NB_MASS || fact == NB_TREE_SOUND)
			sum = mixed(sum, column ? column->state : 0);
	}
	for (size_t c = 0; c < frame->ncolumn; c++)
		if (frame->column[c].table == of[fact])
			sum = mixed(sum, frame->column[c].state);
	sum = mixed_text(sum, nb_frame_attribute(frame, "key_cube"));
	sum = mixed_text(sum, nb_frame_attribute(frame, "dim"));
	if (fact == NB_TREE_SOUND)
		sum = mixed_text(sum, nb_frame_attribute(frame, "leaf_size"));
	return sum ? sum : 1;
}

void nb_frame_note(struct nb_frame *frame, enum nb_fact fact)
{
	frame->fact[fact] = state_of(frame, fact);
}

int nb_frame_knows(const struct nb_frame *frame, enum nb_fact fact)
{
	return frame->fact[fact] && frame->fact[fact] == state_of(frame, fact);
}

void nb_frame_note_extent(struct nb_frame *frame, const double extent[6])
{
	memcpy(frame->extent, extent, sizeof frame->extent);
	nb_frame_note(frame, NB_EXTENT_KNOWN);
}

/* ---- frames of frames ---- */

int nb_frame_copy_head(struct nb_frame *to, const struct nb_frame *from)
{
	nb_frame_clear(to);
	to->number = from->number;
	memcpy(to->rows, from->rows, sizeof to->rows);
	int status = nb_frame_copy_attributes(to, from);
	if (status)
		return status;
	to->column = calloc(from->ncolumn ? from->ncolumn : 1, sizeof *to->column);
	if (!to->column)
		return NB_ENOMEM;
	for (size_t c = 0; c < from->ncolumn; c++) {
		struct nb_column *column = &to->column[to->ncolumn++];
		*column = from->column[c];
		memset(column->copy, 0, sizeof column->copy);
	}
	return NB_OK;
}

int nb_frame_share(struct nb_frame *to, struct nb_frame *from)
{
	int status = nb_frame_copy_head(to, from);
	memcpy(to->fact, from->fact, sizeof to->fact);
	memcpy(to->extent, from->extent, sizeof to->extent);
	to->filler = from->filler;
	for (size_t c = 0; c < from->ncolumn && !status; c++)
		status = nb_column_share(&to->column[c], &from->column[c]);
	return status;
}

int nb_frame_give(struct nb_frame *to, struct nb_frame *from, int last)
{
	if (!last)
		return nb_frame_share(to, from);
	nb_frame_clear(to);
	*to = *from;
	nb_frame_init(from);
	return NB_OK;
}

const char *nb_frame_list(const struct nb_frame *frame, char *buffer, size_t size)
{
	size_t used = 0;
	buffer[0] = '\0';
	for (size_t i = 0; i < frame->ncolumn && used + 1 < size; i++) {
		int more = snprintf(buffer + used, size - used, "%s%s", i ? ", " : "", frame->column[i].name);
		used += more > 0 ? (size_t)more : 0;
	}
	if (used >= size && size > 4)
		strcpy(buffer + size - 4, "...");
	return buffer;
}
