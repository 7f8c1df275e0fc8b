/* VTKHDF, the format of VTK 9.3 and ParaView 5.12 ("VTKHDF file format", docs.vtk.org, version 2.0): bodies as the
 * vertices of a PolyData, columns as its point data.  A run becomes a time series: the rows of all frames one after the
 * other, and offsets that say where those of a step begin; all steps use the same list of vertices.  Only written. */
#include "formats/exchange/exchange.h"
#include "formats/exchange/hdf5/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20, LISTS = 4, STEPS_AT_ONCE = 128, BLOCK = 4096 };

/* What a step has a number of: parts before it, parts, points before it and points. */
enum { PART_OFFSET, PARTS, POINT_OFFSET, POINTS, NNUMBER };

struct vtkhdf_writer {
	struct nb_h5_file file;
	struct nb_h5_node *number[NNUMBER], *value, *cell_offsets, *id_offsets;
	struct nb_h5_node *steps, *cells[LISTS], *ids[LISTS], *offsets[LISTS], *connectivity[LISTS];
	struct nb_h5_node *points;
	char pos_dtype[NB_DTYPE_SIZE + 1];
	struct column {
		char name[NB_NAME_SIZE + 1], dtype[NB_DTYPE_SIZE + 1];
		uint32_t ncomp;
		struct nb_h5_node *data, *offset;
	} * column;
	size_t ncolumn;
	uint64_t bodies, most; /* of all frames so far; of the largest */
	int reported;	       /* of columns that are left out */
};

static int holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	(void)out, (void)frame;
	return column->dtype[1] == 'i' || column->dtype[1] == 'u' || strcmp(column->dtype, "<f4") == 0 ||
	       strcmp(column->dtype, "<f8") == 0;
}

static void name_array(char to[NB_NAME_SIZE + 1], const struct nb_column *column)
{
	strcpy(to, column->name);
	for (char *at = to; *at; at++)
		if (*at == '/')
			*at = '_';
}

static int is_written(const struct nb_frame *frame, struct nb_column *column)
{
	return column->table == NB_PARTICLE && column->field != NB_POS && holds(NULL, frame, column);
}

/* Rows that are kept until they are written together: those of a frame, if they are not too many. */
static uint64_t chunk_of(const struct nb_export *out, uint64_t n, size_t rowsize)
{
	const uint64_t most = CHUNK / rowsize ? CHUNK / rowsize : 1;
	return !out->several ? 0 : n == 0 ? 1 : n < most ? n : most;
}

static void describe_steps(struct nb_export *out, struct nb_h5_node *root)
{
	struct vtkhdf_writer *w = out->state;
	struct nb_h5_file *file = &w->file;
	const uint64_t chunk = out->several ? STEPS_AT_ONCE : 0;
	struct nb_h5_node *steps = nb_h5_group(file, root, "Steps");
	w->steps = steps;
	w->value = nb_h5_dataset(file, steps, "Values", "<f8", 0, 1, chunk);
	w->number[PART_OFFSET] = nb_h5_dataset(file, steps, "PartOffsets", "<i8", 0, 1, chunk);
	w->number[PARTS] = nb_h5_dataset(file, steps, "NumberOfParts", "<i8", 0, 1, chunk);
	w->number[POINT_OFFSET] = nb_h5_dataset(file, steps, "PointOffsets", "<i8", 0, 1, chunk);
	w->cell_offsets = nb_h5_dataset(file, steps, "CellOffsets", "<i8", LISTS, 1, chunk);
	w->id_offsets = nb_h5_dataset(file, steps, "ConnectivityIdOffsets", "<i8", LISTS, 1, chunk);
	struct nb_h5_node *offsets = nb_h5_group(file, steps, "PointDataOffsets");
	for (size_t c = 0; c < w->ncolumn; c++)
		w->column[c].offset = nb_h5_dataset(file, offsets, w->column[c].name, "<i8", 0, 1, chunk);
}

