/* The walk of a tree by several ranks (kernels/ranks/ranks.h).
 *
 * Rank 0 has bodies and tree, and prepares the walk.  All get what a walk reads: the bodies, the families, and as
 * targets those nodes that are visited, which are groups and what is above them.  That is about 40 bytes for each body,
 * less than bodies and tree are.  Each rank walks a run of parts, which is a range of bodies in Morton order, and gives
 * their rows back.  Nothing that a part gets depends on who walks it.
 *
 * The cuts between ranks are where the last walk took equal shares of time; before there is one, at equal numbers of
 * bodies. */
#include "kernels/walk/walk.h"

#include "common/mem.h"
#include "kernels/ranks/ranks.h"

#include <string.h>

/* A node as a target. */
struct target {
	double box[6], mass, reach, soft[NB_SOFT], velocity[3];
	uint32_t first, count, child, nchild, inner, npart;
	float least;
	uint8_t group;
};

/* What all ranks know of a walk; addresses in it are those of rank 0. */
struct job {
	struct nb_walk_plan plan;
	struct nb_gravity g;
	size_t nfamily, ntarget;
	uint32_t nparts;
};

/* What a rank holds for a walk. */
struct memory {
	struct target *target;
	uint32_t *cut;	/* of each rank, its first part; nparts behind the last */
	size_t *bound;	/* the first body of each rank, n behind the last; later, where its bytes begin */
	uint32_t *part; /* the first body of each part, n behind the last */
	float *cost;	/* of each part */
	/* ranks other than the first */
	struct nb_tree tree;
	uint32_t *inner, *npart;
	uint8_t *group;
	float *least;
	double *reach, *soft, *velocity;
	struct nb_family *family;
	struct nb_family_soft *family_soft;
	void *moment;
};

static void memory_free(struct memory *m)
{
	nb_free_all(m->target, m->cut, m->bound, m->part, m->cost);
	nb_tree_free(&m->tree);
	nb_free_all(m->inner, m->npart, m->group, m->least, m->reach, m->soft, m->velocity, m->family, m->family_soft,
		m->moment);
}

static int allocate_cuts(struct memory *m, size_t nparts)
{
	const size_t size = (size_t)nb_ranks_size();
	m->cut = nb_alloc(size + 1, sizeof *m->cut);
	m->bound = nb_alloc(size + 1, sizeof *m->bound);
	m->part = nb_alloc(nparts + 1, sizeof *m->part);
	m->cost = nb_alloc_zero(nparts, sizeof *m->cost);
	return m->cut && m->bound && m->part && m->cost ? NB_OK : NB_ENOMEM;
}

/* ---- cuts --------------------------------------------------------------------------------------- */

/* Of the last walk: up to which share of the bodies each rank but the last would have walked, had all taken the same
 * time. */
enum { MOST_CUTS = 4096 };
static struct {
	size_t n;
	int size;
	double share[MOST_CUTS];
} last;

/* Whether the last walk was of about so many bodies. */
static int knows(size_t n, int size)
{
	return last.size == size && size <= MOST_CUTS && n < last.n + last.n / 8 + 1 && last.n < n + n / 8 + 1;
}

/* From the bodies where parts begin. */
static void cut(struct memory *m, size_t n, uint32_t nparts, int size)
{
	const int known = knows(n, size);
	uint32_t p = 0;
	m->cut[0] = 0;
	for (int k = 1; k < size; k++) {
		const double at = (known ? last.share[k - 1] : (double)k / size) * (double)n;
		while (p < nparts && m->part[p] < at)
			p++;
		/* the nearer of the two parts that begin before and behind */
		if (p > m->cut[k - 1] && at - m->part[p - 1] < m->part[p] - at)
			p--;
		m->cut[k] = p;
	}
	m->cut[size] = nparts;
	for (int k = 0; k <= size; k++)
		m->bound[k] = m->part[m->cut[k]];
}

/* The shares for the next walk, from what each part took.  A rank whose parts took no time has a clock that is too
 * coarse, or none. */
