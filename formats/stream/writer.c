/* Writing the particle stream: headers, contents of columns, end markers. */
#include "formats/stream/stream_internal.h"

#include "common/cpu.h"
#include "common/mapped.h"
#include "common/mem.h"
#include "formats/stream/crc32_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int nb_writer_open(struct nb_writer *writer, int fd)
{
	memset(writer, 0, sizeof *writer);
	writer->fd = fd;
	nb_stream_widen_pipe(fd);
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
			nb_stream_fail(writer->error, "write error: %s", strerror(errno));
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

static uint64_t attributes_size(const struct nb_frame *frame)
{
	uint64_t bytes = 0;
	for (size_t a = 0; a < frame->nattribute; a++)
		bytes += strlen(frame->attribute[a].key) + escaped_size(nb_frame_attribute_text(frame, a)) + 2;
	return bytes;
}

uint64_t nb_frame_bytes(const struct nb_frame *frame)
{
	const uint64_t ncolumn = frame->ncolumn;
	uint64_t bytes = NB_HEADER_SIZE + align_up(attributes_size(frame)) + align_up(ncolumn * NB_ENTRY_SIZE) +
			 align_up(4 * ncolumn);
	for (size_t c = 0; c < ncolumn; c++)
		bytes += align_up(frame->column[c].rows * frame->column[c].rowsize);
	return bytes;
}

int nb_writer_begin(struct nb_writer *writer, const struct nb_frame *frame)
{
	const uint64_t attribute_bytes = attributes_size(frame);
	if (attribute_bytes > NB_MAX_ATTRIBUTE_BYTES) {
		nb_stream_fail(writer->error, "frame %" PRIu64 " has %" PRIu64 " bytes of attributes (limit %d)",
			writer->nframe, attribute_bytes, NB_MAX_ATTRIBUTE_BYTES);
		return -1;
	}
	uint64_t bytes = NB_HEADER_SIZE + align_up(attribute_bytes) +
			 align_up((uint64_t)frame->ncolumn * NB_ENTRY_SIZE);
	unsigned char *head = calloc(bytes, 1);
	if (!head) {
		nb_stream_fail(writer->error, "out of memory");
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
			nb_stream_fail(writer->error, "internal error: column '%s' does not have the rows of its table",
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

/* sum: the CRC of the bytes, which are of one column; NULL: it is computed here. */
static int write_bytes(struct nb_writer *writer, const unsigned char *from, size_t bytes, const uint32_t *sum)
{
	enum { SEVERAL = 4 }; /* fewer threads rather compute it of what they write next, which stays in a cache */
	if (next_columns(writer))
		return -1;
	while (bytes) {
		if (writer->column == writer->frame->ncolumn) {
			nb_stream_fail(writer->error,
				"internal error: more bytes than frame %" PRIu64 " has columns for", writer->nframe);
			return -1;
		}
		const struct nb_column *column = &writer->frame->column[writer->column];
		uint32_t *crc = &writer->crc[writer->column];
		uint64_t left = column->rows * column->rowsize - writer->at;
		const size_t part = bytes < left ? bytes : (size_t)left;
		const int summed = sum || (part >= SEVERAL * NB_CRC32_EACH && nb_cpu_threads() >= SEVERAL);
		if (summed)
			*crc = sum ? nb_crc32_join(*crc, *sum, part) : nb_crc32_shared(*crc, from, part);
		for (size_t end = part, block; end > 0; end -= block, from += block) {
			block = end < NB_BLOCK ? end : NB_BLOCK;
			if (!summed)
				*crc = nb_crc32(*crc, from, block);
			if (put(writer, from, block))
				return -1;
		}
		writer->at += part;
		bytes -= part;
		if (next_columns(writer))
			return -1;
	}
	return 0;
}

int nb_writer_block(struct nb_writer *writer, const void *data, size_t bytes)
{
	return write_bytes(writer, data, bytes, NULL);
}

int nb_writer_summed(struct nb_writer *writer, const void *data, size_t bytes, uint32_t sum)
{
	return write_bytes(writer, data, bytes, &sum);
}

int nb_writer_end(struct nb_writer *writer)
{
	if (next_columns(writer))
		return -1;
	size_t ncolumn = writer->frame->ncolumn;
	if (writer->column != ncolumn) {
		nb_stream_fail(writer->error, "internal error: frame %" PRIu64 " lacks contents of column '%s'",
			writer->nframe, writer->frame->column[writer->column].name);
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
			nb_stream_fail(writer->error, "column '%s' of frame %" PRIu64 " %s%s", column->name,
				writer->nframe,
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
		nb_stream_fail(writer->error, "write error: %s", strerror(errno));
		return -1;
	}
	return 0;
}

void nb_writer_abandon(struct nb_writer *writer)
{
	nb_free(writer->buffer);
	writer->buffer = NULL;
}
