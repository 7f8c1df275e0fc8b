/* domain_internal.h - what the parts of nb_domain share; not for callers of domain.h. */
#ifndef NB_DOMAIN_INTERNAL_H
#define NB_DOMAIN_INTERNAL_H

#include "kernels/domain/state_internal.h"
#include "kernels/walk/walk.h"

/* walk_cpu.c: the forces, into d->acc and d->pot. */
NB_MUST_CHECK int nb_domain_walk_cpu(struct nb_domain *d, struct nb_domain_tree *t);

/* ---- what a walk of spread bodies has ---- */

/* Families that came from another rank at one time: those of this one's numbers from first on. */
struct nb_domain_batch {
	int owner;
	size_t first, n;
	uint32_t *id; /* n: their numbers there, ascending */
};

/* Families have numbers of a rank's own: those of the top, which are the same for all; own ones, in which the number of
 * a parent is below those of its children; then those of others as they come.  What a lane has below it that is not
 * here has the number that it has where it is, with NB_WALK_ABSENT. */
struct nb_domain_walk {
	struct nb_domain *d;
	const struct nb_domain_tree *t;
	struct nb_walk_memory m;
	struct nb_gravity g;
	struct nb_walk_plan plan;
	uint32_t ntop;		  /* families of the top */
	size_t nown, nhere, nall; /* own ones; all that are here; those of the tree of all bodies */
	size_t room;		  /* for so many there is memory */
	uint32_t *parent;	  /* nown: the lane that an own family is below */
	struct nb_domain_batch *batch;
	size_t nbatch;
	size_t *bytes;			   /* size + 1, for what is sent */
	struct nb_domain_root *root;	   /* of all cells */
	struct nb_domain_summary *summary; /* of all ranks */
	double *pos, *mass;		   /* n_all rows, of which few are there */
	size_t mapped[2];		   /* bytes of these */
	uint8_t *wanted;		   /* of each lane */
	float *cost;
	uint32_t *part; /* the first body of each part, behind the last that of the next rank */
};

static inline int nb_domain_is_own(const struct nb_domain_walk *w, size_t i)
{
	return i >= w->t->nslot || w->t->kind[i] == NB_DOMAIN_OWN;
}

static inline int nb_domain_is_top(const struct nb_domain_walk *w, size_t i)
{
	return i < w->t->nslot && w->t->kind[i] == NB_DOMAIN_TOP;
}

/* send_cpu.c: room for n families in w->m, with their moments, and in w->wanted, where all new ones are 0. */
NB_MUST_CHECK int nb_domain_reserve(struct nb_domain_walk *w, size_t n);
/* cells_cpu.c: gets the families of other ranks that the walk of this one looks at, and finds in w->wanted the
 * leaves whose bodies it wants.  Called by all ranks, each with its own families. */
NB_MUST_CHECK int nb_domain_get_cells(struct nb_domain_walk *w);

#endif
