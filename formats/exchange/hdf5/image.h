/* hdf5/image.h - the bytes of a tree of groups and datasets (image.c), for write.c. */
#ifndef NB_EXCHANGE_HDF5_IMAGE_H
#define NB_EXCHANGE_HDF5_IMAGE_H

#include "formats/exchange/hdf5/write.h"

#include <stdlib.h>
#include <string.h>

enum {
	SUPERBLOCK = 96,
	ALIGN = 64 /* of the rows */
};

struct bytes {
	unsigned char *data;
	size_t used, room;
	int failed;
};

struct link {
	char *name;
	struct nb_h5_node *to;
};

struct nb_h5_node {
	struct nb_h5_node *next;
	int is_group;
	unsigned names;		/* links to it */
	struct bytes attribute; /* messages of the object header */
	unsigned nattribute;
	uint64_t address; /* of the object header */
	/* group: */
	struct link *link;
	size_t nlink;
	uint64_t tree, heap;
	/* dataset: */
	char dtype[24];
	uint32_t ncomp;
	size_t rowsize;
	uint64_t rows, data, put; /* put: bytes so far */
	/* ... of a run: */
	uint64_t chunk;	     /* rows */
	unsigned char *held; /* rows that are no whole chunk yet */
	struct bytes chunks; /* their addresses */
};

/* Writes where it is put: address base is the first of these bytes. */
struct image {
	struct bytes bytes;
	uint64_t base;
	unsigned leaf_k; /* half of what a list of names has room for */
};

static inline size_t item_size(const char *dtype)
{
	return strtoull(dtype + 2, NULL, 10);
}

/* Appends the lowest bytes of x. */
void nb_h5_put_int(struct bytes *to, uint64_t x, int size);
/* The tree with addresses from base on; image->bytes is to be freed.  NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_h5_make_image(struct nb_h5_file *file, struct image *image, uint64_t base);
/* The first bytes of a file that ends at `end`. */
void nb_h5_put_superblock(struct bytes *to, const struct nb_h5_node *root, unsigned leaf_k, uint64_t end);

#endif
