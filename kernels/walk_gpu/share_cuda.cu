/* share_cuda.cu - how the devices of a team share a walk (team.cuh): struct walk is copied and divided.
 *
 * The tree, its groups and what is packed for the walk are made at the primary.  Each member gets copies, of the bodies
 * while the tree is built (nb_tree_build_cuda sends them early).  Where kernels may use the primary's memory, one
 * kernel a member walks the groups that it draws from the primary's counter, and writes what their bodies feel where it
 * belongs; what is read once a group, or rarely, is not copied.  Elsewhere each member is assigned runs of groups, and
 * the forces on their bodies are copied back.  Nothing that a group gets depends on who walks it. */
#include <string.h>

#include "kernels/team/team.cuh"
#include "kernels/walk_gpu/walk_internal.cuh"

/* Where walks run one after the other, with memory for their stacks; worker: that of a member of the team, or null. */
struct nb_walk_slot {
	cudaStream_t stream = 0;
	struct nb_team_worker *worker = nullptr;
	nb_cuda_buffer<uint32_t> stack, region_listed, region_list;
	nb_cuda_buffer<struct region_place> region_place;
	nb_cuda_buffer<char> region_terms;
	size_t regions = 0; /* in a range, at most */
};

int nb_slot_stack(struct walk &w, size_t count)
{
	if (!w.dealt.slot->stack.ptr) {
		NB_TRY(w.dealt.slot->stack.alloc(count));
		if (w.dealt.slot->worker)
			NB_TRY(w.dealt.slot->worker->follow_default());
	}
	w.stack = w.dealt.slot->stack.ptr;
	return NB_OK;
}

int nb_slot_regions(struct walk &w, size_t bytes)
{
	struct nb_walk_slot &slot = *w.dealt.slot;
	if (!slot.region_place.ptr) {
		NB_TRY(slot.region_listed.alloc(slot.regions));
		NB_TRY(slot.region_place.alloc(slot.regions));
		NB_TRY(slot.region_terms.alloc(slot.regions * bytes));
		NB_TRY(slot.region_list.alloc(slot.regions * w.region.capacity));
		if (slot.worker)
			NB_TRY(slot.worker->follow_default());
	}
	w.region.listed = slot.region_listed.ptr, w.region.place = slot.region_place.ptr;
	w.region.terms = slot.region_terms.ptr, w.region.list = slot.region_list.ptr;
	NB_CUDA_TRY(cudaMemsetAsync(w.region.listed, 0xff, slot.regions * sizeof *w.region.listed, slot.stream));
	return NB_OK;
}

enum {
	NB_REGION_BYTES = 1024,	      /* of one beside its list, at most */
	NB_REGIONS_BOUND = 512 << 20, /* bytes for as many as there can be, rather than to ask the device */
	NB_REGIONS_MOST = 1 << 30     /* bytes; more are walked in several ranges */
};

static size_t nb_region_bytes(const struct walk &w)
{
	return w.region.capacity * sizeof *w.region.list + NB_REGION_BYTES;
}

/* So many regions at most are in `groups` groups. */
static size_t nb_regions_in(const struct walk &w, size_t groups)
{
	return groups * w.group / (w.group + 1) + 2;
}

/* How many groups and regions there are.  Waits for the device. */
static int nb_walk_count(struct walk &w, uint32_t *groups)
{
	uint32_t sum[2]; /* of groups; of these and regions, as region.at goes on from there */
	NB_CUDA_TRY(cudaMemcpy2D(sum, sizeof *sum, w.ngroup, ((w.n + 31) / 32 + 1) * sizeof *sum, sizeof *sum, 2,
		cudaMemcpyDeviceToHost));
	*groups = sum[0];
	w.region.count = w.region.bodies ? sum[1] - sum[0] : 0;
	if (w.region.count == 0)
		w.region.bodies = 0;
	return NB_OK;
}

cudaStream_t nb_lane_stream(const struct walk &w)
{
	return w.dealt.slot->stream;
}

/* So that each member that shares a device gets groups. */
unsigned nb_lane_share(const struct walk &w, unsigned blocks)
{
	const unsigned sharers = w.dealt.drawn.of ? (unsigned)w.dealt.slot->worker->sharers : 1;
	return blocks < sharers ? 1 : blocks / sharers;
}

enum {
	NB_SHARE_GROUPS = 2048, /* of a part, at least: about as many as an H200 walks at a time */
	NB_SHARE_PARTS = 64
};

/* What is counted, of one device. */
struct nb_share_tally {
	unsigned long long counts[4];
	bool wrong; /* it was of copies that had been sent early, and changed since */
};

/* Copies of all that walk_kernel reads often, or, unless direct, of all that it reads; *w will have them.  A pointer
 * that is missing here still points to the primary.  copies: a member's, or nb_share_sender.  groups: 0: not known yet,
 * as region.count. */
