/* tipsy/tipsy.h - TIPSY binary: a header, then the gas, the dark and the star bodies, a record for each.
 *
 *     header   f8 time, i4 bodies, dimensions, gas, dark, stars; i4 of no meaning, which some native files leave out
 *     gas      mass, pos[3], vel[3], density, temperature, smoothing length (softening), metals, potential
 *     dark     mass, pos[3], vel[3], softening, potential
 *     star     mass, pos[3], vel[3], metals, time of formation, softening, potential
 *
 * All numbers of a record are f4; in some files the positions are f8, or the velocities, or both.  The "standard" form
 * is big-endian with all 32 bytes of the header; the "native" one has the order of the machine that wrote it. Source:
 * the format as the programs Tipsy, PKDGRAV and ChaNGa write it. */
#ifndef NB_EXCHANGE_TIPSY_H
#define NB_EXCHANGE_TIPSY_H

#include "formats/exchange/exchange.h"

enum { NB_TIPSY_KINDS = 3, NB_TIPSY_HEADER = 32, NB_TIPSY_SHORT_HEADER = 28 };

/* What stands in a record behind the velocity. */
enum nb_tipsy_tail {
	NB_TIPSY_EPS,
	NB_TIPSY_POT,
	NB_TIPSY_DENSITY,
	NB_TIPSY_TEMPERATURE,
	NB_TIPSY_METALLICITY,
	NB_TIPSY_FORMATION_TIME,
	NB_TIPSY_NTAIL
};

extern const char *const nb_tipsy_name[NB_TIPSY_NTAIL];			 /* of the columns */
extern const signed char nb_tipsy_place[NB_TIPSY_KINDS][NB_TIPSY_NTAIL]; /* words behind the velocity; -1: not there */
extern const unsigned char nb_tipsy_type[NB_TIPSY_KINDS];		 /* GADGET's, for the column species */

enum { NB_TIPSY_WIDE_POS = 1, NB_TIPSY_WIDE_VEL = 2 }; /* bits of wide: which numbers are f8 */

/* Bytes of a record. */
size_t nb_tipsy_record(int kind, int wide);

/* Arrays of the bodies in files beside the one that was read (FILE.iord, ...) become columns of the frame: big, the
 * order of bytes of that file; n, the bodies in it, of which those of the frame have their rows for ids.  NB_OK;
 * NB_ENOMEM; NB_EINVAL and in->error. */
NB_MUST_CHECK int nb_tipsy_read_arrays(struct nb_import *in, struct nb_frame *frame, int big, uint64_t n);

/* Writing, as in exchange.h. */
int nb_tipsy_frame(struct nb_export *out, const struct nb_frame *frame);
int nb_tipsy_holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column);

#endif
