/* Uniform boxes of one level over sorted keys: a box's index is the leading digits of the keys in it. */
#include "kernels/boxes/box_internal.h"

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
		nb_box_neighbours(b, dim, level, neighbour + b * nneighbour);
	return NB_OK;
}

int nb_boxes_check_cpu(const struct nb_boxes *boxes, size_t n, const char **wrong)
{
	const size_t nbox = boxes->nbox;
	*wrong = nbox || n == 0 ? NULL : "there are bodies but no boxes";
	if (nbox == 0)
		return NB_OK;
	size_t first = nbox;
#pragma omp parallel for schedule(static) reduction(min : first) if (nbox > 10000)
	for (size_t b = 0; b < nbox; b++)
		if (b < first && nb_box_fault(boxes, b) != NB_BOX_SOUND)
			first = b;
	*wrong = nb_boxes_verdict(first < nbox ? nb_box_fault(boxes, first) : NB_BOX_SOUND,
		boxes->box_first[0] == 0 && boxes->box_first[nbox] == n);
	return NB_OK;
}
