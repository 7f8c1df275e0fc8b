/* reals.h - numbers in double or in single precision, to be read where they are. */
#ifndef NB_REALS_H
#define NB_REALS_H

#include <stddef.h>

struct nb_reals {
	const double *f64;
	const float *f32; /* in place of f64, unless it is NULL; both NULL: there are none */
};

static inline int nb_reals_there(struct nb_reals reals)
{
	return reals.f64 || reals.f32;
}

static inline double nb_real(struct nb_reals reals, size_t i)
{
	return reals.f32 ? (double)reals.f32[i] : reals.f64[i];
}

/* Row i of n x 3 numbers. */
static inline void nb_reals_row(struct nb_reals reals, size_t i, double row[3])
{
	if (reals.f32) /* once for all three: a few per cent of a search of groups */
		for (size_t k = 0; k < 3; k++)
			row[k] = reals.f32[3 * i + k];
	else
		for (size_t k = 0; k < 3; k++)
			row[k] = reals.f64[3 * i + k];
}

/* The same of numbers that may not be there: 1 then, as of masses. */
static inline double nb_real_or_1(struct nb_reals reals, size_t i)
{
	return nb_reals_there(reals) ? nb_real(reals, i) : 1;
}

#endif
