/* Bodies in the order of a tree, in a unit of a power of two; bundles of them that walk together. */
#include "kernels/near/near_cpu_internal.h"

#include "common/mem.h"

enum { PAD = 16 /* bodies that vectors may read behind the last */ };

int nb_near_sort_ids(size_t n, const uint64_t *id, uint32_t *row)
{
	uint64_t *own = nb_alloc(n, sizeof *own);
	uint32_t *order = nb_alloc(n, 2 * sizeof *order);
	int status = own && order ? NB_OK : NB_ENOMEM;
	for (size_t i = 0; !status && i < n; i++)
		own[i] = id[row[i]];
	status = status ? status : nb_sort_keys_cpu(n, own, order);
	status = status ? status : nb_permute_cpu(n, order, sizeof *row, row, order + n);
	if (!status)
		memcpy(row, order + n, n * sizeof *row);
	nb_free_all(own, order);
	return status;
}

/* Positions in the box and in the unit, which is chosen first. */
static int bring_in(struct nb_near_job *job, const struct nb_near_job *as, double *pos)
{
	const struct nb_near_bodies *bodies = &job->bodies;
	const double box = bodies->box;
	struct nb_cube cube;
	size_t bad;
	int status = nb_morton_cube_cpu(bodies->n, bodies->pos, bodies->dim, &cube, &bad);
	if (status)
		return status;
	nb_near_scale(job, as ? ldexp(0.5, as->exponent) : cube.size);
	const double unit[2] = {1 / job->unit[0], 1 / job->unit[1]};
#pragma omp parallel for
	for (size_t i = 0; i < bodies->n; i++)
		for (int k = 0; k < 3; k++) {
			const double x = bodies->pos[3 * i + (size_t)k];
			pos[3 * i + (size_t)k] = k < bodies->dim
							 ? (box > 0 ? nb_periodic_wrap(x, box) : x) * unit[0] * unit[1]
							 : 0;
		}
	return NB_OK;
}

static int sort(const struct nb_near_bodies *bodies, const double *pos, struct nb_cube *cube, uint64_t *key,
	uint32_t *perm, double *sorted)
{
	size_t bad;
	int status = nb_morton_cube_cpu(bodies->n, pos, bodies->dim, cube, &bad);
	status = status ? status : nb_morton_keys_cpu(bodies->n, pos, bodies->dim, cube, key);
	status = status ? status : nb_sort_keys_cpu(bodies->n, key, perm);
	status = status ? status : nb_sort_deep_cpu(bodies->n, key, pos, bodies->dim, perm);
	return status ? status : nb_permute_cpu(bodies->n, perm, 3 * sizeof *pos, pos, sorted);
}

/* Bodies of leaves that are in one place get the order of their ids. */
static int sort_ids(const struct nb_near_job *job, uint32_t *perm)
{
	int status = NB_OK;
	for (size_t k = 0; !status && k < job->tree.nnode; k++) {
		const size_t count = job->tree.nchild[k] ? 0 : job->tree.count[k];
		if (count > NB_NEAR_LEAF)
			status = nb_near_sort_ids(count, job->bodies.id, perm + job->tree.first[k]);
	}
	return status;
}

/* A copy in the order of the tree of what is wanted, an array with rows of that size. */
static const void *permuted(const struct nb_near_job *job, const void *from, size_t rowsize, int *status)
{
	if (*status || !from)
		return NULL;
	void *to = nb_alloc(job->bodies.n, rowsize);
	*status = to ? nb_permute_cpu(job->bodies.n, job->perm, rowsize, from, to) : NB_ENOMEM;
	return to;
}

/* Takes the positions and frees them, as soon as they are copied in order: they are as much as the copy. */
static int build(struct nb_near_job *job, double *pos, int with_mass)
{
	const size_t n = job->bodies.n;
	uint64_t *key = nb_alloc(n, sizeof *key);
	double *sorted = nb_alloc(n, 3 * sizeof *sorted), *mass = nb_alloc_zero(n, sizeof *mass);
	uint32_t *perm = nb_alloc(n, sizeof *perm);
	struct nb_cube cube;
	int status = key && sorted && mass && perm ? sort(&job->bodies, pos, &cube, key, perm, sorted) : NB_ENOMEM;
	nb_free(pos);
	for (size_t i = 0; !status && with_mass && i < n; i++)
		mass[i] = job->bodies.mass[perm[i]];
	status = status ? status
			: nb_tree_build_cpu(n, key, sorted, mass, job->bodies.dim, &cube, NB_NEAR_LEAF, 1, &job->tree);
	nb_free_all(key, mass);
	for (int k = 0; !status && k < 3; k++) {
		double *at = nb_alloc_zero(n + PAD, sizeof *at);
		job->at[k] = at;
		for (size_t i = 0; at && i < n; i++)
			at[i] = sorted[3 * i + (size_t)k];
		status = at ? NB_OK : NB_ENOMEM;
	}
	nb_free(sorted);
	job->perm = perm;
	status = status || !job->bodies.id ? status : sort_ids(job, perm);
	job->id = permuted(job, job->bodies.id, sizeof *job->id, &status);
	job->mass = permuted(job, job->bodies.mass, sizeof *job->mass, &status);
	job->vel = permuted(job, job->nearest.vdisp ? job->bodies.vel : NULL, 3 * sizeof *job->vel, &status);
	return status;
}

int nb_near_prepare(struct nb_near_job *job, int mass, const struct nb_near_job *as)
{
	if (job->bodies.n >= (size_t)1 << 31)
		return NB_ELIMIT;
	double *pos = nb_alloc(job->bodies.n, 3 * sizeof *pos);
	int status = pos ? bring_in(job, as, pos) : NB_ENOMEM;
	if (!status)
		return build(job, pos, mass);
	nb_free(pos);
	return status;
}

void nb_near_release(struct nb_near_job *job)
{
	nb_tree_free(&job->tree);
	nb_free_all((void *)job->at[0], (void *)job->at[1], (void *)job->at[2], (void *)job->perm, (void *)job->id,
		(void *)job->mass, (void *)job->vel);
}

int nb_near_find_bundles(const struct nb_near_job *job, uint32_t most, uint32_t **bundle, size_t *count)
{
	const struct nb_tree *tree = &job->tree;
	uint64_t *first = nb_alloc(tree->nnode, sizeof *first);
	uint32_t *node = nb_alloc(tree->nnode, sizeof *node), *order = nb_alloc(tree->nnode, sizeof *order);
	int status = first && node && order ? NB_OK : NB_ENOMEM;
	size_t n = 0;
	if (!status && (tree->count[0] <= most || !tree->nchild[0]))
		node[n++] = 0;
	for (size_t k = 0; !status && k < tree->nnode; k++)
		for (size_t c = tree->child[k]; tree->count[k] > most && c < tree->child[k] + tree->nchild[k]; c++)
			if (tree->count[c] <= most || !tree->nchild[c])
				node[n++] = (uint32_t)c;
	for (size_t k = 0; !status && k < n; k++)
		first[k] = tree->first[node[k]];
	status = status ? status : nb_sort_keys_cpu(n, first, order);
	*bundle = status ? NULL : (uint32_t *)nb_alloc(n, sizeof **bundle);
	status = status || *bundle ? status : NB_ENOMEM;
	for (size_t k = 0; !status && k < n; k++)
		(*bundle)[k] = node[order[k]];
	nb_free_all(first, node, order);
	*count = n;
	return status;
}
