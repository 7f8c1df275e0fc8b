/* gadget/read.h - what the reader of GADGET's binary snapshots is made of: files and their blocks
 * (gadget/file.c), wanted rows of a block (gadget/rows.c), columns and the frame (gadget.c). */
#ifndef NB_EXCHANGE_GADGET_READ_H
#define NB_EXCHANGE_GADGET_READ_H

#include "formats/exchange/gadget/gadget.h"
#include "formats/exchange/wire.h"

#include <math.h>
#include <string.h>

enum { NB_GADGET_ALL = 0x3f }; /* mask of all types */

struct nb_gadget_header {
	uint64_t n[NB_NTYPE], rows; /* in this file */
	double mass[NB_NTYPE];
	double time;
	uint64_t total[NB_NTYPE]; /* in all */
	unsigned files;
	unsigned char raw[NB_GADGET_HEADER]; /* as GADGET-2 writes it */
	int is_translated;		     /* it is that of GADGET-4, which lacks some numbers */
};

/* Rows of a file, all of one type: first, first + step ... */
struct nb_gadget_run {
	uint64_t first, step, count;
	unsigned type;
};

/* A file of the snapshot. */
struct nb_gadget_part {
	struct nb_gadget_run *run; /* the rows that are wanted */
	size_t nrun, room;
	uint64_t from;	 /* its first row, of all files */
	uint64_t begin;	 /* its first row in the frame */
	uint64_t behind; /* offset behind POS */
	unsigned seen;	 /* blocks that it has, bits of enum nb_gadget_number */
	unsigned width;	 /* of the numbers of POS */
	int zeros;	 /* a block without label has been taken for masses that are all 0 */
};

struct nb_gadget_reader {
	struct nb_import *in;
	struct nb_bytes *bytes, own; /* of the present file; own: if it is another than the one that was opened */
	int fd;			     /* of own, -1: closed */
	char *name;		     /* of the present file, NULL: the one that was opened */
	int swap, labels;
	struct nb_gadget_header head, first; /* of the present file, and of the one that was opened */
	int first_swap, several;
	char *stem;
	struct nb_gadget_part *part;
	unsigned nfile;
	uint64_t rows; /* of all files */
	int block;     /* of the present file, from 1; 0: the header */
	char label[5];
	uint64_t block_at;
	uint32_t block_size;
	unsigned width; /* of the numbers of POS */
	int done;
	char guess[400]; /* what blocks without labels have been taken for */
};

/* Whether a mass in a block is that in the header: one of the two may have been rounded. */
static inline int nb_gadget_same_mass(double in_block, double in_header)
{
	return fabs(in_block - in_header) <= 1e-6 * in_header;
}

/* ---- gadget/file.c ---------------------------------------------------------------------- */

/* The present file, for messages. */
const char *nb_gadget_name(const struct nb_gadget_reader *reader);
/* The error of the import: file, block, its offset, and what is wrong; returns NB_EINVAL. */
int nb_gadget_fail(struct nb_gadget_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same from errno. */
int nb_gadget_fail_read(struct nb_gadget_reader *reader);
/* Another part of the warning of the import. */
void nb_gadget_warn(struct nb_gadget_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begins to read: the headers of all files agree.  As in exchange.h. */
NB_MUST_CHECK int nb_gadget_open(struct nb_import *in);
void nb_gadget_close(struct nb_import *in);
int nb_gadget_recognises(const unsigned char *head, size_t n, uint64_t size);
/* File k is the present one, behind its header. */
NB_MUST_CHECK int nb_gadget_open_file(struct nb_gadget_reader *reader, unsigned k);
/* None but the one that was opened is the present one. */
void nb_gadget_close_file(struct nb_gadget_reader *reader);

/* The head of the next block: 1, 0 at the end of the file, -1 after nb_gadget_fail. */
int nb_gadget_next_block(struct nb_gadget_reader *reader);
/* The count behind the block, which must be that before it. */
NB_MUST_CHECK int nb_gadget_end_block(struct nb_gadget_reader *reader);
/* The next n bytes, which stay the next; NULL after nb_gadget_fail. */
const unsigned char *nb_gadget_need(struct nb_gadget_reader *reader, size_t n);
NB_MUST_CHECK int nb_gadget_skip(struct nb_gadget_reader *reader, uint64_t n);
/* Whether the present block has this label. */
static inline int nb_gadget_is_label(const struct nb_gadget_reader *reader, const char *label)
{
	return strcmp(reader->label, label) == 0;
}

/* ---- gadget/guess.c --------------------------------------------------------------------- */

/* What the present block without label is, behind the ids: the first that its size and its numbers allow.  If masses
 * are due and it can be nothing else, those; zeros are masses if no other block is. */
enum nb_gadget_number nb_gadget_guess(struct nb_gadget_reader *reader, struct nb_gadget_part *part);
/* The warning of all guesses. */
void nb_gadget_warn_guesses(struct nb_gadget_reader *reader);

/* ---- gadget/rows.c ---------------------------------------------------------------------- */

/* n numbers of a file as numbers of a column. */
typedef void nb_gadget_take(const unsigned char *from, size_t n, int swap, void *to);
/* How numbers of 4 or 8 bytes become those of a field; NB_NFIELD: they stay as wide as they are. */
nb_gadget_take *nb_gadget_take_as(enum nb_field field, unsigned width);

/* Where the rows of a block go. */
struct nb_gadget_sink {
	nb_gadget_take *take;
	unsigned ncomp;
	unsigned char *to;
	size_t rowsize; /* there */
	/* of positions, which come first: the memory grows as they come, and they choose */
	size_t row, room;
	struct nb_gadget_part *chosen; /* gets those in the sphere, NULL: all are chosen */
};

/* Bytes of each of so many numbers of the block, 0: it is neither 4 nor 8 ... */
unsigned nb_gadget_width(const struct nb_gadget_reader *reader, uint64_t rows, unsigned ncomp);
/* ... which is the error then. */
int nb_gadget_wrong_size(struct nb_gadget_reader *reader, uint64_t rows, unsigned ncomp);
/* The wanted rows of a block that has the types of the mask, and its end. */
NB_MUST_CHECK int nb_gadget_take_block(struct nb_gadget_reader *reader, const struct nb_gadget_part *part,
	unsigned mask, size_t rowsize, struct nb_gadget_sink *sink);
NB_MUST_CHECK int nb_gadget_skip_block(struct nb_gadget_reader *reader);
/* The column pos of the frame, from POS of all files, and with it which bodies are wanted. */
NB_MUST_CHECK int nb_gadget_read_places(struct nb_gadget_reader *reader, struct nb_frame *frame);

#endif
