/* cpu_internal.h - the operators of the fast multipole method on the CPU, for fmm_cpu.c and the tests.
 *
 * What happens to the children of a box happens to all of them at once, one in each lane: 8 in 3-D, 4 in 2-D. */
#ifndef NB_FMM_CPU_INTERNAL_H
#define NB_FMM_CPU_INTERNAL_H

#include "common/cpu.h"
#include "kernels/fmm/expansion_internal.h"

/* Tables of one dimension and order; expansion_internal.h has the order of the coefficients. */
struct nb_fmm_basis {
	int dim, order;
	int n, nlow;  /* coefficients; those of a degree below the order */
	int ntensor;  /* T_n up to order + 2 */
	int children; /* 4 or 8, lanes */
	double unit;  /* multipoles are those of unit * mass, a power of two: 1 after nb_fmm_basis_fill */
	uint8_t degree[NB_FMM_TERMS];
	double over[NB_FMM_TERMS], half[NB_FMM_TERMS];	/* 1 / a!, 2^-|a| */
	uint8_t from[NB_FMM_TERMS], axis[NB_FMM_TERMS]; /* a = from + the unit vector of axis */
	uint8_t up[NB_FMM_TERMS][3];			/* a + unit vector, for degrees below the order */
	/* sum[first[a] + b] = a + b for |a| + |b| <= order + 2 */
	uint16_t first[NB_FMM_TERMS];
	uint16_t sum[NB_FMM_TERMS * NB_FMM_TERMS];
	/* (n x children) o^a / a!, o from the centre of a box to that of the child, in edges of the box; and (-o)^a */
	double shift[NB_FMM_TERMS * 8], back[NB_FMM_TERMS * 8];
};

/* How many b with |b| <= order go with an a of some degree, if |a| + |b| <= total; they are the first. */
static inline int nb_fmm_partners(const struct nb_fmm_basis *basis, int degree, int total)
{
	const int most = total - degree < basis->order ? total - degree : basis->order;
	return most < 0 ? 0 : nb_fmm_below(basis->dim, most + 1);
}

void nb_fmm_basis_fill(struct nb_fmm_basis *basis, int dim, int order);

/* Boxes of one level, what the kernels need of them. */
struct nb_fmm_box {
	double lo[3];	/* corner of the cube */
	double edge;	/* of the box */
	uint32_t at[3]; /* its place among the boxes of its level */
};

/* The operators, once per instruction set.
 *   p2m  bodies first..last-1 of a box to its multipoles m (n); returns 0, or 1 if a body is not in the box
 *   m2m  m (n) of a box from those of its children (NULL: empty)
 *   l2l  local (n x children) of the children, overwritten, from l (n) of the box
 *   m2l  adds the fields of many children of neighbours, source[k] (n), to local[k] (n x children) of the children of
 *        as many boxes; tensor (ntensor x children): T from such a child to the children, 0 where they touch; terms
 *        with |a| + |b| <= total
 *   l2p  adds the field l (n) to the accelerations and potentials of bodies first..last-1 */
struct nb_fmm_operators {
	int (*p2m)(const struct nb_fmm_basis *basis, const struct nb_gravity *g, const struct nb_fmm_box *box,
		size_t first, size_t last, double *m);
	void (*m2m)(const struct nb_fmm_basis *basis, const double *const *child, double *m);
	void (*l2l)(const struct nb_fmm_basis *basis, const double *l, double *local);
	void (*m2l)(const struct nb_fmm_basis *basis, int total, const double *tensor, int many,
		const double *const *source, double *const *local);
	void (*l2p)(const struct nb_fmm_basis *basis, const struct nb_gravity *g, const struct nb_fmm_box *box,
		size_t first, size_t last, const double *l);
};
#define NB_FMM_OPERATORS(prefix, NAME, name) extern const struct nb_fmm_operators prefix##name;
NB_ISAS(NB_FMM_OPERATORS, nb_fmm_operators_)

/* Those of nb_cpu_isa(). */
const struct nb_fmm_operators *nb_fmm_operators_cpu(void);

#endif
