/* The N-body text of Princeton's course COS 126, in which many data sets of small simulations come: N, the radius of
 * the universe, then N rows "px py vx vy mass rest", where the rest is a name or a colour "r g b" or nothing.  2-D, SI
 * units, G = 6.67e-11.
 *
 * Read, it becomes the fields id (0 .. N-1), mass, pos and vel; column "colour" (3 x |u1) and field species (distinct
 * colours in order of appearance) where every row ends in a colour, else column "name" where any row has a rest;
 * attributes time, dim, G, units, universe_radius.  What follows row N is ignored, with a warning if there are more
 * rows.  Written are mass, pos, vel, and the column name or else colour; the radius is the attribute universe_radius,
 * else the largest |coordinate|. */
#include "formats/exchange/exchange.h"

#include "common/decimal.h"
#include "common/mem.h"
#include "formats/exchange/lines.h"
#include "formats/exchange/output.h"
#include "formats/exchange/rows.h"
#include "formats/exchange/subset.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PRINCETON_G 6.67e-11

struct princeton_reader {
	struct nb_lines lines;
	int done;
};

enum { NUMBERS = 5, TEXT_WIDTH = 32, MAX_SPECIES = 256 };
enum { PX, PY, VX, VY, MASS };
enum { C_POS, C_VEL, C_MASS, C_REST };

/* How rows end: nothing is known yet, all of them in a colour, or in text (which may be empty). */
enum rest { REST_NONE, REST_COLOUR, REST_TEXT };

static int no_memory(struct nb_lines *lines)
{
	return nb_lines_fail(lines, "out of memory");
}

static size_t token_length(const char *text)
{
	return strcspn(text, " \t\r\v\f");
}

/* What a person may have meant as a number: 1e999, 12abc, nan, -inf. */
static int like_number(const char *token)
{
	const char *digits = token + (*token == '-' || *token == '+');
	return isdigit((unsigned char)*digits) || *digits == '.' || strncasecmp(digits, "nan", 3) == 0 ||
	       strncasecmp(digits, "inf", 3) == 0;
}

/* Whether the file is asked for that number of that row. */
static int is_wanted(const struct nb_import *in, uint64_t row, int number)
{
	return nb_subset_row(&in->subset, row) && nb_subset_needs(&in->subset, number < VX     ? "pos"
									       : number < MASS ? "vel"
											       : "mass");
}

/* The numbers that a row begins with; *rest is what follows them. Returns how many. */
static int numbers_of(const struct nb_import *in, uint64_t row, const char *line, double x[NUMBERS], char **rest)
{
	int n = 0;
	*rest = nb_text_skip(line);
	for (; n < NUMBERS && **rest; n++) {
		const char *behind = *rest + token_length(*rest);
		if (nb_decimal_read(*rest, &x[n]) != behind || !isfinite(x[n])) {
			if (is_wanted(in, row, n) || !like_number(*rest))
				break;
			x[n] = 0;
		}
		*rest = nb_text_skip(behind);
	}
	return n;
}

/* "r g b", each 0 to 255 and nothing else */
static int colour_of(const char *rest, unsigned char colour[3])
{
	for (int k = 0; k < 3; k++) {
		char *end;
		if (!isdigit((unsigned char)*rest))
			return 0;
		unsigned long value = strtoul(rest, &end, 10);
		if (value > 255 || (*end && !isspace((unsigned char)*end)))
			return 0;
		colour[k] = (unsigned char)value;
		rest = nb_text_skip(end);
	}
	return *rest == '\0';
}

static size_t colour_text(const unsigned char *colour, char text[TEXT_WIDTH])
{
	return (size_t)snprintf(text, TEXT_WIDTH, "%d %d %d", colour[0], colour[1], colour[2]);
}

/* The rows so far ended in colours; from here on the rest is text. */
static int colours_become_text(struct nb_rows *rows)
{
	struct nb_rows_column colour = rows->column[C_REST];
	rows->ncolumn--;
	int status = nb_rows_add(rows, TEXT_WIDTH);
	for (size_t i = 0; !status && i < rows->n; i++)
		colour_text(colour.data + 3 * i, nb_rows_at(rows, C_REST, i));
	nb_free(colour.data);
	return status;
}

