/* Bodies in the order of a tree, in a unit of a power of two; bundles of them that walk together.
 *
 * The arrays of the caller are put in that order, so that nothing is there twice, and back at the end.  Positions are
 * all x, all y and all z then, for vectors. */
#include "kernels/near/near_cpu_internal.h"

#include "common/mem.h"

enum {
	PAD = 16,		      /* bodies that vectors may read behind the last */
	REST = NB_NEAR_MOST + 2 * PAD /* more than meet at once */
};

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

/* A coordinate in the box and in the unit. */
static double bring(const struct nb_near_job *job, double x)
{
	return (job->bodies.box > 0 ? nb_periodic_wrap(x, job->bodies.box) : x) * (1 / job->unit[0]) *
	       (1 / job->unit[1]);
}

enum image { INSIDE, BELOW, ABOVE, LEFT /* as it was */, IMAGE_BITS = 2 };

/* Of a coordinate that is in the box or, to be brought back, in an image beside it. */
static enum image image_of(const struct nb_near_job *job, double x)
{
	return job->bodies.box > 0 ? (enum image)((x < 0) + 2 * (x >= job->bodies.box)) : INSIDE;
}

static double take_back(const struct nb_near_job *job, double x, enum image image)
{
	const double inside = x * job->unit[1] * job->unit[0];
	return image == INSIDE	? inside
	       : image == BELOW ? inside - job->bodies.box
	       : image == ABOVE ? inside + job->bodies.box
				: x;
}

static enum image image_in(const struct nb_near_job *job, size_t row, size_t k)
{
	return (enum image)(job->image[row] >> IMAGE_BITS * k & ((1 << IMAGE_BITS) - 1));
}

/* Positions in the box and in the unit; those are left that could not be brought back with the same bytes.  Whether
 * there is none. */
static int bring_all(const struct nb_near_job *job)
{
	const struct nb_near_bodies *bodies = &job->bodies;
	int all = 1;
#pragma omp parallel for reduction(& : all)
	for (size_t i = 0; i < bodies->n; i++) {
		unsigned images = 0;
		for (size_t k = 0; k < (size_t)bodies->dim; k++) {
			const double x = bodies->pos[3 * i + k], inside = bring(job, x);
			const enum image image = image_of(job, x);
			const int can = take_back(job, inside, image) == x;
			bodies->pos[3 * i + k] = can ? inside : x;
			images |= (unsigned)(can ? image : LEFT) << IMAGE_BITS * k;
			all &= can;
		}
		job->image[i] = (unsigned char)images;
	}
	return all;
}

static void take_all_back(const struct nb_near_job *job)
{
	const struct nb_near_bodies *bodies = &job->bodies;
#pragma omp parallel for
	for (size_t i = 0; i < bodies->n; i++)
		for (size_t k = 0; k < (size_t)bodies->dim; k++)
			bodies->pos[3 * i + k] = take_back(job, bodies->pos[3 * i + k], image_in(job, i, k));
}

/* Positions, or a copy of them, in the box and in the unit, which is chosen first. */
static int bring_in(struct nb_near_job *job, const struct nb_near_job *as)
{
	const struct nb_near_bodies *bodies = &job->bodies;
	struct nb_cube cube;
	size_t bad;
	const int status = nb_morton_cube_cpu(bodies->n, bodies->pos, bodies->dim, &cube, &bad);
	if (status)
		return status;
	nb_near_scale(job, as ? ldexp(0.5, as->exponent) : cube.size);
	job->image = nb_alloc(bodies->n, 1);
	if (!job->image)
		return NB_ENOMEM;
	job->place = bodies->pos;
	if (bring_all(job) && bodies->n >= PAD)
		return NB_OK;
	take_all_back(job);
	job->place = nb_alloc(bodies->n + PAD, 3 * sizeof *job->place);
	if (!job->place)
		return NB_ENOMEM;
#pragma omp parallel for
	for (size_t i = 0; i < bodies->n; i++)
		for (size_t k = 0; k < (size_t)bodies->dim; k++)
			job->place[3 * i + k] = bring(job, bodies->pos[3 * i + k]);
	return NB_OK;
}

/* ---- order -------------------------------------------------------------------------------------- */

