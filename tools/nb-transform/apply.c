/* An operation on a frame. */
#include "kernels/motion/motion.h"
#include "tools/filter/cosmology.h"
#include "tools/filter/require.h"
#include "tools/filter/stale.h"
#include "tools/filter/systems.h"
#include "tools/filter/views.h"
#include "tools/nb-transform/transform.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- parts -------------------------------------------------------------------------------------- */

/* The numbers of a field to be changed, NULL where the frame has none. */
static double *update(struct nb_frame *frame, enum nb_field field)
{
	struct nb_column *column = nb_frame_field(frame, field);
	if (!column)
		return NULL;
	(void)nb_require_f64(frame, field, &nb_space_host); /* or a message */
	return nb_require_memory(frame, nb_column_update(column, &nb_space_host, NB_AS_F64));
}

static void scale_field(struct nb_frame *frame, enum nb_field field, double factor)
{
	double *x = factor != 1 ? update(frame, field) : NULL;
	if (x)
		nb_scale_cpu(frame->rows[NB_PARTICLE] * nb_frame_field(frame, field)->ncomp, x, factor);
}

/* A column of what nb-step says of each system. */
static void scale_named(struct nb_frame *frame, const char *name, double factor)
{
	struct nb_column *column = factor != 1 ? nb_frame_find(frame, name) : NULL;
	if (!column || column->table != NB_PARTICLE || strcmp(column->dtype, "<f8") != 0)
		return;
	double *x = nb_require_memory(frame, nb_column_update(column, &nb_space_host, NB_AS_F64));
	nb_scale_cpu(column->rows * column->ncomp, x, factor);
}

static void scale_attribute(struct nb_frame *frame, const char *key, double factor)
{
	if (factor == 1 || !nb_frame_attribute(frame, key))
		return;
	const double scaled = factor * nb_require_attribute(frame, key, 0);
	if (!isfinite(scaled))
		nb_die(NB_EXIT_FAILED, "attribute %s of frame %" PRIu64 " leaves the range of numbers", key,
			frame->number);
	nb_set_attribute_f64(frame, key, scaled);
}

/* What an operation makes stale that gives the bodies other places or masses: keys, trees, and columns of others that
 * are marked as derived; acc, pot and jerk are up to the operation. */
static void drop_stale(struct nb_frame *frame)
{
	nb_frame_drop_tree(frame);
	nb_frame_drop_attribute(frame, "key_cube");
	for (size_t c = frame->ncolumn; c-- > 0;) {
		const enum nb_field field = frame->column[c].field;
		if (field == NB_KEY || field == NB_TIMESCALE ||
			(field == NB_NFIELD && (frame->column[c].flags & NB_DERIVED)))
			nb_frame_drop(frame, frame->column[c].name);
	}
}

static void require_flat(const struct nb_frame *frame, const struct operation *op, const char *option, int leaves)
{
	if (leaves && nb_require_dim(frame) == 2)
		nb_die(NB_EXIT_FAILED, "'--%s %s' would leave the plane of frame %" PRIu64 ", which has 2 dimensions",
			option, op->text, frame->number);
}

static void require_vector(const struct nb_frame *frame, const struct operation *op)
{
	const char *option = nb_transform_name(op->kind);
	if (op->is_flat && nb_require_dim(frame) == 3)
		nb_die(NB_EXIT_FAILED,
			"'--%s %s' has two numbers, and frame %" PRIu64 " has 3 dimensions (want '--%s %s,0')", option,
			op->text, frame->number, option, op->text);
	require_flat(frame, op, option, op->vector[2] != 0);
}

/* ---- shift, boost, recenter, rotate ------------------------------------------------------------- */

static void shift(struct nb_frame *frame, const double d[3])
{
	nb_require_field(frame, NB_POS);
	nb_translate_cpu(frame->rows[NB_PARTICLE], update(frame, NB_POS), d);
	nb_wrap_positions(frame, NULL);
	drop_stale(frame);
}

