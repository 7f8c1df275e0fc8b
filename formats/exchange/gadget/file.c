/* Files of GADGET: their header, their blocks one after the other, and several files that are one snapshot. */
#include "formats/exchange/gadget/read.h"
#include "formats/exchange/subset.h"

#include "common/mem.h"
#include "common/named.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 1 << 16 };

/* ---- messages ----------------------------------------------------------------------------------- */

const char *nb_gadget_name(const struct nb_gadget_reader *reader)
{
	const struct nb_import named = {.name = reader->name ? reader->name : reader->in->name};
	return nb_import_tail(&named);
}

int nb_gadget_fail(struct nb_gadget_reader *reader, const char *format, ...)
{
	struct nb_import *in = reader->in;
	va_list ap;
	int used = snprintf(in->error, sizeof in->error, "%s", nb_gadget_name(reader));
	if (reader->block)
		used += snprintf(in->error + used, sizeof in->error - (size_t)used, " block %d%s%s%s at byte %" PRIu64,
			reader->block, *reader->label ? " '" : "", reader->label, *reader->label ? "'" : "",
			reader->block_at);
	used += snprintf(in->error + used, sizeof in->error - (size_t)used, ": ");
	va_start(ap, format);
	vsnprintf(in->error + used, sizeof in->error - (size_t)used, format, ap);
	va_end(ap);
	return NB_EINVAL;
}

int nb_gadget_fail_read(struct nb_gadget_reader *reader)
{
	return nb_gadget_fail(reader, "read error: %s", strerror(errno));
}

void nb_gadget_warn(struct nb_gadget_reader *reader, const char *format, ...)
{
	struct nb_import *in = reader->in;
	const size_t used = strlen(in->warning);
	va_list ap;
	va_start(ap, format);
	if (used + 80 < sizeof in->warning) {
		const int more = snprintf(in->warning + used, sizeof in->warning - used, "%s", used ? "; " : "");
		vsnprintf(in->warning + used + more, sizeof in->warning - used - (size_t)more, format, ap);
	}
	va_end(ap);
}
/* ---- blocks ------------------------------------------------------------------------------------- */

const unsigned char *nb_gadget_need(struct nb_gadget_reader *reader, size_t n)
{
	size_t there;
	const unsigned char *from = nb_bytes_peek(reader->bytes, n, &there);
	if (!from)
		nb_gadget_fail_read(reader);
	else if (there < n)
		nb_gadget_fail(reader, "the file ends after %" PRIu64 " bytes", reader->bytes->at + there);
	return from && there == n ? from : NULL;
}

/* The count before or behind a block. */
static int take_count(struct nb_gadget_reader *reader, uint32_t *count)
{
	const unsigned char *from = nb_gadget_need(reader, 4);
	if (!from)
		return NB_EINVAL;
	*count = nb_wire_u32(from, reader->swap);
	nb_bytes_pass(reader->bytes, 4);
	return NB_OK;
}

int nb_gadget_skip(struct nb_gadget_reader *reader, uint64_t n)
{
	const int status = nb_bytes_skip(reader->bytes, n);
	if (status < 0)
		return nb_gadget_fail_read(reader);
	return status ? nb_gadget_fail(reader, "the file ends within it") : NB_OK;
}

int nb_gadget_end_block(struct nb_gadget_reader *reader)
{
	uint32_t size;
	if (take_count(reader, &size))
		return NB_EINVAL;
	return size == reader->block_size
		       ? NB_OK
		       : nb_gadget_fail(reader, "has %" PRIu32 " bytes, but %" PRIu32 " stands behind it",
				 reader->block_size, size);
}