static void learn(const struct memory *m, size_t n, uint32_t nparts, int size)
{
	double total = 0, sum = 0;
	int k = 1;
	last.size = 0;
	for (uint32_t p = 0; p < nparts; p++)
		total += m->cost[p];
	if (size > MOST_CUTS || !(total > 0))
		return;
	for (uint32_t p = 0; p < nparts && k < size; p++) {
		const double cost = m->cost[p], bodies = m->part[p + 1] - m->part[p];
		for (; k < size && sum + cost >= total * k / size; k++)
			last.share[k - 1] = (m->part[p] + (cost > 0 ? (total * k / size - sum) / cost : 1) * bodies) /
					    (double)n;
		sum += cost;
	}
	for (; k < size; k++) /* rounding */
		last.share[k - 1] = 1;
	last.n = n;
	last.size = size;
}

/* ---- what is sent ------------------------------------------------------------------------------- */

/* Whether the walk visits the children of a node. */
static int is_divided(const struct nb_walk_plan *plan, size_t i)
{
	return !plan->group[i] && plan->target->nchild[i] > 0;
}

/* Node i; its children are those from `child` on. */
static void fill_target(const struct nb_walk_plan *plan, size_t i, uint32_t child, struct target *t)
{
	const struct nb_tree *tree = plan->target;
	memset(t, 0, sizeof *t);
	memcpy(t->box, tree->box + 6 * i, sizeof t->box);
	t->mass = tree->mass[i];
	t->reach = plan->reach[i];
	if (plan->soft)
		memcpy(t->soft, plan->soft + NB_SOFT * i, sizeof t->soft);
	if (plan->velocity)
		memcpy(t->velocity, plan->velocity + 3 * i, sizeof t->velocity);
	t->first = tree->first[i];
	t->count = tree->count[i];
	t->nchild = is_divided(plan, i) ? tree->nchild[i] : 0;
	t->child = t->nchild ? child : 0;
	t->inner = plan->inner[i];
	t->npart = plan->npart[i];
	t->least = plan->least ? plan->least[i] : 0;
	t->group = plan->group[i];
}

/* The nodes that are visited, parents before children, siblings side by side. */
static int find_targets(const struct nb_walk_plan *plan, struct memory *m, size_t *ntarget)
{
	const struct nb_tree *tree = plan->target;
	size_t taken = 1, most = 1;
	for (size_t i = 0; i < tree->nnode; i++)
		most += is_divided(plan, i) ? tree->nchild[i] : 0;
	uint32_t *from = nb_alloc(most, sizeof *from); /* the number in the tree of each that is taken */
	m->target = nb_alloc(most, sizeof *m->target);
	if (!from || !m->target) {
		nb_free(from);
		return NB_ENOMEM;
	}
	from[0] = 0;
	for (size_t k = 0; k < taken; k++) {
		const size_t i = from[k];
		fill_target(plan, i, (uint32_t)taken, &m->target[k]);
		for (uint32_t c = 0; c < m->target[k].nchild; c++)
			from[taken++] = tree->child[i] + c;
	}
	nb_free(from);
	*ntarget = taken;
	return NB_OK;
}

/* Where parts begin, in the order of the walk.  The number of parts before a node goes down the tree. */
static int find_parts(const struct nb_walk_plan *plan, struct memory *m, size_t ntarget)
{
	uint32_t *before = nb_alloc(ntarget, sizeof *before);
	if (!before)
		return NB_ENOMEM;
	before[0] = 0;
	for (size_t k = 0; k < ntarget; k++) {
		const struct target *t = &m->target[k];
		/* a part, or below one */
		if (t->group || t->count <= plan->part) {
			if (before[k] != UINT32_MAX)
				m->part[before[k]] = t->first;
			for (uint32_t c = 0; c < t->nchild; c++)
				before[t->child + c] = UINT32_MAX;
			continue;
		}
		for (uint32_t c = 0, sum = before[k]; c < t->nchild; c++) {
			before[t->child + c] = sum;
			sum += sum == UINT32_MAX ? 0 : m->target[t->child + c].npart;
		}
	}
	nb_free(before);
	m->part[plan->npart[0]] = (uint32_t)plan->g->n;
	return NB_OK;
}

/* Arrays of rank 0 to all; rank 0 passes its own. */
static void share_arrays(const struct job *job, struct memory *m, const struct nb_walk_plan *plan)
{
	nb_ranks_broadcast(m->cut, ((size_t)nb_ranks_size() + 1) * sizeof *m->cut);
	nb_ranks_broadcast(m->bound, ((size_t)nb_ranks_size() + 1) * sizeof *m->bound);
	nb_ranks_broadcast(m->target, job->ntarget * sizeof *m->target);
	nb_gravity_replicate(plan->g);
	nb_ranks_broadcast((void *)(uintptr_t)plan->family, job->nfamily * sizeof *plan->family);
	nb_ranks_broadcast((void *)(uintptr_t)plan->moment, job->nfamily * nb_walk_moment_size(plan));
	if (job->plan.family_soft)
		nb_ranks_broadcast((void *)(uintptr_t)plan->family_soft, job->nfamily * sizeof *plan->family_soft);
}

