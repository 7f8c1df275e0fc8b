/* nb-extra: relativity, oblateness, tides, radiation and damping, added to the forces of each frame. */
#include "kernels/small/small.h"
#include "tools/filter/filter.h"
#include "tools/filter/require.h"
#include "tools/filter/systems.h"

#include "common/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = 12 };

struct extra {
	struct nb_extra forces;
	char *text; /* of the forces, with single blanks */
	struct nb_systems systems;
	double *own; /* of the bodies of one, NUMBERS each; */
	uint64_t *id;
	int warned;
};

static void list_forces(void)
{
	printf("forces, each with body=:\n");
	for (int k = 0; k < NB_NEXTRA; k++) {
		const struct nb_term_kind *info = &nb_extra_info[k];
		printf("  %-12s %s\n%30s%s\n", info->name, info->keys, "", info->formula);
	}
}

static void check(struct nb_run *run, void *self)
{
	struct extra *extra = self;
	char why[NB_TERM_WHY];
	if (run->noperand == 0)
		nb_die(NB_EXIT_USAGE, "no force given (want such as 'gr-potential c=173.14'; 'help' lists them)");
	const char *text = run->operand[0];
	if (strcmp(text, "help") == 0) {
		list_forces();
		nb_leave(run);
	}
	const int status = nb_extra_parse(text, &extra->forces, why);
	if (status && access(text, R_OK) == 0)
		nb_die(NB_EXIT_USAGE, "operand '%s' is no force (want such as 'gr-potential c=173.14' before files)",
			text);
	if (status && run->from.n > 0 && strchr(run->from.path[0], '='))
		nb_die(NB_EXIT_USAGE, "%s (want quotes: '%s %s')", why, text, run->from.path[0]);
	if (status)
		nb_die(NB_EXIT_USAGE, "%s", why);
	extra->text = nb_require_memory(NULL, nb_terms_squeeze(text));
}

static void clear(void *self)
{
	struct extra *extra = self;
	free(extra->text);
	nb_free_systems(&extra->systems);
	nb_free_all(extra->own, extra->id);
}

static void require_plane(const struct extra *extra, const struct nb_frame *frame)
{
	if (nb_require_dim(frame) != 2)
		return;
	for (int k = 0; k < extra->forces.n; k++)
		if (fmod(extra->forces.term[k].value[NB_EXTRA_KEY_INC], 180) != 0)
			nb_die(NB_EXIT_FAILED,
				"force %s would pull bodies out of the plane of frame %" PRIu64
				", which has 2 dimensions (want no inc)",
				nb_extra_info[extra->forces.term[k].kind].name, frame->number);
}

static void find_bodies(
	struct extra *extra, const struct nb_frame *frame, size_t n, const double *mass, const uint64_t *id)
{
	char why[NB_TERM_WHY];
	if (n > 0 && nb_extra_find(&extra->forces, n, mass, id, why))
		nb_die(NB_EXIT_FAILED, "%s in %sframe %" PRIu64, why,
			nb_frame_field(frame, NB_SYSTEM) ? "a system of " : "", frame->number);
}

static void warn_inside(struct extra *extra, const struct nb_frame *frame, size_t n, const double *pos)
{
	int k;
	size_t row;
	if (extra->warned || !nb_extra_is_inside(&extra->forces, n, pos, &k, &row))
		return;
	extra->warned = 1;
	nb_warn("body %" PRIu64 " is inside the radius r=%g of force %s in frame %" PRIu64
		", where its formula means nothing (further bodies are not reported)",
		extra->id[row], extra->forces.term[k].value[NB_EXTRA_KEY_R],
		nb_extra_info[extra->forces.term[k].kind].name, frame->number);
}

static double *update(const struct nb_frame *frame, enum nb_field field)
{
	(void)nb_require_f64(frame, field, &nb_space_host);
	return nb_require_memory(frame, nb_column_update(nb_frame_field(frame, field), &nb_space_host, NB_AS_F64));
}

static void require_in_range(struct nb_frame *frame, enum nb_field field)
{
	struct nb_column *column = nb_frame_field(frame, field);
	const size_t bad = column ? nb_column_first_bad(column, NB_BAD_NONFINITE) : 0;
	if (bad == SIZE_MAX)
		nb_out_of_memory(frame);
	if (column && bad < column->rows)
		nb_die(NB_EXIT_FAILED,
			"field '%s' of the body with id %" PRIu64 " overflows in frame %" PRIu64
			" (are the units extreme?)",
			column->name, nb_body_id(frame, bad), frame->number);
}

