/* box_internal.h - what may be wrong with one box; for both backends. */
#ifndef NB_BOXES_BOX_INTERNAL_H
#define NB_BOXES_BOX_INTERNAL_H

#include "common/hd.h"
#include "kernels/boxes/boxes.h"

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
