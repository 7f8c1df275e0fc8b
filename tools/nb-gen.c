/* nb-gen: initial conditions as a particle stream.
 *
 * The frame is never held: the model gives any block of any field, so blocks are made by all threads in turn,
 * while still in cache, and written in order. */
#include "common/cpu.h"
#include "common/die.h"
#include "common/mem.h"
#include "common/parse.h"
#include "common/timer.h"
#include "kernels/models/models.h"
#include "tools/filter/options.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- models and their parameters ---------------------------------------------------------------- */

enum parameter {
	P_COUNT = 1 << 0,
	P_SEED = 1 << 1,
	P_RMAX = 1 << 2,
	P_SIZE = 1 << 3,
	P_SPREAD = 1 << 4,
	P_SIGMA = 1 << 5,
	P_VIRIAL = 1 << 6,
	P_GALAXY = 1 << 7, /* --disk, --bulge, --toomre, --height */
	P_ORBIT = 1 << 8,  /* --pericentre, --separation, --inclination, --node */
	P_TWO = 1 << 9,	   /* --eccentricity, --ratio */
	P_BOXES = 1 << 10, /* --level, --per-box */
	P_RADIUS = 1 << 11,
	P_DIM2 = 1 << 12, /* --dim 2 */
	P_DIM3 = 1 << 13  /* --dim 3 */
};

static const struct row {
	const char *name;
	unsigned takes;
	const char *units;
} models[NB_MODEL_NKIND] = {
	[NB_MODEL_PLUMMER] = {"plummer", P_COUNT | P_SEED | P_RMAX | P_RADIUS | P_DIM3, "Henon: G=1 M=1 E=-1/4"},
	[NB_MODEL_UNIFORM] = {"uniform", P_COUNT | P_SEED | P_SIZE | P_SIGMA | P_RADIUS | P_DIM2 | P_DIM3, "G=1 M=1"},
	[NB_MODEL_SPHERE] = {"sphere", P_COUNT | P_SEED | P_SIZE | P_VIRIAL | P_RADIUS | P_DIM2 | P_DIM3,
		"Henon: G=1 M=1 E=-1/4"},
	[NB_MODEL_CLUSTERS] = {"clusters", P_COUNT | P_SEED | P_SIZE | P_SPREAD | P_SIGMA | P_RADIUS | P_DIM2 | P_DIM3,
		"G=1 M=1"},
	[NB_MODEL_DISK] = {"disk", P_COUNT | P_SEED | P_GALAXY | P_RADIUS | P_DIM3, "Henon: G=1 M=1 E=-1/4"},
	[NB_MODEL_MERGER] = {"merger", P_COUNT | P_SEED | P_GALAXY | P_ORBIT | P_TWO | P_RADIUS | P_DIM3, "G=1 M=1"},
	[NB_MODEL_BOXES] = {"boxes", P_SEED | P_SIGMA | P_BOXES | P_RADIUS | P_DIM2, "G=1 M=1"},
	[NB_MODEL_SOLAR] = {"solar", P_DIM3, "AU, day, solar mass; ecliptic J2000"},
	[NB_MODEL_FIGURE8] = {"figure8", P_RADIUS | P_DIM2 | P_DIM3, "G=1, three masses of 1"},
	[NB_MODEL_KEPLER] = {"kepler", P_TWO | P_RADIUS | P_DIM2 | P_DIM3, "G=1 M=1, semi-major axis 1"},
};

/* ---- options ------------------------------------------------------------------------------------ */

/* What was given replaces the model's own default. */
static struct {
	struct nb_model_param p;
	int dim, precision;
	double radius;
	const char *inclination, *node;
} opt = {.radius = 0};

static struct {
	int count, seed, dim, rmax, size, spread, sigma, virial, disk, bulge, toomre, height, pericentre, separation;
	int eccentricity, ratio, inclination, node, level, per_box, radius;
} given;

