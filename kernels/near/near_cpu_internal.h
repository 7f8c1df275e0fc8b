/* near_cpu_internal.h - what the files of the CPU share. */
#ifndef NB_NEAR_CPU_INTERNAL_H
#define NB_NEAR_CPU_INTERNAL_H

#include "common/cpu.h"
#include "kernels/near/near_internal.h"

enum { NB_NEAR_BUNDLE = 64 /* bodies that share a walk */ };

/* Sorts the n >= 1 bodies of *job, whose bodies and nearest are there, and fills in the rest of it; mass: node masses
 * are wanted; as: the unit is to be that of this one, or NULL.  nb_near_release follows in any case. */
NB_MUST_CHECK int nb_near_prepare(struct nb_near_job *job, int mass, const struct nb_near_job *as);
/* Puts the bodies back as they were.  status, or NB_ENOMEM. */
NB_MUST_CHECK int nb_near_release(struct nb_near_job *job, int status);

/* Nodes of at most so many bodies, or leaves, that hold all bodies together: *node gets *count of them, in the order of
 * their bodies, and is to be freed. */
NB_MUST_CHECK int nb_near_find_bundles(const struct nb_near_job *job, uint32_t most, uint32_t **node, size_t *count);

struct nb_near_entry {
	uint32_t node;
	double gap2;
};

/* Bodies first .. first + count - 1 of the tree, what has been found for them so far, and nodes to be looked at. */
struct nb_near_targets {
	uint32_t first, count;
	int changed;
	double *d2;		      /* count x k, ascending */
	uint32_t *body;		      /* count x k, of the tree */
	int have[NB_NEAR_BUNDLE];     /* of the k */
	double last2[NB_NEAR_BUNDLE]; /* what is farther is not among the k; of a vector more than count */
	uint32_t within[NB_NEAR_BUNDLE];
	double mass[NB_NEAR_BUNDLE];
	struct nb_near_entry *stack; /* NB_NEAR_STACK */
};

/* The targets meet bodies first .. first + count - 1, all of them in a box: the nearest are kept; those within last2
 * are counted, with their masses. */
typedef void nb_near_meet(const struct nb_near_job *job, struct nb_near_targets *targets, const double *box,
	uint32_t first, uint32_t count);
typedef nb_near_meet nb_near_tally;
NB_ISA_DECLARE(nb_near_meet)
NB_ISA_DECLARE(nb_near_tally)

/* Two sets of bodies whose pairs are counted, in one unit of length; a and b may be the same. */
struct nb_pair_job {
	const struct nb_near_job *a, *b;
	int nedge, nparts;
	const double *edge2; /* nedge, squares */
	const double *part;  /* nparts, where each part ends; INFINITY: distances along z count with the others */
	enum nb_isa isa;
};

/* What is below edge bin[0] is below all, what is in question ends with bin[1]; parts likewise. */
struct nb_pair_range {
	int bin[2], part[2];
};

/* Body i of a with bodies first .. first + many - 1 of b: adds weight for each of those in a bin to its count. */
typedef void nb_near_cross(const struct nb_pair_job *job, size_t i, uint32_t first, uint32_t many,
	const struct nb_pair_range *range, uint64_t weight, uint64_t *count);
NB_ISA_DECLARE(nb_near_cross)

#endif
