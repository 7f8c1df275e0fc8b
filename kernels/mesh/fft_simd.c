/* Transforms of rows and columns of a mesh, as many at a time as a vector has lanes: a lane each, so no lane waits for
 * another one, and the passes read and write whole vectors.  A row of real numbers is half of a complex one. */
#include "kernels/mesh/mesh_internal.h"
#include "kernels/simd/simd.h"

#include <string.h>

#define NB_REAL nb_vd
#include "kernels/mesh/butterfly_body.h"

static NB_HD void pass(
	const int r, const struct nb_fft *fft, size_t s, const struct nb_complex *x, struct nb_complex *y)
{
	const size_t ahead = (size_t)fft->m / r; /* s times n / r */
	for (size_t p = 0; p < ahead / s; p++) {
		double c[8], sine[8];
		for (int j = 1; j < r; j++) {
			c[j] = fft->root[2 * (s * p * j)];
			sine[j] = fft->root[2 * (s * p * j) + 1];
		}
		const struct nb_complex *from = x + s * p;
		struct nb_complex *to = y + s * r * p, a[8];
		for (size_t q = 0; q < s; q++) {
			NB_UNROLL
			for (int i = 0; i < r; i++)
				a[i] = from[q + i * ahead];
			nb_butterfly(r, a);
			to[q] = a[0];
			NB_UNROLL
			for (int j = 1; j < r; j++)
				to[q + s * j] = nb_complex_turn(a[j], c[j], sine[j]);
		}
	}
}

/* x and y are work; returns the one that has the modes. */
static const struct nb_complex *transform(const struct nb_fft *fft, struct nb_complex *x, struct nb_complex *y)
{
	size_t s = 1;
	for (int k = 0; k < fft->npass; k++) {
		switch (fft->radix[k]) {
		case 2: pass(2, fft, s, x, y); break;
		case 3: pass(3, fft, s, x, y); break;
		case 4: pass(4, fft, s, x, y); break;
		case 5: pass(5, fft, s, x, y); break;
		case 7: pass(7, fft, s, x, y); break;
		default: pass(8, fft, s, x, y); break;
		}
		struct nb_complex *const swap = x;
		x = y;
		y = swap;
		s *= (size_t)fft->radix[k];
	}
	return x;
}

/* Each lane has two rows, as real and imaginary part: nrow <= 2 NB_WD of them. */
static void some_rows(const struct nb_fft *fft, double unit, size_t nrow, double *row, struct nb_complex *work)
{
	const size_t m = (size_t)fft->m, length = nb_mesh_row(fft->m);
	const int64_t *number = (const int64_t *)row;
	for (size_t j = 0; j < m; j++)
		for (size_t l = 0; l < NB_WD; l++)
			for (size_t odd = 0; odd < 2; odd++) {
				const size_t at = (2 * l + odd) * length + j;
				double part = 0;
				if (2 * l + odd < nrow)
					part = unit > 0 ? (double)number[at] * unit : row[at];
				if (odd)
					work[j].im[l] = part;
				else
					work[j].re[l] = part;
			}
	const struct nb_complex *z = transform(fft, work, work + m);
	for (size_t k = 0; k <= m / 2; k++) {
		const struct nb_complex here = z[k], there = z[k ? m - k : 0];
		const nb_vd part[4] = {0.5 * (here.re + there.re), 0.5 * (here.im - there.im),
			0.5 * (here.im + there.im), 0.5 * (there.re - here.re)};
		for (size_t l = 0; l < NB_WD; l++)
			for (size_t odd = 0; odd < 2 && 2 * l + odd < nrow; odd++) {
				double *to = row + (2 * l + odd) * length + 2 * k;
				to[0] = part[2 * odd][l];
				to[1] = part[2 * odd + 1][l];
			}
	}
}

void NB_ISA(nb_fft_rows)(const struct nb_fft *fft, double unit, size_t nrow, double *row, void *work)
{
	const size_t most = 2 * NB_WD, length = nb_mesh_row(fft->m);
	for (size_t k = 0; k < nrow; k += most)
		some_rows(fft, unit, nrow - k < most ? nrow - k : most, row + k * length, work);
}