static int store_rest(struct nb_lines *lines, struct nb_rows *rows, enum rest *kind, const char *text)
{
	unsigned char colour[3];
	size_t length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	int is_colour = colour_of(text, colour), status = NB_OK;
	if (is_colour && *kind == REST_NONE && rows->n == 0) {
		*kind = REST_COLOUR;
		status = nb_rows_add(rows, sizeof colour);
	} else if (length && *kind == REST_NONE) {
		*kind = REST_TEXT;
		status = nb_rows_add(rows, TEXT_WIDTH);
	} else if (!is_colour && *kind == REST_COLOUR) {
		*kind = REST_TEXT;
		status = colours_become_text(rows);
	}
	if (!status && *kind == REST_COLOUR) {
		memcpy(nb_rows_at(rows, C_REST, rows->n), colour, sizeof colour);
	} else if (!status && *kind == REST_TEXT) {
		char canonical[TEXT_WIDTH];
		if (is_colour) {
			length = colour_text(colour, canonical);
			text = canonical;
		}
		status = nb_rows_text(rows, C_REST, text, length);
	}
	if (status == NB_ELIMIT)
		return nb_lines_fail(lines, "name of %zu characters is too long", length);
	return status ? no_memory(lines) : NB_OK;
}

/* The header: two numbers, on two lines or on one. */
static int read_header(struct nb_lines *lines, uint64_t *n, double *radius, uint64_t *header_line)
{
	char *line = nb_lines_next_filled(lines);
	if (!line && nb_lines_failed(lines))
		return NB_EINVAL;
	if (!line)
		return nb_lines_fail(
			lines, "the file is empty (want the number of bodies, a radius, and one row for each body)");
	*header_line = lines->number;
	char *token = nb_text_skip(line);
	size_t length = token_length(token), digits = strspn(token, "0123456789");
	if (digits == 0 || digits != length)
		return nb_lines_fail(
			lines, "'%.*s' is not a number of bodies", (int)(length < 40 ? length : 40), token);
	*n = digits < 19 ? strtoull(token, NULL, 10) : UINT64_MAX;
	if (*n > NB_MAX_ROWS)
		return nb_lines_fail(
			lines, "%.*s bodies (limit %" PRIu64 ")", (int)(length < 40 ? length : 40), token, NB_MAX_ROWS);
	token = nb_text_skip(token + length);
	if (!*token) {
		line = nb_lines_next_filled(lines);
		if (!line)
			return nb_lines_failed(lines)
				       ? NB_EINVAL
				       : nb_lines_fail(lines, "the file ends before the radius of the universe");
		token = nb_text_skip(line);
	}
	const char *end = nb_decimal_read(token, radius);
	length = token_length(token);
	if (!end || end != token + length || !isfinite(*radius) || *radius < 0)
		return nb_lines_fail(
			lines, "'%.*s' is not the radius of the universe", (int)(length < 40 ? length : 40), token);
	token = nb_text_skip(end);
	if (*token)
		return nb_lines_fail(lines, "unexpected '%.40s' after the radius", token);
	return NB_OK;
}

static int read_row(struct nb_lines *lines, const char *line, struct nb_rows *rows, enum rest *kind)
{
	double x[NUMBERS];
	char *rest;
	int n = numbers_of(lines->in, rows->n, line, x, &rest);
	if (n < NUMBERS && *rest && like_number(rest))
		return nb_lines_fail(lines, "'%.*s' is not a finite number",
			(int)(token_length(rest) < 40 ? token_length(rest) : 40), rest);
	if (n < NUMBERS)
		return nb_lines_fail(lines, "%d numbers (want at least %d)", n, NUMBERS);
	if (x[MASS] < 0 && is_wanted(lines->in, rows->n, MASS))
		return nb_lines_fail(lines, "mass %g is negative", x[MASS]);
	if (nb_rows_reserve(rows, 1))
		return no_memory(lines);
	memcpy(nb_rows_at(rows, C_POS, rows->n), (double[3]){x[PX], x[PY], 0}, 3 * sizeof(double));
	memcpy(nb_rows_at(rows, C_VEL, rows->n), (double[3]){x[VX], x[VY], 0}, 3 * sizeof(double));
	memcpy(nb_rows_at(rows, C_MASS, rows->n), &x[MASS], sizeof(double));
	int status = store_rest(lines, rows, kind, rest);
	rows->n += status == NB_OK;
	return status;
}