template <class Copies>
static int nb_share_copy(Copies &copies, struct walk *w, enum nb_precision precision, bool direct, uint32_t groups)
{
	const size_t n = w->n, nnode = w->nnode;
	NB_TRY(copies.add(&w->plan, 1));
	NB_TRY(copies.add(&w->pos, 3 * n));
	NB_TRY(copies.add(&w->mass, n));
	if (w->region.bodies) {
		NB_TRY(copies.add(&w->region.mark, (n + 31) / 32));
		NB_TRY(copies.add(&w->region.at, (n + 31) / 32 + 1));
		NB_TRY(copies.add(&w->region.span, w->region.count));
	}
	NB_TRY(copies.add(&w->place, 4 * nnode)); /* and moments */
	w->moment = w->place + 2 * nnode;
	NB_TRY(copies.add(&w->extent, nnode));
	NB_TRY(copies.add(&w->soft.body_eps, n));
	NB_TRY(copies.add(&w->soft.node_eps, 3 * nnode));
	NB_TRY(copies.add(&w->soft.terms, nnode));
	NB_TRY(copies.add(&w->high.body_rows, w->high.body_bytes));
	NB_TRY(copies.add(&w->high.far_rows, w->high.far_bytes));
	if (precision == NB_F64 || w->high.body_rows)
		NB_TRY(copies.add(&w->tree.com, 3 * nnode));
	if (precision == NB_F64)
		NB_TRY(copies.add(&w->tree.quad, 6 * nnode));
	if (precision == NB_F64 || !direct) /* else of leaves that are a point */
		NB_TRY(copies.add(&w->tree.mass, nnode));
	if (groups)
		NB_TRY(copies.add(&w->start, groups + (size_t)1));
	if (w->jerk) {
		NB_TRY(copies.add(&w->vel, 3 * n));
		NB_TRY(copies.add(&w->rates.velocity, 3 * nnode));
		NB_TRY(copies.add(&w->motion, 2 * nnode));
		if (precision == NB_F64)
			NB_TRY(copies.add(&w->rates.quad, 6 * nnode));
	}
	if (direct)
		return NB_OK;
	NB_TRY(copies.add(&w->acc_old, 3 * n));	   /* once a group */
	NB_TRY(copies.add(&w->tree.first, nnode)); /* of leaves that are a point */
	NB_TRY(copies.add(&w->tree.count, nnode)); /* of leaves of many bodies */
	return NB_OK;
}

/* Sends what members will ask for, if it goes in several pieces (send_cuda.cu): else all members fetch it sooner, at
 * the same time, than one thread can queue how it is passed on. */
struct nb_share_sender {
	enum { LARGE = 64 << 20 }; /* bytes */

	template <class T> int add(T **array, size_t count)
	{
		return nb_team_send(*array, count * sizeof(T), LARGE);
	}
};

/* Lets a member have its copies; direct: when its kernel begins, and what was sent early is compared later. */
static int nb_share_replicate(
	struct nb_team_copies &copies, struct walk *w, enum nb_precision precision, bool direct, uint32_t groups)
{
	if (!copies.worker.is_primary()) {
		w->tree.child = w->tree.nchild = nullptr; /* of the preparation alone */
		w->tree.box = nullptr;
		w->rates.fastest = nullptr;
		w->high.rows = nullptr;
		NB_TRY(nb_share_copy(copies, w, precision, direct, groups));
	}
	NB_TRY(direct ? copies.queue(true) : copies.fetch());
	if (!copies.worker.is_primary()) { /* the primary may have counted before it was copied */
		NB_CUDA_TRY(cudaMemsetAsync(w->plan->counts, 0, sizeof w->plan->counts, 0));
		NB_TRY(copies.worker.follow_default());
	}
	return NB_OK;
}

/* Part k is groups k size .. (k + 1) size - 1, whose bodies begin at bound[k]. */
struct nb_share_division {
	uint32_t groups, size, parts, bound[NB_SHARE_PARTS + 1];
};

