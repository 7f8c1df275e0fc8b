/* nb-stats --bound: which bodies are bound to each other, and what they amount to. */
#include "common/mem.h"
#include "tools/filter/cosmology.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <math.h>

/* Potentials that the bodies give each other, on the host. */
static const double *own_potentials(struct stats *self, const struct nb_frame *frame)
{
	const struct group *all = &self->bodies.all;
	const double *pot = nb_stats_here(self, all->pot, all->n, frame);
	if (!self->bodies.pot_has_field)
		return pot;
	const double *of_field = nb_stats_here(self, all->pot_field, all->n, frame);
	nb_free(self->measure.own_pot);
	self->measure.own_pot = nb_alloc(all->n, sizeof *self->measure.own_pot);
	if (!self->measure.own_pot)
		nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, frame->number);
	for (size_t i = 0; i < all->n; i++)
		self->measure.own_pot[i] = pot[i] - of_field[i];
	return self->measure.own_pot;
}

void nb_stats_find_bound(
	struct nb_run *run, struct stats *self, const struct nb_frame *frame, const struct nb_centre *centre)
{
	const struct group *all = &self->bodies.all;
	double u[3];
	if (nb_is_cosmological(frame))
		nb_die(NB_EXIT_FAILED,
			"option '--bound' leaves out the expansion of space, and frame %" PRIu64
			" is cosmological (want 'nb-groups --bound')",
			frame->number);
	nb_free(self->measure.bound_bodies);
	self->measure.bound_bodies = NULL;
	if (!all->vel || !all->pot)
		return;
	self->measure.bound_bodies = nb_alloc(all->n, 1);
	if (!self->measure.bound_bodies)
		nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, frame->number);
	const double *mass = nb_stats_here(self, all->mass, all->n, frame);
	const double *vel = nb_stats_here(self, all->vel, 3 * all->n, frame);
	self->measure.mutual_pot = own_potentials(self, frame);
	for (int k = 0; k < 3; k++)
		u[k] = isfinite(centre->vel[k]) ? centre->vel[k] : 0;
	nb_require_done(run,
		nb_bound_bodies(all->n, mass, vel, self->measure.mutual_pot, u, self->measure.bound_bodies),
		"bound bodies of", frame);
}

static double ratio(double ekin, double other)
{
	return other != 0 ? ekin / fabs(other) : NAN;
}

/* The same weights as for the radii of all bodies, but 0 for those that are not marked: NaN everywhere where there are
 * none. */
static void radii_of_marked(const struct nb_run *run, struct stats *self, const struct nb_frame *frame,
	const struct nb_centre *centre, double *radius)
{
	const struct group *all = &self->bodies.all;
	const double *mass = nb_stats_here(self, all->mass, all->n, frame);
	const double *pos = nb_stats_here(self, all->pos, 3 * all->n, frame);
	double *weight = nb_alloc_zero(all->n, sizeof *weight);
	for (size_t i = 0; i < all->n && weight && self->measure.bound_bodies; i++)
		weight[i] = self->measure.bound_bodies[i] ? self->by_number ? 1 : mass[i] : 0;
	int status = weight ? nb_lagrangian_radii_cpu(all->n, weight, pos, centre->pos, self->measure.nradius,
				      self->measure.fraction, radius)
			    : NB_ENOMEM;
	nb_free(weight);
	nb_require_done(run, status, "radii of", frame);
}

/* Energies, virial ratios and radii of the bound bodies of a frame. */
static void add_system(
	struct nb_run *run, struct stats *self, const struct nb_frame *frame, const struct nb_centre *centre)
{
	const struct group *all = &self->bodies.all;
	struct nb_report *report = &self->report;
	struct nb_bound_energies every, bound = {NAN, NAN, NAN, NAN, NAN};
	double radius[MAX_RADII];
	const double *mass = nb_stats_here(self, all->mass, all->n, frame);
	const double *pos = nb_stats_here(self, all->pos, 3 * all->n, frame);
	const double *vel = nb_stats_here(self, all->vel, 3 * all->n, frame);
	const double *acc = nb_frame_field(frame, NB_ACC) ? nb_require_f64(frame, NB_ACC, &nb_space_host) : NULL;
	int status = nb_bound_find_energies(all->n, mass, pos, vel, NULL, acc, centre, NULL, &every);
	if (!status && self->measure.bound_bodies)
		status = nb_bound_find_energies(all->n, mass, pos, vel, self->measure.mutual_pot, acc, centre,
			self->measure.bound_bodies, &bound);
	nb_require_done(run, status, "energies of", frame);
	radii_of_marked(run, self, frame, centre, radius);
	nb_report_detail(report, "ekin_bound", bound.ekin);
	nb_report_detail(report, "epot_bound", bound.epot);
	nb_report_real(report, "virial_bound", ratio(bound.ekin, bound.epot));
	nb_report_detail(report, "clausius", ratio(every.ekin, every.clausius));
	nb_report_real(report, "clausius_bound", ratio(bound.ekin, bound.clausius));
	nb_stats_add_radii(self, radius, "_bound");
}

void nb_stats_add_bound(struct nb_run *run, struct stats *self, const struct group *group, const struct nb_frame *frame,
	const struct nb_centre *centre)
{
	const unsigned char *bound = self->measure.bound_bodies;
	const double *mass = nb_stats_here(self, group->mass, group->n, frame);
	const uint32_t *row = self->bodies.row ? self->bodies.row + group->begin : NULL;
	double total = bound ? 0 : NAN, count = bound ? 0 : NAN;
	for (size_t k = 0; bound && k < group->n; k++)
		if (bound[row ? row[k] : k]) {
			total += mass[k];
			count++;
		}
	nb_report_real(&self->report, "nbound", count);
	nb_report_real(&self->report, "mbound", total);
	if (!row)
		add_system(run, self, frame, centre);
}
