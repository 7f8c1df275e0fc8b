/* papers.c - the tables and figures of the papers beside what their kernels, and ours, do on this machine.
 *
 *     papers cpu|cuda FILE.tsv OUT.tsv [DATA]     the rows of a file that run on that backend
 *     papers cuda:LIST FILE.tsv OUT.tsv [DATA]    those of as many devices as are in LIST, on these
 *     papers counts cpu|cuda                      Shan & Lei, tables I and II, with a run that counts: on the device
 *                                                 by the kernels that are timed, else by a model of them
 *
 * A file has comments, which are printed above the rows that follow, and rows of tab-separated columns, named in the
 * first line that is no comment; '-' is none:
 *     table      identifier, for the plots
 *     backend    cpu or cuda; cuda*N: N devices that share the work, which have no baseline in the same process
 *     data       plummer, uniform, clusters; boxesK or boxesK~L (boxes of level K, of n bodies each; with ~L measured
 *                at level L and scaled by the interactions); cubesK (3-D, level K, n bodies each); planets.txt,
 *                galaxy30k.txt (from the folder DATA, else generated bodies of the same number, which the row says);
 *                flat: generated bodies in 2-D in place of a paper's that nobody can get, which the row says too
 *     n          bodies, or bodies a box; ignored for files
 *     kernel     as of nb-force --kernel, perhaps with ' --precision f64' or ' --jerk' after it, or with ' leapfrog': a
 *                step, with its kick and drift, is timed; or a drift of solid bodies that bounce: collide, ours, or
 *                xu-collide, that of Xu, Xu & Chen
 *     threads    of the processor; '-' all
 *     theta      opening angle
 *     unit       ms, ms/box, steps/s, G/s (10^9 interactions a second), Gpair/s (half of them: pairs of bodies) or
 *                GFLOPS (20 flops an interaction)
 *     paper      the paper's figure in that unit
 *     baseline   kernel that a speed-up refers to, on the cpu unless it begins with cuda/, perhaps with ' -j N' for N
 *                threads after it; the row above that has it with the same data, n and theta, else measured; for data
 *                boxesK at level K if that takes a minute at most, else at the highest level that does, and scaled by
 *                the interactions
 *     speedup    the paper's speed-up
 *     where      table, figure or section
 * A row shows the paper's figure, ours, how many times faster that is, the paper's speed-up and ours.
 *
 * The time is that of a whole call, the least of several.  With a line 'mean<tab>R' it is the mean of R calls: all
 * that the file measures on the same bodies is called once in each of R rounds, in an order that is shuffled for every
 * round, after a call of each that does not count.
 *
 * Accelerations, and jerks where the kernel computes them, are NaN before every call; the result of the last one is
 * compared with the oracle after the timing, as judge.h has it.  Exits 1 if a result was off, after a line that names
 * the row.
 *
 * '~' stands before a figure that was scaled from a lower level, and before a speed-up over one.
 *
 * OUT gets the same columns and x ours ours_speedup rms mark; x is what varies in a table, for the plots, and mark is
 * '-', '~' in such a row, or 'knee' in a row that repeats the one where a sweep of theta has its knee. */
#include "kernels/papers/papers.h"
#include "common/cpu.h"
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/backend/backend.h"
#include "kernels/models/models.h"
#include "kernels/motion/motion.h"
#include "tests/bench/judge.h"
#include "tests/bench/shan.h"
#include "tests/bench/shuffle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 12, LINE = 1024, THETAS = 64, BASELINES = 256, ROWS = 512, SHUFFLED = 128 };
/* of the shuffling: the same order on every machine */
enum { SEED = 30002 };
/* Results are compared for at least SAMPLE_LEAST bodies, and at most SAMPLE_MOST as long as that costs no more than
 * SAMPLE_PAIRS interactions. */
enum { SAMPLE_LEAST = 64, SAMPLE_MOST = 1024, SAMPLE_PAIRS = 1 << 25 };
enum { TABLE, BACKEND, DATA, N, KERNEL, CPUS, THETA, UNIT, PAPER, BASELINE, SPEEDUP, WHERE };
static const char *const column_name[COLUMNS] = {
	"table", "backend", "data", "n", "kernel", "threads", "theta", "unit", "paper", "baseline", "speedup", "where"};

static const char *data_folder;
static char place[LINE]; /* file and line of the row that is worked on */
static int failed;
_Static_assert((int)NB_PAPER_WHY >= (int)NB_BACKEND_WHY, "one buffer for both");

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "papers: %s: %s\n", what, why);
	exit(1);
}

static void *room_for(size_t count, size_t size)
{
	void *p = nb_alloc(count, size);
	if (!p)
		die("memory", "exhausted");
	return p;
}

static void check(int status, const char *what)
{
	if (status)
		die(what, nb_status_text(status));
}

/* A result is off. */
static void refuse(const char *row, const char *kernel, const char *data, const char *what)
{
	fflush(stdout);
	fprintf(stderr, "papers: %s: %s on %s: %s\n", row, kernel, data, what);
	failed = 1;
}

/* ---- data ------------------------------------------------------------------------------------------ */

struct bodies {
	char name[64];
	size_t n;
	double *pos, *vel, *mass;
	double eps, G;
	/* boxes, else nbox 0 */
	size_t nbox, nneighbour;
	uint64_t *box_first;
	int32_t *neighbour;
	const char *instead; /* what the row says of bodies in place of the paper's, or NULL */
	/* what the oracle says, once it is asked for */
	size_t some, *target;	  /* of these bodies */
	double *want, *want_jerk; /* some x 3; no jerk for boxes */
};

static void drop(struct bodies *b)
{
	nb_free(b->pos);
	nb_free(b->vel);
	nb_free(b->mass);
	nb_free(b->box_first);
	nb_free(b->neighbour);
	nb_free(b->target);
	nb_free(b->want);
	nb_free(b->want_jerk);
	*b = (struct bodies){.n = 0};
}

static void make_room(struct bodies *b, size_t n)
{
	b->n = n;
	b->pos = room_for(n, 3 * sizeof *b->pos);
	b->vel = room_for(n, 3 * sizeof *b->vel);
	b->mass = room_for(n, sizeof *b->mass);
}

static void from_model(struct bodies *b, enum nb_model_kind kind, int dim, size_t n, int level)
{
	struct nb_model_param param;
	struct nb_model *model;
	const char *why = "";
	nb_model_defaults(&param, kind);
	param.dim = kind == NB_MODEL_UNIFORM || kind == NB_MODEL_CLUSTERS || kind == NB_MODEL_BOXES ? dim : param.dim;
	param.n = n;
	param.level = level;
	param.per_box = n;
	param.sigma = 0.3; /* where the model has velocities of its own choice */
	if (nb_model_create(&param, &model, &why))
		die("model", why);
	make_room(b, nb_model_count(model));
	b->G = nb_model_G(model);
	check(nb_model_fill(model, NB_MODEL_POS, 0, b->n, b->pos), "model");
	check(nb_model_fill(model, NB_MODEL_VEL, 0, b->n, b->vel), "model");
	check(nb_model_fill(model, NB_MODEL_MASS, 0, b->n, b->mass), "model");
	nb_model_free(model);
	/* and they turn, so that groups move against each other: a jerk of bodies at rest would be 0 */
	for (size_t i = 0; i < b->n; i++) {
		b->vel[3 * i] -= b->pos[3 * i + 1];
		b->vel[3 * i + 1] += b->pos[3 * i];
	}
}

