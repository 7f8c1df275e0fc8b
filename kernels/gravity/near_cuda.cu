/* near_cuda.cu - near field of uniform boxes on the device: each body feels its own box and the adjacent boxes, in 2-D
 * and 3-D, boxes of any occupancy.
 *
 *   n3      box per block, each pair of bodies once, both get their force.  After bpb-n3 of Shan & Lei 2012, section
 *           III C, of which it keeps the order of work (father box, then the neighbours of larger Z-order index) and
 *           none of its atomics.  As published: kernels/papers/shan_cuda.cu.
 *   warp    a warp per 32 K consecutive bodies, each pair twice.  The bodies of all boxes around a target are brought
 *           together in one list in shared memory, so that sparse boxes leave no gaps; where a box has fewer than 32
 *           bodies, groups of lanes share the targets and divide the list.
 *
 * The idea of n3.  An atomic on a counter-force costs more than the interaction that it saves, so no two threads ever
 * add to one sum at the same time:
 *   (1) Register blocking: a thread holds K bodies of the box, so that a source fetched serves K interactions, and
 *       their K counter-forces are one sum before they leave the thread.
 *   (2) Counter-forces travel by shuffles: the 32 sources of a warp are all at work at once, each at another lane, and
 *       pass with their sums from lane to lane (nb_targets.interact).  After 32 steps each has met all 32 K targets.
 *       One warp needs no array in shared memory for it; several warps add to one, in turn, once in 32 K interactions.
 *   (3) Slots per direction: what a box gets from a neighbour goes to a place of its own for the direction in which
 *       that neighbour lies, and in the end the directions are added up in order.
 *   (4) The 32 K bodies of a warp feel each other one way; all other pairs of a box are done once.
 *   (5) No warp waits for memory while it could compute: sources are copied to shared memory while those before are at
 *       work (nb_staged), and what is added to a sum in device memory is added there.
 *   (6) Blocks draw boxes, and the last ones in parts, so that few multiprocessors idle at the end of the launch.
 *       Directions are added up by blocks that come long after a box, before their own, and for the last boxes by those
 *       of a last kernel, which come as soon as there is room, and wait for the boxes that they need.
 * Every sum is in a fixed order: the same bytes on every run.
 *
 * What several devices wait for (four H200s: 3.27 times as fast as one): a multiprocessor does not fill the place of a
 * block that has ended at once.  A tenth of the places are empty while boxes are at work, and a sixth while parts are,
 * which are a tenth of the work of one device, and nearly half of that of each of four.  Tried, and slower on one
 * device: blocks that stay and draw again fill all places, but their loops are 5 to 10 % slower as the assembler makes
 * them (12.6 to 13.3 for 11.95 ms); copies of a member's own boxes beside its kernel save it 1 %.
 *
 * Several devices share the boxes, which are in Z-order.  n3: where all devices reach each other's memory, each has a
 * range of boxes, of which its blocks draw one after the other, then those of other ranges; slots stay where they were
 * written, and are read there.  Where they do not, ranges are dealt, and a box before a range is done again for those
 * of its neighbours that are in the range: what they get from it goes to their slots, what it gets is dropped.
 *
 * Long f32 sums: after every 512 sources at most, partial sums are added up in another place.
 *
 * Layout: packed records of pair units, f32 ones relative to their box (cuda_internal.cuh has records, precisions and
 * instructions an interaction); bodies of a box stand together.  Launch: n3 a block of 32 or 128 threads for each box,
 * warp one of 32 threads for each 32 K bodies; K targets a lane, more for fuller boxes (run_kernel).
 *
 * The kernels are in near_internal.cuh (preparation), near_deal_internal.cuh and near_n3_internal.cuh (n3), and
 * near_warp_internal.cuh; here is the host. */
#include "kernels/gravity/near_n3_internal.cuh"
#include "kernels/gravity/near_warp_internal.cuh"

#include "kernels/gravity/kernels_cuda.h"

/* Parts of boxes for the team, four for each member: more parts have more boxes at their edges, which are done twice.
 * Part k has boxes k size .. (k + 1) size - 1, and bodies bound[k] .. bound[k + 1] - 1. */
struct box_division {
	enum { EACH = 4, PARTS = EACH * NB_TEAM_MOST };
	size_t size, parts;
	uint64_t bound[PARTS + 1];
};

