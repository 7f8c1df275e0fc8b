/* domain_internal.h - what the parts of nb_domain share; not for callers of tree.h. */
#ifndef NB_TREE_DOMAIN_INTERNAL_H
#define NB_TREE_DOMAIN_INTERNAL_H

#include "kernels/tree/walk_internal.h"

enum {
	/* Targets in a part of a walk.  No cell of so few bodies, nor any that may be a leaf or a group, is cut by the
	 * border of two ranks. */
	NB_DOMAIN_PART = 512
};

/* What one rank holds. */
struct nb_domain {
	struct nb_domain_law law;
	int rank, size;
	size_t n_all, n, rest_size;
	size_t *bound; /* the first body of each rank in the order of the tree, n_all behind the last */
	uint64_t *cut; /* the first key of each rank, behind the last the first that no body has */
	uint64_t *key; /* of own bodies, ascending, as all that follow */
	double *pos, *vel, *mass, *acc, *pot;
	float *cost; /* share of the time of the last walk */
	unsigned char *rest;
	struct nb_cube cube;
	struct nb_domain_tally tally;
};

/* Most bodies of a cell that must not be cut. */
size_t nb_domain_least_cut(const struct nb_domain *d);
int nb_domain_key_bits(const struct nb_domain *d);
/* The status of the rank that fares worst. */
int nb_domain_agree(int status);

/* domain_cut_cpu.c: cube and keys of all bodies; cuts where the costs of ranks are equal; the bodies go to their ranks
 * and are sorted. */
NB_MUST_CHECK int nb_domain_sort(struct nb_domain *d);

/* domain_tree_cpu.c: the part of the tree of all bodies that a rank has.  The first nslot nodes are those that bodies
 * of several ranks are in, and their children; then the descendants of own ones. */
enum nb_domain_kind { NB_DOMAIN_TOP, NB_DOMAIN_OWN, NB_DOMAIN_ELSEWHERE };
struct nb_domain_tree {
	struct nb_tree tree;
	uint32_t nslot;
	uint8_t *kind;	/* nslot */
	uint32_t *cell; /* nslot: the place of its root among those that ranks tell each other; for kinds but TOP */
	size_t ncell;
	size_t *cell_bound; /* the first cell of each rank, ncell behind the last */
};
/* Without what follows from nodes elsewhere: their moments, and those of the top. */
NB_MUST_CHECK int nb_domain_grow(const struct nb_domain *d, struct nb_domain_tree *t);
void nb_domain_tree_free(struct nb_domain_tree *t);

/* domain_walk_cpu.c: the forces, into d->acc and d->pot. */
NB_MUST_CHECK int nb_domain_walk(struct nb_domain *d, struct nb_domain_tree *t);

#endif
