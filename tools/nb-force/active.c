/* nb-force -m direct or tree of a frame whose column active names the bodies that want a force. */
#include "tools/filter/require.h"
#include "tools/filter/views.h"
#include "tools/nb-force/force.h"

#include <string.h>

/* Rows of the bodies that want one, of the n of the frame.  Returns how many they are. */
static size_t list(struct force *opt, struct nb_frame *frame, size_t n, uint32_t **row)
{
	const double *active = nb_require_f64(frame, NB_ACTIVE, &nb_space_host);
	size_t count = 0, k = 0;
	for (size_t i = 0; i < n; i++)
		count += active[i] != 0;
	*row = nb_force_here(opt, frame, count, sizeof **row);
	for (size_t i = 0; i < n; i++)
		if (active[i] != 0)
			(*row)[k++] = (uint32_t)i;
	return count;
}

/* Puts the ncomp numbers of each of the bodies in their places; the others have 0. */
static void spread(size_t n, size_t ncomp, double *to, const double *from, size_t count, const uint32_t *row)
{
	memset(to, 0, n * ncomp * sizeof *to);
	for (size_t k = 0; k < count; k++)
		memcpy(to + ncomp * row[k], from + ncomp * k, ncomp * sizeof *to);
}

static int computes(const struct nb_run *run, const struct force *opt, enum method method, const struct nb_gravity *g)
{
	if (opt->kernel || opt->audit || g->G == 0 || g->n > UINT32_MAX / 2 || run->backend->space->device >= 0)
		return 0;
	return method == METHOD_TREE ? opt->mac == NB_MAC_GEOMETRIC && !g->jerk
				     : method == METHOD_DIRECT && g->precision == NB_F64;
}

/* Direct sums over all other bodies. */
static int sum(const struct nb_run *run, struct force *opt, const struct nb_frame *frame, const struct nb_gravity *g,
	struct nb_gravity_points *points, const uint32_t *row)
{
	points->target = row;
	points->jerk = g->jerk ? nb_force_here(opt, frame, 3 * points->n, sizeof(double)) : NULL;
	return run->backend->gravity_points(g, points);
}

/* The tree's field where the bodies are, without the potential that they have there themselves. */
static int walk(const struct nb_run *run, struct force *opt, struct nb_frame *frame, const struct nb_gravity *g,
	struct nb_gravity_points *points, const uint32_t *row, struct nb_gravity_count *count)
{
	const struct nb_tree tree = nb_require_tree(frame, run->backend);
	const struct nb_tree_walk how = {
		.theta = opt->theta, .mac = NB_MAC_GEOMETRIC, .order = nb_force_tree_order(run, opt)};
	double *at = nb_force_here(opt, frame, 4 * points->n, sizeof *at), *eps = at + 3 * points->n;
	for (size_t k = 0; k < points->n; k++) {
		memcpy(at + 3 * k, g->pos + 3 * (size_t)row[k], 3 * sizeof *at);
		eps[k] = g->body_eps ? g->body_eps[row[k]] : g->eps;
	}
	points->pos = at;
	points->eps = g->body_eps ? eps : NULL;
	const int status = run->backend->gravity_tree_points(g, &tree, &how, points, count);
	for (size_t k = 0; k < points->n && !status && points->pot; k++)
		points->pot[k] += eps[k] > 0 ? g->G * g->mass[row[k]] / eps[k] : 0;
	return status;
}

int nb_force_active(struct nb_run *run, struct force *opt, enum method method, struct nb_frame *frame,
	const struct nb_gravity *g, struct nb_gravity_count *count, int *status)
{
	uint32_t *row;
	if (!nb_frame_field(frame, NB_ACTIVE) || !computes(run, opt, method, g))
		return 0;
	const size_t n = list(opt, frame, g->n, &row);
	if (n > g->n / 2) { /* all are computed with less for each */
		nb_force_scratch_clear(opt);
		return 0;
	}
	struct nb_gravity_points points = {.n = n,
		.acc = nb_force_here(opt, frame, 3 * n, sizeof(double)),
		.pot = g->pot ? nb_force_here(opt, frame, n, sizeof(double)) : NULL};
	if (method == METHOD_TREE)
		*status = walk(run, opt, frame, g, &points, row, count);
	else
		*status = sum(run, opt, frame, g, &points, row);
	if (!*status) {
		spread(g->n, 3, g->acc, points.acc, n, row);
		if (g->pot)
			spread(g->n, 1, g->pot, points.pot, n, row);
		if (g->jerk)
			spread(g->n, 3, g->jerk, points.jerk, n, row);
	}
	if (count && method == METHOD_DIRECT)
		count->p2p += n * g->n;
	nb_force_scratch_clear(opt);
	return 1;
}