/* What a call has prepared. */
struct prepared_field {
	struct nb_prepared bodies;
	nb_cuda_buffer<uint32_t> box_of;
	struct near_field f = {};
	struct outputs out = {};
	const double *mass = nullptr;
	size_t mean = 0; /* bodies a box, rounded up */
	struct box_division division = {};
};

/* ---- several devices ------------------------------------------------------------------------------------------ */

enum {
	SHARED = 1 << 16,  /* bodies: fewer are done by the primary sooner than they are copied */
	LENT = 256,	   /* bodies a box: so many do so much with a body that it can be read where it is */
	GUESSED = 1 << 20, /* bodies: with fewer the scale is found sooner than guessed ... */
	SAMPLE = 1024,	   /* ... from so many of them */
	DRAWN = 128 /* with no more bodies a box, parts of it, or drawing it on one device, cost more than they save */
};

static bool is_shared(const struct prepared_field &p)
{
	return nb_team_size() > 1 && p.f.n >= SHARED;
}

/* Waits for the device: best before there is work for it. */
static int divide(struct prepared_field &p)
{
	struct box_division &d = p.division;
	const size_t wanted = (size_t)box_division::EACH * (size_t)nb_team_size();
	d.size = (p.f.nbox + wanted - 1) / wanted;
	d.parts = (p.f.nbox + d.size - 1) / d.size;
	NB_CUDA_TRY(cudaMemcpy2D(d.bound, sizeof *d.bound, p.f.first, d.size * sizeof *d.bound, sizeof *d.bound,
		d.parts, cudaMemcpyDeviceToHost));
	d.bound[d.parts] = p.f.n;
	return NB_OK;
}

/* Sends what members copy. */
static int send_bodies(const struct prepared_field &p)
{
	NB_TRY(nb_team_send(p.bodies.memory.ptr, p.bodies.memory.count * sizeof *p.bodies.memory.ptr));
	NB_TRY(nb_team_send(p.f.box_of, p.box_of.count * sizeof *p.f.box_of));
	return nb_team_send(p.mass, p.f.n * sizeof *p.mass);
}

/* What a member of the team reads. */
struct member_field {
	struct nb_packed in = {};
	struct near_field f = {};
	const double *mass = nullptr;
	struct outputs out = {};
	nb_cuda_buffer<double> acc, pot, jerk;

	/* Copies are queued, not fetched.  scale: null if it comes otherwise.  lent: where each body is read a few
	 * times for many interactions, the kernel reads it at the primary, and need not wait for a copy. */
	int replicate(struct nb_team_copies &copies, const struct prepared_field &p, const struct nb_cuda_scale *scale,
		bool lent)
	{
		f = p.f, mass = p.mass, out = p.out;
		if (scale)
			NB_TRY(nb_survey_replicate(copies, scale));
		NB_TRY(copies.add(&f.first, f.nbox + 1));
		NB_TRY(copies.add(&f.neighbour, f.nbox * (size_t)f.nneighbour));
		if (lent) {
			in = p.bodies.packed;
			return NB_OK;
		}
		NB_TRY(p.bodies.replicate(copies, &in));
		NB_TRY(copies.add(&f.box_of, f.n));
		return copies.add(&mass, f.n);
	}

	/* Results in memory of the member, to be copied back; those of the primary are in place. */
	int make_outputs(const struct nb_team_worker &worker)
	{
		if (worker.is_primary())
			return NB_OK;
		NB_TRY(acc.alloc(3 * f.n));
		NB_TRY(pot.alloc(out.pot ? f.n : 0));
		NB_TRY(jerk.alloc(out.jerk ? 3 * f.n : 0));
		out = {acc.ptr, pot.ptr, jerk.ptr};
		return NB_OK;
	}

	/* Results of bodies first .. last - 1 of a part. */
	int copy_back(struct nb_team_worker &worker, const struct outputs &primary, size_t first, size_t last) const
	{
		const size_t bytes = (last - first) * sizeof(double);
		NB_TRY(worker.copy_back(primary.acc + 3 * first, out.acc + 3 * first, 3 * bytes));
		if (out.pot)
			NB_TRY(worker.copy_back(primary.pot + first, out.pot + first, bytes));
		if (out.jerk)
			NB_TRY(worker.copy_back(primary.jerk + 3 * first, out.jerk + 3 * first, 3 * bytes));
		return NB_OK;
	}
};

