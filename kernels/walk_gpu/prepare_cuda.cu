/* prepare_cuda.cu - what a walk needs before it begins: the plan of units, nodes packed for it, groups and regions
 * (walk_internal.cuh). */
#include <type_traits>

#include "kernels/order/order.cuh"
#include "kernels/walk_gpu/high_internal.cuh"
#include "kernels/walk_gpu/walk_internal.cuh"

static __global__ void plan_kernel(struct walk w)
{
	struct plan p = {};
	double extent = w.soft.node_eps ? w.soft.node_eps[2] : w.eps;
	for (int k = 0; k < 3; k++) {
		const double lo = w.tree.box[k], hi = w.tree.box[3 + k];
		p.origin[k] = lo + 0.5 * (hi - lo);
		extent = fmax(extent, hi - lo);
	}
	p.length = nb_pair_power2(extent, 20);
	p.unlength = 1 / p.length;
	p.mass = nb_pair_power2(w.tree.mass[0], 0);
	p.eps = (float)(w.eps * p.length);
	p.speed = w.jerk ? nb_pair_power2(__longlong_as_double((long long)*w.rates.fastest), 0) : 1;
	*w.plan = p;
}

/* Of a float >= 0, rounded up. */
static __device__ uint32_t high_half(float x)
{
	return (__float_as_uint(x) + 0xffffu) >> 16;
}

/* The ORDER-dependent root of a cell's influence, and that of its mass. */
template <int ORDER, bool HARMONIC> static __device__ float influence_of(float m, float l, bool by_acceleration)
{
	if (by_acceleration)
		return sqrtf(sqrtf(m) * l);
	constexpr float root = 1.0f / of_order<ORDER, HARMONIC>::FAR;
	return nb_mac_influence(m, l, root, (ORDER + 1) * root);
}
template <int ORDER, bool HARMONIC> static __device__ float root_of_mass(float m, bool by_acceleration)
{
	return by_acceleration ? sqrtf(sqrtf(m)) : powf(m, 1.0f / (of_order<ORDER, HARMONIC>::LOCAL + 2));
}

template <int ORDER, bool HARMONIC> static __global__ void __launch_bounds__(THREADS) cell_kernel(struct walk w)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= w.nnode)
		return;
	const double length = w.plan->length;
	double size = 0;
	float hi[3], lo[3];
	for (int k = 0; k < 3; k++) {
		const double x = (w.tree.com[3 * j + k] - w.plan->origin[k]) * length;
		size = fmax(size, (w.tree.box[6 * j + 3 + k] - w.tree.box[6 * j + k]) * length);
		hi[k] = (float)x;
		lo[k] = (float)(x - hi[k]);
	}
	const float m = (float)(w.tree.mass[j] * w.plan->mass), l = (float)size;
	const uint32_t children = w.tree.nchild[j], count = w.tree.count[j];
	const float influence = influence_of<ORDER, HARMONIC>(m, l, w.alpha > 0);
	uint32_t reach = __float_as_uint(fmaxf(influence, 0x1p-120f));
	if (children == 0) {
		reach = ((reach + 0xffu) & ~0xffu) | (count < MANY ? count : (uint32_t)MANY);
		/* in a softened potential they are not one body to each other: none must meet itself */
		const bool alike = !w.soft.node_eps || w.soft.node_eps[3 * j] == w.soft.node_eps[3 * j + 2];
		if (size == 0 && count > 1 && alike &&
			!(w.pot && (w.soft.node_eps ? w.soft.node_eps[3 * j + 2] : w.eps) > 0))
			reach |= 1u << 31;
	}
	float s[6] = {0, 0, 0, 0, 0, 0};
	if (w.tree.quad)
		for (int k = 0; k < 6; k++)
			s[k] = (float)(w.tree.quad[6 * j + k] * w.plan->mass * length * length * 0.5);
	const uint32_t link = children ? w.tree.child[j] | (children - 1) << 28 : (uint32_t)LEAF | w.tree.first[j];
	w.place[2 * j] = make_float4(hi[0], hi[1], hi[2], __uint_as_float(reach));
	w.place[2 * j + 1] = make_float4(lo[0], lo[1], lo[2], __uint_as_float(link));
	w.extent[j] = high_half(l) << 16 | high_half(root_of_mass<ORDER, HARMONIC>(m, w.alpha > 0));
	w.moment[2 * j] = make_float4(m, s[0], s[1], s[2]);
	w.moment[2 * j + 1] = make_float4(s[3], s[4], s[5], 0);
}

