/* Arrays beside a TIPSY file: FILE.iord, FILE.HI ...  A file is one if it begins with the number of bodies: as a line
 * of text, with one number on each line behind it (of vectors all x, then all y, then all z), or as an i4, with f4, i4,
 * 8 bytes or three f4 for each body behind it.  Other files that are called so are left alone. */
#include "common/decimal.h"
#include "common/mem.h"
#include "common/named.h"
#include "formats/exchange/lines.h"
#include "formats/exchange/subset.h"
#include "formats/exchange/tipsy/tipsy.h"
#include "formats/exchange/wire.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WANT_ID " (want numbers from 0 on; '--fields' without id leaves them out)"

struct array {
	char *path;
	const char *name; /* of the column */
	uint64_t n;	  /* bodies */
	int is_whole;	  /* numbers are whole */
	int big;
};

/* The names of arrays that hold whole numbers, such as the number of a body or of its group. */
static int is_whole(const char *name)
{
	static const char *const ends[] = {"id", "iord", "order", "grp"};
	for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
		const size_t n = strlen(name), end = strlen(ends[k]);
		if (n >= end && strcmp(name + n - end, ends[k]) == 0)
			return 1;
	}
	return 0;
}

/* A column for the array, and where its numbers go: as f8, or if they are whole as i8 (u8 for id). */
static void *add_column(struct nb_frame *frame, const struct array *array, uint32_t ncomp, const char *dtype)
{
	const struct nb_field_info *info = nb_field_find(array->name);
	struct nb_column *column = info ? nb_frame_add_field(frame, (enum nb_field)(info - nb_field_info), NULL, 0)
					: nb_frame_add(frame, array->name, NB_PARTICLE, dtype, ncomp, "", 0);
	return nb_column_write(column, &nb_space_host, NB_WIRE);
}

/* ---- binary ------------------------------------------------------------------------------------- */

/* Words of 4 bytes for each body, from the size of the file; 0: it is of no such size. */
static uint32_t words_of(const struct array *array, uint64_t size)
{
	for (uint32_t words = 1; words <= 3; words++)
		if (size == 4 + 4 * words * array->n)
			return words;
	return 0;
}

static int read_binary(struct nb_import *in, const struct array *array, struct nb_frame *frame)
{
	const uint32_t words = words_of(array, nb_wire_size(in));
	const struct nb_field_info *info = nb_field_find(array->name);
	const uint32_t ncomp = words == 3 ? 3 : 1;
	if (!words)
		return nb_wire_fail(
			in, "%" PRIu64 " bytes, which are no array of %" PRIu64 " bodies", nb_wire_size(in), array->n);
	if (info && info->ncomp != ncomp)
		return nb_wire_fail(in, "%" PRIu32 " numbers for each body (want %" PRIu32 ")", ncomp, info->ncomp);
	const char *dtype = words == 2 ? (array->is_whole ? "<i8" : "<f8") : array->is_whole ? "<i4" : "<f4";
	unsigned char *to = add_column(frame, array, ncomp, dtype);
	if (!to)
		return NB_ENOMEM;
	const size_t from_size = words == 2 ? 8 : 4;
	const size_t to_size = info ? 8 : from_size;
	for (uint64_t done = 0, total = array->n * ncomp; done < total;) {
		const uint64_t most = NB_BLOCK / 8, part = total - done < most ? total - done : most;
		const unsigned char *from = nb_wire_take(in, part * from_size, "the array");
		if (!from)
			return NB_EINVAL;
		if (!info || from_size == to_size)
			nb_wire_order(part, from_size, from, array->big, to + done * to_size);
		else if (array->is_whole)
			nb_wire_widen_u32(part, from, array->big, (uint64_t *)to + done);
		else
			nb_wire_widen(part, from, array->big, (double *)to + done);
		done += part;
	}
	for (uint64_t i = 0; info && array->is_whole && i < array->n; i++) {
		const uint64_t x = ((uint64_t *)to)[i];
		const int64_t id = words == 1 ? (int32_t)x : (int64_t)x;
		if (id < 0)
			return nb_wire_fail(in, "body %" PRIu64 " has %" PRId64 WANT_ID, i, id);
	}
	return NB_OK;
}

