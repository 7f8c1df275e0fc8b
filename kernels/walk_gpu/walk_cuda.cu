/* walk_cuda.cu - gravity by walking the tree on the device: the entry points.  They check, allocate, and queue the
 * parts of the walk one after the other (walk_internal.cuh, which is to be read first). */
#include <limits.h>
#include <math.h>

#include "kernels/walk_gpu/motion_internal.cuh"
#include "kernels/walk_gpu/softness_internal.cuh"
#include "kernels/walk_gpu/walk_internal.cuh"

/* Whether regions are walked first: where there is something for their local expansions, and so many bodies that it
 * pays (an H200: at 2^20 it saves 15 %, at 2^17 it costs 10 in order 2). */
static bool use_regions(const struct walk &w, const struct nb_tree_walk *walk, size_t n_all)
{
	if (!w.local || w.jerk || w.alpha > 0 || walk->regions < 0)
		return false;
	return walk->regions > 0 || n_all >= (size_t)1 << (walk->order > 2 ? 17 : 18);
}

/* Waits for the device. */
static int add_counts(const struct walk &w, struct nb_gravity_count *count)
{
	unsigned long long counts[3];
	uint32_t groups;
	NB_CUDA_TRY(cudaMemcpy(counts, w.plan->counts, sizeof counts, cudaMemcpyDeviceToHost));
	NB_CUDA_TRY(cudaMemcpy(&groups, w.ngroup, sizeof groups, cudaMemcpyDeviceToHost));
	count->p2p += counts[0];
	count->m2p += counts[1];
	count->m2l += counts[2];
	count->groups += groups;
	return NB_OK;
}

/* What walks are of: the first g->n bodies of n_all. */
struct part {
	size_t n_all;
	bool alone;	    /* by this device, whatever team there is */
	const double *rows; /* orders 3 and 4: moments of the nodes; NULL: to be computed */
};

static nb_walk_launcher *const launcher[][2] = {{nb_walk_launch<2, false>, nb_walk_launch<2, true>},
	{nb_walk_launch<3, false>, nb_walk_launch<3, true>}, {nb_walk_launch<4, false>, nb_walk_launch<4, true>}};

