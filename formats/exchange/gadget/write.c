/* Writing of GADGET's snapshots: bodies by type, f4 blocks, since most readers take no others. */
#include "common/mem.h"
#include "formats/exchange/comoving.h"
#include "formats/exchange/gadget/gadget.h"
#include "formats/exchange/output.h"
#include "formats/exchange/wire.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = 0x3f, CHUNK = 16384 }; /* CHUNK: rows that a thread converts at once */

/* A block is counted in an i4, so a file has room for so many bodies. */
#define MOST_BODIES ((uint64_t)INT32_MAX / 12 - NB_NTYPE)

/* A block that is written: a column, in one of two forms, or the ids, which are in neither. */
struct source {
	char label[5];
	const char *name;
	unsigned ncomp, mask; /* the types that have it */
	size_t size;	      /* bytes of a number in the file */
	const float *f4;
	const double *f8;
};

struct writer {
	struct nb_export *out;
	struct nb_output *to;
	int labels;
	int late; /* a number too large for f4 is found when it is written: a file that is not whole gets no name */
	struct nb_types types;
	double mass[NB_NTYPE]; /* of all bodies of a type, 0: they are in a block */
	const uint64_t *id;    /* NULL: bodies are numbered */
	struct source ids, source[NB_MAX_COLUMNS];
	size_t nsource;
	unsigned written, nfile;
	uint64_t from[NB_NTYPE], n[NB_NTYPE]; /* of each type: bodies before the present file, and in it */
};

static uint64_t row_of(const struct nb_types *types, uint64_t k)
{
	return types->row ? types->row[k] : k;
}

/* Number, in the order of types, of the first body of a type. */
static uint64_t begin_of(const struct nb_types *types, unsigned t)
{
	uint64_t begin = 0;
	for (unsigned s = 0; s < t; s++)
		begin += types->n[s];
	return begin;
}

/* ---- what is written ----------------------------------------------------------------------------- */

static int is_real(const struct nb_column *column)
{
	return strcmp(column->dtype, "<f4") == 0 || strcmp(column->dtype, "<f8") == 0;
}

/* Which block a column becomes, NB_GADGET_NBLOCK: none that is known. */
static unsigned block_of(const struct nb_column *column)
{
	unsigned b = 0;
	while (b < NB_GADGET_NBLOCK && strcmp(nb_gadget_blocks[b].column, column->name) != 0)
		b++;
	if (b == NB_GADGET_NBLOCK || column->table != NB_PARTICLE || column->ncomp != nb_gadget_blocks[b].ncomp)
		return NB_GADGET_NBLOCK;
	const int fits = nb_gadget_blocks[b].field == NB_NFIELD ? is_real(column) : nb_dtype_is_number(column->dtype);
	return fits ? b : NB_GADGET_NBLOCK;
}

/* Whether a column of another name becomes a label that is read as the same name. */
static int becomes_label(const struct nb_column *column)
{
	const char *name = column->name;
	const size_t n = strlen(name);
	if (column->table != NB_PARTICLE || !is_real(column) || (column->ncomp != 1 && column->ncomp != 3) || n > 4 ||
		nb_field_find(name) || strcmp(name, "info") == 0 || strcmp(name, "head") == 0)
		return 0;
	for (size_t k = 0; k < n; k++)
		if (!islower((unsigned char)name[k]) && !isdigit((unsigned char)name[k]) && name[k] != '_')
			return 0;
	for (unsigned b = 0; b < NB_GADGET_NBLOCK; b++)
		if (strncasecmp(nb_gadget_blocks[b].label, name, n) == 0 &&
			(n == 4 || nb_gadget_blocks[b].label[n] == ' '))
			return 0;
	return 1;
}

int nb_gadget_holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	const struct nb_gadget_export *state = out->state;
	const unsigned b = block_of(column);
	(void)frame;
	if (column == nb_frame_field(frame, NB_SPECIES))
		return state->species;
	return b < NB_GADGET_NBLOCK ? state->written >> b & 1 : state->labels && becomes_label(column);
}

/* NB_EINVAL if one of n numbers from number first on is too large for f4. */
static int refuse_large(struct writer *writer, const struct source *source, size_t first, size_t n)
{
	const size_t bad = nb_wire_beyond_f4(n, source->f8 + first);
	return bad == n ? NB_OK
			: nb_export_fail(writer->out, "column '%s' has %g, which is too large for a number of 4 bytes",
				  source->name, source->f8[first + bad]);
}

