/* Potentials from a text, and what they are at a time. */
#include "kernels/field/field.h"

#include <math.h>
#include <string.h>

const struct nb_term_kind nb_potential_info[NB_NPOTENTIAL] = {
#define NB_POTENTIAL(id, name, keys, formula) {name, keys, formula},
#include "kernels/field/potential.def"
#undef NB_POTENTIAL
};

static const struct nb_term_key key_info[NB_NPOTENTIAL_KEY] = {
#define NB_POTENTIAL_KEY(id, name, sign, value) {name, NB_TERM_##sign, value},
#include "kernels/field/potential.def"
#undef NB_POTENTIAL_KEY
};

_Static_assert((int)NB_NPOTENTIAL_KEY <= (int)NB_TERM_KEYS_MOST, "keys");

int nb_potentials_parse(const char *text, struct nb_term potential[NB_TERMS_MOST], int *n, char why[NB_TERM_WHY])
{
	static const struct nb_term_language language = {.noun = "potential",
		.nkind = NB_NPOTENTIAL,
		.kind = nb_potential_info,
		.nkey = NB_NPOTENTIAL_KEY,
		.key = key_info,
		.common = NB_POTENTIAL_PLACE,
		.positive_kind = NB_POTENTIAL_DISK,
		.positive_key = NB_KEY_B};
	return nb_terms_parse(&language, text, potential, n, why);
}

/* ---- at a time ---------------------------------------------------------------------------------- */

int nb_potential_varies(const struct nb_term *potential)
{
	const double *p = potential->value;
	return p[NB_KEY_VX] != 0 || p[NB_KEY_VY] != 0 || p[NB_KEY_VZ] != 0 || p[NB_KEY_OMEGA] != 0;
}

int nb_potential_leaves_plane(const struct nb_term *potential)
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

void nb_external_prepare(int n, const struct nb_term *potential, double G, double time, struct nb_external *external)
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
