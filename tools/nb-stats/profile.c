/* --profile: radial bins of each frame, or of the species in it. */
#include "common/mem.h"
#include "tools/filter/cosmology.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void begin(struct nb_run *run, struct stats *self)
{
	const size_t n = (size_t)self->bins;
	(void)run;
	self->profile.edge = nb_alloc(n + 1, sizeof *self->profile.edge);
	self->profile.bin = nb_alloc(n, sizeof *self->profile.bin);
	self->profile.height = nb_alloc(n, sizeof *self->profile.height);
	if (!self->profile.edge || !self->profile.bin || !self->profile.height)
		nb_die(NB_EXIT_FAILED, "out of memory for %d bins", self->bins);
}

static void clear(struct stats *self)
{
	nb_stats_release(self);
	nb_free_all(self->profile.edge, self->profile.bin, self->profile.height);
}

/* ---- a frame ------------------------------------------------------------------------------------ */

/* Along the angular momentum about the centre; of the z axis where there is none. */
static void angular_axis(const struct nb_moments *m, const struct nb_centre *centre, double axis[3])
{
	double l[3], x[3], length = 0;
	for (int k = 0; k < 3; k++)
		x[k] = m->com[k] - centre->pos[k];
	for (int k = 0; k < 3; k++) { /* L = l - c * p - M (com - c) * u, cross products, about c that moves with u */
		const int a = (k + 1) % 3, b = (k + 2) % 3;
		const double *c = centre->pos, *u = centre->vel, *p = m->momentum;
		l[k] = m->angular[k] - (c[a] * p[b] - c[b] * p[a]) - m->mass * (x[a] * u[b] - x[b] * u[a]);
	}
	length = sqrt(l[0] * l[0] + l[1] * l[1] + l[2] * l[2]);
	for (int k = 0; k < 3; k++)
		axis[k] = length > 0 && isfinite(length) ? l[k] / length : k == 2;
}

static void find_axis(
	const struct stats *self, const struct nb_frame *frame, const struct nb_moments *m, struct nb_profile *of)
{
	for (int k = 0; k < 3; k++)
		of->axis[k] = k == self->axis - AXIS_X;
	if (of->dim == 2 && (self->axis == AXIS_X || self->axis == AXIS_Y))
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " is two-dimensional (want '--axis angular' or z)",
			frame->number);
	if (self->axis == AXIS_ANGULAR)
		angular_axis(m, &of->centre, of->axis);
}

/* Bodies of a group in place of those of before. */
static struct nb_profile profile_of(struct nb_profile of, const struct group *group)
{
	of.n = group->n;
	of.mass = group->mass;
	of.pos = group->pos;
	of.vel = group->vel;
	return of;
}

/* What a frame of rings is measured in, of all bodies: each on the plane through the centre at right angles to the
 * axis, where shells are rings, and theta points against the axis; and the way to it from there, as a velocity. */
struct flat {
	double *plane, *way;
};

static struct nb_profile flatten(const struct flat *flat, struct nb_profile of)
{
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < of.n; i++) {
		double z = 0;
		for (size_t k = 0; k < 3; k++)
			z += (of.pos[3 * i + k] - of.centre.pos[k]) * of.axis[k];
		for (size_t k = 0; k < 3; k++) {
			flat->way[3 * i + k] = z * of.axis[k];
			flat->plane[3 * i + k] = of.pos[3 * i + k] - flat->way[3 * i + k];
		}
	}
	of.pos = flat->plane;
	of.dim = 2;
	return of;
}

/* Between the radii that --range gives, else the nearest and the farthest of all bodies; bins of equal mass begin at 0
 * and end at the farthest of the group. */
static void set_edges(const struct nb_run *run, const struct stats *self, const struct nb_frame *frame,
	const double extent[2], const struct nb_profile *of)
{
	const size_t n = (size_t)self->bins;
	double lo = self->inner, hi = self->outer, nearest = extent[0], farthest = extent[1];
	double *edge = self->profile.edge;
	if (self->spacing == SPACING_EQUAL)
		nb_profile_extent(of, &nearest, &farthest);
	hi = isinf(hi) ? fmax(farthest, lo) : hi;
	if (self->spacing == SPACING_LOG && lo == 0)
		lo = fmin(nearest, hi);
	if (self->spacing == SPACING_EQUAL)
		nb_require_done(run, nb_profile_edges_equal(of, lo, hi, n, edge), "radii of", frame);
	else if (self->spacing == SPACING_LOG && lo > 0)
		nb_profile_edges_log(lo, hi, n, edge);
	else
		nb_profile_edges_linear(lo, hi, n, edge);
}

