/* As in step_cpu.c, threads are worth their start only where the arrays leave the cache. */
#include "kernels/motion/hermite.h"

#include <math.h>
#include <string.h>

enum { PARALLEL = 100000 /* numbers */ };

int nb_hermite_cpu(size_t n, double *pos, double *vel, const double *acc, const double *jerk, const double *acc_was,
	const double *jerk_was, double ahead, double dt)
{
	const double half = dt / 2, sixth = dt / 6;
#pragma omp parallel for schedule(static) if (3 * n > PARALLEL)
	for (size_t i = 0; i < 3 * n; i++) {
		const double a = acc[i] - (acc_was[i] + ahead * jerk_was[i]), j = jerk[i] - jerk_was[i];
		const double v = half * (a - sixth * j);
		vel[i] += v;
		pos[i] += half * (v - sixth * a);
	}
	return NB_OK;
}

static double norm(const double v[3])
{
	return hypot(hypot(v[0], v[1]), v[2]);
}

/* at: where in the step, 0 to 1 */
static double timescale(
	const double *acc0, const double *jerk0, const double *acc1, const double *jerk1, double dt, double at)
{
	double acc[3], jerk[3], snap[3], crackle[3];
	for (int c = 0; c < 3; c++) {
		const double a = acc1[c] - (acc0[c] + dt * jerk0[c]), j = jerk1[c] - jerk0[c];
		/* times dt^2 and dt^3, which cannot be too small then */
		snap[c] = 6 * a - 2 * dt * j;
		crackle[c] = 6 * dt * j - 12 * a;
		acc[c] = at < 1 ? acc0[c] : acc1[c];
		jerk[c] = at < 1 ? jerk0[c] : jerk1[c];
		if (at > 0 && at < 1) {
			acc[c] += at * (dt * jerk[c] + at / 2 * (snap[c] + at / 3 * crackle[c]));
			jerk[c] += at * (snap[c] + at / 2 * crackle[c]) / dt;
		}
		if (at > 0)
			snap[c] += at * crackle[c];
	}
	double a = norm(acc), j = fabs(dt) * norm(jerk);
	double s = norm(snap), k = norm(crackle);
	const double most = fmax(fmax(a, j), fmax(s, k));
	a /= most, j /= most, s /= most, k /= most;
	const double square = (a * s + j * j) / (j * k + s * s);
	if (most == 0 || !(j * k + s * s > 0))
		return isfinite(most) ? NB_TIMESCALE_MOST : 0;
	return fmin(fabs(dt) * sqrt(square), NB_TIMESCALE_MOST);
}

void nb_hermite_timescales(size_t n, const double *acc0, const double *jerk0, const double *acc1, const double *jerk1,
	double dt, double at, double *scale)
{
#pragma omp parallel for schedule(static) if (3 * n > PARALLEL)
	for (size_t i = 0; i < n; i++)
		scale[i] = timescale(acc0 + 3 * i, jerk0 + 3 * i, acc1 + 3 * i, jerk1 + 3 * i, dt, at);
}

/* ---- steps of their own ------------------------------------------------------------------------- */

static void predict(const struct nb_hermite *b, double now, size_t i, double *pos, double *vel)
{
	const double dt = (now - b->begun[i]) * b->unit, half = dt / 2, third = dt / 3;
	for (size_t k = 3 * i; k < 3 * i + 3; k++) {
		pos[k] = b->pos[k] + dt * (b->vel[k] + half * (b->acc[k] + third * b->jerk[k]));
		vel[k] = b->vel[k] + dt * (b->acc[k] + half * b->jerk[k]);
	}
}

void nb_hermite_predict(const struct nb_hermite *b, double now, double *pos, double *vel)
{
	if (3 * b->n <= PARALLEL) {
		for (size_t i = 0; i < b->n; i++)
			predict(b, now, i, pos, vel);
		return;
	}
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < b->n; i++)
		predict(b, now, i, pos, vel);
}

void nb_hermite_place(const struct nb_hermite *b, double now, size_t i, const double *acc, const double *jerk,
	double *pos, double *vel)
{
	const double dt = (now - b->begun[i]) * b->unit, half = dt / 2, sixth = dt / 6;
	for (size_t c = 0, k = 3 * i; c < 3; c++, k++) {
		const double v = b->vel[k];
		vel[c] = v + half * ((b->acc[k] + acc[k]) + sixth * (b->jerk[k] - jerk[k]));
		pos[c] = b->pos[k] + half * ((v + vel[c]) + sixth * (b->acc[k] - acc[k]));
	}
}

/* ---- binaries ----------------------------------------------------------------------------------- */

static void difference(const double *x, size_t i, size_t j, double d[3])
{
	for (size_t c = 0; c < 3; c++)
		d[c] = x[3 * j + c] - x[3 * i + c];
}

static double dot(const double u[3], const double v[3])
{
	return u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
}

/* (2 pi / period)^2 of the orbit of two bodies about each other, or of a circle at their distance if that is more, as
 * in a passage, bound or not; 0 if they do not attract each other alone. */
