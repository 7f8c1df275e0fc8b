/* The table of the CUDA backend against that of the CPU: what looks at arrays where they are (checks, conversions,
 * boxes, measures), and what moves bodies, give the same answers on the device.  Exit status 77: there is no device. */
#include "common/mem.h"
#include "tests/unit/backend/there.h"

#include <pthread.h>

/* ---- numbers ------------------------------------------------------------------------------------ */

static void first_bad(size_t count, const double *x)
{
	const struct nb_space *host = &nb_space_host, *device = cuda->space;
	float *narrow = nb_alloc(count, sizeof *narrow);
	CHECK(host->narrow(host, count, x, narrow) == NB_OK);
	void *d_wide = there(x, count * sizeof *x), *d_narrow = there(narrow, count * sizeof *narrow);
	for (unsigned what = 1; what <= 3; what++)
		for (int wide = 0; wide < 2; wide++) {
			size_t want = 0, got = 1;
			CHECK(host->first_bad(host, count, wide, wide ? (const void *)x : narrow, what, &want) ==
				NB_OK);
			CHECK(device->first_bad(device, count, wide, wide ? d_wide : d_narrow, what, &got) == NB_OK);
			CHECK(got == want);
		}
	drop(d_wide);
	drop(d_narrow);
	nb_free(narrow);
}

static void numbers(void)
{
	static const size_t counts[] = {0, 1, 255, 257, 300001};
	uint64_t state = 3;
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
		const size_t n = counts[k];
		double *x = nb_alloc(n, sizeof *x), *y = nb_alloc(n, sizeof *y);
		float *f = nb_alloc(n, sizeof *f), *g = nb_alloc(n, sizeof *g);
		for (size_t i = 0; i < n; i++)
			x[i] = uniform(&state);
		first_bad(n, x);
		void *d_x = there(x, n * sizeof *x), *d_f = there(f, n * sizeof *f);
		CHECK(nb_space_host.narrow(&nb_space_host, n, x, f) == NB_OK);
		CHECK(cuda->space->narrow(cuda->space, n, d_x, d_f) == NB_OK);
		CHECK(cuda->space->widen(cuda->space, n, d_f, d_x) == NB_OK);
		back(g, d_f, n * sizeof *g);
		back(y, d_x, n * sizeof *y);
		size_t same = 0;
		for (size_t i = 0; i < n; i++)
			same += f[i] == g[i] && y[i] == (double)f[i];
		CHECK(same == n);
		if (n > 2) {
			x[n - 1] = -1;
			first_bad(n, x);
			x[n / 2] = NAN;
			first_bad(n, x);
			x[n / 3] = -INFINITY;
			first_bad(n, x);
		}
		nb_free(x);
		nb_free(y);
		nb_free(f);
		nb_free(g);
	}
}

/* ---- order -------------------------------------------------------------------------------------- */

static void order(size_t n, int dim)
{
	uint64_t state = 11, *key = nb_alloc(n, sizeof *key), want = 0, got = 1;
	double *pos = nb_alloc(n, 3 * sizeof *pos);
	struct nb_cube cube = {{0, 0, 0}, 1};
	size_t a = 0, b = 1;
	int current = -1;
	/* along a diagonal, so that keys ascend with the bodies */
	for (size_t i = 0; i < n; i++)
		pos[3 * i] = pos[3 * i + 1] = pos[3 * i + 2] = ((double)i + 0.5 * uniform(&state)) / (double)(n + 1);
	CHECK(cpu->morton_keys(n, pos, dim, &cube, key) == NB_OK);
	for (int stale = 0; stale < 3; stale++) {
		if (stale == 1) { /* a body moves */
			pos[3 * (n / 2)] += 0.3;
		} else if (stale == 2) { /* keys that belong to the bodies but do not ascend */
			pos[3 * (n / 2)] = pos[0];
			CHECK(cpu->morton_keys(n, pos, dim, &cube, key) == NB_OK);
		}
		void *d_pos = there(pos, 3 * n * sizeof *pos), *d_key = there(key, n * sizeof *key);
		CHECK(cpu->keys_current(n, pos, dim, &cube, key, &current) == NB_OK);
		CHECK(current == !stale);
		CHECK(cuda->keys_current(n, d_pos, dim, &cube, d_key, &current) == NB_OK);
		CHECK(current == !stale);
		const struct nb_cube small = {{0, 0, 0}, 0.7};
		CHECK(cpu->first_outside(n, pos, 0, dim, &small, &a) == NB_OK);
		CHECK(cuda->first_outside(n, d_pos, 0, dim, &small, &b) == NB_OK);
		CHECK(a == b && a < n);
		CHECK(cuda->first_outside(n, d_pos, 0, dim, &cube, &b) == NB_OK);
		CHECK(b == n);
		CHECK(cpu->ids_sum(n, key, &want) == NB_OK);
		CHECK(cuda->ids_sum(n, d_key, &got) == NB_OK);
		CHECK(want == got);
		drop(d_pos);
		drop(d_key);
	}
	nb_free(key);
	nb_free(pos);
}

