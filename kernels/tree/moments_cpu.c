#include "kernels/tree/tree.h"

#include <math.h>
#include <string.h>

/* 1 / mass; 0 for no mass, or one below the normal range, which has no direction worth knowing */
static double weight_of(double mass)
{
	const double weight = mass > 0 ? 1 / mass : 0;
	return isfinite(weight) ? weight : 0;
}

/* com becomes the centre of mass, which is off the box's centre c by d. */
static void place_com(struct nb_node_moments *m, const double *c, const double *d)
{
	for (int k = 0; k < 3; k++)
		m->com[k] = m->box[k] == m->box[3 + k] ? m->box[k] : c[k] + d[k];
}

static void add_square(double mass, const double *x, const double *com, double *q)
{
	const double dx = x[0] - com[0], dy = x[1] - com[1], dz = x[2] - com[2];
	const double mx = mass * dx, my = mass * dy, mz = mass * dz;
	q[0] += mx * dx;
	q[1] += mx * dy;
	q[2] += mx * dz;
	q[3] += my * dy;
	q[4] += my * dz;
	q[5] += mz * dz;
}

int nb_tree_leaf_moments(
	const struct nb_tree *tree, size_t i, const double *pos, const double *mass, struct nb_node_moments *m)
{
	const size_t begin = tree->first[i], end = begin + tree->count[i];
	double *lo = m->box, *hi = m->box + 3, c[3], d[3] = {0, 0, 0}, total = 0, least = 0;
	for (size_t k = 0; k < 3; k++)
		lo[k] = hi[k] = pos[3 * begin + k];
	for (size_t b = begin; b < end; b++) {
		for (size_t k = 0; k < 3; k++) {
			const double x = pos[3 * b + k];
			lo[k] = x < lo[k] ? x : lo[k];
			hi[k] = x > hi[k] ? x : hi[k];
		}
		total += mass[b];
		least = mass[b] < least ? mass[b] : least;
	}
	for (int k = 0; k < 3; k++)
		c[k] = lo[k] + 0.5 * (hi[k] - lo[k]);
	const double weight = weight_of(total);
	for (size_t b = begin; b < end; b++)
		for (size_t k = 0; k < 3; k++)
			d[k] += mass[b] * weight * (pos[3 * b + k] - c[k]);
	if (!isfinite(total + d[0] + d[1] + d[2]))
		return NB_ENONFINITE;
	if (least < 0)
		return NB_EINVAL;
	place_com(m, c, d);
	m->mass = total;
	memset(m->quad, 0, sizeof m->quad);
	for (size_t b = begin; tree->quad && b < end; b++)
		add_square(mass[b], pos + 3 * b, m->com, m->quad);
	return NB_OK;
}

void nb_tree_inner_moments(const struct nb_tree *tree, size_t i, struct nb_node_moments *m)
{
	const size_t begin = tree->child[i], end = begin + tree->nchild[i];
	double c[3], d[3] = {0, 0, 0}, total = 0;
	memcpy(m->box, tree->box + 6 * begin, sizeof m->box);
	for (size_t b = begin; b < end; b++) {
		for (size_t k = 0; k < 3; k++) {
			m->box[k] = fmin(m->box[k], tree->box[6 * b + k]);
			m->box[3 + k] = fmax(m->box[3 + k], tree->box[6 * b + 3 + k]);
		}
		total += tree->mass[b];
	}
	for (int k = 0; k < 3; k++)
		c[k] = m->box[k] + 0.5 * (m->box[3 + k] - m->box[k]);
	const double weight = weight_of(total);
	for (size_t b = begin; b < end; b++)
		for (size_t k = 0; k < 3; k++)
			d[k] += tree->mass[b] * weight * (tree->com[3 * b + k] - c[k]);
	place_com(m, c, d);
	m->mass = total;
	memset(m->quad, 0, sizeof m->quad);
	for (size_t b = begin; tree->quad && b < end; b++) {
		for (size_t s = 0; s < 6; s++)
			m->quad[s] += tree->quad[6 * b + s];
		add_square(tree->mass[b], tree->com + 3 * b, m->com, m->quad);
	}
}
