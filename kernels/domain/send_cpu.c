/* Families of the tree go from rank to rank, and get their numbers where they come (cells_cpu.c). */
#include "kernels/domain/cells_internal.h"

#include <string.h>

#include "common/mem.h"
#include "kernels/ranks/ranks.h"

int nb_domain_reserve(struct nb_domain_walk *w, size_t n)
{
	const size_t moments = nb_walk_moment_size(&w->plan), room = n + n / 8;
	if (n <= w->room)
		return NB_OK;
	struct nb_family *family = nb_enlarge(w->m.family, w->nhere, room, sizeof *family);
	w->m.family = family ? family : w->m.family;
	void *moment = nb_enlarge(
		w->m.moment, w->nhere, room + 1, moments); /* a vector may reach beyond the last moment */
	w->m.moment = moment ? moment : w->m.moment;
	uint8_t *wanted = nb_enlarge(w->wanted, w->nhere, room, NB_FAMILY);
	w->wanted = wanted ? wanted : w->wanted;
	if (!family || !moment || !wanted)
		return NB_ENOMEM;
	memset(w->wanted + w->nhere * NB_FAMILY, NB_WALK_NOTHING, (room - w->nhere) * NB_FAMILY);
	w->room = room;
	w->plan.family = w->m.family;
	w->plan.moment = w->m.moment;
	return NB_OK;
}

/* What goes with a family. */
struct tag {
	uint32_t id, parent; /* its number, and the lane that it is below, where it comes from */
};

int nb_domain_list_reserve(struct nb_domain_list *l, size_t n)
{
	return nb_reserve(l->id, l->n, n, l->capacity) ? NB_ENOMEM : NB_OK;
}

int nb_domain_list_marked(const struct nb_domain_walk *w, const uint8_t *mark, struct nb_domain_list *l)
{
	size_t n = 0;
	for (size_t k = 0; k < w->nown; k++)
		n += mark[k];
	if (nb_domain_list_reserve(l, l->n + n))
		return NB_ENOMEM;
	for (size_t k = 0; k < w->nown; k++)
		if (mark[k])
			l->id[l->n++] = (uint32_t)(w->ntop + k);
	return NB_OK;
}

/* The number here of a family of another rank that has come, or of one of the top. */
static uint32_t nb_domain_find(const struct nb_domain_walk *w, int owner, uint32_t id)
{
	if (id < w->ntop)
		return id;
	for (size_t k = 0; k < w->nbatch; k++) {
		const struct nb_domain_batch *b = &w->batch[k];
		if (b->owner != owner || id < b->id[0] || id > b->id[b->n - 1])
			continue;
		size_t lo = 0, hi = b->n; /* its place is lo .. hi - 1 */
		while (hi - lo > 1) {
			const size_t half = lo + (hi - lo) / 2;
			lo = b->id[half] <= id ? half : lo;
			hi = b->id[half] <= id ? hi : half;
		}
		if (b->id[lo] == id)
			return (uint32_t)(b->first + lo);
	}
	return 0;
}

/* Families that have come, n from one rank: they get numbers, and the lanes that they are below too. */
static int take(struct nb_domain_walk *w, int owner, const struct tag *tag, size_t n)
{
	if (n == 0)
		return NB_OK;
	struct nb_domain_batch *batch = nb_enlarge(w->batch, w->nbatch, w->nbatch + 1, sizeof *batch);
	w->batch = batch ? batch : w->batch;
	uint32_t *id = nb_alloc(n, sizeof *id);
	if (!batch || !id) {
		nb_free(id);
		return NB_ENOMEM;
	}
	batch[w->nbatch++] = (struct nb_domain_batch){owner, w->nhere, n, id};
	for (size_t k = 0; k < n; k++) {
		struct nb_family *f = &w->m.family[w->nhere + k];
		id[k] = tag[k].id;
		for (int lane = 0; lane < NB_FAMILY; lane++)
			f->inner[lane] |= f->inner[lane] ? NB_WALK_ABSENT : 0;
	}
	w->nhere += n;
	for (size_t k = 0; k < n; k++) {
		const uint32_t parent = nb_domain_find(w, owner, tag[k].parent / NB_FAMILY);
		w->m.family[parent].inner[tag[k].parent % NB_FAMILY] = nb_domain_find(w, owner, tag[k].id);
	}
	return NB_OK;
}

