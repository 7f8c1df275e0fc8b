/* Potentials from a text, and what they are at a time. */
#include "kernels/field/field.h"

#include "common/nearest.h"
#include "common/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct nb_potential_info nb_potential_info[NB_NPOTENTIAL] = {
#define NB_POTENTIAL(id, name, keys, formula) {name, keys, formula},
#include "kernels/field/potential.def"
#undef NB_POTENTIAL
};

enum sign { ANY, NOT_NEGATIVE, POSITIVE, SLOPE };

static const struct {
	const char *name;
	enum sign sign;
	double fallback;
} key_info[NB_NPOTENTIAL_KEY] = {
#define NB_POTENTIAL_KEY(id, name, sign, value) {name, sign, value},
#include "kernels/field/potential.def"
#undef NB_POTENTIAL_KEY
};

static const char blank[] = " \t\n,";

/* A part of a text. */
struct word {
	const char *at;
	size_t length;
};

static int is(struct word word, const char *name)
{
	return strlen(name) == word.length && memcmp(word.at, name, word.length) == 0;
}

/* The next word from *at, which goes behind it; length 0: there is none.  It ends before any of these. */
static struct word next_word(const char **at, const char *ends)
{
	const char *start = *at + strspn(*at, blank);
	const size_t length = strcspn(start, ends);
	*at = start + length;
	return (struct word){start, length};
}

/* ---- keys that a potential takes ---------------------------------------------------------------- */

/* Calls of this go through the keys of a list, "m|v rs eps?": the next one, how it must be given, and where it stands.
 */
struct key_list {
	const char *at;
	struct word key;
	int optional, or_next;
};

static int next_key(struct key_list *list)
{
	list->at += strspn(list->at, " ?|");
	list->key = (struct word){list->at, strcspn(list->at, " ?|")};
	list->at += list->key.length;
	list->optional = *list->at == '?';
	list->or_next = *list->at == '|';
	return list->key.length > 0;
}

static int has_key(const char *keys, struct word key)
{
	struct key_list list = {.at = keys};
	while (next_key(&list))
		if (list.key.length == key.length && memcmp(list.key.at, key.at, key.length) == 0)
			return 1;
	return 0;
}

static int takes(const struct nb_potential *potential, struct word key)
{
	return has_key(nb_potential_info[potential->kind].keys, key) || has_key(NB_POTENTIAL_PLACE, key);
}

/* -1: none has it. */
static int find_key(struct word key)
{
	for (int k = 0; k < NB_NPOTENTIAL_KEY; k++)
		if (is(key, key_info[k].name))
			return k;
	return -1;
}

static int is_given(const struct nb_potential *potential, struct word key)
{
	return is(key, "file") ? potential->file != NULL : potential->given >> find_key(key) & 1;
}

/* All keys of a list that are there: "m, v, rs". */
static void list_keys(const char *keys, char *text, size_t size)
{
	struct key_list list = {.at = keys};
	size_t used = strlen(text);
	while (next_key(&list) && used < size)
		used += (size_t)snprintf(
			text + used, size - used, "%s%.*s", used ? ", " : "", (int)list.key.length, list.key.at);
}

/* ---- one potential ------------------------------------------------------------------------------ */

#define FAIL(...) (snprintf(why, NB_POTENTIAL_WHY, __VA_ARGS__), NB_EINVAL)

static int take_number(struct nb_potential *potential, int key, struct word value, char *why)
{
	static const char *const want[] = {"a number", "a number >= 0", "a number > 0", "a number >= 0 and < 3"};
	const enum sign sign = potential->kind == NB_POTENTIAL_DISK && key == NB_KEY_B ? POSITIVE : key_info[key].sign;
	char text[64];
	double x = 0;
	int good = value.length < sizeof text;
	if (good) {
		memcpy(text, value.at, value.length);
		text[value.length] = '\0';
		good = nb_parse_f64(text, &x) == NB_PARSE_OK &&
		       (sign == ANY || x > 0 || (sign != POSITIVE && x == 0)) && (sign != SLOPE || x < 3);
	}
	if (!good)
		return FAIL("potential %s: invalid %s '%.*s' (want %s)", nb_potential_info[potential->kind].name,
			key_info[key].name, (int)(value.length < 60 ? value.length : 60), value.at, want[sign]);
	potential->value[key] = x;
	potential->given |= 1u << key;
	return NB_OK;
}

