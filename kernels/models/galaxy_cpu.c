/* Disk galaxies; the method is described in galaxy.h.  Tables are made once per model, then each body costs two table
 * look-ups and a few elementary functions. */
#include "kernels/models/galaxy_internal.h"

#include "common/mem.h"
#include "kernels/models/sample_internal.h"

enum {
	NF = 256,    /* energies at which f is known, as radii in equal steps of log r */
	NR = 256,    /* radii of the tables of masses and speeds */
	NQ = 160,    /* quantiles of the speed at each radius */
	NSTEP = 320, /* steps of an integral over energy */
	NDISK = 2048 /* radii of the table of the disk */
};
static const double disk_cut = 10;
static const double bulge_a = 0.2, bulge_cut = 10, halo_a = 4, halo_cut = 60;
static const double q_radius = 2.5, core = 0.125; /* where Q is set; (length/4)^2 * 2 of Hernquist 1993 */

/* Hernquist sphere without the bodies whose orbits reach beyond cut. */
struct spheroid {
	double mass; /* of the whole sphere, so that what is left has the mass that was asked for */
	double a, cut;
	double log_first, log_step; /* radii of the tables: the last one is cut */
	double log_inside[NR];	    /* log of the part of the mass inside */
	double speed[NR][NQ];	    /* q-quantile of the speed */
};

struct nb_galaxy {
	double disk_mass, height, length;
	struct spheroid bulge, halo;
	double quantile[NQ];		       /* the probabilities q */
	double sigma2_scale;		       /* sigma_R^2 = sigma2_scale exp(-sqrt(R^2 + core)) */
	struct nb_galaxy_disk disk[NDISK + 1]; /* at R = i disk_cut / NDISK, i >= 1; 0 is a copy of 1 */
};

/* ---- the potential ------------------------------------------------------------------------------ */

/* Of a sphere around r: mass inside, its derivative, potential (> 0). */
struct inside {
	double mass, slope, psi;
};

static void add_spheroid(struct inside *in, const struct spheroid *s, double r)
{
	const double x = r + s->a;
	in->mass += s->mass * r * r / (x * x);
	in->slope += s->mass * 2 * s->a * r / (x * x * x);
	in->psi += s->mass / x;
}

/* All three components, the disk's mass inside R taken as inside r. */
static struct inside inside_of(const struct nb_galaxy *g, double r)
{
	struct inside in = {0, 0, 0};
	const double rest = exp(-r);
	in.mass = g->disk_mass * (-expm1(-r) - r * rest);
	in.slope = g->disk_mass * r * rest;
	in.psi = g->disk_mass * -expm1(-r) / r;
	add_spheroid(&in, &g->bulge, r);
	add_spheroid(&in, &g->halo, r);
	return in;
}

/* ---- speeds in a spheroid ----------------------------------------------------------------------- */

/* d^2 rho / d psi^2 times |d psi / d ln r|, at r */
static double curvature(const struct nb_galaxy *g, const struct spheroid *s, double r)
{
	const struct inside in = inside_of(g, r);
	const double x = r + s->a;
	const double rho = s->mass * s->a / (2 * M_PI * r * x * x * x);
	const double fall = 1 / r + 3 / x; /* -d ln rho / dr */
	const double rho1 = -rho * fall, rho2 = rho * (fall * fall + 1 / (r * r) + 3 / (x * x));
	const double psi1 = -in.mass / (r * r), psi2 = (2 * in.mass / r - in.slope) / (r * r);
	return (rho2 * psi1 - rho1 * psi2) / (psi1 * psi1 * psi1) * -psi1 * r;
}

/* f at energy psi(r), Eddington's formula (Binney & Tremaine eq. 4.46b; the boundary term is 0 for this profile).  With
 * r' = r exp(t^2) the root in the denominator is harmless at t = 0; the midpoint rule never meets it. */
static double eddington(const struct nb_galaxy *g, const struct spheroid *s, double r, double far)
{
	const double psi = inside_of(g, r).psi, dt = sqrt(log(far / r)) / NSTEP;
	double sum = 0;
	for (int k = 0; k < NSTEP; k++) {
		const double t = (k + 0.5) * dt, r1 = r * exp(t * t);
		sum += curvature(g, s, r1) * 2 * t / sqrt(psi - inside_of(g, r1).psi);
	}
	return sum * dt / (sqrt(8) * M_PI * M_PI);
}

/* Tables of the bodies with energy above psi(cut): at each radius v^2 f(psi - v^2/2), with v from 0 (r' = r) to
 * the speed that just reaches cut.  Returns their mass. */
