#include "tools/filter/options.h"

#include "common/cpu.h"
#include "common/nearest.h"
#include "common/parse.h"
#include "tools/filter/files.h"
#include "tools/filter/history.h"
#include "tools/filter/quote.h"
#include "tools/filter/unknown.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OPTIONS = 96, HELP_COLUMN = 30 };

#define COMMON struct nb_common_options

static const struct nb_option row_backend = {'b', "backend", NB_TEXT(COMMON, backend), .arg = "auto|cpu|cuda|cuda:LIST",
	.fallback = "auto", .help = "where to compute; LIST: a device, several (0,1), or all"};
static const struct nb_option row_threads = {'j', "threads", NB_INT(COMMON, threads), .min = 1, .max = NB_THREADS_MOST,
	.arg = "N", .fallback = "all processors", .help = "number of threads", .silent = 1};
static const struct nb_option row_history = {
	0, "no-history", NB_FLAG(COMMON, no_history), .help = "do not add a line to the history", .silent = 1};
static const struct nb_option row_output = {'o', "output", NB_TEXT(COMMON, output), .arg = "FILE",
	.fallback = "standard output", .help = "write to FILE, all of it or nothing", .silent = 1};
static const struct nb_option row_always[] = {
	{'q', "quiet", NB_FLAG(COMMON, quiet), .help = "no warnings, no progress", .silent = 1},
	{'v', "verbose", NB_COUNT(COMMON, verbose), .help = "report on standard error what was done", .silent = 1},
	{'h', "help", NB_FLAG(COMMON, help), .help = "print this help", .silent = 1},
	{'V', "version", NB_FLAG(COMMON, version), .help = "print the version", .silent = 1},
};

/* All rows of a tool: its own, then the common ones. */
struct table {
	const struct nb_option *row[MAX_OPTIONS];
	size_t n, own;
};

static void add(struct table *table, const struct nb_option *row)
{
	if (table->n == MAX_OPTIONS)
		nb_die(NB_EXIT_FAILED, "internal error: more than %d options", MAX_OPTIONS);
	table->row[table->n++] = row;
}

static struct table all_rows(const struct nb_tool *tool)
{
	struct table table = {{NULL}, 0, tool->noption};
	for (size_t i = 0; i < tool->noption; i++)
		add(&table, &tool->options[i]);
	if (tool->common & NB_COMMON_PLACE)
		add(&table, &row_backend);
	if (tool->common & NB_COMMON_THREADS)
		add(&table, &row_threads);
	if (tool->common & NB_COMMON_OUTPUT || tool->streams & NB_WRITES)
		add(&table, &row_output);
	if (tool->common & NB_COMMON_HISTORY)
		add(&table, &row_history);
	for (size_t i = 0; i < sizeof row_always / sizeof *row_always; i++)
		add(&table, &row_always[i]);
	return table;
}

static int takes_argument(const struct nb_option *row)
{
	return row->kind != NB_OPT_FLAG && row->kind != NB_OPT_COUNT;
}

/* What the row says of its argument or default, which may have to be made; or NULL. */
static const char *text_of(const char *text, void (*make)(char *to, size_t size), char made[NB_OPTION_TEXT])
{
	if (!make)
		return text;
	make(made, NB_OPTION_TEXT);
	return made;
}

/* Those with a letter first. */
static int by_name(const void *a, const void *b)
{
	const struct nb_option *x = *(const struct nb_option *const *)a, *y = *(const struct nb_option *const *)b;
	if (!x->letter != !y->letter)
		return x->letter ? -1 : 1;
	return x->letter ? x->letter - y->letter : strcmp(x->name, y->name);
}

static void print_help(const struct nb_tool *tool, const struct table *rows)
{
	struct table list = *rows;
	if (tool->sorted_help)
		qsort(list.row, list.own, sizeof *list.row, by_name);
	printf("usage: %s [options]%s%s\n%s\n\noptions:\n", nb_program(), *tool->operands ? " " : "", tool->operands,
		tool->about);
	for (size_t i = 0; i < list.n; i++) {
		const struct nb_option *row = list.row[i];
		char left[NB_OPTION_TEXT + 80], letter[8] = "    ", made[NB_OPTION_TEXT];
		if (row->letter)
			snprintf(letter, sizeof letter, "-%c, ", row->letter);
		snprintf(left, sizeof left, "  %s--%s%s%s", letter, row->name, takes_argument(row) ? " " : "",
			takes_argument(row) ? text_of(row->arg, row->make_arg, made) : "");
		if (strlen(left) >= HELP_COLUMN)
			printf("%s\n%*s", left, HELP_COLUMN, "");
		else
			printf("%-*s", HELP_COLUMN, left);
		printf("%s", row->help);
		const char *fallback = text_of(row->fallback, row->make_fallback, made);
		if (fallback)
			printf(" (default %s)", fallback);
		putchar('\n');
	}
	if (tool->footer)
		printf("\n%s", tool->footer);
	if (tool->more_help) {
		putchar('\n');
		tool->more_help();
	}
}

