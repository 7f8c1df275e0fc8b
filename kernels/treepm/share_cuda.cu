/* How the devices of a team share the near part (team.cuh), while the first one has the far part to do, too.
 *
 * Each member is dealt parts of the groups, until there are none; part 0 is the far part, which the primary begins
 * with.  Copies of bodies come to a member by planes of cells, when a part needs them, while the part before it is
 * computed.  What is near of a body is summed by one device, and added to what is far in the end, as one device does
 * it: so nothing depends on who had it. */
#include <algorithm>
#include <vector>

#include "kernels/team/team.cuh"
#include "kernels/treepm/treepm_internal.cuh"

/* Part k of the groups has bodies body[k] ... body[k + 1] - 1, and plane x of cells plane[x] ... plane[x + 1] - 1. */
struct division {
	size_t parts;
	uint32_t body[NB_TREEPM_PARTS + 1];
	std::vector<uint32_t> plane;

	int plane_of(uint32_t b) const
	{
		return (int)(std::upper_bound(plane.begin(), plane.end(), b) - plane.begin()) - 1;
	}
};

static __global__ void bodies_kernel(size_t n, size_t groups, size_t parts, const uint32_t *first, uint32_t *body)
{
	const size_t k = threadIdx.x;
	if (k <= parts)
		body[k] = k < parts ? first[nb_treepm_part(groups, parts, k)] : (uint32_t)n;
}

/* Waits for the device. */
static int divide(const nb_treepm_near &near, division *d)
{
	const size_t side = (size_t)near.side;
	nb_cuda_buffer<uint32_t> body;
	d->parts = nb_treepm_parts(near.ngroup);
	NB_TRY(body.alloc(d->parts + 1));
	bodies_kernel<<<1, NB_TREEPM_PARTS + 1>>>(near.targets.n, near.ngroup, d->parts, near.first, body.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(d->body, body.ptr, (d->parts + 1) * sizeof *d->body, cudaMemcpyDeviceToHost));
	d->plane.resize(side + 1);
	NB_CUDA_TRY(cudaMemcpy2D(d->plane.data(), sizeof d->plane[0], near.sources.begin,
		side * side * sizeof *near.sources.begin, sizeof d->plane[0], side + 1, cudaMemcpyDeviceToHost));
	return NB_OK;
}

/* Bodies at a member that is not the primary. */
struct arrivals {
	nb_cuda_buffer<double> pos, mass, soft;
	nb_cuda_buffer<uint32_t> units, key;
	std::vector<bool> there; /* of planes */

	int alloc(const nb_treepm_cells &primary, int side, nb_treepm_cells *here)
	{
		NB_TRY(pos.alloc(3 * primary.n));
		NB_TRY(mass.alloc(primary.n));
		NB_TRY(soft.alloc(primary.soft ? primary.n : 0));
		NB_TRY(units.alloc(3 * primary.n));
		NB_TRY(key.alloc(primary.n));
		there.resize((size_t)side);
		here->pos = pos.ptr, here->mass = mass.ptr, here->soft = soft.ptr;
		here->units = units.ptr, here->key = key.ptr;
		return NB_OK;
	}

	/* Queues copies of bodies first ... end - 1. */
	int copy(const nb_team_worker &worker, const nb_treepm_cells &primary, size_t first, size_t end)
	{
		const auto some = [&](auto *here, const auto *from, size_t each) {
			const size_t bytes = (end - first) * each * sizeof *here;
			if (from && bytes > 0)
				NB_CUDA_TRY(cudaMemcpyPeerAsync(here + first * each, worker.device, from + first * each,
					worker.primary_device, bytes, worker.push));
			return (int)NB_OK;
		};
		NB_TRY(some(pos.ptr, primary.pos, 3));
		NB_TRY(some(mass.ptr, primary.mass, 1));
		NB_TRY(some(soft.ptr, primary.soft, 1));
		NB_TRY(some(units.ptr, primary.units, 3));
		return some(key.ptr, primary.key, 1);
	}

