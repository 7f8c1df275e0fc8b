/* --transits: when bodies pass in front of the heaviest one of their system, between one frame and the next. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/filter/systems.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>

static void clear(struct stats *self)
{
	nb_free_systems(&self->transits.systems);
	nb_free_all(self->transits.before, self->transits.now);
}

static const double *read(const struct nb_frame *frame, enum nb_field field)
{
	return nb_require_f64(frame, field, &nb_space_host);
}

/* The bodies of the frame, those of a system one after the other, its heaviest one too. */
static struct passing *find_bodies(struct stats *self, struct nb_frame *frame, double time)
{
	struct nb_systems *systems = &self->transits.systems;
	const double *mass = read(frame, NB_MASS), *pos = read(frame, NB_POS), *vel = read(frame, NB_VEL);
	const double *acc = read(frame, NB_ACC), *times = nb_stats_times(frame);
	const uint64_t *id = nb_frame_field(frame, NB_ID) ? nb_require_ids(frame, &nb_space_host) : NULL;
	nb_free_systems(systems);
	nb_find_systems(frame, systems);
	struct passing *now = self->transits.now = nb_require_memory(
		frame, nb_alloc_zero(frame->rows[NB_PARTICLE], sizeof *now));
	for (size_t k = 0; k < systems->n; k++) {
		const size_t star = nb_stats_heaviest(systems, k, mass);
		for (size_t i = systems->first[k]; i < systems->first[k + 1]; i++) {
			const size_t row = systems->row[i];
			now[i].id = id ? id[row] : row;
			now[i].system = systems->number[k];
			now[i].time = times ? times[row] : time;
			for (size_t d = 0; d < 3; d++) {
				now[i].at.pos[d] = pos[3 * row + d] - pos[3 * star + d];
				now[i].at.vel[d] = vel[3 * row + d] - vel[3 * star + d];
				now[i].at.acc[d] = acc[3 * row + d] - acc[3 * star + d];
			}
		}
	}
	return now;
}

static void add_line(struct stats *self, const struct nb_names *names, const struct passing *body, double time,
	const struct nb_transit *t)
{
	struct nb_report *report = &self->report;
	if (self->transits.many)
		nb_report_integer(report, "system", 8, body->system);
	nb_report_integer(report, "id", 10, body->id);
	nb_report_integer(report, "transit", 8, body->count);
	nb_report_real(report, "time", time);
	nb_report_real(report, "distance", t->distance);
	nb_report_real(report, "speed", t->speed);
	nb_stats_add_name(self, names, body->id);
}

/* Whether the bodies are those of the frame before, at a later time: then they go on counting. */
static int go_on(const struct stats *self, const struct nb_frame *frame, struct passing *now, double time)
{
	const size_t n = frame->rows[NB_PARTICLE];
	int same = self->transits.before && self->transits.n == n && time > self->transits.time;
	for (size_t i = 0; i < n && same; i++) {
		same = self->transits.before[i].id == now[i].id && self->transits.before[i].system == now[i].system;
		now[i].count = self->transits.before[i].count;
	}
	for (size_t i = 0; i < n && !same; i++)
		now[i].count = 0;
	return same;
}

static void warn_of_turn(
	struct stats *self, const struct nb_frame *frame, const struct passing *from, const struct passing *to)
{
	const double *x = from->at.pos, *y = to->at.pos;
	if (self->transits.warned || !(x[0] * y[0] + x[1] * y[1] + x[2] * y[2] < 0))
		return;
	self->transits.warned = 1;
	nb_warn("the orbit of the body with id %" PRIu64
		" turns by more than a quarter from frame to frame at frame %" PRIu64
		", and transits may be missed or inexact (want states 20 times in a period, or more)",
		to->id, frame->number);
}

static void transits(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	const double time = nb_require_attribute(frame, "time", 0);
	struct passing *now = find_bodies(self, frame, time);
	struct nb_transit transit = {0};
	struct nb_names names;
	(void)run;
	nb_require_ok(nb_names_read(&names, nb_frame_attribute(frame, "names")), frame);
	if (!self->report.header_done) {
		self->transits.many = nb_frame_field(frame, NB_SYSTEM) != NULL;
		self->named = names.n > 0;
		add_line(self, &names, &(const struct passing){0}, time, &transit);
		nb_report_header(&self->report);
	}
	const int goes_on = go_on(self, frame, now, time);
	for (size_t i = 0; i < frame->rows[NB_PARTICLE] && goes_on; i++) {
		const struct passing *before = &self->transits.before[i];
		warn_of_turn(self, frame, before, &now[i]);
		const double after = now[i].time - before->time; /* 0: the system has ended */
		if (!(after > 0) || !nb_transit_find(&before->at, &now[i].at, after, self->transits.axis, &transit))
			continue;
		add_line(self, &names, &now[i], before->time + transit.time, &transit);
		now[i].count++;
		nb_report_row(&self->report);
	}
	nb_names_free(&names);
	nb_require_flushed();
	nb_free(self->transits.before);
	self->transits.before = now;
	self->transits.now = NULL;
	self->transits.n = frame->rows[NB_PARTICLE];
	self->transits.time = time;
}

const struct mode nb_stats_transits = {
	.option = "transits", .frame = transits, .clear = clear, .work = nb_stats_work_by_host};
