/* Snapshots of NEMO: reading; written with positions and velocities in one array.  Arrays and rows that are not wanted,
 * also of frames before those that are, are passed over. */
#include "formats/exchange/nemo/nemo.h"

#include "common/mem.h"
#include "formats/exchange/rows.h"
#include "formats/exchange/subset.h"
#include "formats/exchange/wire.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COMPONENTS = 1024, MAX_TEXT = 1 << 20 };

struct nemo_reader {
	struct nb_frame said;	/* attributes of all frames: history, headline */
	size_t text;		/* bytes of them */
	struct nb_frame before; /* the masses of the frame before, for those that have none, */
	uint64_t nbefore;	/* and its bodies in the file */
};

/* ---- numbers of the bodies ---------------------------------------------------------------------- */

/* What a snapshot says. */
struct snapshot {
	struct nb_frame *frame;
	double n, time;		     /* n: -1: nothing was said */
	uint64_t rows;		     /* of the arrays */
	uint64_t first, step, count; /* those that are wanted: first, first + step ... */
	int has_particles, has_rows, has_mass, has_pos;
	char left_out[200];
};

/* A column for the numbers of a tag. */
struct target {
	char name[NB_NAME_SIZE + 1];
	enum nb_field field; /* NB_NFIELD: none */
	char dtype[NB_DTYPE_SIZE + 1];
	uint32_t ncomp;
	int widens; /* f4 in the file, f8 in the frame */
};

/* SmoothLength is smooth_length */
static void plain_name(const char *tag, char name[NB_NAME_SIZE + 1])
{
	size_t used = 0;
	for (size_t i = 0; tag[i] && used + 1 < NB_NAME_SIZE; i++) {
		if (i && isupper((unsigned char)tag[i]) && islower((unsigned char)tag[i - 1]))
			name[used++] = '_';
		name[used++] = (char)tolower((unsigned char)tag[i]);
	}
	name[used] = '\0';
}

static void find_target(const struct item *item, struct target *target)
{
	*target = (struct target){.field = NB_NFIELD, .ncomp = 1};
	for (int d = 1; d < item->ndim; d++)
		target->ncomp *= item->dim[d];
	plain_name(item->tag, target->name);
	for (size_t k = 0; nb_nemo_tag[k][0]; k++)
		if (strcmp(item->tag, nb_nemo_tag[k][1]) == 0)
			strcpy(target->name, nb_nemo_tag[k][0]);
	const char kind = item->type == 'f' || item->type == 'd' || item->type == 'h' ? 'f'
			  : item->size == 1					      ? 'u'
										      : 'i';
	snprintf(target->dtype, sizeof target->dtype, "%c%c%zu", item->size == 1 ? '|' : '<', kind, item->size);
	const struct nb_field_info *info = nb_field_find(target->name);
	if (!info)
		return;
	const int is_real = strcmp(info->dtype, "<f8") == 0 && (item->type == 'f' || item->type == 'd');
	if (info->table == NB_PARTICLE && info->ncomp == target->ncomp &&
		(is_real || strcmp(info->dtype, target->dtype) == 0)) {
		target->field = (enum nb_field)(info - nb_field_info);
		target->widens = item->type == 'f';
		strcpy(target->dtype, info->dtype);
	} else {
		char name[NB_NAME_SIZE + 1];
		snprintf(name, sizeof name, "nemo_%.*s", NB_NAME_SIZE - 5, target->name);
		strcpy(target->name, name);
	}
}

static struct nb_column *add_column(struct nb_frame *frame, const struct target *target)
{
	return target->field < NB_NFIELD
		       ? nb_frame_add_field(frame, target->field, NULL, 0)
		       : nb_frame_add(frame, target->name, NB_PARTICLE, target->dtype, target->ncomp, "", 0);
}

/* count numbers as they are in a column. */
static void convert(const struct item *item, int widens, size_t count, const void *from, void *to)
{
	if (widens)
		nb_wire_widen(count, from, item->big, to);
	else
		nb_wire_order(count, item->size, from, item->big, to);
}

/* Positions and velocities of the bodies, one after the other. */
static void part_phases(const struct item *item, size_t n, const unsigned char *from, double *pos, double *vel)
{
	const size_t half = 3 * item->size;
	for (size_t i = 0; i < n; i++, from += 2 * half) {
		convert(item, item->type == 'f', 3, from, pos + 3 * i);
		convert(item, item->type == 'f', 3, from + half, vel + 3 * i);
	}
}