/* ---- text --------------------------------------------------------------------------------------- */

static int take_whole(struct nb_lines *lines, const char *line, int is_id, void *to)
{
	char *end;
	errno = 0;
	const int negative = *nb_text_skip(line) == '-';
	const uint64_t x = negative ? (uint64_t)strtoll(line, &end, 10) : strtoull(line, &end, 10);
	if (end == line || *nb_text_skip(end) || (errno && errno != ERANGE))
		return nb_lines_fail(lines, "'%.40s' is not a whole number%s", line, is_id ? WANT_ID : "");
	if (errno || (negative && is_id))
		return nb_lines_fail(
			lines, "%.40s is %s%s", line, errno ? "too large" : "negative", is_id ? WANT_ID : "");
	memcpy(to, &x, sizeof x);
	return NB_OK;
}

static int take_real(struct nb_lines *lines, const char *line, void *to)
{
	double x;
	const char *end = nb_decimal_read(nb_text_skip(line), &x);
	if (!end || *nb_text_skip(end))
		return nb_lines_fail(lines, "'%.40s' is not a number", line);
	memcpy(to, &x, sizeof x);
	return NB_OK;
}

/* One number on each line; three times as many where it is a vector. */
static int read_text(struct nb_lines *lines, const struct array *array, struct nb_frame *frame)
{
	const struct nb_field_info *info = nb_field_find(array->name);
	const char *line = nb_lines_next(lines); /* the number of bodies */
	uint64_t have = 0, room = array->n + 1, *value = malloc(room * sizeof *value);
	int status = value ? NB_OK : NB_ENOMEM;
	while (!status && (line = nb_lines_next_filled(lines)) != NULL) {
		if (have == room && room < 3 * array->n) {
			room = 3 * array->n;
			uint64_t *grown = realloc(value, room * sizeof *value);
			status = grown ? NB_OK : NB_ENOMEM;
			value = grown ? grown : value;
		}
		if (!status && have < room)
			status = array->is_whole ? take_whole(lines, line, info != NULL, value + have)
						 : take_real(lines, line, value + have);
		have++;
	}
	const uint32_t ncomp = have == 3 * array->n && array->n > 0 ? 3 : 1;
	if (!status && nb_lines_failed(lines))
		status = NB_EINVAL;
	if (!status && (have != ncomp * array->n || (info && info->ncomp != ncomp)))
		status = nb_lines_fail(lines, "%" PRIu64 " numbers for %" PRIu64 " bodies", have, array->n);
	uint64_t *to = status ? NULL : add_column(frame, array, ncomp, array->is_whole ? "<i8" : "<f8");
	if (!status && !to)
		status = NB_ENOMEM;
	for (uint64_t i = 0; to && i < array->n; i++)
		for (uint32_t k = 0; k < ncomp; k++)
			to[i * ncomp + k] = value[k * array->n + i];
	free(value);
	return status;
}

/* ---- which files -------------------------------------------------------------------------------- */

/* Whether the file begins with the number of bodies as a line of text, or (2) as a number of 4 bytes. */
static int looks_like(const struct array *array, const unsigned char *head, size_t n)
{
	char text[24];
	const size_t length = (size_t)snprintf(text, sizeof text, "%" PRIu64, array->n);
	size_t at = 0;
	while (at < n && (head[at] == ' ' || head[at] == '\t'))
		at++;
	if (n - at > length && memcmp(head + at, text, length) == 0 && isspace(head[at + length]))
		return 1;
	return n >= 4 && nb_wire_u32(head, array->big) == array->n ? 2 : 0;
}