/* What follows body n is not taken, as Princeton's own reader does: prose, or bodies that line 1 has not counted, of
 * which there is a warning. */
static int pass_rest(struct nb_lines *lines, uint64_t n, uint64_t header_line)
{
	double x[NUMBERS];
	char *rest;
	uint64_t more = 0;
	for (const char *line; (line = nb_lines_next_filled(lines)) != NULL;)
		more += numbers_of(lines->in, n + more, line, x, &rest) == NUMBERS;
	if (more)
		snprintf(lines->in->warning, sizeof lines->in->warning,
			"%s has %" PRIu64 " bodies, but line %" PRIu64 " promises %" PRIu64 ": the first %" PRIu64
			" are taken",
			nb_import_tail(lines->in), n + more, header_line, n, n);
	return nb_lines_failed(lines) ? NB_EINVAL : NB_OK;
}

static int read_rows(struct nb_lines *lines, uint64_t n, uint64_t header_line, struct nb_rows *rows, enum rest *kind)
{
	while (rows->n < n) {
		const char *line = nb_lines_next_filled(lines);
		if (!line && nb_lines_failed(lines))
			return NB_EINVAL;
		if (!line)
			return nb_lines_fail(lines,
				"the file ends after %zu bodies, but line %" PRIu64 " promises %" PRIu64, rows->n,
				header_line, n);
		int status = read_row(lines, line, rows, kind);
		if (status)
			return status;
	}
	return pass_rest(lines, n, header_line);
}

/* species = number of the colour in order of appearance; not for pictures with more colours than a byte counts. */
static int add_species(struct nb_frame *frame, const unsigned char *colour)
{
	unsigned char seen[MAX_SPECIES][3];
	size_t n = frame->rows[NB_PARTICLE], nseen = 0;
	unsigned char *species = nb_alloc(n, 1);
	if (!species)
		return NB_ENOMEM;
	size_t s = 0;
	for (size_t i = 0; i < n; i++) {
		if (s >= nseen || memcmp(seen[s], &colour[3 * i], 3) != 0)
			for (s = 0; s < nseen && memcmp(seen[s], &colour[3 * i], 3) != 0;)
				s++;
		if (s == MAX_SPECIES) {
			nb_free(species);
			return NB_OK;
		}
		if (s == nseen)
			memcpy(seen[nseen++], &colour[3 * i], 3);
		species[i] = (unsigned char)s;
	}
	struct nb_column *column = nb_frame_add_field(frame, NB_SPECIES, NULL, 0);
	if (!column) {
		nb_free(species);
		return NB_ENOMEM;
	}
	nb_column_adopt(column, &nb_space_host, species);
	return NB_OK;
}

static int make_frame(struct nb_frame *frame, struct nb_rows *rows, enum rest kind, double radius)
{
	frame->rows[NB_PARTICLE] = rows->n;
	if (nb_frame_set_attribute(frame, "time", "0") || nb_frame_set_attribute(frame, "dim", "2") ||
		nb_frame_set_attribute_f64(frame, "G", PRINCETON_G) || nb_frame_set_attribute(frame, "units", "SI") ||
		nb_frame_set_attribute_f64(frame, "universe_radius", radius))
		return NB_ENOMEM;
	struct nb_column *column = nb_frame_add_field(frame, NB_ID, NULL, 0);
	uint64_t *id = nb_column_write(column, &nb_space_host, NB_WIRE);
	if (!id)
		return NB_ENOMEM;
	for (size_t i = 0; i < rows->n; i++)
		id[i] = i;
	static const enum nb_field field[] = {NB_MASS, NB_POS, NB_VEL};
	static const size_t from[] = {C_MASS, C_POS, C_VEL};
	for (size_t k = 0; k < 3; k++) {
		column = nb_frame_add_field(frame, field[k], NULL, 0);
		if (!column)
			return NB_ENOMEM;
		nb_rows_give(rows, from[k], column);
	}
	if (kind == REST_NONE)
		return NB_OK;
	char dtype[NB_DTYPE_SIZE + 1];
	snprintf(dtype, sizeof dtype, "|S%zu", rows->column[C_REST].rowsize);
	column = kind == REST_COLOUR ? nb_frame_add(frame, "colour", NB_PARTICLE, "|u1", 3, "", 0)
				     : nb_frame_add(frame, "name", NB_PARTICLE, dtype, 1, "", 0);
	if (!column)
		return NB_ENOMEM;
	const unsigned char *colour = rows->column[C_REST].data;
	nb_rows_give(rows, C_REST, column);
	return kind == REST_COLOUR ? add_species(frame, colour) : NB_OK;
}