/* The walk of one member, by one kernel.  groups: 0: not known. */
static int nb_share_draw(struct nb_team_worker &worker, const struct walk &primary, enum nb_precision precision,
	bool count, nb_walk_launcher *launch, uint32_t groups, struct nb_share_tally *tally)
{
	struct nb_walk_slot slot;
	nb_cuda_buffer<uint4> ranges;
	nb_cuda_buffer<unsigned> drawn;
	struct nb_team_copies copies(worker);
	struct walk w = primary;
	NB_TRY(ranges.alloc((groups ? groups : primary.n) / NB_DRAW_GROUPS + 8)); /* at the end warps draw empty ones */
	NB_TRY(drawn.alloc(1 + ranges.count));
	NB_CUDA_TRY(cudaMemsetAsync(drawn.ptr, 0, drawn.count * sizeof *drawn.ptr, 0));
	NB_TRY(nb_share_replicate(copies, &w, precision, true, groups));
	w.dealt.drawn.of = ranges.ptr, w.dealt.drawn.ready = drawn.ptr + 1, w.dealt.drawn.next = drawn.ptr;
	w.dealt.slot = &slot;
	slot.worker = &worker;
	slot.regions = primary.region.count;
	static_assert(sizeof tally->counts <= NB_TEAM_NOTE, "the counts fit on a note");
	for (size_t k; worker.next(&k);) {
		slot.stream = worker.stream();
		NB_TRY(launch(w, precision, count));
		NB_CUDA_TRY(cudaMemcpyAsync(
			worker.note, w.plan->counts, sizeof tally->counts, cudaMemcpyDeviceToHost, worker.stream()));
		NB_TRY(copies.wait());
	}
	NB_TRY(worker.finish());
	if (worker.parts > 0)
		memcpy(tally->counts, worker.note, sizeof tally->counts);
	worker.drawn = tally->counts[3];
	return copies.differ(&tally->wrong);
}

/* The walk of one member, part after part. */
static int nb_share_parts(struct nb_team_worker &worker, const struct walk &primary, enum nb_precision precision,
	bool count, nb_walk_launcher *launch, const struct nb_share_division &division, struct nb_share_tally *tally)
{
	const uint32_t groups = division.groups, size = division.size;
	const size_t n = primary.n, parts = division.parts;
	struct nb_walk_slot slot[NB_TEAM_UNDER_WAY];
	nb_cuda_buffer<double> acc, pot, jerk;
	nb_cuda_buffer<unsigned> next;
	struct nb_team_copies copies(worker);
	struct walk w = primary;
	NB_TRY(next.alloc(parts));
	NB_CUDA_TRY(cudaMemsetAsync(next.ptr, 0, parts * sizeof *next.ptr, 0));
	if (!worker.is_primary()) {
		NB_TRY(acc.alloc(3 * n));
		NB_TRY(pot.alloc(primary.pot ? n : 0));
		NB_TRY(jerk.alloc(primary.jerk ? 3 * n : 0));
		w.acc = acc.ptr, w.pot = pot.ptr, w.jerk = jerk.ptr;
	}
	NB_TRY(nb_share_replicate(copies, &w, precision, false, groups));
	for (size_t k; worker.next(&k);) {
		const size_t first = division.bound[k], bodies = division.bound[k + 1] - first;
		struct nb_walk_slot &here = slot[worker.parts % NB_TEAM_UNDER_WAY];
		here.stream = worker.stream(), here.worker = &worker;
		here.regions = nb_regions_in(primary, size);
		w.dealt.slot = &here;
		w.dealt.begin = (uint32_t)k * size,
		w.dealt.end = groups - w.dealt.begin < size ? groups : w.dealt.begin + size;
		w.dealt.next = next.ptr + k;
		NB_TRY(launch(w, precision, count));
		NB_TRY(worker.copy_back(primary.acc + 3 * first, w.acc + 3 * first, 3 * bodies * sizeof *w.acc));
		if (w.pot)
			NB_TRY(worker.copy_back(primary.pot + first, w.pot + first, bodies * sizeof *w.pot));
		if (w.jerk)
			NB_TRY(worker.copy_back(
				primary.jerk + 3 * first, w.jerk + 3 * first, 3 * bodies * sizeof *w.jerk));
	}
	NB_TRY(worker.finish());
	if (count)
		NB_CUDA_TRY(cudaMemcpy(tally->counts, w.plan->counts, sizeof tally->counts, cudaMemcpyDeviceToHost));
	return NB_OK;
}

/* Parts of NB_SHARE_GROUPS groups or more. */
static int nb_share_divide(const struct walk &w, struct nb_share_division *d)
{
	uint32_t wanted = d->groups / NB_SHARE_GROUPS;
	wanted = wanted < 1 ? 1 : wanted < NB_SHARE_PARTS ? wanted : (uint32_t)NB_SHARE_PARTS;
	d->size = (d->groups + wanted - 1) / wanted;
	d->parts = (d->groups + d->size - 1) / d->size;
	NB_CUDA_TRY(cudaMemcpy2D(d->bound, sizeof *d->bound, w.start, d->size * sizeof *d->bound, sizeof *d->bound,
		d->parts, cudaMemcpyDeviceToHost));
	d->bound[d->parts] = (uint32_t)w.n;
	return NB_OK;
}

