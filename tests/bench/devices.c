/* devices - direct sum, steps with a tree and near field on one or several devices.
 *
 *   devices LIST [large|huge [TEXT]]     LIST as in -b cuda:LIST; large: uniform cubes of 2^28 bodies, too; huge: and
 *                                        of 2^30; TEXT: only rows whose names have it
 *
 * Rows: direct sum in f32 of a Plummer sphere, eps 0.01; force steps in f32 (cube, keys, sort, permutation, tree, walk)
 * of Plummer spheres, at an angle for an error of about 2e-4 and one of about 2e-5, and of a uniform cube; the near
 * field in f32 of 512 bodies in each box of level 7 in 2-D.  rms is that of the error over that of the force, by direct
 * sums in f64 for 1024 bodies ("-": near field).  Whole steps kick, drift, and compute the force in as little memory as
 * nb-step, with leaves of 32 for 2^30 bodies; what they should take goes to stderr before.  Where devices have less
 * memory than that, the time is "-".  Of several devices each has a part of the bodies (kernels/domain/domain.h). Times
 * are medians in ms by the clock of the host, from idle devices to idle devices, inputs resident.  hash is that of all
 * bytes of the result: tests/bench/run-devices compares it.  What each device did goes to
 * stderr. */
#include "common/timer.h"
#include "kernels/backend/backend.h"
#include "kernels/domain/domain.h"
#include "kernels/models/models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGETS = 1024, REPS_MOST = 15 };

static const struct nb_backend *backend;

static void require(int status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "devices: %s: %s\n", what, nb_backend_error(backend, status));
	exit(1);
}
#define DO(call) require((call), #call)

static void *host_array(size_t bytes)
{
	void *p = malloc(bytes);
	require(p ? NB_OK : NB_ENOMEM, "host memory");
	return p;
}

static void *device_array(size_t bytes)
{
	void *p = backend->space->alloc(backend->space, bytes);
	require(p ? NB_OK : nb_space_status(), "device memory");
	return p;
}

struct row {
	const char *what;
	enum nb_model_kind model;
	int dim;
	uint64_t n;	   /* not of boxes */
	double theta, eps; /* theta 0: direct sum, or near field of boxes */
	int reps;
	int leaf_size; /* of whole steps */
};

struct arrays {
	size_t n, nbox;
	double *pos, *mass, *sorted_pos, *sorted_mass, *vel, *acc;
	uint64_t *key, *first;
	uint32_t *perm;
	int32_t *neighbour;
};

enum { LEVEL = 7 };

/* ---- bodies --------------------------------------------------------------------------------------------- */

static double *to_device(const double *host, size_t n)
{
	double *there = device_array(n * sizeof *there);
	DO(backend->space->from_host(backend->space, there, host, n * sizeof *there));
	return there;
}

static double *filled_host(const struct nb_model *model, enum nb_model_field field, size_t n, size_t components)
{
	double *host = host_array(components * n * sizeof *host);
	DO(nb_model_fill(model, field, 0, n, host));
	return host;
}

static double *filled(const struct nb_model *model, enum nb_model_field field, size_t n, size_t components)
{
	double *host = filled_host(model, field, n, components), *there = to_device(host, components * n);
	free(host);
	return there;
}

static void sort(const struct row *r, const struct arrays *a, struct nb_cube *cube)
{
	size_t bad;
	DO(backend->morton_cube(a->n, a->pos, r->dim, cube, &bad));
	if (r->model == NB_MODEL_BOXES)
		*cube = (struct nb_cube){{0, 0, 0}, 1};
	DO(backend->morton_keys(a->n, a->pos, r->dim, cube, a->key));
	DO(backend->sort_keys(a->n, a->key, a->perm));
	DO(backend->sort_deep(a->n, a->key, a->pos, r->dim, a->perm));
	DO(backend->permute(a->n, a->perm, 24, a->pos, a->sorted_pos));
	DO(backend->permute(a->n, a->perm, 8, a->mass, a->sorted_mass));
}

