/* Models as lists of parts, and their bodies by random access.
 *
 * A part is a number of bodies drawn from one distribution in its own units, then scaled, turned, placed and set in
 * motion (struct nb_model_part).  A model is one to eight parts, or a table of up to nine bodies worked out when it is
 * created; a galaxy has a part for each component, a merger two galaxies.  Body i is found by its part and its number
 * there, and drawn from its own random numbers, so that any range of bodies can be had in any order and by any thread.
 * What is random is drawn in model_simd.c, galaxy_cpu.c and sphere_cpu.c, and rings here.
 *
 * Sections: models of one part, or of eight (clusters); galaxies and mergers; systems of a few bodies; rings; bodies of
 * a part; what is done to a whole model: masses from a mass function, centring, scaling; the interface, which fills
 * columns.
 */
#include "kernels/models/models.h"

#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/models/galaxy_internal.h"
#include "kernels/models/imf_internal.h"
#include "kernels/models/part_internal.h"
#include "kernels/models/sample_internal.h"
#include "kernels/models/sphere_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS = 8, MAX_TABLE = 9 };

struct nb_model {
	uint64_t n, seed;
	double G;
	int has_species, has_radius;
	size_t npart;
	struct nb_model_part part[MAX_PARTS];
	struct nb_galaxy *galaxy;
	struct nb_sphere *sphere;
	struct nb_imf imf;
	double drawn, total;	  /* mass as imf has it; as it is */
	double scale_radius;	  /* of the model as built; of the models that take rscale */
	const char *why;	  /* it was refused */
	double radius[MAX_TABLE]; /* the first that of all, unless there is a table */
	/* NB_SAMPLE_TABLE: one part whose bodies are these */
	double mass[MAX_TABLE], pos[3 * MAX_TABLE], vel[3 * MAX_TABLE];
};

/* A model is a function of its name that adds its parts: NB_OK, NB_EINVAL by refuse, or NB_ENOMEM.  Each parameter is
 * in its range (parameter.c); what must hold besides, e.g. between two of them, is for the function to check. */
typedef int build_function(struct nb_model *, const struct nb_model_param *);

static int refuse(struct nb_model *model, const char *why)
{
	model->why = why;
	return NB_EINVAL;
}

static const double tiny = 1e-150; /* the square of a length above this is not 0 */

/* ---- one part a model, or eight ----------------------------------------------------------------- */

static struct nb_model_part *add_part(struct nb_model *model, enum nb_model_sampler sampler, int dim, uint64_t n)
{
	struct nb_model_part *part = &model->part[model->npart];
	memset(part, 0, sizeof *part);
	part->sampler = sampler;
	part->dim = dim;
	part->stream = (uint32_t)model->npart;
	part->first = model->n;
	part->n = n;
	part->length = 1;
	model->npart++;
	model->n += n;
	return part;
}

/* Energies of a Plummer sphere (scale radius 1, G M = 1) cut at p = r / sqrt(1 + r^2) = mu, all its mass
 * then called 1: T = 1/4 int psi dm, W = -int m dm / r, with psi = sqrt(1 - p^2), m = p^3. */
static void plummer_energies(double mu, double *ekin, double *epot)
{
	const double t = asin(mu), mass = mu * mu * mu, s2 = sin(2 * t);
	const double i2 = (t - sin(4 * t) / 4) / 8;			/* int p^2 sqrt(1 - p^2) dp */
	const double i4 = t / 16 - sin(4 * t) / 64 - s2 * s2 * s2 / 48; /* int p^4 sqrt(1 - p^2) dp */
	*ekin = 0.75 * i2 / mass;
	*epot = -3 * i4 / (mass * mass);
}

/* Where a sphere is cut: in scale radii if both are given, or in units of E = -1/4. */
struct cut {
	double scaled, henon; /* one of them; the other is 0 */
};

static int take_cut(struct nb_model *model, const struct nb_model_param *p, struct cut *cut)
{
	*cut = (struct cut){0, p->rmax > 0 ? p->rmax : 20};
	if (p->rscale > 0 && p->rmax > 0)
		*cut = (struct cut){p->rmax / p->rscale, 0};
	if (cut->henon > 0 && !(cut->henon >= 1.5))
		return refuse(model, "rmax must be at least 1.5");
	if (cut->scaled > 0 && !(cut->scaled >= 0.1))
		return refuse(model, "rmax must be at least a tenth of rscale");
	return NB_OK;
}

