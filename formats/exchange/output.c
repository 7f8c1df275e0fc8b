#include "formats/exchange/output.h"

#include "common/decimal.h"
#include "common/mem.h"
#include "common/printable.h"
#include "formats/exchange/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUT_SIZE = 128 << 10, LARGE = 64 << 10 }; /* pieces of at least LARGE bytes are not copied */

int nb_output_open(struct nb_output *out, int fd, const char *path)
{
	*out = (struct nb_output){.fd = fd, .path = path, .room = OUT_SIZE};
	out->buffer = nb_alloc(OUT_SIZE + 1, 1);
	return out->buffer ? NB_OK : NB_ENOMEM;
}

int nb_output_hold(struct nb_output *out)
{
	const int status = nb_output_open(out, -1, NULL);
	out->held = 1;
	return status;
}

static int grow(struct nb_output *out)
{
	char *buffer = nb_enlarge(out->buffer, out->used, 2 * out->room + 1, 1);
	if (!buffer) {
		errno = ENOMEM;
		return -1;
	}
	out->buffer = buffer;
	out->room *= 2;
	return 0;
}

/* ---- bytes -------------------------------------------------------------------------------------- */

/* Lines that a terminal shows and does not obey. */
static void tame(struct nb_output *out)
{
	size_t kept = 0;
	for (size_t at = 0, next; at < out->used; at = next) {
		char *line = out->buffer + at, *end = memchr(line, '\n', out->used - at);
		next = end ? (size_t)(end - out->buffer) + 1 : out->used;
		out->buffer[end ? next - 1 : next] = '\0';
		nb_make_printable(line);
		const size_t length = strlen(line);
		memmove(out->buffer + kept, line, length);
		kept += length;
		if (end)
			out->buffer[kept++] = '\n';
	}
	out->used = kept;
}

static int put(struct nb_output *out, const char *data, size_t bytes)
{
	while (bytes) {
		const ssize_t n = write(out->fd, data, bytes);
		if (n < 0 && errno != EINTR)
			return -1;
		data += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int nb_output_flush(struct nb_output *out)
{
	if (out->held)
		return out->used < out->room / 2 ? 0 : grow(out);
	if (out->fd < 0) {
		if (nb_whole_open(&out->file, out->path))
			return -1;
		out->fd = out->file.fd;
	}
	if (out->used && isatty(out->fd))
		tame(out);
	if (put(out, out->buffer, out->used))
		return -1;
	out->used = 0;
	return 0;
}

int nb_output_bytes(struct nb_output *out, const void *data, size_t bytes)
{
	const char *from = data;
	if (bytes >= LARGE && !out->held) {
		if (nb_output_flush(out))
			return -1;
		if (!isatty(out->fd))
			return put(out, from, bytes);
	}
	while (bytes) {
		size_t free_bytes = out->room - out->used, part = bytes < free_bytes ? bytes : free_bytes;
		memcpy(out->buffer + out->used, from, part);
		out->used += part;
		from += part;
		bytes -= part;
		if (out->used == out->room && nb_output_flush(out))
			return -1;
	}
	return 0;
}

int nb_output_text(struct nb_output *out, const char *text)
{
	return nb_output_bytes(out, text, strlen(text));
}

int nb_output_f64(struct nb_output *out, double x)
{
	if (out->room - out->used < NB_DECIMAL_SIZE && nb_output_flush(out))
		return -1;
	out->used += nb_decimal_write(x, out->buffer + out->used);
	return 0;
}

int nb_output_goes_back(struct nb_output *out)
{
	struct stat s;
	if (nb_output_flush(out) || fstat(out->fd, &s))
		return -1;
	return S_ISREG(s.st_mode) && !(fcntl(out->fd, F_GETFL) & O_APPEND) && lseek(out->fd, 0, SEEK_CUR) == 0;
}

int nb_output_again(struct nb_output *out, size_t at, const void *data, size_t bytes)
{
	if (nb_output_flush(out))
		return -1;
	for (size_t done = 0; done < bytes;) {
		const ssize_t n = pwrite(out->fd, (const char *)data + done, bytes - done, (off_t)(at + done));
		if (n < 0 && errno != EINTR)
			return -1;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int nb_output_close(struct nb_output *out)
{
	if (nb_output_flush(out))
		return -1;
	const int fd = out->fd;
	out->fd = -1;
	if (out->path ? nb_whole_close(&out->file) : close(fd))
		return -1;
	nb_output_abandon(out);
	return 0;
}

void nb_output_abandon(struct nb_output *out)
{
	nb_free(out->buffer);
	out->buffer = NULL;
	out->fd = -1;
	nb_whole_drop(&out->file);
}

/* ---- for formats -------------------------------------------------------------------------------- */

int nb_export_fail(struct nb_export *out, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(out->error, sizeof out->error, format, ap);
	va_end(ap);
	return NB_EINVAL;
}

char *nb_export_text(FILE *to, char **text)
{
	const int failed = ferror(to);
	if (fclose(to) || failed) {
		free(*text);
		return NULL;
	}
	return *text;
}

struct nb_output *nb_export_beside(struct nb_export *out, const char *path)
{
	struct nb_beside *file = calloc(1, sizeof *file + strlen(path) + 1);
	if (!file)
		return NULL;
	strcpy(file->path, path);
	file->before = out->beside;
	out->beside = file;
	return nb_output_open(&file->output, -1, file->path) == NB_OK ? &file->output : NULL;
}
