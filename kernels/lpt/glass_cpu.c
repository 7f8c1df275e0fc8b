/* A field at places that are no lattice: its modes, divided by those of a bump, become numbers of a mesh twice as fine,
 * and the sum of bumps around a place is the field there to 1e-13.
 * Source: Barnett, Magland & af Klinteberg 2019, SIAM J. Sci. Comput. 41, C479 (non-uniform Fourier transforms; the
 * bump is their "exponential of semicircle"). */
#include "kernels/lpt/lpt_internal.h"

#include <math.h>

enum { WIDTH = 14 }; /* cells that a bump reaches */

static const double PI = 3.14159265358979323846;

/* The bump at a distance, in halves of its width. */
static double bump(double x)
{
	return x * x < 1 ? exp(2.3 * WIDTH * (sqrt(1 - x * x) - 1)) : 0;
}

void nb_lpt_bump_modes(int m, int fine, double *over)
{
	enum { POINTS = 512 }; /* of the trapezium rule, whose error is the bump at its end */
#pragma omp parallel for schedule(static)
	for (int i = 0; i < m; i++) {
		const double turn = PI * WIDTH * nb_lpt_wave(i, m) / fine;
		double sum = bump(0);
		for (int p = 1; p < POINTS; p++)
			sum += 2 * bump((double)p / POINTS) * cos(turn * p / POINTS);
		over[i] = POINTS / (sum * WIDTH / 2);
	}
}

void nb_lpt_place(const struct nb_lpt_glass *glass, uint64_t i, double place[3])
{
	const uint64_t tile = i / glass->n, k = (uint64_t)glass->tiles, at[3] = {tile / k / k, tile / k % k, tile % k};
	for (int c = 0; c < 3; c++)
		place[c] = ((double)at[c] + glass->place[3 * (i % glass->n) + (uint64_t)c]) / (double)k;
}

/* The cells around a place along an axis, in [0, fine), and their weights; whether they are one behind the other. */
static int reach(double place, int fine, double weight[WIDTH], size_t cell[WIDTH])
{
	const double u = place * fine, first = ceil(u - WIDTH / 2.0);
	for (int j = 0; j < WIDTH; j++) {
		const int at = ((int)first + j) % fine;
		weight[j] = bump((first + j - u) / (WIDTH / 2.0));
		cell[j] = (size_t)(at < 0 ? at + fine : at);
	}
	return cell[WIDTH - 1] == cell[0] + WIDTH - 1;
}

static double gather(const double place[3], int fine, const double *mesh)
{
	double weight[3][WIDTH], line[WIDTH] = {0}, sum = 0;
	size_t cell[3][WIDTH];
	const size_t m = (size_t)fine, row = nb_mesh_row(fine);
	int whole = 0;
	for (int c = 0; c < 3; c++)
		whole = reach(place[c], fine, weight[c], cell[c]);
	for (int x = 0; x < WIDTH; x++)
		for (int y = 0; y < WIDTH; y++) {
			const double *from = mesh + (cell[0][x] * m + cell[1][y]) * row,
				     w = weight[0][x] * weight[1][y];
			if (whole)
				for (int z = 0; z < WIDTH; z++)
					line[z] += w * from[cell[2][0] + (size_t)z];
			else
				for (int z = 0; z < WIDTH; z++)
					line[z] += w * from[cell[2][z]];
		}
	for (int z = 0; z < WIDTH; z++)
		sum += weight[2][z] * line[z];
	return sum;
}

void nb_lpt_gather(const struct nb_lpt_glass *glass, uint64_t n, int fine, const double *mesh, double *to)
{
#pragma omp parallel for schedule(dynamic, 1024)
	for (uint64_t i = 0; i < n; i++) {
		double place[3];
		nb_lpt_place(glass, i, place);
		to[i] = gather(place, fine, mesh);
	}
}
