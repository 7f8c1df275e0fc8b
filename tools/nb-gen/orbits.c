/* The bodies of the model orbits: 'm=1; m=1e-3 a=1 e=0.1', elements of one body after the other. */
#include "tools/nb-gen/orbits.h"
#include "common/nearest.h"
#include "common/parse.h"
#include "tools/filter/filter.h"

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

/* One 'key=number' of length bytes; given has a bit for each key that has been. */
static void take(struct nb_elements *o, size_t body, unsigned *given, const char *at, size_t length)
{
	const char *equals = memchr(at, '=', length);
	char number[64];
	double value;
	if (!equals || equals == at)
		nb_die(NB_EXIT_USAGE, "orbits: body %zu: '%.*s' is not an element (want KEY=NUMBER, as 'a=5.2')", body,
			(int)length, at);
	const size_t k = key_of(body, at, (size_t)(equals - at)), digits = length - (size_t)(equals + 1 - at);
	snprintf(number, sizeof number, "%.*s", (int)(digits < sizeof number ? digits : sizeof number - 1), equals + 1);
	if (digits >= sizeof number || nb_parse_f64(number, &value) != NB_PARSE_OK)
		nb_die(NB_EXIT_USAGE, "orbits: body %zu: invalid number '%.*s' (want %s)", body, (int)length, at,
			memchr(at, ',', length) ? "blanks between elements, and ';' between bodies"
						: "a finite number");
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
static const char *take_body(struct nb_elements *o, size_t body, const char *at)
{
	static const unsigned of_first = 3; /* m and r */
	unsigned given = 0;
	*o = (struct nb_elements){.radius = NAN, .a = NAN, .period = NAN, .about = -1};
	for (at += strspn(at, BLANKS); *at && *at != ';'; at += strspn(at, BLANKS)) {
		const size_t length = strcspn(at, END);
		take(o, body, &given, at, length);
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

size_t nb_gen_read_orbits(const char *text, double G, struct nb_elements list[NB_ELEMENTS_MOST])
{
	size_t n = 0;
	for (const char *at = text;; at++) {
		if (n == NB_ELEMENTS_MOST)
			nb_die(NB_EXIT_USAGE, "orbits: more than %d bodies", NB_ELEMENTS_MOST);
		at = take_body(&list[n], n, at);
		const char *fault = nb_elements_fault(list, n, G);
		if (fault)
			nb_die(NB_EXIT_USAGE, "orbits: body %zu: %s", n, fault);
		n++;
		if (!*at || !at[1 + strspn(at + 1, BLANKS)]) /* a ';' may stand behind the last one */
			return n;
	}
}