int nb_gadget_next_block(struct nb_gadget_reader *reader)
{
	size_t there;
	uint32_t size;
	reader->block++;
	reader->block_at = reader->bytes->at;
	*reader->label = '\0';
	if (!nb_bytes_peek(reader->bytes, 1, &there)) {
		nb_gadget_fail_read(reader);
		return -1;
	}
	if (there == 0)
		return 0;
	if (reader->labels) {
		const unsigned char *from = nb_gadget_need(reader, 16);
		if (!from)
			return -1;
		if (nb_wire_u32(from, reader->swap) != 8 || nb_wire_u32(from + 12, reader->swap) != 8) {
			nb_gadget_fail(reader, "no label of 8 bytes is before it");
			return -1;
		}
		memcpy(reader->label, from + 4, 4);
		reader->label[4] = '\0';
		for (int k = 0; k < 4; k++)
			if (!isprint((unsigned char)reader->label[k]))
				reader->label[k] = reader->label[k] ? '?' : ' ';
		nb_bytes_pass(reader->bytes, 16);
	} else if (reader->block <= NB_GADGET_ID + 1) {
		strcpy(reader->label, nb_gadget_blocks[reader->block - 1].label);
	}
	if (take_count(reader, &size))
		return -1;
	reader->block_size = size;
	const struct nb_bytes *bytes = reader->bytes;
	if (bytes->seekable && bytes->size - bytes->at < (uint64_t)size + 4) {
		nb_gadget_fail(reader, "has %" PRIu32 " bytes, but the file ends after %" PRIu64, size, bytes->size);
		return -1;
	}
	return 1;
}
/* ---- header ------------------------------------------------------------------------------------- */

/* Types in the header that GADGET-4 writes unless it is built for that of GADGET-2: its counts have 8 bytes, and it is
 * so long.  0: it is none. */
enum { MOST_TYPES = 32 };
static unsigned types_of(uint32_t length)
{
	return length > 48 && (length - 48) % 24 == 0 && length <= 48 + 24 * MOST_TYPES ? (length - 48) / 24 : 0;
}

static int recognises(const unsigned char *head, size_t n, int swap)
{
	const uint32_t count = n >= 8 ? nb_wire_u32(head, swap) : 0;
	if (count == NB_GADGET_HEADER)
		return n < NB_GADGET_HEADER + 8 || nb_wire_u32(head + NB_GADGET_HEADER + 4, swap) == count;
	if (types_of(count))
		return n >= count + 8 && nb_wire_u32(head + count + 4, swap) == count;
	return count == 8 && memcmp(head + 4, "HEAD", 4) == 0;
}

int nb_gadget_recognises(const unsigned char *head, size_t n, uint64_t size)
{
	(void)size;
	return recognises(head, n, 0) || recognises(head, n, 1);
}

/* What the header says. */
static int parse_header(struct nb_gadget_reader *reader, const unsigned char *from)
{
	struct nb_gadget_header *head = &reader->head;
	const int swap = reader->swap;
	*head = (struct nb_gadget_header){.time = nb_wire_f64(from + NB_GADGET_TIME, swap)};
	memcpy(head->raw, from, NB_GADGET_HEADER);
	for (int t = 0; t < NB_NTYPE; t++) {
		const uint32_t n = nb_wire_u32(from + NB_GADGET_N + 4 * t, swap);
		if (n > INT32_MAX)
			return nb_gadget_fail(reader, "the header counts %" PRId32 " bodies of type %d", (int32_t)n, t);
		head->n[t] = n;
		head->rows += n;
		head->mass[t] = nb_wire_f64(from + NB_GADGET_MASS + 8 * t, swap);
		if ((!isfinite(head->mass[t]) || head->mass[t] < 0) && nb_subset_needs(&reader->in->subset, "mass") &&
			nb_subset_species(&reader->in->subset, (unsigned)t))
			return nb_gadget_fail(reader, "the header has mass %g for type %d", head->mass[t], t);
		head->total[t] = nb_wire_u32(from + NB_GADGET_TOTAL + 4 * t, swap) |
				 (uint64_t)nb_wire_u32(from + NB_GADGET_TOTAL_HIGH + 4 * t, swap) << 32;
	}
	if (!isfinite(head->time))
		return nb_gadget_fail(reader, "the header has time %g", head->time);
	const uint32_t files = nb_wire_u32(from + NB_GADGET_FILES, swap);
	if (files > MOST_FILES)
		return nb_gadget_fail(reader, "the header counts %" PRId32 " files", (int32_t)files);
	head->files = files > 1 ? files : 1;
	return NB_OK;
}

