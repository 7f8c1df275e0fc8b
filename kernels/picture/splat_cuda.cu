/* splat_cuda.cu - smoothing lengths and surface densities on the device.
 *
 * How wide: counts in the finest cells by integer atomics, coarser levels from finer ones, then a thread a body reads
 * all levels where it is.
 *
 * Spread: the picture is cut into tiles of 16 x 16 pixels.  A body is listed once for each tile that it touches, the
 * list is sorted by tile (stable, so bodies remain in order), and a block of 256 threads, one a pixel, goes through the
 * bodies of a tile, 256 at a time in shared memory.  So no two threads add to the same pixel, sums run in the order of
 * the bodies, and every term is rounded as on the CPU: the same bytes.  A tile of more than NB_SPLAT_SEGMENT bodies is
 * divided among blocks, whose sums are added in order; lists too long for memory are made and summed in parts.
 * This is how Gaussian splats are drawn: Kerbl et al. 2023, ACM Transactions on Graphics 42, 139, section 6.
 * Cost: about 15 instructions a pixel of a listed tile and body, whatever part of the tile the body covers. */
#include "kernels/device/device.cuh"
#include "kernels/order/order.cuh"
#include "kernels/picture/picture_internal.h"

enum { THREADS = 256, TILE = 16, PIXELS = TILE * TILE };
static const uint64_t most_listed = (uint64_t)1 << 26; /* at once; 16 bytes each */

/* ---- how wide ------------------------------------------------------------------------------------- */

static __global__ void fill_kernel(size_t n, float value, float *radius)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n)
		radius[i] = value;
}

static __global__ void count_finest_kernel(
	const __grid_constant__ struct nb_pyramid p, size_t n, const float *x, const float *y)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n && nb_pyramid_inside(&p, x[i], y[i]))
		atomicAdd(&p.level[0].count[nb_pyramid_cell(&p, x[i], y[i])], 1u);
}

/* A thread a coarse cell: four fine ones. */
static __global__ void count_coarser_kernel(struct nb_level fine, struct nb_level coarse)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, across = (size_t)coarse.width;
	if (i >= across * (size_t)coarse.height)
		return;
	const uint32_t *upper = fine.count + (2 * (i / across) * (size_t)fine.width + 2 * (i % across));
	const uint32_t *lower = upper + fine.width;
	coarse.count[i] = upper[0] + upper[1] + lower[0] + lower[1];
}

static __global__ void radius_kernel(const __grid_constant__ struct nb_pyramid p, size_t n, const float *x,
	const float *y, float wanted, float *radius)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n)
		radius[i] = nb_pyramid_inside(&p, x[i], y[i]) ? nb_pyramid_radius(&p, x[i], y[i], wanted)
							      : NB_SPLAT_MIN_RADIUS;
}

int nb_splat_radii_cuda(
	size_t n, const float *x, const float *y, int width, int height, double neighbours, float *radius)
{
	if (!nb_radii_possible(width, height, neighbours))
		return NB_EINVAL;
	if (n == 0)
		return NB_OK;
	const unsigned blocks = nb_cuda_blocks(n, THREADS);
	if (neighbours == 0) {
		fill_kernel<<<blocks, THREADS>>>(n, NB_SPLAT_MIN_RADIUS, radius);
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}
	struct nb_pyramid p = nb_pyramid_over(width, height);
	nb_cuda_buffer<uint32_t> count;
	NB_TRY(count.alloc(nb_pyramid_cells(&p)));
	nb_pyramid_counts(&p, count.ptr);
	NB_CUDA_TRY(cudaMemsetAsync(count.ptr, 0, count.count * sizeof *count.ptr, 0));
	count_finest_kernel<<<blocks, THREADS>>>(p, n, x, y);
	NB_CUDA_LAUNCHED();
	for (int l = 1; l < p.nlevel; l++) {
		const size_t cells = (size_t)p.level[l].width * (size_t)p.level[l].height;
		count_coarser_kernel<<<nb_cuda_blocks(cells, THREADS), THREADS>>>(p.level[l - 1], p.level[l]);
		NB_CUDA_LAUNCHED();
	}
	radius_kernel<<<blocks, THREADS>>>(p, n, x, y, nb_bodies_wanted(neighbours), radius);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* ---- which tiles a body touches ------------------------------------------------------------------- */

/* Pixels: columns [left, right) and rows [top, bottom), cut to the picture. */
struct window {
	short left, right, top, bottom;
};

/* Whether there are any. */
static __device__ bool window_of(const struct nb_splat &s, size_t i, float reach, struct window *window)
{
	int left, top;
	if (!nb_body_seen(&s, i, reach))
		return false;
	const int columns = nb_pixels_within(s.x[i], reach, s.width, &left);
	const int rows = nb_pixels_within(s.y[i], reach, s.height, &top);
	if (columns <= 0 || rows <= 0)
		return false;
	*window = {(short)left, (short)(left + columns), (short)top, (short)(top + rows)};
	return true;
}

/* ntile[i] = the number of tiles that body i touches; ntile[n] = 0. */
static __global__ void ntile_kernel(struct nb_splat s, uint32_t *ntile)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	struct window w;
	if (i > s.n)
		return;
	ntile[i] = 0;
	if (i < s.n && window_of(s, i, nb_body_reach(&s, i), &w))
		ntile[i] = (uint32_t)(((w.right - 1) / TILE - w.left / TILE + 1) *
				      ((w.bottom - 1) / TILE - w.top / TILE + 1));
}