static int add_sphere(struct nb_model *model, uint64_t n, const struct nb_sphere_law *law)
{
	int status = nb_sphere_create(law, &model->sphere);
	if (status == NB_EINVAL)
		return refuse(
			model, "ra is too small for this profile: the density of some velocities would be negative");
	if (status)
		return status;
	struct nb_model_part *part = add_part(model, NB_SAMPLE_SPHERE, 3, n);
	part->sphere = model->sphere;
	part->length = model->scale_radius = nb_sphere_length(model->sphere);
	part->speed = nb_sphere_speed(model->sphere);
	part->centred = 1;
	part->mass = 1 / (double)n;
	return NB_OK;
}

/* Cut at rmax, then scaled so that T = 1/4 and W = -1/2: length = 2 |W|, rmax = length r(mu). */
static int plummer(struct nb_model *model, const struct nb_model_param *p)
{
	struct cut cut;
	if (take_cut(model, p, &cut))
		return NB_EINVAL;
	double low = 0.1, high = 1, ekin, epot;
	for (int k = 0; k < 100 && cut.henon > 0; k++) {
		const double mu = (low + high) / 2;
		plummer_energies(mu, &ekin, &epot);
		if (-2 * epot * mu / sqrt((1 - mu) * (1 + mu)) < cut.henon)
			low = mu;
		else
			high = mu;
	}
	if (cut.scaled > 0)
		low = fmin(cut.scaled / hypot(1, cut.scaled), 1 - 0x1p-53);
	plummer_energies(low, &ekin, &epot);
	if (p->ra > 0)
		return add_sphere(model, p->n,
			&(struct nb_sphere_law){.profile = NB_SPHERE_PLUMMER,
				.cut = low / sqrt((1 - low) * (1 + low)),
				.length = -2 * epot,
				.ra = p->ra,
				.scale = p->rscale});
	struct nb_model_part *part = add_part(model, NB_SAMPLE_PLUMMER, 3, p->n);
	part->mu = low;
	part->length = -2 * epot;
	part->speed = sqrt(2) * sqrt(0.25 / ekin); /* v_esc = sqrt(2) psi^(1/2) */
	part->centred = 1;
	part->mass = 1 / (double)p->n;
	model->scale_radius = part->length;
	return NB_OK;
}

static int king(struct nb_model *model, const struct nb_model_param *p)
{
	return add_sphere(model, p->n, &(struct nb_sphere_law){.profile = NB_SPHERE_KING, .shape = p->w0});
}

static int add_dehnen(struct nb_model *model, const struct nb_model_param *p, double gamma)
{
	struct cut cut;
	if (take_cut(model, p, &cut))
		return NB_EINVAL;
	if (cut.henon > 0 && cut.henon < 1.1 * nb_sphere_dehnen_least(gamma))
		return refuse(model, "rmax is too small for this gamma: no such sphere has the energy -1/4");
	return add_sphere(model, p->n,
		&(struct nb_sphere_law){.profile = NB_SPHERE_DEHNEN,
			.shape = gamma,
			.cut = fmin(cut.henon > 0 ? nb_sphere_dehnen_cut(gamma, cut.henon) : cut.scaled, 1e12),
			.ra = p->ra,
			.scale = p->rscale});
}

static int dehnen(struct nb_model *model, const struct nb_model_param *p)
{
	return add_dehnen(model, p, p->gamma);
}

static int hernquist(struct nb_model *model, const struct nb_model_param *p)
{
	return add_dehnen(model, p, 1);
}

static int nfw(struct nb_model *model, const struct nb_model_param *p)
{
	return add_sphere(model, p->n,
		&(struct nb_sphere_law){
			.profile = NB_SPHERE_NFW, .shape = p->concentration, .ra = p->ra, .scale = p->rscale});
}

static int uniform(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->size <= tiny)
		return refuse(model, "size must be > 0");
	struct nb_model_part *part = add_part(model, NB_SAMPLE_CUBE, p->dim, p->n);
	part->length = p->size;
	part->speed = p->sigma;
	part->mass = 1 / (double)p->n;
	return NB_OK;
}

/* W of a homogeneous sphere is -3/5 G M^2 / R, of a disc -8/(3 pi) G M^2 / R.  T = virial |W|, and E = -1/4 fixes R
 * unless it is given. */
static int sphere(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->size != 0 && p->size <= tiny)
		return refuse(model, "size must be > 0");
	struct nb_model_part *part = add_part(model, NB_SAMPLE_BALL, p->dim, p->n);
	const double self = p->dim == 3 ? 0.6 : 8 / (3 * M_PI);
	part->length = p->size > 0 ? p->size : 4 * self * (1 - p->virial);
	part->speed = sqrt(2 * p->virial * self / part->length / p->dim);
	part->centred = 1;
	part->mass = 1 / (double)p->n;
	return NB_OK;
}

