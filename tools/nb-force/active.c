/* nb-force -m direct or tree of a frame whose column active names the bodies that want a force. */
#include "tools/filter/require.h"
#include "tools/filter/views.h"
#include "tools/nb-force/force.h"

#include <stdio.h>
#include <string.h>

/* A byte for each body where the backend computes: the column, if it has bytes. */
static const unsigned char *marks(
	const struct nb_run *run, struct force *opt, struct nb_frame *frame, struct nb_column *column)
{
	const struct nb_space *space = run->backend->space;
	const size_t n = column->rows;
	if (strcmp(column->dtype, "|u1") == 0 && column->ncomp == 1) {
		const unsigned char *bytes = nb_require_memory(frame, nb_column_read(column, space, NB_WIRE));
		return bytes;
	}
	const double *active = nb_require_f64(frame, NB_ACTIVE, &nb_space_host);
	unsigned char *here = nb_force_here(opt, frame, n, 1), *there = nb_force_there(opt, frame, n, 1);
	for (size_t i = 0; i < n; i++)
		here[i] = active[i] != 0;
	if (space->from_host(space, there, here, n))
		nb_out_of_memory(frame);
	return there;
}

/* Puts the ncomp numbers of each of the bodies in their places; the others have 0. */
static void spread(size_t n, size_t ncomp, double *to, const double *from, size_t count, const uint32_t *row)
{
	memset(to, 0, n * ncomp * sizeof *to);
	for (size_t k = 0; k < count; k++)
		memcpy(to + ncomp * row[k], from + ncomp * k, ncomp * sizeof *to);
}

/* NULL, or why the forces on all bodies are computed. */
static const char *why_all(
	const struct nb_run *run, const struct force *opt, enum method method, const struct nb_gravity *g)
{
	if (method != METHOD_DIRECT && method != METHOD_TREE)
		return "other method";
	if (opt->box > 0 || opt->systems)
		return opt->box > 0 ? "periodic box" : "many systems";
	if (opt->kernel || opt->audit)
		return opt->kernel ? "option --kernel" : "option --audit";
	if (g->G == 0 || g->n > UINT32_MAX / 2)
		return g->G == 0 ? "G is 0" : "too many bodies";
	if (method == METHOD_DIRECT)
		return g->precision == NB_F64 ? NULL : "precision is not f64";
	if (opt->mac != NB_MAC_GEOMETRIC || g->jerk)
		return g->jerk ? "tree with --jerk" : "option --mac";
	return run->backend->space->device >= 0 ? "tree on a device" : NULL;
}

/* Direct sums over all other bodies. */
static int sum(const struct nb_run *run, const struct nb_gravity *g, size_t n, const uint32_t *row)
{
	const struct nb_gravity_points points = {
		.n = n, .target = row, .acc = g->acc, .pot = g->pot, .jerk = g->jerk, .spread = 1};
	return run->backend->gravity_points(g, &points);
}

/* The tree's field where the bodies are, without the potential that they have there themselves. */
static int walk(const struct nb_run *run, struct force *opt, struct nb_frame *frame, const struct nb_gravity *g,
	size_t n, const uint32_t *row, struct nb_gravity_count *count)
{
	const struct nb_tree tree = nb_require_tree(frame, run->backend);
	const struct nb_tree_walk how = nb_force_walk(run, opt);
	double *at = nb_force_here(opt, frame, 4 * n, sizeof *at), *eps = at + 3 * n;
	const struct nb_gravity_points points = {.n = n,
		.pos = at,
		.eps = g->body_eps ? eps : NULL,
		.acc = nb_force_here(opt, frame, 3 * n, sizeof(double)),
		.pot = g->pot ? nb_force_here(opt, frame, n, sizeof(double)) : NULL};
	for (size_t k = 0; k < n; k++) {
		memcpy(at + 3 * k, g->pos + 3 * (size_t)row[k], 3 * sizeof *at);
		eps[k] = g->body_eps ? g->body_eps[row[k]] : g->eps;
	}
	const int status = run->backend->gravity_tree_points(g, &tree, &how, &points, count);
	if (status)
		return status;
	for (size_t k = 0; k < n && points.pot; k++)
		points.pot[k] += eps[k] > 0 ? g->G * g->mass[row[k]] / eps[k] : 0;
	spread(g->n, 3, g->acc, points.acc, n, row);
	if (g->pot)
		spread(g->n, 1, g->pot, points.pot, n, row);
	return NB_OK;
}

int nb_force_active(struct nb_run *run, struct force *opt, enum method method, struct nb_frame *frame,
	const struct nb_gravity *g, struct nb_gravity_count *count, int *status, char text[NB_FORCE_ACTIVE])
{
	struct nb_column *column = nb_frame_field(frame, NB_ACTIVE);
	size_t n;
	*text = '\0';
	if (!column || g->n == 0)
		return 0;
	const char *why = why_all(run, opt, method, g);
	if (why) {
		snprintf(text, NB_FORCE_ACTIVE, ", forces on all (%s)", why);
		return 0;
	}
	opt->scratch.space = run->backend->space;
	const unsigned char *mark = marks(run, opt, frame, column);
	uint32_t *row = nb_force_there(opt, frame, g->n, sizeof *row);
	*status = run->backend->marked_rows(g->n, mark, row, &n);
	if (!*status && n > g->n / 2) { /* all are computed with less for each */
		snprintf(text, NB_FORCE_ACTIVE, ", forces on all (%zu active)", n);
		nb_force_scratch_clear(opt);
		return 0;
	}
	snprintf(text, NB_FORCE_ACTIVE, ", %zu active", n);
	if (!*status && method == METHOD_TREE)
		*status = walk(run, opt, frame, g, n, row, count);
	else if (!*status)
		*status = sum(run, g, n, row);
	if (count && method == METHOD_DIRECT)
		count->p2p += n * g->n;
	nb_force_scratch_clear(opt);
	return 1;
}