/* ---- boxes -------------------------------------------------------------------------------------- */

static void same_verdict(const struct nb_boxes *boxes, size_t n, int sound)
{
	const char *want = "", *got = "";
	void *d_first = there(boxes->box_first, (boxes->nbox + 1) * sizeof *boxes->box_first);
	void *d_neighbour = there(boxes->neighbour, boxes->nbox * (size_t)boxes->nneighbour * sizeof(int32_t));
	const struct nb_boxes d_boxes = {boxes->nbox, d_first, d_neighbour, boxes->nneighbour};
	CHECK(cpu->boxes_check(boxes, n, &want) == NB_OK);
	CHECK(cuda->boxes_check(&d_boxes, n, &got) == NB_OK);
	CHECK((want == NULL) == sound);
	CHECK((got == NULL) == sound && (sound || strcmp(want, got) == 0));
	drop(d_first);
	drop(d_neighbour);
}

static void boxes(size_t n, int dim, int level)
{
	const size_t nbox = (size_t)1 << dim * level, nneighbour = dim == 3 ? 26 : 8;
	uint64_t state = 5, *key = nb_alloc(n, sizeof *key);
	uint64_t *want_first = nb_alloc(nbox + 1, sizeof *want_first), *first = nb_alloc(nbox + 1, sizeof *first);
	uint32_t *perm = nb_alloc(n, sizeof *perm);
	int32_t *want = nb_alloc(nbox * nneighbour, sizeof *want), *got = nb_alloc(nbox * nneighbour, sizeof *got);
	for (size_t i = 0; i < n; i++)
		key[i] = (uint64_t)(uniform(&state) * (dim == 3 ? 0x1p63 : 0x1p62));
	CHECK(cpu->sort_keys(n, key, perm) == NB_OK);
	void *d_key = there(key, n * sizeof *key), *d_first = there(first, (nbox + 1) * sizeof *first),
	     *d_neighbour = there(got, nbox * nneighbour * sizeof *got);
	CHECK(cpu->boxes_build(n, key, dim, level, want_first, want) == NB_OK);
	CHECK(cuda->boxes_build(n, d_key, dim, level, d_first, d_neighbour) == NB_OK);
	back(first, d_first, (nbox + 1) * sizeof *first);
	back(got, d_neighbour, nbox * nneighbour * sizeof *got);
	CHECK(memcmp(first, want_first, (nbox + 1) * sizeof *first) == 0);
	CHECK(memcmp(got, want, nbox * nneighbour * sizeof *got) == 0);
	drop(d_key);

	const struct nb_boxes b = {nbox, first, got, (int)nneighbour};
	same_verdict(&b, n, 1);
	same_verdict(&b, n + 1, 0);
	got[nbox * nneighbour - 1] = (int32_t)nbox;
	same_verdict(&b, n, 0);
	if (nbox > 2) {
		first[1] = n + 5;
		same_verdict(&b, n, 0);
	}
	nb_free(key);
	nb_free(perm);
	nb_free(want_first);
	nb_free(first);
	nb_free(want);
	nb_free(got);
}

/* ---- trees -------------------------------------------------------------------------------------- */

