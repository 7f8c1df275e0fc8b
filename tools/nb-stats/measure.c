/* Energies, momenta, radii, shapes and bound masses of each frame, or of the species in it. */
#include "common/mem.h"
#include "common/parse.h"
#include "tools/filter/cosmology.h"
#include "tools/filter/plan.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void begin(struct nb_run *run, struct stats *self)
{
	const char *list = self->lagrangian;
	const char *want = "percentages > 0 and <= 100, each once, separated by commas";
	double *percent = self->measure.percent;
	size_t n;
	(void)run;
	if (nb_parse_f64_list(list, MAX_RADII, percent, &n) != NB_PARSE_OK)
		nb_die(NB_EXIT_USAGE, "invalid lagrangian '%s' (want at most %d %s)", list, MAX_RADII, want);
	for (size_t i = 0; i < n; i++) {
		int good = percent[i] > 0 && percent[i] <= 100;
		for (size_t k = 0; k < i; k++)
			good &= percent[k] != percent[i];
		if (!good)
			nb_die(NB_EXIT_USAGE, "invalid lagrangian '%s' (want %s)", list, want);
		self->measure.fraction[i] = percent[i] / 100;
	}
	self->measure.nradius = n;
}

/* ---- what is looked at where it is -------------------------------------------------------------- */

static double half_sum(
	const struct nb_run *run, const struct group *group, const double *pot, const struct nb_frame *frame)
{
	double result;
	int status = run->backend->potential_energy(group->n, group->mass, pot, &result);
	nb_require_done(run, status, "potential energy of", frame);
	return result;
}

/* Of pairs, half for each of the two, and of a field, all of it.  NaN if there are no potentials. */
static double potential_energy(
	const struct nb_run *run, const struct stats *self, const struct group *group, const struct nb_frame *frame)
{
	if (!group->pot)
		return NAN;
	const double of_pot = half_sum(run, group, group->pot, frame);
	if (!group->pot_field)
		return of_pot;
	return of_pot + (self->bodies.pot_has_field ? 1 : 2) * half_sum(run, group, group->pot_field, frame);
}

static struct nb_moments moments_of(
	const struct nb_run *run, struct stats *self, const struct group *group, const struct nb_frame *frame)
{
	struct nb_moments m;
	int status = run->backend->moments(group->n, group->mass, group->pos, group->vel, &m);
	nb_require_done(run, status, "moments of", frame);
	const double *spin = group->spin ? nb_stats_here(self, group->spin, 3 * group->n, frame) : NULL;
	for (size_t k = 0; spin && k < 3; k++)
		m.angular[k] += nb_sum_column(group->n, spin, 3, k);
	return m;
}

/* A mass of 1 for each body of the frame, where the backend computes. */
static const double *same_masses(const struct nb_run *run, struct stats *self, const struct nb_frame *frame)
{
	const struct nb_space *space = run->backend->space;
	const size_t n = self->bodies.all.n;
	double *there = nb_stats_there(self, n, frame), *one = nb_alloc(n, sizeof *one);
	if (!one)
		nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, frame->number);
	for (size_t i = 0; i < n; i++)
		one[i] = 1;
	int status = space->from_host(space, there, one, n * sizeof *one);
	nb_free(one);
	if (status)
		nb_out_of_memory(frame);
	return there;
}

static void lagrangian_radii(const struct nb_run *run, const struct stats *self, const struct group *group,
	const double *weight, const struct nb_frame *frame, const double centre[3], double *radius)
{
	int status = run->backend->lagrangian_radii(group->n, weight ? weight : group->mass, group->pos, centre,
		self->measure.nradius, self->measure.fraction, radius);
	nb_require_done(run, status, "radii of", frame);
}

/* ---- a line ------------------------------------------------------------------------------------- */

static void add_vector(struct nb_report *report, const char *const name[3], const double *x)
{
	for (int k = 0; k < 3; k++)
		nb_report_detail(report, name[k], x[k]);
}

