#include "formats/exchange/lines.h"

#include "common/mem.h"
#include "formats/exchange/bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int nb_lines_open(struct nb_lines *lines, struct nb_import *in)
{
	memset(lines, 0, sizeof *lines);
	lines->in = in;
	lines->buffer = nb_alloc(NB_MAX_LINE + 1, 1); /* one more for the NUL of a last line without end */
	return lines->buffer ? NB_OK : NB_ENOMEM;
}

void nb_lines_close(struct nb_lines *lines)
{
	nb_free(lines->buffer);
	lines->buffer = NULL;
}

int nb_lines_fail(struct nb_lines *lines, const char *format, ...)
{
	struct nb_import *in = lines->in;
	int used = lines->number == 0 ? snprintf(in->error, sizeof in->error, "%s: ", nb_import_tail(in))
				      : snprintf(in->error, sizeof in->error, "%s line %" PRIu64 ": ",
						nb_import_tail(in), lines->number);
	va_list ap;
	va_start(ap, format);
	vsnprintf(in->error + used, sizeof in->error - (size_t)used, format, ap);
	va_end(ap);
	return NB_EINVAL;
}

/* What the file is that begins with these bytes and is no text; NULL: another format may recognise it. */
static const char *foreign(const char *head, size_t n)
{
	const char *what = nb_foreign(head, n);
	return nb_is_stream(head, n)		    ? "this is a particle stream (it needs no '--from')"
	       : what && strstr(what, "nb-convert") ? NULL
						    : what;
}

/* More bytes behind what the buffer holds. */
static int refill(struct nb_lines *lines)
{
	memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
	lines->end -= lines->begin;
	lines->begin = 0;
	if (lines->end == NB_MAX_LINE) {
		lines->number++;
		return nb_lines_fail(lines, "longer than %d bytes (is this a text file?)", NB_MAX_LINE);
	}
	const ssize_t got = nb_bytes_read(lines->in->bytes, lines->buffer + lines->end, NB_MAX_LINE - lines->end);
	if (got < 0) {
		snprintf(lines->in->error, sizeof lines->in->error, "%s: read error: %s", lines->in->name,
			strerror(errno));
		return NB_EINVAL;
	}
	const char *what = lines->number == 0 && lines->end == 0 && got > 0 ? foreign(lines->buffer, (size_t)got)
									    : NULL;
	if (what) {
		snprintf(lines->in->error, sizeof lines->in->error, "%s: %s", nb_import_tail(lines->in), what);
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

char *nb_lines_whole(const struct nb_lines *lines, size_t most, size_t *bytes)
{
	char *text = lines->buffer + lines->begin;
	const size_t all = lines->end - lines->begin;
	*bytes = all < most ? all : most;
	while (*bytes && text[*bytes - 1] != '\n')
		--*bytes;
	return text;
}

void nb_lines_pass(struct nb_lines *lines, size_t bytes, size_t n)
{
	lines->begin += bytes;
	lines->number += n;
}

int nb_lines_failed(const struct nb_lines *lines)
{
	return *lines->in->error != '\0';
}

char *nb_text_skip(const char *text)
{
	while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
		text++;
	return (char *)text;
}

int nb_text_begins(const unsigned char *head, size_t n, size_t *mark)
{
	*mark = n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	for (size_t i = *mark; i < n; i++)
		if (head[i] == 0x7f || (head[i] < 0x20 && !(head[i] >= '\t' && head[i] <= '\r')))
			return 0;
	return n > *mark;
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

const char *nb_likely_columns(size_t n)
{
	static const char *const list[] = {[2] = "x,y",
		[3] = "x,y,z",
		[4] = "mass,x,y,z",
		[6] = "x,y,z,vx,vy,vz",
		[7] = "mass,x,y,z,vx,vy,vz",
		[8] = "id,mass,x,y,z,vx,vy,vz"};
	return n < sizeof list / sizeof *list && list[n] ? list[n] : "x,y,z,...";
}
