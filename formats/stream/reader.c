/* Reading the particle stream: opening a pipe or a mapped file, the contents of columns, and how to go on after an
 * error.  Headers are read by header.c. */
#include "formats/stream/stream_internal.h"

#include "common/cpu.h"
#include "common/mapped.h"
#include "common/mem.h"
#include "common/parse.h"
#include "formats/stream/crc32_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int nb_reader_limit(const char *text, uint64_t *bytes)
{
	if (!text || !*text) {
		const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
		*bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : NB_COUNTABLE;
		return NB_OK;
	}
	const enum nb_parse status = nb_parse_u64(text, 0, NB_COUNTABLE, bytes);
	if (status == NB_PARSE_TOO_LARGE)
		*bytes = NB_COUNTABLE;
	else if (status != NB_PARSE_OK)
		*bytes = 0;
	return status == NB_PARSE_OK || status == NB_PARSE_TOO_LARGE ? NB_OK : NB_EINVAL;
}

/* A mapped file, which columns may need longer than its reader. */
struct map {
	struct nb_owner owner; /* the first member */
	void *data;
};

static void unmap(struct nb_owner *owner)
{
	struct map *map = (struct map *)(void *)owner;
	nb_mapped_free(map->data);
	free(map);
}

/* Maps the file from its current offset, if it is one that can be, and if columns that begin at multiples of NB_ALIGN
 * in the stream then do so in memory.  A tool may change a column in place without touching the file. */
static void map_file(struct nb_reader *reader, int fd)
{
	struct stat st;
	const off_t at = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
	if (at < 0 || st.st_size <= at || at % NB_ALIGN)
		return;
	const size_t size = (size_t)st.st_size;
	struct map *map = malloc(sizeof *map);
	void *data = map ? nb_mapped_new(fd, size) : NULL;
	if (!data) {
		free(map);
		return;
	}
	*map = (struct map){{1, unmap}, data};
	madvise(data, size, MADV_SEQUENTIAL);
	reader->owner = &map->owner;
	reader->map = data;
	reader->map_size = size;
	reader->map_at = (size_t)at;
}

int nb_reader_open(struct nb_reader *reader, int fd)
{
	memset(reader, 0, sizeof *reader);
	(void)nb_reader_limit(getenv("NB_MAX_FRAME"), &reader->limit); /* 0 if that is no number */
	return nb_reader_go_on(reader, fd);
}

int nb_reader_go_on(struct nb_reader *reader, int fd)
{
	nb_reader_close(reader);
	reader->fd = fd;
	reader->first = reader->nframe;
	reader->ninner = 0;
	reader->ended = 0;
	reader->nahead = 0;
	map_file(reader, fd);
	if (!reader->map) {
		nb_stream_widen_pipe(fd);
		reader->buffer = nb_alloc(NB_BLOCK, 1);
		if (!reader->buffer)
			return NB_ENOMEM;
	}
	return NB_OK;
}

void nb_reader_close(struct nb_reader *reader)
{
	if (reader->map)
		nb_owner_release(reader->owner);
	nb_free(reader->buffer);
	reader->map = NULL;
	reader->buffer = NULL;
}

/* So many bytes of a column at once.  What is in a map is looked at, and copied, by all threads, block by block: a huge
 * page for each. */
static size_t block_of(const struct nb_reader *reader, const struct nb_column *column)
{
	const size_t threads = (size_t)nb_cpu_threads();
	const size_t most = reader->map && threads > 1 ? 2 * threads * NB_CRC32_EACH : NB_BLOCK;
	return column->rowsize < most ? most / column->rowsize * column->rowsize : most;
}

/* Reads bytes in blocks into to (NULL: into the reader's buffer, one block after another), with CRC. */
static int read_column(struct nb_reader *reader, const struct nb_column *column, unsigned char *to, uint32_t *crc,
	nb_visit *visit, void *context)
{
	size_t bytes = column->rows * column->rowsize;
	const size_t block = block_of(reader, column);
	for (size_t at = 0; at < bytes;) {
		size_t want = bytes - at < block ? bytes - at : block;
		unsigned char *data;
		if (reader->map) {
			data = reader->map + reader->map_at; /* nb_reader_head has checked that it is all there */
			if (to)
				memcpy(to + at, data, want);
			reader->map_at += want;
			nb_reader_note(reader, data, want);
		} else {
			int failed;
			data = to ? to + at : reader->buffer;
			size_t got = nb_reader_pull(reader, data, want, &failed);
			if (got < want) {
				if (!failed)
					nb_reader_ends_in_column(reader, column, at + got);
				return -1;
			}
		}
		*crc = nb_crc32_shared(*crc, data, want);
		if (visit && visit(context, column, at, data, want))
			return -1;
		at += want;
	}
	unsigned char padding[NB_ALIGN];
	return nb_reader_pull_all(reader, padding, align_up(bytes) - bytes, "padding");
}

static enum nb_answer check_trailer(struct nb_reader *reader, const struct nb_frame *frame)
{
	unsigned char trailer[4 * NB_MAX_COLUMNS + NB_ALIGN];
	if (nb_reader_pull_all(reader, trailer, align_up(4 * reader->ncolumn), "checksums"))
		return NB_ERROR;
	reader->passed = 1;
	for (size_t c = 0; c < reader->ncolumn; c++)
		if (load32(trailer + 4 * c) != reader->crc[c])
			return nb_stream_fail(reader->error,
				"corrupt stream: column '%s' of frame %" PRIu64 " has the wrong CRC",
				frame->column[c].name, reader->nframe);
	reader->nframe++;
	reader->ninner++;
	reader->whole = 1;
	return NB_FRAME;
}

