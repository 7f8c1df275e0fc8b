/* collide_internal.h - what two bodies do to each other, for collide_cpu.c and its oracle collide_ref.c; private.
 *
 * Time s runs from 0 to 1 over the drift and lengths are divided by a power of two so that all positions, paths
 * and radii are below 1: nothing overflows, and the scaling rounds nothing. */
#ifndef NB_MOTION_COLLIDE_INTERNAL_H
#define NB_MOTION_COLLIDE_INTERNAL_H

#include <math.h>

#include "kernels/motion/collide.h"

/* A body is at q + u s for t <= s <= 1; t is when it touched another last. */
struct nb_path {
	double q[3], u[3], r, t; /* r = -infinity: it is part of another body and touches nothing */
};

struct nb_mark {
	uint32_t row;	  /* where the caller has it */
	uint32_t changes; /* contacts so far */
	uint32_t partner; /* of the last contact; NB_NOBODY: none */
	double fastest;	  /* speed of the fastest contact so far */
};

#define NB_NOBODY UINT32_MAX

enum { NB_COLLIDE_PARALLEL = 4000 /* fewer bodies are not worth starting threads */ };

struct nb_collide_state {
	const struct nb_collide *c;
	double scale;
	double restitution;
	struct nb_path *path; /* n */
	struct nb_mark *mark; /* n */
	uint64_t contacts;
};

/* A contact of a pair; s > 1: none. */
struct nb_contact {
	double s;
	uint32_t a, b;
};

/* ---- beginning and end ------------------------------------------------------------------------------ */

/* Checks the bodies, and finds the scale. */
static inline int nb_collide_begin(struct nb_collide_state *x, const struct nb_collide *c)
{
	const size_t n = c->n;
	double length = 0, mass = 0, radius = 0;
	size_t odd = 0, bad = 0;
	if (n >= NB_NOBODY)
		return NB_ELIMIT;
#pragma omp parallel for simd schedule(static) reduction(max : length) reduction(+ : odd) if (n > NB_COLLIDE_PARALLEL)
	for (size_t i = 0; i < 3 * n; i++) {
		const double from = fabs(c->pos[i]), to = fabs(c->pos[i] + c->vel[i] * c->dt);
		length = from > length ? from : length;
		length = to > length ? to : length;
		odd += !(c->vel[i] - c->vel[i] == 0 && from - from == 0 && to - to == 0);
	}
#pragma omp parallel for simd schedule(static) reduction(max : mass, radius) reduction(+ : bad) if (n > NB_COLLIDE_PARALLEL)
	for (size_t i = 0; i < n; i++) {
		mass = c->mass[i] > mass ? c->mass[i] : mass;
		radius = c->radius[i] > radius ? c->radius[i] : radius;
		bad += !(c->mass[i] >= 0 && c->radius[i] >= 0);
	}
	x->restitution = c->mode == NB_COLLIDE_BOUNCE ? c->restitution : 1;
	if (odd)
		return NB_ENONFINITE;
	if (!(x->restitution >= 0 && x->restitution <= 1))
		return NB_EINVAL;
	if (bad || isinf(mass) || isinf(radius))
		return NB_EINVAL;
	/* what all of them together could become */
	if (isinf(mass * (double)n) || isinf(radius * 2048))
		return NB_ELIMIT;
	int exponent = 0;
	frexp(length > radius ? length : radius, &exponent);
	x->c = c;
	x->scale = ldexp(1, exponent < -1000 ? 1000 : -exponent);
	x->contacts = 0;
	return NB_OK;
}

/* Body a of the state is the one in that row. */
static inline void nb_collide_load(struct nb_collide_state *x, uint32_t a, uint32_t row)
{
	const struct nb_collide *c = x->c;
	struct nb_path *path = &x->path[a];
	for (size_t k = 0; k < 3; k++) {
		path->q[k] = c->pos[3 * (size_t)row + k] * x->scale;
		path->u[k] = c->vel[3 * (size_t)row + k] * c->dt * x->scale;
	}
	path->r = c->radius[row] * x->scale;
	path->t = 0;
	x->mark[a] = (struct nb_mark){row, 0, NB_NOBODY, 0};
}

