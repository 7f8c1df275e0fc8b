/* --light-cone: bodies where they cross the past light cone of an observer, between the frames of a run. */
#include "tools/nb-select/select.h"

#include "common/mem.h"
#include "common/parse.h"
#include "common/units.h"
#include "kernels/cosmology/cosmology.h"
#include "kernels/order/order.h"
#include "tools/filter/cosmology.h"
#include "tools/filter/require.h"
#include "tools/filter/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const double LIGHT = 299792458; /* m/s */

void nb_select_check_cone(struct nb_run *run, struct select *s)
{
	size_t n;
	const char *other = s->frames			  ? "frames"
			    : s->times			  ? "time"
			    : s->recover		  ? "recover"
			    : s->fields			  ? "fields"
			    : s->drop			  ? "drop"
			    : s->drop_table		  ? "drop-table"
			    : nb_select_touches_bodies(s) ? "where', '--ids', '--sample' or '--sort"
							  : NULL;
	if (nb_given(run, &s->light) && !s->cone)
		nb_die(NB_EXIT_USAGE, "option '--light' needs '--light-cone'");
	if (!s->cone)
		return;
	if (other)
		nb_die(NB_EXIT_USAGE, "option '--light-cone' with '--%s' (put another nb-select before or behind it)",
			other);
	if (nb_parse_f64_list(s->cone, 3, s->observer, &n) != NB_PARSE_OK || n != 3)
		nb_die(NB_EXIT_USAGE, "invalid light-cone '%s' (want the place of the observer, X,Y,Z)", s->cone);
}

/* In units of the velocities: the last word of units, as in "Mpc/h, 1e10 Msun/h, km/s". */
static double speed_of_light(const struct select *s, const struct nb_frame *frame)
{
	const char *units = nb_frame_attribute(frame, "units"), *word = units ? strrchr(units, ',') : NULL, *why;
	struct nb_unit_system system;
	char text[64];
	if (s->light > 0)
		return s->light;
	snprintf(text, sizeof text, "m,kg,%s", word ? word + 1 + strspn(word + 1, " ") : "");
	if (!word || nb_unit_system_parse(text, &system, &why) || !(system.velocity > 0))
		nb_die(NB_EXIT_FAILED,
			"units='%s' of frame %" PRIu64
			" has no velocity, and so there is no speed of light (give '--light')",
			units ? units : "", frame->number);
	return LIGHT / system.velocity;
}

/* For the bodies of the frame before, their rows in this one. */
static uint32_t *match(struct select *s, struct nb_frame *frame)
{
	struct nb_frame *before = &s->before;
	const size_t n = frame->rows[NB_PARTICLE], nbefore = before->rows[NB_PARTICLE];
	const int has_id = nb_frame_field(frame, NB_ID) != NULL;
	uint32_t *row = nb_require_memory(frame, nb_alloc(nbefore, sizeof *row));
	size_t missing = 0;
	if (n != nbefore || has_id != (nb_frame_field(before, NB_ID) != NULL))
		nb_die(NB_EXIT_FAILED, "frames %" PRIu64 " and %" PRIu64 " do not have the same bodies", before->number,
			frame->number);
	if (!has_id) {
		for (size_t i = 0; i < n; i++)
			row[i] = (uint32_t)i;
		return row;
	}
	const uint64_t *id = nb_require_ids(frame, &nb_space_host), *wanted = nb_require_ids(before, &nb_space_host);
	const int status = nb_ids_match(n, id, n, wanted, row, &missing);
	if (status == NB_EINVAL)
		nb_die(NB_EXIT_FAILED, "the body with id %" PRIu64 " of frame %" PRIu64 " is not in frame %" PRIu64,
			wanted[missing], before->number, frame->number);
	nb_require_ok(status, frame);
	return row;
}

static double *new_column(struct nb_frame *out, const char *name, uint32_t ncomp)
{
	return nb_require_memory(out,
		nb_column_write(nb_frame_add(out, name, NB_PARTICLE, "<f8", ncomp, "", 0), &nb_space_host, NB_WIRE));
}

