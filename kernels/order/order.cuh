/* order.cuh - prefix sums on the device (CUB, compiled once in sort_cuda.cu). */
#ifndef NB_ORDER_CUH
#define NB_ORDER_CUH

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* out[i] = sum of in[0 .. i-1], i < n; in place if out == in.  Queued on the default stream.  n < 2^31. */
NB_MUST_CHECK int nb_scan_cuda(size_t n, const uint32_t *in, uint32_t *out);

#endif