/* Says in the frame what forces it has. */
static void note(const struct extra *extra, struct nb_frame *frame)
{
	const char *known = nb_frame_attribute(frame, "extra");
	const size_t size = (known ? strlen(known) : 0) + strlen(extra->text) + 3;
	char *text = nb_require_memory(frame, malloc(size));
	snprintf(text, size, "%s%s%s", known ? known : "", known ? "; " : "", extra->text);
	nb_set_attribute(frame, "extra", text);
	free(text);
	if (nb_extra_needs_velocities(&extra->forces)) /* they have no energy */
		nb_set_attribute(frame, "field_varies", "1");
	nb_drop_run_attributes(frame);
}

/* Each system has its own centre: a frame without systems is one. */
static void add_to_systems(struct extra *extra, struct nb_frame *frame, int moving)
{
	const struct nb_systems *systems = &extra->systems;
	const size_t most = systems->largest;
	const double G = nb_require_attribute(frame, "G", 1), *mass = nb_require_f64(frame, NB_MASS, &nb_space_host);
	const uint64_t *id = nb_frame_field(frame, NB_ID) ? nb_require_ids(frame, &nb_space_host) : NULL;
	double *acc = update(frame, NB_ACC), *pot = nb_frame_field(frame, NB_POT) ? update(frame, NB_POT) : NULL;
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host);
	const double *vel = moving ? nb_require_f64(frame, NB_VEL, &nb_space_host) : NULL;
	extra->own = nb_require_memory(frame, nb_alloc(most, NUMBERS * sizeof *extra->own));
	extra->id = nb_require_memory(frame, nb_alloc(most, sizeof *extra->id));
	double *x = extra->own, *v = x + 3 * most, *a = v + 3 * most, *m = a + 3 * most, *gm = m + most, *p = gm + most;
	for (size_t k = 0; k < systems->n; k++) {
		const uint32_t *row = systems->row + systems->first[k];
		const size_t n = systems->first[k + 1] - systems->first[k];
		for (size_t i = 0; i < n; i++) {
			const size_t r = row[i];
			memcpy(x + 3 * i, pos + 3 * r, 3 * sizeof *x);
			memcpy(a + 3 * i, acc + 3 * r, 3 * sizeof *a);
			if (vel)
				memcpy(v + 3 * i, vel + 3 * r, 3 * sizeof *v);
			m[i] = mass[r];
			gm[i] = G * mass[r];
			p[i] = pot ? pot[r] : 0;
			extra->id[i] = id ? id[r] : r;
		}
		find_bodies(extra, frame, n, m, extra->id);
		warn_inside(extra, frame, n, x);
		nb_extra_add(&extra->forces, n, gm, x, vel ? v : NULL, a, pot ? p : NULL);
		for (size_t i = 0; i < n; i++) {
			memcpy(acc + 3 * (size_t)row[i], a + 3 * i, 3 * sizeof *a);
			if (pot)
				pot[row[i]] = p[i];
		}
	}
	nb_free_all(extra->own, extra->id);
	extra->own = NULL;
	extra->id = NULL;
}

static void add_forces(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct extra *extra = self;
	const int moving = nb_extra_needs_velocities(&extra->forces);
	(void)run;
	nb_require_valid(frame);
	require_plane(extra, frame);
	nb_require_field(frame, NB_POS);
	nb_require_field(frame, NB_MASS);
	if (moving)
		nb_require_field(frame, NB_VEL);
	if (!nb_frame_field(frame, NB_ACC))
		nb_die(NB_EXIT_FAILED, "field 'acc' missing in frame %" PRIu64 " (put 'nb-force' before)",
			frame->number);
	if (nb_frame_field(frame, NB_JERK))
		nb_die(NB_EXIT_FAILED,
			"frame %" PRIu64 " has field 'jerk', to which nb-extra cannot add (want nb-force without "
			"--jerk; in nb-step ias15, or chin for forces without v)",
			frame->number);
	nb_find_systems(frame, &extra->systems);
	add_to_systems(extra, frame, moving);
	nb_free_systems(&extra->systems);
	require_in_range(frame, NB_ACC);
	require_in_range(frame, NB_POT);
	note(extra, frame);
}

const struct nb_tool nb_tool_extra = {
	.name = "nb-extra",
	.about = "add relativity, oblateness, tides, radiation or damping to the forces of each frame",
	.operands = "FORCES [FILE ...]",
	.max_operands = 1,
	.files = 1,
	.common = NB_COMMON_HISTORY,
	.footer = "FORCES is NAME KEY=VALUE ..., several divided by ';': 'gr-potential c=173.14; oblate j2=2e-7 "
		  "r=0.00465'.\n",
	.more_help = list_forces,
	.size = sizeof(struct extra),
	.streams = NB_READS | NB_WRITES,
	.obeys_systems = 1,
	.check = check,
	.frame = add_forces,
	.clear = clear,
};
