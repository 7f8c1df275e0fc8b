/* The particle stream.  Integers are coded and decoded byte by byte, so the code does not depend on the
 * layout of a struct; column contents are little-endian as they lie, which nb_reader_open checks. */
#include "formats/stream/stream.h"

#include "common/mapped.h"
#include "common/mem.h"
#include "common/parse.h"
#include "formats/stream/crc32_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char magic[8] = {0x89, 'N', 'B', 'S', '\r', '\n', 0x1a, '\n'};

enum { KIND_FRAME = 1, KIND_END = 2 };

/* byte offsets in the fixed header and in a directory entry: the tables of nb-stream(5) */
enum {
	H_MAGIC = 0,
	H_MAJOR = 8,
	H_MINOR = 10,
	H_HEADER_SIZE = 12,
	H_KIND = 16,
	H_CRC = 20,
	H_NUMBER = 24,
	H_ROWS = 32, /* three u64: particle, node, box */
	H_ATTRIBUTE_BYTES = 56,
	H_NCOLUMN = 64,
	H_ENTRY_SIZE = 68,
	H_BODY_BYTES = 72
};
enum { E_NAME = 0, E_DTYPE = 32, E_TABLE = 40, E_NCOMP = 44, E_FLAGS = 48, E_UNIT = 56, E_OFFSET = 80, E_BYTES = 88 };
enum { MAX_HEADER_SIZE = 4096 };

