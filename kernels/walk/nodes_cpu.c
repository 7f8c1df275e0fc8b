/* Nodes as targets of the walk: which are divided, which are groups, how large they are. */
#include "kernels/walk/walk_internal.h"

#include <math.h>

#include "common/mem.h"
#include "kernels/pair/pair.h"

enum {
	MOST_GROUP = NB_WALK_GROUP > NB_WALK_GROUP_4 ? NB_WALK_GROUP : NB_WALK_GROUP_4,
	BLOCKS = 128, /* into which nodes are divided, to be numbered by threads */
	TIGHT = 64    /* a cell so many times smaller than the one that it lies in is not walked with it */
};

void nb_walk_memory_free(struct nb_walk_memory *m)
{
	nb_free_all(m->inner, m->npart, m->group, m->tight_child, m->generation, m->radius, m->reach, m->least,
		m->family, m->moment, m->own, m->velocity, m->quad_rate, m->soft, m->family_soft);
}

int nb_walk_allocate_nodes(struct nb_walk_memory *m, size_t nnode, int by_acc)
{
	m->inner = nb_alloc(nnode, sizeof *m->inner);
	m->npart = nb_alloc(nnode, sizeof *m->npart);
	m->group = nb_alloc(nnode, sizeof *m->group);
	m->tight_child = nb_alloc(nnode, sizeof *m->tight_child);
	m->radius = nb_alloc(nnode, sizeof *m->radius);
	m->reach = nb_alloc(nnode, sizeof *m->reach);
	m->least = by_acc ? nb_alloc(nnode, sizeof *m->least) : NULL;
	return m->inner && m->npart && m->group && m->tight_child && m->radius && m->reach && (!by_acc || m->least)
		       ? NB_OK
		       : NB_ENOMEM;
}

size_t nb_walk_generation(const struct nb_tree *tree, size_t first, size_t end)
{
	size_t i = end;
	while (i > first && (tree->nchild[i - 1] == 0 || tree->child[i - 1] >= end))
		i--;
	return i;
}

static double extent(const struct nb_tree *tree, size_t i)
{
	const double *box = tree->box + 6 * i;
	return fmax(fmax(box[3] - box[0], box[4] - box[1]), box[5] - box[2]);
}

int nb_walk_has_tight_child(const struct nb_tree *tree, size_t i)
{
	for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++) {
		double size = extent(tree, c);
		if (tree->count[c] > 1 && size > 0 && size * TIGHT < extent(tree, i))
			return 1;
	}
	return 0;
}

void nb_walk_find_tight_children(struct nb_walk_memory *m, const struct nb_tree *tree)
{
#pragma omp parallel for schedule(static) if (tree->nnode > NB_WALK_SERIAL)
	for (size_t i = 0; i < tree->nnode; i++)
		m->tight_child[i] = tree->nchild[i] > 0 && tree->count[i] <= MOST_GROUP &&
				    nb_walk_has_tight_child(tree, i);
}

/* The first node of a block; block BLOCKS is the end. */
static size_t block_begin(const struct nb_tree *tree, size_t b)
{
	return tree->nnode * b / BLOCKS;
}

/* Whether children come in the order of their parents, so that levels are side by side. */
static int is_by_levels(const struct nb_tree *tree)
{
	size_t first[BLOCKS], end[BLOCKS], next = 1; /* of the children of a block's nodes */
	int apart = 0;
#pragma omp parallel for schedule(static) reduction(| : apart) if (tree->nnode > NB_WALK_SERIAL)
	for (size_t b = 0; b < BLOCKS; b++) {
		first[b] = end[b] = 0;
		for (size_t i = block_begin(tree, b); i < block_begin(tree, b + 1); i++)
			if (tree->nchild[i]) {
				apart |= end[b] && tree->child[i] != end[b];
				first[b] = end[b] ? first[b] : tree->child[i];
				end[b] = (size_t)tree->child[i] + tree->nchild[i];
			}
	}
	for (size_t b = 0; b < BLOCKS && !apart; b++)
		if (end[b]) {
			apart |= first[b] != next;
			next = end[b];
		}
	return !apart;
}

/* Where the children of the nodes begin .. end-1 end, the last of which that has some has the last. */
static size_t next_level(const struct nb_tree *tree, size_t begin, size_t end)
{
	size_t i = end;
	while (i > begin && tree->nchild[i - 1] == 0)
		i--;
	return i > begin ? (size_t)tree->child[i - 1] + tree->nchild[i - 1] : end;
}

/* Writes where generations begin, if to is not NULL, from the root or, of a tree of another order, from the end. */
static size_t list_generations(const struct nb_tree *tree, int by_levels, uint32_t *to, size_t most)
{
	size_t n = 0;
	for (size_t begin = 0, end = 1, next; by_levels && begin < end; begin = end, end = next) {
		next = next_level(tree, begin, end);
		if (to)
			to[n] = (uint32_t)begin;
		n++;
	}
	for (size_t end = tree->nnode; !by_levels && end > 0; n++) {
		end = nb_walk_generation(tree, 0, end);
		if (to)
			to[most - 1 - n] = (uint32_t)end;
	}
	return n;
}