/* The memory of n3 on a device, in one piece: counters and states, which are 0 before, own, and the slots. */
template <class real> struct n3_memory {
	size_t state, own, slots, bytes; /* where they begin, and all */

	n3_memory(const struct near_field &f, size_t components)
	{
		const auto after = [](size_t begin, size_t size) { return (begin + size + 255) / 256 * 256; };
		state = after(0, NB_TEAM_MOST * sizeof(unsigned long long));
		own = after(state, (f.nbox + 1) * sizeof(uint32_t));
		slots = after(own, components * f.n * sizeof(double));
		bytes = after(slots, (size_t)f.nneighbour * components * f.n * sizeof(real));
	}

	/* What is 0. */
	size_t zeros() const
	{
		return own;
	}

	void place(struct n3_places<real> *places, size_t member, char *base) const
	{
		places->own[member] = (double *)(base + own);
		places->slots[member] = (real *)(base + slots);
		places->state[member] = (uint32_t *)(base + state);
	}

	static unsigned long long *counters(char *base)
	{
		return (unsigned long long *)base;
	}
};

/* Sets how members share the boxes: all of *deal except which member it is for and the address of its counter.  draws:
 * members may draw units.  If boxes are not small, the last ones of a range are split: three quarters as many as blocks
 * run at once. */
template <int ROUND, int BLOCKS>
static int n3_deal_of(const struct prepared_field &p, size_t members, bool draws, struct n3_deal *deal)
{
	int multiprocessors;
	*deal = {};
	deal->members = (unsigned)members;
	deal->shares = ROUND < 128 ? 1 : N3_SHARES; /* of smaller boxes, to be added up by itself is not worth it */
	deal->parts = deal->shares;
	deal->lag = p.f.nbox;
	if (!draws || p.mean <= DRAWN)
		return NB_OK;
	NB_TRY(nb_cuda_multiprocessors(&multiprocessors));
	const size_t at_once = (size_t)(multiprocessors * BLOCKS), most = (p.f.nbox + members - 1) / members;
	deal->parts *= p.mean > ROUND ? 2 : 1;
	deal->split = std::min(at_once * 3 / 4, most);
	deal->lag = at_once * 5 / 4;
	return NB_OK;
}

/* The pairs of boxes f.begin .. f.end - 1, or of what the member draws, with a block for each unit that it may draw. */
template <int P, int K, int W, bool POT, bool JERK, int BLOCKS>
static int n3_pairs(cudaStream_t stream, const struct nb_packed &in, const struct near_field &f,
	const struct n3_deal &deal, const struct nb_cuda_softening &soft,
	const n3_places<typename nb_arith<P>::real> &places, const double *mass, const struct outputs &out,
	struct outcome *d_outcome)
{
	typedef typename nb_arith<P>::real real;
	return nb_cuda_launch_on(stream, n3_kernel<P, K, W, POT, JERK, BLOCKS>,
		(unsigned)(f.end + (deal.parts - 1) * deal.members * deal.split), NB_WARP * W, 0, in, f, deal,
		(real)soft.eps2, (real)soft.guard, places, mass, out, d_outcome);
}

/* The sums of boxes f.begin .. f.end - 1. */
template <class real, bool POT, bool JERK>
static int n3_sums(cudaStream_t stream, const struct near_field &f, const struct n3_deal &deal,
	const n3_places<real> &places, const double *mass, const struct outputs &out)
{
	return nb_cuda_launch_on(stream, n3_sum_kernel<real, POT, JERK>, (unsigned)(f.end - f.begin), SUM_THREADS, 0, f,
		deal, places, mass, out);
}

/* Members that reach each other's memory: each has a range of boxes, and then takes from those of the others.  What a
 * box did to others stays with who did it, and is read there. */