/* The tiles of bodies [first, end), body by body; place[i] is where those of body i begin. */
static __global__ void list_kernel(
	struct nb_splat s, int across, size_t first, size_t end, const uint64_t *place, uint32_t *tile, uint32_t *body)
{
	const size_t i = first + (size_t)blockIdx.x * THREADS + threadIdx.x;
	struct window w;
	if (i >= end || !window_of(s, i, nb_body_reach(&s, i), &w))
		return;
	size_t at = (size_t)(place[i] - place[first]);
	for (int row = w.top / TILE; row <= (w.bottom - 1) / TILE; row++)
		for (int column = w.left / TILE; column <= (w.right - 1) / TILE; column++) {
			tile[at] = (uint32_t)(row * across + column);
			body[at++] = (uint32_t)i;
		}
}

/* ---- tiles ---------------------------------------------------------------------------------------- */

/* Bodies of tile t: body[first[t]] to body[first[t + 1] - 1].  The first NB_SPLAT_SEGMENT are block t's; the segments
 * after that, extra[t] to extra[t + 1] - 1, are those of further blocks. */
struct tiles {
	unsigned across, count;
	const uint32_t *body, *first, *extra;
};

/* first[t] = the first place in the sorted list whose tile is not before t, t <= count. */
static __global__ void first_kernel(unsigned count, uint32_t nlisted, const uint32_t *tile, uint32_t *first)
{
	const size_t t = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (t > count)
		return;
	uint32_t low = 0, high = nlisted;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (tile[middle] < t)
			low = middle + 1;
		else
			high = middle;
	}
	first[t] = low;
}

/* extra[t] = the number of segments of tile t after the first; extra[count] = 0. */
static __global__ void extra_kernel(unsigned count, const uint32_t *first, uint32_t *extra)
{
	const size_t t = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (t > count)
		return;
	const uint32_t bodies = t < count ? first[t + 1] - first[t] : 0;
	extra[t] = bodies ? (bodies - 1) / NB_SPLAT_SEGMENT : 0;
}

/* What a block sums: bodies [begin, end) of the list on a tile; begin == end: nothing. */
struct segment {
	unsigned tile;
	uint32_t begin, end;
};

static __device__ struct segment segment_of(const struct tiles &tiles, unsigned block)
{
	uint32_t number = 0;
	unsigned tile = block;
	if (block >= tiles.count) {
		const uint32_t wanted = block - tiles.count;
		if (wanted >= tiles.extra[tiles.count])
			return {0, 0, 0};
		/* the last tile whose segments begin at or before it */
		unsigned low = 0, high = tiles.count;
		while (high - low > 1) {
			const unsigned middle = low + (high - low) / 2;
			if (tiles.extra[middle] <= wanted)
				low = middle;
			else
				high = middle;
		}
		tile = low;
		number = wanted - tiles.extra[tile] + 1;
	}
	const uint32_t begin = tiles.first[tile] + number * NB_SPLAT_SEGMENT, end = tiles.first[tile + 1];
	return {tile, begin, begin + NB_SPLAT_SEGMENT < end ? begin + NB_SPLAT_SEGMENT : end};
}

/* ---- spread --------------------------------------------------------------------------------------- */

/* A body as the pixels see it. */
struct brush {
	float x, y;
	float inverse; /* 1 / radius^2; discs: 1 / width of the glow */
	float radius;
	struct window window;
	float factor[NB_SPLAT_MAX_CHANNEL];
};

static __device__ struct brush brush_of(const struct nb_splat &s, size_t i)
{
	struct brush b;
	const float reach = nb_body_reach(&s, i);
	float scale = 1;
	window_of(s, i, reach, &b.window); /* there is one, or it would not be listed */
	b.x = s.x[i];
	b.y = s.y[i];
	b.radius = nb_body_radius(&s, i);
	if (s.shape == NB_SPLAT_DISC) {
		b.inverse = 1 / nb_body_glow(&s, b.radius);
	} else {
		b.inverse = 1 / (reach * reach);
		scale = 5 * b.inverse / 3.14159265358979323846f;
	}
	for (int c = 0; c < s.nchannel; c++)
		b.factor[c] = scale * s.weight[i * (size_t)s.nchannel + (size_t)c];
	return b;
}

