#include "formats/exchange/wire.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int nb_wire_fail(struct nb_import *in, const char *format, ...)
{
	int used = snprintf(in->error, sizeof in->error, "%s: ", nb_import_tail(in));
	va_list ap;
	va_start(ap, format);
	vsnprintf(in->error + used, sizeof in->error - (size_t)used, format, ap);
	va_end(ap);
	return NB_EINVAL;
}

uint64_t nb_wire_size(const struct nb_import *in)
{
	return in->bytes->seekable ? in->bytes->size : UINT64_MAX;
}

static int fail_read(struct nb_import *in)
{
	snprintf(in->error, sizeof in->error, "%s: read error: %s", in->name, strerror(errno));
	return NB_EINVAL;
}

size_t nb_wire_look(struct nb_import *in, size_t most, const unsigned char **next)
{
	size_t there;
	*next = nb_bytes_peek(in->bytes, most, &there);
	if (*next)
		return there;
	fail_read(in);
	return SIZE_MAX;
}

const unsigned char *nb_wire_take(struct nb_import *in, size_t n, const char *what)
{
	const unsigned char *next;
	const size_t have = nb_wire_look(in, n, &next);
	if (have == SIZE_MAX)
		return NULL;
	if (have < n) {
		nb_wire_fail(in, "the file ends at byte %" PRIu64 ", in %s", in->bytes->at + have, what);
		return NULL;
	}
	nb_bytes_pass(in->bytes, n);
	return next;
}

int nb_wire_need(struct nb_import *in, uint64_t n, const char *what)
{
	const uint64_t size = nb_wire_size(in), at = in->bytes->at;
	if (size == UINT64_MAX || (at <= size && n <= size - at))
		return NB_OK;
	return nb_wire_fail(in,
		"the file ends at byte %" PRIu64 ", in %s, which has %" PRIu64 " bytes from byte %" PRIu64, size, what,
		n, at);
}

int nb_wire_skip(struct nb_import *in, uint64_t n, const char *what)
{
	const uint64_t from = in->bytes->at;
	const int got = nb_bytes_skip(in->bytes, n);
	if (got > 0)
		return nb_wire_fail(
			in, "the file ends in %s, which has %" PRIu64 " bytes from byte %" PRIu64, what, n, from);
	return got < 0 ? fail_read(in) : NB_OK;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

uint32_t nb_wire_u32(const void *from, int big)
{
	uint32_t u;
	memcpy(&u, from, sizeof u);
	return big ? __builtin_bswap32(u) : u;
}

uint64_t nb_wire_u64(const void *from, int big)
{
	uint64_t u;
	memcpy(&u, from, sizeof u);
	return big ? __builtin_bswap64(u) : u;
}

double nb_wire_f64(const void *from, int big)
{
	const uint64_t u = nb_wire_u64(from, big);
	double x;
	memcpy(&x, &u, sizeof x);
	return x;
}

static inline __attribute__((always_inline)) void widen(size_t count, const unsigned char *from, int big, double *to)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t u;
		float x;
		memcpy(&u, from + sizeof u * i, sizeof u);
		u = big ? __builtin_bswap32(u) : u;
		memcpy(&x, &u, sizeof x);
		to[i] = (double)x;
	}
}

void nb_wire_widen(size_t count, const void *from, int big, double *to)
{
	if (big)
		widen(count, from, 1, to);
	else
		widen(count, from, 0, to);
}

void nb_wire_widen_u32(size_t count, const void *from, int big, uint64_t *to)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t u;
		memcpy(&u, (const unsigned char *)from + sizeof u * i, sizeof u);
		to[i] = big ? __builtin_bswap32(u) : u;
	}
}

#define SWAP(bits)                                                                \
	for (size_t i = 0; i < count; i++) {                                      \
		uint##bits##_t u;                                                 \
		memcpy(&u, (const unsigned char *)from + sizeof u * i, sizeof u); \
		u = __builtin_bswap##bits(u);                                     \
		memcpy((unsigned char *)to + sizeof u * i, &u, sizeof u);         \
	}

void nb_wire_order(size_t count, size_t size, const void *from, int big, void *to)
{
	if (!big || size == 1)
		memcpy(to, from, count * size);
	else if (size == 2)
		SWAP(16)
	else if (size == 4)
		SWAP(32)
	else
		SWAP(64)
}

/* From here on rounding gives infinity. */
#define BEYOND_F4 0x1.ffffffp127

/* The first from number i to number n; n: none. */
static size_t first_beyond(size_t i, size_t n, const double *x)
{
	enum { LANES = 8, PART = 1024 };
	for (; i < n; i += PART) {
		const size_t end = n - i < PART ? n : i + PART;
		double most[LANES] = {0}; /* each of every eighth number, as vectors have them; NaN is never larger */
		size_t k = i;
		for (; k + LANES <= end; k += LANES)
			for (int l = 0; l < LANES; l++)
				most[l] = fabs(x[k + l]) > most[l] ? fabs(x[k + l]) : most[l];
		for (; k < end; k++)
			most[0] = fabs(x[k]) > most[0] ? fabs(x[k]) : most[0];
		int any = 0;
		for (int l = 0; l < LANES; l++)
			any |= most[l] >= BEYOND_F4;
		for (k = i; any && k < end; k++) /* infinity stays what it is */
			if (fabs(x[k]) >= BEYOND_F4 && fabs(x[k]) <= DBL_MAX)
				return k;
	}
	return n;
}

size_t nb_wire_beyond_f4(size_t count, const double *x)
{
	enum { SHARE = 64 << 10 };
	size_t first = count;
	if (count <= SHARE) /* threads need memory */
		return first_beyond(0, count, x);
#pragma omp parallel for schedule(static) reduction(min : first)
	for (size_t i = 0; i < count; i += SHARE) {
		const size_t end = count - i < SHARE ? count : i + SHARE, found = first_beyond(i, end, x);
		first = found < end && found < first ? found : first;
	}
	return first;
}