template <int P, int K, int W, bool POT, bool JERK, int BLOCKS>
static int share_n3(const struct prepared_field &p, const struct nb_cuda_softening &soft, struct outcome *d_outcome)
{
	typedef typename nb_arith<P>::real real;
	enum { COMPONENTS = nb_sum<real, POT, JERK>::COMPONENTS };
	const size_t members = (size_t)nb_team_size(), nbox = p.f.nbox;
	const n3_memory<real> memory(p.f, COMPONENTS);
	nb_team_buffer<char> buffer;
	n3_places<real> places = {};
	struct n3_deal dealt;
	NB_TRY((n3_deal_of<NB_WARP * K * W, BLOCKS>(p, members, true, &dealt)));
	NB_TRY(buffer.alloc(memory.bytes, memory.zeros()));
	for (size_t k = 0; k < members; k++)
		memory.place(&places, k, buffer.of[k]);
	dealt.taken = memory.counters(buffer.of[0]), dealt.drawn = d_outcome->drawn;
	if (p.mean < LENT)
		NB_TRY(send_bodies(p));
	return nb_team_run(members, [&](struct nb_team_worker &worker) {
		const size_t me = (size_t)worker.member;
		struct n3_deal deal = dealt;
		deal.member = (unsigned)me, deal.stopped = worker.stopped;
		struct member_field m;
		struct nb_team_copies copies(worker);
		size_t part;
		NB_TRY(m.replicate(copies, p, nullptr, p.mean >= LENT));
		NB_TRY(copies.queue());
		if (!worker.next(&part))
			return worker.finish();
		if (!worker.is_primary())
			NB_TRY(nb_cuda_launch_on(worker.stream(), scale_kernel, 1, 1, 0, &d_outcome->scale));
		NB_TRY((n3_pairs<P, K, W, POT, JERK, BLOCKS>(
			worker.stream(), m.in, m.f, deal, soft, places, m.mass, m.out, d_outcome)));
		m.f.begin = nbox * me / members, m.f.end = nbox * (me + 1) / members;
		if (m.f.begin < m.f.end)
			NB_TRY((n3_sums<real, POT, JERK>(worker.stream(), m.f, deal, places, m.mass, m.out)));
		NB_TRY(copies.wait());
		return worker.finish();
	});
}

/* Members that do not: boxes in parts, which are dealt; a box before a part is done again for those in it. */
template <int P, int K, int W, bool POT, bool JERK, int BLOCKS>
static int deal_n3(const struct prepared_field &p, const struct nb_cuda_softening &soft)
{
	typedef typename nb_arith<P>::real real;
	const struct box_division &d = p.division;
	struct n3_deal deal;
	const n3_memory<real> memory(p.f, nb_sum<real, POT, JERK>::COMPONENTS);
	struct nb_cuda_scale *scale;
	NB_TRY((n3_deal_of<NB_WARP * K * W, BLOCKS>(p, 1, false, &deal)));
	NB_TRY(nb_survey_scale_of(&scale));
	NB_TRY(send_bodies(p));
	return nb_team_run(d.parts, [&](struct nb_team_worker &worker) {
		struct member_field m;
		nb_cuda_buffer<char> buffer;
		n3_places<real> places = {};
		nb_cuda_buffer<struct outcome> d_outcome;
		struct outcome outcome;
		struct nb_team_copies copies(worker);
		NB_TRY(m.replicate(copies, p, scale, false));
		NB_TRY(m.make_outputs(worker));
		NB_TRY(buffer.alloc(memory.bytes));
		memory.place(&places, 0, buffer.ptr);
		NB_TRY(d_outcome.alloc(1));
		NB_CUDA_TRY(cudaMemsetAsync(d_outcome.ptr, 0, sizeof outcome, 0));
		worker.under_way = worker.streams = NB_TEAM_STREAMS;
		NB_TRY(copies.fetch());
		for (size_t k; worker.next(&k);) {
			const size_t first = d.bound[k], last = d.bound[k + 1];
			m.f.begin = k * d.size, m.f.end = k + 1 < d.parts ? (k + 1) * d.size : p.f.nbox;
			if (first == last)
				continue;
			NB_TRY((n3_pairs<P, K, W, POT, JERK, BLOCKS>(
				worker.stream(), m.in, m.f, deal, soft, places, m.mass, m.out, d_outcome.ptr)));
			NB_TRY(worker.begin_urgent());
			NB_TRY((n3_sums<real, POT, JERK>(worker.urgent, m.f, deal, places, m.mass, m.out)));
			NB_TRY(m.copy_back(worker, p.out, first, last));
		}
		NB_TRY(worker.finish());
		NB_CUDA_TRY(cudaMemcpy(&outcome, d_outcome.ptr, sizeof outcome, cudaMemcpyDeviceToHost));
		return outcome.status;
	});
}

