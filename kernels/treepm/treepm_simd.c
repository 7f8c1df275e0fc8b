/* The near part by vectors: of sources, past one target after the other. */
#include "kernels/gravity/gravity.h"
#include "kernels/simd/simd.h"
#include "kernels/treepm/treepm_internal.h"

#include <string.h>

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

#define NB_PULL_PRECISION 1
#include "kernels/treepm/pull_body.h"
#define NB_PULL_PRECISION 2
#include "kernels/treepm/pull_body.h"
