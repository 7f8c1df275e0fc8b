/* gadget-hdf5/read.h - what the reader of gadget-hdf5 is made of: files, columns and rows (gadget-hdf5.c), and
 * what the files say of the whole (gadget-hdf5/attributes.c). */
#ifndef NB_EXCHANGE_GADGET_HDF5_READ_H
#define NB_EXCHANGE_GADGET_HDF5_READ_H

#include "formats/exchange/gadget-hdf5/gadget-hdf5.h"
#include "formats/exchange/hdf5/hdf5.h"

enum { NB_GADGET_HDF5_TYPES = 32, NB_GADGET_HDF5_PATH = 160, NB_GADGET_HDF5_LIST = 240 };

/* A column: of the bodies of one type, as its datasets are; or of the frame. */
struct nb_gadget_hdf5_column {
	char name[NB_NAME_SIZE + 1], dtype[NB_DTYPE_SIZE + 1], unit[NB_UNIT_SIZE + 1];
	uint64_t ncomp;
	unsigned type;
	int read;      /* its rows are read: of the type into that of the frame; of the frame, not all are filled in */
	uint64_t rows; /* of the type: bodies that have it, in all files */
	unsigned file; /* the last that has it, counted from 1 */
	size_t rank;
};

struct nb_gadget_hdf5_columns {
	struct nb_gadget_hdf5_column *of;
	size_t n, room;
};

/* Rows of a dataset that are to be read: count of them from first on, every step-th, at to. */
struct nb_gadget_hdf5_rows {
	const struct nb_h5_item *item;
	uint64_t first, step, count;
	const struct nb_column *column;
	unsigned char *to;
	struct nb_gadget_hdf5_rows *next; /* of the file */
};

struct nb_gadget_hdf5_file {
	struct nb_h5_reader h5;
	char *name;
	int status; /* what opening it, or reading its rows, has failed with */
	struct nb_gadget_hdf5_rows *rows, *last;
};

struct nb_gadget_hdf5_reader {
	struct nb_import *in;
	struct nb_h5_reader file; /* the present one */
	char *stem, *extension;	  /* of several files: STEM.k EXTENSION */
	char *name;		  /* of the present file if that is not kept, NULL: the one that was opened */
	unsigned nfile, present;  /* files; which is the present one, from 1, 0: none */
	unsigned nkept;		  /* the first of several, which stay open, when they are not the present one: */
	struct nb_gadget_hdf5_file *kept;
	unsigned ntype;
	uint64_t counted[NB_GADGET_HDF5_TYPES]; /* of all files, by the headers */
	uint64_t n[NB_GADGET_HDF5_TYPES];	/* of these, bodies that have positions */
	uint64_t massive[NB_GADGET_HDF5_TYPES]; /* and those that have a mass, of their own or of their type */
	double mass[NB_GADGET_HDF5_TYPES];	/* of all bodies of the type, 0: each has its own */
	uint64_t row[NB_GADGET_HDF5_TYPES];	/* of the frame: the next one of the type */
	uint64_t seen[NB_GADGET_HDF5_TYPES];	/* rows of the type in the files before */
	uint64_t bytes;				/* of all files */
	char refusal[NB_GADGET_HDF5_TYPES][NB_EXCHANGE_ERROR_SIZE / 2 + 200]; /* why a type cannot be read */
	char unread[NB_GADGET_HDF5_TYPES][NB_GADGET_HDF5_LIST];		      /* datasets that are no columns */
	char partial[NB_GADGET_HDF5_LIST];				      /* columns that only some types have */
	uint32_t chosen;			   /* bits of the types that decide which columns there are */
	struct nb_gadget_hdf5_columns set, column; /* of types; of the frame */
	int done;
};

/* ---- gadget-hdf5/files.c ---------------------------------------------------------------- */

/* After the first look at the present file, which is one of several: opens the first of them. */
NB_MUST_CHECK int nb_gadget_hdf5_find_files(struct nb_gadget_hdf5_reader *reader);
/* File k becomes the present one. */
NB_MUST_CHECK int nb_gadget_hdf5_open_file(struct nb_gadget_hdf5_reader *reader, unsigned k);
void nb_gadget_hdf5_close_files(struct nb_gadget_hdf5_reader *reader);
/* These rows of the present file will be read, by nb_gadget_hdf5_read_rows or at once. */
NB_MUST_CHECK int nb_gadget_hdf5_plan_rows(
	struct nb_gadget_hdf5_reader *reader, const struct nb_gadget_hdf5_rows *rows);
/* Reads them, several files at a time. */
NB_MUST_CHECK int nb_gadget_hdf5_read_rows(struct nb_gadget_hdf5_reader *reader);

/* ---- gadget-hdf5/columns.c -------------------------------------------------------------- */

/* Which of the next n rows of a type are wanted, from the first that has not been seen: first, first + step ...; how
 * many. */
uint64_t nb_gadget_hdf5_wanted(
	const struct nb_gadget_hdf5_reader *reader, unsigned type, uint64_t n, uint64_t *first, uint64_t *step);
/* The column of this name, and of this type if there are several types; NULL: there is none. */
struct nb_gadget_hdf5_column *nb_gadget_hdf5_find(
	const struct nb_gadget_hdf5_columns *columns, const char *name, unsigned type);
/* NULL: out of memory. */
struct nb_gadget_hdf5_column *nb_gadget_hdf5_add(
	struct nb_gadget_hdf5_columns *columns, const struct nb_gadget_hdf5_column *column);
/* Whether rows of this column can be read into that one ... */
int nb_gadget_hdf5_fits(const struct nb_gadget_hdf5_column *column, const struct nb_gadget_hdf5_column *to);
/* ... which gets a type that holds the numbers of both. */
void nb_gadget_hdf5_widen(struct nb_gadget_hdf5_column *column, const char *dtype);
/* Adds "path (reason)" to a list of NB_GADGET_HDF5_LIST bytes, once; reason may be NULL. */
void nb_gadget_hdf5_note(char *list, const char *path, const char *reason);
/* Whether a type is one of those that decide which columns there are. */
int nb_gadget_hdf5_is_chosen(const struct nb_gadget_hdf5_reader *reader, unsigned type);
/* The columns of the frame, which has all its rows: reader->column; own: nb has written the file. */
NB_MUST_CHECK int nb_gadget_hdf5_choose(struct nb_gadget_hdf5_reader *reader, const struct nb_frame *frame, int own);
/* Makes them, filled with what bodies have that have no dataset; n: bodies of each type. */
NB_MUST_CHECK int nb_gadget_hdf5_make(
	struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame, const uint64_t n[NB_GADGET_HDF5_TYPES]);

/* ---- gadget-hdf5/attributes.c ----------------------------------------------------------- */

/* Attributes of the frame; own: nb has written the file. */
NB_MUST_CHECK int nb_gadget_hdf5_attributes(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame, int own);
/* The frame, which has its columns, becomes a cosmological one if the file is of such a run. */
NB_MUST_CHECK int nb_gadget_hdf5_universe(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame, int own);
/* The softening of a type as a Plummer length; -1: the file says none. */
double nb_gadget_hdf5_softening(const struct nb_h5_reader *file, unsigned type);

#endif