static void permute(struct bodies *b, const uint32_t *perm, double **field, size_t width)
{
	double *sorted = room_for(b->n, width * sizeof *sorted);
	check(nb_permute_cpu(b->n, perm, width * sizeof *sorted, *field, sorted), "sort");
	nb_free(*field);
	*field = sorted;
}

/* Body i to its place in cube i mod 8^level of the unit cube; it came from a cube of edge 1 about 0. */
static void into_cubes(struct bodies *b, int level)
{
	const size_t ncube = (size_t)1 << 3 * level;
	for (size_t k = 0; k < 3 * b->n; k++) {
		const size_t cube = ((k / 3 % ncube) >> (k % 3 * (size_t)level)) & (((size_t)1 << level) - 1);
		b->pos[k] = ldexp((double)cube + 0.5 + b->pos[k], -level);
	}
}

static void make_boxes(struct bodies *b, int dim, int level)
{
	const struct nb_cube cube = {{0, 0, 0}, 1};
	uint64_t *key = room_for(b->n, sizeof *key);
	uint32_t *perm = room_for(b->n, sizeof *perm);
	check(nb_morton_keys_cpu(b->n, b->pos, dim, &cube, key), "keys");
	check(nb_sort_keys_cpu(b->n, key, perm), "sort");
	permute(b, perm, &b->pos, 3);
	permute(b, perm, &b->vel, 3);
	permute(b, perm, &b->mass, 1);
	b->nbox = (size_t)1 << dim * level;
	b->nneighbour = dim == 3 ? 26 : 8;
	b->box_first = room_for(b->nbox + 1, sizeof *b->box_first);
	b->neighbour = room_for(b->nbox * b->nneighbour, sizeof *b->neighbour);
	check(nb_boxes_build_cpu(b->n, key, dim, level, b->box_first, b->neighbour), "boxes");
	nb_free(key);
	nb_free(perm);
}

/* N, radius, then rows px py vx vy mass and a rest.  0 if there is no such file. */
static int from_file(struct bodies *b, const char *name)
{
	char path[1024];
	if (!data_folder)
		return 0;
	snprintf(path, sizeof path, "%s/%s", data_folder, name);
	FILE *file = fopen(path, "r");
	size_t n = 0;
	double radius;
	if (!file)
		return 0;
	if (fscanf(file, "%zu %lf", &n, &radius) != 2 || n == 0 || n > 10000000)
		die(path, "no number of bodies and radius");
	make_room(b, n);
	for (size_t i = 0; i < n; i++) {
		double *x = b->pos + 3 * i, *v = b->vel + 3 * i;
		if (fscanf(file, "%lf %lf %lf %lf %lf%*[^\n]", x, x + 1, v, v + 1, b->mass + i) != 5)
			die(path, "a row without five numbers");
		x[2] = v[2] = 0;
	}
	fclose(file);
	b->G = 6.67e-11;
	return 1;
}

static void make(struct bodies *b, const char *data, size_t n)
{
	int level;
	if (b->n > 0 && strcmp(b->name, data) == 0 && (b->nbox || strstr(data, ".txt") || b->n == n) &&
		(!b->nbox || b->n == n * b->nbox))
		return; /* as the row before */
	drop(b);
	snprintf(b->name, sizeof b->name, "%s", data);
	b->eps = 0.01;
	if (strcmp(data, "plummer") == 0) {
		from_model(b, NB_MODEL_PLUMMER, 3, n, 0);
	} else if (strcmp(data, "uniform") == 0) {
		from_model(b, NB_MODEL_UNIFORM, 3, n, 0);
	} else if (strcmp(data, "clusters") == 0) {
		from_model(b, NB_MODEL_CLUSTERS, 3, n, 0);
	} else if (strcmp(data, "flat") == 0) {
		from_model(b, NB_MODEL_CLUSTERS, 2, n, 0);
		b->instead = "(generated bodies, not the paper's)";
	} else if (sscanf(data, "boxes%d", &level) == 1) {
		from_model(b, NB_MODEL_BOXES, 2, n, level);
		make_boxes(b, 2, level);
		/* An edge of a box: f32 positions of the whole square, as the kernels of Shan & Lei have them, give
		 * then errors of 3e-6 at level 7, and the bound can be strict.  A hundredth of an edge gives 1.4e-4. */
		b->eps = ldexp(1, -level);
	} else if (sscanf(data, "cubes%d", &level) == 1 && level >= 0 && level <= NB_BOXES_MAX_LEVEL_3D) {
		from_model(b, NB_MODEL_UNIFORM, 3, n << 3 * level, 0);
		into_cubes(b, level);
		make_boxes(b, 3, level);
	} else if (strcmp(data, "planets.txt") == 0 || strcmp(data, "galaxy30k.txt") == 0) {
		if (from_file(b, data)) {
			b->eps = 0;
		} else {
			from_model(b, NB_MODEL_CLUSTERS, 2, strcmp(data, "planets.txt") == 0 ? 5 : 30002, 0);
			b->instead = "(file absent: generated bodies, not the paper's)";
		}
	} else {
		die(data, "no such data");
	}
}

/* ---- a kernel at work ------------------------------------------------------------------------------ */

struct outcome {
	double ms, rms;
	struct nb_gravity_count count;
};

static void *put(const struct nb_backend *backend, const void *from, size_t bytes)
{
	const struct nb_space *space = backend->space;
	void *there = space->alloc(space, bytes);
	if (!there)
		die(backend->name, "out of memory");
	if (from)
		check(space->from_host(space, there, from, bytes), backend->name);
	return there;
}

/* What body i of boxes feels, in f64. */
static void near_ref(const struct bodies *b, size_t i, double acc[3])
{
	size_t low = 0, high = b->nbox;
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;
		*(b->box_first[middle] <= i ? &low : &high) = middle;
	}
	memset(acc, 0, 3 * sizeof *acc);
	for (int k = -1; k < (int)b->nneighbour; k++) {
		const int64_t box = k < 0 ? (int64_t)low : b->neighbour[b->nneighbour * low + (size_t)k];
		for (size_t j = box < 0 ? 0 : b->box_first[box]; box >= 0 && j < b->box_first[box + 1]; j++) {
			double d[3], r2 = b->eps * b->eps;
			for (size_t c = 0; c < 3; c++) {
				d[c] = b->pos[3 * j + c] - b->pos[3 * i + c];
				r2 += d[c] * d[c];
			}
			if (j == i || r2 == 0)
				continue;
			for (size_t c = 0; c < 3; c++)
				acc[c] += b->G * b->mass[j] * d[c] / (r2 * sqrt(r2));
		}
	}
}

