/* Gravity by a mesh and pairs, on the device: as treepm_cpu.c, with lists of near_cuda.cu. */
#include "common/periodic.h"
#include "kernels/mesh/mesh.h"
#include "kernels/order/order.cuh"
#include "kernels/pair/pair.cuh"
#include "kernels/treepm/treepm_internal.cuh"

#include <math.h>

enum {
	THREADS = 256,
	BLOCKS = 512, /* of a survey, on any device: sums have one order */
	FINE = 3,     /* bits of a place in a cell, along an axis, at most */
	GROUP = 10    /* targets */
};

/* ---- survey -------------------------------------------------------------------------------------- */

/* Of a thread, a block, all. */
struct found {
	double heaviest, total, weight, eps; /* sums of masses, and of their sizes; the largest softening */
	int status;
};

static __host__ __device__ void join(found &all, const found &part)
{
	all.heaviest = fmax(all.heaviest, part.heaviest);
	all.eps = fmax(all.eps, part.eps);
	all.total += part.total;
	all.weight += part.weight;
	all.status = part.status > all.status ? part.status : all.status;
}

/* Of n bodies, or of points: mass null, rows null or rows of `limit` bodies. */
struct surveyed {
	size_t n, limit;
	const double *pos, *mass, *eps;
	const uint32_t *rows;
};

static __global__ void survey_kernel(const __grid_constant__ surveyed of, found *part)
{
	__shared__ found shared[THREADS];
	found mine = {};
	for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < of.n; i += (size_t)BLOCKS * THREADS) {
		const double mass = of.mass ? of.mass[i] : 0, eps = of.eps ? of.eps[i] : 0;
		found one = {fabs(mass), mass, fabs(mass), eps, NB_OK};
		bool finite = isfinite(mass) && isfinite(eps);
		for (int c = 0; of.pos && c < 3; c++)
			finite &= isfinite(of.pos[3 * i + c]) != 0;
		if ((of.rows && of.rows[i] >= of.limit) || eps < 0)
			one.status = NB_EINVAL;
		if (!finite)
			one.status = NB_ENONFINITE;
		join(mine, one);
	}
	shared[threadIdx.x] = mine;
	for (int half = THREADS / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			join(shared[threadIdx.x], shared[threadIdx.x + half]);
	}
	if (threadIdx.x == 0)
		part[blockIdx.x] = shared[0];
}

/* Waits for the device. */
static int survey(const surveyed &of, found *all)
{
	static thread_local found host[BLOCKS];
	nb_cuda_buffer<found> part;
	NB_TRY(part.alloc(BLOCKS));
	survey_kernel<<<BLOCKS, THREADS>>>(of, part.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(host, part.ptr, sizeof host, cudaMemcpyDeviceToHost));
	for (const found &one : host)
		join(*all, one);
	return all->status;
}

/* ---- bodies by cells ------------------------------------------------------------------------------ */

/* Bodies or points, as the caller has them. */
struct given {
	size_t n;
	const double *pos, *mass, *eps; /* mass null: 0; eps null: common */
	double common;
	const uint32_t *rows; /* null: all */
	double length, mass_unit, box;
	double floor;	/* of softenings, squared */
	int side, bits; /* bits of the place in a cell, along an axis */
};

static __device__ double place_of(const given &of, size_t row, int c)
{
	return nb_periodic_wrap(of.pos[3 * row + c] * of.length, of.box);
}

static __global__ void keys_kernel(const __grid_constant__ given of, uint32_t *key, uint32_t *number)
{
	const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
	uint32_t cell = 0, fine = 0;
	if (k >= of.n)
		return;
	for (int c = 0; c < 3; c++) {
		const double u = place_of(of, of.rows ? of.rows[k] : k, c) / of.box * of.side, whole = floor(u);
		const uint32_t part = (uint32_t)((u - whole) * (1 << of.bits));
		cell = cell * of.side + min((uint32_t)whole, (uint32_t)of.side - 1);
		for (int b = 0; b < of.bits; b++)
			fine |= (part >> b & 1) << (3 * b + 2 - c);
	}
	key[k] = cell << 3 * of.bits | fine;
	number[k] = (uint32_t)k;
}

