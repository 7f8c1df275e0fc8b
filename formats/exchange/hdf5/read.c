#include "formats/exchange/hdf5/hdf5.h"

#include "common/held.h"
#include "common/mapped.h"
#include "common/mem.h"
#include "common/named.h"
#include "formats/exchange/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BLOCK = 256 << 10,	   /* read and converted at once, */
	BLOCK_BY_LIBRARY = 4 << 20 /* and of chunks */
};
#define MOST_LIST ((uint64_t)256 << 20)

int nb_h5_fail(struct nb_h5_reader *reader, const char *format, ...)
{
	va_list ap;
	int n = snprintf(reader->error, sizeof reader->error, "%s: ", reader->name);
	if (n > 300)
		n = 0;
	va_start(ap, format);
	vsnprintf(reader->error + n, sizeof reader->error - (size_t)n, format, ap);
	va_end(ap);
	return NB_EINVAL;
}

int nb_h5_no_memory(struct nb_h5_reader *reader)
{
	return nb_h5_fail(reader, "out of memory");
}

const char *nb_h5_lacks(void)
{
	return nb_h5_program_size ? NULL : "not built in: install libhdf5-dev, and build nb again";
}

int nb_h5_recognises(const unsigned char *head, size_t n)
{
	return n >= 8 && memcmp(head, "\211HDF\r\n\032\n", 8) == 0;
}

/* ---- the process -------------------------------------------------------------------------------- */

static int start(struct nb_h5_reader *reader)
{
	const int error = nb_held_start(
		"nb-hdf5-library", nb_h5_program, nb_h5_program_size, reader->fd, &reader->socket, &reader->process);
	if (!error)
		return NB_OK;
	reader->process = 0;
	return nb_h5_fail(reader, "cannot start the process that reads HDF5: %s%s", strerror(error),
		error == ENOENT ? " (is /proc there?)" : "");
}

/* It has gone without an answer. */
static int died(struct nb_h5_reader *reader)
{
	int status = 0;
	while (waitpid(reader->process, &status, 0) < 0 && errno == EINTR)
		;
	reader->process = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return nb_h5_fail(reader, "the HDF5 library comes to no end with this file, which must be damaged");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)
		return nb_h5_fail(reader, NB_MAPPED_SHORTER);
	return nb_h5_fail(reader, "the HDF5 library broke down over this file, which must be damaged (%s %d)",
		WIFSIGNALED(status) ? "signal" : "exit status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int receive(struct nb_h5_reader *reader, void *to, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes;) {
		const ssize_t n = read(reader->socket, (char *)to + at, bytes - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return nb_h5_fail(reader, "the HDF5 library is not heard: %s", strerror(errno));
		if (n == 0)
			return died(reader);
		at += (uint64_t)n;
	}
	return NB_OK;
}

/* What it answers; what: NULL, or what it is about.  bytes: as many as there must be, or 0 and *data is made. */
static int take_answer(struct nb_h5_reader *reader, const char *what, uint64_t bytes, void **data, uint64_t *got)
{
	struct nb_h5_answer head;
	if (receive(reader, &head, sizeof head))
		return NB_EINVAL;
	if (head.failed) {
		char text[2000] = "";
		if (head.bytes >= sizeof text)
			return nb_h5_fail(reader, "the HDF5 library gives a reason of %" PRIu64 " bytes", head.bytes);
		if (receive(reader, text, head.bytes))
			return NB_EINVAL;
		return what ? nb_h5_fail(reader, "dataset '%.200s' %s", what, text) : nb_h5_fail(reader, "%s", text);
	}
	if (bytes ? head.bytes != bytes : head.bytes > MOST_LIST)
		return nb_h5_fail(reader, "the HDF5 library gives %" PRIu64 " bytes", head.bytes);
	if (!bytes && !(*data = malloc(head.bytes + 1)))
		return nb_h5_no_memory(reader);
	*got = head.bytes;
	return receive(reader, *data, head.bytes);
}

