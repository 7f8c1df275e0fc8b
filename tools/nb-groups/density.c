/* The expansion, and with --cosmology mean densities of spheres, from what the attributes say about the universe. */
#include "common/die.h"
#include "tools/filter/cosmology.h"
#include "tools/filter/require.h"
#include "tools/nb-groups/groups.h"

#include <inttypes.h>
#include <math.h>

#define PI 3.14159265358979323846

void nb_groups_add_density(struct nb_groups_law *law, const char *name, double density)
{
	law->name[law->ndensity] = name;
	law->density[law->ndensity++] = density;
}

/* Mean density of matter in comoving lengths: by H0, or of all bodies in the box. */
static double find_mean(const struct nb_frame *frame, const struct nb_cosmology *c, double box)
{
	const double G = nb_require_attribute(frame, "G", 1);
	const double H0 = nb_require_attribute(frame, "H0", 0);
	const size_t n = frame->rows[NB_PARTICLE];
	double mass = 0;
	if (H0 > 0)
		return c->omega_m * 3 * H0 * H0 / (8 * PI * G);
	if (!(box > 0))
		nb_die(NB_EXIT_FAILED,
			"option '--cosmology' needs attribute H0 or a periodic box, and frame %" PRIu64
			" has neither (want \"nb-calc '@H0 = ...'\" before)",
			frame->number);
	if (n == 0) /* there will be no group to measure by it */
		return 1;
	const struct nb_reals m = nb_groups_reals_of(frame).mass;
	for (size_t i = 0; i < n; i++)
		mass += nb_real_or_1(m, i);
	return mass / (box * box * box);
}

/* What the attributes say about the universe, with an H0 of 1; returns the scale factor of the frame. */
static double find_universe(const struct nb_frame *frame, struct nb_cosmology *c)
{
	const double z1 = 1 + nb_require_attribute(frame, "redshift", 0);
	*c = nb_read_cosmology(frame);
	if (!(c->omega_m > 0 && z1 > 0 && isfinite(z1)))
		nb_die(NB_EXIT_FAILED,
			"option '--cosmology' needs attribute omega0 > 0 and redshift > -1, and frame %" PRIu64
			" has %g and %g",
			frame->number, c->omega_m, z1 - 1);
	const double a = nb_is_cosmological(frame) ? nb_require_scale_factor(frame) : 1 / z1;
	c->H0 = 1;
	if (nb_cosmology_check(c, a))
		nb_die(NB_EXIT_FAILED, "the universe of frame %" PRIu64 " does not expand to its redshift of %g",
			frame->number, nb_redshift_of(a));
	return a;
}

void nb_groups_add_expansion(const struct nb_frame *frame, int option, struct nb_groups_law *law)
{
	struct nb_cosmology c;
	law->a = 1;
	law->flow = 0;
	if (!option && !nb_is_cosmological(frame))
		return;
	law->a = find_universe(frame, &c);
	const double G = nb_require_attribute(frame, "G", 1), mean = find_mean(frame, &c, law->box);
	const double H0_squared = 8 * PI * G * mean / (3 * c.omega_m);
	law->flow = H0_squared > 0 ? sqrt(H0_squared) * nb_cosmology_hubble(&c, law->a) * law->a : 0;
}

void nb_groups_add_cosmology(const struct nb_frame *frame, struct nb_groups_law *law)
{
	struct nb_cosmology c;
	const double a = find_universe(frame, &c), mean = find_mean(frame, &c, law->box);
	const double share = nb_cosmology_omega_m(&c, a), critical = mean / share, x = share - 1;
	if (!(critical > 0 && isfinite(critical)))
		nb_die(NB_EXIT_FAILED, "the critical density of frame %" PRIu64 " is %g", frame->number, critical);
	nb_groups_add_density(law, "200c", 200 * critical);
	nb_groups_add_density(law, "500c", 500 * critical);
	nb_groups_add_density(law, "200m", 200 * mean);
	/* Bryan & Norman 1998, ApJ 495, 80, eq. 6, of a flat universe */
	nb_groups_add_density(law, "vir", (18 * PI * PI + 82 * x - 39 * x * x) * critical);
}
