/* nb-gen: initial conditions as a particle stream.
 *
 * On streams the frame is never held (a box of lpt is, by its model): the model gives any block of any field, so blocks
 * are made by all threads in turn and written in order. */
#include "tools/nb-gen/gen.h"

#include "common/cpu.h"
#include "common/mem.h"
#include "common/nearest.h"
#include "common/parse.h"
#include "common/timer.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define REAL(member) NB_REAL(struct gen, answer.member)
#define POSITIVE(member) NB_POSITIVE(struct gen, answer.member)
#define INT(member) NB_INT(struct gen, answer.member)
#define COUNT(member) NB_U64(struct gen, answer.member)
#define ANGLES(member) NB_TEXT(struct gen, pair[NB_PARAMETER_##member])
#define RANGE(member) ANGLES(member)
#define CHOICE(member) NB_CHOICE(struct gen, answer.member)
#define FLAG(member) NB_FLAG(struct gen, answer.member)
#define TABLE(member) NB_FILE(struct gen, answer.member)

static const struct nb_option options[] = {
	{0, "dim", NB_CHOICE(struct gen, answer.dim), .min = 2, .arg = "2|3", .fallback = "3; boxes: 2",
		.help = "number of dimensions"},
	{0, "systems", NB_U64(struct gen, systems), .max = 0x1p32, .arg = "K",
		.help = "K systems of the model in one frame, with seeds SEED, SEED + 1 ...; orbits: elements may be "
			"expressions of their number, system"},
	{0, "precision", NB_CHOICE(struct gen, precision), .arg = "f32|f64", .fallback = "f64",
		.help = "width of the real columns"},
#define NB_PARAMETER_ROW(member, initial, option, to, low, high, argument, value, text, line, ...) \
	{initial, option, to(member), .min = low, .max = high, .arg = argument, .fallback = text, .help = line},
#include "kernels/models/parameter.def"
};

static void list_models(void)
{
	puts("models:");
	for (int k = 0; k < NB_MODEL_NKIND; k++)
		printf("  %-9s  %s\n", nb_model_info[k].name, nb_model_info[k].about);
}

/* ---- the model ---------------------------------------------------------------------------------- */

/* "want -n 1000; " of an operand that is a number, as other programs take it; else the text. */
static const char *count_hint(const char *operand, char text[NB_NEAREST_WORD + 20])
{
	uint64_t n;
	if (nb_parse_count(operand, 0, UINT64_MAX, &n) == NB_PARSE_OK)
		snprintf(text, NB_NEAREST_WORD + 20, "want -n %" PRIu64 "; ", n);
	return text;
}

static enum nb_model_kind model_of(const char *name)
{
	struct nb_nearest nearest = nb_nearest_to(name, strlen(name));
	for (int k = 0; k < NB_MODEL_NKIND; k++) {
		const char *model = nb_model_info[k].name;
		if (strcmp(name, model) == 0)
			return (enum nb_model_kind)k;
		nb_nearest_offer(&nearest, model, strlen(model));
	}
	nb_die(NB_EXIT_USAGE, "unknown model '%s' (%ssee '%s --help')", name, count_hint(name, nearest.hint),
		nb_program());
}

static int is_pair(enum nb_parameter p)
{
	return nb_parameter_info[p].kind == NB_KIND_ANGLES || nb_parameter_info[p].kind == NB_KIND_RANGE;
}

static int is_given(const struct nb_run *run, const struct gen *gen, enum nb_parameter p)
{
	const char *answer = (const char *)&gen->answer + nb_parameter_info[p].at;
	return nb_given(run, is_pair(p) ? (const void *)&gen->pair[p] : answer);
}

/* A model refuses the parameters that it has no use for: none is parsed and ignored.  But a number of bodies may be the
 * one that the model has. */
static void refuse_useless(const struct nb_run *run, const struct gen *gen, enum nb_model_kind kind)
{
	const struct nb_model_info *model = &nb_model_info[kind];
	for (enum nb_parameter p = 0; p < NB_NPARAMETER; p++)
		if (p != NB_PARAMETER_n && is_given(run, gen, p) && !nb_model_takes(kind, p))
			nb_die(NB_EXIT_USAGE, "model '%s' takes no --%s", model->name, nb_parameter_info[p].option);
	if (nb_given(run, &gen->answer.dim) && !(model->dims >> gen->answer.dim & 1))
		nb_die(NB_EXIT_USAGE, "model '%s' has no --dim %d", model->name, gen->answer.dim);
}

