/* Uniform boxes of one level over sorted keys: a box's index is the leading digits of the keys in it. */
#include "kernels/boxes/boxes.h"

#include "kernels/order/order.h"

/* Neighbours of box b, offsets in the order (-1,-1,-1), (-1,-1,0) .. (1,1,1), x slowest. */
static void neighbours(uint64_t b, int dim, int level, int32_t *neighbour)
{
	const int64_t side = (int64_t)1 << level;
	int64_t x, y, z = 0;
	if (dim == 3) {
		x = nb_morton_gather3(b >> 2);
		y = nb_morton_gather3(b >> 1);
		z = nb_morton_gather3(b);
	} else {
		x = nb_morton_gather2(b >> 1);
		y = nb_morton_gather2(b);
	}
	for (int64_t i = x - 1; i <= x + 1; i++)
		for (int64_t j = y - 1; j <= y + 1; j++)
			for (int64_t k = dim == 3 ? z - 1 : 0; k <= (dim == 3 ? z + 1 : 0); k++) {
				if (i == x && j == y && k == z)
					continue;
				int inside = i >= 0 && j >= 0 && k >= 0 && i < side && j < side && k < side;
				if (!inside)
					*neighbour++ = -1;
				else if (dim == 3)
					*neighbour++ = (int32_t)nb_morton_key3((uint64_t)i, (uint64_t)j, (uint64_t)k);
				else
					*neighbour++ = (int32_t)nb_morton_key2((uint64_t)i, (uint64_t)j);
			}
}

int nb_boxes_build_cpu(size_t n, const uint64_t *key, int dim, int level, uint64_t *box_first, int32_t *neighbour)
{
	if ((dim != 2 && dim != 3) || level < 0 || level > (dim == 3 ? NB_BOXES_MAX_LEVEL_3D : NB_BOXES_MAX_LEVEL_2D))
		return NB_EINVAL;
	const size_t nbox = (size_t)1 << dim * level;
	const int shift = dim * ((dim == 3 ? NB_MORTON_BITS_3D : NB_MORTON_BITS_2D) - level);
	/* body i begins the boxes after that of body i - 1, up to its own; "body n" begins the rest */
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i <= n; i++) {
		uint64_t from = i == 0 ? 0 : (key[i - 1] >> shift) + 1;
		uint64_t to = i == n ? nbox : key[i] >> shift;
		for (uint64_t b = from; b <= to; b++)
			box_first[b] = i;
	}
	const size_t nneighbour = dim == 3 ? 26 : 8;
#pragma omp parallel for schedule(static)
	for (size_t b = 0; b < nbox; b++)
		neighbours(b, dim, level, neighbour + b * nneighbour);
	return NB_OK;
}

const char *nb_boxes_check(const struct nb_boxes *boxes, size_t n)
{
	if (boxes->nbox == 0)
		return n == 0 ? NULL : "bodies without boxes";
	if (boxes->box_first[0] != 0 || boxes->box_first[boxes->nbox] != n)
		return "the boxes do not hold all bodies";
	for (size_t b = 0; b < boxes->nbox; b++) {
		if (boxes->box_first[b] > boxes->box_first[b + 1])
			return "box_first is not ascending";
		for (int k = 0; k < boxes->nneighbour; k++) {
			int64_t other = boxes->neighbour[b * (size_t)boxes->nneighbour + (size_t)k];
			if (other < -1 || other >= (int64_t)boxes->nbox || other == (int64_t)b)
				return "a neighbour is out of range";
		}
	}
	return NULL;
}
