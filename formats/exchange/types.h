/* types.h - bodies by the particle types of GADGET, for formats that keep types apart. */
#ifndef NB_EXCHANGE_TYPES_H
#define NB_EXCHANGE_TYPES_H

#include "formats/exchange/exchange.h"

enum { NB_NTYPE = 6 };

/* What species are: types (attribute NB_TYPES is "gadget"); disk, bulge and halo of galaxies, as nb_frame_is_galaxy
 * says; something else. */
enum nb_types_meaning { NB_TYPES_ARE_SPECIES, NB_TYPES_OF_GALAXY, NB_TYPES_OF_MODEL };

struct nb_types {
	uint64_t n[NB_NTYPE];
	uint32_t *row;	  /* in the order of types, body k is row[k] of the frame; NULL: they stand in that order */
	int from_species; /* species say which type; otherwise all are type 1 */
	enum nb_types_meaning meaning;
};

/* Species of the bodies, NULL without; and the type that each becomes: itself; of a galaxy 2, 3 and 1; of another model
 * the next number, since type 0 is gas.  NB_NTYPE: none.  NB_OK or NB_ENOMEM. */
struct nb_types_map {
	const unsigned char *species;
	unsigned char type[256];
	enum nb_types_meaning meaning;
};
NB_MUST_CHECK int nb_types_make_map(const struct nb_frame *frame, struct nb_types_map *map);

/* out->warning says what becomes of species that are no types.  All are type 1 without species, or if a model has more
 * than five of them.  NB_OK, NB_ENOMEM, NB_ELIMIT, or NB_EINVAL after nb_export_fail. */
NB_MUST_CHECK int nb_types_find(struct nb_export *out, const struct nb_frame *frame, struct nb_types *types);
void nb_types_clear(struct nb_types *types);

#endif