static int clusters(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->size <= tiny)
		return refuse(model, "size must be > 0");
	if (p->spread <= tiny)
		return refuse(model, "spread must be > 0");
	const int groups = p->dim == 3 ? 8 : 4;
	double mean[3] = {0};
	for (int g = 0; g < groups; g++) {
		const uint64_t n = p->n / (uint64_t)groups + ((uint64_t)g < p->n % (uint64_t)groups);
		struct nb_model_part *part = add_part(model, NB_SAMPLE_BALL, p->dim, n);
		part->length = p->spread;
		part->speed = p->sigma;
		part->species = g;
		part->centred = 1;
		part->mass = 1 / (double)p->n;
		for (int c = 0; c < p->dim; c++) {
			part->centre[c] = p->size * ((g >> c & 1) - 0.5);
			mean[c] += n ? part->centre[c] * (double)n / (double)p->n : 0;
		}
	}
	/* where the groups are not equal the cube moves */
	for (int g = 0; g < groups; g++)
		for (int c = 0; c < p->dim; c++)
			model->part[g].centre[c] -= mean[c];
	model->has_species = 1;
	return NB_OK;
}

static int boxes(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->per_box > (uint64_t)1 << (40 - 2 * p->level))
		return refuse(model, "per-box times the number of boxes must be at most 2^40");
	struct nb_model_part *part = add_part(model, NB_SAMPLE_BOXES, 2, p->per_box << 2 * p->level);
	part->speed = p->sigma;
	part->level = p->level;
	part->mass = 1 / (double)model->n;
	return NB_OK;
}

/* ---- galaxies ----------------------------------------------------------------------------------- */

/* Half of the bodies are the disk's, a tenth the bulge's, the rest the halo's; with fewer than ten bodies some
 * component has none, and the disk takes its mass. */
static void add_galaxy(struct nb_model *model, const struct nb_model_param *p, uint64_t n, double mass, int second,
	const double centre[3], const double motion[3], const double turn[9])
{
	const double fraction[NB_GALAXY_NCOMPONENT] = {p->disk, p->bulge, 1 - p->disk - p->bulge};
	uint64_t count[NB_GALAXY_NCOMPONENT];
	count[NB_GALAXY_HALO] = n / 10 * 4 + n % 10 * 4 / 10;
	count[NB_GALAXY_BULGE] = p->bulge > 0 ? n / 10 : 0;
	count[NB_GALAXY_DISK] = n - count[NB_GALAXY_HALO] - count[NB_GALAXY_BULGE];
	double disk_mass = 1;
	for (int c = NB_GALAXY_BULGE; c < NB_GALAXY_NCOMPONENT; c++)
		disk_mass -= count[c] ? fraction[c] : 0;
	for (int c = 0; c < NB_GALAXY_NCOMPONENT; c++) {
		struct nb_model_part *part = add_part(model, NB_SAMPLE_GALAXY, 3, count[c]);
		part->galaxy = model->galaxy;
		part->component = c;
		part->species = c + (second ? NB_GALAXY_NCOMPONENT : 0);
		/* galaxies of one surface density: length ~ mass^(1/2) */
		part->length = nb_galaxy_length(model->galaxy) * sqrt(mass);
		part->speed = sqrt(mass / part->length);
		part->mass = mass * (c == NB_GALAXY_DISK ? disk_mass : fraction[c]) / (double)count[c];
		part->centred = 1;
		memcpy(part->centre, centre, sizeof part->centre);
		memcpy(part->motion, motion, sizeof part->motion);
		memcpy(part->turn, turn, sizeof part->turn);
	}
	model->has_species = 1;
}

static int make_galaxy(struct nb_model *model, const struct nb_model_param *p)
{
	if (!(p->disk >= 1e-6) || !(p->disk + p->bulge <= 0.99))
		return refuse(
			model, "the disk must have at least 1e-6 of the mass, disk and bulge together at most 0.99");
	return nb_galaxy_create(p->disk, p->bulge, p->toomre, p->height, &model->galaxy);
}

