/* Energies, momenta and radii of each frame. */
#include "common/parse.h"
#include "tools/filter/plan.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <math.h>

enum { DIRECT_LIMIT = 65536 };

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

/* count numbers where the backend computes; release them there. */
static double *there(const struct nb_run *run, size_t count, const struct nb_frame *frame)
{
	const struct nb_space *space = run->backend->space;
	double *x = count <= SIZE_MAX / sizeof *x ? space->alloc(space, count * sizeof *x) : NULL;
	if (!x)
		nb_out_of_memory(frame);
	return x;
}

/* All particles against all: sum of m pot / 2. */
static double direct_epot(const struct nb_run *run, const struct stats *self, const struct nb_frame *frame)
{
	const struct nb_space *space = run->backend->space;
	const size_t n = frame->rows[NB_PARTICLE];
	struct nb_gravity gravity = {
		.n = n,
		.pos = nb_require_f64(frame, NB_POS, space),
		.mass = nb_require_f64(frame, NB_MASS, space),
		.eps = self->eps_given ? self->eps : nb_require_attribute(frame, "softening", 0),
		.G = nb_require_attribute(frame, "G", 1),
		.precision = NB_F64,
	};
	struct nb_gravity_count count = {0};
	double result = NAN;
	if (!(gravity.eps >= 0))
		nb_die(NB_EXIT_FAILED, "attribute softening=%g of frame %" PRIu64 " is negative", gravity.eps,
			frame->number);
	nb_verbose("frame %" PRIu64 ": potential energy by a direct sum, softening %g", frame->number, gravity.eps);
	gravity.acc = there(run, 3 * n, frame);
	gravity.pot = there(run, n, frame);
	int status = run->backend->gravity_direct(&gravity, &count);
	if (!status)
		status = run->backend->potential_energy(n, gravity.mass, gravity.pot, &result);
	space->release(space, gravity.acc);
	space->release(space, gravity.pot);
	nb_require_done(run, status, "potential energy of", frame);
	return result;
}

/* NaN if it cannot be computed. */
static double potential_energy(struct nb_run *run, struct stats *self, const struct nb_frame *frame)
{
	struct nb_column *pot = nb_frame_field(frame, NB_POT);
	const struct nb_space *space = run->backend->space;
	const size_t n = frame->rows[NB_PARTICLE];
	double result;
	if (self->epot == EPOT_NONE)
		return NAN;
	if (pot && self->epot == EPOT_AUTO && !self->eps_given) {
		nb_require_finite(frame, pot);
		nb_verbose("frame %" PRIu64 ": potential energy from field 'pot'", frame->number);
		const double *mass = nb_require_f64(frame, NB_MASS, space);
		int status = run->backend->potential_energy(n, mass, nb_require_f64(frame, NB_POT, space), &result);
		nb_require_done(run, status, "potential energy of", frame);
		return result;
	}
	if (n <= DIRECT_LIMIT || self->epot == EPOT_DIRECT)
		return direct_epot(run, self, frame);
	if (!self->measure.warned_of_epot++)
		nb_warn("potential energy absent: %s and %zu bodies are too many for a direct sum (%sgive '--epot "
			"direct')",
			pot ? "'--softening' excludes field 'pot'" : "no field 'pot'", n,
			pot ? "" : "put 'nb-force --potential' before, or ");
	return NAN;
}

/* Velocities at the time of the positions: where nb-step left half a kick to be done, acc does it on a copy, which the
 * caller releases.  NULL if they cannot be computed. */
static const double *velocities(
	const struct nb_run *run, struct stats *self, const struct nb_frame *frame, double **copy)
{
	const struct nb_space *space = run->backend->space;
	const size_t n = frame->rows[NB_PARTICLE];
	*copy = NULL;
	if (!nb_frame_field(frame, NB_VEL))
		return NULL;
	const double *vel = nb_require_f64(frame, NB_VEL, space);
	const double pending = nb_require_attribute(frame, "pending_kick", 0);
	if (pending == 0)
		return vel;
	if (!nb_frame_field(frame, NB_ACC)) {
		if (!self->measure.warned_of_velocities++)
			nb_warn("velocities lag behind positions, and there is no field 'acc' to complete the kick "
				"(put 'nb-force' before)");
		return NULL;
	}
	nb_require_finite(frame, nb_frame_field(frame, NB_ACC));
	const double *acc = nb_require_f64(frame, NB_ACC, space);
	*copy = there(run, 3 * n, frame);
	int status = space->copy(space, *copy, vel, 3 * n * sizeof *vel);
	if (!status)
		status = run->backend->kick(n, *copy, acc, pending);
	if (status)
		space->release(space, *copy);
	nb_require_done(run, status, "kick of", frame);
	return *copy;
}

