/* tree_cpu.c - Barnes-Hut as Gangavarapu et al. (quadtree) and Xu, Xu & Chen (octree) have it, in f64.
 *
 * Bodies are inserted one by one and end in a cell each; a recursion from the leaves gives every cell its mass and
 * centre of mass, and a recursion from the root gives each body its force: a cell of edge l at distance D counts as one
 * body where l / D < theta, else its children are asked.  No multipole beyond the monopole, no sorting, no groups.
 *
 * With OpenMP both papers share the bodies of the force loop among the threads; Gangavarapu et al. also the mass
 * distribution (algorithm 6, here tasks).  They add to one sum under a lock; here children are added in their order, so
 * that the number of threads changes nothing.  Xu, Xu & Chen give a cell the velocity of its centre of mass, for the
 * second order of their Taylor step; their OctreeThreshold is 1 / theta. */
#include "kernels/papers/tree_internal.h"

#include "common/mem.h"
#include "kernels/papers/cpu_internal.h"

#include <math.h>
#include <string.h>

/* ---- insertion ----------------------------------------------------------------------------------------- */

/* A new empty cell; its index, or NB_PAPER_NONE. */
static int32_t add_node(struct nb_paper_tree *tree, const double *middle, double edge, int32_t depth)
{
	if (tree->nnode == tree->room) {
		const size_t room = tree->room ? 2 * tree->room : 64;
		struct nb_paper_node *node = nb_alloc(room, sizeof *node);
		if (!node)
			return NB_PAPER_NONE;
		if (tree->nnode)
			memcpy(node, tree->node, tree->nnode * sizeof *node);
		nb_free(tree->node);
		tree->node = node;
		tree->room = room;
	}
	struct nb_paper_node *node = &tree->node[tree->nnode];
	*node = (struct nb_paper_node){.edge = edge, .body = NB_PAPER_NONE, .depth = depth};
	memcpy(node->middle, middle, sizeof node->middle);
	memset(node->child, 0xff, sizeof node->child); /* NB_PAPER_NONE */
	return (int32_t)tree->nnode++;
}

static int quadrant(const struct nb_paper_tree *tree, const struct nb_paper_node *node, const double *x)
{
	int q = 0;
	for (int c = 0; c < tree->dim; c++)
		q |= (x[c] >= node->middle[c]) << c;
	return q;
}

/* The cell for x below node `at`, made if need be. */
static int32_t descend(struct nb_paper_tree *tree, int32_t at, const double *x)
{
	const int q = quadrant(tree, &tree->node[at], x);
	if (tree->node[at].child[q] == NB_PAPER_NONE) {
		const struct nb_paper_node *parent = &tree->node[at];
		double middle[3];
		memcpy(middle, parent->middle, sizeof middle);
		for (int c = 0; c < tree->dim; c++)
			middle[c] += (q >> c & 1 ? 0.25 : -0.25) * parent->edge;
		const int32_t child = add_node(tree, middle, 0.5 * parent->edge, parent->depth + 1);
		if (child == NB_PAPER_NONE)
			return child;
		tree->node[at].child[q] = child;
	}
	return tree->node[at].child[q];
}

static int insert(struct nb_paper_tree *tree, const double *pos, int32_t body)
{
	int32_t at = 0;
	for (;;) {
		struct nb_paper_node *node = &tree->node[at];
		node->count++;
		if (node->count == 1 || (node->depth == NB_PAPER_DEPTH)) {
			tree->next[body] = node->body;
			node->body = body;
			return NB_OK;
		}
		const int32_t existing = node->body;
		if (existing != NB_PAPER_NONE) { /* a leaf until now */
			const int32_t child = descend(tree, at, pos + 3 * (size_t)existing);
			if (child == NB_PAPER_NONE)
				return NB_ENOMEM;
			tree->node[child].body = existing;
			tree->node[child].count = 1;
			tree->node[at].body = NB_PAPER_NONE;
		}
		at = descend(tree, at, pos + 3 * (size_t)body);
		if (at == NB_PAPER_NONE)
			return NB_ENOMEM;
	}
}

