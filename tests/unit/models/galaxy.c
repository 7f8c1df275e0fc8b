/* Galaxies: profiles, frequencies and dispersions of their parts, and two of them on a parabola.  Bounds as in model.c.
 */
#include "kernels/models/galaxy_internal.h"
#include "tests/unit/models/bodies.h"

static struct nb_galaxy *galaxy(double disk, double bulge, double toomre, double height)
{
	struct nb_galaxy *g;
	if (nb_galaxy_create(disk, bulge, toomre, height, &g)) {
		printf("no memory\n");
		exit(1);
	}
	return g;
}

/* velocity dispersion of an isotropic Hernquist sphere, M = a = 1: Hernquist 1990, eq. 10 */
static double hernquist_sigma2(double r)
{
	return (12 * r * pow(1 + r, 3) * log((1 + r) / r) - r / (1 + r) * (25 + 52 * r + 42 * r * r + 12 * r * r * r)) /
	       12;
}

enum { N = 60000 };

/* A halo almost alone, in units of its scale length and mass. */
static struct nb_galaxy *lone_halo(void)
{
	return galaxy(1e-6, 0, 1, 0.1);
}

static struct nb_galaxy *disk_in_halo(void)
{
	return galaxy(0.15, 0.04, 1.3, 0.15);
}

/* What is cut off at 15 scale lengths is hardly missed within one: the Hernquist profile, M ~ (r / (r + a))^2, and its
 * dispersions. */
static void test_halo(void)
{
	struct nb_galaxy *g = lone_halo();
	double *pos = nb_alloc(3 * N, sizeof *pos), *vel = nb_alloc(3 * N, sizeof *vel), *p = nb_alloc(N, sizeof *p);
	nb_galaxy_draw(g, NB_GALAXY_HALO, 7, 0, 0, N, pos, vel);
	size_t count_in = 0;
	for (size_t i = 0; i < N; i++) {
		const double r = norm(pos + 3 * i);
		if (r < 4)
			p[count_in++] = 4 * r * r / ((r + 4) * (r + 4));
	}
	EXPECT(ks(p, count_in) < ks_bound, "halo: %g", ks(p, count_in));
	const double mass = 4. * (double)count_in / N; /* of the whole sphere */
	static const double edge[] = {0.1, 0.2, 0.4, 0.8, 1.6};
	for (int k = 0; k < 4; k++) {
		double sum = 0, want = 0, square = 0;
		int count = 0;
		for (size_t i = 0; i < N; i++) {
			const double r = norm(pos + 3 * i) / 4;
			if (r < edge[k] || r >= edge[k + 1])
				continue;
			const double v2 = norm(vel + 3 * i) * norm(vel + 3 * i) / (mass / 4) / 3,
				     w = hernquist_sigma2(r);
			sum += v2;
			want += w;
			square += (v2 - w) * (v2 - w);
			count++;
		}
		EXPECT(fabs(sum - want) < 4 * sqrt(square), "%g < r < %g: sigma^2 %g, want %g (%d bodies)", edge[k],
			edge[k + 1], sum / count, want / count, count);
	}
	nb_galaxy_free(g);
	nb_free(pos);
	nb_free(vel);
	nb_free(p);
}

/* Mass of the whole Hernquist sphere that the bodies of a component are drawn from: a quarter of it is within a. */
static double whole_mass(const double *pos, double a, double mass)
{
	size_t within = 0;
	for (size_t i = 0; i < N; i++)
		within += norm(pos + 3 * i) < a;
	return 4 * mass * (double)within / N;
}

static double hernquist_inside(double mass, double a, double r)
{
	return mass * r * r / ((r + a) * (r + a));
}

/* The isotropic Jeans equation, rho sigma^2 = int from r of rho M / r^2 dr, for a bulge with rho ~ 1 / (r (r + a)^3) in
 * the field of all three components; the disk as a sphere. */
static double jeans_sigma2(double r, double bulge, double halo)
{
	enum { STEPS = 2000 };
	const double a = 0.2, step = log(10 / r) / STEPS;
	double sum = 0;
	for (int k = 0; k < STEPS; k++) {
		const double x = r * exp((k + 0.5) * step);
		const double inside = 0.15 * (1 - (1 + x) * exp(-x)) + hernquist_inside(bulge, a, x) +
				      hernquist_inside(halo, 4, x);
		sum += inside / (x * x * pow(x + a, 3)) * step;
	}
	return sum * r * pow(r + a, 3);
}

