/* labels_cuda.cu - sets of bodies on the device become groups in order.
 *
 * Atomics that are the same in any order count the bodies of each set, and of those with enough find the smallest row
 * and id and sum up the masses (sum_internal.h); bodies of one set are neighbours, so a warp adds up what its first
 * lanes' sets have before.  The sets, which are few most often, are put in order on the host. */
#include "kernels/groups/groups_internal.cuh"
#include "kernels/order/order.cuh"

#include <vector>

enum { THREADS = 256, ROUNDS = 2 /* sets of a warp whose bodies it adds up */ };

/* All lanes of a warp come.  Calls add(own, lanes): own says that the lane's set is that of these lanes, for all at
 * once; alone(): for this lane. */
template <class together, class single>
static __device__ __forceinline__ void by_sets(bool wanted, uint32_t set, together add, single alone)
{
	uint32_t left = __ballot_sync(0xffffffff, wanted);
	for (int round = 0; round < ROUNDS && left; round++) {
		const uint32_t chosen = __shfl_sync(0xffffffff, set, __ffs((int)left) - 1);
		const bool own = wanted && set == chosen && left >> threadIdx.x % 32 & 1;
		const uint32_t those = __ballot_sync(0xffffffff, own);
		add(chosen, own, those);
		left &= ~those;
	}
	if (left >> threadIdx.x % 32 & 1)
		alone();
}

static __global__ void __launch_bounds__(THREADS) count_kernel(size_t n, const uint32_t *root, uint32_t *size)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	const bool wanted = i < n;
	const uint32_t set = wanted ? root[i] : 0;
	by_sets(
		wanted, set,
		[&](uint32_t chosen, bool, uint32_t those) {
			if (threadIdx.x % 32 == 0)
				atomicAdd(&size[chosen], (uint32_t)__popc(those));
		},
		[&] { atomicAdd(&size[set], 1); });
}

static __global__ void __launch_bounds__(THREADS)
	largest_kernel(size_t n, const double *mass, unsigned long long *largest)
{
	unsigned long long most = 0;
	for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * THREADS)
		most = max(most, (unsigned long long)__double_as_longlong(fabs(mass[i])));
	for (int offset = 16; offset > 0; offset /= 2)
		most = max(most, __shfl_xor_sync(0xffffffff, most, offset));
	if (threadIdx.x % 32 == 0 && most > *(volatile unsigned long long *)largest)
		atomicMax(largest, most);
}

/* Roots of sets that are large enough; or, of size[], the numbers of those. */
struct is_large {
	const uint32_t *root, *size;
	uint32_t least;

	__device__ bool operator()(size_t i) const
	{
		return root[i] == i && size[i] >= least;
	}
};

/* number[root] = the number of the set from 1 on, of others 0; its size. */
static __global__ void __launch_bounds__(THREADS)
	number_kernel(uint32_t count, const uint32_t *large, const uint32_t *size, uint32_t *number, uint32_t *of)
{
	const uint32_t k = blockIdx.x * THREADS + threadIdx.x;
	if (k >= count)
		return;
	number[large[k]] = k + 1;
	of[k] = size[large[k]];
}

struct sums {
	uint32_t *row;
	unsigned long long *id, *sum; /* sum: x NB_SUM_LIMBS, of 64-bit integers with a sign */
	int exponent;
};

static __device__ __forceinline__ int64_t warp_sum(int64_t v)
{
	for (int offset = 16; offset > 0; offset /= 2)
		v += __shfl_xor_sync(0xffffffff, v, offset);
	return v;
}

