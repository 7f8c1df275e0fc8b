/* Hermite's corrector and the time scales of Aarseth, for forces that are polynomials in time. */
#include "kernels/motion/motion.h"

#include "tests/unit/unit.h"

/* Derivative k of component i of an acceleration of degree 3 at time t. */
static double force(size_t i, int degree, int k, double t)
{
	double sum = 0;
	for (int p = k; p <= degree; p++) {
		double term = cos((double)i + 2.5 * p);
		for (int q = p; q > p - k; q--)
			term *= q;
		sum += term * pow(t, p - k);
	}
	return sum;
}

struct state {
	size_t count;
	double *pos, *vel, *acc0, *jerk0, *acc1, *jerk1;
};

/* Each at the beginning of a step dt, predicted, and with the force at its end. */
static struct state make(size_t n, int degree, double dt)
{
	struct state s = {.count = 3 * n};
	double **const arrays[] = {&s.pos, &s.vel, &s.acc0, &s.jerk0, &s.acc1, &s.jerk1};
	for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
		*arrays[k] = calloc(s.count + 1, sizeof(double));
	for (size_t i = 0; i < s.count; i++) {
		s.pos[i] = sin((double)i);
		s.vel[i] = sin((double)i + 0.5);
		s.acc0[i] = force(i, degree, 0, 0);
		s.jerk0[i] = force(i, degree, 1, 0);
		s.acc1[i] = force(i, degree, 0, dt);
		s.jerk1[i] = force(i, degree, 1, dt);
	}
	CHECK(nb_taylor_cpu(n, s.pos, s.vel, s.acc0, s.jerk0, dt) == NB_OK);
	return s;
}

static void drop(struct state *s)
{
	double *const arrays[] = {s->pos, s->vel, s->acc0, s->jerk0, s->acc1, s->jerk1};
	for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
		free(arrays[k]);
}

/* Velocities are exact for forces of third degree, positions for those of second. */
static void check_end(const struct state *s, int degree, double dt)
{
	size_t wrong = 0;
	for (size_t i = 0; i < s->count; i++) {
		double v = sin((double)i + 0.5), x = sin((double)i) + v * dt;
		for (int p = 0; p <= degree; p++) {
			const double c = cos((double)i + 2.5 * p);
			v += c * pow(dt, p + 1) / (p + 1);
			x += c * pow(dt, p + 2) / (p + 1) / (p + 2);
		}
		wrong += !(fabs(s->vel[i] - v) < 1e-14);
		wrong += degree <= 2 && !(fabs(s->pos[i] - x) < 1e-14);
		wrong += degree > 2 && fabs(s->pos[i] - x) < 1e-14;
	}
	CHECK(wrong == 0);
}

static void test_corrector(size_t n, int degree, double dt)
{
	struct state s = make(n, degree, dt);
	CHECK(nb_hermite_cpu(n, s.pos, s.vel, s.acc1, s.jerk1, s.acc0, s.jerk0, dt, dt) == NB_OK);
	check_end(&s, degree, dt);
	drop(&s);
	/* first with another force, then with how far it was off */
	s = make(n, degree, dt);
	double *acc = calloc(s.count + 1, sizeof *acc), *jerk = calloc(s.count + 1, sizeof *jerk);
	for (size_t i = 0; i < s.count; i++) {
		acc[i] = s.acc1[i] + 0.25 * cos((double)i);
		jerk[i] = s.jerk1[i] - 0.5 * sin((double)i);
	}
	CHECK(nb_hermite_cpu(n, s.pos, s.vel, acc, jerk, s.acc0, s.jerk0, dt, dt) == NB_OK);
	CHECK(nb_hermite_cpu(n, s.pos, s.vel, s.acc1, s.jerk1, acc, jerk, 0, dt) == NB_OK);
	check_end(&s, degree, dt);
	free(acc);
	free(jerk);
	drop(&s);
}

/* Bodies that began their steps 0 to 3 units ago, at different times; the forces on every third are those of the end.
 */
