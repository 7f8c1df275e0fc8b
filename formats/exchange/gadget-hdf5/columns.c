/* gadget-hdf5, read: the columns of a frame, from those that its types have. */
#include "formats/exchange/gadget-hdf5/read.h"
#include "formats/exchange/subset.h"

#include "common/mem.h"
#include "common/nearest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TYPES = NB_GADGET_HDF5_TYPES, PATH = NB_GADGET_HDF5_PATH, TEXT = 1 << 16 };

void nb_gadget_hdf5_note(char *list, const char *path, const char *reason)
{
	static const char more[] = ", ...";
	const size_t used = strlen(list), size = NB_GADGET_HDF5_LIST - sizeof more;
	if (nb_has_word(list, path) || used >= size)
		return;
	const int n = snprintf(list + used, size - used + 1, "%s%s%s%s%s", used ? ", " : "", path, reason ? " (" : "",
		reason ? reason : "", reason ? ")" : "");
	if ((size_t)n > size - used)
		strcpy(list + (used ? used : size), more);
}

struct nb_gadget_hdf5_column *nb_gadget_hdf5_find(
	const struct nb_gadget_hdf5_columns *columns, const char *name, unsigned type)
{
	for (size_t k = 0; k < columns->n; k++)
		if (columns->of[k].type == type && strcmp(columns->of[k].name, name) == 0)
			return &columns->of[k];
	return NULL;
}

struct nb_gadget_hdf5_column *nb_gadget_hdf5_add(
	struct nb_gadget_hdf5_columns *columns, const struct nb_gadget_hdf5_column *column)
{
	if (nb_reserve(columns->of, columns->n, columns->n + 1, columns->room))
		return NULL;
	columns->of[columns->n] = *column;
	return &columns->of[columns->n++];
}

int nb_gadget_hdf5_fits(const struct nb_gadget_hdf5_column *column, const struct nb_gadget_hdf5_column *to)
{
	return column->ncomp == to->ncomp &&
	       (column->dtype[1] == 'S' || to->dtype[1] == 'S' ? strcmp(column->dtype, to->dtype) == 0 : 1);
}

void nb_gadget_hdf5_widen(struct nb_gadget_hdf5_column *column, const char *dtype)
{
	if (strcmp(column->dtype, dtype) != 0)
		strcpy(column->dtype, "<f8");
}

int nb_gadget_hdf5_is_chosen(const struct nb_gadget_hdf5_reader *reader, unsigned type)
{
	return reader->chosen >> type & 1;
}

uint64_t nb_gadget_hdf5_wanted(
	const struct nb_gadget_hdf5_reader *reader, unsigned type, uint64_t n, uint64_t *first, uint64_t *step)
{
	uint64_t before = reader->seen[type];
	for (unsigned t = 0; t < type; t++)
		before += reader->n[t];
	*first = before;
	*step = 1;
	if (!nb_subset_species(&reader->in->subset, type))
		return 0;
	const uint64_t count = nb_subset_rows(&reader->in->subset, before, before + n, first, step);
	*first -= before;
	return count;
}

/* ---- which there are ----------------------------------------------------------------------------- */

/* Whether all bodies of a type have a number for this column, and all of the types that matter. */
static int type_has(const struct nb_gadget_hdf5_reader *reader, const char *name, unsigned type)
{
	const struct nb_gadget_hdf5_column *set = nb_gadget_hdf5_find(&reader->set, name, type);
	if (strcmp(name, "mass") == 0)
		return reader->massive[type] == reader->n[type];
	return (set && set->read && set->rows == reader->n[type]) ||
	       (strcmp(name, "eps") == 0 && nb_gadget_hdf5_softening(&reader->file, type) >= 0);
}

static int is_complete(const struct nb_gadget_hdf5_reader *reader, const char *name)
{
	for (unsigned t = 0; t < TYPES; t++)
		if (nb_gadget_hdf5_is_chosen(reader, t) && !type_has(reader, name, t))
			return 0;
	return 1;
}

/* Whether a column that follows from all bodies is no longer true of those that are left. */
static int is_stale(const struct nb_gadget_hdf5_reader *reader, const struct nb_frame *frame, const char *name)
{
	const struct nb_field_info *field = nb_field_find(name);
	uint64_t all = 0;
	for (unsigned t = 0; t < TYPES; t++)
		all += reader->n[t];
	return field && (field->flags & NB_DERIVED) && !reader->in->subset.keep_derived &&
	       (frame->rows[NB_PARTICLE] < all || reader->in->subset.one_file);
}