static double tabulate(const struct nb_galaxy *g, struct spheroid *s)
{
	const double near = 1e-4 * s->a, f_step = log(s->cut / near) / (NF - 1);
	double log_f[NF], density[NR];
	for (int i = 0; i < NF; i++) {
		const double f = eddington(g, s, near * exp(i * f_step), 1e6 * s->cut);
		log_f[i] = f > 0 ? log(f) : -700;
	}
	s->log_first = log(near);
	s->log_step = log(s->cut / near) / (NR - 1);
	for (int i = 0; i < NR; i++) {
		const double r = near * exp(i * s->log_step), psi = inside_of(g, r).psi;
		const double dt = i < NR - 1 ? sqrt(log(s->cut / r)) / NSTEP : 0;
		double v[NSTEP + 1], sum[NSTEP + 1], last = 0;
		v[0] = sum[0] = 0;
		for (int k = 1; k <= NSTEP; k++) {
			const double t = k * dt, r1 = r * exp(t * t), rest = psi - inside_of(g, r1).psi;
			v[k] = rest > 0 ? sqrt(2 * rest) : 0;
			const double place = log(r1 / near) / f_step;
			int j = (int)place;
			j = j > NF - 2 ? NF - 2 : j;
			const double here = v[k] * v[k] * exp(log_f[j] + (place - j) * (log_f[j + 1] - log_f[j]));
			sum[k] = sum[k - 1] + (here + last) * (v[k] - v[k - 1]) / 2;
			last = here;
		}
		density[i] = 4 * M_PI * sum[NSTEP];
		for (int q = 0, k = 0; q < NQ; q++) {
			const double want = g->quantile[q] * sum[NSTEP];
			while (k < NSTEP - 1 && sum[k + 1] < want)
				k++;
			const double width = sum[k + 1] - sum[k];
			const double part = width > 0 ? (want - sum[k]) / width : 0;
			s->speed[i][q] = v[k] + (part < 1 ? part : 1) * (v[k + 1] - v[k]);
		}
	}
	/* mass inside: rho ~ 1 / r within the first radius, then the trapezoidal rule in log r */
	double mass[NR];
	mass[0] = 2 * M_PI * density[0] * near * near * near;
	for (int i = 1; i < NR; i++) {
		const double r0 = near * exp((i - 1) * s->log_step), r1 = near * exp(i * s->log_step);
		mass[i] = mass[i - 1] +
			  2 * M_PI * s->log_step * (density[i - 1] * r0 * r0 * r0 + density[i] * r1 * r1 * r1);
	}
	for (int i = 0; i < NR; i++)
		s->log_inside[i] = log(mass[i] / mass[NR - 1]);
	return mass[NR - 1];
}

/* Radius inside which the fraction u of the mass lies. */
static double radius_of(const struct spheroid *s, double u)
{
	const double want = log(u);
	if (want < s->log_inside[0]) /* M ~ r^2 */
		return exp(s->log_first + (want - s->log_inside[0]) / 2);
	int low = 0, high = NR - 1;
	while (high - low > 1) {
		const int middle = (low + high) / 2;
		if (s->log_inside[middle] <= want)
			low = middle;
		else
			high = middle;
	}
	const double part = (want - s->log_inside[low]) / (s->log_inside[high] - s->log_inside[low]);
	return exp(s->log_first + (low + part) * s->log_step);
}

/* The part of the mass inside r. */
static double part_inside(const struct spheroid *s, double r)
{
	const double place = (log(r) - s->log_first) / s->log_step;
	if (place < 0)
		return exp(s->log_inside[0] + 2 * place * s->log_step);
	if (place >= NR - 1)
		return 1;
	const int i = (int)place;
	return exp(s->log_inside[i] + (place - i) * (s->log_inside[i + 1] - s->log_inside[i]));
}

static double speed_in(const struct nb_galaxy *g, const struct spheroid *s, double r, double u)
{
	double place = (log(r) - s->log_first) / s->log_step;
	place = place < 0 ? 0 : place > NR - 1 ? NR - 1 : place;
	int i = (int)place;
	i = i > NR - 2 ? NR - 2 : i;
	place -= i;
	int low = 0, high = NQ - 1;
	while (high - low > 1) {
		const int middle = (low + high) / 2;
		if (g->quantile[middle] <= u)
			low = middle;
		else
			high = middle;
	}
	const double part = (u - g->quantile[low]) / (g->quantile[high] - g->quantile[low]);
	const double v0 = s->speed[i][low] + part * (s->speed[i][high] - s->speed[i][low]);
	const double v1 = s->speed[i + 1][low] + part * (s->speed[i + 1][high] - s->speed[i + 1][low]);
	return v0 + place * (v1 - v0);
}

/* ---- the disk ----------------------------------------------------------------------------------- */

