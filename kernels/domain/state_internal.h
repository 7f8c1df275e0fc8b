/* state_internal.h - what one rank holds of bodies that are spread (domain.h), and what its host does for bodies
 * in any memory: cuts, what goes where, the top of the tree.  C and C++; domain_internal.h has what the CPU adds. */
#ifndef NB_DOMAIN_STATE_INTERNAL_H
#define NB_DOMAIN_STATE_INTERNAL_H

#include "kernels/domain/domain.h"
#include "kernels/multipole/multipole.h"
#include "kernels/tree/tree.h"

NB_C_BEGIN

enum {
	/* Targets in a part of a walk.  No cell of so few bodies, nor any that may be a leaf or a group, is cut by the
	 * border of two ranks. */
	NB_DOMAIN_PART = 512,
	/* The same where the walk is a device's: nor any that may be a region (region_internal.cuh). */
	NB_DOMAIN_PART_DEVICE = NB_OPENING_REGION
};

/* What one rank holds.  With law.device its arrays but for bound and cut are in the memory of its device. */
struct nb_domain {
	struct nb_domain_law law;
	int rank, size;
	size_t n_all, n, rest_size;
	size_t *bound; /* the first body of each rank in the order of the tree, n_all behind the last */
	uint64_t *cut; /* the first key of each rank, behind the last the first that no body has */
	uint64_t *key; /* of own bodies, ascending, as all that follow */
	double *pos, *vel, *mass, *acc, *pot;
	float *cost; /* share of the time of the last walk; NULL on a device, where bodies of a rank cost the same: */
	double unit_cost;
	double worked, waited;	       /* s up to now: in walks, and for those of the others */
	struct nb_domain_usage *share; /* on devices: size of them */
	/* on a device: rows that these have memory for, 0: as many as there are; what the last walk needed of the
	 * others, and a little more: its bodies and nodes then come behind own ones */
	struct {
		size_t pos, vel, mass, rest;
	} room;
	size_t spare_bodies, spare_nodes;
	/* on a device: that of nb_domain_find_cube, if the last move has found it and no body has gone since */
	double box[7];
	int box_known;
	int margin; /* on a device: margin for cells of others, raised after a walk that missed some (0, 1, ..) */
	unsigned char *rest;
	struct nb_cube cube;
	struct nb_domain_tally tally;
};

int nb_domain_key_bits(const struct nb_domain *d);
/* The status of the rank that fares worst. */
int nb_domain_agree(int status);

/* first[k] = how many of the own keys, which are sorted, are below bound[k], k < count. */
NB_MUST_CHECK int nb_domain_below(const struct nb_domain *d, size_t count, const uint64_t *bound, size_t *first);

/* cut_cpu.c: cube and keys of all bodies; cuts where the costs of ranks are equal; the bodies go to their ranks
 * and are sorted. */
NB_MUST_CHECK int nb_domain_sort(struct nb_domain *d);
/* Parts of that.  The cube, from the largest -x, -y, -z, x, y, z of own bodies, and whether one is not finite: */
NB_MUST_CHECK int nb_domain_find_cube(struct nb_domain *d, double box[7]);
/* d->cut; where bodies differ in cost, work[i] is the share of all that those before body i make up. */
NB_MUST_CHECK int nb_domain_find_cuts(struct nb_domain *d, const double *work);
/* Rows that go to each rank, in the order of keys, and that come from each. */
struct nb_domain_moves {
	size_t *send, *receive, *bytes; /* size + 1; bytes: 3 (size + 1) */
	size_t n;			/* rows, when all has come */
};
NB_MUST_CHECK int nb_domain_plan_move(const struct nb_domain *d, struct nb_domain_moves *m);
void nb_domain_move_free(struct nb_domain_moves *m);
/* d->n = n, and d->bound of all ranks. */
void nb_domain_set_bounds(struct nb_domain *d, size_t n, size_t *bytes);

/* tree_cpu.c: the part of the tree of all bodies that a rank has.  The first nslot nodes are those that bodies
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

/* The keys lo .. lo + 2^shift - 1. */
struct nb_domain_cell {
	uint64_t lo;
	int shift, owner;
	uint32_t count, first; /* bodies: their number, and the first of them in the order of all */
};
/* A node of the top, of the cells begin .. end - 1, none of which at either end is empty; or a cell.  Level by level,
 * the root first, children of one node side by side. */
struct nb_domain_slot {
	size_t begin, end;
	uint32_t child, nchild;
};
struct nb_domain_top {
	struct nb_domain_cell *cell;
	struct nb_domain_slot *slot;
	size_t ncell;
	uint32_t nslot;
	size_t *cell_bound; /* the first cell of each rank, ncell behind the last */
};
NB_MUST_CHECK int nb_domain_find_top(const struct nb_domain *d, struct nb_domain_top *top);
void nb_domain_top_free(struct nb_domain_top *top);
/* The kind of a slot, and its bodies. */
enum nb_domain_kind nb_domain_kind_of(
	const struct nb_domain *d, const struct nb_domain_top *top, uint32_t slot, uint32_t *count);

/* ---- bodies in the memory of devices ---- */

/* Memory for acc and pot of d->n bodies. */
NB_MUST_CHECK int nb_domain_make_room(struct nb_domain *d);
/* What nb_domain_use_devices has said. */
const struct nb_domain_device *nb_domain_devices(void);

/* domain_cuda.cu, which a program without CUDA has not. */
struct nb_domain_device {
	/* Makes the device of this rank current: that of rank 0, or of several on a host one after the other. */
	int (*open)(int first);
	int (*alloc)(void **p, size_t bytes);
	void (*release)(void *p);
	int (*to_device)(void *to, const void *from, size_t bytes);
	int (*to_host)(void *to, const void *from, size_t bytes);
	int (*below)(const struct nb_domain *d, size_t count, const uint64_t *bound, size_t *first);
	/* *finite: all positions that a drift has given are */
	int (*move)(struct nb_domain *d, double kick, double drift, int *finite);
	int (*force)(struct nb_domain *d, double *largest);
};

NB_C_END
#endif