/* Moves the bodies to where they are at the end, and says which are left. */
static inline void nb_collide_end(const struct nb_collide_state *x, struct nb_collide_count *count)
{
	const struct nb_collide *c = x->c;
	const size_t n = c->n;
	size_t limited = 0, left = n;
#pragma omp parallel for schedule(static) reduction(+ : limited) if (n > NB_COLLIDE_PARALLEL)
	for (size_t a = 0; a < n; a++) {
		const size_t row = x->mark[a].row;
		const struct nb_path *path = &x->path[a];
		double *pos = c->pos + 3 * row;
		for (int k = 0; k < 3; k++)
			pos[k] = x->mark[a].changes ? (path->q[k] + path->u[k]) / x->scale
						    : pos[k] + c->vel[3 * row + k] * c->dt;
		if (c->mode == NB_COLLIDE_MERGE)
			c->keep[row] = path->r >= 0;
		else
			limited += x->mark[a].changes >= NB_COLLIDE_MOST;
	}
	if (c->mode == NB_COLLIDE_MERGE) {
		left = 0;
		for (size_t row = 0; row < n; row++) { /* left <= row: no flag is overwritten before it is read */
			const uint32_t lives = c->keep[row];
			c->keep[left] = (uint32_t)row;
			left += lives;
		}
	}
	*count = (struct nb_collide_count){left, x->contacts, limited};
}

/* ---- order ------------------------------------------------------------------------------------------ */

static inline int nb_id_before(const struct nb_collide_state *x, uint32_t a, uint32_t b)
{
	const uint32_t row_a = x->mark[a].row, row_b = x->mark[b].row;
	if (x->c->id && x->c->id[row_a] != x->c->id[row_b])
		return x->c->id[row_a] < x->c->id[row_b];
	return row_a < row_b;
}

/* Is contact k before contact l?  Equal ones are not before each other. */
static inline int nb_contact_before(const struct nb_collide_state *x, struct nb_contact k, struct nb_contact l)
{
	if (k.s != l.s)
		return k.s < l.s;
	const int k_turned = nb_id_before(x, k.b, k.a), l_turned = nb_id_before(x, l.b, l.a);
	const uint32_t k_low = k_turned ? k.b : k.a, k_high = k_turned ? k.a : k.b;
	const uint32_t l_low = l_turned ? l.b : l.a, l_high = l_turned ? l.a : l.b;
	if (k_low != l_low)
		return nb_id_before(x, k_low, l_low);
	return k_high != l_high && nb_id_before(x, k_high, l_high);
}

/* ---- when a pair touches ---------------------------------------------------------------------------- */

