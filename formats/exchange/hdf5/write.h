/* hdf5/write.h - HDF5 files written in one pass, to pipes too, in the layout of HDF5 1.6 that every reader
 * knows (superblock 0, object headers 1, groups of symbol tables; "HDF5 File Format Specification Version 3.0").
 *
 * First the tree of groups and datasets is described.  Where all rows are known, it is written before them, and the
 * rows follow dataset by dataset.  Of a run, rows are appended frame by frame in chunks, and the tree comes last, for
 * which the output must be a file that can be written at its beginning once more. */
#ifndef NB_EXCHANGE_HDF5_WRITE_H
#define NB_EXCHANGE_HDF5_WRITE_H

#include "formats/exchange/output.h"

#include <stdint.h>

struct nb_h5_node; /* a group or dataset */

/* Zeros are an empty one. */
struct nb_h5_file {
	struct nb_output *output;
	struct nb_h5_node *first, *last; /* in the order in which they were made; the first is the root */
	uint64_t at;			 /* bytes written */
	int failed;			 /* out of memory */
	int run;			 /* the tree comes last */
};

/* The root, in a file that is empty.  NULL, here and below: out of memory, which nb_h5_begin and nb_h5_end report; a
 * parent or dataset that is NULL does nothing. */
struct nb_h5_node *nb_h5_root(struct nb_h5_file *file, struct nb_output *output);
struct nb_h5_node *nb_h5_group(struct nb_h5_file *file, struct nb_h5_node *parent, const char *name);
/* rows rows of ncomp numbers of this NumPy type (not c or V, of any size); ncomp 0: a list of single ones.  For a run:
 * chunk rows are kept until they are written together, and rows does not matter. */
struct nb_h5_node *nb_h5_dataset(struct nb_h5_file *file, struct nb_h5_node *parent, const char *name,
	const char *dtype, uint32_t ncomp, uint64_t rows, uint64_t chunk);
/* The same dataset or group under another name. */
void nb_h5_link(struct nb_h5_file *file, struct nb_h5_node *parent, const char *name, struct nb_h5_node *node);
/* Whether the group has a link of this name. */
int nb_h5_has(const struct nb_h5_node *group, const char *name);
/* count values of this type, 0: a single one; at most 60000 bytes. */
void nb_h5_attribute(struct nb_h5_file *file, struct nb_h5_node *node, const char *name, const char *dtype,
	uint32_t count, const void *data);
void nb_h5_attribute_f64(struct nb_h5_file *file, struct nb_h5_node *node, const char *name, double x);
void nb_h5_attribute_int(struct nb_h5_file *file, struct nb_h5_node *node, const char *name, int64_t x);
void nb_h5_attribute_text(struct nb_h5_file *file, struct nb_h5_node *node, const char *name, const char *text);

/* All return NB_OK, NB_ENOMEM, or -1 with errno: writing failed. */

/* After the tree has been described: writes it, or makes room for the beginning of a run. */
NB_MUST_CHECK int nb_h5_begin(struct nb_h5_file *file, int run);
/* The next bytes of a dataset; those of all come in the order in which the datasets were made.  Rows of a run in any.
 */
NB_MUST_CHECK int nb_h5_put(struct nb_h5_file *file, struct nb_h5_node *dataset, const void *data, uint64_t bytes);
/* After the last. */
NB_MUST_CHECK int nb_h5_end(struct nb_h5_file *file);
/* Frees the tree. */
void nb_h5_clear(struct nb_h5_file *file);

#endif