static void ask_oracle(struct bodies *b)
{
	size_t some = SAMPLE_PAIRS / b->n;
	some = some < SAMPLE_LEAST ? SAMPLE_LEAST : some > SAMPLE_MOST ? SAMPLE_MOST : some;
	b->some = some < b->n ? some : b->n;
	b->target = room_for(b->some, sizeof *b->target);
	b->want = room_for(b->some, 3 * sizeof *b->want);
	b->want_jerk = b->nbox ? NULL : room_for(b->some, 3 * sizeof *b->want_jerk);
	for (size_t k = 0; k < b->some; k++)
		b->target[k] = b->some > 1 ? k * (b->n - 1) / (b->some - 1) : 0;
	const struct nb_gravity g = {
		.n = b->n, .pos = b->pos, .vel = b->vel, .mass = b->mass, .eps = b->eps, .G = b->G};
	if (b->nbox)
		for (size_t k = 0; k < b->some; k++)
			near_ref(b, b->target[k], b->want + 3 * k);
	else
		check(nb_gravity_ref(&g, b->target, b->some, b->want, NULL, b->want_jerk), "oracle");
}

/* A kernel with all that it needs, where it computes. */
struct trial {
	const struct nb_backend *backend;
	const struct nb_paper_kernel *kernel;
	struct nb_paper_job job;
	struct nb_gravity gravity;
	struct nb_boxes boxes;
	struct nb_gravity_count count; /* of the last call */
	char text[LINE], row[LINE];
	int threads;  /* of the processor */
	int leapfrog; /* a whole step is timed, of bodies */
	const struct bodies *bodies;
	void *pos, *vel, *mass, *acc, *jerk, *first, *neighbour;
	double *unset; /* n x 3, NaN, on the host */
};

/* text: a name and parameters, then options */
static void choose(struct trial *t, const char *where, const char *text)
{
	const char *family = strncmp(where, "cuda", 4) == 0 ? "cuda" : where;
	char why[NB_PAPER_WHY], name[LINE]; /* as long as NB_BACKEND_WHY */
	snprintf(t->text, sizeof t->text, "%s", text);
	snprintf(t->row, sizeof t->row, "%s", place);
	snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text);
	if (nb_backend_choose(where, &t->backend, why) ||
		nb_paper_choose(name, family, &t->kernel, t->job.parameter, why))
		die(text, why);
	t->gravity.precision = nb_paper_precision(t->kernel);
	/* the Taylor step of Xu, Xu & Chen needs the jerk */
	int jerk = strncmp(t->kernel->name, "xu-", 3) == 0;
	for (const char *option = text + strlen(name); *option; option += strcspn(option + 1, " ") + 1) {
		static const char *const word[] = {" --precision f32", " --precision mixed", " --precision f64"};
		int known = 0;
		for (int p = NB_F32; p <= NB_F64; p++)
			if (strncmp(option, word[p], strlen(word[p])) == 0) {
				t->gravity.precision = (enum nb_precision)p;
				option += strlen(" --precision");
				known = nb_paper_offers(t->kernel, (enum nb_precision)p);
			}
		if (strncmp(option, " --jerk", 7) == 0)
			known = jerk = (t->kernel->traits & NB_PAPER_JERK) != 0;
		if (strcmp(option, " leapfrog") == 0)
			known = t->leapfrog = !(t->kernel->traits & (NB_PAPER_BOXES | NB_PAPER_THETA));
		if (!known)
			die(text, "no such option, or the kernel does not offer it");
	}
	t->gravity.jerk = jerk ? (double *)t->jerk : NULL;
}

static void prepare(
	struct trial *t, const char *where, const char *text, int threads, double theta, const struct bodies *b)
{
	const size_t scalar = b->n * sizeof(double), vector = 3 * scalar;
	const struct nb_backend *backend;
	char why[NB_BACKEND_WHY];
	memset(t, 0, sizeof *t);
	if (nb_backend_choose(where, &backend, why))
		die(text, why);
	t->threads = threads;
	t->bodies = b;
	t->pos = put(backend, b->pos, vector);
	t->vel = put(backend, b->vel, vector);
	t->mass = put(backend, b->mass, scalar);
	t->acc = put(backend, NULL, vector);
	t->jerk = put(backend, NULL, vector);
	t->first = put(backend, b->box_first, b->nbox ? (b->nbox + 1) * sizeof *b->box_first : 0);
	t->neighbour = put(backend, b->neighbour, b->nbox * b->nneighbour * sizeof *b->neighbour);
	t->unset = room_for(b->n, 3 * sizeof *t->unset);
	memset(t->unset, 0xff, vector);
	t->boxes = (struct nb_boxes){b->nbox, t->first, t->neighbour, (int)b->nneighbour};
	t->gravity = (struct nb_gravity){
		.n = b->n, .pos = t->pos, .vel = t->vel, .mass = t->mass, .acc = t->acc, .eps = b->eps, .G = b->G};
	t->job = (struct nb_paper_job){.gravity = &t->gravity, .boxes = &t->boxes, .theta = theta};
	choose(t, where, text);
}

static const double LEAP = 0x1p-10; /* a step of the leapfrog */

/* Seconds of one call; of a step of the leapfrog whose velocities are half a step behind (acc, vel += acc dt, pos +=
 * vel dt), from the same start each time. */
static double call(struct trial *t)
{
	const struct nb_space *space = t->backend->space;
	const size_t n = t->gravity.n, vector = 3 * n * sizeof(double);
	if (t->leapfrog) {
		check(space->from_host(space, t->pos, t->bodies->pos, vector), t->text);
		check(space->from_host(space, t->vel, t->bodies->vel, vector), t->text);
	}
	check(space->from_host(space, t->acc, t->unset, vector), t->text);
	check(space->from_host(space, t->jerk, t->unset, vector), t->text);
	check(t->backend->finish(), t->text);
	nb_cpu_set_threads(t->threads);
	memset(&t->count, 0, sizeof t->count);
	const double start = nb_now();
	check(t->kernel->run(&t->job, &t->count), t->text);
	if (t->leapfrog) {
		check(t->backend->kick(n, t->vel, t->acc, LEAP), t->text);
		check(t->backend->drift(n, t->pos, t->vel, LEAP), t->text);
	}
	check(t->backend->finish(), t->text);
	return nb_now() - start;
}

/* Compares what a call wrote with the oracle; rms. */
static double rms_of(const struct trial *t, const struct bodies *b, const void *there, const double *want, int jerk)
{
	const struct nb_space *space = t->backend->space;
	double *got = room_for(b->n, 3 * sizeof *got), *error = room_for(b->some, sizeof *error);
	check(space->to_host(space, got, there, 3 * b->n * sizeof *got), t->text);
	const struct judgement j = judge(b->n, got, b->some, b->target, want, error);
	const double theta = t->kernel->traits & NB_PAPER_THETA ? t->job.theta : 0;
	const double bound = judge_bound(
		t->gravity.precision == NB_F64, theta, jerk, t->kernel->traits & NB_PAPER_RUNNING ? b->n : 0);
	nb_free(got);
	nb_free(error);
	if (!judge_accepts(j, bound)) {
		char what[LINE];
		snprintf(what, sizeof what,
			"%s wrong: rms error %.1e, median error %.1e (want %.1e at most), %zu bodies without numbers",
			jerk ? "jerk" : "acceleration", j.rms, j.median, bound, j.bad);
		refuse(t->row, t->text, b->name, what);
	}
	return j.rms;
}

