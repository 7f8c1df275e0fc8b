/* The kernels of the papers against the oracle: each on every n, precision, output and parameter that it offers, the
 * same bytes twice and for any number of threads (but for atomics: NB_PAPER_VARIES); their names; the operation counts
 * of Shan & Lei.
 *
 *     papers [BACKEND]        cpu (default) or cuda; exit 77 where there is no device */
#include "kernels/papers/papers.h"
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/backend/backend.h"
#include "kernels/papers/tree_internal.h"
#include "tests/bench/shan.h"
#include "tests/unit/unit.h"

static const struct nb_backend *backend;
static char label[300];

enum { LARGEST = UNIT_SANITIZED ? 400 : 1100, MOST = 3200 };

struct system {
	size_t n;
	double pos[3 * MOST], vel[3 * MOST], mass[MOST];
	double eps, G;
	int dim;
	uint64_t *box_first; /* nbox + 1 */
	int32_t *neighbour;
	size_t nbox;
	int nneighbour;
};

static uint64_t random_state;

static double uniform(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(random_state >> 11) + 0.5) * 0x1p-53;
}

/* n bodies, denser towards the middle if softened, away from the origin, in boxes; one massless, two at one place */
static void make(struct system *s, size_t n, int dim, double eps, int level)
{
	static double pos[3 * LARGEST];
	static uint64_t key[LARGEST];
	static uint32_t perm[LARGEST];
	s->n = n;
	s->dim = dim;
	s->eps = eps;
	s->G = 3;
	random_state = 77 + n + (uint64_t)dim;
	for (size_t i = 0; i < n; i++) {
		const double r = eps > 0 ? pow(uniform(), 2) : 1;
		for (int c = 0; c < 3; c++) {
			pos[3 * i + c] = c < dim ? 5 + r * (uniform() - 0.5) : 0;
			s->vel[3 * i + c] = c < dim ? uniform() - 0.5 : 0;
		}
		s->mass[i] = i == 3 ? 0 : (0.5 + uniform()) / (double)n;
	}
	if (n > 20)
		memcpy(pos + 3 * 17, pos + 3 * 11, 3 * sizeof *pos);
	struct nb_cube cube;
	size_t bad;
	CHECK(nb_morton_cube_cpu(n, pos, dim, &cube, &bad) == NB_OK);
	CHECK(nb_morton_keys_cpu(n, pos, dim, &cube, key) == NB_OK);
	CHECK(nb_sort_keys_cpu(n, key, perm) == NB_OK);
	for (size_t i = 0; i < n; i++)
		memcpy(s->pos + 3 * i, pos + 3 * perm[i], 3 * sizeof *pos);
	s->nbox = (size_t)1 << dim * level;
	s->nneighbour = dim == 2 ? 8 : 26;
	nb_free(s->box_first);
	nb_free(s->neighbour);
	s->box_first = nb_alloc(s->nbox + 1, sizeof *s->box_first);
	s->neighbour = nb_alloc(s->nbox * (size_t)s->nneighbour, sizeof *s->neighbour);
	CHECK(nb_boxes_build_cpu(n, key, dim, level, s->box_first, s->neighbour) == NB_OK);
}

static size_t box_of(const struct system *s, size_t i)
{
	size_t b = 0;
	while (s->box_first[b + 1] <= i)
		b++;
	return b;
}

static int adjacent(const struct system *s, size_t a, size_t b)
{
	if (a == b)
		return 1;
	for (int k = 0; k < s->nneighbour; k++)
		if (s->neighbour[a * (size_t)s->nneighbour + (size_t)k] == (int32_t)b)
			return 1;
	return 0;
}

struct result {
	double acc[3 * MOST], pot[MOST], jerk[3 * MOST];
	int status;
	struct nb_gravity_count count;
};

/* By the oracle, or, near, by the plain sum over adjacent boxes; not under test. */
static void reference(const struct system *s, int near, struct result *out)
	__attribute__((no_sanitize("address", "undefined")));
