/* Writing csv text. */
#include "common/cpu.h"
#include "common/decimal.h"
#include "formats/exchange/csv/csv.h"
#include "formats/exchange/output.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nb_csv_holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	(void)frame;
	return nb_csv_writes(column, out->plain);
}

static int is_flat(const struct nb_frame *frame)
{
	const char *dim = nb_frame_attribute(frame, "dim");
	return dim && strcmp(dim, "2") == 0;
}

/* The name of component k; 0 if it is left out because dim is 2. */
static int name_of(
	const struct nb_export *out, const struct nb_frame *frame, const struct nb_column *column, uint32_t k, char *to)
{
	const struct nb_csv_writer *writer = out->state;
	int flat;
	nb_csv_name(column, k, to, &flat);
	return !flat || !is_flat(frame) || (writer->signs & (uint64_t)1 << column->field);
}

/* Fields whose third components are not left out although dim is 2, as some are -0. */
static int find_signs(struct nb_export *out, const struct nb_frame *frame)
{
	struct nb_csv_writer *writer = out->state;
	for (size_t c = 0; !out->plain && is_flat(frame) && c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		char name[NB_CSV_NAME + 1];
		int flat = 0;
		for (uint32_t k = 0; k < column->ncomp && !flat && column->field < NB_NFIELD; k++)
			nb_csv_name(column, k, name, &flat);
		const double *x = flat ? nb_column_read(column, &nb_space_host, NB_AS_F64) : NULL;
		if (flat && !x)
			return NB_ENOMEM;
		for (size_t i = 2; flat && i < 3 * column->rows; i += 3)
			if (signbit(x[i]))
				writer->signs |= (uint64_t)1 << column->field;
	}
	return NB_OK;
}

/* What comes before a text that a spreadsheet would compute, or that begins with an apostrophe already; else "". */
static const char *guard(int safe, const char *text, size_t length)
{
	return safe && length && strchr("=+-@\t\r'", *text) ? "'" : "";
}

static char separator_of(const struct nb_export *out)
{
	return out->separator ? out->separator : ',';
}

/* In quotes where it must be, and where a reader might guess another separator.  Returns the length. */
static size_t quote_name(const struct nb_export *out, const char *name, char *to, size_t size)
{
	const char separator = separator_of(out), *before = guard(out->safe, name, strlen(name));
	if (!strpbrk(name, separator == ',' ? ",\"" : " ,;\t\"") && !strchr(name, separator) && *name != '#' &&
		!*before)
		return (size_t)snprintf(to, size, "%s", name);
	size_t used = (size_t)snprintf(to, size, "\"%s", before);
	for (const char *c = name; *c && used + 3 < size; c++) {
		if (*c == '"')
			to[used++] = '"';
		to[used++] = *c;
	}
	to[used++] = '"';
	to[used] = '\0';
	return used;
}

static size_t cells_of(const struct nb_export *out, const struct nb_frame *frame)
{
	size_t ncell = 0;
	for (size_t c = 0; c < frame->ncolumn; c++)
		ncell += nb_csv_writes(&frame->column[c], out->plain) ? frame->column[c].ncomp : 0;
	return ncell;
}

/* What is written of the first frame. */
static int keep_names(struct nb_export *out, const struct nb_frame *first)
{
	struct nb_csv_writer *writer = out->state;
	writer->name = malloc((first->ncolumn + 1) * sizeof *writer->name);
	for (size_t c = 0; writer->name && c < first->ncolumn; c++)
		if (nb_csv_writes(&first->column[c], out->plain))
			strcpy(writer->name[writer->nname++], first->column[c].name);
	return writer->name ? NB_OK : NB_ENOMEM;
}

static struct nb_column *column_of(const struct nb_export *out, const struct nb_frame *frame, size_t k)
{
	const struct nb_csv_writer *writer = out->state;
	return nb_frame_find(frame, writer->name[k]);
}