/* ---- the list ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp((*(const struct nb_h5_item *const *)a)->path, (*(const struct nb_h5_item *const *)b)->path);
}

static int sort_list(struct nb_h5_reader *reader)
{
	reader->by_path = calloc(reader->nitem + 1, sizeof *reader->by_path);
	if (!reader->by_path)
		return nb_h5_no_memory(reader);
	for (size_t k = 0; k < reader->nitem; k++)
		reader->by_path[k] = &reader->item[k];
	qsort(reader->by_path, reader->nitem, sizeof *reader->by_path, compare);
	return NB_OK;
}

static int take_list(struct nb_h5_reader *reader)
{
	void *list = NULL;
	uint64_t bytes = 0, n = 0;
	const int status = take_answer(reader, NULL, 0, &list, &bytes);
	reader->list = list;
	if (status)
		return status;
	for (int take = 0; take < 2; take++) {
		n = 0;
		for (uint64_t at = 0; at < bytes; n++) {
			struct nb_h5_record record;
			const char *behind = reader->list + at + sizeof record;
			if (bytes - at < sizeof record)
				return nb_h5_fail(reader, "the list of the HDF5 library is cut");
			memcpy(&record, reader->list + at, sizeof record);
			const uint64_t numbers = nb_h5_numbers(&record.item) * sizeof(double),
				       left = bytes - at - sizeof record;
			at += sizeof record + numbers + (record.path_bytes + record.text_bytes + 7) / 8 * 8;
			if (numbers > left || record.path_bytes > left || record.text_bytes > left || at > bytes)
				return nb_h5_fail(reader, "the list of the HDF5 library is cut");
			if (!take)
				continue;
			struct nb_h5_item *item = &reader->item[n];
			*item = record.item;
			item->number = numbers ? (const double *)(const void *)behind : NULL;
			item->path = behind + numbers;
			item->text = record.text_bytes ? item->path + record.path_bytes : NULL;
		}
		if (!take && !(reader->item = calloc(n + 1, sizeof *reader->item)))
			return nb_h5_no_memory(reader);
	}
	reader->nitem = n;
	return sort_list(reader);
}

/* A pipe: into memory, which then is a file. */
static int take_pipe(struct nb_h5_reader *reader, struct nb_bytes *bytes)
{
	enum { PIECE = 1 << 20 };
	char *piece = malloc(PIECE);
	const int to = memfd_create("nb-hdf5", MFD_CLOEXEC);
	int status = NB_OK;
	if (!piece || to < 0)
		status = nb_h5_no_memory(reader);
	while (!status) {
		const ssize_t n = nb_bytes_read(bytes, piece, PIECE);
		if (n < 0)
			status = nb_h5_fail(reader, "read error: %s", strerror(errno));
		if (n <= 0)
			break;
		for (ssize_t at = 0; !status && at < n;) {
			const ssize_t m = write(to, piece + at, (size_t)(n - at));
			if (m < 0 && errno != EINTR)
				status = nb_h5_no_memory(reader);
			at += m > 0 ? m : 0;
		}
		reader->size += (uint64_t)n;
	}
	free(piece);
	if (to >= 0) {
		reader->fd = to;
		reader->own_fd = 1;
	}
	return status;
}

static void end_process(struct nb_h5_reader *reader)
{
	if (!reader->process)
		return;
	kill(reader->process, SIGKILL);
	while (waitpid(reader->process, NULL, 0) < 0 && errno == EINTR)
		;
	reader->process = 0;
}