void nb_options_help(const struct nb_tool *tool)
{
	const struct table table = all_rows(tool);
	print_help(tool, &table);
}

/* ---- answers ------------------------------------------------------------------------------------ */

static _Noreturn void invalid(const struct nb_option *row, const char *arg, const char *want)
{
	nb_die(NB_EXIT_USAGE, "invalid %s '%s' (want %s)", row->name, arg, want);
}

/* The number of the word among those of the row; -1: it is none of them, and need not be. */
static int choice(const struct nb_option *row, const char *arg, int must_be)
{
	int index = 0;
	char made[NB_OPTION_TEXT];
	const char *words = text_of(row->arg, row->make_arg, made);
	for (const char *word = words;; index++) {
		size_t n = strcspn(word, "|");
		if (n == strlen(arg) && strncmp(word, arg, n) == 0)
			return index;
		if (word[n] == '\0')
			break;
		word += n + 1;
	}
	if (must_be)
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (%swant %s)", row->name, arg,
			nb_nearest_in(arg, strlen(arg), words, "|").hint, words);
	return -1;
}

static void take_integer(const struct nb_option *row, void *value, const char *arg)
{
	char want[96];
	const double most = row->max > 0 ? row->max : row->kind == NB_OPT_INT ? INT_MAX : 0x1p64;
	if (most < (row->kind == NB_OPT_INT ? INT_MAX : 1e18))
		snprintf(want, sizeof want, "an integer from %.0f to %.0f", row->min, most);
	else
		snprintf(want, sizeof want, "an integer >= %.0f", row->min);
	uint64_t number, max = most >= 0x1p64 ? UINT64_MAX : (uint64_t)most;
	const char *word = strchr(row->arg, '|');
	if (word && strcmp(arg, word + 1) == 0)
		number = max;
	else if (nb_parse_count(arg, (uint64_t)row->min, max, &number) != NB_PARSE_OK)
		invalid(row, arg, want);
	if (row->kind == NB_OPT_INT)
		*(int *)value = (int)number;
	else
		*(uint64_t *)value = number;
}

static void take_real(const struct nb_option *row, double *value, const char *arg)
{
	char want[96];
	const char *sign = row->kind == NB_OPT_F64_POS ? ">" : ">=";
	const double most = row->max != 0 ? row->max : 1e300;
	if (row->min <= -1e300)
		snprintf(want, sizeof want, "a finite number");
	else if (most >= 1e300)
		snprintf(want, sizeof want, "a number %s %g", sign, row->min);
	else
		snprintf(want, sizeof want, "a number %s %g and <= %g", sign, row->min, most);
	double number;
	if (nb_parse_f64(arg, &number) != NB_PARSE_OK || number > most ||
		(row->kind == NB_OPT_F64_POS ? number <= row->min : number < row->min))
		invalid(row, arg, want);
	*value = number;
}

static void append(struct nb_ordered *list, size_t row, const char *arg)
{
	if (list->n == NB_MOST_ORDERED)
		nb_die(NB_EXIT_USAGE, "more than %d operations (put some of them into another '%s' behind this one)",
			NB_MOST_ORDERED, nb_program());
	list->given[list->n++] = (struct nb_ordered_option){row, arg};
}

static void take(struct nb_run *run, const struct table *table, size_t k, const char *arg)
{
	const struct nb_option *row = table->row[k];
	void *value = (char *)(k < table->own ? run->self : (void *)&run->common) + row->at;
	switch (row->kind) {
	case NB_OPT_FLAG: *(int *)value = 1; break;
	case NB_OPT_COUNT: ++*(int *)value; break;
	case NB_OPT_INT:
	case NB_OPT_U64: take_integer(row, value, arg); break;
	case NB_OPT_F64:
	case NB_OPT_F64_POS: take_real(row, value, arg); break;
	case NB_OPT_CHOICE: *(int *)value = (int)row->min + (arg ? choice(row, arg, 1) : 0); break;
	case NB_OPT_TEXT:
	case NB_OPT_FILE: *(const char **)value = arg; break;
	case NB_OPT_ORDERED: append(value, k, arg); break;
	}
	run->given[k / 64] |= (uint64_t)1 << k % 64;
	nb_history_option(run, row, arg);
}

int nb_given(const struct nb_run *run, const void *answer)
{
	const size_t at = (size_t)((const char *)answer - (const char *)run->self);
	for (size_t k = 0; k < run->tool->noption; k++)
		if (run->tool->options[k].at == at)
			return (run->given[k / 64] >> k % 64 & 1) != 0;
	return 0;
}

/* ---- parsing ------------------------------------------------------------------------------------ */

