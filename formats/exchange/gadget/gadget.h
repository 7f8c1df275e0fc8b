/* gadget/gadget.h - the header of GADGET's binary snapshots, and how they are written. */
#ifndef NB_EXCHANGE_GADGET_H
#define NB_EXCHANGE_GADGET_H

#include "formats/exchange/types.h"

#define NB_GADGET_G 43007.1
#define NB_GADGET_UNITS "kpc,1e10Msun,km/s"

/* A header of 256 bytes: where each number stands. */
enum {
	NB_GADGET_HEADER = 256,
	NB_GADGET_N = 0,	   /* bodies of each type in this file, i4 x 6 */
	NB_GADGET_MASS = 24,	   /* mass of every body of a type, f8 x 6; 0: they are in a block */
	NB_GADGET_TIME = 72,	   /* f8 */
	NB_GADGET_TOTAL = 96,	   /* bodies of each type in all files, u4 x 6 */
	NB_GADGET_COOLING = 120,   /* i4, flag_cooling */
	NB_GADGET_FILES = 124,	   /* i4 */
	NB_GADGET_BOX = 128,	   /* f8, box_size */
	NB_GADGET_TOTAL_HIGH = 168 /* upper half of the totals, u4 x 6 */
};

/* Numbers of the header that are attributes of the frame. */
struct nb_gadget_attribute {
	const char *name;
	int at;
	char kind;     /* 'd' f8, 'i' i4, 'f' f4 */
	int always;    /* kept even if it is 0, ... */
	double absent; /* ... as this is written for a frame that has none */
};
extern const struct nb_gadget_attribute nb_gadget_attributes[];
extern const size_t nb_gadget_nattribute;

/* Blocks, in the order that they have in files without labels. */
struct nb_gadget_block {
	char label[5];
	const char *column;
	enum nb_field field; /* NB_NFIELD: no standard one */
	unsigned ncomp;
	int gas; /* of bodies of type 0 only */
};
enum nb_gadget_number {
	NB_GADGET_POS,
	NB_GADGET_VEL,
	NB_GADGET_ID,
	NB_GADGET_MASSES,
	NB_GADGET_U,
	NB_GADGET_RHO,
	NB_GADGET_NE, /* these two stand there only if the header says flag_cooling */
	NB_GADGET_NH,
	NB_GADGET_HSML,
	NB_GADGET_POT,
	NB_GADGET_ACCE,
	NB_GADGET_NBLOCK
};
extern const struct nb_gadget_block nb_gadget_blocks[NB_GADGET_NBLOCK];

/* Bodies of the types in the mask. */
uint64_t nb_gadget_count(const uint64_t n[NB_NTYPE], unsigned mask);
/* Types whose masses are in a block: those that have bodies, but no mass in the header. */
unsigned nb_gadget_with_masses(const uint64_t n[NB_NTYPE], const double mass[NB_NTYPE]);
/* A block without label of so many numbers, behind those that are seen (bits of the numbers): the first of the list,
 * from number `from` on, which has so many in a file with these bodies, of which those of the types in masses have a
 * mass of their own.  NB_GADGET_NBLOCK: none. */
enum nb_gadget_number nb_gadget_by_place(
	unsigned from, unsigned seen, int cooling, const uint64_t n[NB_NTYPE], unsigned masses, uint64_t numbers);
/* Whether n numbers of a block can be what its name says: potentials are negative, masses and the like not denormal
 * (which whole numbers are that are read as reals).  0: no; 1: they are all 0, which such blocks are not; 2: yes. */
int nb_gadget_possible(enum nb_gadget_number block, size_t n, const double *x);

/* ---- writing ------------------------------------------------------------------------------------- */

/* State of an export: which blocks the last frame had, which labels, and whether species are types. */
struct nb_gadget_export {
	unsigned written;
	int labels, species;
};

/* For the rows of both formats: without labels, blocks are known by their order only. */
int nb_gadget_write(struct nb_export *out, const struct nb_frame *frame);
int nb_gadget_write_labels(struct nb_export *out, const struct nb_frame *frame);
int nb_gadget_holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column);

#endif