/* Slices in parts. */
template <int P, int K, bool POT, bool JERK, int BLOCKS>
static int share_warp(const struct prepared_field &p, const struct nb_cuda_softening &soft)
{
	typedef typename nb_arith<P>::real real;
	const size_t slice = NB_WARP * K, slices = (p.f.n + slice - 1) / slice, parts = 8 * (size_t)nb_team_size();
	struct nb_cuda_scale *scale;
	NB_TRY(nb_survey_scale_of(&scale));
	NB_TRY(send_bodies(p));
	return nb_team_run(parts, [&](struct nb_team_worker &worker) {
		struct member_field m;
		struct nb_team_copies copies(worker);
		NB_TRY(m.replicate(copies, p, scale, false));
		NB_TRY(m.make_outputs(worker));
		NB_TRY(copies.fetch());
		for (size_t k; worker.next(&k);) {
			const size_t begin = slices * k / parts, end = slices * (k + 1) / parts;
			const size_t last = end * slice < p.f.n ? end * slice : p.f.n;
			NB_TRY(nb_cuda_launch_on(worker.stream(), warp_kernel<P, K, POT, JERK, BLOCKS>,
				(unsigned)(end - begin), NB_WARP, 0, m.in, m.f, begin, (real)soft.eps2,
				(real)soft.guard, m.out));
			NB_TRY(m.copy_back(worker, p.out, begin * slice, last));
		}
		return worker.finish();
	});
}

/* ---- one device, or the team ------------------------------------------------------------------------------------ */

template <int P, int K, int W, bool POT, bool JERK, int BLOCKS>
static int run_n3(const struct prepared_field &p, const struct nb_cuda_softening &soft, struct outcome *d_outcome)
{
	typedef typename nb_arith<P>::real real;
	struct n3_deal deal;
	const n3_memory<real> memory(p.f, nb_sum<real, POT, JERK>::COMPONENTS);
	nb_cuda_buffer<char> buffer;
	n3_places<real> places = {};
	if (is_shared(p))
		return nb_team_mutual() ? share_n3<P, K, W, POT, JERK, BLOCKS>(p, soft, d_outcome)
					: deal_n3<P, K, W, POT, JERK, BLOCKS>(p, soft);
	NB_TRY(buffer.alloc(memory.bytes));
	memory.place(&places, 0, buffer.ptr);
	NB_TRY((n3_deal_of<NB_WARP * K * W, BLOCKS>(p, 1, true, &deal)));
	if (deal.split > 0) {
		NB_CUDA_TRY(cudaMemsetAsync(buffer.ptr, 0, memory.zeros(), 0));
		deal.taken = memory.counters(buffer.ptr), deal.drawn = d_outcome->drawn;
	}
	NB_TRY((n3_pairs<P, K, W, POT, JERK, BLOCKS>(
		0, p.bodies.packed, p.f, deal, soft, places, p.mass, p.out, d_outcome)));
	return n3_sums<real, POT, JERK>(0, p.f, deal, places, p.mass, p.out);
}

template <int P, int K, bool POT, bool JERK, int BLOCKS>
static int run_warp(const struct prepared_field &p, const struct nb_cuda_softening &soft)
{
	typedef typename nb_arith<P>::real real;
	if (is_shared(p))
		return share_warp<P, K, POT, JERK, BLOCKS>(p, soft);
	return nb_cuda_launch(warp_kernel<P, K, POT, JERK, BLOCKS>, nb_cuda_blocks(p.f.n, NB_WARP * K), NB_WARP,
		p.bodies.packed, p.f, (size_t)0, (real)soft.eps2, (real)soft.guard, p.out);
}