enum { LONG_BASE = 1000 };

/* The table in the form of getopt_long. */
struct getopt_table {
	struct option longs[MAX_OPTIONS + 1];
	char shorts[2 * MAX_OPTIONS + 2];
};

static void fill_getopt(const struct table *table, struct getopt_table *to)
{
	strcpy(to->shorts, ":");
	for (size_t i = 0; i < table->n; i++) {
		const struct nb_option *row = table->row[i];
		const int has = row->optional ? optional_argument : takes_argument(row);
		to->longs[i] = (struct option){row->name, has, NULL, LONG_BASE + (int)i};
		if (row->letter) {
			size_t used = strlen(to->shorts);
			to->shorts[used] = row->letter;
			to->shorts[used + 1] = takes_argument(row) ? ':' : '\0';
			to->shorts[used + 2] = '\0';
		}
	}
	to->longs[table->n] = (struct option){NULL, 0, NULL, 0};
}

/* The row of what getopt_long returned. */
static size_t row_of(const struct table *table, int c)
{
	if (c >= LONG_BASE)
		return (size_t)(c - LONG_BASE);
	size_t k = 0;
	while (table->row[k]->letter != c)
		k++;
	return k;
}

static _Noreturn void bad_option(const struct nb_tool *tool, const struct table *table, int c, const char *given,
	const char *hint, const char *before)
{
	const int is_letter = optopt < LONG_BASE;
	const struct nb_option *row = table->row[c == ':' || !is_letter ? row_of(table, optopt) : 0];
	const struct nb_unknown unknown = {tool, table->row, table->n, given, hint, before};
	char made[NB_OPTION_TEXT];
	if (c == ':')
		nb_die(NB_EXIT_USAGE, "option '-%s%.*s' needs an argument (want %s)", is_letter ? "" : "-",
			is_letter ? 1 : INT_MAX, is_letter ? (char[]){(char)optopt} : row->name,
			text_of(row->arg, row->make_arg, made));
	if (is_letter)
		nb_unknown_option(&unknown, optopt);
	nb_unknown_before(&unknown);
	nb_die(NB_EXIT_USAGE, "option '--%s' takes no argument", row->name);
}

static void take_operands(struct nb_run *run, int argc, char **argv, int first, const char *hint)
{
	const int n = argc - first;
	const int most = run->tool->own_operands ? run->tool->own_operands(n, argv + first) : run->tool->max_operands;
	run->noperand = n < most ? n : most;
	run->operand = argv + first;
	for (int i = most; i < n && *hint; i++)
		if (strcmp(run->operand[i], "-") != 0 && access(run->operand[i], F_OK))
			nb_die(NB_EXIT_USAGE, "unexpected operand '%s'%s", run->operand[i], hint);
	if (n > most && run->tool->files) {
		run->from.n = n - most;
		run->from.path = run->operand + most;
	} else if (n > most) {
		nb_die(NB_EXIT_USAGE, "unexpected operand '%s' (see '%s --help')", run->operand[most], nb_program());
	}
	for (int i = 0; i < n; i++) {
		nb_history_add(run, " ");
		nb_history_quote(run, run->operand[i]);
	}
}

void nb_options_parse(struct nb_run *run, int argc, char **argv)
{
	const struct nb_tool *tool = run->tool;
	const struct table table = all_rows(tool);
	struct getopt_table names;
	char hint[NB_QUOTE_HINT], before[NB_QUOTE_HINT];
	nb_quote_hint(tool, argc > 0 ? argv : NULL, hint); /* getopt changes the order of the words */
	nb_quote_before(tool, argc > 0 ? argv : NULL, before);
	fill_getopt(&table, &names);
	nb_history_add(run, tool->name);
	nb_history_add(run, " " NB_VERSION ": ");
	nb_history_add(run, tool->name);
	opterr = 0;
	optind = 0; /* from the beginning, as another instance may have been parsed before */
	for (int c; (c = getopt_long(argc, argv, names.shorts, names.longs, NULL)) != -1;) {
		if (c == ':' || c == '?')
			bad_option(tool, &table, c, optind > 0 && optind <= argc ? argv[optind - 1] : "", hint, before);
		const size_t k = row_of(&table, c);
		const int next = table.row[k]->optional && !optarg && optind < argc &&
				 choice(table.row[k], argv[optind], 0) >= 0;
		take(run, &table, k, next ? argv[optind++] : optarg);
		if (run->common.help)
			print_help(tool, &table);
		if (run->common.version)
			printf("%s (nb) %s\n", tool->name, NB_VERSION);
		if (run->common.help || run->common.version)
			nb_leave(run);
	}
	take_operands(run, argc, argv, optind, hint);
	nb_files_check(run);
	run->voice.verbosity = run->common.quiet ? -1 : run->common.verbose;
}
