/* The groups in order, and their members. */
#include "kernels/groups/groups_internal.h"

#include "common/mem.h"

/* ---- order -------------------------------------------------------------------------------------- */

int nb_group_sets_alloc(struct nb_group_sets *sets, size_t count, int with_mass)
{
	*sets = (struct nb_group_sets){.count = count};
	sets->size = nb_alloc_zero(count, sizeof *sets->size);
	sets->row = nb_alloc(count, sizeof *sets->row);
	sets->id = nb_alloc(count, sizeof *sets->id);
	sets->sum = with_mass ? nb_alloc_zero(count, NB_SUM_LIMBS * sizeof *sets->sum) : NULL;
	return sets->size && sets->row && sets->id && (sets->sum || !with_mass) ? NB_OK : NB_ENOMEM;
}

void nb_group_sets_free(struct nb_group_sets *sets)
{
	nb_free_all(sets->size, sets->row, sets->id, sets->sum);
	*sets = (struct nb_group_sets){0};
}

static double mass_of(const struct nb_group_sets *sets, size_t k)
{
	return sets->sum ? nb_sum_value(sets->sum + NB_SUM_LIMBS * k, sets->exponent) : (double)sets->size[k];
}

/* The larger a mass, the smaller. */
static uint64_t key_of_mass(double mass)
{
	uint64_t bits;
	mass += 0.0; /* no -0 */
	memcpy(&bits, &mass, sizeof bits);
	return bits >> 63 ? bits : ~(bits | (uint64_t)1 << 63);
}

enum by { BY_ROW, BY_ID, BY_MASS };

/* Stable sort of the sets in order[]. */
static int sort_by(
	enum by by, const struct nb_group_sets *sets, uint32_t *order, uint64_t *key, uint32_t *perm, uint32_t *next)
{
	for (size_t k = 0; k < sets->count; k++)
		key[k] = by == BY_ROW  ? sets->row[order[k]]
			 : by == BY_ID ? sets->id[order[k]]
				       : key_of_mass(mass_of(sets, order[k]));
	const int status = nb_sort_keys_cpu(sets->count, key, perm);
	for (size_t k = 0; !status && k < sets->count; k++)
		next[k] = order[perm[k]];
	if (!status && sets->count)
		memcpy(order, next, sets->count * sizeof *order);
	return status;
}

int nb_groups_place(const struct nb_group_sets *sets, uint32_t *place, struct nb_groups *groups)
{
	const size_t n = sets->count;
	uint32_t *order = nb_alloc(n, sizeof *order), *perm = nb_alloc(n, sizeof *perm);
	uint64_t *key = nb_alloc(n, sizeof *key);
	int status = order && perm && key ? NB_OK : NB_ENOMEM;
	for (size_t k = 0; !status && k < n; k++)
		order[k] = (uint32_t)k;
	for (enum by by = BY_ROW; !status && by <= BY_MASS; by++)
		status = sort_by(by, sets, order, key, perm, place);
	nb_free_all(perm, key);
	groups->count = n;
	groups->begin = nb_alloc(n + 1, sizeof *groups->begin);
	groups->mass = nb_alloc(n, sizeof *groups->mass);
	groups->id = nb_alloc(n, sizeof *groups->id);
	status = groups->begin && groups->mass && groups->id ? status : NB_ENOMEM;
	uint32_t total = 0;
	for (size_t g = 0; !status && g < n; g++) {
		const size_t k = order[g];
		place[k] = (uint32_t)g + 1;
		groups->begin[g] = total;
		groups->mass[g] = mass_of(sets, k);
		groups->id[g] = sets->id[k];
		total += sets->size[k];
	}
	if (!status)
		groups->begin[n] = total;
	nb_free(order);
	return status;
}

int nb_groups_members(size_t n, const uint32_t *group, struct nb_groups *groups)
{
	groups->member = nb_alloc(groups->begin[groups->count], sizeof *groups->member);
	if (!groups->member)
		return NB_ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (group[i])
			groups->member[groups->begin[group[i] - 1]++] = (uint32_t)i;
	/* each has come to where the next begins */
	for (size_t g = groups->count; g > 0; g--)
		groups->begin[g] = groups->begin[g - 1];
	groups->begin[0] = 0;
	return NB_OK;
}

