/* groups.h - friends of friends: which bodies are joined by chains of friends, and the groups in order.
 *
 * Two bodies are friends if their distance is at most the linking length.  That is decided for the real numbers that
 * positions, box and length are, not for rounded distances: a pair at exactly the linking length is always one of
 * friends (differences below 2^-500 linking lengths are left out).  So a partition depends on nothing else: not on the
 * order of bodies, the tree, the number of threads, or the device.
 * Source: Davis, Efstathiou, Frenk & White 1985, ApJ 292, 371; sets are joined as by Jaiganesh & Burtscher 2018,
 * HPDC '18, 92. */
#ifndef NB_GROUPS_H
#define NB_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/reals.h"
#include "common/status.h"
#include "kernels/gravity/gravity.h"

NB_C_BEGIN

struct nb_groups_job {
	size_t n;
	const double *pos;  /* n x 3, finite */
	const double *mass; /* n, finite; NULL: the mass of each body is 1 */
	const uint64_t *id; /* n; NULL: the row */
	int dim;	    /* 2 (z is ignored) or 3 */
	double length;	    /* the linking length, >= 0; with 0, bodies in one place are friends */
	double box;	/* edge of a periodic box, in which a distance is that of the nearest images; bodies outside are
			   brought in first (nb_groups_wrap); 0: not periodic */
	uint32_t least; /* bodies that a group has at least, >= 1 */
};

/* The groups, in host memory, by mass, the largest first, of equal mass by the smallest id. */
struct nb_groups {
	size_t count;	 /* groups; all that follows has a row of each, except: */
	uint32_t *begin; /* count + 1: group g has begin[g + 1] - begin[g] bodies */
	uint32_t *
		member; /* of nb_groups_members, else NULL: those of group g are member[begin[g]] ..., rows ascending */
	double *mass;	/* the sum of the masses, rounded once */
	uint64_t *id;	/* the smallest */
};

/* The groups of friends of at least job->least bodies.
 *   group  n, out: the place of the group that a body is in, from 1 on; 0: it is in none of them
 * *groups is to be released with nb_groups_free.  O(n log n), whatever the distribution: a set of bodies that are all
 * joined is one thing to others.  Beside its arguments it takes about 25 bytes of memory for each body, and 40 more
 * for each of those that keys do not tell apart (kernels/order/deep.h).
 * NB_OK, NB_ENOMEM; NB_ELIMIT: n >= 2^31, or bodies are too far apart. */
NB_MUST_CHECK int nb_groups_find_cpu(const struct nb_groups_job *job, uint32_t *group, struct nb_groups *groups);
/* The same of these positions and masses instead of those of the job. */
NB_MUST_CHECK int nb_groups_find_reals_cpu(const struct nb_groups_job *job, struct nb_reals pos, struct nb_reals mass,
	uint32_t *group, struct nb_groups *groups);
/* The same on the current device, with the same results; the arrays of the job, and group, are in its memory.  Waits
 * for the device. */
NB_MUST_CHECK int nb_groups_find_cuda(const struct nb_groups_job *job, uint32_t *group, struct nb_groups *groups);
void nb_groups_free(struct nb_groups *groups);

/* The same of given sets: group[i] comes in as a number below n that the bodies of a set share, NB_GROUPS_NONE for a
 * body of none.  Host memory; of the job n, id and least are looked at.  NB_OK, NB_ENOMEM. */
#define NB_GROUPS_NONE UINT32_MAX
NB_MUST_CHECK int nb_groups_order_cpu(
	const struct nb_groups_job *job, struct nb_reals mass, uint32_t *group, struct nb_groups *groups);

/* Lists the members of groups, by the places of their bodies, in host memory.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_groups_members(size_t n, const uint32_t *group, struct nb_groups *groups);

/* The coordinate in [0, box): x - box floor(x / box), rounded. */
double nb_groups_wrap(double x, double box);

