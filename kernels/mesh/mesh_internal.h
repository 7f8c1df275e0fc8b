/* mesh_internal.h - what both backends have of splines, modes and transforms. */
#ifndef NB_MESH_INTERNAL_H
#define NB_MESH_INTERNAL_H

#include <math.h>

#include "common/cpu.h"
#include "common/hd.h"
#include "common/periodic.h"
#include "kernels/mesh/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- painting ----------------------------------------------------------------------------------- */

/* A coordinate in cells, in [0, m). */
static NB_HD double nb_mesh_place(double x, const struct nb_mesh_paint *paint)
{
	const double part = nb_periodic_wrap(x, paint->box) / paint->box * paint->fold;
	const double u = (part - floor(part)) * paint->m;
	return u < paint->m ? u : 0;
}

/* The weights of the spline of a body at u in cells first + 0, 1 ..., order - 1; returns first, from -order to m.
 * By the recurrence of B-splines: those of order q from those of order q - 1 (de Boor 1972, J. Approx. Theory 6, 50).
 */
static NB_HD int nb_mesh_spline(int order, double u, double *weight)
{
	const double from = u + (1 - 0.5 * order), first = floor(from), f = from - first;
	weight[0] = 1;
	for (int q = 2; q <= order; q++) {
		const double part = 1.0 / (q - 1);
		double below = 0;
		for (int j = 0; j < q; j++) {
			const double here = j < q - 1 ? weight[j] : 0;
			weight[j] = ((f + (q - 1 - j)) * below + (1 - f + j) * here) * part;
			below = here;
		}
	}
	return (int)first;
}

/* A cell near the mesh, on it. */
static NB_HD int nb_mesh_cell(int at, int m)
{
	return at < 0 ? at + m : at < m ? at : at - m;
}

/* Of the CPU, for each instruction set: paints n bodies, which are moved by shift cells.  All cells that they reach
 * belong to this thread, and so do the rest of the rows. */
typedef void nb_mesh_paint_bodies(const struct nb_mesh_paint *paint, struct nb_reals pos, double shift,
	const uint32_t *row, size_t n, int64_t *mesh);
NB_ISA_DECLARE(nb_mesh_paint_bodies)
/* Points from, from + 1, ..., to - 1. */
typedef void nb_mesh_gather_part(
	const struct nb_mesh_gather *gather, size_t from, size_t to, double *value, size_t stride);
NB_ISA_DECLARE(nb_mesh_gather_part)

/* ---- modes -------------------------------------------------------------------------------------- */

/* Of a wave number along one axis: what the window is divided out by, and the turn by half a cell. */
struct nb_mesh_axis {
	double sharpen, c, s;
};

/* axis[i], i < m, as the modes of a mesh are numbered. */
void nb_mesh_axes(int m, int order, struct nb_mesh_axis *axis);

/* The same for the product of two axes. */
static NB_HD struct nb_mesh_axis nb_mesh_both(struct nb_mesh_axis a, struct nb_mesh_axis b)
{
	struct nb_mesh_axis both;
	both.sharpen = a.sharpen * b.sharpen;
	both.c = a.c * b.c - a.s * b.s;
	both.s = a.c * b.s + a.s * b.c;
	return both;
}

/* Mode number `at`; axes: the product of its three. */
static NB_HD void nb_mesh_mode(const struct nb_mesh_modes *modes, size_t at, struct nb_mesh_axis axes, double delta[2])
{
	delta[0] = modes->mesh[2 * at];
	delta[1] = modes->mesh[2 * at + 1];
	if (modes->shifted) {
		const double re = modes->shifted[2 * at], im = modes->shifted[2 * at + 1];
		delta[0] = 0.5 * (delta[0] + (re * axes.c - im * axes.s));
		delta[1] = 0.5 * (delta[1] + (re * axes.s + im * axes.c));
	}
	delta[0] *= axes.sharpen * modes->scale;
	delta[1] *= axes.sharpen * modes->scale;
}

/* The wave number of index i along x or y. */
static NB_HD int nb_mesh_wave(int i, int m)
{
	return i <= m / 2 ? i : i - m;
}

/* The shell of a mode at this squared distance: no distance is half-way, so rounding cannot move a mode. */
static NB_HD int nb_mesh_shell_of(int distance2)
{
	return (int)(sqrt((double)distance2) + 0.5);
}

/* Of gravity, for each wave number along an axis: the smoothing, over the windows of painting and gathering; 0 where
 * derivatives have no sign: at m / 2.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_mesh_smooth(const struct nb_mesh_poisson *of, double *smooth);

/* A field is this, times the smoothing along each axis, times what nb_mesh_solve does. */
static NB_HD double nb_mesh_field_unit(const struct nb_mesh_poisson *of, enum nb_mesh_field field)
{
	const double pi = 3.14159265358979323846;
	return (field == NB_MESH_POT ? -1 / pi : 2 / of->box) / of->box;
}

static NB_HD void nb_mesh_solve(enum nb_mesh_field field, double unit, int x, int y, int z, double mode[2])
{
	const double q2 = x * x + y * y + z * z, weight = q2 > 0 ? unit / q2 : 0;
	const double re = mode[0], im = mode[1];
	const double q = field == NB_MESH_ACC_X ? x : field == NB_MESH_ACC_Y ? y : z;
	mode[0] = field == NB_MESH_POT ? weight * re : -weight * q * im;
	mode[1] = field == NB_MESH_POT ? weight * im : weight * q * re;
}

/* ---- transforms --------------------------------------------------------------------------------- */

/* A transform of m numbers: passes of radix 8, 4, 2, 3, 5, 7 (Stockham's: the order comes out right).  In a pass, n is
 * what is left of m, and s = m / n: y[q + s (r p + j)] = w^(p j) sum_i exp(-2 pi i j i / r) x[q + s (p + i n / r)],  p
 * < n / r, q < s, j < r where w = exp(-2 pi i / n).  Source: Van Loan 1992, Computational Frameworks for the FFT,
 * section 1.7. */
enum { NB_FFT_PASSES = 12 };
struct nb_fft {
	int m, npass, radix[NB_FFT_PASSES];
	double *root; /* m pairs, exp(-2 pi i t / m) */
};

/* radix[] of the passes, npass numbers; 0: m has another factor. */
int nb_fft_factor(int m, int radix[NB_FFT_PASSES]);
/* root[2 t], root[2 t + 1], t < m. */
void nb_fft_roots(int m, double *root);

/* Of the CPU, by vectors of rows or columns, for each instruction set.  work: NB_FFT_WORK bytes for each of m.
 * nrow rows become modes in place: whole numbers of 8 bytes, times the unit, or real numbers where it is 0; or modes
 * become rows of real numbers.  count columns that lie side by side, whose numbers are stride pairs apart, are
 * transformed; back: with exp(+2 pi i j k / m). */
enum { NB_FFT_WORK = 256 };
typedef void nb_fft_rows(const struct nb_fft *fft, double unit, size_t nrow, double *row, void *work);
typedef void nb_fft_rows_back(const struct nb_fft *fft, size_t nrow, double *row, void *work);
typedef void nb_fft_columns(const struct nb_fft *fft, int back, size_t stride, size_t count, double *at, void *work);
NB_ISA_DECLARE(nb_fft_rows)
NB_ISA_DECLARE(nb_fft_rows_back)
NB_ISA_DECLARE(nb_fft_columns)

#ifdef __cplusplus
}
#endif
#endif