static int begin(struct nb_export *out, const struct nb_frame *first)
{
	static const char *const lists[LISTS] = {"Vertices", "Lines", "Polygons", "Strips"};
	static const int64_t version[2] = {2, 0};
	struct vtkhdf_writer *w = out->state;
	struct nb_h5_file *file = &w->file;
	const uint64_t n = first->rows[NB_PARTICLE], steps = out->several ? STEPS_AT_ONCE : 0;
	if (out->several) {
		const int is_file = nb_output_goes_back(out->output);
		if (is_file < 0)
			return -1;
		if (!is_file)
			return nb_export_fail(out,
				"%s of several frames is written to a file only (name a FILE, or choose a frame with "
				"'--frames')",
				out->format->about);
	}
	w->column = calloc(first->ncolumn + 1, sizeof *w->column);
	if (!w->column)
		return NB_ENOMEM;
	struct nb_h5_node *root = nb_h5_group(file, nb_h5_root(file, out->output), "VTKHDF");
	nb_h5_attribute(file, root, "Version", "<i8", 2, version);
	nb_h5_attribute_text(file, root, "Type", "PolyData");
	w->number[POINTS] = nb_h5_dataset(file, root, "NumberOfPoints", "<i8", 0, 1, steps);
	for (int k = 0; k < LISTS; k++) {
		struct nb_h5_node *list = nb_h5_group(file, root, lists[k]);
		const uint64_t cells = k == 0 ? n : 0;
		w->cells[k] = nb_h5_dataset(file, list, "NumberOfCells", "<i8", 0, 1, steps);
		w->ids[k] = nb_h5_dataset(file, list, "NumberOfConnectivityIds", "<i8", 0, 1, steps);
		w->offsets[k] = nb_h5_dataset(
			file, list, "Offsets", "<i8", 0, cells + 1, chunk_of(out, n + 1, sizeof(int64_t)));
		w->connectivity[k] = nb_h5_dataset(
			file, list, "Connectivity", "<i8", 0, cells, chunk_of(out, n, sizeof(int64_t)));
	}
	struct nb_column *pos = nb_frame_field(first, NB_POS);
	strcpy(w->pos_dtype, pos->dtype);
	w->points = nb_h5_dataset(file, root, "Points", pos->dtype, 3, n, chunk_of(out, n, pos->rowsize));
	struct nb_h5_node *data = nb_h5_group(file, root, "PointData");
	for (size_t c = 0; c < first->ncolumn; c++) {
		struct nb_column *from = &first->column[c];
		struct column *to = &w->column[w->ncolumn];
		if (!is_written(first, from))
			continue;
		name_array(to->name, from);
		if (nb_h5_has(data, to->name))
			return nb_export_fail(out, "two columns would be called '%s'", to->name);
		strcpy(to->dtype, from->dtype);
		to->ncomp = from->ncomp;
		to->data = nb_h5_dataset(file, data, to->name, from->dtype, from->ncomp > 1 ? from->ncomp : 0, n,
			chunk_of(out, n, from->rowsize));
		w->ncolumn++;
	}
	describe_steps(out, root);
	if (!out->several) /* of a run it comes last */
		nb_h5_attribute_int(file, w->steps, "NSteps", 1);
	return nb_h5_begin(file, out->several);
}

/* ---- frames ------------------------------------------------------------------------------------- */

static int put(struct vtkhdf_writer *w, struct nb_h5_node *dataset, int64_t x)
{
	return nb_h5_put(&w->file, dataset, &x, sizeof x);
}

/* 0, 1 ... n - 1 */
static int put_numbers(struct vtkhdf_writer *w, struct nb_h5_node *dataset, uint64_t n)
{
	int64_t block[BLOCK];
	int status = NB_OK;
	for (uint64_t at = 0; !status && at < n; at += BLOCK) {
		const uint64_t part = n - at < BLOCK ? n - at : BLOCK;
		for (uint64_t i = 0; i < part; i++)
			block[i] = (int64_t)(at + i);
		status = nb_h5_put(&w->file, dataset, block, part * sizeof *block);
	}
	return status;
}

/* n vertices of one point each, and nothing of the other kinds. */
static int put_list(struct vtkhdf_writer *w, int k, uint64_t n)
{
	const uint64_t cells = k == 0 ? n : 0;
	const int status = put_numbers(w, w->offsets[k], cells + 1);
	return status ? status : put_numbers(w, w->connectivity[k], cells);
}

static struct nb_column *same_column(const struct nb_frame *frame, const struct column *column)
{
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *found = &frame->column[c];
		char name[NB_NAME_SIZE + 1];
		name_array(name, found);
		if (strcmp(name, column->name) == 0 && found->table == NB_PARTICLE)
			return strcmp(found->dtype, column->dtype) == 0 && found->ncomp == column->ncomp ? found : NULL;
	}
	return NULL;
}