/* KEY=VALUE */
static int take(struct nb_potential *potential, struct word word, char *why)
{
	const char *name = nb_potential_info[potential->kind].name, *equal = memchr(word.at, '=', word.length);
	const int shown = (int)(word.length < 60 ? word.length : 60);
	if (!equal || equal == word.at)
		return FAIL("potential %s: '%.*s' is not KEY=VALUE", name, shown, word.at);
	const struct word key = {word.at, (size_t)(equal - word.at)};
	const struct word value = {equal + 1, word.length - key.length - 1};
	if (!takes(potential, key)) {
		char list[200] = "";
		list_keys(nb_potential_info[potential->kind].keys, list, sizeof list);
		list_keys(NB_POTENTIAL_PLACE, list, sizeof list);
		return FAIL("potential %s: unknown key '%.*s' (%swant %s)", name,
			(int)(key.length < 60 ? key.length : 60), key.at,
			nb_nearest_in(key.at, key.length, list, ", ").hint, list);
	}
	if (is_given(potential, key))
		return FAIL("potential %s: key '%.*s' is given twice", name, (int)key.length, key.at);
	if (!is(key, "file"))
		return take_number(potential, find_key(key), value, why);
	if (value.length == 0)
		return FAIL("potential %s: key 'file' has no path", name);
	potential->file = value.at;
	potential->file_length = value.length;
	return NB_OK;
}

/* What must be given is, once. */
static int require_keys(const struct nb_potential *potential, char *why)
{
	const struct nb_potential_info *info = &nb_potential_info[potential->kind];
	struct key_list list = {.at = info->keys};
	while (next_key(&list)) {
		const struct word first = list.key;
		const int alternative = list.or_next, given = is_given(potential, first);
		if (alternative) {
			(void)next_key(&list);
			if (given + is_given(potential, list.key) != 1)
				return FAIL("potential %s: %s (want %.*s or %.*s)", info->name,
					given ? "two strengths" : "no strength", (int)first.length, first.at,
					(int)list.key.length, list.key.at);
		} else if (!given && !list.optional) {
			return FAIL("potential %s: key '%.*s' is missing", info->name, (int)first.length, first.at);
		}
	}
	return NB_OK;
}

static int find_kind(struct word name, enum nb_potential_kind *kind, char *why)
{
	char list[200] = "";
	for (int k = 0; k < NB_NPOTENTIAL; k++) {
		const size_t used = strlen(list);
		if (is(name, nb_potential_info[k].name)) {
			*kind = (enum nb_potential_kind)k;
			return NB_OK;
		}
		snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "", nb_potential_info[k].name);
	}
	return FAIL("unknown potential '%.*s' (%swant %s; 'help' lists their keys)",
		(int)(name.length < 60 ? name.length : 60), name.at,
		nb_nearest_in(name.at, name.length, list, ", ").hint, list);
}

/* From *at to a semicolon or the end. */
static int parse_one(const char **at, struct nb_potential *potential, char *why)
{
	static const char ends[] = " \t\n,;";
	const struct word name = next_word(at, " \t\n,;:");
	*at += **at == ':';
	if (name.length == 0)
		return FAIL("empty potential (want NAME KEY=VALUE ..., several divided by ';')");
	memset(potential, 0, sizeof *potential);
	int status = find_kind(name, &potential->kind, why);
	for (int k = 0; k < NB_NPOTENTIAL_KEY; k++)
		potential->value[k] = key_info[k].fallback;
	struct word word;
	while (!status && (word = next_word(at, ends)).length > 0)
		status = take(potential, word, why);
	return status ? status : require_keys(potential, why);
}

