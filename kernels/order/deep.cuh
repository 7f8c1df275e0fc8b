/* deep.cuh - deeper keys (deep.h) of many crowds at once on the device. */
#ifndef NB_ORDER_DEEP_CUH
#define NB_ORDER_DEEP_CUH

#include "kernels/order/deep.h"

/* Deeper keys of n bodies in ncrowd crowds.
 *   crowd   n, ascending: the crowd that each is of
 *   row     n: where it is in pos (x 3)
 *   number  whether bodies of a crowd that all coincide get their number as key, instead of 0
 *   key     n, written
 * Queued on the default stream. */
NB_MUST_CHECK int nb_deep_keys_cuda(size_t n, const uint32_t *crowd, size_t ncrowd, const uint32_t *row,
	const double *pos, int dim, bool number, uint64_t *key);

#endif
