/* The bodies of the model orbits: 'm=1; m=1e-3 a=1 e=0.1', elements of one body after the other. */
#include "tools/nb-gen/orbits.h"
#include "common/die.h"
#include "common/mem.h"
#include "common/nearest.h"
#include "common/parse.h"
#include "tools/filter/expression.h"
#include "tools/filter/require.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char BLANKS[] = " \t\n\r\v\f", END[] = "; \t\n\r\v\f";

/* The keys, and where their numbers go. */
struct key {
	const char *name;
	size_t at;
};

#define KEY(name, member)                                  \
	{                                                  \
		name, offsetof(struct nb_elements, member) \
	}
static const struct key keys[] = {KEY("m", mass), KEY("r", radius), KEY("a", a), KEY("P", period), KEY("e", e),
	KEY("i", inclination), KEY("Omega", node), KEY("omega", pericentre), KEY("M", anomaly), KEY("f", anomaly),
	KEY("about", about)};
enum { NKEY = sizeof keys / sizeof *keys, M_MEAN = NKEY - 3, F_TRUE, ABOUT };

/* What others have in place of these keys: for most of them no letters lead to the right one. */
static const struct {
	const char *name, *want;
} others[] = {
	{"x", "bodies with positions and velocities come by nb-convert --from csv"},
	{"pomega", "want omega, which is pomega - Omega"},
	{"varpi", "want omega, which is varpi - Omega"},
	{"l", "want M, which is l - Omega - omega"},
	{"inc", "want i, in degrees"},
	{"w", "want omega, in degrees"},
	{"T", "want M, which is 360 times the part of a period since the pericentre"},
	{"primary", "want about, the number of the body that this one orbits"},
};
enum { NOTHER = sizeof others / sizeof *others };

static size_t key_of(size_t body, const char *at, size_t length)
{
	struct nb_nearest nearest = nb_nearest_to(at, length);
	for (size_t k = 0; k < NKEY; k++) {
		if (strlen(keys[k].name) == length && strncmp(keys[k].name, at, length) == 0)
			return k;
		nb_nearest_offer(&nearest, keys[k].name, strlen(keys[k].name));
	}
	for (size_t k = 0; k < NOTHER; k++)
		if (strlen(others[k].name) == length && strncmp(others[k].name, at, length) == 0)
			nb_die(NB_EXIT_USAGE, "orbits: body %zu: unknown element '%s' (%s)", body, others[k].name,
				others[k].want);
	nb_die(NB_EXIT_USAGE,
		"orbits: body %zu: unknown element '%.*s' (%swant m, r, a or P, e, i, Omega, omega, M or f, about)",
		body, (int)length, at, nearest.hint);
}

/* A text of length bytes that is no number; its values come later. */
static double take_expression(struct orbits *to, size_t body, size_t place, const char *text, size_t length)
{
	char copy[400];
	if (to->nvaried == NB_ORBITS_VARIED_MOST || length >= sizeof copy)
		nb_die(NB_EXIT_USAGE, "orbits: body %zu: more than %d expressions, or one of %zu or more bytes", body,
			NB_ORBITS_VARIED_MOST, sizeof copy);
	snprintf(copy, sizeof copy, "%.*s", (int)length, text);
	to->varied[to->nvaried].body = body;
	to->varied[to->nvaried].at = place;
	to->varied[to->nvaried].expr = nb_expression(copy);
	to->nvaried++;
	return 0;
}

/* One 'key=number' of length bytes; given has a bit for each key that has been. */
static void take(struct orbits *to, size_t body, int many, unsigned *given, const char *at, size_t length)
{
	struct nb_elements *o = &to->list[body];
	const char *equals = memchr(at, '=', length);
	char number[64];
	double value;
	if (!equals || equals == at)
		nb_die(NB_EXIT_USAGE, "orbits: body %zu: '%.*s' is not an element (want KEY=NUMBER, as 'a=5.2')", body,
			(int)length, at);
	const size_t k = key_of(body, at, (size_t)(equals - at)), digits = length - (size_t)(equals + 1 - at);
	snprintf(number, sizeof number, "%.*s", (int)(digits < sizeof number ? digits : sizeof number - 1), equals + 1);
	const int is_number = digits < sizeof number && nb_parse_f64(number, &value) == NB_PARSE_OK;
	if (!is_number && many && k != ABOUT)
		value = take_expression(to, body, keys[k].at, equals + 1, digits);
	else if (!is_number)
		nb_die(NB_EXIT_USAGE, "orbits: body %zu: invalid number '%.*s' (want %s)", body, (int)length, at,
			memchr(at, ',', length) ? "blanks between elements, and ';' between bodies"
			: k == ABOUT		? "the number of a body"
						: "a finite number, or '--systems' for an expression");
	if (*given & 1u << k)
		nb_die(NB_EXIT_USAGE, "orbits: body %zu: '%s' is given twice", body, keys[k].name);
	*given |= 1u << k;
	if (k == ABOUT) {
		if (!(value >= 0 && value < NB_ELEMENTS_MOST && value == floor(value)))
			value = NB_ELEMENTS_MOST; /* no body */
		o->about = (int)value;
		return;
	}
	memcpy((char *)o + keys[k].at, &value, sizeof value);
	o->is_true |= k == F_TRUE;
}

