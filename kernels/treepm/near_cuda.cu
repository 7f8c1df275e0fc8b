/* The near part on the device.  A warp has a group of targets: its lanes look at bodies of the cells around, and put
 * those within reach of the group into a list in shared memory; whenever that may be full, they pull.  Then count lanes
 * have a target each, and so do the next count lanes as long as there are enough, for the next bodies of the list.  The
 * sums of lanes that have one target are added in a fixed order at the end. */
#include "kernels/pair/pair.cuh"
#include "kernels/treepm/treepm_internal.cuh"

enum { WARP = 32, WARPS = 4, BLOCKS = 6, LIST = 160, SUMS = 4 };
#define ALL 0xffffffffu

struct list {
	double2 xy[LIST], zm[LIST];
	double soft[LIST];
};

struct lane_sums {
	double v[WARP][SUMS];
};

union room {
	struct list list;
	struct lane_sums sums;
};

/* A target, as a lane has it. */
struct target {
	double at[3], soft;
};

template <class real> static __device__ __forceinline__ real polynomial(const real *term, real v, real v2)
{
	real even = term[NB_TREEPM_TERMS - 2], odd = term[NB_TREEPM_TERMS - 1];
#pragma unroll
	for (int k = NB_TREEPM_TERMS - 4; k >= 0; k -= 2) {
		even = fma(even, v2, term[k]);
		odd = fma(odd, v2, term[k + 1]);
	}
	return fma(odd, v, even);
}

static __device__ __forceinline__ double root_of(double r2)
{
	double root;
	asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(root) : "d"(r2));
	return root;
}

static __device__ __forceinline__ float root_of(float r2)
{
	float root;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(r2));
	return root;
}

/* r^-3, and r^-1 if MORE, of r2: the root y is off by 2^-22, in f64 by 2^-19, and e = 1 - r2 y^2.  In f32 e^2 is
 * nothing. */
template <bool MORE, class real> static __device__ __forceinline__ void powers(real r2, real &w, real &p)
{
	constexpr bool DOUBLE = sizeof(real) == sizeof(double);
	const real y = root_of(r2), y2 = y * y, e = fma(-r2, y2, (real)1), y3 = y * y2;
	w = fma(y3 * e, DOUBLE ? fma(e, (real)1.875, (real)1.5) : (real)1.5, y3);
	if (MORE)
		p = fma(y * e, DOUBLE ? fma(e, (real)0.375, (real)0.5) : (real)0.5, y);
}

/* A pair of a target and body k of a list, which does not count if that is not there.  OWN: softenings of their own.
 * What is far apart has its distance in f64, whatever the type of the rest. */
template <class real, bool SPLINE, bool OWN, bool POT> struct pair {
	double x, y, z, mass;
	real s2, soft, w, p = 0;

	__device__ __forceinline__ pair(const nb_treepm_near &near, const list &l, int k, bool there, const target &t)
	{
		const double2 xy = l.xy[k], zm = l.zm[k];
		const double other = OWN ? l.soft[k] : near.soft;
		const double both = OWN && SPLINE != (other < t.soft) ? t.soft : other;
		x = xy.x - t.at[0], y = xy.y - t.at[1], z = zm.x - t.at[2];
		soft = (real)both;
		s2 = (real)fma(z, z, fma(y, y, fma(x, x, SPLINE ? nb_treepm_floor<real>() : both)));
		mass = there && r2() < (real)near.cut2 ? zm.y : 0;
		powers<POT>(s2, w, p);
		if (POT)
			p = s2 > nb_treepm_floor<real>() ? p : 0;
	}

	__device__ __forceinline__ real r2() const
	{
		return SPLINE ? s2 : s2 - soft;
	}

	__device__ __forceinline__ bool is_softened(const nb_treepm_near &near) const
	{
		return SPLINE && (OWN ? soft * soft * s2 < 1 : s2 < (real)near.support2);
	}

	__device__ __forceinline__ void soften()
	{
		const nb_pull<real> pull = nb_soften<SPLINE, POT, false>(s2, rsqrt(s2), soft, nb_treepm_floor<real>());
		w = pull.w;
		p = pull.p;
	}

	__device__ __forceinline__ void add(const nb_treepm_near &near, double (&sum)[SUMS]) const
	{
		const nb_treepm_terms<real> &terms = near.terms((real)0);
		const real v = fma(r2(), terms.scale, (real)-1), v2 = v * v;
		const double f = mass * (double)(w - polynomial(terms.acc, v, v2));
		nb_pair_add_f64(f, x, y, z, &sum[0], &sum[1], &sum[2]);
		if constexpr (POT)
			sum[3] = fma(-mass, (double)(p - polynomial(terms.pot, v, v2)), sum[3]);
	}
};

/* The list acts; lane `share` of those that have this target takes every `sharers`th body.  Two pairs overlap, as no
 * branch is taken but for the few that a spline softens. */
