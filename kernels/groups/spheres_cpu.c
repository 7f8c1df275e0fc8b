/* Spheres of a given mean density, from all bodies around a centre: those of a ball that the tree finds, by distance.
 */
#include "kernels/groups/groups_internal.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"

#define PI 3.14159265358979323846

/* A body near the centre. */
struct near {
	double r2, mass;
	uint32_t row;
};

struct ball {
	size_t n, room;
	struct near *body;
};

static int compare(const void *a, const void *b)
{
	const struct near *x = a, *y = b;
	if (x->r2 != y->r2)
		return x->r2 < y->r2 ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int add_leaf(const struct nb_sorted *sorted, struct nb_reals mass, const double *centre, double r2, size_t node,
	struct ball *ball)
{
	const uint32_t first = sorted->tree.first[node], count = sorted->tree.count[node];
	if (nb_reserve(ball->body, ball->n, ball->n + count, ball->room))
		return NB_ENOMEM;
	for (uint32_t i = first; i < first + count; i++) {
		double place[3];
		nb_sorted_place(sorted, i, place);
		const double d2 = nb_link_distance2(&sorted->law, place, centre);
		const uint32_t row = sorted->perm[i];
		if (d2 <= r2)
			ball->body[ball->n++] = (struct near){d2, nb_real_or_1(mass, row), row};
	}
	return NB_OK;
}

/* All bodies within a squared radius, by distance. */
static int fill_ball(const struct nb_sorted *sorted, struct nb_reals mass, const double *centre, double r2, size_t node,
	struct ball *ball)
{
	const struct nb_tree *tree = &sorted->tree;
	const double point[6] = {centre[0], centre[1], centre[2], centre[0], centre[1], centre[2]};
	if (nb_link_gap2(&sorted->law, sorted->tree.box + 6 * node, point) > r2 * (1 + 0x1p-40))
		return NB_OK;
	if (!tree->nchild[node])
		return add_leaf(sorted, mass, centre, r2, node, ball);
	int status = NB_OK;
	for (uint32_t c = 0; !status && c < tree->nchild[node]; c++)
		status = fill_ball(sorted, mass, centre, r2, tree->child[node] + c, ball);
	return status;
}

/* From the bodies within a radius: 1 if the sphere ends there, 0 if more are needed. */
static int find_sphere(const struct ball *ball, double density, double radius, struct nb_sphere *sphere)
{
	double mass = 0;
	*sphere = (struct nb_sphere){NAN, NAN, NAN, NAN, NAN};
	for (size_t i = 0; i < ball->n; i++) {
		mass += ball->body[i].mass;
		if (i + 1 < NB_SPHERE_FEW)
			continue;
		const double r = sqrt(ball->body[i].r2), end = cbrt(3 * mass / (4 * PI * density));
		if (end < r) /* of fewer bodies */
			return 1;
		if (r > 0 && !(mass / r <= sphere->steepest)) {
			sphere->steepest = mass / r;
			sphere->r_steepest = r;
		}
		if (end < (i + 1 < ball->n ? sqrt(ball->body[i + 1].r2) : radius)) {
			sphere->mass = mass;
			sphere->radius = end;
			return 1;
		}
	}
	return 0;
}

/* Of the bodies in the sphere. */
static double find_spin(const struct nb_sorted *sorted, struct nb_reals vel, const double *centre,
	const struct ball *ball, const struct nb_sphere *sphere)
{
	double mass = 0, mean[3] = {0, 0, 0}, angular[3] = {0, 0, 0};
	size_t n = 0;
	for (; n < ball->n && ball->body[n].r2 <= sphere->radius * sphere->radius; n++) {
		mass += ball->body[n].mass;
		for (size_t k = 0; k < 3; k++)
			mean[k] += ball->body[n].mass * nb_real(vel, 3 * (size_t)ball->body[n].row + k);
	}
	for (size_t i = 0; i < n; i++) {
		const size_t row = ball->body[i].row;
		double d[3], u[3];
		nb_sorted_row_place(sorted, row, d);
		for (size_t k = 0; k < 3; k++) {
			d[k] -= centre[k];
			d[k] -= fabs(d[k]) > sorted->law.half ? copysign(sorted->law.box, d[k]) : 0;
			u[k] = nb_real(vel, 3 * row + k) - mean[k] / mass;
		}
		for (int k = 0; k < 3; k++) {
			const int p = (k + 1) % 3, q = (k + 2) % 3;
			angular[k] += ball->body[i].mass * (d[p] * u[q] - d[q] * u[p]);
		}
	}
	const double j2 = angular[0] * angular[0] + angular[1] * angular[1] + angular[2] * angular[2];
	return sqrt(j2 / (2 * mass * mass * mass * sphere->radius));
}

static int measure(const struct nb_sorted *sorted, const struct nb_groups_reals *bodies, double density,
	const double *centre, double radius, struct nb_sphere *sphere)
{
	struct ball ball = {0};
	int status = NB_OK, found = 0;
	*sphere = (struct nb_sphere){NAN, NAN, NAN, NAN, NAN};
	while (!status && !found && radius > 0 && isfinite(centre[0])) {
		const int last = radius >= sorted->law.half;
		radius = last ? sorted->law.half : radius;
		ball.n = 0;
		status = fill_ball(sorted, bodies->mass, centre, radius * radius, 0, &ball);
		if (status)
			break;
		const int all = ball.n == sorted->n && sorted->law.box == 0;
		if (ball.n)
			qsort(ball.body, ball.n, sizeof *ball.body, compare);
		found = find_sphere(&ball, density, all ? INFINITY : radius, sphere);
		if (!found && (last || all)) { /* denser than that even so, or too few bodies */
			*sphere = (struct nb_sphere){NAN, NAN, NAN, NAN, NAN};
			break;
		}
		radius *= 1.5;
	}
	if (isnan(sphere->mass))
		sphere->steepest = sphere->r_steepest = NAN;
	else if (!status && nb_reals_there(bodies->vel))
		sphere->spin = find_spin(sorted, bodies->vel, centre, &ball, sphere);
	nb_free(ball.body);
	return status;
}

int nb_groups_spheres_cpu(const struct nb_groups_job *job, const struct nb_groups_reals *bodies, size_t ndensity,
	const double *density, size_t count, const double *centre, const double *group_mass, struct nb_sphere *sphere)
{
	struct nb_sorted sorted = {.law = nb_link_law_of(3, 0, job->box), .n = job->n};
	int status = job->n && count ? nb_sorted_make(&sorted, bodies->pos) : NB_OK;
	if (!status && job->n) {
#pragma omp parallel for schedule(dynamic) reduction(max : status)
		for (size_t k = 0; k < count * ndensity; k++) {
			const size_t g = k / ndensity, d = k % ndensity;
			double at[3];
			for (size_t c = 0; c < 3; c++)
				at[c] = job->box > 0 ? nb_periodic_wrap(centre[3 * g + c], job->box)
						     : centre[3 * g + c];
			const int own = measure(&sorted, bodies, density[d], at,
				1.2 * cbrt(3 * group_mass[g] / (4 * PI * density[d])), &sphere[k]);
			status = own > status ? own : status;
		}
	}
	nb_sorted_free(&sorted);
	return status;
}