static uint16_t load16(const unsigned char *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t load32(const unsigned char *p)
{
	return (uint32_t)load16(p) | (uint32_t)load16(p + 2) << 16;
}

static uint64_t load64(const unsigned char *p)
{
	return (uint64_t)load32(p) | (uint64_t)load32(p + 4) << 32;
}

static void store16(unsigned char *p, uint16_t x)
{
	p[0] = (unsigned char)x;
	p[1] = (unsigned char)(x >> 8);
}

static void store32(unsigned char *p, uint32_t x)
{
	store16(p, (uint16_t)x);
	store16(p + 2, (uint16_t)(x >> 16));
}

static void store64(unsigned char *p, uint64_t x)
{
	store32(p, (uint32_t)x);
	store32(p + 4, (uint32_t)(x >> 32));
}

static uint64_t align_up(uint64_t bytes)
{
	return (bytes + NB_ALIGN - 1) / NB_ALIGN * NB_ALIGN;
}

static enum nb_answer fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static enum nb_answer fail(char *error, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(error, NB_ERROR_SIZE, format, ap);
	va_end(ap);
	return NB_ERROR;
}

/* ---- reading ------------------------------------------------------------------------------------ */

static int little_endian(void)
{
	const uint16_t one = 1;
	unsigned char first;
	memcpy(&first, &one, 1);
	return first == 1;
}

/* More bytes no frame has, whatever the limit: sums of sizes below it stay in any type. */
static const uint64_t COUNTABLE = PTRDIFF_MAX;

int nb_reader_limit(const char *text, uint64_t *bytes)
{
	if (!text || !*text) {
		const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
		*bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : COUNTABLE;
		return NB_OK;
	}
	const enum nb_parse status = nb_parse_u64(text, 0, COUNTABLE, bytes);
	if (status == NB_PARSE_TOO_LARGE)
		*bytes = COUNTABLE;
	else if (status != NB_PARSE_OK)
		*bytes = 0;
	return status == NB_PARSE_OK || status == NB_PARSE_TOO_LARGE ? NB_OK : NB_EINVAL;
}

/* With the default pipe of 64 KiB the two processes take turns, at a quarter of the speed.  Harmless if fd is not a
 * pipe, or if the system refuses. */
static void widen_pipe(int fd)
{
	enum { PIPE_SIZE = 512 << 10 }; /* half of a core's L2 */
	int size = fcntl(fd, F_GETPIPE_SZ);
	if (size > 0 && size < PIPE_SIZE)
		(void)fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
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
	map_file(reader, fd);
	if (!reader->map) {
		widen_pipe(fd);
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

/* Reads up to bytes into to; less only at the end of input or after an error (*failed). */
static size_t pull(struct nb_reader *reader, void *to, size_t bytes, int *failed)
{
	size_t got = 0;
	*failed = 0;
	if (reader->map) {
		size_t left = reader->map_size - reader->map_at;
		got = bytes < left ? bytes : left;
		if (got)
			memcpy(to, reader->map + reader->map_at, got);
		reader->map_at += got;
		reader->nbyte += got;
		return got;
	}
	while (got < bytes) {
		if (reader->wait && !reader->wait(reader->context))
			break;
		ssize_t n = read(reader->fd, (char *)to + got, bytes - got);
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			fail(reader->error, "read error: %s", strerror(errno));
			*failed = 1;
			break;
		}
		got += (size_t)n;
	}
	reader->nbyte += got;
	return got;
}

static enum nb_answer ends_in(struct nb_reader *reader, const char *part, size_t got, size_t bytes)
{
	return fail(reader->error, "truncated stream: %s of frame %" PRIu64 " ends after %zu of %zu bytes", part,
		reader->nframe, got, bytes);
}

static enum nb_answer ends_in_column(struct nb_reader *reader, const struct nb_column *column, size_t got)
{
	return fail(reader->error, "truncated stream: column '%s' of frame %" PRIu64 " ends after %zu of %zu bytes",
		column->name, reader->nframe, got, column->rows * column->rowsize);
}

/* All of bytes, or an error that names the part. */
static int pull_all(struct nb_reader *reader, void *to, size_t bytes, const char *part)
{
	int failed;
	size_t got = pull(reader, to, bytes, &failed);
	if (got == bytes)
		return 0;
	if (!failed)
		ends_in(reader, part, got, bytes);
	return -1;
}

static enum nb_answer at_end_of_input(struct nb_reader *reader)
{
	if (reader->ended) {
		if (reader->map) /* leave the file where the stream ended, as read() would have */
			(void)!lseek(reader->fd, (off_t)reader->map_at, SEEK_SET);
		return NB_END;
	}
	if (reader->nframe == reader->first)
		return fail(reader->error,
			"truncated stream: empty input (want a particle stream; did the command before it fail?)");
	return fail(reader->error, "truncated stream: no end marker after frame %" PRIu64, reader->nframe - 1);
}

/* Text as the stream has it: printable ASCII, NUL-padded; a name is neither empty nor holds blanks. */
static int load_text(char *to, const unsigned char *from, size_t size, int is_name)
{
	size_t length = 0;
	while (length < size && from[length]) {
		if (from[length] < (is_name ? 0x21 : 0x20) || from[length] > 0x7e)
			return -1;
		length++;
	}
	for (size_t i = length; i < size; i++)
		if (from[i])
			return -1;
	memcpy(to, from, length);
	to[length] = '\0';
	return length == 0 && is_name ? -1 : 0;
}

/* Undoes the escapes \\ and \n of the text up to end, which becomes a string.  -1: another escape. */
static int undo_escapes(char *text, char *end)
{
	char *to = text;
	for (const char *from = text; from < end; from++) {
		char c = *from;
		if (c == '\\') {
			if (++from == end || (*from != '\\' && *from != 'n'))
				return -1;
			c = *from == 'n' ? '\n' : '\\';
		}
		*to++ = c;
	}
	*to = '\0';
	return 0;
}

/* One line of the attributes without its newline. */
static enum nb_answer parse_attribute(struct nb_reader *reader, struct nb_frame *frame, char *line, char *end)
{
	static const char key_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	char *equals = memchr(line, '=', (size_t)(end - line));
	if (!equals || equals == line || memchr(line, '\0', (size_t)(end - line)))
		return fail(reader->error, "corrupt stream: attributes of frame %" PRIu64 " are not lines of key=value",
			reader->nframe);
	*equals = '\0';
	if (line[strspn(line, key_characters)])
		return fail(reader->error,
			"corrupt stream: frame %" PRIu64
			" has an attribute with the key '%.40s' (want letters a to z, digits and _)",
			reader->nframe, line);
	if (undo_escapes(equals + 1, end))
		return fail(reader->error,
			"corrupt stream: attribute '%.40s' of frame %" PRIu64
			" has a backslash that is neither \\\\ nor \\n",
			line, reader->nframe);
	if (nb_frame_add_attribute(frame, line, equals + 1))
		return fail(reader->error, "out of memory for the attributes of frame %" PRIu64, reader->nframe);
	return NB_FRAME;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Only the history has many lines.  Sorted, as 16 MiB are millions of keys. */
static enum nb_answer check_keys(struct nb_reader *reader, const struct nb_frame *frame)
{
	enum nb_answer answer = NB_FRAME;
	size_t n = 0;
	const char **key = malloc((frame->nattribute + 1) * sizeof *key);
	if (!key)
		return fail(reader->error, "out of memory for the attributes of frame %" PRIu64, reader->nframe);
	for (size_t i = 0; i < frame->nattribute; i++)
		if (strcmp(frame->attribute[i].key, "history") != 0)
			key[n++] = frame->attribute[i].key;
	qsort(key, n, sizeof *key, by_key);
	for (size_t i = 1; i < n && answer == NB_FRAME; i++)
		if (strcmp(key[i - 1], key[i]) == 0)
			answer = fail(reader->error,
				"corrupt stream: attribute '%.40s' appears twice in frame %" PRIu64, key[i],
				reader->nframe);
	free(key);
	return answer;
}

static enum nb_answer parse_attributes(struct nb_reader *reader, struct nb_frame *frame, char *text, size_t bytes)
{
	char *end = text + bytes;
	for (char *line = text; line < end;) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		/* a last line without its newline is as bad as one without a key */
		const enum nb_answer answer = parse_attribute(
			reader, frame, newline ? line : end, newline ? newline : end);
		if (answer != NB_FRAME)
			return answer;
		line = newline + 1;
	}
	return check_keys(reader, frame);
}

/* 1 if a column of so many bytes at an offset makes the frame too large. */
static int exceeds_limit(struct nb_reader *reader, const char *name, uint64_t offset, uint64_t bytes)
{
	const char *limit = getenv("NB_MAX_FRAME");
	/* offset is within the limit, as it was looked at with the column before */
	if (bytes <= reader->limit && offset <= reader->limit && align_up(bytes) <= reader->limit - offset)
		return 0;
	if (reader->limit == COUNTABLE)
		fail(reader->error, "corrupt stream: column '%s' of frame %" PRIu64 " ends behind %" PRIu64 " bytes",
			name, reader->nframe, COUNTABLE);
	else if (limit && *limit)
		fail(reader->error,
			"column '%s' of frame %" PRIu64 " has %" PRIu64 " bytes, more than NB_MAX_FRAME='%.40s'", name,
			reader->nframe, bytes, limit);
	else
		fail(reader->error,
			"column '%s' of frame %" PRIu64 " has %" PRIu64
			" bytes, more than this machine's memory (NB_MAX_FRAME raises the limit)",
			name, reader->nframe, bytes);
	return 1;
}

/* One directory entry; *offset is where its contents must begin, and moves past them. */
static enum nb_answer parse_entry(
	struct nb_reader *reader, struct nb_frame *frame, const unsigned char *entry, uint64_t *offset)
{
	char name[NB_NAME_SIZE + 1], dtype[NB_DTYPE_SIZE + 1], unit[NB_UNIT_SIZE + 1];
	const uint64_t nframe = reader->nframe;
	if (load_text(name, entry + E_NAME, NB_NAME_SIZE, 1) || load_text(dtype, entry + E_DTYPE, NB_DTYPE_SIZE, 1) ||
		load_text(unit, entry + E_UNIT, NB_UNIT_SIZE, 0))
		return fail(reader->error,
			"corrupt stream: a column name, type or unit of frame %" PRIu64 " is not plain text", nframe);
	uint32_t table = load32(entry + E_TABLE), ncomp = load32(entry + E_NCOMP);
	uint64_t bytes = load64(entry + E_BYTES);
	size_t item = nb_dtype_size(dtype), rowsize, want;
	if (item == 0)
		return fail(reader->error,
			"column '%s' of frame %" PRIu64 " has type '%s' (want a little-endian NumPy type)", name,
			nframe, dtype);
	if (table >= NB_NTABLE)
		return fail(reader->error,
			"corrupt stream: column '%s' of frame %" PRIu64 " belongs to unknown table %" PRIu32, name,
			nframe, table);
	if (ncomp == 0 || ncomp > 65536)
		return fail(reader->error,
			"corrupt stream: column '%s' of frame %" PRIu64 " has %" PRIu32 " components (want 1 to 65536)",
			name, nframe, ncomp);
	if (nb_mul_overflow(item, ncomp, &rowsize) || nb_mul_overflow(rowsize, frame->rows[table], &want))
		return fail(reader->error,
			"corrupt stream: column '%s' of frame %" PRIu64 " has more bytes than can be counted", name,
			nframe);
	if (bytes != want)
		return fail(reader->error,
			"corrupt stream: column '%s' of frame %" PRIu64 " has %" PRIu64 " bytes (want %zu)", name,
			nframe, bytes, want);
	if (load64(entry + E_OFFSET) != *offset)
		return fail(reader->error, "corrupt stream: column '%s' of frame %" PRIu64 " is at the wrong offset",
			name, nframe);
	if (exceeds_limit(reader, name, *offset, bytes))
		return NB_ERROR;
	*offset += align_up(bytes);
	if (nb_frame_find(frame, name))
		return fail(reader->error, "corrupt stream: column '%s' appears twice in frame %" PRIu64, name, nframe);
	const struct nb_field_info *info = NULL;
	for (int f = 0; f < NB_NFIELD && !info; f++)
		if (strcmp(name, nb_field_info[f].name) == 0)
			info = &nb_field_info[f];
	if (info && (info->table != (enum nb_table)table || (info->ncomp && info->ncomp != ncomp) ||
			    info->dtype[1] != dtype[1]))
		return fail(reader->error,
			"field '%s' of frame %" PRIu64 " is %" PRIu32 " x '%s' per %s (want %" PRIu32 " x '%s' per %s)",
			name, nframe, ncomp, dtype, nb_table_name[table], info->ncomp, info->dtype,
			nb_table_name[info->table]);
	uint32_t flags = load32(entry + E_FLAGS);
	if (info && (flags & ~info->flags & NB_DERIVED))
		return fail(reader->error,
			"corrupt stream: field '%s' of frame %" PRIu64 " is marked as derived (flag bit 0)", name,
			nframe);
	if (info)
		flags |= info->flags; /* another writer may have left the bit out, and would have stale contents pass */
	if (!nb_frame_add(frame, name, (enum nb_table)table, dtype, ncomp, unit, flags))
		return fail(reader->error, "out of memory for the columns of frame %" PRIu64, nframe);
	return NB_FRAME;
}

/* What the fixed part of a header says of the rest. */
struct fixed_part {
	unsigned char bytes[NB_HEADER_SIZE];
	uint32_t size, kind, ncolumn, entry_size;
	uint64_t attribute_bytes;
	size_t whole; /* bytes of the header with attributes and directory */
};

static enum nb_answer parse_head(
	struct nb_reader *reader, struct nb_frame *frame, const struct fixed_part *fixed, unsigned char *head)
{
	for (int t = 0; t < NB_NTABLE; t++) {
		frame->rows[t] = load64(head + H_ROWS + 8 * t);
		if (frame->rows[t] > NB_MAX_ROWS)
			return fail(reader->error,
				"corrupt stream: frame %" PRIu64 " claims %" PRIu64 " rows of table '%s'",
				reader->nframe, frame->rows[t], nb_table_name[t]);
	}
	enum nb_answer answer = parse_attributes(reader, frame, (char *)head + fixed->size, fixed->attribute_bytes);
	const unsigned char *entry = head + fixed->size + align_up(fixed->attribute_bytes);
	uint64_t offset = fixed->whole;
	for (uint32_t c = 0; answer == NB_FRAME && c < fixed->ncolumn; c++, entry += fixed->entry_size)
		answer = parse_entry(reader, frame, entry, &offset);
	if (answer != NB_FRAME)
		return answer;
	if (load64(head + H_BODY_BYTES) != offset - fixed->whole + align_up(4 * (uint64_t)fixed->ncolumn))
		return fail(reader->error, "corrupt stream: the length of frame %" PRIu64 " does not match its columns",
			reader->nframe);
	return NB_FRAME;
}

/* What begins where a frame should, its first same bytes as in one. */
static enum nb_answer refuse_foreign(struct nb_reader *reader, const unsigned char *head, size_t n, size_t same)
{
	const char *what = same > 3 ? "damaged by a text-mode transfer" : NULL;
	if (!what && reader->nframe == 0)
		what = nb_foreign(head, n);
	if (!what && reader->nframe == 0)
		what = nb_foreign_text(head, n);
	return fail(reader->error, "not a particle stream: wrong magic at the start of frame %" PRIu64 "%s%s%s",
		reader->nframe, what ? " (" : "", what ? what : "", what ? ")" : "");
}

/* NB_FRAME: there is a header, and its sizes are possible; NB_END: the input has ended, and was to. */
static enum nb_answer read_fixed_part(struct nb_reader *reader, struct fixed_part *fixed)
{
	unsigned char *bytes = fixed->bytes;
	int failed;
	/* the magic first: what is no stream is refused without waiting for more of it */
	size_t got = pull(reader, bytes, sizeof magic, &failed);
	if (failed)
		return NB_ERROR;
	if (got == 0)
		return at_end_of_input(reader);
	size_t same = 0;
	while (same < sizeof magic && same < got && bytes[same] == magic[same])
		same++;
	if (same < sizeof magic && same < got)
		return refuse_foreign(reader, bytes, got, same);
	if (got == sizeof magic)
		got += pull(reader, bytes + got, NB_HEADER_SIZE - got, &failed);
	if (failed)
		return NB_ERROR;
	if (got < NB_HEADER_SIZE)
		return fail(reader->error, "truncated stream: header of frame %" PRIu64 " ends after %zu of %d bytes",
			reader->nframe, got, NB_HEADER_SIZE);
	if (load16(bytes + H_MAJOR) != NB_STREAM_MAJOR)
		return fail(reader->error, "stream version %d.%d (this program reads %d.x)", load16(bytes + H_MAJOR),
			load16(bytes + H_MINOR), NB_STREAM_MAJOR);
	fixed->size = load32(bytes + H_HEADER_SIZE);
	fixed->kind = load32(bytes + H_KIND);
	fixed->attribute_bytes = load64(bytes + H_ATTRIBUTE_BYTES);
	fixed->ncolumn = load32(bytes + H_NCOLUMN);
	fixed->entry_size = load32(bytes + H_ENTRY_SIZE);
	if (fixed->size < NB_HEADER_SIZE || fixed->size > MAX_HEADER_SIZE || fixed->size % NB_ALIGN ||
		fixed->attribute_bytes > NB_MAX_ATTRIBUTE_BYTES || fixed->ncolumn > NB_MAX_COLUMNS ||
		fixed->entry_size < NB_ENTRY_SIZE || fixed->entry_size > MAX_HEADER_SIZE ||
		(fixed->kind != KIND_FRAME && fixed->kind != KIND_END))
		return fail(reader->error, "corrupt stream: header of frame %" PRIu64 " has impossible sizes",
			reader->nframe);
	fixed->whole = fixed->size + align_up(fixed->attribute_bytes) +
		       align_up((uint64_t)fixed->ncolumn * fixed->entry_size);
	return NB_FRAME;
}

/* The rest of the header into head, which has room for the whole; its CRC and number are right. */
static enum nb_answer read_whole_head(struct nb_reader *reader, const struct fixed_part *fixed, unsigned char *head)
{
	memcpy(head, fixed->bytes, NB_HEADER_SIZE);
	if (pull_all(reader, head + NB_HEADER_SIZE, fixed->whole - NB_HEADER_SIZE, "header"))
		return NB_ERROR;
	uint32_t crc = load32(head + H_CRC);
	store32(head + H_CRC, 0);
	if (nb_crc32(0, head, fixed->whole) != crc)
		return fail(
			reader->error, "corrupt stream: header of frame %" PRIu64 " has the wrong CRC", reader->nframe);
	uint64_t number = load64(head + H_NUMBER);
	if (number != reader->ninner)
		return fail(reader->error,
			"corrupt stream: frame %" PRIu64 " is numbered %" PRIu64 " (want %" PRIu64
			"; frames are missing or duplicated)",
			reader->nframe, number, reader->ninner);
	return NB_FRAME;
}

static enum nb_answer check_end_marker(struct nb_reader *reader, const struct fixed_part *fixed)
{
	const unsigned char *bytes = fixed->bytes;
	uint64_t any = fixed->attribute_bytes | fixed->ncolumn | load64(bytes + H_BODY_BYTES);
	for (int t = 0; t < NB_NTABLE; t++)
		any |= load64(bytes + H_ROWS + 8 * t);
	if (any && reader->nframe)
		return fail(reader->error, "corrupt stream: the end marker after frame %" PRIu64 " is not empty",
			reader->nframe - 1);
	return any ? fail(reader->error, "corrupt stream: the end marker is not empty") : NB_FRAME;
}

/* A file can be asked at once whether it holds all columns of a frame. */
static enum nb_answer check_mapped(struct nb_reader *reader, const struct nb_frame *frame)
{
	size_t left = reader->map_size - reader->map_at;
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		const size_t bytes = column->rows * column->rowsize, padding = (size_t)align_up(bytes) - bytes;
		if (left < bytes)
			return ends_in_column(reader, column, left);
		left -= bytes;
		if (left < padding)
			return ends_in(reader, "padding", left, padding);
		left -= padding;
	}
	return NB_FRAME;
}

enum nb_answer nb_reader_head(struct nb_reader *reader, struct nb_frame *frame)
{
	nb_frame_clear(frame);
	frame->number = reader->nframe;
	if (!little_endian())
		return fail(reader->error, "this machine is big-endian; the stream is little-endian");
	struct fixed_part fixed;
	enum nb_answer answer;
	do {
		reader->begin = reader->nbyte;
		reader->frame_at = reader->map_at;
		reader->passed = 0;
		answer = read_fixed_part(reader, &fixed);
		if (answer != NB_FRAME)
			return answer;
		unsigned char *head = calloc(fixed.whole + 1, 1);
		if (!head)
			return fail(reader->error, "out of memory for the header of frame %" PRIu64, reader->nframe);
		answer = read_whole_head(reader, &fixed, head);
		if (answer == NB_FRAME && fixed.kind == KIND_END)
			answer = check_end_marker(reader, &fixed);
		else if (answer == NB_FRAME)
			answer = parse_head(reader, frame, &fixed, head);
		if (answer == NB_FRAME)
			reader->ended = fixed.kind == KIND_END;
		if (reader->ended)
			reader->ninner = 0;
		free(head);
	} while (answer == NB_FRAME && fixed.kind == KIND_END); /* cat a b: another stream may follow */
	reader->ncolumn = frame->ncolumn;
	reader->column = 0;
	reader->whole = 0;
	memset(reader->crc, 0, sizeof reader->crc);
	return answer == NB_FRAME && reader->map ? check_mapped(reader, frame) : answer;
}

/* 1 if the frame would be too large in the stream. */
static int too_large(struct nb_reader *reader, const struct nb_frame *frame)
{
	uint64_t offset = NB_HEADER_SIZE + NB_ENTRY_SIZE * (uint64_t)frame->ncolumn, bytes = 0;
	for (size_t c = 0; c < frame->ncolumn; c++)
		bytes += align_up(frame->column[c].rows * frame->column[c].rowsize);
	if (offset + NB_MAX_ATTRIBUTE_BYTES + NB_ALIGN + bytes <= reader->limit)
		return 0;
	for (size_t i = 0; i < frame->nattribute; i++)
		offset += strlen(frame->attribute[i].key) + strlen(nb_frame_attribute_text(frame, i)) + 2;
	offset = align_up(offset);
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		if (exceeds_limit(reader, column->name, offset, column->rows * column->rowsize))
			return 1;
		offset += align_up(column->rows * column->rowsize);
	}
	return 0;
}

