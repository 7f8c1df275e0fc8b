/* TIPSY binary, in both byte orders, standard form when written.  Records of kinds and rows that are not wanted are
 * passed over. */
#include "formats/exchange/tipsy/tipsy.h"
#include "formats/exchange/comoving.h"
#include "formats/exchange/rows.h"
#include "formats/exchange/subset.h"
#include "formats/exchange/wire.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_name[NB_TIPSY_KINDS] = {"gas", "dark", "star"};

/* ---- the header --------------------------------------------------------------------------------- */

struct header {
	int big, wide;
	size_t size; /* bytes */
	double time;
	uint32_t total, dim, count[NB_TIPSY_KINDS];
};

static uint64_t bytes_of(const struct header *header)
{
	uint64_t size = header->size;
	for (int k = 0; k < NB_TIPSY_KINDS; k++)
		size += header->count[k] * (uint64_t)nb_tipsy_record(k, header->wide);
	return size;
}

/* The order of bytes is the one in which the number of dimensions is 1 to 3. */
static int parse_header(const unsigned char *from, struct header *header)
{
	*header = (struct header){.size = NB_TIPSY_HEADER};
	for (header->big = 1; header->big >= 0; header->big--) {
		header->dim = nb_wire_u32(from + 12, header->big);
		if (header->dim < 1 || header->dim > 3)
			continue;
		header->time = nb_wire_f64(from, header->big);
		header->total = nb_wire_u32(from + 8, header->big);
		for (int k = 0; k < NB_TIPSY_KINDS; k++)
			header->count[k] = nb_wire_u32(from + 16 + 4 * k, header->big);
		return 1;
	}
	return 0;
}

static int is_sum(const struct header *header)
{
	return header->total == (uint64_t)header->count[0] + header->count[1] + header->count[2];
}

/* The length of the header and the width of positions with which a file has so many bytes.  Where 4 bytes follow a
 * short header that are 0, they are those of a long one, and the file has been cut: no body has mass 0 there. */
static int fits(struct header *header, const unsigned char *head, size_t n, uint64_t size)
{
	static const size_t length[] = {NB_TIPSY_HEADER, NB_TIPSY_SHORT_HEADER};
	const int is_long = n >= NB_TIPSY_HEADER && nb_wire_u32(head + NB_TIPSY_SHORT_HEADER, 0) == 0;
	static const int widths[] = {0, NB_TIPSY_WIDE_POS, NB_TIPSY_WIDE_POS | NB_TIPSY_WIDE_VEL};
	for (int w = 0; w < 3; w++)
		for (int k = 0; k < (is_long ? 1 : 2); k++) {
			header->wide = widths[w];
			header->size = length[k];
			if (bytes_of(header) == size)
				return 1;
		}
	header->wide = 0;
	header->size = NB_TIPSY_HEADER;
	return 0;
}

/* How little n numbers look like those of one kind: the mean deviation of their binary exponents from the mean, and
 * much for each that is no number or denormal.  What is read with the wrong width has any exponent. */
static double strangeness(size_t n, const double *x, double least)
{
	double sum = 0, mean = 0, strange = 0;
	size_t some = 0;
	for (size_t i = 0; i < n; i++)
		if (isfinite(x[i]) && fabs(x[i]) >= least) {
			mean += ilogb(x[i]);
			some++;
		} else {
			strange += x[i] != 0 ? 1000 : 0;
		}
	mean /= some ? (double)some : 1;
	for (size_t i = 0; i < n; i++)
		sum += isfinite(x[i]) && fabs(x[i]) >= least ? fabs(ilogb(x[i]) - mean) : 0;
	return some ? (sum + strange) / (double)some : strange;
}

/* Records with positions in f8 are as long as those with velocities in f8: the numbers tell.  header->wide; a warning
 * if they do not.  NB_EINVAL after a read error. */
