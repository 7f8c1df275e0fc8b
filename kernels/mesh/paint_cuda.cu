/* Painting on the device.  Bodies are put in order by bricks of 16^3 cells, or 8^3 where a block has little shared
 * memory (count, scan, place), in any order in a brick.  A block paints up to CHUNK bodies of a brick into a tile of
 * shared memory, and adds the tile to the mesh.  A tile has two 32-bit numbers for each cell, of 21 bits of what is
 * added each, which CHUNK bodies cannot overflow; heavier shares go to the mesh at once.  All sums are of whole
 * numbers, so their order does not matter: the mesh is that of paint_cpu.c. This file is compiled without fused
 * multiply-add, for the same reason. */
#include "kernels/mesh/mesh_internal.cuh"
#include "kernels/order/order.cuh"

enum {
	CHUNK = 2048, /* 2^(32 - BITS) */
	BITS = 21,
	THREADS = 256
};

/* A body: its place in cells, and its mass in units. */
struct __align__(32) placed
{
	double x, y, z, mass;
};

struct bricks {
	int side, log; /* along an axis; cells of one, along an axis: 1 << log */
	uint32_t count;
	const uint32_t *begin; /* count + 1: the bodies of a brick, */
	const uint32_t *chunk; /* and its chunks */
	const placed *body;
};

/* ---- order -------------------------------------------------------------------------------------- */

static __device__ double3 place_of(const nb_mesh_paint &paint, size_t i)
{
	const double *pos = paint.pos + 3 * i;
	return make_double3(
		nb_mesh_place(pos[0], &paint), nb_mesh_place(pos[1], &paint), nb_mesh_place(pos[2], &paint));
}

static __device__ uint32_t brick_of(double3 u, int side, int log)
{
	return (((uint32_t)u.x >> log) * side + ((uint32_t)u.y >> log)) * side + ((uint32_t)u.z >> log);
}

/* Counts a body of each lane, and returns how many of its brick were counted before it.  Lanes of one brick, which most
 * are where bodies that follow each other lie together, count as one. */
static __device__ uint32_t count_in(uint32_t brick, uint32_t *count)
{
	const unsigned lane = threadIdx.x % 32, same = __match_any_sync(__activemask(), brick);
	const int first = __ffs((int)same) - 1;
	uint32_t before = 0;
	if ((int)lane == first)
		before = atomicAdd(&count[brick], (uint32_t)__popc(same));
	return __shfl_sync(same, before, first) + (uint32_t)__popc(same & ((1u << lane) - 1));
}

static __global__ void count_kernel(const __grid_constant__ nb_mesh_paint paint, int side, int log, uint32_t *count)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < paint.n)
		(void)count_in(brick_of(place_of(paint, i), side, log), count);
}

static __global__ void place_kernel(
	const __grid_constant__ nb_mesh_paint paint, int side, int log, uint32_t *next, placed *body)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i >= paint.n)
		return;
	const double3 u = place_of(paint, i);
	const double mass = (paint.mass ? paint.mass[i] : 1) / paint.unit;
	body[count_in(brick_of(u, side, log), next)] = {u.x, u.y, u.z, mass};
}

/* The chunks of each brick, and 0 after the last one. */
static __global__ void chunks_kernel(uint32_t count, const uint32_t *begin, uint32_t *chunk)
{
	const uint32_t c = blockIdx.x * THREADS + threadIdx.x;
	if (c <= count)
		chunk[c] = c < count ? (begin[c + 1] - begin[c] + CHUNK - 1) / CHUNK : 0;
}

/* ---- tiles -------------------------------------------------------------------------------------- */

/* SMALL: within 64 KiB. */
template <int ORDER, bool SMALL> struct tile {
	static constexpr int LOG = SMALL ? 3 : 4, WARPS = SMALL ? 8 : 16;
	static constexpr int BEFORE = (ORDER - 1) / 2, EDGE = (1 << LOG) + ORDER, CELLS = EDGE * EDGE * EDGE;
	uint32_t low[CELLS], high[CELLS];
	double weight[WARPS][32][3 * (ORDER > 4 ? ORDER : 4)]; /* of x, with the mass; y; z */
	int at[WARPS][32];				       /* first cell */
	size_t number[3][EDGE]; /* what a coordinate adds to the number of a cell in the mesh */
};

/* A cell of the tile, as a number of the mesh. */
template <class Tile> static __device__ size_t mesh_cell(const Tile &t, int cell)
{
	constexpr int EDGE = Tile::EDGE;
	return t.number[0][cell / (EDGE * EDGE)] + t.number[1][cell / EDGE % EDGE] + t.number[2][cell % EDGE];
}

