/* text.h - what the text formats share: lines from a file, tables that grow row by row, buffered output.
 * Library code: errors are returned. */
#ifndef NB_EXCHANGE_TEXT_H
#define NB_EXCHANGE_TEXT_H

#include "formats/stream/stream.h"

enum { NB_TEXT_ERROR_SIZE = 640, NB_TEXT_MAX_LINE = 1 << 20 };

/* ---- lines -------------------------------------------------------------------------------------- */

struct nb_lines {
	int fd;
	const char *name;		/* of the file, for messages */
	uint64_t number;		/* of the line read last, from 1 */
	char error[NB_TEXT_ERROR_SIZE]; /* empty: none */
	/* private */
	char *buffer;
	size_t begin, end;
	int ended;
};

NB_MUST_CHECK int nb_lines_open(struct nb_lines *lines, int fd, const char *name); /* NB_OK or NB_ENOMEM */
/* The next line, NUL-terminated, without its end (LF or CR LF) and, if it is the first, without a byte order mark; the
 * caller may change it.  NULL: the end, or, where lines->error is not empty, a failure. */
char *nb_lines_next(struct nb_lines *lines);
/* The same, but skips lines of white space. */
char *nb_lines_next_filled(struct nb_lines *lines);
/* Sets lines->error to "NAME line N: message"; returns NB_EINVAL. */
int nb_lines_fail(struct nb_lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nb_lines_close(struct nb_lines *lines); /* leaves fd open */

/* The first character that is not white space. */
char *nb_text_skip(const char *text);

/* 1 for what would break a line or act on a terminal: control characters other than the tab. */
int nb_text_is_control(char c);

/* ---- tables that grow --------------------------------------------------------------------------- */

struct nb_rows {
	size_t n; /* rows filled: the caller counts */
	size_t capacity;
	size_t ncolumn;
	struct nb_rows_column {
		unsigned char *data;
		size_t rowsize;
	} * column;
};

void nb_rows_init(struct nb_rows *rows);
void nb_rows_clear(struct nb_rows *rows);
/* Adds a column, zero in the rows that are filled; its number is rows->ncolumn - 1. NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_rows_add(struct nb_rows *rows, size_t rowsize);
/* Room for row n, undefined; all columns grow together, geometrically. NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_rows_reserve(struct nb_rows *rows);
/* Makes the filled rows of a column longer, padded with zeros. NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_rows_widen(struct nb_rows *rows, size_t column, size_t rowsize);
void *nb_rows_at(const struct nb_rows *rows, size_t column, size_t row);
/* Hands the memory of a column over to a frame's column of n rows of that size. */
void nb_rows_give(struct nb_rows *rows, size_t column, struct nb_column *to);

/* Stores length bytes of text, padded with NULs, in row n of a column of text, which widens to a multiple of 32 bytes
 * where that is needed. NB_OK, NB_ENOMEM, or NB_ELIMIT: longer than a stream's column can be (4096). */
NB_MUST_CHECK int nb_rows_text(struct nb_rows *rows, size_t column, const char *text, size_t length);

/* ---- output ------------------------------------------------------------------------------------- */

struct nb_text_out {
	int fd;
	const char *path;
	char *buffer;
	size_t used;
};

/* Writes to fd, or, where fd is -1, to a file of this path, which is opened when the first bytes go out, so that a
 * failure before leaves an older file as it was.  NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_text_open(struct nb_text_out *out, int fd, const char *path);
/* All return 0, or -1 with errno set by open(), write() or close(). */
NB_MUST_CHECK int nb_text_put(struct nb_text_out *out, const char *text, size_t length);
NB_MUST_CHECK int nb_text_puts(struct nb_text_out *out, const char *text);
NB_MUST_CHECK int nb_text_f64(struct nb_text_out *out, double x); /* shortest that reads back the same */
NB_MUST_CHECK int nb_text_close(struct nb_text_out *out);
void nb_text_abandon(struct nb_text_out *out); /* releases memory, leaves fd open */

#endif
