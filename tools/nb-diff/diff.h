/* diff.h - an instance of nb-diff, for the files of the tool. */
#ifndef NB_DIFF_H
#define NB_DIFF_H

#include "kernels/measure/measure.h"
#include "tools/filter/report.h"
#include "tools/filter/source.h"

enum { DIFFERENT = 1, TROUBLE = 2 }; /* exit statuses, as those of cmp(1) and diff(1) */

/* One of the two streams, and its current frame. */
struct side {
	const char *name; /* for messages: "'a.nb'" */
	char text[NB_SOURCE_NAME];
	struct nb_source source; /* of what is not standard input */
	int ended;
	uint64_t nframe;
	struct nb_frame own, *frame; /* frame: own, or the one that the skeleton has read */
	uint32_t *row;		     /* of the bodies that both have; NULL: the same rows in both */
};

struct diff {
	const char *fields;
	double tolerance, absolute;
	struct nb_report report;

	/* for the summary: of all lines, and the one with the largest fraction of the scale */
	struct {
		uint64_t compared, differ, not_equal, frame, id, beyond, n;
		double max, relative;
		char column[NB_NAME_SIZE + 1];
	} sum;
	struct side side[2];
	int standard;		  /* the side that is standard input, -1: none */
	size_t count;		  /* bodies of the frame that both have */
	struct nb_frame reported; /* its attributes have the keys of what need not be reported again */
};

/* columns.c: compares the columns of the bodies that both have. */
void nb_diff_columns(struct nb_run *run, struct diff *opt);

#endif
