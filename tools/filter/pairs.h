/* pairs.h - a table of two numbers a line in a text file: blank lines, and comments behind '#'. */
#ifndef NB_FILTER_PAIRS_H
#define NB_FILTER_PAIRS_H

#include <stddef.h>
#include <stdio.h>

enum { NB_PAIRS_LINE = 4000 }; /* longer ones are no text, as a stream */

struct nb_pairs {
	size_t n, room;
	double *x, *y; /* n, x ascending */
	/* as long as it is being read */
	FILE *file;
	char line[NB_PAIRS_LINE + 1];
};

/* What a table has to be. */
struct nb_pairs_kind {
	const char *lines;     /* for messages: "is not two numbers, r and Phi" */
	const char *rows;      /* "r and Phi" */
	const char *ascending; /* what x is: "radii" */
	const char *x;	       /* and its name: "r" */
	int more_columns;      /* behind the two; they are left out */
	size_t most;	       /* rows */
	/* Ends the tool if a row cannot be, which stands in this line; where says of what file and line, for messages.
	 */
	void (*check)(const char *where, const double row[2]);
};

/* Reads the file.  What is no such table, or has fewer than 2 rows, ends the tool with its name and line; what has been
 * allotted then is still to be freed. */
void nb_pairs_read(struct nb_pairs *pairs, const char *path, const struct nb_pairs_kind *kind);
void nb_pairs_free(struct nb_pairs *pairs);

#endif