/* The contents of a column; NB_ENOMEM, or NB_EINVAL where a number is too large for f4. */
static int add_source(struct writer *writer, struct nb_column *column, const char *label, unsigned mask)
{
	struct source *source = &writer->source[writer->nsource];
	const int f4 = strcmp(column->dtype, "<f4") == 0;
	const void *data = nb_column_read(column, &nb_space_host, f4 ? NB_WIRE : NB_AS_F64);
	const size_t n = column->rows * column->ncomp;
	if (!data && n)
		return NB_ENOMEM;
	*source = (struct source){.ncomp = column->ncomp, .mask = mask, .size = sizeof(float)};
	snprintf(source->label, sizeof source->label, "%-4.4s", label);
	source->f4 = f4 ? data : NULL;
	source->f8 = f4 ? NULL : data;
	source->name = column->name;
	writer->nsource++;
	return f4 || writer->late ? NB_OK : refuse_large(writer, source, 0, n);
}

/* A type whose bodies have the same mass needs no block. */
static void find_masses(struct writer *writer, const double *mass)
{
	for (unsigned t = 0; t < NB_NTYPE; t++) {
		const uint64_t begin = begin_of(&writer->types, t), n = writer->types.n[t];
		const double first = n ? mass[row_of(&writer->types, begin)] : 0;
		int same = 1;
#pragma omp parallel for reduction(&& : same) if (n > CHUNK)
		for (uint64_t k = 0; k < n; k++)
			same = same && mass[row_of(&writer->types, begin + k)] == first;
		writer->mass[t] = same ? first : 0;
	}
}

/* The bodies of a file, as many of each type as of any other file. */
static void choose_bodies(struct writer *writer, unsigned k)
{
	for (unsigned t = 0; t < NB_NTYPE; t++) {
		const uint64_t n = writer->types.n[t];
		writer->from[t] = n * k / writer->nfile;
		writer->n[t] = n * (k + 1) / writer->nfile - writer->from[t];
	}
}

/* Which types have numbers in a column that others may lack: gas, or ALL; 0: none has. */
static int types_with_numbers(const struct writer *writer, struct nb_column *column, unsigned *mask)
{
	const double *x = nb_column_read(column, &nb_space_host, NB_AS_F64);
	const uint64_t gas = writer->types.n[0];
	uint64_t k = gas;
	if (!x && column->rows)
		return NB_ENOMEM;
	while (k < column->rows && isnan(x[row_of(&writer->types, k)]))
		k++;
	*mask = k < column->rows ? ALL : gas ? 0x01 : 0;
	return NB_OK;
}

/* Whether readers of a file without labels take the block for what it is. */
static int is_known_by_place(struct writer *writer, const struct nb_frame *frame, unsigned b, unsigned mask)
{
	double cooling;
	if (nb_frame_attribute_f64(frame, "flag_cooling", 0, &cooling))
		cooling = 0;

	for (unsigned k = 0; k < writer->nfile; k++) {
		choose_bodies(writer, k);
		const uint64_t rows = nb_gadget_count(writer->n, mask);
		const unsigned masses = nb_gadget_with_masses(writer->n, writer->mass);
		unsigned seen = writer->written; /* and there, in this file */
		if (!masses)
			seen &= ~(1u << NB_GADGET_MASSES);
		if (!writer->n[0])
			seen &= ~(31u << NB_GADGET_U);
		if (rows && nb_gadget_by_place(NB_GADGET_MASSES, seen, cooling != 0, writer->n, masses,
				    rows * nb_gadget_blocks[b].ncomp) != b)
			return 0;
	}
	return 1;
}

/* Whether the numbers of the types in the mask are such that readers believe the name. */
static int are_possible(const struct writer *writer, struct nb_column *column, unsigned b, unsigned mask)
{
	const double *x = nb_column_read(column, &nb_space_host, NB_AS_F64);
	const unsigned ncomp = column->ncomp;
	int possible = x ? 1 : 0;
	for (unsigned t = 0; t < NB_NTYPE && possible; t++) {
		const uint64_t begin = begin_of(&writer->types, t), n = mask >> t & 1 ? writer->types.n[t] : 0;
		for (uint64_t k = begin; k < begin + n && possible; k++) {
			const int here = nb_gadget_possible(
				(enum nb_gadget_number)b, ncomp, x + row_of(&writer->types, k) * ncomp);
			possible = here && here < possible ? possible : here;
		}
	}
	return possible == 2 || column->rows == 0;
}

