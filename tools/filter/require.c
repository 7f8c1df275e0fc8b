#include "tools/filter/require.h"

#include "common/die.h"
#include "common/mem.h"
#include "kernels/order/order.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LIST_SIZE = 400 };

void nb_blame_device(void)
{
	if (*nb_space_failure())
		nb_die(NB_EXIT_FAILED, "the device failed: %s", nb_space_failure());
}

_Noreturn void nb_out_of_memory(const struct nb_frame *frame)
{
	if (!frame)
		nb_die(NB_EXIT_FAILED, "out of memory");
	nb_blame_device();
	nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, frame->number);
}

void nb_require_room(const struct nb_frame *frame, const char *work, double row)
{
	const double need = row * (double)frame->rows[NB_PARTICLE], left = (double)nb_memory_left();
	if (need > left)
		nb_die(NB_EXIT_FAILED,
			"out of memory: %s of %" PRIu64 " bodies in frame %" PRIu64
			" take %.3g GB beside the frame, and %.3g GB are left",
			work, frame->rows[NB_PARTICLE], frame->number, need * 1e-9, left * 1e-9);
}

void nb_require_ok(int status, const struct nb_frame *frame)
{
	if (status)
		nb_die(NB_EXIT_FAILED, "%s in frame %" PRIu64, nb_status_text(status), frame->number);
}

/* ---- columns ------------------------------------------------------------------------------------ */

struct nb_column *nb_require_field(const struct nb_frame *frame, enum nb_field field)
{
	struct nb_column *column = nb_frame_field(frame, field);
	const char *name = nb_field_info[field].name;
	if (column)
		return column;
	/* a tool that keeps a field back may have left a word */
	char list[LIST_SIZE], key[NB_NAME_SIZE + 16];
	snprintf(key, sizeof key, "missing_%s", name);
	const char *why = nb_frame_attribute(frame, key);
	if (why)
		nb_die(NB_EXIT_FAILED, "field '%s' missing in frame %" PRIu64 " (%s)", name, frame->number, why);
	nb_die(NB_EXIT_FAILED, "field '%s' missing in frame %" PRIu64 " (stream has: %s)", name, frame->number,
		nb_frame_list(frame, list, sizeof list));
}

/* A stream may carry numbers of widths that no tool computes with, such as <f2. */
static void require_number(const struct nb_frame *frame, const struct nb_column *column)
{
	if (!nb_dtype_is_number(column->dtype))
		nb_die(NB_EXIT_FAILED, "field '%s' of frame %" PRIu64 " has type '%s', which no tool reads",
			column->name, frame->number, column->dtype);
}

const double *nb_require_f64(const struct nb_frame *frame, enum nb_field field, const struct nb_space *space)
{
	struct nb_column *column = nb_require_field(frame, field);
	require_number(frame, column);
	return nb_require_memory(frame, nb_column_read(column, space, NB_AS_F64));
}

struct nb_reals nb_require_reals(const struct nb_frame *frame, enum nb_field field)
{
	const float *single = nb_column_single(nb_require_field(frame, field));
	return (struct nb_reals){single ? NULL : nb_require_f64(frame, field, &nb_space_host), single};
}

const uint64_t *nb_require_ids(const struct nb_frame *frame, const struct nb_space *space)
{
	struct nb_column *column = nb_frame_field(frame, NB_ID);
	if (!column)
		return NULL;
	require_number(frame, column);
	return nb_require_memory(frame, nb_column_read(column, space, NB_AS_U64));
}

static void *lend(const struct nb_frame *frame, enum nb_field field, const struct nb_space *space, enum nb_form form)
{
	struct nb_column *column = nb_frame_field(frame, field);
	if (!column)
		return NULL;
	require_number(frame, column);
	return nb_require_memory(frame, nb_column_lend(column, space, form));
}

double *nb_lend_f64(const struct nb_frame *frame, enum nb_field field, const struct nb_space *space)
{
	return lend(frame, field, space, NB_AS_F64);
}

float *nb_lend_f32(const struct nb_frame *frame, enum nb_field field)
{
	struct nb_column *column = nb_frame_field(frame, field);
	return column && nb_column_single(column) ? lend(frame, field, &nb_space_host, NB_WIRE) : NULL;
}

uint64_t *nb_lend_ids(const struct nb_frame *frame, const struct nb_space *space)
{
	return lend(frame, NB_ID, space, NB_AS_U64);
}

