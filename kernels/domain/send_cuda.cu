/* send_cuda.cu - of its own tree, what a rank sends each other one (essential_cuda.cu). */
#include <math.h>

#include <algorithm>

#include "kernels/domain/message_internal.cuh"
#include "kernels/multipole/multipole.cuh"

enum {
	WARPS = THREADS / 32,
	CHUNKS = 32,  /* neighbours among a rank's targets that a node is compared with together first: one a lane */
	ROUNDS = 6,   /* levels between two looks at whether there are more */
	RESIDENT = 6, /* blocks that a multiprocessor has room for */
	BLOCKS = 132 * RESIDENT,
	NEAR = 1024,		/* targets of a rank that a block keeps near */
	EACH = 4,		/* nodes that a warp compares one after the other, at most; */
	AT_ONCE = EACH * WARPS, /* and that a block reads at once */
};
static const double MARGIN[] = {0.5, 0.02, 0}; /* of the strength of the field */
static const float SIZES = 1.01f,	       /* packed sizes are rounded up to 7 bits */
	ROUND = 1.002f;

/* A target, in units of the walk, of which the whole is 2^20 long: f32 has it to 2^-4, and is rounded outwards. */
struct reach {
	float lo[3], hi[3];
	float root;  /* (tolerance S)^(-1/5), or of high order 1/6, 1/7 */
	float slack; /* for what is opened from its regions */
};

struct scale {
	double origin[3], length, unit;
	float eps2, tolerance;
	float of_mass, of_size; /* powers: 1/5 and 3/5, or of high order 1/6 and 4/6, 1/7 and 5/7 */
	uint32_t tiny; /* leaves of so few bodies, or in one point, the walk takes body by body from anywhere */
};

static __device__ float of_box(const double *box, int k, const struct scale &s)
{
	return (float)((box[3 + k] - box[k]) * s.length);
}

/* A warp for each target; the warps of a block read the others together. */
static __global__ void __launch_bounds__(THREADS)
	reach_kernel(size_t n, const struct nb_essential_target *target, struct scale s, struct reach *out)
{
	__shared__ double box[6][THREADS], mass[THREADS];
	const size_t i = (blockIdx.x * (size_t)THREADS + threadIdx.x) / 32;
	const unsigned lane = threadIdx.x % 32;
	const struct nb_essential_target at = target[i < n ? i : n - 1];
	float half2 = 0, sum = 0;
	for (int k = 0; k < 3; k++) {
		const float side = of_box(at.box, k, s);
		half2 += 0.25f * side * side;
	}
	for (size_t tile = 0; tile < n; tile += THREADS) {
		const unsigned some = n - tile < THREADS ? (unsigned)(n - tile) : (unsigned)THREADS;
		__syncthreads();
		if (threadIdx.x < some) {
			for (int k = 0; k < 6; k++)
				box[k][threadIdx.x] = target[tile + threadIdx.x].box[k];
			mass[threadIdx.x] = target[tile + threadIdx.x].mass;
		}
		__syncthreads();
		for (unsigned j = lane; j < some; j += 32) {
			float d2 = half2 + s.eps2 + 1e-30f;
			for (int k = 0; k < 3; k++) {
				const float d = (float)(fmax(at.box[3 + k] - box[k][j], box[3 + k][j] - at.box[k]) *
							s.length);
				d2 += d * d;
			}
			sum += (float)(mass[j] * s.unit) / d2;
		}
	}
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, offset);
	if (lane > 0 || i >= n)
		return;
	for (int k = 0; k < 3; k++) {
		out[i].lo[k] = __double2float_rd((at.box[k] - s.origin[k]) * s.length);
		out[i].hi[k] = __double2float_ru((at.box[3 + k] - s.origin[k]) * s.length);
	}
	out[i].root = powf(s.tolerance * sum, -s.of_mass) * ROUND;
	out[i].slack = nb_mac_eager((float)(at.radius * s.length)) * ROUND;
}

