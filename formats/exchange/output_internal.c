#include "formats/exchange/output_internal.h"

#include "common/decimal.h"
#include "common/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { OUT_SIZE = 128 << 10 };

int nb_output_open(struct nb_output *out, int fd, const char *path)
{
	out->fd = fd;
	out->path = path;
	out->used = 0;
	out->buffer = nb_alloc(OUT_SIZE, 1);
	return out->buffer ? NB_OK : NB_ENOMEM;
}

static int flush(struct nb_output *out)
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

int nb_output_bytes(struct nb_output *out, const void *data, size_t bytes)
{
	const char *from = data;
	while (bytes) {
		size_t free_bytes = OUT_SIZE - out->used, part = bytes < free_bytes ? bytes : free_bytes;
		memcpy(out->buffer + out->used, from, part);
		out->used += part;
		from += part;
		bytes -= part;
		if (out->used == OUT_SIZE && flush(out))
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
	if (OUT_SIZE - out->used < NB_DECIMAL_SIZE && flush(out))
		return -1;
	out->used += nb_decimal_write(x, out->buffer + out->used);
	return 0;
}

int nb_output_close(struct nb_output *out)
{
	int failed = flush(out);
	nb_free(out->buffer);
	out->buffer = NULL;
	return failed || close(out->fd) ? -1 : 0;
}

void nb_output_abandon(struct nb_output *out)
{
	nb_free(out->buffer);
	out->buffer = NULL;
	if (out->path && out->fd >= 0)
		close(out->fd);
}
