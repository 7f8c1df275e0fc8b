/* The header of a frame: its fixed part, its attributes, and the directory of its columns. */
#include "formats/stream/stream_internal.h"

#include "common/mem.h"
#include "formats/stream/crc32_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum nb_answer at_end_of_input(struct nb_reader *reader)
{
	if (reader->ended) {
		if (reader->map) /* leave the file where the stream ended, as read() would have */
			(void)!lseek(reader->fd, (off_t)reader->map_at, SEEK_SET);
		return NB_END;
	}
	if (reader->nframe == reader->first)
		return nb_stream_fail(reader->error,
			"truncated stream: empty input (want a particle stream; did the command before it fail?)");
	return nb_stream_fail(
		reader->error, "truncated stream: no end marker after frame %" PRIu64, reader->nframe - 1);
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
		return nb_stream_fail(reader->error,
			"corrupt stream: attributes of frame %" PRIu64 " are not lines of key=value", reader->nframe);
	*equals = '\0';
	if (line[strspn(line, key_characters)])
		return nb_stream_fail(reader->error,
			"corrupt stream: frame %" PRIu64
			" has an attribute with the key '%.40s' (want letters a to z, digits and _)",
			reader->nframe, line);
	if (undo_escapes(equals + 1, end))
		return nb_stream_fail(reader->error,
			"corrupt stream: attribute '%.40s' of frame %" PRIu64
			" has a backslash that is neither \\\\ nor \\n",
			line, reader->nframe);
	if (nb_frame_add_attribute(frame, line, equals + 1))
		return nb_stream_fail(
			reader->error, "out of memory for the attributes of frame %" PRIu64, reader->nframe);
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
		return nb_stream_fail(
			reader->error, "out of memory for the attributes of frame %" PRIu64, reader->nframe);
	for (size_t i = 0; i < frame->nattribute; i++)
		if (strcmp(frame->attribute[i].key, "history") != 0)
			key[n++] = frame->attribute[i].key;
	qsort(key, n, sizeof *key, by_key);
	for (size_t i = 1; i < n && answer == NB_FRAME; i++)
		if (strcmp(key[i - 1], key[i]) == 0)
			answer = nb_stream_fail(reader->error,
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
	if (reader->limit == NB_COUNTABLE)
		nb_stream_fail(reader->error,
			"corrupt stream: column '%s' of frame %" PRIu64 " ends behind %" PRIu64 " bytes", name,
			reader->nframe, NB_COUNTABLE);
	else if (limit && *limit)
		nb_stream_fail(reader->error,
			"column '%s' of frame %" PRIu64 " has %" PRIu64 " bytes, more than NB_MAX_FRAME='%.40s'", name,
			reader->nframe, bytes, limit);
	else
		nb_stream_fail(reader->error,
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
		return nb_stream_fail(reader->error,
			"corrupt stream: a column name, type or unit of frame %" PRIu64 " is not plain text", nframe);
	uint32_t table = load32(entry + E_TABLE), ncomp = load32(entry + E_NCOMP);
	uint64_t bytes = load64(entry + E_BYTES);
	size_t item = nb_dtype_size(dtype), rowsize, want;
	if (item == 0)
		return nb_stream_fail(reader->error,
			"column '%s' of frame %" PRIu64 " has type '%s' (want a little-endian NumPy type)", name,
			nframe, dtype);
	if (table >= NB_NTABLE)
		return nb_stream_fail(reader->error,
			"corrupt stream: column '%s' of frame %" PRIu64 " belongs to unknown table %" PRIu32, name,
			nframe, table);
	if (ncomp == 0 || ncomp > 65536)
		return nb_stream_fail(reader->error,
			"corrupt stream: column '%s' of frame %" PRIu64 " has %" PRIu32 " components (want 1 to 65536)",
			name, nframe, ncomp);
	if (nb_mul_overflow(item, ncomp, &rowsize) || nb_mul_overflow(rowsize, frame->rows[table], &want))
		return nb_stream_fail(reader->error,
			"corrupt stream: column '%s' of frame %" PRIu64 " has more bytes than can be counted", name,
			nframe);
	if (bytes != want)
		return nb_stream_fail(reader->error,
			"corrupt stream: column '%s' of frame %" PRIu64 " has %" PRIu64 " bytes (want %zu)", name,
			nframe, bytes, want);
	if (load64(entry + E_OFFSET) != *offset)
		return nb_stream_fail(reader->error,
			"corrupt stream: column '%s' of frame %" PRIu64 " is at the wrong offset", name, nframe);
	if (exceeds_limit(reader, name, *offset, bytes))
		return NB_ERROR;
	*offset += align_up(bytes);
	if (nb_frame_find(frame, name))
		return nb_stream_fail(
			reader->error, "corrupt stream: column '%s' appears twice in frame %" PRIu64, name, nframe);
	const struct nb_field_info *info = NULL;
	for (int f = 0; f < NB_NFIELD && !info; f++)
		if (strcmp(name, nb_field_info[f].name) == 0)
			info = &nb_field_info[f];
	if (info && (info->table != (enum nb_table)table || (info->ncomp && info->ncomp != ncomp) ||
			    info->dtype[1] != dtype[1]))
		return nb_stream_fail(reader->error,
			"field '%s' of frame %" PRIu64 " is %" PRIu32 " x '%s' per %s (want %" PRIu32 " x '%s' per %s)",
			name, nframe, ncomp, dtype, nb_table_name[table], info->ncomp, info->dtype,
			nb_table_name[info->table]);
	uint32_t flags = load32(entry + E_FLAGS);
	if (info && (flags & ~info->flags & NB_DERIVED))
		return nb_stream_fail(reader->error,
			"corrupt stream: field '%s' of frame %" PRIu64 " is marked as derived (flag bit 0)", name,
			nframe);
	if (info)
		flags |= info->flags; /* another writer may have left the bit out, and would have stale contents pass */
	if (!nb_frame_add(frame, name, (enum nb_table)table, dtype, ncomp, unit, flags))
		return nb_stream_fail(reader->error, "out of memory for the columns of frame %" PRIu64, nframe);
	return NB_FRAME;
}

static enum nb_answer parse_head(
	struct nb_reader *reader, struct nb_frame *frame, const struct nb_header *fixed, unsigned char *head)
{
	for (int t = 0; t < NB_NTABLE; t++) {
		frame->rows[t] = load64(head + H_ROWS + 8 * t);
		if (frame->rows[t] > NB_MAX_ROWS)
			return nb_stream_fail(reader->error,
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
		return nb_stream_fail(reader->error,
			"corrupt stream: the length of frame %" PRIu64 " does not match its columns", reader->nframe);
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
	return nb_stream_fail(reader->error,
		"not a particle stream: wrong magic at the start of frame %" PRIu64 "%s%s%s", reader->nframe,
		what ? " (" : "", what ? what : "", what ? ")" : "");
}

enum nb_answer nb_header_read_fixed(struct nb_reader *reader, struct nb_header *fixed)
{
	unsigned char *bytes = fixed->bytes;
	int failed;
	/* the magic first: what is no stream is refused without waiting for more of it */
	size_t got = nb_reader_pull(reader, bytes, sizeof magic, &failed);
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
		got += nb_reader_pull(reader, bytes + got, NB_HEADER_SIZE - got, &failed);
	if (failed)
		return NB_ERROR;
	if (got < NB_HEADER_SIZE)
		return nb_stream_fail(reader->error,
			"truncated stream: header of frame %" PRIu64 " ends after %zu of %d bytes", reader->nframe, got,
			NB_HEADER_SIZE);
	if (load16(bytes + H_MAJOR) == NB_STREAM_MAJOR << 8)
		return nb_stream_fail(reader->error, "big-endian stream (want a little-endian one, see nb-stream(5))");
	if (load16(bytes + H_MAJOR) != NB_STREAM_MAJOR)
		return nb_stream_fail(reader->error, "stream version %d.%d (this program reads %d.x)",
			load16(bytes + H_MAJOR), load16(bytes + H_MINOR), NB_STREAM_MAJOR);
	fixed->size = load32(bytes + H_HEADER_SIZE);
	fixed->kind = load32(bytes + H_KIND);
	fixed->attribute_bytes = load64(bytes + H_ATTRIBUTE_BYTES);
	fixed->ncolumn = load32(bytes + H_NCOLUMN);
	fixed->entry_size = load32(bytes + H_ENTRY_SIZE);
	if (fixed->size < NB_HEADER_SIZE || fixed->size > MAX_HEADER_SIZE || fixed->size % NB_ALIGN ||
		fixed->attribute_bytes > NB_MAX_ATTRIBUTE_BYTES || fixed->ncolumn > NB_MAX_COLUMNS ||
		fixed->entry_size < NB_ENTRY_SIZE || fixed->entry_size > MAX_HEADER_SIZE ||
		(fixed->kind != KIND_FRAME && fixed->kind != KIND_END))
		return nb_stream_fail(reader->error, "corrupt stream: header of frame %" PRIu64 " has impossible sizes",
			reader->nframe);
	fixed->whole = fixed->size + align_up(fixed->attribute_bytes) +
		       align_up((uint64_t)fixed->ncolumn * fixed->entry_size);
	return NB_FRAME;
}

enum nb_answer nb_header_read_rest(struct nb_reader *reader, const struct nb_header *fixed, unsigned char *head)
{
	memcpy(head, fixed->bytes, NB_HEADER_SIZE);
	if (nb_reader_pull_all(reader, head + NB_HEADER_SIZE, fixed->whole - NB_HEADER_SIZE, "header"))
		return NB_ERROR;
	uint32_t crc = load32(head + H_CRC);
	store32(head + H_CRC, 0);
	if (nb_crc32(0, head, fixed->whole) != crc)
		return nb_stream_fail(
			reader->error, "corrupt stream: header of frame %" PRIu64 " has the wrong CRC", reader->nframe);
	uint64_t number = load64(head + H_NUMBER);
	if (number != reader->ninner)
		return nb_stream_fail(reader->error,
			"corrupt stream: frame %" PRIu64 " is numbered %" PRIu64 " (want %" PRIu64
			"; frames are missing or duplicated)",
			reader->nframe, number, reader->ninner);
	return NB_FRAME;
}

static enum nb_answer check_end_marker(struct nb_reader *reader, const struct nb_header *fixed)
{
	const unsigned char *bytes = fixed->bytes;
	uint64_t any = fixed->attribute_bytes | fixed->ncolumn | load64(bytes + H_BODY_BYTES);
	for (int t = 0; t < NB_NTABLE; t++)
		any |= load64(bytes + H_ROWS + 8 * t);
	if (any && reader->nframe)
		return nb_stream_fail(reader->error,
			"corrupt stream: the end marker after frame %" PRIu64 " is not empty", reader->nframe - 1);
	return any ? nb_stream_fail(reader->error, "corrupt stream: the end marker is not empty") : NB_FRAME;
}

/* A file can be asked at once whether it holds all columns of a frame. */
static enum nb_answer check_mapped(struct nb_reader *reader, const struct nb_frame *frame)
{
	size_t left = reader->map_size - reader->map_at;
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		const size_t bytes = column->rows * column->rowsize, padding = (size_t)align_up(bytes) - bytes;
		if (left < bytes)
			return nb_reader_ends_in_column(reader, column, left);
		left -= bytes;
		if (left < padding)
			return nb_reader_ends_in(reader, "padding", left, padding);
		left -= padding;
	}
	return NB_FRAME;
}

static enum nb_answer read_head(struct nb_reader *reader, struct nb_frame *frame)
{
	nb_frame_clear(frame);
	frame->number = reader->nframe;
	struct nb_header fixed;
	enum nb_answer answer;
	do {
		reader->begin = reader->nbyte;
		reader->frame_at = reader->map_at;
		reader->passed = 0;
		answer = nb_header_read_fixed(reader, &fixed);
		if (answer != NB_FRAME)
			return answer;
		unsigned char *head = calloc(fixed.whole + 1, 1);
		if (!head)
			return nb_stream_fail(
				reader->error, "out of memory for the header of frame %" PRIu64, reader->nframe);
		answer = nb_header_read_rest(reader, &fixed, head);
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

enum nb_answer nb_reader_head(struct nb_reader *reader, struct nb_frame *frame)
{
	return nb_reader_judge(reader, read_head(reader, frame));
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
	reader->nbyte += NB_HEADER_SIZE;
}

int nb_reader_is_between(const struct nb_reader *reader)
{
	return reader->ninner == 0;
}
