#include "tools/filter/options.h"

#include "common/cpu.h"
#include "common/die.h"
#include "common/parse.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OPTIONS = 96, HISTORY_SIZE = 8192, HELP_COLUMN = 30 };

struct nb_common_options nb_common = {"auto", 0, 0};

static int quiet, verbose;
static int help_wanted, version_wanted;
static char history[HISTORY_SIZE];

static const struct nb_option row_backend = {'b', "backend", NB_OPT_TEXT, &nb_common.backend, 0, 0,
	"auto|cpu|cuda|cuda:N", "auto", "where to compute", 0, NULL};
static const struct nb_option row_threads = {
	'j', "threads", NB_OPT_INT, &nb_common.threads, 1, 4096, "N", "all processors", "threads to use", 1, NULL};
static const struct nb_option row_history = {
	0, "no-history", NB_OPT_FLAG, &nb_common.no_history, 0, 0, NULL, NULL, "leave out the history line", 1, NULL};
static const struct nb_option row_always[] = {
	{'q', "quiet", NB_OPT_FLAG, &quiet, 0, 0, NULL, NULL, "no warnings, no progress", 1, NULL},
	{'v', "verbose", NB_OPT_COUNT, &verbose, 0, 0, NULL, NULL, "say on stderr what was done", 1, NULL},
	{'h', "help", NB_OPT_FLAG, &help_wanted, 0, 0, NULL, NULL, "print this help", 1, NULL},
	{'V', "version", NB_OPT_FLAG, &version_wanted, 0, 0, NULL, NULL, "print the version", 1, NULL},
};

struct table {
	const struct nb_option *row[MAX_OPTIONS];
	size_t n;
};

static void add(struct table *table, const struct nb_option *row)
{
	if (table->n == MAX_OPTIONS)
		nb_die(NB_EXIT_FAILED, "internal error: more than %d options", MAX_OPTIONS);
	table->row[table->n++] = row;
}

static struct table all_rows(const struct nb_command *command)
{
	struct table table = {{NULL}, 0};
	for (size_t i = 0; i < command->noption; i++)
		add(&table, &command->options[i]);
	if (command->common & NB_COMMON_BACKEND)
		add(&table, &row_backend);
	if (command->common & NB_COMMON_THREADS)
		add(&table, &row_threads);
	if (command->common & NB_COMMON_HISTORY)
		add(&table, &row_history);
	for (size_t i = 0; i < sizeof row_always / sizeof *row_always; i++)
		add(&table, &row_always[i]);
	return table;
}

static int takes_argument(const struct nb_option *row)
{
	return row->kind != NB_OPT_FLAG && row->kind != NB_OPT_COUNT;
}

static void print_help(const struct nb_command *command, const struct table *table)
{
	printf("usage: %s [options]%s%s\n%s\n\noptions:\n", nb_program(), *command->operands ? " " : "",
		command->operands, command->about);
	for (size_t i = 0; i < table->n; i++) {
		const struct nb_option *row = table->row[i];
		char left[160], letter[8] = "    ";
		if (row->letter)
			snprintf(letter, sizeof letter, "-%c, ", row->letter);
		snprintf(left, sizeof left, "  %s--%s%s%s", letter, row->name, takes_argument(row) ? " " : "",
			takes_argument(row) ? row->arg : "");
		if (strlen(left) >= HELP_COLUMN)
			printf("%s\n%*s", left, HELP_COLUMN, "");
		else
			printf("%-*s", HELP_COLUMN, left);
		printf("%s", row->help);
		if (row->fallback)
			printf(" (default %s)", row->fallback);
		putchar('\n');
	}
	if (command->footer)
		printf("\n%s", command->footer);
}

/* Ends --help and --version: their text counts as output. */
static _Noreturn void leave(void)
{
	if (fflush(stdout) || ferror(stdout))
		nb_die(NB_EXIT_FAILED, "write error:");
	exit(NB_EXIT_OK);
}

static void append(const char *text)
{
	size_t used = strlen(history);
	snprintf(history + used, sizeof history - used, "%s", text);
}

static void append_quoted(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
	if (*text && text[strspn(text, plain)] == '\0') {
		append(text);
		return;
	}
	append("'");
	for (const char *c = text; *c; c++) {
		const char one[2] = {*c, '\0'};
		append(*c == '\'' ? "'\\''" : one);
	}
	append("'");
}

static void remember(const struct nb_option *row, const char *arg)
{
	if (row->silent)
		return;
	append(" ");
	if (row->letter) {
		const char dash[3] = {'-', row->letter, '\0'};
		append(dash);
	} else {
		append("--");
		append(row->name);
	}
	if (arg) {
		append(" ");
		append_quoted(arg);
	}
}

static _Noreturn void invalid(const struct nb_option *row, const char *arg, const char *want)
{
	nb_die(NB_EXIT_USAGE, "invalid %s '%s' (want %s)", row->name, arg, want);
}

static int choice(const struct nb_option *row, const char *arg)
{
	int index = 0;
	size_t length = strlen(arg);
	for (const char *word = row->arg;; index++) {
		size_t n = strcspn(word, "|");
		if (n == length && strncmp(word, arg, n) == 0)
			return index;
		if (word[n] == '\0')
			break;
		word += n + 1;
	}
	invalid(row, arg, row->arg);
}

