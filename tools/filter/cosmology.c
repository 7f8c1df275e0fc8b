#include "tools/filter/cosmology.h"

#include "common/die.h"
#include "kernels/measure/measure.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>

#define PI 3.14159265358979323846

int nb_is_cosmological(const struct nb_frame *frame)
{
	return nb_box_of(frame) > 0 && nb_require_attribute(frame, "omega0", 0) > 0;
}

struct nb_cosmology nb_read_cosmology(const struct nb_frame *frame)
{
	struct nb_cosmology c = {
		.H0 = nb_require_attribute(frame, "H0", 0),
		.omega_m = nb_require_attribute(frame, "omega0", 0),
		.omega_r = nb_require_attribute(frame, "omega_r", 0),
		.w0 = nb_require_attribute(frame, "w0", -1),
		.wa = nb_require_attribute(frame, "wa", 0),
	};
	c.omega_l = nb_require_attribute(frame, "omega_lambda", 1 - c.omega_m - c.omega_r);
	return c;
}

/* H0 that makes the masses in the box the mean density of matter: omega_m 3 H0^2 / (8 pi G). */
static double hubble_of_masses(const struct nb_frame *frame, double omega_m)
{
	const double G = nb_require_attribute(frame, "G", 1), box = nb_box_of(frame);
	const double *mass = nb_require_f64(frame, NB_MASS, &nb_space_host);
	const double total = nb_sum_column(frame->rows[NB_PARTICLE], mass, 1, 0);
	return sqrt(8 * PI * G * total / (3 * omega_m * box * box * box));
}

static void check_masses(const struct nb_frame *frame, struct nb_cosmology *c)
{
	const double found = hubble_of_masses(frame, c->omega_m);
	if (c->H0 == 0 && !(found > 0 && isfinite(found)))
		nb_die(NB_EXIT_FAILED,
			"attribute H0 missing in frame %" PRIu64
			", and G and the masses in its box give none (want nb-calc '@H0 = ...')",
			frame->number);
	if (c->H0 == 0)
		c->H0 = found;
	if (frame->rows[NB_PARTICLE] == 0)
		return;
	const double share = found / c->H0 * (found / c->H0), off = fabs(share - 1);
	if (!(off <= 1e-2))
		nb_die(NB_EXIT_FAILED,
			"the masses of frame %" PRIu64
			" are %.6g times what attributes omega0, H0, G and box say (want others, or nb-calc '@H0 = 0' "
			"for the H0 of the masses)",
			frame->number, share);
	if (off > 1e-4 && frame->number == 0)
		nb_warn("the masses of frame 0 are %.6g times what attributes omega0, H0, G and box say", share);
}

/* Attributes time and redshift, of which one is enough. */
static double time_or_redshift(const struct nb_frame *frame)
{
	const double time = nb_require_attribute(frame, "time", 0), z = nb_require_attribute(frame, "redshift", 0);
	return time == 0 && nb_frame_attribute(frame, "redshift") ? 1 / (1 + z) : time;
}

/* Whether a is that of attribute redshift, where there is one. */
static int is_agreed(const struct nb_frame *frame, double a)
{
	const double z = nb_require_attribute(frame, "redshift", 0);
	return !nb_frame_attribute(frame, "redshift") || fabs(a * (1 + z) - 1) <= 1e-6;
}

double nb_scale_factor(const struct nb_frame *frame)
{
	if (!nb_is_cosmological(frame))
		return 1;
	const double a = time_or_redshift(frame);
	return a > 0 && isfinite(a) && is_agreed(frame, a) ? a : NAN;
}

double nb_require_scale_factor(const struct nb_frame *frame)
{
	const double a = time_or_redshift(frame), z = nb_require_attribute(frame, "redshift", 0);
	if (!is_agreed(frame, a))
		nb_die(NB_EXIT_FAILED,
			"frame %" PRIu64
			" has time=%g and redshift=%g, but the time of a cosmological frame is its scale factor, "
			"1 / (1 + redshift) (want nb-calc '@time = 1 / (1 + @redshift)')",
			frame->number, a, z);
	if (!(a > 0 && isfinite(a)))
		nb_die(NB_EXIT_FAILED,
			"the time of cosmological frame %" PRIu64
			" is %g (want its scale factor > 0: nb-calc '@time = ...')",
			frame->number, a);
	return a;
}

double nb_require_cosmology(const struct nb_frame *frame, const char *option, struct nb_cosmology *c)
{
	if (!nb_is_cosmological(frame))
		nb_die(NB_EXIT_FAILED,
			"option '%s' needs a periodic box and attribute omega0 > 0, and frame %" PRIu64
			" has box=%g and omega0=%g (see nb-cosmology(7))",
			option, frame->number, nb_box_of(frame), nb_require_attribute(frame, "omega0", 0));
	*c = nb_read_cosmology(frame);
	const double a = nb_require_scale_factor(frame);
	if (c->H0 < 0)
		nb_die(NB_EXIT_FAILED, "attribute H0 is %g in frame %" PRIu64 " (want a number >= 0)", c->H0,
			frame->number);
	check_masses(frame, c);
	if (nb_cosmology_check(c, a))
		nb_die(NB_EXIT_FAILED,
			"omega0=%g, omega_lambda=%g, omega_r=%g, w0=%g and wa=%g of frame %" PRIu64
			" are not a universe that expands from the beginning to a scale factor of %g",
			c->omega_m, c->omega_l, c->omega_r, c->w0, c->wa, frame->number, a);
	return a;
}

double nb_redshift_of(double a)
{
	const double z = 1 / a - 1, rounded = rint(z * 1e10) / 1e10;
	return 1 / (1 + rounded) == a ? rounded : z;
}