static void boost(struct nb_frame *frame, const double d[3])
{
	nb_require_field(frame, NB_VEL);
	nb_translate_cpu(frame->rows[NB_PARTICLE], update(frame, NB_VEL), d);
}

static void recenter(struct nb_frame *frame, enum centre kind)
{
	struct nb_centre way;
	nb_refuse_box(frame, "option '--recenter'", "'--shift'");
	nb_refuse_systems(frame, "option '--recenter'", "");
	if (!nb_transform_find_way(frame, kind, &way))
		return;
	shift(frame, way.pos);
	if (nb_frame_field(frame, NB_VEL))
		boost(frame, way.vel);
}

static void rotate(struct nb_frame *frame, const struct operation *op)
{
	static const enum nb_field vectors[] = {NB_POS, NB_VEL, NB_ACC, NB_JERK, NB_SPIN};
	nb_refuse_box(frame, "option '--rotate'", "");
	nb_require_field(frame, NB_POS);
	for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
		double *x = update(frame, vectors[k]);
		if (x)
			nb_rotate_cpu(frame->rows[NB_PARTICLE], x, op->matrix);
	}
	drop_stale(frame);
}

/* ---- scale -------------------------------------------------------------------------------------- */

/* What the fields and attributes are multiplied by. */
struct factors {
	double length, mass, velocity, acc, time, kick, hubble;
};

static void multiply(struct nb_frame *frame, const struct factors *f)
{
	scale_field(frame, NB_POS, f->length);
	scale_field(frame, NB_RADIUS, f->length);
	scale_field(frame, NB_EPS, f->length);
	scale_field(frame, NB_MASS, f->mass);
	scale_field(frame, NB_VEL, f->velocity);
	scale_field(frame, NB_SPIN, f->mass * f->length * f->velocity);
	scale_field(frame, NB_ACC, f->acc);
	scale_field(frame, NB_POT, f->acc * f->length);
	scale_field(frame, NB_POT_FIELD, f->acc * f->length);
	scale_field(frame, NB_JERK, f->acc * (f->velocity / f->length));
	scale_attribute(frame, "softening", f->length);
	scale_attribute(frame, "box", f->length);
	scale_attribute(frame, "universe_radius", f->length);
	scale_attribute(frame, "H0", f->hubble);
	if (!nb_is_cosmological(frame)) { /* where it is a scale factor */
		scale_attribute(frame, "time", f->time);
		scale_attribute(frame, "time_rest", f->time);
		scale_attribute(frame, "lyapunov", 1 / f->time);
		scale_named(frame, "system_time", f->time);
		scale_named(frame, "lyapunov", 1 / f->time);
	}
	scale_attribute(frame, "pending_kick", f->kick);
	scale_attribute(frame, "etot0", f->mass * f->velocity * f->velocity);
	scale_attribute(frame, "ekin_da", f->mass * f->velocity * f->velocity);
	if (nb_require_attribute(frame, "pending_kick", 0) == 0)
		nb_frame_drop_attribute(frame, "pending_kick");
	drop_stale(frame);
}

/* Another system with the same G: acc goes as mass / length^2.  The kick that is still to be done must give scaled
 * velocities. */
static void scale(struct nb_frame *frame, const struct scale *s)
{
	const double acc = s->mass / s->length / s->length;
	const struct factors factors = {
		.length = s->length,
		.mass = s->mass,
		.velocity = s->velocity,
		.acc = acc,
		.time = s->velocity != 0 ? s->length / s->velocity : 1,
		.kick = s->velocity / acc,
		.hubble = sqrt(acc / s->length), /* whose square goes as a density */
	};
	multiply(frame, &factors);
}

/* ---- units -------------------------------------------------------------------------------------- */