int nb_walk_find_generations(struct nb_walk_memory *m, const struct nb_tree *tree)
{
	const int by_levels = is_by_levels(tree);
	m->ngeneration = list_generations(tree, by_levels, NULL, 0);
	m->generation = nb_alloc(m->ngeneration + 1, sizeof *m->generation);
	if (!m->generation)
		return NB_ENOMEM;
	list_generations(tree, by_levels, m->generation, m->ngeneration);
	m->generation[m->ngeneration] = (uint32_t)tree->nnode;
	return NB_OK;
}

/* Whether a node that is reached, and has no number yet, is divided. */
static int is_to_divide(const struct nb_walk_memory *m, const struct nb_tree *tree, uint32_t leaf, size_t i)
{
	return m->inner[i] == 0 && tree->nchild[i] > 0 && (tree->count[i] > leaf || m->tight_child[i]);
}

void nb_walk_number_families(struct nb_walk_memory *m, const struct nb_tree *tree, uint32_t leaf)
{
	const int many = tree->nnode > NB_WALK_SERIAL;
	uint32_t before[BLOCKS + 1];
	size_t tight = 0;
	m->inner[0] = 0;
	/* above a node of more than `leaf` bodies all are divided */
#pragma omp parallel for schedule(static) reduction(+ : tight) if (many)
	for (size_t i = 0; i < tree->nnode; i++) {
		tight += tree->count[i] <= leaf && m->tight_child[i];
		for (uint32_t c = 0; c < tree->nchild[i]; c++)
			m->inner[tree->child[i] + c] = tree->count[i] > leaf ? 0 : NB_WALK_UNREACHED;
	}
	for (size_t i = 0; i < tree->nnode && tight; i++)
		if (m->inner[i] == 0 && tree->count[i] <= leaf && m->tight_child[i])
			for (uint32_t c = 0; c < tree->nchild[i]; c++)
				m->inner[tree->child[i] + c] = 0;
	before[0] = 1;
#pragma omp parallel for schedule(static) if (many)
	for (size_t b = 0; b < BLOCKS; b++) {
		before[b + 1] = 0;
		for (size_t i = block_begin(tree, b); i < block_begin(tree, b + 1); i++)
			before[b + 1] += is_to_divide(m, tree, leaf, i);
	}
	for (size_t b = 0; b < BLOCKS; b++)
		before[b + 1] += before[b];
	m->nfamily = before[BLOCKS];
#pragma omp parallel for schedule(static) if (many)
	for (size_t b = 0; b < BLOCKS; b++)
		for (size_t i = block_begin(tree, b); i < block_begin(tree, b + 1); i++)
			if (is_to_divide(m, tree, leaf, i))
				m->inner[i] = before[b]++;
}

void nb_walk_find_groups(struct nb_walk_memory *m, const struct nb_tree *tree, uint32_t most, uint32_t part)
{
	size_t end = 0; /* behind the last node of several parts */
#pragma omp parallel for schedule(static) reduction(max : end) if (tree->nnode > NB_WALK_SERIAL)
	for (size_t i = 0; i < tree->nnode; i++) {
		const int divided = nb_walk_is_divided(m, i);
		m->group[i] = !divided || (tree->count[i] <= most && !m->tight_child[i]);
		m->npart[i] = 1;
		end = m->group[i] || tree->count[i] <= part ? end : i + 1;
	}
	for (size_t i = end; i-- > 0;) {
		if (m->group[i] || tree->count[i] <= part)
			continue;
		m->npart[i] = 0;
		for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++)
			m->npart[i] += m->npart[c];
	}
}

/* The root of x^2 + y^2 + z^2 where the squares may be out of range. */
static double length_of(double x, double y, double z)
{
	const double largest = fmax(fmax(fabs(x), fabs(y)), fabs(z));
	if ((largest > 0x1p-400 && largest < 0x1p400) || !(largest > 0 && isfinite(largest)))
		return sqrt(x * x + y * y + z * z);
	x /= largest;
	y /= largest;
	z /= largest;
	return largest * sqrt(x * x + y * y + z * z);
}

