/* small_cpu.c - forces and motion of a few bodies.
 *
 * What a compiler adds to loops of unknown length takes longer than the pairs of three bodies, so the force is compiled
 * for each of the smallest numbers of bodies alone, too: the same operations in the same order.  Vectors of two numbers
 * would wait for numbers that were written one by one (Makefile). */
#include "kernels/small/small.h"
#include "kernels/small/small_internal.h"

#include <math.h>

int nb_small_begin(struct nb_small *s, size_t n, const double *mass, double G, double eps)
{
	if (n < 2 || n > NB_SMALL_MOST || !(eps >= 0 && eps * eps <= nb_small_most))
		return NB_EUNSUPPORTED;
	s->n = n;
	s->eps2 = eps * eps;
	for (size_t i = 0; i < n; i++) {
		s->mu[i] = G * mass[i];
		if (!(fabs(s->mu[i]) >= nb_small_least && fabs(s->mu[i]) <= nb_small_most) &&
			!(s->mu[i] == 0 && (G == 0 || mass[i] == 0)))
			return NB_EUNSUPPORTED;
	}
	return NB_OK;
}

void nb_small_load(struct nb_small *s, const double *pos, const double *vel)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t d = 0; d < 3; d++) {
			s->x[d][i] = pos[3 * i + d];
			s->v[d][i] = vel ? vel[3 * i + d] : 0;
		}
}

void nb_small_store(const struct nb_small *s, double *pos, double *vel)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t d = 0; d < 3; d++) {
			pos[3 * i + d] = s->x[d][i];
			vel[3 * i + d] = s->v[d][i];
		}
}

/* Each pair once: body i gets what those before it did to it, then those behind it, so that the order is that of j. */
static inline __attribute__((always_inline)) int sum_pairs(struct nb_small *s, size_t n)
{
	int ok = 1;
	for (size_t i = 0; i < n; i++)
		s->acc[0][i] = s->acc[1][i] = s->acc[2][i] = 0;
	for (size_t i = 0; i + 1 < n; i++) {
		const double xi = s->x[0][i], yi = s->x[1][i], zi = s->x[2][i], mi = s->mu[i];
		double ax = s->acc[0][i], ay = s->acc[1][i], az = s->acc[2][i];
		for (size_t j = i + 1; j < n; j++) {
			const double dx = s->x[0][j] - xi, dy = s->x[1][j] - yi, dz = s->x[2][j] - zi;
			const double r2 = dz * dz + (dy * dy + (dx * dx + s->eps2)), w = 1 / (r2 * sqrt(r2));
			const double to_i = s->mu[j] * w, to_j = mi * w;
			ok &= (r2 >= nb_small_least) & (r2 <= nb_small_most);
			ax += to_i * dx;
			ay += to_i * dy;
			az += to_i * dz;
			s->acc[0][j] -= to_j * dx;
			s->acc[1][j] -= to_j * dy;
			s->acc[2][j] -= to_j * dz;
		}
		s->acc[0][i] = ax;
		s->acc[1][i] = ay;
		s->acc[2][i] = az;
	}
	return ok ? NB_OK : NB_EUNSUPPORTED;
}

int nb_small_force(struct nb_small *s)
{
	switch (s->n) {
	case 2: return sum_pairs(s, 2);
	case 3: return sum_pairs(s, 3);
	case 4: return sum_pairs(s, 4);
	case 5: return sum_pairs(s, 5);
	default: return sum_pairs(s, s->n);
	}
}

void nb_small_potential(const struct nb_small *s, double *pot)
{
	for (size_t i = 0; i < s->n; i++) {
		double sum = 0;
		for (size_t j = 0; j < s->n; j++) {
			const double dx = s->x[0][j] - s->x[0][i], dy = s->x[1][j] - s->x[1][i];
			const double dz = s->x[2][j] - s->x[2][i];
			if (j != i)
				sum -= s->mu[j] / sqrt(dz * dz + (dy * dy + (dx * dx + s->eps2)));
		}
		pot[i] = sum;
	}
}

static inline __attribute__((always_inline)) void kick_drift(
	struct nb_small *s, size_t n, double lag, double kick, double drift)
{
	for (size_t d = 0; d < 3; d++)
		for (size_t i = 0; i < n; i++) {
			const double v = lag != 0 ? s->v[d][i] + s->acc[d][i] * lag : s->v[d][i];
			s->v[d][i] = v + s->acc[d][i] * kick;
			s->x[d][i] += s->v[d][i] * drift;
		}
}

void nb_small_kick_drift(struct nb_small *s, double lag, double kick, double drift)
{
	switch (s->n) {
	case 2: kick_drift(s, 2, lag, kick, drift); break;
	case 3: kick_drift(s, 3, lag, kick, drift); break;
	default: kick_drift(s, s->n, lag, kick, drift);
	}
}

void nb_small_kick(struct nb_small *s, double kick)
{
	const size_t n = s->n;
	for (size_t d = 0; d < 3; d++)
		for (size_t i = 0; i < n; i++)
			s->v[d][i] += s->acc[d][i] * kick;
}

double nb_small_largest_acc2(const struct nb_small *s)
{
	double largest = 0;
	for (size_t i = 0; i < s->n; i++) {
		const double x = s->acc[0][i], y = s->acc[1][i], z = s->acc[2][i], a2 = x * x + y * y + z * z;
		largest = a2 > largest ? a2 : largest;
	}
	return largest;
}

void nb_small_centre(size_t n, const double *mass, const double *from, double to[3])
{
	double all = 0;
	for (size_t i = 0; i < n && n > 1; i++)
		all += mass[i];
	for (size_t d = 0; d < 3; d++) {
		to[d] = n > 0 ? from[d] : 0;
		for (size_t i = 1; i < n && all > 0; i++)
			to[d] += mass[i] / all * (from[3 * i + d] - from[d]);
	}
}