double nb_lend_row(const struct nb_frame *frame, const enum nb_field *fields)
{
	size_t bytes = 0;
	for (; *fields < NB_NFIELD; fields++) {
		struct nb_column *column = nb_frame_field(frame, *fields);
		if (column)
			bytes += nb_column_lend_bytes(column, *fields == NB_ID		 ? NB_AS_U64
							      : nb_column_single(column) ? NB_WIRE
											 : NB_AS_F64);
	}
	return frame->rows[NB_PARTICLE] ? (double)bytes / (double)frame->rows[NB_PARTICLE] : 0;
}

const uint64_t *nb_repeated_ids(const struct nb_frame *frame, size_t *first, size_t *second)
{
	const uint64_t *id = nb_require_ids(frame, &nb_space_host);
	const size_t n = *first = frame->rows[NB_PARTICLE];
	nb_require_ok(id ? nb_ids_unique(n, id, first, second) : NB_OK, frame);
	return *first < n ? id : NULL;
}

const uint64_t *nb_require_unique_ids(const struct nb_frame *frame, const char *where)
{
	size_t first, second;
	const uint64_t *id = nb_repeated_ids(frame, &first, &second);
	if (id)
		nb_die(NB_EXIT_FAILED, "%s%sid %" PRIu64 " appears twice in frame %" PRIu64 " (bodies %zu and %zu)",
			where, *where ? ": " : "", id[first], frame->number, first, second);
	return nb_require_ids(frame, &nb_space_host);
}

struct nb_column *nb_new_column(struct nb_frame *frame, enum nb_field field, const char *dtype, uint32_t ncomp)
{
	struct nb_column *column = nb_frame_add_field(frame, field, dtype, ncomp);
	if (column)
		return column;
	if (frame->ncolumn == NB_MAX_COLUMNS)
		nb_die(NB_EXIT_FAILED,
			"no room for field '%s': frame %" PRIu64 " has %zu columns, the most there may be",
			nb_field_info[field].name, frame->number, frame->ncolumn);
	nb_out_of_memory(frame);
}

double *nb_new_f64(struct nb_frame *frame, enum nb_field field, const char *dtype, const struct nb_space *space)
{
	double *data = nb_column_write(nb_new_column(frame, field, dtype, 0), space, NB_AS_F64);
	if (!data) {
		nb_blame_device();
		nb_die(NB_EXIT_FAILED, "out of memory for field '%s'", nb_field_info[field].name);
	}
	return data;
}

void *nb_update_wire(const struct nb_frame *frame, struct nb_column *column)
{
	return nb_require_memory(frame, nb_column_update(column, &nb_space_host, NB_WIRE));
}

const char *nb_real_dtype(const struct nb_frame *frame)
{
	const struct nb_column *pos = nb_frame_field(frame, NB_POS);
	return pos && strcmp(pos->dtype, "<f4") == 0 ? "<f4" : "<f8";
}

/* ---- contents ----------------------------------------------------------------------------------- */

uint64_t nb_body_id(const struct nb_frame *frame, size_t i)
{
	struct nb_column *column = nb_frame_field(frame, NB_ID);
	const uint64_t *id = column ? nb_column_read(column, &nb_space_host, NB_AS_U64) : NULL;
	return id ? id[i] : i;
}

/* The first number of a row that is below zero, or 0. */
static double negative_in(struct nb_column *column, size_t row)
{
	const double *x = nb_column_read(column, &nb_space_host, NB_AS_F64);
	for (size_t k = 0; x && k < column->ncomp; k++)
		if (x[row * column->ncomp + k] < 0)
			return x[row * column->ncomp + k];
	return 0;
}

int nb_find_bad(
	const struct nb_frame *frame, struct nb_column *column, unsigned bad, char what[NB_BAD_TEXT], const char **want)
{
	const size_t row = nb_column_first_bad(column, bad);
	if (row == SIZE_MAX)
		nb_out_of_memory(frame);
	if (row >= column->rows)
		return 0;
	const double negative = bad & NB_BAD_NEGATIVE ? negative_in(column, row) : 0;
	const int is_negative = negative < 0 && !isinf(negative);
	char number[32] = "not finite";
	if (is_negative)
		snprintf(number, sizeof number, "%g", negative);
	snprintf(what, NB_BAD_TEXT, "field '%s' of the body with id %" PRIu64 " is %s", column->name,
		nb_body_id(frame, row), number);
	*want = is_negative ? " (want a number >= 0)" : "";
	return 1;
}