static void same_tree_verdict(const struct nb_tree *tree, size_t n, const double *pos, const double *mass, int bad)
{
	struct nb_tree d = *tree;
#define NB_NODE_COLUMN(type, member, components, order) \
	d.member = there(tree->member, tree->nnode * (components) * sizeof(type));
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	double *d_pos = there(pos, n * 3 * sizeof *pos), *d_mass = there(mass, n * sizeof *mass);
	const char *want = "", *got = "";
	CHECK(cpu->tree_check(tree, n, pos, mass, &want) == NB_OK);
	CHECK(cuda->tree_check(&d, n, d_pos, d_mass, &got) == NB_OK);
	CHECK(bad || !want);
	const int same = want == got || (want && got && strcmp(want, got) == 0);
	CHECK(same);
	if (!same)
		fprintf(stderr, "cpu '%s', cuda '%s'\n", want ? want : "", got ? got : "");
	drop(d_pos);
	drop(d_mass);
#define NB_NODE_COLUMN(type, member, components, order) drop(d.member);
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
}

/* Trees with one number of their nodes spoilt: the device finds what the host finds. */
static void trees(size_t n)
{
	uint64_t state = 9, *key = nb_alloc(n, sizeof *key);
	double *pos = nb_alloc(n, 3 * sizeof *pos), *mass = nb_alloc(n, sizeof *mass);
	struct nb_cube cube = {{0, 0, 0}, 1};
	struct nb_tree tree;
	for (size_t i = 0; i < n; i++) {
		pos[3 * i] = pos[3 * i + 1] = pos[3 * i + 2] = ((double)i + uniform(&state)) / (double)(n + 1);
		mass[i] = 1;
	}
	CHECK(cpu->morton_keys(n, pos, 3, &cube, key) == NB_OK);
	CHECK(cpu->tree_build(n, key, pos, mass, 3, &cube, 4, 2, &tree) == NB_OK);
	for (int spoil = 0; spoil < 9; spoil++) {
		uint32_t *const array[] = {NULL, tree.first, tree.count, tree.child, tree.nchild};
		uint32_t *number = spoil ? &array[1 + (spoil - 1) % 4][spoil > 4 ? tree.nnode - 1 : tree.nnode / 3]
					 : NULL;
		const uint32_t old = number ? *number : 0;
		if (number)
			*number = spoil % 2 ? old + 1 : UINT32_MAX - 7;
		same_tree_verdict(&tree, n, pos, mass, spoil != 0);
		if (number)
			*number = old;
	}
	double *const moment[] = {tree.box, tree.com, tree.mass, tree.quad};
	const size_t width[] = {6, 3, 1, 6};
	const double wrong[] = {NAN, INFINITY, -1, 1e300, 0.123};
	for (size_t spoil = 0; spoil < 4 * 5 * 3; spoil++) {
		const size_t node = spoil / 20 * (tree.nnode - 1) / 2;
		double *number = &moment[spoil % 4][width[spoil % 4] * node];
		const double old = *number;
		*number = wrong[spoil / 4 % 5];
		same_tree_verdict(&tree, n, pos, mass, 1);
		*number = old;
	}
	mass[n / 2] *= 1.5;
	same_tree_verdict(&tree, n, pos, mass, 1);
	cpu->tree_free(&tree);
	nb_free(key);
	nb_free(pos);
	nb_free(mass);
}

/* ---- measures ----------------------------------------------------------------------------------- */

struct bodies {
	size_t n;
	double *mass, *pos, *vel, *pot;
	void *d_mass, *d_pos, *d_vel, *d_pot;
};

/* Dense in the middle, with some masses 0. */
static struct bodies make_bodies(size_t n)
{
	struct bodies b = {n, nb_alloc(n, 8), nb_alloc(n, 24), nb_alloc(n, 24), nb_alloc(n, 8), 0, 0, 0, 0};
	uint64_t state = 17;
	for (size_t i = 0; i < n; i++) {
		const double r = 1 / (0.05 + uniform(&state));
		b.mass[i] = i % 7 == 3 ? 0 : 0.1 + uniform(&state);
		b.pot[i] = -uniform(&state);
		for (size_t k = 3 * i; k < 3 * i + 3; k++) {
			b.pos[k] = r * (uniform(&state) - 0.4);
			b.vel[k] = uniform(&state) - 0.3;
		}
	}
	return b;
}