/* The columns of the types that matter become columns of the frame. */
static int merge_columns(struct nb_gadget_hdf5_reader *reader, const struct nb_frame *frame)
{
	for (size_t k = 0; k < reader->set.n; k++) {
		struct nb_gadget_hdf5_column *set = &reader->set.of[k], column = *set;
		if (!nb_gadget_hdf5_is_chosen(reader, set->type) || is_stale(reader, frame, set->name))
			continue;
		column.type = 0;
		struct nb_gadget_hdf5_column *same = nb_gadget_hdf5_find(&reader->column, set->name, 0);
		set->read = !same || nb_gadget_hdf5_fits(set, same);
		if (!set->read) {
			char path[PATH];
			snprintf(path, sizeof path, "%s of type %u", set->name, set->type);
			nb_gadget_hdf5_note(reader->unread[set->type], path, NULL);
		} else if (same)
			nb_gadget_hdf5_widen(same, set->dtype);
		else if (!nb_gadget_hdf5_add(&reader->column, &column))
			return nb_h5_no_memory(&reader->file);
	}
	/* what others cannot be without is not made up for them */
	struct nb_gadget_hdf5_columns *columns = &reader->column;
	size_t left = 0;
	for (size_t k = 0; k < columns->n; k++) {
		const struct nb_gadget_hdf5_column *column = &columns->of[k];
		const struct nb_field_info *field = nb_field_find(column->name);
		const int may_be_nan = column->dtype[1] == 'f' && !(field && field->traits);
		if (may_be_nan || is_complete(reader, column->name))
			columns->of[left++] = *column;
		else
			nb_gadget_hdf5_note(reader->partial, column->name, NULL);
	}
	columns->n = left;
	return NB_OK;
}

/* A column that no dataset has; some: some types may lack it. */
static int plan_fill(struct nb_gadget_hdf5_reader *reader, enum nb_field field, int some)
{
	const struct nb_field_info *info = &nb_field_info[field];
	struct nb_gadget_hdf5_column column = {.ncomp = info->ncomp};
	if (!nb_subset_needs(&reader->in->subset, info->name) || nb_gadget_hdf5_find(&reader->column, info->name, 0) ||
		nb_has_word(reader->partial, info->name))
		return NB_OK;
	if (some && !is_complete(reader, info->name)) {
		nb_gadget_hdf5_note(reader->partial, info->name, NULL);
		return NB_OK;
	}
	strcpy(column.name, info->name);
	strcpy(column.dtype, info->dtype);
	return nb_gadget_hdf5_add(&reader->column, &column) ? NB_OK : nb_h5_no_memory(&reader->file);
}

/* Where it stands: standard columns first, in their order, or as nb has written them. */
static size_t rank(const struct nb_gadget_hdf5_reader *reader, const struct nb_gadget_hdf5_column *column)
{
	const struct nb_h5_item *order = nb_h5_find(&reader->file, "nb@" NB_GADGET_COLUMNS);
	const struct nb_field_info *field = nb_field_find(column->name);
	const size_t length = strlen(column->name);
	for (const char *at = order ? order->text : NULL, *end; at && (end = strchr(at, ' ')); at = end + 1)
		if ((size_t)(end - at) == length && strncmp(at, column->name, length) == 0)
			return (size_t)(at - order->text);
	return (order && order->text ? TEXT : 0) + (field ? (size_t)(field - nb_field_info) : NB_NFIELD);
}

int nb_gadget_hdf5_choose(struct nb_gadget_hdf5_reader *reader, const struct nb_frame *frame, int own)
{
	const struct nb_h5_item *meaning = nb_h5_find(&reader->file, "nb@" NB_GADGET_SPECIES);
	int softened = 0;
	for (unsigned t = 0; t < TYPES; t++)
		softened |= nb_gadget_hdf5_is_chosen(reader, t) && nb_gadget_hdf5_softening(&reader->file, t) >= 0;
	int status = merge_columns(reader, frame);
	if (!status && frame->rows[NB_PARTICLE] == 0)
		status = plan_fill(reader, NB_POS, 0) || plan_fill(reader, NB_VEL, 0);
	if (!status)
		status = plan_fill(reader, NB_ID, 0) || plan_fill(reader, NB_MASS, 1);
	if (!status && softened && !own)
		status = plan_fill(reader, NB_EPS, 1);
	if (!status && !(meaning && meaning->text && strcmp(meaning->text, NB_GADGET_NO_SPECIES) == 0))
		status = plan_fill(reader, NB_SPECIES, 0);
	struct nb_gadget_hdf5_column *of = reader->column.of;
	for (size_t k = 0; k < reader->column.n; k++)
		of[k].rank = rank(reader, &of[k]);
	for (size_t k = 1; k < reader->column.n; k++)
		for (size_t i = k; i > 0 && of[i].rank < of[i - 1].rank; i--) {
			const struct nb_gadget_hdf5_column column = of[i];
			of[i] = of[i - 1];
			of[i - 1] = column;
		}
	return status ? NB_EINVAL : NB_OK;
}

