/* elements_cpu.c - the model orbits: bodies by the elements of their orbits, ellipses and hyperbolas. */
#include "kernels/models/model_internal.h"

#include <math.h>

static const double degree = M_PI / 180;

/* Mass of what body i orbits, and its own. */
static double mass_within(const struct nb_elements *list, size_t i)
{
	double mass = list[i].mass;
	for (size_t k = 0; k < i; k++)
		mass += list[i].about < 0 || (size_t)list[i].about == k ? list[k].mass : 0;
	return mass;
}

static const char *fault_of_shape(const struct nb_elements *o)
{
	if (isnan(o->a) && isnan(o->period))
		return "a or P is missing";
	if (!isnan(o->a) && !isnan(o->period))
		return "a and P exclude each other";
	if (!(o->e >= 0))
		return "e must be at least 0";
	if (o->e == 1)
		return "e must not be 1, as a parabola has no a";
	if (isnan(o->a) && o->e > 1)
		return "an orbit with e above 1 has no P";
	if (isnan(o->a) && !(o->period > 0))
		return "P must be above 0";
	if (!isnan(o->a) && !(o->e < 1 ? o->a > 0 : o->a < 0))
		return o->e < 1 ? "a must be above 0 where e is below 1" : "a must be below 0 where e is above 1";
	if (o->is_true && !(1 + o->e * cos(o->anomaly * degree) > 0))
		return "f is beyond the end of the hyperbola";
	return NULL;
}

static double axis_of(const struct nb_elements *o, double mu)
{
	const double rate = 2 * M_PI / o->period;
	return isnan(o->a) ? cbrt(mu / (rate * rate)) : o->a;
}

/* Newton's method on Kepler's equation of a hyperbola, e sinh F - F = mean.  It begins above the root of |mean|, from
 * where it cannot miss: as sinh F > F + F^3 / 6, F is at most what is put into sinh F = (mean + F) / e. */
static double hyperbolic_anomaly(double e, double mean)
{
	const double size = fabs(mean), above = fmin(cbrt(6 * size), size / (e - 1));
	double F = asinh((size + above) / e);
	for (int k = 0; k < 200 && F > 0; k++) {
		const double change = (e * sinh(F) - F - size) / (e * cosh(F) - 1);
		F -= change;
		if (!(fabs(change) > 1e-9 * fabs(F)))
			break;
	}
	return copysign(F, mean);
}

static void place(const struct nb_elements *o, double mu, double pos[3], double vel[3])
{
	const double a = axis_of(o, mu), e = o->e;
	if (o->is_true) {
		const double p = a * (1 - e) * (1 + e), c = cos(o->anomaly * degree), s = sin(o->anomaly * degree);
		const double r = p / (1 + e * c), speed = sqrt(mu / p);
		const double plane[4] = {r * c, r * s, -speed * s, speed * (e + c)};
		nb_orbit_turn(plane, o->inclination, o->node, o->pericentre, pos, vel);
	} else if (e < 1) {
		const struct nb_orbit orbit = {.a = a,
			.e = e,
			.inclination = o->inclination,
			.longitude = o->node + o->pericentre + o->anomaly,
			.perihelion = o->node + o->pericentre,
			.node = o->node};
		nb_orbit_place(&orbit, mu, pos, vel);
	} else {
		const double F = hyperbolic_anomaly(e, o->anomaly * degree), b = sqrt(e - 1) * sqrt(e + 1);
		const double rate = sqrt(mu / -a) / (e * cosh(F) - 1);
		const double plane[4] = {a * (cosh(F) - e), -a * b * sinh(F), -rate * sinh(F), rate * b * cosh(F)};
		nb_orbit_turn(plane, o->inclination, o->node, o->pericentre, pos, vel);
	}
}

const char *nb_elements_fault(const struct nb_elements *list, size_t i, double G)
{
	const struct nb_elements *o = &list[i];
	if (!(o->mass >= 0))
		return "m must be at least 0";
	if (!isnan(o->radius) && !(o->radius >= 0))
		return "r must be at least 0";
	if (i == 0)
		return NULL;
	if (o->about >= 0 && (size_t)o->about >= i)
		return "about must be the number of a body before it, from 0";
	const char *fault = fault_of_shape(o);
	if (fault)
		return fault;
	const double mu = G * mass_within(list, i), a = axis_of(o, mu), speed = sqrt(mu / fabs(a)), size = fabs(a);
	if (!(mass_within(list, i) > 0))
		return "there is no mass to orbit";
	if (!(size > tiny && size < 1 / tiny && speed > tiny && speed < 1 / tiny))
		return "the orbit or its velocities are out of range";
	double pos[3], vel[3];
	int finite = 1;
	place(o, mu, pos, vel);
	for (int c = 0; c < 3; c++)
		finite &= isfinite(pos[c]) && isfinite(vel[c]);
	return finite ? NULL : "the orbit or its velocities are out of range";
}

/* Adds position and velocity of what body i orbits. */
static void add_primary(struct nb_model *model, const struct nb_elements *list, size_t i)
{
	const double all = mass_within(list, i) - list[i].mass;
	for (size_t k = 0; k < i; k++) {
		const double share = list[i].about >= 0 ? (size_t)list[i].about == k
				     : all > 0		? list[k].mass / all
							: (double)(k == 0);
		for (size_t c = 0; c < 3; c++) {
			model->pos[3 * i + c] += share * model->pos[3 * k + c];
			model->vel[3 * i + c] += share * model->vel[3 * k + c];
		}
	}
}

int nb_model_build_orbits(struct nb_model *model, const struct nb_model_param *p)
{
	model->G = p->G;
	nb_model_begin_table(model, p->nelements);
	for (size_t i = 0; i < p->nelements; i++) {
		const struct nb_elements *o = &p->elements[i];
		model->mass[i] = o->mass;
		model->total += o->mass;
		model->radius[i] = isnan(o->radius) ? 0 : o->radius;
		model->has_radius |= !isnan(o->radius);
		if (i == 0)
			continue;
		place(o, model->G * mass_within(p->elements, i), &model->pos[3 * i], &model->vel[3 * i]);
		add_primary(model, p->elements, i);
	}
	if (model->total > 0)
		nb_model_centre_table(model);
	return NB_OK;
}
