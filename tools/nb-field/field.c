/* nb-field: the field of fixed potentials, added to the forces of each frame. */
#include "tools/nb-field/field.h"

#include "tools/filter/files.h"
#include "tools/filter/plan.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct nb_option options[] = {
	{0, "alone", NB_FLAG(struct field, alone),
		.help = "make acc and pot of the field alone, whatever forces the frame has"},
	{0, "G", NB_REAL(struct field, G), .arg = "G", .fallback = "that of the frame, else 1",
		.help = "gravitational constant of the potentials, beside that of the bodies"},
	{0, "jerk", NB_FLAG(struct field, jerk), .help = "with --alone: make jerk, too"},
};

/* ---- the command line --------------------------------------------------------------------------- */

static void list_potentials(void)
{
	printf("potentials, each with x= y= z= vx= vy= vz=:\n");
	for (int k = 0; k < NB_NPOTENTIAL; k++) {
		const struct nb_term_kind *info = &nb_potential_info[k];
		printf("  %-10s %s\n%30s%s\n", info->name, info->keys, "", info->formula);
	}
}

/* The first operand, and those that begin with the name of a potential and go on with keys. */
static int count_potentials(int n, char **operand)
{
	int own = n > 0, k = 0;
	while (own < n && k < NB_NPOTENTIAL) {
		const size_t length = strlen(nb_potential_info[k].name);
		const int is_one = strncmp(operand[own], nb_potential_info[k].name, length) == 0 &&
				   strchr(" :", operand[own][length]) && operand[own][length];
		own += is_one;
		k = is_one ? 0 : k + 1;
	}
	return own;
}

/* The operands as one text, divided by ';'. */
static char *join(const struct nb_run *run)
{
	size_t size = 1;
	for (int k = 0; k < run->noperand; k++)
		size += strlen(run->operand[k]) + 2;
	char *text = nb_require_memory(NULL, malloc(size)), *to = text;
	for (int k = 0; k < run->noperand; k++)
		to += sprintf(to, "%s%s", k ? "; " : "", run->operand[k]);
	return text;
}

static void check(struct nb_run *run, void *self)
{
	struct field *field = self;
	char why[NB_TERM_WHY];
	if (run->noperand == 0)
		nb_die(NB_EXIT_USAGE, "no potential given (want such as 'plummer m=1 a=0.5'; 'help' lists them)");
	if (strcmp(run->operand[0], "help") == 0) {
		list_potentials();
		nb_leave(run);
	}
	char *text = field->given = join(run);
	const int status = nb_potentials_parse(text, field->potential, &field->n, why);
	if (status && access(text, R_OK) == 0)
		nb_die(NB_EXIT_USAGE, "operand '%s' is no potential (want such as 'plummer m=1 a=0.5' before files)",
			text);
	if (status)
		nb_die(NB_EXIT_USAGE, "%s", why);
	if (field->jerk && !field->alone)
		nb_die(NB_EXIT_USAGE,
			"option '--jerk' needs '--alone' (else the jerk is added to that of nb-force --jerk)");
	field->G_given = nb_given(run, &field->G);
	field->text = nb_require_memory(NULL, nb_terms_squeeze(text));
	for (int k = 0; k < field->n; k++) {
		const struct nb_term *potential = &field->potential[k];
		if (!potential->file)
			continue;
		field->table[k].path = nb_require_memory(NULL, strndup(potential->file, potential->file_length));
		nb_files_will_open(run, field->table[k].path);
	}
}

static void begin(struct nb_run *run, void *self)
{
	struct field *field = self;
	(void)run;
	for (int k = 0; k < field->n; k++)
		if (field->table[k].path)
			nb_field_read_table(&field->table[k]);
}

static void clear(void *self)
{
	struct field *field = self;
	free(field->given);
	free(field->text);
	for (int k = 0; k < field->n; k++)
		nb_field_free_table(&field->table[k]);
}

/* ---- a frame ------------------------------------------------------------------------------------ */

/* What the potentials are at the time of the frame. */
static void prepare(struct nb_run *run, struct field *self, const struct nb_frame *frame, struct nb_external *external)
{
	const double G = self->G_given ? self->G : nb_require_attribute(frame, "G", 1);
	const double time = nb_require_attribute(frame, "time", 0);
	if (!(G >= 0))
		nb_die(NB_EXIT_FAILED, "attribute G=%g of frame %" PRIu64 " is negative", G, frame->number);
	for (int k = 0; G == 0 && !self->G_given && !self->warned && k < self->n; k++)
		if (self->potential[k].value[NB_KEY_M] > 0) {
			nb_warn("G of frame %" PRIu64 " is 0, and so is the field of the masses (give nb-field --G)",
				frame->number);
			self->warned = 1;
		}
	const int flat = nb_require_dim(frame) == 2;
	for (int k = 0; flat && k < self->n; k++)
		if (nb_potential_leaves_plane(&self->potential[k]))
			nb_die(NB_EXIT_FAILED,
				"potential %s would pull bodies out of the plane of frame %" PRIu64
				", which has 2 dimensions (want no z, vz or inc)",
				nb_potential_info[self->potential[k].kind].name, frame->number);
	nb_external_prepare(self->n, self->potential, G, time, external);
	for (int k = 0; k < self->n; k++)
		if (self->table[k].path) {
			external->term[k].nrow = self->table[k].pairs.n;
			external->term[k].row = nb_field_place_table(&self->table[k], run->backend->space, frame);
		}
}