static void test_bulge(void)
{
	struct nb_galaxy *g = disk_in_halo();
	double *pos = nb_alloc(3 * N, sizeof *pos), *vel = nb_alloc(3 * N, sizeof *vel);
	nb_galaxy_draw(g, NB_GALAXY_HALO, 7, 0, 0, N, pos, vel);
	const double halo = whole_mass(pos, 4, 0.81);
	nb_galaxy_draw(g, NB_GALAXY_BULGE, 7, 1, 0, N, pos, vel);
	const double bulge = whole_mass(pos, 0.2, 0.04);
	static const double edge[] = {0.02, 0.05, 0.1, 0.2, 0.4, 0.8};
	for (int k = 0; k < 5; k++) {
		double sum = 0, want = 0, square = 0;
		int count = 0;
		for (size_t i = 0; i < N; i++) {
			const double r = norm(pos + 3 * i);
			if (r < edge[k] || r >= edge[k + 1])
				continue;
			const double v2 = norm(vel + 3 * i) * norm(vel + 3 * i) / 3, w = jeans_sigma2(r, bulge, halo);
			sum += v2;
			want += w;
			square += (v2 - w) * (v2 - w);
			count++;
		}
		EXPECT(count > 1000 && fabs(sum - want) < 4 * sqrt(square) + 0.005 * want,
			"bulge, %g < r < %g: sigma^2 %g, want %g (%d bodies)", edge[k], edge[k + 1], sum / count,
			want / count, count);
	}
	nb_galaxy_free(g);
	nb_free(pos);
	nb_free(vel);
}

/* A disk almost alone holds itself up as an isothermal sheet: sigma_z^2 = pi G Sigma h (Spitzer 1942, ApJ 95, 329). */
static void test_heavy_disk(void)
{
	struct nb_galaxy *g = galaxy(0.9, 0, 1.3, 0.15);
	for (double R = 0.5; R < 4; R *= 2) {
		struct nb_galaxy_disk at;
		nb_galaxy_disk_at(g, R, &at);
		const double surface = 0.9 / (2 * M_PI) * exp(-R);
		EXPECT(fabs(at.sigma_z / sqrt(M_PI * surface * 0.15) - 1) < 0.02, "sigma_z %g at %g, want %g",
			at.sigma_z, R, sqrt(M_PI * surface * 0.15));
	}
	nb_galaxy_free(g);
}

/* A disk without weight of its own oscillates through the halo with frequency Omega: sigma_z = Omega z_rms, and sech^2
 * has z_rms = pi / sqrt(12) heights. */
static void test_light_disk(void)
{
	struct nb_galaxy *g = lone_halo();
	struct nb_galaxy_disk light;
	nb_galaxy_disk_at(g, 2.5, &light);
	EXPECT(fabs(light.sigma_z / (light.vcirc / 2.5 * 0.1 * M_PI / sqrt(12)) - 1) < 0.003, "sigma_z %g",
		light.sigma_z);
	nb_galaxy_free(g);
}

/* The disk's frequencies: kappa from its definition, Q where it is set, and Kepler far out. */
static void test_disk_frequencies(void)
{
	struct nb_galaxy *g = disk_in_halo();
	for (double R = 0.3; R < 8; R *= 1.5) {
		struct nb_galaxy_disk at, low, high;
		const double h = 1e-4 * R;
		nb_galaxy_disk_at(g, R, &at);
		nb_galaxy_disk_at(g, R - h, &low);
		nb_galaxy_disk_at(g, R + h, &high);
		const double omega2 = pow(at.vcirc / R, 2);
		const double slope = (pow(high.vcirc / (R + h), 2) - pow(low.vcirc / (R - h), 2)) / (2 * h);
		EXPECT(fabs(at.kappa * at.kappa / (4 * omega2 + R * slope) - 1) < 1e-5, "kappa at %g", R);
		EXPECT(fabs(at.sigma_phi / at.sigma_R - at.kappa * R / (2 * at.vcirc)) < 1e-12, "sigma_phi at %g", R);
		/* the radial Jeans equation; the surface density falls as exp(-R) */
		const double pressure = log(high.sigma_R / low.sigma_R) / h * R - R;
		const double drift = at.vcirc * at.vcirc +
				     at.sigma_R * at.sigma_R * (1 - at.kappa * at.kappa / (4 * omega2) + pressure);
		EXPECT(fabs(at.vphi - sqrt(fmax(drift, 0))) < 1e-6, "rotation %g at %g, want %g", at.vphi, R,
			sqrt(fmax(drift, 0)));
		EXPECT(at.vphi < at.vcirc && (R < 1.5 || at.vphi > 0.8 * at.vcirc), "rotation %g of %g at %g", at.vphi,
			at.vcirc, R);
	}
	struct nb_galaxy_disk at;
	nb_galaxy_disk_at(g, 2.5, &at);
	const double sigma = 0.15 / (2 * M_PI) * exp(-2.5);
	EXPECT(fabs(at.sigma_R * at.kappa / (3.36 * sigma) - 1.3) < 1e-12, "Q = %g",
		at.sigma_R * at.kappa / (3.36 * sigma));
	nb_galaxy_free(g);
}