static int find_width(struct nb_import *in, struct header *header)
{
	enum { MOST = 512 };
	static const int widths[] = {NB_TIPSY_WIDE_POS, NB_TIPSY_WIDE_VEL};
	const unsigned char *from;
	double strange[2] = {0, 0}, x[3 * MOST];
	int zeros = 1;
	const size_t have = nb_wire_look(in, header->size + MOST * nb_tipsy_record(0, NB_TIPSY_WIDE_POS), &from);
	if (have == SIZE_MAX)
		return NB_EINVAL;
	for (int w = 0; w < 2; w++)
		for (int vel = 0; vel < 2; vel++) {
			const int f8 = vel == w; /* positions are, or velocities */
			size_t n = 0, at = header->size + 4 + (vel ? w == 0 ? 24 : 12 : 0);
			for (int k = 0; k < NB_TIPSY_KINDS; k++)
				for (uint32_t i = 0; i < header->count[k] && n < MOST && at + 24 <= have; i++, n++) {
					if (f8)
						nb_wire_order(3, sizeof(double), from + at, header->big, &x[3 * n]);
					else
						nb_wire_widen(3, from + at, header->big, &x[3 * n]);
					at += nb_tipsy_record(k, widths[w]);
				}
			for (size_t i = 0; i < 3 * n; i++)
				zeros &= x[i] == 0;
			strange[w] += strangeness(3 * n, x, f8 ? DBL_MIN : FLT_MIN);
		}
	const int velocities = strange[1] < strange[0];
	header->wide = widths[velocities];
	if (!zeros && !(strange[velocities] < strange[!velocities] / 2))
		snprintf(in->warning, sizeof in->warning,
			"the size of %s fits positions in f8, and velocities in f8, and so do the numbers: %s are "
			"taken to be",
			nb_import_tail(in), velocities ? "velocities" : "positions");
	return NB_OK;
}

static int recognises(const unsigned char *head, size_t n, uint64_t size)
{
	struct header header;
	if (n < NB_TIPSY_SHORT_HEADER || !parse_header(head, &header) || !is_sum(&header) || !isfinite(header.time))
		return 0;
	if (size && fits(&header, head, n, size))
		return 1;
	/* a pipe, or a file that has been cut */
	return header.total > 0 && n >= NB_TIPSY_HEADER && nb_wire_u32(head + NB_TIPSY_SHORT_HEADER, 0) == 0;
}

static int read_header(struct nb_import *in, struct header *header)
{
	const unsigned char *from;
	const size_t have = nb_wire_look(in, NB_TIPSY_HEADER, &from);
	if (have == SIZE_MAX)
		return NB_EINVAL;
	if (have < NB_TIPSY_SHORT_HEADER)
		return nb_wire_fail(
			in, "the file ends at byte %zu, in the header, which has %d", have, NB_TIPSY_HEADER);
	if (!parse_header(from, header))
		return nb_wire_fail(in, "this is no TIPSY file (%" PRIu32 " or %" PRIu32 " dimensions at byte 12)",
			nb_wire_u32(from + 12, 0), nb_wire_u32(from + 12, 1));
	const uint32_t *count = header->count;
	if (!is_sum(header))
		return nb_wire_fail(in,
			"the header says %" PRIu32 " bodies, but %" PRIu32 " gas, %" PRIu32 " dark and %" PRIu32
			" star",
			header->total, count[0], count[1], count[2]);
	if (!isfinite(header->time))
		return nb_wire_fail(in, "the time in the header, at byte 0, is not finite");
	if (header->dim == 1)
		return nb_wire_fail(in, "bodies in 1 dimension (want 2 or 3)");
	const uint64_t size = have < NB_TIPSY_HEADER ? have : nb_wire_size(in);
	if (size != UINT64_MAX && !fits(header, from, have, size))
		return nb_wire_fail(in,
			"%" PRIu64 " bytes, but its header says %" PRIu32 " gas, %" PRIu32 " dark and %" PRIu32
			" star bodies, which are %" PRIu64,
			size, count[0], count[1], count[2], bytes_of(header));
	if (header->wide == NB_TIPSY_WIDE_POS && find_width(in, header))
		return NB_EINVAL;
	nb_bytes_pass(in->bytes, header->size < have ? header->size : have);
	return NB_OK;
}

/* ---- records ------------------------------------------------------------------------------------ */

enum { C_MASS, C_POS, C_VEL, C_TAIL }; /* columns of rows, and those of the tails that there are */

struct tipsy_reader {
	int done;
};

/* What has been read of the bodies. */
struct table {
	struct nb_rows rows;
	int column[NB_TIPSY_NTAIL]; /* of a tail in rows, or -1 */
	int has_pot;		    /* some potential was not 0; before, none is stored */
};

/* Bodies of a kind that are wanted, numbered from its first one: first, first + step ... */
struct part {
	uint64_t first, step, count;
};

