/* tree_internal.h - the tree that Gangavarapu et al. and Xu, Xu & Chen build: bodies inserted one after the other, each
 * to a cell of its own; nodes linked by indices into one array, parents before children. */
#ifndef NB_PAPERS_TREE_INTERNAL_H
#define NB_PAPERS_TREE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

enum {
	NB_PAPER_DEPTH = 48, /* a cell this deep is not divided, so that coincident bodies end somewhere */
	NB_PAPER_NONE = -1
};

struct nb_paper_node {
	double middle[3], edge;
	int32_t child[8]; /* NB_PAPER_NONE where there is none */
	int32_t body;	  /* a leaf's first body, the next of them from nb_paper_tree.next */
	uint32_t count;	  /* bodies */
	int32_t depth;
};

struct nb_paper_tree {
	int dim;
	size_t n, nnode, room;
	struct nb_paper_node *node; /* node 0 is the root */
	int32_t *next;		    /* n: the next body in the same leaf, or NB_PAPER_NONE */
};

/* Inserts n bodies (pos n x 3, finite) in order; dim 2 (quadtree over x and y) or 3.  At most 2^31 / 48
 * bodies (NB_ELIMIT).  0, NB_EINVAL (dim) or NB_ENOMEM; release with nb_paper_tree_free. */
NB_MUST_CHECK int nb_paper_tree_insert(size_t n, const double *pos, int dim, struct nb_paper_tree *tree);
void nb_paper_tree_free(struct nb_paper_tree *tree);

static inline int nb_paper_leaf(const struct nb_paper_node *node)
{
	return node->body != NB_PAPER_NONE;
}

NB_C_END
#endif
