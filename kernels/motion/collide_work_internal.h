/* collide_work_internal.h - what the parts of nb_collide_cpu share: the tree of boxes, and sets of bodies; private. */
#ifndef NB_COLLIDE_WORK_INTERNAL_H
#define NB_COLLIDE_WORK_INTERNAL_H

#include "common/sets.h"
#include "kernels/motion/collide_internal.h"

#define LAST UINT64_MAX

enum { LANES = 8 }; /* bodies in a leaf */

/* lower corner, then the upper one with the sign turned: two boxes meet if each number of one is at most the
 * reach of the other, which is the same numbers in the other order with the signs turned */
struct box {
	double c[6];
};

struct leaf {
	double c[6][LANES];
};

/* the paths of the bodies of a leaf, side by side */
struct course {
	double q[3][LANES], u[3][LANES], t[LANES];
};

struct heap {
	struct entry {
		struct nb_contact contact; /* of a, found when a and b had changed so many times */
		uint32_t changes_a, changes_b;
	} * entry;
	size_t n, size;
};

struct nb_collide_work {
	struct nb_collide_state x;
	size_t nleaf, top;	  /* top: leaves of the complete tree */
	struct box *node;	  /* 2 top; children of node i: 2 i and 2 i + 1; root: 1; leaf l: top + l */
	struct leaf *leaf;	  /* nleaf */
	struct nb_contact *first; /* n: first contact of each body */
	uint64_t *turn;		  /* n: number of the contact that changed the body last; 0: none */
	uint64_t turns;		  /* contacts so far */
	int labelled;		  /* else all labels are 0 and say nothing, and there are no courses */
	uint64_t *label;	  /* n: ids, or rows where there are none; LAST for bodies that touch nothing more */
	uint64_t *least;	  /* 2 top: the smallest label of a node */
	struct course *course;	  /* nleaf */
	uint32_t *set;		  /* n, mergers: the set of a body: its parent in the forest, itself at the root */
	uint32_t *whole;	  /* 2 top, mergers: a body of the node if all of them are in one set, else NB_NOBODY */
	double *middle;		  /* n x 3: of the paths */
	uint64_t *key;		  /* n: Z-order */
	uint32_t *perm;		  /* n */
	struct heap heap;
};

/* two numbers at a time, which every x86-64 compares at once */
typedef double duo __attribute__((vector_size(16), aligned(8), may_alias));
typedef long long duo_mask __attribute__((vector_size(16)));

static inline duo two(const double *x)
{
	return *(const duo *)x;
}

static inline struct box nb_collide_lane_box(const struct leaf *leaf, unsigned lane)
{
	struct box box = {{0}};
	for (int k = 0; k < 6; k++)
		box.c[k] = leaf->c[k][lane];
	return box;
}

/* May the body touch another one?  A merger may always: see nb_collide_contact. */
static inline int nb_collide_may_touch(const struct nb_collide_state *x, uint32_t a)
{
	return x->c->mode == NB_COLLIDE_MERGE || x->mark[a].changes < NB_COLLIDE_MOST;
}

/* ---- collide_tree_cpu.c: the tree ---- */

/* Boxes of all bodies and nodes; of a body after a contact of it, and of the nodes above. */
void nb_collide_fit_all(struct nb_collide_work *w);
void nb_collide_fit_one(struct nb_collide_work *w, uint32_t a);
/* Labels of all bodies and nodes, and courses. */
void nb_collide_label_all(struct nb_collide_work *w);

/* ---- collide_sets_cpu.c: sets of bodies that overlap ---- */

/* Joins neighbours on the curve, and finds the nodes that are in one set thereby. */
void nb_collide_join_neighbours(struct nb_collide_work *w);
/* Makes one body of each set; *united: of how many in all.  NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_collide_unite_sets(struct nb_collide_work *w, size_t *united);

#endif
