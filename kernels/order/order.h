/* order.h - Morton (Z-order) keys, and the stable parallel sort by them.
 *
 * A key has 63 bits in 3-D (21 a dimension) and 62 in 2-D (31 a dimension); x is the highest bit of
 * each group, then y, then z.  The key cube is the smallest cube (square) with the given corner that
 * holds every body; see nb_morton_cube.  Bodies that their keys do not tell apart have an order too: see deep.h. */
#ifndef NB_ORDER_H
#define NB_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

enum { NB_MORTON_BITS_2D = 31, NB_MORTON_BITS_3D = 21 };

/* The cube that keys refer to: cell coordinate = floor((x - lo) / size * 2^bits). */
struct nb_cube {
	double lo[3];
	double size; /* edge, > 0; 1 where all bodies coincide */
};

/* The cube of n bodies: lo = the smallest coordinates, size = the largest extent times (1 + 2^-40)
 * so that the largest coordinate falls inside.  In 2-D z is ignored and lo[2] = 0.
 * Returns NB_ENONFINITE and the index of the first such body in *bad if a position is not finite, NB_ELIMIT if
 * the extent is beyond the range of a double. */
NB_MUST_CHECK int nb_morton_cube_cpu(size_t n, const double *pos, int dim, struct nb_cube *cube, size_t *bad);

/* The same of n finite bodies of which the largest -x, -y, -z, x, y, z are known. */
NB_MUST_CHECK int nb_morton_cube_of_extent(size_t n, const double extent[6], int dim, struct nb_cube *cube);

/* key[i] of pos (n x 3) in the cube; dim 2 or 3. */
NB_MUST_CHECK int nb_morton_keys_cpu(size_t n, const double *pos, int dim, const struct nb_cube *cube, uint64_t *key);

/* Stable radix sort: key is sorted in place, perm[k] = the old index of what is now at k.
 * n < 2^32 (NB_ELIMIT).  Same result for any number of threads. */
NB_MUST_CHECK int nb_sort_keys_cpu(size_t n, uint64_t *key, uint32_t *perm);

/* Rearranges perm, which nb_sort_keys has made of these keys, where keys are equal: bodies come in the order of their
 * deeper keys (deep.h), and only those that coincide (in 2-D: in x and y) stay as they were.
 *   key  n, sorted
 *   pos  n x 3, before the sort, finite
 * NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_sort_deep_cpu(size_t n, const uint64_t *key, const double *pos, int dim, uint32_t *perm);

/* The deeper keys (deep.h) of bodies of one key: key[i] is that of row[i] of pos (x 3), or of row i if row is NULL; all
 * 0 if the bodies coincide.  The same for any number of threads. */
void nb_deep_keys_cpu(size_t n, const uint32_t *row, const double *pos, int dim, uint64_t *key);

/* dst row k = src row perm[k]; rows of rowsize bytes, any rowsize > 0; dst and src do not overlap. */
NB_MUST_CHECK int nb_permute_cpu(size_t n, const uint32_t *perm, size_t rowsize, const void *src, void *dst);
/* The reverse: dst row row[k] = src row k, k < n, no two row[k] the same; the other rows of dst stay as they are. */
NB_MUST_CHECK int nb_scatter_cpu(size_t n, const uint32_t *row, size_t rowsize, const void *src, void *dst);

/* row[0 .. *count - 1] = the rows whose mark is not 0, in order.  row has room for n.  NB_ELIMIT: n > 2^32, on the
 * device n >= 2^31 - 1; NB_ENOMEM. */
NB_MUST_CHECK int nb_marked_rows_cpu(size_t n, const unsigned char *mark, uint32_t *row, size_t *count);

/* *current = 1 if key is ascending and is the Morton key of each position in the cube, i.e. nothing moved since the
 * sort, else 0. */
NB_MUST_CHECK int nb_keys_current_cpu(
	size_t n, const double *pos, int dim, const struct nb_cube *cube, const uint64_t *key, int *current);
/* *first = the first body of which one of the coordinates from, from + 1, ... to - 1 is outside the cube; n: none. */
NB_MUST_CHECK int nb_first_outside_cpu(
	size_t n, const double *pos, int from, int to, const struct nb_cube *cube, size_t *first);

/* The same on the current device, with the same results; arrays in its memory, *cube and *bad in the host's.
 * Work is queued on the default stream; only nb_morton_cube_cuda, nb_sort_keys_cuda (from 65536 keys on) and
 * nb_sort_deep_cuda wait for it. */
NB_MUST_CHECK int nb_morton_cube_cuda(size_t n, const double *pos, int dim, struct nb_cube *cube, size_t *bad);
NB_MUST_CHECK int nb_morton_keys_cuda(size_t n, const double *pos, int dim, const struct nb_cube *cube, uint64_t *key);
NB_MUST_CHECK int nb_sort_keys_cuda(size_t n, uint64_t *key, uint32_t *perm);
NB_MUST_CHECK int nb_sort_deep_cuda(size_t n, const uint64_t *key, const double *pos, int dim, uint32_t *perm);
NB_MUST_CHECK int nb_permute_cuda(size_t n, const uint32_t *perm, size_t rowsize, const void *src, void *dst);
NB_MUST_CHECK int nb_scatter_cuda(size_t n, const uint32_t *row, size_t rowsize, const void *src, void *dst);
/* These wait for the device. */
NB_MUST_CHECK int nb_marked_rows_cuda(size_t n, const unsigned char *mark, uint32_t *row, size_t *count);
NB_MUST_CHECK int nb_keys_current_cuda(
	size_t n, const double *pos, int dim, const struct nb_cube *cube, const uint64_t *key, int *current);
NB_MUST_CHECK int nb_first_outside_cuda(
	size_t n, const double *pos, int from, int to, const struct nb_cube *cube, size_t *first);

/* ---- ids ------------------------------------------------------------------------------------------- */

/* *sum = the sum of a hash of each id: the same for any order, and hardly ever for other ids. */
NB_MUST_CHECK int nb_ids_sum_cpu(size_t n, const uint64_t *id, uint64_t *sum);
NB_MUST_CHECK int nb_ids_sum_cuda(size_t n, const uint64_t *id, uint64_t *sum);

/* Whether the ids are all different: *first and *second become the rows of two equal ones, or both n if there are
 * none.  One pass where they ascend, else a bitmap over their range, else a sort.
 * NB_OK, NB_ENOMEM, NB_ELIMIT (n >= 2^32). */
NB_MUST_CHECK int nb_ids_unique(size_t n, const uint64_t *id, size_t *first, size_t *second);

/* row[k] = the row in id (n of them, all different) where wanted[k] is, for nwanted of them.
 * NB_OK; NB_EINVAL: wanted[*missing] is not in id; NB_ENOMEM, NB_ELIMIT. */
NB_MUST_CHECK int nb_ids_match(
	size_t n, const uint64_t *id, size_t nwanted, const uint64_t *wanted, uint32_t *row, size_t *missing);

/* The bodies that are in both: id_a[row_a[k]] = id_b[row_b[k]], k < *count, in the order of a.  The ids of each are all
 * different; row_a and row_b have room for na and nb, whichever is fewer.  NB_OK, NB_ENOMEM, NB_ELIMIT. */
NB_MUST_CHECK int nb_ids_common(size_t na, const uint64_t *id_a, size_t nb, const uint64_t *id_b, uint32_t *row_a,
	uint32_t *row_b, size_t *count);

NB_C_END

#include "kernels/order/deep.h"
#include "kernels/order/id.h"
#include "kernels/order/morton.h"

#endif