static void add_shape(struct nb_run *run, struct stats *self, const struct group *group, const struct nb_frame *frame,
	const double centre[3])
{
	static const char *const major[3] = {"majorx", "majory", "majorz"}, *const minor[3] = {
										    "minorx", "minory", "minorz"};
	struct nb_shape shape;
	const double *mass = nb_stats_here(self, group->mass, group->n, frame);
	const double *pos = nb_stats_here(self, group->pos, 3 * group->n, frame);
	int status = nb_shape_of(group->n, mass, pos, centre, nb_require_dim(frame), self->inner, self->outer,
		self->shape == SHAPE_REDUCED, &shape);
	nb_require_done(run, status, "shape of", frame);
	if (!shape.settled && !self->measure.warned_of_shape++)
		nb_warn("no shape in frame %" PRIu64 ": ellipsoids do not settle (too few bodies, or of the same "
			"density everywhere?)",
			frame->number);
	nb_report_real(&self->report, "b_over_a", shape.b_over_a);
	nb_report_real(&self->report, "c_over_a", shape.c_over_a);
	nb_report_detail(&self->report, "nshape", (double)shape.n);
	add_vector(&self->report, major, shape.axis[0]);
	add_vector(&self->report, minor, shape.axis[2]);
}

static void add_fit(struct nb_run *run, struct stats *self, const struct group *group, const struct nb_frame *frame,
	const double centre[3])
{
	struct nb_nfw fit;
	const double *mass = nb_stats_here(self, group->mass, group->n, frame);
	const double *pos = nb_stats_here(self, group->pos, 3 * group->n, frame);
	if (nb_require_dim(frame) == 2)
		nb_die(NB_EXIT_FAILED, "option '--nfw' is for three dimensions, and frame %" PRIu64 " has two",
			frame->number);
	nb_require_done(
		run, nb_nfw_fit(group->n, mass, pos, centre, self->inner, self->outer, &fit), "profile of", frame);
	nb_report_real(&self->report, "nfw_rs", fit.rs);
	nb_report_real(&self->report, "nfw_rs_error", fit.rs_error);
	nb_report_detail(&self->report, "nfw_rho", fit.rho);
	nb_report_detail(&self->report, "nfw_rho_error", fit.rho_error);
	nb_report_detail(&self->report, "nfw_n", (double)fit.n);
}

/* The core of all bodies, and the angular momentum of these about its centre. */
static void add_core(struct stats *self, const struct nb_moments *m, const struct nb_centre *centre)
{
	static const char *const l[3] = {"lcx", "lcy", "lcz"};
	double about[3];
	for (int k = 0; k < 3; k++) {
		const int i = (k + 1) % 3, j = (k + 2) % 3;
		const double *c = centre->pos, *u = centre->vel, *p = m->momentum;
		about[k] = m->angular[k] - (c[i] * p[j] - c[j] * p[i]) -
			   m->mass * ((m->com[i] - c[i]) * u[j] - (m->com[j] - c[j]) * u[i]);
	}
	nb_report_real(&self->report, "rcore", centre->core);
	add_vector(&self->report, l, about);
}

/* Of what the lines of a frame have in common. */
struct frame_measures {
	struct nb_moments moments; /* of all bodies */
	struct nb_centre centre;
	const double *weight; /* of Lagrangian radii, NULL: masses */
};

/* Energy that drift is relative to: the first of the run, where nb-step has left it, else that of the first frame here,
 * for which it is NaN.  A frame whose time does not go on in the direction of those before it begins another run. */
static double first_energy(struct stats *self, const struct nb_frame *frame, double time, double etot)
{
	const double step = time - self->measure.last_time, way = self->measure.way;
	const int begins = !self->measure.started++ || !(step * (way != 0 ? way : step) > 0);
	const double first = begins ? NAN : self->measure.first_etot;
	self->measure.last_time = time;
	self->measure.way = begins ? 0 : step;
	if (begins)
		self->measure.first_etot = etot;
	if (self->eps_given || self->epot == EPOT_DIRECT) /* energies of another law, or of other accuracy */
		return first;
	return nb_require_attribute(frame, "etot0", first);
}

/* How far the energy is off, as a fraction of that of the first frame.  In an expanding universe it is what nb-step
 * says of Layzer's and Irvine's equation: a (T + W) and the integral of T da add up to what they were. */
static double find_drift(struct stats *self, const struct nb_frame *frame, double time, double ekin, double epot)
{
	const double first = first_energy(self, frame, time, ekin + epot);
	if (!nb_is_cosmological(frame))
		return first != 0 ? (ekin + epot - first) / fabs(first) : NAN;
	const double begun = nb_require_attribute(frame, "etot0", NAN);
	const double integral = nb_require_attribute(frame, "ekin_da", NAN), a = nb_scale_factor(frame);
	return (a * (ekin + epot) + integral - begun) / (a * (ekin + fabs(epot)));
}

