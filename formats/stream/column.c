/* The contents of a column: its copies on the host and on devices, in the form of the wire or converted. */
#include "formats/stream/frame_internal.h"

#include "common/mapped.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void nb_column_release(struct nb_column *column)
{
	for (int i = 0; i < NB_MAX_COPIES; i++)
		release_copy(&column->copy[i]);
}

void nb_column_changed(struct nb_column *column)
{
	static _Atomic uint64_t last;
	column->state = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	column->never = 0;
}

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

const float *nb_column_single(struct nb_column *column)
{
	const struct nb_copy *copy = is_single(column) ? any_valid(column, 1, NB_WIRE) : NULL;
	return copy ? copy->data : NULL;
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
	if (!column)
		return NULL;
	form = canonical(column, form);
	if (form == NB_AS_U64 || (form == NB_AS_F64 && !nb_dtype_is_number(column->dtype)))
		return NULL;
	struct nb_copy *copy = make_copy(column, space, form);
	if (!copy)
		return NULL;
	invalidate_others(column, copy);
	copy->valid = 1;
	column->unrounded = form != NB_WIRE;
	nb_column_changed(column);
	return copy->data;
}

/* Memory of its own instead of what it shares: of a mapped file, too, of which the system would copy small pages one by
 * one. */
static int detach(const struct nb_column *column, struct nb_copy *copy)
{
	const int sole = is_sole(copy);
	const struct nb_copy shared = *copy;
	const size_t bytes = form_bytes(column, copy->form);
	if (sole && !copy->owner)
		return NB_OK;
	void *own = copy->space->alloc(copy->space, bytes);
	if (!own)
		return NB_ENOMEM;
	if (copy->space->copy(copy->space, own, copy->data, bytes)) {
		copy->space->release(copy->space, own);
		return NB_ENOMEM;
	}
	if (sole)
		nb_mapped_forget(shared.data, bytes);
	release_copy(copy);
	*copy = (struct nb_copy){shared.space, shared.form, 1, NULL, own, NULL};
	return NB_OK;
}

void *nb_column_update(struct nb_column *column, const struct nb_space *space, enum nb_form form)
{
	struct nb_copy *copy = valid_copy(column, space, form);
	if (!copy || detach(column, copy))
		return NULL;
	invalidate_others(column, copy);
	column->unrounded = copy->form != NB_WIRE;
	nb_column_changed(column);
	return copy->data;
}

size_t nb_column_lend_bytes(struct nb_column *column, enum nb_form form)
{
	struct nb_copy *copy = find_copy(column, &nb_space_host, canonical(column, form));
	return copy && copy->valid && !copy->owner && is_sole(copy) ? 0 : form_bytes(column, canonical(column, form));
}

void *nb_column_lend(struct nb_column *column, const struct nb_space *space, enum nb_form form)
{
	struct nb_copy *copy = valid_copy(column, space, form);
	if (!copy || detach(column, copy))
		return NULL;
	/* f32 can be made again of f64: both would be there for as long as the work takes */
	for (int i = 0; i < NB_MAX_COPIES && is_single(column) && copy->form == NB_AS_F64; i++)
		if (&column->copy[i] != copy && column->copy[i].space == space)
			release_copy(&column->copy[i]);
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
	nb_column_release(column);
	column->unrounded = 0;
	column->copy[0] = (struct nb_copy){space, NB_WIRE, 1, owner, data, NULL};
	nb_column_changed(column);
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

int nb_column_set_real(struct nb_column *column, const char *dtype)
{
	const size_t count = column->rows * column->ncomp, width = nb_dtype_size(dtype);
	const double *from = nb_column_read(column, &nb_space_host, NB_AS_F64);
	void *to = from ? nb_space_host.alloc(&nb_space_host, count * width) : NULL;
	if (!to)
		return NB_ENOMEM;
	nb_dtype_from_f64(dtype, count, from, to);
	snprintf(column->dtype, sizeof column->dtype, "%s", dtype);
	column->rowsize = width * column->ncomp;
	nb_column_adopt(column, &nb_space_host, to);
	return NB_OK;
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
		nb_column_changed(column);
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

int nb_gather_host(size_t n, const uint32_t *row, size_t rowsize, const void *from, void *to)
{
	for (size_t k = 0; k < n; k++)
		memcpy((char *)to + k * rowsize, (const char *)from + row[k] * rowsize, rowsize);
	return NB_OK;
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

int nb_column_share(struct nb_column *column, struct nb_column *from)
{
	for (int i = 0; i < NB_MAX_COPIES; i++)
		if (share_copy(&column->copy[i], &from->copy[i]))
			return NB_ENOMEM;
	return NB_OK;
}