static void test_individual(size_t n, double unit)
{
	const double now = 5;
	struct state end = make(n, 3, 0);
	double *begun = calloc(n + 1, sizeof *begun), *scale = calloc(n + 1, sizeof *scale);
	double *pos = calloc(3 * n + 1, sizeof *pos), *vel = calloc(3 * n + 1, sizeof *vel);
	unsigned char *mark = calloc(n + 1, 1);
	size_t wrong = 0;
	struct nb_hermite b = {n, unit, end.pos, end.vel, end.acc0, end.jerk0, begun, scale};
	for (size_t i = 0; i < n; i++) {
		begun[i] = now - (double)(i % 4);
		mark[i] = i % 3 == 1;
		scale[i] = -1;
		for (size_t k = 3 * i; k < 3 * i + 3; k++) {
			end.acc1[k] = force(k, 3, 0, (now - begun[i]) * unit);
			end.jerk1[k] = force(k, 3, 1, (now - begun[i]) * unit);
		}
	}
	nb_hermite_predict(&b, now, pos, vel);
	for (size_t i = 0; i < n; i++) {
		const double dt = (double)(i % 4) * unit;
		for (size_t k = 3 * i; k < 3 * i + 3; k++) {
			const double a = force(k, 3, 0, 0), j = force(k, 3, 1, 0), v = sin((double)k + 0.5);
			wrong += !(fabs(pos[k] - (sin((double)k) + v * dt + a * dt * dt / 2 + j * pow(dt, 3) / 6)) <
				   1e-14);
			wrong += !(fabs(vel[k] - (v + a * dt + j * dt * dt / 2)) < 1e-14);
		}
	}
	nb_drift_from(n, begun, now, unit, end.pos, end.vel, pos);
	for (size_t k = 0; k < 3 * n; k++)
		wrong += !(fabs(pos[k] - (sin((double)k) + sin((double)k + 0.5) * (double)(k / 3 % 4) * unit)) < 1e-14);
	CHECK(wrong == 0);
	nb_hermite_correct(&b, now, mark, NULL, end.acc1, end.jerk1);
	for (size_t i = 0; i < n; i++) {
		/* corrected bodies have velocities that are exact for this force; the others are where they began */
		const double dt = mark[i] ? (double)(i % 4) * unit : 0;
		wrong += begun[i] != (mark[i] ? now : now - (double)(i % 4)) || (scale[i] != -1) != mark[i];
		if (mark[i] && dt != 0) {
			double want;
			nb_hermite_timescales(1,
				(double[]){force(3 * i, 3, 0, 0), force(3 * i + 1, 3, 0, 0), force(3 * i + 2, 3, 0, 0)},
				(double[]){force(3 * i, 3, 1, 0), force(3 * i + 1, 3, 1, 0), force(3 * i + 2, 3, 1, 0)},
				end.acc1 + 3 * i, end.jerk1 + 3 * i, dt, 1, &want);
			wrong += scale[i] != want;
		}
		for (size_t k = 3 * i; k < 3 * i + 3; k++) {
			double v = sin((double)k + 0.5), x = sin((double)k) + v * dt;
			const double a0 = force(k, 3, 0, 0), a1 = end.acc1[k];
			for (int p = 0; p <= 3; p++)
				v += cos((double)k + 2.5 * p) * pow(dt, p + 1) / (p + 1);
			x += (v - sin((double)k + 0.5)) * dt / 2 + (mark[i] ? (a0 - a1) * dt * dt / 12 : 0);
			wrong += !(fabs(b.vel[k] - v) < 1e-14) || !(fabs(b.pos[k] - x) < 1e-14);
			wrong += b.acc[k] != (mark[i] ? a1 : a0);
			wrong += b.jerk[k] != (mark[i] ? end.jerk1[k] : force(k, 3, 1, 0));
		}
	}
	CHECK(wrong == 0);
	free(begun);
	free(scale);
	free(pos);
	free(vel);
	free(mark);
	drop(&end);
}

static double norm(size_t body, int k, double t)
{
	double square = 0;
	for (size_t c = 0; c < 3; c++)
		square += pow(force(3 * body + c, 3, k, t), 2);
	return sqrt(square);
}

static void test_timescales(size_t n, double dt)
{
	struct state s = make(n, 3, dt);
	double *scale = calloc(n + 1, sizeof *scale);
	for (double at = 0; at <= 1; at += 0.5) {
		const double t = at * dt;
		size_t wrong = 0;
		nb_hermite_timescales(n, s.acc0, s.jerk0, s.acc1, s.jerk1, dt, at, scale);
		for (size_t i = 0; i < n; i++) {
			const double a = norm(i, 0, t), j = norm(i, 1, t), snap = norm(i, 2, t), c = norm(i, 3, t);
			const double want = sqrt((a * snap + j * j) / (j * c + snap * snap));
			wrong += !(fabs(scale[i] / want - 1) < 1e-9);
		}
		CHECK(wrong == 0);
	}
	free(scale);
	drop(&s);
}

