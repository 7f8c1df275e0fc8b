/* types_internal.h - bodies by the particle types of GADGET, for formats that keep types apart. */
#ifndef NB_EXCHANGE_TYPES_INTERNAL_H
#define NB_EXCHANGE_TYPES_INTERNAL_H

#include "formats/exchange/exchange.h"

enum { NB_NTYPE = 6 };

struct nb_types {
	uint64_t n[NB_NTYPE];
	uint32_t *row;	  /* in the order of types, body k is row[k] of the frame; NULL: they stand in that order */
	int from_species; /* species say which type; otherwise all are type 1 */
};

/* The type is the species, if the attribute NB_TYPES is "gadget"; other species s, of a model, become type s + 1, since
 * type 0 is gas, and out->warning says so.  All are type 1 without species, or if a model has more than five of them.
 * NB_OK, NB_ENOMEM, NB_ELIMIT, or NB_EINVAL after nb_export_fail. */
NB_MUST_CHECK int nb_types_find(struct nb_export *out, const struct nb_frame *frame, struct nb_types *types);
void nb_types_clear(struct nb_types *types);
/* Whether species become types. */
int nb_types_hold_species(const struct nb_frame *frame);

#endif
