/* The models that are made of orbits: systems of a few bodies, and rings. */
#include "kernels/models/model_internal.h"

#include "kernels/models/sample_internal.h"

#include <math.h>
#include <string.h>

void nb_model_begin_table(struct nb_model *model, uint64_t n)
{
	nb_model_add_part(model, NB_SAMPLE_TABLE, 3, n);
}

void nb_model_centre_table(struct nb_model *model)
{
	double total = 0;
	for (uint64_t i = 0; i < model->n; i++)
		total += model->mass[i];
	for (int c = 0; c < 3; c++) {
		double x = 0, v = 0;
		for (uint64_t i = 0; i < model->n; i++) {
			x += model->mass[i] / total * model->pos[3 * i + c];
			v += model->mass[i] / total * model->vel[3 * i + c];
		}
		for (uint64_t i = 0; i < model->n; i++) {
			model->pos[3 * i + c] -= x;
			model->vel[3 * i + c] -= v;
		}
	}
}

/* Elements at J2000.0 in the ecliptic and equinox of J2000: E. M. Standish & J. G. Williams, "Approximate positions of
 * the planets", JPL Solar System Dynamics, table 1 (fitted to 1800..2050; position good to about 10 to 600 arc
 * seconds). Inverse masses: IAU 2009 system of astronomical constants (Luzum et al. 2011, Cel. Mech. 110, 293). Mean
 * radii: IAU WGCCRE 2015 (Archinal et al. 2018, Cel. Mech. 130, 22). */
struct planet {
	struct nb_orbit orbit; /* AU */
	double inverse_mass;   /* Sun / planet with its moons */
	double radius;	       /* km */
};
static const struct planet planets[] = {
	{{0.38709927, 0.20563593, 7.00497902, 252.25032350, 77.45779628, 48.33076593}, 6023600, 2439.4},
	{{0.72333566, 0.00677672, 3.39467605, 181.97909950, 131.60246718, 76.67984255}, 408523.719, 6051.8},
	{{1.00000261, 0.01671123, -0.00001531, 100.46457166, 102.93768193, 0}, 328900.5596, 6371.0084},
	{{1.52371034, 0.09339410, 1.84969142, -4.55343205, -23.94362959, 49.55953891}, 3098703.59, 3389.50},
	{{5.20288700, 0.04838624, 1.30439695, 34.39644051, 14.72847983, 100.47390909}, 1047.348644, 69911},
	{{9.53667594, 0.05386179, 2.48599187, 49.95424423, 92.59887831, 113.66242448}, 3497.9018, 58232},
	{{19.18916464, 0.04725744, 0.77263783, 313.23810451, 170.95427630, 74.01692503}, 22902.98, 25362},
	{{30.06992276, 0.00859048, 1.77004347, -55.12002969, 44.96476227, 131.78422574}, 19412.26, 24622}};
static const double au_km = 149597870.7, sun_radius = 695700;
static const double gauss_k = 0.01720209895; /* G = k^2 in AU^3 / (solar mass day^2) */

void nb_orbit_turn(
	const double plane[4], double inclination, double node, double pericentre, double pos[3], double vel[3])
{
	const double degree = M_PI / 180, i = inclination * degree, n = node * degree, w = pericentre * degree;
	const double to[3][2] = {
		{cos(w) * cos(n) - sin(w) * sin(n) * cos(i), -sin(w) * cos(n) - cos(w) * sin(n) * cos(i)},
		{cos(w) * sin(n) + sin(w) * cos(n) * cos(i), -sin(w) * sin(n) + cos(w) * cos(n) * cos(i)},
		{sin(w) * sin(i), cos(w) * sin(i)}};
	for (int c = 0; c < 3; c++) {
		pos[c] = to[c][0] * plane[0] + to[c][1] * plane[1];
		vel[c] = to[c][0] * plane[2] + to[c][1] * plane[3];
	}
}

void nb_orbit_place(const struct nb_orbit *p, double mu, double pos[3], double vel[3])
{
	const double degree = M_PI / 180, mean = remainder(p->longitude - p->perihelion, 360) * degree;
	double E = p->e > 0.95 ? copysign(M_PI, mean) : mean + p->e * sin(mean); /* from pi it cannot miss */
	for (int k = 0; k < 200; k++) { /* Newton on Kepler's equation, which squares the error at each step */
		const double change = (E - p->e * sin(E) - mean) / (1 - p->e * cos(E));
		E -= change;
		if (fabs(change) < 1e-9)
			break;
	}
	const double b = sqrt((1 - p->e) * (1 + p->e)), rate = sqrt(mu / p->a) / (1 - p->e * cos(E));
	const double plane[4] = {p->a * (cos(E) - p->e), p->a * b * sin(E), -rate * sin(E), rate * b * cos(E)};
	nb_orbit_turn(plane, p->inclination, p->node, p->perihelion - p->node, pos, vel);
}

