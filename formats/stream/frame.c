#include "formats/stream/frame.h"

#include "common/mem.h"
#include "common/parse.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nb_frame_init(struct nb_frame *frame)
{
	memset(frame, 0, sizeof *frame);
}

/* 1 if no other frame uses the memory any more, which is then this one's own. */
static int is_sole(struct nb_copy *copy)
{
	if (copy->users && atomic_load_explicit(copy->users, memory_order_acquire) == 1) {
		free((void *)copy->users);
		copy->users = NULL;
	}
	return !copy->users;
}

static void release_copy(struct nb_copy *copy)
{
	int last = 1;
	if (copy->users) {
		last = atomic_fetch_sub_explicit(copy->users, 1, memory_order_acq_rel) == 1;
		if (last)
			free((void *)copy->users);
	}
	if (copy->owner && last)
		nb_owner_release(copy->owner);
	else if (copy->space && last)
		copy->space->release(copy->space, copy->data);
	memset(copy, 0, sizeof *copy);
}

void nb_owner_release(struct nb_owner *owner)
{
	if (atomic_fetch_sub_explicit(&owner->users, 1, memory_order_acq_rel) == 1)
		owner->release(owner);
}

static void release_column(struct nb_column *column)
{
	for (int i = 0; i < NB_MAX_COPIES; i++)
		release_copy(&column->copy[i]);
}

void nb_frame_clear(struct nb_frame *frame)
{
	for (size_t i = 0; i < frame->ncolumn; i++)
		release_column(&frame->column[i]);
	free(frame->column);
	for (size_t i = 0; i < frame->nattribute; i++) {
		free(frame->attribute[i].key);
		free(frame->attribute[i].value);
	}
	free(frame->attribute);
	nb_frame_init(frame);
}

