/* --radial-velocity: how fast the heaviest body of each system goes away from an observer on an axis. */
#include "tools/filter/require.h"
#include "tools/filter/systems.h"
#include "tools/nb-stats/stats.h"

static void clear(struct stats *self)
{
	nb_free_systems(&self->velocity.systems);
}

static void add_line(struct stats *self, const struct nb_frame *frame, const struct nb_names *names, double time,
	uint64_t system, uint64_t id, double velocity)
{
	struct nb_report *report = &self->report;
	nb_report_integer(report, "frame", 5, frame->number);
	nb_report_real(report, "time", time);
	if (self->velocity.many)
		nb_report_integer(report, "system", 8, system);
	nb_report_integer(report, "id", 10, id);
	nb_report_real(report, "velocity", velocity);
	nb_stats_add_name(self, names, id);
}

static void velocities(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	struct nb_systems *systems = &self->velocity.systems;
	const double *mass = nb_require_f64(frame, NB_MASS, &nb_space_host);
	const double *vel = nb_require_f64(frame, NB_VEL, &nb_space_host);
	const uint64_t *id = nb_frame_field(frame, NB_ID) ? nb_require_ids(frame, &nb_space_host) : NULL;
	const double time = nb_require_attribute(frame, "time", 0), *times = nb_stats_times(frame);
	struct nb_names names;
	(void)run;
	nb_free_systems(systems);
	nb_find_systems(frame, systems);
	nb_require_ok(nb_names_read(&names, nb_frame_attribute(frame, "names")), frame);
	if (!self->report.header_done) {
		self->velocity.many = nb_frame_field(frame, NB_SYSTEM) != NULL;
		self->named = names.n > 0;
		add_line(self, frame, &names, time, 0, 0, 0);
		nb_report_header(&self->report);
	}
	for (size_t k = 0; k < systems->n; k++) {
		if (systems->first[k] == systems->first[k + 1])
			continue;
		const size_t star = nb_stats_heaviest(systems, k, mass);
		add_line(self, frame, &names, times ? times[star] : time, systems->number[k], id ? id[star] : star,
			0 - vel[3 * star + (size_t)self->velocity.axis]);
		nb_report_row(&self->report);
	}
	nb_names_free(&names);
	nb_require_flushed();
}

const struct mode nb_stats_velocity = {
	.option = "radial-velocity", .frame = velocities, .clear = clear, .work = nb_stats_work_by_host};
