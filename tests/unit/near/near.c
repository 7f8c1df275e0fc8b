/* Neighbours against all pairs: the same ones in the same order, and what follows from them; bodies are left as they
 * were. */
#include "kernels/near/near.h"
#include "common/periodic.h"
#include "tests/unit/near/sets.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { MOST = 300 };
static double pos[3 * MOST], mass[MOST], vel[3 * MOST], pair2[MOST];
static float pos32[3 * MOST], mass32[MOST], vel32[3 * MOST];
static uint64_t id[MOST];
static uint32_t order[MOST];
static double unit; /* in which squares are numbers */
static const uint64_t *order_id;

static int nearer(const void *a, const void *b)
{
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	if (pair2[i] != pair2[j])
		return pair2[i] < pair2[j] ? -1 : 1;
	if (order_id && order_id[i] != order_id[j])
		return order_id[i] < order_id[j] ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* All others by distance from body i, in order; pair2 of each row. */
static void sort_others(const struct nb_near_bodies *b, size_t i)
{
	size_t count = 0;
	for (size_t j = 0; j < b->n; j++) {
		double d[3] = {0, 0, 0};
		for (int k = 0; k < b->dim; k++) {
			const double x = pos[3 * i + (size_t)k], y = pos[3 * j + (size_t)k];
			d[k] = b->box > 0 ? nb_periodic_distance(nb_periodic_wrap(x, b->box),
						    nb_periodic_wrap(y, b->box), b->box, b->box / 2)
					  : fabs(x - y);
			d[k] *= unit;
		}
		pair2[j] = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
		if (j != i)
			order[count++] = (uint32_t)j;
	}
	order_id = b->id;
	qsort(order, count, sizeof *order, nearer);
}

static double spline(double u, int dim)
{
	const double w = u < 0.5 ? 1 - 6 * u * u + 6 * u * u * u : 2 * pow(1 - u, 3);
	return w * (dim == 2 ? 40 / (7 * acos(-1)) : 8 / acos(-1));
}

static int same(double got, double want)
{
	return (isnan(got) && isnan(want)) || got == want || fabs(got - want) <= 1e-12 * fabs(want);
}

static void check_nearest(const char *label, const struct nb_near_bodies *b, int k)
{
	static uint64_t neighbour[MOST * NB_NEAR_MOST];
	static double distance[MOST * NB_NEAR_MOST], hsml[MOST], density[MOST], unbiased[MOST], vdisp[MOST];
	const struct nb_near_found want = {k, 5, neighbour, distance, hsml, density, k < 5 ? NULL : unbiased, vdisp};
	int ids = 1, distances = 1, others = 1;
	WANT(nb_near_nearest_cpu(b, &want) == NB_OK);
	for (size_t i = 0; i < b->n; i++) {
		sort_others(b, i);
		const double h = sqrt(pair2[order[k - 1]]) / unit, r = sqrt(pair2[order[k < 5 ? 0 : 4]]) / unit;
		double m = mass[i], rho = m * spline(0, b->dim), five = 0, v[3], v2 = 0;
		for (size_t c = 0; c < 3; c++)
			v[c] = m * vel[3 * i + c];
		for (int j = 0; j < k; j++) {
			const uint32_t row = order[j];
			const double d = sqrt(pair2[row]) / unit;
			ids &= neighbour[i * (size_t)k + (size_t)j] == (b->id ? b->id[row] : row);
			distances &= same(distance[i * (size_t)k + (size_t)j], d);
			rho += mass[row] * spline(h > 0 ? d / h : 0, b->dim);
			five += j < 4 ? mass[row] : 0;
			m += mass[row];
			for (size_t c = 0; c < 3; c++)
				v[c] += mass[row] * vel[3 * row + c];
		}
		for (int j = -1; j < k; j++)
			for (int c = 0; c < b->dim; c++) {
				const size_t row = j < 0 ? i : order[j];
				v2 += mass[row] * pow(vel[3 * row + (size_t)c] - v[c] / m, 2);
			}
		others &= same(hsml[i], h) && same(vdisp[i], sqrt(v2 / m / b->dim));
		others &= same(density[i], rho / h / h / (b->dim == 3 ? h : 1));
		others &= k < 5 ||
			  same(unbiased[i], five / (b->dim == 2 ? acos(-1) * r * r : 4 * acos(-1) / 3 * r * r * r));
	}
	WANT(ids);
	WANT(distances);
	WANT(others);
}

static void check_within(const char *label, const struct nb_near_bodies *b, double radius)
{
	static uint32_t count[MOST];
	static double sum[MOST];
	int right = 1;
	WANT(nb_near_within_cpu(b, &(const struct nb_within){radius, count, sum}) == NB_OK);
	for (size_t i = 0; i < b->n; i++) {
		uint32_t others = 0;
		double m = 0;
		sort_others(b, i);
		for (size_t j = 0; j < b->n; j++)
			if (j != i && pair2[j] <= radius * radius) {
				others++;
				m += b->mass || b->single.mass ? mass[j] : 1;
			}
		right &= count[i] == others && fabs(sum[i] - m) <= 1e-12 * (m + 1);
	}
	WANT(right);
}

/* Ordered pairs of the first na bodies with the others, or of all with themselves, by hand. */
static void check_pairs(const char *label, const struct nb_near_bodies *all, size_t na, int parts)
{
	enum { BINS = 6 };
	const double edge[BINS + 1] = {na % 2 ? 0.01 : 0, 0.0625, 0.125, 0.126, 0.25, 0.36, 0.37}, reach = 0.3;
	struct nb_near_bodies a = *all, b = *all;
	uint64_t want[BINS * 5] = {0}, got[BINS * 5];
	a.n = na ? na : all->n;
	b.n = all->n - na;
	b.pos += b.pos ? 3 * na : 0;
	b.single.pos += b.single.pos ? 3 * na : 0;
	const struct nb_pair_bins bins = {BINS, edge, parts, reach};
	for (size_t i = 0; i < a.n; i++)
		for (size_t j = 0; j < b.n; j++) {
			double d[3] = {0, 0, 0};
			for (int k = 0; k < a.dim; k++) {
				const double x = pos[3 * i + (size_t)k], y = pos[3 * (na + j) + (size_t)k];
				d[k] = a.box > 0 ? nb_periodic_distance(nb_periodic_wrap(x, a.box),
							   nb_periodic_wrap(y, a.box), a.box, a.box / 2)
						 : fabs(x - y);
			}
			const double r2 = d[0] * d[0] + d[1] * d[1] + (parts ? 0 : d[2] * d[2]);
			int bin = -1, part = 0;
			while (bin < BINS && r2 >= edge[bin + 1] * edge[bin + 1])
				bin++;
			while (part < parts && d[2] >= reach * (part + 1) / parts)
				part++;
			if ((na || i != j) && bin >= 0 && bin < BINS && part < (parts ? parts : 1))
				want[bin * (parts ? parts : 1) + part]++;
		}
	WANT(nb_near_pairs_cpu(&a, na ? &b : NULL, &bins, got) == NB_OK);
	WANT(memcmp(got, want, sizeof *got * (size_t)(BINS * (parts ? parts : 1))) == 0);
}

/* Some are below the box, some far from it. */
static void move_out(int set, size_t n, double box)
{
	for (size_t i = 0; i < 3 * n && set == SET_RANDOM; i++)
		pos[i] -= box / 3;
	if (set == SET_HALF)
		pos[3] -= 4 * box;
}

static void check_set(int set, size_t n, int dim, double box, int single)
{
	char label[80];
	struct nb_near_bodies b = {n, dim, box, pos, mass, vel, n % 2 ? id : NULL, {0}};
	const int some[] = {1, 5, 8, 17, 33, 128, (int)n - 1};
	make_near_set(set, n, pos, mass, vel, id);
	if (box > 0 && box < 1)
		move_out(set, n, box);
	pos[0] = pos[0] == 0 ? -0.0 : pos[0];
	if (single) {
		for (size_t i = 0; i < 3 * n; i++) {
			pos[i] = pos32[i] = (float)pos[i];
			vel[i] = vel32[i] = (float)vel[i];
			mass[i / 3] = mass32[i / 3] = (float)mass[i / 3];
		}
		b = (struct nb_near_bodies){n, dim, box, NULL, NULL, NULL, b.id, {pos32, mass32, vel32}};
	}
	static double pos_before[3 * MOST], mass_before[MOST], vel_before[3 * MOST];
	static uint64_t id_before[MOST];
	memcpy(pos_before, pos, sizeof pos);
	memcpy(mass_before, mass, sizeof mass);
	memcpy(vel_before, vel, sizeof vel);
	memcpy(id_before, id, sizeof id);
	unit = set == SET_TINY ? 0x1p660 : 1;
	for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
		snprintf(
			label, sizeof label, "%s, n %zu, %d-D, box %g, k %d", near_set_name[set], n, dim, box, some[k]);
		if (some[k] >= 1 && some[k] < (int)n && some[k] <= NB_NEAR_MOST && (!UNIT_SANITIZED || k < 5))
			check_nearest(label, &b, some[k]);
	}
	snprintf(label, sizeof label, "pairs, %s, n %zu, %d-D, box %g", near_set_name[set], n, dim, box);
	for (int parts = 0; parts <= (dim == 3 ? 5 : 0); parts += 5) {
		check_pairs(label, &b, 0, parts);
		check_pairs(label, &b, n / 3, parts);
	}
	const double radius[] = {0, 0.125, 0.25, 0.4, 3};
	for (size_t k = 0; k < sizeof radius / sizeof *radius; k++) {
		snprintf(label, sizeof label, "%s, n %zu, %d-D, box %g, R %g", near_set_name[set], n, dim, box,
			radius[k]);
		b.mass = k % 2 || single ? NULL : mass;
		b.single.mass = k % 2 || !single ? NULL : mass32;
		if (set != SET_TINY && (box == 0 || radius[k] <= box / 2))
			check_within(label, &b, radius[k]);
	}
	WANT(memcmp(pos, pos_before, sizeof pos) == 0);
	WANT(memcmp(mass, mass_before, sizeof mass) == 0 && memcmp(id, id_before, sizeof id) == 0);
	WANT(memcmp(vel, vel_before, sizeof vel) == 0);
	for (size_t i = 0; single && i < 3 * n; i++) {
		CHECK(pos32[i] == pos[i] && vel32[i] == vel[i] && mass32[i / 3] == mass[i / 3]);
	}
}