/* A step must have moved the bodies as its accelerations want, up to the last bit or, where the backend fuses the
 * product and the sum, the one after. */
static void judge_step(const struct trial *t, const struct bodies *b)
{
	const struct nb_space *space = t->backend->space;
	const size_t vector = 3 * b->n * sizeof(double);
	double *acc = room_for(1, vector), *vel = room_for(1, vector), *pos = room_for(1, vector);
	size_t wrong = 0;
	check(space->to_host(space, acc, t->acc, vector), t->text);
	check(space->to_host(space, vel, t->vel, vector), t->text);
	check(space->to_host(space, pos, t->pos, vector), t->text);
	for (size_t k = 0; k < 3 * b->n; k++) {
		const double kicked = fma(acc[k], LEAP, b->vel[k]), drifted = fma(vel[k], LEAP, b->pos[k]);
		wrong += !(fabs(vel[k] - kicked) <= 0x1p-51 * (fabs(b->vel[k]) + fabs(kicked)) &&
			   fabs(pos[k] - drifted) <= 0x1p-51 * (fabs(b->pos[k]) + fabs(drifted)));
	}
	if (wrong > 0)
		refuse(t->row, t->text, b->name, "the step moves bodies elsewhere than their accelerations");
	nb_free(acc);
	nb_free(vel);
	nb_free(pos);
}

/* Judges the last call, and frees everything. */
static void conclude(struct trial *t, struct bodies *b, struct outcome *out)
{
	const struct nb_space *space = t->backend->space;
	if (!b->want)
		ask_oracle(b);
	out->count = t->count;
	out->rms = rms_of(t, b, t->acc, b->want, 0);
	if (t->leapfrog)
		judge_step(t, b);
	if (t->gravity.jerk && !b->want_jerk)
		die(t->text, "there is no oracle for the jerk of boxes");
	if (t->gravity.jerk)
		(void)rms_of(t, b, t->jerk, b->want_jerk, 1);
	void *const all[] = {t->pos, t->vel, t->mass, t->acc, t->jerk, t->first, t->neighbour};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		space->release(space, all[k]);
	nb_free(t->unset);
}

static void measure(
	const char *where, const char *text, int threads, double theta, struct bodies *b, struct outcome *out)
{
	struct trial t;
	prepare(&t, where, text, threads, theta, b);
	out->ms = INFINITY;
	double spent = 0;
	for (int run = 0; run < 2 || (run < 12 && spent < 0.25); run++) {
		const double seconds = call(&t);
		spent += seconds;
		out->ms = fmin(out->ms, 1e3 * seconds);
		if (seconds > 1)
			break;
	}
	conclude(&t, b, out);
}

/* ---- solid bodies ------------------------------------------------------------------------------------- */

/* Bodies on straight lines in all directions, a tenth of their mean distance thick: eight groups fill 0.42% of the
 * unit cube. */
static struct nb_collide solid_bodies(const struct bodies *b)
{
	struct nb_collide c = {.n = b->n, .mode = NB_COLLIDE_ELASTIC, .dt = 0.01};
	c.pos = room_for(b->n, 3 * sizeof *c.pos);
	c.vel = room_for(b->n, 3 * sizeof *c.vel);
	c.mass = room_for(b->n, sizeof *c.mass);
	c.radius = room_for(b->n, sizeof *c.radius);
	memcpy(c.pos, b->pos, 3 * b->n * sizeof *c.pos);
	memcpy(c.mass, b->mass, b->n * sizeof *c.mass);
	const double volume = strcmp(b->name, "clusters") == 0 ? 0.0042 : 1;
	for (size_t i = 0; i < b->n; i++) {
		const size_t far = (i * 7919 + 1) % b->n;
		for (size_t k = 0; k < 3; k++)
			c.vel[3 * i + k] = b->pos[3 * far + k] - 0.5;
		c.radius[i] = 0.05 * cbrt(volume / (double)b->n);
	}
	return c;
}

static void free_solid(struct nb_collide *c)
{
	nb_free(c->pos);
	nb_free(c->vel);
	nb_free(c->mass);
	nb_free(c->radius);
}

static double kinetic_energy(const struct nb_collide *c)
{
	double sum = 0;
	for (size_t i = 0; i < 3 * c->n; i++)
		sum += c->mass[i / 3] * c->vel[i] * c->vel[i];
	return sum / 2;
}

/* One drift; few bodies must end where the search of all pairs has them.  rms: relative error of the energy. */
static void measure_collide(int threads, const struct bodies *b, struct outcome *out)
{
	enum { FEW = 2000 };
	struct nb_collide_count count, expected;
	out->ms = INFINITY;
	double spent = 0;
	nb_cpu_set_threads(threads);
	for (int run = 0; run < 2 || (run < 12 && spent < 0.25); run++) {
		struct nb_collide c = solid_bodies(b), ref = solid_bodies(b);
		const double before = kinetic_energy(&c), start = nb_now();
		check(nb_collide_cpu(&c, &count), "collide");
		const double seconds = nb_now() - start;
		spent += seconds;
		out->ms = fmin(out->ms, 1e3 * seconds);
		out->rms = fabs(kinetic_energy(&c) / before - 1);
		if (run == 0 && b->n <= FEW) {
			check(nb_collide_ref(&ref, &expected), "oracle");
			const size_t bytes = 3 * b->n * sizeof *c.pos;
			if (count.contacts == 0 || count.contacts != expected.contacts ||
				memcmp(c.pos, ref.pos, bytes) != 0 || memcmp(c.vel, ref.vel, bytes) != 0) {
				refuse(place, "collide", b->name, "bodies end elsewhere than by all pairs");
			}
		}
		free_solid(&c);
		free_solid(&ref);
	}
	if (!(out->rms <= 1e-12)) {
		char what[LINE];
		snprintf(what, sizeof what, "relative error %.1e of the energy", out->rms);
		refuse(place, "collide", b->name, what);
	}
}

/* The same drift and bodies, all pairs as Xu, Xu & Chen have it, which are as many contacts as bodies overlap at its
 * end. rms: relative error of the energy.  Bodies without a contact must have moved, and those with one not. */
