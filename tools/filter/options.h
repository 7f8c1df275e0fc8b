/* options.h - the command line of a tool as one table.
 *
 * The table feeds getopt_long and --help, and the parsed command line becomes the history line of the stream.  Answers
 * go into the structure of the instance that is parsed for (filter.h), so that two instances share nothing.
 *     static const struct nb_option options[] = {
 *         {'t', "theta", NB_REAL(struct force, theta), .max = 10, .arg = "ANGLE", .fallback = "0.5", .help = "..."},
 * Errors end the tool with status 2 and one line. */
#ifndef NB_FILTER_OPTIONS_H
#define NB_FILTER_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum nb_option_kind {
	NB_OPT_FLAG,  /* int: set to 1 */
	NB_OPT_COUNT, /* int: counts its appearances */
	NB_OPT_INT,   /* int in [min, max], min >= 0, as nb_parse_count reads it: 1e6, 10k; arg "N|max": the word is max
		       */
	NB_OPT_U64,   /* uint64_t, the same */
	NB_OPT_F64,   /* double in [min, max] */
	NB_OPT_F64_POS, /* double in (min, max]: min excluded */
	NB_OPT_CHOICE,	/* int: min + index into the words of arg, separated by bars: "f32|f64" */
	NB_OPT_TEXT,	/* const char * */
	NB_OPT_FILE,	/* the same, a file that the tool opens to read it (nb_open_named) */
	NB_OPT_ORDERED	/* struct nb_ordered: appended, as the order of appearance matters */
};

/* Where the answer goes: the member of a structure, whose type is checked. */
#define NB_MEMBER(structure, member, type) _Generic(((structure *)0)->member, type : offsetof(structure, member))
#define NB_FLAG(structure, member) .kind = NB_OPT_FLAG, .at = NB_MEMBER(structure, member, int)
#define NB_COUNT(structure, member) .kind = NB_OPT_COUNT, .at = NB_MEMBER(structure, member, int)
#define NB_INT(structure, member) .kind = NB_OPT_INT, .at = NB_MEMBER(structure, member, int)
#define NB_U64(structure, member) .kind = NB_OPT_U64, .at = NB_MEMBER(structure, member, uint64_t)
#define NB_REAL(structure, member) .kind = NB_OPT_F64, .at = NB_MEMBER(structure, member, double)
#define NB_POSITIVE(structure, member) .kind = NB_OPT_F64_POS, .at = NB_MEMBER(structure, member, double)
#define NB_CHOICE(structure, member) .kind = NB_OPT_CHOICE, .at = NB_MEMBER(structure, member, int)
#define NB_TEXT(structure, member) .kind = NB_OPT_TEXT, .at = NB_MEMBER(structure, member, const char *)
#define NB_FILE(structure, member) .kind = NB_OPT_FILE, .at = NB_MEMBER(structure, member, const char *)
#define NB_ORDERED(structure, member) .kind = NB_OPT_ORDERED, .at = NB_MEMBER(structure, member, struct nb_ordered)

enum { NB_OPTION_TEXT = 256, NB_MOST_ORDERED = 64 };

/* What was given of all options that append to it, in this order. */
struct nb_ordered {
	size_t n;
	struct nb_ordered_option {
		size_t row; /* of the option in the tool's table */
		const char *text;
	} given[NB_MOST_ORDERED];
};

struct nb_option {
	char letter;	  /* 0: no letter */
	const char *name; /* long name */
	enum nb_option_kind kind;
	size_t at;	 /* of the answer in the instance's structure, which holds the default before */
	double min, max; /* range of numbers, max 0: no limit (1e300); for NB_OPT_CHOICE min is the number of the first
			    word */
	const char *arg; /* name of the argument in the help; for NB_OPT_CHOICE the words, "a|b|c" */
	const char *fallback; /* default as text for the help, or NULL */
	const char *help;     /* one line, lower case, no full stop */
	/* instead of arg and fallback, where they come from a table: write the text (NB_OPTION_TEXT bytes) */
	void (*make_arg)(char *to, size_t size);
	void (*make_fallback)(char *to, size_t size);
	int optional; /* of NB_OPT_CHOICE: without one of its words, it is the first */
	int silent;   /* 1: cannot change the output, so the history leaves it out (-j, -v ...) */
};

enum {
	NB_COMMON_THREADS = 1, /* -j --threads */
	NB_COMMON_BACKEND = 2, /* -b --backend */
	NB_COMMON_HISTORY = 4, /* --no-history */
	NB_COMMON_LOOKER = 8,  /* -b --backend of a tool that only looks at frames: auto is where they are */
	NB_COMMON_OUTPUT = 16, /* -o --output, which a tool that always writes a stream has anyway */
	NB_COMMON_PLACE = NB_COMMON_BACKEND | NB_COMMON_LOOKER
};

/* What the rows that several tools share hold. */
struct nb_common_options {
	const char *backend; /* "auto" by default */
	const char *output;  /* NULL: standard output */
	int threads;	     /* 0: default */
	int no_history;
	int quiet, verbose, help, version;
};

struct nb_run;
struct nb_tool;

/* Prints what --help prints, in the name of nb_program. */
void nb_options_help(const struct nb_tool *tool);
/* Parses the arguments for an instance: its answers, operands, history line and verbosity.  -h, --help, -V and
 * --version print and end it with status 0. */
void nb_options_parse(struct nb_run *run, int argc, char **argv);
/* Whether the option appeared whose answer is there, e.g. nb_given(run, &force->theta). */
int nb_given(const struct nb_run *run, const void *answer);

#endif