static double frequency(const double *pos, const double *vel, const double *acc, size_t i, size_t j)
{
	double x[3], v[3], a[3];
	difference(pos, i, j, x);
	difference(acc, i, j, a);
	const double along = -dot(x, a), r2 = dot(x, x), a2 = dot(a, a);
	if (!(along > 0 && along * along > 0.98 * r2 * a2))
		return 0;
	difference(vel, i, j, v);
	const double pull = sqrt(a2) * r2, near = 1 / sqrt(r2);
	const double nearness = fmax(near, 2 * near - dot(v, v) / pull); /* the latter: 1 / semi-major axis */
	return pull * nearness * nearness * nearness;
}

/* Of the bodies whose steps began at the same time; to those found in other groups. */
static size_t find_in_group(size_t count, const size_t *member, const double *pos, const double *vel, const double *acc,
	double least, size_t n, size_t found, uint32_t *other)
{
	double most[NB_HERMITE_GROUP];
	size_t best[NB_HERMITE_GROUP];
	for (size_t k = 0; k < count; k++) {
		most[k] = least;
		best[k] = k;
	}
	for (size_t k = 0; k < count; k++)
		for (size_t l = 0; l < k; l++) {
			const double f = frequency(pos, vel, acc, member[k], member[l]);
			if (f > most[k]) {
				most[k] = f;
				best[k] = l;
			}
			if (f > most[l]) {
				most[l] = f;
				best[l] = k;
			}
		}
	for (size_t k = 0; k < count; k++)
		if (best[k] != k && best[best[k]] == k) {
			for (size_t i = 0; !found && i < n; i++)
				other[i] = (uint32_t)i;
			other[member[k]] = (uint32_t)member[best[k]];
			found++;
		}
	return found;
}

size_t nb_hermite_find_binaries(const struct nb_hermite *b, double now, const unsigned char *mark, const double *pos,
	const double *vel, const double *acc, double period, uint32_t *other)
{
	enum { LENGTHS = 64 }; /* of steps, powers of two */
	const double circle = 2 * 3.14159265358979323846 / period, least = circle * circle;
	size_t member[LENGTHS][NB_HERMITE_GROUP], count[LENGTHS] = {0}, found = 0;
	for (size_t i = 0; i < b->n; i++) {
		const double h = now - b->begun[i];
		if (!mark[i] || h * fabs(b->unit) > period / 8)
			continue;
		const int k = ilogb(h) & (LENGTHS - 1);
		if (count[k] < NB_HERMITE_GROUP)
			member[k][count[k]] = i;
		count[k]++;
	}
	for (int k = 0; k < LENGTHS; k++)
		if (count[k] > 1 && count[k] <= NB_HERMITE_GROUP)
			found = find_in_group(count[k], member[k], pos, vel, acc, least, b->n, found, other);
	return found;
}

double nb_hermite_binary_scale(
	const struct nb_hermite *b, double now, size_t i, size_t j, const double *acc, const double *jerk)
{
	const double dt = (now - b->begun[i]) * b->unit;
	double a0[3], j0[3], a1[3], j1[3];
	difference(b->acc, i, j, a0);
	difference(b->jerk, i, j, j0);
	difference(acc, i, j, a1);
	difference(jerk, i, j, j1);
	const double own = timescale(b->acc + 3 * i, b->jerk + 3 * i, acc + 3 * i, jerk + 3 * i, dt, 0.5);
	const double others = timescale(b->acc + 3 * j, b->jerk + 3 * j, acc + 3 * j, jerk + 3 * j, dt, 0.5);
	return fmin(timescale(a0, j0, a1, j1, dt, 0.5), fmin(own, others));
}

/* The acceleration goes with r^-2. */
static double rate(const double *acc, const double *jerk, size_t i, size_t j)
{
	double a[3], k[3];
	difference(acc, i, j, a);
	difference(jerk, i, j, k);
	return dot(a, a) > 0 ? -0.75 * dot(a, k) / dot(a, a) : 0;
}

double nb_hermite_binary_rate(const struct nb_hermite *b, size_t i, size_t j)
{
	return rate(b->acc, b->jerk, i, j);
}

void nb_hermite_correct(struct nb_hermite *b, double now, const unsigned char *mark, const uint32_t *other,
	const double *acc, const double *jerk)
{
	for (size_t i = 0; i < b->n; i++) {
		const double dt = (now - b->begun[i]) * b->unit;
		if (!mark[i])
			continue;
		if (other && other[i] != i)
			b->scale[i] = nb_hermite_binary_scale(b, now, i, other[i], acc, jerk) *
				      exp(rate(acc, jerk, i, other[i]) * dt / 2);
		else
			b->scale[i] = timescale(b->acc + 3 * i, b->jerk + 3 * i, acc + 3 * i, jerk + 3 * i, dt, 1);
	}
	for (size_t i = 0; i < b->n; i++)
		if (mark[i]) {
			nb_hermite_place(b, now, i, acc, jerk, b->pos + 3 * i, b->vel + 3 * i);
			memcpy(b->acc + 3 * i, acc + 3 * i, 3 * sizeof *acc);
			memcpy(b->jerk + 3 * i, jerk + 3 * i, 3 * sizeof *jerk);
			b->begun[i] = now;
		}
}
