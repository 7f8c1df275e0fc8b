/* A mesh at points, on the device, each of which has a group of lanes: a lane takes the cells of one z, and of every y
 * or every other one; their sums are added in a fixed order.
 *
 * Points in any order read the mesh where they are.  Of points in the order of cells a block takes a brick of cells,
 * and copies what its splines reach into a tile of shared memory, where a block may have that much.  There a point has
 * 16 lanes: 8 for z, of which a spline needs 6 at most, by two for even and odd y.  The rows of the tile are 24 numbers
 * apart, so that two of them, side by side, are in different banks. */
#include "kernels/mesh/mesh_internal.cuh"

enum { THREADS = 128, LANES = 8, POINTS = THREADS / LANES };

/* ---- in any order ------------------------------------------------------------------------------- */

/* The lanes of a point share its weights. */
template <int ORDER>
static __global__ void __launch_bounds__(THREADS)
	gather_kernel(const __grid_constant__ nb_mesh_gather of, double *value, size_t stride)
{
	__shared__ double weight[POINTS][3][ORDER];
	__shared__ int begin[POINTS][3];
	const int own = threadIdx.x / LANES, lane = threadIdx.x % LANES, m = of.m;
	const size_t i = (size_t)blockIdx.x * POINTS + own;
	if (lane < 3) {
		const nb_mesh_paint as = {0, nullptr, nullptr, of.box, 0, 1, m, ORDER};
		double w[ORDER];
		begin[own][lane] = nb_mesh_spline(ORDER, i < of.n ? nb_mesh_place(of.pos[3 * i + lane], &as) : 0, w);
#pragma unroll
		for (int k = 0; k < ORDER; k++)
			weight[own][lane][k] = w[k];
	}
	__syncwarp();
	const bool some = lane < ORDER && i < of.n;
	const double *const from = of.mesh + (some ? nb_mesh_cell(begin[own][2] + lane, m) : 0);
	const size_t row = nb_mesh_row(m);
	size_t y[ORDER];
	double sum = 0;
#pragma unroll
	for (int k = 0; k < ORDER; k++)
		y[k] = (size_t)nb_mesh_cell(begin[own][1] + k, m) * row;
#pragma unroll
	for (int k = 0; k < ORDER; k++) {
		const double *const plane = from + (size_t)nb_mesh_cell(begin[own][0] + k, m) * m * row;
		double line = 0;
#pragma unroll
		for (int j = 0; j < ORDER; j++)
			line += weight[own][1][j] * plane[y[j]];
		sum += weight[own][0][k] * line;
	}
	sum *= some ? weight[own][2][lane] : 0;
	for (int across = LANES / 2; across > 0; across /= 2)
		sum += __shfl_xor_sync(~0u, sum, across);
	if (lane == 0 && i < of.n)
		value[stride * i] += sum;
}

/* ---- in the order of cells ---------------------------------------------------------------------- */

enum { WARPS = 8, ACROSS = 19, ALONG = 24 /* cells of a tile, along x and y, and along z */, MOST = 4 };

/* Bricks of wide x wide x deep cells, of which there are across x across x along. */
struct bricks {
	int wide, deep, across, along;
};

/* Of a tile along an axis: its first cell, and how many there are; where points may be, in cells of the mesh, beyond
 * which rounding has put some. */
struct span {
	int origin, count;
	double least, most;
};

template <int ORDER> struct tile {
	double cell[ACROSS * ACROSS * ALONG + LANES];
	double weight[WARPS][32][3 * ORDER], sum[WARPS][32];
	int at[WARPS][32];
	span axis[3];
	size_t number[3][ALONG]; /* what a coordinate adds to the number of a cell in the mesh */
	/* of a row of cells: its first point, and how many points the rows before have */
	uint32_t first[MOST * MOST], before[MOST * MOST + 1];
};

/* Cells [from, to) of the grid of points along an axis. */
template <int ORDER>
static __device__ void find_span(tile<ORDER> &t, const nb_mesh_gather &of, int axis, int from, int to)
{
	const int lane = threadIdx.x % 32;
	const int64_t m = of.m, side = of.side, lowest = from * m / side;
	const int origin = (int)lowest - (ORDER - 1) / 2,
		  count = (int)((to * m - 1) / side - lowest) + ORDER + ORDER % 2;
	if (lane == 0)
		t.axis[axis] = {origin, count, (double)(from * m) / (double)side,
			(double)(to * m) / (double)side * (1 - 0x1p-53)};
	if (lane < count) {
		const size_t on = (size_t)(((origin + lane) % of.m + of.m) % of.m), row = nb_mesh_row(of.m);
		t.number[axis][lane] = on * (axis == 0 ? row * of.m : axis == 1 ? row : 1);
	}
}