/* What is behind the array in the file is next. */
static int skip_rows(struct nb_import *in, const struct item *item, uint64_t rows)
{
	return rows ? nb_wire_skip(in, rows * (item->count / item->dim[0]) * item->size, item->tag) : NB_OK;
}

/* Rows as they come, since a pipe may end any time; of a file of known size there is room for all at once. */
static int read_rows(struct nb_import *in, const struct item *item, const struct snapshot *snapshot,
	const struct target *target, struct nb_rows *rows)
{
	enum { UNPROVED = 1 << 16 };
	const uint64_t n = snapshot->count, step = snapshot->step;
	const size_t per_row = item->count / item->dim[0], row = per_row * item->size;
	const int is_phase = strcmp(item->tag, "PhaseSpace") == 0;
	if (nb_wire_need(in, item->dim[0] * row, item->tag))
		return NB_EINVAL;
	rows->capacity = nb_wire_size(in) != UINT64_MAX || n < UNPROVED ? n + 1 : UNPROVED;
	const size_t width = is_phase ? 3 * sizeof(double) : target->ncomp * nb_dtype_size(target->dtype);
	if (nb_rows_add(rows, width) || (is_phase && nb_rows_add(rows, width)))
		return NB_ENOMEM;
	/* rows that are not next to each other are read one by one */
	const size_t most = step > 1 ? 1 : NB_BLOCK / row;
	uint64_t at = 0;
	while (rows->n < n) {
		if (nb_rows_reserve(rows, 1))
			return NB_ENOMEM;
		size_t part = rows->capacity - rows->n < n - rows->n ? rows->capacity - rows->n : n - rows->n;
		part = part < most ? part : most;
		if (skip_rows(in, item, snapshot->first + rows->n * step - at))
			return NB_EINVAL;
		const unsigned char *from = nb_wire_take(in, part * row, item->tag);
		if (!from)
			return NB_EINVAL;
		at = snapshot->first + rows->n * step + part;
		if (is_phase)
			part_phases(item, part, from, nb_rows_at(rows, 0, rows->n), nb_rows_at(rows, 1, rows->n));
		else
			convert(item, target->widens, part * per_row, from, nb_rows_at(rows, 0, rows->n));
		rows->n += part;
	}
	return skip_rows(in, item, item->dim[0] - at);
}

static int give(struct nb_frame *frame, struct nb_rows *rows, size_t c, const struct target *target)
{
	struct nb_column *column = add_column(frame, target);
	if (!column)
		return NB_ENOMEM;
	nb_rows_give(rows, c, column);
	return NB_OK;
}

/* Ids and masses stand first in all frames, wherever they come from. */
static int begin_rows(struct nb_import *in, struct snapshot *snapshot, uint64_t n)
{
	snapshot->rows = n;
	snapshot->count = nb_subset_rows(&in->subset, 0, n, &snapshot->first, &snapshot->step);
	snapshot->has_rows = 1;
	snapshot->frame->rows[NB_PARTICLE] = snapshot->count;
	return nb_frame_add_field(snapshot->frame, NB_ID, NULL, 0) &&
			       nb_frame_add_field(snapshot->frame, NB_MASS, NULL, 0)
		       ? NB_OK
		       : NB_ENOMEM;
}

/* Whether a column is to be read: of frames before the wanted ones only masses, which may hold for others; keys are
 * ids. */
static int is_needed(struct nb_import *in, const struct snapshot *snapshot, const struct target *target)
{
	const struct nb_subset *subset = &in->subset;
	const int derived = target->field < NB_NFIELD && (nb_field_info[target->field].flags & NB_DERIVED);
	if (in->nframe < subset->first && target->field != NB_MASS)
		return 0;
	if (derived && snapshot->count < snapshot->rows && !subset->keep_derived)
		return 0;
	return nb_subset_needs(subset, target->name) ||
	       (strcmp(target->name, "nemo_key") == 0 && nb_subset_needs(subset, nb_field_info[NB_ID].name));
}

static int fail_components(struct nb_import *in, const struct item *item, const char *want)
{
	return nb_wire_fail(in, "item '%s' at byte %" PRIu64 " is not %s", item->tag, item->at, want);
}