/* One that the user may not read is reported; sockets are none. */
static int cannot_open(struct nb_import *in, const char *path)
{
	const struct nb_import beside = {.name = path};
	if (errno == ENXIO)
		return NB_OK;
	if (errno == EACCES) {
		const size_t used = strlen(in->warning);
		snprintf(in->warning + used, sizeof in->warning - used, "%s%s is not read: %s", used ? "; " : "",
			nb_import_tail(&beside), strerror(errno));
		return NB_OK;
	}
	snprintf(in->error, sizeof in->error, "%s: cannot be opened: %s", nb_import_tail(&beside), strerror(errno));
	return NB_EINVAL;
}

static int read_array(struct nb_import *in, struct array *array, struct nb_frame *frame)
{
	struct nb_import beside = {.name = array->path, .path = array->path};
	struct nb_bytes bytes;
	struct nb_lines lines;
	struct stat about;
	const unsigned char *head;
	beside.fd = nb_open_named(array->path, O_RDONLY | O_NONBLOCK);
	if (beside.fd < 0)
		return errno == EISDIR ? NB_OK : cannot_open(in, array->path);
	const int unknown = fstat(beside.fd, &about);
	if (unknown || !S_ISREG(about.st_mode)) {
		const int status = unknown ? cannot_open(in, array->path) : NB_OK;
		close(beside.fd);
		return status;
	}
	beside.bytes = &bytes;
	int status = nb_bytes_open(&bytes, beside.fd);
	const size_t n = status ? 0 : nb_wire_look(&beside, 64, &head);
	const int what = n && n != SIZE_MAX ? looks_like(array, head, n) : 0;
	if (n == SIZE_MAX)
		status = NB_EINVAL;
	if (what == 2) {
		nb_bytes_pass(&bytes, 4);
		status = read_binary(&beside, array, frame);
	} else if (what == 1) {
		status = nb_bytes_seek(&bytes, 0) ? nb_wire_fail(&beside, "read error: %s", strerror(errno))
						  : nb_lines_open(&lines, &beside);
		if (!status) {
			status = read_text(&lines, array, frame);
			nb_lines_close(&lines);
		}
	}
	nb_bytes_close(&bytes);
	close(beside.fd);
	if (status == NB_EINVAL)
		snprintf(in->error, sizeof in->error, "%s", beside.error);
	return status;
}