static void bodies_there(struct bodies *b)
{
	b->d_mass = there(b->mass, 8 * b->n);
	b->d_pos = there(b->pos, 24 * b->n);
	b->d_vel = there(b->vel, 24 * b->n);
	b->d_pot = there(b->pot, 8 * b->n);
}

static void bodies_drop(struct bodies *b)
{
	drop(b->d_mass);
	drop(b->d_pos);
	drop(b->d_vel);
	drop(b->d_pot);
}

static void bodies_free(struct bodies *b)
{
	nb_free(b->mass);
	nb_free(b->pos);
	nb_free(b->vel);
	nb_free(b->pot);
}

/* Moments, with and without velocities; scale: an upper limit of the sums of magnitudes. */
static void same_moments(const struct bodies *b, double scale)
{
	for (int moving = 0; moving < 2; moving++) {
		struct nb_moments want, got, again;
		memset(&got, 0, sizeof got);
		memset(&again, 0, sizeof again);
		CHECK(cpu->moments(b->n, b->mass, b->pos, moving ? b->vel : NULL, &want) == NB_OK);
		CHECK(cuda->moments(b->n, b->d_mass, b->d_pos, moving ? b->d_vel : NULL, &got) == NB_OK);
		CHECK(cuda->moments(b->n, b->d_mass, b->d_pos, moving ? b->d_vel : NULL, &again) == NB_OK);
		CHECK(memcmp(&got, &again, sizeof got) == 0);
		CHECK(agree(want.mass, got.mass, want.mass));
		CHECK(agree(want.ekin, got.ekin, want.ekin));
		CHECK(agree(want.speed_max, got.speed_max, 0));
		for (int k = 0; k < 3; k++) {
			CHECK(agree(want.com[k], got.com[k], scale / want.mass));
			CHECK(agree(want.momentum[k], got.momentum[k], scale));
			CHECK(agree(want.angular[k], got.angular[k], scale));
		}
	}
}

static void same_radii(const struct bodies *b)
{
	enum { MANY = 40 }; /* more than a launch of the kernel finds */
	const double centre[3] = {0.1, -0.2, 0.3};
	double fraction[MANY], want[MANY], got[MANY], again[MANY];
	for (int k = 0; k < MANY; k++)
		fraction[k] = (k + 1.0) / MANY;
	CHECK(cpu->lagrangian_radii(b->n, b->mass, b->pos, centre, MANY, fraction, want) == NB_OK);
	CHECK(cuda->lagrangian_radii(b->n, b->d_mass, b->d_pos, centre, MANY, fraction, got) == NB_OK);
	CHECK(cuda->lagrangian_radii(b->n, b->d_mass, b->d_pos, centre, MANY, fraction, again) == NB_OK);
	CHECK(memcmp(got, again, sizeof got) == 0);
	for (int k = 0; k < MANY; k++)
		CHECK(agree(want[k], got[k], 0));
	CHECK(cuda->lagrangian_radii(b->n, b->d_mass, b->d_pos, centre, 0, fraction, got) == NB_OK);
}

static void same_measures(struct bodies *b, double scale)
{
	double want = 0, got = 1, again = 2;
	bodies_there(b);
	same_moments(b, scale);
	same_radii(b);
	CHECK(cpu->potential_energy(b->n, b->mass, b->pot, &want) == NB_OK);
	CHECK(cuda->potential_energy(b->n, b->d_mass, b->d_pot, &got) == NB_OK);
	CHECK(cuda->potential_energy(b->n, b->d_mass, b->d_pot, &again) == NB_OK);
	CHECK(agree(want, got, want) && (got == again || (isnan(got) && isnan(again))));
	bodies_drop(b);
}