/* The disk as drawn: profile, thickness, rotation and dispersions at R about 2.5. */
static void test_disk_drawn(void)
{
	struct nb_galaxy *g = disk_in_halo();
	struct nb_galaxy_disk at;
	nb_galaxy_disk_at(g, 2.5, &at);
	double *pos = nb_alloc(3 * N, sizeof *pos), *vel = nb_alloc(3 * N, sizeof *vel), *p = nb_alloc(N, sizeof *p);
	nb_galaxy_draw(g, NB_GALAXY_DISK, 7, 0, 0, N, pos, vel);
	double rotation = 0, radial = 0, around = 0, vertical = 0;
	int count = 0;
	for (size_t i = 0; i < N; i++) {
		const double *x = pos + 3 * i, *v = vel + 3 * i, R = hypot(x[0], x[1]);
		p[i] = (1 - (1 + R) * exp(-R)) / (1 - 11 * exp(-10));
		if (fabs(R - 2.5) < 0.1) {
			const double vR = (x[0] * v[0] + x[1] * v[1]) / R, vphi = (x[0] * v[1] - x[1] * v[0]) / R;
			rotation += vphi;
			radial += vR * vR;
			around += vphi * vphi;
			vertical += v[2] * v[2];
			count++;
		}
	}
	EXPECT(ks(p, N) < ks_bound, "exponential disk: %g", ks(p, N));
	for (size_t i = 0; i < N; i++)
		p[i] = (1 + tanh(pos[3 * i + 2] / 0.15)) / 2;
	EXPECT(ks(p, N) < ks_bound, "sech^2: %g", ks(p, N));
	const double tolerance = 4 / sqrt(count);
	rotation /= count;
	around = sqrt(around / count - rotation * rotation);
	EXPECT(fabs(rotation - at.vphi) < tolerance * at.sigma_phi, "rotation %g, want %g", rotation, at.vphi);
	EXPECT(fabs(around / at.sigma_phi - 1) < tolerance, "sigma_phi %g, want %g", around, at.sigma_phi);
	EXPECT(fabs(sqrt(radial / count) / at.sigma_R - 1) < tolerance, "sigma_R %g", sqrt(radial / count));
	EXPECT(fabs(sqrt(vertical / count) / at.sigma_z - 1) < tolerance, "sigma_z %g", sqrt(vertical / count));
	nb_galaxy_free(g);
	nb_free(pos);
	nb_free(vel);
	nb_free(p);
}

/* The whole galaxy: energy by pairs, parts. */
static void test_galaxy(void)
{
	struct nb_model_param param = defaults(NB_MODEL_DISK);
	param.n = 8000;
	struct bodies b = make(&param);
	size_t of[3] = {0};
	double share[3] = {0};
	for (size_t i = 0; i < b.n; i++) {
		of[b.species[i] % 3]++;
		share[b.species[i] % 3] += b.mass[i];
	}
	EXPECT(of[0] == 4000 && of[1] == 800 && of[2] == 3200, "%zu, %zu, %zu bodies", of[0], of[1], of[2]);
	EXPECT(fabs(share[0] - param.disk) < 1e-12 && fabs(share[1] - param.bulge) < 1e-12, "masses %g, %g", share[0],
		share[1]);
	const double ekin = kinetic(&b), epot = potential(&b);
	EXPECT(fabs(ekin / -epot - 0.5) < 0.02, "T/|W| = %g", ekin / -epot);
	EXPECT(fabs(ekin + epot + 0.25) < 0.02, "E = %g", ekin + epot);
	drop(&b);
}

struct centre {
	double mass, x[3], v[3];
};

/* The two galaxies of a merger as bodies. */
static void find_centres(const struct bodies *b, struct centre centre[2])
{
	memset(centre, 0, 2 * sizeof *centre);
	for (size_t i = 0; i < b->n; i++) {
		struct centre *c = &centre[b->species[i] / 3];
		c->mass += b->mass[i];
		for (int k = 0; k < 3; k++) {
			c->x[k] += b->mass[i] * b->pos[3 * i + k];
			c->v[k] += b->mass[i] * b->vel[3 * i + k];
		}
	}
	for (int g = 0; g < 2; g++)
		for (int k = 0; k < 3; k++) {
			centre[g].x[k] /= centre[g].mass;
			centre[g].v[k] /= centre[g].mass;
		}
}

