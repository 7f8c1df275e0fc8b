/* VTK's XML file of points (PolyData) for ParaView and VisIt: a head that says where everything is, then all arrays as
 * they are in memory, each with its number of bytes before it.  Attributes are arrays of one value (FieldData).
 *
 * A file holds one frame.  Where there are several, FILE.pvd lists files beside it with their times. */
#include "common/mem.h"
#include "formats/exchange/exchange.h"
#include "formats/exchange/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 1 << 13 };

struct vtp_writer {
	struct nb_output *file; /* of the frame, if it has one of its own */
	char *path;		/* of that */
	size_t stem;		/* length of the path without .pvd */
	int listed;		/* the head of the list is written */
};

/* ---- the head ----------------------------------------------------------------------------------- */

/* Text between quotes. */
static void put_escaped(FILE *to, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&': fputs("&amp;", to); break;
		case '<': fputs("&lt;", to); break;
		case '>': fputs("&gt;", to); break;
		case '"': fputs("&quot;", to); break;
		default: putc(*text, to);
		}
}

/* "Float64"; NULL: VTK has no such type. */
static const char *type_of(const struct nb_column *column)
{
	static const char *const type[][2] = {{"<f8", "Float64"}, {"<f4", "Float32"}, {"<i8", "Int64"},
		{"<u8", "UInt64"}, {"<i4", "Int32"}, {"<u4", "UInt32"}, {"<i2", "Int16"}, {"<u2", "UInt16"},
		{"|i1", "Int8"}, {"|u1", "UInt8"}, {"|b1", "UInt8"}};
	for (size_t k = 0; k < sizeof type / sizeof *type; k++)
		if (strcmp(column->dtype, type[k][0]) == 0)
			return type[k][1];
	return NULL;
}

static int holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	(void)out, (void)frame;
	return type_of(column) != NULL;
}

/* Arrays follow each other: at is where the next begins, behind its number of bytes. */
static void put_array(FILE *to, const char *type, const char *name, uint32_t ncomp, uint64_t bytes, uint64_t *at)
{
	fprintf(to, "<DataArray type=\"%s\" Name=\"", type);
	put_escaped(to, name);
	fprintf(to, "\" NumberOfComponents=\"%" PRIu32 "\" format=\"appended\" offset=\"%" PRIu64 "\"/>\n", ncomp, *at);
	*at += sizeof(uint64_t) + bytes;
}

static void put_number(FILE *to, const char *name, const char *text)
{
	fprintf(to, "<DataArray type=\"Float64\" Name=\"%s\" NumberOfTuples=\"1\" format=\"ascii\">%s</DataArray>\n",
		name, text);
}

/* Its characters, as numbers. */
static void put_text(FILE *to, const char *name, const char *text)
{
	fprintf(to, "<Array type=\"String\" Name=\"%s\" NumberOfTuples=\"1\" format=\"ascii\">", name);
	for (const char *c = text; *c; c++)
		fprintf(to, "%d ", (unsigned char)*c);
	fputs("0</Array>\n", to);
}

/* Of the lines of the history there is one array for each. */
static void put_attributes(FILE *to, const struct nb_frame *frame)
{
	char name[32];
	int line = 0;
	fputs("<FieldData>\n", to);
	const char *time = nb_frame_attribute(frame, "time");
	put_number(to, "TimeValue", time ? time : "0");
	for (size_t k = 0; k < frame->nattribute; k++) {
		const char *key = frame->attribute[k].key, *text = nb_frame_attribute_text(frame, k);
		double x;
		if (strcmp(key, "history") == 0) {
			snprintf(name, sizeof name, "history_%d", line++);
			put_text(to, name, text);
		} else if (nb_attribute_is_of_tree(key)) {
			continue;
		} else if (nb_frame_attribute_f64(frame, key, 0, &x) == NB_OK) {
			put_number(to, key, text);
		} else {
			put_text(to, key, text);
		}
	}
	fputs("</FieldData>\n", to);
}

static int is_data(const struct nb_column *column)
{
	return column->table == NB_PARTICLE && column->field != NB_POS && type_of(column);
}

static int is_narrow(const struct nb_column *pos)
{
	return strcmp(pos->dtype, "<f4") == 0;
}