int nb_h5_open(struct nb_h5_reader *reader, const char *path, struct nb_bytes *bytes, const char *name)
{
	struct stat s;
	*reader = (struct nb_h5_reader){.name = name, .fd = path ? -1 : bytes->fd, .socket = -1};
	if (nb_h5_lacks())
		return nb_h5_fail(reader, "HDF5 is %s", nb_h5_lacks());
	if (path) {
		reader->fd = nb_open_named(path, O_RDONLY);
		reader->own_fd = reader->fd >= 0;
		if (reader->fd < 0)
			return nb_h5_fail(reader, "cannot be opened: %s", strerror(errno));
	}
	if (fstat(reader->fd, &s))
		return nb_h5_fail(reader, "%s", strerror(errno));
	if (path && !S_ISREG(s.st_mode))
		return nb_h5_fail(reader, "this is no regular file");
	reader->size = S_ISREG(s.st_mode) ? (uint64_t)s.st_size : 0;
	int status = S_ISREG(s.st_mode) ? NB_OK : take_pipe(reader, bytes);
	if (!status && reader->size == 0)
		status = nb_h5_fail(reader, "the file is empty");
	if (!status)
		status = start(reader);
	status = status ? status : take_list(reader);
	int needed = 0;
	for (size_t k = 0; k < reader->nitem; k++)
		needed |= !reader->item[k].is_attribute && reader->item[k].layout == NB_H5_BY_LIBRARY;
	if (!needed)
		end_process(reader);
	return status;
}

void nb_h5_close(struct nb_h5_reader *reader)
{
	end_process(reader);
	if (reader->name && reader->socket >= 0)
		close(reader->socket);
	if (reader->own_fd)
		close(reader->fd);
	free(reader->list);
	free(reader->item);
	free(reader->by_path);
	*reader = (struct nb_h5_reader){0};
}

/* ---- looking up --------------------------------------------------------------------------------- */

const struct nb_h5_item *nb_h5_find(const struct nb_h5_reader *reader, const char *path)
{
	const struct nb_h5_item key = {.path = path}, *wanted = &key;
	const struct nb_h5_item **found = reader->nitem ? bsearch(&wanted, reader->by_path, reader->nitem,
								  sizeof *found, compare)
							: NULL;
	return found ? *found : NULL;
}

double nb_h5_number(const struct nb_h5_reader *reader, const char *path, size_t k, double fallback)
{
	const struct nb_h5_item *item = nb_h5_find(reader, path);
	return item && item->number && k < item->count ? item->number[k] : fallback;
}

int nb_h5_dtype(const struct nb_h5_item *item, char dtype[NB_DTYPE_SIZE + 1])
{
	if (item->kind == '?' || item->size == 0 || item->size > 999999)
		return -1;
	snprintf(dtype, NB_DTYPE_SIZE + 1, "%c%c%u", item->kind == 'S' || item->size == 1 ? '|' : '<', item->kind,
		(unsigned)item->size);
	return 0;
}

int nb_h5_is_plain(const char *text, int as_unit)
{
	size_t n = 0;
	while (text[n] >= (as_unit ? ' ' : '!') && text[n] <= '~')
		n++;
	return !text[n] && n <= (as_unit ? NB_UNIT_SIZE : NB_NAME_SIZE) && (n || as_unit);
}

uint64_t nb_h5_width(const struct nb_h5_item *item)
{
	uint64_t n = 1;
	for (unsigned k = 1; k < item->rank; k++)
		if (__builtin_mul_overflow(n, item->dim[k], &n))
			return UINT64_MAX;
	return n;
}

const char *nb_h5_reason(const struct nb_h5_item *item)
{
	static const char *const why[] = {
		[NB_H5_NEVER_WRITTEN] = "has never been written",
		[NB_H5_VIRTUAL] = "is in other files (a virtual dataset): give one of these",
		[NB_H5_EXTERNAL] = "is in other files",
		[NB_H5_NO_FILTER] = "is compressed in a way that is not known here (h5repack -f NONE IN OUT undoes it)",
		[NB_H5_ELSEWHERE] = "is a link to another file, which is not followed: give that file",
		[NB_H5_NOWHERE] = "is a link to nothing",
		[NB_H5_UNKNOWN] = "cannot be opened by this HDF5 library: it is damaged, or of a newer one (whose "
				  "'h5repack --high=2 IN OUT' makes it older)",
		[NB_H5_BAD_NAME] = "has a name with @",
	};
	return item->layout > NB_H5_BY_LIBRARY ? why[item->layout] : NULL;
}

