/* loop.c - leapfrog steps, or one pass, with the kernels of a pipeline in one process and nothing around them.
 *
 *     loop [-b BACKEND] [-d DT] [-e EPS] [-j THREADS] [-k STEPS] [-o FILE] [-r RUNS] [-t THETA] [-w STEPS]
 *          [--direct f32|mixed|f64] [--once] [--parts] FILE
 *
 * The denominator of tests/bench/run-pipes: what a step of
 *     nb-step -k STEPS -d DT 'nb-sort-zorder | nb-build-tree | nb-force -t THETA -e EPS' <FILE
 * costs without filters, frames, checks and memory that is allocated anew.  The bodies are those of the first frame of
 * a particle stream; reading it takes no part in the times.  A step is kick, drift, cube, keys, sort, permutation of
 * id, mass, pos and vel (f64, whatever the stream has), tree (leaves of 16, quadrupoles), walk in f32, kick; with
 * --direct, kick, drift, direct sum, kick.  The memory that a kernel allocates for itself is its own affair.
 *
 *   -w STEPS  steps before those that are timed (default 2)
 *   -k STEPS  steps of a run (default 10)
 *   -r RUNS   runs, each from where the one before has stopped (default 5)
 *   --once    a run is one pass of cube, keys, sort, permutation, tree and walk over the bodies as they were read
 *   --parts   seconds of each part, too; each part then waits for the device
 *   -o FILE   the bodies after the last run as a stream, to be compared with those of nb-step
 *
 * Prints words and numbers: n, threads, backend, and in seconds a step, or of a pass, median and best of the runs;
 * before them, with --once, first: a pass with fresh memory. */
#include "common/cpu.h"
#include "common/mem.h"
#include "common/timer.h"
#include "formats/stream/stream.h"
#include "kernels/backend/backend.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 16, ORDER = 2, DIM = 3, MOST_RUNS = 10000 };
enum part { KICK, KEYS, SORT, PERMUTE, BUILD, WALK, PARTS };
static const char *const part_name[] = {"kick_drift", "keys", "sort", "permute", "build", "walk"};

static struct {
	const char *backend, *output, *input;
	double dt, eps, theta;
	int before, steps, runs, direct, once, parts, threads;
	enum nb_precision precision;
} opt = {.backend = "cpu",
	.dt = 0.01,
	.eps = 0.01,
	.theta = 0.5,
	.before = 2,
	.steps = 10,
	.runs = 5,
	.precision = NB_F32};

enum { ID, MASS, POS, VEL, COLUMNS };
static const struct {
	enum nb_field field;
	enum nb_form form;
	size_t rowsize;
} kind[COLUMNS] = {{NB_ID, NB_AS_U64, 8}, {NB_MASS, NB_AS_F64, 8}, {NB_POS, NB_AS_F64, 24}, {NB_VEL, NB_AS_F64, 24}};

struct bodies {
	const struct nb_backend *backend;
	size_t n;
	void *column[COLUMNS], *sorted[COLUMNS];
	double *acc;
	uint64_t *key;
	uint32_t *perm;
	double seconds[PARTS];
};

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "loop: %s: %s\n", what, why);
	exit(1);
}

static void require(const struct bodies *b, int status, const char *what)
{
	if (status)
		fail(what, nb_backend_error(b->backend, status));
}

static void *need(const struct bodies *b, size_t size)
{
	void *p = b->backend->space->alloc(b->backend->space, b->n * size);
	if (!p)
		fail("memory", "exhausted");
	return p;
}

/* ---- kernels ------------------------------------------------------------------------------------ */

/* Books the time since *since under a part. */
static void book(struct bodies *b, enum part part, double *since)
{
	if (!opt.parts)
		return;
	require(b, b->backend->finish(), part_name[part]);
	const double now = nb_now();
	b->seconds[part] += now - *since;
	*since = now;
}

static void sum_forces(struct bodies *b, const struct nb_tree *tree)
{
	const struct nb_gravity g = {b->n, b->column[POS], NULL, b->column[MASS], b->acc, NULL, NULL, opt.eps, 1,
		opt.precision, NB_PLUMMER, NULL};
	const struct nb_tree_walk walk = {.theta = opt.theta, .mac = NB_MAC_GEOMETRIC};
	require(b, tree ? b->backend->gravity_tree(&g, tree, &walk, NULL) : b->backend->gravity_direct(&g, NULL),
		"forces");
}