static int disk(struct nb_model *model, const struct nb_model_param *p)
{
	static const double zero[3], upright[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
	int status = make_galaxy(model, p);
	if (status)
		return status;
	add_galaxy(model, p, p->n, 1, 0, zero, zero, upright);
	model->scale_radius = nb_galaxy_length(model->galaxy);
	return NB_OK;
}

/* Relative orbit (second minus first) of two point masses of total mass 1, separation s, moving inward; pericentre in
 * the direction of +x, turning towards +y.  p = r_p (1 + e), s = p / (1 + e cos nu). */
static void orbit(double pericentre, double e, double s, double pos[3], double vel[3])
{
	const double p = pericentre * (1 + e);
	double cosine = (p / s - 1) / e;
	cosine = cosine < -1 ? -1 : cosine > 1 ? 1 : cosine;
	const double sine = -sqrt((1 - cosine) * (1 + cosine)), v = sqrt(1 / p);
	pos[0] = s * cosine;
	pos[1] = s * sine;
	vel[0] = -v * sine;
	vel[1] = v * (e + cosine);
	pos[2] = vel[2] = 0;
}

static int merger(struct nb_model *model, const struct nb_model_param *p)
{
	const double e = p->eccentricity;
	if (p->separation <= p->pericentre)
		return refuse(model, "the separation must exceed the pericentre, and both must be > 0");
	if (e == 0)
		return refuse(model, "eccentricity and mass ratio must be > 0");
	if (e < 1 && p->separation > p->pericentre * (1 + e) / (1 - e) * (1 + 1e-12))
		return refuse(model, "the separation exceeds the apocentre of the orbit");
	int status = make_galaxy(model, p);
	if (status)
		return status;
	double pos[3], vel[3];
	orbit(p->pericentre, e, p->separation, pos, vel);
	double mass[2] = {1 / (1 + p->ratio), p->ratio / (1 + p->ratio)};
	uint64_t first = (uint64_t)llround((double)p->n * mass[0]);
	first = first == 0 ? 1 : first >= p->n && p->n > 1 ? p->n - 1 : first;
	if (p->n < 2) { /* one galaxy at most */
		first = p->n;
		mass[0] = 1;
		mass[1] = 0;
	}
	for (int k = 0; k < 2; k++) {
		const double share = k ? mass[0] : -mass[1];
		double centre[3], motion[3];
		for (int c = 0; c < 3; c++) {
			centre[c] = share * pos[c];
			motion[c] = share * vel[c];
		}
		/* R_z(node) R_x(inclination) */
		const double i = p->inclination[k] * M_PI / 180, w = p->node[k] * M_PI / 180;
		const double turn[9] = {cos(w), -sin(w) * cos(i), sin(w) * sin(i), sin(w), cos(w) * cos(i),
			-cos(w) * sin(i), 0, sin(i), cos(i)};
		add_galaxy(model, p, k ? p->n - first : first, mass[k], k, centre, motion, turn);
	}
	return NB_OK;
}

/* ---- systems of a few bodies -------------------------------------------------------------------- */

static void table_begin(struct nb_model *model, uint64_t n)
{
	add_part(model, NB_SAMPLE_TABLE, 3, n);
}

/* Shifts the table so that centre of mass and momentum vanish. */
static void table_centre(struct nb_model *model)
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
	double a, e, inclination, longitude, perihelion, node; /* AU, degrees */
	double inverse_mass;				       /* Sun / planet with its moons */
	double radius;					       /* km */
};
static const struct planet planets[] = {
	{0.38709927, 0.20563593, 7.00497902, 252.25032350, 77.45779628, 48.33076593, 6023600, 2439.4},
	{0.72333566, 0.00677672, 3.39467605, 181.97909950, 131.60246718, 76.67984255, 408523.719, 6051.8},
	{1.00000261, 0.01671123, -0.00001531, 100.46457166, 102.93768193, 0, 328900.5596, 6371.0084},
	{1.52371034, 0.09339410, 1.84969142, -4.55343205, -23.94362959, 49.55953891, 3098703.59, 3389.50},
	{5.20288700, 0.04838624, 1.30439695, 34.39644051, 14.72847983, 100.47390909, 1047.348644, 69911},
	{9.53667594, 0.05386179, 2.48599187, 49.95424423, 92.59887831, 113.66242448, 3497.9018, 58232},
	{19.18916464, 0.04725744, 0.77263783, 313.23810451, 170.95427630, 74.01692503, 22902.98, 25362},
	{30.06992276, 0.00859048, 1.77004347, -55.12002969, 44.96476227, 131.78422574, 19412.26, 24622}};
static const double au_km = 149597870.7, sun_radius = 695700;
static const double gauss_k = 0.01720209895; /* G = k^2 in AU^3 / (solar mass day^2) */

