/* The table of formats, and what reading and writing have in common in all of them.  The Makefile finds the formats,
 * and gives their names in NB_FORMATS as FORMAT(csv) ... */
#include "formats/exchange/exchange.h"

#include "common/decimal.h"
#include "common/named.h"
#include "common/nearest.h"
#include "formats/exchange/bytes.h"
#include "formats/exchange/lines.h"
#include "formats/exchange/output.h"
#include "formats/exchange/subset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

const struct nb_format *nb_format_named(const char *word, int read)
{
	const struct nb_format *format, *other = NULL;
	for (size_t k = 0; (format = nb_format_number(k)) != NULL; k++) {
		if (read ? !format->open : !format->frame)
			continue;
		if (strcmp(format->name, word) == 0)
			return format;
		if (!other && nb_has_word(format->suffixes, word))
			other = format;
	}
	return other;
}

const struct nb_format *nb_format_of_suffix(const char *path)
{
	const struct nb_format *format;
	for (size_t k = 0; (format = nb_format_number(k)) != NULL; k++)
		if (format->frame && nb_has_suffix(format->suffixes, path))
			return format;
	return NULL;
}

/* Memory of that many bytes, zero. */
static void *new_state(size_t size)
{
	return calloc(1, size ? size : 1);
}

/* ---- reading ------------------------------------------------------------------------------------ */

const struct nb_format *nb_format_recognised(const unsigned char *head, size_t n, uint64_t size)
{
	const struct nb_format *format;
	for (size_t k = 0; (format = nb_format_number(k)) != NULL; k++)
		if (format->open && format->recognises && format->recognises(head, n, size))
			return format;
	return NULL;
}

/* What the file is that begins so if it is none of a known format; NULL: that is not known. */
static const char *stranger(const unsigned char *head, size_t n)
{
	return nb_is_stream(head, n) ? "this is a particle stream (it needs no '--from')" : nb_foreign(head, n);
}

/* What the user may have meant who asked for in->format. */
static void prepare_hint(struct nb_import *in)
{
	size_t n;
	const int table = (in->format->traits & NB_TABLE) != 0;
	/* rows of a table may come one by one through a pipe, without header if they are named */
	const int waits = table && (in->columns || in->bytes->size == 0);
	const unsigned char *head = waits ? NULL : nb_bytes_peek(in->bytes, NB_HEAD, &n);
	if (!head || n == 0)
		return;
	const struct nb_format *other = nb_format_recognised(head, n, in->bytes->size);
	const char *what = other ? NULL : stranger(head, n);
	if (other && other != in->format)
		snprintf(in->hint, sizeof in->hint, "it looks like %s: --from %s", other->about, other->name);
	else if (what)
		snprintf(in->hint, sizeof in->hint, "%s", what);
}

/* Once nothing of the file has been read: a message of its own may have said that already. */
static void add_hint(struct nb_import *in)
{
	const size_t used = strlen(in->error);
	if (in->nframe == 0 && *in->hint && !strstr(in->error, in->hint) && !strstr(in->error, "--from"))
		snprintf(in->error + used, sizeof in->error - used, "; %s", in->hint);
}

/* How many columns the first line of a text that begins so has, if it has numbers alone; 0: it has more. */
static size_t bare_numbers(const unsigned char *head, size_t n)
{
	char line[NB_HEAD + 1];
	size_t mark;
	if (!nb_text_begins(head, n, &mark))
		return 0;
	memcpy(line, head + mark, n - mark);
	line[n - mark] = '\0';
	char *begin = line + strspn(line, "\r\n"), *end = begin + strcspn(begin, "\r\n");
	if (!*end && n == NB_HEAD) /* it may go on behind the head */
		return 0;
	*end = '\0';
	return nb_csv_bare_numbers(begin);
}

/* The format by the head of the file; NULL after in->error is set. */
static const struct nb_format *recognise(struct nb_import *in)
{
	const struct nb_format *format;
	size_t n, used;
	const unsigned char *head = nb_bytes_peek(in->bytes, NB_HEAD, &n);
	if (!head) {
		snprintf(in->error, sizeof in->error, "%s: read error: %s", in->name, strerror(errno));
		return NULL;
	}
	format = nb_format_recognised(head, n, in->bytes->size);
	if (format)
		return format;
	const char *what = n == 0 ? "the file is empty" : stranger(head, n);
	if (what) {
		snprintf(in->error, sizeof in->error, "%s: %s", nb_import_tail(in), what);
		return NULL;
	}
	const size_t columns = bare_numbers(head, n);
	if (columns > 1) {
		snprintf(in->error, sizeof in->error,
			"%s: %zu columns of numbers, but no header line (name them, as by '--from csv --columns %s')",
			nb_import_tail(in), columns, nb_likely_columns(columns));
		return NULL;
	}
	used = (size_t)snprintf(in->error, sizeof in->error, "%s is none of", nb_import_tail(in));
	for (size_t k = 0; (format = nb_format_number(k)) != NULL && used < sizeof in->error; k++)
		if (format->open && format->recognises)
			used += (size_t)snprintf(
				in->error + used, sizeof in->error - used, "%s %s", k ? "," : "", format->name);
	return NULL;
}