static void take_pair(const struct nb_parameter_info *info, const char *text, double pair[2])
{
	const int angles = info->kind == NB_KIND_ANGLES;
	pair[0] = pair[1] = NAN;
	if (nb_parse_range(text, text + strlen(text), pair) != NB_PARSE_OK || isnan(pair[0]) || isnan(pair[1]) ||
		!(angles || (pair[0] > info->low && pair[0] < pair[1] && pair[1] <= info->high)))
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (want two numbers%s)", info->option, text,
			angles ? " in degrees, A,B" : ", LOW,HIGH, above 0, the smaller first");
}

/* What was given replaces the model's own default. */
static void take_parameters(const struct nb_run *run, struct gen *gen, enum nb_model_kind kind)
{
	nb_model_defaults(&gen->param, kind);
	if (nb_given(run, &gen->answer.dim))
		gen->param.dim = gen->answer.dim;
	for (enum nb_parameter p = 0; p < NB_NPARAMETER; p++) {
		const struct nb_parameter_info *info = &nb_parameter_info[p];
		void *to = (char *)&gen->param + info->at;
		if (is_given(run, gen, p) && is_pair(p))
			take_pair(info, gen->pair[p], to);
		else if (is_given(run, gen, p))
			memcpy(to, (const char *)&gen->answer + info->at, info->size);
	}
}

#define LENGTH(list) (sizeof(list) / sizeof *(list))

static void refuse_given(
	const struct nb_run *run, const struct gen *gen, const enum nb_parameter *list, size_t n, const char *why)
{
	for (size_t k = 0; k < n; k++)
		if (is_given(run, gen, list[k]))
			nb_die(NB_EXIT_USAGE, "--%s %s", nb_parameter_info[list[k]].option, why);
}

/* Nor those that have an effect only with another, or without it. */
static void refuse_without(const struct nb_run *run, const struct gen *gen)
{
	static const enum nb_parameter of_imf[] = {
		NB_PARAMETER_mass_range, NB_PARAMETER_imf_total, NB_PARAMETER_pairing, NB_PARAMETER_segregation};
	static const enum nb_parameter of_binaries[] = {NB_PARAMETER_semi_major, NB_PARAMETER_pairing};
	static const enum nb_parameter of_table[] = {NB_PARAMETER_spectrum_redshift, NB_PARAMETER_extrapolate};
	static const enum nb_parameter of_glass[] = {NB_PARAMETER_tiles}, of_lattice[] = {NB_PARAMETER_n};
	static const enum nb_parameter of_fit[] = {NB_PARAMETER_omega_b, NB_PARAMETER_ns, NB_PARAMETER_smooth};
	if (gen->param.imf == 0)
		refuse_given(run, gen, of_imf, LENGTH(of_imf), "needs --imf kroupa or --imf salpeter");
	if (gen->param.binaries == 0)
		refuse_given(run, gen, of_binaries, LENGTH(of_binaries), "needs --binaries above 0");
	if (gen->param.glass)
		refuse_given(run, gen, of_lattice, LENGTH(of_lattice), "and --glass exclude each other (see --tiles)");
	else
		refuse_given(run, gen, of_glass, LENGTH(of_glass), "needs --glass");
	if (gen->param.spectrum)
		refuse_given(run, gen, of_fit, LENGTH(of_fit), "and --spectrum exclude each other");
	else
		refuse_given(run, gen, of_table, LENGTH(of_table), "needs --spectrum");
	if (gen->param.binaries > 0 && gen->precision == PRECISION_F32)
		nb_die(NB_EXIT_USAGE, "--binaries needs --precision f64 (f32 cannot hold the orbits of close pairs)");
}

