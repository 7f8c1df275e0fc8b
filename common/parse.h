/* parse.h - numbers from text, read whole and in range. */
#ifndef NB_PARSE_H
#define NB_PARSE_H

#include <stddef.h>
#include <stdint.h>

enum nb_parse { NB_PARSE_OK = 0, NB_PARSE_INVALID, NB_PARSE_TOO_SMALL, NB_PARSE_TOO_LARGE };

/* A decimal integer in [min, max], nothing before or after it. */
enum nb_parse nb_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);
enum nb_parse nb_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out);
/* A count in [min, max] as people write it: 250, 1e6, 1.5k = 1500, 2M, 1Mi = 2^20.  The suffixes are k (or K), M, G and
 * T, powers of 1000, and Ki, Mi, Gi and Ti, powers of 1024.  The value is exact: 1.5 and 1e-3 are invalid. */
enum nb_parse nb_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* A finite decimal (or hexadecimal) floating-point number, nothing before or after it; the decimal
 * point is '.' whatever the locale. */
enum nb_parse nb_parse_f64(const char *text, double *out);
/* "1,2.5,3": count numbers, at most max of them, into out. NB_PARSE_TOO_LARGE: more than max. */
enum nb_parse nb_parse_f64_list(const char *text, size_t max, double *out, size_t *count);
/* Where a range A:B, which may also be written A-B, is divided: at a ':', or at a '-' behind a digit or point; end: it
 * is not. */
const char *nb_range_gap(const char *at, const char *end);
/* The text up to end as two real numbers, A:B, A-B or A,B; one that is left out stays as it is. */
enum nb_parse nb_parse_range(const char *at, const char *end, double range[2]);
/* "0,3-5,9": count numbers from 0 to 255 in this order, each once. */
enum nb_parse nb_parse_species(const char *text, unsigned char out[256], size_t *count);
/* The shortest decimal text that reads back as x; buffer of at least NB_F64_TEXT bytes. */
enum { NB_F64_TEXT = 32 };
const char *nb_format_f64(double x, char *buffer);

#endif
