#include "tools/filter/report.h"

#include "common/decimal.h"
#include "common/die.h"
#include "common/printable.h"
#include "tools/filter/filter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- text --------------------------------------------------------------------------------------- */

void nb_print_clean(const char *text)
{
	while (*text) {
		unsigned code;
		const size_t n = nb_utf8_character(text, &code);
		if (n && nb_is_printable(code))
			fwrite(text, 1, n, stdout);
		else
			putchar('?');
		text += n ? n : 1;
	}
}

void nb_json_string(FILE *to, const char *text)
{
	putc('"', to);
	while (*text) {
		unsigned code;
		const size_t n = nb_utf8_character(text, &code);
		if (*text == '"' || *text == '\\')
			fprintf(to, "\\%c", *text);
		else if (!n)
			fputs("\\ufffd", to);
		else if (nb_is_printable(code))
			fwrite(text, 1, n, to);
		else
			fprintf(to, "\\u%04x", code);
		text += n ? n : 1;
	}
	putc('"', to);
}

/* ---- values ------------------------------------------------------------------------------------- */

static struct nb_report_value *add(struct nb_report *report, const char *name, int width)
{
	if (report->n == NB_REPORT_VALUES)
		nb_die(NB_EXIT_FAILED, "internal error: more than %d values in a line", NB_REPORT_VALUES);
	struct nb_report_value *value = &report->value[report->n++];
	snprintf(value->name, sizeof value->name, "%s", name);
	value->width = width;
	return value;
}

void nb_report_detail(struct nb_report *report, const char *name, double x)
{
	struct nb_report_value *value = add(report, name, 0);
	value->kind = NB_REPORT_REAL;
	value->real = x;
}

void nb_report_real(struct nb_report *report, const char *name, double x)
{
	enum { LEAST = 10 };
	const size_t length = strlen(name);
	nb_report_detail(report, name, x);
	report->value[report->n - 1].width = length > LEAST ? (int)length : LEAST;
}

void nb_report_integer(struct nb_report *report, const char *name, int width, uint64_t x)
{
	struct nb_report_value *value = add(report, name, width);
	value->kind = NB_REPORT_INTEGER;
	value->integer = x;
}

void nb_report_text(struct nb_report *report, const char *name, int width, const char *text)
{
	struct nb_report_value *value = add(report, name, width);
	value->kind = NB_REPORT_TEXT;
	value->text = text;
}

/* ---- lines -------------------------------------------------------------------------------------- */

/* In a column of a table. */
static void print_cell(const char *text, int width)
{
	const int gap = abs(width) - (int)strlen(text);
	if (gap > 0 && width > 0)
		printf("%*s", gap, "");
	nb_print_clean(text);
	if (gap > 0 && width < 0)
		printf("%*s", gap, "");
}

static void print_in_table(const struct nb_report_value *value)
{
	char number[NB_DECIMAL_SIZE];
	const char *text = number;
	const double x = value->real;
	if (value->kind == NB_REPORT_INTEGER)
		snprintf(number, sizeof number, "%" PRIu64, value->integer);
	else if (value->kind == NB_REPORT_TEXT)
		text = *value->text ? value->text : "-";
	else if (isnan(x))
		text = "absent";
	else
		snprintf(number, sizeof number, x == floor(x) && fabs(x) < 1e9 ? "%.0f" : "%.4g", x);
	print_cell(text, value->width);
}

static void print_in_tsv(const struct nb_report_value *value)
{
	char number[NB_DECIMAL_SIZE];
	if (value->kind == NB_REPORT_INTEGER) {
		printf("%" PRIu64, value->integer);
	} else if (value->kind == NB_REPORT_TEXT) {
		nb_print_clean(value->text);
	} else {
		nb_decimal_write(value->real, number);
		fputs(isnan(value->real) ? "NA" : number, stdout);
	}
}

static void print_in_json(const struct nb_report_value *value)
{
	char number[NB_DECIMAL_SIZE];
	printf("\"%s\":", value->name);
	if (value->kind == NB_REPORT_INTEGER) {
		printf("%" PRIu64, value->integer);
	} else if (value->kind == NB_REPORT_TEXT) {
		nb_json_string(stdout, value->text);
	} else {
		nb_decimal_write(value->real, number);
		fputs(isfinite(value->real) ? number : "null", stdout);
	}
}

/* One line of the values, or of their names. */
static void print_line(const struct nb_report *report, int names)
{
	const int format = report->format;
	const char *before = "", *between = format == NB_REPORT_TABLE ? " " : format == NB_REPORT_TSV ? "\t" : ",";
	for (size_t i = 0; i < report->n; i++) {
		const struct nb_report_value *value = &report->value[i];
		if (format == NB_REPORT_TABLE && !value->width)
			continue;
		fputs(before, stdout);
		before = between;
		if (names)
			print_cell(value->name, format == NB_REPORT_TABLE ? value->width : 0);
		else if (format == NB_REPORT_TABLE)
			print_in_table(value);
		else if (format == NB_REPORT_TSV)
			print_in_tsv(value);
		else
			print_in_json(value);
	}
}

static void print_names(struct nb_report *report)
{
	if (report->take || report->header_done || report->format == NB_REPORT_JSON)
		return;
	print_line(report, 1);
	putchar('\n');
	report->header_done = 1;
}

void nb_report_header(struct nb_report *report)
{
	print_names(report);
	report->n = 0;
	nb_require_flushed();
}

void nb_report_row(struct nb_report *report)
{
	const int json = report->format == NB_REPORT_JSON;
	if (report->take) {
		report->take(report->context, report);
		report->n = 0;
		return;
	}
	print_names(report);
	if (json)
		putchar('{');
	print_line(report, 0);
	puts(json ? "}" : "");
	report->n = 0;
}

/* The line of progress of a program before this one, which is rewritten in place, may stand where the row comes. */
static void wipe_progress(void)
{
	static const char wipe[] = "\r\33[K";
	const char *terminal = getenv("TERM");
	if (isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0)
		(void)!write(STDERR_FILENO, wipe, sizeof wipe - 1);
}

void nb_report_line(struct nb_report *report)
{
	wipe_progress();
	nb_report_row(report);
	nb_require_flushed();
}