/* The whole text. */
static int read_text(struct nb_lines *lines, struct nb_frame *frame)
{
	uint64_t n = 0, header_line = 0;
	double radius;
	enum rest kind = REST_NONE;
	struct nb_rows rows;
	nb_rows_init(&rows);
	int status = nb_rows_add(&rows, 3 * sizeof(double)) || nb_rows_add(&rows, 3 * sizeof(double)) ||
		     nb_rows_add(&rows, sizeof(double));
	if (status)
		status = no_memory(lines);
	if (!status)
		status = read_header(lines, &n, &radius, &header_line);
	if (!status)
		status = read_rows(lines, n, header_line, &rows, &kind);
	if (!status && make_frame(frame, &rows, kind, radius))
		status = no_memory(lines);
	nb_rows_clear(&rows);
	return status;
}

/* Digits alone, then a number on its own; both may stand on one line. */
static int recognises(const unsigned char *head, size_t n, uint64_t size)
{
	char text[256];
	double radius;
	size_t mark;
	const size_t used = n < sizeof text ? n : sizeof text - 1;
	(void)size;
	if (!nb_text_begins(head, used, &mark))
		return 0;
	memcpy(text, head, used);
	text[used] = '\0';
	const char *at = nb_text_skip(text + mark);
	const size_t digits = strspn(at, "0123456789");
	if (digits == 0 || !isspace((unsigned char)at[digits]))
		return 0;
	const char *end = nb_decimal_read(nb_text_skip(at + digits), &radius);
	if (!end)
		return 0;
	while (*end == ' ' || *end == '\t' || *end == '\r')
		end++;
	return *end == '\n' || *end == '\0';
}

static int open_text(struct nb_import *in)
{
	struct princeton_reader *reader = in->state;
	return nb_lines_open(&reader->lines, in);
}

static enum nb_answer next(struct nb_import *in, struct nb_frame *frame)
{
	struct princeton_reader *reader = in->state;
	if (reader->done)
		return NB_END;
	reader->done = 1;
	return read_text(&reader->lines, frame) ? NB_ERROR : NB_FRAME;
}

static void close_text(struct nb_import *in)
{
	struct princeton_reader *reader = in->state;
	nb_lines_close(&reader->lines);
}

/* ---- writing ------------------------------------------------------------------------------------ */

static struct nb_column *colour_column(const struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_find(frame, "colour");
	return column && column->table == NB_PARTICLE && column->ncomp == 3 && strcmp(column->dtype, "|u1") == 0
		       ? column
		       : NULL;
}

static struct nb_column *name_column(const struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_find(frame, "name");
	return column && column->table == NB_PARTICLE && column->ncomp == 1 && column->dtype[1] == 'S' ? column : NULL;
}

/* The import numbers bodies 0, 1, 2 ... anyway, so such ids are not lost. */
static int is_row_number(struct nb_column *id)
{
	const uint64_t *value = strcmp(id->dtype, "<u8") == 0 ? nb_column_read(id, &nb_space_host, NB_WIRE) : NULL;
	for (size_t i = 0; value && i < id->rows; i++)
		if (value[i] != i)
			return 0;
	return value != NULL;
}

static int holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	(void)out;
	const struct nb_column *name = name_column(frame), *colour = name ? NULL : colour_column(frame);
	static const enum nb_field field[] = {NB_MASS, NB_POS, NB_VEL};
	for (size_t k = 0; k < sizeof field / sizeof *field; k++)
		if (strcmp(column->name, nb_field_info[field[k]].name) == 0)
			return 1;
	if (column == name || column == colour || (column->flags & NB_DERIVED))
		return 1;
	if (column == nb_frame_field(frame, NB_ID))
		return is_row_number(column);
	if (column == nb_frame_field(frame, NB_SPECIES)) /* the import makes them from the colours */
		return nb_frame_find(frame, "colour") && !nb_frame_find(frame, "name");
	return 0;
}

