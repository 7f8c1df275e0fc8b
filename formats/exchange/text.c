#include "formats/exchange/text.h"

#include "common/decimal.h"
#include "common/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_CAPACITY = 1024, TEXT_STEP = 32, MAX_TEXT = 4096, OUT_SIZE = 128 << 10 };

/* ---- lines -------------------------------------------------------------------------------------- */

int nb_lines_open(struct nb_lines *lines, int fd, const char *name)
{
	memset(lines, 0, sizeof *lines);
	lines->fd = fd;
	lines->name = name;
	lines->buffer = nb_alloc(NB_TEXT_MAX_LINE + 1, 1); /* one more for the NUL of a last line without end */
	return lines->buffer ? NB_OK : NB_ENOMEM;
}

void nb_lines_close(struct nb_lines *lines)
{
	nb_free(lines->buffer);
	lines->buffer = NULL;
}

int nb_lines_fail(struct nb_lines *lines, const char *format, ...)
{
	/* of a very long path the end, so that the reason still fits */
	enum { NAME_SHOWN = 200 };
	size_t length = strlen(lines->name);
	const char *tail = length > NAME_SHOWN ? lines->name + length - NAME_SHOWN : lines->name;
	int used = snprintf(lines->error, sizeof lines->error, "%s line %" PRIu64 ": ", tail, lines->number);
	va_list ap;
	va_start(ap, format);
	vsnprintf(lines->error + used, sizeof lines->error - (size_t)used, format, ap);
	va_end(ap);
	return NB_EINVAL;
}

/* More bytes behind what the buffer holds. */
static int refill(struct nb_lines *lines)
{
	memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
	lines->end -= lines->begin;
	lines->begin = 0;
	if (lines->end == NB_TEXT_MAX_LINE) {
		lines->number++;
		return nb_lines_fail(lines, "longer than %d bytes (is this a text file?)", NB_TEXT_MAX_LINE);
	}
	ssize_t got;
	do
		got = read(lines->fd, lines->buffer + lines->end, NB_TEXT_MAX_LINE - lines->end);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		snprintf(lines->error, sizeof lines->error, "read error in %s: %s", lines->name, strerror(errno));
		return NB_EINVAL;
	}
	lines->ended = got == 0;
	lines->end += (size_t)got;
	return NB_OK;
}

char *nb_lines_next(struct nb_lines *lines)
{
	size_t searched = 0;
	char *newline = NULL;
	for (;;) {
		size_t have = lines->end - lines->begin;
		newline = have > searched ? memchr(lines->buffer + lines->begin + searched, '\n', have - searched)
					  : NULL;
		if (newline || lines->ended)
			break;
		searched = have;
		if (refill(lines))
			return NULL;
	}
	if (lines->begin == lines->end)
		return NULL;
	char *line = lines->buffer + lines->begin, *end = newline ? newline : lines->buffer + lines->end;
	lines->begin = (size_t)(end - lines->buffer) + (newline != NULL);
	lines->number++;
	if (memchr(line, '\0', (size_t)(end - line))) {
		nb_lines_fail(lines, "has a NUL byte (is this a text file?)");
		return NULL;
	}
	if (end > line && end[-1] == '\r')
		end--;
	*end = '\0';
	return lines->number == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0 ? line + 3 : line;
}

char *nb_text_skip(const char *text)
{
	while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
		text++;
	return (char *)text;
}

int nb_text_is_control(char c)
{
	return c != '\t' && ((unsigned char)c < 0x20 || c == 0x7f);
}

char *nb_lines_next_filled(struct nb_lines *lines)
{
	char *line;
	do
		line = nb_lines_next(lines);
	while (line && *nb_text_skip(line) == '\0');
	return line;
}

/* ---- tables that grow --------------------------------------------------------------------------- */

void nb_rows_init(struct nb_rows *rows)
{
	memset(rows, 0, sizeof *rows);
}

void nb_rows_clear(struct nb_rows *rows)
{
	for (size_t c = 0; c < rows->ncolumn; c++)
		nb_free(rows->column[c].data);
	free(rows->column);
	nb_rows_init(rows);
}

