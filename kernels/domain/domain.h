/* domain.h - bodies that are spread over the ranks of a run (kernels/ranks/ranks.h): each has those of one range of
 * Morton keys, moves them, and computes their forces by the walk of a tree of all bodies, of which it holds a part.
 *
 * Rank 0 calls these functions; the others do what it says (nb_domain_serve).  All that a body gets is the same bytes
 * as from nb_morton_keys_cpu, nb_sort_keys_cpu, nb_sort_deep_cpu, nb_tree_build_cpu and nb_gravity_tree_cpu of all
 * bodies in one process, and so is their order; or as from nb_.._cuda, where bodies are in the memory of a device of
 * each rank, and all devices are of one kind.
 *
 * Memory of a rank: for each of its bodies about 180 bytes and those of `rest`; about 64 for each that its walk asks
 * others for; and for each family of cells, the children of one, that is its own or that its walk looks at: 650 bytes
 * in f32, 1200 and 1400 with orders 3 and 4, up to 2500 in f64.  There is a family for about 100 bodies.  Where all of
 * them would take less than a quarter of what a rank's bodies take, all ranks get all.
 *
 * On a device: 150 bytes and those of `rest` for each own body, 32 for each of others, 250 for each node of either, and
 * for a time 12 for each own node and each rank.  What a rank gets is what its walk may look at, by bounds that all
 * ranks know (essential_cuda.cu).  Between processes, bodies go through the host. */
#ifndef NB_DOMAIN_H
#define NB_DOMAIN_H

#include "kernels/walk/walk.h"

NB_C_BEGIN

/* The force: that of nb_sort_zorder, nb_build_tree, nb_force; one Plummer softening, no jerk. */
struct nb_domain_law {
	int dim, leaf_size, tree_order; /* 2 or 3; of nb_tree_build_cpu */
	struct nb_tree_walk walk;	/* NB_MAC_GEOMETRIC */
	int potential;
	double eps, G;
	enum nb_precision precision;
	int device;    /* 0: computed by the CPU; else by a device of each rank, device - 1 that of rank 0 */
	int few_cells; /* 1: a rank gets only the cells that it looks at, even where all of them would take little */
};

/* What rank 0 has all of, before bodies are spread or after they have been gathered: rows in any order, or in that of
 * the tree.  NULL: not wanted. */
struct nb_domain_bodies {
	size_t n;
	double *pos, *vel, *mass; /* n x 3, n x 3, n */
	double *acc, *pot;	  /* n x 3, n: of the last force */
	unsigned char *rest;	  /* n x rest_size: what else goes with a body */
	size_t rest_size;
};

/* Of the last force, the largest of all ranks; interactions are sums. */
struct nb_domain_tally {
	double bodies, asked; /* that a rank has, and that it got from others for the walk */
	/* families of cells, the children of one: those that a rank has, its own and of others; all that there are. On
	 * devices, nodes. */
	double cells, all_cells;
	double rounds;		       /* walks that looked for what is missing: 1 if all was there at once */
	double bytes;		       /* of memory for all this */
	struct nb_gravity_count count; /* on devices not counted: 0 */
};

/* What a rank has done with a device up to now. */
struct nb_domain_usage {
	int device;
	double bodies;	       /* of the last force */
	double worked, waited; /* s: in walks, and for those of other ranks */
	double bytes;	       /* of memory, at most */
};

struct nb_domain;

/* A process has one domain at a time: 1 if there is none, and the caller may begin one; nb_domain_end lets others. */
int nb_domain_claim(void);
/* Spreads bodies: pos, vel, mass, rest.  All functions return the status of the rank that fares worst, or 0.
 * NB_ENOMEM; NB_ENODEV where no other rank takes part. */
NB_MUST_CHECK int nb_domain_begin(
	struct nb_domain **domain, const struct nb_domain_law *law, const struct nb_domain_bodies *all);
/* vel += acc kick, then pos += vel drift, of the last force; what is 0 is left out. *finite: all positions
 * that a drift has given are. */
NB_MUST_CHECK int nb_domain_kick_drift(struct nb_domain *domain, double kick, double drift, int *finite);
/* The forces at the present positions, after the bodies have gone to their ranks.  *largest: |acc|, not finite if one
 * is not.  NB_ENONFINITE, NB_ELIMIT, NB_EUNSUPPORTED (lengths whose squares no double holds): nothing but the order of
 * the bodies has changed. */
NB_MUST_CHECK int nb_domain_force(struct nb_domain *domain, double *largest, struct nb_domain_tally *tally);
/* Rank 0 gets all that is not NULL in *all, in the order of the tree; all->n is that of nb_domain_begin. */
NB_MUST_CHECK int nb_domain_gather(struct nb_domain *domain, const struct nb_domain_bodies *all);
/* Of rank k, up to the last force; NULL where bodies are not in the memory of devices, or there is no such rank. */
const struct nb_domain_usage *nb_domain_usage_of(const struct nb_domain *domain, int k);
/* The ranks forget the bodies. NULL is fine. */
void nb_domain_end(struct nb_domain *domain);

/* How devices do it, said once, in all ranks, before bodies are spread over those of devices. */
struct nb_domain_device;
extern const struct nb_domain_device nb_domain_device_cuda;
void nb_domain_use_devices(const struct nb_domain_device *by);

/* The part of a rank other than the first, to be called once for each NB_RANKS_DOMAIN.  NB_ENOMEM and others: this rank
 * cannot go on. */
NB_MUST_CHECK int nb_domain_serve(void);

NB_C_END
#endif