/* All steps have the columns of the first. */
static int check(struct nb_export *out, const struct nb_frame *frame)
{
	struct vtkhdf_writer *w = out->state;
	size_t written = 0;
	for (size_t c = 0; c < w->ncolumn; c++)
		if (!same_column(frame, &w->column[c]))
			return nb_export_fail(out,
				"column '%s' is missing or has another type than in the first frame, but all steps of "
				"%s have the same columns",
				w->column[c].name, out->format->about);
	if (strcmp(nb_frame_field(frame, NB_POS)->dtype, w->pos_dtype) != 0)
		return nb_export_fail(out, "pos has another type than in the first frame");
	for (size_t c = 0; c < frame->ncolumn; c++)
		written += (size_t)is_written(frame, &frame->column[c]);
	if (written > w->ncolumn && !w->reported++)
		snprintf(out->warning, sizeof out->warning, "columns that the first frame does not have are left out");
	return NB_OK;
}

static int put_column(struct vtkhdf_writer *w, struct nb_h5_node *dataset, struct nb_column *column)
{
	const void *data = nb_column_read(column, &nb_space_host, NB_WIRE);
	if (!data && column->rows)
		return NB_ENOMEM;
	return column->rows ? nb_h5_put(&w->file, dataset, data, column->rows * column->rowsize) : NB_OK;
}

static int write_frame(struct nb_export *out, const struct nb_frame *frame)
{
	struct vtkhdf_writer *w = out->state;
	const int64_t none[LISTS] = {0};
	const uint64_t n = frame->rows[NB_PARTICLE];
	double time;
	int status = check(out, frame);
	if (!status && nb_frame_attribute_f64(frame, "time", 0, &time))
		status = nb_export_fail(out, "attribute time='%s' is not a number", nb_frame_attribute(frame, "time"));
	if (!status)
		status = put(w, w->number[POINTS], (int64_t)n);
	for (int k = 0; !status && k < LISTS; k++) {
		const int64_t cells = k == 0 ? (int64_t)n : 0;
		status = put(w, w->cells[k], cells);
		if (!status)
			status = put(w, w->ids[k], cells);
		if (!status && !out->several)
			status = put_list(w, k, n);
	}
	if (!status)
		status = put_column(w, w->points, nb_frame_field(frame, NB_POS));
	for (size_t c = 0; !status && c < w->ncolumn; c++)
		status = put_column(w, w->column[c].data, same_column(frame, &w->column[c]));
	if (!status)
		status = nb_h5_put(&w->file, w->value, &time, sizeof time);
	const int64_t number[POINTS] = {
		[PART_OFFSET] = (int64_t)out->nframe, [PARTS] = 1, [POINT_OFFSET] = (int64_t)w->bodies};
	for (int k = 0; !status && k < POINTS; k++)
		status = put(w, w->number[k], number[k]);
	if (!status)
		status = nb_h5_put(&w->file, w->cell_offsets, none, sizeof none);
	if (!status)
		status = nb_h5_put(&w->file, w->id_offsets, none, sizeof none);
	for (size_t c = 0; !status && c < w->ncolumn; c++)
		status = put(w, w->column[c].offset, (int64_t)w->bodies);
	w->bodies += n;
	w->most = n > w->most ? n : w->most;
	return status;
}

static int end(struct nb_export *out)
{
	struct vtkhdf_writer *w = out->state;
	int status = NB_OK;
	if (out->nframe == 0)
		return NB_OK;
	for (int k = 0; !status && out->several && k < LISTS; k++)
		status = put_list(w, k, w->most);
	if (!status && out->several)
		nb_h5_attribute_int(&w->file, w->steps, "NSteps", (int64_t)out->nframe);
	return status ? status : nb_h5_end(&w->file);
}

static void release(struct nb_export *out)
{
	struct vtkhdf_writer *w = out->state;
	nb_h5_clear(&w->file);
	free(w->column);
}

const struct nb_format nb_format_vtkhdf = {
	.name = "vtkhdf",
	.about = "VTKHDF",
	.suffixes = "vtkhdf",
	.place = 24,
	.traits = NB_MANY_FRAMES | NB_LOSES_G | NB_LOSES_KICK,
	.G = 1,
	.export_size = sizeof(struct vtkhdf_writer),
	.begin = begin,
	.frame = write_frame,
	.end = end,
	.release = release,
	.holds = holds,
};