/* Units for --from-units in which a constant of this size is that of nature; without one of velocity, which follows. */
static const char *likely_units(double G)
{
	static const char *const common[] = {"pc,Msun,km/s", "kpc,Msun,km/s", "kpc,1e10Msun,km/s", "Mpc,1e10Msun,km/s",
		"AU,Msun,yr", "AU,Msun,d", "pc,Msun,Myr", "m,kg,s", "cm,g,s"};
	const char *why;
	struct nb_unit_system units;
	for (size_t k = 0; k < sizeof common / sizeof *common; k++)
		if (nb_unit_system_parse(common[k], &units, &why) == 0 &&
			fabs(G / nb_unit_system_G(&units) - 1) <= 0.01)
			return common[k];
	return G == 1 ? "1pc,1000Msun" : "pc,Msun";
}

/* What the frame is in; *G: its constant in these units. */
static struct nb_unit_system source_units(struct nb_frame *frame, const struct nb_unit_system *stated, double *G)
{
	const char *text = nb_frame_attribute(frame, "units");
	struct nb_unit_system from = *stated;
	if (from.length == 0 && (!text || nb_unit_system_known(text, &from)))
		nb_die(NB_EXIT_FAILED,
			"the units of frame %" PRIu64 " are not known from its attribute units='%s' "
			"(put '--from-units' before '--units', e.g. '--from-units %s')",
			frame->number, text ? text : "", likely_units(nb_require_attribute(frame, "G", 1)));
	*G = nb_require_attribute(frame, "G", 1);
	if (from.velocity != 0)
		return from;
	if (!(*G > 0))
		nb_die(NB_EXIT_FAILED,
			"attribute G=%g of frame %" PRIu64
			" gives no unit of velocity (give it, as in '--from-units 1pc,1Msun,1km/s')",
			*G, frame->number);
	/* G is the constant of nature in these units if the velocity is right */
	from.velocity = 1;
	from.velocity = sqrt(nb_unit_system_G(&from) / *G);
	return from;
}

/* Without a G of its own a frame gets that of nature; what was computed with 1 is dropped. */
static void take_natural_G(struct nb_frame *frame, const struct nb_unit_system *from, double G, double natural)
{
	static const enum nb_field fields[] = {NB_ACC, NB_POT, NB_POT_FIELD, NB_JERK};
	if (G != 1)
		nb_die(NB_EXIT_FAILED,
			"attribute G=%g of frame %" PRIu64
			" is not that of the units '%s', %g (give '--from-units' with length and mass only, and the "
			"unit of velocity follows from G)",
			G, frame->number, from->text, natural);
	if (nb_require_attribute(frame, "pending_kick", 0) != 0)
		nb_die(NB_EXIT_FAILED,
			"the velocities of frame %" PRIu64
			" lag behind the positions, and G=1 is not that of the units '%s'",
			frame->number, from->text);
	for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
		nb_frame_drop_field(frame, fields[k]);
}

static void name_unit(struct nb_frame *frame, enum nb_field field, const char *format, const char *a, const char *b)
{
	struct nb_column *column = nb_frame_field(frame, field);
	char text[80];
	if (!column)
		return;
	const int n = *a && *b ? snprintf(text, sizeof text, format, a, b) : NB_UNIT_SIZE + 1;
	strcpy(column->unit, n <= NB_UNIT_SIZE ? text : nb_field_info[field].unit);
}

static void name_units(struct nb_frame *frame, const struct nb_unit_system *to)
{
	const char *length = to->name[0], *velocity = to->name[2];
	char moment[80] = "";
	if (*length && *to->name[1])
		snprintf(moment, sizeof moment, "%.30s %.30s", to->name[1], length);
	nb_set_attribute(frame, "units", to->text);
	name_unit(frame, NB_POS, "%s", length, length);
	name_unit(frame, NB_RADIUS, "%s", length, length);
	name_unit(frame, NB_EPS, "%s", length, length);
	name_unit(frame, NB_MASS, "%s", to->name[1], length);
	name_unit(frame, NB_VEL, "%s", velocity, length);
	name_unit(frame, NB_ACC, "(%s)^2/%s", velocity, length);
	name_unit(frame, NB_SPIN, "%s (%s)", moment, velocity);
	name_unit(frame, NB_POT, "(%s)^2", velocity, length);
	name_unit(frame, NB_POT_FIELD, "(%s)^2", velocity, length);
	name_unit(frame, NB_JERK, "(%s)^3/(%s)^2", velocity, length);
}

