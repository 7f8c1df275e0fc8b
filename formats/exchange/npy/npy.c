/* A NumPy array file (numpy.lib.format, version 2.0): one frame as a structured array, a record for each body.  Its
 * fields are the columns of bodies with their types, pos and other vectors as (3,).  Only written. */
#include "formats/exchange/exchange.h"
#include "formats/exchange/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PREFIX = 12, ALIGN = 64 }; /* magic, version, length; and where the records begin */

static int holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	(void)out, (void)frame, (void)column;
	return 1;
}

static void put_name(FILE *to, const char *name)
{
	putc('\'', to);
	for (; *name; name++) {
		if (*name == '\'' || *name == '\\')
			putc('\\', to);
		putc(*name, to);
	}
	putc('\'', to);
}

/* The dictionary that describes the array, padded so that records begin at a multiple of ALIGN; from malloc, NULL: out
 * of memory. */
static char *header_of(const struct nb_frame *frame, size_t *size)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, size);
	if (!to)
		return NULL;
	fputs("{'descr': [", to);
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		if (column->table != NB_PARTICLE)
			continue;
		putc('(', to);
		put_name(to, column->name);
		fprintf(to, ", '%s'", column->dtype);
		if (column->ncomp > 1)
			fprintf(to, ", (%" PRIu32 ",)", column->ncomp);
		fputs("), ", to);
	}
	fprintf(to, "], 'fortran_order': False, 'shape': (%" PRIu64 ",), }", frame->rows[NB_PARTICLE]);
	for (long at = ftell(to) + 1 + PREFIX; at % ALIGN; at++)
		putc(' ', to);
	putc('\n', to);
	return nb_export_text(to, &text);
}

static int put_header(struct nb_output *out, const struct nb_frame *frame)
{
	size_t size;
	char *header = header_of(frame, &size);
	if (!header)
		return NB_ENOMEM;
	unsigned char prefix[PREFIX] = {0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0};
	for (int i = 0; i < 4; i++)
		prefix[8 + i] = (unsigned char)(size >> 8 * i);
	const int failed = nb_output_bytes(out, prefix, sizeof prefix) || nb_output_bytes(out, header, size);
	free(header);
	return failed ? -1 : NB_OK;
}

/* Columns become records. */
static int put_records(struct nb_output *out, const struct nb_frame *frame, const unsigned char **data)
{
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++)
		for (size_t c = 0; c < frame->ncolumn; c++) {
			const size_t size = frame->column[c].rowsize;
			if (data[c] && nb_output_bytes(out, data[c] + i * size, size))
				return -1;
		}
	return NB_OK;
}

static int write_frame(struct nb_export *out, const struct nb_frame *frame)
{
	const unsigned char **data = calloc(frame->ncolumn + 1, sizeof *data);
	int status = data ? NB_OK : NB_ENOMEM;
	for (size_t c = 0; !status && c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		if (column->table != NB_PARTICLE)
			continue;
		data[c] = nb_column_read(column, &nb_space_host, NB_WIRE);
		status = data[c] || column->rows == 0 ? NB_OK : NB_ENOMEM;
	}
	if (!status)
		status = put_header(out->output, frame);
	if (!status)
		status = put_records(out->output, frame, data);
	free(data);
	return status;
}

const struct nb_format nb_format_npy = {
	.name = "npy",
	.about = "a NumPy array",
	.suffixes = "npy",
	.place = 100,
	.traits = NB_LOSES_G | NB_LOSES_KICK | NB_LOSES_TIME,
	.G = 1,
	.frame = write_frame,
	.holds = holds,
};