static void measures(size_t n)
{
	struct bodies b = make_bodies(n);
	const double scale = 20.0 * (double)n;
	same_measures(&b, scale);
	if (n > 2) {
		for (size_t i = 0; i < n; i++) /* equal masses, whose shares are exact numbers of bodies */
			b.mass[i] = 0.1;
		same_measures(&b, scale);
		b.pos[3 * (n / 2)] = NAN;
		b.vel[3 * (n / 3)] = INFINITY;
		b.pot[n / 2] = NAN;
		same_measures(&b, scale);
		b.mass[n - 1] = NAN;
		same_measures(&b, scale);
	}
	for (size_t i = 0; i < n; i++)
		b.mass[i] = 0;
	same_measures(&b, scale);
	bodies_free(&b);
}

/* ---- motion ------------------------------------------------------------------------------------- */

/* The same bytes. */
static void motion(size_t n)
{
	enum { ARRAYS = 6 };
	const size_t bytes = 3 * n * sizeof(double);
	double *here[ARRAYS], *away[ARRAYS], *got = nb_alloc(3 * n, sizeof *got);
	uint64_t state = 7;
	for (int k = 0; k < ARRAYS; k++) {
		here[k] = nb_alloc(3 * n, sizeof(double));
		for (size_t i = 0; i < 3 * n; i++)
			here[k][i] = uniform(&state) - 0.5;
		away[k] = there(here[k], bytes);
	}
	for (double ahead = 0; ahead < 0.6; ahead += 0.3) {
		CHECK(cpu->hermite(n, here[0], here[1], here[2], here[3], here[4], here[5], ahead, 0.3) == NB_OK);
		CHECK(cuda->hermite(n, away[0], away[1], away[2], away[3], away[4], away[5], ahead, 0.3) == NB_OK);
	}
	double want[7], found[7];
	for (int k = 0; k < 4; k++) {
		const double before = k & 1 ? 0.01 : 0, kick = k & 2 ? 0.02 : 0;
		CHECK(cpu->kick_drift(n, here[0], here[1], here[2], before, kick, 0.3, want) == NB_OK);
		CHECK(cuda->kick_drift(n, away[0], away[1], away[2], before, kick, 0.3, found) == NB_OK);
		CHECK(memcmp(want, found, sizeof want) == 0);
	}
	CHECK(cpu->kick_drift(n, here[3], here[4], here[5], 0, INFINITY, 0.3, want) == NB_OK);
	CHECK(cuda->kick_drift(n, away[3], away[4], away[5], 0, INFINITY, 0.3, found) == NB_OK);
	CHECK(want[6] == (n > 0) && found[6] == want[6]);
	for (int k = 0; k < ARRAYS; k++) {
		back(got, away[k], bytes);
		CHECK(memcmp(got, here[k], bytes) == 0);
		nb_free(here[k]);
	}
	nb_free(got);
}

/* ---- opened again ------------------------------------------------------------------------------- */

static void *open_often(void *failed)
{
	const struct nb_backend *again;
	char why[NB_BACKEND_WHY];
	for (int k = 0; k < 20000; k++)
		if (nb_backend_choose("cuda", &again, why) || again != cuda)
			*(int *)failed = 1;
	return NULL;
}

/* Whoever computes with a device does not see that another thread asks for it, or for one that is not there. */
static void opened_again(void)
{
	const struct nb_space *const space = cuda->space;
	const struct nb_backend *other = NULL;
	char why[NB_BACKEND_WHY];
	pthread_t thread;
	int failed = 0;
	CHECK(pthread_create(&thread, NULL, open_often, &failed) == 0);
	for (int k = 0; k < 20000000; k++)
		failed |= *(const struct nb_space *const volatile *)&cuda->space != space;
	pthread_join(thread, NULL);
	CHECK(!failed);
	CHECK(nb_backend_choose("cuda:99", &other, why) && cuda->space == space);
}

int main(void)
{
	static const size_t counts[] = {0, 1, 2, 255, 257, 1000, 2048, 2049, 100000};
	if (!both_backends())
		return 77;
	numbers();
	for (int dim = 2; dim <= 3; dim++) {
		order(1000, dim);
		order(70001, dim);
		boxes(0, dim, 1);
		boxes(1, dim, 0);
		boxes(5000, dim, 3);
	}
	trees(10);
	trees(20000);
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
		measures(counts[k]);
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
		motion(counts[k]);
	opened_again();
	return unit_end();
}
