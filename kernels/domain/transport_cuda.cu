/* transport_cuda.cu - rows of device memory from rank to rank (essential_internal.cuh): by MPI, through the host unless
 * that reaches devices; or, where ranks are threads of this process, from device to device. */
#include <algorithm>
#include <vector>

#include "kernels/domain/essential_internal.cuh"

static int copy_there(void *to, const void *from, size_t bytes)
{
	if (bytes)
		NB_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, 0));
	NB_CUDA_TRY(cudaStreamSynchronize(0));
	return NB_OK;
}

/* Events by which ranks of this process take turns: two, as one may still be waited for when the next is recorded. */
struct turns {
	cudaEvent_t event[2] = {};
	int device = -1;
	unsigned turn = 0;

	int record(cudaEvent_t *recorded)
	{
		int now;
		NB_CUDA_TRY(cudaGetDevice(&now));
		if (now != device) {
			for (cudaEvent_t &e : event)
				NB_CUDA_TRY(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
			device = now;
		}
		*recorded = event[turn++ % 2];
		NB_CUDA_TRY(cudaEventRecord(*recorded, 0));
		return NB_OK;
	}
};

int nb_domain_line_up(const struct nb_domain *d, int status)
{
	static thread_local struct turns turns;
	struct own {
		int status;
		cudaEvent_t queued;
	};
	std::vector<struct own> all((size_t)d->size);
	struct own *mine = &all[(size_t)d->rank];
	mine->status = status ? status : turns.record(&mine->queued);
	nb_domain_tell(d, all);
	for (const struct own &other : all)
		status = std::max(status, other.status);
	for (int k = 0; k < d->size && !status; k++)
		if (k != d->rank)
			status = nb_cuda_status(cudaStreamWaitEvent(0, all[(size_t)k].queued, 0), "cudaStreamWaitEvent",
				__FILE__, __LINE__);
	if (status) /* others may give back what is being read here */
		(void)cudaStreamSynchronize(0);
	return nb_domain_agree(status);
}

/* Rows that a rank of this process lends to the others: bound[k] .. bound[k + 1] - 1 to rank k, or all to each. */
struct lent {
	const char *rows;
	const size_t *bound;
	int device;
};

/* From device to device: this rank gets the rows receive[k] .. receive[k + 1] - 1 of rank k. */
static int fetch_rows(
	const struct nb_domain *d, size_t rowsize, const void *out, const size_t *send, void *in, const size_t *receive)
{
	const size_t size = (size_t)d->size, rank = (size_t)d->rank;
	std::vector<struct lent> all(size);
	int device;
	const auto copy = [&]() {
		for (size_t k = 0; k < size; k++) {
			const size_t n = receive[k + 1] - receive[k], first = all[k].bound ? all[k].bound[rank] : 0;
			if (n)
				NB_CUDA_TRY(cudaMemcpyPeerAsync((char *)in + receive[k] * rowsize, device,
					all[k].rows + first * rowsize, all[k].device, n * rowsize, 0));
		}
		return (int)NB_OK;
	};
	const int status = nb_domain_line_up(
		d, nb_cuda_status(cudaGetDevice(&device), "cudaGetDevice", __FILE__, __LINE__));
	if (status)
		return status;
	all[rank] = {(const char *)out, send, device};
	nb_domain_tell(d, all);
	return nb_domain_line_up(d, copy()); /* and none of the rows goes before all have them */
}

int nb_domain_collect_rows(const struct nb_domain *d, size_t rowsize, const void *own, const size_t *bound, void *all)
{
	static thread_local struct nb_domain_staging room;
	const size_t size = (size_t)d->size, rank = (size_t)d->rank;
	std::vector<size_t> bytes(size + 1);
	if (nb_ranks_together())
		return fetch_rows(d, rowsize, own, nullptr, all, bound);
	for (size_t k = 0; k <= size; k++)
		bytes[k] = bound[k] * rowsize;
	int status = room.reserve(bytes[size] + 1, false);
	status = nb_domain_agree(
		status ? status : copy_there(room.ptr + bytes[rank], own, bytes[rank + 1] - bytes[rank]));
	if (status)
		return status;
	nb_ranks_collect(room.ptr, bytes.data());
	nb_ranks_wait_all();
	return nb_domain_agree(copy_there(all, room.ptr, bytes[size]));
}

int nb_domain_swap_rows(
	const struct nb_domain *d, size_t rowsize, const void *out, const size_t *send, void *in, const size_t *receive)
{
	static thread_local struct nb_domain_staging leaving, coming;
	const bool direct = nb_ranks_reach_devices();
	const size_t size = (size_t)d->size;
	std::vector<size_t> to(size + 1), from(size + 1);
	if (nb_ranks_together())
		return fetch_rows(d, rowsize, out, send, in, receive);
	for (size_t k = 0; k <= size; k++)
		to[k] = send[k] * rowsize, from[k] = receive[k] * rowsize;
	int status = leaving.reserve(to[size] + 1, direct);
	status = status ? status : coming.reserve(from[size] + 1, direct);
	status = nb_domain_agree(status ? status : copy_there(leaving.ptr, out, to[size]));
	if (status)
		return status;
	nb_ranks_exchange(leaving.ptr, to.data(), coming.ptr, from.data());
	nb_ranks_wait_all();
	return nb_domain_agree(copy_there(in, coming.ptr, from[size]));
}