static void make(const struct row *r, struct arrays *a)
{
	struct nb_model_param param;
	struct nb_model *model;
	struct nb_cube cube;
	const char *why;
	nb_model_defaults(&param, r->model);
	param.dim = r->dim;
	if (r->model == NB_MODEL_BOXES) {
		param.level = LEVEL;
		param.per_box = 512;
	} else {
		param.n = r->n;
	}
	DO(nb_model_create(&param, &model, &why));
	memset(a, 0, sizeof *a);
	const size_t n = a->n = nb_model_count(model);
	a->pos = filled(model, NB_MODEL_POS, n, 3);
	a->mass = filled(model, NB_MODEL_MASS, n, 1);
	nb_model_free(model);
	a->sorted_pos = device_array(24 * n);
	a->sorted_mass = device_array(8 * n);
	a->acc = device_array(24 * n);
	a->key = device_array(8 * n);
	a->perm = device_array(4 * n);
	sort(r, a, &cube);
	if (r->model == NB_MODEL_BOXES) {
		a->nbox = (size_t)1 << 2 * LEVEL;
		a->first = device_array((a->nbox + 1) * sizeof *a->first);
		a->neighbour = device_array(8 * a->nbox * sizeof *a->neighbour);
		DO(backend->boxes_build(n, a->key, 2, LEVEL, a->first, a->neighbour));
	}
}

/* Bodies for whole steps, which have one array of each, where `of` puts it. */
static void fill(const struct row *r, struct arrays *a,
	double *(*of)(const struct nb_model *, enum nb_model_field, size_t, size_t))
{
	struct nb_model_param param;
	struct nb_model *model;
	const char *why;
	nb_model_defaults(&param, r->model);
	param.n = r->n;
	if (r->model == NB_MODEL_UNIFORM)
		param.sigma = 0.1;
	DO(nb_model_create(&param, &model, &why));
	a->sorted_pos = of(model, NB_MODEL_POS, a->n, 3);
	a->vel = of(model, NB_MODEL_VEL, a->n, 3);
	a->sorted_mass = of(model, NB_MODEL_MASS, a->n, 1);
	nb_model_free(model);
}

static void clear(struct arrays *a)
{
	void *const all[] = {a->pos, a->mass, a->sorted_pos, a->sorted_mass, a->vel, a->acc, a->key, a->perm, a->first,
		a->neighbour};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		if (all[k])
			backend->space->release(backend->space, all[k]);
}

/* ---- work ----------------------------------------------------------------------------------------------- */

static struct nb_gravity gravity(const struct row *r, const struct arrays *a)
{
	return (struct nb_gravity){.n = a->n,
		.pos = a->sorted_pos,
		.mass = a->sorted_mass,
		.acc = a->acc,
		.eps = r->eps,
		.G = 1,
		.precision = NB_F32};
}