int nb_h5_is_blocked(struct nb_h5_reader *reader, const char *path)
{
	char part[400];
	for (const char *end = path; *end; end += *end != '\0') {
		end += strcspn(end, "/");
		snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
		const struct nb_h5_item *item = nb_h5_find(reader, part);
		if (item && item->layout >= NB_H5_ELSEWHERE) {
			nb_h5_fail(reader, "'%.200s' %s", part, nb_h5_reason(item));
			return 1;
		}
	}
	return 0;
}

int nb_h5_check(struct nb_h5_reader *reader, const struct nb_h5_item *item)
{
	uint64_t bytes;
	if (item->layout >= NB_H5_ELSEWHERE)
		return nb_h5_fail(reader, "'%.200s' %s", item->path, nb_h5_reason(item));
	if (item->kind == '?' || item->size == 0)
		return nb_h5_fail(reader, "dataset '%.200s' has a type that is not read", item->path);
	if (__builtin_mul_overflow(nb_h5_width(item), item->size, &bytes) ||
		__builtin_mul_overflow(bytes, item->rank ? item->dim[0] : 1, &bytes) || bytes > (uint64_t)1 << 60)
		return nb_h5_fail(reader, "dataset '%.200s' has impossibly many values", item->path);
	if (bytes == 0)
		return NB_OK;
	if (nb_h5_reason(item))
		return nb_h5_fail(reader, "dataset '%.200s' %s", item->path, nb_h5_reason(item));
	if (item->layout == NB_H5_IN_PLACE && (item->offset > reader->size || bytes > reader->size - item->offset))
		return nb_h5_fail(reader,
			"dataset '%.200s' of %" PRIu64 " bytes at byte %" PRIu64
			" goes beyond the end of the file, which has %" PRIu64 " bytes",
			item->path, bytes, item->offset, reader->size);
	if (item->layout != NB_H5_BY_LIBRARY)
		return NB_OK;
	if (item->chunk_bytes / NB_H5_MOST_RATIO > reader->size || bytes / NB_H5_MOST_RATIO > reader->size)
		return nb_h5_fail(reader,
			"dataset '%.200s' has %s%" PRIu64 " bytes, which the file of %" PRIu64 " bytes cannot hold",
			item->path, bytes / NB_H5_MOST_RATIO > reader->size ? "" : "chunks of ",
			bytes / NB_H5_MOST_RATIO > reader->size ? bytes : item->chunk_bytes, reader->size);
	return NB_OK;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static int read_in_place(
	struct nb_h5_reader *reader, const struct nb_h5_item *item, uint64_t at, uint64_t bytes, char *to)
{
	while (bytes) {
		const ssize_t n = pread(reader->fd, to, bytes, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return nb_h5_fail(reader, "dataset '%.200s': read error at byte %" PRIu64 ": %s", item->path,
				at, n ? strerror(errno) : "the file has become shorter");
		to += n;
		at += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return NB_OK;
}

static int read_by_library(struct nb_h5_reader *reader, const struct nb_h5_item *item, uint64_t first, uint64_t count,
	uint64_t bytes, void *to)
{
	const struct nb_h5_request request = {item->k, first, count};
	uint64_t got;
	if (!reader->process)
		return nb_h5_fail(reader, "the HDF5 library has broken down");
	if (send(reader->socket, &request, sizeof request, MSG_NOSIGNAL) != sizeof request)
		return errno == EPIPE || errno == ECONNRESET
			       ? died(reader)
			       : nb_h5_fail(reader, "the HDF5 library cannot be asked: %s", strerror(errno));
	return take_answer(reader, item->path, bytes, &to, &got);
}

/* Integers with a sign as <u8; the index of a negative one, or n. */
#define UNSIGNED(bits)                                                         \
	static size_t unsigned##bits(size_t n, const void *data, uint64_t *to) \
	{                                                                      \
		const int##bits##_t *x = data;                                 \
		int##bits##_t all = 0;                                         \
		for (size_t i = 0; i < n; i++) {                               \
			all |= x[i];                                           \
			to[i] = (uint64_t)(int64_t)x[i];                       \
		}                                                              \
		size_t first = all < 0 ? 0 : n;                                \
		while (first < n && x[first] >= 0)                             \
			first++;                                               \
		return first;                                                  \
	}
UNSIGNED(8)
UNSIGNED(16)
UNSIGNED(32)
UNSIGNED(64)

static size_t to_unsigned(const struct nb_h5_item *item, const char *dtype, size_t n, const void *data, uint64_t *to)
{
	if (item->kind == 'u') {
		nb_dtype_to_u64(dtype, n, data, to);
		return n;
	}
	return item->size == 8	 ? unsigned64(n, data, to)
	       : item->size == 4 ? unsigned32(n, data, to)
	       : item->size == 2 ? unsigned16(n, data, to)
				 : unsigned8(n, data, to);
}

/* Real numbers of 2 bytes, which no column of a stream has as numbers. */
static void half_to_f64(size_t n, const void *from, double *to)
{
	const uint16_t *half = from;
	for (size_t i = 0; i < n; i++) {
		const int exponent = half[i] >> 10 & 31, fraction = half[i] & 1023;
		const double size = exponent == 31  ? (fraction ? NAN : INFINITY)
				    : exponent == 0 ? ldexp(fraction, -24)
						    : ldexp(fraction + 1024, exponent - 25);
		to[i] = half[i] >> 15 ? -size : size;
	}
}

static void to_f64(const struct nb_h5_item *item, const char *dtype, size_t n, const void *data, double *to)
{
	if (item->kind == 'f' && item->size == 2)
		half_to_f64(n, data, to);
	else
		nb_dtype_to_f64(dtype, n, data, to);
}

/* Rows as they are in the file, which can hold them. */
static int read_raw(struct nb_h5_reader *reader, const struct nb_h5_item *item, uint64_t first, uint64_t count,
	uint64_t rowsize, void *to)
{
	return item->layout == NB_H5_IN_PLACE
		       ? read_in_place(reader, item, item->offset + first * rowsize, count * rowsize, to)
		       : read_by_library(reader, item, first, count, count * rowsize, to);
}

/* Rows that are read at once: whole chunks, but at most count. */
static uint64_t block_of(const struct nb_h5_item *item, uint64_t rowsize, uint64_t count)
{
	const int place = item->layout == NB_H5_IN_PLACE;
	const uint64_t chunk = place || !item->chunk ? 1 : item->chunk;
	const uint64_t most = (place ? BLOCK : BLOCK_BY_LIBRARY) / (rowsize ? rowsize : 1) / chunk * chunk,
		       block = most < chunk ? chunk : most;
	return block < count ? block : count;
}

int nb_h5_read_texts(struct nb_h5_reader *reader, const struct nb_h5_item *item, char *to)
{
	const uint64_t n = item->dim[0], block = block_of(item, item->size, n);
	if (nb_h5_check(reader, item))
		return NB_EINVAL;
	char *buffer = nb_alloc(block, item->size);
	int status = buffer ? NB_OK : nb_h5_no_memory(reader);
	for (uint64_t row = 0, some; !status && row < n; row += some) {
		some = n - row < block ? n - row : block;
		status = read_raw(reader, item, row, some, item->size, buffer);
		for (uint64_t k = 0; !status && k < some; k++, to += item->size + 1) {
			memcpy(to, buffer + k * item->size, item->size);
			to[item->size] = '\0';
		}
	}
	nb_free(buffer);
	return status;
}

/* Rows as that type, in a block that fits into the buffer. */
static int read_block(struct nb_h5_reader *reader, const struct nb_h5_item *item, uint64_t first, uint64_t count,
	const char *dtype, void *buffer, void *to)
{
	char own[NB_DTYPE_SIZE + 1];
	const uint64_t width = nb_h5_width(item), n = count * width;
	void *raw = buffer ? buffer : to;
	if (nb_h5_dtype(item, own))
		own[0] = '\0';
	if (read_raw(reader, item, first, count, width * item->size, raw))
		return NB_EINVAL;
	if (item->big && item->size > 1 && item->kind != 'S')
		nb_wire_order(n, item->size, raw, 1, raw);
	if (buffer && strcmp(dtype, "<f8") == 0)
		to_f64(item, own, n, raw, to);
	if (buffer && strcmp(dtype, "<u8") == 0) {
		const size_t bad = to_unsigned(item, own, n, raw, to);
		if (bad < n)
			return nb_h5_fail(reader,
				"dataset '%.200s': row %" PRIu64 " is negative ('--fields' leaves ids out)", item->path,
				first + bad / width);
	}
	return NB_OK;
}

/* Rows block by block; same: as they are in the file. */
static int read_blocks(struct nb_h5_reader *reader, const struct nb_h5_item *item, uint64_t first, uint64_t count,
	const char *dtype, int same, unsigned char *to)
{
	const uint64_t width = nb_h5_width(item), block = block_of(item, width * item->size, count);
	unsigned char *buffer = same ? NULL : nb_alloc(block, width * item->size);
	int status = same || buffer ? NB_OK : nb_h5_no_memory(reader);
	for (uint64_t row = 0; !status && row < count; row += block)
		status = read_block(reader, item, first + row, count - row < block ? count - row : block, dtype, buffer,
			to + row * width * nb_dtype_size(dtype));
	nb_free(buffer);
	return status;
}

/* The same by all threads, of rows in place.  It does not say what it failed with. */
static int read_parts(const struct nb_h5_reader *reader, const struct nb_h5_item *item, uint64_t first, uint64_t count,
	const char *dtype, int same, unsigned char *to)
{
	const uint64_t width = nb_h5_width(item), part = 16 * block_of(item, width * item->size, count);
	int status = NB_OK;
#pragma omp parallel for schedule(dynamic) reduction(max : status)
	for (uint64_t row = 0; row < count; row += part) {
		struct nb_h5_reader own = *reader; /* which has the error */
		const int failed = read_blocks(&own, item, first + row, count - row < part ? count - row : part, dtype,
			same, to + row * width * nb_dtype_size(dtype));
		status = failed ? NB_EINVAL : status;
	}
	return status;
}

int nb_h5_read(struct nb_h5_reader *reader, const struct nb_h5_item *item, uint64_t first, uint64_t count,
	const char *dtype, void *to)
{
	char own[NB_DTYPE_SIZE + 1];
	if (nb_h5_check(reader, item))
		return NB_EINVAL;
	if (nb_h5_dtype(item, own))
		own[0] = '\0';
	const uint64_t width = nb_h5_width(item), rowsize = width * item->size;
	const int same = strcmp(own, dtype) == 0;
	const int whole = item->kind == 'i' || item->kind == 'u';
	if (!same && !(whole && strcmp(dtype, "<u8") == 0) &&
		!((whole || item->kind == 'f') && strcmp(dtype, "<f8") == 0))
		return nb_h5_fail(reader, "dataset '%.200s' has another type than elsewhere", item->path);
	if (rowsize == 0 || count == 0)
		return NB_OK;
	if (item->layout == NB_H5_IN_PLACE && count > block_of(item, rowsize, count) &&
		!read_parts(reader, item, first, count, dtype, same, to))
		return NB_OK;
	return read_blocks(reader, item, first, count, dtype, same, to);
}