/* Potentials that nobody has computed take no memory. */
static int begins_pot(struct table *table, const unsigned char *at, size_t stride, size_t count)
{
	uint32_t any = 0;
	for (size_t i = 0; i < count; i++)
		any |= nb_wire_u32(at + i * stride, 0);
	if (any && !table->has_pot)
		memset(nb_rows_at(&table->rows, (size_t)table->column[NB_TIPSY_POT], 0), 0,
			table->rows.n * sizeof(double));
	table->has_pot |= any != 0;
	return table->has_pot;
}

/* Each column is one loop over records that are in the cache, one every stride bytes. */
static inline __attribute__((always_inline)) void take_records(
	struct table *table, int kind, int wide, int big, size_t stride, size_t count, const unsigned char *from)
{
	const struct nb_rows *rows = &table->rows;
	const int wide_pos = wide & NB_TIPSY_WIDE_POS, wide_vel = wide & NB_TIPSY_WIDE_VEL;
	const size_t vel_at = wide_pos ? 28 : 16, tail_at = vel_at + (wide_vel ? 24 : 12);
	double *mass = nb_rows_at(rows, C_MASS, rows->n);
	double *pos = nb_rows_at(rows, C_POS, rows->n), *vel = nb_rows_at(rows, C_VEL, rows->n);
	for (size_t i = 0; i < count; i++) {
		const unsigned char *record = from + i * stride;
		nb_wire_widen(1, record, big, &mass[i]);
		if (wide_pos)
			nb_wire_order(3, sizeof(double), record + 4, big, &pos[3 * i]);
		else
			nb_wire_widen(3, record + 4, big, &pos[3 * i]);
		if (wide_vel)
			nb_wire_order(3, sizeof(double), record + vel_at, big, &vel[3 * i]);
		else
			nb_wire_widen(3, record + vel_at, big, &vel[3 * i]);
	}
	for (int t = 0; t < NB_TIPSY_NTAIL; t++) {
		const int column = table->column[t], place = nb_tipsy_place[kind][t];
		const unsigned char *at = from + tail_at + 4 * (place < 0 ? 0 : place);
		if (column < 0 || (t == NB_TIPSY_POT && !begins_pot(table, at, stride, count)))
			continue;
		void *to = nb_rows_at(rows, (size_t)column, rows->n);
		if (place < 0) /* an f4, as all kinds have the others */
			for (size_t i = 0; i < count; i++)
				((float *)to)[i] = NAN;
		else if (rows->column[column].rowsize == sizeof(double))
			for (size_t i = 0; i < count; i++)
				nb_wire_widen(1, at + i * stride, big, (double *)to + i);
		else
			for (size_t i = 0; i < count; i++)
				((uint32_t *)to)[i] = nb_wire_u32(at + i * stride, big);
	}
}

static void take(const struct header *header, struct table *table, int kind, size_t stride, size_t count,
	const unsigned char *from)
{
	if (header->wide)
		take_records(table, kind, header->wide, header->big, stride, count, from);
	else if (header->big)
		take_records(table, kind, 0, 1, stride, count, from);
	else
		take_records(table, kind, 0, 0, stride, count, from);
}

/* The wanted records of a kind; goes on behind all of them. */
static int read_records(
	struct nb_import *in, const struct header *header, struct table *table, int kind, const struct part *part)
{
	const size_t size = nb_tipsy_record(kind, header->wide);
	struct nb_rows *rows = &table->rows;
	char what[40];
	uint64_t at = 0; /* records that have been passed */
	snprintf(what, sizeof what, "the %s bodies", kind_name[kind]);
	for (uint64_t k = 0; k < part->count;) {
		const uint64_t most = part->step > NB_BLOCK / size ? 1 : (NB_BLOCK / size - 1) / part->step + 1,
			       begin = part->first + k * part->step;
		if (nb_rows_reserve(rows, 1))
			return NB_ENOMEM;
		size_t n = rows->capacity - rows->n < most ? rows->capacity - rows->n : (size_t)most;
		n = part->count - k < n ? (size_t)(part->count - k) : n;
		const size_t span = (n - 1) * (size_t)part->step + 1;
		if (begin > at && nb_wire_skip(in, (begin - at) * size, what))
			return NB_EINVAL;
		const unsigned char *from = nb_wire_take(in, span * size, what);
		if (!from)
			return NB_EINVAL;
		take(header, table, kind, (size_t)part->step * size, n, from);
		rows->n += n;
		k += n;
		at = begin + span;
	}
	return at < header->count[kind] ? nb_wire_skip(in, (header->count[kind] - at) * size, what) : NB_OK;
}