template <class real, bool SPLINE, bool OWN, bool POT>
static __device__ __forceinline__ void pull(
	const nb_treepm_near &near, const list &l, int n, int share, int sharers, const target &t, double (&sum)[SUMS])
{
	for (int j = share; j < n; j += 2 * sharers) {
		const bool there = j + sharers < n;
		pair<real, SPLINE, OWN, POT> a(near, l, j, true, t), b(near, l, there ? j + sharers : j, there, t);
		if (a.is_softened(near) || b.is_softened(near)) {
			if (a.is_softened(near))
				a.soften();
			if (b.is_softened(near))
				b.soften();
		}
		a.add(near, sum);
		b.add(near, sum);
	}
}

/* ---- what is near -------------------------------------------------------------------------------- */

/* Of the box of its targets: with 2^32 units in the box of all, differences of whole numbers are those of the nearest
 * images. */
struct group {
	double centre[3], half[3];
	uint32_t middle[3], wide[3]; /* of centre and half, in units */
	float reach2;		     /* a little more, in units */
	bool walled;		     /* bodies within reach may be images */
};

/* Of the targets of all lanes. */
static __device__ group group_of(const nb_treepm_near &near, const target &t)
{
	const double unit = 0x1p32 / near.box, reach = near.reach * unit + 4;
	group of;
	of.reach2 = (float)(reach * reach * (1 + 1e-6));
	of.walled = false;
#pragma unroll
	for (int c = 0; c < 3; c++) {
		double low = t.at[c], high = low;
		for (int across = WARP / 2; across > 0; across /= 2) {
			low = fmin(low, __shfl_xor_sync(ALL, low, across));
			high = fmax(high, __shfl_xor_sync(ALL, high, across));
		}
		of.centre[c] = 0.5 * (low + high);
		of.half[c] = fmax(high - of.centre[c], of.centre[c] - low);
		of.middle[c] = nb_treepm_units(of.centre[c], unit);
		of.wide[c] = (uint32_t)(of.half[c] * unit) + 4;
		of.walled |= low < near.reach || high > near.box - near.reach;
	}
	return of;
}

/* Of boxes that d spans, the nearest whole number: adding 1.5 2^52 leaves no room for what is behind the point. */
static __device__ __forceinline__ double images(double d, double inverse)
{
	return __dadd_rn(fma(d, inverse, 0x1.8p52), -0x1.8p52);
}

/* The bodies of a row of cells along z that may be within reach of the group: up to two ranges. */
static __device__ void find_row(
	const nb_treepm_near &near, const group &of, int row, double inverse, uint32_t from[2], uint32_t to[2])
{
	const int side = near.side, across = min(2 * near.around + 1, side), at[2] = {row / across, row % across};
	const double cell = near.box / side;
	double rest = near.reach * near.reach * (1 + 1e-9);
	size_t base = 0;
	for (int c = 0; c < 2; c++) {
		const int own = min((int)(of.centre[c] / cell), side - 1);
		const int k = (own + 2 * side - near.around + at[c]) % side;
		const double d = (k + 0.5) * cell - of.centre[c], apart = fma(-images(d, inverse), near.box, d);
		const double gap = fmax(fabs(apart) - 0.5 * cell - of.half[c], 0.0);
		rest -= gap * gap;
		base = (base + k) * side;
	}
	from[0] = to[0] = from[1] = to[1] = 0;
	if (row >= across * across || !(rest > 0))
		return;
	const double ahead = sqrt(rest) + of.half[2] + cell * 1e-9;
	const int low = (int)floor((of.centre[2] - ahead) / cell), high = (int)floor((of.centre[2] + ahead) / cell);
	const int count = min(high - low + 1, side), first = count == side ? 0 : (low + 2 * side) % side;
	const uint32_t *const begin = near.sources.begin + base;
	from[0] = begin[first];
	to[0] = begin[min(first + count, side)];
	if (first + count > side) {
		from[1] = begin[0];
		to[1] = begin[first + count - side];
	}
}

/* Whether body k may be within reach of the group. */
static __device__ __forceinline__ bool is_near(const nb_treepm_near &near, const group &of, size_t k)
{
	float r2 = 0;
#pragma unroll
	for (int c = 0; c < 3; c++) {
		const uint32_t d = near.sources.units[3 * k + c] - of.middle[c], apart = min(d, 0 - d);
		const float gap = (float)(apart > of.wide[c] ? apart - of.wide[c] : 0);
		r2 = fmaf(gap, gap, r2);
	}
	return r2 < of.reach2;
}

