/* The models that are made of parts: one, eight (clusters), or a galaxy or two. */
#include "kernels/models/model_internal.h"

#include "kernels/models/galaxy_internal.h"
#include "kernels/models/sphere_internal.h"

#include <math.h>
#include <string.h>

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
		return nb_model_refuse(model, "rmax must be at least 1.5");
	if (cut->scaled > 0 && !(cut->scaled >= 0.1))
		return nb_model_refuse(model, "rmax must be at least a tenth of rscale");
	return NB_OK;
}

static int add_sphere(struct nb_model *model, uint64_t n, const struct nb_sphere_law *law)
{
	int status = nb_sphere_create(law, &model->sphere);
	if (status == NB_EINVAL)
		return nb_model_refuse(
			model, "ra is too small for this profile: the density of some velocities would be negative");
	if (status)
		return status;
	struct nb_model_part *part = nb_model_add_part(model, NB_SAMPLE_SPHERE, 3, n);
	part->sphere = model->sphere;
	part->length = model->scale_radius = nb_sphere_length(model->sphere);
	part->speed = nb_sphere_speed(model->sphere);
	part->centred = 1;
	part->mass = 1 / (double)n;
	return NB_OK;
}

/* Cut at rmax, then scaled so that T = 1/4 and W = -1/2: length = 2 |W|, rmax = length r(mu). */
int nb_model_build_plummer(struct nb_model *model, const struct nb_model_param *p)
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
	if (p->ra > 0 || p->binaries > 0 || (p->imf && p->segregation > 0)) /* what needs bodies one by one, or psi */
		return add_sphere(model, p->n,
			&(struct nb_sphere_law){.profile = NB_SPHERE_PLUMMER,
				.cut = low / sqrt((1 - low) * (1 + low)),
				.length = -2 * epot,
				.ra = p->ra,
				.scale = p->rscale});
	struct nb_model_part *part = nb_model_add_part(model, NB_SAMPLE_PLUMMER, 3, p->n);
	part->mu = low;
	part->length = -2 * epot;
	part->speed = sqrt(2) * sqrt(0.25 / ekin); /* v_esc = sqrt(2) psi^(1/2) */
	part->centred = 1;
	part->mass = 1 / (double)p->n;
	model->scale_radius = part->length;
	return NB_OK;
}

int nb_model_build_king(struct nb_model *model, const struct nb_model_param *p)
{
	return add_sphere(model, p->n, &(struct nb_sphere_law){.profile = NB_SPHERE_KING, .shape = p->w0});
}

static int add_dehnen(struct nb_model *model, const struct nb_model_param *p, double gamma)
{
	struct cut cut;
	if (take_cut(model, p, &cut))
		return NB_EINVAL;
	if (cut.henon > 0 && cut.henon < 1.1 * nb_sphere_dehnen_least(gamma))
		return nb_model_refuse(model, "rmax is too small for this gamma: no such sphere has the energy -1/4");
	return add_sphere(model, p->n,
		&(struct nb_sphere_law){.profile = NB_SPHERE_DEHNEN,
			.shape = gamma,
			.cut = fmin(cut.henon > 0 ? nb_sphere_dehnen_cut(gamma, cut.henon) : cut.scaled, 1e12),
			.ra = p->ra,
			.scale = p->rscale});
}

int nb_model_build_dehnen(struct nb_model *model, const struct nb_model_param *p)
{
	return add_dehnen(model, p, p->gamma);
}

int nb_model_build_hernquist(struct nb_model *model, const struct nb_model_param *p)
{
	return add_dehnen(model, p, 1);
}

int nb_model_build_nfw(struct nb_model *model, const struct nb_model_param *p)
{
	return add_sphere(model, p->n,
		&(struct nb_sphere_law){
			.profile = NB_SPHERE_NFW, .shape = p->concentration, .ra = p->ra, .scale = p->rscale});
}

int nb_model_build_uniform(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->size <= tiny)
		return nb_model_refuse(model, "size must be > 0");
	struct nb_model_part *part = nb_model_add_part(model, NB_SAMPLE_CUBE, p->dim, p->n);
	part->length = p->size;
	part->speed = p->sigma;
	part->mass = 1 / (double)p->n;
	return NB_OK;
}

/* W of a homogeneous sphere is -3/5 G M^2 / R, of a disc -8/(3 pi) G M^2 / R.  T = virial |W|, and E = -1/4 fixes R
 * unless it is given. */
int nb_model_build_sphere(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->size != 0 && p->size <= tiny)
		return nb_model_refuse(model, "size must be > 0");
	struct nb_model_part *part = nb_model_add_part(model, NB_SAMPLE_BALL, p->dim, p->n);
	const double self = p->dim == 3 ? 0.6 : 8 / (3 * M_PI);
	part->length = p->size > 0 ? p->size : 4 * self * (1 - p->virial);
	part->speed = sqrt(2 * p->virial * self / part->length / p->dim);
	part->centred = 1;
	part->mass = 1 / (double)p->n;
	return NB_OK;
}

int nb_model_build_clusters(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->size <= tiny)
		return nb_model_refuse(model, "size must be > 0");
	if (p->spread <= tiny)
		return nb_model_refuse(model, "spread must be > 0");
	const int groups = p->dim == 3 ? 8 : 4;
	double mean[3] = {0};
	for (int g = 0; g < groups; g++) {
		const uint64_t n = p->n / (uint64_t)groups + ((uint64_t)g < p->n % (uint64_t)groups);
		struct nb_model_part *part = nb_model_add_part(model, NB_SAMPLE_BALL, p->dim, n);
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

int nb_model_build_boxes(struct nb_model *model, const struct nb_model_param *p)
{
	if (p->per_box > (uint64_t)1 << (40 - 2 * p->level))
		return nb_model_refuse(model, "per-box times the number of boxes must be at most 2^40");
	struct nb_model_part *part = nb_model_add_part(model, NB_SAMPLE_BOXES, 2, p->per_box << 2 * p->level);
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
		struct nb_model_part *part = nb_model_add_part(model, NB_SAMPLE_GALAXY, 3, count[c]);
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
		return nb_model_refuse(
			model, "the disk must have at least 1e-6 of the mass, disk and bulge together at most 0.99");
	return nb_galaxy_create(p->disk, p->bulge, p->toomre, p->height, &model->galaxy);
}

int nb_model_build_disk(struct nb_model *model, const struct nb_model_param *p)
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

int nb_model_build_merger(struct nb_model *model, const struct nb_model_param *p)
{
	const double e = p->eccentricity;
	if (p->separation <= p->pericentre)
		return nb_model_refuse(model, "the separation must exceed the pericentre, and both must be > 0");
	if (e == 0)
		return nb_model_refuse(model, "eccentricity and mass ratio must be > 0");
	if (e < 1 && p->separation > p->pericentre * (1 + e) / (1 - e) * (1 + 1e-12))
		return nb_model_refuse(model, "the separation exceeds the apocentre of the orbit");
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
