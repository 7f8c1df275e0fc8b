/* rows_cuda.cu - the rows of marked bodies on the device. */
#include "kernels/order/rows.cuh"

#include "kernels/order/order.h"

struct marked {
	const unsigned char *mark;

	__device__ bool operator()(size_t i) const
	{
		return mark[i] != 0;
	}
};

int nb_marked_rows_cuda(size_t n, const unsigned char *mark, uint32_t *row, size_t *count)
{
	return nb_rows_of(n, marked{mark}, row, count);
}