/* The bodies at their crossings: mass, pos from the observer, vel, scale factor a, and body, the id that they had. */
static void fill(struct select *s, struct nb_frame *frame, const uint32_t *row, const struct nb_crossing *at,
	size_t count, struct nb_frame *out)
{
	const int has_id = nb_frame_field(frame, NB_ID) != NULL;
	const double *mass = nb_require_f64(&s->before, NB_MASS, &nb_space_host),
		     *v0 = nb_require_f64(&s->before, NB_VEL, &nb_space_host),
		     *v1 = nb_require_f64(frame, NB_VEL, &nb_space_host);
	const uint64_t *id = has_id ? nb_require_ids(&s->before, &nb_space_host) : NULL;
	out->rows[NB_PARTICLE] = count;
	double *m = new_column(out, "mass", 1), *x = new_column(out, "pos", 3), *v = new_column(out, "vel", 3),
	       *a = new_column(out, "a", 1);
	uint64_t *body = nb_require_memory(
		out, nb_column_write(nb_frame_add(out, "body", NB_PARTICLE, "<u8", 1, "", 0), &nb_space_host, NB_WIRE));
	for (size_t k = 0; k < count; k++) {
		const size_t i = at[k].body, j = row[i];
		m[k] = mass[i];
		a[k] = at[k].a;
		body[k] = id ? id[i] : i;
		for (size_t d = 0; d < 3; d++) {
			x[3 * k + d] = at[k].pos[d];
			v[3 * k + d] = v0[3 * i + d] + at[k].way * (v1[3 * j + d] - v0[3 * i + d]);
		}
	}
}

/* What remains of the attributes: those of the frame, without its box, as a cone has none. */
static void describe(struct nb_frame *out, const struct nb_frame *frame)
{
	nb_require_ok(nb_frame_copy_head(out, frame), frame);
	while (out->ncolumn)
		nb_frame_drop(out, out->column[0].name);
	nb_frame_drop_attribute(out, "box");
	nb_frame_drop_attribute(out, "key_cube");
	for (size_t t = 0; t < NB_NTABLE; t++)
		out->rows[t] = 0;
}

static void cross(
	struct nb_run *run, struct select *s, struct nb_frame *frame, const struct nb_cosmology *law, double a)
{
	struct nb_cone cone = {.box = nb_box_of(frame), .light = speed_of_light(s, frame)};
	struct nb_crossing *crossing;
	struct nb_frame out;
	size_t count;
	memcpy(cone.observer, s->observer, sizeof cone.observer);
	if (!(a > s->a) || nb_box_of(&s->before) != cone.box || memcmp(&s->law, law, sizeof *law) != 0)
		nb_die(NB_EXIT_FAILED,
			"frame %" PRIu64 " is not a later state of the universe of frame %" PRIu64
			" (want the frames of one run, the earliest first)",
			frame->number, s->before.number);
	if (s->a >= 1) /* after today */
		return;
	uint32_t *row = match(s, frame);
	const size_t n = frame->rows[NB_PARTICLE];
	const double *x = nb_require_f64(frame, NB_POS, &nb_space_host);
	double *x1 = nb_require_memory(frame, nb_alloc(n, 3 * sizeof *x1));
	for (size_t i = 0; i < n; i++)
		memcpy(x1 + 3 * i, x + 3 * (size_t)row[i], 3 * sizeof *x);
	const double *x0 = nb_require_f64(&s->before, NB_POS, &nb_space_host);
	const int status = nb_cone_cross(law, &cone, s->a, a, n, x0, x1, &crossing, &count);
	if (status == NB_ELIMIT)
		nb_die(NB_EXIT_FAILED,
			"the light cone reaches too many images of the box from the scale factor %g of frame %" PRIu64
			" on (want later frames)",
			s->a, s->before.number);
	nb_require_ok(status, frame);
	nb_frame_init(&out);
	describe(&out, frame);
	fill(s, frame, row, crossing, count, &out);
	nb_free_all(row, x1, crossing);
	nb_emit(run, &out);
	nb_frame_clear(&out);
}

void nb_select_cross(struct nb_run *run, struct select *s, struct nb_frame *frame)
{
	const struct nb_backend *backend;
	struct nb_cosmology law;
	char why[NB_BACKEND_WHY];
	nb_require_field(frame, NB_VEL);
	nb_require_field(frame, NB_MASS);
	if (nb_backend_choose("cpu", &backend, why))
		nb_die(NB_EXIT_FAILED, "backend cpu: %s", why);
	nb_require_inside(frame, backend);
	const double a = nb_require_cosmology(frame, "--light-cone", &law);
	if (s->has_before)
		cross(run, s, frame, &law, a);
	nb_frame_clear(&s->before);
	s->before = *frame;
	s->law = law;
	s->a = a;
	s->has_before = 1;
	nb_frame_init(frame);
}