static void require_good(const struct nb_frame *frame, struct nb_column *column, unsigned bad)
{
	char what[NB_BAD_TEXT];
	const char *want;
	if (nb_find_bad(frame, column, bad, what, &want))
		nb_die(NB_EXIT_FAILED, "%s in frame %" PRIu64 "%s", what, frame->number, want);
}

void nb_require_finite(const struct nb_frame *frame, struct nb_column *column)
{
	if (column)
		require_good(frame, column, NB_BAD_NONFINITE);
}

unsigned nb_bad_by_traits(unsigned traits)
{
	return (traits & NB_FINITE ? NB_BAD_NONFINITE : 0) | (traits & NB_NOT_NEGATIVE ? NB_BAD_NEGATIVE : 0);
}

void nb_require_valid(const struct nb_frame *frame)
{
	for (int f = 0; f < NB_NFIELD; f++) {
		const unsigned bad = nb_bad_by_traits(nb_field_info[f].traits);
		struct nb_column *column = bad ? nb_frame_field(frame, (enum nb_field)f) : NULL;
		if (column)
			require_good(frame, column, bad);
	}
}

/* ---- attributes --------------------------------------------------------------------------------- */

double nb_require_attribute(const struct nb_frame *frame, const char *key, double fallback)
{
	double value;
	if (nb_frame_attribute_f64(frame, key, fallback, &value))
		nb_die(NB_EXIT_FAILED, "attribute %s='%s' of frame %" PRIu64 " is not a number", key,
			nb_frame_attribute(frame, key), frame->number);
	return value;
}

int64_t nb_require_integer_attribute(
	const struct nb_frame *frame, const char *key, int64_t least, int64_t most, int64_t fallback)
{
	const double value = nb_require_attribute(frame, key, (double)fallback);
	if (!(value >= (double)least && value <= (double)most) || value != floor(value))
		nb_die(NB_EXIT_FAILED,
			"attribute %s='%s' of frame %" PRIu64 " (want an integer from %" PRId64 " to %" PRId64 ")", key,
			nb_frame_attribute(frame, key), frame->number, least, most);
	return (int64_t)value;
}

double nb_box_of(const struct nb_frame *frame)
{
	const double box = nb_require_attribute(frame, "box", 0);
	if (box < 0)
		nb_die(NB_EXIT_FAILED, "attribute box is %g in frame %" PRIu64 " (want a number >= 0)", box,
			frame->number);
	return box;
}

double nb_require_box(const struct nb_frame *frame, double given)
{
	if (given > 0)
		return given;
	const double box = nb_box_of(frame), named = nb_require_attribute(frame, "box_size", 0);
	if (box == 0 && named > 0 && frame->number == 0)
		nb_warn("attribute box_size is %g, but that does not make the box periodic (want '--periodic %g' for "
			"that)",
			named, named);
	return box;
}

void nb_refuse_box(const struct nb_frame *frame, const char *what, const char *want)
{
	if (nb_box_of(frame) > 0)
		nb_die(NB_EXIT_FAILED,
			"%s does not obey the periodic box of frame %" PRIu64
			" (want %s%snb-calc '@box = 0' for an open system)",
			what, frame->number, want, *want ? ", or " : "");
}

int nb_require_dim(const struct nb_frame *frame)
{
	double dim = nb_require_attribute(frame, "dim", 3);
	if (dim != 2 && dim != 3)
		nb_die(NB_EXIT_FAILED, "attribute dim='%s' of frame %" PRIu64 " (want 2 or 3)",
			nb_frame_attribute(frame, "dim"), frame->number);
	return (int)dim;
}

void nb_drop_run_attributes(struct nb_frame *frame)
{
	nb_frame_drop_attribute(frame, "etot0");
	nb_frame_drop_attribute(frame, "ekin_da");
	nb_frame_drop_errors(frame);
}

int nb_report_once(struct nb_frame *reported, const char *what)
{
	if (nb_frame_attribute(reported, what))
		return 0;
	nb_set_attribute(reported, what, "");
	return 1;
}

void nb_set_attribute(struct nb_frame *frame, const char *key, const char *value)
{
	if (nb_frame_set_attribute(frame, key, value))
		nb_out_of_memory(frame);
}

void nb_set_attribute_f64(struct nb_frame *frame, const char *key, double value)
{
	if (nb_frame_set_attribute_f64(frame, key, value))
		nb_out_of_memory(frame);
}