static void measure_xu_collide(int threads, const struct bodies *b, struct outcome *out)
{
	const size_t vector = 3 * b->n * sizeof(double);
	out->ms = INFINITY;
	double spent = 0;
	nb_cpu_set_threads(threads);
	for (int run = 0; run < 2 || (run < 12 && spent < 0.25); run++) {
		struct nb_collide c = solid_bodies(b), was = solid_bodies(b);
		struct nb_xu_step step = {.n = b->n,
			.pos = c.pos,
			.vel = c.vel,
			.dx = room_for(b->n, 3 * sizeof *step.dx),
			.dv = room_for(b->n, 3 * sizeof *step.dv),
			.mass = c.mass,
			.radius = c.radius};
		uint64_t contacts = 0;
		memset(step.dv, 0, vector);
		for (size_t k = 0; k < 3 * b->n; k++)
			step.dx[k] = c.vel[k] * c.dt;
		const double before = kinetic_energy(&c), start = nb_now();
		check(nb_xu_collide(&step, &contacts), "xu-collide");
		const double seconds = nb_now() - start;
		spent += seconds;
		out->ms = fmin(out->ms, 1e3 * seconds);
		out->rms = fabs(kinetic_energy(&c) / before - 1);
		size_t held = 0, wrong = 0;
		for (size_t i = 0; i < b->n; i++) {
			const size_t bytes = 3 * sizeof(double);
			const int turned = memcmp(c.vel + 3 * i, was.vel + 3 * i, bytes) != 0;
			held += turned;
			wrong += turned == (memcmp(c.pos + 3 * i, was.pos + 3 * i, bytes) != 0);
		}
		if (contacts == 0 || held > 2 * contacts || wrong > 0)
			refuse(place, "xu-collide", b->name, "no contacts, or other bodies were held than turned");
		nb_free(step.dx);
		nb_free(step.dv);
		free_solid(&c);
		free_solid(&was);
		if (seconds > 1)
			break;
	}
	if (!(out->rms <= 1e-12))
		refuse(place, "xu-collide", b->name, "the energy has changed");
}

/* Interactions of boxes of level K with P bodies each. */
static double box_pairs(int dim, int level, double P)
{
	const double side = ldexp(1, level), around = 3 * side - 2; /* of all boxes, along an axis, each with itself */
	return P * P * pow(around, dim) - P * pow(side, dim);
}

/* ---- rows -------------------------------------------------------------------------------------------- */

/* A figure, or NaN for '-'. */
static double figure(const char *text)
{
	return strcmp(text, "-") == 0 ? NAN : strtod(text, NULL);
}

static void show_scaled(double x, int width, int scaled)
{
	char text[32];
	const char *mark = scaled ? "~" : "";
	if (isnan(x))
		snprintf(text, sizeof text, "-");
	else if (x >= 1e5 || (x > 0 && x < 1e-2))
		snprintf(text, sizeof text, "%s%.2e", mark, x);
	else
		snprintf(text, sizeof text, "%s%.*f", mark, x < 1 ? 3 : x < 100 ? 2 : 1, x);
	printf("%*s", width, text);
}

static void show(double x, int width)
{
	show_scaled(x, width, 0);
}

/* The knee of error against work (interactions, which unlike the time do not vary): the point farthest below the
 * straight line between the first and the last, both scaled to 0 .. 1.
 * Source: V. Satopaa, J. Albrecht, D. Irwin, B. Raghavan, Finding a "Kneedle" in a Haystack, 2011. */
struct sweep {
	char kernel[64];
	int count;
	double theta[THETAS], ms[THETAS], work[THETAS], rms[THETAS];
	char line[THETAS][2 * LINE]; /* of OUT */
};

static void knee(struct sweep *s, FILE *out)
{
	if (s->count >= 3) {
		const int last = s->count - 1;
		const double x0 = s->work[0], x1 = s->work[last], y0 = s->rms[0], y1 = s->rms[last];
		double most = 0;
		int at = -1;
		for (int k = 1; k < last; k++) {
			const double x = (s->work[k] - x0) / (x1 - x0), y = (s->rms[k] - y0) / (y1 - y0);
			if (x - y > most) {
				most = x - y;
				at = k;
			}
		}
		if (at >= 0) {
			printf("    knee of %s: theta %g (%.3g ms, rms error %.1e)\n", s->kernel, s->theta[at],
				s->ms[at], s->rms[at]);
			fprintf(out, "%sknee\n", s->line[at]);
		} else {
			printf("    %s: no knee\n", s->kernel);
		}
	}
	s->count = 0;
}

/* What varies, for the plots: a parameter of the kernel, theta, threads, else n. */
static double abscissa(char *const field[COLUMNS], double n)
{
	const char *table = field[TABLE], *dash = strrchr(table, '-'), *key;
	char pattern[32];
	if (dash && strcmp(dash, "-theta") == 0)
		return figure(field[THETA]);
	if (dash && strcmp(dash, "-cpus") == 0)
		return figure(field[CPUS]);
	if (dash && strcmp(dash, "-devices") == 0)
		return strtod(field[BACKEND] + strcspn(field[BACKEND], "*") + 1, NULL);
	if (dash) {
		snprintf(pattern, sizeof pattern, "%s=", dash + 1);
		key = strstr(field[KERNEL], pattern);
		if (key)
			return strtod(key + strlen(pattern), NULL);
	}
	return n;
}

/* A row of the file. */
struct line {
	int number, starts; /* of the line; 1: comments stand above it */
	char text[LINE], *field[COLUMNS];
	char title[8 * LINE]; /* these comments */
};

struct session {
	struct line *line; /* nline, of the backend */
	size_t nline;
	int rounds;		     /* of the mean; 0: the least of several */
	struct bodies bodies, small; /* the row's, and the baseline's */
	struct known {		     /* what shuffled rounds have measured */
		char key[LINE];
		struct outcome out;
	} known[ROWS];
	size_t nknown;
	struct baseline {
		char key[LINE]; /* kernel, data, n, theta */
		double ms;
		int scaled; /* from a lower level */
	} baseline[BASELINES];
	size_t nbaseline;
	struct sweep sweep;
	FILE *out;
};

static double theta_of(char *const *field)
{
	return strcmp(field[THETA], "-") == 0 ? 0 : strtod(field[THETA], NULL);
}

/* Of a kernel, perhaps after "cuda/"; collide and xu-collide do not. */
static int knows_theta(const char *text)
{
	const struct nb_paper_kernel *kernel;
	int parameter[NB_PAPER_PARAMETERS];
	char name[LINE], why[NB_PAPER_WHY];
	const int cuda = strncmp(text, "cuda/", 5) == 0;
	text += cuda ? 5 : 0;
	snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text);
	return (nb_paper_choose(name, cuda ? "cuda" : "cpu", &kernel, parameter, why) == NB_OK ||
		       nb_paper_choose(name, "cuda", &kernel, parameter, why) == NB_OK) &&
	       kernel->traits & NB_PAPER_THETA;
}

/* What tells one measurement from another: for data boxesK~L the same as for boxesK. */
static void baseline_key(char key[LINE], const char *kernel, char *const field[COLUMNS], size_t n)
{
	const double theta = knows_theta(kernel) ? theta_of(field) : 0;
	snprintf(key, LINE, "%s %.*s %zu %g", kernel, (int)strcspn(field[DATA], "~"), field[DATA], n, theta);
}

static const struct baseline *keep_baseline(struct session *s, const char *key, double ms, int scaled)
{
	struct baseline *known = &s->baseline[s->nbaseline++ % BASELINES];
	snprintf(known->key, sizeof known->key, "%s", key);
	known->ms = ms;
	known->scaled = scaled;
	return known;
}

