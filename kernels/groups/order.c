/* The groups in order, and their members. */
#include "kernels/groups/groups.h"

#include <stdlib.h>

#include "common/mem.h"

/* A group, while groups are in the order of labels and then while they are sorted. */
struct rank {
	double mass;
	uint64_t id;
	uint32_t label, number, size;
};

static int compare(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;
	if (x->mass != y->mass)
		return x->mass > y->mass ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label;
}

/* size[k]: bodies of label k, becomes the number of its group from 1 on, 0 if it is none. */
static struct rank *make_ranks(size_t n, const uint32_t *label, uint32_t least, uint32_t *size, size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < n; i++)
		size[label[i]]++;
	for (size_t k = 0; k < n; k++)
		*count += size[k] > 0 && size[k] >= least;
	struct rank *rank = nb_alloc(*count, sizeof *rank);
	for (size_t k = 0, g = 0; rank && k < n; k++) {
		const int is_group = size[k] > 0 && size[k] >= least;
		if (is_group)
			rank[g] = (struct rank){0, UINT64_MAX, (uint32_t)k, (uint32_t)g, size[k]};
		g += (size_t)is_group;
		size[k] = is_group ? (uint32_t)g : 0;
	}
	return rank;
}

/* group[i]: the number of its group from 1 on becomes its place. */
static void place_members(size_t n, const struct rank *rank, uint32_t *place, uint32_t *group, struct nb_groups *groups)
{
	uint32_t total = 0;
	for (size_t g = 0; g < groups->count; g++) {
		place[rank[g].number] = (uint32_t)g;
		groups->begin[g] = total;
		groups->mass[g] = rank[g].mass;
		groups->id[g] = rank[g].id;
		total += rank[g].size;
	}
	for (size_t i = 0; i < n; i++)
		if (group[i]) {
			const uint32_t g = place[group[i] - 1];
			groups->member[groups->begin[g]++] = (uint32_t)i;
			group[i] = g + 1;
		}
	/* each has come to where the next begins */
	for (size_t g = groups->count; g > 0; g--)
		groups->begin[g] = groups->begin[g - 1];
	groups->begin[0] = 0;
}

int nb_groups_order(size_t n, const uint32_t *label, const double *mass, const uint64_t *id, uint32_t least,
	uint32_t *group, struct nb_groups *groups)
{
	size_t members = 0;
	uint32_t *number = nb_alloc_zero(n, sizeof *number), *place = NULL;
	struct rank *rank = number ? make_ranks(n, label, least, number, &groups->count) : NULL;
	for (size_t g = 0; rank && g < groups->count; g++)
		members += rank[g].size;
	place = nb_alloc(groups->count, sizeof *place);
	groups->begin = nb_alloc(groups->count + 1, sizeof *groups->begin);
	groups->member = nb_alloc(members, sizeof *groups->member);
	groups->mass = nb_alloc(groups->count, sizeof *groups->mass);
	groups->id = nb_alloc(groups->count, sizeof *groups->id);
	const int there = rank && place && groups->begin && groups->member && groups->mass && groups->id;
	for (size_t i = 0; there && i < n; i++) {
		group[i] = number[label[i]];
		if (!group[i])
			continue;
		struct rank *own = &rank[group[i] - 1];
		const uint64_t name = id ? id[i] : i;
		own->mass += mass ? mass[i] : 1;
		own->id = name < own->id ? name : own->id;
	}
	if (there && groups->count)
		qsort(rank, groups->count, sizeof *rank, compare);
	if (there)
		place_members(n, rank, place, group, groups);
	nb_free_all(number, place, rank);
	if (!there)
		nb_groups_free(groups);
	return there ? NB_OK : NB_ENOMEM;
}

void nb_groups_free(struct nb_groups *groups)
{
	nb_free_all(groups->begin, groups->member, groups->mass, groups->id);
	*groups = (struct nb_groups){0};
}
