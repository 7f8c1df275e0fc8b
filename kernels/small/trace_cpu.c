/* trace_cpu.c - a star and planets that meet. */
#include "kernels/small/small.h"
#include "kernels/small/whfast_internal.h"

#include <math.h>
#include <string.h>

/* Distance of an encounter, in Hill radii, and its sixth power: no root is to be drawn. */
static const double HILL_6 = 3.0 * 3 * 3 * 3 * 3 * 3;

/* A step must not be longer than this time scale of an orbit about the star, which is P/(2 pi) of a circle. */
static const double ORBIT = 1;

/* Accuracy of the steps of order 15 (ias15.h); shorter ones, as a fraction of all, do not move the time. */
static const double ETA = 0.175, STEP_LEAST = 1e-15;

/* Steps of order 15 in one step, at most: those of a thousand orbits, which take about a second. */
enum { STEPS_MOST = 1 << 16 };

/* Who is followed together in a step: bit j of near[i] for planets i and j; star: all. */
struct meeting {
	uint32_t near[NB_SMALL_MOST];
	int star;
};

int nb_trace_begin(struct nb_trace *t, size_t n, const double *mass, double G)
{
	struct nb_small pairs;
	*t = (struct nb_trace){.n = n};
	if (n > NB_SMALL_MOST || (n > 1 && (nb_small_begin(&pairs, n, mass, G, 0) || !(G * mass[0] > 0))))
		return NB_EUNSUPPORTED;
	for (size_t i = 0; i < n; i++) {
		t->gm[i] = G * mass[i];
		if (t->gm[i] < 0)
			return NB_EUNSUPPORTED;
	}
	if (nb_whfast_begin(&t->orbits, n, mass, G, 0, 0))
		return NB_EUNSUPPORTED;
	nb_whfast_democratic(&t->orbits);
	for (size_t i = 0; i < NB_WHFAST_MOST; i++)
		t->orbits.q[0][i] = 1; /* lanes without a planet are not in the star */
	return NB_OK;
}

