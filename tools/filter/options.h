/* options.h - the command line of a tool as one table.
 *
 * The table feeds getopt_long and --help, and the parsed command line becomes the history line of the
 * stream.  Errors end the tool with status 2 and one line. */
#ifndef NB_FILTER_OPTIONS_H
#define NB_FILTER_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum nb_option_kind {
	NB_OPT_FLAG,	/* int *: set to 1 */
	NB_OPT_COUNT,	/* int *: counts its appearances */
	NB_OPT_INT,	/* int * in [min, max] */
	NB_OPT_U64,	/* uint64_t * in [min, max] */
	NB_OPT_F64,	/* double * in [min, max] */
	NB_OPT_F64_POS, /* double * in (min, max]: min excluded */
	NB_OPT_CHOICE,	/* int *: index into the comma-separated words of arg, e.g. "f32|f64" */
	NB_OPT_TEXT	/* const char ** */
};

struct nb_option {
	char letter;	  /* 0: no letter */
	const char *name; /* long name */
	enum nb_option_kind kind;
	void *value;	      /* where the answer goes; holds the default before */
	double min, max;      /* range of numbers */
	const char *arg;      /* name of the argument in the help; for NB_OPT_CHOICE the words, "a|b|c" */
	const char *fallback; /* default as text for the help, or NULL */
	const char *help;     /* one line, lower case, no full stop */
	int silent;	      /* 1: cannot change the output, so the history leaves it out (-j, -v ...) */
	int *given;	      /* if not NULL: set to 1 when the option appears */
};

struct nb_command {
	const char *about;    /* one line, e.g. "generate initial conditions" */
	const char *operands; /* for the usage line, e.g. "[MODEL]", or "" */
	int max_operands;
	const struct nb_option *options; /* own rows of the tool; the common rows are added */
	size_t noption;
	unsigned common;    /* which of the rows that several tools share, NB_COMMON_... */
	const char *footer; /* more lines for --help, or NULL */
};

enum {
	NB_COMMON_THREADS = 1, /* -j --threads */
	NB_COMMON_BACKEND = 2, /* -b --backend */
	NB_COMMON_HISTORY = 4  /* --no-history */
};

/* What the common rows hold after nb_options_parse. */
struct nb_common_options {
	const char *backend; /* "auto" by default */
	int threads;	     /* 0: default; nb_options_parse has applied it already */
	int no_history;
};
extern struct nb_common_options nb_common;

/* Parses argv; -h, --help, -V and --version print and exit 0.  Returns the index of the first operand in argv. */
int nb_options_parse(const struct nb_command *command, int argc, char **argv);

/* "nb-gen 0.1.0: nb-gen plummer -n 10": version and command as given, without the silent options,
 * quoted for the shell.  Valid after nb_options_parse. */
const char *nb_options_history(void);

#endif
