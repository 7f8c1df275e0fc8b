/* All pairs, for every contact anew. */
#include "kernels/motion/collide_internal.h"

#include "common/mem.h"

/* The next of all contacts. */
static struct nb_contact next_contact(const struct nb_collide_state *x)
{
	struct nb_contact best = {INFINITY, 0, 0};
	const uint32_t n = (uint32_t)x->c->n;
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 1; b < n; b++) {
			const struct nb_contact k = {nb_collide_contact(x, a, b), a, b};
			if (k.s <= 1 && (!(best.s <= 1) || nb_contact_before(x, k, best)))
				best = k;
		}
	return best;
}

/* The bodies that hang together with body a, which is in list[0], through overlaps: list and done grow. */
static size_t connected(const struct nb_collide_state *x, uint32_t *list, unsigned char *done)
{
	size_t m = 1;
	for (size_t i = 0; i < m; i++)
		for (uint32_t b = 0; b < x->c->n; b++)
			if (!done[b] && nb_path_overlap(&x->path[list[i]], &x->path[b])) {
				done[b] = 1;
				list[m++] = b;
			}
	return m;
}

static void sort_list(const struct nb_collide_state *x, size_t m, uint32_t *list)
{
	for (size_t i = 1; i < m; i++)
		for (size_t k = i; k > 0 && nb_id_before(x, list[k], list[k - 1]); k--) {
			const uint32_t b = list[k];
			list[k] = list[k - 1];
			list[k - 1] = b;
		}
}

static void unite_overlapping(struct nb_collide_state *x, uint32_t *list, unsigned char *done)
{
	/* a body that has become larger or moved is done, so no group depends on those before it */
	for (uint32_t a = 0; a < x->c->n; a++) {
		if (done[a])
			continue;
		done[a] = 1;
		list[0] = a;
		const size_t m = connected(x, list, done);
		if (m < 2)
			continue;
		sort_list(x, m, list);
		nb_collide_unite(x, m, list, 0);
	}
}

int nb_collide_ref(const struct nb_collide *c, struct nb_collide_count *count)
{
	struct nb_collide_state x;
	int status = nb_collide_begin(&x, c);
	if (status)
		return status;
	x.path = nb_alloc(c->n, sizeof *x.path);
	x.mark = nb_alloc(c->n, sizeof *x.mark);
	uint32_t *list = nb_alloc(c->n, sizeof *list);
	unsigned char *done = nb_alloc_zero(c->n, 1);
	if (x.path && x.mark && list && done) {
		for (uint32_t a = 0; a < c->n; a++)
			nb_collide_load(&x, a, a);
		if (c->mode == NB_COLLIDE_MERGE)
			unite_overlapping(&x, list, done);
		for (struct nb_contact k = next_contact(&x); k.s <= 1; k = next_contact(&x))
			nb_collide_act(&x, k);
		nb_collide_end(&x, count);
	} else
		status = NB_ENOMEM;
	nb_free_all(x.path, x.mark, list, done);
	return status;
}
