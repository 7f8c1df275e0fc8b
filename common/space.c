#include "common/space.h"

#include "common/mem.h"
#include "common/status.h"

#include <math.h>
#include <string.h>

enum { PARALLEL = 12000 /* numbers: fewer are not worth starting threads */ };

static void *host_alloc(const struct nb_space *space, size_t bytes)
{
	(void)space;
	return nb_alloc(bytes, 1);
}

static void host_release(const struct nb_space *space, void *p)
{
	(void)space;
	nb_free(p);
}

/* Several threads also share the page faults of memory that nobody has used yet. */
static int host_copy(const struct nb_space *space, void *to, const void *from, size_t bytes)
{
	enum { PIECE = 2 << 20 };
	(void)space;
#pragma omp parallel for schedule(static) if (bytes > PIECE)
	for (size_t at = 0; at < bytes; at += PIECE)
		memcpy((char *)to + at, (const char *)from + at, bytes - at < PIECE ? bytes - at : PIECE);
	return NB_OK;
}

static int host_widen(const struct nb_space *space, size_t count, const float *from, double *to)
{
	(void)space;
#pragma omp parallel for simd schedule(static) if (count > PARALLEL)
	for (size_t i = 0; i < count; i++)
		to[i] = from[i];
	return NB_OK;
}

static int host_narrow(const struct nb_space *space, size_t count, const double *from, float *to)
{
	(void)space;
#pragma omp parallel for simd schedule(static) if (count > PARALLEL)
	for (size_t i = 0; i < count; i++)
		to[i] = (float)from[i];
	return NB_OK;
}

#define TYPE float
#define BITS uint32_t
#define MANTISSA 23
#define FIRST_BAD first_bad_f32
#define FIRST_BAD_IN_BLOCK first_bad_in_block_f32
#include "common/first_bad_body.h"
#undef TYPE
#undef BITS
#undef MANTISSA
#undef FIRST_BAD
#undef FIRST_BAD_IN_BLOCK
#define TYPE double
#define BITS uint64_t
#define MANTISSA 52
#define FIRST_BAD first_bad_f64
#define FIRST_BAD_IN_BLOCK first_bad_in_block_f64
#include "common/first_bad_body.h"

static int host_first_bad(
	const struct nb_space *space, size_t count, int wide, const void *x, unsigned what, size_t *first)
{
	(void)space;
	*first = wide ? first_bad_f64(x, count, what) : first_bad_f32(x, count, what);
	return NB_OK;
}

static _Thread_local char failure[256];

const char *nb_space_failure(void)
{
	return failure;
}

int nb_space_status(void)
{
	return *failure ? NB_EDEVICE : NB_ENOMEM;
}

void nb_space_note_failure(const char *why)
{
	const size_t length = why ? strnlen(why, sizeof failure - 1) : 0;
	if (length)
		memmove(failure, why, length);
	failure[length] = '\0';
}

const struct nb_space nb_space_host = {
	"host", -1, host_alloc, host_release, host_copy, host_copy, host_copy, host_widen, host_narrow, host_first_bad};
