/* space.h - a place where arrays can live: host memory or a device.
 *
 * The frame moves columns between places through this table alone, so it knows nothing of CUDA; a
 * backend (kernels/backend/backend.h) says in which place it computes. */
#ifndef NB_SPACE_H
#define NB_SPACE_H

#include <stddef.h>

struct nb_space {
	const char *name;					    /* "host", "cuda:0" */
	int device;						    /* -1: host memory */
	void *(*alloc)(const struct nb_space *space, size_t bytes); /* NULL: exhausted */
	void (*release)(const struct nb_space *space, void *p);
	/* 0 or an enum nb_status */
	int (*from_host)(const struct nb_space *space, void *to, const void *host, size_t bytes);
	int (*to_host)(const struct nb_space *space, void *host, const void *from, size_t bytes);
};

extern const struct nb_space nb_space_host;

#endif