static enum nb_answer read_columns(
	struct nb_reader *reader, struct nb_frame *frame, size_t count, int keep, nb_visit *visit, void *context)
{
	for (; reader->column < count && reader->column < reader->ncolumn; reader->column++) {
		struct nb_column *column = &frame->column[reader->column];
		unsigned char *to = NULL;
		if (keep && reader->map && reader->map_at % NB_ALIGN == 0) {
			nb_column_borrow(column, reader->owner, reader->map + reader->map_at);
		} else if (keep) {
			to = nb_column_write(column, &nb_space_host, NB_WIRE);
			if (!to)
				return nb_stream_fail(reader->error,
					"out of memory: column '%s' of frame %" PRIu64 " needs %zu bytes", column->name,
					reader->nframe, column->rows * column->rowsize);
		}
		if (read_column(reader, column, to, &reader->crc[reader->column], visit, context))
			return NB_ERROR;
	}
	return reader->column < reader->ncolumn || reader->whole ? NB_FRAME : check_trailer(reader, frame);
}

enum nb_answer nb_reader_columns(struct nb_reader *reader, struct nb_frame *frame, size_t count)
{
	return nb_reader_judge(reader, read_columns(reader, frame, count, 1, NULL, NULL));
}

enum nb_answer nb_reader_body(struct nb_reader *reader, struct nb_frame *frame, nb_visit *visit, void *context)
{
	return nb_reader_judge(reader, read_columns(reader, frame, SIZE_MAX, 0, visit, context));
}

enum nb_answer nb_reader_skip(struct nb_reader *reader, struct nb_frame *frame)
{
	unsigned char rest[4 * NB_MAX_COLUMNS + NB_ALIGN];
	for (; reader->column < reader->ncolumn; reader->column++) {
		const struct nb_column *column = &frame->column[reader->column];
		const size_t bytes = column->rows * column->rowsize;
		if (reader->map) {
			nb_reader_note(reader, reader->map + reader->map_at, bytes);
			reader->map_at += bytes; /* nb_reader_head has checked that it is all there */
		}
		for (size_t at = 0, want; !reader->map && at < bytes; at += want) {
			int failed;
			want = bytes - at < NB_BLOCK ? bytes - at : NB_BLOCK;
			const size_t got = nb_reader_pull(reader, reader->buffer, want, &failed);
			if (got < want)
				return failed ? NB_ERROR : nb_reader_ends_in_column(reader, column, at + got);
		}
		if (nb_reader_pull_all(reader, rest, align_up(bytes) - bytes, "padding"))
			return NB_ERROR;
	}
	if (nb_reader_pull_all(reader, rest, align_up(4 * reader->ncolumn), "checksums"))
		return NB_ERROR;
	reader->nframe++;
	reader->ninner++;
	return NB_FRAME;
}

/* ---- after an error ----------------------------------------------------------------------------- */

/* Whether a whole header with the right CRC begins there; its number. */
static int is_header(struct nb_reader *reader, size_t at, uint64_t *number)
{
	const struct nb_reader before = *reader;
	struct nb_header fixed;
	int is = 0;
	reader->map_at = at;
	if (nb_header_read_fixed(reader, &fixed) == NB_FRAME && fixed.whole <= reader->map_size - at) {
		unsigned char *head = malloc(fixed.whole);
		*number = reader->ninner = load64(fixed.bytes + H_NUMBER);
		is = head && nb_header_read_rest(reader, &fixed, head) == NB_FRAME;
		free(head);
	}
	*reader = before;
	return is;
}

/* The next place from there on where a frame or an end marker begins; map_size if there is none. */
static size_t find_header(struct nb_reader *reader, size_t at, uint64_t *number)
{
	if (at > reader->map_size)
		at = reader->map_size;
	while (at < reader->map_size) {
		const unsigned char *found = memmem(reader->map + at, reader->map_size - at, magic, sizeof magic);
		at = found ? (size_t)(found - reader->map) : reader->map_size;
		if (found && is_header(reader, at, number))
			break;
		at += found != NULL;
	}
	return at;
}

int nb_reader_recover(struct nb_reader *reader)
{
	uint64_t number = reader->ninner + 1;
	if (!reader->map && !reader->passed)
		return 0;
	if (reader->map) {
		/* bytes that are missing in a frame shift the next one into it */
		size_t at = reader->map_at;
		if (!reader->passed || !is_header(reader, at, &number)) {
			/* a sound header with a number that was not expected is one to go on with */
			const int is_sound = is_header(reader, reader->frame_at, &number) && number != reader->ninner;
			at = is_sound ? reader->frame_at : find_header(reader, reader->frame_at + 1, &number);
		}
		reader->nbyte = reader->begin + (at - reader->frame_at);
		reader->map_at = at;
		if (at == reader->map_size)
			return 0;
	}
	if (number > reader->ninner)
		reader->nframe += number - reader->ninner;
	reader->ninner = number;
	return 1;
}

enum nb_answer nb_reader_next(struct nb_reader *reader, struct nb_frame *frame)
{
	enum nb_answer answer = nb_reader_head(reader, frame);
	return answer == NB_FRAME ? nb_reader_columns(reader, frame, SIZE_MAX) : answer;
}