/* The contents are, or are about to be, others. */
static void changed(struct nb_column *column)
{
	static _Atomic uint64_t last;
	column->state = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	column->never = 0;
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
		release_column(column);
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
	changed(column);
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

static void drop_attributes(
	struct nb_frame *frame, size_t kept, int (*goes)(const char *key, const char *), const char *key);

static int is_error(const char *key, const char *any)
{
	(void)any;
	return strncmp(key, "error_", 6) == 0;
}

void nb_frame_drop_errors(struct nb_frame *frame)
{
	drop_attributes(frame, 0, is_error, NULL);
}

/* What is said of a column goes with it. */
static void drop_at(struct nb_frame *frame, size_t i)
{
	if (frame->column[i].field == NB_ACC)
		nb_frame_drop_errors(frame);
	release_column(&frame->column[i]);
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
	drop_attributes(frame, 0, is_of_tree, NULL);
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

/* ---- contents --------------------------------------------------------------------------------- */

static size_t form_bytes(const struct nb_column *column, enum nb_form form)
{
	return form == NB_WIRE ? column->rows * column->rowsize : column->rows * column->ncomp * sizeof(double);
}

/* Whether the type is "<" kind width, one digit. */
static int is_type(const struct nb_column *column, char kind, char width)
{
	const char *dtype = column->dtype;
	return dtype[0] == '<' && dtype[1] == kind && dtype[2] == width && dtype[3] == '\0';
}

/* Where the wire form is the one that is wanted, it is the only one. */
static enum nb_form canonical(const struct nb_column *column, enum nb_form form)
{
	const char kind = form == NB_AS_F64 ? 'f' : 'u';
	return form == NB_WIRE || is_type(column, kind, '8') ? NB_WIRE : form;
}

static struct nb_copy *find_copy(struct nb_column *column, const struct nb_space *space, enum nb_form form)
{
	for (int i = 0; i < NB_MAX_COPIES; i++)
		if (column->copy[i].space == space && column->copy[i].form == form)
			return &column->copy[i];
	return NULL;
}

/* A slot with memory to be filled, of this frame alone. */
static struct nb_copy *make_copy(struct nb_column *column, const struct nb_space *space, enum nb_form form)
{
	struct nb_copy *copy = find_copy(column, space, form);
	if (copy && is_sole(copy))
		return copy;
	if (copy)
		release_copy(copy);
	for (int i = 0; i < NB_MAX_COPIES && !copy; i++)
		if (!column->copy[i].space)
			copy = &column->copy[i];
	for (int i = 0; i < NB_MAX_COPIES && !copy; i++)
		if (!column->copy[i].valid) {
			copy = &column->copy[i];
			release_copy(copy);
		}
	if (!copy)
		return NULL;
	copy->data = space->alloc(space, form_bytes(column, form));
	if (!copy->data)
		return NULL;
	copy->space = space;
	copy->form = form;
	copy->valid = 0;
	copy->owner = NULL;
	return copy;
}

static struct nb_copy *any_valid(struct nb_column *column, int host_only, enum nb_form form)
{
	for (int i = 0; i < NB_MAX_COPIES; i++) {
		struct nb_copy *copy = &column->copy[i];
		if (copy->space && copy->valid && copy->form == form && (!host_only || copy->space->device < 0))
			return copy;
	}
	return NULL;
}

/* The form to convert from. */
static enum nb_form other_form(enum nb_form form)
{
	return form == NB_WIRE ? NB_AS_F64 : NB_WIRE;
}

static int is_single(const struct nb_column *column)
{
	return is_type(column, 'f', '4');
}

/* The given form of f32 numbers from the other one in the same place.  NULL: no memory, or the device failed. */
static struct nb_copy *converted(struct nb_column *column, const struct nb_copy *source, enum nb_form form)
{
	const struct nb_space *space = source->space;
	const void *from = source->data;
	const size_t count = column->rows * column->ncomp;
	struct nb_copy *copy = make_copy(column, space, form);
	if (!copy || (form == NB_WIRE ? space->narrow(space, count, from, copy->data)
				      : space->widen(space, count, from, copy->data)))
		return NULL;
	copy->valid = 1;
	return copy;
}

/* A valid host copy in the given form. */
static struct nb_copy *on_host(struct nb_column *column, enum nb_form form)
{
	struct nb_copy *host = any_valid(column, 1, form);
	if (host)
		return host;
	struct nb_copy *device = any_valid(column, 0, form);
	if (!device && is_single(column)) { /* converted there */
		device = any_valid(column, 0, other_form(form));
		if (device && device->space->device >= 0 && !any_valid(column, 1, other_form(form)))
			device = converted(column, device, form);
		else
			device = NULL;
	}
	if (device) {
		const struct nb_copy from = *device; /* the slots may move */
		host = make_copy(column, &nb_space_host, form);
		if (!host || from.space->to_host(from.space, host->data, from.data, form_bytes(column, form)))
			return NULL;
		host->valid = 1;
		return host;
	}
	/* the other form, then converted */
	if (!nb_dtype_is_number(column->dtype) || (form == NB_AS_U64 && column->dtype[1] != 'u'))
		return NULL;
	if (form != NB_AS_U64 && !any_valid(column, 0, other_form(form)))
		return NULL; /* never written; u64 is made of the wire form, whatever that is made of */
	const struct nb_copy *source = on_host(column, other_form(form));
	if (!source)
		return NULL;
	if (is_single(column))
		return converted(column, source, form);
	const void *from = source->data;
	host = make_copy(column, &nb_space_host, form);
	if (!host)
		return NULL;
	if (form == NB_AS_U64)
		nb_dtype_to_u64(column->dtype, column->rows * column->ncomp, from, host->data);
	else if (form == NB_WIRE)
		nb_dtype_from_f64(column->dtype, column->rows * column->ncomp, from, host->data);
	else
		nb_dtype_to_f64(column->dtype, column->rows * column->ncomp, from, host->data);
	host->valid = 1;
	return host;
}

static struct nb_copy *valid_copy(struct nb_column *column, const struct nb_space *space, enum nb_form form)
{
	form = canonical(column, form);
	struct nb_copy *copy = find_copy(column, space, form);
	if (copy && copy->valid)
		return copy;
	if (form == NB_AS_U64 && column->dtype[1] != 'u')
		return NULL;
	if (space->device >= 0 && is_single(column)) {
		/* f32 travels, and is converted where it is wanted */
		copy = find_copy(column, space, other_form(form));
		if (!copy || !copy->valid)
			copy = form == NB_AS_F64 && !any_valid(column, 0, form) ? valid_copy(column, space, NB_WIRE)
										: NULL;
		if (copy)
			return converted(column, copy, form);
	}
	struct nb_copy *host = on_host(column, form);
	if (!host || space->device < 0)
		return host;
	const void *from = host->data;
	copy = make_copy(column, space, form);
	if (!copy || space->from_host(space, copy->data, from, form_bytes(column, form)))
		return NULL;
	copy->valid = 1;
	return copy;
}

static void invalidate_others(struct nb_column *column, const struct nb_copy *keep)
{
	for (int i = 0; i < NB_MAX_COPIES; i++)
		if (&column->copy[i] != keep)
			column->copy[i].valid = 0;
}

const void *nb_column_read(struct nb_column *column, const struct nb_space *space, enum nb_form form)
{
	const struct nb_copy *copy = valid_copy(column, space, form);
	return copy ? copy->data : NULL;
}

void *nb_column_write(struct nb_column *column, const struct nb_space *space, enum nb_form form)
{
	form = canonical(column, form);
	if (form == NB_AS_U64 || (form == NB_AS_F64 && !nb_dtype_is_number(column->dtype)))
		return NULL;
	struct nb_copy *copy = make_copy(column, space, form);
	if (!copy)
		return NULL;
	invalidate_others(column, copy);
	copy->valid = 1;
	column->unrounded = form != NB_WIRE;
	changed(column);
	return copy->data;
}

/* Memory of its own instead of what it shares. */
static int detach(const struct nb_column *column, struct nb_copy *copy)
{
	const struct nb_copy shared = *copy;
	const size_t bytes = form_bytes(column, copy->form);
	void *own = copy->space->alloc(copy->space, bytes);
	if (!own)
		return NB_ENOMEM;
	if (copy->space->copy(copy->space, own, copy->data, bytes)) {
		copy->space->release(copy->space, own);
		return NB_ENOMEM;
	}
	release_copy(copy);
	*copy = (struct nb_copy){shared.space, shared.form, 1, NULL, own, NULL};
	return NB_OK;
}

void *nb_column_update(struct nb_column *column, const struct nb_space *space, enum nb_form form)
{
	struct nb_copy *copy = valid_copy(column, space, form);
	if (!copy || (!is_sole(copy) && detach(column, copy)))
		return NULL;
	invalidate_others(column, copy);
	column->unrounded = copy->form != NB_WIRE;
	changed(column);
	return copy->data;
}

void nb_column_trim(struct nb_column *column)
{
	struct nb_copy *keep = any_valid(column, 1, NB_WIRE);
	if (!keep)
		keep = any_valid(column, 1, NB_AS_F64);
	if (!keep)
		return;
	for (int i = 0; i < NB_MAX_COPIES; i++)
		if (&column->copy[i] != keep)
			release_copy(&column->copy[i]);
}

static void take_memory(struct nb_column *column, const struct nb_space *space, struct nb_owner *owner, void *data)
{
	release_column(column);
	column->unrounded = 0;
	column->copy[0] = (struct nb_copy){space, NB_WIRE, 1, owner, data, NULL};
	changed(column);
}

void nb_column_adopt(struct nb_column *column, const struct nb_space *space, void *data)
{
	take_memory(column, space, NULL, data);
}

void nb_column_borrow(struct nb_column *column, struct nb_owner *owner, void *data)
{
	atomic_fetch_add_explicit(&owner->users, 1, memory_order_relaxed);
	take_memory(column, &nb_space_host, owner, data);
}

/* The wire form, somewhere; made where the other form lives. */
static struct nb_copy *wire_copy(struct nb_column *column)
{
	struct nb_copy *copy = any_valid(column, 1, NB_WIRE);
	if (!copy)
		copy = any_valid(column, 0, NB_WIRE);
	if (copy)
		return copy;
	const struct nb_copy *other = is_single(column) ? any_valid(column, 0, NB_AS_F64) : NULL;
	return other ? converted(column, other, NB_WIRE) : on_host(column, NB_WIRE);
}

int nb_frame_round(struct nb_frame *frame)
{
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		if (!column->unrounded)
			continue;
		if (!wire_copy(column))
			return NB_ENOMEM;
		for (int i = 0; i < NB_MAX_COPIES; i++)
			if (column->copy[i].form != NB_WIRE)
				column->copy[i].valid = 0;
		const unsigned never = column->never; /* found of the wire form */
		changed(column);
		column->never = never;
		column->unrounded = 0;
	}
	return NB_OK;
}

size_t nb_column_first_bad(struct nb_column *column, unsigned what)
{
	const int single = is_single(column);
	if ((!single && !is_type(column, 'f', '8')) || (what & ~column->never) == 0)
		return column->rows;
	/* rounding to f32 may overflow: the wire form is what counts */
	const struct nb_copy *copy = wire_copy(column);
	size_t first;
	if (!copy ||
		copy->space->first_bad(copy->space, column->rows * column->ncomp, !single, copy->data, what, &first))
		return SIZE_MAX;
	if (first == column->rows * column->ncomp)
		column->never |= what;
	return first / column->ncomp;
}

int nb_frame_gather(struct nb_frame *frame, enum nb_table table, size_t n, const uint32_t *row,
	const struct nb_space *space, nb_gather *gather)
{
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		if (column->table != table)
			continue;
		const void *from = nb_column_read(column, space, NB_WIRE);
		void *to = from ? space->alloc(space, n * column->rowsize) : NULL;
		int status = to ? gather(n, row, column->rowsize, from, to) : nb_space_status();
		if (status) {
			if (to)
				space->release(space, to);
			return status;
		}
		const unsigned never = column->never;
		column->rows = n;
		nb_column_adopt(column, space, to);
		column->never = never;
	}
	frame->rows[table] = n;
	return NB_OK;
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
	uint64_t sum = 1 + (uint64_t)fact;
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

/* ---- attributes ------------------------------------------------------------------------------- */

static int is_key(const char *a, const char *b)
{
	return a[0] == b[0] && a[1] == b[1] && strcmp(a, b) == 0;
}

/* Few are looked through; more have a hash table, whose heads and links are members of their array, which has room for
 * a power of 2. */
enum { FEW = 8 };

static size_t room_for(size_t n)
{
	size_t room = FEW;
	while (room < n)
		room *= 2;
	return room;
}

static size_t *head_of(const struct nb_frame *frame, const char *key)
{
	size_t hash = 5381;
	for (; *key; key++)
		hash = 33 * hash ^ (unsigned char)*key;
	hash *= 0x9E3779B97F4A7C15u;
	return &frame->attribute[(hash ^ hash >> 32) & (room_for(frame->nattribute) - 1)].head;
}

static void enter(struct nb_frame *frame, size_t i)
{
	size_t *head = head_of(frame, frame->attribute[i].key);
	frame->attribute[i].next = *head;
	*head = i + 1;
}

static void enter_all(struct nb_frame *frame)
{
	if (frame->nattribute <= FEW)
		return;
	for (size_t i = 0; i < room_for(frame->nattribute); i++)
		frame->attribute[i].head = 0;
	for (size_t i = 0; i < frame->nattribute; i++)
		enter(frame, i);
}

/* The first of that key. */
static struct nb_attribute *find_attribute(const struct nb_frame *frame, const char *key)
{
	struct nb_attribute *found = NULL;
	if (frame->nattribute <= FEW) {
		for (size_t i = frame->nattribute; i-- > 0;)
			if (is_key(frame->attribute[i].key, key))
				found = &frame->attribute[i];
		return found;
	}
	for (size_t i = *head_of(frame, key); i; i = frame->attribute[i - 1].next)
		if (is_key(frame->attribute[i - 1].key, key))
			found = &frame->attribute[i - 1]; /* those that came later are met before it */
	return found;
}

/* Of those behind the first kept ones. */
static void drop_attributes(
	struct nb_frame *frame, size_t kept, int (*goes)(const char *key, const char *context), const char *context)
{
	const size_t n = frame->nattribute;
	for (size_t i = kept; i < n; i++) {
		struct nb_attribute *attribute = &frame->attribute[i];
		if (!goes(attribute->key, context)) {
			frame->attribute[kept++] = *attribute;
		} else {
			free(attribute->key);
			free(attribute->value);
		}
	}
	frame->nattribute = kept;
	if (kept < n)
		enter_all(frame);
}

/* Room for the text of a number, behind the key: "" until somebody asks.  So every attribute can be written, whether or
 * not there is memory. */
static char *digits_of(const struct nb_attribute *attribute)
{
	return attribute->key + strlen(attribute->key) + 1;
}

static const char *text_of(const struct nb_attribute *attribute)
{
	if (attribute->value)
		return attribute->value;
	char *digits = digits_of(attribute);
	if (!*digits)
		nb_format_f64(attribute->number, digits);
	return digits;
}

const char *nb_frame_attribute_text(const struct nb_frame *frame, size_t k)
{
	return text_of(&frame->attribute[k]);
}

const char *nb_frame_attribute(const struct nb_frame *frame, const char *key)
{
	struct nb_attribute *attribute = find_attribute(frame, key);
	return attribute ? text_of(attribute) : NULL;
}

/* value NULL: the number. */
static int append(struct nb_frame *frame, const char *key, const char *value, double number)
{
	const size_t n = frame->nattribute, room = room_for(n + 1), grows = n == 0 || room > room_for(n);
	struct nb_attribute *grown = grows ? realloc(frame->attribute, room * sizeof *grown) : frame->attribute;
	if (!grown)
		return NB_ENOMEM;
	frame->attribute = grown;
	const size_t size = strlen(key) + 1;
	char *k = malloc(size + NB_F64_TEXT), *v = value ? strdup(value) : NULL;
	if (!k || (value && !v)) {
		free(k);
		free(v);
		return NB_ENOMEM;
	}
	memcpy(k, key, size);
	k[size] = '\0';
	struct nb_attribute *new = &grown[frame->nattribute++];
	new->key = k;
	new->value = v;
	new->number = number;
	new->is_number = !v;
	if (grows)
		enter_all(frame);
	else if (frame->nattribute > FEW)
		enter(frame, n);
	return NB_OK;
}

int nb_frame_add_attribute(struct nb_frame *frame, const char *key, const char *value)
{
	return append(frame, key, value, 0);
}

int nb_frame_set_attribute(struct nb_frame *frame, const char *key, const char *value)
{
	struct nb_attribute *attribute = find_attribute(frame, key);
	if (!attribute)
		return append(frame, key, value, 0);
	char *v = strdup(value);
	if (!v)
		return NB_ENOMEM;
	free(attribute->value);
	attribute->value = v;
	attribute->is_number = 0;
	return NB_OK;
}

static void set_number(struct nb_attribute *attribute, double value)
{
	free(attribute->value);
	attribute->value = NULL;
	*digits_of(attribute) = '\0';
	attribute->number = value;
	attribute->is_number = 1;
}

int nb_frame_set_attribute_f64(struct nb_frame *frame, const char *key, double value)
{
	struct nb_attribute *attribute = find_attribute(frame, key);
	if (!attribute)
		return append(frame, key, NULL, value);
	set_number(attribute, value);
	return NB_OK;
}

int nb_frame_set_last_attribute_f64(struct nb_frame *frame, const char *key, double value)
{
	struct nb_attribute *first = find_attribute(frame, key);
	if (!first)
		return append(frame, key, NULL, value);
	const struct nb_attribute moved = *first;
	const size_t at = (size_t)(first - frame->attribute);
	memmove(first, first + 1, (frame->nattribute - at - 1) * sizeof *first);
	frame->nattribute--;
	drop_attributes(frame, at, is_key, key);
	frame->attribute[frame->nattribute++] = moved; /* where it was, or one that has been dropped */
	set_number(&frame->attribute[frame->nattribute - 1], value);
	enter_all(frame);
	return NB_OK;
}

void nb_frame_drop_attribute(struct nb_frame *frame, const char *key)
{
	const struct nb_attribute *first = find_attribute(frame, key);
	if (first)
		drop_attributes(frame, (size_t)(first - frame->attribute), is_key, key);
}

int nb_frame_is_galaxy(const struct nb_frame *frame)
{
	const char *model = nb_frame_attribute(frame, "model");
	return model && (strcmp(model, "disk") == 0 || strcmp(model, "merger") == 0);
}

int nb_frame_attribute_f64(const struct nb_frame *frame, const char *key, double fallback, double *value)
{
	struct nb_attribute *attribute = find_attribute(frame, key);
	*value = fallback;
	if (!attribute)
		return NB_OK;
	if (!attribute->is_number) {
		if (nb_parse_f64(attribute->value, &attribute->number) != NB_PARSE_OK)
			return NB_EINVAL;
		attribute->is_number = 1;
	}
	*value = attribute->number;
	return isfinite(attribute->number) ? NB_OK : NB_EINVAL;
}

static int copy_attributes(struct nb_frame *to, const struct nb_frame *from)
{
	for (size_t i = 0; i < from->nattribute; i++) {
		const struct nb_attribute *attribute = &from->attribute[i];
		int status = append(to, attribute->key, attribute->value, attribute->number);
		if (status)
			return status;
	}
	return NB_OK;
}

int nb_frame_copy(struct nb_frame *to, const struct nb_frame *from)
{
	nb_frame_clear(to);
	to->number = from->number;
	memcpy(to->rows, from->rows, sizeof to->rows);
	int status = copy_attributes(to, from);
	if (status)
		return status;
	for (size_t i = 0; i < from->ncolumn; i++) {
		struct nb_column *source = &from->column[i];
		struct nb_column *column = nb_frame_add(
			to, source->name, source->table, source->dtype, source->ncomp, source->unit, source->flags);
		const void *data = nb_column_read(source, &nb_space_host, NB_WIRE);
		void *copy = column && data ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
		if (!copy)
			return NB_ENOMEM;
		if (column->rows)
			memcpy(copy, data, column->rows * column->rowsize);
	}
	return NB_OK;
}

static int share_copy(struct nb_copy *to, struct nb_copy *from)
{
	if (!from->space || !from->valid)
		return NB_OK;
	if (!from->users) {
		from->users = malloc(sizeof *from->users);
		if (!from->users)
			return NB_ENOMEM;
		atomic_init(from->users, 1);
	}
	atomic_fetch_add_explicit(from->users, 1, memory_order_relaxed);
	*to = *from;
	return NB_OK;
}

int nb_frame_share(struct nb_frame *to, struct nb_frame *from)
{
	nb_frame_clear(to);
	to->number = from->number;
	memcpy(to->rows, from->rows, sizeof to->rows);
	memcpy(to->fact, from->fact, sizeof to->fact);
	int status = copy_attributes(to, from);
	if (status)
		return status;
	to->column = calloc(from->ncolumn ? from->ncolumn : 1, sizeof *to->column);
	if (!to->column)
		return NB_ENOMEM;
	for (size_t c = 0; c < from->ncolumn; c++) {
		struct nb_column *column = &to->column[to->ncolumn++];
		*column = from->column[c];
		memset(column->copy, 0, sizeof column->copy);
		for (int i = 0; i < NB_MAX_COPIES; i++)
			if (share_copy(&column->copy[i], &from->column[c].copy[i]))
				return NB_ENOMEM;
	}
	return NB_OK;
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
