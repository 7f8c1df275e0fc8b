/* A Gaussian random field: each mode is drawn alone, from its three numbers. */
#include "kernels/lpt/lpt_internal.h"

#include "common/mem.h"
#include "common/philox.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

/* Whether a mode is drawn: no number is half of the edge, nor all 0. */
static int is_drawn(const struct nb_lpt_field *field, const int n[3])
{
	const int64_t m = field->m, distance2 = nb_lpt_square(n);
	return nb_lpt_held(n[0], field->m) && nb_lpt_held(n[1], field->m) && nb_lpt_held(n[2], field->m) &&
	       distance2 > 0 && !(field->sphere && 4 * distance2 > m * m);
}

/* White noise of mean square 1: that of -n is its conjugate. */
static void draw_noise(const struct nb_lpt_field *field, const int n[3], double w[2])
{
	const int last = n[2] ? n[2] : n[1] ? n[1] : n[0], side = last > 0 ? 1 : -1;
	const uint32_t key[2] = {(uint32_t)field->seed, (uint32_t)(field->seed >> 32)};
	const uint32_t counter[4] = {(uint32_t)(side * n[0]), (uint32_t)(side * n[1]), (uint32_t)(side * n[2]), 0};
	uint32_t r[4];
	nb_philox4x32(counter, key, r);
	const double u = nb_uniform52((uint64_t)r[0] << 32 | r[1]), turn = nb_uniform52((uint64_t)r[2] << 32 | r[3]);
	const double size = (field->fixed ? 1 : sqrt(-log(u))) * (field->paired ? -1 : 1);
	w[0] = size * cos(2 * PI * turn);
	w[1] = size * sin(2 * PI * turn) * side;
}

int nb_lpt_field_range(const struct nb_lpt_field *field, double k[2])
{
	const int most = (field->m - 1) / 2, n[3] = {most, most, most};
	if (most < 1)
		return 0;
	const double corner = sqrt((double)nb_lpt_square(n));
	k[0] = 2 * PI / field->box;
	k[1] = k[0] * (field->sphere ? fmin(corner, field->m / 2.0) : corner);
	return 1;
}

int nb_lpt_field_draw(
	const struct nb_lpt_field *field, const struct nb_lpt_spectrum *spectrum, double factor, double *mesh)
{
	/* the root of the mean square is one of few numbers, by the square of the distance */
	const int m = field->m, most = m > 0 ? (m - 1) / 2 : 0;
	const size_t shells = 3 * (size_t)most * (size_t)most + 1;
	double *rms = nb_alloc(shells, sizeof *rms);
	if (!rms)
		return NB_ENOMEM;
#pragma omp parallel for schedule(static)
	for (size_t s = 0; s < shells; s++) {
		const double k = 2 * PI / field->box * sqrt((double)s);
		rms[s] = s ? factor * sqrt(nb_lpt_spectrum_power(spectrum, k) / field->box) / field->box : 0;
	}
#pragma omp parallel for schedule(static)
	for (int x = 0; x < m; x++)
		for (int y = 0; y < m; y++) {
			double *row = mesh + ((size_t)x * (size_t)m + (size_t)y) * nb_mesh_row(m);
			for (int z = 0; z <= m / 2; z++) {
				const int n[3] = {nb_lpt_wave(x, m), nb_lpt_wave(y, m), z};
				double w[2] = {0, 0};
				if (is_drawn(field, n))
					draw_noise(field, n, w);
				row[2 * z] = rms[is_drawn(field, n) ? nb_lpt_square(n) : 0] * w[0];
				row[2 * z + 1] = rms[is_drawn(field, n) ? nb_lpt_square(n) : 0] * w[1];
			}
		}
	nb_free(rms);
	return NB_OK;
}