/* What a 2-D text of lines has no place for. */
static int refuse(struct nb_export *out, size_t n, const double *pos, const double *vel, const struct nb_column *name,
	const char *text)
{
	for (size_t i = 0; i < n; i++) {
		if (pos[3 * i + 2] != 0 || vel[3 * i + 2] != 0)
			return nb_export_fail(out, "row %zu has z = %g and vz = %g, but princeton text is 2-D", i,
				pos[3 * i + 2], vel[3 * i + 2]);
		for (size_t c = 0; name && c < name->rowsize && text[i * name->rowsize + c]; c++)
			if (nb_text_is_control(text[i * name->rowsize + c]))
				return nb_export_fail(out, "the name in row %zu has a control character", i);
	}
	return NB_OK;
}

static int write_rows(struct nb_output *out, size_t n, const double *pos, const double *vel, const double *mass,
	const struct nb_column *name, const char *text, const unsigned char *colour)
{
	for (size_t i = 0; i < n; i++) {
		const double x[NUMBERS] = {pos[3 * i], pos[3 * i + 1], vel[3 * i], vel[3 * i + 1], mass[i]};
		for (int k = 0; k < NUMBERS; k++)
			if ((k && nb_output_bytes(out, " ", 1)) || nb_output_f64(out, x[k]))
				return -1;
		if (name && text[i * name->rowsize]) {
			const char *begin = text + i * name->rowsize;
			if (nb_output_bytes(out, " ", 1) || nb_output_bytes(out, begin, strnlen(begin, name->rowsize)))
				return -1;
		} else if (colour) {
			char three[TEXT_WIDTH];
			if (nb_output_bytes(out, " ", 1) ||
				nb_output_bytes(out, three, colour_text(&colour[3 * i], three)))
				return -1;
		}
		if (nb_output_bytes(out, "\n", 1))
			return -1;
	}
	return 0;
}

static int write_frame(struct nb_export *export, const struct nb_frame *frame)
{
	struct nb_output *out = export->output;
	const size_t n = frame->rows[NB_PARTICLE];
	struct nb_column *name = name_column(frame), *colour = name ? NULL : colour_column(frame);
	const double *pos = nb_column_read(nb_frame_field(frame, NB_POS), &nb_space_host, NB_AS_F64);
	const double *vel = nb_column_read(nb_frame_field(frame, NB_VEL), &nb_space_host, NB_AS_F64);
	const double *mass = nb_column_read(nb_frame_field(frame, NB_MASS), &nb_space_host, NB_AS_F64);
	const char *text = name ? nb_column_read(name, &nb_space_host, NB_WIRE) : NULL;
	const unsigned char *rgb = colour ? nb_column_read(colour, &nb_space_host, NB_WIRE) : NULL;
	if (!pos || !vel || !mass || (name && !text) || (colour && !rgb))
		return NB_ENOMEM;
	double radius;
	if (nb_frame_attribute_f64(frame, "universe_radius", -1, &radius))
		return nb_export_fail(export, "attribute universe_radius='%s' is not a number",
			nb_frame_attribute(frame, "universe_radius"));
	if (refuse(export, n, pos, vel, name, text))
		return NB_EINVAL;
	if (radius < 0)
		for (size_t i = 0; i < n; i++)
			radius = fmax(radius, fmax(fabs(pos[3 * i]), fabs(pos[3 * i + 1])));
	if (radius < 0)
		radius = 1; /* no bodies: any will do */
	char line[64];
	int length = snprintf(line, sizeof line, "%zu\n", n);
	if (nb_output_bytes(out, line, (size_t)length) || nb_output_f64(out, radius) || nb_output_bytes(out, "\n", 1))
		return -1;
	return write_rows(out, n, pos, vel, mass, name, text, rgb);
}

const struct nb_format nb_format_princeton = {
	.name = "princeton",
	.about = "princeton text",
	.place = 1,
	.traits = NB_ONLY_VALID | NB_FIXED_G | NB_LOSES_KICK | NB_LOSES_TIME | NB_TEXT,
	.needs = NB_NEED(NB_VEL) | NB_NEED(NB_MASS),
	.G = PRINCETON_G,
	.recognises = recognises,
	.import_size = sizeof(struct princeton_reader),
	.open = open_text,
	.next = next,
	.close = close_text,
	.frame = write_frame,
	.holds = holds,
};