/* (1 - d^2 / radius^2)^4 at (dx, dy) from the body */
static __device__ float smooth_at(const struct brush &b, float dx, float dy)
{
	const float dx2 = __fmul_rn(__fmul_rn(dx, dx), b.inverse), dy2 = __fmul_rn(__fmul_rn(dy, dy), b.inverse);
	float t = __fsub_rn(__fsub_rn(1, dy2), dx2);
	t = t > 0 ? t : 0;
	t = __fmul_rn(t, t);
	return __fmul_rn(t, t);
}

static __device__ float disc_at(const struct brush &b, float dx, float dy)
{
	const float distance = __fsqrt_rn(__fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy)));
	const float beyond = __fsub_rn(distance, b.radius);
	float core = __fsub_rn(0.5f, beyond), t = __fsub_rn(1, __fmul_rn(beyond, b.inverse));
	core = core > 0 ? (core < 1 ? core : 1) : 0;
	t = t > 0 ? (t < 1 ? t : 1) : 0;
	const float glow = __fmul_rn(__fmul_rn(__fmul_rn(__fmul_rn(__fsub_rn(1, core), NB_GLOW_HEIGHT), t), t), t);
	return __fadd_rn(core, glow);
}

template <int nchannel, enum nb_splat_shape shape>
static __device__ void add_brush(const struct brush &b, int column, int row, float (&sum)[nchannel])
{
	if (column < b.window.left || column >= b.window.right || row < b.window.top || row >= b.window.bottom)
		return;
	const float dx = __fsub_rn(__fadd_rn((float)column, 0.5f), b.x);
	const float dy = __fsub_rn(__fadd_rn((float)row, 0.5f), b.y);
	const float value = shape == NB_SPLAT_DISC ? disc_at(b, dx, dy) : smooth_at(b, dx, dy);
#pragma unroll
	for (int c = 0; c < nchannel; c++)
		sum[c] = __fadd_rn(sum[c], __fmul_rn(b.factor[c], value));
}

/* Adds the sums of a thread's pixel: to the picture, or into the partial sums of an extra segment. */
template <int nchannel>
static __device__ void store(const struct nb_splat &s, const struct tiles &tiles, int column, int row, float *partial,
	float (&sum)[nchannel])
{
	const size_t plane = (size_t)s.width * (size_t)s.height;
	const size_t extra = (size_t)blockIdx.x - tiles.count; /* not used in block t < count */
#pragma unroll
	for (int c = 0; c < nchannel; c++) {
		if (blockIdx.x >= tiles.count)
			partial[(extra * nchannel + c) * PIXELS + threadIdx.x] = sum[c];
		else if (column < s.width && row < s.height)
			s.image[c * plane + (size_t)row * (size_t)s.width + (size_t)column] += sum[c];
	}
}

template <int nchannel, enum nb_splat_shape shape>
static __global__ void __launch_bounds__(PIXELS) segment_kernel(struct nb_splat s, struct tiles tiles, float *partial)
{
	__shared__ struct brush brush[PIXELS];
	const struct segment part = segment_of(tiles, blockIdx.x);
	const int column = (int)(part.tile % tiles.across) * TILE + (int)threadIdx.x % TILE;
	const int row = (int)(part.tile / tiles.across) * TILE + (int)threadIdx.x / TILE;
	float sum[nchannel] = {};
	if (part.begin >= part.end)
		return;
	for (uint32_t first = part.begin; first < part.end; first += PIXELS) {
		const uint32_t left = part.end - first, count = left < PIXELS ? left : PIXELS;
		__syncthreads();
		if (threadIdx.x < count)
			brush[threadIdx.x] = brush_of(s, tiles.body[first + threadIdx.x]);
		__syncthreads();
		for (uint32_t k = 0; k < count; k++)
			add_brush<nchannel, shape>(brush[k], column, row, sum);
	}
	store<nchannel>(s, tiles, column, row, partial, sum);
}

/* Adds the sums of the extra segments of a tile, in order. */
static __global__ void __launch_bounds__(PIXELS)
	extra_sum_kernel(struct nb_splat s, struct tiles tiles, const float *partial)
{
	const int column = (int)(blockIdx.x % tiles.across) * TILE + (int)threadIdx.x % TILE;
	const int row = (int)(blockIdx.x / tiles.across) * TILE + (int)threadIdx.x / TILE;
	const size_t plane = (size_t)s.width * (size_t)s.height, nchannel = (size_t)s.nchannel;
	const uint32_t begin = tiles.extra[blockIdx.x], end = tiles.extra[blockIdx.x + 1];
	if (begin == end || column >= s.width || row >= s.height)
		return;
	for (size_t c = 0; c < nchannel; c++) {
		float *pixel = &s.image[c * plane + (size_t)row * (size_t)s.width + (size_t)column];
		float sum = *pixel;
		for (size_t k = begin; k < end; k++)
			sum = __fadd_rn(sum, partial[(k * nchannel + c) * PIXELS + threadIdx.x]);
		*pixel = sum;
	}
}

