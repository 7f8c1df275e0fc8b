/* box_internal.h - one box: its neighbours, and what may be wrong with it; for both backends. */
#ifndef NB_BOXES_BOX_INTERNAL_H
#define NB_BOXES_BOX_INTERNAL_H

#include "common/hd.h"
#include "kernels/boxes/boxes.h"
#include "kernels/order/order.h"

/* Neighbours of box b, offsets in the order (-1,-1,-1), (-1,-1,0) .. (1,1,1), x slowest. */
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

enum nb_box_fault { NB_BOX_SOUND, NB_BOX_ORDER, NB_BOX_NEIGHBOURS };

static NB_HD enum nb_box_fault nb_box_fault(const struct nb_boxes *boxes, size_t b)
{
	if (boxes->box_first[b] > boxes->box_first[b + 1])
		return NB_BOX_ORDER;
	for (int k = 0; k < boxes->nneighbour; k++) {
		const int64_t other = boxes->neighbour[b * (size_t)boxes->nneighbour + (size_t)k];
		if (other < -1 || other >= (int64_t)boxes->nbox || other == (int64_t)b)
			return NB_BOX_NEIGHBOURS;
	}
	return NB_BOX_SOUND;
}

/* What to say of the fault of the first box that has one. */
static inline const char *nb_boxes_verdict(enum nb_box_fault fault, int hold_all)
{
	if (!hold_all)
		return "the boxes do not hold all bodies";
	switch (fault) {
	case NB_BOX_ORDER: return "box_first is not ascending";
	case NB_BOX_NEIGHBOURS: return "a neighbour is out of range";
	case NB_BOX_SOUND: break;
	}
	return NULL;
}

#endif