/* One body, up to the ';' or the end behind it, which is returned. */
static const char *take_body(struct orbits *to, size_t body, int many, const char *at)
{
	static const unsigned of_first = 3; /* m and r */
	unsigned given = 0;
	to->list[body] = (struct nb_elements){.radius = NAN, .a = NAN, .period = NAN, .about = -1};
	for (at += strspn(at, BLANKS); *at && *at != ';'; at += strspn(at, BLANKS)) {
		const size_t length = strcspn(at, END);
		take(to, body, many, &given, at, length);
		at += length;
	}
	if (!given)
		nb_die(NB_EXIT_USAGE, "orbits: body %zu has no elements (want 'm=1; m=1e-3 a=1 e=0.1')", body);
	if (body == 0 && given & ~of_first)
		nb_die(NB_EXIT_USAGE, "orbits: body 0 has no orbit (want m and r alone, as 'm=1')");
	if (given >> M_MEAN & given >> F_TRUE & 1)
		nb_die(NB_EXIT_USAGE, "orbits: body %zu: M and f exclude each other", body);
	return at;
}

static void require_sound(const struct nb_elements *list, size_t i, double G, const char *where)
{
	const char *fault = nb_elements_fault(list, i, G);
	if (fault)
		nb_die(NB_EXIT_USAGE, "orbits: %sbody %zu: %s", where, i, fault);
}

void nb_gen_read_orbits(const char *text, double G, int many, struct orbits *to)
{
	for (const char *at = text;; at++) {
		if (to->n == NB_ELEMENTS_MOST)
			nb_die(NB_EXIT_USAGE, "orbits: more than %d bodies", NB_ELEMENTS_MOST);
		at = take_body(to, to->n, many, at);
		if (to->nvaried == 0)
			require_sound(to->list, to->n, G, "");
		to->n++;
		if (!*at || !at[1 + strspn(at + 1, BLANKS)]) /* a ';' may stand behind the last one */
			return;
	}
}

/* ---- many systems ------------------------------------------------------------------------------- */

int nb_gen_orbits_are_random(const struct orbits *o)
{
	int random = 0;
	for (size_t k = 0; k < o->nvaried; k++)
		random |= nb_expr_is_random(o->varied[k].expr);
	return random;
}

static int find(void *context, const char *name, int in_formula, struct nb_expr_value *value, char why[NB_EXPR_MESSAGE])
{
	(void)context;
	(void)in_formula;
	*value = (struct nb_expr_value){.is_row = 1, .unit = ""};
	if (strcmp(name, "system") == 0)
		return 1;
	if (strcmp(name, "pi") == 0) {
		value->is_row = 0;
		value->formula = "3.141592653589793";
		return 1;
	}
	snprintf(why, NB_EXPR_MESSAGE, "unknown name '%s' (want system, the number of the system)", name);
	return 0;
}

void nb_gen_vary_orbits(struct orbits *o, size_t systems, uint64_t seed, double G)
{
	const size_t n = systems > 0 ? systems : 1;
	struct nb_elements list[NB_ELEMENTS_MOST];
	struct nb_expr_error error;
	for (size_t k = 0; k < o->nvaried; k++) {
		struct nb_expr *expr = o->varied[k].expr;
		double *value = o->varied[k].value = nb_require_memory(NULL, nb_alloc(n, sizeof *value));
		nb_expression_seed(expr, "nb-gen", k, seed);
		if (nb_expr_bind(expr, n, 1, find, NULL, &error) ||
			nb_expr_values(expr, 0, n, 0, NB_ITEM_F64, value, sizeof *value, &error))
			nb_die(NB_EXIT_USAGE, "orbits: body %zu: '%.300s': %s", o->varied[k].body, nb_expr_source(expr),
				error.text);
		for (size_t i = 0; i < n; i++)
			if (!isfinite(value[i]))
				nb_die(NB_EXIT_USAGE, "orbits: system %zu: body %zu: '%.300s' is not finite", i,
					o->varied[k].body, nb_expr_source(expr));
	}
	for (size_t i = 0; i < n && o->nvaried; i++) {
		char where[40];
		snprintf(where, sizeof where, "system %zu: ", i);
		nb_gen_orbits_of(o, i, list);
		for (size_t body = 0; body < o->n; body++)
			require_sound(list, body, G, where);
	}
}

void nb_gen_orbits_of(const struct orbits *o, size_t k, struct nb_elements to[NB_ELEMENTS_MOST])
{
	if (to != o->list)
		memcpy(to, o->list, o->n * sizeof *to);
	for (size_t i = 0; i < o->nvaried; i++)
		memcpy((char *)&to[o->varied[i].body] + o->varied[i].at, &o->varied[i].value[k], sizeof(double));
}

void nb_gen_free_orbits(struct orbits *o)
{
	for (size_t k = 0; k < o->nvaried; k++) {
		nb_expr_free(o->varied[k].expr);
		nb_free(o->varied[k].value);
	}
	o->nvaried = 0;
}
