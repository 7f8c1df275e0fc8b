/* The tree of an HDF5 file as bytes: attributes, groups, datasets and their chunks, the superblock. */
#include "formats/exchange/hdf5/image.h"

#include <stdio.h>

enum {
	TREE_K = 16, /* half of what a node of the tree of a group holds, */
	CHUNKS = 64, /* and what one of the tree of chunks does, both as the library has them */
	GROUP_NODE = 24 + (4 * TREE_K + 1) * 8,
	SYMBOL = 40, /* bytes of an entry of a group */
	MAX_RANK = 2
};
#define NOWHERE UINT64_MAX

/* ---- bytes -------------------------------------------------------------------------------------- */

static void put(struct bytes *to, const void *data, size_t n)
{
	if (n == 0)
		return;
	if (to->room - to->used < n) {
		const size_t room = 2 * to->room + n + 256;
		unsigned char *more = to->failed ? NULL : realloc(to->data, room);
		if (!more) {
			to->failed = 1;
			return;
		}
		to->data = more;
		to->room = room;
	}
	if (data)
		memcpy(to->data + to->used, data, n);
	else
		memset(to->data + to->used, 0, n);
	to->used += n;
}

void nb_h5_put_int(struct bytes *to, uint64_t x, int size)
{
	unsigned char little[8];
	for (int i = 0; i < 8; i++)
		little[i] = (unsigned char)(x >> 8 * i);
	put(to, little, (size_t)size);
}

static void pad(struct bytes *to, size_t multiple)
{
	put(to, NULL, (multiple - to->used % multiple) % multiple);
}

static void set_int(struct bytes *to, size_t at, uint64_t x, int size)
{
	for (int i = 0; !to->failed && i < size; i++)
		to->data[at + (size_t)i] = (unsigned char)(x >> 8 * i);
}

/* ---- messages of an object header --------------------------------------------------------------- */

enum message { SPACE = 1, TYPE = 3, FILL = 5, LAYOUT = 8, ATTRIBUTE = 12, SYMBOLS = 17 };

static size_t message(struct bytes *to, enum message kind)
{
	nb_h5_put_int(to, kind, 2);
	nb_h5_put_int(to, 0, 6); /* size, flags */
	return to->used;
}

static void end_message(struct bytes *to, size_t begin)
{
	pad(to, 8);
	set_int(to, begin - 6, to->used - begin, 2);
}

static void put_type(struct bytes *to, const char *dtype)
{
	const size_t size = item_size(dtype);
	const char kind = dtype[1];
	if (kind == 'f') {
		/* bits of exponent and mantissa */
		const unsigned e = size == 8 ? 11 : size == 4 ? 8 : 5, m = (unsigned)(8 * size) - 1 - e;
		nb_h5_put_int(to, 0x11, 1);
		nb_h5_put_int(to, 0x20, 1); /* little-endian, leading bit of the mantissa not stored */
		nb_h5_put_int(to, 8 * size - 1, 2);
		nb_h5_put_int(to, size, 4);
		nb_h5_put_int(to, 0, 2);
		nb_h5_put_int(to, 8 * size, 2);
		nb_h5_put_int(to, m, 1);
		nb_h5_put_int(to, e, 1);
		nb_h5_put_int(to, 0, 1);
		nb_h5_put_int(to, m, 1);
		nb_h5_put_int(to, (1u << (e - 1)) - 1, 4);
	} else if (kind == 'S') {
		nb_h5_put_int(to, 0x13, 1);
		nb_h5_put_int(to, 1, 3); /* padded with zeros */
		nb_h5_put_int(to, size, 4);
	} else {
		nb_h5_put_int(to, 0x10, 1);
		nb_h5_put_int(to, kind == 'i' ? 8 : 0, 3);
		nb_h5_put_int(to, size, 4);
		nb_h5_put_int(to, 0, 2);
		nb_h5_put_int(to, 8 * size, 2);
	}
	pad(to, 8);
}