template <class Tile> static __device__ void begin_tile(Tile &t, int3 origin, int m)
{
	const int k = threadIdx.x, axis = k / Tile::EDGE;
	if (axis < 3) {
		const int from = axis == 0 ? origin.x : axis == 1 ? origin.y : origin.z;
		const int cell = from - Tile::BEFORE + k % Tile::EDGE, on = (cell % m + m) % m;
		const size_t row = nb_mesh_row(m);
		t.number[axis][k % Tile::EDGE] = (size_t)on * (axis == 0 ? row * m : axis == 1 ? row : 1);
	}
	for (int c = k; c < Tile::CELLS; c += blockDim.x)
		t.low[c] = t.high[c] = 0;
}

/* A lane has a body: its splines, for the lanes that paint it. */
template <int ORDER, bool SMALL>
static __device__ void stage(tile<ORDER, SMALL> &t, placed body, double shift, int3 origin)
{
	constexpr int EDGE = tile<ORDER, SMALL>::EDGE, BEFORE = tile<ORDER, SMALL>::BEFORE;
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	double *weight = t.weight[warp][lane], x[ORDER], y[ORDER], z[ORDER];
	const int i = nb_mesh_spline(ORDER, body.x + shift, x) - origin.x + BEFORE;
	const int j = nb_mesh_spline(ORDER, body.y + shift, y) - origin.y + BEFORE;
	const int k = nb_mesh_spline(ORDER, body.z + shift, z) - origin.z + BEFORE;
#pragma unroll
	for (int c = 0; c < ORDER; c++) {
		weight[c] = body.mass * x[c];
		weight[ORDER + c] = y[c];
		weight[2 * ORDER + c] = z[c];
	}
	t.at[warp][lane] = (i * EDGE + j) * EDGE + k;
}

/* A share of a light body has less than two numbers of the tile, and is rounded where 2^52 leaves no room for what is
 * behind the point. */
template <class Tile>
static __device__ __forceinline__ void add_share(Tile &t, int to, double mass, bool light, unsigned long long *mesh)
{
	constexpr uint32_t LOW = (1u << BITS) - 1;
	const unsigned long long share = light ? (unsigned long long)__double_as_longlong(mass + 0x1p52)
					       : (unsigned long long)__double2ll_rn(mass);
	if (light || !(share >> 2 * BITS)) {
		atomicAdd(&t.low[to], (uint32_t)share & LOW);
		atomicAdd(&t.high[to], (uint32_t)(share >> BITS) & LOW);
	} else {
		atomicAdd(&mesh[mesh_cell(t, to)], share);
	}
}

/* The bodies that the lanes have staged, a lane for each cell, or for several; of small splines several bodies at a
 * time. light: none has a share of more than two numbers of the tile. */
template <int ORDER, bool SMALL>
static __device__ void paint_staged(tile<ORDER, SMALL> &t, int count, bool light, unsigned long long *mesh)
{
	constexpr int EDGE = tile<ORDER, SMALL>::EDGE, CELLS = ORDER * ORDER * ORDER;
	constexpr int BODIES = CELLS < 32 ? 32 / CELLS : 1;
	constexpr int ROUNDS = (CELLS + 31) / 32, LANES = CELLS < 32 ? CELLS : 32;
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, own = lane / LANES;
	int x[ROUNDS], y[ROUNDS], z[ROUNDS];
#pragma unroll
	for (int r = 0; r < ROUNDS; r++) {
		const int cell = lane % LANES + LANES * r;
		x[r] = cell / (ORDER * ORDER);
		y[r] = cell / ORDER % ORDER;
		z[r] = cell % ORDER;
	}
	if (own >= BODIES)
		return;
	for (int k = own; k < count; k += BODIES) {
		const double *weight = t.weight[warp][k];
#pragma unroll
		for (int r = 0; r < ROUNDS; r++)
			if (LANES * (r + 1) <= CELLS || x[r] < ORDER)
				add_share(t, t.at[warp][k] + (x[r] * EDGE + y[r]) * EDGE + z[r],
					weight[x[r]] * (weight[ORDER + y[r]] * weight[2 * ORDER + z[r]]), light, mesh);
	}
}

template <class Tile>
static __global__ __launch_bounds__(32 * Tile::WARPS) void paint_kernel(
	const __grid_constant__ bricks bricks, double shift, int m, unsigned long long *mesh)
{
	extern __shared__ char room[];
	constexpr int BRICK = 1 << Tile::LOG;
	Tile &t = *(Tile *)room;
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	uint32_t lo = 0, hi = bricks.count; /* the last brick whose first chunk is not behind this one */
	if (blockIdx.x >= bricks.chunk[bricks.count])
		return;
	while (hi - lo > 1) {
		const uint32_t middle = lo + (hi - lo) / 2;
		(bricks.chunk[middle] <= blockIdx.x ? lo : hi) = middle;
	}
	const uint32_t first = bricks.begin[lo] + (blockIdx.x - bricks.chunk[lo]) * CHUNK;
	const uint32_t end = min(bricks.begin[lo + 1], first + CHUNK);
	const int side = bricks.side;
	const int3 origin = make_int3(
		(int)(lo / side / side) * BRICK, (int)(lo / side % side) * BRICK, (int)(lo % side) * BRICK);
	begin_tile(t, origin, m);
	__syncthreads();
	for (uint32_t from = first + 32 * warp; from < end; from += 32 * Tile::WARPS) {
		const int count = (int)min(32u, end - from);
		bool light = true;
		if (lane < count) {
			const placed body = bricks.body[from + lane];
			light = body.mass >= 0 && body.mass < (double)(1ull << 2 * BITS);
			stage(t, body, shift, origin);
		}
		light = __all_sync(~0u, light);
		paint_staged(t, count, light, mesh);
		__syncwarp();
	}
	__syncthreads();
	for (int c = threadIdx.x; c < Tile::CELLS; c += blockDim.x) {
		const unsigned long long sum = t.low[c] + ((unsigned long long)t.high[c] << BITS);
		if (sum)
			atomicAdd(&mesh[mesh_cell(t, c)], sum);
	}
}