template <int P, bool POT, bool JERK>
static int run_kernel(const struct prepared_field &p, const struct nb_cuda_softening &soft, enum nb_near_kernel kernel,
	struct outcome *d_outcome)
{
	typedef typename nb_arith<P>::real real;
	const real eps2 = (real)soft.eps2, guard = (real)soft.guard;
	/* blocks a multiprocessor, by the registers that 4 targets and their sums want */
	constexpr bool slim = P == NB_F32 && !JERK;
	constexpr int warps = slim ? 20 : JERK ? 8 : 16, squads = slim ? 5 : 2, wide_warps = slim ? 16 : 8;
	switch (kernel) {
	case NB_NEAR_N3:
		if (p.mean <= 32)
			return run_n3<P, 1, 1, POT, JERK, 16>(p, soft, d_outcome);
		if (p.mean <= 64)
			return run_n3<P, 2, 1, POT, JERK, 16>(p, soft, d_outcome);
		if (p.mean > 512)
			return run_n3<P, 4, 4, POT, JERK, squads>(p, soft, d_outcome);
		if constexpr (slim && !POT)
			if (p.mean > 128)
				return run_n3<P, 8, 1, POT, JERK, 16>(p, soft, d_outcome);
		return run_n3<P, 4, 1, POT, JERK, warps>(p, soft, d_outcome);
	case NB_NEAR_WARP:
		if (p.mean <= 32)
			return run_warp<P, 1, POT, JERK, 16>(p, soft);
		if (p.mean <= 96)
			return run_warp<P, 2, POT, JERK, 16>(p, soft);
		return run_warp<P, 4, POT, JERK, wide_warps>(p, soft);
	case NB_NEAR_AUTO: break;
	}
	return NB_EINVAL;
}

/* Bodies a box, rounded up. */
static size_t mean_of(const struct nb_gravity *g, const struct nb_boxes *boxes)
{
	return (g->n + boxes->nbox - 1) / boxes->nbox;
}

template <int P, bool JERK, int TURN>
static int pack_turn(const struct nb_gravity *g, const struct nb_cuda_softening &soft, const struct prepared_field &p,
	struct outcome *d_outcome)
{
	int multiprocessors;
	NB_TRY(nb_cuda_multiprocessors(&multiprocessors));
	const unsigned at_once = std::min(2 * (unsigned)multiprocessors, (unsigned)NB_SURVEY_BLOCKS);
	return nb_cuda_launch(body_kernel<P, JERK, TURN>, std::min(at_once, nb_cuda_blocks(g->n, PACK_THREADS)),
		PACK_THREADS, p.f, g->pos, g->vel, g->mass, soft, g->G, p.bodies.packed, d_outcome);
}

/* Packs the bodies, and finds the scale: before, or at once with many bodies, whose scale is that of some of them, most
 * often. */
template <int P, bool JERK>
static int pack(const struct nb_gravity *g, const struct nb_cuda_softening &soft, struct prepared_field &p,
	struct outcome *d_outcome)
{
	int *const d_status = &d_outcome->status;
	if constexpr (!JERK) /* the largest velocity of some bodies is less than that of all */
		if (g->n >= GUESSED) {
			NB_TRY((p.bodies.survey<P, false>(g, soft, false, d_status, g->n / SAMPLE)));
			NB_TRY((pack_turn<P, false, PACK_GUESSED>(g, soft, p, d_outcome)));
			return pack_turn<P, false, PACK_AGAIN>(g, soft, p, d_outcome);
		}
	NB_TRY((p.bodies.survey<P, JERK>(g, soft, false, d_status)));
	return pack_turn<P, JERK, PACK_KNOWN>(g, soft, p, d_outcome);
}

template <int P, bool POT, bool JERK>
static int run(
	const struct nb_gravity *g, const struct nb_boxes *boxes, enum nb_near_kernel kernel, struct outcome *d_outcome)
{
	const struct nb_cuda_softening soft = nb_cuda_softening_of(g->eps, P);
	struct prepared_field p;
	NB_TRY((p.bodies.alloc<P, JERK>(g->n, boxes->nbox)));
	NB_TRY(p.box_of.alloc(kernel == NB_NEAR_N3 ? 0 : g->n));
	p.f = {g->n, boxes->nbox, boxes->box_first, boxes->neighbour, boxes->nneighbour, p.box_of.ptr, 0, boxes->nbox};
	p.out = {g->acc, g->pot, g->jerk};
	p.mass = g->mass;
	p.mean = mean_of(g, boxes);
	if (is_shared(p) && kernel == NB_NEAR_N3 && !nb_team_mutual())
		NB_TRY(divide(p));
	NB_TRY(nb_team_mark());
	NB_TRY((pack<P, JERK>(g, soft, p, d_outcome)));
	if (is_shared(p)) { /* while the primary packs the bodies */
		NB_TRY(nb_team_send(p.f.first, (p.f.nbox + 1) * sizeof *p.f.first, 0, true));
		NB_TRY(nb_team_send(p.f.neighbour, p.f.nbox * (size_t)p.f.nneighbour * sizeof *p.f.neighbour, 0, true));
		if (kernel != NB_NEAR_N3 || !nb_team_mutual())
			NB_TRY(nb_survey_send());
	}
	return run_kernel<P, POT, JERK>(p, soft, kernel, d_outcome);
}

