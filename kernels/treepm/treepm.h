/* treepm.h - gravity of many bodies in a periodic box: the far part of each pull by a mesh and its Fourier transform,
 * the near part by pairs.
 *
 * Each mass is split into a Gaussian cloud of the width s and what is left.  The cloud's field is smooth: masses are
 * painted on the mesh by splines, and the field is had there by multiplying modes, and gathered by the same splines.
 * What is left acts, with u = r / (2 s), as
 *     acc = G m d (erfc u + 2 u / sqrt(pi) exp(-u^2)) / r^3,   pot = -G m erfc(u) / r,
 * which is cut off at a few s.  Softened bodies have their softened law in place of 1 / r^3, less the same cloud: so
 * the spline is exact, and Plummer's softening ends at the cut, where it changes a pull by 1.5 (eps / r)^2 of it.
 * Boxes, signs and the background are those of ewald.h, whose sums are the oracle.
 *
 * Errors |da| / |a| (median, 99th percentile) of 65,536 bodies of a uniform density with the cells of nb_treepm_choose:
 * order 6, split 1.3, cut 6.5: 8e-6, 5e-5; order 4: 1.2e-4, 7e-4; split 1.5: 4e-6, 3e-5; split 2, cut 7: 6e-7, 4e-6.
 * Sources: Hockney & Eastwood 1988, Computer Simulation Using Particles, chapter 8; Bagla 2002, J. Astrophys. Astron.
 * 23, 185; Springel 2005, MNRAS 364, 1105. */
#ifndef NB_TREEPM_H
#define NB_TREEPM_H

#include "kernels/gravity/gravity.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nb_treepm {
	int mesh;     /* cells an edge, as of nb_mesh_size (kernels/mesh/mesh.h), up to NB_MESH_MOST */
	int order;    /* of the splines, 3 to 6 */
	double split; /* s, in cells, > 0 */
	double cut;   /* in s */
};

/* Order 6, a cut of 6.5, from a split of 1.75 cells on 7, and 2 n^(1/3) cells or the next number of them that can be
 * transformed, but so many that the cut is at 0.4 of the box at most.  From 512 cells on they are up to a 20th more if
 * that takes fewer passes, and n is not that of a lattice of half as many.  split 0: 1.3.  Bodies on a lattice whose
 * edge divides that of the mesh do not feel it. */
struct nb_treepm nb_treepm_choose(size_t n, double split);
/* The distance at which the near part ends; nb_treepm_cpu needs less than half of the box. */
double nb_treepm_reach(const struct nb_treepm *how, double box);
/* The longest softening length: Plummer's, or the support of the spline, is at most that distance. */
double nb_treepm_longest_eps(const struct nb_treepm *how, double box, enum nb_softening softening);

/* Meshes that a caller keeps from one field to the next, since new memory takes time; all 0 at first. */
struct nb_treepm_kept {
	int mesh; /* cells an edge of those that there are; 0: none */
	double *mass, *field;
};
void nb_treepm_free(struct nb_treepm_kept *kept);

/* The field of the bodies of *g in the box of edge L = box at points, or, points NULL, of all bodies, as nb_ewald_cpu.
 * In f64; with g->precision NB_MIXED separations and sums are, and the other arithmetic of pairs is in f32: forces
 * differ by 1e-7 of the rms of all (rms) and a few times 1e-6 of it at most, potentials by 1e-6; but those of a lattice
 * that is displaced by a share d of its spacing, where the pulls of pairs cancel, by 6e-8 / d (rms).  Two meshes of
 * nb_mesh_bytes, which stay in *kept unless it is NULL, and some 200 bytes for each body.  Same bytes for any number of
 * threads; lengths times a power of two change no bit of the result but its scale. NB_OK,
 * NB_EINVAL (also a cut that is not below L / 2), NB_ENONFINITE, NB_ELIMIT (n >= 2^31), NB_ENOMEM. */
NB_MUST_CHECK int nb_treepm_cpu(const struct nb_gravity *g, double box, const struct nb_treepm *how,
	const struct nb_gravity_points *points, struct nb_treepm_kept *kept, struct nb_gravity_count *count);
/* The same on the current device, where all arrays of *g and *points are; *kept stays as it is.  The mesh of
 * masses has the same bits; forces in f64 differ by less than 1e-12 of the rms of all and of each, those with NB_MIXED
 * from f64 as there.  Same bytes on every run, and for any number of devices of one kind: those of a
 * team (kernels/team/team.h) share the near part of all bodies if they are 65536 or more. */
NB_MUST_CHECK int nb_treepm_cuda(const struct nb_gravity *g, double box, const struct nb_treepm *how,
	const struct nb_gravity_points *points, struct nb_treepm_kept *kept, struct nb_gravity_count *count);

#ifdef __cplusplus
}
#endif
#endif