/* Of each rank, a warp for each of its chunks: what is not opened from it is opened from none of its targets. */
static __global__ void __launch_bounds__(THREADS)
	chunk_kernel(size_t nchunk, const size_t *bound, const struct reach *target, struct reach *out)
{
	const size_t i = (blockIdx.x * (size_t)THREADS + threadIdx.x) / 32, rank = i / CHUNKS, k = i % CHUNKS;
	if (i >= nchunk)
		return;
	const size_t first = bound[rank], n = bound[rank + 1] - first;
	struct reach all = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0, 0};
	for (size_t j = first + n * k / CHUNKS + threadIdx.x % 32; j < first + n * (k + 1) / CHUNKS; j += 32) {
		const struct reach &at = target[j];
		for (int c = 0; c < 3; c++) {
			all.lo[c] = fminf(all.lo[c], at.lo[c]);
			all.hi[c] = fmaxf(all.hi[c], at.hi[c]);
		}
		all.root = fmaxf(all.root, at.root);
		all.slack = fmaxf(all.slack, at.slack);
	}
	for (int offset = 16; offset > 0; offset /= 2) {
		for (int c = 0; c < 3; c++) {
			all.lo[c] = fminf(all.lo[c], __shfl_xor_sync(0xffffffff, all.lo[c], offset));
			all.hi[c] = fmaxf(all.hi[c], __shfl_xor_sync(0xffffffff, all.hi[c], offset));
		}
		all.root = fmaxf(all.root, __shfl_xor_sync(0xffffffff, all.root, offset));
		all.slack = fmaxf(all.slack, __shfl_xor_sync(0xffffffff, all.slack, offset));
	}
	if (threadIdx.x % 32 == 0)
		out[i] = all;
}

/* Of each rank: the nodes begin .. end - 1 of its list are looked at; there are `nodes` with their children, and
 * `bodies`. */
struct front {
	uint32_t begin, end, nodes, bodies;
	uint32_t done; /* blocks that have looked */
};

/* Lists of nodes, `room` for each rank; child and body say where in the message what is below a node is. */
struct lists {
	uint32_t room, *node, *child, *body;
	struct front *front;
};

/* Targets in shared memory, a row for each number. */
struct near_targets {
	float number[8][NEAR];
	static_assert(sizeof(struct reach) == 8 * sizeof(float), "a row for each");

	__device__ void put(size_t k, const struct reach &r)
	{
		for (int c = 0; c < 3; c++)
			number[c][k] = r.lo[c], number[3 + c][k] = r.hi[c];
		number[6][k] = r.root, number[7][k] = r.slack;
	}
	__device__ struct reach at(size_t k) const
	{
		return {{number[0][k], number[1][k], number[2][k]}, {number[3][k], number[4][k], number[5][k]},
			number[6][k], number[7][k]};
	}
};

/* Targets of a rank; of its chunks each lane of a warp has one. */
struct targets {
	const struct near_targets *near; /* NULL: they are too many */
	const struct reach *of;
	struct reach chunk;
	size_t n;

	__device__ struct reach at(size_t k) const
	{
		return near ? near->at(k) : of[k];
	}
};

/* What decides whether a node is opened. */
struct looked_at {
	float lo[3], hi[3]; /* its centre of mass, rounded to either side */
	float size, influence;