static void compute(const struct row *r, struct arrays *a)
{
	const struct nb_gravity g = gravity(r, a);
	if (r->model == NB_MODEL_BOXES) {
		const struct nb_boxes boxes = {a->nbox, a->first, a->neighbour, 8};
		DO(backend->gravity_near(&g, &boxes, NULL));
	} else if (r->theta == 0) {
		DO(backend->gravity_direct(&g, NULL));
	} else {
		const struct nb_tree_walk walk = {.theta = r->theta};
		struct nb_tree tree;
		struct nb_cube cube;
		sort(r, a, &cube);
		DO(backend->tree_build(a->n, a->key, a->sorted_pos, a->sorted_mass, 3, &cube, 16, 2, &tree));
		DO(backend->gravity_tree(&g, &tree, &walk, NULL));
		backend->tree_free(&tree);
	}
	DO(backend->finish());
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The median, of work that begins and ends with idle devices. */
static double milliseconds(const struct row *r, struct arrays *a, void (*work)(const struct row *, struct arrays *))
{
	double ms[REPS_MOST];
	for (int k = 0; k < r->reps; k++) {
		const double begin = nb_now();
		work(r, a);
		ms[k] = 1e3 * (nb_now() - begin);
	}
	qsort(ms, (size_t)r->reps, sizeof *ms, ascending);
	return ms[r->reps / 2];
}

/* ---- results -------------------------------------------------------------------------------------------- */

/* A hash of the bytes; exits if one is not finite. */
static uint64_t hash(const double *x, size_t n, const char *what)
{
	uint64_t h = 0xcbf29ce484222325u, bits;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(x[i])) {
			fprintf(stderr, "devices: %s: a result is not finite\n", what);
			exit(1);
		}
		memcpy(&bits, &x[i], sizeof bits);
		h = (h ^ bits) * 0x100000001b3u;
		h ^= h >> 32;
	}
	return h;
}

static double error_of(const struct row *r, const struct arrays *a, const double *acc)
{
	static uint32_t row[TARGETS];
	static double truth[3 * TARGETS];
	uint32_t *target = device_array(sizeof row);
	double *there = device_array(sizeof truth), wrong = 0, size = 0;
	const struct nb_gravity g = gravity(r, a);
	const struct nb_gravity_points points = {.n = TARGETS, .target = target, .acc = there};
	for (size_t k = 0; k < TARGETS; k++)
		row[k] = (uint32_t)(k * a->n / TARGETS);
	DO(backend->space->from_host(backend->space, target, row, sizeof row));
	DO(backend->gravity_points(&g, &points));
	DO(backend->space->to_host(backend->space, truth, there, sizeof truth));
	for (size_t k = 0; k < TARGETS; k++)
		for (size_t c = 0; c < 3; c++) {
			const double want = truth[3 * k + c], got = acc[3 * (size_t)row[k] + c];
			wrong += (got - want) * (got - want);
			size += want * want;
		}
	backend->space->release(backend->space, target);
	backend->space->release(backend->space, there);
	return sqrt(wrong / size);
}

struct result {
	unsigned long long hash;
	char rms[30];
};

/* acc is in the host's memory, the bodies are in the device's. */
static struct result judge(const struct row *r, const struct arrays *a, const double *acc)
{
	struct result result = {hash(acc, 3 * a->n, r->what), "-"};
	if (r->model != NB_MODEL_BOXES)
		snprintf(result.rms, sizeof result.rms, "%.2e", error_of(r, a, acc));
	return result;
}

static void print_row(const struct row *r, size_t n, double ms, const struct result *result)
{
	printf("%s\t%zu\t%.3f\t%s\t%016llx\n", r->what, n, ms, result->rms, result->hash);
	fflush(stdout);
}

/* Judges the result that there is, and times the work. */
static void measure(const struct row *r, struct arrays *a, void (*work)(const struct row *, struct arrays *))
{
	double *acc = host_array(24 * a->n);
	DO(backend->space->to_host(backend->space, acc, a->acc, 24 * a->n));
	const struct result result = judge(r, a, acc);
	free(acc);
	print_row(r, a->n, milliseconds(r, a, work), &result);
	clear(a);
}

static void run(const struct row *r)
{
	struct arrays a;
	make(r, &a);
	compute(r, &a);
	measure(r, &a, compute);
}

/* ---- whole steps ---------------------------------------------------------------------------------------- */

static void release(void *array)
{
	backend->space->release(backend->space, array);
}

static double *permuted(const struct arrays *a, size_t components, double *from)
{
	double *to = device_array(components * a->n * sizeof *to);
	DO(backend->permute(a->n, a->perm, components * sizeof *to, from, to));
	release(from);
	return to;
}

