/* The neighbours of bodies by walks of a tree, a group of bodies at a time.
 *
 * A group first meets its own bodies, which tells how far the k-th neighbour of each is at most, and then the leaves
 * that are not farther away than that for all of them, the nearest nodes first. */
#include "kernels/near/near_cpu_internal.h"

#include "common/mem.h"

static nb_near_meet *const meet[] = {NB_ISA_TABLE(nb_near_meet)};
static nb_near_tally *const tally[] = {NB_ISA_TABLE(nb_near_tally)};

/* Puts children of a node on the stack, the nearest on top. */
static size_t push_children(const struct nb_near_job *job, const double *box, size_t node, struct nb_near_entry *top)
{
	const struct nb_tree *tree = &job->tree;
	const uint32_t count = tree->nchild[node];
	for (uint32_t c = 0; c < count; c++) {
		const uint32_t child = tree->child[node] + c;
		const double gap2 = nb_near_gap2(job, box, tree->box + 6 * (size_t)child);
		uint32_t at = c;
		for (; at > 0 && top[at - 1].gap2 < gap2; at--)
			top[at] = top[at - 1];
		top[at] = (struct nb_near_entry){child, gap2};
	}
	return count;
}

static double farthest(const struct nb_near_targets *t)
{
	double last2 = 0;
	for (uint32_t i = 0; i < t->count; i++)
		last2 = t->last2[i] > last2 ? t->last2[i] : last2;
	return last2;
}

/* The k nearest of bodies of a group. */
static void search(const struct nb_near_job *job, nb_near_meet *meet_leaf, size_t group, struct nb_near_targets *t)
{
	const struct nb_tree *tree = &job->tree;
	const double *box = tree->box + 6 * group;
	for (uint32_t i = 0; i < NB_NEAR_GROUP; i++) {
		t->have[i] = 0;
		t->last2[i] = INFINITY;
	}
	meet_leaf(
		job, t, box, tree->first[group], tree->nchild[group] ? tree->count[group] : nb_near_count(job, group));
	double last2 = farthest(t);
	size_t depth = 0;
	t->stack[depth++] = (struct nb_near_entry){0, 0};
	while (depth) {
		const struct nb_near_entry entry = t->stack[--depth];
		if (entry.node == group || entry.gap2 > last2)
			continue;
		if (tree->nchild[entry.node]) {
			depth += push_children(job, box, entry.node, t->stack + depth);
			continue;
		}
		t->changed = 0;
		meet_leaf(job, t, tree->box + 6 * (size_t)entry.node, tree->first[entry.node],
			nb_near_count(job, entry.node));
		last2 = t->changed ? farthest(t) : last2;
	}
}

static void measure(const struct nb_near_job *job, const struct nb_near_targets *t)
{
	const int most = job->nearest.k;
	for (uint32_t i = 0; i < t->count; i++) {
		const double *d2 = t->d2 + (size_t)i * (size_t)most;
		const uint32_t *body = t->body + (size_t)i * (size_t)most;
		struct nb_near_sums s = nb_near_begin(job, t->first + i, d2[most - 1]);
		for (int k = 0; k < most; k++)
			nb_near_add(job, &s, body[k], d2[k]);
		if (job->nearest.vdisp) {
			nb_near_spread(job, &s, t->first + i);
			for (int k = 0; k < most; k++)
				nb_near_spread(job, &s, body[k]);
		}
		nb_near_end(job, &s);
	}
}

/* All bodies of a node, where its first one is within a radius. */
static void add_node(const struct nb_near_job *job, size_t node, double radius2, struct nb_near_targets *t)
{
	double at[3];
	nb_near_place(job, job->tree.first[node], at);
	for (uint32_t i = 0; i < t->count; i++) {
		if (nb_near_distance2(job, at, t->own.at[0][i], t->own.at[1][i], t->own.at[2][i]) > radius2)
			continue;
		t->within[i] += job->tree.count[node];
		t->mass[i] += job->tree.mass ? job->tree.mass[node] : 0;
	}
}

