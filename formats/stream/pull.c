/* Bytes of a particle stream, from a pipe or a mapped file. */
#include "common/mapped.h"
#include "formats/stream/stream_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void nb_reader_note(struct nb_reader *reader, const void *data, size_t bytes)
{
	reader->nbyte += bytes;
	if (reader->tap && bytes)
		reader->tap(reader->tap_context, data, bytes);
}

size_t nb_reader_pull(struct nb_reader *reader, void *to, size_t bytes, int *failed)
{
	size_t got = 0;
	*failed = 0;
	if (reader->map) {
		size_t left = reader->map_size - reader->map_at;
		got = bytes < left ? bytes : left;
		if (got)
			memcpy(to, reader->map + reader->map_at, got);
		reader->map_at += got;
		nb_reader_note(reader, to, got);
		return got;
	}
	while (got < bytes) {
		if (reader->wait && !reader->wait(reader->context))
			break;
		const ssize_t n = nb_reader_raw(reader, (char *)to + got, bytes - got);
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			nb_stream_fail(reader->error, "read error: %s", strerror(errno));
			*failed = 1;
			break;
		}
		nb_reader_note(reader, (char *)to + got, (size_t)n);
		got += (size_t)n;
	}
	return got;
}

ssize_t nb_reader_raw(struct nb_reader *reader, void *to, size_t most)
{
	const size_t left = reader->map ? reader->map_size - reader->map_at : reader->nahead;
	const size_t n = most < left ? most : left;
	if (!reader->map && !left)
		return read(reader->fd, to, most);
	memcpy(to, reader->map ? reader->map + reader->map_at : reader->ahead, n);
	reader->map_at += reader->map ? n : 0;
	reader->nahead -= reader->map ? 0 : n;
	memmove(reader->ahead, reader->ahead + n, reader->nahead);
	return (ssize_t)n;
}

int nb_reader_is_stream(struct nb_reader *reader)
{
	while (!reader->map && reader->nahead < sizeof reader->ahead) {
		const ssize_t n = read(
			reader->fd, reader->ahead + reader->nahead, sizeof reader->ahead - reader->nahead);
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		reader->nahead += n > 0 ? (size_t)n : 0;
	}
	if (reader->map)
		return nb_is_stream(reader->map + reader->map_at, reader->map_size - reader->map_at);
	return reader->nahead > 0 && nb_is_stream(reader->ahead, reader->nahead);
}

enum nb_answer nb_reader_judge(struct nb_reader *reader, enum nb_answer answer)
{
	struct stat st;
	if (answer == NB_ERROR && reader->map && fstat(reader->fd, &st) == 0 && (uint64_t)st.st_size < reader->map_size)
		return nb_stream_fail(reader->error, "truncated stream: " NB_MAPPED_SHORTER);
	return answer;
}

enum nb_answer nb_reader_ends_in(struct nb_reader *reader, const char *part, size_t got, size_t bytes)
{
	return nb_stream_fail(reader->error, "truncated stream: %s of frame %" PRIu64 " ends after %zu of %zu bytes",
		part, reader->nframe, got, bytes);
}

enum nb_answer nb_reader_ends_in_column(struct nb_reader *reader, const struct nb_column *column, size_t got)
{
	return nb_stream_fail(reader->error,
		"truncated stream: column '%s' of frame %" PRIu64 " ends after %zu of %zu bytes", column->name,
		reader->nframe, got, column->rows * column->rowsize);
}

int nb_reader_pull_all(struct nb_reader *reader, void *to, size_t bytes, const char *part)
{
	int failed;
	size_t got = nb_reader_pull(reader, to, bytes, &failed);
	if (got == bytes)
		return 0;
	if (!failed)
		nb_reader_ends_in(reader, part, got, bytes);
	return -1;
}