/* grows: the largest sizes follow, of which that of the rows is none. */
static void put_space(struct bytes *to, unsigned rank, const uint64_t *size, int grows)
{
	nb_h5_put_int(to, 1, 1);
	nb_h5_put_int(to, rank, 1);
	nb_h5_put_int(to, (uint64_t)grows, 1);
	nb_h5_put_int(to, 0, 5);
	for (unsigned k = 0; k < rank; k++)
		nb_h5_put_int(to, size[k], 8);
	for (unsigned k = 0; grows && k < rank; k++)
		nb_h5_put_int(to, k ? size[k] : UINT64_MAX, 8);
}

void nb_h5_attribute(struct nb_h5_file *file, struct nb_h5_node *node, const char *name, const char *dtype,
	uint32_t count, const void *data)
{
	if (!node) {
		file->failed = 1;
		return;
	}
	struct bytes *to = &node->attribute, type = {0};
	const uint64_t size = count;
	put_type(&type, dtype);
	const size_t begin = message(to, ATTRIBUTE), length = strlen(name) + 1;
	nb_h5_put_int(to, 1, 2);
	nb_h5_put_int(to, length, 2);
	nb_h5_put_int(to, type.used, 2);
	nb_h5_put_int(to, count ? 16 : 8, 2);
	put(to, name, length);
	put(to, NULL, (8 - length % 8) % 8);
	put(to, type.data, type.used);
	put_space(to, count ? 1 : 0, &size, 0);
	put(to, data, item_size(dtype) * (count ? count : 1));
	end_message(to, begin);
	node->nattribute++;
	file->failed |= to->failed || type.failed;
	free(type.data);
}

void nb_h5_attribute_f64(struct nb_h5_file *file, struct nb_h5_node *node, const char *name, double x)
{
	nb_h5_attribute(file, node, name, "<f8", 0, &x);
}

void nb_h5_attribute_int(struct nb_h5_file *file, struct nb_h5_node *node, const char *name, int64_t x)
{
	const int32_t small = (int32_t)x;
	if (small == x)
		nb_h5_attribute(file, node, name, "<i4", 0, &small);
	else
		nb_h5_attribute(file, node, name, "<i8", 0, &x);
}

void nb_h5_attribute_text(struct nb_h5_file *file, struct nb_h5_node *node, const char *name, const char *text)
{
	char dtype[24];
	snprintf(dtype, sizeof dtype, "|S%zu", *text ? strlen(text) : 1);
	nb_h5_attribute(file, node, name, dtype, 0, text);
}

/* ---- objects in the file ------------------------------------------------------------------------ */

static uint64_t here(struct image *image)
{
	pad(&image->bytes, 8);
	return image->base + image->bytes.used;
}

/* The object header, without the messages at its end: where its size is to be said. */
static size_t begin_object(struct image *image, struct nb_h5_node *node)
{
	struct bytes *to = &image->bytes;
	node->address = here(image);
	nb_h5_put_int(to, 1, 2);
	nb_h5_put_int(to, (node->is_group ? 1 : 4) + node->nattribute, 2);
	nb_h5_put_int(to, node->names, 4);
	nb_h5_put_int(to, 0, 8);
	return to->used;
}

static void end_object(struct image *image, const struct nb_h5_node *node, size_t begin)
{
	struct bytes *to = &image->bytes;
	if (node->attribute.used)
		put(to, node->attribute.data, node->attribute.used);
	set_int(to, begin - 8, to->used - begin, 4);
}

static void put_symbol(struct bytes *to, uint64_t name, const struct nb_h5_node *node)
{
	nb_h5_put_int(to, name, 8);
	nb_h5_put_int(to, node->address, 8);
	nb_h5_put_int(to, node->is_group, 4); /* what is noted here of a group: its tree and heap */
	nb_h5_put_int(to, 0, 4);
	nb_h5_put_int(to, node->is_group ? node->tree : 0, 8);
	nb_h5_put_int(to, node->is_group ? node->heap : 0, 8);
}

