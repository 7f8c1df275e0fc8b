/* gadget-hdf5/gadget-hdf5.h - what reading and writing of gadget-hdf5 share. */
#ifndef NB_EXCHANGE_GADGET_HDF5_H
#define NB_EXCHANGE_GADGET_HDF5_H

#include "formats/exchange/exchange.h"
#include "formats/exchange/hdf5/write.h"

enum { NB_GADGET_NAME = 2 * NB_NAME_SIZE };

/* Constants that codes have for the same thing, in cm^3 / (g s^2). */
#define NB_G_GADGET2 6.672e-8
#define NB_G_GADGET4 6.6738e-8
#define NB_G_SWIFT 6.6743e-8

/* Attribute of the group nb: what species were; otherwise they were the types. */
#define NB_GADGET_SPECIES "Species"
#define NB_GADGET_NO_SPECIES "none"
#define NB_GADGET_MODEL "types from 1"

/* Another: the columns in their order. */
#define NB_GADGET_COLUMNS "Columns"

/* The column of a dataset: "pos" of Coordinates, "star_formation_rate" of StarFormationRate.  At most
 * NB_NAME_SIZE characters; what no name of a column may have becomes an underscore. */
void nb_gadget_column_name(const char *dataset, char name[NB_NAME_SIZE + 1]);
/* The dataset of a column. */
void nb_gadget_dataset_name(const char *column, char name[NB_GADGET_NAME]);

struct nb_gadget_hdf5_writer {
	struct nb_h5_file file;
};
int nb_gadget_hdf5_write(struct nb_export *out, const struct nb_frame *frame);
void nb_gadget_hdf5_release(struct nb_export *out);
int nb_gadget_hdf5_holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column);

#endif
