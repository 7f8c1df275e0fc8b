/* operators_simd.c - P2M, M2M, M2L, L2L and L2P, for one instruction set. */
#include "common/cpu.h"
#include "kernels/fmm/cpu_internal.h"
#include "kernels/simd/simd.h"

#include <string.h>

#define LANES 8
#define NAME three
#if defined(NB_ISA_avx512)
#define VEC 8
#elif defined(NB_ISA_avx2)
#define VEC 4
#else
#define VEC 2
#endif
#include "kernels/fmm/lanes_body.h"

#define LANES 4
#define NAME two
#if defined(NB_ISA_avx512) || defined(NB_ISA_avx2)
#define VEC 4
#else
#define VEC 2
#endif
#include "kernels/fmm/lanes_body.h"

static void m2m(const struct nb_fmm_basis *basis, const double *const *child, double *m)
{
	(basis->dim == 3 ? m2m_three : m2m_two)(basis, child, m);
}

static void l2l(const struct nb_fmm_basis *basis, const double *l, double *local)
{
	(basis->dim == 3 ? l2l_three : l2l_two)(basis, l, local);
}

static void m2l(const struct nb_fmm_basis *basis, int total, const double *tensor, int many,
	const double *const *source, double *const *local)
{
	for (int k = 0; k < many;) {
		const int left = many - k, next = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
		if (basis->dim == 3)
			m2l_three(basis, total, tensor, next, source + k, local + k);
		else
			m2l_two(basis, total, tensor, next, source + k, local + k);
		k += next;
	}
}

/* ---- bodies, one in each lane ---------------------------------------------------------------------- */

/* Bodies from the centre of their box, in its edges; lanes beyond the last body hold 0.  Returns whether all are in
 * the box. */
static int places(int dim, const double *pos, const struct nb_fmm_box *box, size_t first, size_t last, nb_vd *place)
{
	const size_t many = last - first < (size_t)NB_WD ? last - first : (size_t)NB_WD;
	const double *x = pos + 3 * first;
	int inside = 1;
	for (int d = 0; d < dim; d++) {
		double p[NB_WD] = {0};
		for (size_t i = 0; i < many; i++) {
			p[i] = (x[3 * i + (size_t)d] - box->lo[d]) / box->edge - (box->at[d] + 0.5);
			inside &= fabs(p[i]) <= 0.5 + NB_FMM_SLACK;
		}
		memcpy(&place[d], p, sizeof p);
	}
	for (size_t i = 0; i < many; i++)
		inside &= dim == 3 || x[3 * i + 2] == 0;
	return inside;
}

static int p2m(const struct nb_fmm_basis *basis, const struct nb_gravity *g, const struct nb_fmm_box *box, size_t first,
	size_t last, double *m)
{
	nb_vd sum[NB_FMM_TERMS], power[NB_FMM_TERMS], place[3];
	memset(sum, 0, (size_t)basis->n * sizeof *sum);
	for (size_t i = first; i < last; i += NB_WD) {
		if (!places(basis->dim, g->pos, box, i, last, place))
			return 1;
		double mass[NB_WD] = {0};
		for (size_t k = 0; k < NB_WD && i + k < last; k++)
			mass[k] = g->mass[i + k] * basis->unit;
		memcpy(&power[0], mass, sizeof mass);
		sum[0] += power[0];
		for (int a = 1; a < basis->n; a++) {
			power[a] = -power[basis->from[a]] * place[basis->axis[a]];
			sum[a] += power[a];
		}
	}
	for (int a = 0; a < basis->n; a++)
		m[a] = nb_sum_vd(sum[a]) * basis->over[a];
	return 0;
}

/* The sums of each lane to the rows of its body, acc times a factor. */
static void add_rows(const struct nb_gravity *g, double factor, size_t first, size_t many, const nb_vd *acc, nb_vd pot)
{
	for (size_t i = 0; i < many; i++) {
		for (size_t d = 0; d < 3; d++)
			g->acc[3 * (first + i) + d] += factor * acc[d][i];
		if (g->pot)
			g->pot[first + i] -= pot[i];
	}
}

static void l2p(const struct nb_fmm_basis *basis, const struct nb_gravity *g, const struct nb_fmm_box *box,
	size_t first, size_t last, const double *l)
{
	double slope[3][NB_FMM_TERMS], height[NB_FMM_TERMS];
	for (int a = 0; a < basis->n; a++)
		height[a] = l[a] * basis->over[a];
	for (int d = 0; d < basis->dim; d++)
		for (int a = 0; a < basis->nlow; a++)
			slope[d][a] = l[basis->up[a][d]] * basis->over[a];
	nb_vd power[NB_FMM_TERMS], place[3];
	for (size_t i = first; i < last; i += NB_WD) {
		nb_vd acc[3] = {{0}}, pot = {0};
		(void)places(basis->dim, g->pos, box, i, last, place);
		power[0] = pot + 1;
		for (int a = 1; a < basis->nlow; a++)
			power[a] = power[basis->from[a]] * place[basis->axis[a]];
		for (int d = 0; d < basis->dim; d++)
			for (int a = 0; a < basis->nlow; a++)
				acc[d] += power[a] * slope[d][a];
		for (int a = 0; a < basis->n && g->pot; a++)
			pot += (a < basis->nlow ? power[a] : power[basis->from[a]] * place[basis->axis[a]]) * height[a];
		/* acc is in units of 1 / edge^2, pot of 1 / edge, both of scaled masses; one factor after the other, as
		 * their product may leave the range that the result is in */
		const double factor = g->G / basis->unit / box->edge;
		const size_t many = last - i < (size_t)NB_WD ? last - i : (size_t)NB_WD;
		for (int d = 0; d < basis->dim; d++)
			acc[d] *= factor;
		add_rows(g, 1 / box->edge, i, many, acc, pot * factor);
	}
}

const struct nb_fmm_operators NB_ISA(nb_fmm_operators) = {p2m, m2m, l2l, m2l, l2p};