/* Those within a radius of bodies of a group: whole nodes, where they are near enough. */
static void count_within(const struct nb_near_job *job, nb_near_tally *tally_leaf, size_t group, double radius2,
	struct nb_near_targets *t)
{
	const struct nb_tree *tree = &job->tree;
	const double *box = tree->box + 6 * group;
	for (uint32_t i = 0; i < NB_NEAR_GROUP; i++) {
		t->within[i] = 0;
		t->mass[i] = 0;
		t->last2[i] = radius2;
	}
	size_t depth = 0;
	t->stack[depth++] = (struct nb_near_entry){0, 0};
	while (depth) {
		const struct nb_near_entry entry = t->stack[--depth];
		const double *other = tree->box + 6 * (size_t)entry.node;
		if (entry.gap2 > radius2)
			continue;
		if (nb_near_reach2(job, box, other) <= radius2)
			add_node(job, entry.node, INFINITY, t);
		else if (tree->nchild[entry.node])
			depth += push_children(job, box, entry.node, t->stack + depth);
		else if (tree->count[entry.node] > NB_NEAR_LEAF) /* in one place */
			add_node(job, entry.node, radius2, t);
		else
			tally_leaf(job, t, other, tree->first[entry.node], tree->count[entry.node]);
	}
}

static void store_within(const struct nb_near_job *job, const struct nb_within *within, const struct nb_near_targets *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const size_t row = job->perm[t->first + i];
		if (within->count)
			within->count[row] = t->within[i] - 1;
		if (within->mass)
			within->mass[row] = job->tree.mass ? t->mass[i] - nb_near_mass(job, t->first + i)
							   : t->within[i] - 1;
	}
}

/* All groups: either of the two. */
static int walk(const struct nb_near_job *job, const struct nb_within *within)
{
	uint32_t *group = NULL;
	size_t ngroup = 0;
	int status = nb_near_find_groups(job, NB_NEAR_GROUP, &group, &ngroup);
	if (status)
		return status;
	const enum nb_isa isa = nb_cpu_isa();
	const size_t list = within ? 0 : (size_t)NB_NEAR_GROUP * (size_t)job->nearest.k;
	const double radius = within ? ldexp(within->radius, -job->exponent) : 0;
#pragma omp parallel reduction(max : status)
	{
		struct nb_near_targets t = {.d2 = nb_alloc(list, sizeof *t.d2), .body = nb_alloc(list, sizeof *t.body)};
		t.stack = nb_alloc(NB_NEAR_STACK, sizeof *t.stack);
		status = t.d2 && t.body && t.stack ? NB_OK : NB_ENOMEM;
#pragma omp for schedule(dynamic, 16)
		for (size_t b = 0; b < ngroup; b++) {
			const uint32_t first = job->tree.first[group[b]], end = first + job->tree.count[group[b]];
			for (t.first = first; !status && t.first < end; t.first += t.count) {
				t.count = end - t.first < NB_NEAR_GROUP ? end - t.first : NB_NEAR_GROUP;
				nb_near_find_places(job, t.first, t.count, &t.own);
				if (within) {
					count_within(job, tally[isa], group[b], radius * radius, &t);
					store_within(job, within, &t);
				} else {
					search(job, meet[isa], group[b], &t);
					measure(job, &t);
				}
			}
		}
		nb_free_all(t.d2, t.body, t.stack);
	}
	nb_free(group);
	return status;
}

int nb_near_nearest_cpu(const struct nb_near_bodies *bodies, const struct nb_near_found *nearest)
{
	struct nb_near_job job = {.bodies = *bodies, .nearest = *nearest};
	if (bodies->n == 0)
		return NB_OK;
	int status = nb_near_refuses(bodies, nearest->k);
	status = status ? status : nb_near_prepare(&job, 0, NULL);
	status = status ? status : walk(&job, NULL);
	return nb_near_release(&job, status);
}

int nb_near_within_cpu(const struct nb_near_bodies *bodies, const struct nb_within *within)
{
	struct nb_near_job job = {.bodies = *bodies};
	if (bodies->n == 0)
		return NB_OK;
	if (!(within->radius >= 0) || (bodies->box > 0 && within->radius > bodies->box / 2))
		return NB_EINVAL;
	int status = nb_near_prepare(&job, bodies->mass || bodies->single.mass, NULL);
	status = status ? status : walk(&job, within);
	return nb_near_release(&job, status);
}
