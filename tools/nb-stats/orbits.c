/* --orbits: Keplerian elements of each body about one of them. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <math.h>

#define DEGREES (360 / 6.28318530717958647692)

static void clear(struct stats *self)
{
	nb_stats_release(self);
	nb_free(self->orbit);
}

/* The first of the heaviest, or the one that --orbits names; of Jacobi elements the first body has none, of those about
 * the centre of mass all have some. */
static size_t central_body(const struct stats *self, const struct nb_frame *frame)
{
	const struct group *all = &self->bodies.all;
	size_t heaviest = 0;
	if (self->orbit_of.kind == BODIES_BEFORE)
		return 0;
	if (self->orbit_of.kind == BODIES_ALL)
		return SIZE_MAX;
	if (self->orbit_of.kind == BODY_ID)
		return nb_stats_row(frame, self->orbit_of.id, "orbits");
	for (size_t i = 1; i < all->n; i++)
		heaviest = all->mass[i] > all->mass[heaviest] ? i : heaviest;
	return heaviest;
}

static void add_orbit(struct stats *self, const struct nb_frame *frame, const struct nb_names *names, double time,
	uint64_t id, const struct nb_orbit *o)
{
	struct nb_report *report = &self->report;
	nb_report_integer(report, "frame", 5, frame->number);
	nb_report_real(report, "time", time);
	nb_stats_add_each(self);
	nb_report_integer(report, "id", 10, id);
	nb_report_real(report, "a", o->a);
	nb_report_real(report, "e", o->e);
	nb_report_real(report, "i", o->i * DEGREES);
	nb_report_real(report, "Omega", o->Omega * DEGREES);
	nb_report_real(report, "omega", o->omega * DEGREES);
	nb_report_real(report, "M", o->M * DEGREES);
	nb_report_real(report, "period", o->period);
	nb_report_real(report, "q", o->q);
	nb_stats_add_name(self, names, id);
}

static void orbits(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	struct nb_report *report = &self->report;
	nb_require_field(frame, NB_VEL);
	nb_stats_load(run, self, frame, nb_stats_host());
	const struct group *all = &self->bodies.all;
	if (!all->vel)
		nb_die(NB_EXIT_FAILED, "no velocities in frame %" PRIu64 " for orbits", frame->number);
	const double G = nb_require_attribute(frame, "G", 1), time = nb_require_attribute(frame, "time", 0);
	const size_t about = central_body(self, frame);
	const uint64_t *id = nb_require_ids(frame, &nb_space_host);
	nb_free(self->orbit);
	self->orbit = nb_require_memory(frame, nb_alloc(all->n, sizeof *self->orbit));
	if (self->orbit_of.kind == BODIES_BEFORE)
		nb_orbits_jacobi(all->n, all->mass, all->pos, all->vel, G, self->orbit);
	else if (self->orbit_of.kind == BODIES_ALL)
		nb_orbits_barycentric(all->n, all->mass, all->pos, all->vel, G, self->orbit);
	else
		nb_orbits(all->n, all->mass, all->pos, all->vel, about, G, self->orbit);

	const struct nb_orbit none = {.a = NAN};
	struct nb_names names;
	nb_require_ok(nb_names_read(&names, nb_frame_attribute(frame, "names")), frame);
	if (!report->header_done) { /* also where there is no other body */
		self->named = names.n > 0;
		add_orbit(self, frame, &names, time, 0, &none);
		nb_report_header(report);
	}
	for (size_t i = 0; i < all->n; i++)
		if (i != about) {
			add_orbit(self, frame, &names, time, id ? id[i] : i, &self->orbit[i]);
			nb_report_row(report);
		}
	nb_names_free(&names);
	nb_require_flushed();
	nb_stats_release(self);
}

const struct mode nb_stats_orbits = {
	.option = "orbits", .frame = orbits, .clear = clear, .work = nb_stats_work_by_host};