/* All that becomes blocks. */
static int find_sources(struct writer *writer, const struct nb_frame *frame)
{
	int status = NB_OK;
	for (unsigned b = 0; b < NB_GADGET_NBLOCK && !status; b++) {
		struct nb_column *column = nb_frame_find(frame, nb_gadget_blocks[b].column);
		const int fits = column && block_of(column) == b;
		if (!fits && (b <= NB_GADGET_VEL || b == NB_GADGET_MASSES))
			return nb_export_fail(writer->out, "column '%s' has no %u numbers", nb_gadget_blocks[b].column,
				nb_gadget_blocks[b].ncomp);
		if (!fits || b == NB_GADGET_ID)
			continue;
		unsigned mask = ALL;
		if (nb_gadget_blocks[b].gas && types_with_numbers(writer, column, &mask))
			return NB_ENOMEM;
		if (b == NB_GADGET_MASSES)
			mask = nb_gadget_with_masses(writer->types.n, writer->mass);
		if (b > NB_GADGET_MASSES &&
			(!mask || (!writer->labels && (!is_known_by_place(writer, frame, b, mask) ||
							      !are_possible(writer, column, b, mask)))))
			continue;
		writer->written |= 1u << b;
		status = add_source(writer, column, nb_gadget_blocks[b].label, mask);
	}
	for (size_t c = 0; writer->labels && c < frame->ncolumn && !status; c++) {
		struct nb_column *column = &frame->column[c];
		char label[5] = "";
		if (block_of(column) < NB_GADGET_NBLOCK || !becomes_label(column))
			continue;
		for (size_t k = 0; column->name[k]; k++)
			label[k] = (char)toupper((unsigned char)column->name[k]);
		status = add_source(writer, column, label, ALL);
	}
	return status;
}

/* ---- numbers of the header ----------------------------------------------------------------------- */

static int put_attribute(
	struct writer *writer, const struct nb_frame *frame, const struct nb_gadget_attribute *a, unsigned char *header)
{
	double x;
	if (nb_frame_attribute_f64(frame, a->name, a->absent, &x) ||
		(a->kind == 'i' && (x != floor(x) || fabs(x) > INT32_MAX)) || (a->kind == 'f' && fabs(x) > FLT_MAX))
		return nb_export_fail(writer->out, "attribute %s=%s is not %s number", a->name,
			nb_frame_attribute(frame, a->name), a->kind == 'i' ? "a whole" : "a");
	const int32_t i = a->kind == 'i' ? (int32_t)x : 0;
	const float f = a->kind == 'f' ? (float)x : 0;
	if (a->kind == 'd')
		memcpy(header + a->at, &x, sizeof x);
	else if (a->kind == 'i')
		memcpy(header + a->at, &i, sizeof i);
	else
		memcpy(header + a->at, &f, sizeof f);
	return NB_OK;
}

/* The same in all files, except for the counts of bodies. */
static int make_header(struct writer *writer, const struct nb_frame *frame, unsigned char *header)
{
	const int32_t files = (int32_t)writer->nfile;
	double time;
	memset(header, 0, NB_GADGET_HEADER);
	if (nb_frame_attribute_f64(frame, "time", 0, &time))
		return nb_export_fail(
			writer->out, "attribute time=%s is not a number", nb_frame_attribute(frame, "time"));
	memcpy(header + NB_GADGET_TIME, &time, sizeof time);
	memcpy(header + NB_GADGET_MASS, writer->mass, sizeof writer->mass);
	memcpy(header + NB_GADGET_FILES, &files, sizeof files);
	for (unsigned t = 0; t < NB_NTYPE; t++) {
		const uint32_t low = (uint32_t)writer->types.n[t], high = (uint32_t)(writer->types.n[t] >> 32);
		memcpy(header + NB_GADGET_TOTAL + 4 * t, &low, sizeof low);
		memcpy(header + NB_GADGET_TOTAL_HIGH + 4 * t, &high, sizeof high);
	}
	for (size_t k = 0; k < nb_gadget_nattribute; k++)
		if (put_attribute(writer, frame, &nb_gadget_attributes[k], header))
			return NB_EINVAL;
	return NB_OK;
}

/* ---- files --------------------------------------------------------------------------------------- */

static int put_count(struct writer *writer, uint64_t size)
{
	const uint32_t count = (uint32_t)size;
	return nb_output_bytes(writer->to, &count, sizeof count);
}

