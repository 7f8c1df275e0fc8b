/* collide.h - one drift of bodies that are solid spheres: they move on straight lines, and collide or merge
 * where they touch.
 *
 * With the velocity constant but for the contacts, the bodies are followed from contact to contact:
 * - A pair touches at the first moment in the drift at which its distance is the sum of its radii while it
 *   approaches.  A pair that overlaps already touches at once: in a collision if it approaches (a pair that
 *   separates is left alone), in a merger in any case.  Two bodies of radius 0 never touch.
 * - Contacts are dealt with in the order of their time; of those at the same time first the one whose smaller
 *   id is the smallest, then the one whose larger id is.  Each acts on what the contacts before it have made of
 *   the two bodies, and what follows from it in the rest of the drift is found, whatever chain that makes.
 *
 * NB_COLLIDE_ELASTIC: the component of the relative velocity along the line of centres is reversed, which leaves
 * the momentum and the kinetic energy as they are.  Where acc is given it is the velocity at that moment that is
 * reversed, not the mean one on which the bodies move: otherwise each collision under a force is wrong by a term of
 * first order in dt.  Bodies that move towards each other only on the mean are left alone.  Two bodies without mass act
 * as equal ones; against a body with mass one without does all the turning.  Bodies at exactly the same place have no
 * line of centres and pass through each other.  A body collides at most NB_COLLIDE_MOST times in one drift; after that
 * it passes through all others until the end of the drift.
 *
 * NB_COLLIDE_BOUNCE: the same, but after a collision that component is -restitution times what it was before, so the
 * kinetic energy (1 - restitution^2) mu v^2 / 2 is lost, mu being the reduced mass and v that component.  The momentum
 * stays.  With a restitution of 1 this is NB_COLLIDE_ELASTIC.  Below 1, two things keep bodies from colliding
 * infinitely often in a finite time, and from sinking into each other:
 * - A collision whose speed is below NB_COLLIDE_RESTING times that of the fastest one that either body has had in the
 *   drift is elastic: what it fails to dissipate is 10^-6 of the energy of that one.  So are collisions of a body that
 *   has had NB_COLLIDE_LOSSY in the drift.
 * - Two bodies that touch, and whose mean velocities approach each other still after the collision, or without one, are
 *   pressed together by acc: the contact bears it, and the mean velocities cease to approach.
 *
 * NB_COLLIDE_MERGE: the two become one with their mass, their momentum, their centre of mass and the sum of their
 * volumes; it has the place among the bodies, and so the id, of the heavier one, of two equal ones that of the
 * smaller id; their angular momentum about each other becomes its spin.  Bodies that overlap at the very beginning
 * become one all together, whether they do so directly or through others, before all else: this takes no more than
 * about n log n time however many overlap.  Bodies without mass count as equal ones where no other is there.
 *
 * Sources: Allen & Tildesley 1987, Computer Simulation of Liquids, sec. 3.6 (from contact to contact); for slow
 * collisions that are elastic, Ben-Naim, Chen, Doolen & Redner 1999, Phys. Rev. Lett. 82, 4069.
 *
 * Everything is as if the bodies were sorted by id: their order is of no importance (where two ids are equal, or
 * there are none, the place among the bodies is the id).  The same bytes for any number of threads.
 * A body that touches nothing ends at pos + vel dt, to the last bit as by nb_drift_cpu.
 *
 * Time is about n log n + contacts log n, as long as few of the boxes around the paths meet; in a drift without
 * mergers every contact may look at all bodies that the two overlap, so M that all overlap take up to
 * M NB_COLLIDE_MOST / 2 contacts of some M operations.  Memory: about 300 bytes a body and 64 a contact. */
#ifndef NB_MOTION_COLLIDE_H
#define NB_MOTION_COLLIDE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

enum { NB_COLLIDE_MOST = 100, NB_COLLIDE_LOSSY = 50 };
#define NB_COLLIDE_RESTING 1e-3

enum nb_collide_mode { NB_COLLIDE_ELASTIC, NB_COLLIDE_MERGE, NB_COLLIDE_BOUNCE };

/* b / (a + b), where nothing overflows; equal shares where both are 0. */
static inline double nb_share(double a, double b)
{
	return a == b ? 0.5 : b == 0 ? 0 : 1 / (1 + a / b);
}

/* A body that became part of another. */
struct nb_merger {
	double at;	     /* time of the drift */
	double lost;	     /* kinetic energy: of the bodies about their centre of mass, by vel */
	uint32_t row, whole; /* it, and the other one */
};

struct nb_collide {
	size_t n; /* < 2^32 - 1 */
	enum nb_collide_mode mode;
	double dt;	    /* length of the drift; negative: back in time */
	double *pos;	    /* n x 3, at the beginning; on return at the end */
	double *vel;	    /* n x 3, on which they move; on return after the contacts */
	double *later;	    /* NULL, or n x 3: the velocities that bodies have at the end of the step if nothing
			       touches; collisions change them as they change vel, mergers average them as vel */
	double *mass;	    /* n, >= 0; changed by mergers only */
	double *radius;	    /* n, >= 0; changed by mergers only */
	const uint64_t *id; /* n, or NULL */
	uint32_t *keep;	    /* n, for mergers: the rows that are left, ascending; the other rows are undefined then */
	/* NULL, or n x 3: two bodies that collide at time t of the drift do so with the velocities
	 * vel + acc (t - lag) */
	const double *acc;
	double lag;	    /* the time of the drift at which vel is the velocity; used with acc only */
	double restitution; /* 0 .. 1, for NB_COLLIDE_BOUNCE */
	double *spin;	    /* NULL, or n x 3: angular momenta of bodies about their centres; mergers add to them what
			       bodies had about the centre of mass of all, by vel */
	struct nb_merger *merger; /* NULL, or n, out, for mergers: each of them, as many as contacts */
};

struct nb_collide_count {
	size_t left;	   /* bodies, n less the mergers */
	uint64_t contacts; /* collisions, or bodies that became part of another */
	uint64_t limited;  /* bodies that reached NB_COLLIDE_MOST */
};

/* Returns NB_ENONFINITE, with all arrays as they were, if a position (also the one at the end) or velocity is not
 * finite, NB_EINVAL if a mass or radius is negative or not finite, or the restitution not in 0 .. 1, NB_ELIMIT for too
 * many bodies, NB_ENOMEM (the arrays are undefined then). */
NB_MUST_CHECK int nb_collide_cpu(const struct nb_collide *c, struct nb_collide_count *count);
/* The oracle: the same bytes by looking at all pairs for every contact, O(n^2 (1 + contacts)). */
NB_MUST_CHECK int nb_collide_ref(const struct nb_collide *c, struct nb_collide_count *count);

NB_C_END
#endif
