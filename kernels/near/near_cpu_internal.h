/* near_cpu_internal.h - what the files of the CPU share. */
#ifndef NB_NEAR_CPU_INTERNAL_H
#define NB_NEAR_CPU_INTERNAL_H

#include "common/cpu.h"
#include "kernels/near/near_internal.h"

enum {
	NB_NEAR_GROUP = 64,		 /* bodies that share a walk */
	NB_NEAR_ROOM = NB_NEAR_MOST + 16 /* that meet at once, and a vector that ends beyond them */
};

/* A coordinate in the box and in the unit. */
static inline double nb_near_bring(const struct nb_near_job *job, double x)
{
	return (job->wrap ? nb_periodic_wrap(x, job->bodies.box) : x) * job->less[0] * job->less[1];
}

/* Where body i is: of the caller, or of the tree if the arrays are in that order. */
static inline void nb_near_place(const struct nb_near_job *job, size_t i, double at[3])
{
	const struct nb_near_bodies *bodies = &job->bodies;
	for (size_t k = 0; k < 3; k++) {
		const size_t c = job->turned ? k * bodies->n + i : 3 * i + k;
		const double x = bodies->single.pos ? (double)bodies->single.pos[c] : bodies->pos[c];
		at[k] = k < (size_t)bodies->dim ? nb_near_bring(job, x) : 0;
	}
}

/* Places for vectors, at first all 0; behind those that are asked for are others, in 2-D z stays 0. */
struct nb_near_places {
	double at[3][NB_NEAR_ROOM];
};

/* Bodies first .. first + count - 1 of the tree. */
static inline void nb_near_find_places(
	const struct nb_near_job *job, size_t first, uint32_t count, struct nb_near_places *to)
{
	for (uint32_t i = 0; i < count; i++) {
		double at[3];
		nb_near_place(job, first + i, at);
		for (int k = 0; k < 3; k++)
			to->at[k][i] = at[k];
	}
}

/* Sorts the n >= 1 bodies of *job, whose bodies and nearest are there, and fills in the rest of it; mass: node masses
 * are wanted; as: the unit is to be that of this one, or NULL.  nb_near_release follows in any case. */
NB_MUST_CHECK int nb_near_prepare(struct nb_near_job *job, int mass, const struct nb_near_job *as);
/* Puts the bodies back as they were.  status, or NB_ENOMEM. */
NB_MUST_CHECK int nb_near_release(struct nb_near_job *job, int status);

/* Nodes of at most so many bodies, or leaves, that hold all bodies together: *node gets *count of them, in the order of
 * their bodies, and is to be freed. */
NB_MUST_CHECK int nb_near_find_groups(const struct nb_near_job *job, uint32_t most, uint32_t **node, size_t *count);

struct nb_near_entry {
	uint32_t node;
	double gap2;
};

/* Bodies first .. first + count - 1 of the tree, what has been found for them so far, and nodes to be looked at. */
struct nb_near_targets {
	uint32_t first, count;
	int changed;
	struct nb_near_places own, others; /* of these, and of those that they meet */
	double *d2;			   /* count x k, ascending */
	uint32_t *body;			   /* count x k, of the tree */
	int have[NB_NEAR_GROUP];	   /* of the k */
	double last2[NB_NEAR_GROUP];	   /* what is farther is not among the k; of a vector more than count */
	uint32_t within[NB_NEAR_GROUP];
	double mass[NB_NEAR_GROUP];
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

/* Bodies of two leaves, many[] from first[] on; same: of one, each pair once. */
struct nb_pair_leaves {
	uint32_t first[2], many[2];
	int same;
	uint64_t weight;		/* of a pair */
	struct nb_near_places place[2]; /* which often stays that of the pair before */
	uint32_t found[2];		/* bodies from first on whose places are there */
};

/* Adds the pairs of two leaves in each bin to its count. */
typedef void nb_near_cross(const struct nb_pair_job *job, struct nb_pair_leaves *leaves,
	const struct nb_pair_range *range, uint64_t *count);
NB_ISA_DECLARE(nb_near_cross)

#endif