/* From one force to the next; what is not needed any more is given back at once. */
static void step(const struct row *r, struct arrays *a)
{
	static const double dt = 1e-6;
	const struct nb_tree_walk walk = {.theta = r->theta};
	struct nb_tree tree;
	struct nb_cube cube;
	size_t bad;
	if (a->acc) {
		DO(backend->kick(a->n, a->vel, a->acc, dt));
		DO(backend->drift(a->n, a->sorted_pos, a->vel, dt));
		release(a->acc);
	}
	a->key = device_array(8 * a->n);
	a->perm = device_array(4 * a->n);
	DO(backend->morton_cube(a->n, a->sorted_pos, r->dim, &cube, &bad));
	DO(backend->morton_keys(a->n, a->sorted_pos, r->dim, &cube, a->key));
	DO(backend->sort_keys(a->n, a->key, a->perm));
	DO(backend->sort_deep(a->n, a->key, a->sorted_pos, r->dim, a->perm));
	a->sorted_pos = permuted(a, 3, a->sorted_pos);
	a->vel = permuted(a, 3, a->vel);
	a->sorted_mass = permuted(a, 1, a->sorted_mass);
	release(a->perm);
	DO(backend->tree_build(a->n, a->key, a->sorted_pos, a->sorted_mass, 3, &cube, r->leaf_size, 2, &tree));
	release(a->key);
	a->key = NULL, a->perm = NULL;
	a->acc = device_array(24 * a->n);
	const struct nb_gravity g = gravity(r, a);
	DO(backend->gravity_tree(&g, &tree, &walk, NULL));
	backend->tree_free(&tree);
	DO(backend->finish());
}

/* ---- the same, of bodies that are spread over devices ------------------------------------------------------ */

static struct nb_domain *spread;

static void spread_force(void)
{
	double largest;
	require(nb_domain_force(spread, &largest, NULL), "force");
}

static void spread_step(const struct row *r, struct arrays *a)
{
	static const double dt = 1e-6;
	int finite;
	(void)r;
	(void)a;
	require(nb_domain_kick_drift(spread, dt, dt, &finite), "move");
	spread_force();
}

/* No device has more than its part, and what the result is judged by, afterwards. */
static void run_spread(const struct row *r, struct arrays *a)
{
	const struct nb_domain_law law = {.dim = 3,
		.leaf_size = r->leaf_size,
		.tree_order = 2,
		.walk.theta = r->theta,
		.eps = r->eps,
		.G = 1,
		.precision = NB_F32,
		.device = 1};
	const struct nb_domain_usage *share;
	fill(r, a, filled_host);
	double *pos = a->sorted_pos, *acc = a->vel, *mass = a->sorted_mass;
	const struct nb_domain_bodies all = {.n = a->n, .pos = pos, .vel = a->vel, .mass = mass},
				      back = {.n = a->n, .pos = pos, .mass = mass, .acc = acc};
	require(nb_backend_enlist(), "threads");
	require(nb_domain_begin(&spread, &law, &all), "begin");
	spread_force();
	spread_step(r, a);
	require(nb_domain_gather(spread, &back), "gather");
	const double ms = milliseconds(r, a, spread_step);
	for (int k = 0; (share = nb_domain_usage_of(spread, k)) != NULL; k++)
		fprintf(stderr, "device %d: %.0f bodies, %.4g s in walks, waited %.4g s, %.4g GB of memory at most\n",
			share->device, share->bodies, share->worked, share->waited, 1e-9 * share->bytes);
	nb_domain_end(spread);
	struct arrays there = {.n = a->n, .sorted_pos = to_device(pos, 3 * a->n), .sorted_mass = to_device(mass, a->n)};
	const struct result result = judge(r, &there, acc);
	print_row(r, a->n, ms, &result);
	clear(&there);
	free(pos);
	free(acc);
	free(mass);
}