/* Modified Bessel functions of order 0 and 1 from their integrals; the trapezoidal rule converges exponentially. */
static void bessel(double y, double *i0, double *i1, double *k0, double *k1)
{
	enum { N = 64 };
	*i0 = *i1 = *k0 = *k1 = 0;
	for (int k = 0; k < N; k++) {
		const double c = cos(2 * M_PI * k / N);
		*i0 += exp(y * c) / N;
		*i1 += exp(y * c) * c / N;
	}
	const double step = 0.05;
	for (int k = 0;; k++) {
		const double c = cosh(k * step), term = exp(-y * c) * step * (k ? 1 : 0.5);
		*k0 += term;
		*k1 += term * c;
		if (y * c > 700)
			break;
	}
}

static struct nb_galaxy_disk disk_at(const struct nb_galaxy *g, double R)
{
	double i0, i1, k0, k1;
	const double y = R / 2, m = g->disk_mass;
	bessel(y, &i0, &i1, &k0, &k1);
	struct inside round = {0, 0, 0};
	add_spheroid(&round, &g->bulge, R);
	add_spheroid(&round, &g->halo, R);
	/* Binney & Tremaine eq. 2.165: v^2 = 4 pi G Sigma_0 y^2 (I0 K0 - I1 K1), Sigma_0 = m / (2 pi) */
	const double v2 = 2 * m * y * y * (i0 * k0 - i1 * k1) + round.mass / R;
	const double slope = 2 * m * (y * i0 * k0 + y * y * (i1 * k0 - i0 * k1)) /* d v_disk^2 / dR; dy/dR = 1/2 */
			     + round.slope / R - round.mass / (R * R);
	const double omega2 = v2 / (R * R), kappa2 = 2 * omega2 + slope / R;
	const double sigma = m / (2 * M_PI) * exp(-R);
	const double smooth = sqrt(R * R + core), sigma_R2 = g->sigma2_scale * exp(-smooth);
	const double ratio = kappa2 / (4 * omega2);
	const double drift = v2 + sigma_R2 * (1 - ratio - R - R * R / smooth);
	const double z2 = M_PI * M_PI / 12 * g->height * g->height, r = sqrt(R * R + z2);
	struct inside tall = {0, 0, 0};
	add_spheroid(&tall, &g->bulge, r);
	add_spheroid(&tall, &g->halo, r);
	struct nb_galaxy_disk d;
	d.vcirc = sqrt(v2);
	d.kappa = sqrt(kappa2);
	d.sigma_R = sqrt(sigma_R2);
	d.sigma_phi = sqrt(sigma_R2 * ratio);
	d.sigma_z = sqrt(M_PI * sigma * g->height + z2 * tall.mass / (r * r * r));
	d.vphi = drift > 0 ? sqrt(drift) : 0;
	return d;
}

void nb_galaxy_disk_at(const struct nb_galaxy *galaxy, double R, struct nb_galaxy_disk *disk)
{
	*disk = disk_at(galaxy, R);
}

/* ---- making ------------------------------------------------------------------------------------- */

static void spheroid_init(struct spheroid *s, double mass, double a, double cut)
{
	s->mass = mass;
	s->a = a;
	s->cut = cut;
}

/* Potential energy with all mass in spheres: -int M dM / r, in steps of log r. */
static double potential_energy(const struct nb_galaxy *g, double bulge, double halo)
{
	enum { N = 4096 };
	const double first = log(1e-5), last = log(halo_cut), step = (last - first) / N;
	double sum = 0, before = 0;
	for (int i = 1; i <= N; i++) {
		const double r = exp(first + i * step), middle = exp(first + (i - 0.5) * step);
		double mass = g->disk_mass * (-expm1(-r) - r * exp(-r)) + halo * part_inside(&g->halo, r);
		mass += bulge > 0 ? bulge * part_inside(&g->bulge, r) : 0;
		sum -= (mass * mass - before * before) / (2 * middle);
		before = mass;
	}
	return sum;
}

int nb_galaxy_create(double disk, double bulge, double toomre, double height, struct nb_galaxy **galaxy)
{
	struct nb_galaxy *g = nb_alloc_zero(1, sizeof *g);
	*galaxy = g;
	if (!g)
		return NB_ENOMEM;
	g->disk_mass = disk;
	g->height = height;
	spheroid_init(&g->bulge, bulge, bulge_a, bulge_cut);
	spheroid_init(&g->halo, 1 - disk - bulge, halo_a, halo_cut);
	for (int q = 0; q < NQ; q++) { /* dense at both ends */
		const double s = (double)q / (NQ - 1);
		g->quantile[q] = s * s * s * (4 - 3 * s);
	}
	/* The whole spheres are heavier than what is left of them, by a factor that depends on the potential. */
	const double halo = 1 - disk - bulge;
	for (int k = 0; k < 4; k++) {
		const double bulge_left = bulge > 0 ? tabulate(g, &g->bulge) : 0, halo_left = tabulate(g, &g->halo);
		if (k == 3)
			break;
		g->bulge.mass *= bulge > 0 ? bulge / bulge_left : 0;
		g->halo.mass *= halo / halo_left;
	}

	const double kappa = disk_at(g, q_radius).kappa;
	const double sigma_R = toomre * 3.36 * disk / (2 * M_PI) * exp(-q_radius) / kappa;
	g->sigma2_scale = sigma_R * sigma_R * exp(sqrt(q_radius * q_radius + core));
	for (int i = 1; i <= NDISK; i++)
		g->disk[i] = disk_at(g, i * disk_cut / NDISK);
	g->disk[0] = g->disk[1];
	g->disk[0].vphi = g->disk[0].vcirc = 0;
	g->length = -2 * potential_energy(g, bulge, halo);
	return NB_OK;
}