/* Body k, unless that is the end, to the list if it is near; returns how many are in it. */
template <bool OWN>
static __device__ __forceinline__ int collect(
	const nb_treepm_near &near, const group &of, uint32_t k, uint32_t end, double inverse, list &l, int n)
{
	const bool inside = k < end && is_near(near, of, k);
	const unsigned mask = __ballot_sync(ALL, inside), lane = threadIdx.x % WARP;
	if (inside) {
		const int to = n + __popc(mask & ((1u << lane) - 1));
		double x[3];
#pragma unroll
		for (int c = 0; c < 3; c++) {
			x[c] = near.sources.pos[3 * (size_t)k + c];
			if (of.walled)
				x[c] = fma(-images(x[c] - of.centre[c], inverse), near.box, x[c]);
		}
		l.xy[to] = make_double2(x[0], x[1]);
		l.zm[to] = make_double2(x[2], near.sources.mass[k]);
		if (OWN)
			l.soft[to] = near.sources.soft[k];
	}
	return n + __popc(mask);
}

/* ---- groups -------------------------------------------------------------------------------------- */

/* Sums of lanes with the same target, in the order of the lanes, to those of the target. */
template <bool POT>
static __device__ void deliver(
	const nb_treepm_near &near, lane_sums &all, size_t first, int count, int sharers, const double (&sum)[SUMS])
{
	const int lane = threadIdx.x % WARP;
	__syncwarp();
#pragma unroll
	for (int c = 0; c < SUMS; c++)
		all.v[lane][c] = sum[c];
	__syncwarp();
	for (int k = lane; k < count * (POT ? 4 : 3); k += WARP) {
		const int t = k % count, c = k / count;
		double total = all.v[t][c];
		for (int s = 1; s < sharers; s++)
			total += all.v[t + s * count][c];
		near.sum[c * near.targets.n + first + t] += total;
	}
}

template <class real, bool SPLINE, bool OWN, bool POT>
static __global__ void __launch_bounds__(WARP *WARPS, BLOCKS) near_kernel(const __grid_constant__ nb_treepm_near near)
{
	__shared__ union room room[WARPS];
	union room &mine = room[threadIdx.x / WARP];
	const int lane = threadIdx.x % WARP;
	const size_t g = (size_t)blockIdx.x * WARPS + threadIdx.x / WARP;
	if (g >= near.ngroup)
		return;
	const nb_treepm_cells &targets = near.targets;
	const uint32_t first = near.first[g], cell = targets.key[first] >> near.fine, end = targets.begin[cell + 1];
	const int count = (int)min(end - first, nb_treepm_share(end - targets.begin[cell], near.most));
	const int sharers = WARP / count, share = lane / count < sharers ? lane / count : LIST;
	const size_t own = first + lane % count;
	target t = {{targets.pos[3 * own], targets.pos[3 * own + 1], targets.pos[3 * own + 2]},
		OWN ? targets.soft[own] : 0};
	const group of = group_of(near, t);
	const double inverse = 1 / near.box;
	double sum[SUMS] = {};
	uint32_t from[2], to[2];
	unsigned long long pairs = 0;
	int n = 0;
	find_row(near, of, lane, inverse, from, to);
	for (int part = 0; part < 2; part++) {
		for (unsigned rows = __ballot_sync(ALL, from[0] < to[0]); rows; rows &= rows - 1) {
			const int row = __ffs(rows) - 1;
			const uint32_t last = __shfl_sync(ALL, to[0], row);
			for (uint32_t k = __shfl_sync(ALL, from[0], row); k < last; k += WARP) {
				n = collect<OWN>(near, of, k + lane, last, inverse, mine.list, n);
				if (n <= LIST - WARP)
					continue;
				__syncwarp();
				pull<real, SPLINE, OWN, POT>(near, mine.list, n, share, sharers, t, sum);
				__syncwarp();
				pairs += n;
				n = 0;
			}
		}
		from[0] = from[1];
		to[0] = to[1];
	}
	__syncwarp();
	pull<real, SPLINE, OWN, POT>(near, mine.list, n, share, sharers, t, sum);
	deliver<POT>(near, mine.sums, first, count, sharers, sum);
	if (near.pairs && lane == 0)
		atomicAdd(near.pairs, (pairs + n) * count);
}

typedef void near_function(nb_treepm_near);

template <class real> static near_function *function_of(bool spline, bool own, bool pot)
{
	static near_function *const of[] = {near_kernel<real, false, false, false>,
		near_kernel<real, false, false, true>, near_kernel<real, false, true, false>,
		near_kernel<real, false, true, true>, near_kernel<real, true, false, false>,
		near_kernel<real, true, false, true>, near_kernel<real, true, true, false>,
		near_kernel<real, true, true, true>};
	return of[4 * spline + 2 * own + pot];
}

int nb_treepm_near_cuda(const struct nb_treepm_near *near, bool mixed, bool pot, cudaStream_t stream)
{
	const bool spline = near->spline, own = near->targets.soft != nullptr;
	if (near->ngroup == 0)
		return NB_OK;
	near_function *const kernel = mixed ? function_of<float>(spline, own, pot)
					    : function_of<double>(spline, own, pot);
	kernel<<<nb_cuda_blocks(near->ngroup, WARPS), WARP * WARPS, 0, stream>>>(*near);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