/* h: NULL unless the bin is a ring */
static void add_bin(struct stats *self, const struct nb_frame *frame, double time, int species, size_t k,
	const struct nb_profile_bin *b, const struct nb_profile_bin *h)
{
	struct nb_report *report = &self->report;
	static const char *const v[3] = {"vx", "vy", "vz"};
	nb_report_integer(report, "frame", 5, frame->number);
	nb_report_real(report, "time", time);
	nb_stats_add_each(self);
	if (species >= 0)
		nb_report_integer(report, "species", 7, (uint64_t)species);
	nb_report_integer(report, "bin", 0, k);
	nb_report_detail(report, "rmin", b->inner);
	nb_report_detail(report, "rmax", b->outer);
	nb_report_real(report, "r", b->radius);
	nb_report_real(report, "n", (double)b->n);
	nb_report_real(report, "mass", b->mass);
	nb_report_detail(report, "mwithin", b->within);
	nb_report_real(report, "density", b->density);
	for (int c = 0; c < 3; c++)
		nb_report_detail(report, v[c], b->vel[c]);
	nb_report_real(report, "vr", b->v[0]);
	nb_report_real(report, "vphi", b->v[2]);
	nb_report_real(report, "sigma_r", b->sigma[0]);
	if (h) {
		nb_report_real(report, "sigma_phi", b->sigma[2]);
		nb_report_real(report, "sigma_z", b->sigma[1]);
		nb_report_detail(report, "z", 0 - h->v[1]);
		nb_report_real(report, "height", h->sigma[1]);
		return;
	}
	nb_report_detail(report, "sigma_theta", b->sigma[1]);
	nb_report_detail(report, "sigma_phi", b->sigma[2]);
	nb_report_real(report, "sigma_t", b->sigma_t);
	nb_report_real(report, "beta", b->beta);
	nb_report_detail(report, "vcirc",
		sqrt(nb_require_attribute(frame, "G", 1) * b->within / (nb_scale_factor(frame) * b->outer)));
}

/* The bins of a group; of rings, their heights too. */
static void make_bins(struct nb_run *run, struct stats *self, const struct nb_frame *frame, const double extent[2],
	struct nb_profile of, const struct flat *flat)
{
	if (self->rings)
		of = flatten(flat, of);
	set_edges(run, self, frame, extent, &of);
	nb_require_done(run, nb_profile_bins(&of, (size_t)self->bins, self->profile.edge, self->profile.bin),
		"profile of", frame);
	if (!self->rings)
		return;
	of.vel = flat->way;
	memset(of.centre.vel, 0, sizeof of.centre.vel);
	nb_require_done(run, nb_profile_bins(&of, (size_t)self->bins, self->profile.edge, self->profile.height),
		"profile of", frame);
}

static void profile(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	struct nb_report *report = &self->report;
	struct nb_moments m;
	struct flat flat = {NULL, NULL};
	double extent[2];
	nb_stats_load(run, self, frame, nb_stats_host());
	const struct group *all = &self->bodies.all;
	nb_require_done(run, nb_moments_cpu(all->n, all->mass, all->pos, all->vel, &m), "moments of", frame);
	struct nb_profile whole = {.dim = nb_require_dim(frame), .by_number = self->by_number};
	whole.centre = nb_stats_centre(run, self, frame, &m);
	find_axis(self, frame, &m, &whole);
	if (self->rings)
		flat = (struct flat){nb_stats_there(self, 3 * all->n, frame), nb_stats_there(self, 3 * all->n, frame)};
	whole = profile_of(whole, all);
	const struct nb_profile shown = self->rings ? flatten(&flat, whole) : whole;
	nb_profile_extent(&shown, &extent[0], &extent[1]);
	nb_stats_divide(run, self, frame);

	const double time = nb_require_attribute(frame, "time", 0);
	const struct nb_profile_bin none = {.n = 0};
	if (!report->header_done) { /* also where no species is there */
		add_bin(self, frame, time, self->by == BY_SPECIES ? 0 : -1, 0, &none, self->rings ? &none : NULL);
		nb_report_header(report);
	}
	for (size_t g = 0; g < self->bodies.ngroup; g++) {
		const struct group *group = &self->bodies.group[g];
		make_bins(run, self, frame, extent, profile_of(whole, group), &flat);
		for (size_t k = 0; k < (size_t)self->bins; k++) {
			add_bin(self, frame, time, group->species, k, &self->profile.bin[k],
				self->rings ? &self->profile.height[k] : NULL);
			nb_report_row(report);
		}
	}
	nb_require_flushed();
	nb_stats_release(self);
}

const struct mode nb_stats_profile = {
	.option = "profile", .begin = begin, .frame = profile, .clear = clear, .work = nb_stats_work_by_host};