void nb_galaxy_free(struct nb_galaxy *galaxy)
{
	nb_free(galaxy);
}

double nb_galaxy_length(const struct nb_galaxy *galaxy)
{
	return galaxy->length;
}

/* ---- drawing ------------------------------------------------------------------------------------ */

static void draw_spheroid(
	const struct nb_galaxy *g, const struct spheroid *s, const struct source *from, double pos[3], double vel[3])
{
	double u[2], d[2], v[2], w[2];
	draw(from, 0, u);
	draw(from, 1, d);
	draw(from, DRAW_VEL, v);
	draw(from, DRAW_VEL + 1, w);
	const double r = radius_of(s, u[0]);
	spherical(r, d[0], d[1], pos);
	spherical(speed_in(g, s, r, v[0]), w[0], w[1], vel);
}

static void draw_disk(const struct nb_galaxy *g, const struct source *from, double pos[3], double vel[3])
{
	double u[2], d[2], v[2], w[2], R;
	uint32_t number = 1;
	draw(from, 0, d);
	do { /* mass inside R ~ 1 - (1 + R) exp(-R): the sum of two exponential variates; beyond the cut try again */
		draw(from, number++, u);
		R = -log(u[0] * u[1]);
	} while (R >= disk_cut && number < DRAW_VEL);
	R = R < disk_cut ? R : disk_cut * u[0]; /* after 15 failures, once in 1e49 bodies */
	const double phi = 2 * M_PI * d[0], c = cos(phi), s = sin(phi);
	pos[0] = R * c;
	pos[1] = R * s;
	pos[2] = g->height / 2 * log(d[1] / (1 - d[1]));

	const double place = R * NDISK / disk_cut;
	int i = (int)place;
	i = i > NDISK - 1 ? NDISK - 1 : i;
	const struct nb_galaxy_disk *a = &g->disk[i], *b = a + 1;
	const double part = place - i;
	draw(from, DRAW_VEL, v);
	draw(from, DRAW_VEL + 1, w);
	const double norm = sqrt(-2 * log(v[0])), norm1 = sqrt(-2 * log(w[0]));
	const double vR = norm * cos(2 * M_PI * v[1]) * (a->sigma_R + part * (b->sigma_R - a->sigma_R));
	const double vphi = norm * sin(2 * M_PI * v[1]) * (a->sigma_phi + part * (b->sigma_phi - a->sigma_phi)) +
			    a->vphi + part * (b->vphi - a->vphi);
	vel[0] = vR * c - vphi * s;
	vel[1] = vR * s + vphi * c;
	vel[2] = norm1 * cos(2 * M_PI * w[1]) * (a->sigma_z + part * (b->sigma_z - a->sigma_z));
}

void nb_galaxy_draw(const struct nb_galaxy *galaxy, enum nb_galaxy_component component, uint64_t seed, uint32_t stream,
	uint64_t start, size_t count, double *pos, double *vel)
{
	double sum_pos[3] = {0}, sum_vel[3] = {0}, sum_plane[4] = {0};
	for (size_t i = 0; i < count; i++) {
		const struct source from = {seed, start + i, stream};
		double *x = pos + 3 * i, *v = vel + 3 * i;
		if (component != NB_GALAXY_DISK) {
			draw_spheroid(
				galaxy, component == NB_GALAXY_BULGE ? &galaxy->bulge : &galaxy->halo, &from, x, v);
			balance(sum_pos, x, 3);
			balance(sum_vel, v, 3);
			continue;
		}
		draw_disk(galaxy, &from, x, v);
		/* half a turn about the axis keeps the rotation; velocities count as much as positions */
		const double scale = 4;
		double plane[4] = {x[0], x[1], v[0] * scale, v[1] * scale};
		balance(sum_plane, plane, 4);
		x[0] = plane[0];
		x[1] = plane[1];
		v[0] = plane[2] / scale;
		v[1] = plane[3] / scale;
		balance(&sum_pos[2], &x[2], 1);
		balance(&sum_vel[2], &v[2], 1);
	}
}
