/* neighbours.h - where the neighbours of a box are, written once for gcc and nvcc; a part of boxes.h. */
#ifndef NB_BOXES_NEIGHBOURS_H
#define NB_BOXES_NEIGHBOURS_H

#include "common/hd.h"
#include "kernels/order/order.h"

/* Neighbours of box b (8 or 26), -1 where there is none, offsets in the order (-1,-1,-1), (-1,-1,0) .. (1,1,1), x
 * slowest. */
static NB_HD void nb_box_neighbours(uint64_t b, int dim, int level, int32_t *neighbour)
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

#endif