template <int ORDER, bool HARMONIC, class real>
static __global__ void __launch_bounds__(THREADS) row_kernel(struct walk w)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j < w.nnode)
		nb_high_pack<ORDER, HARMONIC>(w.high.rows + nb_high_row(ORDER) * j,
			std::is_same<real, double>::value ? 1 : w.plan->length,
			(real *)w.high.body_rows + nb_high_body_row(ORDER) * j,
			(real *)w.high.far_rows + nb_high_far_row(ORDER, HARMONIC) * j);
}

static __global__ void __launch_bounds__(THREADS) soft_kernel(struct walk w)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= w.nnode)
		return;
	const double *eps = w.soft.node_eps + 3 * j, length = w.plan->length;
	w.soft.terms[j] = make_float4((float)(eps[0] * length), (float)(eps[1] * length), (float)(eps[2] * length), 0);
}

/* After cell_kernel. */
static __global__ void __launch_bounds__(THREADS) motion_kernel(struct walk w)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= w.nnode)
		return;
	const double speed = w.plan->speed, unit = w.tree.quad ? w.plan->mass * w.plan->length * speed * 0.5 : 0;
	float v[3], s[6];
	for (int k = 0; k < 3; k++)
		v[k] = (float)((w.rates.velocity[3 * j + k] - w.rates.velocity[k]) * speed);
	for (int k = 0; k < 6; k++)
		s[k] = (float)(w.rates.quad[6 * j + k] * unit);
	w.motion[2 * j] = make_float4(v[0], v[1], v[2], s[0]);
	w.motion[2 * j + 1] = make_float4(s[1], s[2], s[3], s[4]);
	w.moment[2 * j + 1].w = s[5];
}

/* Bit i of mark: a group begins at body i. */
static __device__ void mark_body(uint32_t *mark, uint32_t i)
{
	atomicOr(&mark[i / 32], 1u << i % 32);
}

static __global__ void __launch_bounds__(THREADS)
	mark_kernel(struct walk w, uint32_t *mark, uint32_t *region_mark, uint32_t *region_at_word)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= w.nnode)
		return;
	if (j == 0)
		mark_body(mark, 0);
	if (w.tree.count[j] <= w.group)
		return;
	const uint32_t children = w.tree.nchild[j];
	if (children == 0 && w.tree.first[j] < w.n)
		for (uint32_t i = 0; i < w.tree.count[j]; i += w.group)
			mark_body(mark, w.tree.first[j] + i);
	const uint32_t most = w.tree.count[j] <= DENSE * w.group ? w.group : 0; /* bodies of siblings in a group */
	uint32_t left = 0; /* in the group that the last child went to */
	for (uint32_t k = w.tree.child[j]; k < w.tree.child[j] + children; k++) {
		const uint32_t count = w.tree.count[k];
		if (w.tree.first[k] >= w.n) /* only sources: those of another rank */
			continue;
		if (count > w.group) {
			left = 0;
			if (w.tree.count[j] > w.region.bodies && count <= w.region.bodies) {
				mark_body(region_mark, w.tree.first[k]);
				region_at_word[w.tree.first[k] / 32] =
					k; /* of more than 32 bodies: no other in this word */
			}
			continue;
		}
		if (count > left) {
			mark_body(mark, w.tree.first[k]);
			left = most;
		}
		left -= count < left ? count : left;
	}
}