/* Numbers of points up to here are i4, which are enough for as many bodies as ParaView can draw. */
static size_t index_size(uint64_t n)
{
	return n <= INT32_MAX ? sizeof(int32_t) : sizeof(int64_t);
}

/* All before the arrays; from malloc, NULL: out of memory. */
static char *head_of(const struct nb_frame *frame, size_t *size)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, size);
	if (!to)
		return NULL;
	const uint64_t n = frame->rows[NB_PARTICLE], index = n * index_size(n);
	const struct nb_column *pos = nb_frame_field(frame, NB_POS);
	const char *integer = index_size(n) == sizeof(int32_t) ? "Int32" : "Int64";
	uint64_t at = 0;
	fputs("<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" "
	      "header_type=\"UInt64\">\n<PolyData>\n",
		to);
	put_attributes(to, frame);
	fprintf(to,
		"<Piece NumberOfPoints=\"%" PRIu64 "\" NumberOfVerts=\"%" PRIu64
		"\" NumberOfLines=\"0\" NumberOfStrips=\"0\" NumberOfPolys=\"0\">\n<Points>\n",
		n, n);
	put_array(to, is_narrow(pos) ? "Float32" : "Float64", "Points", 3,
		3 * n * (is_narrow(pos) ? sizeof(float) : sizeof(double)), &at);
	fputs("</Points>\n<Verts>\n", to);
	put_array(to, integer, "connectivity", 1, index, &at);
	put_array(to, integer, "offsets", 1, index, &at);
	fputs("</Verts>\n<PointData>\n", to);
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		if (is_data(column))
			put_array(to, type_of(column), column->name, column->ncomp, n * column->rowsize, &at);
	}
	fputs("</PointData>\n</Piece>\n</PolyData>\n<AppendedData encoding=\"raw\">\n_", to);
	return nb_export_text(to, &text);
}

/* ---- a frame ------------------------------------------------------------------------------------ */

static int put_data(struct nb_output *out, struct nb_column *column, enum nb_form form, size_t rowsize)
{
	const uint64_t bytes = column->rows * rowsize;
	const void *data = nb_column_read(column, &nb_space_host, form);
	if (!data)
		return NB_ENOMEM;
	return nb_output_bytes(out, &bytes, sizeof bytes) || nb_output_bytes(out, data, bytes) ? -1 : NB_OK;
}

/* first, first + 1, ... */
static int put_indices(struct nb_output *out, uint64_t n, uint64_t first)
{
	const size_t size = index_size(n);
	const uint64_t bytes = n * size;
	int status = nb_output_bytes(out, &bytes, sizeof bytes);
	int64_t *part = nb_alloc(PART, sizeof *part);
	if (!part)
		return NB_ENOMEM;
	for (uint64_t i = 0; i < n && !status; i += PART) {
		const size_t count = n - i < PART ? (size_t)(n - i) : PART;
		for (size_t k = 0; k < count; k++)
			if (size == sizeof(int32_t))
				((int32_t *)part)[k] = (int32_t)(first + i + k);
			else
				part[k] = (int64_t)(first + i + k);
		status = nb_output_bytes(out, part, count * size);
	}
	nb_free(part);
	return status ? -1 : NB_OK;
}

static int put_frame(struct nb_output *out, const struct nb_frame *frame)
{
	struct nb_column *pos = nb_frame_field(frame, NB_POS);
	const uint64_t n = frame->rows[NB_PARTICLE];
	size_t size;
	char *head = head_of(frame, &size);
	int status = head ? NB_OK : NB_ENOMEM;
	if (!status && nb_output_bytes(out, head, size))
		status = -1;
	free(head);
	if (!status)
		status = put_data(out, pos, is_narrow(pos) ? NB_WIRE : NB_AS_F64,
			3 * (is_narrow(pos) ? sizeof(float) : sizeof(double)));
	if (!status)
		status = put_indices(out, n, 0);
	if (!status)
		status = put_indices(out, n, 1);
	for (size_t c = 0; c < frame->ncolumn && !status; c++)
		if (is_data(&frame->column[c]))
			status = put_data(out, &frame->column[c], NB_WIRE, frame->column[c].rowsize);
	if (!status && nb_output_text(out, "\n</AppendedData>\n</VTKFile>\n"))
		status = -1;
	return status;
}

