/* lines.h - the lines of a text that is imported. */
#ifndef NB_EXCHANGE_LINES_H
#define NB_EXCHANGE_LINES_H

#include "formats/exchange/exchange.h"

enum { NB_MAX_LINE = 1 << 20 };

struct nb_lines {
	struct nb_import *in; /* whose fd is read, and whose error says what is wrong; empty: nothing */
	uint64_t number;      /* of the line read last, from 1 */
	/* private */
	char *buffer;
	size_t begin, end;
	int ended;
};

NB_MUST_CHECK int nb_lines_open(struct nb_lines *lines, struct nb_import *in); /* NB_OK or NB_ENOMEM */
/* The next line, NUL-terminated, without its end (LF or CR LF) and, if it is the first, without a byte order mark; the
 * caller may change it.  NULL: the end, or a failure (nb_lines_failed). */
char *nb_lines_next(struct nb_lines *lines);
/* The same, but skips lines of white space. */
char *nb_lines_next_filled(struct nb_lines *lines);
/* Lines that have been read from the file whole, each with its LF, in at most so many bytes, perhaps none; they stay
 * unread. */
char *nb_lines_whole(const struct nb_lines *lines, size_t most, size_t *bytes);
/* So many of these bytes, which are n lines, have been read. */
void nb_lines_pass(struct nb_lines *lines, size_t bytes, size_t n);
int nb_lines_failed(const struct nb_lines *lines);
/* Sets in->error to "NAME line N: message"; returns NB_EINVAL. */
int nb_lines_fail(struct nb_lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nb_lines_close(struct nb_lines *lines);

/* The first character that is not white space. */
char *nb_text_skip(const char *text);

/* 1 if a text may begin with these bytes; *mark: how many of them are a byte order mark. */
int nb_text_begins(const unsigned char *head, size_t n, size_t *mark);
/* What n columns of numbers without a header line may be, as an option names them: "mass,x,y,z" for 4. */
const char *nb_likely_columns(size_t n);
/* How many cells a line of csv has, if all that is in them are numbers; else 0. */
size_t nb_csv_bare_numbers(const char *line);

/* 1 for what would break a line or act on a terminal: control characters other than the tab. */
int nb_text_is_control(char c);

#endif