void nb_groups_free(struct nb_groups *groups)
{
	nb_free_all(groups->begin, groups->member, groups->mass, groups->id);
	*groups = (struct nb_groups){0};
}

/* ---- sets --------------------------------------------------------------------------------------- */

enum { NO_SET = 0 };

/* number[k]: bodies of label k, becomes the number of its set from 1 on, NO_SET if it has too few. */
static int number_sets(
	const struct nb_groups_job *job, struct nb_reals mass, uint32_t *number, struct nb_group_sets *sets)
{
	size_t count = 0, g = 0;
	for (size_t k = 0; k < job->n; k++)
		count += number[k] > 0 && number[k] >= job->least;
	const int status = nb_group_sets_alloc(sets, count, nb_reals_there(mass));
	for (size_t k = 0; !status && k < job->n; k++) {
		const int is_set = number[k] > 0 && number[k] >= job->least;
		if (is_set) {
			sets->size[g] = number[k];
			sets->row[g] = UINT32_MAX;
			sets->id[g] = UINT64_MAX;
		}
		g += (size_t)is_set;
		number[k] = is_set ? (uint32_t)g : NO_SET;
	}
	return status;
}

/* group[i]: the label of body i becomes the number of its set. */
static void add_bodies(const struct nb_groups_job *job, struct nb_reals mass, const uint32_t *number, uint32_t *group,
	struct nb_group_sets *sets)
{
	const int with_mass = nb_reals_there(mass);
	double largest = 0;
#pragma omp parallel for reduction(max : largest)
	for (size_t i = 0; i < (with_mass ? job->n : 0); i++)
		largest = fabs(nb_real(mass, i)) > largest ? fabs(nb_real(mass, i)) : largest;
	sets->exponent = nb_sum_exponent(largest);
	for (size_t i = 0; i < job->n; i++) {
		group[i] = group[i] == NB_GROUPS_NONE ? NO_SET : number[group[i]];
		if (group[i] == NO_SET)
			continue;
		const size_t k = group[i] - 1;
		const uint64_t id = job->id ? job->id[i] : i;
		int32_t limb[NB_SUM_LIMBS];
		sets->row[k] = i < sets->row[k] ? (uint32_t)i : sets->row[k];
		sets->id[k] = id < sets->id[k] ? id : sets->id[k];
		if (!with_mass)
			continue;
		nb_sum_split(nb_real(mass, i), sets->exponent, limb);
		for (size_t l = 0; l < NB_SUM_LIMBS; l++)
			sets->sum[NB_SUM_LIMBS * k + l] += limb[l];
	}
}

int nb_groups_order_cpu(
	const struct nb_groups_job *job, struct nb_reals mass, uint32_t *group, struct nb_groups *groups)
{
	struct nb_group_sets sets = {0};
	*groups = (struct nb_groups){0};
	uint32_t *number = nb_alloc_zero(job->n, sizeof *number);
	if (!number)
		return NB_ENOMEM;
	for (size_t i = 0; i < job->n; i++)
		if (group[i] != NB_GROUPS_NONE)
			number[group[i]]++;
	int status = number_sets(job, mass, number, &sets);
	if (!status) {
		add_bodies(job, mass, number, group, &sets);
		/* the numbers become places */
		uint32_t *place = number;
		status = nb_groups_place(&sets, place, groups);
#pragma omp parallel for
		for (size_t i = 0; i < job->n; i++)
			group[i] = group[i] != NO_SET && !status ? place[group[i] - 1] : 0;
	}
	nb_free(number);
	nb_group_sets_free(&sets);
	if (status)
		nb_groups_free(groups);
	return status;
}

int nb_groups_find_reals_cpu(const struct nb_groups_job *job, struct nb_reals pos, struct nb_reals mass,
	uint32_t *group, struct nb_groups *groups)
{
	*groups = (struct nb_groups){0};
	const int status = nb_groups_link_reals_cpu(job->n, pos, job->dim, job->length, job->box, group);
	return status ? status : nb_groups_order_cpu(job, mass, group, groups);
}

int nb_groups_find_cpu(const struct nb_groups_job *job, uint32_t *group, struct nb_groups *groups)
{
	return nb_groups_find_reals_cpu(
		job, (struct nb_reals){.f64 = job->pos}, (struct nb_reals){.f64 = job->mass}, group, groups);
}