static void reference(const struct system *s, int near, struct result *out)
{
	const struct nb_gravity g = {.n = s->n,
		.pos = s->pos,
		.vel = s->vel,
		.mass = s->mass,
		.eps = s->eps,
		.G = s->G,
		.precision = NB_F64};
	if (!near) {
		CHECK(nb_gravity_ref(&g, NULL, 0, out->acc, out->pot, out->jerk) == NB_OK);
		return;
	}
	static size_t box[MOST];
	memset(out, 0, sizeof *out);
	for (size_t i = 0; i < s->n; i++)
		box[i] = box_of(s, i);
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = 0; j < s->n; j++) {
			if (i == j || !adjacent(s, box[i], box[j]))
				continue;
			double d[3], v[3], r2 = s->eps * s->eps, dv = 0;
			for (int c = 0; c < 3; c++) {
				d[c] = s->pos[3 * j + c] - s->pos[3 * i + c];
				v[c] = s->vel[3 * j + c] - s->vel[3 * i + c];
				r2 += d[c] * d[c];
				dv += d[c] * v[c];
			}
			if (r2 == 0)
				continue;
			const double w = s->G * s->mass[j] / (r2 * sqrt(r2));
			for (int c = 0; c < 3; c++) {
				out->acc[3 * i + c] += w * d[c];
				out->jerk[3 * i + c] += w * (v[c] - 3 * dv / r2 * d[c]);
			}
			out->pot[i] -= w * r2;
		}
}

/* An array where the backend computes, filled from `from`, or with NaN. */
static void *put(const void *from, size_t bytes)
{
	void *there = backend->space->alloc(backend->space, bytes);
	void *poison = from ? NULL : nb_alloc(bytes, 1);
	if (poison)
		memset(poison, 0xff, bytes);
	CHECK(there && backend->space->from_host(backend->space, there, from ? from : poison, bytes) == NB_OK);
	nb_free(poison);
	return there;
}

static void compute(const struct nb_paper_kernel *kernel, const int *parameter, const struct system *s, double theta,
	enum nb_precision precision, int extras, struct result *out)
{
	memset(out, 0, sizeof *out);
	const struct nb_space *space = backend->space;
	const size_t scalar = s->n * sizeof(double), vector = 3 * scalar;
	void *pos = put(s->pos, vector), *vel = put(s->vel, vector), *mass = put(s->mass, scalar);
	void *acc = put(NULL, vector), *pot = put(NULL, scalar), *jerk = put(NULL, vector);
	void *box_first = put(s->box_first, (s->nbox + 1) * sizeof *s->box_first);
	void *neighbour = put(s->neighbour, s->nbox * (size_t)s->nneighbour * sizeof *s->neighbour);
	const struct nb_gravity g = {.n = s->n,
		.pos = pos,
		.vel = vel,
		.mass = mass,
		.acc = acc,
		.pot = extras && kernel->traits & NB_PAPER_POT ? pot : NULL,
		.jerk = extras && kernel->traits & NB_PAPER_JERK ? jerk : NULL,
		.eps = s->eps,
		.G = s->G,
		.precision = precision};
	const struct nb_boxes boxes = {s->nbox, box_first, neighbour, s->nneighbour};
	struct nb_paper_job job = {.gravity = &g, .boxes = &boxes, .theta = theta};
	memcpy(job.parameter, parameter, sizeof job.parameter);
	out->status = kernel->run(&job, &out->count);
	WANT(backend->finish() == NB_OK);
	CHECK(space->to_host(space, out->acc, acc, vector) == NB_OK);
	CHECK(space->to_host(space, out->pot, pot, scalar) == NB_OK);
	CHECK(space->to_host(space, out->jerk, jerk, vector) == NB_OK);
	void *const all[] = {pos, vel, mass, acc, pot, jerk, box_first, neighbour};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		space->release(space, all[k]);
}

/* rms(|got - want|) / rms(|want|); NaN where something was not written */
static double rms(const double *got, const double *want, size_t count)
{
	double num = 0, den = 0;
	for (size_t k = 0; k < count; k++) {
		num += (got[k] - want[k]) * (got[k] - want[k]);
		den += want[k] * want[k];
	}
	return den > 0 ? sqrt(num / den) : num;
}

/* Pairs that count where only adjacent boxes do, each twice. */
static uint64_t near_pairs(const struct system *s)
{
	uint64_t pairs = 0;
	for (size_t b = 0; b < s->nbox; b++) {
		const uint64_t own = s->box_first[b + 1] - s->box_first[b];
		uint64_t around = own;
		for (int k = 0; k < s->nneighbour; k++) {
			const int32_t other = s->neighbour[b * (size_t)s->nneighbour + (size_t)k];
			around += other < 0 ? 0 : s->box_first[other + 1] - s->box_first[other];
		}
		pairs += own * around - own;
	}
	return pairs;
}