/* The number of its set is that of each body, in the order of rows in group; and what the set amounts to. */
static __global__ void __launch_bounds__(THREADS)
	add_kernel(size_t n, const uint32_t *root, const uint32_t *perm, const uint32_t *number, const double *mass,
		const uint64_t *id, const __grid_constant__ struct sums s, uint32_t *group)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	const uint32_t row = i < n ? perm[i] : 0, set = i < n ? number[root[i]] : 0;
	int32_t limb[NB_SUM_LIMBS] = {};
	if (i < n)
		group[row] = set;
	if (set) { /* few bodies are smaller than all before them */
		if (row < *(volatile uint32_t *)&s.row[set - 1])
			atomicMin(&s.row[set - 1], row);
		if (id && id[row] < *(volatile unsigned long long *)&s.id[set - 1])
			atomicMin(&s.id[set - 1], (unsigned long long)id[row]);
		if (mass)
			nb_sum_split(mass[row], s.exponent, limb);
	}
	if (!mass)
		return;
	const auto add = [&](uint32_t to, int l, int64_t v) {
		atomicAdd(&s.sum[NB_SUM_LIMBS * (size_t)(to - 1) + l], (unsigned long long)v);
	};
	by_sets(
		set != 0, set,
		[&](uint32_t chosen, bool own, uint32_t) {
			for (int l = 0; l < NB_SUM_LIMBS; l++) {
				const int64_t all = warp_sum(own ? limb[l] : 0);
				if (threadIdx.x % 32 == 0 && all)
					add(chosen, l, all);
			}
		},
		[&] {
			for (int l = 0; l < NB_SUM_LIMBS; l++)
				if (limb[l])
					add(set, l, limb[l]);
		});
}

static __global__ void __launch_bounds__(THREADS) place_kernel(size_t n, const uint32_t *place, uint32_t *group)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i < n && group[i])
		group[i] = place[group[i] - 1];
}

static unsigned blocks(size_t n)
{
	return nb_cuda_blocks(n, THREADS);
}

static int find_exponent(const struct nb_groups_job *job, int *exponent)
{
	nb_cuda_buffer<unsigned long long> largest;
	double mass;
	*exponent = 0;
	if (!job->mass)
		return NB_OK;
	NB_TRY(largest.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(largest.ptr, 0, sizeof mass));
	largest_kernel<<<min(blocks(job->n), 1024u), THREADS>>>(job->n, job->mass, largest.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&mass, largest.ptr, sizeof mass, cudaMemcpyDeviceToHost));
	*exponent = nb_sum_exponent(mass);
	return NB_OK;
}

/* The sets that are large enough, on the host, and in group the number of the set of each body, by rows. */
static int make_sets(
	const struct nb_groups_job *job, const struct nb_forest &forest, uint32_t *group, struct nb_group_sets *sets)
{
	const size_t n = job->n;
	nb_cuda_buffer<uint32_t> size, number, large, of, row;
	nb_cuda_buffer<unsigned long long> id, sum;
	size_t count;
	NB_TRY(size.alloc(n));
	NB_TRY(large.alloc(n));
	NB_CUDA_TRY(cudaMemsetAsync(size.ptr, 0, n * sizeof *size.ptr));
	count_kernel<<<blocks(n), THREADS>>>(n, forest.parent.ptr, size.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_rows_of(n, is_large{forest.parent.ptr, size.ptr, job->least}, large.ptr, &count));
	NB_TRY(nb_group_sets_alloc(sets, count, job->mass != nullptr));
	NB_TRY(find_exponent(job, &sets->exponent));
	NB_TRY(number.alloc(n));
	NB_TRY(of.alloc(count));
	NB_TRY(row.alloc(count));
	NB_TRY(id.alloc(job->id ? count : 0));
	NB_TRY(sum.alloc(job->mass ? NB_SUM_LIMBS * count : 0));
	NB_CUDA_TRY(cudaMemsetAsync(number.ptr, 0, n * sizeof *number.ptr));
	if (count > 0) {
		NB_CUDA_TRY(cudaMemsetAsync(row.ptr, 0xff, count * sizeof *row.ptr));
		if (job->id)
			NB_CUDA_TRY(cudaMemsetAsync(id.ptr, 0xff, count * sizeof *id.ptr));
		if (job->mass)
			NB_CUDA_TRY(cudaMemsetAsync(sum.ptr, 0, NB_SUM_LIMBS * count * sizeof *sum.ptr));
		number_kernel<<<blocks(count), THREADS>>>((uint32_t)count, large.ptr, size.ptr, number.ptr, of.ptr);
		NB_CUDA_LAUNCHED();
	}
	const struct sums s = {row.ptr, id.ptr, sum.ptr, sets->exponent};
	add_kernel<<<blocks(n), THREADS>>>(
		n, forest.parent.ptr, forest.perm.ptr, number.ptr, job->mass, job->id, s, group);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(sets->size, of.ptr, count * sizeof *sets->size, cudaMemcpyDeviceToHost));
	NB_CUDA_TRY(cudaMemcpy(sets->row, row.ptr, count * sizeof *sets->row, cudaMemcpyDeviceToHost));
	if (job->id)
		NB_CUDA_TRY(cudaMemcpy(sets->id, id.ptr, count * sizeof *sets->id, cudaMemcpyDeviceToHost));
	for (size_t k = 0; !job->id && k < count; k++)
		sets->id[k] = sets->row[k];
	if (job->mass)
		NB_CUDA_TRY(cudaMemcpy(
			sets->sum, sum.ptr, NB_SUM_LIMBS * count * sizeof *sets->sum, cudaMemcpyDeviceToHost));
	return NB_OK;
}