static void convert(struct nb_frame *frame, const struct nb_unit_system *to, struct nb_unit_system *known)
{
	double G;
	const struct nb_unit_system from = source_units(frame, known, &G);
	const double natural = nb_unit_system_G(&from);
	const int other = !(fabs(G - natural) <= 0.01 * natural);
	if (other) {
		nb_drop_run_attributes(frame);
		take_natural_G(frame, &from, G, natural);
	}
	const double length = from.length / to->length, mass = from.mass / to->mass;
	const double velocity = from.velocity / to->velocity;
	const struct factors factors = {
		.length = length,
		.mass = mass,
		.velocity = velocity,
		.acc = velocity * velocity / length,
		.time = length / velocity,
		.kick = length / velocity,
		.hubble = velocity / length,
	};
	multiply(frame, &factors);
	/* where G is that of nature to rounding, it is so in all units */
	const int exact = other || fabs(G - natural) <= 1e-12 * natural;
	nb_set_attribute_f64(frame, "G", exact ? nb_unit_system_G(to) : G * (nb_unit_system_G(to) / natural));
	name_units(frame, to);
	*known = *to;
}

/* ---- all ---------------------------------------------------------------------------------------- */

void nb_transform_apply(struct nb_frame *frame, const struct operation *op, struct nb_unit_system *units)
{
	char before[NB_STALE_TEXT] = "";
	nb_list_derived(frame, before);
	if (op->kind != FROM_UNITS) { /* their words are about another frame of reference, or units */
		nb_frame_drop_attribute(frame, "field");
		nb_frame_drop_attribute(frame, "extra");
	}
	if (op->kind != SHIFT && op->kind != ROTATE && op->kind != FROM_UNITS && op->kind != UNITS)
		nb_drop_run_attributes(frame);
	switch (op->kind) {
	case SHIFT:
		require_vector(frame, op);
		shift(frame, op->vector);
		break;
	case BOOST:
		require_vector(frame, op);
		boost(frame, op->vector);
		break;
	case ROTATE:
		require_flat(frame, op, "rotate", op->leaves_plane);
		rotate(frame, op);
		break;
	case SCALE: scale(frame, &op->scale); break;
	case FROM_UNITS: *units = op->units; break;
	case UNITS: convert(frame, &op->units, units); break;
	case RECENTER: recenter(frame, op->centre); break;
	case NKIND: break;
	}
	(void)nb_tell_stale(frame, before, "'--%s %.300s'", nb_transform_name(op->kind), op->text);
}

void nb_transform_require_finite(const struct nb_frame *frame)
{
	static const enum nb_field fields[] = {
		NB_POS, NB_VEL, NB_MASS, NB_RADIUS, NB_SPIN, NB_EPS, NB_ACC, NB_POT, NB_POT_FIELD, NB_JERK};
	for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
		struct nb_column *column = nb_frame_field(frame, fields[k]);
		const size_t bad = column ? nb_column_first_bad(column, NB_BAD_NONFINITE) : 0;
		if (bad == SIZE_MAX)
			nb_out_of_memory(frame);
		if (column && bad < column->rows)
			nb_die(NB_EXIT_FAILED,
				"field '%s' of the body with id %" PRIu64
				" leaves the range of its type '%s' in frame %" PRIu64,
				column->name, nb_body_id(frame, bad), column->dtype, frame->number);
	}
}