static void test_case(const struct nb_paper_kernel *kernel, const int *parameter, const struct system *s,
	enum nb_precision precision, int extras)
{
	static const char *const precision_name[] = {"f32", "mixed", "f64"};
	static struct result want, got, again;
	/* many kernels and parameters meet the same bodies one after the other */
	static struct system known;
	static int known_near = -1;
	const int near = (kernel->traits & NB_PAPER_BOXES) != 0;
	snprintf(label, sizeof label, "%s on %s, parameters %d %d %d, n %zu, %s, eps %g%s", kernel->name,
		kernel->backend, parameter[0], parameter[1], parameter[2], s->n, precision_name[precision], s->eps,
		extras ? ", all outputs" : "");
	/* unsoftened, a close pair is most of the rms, and f32 knows its separation to that many digits only */
	const double bound = precision == NB_F64 ? 1e-12 : s->eps > 0 ? 1e-5 : 3e-3;
	if (near != known_near || memcmp(&known, s, sizeof known) != 0) {
		reference(s, near, &want);
		known = *s;
		known_near = near;
	}
	compute(kernel, parameter, s, 0, precision, extras, &got);
	WANT(got.status == NB_OK);
	WANT(rms(got.acc, want.acc, 3 * s->n) <= bound);
	if (extras && kernel->traits & NB_PAPER_POT)
		WANT(rms(got.pot, want.pot, s->n) <= bound);
	if (extras && kernel->traits & NB_PAPER_JERK)
		WANT(rms(got.jerk, want.jerk, 3 * s->n) <= 20 * bound);
	WANT(got.count.p2p ==
		(kernel->traits & NB_PAPER_BOXES ? near_pairs(s) : (uint64_t)s->n * (s->n ? s->n - 1 : 0)));
	for (size_t i = 0; kernel->traits & NB_PAPER_PLANE && i < s->n; i++)
		WANT(got.acc[3 * i + 2] == 0);
	/* once more, on another number of threads: the same bytes */
	const int threads = nb_cpu_threads();
	nb_cpu_set_threads(threads + 2);
	compute(kernel, parameter, s, 0, precision, extras, &again);
	nb_cpu_set_threads(threads);
	if (kernel->traits & NB_PAPER_VARIES)
		WANT(rms(again.acc, want.acc, 3 * s->n) <= bound);
	else
		WANT(memcmp(got.acc, again.acc, 3 * s->n * sizeof *got.acc) == 0);
	WANT(memcmp(got.pot, again.pot, s->n * sizeof *got.pot) == 0);
	WANT(memcmp(got.jerk, again.jerk, 3 * s->n * sizeof *got.jerk) == 0);
}

/* A body somewhere in each of the boxes of a level in 2-D; box b has count[b] bodies. */
static void fill_boxes(struct system *s, int level, const size_t *count)
{
	make(s, 1, 2, 0.1, level);
	s->n = 0;
	for (size_t b = 0; b < s->nbox; b++) {
		size_t x = 0, y = 0;
		for (int bit = 0; bit < level; bit++) {
			x |= (b >> (2 * bit + 1) & 1) << bit;
			y |= (b >> 2 * bit & 1) << bit;
		}
		s->box_first[b] = s->n;
		for (size_t k = 0; k < count[b]; k++, s->n++) {
			s->pos[3 * s->n] = (double)x + uniform();
			s->pos[3 * s->n + 1] = (double)y + uniform();
			s->pos[3 * s->n + 2] = 0;
			s->mass[s->n] = s->n % 7 == 3 ? 0 : 0.5 + uniform();
			memset(s->vel + 3 * s->n, 0, 3 * sizeof *s->vel);
		}
	}
	s->box_first[s->nbox] = s->n;
	CHECK(s->n <= MOST);
}