int nb_rows_add(struct nb_rows *rows, size_t rowsize)
{
	if (rows->capacity == 0)
		rows->capacity = FIRST_CAPACITY;
	struct nb_rows_column *grown = realloc(rows->column, (rows->ncolumn + 1) * sizeof *grown);
	if (!grown)
		return NB_ENOMEM;
	rows->column = grown;
	unsigned char *data = nb_alloc(rows->capacity, rowsize);
	if (!data)
		return NB_ENOMEM;
	memset(data, 0, rows->n * rowsize);
	grown[rows->ncolumn++] = (struct nb_rows_column){data, rowsize};
	return NB_OK;
}

int nb_rows_reserve(struct nb_rows *rows)
{
	if (rows->n < rows->capacity)
		return NB_OK;
	size_t capacity = 2 * rows->capacity;
	for (size_t c = 0; c < rows->ncolumn; c++) {
		struct nb_rows_column *column = &rows->column[c];
		unsigned char *data = nb_alloc(capacity, column->rowsize);
		if (!data)
			return NB_ENOMEM;
		memcpy(data, column->data, rows->n * column->rowsize);
		nb_free(column->data);
		column->data = data;
	}
	rows->capacity = capacity;
	return NB_OK;
}

int nb_rows_widen(struct nb_rows *rows, size_t c, size_t rowsize)
{
	struct nb_rows_column *column = &rows->column[c];
	unsigned char *data = nb_alloc(rows->capacity, rowsize);
	if (!data)
		return NB_ENOMEM;
	memset(data, 0, rows->n * rowsize);
	for (size_t i = 0; i < rows->n; i++)
		memcpy(data + i * rowsize, column->data + i * column->rowsize, column->rowsize);
	nb_free(column->data);
	*column = (struct nb_rows_column){data, rowsize};
	return NB_OK;
}

void *nb_rows_at(const struct nb_rows *rows, size_t column, size_t row)
{
	return rows->column[column].data + row * rows->column[column].rowsize;
}

void nb_rows_give(struct nb_rows *rows, size_t column, struct nb_column *to)
{
	nb_column_adopt(to, &nb_space_host, rows->column[column].data);
	rows->column[column].data = NULL;
}

int nb_rows_text(struct nb_rows *rows, size_t column, const char *text, size_t length)
{
	if (length > MAX_TEXT)
		return NB_ELIMIT;
	if (length > rows->column[column].rowsize) {
		int status = nb_rows_widen(rows, column, (length + TEXT_STEP - 1) / TEXT_STEP * TEXT_STEP);
		if (status)
			return status;
	}
	char *to = nb_rows_at(rows, column, rows->n);
	memcpy(to, text, length);
	memset(to + length, 0, rows->column[column].rowsize - length);
	return NB_OK;
}

/* ---- output ------------------------------------------------------------------------------------- */

int nb_text_open(struct nb_text_out *out, int fd, const char *path)
{
	out->fd = fd;
	out->path = path;
	out->used = 0;
	out->buffer = nb_alloc(OUT_SIZE, 1);
	return out->buffer ? NB_OK : NB_ENOMEM;
}

static int flush(struct nb_text_out *out)
{
	if (out->fd < 0)
		out->fd = open(out->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out->fd < 0)
		return -1;
	for (size_t at = 0; at < out->used;) {
		ssize_t n = write(out->fd, out->buffer + at, out->used - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += (size_t)n;
	}
	out->used = 0;
	return 0;
}

int nb_text_put(struct nb_text_out *out, const char *text, size_t length)
{
	while (length) {
		size_t room = OUT_SIZE - out->used, part = length < room ? length : room;
		memcpy(out->buffer + out->used, text, part);
		out->used += part;
		text += part;
		length -= part;
		if (out->used == OUT_SIZE && flush(out))
			return -1;
	}
	return 0;
}

int nb_text_puts(struct nb_text_out *out, const char *text)
{
	return nb_text_put(out, text, strlen(text));
}

int nb_text_f64(struct nb_text_out *out, double x)
{
	if (OUT_SIZE - out->used < NB_DECIMAL_SIZE && flush(out))
		return -1;
	out->used += nb_decimal_write(x, out->buffer + out->used);
	return 0;
}

int nb_text_close(struct nb_text_out *out)
{
	int failed = flush(out);
	nb_text_abandon(out);
	return failed || close(out->fd) ? -1 : 0;
}

void nb_text_abandon(struct nb_text_out *out)
{
	nb_free(out->buffer);
	out->buffer = NULL;
}