static int take_array(struct nb_import *in, const struct item *item, struct snapshot *snapshot)
{
	static const struct target pos = {.name = "pos", .field = NB_POS}, vel = {.name = "vel", .field = NB_VEL};
	struct target target;
	struct nb_rows rows;
	const int is_phase = strcmp(item->tag, "PhaseSpace") == 0, is_real = item->type == 'f' || item->type == 'd';
	if (snapshot->has_rows && item->dim[0] != snapshot->rows)
		return nb_wire_fail(in, "item '%s' at byte %" PRIu64 " has %" PRIu32 " rows, others %" PRIu64,
			item->tag, item->at, item->dim[0], snapshot->rows);
	if (item->count / item->dim[0] > MAX_COMPONENTS)
		return fail_components(in, item, "an array of at most 1024 numbers for each body");
	if (is_phase && (!is_real || item->ndim != 3 || item->dim[1] != 2 || item->dim[2] != 3))
		return fail_components(in, item, "an array of 2 x 3 real numbers for each body");
	find_target(item, &target);
	if ((strcmp(item->tag, "Position") == 0 || strcmp(item->tag, "Velocity") == 0) && target.field == NB_NFIELD)
		return fail_components(in, item, "an array of 3 real numbers for each body");
	if (strcmp(item->tag, "Mass") == 0 && target.field == NB_NFIELD)
		return fail_components(in, item, "an array of a real number for each body");
	int status = snapshot->has_rows ? NB_OK : begin_rows(in, snapshot, item->dim[0]);
	snapshot->has_mass |= target.field == NB_MASS;
	snapshot->has_pos |= is_phase || target.field == NB_POS;
	if (!status && !(is_phase ? is_needed(in, snapshot, &pos) || is_needed(in, snapshot, &vel)
				  : is_needed(in, snapshot, &target)))
		return nb_wire_need(in, item->count * item->size, item->tag) ? NB_EINVAL
									     : skip_rows(in, item, item->dim[0]);
	nb_rows_init(&rows);
	if (!status)
		status = read_rows(in, item, snapshot, &target, &rows);
	if (!status)
		status = give(snapshot->frame, &rows, 0, is_phase ? &pos : &target);
	if (!status && is_phase)
		status = give(snapshot->frame, &rows, 1, &vel);
	nb_rows_clear(&rows);
	return status;
}

/* ---- sets --------------------------------------------------------------------------------------- */

static int read_parameters(struct nb_import *in, struct snapshot *snapshot)
{
	struct item item;
	int got, status = NB_OK;
	while (!status && (got = nb_nemo_next_in_set(in, &item, "Parameters")) != 0) {
		if (got < 0)
			return NB_EINVAL;
		if (strcmp(item.tag, "Nobj") == 0 || strcmp(item.tag, "NBody") == 0)
			status = nb_nemo_take_number(in, &item, &snapshot->n);
		else if (strcmp(item.tag, "Time") == 0)
			status = nb_nemo_take_number(in, &item, &snapshot->time);
		else
			status = nb_nemo_skip(in, item);
	}
	return status;
}

static int check_coordinates(struct nb_import *in, const struct item *item)
{
	double code;
	if (nb_nemo_take_number(in, item, &code))
		return NB_EINVAL;
	return code == NB_NEMO_CARTESIAN
		       ? NB_OK
		       : nb_wire_fail(in, "CoordSystem at byte %" PRIu64 " is %.17g (want %d, %#x: cartesian, 3-D)",
				 item->at, code, NB_NEMO_CARTESIAN, NB_NEMO_CARTESIAN);
}

static int read_particles(struct nb_import *in, struct snapshot *snapshot)
{
	struct item item;
	int got, status = NB_OK;
	snapshot->has_particles = 1;
	while (!status && (got = nb_nemo_next_in_set(in, &item, "Particles")) != 0) {
		if (got < 0)
			return NB_EINVAL;
		if (strcmp(item.tag, "CoordSystem") == 0) {
			status = check_coordinates(in, &item);
		} else if (item.ndim > 0 && item.type != 'c' && item.type != 'a') {
			status = take_array(in, &item, snapshot);
		} else {
			const size_t used = strlen(snapshot->left_out);
			snprintf(snapshot->left_out + used, sizeof snapshot->left_out - used, "%s%s", used ? ", " : "",
				item.tag);
			status = nb_nemo_skip(in, item);
		}
	}
	return status;
}

static int read_snapshot(struct nb_import *in, struct snapshot *snapshot)
{
	struct item item;
	int got, status = NB_OK;
	while (!status && (got = nb_nemo_next_in_set(in, &item, "SnapShot")) != 0) {
		if (got < 0)
			return NB_EINVAL;
		if (item.type == '(' && strcmp(item.tag, "Parameters") == 0)
			status = read_parameters(in, snapshot);
		else if (item.type == '(' && strcmp(item.tag, "Particles") == 0 && !snapshot->has_particles)
			status = read_particles(in, snapshot);
		else
			status = nb_nemo_skip(in, item);
	}
	return status;
}