/* Nothing may follow.  Only a pipe comes so far with more, since the size of a file has been looked at. */
static int require_end(struct nb_import *in)
{
	const unsigned char *next;
	const size_t have = nb_wire_look(in, 1, &next);
	if (have == SIZE_MAX)
		return NB_EINVAL;
	return have ? nb_wire_fail(in,
			      "more bytes behind the last body, at byte %" PRIu64
			      " (positions in f8 and headers of 28 bytes can only be read from a FILE)",
			      in->bytes->at)
		    : NB_OK;
}

/* ---- the frame ---------------------------------------------------------------------------------- */

/* Columns for what records of the kinds that there are have. */
static int add_rows(const struct header *header, struct table *table)
{
	struct nb_rows *rows = &table->rows;
	static const size_t rowsize[] = {sizeof(double), 3 * sizeof(double), 3 * sizeof(double)};
	for (size_t c = 0; c < C_TAIL; c++)
		if (nb_rows_add(rows, rowsize[c]))
			return NB_ENOMEM;
	for (int t = 0; t < NB_TIPSY_NTAIL; t++) {
		int present = t == NB_TIPSY_EPS || t == NB_TIPSY_POT;
		for (int k = 0; k < NB_TIPSY_KINDS; k++)
			present |= header->count[k] > 0 && nb_tipsy_place[k][t] >= 0;
		table->column[t] = present ? (int)rows->ncolumn : -1;
		if (present && nb_rows_add(rows, nb_field_find(nb_tipsy_name[t]) ? sizeof(double) : sizeof(float)))
			return NB_ENOMEM;
	}
	return NB_OK;
}

static int is_zero(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (x[i] != 0)
			return 0;
	return 1;
}

static int add_species(const struct header *header, const struct part *part, struct nb_frame *frame)
{
	uint64_t *id = nb_column_write(nb_frame_add_field(frame, NB_ID, NULL, 0), &nb_space_host, NB_WIRE), begin = 0;
	struct nb_column *kinds = id ? nb_frame_add_field(frame, NB_SPECIES, NULL, 0) : NULL;
	unsigned char *species = nb_column_write(kinds, &nb_space_host, NB_WIRE);
	if (!species)
		return NB_ENOMEM;
	for (int k = 0; k < NB_TIPSY_KINDS; begin += header->count[k++]) {
		for (uint64_t i = 0; i < part[k].count; i++)
			*id++ = begin + part[k].first + i * part[k].step;
		memset(species, nb_tipsy_type[k], part[k].count);
		species += part[k].count;
	}
	return NB_OK;
}

static int make_frame(const struct header *header, const struct part *part, struct table *table, int keeps_pot,
	struct nb_frame *frame)
{
	struct nb_rows *rows = &table->rows;
	const int *column = table->column;
	frame->rows[NB_PARTICLE] = rows->n;
	if (nb_frame_set_attribute_f64(frame, "time", header->time) ||
		nb_frame_set_attribute(frame, "dim", header->dim == 2 ? "2" : "3") ||
		nb_frame_set_attribute(frame, NB_TYPES, "gadget") ||
		((header->wide & NB_TIPSY_WIDE_POS) && nb_frame_set_attribute(frame, "tipsy_positions", "f8")))
		return NB_ENOMEM;
	if (add_species(header, part, frame))
		return NB_ENOMEM;
	static const enum nb_field field[] = {NB_MASS, NB_POS, NB_VEL};
	for (size_t c = 0; c < C_TAIL; c++) {
		struct nb_column *to = nb_frame_add_field(frame, field[c], NULL, 0);
		if (!to)
			return NB_ENOMEM;
		nb_rows_give(rows, c, to);
	}
	for (int t = 0; t < NB_TIPSY_NTAIL; t++) {
		if (column[t] < 0)
			continue;
		const struct nb_field_info *info = nb_field_find(nb_tipsy_name[t]);
		if (t == NB_TIPSY_POT &&
			(!keeps_pot || !table->has_pot || is_zero(nb_rows_at(rows, (size_t)column[t], 0), rows->n)))
			continue; /* nobody has computed them, or not for these bodies alone */
		struct nb_column *to = info ? nb_frame_add_field(frame, (enum nb_field)(info - nb_field_info), NULL, 0)
					    : nb_frame_add(frame, nb_tipsy_name[t], NB_PARTICLE, "<f4", 1, "", 0);
		if (!to)
			return NB_ENOMEM;
		nb_rows_give(rows, (size_t)column[t], to);
	}
	return NB_OK;
}

