#include "kernels/measure/measure.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void swap(double *a, double *b)
{
	double t = *a;
	*a = *b;
	*b = t;
}

double nb_quantile(size_t n, double *x, double q)
{
	ptrdiff_t lo = 0, hi = (ptrdiff_t)n - 1, k = (ptrdiff_t)(q * (double)hi);
	/* Hoare's selection with the median of three; the rare order that defeats it is sorted instead */
	for (int tries = 0; lo < hi; tries++) {
		if (tries == 200) {
			qsort(x + lo, (size_t)(hi - lo + 1), sizeof *x, ascending);
			break;
		}
		ptrdiff_t i = lo, j = hi, mid = lo + (hi - lo) / 2;
		if (x[mid] < x[lo])
			swap(&x[mid], &x[lo]);
		if (x[hi] < x[lo])
			swap(&x[hi], &x[lo]);
		if (x[hi] < x[mid])
			swap(&x[hi], &x[mid]);
		const double pivot = x[mid];
		while (i <= j) {
			while (x[i] < pivot)
				i++;
			while (x[j] > pivot)
				j--;
			if (i <= j)
				swap(&x[i++], &x[j--]);
		}
		if (k <= j)
			hi = j;
		else if (k >= i)
			lo = i;
		else
			break;
	}
	return x[k];
}
