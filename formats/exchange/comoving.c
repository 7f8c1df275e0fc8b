#include "formats/exchange/comoving.h"

#include "common/periodic.h"
#include "formats/exchange/exchange.h"

#include <math.h>

static double number(const struct nb_frame *frame, const char *key, double fallback)
{
	double x;
	return nb_frame_attribute_f64(frame, key, fallback, &x) ? NAN : x;
}

static int is_run(const struct nb_frame *frame, const char *box)
{
	return number(frame, box, 0) > 0 && number(frame, "omega0", 0) > 0;
}

/* a if it is that of redshift z, else 0 */
static double agreed(double a, double z)
{
	return a > 0 && fabs(a * (1 + z) - 1) < 1e-6 ? a : 0;
}

double nb_comoving_scale_factor(const struct nb_frame *frame)
{
	const double time = number(frame, "time", 0), z = number(frame, "redshift", 1 / time - 1);
	return is_run(frame, "box") ? agreed(time == 0 ? 1 / (1 + z) : time, z) : 0;
}

int nb_comoving_scale_velocities(struct nb_frame *frame, double factor)
{
	struct nb_column *column = nb_frame_field(frame, NB_VEL);
	double *vel = column ? nb_column_update(column, &nb_space_host, NB_AS_F64) : NULL;
	for (size_t k = 0; vel && k < 3 * column->rows; k++)
		vel[k] *= factor;
	return column && !vel ? NB_ENOMEM : NB_OK;
}

/* Positions in [0, box): files of 4 bytes have some at the box itself. */
static int bring_inside(struct nb_frame *frame, double box)
{
	struct nb_column *column = nb_frame_field(frame, NB_POS);
	double *pos = column ? nb_column_update(column, &nb_space_host, NB_AS_F64) : NULL;
	for (size_t k = 0; pos && k < 3 * column->rows; k++)
		if (isfinite(pos[k]))
			pos[k] = nb_periodic_wrap(pos[k], box);
	return column && !pos ? NB_ENOMEM : NB_OK;
}

int nb_comoving_read(struct nb_frame *frame, double exponent, double *a)
{
	const double box = number(frame, "box_size", 0);
	*a = is_run(frame, "box_size") ? agreed(number(frame, "time", 0), number(frame, "redshift", 0)) : 0;
	if (*a == 0)
		return NB_OK;
	if (nb_frame_set_attribute_f64(frame, "box", box) ||
		nb_frame_set_attribute_f64(frame, "omega_lambda", number(frame, "omega_lambda", 0)) ||
		nb_frame_set_attribute_f64(frame, "redshift", number(frame, "redshift", 0)))
		return NB_ENOMEM;
	nb_frame_drop_attribute(frame, "box_size");
	nb_frame_drop_field(frame, NB_ACC);
	nb_frame_drop_field(frame, NB_POT);
	if (exponent != 0 && nb_comoving_scale_velocities(frame, pow(*a, exponent)))
		return NB_ENOMEM;
	return bring_inside(frame, box);
}

int nb_comoving_write(struct nb_export *out, const struct nb_frame *frame, struct nb_frame *snapshot)
{
	const double a = nb_comoving_scale_factor(frame);
	const char *redshift = nb_frame_attribute(frame, "redshift");
	if (a == 0 && is_run(frame, "box"))
		return nb_export_fail(out,
			"time=%g and redshift=%.40s do not agree on the scale factor of a cosmological frame (want "
			"nb-calc '@time = 1 / (1 + @redshift)', see nb-cosmology(7))",
			number(frame, "time", 0), redshift ? redshift : "none");
	/* both use the same memory, and it is that of the snapshot alone that changes */
	if (nb_frame_share(snapshot, (struct nb_frame *)(uintptr_t)frame))
		return NB_ENOMEM;
	if (a == 0)
		return NB_OK;
	const double omega_l = 1 - number(frame, "omega0", 0) - number(frame, "omega_r", 0);
	if (nb_frame_set_attribute_f64(snapshot, "time", a) ||
		nb_frame_set_attribute_f64(snapshot, "box_size", number(frame, "box", 0)) ||
		nb_frame_set_attribute_f64(snapshot, "omega_lambda", number(frame, "omega_lambda", omega_l)) ||
		nb_frame_set_attribute_f64(snapshot, "redshift", number(frame, "redshift", 1 / a - 1)))
		return NB_ENOMEM;
	return nb_comoving_scale_velocities(snapshot, 1 / sqrt(a));
}
