/* The arguments of the operations. */
#include "common/parse.h"
#include "common/nearest.h"
#include "kernels/motion/motion.h"
#include "tools/filter/require.h"
#include "tools/nb-transform/transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[NKIND] = {"shift", "boost", "rotate", "scale", "from-units", "units", "recenter"};

const char *nb_transform_name(enum kind kind)
{
	return names[kind];
}

static _Noreturn void invalid(enum kind kind, const char *text, const char *want)
{
	nb_die(NB_EXIT_USAGE, "invalid %s '%s' (%swant %s)", names[kind], text,
		nb_nearest_in(text, strlen(text), want, "|").hint, want);
}

/* Two or three numbers. */
static void parse_vector(struct operation *op)
{
	size_t count;
	if (nb_parse_f64_list(op->text, 3, op->vector, &count) != NB_PARSE_OK || count < 2)
		invalid(op->kind, op->text, "X,Y,Z or, in two dimensions, X,Y");
	op->is_flat = count == 2;
	if (op->is_flat)
		op->vector[2] = 0;
}

/* ---- rotations ---------------------------------------------------------------------------------- */

static void multiply(const double a[9], double b[9])
{
	double product[9];
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			product[3 * i + k] = a[3 * i] * b[k] + a[3 * i + 1] * b[3 + k] + a[3 * i + 2] * b[6 + k];
	memcpy(b, product, sizeof product);
}

/* The axis before the colon: x, y, z or three numbers.  0, or -1. */
static int parse_axis(const char *text, double axis[3])
{
	size_t count;
	if (strlen(text) == 1 && *text >= 'x' && *text <= 'z') {
		axis[0] = axis[1] = axis[2] = 0;
		axis[*text - 'x'] = 1;
		return 0;
	}
	if (nb_parse_f64_list(text, 3, axis, &count) != NB_PARSE_OK || count != 3)
		return -1;
	return axis[0] != 0 || axis[1] != 0 || axis[2] != 0 ? 0 : -1;
}

/* z:30,x:60 one after the other, or X,Y,Z:30. */
static int parse_turns(char *text, struct operation *op)
{
	static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
	memcpy(op->matrix, identity, sizeof identity);
	for (char *at = text; at;) {
		char *colon = strchr(at, ':');
		if (!colon)
			return -1;
		*colon = '\0';
		char *next = strchr(colon + 1, ',');
		if (next)
			*next++ = '\0';
		double axis[3], degrees, turn[9];
		if (parse_axis(at, axis) || nb_parse_f64(colon + 1, &degrees) != NB_PARSE_OK)
			return -1;
		nb_rotation(axis, degrees, turn);
		multiply(turn, op->matrix);
		at = next;
	}
	const double *m = op->matrix;
	op->leaves_plane = m[2] != 0 || m[5] != 0 || m[6] != 0 || m[7] != 0;
	return 0;
}

static void parse_rotation(struct operation *op)
{
	char *copy = nb_require_memory(NULL, strdup(op->text));
	const int status = parse_turns(copy, op);
	free(copy);
	if (status)
		invalid(op->kind, op->text, "AXIS:DEGREES such as z:30,x:60 or 1,1,0:45");
}

/* ---- scales ------------------------------------------------------------------------------------- */

static int parse_factor(struct operation *op, const char *name, const char *value, double *time, int *virial)
{
	struct scale *scale = &op->scale;
	const int is_velocity = strcmp(name, "velocity") == 0;
	double *to = strcmp(name, "length") == 0 ? &scale->length
		     : strcmp(name, "mass") == 0 ? &scale->mass
		     : strcmp(name, "time") == 0 ? time
		     : is_velocity		 ? &scale->velocity
						 : NULL;
	if (!to || !isnan(*to) || (is_velocity && *virial))
		return -1;
	if (is_velocity && strcmp(value, "virial") == 0) {
		*virial = 1;
		return 0;
	}
	return nb_parse_f64(value, to) != NB_PARSE_OK || (!is_velocity && !(*to > 0)) ? -1 : 0;
}

static int parse_factors(char *text, struct operation *op)
{
	struct scale *scale = &op->scale;
	double time = NAN;
	int virial = 0;
	*scale = (struct scale){NAN, NAN, NAN};
	char *rest;
	if (!*text || text[strlen(text) - 1] == ',')
		return -1;
	for (char *part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
		char *value = strchr(part, '=');
		if (!value)
			return -1;
		*value++ = '\0';
		if (parse_factor(op, part, value, &time, &virial))
			return -1;
	}
	if ((!isnan(scale->velocity) || virial) && !isnan(time))
		return -1; /* one follows from the other */
	scale->length = isnan(scale->length) ? 1 : scale->length;
	scale->mass = isnan(scale->mass) ? 1 : scale->mass;
	if (virial)
		scale->velocity = sqrt(scale->mass / scale->length);
	else if (!isnan(time))
		scale->velocity = scale->length / time;
	else if (isnan(scale->velocity))
		scale->velocity = 1;
	return isfinite(scale->velocity) ? 0 : -1;
}

static void parse_scale(struct operation *op)
{
	char *copy = nb_require_memory(NULL, strdup(op->text));
	const int status = parse_factors(copy, op);
	free(copy);
	if (status)
		invalid(op->kind, op->text,
			"factors > 0 such as length=2,mass=3,velocity=0.5, or velocity=virial, or time instead of "
			"velocity");
}

/* ---- all ---------------------------------------------------------------------------------------- */

static void parse_units(struct operation *op)
{
	const char *why;
	if (nb_unit_system_parse(op->text, &op->units, &why))
		invalid(op->kind, op->text, why);
	if (op->kind == UNITS && op->units.velocity == 0)
		invalid(op->kind, op->text, "LENGTH,MASS,VELOCITY such as pc,Msun,km/s, or LENGTH,MASS,TIME");
}

static void parse_centre(struct operation *op)
{
	op->centre = strcmp(op->text, "density") == 0 ? CENTRE_OF_DENSITY : CENTRE_OF_MASS;
	if (op->centre == CENTRE_OF_MASS && strcmp(op->text, "com") != 0)
		invalid(op->kind, op->text, "com|density");
}

struct operation nb_transform_parse(enum kind kind, const char *text)
{
	struct operation op = {.kind = kind, .text = text};
	switch (kind) {
	case SHIFT:
	case BOOST: parse_vector(&op); break;
	case ROTATE: parse_rotation(&op); break;
	case SCALE: parse_scale(&op); break;
	case FROM_UNITS:
	case UNITS: parse_units(&op); break;
	case RECENTER: parse_centre(&op); break;
	case NKIND: break;
	}
	return op;
}