/* Points of the rows of cells from (x, y) on that go from z to end. */
template <int ORDER>
static __device__ void find_rows(tile<ORDER> &t, const nb_mesh_gather &of, int wide, int x, int y, int z, int end)
{
	const int lane = threadIdx.x % 32, i = x + lane / wide, j = y + lane % wide;
	const bool some = lane < wide * wide && i < of.side && j < of.side;
	const size_t cell = ((size_t)i * of.side + j) * of.side;
	const uint32_t first = some ? of.begin[cell + z] : 0;
	uint32_t sum = some ? of.begin[cell + end] - first : 0;
	for (int d = 1; d < 32; d *= 2) {
		const uint32_t below = __shfl_up_sync(~0u, sum, d);
		sum += lane >= d ? below : 0;
	}
	if (lane < MOST * MOST) {
		t.first[lane] = first;
		t.before[lane + 1] = sum;
	}
	if (lane == 0)
		t.before[0] = 0;
}

/* A warp has several rows on their way at a time. */
template <int ORDER> static __device__ void fill_tile(tile<ORDER> &t, const double *__restrict__ mesh)
{
	constexpr int SOME = 12;
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	const int ny = t.axis[1].count, rows = t.axis[0].count * ny,
		  inverse = (1 << 16) / ny + 1; /* r / ny is r inverse >> 16 */
	const size_t along = lane < t.axis[2].count ? t.number[2][lane] : 0;
	for (int from = warp; from < rows; from += SOME * WARPS) {
		double v[SOME];
#pragma unroll
		for (int k = 0; k < SOME; k++) {
			const int r = min(from + k * WARPS, rows - 1), x = r * inverse >> 16;
			v[k] = mesh[t.number[0][x] + t.number[1][r - x * ny] + along];
		}
#pragma unroll
		for (int k = 0; k < SOME; k++) {
			const int r = from + k * WARPS, x = r * inverse >> 16;
			if (r < rows && lane < ALONG)
				t.cell[(x * ACROSS + r - x * ny) * ALONG + lane] = v[k];
		}
	}
}

/* A lane has point i: its splines, for the lanes that sum. */
template <int ORDER> static __device__ void stage(tile<ORDER> &t, const nb_mesh_gather &of, size_t i)
{
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	const nb_mesh_paint as = {0, nullptr, nullptr, of.box, 0, 1, of.m, ORDER};
	double w[ORDER];
	int at = 0;
#pragma unroll
	for (int c = 0; c < 3; c++) {
		const span &axis = t.axis[c];
		const double u = fmin(fmax(nb_mesh_place(of.pos[3 * i + c], &as), axis.least), axis.most);
		at = at * (c == 2 ? ALONG : ACROSS) + nb_mesh_spline(ORDER, u, w) - axis.origin;
#pragma unroll
		for (int k = 0; k < ORDER; k++)
			t.weight[warp][lane][c * ORDER + k] = w[k];
	}
	t.at[warp][lane] = at;
}

/* The sum of a point that a lane has staged, in each of its 16 lanes. */
template <int ORDER> static __device__ double sum_of(const tile<ORDER> &t, uint32_t staged)
{
	const int lane = threadIdx.x % 32, z = lane % LANES, odd = lane / LANES % 2;
	const double *const w = t.weight[threadIdx.x / 32][staged];
	const double *const cell = t.cell + t.at[threadIdx.x / 32][staged] + odd * ALONG + z;
	double sum = 0;
#pragma unroll
	for (int x = 0; x < ORDER; x++) {
		double line = 0;
#pragma unroll
		for (int y = 0; y < ORDER; y += 2)
			if (y + 1 < ORDER || !odd)
				line += w[ORDER + y + odd] * cell[(x * ACROSS + y) * ALONG];
		sum += w[x] * line;
	}
	sum = z < ORDER ? sum * w[2 * ORDER + z] : 0;
	for (int across = LANES; across > 0; across /= 2)
		sum += __shfl_xor_sync(~0u, sum, across);
	return sum;
}