static int sort(const struct nb_near_job *job, uint64_t *key, uint32_t *perm, struct nb_cube *cube)
{
	const size_t n = job->bodies.n;
	const int dim = job->bodies.dim;
	size_t bad;
	int status = nb_morton_cube_cpu(n, job->place, dim, cube, &bad);
	status = status ? status : nb_morton_keys_cpu(n, job->place, dim, cube, key);
	status = status ? status : nb_sort_keys_cpu(n, key, perm);
	return status ? status : nb_sort_deep_cpu(n, key, job->place, dim, perm);
}

/* Body i before, and after the arrays are in order. */
static void place_by_row(const void *context, size_t i, double place[3])
{
	const struct nb_near_job *job = context;
	for (int k = 0; k < 3; k++)
		place[k] = k < job->bodies.dim ? job->place[3 * (size_t)job->perm[i] + (size_t)k] : 0;
}

static void place_in_order(const void *context, size_t i, double place[3])
{
	const struct nb_near_job *job = context;
	for (int k = 0; k < 3; k++)
		place[k] = job->at[k][i];
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

/* Rows of 8 bytes go to the order of the tree, or back. */
static int turn(const struct nb_near_job *job, int back, void *row, void *room)
{
	const size_t n = job->bodies.n;
	const int status = back ? nb_scatter_cpu(n, job->perm, sizeof(uint64_t), row, room)
				: nb_permute_cpu(n, job->perm, sizeof(uint64_t), row, room);
	memcpy(row, room, n * sizeof(uint64_t));
	return status;
}

/* Two components, then one, as the room has place for two. */
static void turn_velocities(const struct nb_near_job *job, int back, double *vel, double *room)
{
	for (size_t k = 0; k < 3; k += 2) {
#pragma omp parallel for
		for (size_t i = 0; i < job->bodies.n; i++) {
			const size_t from = back ? i : job->perm[i], to = back ? job->perm[i] : i;
			room[2 * to] = vel[3 * from + k];
			if (k == 0)
				room[2 * to + 1] = vel[3 * from + 1];
		}
#pragma omp parallel for
		for (size_t i = 0; i < job->bodies.n; i++) {
			vel[3 * i + k] = room[2 * i];
			if (k == 0)
				vel[3 * i + 1] = room[2 * i + 1];
		}
	}
}

/* Positions go to the order of the tree: all x, all y, all z, which in 2-D stays in the order of the rows. */
static void turn_places(const struct nb_near_job *job, double *room)
{
	const size_t n = job->bodies.n;
	const uint32_t *perm = job->perm;
	const int flat = job->bodies.dim == 2;
	double *place = job->place;
#pragma omp parallel for
	for (size_t i = 0; i < n; i++) {
		room[i] = place[3 * (size_t)perm[i]];
		room[n + i] = place[3 * (size_t)perm[i] + 1];
	}
	for (size_t i = 0; i < n; i++)
		place[i] = place[3 * i + 2];
#pragma omp parallel for
	for (size_t i = 0; i < n; i++)
		place[2 * n + i] = place[flat ? i : perm[i]];
#pragma omp parallel for
	for (size_t i = 0; i < 2 * n; i++)
		place[i] = room[i];
}

static void turn_places_back(const struct nb_near_job *job, double *room)
{
	const size_t n = job->bodies.n;
	const uint32_t *perm = job->perm;
	const int flat = job->bodies.dim == 2;
	double *place = job->place;
#pragma omp parallel for
	for (size_t i = 0; i < 2 * n; i++)
		room[i] = place[i];
#pragma omp parallel for
	for (size_t i = 0; i < n; i++) {
		const double z = place[2 * n + i];
		place[flat ? i : perm[i]] = flat ? z : take_back(job, z, image_in(job, perm[i], 2));
	}
	for (size_t i = n; i-- > 0;)
		place[3 * i + 2] = place[i];
#pragma omp parallel for
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < 2; k++)
			place[3 * (size_t)perm[i] + k] = take_back(job, room[k * n + i], image_in(job, perm[i], k));
}