/* What all bodies of a type have, unless it is read. */
static double usual(const struct nb_gadget_hdf5_reader *reader, const struct nb_column *column, unsigned type)
{
	const struct nb_h5_item *meaning = nb_h5_find(&reader->file, "nb@" NB_GADGET_SPECIES);
	if (column->field == NB_SPECIES)
		return meaning && meaning->text && strcmp(meaning->text, NB_GADGET_MODEL) == 0 ? type - 1.0 : type;
	if (column->field == NB_EPS)
		return nb_gadget_hdf5_softening(&reader->file, type);
	if (column->field == NB_MASS)
		return reader->mass[type];
	return column->dtype[1] == 'f' ? NAN : 0;
}

/* Bodies of a type all get the same. */
static void fill(const struct nb_gadget_hdf5_reader *reader, const struct nb_column *column, unsigned type, uint64_t n,
	unsigned char *to)
{
	const double x = usual(reader, column, type);
	const uint64_t numbers = n * column->ncomp;
	const size_t size = column->rowsize / column->ncomp;
	if (x == 0 || column->field == NB_SPECIES)
		memset(to, (int)x, n * column->rowsize);
	else if (size == sizeof(double))
		for (uint64_t i = 0; i < numbers; i++)
			((double *)(void *)to)[i] = x;
	else /* all bits: a NaN of any width */
		memset(to, 0xff, n * column->rowsize);
}

/* Bodies without ids are numbered as they stand in the files, wanted or not. */
static void number_bodies(const struct nb_gadget_hdf5_reader *reader, uint64_t *id)
{
	uint64_t before = 0;
	for (unsigned t = 0; t < TYPES; before += reader->n[t++]) {
		uint64_t first, step;
		const uint64_t count = nb_gadget_hdf5_wanted(reader, t, reader->n[t], &first, &step);
		for (uint64_t i = 0; i < count; i++)
			*id++ = before + first + i * step;
	}
}

/* Types that lack a dataset get what fills a column, at most about as many bytes as the files could hold. */
static int check_memory(struct nb_gadget_hdf5_reader *reader, const struct nb_frame *frame)
{
	enum { ALWAYS = 64 << 20 };
	double bytes = 0;
	for (size_t k = 0; k < reader->column.n; k++)
		bytes += (double)frame->rows[NB_PARTICLE] * (double)reader->column.of[k].ncomp *
			 (double)nb_dtype_size(reader->column.of[k].dtype);
	if (reader->column.n > NB_MAX_COLUMNS)
		return nb_h5_fail(&reader->file, "%zu columns (limit %d: choose some with '--fields' or '--species')",
			reader->column.n, NB_MAX_COLUMNS);
	return bytes <= ALWAYS + 2.0 * NB_H5_MOST_RATIO * (double)reader->bytes
		       ? NB_OK
		       : nb_h5_fail(&reader->file,
				 "the columns of all bodies have %.3g bytes, which files of %" PRIu64
				 " bytes cannot hold (choose some with '--fields' or '--species')",
				 bytes, reader->bytes);
}

/* Whether the files, which stay open, have this column of all bodies of a type: then those who read it meet its memory
 * first, several at once. */
static int will_be_read(const struct nb_gadget_hdf5_reader *reader, const char *name, unsigned type)
{
	const struct nb_gadget_hdf5_column *set = nb_gadget_hdf5_find(&reader->set, name, type);
	return set && set->read && set->rows == reader->n[type] && (!reader->stem || reader->nkept == reader->nfile);
}

int nb_gadget_hdf5_make(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame, const uint64_t n[TYPES])
{
	if (check_memory(reader, frame))
		return NB_EINVAL;
	for (size_t k = 0; k < reader->column.n; k++) {
		const struct nb_gadget_hdf5_column *plan = &reader->column.of[k];
		const struct nb_field_info *field = nb_field_find(plan->name);
		struct nb_column *column = field ? nb_frame_add_field(
							   frame, (enum nb_field)(field - nb_field_info), NULL, 0)
						 : nb_frame_add(frame, plan->name, NB_PARTICLE, plan->dtype,
							   (uint32_t)plan->ncomp, plan->unit, 0);
		unsigned char *data = nb_column_write(column, &nb_space_host, NB_WIRE);
		if (!data)
			return nb_h5_no_memory(&reader->file);
		const int numbered = column->field == NB_ID && !plan->read;
		if (numbered)
			number_bodies(reader, (uint64_t *)(void *)data);
		for (unsigned t = 0; !numbered && t < TYPES; data += n[t++] * column->rowsize)
			if (!will_be_read(reader, plan->name, t))
				fill(reader, column, t, n[t], data);
	}
	return NB_OK;
}
