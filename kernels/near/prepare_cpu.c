/* Bodies in the order of a tree, in a unit of a power of two; groups of them that walk together.
 *
 * The arrays of the caller are put in that order, so that nothing is there twice, and back at the end.  They stay what
 * they are, of single precision, too, and outside of the box: who reads a place brings it in. */
#include "kernels/near/near_cpu_internal.h"

#include "common/mem.h"

enum { BLOCK = 512 };

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

/* ---- the box and the unit ------------------------------------------------------------------------ */

/* Block b of the places, where the rows of the caller are; returns how many they are. */
static size_t place_block(const struct nb_near_job *job, size_t b, double place[3 * BLOCK])
{
	const size_t begin = b * BLOCK, left = job->bodies.n - begin, n = left < BLOCK ? left : BLOCK;
	for (size_t i = 0; i < n; i++)
		nb_near_place(job, begin + i, place + 3 * i);
	return n;
}

/* The cube around the places, whose smallest and largest coordinates are corner. */
static int find_cube(const struct nb_near_job *job, double corner[6], struct nb_cube *cube)
{
	double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, test = 0;
	size_t bad;
#pragma omp parallel for reduction(min : lo[:3]) reduction(max : hi[:3]) reduction(+ : test)
	for (size_t b = 0; b < (job->bodies.n + BLOCK - 1) / BLOCK; b++) {
		double place[3 * BLOCK];
		const size_t n = place_block(job, b, place);
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < 3; k++) {
				const double x = place[3 * i + k];
				test += x - x; /* NaN unless all are finite */
				lo[k] = x < lo[k] ? x : lo[k];
				hi[k] = x > hi[k] ? x : hi[k];
			}
	}
	for (size_t k = 0; k < 3; k++) {
		corner[k] = lo[k];
		corner[k + 3] = hi[k];
	}
	return test == 0 ? nb_morton_cube_cpu(2, corner, job->bodies.dim, cube, &bad) : NB_ENONFINITE;
}

/* How places are brought into the box and the unit, and the cube around them then. */
static int bring_in(struct nb_near_job *job, const struct nb_near_job *as, struct nb_cube *cube)
{
	double corner[6];
	size_t bad;
	job->wrap = NB_NEAR_INSIDE;
	job->less[0] = job->less[1] = 1;
	int status = find_cube(job, corner, cube);
	if (status)
		return status;
	nb_near_scale(job, as ? ldexp(0.5, as->exponent) : cube->size);
	job->less[0] = 1 / job->unit[0];
	job->less[1] = 1 / job->unit[1];
	const double box = job->bodies.box;
	for (int k = 0; box > 0 && k < job->bodies.dim; k++)
		if (corner[k] < -box || corner[k + 3] > 1.5 * box)
			job->wrap = NB_NEAR_FAR;
		else if (job->wrap == NB_NEAR_INSIDE && (corner[k] < 0 || corner[k + 3] >= box))
			job->wrap = NB_NEAR_BESIDE;
	if (job->wrap)
		return find_cube(job, corner, cube);
	for (int k = 0; k < 6; k++)
		corner[k] = nb_near_bring(job, corner[k]);
	return nb_morton_cube_cpu(2, corner, job->bodies.dim, cube, &bad);
}

/* ---- order -------------------------------------------------------------------------------------- */

static int sort(const struct nb_near_job *job, const struct nb_cube *cube, uint64_t *key, uint32_t *perm)
{
	int status = NB_OK;
#pragma omp parallel for reduction(max : status)
	for (size_t b = 0; b < (job->bodies.n + BLOCK - 1) / BLOCK; b++) {
		double place[3 * BLOCK];
		const size_t n = place_block(job, b, place);
		const int failed = nb_morton_keys_cpu(n, place, job->bodies.dim, cube, key + b * BLOCK);
		status = failed > status ? failed : status;
	}
	return status ? status : nb_sort_keys_cpu(job->bodies.n, key, perm);
}

/* Body i before, and after the arrays are in order. */
static void place_by_row(const void *context, size_t i, double place[3])
{
	const struct nb_near_job *job = context;
	nb_near_place(job, job->perm[i], place);
}

static void place_in_order(const void *context, size_t i, double place[3])
{
	nb_near_place(context, i, place);
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

static inline void copy(char *to, const char *from, size_t bytes)
{
	if (bytes == sizeof(float)) /* known sizes are copied without a call */
		memcpy(to, from, sizeof(float));
	else
		memcpy(to, from, sizeof(double));
}

/* Rows of ncomp numbers, if they are there, go to the order of the tree, where a component follows the other, or back.
 * The room has place for two numbers of each row: what comes first is put there, the last one where there is place. */
static void turn(const struct nb_near_job *job, int back, void *rows, size_t size, size_t ncomp, char *room)
{
	const size_t n = job->bodies.n, few = ncomp < 2 ? ncomp : 2;
	const uint32_t *perm = job->perm;
	char *row = rows, *last = row ? row + few * n * size : NULL;
	if (!rows)
		return;
#pragma omp parallel for
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < few; k++)
			copy(room + (k * n + i) * size, row + (back ? k * n + i : perm[i] * ncomp + k) * size, size);
	for (size_t i = 0; !back && few < ncomp && i < n; i++)
		copy(row + i * size, row + (i * ncomp + few) * size, size);
#pragma omp parallel for
	for (size_t i = 0; i < (few < ncomp ? n : 0); i++)
		copy(back ? row + perm[i] * size : last + i * size, back ? last + i * size : row + perm[i] * size,
			size);
	for (size_t i = n; back && few < ncomp && i-- > 0;)
		copy(row + (i * ncomp + few) * size, row + i * size, size);
#pragma omp parallel for
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < few; k++)
			copy(row + (back ? perm[i] * ncomp + k : k * n + i) * size, room + (k * n + i) * size, size);
}