/* ---- frames ------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Whether no key is negative and none appears twice. */
static int are_ids(size_t n, const int32_t *key, uint64_t *id)
{
	int ascend = 1;
	for (size_t i = 0; i < n; i++) {
		if (key[i] < 0)
			return 0;
		id[i] = (uint64_t)key[i];
		ascend &= i == 0 || id[i] > id[i - 1];
	}
	if (ascend)
		return 1;
	uint64_t *sorted = malloc(n * sizeof *sorted);
	int unique = sorted != NULL;
	if (sorted) {
		memcpy(sorted, id, n * sizeof *sorted);
		qsort(sorted, n, sizeof *sorted, compare);
		for (size_t i = 1; i < n && unique; i++)
			unique = sorted[i] != sorted[i - 1];
	}
	free(sorted);
	return unique;
}

/* The keys of NEMO are ids if they can be; else ids count from 0. */
static int add_ids(struct nb_import *in, const struct snapshot *snapshot)
{
	struct nb_frame *frame = snapshot->frame;
	struct nb_column *key = nb_frame_find(frame, "nemo_key");
	const int32_t *from = key && strcmp(key->dtype, "<i4") == 0 && key->ncomp == 1
				      ? nb_column_read(key, &nb_space_host, NB_WIRE)
				      : NULL;
	const size_t n = frame->rows[NB_PARTICLE];
	uint64_t *id = nb_alloc(n, sizeof *id);
	if (!id)
		return NB_ENOMEM;
	const size_t said = strlen(in->warning);
	const int are = from && are_ids(n, from, id);
	if (are)
		nb_frame_drop(frame, "nemo_key");
	else if (key && n && nb_subset_needs(&in->subset, nb_field_info[NB_ID].name))
		snprintf(in->warning + said, sizeof in->warning - said,
			"%s%s: keys are no ids (negative, not whole, or twice the same), so bodies are numbered, "
			"and the keys are column nemo_key",
			said ? "; " : "", nb_import_tail(in));
	for (size_t i = 0; !are && i < n; i++)
		id[i] = snapshot->first + i * snapshot->step;
	struct nb_column *column = nb_frame_add_field(frame, NB_ID, NULL, 0);
	if (!column) {
		nb_free(id);
		return NB_ENOMEM;
	}
	nb_column_adopt(column, &nb_space_host, id);
	return NB_OK;
}

/* A snapshot without masses has those of the one before, as NEMO's programs that follow a run take it. */
static int keep_masses(struct nemo_reader *reader, const struct snapshot *snapshot, int needs_mass)
{
	struct nb_frame *frame = snapshot->frame;
	struct nb_frame *before = &reader->before;
	const struct nb_column *old = nb_frame_field(before, NB_MASS);
	const int same = old && reader->nbefore == snapshot->rows;
	if ((!snapshot->has_mass && !same) || !needs_mass) {
		nb_frame_drop_field(frame, NB_MASS);
		return NB_OK;
	}
	if (!snapshot->has_mass) {
		double *to = nb_column_write(nb_frame_field(frame, NB_MASS), &nb_space_host, NB_WIRE);
		const void *from = nb_column_read(nb_frame_field(before, NB_MASS), &nb_space_host, NB_WIRE);
		if (!to || !from)
			return NB_ENOMEM;
		memcpy(to, from, old->rows * sizeof *to);
		return NB_OK;
	}
	nb_frame_clear(before);
	reader->nbefore = snapshot->rows;
	if (nb_frame_share(before, frame))
		return NB_ENOMEM;
	for (size_t c = before->ncolumn; c-- > 0;)
		if (before->column[c].field != NB_MASS)
			nb_frame_drop(before, before->column[c].name);
	return NB_OK;
}