/* Boxes of no body, of one, of whole warps and one more or less, and of more bodies than a block has threads. */
static void test_uneven(const struct nb_paper_kernel *kernel, const int *parameter)
{
	static struct system s;
	static const size_t count[3][16] = {
		{0, 1, 31, 32, 33, 257, 1024, 1500, 0, 2, 64, 1, 128, 7, 0, 100},
		{1500, 1, 0, 0, 33, 0, 1030, 31, 32, 2, 64, 0, 0, 257, 0, 1},
		{0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0},
	};
	for (size_t k = 0; k < 3; k++)
		for (enum nb_precision precision = NB_F32; precision <= NB_F64; precision++) {
			fill_boxes(&s, 2, count[k]);
			if (nb_paper_offers(kernel, precision))
				test_case(kernel, parameter, &s, precision, 0);
		}
}

/* Lists that are none: a neighbour out of range for the serial loop, and for bpb-n3 one that does not know of it. */
static void test_lists(const struct nb_paper_kernel *kernel)
{
	static struct system s;
	static struct result got;
	const int none[NB_PAPER_PARAMETERS] = {0, 0, 0};
	const int serial = strcmp(kernel->name, "shan-serial") == 0;
	if (!serial && strcmp(kernel->name, "shan-bpb-n3") != 0)
		return;
	make(&s, 64, 2, 0.01, 2);
	s.neighbour[0] = serial ? 16 : 15;
	snprintf(label, sizeof label, "%s on %s, neighbours that are none", kernel->name, kernel->backend);
	compute(kernel, none, &s, 0, NB_F32, 0, &got);
	WANT(got.status == NB_EINVAL);
}

/* The error grows with theta and stays in bounds, and cells are used. */
static void test_theta(const struct nb_paper_kernel *kernel, const struct system *s, enum nb_precision precision)
{
	static struct result want, got;
	const int none[NB_PAPER_PARAMETERS] = {0, 0, 0};
	double last = 1e-15;
	reference(s, 0, &want);
	for (double theta = 0.25; theta <= 1; theta *= 2) {
		snprintf(label, sizeof label, "%s on %s, theta %g", kernel->name, kernel->backend, theta);
		compute(kernel, none, s, theta, precision, 1, &got);
		const double error = rms(got.acc, want.acc, 3 * s->n);
		WANT(got.status == NB_OK && got.count.m2p > 0 && got.count.p2p < (uint64_t)s->n * (s->n - 1));
		WANT(error > 1.5 * last && error < 0.1 * theta);
		if (kernel->traits & NB_PAPER_JERK)
			WANT(rms(got.jerk, want.jerk, 3 * s->n) < 0.5 * theta);
		last = error;
	}
}

/* Two of three bodies share a cell of edge 1/8 and no smaller one, 0.95 away in each coordinate from the third. */
static void test_criterion(const struct nb_paper_kernel *kernel, enum nb_precision precision)
{
	static struct system s;
	static struct result got;
	const int none[NB_PAPER_PARAMETERS] = {0, 0, 0};
	const int dim = kernel->traits & NB_PAPER_PLANE ? 2 : 3;
	const double place[] = {0, 0.9, 1}, edge = 0.125, distance = 0.95 * sqrt(dim);
	make(&s, 3, dim, 0, 0);
	for (size_t i = 0; i < 3; i++) {
		for (int c = 0; c < dim; c++)
			s.pos[3 * i + (size_t)c] = place[i];
		s.mass[i] = 1;
	}
	for (int whole = 0; whole < 2; whole++) {
		const double theta = (whole ? 1.0001 : 0.9999) * edge / distance;
		snprintf(label, sizeof label, "%s on %s, a cell that is%s far enough", kernel->name, kernel->backend,
			whole ? "" : " not");
		compute(kernel, none, &s, theta, precision, 0, &got);
		WANT(got.status == NB_OK);
		WANT(got.count.m2p == (whole ? 1 : 0));
		WANT(got.count.p2p == (whole ? 4 : 6));
	}
}

/* A cell moves as its bodies do.  A tight cluster moves against a far one, and both with all the rest of the world,
 * which no force can tell: the jerk is that of the far cluster as one body, to the square of size over distance, and
 * that of the near bodies is exact, since their cells are opened. */