static const struct nb_option options[] = {
	{'n', "count", NB_OPT_U64, &opt.p.n, 0, 0x1p40, "N", "65536, or what the model has", "number of bodies", 0,
		&given.count},
	{'s', "seed", NB_OPT_U64, &opt.p.seed, 0, 0x1p64, "SEED", "1", "seed of the random numbers", 0, &given.seed},
	{0, "bulge", NB_OPT_F64, &opt.p.bulge, 0, 0.99, "F", "0.04", "disk, merger: mass of the bulge in a galaxy's", 0,
		&given.bulge},
	{0, "dim", NB_OPT_CHOICE, &opt.dim, 0, 0, "2|3", "3, boxes: 2", "dimensions", 0, &given.dim},
	{0, "disk", NB_OPT_F64_POS, &opt.p.disk, 0, 0.99, "F", "0.15", "disk, merger: mass of the disk in a galaxy's",
		0, &given.disk},
	{0, "eccentricity", NB_OPT_F64, &opt.p.eccentricity, 0, 1e6, "E", "merger: 1, kepler: 0.5",
		"merger, kepler: of the orbit", 0, &given.eccentricity},
	{0, "height", NB_OPT_F64_POS, &opt.p.height, 1e-6, 10, "Z", "0.15",
		"disk, merger: scale height of the disk in scale lengths", 0, &given.height},
	{0, "inclination", NB_OPT_TEXT, &opt.inclination, 0, 0, "I1,I2", "15,60",
		"merger: of the disks against the orbit, degrees", 0, &given.inclination},
	{0, "level", NB_OPT_INT, &opt.p.level, 0, NB_MODEL_MAX_LEVEL, "K", "7", "boxes: 4^K boxes", 0, &given.level},
	{0, "node", NB_OPT_TEXT, &opt.node, 0, 0, "W1,W2", "0,90",
		"merger: ascending nodes from the pericentre, degrees", 0, &given.node},
	{0, "per-box", NB_OPT_U64, &opt.p.per_box, 1, 0x1p40, "P", "16", "boxes: bodies in each", 0, &given.per_box},
	{0, "pericentre", NB_OPT_F64_POS, &opt.p.pericentre, 0, 1e100, "R", "0.2", "merger: of the orbit", 0,
		&given.pericentre},
	{0, "precision", NB_OPT_CHOICE, &opt.precision, 0, 0, "f32|f64", "f64", "width of the real columns", 0, NULL},
	{0, "radius", NB_OPT_F64, &opt.radius, 0, 1e100, "R", NULL, "add field radius, the same for all bodies", 0,
		&given.radius},
	{0, "ratio", NB_OPT_F64_POS, &opt.p.ratio, 0, 1e6, "Q", "1",
		"merger, kepler: mass of the second over the first", 0, &given.ratio},
	{0, "rmax", NB_OPT_F64, &opt.p.rmax, 1.5, 1e100, "R", "20", "plummer: radius at which it ends", 0, &given.rmax},
	{0, "separation", NB_OPT_F64_POS, &opt.p.separation, 0, 1e100, "R", "2.5",
		"merger: of the centres at the start", 0, &given.separation},
	{0, "sigma", NB_OPT_F64, &opt.p.sigma, 0, 1e100, "V", "0",
		"uniform, clusters, boxes: dispersion of each velocity component", 0, &given.sigma},
	{0, "size", NB_OPT_F64_POS, &opt.p.size, 0, 1e100, "L", "1; sphere: for E = -1/4",
		"uniform, clusters: edge; sphere: radius", 0, &given.size},
	{0, "spread", NB_OPT_F64_POS, &opt.p.spread, 0, 1e100, "R", "0.05", "clusters: radius of a group", 0,
		&given.spread},
	{0, "toomre", NB_OPT_F64_POS, &opt.p.toomre, 0, 100, "Q", "1.2", "disk, merger: Toomre's Q of the disk", 0,
		&given.toomre},
	{0, "virial", NB_OPT_F64, &opt.p.virial, 0, 0.999, "Q", "0", "sphere: T/|W| at the start; 0 is cold", 0,
		&given.virial},
};

static const struct nb_command command = {
	.about = "generate initial conditions as a particle stream",
	.operands = "[MODEL]",
	.max_operands = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.footer = "models:\n"
		  "  plummer   Plummer sphere in equilibrium (the default)\n"
		  "  uniform   cube or square filled evenly\n"
		  "  sphere    homogeneous sphere or disc, cold unless --virial\n"
		  "  clusters  8 groups at the corners of a cube, 4 of a square\n"
		  "  disk      galaxy: disk, bulge, live dark halo\n"
		  "  merger    two such galaxies about to meet\n"
		  "  boxes     2-D: as many bodies in each of 4^K boxes\n"
		  "  solar     Sun and eight planets at J2000\n"
		  "  figure8   three bodies on a figure of eight\n"
		  "  kepler    two bodies on an ellipse\n",
};

