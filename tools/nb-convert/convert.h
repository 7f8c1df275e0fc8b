/* convert.h - what the files of nb-convert share. */
#ifndef NB_CONVERT_H
#define NB_CONVERT_H

#include "formats/exchange/exchange.h"
#include "tools/filter/filter.h"

struct convert {
	int from, to; /* number of the format; from: AUTO, the one that recognises the file */
	double G;
	const char *chosen_text; /* --frame */
	uint64_t chosen;	 /* what it says ... */
	int last;		 /* ... or that it is the last */
	int plain;		 /* --no-comments */
	const char *columns;	 /* --columns */
	int safe;		 /* --safe-cells */
	const char *separator;	 /* --separator */
	char divider;		 /* what it says, 0: nothing */

	const char *fields, *rows, *species, *sphere; /* which part is imported */
	int keep_derived;
	struct nb_subset subset; /* what they say */
	double ball[4];		 /* of --sphere */
	uint64_t files;		 /* --files */

	const char *path; /* operand, or NULL */
	struct nb_import in;
	struct nb_export out;
	int one;	       /* one frame is exported: the chosen one, or the only one */
	uint64_t nframe;       /* of the stream that is exported, so far */
	struct nb_frame *held; /* to be written when it is known what follows */
	struct nb_frame frame; /* what held points to */
};

enum { AUTO = -1, NB_CONVERT_MOST_FILES = 1000 };

/* ---- part.c: what is imported ---- */

/* Reads --fields, --rows, --species and --sphere; wrong usage ends the tool. */
void nb_convert_parse_part(struct convert *opt);
/* Ends the tool if a column of --fields is not there. */
void nb_convert_require_fields(const struct convert *opt, const struct nb_frame *frame);

/* ---- export.c ---- */

/* Another frame follows those that have been taken ... */
void nb_convert_expect(struct convert *opt);
/* ... this one, whose contents it takes ... */
void nb_convert_take(struct convert *opt, struct nb_frame *frame);
/* ... or none. */
void nb_convert_end(struct convert *opt);

#endif