/* All arrays of the caller. */
static int turn_all(const struct nb_near_job *job, int back)
{
	const struct nb_near_bodies *bodies = &job->bodies;
	char *room = nb_alloc(bodies->n, 2 * sizeof(double));
	if (!room)
		return NB_ENOMEM;
	turn(job, back, bodies->pos, sizeof(double), 3, room);
	turn(job, back, bodies->single.pos, sizeof(float), 3, room);
	turn(job, back, bodies->mass, sizeof(double), 1, room);
	turn(job, back, bodies->single.mass, sizeof(float), 1, room);
	turn(job, back, bodies->id, sizeof(uint64_t), 1, room);
	if (job->nearest.vdisp) {
		turn(job, back, bodies->vel, sizeof(double), 3, room);
		turn(job, back, bodies->single.vel, sizeof(float), 3, room);
	}
	nb_free(room);
	return NB_OK;
}

/* ---- the tree ----------------------------------------------------------------------------------- */

/* The masses of nodes, children behind their parents. */
static int sum_masses(const struct nb_near_job *job, struct nb_tree *tree)
{
	int status = NB_OK;
	tree->mass = nb_alloc_zero(tree->nnode, sizeof *tree->mass);
	if (!tree->mass)
		return NB_ENOMEM;
#pragma omp parallel for schedule(dynamic, 256) reduction(max : status)
	for (size_t node = 0; node < tree->nnode; node++) {
		const size_t first = tree->first[node], end = first + (tree->nchild[node] ? 0 : tree->count[node]);
		int wrong = NB_OK;
		for (size_t i = first; i < end; i++) {
			tree->mass[node] += nb_near_mass(job, i);
			wrong = nb_near_mass(job, i) < 0 ? NB_EINVAL : wrong;
		}
		wrong = isfinite(tree->mass[node]) ? wrong : NB_ENONFINITE;
		status = wrong > status ? wrong : status;
	}
	for (size_t node = tree->nnode; node-- > 0;)
		for (size_t c = tree->child[node]; c < tree->child[node] + (size_t)tree->nchild[node]; c++)
			tree->mass[node] += tree->mass[c];
	return status;
}

int nb_near_prepare(struct nb_near_job *job, int mass, const struct nb_near_job *as)
{
	const struct nb_near_bodies *bodies = &job->bodies;
	if (bodies->n >= (size_t)1 << 31)
		return NB_ELIMIT;
	struct nb_cube cube;
	uint64_t *key = nb_alloc(bodies->n, sizeof *key);
	uint32_t *perm = nb_alloc(bodies->n, sizeof *perm);
	int status = key && perm ? bring_in(job, as, &cube) : NB_ENOMEM;
	job->perm = perm;
	status = status ? status : sort(job, &cube, key, perm);
	status = status ? status
			: nb_tree_shape_cpu(bodies->n, key, place_by_row, job, perm, bodies->dim, &cube, NB_NEAR_LEAF,
				  &job->tree);
	nb_free(key);
	status = status || !bodies->id ? status : sort_ids(job, perm);
	status = status ? status : turn_all(job, 0);
	job->turned = !status;
	job->id = bodies->id;
	job->mass = bodies->mass;
	job->vel = bodies->vel;
	status = status ? status : nb_tree_boxes_cpu(&job->tree, place_in_order, job);
	return status || !mass ? status : sum_masses(job, &job->tree);
}

int nb_near_release(struct nb_near_job *job, int status)
{
	nb_tree_free(&job->tree);
	const int failed = job->turned ? turn_all(job, 1) : NB_OK;
	nb_free((void *)job->perm);
	return failed ? failed : status;
}

int nb_near_find_groups(const struct nb_near_job *job, uint32_t most, uint32_t **group, size_t *count)
{
	const struct nb_tree *tree = &job->tree;
	uint32_t *stack = nb_alloc(NB_NEAR_STACK, sizeof *stack);
	int status = stack ? NB_OK : NB_ENOMEM;
	*group = NULL;
	for (int counted = 0; !status && counted < 2; counted++) {
		size_t depth = 0, n = 0;
		stack[depth++] = 0;
		while (depth) {
			const uint32_t node = stack[--depth];
			if (tree->count[node] > most && tree->nchild[node]) {
				for (uint32_t c = tree->nchild[node]; c-- > 0;)
					stack[depth++] = tree->child[node] + c;
				continue;
			}
			if (counted)
				(*group)[n] = node;
			n++;
		}
		*count = n;
		if (!counted)
			*group = nb_alloc(n, sizeof **group);
		status = *group ? NB_OK : NB_ENOMEM;
	}
	nb_free(stack);
	return status;
}