/* Rows, costs and counts to rank 0; m->bound becomes that of the last array. */
static void give_back(const struct job *job, struct memory *m, const struct nb_gravity *at,
	const struct nb_gravity_count *mine, struct nb_gravity_count *all)
{
	const int size = nb_ranks_size(), rank = nb_ranks_rank();
	size_t *bytes = m->bound;
	for (int k = 0; k <= size; k++)
		bytes[k] *= 3 * sizeof *at->acc;
	nb_ranks_gather(at->acc, bytes);
	if (job->g.jerk)
		nb_ranks_gather(at->jerk, bytes);
	for (int k = 0; k <= size; k++)
		bytes[k] /= 3;
	if (job->g.pot)
		nb_ranks_gather(at->pot, bytes);
	for (int k = 0; k <= size; k++)
		bytes[k] = m->cut[k] * sizeof *m->cost;
	nb_ranks_gather(m->cost, bytes);
	for (int k = 0; k <= size; k++)
		bytes[k] = (size_t)k * sizeof *all;
	all[rank] = *mine;
	nb_ranks_gather(all, bytes);
	nb_ranks_wait_all();
}

/* ---- rank 0 ------------------------------------------------------------------------------------- */

/* All that may fail, before the others are called. */
static int prepare(const struct nb_walk_plan *plan, size_t nfamily, struct memory *m, struct job *job,
	struct nb_gravity_count **all)
{
	const int size = nb_ranks_size();
	memset(job, 0, sizeof *job);
	job->plan = *plan;
	job->g = *plan->g;
	job->nfamily = nfamily;
	job->nparts = plan->npart[0];
	*all = nb_alloc((size_t)size, sizeof **all);
	if (!*all || allocate_cuts(m, job->nparts) || find_targets(plan, m, &job->ntarget) ||
		find_parts(plan, m, job->ntarget))
		return NB_ENOMEM;
	cut(m, plan->g->n, job->nparts, size);
	return NB_OK;
}

static void add_counts(const struct nb_gravity_count *all, int size, struct nb_gravity_count *count)
{
	for (int k = 0; k < size && count; k++) {
		count->p2p += all[k].p2p;
		count->m2p += all[k].m2p;
		count->m2l += all[k].m2l;
		count->groups += all[k].groups;
	}
}

int nb_walk_by_ranks(const struct nb_walk_plan *plan, size_t nfamily, struct nb_gravity_count *count, int *done)
{
	const int size = nb_ranks_size();
	struct memory m = {.target = NULL};
	struct job job;
	struct nb_gravity_count *all = NULL, mine = {0};
	*done = 0;
	if (size < 2 || plan->g->n < NB_GRAVITY_SHARED)
		return NB_OK;
	int status = prepare(plan, nfamily, &m, &job, &all);
	if (!status && nb_ranks_call(NB_RANKS_TREE)) {
		struct nb_walk_share share = {.claimed = 0, .begin = 0, .end = m.cut[1], .cost = m.cost};
		nb_ranks_broadcast(&job, sizeof job);
		share_arrays(&job, &m, plan);
		nb_ranks_wait_all();
		status = nb_walk_parts(plan, &share, &mine);
		if (status) /* the others would wait for ever */
			nb_ranks_abort(1);
		give_back(&job, &m, plan->at, &mine, all);
		nb_ranks_done();
		learn(&m, plan->g->n, job.nparts, size);
		add_counts(all, size, count);
		*done = 1;
	}
	nb_free(all);
	memory_free(&m);
	return status;
}

/* ---- the others --------------------------------------------------------------------------------- */