int nb_potentials_parse(
	const char *text, struct nb_potential potential[NB_POTENTIALS], int *n, char why[NB_POTENTIAL_WHY])
{
	const char *at = text;
	for (*n = 0;; at++) {
		if (*n == NB_POTENTIALS)
			return FAIL("more than %d potentials (put two programs in a row)", NB_POTENTIALS);
		const int status = parse_one(&at, &potential[*n], why);
		if (status)
			return status;
		++*n;
		if (*at == '\0')
			return NB_OK;
	}
}

/* ---- at a time ---------------------------------------------------------------------------------- */

int nb_potential_varies(const struct nb_potential *potential)
{
	const double *p = potential->value;
	return p[NB_KEY_VX] != 0 || p[NB_KEY_VY] != 0 || p[NB_KEY_VZ] != 0 || p[NB_KEY_OMEGA] != 0;
}

int nb_potential_leaves_plane(const struct nb_potential *potential)
{
	const double *p = potential->value;
	return p[NB_KEY_Z] != 0 || p[NB_KEY_VZ] != 0 || fmod(p[NB_KEY_INC], 180) != 0;
}

/* R_z(node) R_x(inc) R_z(angle), angles in degrees but turn, which is added to the last. */
static void orient(const double *p, double turn, struct nb_external_term *t)
{
	static const double radians = 3.14159265358979323846 / 180;
	const double node = p[NB_KEY_NODE] * radians, inc = p[NB_KEY_INC] * radians;
	const double angle = p[NB_KEY_ANGLE] * radians + turn;
	const double cn = cos(node), sn = sin(node), ci = cos(inc), si = sin(inc), ca = cos(angle), sa = sin(angle);
	const double axes[3][3] = {{cn * ca - sn * ci * sa, -cn * sa - sn * ci * ca, sn * si},
		{sn * ca + cn * ci * sa, -sn * sa + cn * ci * ca, -cn * si}, {si * sa, si * ca, ci}};
	memcpy(t->axes, axes, sizeof axes);
	t->omega = p[NB_KEY_OMEGA];
	t->turned = p[NB_KEY_NODE] != 0 || p[NB_KEY_INC] != 0 || p[NB_KEY_ANGLE] != 0 || p[NB_KEY_OMEGA] != 0;
}

void nb_external_prepare(
	int n, const struct nb_potential *potential, double G, double time, struct nb_external *external)
{
	external->n = n;
	for (int i = 0; i < n; i++) {
		const double *p = potential[i].value, mass_within_rs = log(2) - 0.5;
		struct nb_external_term *t = &external->term[i];
		memset(t, 0, sizeof *t);
		t->kind = potential[i].kind;
		t->strength = G * p[NB_KEY_M];
		t->length[0] = p[NB_KEY_A];
		t->length[1] = p[NB_KEY_B];
		t->length[2] = p[NB_KEY_C];
		for (int k = 0; k < 3; k++) {
			t->velocity[k] = p[NB_KEY_VX + k];
			t->centre[k] = p[NB_KEY_X + k] + t->velocity[k] * time;
		}
		if (t->kind == NB_POTENTIAL_POINT)
			t->length[0] = p[NB_KEY_EPS];
		if (t->kind == NB_POTENTIAL_DEHNEN)
			t->length[1] = p[NB_KEY_GAMMA];
		if (t->kind == NB_POTENTIAL_NFW) {
			t->length[0] = p[NB_KEY_RS];
			if (potential[i].given >> NB_KEY_V & 1)
				t->strength = p[NB_KEY_V] * p[NB_KEY_V] * p[NB_KEY_RS];
			t->strength /= mass_within_rs;
		}
		if (t->kind == NB_POTENTIAL_LOG) {
			t->strength = p[NB_KEY_V0] * p[NB_KEY_V0];
			t->length[0] = p[NB_KEY_RC];
			t->length[1] = p[NB_KEY_QY];
			t->length[2] = p[NB_KEY_QZ];
		}
		orient(p, p[NB_KEY_OMEGA] * time, t);
	}
}