/* Kernel, backend, bodies, threads, and theta where the kernel knows one. */
static void trial_key(
	char key[LINE], const char *where, const char *text, int threads, double theta, char *const *field)
{
	snprintf(key, LINE, "%s %s %s %s %d %g", where, text, field[DATA], field[N], threads,
		knows_theta(text) ? theta : 0);
}

static int threads_of(const char *text)
{
	static int all;
	if (!all)
		all = nb_cpu_threads();
	return strcmp(text, "-") == 0 ? all : atoi(text);
}

/* The session's bodies, or the smaller ones of a baseline, by a kernel: measured now, or in rounds before. */
static void measure_once(struct session *s, const char *where, const char *text, int threads, char *const *field,
	struct bodies *b, struct outcome *out)
{
	char key[LINE];
	trial_key(key, where, text, threads, theta_of(field), field);
	for (size_t k = 0; k < s->nknown; k++)
		if (strcmp(key, s->known[k].key) == 0) {
			*out = s->known[k].out;
			return;
		}
	measure(where, text, threads, theta_of(field), b, out);
}

/* Splits "[cuda/]KERNEL[ -j N]"; the threads. */
static int baseline_parts(const char *text, const char **where, char name[LINE])
{
	const int cuda = strncmp(text, "cuda/", 5) == 0;
	*where = cuda ? "cuda" : "cpu";
	snprintf(name, LINE, "%s", text + (cuda ? 5 : 0));
	char *const j = strstr(name, " -j ");
	const int threads = j ? atoi(j + 4) : threads_of("-");
	if (j)
		*j = '\0';
	return threads;
}

/* Adds a trial unless it is known already. */
static size_t add_trial(struct session *s, struct trial *trial, size_t count, const char *where, const char *text,
	int threads, char *const *field)
{
	char key[LINE];
	trial_key(key, where, text, threads, theta_of(field), field);
	for (size_t k = 0; k < s->nknown; k++)
		if (strcmp(key, s->known[k].key) == 0)
			return count;
	if (s->nknown == ROWS || count == SHUFFLED)
		die(place, "more measurements than there is room for");
	struct known *known = &s->known[s->nknown++];
	snprintf(known->key, sizeof known->key, "%s", key);
	known->out = (struct outcome){.ms = 0};
	prepare(&trial[count], where, text, threads, theta_of(field), &s->bodies);
	return count + 1;
}

/* All that rows with the data and n of this one measure, in rounds, each in an order of its own. */
static void measure_in_rounds(struct session *s, const char *backend, const char *path, size_t from)
{
	static struct trial trial[SHUFFLED];
	size_t count = 0, order[SHUFFLED];
	const size_t before = s->nknown;
	char *const *field = s->line[from].field;
	make(&s->bodies, field[DATA], strtoull(field[N], NULL, 10));
	for (size_t k = from; k < s->nline; k++) {
		char *const *of = s->line[k].field;
		if (strcmp(of[DATA], field[DATA]) != 0 || strcmp(of[N], field[N]) != 0)
			continue;
		snprintf(place, sizeof place, "%s:%d", path, s->line[k].number);
		count = add_trial(s, trial, count, backend, of[KERNEL], threads_of(of[CPUS]), of);
		if (strcmp(of[BASELINE], "-") != 0) {
			const char *where;
			char name[LINE];
			const int threads = baseline_parts(of[BASELINE], &where, name);
			count = add_trial(s, trial, count, where, name, threads, of);
		}
	}
	for (size_t k = 0; k < count; k++) {
		order[k] = k;
		(void)call(&trial[k]);
	}
	for (int round = 0; round < s->rounds; round++) {
		shuffle(count, order, SEED + (uint64_t)round);
		for (size_t k = 0; k < count; k++)
			s->known[before + order[k]].out.ms += 1e3 * call(&trial[order[k]]) / s->rounds;
	}
	for (size_t k = 0; k < count; k++)
		conclude(&trial[k], &s->bodies, &s->known[before + k].out);
}

/* Time of a kernel on boxes of a level, of n bodies each: at the highest level at which it takes a minute at most. */
static double boxes_ms(
	struct session *s, const char *where, const char *kernel, int threads, size_t n, int level, int *scaled)
{
	enum { SMALL = 4, MINUTE = 60000 };
	int at = level < SMALL ? level : SMALL, done;
	struct outcome out;
	double ms;
	do {
		char data[24];
		snprintf(data, sizeof data, "boxes%d", at);
		make(&s->small, data, n);
		measure(where, kernel, threads, 0, &s->small, &out);
		ms = out.ms * box_pairs(2, level, (double)n) / box_pairs(2, at, (double)n);
		done = at;
		while (at < level && ms * box_pairs(2, at + 1, (double)n) <= MINUTE * box_pairs(2, level, (double)n))
			at++;
	} while (at > done);
	*scaled = at < level;
	return ms;
}

static const struct baseline *baseline_of(struct session *s, char *const field[COLUMNS], size_t n, int level)
{
	char key[LINE], name[LINE];
	const char *where;
	const int threads = baseline_parts(field[BASELINE], &where, name);
	baseline_key(key, field[BASELINE], field, n);
	for (size_t k = 0; k < s->nbaseline && k < BASELINES; k++)
		if (strcmp(key, s->baseline[k].key) == 0)
			return &s->baseline[k];
	if (level > 0) {
		int scaled;
		const double ms = boxes_ms(s, where, name, threads, n, level, &scaled);
		return keep_baseline(s, key, ms, scaled);
	}
	struct outcome out;
	measure_once(s, where, name, threads, field, &s->bodies, &out);
	nb_cpu_set_threads(threads_of("-"));
	return keep_baseline(s, key, out.ms, 0);
}

/* Interactions of a force computation, as they are counted for rates: of boxes at the level in the name of the data. */
static double interactions(const char *data, size_t n, const struct bodies *b)
{
	int level;
	if (sscanf(data, "boxes%d", &level) == 1 && level > 0)
		return box_pairs(2, level, (double)n);
	if (sscanf(data, "cubes%d", &level) == 1)
		return box_pairs(3, level, (double)n);
	return (double)b->n * (double)(b->n - 1);
}

static double in_unit(const char *unit, double ms, double pairs, const struct bodies *b)
{
	const double rate = pairs / ms * 1e-6;
	if (strcmp(unit, "ms") == 0)
		return ms;
	if (strcmp(unit, "ms/box") == 0)
		return ms / (double)b->nbox;
	if (strcmp(unit, "steps/s") == 0)
		return 1e3 / ms;
	if (strcmp(unit, "GFLOPS") == 0)
		return 20 * rate;
	if (strcmp(unit, "Gpair/s") == 0)
		return rate / 2;
	if (strcmp(unit, "G/s") != 0)
		die(unit, "no such unit");
	return rate;
}