static void test_moving_clusters(const struct nb_paper_kernel *kernel, enum nb_precision precision)
{
	static struct system s;
	static struct result want, got;
	static const double bulk[3] = {1, 2, 3}, against[3] = {-0.7, 0.4, 0.9};
	const int none[NB_PAPER_PARAMETERS] = {0, 0, 0};
	make(&s, 400, 3, 0.01, 0);
	for (size_t i = 0; i < s.n; i++)
		for (size_t c = 0; c < 3; c++) {
			const int second = i % 2;
			s.pos[3 * i + c] = 10 * second + 0.5 * (uniform() - 0.5);
			s.vel[3 * i + c] = bulk[c] + (second ? against[c] : 0);
		}
	snprintf(label, sizeof label, "%s on %s, clusters that move against each other", kernel->name, kernel->backend);
	reference(&s, 0, &want);
	compute(kernel, none, &s, 0.3, precision, 1, &got);
	WANT(got.status == NB_OK && got.count.m2p >= s.n);
	WANT(rms(got.acc, want.acc, 3 * s.n) <= 1e-2);
	/* bodies of one cluster do not move against each other, so that all jerk is the other cluster's */
	WANT(rms(got.jerk, want.jerk, 3 * s.n) <= 2e-2);
}

/* Each body has a cell of its own, but for coincident ones, and lies in it; cells halve from parent to child. */
static void test_tree(int dim)
{
	static struct system s;
	struct nb_paper_tree tree;
	make(&s, LARGEST, dim, 0.01, 1);
	snprintf(label, sizeof label, "insertion, %d-D", dim);
	WANT(nb_paper_tree_insert(s.n, s.pos, dim, &tree) == NB_OK);
	size_t bodies = 0, crowded = 0;
	int right = 1;
	for (size_t k = 0; k < tree.nnode; k++) {
		const struct nb_paper_node *node = &tree.node[k];
		uint32_t below = 0;
		for (int32_t i = node->body; i != NB_PAPER_NONE; i = tree.next[i]) {
			below++;
			for (int c = 0; c < dim; c++)
				right &= fabs(s.pos[3 * (size_t)i + (size_t)c] - node->middle[c]) <=
					 0.5 * node->edge * (1 + 1e-12) + 1e-12;
		}
		bodies += below;
		crowded += below > 1;
		right &= below <= 1 || node->depth == NB_PAPER_DEPTH;
		for (int q = 0; q < 8; q++)
			if (node->child[q] != NB_PAPER_NONE) {
				const struct nb_paper_node *child = &tree.node[node->child[q]];
				right &= child->edge == 0.5 * node->edge && child->depth == node->depth + 1;
				below += child->count;
			}
		right &= below == node->count;
	}
	WANT(right && bodies == s.n && crowded == 1 && tree.node[0].count == s.n);
	nb_paper_tree_free(&tree);
	WANT(nb_paper_tree_insert(1, s.pos, 4, &tree) == NB_EINVAL);
}

/* Every number of bodies around the widths of vectors and warps, softened and not, with two at one place. */
static void test_few(const struct nb_paper_kernel *kernel)
{
	enum { FEW = UNIT_SANITIZED ? 18 : 40 };
	static struct system s;
	const int dim = kernel->traits & (NB_PAPER_PLANE | NB_PAPER_BOXES) ? 2 : 3;
	int parameter[NB_PAPER_PARAMETERS];
	for (int p = 0; p < NB_PAPER_PARAMETERS; p++)
		parameter[p] = kernel->parameter[p].fallback;
	for (size_t n = 3; n <= FEW; n++)
		for (int soft = 0; soft < 2; soft++) {
			make(&s, n, dim, soft ? 0.01 : 0, 1);
			test_case(kernel, parameter, &s, nb_paper_precision(kernel), 0);
		}
}