/* Ellipse, parabola and hyperbola by their constants: energy (e - 1) / (2 r_p), angular momentum sqrt(r_p (1 + e)), and
 * the vector v x L - r / |r|, which has length e and points to the pericentre, on the x axis. */
static void test_merger_orbits(void)
{
	static const double eccentricity[] = {0.5, 1, 2};
	for (int k = 0; k < 3; k++) {
		const double e = eccentricity[k], pericentre = 0.4;
		struct nb_model_param param = defaults(NB_MODEL_MERGER);
		param.n = 6000;
		param.ratio = 0.5;
		param.separation = 1.1;
		param.pericentre = pericentre;
		param.eccentricity = e;
		struct bodies b = make(&param);
		struct centre centre[2];
		double d[3], w[3];
		find_centres(&b, centre);
		for (int c = 0; c < 3; c++) {
			d[c] = centre[1].x[c] - centre[0].x[c];
			w[c] = centre[1].v[c] - centre[0].v[c];
		}
		const double r = norm(d), L = d[0] * w[1] - d[1] * w[0];
		EXPECT(fabs(r - 1.1) < 1e-12, "e = %g: separation %g", e, r);
		EXPECT(fabs(norm(w) * norm(w) / 2 - 1 / r - (e - 1) / (2 * pericentre)) < 1e-12, "e = %g: energy %g", e,
			norm(w) * norm(w) / 2 - 1 / r);
		EXPECT(fabs(L - sqrt(pericentre * (1 + e))) < 1e-12, "e = %g: angular momentum %g", e, L);
		EXPECT(fabs(w[1] * L - d[0] / r - e) < 1e-12 && fabs(-w[0] * L - d[1] / r) < 1e-12,
			"e = %g: pericentre in the direction (%g, %g)", e, w[1] * L - d[0] / r, -w[0] * L - d[1] / r);
		EXPECT(d[0] * w[0] + d[1] * w[1] < 0, "e = %g: they must approach", e);
		drop(&b);
	}
}

static void test_merger(void)
{
	struct nb_model_param param = defaults(NB_MODEL_MERGER);
	param.n = 40000;
	param.ratio = 1. / 3;
	param.separation = 3;
	param.pericentre = 0.4;
	param.inclination[0] = 0;
	param.inclination[1] = 70;
	param.node[1] = 30;
	struct bodies b = make(&param);
	struct centre centre[2];
	double spin[2][3] = {{0}};
	find_centres(&b, centre);
	EXPECT(fabs(centre[1].mass - 0.25) < 1e-12, "mass of the second %g", centre[1].mass);
	for (size_t i = 0; i < b.n; i++) {
		const int k = b.species[i] / 3;
		if (b.species[i] % 3)
			continue;
		double a[3], u[3];
		for (int c = 0; c < 3; c++) {
			a[c] = b.pos[3 * i + c] - centre[k].x[c];
			u[c] = b.vel[3 * i + c] - centre[k].v[c];
		}
		for (int c = 0; c < 3; c++)
			spin[k][c] += b.mass[i] * (a[(c + 1) % 3] * u[(c + 2) % 3] - a[(c + 2) % 3] * u[(c + 1) % 3]);
	}
	const double degree = M_PI / 180, want[3] = {sin(30 * degree) * sin(70 * degree),
						  -cos(30 * degree) * sin(70 * degree), cos(70 * degree)};
	double height[2] = {0};
	for (size_t i = 0; i < b.n; i++) {
		const int k = b.species[i] / 3;
		double above = 0;
		for (int c = 0; c < 3; c++)
			above += (k ? want[c] : c == 2) * (b.pos[3 * i + c] - centre[k].x[c]);
		height[k] += b.species[i] % 3 ? 0 : above * above / centre[k].mass;
	}
	/* lengths go like the root of the mass */
	EXPECT(fabs(sqrt(height[1] / height[0]) - sqrt(1. / 3)) < 0.02, "heights %g", sqrt(height[1] / height[0]));
	EXPECT(spin[0][2] / norm(spin[0]) > 0.9999, "spin of the first");
	EXPECT((spin[1][0] * want[0] + spin[1][1] * want[1] + spin[1][2] * want[2]) / norm(spin[1]) > 0.9999,
		"spin of the second (%g, %g, %g)", spin[1][0], spin[1][1], spin[1][2]);
	drop(&b);
}

int main(void)
{
	test_halo();
	test_bulge();
	test_light_disk();
	test_heavy_disk();
	test_disk_frequencies();
	test_disk_drawn();
	test_galaxy();
	test_merger();
	test_merger_orbits();
	return unit_end();
}
