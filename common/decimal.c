#include "common/decimal.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 19, MAX_POWER = 27, EXPONENT_LIMIT = 100000 };

/* exact in a mantissa of 64 bits: 5^27 < 2^63 */
static const long double power_of_ten[MAX_POWER + 1] = {1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L,
	1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L,
	1e26L, 1e27L};

/* digits * 10^exponent, correctly rounded, if that is cheap: 1, else 0. */
static int assemble(uint64_t digits, int exponent, double *x)
{
	if (digits == 0) { /* strtod would take 0x for the beginning of a number */
		*x = 0;
		return 1;
	}
#if LDBL_MANT_DIG == 64
	if (exponent < -MAX_POWER || exponent > MAX_POWER)
		return 0;
	/* both operands are exact, so the result is off by at most half a unit of its 64 bits; rounding that to 53
	 * bits is right unless the 11 bits that go look like exactly one half */
	long double wide = exponent < 0 ? (long double)digits / power_of_ten[-exponent]
					: (long double)digits * power_of_ten[exponent];
	uint64_t mantissa;
	memcpy(&mantissa, &wide, sizeof mantissa);
	if ((mantissa & 0x7ff) == 0x400)
		return 0;
	*x = (double)wide;
	return 1;
#else
	(void)exponent, (void)power_of_ten;
	return 0;
#endif
}

static unsigned digit_of(char c)
{
	return (unsigned)(unsigned char)c - '0';
}

const char *nb_decimal_read(const char *text, double *x)
{
	const char *p = text;
	int negative = *p == '-';
	if (*p == '-' || *p == '+')
		p++;
	const char *begin = p;
	uint64_t digits = 0;
	int ndigit = 0, exponent = 0, dropped = 0;
	size_t point = 0;
	for (; digit_of(*p) < 10; p++) {
		if (ndigit < MAX_DIGITS) {
			digits = 10 * digits + digit_of(*p);
			ndigit += digits != 0;
		} else {
			dropped = 1;
		}
	}
	if (*p == '.') {
		point = 1;
		for (p++; digit_of(*p) < 10; p++) {
			if (ndigit < MAX_DIGITS) {
				digits = 10 * digits + digit_of(*p);
				ndigit += digits != 0;
				exponent -= exponent > -EXPONENT_LIMIT;
			} else {
				dropped = 1;
			}
		}
	}
	if ((size_t)(p - begin) == point)
		return NULL;
	if (*p == 'e' || *p == 'E') {
		const char *e = p + 1;
		int minus = *e == '-', value = 0;
		if (*e == '-' || *e == '+')
			e++;
		if (digit_of(*e) < 10) {
			for (; digit_of(*e) < 10; e++)
				if (value < EXPONENT_LIMIT)
					value = 10 * value + (int)digit_of(*e);
			exponent += minus ? -value : value;
			p = e;
		}
	}
	if (dropped || !assemble(digits, exponent, x)) {
		*x = strtod(text, NULL);
		return p;
	}
	if (negative)
		*x = -*x;
	return p;
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* x is finite, so 17 digits suffice. */
static size_t by_printf(double x, char *to)
{
	int length, precision = 15;
	do
		length = snprintf(to, NB_DECIMAL_SIZE, "%.*g", precision++, x);
	while (strtod(to, NULL) != x);
	return (size_t)length;
}

/* digits * 10^exponent in the form of %g: digits without trailing zeros, exponent form outside 1e-4 .. 1e16.  An
 * exponent there has two digits, as powers of ten here end at MAX_POWER. */
static size_t layout(uint64_t digits, int exponent, char *to)
{
	char text[24];
	int n = 0;
	while (digits % 10 == 0) {
		digits /= 10;
		exponent++;
	}
	for (; digits; digits /= 10)
		text[n++] = (char)('0' + digits % 10); /* last digit first */
	int first = exponent + n - 1;		       /* power of ten of the first digit */
	char *out = to;
	if (first < -4 || first >= 16) {
		*out++ = text[--n];
		if (n)
			*out++ = '.';
		while (n)
			*out++ = text[--n];
		*out++ = 'e';
		*out++ = first < 0 ? '-' : '+';
		int e = abs(first);
		*out++ = (char)('0' + e / 10);
		*out++ = (char)('0' + e % 10);
	} else if (first < 0) {
		*out++ = '0';
		*out++ = '.';
		for (int zeros = -first - 1; zeros > 0; zeros--)
			*out++ = '0';
		while (n)
			*out++ = text[--n];
	} else {
		for (int place = first; n || place >= 0; place--) {
			if (place == -1)
				*out++ = '.';
			*out++ = n ? text[--n] : '0';
		}
	}
	*out = '\0';
	return (size_t)(out - to);
}

size_t nb_decimal_write(double x, char *to)
{
	if (!isfinite(x)) {
		strcpy(to, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
		return strlen(to);
	}
	size_t sign = signbit(x) != 0;
	if (sign)
		*to = '-';
	x = fabs(x);
	if (x == 0) {
		strcpy(to + sign, "0");
		return sign + 1;
	}
	if (x < 1e15 && x == (double)(uint64_t)x)
		return sign + layout((uint64_t)x, 0, to + sign);
#if LDBL_MANT_DIG == 64
	/* 17 digits by one multiplication; a wrong last digit is found by reading them back */
	int binary;
	(void)frexp(x, &binary);
	int power = 17 - (int)ceil(0.30102999566398120 * binary);
	for (int attempt = 0; attempt < 2 && power <= MAX_POWER && power >= -MAX_POWER; attempt++) {
		long double wide = power < 0 ? (long double)x / power_of_ten[-power]
					     : (long double)x * power_of_ten[power];
		if (wide < 1e16L) { /* the logarithm was rounded up: one digit more */
			power++;
			continue;
		}
		/* 15, 16 and 17 digits, each the nearest; where the product, which has been rounded, does not say to
		 * which side a half goes, printf does */
		const uint64_t digits = (uint64_t)(wide + 0.5L);
		const long double above = (long double)digits - wide;
		if (above == 0.5L || (above == 0 && (digits % 10 == 5 || digits % 100 == 50)))
			break;
		const uint64_t down = above > 0,
			       candidate[3] = {(digits + 50 - down) / 100, (digits + 5 - down) / 10, digits};
		for (int i = 0; i < 3; i++) {
			double back;
			if (!assemble(candidate[i], 2 - i - power, &back))
				break;
			if (back == x)
				return sign + layout(candidate[i], 2 - i - power, to + sign);
		}
		break;
	}
#endif
	return sign + by_printf(x, to + sign);
}
