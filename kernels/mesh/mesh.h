/* mesh.h - masses on a mesh in a periodic box, the Fourier transform of the mesh, and sums over shells of modes.
 *
 * A mesh of m cells an edge is one array of nb_mesh_bytes(m).  Of numbers, 8 bytes each, cell (x, y, z) is number
 * (x m + y) nb_mesh_row(m) + z: each row has room for what it becomes.  Of modes, pairs of a real and an imaginary
 * part, mode (x, y, z), 0 <= z <= m / 2, is pair (x m + y) nb_mesh_row(m) / 2 + z; x and y above m / 2 stand for x - m,
 * y - m.
 *
 * Masses are painted as whole numbers of a unit, in any order: the sum is the same for any number of threads, and on a
 * device.  Transforms and sums over shells run in an order that depends on m alone: each backend gives the same bytes
 * on every run, and both agree to 1e-13 of the rms of all modes.
 * Sources: Hockney & Eastwood 1988, Computer Simulation Using Particles, section 5.3 (windows); Sefusatti, Crocce,
 * Scoccimarro & Couchman 2016, MNRAS 460, 3624 (interlacing). */
#ifndef NB_MESH_H
#define NB_MESH_H

#include <stddef.h>
#include <stdint.h>

#include "common/hd.h"
#include "common/reals.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	NB_MESH_LEAST = 8,
	NB_MESH_MOST = 4096,
	NB_MESH_ORDERS = 6 /* of windows: 1 nearest cell (NGP), 2 cloud in cell (CIC), 3 TSC, 4 PCS, ... */
};

static NB_HD size_t nb_mesh_row(int m)
{
	return 2 * ((size_t)m / 2 + 1);
}

static inline size_t nb_mesh_bytes(int m)
{
	return (size_t)m * (size_t)m * nb_mesh_row(m) * sizeof(double);
}

/* The least number of cells, m or more, that can be transformed: it has no prime factor above 7. */
int nb_mesh_size(int m);
/* The same, or of the numbers up to a 20th above m the least one that takes the fewest passes. */
int nb_mesh_quick_size(int m);

/* The unit in which masses of this sum are painted, a power of two: the sum is less than 2^62 of it. */
double nb_mesh_unit(double total);

struct nb_mesh_paint {
	size_t n;
	const double *pos;  /* n x 3; those outside of the box are brought in */
	const double *mass; /* n, not negative; NULL: 1 each */
	double box;	    /* edge, > 0 */
	double unit;	    /* of nb_mesh_unit */
	int fold;	    /* positions are multiplied by it first: so the box is folded; >= 1 */
	int m, order;
};

/* The mesh, which is overwritten, becomes the masses in its cells as whole numbers (int64_t) of the unit: each body
 * becomes a B-spline of this order (up to NB_MESH_ORDERS) around its place, in cells that are at whole numbers.  So
 * does `shifted`, unless it is NULL, of bodies that are moved by half a cell along each axis.  NB_OK, NB_ENOMEM,
 * NB_ELIMIT (n >= 2^31). */
NB_MUST_CHECK int nb_mesh_paint_cpu(const struct nb_mesh_paint *paint, void *mesh, void *shifted);
/* The same of these positions instead of paint->pos. */
NB_MUST_CHECK int nb_mesh_paint_reals_cpu(
	const struct nb_mesh_paint *paint, struct nb_reals pos, void *mesh, void *shifted);

/* In place: the whole numbers, times the unit, become modes: mode k = sum over cells of number exp(-2 pi i k cell / m).
 * m as from nb_mesh_size.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_mesh_transform_cpu(int m, double unit, void *mesh);
/* The same of real numbers. */
NB_MUST_CHECK int nb_mesh_transform_real_cpu(int m, double *mesh);
/* In place, the other way: modes become real numbers, number of a cell = sum over modes of mode k exp(2 pi i k cell /
 * m), m^3 times what had these modes.  Modes beyond m / 2 along z are the conjugates of their mirror images, which a
 * mesh holds; where both of a pair are held, with 0 or m / 2 along z, they are to be conjugates of each other, and a
 * mode that is its own mirror image is to be real.  Same bytes for any number of threads.  NB_OK, NB_EINVAL, NB_ENOMEM.
 */