int nb_domain_flow_alloc(struct nb_domain_flow *f, size_t size)
{
	f->out = nb_alloc_zero(4 * (size + 1), sizeof *f->out);
	if (!f->out)
		return NB_ENOMEM;
	f->in = f->out + size + 1;
	f->out_bytes = f->in + size + 1;
	f->in_bytes = f->out_bytes + size + 1;
	return NB_OK;
}

void nb_domain_flow_meet(struct nb_domain_flow *f, size_t *bytes, const size_t *bound, int size)
{
	for (int k = 0; k < size; k++)
		f->out_bytes[k] = bound[k + 1] - bound[k];
	for (int k = 0; k <= size; k++)
		bytes[k] = (size_t)k * sizeof *bytes;
	nb_ranks_exchange(f->out_bytes, bytes, f->in_bytes, bytes);
	nb_ranks_wait_all();
	memcpy(f->out, bound, ((size_t)size + 1) * sizeof *bound);
	f->in[0] = 0;
	for (int k = 0; k < size; k++)
		f->in[k + 1] = f->in[k] + f->in_bytes[k];
}

void nb_domain_flow_move(struct nb_domain_flow *f, int size, size_t rowsize, const void *from, void *to)
{
	for (int k = 0; k <= size; k++) {
		f->out_bytes[k] = f->out[k] * rowsize;
		f->in_bytes[k] = f->in[k] * rowsize;
	}
	nb_ranks_exchange(from, f->out_bytes, to, f->in_bytes);
	nb_ranks_wait_all();
}

/* Rows of own families that a list names. */
static void *pack(const struct nb_domain_list *l, const void *rows, size_t rowsize)
{
	char *packed = nb_alloc(l->n, rowsize);
	for (size_t k = 0; packed && k < l->n; k++)
		memcpy(packed + k * rowsize, (const char *)rows + l->id[k] * rowsize, rowsize);
	return packed;
}

int nb_domain_transfer(struct nb_domain_walk *w, const struct nb_domain_list *l)
{
	const int size = w->d->size;
	const size_t moments = nb_walk_moment_size(&w->plan);
	struct nb_domain_flow f = {.out = NULL};
	struct tag *tag = nb_alloc(l->n, sizeof *tag), *come = NULL;
	void *family = pack(l, w->m.family, sizeof *w->m.family), *moment = pack(l, w->m.moment, moments);
	int status = nb_domain_agree(
		tag && family && moment && !nb_domain_flow_alloc(&f, (size_t)size) ? NB_OK : NB_ENOMEM);
	if (!status) {
		nb_domain_flow_meet(&f, w->bytes, l->bound, size);
		come = nb_alloc(f.in[size], sizeof *come);
		status = nb_domain_agree(come ? nb_domain_reserve(w, w->nhere + f.in[size]) : NB_ENOMEM);
	}
	if (!status) {
		for (size_t k = 0; k < l->n; k++)
			tag[k] = (struct tag){l->id[k], w->parent[l->id[k] - w->ntop]};
		nb_domain_flow_move(&f, size, sizeof *tag, tag, come);
		nb_domain_flow_move(&f, size, sizeof *w->m.family, family, w->m.family + w->nhere);
		nb_domain_flow_move(&f, size, moments, moment, (char *)w->m.moment + w->nhere * moments);
		for (int k = 0; !status && k < size; k++)
			status = take(w, k, come + f.in[k], f.in[k + 1] - f.in[k]);
		status = nb_domain_agree(status);
	}
	nb_free_all(tag, come, family, moment, f.out);
	return status;
}
