/* nb-calc: columns and attributes by expressions. */
#include "tools/nb-calc/calc.h"

#include "tools/filter/kick.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct nb_option options[] = {
	{0, "dtype", NB_CHOICE(struct calc, dtype), .min = 1, .arg = NB_CALC_DTYPES,
		.fallback = "that of the column; of a new one f8, or u1 for a condition",
		.help = "NumPy type of the columns that are set as a whole"},
	{'s', "seed", NB_U64(struct calc, seed), .arg = "SEED", .fallback = "0", .help = "for random() and normal()"},
};

/* ---- the command line --------------------------------------------------------------------------- */

static int is_one_of(const char *name, const char *const *words)
{
	while (*words && strcmp(*words, name) != 0)
		words++;
	return *words != NULL;
}

static void check_attribute(const char *text, const char *key)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	static const char *const of_tree[] = {"key_cube", "tree", "leaf_size", "order", "level", NULL};
	if (key[strspn(key, letters)])
		nb_die(NB_EXIT_USAGE, "'%.300s': '%s' is no name of an attribute (want letters, digits and _)", text,
			key);
	if (strcmp(key, "history") == 0)
		nb_die(NB_EXIT_USAGE, "'%.300s': every program adds its line to 'history', which cannot be set", text);
	if (is_one_of(key, of_tree))
		nb_die(NB_EXIT_USAGE,
			"'%.300s': '%s' says what nb-sort-zorder and nb-build-tree have made, and cannot be set", text,
			key);
}

static void check_column(const char *text, const char *name)
{
	static const char *const attributes[] = {"time", "G", NULL};
	static const char *const fixed[] = {"n", "frame", "row", "pi", "nan", "inf", NULL};
	const struct nb_field_info *info = nb_field_find(name);
	if (is_one_of(name, attributes))
		nb_die(NB_EXIT_USAGE, "'%.300s': '%s' is the same for all bodies (want '@%s = ...')", text, name, name);
	if (is_one_of(name, fixed))
		nb_die(NB_EXIT_USAGE, "'%.300s': '%s' cannot be set", text, name);
	if (info && (info->table != NB_PARTICLE || strcmp(name, "key") == 0))
		nb_die(NB_EXIT_USAGE, "'%.300s': column '%s' is made by %s, and cannot be set", text, name,
			info->table == NB_PARTICLE ? "nb-sort-zorder" : "nb-build-tree");
	if (strlen(name) > NB_NAME_SIZE)
		nb_die(NB_EXIT_USAGE, "'%.300s': the name of a column has at most %d characters", text, NB_NAME_SIZE);
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~')
			nb_die(NB_EXIT_USAGE, "'%.300s': the name of a column is plain ASCII without blanks", text);
}

static void parse(struct assignment *assignment, const char *text)
{
	struct nb_expr_error error;
	const int status = nb_expr_parse_assignment(&assignment->expr, text, &assignment->target, &error);
	const struct nb_expr_target *target = &assignment->target;
	if (status == NB_ENOMEM)
		nb_die(NB_EXIT_FAILED, "out of memory");
	if (status && access(text, R_OK) == 0)
		nb_die(NB_EXIT_USAGE, "operand '%s' is no assignment (want such as 'e = 0.5*v2 + pot' before files)",
			text);
	if (status)
		nb_die(NB_EXIT_USAGE, "'%.300s': %s", text, error.text);
	if (strlen(target->unit) > NB_UNIT_SIZE)
		nb_die(NB_EXIT_USAGE, "'%.300s': a unit has at most %d characters", text, NB_UNIT_SIZE);
	if (target->is_attribute)
		check_attribute(text, target->name);
	else
		check_column(text, target->name);
}

/* Whether --dtype may say the type of what is set, in some frame: of a whole column, of the same kind. */
static int may_take_dtype(const struct calc *calc, const struct nb_expr_target *target)
{
	static const char kinds[] = NB_CALC_DTYPES; /* of two letters and a bar each */
	const struct nb_field_info *info = nb_field_find(target->name);
	enum nb_field field;
	uint32_t component;
	if (target->is_attribute)
		return 0;
	if (!info)
		return !nb_component_find(target->name, &field, &component);
	return info->dtype[1] == kinds[3 * (calc->dtype - 1)] && (target->component < 0 || info->ncomp == 1);
}

/* The first, and what follows with a '='. */
static int count_assignments(int n, char **operand)
{
	int own = n > 0;
	while (own < n && strchr(operand[own], '='))
		own++;
	return own;
}

/* Ends the first of the assignments that ';' divides; returns the next one, NULL: there is none. */
static char *divide(char *text)
{
	char closing = '\0'; /* of a quote or brace */
	for (char *c = text; *c; c++)
		if (closing) {
			closing = *c == closing ? '\0' : closing;
		} else if (*c == '\'' || *c == '"' || *c == '{') {
			closing = *c == '{' ? '}' : *c;
		} else if (*c == ';') {
			*c = '\0';
			c += 1 + strspn(c + 1, " \t\r\n");
			return *c ? c : NULL;
		}
	return NULL;
}

