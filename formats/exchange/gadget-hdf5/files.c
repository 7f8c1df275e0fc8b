/* gadget-hdf5, read: the files of a snapshot, NAME.0.hdf5, NAME.1.hdf5 ...
 *
 * Each is opened once, and all at the same time, as most of what that takes is the start of a process (hdf5.h).  Of
 * very many files those from MOST_KEPT on are opened one after the other, and once more for their rows: an open one is
 * a process and two descriptors. */
#include "formats/exchange/gadget-hdf5/read.h"

#include "common/cpu.h"
#include "common/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 64 };

/* NAME.3.hdf5 is file 3 of several: what is before and behind the number. */
static int split_name(struct nb_gadget_hdf5_reader *reader)
{
	const char *path = reader->in->path;
	if (!path)
		return nb_h5_fail(&reader->file,
			"this is one of %u files of a snapshot: give its path, or '--one-file'", reader->nfile);
	const char *base = strrchr(path, '/') ? strrchr(path, '/') : path, *end = path + strlen(path), *dot = NULL;
	for (const char *at = base; at < end; at++) {
		const size_t digits = *at == '.' ? strspn(at + 1, "0123456789") : 0;
		if (digits && (at[1 + digits] == '.' || !at[1 + digits]))
			dot = at;
	}
	if (!dot)
		return nb_h5_fail(&reader->file,
			"this is one of %u files of a snapshot, whose names should end in .0.hdf5, .1.hdf5 ... "
			"('--one-file' reads it alone)",
			reader->nfile);
	reader->stem = strndup(path, (size_t)(dot - path));
	reader->extension = strdup(dot + 1 + strspn(dot + 1, "0123456789"));
	return reader->stem && reader->extension ? NB_OK : nb_h5_no_memory(&reader->file);
}

static char *name_of(const struct nb_gadget_hdf5_reader *reader, unsigned k)
{
	char *name;
	return asprintf(&name, "%s.%u%s", reader->stem, k, reader->extension) < 0 ? NULL : name;
}

static void open_named(const struct nb_gadget_hdf5_reader *reader, struct nb_gadget_hdf5_file *file)
{
	const struct nb_import named = {.name = file->name};
	file->status = nb_h5_open(&file->h5, file->name, NULL, nb_import_tail(&named));
	const size_t used = strlen(file->h5.error);
	if (file->status && file->h5.fd < 0)
		snprintf(file->h5.error + used, sizeof file->h5.error - used,
			" (the snapshot has %u files; '--one-file' reads one alone)", reader->nfile);
}

/* The present file goes to its place, or is closed. */
static void leave_file(struct nb_gadget_hdf5_reader *reader)
{
	if (reader->present && reader->present <= reader->nkept) {
		reader->kept[reader->present - 1].h5 = reader->file;
	} else {
		nb_h5_close(&reader->file);
		free(reader->name);
	}
	reader->file = (struct nb_h5_reader){0};
	reader->name = NULL;
	reader->present = 0;
}

/* work for each of the first n files, by all threads; by one alone no thread is started, and no memory needed. */
static void for_files(struct nb_gadget_hdf5_reader *reader, unsigned n,
	void (*work)(struct nb_gadget_hdf5_reader *, struct nb_gadget_hdf5_file *))
{
	if (n < 2 || nb_cpu_threads() < 2) {
		for (unsigned k = 0; k < n; k++)
			work(reader, &reader->kept[k]);
		return;
	}
#pragma omp parallel for schedule(dynamic)
	for (unsigned k = 0; k < n; k++)
		work(reader, &reader->kept[k]);
}

static void open_kept(struct nb_gadget_hdf5_reader *reader, struct nb_gadget_hdf5_file *file)
{
	if (!file->h5.name)
		open_named(reader, file);
}

int nb_gadget_hdf5_find_files(struct nb_gadget_hdf5_reader *reader)
{
	if (split_name(reader))
		return NB_EINVAL;
	const unsigned n = reader->nfile < MOST_KEPT ? reader->nfile : MOST_KEPT;
	struct nb_gadget_hdf5_file *kept = calloc(n, sizeof *kept);
	int missing = !kept;
	for (unsigned k = 0; kept && k < n; k++)
		missing |= !(kept[k].name = name_of(reader, k));
	reader->kept = kept;
	if (missing)
		return nb_h5_no_memory(&reader->file);
	/* the one that was given is there */
	for (unsigned k = 0; k < n && reader->present; k++)
		if (strcmp(kept[k].name, reader->in->path) == 0) {
			kept[k].h5 = reader->file;
			reader->file = (struct nb_h5_reader){0};
			reader->present = 0;
		}
	leave_file(reader);
	reader->nkept = n;
	for_files(reader, n, open_kept);
	return NB_OK;
}

