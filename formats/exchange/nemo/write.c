/* Writing snapshots of NEMO, little-endian; and the tags of columns. */
#include "common/mem.h"
#include "formats/exchange/nemo/nemo.h"
#include "formats/exchange/output.h"

#include <inttypes.h>
#include <string.h>

const char *const nb_nemo_tag[][2] = {{"mass", "Mass"}, {"pos", "Position"}, {"vel", "Velocity"}, {"pot", "Potential"},
	{"acc", "Acceleration"}, {"eps", "Eps"}, {"density", "Density"}, {"aux", "Aux"},
	{"smoothing_length", "SmoothLength"}, {"internal_energy", "Uinternal"}, {NULL, NULL}};

/* ---- items -------------------------------------------------------------------------------------- */

static int put_text(struct nb_output *out, const char *text)
{
	return nb_output_bytes(out, text, strlen(text) + 1);
}

static int put_magic(struct nb_output *out, unsigned magic, char type)
{
	const unsigned char bytes[] = {(unsigned char)magic, (unsigned char)(magic >> 8), (unsigned char)type, '\0'};
	return nb_output_bytes(out, bytes, sizeof bytes);
}

static int put_set(struct nb_output *out, const char *tag)
{
	return put_magic(out, NB_NEMO_ONE, '(') || put_text(out, tag);
}

static int put_end(struct nb_output *out)
{
	return put_magic(out, NB_NEMO_ONE, ')');
}

static int put_int(struct nb_output *out, const char *tag, uint64_t value)
{
	return put_magic(out, NB_NEMO_ONE, 'i') || put_text(out, tag) || nb_output_bytes(out, &value, 4);
}

static int put_double(struct nb_output *out, const char *tag, double value)
{
	return put_magic(out, NB_NEMO_ONE, 'd') || put_text(out, tag) || nb_output_bytes(out, &value, sizeof value);
}

/* The head of an array of n rows of a numbers, or of a x b. */
static int put_head(struct nb_output *out, char type, const char *tag, uint64_t n, uint32_t a, uint32_t b)
{
	uint32_t dim[4] = {(uint32_t)n}, used = 1;
	if (a > 1)
		dim[used++] = a;
	if (b > 1)
		dim[used++] = b;
	return put_magic(out, NB_NEMO_ARRAY, type) || put_text(out, tag) || nb_output_bytes(out, dim, 4 * (used + 1));
}

int nb_nemo_begin(struct nb_export *out, const struct nb_frame *first)
{
	for (size_t k = 0; k < first->nattribute; k++) {
		const char *key = first->attribute[k].key, *text = nb_frame_attribute_text(first, k);
		const char *tag = strcmp(key, "history") == 0	 ? "History"
				  : strcmp(key, "headline") == 0 ? "Headline"
								 : NULL;
		if (tag && (put_head(out->output, 'c', tag, strlen(text) + 1, 1, 1) || put_text(out->output, text)))
			return -1;
	}
	return NB_OK;
}

/* ---- columns ------------------------------------------------------------------------------------ */

/* The type of an item for a column's; 0: there is none. */
static char type_of(const struct nb_column *column)
{
	static const char *const dtype[] = {"<f8", "<f4", "<i4", "<i8", "<i2", "|u1", "<f2"};
	static const char type[] = "dfilsbh";
	for (size_t k = 0; k < sizeof dtype / sizeof *dtype; k++)
		if (strcmp(column->dtype, dtype[k]) == 0)
			return type[k];
	return 0;
}

static const char *tag_of(const struct nb_column *column)
{
	for (size_t k = 0; nb_nemo_tag[k][0]; k++)
		if (strcmp(column->name, nb_nemo_tag[k][0]) == 0)
			return nb_nemo_tag[k][1];
	return strcmp(column->name, "nemo_key") == 0 ? "Key" : column->name;
}

/* 1 if the ids are 0, 1, 2 ..., which a reader gives them anyway; 0 if they fit into the keys of NEMO; else -1. */
static int kind_of_ids(struct nb_column *column)
{
	const uint64_t *id = nb_column_read(column, &nb_space_host, NB_AS_U64);
	int counts = 1;
	for (size_t i = 0; id && i < column->rows; i++) {
		if (id[i] > INT32_MAX)
			return -1;
		counts &= id[i] == i;
	}
	return id || column->rows == 0 ? counts : -1;
}

static int writes_ids(const struct nb_frame *frame)
{
	struct nb_column *id = nb_frame_field(frame, NB_ID);
	return id && kind_of_ids(id) == 0;
}

/* Whether a column would be read as another one that has its own tag. */
static int takes_a_tag(const struct nb_column *column)
{
	static const char *const other[] = {"PhaseSpace", "CoordSystem", "Key"};
	for (size_t k = 0; nb_nemo_tag[k][0]; k++)
		if (strcmp(column->name, nb_nemo_tag[k][1]) == 0)
			return 1;
	for (size_t k = 0; k < sizeof other / sizeof *other; k++)
		if (strcmp(column->name, other[k]) == 0)
			return 1;
	return 0;
}

