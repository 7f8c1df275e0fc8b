/* carry.h - the numbers of a state, one after the other, out of it or back; a part of small.h, which includes it.
 *
 * A run that goes on from the numbers makes the same steps, to the last bit, as one that was not stopped. */
#ifndef NB_SMALL_CARRY_H
#define NB_SMALL_CARRY_H

#include <stddef.h>
#include <string.h>

#include "common/status.h"

NB_C_BEGIN

struct nb_carry {
	double *at; /* the next one; NULL: numbers are counted, no more */
	int back;   /* they go from here into the state */
	size_t n;   /* how many there have been */
};

static inline void nb_carry_numbers(struct nb_carry *c, double *number, size_t n)
{
	if (c->at && n > 0) {
		memcpy(c->back ? number : c->at, c->back ? c->at : number, n * sizeof *number);
		c->at += n;
	}
	c->n += n;
}

/* States of runs that have been loaded: which step is next, and what it needs beside the masses.  NB_EUNSUPPORTED: no
 * run in the same direction, with these masses and forces, has had these numbers. */
NB_MUST_CHECK int nb_ias15_carry(struct nb_ias15 *s, struct nb_carry *c);
NB_MUST_CHECK int nb_ar_carry(struct nb_ar *s, struct nb_carry *c);
void nb_trace_carry(struct nb_trace *t, struct nb_carry *c);
void nb_variation_carry(struct nb_variation *w, size_t n, struct nb_carry *c); /* of n bodies */

NB_C_END

#endif