/* The sets as the CPU finds them, where the tree is too deep for a stack. */
static int link_on_host(const struct nb_groups_job *job, struct nb_forest *to)
{
	std::vector<double> pos(3 * job->n);
	std::vector<uint32_t> label(job->n), row(job->n);
	NB_CUDA_TRY(cudaMemcpy(pos.data(), job->pos, 3 * job->n * sizeof *job->pos, cudaMemcpyDeviceToHost));
	NB_TRY(nb_groups_link_cpu(job->n, pos.data(), job->dim, job->length, job->box, label.data()));
	for (size_t i = 0; i < job->n; i++)
		row[i] = (uint32_t)i;
	NB_CUDA_TRY(cudaMemcpy(to->perm.ptr, row.data(), job->n * sizeof row[0], cudaMemcpyHostToDevice));
	NB_CUDA_TRY(cudaMemcpy(to->parent.ptr, label.data(), job->n * sizeof row[0], cudaMemcpyHostToDevice));
	return NB_OK;
}

static int find(const struct nb_groups_job *job, uint32_t *group, struct nb_group_sets *sets, struct nb_groups *groups)
{
	struct nb_forest forest;
	if (job->n > 0) {
		bool overflow = false;
		NB_TRY(nb_groups_link_cuda(job, &forest, &overflow));
		if (overflow)
			NB_TRY(link_on_host(job, &forest));
		NB_TRY(make_sets(job, forest, group, sets));
	} else {
		NB_TRY(nb_group_sets_alloc(sets, 0, 0));
	}
	std::vector<uint32_t> place(sets->count);
	NB_TRY(nb_groups_place(sets, place.data(), groups));
	if (sets->count == 0)
		return NB_OK;
	nb_cuda_buffer<uint32_t> on_device;
	NB_TRY(on_device.alloc(sets->count));
	NB_CUDA_TRY(cudaMemcpy(on_device.ptr, place.data(), sets->count * sizeof place[0], cudaMemcpyHostToDevice));
	place_kernel<<<blocks(job->n), THREADS>>>(job->n, on_device.ptr, group);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

int nb_groups_find_cuda(const struct nb_groups_job *job, uint32_t *group, struct nb_groups *groups)
{
	struct nb_group_sets sets = {};
	*groups = {};
	const int status = find(job, group, &sets, groups);
	nb_group_sets_free(&sets);
	if (status)
		nb_groups_free(groups);
	return status;
}