/* The column of the array FILE.SUFFIX.  What the records have is not replaced.  0: it can have none. */
static int name_column(
	const struct nb_frame *frame, const struct nb_frame *arrays, const char *suffix, char name[NB_NAME_SIZE + 1])
{
	static const char other[] = "_array";
	size_t i = 0;
	for (; suffix[i]; i++) {
		if (i + sizeof other > NB_NAME_SIZE || suffix[i] <= ' ' || suffix[i] > '~')
			return 0;
		name[i] = suffix[i] == '.' ? '_' : (char)tolower((unsigned char)suffix[i]);
	}
	name[i] = '\0';
	if (strcmp(name, "iord") == 0) {
		strcpy(name, nb_field_info[NB_ID].name);
		return 1;
	}
	const struct nb_field_info *info = nb_field_find(name);
	const char *dtype = is_whole(name) ? "<u8" : "<f8";
	if (nb_frame_find(frame, name) || nb_frame_find(arrays, name) ||
		(info && (info->table != NB_PARTICLE || strcmp(info->dtype, dtype) != 0)))
		strcpy(name + i, other);
	return i > 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* What stands behind the name of the file and a point, or behind the name without its ending where that is one of TIPSY
 * files: run.tipsy and run.iord belong together.  NULL: another file. */
static const char *suffix_of(const char *name, const char *base)
{
	static const char *const ending[] = {".tipsy", ".std", ".tbin", ".bin"};
	const size_t length = strlen(base);
	if (strncmp(name, base, length) == 0)
		return name[length] == '.' ? name + length + 1 : NULL;
	for (size_t k = 0; k < sizeof ending / sizeof *ending; k++) {
		const size_t end = strlen(ending[k]), stem = length > end ? length - end : 0;
		if (stem && strcmp(base + stem, ending[k]) == 0 && strncmp(name, base, stem) == 0 && name[stem] == '.')
			return name + stem + 1;
	}
	return NULL;
}

/* Columns of arrays, which have the bodies of the frame only: those that the frame gets. */
static int move_columns(struct nb_frame *arrays, struct nb_frame *frame)
{
	int status = NB_OK;
	for (size_t c = 0; c < arrays->ncolumn && !status; c++) {
		struct nb_column *from = &arrays->column[c];
		struct nb_column *to = from->field < NB_NFIELD
					       ? nb_frame_add_field(frame, from->field, NULL, 0)
					       : nb_frame_add(frame, from->name, NB_PARTICLE, from->dtype, from->ncomp,
							 from->unit, from->flags);
		const void *data = nb_column_read(from, &nb_space_host, NB_WIRE);
		void *copy = to && data ? nb_column_write(to, &nb_space_host, NB_WIRE) : NULL;
		if (copy)
			memcpy(copy, data, to->rows * to->rowsize);
		else if (!to || to->rows)
			status = NB_ENOMEM;
	}
	return status;
}

/* Of arrays of all bodies those of the frame, whose ids are their rows. */
static int choose_rows(struct nb_frame *arrays, struct nb_frame *frame)
{
	const size_t n = frame->rows[NB_PARTICLE];
	const uint64_t *id = nb_column_read(nb_frame_field(frame, NB_ID), &nb_space_host, NB_WIRE);
	uint32_t *row = nb_alloc(n, sizeof *row);
	int status = row && (id || n == 0) ? NB_OK : NB_ENOMEM;
	for (size_t i = 0; i < n && !status; i++)
		row[i] = (uint32_t)id[i];
	if (!status)
		status = nb_frame_gather(arrays, NB_PARTICLE, n, row, &nb_space_host, nb_gather_host);
	nb_free(row);
	return status ? status : move_columns(arrays, frame);
}

int nb_tipsy_read_arrays(struct nb_import *in, struct nb_frame *frame, int big, uint64_t n)
{
	struct nb_frame all;
	const int some = frame->rows[NB_PARTICLE] < n;
	nb_frame_init(&all);
	all.rows[NB_PARTICLE] = n;
	struct nb_frame *arrays = some ? &all : frame;
	const char *slash = strrchr(in->path, '/'), *base = slash ? slash + 1 : in->path;
	const size_t before = (size_t)(base - in->path);
	char *folder = slash ? strndup(in->path, before) : strdup(".");
	struct dirent **entry = NULL;
	const int directory = folder ? nb_open_named(folder, O_RDONLY | O_DIRECTORY) : -1;
	const int nentry = directory >= 0 ? scandirat(directory, ".", &entry, NULL, by_name) : -1;
	int status = !folder ? NB_ENOMEM : nentry < 0 ? cannot_open(in, folder) : NB_OK;
	char column[NB_NAME_SIZE + 1];
	for (int k = 0; k < nentry; k++) {
		const char *name = entry[k]->d_name;
		struct array array = {.n = n, .big = big};
		const char *suffix = suffix_of(name, base);
		if (!status && suffix && name_column(frame, arrays, suffix, column) &&
			nb_subset_needs(&in->subset, column)) {
			array.name = column;
			array.is_whole = is_whole(array.name);
			array.path = malloc(before + strlen(name) + 1);
			status = array.path ? NB_OK : NB_ENOMEM;
		}
		if (array.path) {
			memcpy(array.path, in->path, before);
			strcpy(array.path + before, name);
			status = read_array(in, &array, arrays);
		}
		free(array.path);
		free(entry[k]);
	}
	if (directory >= 0)
		close(directory);
	free(entry);
	free(folder);
	if (!status && some && all.ncolumn)
		status = choose_rows(&all, frame);
	nb_frame_clear(&all);
	return status;
}
