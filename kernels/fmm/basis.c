/* The tables of a dimension and an order, for the CPU. */
#include "kernels/fmm/cpu_internal.h"

static double power(double x, int k)
{
	double p = 1;
	while (k-- > 0)
		p *= x;
	return p;
}

/* The row of the multi-index a: whence it comes, and its powers of the children's offsets. */
static void fill_row(struct nb_fmm_basis *basis, const int *a)
{
	const int dim = basis->dim, k = a[0] + a[1] + a[2], at = nb_fmm_term(dim, a[0], a[1], a[2]);
	double factorial = 1;
	for (int d = 0; d < 3; d++)
		for (int f = 2; f <= a[d]; f++)
			factorial *= f;
	basis->degree[at] = (uint8_t)k;
	basis->over[at] = 1 / factorial;
	basis->half[at] = power(0.5, k);
	const int axis = a[0] ? 0 : a[1] ? 1 : 2;
	basis->axis[at] = (uint8_t)axis;
	if (k > 0)
		basis->from[at] = (uint8_t)nb_fmm_term(dim, a[0] - (axis == 0), a[1] - (axis == 1), a[2] - (axis == 2));
	for (int d = 0; d < dim && k < basis->order; d++)
		basis->up[at][d] = (uint8_t)nb_fmm_term(dim, a[0] + (d == 0), a[1] + (d == 1), a[2] + (d == 2));
	for (int c = 0; c < basis->children; c++) {
		double p = basis->over[at];
		for (int d = 0; d < dim; d++)
			p *= power(nb_fmm_bit(dim, c, d) ? 0.25 : -0.25, a[d]);
		basis->shift[at * basis->children + c] = p;
		basis->back[at * basis->children + c] = k % 2 ? -p : p;
	}
}

void nb_fmm_basis_fill(struct nb_fmm_basis *basis, int dim, int order)
{
	int index[NB_FMM_TERMS][3], n = 0, sums = 0;
	*basis = (struct nb_fmm_basis){.dim = dim, .order = order, .children = 1 << dim, .unit = 1};
	basis->n = nb_fmm_below(dim, order + 1);
	basis->ntensor = nb_fmm_below(dim, order + 3);
	basis->nlow = nb_fmm_below(dim, order);
	for (int k = 0; k <= order; k++)
		for (int x = k; x >= 0; x--)
			for (int y = k - x; y >= (dim == 3 ? 0 : k - x); y--) {
				const int a[3] = {x, y, k - x - y};
				for (int d = 0; d < 3; d++)
					index[n][d] = a[d];
				n++;
				fill_row(basis, a);
			}
	for (int a = 0; a < n; a++) {
		basis->first[a] = (uint16_t)sums;
		const int many = nb_fmm_partners(basis, basis->degree[a], order + 2);
		for (int b = 0; b < many; b++)
			basis->sum[sums++] = (uint16_t)nb_fmm_term(
				dim, index[a][0] + index[b][0], index[a][1] + index[b][1], index[a][2] + index[b][2]);
	}
}

double nb_fmm_terms(int dim, int order)
{
	const int children = 1 << dim;
	double terms = 0;
	for (int table = 0; table < (dim == 3 ? 26 : 8) * children; table++) {
		const int q = table / children, s = table % children, total = nb_fmm_total(dim, order, q, s);
		double pairs = 0, apart = 0;
		int offset[3];
		for (int k = 0; k <= order; k++) {
			const int most = total - k < order ? total - k : order;
			pairs += (nb_fmm_below(dim, k + 1) - nb_fmm_below(dim, k)) * nb_fmm_below(dim, most + 1);
		}
		for (int t = 0; t < children; t++)
			apart += nb_fmm_offset(dim, q, s, t, offset);
		terms += pairs * apart / children;
	}
	return terms;
}
