/* nb-force -m direct of a frame whose column active names the bodies that want a force. */
#include "tools/filter/require.h"
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

int nb_force_active(struct nb_run *run, struct force *opt, enum method method, struct nb_frame *frame,
	const struct nb_gravity *g, struct nb_gravity_count *count, int *status)
{
	uint32_t *row;
	if (!nb_frame_field(frame, NB_ACTIVE) || method != METHOD_DIRECT || opt->kernel || opt->audit ||
		g->precision != NB_F64 || g->G == 0 || g->n > UINT32_MAX || run->backend->space->device >= 0)
		return 0;
	const size_t n = list(opt, frame, g->n, &row);
	if (n > g->n / 2) { /* a sum over all pairs takes each of them once */
		nb_force_scratch_clear(opt);
		return 0;
	}
	const struct nb_gravity_points points = {.n = n,
		.target = row,
		.acc = nb_force_here(opt, frame, 3 * n, sizeof(double)),
		.pot = g->pot ? nb_force_here(opt, frame, n, sizeof(double)) : NULL,
		.jerk = g->jerk ? nb_force_here(opt, frame, 3 * n, sizeof(double)) : NULL};
	*status = run->backend->gravity_points(g, &points);
	if (!*status) {
		spread(g->n, 3, g->acc, points.acc, n, row);
		if (g->pot)
			spread(g->n, 1, g->pot, points.pot, n, row);
		if (g->jerk)
			spread(g->n, 3, g->jerk, points.jerk, n, row);
	}
	if (count)
		count->p2p += n * g->n;
	nb_force_scratch_clear(opt);
	return 1;
}