static void take_integer(const struct nb_option *row, const char *arg)
{
	char want[96];
	int bounded = row->kind == NB_OPT_INT ? row->max < INT_MAX : row->max < 1e18;
	if (bounded)
		snprintf(want, sizeof want, "an integer from %.0f to %.0f", row->min, row->max);
	else
		snprintf(want, sizeof want, "an integer >= %.0f", row->min);
	if (row->kind == NB_OPT_INT) {
		int64_t value;
		if (nb_parse_i64(arg, (int64_t)row->min, (int64_t)row->max, &value) != NB_PARSE_OK)
			invalid(row, arg, want);
		*(int *)row->value = (int)value;
	} else {
		uint64_t max = row->max >= 0x1p64 ? UINT64_MAX : (uint64_t)row->max;
		if (nb_parse_u64(arg, (uint64_t)row->min, max, row->value) != NB_PARSE_OK)
			invalid(row, arg, want);
	}
}

static void take_real(const struct nb_option *row, const char *arg)
{
	char want[96];
	const char *sign = row->kind == NB_OPT_F64_POS ? ">" : ">=";
	if (row->min <= -1e300)
		snprintf(want, sizeof want, "a finite number");
	else if (row->max >= 1e300)
		snprintf(want, sizeof want, "a number %s %g", sign, row->min);
	else
		snprintf(want, sizeof want, "a number %s %g and <= %g", sign, row->min, row->max);
	double value;
	if (nb_parse_f64(arg, &value) != NB_PARSE_OK || value > row->max ||
		(row->kind == NB_OPT_F64_POS ? value <= row->min : value < row->min))
		invalid(row, arg, want);
	*(double *)row->value = value;
}

static void take(const struct nb_option *row, const char *arg)
{
	switch (row->kind) {
	case NB_OPT_FLAG: *(int *)row->value = 1; break;
	case NB_OPT_COUNT: ++*(int *)row->value; break;
	case NB_OPT_INT:
	case NB_OPT_U64: take_integer(row, arg); break;
	case NB_OPT_F64:
	case NB_OPT_F64_POS: take_real(row, arg); break;
	case NB_OPT_CHOICE: *(int *)row->value = choice(row, arg); break;
	case NB_OPT_TEXT: *(const char **)row->value = arg; break;
	}
	if (row->given)
		*row->given = 1;
	remember(row, arg);
}

int nb_options_parse(const struct nb_command *command, int argc, char **argv)
{
	nb_program_init(argc > 0 ? argv[0] : NULL);
	struct table table = all_rows(command);
	struct option longs[MAX_OPTIONS + 1];
	char shorts[2 * MAX_OPTIONS + 2] = ":";
	enum { LONG_BASE = 1000 };
	for (size_t i = 0; i < table.n; i++) {
		const struct nb_option *row = table.row[i];
		longs[i] = (struct option){
			row->name, takes_argument(row) ? required_argument : no_argument, NULL, LONG_BASE + (int)i};
		if (row->letter) {
			size_t used = strlen(shorts);
			shorts[used] = row->letter;
			shorts[used + 1] = takes_argument(row) ? ':' : '\0';
		}
	}
	longs[table.n] = (struct option){NULL, 0, NULL, 0};

	snprintf(history, sizeof history, "%s %s: %s", nb_program(), NB_VERSION, nb_program());
	opterr = 0;
	int c;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const char *given = optind > 0 && optind <= argc ? argv[optind - 1] : "";
		if (c == ':') {
			if (optopt >= LONG_BASE)
				nb_die(NB_EXIT_USAGE, "option '--%s' needs an argument",
					table.row[optopt - LONG_BASE]->name);
			nb_die(NB_EXIT_USAGE, "option '-%c' needs an argument", optopt);
		}
		if (c == '?') {
			if (optopt >= LONG_BASE)
				nb_die(NB_EXIT_USAGE, "option '--%s' takes no argument",
					table.row[optopt - LONG_BASE]->name);
			if (optopt)
				nb_die(NB_EXIT_USAGE, "unknown option '-%c' (see '%s --help')", optopt, nb_program());
			nb_die(NB_EXIT_USAGE, "unknown or ambiguous option '%s' (see '%s --help')", given,
				nb_program());
		}
		const struct nb_option *row = NULL;
		if (c >= LONG_BASE)
			row = table.row[c - LONG_BASE];
		for (size_t i = 0; !row && i < table.n; i++)
			if (table.row[i]->letter == c)
				row = table.row[i];
		take(row, optarg);
		if (help_wanted) {
			print_help(command, &table);
			leave();
		}
		if (version_wanted) {
			printf("%s (nb) %s\n", nb_program(), NB_VERSION);
			leave();
		}
	}
	if (argc - optind > command->max_operands) {
		const char *operand = argv[optind + command->max_operands];
		if (access(operand, R_OK) == 0)
			nb_die(NB_EXIT_USAGE, "unexpected operand '%s' (streams come from standard input: < '%s')",
				operand, operand);
		nb_die(NB_EXIT_USAGE, "unexpected operand '%s' (see '%s --help')", operand, nb_program());
	}
	for (int i = optind; i < argc; i++) {
		append(" ");
		append_quoted(argv[i]);
	}
	nb_verbosity = quiet ? -1 : verbose;
	nb_cpu_set_threads(nb_common.threads);
	return optind;
}

const char *nb_options_history(void)
{
	return history;
}