int nb_nemo_holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	(void)out;
	if (takes_a_tag(column))
		return 0;
	if (column->field == NB_ID)
		return kind_of_ids(column) >= 0;
	if (strcmp(column->name, "nemo_key") == 0)
		return !writes_ids(frame) && strcmp(column->dtype, "<i4") == 0;
	return column->field == NB_KEY || type_of(column) != 0;
}

/* Positions and velocities in turn, as f8. */
static int put_phases(struct nb_output *out, const struct nb_frame *frame)
{
	enum { PART = 1 << 10 };
	const double *pos = nb_column_read(nb_frame_field(frame, NB_POS), &nb_space_host, NB_AS_F64);
	const double *vel = nb_column_read(nb_frame_field(frame, NB_VEL), &nb_space_host, NB_AS_F64);
	const size_t n = frame->rows[NB_PARTICLE];
	double *both = nb_alloc(PART, 6 * sizeof *both);
	int status = pos && vel && both ? NB_OK : NB_ENOMEM;
	if (!status && put_head(out, 'd', "PhaseSpace", n, 2, 3))
		status = -1;
	for (size_t i = 0; i < n && !status; i += PART) {
		const size_t part = n - i < PART ? n - i : PART;
		for (size_t k = 0; k < part; k++)
			for (size_t c = 0; c < 3; c++) {
				both[6 * k + c] = pos[3 * (i + k) + c];
				both[6 * k + 3 + c] = vel[3 * (i + k) + c];
			}
		status = nb_output_bytes(out, both, part * 6 * sizeof *both) ? -1 : NB_OK;
	}
	nb_free(both);
	return status;
}

static int put_column(struct nb_output *out, struct nb_column *column)
{
	const void *data = nb_column_read(column, &nb_space_host, NB_WIRE);
	if (!data)
		return NB_ENOMEM;
	return put_head(out, type_of(column), tag_of(column), column->rows, column->ncomp, 1) ||
			       nb_output_bytes(out, data, column->rows * column->rowsize)
		       ? -1
		       : NB_OK;
}

static int put_ids(struct nb_output *out, struct nb_column *column)
{
	const uint64_t *id = nb_column_read(column, &nb_space_host, NB_AS_U64);
	if (!id)
		return NB_ENOMEM;
	if (put_head(out, 'i', "Key", column->rows, 1, 1))
		return -1;
	for (size_t i = 0; i < column->rows; i++)
		if (nb_output_bytes(out, &(int32_t){(int32_t)id[i]}, 4))
			return -1;
	return NB_OK;
}

/* The softening of all bodies, if they have none of their own. */
static int put_softening(struct nb_export *out, const struct nb_frame *frame)
{
	double softening;
	if (nb_frame_attribute_f64(frame, "softening", 0, &softening))
		return nb_export_fail(
			out, "attribute softening='%s' is not a number", nb_frame_attribute(frame, "softening"));
	if (!nb_frame_attribute(frame, "softening") || nb_frame_field(frame, NB_EPS))
		return NB_OK;
	if (put_head(out->output, 'd', "Eps", frame->rows[NB_PARTICLE], 1, 1))
		return -1;
	for (uint64_t i = 0; i < frame->rows[NB_PARTICLE]; i++)
		if (nb_output_bytes(out->output, &softening, sizeof softening))
			return -1;
	return NB_OK;
}

static int put_particles(struct nb_export *out, const struct nb_frame *frame)
{
	const int together = strcmp(out->format->name, "nemo") == 0 && nb_frame_field(frame, NB_VEL);
	const int with_ids = writes_ids(frame);
	struct nb_output *to = out->output;
	int status = NB_OK;
	for (size_t c = 0; c < frame->ncolumn && !status; c++) {
		struct nb_column *column = &frame->column[c];
		if (column->table != NB_PARTICLE || column->field == NB_KEY)
			continue;
		if (column->field == NB_ID)
			status = with_ids ? put_ids(to, column) : NB_OK;
		else if (together && column->field == NB_POS)
			status = put_phases(to, frame);
		else if (!(together && column->field == NB_VEL) && nb_nemo_holds(out, frame, column))
			status = put_column(to, column);
	}
	return status ? status : put_softening(out, frame);
}

int nb_nemo_frame(struct nb_export *out, const struct nb_frame *frame)
{
	struct nb_output *to = out->output;
	const uint64_t n = frame->rows[NB_PARTICLE];
	double time;
	if (n > INT32_MAX)
		return nb_export_fail(out, "%" PRIu64 " bodies, but NEMO counts to %d", n, INT32_MAX);
	if (nb_frame_attribute_f64(frame, "time", 0, &time))
		return nb_export_fail(out, "attribute time='%s' is not a number", nb_frame_attribute(frame, "time"));
	if (put_set(to, "SnapShot") || put_set(to, "Parameters") || put_int(to, "Nobj", n) ||
		put_double(to, "Time", time) || put_end(to) || put_set(to, "Particles") ||
		put_int(to, "CoordSystem", NB_NEMO_CARTESIAN))
		return -1;
	const int status = n ? put_particles(out, frame) : NB_OK;
	if (status)
		return status;
	return put_end(to) || put_end(to) ? -1 : NB_OK;
}
