/* A zip archive of NumPy arrays, as numpy.savez makes it: one array for each column of bodies, and one for each
 * attribute.  Entries are stored as they are; whoever reads finds them by the directory at the end.  Only written.
 *
 * Of several frames the arrays of frame 0 are called 0/pos, 0/time, and so on. */
#include "formats/exchange/exchange.h"
#include "formats/exchange/output.h"

#include "common/mem.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ALIGN = 64,	     /* a .npy header ends at a multiple of it */
	LOCAL = 30,	     /* bytes of a local header without name and extra field */
	EXTRA = 20,	     /* sizes of 8 bytes, in a local header and in the directory */
	STORED_VERSION = 45, /* of what is needed to read: sizes of 8 bytes */
	DATE = 1 << 5 | 1    /* 1 January 1980: the same input gives the same bytes */
};

struct npz_writer {
	uint64_t at;	 /* bytes written */
	char *directory; /* entries, for the end */
	size_t used, room;
	uint64_t nentry;
};

/* ---- the archive -------------------------------------------------------------------------------- */

static unsigned char *put(unsigned char *to, uint64_t value, int bytes)
{
	for (; bytes > 0; bytes--, value >>= 8)
		*to++ = (unsigned char)value;
	return to;
}

static int put_bytes(struct nb_export *out, const void *data, size_t bytes)
{
	((struct npz_writer *)out->state)->at += bytes;
	return nb_output_bytes(out->output, data, bytes) ? -1 : NB_OK;
}

static int remember(struct npz_writer *writer, const void *data, size_t bytes)
{
	if (nb_reserve(writer->directory, writer->used, writer->used + bytes, writer->room))
		return NB_ENOMEM;
	memcpy(writer->directory + writer->used, data, bytes);
	writer->used += bytes;
	return NB_OK;
}

/* What a local header and an entry of the directory have in common. */
static unsigned char *put_common(unsigned char *to, uint32_t crc, uint64_t size, size_t name, size_t extra)
{
	(void)size; /* in the extra field */
	to = put(to, STORED_VERSION, 2);
	to = put(to, 1 << 11, 2); /* names are UTF-8 */
	to = put(to, 0, 2);	  /* stored */
	to = put(to, 0, 2);
	to = put(to, DATE, 2);
	to = put(to, crc, 4);
	to = put(to, UINT32_MAX, 4);
	to = put(to, UINT32_MAX, 4);
	to = put(to, name, 2);
	return put(to, extra, 2);
}

/* One entry: two pieces of data. */
static int put_entry(
	struct nb_export *out, const char *name, const void *head, size_t head_size, const void *data, size_t data_size)
{
	struct npz_writer *writer = out->state;
	const size_t length = strlen(name);
	const uint64_t size = (uint64_t)head_size + data_size, at = writer->at;
	const uint32_t crc = libdeflate_crc32(libdeflate_crc32(0, head, head_size), data, data_size);
	unsigned char bytes[128], *end;
	end = put_common(put(bytes, 0x04034b50, 4), crc, size, length, EXTRA);
	if (put_bytes(out, bytes, (size_t)(end - bytes)) || put_bytes(out, name, length))
		return -1;
	end = put(put(put(put(bytes, 1, 2), 16, 2), size, 8), size, 8);
	if (put_bytes(out, bytes, (size_t)(end - bytes)) || put_bytes(out, head, head_size) ||
		put_bytes(out, data, data_size))
		return -1;
	end = put_common(put(put(bytes, 0x02014b50, 4), STORED_VERSION, 2), crc, size, length, EXTRA + 8);
	end = put(end, 0, 2 + 2 + 2 + 4); /* comment, disk, attributes */
	end = put(end, UINT32_MAX, 4);	  /* at */
	if (remember(writer, bytes, (size_t)(end - bytes)) || remember(writer, name, length))
		return NB_ENOMEM;
	end = put(put(put(put(put(bytes, 1, 2), 24, 2), size, 8), size, 8), at, 8);
	writer->nentry++;
	return remember(writer, bytes, (size_t)(end - bytes));
}

static int end(struct nb_export *out)
{
	struct npz_writer *writer = out->state;
	const uint64_t at = writer->at, n = writer->nentry, size = writer->used;
	unsigned char bytes[128], *to = put(bytes, 0x06064b50, 4);
	if (n == 0) { /* an archive without entries must begin with what is the last record of others */
		to = put(put(put(bytes, 0x06054b50, 4), 0, 8), 0, 10);
		return put_bytes(out, bytes, (size_t)(to - bytes));
	}
	to = put(put(put(to, 44, 8), STORED_VERSION, 2), STORED_VERSION, 2);
	to = put(put(put(put(put(put(to, 0, 8), n, 8), n, 8), size, 8), at, 8), 0x07064b50, 4);
	to = put(put(put(put(to, 0, 4), at + size, 8), 1, 4), 0x06054b50, 4);
	to = put(put(put(to, 0, 4), UINT16_MAX, 2), UINT16_MAX, 2);
	to = put(put(put(to, UINT32_MAX, 4), UINT32_MAX, 4), 0, 2);
	return put_bytes(out, writer->directory, writer->used) || put_bytes(out, bytes, (size_t)(to - bytes)) ? -1
													      : NB_OK;
}

/* ---- arrays ------------------------------------------------------------------------------------- */