static void row(struct session *s, const char *backend, char *field[COLUMNS])
{
	size_t n = strtoull(field[N], NULL, 10);
	int level = 0, measured_level = 0;
	char data[64];
	double scale = 1;
	snprintf(data, sizeof data, "%s", field[DATA]);
	if (sscanf(field[DATA], "boxes%d~%d", &level, &measured_level) == 2) {
		snprintf(data, sizeof data, "boxes%d", measured_level);
		scale = box_pairs(2, level, (double)n) / box_pairs(2, measured_level, (double)n);
	}
	const int threads = threads_of(field[CPUS]);
	make(&s->bodies, data, n);
	struct outcome out;
	memset(&out, 0, sizeof out);
	if (strcmp(field[KERNEL], "collide") == 0)
		measure_collide(threads, &s->bodies, &out);
	else if (strcmp(field[KERNEL], "xu-collide") == 0)
		measure_xu_collide(threads, &s->bodies, &out);
	else
		measure_once(s, backend, field[KERNEL], threads, field, &s->bodies, &out);
	nb_cpu_set_threads(threads_of("-"));
	out.ms *= scale;
	if (strcmp(backend, "cpu") == 0 && threads == threads_of("-")) { /* rows below may refer to it */
		char key[LINE];
		baseline_key(key, field[KERNEL], field, n);
		keep_baseline(s, key, out.ms, measured_level > 0);
	}
	const double pairs = interactions(field[DATA], n, &s->bodies);
	const int is_ms = strncmp(field[UNIT], "ms", 2) == 0;
	const double ours = in_unit(field[UNIT], out.ms, pairs, &s->bodies);
	const double paper = figure(field[PAPER]), speedup = figure(field[SPEEDUP]);
	const struct baseline *base = strcmp(field[BASELINE], "-") == 0 ? NULL : baseline_of(s, field, n, level);
	const double our_speedup = base ? base->ms / out.ms : NAN;
	const int scaled = measured_level > 0, scaled_speedup = scaled || (base && base->scaled);
	const double body_count = strstr(data, ".txt") ? (double)s->bodies.n : (double)n;
	printf("  %-14s%8.0f  %-34s%4s%6s ", field[DATA], body_count, field[KERNEL], field[CPUS], field[THETA]);
	show(paper, 10);
	show_scaled(ours, 11, scaled);
	printf(" %-7s", field[UNIT]);
	show_scaled(is_ms ? paper / ours : ours / paper, 10, scaled);
	show(speedup, 9);
	show_scaled(our_speedup, 9, scaled_speedup);
	printf("  %8.1e  %s%s%s\n", out.rms, strcmp(field[WHERE], "-") == 0 ? "" : field[WHERE],
		s->bodies.instead && strcmp(field[WHERE], "-") != 0 ? " " : "",
		s->bodies.instead ? s->bodies.instead : "");
	fflush(stdout);
	char line[2 * LINE] = "";
	size_t used = 0;
	for (int c = 0; c < COLUMNS; c++)
		used += (size_t)snprintf(line + used, sizeof line - used, "%s\t", field[c]);
	snprintf(line + used, sizeof line - used, "%g\t%g\t%g\t%g\t", abscissa(field, body_count), ours, our_speedup,
		out.rms);
	fprintf(s->out, "%s%s\n", line, scaled_speedup ? "~" : "-");

	if (strstr(field[TABLE], "-theta") == NULL)
		return;
	snprintf(s->sweep.kernel, sizeof s->sweep.kernel, "%s", field[KERNEL]);
	if (s->sweep.count < THETAS) {
		s->sweep.theta[s->sweep.count] = theta_of(field);
		s->sweep.ms[s->sweep.count] = out.ms;
		snprintf(s->sweep.line[s->sweep.count], sizeof line, "%s", line);
		s->sweep.work[s->sweep.count] = (double)(out.count.p2p + out.count.m2p);
		s->sweep.rms[s->sweep.count++] = out.rms;
	}
}

/* Splits at tabs; 1 if there are as many fields as columns. */
static int split(char *line, char *field[COLUMNS])
{
	line[strcspn(line, "\r\n")] = '\0';
	int count = 0;
	for (char *next = line; next; count++) {
		if (count == COLUMNS)
			return 0;
		field[count] = next;
		next = strchr(next, '\t');
		if (next)
			*next++ = '\0';
	}
	return count == COLUMNS;
}

/* What the column backend has for -b WHERE: cpu, cuda, cuda*N. */
static const char *column_of(const char *where, char tag[16])
{
	int devices = 1;
	if (strncmp(where, "cuda:", 5) != 0)
		return where;
	for (const char *c = where; *c; c++)
		devices += *c == ',';
	snprintf(tag, 16, "cuda*%d", devices);
	return tag;
}

/* The rows of a backend with the comments above them.  A block of comments belongs to all rows until the next one. */
static void read_file(struct session *s, const char *backend, const char *path)
{
	FILE *file = fopen(path, "r");
	char text[LINE], title[8 * LINE] = "", tag[16];
	const char *wanted = column_of(backend, tag);
	int named = 0, number = 0, shown = 0, fresh = 1;
	if (!file)
		die(path, "does not open");
	s->line = room_for(ROWS, sizeof *s->line);
	while (fgets(text, sizeof text, file)) {
		struct line *line = &s->line[s->nline];
		number++;
		if (text[0] == '#') {
			if (shown) /* a new block of comments */
				title[0] = '\0';
			shown = 0;
			fresh = 1;
			const size_t used = strlen(title);
			snprintf(title + used, sizeof title - used, "%s", text + 1 + (text[1] == ' '));
			continue;
		}
		if (sscanf(text, "mean\t%d", &s->rounds) == 1)
			continue;
		if (s->nline == ROWS)
			die(path, "too many rows");
		memcpy(line->text, text, sizeof text);
		if (!split(line->text, line->field)) {
			fprintf(stderr, "papers: %s:%d: not %d columns\n", path, number, COLUMNS);
			exit(1);
		}
		if (!named) {
			for (int c = 0; c < COLUMNS; c++)
				if (strcmp(line->field[c], column_name[c]) != 0)
					die(path, "the first line names other columns");
			named = 1;
			continue;
		}
		shown = 1;
		if (strcmp(line->field[BACKEND], wanted) != 0)
			continue;
		if (wanted == tag && strcmp(line->field[BASELINE], "-") != 0)
			die(path, "a row of several devices has a baseline");
		line->number = number;
		line->starts = fresh;
		fresh = 0;
		snprintf(line->title, sizeof line->title, "%s", title);
		s->nline++;
	}
	fclose(file);
}

static void run_file(const char *backend, const char *path, const char *out_path)
{
	static struct session s;
	const char *before[] = {"", "", ""};
	s.out = fopen(out_path, "a");
	if (!s.out)
		die(out_path, "does not open");
	read_file(&s, backend, path);
	for (size_t k = 0; k < s.nline && s.rounds > 0; k++)
		measure_in_rounds(&s, backend, path, k);
	for (size_t k = 0; k < s.nline; k++) {
		struct line *line = &s.line[k];
		/* a sweep ends with its kernel, data or table */
		const char *const now[] = {line->field[TABLE], line->field[DATA], line->field[KERNEL]};
		for (int c = 0; c < 3; c++) {
			if (strcmp(now[c], before[c]) != 0)
				knee(&s.sweep, s.out);
			before[c] = now[c];
		}
		if (line->starts) {
			printf("\n%s", line->title);
			if (s.rounds > 0)
				printf("Mean of %d calls; the order on the same bodies is shuffled for each (seed "
				       "%d)\n",
					s.rounds, SEED);
			printf("  %-14s%8s  %-34s%4s%6s %10s%11s %-7s%10s%9s%9s  %8s  %s\n", "data", "n", "kernel",
				"thr", "theta", "paper", "ours", "", "faster", "speed-up", "ours", "rms", "where");
		}
		snprintf(place, sizeof place, "%s:%d", path, line->number);
		row(&s, backend, line->field);
	}
	knee(&s.sweep, s.out);
	drop(&s.bodies);
	drop(&s.small);
	nb_free(s.line);
	if (fclose(s.out))
		die(out_path, "write error");
}

