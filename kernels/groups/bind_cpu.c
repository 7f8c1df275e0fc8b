/* Members of groups that the others do not hold.
 *
 * Their potentials are sums over the members alone: over pairs, or of many members by a walk of their tree.  Those
 * whose energy about the mean velocity of the bound is not below 0 leave, and it begins again with the rest, until none
 * leaves.  Where more than half would leave at once, the half with the largest energies of these does: without them the
 * mean velocity may be another. */
#include "kernels/groups/groups_internal.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "kernels/measure/measure.h"
#include "kernels/walk/walk.h"

enum { ROUNDS = 20, DIRECT = 8192, LEAF = 16 };
#define THETA 0.5

/* The members of a group that are left, and what is known of them. */
struct members {
	size_t n;
	uint32_t *row;				       /* of the frame */
	double *mass, *pos, *vel, *eps, *pot, *energy; /* pos of images that hang together; eps: NULL if all have one */
	unsigned char *bound;
};

static void free_members(struct members *m)
{
	nb_free_all(m->row, m->mass, m->pos, m->vel, m->eps, m->pot, m->energy, m->bound);
}

static int gather(const struct nb_groups_binding *binding, size_t n, const uint32_t *member, struct members *m)
{
	const double *eps = binding->law->body_eps;
	*m = (struct members){n, nb_alloc(n, sizeof *m->row), nb_alloc(n, sizeof *m->mass),
		nb_alloc(n, 3 * sizeof *m->pos), nb_alloc(n, 3 * sizeof *m->vel),
		eps ? nb_alloc(n, sizeof *m->eps) : NULL, nb_alloc(n, sizeof *m->pot),
		nb_alloc(n, 2 * sizeof *m->energy), nb_alloc(n, 1)};
	if (!m->row || !m->mass || !m->pos || !m->vel || (eps && !m->eps) || !m->pot || !m->energy || !m->bound)
		return NB_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const size_t row = m->row[i] = member[i];
		m->mass[i] = nb_real_or_1(binding->bodies.mass, row);
		nb_reals_row(binding->bodies.pos, row, m->pos + 3 * i);
		nb_reals_row(binding->bodies.vel, row, m->vel + 3 * i);
		if (eps)
			m->eps[i] = eps[row];
	}
	return NB_OK;
}

/* ---- potentials --------------------------------------------------------------------------------- */

static int tree_potentials(const struct nb_gravity *g, int dim, double *pot)
{
	const size_t n = g->n;
	struct nb_cube cube;
	struct nb_tree tree = {0};
	struct nb_gravity of = *g;
	size_t bad;
	uint64_t *key = nb_alloc(n, sizeof *key);
	uint32_t *perm = nb_alloc(n, sizeof *perm);
	double *pos = nb_alloc(n, 3 * sizeof *pos), *mass = nb_alloc(n, sizeof *mass);
	double *eps = g->body_eps ? nb_alloc(n, sizeof *eps) : NULL, *own = nb_alloc(n, sizeof *own);
	int status = key && perm && pos && mass && (eps || !g->body_eps) && own ? NB_OK : NB_ENOMEM;
	if (!status)
		status = nb_morton_cube_cpu(n, g->pos, dim, &cube, &bad);
	if (!status)
		status = nb_morton_keys_cpu(n, g->pos, dim, &cube, key);
	if (!status)
		status = nb_sort_keys_cpu(n, key, perm);
	if (!status)
		status = nb_sort_deep_cpu(n, key, g->pos, dim, perm);
	if (!status)
		status = nb_permute_cpu(n, perm, 3 * sizeof *pos, g->pos, pos);
	if (!status)
		status = nb_permute_cpu(n, perm, sizeof *mass, g->mass, mass);
	if (!status && eps)
		status = nb_permute_cpu(n, perm, sizeof *eps, g->body_eps, eps);
	if (!status)
		status = nb_tree_build_cpu(n, key, pos, mass, dim, &cube, LEAF, 2, &tree);
	of.pos = pos, of.mass = mass, of.body_eps = eps, of.pot = own;
	const struct nb_tree_walk walk = {.theta = THETA};
	if (!status)
		status = nb_gravity_tree_cpu(&of, &tree, &walk, NULL);
	if (!status)
		status = nb_scatter_cpu(n, perm, sizeof *pot, own, pot);
	nb_tree_free(&tree);
	nb_free_all(key, perm, pos, mass, eps, own);
	return status;
}

