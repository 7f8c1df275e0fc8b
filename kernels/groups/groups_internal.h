/* groups_internal.h - bodies in the order of a tree, and distances between them. */
#ifndef NB_GROUPS_INTERNAL_H
#define NB_GROUPS_INTERNAL_H

#include "common/periodic.h"
#include "kernels/groups/exact_internal.h"
#include "kernels/groups/groups.h"
#include "kernels/tree/tree.h"

struct nb_sorted {
	struct nb_link_law law;
	size_t n;
	double *pos;	/* n x 3, in the order of the tree, inside of the box */
	uint32_t *perm; /* n, where each body was */
	struct nb_tree tree;
};

/* Of n >= 1 bodies, whose number and law are there.  NB_OK, or what it failed with; nb_sorted_free follows in any case.
 */
NB_MUST_CHECK int nb_sorted_make(struct nb_sorted *sorted, const double *pos);
void nb_sorted_free(struct nb_sorted *sorted);

/* Squared distance of two bodies, of which the law says what its rounding leaves open. */
static inline double nb_link_distance2(const struct nb_link_law *law, const double *a, const double *b)
{
	double d2 = 0;
	for (int k = 0; k < law->dim; k++) {
		const double d = nb_periodic_distance(a[k], b[k], law->box, law->half);
		d2 += d * d;
	}
	return d2;
}

/* The least squared distance between a body of one box and one of the other. */
static inline double nb_link_gap2(const struct nb_link_law *law, const double *a, const double *b)
{
	double gap2 = 0;
	for (int k = 0; k < law->dim; k++) {
		const double gap = nb_periodic_gap(a[k], a[k + 3], b[k], b[k + 3], law->box);
		gap2 += gap * gap;
	}
	return gap2;
}

#endif