template <bool SPLINE>
static __global__ void place_kernel(const __grid_constant__ given of, const uint32_t *number, double *pos, double *mass,
	double *soft, uint32_t *units)
{
	const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (k >= of.n)
		return;
	const size_t row = of.rows ? of.rows[number[k]] : number[k];
	for (int c = 0; c < 3; c++) {
		pos[3 * k + c] = place_of(of, row, c);
		units[3 * k + c] = nb_treepm_units(pos[3 * k + c], 0x1p32 / of.box);
	}
	mass[k] = of.mass ? of.mass[row] * of.mass_unit : 0;
	if (soft)
		soft[k] = nb_soft_of<SPLINE>(of.eps ? of.eps[row] : of.common, of.length, of.floor);
}

/* begin[c], c <= cells: the first key of cell c or a later one. */
static __global__ void begin_kernel(size_t n, const uint32_t *key, int fine, uint32_t cells, uint32_t *begin)
{
	const uint32_t c = blockIdx.x * THREADS + threadIdx.x;
	size_t low = 0, high = n;
	if (c > cells)
		return;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (key[middle] >> fine < c)
			low = middle + 1;
		else
			high = middle;
	}
	begin[c] = (uint32_t)low;
}

struct side {
	nb_cuda_buffer<double> pos, mass, soft;
	nb_cuda_buffer<uint32_t> units, key, number, begin;
	nb_treepm_cells cells = {};

	int fill(const given &of, bool spline, bool own)
	{
		const uint32_t count = (uint32_t)of.side * of.side * of.side;
		const unsigned blocks = nb_cuda_blocks(of.n, THREADS);
		int bits = 3 * of.bits;
		while (bits < 32 && count > 1u << (bits - 3 * of.bits))
			bits++;
		NB_TRY(pos.alloc(3 * of.n));
		NB_TRY(mass.alloc(of.n));
		NB_TRY(soft.alloc(own ? of.n : 0));
		NB_TRY(units.alloc(3 * of.n));
		NB_TRY(key.alloc(of.n));
		NB_TRY(number.alloc(of.n));
		NB_TRY(begin.alloc(count + 1));
		cells = {of.n, pos.ptr, mass.ptr, soft.ptr, units.ptr, key.ptr, begin.ptr};
		if (of.n > 0) {
			keys_kernel<<<blocks, THREADS>>>(of, key.ptr, number.ptr);
			NB_CUDA_LAUNCHED();
			NB_TRY(nb_sort_pairs_cuda(of.n, bits, key.ptr, number.ptr));
			const auto place = spline ? place_kernel<true> : place_kernel<false>;
			place<<<blocks, THREADS>>>(of, number.ptr, pos.ptr, mass.ptr, soft.ptr, units.ptr);
			NB_CUDA_LAUNCHED();
		}
		begin_kernel<<<nb_cuda_blocks(count + 1, THREADS), THREADS>>>(
			of.n, key.ptr, 3 * of.bits, count, begin.ptr);
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}
};

/* ---- near and far --------------------------------------------------------------------------------- */

/* The first target of each group. */
struct begins_group {
	nb_treepm_cells cells;
	int fine, most;

	__device__ bool operator()(size_t k) const
	{
		const uint32_t cell = cells.key[k] >> fine, from = cells.begin[cell];
		return (k - from) % nb_treepm_share(cells.begin[cell + 1] - from, most) == 0;
	}
};

/* What the near part is asked for; first: of groups.  eps: of all, unless they have softenings of their own. */
static int make_near(const nb_treepm_plan &plan, const given &of, const nb_treepm_cells &sources,
	const nb_treepm_cells &targets, double eps, nb_cuda_buffer<uint32_t> &first, nb_treepm_near *near)
{
	const bool spline = plan.law.law == NB_LAW_SPLINE;
	const double soft = spline ? nb_soft_of<true>(eps, of.length, of.floor)
				   : nb_soft_of<false>(eps, of.length, of.floor);
	*near = {spline, plan.box, plan.reach, plan.law.cut2, soft, 1 / (soft * soft), of.side, (int)plan.around,
		3 * of.bits, GROUP, sources, targets, 0, nullptr, nullptr, nullptr, {}, {}};
	near->f64.fill(plan.law);
	near->f32.fill(plan.law);
	/* a group that is too wide would see one image of a source alone */
	if (0.5 * plan.box / (double)plan.side + plan.reach >= plan.box / 2)
		near->most = 1;
	NB_TRY(first.alloc(targets.n));
	NB_TRY(nb_rows_of(targets.n, begins_group{targets, near->fine, near->most}, first.ptr, &near->ngroup));
	near->first = first.ptr;
	return NB_OK;
}

