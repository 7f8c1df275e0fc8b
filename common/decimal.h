/* decimal.h - numbers of big text tables: exactly rounded like strtod and printf, several times faster.
 *
 * Numbers of at most 19 digits and moderate exponents (all that people and programs write for bodies) need one
 * multiplication in the 64-bit mantissa of x87's long double; whenever that could round wrongly, and for all
 * else, strtod and snprintf decide. */
#ifndef NB_DECIMAL_H
#define NB_DECIMAL_H

#include <stddef.h>

enum { NB_DECIMAL_SIZE = 32 };

/* Reads the decimal number (no hexadecimal, no "nan" or "inf") that begins at text, correctly rounded; the decimal
 * point is '.'.  Returns the first character after it, or NULL where none begins.  *x is infinite for a number
 * beyond the range of f64. */
const char *nb_decimal_read(const char *text, double *x);

/* Writes x so that it reads back to the same bits: of 15, 16 and 17 digits the fewest that do.  "nan", "inf" and
 * "-inf" for what is no number.  The buffer has NB_DECIMAL_SIZE bytes; returns the length. */
size_t nb_decimal_write(double x, char *to);

#endif