enum nb_answer nb_reader_count(struct nb_reader *reader, struct nb_frame *frame)
{
	frame->number = reader->nframe;
	if (too_large(reader, frame))
		return NB_ERROR;
	reader->nframe++;
	reader->ninner++;
	reader->ended = 0;
	return NB_FRAME;
}

void nb_reader_count_end(struct nb_reader *reader)
{
	reader->ninner = 0;
	reader->ended = 1;
}

int nb_reader_is_between(const struct nb_reader *reader)
{
	return reader->ninner == 0;
}

/* Reads bytes in blocks into to (NULL: into the reader's buffer, one block after another), with CRC. */
static int read_column(struct nb_reader *reader, const struct nb_column *column, unsigned char *to, uint32_t *crc,
	nb_visit *visit, void *context)
{
	size_t bytes = column->rows * column->rowsize;
	size_t block = column->rowsize < NB_BLOCK ? NB_BLOCK / column->rowsize * column->rowsize : NB_BLOCK;
	for (size_t at = 0; at < bytes;) {
		size_t want = bytes - at < block ? bytes - at : block;
		unsigned char *data;
		if (reader->map) {
			data = reader->map + reader->map_at; /* nb_reader_head has checked that it is all there */
			if (to)
				memcpy(to + at, data, want);
			reader->map_at += want;
			reader->nbyte += want;
		} else {
			int failed;
			data = to ? to + at : reader->buffer;
			size_t got = pull(reader, data, want, &failed);
			if (got < want) {
				if (!failed)
					ends_in_column(reader, column, at + got);
				return -1;
			}
		}
		*crc = nb_crc32(*crc, data, want);
		if (visit && visit(context, column, at, data, want))
			return -1;
		at += want;
	}
	unsigned char padding[NB_ALIGN];
	return pull_all(reader, padding, align_up(bytes) - bytes, "padding");
}