static struct nb_moments moments(const struct nb_run *run, struct stats *self, const struct nb_frame *frame)
{
	const struct nb_space *space = run->backend->space;
	struct nb_moments m;
	double *copy;
	const double *mass = nb_require_f64(frame, NB_MASS, space), *pos = nb_require_f64(frame, NB_POS, space);
	const double *vel = velocities(run, self, frame, &copy);
	int status = run->backend->moments(frame->rows[NB_PARTICLE], mass, pos, vel, &m);
	if (copy)
		space->release(space, copy);
	nb_require_done(run, status, "moments of", frame);
	return m;
}

/* Of the percentages asked for, about the centre of mass. */
static void lagrangian_radii(const struct nb_run *run, const struct stats *self, const struct nb_frame *frame,
	const struct nb_moments *m, double *radius)
{
	const struct nb_space *space = run->backend->space;
	const double origin[3] = {0, 0, 0}, *centre = m->mass > 0 ? m->com : origin;
	const double *mass = nb_require_f64(frame, NB_MASS, space), *pos = nb_require_f64(frame, NB_POS, space);
	int status = run->backend->lagrangian_radii(
		frame->rows[NB_PARTICLE], mass, pos, centre, self->measure.nradius, self->measure.fraction, radius);
	nb_require_done(run, status, "radii of", frame);
}

/* ---- a line ------------------------------------------------------------------------------------- */

static void add_vector(struct nb_report *report, const char *const name[3], const double *x)
{
	for (int k = 0; k < 3; k++)
		nb_report_detail(report, name[k], x[k]);
}

static void add_radii(const struct stats *self, struct nb_report *report, const double *radius)
{
	for (size_t i = 0; i < self->measure.nradius; i++) {
		char name[NB_F64_TEXT + 1] = "r";
		nb_format_f64(self->measure.percent[i], name + 1);
		nb_report_real(report, name, radius[i]);
	}
}

static void measure(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	static const char *const p[3] = {"px", "py", "pz"}, *const l[3] = {"lx", "ly", "lz"};
	static const char *const com[3] = {"comx", "comy", "comz"};
	const size_t n = frame->rows[NB_PARTICLE];
	nb_require_valid(frame);
	const struct nb_moments m = moments(run, self, frame);
	const double w = potential_energy(run, self, frame), etot = m.ekin + w;
	if (!self->measure.started++)
		self->measure.first_etot = etot;
	const double first = self->measure.first_etot;
	double radius[MAX_RADII];
	lagrangian_radii(run, self, frame, &m, radius);

	struct nb_report *report = &self->report;
	const double time = nb_require_attribute(frame, "time", 0);
	nb_report_integer(report, "frame", 5, frame->number);
	nb_report_real(report, "time", time);
	nb_report_real(report, "n", (double)n);
	nb_report_detail(report, "mass", m.mass);
	nb_report_real(report, "ekin", m.ekin);
	nb_report_real(report, "epot", w);
	nb_report_real(report, "etot", etot);
	nb_report_real(report, "virial", w != 0 ? m.ekin / fabs(w) : NAN);
	nb_report_real(report, "drift", first != 0 ? (etot - first) / fabs(first) : NAN);
	add_vector(report, p, m.momentum);
	add_vector(report, l, m.angular);
	add_vector(report, com, m.com);
	add_radii(self, report, radius);
	nb_report_detail(report, "vmax", m.speed_max);
	nb_report_line(report);
}

static void work(struct stats *self, struct nb_plan *plan)
{
	const int from_pot = plan->pot && self->epot == EPOT_AUTO && !self->eps_given;
	const int sums = self->epot == EPOT_DIRECT || (self->epot == EPOT_AUTO && plan->n <= DIRECT_LIMIT);
	nb_plan_add(plan, NB_WORK_LOOK, plan->n);
	if (sums && !from_pot)
		nb_plan_add(plan, NB_WORK_DIRECT_F64, plan->n * plan->n * nb_cost_outputs(1, 0));
}

const struct mode nb_stats_measure = {.begin = begin, .frame = measure, .work = work};