static int walk_tree(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	const struct part &part, struct nb_gravity_count *count)
{
	const size_t n_all = part.n_all;
	const bool by_acceleration = walk->mac == NB_MAC_ACCELERATION;
	if (!(g->eps >= 0 && isfinite(g->eps)) || !isfinite(g->G))
		return NB_EINVAL;
	if ((by_acceleration ? !(walk->alpha > 0 && walk->acc_old) : !(walk->theta >= 0)) || (g->jerk && !g->vel))
		return NB_EINVAL;
	if (walk->order > 4 || (walk->order > 2 && g->jerk) || (walk->order == 2 && !tree->quad))
		return NB_EUNSUPPORTED;
	if (g->n > INT_MAX || tree->nnode > 1u << 28)
		return NB_ELIMIT;
	if (g->n == 0)
		return NB_OK;
	if (tree->nnode == 0)
		return NB_EINVAL;
	const size_t n = g->n, nnode = tree->nnode;
	const bool soft = nb_pair_law_of(g) != NB_LAW_COMMON;

	nb_cuda_buffer<struct plan> plan;
	nb_cuda_buffer<float4> packed_nodes; /* places, then moments: to send them is one copy */
	nb_cuda_buffer<uint32_t> extent;
	struct marks marks;
	NB_TRY(plan.alloc(1));
	NB_TRY(packed_nodes.alloc(4 * nnode));
	NB_TRY(extent.alloc(nnode));
	NB_TRY(marks.alloc(n, n_all < SMALL ? GROUP / 2 : GROUP));

	struct walk w = {};
	w.n = n, w.nnode = nnode;
	w.pos = g->pos, w.mass = g->mass, w.acc = g->acc, w.pot = g->pot;
	w.eps = g->eps, w.G = g->G;
	w.tree.first = tree->first, w.tree.count = tree->count, w.tree.child = tree->child,
	w.tree.nchild = tree->nchild;
	w.tree.box = tree->box, w.tree.com = tree->com, w.tree.mass = tree->mass,
	w.tree.quad = walk->order == 1 || walk->order > 2 ? NULL : tree->quad;
	w.law = nb_pair_law_of(g);
	w.error = (float)nb_opening_cuda(walk->theta, walk->order);
	w.alpha = by_acceleration ? (float)walk->alpha : 0;
	w.acc_old = walk->acc_old;
	w.local = (walk->order > 2 || g->precision != NB_F64) && (by_acceleration || walk->theta > 0);
	w.group = n_all < SMALL ? GROUP / 2 : GROUP;
	w.plan = plan.ptr, w.place = packed_nodes.ptr, w.moment = w.place + 2 * nnode, w.extent = extent.ptr;
	w.start = marks.start.ptr, w.ngroup = marks.at.ptr + marks.words;
	w.region.capacity = g->precision == NB_F32 ? 4096 : 8192;
	w.region.mark = marks.region.ptr, w.region.at = marks.at.ptr + marks.words + 1;
	w.region.span = marks.span.ptr;

	struct nb_tree_motion motion;
	nb_cuda_buffer<float4> packed;
	if (g->jerk) {
		NB_TRY(nb_tree_motion_cuda(g, tree, &motion));
		NB_TRY(packed.alloc(2 * nnode));
	}
	w.vel = g->vel, w.jerk = g->jerk;
	w.region.bodies = use_regions(w, walk, n_all) ? (uint32_t)REGION : 0;
	w.rates.velocity = motion.velocity.ptr, w.rates.quad = motion.quad_rate.ptr,
	w.rates.fastest = motion.fastest.ptr;
	w.motion = packed.ptr;

	nb_cuda_buffer<double> node_eps;
	nb_cuda_buffer<float4> packed_eps;
	if (soft) {
		NB_TRY(nb_tree_softness_cuda(g, tree, &node_eps));
		NB_TRY(packed_eps.alloc(nnode));
		w.soft.body_eps = g->body_eps, w.soft.node_eps = node_eps.ptr, w.soft.terms = packed_eps.ptr;
		w.soft.weight = (float)nb_opening_soft(by_acceleration ? 0.5 : walk->theta);
		w.soft.error = by_acceleration ? (float)walk->alpha : (float)nb_opening_cpu(walk->theta, 2);
	}
	nb_cuda_buffer<double> rows;
	nb_cuda_buffer<char> body_rows, far_rows;
	if (walk->order > 2) {
		const size_t real = g->precision == NB_F64 ? sizeof(double) : sizeof(float);
		if (!part.rows)
			NB_TRY(nb_tree_high_cuda(g, tree, walk->order, 0, &rows));
		NB_TRY(body_rows.alloc(nnode * real * (size_t)nb_high_body_row(walk->order)));
		NB_TRY(far_rows.alloc(nnode * real * (size_t)nb_high_far_row(walk->order, harmonic_of(w))));
		w.high.rows = part.rows ? part.rows : rows.ptr, w.high.body_rows = body_rows.ptr,
		w.high.far_rows = far_rows.ptr;
		w.high.body_bytes = body_rows.count, w.high.far_bytes = far_rows.count;
	}
	NB_TRY(nb_walk_pack(w, walk->order, g->precision));
	NB_TRY(nb_walk_find_groups(w, marks));
	w.dealt.next = &plan.ptr->next;
	NB_TRY(nb_walk_groups(
		w, g->precision, count, part.alone, launcher[walk->order <= 2 ? 0 : walk->order - 2][soft]));
	return count ? add_counts(w, count) : NB_OK;
}

int nb_gravity_tree_cuda(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	struct nb_gravity_count *count)
{
	return walk_tree(g, tree, walk, {g->n, false, nullptr}, count);
}

int nb_gravity_tree_part_cuda(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	size_t n_all, const double *rows)
{
	if (nb_pair_law_of(g) != NB_LAW_COMMON)
		return NB_EUNSUPPORTED;
	return walk_tree(g, tree, walk, {n_all, true, rows}, nullptr);
}