/* ---- several frames ----------------------------------------------------------------------------- */

static int is_list(const char *path)
{
	const size_t length = path ? strlen(path) : 0;
	return length > 4 && strcmp(path + length - 4, ".pvd") == 0;
}

static int begin(struct nb_export *out, const struct nb_frame *first)
{
	(void)first;
	struct vtp_writer *writer = out->state;
	if (is_list(out->path)) {
		writer->stem = strlen(out->path) - 4;
		writer->path = malloc(strlen(out->path) + 32);
		return writer->path ? NB_OK : NB_ENOMEM;
	}
	return out->several ? nb_export_fail(out, "a .vtp file holds only one frame (choose it with '--frames K', or "
						  "write all with '-o FILE.pvd')")
			    : NB_OK;
}

/* The name of a file in the list: without its folder, which is that of the list. */
static int put_entry(struct nb_export *out, const struct nb_frame *frame)
{
	struct vtp_writer *writer = out->state;
	const char *slash = strrchr(writer->path, '/'), *time = nb_frame_attribute(frame, "time");
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	if (!to)
		return NB_ENOMEM;
	if (!writer->listed)
		fputs("<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" "
		      "byte_order=\"LittleEndian\">\n<Collection>\n",
			to);
	writer->listed = 1;
	fprintf(to, "<DataSet timestep=\"%s\" part=\"0\" file=\"", time ? time : "0");
	put_escaped(to, slash ? slash + 1 : writer->path);
	fputs("\"/>\n", to);
	if (!nb_export_text(to, &text))
		return NB_ENOMEM;
	const int status = nb_output_bytes(out->output, text, size) ? -1 : NB_OK;
	free(text);
	return status;
}

/* The file of one frame, which takes its name when it is complete. */
static int put_file(struct nb_export *out, const struct nb_frame *frame)
{
	struct vtp_writer *writer = out->state;
	sprintf(writer->path, "%.*s_%06" PRIu64 ".vtp", (int)writer->stem, out->path, out->nframe);
	writer->file = calloc(1, sizeof *writer->file);
	if (!writer->file || nb_output_open(writer->file, -1, writer->path))
		return NB_ENOMEM;
	int status = put_frame(writer->file, frame);
	if (!status)
		status = nb_output_close(writer->file);
	if (status == -1)
		return nb_export_fail(out, "write error: '%s': %s", writer->path, strerror(errno));
	if (!status) {
		free(writer->file);
		writer->file = NULL;
	}
	return status;
}

static int write_frame(struct nb_export *out, const struct nb_frame *frame)
{
	const struct vtp_writer *writer = out->state;
	const struct nb_column *pos = nb_frame_field(frame, NB_POS);
	double time;
	if (pos->ncomp != 3 || !nb_dtype_is_number(pos->dtype))
		return nb_export_fail(out, "'pos' is not three numbers");
	if (nb_frame_attribute_f64(frame, "time", 0, &time))
		return nb_export_fail(out, "attribute time='%s' is not a number", nb_frame_attribute(frame, "time"));
	if (!writer->path)
		return put_frame(out->output, frame);
	const int status = put_file(out, frame);
	return status ? status : put_entry(out, frame);
}

static int end(struct nb_export *out)
{
	const struct vtp_writer *writer = out->state;
	return writer->listed && nb_output_text(out->output, "</Collection>\n</VTKFile>\n") ? -1 : NB_OK;
}

static void release(struct nb_export *out)
{
	struct vtp_writer *writer = out->state;
	if (writer->file)
		nb_output_abandon(writer->file);
	free(writer->file);
	free(writer->path);
}

const struct nb_format nb_format_vtp = {
	.name = "vtp",
	.about = "a VTK file of points",
	.suffixes = "vtp pvd",
	.place = 102,
	.traits = NB_MANY_FRAMES,
	.G = 1,
	.export_size = sizeof(struct vtp_writer),
	.begin = begin,
	.frame = write_frame,
	.end = end,
	.release = release,
	.holds = holds,
};
