/* How the devices of a team share the near part (team.cuh), while the first one has the far part to do, too.
 *
 * Each member gets copies of the bodies, and is dealt parts of the groups, until there are none; part 0 is the far
 * part, which the primary begins with.  What is near of a body is summed by one device, and added to what is far in the
 * end, as one device does it: so nothing depends on who had it. */
#include "kernels/team/team.cuh"
#include "kernels/treepm/treepm_internal.cuh"

/* Part k of the groups has bodies body[k] ... body[k + 1] - 1. */
struct division {
	size_t parts;
	uint32_t body[NB_TREEPM_PARTS + 1];
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
	nb_cuda_buffer<uint32_t> body;
	d->parts = nb_treepm_parts(near.ngroup);
	NB_TRY(body.alloc(d->parts + 1));
	bodies_kernel<<<1, NB_TREEPM_PARTS + 1>>>(near.targets.n, near.ngroup, d->parts, near.first, body.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(d->body, body.ptr, (d->parts + 1) * sizeof *d->body, cudaMemcpyDeviceToHost));
	return NB_OK;
}

static int copy_cells(nb_team_copies &copies, nb_treepm_cells *cells, size_t count)
{
	NB_TRY(copies.add(&cells->pos, 3 * cells->n));
	NB_TRY(copies.add(&cells->mass, cells->n));
	NB_TRY(copies.add(&cells->soft, cells->n));
	NB_TRY(copies.add(&cells->units, 3 * cells->n));
	NB_TRY(copies.add(&cells->key, cells->n));
	return copies.add(&cells->begin, count + 1);
}

static int share(nb_team_worker &worker, const nb_treepm_near &primary, bool mixed, bool pot, const division &d,
	const std::function<int()> &far, unsigned long long *counted)
{
	const size_t n = primary.targets.n, fields = pot ? 4 : 3, side = (size_t)primary.side;
	nb_cuda_buffer<double> sum;
	nb_cuda_buffer<unsigned long long> pairs;
	nb_team_copies copies(worker);
	nb_treepm_near near = primary;
	NB_TRY(pairs.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(pairs.ptr, 0, sizeof *pairs.ptr));
	near.pairs = counted ? pairs.ptr : nullptr;
	if (!worker.is_primary()) {
		NB_TRY(sum.alloc(fields * n));
		NB_CUDA_TRY(cudaMemsetAsync(sum.ptr, 0, fields * n * sizeof *sum.ptr));
		near.sum = sum.ptr;
		NB_TRY(copy_cells(copies, &near.sources, side * side * side));
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