/* Opens a path, or the first of several files of this stem, whose path it leaves in memory; -1 with errno. */
static int open_first(const char *stem, char **opened)
{
	static const char *const suffix[] = {"", ".0", ".0.hdf5"};
	const size_t room = strlen(stem) + 16;
	int fd = -1;
	*opened = malloc(room);
	for (size_t k = 0; *opened && fd < 0 && k < sizeof suffix / sizeof *suffix; k++) {
		snprintf(*opened, room, "%s%s", stem, suffix[k]);
		fd = nb_open_named(*opened, O_RDONLY);
		if (fd < 0 && errno != ENOENT)
			break;
	}
	if (fd < 0) {
		free(*opened);
		*opened = NULL;
	}
	return fd;
}

static int open_path(struct nb_import *in)
{
	in->fd = open_first(in->path, &in->opened);
	if (in->fd < 0)
		return errno == ENOMEM ? NB_ENOMEM : -1;
	in->path = in->name = in->opened;
	return NB_OK;
}

const struct nb_format *nb_format_of_file(const char *path)
{
	unsigned char head[NB_HEAD];
	struct stat st;
	char *opened;
	const int fd = open_first(path, &opened);
	if (fd < 0)
		return NULL;
	free(opened);
	const ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, head, sizeof head, 0) : -1;
	close(fd);
	return n > 0 ? nb_format_recognised(head, (size_t)n, (uint64_t)st.st_size) : NULL;
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
	in->fd = fd;
	in->path = path;
	in->name = "standard input";
	const int opened = path ? open_path(in) : NB_OK;
	if (opened == NB_ENOMEM)
		explain(in, opened);
	if (opened)
		return opened;
	if (table) {
		in->safe = table->safe;
		in->columns = table->columns;
		in->separator = table->separator;
	}
	if (subset)
		in->subset = *subset;
	in->bytes = new_state(sizeof *in->bytes);
	int status = in->bytes ? nb_bytes_open(in->bytes, in->fd) : NB_ENOMEM;
	if (!status) {
		in->format = format ? format : recognise(in);
		status = in->format ? NB_OK : NB_EINVAL;
	}
	if (!status) {
		if (format)
			prepare_hint(in);
		in->state = new_state(in->format->import_size);
		status = in->state ? in->format->open(in) : NB_ENOMEM;
	}
	if (status) {
		explain(in, status);
		add_hint(in);
	}
	return status;
}

static enum nb_answer next_frame(struct nb_import *in, struct nb_frame *frame)
{
	nb_frame_clear(frame);
	in->selected = NB_SELECTED_NONE;
	in->usual_units = 0;
	enum nb_answer answer = in->format->next(in, frame);
	if (answer == NB_ERROR) {
		explain(in, NB_ENOMEM);
		add_hint(in);
	}
	in->nframe += answer == NB_FRAME;
	return answer;
}

static void drop_unwanted(const struct nb_subset *subset, struct nb_frame *frame)
{
	for (size_t c = frame->ncolumn; subset->wants && c-- > 0;)
		if (!subset->wants(subset->context, frame->column[c].name))
			nb_frame_drop(frame, frame->column[c].name);
}

/* What every program asks of a column. */
static int check_values(struct nb_import *in, struct nb_frame *frame)
{
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		const unsigned traits = column->field < NB_NFIELD ? nb_field_info[column->field].traits : 0,
			       what = ((traits & NB_FINITE) ? NB_BAD_NONFINITE : 0u) |
				      ((traits & NB_NOT_NEGATIVE) ? NB_BAD_NEGATIVE : 0u);
		const size_t bad = what ? nb_column_first_bad(column, what) : column->rows;
		if (bad < column->rows) {
			snprintf(in->error, sizeof in->error, "%s: %s of body %zu is %s", nb_import_tail(in),
				column->name, bad,
				(traits & NB_NOT_NEGATIVE) ? "negative or not finite" : "not finite");
			return NB_EINVAL;
		}
	}
	return NB_OK;
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
	int status = nb_subset_apply(subset, in->selected, frame, in->error, sizeof in->error);
	drop_unwanted(subset, frame);
	if (!status && in->format->traits & NB_UNCHECKED)
		status = check_values(in, frame);
	if (status) {
		explain(in, status);
		return NB_ERROR;
	}
	if (!in->complete && !nb_frame_attribute(frame, "G") && nb_frame_set_attribute_f64(frame, "G", in->format->G)) {
		explain(in, NB_ENOMEM);
		return NB_ERROR;
	}
	return NB_FRAME;
}

void nb_import_close(struct nb_import *in)
{
	if (in->state)
		in->format->close(in);
	free(in->state);
	if (in->bytes)
		nb_bytes_close(in->bytes);
	free(in->bytes);
	if (in->opened)
		close(in->fd);
	free(in->opened);
	memset(in, 0, offsetof(struct nb_import, warning));
	in->opened = in->state = NULL;
}

/* ---- writing ------------------------------------------------------------------------------------ */

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
	for (struct nb_beside *file = out->beside, *before; file; file = before) {
		before = file->before;
		nb_output_abandon(&file->output);
		free(file);
	}
	out->beside = NULL;
	free(out->state);
	free(out->output);
	out->format = NULL;
}

int nb_export_close(struct nb_export *out)
{
	int status = out->format->end ? out->format->end(out) : NB_OK;
	/* all bytes are in place before the first file takes its name */
	for (struct nb_beside *file = out->beside; file && !status; file = file->before)
		status = nb_output_flush(&file->output);
	if (out->beside && !out->only_beside && !status)
		status = nb_output_flush(out->output);
	for (struct nb_beside *file = out->beside; file && !status; file = file->before)
		status = nb_output_close(&file->output);
	if (!status && out->only_beside)
		nb_output_abandon(out->output);
	else if (!status)
		status = nb_output_close(out->output);
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