int nb_gadget_hdf5_open_file(struct nb_gadget_hdf5_reader *reader, unsigned k)
{
	leave_file(reader);
	reader->present = k + 1;
	if (!reader->stem) /* the only one, or the first look */
		return nb_h5_open(&reader->file, NULL, reader->in->bytes, nb_import_tail(reader->in));
	if (k < reader->nkept) {
		reader->file = reader->kept[k].h5;
		return reader->kept[k].status;
	}
	struct nb_gadget_hdf5_file file = {.name = name_of(reader, k)};
	if (!file.name)
		return nb_h5_no_memory(&reader->file);
	open_named(reader, &file);
	reader->name = file.name;
	reader->file = file.h5;
	return file.status;
}

void nb_gadget_hdf5_close_files(struct nb_gadget_hdf5_reader *reader)
{
	leave_file(reader);
	for (unsigned k = 0; k < reader->nkept; k++) {
		for (struct nb_gadget_hdf5_rows *rows = reader->kept[k].rows, *next; rows; rows = next) {
			next = rows->next;
			free(rows);
		}
		nb_h5_close(&reader->kept[k].h5);
		free(reader->kept[k].name);
	}
	free(reader->kept);
	free(reader->stem);
	free(reader->extension);
}

/* ---- rows --------------------------------------------------------------------------------------- */

/* count rows from first on, every step-th. */
static int read_rows(struct nb_h5_reader *file, const struct nb_gadget_hdf5_rows *rows)
{
	enum { SPAN = 4096 };
	const struct nb_column *column = rows->column;
	const uint64_t step = rows->step;
	const char *dtype = strcmp(column->dtype, "|b1") == 0 ? "|u1" : column->dtype;
	if (step == 1)
		return nb_h5_read(file, rows->item, rows->first, rows->count, dtype, rows->to);
	const uint64_t at_once = step < SPAN ? SPAN / step : 1;
	unsigned char *span = nb_alloc((at_once - 1) * (step < SPAN ? step : 0) + 1, column->rowsize);
	int status = span ? NB_OK : nb_h5_no_memory(file);
	for (uint64_t k = 0; !status && k < rows->count; k += at_once) {
		const uint64_t n = rows->count - k < at_once ? rows->count - k : at_once;
		status = nb_h5_read(file, rows->item, rows->first + k * step, (n - 1) * step + 1, dtype, span);
		for (uint64_t i = 0; !status && i < n; i++)
			memcpy(rows->to + (k + i) * column->rowsize, span + i * step * column->rowsize,
				column->rowsize);
	}
	nb_free(span);
	return status;
}

int nb_gadget_hdf5_plan_rows(struct nb_gadget_hdf5_reader *reader, const struct nb_gadget_hdf5_rows *rows)
{
	if (!reader->stem || reader->present > reader->nkept) /* it will not be there later */
		return read_rows(&reader->file, rows);
	struct nb_gadget_hdf5_rows *own = malloc(sizeof *own);
	if (!own)
		return nb_h5_no_memory(&reader->file);
	struct nb_gadget_hdf5_file *file = &reader->kept[reader->present - 1];
	*own = *rows;
	own->next = NULL;
	*(file->last ? &file->last->next : &file->rows) = own;
	file->last = own;
	return NB_OK;
}

static void read_kept(struct nb_gadget_hdf5_reader *reader, struct nb_gadget_hdf5_file *file)
{
	(void)reader;
	for (const struct nb_gadget_hdf5_rows *rows = file->rows; rows && !file->status; rows = rows->next)
		file->status = read_rows(&file->h5, rows);
}

int nb_gadget_hdf5_read_rows(struct nb_gadget_hdf5_reader *reader)
{
	if (reader->nkept)
		leave_file(reader);
	for_files(reader, reader->nkept, read_kept);
	int status = NB_OK;
	for (unsigned k = 0; !status && k < reader->nkept; k++)
		if (reader->kept[k].status)
			status = nb_gadget_hdf5_open_file(reader, k); /* whose error it is */
	return status;
}