/* The bodies of one group. */
struct nb_group_bodies {
	size_t n;	    /* >= 1 */
	const double *mass; /* n, >= 0 */
	double *pos;	    /* n x 3; in a periodic box they become those of images that hang together */
	double *vel;	    /* n x 3, or NULL; that of the expansion is added */
	double flow; /* velocity of the expansion for each unit of length from com: a H, if lengths are comoving; 0:
			none */
};

/* What they amount to.  If their mass is 0, means are those of equal weights. */
struct nb_group_properties {
	double mass;
	double com[3], vel[3]; /* means of positions and velocities, weighted with the masses */
	double r_rms, r_max;   /* distances from com */
	double vdisp;	       /* of one coordinate: rms of |v - vel| / dim^1/2, v with the flow */
	double angular[3];     /* sum m (x - com) x (v - vel) */
	int wraps; /* it goes around the periodic box, or no gap shows that it does not (of 4096 parts of the edge each
		      may have a body): com is the place of its first body; r_rms, r_max and angular are NaN, and vdisp
		      if there is a flow */
};

/* Sums in the order of the bodies.  dim, length and box as of struct nb_groups_job; com may be outside of the box. vel,
 * vdisp and angular are 0 without velocities.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_groups_measure(
	const struct nb_group_bodies *bodies, int dim, double length, double box, struct nb_group_properties *group);

/* All bodies, in host memory, where those of the job are not looked at. */
struct nb_groups_reals {
	struct nb_reals pos;  /* n x 3 */
	struct nb_reals mass; /* n; none: 1 each */
	struct nb_reals vel;  /* n x 3; or none, except where bodies are bound */
};

/* What holds the members of a group together. */
struct nb_groups_binding {
	struct nb_groups_reals bodies;
	const struct nb_gravity *law; /* G and softening, body_eps of all n bodies */
	double *pot;		      /* n, out: of bound members, by the others alone; else 0 */
	double flow;		      /* of struct nb_group_bodies */
};

/* Takes out of the groups, whose members are listed, those bodies that are not bound: of energies |v - u|^2 / 2 + pot
 * >= 0, where v has the flow, u is the mean velocity of the bound and pot that of the other bound members, until all
 * are (at most 20 rounds).  Groups of fewer than job->least are dissolved, and the others are put in order anew.  group
 * and *groups become those of the bound, without a list of members.  A group that goes around the box stays as it is.
 * Potentials of more than 8192 members are of a walk at theta 0.5.  Host memory; the same bytes for any number of
 * threads. NB_OK, NB_ENOMEM, or what gravity fails with. */
NB_MUST_CHECK int nb_groups_bind_cpu(const struct nb_groups_job *job, const struct nb_groups_binding *binding,
	uint32_t *group, struct nb_groups *groups);

/* The sphere about a centre in which the mean density of all bodies falls to a given one, going outwards from the tenth
 * body (NB_SPHERE_FEW).  All are NaN if there is no such sphere, as about a centre where the density is lower.
 * Source: Lacey & Cole 1994, MNRAS 271, 676. */
enum { NB_SPHERE_FEW = 10 };
struct nb_sphere {
	double mass, radius;	     /* mass = 4/3 pi density radius^3 */
	double steepest, r_steepest; /* largest M(r) / r in it, and where: v_max^2 = G steepest */
	double spin; /* |J| / (2^1/2 mass (mass radius)^1/2), J about the centre and the mean velocity of the sphere:
			G^1/2 times the spin parameter of Bullock et al. 2001, ApJ 555, 240; NaN without velocities */
};

/* Spheres about count centres (x 3; NaN: none), of each several densities: sphere[g ndensity + d].  n and box are
 * those of the job: a sphere wider than the box is none.  group_mass: count, with which the search begins.  NB_OK,
 * NB_ENOMEM, NB_ELIMIT. */
NB_MUST_CHECK int nb_groups_spheres_cpu(const struct nb_groups_job *job, const struct nb_groups_reals *bodies,
	size_t ndensity, const double *density, size_t count, const double *centre, const double *group_mass,
	struct nb_sphere *sphere);

NB_C_END
#endif