	looked_at() = default;
	__device__ looked_at(const struct nb_tree &t, uint32_t j, const struct scale &s)
	{
		size = 0;
		for (int k = 0; k < 3; k++) {
			const double x = (t.com[3 * (size_t)j + k] - s.origin[k]) * s.length;
			size = fmaxf(size, of_box(t.box + 6 * (size_t)j, k, s));
			lo[k] = __double2float_rd(x), hi[k] = __double2float_ru(x);
		}
		const float m = (float)(t.mass[j] * s.unit);
		size *= SIZES;
		influence = fmaxf(nb_mac_influence(m, size, s.of_mass, s.of_size) * ROUND, 0x1p-119f);
	}
	__device__ bool is_opened_from(const struct reach &at) const
	{
		float d2 = 0;
		for (int k = 0; k < 3; k++) {
			const float d = fmaxf(fmaxf(at.lo[k] - hi[k], lo[k] - at.hi[k]), 0);
			d2 += d * d;
		}
		const float far = nb_mac_reach(size, influence, at.root) + at.slack;
		return !(d2 > far * far * ROUND);
	}
	/* From any of them; all lanes of a warp look for the same.  hint: the chunk that opened the last node, which
	 * was a neighbour. */
	__device__ bool is_opened(const struct targets &by, unsigned *hint) const
	{
		const unsigned lane = threadIdx.x % 32;
		for (uint32_t left = __ballot_sync(0xffffffff, is_opened_from(by.chunk)); left;) {
			const unsigned k = left >> *hint & 1 ? *hint : (unsigned)__ffs((int)left) - 1;
			const size_t end = by.n * (k + 1) / CHUNKS;
			for (size_t first = by.n * k / CHUNKS; first < end; first += 32) {
				const bool open = first + lane < end && is_opened_from(by.at(first + lane));
				if (__any_sync(0xffffffff, open)) {
					*hint = k;
					return true;
				}
			}
			left &= ~(1u << k);
		}
		return false;
	}
};

/* Where the `want` rows of each lane are, of those that are counted by *n; NONE of a lane that wants none. */
static __device__ uint32_t place_of(uint32_t want, uint32_t *n)
{
	const unsigned lane = threadIdx.x % 32;
	uint32_t upto = want, first = 0;
	for (int offset = 1; offset < 32; offset *= 2) {
		const uint32_t before = __shfl_up_sync(0xffffffff, upto, (unsigned)offset);
		upto += lane >= (unsigned)offset ? before : 0;
	}
	if (lane == 31 && upto)
		first = atomicAdd(n, upto);
	first = __shfl_sync(0xffffffff, first, 31);
	return want ? first + upto - want : NONE;
}

/* The blocks of a rank that are done wait for none; the last of them goes on to what they have found. */
static __device__ void advance(struct front *front)
{
	__syncthreads();
	if (threadIdx.x > 0)
		return;
	__threadfence();
	if (atomicAdd(&front->done, 1u) + 1 < gridDim.x)
		return;
	__threadfence();
	front->begin = front->end;
	front->end = atomicAdd(&front->nodes, 0u);
	front->done = 0;
}

/* AT_ONCE nodes a block, or fewer if all blocks have some then: a thread reads one of them, then a warp compares `each`
 * of them one after the other with the rank's chunks, a lane each, and with the targets of those that are near.
 * blockIdx.y: for which rank. */
