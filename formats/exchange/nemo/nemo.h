/* nemo/nemo.h - snapshots in the structured files of NEMO (and ZENO): items that have a type, a tag, and contents.
 *
 *     item       magic, type, NUL, tag, NUL, contents                          one number, or the beginning of a set
 *                magic, type, NUL, tag, NUL, i4 dimensions, i4 0, contents     an array
 *     magic      u2 0x0992 of the former, 0x0b92 of the latter; the end of a set, ")", has no tag
 *     types      c text, b bytes, s i l whole numbers of 2, 4, 8 bytes, f d real ones, h of 2 bytes, ( )
 *     snapshot   set SnapShot of the sets Parameters (Nobj, Time) and Particles (CoordSystem, Mass, PhaseSpace ...)
 *
 * The order of bytes is that of the machine that wrote the item, which its magic tells.
 * Source: the NEMO Stellar Dynamics Toolbox, its filestruct and snapshot formats. */
#ifndef NB_EXCHANGE_NEMO_H
#define NB_EXCHANGE_NEMO_H

#include "formats/exchange/exchange.h"

enum {
	NB_NEMO_ONE = 0x0992,
	NB_NEMO_ARRAY = 0x0b92,
	NB_NEMO_TAG = 64,
	NB_NEMO_DIMENSIONS = 8,
	NB_NEMO_CARTESIAN = 1 << 16 | 3 << 8 | 2 /* 3 dimensions, positions and velocities */
};

/* Columns whose tags are not their names. */
extern const char *const nb_nemo_tag[][2];

int nb_nemo_recognises(const unsigned char *head, size_t n, uint64_t size);

/* ---- reading: items.c ---- */

struct item {
	char type;
	char tag[NB_NEMO_TAG + 1];
	int big;
	uint64_t at; /* where it begins */
	int ndim;
	uint32_t dim[NB_NEMO_DIMENSIONS];
	uint64_t count; /* numbers */
	size_t size;	/* bytes of each */
};

/* The head of the next item.  1; 0: the end of the file; -1: error. */
int nb_nemo_next_item(struct nb_import *in, struct item *item);
/* The next item of a set.  1; 0: its end; -1. */
int nb_nemo_next_in_set(struct nb_import *in, struct item *item, const char *set);
/* The contents of an item that nobody wants; of a set all that is in it.  NB_OK or NB_EINVAL, here and below. */
int nb_nemo_skip(struct nb_import *in, struct item item);
/* An item of one number. */
int nb_nemo_take_number(struct nb_import *in, const struct item *item, double *x);

/* ---- writing, as in exchange.h: write.c ---- */

int nb_nemo_begin(struct nb_export *out, const struct nb_frame *first);
int nb_nemo_frame(struct nb_export *out, const struct nb_frame *frame);
int nb_nemo_holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column);

#endif