int nb_paper_tree_insert(size_t n, const double *pos, int dim, struct nb_paper_tree *tree)
{
	*tree = (struct nb_paper_tree){.dim = dim, .n = n};
	if (dim != 2 && dim != 3)
		return NB_EINVAL;
	if (n > INT32_MAX / NB_PAPER_DEPTH)
		return NB_ELIMIT;
	if (n == 0)
		return NB_OK;
	double lo[3] = {0, 0, 0}, hi[3] = {0, 0, 0}, middle[3] = {0, 0, 0}, edge = 0;
	for (int c = 0; c < dim; c++) {
		lo[c] = hi[c] = pos[c];
		for (size_t i = 1; i < n; i++) {
			lo[c] = fmin(lo[c], pos[3 * i + c]);
			hi[c] = fmax(hi[c], pos[3 * i + c]);
		}
		middle[c] = 0.5 * lo[c] + 0.5 * hi[c];
		edge = fmax(edge, hi[c] - lo[c]);
	}
	tree->next = nb_alloc(n, sizeof *tree->next);
	int status = tree->next && add_node(tree, middle, edge, 0) == 0 ? NB_OK : NB_ENOMEM;
	for (size_t i = 0; i < n && !status; i++)
		status = insert(tree, pos, (int32_t)i);
	if (status)
		nb_paper_tree_free(tree);
	return status;
}

void nb_paper_tree_free(struct nb_paper_tree *tree)
{
	nb_free(tree->node);
	nb_free(tree->next);
	tree->node = NULL;
	tree->next = NULL;
}

/* ---- mass distribution ------------------------------------------------------------------------------------ */

/* scaled copies of the bodies */
struct bodies {
	double *pos, *vel, *mass; /* n x 3, n x 3 or NULL, n */
	double eps2, theta;
};

static void gather(struct nb_paper_node *node, double mass, const double *com, const double *vel)
{
	node->mass += mass;
	for (int c = 0; c < 3; c++) {
		node->com[c] += mass * com[c];
		if (vel)
			node->vel[c] += mass * vel[c];
	}
}

/* tasks: divide the work of cells above this depth among the threads */
static void distribute(struct nb_paper_tree *tree, const struct bodies *b, int32_t at, int tasks)
{
	struct nb_paper_node *node = &tree->node[at];
	if (nb_paper_leaf(node)) {
		for (int32_t i = node->body; i != NB_PAPER_NONE; i = tree->next[i])
			gather(node, b->mass[i], b->pos + 3 * (size_t)i, b->vel ? b->vel + 3 * (size_t)i : NULL);
	} else {
		for (int q = 0; q < 1 << tree->dim; q++)
			if (node->child[q] != NB_PAPER_NONE) {
#pragma omp task if (node->depth < tasks)
				distribute(tree, b, node->child[q], tasks);
			}
#pragma omp taskwait
		for (int q = 0; q < 1 << tree->dim; q++)
			if (node->child[q] != NB_PAPER_NONE) {
				const struct nb_paper_node *child = &tree->node[node->child[q]];
				gather(node, child->mass, child->com, b->vel ? child->vel : NULL);
			}
	}
	if (!(node->mass > 0)) {
		memcpy(node->com, node->middle, sizeof node->com);
		return;
	}
	/* a child's sums were divided already, so that they count as those of one body */
	for (int c = 0; c < 3; c++) {
		node->com[c] /= node->mass;
		node->vel[c] /= node->mass;
	}
}

/* ---- force -------------------------------------------------------------------------------------------------- */

static void calculate_force(const struct nb_paper_tree *tree, const struct bodies *b, int32_t at, int32_t target,
	double acc[3], double *jerk, struct nb_gravity_count *count)
{
	const struct nb_paper_node *node = &tree->node[at];
	const double *x = b->pos + 3 * (size_t)target, *vel = b->vel ? b->vel + 3 * (size_t)target : NULL;
	double d[3], v[3] = {0, 0, 0}, D2 = 0;
	if (nb_paper_leaf(node)) {
		for (int32_t j = node->body; j != NB_PAPER_NONE; j = tree->next[j]) {
			if (j == target)
				continue;
			for (int c = 0; c < 3; c++) {
				d[c] = b->pos[3 * (size_t)j + c] - x[c];
				if (vel)
					v[c] = b->vel[3 * (size_t)j + c] - vel[c];
			}
			nb_paper_interact(tree->dim, d, v, b->mass[j], b->eps2, acc, jerk);
			count->p2p++;
		}
		return;
	}
	for (int c = 0; c < tree->dim; c++) {
		d[c] = node->com[c] - x[c];
		D2 += d[c] * d[c];
	}
	if (node->edge < b->theta * sqrt(D2)) {
		for (int c = 0; vel && c < 3; c++)
			v[c] = node->vel[c] - vel[c];
		nb_paper_interact(tree->dim, d, v, node->mass, b->eps2, acc, jerk);
		count->m2p++;
		return;
	}
	for (int q = 0; q < 1 << tree->dim; q++)
		if (node->child[q] != NB_PAPER_NONE)
			calculate_force(tree, b, node->child[q], target, acc, jerk, count);
}