/* Contents of a field that the frame has, to be added to; NULL if it has none. */
static double *update(const struct nb_frame *frame, enum nb_field field, const struct nb_space *space)
{
	if (!nb_frame_field(frame, field))
		return NULL;
	(void)nb_require_f64(frame, field, space);
	return nb_require_memory(frame, nb_column_update(nb_frame_field(frame, field), space, NB_AS_F64));
}

static struct nb_external_bodies describe(struct nb_run *run, const struct field *self, struct nb_frame *frame)
{
	const struct nb_space *space = run->backend->space;
	const char *dtype = nb_real_dtype(frame);
	struct nb_external_bodies b = {.n = frame->rows[NB_PARTICLE], .fresh = self->alone};
	nb_require_field(frame, NB_POS);
	if (!self->alone && !nb_frame_field(frame, NB_ACC))
		nb_die(NB_EXIT_FAILED,
			"field 'acc' missing in frame %" PRIu64 " (put 'nb-force' before, or give '--alone')",
			frame->number);
	/* columns are added before pointers into the frame are taken */
	b.fresh_part = self->alone || !nb_frame_field(frame, NB_POT_FIELD);
	if (b.fresh_part)
		b.part = nb_new_f64(frame, NB_POT_FIELD, dtype, space);
	if (self->alone) {
		if (self->jerk)
			b.jerk = nb_new_f64(frame, NB_JERK, dtype, space);
		else
			nb_frame_drop(frame, "jerk");
		b.acc = nb_new_f64(frame, NB_ACC, dtype, space);
		b.pot = nb_new_f64(frame, NB_POT, dtype, space);
	} else {
		b.acc = update(frame, NB_ACC, space);
		b.pot = update(frame, NB_POT, space);
		b.jerk = update(frame, NB_JERK, space);
	}
	if (!b.fresh_part)
		b.part = update(frame, NB_POT_FIELD, space);
	if (b.jerk)
		b.vel = nb_require_f64(frame, NB_VEL, space);
	b.pos = nb_require_f64(frame, NB_POS, space);
	return b;
}

/* Finite bodies may have a result that is not. */
static void require_in_range(struct nb_run *run, struct nb_frame *frame, enum nb_field field, const char *what)
{
	struct nb_column *column = nb_frame_field(frame, field);
	const size_t bad = column ? nb_column_first_bad(column, NB_BAD_NONFINITE) : 0;
	if (bad == SIZE_MAX) {
		nb_require_done(run, run->backend->finish(), "field of", frame);
		nb_out_of_memory(frame);
	}
	if (column && bad < column->rows)
		nb_die(NB_EXIT_FAILED,
			"%s of the body with id %" PRIu64 " overflows in frame %" PRIu64 " (are the units extreme?)",
			what, nb_body_id(frame, bad), frame->number);
}

/* Says in the frame what field it was; what a run in another one has left there is dropped. */
static void note(const struct field *self, struct nb_frame *frame)
{
	const char *known = self->alone ? NULL : nb_frame_attribute(frame, "field");
	int varies = !self->alone && nb_frame_attribute(frame, "field_varies");
	for (int k = 0; k < self->n; k++)
		varies |= nb_potential_varies(&self->potential[k]);
	char constant[40] = "";
	if (self->G_given)
		snprintf(constant, sizeof constant, " (G %.17g)", self->G);
	const size_t size = (known ? strlen(known) : 0) + strlen(self->text) + sizeof constant + 3;
	char *text = nb_require_memory(frame, malloc(size));
	snprintf(text, size, "%s%s%s%s", known ? known : "", known ? "; " : "", self->text, constant);
	const int status = nb_frame_set_attribute(frame, "field", text);
	free(text);
	if (status)
		nb_out_of_memory(frame);
	if (varies)
		nb_set_attribute(frame, "field_varies", "1");
	else
		nb_frame_drop_attribute(frame, "field_varies");
	if (self->alone) /* nothing is left of these */
		nb_frame_drop_attribute(frame, "extra");
	nb_drop_run_attributes(frame);
}

static void add_field(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct field *field = self;
	struct nb_external external;
	nb_require_valid(frame);
	prepare(run, field, frame, &external);
	const struct nb_external_bodies bodies = describe(run, field, frame);
	nb_require_done(run, run->backend->external_add(&external, &bodies), "field of", frame);
	require_in_range(run, frame, NB_ACC, "the acceleration");
	require_in_range(run, frame, NB_POT, "the potential");
	require_in_range(run, frame, NB_POT_FIELD, "the potential");
	require_in_range(run, frame, NB_JERK, "the jerk");
	note(field, frame);
}

static void work(struct nb_run *run, void *self, struct nb_plan *plan)
{
	const struct field *field = self;
	(void)run;
	nb_plan_add(plan, NB_WORK_LOOK, plan->n * field->n);
	plan->row += (field->alone ? 5.0 : 1.0) * sizeof(double) + (field->jerk ? 3.0 : 0.0) * sizeof(double);
	plan->acc = 1;
	plan->pot |= field->alone;
}

const struct nb_tool nb_tool_field = {
	.name = "nb-field",
	.about = "add the field of fixed potentials to the forces of each frame",
	.operands = "POTENTIALS ... [FILE ...]",
	.own_operands = count_potentials,
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.footer = "POTENTIALS is NAME KEY=VALUE ..., several divided by ';' or as operands: 'nfw m=1 rs=0.2; disk "
		  "m=0.1 a=0.3 b=0.03'.\n",
	.more_help = list_potentials,
	.size = sizeof(struct field),
	.streams = NB_READS | NB_WRITES,
	.obeys_systems = 1,
	.check = check,
	.begin = begin,
	.frame = add_field,
	.work = work,
	.clear = clear,
};
