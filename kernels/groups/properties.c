/* What the bodies of one group amount to. */
#include "kernels/groups/groups.h"

#include <math.h>

#include "common/mem.h"
#include "common/periodic.h"

enum { MOST_SLOTS = 4096 };

/* Where the circle [0, box) may be cut, as no member is within the linking length of the place on one of its sides; -1:
 * nowhere that can be seen.  Members fall into slots, of which there is one more than members, so that the widest gap
 * lies between two of them. */
static double find_cut(const struct nb_group_bodies *b, int k, double length, double box, double (*slot)[2])
{
	const size_t slots = b->n < MOST_SLOTS ? b->n + 1 : MOST_SLOTS;
	double first = INFINITY, last = -1, cut = -1, widest = length;
	for (size_t s = 0; s < slots; s++)
		slot[s][1] = -1;
	for (size_t i = 0; i < b->n; i++) {
		const double x = nb_periodic_wrap(b->pos[3 * i + (size_t)k], box);
		size_t s = (size_t)(x / box * (double)slots);
		s = s < slots ? s : slots - 1;
		if (slot[s][1] < 0)
			slot[s][0] = slot[s][1] = x;
		slot[s][0] = x < slot[s][0] ? x : slot[s][0];
		slot[s][1] = x > slot[s][1] ? x : slot[s][1];
	}
	for (size_t s = 0; s < slots; s++) {
		if (slot[s][1] < 0)
			continue;
		if (last >= 0 && slot[s][0] - last > widest) {
			widest = slot[s][0] - last;
			cut = slot[s][0];
		}
		first = first < slot[s][0] ? first : slot[s][0];
		last = slot[s][1];
	}
	return first + box - last > widest ? first : cut;
}

/* Places become those of the images that hang together; 0 if the group goes around the box. */
static int unwrap(const struct nb_group_bodies *b, int dim, double length, double box, double (*slot)[2])
{
	double cut[3];
	for (int k = 0; k < dim; k++) {
		cut[k] = find_cut(b, k, length, box, slot);
		if (cut[k] < 0)
			return 0;
	}
	for (int k = 0; k < dim; k++)
		for (size_t i = 0; i < b->n; i++) {
			const double x = nb_periodic_wrap(b->pos[3 * i + (size_t)k], box);
			b->pos[3 * i + (size_t)k] = x < cut[k] ? x + box : x;
		}
	return 1;
}

static double square(const double *x)
{
	return x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
}

/* Mean of n vectors about the first, weighted. */
static void mean_of(size_t n, const double *x, const double *mass, double total, double mean[3])
{
	for (int k = 0; k < 3; k++) {
		double sum = 0;
		for (size_t i = 0; i < n; i++)
			sum += (total > 0 ? mass[i] : 1) * (x[3 * i + (size_t)k] - x[k]);
		mean[k] = x[k] + sum / (total > 0 ? total : (double)n);
	}
}

/* Mean square distance from the mean. */
static double mean_square(size_t n, const double *x, const double *mass, double total, const double mean[3])
{
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		const double d[3] = {x[3 * i] - mean[0], x[3 * i + 1] - mean[1], x[3 * i + 2] - mean[2]};
		sum += (total > 0 ? mass[i] : 1) * square(d);
	}
	return sum / (total > 0 ? total : (double)n);
}

static void measure_places(const struct nb_group_bodies *b, struct nb_group_properties *g)
{
	double largest = 0;
	g->r_rms = sqrt(mean_square(b->n, b->pos, b->mass, g->mass, g->com));
	for (size_t i = 0; i < b->n; i++) {
		const double *x = b->pos + 3 * i, d[3] = {x[0] - g->com[0], x[1] - g->com[1], x[2] - g->com[2]};
		largest = fmax(largest, square(d));
		if (!b->vel)
			continue;
		const double *v = b->vel + 3 * i, u[3] = {v[0] - g->vel[0], v[1] - g->vel[1], v[2] - g->vel[2]};
		for (int k = 0; k < 3; k++) {
			const int p = (k + 1) % 3, q = (k + 2) % 3;
			g->angular[k] += b->mass[i] * (d[p] * u[q] - d[q] * u[p]);
		}
	}
	g->r_max = sqrt(largest);
}

/* Velocities become those in physical space, about the centre of mass. */
static void add_flow(const struct nb_group_bodies *b, const double com[3])
{
	for (size_t i = 0; i < 3 * b->n; i++)
		b->vel[i] += b->flow * (b->pos[i] - com[i % 3]);
}

double nb_groups_wrap(double x, double box)
{
	return nb_periodic_wrap(x, box);
}

int nb_groups_measure(
	const struct nb_group_bodies *b, int dim, double length, double box, struct nb_group_properties *g)
{
	double(*slot)[2] = nb_alloc(box > 0 ? (b->n < MOST_SLOTS ? b->n + 1 : MOST_SLOTS) : 0, sizeof *slot);
	if (!slot)
		return NB_ENOMEM;
	*g = (struct nb_group_properties){0};
	for (size_t i = 0; i < b->n; i++)
		g->mass += b->mass[i];
	g->wraps = box > 0 && !unwrap(b, dim, length, box, slot);
	nb_free(slot);
	if (!g->wraps)
		mean_of(b->n, b->pos, b->mass, g->mass, g->com);
	if (b->vel) {
		mean_of(b->n, b->vel, b->mass, g->mass, g->vel);
		if (b->flow != 0 && !g->wraps)
			add_flow(b, g->com);
		g->vdisp = sqrt(mean_square(b->n, b->vel, b->mass, g->mass, g->vel) / dim);
	}
	if (!g->wraps) {
		measure_places(b, g);
		return NB_OK;
	}
	g->r_rms = g->r_max = NAN;
	g->vdisp = b->flow != 0 ? NAN : g->vdisp;
	for (int k = 0; k < 3; k++) {
		g->com[k] = b->pos[k];
		g->angular[k] = NAN;
	}
	return NB_OK;
}
