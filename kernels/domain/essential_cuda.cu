/* essential_cuda.cu - what ranks send each other before their walks (essential_internal.cuh).
 *
 * A walk opens a node of mass m and size l at distance d from a group's box if
 *     d < 1.2 l,  or  d < (m l^3 / (tolerance S))^(1/5),  S the strength of the field at the group
 * (multipole.cuh; of orders 3 and 4 m l^4 and m l^5, and roots 1/6 and 1/7); the walk of a region opens it up to
 * 0.3 radii of the region farther away.  Each rank names boxes that its groups and regions are in, some hundreds
 * (targets), and all ranks know all of these with their masses: so they know a lower bound of S in each, from the mass
 * in every other one and the farthest distance of the two.  Of its own tree a rank sends to another one the children of
 * each node that would be opened from one of that one's targets, level by level, with the bodies of leaves.
 *
 * The bound is that of a sum over bodies; S is one over nodes, and may be less.  MARGIN is for that.  If it is not
 * enough, a walk meets the stand-in for what is missing: a leaf with a body that is not a number.  Its results then are
 * none, and all ranks send more (domain_cuda.cu).
 *
 * Here are the targets; what is sent is chosen in send_cuda.cu, and taken in receive_cuda.cu. */
#include <math.h>

#include <algorithm>

#include "kernels/domain/message_internal.cuh"
#include "kernels/pair/pair.h"

enum {
	TARGETS = 256, /* of a rank, about */
	SORTED = 1024, /* that a block sorts: a power of two, and of threads */
	TARGET_LEAST = NB_OPENING_REGION
};

/* ---- moments of some nodes ------------------------------------------------------------------------------- */

template <class numbers_of>
static __global__ void __launch_bounds__(THREADS)
	read_kernel(size_t n, size_t width, numbers_of of, const uint32_t *node, double *out)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n * width)
		return;
	const double *const from = of(node[i / width], i % width);
	out[i] = from ? *from : 0;
}

template <class numbers_of>
static __global__ void __launch_bounds__(THREADS)
	write_kernel(size_t n, size_t width, numbers_of of, const uint32_t *node, const double *in)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n * width)
		return;
	double *const to = of(node[i / width], i % width);
	if (to)
		*to = in[i];
}

/* Of each node `width` numbers, in host memory. */
template <class numbers_of>
static int read_nodes(const numbers_of &of, size_t width, const std::vector<uint32_t> &node, double *numbers)
{
	nb_cuda_buffer<uint32_t> which;
	nb_cuda_buffer<double> out;
	const size_t n = node.size() * width;
	if (n == 0)
		return NB_OK;
	NB_TRY(nb_essential_upload(which, node));
	NB_TRY(out.alloc(n));
	read_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(node.size(), width, of, which.ptr, out.ptr);
	NB_CUDA_LAUNCHED();
	return nb_essential_download(out.ptr, n, numbers);
}