/* Of groups, then of regions. */
static __global__ void __launch_bounds__(THREADS)
	mark_count_kernel(size_t words, const uint32_t *mark, const uint32_t *region_mark, uint32_t *at)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i > words)
		return;
	at[i] = i < words ? (uint32_t)__popc(mark[i]) : 0;
	at[words + 1 + i] = i < words ? (uint32_t)__popc(region_mark[i]) : 0;
}

static __device__ uint4 span_of(const struct walk &w, uint32_t node)
{
	return make_uint4(node, w.tree.first[node], w.tree.first[node] + w.tree.count[node], 0);
}

static __global__ void __launch_bounds__(THREADS) start_kernel(size_t words, const uint32_t *mark, const uint32_t *at,
	struct walk w, uint32_t *start, const uint32_t *region_mark, const uint32_t *region_at_word, uint4 *span)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i > words)
		return;
	if (i < words && region_mark[i])
		span[at[words + 1 + i] - at[words + 1]] = span_of(w, region_at_word[i]);
	uint32_t to = at[i];
	if (i == words)
		start[to] = (uint32_t)w.n;
	else
		for (uint32_t bits = mark[i]; bits; bits &= bits - 1)
			start[to++] = (uint32_t)(32 * i) + (uint32_t)__ffs((int)bits) - 1;
}

template <int ORDER, bool HARMONIC> static int pack(const struct walk &w, enum nb_precision precision)
{
	const unsigned blocks = nb_cuda_blocks(w.nnode, THREADS);
	plan_kernel<<<1, 1>>>(w);
	NB_CUDA_LAUNCHED();
	cell_kernel<ORDER, HARMONIC><<<blocks, THREADS>>>(w);
	NB_CUDA_LAUNCHED();
	if constexpr (ORDER > 2) {
		if (precision == NB_F64)
			row_kernel<ORDER, HARMONIC, double><<<blocks, THREADS>>>(w);
		else
			row_kernel<ORDER, HARMONIC, float><<<blocks, THREADS>>>(w);
		NB_CUDA_LAUNCHED();
	}
	if (w.law != NB_LAW_COMMON) {
		soft_kernel<<<blocks, THREADS>>>(w);
		NB_CUDA_LAUNCHED();
	}
	if (w.jerk) {
		motion_kernel<<<blocks, THREADS>>>(w);
		NB_CUDA_LAUNCHED();
	}
	return NB_OK;
}

int nb_walk_pack(const struct walk &w, int order, enum nb_precision precision)
{
	const bool harmonic = harmonic_of(w);
	if (order == 3)
		return harmonic ? pack<3, true>(w, precision) : pack<3, false>(w, precision);
	if (order == 4)
		return harmonic ? pack<4, true>(w, precision) : pack<4, false>(w, precision);
	return pack<2, false>(w, precision);
}

int nb_walk_find_groups(const struct walk &w, struct marks &m)
{
	const size_t words = m.words;
	NB_CUDA_TRY(cudaMemsetAsync(m.group.ptr, 0, words * sizeof(uint32_t)));
	NB_CUDA_TRY(cudaMemsetAsync(m.region.ptr, 0, words * sizeof(uint32_t)));
	mark_kernel<<<nb_cuda_blocks(w.nnode, THREADS), THREADS>>>(w, m.group.ptr, m.region.ptr, m.region_at_word.ptr);
	NB_CUDA_LAUNCHED();
	mark_count_kernel<<<nb_cuda_blocks(words + 1, THREADS), THREADS>>>(words, m.group.ptr, m.region.ptr, m.at.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(2 * (words + 1), m.at.ptr, m.at.ptr));
	start_kernel<<<nb_cuda_blocks(words + 1, THREADS), THREADS>>>(
		words, m.group.ptr, m.at.ptr, w, m.start.ptr, m.region.ptr, m.region_at_word.ptr, m.span.ptr);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