/* ---- Shan & Lei, tables I and II ------------------------------------------------------------------------ */

static void print_operations(const char *what, const struct nb_shan_operations *op)
{
	static const char *const procedure[] = {"father box", "neighbour box", "return d_acc"};
	for (int k = 0; k < NB_SHAN_PROCEDURES; k++)
		printf("  %-22s %-14s%9lld%9lld%9lld%9lld%9lld%9lld%9lld\n", k == 0 ? what : "", procedure[k],
			(long long)op[k].gr, (long long)op[k].gw, (long long)op[k].sr, (long long)op[k].sw,
			(long long)op[k].rr, (long long)op[k].rw, (long long)op[k].cp);
}

/* Table I by a run that counts: on the device by the kernels themselves, on the host by the model of them. */
static void run_counting(const char *where, const struct bodies *b, int improved, struct nb_shan_operations *counted)
{
	const struct nb_backend *backend;
	char why[NB_BACKEND_WHY];
	const size_t vector = 3 * b->n * sizeof(double);
	const struct nb_boxes boxes = {b->nbox, b->box_first, b->neighbour, 8};
	if (strcmp(where, "cpu") == 0) {
		float *acc = room_for(b->n, 2 * sizeof *acc);
		check(shan_run(b->n, b->pos, b->mass, &boxes, b->eps, improved, acc, counted), "counting run");
		nb_free(acc);
		return;
	}
	if (nb_backend_choose(where, &backend, why))
		die(where, why);
	void *const pos = put(backend, b->pos, vector), *const mass = put(backend, b->mass, vector / 3);
	void *const acc = put(backend, NULL, vector);
	void *const first = put(backend, b->box_first, (b->nbox + 1) * sizeof *b->box_first);
	void *const neighbour = put(backend, b->neighbour, b->nbox * 8 * sizeof *b->neighbour);
	const struct nb_boxes there = {b->nbox, first, neighbour, 8};
	const struct nb_gravity g = {
		.n = b->n, .pos = pos, .mass = mass, .acc = acc, .eps = b->eps, .G = b->G, .precision = NB_F32};
	check(nb_shan_count_cuda(&g, &there, improved, counted), "counting run");
	void *const all[] = {pos, mass, acc, first, neighbour};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		backend->space->release(backend->space, all[k]);
}

static void table1(const char *where)
{
	enum { P = 8, LEVEL = 7 };
	struct bodies b = {.n = 0};
	char data[16];
	snprintf(data, sizeof data, "boxes%d", LEVEL);
	make(&b, data, P);
	int64_t B = 0;
	for (size_t k = 0; k < 8 * b.nbox; k++)
		B += b.neighbour[k] >= 0;
	printf("\nShan & Lei 2012, table I: accesses and interactions of bpb and bpb-n3, by the formulas and counted "
	       "by\n"
	       "%s, at level %d with P = %d bodies a box (N = %zu, B = %lld)\n"
	       "  %-22s %-14s%9s%9s%9s%9s%9s%9s%9s\n",
		strcmp(where, "cpu") == 0 ? "a model of the kernels" : "the kernels themselves, compiled with counters",
		LEVEL, P, b.n, (long long)B, "", "", "GR", "GW", "SR", "SW", "RR", "RW", "CP");
	for (int improved = 0; improved < 2; improved++) {
		struct nb_shan_operations formula[NB_SHAN_PROCEDURES], counted[NB_SHAN_PROCEDURES];
		shan_table((int64_t)b.n, P, B, improved, formula);
		run_counting(where, &b, improved, counted);
		print_operations(improved ? "bpb-n3, formula" : "bpb, formula", formula);
		print_operations(improved ? "bpb-n3, counted" : "bpb, counted", counted);
		if (memcmp(formula, counted, sizeof formula) != 0) {
			fprintf(stderr, "papers: the counting run differs from table I\n");
			failed = 1;
		}
	}
	drop(&b);
}

static void table2(void)
{
	printf("\nShan & Lei 2012, table II: change from bpb to bpb-n3.  First row:\n"
	       "  interactions   -N(P-1)/2 - BP^2/2\n"
	       "  registers      -N(P-1) - BP^2\n"
	       "  shared memory  -N(P-1) - BP^2 as printed; table I gives 4N - N(P-1)/2 - BP(P-1)/2\n"
	       "  global memory  2N - BP/2\n"
	       "Second row, at level 7 (N = 16384 P, B = 129540), from table I.  For shared memory the paper prints a\n"
	       "reduction of P(146462P-89346); its table I gives P(72962P-138498), which is one for P >= 2, not P >= "
	       "1.\n"
	       "V: which of the four situations of section V the change is, for registers, shared and global memory\n"
	       "(1: computation is reduced and access increased, 2: both are reduced).\n"
	       "  %6s%18s%18s%18s%18s%8s%26s\n",
		"P", "interactions", "registers", "shared", "global", "V", "shared, as printed");
	for (int64_t p = 1; p <= 512; p *= 2) {
		int64_t registers, shared, global, cp;
		shan_change(16384 * p, p, 129540, &registers, &shared, &global, &cp);
		printf("  %6lld%18lld%18lld%18lld%18lld   %d %d %d%26lld\n", (long long)p, (long long)cp,
			(long long)registers, (long long)shared, (long long)global, shan_situation(cp, registers),
			shan_situation(cp, shared), shan_situation(cp, global), (long long)(-p * (146462 * p - 89346)));
	}
}

int main(int argc, char **argv)
{
	const struct nb_backend *backend;
	char why[NB_BACKEND_WHY];
	const int counts = argc == 3 && strcmp(argv[1], "counts") == 0;
	const char *where = argc > 1 ? argv[counts ? 2 : 1] : "";
	const int list = !counts && strncmp(where, "cuda:", 5) == 0;
	if ((!counts && argc < 4) || (strcmp(where, "cpu") != 0 && strcmp(where, "cuda") != 0 && !list)) {
		fprintf(stderr, "usage: papers cpu|cuda|cuda:LIST FILE.tsv OUT.tsv [DATA]\n       papers counts "
				"cpu|cuda\n");
		return 2;
	}
	if (nb_backend_choose(where, &backend, why)) {
		fprintf(stderr, "papers: %s: %s\n", where, why);
		return 77;
	}
	if (counts) {
		table1(where);
		if (strcmp(where, "cpu") == 0)
			table2();
		return failed;
	}
	data_folder = argc > 4 ? argv[4] : NULL;
	run_file(argv[1], argv[2], argv[3]);
	return failed;
}
