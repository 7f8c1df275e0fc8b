/* wire.h - binary files that are imported: blocks of bytes, or one clear reason why there are none, and the
 * numbers in them. */
#ifndef NB_EXCHANGE_WIRE_H
#define NB_EXCHANGE_WIRE_H

#include "formats/exchange/bytes.h"
#include "formats/exchange/exchange.h"

/* Sets in->error to "NAME: message"; returns NB_EINVAL. */
int nb_wire_fail(struct nb_import *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* How many bytes the file has; UINT64_MAX: that is not known, as of a pipe. */
uint64_t nb_wire_size(const struct nb_import *in);
/* How many of the next most bytes (at most NB_BLOCK) there are, fewer only at the end; *next, where they are until the
 * next call.  SIZE_MAX: reading failed, in->error is set. */
size_t nb_wire_look(struct nb_import *in, size_t most, const unsigned char **next);
/* Takes the next n bytes (at most NB_BLOCK), which belong to what.  NULL: there are fewer, or reading failed;
 * in->error is set. */
const unsigned char *nb_wire_take(struct nb_import *in, size_t n, const char *what);
/* Passes n bytes, however many, that belong to what.  NB_OK, or NB_EINVAL and in->error. */
NB_MUST_CHECK int nb_wire_skip(struct nb_import *in, uint64_t n, const char *what);
/* NB_EINVAL and in->error if a file of known size cannot have n more bytes, else NB_OK. */
NB_MUST_CHECK int nb_wire_need(struct nb_import *in, uint64_t n, const char *what);

/* ---- numbers of either byte order, at any address ------------------------------------------------ */

uint32_t nb_wire_u32(const void *from, int big);
uint64_t nb_wire_u64(const void *from, int big);
double nb_wire_f64(const void *from, int big);
/* count floats as doubles, and whole numbers of 4 bytes as those of 8 */
void nb_wire_widen(size_t count, const void *from, int big, double *to);
void nb_wire_widen_u32(size_t count, const void *from, int big, uint64_t *to);
/* count numbers of 1, 2, 4 or 8 bytes into little-endian ones */
void nb_wire_order(size_t count, size_t size, const void *from, int big, void *to);
/* The first of them that is finite, but becomes infinite as a float; count: none does. */
size_t nb_wire_beyond_f4(size_t count, const double *x);

#endif