/* The rows a and b of which modes A and B are: a + i b has the modes A + i B, and the other half of those of a real row
 * is known.  With real and imaginary part changed, before and after, the transform goes back. */
static void some_rows_back(const struct nb_fft *fft, size_t nrow, double *row, struct nb_complex *work)
{
	const size_t m = (size_t)fft->m, length = nb_mesh_row(fft->m);
	for (size_t k = 0; k <= m / 2; k++) {
		const int lone = k == 0 || 2 * k == m; /* it is its own mirror image, so it is real */
		nb_vd part[4] = {{0}, {0}, {0}, {0}};
		for (size_t l = 0; l < NB_WD; l++)
			for (size_t odd = 0; odd < 2 && 2 * l + odd < nrow; odd++) {
				const double *from = row + (2 * l + odd) * length + 2 * k;
				part[2 * odd][l] = from[0];
				part[2 * odd + 1][l] = lone ? 0 : from[1];
			}
		work[k].im = part[0] - part[3];
		work[k].re = part[1] + part[2];
		if (!lone) {
			work[m - k].im = part[0] + part[3];
			work[m - k].re = part[2] - part[1];
		}
	}
	const struct nb_complex *z = transform(fft, work, work + m);
	for (size_t l = 0; l < NB_WD; l++)
		for (size_t odd = 0; odd < 2 && 2 * l + odd < nrow; odd++)
			for (size_t j = 0; j < m; j++)
				row[(2 * l + odd) * length + j] = odd ? z[j].re[l] : z[j].im[l];
}

void NB_ISA(nb_fft_rows_back)(const struct nb_fft *fft, size_t nrow, double *row, void *work)
{
	const size_t most = 2 * NB_WD, length = nb_mesh_row(fft->m);
	for (size_t k = 0; k < nrow; k += most)
		some_rows_back(fft, nrow - k < most ? nrow - k : most, row + k * length, work);
}

/* A column in each lane; count <= NB_WD. */
static void some_columns(
	const struct nb_fft *fft, int back, size_t stride, size_t count, double *at, struct nb_complex *work)
{
	const size_t m = (size_t)fft->m;
	/* pairs are taken apart, and put together again; to go back, their parts are changed */
	const nb_vdi lane = nb_lane_vd(), even = 2 * lane + back, odd = 2 * lane + !back;
	const nb_vdi low = lane / 2 + ((lane & 1) ^ back) * NB_WD, high = low + NB_WD / 2;
	for (size_t j = 0; j < m; j++) {
		double pair[2 * NB_WD] = {0};
		nb_vd a, b;
		memcpy(pair, at + 2 * j * stride, count == NB_WD ? sizeof pair : 2 * count * sizeof *at);
		memcpy(&a, pair, sizeof a);
		memcpy(&b, pair + NB_WD, sizeof b);
		work[j].re = __builtin_shuffle(a, b, even);
		work[j].im = __builtin_shuffle(a, b, odd);
	}
	const struct nb_complex *z = transform(fft, work, work + m);
	for (size_t j = 0; j < m; j++) {
		double pair[2 * NB_WD];
		const nb_vd a = __builtin_shuffle(z[j].re, z[j].im, low), b = __builtin_shuffle(z[j].re, z[j].im, high);
		memcpy(pair, &a, sizeof a);
		memcpy(pair + NB_WD, &b, sizeof b);
		memcpy(at + 2 * j * stride, pair, count == NB_WD ? sizeof pair : 2 * count * sizeof *at);
	}
}

void NB_ISA(nb_fft_columns)(const struct nb_fft *fft, int back, size_t stride, size_t count, double *at, void *work)
{
	for (size_t k = 0; k < count; k += NB_WD)
		some_columns(fft, back, stride, count - k < NB_WD ? count - k : NB_WD, at + 2 * k, work);
}
