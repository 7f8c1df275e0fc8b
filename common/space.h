/* space.h - a place where arrays can live and be looked at: host memory or a device.
 *
 * The frame moves and converts columns through this table alone, so it knows nothing of CUDA; a backend
 * (kernels/backend/backend.h) says in which place it computes.  All functions that return int return 0 or an
 * enum nb_status; results for the caller (*first) are in host memory, and are there when the function returns. */
#ifndef NB_SPACE_H
#define NB_SPACE_H

#include "common/status.h"

#include <stddef.h>
#include <stdint.h>

/* what first_bad looks for: numbers that are NaN or infinite, or that are < 0 */
enum { NB_BAD_NONFINITE = 1, NB_BAD_NEGATIVE = 2 };

struct nb_space {
	const char *name;					    /* "host", "cuda:0" */
	int device;						    /* -1: host memory */
	void *(*alloc)(const struct nb_space *space, size_t bytes); /* NULL: exhausted */
	void (*release)(const struct nb_space *space, void *p);
	int (*from_host)(const struct nb_space *space, void *to, const void *host, size_t bytes);
	int (*to_host)(const struct nb_space *space, void *host, const void *from, size_t bytes);
	int (*copy)(const struct nb_space *space, void *to, const void *from, size_t bytes); /* within the place */
	/* f32 to f64 and back, count numbers; back rounds to nearest */
	int (*widen)(const struct nb_space *space, size_t count, const float *from, double *to);
	int (*narrow)(const struct nb_space *space, size_t count, const double *from, float *to);
	/* The index of the first of count numbers (f64 if wide, else f32) that is bad; count if none is. */
	int (*first_bad)(
		const struct nb_space *space, size_t count, int wide, const void *x, unsigned what, size_t *first);
};

extern const struct nb_space nb_space_host;

NB_C_BEGIN

/* What a device said when it failed the last call of this thread that it failed, "" if it only lacked memory: so that
 * a NULL of alloc, or of what is built on it, is not taken for want of memory where the device is lost. */
const char *nb_space_failure(void);
/* The status of such a NULL: NB_ENOMEM, or NB_EDEVICE. */
int nb_space_status(void);
/* Notes it, cut to 255 bytes; "" or NULL for want of memory, and where the failure has been dealt with. */
void nb_space_note_failure(const char *why);

NB_C_END

#endif
