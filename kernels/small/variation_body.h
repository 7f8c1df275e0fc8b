/* variation_body.h - what a step adds to a MEGNO (variation.h), for a processor and, in CUDA code, for a device. */
#ifndef NB_SMALL_VARIATION_BODY_H
#define NB_SMALL_VARIATION_BODY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/hd.h"
#include "kernels/small/small.h"

/* A square of a size beyond which all is scaled, and the factor: nothing else depends on them. */
static const double nb_variation_large2 = 0x1p400, nb_variation_smaller = 0x1p-200;

/* The natural logarithm of a normal number > 0, to rounding; NaN of what is not finite. */
static NB_HD double nb_variation_log(double x)
{
	enum { TERMS = 9, BIAS = 1023, MANTISSA = 52 };
	const uint64_t one = (uint64_t)BIAS << MANTISSA;
	uint64_t bits;
	double part, sum = 0;
	memcpy(&bits, &x, sizeof bits);
	int power = (int)(bits >> MANTISSA) - BIAS;
	if (power > BIAS)
		return x - x;
	bits = (bits & (((uint64_t)1 << MANTISSA) - 1)) | one;
	memcpy(&part, &bits, sizeof part);
	if (part > 1.4142135623730951) {
		part /= 2;
		power++;
	}
	const double s = (part - 1) / (part + 1), s2 = s * s; /* ln part = 2 artanh s */
	for (int k = TERMS - 1; k >= 0; k--)
		sum = sum * s2 + 1.0 / (2 * k + 1);
	return 2 * s * sum + power * 0.69314718055994531;
}

/* After a step h, to which the integral int t (ln S)' dt has got more. */
static NB_HD void nb_megno_add(struct nb_megno *m, double h, double more)
{
	const double before = m->y;
	m->time += h;
	m->part += more;
	m->y = 2 * m->part / m->time;
	m->integral += h / 2 * (before + m->y);
	m->n++;
	const double t = m->time - m->mean_t, y = m->y - m->mean_y, share = 1 / m->n;
	m->mean_t += t * share;
	m->mean_y += y * share;
	m->spread += t * (m->time - m->mean_t);
	m->both += t * (m->y - m->mean_y);
}

/* The same where S^2 is known before and after the step alone: its logarithm is taken to change at an even rate. */
static NB_HD void nb_megno_add_size(struct nb_megno *m, double h, double size2)
{
	const double log2 = nb_variation_log(size2);
	nb_megno_add(m, h, (m->time + h / 2) * ((log2 - m->log_size2) / 2));
	m->log_size2 = log2;
}

/* After the variation was scaled. */
static NB_HD void nb_megno_scaled(struct nb_megno *m)
{
	m->log_size2 -= 400 * 0.69314718055994531;
}

#endif