static int finish(struct nb_import *in, struct snapshot *snapshot)
{
	struct nemo_reader *reader = in->state;
	struct nb_frame *frame = snapshot->frame;
	if (snapshot->n >= 0 && (snapshot->has_rows || snapshot->n > 0) && snapshot->n != (double)snapshot->rows)
		return nb_wire_fail(in,
			"the snapshot that ends at byte %" PRIu64 " has %" PRIu64 " bodies, but its Nobj is %g",
			in->bytes->at, snapshot->rows, snapshot->n);
	static const enum nb_field all[] = {NB_ID, NB_MASS, NB_POS, NB_VEL};
	snapshot->has_mass |= !snapshot->has_rows;
	snapshot->has_pos |= !snapshot->has_rows;
	snapshot->step = snapshot->has_rows ? snapshot->step : 1;
	for (size_t k = 0; k < sizeof all / sizeof *all && !snapshot->has_rows; k++) {
		if (!nb_column_write(nb_frame_add_field(frame, all[k], NULL, 0), &nb_space_host, NB_WIRE))
			return NB_ENOMEM;
	}
	if (!snapshot->has_pos)
		return nb_wire_fail(in, "the snapshot that ends at byte %" PRIu64 " has no Position and no PhaseSpace",
			in->bytes->at);
	if (*snapshot->left_out)
		snprintf(in->warning, sizeof in->warning, "%s: items without numbers for each body are left out: %s",
			nb_import_tail(in), snapshot->left_out);
	for (size_t k = 0; k < reader->said.nattribute; k++)
		if (nb_frame_add_attribute(
			    frame, reader->said.attribute[k].key, nb_frame_attribute_text(&reader->said, k)))
			return NB_ENOMEM;
	if (nb_frame_set_attribute_f64(frame, "time", snapshot->time) || nb_frame_set_attribute(frame, "dim", "3"))
		return NB_ENOMEM;
	in->selected = NB_SELECTED_ROWS;
	const int needs_mass = nb_subset_needs(&in->subset, nb_field_info[NB_MASS].name);
	return add_ids(in, snapshot) || keep_masses(reader, snapshot, needs_mass) ? NB_ENOMEM : NB_OK;
}

/* An item outside of snapshots: the history of the file, and its title. */
static int read_text(struct nb_import *in, const struct item *item)
{
	struct nemo_reader *reader = in->state;
	const char *key = strcmp(item->tag, "History") == 0 ? "history" : "headline";
	if (item->count > NB_BLOCK || (reader->text += item->count) > MAX_TEXT)
		return nb_wire_skip(in, item->count, item->tag);
	const unsigned char *from = nb_wire_take(in, item->count, item->tag);
	if (!from)
		return NB_EINVAL;
	char *text = strndup((const char *)from, item->count);
	int status = text ? NB_OK : NB_ENOMEM;
	if (!status && *key == 'h' && strcmp(key, "history") == 0)
		status = nb_frame_add_attribute(&reader->said, key, text);
	else if (!status)
		status = nb_frame_set_attribute(&reader->said, key, text);
	free(text);
	return status;
}

static int open_file(struct nb_import *in)
{
	struct nemo_reader *reader = in->state;
	nb_frame_init(&reader->said);
	nb_frame_init(&reader->before);
	return NB_OK;
}

static enum nb_answer next(struct nb_import *in, struct nb_frame *frame)
{
	struct item item;
	int got, status = NB_OK;
	*in->warning = '\0';
	while (!status && (got = nb_nemo_next_item(in, &item)) > 0) {
		struct snapshot snapshot = {.frame = frame, .n = -1};
		if (item.type == 'c' && (strcmp(item.tag, "History") == 0 || strcmp(item.tag, "Headline") == 0)) {
			status = read_text(in, &item);
		} else if (item.type == ')') {
			status = nb_wire_fail(in, "a set ends at byte %" PRIu64 " that has not begun", item.at);
		} else if (item.type != '(' || strcmp(item.tag, "SnapShot") != 0) {
			status = nb_nemo_skip(in, item);
		} else {
			status = read_snapshot(in, &snapshot);
			if (!status && snapshot.has_particles)
				return finish(in, &snapshot) ? NB_ERROR : NB_FRAME;
		}
	}
	if (!status && got == 0 && in->nframe == 0)
		status = nb_wire_fail(in, "no snapshot with particles");
	return status || got < 0 ? NB_ERROR : NB_END;
}

static void close_file(struct nb_import *in)
{
	struct nemo_reader *reader = in->state;
	nb_frame_clear(&reader->said);
	nb_frame_clear(&reader->before);
}

const struct nb_format nb_format_nemo = {
	.name = "nemo",
	.about = "a NEMO snapshot",
	.suffixes = "nemo",
	.place = 5,
	.traits = NB_MANY_FRAMES | NB_ONLY_VALID | NB_FIXED_G | NB_LOSES_KICK | NB_HOLDS_SOFTENING,
	.G = 1,
	.recognises = nb_nemo_recognises,
	.import_size = sizeof(struct nemo_reader),
	.open = open_file,
	.next = next,
	.close = close_file,
	.begin = nb_nemo_begin,
	.frame = nb_nemo_frame,
	.holds = nb_nemo_holds,
};