/* A frame with another set of columns than the first one is none of the table. */
static int refuse_others(struct nb_export *out, const struct nb_frame *frame)
{
	const struct nb_csv_writer *writer = out->state;
	for (size_t k = 0; k < writer->nname; k++) {
		const struct nb_column *column = column_of(out, frame, k);
		if (!column || !nb_csv_writes(column, out->plain))
			return nb_export_fail(out,
				"its columns differ from those of the frames before: '%s' is missing", writer->name[k]);
	}
	for (size_t c = 0, k; c < frame->ncolumn; c++) {
		for (k = 0; k < writer->nname && strcmp(writer->name[k], frame->column[c].name) != 0; k++)
			;
		if (k == writer->nname && nb_csv_writes(&frame->column[c], out->plain))
			return nb_export_fail(out, "its columns differ from those of the frames before: '%s' is new",
				frame->column[c].name);
	}
	return NB_OK;
}

/* The header line of a frame, without the line end; from malloc. */
static char *header_of(const struct nb_export *out, const struct nb_frame *frame)
{
	enum { NAME_ROOM = 2 * NB_CSV_NAME + 8 };
	const struct nb_csv_writer *writer = out->state;
	char *header = malloc((cells_of(out, frame) + 2) * NAME_ROOM + 1);
	if (!header)
		return NULL;
	if (out->several)
		sprintf(header, "frame%ctime", separator_of(out));
	else
		*header = '\0';
	size_t used = strlen(header);
	for (size_t c = 0; c < writer->nname; c++) {
		const struct nb_column *column = column_of(out, frame, c);
		for (uint32_t k = 0; k < column->ncomp; k++) {
			char name[NB_CSV_NAME + 1];
			if (!name_of(out, frame, column, k, name))
				continue;
			if (used)
				header[used++] = separator_of(out);
			used += quote_name(out, name, header + used, NAME_ROOM);
		}
	}
	return header;
}

/* Up to the separator behind a name, or the end; one in quotes may have separators in it. */
static size_t name_length(const char *name, char separator)
{
	size_t length = 0;
	for (int quoted = 0; name[length] && (quoted || name[length] != separator); length++)
		quoted ^= name[length] == '"';
	return length;
}

/* A name that appears twice, e.g. because an unknown column is called x: into twice, at most size bytes. */
static int has_twins(const char *header, char separator, char *twice, size_t size)
{
	for (const char *a = header; *a;) {
		size_t length = name_length(a, separator);
		for (const char *b = a + length; *b;) {
			b++;
			size_t other = name_length(b, separator);
			if (other == length && strncmp(a, b, length) == 0) {
				snprintf(twice, size, "%.*s", (int)length, a);
				return 1;
			}
			b += other;
		}
		a += length + (a[length] == separator);
	}
	return 0;
}

int nb_csv_begin(struct nb_export *out, const struct nb_frame *first)
{
	struct nb_csv_writer *writer = out->state;
	struct nb_output *to = out->output;
	char twice[NB_CSV_NAME + 1];
	if (find_signs(out, first) || keep_names(out, first))
		return NB_ENOMEM;
	writer->header = header_of(out, first);
	writer->said = out->plain ? NULL : nb_csv_describe(first, out->safe, separator_of(out));
	if (!writer->header || (!out->plain && !writer->said))
		return NB_ENOMEM;
	if (has_twins(writer->header, separator_of(out), twice, sizeof twice))
		return nb_export_fail(out, "two columns would be called '%s' in csv", twice);
	if (!out->plain && (nb_csv_none(out) || (out->several && nb_output_text(to, "# frame 0\n")) ||
				   nb_output_text(to, writer->said)))
		return -1;
	return nb_output_text(to, writer->header) || nb_output_text(to, "\n") ? -1 : NB_OK;
}

int nb_csv_none(struct nb_export *out)
{
	char line[32];
	snprintf(line, sizeof line, "# nb-stream %d\n", NB_CSV_VERSION);
	return nb_output_text(out->output, line);
}

void nb_csv_release(struct nb_export *out)
{
	struct nb_csv_writer *writer = out->state;
	free(writer->name);
	free(writer->header);
	free(writer->said);
}

/* Where the cells of a column of text come from: component k of a column, one of the four pointers. */
struct source {
	const double *real;
	const uint64_t *whole; /* is_signed says how to read it */
	const char *text;
	const unsigned char *bytes; /* of no type that has numbers */
	int is_signed, safe;
	size_t ncomp, k, width; /* width: of a component of text or bytes */
};

