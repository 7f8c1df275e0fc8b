/* groups_internal.h - bodies in the order of a tree, and sets of them in order. */
#ifndef NB_GROUPS_INTERNAL_H
#define NB_GROUPS_INTERNAL_H

#include "common/reals.h"
#include "kernels/groups/exact_internal.h"
#include "kernels/groups/groups.h"
#include "kernels/groups/sum_internal.h"
#include "kernels/tree/tree.h"

NB_C_BEGIN

/* Bodies of a leaf, at most, unless they are all in one place. */
enum { NB_LINK_LEAF = 16 };

/* Bodies, and a tree over them: body i of the tree is row perm[i]. */
struct nb_sorted {
	struct nb_link_law law;
	size_t n;
	struct nb_reals pos; /* n x 3, those of the caller */
	uint32_t *perm;	     /* n */
	struct nb_tree tree; /* of order 0, with boxes, of places inside of the periodic box */
};

/* Of n >= 1 bodies, whose number and law are there.  NB_OK, or what it failed with; nb_sorted_free follows in any case.
 */
NB_MUST_CHECK int nb_sorted_make(struct nb_sorted *sorted, struct nb_reals pos);
void nb_sorted_free(struct nb_sorted *sorted);

/* Of a row, and of a body of the tree. */
static inline void nb_sorted_row_place(const struct nb_sorted *sorted, size_t row, double place[3])
{
	double pos[3];
	nb_reals_row(sorted->pos, row, pos);
	nb_link_place(&sorted->law, pos, place);
}

static inline void nb_sorted_place(const struct nb_sorted *sorted, size_t i, double place[3])
{
	nb_sorted_row_place(sorted, sorted->perm[i], place);
}

/* label[i] = the smallest row of the group of body i; its own if it has no friends.  As nb_groups_find_cpu. */
NB_MUST_CHECK int nb_groups_link_cpu(size_t n, const double *pos, int dim, double length, double box, uint32_t *label);
NB_MUST_CHECK int nb_groups_link_reals_cpu(
	size_t n, struct nb_reals pos, int dim, double length, double box, uint32_t *label);

/* What becomes groups: sets of bodies, in any order. */
struct nb_group_sets {
	size_t count;
	uint32_t *size, *row; /* bodies, and the smallest row */
	uint64_t *id;	      /* the smallest */
	int64_t *sum;	      /* x NB_SUM_LIMBS: of the masses; NULL: each body has the mass 1 */
	int exponent;	      /* of the sums */
};

/* NB_OK, NB_ENOMEM; nb_group_sets_free follows in any case. */
NB_MUST_CHECK int nb_group_sets_alloc(struct nb_group_sets *sets, size_t count, int with_mass);
void nb_group_sets_free(struct nb_group_sets *sets);

/* The groups in order, but for their members; place[k] = the place of set k, from 1 on.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_groups_place(const struct nb_group_sets *sets, uint32_t *place, struct nb_groups *groups);

NB_C_END

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