/* The second operand, of model orbits. */
static void take_orbits(const struct nb_run *run, struct gen *gen)
{
	const int orbits = gen->param.kind == NB_MODEL_ORBITS;
	if (orbits && run->noperand < 2)
		nb_die(NB_EXIT_USAGE, "model 'orbits' needs a second operand (want 'm=1; m=1e-3 a=1 e=0.1')");
	if (!orbits && run->noperand > 1)
		nb_die(NB_EXIT_USAGE, "unexpected operand '%s' (%ssee 'nb-gen --help')", run->operand[1],
			count_hint(run->operand[1], (char[NB_NEAREST_WORD + 20]){""}));
	if (!orbits)
		return;
	nb_gen_read_orbits(run->operand[1], gen->param.G, gen->many, &gen->orbits);
	gen->param.nelements = gen->orbits.n;
	gen->param.elements = gen->orbits.list;
	if (is_given(run, gen, NB_PARAMETER_seed) && !nb_gen_orbits_are_random(&gen->orbits))
		nb_die(NB_EXIT_USAGE, "--seed has no effect on elements without random() or normal()");
}

static void check(struct nb_run *run, void *self)
{
	struct gen *gen = self;
	const enum nb_model_kind kind = run->noperand ? model_of(run->operand[0]) : (enum nb_model_kind)0;
	refuse_useless(run, gen, kind);
	take_parameters(run, gen, kind);
	refuse_without(run, gen);
	gen->many = nb_given(run, &gen->systems);
	if (gen->many && kind == NB_MODEL_LPT)
		nb_die(NB_EXIT_USAGE, "model 'lpt' takes no --systems");
	take_orbits(run, gen);
	nb_gen_check_lpt(gen);
	if (gen->param.imf_total && is_given(run, gen, NB_PARAMETER_mass))
		nb_die(NB_EXIT_USAGE, "--imf-total drawn and --mass exclude each other");
}

static void begin(struct nb_run *run, void *self)
{
	struct gen *gen = self;
	const char *why;
	gen->start = nb_now();
	nb_gen_read_glass(run, gen);
	nb_gen_read_spectrum(gen);
	nb_gen_vary_orbits(&gen->orbits, gen->many ? gen->systems : 1, gen->param.seed, gen->param.G);
	nb_gen_orbits_of(&gen->orbits, 0, gen->orbits.list);
	int status = nb_model_create(&gen->param, &gen->model, &why);
	if (status)
		nb_die(why ? NB_EXIT_USAGE : NB_EXIT_FAILED, "%s", why ? why : nb_status_text(status));
	if (nb_given(run, &gen->answer.n) && gen->answer.n != nb_model_count(gen->model))
		nb_die(NB_EXIT_USAGE, "model '%s' has %" PRIu64 " bodies, not %" PRIu64,
			nb_model_info[gen->param.kind].name, nb_model_count(gen->model), gen->answer.n);
	nb_gen_tell_lpt(gen);
	if (gen->many)
		nb_gen_make_systems(gen);
}

static void clear(void *self)
{
	struct gen *gen = self;
	nb_model_free(gen->model);
	nb_free_all(gen->own[NB_MODEL_MASS], gen->own[NB_MODEL_POS], gen->own[NB_MODEL_VEL], gen->own[NB_MODEL_RADIUS]);
	nb_gen_free_orbits(&gen->orbits);
	nb_pairs_free(&gen->pairs);
	nb_free(gen->place);
}

/* ---- the frame ---------------------------------------------------------------------------------- */