static double timescale(double acc0, double jerk0, double acc1, double jerk1, double dt)
{
	const double a0[3] = {acc0}, j0[3] = {0, jerk0}, a1[3] = {acc1}, j1[3] = {0, jerk1};
	double scale = -1;
	nb_hermite_timescales(1, a0, j0, a1, j1, dt, 1, &scale);
	return scale;
}

/* Bodies 0 and 1, 2 and 3 orbit each other, 4 is farther from 2 and 3; 5 and 6 pass each other, not bound.  All had the
 * same force when their steps began, half a unit ago; 7 and 8 are like 0 and 1, but 8 began earlier; 9 and 10 end no
 * step. */
static void test_binaries(double unit)
{
	enum { N = 11 };
	static const double place[N] = {0, 1, 20, 20.5, 24, 40, 41, 60, 61, 80, 81};
	static const double speed[N] = {0, 1, 0, 1, 0, 0, 3, 0, 1, 0, 1};
	static const uint32_t want[N] = {1, 0, 3, 2, 4, 6, 5, 7, 8, 9, 10};
	static const unsigned char mark[N] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0};
	double pos[3 * N] = {0}, vel[3 * N] = {0}, acc[3 * N] = {0}, jerk[3 * N] = {0}, begun[N] = {0};
	double acc0[3 * N], jerk0[3 * N], scale[N];
	uint32_t other[N];
	for (size_t i = 0; i < N; i++) {
		pos[3 * i] = place[i];
		vel[3 * i + 1] = speed[i];
		jerk[3 * i + 2] = 0.3 * (double)i;
		for (size_t j = 0; j < N; j++)
			if (j != i)
				acc[3 * i] += (place[j] - place[i]) / pow(fabs(place[j] - place[i]), 3);
	}
	begun[8] = -0.5;
	memcpy(acc0, acc, sizeof acc);
	memcpy(jerk0, jerk, sizeof jerk);
	struct nb_hermite b = {N, unit, pos, vel, acc0, jerk0, begun, scale};
	/* masses are 1, so a circular orbit with distance 1 takes 4.4 */
	CHECK(nb_hermite_find_binaries(&b, 0.5, mark, pos, vel, acc, 9, other) == 6);
	CHECK(memcmp(other, want, sizeof want) == 0);
	CHECK(nb_hermite_find_binaries(&b, 0.5, mark, pos, vel, acc, 2, other) == 2 && other[2] == 3 && other[0] == 0);
	CHECK(nb_hermite_find_binaries(&b, 0.5, mark, pos, vel, acc, 0.1, other) == 0);
	/* the same step back in time has the same scale */
	for (size_t k = 0; k < 3 * N; k++) {
		acc[k] += 0.1 * sin((double)k);
		jerk[k] += 0.2 * cos((double)k);
	}
	const double there = nb_hermite_binary_scale(&b, 0.5, 0, 1, acc, jerk);
	struct nb_hermite c = {N, -unit, pos, vel, acc, jerk, begun, scale};
	const double back = nb_hermite_binary_scale(&c, 0.5, 0, 1, acc0, jerk0);
	CHECK(there > 0 && there < 1e3 && fabs(back / there - 1) < 1e-12);
}

int main(void)
{
	test_binaries(0.125);
	test_binaries(-0.125);
	static const size_t sizes[] = {0, 1, 2, 255, 257, 40000 /* threads */};
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		for (int degree = 0; degree <= 3; degree++)
			for (double dt = -0.25; dt < 0.5; dt += 0.5)
				test_corrector(sizes[k], degree, dt);
		test_individual(sizes[k], 0.0625);
		test_individual(sizes[k], -0.0625);
		test_timescales(sizes[k], 0.125);
		test_timescales(sizes[k], -0.125);
	}
	CHECK(timescale(0, 0, 0, 0, 0.5) == NB_TIMESCALE_MOST);
	CHECK(timescale(2, 0, 2, 0, 0.5) == NB_TIMESCALE_MOST);
	CHECK(timescale(1e200, 0, -1e200, 0, 0.5) > 0 && timescale(1e200, 0, -1e200, 0, 0.5) < 1);
	CHECK(timescale(1e308, 0, -1e308, 1e308, 0.5) == 0);
	return unit_end();
}
