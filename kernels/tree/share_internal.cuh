/* share_internal.cuh - how the devices of a team share a walk (team.cuh).  A part of walk_cuda.cu, whose struct walk it
 * copies and divides.
 *
 * The tree, its groups and what is packed for the walk are made at home.  Each member gets copies, walks runs of groups
 * that it is dealt, and brings home what their bodies feel.  Nothing that a group gets depends on who walks it. */
#ifndef NB_TREE_SHARE_INTERNAL_CUH
#define NB_TREE_SHARE_INTERNAL_CUH

#include "kernels/team/team.cuh"

/* Where walks run one after the other, with memory for their stacks; hand: that of a member of the team, or null. */
struct nb_lane {
	cudaStream_t stream = 0;
	struct nb_team_hand *hand = nullptr;
	nb_cuda_buffer<uint32_t> stack, region_listed, region_list;
	nb_cuda_buffer<struct region_place> region_place;
	nb_cuda_buffer<char> region_terms;
	size_t regions = 0; /* in a range, at most */
};

/* Gives a walk room for `count` nodes on stacks. */
static int nb_lane_stack(struct walk &w, size_t count)
{
	if (!w.lane->stack.ptr) {
		NB_TRY(w.lane->stack.alloc(count));
		if (w.lane->hand)
			NB_TRY(w.lane->hand->settle());
	}
	w.stack = w.lane->stack.ptr;
	return NB_OK;
}

/* Memory for what walks of regions leave, with expansions of so many bytes. */
static int nb_lane_regions(struct walk &w, size_t bytes)
{
	struct nb_lane &lane = *w.lane;
	if (!lane.region_place.ptr) {
		NB_TRY(lane.region_listed.alloc(lane.regions));
		NB_TRY(lane.region_place.alloc(lane.regions));
		NB_TRY(lane.region_terms.alloc(lane.regions * bytes));
		NB_TRY(lane.region_list.alloc(lane.regions * w.region.room));
		if (lane.hand)
			NB_TRY(lane.hand->settle());
	}
	w.region.listed = lane.region_listed.ptr, w.region.place = lane.region_place.ptr;
	w.region.terms = lane.region_terms.ptr, w.region.list = lane.region_list.ptr;
	NB_CUDA_TRY(cudaMemsetAsync(w.region.listed, 0xff, lane.regions * sizeof *w.region.listed, lane.stream));
	return NB_OK;
}

enum {
	NB_SHARE_BODIES = 1 << 16, /* fewer are walked at home sooner than they are copied */
	NB_SHARE_GROUPS = 2048,	   /* of a part, at least: about as many as an H200 walks at a time */
	NB_SHARE_PARTS = 64
};

/* What is counted, of one device. */
struct nb_walk_tally {
	unsigned long long counts[3];
};

/* Lets a member of the team have all that walk_kernel reads; a pointer that is missing here still points home. */
static int nb_walk_replicate(
	struct nb_team_copies &copies, struct walk *w, enum nb_precision precision, uint32_t groups)
{
	const size_t n = w->n, nnode = w->nnode;
	if (copies.hand.is_home())
		return NB_OK;
	w->child = w->nchild = nullptr; /* of the preparation alone */
	w->box = nullptr;
	w->fastest = nullptr;
	NB_TRY(copies.add(&w->plan, 1));
	NB_TRY(copies.add(&w->pos, 3 * n));
	NB_TRY(copies.add(&w->mass, n));
	NB_TRY(copies.add(&w->start, groups + (size_t)1));
	NB_TRY(copies.add(&w->region.mark, (n + 31) / 32));
	NB_TRY(copies.add(&w->region.at, (n + 31) / 32 + 1));
	NB_TRY(copies.add(&w->region.node, n / (w->group + 1) + 1));
	NB_TRY(copies.add(&w->place, 2 * nnode));
	NB_TRY(copies.add(&w->moment, 2 * nnode));
	NB_TRY(copies.add(&w->extent, nnode));
	NB_TRY(copies.add(&w->first, nnode));
	NB_TRY(copies.add(&w->count, nnode));
	NB_TRY(copies.add(&w->node_mass, nnode));
	NB_TRY(copies.add(&w->acc_old, 3 * n));
	NB_TRY(copies.add(&w->body_eps, n));
	NB_TRY(copies.add(&w->node_eps, 3 * nnode));
	NB_TRY(copies.add(&w->soft, nnode));
	w->rows = nullptr;
	NB_TRY(copies.add(&w->body_rows, w->body_bytes));
	NB_TRY(copies.add(&w->far_rows, w->far_bytes));
	if (precision == NB_F64 || w->body_rows)
		NB_TRY(copies.add(&w->com, 3 * nnode));
	if (precision == NB_F64)
		NB_TRY(copies.add(&w->quad, 6 * nnode));
	if (w->jerk) {
		NB_TRY(copies.add(&w->vel, 3 * n));
		NB_TRY(copies.add(&w->velocity, 3 * nnode));
		NB_TRY(copies.add(&w->motion, 2 * nnode));
		if (precision == NB_F64)
			NB_TRY(copies.add(&w->quad_rate, 6 * nnode));
	}
	return NB_OK;
}