NB_MUST_CHECK int nb_mesh_transform_back_cpu(int m, double *mesh);

/* ---- gravity ------------------------------------------------------------------------------------ */

/* Of masses that are smoothed by a Gaussian of this length, exp(-k^2 split^2), in a box whose mean density acts on
 * nothing. */
struct nb_mesh_poisson {
	int m, order;	   /* of the spline that the masses were painted by, and the field is gathered by */
	double box, split; /* > 0 */
};

enum nb_mesh_field { NB_MESH_ACC_X, NB_MESH_ACC_Y, NB_MESH_ACC_Z, NB_MESH_POT };

/* The modes of a field for G = 1, of those of painted masses: pot_k = -4 pi rho_k exp(-k^2 split^2) / (k W)^2, acc_k =
 * -i k pot_k, where W is the window of the spline.  Modes with a number of m / 2 along an axis become 0.  `to` may be
 * `mass`.  NB_OK, NB_ENOMEM.  Source: Hockney & Eastwood 1988, section 8.3, with exact derivatives. */
NB_MUST_CHECK int nb_mesh_poisson_cpu(
	const struct nb_mesh_poisson *of, enum nb_mesh_field field, const double *mass, double *to);

struct nb_mesh_gather {
	size_t n;
	const double *pos; /* n x 3; those outside of the box are brought in */
	double box;
	int m, order;
	const double *mesh; /* of real numbers */
	/* of a device, where positions that lie together are faster: those of cell c of a grid of side^3 are numbers
	 * begin[c] ... begin[c + 1] - 1, where cell (x, y, z) is (x side + y) side + z; NULL: they are in any order */
	const uint32_t *begin;
	int side;
};

/* value[stride i] += the mesh at position i: the mean of cells by the spline that a body there would be painted by.
 * Same bytes for any number of threads. */
void nb_mesh_gather_cpu(const struct nb_mesh_gather *gather, double *value, size_t stride);

/* ---- spectra ------------------------------------------------------------------------------------ */

/* Modes of one density, delta_k = sum m exp(-i k x) / sum m: of a mesh, with its window divided out, or the mean of it
 * and of the shifted one, which the odd images of a mode do not reach. */
struct nb_mesh_modes {
	const double *mesh, *shifted; /* shifted: NULL: none */
	double scale;		      /* 1 / sum m */
};

/* Sums over the modes whose distance from the origin, in fundamental modes, is nearest to a whole number; each counts
 * twice if its mirror image is not among the modes of a mesh. */
struct nb_mesh_shell {
	double modes, distance; /* how many, and the sum of their distances */
	double power[2], cross; /* sums of |a|^2, |b|^2, and Re(a b*) */
};

/* shell[0 ... (m + 1) / 2 - 1], by distance; b may be NULL.  Modes with a number of m / 2 along an axis are in none.
 * NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_mesh_shells_cpu(
	int m, int order, const struct nb_mesh_modes *a, const struct nb_mesh_modes *b, struct nb_mesh_shell *shell);

/* The same on the current device, where positions, masses, meshes and values are; shells are in host memory, and are
 * waited for. */
NB_MUST_CHECK int nb_mesh_paint_cuda(const struct nb_mesh_paint *paint, void *mesh, void *shifted);
NB_MUST_CHECK int nb_mesh_transform_cuda(int m, double unit, void *mesh);
NB_MUST_CHECK int nb_mesh_transform_back_cuda(int m, double *mesh);
/* nb_mesh_poisson_cpu, and then nb_mesh_transform_back_cpu; `to` is another mesh than `mass`. */
NB_MUST_CHECK int nb_mesh_field_cuda(
	const struct nb_mesh_poisson *of, enum nb_mesh_field field, const double *mass, double *to);
NB_MUST_CHECK int nb_mesh_gather_cuda(const struct nb_mesh_gather *gather, double *value, size_t stride);
NB_MUST_CHECK int nb_mesh_shells_cuda(
	int m, int order, const struct nb_mesh_modes *a, const struct nb_mesh_modes *b, struct nb_mesh_shell *shell);

#ifdef __cplusplus
}
#endif
#endif