static __global__ void __launch_bounds__(THREADS, RESIDENT) open_kernel(struct nb_tree t, struct scale s,
	const struct reach *target, const struct reach *chunk, const size_t *target_bound, struct lists lists)
{
	__shared__ struct near_targets near;
	__shared__ struct looked_at nodes[AT_ONCE];
	__shared__ uint32_t opened[WARPS];
	const unsigned rank = blockIdx.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	struct front &front = lists.front[rank];
	const size_t base = (size_t)rank * lists.room, first = target_bound[rank], n = target_bound[rank + 1] - first;
	const uint32_t begin = front.begin, end = front.end;
	const struct targets by = {n <= NEAR ? &near : nullptr, target + first, chunk[(size_t)rank * CHUNKS + lane], n};
	const unsigned fair = (end - begin) / (gridDim.x * WARPS) + 1, each = fair < EACH ? fair : (unsigned)EACH;
	const size_t at_once = (size_t)each * WARPS, mine_from = begin + blockIdx.x * at_once;
	unsigned hint = 0;
	for (size_t k = threadIdx.x; k < n && by.near && mine_from < end; k += THREADS)
		near.put(k, target[first + k]);
	for (size_t from = mine_from; from < end; from += gridDim.x * at_once) {
		const size_t at = from + threadIdx.x;
		const bool mine = threadIdx.x < at_once && at < end;
		uint32_t j = 0, children = 0, count = 0, some = 0;
		if (mine) {
			j = lists.node[base + at];
			children = t.nchild[j], count = t.count[j];
			nodes[threadIdx.x] = looked_at(t, j, s);
		}
		__syncthreads();
		for (unsigned k = 0; k < each && from + warp * each + k < end; k++)
			some |= (uint32_t)nodes[warp * each + k].is_opened(by, &hint) << k;
		if (lane == 0)
			opened[warp] = some;
		__syncthreads();
		if (threadIdx.x < AT_ONCE) { /* whole warps */
			const bool open = mine && opened[threadIdx.x / each] >> threadIdx.x % each & 1;
			const bool all = mine && !children && (open || nodes[threadIdx.x].size == 0 || count <= s.tiny);
			const uint32_t child = place_of(open ? children : 0, &front.nodes);
			const uint32_t body = place_of(all ? count : 0, &front.bodies);
			for (uint32_t k = 0; child != NONE && k < children; k++)
				lists.node[base + child + k] = t.child[j] + k;
			if (mine) {
				lists.child[base + at] = child;
				lists.body[base + at] = body;
			}
		}
		__syncthreads(); /* others may read nodes */
	}
	advance(&front);
}

static __global__ void begin_kernel(int size, int rank, uint32_t nroot, const uint32_t *root, struct lists lists)
{
	for (int k = 0; k < size; k++) {
		if (threadIdx.x == 0)
			lists.front[k] = {0, k == rank ? 0 : nroot, k == rank ? 0 : nroot, 0, 0};
		for (uint32_t i = threadIdx.x; i < nroot && k != rank; i += THREADS)
			lists.node[(size_t)k * lists.room + i] = root[i];
	}
}

/* A warp for each node: its row, and those of its bodies. */
static __global__ void __launch_bounds__(THREADS) write_message_kernel(struct nb_tree t, const double *pos,
	const double *mass, struct lists lists, const size_t *node_bound, const size_t *body_bound, struct message *out,
	struct body *bodies, struct rows_of rows, double *row)
{
	const unsigned rank = blockIdx.y, lane = threadIdx.x % 32;
	const size_t base = (size_t)rank * lists.room, warps = gridDim.x * (size_t)WARPS;
	const size_t n = node_bound[rank + 1] - node_bound[rank];
	for (size_t at = (blockIdx.x * (size_t)THREADS + threadIdx.x) / 32; at < n; at += warps) {
		const uint32_t j = lists.node[base + at], body = lists.body[base + at];
		const size_t to = node_bound[rank] + at;
		struct message *m = &out[to];
		if (lane < NUMBERS) {
			const double *number = moments_of{t}(j, lane);
			((double *)&m->is)[lane] = number ? *number : 0;
		}
		if (lane == 0) {
			m->count = t.count[j];
			m->nchild = t.nchild[j];
			m->child = lists.child[base + at];
			m->body = body;
		}
		if (lane < rows.width)
			row[to * rows.width + lane] = *rows(j, lane);
		for (uint32_t k = lane; body != NONE && k < t.count[j]; k += 32) {
			const size_t i = (size_t)t.first[j] + k;
			bodies[body_bound[rank] + body + k] = {{pos[3 * i], pos[3 * i + 1], pos[3 * i + 2]}, mass[i]};
		}
	}
}