static void run_steps(const struct row *r)
{
	struct arrays a = {.n = r->n};
	const double n = (double)r->n;
	struct nb_device_room room;
	struct nb_memory_job job = {.traits = NB_HAS_QUAD | NB_HAS_F32};
	job.count[NB_MEMORY_BODY] = n;
	job.count[NB_MEMORY_NODE] = nb_memory_nodes(n, r->leaf_size);
	job.count[NB_MEMORY_REGION] = nb_memory_regions(n, 4096 * 4, 0);
	const double bytes = 80 * n + nb_memory_of(NB_MEMORY_TREE, &job) +
			     nb_memory_of(NB_MEMORY_WALK, &job); /* pos, vel, mass, acc */
	fprintf(stderr, "%s, %.0f bodies: about %.4g GB of memory, %.0f bytes a body\n", r->what, n, bytes / 1e9,
		bytes / n);
	if (!nb_backend_room(backend, &room) && bytes > room.bytes * nb_backend_members()) {
		printf("%s\t%.0f\t-\t-\t-\n", r->what, n);
		return;
	}
	if (nb_backend_members() > 1) {
		run_spread(r, &a);
		return;
	}
	fill(r, &a, filled);
	step(r, &a);
	step(r, &a);
	measure(r, &a, step);
}

int main(int argc, char **argv)
{
	static const struct row table[] = {
		{"direct f32", NB_MODEL_PLUMMER, 3, 1 << 20, 0, 0.01, 5, 0},
		{"tree step plummer 2e-4", NB_MODEL_PLUMMER, 3, 1 << 24, 0.54, 0, 9, 0},
		{"tree step plummer 2e-5", NB_MODEL_PLUMMER, 3, 1 << 24, 0.27, 0, 7, 0},
		{"near 512 a box, level 7", NB_MODEL_BOXES, 2, 0, 0, 0.01 / (1 << LEVEL), 9, 0},
	};
	static const struct row large = {
		"tree step uniform 2e-4", NB_MODEL_UNIFORM, 3, (uint64_t)1 << 28, 0.62, 0, 3, 0};
	static const struct row whole[] = {
		{"whole step plummer 2e-4", NB_MODEL_PLUMMER, 3, 1 << 24, 0.54, 0, 9, 16},
		{"whole step plummer 2e-5", NB_MODEL_PLUMMER, 3, 1 << 24, 0.27, 0, 7, 16},
		{"whole step uniform 2e-4", NB_MODEL_UNIFORM, 3, (uint64_t)1 << 28, 0.62, 0, 3, 16},
		{"whole step uniform, leaves of 32", NB_MODEL_UNIFORM, 3, (uint64_t)1 << 30, 0.62, 0, 3, 32},
	};
	char name[200], why[NB_BACKEND_WHY], line[NB_BACKEND_REPORT];
	const int more = argc < 3 ? 0 : strcmp(argv[2], "large") == 0 ? 1 : strcmp(argv[2], "huge") == 0 ? 2 : -1;
	const char *text = argc < 4 ? "" : argv[3];
	if (argc < 2 || argc > 4 || more < 0) {
		fprintf(stderr, "usage: devices LIST [large|huge [TEXT]]\n");
		return 2;
	}
	snprintf(name, sizeof name, "cuda:%s", argv[1]);
	const int status = nb_backend_choose(name, &backend, why);
	if (status) {
		fprintf(stderr, "devices: %s: %s\n", name, why);
		return status == NB_EINVAL ? 2 : 77;
	}
	printf("work\tn\tms\trms\thash\n");
	for (size_t k = 0; k < sizeof table / sizeof *table; k++)
		if (strstr(table[k].what, text))
			run(&table[k]);
	if (more && strstr(large.what, text))
		run(&large);
	for (int k = 0; k < 2 + more; k++)
		if (strstr(whole[k].what, text))
			run_steps(&whole[k]);
	for (int k = 0; nb_backend_report(backend, k, line) == NB_OK; k++)
		fprintf(stderr, "%s\n", line);
	return 0;
}
