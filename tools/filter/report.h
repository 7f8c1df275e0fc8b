/* report.h - what a tool prints: lines of named values, as a table for people, as TSV or as JSON.
 *
 * A line is put together value by value, then printed:
 *     nb_report_integer(&report, "frame", 5, frame->number);
 *     nb_report_real(&report, "time", time);
 *     nb_report_line(&report);
 * In a table and in TSV the names stand above the first line, so all lines of a report have the same values; in JSON
 * each line is an object.  What is absent or undefined is NaN, and "absent", NA or null in print.  A report that is
 * zero prints a table; instances share nothing but stdout. */
#ifndef NB_FILTER_REPORT_H
#define NB_FILTER_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum nb_report_format { NB_REPORT_TABLE, NB_REPORT_TSV, NB_REPORT_JSON };
/* The same as words, for an option: NB_CHOICE(struct x, report.format), .arg = NB_REPORT_FORMATS */
#define NB_REPORT_FORMATS "table|tsv|json"

enum { NB_REPORT_VALUES = 80 };

struct nb_report {
	int format;	 /* enum nb_report_format */
	int header_done; /* the names are printed */
	/* Gets each line instead of stdout, NULL: nobody (take_line of struct nb_run). */
	void (*take)(void *context, const struct nb_report *line);
	void *context;
	/* private: the line that is being put together */
	size_t n;
	struct nb_report_value {
		char name[40];
		int width; /* of its column in a table: < 0 left-aligned, 0 not in the table */
		enum { NB_REPORT_REAL, NB_REPORT_INTEGER, NB_REPORT_TEXT } kind;
		double real;
		uint64_t integer;
		const char *text;
	} value[NB_REPORT_VALUES];
};

/* Add a value to the line.  A table rounds real numbers to 4 digits; TSV and JSON read back to the same bits. */
void nb_report_real(struct nb_report *report, const char *name, double x);
void nb_report_detail(struct nb_report *report, const char *name, double x); /* a real number that a table leaves out */
void nb_report_integer(struct nb_report *report, const char *name, int width, uint64_t x);
/* The text must stay where it is until the line is printed. */
void nb_report_text(struct nb_report *report, const char *name, int width, const char *text);

/* Prints the line, and what it may need above it, at once: a reader sees it, and a full disk ends the tool. */
void nb_report_line(struct nb_report *report);
/* The same for one line of many: it may stay in a buffer until nb_require_flushed. */
void nb_report_row(struct nb_report *report);
/* Prints only what it needs above it, if that is still to be done. */
void nb_report_header(struct nb_report *report);

/* Text from a stream on stdout: without control characters, which could reach those of a terminal or break a line;
 * as a JSON string in quotes, where bytes that are not UTF-8 become U+FFFD. */
void nb_print_clean(const char *text);
void nb_json_string(FILE *to, const char *text);

#endif
