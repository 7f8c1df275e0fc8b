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

/* x -> scale x + shift of a column, if there is one */
static int scale_field(struct nb_frame *frame, enum nb_field field, double scale, double shift)
{
	struct nb_column *column = nb_frame_field(frame, field);
	double *x = column ? nb_column_update(column, &nb_space_host, NB_AS_F64) : NULL;
	for (size_t k = 0; x && k < column->ncomp * column->rows; k++)
		x[k] = scale * x[k] + shift;
	return column && !x ? NB_ENOMEM : NB_OK;
}

int nb_comoving_scale_velocities(struct nb_frame *frame, double factor)
{
	return scale_field(frame, NB_VEL, factor, 0);
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

/* A snapshot that shares the memory of a frame; *a: the scale factor, 0: the frame is not cosmological. */
static int begin_snapshot(struct nb_export *out, const struct nb_frame *frame, struct nb_frame *snapshot, double *a)
{
	const char *redshift = nb_frame_attribute(frame, "redshift");
	*a = nb_comoving_scale_factor(frame);
	if (*a == 0 && is_run(frame, "box"))
		return nb_export_fail(out,
			"time=%g and redshift=%.40s do not agree on the scale factor of a cosmological frame (want "
			"nb-calc '@time = 1 / (1 + @redshift)', see nb-cosmology(7))",
			number(frame, "time", 0), redshift ? redshift : "none");
	/* both use the same memory, and it is that of the snapshot alone that changes */
	if (nb_frame_share(snapshot, (struct nb_frame *)(uintptr_t)frame))
		return NB_ENOMEM;
	return *a > 0 && nb_frame_set_attribute_f64(snapshot, "time", *a) ? NB_ENOMEM : NB_OK;
}

int nb_comoving_write(struct nb_export *out, const struct nb_frame *frame, struct nb_frame *snapshot)
{
	double a;
	const int status = begin_snapshot(out, frame, snapshot, &a);
	if (status || a == 0)
		return status;
	const double omega_l = 1 - number(frame, "omega0", 0) - number(frame, "omega_r", 0);
	if (nb_frame_set_attribute_f64(snapshot, "box_size", number(frame, "box", 0)) ||
		nb_frame_set_attribute_f64(snapshot, "omega_lambda", number(frame, "omega_lambda", omega_l)) ||
		nb_frame_set_attribute_f64(snapshot, "redshift", number(frame, "redshift", 1 / a - 1)))
		return NB_ENOMEM;
	return nb_comoving_scale_velocities(snapshot, 1 / sqrt(a));
}

/* ---- TIPSY -------------------------------------------------------------------------------------- */

/* The softening of nb's spline, which ends at 2.8 times its length, over that of PKDGRAV's. */
static const double softening_over_tipsy = 2 / 2.8;
/* sqrt(8 pi / 3): the critical density is 1. */
static const double tipsy_H0 = 2.8944050182330705;

/* The first body that is not in a box of edge 1 around 0, or in one beside it, where those are that have crossed its
 * walls; SIZE_MAX: there is none, or no memory. */
static size_t first_outside(struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_field(frame, NB_POS);
	const double *pos = column ? nb_column_read(column, &nb_space_host, NB_AS_F64) : NULL;
	for (size_t k = 0; pos && k < 3 * column->rows; k++)
		if (!(fabs(pos[k]) <= 1.5))
			return k / 3;
	return SIZE_MAX;
}

int nb_comoving_read_tipsy(struct nb_frame *frame, double omega0, size_t *row)
{
	const double a = number(frame, "time", 0);
	*row = a > 0 ? first_outside(frame) : SIZE_MAX;
	if (!(a > 0) || *row != SIZE_MAX)
		return NB_EINVAL;
	nb_frame_drop_field(frame, NB_POT);
	if (nb_frame_set_attribute_f64(frame, "box", 1) || nb_frame_set_attribute_f64(frame, "omega0", omega0) ||
		nb_frame_set_attribute_f64(frame, "redshift", 1 / a - 1) ||
		nb_frame_set_attribute_f64(frame, "H0", tipsy_H0) ||
		scale_field(frame, NB_EPS, softening_over_tipsy, 0) || scale_field(frame, NB_POS, 1, 0.5))
		return NB_ENOMEM;
	return nb_comoving_scale_velocities(frame, a) ? NB_ENOMEM : bring_inside(frame, 1);
}

static double sum_of_masses(struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_field(frame, NB_MASS);
	const double *mass = column ? nb_column_read(column, &nb_space_host, NB_AS_F64) : NULL;
	double sum = 0;
	for (size_t i = 0; mass && i < column->rows; i++)
		sum += mass[i];
	return sum;
}

int nb_comoving_write_tipsy(struct nb_export *out, const struct nb_frame *frame, struct nb_frame *snapshot)
{
	double a;
	const int status = begin_snapshot(out, frame, snapshot, &a);
	if (status || a == 0)
		return status;
	const double box = number(frame, "box", 0), G = number(frame, "G", 1), eps = 1 / (softening_over_tipsy * box),
		     density = sum_of_masses(snapshot) / (box * box * box), softening = number(frame, "softening", 0);
	double H0 = number(frame, "H0", 0);
	if (H0 == 0) /* of no bodies any will do */
		H0 = tipsy_H0 * (frame->rows[NB_PARTICLE] ? sqrt(G * density / number(frame, "omega0", 0)) : 1);
	if (!(H0 > 0 && G > 0))
		return nb_export_fail(
			out, "H0=%g, or else the masses, and G=%g give a cosmological frame no units", H0, G);
	if ((softening > 0 && nb_frame_set_attribute_f64(snapshot, "softening", softening * eps)) ||
		scale_field(snapshot, NB_EPS, eps, 0) || scale_field(snapshot, NB_POS, 1 / box, -0.5) ||
		scale_field(snapshot, NB_MASS, G * pow(tipsy_H0 / H0, 2) / (box * box * box), 0))
		return NB_ENOMEM;
	nb_frame_drop_field(snapshot, NB_POT);
	return nb_comoving_scale_velocities(snapshot, tipsy_H0 / (H0 * box * a));
}