static enum nb_model_kind model_of(const char *name)
{
	for (int k = 0; k < NB_MODEL_NKIND; k++)
		if (strcmp(name, models[k].name) == 0)
			return (enum nb_model_kind)k;
	nb_die(NB_EXIT_USAGE, "unknown model '%s' (see '%s --help')", name, nb_program());
}

static void take_pair(const char *name, const char *text, double pair[2])
{
	size_t count;
	if (nb_parse_f64_list(text, 2, pair, &count) != NB_PARSE_OK || count != 2)
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (want two numbers in degrees, A,B)", name, text);
}

/* A model refuses the parameters that it has no use for: none is parsed and ignored. */
static struct nb_model_param parameters(enum nb_model_kind kind)
{
	const struct row *model = &models[kind];
	struct nb_model_param param;
	nb_model_defaults(&param, kind);
	const struct {
		int is_given;
		unsigned needs;
		const char *name;
		double *to, from;
	} reals[] = {
		{given.rmax, P_RMAX, "rmax", &param.rmax, opt.p.rmax},
		{given.size, P_SIZE, "size", &param.size, opt.p.size},
		{given.spread, P_SPREAD, "spread", &param.spread, opt.p.spread},
		{given.sigma, P_SIGMA, "sigma", &param.sigma, opt.p.sigma},
		{given.virial, P_VIRIAL, "virial", &param.virial, opt.p.virial},
		{given.disk, P_GALAXY, "disk", &param.disk, opt.p.disk},
		{given.bulge, P_GALAXY, "bulge", &param.bulge, opt.p.bulge},
		{given.toomre, P_GALAXY, "toomre", &param.toomre, opt.p.toomre},
		{given.height, P_GALAXY, "height", &param.height, opt.p.height},
		{given.pericentre, P_ORBIT, "pericentre", &param.pericentre, opt.p.pericentre},
		{given.separation, P_ORBIT, "separation", &param.separation, opt.p.separation},
		{given.eccentricity, P_TWO, "eccentricity", &param.eccentricity, opt.p.eccentricity},
		{given.ratio, P_TWO, "ratio", &param.ratio, opt.p.ratio},
		{given.inclination, P_ORBIT, "inclination", NULL, 0},
		{given.node, P_ORBIT, "node", NULL, 0},
		{given.level, P_BOXES, "level", NULL, 0},
		{given.per_box, P_BOXES, "per-box", NULL, 0},
		{given.seed, P_SEED, "seed", NULL, 0},
		{given.radius, P_RADIUS, "radius", NULL, 0},
	};
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
		if (!reals[i].is_given)
			continue;
		if (!(model->takes & reals[i].needs))
			nb_die(NB_EXIT_USAGE, "model '%s' takes no --%s", model->name, reals[i].name);
		if (reals[i].to)
			*reals[i].to = reals[i].from;
	}
	if (given.dim) {
		param.dim = opt.dim + 2;
		if (!(model->takes & (param.dim == 2 ? P_DIM2 : P_DIM3)))
			nb_die(NB_EXIT_USAGE, "model '%s' has no --dim %d", model->name, param.dim);
	}
	if (given.inclination)
		take_pair("inclination", opt.inclination, param.inclination);
	if (given.node)
		take_pair("node", opt.node, param.node);
	param.n = given.count ? opt.p.n : param.n;
	param.seed = given.seed ? opt.p.seed : param.seed;
	param.level = given.level ? opt.p.level : param.level;
	param.per_box = given.per_box ? opt.p.per_box : param.per_box;
	return param;
}

/* ---- the frame ---------------------------------------------------------------------------------- */