/* The walk by all of the team, group by group; *wrong: it must be done again. */
static int nb_share_direct(struct walk &w, enum nb_precision precision, bool count, nb_walk_launcher *launch,
	uint32_t groups, struct nb_share_tally *tally, bool *wrong)
{
	*wrong = false;
	NB_TRY(nb_team_run((size_t)nb_team_size(), [&](struct nb_team_worker &worker) {
		return nb_share_draw(worker, w, precision, count, launch, groups, &tally[worker.member]);
	}));
	for (int k = 0; k < nb_team_size(); k++)
		*wrong |= tally[k].wrong;
	return NB_OK;
}

static int nb_share_in_parts(struct walk &w, enum nb_precision precision, bool count, nb_walk_launcher *launch,
	const struct nb_share_division &division, struct nb_share_tally *tally)
{
	return nb_team_run(division.parts, [&](struct nb_team_worker &worker) {
		return nb_share_parts(worker, w, precision, count, launch, division, &tally[worker.member]);
	});
}

/* The walk by all of the team; what all count is counted at the primary.  Where there is memory for as many regions as
 * there can be, the host does not wait to know how many there are, and where groups begin stays at the primary. */
static int nb_share_walk(struct walk &w, enum nb_precision precision, bool count, nb_walk_launcher *launch)
{
	struct nb_share_division division = {};
	struct nb_share_tally tally[NB_TEAM_MOST] = {}, all = {};
	struct nb_share_sender sender;
	const size_t most = w.region.bodies ? w.n / (w.group + 1) + 1 : 0;
	const bool bounded = nb_team_direct() && most * nb_region_bytes(w) <= NB_REGIONS_BOUND;
	bool direct = bounded, wrong = false;
	w.region.count = bounded ? most : 0;
	struct walk sent = w;
	/* while the device is still at work on what is asked for then */
	NB_TRY(nb_share_copy(sender, &sent, precision, true, 0));
	if (!bounded) {
		NB_TRY(nb_walk_count(w, &division.groups));
		direct = nb_team_direct() && w.region.count * nb_region_bytes(w) <= NB_REGIONS_MOST;
		if (!direct)
			NB_TRY(nb_share_divide(w, &division));
		sent = w;
		NB_TRY(nb_share_copy(sender, &sent, precision, direct, division.groups));
	}
	if (direct)
		NB_TRY(nb_share_direct(w, precision, count, launch, division.groups, tally, &wrong));
	else
		NB_TRY(nb_share_in_parts(w, precision, count, launch, division, tally));
	if (wrong) { /* by copies of their own */
		NB_CUDA_TRY(cudaMemsetAsync(w.dealt.next, 0, sizeof *w.dealt.next, 0));
		NB_CUDA_TRY(cudaMemsetAsync(w.plan->counts, 0, sizeof w.plan->counts, 0));
		NB_TRY(nb_share_direct(w, precision, count, launch, division.groups, tally, &wrong));
	}
	for (const struct nb_share_tally &t : tally)
		for (int c = 0; c < 4; c++)
			all.counts[c] += t.counts[c];
	if (count)
		NB_CUDA_TRY(cudaMemcpy(w.plan->counts, all.counts, sizeof all.counts, cudaMemcpyHostToDevice));
	return NB_OK;
}

/* The walk of one device.  So many regions that their lists would fill it are walked in ranges, one after the other. */
static int nb_walk_alone(struct walk &w, enum nb_precision precision, bool count, nb_walk_launcher *launch)
{
	struct nb_walk_slot slot;
	w.dealt.slot = &slot;
	slot.regions = w.n / (w.group + 1) + 1;
	if (!w.region.bodies || slot.regions * nb_region_bytes(w) <= NB_REGIONS_BOUND)
		return launch(w, precision, count);
	uint32_t groups;
	NB_TRY(nb_walk_count(w, &groups));
	slot.regions = w.region.count;
	if (slot.regions * nb_region_bytes(w) <= NB_REGIONS_MOST)
		return launch(w, precision, count);
	const uint32_t size = (uint32_t)(NB_REGIONS_MOST / nb_region_bytes(w)), parts = (groups + size - 1) / size;
	nb_cuda_buffer<unsigned> next;
	NB_TRY(next.alloc(parts));
	NB_CUDA_TRY(cudaMemsetAsync(next.ptr, 0, parts * sizeof *next.ptr, 0));
	slot.regions = nb_regions_in(w, size);
	for (uint32_t k = 0; k < parts; k++) {
		w.dealt.begin = k * size, w.dealt.end = groups - w.dealt.begin < size ? groups : w.dealt.begin + size;
		w.dealt.next = next.ptr + k;
		NB_TRY(launch(w, precision, count));
	}
	return NB_OK;
}

int nb_walk_groups(struct walk &w, enum nb_precision precision, bool count, bool alone, nb_walk_launcher *launch)
{
	return !alone && nb_team_size() > 1 && w.n >= NB_TEAM_BODIES ? nb_share_walk(w, precision, count, launch)
								     : nb_walk_alone(w, precision, count, launch);
}