/* What stands before a block of that size. */
static int begin_block(struct writer *writer, const char *label, uint64_t size)
{
	if (writer->labels && (put_count(writer, 8) || nb_output_bytes(writer->to, label, 4) ||
				      put_count(writer, size + 8) || put_count(writer, 8)))
		return -1;
	return put_count(writer, size);
}

/* n bodies from body `first` in the order of types on. */
static void convert(const struct writer *writer, const struct source *source, uint64_t first, size_t n, void *to)
{
	const unsigned ncomp = source->ncomp;
	const uint32_t *row = writer->types.row ? writer->types.row + first : NULL;
	float *f4 = to;
	uint32_t *u4 = to;
	uint64_t *u8 = to;
	if (source->f8 && !row)
		for (size_t i = 0; i < n * ncomp; i++)
			f4[i] = (float)source->f8[first * ncomp + i];
	else if (source->f8)
		for (size_t i = 0; i < n; i++)
			for (unsigned c = 0; c < ncomp; c++)
				f4[i * ncomp + c] = (float)source->f8[(size_t)row[i] * ncomp + c];
	else if (source->f4)
		for (size_t i = 0; i < n; i++)
			memcpy(f4 + i * ncomp, source->f4 + (size_t)row[i] * ncomp, ncomp * sizeof *f4);
	else
		for (size_t i = 0; i < n; i++) {
			const uint64_t k = row ? row[i] : first + i, id = writer->id ? writer->id[k] : k;
			if (source->size == sizeof *u4)
				u4[i] = (uint32_t)id;
			else
				u8[i] = id;
		}
}

/* One piece of put_rows in its turn; NB_OK, an error, or -1. */
static int put_piece(struct writer *writer, const struct source *source, uint64_t first, size_t n, const void *piece)
{
	if (!piece)
		return NB_ENOMEM;
	if (writer->late && source->f8 && refuse_large(writer, source, first * source->ncomp, n * source->ncomp))
		return NB_EINVAL;
	return nb_output_bytes(writer->to, piece, n * source->ncomp * source->size);
}

/* Bodies k to k + n in the order of types, which threads convert and which go out in order; NB_OK, an error, or -1. */
static int put_rows(struct writer *writer, const struct source *source, uint64_t k, uint64_t n)
{
	const size_t rowsize = source->ncomp * source->size;
	int status = NB_OK, error = 0;
	if (!writer->types.row && source->f4)
		return nb_output_bytes(writer->to, source->f4 + k * source->ncomp, n * rowsize);
#pragma omp parallel if (n > CHUNK)
	{
		void *piece = nb_alloc(CHUNK, rowsize);
#pragma omp for schedule(dynamic) ordered
		for (uint64_t at = 0; at < n; at += CHUNK) {
			const size_t rows = n - at < CHUNK ? (size_t)(n - at) : CHUNK;
			if (piece &&
				!__atomic_load_n(&status, __ATOMIC_RELAXED)) /* once it has failed nobody wants more */
				convert(writer, source, k + at, rows, piece);
#pragma omp ordered
			if (!status) {
				const int put = put_piece(writer, source, k + at, rows, piece);
				error = errno;
				__atomic_store_n(&status, put, __ATOMIC_RELAXED);
			}
		}
		nb_free(piece);
	}
	errno = error; /* that of the thread that failed */
	return status;
}

static int put_source(struct writer *writer, const struct source *source)
{
	const uint64_t size = nb_gadget_count(writer->n, source->mask) * source->ncomp * source->size;
	if (size == 0 && source->mask != ALL)
		return 0;
	if (begin_block(writer, source->label, size))
		return -1;
	int status = NB_OK;
	for (unsigned t = 0; t < NB_NTYPE && !status; t++)
		if (source->mask >> t & 1)
			status = put_rows(writer, source, begin_of(&writer->types, t) + writer->from[t], writer->n[t]);
	return status ? status : put_count(writer, size);
}

/* File k. */
static int put_file(struct writer *writer, unsigned k, unsigned char *header)
{
	choose_bodies(writer, k);
	for (unsigned t = 0; t < NB_NTYPE; t++) {
		const uint32_t n = (uint32_t)writer->n[t];
		memcpy(header + NB_GADGET_N + 4 * t, &n, sizeof n);
	}
	if (begin_block(writer, "HEAD", NB_GADGET_HEADER) || nb_output_bytes(writer->to, header, NB_GADGET_HEADER) ||
		put_count(writer, NB_GADGET_HEADER))
		return -1;
	int status = NB_OK;
	for (size_t s = 0; s < writer->nsource && !status; s++) {
		status = put_source(writer, &writer->source[s]);
		if (s == NB_GADGET_VEL && !status)
			status = put_source(writer, &writer->ids);
	}
	return status;
}

