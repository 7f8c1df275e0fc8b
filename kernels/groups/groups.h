/* groups.h - friends of friends: which bodies are joined by chains of friends, and the groups in order.
 *
 * Two bodies are friends if their distance is at most the linking length.  That is decided for the real numbers that
 * positions, box and length are, not for rounded distances: a pair at exactly the linking length is always one of
 * friends (differences below 2^-500 linking lengths are left out).  So a partition depends on nothing else: not on the
 * order of bodies, the tree, or the number of threads.  Host memory.
 * Source: Davis, Efstathiou, Frenk & White 1985, ApJ 292, 371; sets are joined as by Jaiganesh & Burtscher 2018,
 * HPDC '18, 92. */
#ifndef NB_GROUPS_H
#define NB_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* label[i] = the smallest row of the group of body i; its own if it has no friends.
 *   pos     n x 3, finite
 *   dim     2 (z is ignored) or 3
 *   length  linking length, >= 0; with 0, bodies in one place are friends
 *   box     edge of a periodic box, in which a distance is that of the nearest images; bodies outside are brought in
 *           first (nb_groups_wrap); 0: not periodic
 * O(n log n), whatever the distribution: a set of bodies that are all joined is one thing to others.
 * NB_OK, NB_ENOMEM; NB_ELIMIT: n >= 2^31, or too far apart. */
NB_MUST_CHECK int nb_groups_link_cpu(size_t n, const double *pos, int dim, double length, double box, uint32_t *label);

/* The coordinate in [0, box): x - box floor(x / box), rounded. */
double nb_groups_wrap(double x, double box);

/* The groups of n bodies by mass, the largest first, of equal mass by the smallest id. */
struct nb_groups {
	size_t count;	  /* groups; all that follows has a row of each, but for: */
	uint32_t *begin;  /* count + 1: the members of group g are member[begin[g]] ... member[begin[g + 1] - 1] */
	uint32_t *member; /* rows of bodies, of each group ascending */
	double *mass;	  /* summed up in this order */
	uint64_t *id;	  /* the smallest */
};

/* From the labels of nb_groups_link_cpu: the groups of at least `least` bodies.
 *   mass  n; NULL: the mass of each body is 1
 *   id    n; NULL: the row
 *   group n, out: the place of the body's group, from 1 on; 0: it is in none of them
 * *groups is to be released with nb_groups_free.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_groups_order(size_t n, const uint32_t *label, const double *mass, const uint64_t *id,
	uint32_t least, uint32_t *group, struct nb_groups *groups);
void nb_groups_free(struct nb_groups *groups);

/* The bodies of one group. */
struct nb_group_bodies {
	size_t n;	    /* >= 1 */
	const double *mass; /* n, >= 0 */
	double *pos;	    /* n x 3; in a periodic box they become those of images that hang together */
	const double *vel;  /* n x 3, or NULL */
};

/* What they amount to.  If their mass is 0, means are those of equal weights. */
struct nb_group {
	double mass;
	double com[3], vel[3]; /* means of positions and velocities, weighted with the masses */
	double r_rms, r_max;   /* distances from com */
	double vdisp;	       /* of one coordinate: rms of |v - vel| / dim^1/2 */
	double angular[3];     /* sum m (x - com) x (v - vel) */
	int wraps; /* it goes around the periodic box, or no gap shows that it does not (of 4096 parts of the edge each
		      may have a body): com is the place of its first body; r_rms, r_max and angular are NaN */
};

/* Sums in the order of the bodies.  dim, length and box as of nb_groups_link_cpu; com may be outside of the box.  vel,
 * vdisp and angular are 0 without velocities.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_groups_measure(
	const struct nb_group_bodies *bodies, int dim, double length, double box, struct nb_group *group);

/* The sphere about a centre in which the mean density of all bodies falls to a given one, going outwards from the tenth
 * body (NB_SPHERE_FEW).  All are NaN if there is no such sphere, as about a centre where the density is lower.
 * Source: Lacey & Cole 1994, MNRAS 271, 676. */
enum { NB_SPHERE_FEW = 10 };
struct nb_sphere {
	double mass, radius;	     /* mass = 4/3 pi density radius^3 */
	double steepest, r_steepest; /* largest M(r) / r in it, and where: v_max^2 = G steepest */
};

/* sphere[g] of count centres (x 3; NaN: none).  pos n x 3 and mass (n; NULL: 1 each) are those of all bodies; box as of
 * nb_groups_link_cpu: a sphere wider than the box is none.  group_mass: count, with which the search begins.  NB_OK,
 * NB_ENOMEM, NB_ELIMIT. */
NB_MUST_CHECK int nb_groups_spheres_cpu(size_t n, const double *pos, const double *mass, double box, double density,
	size_t count, const double *centre, const double *group_mass, struct nb_sphere *sphere);

#ifdef __cplusplus
}
#endif
#endif