static int read_column(struct nb_column *column, struct source *source)
{
	const int wide = strcmp(column->dtype, "<u8") == 0 || strcmp(column->dtype, "<i8") == 0;
	const int text = column->dtype[1] == 'S', bytes = !text && !nb_dtype_is_number(column->dtype);
	const void *data = nb_column_read(column, &nb_space_host, wide || text || bytes ? NB_WIRE : NB_AS_F64);
	*source = (struct source){
		.is_signed = column->dtype[1] == 'i', .ncomp = column->ncomp, .width = column->rowsize / column->ncomp};
	if (wide)
		source->whole = data;
	else if (text)
		source->text = data;
	else if (bytes)
		source->bytes = data;
	else
		source->real = data;
	return data ? NB_OK : NB_ENOMEM;
}

/* A component that is left out because dim is 2 must be 0. */
static int refuse_third(struct nb_export *out, const struct nb_column *column, const struct source *source)
{
	for (size_t i = 0; source->real && i < column->rows; i++) {
		const double x = source->real[i * source->ncomp + source->k];
		if (x != 0)
			return nb_export_fail(out, "attribute dim is 2, but row %zu of '%s' has a third component %g",
				i, column->name, x);
	}
	return NB_OK;
}

/* Text that would not come back: a line would break, or end at a NUL. */
static int refuse_control(struct nb_export *out, const struct nb_column *column, const struct source *source)
{
	for (size_t i = 0; source->text && i < column->rows * column->ncomp; i++) {
		const char *text = source->text + i * source->width;
		const size_t length = strnlen(text, source->width);
		for (size_t c = 0; c < source->width; c++)
			if (c < length ? nb_text_is_control(text[c]) : text[c] != 0)
				return nb_export_fail(out, "text in row %zu of '%s' has a control character",
					i / column->ncomp, column->name);
	}
	return NB_OK;
}

/* Adds the components of a column that are written to source[*n] and on. */
static int add_sources(
	struct nb_export *out, const struct nb_frame *frame, struct nb_column *column, struct source *source, size_t *n)
{
	struct source one;
	char name[NB_CSV_NAME + 1];
	int status = read_column(column, &one);
	for (uint32_t k = 0; !status && k < column->ncomp; k++) {
		one.k = k;
		one.safe = out->safe;
		const int written = name_of(out, frame, column, k, name);
		if (!written || (k == 2 && is_flat(frame) && column->field < NB_NFIELD))
			status = refuse_third(out, column, &one);
		if (written)
			source[(*n)++] = one;
	}
	return status ? status : refuse_control(out, column, &one);
}

static int put_text(struct nb_output *out, const char *text, size_t width, int safe)
{
	size_t length = strnlen(text, width);
	if (nb_output_bytes(out, "\"", 1) || nb_output_text(out, guard(safe, text, length)))
		return -1;
	for (size_t i = 0; i < length; i++)
		if ((text[i] == '"' && nb_output_bytes(out, "\"", 1)) || nb_output_bytes(out, &text[i], 1))
			return -1;
	return nb_output_bytes(out, "\"", 1);
}

static int put_bytes(struct nb_output *out, const unsigned char *bytes, size_t width)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < width; i++)
		if (nb_output_bytes(out, &digits[bytes[i] >> 4], 1) || nb_output_bytes(out, &digits[bytes[i] & 15], 1))
			return -1;
	return NB_OK;
}

/* The sign of a NaN, which computers give it, is a part of its bytes. */
static int put_real(struct nb_output *out, double x)
{
	return isnan(x) && signbit(x) ? nb_output_text(out, "-nan") : nb_output_f64(out, x);
}

static int put_cell(struct nb_output *out, const struct source *source, size_t i)
{
	const size_t at = i * source->ncomp + source->k;
	char digits[24];
	if (source->real)
		return put_real(out, source->real[at]);
	if (source->text)
		return put_text(out, source->text + at * source->width, source->width, source->safe);
	if (source->bytes)
		return put_bytes(out, source->bytes + at * source->width, source->width);
	int length = source->is_signed ? snprintf(digits, sizeof digits, "%" PRId64, (int64_t)source->whole[at])
				       : snprintf(digits, sizeof digits, "%" PRIu64, source->whole[at]);
	return nb_output_bytes(out, digits, (size_t)length);
}