static void test_kernel(const struct nb_paper_kernel *kernel)
{
	static struct system s;
	static const size_t sizes[] = {0, 1, 2, 255, 257, LARGEST};
	const int dim = kernel->traits & NB_PAPER_PLANE || kernel->traits & NB_PAPER_BOXES ? 2 : 3;
	int parameter[NB_PAPER_PARAMETERS], first[NB_PAPER_PARAMETERS];
	for (int p = 0; p < NB_PAPER_PARAMETERS; p++)
		first[p] = kernel->parameter[p].fallback;
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
		for (int soft = 0; soft < 2; soft++) {
			make(&s, sizes[k], dim, soft ? 0.01 : 0, 2);
			for (enum nb_precision precision = NB_F32; precision <= NB_F64; precision++)
				for (int extras = 0; extras < 2; extras++)
					if (nb_paper_offers(kernel, precision) &&
						(!extras || kernel->traits & (NB_PAPER_POT | NB_PAPER_JERK)))
						test_case(kernel, first, &s, precision, extras);
		}
	if (kernel->traits & NB_PAPER_BOXES) {
		test_uneven(kernel, first);
		test_lists(kernel);
		if (!(kernel->traits & NB_PAPER_PLANE)) {
			make(&s, LARGEST, 3, 0.01, 1);
			test_case(kernel, first, &s, nb_paper_precision(kernel), 0);
		}
	}
	if (kernel->traits & NB_PAPER_THETA) {
		make(&s, LARGEST, dim, 0.01, 2);
		for (enum nb_precision precision = NB_F32; precision <= NB_F64; precision++) {
			if (!nb_paper_offers(kernel, precision))
				continue;
			test_theta(kernel, &s, precision);
			test_criterion(kernel, precision);
			if (kernel->traits & NB_PAPER_JERK)
				test_moving_clusters(kernel, precision);
		}
	}
	/* every combination of parameters; crowded boxes need several blocks */
	make(&s, kernel->traits & NB_PAPER_BOXES ? LARGEST : 257, dim, 0.01, 2);
	const int(*choice[NB_PAPER_PARAMETERS])[NB_PAPER_CHOICES];
	for (int p = 0; p < NB_PAPER_PARAMETERS; p++)
		choice[p] = &kernel->parameter[p].choice;
	if (!kernel->parameter[0].name)
		return;
	for (int a = 0; a < NB_PAPER_CHOICES && (*choice[0])[a]; a++)
		for (int b = 0; b == 0 || (b < NB_PAPER_CHOICES && (*choice[1])[b]); b++)
			for (int c = 0; c == 0 || (c < NB_PAPER_CHOICES && (*choice[2])[c]); c++) {
				parameter[0] = (*choice[0])[a];
				parameter[1] = (*choice[1])[b];
				parameter[2] = (*choice[2])[c];
				if (kernel->largest_block && parameter[0] * parameter[1] > kernel->largest_block)
					continue;
				test_case(kernel, parameter, &s, nb_paper_precision(kernel), 0);
			}
}

/* Units whose squares leave f32, and NaN. */
static void test_extremes(const struct nb_paper_kernel *kernel)
{
	static struct system s;
	static struct result want, got;
	const int dim = kernel->traits & (NB_PAPER_PLANE | NB_PAPER_BOXES) ? 2 : 3;
	int parameter[NB_PAPER_PARAMETERS];
	for (int p = 0; p < NB_PAPER_PARAMETERS; p++)
		parameter[p] = kernel->parameter[p].fallback;
	make(&s, 257, dim, 0.01, 1);
	for (size_t k = 0; k < 3 * s.n; k++)
		s.pos[k] *= 1e22;
	for (size_t k = 0; k < s.n; k++)
		s.mass[k] *= 1e42;
	s.eps = 1e20;
	s.G = 6.67e-11;
	snprintf(label, sizeof label, "%s on %s, SI units", kernel->name, kernel->backend);
	reference(&s, (kernel->traits & NB_PAPER_BOXES) != 0, &want);
	compute(kernel, parameter, &s, 0, nb_paper_precision(kernel), 0, &got);
	WANT(got.status == NB_OK && rms(got.acc, want.acc, 3 * s.n) <= 1e-5);
	s.pos[100] = NAN;
	snprintf(label, sizeof label, "%s on %s, NaN", kernel->name, kernel->backend);
	compute(kernel, parameter, &s, 0, nb_paper_precision(kernel), 0, &got);
	WANT(got.status == NB_ENONFINITE);
}

/* ---- names --------------------------------------------------------------------------------------------------- */

