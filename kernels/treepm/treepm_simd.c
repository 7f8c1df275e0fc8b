/* The near part by vectors: of sources, past one target after the other. */
#include "kernels/gravity/gravity.h"
#include "kernels/simd/simd.h"
#include "kernels/treepm/treepm_internal.h"

#include <string.h>

#define LOAD(p) (*(const nb_vd *)(p))

static NB_HD nb_vd load(const double *p)
{
	nb_vd v;
	memcpy(&v, p, sizeof v);
	return v;
}

/* The lanes inside, one after the other; what is written behind them is of no meaning. */
static NB_HD void append(double *to, nb_vd v, nb_vdi inside)
{
#if defined(NB_ISA_avx512)
	_mm512_storeu_pd(to, _mm512_maskz_compress_pd(_mm512_movepi64_mask((__m512i)inside), (__m512d)v));
#else
	size_t at = 0;
	for (int k = 0; k < (int)NB_WD; k++) {
		to[at] = v[k];
		at += inside[k] & 1;
	}
#endif
}

size_t NB_ISA(nb_treepm_collect)(const struct nb_treepm_side *sources, size_t from, size_t to, double box,
	double reach2, const struct nb_treepm_group *group, struct nb_treepm_list *list)
{
	const nb_vdi lane = nb_lane_vd();
	const double inverse = 1 / box;
	for (; from < to && list->n <= NB_TREEPM_LIST - NB_WD; from += NB_WD) {
		nb_vdi inside = lane < (nb_vdi){} + (int64_t)(to - from);
		nb_vd x[3], r2 = {};
		size_t count = 0;
		for (int c = 0; c < 3; c++) {
			x[c] = load(sources->x[c] + from);
			const nb_vd d = x[c] - group->centre[c];
			/* the nearest whole number: adding 1.5 2^52 leaves no room for what is behind the point */
			const nb_vd images = (d * inverse + 0x1.8p52) - 0x1.8p52;
			x[c] -= images * box;
			const nb_vd apart = d - images * box;
			const nb_vd size = nb_choose_vd(apart < 0, -apart, apart) - group->half[c];
			const nb_vd gap = nb_where_vd(size > 0, size);
			r2 += gap * gap;
		}
		inside &= r2 < reach2;
		for (int k = 0; k < (int)NB_WD; k++)
			count += inside[k] & 1;
		if (count == 0)
			continue;
		for (int c = 0; c < 3; c++)
			append(list->x[c] + list->n, x[c], inside);
		append(list->mass + list->n, load(sources->mass + from), inside);
		if (sources->soft)
			append(list->soft + list->n, load(sources->soft + from), inside);
		list->n += count;
	}
	return from < to ? from : to;
}

/* A polynomial of NB_TREEPM_TERMS terms, as two of v^2, so that chains are half as long. */
static NB_HD nb_vd polynomial(const double *term, nb_vd v, nb_vd v2)
{
	nb_vd even = (nb_vd){} + term[NB_TREEPM_TERMS - 2], odd = (nb_vd){} + term[NB_TREEPM_TERMS - 1];
	_Pragma("GCC unroll 16") for (int k = NB_TREEPM_TERMS - 4; k >= 0; k -= 2)
	{
		even = even * v2 + term[k];
		odd = odd * v2 + term[k + 1];
	}
	return odd * v + even;
}

static NB_HD void pull(const enum nb_pair_law form, const int pot, const struct nb_treepm_law *law,
	const struct nb_treepm_list *list, const double at[3], double soft, double sum[4])
{
	const size_t end = (list->n + NB_WD - 1) / NB_WD * NB_WD;
	nb_vd ax = {}, ay = {}, az = {}, ap = {};
	for (size_t j = 0; j < end; j += NB_WD) {
		const nb_vd x = LOAD(&list->x[0][j]) - at[0], y = LOAD(&list->x[1][j]) - at[1],
			    z = LOAD(&list->x[2][j]) - at[2];
		const nb_vd r2 = nb_pair_r2_vd(x, y, z, (nb_vd){}), mass = LOAD(&list->mass[j]);
		const nb_vd v = r2 * law->scale - 1, v2 = v * v;
		const nb_vdi within = r2 < law->cut2;
		nb_vd w, p = {};
		if (form == NB_LAW_COMMON) {
			const nb_vd s2 = r2 + law->eps2;
			if (pot) {
				const nb_vd y1 = nb_rsqrt_vd(s2);
				w = y1 * y1 * y1;
				p = nb_where_vd(s2 > law->none, y1);
			} else {
				w = nb_cube_vd(s2, nb_guess_vd(s2));
			}
		} else {
			const int spline = form == NB_LAW_SPLINE;
			const nb_vd other = LOAD(&list->soft[j]), own = (nb_vd){} + soft;
			const nb_vd both = nb_choose_vd(spline ? other < own : other > own, other, own);
			const nb_vd s2 = r2 + (spline ? (nb_vd){} + NB_PAIR_FLOOR_F64 : both);
			if (spline && !nb_any_vd(s2 * both * both < 1)) {
				const nb_vd y1 = nb_rsqrt_vd(s2);
				w = y1 * y1 * y1;
				p = y1;
			} else {
				const struct nb_pull_vd soften = nb_soften_vd(spline, 0, s2, both);
				w = soften.w;
				p = soften.p;
			}
		}
		const nb_vd f = nb_where_vd(within, mass * (w - polynomial(law->acc, v, v2)));
		nb_pair_add_vd(f, x, y, z, &ax, &ay, &az);
		if (pot)
			ap -= nb_where_vd(within, mass * (p - polynomial(law->pot, v, v2)));
	}
	sum[0] += nb_sum_vd(ax);
	sum[1] += nb_sum_vd(ay);
	sum[2] += nb_sum_vd(az);
	sum[3] += nb_sum_vd(ap);
}

static NB_HD void pull_all(const enum nb_pair_law form, const int pot, const struct nb_treepm_law *law,
	const struct nb_treepm_list *list, const struct nb_treepm_side *targets, size_t first, size_t count,
	double sum[][4])
{
	for (size_t k = 0; k < count; k++) {
		const size_t i = first + k;
		const double at[3] = {targets->x[0][i], targets->x[1][i], targets->x[2][i]};
		pull(form, pot, law, list, at, form == NB_LAW_COMMON ? 0 : targets->soft[i], sum[k]);
	}
}

void NB_ISA(nb_treepm_pull)(const struct nb_treepm_law *law, struct nb_treepm_list *list,
	const struct nb_treepm_side *targets, size_t first, size_t count, int pot, double sum[][4])
{
	for (size_t k = list->n; k < list->n + NB_WD; k++) { /* of the last vector, out of reach */
		for (int c = 0; c < 3; c++)
			list->x[c][k] = law->far;
		list->mass[k] = list->soft[k] = 0;
	}
	switch (law->law) {
	case NB_LAW_COMMON:
		pot ? pull_all(NB_LAW_COMMON, 1, law, list, targets, first, count, sum)
		    : pull_all(NB_LAW_COMMON, 0, law, list, targets, first, count, sum);
		break;
	case NB_LAW_PLUMMER:
		pot ? pull_all(NB_LAW_PLUMMER, 1, law, list, targets, first, count, sum)
		    : pull_all(NB_LAW_PLUMMER, 0, law, list, targets, first, count, sum);
		break;
	case NB_LAW_SPLINE:
		pot ? pull_all(NB_LAW_SPLINE, 1, law, list, targets, first, count, sum)
		    : pull_all(NB_LAW_SPLINE, 0, law, list, targets, first, count, sum);
		break;
	}
}