static void require_column(struct nb_frame *frame, enum nb_field field, const char *dtype)
{
	if (!nb_frame_add_field(frame, field, dtype, 0))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

static void describe(struct nb_frame *frame, const struct nb_model *model, const struct nb_model_param *param)
{
	const char *real = opt.precision == 0 ? "<f4" : "<f8";
	const struct row *row = &models[param->kind];
	frame->rows[NB_PARTICLE] = nb_model_count(model);
	require_column(frame, NB_ID, NULL);
	require_column(frame, NB_MASS, real);
	require_column(frame, NB_POS, real);
	require_column(frame, NB_VEL, real);
	if (given.radius || nb_model_has_radius(model))
		require_column(frame, NB_RADIUS, real);
	if (nb_model_has_species(model))
		require_column(frame, NB_SPECIES, NULL);
	nb_require_attribute_set_f64(frame, "time", 0);
	nb_require_attribute_set_f64(frame, "G", nb_model_G(model));
	nb_require_attribute_set_f64(frame, "dim", param->dim);
	/* a sphere of another radius has another energy */
	nb_require_attribute_set(frame, "units", param->kind == NB_MODEL_SPHERE && given.size ? "G=1 M=1" : row->units);
	nb_require_attribute_set(frame, "model", row->name);
	if (row->takes & P_SEED) {
		char seed[24];
		snprintf(seed, sizeof seed, "%" PRIu64, param->seed);
		nb_require_attribute_set(frame, "seed", seed);
	}
	nb_require_history(frame);
}

/* ---- contents ----------------------------------------------------------------------------------- */

/* One block of any field, in f64 and as it goes out. */
struct block {
	double wide[3 * NB_MODEL_BLOCK];
	unsigned char wire[3 * NB_MODEL_BLOCK * sizeof(double)];
	const void *data; /* the one of them to write, bytes of it */
	size_t bytes;
	int status; /* enum nb_status of making it */
	int ready;
};

/* The wire bytes of rows [first, first + count) of a column. */
static int fill(
	const struct nb_model *model, const struct nb_column *column, uint64_t first, size_t count, struct block *block)
{
	block->data = block->wire;
	block->bytes = count * column->rowsize;
	if (strcmp(column->name, nb_field_info[NB_SPECIES].name) == 0) {
		nb_model_species(model, first, count, block->wire);
		return NB_OK;
	}
	if (strcmp(column->name, nb_field_info[NB_ID].name) == 0) {
		uint64_t *id = (uint64_t *)(void *)block->wide;
		for (size_t i = 0; i < count; i++)
			id[i] = first + i;
		block->data = id;
		return NB_OK;
	}
	static const struct {
		enum nb_field column;
		enum nb_model_field field;
	} fields[] = {
		{NB_MASS, NB_MODEL_MASS}, {NB_POS, NB_MODEL_POS}, {NB_VEL, NB_MODEL_VEL}, {NB_RADIUS, NB_MODEL_RADIUS}};
	size_t f = 0;
	while (strcmp(column->name, nb_field_info[fields[f].column].name) != 0)
		f++;
	if (fields[f].field == NB_MODEL_RADIUS && given.radius) {
		for (size_t i = 0; i < count; i++)
			block->wide[i] = opt.radius;
	} else {
		int status = nb_model_fill(model, fields[f].field, first, count, block->wide);
		if (status)
			return status;
	}
	if (opt.precision == 0)
		nb_dtype_from_f64(column->dtype, count * column->ncomp, block->wide, block->wire);
	else
		block->data = block->wide;
	return NB_OK;
}

/* All blocks of all columns: job k is block k % blocks of column k / blocks.  Threads make them ahead of the
 * writing, as far as there is room; whoever completes the one that is due writes it and those behind it.
 * Threads that have to wait sleep: the reader of the pipe needs the processor. */
struct conveyor {
	struct nb_writer *writer;
	const struct nb_frame *frame;
	const struct nb_model *model;
	struct block *room;
	int64_t rooms, blocks, jobs;
	pthread_mutex_t lock; /* for what follows, and the ready flags */
	pthread_cond_t written;
	int64_t next_made, next_written;
	int writing, failed;
	int status; /* of the block that failed; NB_OK: the writer knows why */
};

static void make_job(struct conveyor *c, int64_t job, struct block *block)
{
	const struct nb_column *column = &c->frame->column[job / c->blocks];
	const uint64_t first = (uint64_t)(job % c->blocks) * NB_MODEL_BLOCK, left = c->frame->rows[NB_PARTICLE] - first;
	block->status = fill(
		c->model, column, first, left < NB_MODEL_BLOCK ? (size_t)left : (size_t)NB_MODEL_BLOCK, block);
}

/* With the lock held: writes what is due. */
static void write_due(struct conveyor *c)
{
	if (c->writing)
		return;
	c->writing = 1;
	while (!c->failed && c->room[c->next_written % c->rooms].ready) {
		struct block *block = &c->room[c->next_written % c->rooms];
		pthread_mutex_unlock(&c->lock);
		int failed = block->status || nb_writer_block(c->writer, block->data, block->bytes);
		pthread_mutex_lock(&c->lock);
		c->failed = failed;
		c->status = block->status;
		block->ready = 0;
		c->next_written++;
		pthread_cond_broadcast(&c->written);
	}
	c->writing = 0;
}

static void work(struct conveyor *c)
{
	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!c->failed && c->next_made < c->jobs && c->next_made - c->next_written >= c->rooms)
			pthread_cond_wait(&c->written, &c->lock);
		if (c->failed || c->next_made == c->jobs)
			break;
		const int64_t job = c->next_made++;
		struct block *block = &c->room[job % c->rooms];
		pthread_mutex_unlock(&c->lock);
		make_job(c, job, block);
		pthread_mutex_lock(&c->lock);
		block->ready = 1;
		write_due(c);
	}
	pthread_mutex_unlock(&c->lock);
}