static void test_names(void)
{
	const struct nb_paper_kernel *kernel, *other;
	int parameter[NB_PAPER_PARAMETERS];
	char why[NB_PAPER_WHY];
	for (size_t k = 0; (kernel = nb_paper_kernel_at(k)) != NULL; k++) {
		snprintf(label, sizeof label, "%s on %s", kernel->name, kernel->backend);
		WANT(kernel->about && kernel->where && kernel->file && kernel->paper->name);
		WANT(kernel->traits & (NB_PAPER_F32 | NB_PAPER_MIXED | NB_PAPER_F64));
		WANT(nb_paper_offers(kernel, nb_paper_precision(kernel)));
		WANT(nb_paper_runs(kernel->name, kernel->backend) == (kernel->run != NULL));
		WANT(kernel->run || strcmp(kernel->backend, "cuda") == 0);
		/* found by its name: names are unique */
		const int status = nb_paper_choose(kernel->name, kernel->backend, &other, parameter, why);
		WANT(other == kernel);
		if (!kernel->run) {
			WANT(status == NB_EINVAL && strstr(why, "without CUDA"));
			continue;
		}
		WANT(status == NB_OK);
		for (int p = 0; p < NB_PAPER_PARAMETERS; p++) {
			WANT(parameter[p] == kernel->parameter[p].fallback);
			int known = !kernel->parameter[p].name;
			for (int c = 0; c < NB_PAPER_CHOICES; c++)
				known |= kernel->parameter[p].choice[c] == parameter[p];
			WANT(known);
		}
	}
	snprintf(label, sizeof label, "choice of a kernel");
	WANT(nb_paper_choose("nothing", "cpu", &kernel, parameter, why) == NB_EINVAL && strstr(why, "'nothing'"));
	WANT(nb_paper_choose("", "cpu", &kernel, parameter, why) == NB_EINVAL);
	WANT(nb_paper_choose("direct:p=4", "cpu", &kernel, parameter, why) == NB_EINVAL && strstr(why, "'p=4'"));
	WANT(nb_paper_choose("direct:", "cpu", &kernel, parameter, why) == NB_EINVAL);
	WANT(nb_paper_choose("shan-serial", "cuda", &kernel, parameter, why) == NB_EINVAL &&
		strstr(why, "runs on cpu"));
	if (nb_paper_runs("gems3", "cuda")) {
		WANT(nb_paper_choose("gems3:p=64,unroll=8", "cuda", &kernel, parameter, why) == NB_OK);
		WANT(parameter[0] == 64 && parameter[1] == 1 && parameter[2] == 8);
		WANT(nb_paper_choose("gems3:p=63", "cuda", &kernel, parameter, why) == NB_EINVAL &&
			strstr(why, "16|32"));
		WANT(nb_paper_choose("gems3:p=64,", "cuda", &kernel, parameter, why) == NB_EINVAL);
		WANT(nb_paper_choose("gems3:p=512,q=4", "cuda", &kernel, parameter, why) == NB_EINVAL &&
			strstr(why, "exceeds 1024"));
		WANT(nb_paper_choose("gems3", "cpu", &kernel, parameter, why) == NB_EINVAL &&
			strstr(why, "runs on cuda"));
	}
}

/* ---- Shan & Lei ------------------------------------------------------------------------------------------------ */

static int64_t neighbours(const struct system *s)
{
	int64_t B = 0;
	for (size_t k = 0; k < s->nbox * (size_t)s->nneighbour; k++)
		B += s->neighbour[k] >= 0;
	return B;
}

/* What the kernels themselves count on the device, and the accelerations they find. */
static void count_on_device(
	const struct system *s, int improved, struct nb_shan_operations *counted, struct result *out)
{
	const struct nb_space *space = backend->space;
	const size_t vector = 3 * s->n * sizeof(double);
	void *pos = put(s->pos, vector), *mass = put(s->mass, vector / 3), *acc = put(NULL, vector);
	void *box_first = put(s->box_first, (s->nbox + 1) * sizeof *s->box_first);
	void *neighbour = put(s->neighbour, s->nbox * (size_t)s->nneighbour * sizeof *s->neighbour);
	const struct nb_boxes boxes = {s->nbox, box_first, neighbour, s->nneighbour};
	const struct nb_gravity g = {
		.n = s->n, .pos = pos, .mass = mass, .acc = acc, .eps = s->eps, .G = s->G, .precision = NB_F32};
	WANT(nb_shan_count_cuda(&g, &boxes, improved, counted) == NB_OK);
	CHECK(space->to_host(space, out->acc, acc, vector) == NB_OK);
	void *const all[] = {pos, mass, acc, box_first, neighbour};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		space->release(space, all[k]);
}

/* The counts of the model, and on the device of the kernels: the formulas of table I where every box holds P bodies;
 * else one like the other.  And forces that are right. */
