/* Uniform boxes and their neighbours, against brute force. */
#include "kernels/boxes/boxes.h"
#include "tests/unit/tree/bodies.h"

static void test_boxes(void)
{
	for (int dim = 2; dim <= 3; dim++)
		for (int level = 0; level <= 3; level++) {
			struct bodies b = model(dim == 2 ? DISK_2D : PLUMMER, 3000);
			const size_t nbox = (size_t)1 << dim * level, nn = dim == 2 ? 8 : 26;
			uint64_t *first = nb_alloc(nbox + 1, sizeof *first);
			int32_t *neighbour = nb_alloc(nbox * nn, sizeof *neighbour);
			CHECK(nb_boxes_build_cpu(b.n, b.key, dim, level, first, neighbour) == NB_OK);
			struct nb_boxes boxes = {nbox, first, neighbour, (int)nn};
			const char *wrong = "";
			CHECK(nb_boxes_check_cpu(&boxes, b.n, &wrong) == NB_OK && wrong == NULL);
			/* each body lies in the box that its coordinates say; neighbours are the boxes that touch */
			const double side = (double)(1 << level);
			int inside = 1, touch = 1;
			for (size_t k = 0; k < nbox; k++) {
				uint32_t at[3] = {0, 0, 0};
				for (int d = 0; d < dim; d++)
					at[d] = dim == 2 ? nb_morton_gather2(k >> (1 - d))
							 : nb_morton_gather3(k >> (2 - d));
				for (size_t i = first[k]; i < first[k + 1]; i++)
					for (int d = 0; d < dim; d++)
						inside &= (uint32_t)((b.pos[3 * i + (size_t)d] - b.cube.lo[d]) /
								     b.cube.size * side) == at[d];
				size_t found = 0, want = 0;
				for (size_t o = 0; o < nbox; o++) {
					int near = o != k;
					for (int d = 0; d < dim; d++) {
						int64_t there = dim == 2 ? nb_morton_gather2(o >> (1 - d))
									 : nb_morton_gather3(o >> (2 - d));
						near &= llabs(there - (int64_t)at[d]) <= 1;
					}
					want += (size_t)near;
					for (size_t q = 0; near && q < nn; q++)
						found += neighbour[k * nn + q] == (int32_t)o;
				}
				size_t listed = 0;
				for (size_t q = 0; q < nn; q++)
					listed += neighbour[k * nn + q] >= 0;
				touch &= found == want && listed == want;
			}
			CHECK(inside);
			CHECK(touch);
			CHECK(nb_boxes_build_cpu(b.n, b.key, dim, -1, first, neighbour) == NB_EINVAL);
			CHECK(nb_boxes_build_cpu(b.n, b.key, dim, dim == 2 ? 13 : 9, first, neighbour) == NB_EINVAL);
			CHECK(nb_boxes_build_cpu(0, NULL, dim, level, first, neighbour) == NB_OK && first[nbox] == 0);
			nb_free(first);
			nb_free(neighbour);
			bodies_free(&b);
		}
}

int main(void)
{
	test_boxes();
	return unit_end();
}
