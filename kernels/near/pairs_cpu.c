/* Pairs of bodies by their distances: a walk of two trees at once.
 *
 * Two nodes whose least and largest distances are in one bin count as the product of their bodies; of others the larger
 * one is divided.  Bodies of leaves meet one by one, and are compared only with the edges between these two distances.
 * Source: Moore et al. 2001, in Mining the Sky, 71 (two trees, and what is all in one bin). */
#include "kernels/near/near_cpu_internal.h"

#include "common/mem.h"

enum { TASK = 1024, STACK = 2 * 64 * NB_TREE_LEVELS };

static nb_near_cross *const cross[] = {NB_ISA_TABLE(nb_near_cross)};

/* The first of ascending edges that is above x; n: none. */
static int first_above(const double *edge, int n, double x)
{
	int from = 0, to = n;
	while (from < to) {
		const int middle = (from + to) / 2;
		if (edge[middle] > x)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

/* Which bins and parts pairs of two nodes may be in; 0: none. */
static int find_range(const struct nb_pair_job *job, size_t a, size_t b, struct nb_pair_range *range)
{
	const double *box_a = job->a->tree.box + 6 * a, *box_b = job->b->tree.box + 6 * b;
	const int flat = job->nparts > 1 || job->part[0] < INFINITY;
	double least[2] = {0, 0}, most[2] = {0, 0};
	for (int k = 0; k < 3; k++) {
		const double gap = nb_periodic_gap(box_a[k], box_a[k + 3], box_b[k], box_b[k + 3], job->a->box);
		const double reach = nb_near_reach(job->a, box_a + k, box_b + k);
		least[flat && k == 2] += gap * gap;
		most[flat && k == 2] += reach * reach;
	}
	range->bin[0] = first_above(job->edge2, job->nedge, least[0] * NB_NEAR_LESS);
	range->bin[1] = first_above(job->edge2, job->nedge, most[0] * NB_NEAR_MORE);
	range->part[0] = first_above(job->part, job->nparts, sqrt(least[1] * NB_NEAR_LESS));
	range->part[1] = first_above(job->part, job->nparts, sqrt(most[1] * NB_NEAR_MORE));
	return range->bin[0] < job->nedge && range->bin[1] > 0 && range->part[0] < job->nparts;
}

static void add(const struct nb_pair_job *job, int bin, int part, uint64_t pairs, uint64_t *count)
{
	if (bin > 0 && bin < job->nedge && part < job->nparts)
		count[(size_t)(bin - 1) * (size_t)job->nparts + (size_t)part] += pairs;
}

struct pair {
	uint32_t a, b;
};

/* Bodies of two leaves, or of one with itself. */
static void cross_leaves(const struct nb_pair_job *job, struct nb_pair_leaves *leaves, const struct pair *p,
	const struct nb_pair_range *range, uint64_t *count)
{
	const struct nb_tree *trees[2] = {&job->a->tree, &job->b->tree};
	const uint32_t node[2] = {p->a, p->b};
	leaves->same = job->a == job->b && p->a == p->b;
	leaves->weight = 1;
	for (int k = 0; k < 2; k++) {
		const uint32_t first = trees[k]->first[node[k]];
		leaves->found[k] = first == leaves->first[k] ? leaves->found[k] : 0;
		leaves->first[k] = first;
		leaves->many[k] = trees[k]->count[node[k]];
		if (leaves->many[k] > NB_NEAR_LEAF) { /* in one place */
			leaves->weight *= leaves->many[k];
			leaves->many[k] = 1;
		}
	}
	cross[job->isa](job, leaves, range, count);
}

/* Of two nodes, each pair once. */
static void count_pairs(const struct nb_pair_job *job, struct pair *stack, uint32_t root, uint64_t *count)
{
	const struct nb_tree *ta = &job->a->tree, *tb = &job->b->tree;
	const int alone = job->a == job->b;
	struct nb_pair_leaves leaves = {0};
	size_t depth = 0;
	stack[depth++] = (struct pair){root, 0};
	while (depth) {
		const struct pair p = stack[--depth];
		const uint64_t na = ta->count[p.a], nb = tb->count[p.b];
		struct nb_pair_range range;
		if (alone && tb->first[p.b] + nb <= ta->first[p.a]) /* counted by the other order */
			continue;
		if (!find_range(job, p.a, p.b, &range))
			continue;
		const int same = alone && p.a == p.b, within = alone && tb->first[p.b] < ta->first[p.a] + na;
		if (range.bin[0] == range.bin[1] && range.part[0] == range.part[1] && (same || !within)) {
			add(job, range.bin[0], range.part[0], same ? na * (na - 1) / 2 : na * nb, count);
		} else if (!ta->nchild[p.a] && !tb->nchild[p.b]) {
			cross_leaves(job, &leaves, &p, &range, count);
		} else if (same) {
			for (uint32_t c = 0; c < ta->nchild[p.a]; c++)
				for (uint32_t d = c; d < ta->nchild[p.a]; d++)
					stack[depth++] = (struct pair){ta->child[p.a] + c, ta->child[p.a] + d};
		} else if (tb->nchild[p.b] && (nb > na || !ta->nchild[p.a])) {
			for (uint32_t c = 0; c < tb->nchild[p.b]; c++)
				stack[depth++] = (struct pair){p.a, tb->child[p.b] + c};
		} else {
			for (uint32_t c = 0; c < ta->nchild[p.a]; c++)
				stack[depth++] = (struct pair){ta->child[p.a] + c, p.b};
		}
	}
}

/* All of them, shared by threads: nodes of about TASK bodies of a against all of b. */
static int walk(const struct nb_pair_job *job, size_t ncount, uint64_t *count)
{
	uint32_t *node = NULL;
	size_t nnode = 0;
	int status = nb_near_find_groups(job->a, TASK, &node, &nnode);
	if (status)
		return status;
#pragma omp parallel reduction(max : status)
	{
		uint64_t *own = nb_alloc_zero(ncount, sizeof *own);
		struct pair *stack = nb_alloc(STACK, sizeof *stack);
		status = own && stack ? NB_OK : NB_ENOMEM;
#pragma omp for schedule(dynamic)
		for (size_t k = 0; k < nnode; k++)
			if (!status)
				count_pairs(job, stack, node[k], own);
#pragma omp critical
		for (size_t k = 0; !status && k < ncount; k++)
			count[k] += own[k];
		nb_free_all(own, stack);
	}
	nb_free(node);
	return status;
}

static int bins_are_wrong(const struct nb_pair_bins *bins, double box)
{
	int wrong = bins->n < 1 || bins->n > NB_PAIR_BINS || bins->parts < 0 || bins->parts > NB_PAIR_PARTS;
	for (int k = 0; !wrong && k <= bins->n; k++)
		wrong = !(
			bins->edge[k] >= 0 && isfinite(bins->edge[k]) && (k == 0 || bins->edge[k] > bins->edge[k - 1]));
	wrong = wrong || (bins->parts && !(bins->reach > 0 && isfinite(bins->reach)));
	return wrong || (box > 0 && (bins->edge[bins->n] > box / 2 || (bins->parts && bins->reach > box / 2)));
}

/* Prepares both sets in one unit of length. */
static int prepare(const struct nb_near_bodies *b, struct nb_near_job job[2])
{
	const struct nb_near_bodies *a = &job[0].bodies;
	int status = nb_near_prepare(&job[0], 0, NULL);
	if (status || !b)
		return status;
	job[1].bodies = (struct nb_near_bodies){.n = b->n, .dim = a->dim, .box = a->box, .pos = b->pos};
	job[1].bodies.single.pos = b->single.pos;
	return nb_near_prepare(&job[1], 0, &job[0]);
}

int nb_near_pairs_cpu(const struct nb_near_bodies *a, const struct nb_near_bodies *b, const struct nb_pair_bins *bins,
	uint64_t *count)
{
	const int parts = bins->parts ? bins->parts : 1;
	if (bins_are_wrong(bins, a->box) || (bins->parts && a->dim == 2))
		return NB_EINVAL;
	const size_t ncount = (size_t)bins->n * (size_t)parts;
	for (size_t k = 0; k < ncount; k++)
		count[k] = 0;
	if (a->n == 0 || (b && b->n == 0))
		return NB_OK;
	struct nb_near_job set[2] = {{.bodies = {.n = a->n, .dim = a->dim, .box = a->box, .pos = a->pos}}};
	set[0].bodies.single.pos = a->single.pos;
	struct nb_pair_job job = {
		.a = set, .b = b ? &set[1] : set, .nedge = bins->n + 1, .nparts = parts, .isa = nb_cpu_isa()};
	double *edge2 = nb_alloc((size_t)bins->n + 1, sizeof *edge2), *part = nb_alloc((size_t)parts, sizeof *part);
	int status = edge2 && part ? prepare(b, set) : NB_ENOMEM;
	for (int k = 0; !status && k <= bins->n; k++) {
		const double edge = ldexp(bins->edge[k], -set[0].exponent);
		edge2[k] = edge * edge;
	}
	for (int p = 0; !status && p < parts; p++)
		part[p] = bins->parts ? ldexp(bins->reach * (p + 1) / parts, -set[0].exponent) : INFINITY;
	job.edge2 = edge2;
	job.part = part;
	status = status ? status : walk(&job, ncount, count);
	for (size_t k = 0; !status && !b && k < ncount; k++)
		count[k] *= 2;
	status = nb_near_release(&set[0], status);
	status = nb_near_release(&set[1], status);
	nb_free_all(edge2, part);
	return status;
}