static void from_elements(const struct planet *p, double mu, double pos[3], double vel[3])
{
	const double degree = M_PI / 180;
	const double mean = remainder(p->longitude - p->perihelion, 360) * degree;
	double E = mean + p->e * sin(mean);
	for (int k = 0; k < 20; k++) { /* Newton on Kepler's equation, which squares the error at each step */
		const double change = (E - p->e * sin(E) - mean) / (1 - p->e * cos(E));
		E -= change;
		if (fabs(change) < 1e-9)
			break;
	}
	const double b = sqrt((1 - p->e) * (1 + p->e)), rate = sqrt(mu / p->a) / (1 - p->e * cos(E));
	const double plane[4] = {p->a * (cos(E) - p->e), p->a * b * sin(E), -rate * sin(E), rate * b * cos(E)};
	const double i = p->inclination * degree, node = p->node * degree, w = (p->perihelion - p->node) * degree;
	const double to[3][2] = {
		{cos(w) * cos(node) - sin(w) * sin(node) * cos(i), -sin(w) * cos(node) - cos(w) * sin(node) * cos(i)},
		{cos(w) * sin(node) + sin(w) * cos(node) * cos(i), -sin(w) * sin(node) + cos(w) * cos(node) * cos(i)},
		{sin(w) * sin(i), cos(w) * sin(i)}};
	for (int c = 0; c < 3; c++) {
		pos[c] = to[c][0] * plane[0] + to[c][1] * plane[1];
		vel[c] = to[c][0] * plane[2] + to[c][1] * plane[3];
	}
}

static int solar(struct nb_model *model, const struct nb_model_param *unused)
{
	(void)unused;
	table_begin(model, 9);
	model->G = gauss_k * gauss_k;
	model->mass[0] = 1;
	model->radius[0] = sun_radius / au_km;
	for (int i = 1; i < 9; i++) {
		const struct planet *p = &planets[i - 1];
		model->mass[i] = 1 / p->inverse_mass;
		model->radius[i] = p->radius / au_km;
		from_elements(p, model->G * (1 + model->mass[i]), &model->pos[3 * i], &model->vel[3 * i]);
	}
	table_centre(model);
	model->has_species = model->has_radius = 1;
	return NB_OK;
}

static int figure8(struct nb_model *model, const struct nb_model_param *unused)
{
	static const double x = 0.97000435669734, y = -0.24308753153583;
	static const double vx = -0.93240737144104, vy = -0.86473146092102;
	const double pos[9] = {x, y, 0, -x, -y, 0, 0, 0, 0};
	const double vel[9] = {-vx / 2, -vy / 2, 0, -vx / 2, -vy / 2, 0, vx, vy, 0};
	(void)unused;
	table_begin(model, 3);
	memcpy(model->pos, pos, sizeof pos);
	memcpy(model->vel, vel, sizeof vel);
	for (int i = 0; i < 3; i++)
		model->mass[i] = 1;
	return NB_OK;
}