static void force(struct bodies *b)
{
	const struct nb_backend *be = b->backend;
	struct nb_cube cube;
	struct nb_tree tree;
	size_t bad;
	double since = nb_now();
	if (opt.direct) {
		sum_forces(b, NULL);
		book(b, WALK, &since);
		return;
	}
	require(b, be->morton_cube(b->n, b->column[POS], DIM, &cube, &bad), "cube");
	require(b, be->morton_keys(b->n, b->column[POS], DIM, &cube, b->key), "keys");
	book(b, KEYS, &since);
	require(b, be->sort_keys(b->n, b->key, b->perm), "sort");
	book(b, SORT, &since);
	for (int c = 0; c < COLUMNS; c++) {
		void *old = b->column[c];
		require(b, be->permute(b->n, b->perm, kind[c].rowsize, old, b->sorted[c]), "permutation");
		b->column[c] = b->sorted[c];
		b->sorted[c] = old;
	}
	book(b, PERMUTE, &since);
	require(b, be->tree_build(b->n, b->key, b->column[POS], b->column[MASS], DIM, &cube, LEAF, ORDER, &tree),
		"tree");
	book(b, BUILD, &since);
	sum_forces(b, &tree);
	book(b, WALK, &since);
	be->tree_free(&tree);
}

static void advance(struct bodies *b)
{
	const struct nb_backend *be = b->backend;
	double since = nb_now();
	require(b, be->kick(b->n, b->column[VEL], b->acc, opt.dt / 2), "kick");
	require(b, be->drift(b->n, b->column[POS], b->column[VEL], opt.dt), "drift");
	book(b, KICK, &since);
	force(b);
	since = nb_now();
	require(b, be->kick(b->n, b->column[VEL], b->acc, opt.dt / 2), "kick");
	book(b, KICK, &since);
}

/* ---- streams ------------------------------------------------------------------------------------ */

/* The reader stays open: columns may be in the mapped file. */
static void read_frame(struct nb_reader *reader, struct nb_frame *frame)
{
	const int fd = open(opt.input, O_RDONLY | O_CLOEXEC);
	nb_frame_init(frame);
	if (fd < 0 || nb_reader_open(reader, fd))
		fail(opt.input, "cannot be opened");
	if (nb_reader_next(reader, frame) != NB_FRAME)
		fail(opt.input, reader->error[0] ? reader->error : "has no frame");
	for (int c = 0; c < COLUMNS; c++)
		if (!nb_frame_field(frame, kind[c].field))
			fail(opt.input, "has not all of id, mass, pos and vel");
}

/* The bodies as they were read. */
static void load(struct bodies *b, const struct nb_frame *frame)
{
	const struct nb_space *space = b->backend->space;
	for (int c = 0; c < COLUMNS; c++) {
		const void *host = nb_column_read(nb_frame_field(frame, kind[c].field), &nb_space_host, kind[c].form);
		if (!host)
			fail(opt.input, "out of memory, or no ids of <u8");
		require(b, space->from_host(space, b->column[c], host, b->n * kind[c].rowsize), "input");
	}
}