/* An array whose description is given: "'<f8'", "(5, 3)". */
static int put_array(
	struct nb_export *out, const char *name, const char *dtype, const char *shape, const void *data, size_t bytes)
{
	char path[160], text[256];
	if (out->several)
		snprintf(path, sizeof path, "%" PRIu64 "/%s.npy", out->nframe, name);
	else
		snprintf(path, sizeof path, "%s.npy", name);
	unsigned char head[sizeof text + ALIGN] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
	size_t length = (size_t)snprintf(
		text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", dtype, shape);
	size_t size = (10 + length + 1 + ALIGN - 1) / ALIGN * ALIGN;
	put(head + 8, size - 10, 2);
	memset(head + 10, ' ', size - 10);
	memcpy(head + 10, text, length);
	head[size - 1] = '\n';
	return put_entry(out, path, head, size, data, bytes);
}

static int put_column(struct nb_export *out, struct nb_column *column)
{
	char shape[64];
	const void *data = nb_column_read(column, &nb_space_host, NB_WIRE);
	if (!data && column->rows)
		return NB_ENOMEM;
	if (column->ncomp > 1)
		snprintf(shape, sizeof shape, "(%zu, %" PRIu32 ")", column->rows, column->ncomp);
	else
		snprintf(shape, sizeof shape, "(%zu,)", column->rows);
	return put_array(out, column->name, column->dtype, shape, data, column->rows * column->rowsize);
}

/* The characters of UTF-8 text as numbers of 4 bytes, which NumPy has in a 'U'; a byte that is none stays one. */
static size_t to_u4(const char *text, uint32_t *to)
{
	size_t n = 0;
	for (const unsigned char *c = (const unsigned char *)text; *c;) {
		const int more = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc2 ? 1 : 0;
		uint32_t x = more ? *c & (0x3fu >> more) : *c;
		int k = 1;
		for (; k <= more && (c[k] & 0xc0) == 0x80; k++)
			x = x << 6 | (c[k] & 0x3f);
		const int whole = k > more && x <= 0x10ffff;
		to[n++] = whole ? x : *c;
		c += whole ? k : 1;
	}
	return n;
}

/* An attribute: a number or a text without dimensions. */
static int put_attribute(struct nb_export *out, const struct nb_frame *frame, const char *key, const char *text)
{
	char name[96], dtype[32];
	double x;
	snprintf(name, sizeof name, "%s%.80s", nb_frame_find(frame, key) ? "attribute_" : "", key);
	if (nb_frame_attribute_f64(frame, key, 0, &x) == NB_OK)
		return put_array(out, name, "<f8", "()", &x, sizeof x);
	uint32_t *wide = calloc(strlen(text) + 1, sizeof *wide);
	if (!wide)
		return NB_ENOMEM;
	const size_t n = to_u4(text, wide), width = n ? n : 1;
	snprintf(dtype, sizeof dtype, "<U%zu", width);
	const int status = put_array(out, name, dtype, "()", wide, width * sizeof *wide);
	free(wide);
	return status;
}

/* The lines of the history are one array. */
static int put_history(struct nb_export *out, const struct nb_frame *frame)
{
	size_t lines = 0, longest = 1, done = 0;
	for (size_t k = 0; k < frame->nattribute; k++) {
		if (strcmp(frame->attribute[k].key, "history") != 0)
			continue;
		const size_t length = strlen(nb_frame_attribute_text(frame, k));
		longest = length > longest ? length : longest;
		lines++;
	}
	if (!lines)
		return NB_OK;
	uint32_t *wide = calloc(lines * longest + 1, sizeof *wide);
	if (!wide)
		return NB_ENOMEM;
	for (size_t k = 0; k < frame->nattribute; k++)
		if (strcmp(frame->attribute[k].key, "history") == 0)
			to_u4(nb_frame_attribute_text(frame, k), wide + longest * done++);
	char dtype[32], shape[32];
	snprintf(dtype, sizeof dtype, "<U%zu", longest);
	snprintf(shape, sizeof shape, "(%zu,)", lines);
	const int status = put_array(out, nb_frame_find(frame, "history") ? "attribute_history" : "history", dtype,
		shape, wide, lines * longest * sizeof *wide);
	free(wide);
	return status;
}

static int write_frame(struct nb_export *out, const struct nb_frame *frame)
{
	int status = NB_OK;
	for (size_t c = 0; c < frame->ncolumn && !status; c++)
		if (frame->column[c].table == NB_PARTICLE)
			status = put_column(out, &frame->column[c]);
	for (size_t k = 0; k < frame->nattribute && !status; k++) {
		const char *key = frame->attribute[k].key;
		if (strcmp(key, "history") != 0 && !nb_attribute_is_of_tree(key))
			status = put_attribute(out, frame, key, nb_frame_attribute_text(frame, k));
	}
	return status ? status : put_history(out, frame);
}

static int none(struct nb_export *out)
{
	(void)out;
	return NB_OK;
}

static void release(struct nb_export *out)
{
	nb_free(((struct npz_writer *)out->state)->directory);
}

static int holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	(void)out, (void)frame, (void)column;
	return 1;
}

const struct nb_format nb_format_npz = {
	.name = "npz",
	.about = "an archive of NumPy arrays",
	.suffixes = "npz",
	.place = 101,
	.traits = NB_MANY_FRAMES,
	.G = 1,
	.export_size = sizeof(struct npz_writer),
	.frame = write_frame,
	.end = end,
	.none = none,
	.release = release,
	.holds = holds,
};
