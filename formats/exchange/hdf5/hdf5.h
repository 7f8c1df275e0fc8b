/* hdf5/hdf5.h - HDF5 files, read.
 *
 * libhdf5 crashes, loops and asks for any amount of memory on files that are made to do so.  It therefore runs in a
 * process of its own, with limits, which makes a list of what is in the file.  Rows that stand in the file as they are,
 * are read from there; those in chunks are read by that process.  Nothing of libhdf5 runs in the caller, so calls from
 * several threads, for several files, are no matter. */
#ifndef NB_EXCHANGE_HDF5_H
#define NB_EXCHANGE_HDF5_H

#include "formats/exchange/exchange.h"

#include <sys/types.h>

enum {
	NB_H5_RANK = 4,
	NB_H5_MOST_RATIO = 1100 /* of rows to the bytes that they take in the file: deflate does not do better */
};

/* How the rows of a dataset can be had; what is behind NB_H5_BY_LIBRARY cannot. */
enum nb_h5_layout {
	NB_H5_IN_PLACE,
	NB_H5_BY_LIBRARY,
	NB_H5_NEVER_WRITTEN,
	NB_H5_VIRTUAL,	 /* in other files */
	NB_H5_EXTERNAL,	 /* the same, in older files */
	NB_H5_NO_FILTER, /* compressed by something that is not there */
	NB_H5_ELSEWHERE, /* from here on no dataset but what keeps from one, of kind '?': a link to another file, */
	NB_H5_NOWHERE,	 /* or to nothing, */
	NB_H5_UNKNOWN,	 /* what the library cannot open, */
	NB_H5_BAD_NAME	 /* and what has an @ in its name */
};

/* A dataset or an attribute. */
struct nb_h5_item {
	const char *path; /* "PartType0/Density"; of an attribute "Header@Time", "PartType0/Density@unit" */
	char kind;	  /* f, i, u, S as in NumPy; '?': anything else */
	int big;	  /* big-endian */
	uint64_t size;	  /* bytes of a number or text */
	unsigned rank;	  /* 0: a single one */
	uint64_t dim[NB_H5_RANK];
	/* attribute: */
	int is_attribute;
	uint64_t count;	      /* numbers there are */
	const double *number; /* of kinds f, i, u */
	const char *text;     /* of kind S */
	/* dataset: */
	enum nb_h5_layout layout;
	uint64_t offset, chunk; /* bytes from the beginning of the file; rows of a chunk */
	uint64_t chunk_bytes;
	uint64_t k; /* number */
};

/* Zeros are a closed one. */
struct nb_h5_reader {
	const char *name; /* of the file, for messages */
	int fd;		  /* the file */
	int own_fd;
	uint64_t size;
	int socket; /* to the process */
	pid_t process;
	char *list;
	struct nb_h5_item *item;
	const struct nb_h5_item **by_path; /* the same, sorted */
	size_t nitem;
	char error[NB_EXCHANGE_ERROR_SIZE / 2 + 200];
};

/* All that can fail return NB_OK, or NB_EINVAL (also: out of memory) after reader->error is set. */

/* Lists what is in the file of this path, or (NULL) what bytes come from, which may be a pipe. */
NB_MUST_CHECK int nb_h5_open(struct nb_h5_reader *reader, const char *path, struct nb_bytes *bytes, const char *name);
void nb_h5_close(struct nb_h5_reader *reader);
int nb_h5_fail(struct nb_h5_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
int nb_h5_no_memory(struct nb_h5_reader *reader);

/* NULL: there is none. */
const struct nb_h5_item *nb_h5_find(const struct nb_h5_reader *reader, const char *path);
/* Number k of an attribute, or the fallback. */
double nb_h5_number(const struct nb_h5_reader *reader, const char *path, size_t k, double fallback);
/* The NumPy type of its values as a column has them, little-endian; 0, or -1 if there is none. */
int nb_h5_dtype(const struct nb_h5_item *item, char dtype[NB_DTYPE_SIZE + 1]);
/* Values in a row. */
uint64_t nb_h5_width(const struct nb_h5_item *item);
/* Why a dataset cannot be had, "is in other files"; NULL: it can. */
const char *nb_h5_reason(const struct nb_h5_item *item);
/* Whether something there keeps from this path: the error says what.  Otherwise what is not found is not there. */
NB_MUST_CHECK int nb_h5_is_blocked(struct nb_h5_reader *reader, const char *path);
/* Whether the file can hold these rows at all, and whether they can be read. */
NB_MUST_CHECK int nb_h5_check(struct nb_h5_reader *reader, const struct nb_h5_item *item);
/* Rows first to first + count - 1 as this type: <f8, <u8 of integers that are not negative, or its own. */
NB_MUST_CHECK int nb_h5_read(struct nb_h5_reader *reader, const struct nb_h5_item *item, uint64_t first, uint64_t count,
	const char *dtype, void *to);
/* All of a list of texts, each with a zero behind it. */
NB_MUST_CHECK int nb_h5_read_texts(struct nb_h5_reader *reader, const struct nb_h5_item *item, char *to);
/* Whether a stream can hold this name of a column, or (as_unit) unit. */
int nb_h5_is_plain(const char *text, int as_unit);
const char *nb_h5_lacks(void);
/* Whether a file that begins so is HDF5. */
int nb_h5_recognises(const unsigned char *head, size_t n);

/* ---- hdf5/library.c: the program, the only place that calls libhdf5 ---------------------- */

/* It reads the file that is descriptor NB_H5_FILE, and talks through standard input. */
enum { NB_H5_FILE = 3 }; /* as nb_held_start has it */
extern const unsigned char nb_h5_program[];
extern const uint64_t nb_h5_program_size; /* 0: this build has no libhdf5 */

/* Sent by the process: this, and then what it says there is. */
struct nb_h5_answer {
	uint64_t failed; /* the bytes are a message */
	uint64_t bytes;
};
/* The list is records; behind each are the numbers, the path and the text, padded to 8 bytes. */
struct nb_h5_record {
	struct nb_h5_item item; /* without pointers */
	uint64_t path_bytes, text_bytes;
};
/* How many numbers these are. */
static inline uint64_t nb_h5_numbers(const struct nb_h5_item *item)
{
	return item->is_attribute && item->kind != 'S' ? item->count : 0;
}
/* Sent to the process: rows of dataset k. */
struct nb_h5_request {
	uint64_t k, first, count;
};
#endif