/* The lists, level by level. */
static int list_opened(const struct nb_domain *d, const struct nb_essential *e, const struct scale &s,
	const struct lists &lists, std::vector<struct front> &front)
{
	const int size = d->size;
	const std::vector<uint32_t> &root = e->slots[(size_t)d->rank];
	const size_t ntarget = e->target_bound[(size_t)size];
	nb_cuda_buffer<uint32_t> roots;
	nb_cuda_buffer<struct reach> reach, chunk;
	nb_cuda_buffer<size_t> bound;
	const size_t nchunk = (size_t)size * CHUNKS;
	NB_TRY(nb_essential_upload(roots, root));
	NB_TRY(nb_essential_upload(bound, e->target_bound));
	NB_TRY(reach.alloc(ntarget));
	reach_kernel<<<nb_cuda_blocks(ntarget * 32, THREADS), THREADS>>>(ntarget, e->target.ptr, s, reach.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(chunk.alloc(nchunk));
	chunk_kernel<<<nb_cuda_blocks(nchunk * 32, THREADS), THREADS>>>(nchunk, bound.ptr, reach.ptr, chunk.ptr);
	NB_CUDA_LAUNCHED();
	begin_kernel<<<1, THREADS>>>(size, d->rank, (uint32_t)root.size(), roots.ptr, lists);
	NB_CUDA_LAUNCHED();
	for (size_t most = root.size(); most > 0;) {
		for (int k = 0; k < ROUNDS; k++) {
			const dim3 grid((unsigned)BLOCKS, (unsigned)size);
			open_kernel<<<grid, THREADS>>>(e->tree, s, reach.ptr, chunk.ptr, bound.ptr, lists);
			NB_CUDA_LAUNCHED();
		}
		NB_TRY(nb_essential_download(lists.front, (size_t)size, front.data()));
		most = 0;
		for (const struct front &f : front)
			most = std::max(most, (size_t)(f.end - f.begin));
	}
	return NB_OK;
}

int nb_essential_write(const struct nb_domain *d, const struct nb_essential *e, struct mail *out)
{
	const size_t size = (size_t)d->size;
	const int order = std::max(d->law.walk.order, 2);
	std::vector<struct front> front(size);
	nb_cuda_buffer<uint32_t> node, child, body;
	nb_cuda_buffer<struct front> fronts;
	nb_cuda_buffer<size_t> node_bound, body_bound;
	struct scale s;
	const uint32_t room = e->nown - e->top.nslot + (uint32_t)e->slots[(size_t)d->rank].size();
	std::copy(e->origin, e->origin + 3, s.origin);
	s.length = e->length, s.unit = e->unit;
	s.eps2 = (float)(d->law.eps * e->length * d->law.eps * e->length);
	s.tolerance = (float)(nb_opening_cuda(d->law.walk.theta, d->law.walk.order) * MARGIN[d->margin]);
	s.of_mass = 1.0f / (float)(order + 3), s.of_size = (float)(order + 1) * s.of_mass;
	s.tiny = (uint32_t)nb_high_tiny(order);
	NB_TRY(node.alloc(room * size));
	NB_TRY(child.alloc(room * size));
	NB_TRY(body.alloc(room * size));
	NB_TRY(fronts.alloc(size));
	const struct lists lists = {room, node.ptr, child.ptr, body.ptr, fronts.ptr};
	NB_TRY(list_opened(d, e, s, lists, front));
	out->node_bound.assign(size + 1, 0);
	out->body_bound.assign(size + 1, 0);
	size_t most = 0;
	for (size_t k = 0; k < size; k++) {
		out->node_bound[k + 1] = out->node_bound[k] + front[k].nodes;
		out->body_bound[k + 1] = out->body_bound[k] + front[k].bodies;
		most = std::max(most, (size_t)front[k].nodes);
	}
	NB_TRY(out->alloc(d));
	if (most == 0)
		return NB_OK;
	NB_TRY(nb_essential_upload(node_bound, out->node_bound));
	NB_TRY(nb_essential_upload(body_bound, out->body_bound));
	const dim3 grid(std::min(nb_cuda_blocks(most, WARPS), 1u << 14), (unsigned)size);
	write_message_kernel<<<grid, THREADS>>>(e->tree, d->pos, d->mass, lists, node_bound.ptr, body_bound.ptr,
		out->nodes.ptr, out->bodies.ptr, {e->rows.ptr, nb_essential_width(d)}, out->rows.ptr);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