template <class numbers_of>
static int write_nodes(const numbers_of &of, size_t width, const std::vector<uint32_t> &node, const double *numbers)
{
	nb_cuda_buffer<uint32_t> which;
	nb_cuda_buffer<double> in;
	const size_t n = node.size() * width;
	if (n == 0)
		return NB_OK;
	NB_TRY(nb_essential_upload(which, node));
	NB_TRY(nb_essential_upload(in, numbers, n));
	write_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(node.size(), width, of, which.ptr, in.ptr);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

static int read_moments(const struct nb_tree &tree, const std::vector<uint32_t> &node,
	std::vector<struct nb_essential_moments> &moments)
{
	moments.resize(node.size());
	return read_nodes(moments_of{tree}, NUMBERS, node, (double *)moments.data());
}

/* In heard, `width` numbers of each root elsewhere, in the order of slots; `of` this rank's. */
template <class numbers_of>
static int hear_numbers(const struct nb_domain *d, struct nb_essential *e, const numbers_of &of, size_t width,
	std::vector<double> &heard)
{
	const std::vector<uint32_t> &mine = e->slots[(size_t)d->rank];
	std::vector<double> own(mine.size() * width), all(e->top.ncell * width);
	std::vector<size_t> bytes((size_t)d->size + 1);
	const auto place = [&](uint32_t slot) { return all.begin() + (ptrdiff_t)(e->top.slot[slot].begin * width); };
	const int status = nb_domain_agree(read_nodes(of, width, mine, own.data()));
	if (status)
		return status;
	for (size_t k = 0; k < mine.size(); k++)
		std::copy(own.begin() + (ptrdiff_t)(k * width), own.begin() + (ptrdiff_t)((k + 1) * width),
			place(mine[k]));
	for (size_t k = 0; k < bytes.size(); k++)
		bytes[k] = e->top.cell_bound[k] * width * sizeof own[0];
	nb_ranks_collect(all.data(), bytes.data());
	nb_ranks_wait_all();
	for (uint32_t i = 0; i < e->top.nslot; i++)
		if (e->kind[i] == NB_DOMAIN_ELSEWHERE)
			heard.insert(heard.end(), place(i), place(i) + (ptrdiff_t)width);
	return NB_OK;
}

/* Moments of the roots elsewhere. */
static int hear_roots(const struct nb_domain *d, struct nb_essential *e)
{
	const size_t width = nb_essential_width(d);
	const struct moments_of moments = {e->tree};
	const struct rows_of rows = {e->rows.ptr, width};
	std::vector<double> heard, heard_rows;
	std::vector<uint32_t> elsewhere;
	int status = hear_numbers(d, e, moments, NUMBERS, heard);
	if (!status && width)
		status = hear_numbers(d, e, rows, width, heard_rows);
	if (status)
		return status;
	for (uint32_t i = 0; i < e->top.nslot; i++)
		if (e->kind[i] == NB_DOMAIN_ELSEWHERE)
			elsewhere.push_back(i);
	NB_TRY(write_nodes(moments, NUMBERS, elsewhere, heard.data()));
	return write_nodes(rows, width, elsewhere, heard_rows.data());
}

/* From roots to the root of all. */
static int close_top(const struct nb_domain *d, struct nb_essential *e)
{
	std::vector<struct nb_essential_moments> root;
	struct nb_tree_levels levels = {};
	const size_t generations = e->generation.size() - 1;
	if (generations > sizeof levels.begin / sizeof *levels.begin - 1)
		return NB_ELIMIT;
	std::copy(e->generation.begin(), e->generation.end(), levels.begin);
	levels.digits = (int)generations - 1;
	NB_TRY(nb_tree_level_moments_cuda(&e->tree, &levels));
	for (size_t g = generations; g-- > 0 && d->law.walk.order > 2;)
		NB_TRY(nb_tree_inner_high_cuda(
			&e->tree, d->law.walk.order, e->generation[g], e->generation[g + 1], e->rows.ptr));
	NB_TRY(read_moments(e->tree, {0}, root));
	const double *box = root[0].box;
	double extent = d->law.eps;
	for (int k = 0; k < 3; k++) {
		e->origin[k] = box[k] + 0.5 * (box[3 + k] - box[k]);
		extent = fmax(extent, box[3 + k] - box[k]);
	}
	e->length = nb_pair_power2(extent, 20);
	e->unit = nb_pair_power2(root[0].mass, 0);
	return isfinite(extent) && isfinite(root[0].mass) ? NB_OK : NB_ENONFINITE;
}

/* ---- targets --------------------------------------------------------------------------------------------- */

/* A target's first body and its node: ascending, in the order of bodies. */
typedef uint64_t place_t;

static __device__ __forceinline__ place_t place_of_node(const struct nb_tree &t, uint32_t node)
{
	return (place_t)t.first[node] << 32 | node;
}

/* Own nodes of at most `most` bodies below larger ones, and larger leaves; in any order, behind their number. */
static __global__ void __launch_bounds__(THREADS) choose_kernel(
	struct nb_tree t, uint32_t nslot, uint32_t nown, const uint8_t *kind, uint32_t most, unsigned long long *chosen)
{
	const uint32_t j = blockIdx.x * (uint32_t)THREADS + threadIdx.x;
	if (j >= nown || (j < nslot && kind[j] != NB_DOMAIN_OWN))
		return;
	if (j < nslot && (t.count[j] <= most || t.nchild[j] == 0))
		chosen[1 + atomicAdd(chosen, 1ull)] = place_of_node(t, j);
	if (t.count[j] <= most)
		return;
	for (uint32_t k = t.child[j]; k < t.child[j] + t.nchild[j]; k++)
		if (t.count[k] <= most || t.nchild[k] == 0)
			chosen[1 + atomicAdd(chosen, 1ull)] = place_of_node(t, k);
}

/* The list in order, by one block, if it is not long. */
static __global__ void __launch_bounds__(SORTED) order_kernel(place_t *chosen)
{
	__shared__ place_t key[SORTED];
	const place_t n = chosen[0];
	const unsigned i = threadIdx.x;
	if (n > SORTED)
		return;
	key[i] = i < n ? chosen[1 + i] : UINT64_MAX;
	for (unsigned size = 2; size <= SORTED; size *= 2) /* bitonic */
		for (unsigned step = size / 2; step > 0; step /= 2) {
			__syncthreads();
			const unsigned other = i ^ step;
			if (other < i)
				continue;
			const place_t a = key[i], b = key[other];
			if ((a > b) == ((i & size) == 0))
				key[i] = b, key[other] = a;
		}
	__syncthreads();
	if (i < n)
		chosen[1 + i] = key[i];
}

static __global__ void __launch_bounds__(THREADS)
	target_kernel(struct nb_tree t, const place_t *chosen, struct nb_essential_target *target)
{
	const uint32_t i = blockIdx.x * (uint32_t)THREADS + threadIdx.x;
	if (i >= chosen[0])
		return;
	const size_t j = (uint32_t)chosen[1 + i];
	for (int k = 0; k < 6; k++)
		target[i].box[k] = t.box[6 * j + k];
	target[i].mass = t.mass[j];
	target[i].radius = 0;
}

/* Of each target the largest half of a diagonal of what may be a region. */
static __global__ void __launch_bounds__(THREADS) radius_kernel(struct nb_tree t, uint32_t nslot, uint32_t nown,
	const uint8_t *kind, const place_t *chosen, struct nb_essential_target *target)
{
	const place_t *const place = chosen + 1;
	const uint32_t j = blockIdx.x * (uint32_t)THREADS + threadIdx.x, ntarget = (uint32_t)chosen[0];
	if (j >= nown || t.count[j] <= NB_DOMAIN_PART_DEVICE)
		return;
	for (uint32_t k = t.child[j]; k < t.child[j] + t.nchild[j]; k++) {
		if ((k < nslot && kind[k] != NB_DOMAIN_OWN) || t.count[k] > NB_DOMAIN_PART_DEVICE ||
			t.count[k] <= NB_OPENING_GROUP)
			continue;
		double half2 = 0;
		for (int c = 0; c < 3; c++) {
			const double half = 0.5 * (t.box[6 * (size_t)k + 3 + c] - t.box[6 * (size_t)k + c]);
			half2 += half * half;
		}
		uint32_t lo = 0, hi = ntarget; /* the last target that begins at its first body or before */
		while (hi - lo > 1) {
			const uint32_t mid = lo + (hi - lo) / 2;
			*((uint32_t)(place[mid] >> 32) <= t.first[k] ? &lo : &hi) = mid;
		}
		/* of numbers that are not negative, the larger one has the larger bits */
		atomicMax((unsigned long long *)&target[lo].radius,
			(unsigned long long)__double_as_longlong(sqrt(half2)));
	}
}

/* Own targets, *n of them. */
static int own_targets(const struct nb_domain *d, const struct nb_essential *e,
	nb_cuda_buffer<struct nb_essential_target> &target, size_t *n)
{
	nb_cuda_buffer<uint8_t> kind;
	nb_cuda_buffer<place_t> list;
	const uint32_t most = std::max((uint32_t)(d->n / TARGETS), (uint32_t)TARGET_LEAST);
	const auto describe = [&](size_t some) {
		NB_TRY(target.alloc(some));
		target_kernel<<<nb_cuda_blocks(some, THREADS), THREADS>>>(e->tree, list.ptr, target.ptr);
		NB_CUDA_LAUNCHED();
		radius_kernel<<<nb_cuda_blocks(e->nown, THREADS), THREADS>>>(
			e->tree, e->top.nslot, e->nown, kind.ptr, list.ptr, target.ptr);
		NB_CUDA_LAUNCHED();
		return (int)NB_OK;
	};
	NB_TRY(nb_essential_upload(kind, e->kind));
	NB_TRY(list.alloc(std::max((size_t)e->nown, (size_t)SORTED) + 1));
	NB_CUDA_TRY(cudaMemsetAsync(list.ptr, 0, sizeof(place_t)));
	choose_kernel<<<nb_cuda_blocks(e->nown, THREADS), THREADS>>>(
		e->tree, e->top.nslot, e->nown, kind.ptr, most, (unsigned long long *)list.ptr);
	NB_CUDA_LAUNCHED();
	order_kernel<<<1, SORTED>>>(list.ptr);
	NB_CUDA_LAUNCHED();
	place_t count;
	NB_TRY(nb_essential_download(list.ptr, 1, &count));
	*n = (size_t)count;
	if (*n > SORTED) {
		std::vector<place_t> chosen(*n);
		NB_TRY(nb_essential_download(list.ptr + 1, *n, chosen.data()));
		std::sort(chosen.begin(), chosen.end());
		NB_CUDA_TRY(cudaMemcpy(list.ptr + 1, chosen.data(), *n * sizeof(place_t), cudaMemcpyHostToDevice));
	}
	return *n > 0 ? describe(*n) : NB_OK;
}

static int meet_targets(const struct nb_domain *d, struct nb_essential *e)
{
	const size_t size = (size_t)d->size, rank = (size_t)d->rank;
	nb_cuda_buffer<struct nb_essential_target> own;
	std::vector<size_t> count(size);
	int status = nb_domain_agree(own_targets(d, e, own, &count[rank]));
	if (status)
		return status;
	nb_domain_tell(d, count);
	e->target_bound.assign(size + 1, 0);
	for (size_t k = 0; k < size; k++)
		e->target_bound[k + 1] = e->target_bound[k] + count[k];
	status = nb_domain_agree(e->target.alloc(e->target_bound[size]));
	return status ? status
		      : nb_domain_collect_rows(d, sizeof *own.ptr, own.ptr, e->target_bound.data(), e->target.ptr);
}

int nb_essential_meet(const struct nb_domain *d, struct nb_essential *e)
{
	int status = nb_domain_agree(hear_roots(d, e));
	status = status ? status : nb_domain_agree(close_top(d, e));
	return status ? status : meet_targets(d, e);
}