template <int nchannel>
static int sum_segments(const struct nb_splat &s, const struct tiles &tiles, unsigned nextra, float *partial)
{
	const unsigned blocks = tiles.count + nextra;
	if (s.shape == NB_SPLAT_DISC)
		segment_kernel<nchannel, NB_SPLAT_DISC><<<blocks, PIXELS>>>(s, tiles, partial);
	else
		segment_kernel<nchannel, NB_SPLAT_SMOOTH><<<blocks, PIXELS>>>(s, tiles, partial);
	NB_CUDA_LAUNCHED();
	if (nextra) {
		extra_sum_kernel<<<tiles.count, PIXELS>>>(s, tiles, partial);
		NB_CUDA_LAUNCHED();
	}
	return NB_OK;
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static int bits_of(unsigned count)
{
	int bits = 0;
	while (bits < 32 && (count - 1) >> bits)
		bits++;
	return bits;
}

/* Adds bodies [first, end), which touch nlisted tiles in all. */
static int add_bodies(const struct nb_splat &s, size_t first, size_t end, const uint64_t *place, uint32_t nlisted)
{
	const unsigned across = (unsigned)((s.width + TILE - 1) / TILE),
		       down = (unsigned)((s.height + TILE - 1) / TILE);
	const unsigned count = across * down;
	nb_cuda_buffer<uint32_t> tile, body, begin, extra;
	nb_cuda_buffer<float> partial;
	NB_TRY(tile.alloc(nlisted));
	NB_TRY(body.alloc(nlisted));
	NB_TRY(begin.alloc(count + 1));
	NB_TRY(extra.alloc(count + 1));
	list_kernel<<<nb_cuda_blocks(end - first, THREADS), THREADS>>>(
		s, (int)across, first, end, place, tile.ptr, body.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_sort_pairs_cuda(nlisted, bits_of(count), tile.ptr, body.ptr));
	first_kernel<<<nb_cuda_blocks(count + 1, THREADS), THREADS>>>(count, nlisted, tile.ptr, begin.ptr);
	NB_CUDA_LAUNCHED();
	extra_kernel<<<nb_cuda_blocks(count + 1, THREADS), THREADS>>>(count, begin.ptr, extra.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(count + 1, extra.ptr, extra.ptr));

	const struct tiles tiles = {across, count, body.ptr, begin.ptr, extra.ptr};
	const unsigned nextra = nlisted / NB_SPLAT_SEGMENT; /* at most */
	NB_TRY(partial.alloc((size_t)nextra * (size_t)s.nchannel * PIXELS));
	switch (s.nchannel) {
	case 1: return sum_segments<1>(s, tiles, nextra, partial.ptr);
	case 2: return sum_segments<2>(s, tiles, nextra, partial.ptr);
	case 3: return sum_segments<3>(s, tiles, nextra, partial.ptr);
	default: return sum_segments<4>(s, tiles, nextra, partial.ptr);
	}
}

static int read_place(const uint64_t *place, size_t i, uint64_t *value)
{
	NB_CUDA_TRY(cudaMemcpy(value, place + i, sizeof *value, cudaMemcpyDeviceToHost));
	return NB_OK;
}

int nb_splat_cuda(const struct nb_splat *splat)
{
	const struct nb_splat s = *splat;
	nb_cuda_buffer<uint32_t> ntile;
	nb_cuda_buffer<uint64_t> place;
	NB_TRY(nb_splat_possible(&s));
	const size_t numbers = (size_t)s.width * (size_t)s.height * (size_t)s.nchannel;
	NB_CUDA_TRY(cudaMemsetAsync(s.image, 0, numbers * sizeof *s.image, 0));
	if (s.n == 0)
		return NB_OK;
	NB_TRY(ntile.alloc(s.n + 1));
	NB_TRY(place.alloc(s.n + 1));
	ntile_kernel<<<nb_cuda_blocks(s.n + 1, THREADS), THREADS>>>(s, ntile.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_wide_cuda(s.n + 1, ntile.ptr, place.ptr));
	uint64_t done = 0, reached;
	for (size_t first = 0, end; first < s.n; first = end, done = reached) {
		end = s.n;
		NB_TRY(read_place(place.ptr, end, &reached));
		while (reached - done > most_listed) {
			end = first + (end - first) / 2;
			NB_TRY(read_place(place.ptr, end, &reached));
		}
		if (reached > done)
			NB_TRY(add_bodies(s, first, end, place.ptr, (uint32_t)(reached - done)));
	}
	return NB_OK;
}
