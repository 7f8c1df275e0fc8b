#include "kernels/measure/measure_internal.h"

#include <math.h>

/* Neumaier's compensated sum: as if in twice the precision, then rounded. */
struct sum {
	double total, lost;
};

static void sum_add(struct sum *sum, double x)
{
	double t = sum->total + x;
	sum->lost += fabs(sum->total) >= fabs(x) ? (sum->total - t) + x : (x - t) + sum->total;
	sum->total = t;
}

static double sum_value(const struct sum *sum)
{
	/* after an overflow, lost is NaN and total says what happened */
	return isfinite(sum->lost) ? sum->total + sum->lost : sum->total;
}

double nb_sum_column(size_t nrow, const double *table, size_t width, size_t k)
{
	struct sum sum = {0, 0};
	for (size_t r = 0; r < nrow; r++)
		sum_add(&sum, table[r * width + k]);
	return sum_value(&sum);
}

double nb_sum_running(size_t n, double *x)
{
	struct sum sum = {0, 0};
	for (size_t i = 0; i < n; i++) {
		sum_add(&sum, x[i]);
		x[i] = sum_value(&sum);
	}
	return sum_value(&sum);
}

void nb_moments_of(size_t n, int moving, size_t nchunk, const double *partial, struct nb_moments *moments)
{
	double total[NB_MOMENT_SPEED2], speed2 = 0;
	for (size_t k = 0; k < NB_MOMENT_SPEED2; k++)
		total[k] = nb_sum_column(nchunk, partial, NB_MOMENT_WIDTH, k);
	for (size_t c = 0; c < nchunk; c++)
		speed2 = fmax(speed2, partial[c * NB_MOMENT_WIDTH + NB_MOMENT_SPEED2]);

	const double mass = total[NB_MOMENT_MASS];
	moments->mass = mass;
	moments->ekin = moving ? 0.5 * total[NB_MOMENT_EKIN] : NAN;
	moments->speed_max = moving && n ? sqrt(speed2) : NAN;
	for (int k = 0; k < 3; k++) {
		moments->com[k] = mass > 0 ? total[NB_MOMENT_COM + k] / mass : NAN;
		moments->momentum[k] = moving ? total[NB_MOMENT_MOMENTUM + k] : NAN;
		moments->angular[k] = moving ? total[NB_MOMENT_ANGULAR + k] : NAN;
	}
}

double nb_mass_target(double fraction, double total)
{
	return fraction * (1 - 0x1p-40) * total;
}

size_t nb_chunk_of_mass(double target, size_t nchunk, const double *inside)
{
	size_t c = 0;
	while (c + 1 < nchunk && inside[c] < target)
		c++;
	return c;
}