/* The arrays of the caller go to the order of the tree. */
static int put_in_order(struct nb_near_job *job)
{
	const struct nb_near_bodies *bodies = &job->bodies;
	const size_t n = bodies->n;
	const int flat = bodies->dim == 2;
	double *room = nb_alloc(n, 2 * sizeof *room);
	job->rest = nb_alloc_zero(REST + PAD, sizeof *job->rest);
	double *none = flat ? nb_alloc_zero(n + PAD, sizeof *none) : NULL;
	if (!room || !job->rest || (flat && !none)) {
		nb_free_all(room, none);
		return NB_ENOMEM;
	}
	turn_places(job, room);
	for (int k = 0; k < 3; k++)
		job->at[k] = k == 2 && flat ? none : job->place + (size_t)k * n;
	job->last = flat ? SIZE_MAX : n < REST ? 0 : n - REST;
	for (size_t i = job->last; i < n; i++)
		job->rest[i - job->last] = job->at[2][i];
	int status = bodies->mass ? turn(job, 0, bodies->mass, room) : NB_OK;
	job->mass = bodies->mass;
	status = status || !bodies->id ? status : turn(job, 0, bodies->id, room);
	job->id = bodies->id;
	job->vel = job->nearest.vdisp ? bodies->vel : NULL;
	if (job->vel)
		turn_velocities(job, 0, bodies->vel, room);
	nb_free(room);
	return status;
}

static int put_back(const struct nb_near_job *job)
{
	const struct nb_near_bodies *bodies = &job->bodies;
	double *room = job->at[0] ? nb_alloc(bodies->n, 2 * sizeof *room) : NULL;
	int status = job->at[0] && !room ? NB_ENOMEM : NB_OK;
	if (!status && job->vel)
		turn_velocities(job, 1, bodies->vel, room);
	status = status || !job->id ? status : turn(job, 1, bodies->id, room);
	status = status || !job->mass ? status : turn(job, 1, bodies->mass, room);
	if (!status && job->at[0] && job->place == bodies->pos)
		turn_places_back(job, room);
	else if (!status && job->place == bodies->pos)
		take_all_back(job);
	nb_free(room);
	return status;
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
			tree->mass[node] += job->mass[i];
			wrong = job->mass[i] < 0 ? NB_EINVAL : wrong;
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
	const size_t n = job->bodies.n;
	if (n >= (size_t)1 << 31)
		return NB_ELIMIT;
	struct nb_cube cube;
	uint64_t *key = nb_alloc(n, sizeof *key);
	uint32_t *perm = nb_alloc(n, sizeof *perm);
	int status = key && perm ? bring_in(job, as) : NB_ENOMEM;
	job->perm = perm;
	status = status ? status : sort(job, key, perm, &cube);
	status = status ? status
			: nb_tree_shape_cpu(
				  n, key, place_by_row, job, perm, job->bodies.dim, &cube, NB_NEAR_LEAF, &job->tree);
	nb_free(key);
	status = status || !job->bodies.id ? status : sort_ids(job, perm);
	status = status ? status : put_in_order(job);
	status = status ? status : nb_tree_boxes_cpu(&job->tree, place_in_order, job);
	return status || !mass ? status : sum_masses(job, &job->tree);
}

int nb_near_release(struct nb_near_job *job, int status)
{
	nb_tree_free(&job->tree);
	const int failed = job->place ? put_back(job) : NB_OK;
	nb_free_all((void *)job->perm, job->rest, job->image, job->place == job->bodies.pos ? NULL : job->place,
		job->bodies.dim == 2 ? (void *)job->at[2] : NULL);
	return failed ? failed : status;
}

int nb_near_find_bundles(const struct nb_near_job *job, uint32_t most, uint32_t **bundle, size_t *count)
{
	const struct nb_tree *tree = &job->tree;
	uint32_t *stack = nb_alloc(NB_NEAR_STACK, sizeof *stack);
	int status = stack ? NB_OK : NB_ENOMEM;
	*bundle = NULL;
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
				(*bundle)[n] = node;
			n++;
		}
		*count = n;
		if (!counted)
			*bundle = nb_alloc(n, sizeof **bundle);
		status = *bundle ? NB_OK : NB_ENOMEM;
	}
	nb_free(stack);
	return status;
}