static double product(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* ---- coordinates -------------------------------------------------------------------------------- */

/* From positions and velocities relative to any origin to Q and V; sets where the centre of mass is, and its velocity.
 */
static void relate(struct nb_trace *t, const double *pos, const double *vel, double centre[3], double drift[3])
{
	const size_t n = t->n;
	double all = 0;
	for (size_t i = 0; i < n; i++)
		all += t->gm[i];
	for (size_t d = 0; d < 3 && n > 0; d++) {
		double x = 0, v = 0;
		for (size_t i = 1; i < n; i++) {
			x += t->gm[i] / all * (pos[3 * i + d] - pos[d]);
			v += t->gm[i] / all * (vel[3 * i + d] - vel[d]);
		}
		centre[d] = pos[d] + x;
		drift[d] = vel[d] + v;
		for (size_t i = 1; i < n; i++) {
			t->x[3 * i + d] = pos[3 * i + d] - pos[d];
			t->v[3 * i + d] = (vel[3 * i + d] - vel[d]) - v;
		}
	}
}

/* Positions and velocities relative to the centre of mass. */
static void place(const struct nb_trace *t, double *pos, double *vel)
{
	const size_t n = t->n;
	double all = 0;
	for (size_t i = 0; i < n; i++)
		all += t->gm[i];
	for (size_t d = 0; d < 3 && n > 0; d++) {
		pos[d] = vel[d] = 0;
		for (size_t i = 1; i < n; i++) {
			pos[d] -= t->gm[i] / all * t->x[3 * i + d];
			vel[d] -= t->gm[i] / t->gm[0] * t->v[3 * i + d];
		}
		for (size_t i = 1; i < n; i++) {
			pos[3 * i + d] = pos[d] + t->x[3 * i + d];
			vel[3 * i + d] = t->v[3 * i + d];
		}
	}
}

void nb_trace_load(struct nb_trace *t, const double *pos, const double *vel)
{
	relate(t, pos, vel, t->centre, t->drift);
	t->elapsed = t->rest = 0;
	t->met = t->passed = 0;
}

void nb_trace_store(const struct nb_trace *t, double *pos, double *vel)
{
	place(t, pos, vel);
	for (size_t k = 0; k < 3 * t->n; k++) {
		pos[k] += t->centre[k % 3] + t->drift[k % 3] * (t->elapsed + t->rest);
		vel[k] += t->drift[k % 3];
	}
}

/* ---- encounters --------------------------------------------------------------------------------- */

/* Sixth power of the distance of an encounter with planet i. */
static double reach6(const struct nb_trace *t, size_t i)
{
	const double r2 = product(&t->x[3 * i], &t->x[3 * i]), share = t->gm[i] / (3 * t->gm[0]);
	return HILL_6 * r2 * r2 * r2 * share * share;
}

/* Whether two planets come within their distance on straight lines, from h/2 before to h/2 after this moment. */
static int is_near(const struct nb_trace *t, size_t i, size_t j, double h, const double *reach)
{
	const double *x = t->x, *v = t->v;
	double d[3], u[3];
	if (t->gm[i] == 0 && t->gm[j] == 0)
		return 0;
	for (size_t k = 0; k < 3; k++) {
		d[k] = x[3 * j + k] - x[3 * i + k];
		u[k] = v[3 * j + k] - v[3 * i + k];
	}
	const double d2 = product(d, d), u2 = product(u, u), along = product(d, u), half = fabs(h) / 2;
	const double when = u2 > 0 && fabs(along) < u2 * half ? fabs(along) / u2 : half;
	const double least = fmax(d2 - when * (2 * fabs(along) - when * u2), 0);
	return least * least * least < (reach[i] > reach[j] ? reach[i] : reach[j]);
}

/* Square of the time scale of the orbit about the star, as of ias15.h. */
static double orbit_scale2(const struct nb_trace *t, size_t i)
{
	const double *x = &t->x[3 * i], *v = &t->v[3 * i];
	const double r2 = product(x, x), n2 = t->gm[0] / (r2 * sqrt(r2));
	const double radial = 3 * product(x, v) / r2, bend = 3 * product(v, v) / r2 - 5.0 / 3 * radial * radial;
	double jerk[3], snap[3];
	for (int d = 0; d < 3; d++) { /* over n2, as -x is the acceleration */
		jerk[d] = radial * x[d] - v[d];
		snap[d] = 2 * radial * v[d] + (bend - 2 * n2) * x[d];
	}
	return 2 * r2 / (product(jerk, jerk) + sqrt(r2 * product(snap, snap)));
}

/* Adds who is to be followed together about this moment; returns whether there is anything new. */
static int look(const struct nb_trace *t, double h, struct meeting *m)
{
	double reach[NB_SMALL_MOST];
	int new = 0;
	for (size_t i = 1; i < t->n; i++) {
		reach[i] = reach6(t, i);
		if (!m->star && !(h * h <= ORBIT * ORBIT * orbit_scale2(t, i)))
			m->star = new = 1;
		for (size_t j = 1; j < i; j++)
			if (!(m->near[i] >> j & 1) && is_near(t, i, j, h, reach)) {
				m->near[i] |= (uint32_t)1 << j;
				m->near[j] |= (uint32_t)1 << i;
				new = 1;
			}
	}
	/* who meets one of several meets all of them */
	for (size_t k = 1; k < t->n; k++)
		for (size_t i = 1; i < t->n; i++)
			if (m->near[i] >> k & 1)
				m->near[i] |= m->near[k];
	return new;
}

/* ---- a step ------------------------------------------------------------------------------------- */

/* By the pulls of planets that are not followed together. */
static void kick(struct nb_trace *t, double h, const struct meeting *m)
{
	for (size_t i = 1; i < t->n; i++)
		for (size_t j = 1; j < i; j++) {
			double d[3];
			if (m->near[i] >> j & 1 || (t->gm[i] == 0 && t->gm[j] == 0))
				continue;
			for (size_t k = 0; k < 3; k++)
				d[k] = t->x[3 * j + k] - t->x[3 * i + k];
			const double r2 = product(d, d), s = h / (r2 * sqrt(r2));
			for (size_t k = 0; k < 3; k++) {
				t->v[3 * i + k] += t->gm[j] * s * d[k];
				t->v[3 * j + k] -= t->gm[i] * s * d[k];
			}
		}
}

/* By other forces, of which the star has its share. */
static void kick_extra(struct nb_trace *t, double h)
{
	double a[3 * NB_SMALL_MOST] = {0};
	if (!t->extra)
		return;
	memset(t->x, 0, 3 * sizeof *t->x);
	nb_extra_add(t->extra, t->n, t->gm, t->x, NULL, a, NULL);
	for (size_t k = 3; k < 3 * t->n; k++)
		t->v[k] += h * a[k];
}

static void jump(struct nb_trace *t, double h)
{
	for (size_t d = 0; d < 3; d++) {
		double sum = 0;
		for (size_t i = 1; i < t->n; i++)
			sum += t->gm[i] / t->gm[0] * t->v[3 * i + d];
		for (size_t i = 1; i < t->n; i++)
			t->x[3 * i + d] += h * sum;
	}
}

/* n bodies for a time h; star: G m of one that stands in the origin. */
static int follow(size_t n, const double *gm, double star, const struct nb_extra *extra, double h, double *x, double *v)
{
	struct nb_ias15 run;
	if (nb_ias15_begin(&run, n, gm, 1, 0))
		return NB_EUNSUPPORTED;
	run.star = star;
	run.extra = extra;
	if (nb_ias15_load(&run, x, v, ETA, fabs(h), h < 0 ? -1 : 1))
		return NB_EUNSUPPORTED;
	for (int made = 0; fabs(run.elapsed) < fabs(h); made++)
		if (made == STEPS_MOST)
			return NB_ELIMIT;
		else if (nb_ias15_step(&run) || !(fabs(run.last) > STEP_LEAST * fabs(h)))
			return NB_EUNSUPPORTED;
	nb_ias15_at(&run, run.last - ((run.elapsed - h) + run.rest), x, v);
	return NB_OK;
}

/* Planet i and those that meet it, unless one of a lower number has had them. */
static int follow_group(struct nb_trace *t, size_t i, uint32_t group, double h)
{
	double gm[NB_SMALL_MOST], x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
	size_t member[NB_SMALL_MOST], n = 0;
	if (!group)
		return nb_kepler_move(t->gm[0], h, &t->x[3 * i], &t->v[3 * i]);
	for (size_t j = 1; j < t->n; j++)
		if (group >> j & 1)
			member[n++] = j;
	if (member[0] != i)
		return NB_OK;
	for (size_t k = 0; k < n; k++) {
		gm[k] = t->gm[member[k]];
		memcpy(&x[3 * k], &t->x[3 * member[k]], 3 * sizeof *x);
		memcpy(&v[3 * k], &t->v[3 * member[k]], 3 * sizeof *v);
	}
	const int status = follow(n, gm, t->gm[0], NULL, h, x, v);
	for (size_t k = 0; k < n; k++) {
		memcpy(&t->x[3 * member[k]], &x[3 * k], 3 * sizeof *x);
		memcpy(&t->v[3 * member[k]], &v[3 * k], 3 * sizeof *v);
	}
	return status;
}

/* Each planet along its orbit. */
static int drift(struct nb_trace *t, double h)
{
	for (size_t i = 1; i < t->n; i++)
		for (size_t d = 0; d < 3; d++) {
			t->orbits.q[d][i - 1] = t->x[3 * i + d];
			t->orbits.v[d][i - 1] = t->v[3 * i + d];
		}
	const int status = nb_whfast_drift(&t->orbits, h);
	for (size_t i = 1; i < t->n; i++)
		for (size_t d = 0; d < 3; d++) {
			t->x[3 * i + d] = t->orbits.q[d][i - 1];
			t->v[3 * i + d] = t->orbits.v[d][i - 1];
		}
	return status;
}

static int follow_all(struct nb_trace *t, double h)
{
	double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST], centre[3], drift[3];
	place(t, x, v);
	const int status = follow(t->n, t->gm, 0, t->extra, h, x, v);
	relate(t, x, v, centre, drift);
	return status;
}