static void add_field(struct nb_frame *frame, enum nb_field field, const char *dtype)
{
	if (!nb_frame_add_field(frame, field, dtype, 0))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

/* Those of the model, unless parameters have changed them; a sphere of another radius has another energy. */
static void set_units(const struct nb_run *run, const struct gen *gen, struct nb_frame *frame)
{
	const struct nb_model_param *param = &gen->param;
	char text[2 * NB_F64_TEXT + 8], G[NB_F64_TEXT], mass[NB_F64_TEXT];
	snprintf(text, sizeof text, "G=%s M=%s", nb_format_f64(param->G, G),
		nb_format_f64(nb_model_mass(gen->model), mass));
	if (gen->orbits.nvaried) /* the mass may be another one in each system */
		*strchr(text, ' ') = '\0';
	const int scaled = is_given(run, gen, NB_PARAMETER_mass) || is_given(run, gen, NB_PARAMETER_rscale) ||
			   is_given(run, gen, NB_PARAMETER_G) || param->imf_total || param->kind == NB_MODEL_ORBITS ||
			   (param->kind == NB_MODEL_SPHERE && is_given(run, gen, NB_PARAMETER_size));
	nb_set_attribute(frame, "units", scaled ? text : nb_model_info[param->kind].units);
}

/* Attributes, and columns without contents. */
static void describe(const struct nb_run *run, const struct gen *gen, struct nb_frame *frame)
{
	const struct nb_model_param *param = &gen->param;
	const struct nb_model_info *info = &nb_model_info[param->kind];
	const char *real = gen->precision == PRECISION_F32 ? "<f4" : "<f8";
	frame->rows[NB_PARTICLE] = nb_model_count(gen->model) * (gen->many ? gen->systems : 1);
	add_field(frame, NB_ID, NULL);
	add_field(frame, NB_MASS, real);
	add_field(frame, NB_POS, real);
	add_field(frame, NB_VEL, real);
	if (nb_model_has_radius(gen->model))
		add_field(frame, NB_RADIUS, real);
	if (nb_model_has_species(gen->model))
		add_field(frame, NB_SPECIES, NULL);
	if (nb_model_has_binaries(gen->model) && !nb_frame_add(frame, NB_GEN_BINARY, NB_PARTICLE, "<u8", 1, "", 0))
		nb_die(NB_EXIT_FAILED, "out of memory");
	if (gen->many)
		add_field(frame, NB_SYSTEM, NULL);
	nb_set_attribute_f64(frame, "time", 0);
	nb_gen_describe_lpt(gen, frame);
	nb_set_attribute_f64(frame, "G", nb_model_G(gen->model));
	nb_set_attribute_f64(frame, "dim", param->dim);
	set_units(run, gen, frame);
	nb_set_attribute(frame, "model", info->name);
	if (param->kind == NB_MODEL_SOLAR && !gen->many)
		nb_set_attribute(frame, "names",
			"0 Sun, 1 Mercury, 2 Venus, 3 Earth, 4 Mars, 5 Jupiter, 6 Saturn, 7 Uranus, 8 Neptune");
	if (param->kind == NB_MODEL_ORBITS ? nb_gen_orbits_are_random(&gen->orbits)
					   : nb_model_takes(param->kind, NB_PARAMETER_seed)) {
		char seed[24];
		snprintf(seed, sizeof seed, "%" PRIu64, param->seed);
		nb_set_attribute(frame, "seed", seed);
	}
}

/* ---- the stream -------------------------------------------------------------------------------- */

static void tell(const struct gen *gen, const char *what)
{
	nb_verbose("%s: %" PRIu64 " bodies %s in %.3f s (%d threads, %s)", nb_model_info[gen->param.kind].name,
		nb_model_count(gen->model) * (gen->many ? gen->systems : 1), what, nb_now() - gen->start,
		nb_cpu_threads(), nb_cpu_isa_name(nb_cpu_isa()));
}

static void stream(struct nb_run *run, void *self)
{
	struct gen *gen = self;
	const struct nb_filler blocks = nb_gen_filler(gen);
	struct nb_frame frame;
	nb_frame_init(&frame);
	describe(run, gen, &frame);
	nb_add_history(run, &frame);
	if (nb_writer_fill(&run->out, &frame, &blocks) || nb_writer_flush(&run->out))
		nb_die(NB_EXIT_FAILED, "%s", run->out.error);
	tell(gen, "written");
	nb_frame_clear(&frame);
}

/* The same frame in memory, or how its blocks are made for who wants no more. */
static int make(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct gen *gen = self;
	if (gen->shown)
		tell(gen, "shown");
	if (gen->made)
		return 0;
	gen->made = 1;
	gen->blocks = nb_gen_filler(gen);
	describe(run, gen, frame);
	gen->shown = run->next && run->next->needs.parts;
	if (gen->shown) {
		frame->filler = &gen->blocks;
		return 1;
	}
	int status = nb_frame_fill(frame, &gen->blocks);
	if (status)
		nb_die(NB_EXIT_FAILED, "%s", nb_status_text(status));
	tell(gen, "made");
	return 1;
}

const struct nb_tool nb_tool_gen = {
	.name = "nb-gen",
	.about = "generate initial conditions as a particle stream",
	.operands = "[MODEL [ORBITS]]",
	.max_operands = 2,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.sorted_help = 1,
	.more_help = list_models,
	.size = sizeof(struct gen),
	.defaults = &(const struct gen){.precision = PRECISION_F64},
	.streams = NB_WRITES,
	.check = check,
	.begin = begin,
	.make = make,
	.clear = clear,
	.stream = stream,
};