static int allocate_targets(struct memory *m, const struct job *job)
{
	const size_t n = job->ntarget;
	struct nb_tree *t = &m->tree;
	m->target = nb_alloc(n, sizeof *m->target);
	t->first = nb_alloc(n, sizeof *t->first);
	t->count = nb_alloc(n, sizeof *t->count);
	t->child = nb_alloc(n, sizeof *t->child);
	t->nchild = nb_alloc(n, sizeof *t->nchild);
	t->box = nb_alloc(6 * n, sizeof *t->box);
	t->mass = nb_alloc(n, sizeof *t->mass);
	m->inner = nb_alloc(n, sizeof *m->inner);
	m->npart = nb_alloc(n, sizeof *m->npart);
	m->group = nb_alloc(n, sizeof *m->group);
	m->least = nb_alloc(n, sizeof *m->least);
	m->reach = nb_alloc(n, sizeof *m->reach);
	m->soft = nb_alloc(n, NB_SOFT * sizeof *m->soft);
	m->velocity = nb_alloc(n, 3 * sizeof *m->velocity);
	m->family = nb_alloc(job->nfamily, sizeof *m->family);
	m->family_soft = nb_alloc(job->plan.family_soft ? job->nfamily : 0, sizeof *m->family_soft);
	m->moment = nb_alloc(job->nfamily + 1, nb_walk_moment_size(&job->plan)); /* rows are read beyond their end */
	return m->target && t->first && t->count && t->child && t->nchild && t->box && t->mass && m->inner &&
			       m->npart && m->group && m->least && m->reach && m->soft && m->velocity && m->family &&
			       m->family_soft && m->moment
		       ? NB_OK
		       : NB_ENOMEM;
}

/* The columns of what has come as rows. */
static void spread_targets(struct memory *m, size_t ntarget)
{
	struct nb_tree *tree = &m->tree;
	tree->nnode = ntarget;
#pragma omp parallel for schedule(static)
	for (size_t k = 0; k < ntarget; k++) {
		const struct target *t = &m->target[k];
		tree->first[k] = t->first;
		tree->count[k] = t->count;
		tree->child[k] = t->child;
		tree->nchild[k] = t->nchild;
		memcpy(tree->box + 6 * k, t->box, sizeof t->box);
		tree->mass[k] = t->mass;
		m->inner[k] = t->inner;
		m->npart[k] = t->npart;
		m->group[k] = t->group;
		m->least[k] = t->least;
		m->reach[k] = t->reach;
		memcpy(m->soft + NB_SOFT * k, t->soft, sizeof t->soft);
		memcpy(m->velocity + 3 * k, t->velocity, sizeof t->velocity);
	}
}

/* The plan of rank 0, with the addresses of this one. */
static void take_over(const struct job *job, struct memory *m, struct nb_gravity *g, struct nb_walk_plan *plan)
{
	*plan = job->plan;
	plan->g = plan->at = g;
	plan->tree = plan->target = &m->tree;
	plan->row = NULL;
	plan->least = job->plan.least ? m->least : NULL;
	plan->inner = m->inner;
	plan->reach = m->reach;
	plan->group = m->group;
	plan->npart = m->npart;
	plan->family = m->family;
	plan->moment = m->moment;
	plan->velocity = job->plan.velocity ? m->velocity : NULL;
	plan->soft = job->plan.soft ? m->soft : NULL;
	plan->family_soft = job->plan.family_soft ? m->family_soft : NULL;
}

int nb_gravity_tree_serve(void)
{
	const int rank = nb_ranks_rank();
	struct memory m = {.target = NULL};
	struct job job;
	struct nb_walk_plan plan;
	struct nb_gravity_count mine = {0};
	nb_ranks_broadcast(&job, sizeof job);
	nb_ranks_wait_all();
	struct nb_gravity g = job.g;
	struct nb_gravity_count *all = nb_alloc((size_t)nb_ranks_size(), sizeof *all);
	int status = nb_gravity_alloc_replica(&g);
	status = all ? status : NB_ENOMEM;
	status = status ? status : allocate_cuts(&m, job.nparts);
	status = status ? status : allocate_targets(&m, &job);
	if (!status) {
		take_over(&job, &m, &g, &plan);
		share_arrays(&job, &m, &plan);
		nb_ranks_wait_all();
		spread_targets(&m, job.ntarget);
		struct nb_walk_share share = {.claimed = m.cut[rank], .begin = m.cut[rank], .end = m.cut[rank + 1]};
		share.cost = m.cost + share.begin;
		status = nb_walk_parts(&plan, &share, &mine);
	}
	if (!status)
		give_back(&job, &m, &g, &mine, all);
	nb_free(all);
	nb_gravity_free_replica(&g);
	memory_free(&m);
	return status;
}