/* dim is 2: nothing may stand out of the plane. */
static int require_flat(struct nb_import *in, const struct nb_rows *rows)
{
	const double *pos = nb_rows_at(rows, C_POS, 0), *vel = nb_rows_at(rows, C_VEL, 0);
	for (size_t i = 0; i < rows->n; i++)
		if (pos[3 * i + 2] != 0 || vel[3 * i + 2] != 0)
			return nb_wire_fail(in, "2 dimensions, but body %zu has z = %g and vz = %g", i, pos[3 * i + 2],
				vel[3 * i + 2]);
	return NB_OK;
}

/* The wanted bodies of each kind; how many there are. */
static uint64_t choose(const struct nb_subset *subset, const struct header *header, struct part *part)
{
	uint64_t begin = 0, all = 0;
	for (int k = 0; k < NB_TIPSY_KINDS; k++) {
		const uint64_t end = begin + header->count[k];
		uint64_t first = begin, step = 1;
		const uint64_t count = nb_subset_species(subset, nb_tipsy_type[k])
					       ? nb_subset_rows(subset, begin, end, &first, &step)
					       : 0;
		part[k] = (struct part){.first = first - begin, .step = step, .count = count};
		all += count;
		begin = end;
	}
	return all;
}

/* The frame becomes a cosmological one, as option --omega0 of nb-convert asks. */
static int make_universe(struct nb_import *in, struct nb_frame *frame)
{
	size_t row;
	const int status = nb_comoving_read_tipsy(frame, in->omega0, &row);
	if (status != NB_EINVAL)
		return status;
	if (row == SIZE_MAX)
		return nb_wire_fail(
			in, "the time in the header, at byte 0, is no scale factor > 0, which '--omega0' needs");
	return nb_wire_fail(in,
		"body %zu is not in a box of edge 1 around 0, nor beside it, as '--omega0' takes bodies of PKDGRAV and "
		"ChaNGa to be",
		row);
}

static int read_file(struct nb_import *in, struct nb_frame *frame)
{
	struct header header;
	struct part part[NB_TIPSY_KINDS];
	struct table table = {0};
	struct nb_rows *rows = &table.rows;
	enum { UNPROVED = 1 << 16 }; /* rows of a pipe that may end any time: more as they come */
	nb_rows_init(rows);
	int status = read_header(in, &header);
	if (status)
		return status;
	const uint64_t n = choose(&in->subset, &header, part);
	rows->capacity = nb_wire_size(in) != UINT64_MAX || n < UNPROVED ? (size_t)n + 1 : UNPROVED;
	status = add_rows(&header, &table);
	for (int k = 0; k < NB_TIPSY_KINDS && !status; k++)
		status = read_records(in, &header, &table, k, &part[k]);
	if (!status)
		status = require_end(in);
	if (!status && header.dim == 2)
		status = require_flat(in, rows);
	if (!status)
		status = make_frame(&header, part, &table, n == header.total || in->subset.keep_derived, frame);
	if (!status && in->path)
		status = nb_tipsy_read_arrays(in, frame, header.big, header.total);
	if (!status && in->omega0 > 0)
		status = make_universe(in, frame);
	nb_rows_clear(rows);
	in->selected = NB_SELECTED_SPECIES;
	return status;
}

static int open_file(struct nb_import *in)
{
	(void)in; /* it is read at once */
	return NB_OK;
}

static enum nb_answer next(struct nb_import *in, struct nb_frame *frame)
{
	struct tipsy_reader *reader = in->state;
	if (reader->done)
		return NB_END;
	reader->done = 1;
	return read_file(in, frame) ? NB_ERROR : NB_FRAME;
}

static void close_file(struct nb_import *in)
{
	(void)in;
}

const struct nb_format nb_format_tipsy = {
	.name = "tipsy",
	.about = "a TIPSY file",
	.suffixes = "tipsy",
	.place = 4,
	.traits = NB_ONLY_VALID | NB_FIXED_G | NB_LOSES_KICK | NB_HOLDS_SOFTENING | NB_OWN_UNIVERSE,
	.needs = NB_NEED(NB_VEL) | NB_NEED(NB_MASS),
	.G = 1,
	.recognises = recognises,
	.import_size = sizeof(struct tipsy_reader),
	.open = open_file,
	.next = next,
	.close = close_file,
	.frame = nb_tipsy_frame,
	.holds = nb_tipsy_holds,
};