static int is_meeting(const struct nb_trace *t, const struct meeting *m)
{
	int together = 0;
	for (size_t i = 1; i < t->n; i++)
		together |= m->near[i] != 0;
	return together;
}

static int make_step(struct nb_trace *t, double h, const struct meeting *m)
{
	int status = NB_OK;
	if (m->star)
		return follow_all(t, h);
	kick(t, h / 2, m);
	kick_extra(t, h / 2);
	jump(t, h / 2);
	if (!is_meeting(t, m))
		status = drift(t, h);
	else
		for (size_t i = 1; i < t->n && !status; i++)
			status = follow_group(t, i, m->near[i], h);
	jump(t, h / 2);
	kick(t, h / 2, m);
	kick_extra(t, h / 2);
	return status;
}

int nb_trace_step(struct nb_trace *t, double h)
{
	const size_t bytes = 3 * t->n * sizeof *t->x;
	double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
	struct meeting m = {0};
	int status = NB_OK, again;
	memcpy(x, t->x, bytes);
	memcpy(v, t->v, bytes);
	look(t, h, &m);
	do { /* each time with more of them */
		status = make_step(t, h, &m);
		again = !status && look(t, h, &m);
		if (status || again) {
			memcpy(t->x, x, bytes);
			memcpy(t->v, v, bytes);
		}
	} while (again);
	if (status)
		return status;
	t->met += (uint64_t)(is_meeting(t, &m) && !m.star);
	t->passed += (uint64_t)m.star;
	const double y = h + t->rest, sum = t->elapsed + y;
	t->rest = y - (sum - t->elapsed);
	t->elapsed = sum;
	return NB_OK;
}

void nb_trace_carry(struct nb_trace *t, struct nb_carry *c)
{
	nb_carry_numbers(c, t->x, 3 * t->n);
	nb_carry_numbers(c, t->v, 3 * t->n);
	nb_carry_numbers(c, t->centre, 3);
	nb_carry_numbers(c, t->drift, 3);
	nb_carry_numbers(c, &t->elapsed, 1);
	nb_carry_numbers(c, &t->rest, 1);
}