static void add_assignments(struct calc *calc, const struct nb_run *run, const char *operand)
{
	char *text = calc->text = strdup(operand); /* a wrong one leaves it to clear */
	for (char *at = text, *next; at; at = next) {
		struct assignment *grown = nb_require_memory(NULL, realloc(calc->list, (calc->n + 1) * sizeof *grown));
		calc->list = grown;
		next = divide(at);
		const size_t k = calc->n++;
		parse(memset(&calc->list[k], 0, sizeof *grown), at);
		nb_expression_seed(calc->list[k].expr, run->tool->name, k, calc->seed);
	}
	if (!text)
		nb_die(NB_EXIT_FAILED, "out of memory");
	free(text);
	calc->text = NULL;
}

#define NO_DTYPE "components of columns, and standard columns of another kind (such as u8 for f8)"

static void check(struct nb_run *run, void *self)
{
	struct calc *calc = self;
	int columns = 0, takes = 0, random = 0;
	if (run->noperand == 0)
		nb_die(NB_EXIT_USAGE, "nothing to compute (want an assignment, such as 'e = 0.5*v2 + pot')");
	for (int i = 0; i < run->noperand; i++)
		add_assignments(calc, run, run->operand[i]);
	calc->nothing = nb_require_memory(NULL, calloc(calc->n, sizeof *calc->nothing));
	for (size_t k = 0; k < calc->n; k++) {
		random |= nb_expr_is_random(calc->list[k].expr);
		columns += !calc->list[k].target.is_attribute;
		takes += calc->dtype && may_take_dtype(calc, &calc->list[k].target);
	}
	if (nb_given(run, &calc->seed) && !random)
		nb_die(NB_EXIT_USAGE, "option '--seed' needs random() or normal()");
	if (calc->dtype && !columns)
		nb_die(NB_EXIT_USAGE, "option '--dtype' has no effect on attributes");
	if (calc->dtype && !takes)
		nb_die(NB_EXIT_USAGE, "option '--dtype' has no effect on %s", NO_DTYPE);
}

static void clear(void *self)
{
	struct calc *calc = self;
	free(calc->text);
	for (size_t k = 0; k < calc->n; k++)
		nb_expr_free(calc->list[k].expr);
	free(calc->list);
	free(calc->nothing);
	if (calc->contents)
		nb_space_host.release(&nb_space_host, calc->contents);
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* Whether velocities are set, or anything that makes accelerations stale. */
static int touches_kick(const struct calc *calc, const struct nb_frame *frame)
{
	for (size_t k = 0; k < calc->n; k++) {
		const char *name = calc->list[k].target.name;
		uint32_t first, count;
		if (calc->list[k].target.is_attribute) {
			if (strcmp(name, "dim") == 0 || strcmp(name, "G") == 0 || strcmp(name, "softening") == 0 ||
				strcmp(name, "softening_kernel") == 0)
				return 1;
			continue;
		}
		const struct nb_column *column = nb_named_column(frame, name, &first, &count);
		if (column && (column->field == NB_POS || column->field == NB_MASS || column->field == NB_VEL ||
				      column->field == NB_EPS))
			return 1;
	}
	return 0;
}

/* In two dimensions what was set, or all if the number of dimensions was, has third components of 0. */
static void require_flat(const struct nb_frame *frame, unsigned set)
{
	static const struct {
		enum nb_field field;
		const char *third;
	} vectors[] = {{NB_POS, "z"}, {NB_VEL, "vz"}, {NB_ACC, "az"}, {NB_JERK, "jz"}};
	for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
		const enum nb_field field = vectors[k].field;
		if (!(set & 1u << field) || !nb_frame_field(frame, field) || nb_require_dim(frame) == 3)
			continue;
		const double *x = nb_require_f64(frame, field, &nb_space_host);
		for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++)
			if (x[3 * i + 2] != 0)
				nb_die(NB_EXIT_FAILED,
					"attribute dim is 2 in frame %" PRIu64 ", but %s of the body with id %" PRIu64
					" is %g",
					frame->number, vectors[k].third, nb_body_id(frame, i), x[3 * i + 2]);
	}
}

static void compute(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct calc *calc = self;
	struct nb_scope scope = {.frame = frame, .nothing = calc->nothing};
	(void)run;
	if (touches_kick(calc, frame))
		nb_complete_kick(frame); /* before acc goes, and before velocities are seen */
	calc->set = 0;
	calc->took = 0;
	calc->nnothing = 0;
	for (size_t k = 0; k < calc->n; k++)
		if (calc->list[k].target.is_attribute)
			nb_calc_attribute(calc, &scope, &calc->list[k]);
		else
			nb_calc_column(calc, &scope, &calc->list[k]);
	if (calc->dtype && !calc->took)
		nb_die(NB_EXIT_FAILED, "option '--dtype' has no effect on %s in frame %" PRIu64, NO_DTYPE,
			frame->number);
	nb_require_valid(frame);
	if (calc->set & 1u << NB_ID)
		nb_require_unique_ids(frame, "");
	require_flat(frame, calc->set);
}

const struct nb_tool nb_tool_calc = {
	.name = "nb-calc",
	.about = "compute columns and attributes of each frame by expressions",
	.operands = "ASSIGNMENT ... [FILE ...]",
	.own_operands = count_assignments,
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.footer = "An assignment is NAME = EXPRESSION, of a column or component: 'e = 0.5*v2 + pot', 'mass *= 2', 'x "
		  "+= 1';\n"
		  "or of an attribute: '@softening = 0.1'.  Several are operands or divided by ';'.  The language is "
		  "described in nb-calc(1).\n",
	.size = sizeof(struct calc),
	.streams = NB_READS | NB_WRITES,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.frame = compute,
	.clear = clear,
};
