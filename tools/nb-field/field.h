/* field.h - an instance of nb-field, for the files of the tool. */
#ifndef NB_FIELD_TOOL_H
#define NB_FIELD_TOOL_H

#include "kernels/field/field.h"
#include "tools/filter/filter.h"
#include "tools/filter/pairs.h"

/* A table that a potential is read from. */
struct field_table {
	char *path;
	struct nb_pairs pairs; /* r and Phi */
	double *row;	       /* n x NB_POTENTIAL_ROW (nb_potential_table) ... */
	void *there;	       /* ... and where the backend computes, if that is not the host */
	const struct nb_space *space;
};

struct field {
	int alone, jerk, G_given, warned;
	double G;
	int n;
	struct nb_term potential[NB_TERMS_MOST];
	struct field_table table[NB_TERMS_MOST]; /* path NULL: none */
	char *given, *text;			 /* the potentials, as they were given and with single blanks */
};

/* ---- table.c ---- */

/* Reads the file of a table; one that is none ends the tool. */
void nb_field_read_table(struct field_table *table);
/* Its rows where the backend computes. */
const double *nb_field_place_table(
	struct field_table *table, const struct nb_space *space, const struct nb_frame *frame);
void nb_field_free_table(struct field_table *table);

#endif
