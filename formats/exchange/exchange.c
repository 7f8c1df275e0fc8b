/* The table of formats, and what reading and writing have in common in all of them.  The Makefile finds the formats,
 * and gives their names in NB_FORMATS as FORMAT(csv) ... */
#include "formats/exchange/exchange.h"

#include "formats/exchange/output_internal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT(name) extern const struct nb_format nb_format_##name;
NB_FORMATS
#undef FORMAT

static const struct nb_format *const formats[] = {
#define FORMAT(name) &nb_format_##name,
	NB_FORMATS
#undef FORMAT
};
enum { NFORMAT = sizeof formats / sizeof *formats };

/* Formats that stand before this one. */
static size_t rank(size_t i)
{
	size_t before = 0;
	for (size_t j = 0; j < NFORMAT; j++)
		before += formats[j]->place < formats[i]->place || (formats[j]->place == formats[i]->place && j < i);
	return before;
}

const struct nb_format *nb_format_number(size_t k)
{
	for (size_t i = 0; i < NFORMAT; i++)
		if (rank(i) == k)
			return formats[i];
	return NULL;
}

/* Memory of that many bytes, zero. */
static void *new_state(size_t size)
{
	return calloc(1, size ? size : 1);
}

/* ---- reading ------------------------------------------------------------------------------------ */

const char *nb_import_tail(const struct nb_import *in)
{
	enum { SHOWN = 200 };
	const size_t length = strlen(in->name);
	return length > SHOWN ? in->name + length - SHOWN : in->name;
}

/* After a failure: the text that it left, or the one of its status. */
static void explain(struct nb_import *in, int status)
{
	if (!*in->error)
		snprintf(in->error, sizeof in->error, "%s", nb_status_text(status));
}

int nb_import_open(struct nb_import *in, const struct nb_format *format, int fd, const char *path,
	const struct nb_subset *subset, const struct nb_table_text *table)
{
	memset(in, 0, sizeof *in);
	in->fd = path ? open(path, O_RDONLY | O_CLOEXEC) : fd;
	if (path && in->fd < 0)
		return -1;
	in->path = path;
	in->name = path ? path : "standard input";
	in->format = format;
	if (table) {
		in->safe = table->safe;
		in->columns = table->columns;
	}
	if (subset)
		in->subset = *subset;
	in->state = new_state(format->import_size);
	int status = in->state ? format->open(in) : NB_ENOMEM;
	if (status)
		explain(in, status);
	return status;
}

static enum nb_answer next_frame(struct nb_import *in, struct nb_frame *frame)
{
	nb_frame_clear(frame);
	enum nb_answer answer = in->format->next(in, frame);
	if (answer == NB_ERROR)
		explain(in, NB_ENOMEM);
	in->nframe += answer == NB_FRAME;
	return answer;
}

static void drop_unwanted(const struct nb_subset *subset, struct nb_frame *frame)
{
	for (size_t c = frame->ncolumn; subset->wants && c-- > 0;)
		if (!subset->wants(subset->context, frame->column[c].name))
			nb_frame_drop(frame, frame->column[c].name);
}

enum nb_answer nb_import_next(struct nb_import *in, struct nb_frame *frame)
{
	const struct nb_subset *subset = &in->subset;
	if (subset->count && in->nframe >= subset->first && in->nframe - subset->first >= subset->count) {
		nb_frame_clear(frame);
		return NB_END;
	}
	enum nb_answer answer;
	do
		answer = next_frame(in, frame);
	while (answer == NB_FRAME && in->nframe <= subset->first);
	if (answer != NB_FRAME)
		return answer;
	frame->number = in->nframe - 1;
	drop_unwanted(subset, frame);
	if (!in->complete && !nb_frame_attribute(frame, "G") && nb_frame_set_attribute_f64(frame, "G", in->format->G)) {
		explain(in, NB_ENOMEM);
		return NB_ERROR;
	}
	return NB_FRAME;
}

void nb_import_close(struct nb_import *in)
{
	if (!in->format)
		return;
	if (in->state)
		in->format->close(in);
	free(in->state);
	if (in->path)
		close(in->fd);
	in->format = NULL;
}

/* ---- writing ------------------------------------------------------------------------------------ */

int nb_export_fail(struct nb_export *out, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(out->error, sizeof out->error, format, ap);
	va_end(ap);
	return NB_EINVAL;
}

int nb_export_open(struct nb_export *out, const struct nb_format *format, const char *path)
{
	memset(out, 0, sizeof *out);
	out->format = format;
	out->path = path;
	out->state = new_state(format->export_size);
	out->output = new_state(sizeof *out->output);
	return out->state && out->output ? nb_output_open(out->output, path ? -1 : STDOUT_FILENO, path) : NB_ENOMEM;
}

int nb_export_frame(struct nb_export *out, const struct nb_frame *frame)
{
	const struct nb_format *format = out->format;
	int status = out->nframe == 0 && format->begin ? format->begin(out, frame) : NB_OK;
	if (!status)
		status = format->frame(out, frame);
	out->nframe += status == NB_OK;
	return status;
}

static void release(struct nb_export *out)
{
	if (out->state && out->format->release)
		out->format->release(out);
	free(out->state);
	free(out->output);
	out->format = NULL;
}

int nb_export_close(struct nb_export *out)
{
	const int status = nb_output_close(out->output);
	if (!status)
		release(out);
	return status;
}

void nb_export_abandon(struct nb_export *out)
{
	if (!out->format)
		return;
	if (out->output)
		nb_output_abandon(out->output);
	release(out);
}
