/* Uniform boxes over sorted keys: the box of a body is the leading digits of its key, so the boxes of a level lie
 * in Z-order and each holds a run of bodies.  Source: Shan & Lei 2012, sections II and III. */
#include "kernels/morton_code.h"
#include "kernels/tree.h"

enum { MAX_LEVEL_2D = 12, MAX_LEVEL_3D = 8 };

static uint64_t box_of(int dim, uint32_t x, uint32_t y, uint32_t z)
{
	return dim == 2 ? nb_morton_key2(x, y) : nb_morton_key3(x, y, z);
}

/* The first body whose key is at least the smallest of box b. */
static uint64_t lower_bound(size_t n, const uint64_t *key, uint64_t b, int shift)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (key[middle] >> shift < b)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int nb_boxes_build_cpu(size_t n, const uint64_t *key, int dim, int level, uint64_t *box_first, int32_t *neighbour)
{
	if ((dim != 2 && dim != 3) || level < 0 || level > (dim == 2 ? MAX_LEVEL_2D : MAX_LEVEL_3D))
		return NB_EINVAL;
	const int bits = dim == 2 ? NB_MORTON_BITS_2D : NB_MORTON_BITS_3D;
	const int shift = dim * (bits - level);
	const size_t nbox = (size_t)1 << dim * level;
	const int64_t side = (int64_t)1 << level;
	const int depth = dim == 3 ? 1 : 0;
#pragma omp parallel for schedule(static)
	for (size_t b = 0; b < nbox; b++) {
		const int64_t x = dim == 2 ? nb_morton_gather2(b >> 1) : nb_morton_gather3(b >> 2);
		const int64_t y = dim == 2 ? nb_morton_gather2(b) : nb_morton_gather3(b >> 1);
		const int64_t z = dim == 2 ? 0 : nb_morton_gather3(b);
		int32_t *to = neighbour + b * (dim == 2 ? 8 : 26);
		box_first[b] = lower_bound(n, key, b, shift);
		for (int dx = -1; dx <= 1; dx++)
			for (int dy = -1; dy <= 1; dy++)
				for (int dz = -depth; dz <= depth; dz++) {
					const int64_t u = x + dx, v = y + dy, w = z + dz;
					if (dx == 0 && dy == 0 && dz == 0)
						continue;
					int inside = u >= 0 && u < side && v >= 0 && v < side && w >= 0 && w < side;
					*to++ = inside ? (int32_t)box_of(dim, (uint32_t)u, (uint32_t)v, (uint32_t)w) : -1;
				}
	}
	box_first[nbox] = n;
	return NB_OK;
}
