/* boxes.h - uniform boxes over Morton-sorted bodies: 4^level squares (2-D) or 8^level cubes (3-D) in Z-order.
 *
 * Body k of the sorted bodies lies in the box whose index is the leading digits of its key, so the bodies of a box are
 * consecutive. */
#ifndef NB_BOXES_H
#define NB_BOXES_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

enum { NB_BOXES_MAX_LEVEL_2D = 12, NB_BOXES_MAX_LEVEL_3D = 8 };

struct nb_boxes {
	size_t nbox;
	const uint64_t *box_first; /* nbox + 1, index of the first body of each box; box_first[nbox] = n */
	const int32_t *neighbour;  /* nbox x nneighbour box indices, -1 where there is none (at the edge) */
	int nneighbour;		   /* 8 in 2-D, 26 in 3-D */
};

/* Boxes of a level from n sorted keys (of the cube that is divided): fills box_first (nbox + 1) and
 * neighbour (nbox x 8 or 26).  Level 0..12 in 2-D, 0..8 in 3-D.  Returns 0 or NB_EINVAL. */
NB_MUST_CHECK int nb_boxes_build_cpu(
	size_t n, const uint64_t *key, int dim, int level, uint64_t *box_first, int32_t *neighbour);
/* The same on the current device, arrays in its memory; queued on the default stream. */
NB_MUST_CHECK int nb_boxes_build_cuda(
	size_t n, const uint64_t *key, int dim, int level, uint64_t *box_first, int32_t *neighbour);

/* Whether boxes from outside can be used: box_first ascending from 0 to n, neighbours in range and not the box itself.
 * *wrong is NULL if so, else a phrase that says what is wrong. */
NB_MUST_CHECK int nb_boxes_check_cpu(const struct nb_boxes *boxes, size_t n, const char **wrong);
NB_MUST_CHECK int nb_boxes_check_cuda(const struct nb_boxes *boxes, size_t n, const char **wrong);

NB_C_END

#include "kernels/boxes/neighbours.h"

#endif