template <class Tile> static int paint_tiles(const bricks &bricks, unsigned most, double shift, int m, void *mesh)
{
	const size_t shared = sizeof(Tile);
	NB_CUDA_TRY(cudaFuncSetAttribute(paint_kernel<Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
	NB_CUDA_TRY(cudaMemsetAsync(mesh, 0, nb_mesh_bytes(m)));
	paint_kernel<Tile><<<most, 32 * Tile::WARPS, shared>>>(bricks, shift, m, (unsigned long long *)mesh);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* How tiles are painted. */
struct way {
	size_t bytes;
	int log;
	int (*paint)(const bricks &, unsigned, double, int, void *);
};

template <int ORDER, bool SMALL> static constexpr way way_of()
{
	static_assert(!SMALL || sizeof(tile<ORDER, SMALL>) <= 1 << 16, "small tiles are within 64 KiB");
	return {sizeof(tile<ORDER, SMALL>), tile<ORDER, SMALL>::LOG, paint_tiles<tile<ORDER, SMALL>>};
}

int nb_mesh_paint_within_cuda(size_t shared, const struct nb_mesh_paint *paint, void *mesh, void *shifted)
{
	static const way large[] = {way_of<1, false>(), way_of<2, false>(), way_of<3, false>(), way_of<4, false>(),
		way_of<5, false>(), way_of<6, false>()};
	static const way small[] = {way_of<1, true>(), way_of<2, true>(), way_of<3, true>(), way_of<4, true>(),
		way_of<5, true>(), way_of<6, true>()};
	const way &tiles = (large[paint->order - 1].bytes <= shared ? large : small)[paint->order - 1];
	const size_t n = paint->n;
	bricks b = {};
	if (n > INT32_MAX)
		return NB_ELIMIT;
	if (n == 0) {
		NB_CUDA_TRY(cudaMemsetAsync(mesh, 0, nb_mesh_bytes(paint->m)));
		if (shifted)
			NB_CUDA_TRY(cudaMemsetAsync(shifted, 0, nb_mesh_bytes(paint->m)));
		return NB_OK;
	}
	b.log = tiles.log;
	b.side = (paint->m + (1 << b.log) - 1) >> b.log;
	b.count = (uint32_t)b.side * b.side * b.side;
	nb_cuda_buffer<uint32_t> begin, next, chunk;
	nb_cuda_buffer<placed> body;
	NB_TRY(begin.alloc(b.count + 1));
	NB_TRY(next.alloc(b.count + 1));
	NB_TRY(chunk.alloc(b.count + 1));
	NB_TRY(body.alloc(n));
	const unsigned blocks = nb_cuda_blocks(n, THREADS);
	NB_CUDA_TRY(cudaMemsetAsync(next.ptr, 0, (b.count + 1) * sizeof(uint32_t)));
	count_kernel<<<blocks, THREADS>>>(*paint, b.side, b.log, next.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(b.count + 1, next.ptr, begin.ptr));
	NB_CUDA_TRY(cudaMemcpyAsync(next.ptr, begin.ptr, (b.count + 1) * sizeof(uint32_t), cudaMemcpyDeviceToDevice));
	place_kernel<<<blocks, THREADS>>>(*paint, b.side, b.log, next.ptr, body.ptr);
	NB_CUDA_LAUNCHED();
	chunks_kernel<<<nb_cuda_blocks(b.count + 1, THREADS), THREADS>>>(b.count, begin.ptr, next.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(b.count + 1, next.ptr, chunk.ptr));
	b.begin = begin.ptr;
	b.chunk = chunk.ptr;
	b.body = body.ptr;
	const unsigned most = (unsigned)((n < b.count ? n : b.count) + n / CHUNK);
	NB_TRY(tiles.paint(b, most, 0, paint->m, mesh));
	return shifted ? tiles.paint(b, most, 0.5, paint->m, shifted) : (int)NB_OK;
}

int nb_mesh_paint_cuda(const struct nb_mesh_paint *paint, void *mesh, void *shifted)
{
	size_t shared;
	NB_TRY(nb_mesh_shared(&shared));
	return nb_mesh_paint_within_cuda(shared, paint, mesh, shifted);
}