static double distance(const double *a, const double *b)
{
	return length_of(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/* The power of two that a length is half of or more, but not all of; 0 for 0. */

static void box_middle(const struct nb_tree *tree, size_t i, double *middle)
{
	const double *box = tree->box + 6 * i;
	for (int k = 0; k < 3; k++)
		middle[k] = box[k] + 0.5 * (box[3 + k] - box[k]);
}

void nb_walk_add_pair(double mass, const double *x, const double *v, double eps, double *sum)
{
	const double length = length_of(length_of(x[0], x[1], x[2]), eps, 0);
	const double pull = mass / length / length; /* at a distance without softening */
	double along = 0;
	for (int k = 0; k < 3; k++)
		along += v[k] * (x[k] / length);
	for (int k = 0; k < 3; k++) {
		const double to = x[k] / length;
		sum[k] += pull * to;
		sum[4 + k] += pull / length * (v[k] - 3 * along * to);
	}
	sum[3] += mass / length;
}

/* Radius, reach and least |acc_old| of a cell whose bodies are not divided further; looks at every body. */
int nb_walk_measure_bodies(const struct nb_gravity *g, const struct nb_tree *tree, struct nb_walk_memory *m, size_t i,
	const double *acc_old, double error, double *jump)
{
	const double *com = tree->com + 3 * i;
	double middle[3], radius2 = 0, reach2 = 0, test = 0, least_mass = 0, least2 = INFINITY;
	const double size = extent(tree, i), unit = nb_pair_power2(size, 0);
	box_middle(tree, i, middle);
	for (size_t b = tree->first[i]; b < (size_t)tree->first[i] + tree->count[i]; b++) {
		const double *x = g->pos + 3 * b;
		double r2 = 0, s2 = 0;
		for (int k = 0; k < 3; k++) {
			double r = (x[k] - com[k]) * unit, s = (x[k] - middle[k]) * unit;
			r2 += r * r;
			s2 += s * s;
		}
		radius2 = r2 > radius2 ? r2 : radius2;
		reach2 = s2 > reach2 ? s2 : reach2;
		/* a - a is 0 unless a is infinite or NaN */
		test += (r2 - r2) + (g->mass[b] - g->mass[b]);
		least_mass = g->mass[b] < least_mass ? g->mass[b] : least_mass;
		if (acc_old) {
			const double *a = acc_old + 3 * b;
			double a2 = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
			least2 = a2 < least2 ? a2 : least2;
		}
	}
	if (test != 0)
		return NB_ENONFINITE;
	if (least_mass < 0)
		return NB_EINVAL;
	m->radius[i] = sqrt(radius2) / unit;
	m->reach[i] = sqrt(reach2) / unit;
	if (acc_old)
		m->least[i] = (float)(sqrt(least2) * error);
	const double typical = nb_pair_typical(tree->count[i], g->pos + 3 * (size_t)tree->first[i], size);
	*jump = size > 0 ? size / fmax(typical, g->body_eps ? 0 : g->eps) : 0;
	return *jump > NB_WALK_FARTHEST ? NB_EFAR : NB_OK;
}

/* The same of a node, from its children: the better of two bounds.  Returns the largest ratio of its reach and that of
 * a child. */
double nb_walk_measure_children(const struct nb_tree *tree, struct nb_walk_memory *m, size_t i)
{
	const double *com = tree->com + 3 * i, *box = tree->box + 6 * i;
	double middle[3], child_middle[3], corner[3], radius = 0, reach = 0, jump = 0;
	float least = INFINITY;
	box_middle(tree, i, middle);
	for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++) {
		radius = fmax(radius, distance(com, tree->com + 3 * c) + m->radius[c]);
		box_middle(tree, c, child_middle);
		reach = fmax(reach, distance(middle, child_middle) + m->reach[c]);
		if (m->least)
			least = fminf(least, m->least[c]);
	}
	m->reach[i] = fmin(reach, distance(middle, box));
	for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++)
		if (m->reach[c] > 0 && m->reach[i] > jump * m->reach[c])
			jump = m->reach[i] / m->reach[c];
	for (int k = 0; k < 3; k++)
		corner[k] = com[k] < middle[k] ? box[3 + k] : box[k];
	m->radius[i] = fmin(radius, distance(com, corner));
	if (m->least)
		m->least[i] = least;
	return jump;
}

static int worse(int a, int b)
{
	return a > b ? a : b;
}

int nb_walk_measure_nodes(const struct nb_gravity *g, const struct nb_tree *tree, struct nb_walk_memory *m,
	const double *acc_old, double error)
{
	int status = NB_OK;
	double jump = 0;
	/* those of the same bodies by the same thread, mostly, as before in the tree */
#pragma omp parallel reduction(max : status, jump) if (tree->nnode > NB_WALK_SERIAL)
	for (size_t k = m->ngeneration; k-- > 0;) {
#pragma omp for schedule(static)
		for (size_t i = m->generation[k]; i < m->generation[k + 1]; i++) {
			double mine = 0;
			if (m->inner[i] == 0)
				status = worse(status, nb_walk_measure_bodies(g, tree, m, i, acc_old, error, &mine));
			else if (m->inner[i] != NB_WALK_UNREACHED)
				mine = nb_walk_measure_children(tree, m, i);
			jump = fmax(jump, mine);
		}
	}
	m->jump = jump;
	return status;
}
