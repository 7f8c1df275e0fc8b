/* subset.h - which bodies of a frame a struct nb_subset asks for. */
#ifndef NB_EXCHANGE_SUBSET_H
#define NB_EXCHANGE_SUBSET_H

#include "formats/exchange/exchange.h"

/* Of the rows first <= row < end of a frame those that --rows asks for are *row, *row + *step ...: how many. */
uint64_t nb_subset_rows(const struct nb_subset *subset, uint64_t first, uint64_t end, uint64_t *row, uint64_t *step);
/* Whether all bodies are asked for. */
int nb_subset_has_all(const struct nb_subset *subset);
/* Whether --rows asks for that row. */
int nb_subset_row(const struct nb_subset *subset, uint64_t row);
/* Whether bodies of that species are wanted. */
int nb_subset_species(const struct nb_subset *subset, unsigned species);
/* Whether a body at this place is wanted. */
int nb_subset_place(const struct nb_subset *subset, const double pos[3]);
/* Whether a column is needed, wanted or to choose by. */
int nb_subset_needs(const struct nb_subset *subset, const char *name);

/* Leaves out the bodies that are not wanted and still there: selected says what has been done.  NB_OK, NB_ENOMEM, or
 * NB_EINVAL with the reason in error. */
NB_MUST_CHECK int nb_subset_apply(
	const struct nb_subset *subset, enum nb_selected selected, struct nb_frame *frame, char *error, size_t size);

#endif