static void write_contents(struct nb_writer *writer, const struct nb_frame *frame, const struct nb_model *model)
{
	struct conveyor c = {.writer = writer, .frame = frame, .model = model};
	c.blocks = (int64_t)((frame->rows[NB_PARTICLE] + NB_MODEL_BLOCK - 1) / NB_MODEL_BLOCK);
	c.jobs = c.blocks * (int64_t)frame->ncolumn;
	const int threads = c.blocks > 1 ? nb_cpu_threads() : 1;
	c.rooms = threads > 1 ? threads + 6 : 1;
	c.room = nb_alloc_zero((size_t)c.rooms, sizeof *c.room);
	if (!c.room || pthread_mutex_init(&c.lock, NULL) || pthread_cond_init(&c.written, NULL))
		nb_die(NB_EXIT_FAILED, "out of memory");
#pragma omp parallel num_threads(threads)
	work(&c);
	if (c.failed)
		nb_die(NB_EXIT_FAILED, "%s", c.status ? nb_status_text(c.status) : writer->error);
	pthread_cond_destroy(&c.written);
	pthread_mutex_destroy(&c.lock);
	nb_free(c.room);
}

int main(int argc, char **argv)
{
	const double start = nb_now();
	opt.precision = 1;
	int operand = nb_options_parse(&command, argc, argv);
	const enum nb_model_kind kind = operand < argc ? model_of(argv[operand]) : NB_MODEL_PLUMMER;
	const struct nb_model_param param = parameters(kind);
	struct nb_model *model;
	const char *why;
	int status = nb_model_create(&param, &model, &why);
	if (status)
		nb_die(why ? NB_EXIT_USAGE : NB_EXIT_FAILED, "%s", why ? why : nb_status_text(status));
	if (given.count && opt.p.n != nb_model_count(model))
		nb_die(NB_EXIT_USAGE, "model '%s' has %" PRIu64 " bodies, not %" PRIu64, models[kind].name,
			nb_model_count(model), opt.p.n);

	struct nb_frame frame;
	struct nb_writer writer;
	nb_frame_init(&frame);
	describe(&frame, model, &param);
	nb_require_output(&writer);
	if (nb_writer_begin(&writer, &frame))
		nb_die(NB_EXIT_FAILED, "%s", writer.error);
	write_contents(&writer, &frame, model);
	if (nb_writer_end(&writer))
		nb_die(NB_EXIT_FAILED, "%s", writer.error);
	nb_require_closed(&writer);
	nb_verbose("%s: %" PRIu64 " bodies written in %.3f s (%d threads, %s)", models[kind].name,
		nb_model_count(model), nb_now() - start, nb_cpu_threads(), nb_cpu_isa_name(nb_cpu_isa()));
	nb_frame_clear(&frame);
	nb_model_free(model);
	return NB_EXIT_OK;
}