static void write_frame(const struct bodies *b)
{
	const struct nb_space *space = b->backend->space;
	struct nb_frame frame;
	struct nb_writer writer;
	const int fd = open(opt.output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	nb_frame_init(&frame);
	frame.rows[NB_PARTICLE] = b->n;
	for (int c = 0; c < COLUMNS; c++) {
		struct nb_column *column = nb_frame_add_field(&frame, kind[c].field, NULL, 0);
		void *host = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
		if (!host)
			fail(opt.output, "out of memory");
		require(b, space->to_host(space, host, b->column[c], b->n * kind[c].rowsize), "output");
	}
	if (fd < 0 || nb_writer_open(&writer, fd) || nb_writer_next(&writer, &frame) || nb_writer_close(&writer))
		fail(opt.output, "cannot be written");
	nb_frame_clear(&frame);
}

/* ---- runs --------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Seconds of so many steps, or of one pass. */
static double run(struct bodies *b, const struct nb_frame *frame, int steps)
{
	if (opt.once)
		load(b, frame);
	require(b, b->backend->finish(), "backend");
	const double start = nb_now();
	if (opt.once)
		force(b);
	else
		for (int k = 0; k < steps; k++)
			advance(b);
	require(b, b->backend->finish(), "backend");
	return nb_now() - start;
}

static void measure(struct bodies *b, const struct nb_frame *frame)
{
	static double seconds[MOST_RUNS];
	if (!opt.once) {
		load(b, frame);
		force(b);
	}
	const double first = run(b, frame, opt.before), steps = opt.once ? 1 : opt.steps;
	memset(b->seconds, 0, sizeof b->seconds);
	for (int r = 0; r < opt.runs; r++)
		seconds[r] = run(b, frame, opt.steps) / steps;
	qsort(seconds, (size_t)opt.runs, sizeof *seconds, by_value);
	printf("n %zu threads %d backend %s", b->n, nb_cpu_threads(), b->backend->name);
	if (opt.once)
		printf(" first %.9f", first);
	printf(" median %.9f best %.9f", seconds[opt.runs / 2], seconds[0]);
	for (int p = 0; opt.parts && p < PARTS; p++)
		printf(" %s %.9f", part_name[p], b->seconds[p] / (opt.runs * steps));
	printf("\n");
}

static _Noreturn void usage(void)
{
	fprintf(stderr, "usage: loop [-b cpu|cuda] [-d DT] [-e EPS] [-j THREADS] [-k STEPS] [-o FILE] [-r RUNS]\n"
			"            [-t THETA] [-w STEPS] [--direct f32|mixed|f64] [--once] [--parts] FILE\n");
	exit(2);
}

static int number(const char *text, int least, int most)
{
	char *end;
	const long n = strtol(text, &end, 10);
	if (end == text || *end || n < least || n > most)
		usage();
	return (int)n;
}

static double real(const char *text)
{
	char *end;
	const double x = strtod(text, &end);
	if (end == text || *end)
		usage();
	return x;
}

static enum nb_precision precision(const char *text)
{
	static const char *const word[] = {"f32", "mixed", "f64"};
	for (int k = 0; k < 3; k++)
		if (strcmp(text, word[k]) == 0)
			return (enum nb_precision)k;
	usage();
}

static void parse(int argc, char **argv)
{
	enum { DIRECT = 256, ONCE, SPLIT };
	static const struct option longer[] = {{"direct", required_argument, NULL, DIRECT},
		{"once", no_argument, NULL, ONCE}, {"parts", no_argument, NULL, SPLIT}, {NULL, 0, NULL, 0}};
	int c;
	while ((c = getopt_long(argc, argv, "b:d:e:j:k:o:r:t:w:", longer, NULL)) != -1)
		switch (c) {
		case 'b': opt.backend = optarg; break;
		case 'd': opt.dt = real(optarg); break;
		case 'e': opt.eps = real(optarg); break;
		case 'j': opt.threads = number(optarg, 1, 4096); break;
		case 'k': opt.steps = number(optarg, 1, 1 << 30); break;
		case 'o': opt.output = optarg; break;
		case 'r': opt.runs = number(optarg, 1, MOST_RUNS); break;
		case 't': opt.theta = real(optarg); break;
		case 'w': opt.before = number(optarg, 0, 1 << 30); break;
		case DIRECT: opt.direct = 1, opt.precision = precision(optarg); break;
		case ONCE: opt.once = 1; break;
		case SPLIT: opt.parts = 1; break;
		default: usage();
		}
	if (optind + 1 != argc)
		usage();
	opt.input = argv[optind];
}

int main(int argc, char **argv)
{
	struct nb_frame frame;
	struct nb_reader reader = {0};
	struct bodies b = {0};
	char why[NB_BACKEND_WHY];
	parse(argc, argv);
	if (opt.threads)
		nb_cpu_set_threads(opt.threads);
	if (nb_backend_choose(opt.backend, &b.backend, why))
		fail(opt.backend, why);
	read_frame(&reader, &frame);
	b.n = frame.rows[NB_PARTICLE];
	for (int c = 0; c < COLUMNS; c++) {
		b.column[c] = need(&b, kind[c].rowsize);
		b.sorted[c] = need(&b, kind[c].rowsize);
	}
	b.acc = need(&b, 3 * sizeof *b.acc);
	b.key = need(&b, sizeof *b.key);
	b.perm = need(&b, sizeof *b.perm);
	measure(&b, &frame);
	if (opt.output)
		write_frame(&b);
	return 0;
}