static void test_counts(const struct system *s, int64_t P)
{
	static struct result want, got;
	static float acc[2 * MOST];
	const struct nb_boxes boxes = {s->nbox, s->box_first, s->neighbour, s->nneighbour};
	struct nb_shan_operations model[NB_SHAN_PROCEDURES], kernel[NB_SHAN_PROCEDURES], formula[NB_SHAN_PROCEDURES];
	reference(s, 1, &want);
	for (int improved = 0; improved < 2; improved++) {
		snprintf(label, sizeof label, "Shan & Lei, %s, %d bodies a box", improved ? "bpb-n3" : "bpb", (int)P);
		WANT(shan_run(s->n, s->pos, s->mass, &boxes, s->eps, improved, acc, model) == NB_OK);
		for (size_t i = 0; i < s->n; i++)
			for (size_t c = 0; c < 3; c++)
				got.acc[3 * i + c] = c < 2 ? (double)acc[2 * i + c] : 0;
		WANT(rms(got.acc, want.acc, 3 * s->n) <= 1e-5);
		shan_table((int64_t)s->n, P, neighbours(s), improved, formula);
		if (P > 0)
			WANT(memcmp(model, formula, sizeof formula) == 0);
		if (strcmp(backend->name, "cuda") == 0) {
			count_on_device(s, improved, kernel, &got);
			WANT(rms(got.acc, want.acc, 3 * s->n) <= 1e-5);
			WANT(memcmp(kernel, model, sizeof model) == 0);
		} else {
			WANT(nb_paper_runs("shan-bpb", "cuda") ||
				nb_shan_count_cuda(NULL, NULL, improved, kernel) == NB_ENODEV);
		}
		WANT(model[NB_SHAN_NEIGHBOUR].cp * (improved ? 2 : 1) ==
			(int64_t)near_pairs(s) - model[NB_SHAN_FATHER].cp * (improved ? 2 : 1));
	}
}

static void test_shan(void)
{
	static struct system s;
	enum { LEVEL = 3 };
	static const size_t few[] = {1, 2, 5, 32, 37};
	size_t count[64];
	s.G = 1;
	for (size_t k = 0; k < sizeof few / sizeof *few; k++) {
		for (size_t b = 0; b < 64; b++)
			count[b] = few[k];
		fill_boxes(&s, LEVEL, count);
		s.G = 1;
		test_counts(&s, (int64_t)few[k]);
	}
	static const size_t uneven[16] = {0, 1, 31, 32, 33, 257, 1024, 3, 0, 2, 64, 1, 128, 7, 0, 100};
	fill_boxes(&s, 2, uneven);
	s.G = 1;
	test_counts(&s, 0);
	/* table II as printed, level 7: N = 16384 P, B = 129540 */
	int64_t registers, shared, global, cp;
	for (int64_t p = 1; p <= 512; p *= 2) {
		shan_change(16384 * p, p, 129540, &registers, &shared, &global, &cp);
		WANT(cp == -p * (145924 * p - 16384) / 2);
		WANT(registers == -p * (145924 * p - 16384));
		WANT(global == -32002 * p);
		WANT(shared == -p * (72962 * p - 138498)); /* from table I; the paper prints another number */
		/* section V: P = 1 costs accesses to shared memory, more bodies none */
		WANT(shan_situation(cp, registers) == 2 && shan_situation(cp, global) == 2);
		WANT(shan_situation(cp, shared) == (p == 1 ? 1 : 2));
	}
	WANT(shan_situation(-1, 0) == 2 && shan_situation(1, -1) == 3 && shan_situation(1, 0) == 4);
	WANT(shan_situation(1, 1) == 4 && shan_situation(0, 1) == 0);
	nb_free(s.box_first);
	nb_free(s.neighbour);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "cpu";
	char why[NB_BACKEND_WHY];
	if (nb_backend_choose(name, &backend, why)) {
		fprintf(stderr, "%s: %s\n", name, why);
		return 77;
	}
	test_names();
	test_shan();
	test_tree(2);
	test_tree(3);
	int tested = 0;
	const struct nb_paper_kernel *kernel;
	for (size_t k = 0; (kernel = nb_paper_kernel_at(k)) != NULL; k++)
		if (strcmp(kernel->backend, name) == 0) {
			test_kernel(kernel);
			test_few(kernel);
			test_extremes(kernel);
			tested++;
		}
	CHECK(tested > 0);
	return unit_end();
}