/* What nb-force --audit measured, in every line if it is in the first. */
static void add_errors(struct stats *self, const struct nb_frame *frame)
{
	static const char *const names[] = {
		"error_p50", "error_p99", "error_p9999", "error_max", "error_rms", "error_bodies"};
	if (self->measure.started == 1)
		self->measure.audited = nb_frame_attribute(frame, "error_p99") != NULL;
	for (size_t k = 0; k < sizeof names / sizeof *names && self->measure.audited; k++) {
		const double x = nb_require_attribute(frame, names[k], NAN);
		if (strcmp(names[k], "error_p99") == 0)
			nb_report_real(&self->report, names[k], x);
		else
			nb_report_detail(&self->report, names[k], x);
	}
}

static void measure_group(struct nb_run *run, struct stats *self, const struct group *group,
	const struct nb_frame *frame, const struct frame_measures *common)
{
	static const char *const p[3] = {"px", "py", "pz"}, *const l[3] = {"lx", "ly", "lz"};
	static const char *const com[3] = {"comx", "comy", "comz"};
	const int parted = self->bodies.row != NULL;
	static const double none[3] = {NAN, NAN, NAN};
	const struct nb_moments m = parted ? moments_of(run, self, group, frame) : common->moments;
	const double w = potential_energy(run, self, group, frame) / nb_scale_factor(frame), etot = m.ekin + w;
	double radius[MAX_RADII];
	lagrangian_radii(run, self, group, common->weight, frame, common->centre.pos, radius);

	struct nb_report *report = &self->report;
	const double time = nb_require_attribute(frame, "time", 0);
	nb_report_integer(report, "frame", 5, frame->number);
	nb_report_real(report, "time", time);
	nb_stats_add_each(self);
	if (group->species >= 0)
		nb_report_integer(report, "species", 7, (uint64_t)group->species);
	nb_report_real(report, "n", (double)group->n);
	nb_report_detail(report, "mass", m.mass);
	nb_report_real(report, "ekin", m.ekin);
	nb_report_real(report, "epot", w);
	nb_report_real(report, "etot", etot);
	if (!parted) { /* what is true of a system, not of a part of one */
		nb_report_real(report, "virial", w != 0 && !self->boxed ? m.ekin / fabs(w) : NAN);
		nb_report_real(report, "drift", find_drift(self, frame, time, m.ekin, w));
	}
	add_vector(report, p, m.momentum);
	add_vector(report, l, self->boxed ? none : m.angular); /* there is none where space is periodic */
	add_vector(report, com, m.com);
	nb_stats_add_radii(self, radius, "");
	if (self->centre.kind == CENTRE_DENSITY)
		add_core(self, &m, &common->centre);
	nb_report_detail(report, "vmax", m.speed_max);
	if (!parted)
		add_errors(self, frame);
	if (self->shape_given)
		add_shape(run, self, group, frame, common->centre.pos);
	if (self->nfw)
		add_fit(run, self, group, frame, common->centre.pos);
	if (self->bound)
		nb_stats_add_bound(run, self, group, frame, &common->centre);
}

static void measure(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	struct frame_measures common = {.weight = NULL};
	nb_stats_load(run, self, frame, run->backend);
	common.moments = moments_of(run, self, &self->bodies.all, frame);
	nb_stats_potentials(run, self, frame);
	common.centre = nb_stats_centre(run, self, frame, &common.moments);
	if (self->by_number)
		common.weight = same_masses(run, self, frame);
	if (self->bound)
		nb_stats_find_bound(run, self, frame, &common.centre);
	nb_stats_divide(run, self, frame);
	if (self->bodies.ngroup == 0 && !self->report.header_done) {
		const struct group none = {.mass = self->bodies.all.mass, .pos = self->bodies.all.pos};
		measure_group(run, self, &none, frame, &common);
		nb_report_header(&self->report);
	}
	for (size_t g = 0; g < self->bodies.ngroup; g++) {
		measure_group(run, self, &self->bodies.group[g], frame, &common);
		nb_report_line(&self->report);
	}
	nb_stats_release(self);
}

static void clear(struct stats *self)
{
	nb_stats_release(self);
	nb_free_all(self->measure.bound_bodies, self->measure.own_pot);
}

static void work(struct stats *self, struct nb_plan *plan)
{
	nb_plan_add(plan, NB_WORK_LOOK, plan->n);
	nb_stats_potentials_work(self, plan);
}

const struct mode nb_stats_measure = {.begin = begin, .frame = measure, .work = work, .clear = clear};
