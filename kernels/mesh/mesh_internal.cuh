/* mesh_internal.cuh - kernels that have tiles or lines in shared memory, of which devices let a block have 64 to 227
 * KiB. */
#ifndef NB_MESH_INTERNAL_CUH
#define NB_MESH_INTERNAL_CUH

#include "kernels/device/device.cuh"
#include "kernels/mesh/mesh_internal.h"

/* Bytes that a block may have on the current device. */
NB_MUST_CHECK inline int nb_mesh_shared(size_t *bytes)
{
	int device, most;
	NB_CUDA_TRY(cudaGetDevice(&device));
	NB_CUDA_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
	*bytes = (size_t)most;
	return NB_OK;
}

/* A table of the host's, for kernels that are queued from now on.  Those before it are not waited for: other threads,
 * which queue work for this device meanwhile, would wait, too.  `host` may go at once, as it is not pinned. */
template <class T> NB_MUST_CHECK int nb_mesh_send_table(const T *host, size_t count, nb_cuda_buffer<T> &table)
{
	NB_TRY(table.alloc(count));
	NB_CUDA_TRY(cudaMemcpyAsync(table.ptr, host, count * sizeof *host, cudaMemcpyHostToDevice, 0));
	return NB_OK;
}

/* As the functions of mesh.h, by kernels that take so many bytes of shared memory, or else as few as there can be,
 * which is within 64 KiB, for lines of 4096 cells 72: the same bytes of meshes, and sums of gathered cells in another
 * order. */
NB_MUST_CHECK int nb_mesh_paint_within_cuda(
	size_t shared, const struct nb_mesh_paint *paint, void *mesh, void *shifted);
NB_MUST_CHECK int nb_mesh_transform_within_cuda(size_t shared, int m, double unit, void *mesh);
NB_MUST_CHECK int nb_mesh_transform_back_within_cuda(size_t shared, int m, double *mesh);
NB_MUST_CHECK int nb_mesh_field_within_cuda(
	size_t shared, const struct nb_mesh_poisson *of, enum nb_mesh_field field, const double *mass, double *to);
NB_MUST_CHECK int nb_mesh_gather_within_cuda(
	size_t shared, const struct nb_mesh_gather *gather, double *value, size_t stride);

#endif