/* The near part by this device.  *pairs, unless null, is added to, and waited for. */
static int pull(const nb_treepm_near &model, bool mixed, bool pot, uint64_t *pairs)
{
	unsigned long long counted;
	nb_cuda_buffer<unsigned long long> count;
	nb_treepm_near near = model;
	NB_TRY(count.alloc(pairs ? 1 : 0));
	near.pairs = count.ptr;
	if (pairs)
		NB_CUDA_TRY(cudaMemsetAsync(count.ptr, 0, sizeof *count.ptr));
	NB_TRY(nb_treepm_near_cuda(&near, mixed, pot, 0));
	if (pairs) {
		NB_CUDA_TRY(cudaMemcpy(&counted, count.ptr, sizeof counted, cudaMemcpyDeviceToHost));
		*pairs += counted;
	}
	return NB_OK;
}

static int add_mesh(const nb_treepm_plan &plan, const nb_treepm &how, const nb_treepm_cells &sources,
	const nb_treepm_cells &targets, double weight, int fields, double *sum)
{
	const int m = how.mesh;
	const size_t numbers = nb_mesh_bytes(m) / sizeof(double);
	const nb_mesh_paint paint = {
		sources.n, sources.pos, sources.mass, plan.box, nb_mesh_unit(weight), 1, m, how.order};
	const nb_mesh_poisson poisson = {m, how.order, plan.box, plan.split};
	nb_cuda_buffer<double> mass, field;
	NB_TRY(mass.alloc(numbers));
	NB_TRY(nb_mesh_paint_cuda(&paint, mass.ptr, nullptr));
	NB_TRY(nb_mesh_transform_cuda(m, paint.unit, mass.ptr));
	NB_TRY(field.alloc(numbers));
	const nb_mesh_gather gather = {
		targets.n, targets.pos, plan.box, m, how.order, field.ptr, targets.begin, (int)plan.side};
	for (int c = 0; c < fields; c++) {
		NB_TRY(nb_mesh_field_cuda(&poisson, (enum nb_mesh_field)c, mass.ptr, field.ptr));
		NB_TRY(nb_mesh_gather_cuda(&gather, sum + c * targets.n, 1));
	}
	return NB_OK;
}

/* ---- all together --------------------------------------------------------------------------------- */

/* Where sums go, in the caller's units.  A body does not feel the softened potential that it has where it is. */
struct delivered {
	size_t n;
	const double *sum, *near, *mass, *eps; /* near: what sum is without, or null; mass: scaled; eps: of the
						  bodies, or null: common */
	const uint32_t *number, *rows;
	double acc_out, pot_out, length, common, background;
	bool bodies, in_list;
	double *acc, *pot;
};

static __global__ void deliver_kernel(const __grid_constant__ delivered of)
{
	const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (k >= of.n)
		return;
	const size_t number = of.number[k], row = of.rows ? of.rows[number] : number, to = of.in_list ? number : row;
	const auto sum = [&](size_t c) {
		const size_t at = c * of.n + k;
		return of.near ? of.sum[at] + of.near[at] : of.sum[at];
	};
	for (int c = 0; of.acc && c < 3; c++)
		of.acc[3 * to + c] = of.acc_out * sum(c);
	if (!of.pot)
		return;
	const double eps = !of.bodies ? 0 : (of.eps ? of.eps[row] : of.common) * of.length;
	const double own = eps > NB_TREEPM_LEAST_EPS ? of.mass[k] / eps : 0;
	of.pot[to] = of.pot_out * (sum(3) + own + of.background);
}

static int clear_spread(const struct nb_gravity *g, const struct nb_gravity_points *points)
{
	if (!points || !points->spread)
		return NB_OK;
	if (points->acc)
		NB_CUDA_TRY(cudaMemsetAsync(points->acc, 0, 3 * g->n * sizeof(double)));
	if (points->pot)
		NB_CUDA_TRY(cudaMemsetAsync(points->pot, 0, g->n * sizeof(double)));
	return NB_OK;
}