static inline double nb_dot3(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The relative position at s, and the relative velocity. */
static inline void nb_path_difference(
	const struct nb_path *a, const struct nb_path *b, double s, double d[3], double w[3])
{
	for (int k = 0; k < 3; k++) {
		w[k] = b->u[k] - a->u[k];
		d[k] = (b->q[k] - a->q[k]) + w[k] * s;
	}
}

/* Do they overlap at the beginning? */
static inline int nb_path_overlap(const struct nb_path *a, const struct nb_path *b)
{
	const double reach = a->r + b->r;
	double d[3], w[3];
	nb_path_difference(a, b, 0, d, w);
	return reach > 0 && nb_dot3(d, d) <= reach * reach;
}

/* When they touch, infinity for never.  Depends on their paths alone, and not on which is a and which is b. */
static inline double nb_path_contact(const struct nb_path *a, const struct nb_path *b, enum nb_collide_mode mode)
{
	const double reach = a->r + b->r, s0 = a->t > b->t ? a->t : b->t;
	double d[3], w[3];
	if (!(reach > 0))
		return INFINITY;
	nb_path_difference(a, b, s0, d, w);
	const double dw = nb_dot3(d, w);
	if (nb_dot3(d, d) <= reach * reach)
		return mode == NB_COLLIDE_MERGE || dw < 0 ? s0 : INFINITY;
	if (!(dw < 0))
		return INFINITY;
	/* from the place of closest approach back: the discriminant of the quadratic equation would cancel */
	const double ww = nb_dot3(w, w);
	if (!(ww > 1e-280))
		return INFINITY; /* as good as at rest: the quotients below would overflow or underflow */
	double s = -dw / ww;
	for (int k = 0; k < 3; k++)
		d[k] += w[k] * s;
	const double room = reach * reach - nb_dot3(d, d);
	if (!(room >= 0))
		return INFINITY;
	s -= sqrt(room / ww);
	s = s0 + (s > 0 ? s : 0);
	return s <= 1 ? s : INFINITY;
}

/* The same with what else keeps a pair apart. A pair that has just collided goes apart but for rounding errors. */
static inline double nb_collide_contact(const struct nb_collide_state *x, uint32_t a, uint32_t b)
{
	const double s = nb_path_contact(&x->path[a], &x->path[b], x->c->mode);
	if (!(s <= 1) || x->c->mode == NB_COLLIDE_MERGE)
		return s;
	const struct nb_mark *m = &x->mark[a], *k = &x->mark[b];
	const int parted = m->partner == b && k->partner == a;
	return parted || m->changes >= NB_COLLIDE_MOST || k->changes >= NB_COLLIDE_MOST ? INFINITY : s;
}

/* ---- what a contact does ---------------------------------------------------------------------------- */

static inline void nb_path_place(const struct nb_path *a, double s, double p[3])
{
	for (int k = 0; k < 3; k++)
		p[k] = a->q[k] + a->u[k] * s;
}

/* From p at s on with the velocity that the body now has. */
static inline void nb_path_set(struct nb_collide_state *x, uint32_t a, double s, const double p[3])
{
	struct nb_path *path = &x->path[a];
	const double *vel = x->c->vel + 3 * (size_t)x->mark[a].row;
	for (int k = 0; k < 3; k++) {
		path->u[k] = vel[k] * x->c->dt * x->scale;
		path->q[k] = p[k] - path->u[k] * s;
	}
	path->t = s;
}

/* By how much a contact changes the speed of two bodies along the line of centres, over their distance; 0: nothing
 * happens.  The rules are those of NB_COLLIDE_BOUNCE.
 *   distance  of the bodies
 *   now       speed of approach at the moment, over the distance; negative: they separate
 *   mean      the same of the velocities on which they move */
static inline double nb_collide_change(const struct nb_collide_state *x, struct nb_mark *a, struct nb_mark *b,
	double distance, double now, double mean)
{
	if (x->restitution == 1)
		return now > 0 ? 2 * now : 0;
	const double speed = (now > mean ? now : mean) * distance;
	const double fastest = a->fastest > b->fastest ? a->fastest : b->fastest;
	const int resting = speed < NB_COLLIDE_RESTING * fastest || a->changes >= NB_COLLIDE_LOSSY ||
			    b->changes >= NB_COLLIDE_LOSSY;
	double change = now > 0 ? (1 + (resting ? 1 : x->restitution)) * now : 0;
	if (!resting && change < mean)
		change = mean; /* held */
	a->fastest = a->fastest > speed ? a->fastest : speed;
	b->fastest = b->fastest > speed ? b->fastest : speed;
	return change;
}

static inline void nb_collide_bounce(struct nb_collide_state *x, uint32_t a, uint32_t b, double s)
{
	const struct nb_collide *c = x->c;
	const size_t row_a = x->mark[a].row, row_b = x->mark[b].row;
	double *va = c->vel + 3 * row_a, *vb = c->vel + 3 * row_b;
	double pa[3], pb[3], d[3], w[3], mean[3];
	nb_path_place(&x->path[a], s, pa);
	nb_path_place(&x->path[b], s, pb);
	for (size_t k = 0; k < 3; k++) {
		d[k] = pb[k] - pa[k];
		mean[k] = w[k] = vb[k] - va[k];
		if (c->acc)
			w[k] += (c->acc[3 * row_b + k] - c->acc[3 * row_a + k]) * (s * c->dt - c->lag);
	}
	const double dd = nb_dot3(d, d), forwards = c->dt < 0 ? 1 : -1;
	double push = 0; /* change of the relative velocity over d */
	if (dd > 1e-290)
		push = nb_collide_change(x, &x->mark[a], &x->mark[b], sqrt(dd), forwards * nb_dot3(d, w) / dd,
			forwards * nb_dot3(d, mean) / dd);
	/* a grazing contact may turn out to be none */
	if (push > 0) {
		push *= forwards;
		const double to_a = push * nb_share(c->mass[row_a], c->mass[row_b]);
		const double to_b = push * nb_share(c->mass[row_b], c->mass[row_a]);
		for (int k = 0; k < 3; k++) {
			va[k] += to_a * d[k];
			vb[k] -= to_b * d[k];
			if (c->later) {
				c->later[3 * row_a + k] += to_a * d[k];
				c->later[3 * row_b + k] -= to_b * d[k];
			}
		}
		x->contacts++;
		nb_path_set(x, a, s, pa);
		nb_path_set(x, b, s, pb);
	}
	x->mark[a].changes++;
	x->mark[b].changes++;
	x->mark[a].partner = b;
	x->mark[b].partner = a;
}

static inline double nb_cube3(double x)
{
	return x * x * x;
}

/* Body b is about to become part of another that will have its mass, in that row; p, u: how place and velocity differ
 * from those of the centre of mass. */
static inline void nb_collide_spin_up(
	const struct nb_collide *c, size_t r, size_t row, const double p[3], const double u[3])
{
	for (int k = 0; k < 3; k++) {
		const int l = (k + 1) % 3, m = (k + 2) % 3;
		c->spin[3 * row + k] += c->mass[r] * (p[l] * u[m] - p[m] * u[l]) + (r == row ? 0 : c->spin[3 * r + k]);
	}
}

/* Spins and records of the m bodies of list, which become one in that row; shift: how its place and velocity will
 * differ from those that it has, p at s. */
static inline void nb_collide_record(struct nb_collide_state *x, size_t m, const uint32_t *list, double s, size_t row,
	const double p[3], const double *shift)
{
	const struct nb_collide *c = x->c;
	double lost = 0;
	for (size_t i = 0; i < m; i++) {
		const size_t r = x->mark[list[i]].row;
		double d[3], u[3];
		nb_path_place(&x->path[list[i]], s, d);
		for (int k = 0; k < 3; k++) {
			d[k] = (d[k] - p[k] - shift[k]) / x->scale;
			u[k] = c->vel[3 * r + k] - c->vel[3 * row + k] - shift[3 + k];
		}
		if (c->spin)
			nb_collide_spin_up(c, r, row, d, u);
		lost += c->mass[r] * nb_dot3(u, u) / 2;
		if (c->merger && r != row) {
			c->merger[x->contacts] = (struct nb_merger){s * c->dt, lost, (uint32_t)r, (uint32_t)row};
			lost = 0;
		}
		x->contacts += r != row;
	}
	if (c->merger) /* what the heaviest loses, if it is the last */
		c->merger[x->contacts - 1].lost += lost;
}

/* The m bodies of list, sorted by id, become one. */
static inline void nb_collide_unite(struct nb_collide_state *x, size_t m, const uint32_t *list, double s)
{
	const struct nb_collide *c = x->c;
	uint32_t survivor = list[0];
	double mass = 0, radius = 0, volume = 0, p[3], shift[9] = {0};
	for (size_t i = 0; i < m; i++) {
		const size_t r = x->mark[list[i]].row;
		mass += c->mass[r];
		radius = c->radius[r] > radius ? c->radius[r] : radius;
		if (c->mass[r] > c->mass[x->mark[survivor].row])
			survivor = list[i];
	}
	const size_t row = x->mark[survivor].row;
	/* weighted differences from the survivor, so that a light body changes a heavy one by no more than it should */
	nb_path_place(&x->path[survivor], s, p);
	for (size_t i = 0; i < m; i++) {
		const uint32_t b = list[i];
		const size_t r = x->mark[b].row;
		const double weight = mass > 0 ? c->mass[r] / mass : 1 / (double)m;
		double pb[3];
		nb_path_place(&x->path[b], s, pb);
		volume += nb_cube3(c->radius[r] / radius);
		for (int k = 0; k < 3; k++) {
			shift[k] += weight * (pb[k] - p[k]);
			shift[3 + k] += weight * (c->vel[3 * r + k] - c->vel[3 * row + k]);
			if (c->later)
				shift[6 + k] += weight * (c->later[3 * r + k] - c->later[3 * row + k]);
		}
		x->mark[b].changes++;
	}
	nb_collide_record(x, m, list, s, row, p, shift);
	for (size_t i = 0; i < m; i++)
		x->path[list[i]].r = -INFINITY;
	for (int k = 0; k < 3; k++) {
		p[k] += shift[k];
		c->vel[3 * row + k] += shift[3 + k];
		if (c->later)
			c->later[3 * row + k] += shift[6 + k];
	}
	c->mass[row] = mass;
	c->radius[row] = radius * cbrt(volume);
	x->path[survivor].r = c->radius[row] * x->scale;
	nb_path_set(x, survivor, s, p);
}

static inline void nb_collide_act(struct nb_collide_state *x, struct nb_contact k)
{
	const int turned = nb_id_before(x, k.b, k.a);
	const uint32_t pair[2] = {turned ? k.b : k.a, turned ? k.a : k.b};
	if (x->c->mode == NB_COLLIDE_MERGE)
		nb_collide_unite(x, 2, pair, k.s);
	else
		nb_collide_bounce(x, pair[0], pair[1], k.s);
}
#endif