int main(void)
{
	const size_t sizes[] = {2, 3, 9, 64, 65, 300};
	for (int set = 0; set < SETS; set++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (int dim = sizes[k] == 300 ? 2 : 3; dim <= 3; dim++) {
				check_set(set, sizes[k], dim, 0, 0);
				if (set != SET_FAR && set != SET_TINY) {
					if (!UNIT_SANITIZED || sizes[k] < 300)
						check_set(set, sizes[k], dim, 1, 0);
					check_set(set, sizes[k], dim, 0.75, 0); /* some are outside */
				}
				if (set != SET_TINY && (sizes[k] == 65 || (dim == 2 && !UNIT_SANITIZED)))
					check_set(set, sizes[k], dim, set == SET_FAR ? 0 : k % 2 ? 0.75 : 1, 1);
			}
	struct nb_near_bodies b = {.dim = 3, .pos = pos};
	struct nb_near_found want = {.k = 8};
	struct nb_within within = {.radius = 0.6};
	CHECK(nb_near_nearest_cpu(&b, &want) == NB_OK && nb_near_within_cpu(&b, &within) == NB_OK);
	b.n = 8;
	CHECK(nb_near_nearest_cpu(&b, &want) == NB_EINVAL);
	b.box = 1;
	CHECK(nb_near_within_cpu(&b, &within) == NB_EINVAL);
	const double ascend[] = {0, 0.2, 0.6}, descend[] = {0, 0.3, 0.2};
	uint64_t pairs[2];
	CHECK(nb_near_pairs_cpu(&b, NULL, &(const struct nb_pair_bins){2, ascend, 0, 0}, pairs) == NB_EINVAL);
	CHECK(nb_near_pairs_cpu(&b, NULL, &(const struct nb_pair_bins){2, descend, 0, 0}, pairs) == NB_EINVAL);
	CHECK(nb_near_pairs_cpu(&b, NULL, &(const struct nb_pair_bins){1, ascend, 0, 0}, pairs) == NB_OK);
	pos[4] = NAN;
	within.radius = 0.1;
	CHECK(nb_near_within_cpu(&b, &within) == NB_ENONFINITE);
	return unit_end();
}