static int put_files(struct writer *writer, unsigned char *header)
{
	struct nb_export *out = writer->out;
	writer->to = out->output;
	if (writer->nfile == 1)
		return put_file(writer, 0, header);
	out->only_beside = 1;
	for (unsigned k = 0; k < writer->nfile; k++) {
		char *path = NULL;
		if (asprintf(&path, "%s.%u", out->path, k) < 0)
			return NB_ENOMEM;
		writer->to = nb_export_beside(out, path);
		free(path);
		const int status = writer->to ? put_file(writer, k, header) : NB_ENOMEM;
		if (status)
			return status;
	}
	return NB_OK;
}

/* ---- the frame ----------------------------------------------------------------------------------- */

static int find_files(struct writer *writer, uint64_t n)
{
	const uint64_t least = n ? (n - 1) / MOST_BODIES + 1 : 1;
	writer->nfile = writer->out->files > least ? writer->out->files : (unsigned)least;
	if (writer->nfile > 1 && (!writer->out->path || !nb_whole_is_named(writer->out->path)))
		return nb_export_fail(writer->out,
			"%" PRIu64 " bodies in %u files, which cannot stand beside a pipe or a device (give '-o FILE')",
			n, writer->nfile);
	return NB_OK;
}

static int find_ids(struct writer *writer, const struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_field(frame, NB_ID);
	const uint64_t n = frame->rows[NB_PARTICLE];
	uint64_t all = 0;
	if (column) {
		writer->id = nb_column_read(column, &nb_space_host, NB_AS_U64);
		if (!writer->id && n)
			return nb_export_fail(writer->out, "column 'id' has no whole numbers");
		writer->written |= 1u << NB_GADGET_ID;
	}
#pragma omp parallel for reduction(| : all) if (n > CHUNK)
	for (uint64_t i = 0; i < (column ? n : 0); i++)
		all |= writer->id[i];
	writer->ids = (struct source){.ncomp = 1, .mask = ALL, .size = all > UINT32_MAX ? 8 : 4};
	strcpy(writer->ids.label, nb_gadget_blocks[NB_GADGET_ID].label);
	return NB_OK;
}

static int prepare(struct writer *writer, const struct nb_frame *frame, unsigned char *header)
{
	struct nb_column *column = nb_frame_field(frame, NB_MASS);
	const double *mass = nb_column_read(column, &nb_space_host, NB_AS_F64);
	int status = mass || column->rows == 0 ? nb_types_find(writer->out, frame, &writer->types) : NB_ENOMEM;
	if (!status)
		status = find_files(writer, frame->rows[NB_PARTICLE]);
	writer->late = writer->out->path && !writer->types.row;
	if (!status)
		find_masses(writer, mass);
	if (!status)
		status = find_ids(writer, frame);
	if (!status)
		status = find_sources(writer, frame);
	return status ? status : make_header(writer, frame, header);
}

static int write_snapshot(struct nb_export *out, const struct nb_frame *frame, int labels)
{
	struct nb_gadget_export *state = out->state;
	unsigned char header[NB_GADGET_HEADER];
	struct writer *writer = calloc(1, sizeof *writer);
	if (!writer)
		return NB_ENOMEM;
	writer->out = out;
	writer->labels = labels;
	int status = prepare(writer, frame, header);
	if (!status)
		status = put_files(writer, header);
	*state = (struct nb_gadget_export){
		.written = writer->written, .labels = labels, .species = writer->types.from_species};
	nb_types_clear(&writer->types);
	free(writer);
	return status;
}

static int write_frame(struct nb_export *out, const struct nb_frame *frame, int labels)
{
	struct nb_frame snapshot;
	nb_frame_init(&snapshot);
	int status = nb_comoving_write(out, frame, &snapshot);
	if (nb_comoving_scale_factor(frame) > 0) { /* of which readers expect those of physical lengths */
		nb_frame_drop_field(&snapshot, NB_ACC);
		nb_frame_drop_field(&snapshot, NB_POT);
	}
	if (!status)
		status = write_snapshot(out, &snapshot, labels);
	nb_frame_clear(&snapshot);
	return status;
}

int nb_gadget_write(struct nb_export *out, const struct nb_frame *frame)
{
	return write_frame(out, frame, 0);
}

int nb_gadget_write_labels(struct nb_export *out, const struct nb_frame *frame)
{
	return write_frame(out, frame, 1);
}