static enum nb_answer check_trailer(struct nb_reader *reader, const struct nb_frame *frame)
{
	unsigned char trailer[4 * NB_MAX_COLUMNS + NB_ALIGN];
	if (pull_all(reader, trailer, align_up(4 * reader->ncolumn), "checksums"))
		return NB_ERROR;
	reader->passed = 1;
	for (size_t c = 0; c < reader->ncolumn; c++)
		if (load32(trailer + 4 * c) != reader->crc[c])
			return fail(reader->error, "corrupt stream: column '%s' of frame %" PRIu64 " has the wrong CRC",
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
				return fail(reader->error,
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
	return read_columns(reader, frame, count, 1, NULL, NULL);
}

enum nb_answer nb_reader_body(struct nb_reader *reader, struct nb_frame *frame, nb_visit *visit, void *context)
{
	return read_columns(reader, frame, SIZE_MAX, 0, visit, context);
}

enum nb_answer nb_reader_skip(struct nb_reader *reader, struct nb_frame *frame)
{
	unsigned char rest[4 * NB_MAX_COLUMNS + NB_ALIGN];
	for (; reader->column < reader->ncolumn; reader->column++) {
		const struct nb_column *column = &frame->column[reader->column];
		const size_t bytes = column->rows * column->rowsize;
		if (reader->map) {
			reader->map_at += bytes; /* nb_reader_head has checked that it is all there */
			reader->nbyte += bytes;
		}
		for (size_t at = 0, want; !reader->map && at < bytes; at += want) {
			int failed;
			want = bytes - at < NB_BLOCK ? bytes - at : NB_BLOCK;
			const size_t got = pull(reader, reader->buffer, want, &failed);
			if (got < want)
				return failed ? NB_ERROR : ends_in_column(reader, column, at + got);
		}
		if (pull_all(reader, rest, align_up(bytes) - bytes, "padding"))
			return NB_ERROR;
	}
	if (pull_all(reader, rest, align_up(4 * reader->ncolumn), "checksums"))
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
	struct fixed_part fixed;
	int is = 0;
	reader->map_at = at;
	if (read_fixed_part(reader, &fixed) == NB_FRAME && fixed.whole <= reader->map_size - at) {
		unsigned char *head = malloc(fixed.whole);
		*number = reader->ninner = load64(fixed.bytes + H_NUMBER);
		is = head && read_whole_head(reader, &fixed, head) == NB_FRAME;
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

/* ------------------------------------------------------------------------------------------------- */

enum nb_answer nb_reader_next(struct nb_reader *reader, struct nb_frame *frame)
{
	enum nb_answer answer = nb_reader_head(reader, frame);
	return answer == NB_FRAME ? nb_reader_columns(reader, frame, SIZE_MAX) : answer;
}

/* ---- writing ------------------------------------------------------------------------------------ */

int nb_writer_open(struct nb_writer *writer, int fd)
{
	memset(writer, 0, sizeof *writer);
	writer->fd = fd;
	widen_pipe(fd);
	writer->buffer = nb_alloc(NB_BLOCK, 1);
	return writer->buffer ? NB_OK : NB_ENOMEM;
}

static int push(struct nb_writer *writer, const void *data, size_t bytes)
{
	const char *from = data;
	while (bytes) {
		ssize_t n = write(writer->fd, from, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno == EFAULT)
				nb_mapped_require(from, bytes);
			fail(writer->error, "write error: %s", strerror(errno));
			return -1;
		}
		from += n;
		bytes -= (size_t)n;
		__atomic_fetch_add(&writer->nbyte, (uint64_t)n, __ATOMIC_RELAXED);
	}
	return 0;
}

int nb_writer_flush(struct nb_writer *writer)
{
	size_t used = writer->used;
	writer->used = 0;
	return push(writer, writer->buffer, used);
}

/* Small pieces are collected; large ones go out as they are. */
static int put(struct nb_writer *writer, const void *data, size_t bytes)
{
	if (bytes == 0)
		return 0;
	if (bytes >= NB_BLOCK / 2 || writer->used + bytes > NB_BLOCK) {
		if (nb_writer_flush(writer))
			return -1;
		if (bytes >= NB_BLOCK / 2)
			return push(writer, data, bytes);
	}
	memcpy(writer->buffer + writer->used, data, bytes);
	writer->used += bytes;
	return 0;
}

static int put_padding(struct nb_writer *writer, uint64_t bytes)
{
	static const unsigned char zero[NB_ALIGN];
	return put(writer, zero, (size_t)(align_up(bytes) - bytes));
}

static size_t escaped_size(const char *text)
{
	size_t size = 0;
	for (; *text; text++)
		size += *text == '\n' || *text == '\\' ? 2 : 1;
	return size;
}

static char *escape(char *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n' || *text == '\\')
			*to++ = '\\';
		*to++ = *text == '\n' ? 'n' : *text;
	}
	return to;
}

static void store_text(unsigned char *to, const char *text)
{
	memcpy(to, text, strlen(text));
}

static void store_fixed(unsigned char *head, uint32_t kind, uint64_t number)
{
	memcpy(head + H_MAGIC, magic, sizeof magic);
	store16(head + H_MAJOR, NB_STREAM_MAJOR);
	store16(head + H_MINOR, NB_STREAM_MINOR);
	store32(head + H_HEADER_SIZE, NB_HEADER_SIZE);
	store32(head + H_KIND, kind);
	store64(head + H_NUMBER, number);
	store32(head + H_ENTRY_SIZE, NB_ENTRY_SIZE);
}

int nb_writer_begin(struct nb_writer *writer, const struct nb_frame *frame)
{
	uint64_t attribute_bytes = 0;
	for (size_t a = 0; a < frame->nattribute; a++)
		attribute_bytes += strlen(frame->attribute[a].key) + escaped_size(nb_frame_attribute_text(frame, a)) +
				   2;
	if (attribute_bytes > NB_MAX_ATTRIBUTE_BYTES) {
		fail(writer->error, "frame %" PRIu64 " has %" PRIu64 " bytes of attributes (limit %d)", writer->nframe,
			attribute_bytes, NB_MAX_ATTRIBUTE_BYTES);
		return -1;
	}
	uint64_t bytes = NB_HEADER_SIZE + align_up(attribute_bytes) +
			 align_up((uint64_t)frame->ncolumn * NB_ENTRY_SIZE);
	unsigned char *head = calloc(bytes, 1);
	if (!head) {
		fail(writer->error, "out of memory");
		return -1;
	}
	store_fixed(head, KIND_FRAME, writer->nframe);
	for (int t = 0; t < NB_NTABLE; t++)
		store64(head + H_ROWS + 8 * t, frame->rows[t]);
	store64(head + H_ATTRIBUTE_BYTES, attribute_bytes);
	store32(head + H_NCOLUMN, (uint32_t)frame->ncolumn);
	char *text = (char *)head + NB_HEADER_SIZE;
	for (size_t a = 0; a < frame->nattribute; a++) {
		text = escape(text, frame->attribute[a].key);
		*text++ = '=';
		text = escape(text, nb_frame_attribute_text(frame, a));
		*text++ = '\n';
	}
	unsigned char *entry = head + NB_HEADER_SIZE + align_up(attribute_bytes);
	uint64_t offset = bytes;
	for (size_t c = 0; c < frame->ncolumn; c++, entry += NB_ENTRY_SIZE) {
		const struct nb_column *column = &frame->column[c];
		if (column->rows != frame->rows[column->table]) {
			free(head);
			fail(writer->error, "internal error: column '%s' does not have the rows of its table",
				column->name);
			return -1;
		}
		store_text(entry + E_NAME, column->name);
		store_text(entry + E_DTYPE, column->dtype);
		store32(entry + E_TABLE, (uint32_t)column->table);
		store32(entry + E_NCOMP, column->ncomp);
		store32(entry + E_FLAGS, column->flags);
		store_text(entry + E_UNIT, column->unit);
		store64(entry + E_OFFSET, offset);
		store64(entry + E_BYTES, column->rows * column->rowsize);
		offset += align_up(column->rows * column->rowsize);
	}
	store64(head + H_BODY_BYTES, offset - bytes + align_up(4 * (uint64_t)frame->ncolumn));
	store32(head + H_CRC, nb_crc32(0, head, bytes));
	int status = put(writer, head, bytes);
	free(head);
	writer->frame = frame;
	writer->column = 0;
	writer->at = 0;
	memset(writer->crc, 0, frame->ncolumn * sizeof *writer->crc);
	return status;
}

/* Finishes the columns that are complete. */
static int next_columns(struct nb_writer *writer)
{
	const struct nb_frame *frame = writer->frame;
	while (writer->column < frame->ncolumn) {
		const struct nb_column *column = &frame->column[writer->column];
		uint64_t bytes = column->rows * column->rowsize;
		if (writer->at < bytes)
			return 0;
		if (put_padding(writer, bytes))
			return -1;
		writer->column++;
		writer->at = 0;
	}
	return 0;
}

int nb_writer_block(struct nb_writer *writer, const void *data, size_t bytes)
{
	const unsigned char *from = data;
	if (next_columns(writer))
		return -1;
	while (bytes) {
		if (writer->column == writer->frame->ncolumn) {
			fail(writer->error, "internal error: more bytes than frame %" PRIu64 " has columns for",
				writer->nframe);
			return -1;
		}
		const struct nb_column *column = &writer->frame->column[writer->column];
		uint64_t left = column->rows * column->rowsize - writer->at;
		size_t block = bytes < NB_BLOCK ? bytes : NB_BLOCK;
		if (block > left)
			block = (size_t)left;
		writer->crc[writer->column] = nb_crc32(writer->crc[writer->column], from, block);
		if (put(writer, from, block))
			return -1;
		writer->at += block;
		from += block;
		bytes -= block;
		if (next_columns(writer))
			return -1;
	}
	return 0;
}

int nb_writer_end(struct nb_writer *writer)
{
	if (next_columns(writer))
		return -1;
	size_t ncolumn = writer->frame->ncolumn;
	if (writer->column != ncolumn) {
		fail(writer->error, "internal error: frame %" PRIu64 " lacks contents of column '%s'", writer->nframe,
			writer->frame->column[writer->column].name);
		return -1;
	}
	for (size_t c = 0; c < ncolumn; c++) {
		unsigned char bytes[4];
		store32(bytes, writer->crc[c]);
		if (put(writer, bytes, sizeof bytes))
			return -1;
	}
	if (put_padding(writer, 4 * (uint64_t)ncolumn))
		return -1;
	writer->frame = NULL;
	writer->nframe++;
	return 0;
}

/* A column whose only copy is in f64 and whose wire form is narrower goes out block by block. */
static int write_column(struct nb_writer *writer, struct nb_column *column)
{
	const struct nb_copy *wide = NULL;
	for (int i = 0; i < NB_MAX_COPIES; i++) {
		const struct nb_copy *copy = &column->copy[i];
		if (!copy->valid || !copy->space || copy->space->device >= 0)
			continue;
		if (copy->form == NB_WIRE)
			return nb_writer_block(writer, copy->data, column->rows * column->rowsize);
		wide = copy;
	}
	if (!wide) {
		const void *data = nb_column_read(column, &nb_space_host, NB_WIRE);
		if (!data) {
			const char *why = nb_space_failure();
			fail(writer->error, "column '%s' of frame %" PRIu64 " %s%s", column->name, writer->nframe,
				*why ? "is on a device that failed: " : "has no contents or does not fit into memory",
				why);
			return -1;
		}
		return nb_writer_block(writer, data, column->rows * column->rowsize);
	}
	double block[2048]; /* room for the narrowed numbers too */
	const double *from = wide->data;
	size_t item = nb_dtype_size(column->dtype);
	for (size_t left = column->rows * column->ncomp, n; left; left -= n, from += n) {
		n = left < 2048 ? left : 2048;
		nb_dtype_from_f64(column->dtype, n, from, block);
		if (nb_writer_block(writer, block, n * item))
			return -1;
	}
	return 0;
}

int nb_writer_next(struct nb_writer *writer, const struct nb_frame *frame)
{
	if (nb_writer_begin(writer, frame))
		return -1;
	for (size_t c = 0; c < frame->ncolumn; c++)
		if (write_column(writer, &frame->column[c]))
			return -1;
	return nb_writer_end(writer);
}

int nb_writer_close(struct nb_writer *writer)
{
	unsigned char head[NB_HEADER_SIZE] = {0};
	store_fixed(head, KIND_END, writer->nframe);
	store32(head + H_CRC, nb_crc32(0, head, sizeof head));
	if (put(writer, head, sizeof head) || nb_writer_flush(writer))
		return -1;
	nb_writer_abandon(writer);
	if (close(writer->fd)) {
		fail(writer->error, "write error: %s", strerror(errno));
		return -1;
	}
	return 0;
}

void nb_writer_abandon(struct nb_writer *writer)
{
	nb_free(writer->buffer);
	writer->buffer = NULL;
}
