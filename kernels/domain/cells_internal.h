/* cells_internal.h - how families go from rank to rank (send_cpu.c), for cells_cpu.c, which says which ones; private.
 */
#ifndef NB_DOMAIN_CELLS_INTERNAL_H
#define NB_DOMAIN_CELLS_INTERNAL_H

#include "kernels/domain/domain_internal.h"

/* Numbers of families for each rank. */
struct nb_domain_list {
	uint32_t *id;
	size_t n, capacity;
	size_t *bound; /* size + 1 */
};

/* Makes room for n numbers.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_domain_list_reserve(struct nb_domain_list *l, size_t n);
/* Appends the own families that are marked.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_domain_list_marked(const struct nb_domain_walk *w, const uint8_t *mark, struct nb_domain_list *l);

/* What is sent and what comes, in rows. */
struct nb_domain_flow {
	size_t *out, *in, *out_bytes, *in_bytes; /* size + 1 each */
};

/* Memory for `size` ranks, f->out.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_domain_flow_alloc(struct nb_domain_flow *f, size_t size);
/* The rows that come, of those that are to be sent: bound[k] .. bound[k + 1] - 1 to rank k.  bytes: size + 1,
 * workspace. */
void nb_domain_flow_meet(struct nb_domain_flow *f, size_t *bytes, const size_t *bound, int size);
/* Sends the rows `from`, and receives `to`. */
void nb_domain_flow_move(struct nb_domain_flow *f, int size, size_t rowsize, const void *from, void *to);

/* Sends the families in a list, and takes what comes from others.  All ranks call it.  0 or NB_ENOMEM, the same for
 * all. */
NB_MUST_CHECK int nb_domain_transfer(struct nb_domain_walk *w, const struct nb_domain_list *l);

#endif