static void row(const struct nb_paper_tree *tree, const struct bodies *b, const struct nb_gravity_plan *plan, size_t i,
	struct nb_gravity_count *count)
{
	const struct nb_gravity *g = plan->g;
	double acc[3] = {0, 0, 0}, jerk[3] = {0, 0, 0};
	calculate_force(tree, b, 0, (int32_t)i, acc, g->jerk ? jerk : NULL, count);
	for (int c = 0; c < 3; c++) {
		g->acc[3 * i + c] = acc[c] * plan->scale.acc_out;
		if (g->jerk)
			g->jerk[3 * i + c] = jerk[c] * plan->scale.jerk_out;
	}
}

enum { TASK_DEPTH = 4 };

static int solve(struct nb_paper_tree *tree, struct bodies *b, const struct nb_gravity_plan *plan, int parallel_mass,
	int parallel_force, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = plan->g;
	for (size_t i = 0; i < g->n; i++) {
		for (int c = 0; c < 3; c++) {
			b->pos[3 * i + c] = g->pos[3 * i + c] * plan->scale.length;
			if (b->vel)
				b->vel[3 * i + c] = g->vel[3 * i + c] * plan->scale.velocity;
		}
		b->mass[i] = g->mass[i] * plan->scale.mass;
	}
	const int status = nb_paper_tree_insert(g->n, b->pos, tree->dim, tree);
	if (status)
		return status;
	if (parallel_mass) {
#pragma omp parallel
#pragma omp single
		distribute(tree, b, 0, TASK_DEPTH);
	} else {
		distribute(tree, b, 0, 0);
	}
	uint64_t p2p = 0, m2p = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : p2p, m2p) if (parallel_force)
	for (size_t i = 0; i < g->n; i++) {
		struct nb_gravity_count did = {0, 0, 0, 0};
		row(tree, b, plan, i, &did);
		p2p += did.p2p;
		m2p += did.m2p;
	}
	if (count) {
		count->p2p += p2p;
		count->m2p += m2p;
	}
	return NB_OK;
}

static int barnes_hut(
	const struct nb_paper_job *job, int dim, int parallel_mass, int parallel_force, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	int status = nb_gravity_plan(g, &plan);
	if (status || g->n == 0)
		return status;
	struct nb_paper_tree tree = {.dim = dim};
	struct bodies b = {.pos = nb_alloc(g->n, 3 * sizeof(double)),
		.vel = g->jerk ? nb_alloc(g->n, 3 * sizeof(double)) : NULL,
		.mass = nb_alloc(g->n, sizeof(double)),
		.eps2 = plan.eps * plan.eps,
		.theta = job->theta};
	status = b.pos && b.mass && (b.vel || !g->jerk) ? solve(&tree, &b, &plan, parallel_mass, parallel_force, count)
							: NB_ENOMEM;
	nb_paper_tree_free(&tree);
	nb_free(b.pos);
	nb_free(b.vel);
	nb_free(b.mass);
	return status;
}

int nb_paper_gangavarapu_tree(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return barnes_hut(job, 2, 0, 0, count);
}

int nb_paper_gangavarapu_tree_omp(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return barnes_hut(job, 2, 1, 1, count);
}

int nb_paper_xu_tree(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return barnes_hut(job, 3, 0, 0, count);
}

int nb_paper_xu_tree_omp(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return barnes_hut(job, 3, 0, 1, count);
}