static int kepler(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->eccentricity >= 1)
		return refuse(model, "eccentricity must be at least 0 and below 1");
	table_begin(model, 2);
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
static int ring(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->inner >= p->outer)
		return refuse(model, "the outer radius must exceed the inner one");
	if (!(p->eccentricity <= 0.5))
		return refuse(model, "eccentricity must be at least 0 and at most 0.5");
	if (p->n > 0)
		table_begin(model, 1);
	const uint64_t n = p->n > 0 ? p->n - 1 : 0;
	model->mass[0] = n > 0 ? 1 - p->ring_mass : 1;
	struct nb_model_part *part = add_part(model, NB_SAMPLE_RING, p->dim, n);
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
static void ring_block(
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
		const struct planet orbit = {.a = sqrt(inner2 + u[0] * (outer2 - inner2)),
			.e = rayleigh(ring->eccentricity, w[0]),
			.inclination = part->dim == 2 ? 0 : rayleigh(ring->eccentricity / 2, w[1]) * 180 / M_PI,
			.longitude = 360 * u[1],
			.perihelion = 360 * v[0],
			.node = 360 * v[1]};
		from_elements(&orbit, ring->mass, x, y);
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

/* ---- bodies of a part --------------------------------------------------------------------------- */

typedef void draw_function(const struct nb_model_part *, uint64_t, int, uint64_t, size_t, double *);
typedef void shift_function(size_t, int, const double[3], double *);

struct kernels {
	draw_function *draw;
	shift_function *shift;
};

static struct kernels choose(void)
{
#ifdef __x86_64__
	switch (nb_cpu_isa()) {
	case NB_ISA_AVX512: return (struct kernels){nb_model_draw_avx512, nb_model_shift_avx512};
	case NB_ISA_AVX2: return (struct kernels){nb_model_draw_avx2, nb_model_shift_avx2};
	default: break;
	}
#endif
	return (struct kernels){nb_model_draw_plain, nb_model_shift_plain};
}

/* One block of a part whose positions and velocities are made together, since signs go by both. */
static int pair_block(const struct nb_model *model, const struct nb_model_part *part, int vel, uint64_t start,
	size_t count, double *out)
{
	double *other = nb_alloc(3 * NB_MODEL_BLOCK, sizeof *other);
	if (!other)
		return NB_ENOMEM;
	double *pos = vel ? other : out, *v = vel ? out : other;
	if (part->sampler == NB_SAMPLE_GALAXY)
		nb_galaxy_draw(part->galaxy, (enum nb_galaxy_component)part->component, model->seed, part->stream,
			start, count, pos, v);
	else
		ring_block(part, model->seed, start, count, pos, v);
	const double scale = vel ? part->speed : part->length, *t = part->turn;
	for (size_t i = 0; i < count; i++) {
		double *a = out + 3 * i;
		const double x = a[0] * scale, y = a[1] * scale, z = a[2] * scale;
		a[0] = t[0] * x + t[1] * y + t[2] * z;
		a[1] = t[3] * x + t[4] * y + t[5] * z;
		a[2] = t[6] * x + t[7] * y + t[8] * z;
	}
	nb_free(other);
	return NB_OK;
}

static int whole_block(const struct kernels *kernels, const struct nb_model *model, const struct nb_model_part *part,
	int vel, uint64_t start, size_t count, double *out)
{
	if (part->sampler == NB_SAMPLE_SPHERE) {
		nb_sphere_draw(part->sphere, model->seed, part->stream, vel, start, count, out);
		const double scale = vel ? part->speed : part->length;
		for (size_t i = 0; i < 3 * count; i++)
			out[i] *= scale;
	} else if (part->sampler == NB_SAMPLE_GALAXY || part->sampler == NB_SAMPLE_RING) {
		int status = pair_block(model, part, vel, start, count, out);
		if (status)
			return status;
	} else {
		kernels->draw(part, model->seed, vel, start, count, out);
	}
	kernels->shift(count, !part->whole && (vel || part->centred), vel ? part->motion : part->centre, out);
	return NB_OK;
}

static double mass_of(const struct nb_model *model, const struct nb_model_part *part, uint64_t i)
{
	if (part->sampler == NB_SAMPLE_TABLE)
		return model->mass[i];
	if (!part->imf)
		return part->mass;
	const struct source from = {model->seed, i, part->stream};
	double u[2];
	draw(&from, DRAW_MASS, u);
	return part->mass * nb_imf_mass(part->imf, u[0]);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

/* Of a number of bodies: mass, mass times position, mass times velocity. */
struct moment {
	double mass, pos[3], vel[3];
};

static int block_moment(const struct kernels *kernels, const struct nb_model *model, const struct nb_model_part *part,
	uint64_t start, struct moment *sum)
{
	const uint64_t left = part->n - start;
	const size_t count = left < NB_MODEL_BLOCK ? (size_t)left : (size_t)NB_MODEL_BLOCK;
	double *pos = nb_alloc(6 * NB_MODEL_BLOCK, sizeof *pos), *vel = pos + 3 * NB_MODEL_BLOCK;
	int status = pos ? whole_block(kernels, model, part, 0, start, count, pos) : NB_ENOMEM;
	if (status == NB_OK)
		status = whole_block(kernels, model, part, 1, start, count, vel);
	memset(sum, 0, sizeof *sum);
	for (size_t i = 0; i < count && status == NB_OK; i++) {
		const double mass = mass_of(model, part, start + i);
		sum->mass += mass;
		for (int c = 0; c < 3; c++) {
			sum->pos[c] += mass * pos[3 * i + c];
			sum->vel[c] += mass * vel[3 * i + c];
		}
	}
	nb_free(pos);
	return status;
}

/* Adds a part; block by block, so that the sum is the same for any number of threads. */
static int add_moment(const struct nb_model *model, const struct nb_model_part *part, struct moment *sum)
{
	const struct kernels kernels = choose();
	const int64_t n = (int64_t)((part->n + NB_MODEL_BLOCK - 1) / NB_MODEL_BLOCK);
	struct moment *block = nb_alloc((size_t)n, sizeof *block);
	int status = block || n == 0 ? NB_OK : NB_ENOMEM;
#pragma omp parallel for schedule(dynamic) if (status == NB_OK)
	for (int64_t b = 0; b < (block ? n : 0); b++) {
		int got = block_moment(&kernels, model, part, (uint64_t)b * NB_MODEL_BLOCK, &block[b]);
		if (got) {
#pragma omp atomic write
			status = got;
		}
	}
	for (int64_t b = 0; b < n && status == NB_OK; b++) {
		sum->mass += block[b].mass;
		for (int c = 0; c < 3; c++) {
			sum->pos[c] += block[b].pos[c];
			sum->vel[c] += block[b].vel[c];
		}
	}
	nb_free(block);
	return status;
}

/* Brings the centre of mass and the momentum of parts that are not centred block by block to 0, and the masses of a
 * mass function to a total of 1. */
static int settle(struct nb_model *model)
{
	struct moment sum = {0};
	for (size_t k = 0; k < model->npart; k++) {
		const struct nb_model_part *part = &model->part[k];
		if (part->sampler == NB_SAMPLE_TABLE) {
			sum.mass += model->mass[0];
			continue;
		}
		int status = add_moment(model, part, &sum);
		if (status)
			return status;
	}
	model->drawn = sum.mass;
	for (size_t k = 0; k < model->npart && sum.mass > 0; k++) {
		struct nb_model_part *part = &model->part[k];
		part->mass = part->imf ? part->mass / sum.mass : part->mass;
		for (int c = 0; c < 3; c++) {
			double *x = part->sampler == NB_SAMPLE_TABLE ? &model->pos[c] : &part->centre[c];
			double *v = part->sampler == NB_SAMPLE_TABLE ? &model->vel[c] : &part->motion[c];
			*x -= part->centred ? sum.pos[c] / sum.mass : 0;
			*v -= sum.vel[c] / sum.mass;
		}
	}
	return NB_OK;
}

static int take_imf(struct nb_model *model, const struct nb_model_param *p)
{
	if (nb_model_takes(p->kind, NB_PARAMETER_imf) && p->imf != NB_IMF_NONE) {
		nb_imf_init(&model->imf, (enum nb_imf_kind)p->imf, p->mass_range[0], p->mass_range[1]);
		for (size_t k = 0; k < model->npart; k++) {
			model->part[k].imf = &model->imf;
			model->part[k].mass = 1;
			model->part[k].whole = 1;
		}
	}
	return model->npart && model->part[model->npart - 1].whole ? settle(model) : NB_OK;
}

/* Velocities that follow from gravity go as sqrt(G M / length). */
static int rescale(struct nb_model *model, const struct nb_model_param *p)
{
	if (!nb_model_takes(p->kind, NB_PARAMETER_mass))
		return NB_OK;
	const int drawn = nb_model_takes(p->kind, NB_PARAMETER_imf) && p->imf != NB_IMF_NONE && p->imf_total &&
			  model->drawn > 0;
	const double mass = drawn ? model->drawn : p->mass,
		     length = p->rscale > 0 && model->scale_radius > 0 ? p->rscale / model->scale_radius : 1;
	const double speed = nb_model_takes(p->kind, NB_PARAMETER_sigma) ? 1 : sqrt(p->G) * sqrt(mass) / sqrt(length);
	if (!(speed > tiny && speed < 1 / tiny && length > tiny && length < 1 / tiny))
		return refuse(model, "mass, rscale and G give lengths or velocities out of range");
	model->G *= p->G;
	model->total = mass;
	for (size_t k = 0; k < model->npart; k++) {
		struct nb_model_part *part = &model->part[k];
		part->mass *= mass;
		part->length *= length;
		part->speed *= speed;
		for (int c = 0; c < 3; c++) {
			part->centre[c] *= length;
			part->motion[c] *= speed;
		}
	}
	for (int i = 0; i < MAX_TABLE; i++) {
		model->mass[i] *= mass;
		for (int c = 0; c < 3; c++) {
			model->pos[3 * i + c] *= length;
			model->vel[3 * i + c] *= speed;
		}
	}
	return NB_OK;
}

/* ---- interface ---------------------------------------------------------------------------------- */

static build_function *const build[NB_MODEL_NKIND] = {
#define NB_MODEL(id, name, ...) [NB_MODEL_##id] = name,
#include "kernels/models/model.def"
};

int nb_model_create(const struct nb_model_param *param, struct nb_model **out, const char **why)
{
	*out = NULL;
	*why = nb_model_invalid(param);
	if (*why)
		return NB_EINVAL;
	struct nb_model *model = nb_alloc_zero(1, sizeof *model);
	if (!model)
		return NB_ENOMEM;
	model->seed = param->seed;
	model->G = 1;
	if (nb_model_takes(param->kind, NB_PARAMETER_radius) && param->radius >= 0) {
		model->has_radius = 1;
		for (int i = 0; i < MAX_TABLE; i++)
			model->radius[i] = param->radius;
	}
	int status = build[param->kind](model, param);
	if (status == NB_OK)
		status = take_imf(model, param);
	if (status == NB_OK)
		status = rescale(model, param);
	if (status) {
		*why = model->why;
		nb_model_free(model);
		return status;
	}
	*out = model;
	return NB_OK;
}

void nb_model_free(struct nb_model *model)
{
	if (model) {
		nb_galaxy_free(model->galaxy);
		nb_sphere_free(model->sphere);
	}
	nb_free(model);
}

uint64_t nb_model_count(const struct nb_model *model)
{
	return model->n;
}

double nb_model_mass(const struct nb_model *model)
{
	return model->total;
}

double nb_model_G(const struct nb_model *model)
{
	return model->G;
}

int nb_model_has_species(const struct nb_model *model)
{
	return model->has_species;
}

int nb_model_has_radius(const struct nb_model *model)
{
	return model->has_radius;
}

/* Bodies [from, to) of a part, which lie in one block. */
static int block_range(const struct kernels *kernels, const struct nb_model *model, const struct nb_model_part *part,
	int vel, uint64_t from, uint64_t to, double *out)
{
	const uint64_t start = from / NB_MODEL_BLOCK * NB_MODEL_BLOCK, left = part->n - start;
	const size_t count = left < NB_MODEL_BLOCK ? (size_t)left : (size_t)NB_MODEL_BLOCK;
	if (from == start && to - from == count)
		return whole_block(kernels, model, part, vel, start, count, out);
	double *block = nb_alloc(3 * NB_MODEL_BLOCK, sizeof *block);
	if (!block)
		return NB_ENOMEM;
	int status = whole_block(kernels, model, part, vel, start, count, block);
	if (status == NB_OK)
		memcpy(out, block + 3 * (from - start), 3 * (size_t)(to - from) * sizeof *out);
	nb_free(block);
	return status;
}

/* Bodies [from, to) of a part. */
static int part_range(const struct nb_model *model, const struct nb_model_part *part, enum nb_model_field field,
	uint64_t from, uint64_t to, double *out)
{
	if (field == NB_MODEL_MASS || field == NB_MODEL_RADIUS) {
#pragma omp parallel for if (part->imf && to - from > NB_MODEL_BLOCK)
		for (uint64_t i = from; i < to; i++)
			out[i - from] = field == NB_MODEL_MASS		   ? mass_of(model, part, i)
					: part->sampler == NB_SAMPLE_TABLE ? model->radius[i]
									   : model->radius[0];
		return NB_OK;
	}
	const int vel = field == NB_MODEL_VEL;
	if (part->sampler == NB_SAMPLE_TABLE) {
		memcpy(out, (vel ? model->vel : model->pos) + 3 * from, 3 * (size_t)(to - from) * sizeof *out);
		return NB_OK;
	}
	const struct kernels kernels = choose();
	const int64_t first = (int64_t)(from / NB_MODEL_BLOCK), last = (int64_t)((to - 1) / NB_MODEL_BLOCK);
	int status = NB_OK;
#pragma omp parallel for schedule(dynamic) if (last > first)
	for (int64_t b = first; b <= last; b++) {
		const uint64_t low = (uint64_t)b * NB_MODEL_BLOCK, high = low + NB_MODEL_BLOCK;
		const uint64_t a = low > from ? low : from, z = high < to ? high : to;
		int got = block_range(&kernels, model, part, vel, a, z, out + 3 * (a - from));
		if (got) {
#pragma omp atomic write
			status = got;
		}
	}
	return status;
}

int nb_model_fill(const struct nb_model *model, enum nb_model_field field, uint64_t first, size_t count, double *out)
{
	const size_t ncomp = field == NB_MODEL_POS || field == NB_MODEL_VEL ? 3 : 1;
	if (first > model->n || count > model->n - first || (field == NB_MODEL_RADIUS && !model->has_radius))
		return NB_EINVAL;
	for (size_t p = 0; p < model->npart; p++) {
		const struct nb_model_part *part = &model->part[p];
		const uint64_t end = part->first + part->n, last = first + count;
		const uint64_t from = first > part->first ? first : part->first, to = last < end ? last : end;
		if (from >= to)
			continue;
		int status = part_range(
			model, part, field, from - part->first, to - part->first, out + ncomp * (from - first));
		if (status)
			return status;
	}
	return NB_OK;
}

void nb_model_species(const struct nb_model *model, uint64_t first, size_t count, uint8_t *out)
{
	for (size_t p = 0, i = 0; i < count; i++) {
		while (p + 1 < model->npart && first + i >= model->part[p].first + model->part[p].n)
			p++;
		const struct nb_model_part *part = &model->part[p];
		if (part->sampler == NB_SAMPLE_TABLE)
			out[i] = model->has_species ? (uint8_t)(first + i) : 0;
		else
			out[i] = (uint8_t)part->species;
	}
}