static void put_group(struct image *image, struct nb_h5_node *node)
{
	struct bytes *to = &image->bytes;
	/* names; the first is the empty one */
	struct bytes names = {0};
	put(&names, NULL, 8);
	const uint64_t list = here(image);
	put(to, "SNOD\1\0", 6);
	nb_h5_put_int(to, node->nlink, 2);
	for (size_t k = 0; k < node->nlink; k++) {
		put_symbol(to, names.used, node->link[k].to);
		put(&names, node->link[k].name, strlen(node->link[k].name) + 1);
		pad(&names, 8);
	}
	put(to, NULL, (2 * image->leaf_k - node->nlink) * SYMBOL);
	/* the tree: one node with one list */
	const size_t last = node->nlink ? strlen(node->link[node->nlink - 1].name) + 1 : 8;
	node->tree = here(image);
	put(to, "TREE\0", 6);
	nb_h5_put_int(to, node->nlink != 0, 2);
	nb_h5_put_int(to, NOWHERE, 8);
	nb_h5_put_int(to, NOWHERE, 8);
	nb_h5_put_int(to, 0, 8);
	nb_h5_put_int(to, node->nlink ? list : 0, 8);
	nb_h5_put_int(to, node->nlink ? names.used - (last + 7) / 8 * 8 : 0, 8);
	put(to, NULL, GROUP_NODE - 24 - 24);
	node->heap = here(image);
	put(to, "HEAP\0\0\0", 8);
	nb_h5_put_int(to, names.used, 8);
	nb_h5_put_int(to, 1, 8); /* nothing free */
	nb_h5_put_int(to, image->base + to->used + 8, 8);
	put(to, names.data, names.used);
	to->failed |= names.failed;
	free(names.data);
	const size_t begin = begin_object(image, node), m = message(to, SYMBOLS);
	nb_h5_put_int(to, node->tree, 8);
	nb_h5_put_int(to, node->heap, 8);
	end_message(to, m);
	end_object(image, node, begin);
}

/* ---- chunks ------------------------------------------------------------------------------------- */

static uint64_t chunks_of(const struct nb_h5_node *node)
{
	return node->chunks.used / 8;
}

static uint64_t chunk_at(const struct nb_h5_node *node, uint64_t k)
{
	uint64_t at;
	memcpy(&at, node->chunks.data + 8 * k, 8);
	return at;
}

/* What stands between two chunks in the tree: the bytes and the first row of the second. */
static void put_key(struct bytes *to, const struct nb_h5_node *node, uint64_t k)
{
	nb_h5_put_int(to, k < chunks_of(node) ? node->chunk * node->rowsize : 0, 8);
	nb_h5_put_int(to, k * node->chunk, 8);
	put(to, NULL, (node->ncomp ? 2 : 1) * 8);
}

/* The tree of the chunks; each level is written from the one below: children at these addresses, span chunks each. */
static uint64_t put_chunk_tree(struct image *image, const struct nb_h5_node *node)
{
	struct bytes *to = &image->bytes;
	const uint64_t n = chunks_of(node);
	const size_t key = 8 + 8 + (node->ncomp ? 16 : 8), size = 24 + CHUNKS * 8 + (CHUNKS + 1) * key;
	uint64_t below = 0, nbelow = n, span = 1; /* address of the first node below, which stand one after the other */
	if (n == 0)
		return NOWHERE;
	for (int level = 0; level == 0 || nbelow > 1; level++) {
		const uint64_t nnode = (nbelow + CHUNKS - 1) / CHUNKS, first = here(image);
		for (uint64_t i = 0; i < nnode; i++) {
			const uint64_t from = i * CHUNKS, end = from + CHUNKS < nbelow ? from + CHUNKS : nbelow;
			const size_t begin = to->used;
			put(to, "TREE\1", 5);
			nb_h5_put_int(to, (uint64_t)level, 1);
			nb_h5_put_int(to, end - from, 2);
			nb_h5_put_int(to, i ? first + (i - 1) * size : NOWHERE, 8);
			nb_h5_put_int(to, i + 1 < nnode ? first + (i + 1) * size : NOWHERE, 8);
			for (uint64_t k = from; k < end; k++) {
				put_key(to, node, k * span);
				nb_h5_put_int(to, level ? below + k * size : chunk_at(node, k), 8);
			}
			put_key(to, node, end * span < n ? end * span : n);
			put(to, NULL, size - (to->used - begin));
		}
		below = first;
		nbelow = nnode;
		span *= CHUNKS;
	}
	return below;
}

