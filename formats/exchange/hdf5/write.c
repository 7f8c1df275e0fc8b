/* The tree of an HDF5 file, and its rows. */
#include "formats/exchange/hdf5/image.h"

static struct nb_h5_node *new_node(struct nb_h5_file *file, struct nb_h5_node *parent, const char *name)
{
	struct nb_h5_node *node = parent || !file->first ? calloc(1, sizeof *node) : NULL;
	if (!node) {
		file->failed = 1;
		return NULL;
	}
	if (file->last)
		file->last->next = node;
	else
		file->first = node;
	file->last = node;
	if (parent)
		nb_h5_link(file, parent, name, node);
	return node;
}

void nb_h5_link(struct nb_h5_file *file, struct nb_h5_node *parent, const char *name, struct nb_h5_node *node)
{
	struct link *more = parent && node ? realloc(parent->link, (parent->nlink + 1) * sizeof *more) : NULL;
	char *copy = more ? strdup(name) : NULL;
	if (more)
		parent->link = more;
	if (!copy) {
		file->failed = 1;
		return;
	}
	/* sorted, as the library searches them */
	size_t k = parent->nlink++;
	for (; k > 0 && strcmp(parent->link[k - 1].name, name) > 0; k--)
		parent->link[k] = parent->link[k - 1];
	parent->link[k] = (struct link){copy, node};
	node->names++;
}

int nb_h5_has(const struct nb_h5_node *group, const char *name)
{
	for (size_t k = 0; group && k < group->nlink; k++)
		if (strcmp(group->link[k].name, name) == 0)
			return 1;
	return 0;
}

struct nb_h5_node *nb_h5_root(struct nb_h5_file *file, struct nb_output *output)
{
	file->output = output;
	struct nb_h5_node *root = new_node(file, NULL, NULL);
	if (root) {
		root->is_group = 1;
		root->names = 1;
	}
	return root;
}

struct nb_h5_node *nb_h5_group(struct nb_h5_file *file, struct nb_h5_node *parent, const char *name)
{
	struct nb_h5_node *node = new_node(file, parent, name);
	if (node)
		node->is_group = 1;
	return node;
}

struct nb_h5_node *nb_h5_dataset(struct nb_h5_file *file, struct nb_h5_node *parent, const char *name,
	const char *dtype, uint32_t ncomp, uint64_t rows, uint64_t chunk)
{
	struct nb_h5_node *node = new_node(file, parent, name);
	if (!node)
		return NULL;
	strncpy(node->dtype, dtype, sizeof node->dtype - 1);
	node->ncomp = ncomp;
	node->rows = rows;
	node->rowsize = item_size(dtype) * (ncomp ? ncomp : 1);
	node->chunk = chunk;
	return node;
}

/* ---- writing ------------------------------------------------------------------------------------ */

static int write_bytes(struct nb_h5_file *file, const void *data, uint64_t n)
{
	static const char zero[ALIGN];
	file->at += n;
	if (data)
		return nb_output_bytes(file->output, data, n);
	for (; n > ALIGN; n -= ALIGN)
		if (nb_output_bytes(file->output, zero, ALIGN))
			return -1;
	return nb_output_bytes(file->output, zero, n);
}

/* Addresses of the rows, which begin at this one; where they end. */
static uint64_t place_rows(struct nb_h5_file *file, uint64_t at)
{
	for (struct nb_h5_node *node = file->first; node; node = node->next)
		if (!node->is_group && node->rows) {
			at = (at + ALIGN - 1) / ALIGN * ALIGN;
			node->data = at;
			at += node->rows * node->rowsize;
		}
	return at;
}

int nb_h5_begin(struct nb_h5_file *file, int run)
{
	file->run = run;
	if (run)
		return file->failed ? NB_ENOMEM : write_bytes(file, NULL, 2 * ALIGN);
	struct image image;
	int status = nb_h5_make_image(file, &image, SUPERBLOCK);
	if (!status) {
		/* once more, with the rows behind it */
		const uint64_t end = place_rows(file, SUPERBLOCK + image.bytes.used);
		struct bytes superblock = {0};
		free(image.bytes.data);
		status = nb_h5_make_image(file, &image, SUPERBLOCK);
		nb_h5_put_superblock(&superblock, file->first, image.leaf_k, end);
		if (superblock.failed)
			status = NB_ENOMEM;
		if (!status)
			status = write_bytes(file, superblock.data, superblock.used) ||
						 write_bytes(file, image.bytes.data, image.bytes.used)
					 ? -1
					 : NB_OK;
		free(superblock.data);
	}
	free(image.bytes.data);
	return status;
}

static int write_chunk(struct nb_h5_file *file, struct nb_h5_node *node)
{
	if (write_bytes(file, NULL, (ALIGN - file->at % ALIGN) % ALIGN))
		return -1;
	nb_h5_put_int(&node->chunks, file->at, 8);
	if (node->chunks.failed)
		return NB_ENOMEM;
	return write_bytes(file, node->held, node->chunk * node->rowsize);
}

static int put_chunks(struct nb_h5_file *file, struct nb_h5_node *node, const unsigned char *data, uint64_t bytes)
{
	const uint64_t size = node->chunk * node->rowsize;
	if (!node->held && !(node->held = malloc(size)))
		return NB_ENOMEM;
	while (bytes) {
		const uint64_t used = node->put % size, part = bytes < size - used ? bytes : size - used;
		memcpy(node->held + used, data, part);
		data += part;
		bytes -= part;
		node->put += part;
		const int status = used + part == size ? write_chunk(file, node) : NB_OK;
		if (status)
			return status;
	}
	return NB_OK;
}

int nb_h5_put(struct nb_h5_file *file, struct nb_h5_node *dataset, const void *data, uint64_t bytes)
{
	if (file->run)
		return put_chunks(file, dataset, data, bytes);
	if (bytes && file->at < dataset->data && write_bytes(file, NULL, dataset->data - file->at))
		return -1;
	return write_bytes(file, data, bytes);
}

int nb_h5_end(struct nb_h5_file *file)
{
	struct image image;
	struct bytes superblock = {0};
	int status = NB_OK;
	if (!file->run)
		return NB_OK;
	for (struct nb_h5_node *node = file->first; !status && node; node = node->next) {
		if (node->is_group)
			continue;
		const uint64_t size = node->chunk * node->rowsize, used = node->put % size;
		node->rows = node->put / node->rowsize;
		if (used) {
			memset(node->held + used, 0, size - used);
			status = write_chunk(file, node);
		}
	}
	if (!status && write_bytes(file, NULL, (ALIGN - file->at % ALIGN) % ALIGN))
		status = -1;
	if (status)
		return status;
	status = nb_h5_make_image(file, &image, file->at);
	nb_h5_put_superblock(&superblock, file->first, image.leaf_k, file->at + image.bytes.used);
	if (!status && superblock.failed)
		status = NB_ENOMEM;
	if (!status && write_bytes(file, image.bytes.data, image.bytes.used))
		status = -1;
	if (!status)
		status = nb_output_again(file->output, 0, superblock.data, superblock.used);
	free(superblock.data);
	free(image.bytes.data);
	return status;
}

void nb_h5_clear(struct nb_h5_file *file)
{
	for (struct nb_h5_node *node = file->first, *next; node; node = next) {
		next = node->next;
		for (size_t k = 0; k < node->nlink; k++)
			free(node->link[k].name);
		free(node->link);
		free(node->attribute.data);
		free(node->held);
		free(node->chunks.data);
		free(node);
	}
	*file = (struct nb_h5_file){0};
}
