/* lpt.h - the start of a cosmological run: bodies of a lattice, moved by Lagrangian perturbation theory (LPT) of a
 * Gaussian random field of density.
 *
 * Units: lengths are comoving, in Mpc/h, wave numbers in h/Mpc, spectra in (Mpc/h)^3, velocities in those of H0 times a
 * length.  delta(x) = sum over modes n of delta_n exp(2 pi i n x / box), and <|delta_n|^2> = P(k) / box^3 at the wave
 * number k = 2 pi |n| / box.  A mesh of modes is that of kernels/mesh; modes with a number of half of its edge are 0 in
 * all of its planes, and so is the mean.
 *
 * Sources: Eisenstein & Hu 1998, ApJ 496, 605; Bouchet, Colombi, Hivon & Juszkiewicz 1995, A&A 296, 575 (LPT); Catelan
 * 1995, MNRAS 276, 115 (third order); Orszag 1971, J. Atmos. Sci. 28, 1074 (products of fields without aliases);
 * Angulo & Pontzen 2016, MNRAS 462, L1 (fixed and paired fields). */
#ifndef NB_LPT_H
#define NB_LPT_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "kernels/cosmology/cosmology.h"

/* ---- spectra ------------------------------------------------------------------------------------ */

struct nb_lpt_table {
	size_t n;		 /* at least 2 */
	const double *k, *power; /* above 0, k ascending */
};

/* The spectrum of a table, a cubic spline of log P over log k, which goes on as a power of k beyond both ends; or
 * k^ns T(k)^2 of any normalisation, with the transfer function T of Eisenstein & Hu for a background of 2.7255 K. */
struct nb_lpt_shape {
	const struct nb_lpt_table *table; /* NULL: of Eisenstein & Hu, by what follows */
	double omega_m, omega_b, h, ns;	  /* omega_b above 0 */
	int smooth;			  /* without the oscillations of baryons (their eq. 29) */
};

struct nb_lpt_spectrum;

/* Release with nb_lpt_spectrum_free.  NB_OK, NB_ENOMEM, NB_EINVAL: no such table, or numbers out of range. */
NB_MUST_CHECK int nb_lpt_spectrum_create(const struct nb_lpt_shape *shape, struct nb_lpt_spectrum **spectrum);
void nb_lpt_spectrum_free(struct nb_lpt_spectrum *spectrum);
double nb_lpt_spectrum_power(const struct nb_lpt_spectrum *spectrum, double k);
/* The rms of the density in spheres of this radius; error 1e-6 of it. */
double nb_lpt_spectrum_sigma(const struct nb_lpt_spectrum *spectrum, double radius);

/* ---- the field ---------------------------------------------------------------------------------- */

/* Each mode depends on the seed and its three numbers alone: a larger mesh has the same modes, and more. */
struct nb_lpt_field {
	int m; /* cells of the mesh along an edge */
	double box;
	uint64_t seed;
	int fixed;  /* amplitudes are the root of the mean square: only phases are random */
	int paired; /* the sign of all modes is the other one */
	int sphere; /* modes whose distance from the origin is more than m / 2 are 0 */
};

/* The least and the largest wave number of a mode that is not 0; 0: there is none. */
int nb_lpt_field_range(const struct nb_lpt_field *field, double k[2]);
/* The modes of a density with the spectrum times factor^2.  mesh: nb_mesh_bytes(m).  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_lpt_field_draw(
	const struct nb_lpt_field *field, const struct nb_lpt_spectrum *spectrum, double factor, double *mesh);

/* ---- the bodies --------------------------------------------------------------------------------- */

enum { NB_LPT_EDGE_MOST = 2048 };

/* The edge of a lattice of so many bodies: n is its cube, and it has no prime factor above 7; -1: there is none, or it
 * is longer than NB_LPT_EDGE_MOST. */
int nb_lpt_edge(uint64_t n);
/* The edge of the mesh of modes for so many bodies of a glass: of the largest lattice that has no more; -1: it is
 * longer than that. */
int nb_lpt_edge_of_glass(uint64_t n);

/* Places where bodies feel hardly any force, instead of those of a lattice. */
struct nb_lpt_glass {
	uint64_t n;
	const double *place; /* n x 3, in edges of its box, in [0, 1); kept by the caller until nb_lpt_free */
	int tiles;	     /* the box has tiles^3 of it */
};

struct nb_lpt_start {
	int m;	   /* edge of the lattice, from nb_lpt_edge; or that of a glass */
	int order; /* 1 (Zel'dovich), 2 or 3 */
	double box;
	struct nb_cosmology cosmology; /* nb_cosmology_check says NB_OK */
	double a;
	const struct nb_lpt_glass *glass; /* NULL: a lattice */
};

struct nb_lpt;

/* Body (x m + y) m + z of the lattice was at (x, y, z) box / m, and has moved by psi = -D1 grad phi1 - D2 grad phi2 +
 * D3a grad phi3a - D3b grad phi3b + D3c curl A, where
 *     lap phi1 = delta, of which modes is the density at D1 = 1 (cosmology.h),
 *     lap phi2 = sum over i < j of phi1_ii phi1_jj - phi1_ij^2,
 *     lap phi3a = det phi1_ij,    lap phi3b = (lap phi1 lap phi2 - sum over i, j of phi1_ij phi2_ij) / 2,
 *     lap A_i = sum over l of phi2_lj phi1_lk - phi2_lk phi1_lj,    i, j, k cyclic;
 * its peculiar velocity is a H sum over orders of f D (...).  Derivatives are exact ones of modes.  Products are made
 * on a mesh 3/2 (order 3: 2) times as fine, so that no mode of the lattice has an alias in it.  Of a glass, body i was
 * at the place of number i modulo n in tile i / n, where tile (x tiles + y) tiles + z is at (x, y, z); psi is the sum
 * of the same modes there, to 1e-13.
 *
 * modes: of a mesh of m, which is overwritten.  While it works it holds 24, 90 or 820 bytes for each body, of orders 1,
 * 2 and 3 (glass: at least 112), besides the modes, and 24 or 48 at the end.  Same bytes for any number of threads; the
 * last bits differ where there is no fused multiply-add.  Release with nb_lpt_free.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_lpt_create(const struct nb_lpt_start *start, double *modes, struct nb_lpt **lpt);
void nb_lpt_free(struct nb_lpt *lpt);
/* The root of the mean square of all displacements, over the spacing of a lattice; 0 without bodies.  Its last bits
 * depend on the number of threads. */
double nb_lpt_displacement(const struct nb_lpt *lpt);
/* Positions, in [0, box), or velocities (vel) of bodies [first, first + count): count x 3 numbers. */
void nb_lpt_fill(const struct nb_lpt *lpt, int vel, uint64_t first, size_t count, double *out);
#endif