static int look(const struct nb_gravity *g, double box, const struct nb_treepm *how,
	const struct nb_gravity_points *points, found *bodies)
{
	found at = {};
	NB_TRY(nb_treepm_check(g, box, how, points));
	if (!(g->eps >= 0) || !isfinite(g->eps))
		return isnan(g->eps) ? NB_ENONFINITE : NB_EINVAL;
	if (g->n > 0)
		NB_TRY(survey({g->n, 0, g->pos, g->mass, g->body_eps, nullptr}, bodies));
	if (points && points->n > 0)
		NB_TRY(survey({points->n, g->n, points->target ? nullptr : points->pos, nullptr,
				      points->target ? nullptr : points->eps, points->target},
			&at));
	const double largest = fmax(fmax(bodies->eps, at.eps), g->body_eps ? 0 : g->eps);
	return largest <= nb_treepm_longest_eps(how, box, g->softening) ? NB_OK : NB_EINVAL;
}

int nb_treepm_cuda(const struct nb_gravity *g, double box, const struct nb_treepm *how,
	const struct nb_gravity_points *points, struct nb_treepm_kept *, struct nb_gravity_count *count)
{
	const bool bodies = !points || points->target, spline = g->softening == NB_SPLINE;
	const bool mixed = g->precision == NB_MIXED, own = g->body_eps || (!bodies && points->eps);
	double *const acc = points ? points->acc : g->acc, *const pot = points ? points->pot : g->pot;
	const int fields = pot ? 4 : 3;
	found all = {};
	nb_treepm_plan plan;
	NB_TRY(look(g, box, how, points, &all));
	NB_TRY(clear_spread(g, points));
	nb_treepm_make_plan(g, box, how, points, all.heaviest, &plan);
	given of = {g->n, g->pos, g->mass, g->body_eps, g->eps, nullptr, plan.scale.length, plan.scale.mass, plan.box,
		mixed ? (double)NB_PAIR_FLOOR_F32 : NB_PAIR_FLOOR_F64, (int)plan.side, FINE};
	while (of.bits > 0 && pow((double)plan.side, 3) * (1 << 3 * of.bits) > 0x1p32)
		of.bits--;
	side source, target;
	side &at = points ? target : source;
	NB_TRY(source.fill(of, spline, own));
	if (points) {
		of.n = points->n;
		of.rows = points->target;
		if (!bodies) {
			of.pos = points->pos;
			of.mass = nullptr;
			of.eps = points->eps;
			of.common = 0;
		}
		NB_TRY(target.fill(of, spline, own));
	}
	const size_t n = at.cells.n;
	if (n == 0)
		return NB_OK;
	const bool shared = !points && nb_treepm_is_shared(n);
	uint64_t *const pairs = count ? &count->p2p : nullptr;
	nb_cuda_buffer<double> sum, apart; /* of the far part; of the near part, or null: it is added to those */
	nb_cuda_buffer<uint32_t> first;
	nb_treepm_near near;
	NB_TRY(sum.alloc(fields * n));
	NB_TRY(apart.alloc(shared ? fields * n : 0));
	NB_CUDA_TRY(cudaMemsetAsync(sum.ptr, 0, sum.count * sizeof *sum.ptr));
	if (shared)
		NB_CUDA_TRY(cudaMemsetAsync(apart.ptr, 0, apart.count * sizeof *apart.ptr));
	const auto far = [&]() {
		return all.weight > 0 ? add_mesh(plan, *how, source.cells, at.cells, all.weight * plan.scale.mass,
						fields, sum.ptr)
				      : (int)NB_OK;
	};
	if (!shared) /* groups take memory, too */
		NB_TRY(far());
	NB_TRY(make_near(plan, of, source.cells, at.cells, g->eps, first, &near));
	near.sum = shared ? apart.ptr : sum.ptr;
	if (shared)
		NB_TRY(nb_treepm_share_cuda(&near, mixed, pot != nullptr, far, pairs));
	else
		NB_TRY(pull(near, mixed, pot != nullptr, pairs));
	const delivered out = {n, sum.ptr, apart.ptr, at.mass.ptr, g->body_eps, at.number.ptr, of.rows,
		plan.scale.acc_out, plan.scale.pot_out, plan.scale.length, g->eps,
		nb_treepm_background(&plan, how, all.total * plan.scale.mass), bodies, points && !points->spread, acc,
		pot};
	deliver_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(out);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