/* Part k is groups k size .. (k + 1) size - 1, whose bodies begin at bound[k]. */
struct nb_walk_division {
	uint32_t groups, size, parts, bound[NB_SHARE_PARTS + 1];
};

/* The walk of one member. */
template <class Launch>
static int nb_walk_parts(struct nb_team_hand &hand, const struct walk &home, enum nb_precision precision, bool count,
	Launch launch, const struct nb_walk_division &division, struct nb_walk_tally *tally)
{
	const uint32_t groups = division.groups, size = division.size;
	const size_t n = home.n, parts = division.parts;
	struct nb_lane lane[NB_TEAM_UNDER_WAY];
	nb_cuda_buffer<double> acc, pot, jerk;
	nb_cuda_buffer<unsigned> next;
	struct nb_team_copies copies(hand);
	struct walk w = home;
	NB_TRY(next.alloc(parts));
	NB_CUDA_TRY(cudaMemsetAsync(next.ptr, 0, parts * sizeof *next.ptr, 0));
	if (!hand.is_home()) {
		NB_TRY(acc.alloc(3 * n));
		NB_TRY(pot.alloc(home.pot ? n : 0));
		NB_TRY(jerk.alloc(home.jerk ? 3 * n : 0));
		w.acc = acc.ptr, w.pot = pot.ptr, w.jerk = jerk.ptr;
	}
	NB_TRY(nb_walk_replicate(copies, &w, precision, groups));
	NB_TRY(copies.fetch());
	if (!hand.is_home()) { /* home may have counted before it was copied */
		NB_CUDA_TRY(cudaMemsetAsync(w.plan->counts, 0, sizeof w.plan->counts, 0));
		NB_TRY(hand.settle());
	}
	for (size_t k; hand.next(&k);) {
		const size_t first = division.bound[k], bodies = division.bound[k + 1] - first;
		struct nb_lane &here = lane[hand.parts % NB_TEAM_UNDER_WAY];
		here.stream = hand.stream(), here.hand = &hand;
		here.regions = (size_t)size * home.group / (home.group + 1) + 2;
		w.lane = &here;
		w.begin = (uint32_t)k * size, w.end = groups - w.begin < size ? groups : w.begin + size;
		w.next = next.ptr + k;
		NB_TRY(launch(w));
		NB_TRY(hand.bring(home.acc + 3 * first, w.acc + 3 * first, 3 * bodies * sizeof *w.acc));
		if (w.pot)
			NB_TRY(hand.bring(home.pot + first, w.pot + first, bodies * sizeof *w.pot));
		if (w.jerk)
			NB_TRY(hand.bring(home.jerk + 3 * first, w.jerk + 3 * first, 3 * bodies * sizeof *w.jerk));
	}
	NB_TRY(hand.finish());
	if (count)
		NB_CUDA_TRY(cudaMemcpy(tally, w.plan->counts, sizeof *tally, cudaMemcpyDeviceToHost));
	return NB_OK;
}

/* Parts of NB_SHARE_GROUPS groups or more. */
static int nb_walk_divide(const struct walk &w, struct nb_walk_division *d)
{
	NB_CUDA_TRY(cudaMemcpy(&d->groups, w.ngroup, sizeof d->groups, cudaMemcpyDeviceToHost));
	uint32_t wanted = d->groups / NB_SHARE_GROUPS;
	wanted = wanted < 1 ? 1 : wanted < NB_SHARE_PARTS ? wanted : (uint32_t)NB_SHARE_PARTS;
	d->size = (d->groups + wanted - 1) / wanted;
	d->parts = (d->groups + d->size - 1) / d->size;
	NB_CUDA_TRY(cudaMemcpy2D(d->bound, sizeof *d->bound, w.start, d->size * sizeof *d->bound, sizeof *d->bound,
		d->parts, cudaMemcpyDeviceToHost));
	d->bound[d->parts] = (uint32_t)w.n;
	return NB_OK;
}

/* The walk by all of the team; what all count is counted at home. */
template <class Launch>
static int nb_walk_share(const struct walk &w, enum nb_precision precision, bool count, Launch launch)
{
	struct nb_walk_division division;
	struct nb_walk_tally tally[NB_TEAM_MOST] = {}, all = {};
	NB_TRY(nb_walk_divide(w, &division));
	NB_TRY(nb_team_run(division.parts, [&](struct nb_team_hand &hand) {
		return nb_walk_parts(hand, w, precision, count, launch, division, &tally[hand.member]);
	}));
	for (const struct nb_walk_tally &t : tally)
		for (int c = 0; c < 3; c++)
			all.counts[c] += t.counts[c];
	if (count)
		NB_CUDA_TRY(cudaMemcpy(w.plan->counts, &all, sizeof all, cudaMemcpyHostToDevice));
	return NB_OK;
}

/* The walk of all groups, by one device or by the team; launch(part) queues that of a part. */
template <class Launch>
static int nb_walk_groups(struct walk &w, enum nb_precision precision, bool count, Launch launch)
{
	struct nb_lane lane;
	if (nb_team_size() > 1 && w.n >= NB_SHARE_BODIES)
		return nb_walk_share(w, precision, count, launch);
	w.lane = &lane;
	lane.regions = w.n / (w.group + 1) + 1;
	return launch(w);
}

#endif