/* The header of GADGET-4 as GADGET-2 would write it. */
static int translate_header(
	struct nb_gadget_reader *reader, const unsigned char *from, unsigned ntype, unsigned char *to)
{
	const int swap = reader->swap;
	const unsigned char *mass = from + 16 * (size_t)ntype, *time = mass + 8 * (size_t)ntype;
	memset(to, 0, NB_GADGET_HEADER);
	for (unsigned t = 0; t < ntype; t++) {
		const uint64_t n = nb_wire_u64(from + 8 * t, swap), total = nb_wire_u64(from + 8 * (ntype + t), swap);
		if (n > INT32_MAX || (n && t >= NB_NTYPE))
			return nb_gadget_fail(reader,
				"the header counts %" PRIu64 " bodies of type %u (types are 0 to %d)", n, t,
				NB_NTYPE - 1);
		if (t >= NB_NTYPE)
			continue;
		const uint32_t words[] = {(uint32_t)n, (uint32_t)total, (uint32_t)(total >> 32)};
		const int at[] = {NB_GADGET_N, NB_GADGET_TOTAL, NB_GADGET_TOTAL_HIGH};
		for (int k = 0; k < 3; k++) {
			const uint32_t word = swap ? __builtin_bswap32(words[k]) : words[k];
			memcpy(to + at[k] + 4 * t, &word, sizeof word);
		}
		memcpy(to + NB_GADGET_MASS + 8 * t, mass + 8 * t, 8);
	}
	memcpy(to + NB_GADGET_TIME, time, 16); /* and redshift */
	memcpy(to + NB_GADGET_BOX, time + 16, 8);
	memcpy(to + NB_GADGET_FILES, time + 24, 4);
	return NB_OK;
}

static int read_header(struct nb_gadget_reader *reader)
{
	enum { LONGEST = 48 + 24 * MOST_TYPES };
	size_t there;
	const unsigned char *from = nb_bytes_peek(reader->bytes, 24 + LONGEST, &there);
	unsigned char translated[NB_GADGET_HEADER];
	reader->block = 0;
	if (!from)
		return nb_gadget_fail_read(reader);
	if (there == 0)
		return nb_gadget_fail(reader, "the file is empty");
	reader->swap = recognises(from, there, 1);
	reader->labels = there >= 8 && nb_wire_u32(from, reader->swap) == 8;
	if (!recognises(from, there, reader->swap))
		return nb_gadget_fail(
			reader, "this is no GADGET snapshot (it begins with neither 256 nor a label HEAD)");
	const size_t begin = reader->labels ? 16 : 0;
	const uint32_t length = there < begin + 4 ? 0 : nb_wire_u32(from + begin, reader->swap);
	const unsigned ntype = types_of(length);
	const size_t end = begin + 8 + (ntype ? length : NB_GADGET_HEADER);
	if (there < end)
		return nb_gadget_fail(reader, "the file ends within the header, after %zu bytes", there);
	if (reader->labels && nb_wire_u32(from + 12, reader->swap) != 8)
		return nb_gadget_fail(reader, "8 does not stand behind the label of the header");
	if ((!ntype && length != NB_GADGET_HEADER) || nb_wire_u32(from + end - 4, reader->swap) != length)
		return nb_gadget_fail(reader, "256 does not stand before and behind the header");
	if (ntype && translate_header(reader, from + begin + 4, ntype, translated))
		return NB_EINVAL;
	if (parse_header(reader, ntype ? translated : from + begin + 4))
		return NB_EINVAL;
	reader->head.is_translated = ntype > 0;
	nb_bytes_pass(reader->bytes, end);
	return NB_OK;
}
/* ---- several files ------------------------------------------------------------------------------- */

void nb_gadget_close_file(struct nb_gadget_reader *reader)
{
	if (reader->fd >= 0) {
		nb_bytes_close(&reader->own);
		close(reader->fd);
	}
	reader->fd = -1;
	free(reader->name);
	reader->name = NULL;
	reader->bytes = reader->in->bytes;
}

int nb_gadget_open_file(struct nb_gadget_reader *reader, unsigned k)
{
	if (!reader->several)
		return NB_OK;
	nb_gadget_close_file(reader);
	reader->block = 0;
	if (asprintf(&reader->name, "%s.%u", reader->stem, k) < 0) {
		reader->name = NULL;
		return NB_ENOMEM;
	}
	reader->fd = nb_open_named(reader->name, O_RDONLY);
	if (reader->fd < 0)
		return nb_gadget_fail(reader, "this file of %u cannot be opened: %s ('--one-file' reads one alone)",
			reader->nfile, strerror(errno));
	if (nb_bytes_open(&reader->own, reader->fd))
		return NB_ENOMEM;
	reader->bytes = &reader->own;
	return read_header(reader);
}

