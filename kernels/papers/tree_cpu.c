/* tree_cpu.c - Barnes-Hut as Gangavarapu et al. (quadtree, in f64) and Xu, Xu & Chen (octree, in f32 as most of their
 * listings, and f64) have it.
 *
 * Bodies are inserted one by one and end in a cell each; a recursion from the leaves gives every cell its mass and
 * centre of mass, and a recursion from the root gives each body its force: a cell of edge l at distance D counts as one
 * body where l / D < theta, else its children are asked.  No multipole beyond the monopole, no sorting, no groups.
 *
 * With OpenMP both papers share the bodies of the force loop among the threads; Gangavarapu et al. also the mass
 * distribution (algorithm 6: a parallel loop over the children in each call of the recursion; here tasks, which need no
 * nested regions).  They add to one sum under a lock; here children are added in their order, so that the number of
 * threads changes nothing.  The second parallel loop of algorithm 5, over the children of a cell, is inside the one
 * over the bodies, where OpenMP gives it one thread unless the program asks for nested regions; so it is left out.  Xu,
 * Xu & Chen give a cell the velocity of its centre of mass, for the second order of their Taylor step; their
 * OctreeThreshold is 1 / theta. */
#include "kernels/papers/tree_internal.h"

#include "common/mem.h"
#include "kernels/papers/cpu_internal.h"

#include <math.h>
#include <string.h>

/* ---- insertion ----------------------------------------------------------------------------------------- */

/* A new empty cell; its index, or NB_PAPER_NONE. */
static int32_t add_node(struct nb_paper_tree *tree, const double *middle, double edge, int32_t depth)
{
	if (nb_reserve(tree->node, tree->nnode, tree->nnode + 1, tree->room))
		return NB_PAPER_NONE;
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
	nb_free_all(tree->node, tree->next);
	tree->node = NULL;
	tree->next = NULL;
}

/* ---- mass distribution and force ------------------------------------------------------------------------------ */

enum { TASK_DEPTH = 4 };

/* What the two papers and their programs differ in. */
struct scheme {
	int dim;
	int parallel_mass, parallel_force;
};

#define REAL float
#define ROOT sqrtf
#define INTERACT nb_paper_interact_f32
#define TREE(name) name##_f32
#include "kernels/papers/tree_body.h"

#define REAL double
#define ROOT sqrt
#define INTERACT nb_paper_interact_f64
#define TREE(name) name##_f64
#include "kernels/papers/tree_body.h"

static int barnes_hut(const struct nb_paper_job *job, struct scheme scheme, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = job->gravity;
	struct nb_gravity_plan plan;
	int status = nb_paper_plan(g, &plan);
	if (status || g->n == 0)
		return status;
	/* the tree is that of the positions in f64, whatever the precision of the sums */
	struct nb_paper_tree tree = {.dim = scheme.dim};
	double *pos = nb_alloc(g->n, 3 * sizeof *pos);
	if (!pos)
		return NB_ENOMEM;
	for (size_t k = 0; k < 3 * g->n; k++)
		pos[k] = g->pos[k] * plan.scale.length - plan.middle[k % 3];
	status = nb_paper_tree_insert(g->n, pos, scheme.dim, &tree);
	if (!status)
		status = g->precision == NB_F64 ? solve_f64(job, &plan, &tree, pos, scheme, count)
						: solve_f32(job, &plan, &tree, pos, scheme, count);
	nb_paper_tree_free(&tree);
	nb_free(pos);
	return status;
}

int nb_paper_gangavarapu_tree(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return barnes_hut(job, (struct scheme){2, 0, 0}, count);
}

int nb_paper_gangavarapu_tree_omp(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return barnes_hut(job, (struct scheme){2, 1, 1}, count);
}

int nb_paper_xu_tree(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return barnes_hut(job, (struct scheme){3, 0, 0}, count);
}

int nb_paper_xu_tree_omp(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return barnes_hut(job, (struct scheme){3, 0, 1}, count);
}