template <int P>
static int run_wanted(
	const struct nb_gravity *g, const struct nb_boxes *boxes, enum nb_near_kernel kernel, struct outcome *d_outcome)
{
	if (g->pot)
		return g->jerk ? run<P, true, true>(g, boxes, kernel, d_outcome)
			       : run<P, true, false>(g, boxes, kernel, d_outcome);
	return g->jerk ? run<P, false, true>(g, boxes, kernel, d_outcome)
		       : run<P, false, false>(g, boxes, kernel, d_outcome);
}

extern "C" int nb_gravity_near_cuda_with(const struct nb_gravity *g, const struct nb_boxes *boxes,
	enum nb_near_kernel kernel, struct nb_gravity_count *count)
{
	NB_TRY(nb_gravity_cuda_check(g));
	if (boxes->nneighbour < 0 || boxes->nneighbour >= NB_WARP) /* a lane for each, and one for the box */
		return NB_EINVAL;
	if (boxes->nbox > INT32_MAX)
		return NB_ELIMIT;
	if (g->n == 0)
		return NB_OK;
	if (boxes->nbox == 0)
		return NB_EINVAL;
	nb_cuda_buffer<struct outcome> d_outcome;
	NB_TRY(d_outcome.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(d_outcome.ptr, 0, sizeof(struct outcome), 0));
	int status = NB_EINVAL;
	if (nb_pair_law_of(g) != NB_LAW_COMMON) {
		const char *wrong;
		if (kernel != NB_NEAR_AUTO)
			return NB_EUNSUPPORTED;
		NB_TRY(nb_boxes_check_cuda(boxes, g->n, &wrong));
		if (wrong)
			return NB_EINVAL;
		status = nb_gravity_soft_cuda(g, boxes, &d_outcome.ptr->p2p, &d_outcome.ptr->status);
	} else {
		if (kernel == NB_NEAR_AUTO)
			kernel = mean_of(g, boxes) <= 48 || boxes->nbox < 2048 ? NB_NEAR_WARP : NB_NEAR_N3;
		const std::lock_guard<std::mutex> lock(nb_survey_lock);
		switch (g->precision) {
		case NB_F32: status = run_wanted<NB_F32>(g, boxes, kernel, d_outcome.ptr); break;
		case NB_MIXED: status = run_wanted<NB_MIXED>(g, boxes, kernel, d_outcome.ptr); break;
		case NB_F64: status = run_wanted<NB_F64>(g, boxes, kernel, d_outcome.ptr); break;
		}
		if (status) /* under the lock, as the scale of the next call is sent from the same place */
			nb_team_unsend();
	}
	if (status)
		return status;
	struct outcome outcome;
	NB_CUDA_TRY(cudaMemcpy(&outcome, d_outcome.ptr, sizeof outcome, cudaMemcpyDeviceToHost));
	for (int k = 0; k < nb_team_size(); k++)
		nb_team_drew(k, (size_t)outcome.drawn[k]);
	if (outcome.status == NB_OK && count)
		count->p2p += outcome.p2p;
	return outcome.status;
}

extern "C" int nb_gravity_near_cuda(
	const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count)
{
	return nb_gravity_near_cuda_with(g, boxes, NB_NEAR_AUTO, count);
}

extern "C" const char *nb_near_kernel_name(enum nb_near_kernel kernel)
{
	static const char *const name[] = {"auto", "n3", "warp"};
	return (size_t)kernel < sizeof name / sizeof name[0] ? name[kernel] : NULL;
}