static int find_potentials(const struct nb_groups_binding *binding, int dim, struct members *m)
{
	struct nb_gravity g = *binding->law;
	struct nb_gravity_count count = {0};
	g.n = m->n, g.pos = m->pos, g.mass = m->mass, g.body_eps = m->eps, g.pot = m->pot;
	g.acc = nb_alloc(m->n, 3 * sizeof *g.acc);
	int status = !g.acc	      ? NB_ENOMEM
		     : m->n <= DIRECT ? nb_gravity_direct_cpu(&g, &count)
				      : tree_potentials(&g, dim, m->pot);
	nb_free(g.acc);
	return status;
}

/* ---- who leaves --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Of more than half that are not bound, those of energies below the median of these stay for now. */
static void spare(struct members *m, size_t unbound, const double vel[3])
{
	double *energy = m->energy, *sorted = m->energy + m->n;
	for (size_t i = 0, k = 0; i < m->n; i++)
		if (!m->bound[i]) {
			double v2 = 0;
			for (size_t c = 0; c < 3; c++)
				v2 += (m->vel[3 * i + c] - vel[c]) * (m->vel[3 * i + c] - vel[c]);
			sorted[k] = energy[k] = v2 / 2 + m->pot[i];
			k++;
		}
	qsort(sorted, unbound, sizeof *sorted, compare);
	const double median = sorted[unbound / 2];
	for (size_t i = 0, k = 0; i < m->n; i++)
		if (!m->bound[i])
			m->bound[i] = energy[k++] < median;
}

/* The bound move to the front. */
static void leave(struct members *m, uint32_t *group)
{
	size_t left = 0;
	for (size_t i = 0; i < m->n; i++) {
		if (!m->bound[i]) {
			group[m->row[i]] = NB_GROUPS_NONE;
			continue;
		}
		m->row[left] = m->row[i];
		m->mass[left] = m->mass[i];
		memmove(m->pos + 3 * left, m->pos + 3 * i, 3 * sizeof *m->pos);
		memmove(m->vel + 3 * left, m->vel + 3 * i, 3 * sizeof *m->vel);
		if (m->eps)
			m->eps[left] = m->eps[i];
		left++;
	}
	m->n = left;
}

static int bind(
	const struct nb_groups_job *job, const struct nb_groups_binding *binding, struct members *m, uint32_t *group)
{
	/* The flow about any place is that about the centre of mass of the bound, and a velocity that all have. */
	const struct nb_group_bodies own = {m->n, m->mass, m->pos, m->vel, binding->flow};
	struct nb_group_properties whole;
	int status = nb_groups_measure(&own, job->dim, job->length, job->box, &whole);
	for (int round = 0; !status && !whole.wraps && m->n > 0; round++) {
		size_t bound = 0;
		status = find_potentials(binding, job->dim, m);
		if (status || round == ROUNDS)
			break;
		status = nb_bound_bodies(m->n, m->mass, m->vel, m->pot, whole.vel, m->bound);
		for (size_t i = 0; i < m->n; i++)
			bound += m->bound[i];
		if (status || bound == m->n)
			break;
		if (2 * bound < m->n)
			spare(m, m->n - bound, whole.vel);
		leave(m, group);
	}
	for (size_t i = 0; i < m->n; i++)
		binding->pot[m->row[i]] = whole.wraps ? 0 : m->pot[i];
	return status;
}

int nb_groups_bind_cpu(const struct nb_groups_job *job, const struct nb_groups_binding *binding, uint32_t *group,
	struct nb_groups *groups)
{
	int status = NB_OK;
	for (size_t i = 0; i < job->n; i++) {
		group[i] = group[i] ? group[i] - 1 : NB_GROUPS_NONE;
		binding->pot[i] = 0;
	}
	for (size_t g = 0; !status && g < groups->count; g++) {
		const uint32_t begin = groups->begin[g], n = groups->begin[g + 1] - begin;
		struct members m;
		status = gather(binding, n, groups->member + begin, &m);
		if (!status)
			status = bind(job, binding, &m, group);
		free_members(&m);
	}
	nb_groups_free(groups);
	return status ? status : nb_groups_order_cpu(job, binding->bodies.mass, group, groups);
}
