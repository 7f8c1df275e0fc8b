/* --fields, --attributes, --history: what a stream consists of, and again where that changes. */
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void stream(struct nb_run *run, struct stats *self)
{
	struct nb_frame frame;
	nb_frame_init(&frame);
	while (nb_stats_next(run, &frame, NULL, NULL))
		self->mode->frame(run, self, &frame);
	nb_frame_clear(&frame);
}

/* Keeps what the next frame is held against. */
static void remember(struct stats *self, const struct nb_frame *frame)
{
	nb_require_ok(nb_frame_copy_head(&self->list.before, frame), frame);
	self->list.started = 1;
}

static void clear(struct stats *self)
{
	nb_frame_clear(&self->list.before);
}

/* ---- columns ------------------------------------------------------------------------------------ */

static int same_columns(const struct nb_frame *a, const struct nb_frame *b)
{
	if (a->ncolumn != b->ncolumn)
		return 0;
	for (size_t c = 0; c < a->ncolumn; c++) {
		const struct nb_column *x = &a->column[c], *y = &b->column[c];
		if (strcmp(x->name, y->name) != 0 || strcmp(x->dtype, y->dtype) != 0 || strcmp(x->unit, y->unit) != 0 ||
			x->table != y->table || x->ncomp != y->ncomp || x->rows != y->rows)
			return 0;
	}
	return 1;
}

static void describe(struct nb_report *report, uint64_t number, const struct nb_column *column)
{
	nb_report_integer(report, "frame", 5, number);
	nb_report_text(report, "name", -16, column->name);
	nb_report_text(report, "table", -8, nb_table_name[column->table]);
	nb_report_text(report, "type", -5, column->dtype);
	nb_report_integer(report, "components", 10, column->ncomp);
	nb_report_text(report, "unit", -18, column->unit);
	nb_report_integer(report, "rows", 10, column->rows);
	nb_report_integer(report, "bytes", 12, column->rows * column->rowsize);
}

static void list_fields(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	static const struct nb_column none;
	(void)run;
	if (self->list.started && same_columns(frame, &self->list.before))
		return;
	describe(&self->report, 0, &none);
	nb_report_header(&self->report); /* also where there are no columns */
	for (size_t c = 0; c < frame->ncolumn; c++) {
		describe(&self->report, frame->number, &frame->column[c]);
		nb_report_line(&self->report);
	}
	remember(self, frame);
}

/* ---- attributes --------------------------------------------------------------------------------- */

/* The attributes, as text, that are history, or the others, one at a time: *at moves on. NULL: no more. */
static const char *next_attribute(const struct nb_frame *frame, int history, size_t *at, const char **key)
{
	while (*at < frame->nattribute) {
		const size_t k = (*at)++;
		*key = frame->attribute[k].key;
		if ((strcmp(*key, "history") == 0) == history)
			return nb_frame_attribute_text(frame, k);
	}
	return NULL;
}

static int same_attributes(const struct nb_frame *a, const struct nb_frame *b, int history)
{
	const char *x, *y, *key_x = "", *key_y = "";
	size_t i = 0, j = 0;
	do {
		x = next_attribute(a, history, &i, &key_x);
		y = next_attribute(b, history, &j, &key_y);
		if (!x || !y)
			return x == y;
	} while (strcmp(key_x, key_y) == 0 && strcmp(x, y) == 0);
	return 0;
}

/* One object a frame: {"frame":0,"attributes":{"key":"value",...}}, {"frame":0,"history":["line",...]} */
static void print_json(const struct nb_frame *frame, int history)
{
	const char *key = "", *text;
	size_t at = 0;
	printf("{\"frame\":%" PRIu64 ",\"%s\":%c", frame->number, history ? "history" : "attributes",
		history ? '[' : '{');
	for (const char *comma = ""; (text = next_attribute(frame, history, &at, &key)); comma = ",") {
		fputs(comma, stdout);
		if (!history) {
			nb_json_string(stdout, key);
			putchar(':');
		}
		nb_json_string(stdout, text);
	}
	puts(history ? "]}" : "}}");
}

/* A line an attribute: frame, key and value in TSV; key=value in a table, with an empty line between frames. */
static void print_lines(struct nb_report *report, const struct nb_frame *frame, int history)
{
	const char *key = "", *text;
	const int tsv = report->format == NB_REPORT_TSV;
	size_t at = 0;
	if (tsv && !report->header_done)
		puts(history ? "frame\thistory" : "frame\tkey\tvalue");
	if (!tsv && report->header_done)
		putchar('\n');
	report->header_done = 1;
	while ((text = next_attribute(frame, history, &at, &key))) {
		if (tsv)
			printf("%" PRIu64 "\t", frame->number);
		if (!history) {
			nb_print_clean(key);
			putchar(tsv ? '\t' : '=');
		}
		nb_print_clean(text);
		putchar('\n');
	}
}

static void list_attributes(struct stats *self, const struct nb_frame *frame, int history)
{
	if (self->list.started && same_attributes(frame, &self->list.before, history))
		return;
	if (self->report.format == NB_REPORT_JSON)
		print_json(frame, history);
	else
		print_lines(&self->report, frame, history);
	nb_require_flushed();
	remember(self, frame);
}

static void attributes(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	(void)run;
	list_attributes(self, frame, 0);
}

static void history(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	(void)run;
	list_attributes(self, frame, 1);
}

const struct mode nb_stats_fields = {.option = "fields", .frame = list_fields, .stream = stream, .clear = clear};
const struct mode nb_stats_attributes = {.option = "attributes", .frame = attributes, .stream = stream, .clear = clear};
const struct mode nb_stats_history = {.option = "history", .frame = history, .stream = stream, .clear = clear};