/* The name without ".3", for a file that is one of several. */
static int find_stem(struct nb_gadget_reader *reader)
{
	const char *path = reader->in->path;
	if (!path)
		return nb_gadget_fail(
			reader, "this is one of %u files of a snapshot: give its path, or '--one-file'", reader->nfile);
	const char *dot = strrchr(path, '.');
	if (!dot || !isdigit((unsigned char)dot[1]) || dot[1 + strspn(dot + 1, "0123456789")] ||
		strtoul(dot + 1, NULL, 10) >= reader->nfile)
		return nb_gadget_fail(reader,
			"this is one of %u files, but the name does not end in .0 to .%u ('--one-file' reads it alone)",
			reader->nfile, reader->nfile - 1);
	reader->stem = strndup(path, (size_t)(dot - path));
	if (!reader->stem)
		return NB_ENOMEM;
	reader->several = 1;
	return NB_OK;
}

/* A file belongs to the others, and its bodies can be in it. */
static int check_file(struct nb_gadget_reader *reader)
{
	const struct nb_gadget_header *head = &reader->head;
	const struct nb_bytes *bytes = reader->bytes;
	if (head->files != reader->first.files || head->time != reader->first.time)
		return nb_gadget_fail(reader,
			"it is of another snapshot: one of %u files at time %g, not of %u at time %g", head->files,
			head->time, reader->first.files, reader->first.time);
	if (bytes->seekable && (bytes->size - bytes->at) / 12 < head->rows)
		return nb_gadget_fail(reader,
			"the header counts %" PRIu64 " bodies, but the file has %" PRIu64 " bytes", head->rows,
			bytes->size);
	return NB_OK;
}

/* The headers of all files agree with each other. */
static int check_files(struct nb_gadget_reader *reader)
{
	uint64_t n[NB_NTYPE] = {0};
	int promised = 0;
	for (unsigned k = 0; k < reader->nfile; k++) {
		const int status = nb_gadget_open_file(reader, k);
		if (status)
			return status;
		if (check_file(reader))
			return NB_EINVAL;
		for (int t = 0; t < NB_NTYPE; t++)
			n[t] += reader->head.n[t];
		reader->part[k].from = reader->rows;
		reader->rows += reader->head.rows;
	}
	for (int t = 0; t < NB_NTYPE; t++)
		promised |= reader->first.total[t] != 0 && !reader->in->subset.one_file;
	for (int t = 0; t < NB_NTYPE; t++) {
		if (!promised || n[t] == reader->first.total[t])
			continue;
		reader->block = 0;
		if (reader->several)
			return nb_gadget_fail(reader,
				"the files hold %" PRIu64 " bodies of type %d, but the header promises %" PRIu64, n[t],
				t, reader->first.total[t]);
		nb_gadget_warn(reader,
			"%s has %" PRIu64 " bodies of type %d, but its header promises %" PRIu64 " in all files",
			nb_gadget_name(reader), n[t], t, reader->first.total[t]);
	}
	return NB_OK;
}

int nb_gadget_open(struct nb_import *in)
{
	struct nb_gadget_reader *reader = in->state;
	reader->in = in;
	reader->bytes = in->bytes;
	reader->fd = -1;
	if (read_header(reader))
		return NB_EINVAL;
	reader->first = reader->head;
	reader->first_swap = reader->swap;
	reader->nfile = in->subset.one_file ? 1 : reader->head.files;
	reader->part = calloc(reader->nfile, sizeof *reader->part);
	if (!reader->part)
		return NB_ENOMEM;
	const int status = reader->nfile > 1 ? find_stem(reader) : NB_OK;
	return status ? status : check_files(reader);
}
void nb_gadget_close(struct nb_import *in)
{
	struct nb_gadget_reader *reader = in->state;
	if (!reader->in)
		return;
	nb_gadget_close_file(reader);
	for (unsigned k = 0; reader->part && k < reader->nfile; k++)
		nb_free(reader->part[k].run);
	free(reader->part);
	free(reader->stem);
}