template <int ORDER>
static __global__ void __launch_bounds__(32 * WARPS, 2) gather_tiles_kernel(
	const __grid_constant__ nb_mesh_gather of, const __grid_constant__ bricks bricks, double *value, size_t stride)
{
	extern __shared__ char room[];
	tile<ORDER> &t = *(tile<ORDER> *)room;
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, side = of.side, brick = blockIdx.x;
	const int x = brick / bricks.along / bricks.across * bricks.wide,
		  y = brick / bricks.along % bricks.across * bricks.wide, z = brick % bricks.along * bricks.deep;
	const int from[3] = {x, y, z},
		  to[3] = {min(x + bricks.wide, side), min(y + bricks.wide, side), min(z + bricks.deep, side)};
	if (warp == WARPS - 1)
		find_rows<ORDER>(t, of, bricks.wide, x, y, z, to[2]);
#pragma unroll
	for (int c = 0; c < 3; c++)
		if (warp == c)
			find_span<ORDER>(t, of, c, from[c], to[c]);
	__syncthreads();
	const uint32_t count = t.before[MOST * MOST];
	if (count == 0)
		return;
	fill_tile<ORDER>(t, of.mesh);
	__syncthreads();
	/* as many points for each warp in each round */
	const uint32_t rounds = (count + 32 * WARPS - 1) / (32 * WARPS),
		       each = (count + rounds * WARPS - 1) / (rounds * WARPS);
	for (uint32_t first = each * warp; first < count; first += each * WARPS) {
		const uint32_t own = first + lane, some = min(each, count - first);
		size_t i = 0;
		t.at[warp][lane] = 0;
		if (lane < some) {
			int r = 0;
			while (t.before[r + 1] <= own)
				r++;
			i = t.first[r] + (own - t.before[r]);
			stage<ORDER>(t, of, i);
		}
		__syncwarp();
#pragma unroll 2
		for (uint32_t k = lane / 16; k < some + lane / 16; k += 2) {
			const double sum = sum_of<ORDER>(t, k);
			if (lane % 16 == 0)
				t.sum[warp][k] = sum;
		}
		__syncwarp();
		if (lane < some)
			value[stride * i] += t.sum[warp][lane];
		__syncwarp();
	}
}

/* 0: not one cell and what its splines reach is within a tile. */
static int cells_in(const struct nb_mesh_gather *gather, int edge)
{
	int cells = 0;
	while (cells < gather->side && ((int64_t)(cells + 1) * gather->m + gather->side - 1) / gather->side +
						       gather->order + gather->order % 2 <=
					       edge)
		cells++;
	return cells;
}

template <int ORDER>
static int gather_tiles(const struct nb_mesh_gather *gather, const bricks &bricks, double *value, size_t stride)
{
	const size_t shared = sizeof(tile<ORDER>);
	NB_CUDA_TRY(cudaFuncSetAttribute(
		gather_tiles_kernel<ORDER>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
	gather_tiles_kernel<ORDER><<<(unsigned)bricks.across * bricks.across * bricks.along, 32 * WARPS, shared>>>(
		*gather, bricks, value, stride);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

int nb_mesh_gather_within_cuda(size_t shared, const struct nb_mesh_gather *gather, double *value, size_t stride)
{
	static const size_t tile_of[] = {
		sizeof(tile<1>), sizeof(tile<2>), sizeof(tile<3>), sizeof(tile<4>), sizeof(tile<5>), sizeof(tile<6>)};
	static void (*const kernel_of[])(nb_mesh_gather, double *, size_t) = {gather_kernel<1>, gather_kernel<2>,
		gather_kernel<3>, gather_kernel<4>, gather_kernel<5>, gather_kernel<6>};
	static int (*const tiles_of[])(const struct nb_mesh_gather *, const bricks &, double *, size_t) = {
		gather_tiles<1>, gather_tiles<2>, gather_tiles<3>, gather_tiles<4>, gather_tiles<5>, gather_tiles<6>};
	if (gather->n == 0)
		return NB_OK;
	bricks bricks = {};
	if (gather->begin && tile_of[gather->order - 1] <= shared) {
		bricks.wide = min(cells_in(gather, ACROSS), (int)MOST);
		bricks.deep = cells_in(gather, ALONG);
	}
	if (bricks.wide > 0) {
		bricks.across = (gather->side + bricks.wide - 1) / bricks.wide;
		bricks.along = (gather->side + bricks.deep - 1) / bricks.deep;
		return tiles_of[gather->order - 1](gather, bricks, value, stride);
	}
	kernel_of[gather->order - 1]<<<nb_cuda_blocks(gather->n, POINTS), THREADS>>>(*gather, value, stride);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

int nb_mesh_gather_cuda(const struct nb_mesh_gather *gather, double *value, size_t stride)
{
	size_t shared;
	NB_TRY(nb_mesh_shared(&shared));
	return nb_mesh_gather_within_cuda(shared, gather, value, stride);
}