/* Rows of a frame. */
struct table {
	size_t n;
	const struct source *source;
	size_t nsource;
	const char *prefix;
	char separator;
};

static int put_rows(struct nb_output *out, const struct table *t, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		if (nb_output_text(out, t->prefix))
			return -1;
		for (size_t s = 0; s < t->nsource; s++)
			if (((s || *t->prefix) && nb_output_bytes(out, &t->separator, 1)) ||
				put_cell(out, &t->source[s], i))
				return -1;
		if (nb_output_bytes(out, "\n", 1))
			return -1;
	}
	return NB_OK;
}

/* Threads make the text of blocks of rows, which go out in order. */
static int put_table(struct nb_output *out, const struct table *t)
{
	enum { ROWS = 2048 };
	int failed = 0;
	if (t->n <= ROWS || nb_cpu_threads() < 2)
		return put_rows(out, t, 0, t->n);
#pragma omp parallel
	{
		struct nb_output text;
		int missing = nb_output_hold(&text) ? ENOMEM : 0;
#pragma omp for schedule(dynamic) ordered
		for (size_t first = 0; first < t->n; first += ROWS) {
			text.used = 0;
			if (!missing && !__atomic_load_n(&failed, __ATOMIC_RELAXED) &&
				put_rows(&text, t, first, first + ROWS < t->n ? first + ROWS : t->n))
				missing = errno;
#pragma omp ordered
			if (!failed && (missing || nb_output_bytes(out, text.buffer, text.used)))
				__atomic_store_n(&failed, missing ? missing : errno, __ATOMIC_RELAXED);
		}
		nb_output_abandon(&text);
	}
	errno = failed;
	return failed ? -1 : NB_OK;
}

/* What the comments before a frame other than the first say. */
static int put_changes(struct nb_export *out, const struct nb_frame *frame)
{
	struct nb_csv_writer *writer = out->state;
	char line[64], *now = nb_csv_describe(frame, out->safe, separator_of(out));
	int anew = 0;
	char *changes = now ? nb_csv_changes(writer->said, now, &anew) : NULL;
	if (!changes) {
		free(now);
		return NB_ENOMEM;
	}
	snprintf(line, sizeof line, "# frame %" PRIu64 "%s\n", out->nframe, anew ? " anew" : "");
	const int failed = nb_output_text(out->output, line) || nb_output_text(out->output, changes);
	free(changes);
	free(writer->said);
	writer->said = now;
	return failed ? -1 : NB_OK;
}

static int put_frame(struct nb_export *out, const struct nb_frame *frame, struct source *source)
{
	const struct nb_csv_writer *writer = out->state;
	size_t n = 0;
	int status = NB_OK;
	for (size_t c = 0; !status && c < writer->nname; c++)
		status = add_sources(out, frame, column_of(out, frame, c), source, &n);
	if (status)
		return status;
	char prefix[2 * NB_DECIMAL_SIZE] = "";
	double time = 0;
	if (nb_frame_attribute_f64(frame, "time", 0, &time))
		return nb_export_fail(out, "attribute time='%s' is not a number", nb_frame_attribute(frame, "time"));
	if (out->several) {
		int length = snprintf(prefix, NB_DECIMAL_SIZE, "%" PRIu64 "%c", out->nframe, separator_of(out));
		nb_decimal_write(time, prefix + length);
	}
	if (!out->plain && out->nframe > 0)
		status = put_changes(out, frame);
	const struct table table = {frame->rows[NB_PARTICLE], source, n, prefix, separator_of(out)};
	return status ? status : put_table(out->output, &table);
}

int nb_csv_frame(struct nb_export *out, const struct nb_frame *frame)
{
	const struct nb_csv_writer *writer = out->state;
	const int other = refuse_others(out, frame);
	if (other)
		return other;
	char *header = header_of(out, frame);
	struct source *source = calloc(cells_of(out, frame) + 1, sizeof *source);
	int status = header && source ? NB_OK : NB_ENOMEM;
	if (!status && strcmp(header, writer->header) != 0)
		status = nb_export_fail(out, "its columns differ from those of the frames before: other components");
	if (!status)
		status = put_frame(out, frame, source);
	free(source);
	free(header);
	return status;
}