	/* What comes next in the stream of a part has its bodies, first ... end - 1, and those around them.  A group at
	 * the wall of a plane may count as one of the next: so there is a plane more on each side. */
	int fetch(
		nb_team_worker &worker, const nb_treepm_near &primary, const division &d, uint32_t first, uint32_t end)
	{
		const int side = primary.side, around = primary.around + 1;
		const int low = d.plane_of(first) - around, high = d.plane_of(end - 1) + around;
		for (int x = low; x <= std::min(high, low + side - 1); x++) {
			const size_t p = (size_t)((x % side + side) % side);
			if (there[p])
				continue;
			NB_TRY(copy(worker, primary.sources, d.plane[p], d.plane[p + 1]));
			there[p] = true;
		}
		NB_CUDA_TRY(cudaEventRecord(worker.pushed, worker.push));
		NB_CUDA_TRY(cudaStreamWaitEvent(worker.stream(), worker.pushed, 0));
		return NB_OK;
	}
};

static int share(nb_team_worker &worker, const nb_treepm_near &primary, bool mixed, bool pot, const division &d,
	const std::function<int()> &far, unsigned long long *counted)
{
	const size_t n = primary.targets.n, fields = pot ? 4 : 3, side = (size_t)primary.side;
	nb_cuda_buffer<double> sum;
	nb_cuda_buffer<unsigned long long> pairs;
	arrivals bodies;
	nb_team_copies copies(worker);
	nb_treepm_near near = primary;
	NB_TRY(pairs.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(pairs.ptr, 0, sizeof *pairs.ptr));
	near.pairs = counted ? pairs.ptr : nullptr;
	if (!worker.is_primary()) {
		NB_TRY(sum.alloc(fields * n));
		NB_CUDA_TRY(cudaMemsetAsync(sum.ptr, 0, fields * n * sizeof *sum.ptr));
		near.sum = sum.ptr;
		NB_TRY(bodies.alloc(primary.sources, primary.side, &near.sources));
		NB_TRY(copies.add(&near.sources.begin, side * side * side + 1));
		NB_TRY(copies.add(&near.first, primary.ngroup));
		near.targets = near.sources;
	}
	NB_TRY(copies.fetch());
	const uint32_t *const first = near.first;
	for (size_t part; worker.next(&part);) {
		if (part == 0) { /* before it is dealt more, which others could have done meanwhile */
			NB_TRY(far());
			NB_CUDA_TRY(cudaStreamSynchronize(0));
			continue;
		}
		const size_t from = nb_treepm_part(primary.ngroup, d.parts, part - 1), body = d.body[part - 1];
		near.first = first + from;
		near.ngroup = nb_treepm_part(primary.ngroup, d.parts, part) - from;
		if (!worker.is_primary())
			NB_TRY(bodies.fetch(worker, primary, d, d.body[part - 1], d.body[part]));
		NB_TRY(nb_treepm_near_cuda(&near, mixed, pot, worker.stream()));
		for (size_t c = 0; c < fields; c++)
			NB_TRY(worker.copy_back(primary.sum + c * n + body, near.sum + c * n + body,
				(d.body[part] - body) * sizeof *near.sum));
	}
	NB_TRY(worker.finish());
	if (counted)
		NB_CUDA_TRY(cudaMemcpy(counted, pairs.ptr, sizeof *counted, cudaMemcpyDeviceToHost));
	return NB_OK;
}

bool nb_treepm_is_shared(size_t n)
{
	return nb_team_size() > 1 && n >= NB_TEAM_BODIES;
}

int nb_treepm_share_cuda(
	const nb_treepm_near *near, bool mixed, bool pot, const std::function<int()> &far, uint64_t *pairs)
{
	division d;
	unsigned long long counted[NB_TEAM_MOST] = {};
	NB_TRY(divide(*near, &d));
	NB_TRY(nb_team_run(1 + d.parts, [&](nb_team_worker &worker) {
		return share(worker, *near, mixed, pot, d, far, pairs ? &counted[worker.member] : nullptr);
	}));
	for (int k = 0; pairs && k < nb_team_size(); k++)
		*pairs += counted[k];
	return NB_OK;
}
