/* convert.h - what the files of nb-convert share. */
#ifndef NB_CONVERT_H
#define NB_CONVERT_H

#include "formats/exchange/exchange.h"
#include "tools/filter/filter.h"

struct convert {
	int from, to; /* number of the format */
	double G;
	const char *chosen_text; /* --frame */
	uint64_t chosen;	 /* what it says ... */
	int last;		 /* ... or that it is the last */
	int plain;		 /* --no-comments */
	const char *columns;	 /* --columns */
	int safe;		 /* --safe-cells */

	const char *path; /* operand, or NULL */
	struct nb_import in;
	struct nb_export out;
	int one;	       /* one frame is exported: the chosen one, or the only one */
	uint64_t nframe;       /* of the stream that is exported, so far */
	struct nb_frame *held; /* to be written when it is known what follows */
	struct nb_frame frame; /* what held points to */
};

/* Another frame follows those that have been taken ... */
void nb_convert_expect(struct convert *opt);
/* ... this one, whose contents it takes ... */
void nb_convert_take(struct convert *opt, struct nb_frame *frame);
/* ... or none. */
void nb_convert_end(struct convert *opt);

#endif
