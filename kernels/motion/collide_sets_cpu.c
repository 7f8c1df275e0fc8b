/* Sets of bodies that overlap, which mergers begin with: a forest (collide_cpu.c). */
#include "kernels/motion/collide_work_internal.h"

#include <stdlib.h>

#include "common/mem.h"

void nb_collide_join_neighbours(struct nb_collide_work *w)
{
	const size_t n = w->x.c->n;
	for (size_t a = 0; a < n; a++) {
		w->set[a] = (uint32_t)a;
		if (a > 0 && nb_path_overlap(&w->x.path[a - 1], &w->x.path[a]))
			w->set[a] = w->set[a - 1];
	}
	for (size_t l = 0; l < w->top; l++) {
		const size_t from = l * LANES, to = from + LANES < n ? from + LANES : n;
		uint32_t body = from < n ? (uint32_t)from : NB_NOBODY;
		for (size_t a = from; a < to; a++)
			if (w->set[a] != w->set[from])
				body = NB_NOBODY;
		w->whole[w->top + l] = body;
	}
	for (size_t i = w->top - 1; i > 0; i--) {
		const uint32_t left = w->whole[2 * i], right = w->whole[2 * i + 1];
		const int one = left != NB_NOBODY && right != NB_NOBODY && w->set[left] == w->set[right];
		w->whole[i] = one ? left : NB_NOBODY;
	}
}

struct member {
	uint32_t set, body;
};

static int by_set_and_id(const void *a, const void *b, void *state)
{
	const struct member *k = a, *l = b;
	if (k->set != l->set)
		return k->set < l->set ? -1 : 1;
	return nb_id_before(state, k->body, l->body) ? -1 : nb_id_before(state, l->body, k->body);
}

int nb_collide_unite_sets(struct nb_collide_work *w, size_t *united)
{
	const size_t n = w->x.c->n;
	size_t m = 0;
	uint32_t *size = nb_alloc_zero(n, sizeof *size);
	if (!size)
		return NB_ENOMEM;
	for (uint32_t a = 0; a < n; a++)
		size[nb_set_root(w->set, a)]++;
	for (uint32_t a = 0; a < n; a++)
		m += size[nb_set_root(w->set, a)] > 1;
	struct member *member = nb_alloc(m, sizeof *member);
	uint32_t *list = nb_alloc(m, sizeof *list);
	if (!member || !list) {
		nb_free_all(size, member, list);
		return NB_ENOMEM;
	}
	m = 0;
	for (uint32_t a = 0; a < n; a++)
		if (size[nb_set_root(w->set, a)] > 1)
			member[m++] = (struct member){nb_set_root(w->set, a), a};
	qsort_r(member, m, sizeof *member, by_set_and_id, &w->x);
	for (size_t i = 0; i < m; i++)
		list[i] = member[i].body;
	for (size_t i = 0; i < m; i += size[member[i].set])
		nb_collide_unite(&w->x, size[member[i].set], list + i, 0);
	*united = m;
	nb_free_all(size, member, list);
	return NB_OK;
}