int nb_model_build_solar(struct nb_model *model, const struct nb_model_param *unused)
{
	(void)unused;
	nb_model_begin_table(model, 9);
	model->G = gauss_k * gauss_k;
	model->mass[0] = 1;
	model->radius[0] = sun_radius / au_km;
	for (int i = 1; i < 9; i++) {
		const struct planet *p = &planets[i - 1];
		model->mass[i] = 1 / p->inverse_mass;
		model->radius[i] = p->radius / au_km;
		nb_orbit_place(&p->orbit, model->G * (1 + model->mass[i]), &model->pos[3 * i], &model->vel[3 * i]);
	}
	nb_model_centre_table(model);
	model->has_species = model->has_radius = 1;
	return NB_OK;
}

int nb_model_build_figure8(struct nb_model *model, const struct nb_model_param *unused)
{
	static const double x = 0.97000435669734, y = -0.24308753153583;
	static const double vx = -0.93240737144104, vy = -0.86473146092102;
	const double pos[9] = {x, y, 0, -x, -y, 0, 0, 0, 0};
	const double vel[9] = {-vx / 2, -vy / 2, 0, -vx / 2, -vy / 2, 0, vx, vy, 0};
	(void)unused;
	nb_model_begin_table(model, 3);
	memcpy(model->pos, pos, sizeof pos);
	memcpy(model->vel, vel, sizeof vel);
	for (int i = 0; i < 3; i++)
		model->mass[i] = 1;
	return NB_OK;
}

int nb_model_build_kepler(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->eccentricity >= 1)
		return nb_model_refuse(model, "eccentricity must be at least 0 and below 1");
	nb_model_begin_table(model, 2);
	const double m0 = 1 / (1 + p->ratio), m1 = p->ratio / (1 + p->ratio), e = p->eccentricity;
	const double r = 1 - e, v = sqrt((1 + e) / (1 - e));
	model->mass[0] = m0;
	model->mass[1] = m1;
	model->pos[0] = -m1 * r;
	model->pos[3] = m0 * r;
	model->vel[1] = -m1 * v;
	model->vel[4] = m0 * v;
	model->scale_radius = 1;
	return NB_OK;
}

/* ---- rings -------------------------------------------------------------------------------------- */

/* The central body is a table of one, at the origin until all is centred. */
int nb_model_build_ring(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->inner >= p->outer)
		return nb_model_refuse(model, "the outer radius must exceed the inner one");
	if (!(p->eccentricity <= 0.5))
		return nb_model_refuse(model, "eccentricity must be at least 0 and at most 0.5");
	if (p->n > 0)
		nb_model_begin_table(model, 1);
	const uint64_t n = p->n > 0 ? p->n - 1 : 0;
	model->mass[0] = n > 0 ? 1 - p->ring_mass : 1;
	struct nb_model_part *part = nb_model_add_part(model, NB_SAMPLE_RING, p->dim, n);
	part->turn[0] = part->turn[4] = part->turn[8] = 1;
	part->ring = (struct nb_ring){p->inner, p->outer, p->eccentricity, model->mass[0]};
	part->mass = p->ring_mass / (double)n;
	part->speed = 1;
	part->species = 1;
	for (size_t k = 0; k < model->npart; k++)
		model->part[k].centred = model->part[k].whole = 1;
	model->has_species = 1;
	return NB_OK;
}

/* A number with Rayleigh's distribution and this root mean square, below 0.95 */
static double rayleigh(double rms, double u)
{
	return rms > 0 ? sqrt(-rms * rms * log1p(u * expm1(-0.95 * 0.95 / (rms * rms)))) : 0;
}

/* Eccentricities and inclinations as in a disk of planetesimals in equilibrium, <e^2> = 4 <i^2> (Ida & Makino 1992,
 * Icarus 96, 107).  A body may be turned by half a turn about the axis, and mirrored at the plane. */
void nb_model_draw_ring(
	const struct nb_model_part *part, uint64_t seed, uint64_t start, size_t count, double *pos, double *vel)
{
	const struct nb_ring *ring = &part->ring;
	const double inner2 = ring->inner * ring->inner, outer2 = ring->outer * ring->outer;
	const double scale = ring->outer * sqrt(ring->outer); /* velocities count as much as positions */
	double sum_plane[4] = {0}, sum_height[2] = {0};
	for (size_t i = 0; i < count; i++) {
		const struct source from = {seed, start + i, part->stream};
		double u[2], v[2], w[2], *x = pos + 3 * i, *y = vel + 3 * i;
		draw(&from, 0, u);
		draw(&from, 1, v);
		draw(&from, 2, w);
		const struct nb_orbit orbit = {.a = sqrt(inner2 + u[0] * (outer2 - inner2)),
			.e = rayleigh(ring->eccentricity, w[0]),
			.inclination = part->dim == 2 ? 0 : rayleigh(ring->eccentricity / 2, w[1]) * 180 / M_PI,
			.longitude = 360 * u[1],
			.perihelion = 360 * v[0],
			.node = 360 * v[1]};
		nb_orbit_place(&orbit, ring->mass, x, y);
		double plane[4] = {x[0], x[1], y[0] * scale, y[1] * scale}, height[2] = {x[2], y[2] * scale};
		balance(sum_plane, plane, 4);
		balance(sum_height, height, 2);
		memcpy(x, plane, 2 * sizeof *x);
		x[2] = height[0];
		y[0] = plane[2] / scale;
		y[1] = plane[3] / scale;
		y[2] = height[1] / scale;
	}
}
