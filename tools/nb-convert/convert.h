/* convert.h - what the files of nb-convert share. */
#ifndef NB_CONVERT_H
#define NB_CONVERT_H

#include "formats/exchange/exchange.h"
#include "tools/filter/filter.h"

struct convert {
	const char *from, *to;		/* --from and --to */
	const struct nb_format *reads;	/* NULL: the one that recognises the file, if imports */
	const struct nb_format *writes; /* NULL: a stream */
	int imports;			/* what is read is no stream */
	double G, omega0;
	const char *chosen_text; /* --frames */
	uint64_t chosen;	 /* what it says ... */
	int last;		 /* ... or that it is the last */
	int plain;		 /* --no-comments */
	const char *columns;	 /* --columns */
	int safe;		 /* --safe-cells */
	const char *separator;	 /* --separator */
	char divider;		 /* what it says, 0: nothing */

	const char *fields, *rows, *species, *sphere; /* which part is imported */
	int keep_derived, precision;
	struct nb_subset subset; /* what they say */
	double ball[4];		 /* of --sphere */
	uint64_t files;		 /* --files */

	const char *source; /* of what is imported; NULL: standard input */
	const char *path;   /* of the output, NULL: standard output, or that of the stream */
	struct nb_import in;
	char warned[NB_EXCHANGE_ERROR_SIZE]; /* not again of the next frame */
	struct nb_export out;
	int one;	       /* one frame is exported: the chosen one, or the only one */
	uint64_t nframe;       /* of the stream that is exported, so far */
	struct nb_frame *held; /* to be written when it is known what follows */
	struct nb_frame frame; /* what held points to */
	struct nb_frame next;  /* imported, perhaps the last */
};

enum { NB_CONVERT_MOST_FILES = 1000 };
enum { NB_CONVERT_F32, NB_CONVERT_F64, NB_CONVERT_AS_READ }; /* --precision */

/* ---- ways.c ---- */

/* The formats that can be read, or written, for the help. */
void nb_convert_list_from(char *to, size_t size);
void nb_convert_list_to(char *to, size_t size);
/* What is read and written, by options, operand and files; wrong usage ends the tool.  Formats open their files, as
 * they may need several. */
void nb_convert_choose_ways(struct nb_run *run, struct convert *opt);

/* ---- part.c: what is imported ---- */

/* Reads --fields, --rows, --species and --sphere; wrong usage ends the tool. */
void nb_convert_parse_part(struct convert *opt);
/* Columns of real numbers get the type of --precision. */
void nb_convert_set_precision(const struct convert *opt, struct nb_frame *frame);
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
