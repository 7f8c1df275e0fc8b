/* bodies.h - sets of solid bodies, and what a drift does to them. */
#ifndef NB_UNIT_MOTION_BODIES_H
#define NB_UNIT_MOTION_BODIES_H

#include "kernels/motion/motion.h"

#include <float.h>
#include <stdint.h>

#include "tests/unit/unit.h"

typedef int (*collide_function)(const struct nb_collide *c, struct nb_collide_count *count);
static const collide_function both[] = {nb_collide_cpu, nb_collide_ref};

static inline double uniform(void)
{
	static uint64_t state = 20261121;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

struct bodies {
	size_t n, left;
	double *pos, *vel, *later, *mass, *radius;
	uint64_t *id;
	uint32_t *keep;
	double restitution; /* for NB_COLLIDE_BOUNCE */
};

static inline struct bodies make(size_t n)
{
	struct bodies b = {n, n, calloc(3 * n + 1, 8), calloc(3 * n + 1, 8), calloc(3 * n + 1, 8), calloc(n + 1, 8),
		calloc(n + 1, 8), calloc(n + 1, 8), calloc(n + 1, 4), 1};
	for (size_t i = 0; i < n; i++) {
		b.mass[i] = 1;
		b.radius[i] = 1;
		b.id[i] = i;
	}
	return b;
}

static inline void release(struct bodies *b)
{
	free(b->pos);
	free(b->vel);
	free(b->later);
	free(b->mass);
	free(b->radius);
	free(b->id);
	free(b->keep);
}

/* row k of the copy is row order[k], or k */
static inline struct bodies copy_of(const struct bodies *b, const size_t *order)
{
	struct bodies c = make(b->n);
	c.restitution = b->restitution;
	for (size_t k = 0; k < b->n; k++) {
		const size_t i = order ? order[k] : k;
		memcpy(c.pos + 3 * k, b->pos + 3 * i, 24);
		memcpy(c.vel + 3 * k, b->vel + 3 * i, 24);
		memcpy(c.later + 3 * k, b->later + 3 * i, 24);
		c.mass[k] = b->mass[i];
		c.radius[k] = b->radius[i];
		c.id[k] = b->id[i];
	}
	return c;
}

static inline int drift(struct bodies *b, collide_function collide, enum nb_collide_mode mode, double dt,
	struct nb_collide_count *count)
{
	const struct nb_collide c = {b->n, mode, dt, b->pos, b->vel, b->later, b->mass, b->radius, b->id,
		mode == NB_COLLIDE_MERGE ? b->keep : NULL, NULL, 0, b->restitution, NULL, NULL};
	int status = collide(&c, count);
	b->left = status ? b->n : count->left;
	for (size_t i = 0; i < b->n && mode != NB_COLLIDE_MERGE; i++)
		b->keep[i] = (uint32_t)i;
	return status;
}

static inline uint64_t contacts(struct bodies *b, collide_function collide, enum nb_collide_mode mode, double dt)
{
	struct nb_collide_count count = {0, 0, 0};
	CHECK(drift(b, collide, mode, dt, &count) == NB_OK);
	CHECK(count.left == (mode == NB_COLLIDE_MERGE ? b->n - count.contacts : b->n));
	return count.contacts;
}

static inline int same(const struct bodies *a, const struct bodies *b)
{
	if (a->n != b->n || a->left != b->left || memcmp(a->keep, b->keep, 4 * a->left) != 0)
		return 0;
	for (size_t k = 0; k < a->left; k++) {
		const size_t i = a->keep[k];
		if (memcmp(a->pos + 3 * i, b->pos + 3 * i, 24) != 0 ||
			memcmp(a->vel + 3 * i, b->vel + 3 * i, 24) != 0 ||
			memcmp(a->later + 3 * i, b->later + 3 * i, 24) != 0 || a->mass[i] != b->mass[i] ||
			a->radius[i] != b->radius[i])
			return 0;
	}
	return 1;
}

static inline void place(struct bodies *b, size_t i, double x, double y, double vx, double vy)
{
	b->pos[3 * i] = x;
	b->pos[3 * i + 1] = y;
	b->vel[3 * i] = vx;
	b->vel[3 * i + 1] = vy;
}

struct sums {
	double mass, momentum[3], moment[3], ekin, volume, later[3], scale;
};

/* of those that are left; moment: mass times position; scale: sum of |momenta| */
static inline struct sums sums_of(const struct bodies *b, int all)
{
	struct sums s;
	memset(&s, 0, sizeof s);
	for (size_t k = 0; k < (all ? b->n : b->left); k++) {
		const size_t i = all ? k : b->keep[k];
		const double m = b->mass[i];
		s.mass += m;
		s.volume += b->radius[i] * b->radius[i] * b->radius[i];
		for (size_t d = 0; d < 3; d++) {
			const double v = b->vel[3 * i + d];
			s.momentum[d] += m * v;
			s.later[d] += m * b->later[3 * i + d];
			s.moment[d] += m * b->pos[3 * i + d];
			s.ekin += m * v * v / 2;
			s.scale += m * fabs(v);
		}
	}
	return s;
}

#endif