static void put_dataset(struct image *image, struct nb_h5_node *node)
{
	struct bytes *to = &image->bytes;
	const uint64_t shape[MAX_RANK] = {node->rows, node->ncomp};
	const unsigned rank = node->ncomp ? 2 : 1;
	const uint64_t tree = node->chunk ? put_chunk_tree(image, node) : 0;
	const size_t begin = begin_object(image, node);
	size_t m = message(to, SPACE);
	put_space(to, rank, shape, node->chunk != 0);
	end_message(to, m);
	m = message(to, TYPE);
	put_type(to, node->dtype);
	end_message(to, m);
	m = message(to, FILL);
	nb_h5_put_int(to, 2, 1);
	nb_h5_put_int(to, node->chunk ? 3 : 2, 1); /* space is there when it is needed */
	nb_h5_put_int(to, 2, 1);
	nb_h5_put_int(to, 1, 1); /* with zeros */
	nb_h5_put_int(to, 0, 4);
	end_message(to, m);
	m = message(to, LAYOUT);
	nb_h5_put_int(to, 3, 1);
	if (node->chunk) {
		nb_h5_put_int(to, 2, 1);
		nb_h5_put_int(to, rank + 1, 1);
		nb_h5_put_int(to, tree, 8);
		nb_h5_put_int(to, node->chunk, 4);
		if (node->ncomp)
			nb_h5_put_int(to, node->ncomp, 4);
		nb_h5_put_int(to, item_size(node->dtype), 4);
	} else {
		const uint64_t bytes = node->rows * node->rowsize;
		nb_h5_put_int(to, 1, 1);
		nb_h5_put_int(to, bytes ? node->data : NOWHERE, 8);
		nb_h5_put_int(to, bytes, 8);
	}
	end_message(to, m);
	end_object(image, node, begin);
}

/* What is in a group comes before it. */
static void put_object(struct image *image, struct nb_h5_node *node)
{
	for (size_t k = 0; k < node->nlink; k++)
		if (!node->link[k].to->address)
			put_object(image, node->link[k].to);
	if (node->is_group)
		put_group(image, node);
	else
		put_dataset(image, node);
}

void nb_h5_put_superblock(struct bytes *to, const struct nb_h5_node *root, unsigned leaf_k, uint64_t end)
{
	put(to, "\211HDF\r\n\032\n\0\0\0\0\0\10\10", 16);
	nb_h5_put_int(to, leaf_k, 2);
	nb_h5_put_int(to, TREE_K, 2);
	nb_h5_put_int(to, 0, 4);
	nb_h5_put_int(to, 0, 8);
	nb_h5_put_int(to, NOWHERE, 8);
	nb_h5_put_int(to, end, 8);
	nb_h5_put_int(to, NOWHERE, 8);
	put_symbol(to, 0, root);
}

int nb_h5_make_image(struct nb_h5_file *file, struct image *image, uint64_t base)
{
	*image = (struct image){.base = base, .leaf_k = 4};
	for (struct nb_h5_node *node = file->first; node; node = node->next) {
		node->address = 0;
		if (node->nlink > 2 * image->leaf_k)
			image->leaf_k = (unsigned)(node->nlink + 1) / 2;
	}
	if (!file->failed)
		put_object(image, file->first);
	pad(&image->bytes, ALIGN);
	return file->failed || image->bytes.failed ? NB_ENOMEM : NB_OK;
}
