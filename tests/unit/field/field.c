/* Potentials against their own gradients, masses, limits and symmetries; what a text may be. */
#include "kernels/field/field.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static char label[400];

/* ---- one body ----------------------------------------------------------------------------------- */

struct felt {
	double acc[3], pot, jerk[3];
};

static struct nb_external parse(const char *text, double G, double time)
{
	static struct nb_term potential[NB_TERMS_MOST];
	static double row[5 * NB_POTENTIAL_ROW];
	/* Phi of a Plummer sphere, coarsely */
	static const double r[5] = {0, 0.5, 1, 2, 4};
	struct nb_external external;
	char why[NB_TERM_WHY] = "";
	int n = 0;
	const int status = nb_potentials_parse(text, potential, &n, why);
	CHECK(status == NB_OK);
	if (status)
		fprintf(stderr, "'%s': %s\n", text, why);
	nb_external_prepare(n, potential, G, time, &external);
	double phi[5];
	for (int k = 0; k < 5; k++)
		phi[k] = -1 / sqrt(r[k] * r[k] + 1);
	nb_potential_table(5, r, phi, row);
	for (int k = 0; k < n; k++)
		if (external.term[k].kind == NB_POTENTIAL_TABLE) {
			external.term[k].nrow = 5;
			external.term[k].row = row;
		}
	return external;
}

static struct felt feel(const struct nb_external *external, const double x[3], const double v[3])
{
	struct felt f = {{NAN, NAN, NAN}, NAN, {NAN, NAN, NAN}};
	double part = NAN;
	const struct nb_external_bodies b = {1, x, v, f.acc, &f.pot, &part, f.jerk, 1, 1};
	CHECK(nb_external_add_cpu(external, &b) == NB_OK);
	CHECK(part == f.pot || isnan(f.pot));
	return f;
}

static struct felt at(const char *text, double time, const double x[3], const double v[3])
{
	const struct nb_external external = parse(text, 1, time);
	return feel(&external, x, v);
}

static double size_of(const double a[3])
{
	return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

/* ---- gradients ---------------------------------------------------------------------------------- */

static const char *const smooth[] = {
	"point m=2",
	"point m=2 eps=0.3",
	"plummer m=1.5 a=0.7",
	"hernquist m=1.5 a=0.7",
	"nfw m=1 rs=0.2",
	"nfw v=1.3 rs=3",
	"log v0=1.2 rc=0.3 qy=0.9 qz=0.7",
	"log v0=1.2 rc=0.3 qy=0.9 qz=0.7 inc=40 node=70 angle=10 omega=0.8",
	"disk m=1 a=0.5 b=0.1",
	"disk m=1 a=2 b=0.5 inc=60 node=-20",
	"bar m=1 a=1 b=0.1 c=0.2",
	"bar m=1 a=3 b=0 c=0.1 angle=30 omega=-0.7",
	"bar m=1 a=0.5 b=1 c=0.5 inc=35 node=100 omega=2",
	"nfw m=1 rs=0.4 x=1 y=-2 z=0.5 vx=0.3 vy=0.1 vz=-0.2",
	"disk m=1 a=0.5 b=0.2 x=0.3 vz=1; bar m=0.3 a=1 b=0.3 c=0.2 omega=1 vx=-1; hernquist m=2 a=1",
	"dehnen m=1.5 a=0.7 gamma=0",
	"dehnen m=1.5 a=0.7 gamma=1.6",
	"dehnen m=1.5 a=0.7 gamma=2.5",
};

/* The derivative of Phi along each axis: central differences with two steps, extrapolated. */
static void gradient(const struct nb_external *external, const double x[3], double h, double g[3])
{
	static const double none[3] = {0, 0, 0};
	for (int k = 0; k < 3; k++) {
		double d[2];
		for (int level = 0; level < 2; level++) {
			const double step = level ? h / 2 : h;
			double p[3] = {x[0], x[1], x[2]}, m[3] = {x[0], x[1], x[2]};
			p[k] += step;
			m[k] -= step;
			d[level] = (feel(external, p, none).pot - feel(external, m, none).pot) / (p[k] - m[k]);
		}
		g[k] = (4 * d[1] - d[0]) / 3;
	}
}

/* acc = -grad Phi, and jerk is what acc changes by along the way of the body while the field moves. */
static void derivatives(const char *text)
{
	double worst = 0, worst_jerk = 0;
	snprintf(label, sizeof label, "%s", text);
	for (int i = 0; i < 300; i++) {
		const double r = pow(10, -1.5 + 3 * uniform()), time = uniform(), h = 2e-3 * fmin(r, 0.3), dt = h / 5;
		double x[3], v[3], g[3], error[3], later[3], there[3];
		on_sphere(r, x);
		on_sphere(uniform(), v);
		const struct nb_external now = parse(text, 1.5, time);
		const struct felt f = feel(&now, x, v);
		gradient(&now, x, h, g);
		for (int k = 0; k < 3; k++)
			error[k] = g[k] + f.acc[k];
		worst = fmax(worst, size_of(error) / size_of(g));

		double j[3] = {0, 0, 0};
		for (int level = 0; level < 2; level++) {
			const double step = level ? dt / 2 : dt, weight = level ? 4.0 / 3 : -1.0 / 3;
			const struct nb_external then = parse(text, 1.5, time + step);
			const struct nb_external before = parse(text, 1.5, time - step);
			for (int k = 0; k < 3; k++) {
				later[k] = x[k] + step * v[k];
				there[k] = x[k] - step * v[k];
			}
			const struct felt a = feel(&then, later, v), b = feel(&before, there, v);
			for (int k = 0; k < 3; k++)
				j[k] += weight * (a.acc[k] - b.acc[k]) / (2 * step);
		}
		for (int k = 0; k < 3; k++)
			error[k] = j[k] - f.jerk[k];
		worst_jerk = fmax(worst_jerk, size_of(error) / (size_of(f.jerk) + size_of(f.acc) * size_of(v) / r));
	}
	WANT(worst < 1e-7);
	WANT(worst_jerk < 1e-7);
	if (!(worst < 1e-7 && worst_jerk < 1e-7))
		fprintf(stderr, "  acc %.2g jerk %.2g\n", worst, worst_jerk);
}

/* ---- masses ------------------------------------------------------------------------------------- */

/* The flux through a sphere about the origin: 4 pi G times the mass within, by Gauss's rule on 64 x 128 directions. */
static double mass_within(const char *text, double r)
{
	static const double none[3] = {0, 0, 0};
	const struct nb_external external = parse(text, 1, 0);
	double sum = 0;
	enum { N = 400, M = 200 };
	for (int i = 0; i < N; i++)
		for (int k = 0; k < M; k++) { /* in cos, by midpoints of a substitution that is flat at the poles */
			const double u = (i + 0.5) / N, theta = M_PI * u, phi = 2 * M_PI * (k + 0.5) / M;
			const double n[3] = {sin(theta) * cos(phi), sin(theta) * sin(phi), cos(theta)};
			const double x[3] = {r * n[0], r * n[1], r * n[2]};
			const struct felt f = feel(&external, x, none);
			sum -= (f.acc[0] * n[0] + f.acc[1] * n[1] + f.acc[2] * n[2]) * sin(theta) * (M_PI / N);
		}
	return sum * r * r * (2 * M_PI / M) / (4 * M_PI);
}

static void masses(void)
{
	const double ln2 = log(2) - 0.5;
	CHECK_NEAR(mass_within("point m=2 x=0.3", 1), 2, 1e-4);
	CHECK_NEAR(mass_within("plummer m=2 a=0.5", 1.5), 2 * pow(1 + 0.25 / 2.25, -1.5), 1e-4);
	CHECK_NEAR(mass_within("hernquist m=2 a=0.5", 1.5), 2 * 2.25 / 4, 1e-4);
	CHECK_NEAR(mass_within("dehnen m=2 a=0.5 gamma=0.5", 1.5), 2 * pow(0.75, 2.5), 1e-4);
	CHECK_NEAR(mass_within("nfw m=3 rs=0.5", 0.5), 3, 1e-4);
	CHECK_NEAR(mass_within("nfw m=3 rs=0.5", 5), 3 * (log(11) - 10.0 / 11) / ln2, 1e-4);
	CHECK_NEAR(mass_within("nfw v=2 rs=0.5", 0.5), 4 * 0.5, 1e-4);
	CHECK_NEAR(mass_within("log v0=2 rc=0.5", 1.5), 4 * 1.5 * 2.25 / 2.5, 1e-3);
	/* a disk and a bar fade slowly: from far away their masses are whole */
	CHECK_NEAR(mass_within("disk m=2 a=0.5 b=0.1", 1e6), 2, 1e-4);
	CHECK_NEAR(mass_within("bar m=2 a=0.5 b=0.1 c=0.1", 1e6), 2, 1e-4);
}

/* ---- limits ------------------------------------------------------------------------------------- */

static void centre_and_far(void)
{
	static const double o[3] = {0, 0, 0}, v[3] = {0.3, -0.2, 0.1};
	struct felt f;
	for (size_t k = 0; k < sizeof smooth / sizeof *smooth; k++) {
		if (strstr(smooth[k], "dehnen"))
			continue;
		snprintf(label, sizeof label, "%s", smooth[k]);
		/* everywhere finite */
		for (double r = 1e-300; r < 1e151; r *= 1e10) {
			const double x[3] = {r, -r / 3, r / 7};
			f = at(smooth[k], 0, x, v);
			WANT(isfinite(size_of(f.acc)) || k == 0);
			WANT((isfinite(f.pot) && isfinite(f.jerk[0] + f.jerk[1] + f.jerk[2])) || k <= 5);
		}
		f = at(smooth[k], 0, o, v);
		WANT(isfinite(f.acc[0] + f.acc[1] + f.acc[2] + f.pot + f.jerk[0] + f.jerk[1] + f.jerk[2]));
		/* a mass is a point from far away, of potentials about the origin that have one */
		if (k < 4 || k == 8 || k == 10) {
			const double x[3] = {6e149, 0, 8e149}, m = k < 2 ? 2 : k < 4 ? 1.5 : 1;
			f = at(smooth[k], 0, x, v);
			CHECK_NEAR(f.acc[0] / (m * -0.6e-300), 1, 1e-12);
			CHECK_NEAR(f.acc[2] / (m * -0.8e-300), 1, 1e-12);
			CHECK_NEAR(f.pot / (m * -1e-150), 1, 1e-12);
		}
	}
	/* cusps near the centre: G M(r) / r^2, in all digits */
	for (double r = 1e-200; r < 1e-3; r *= 10) {
		const double x[3] = {0, r, 0};
		f = at("hernquist m=2 a=0.5", 0, x, v);
		CHECK_NEAR(f.acc[1], -2 / ((r + 0.5) * (r + 0.5)), 1e-14);
		f = at("nfw m=2 rs=0.5", 0, x, v);
		const double s = r / 0.5,
			     mu = 0.5 - 2 * s / 3 + 3 * s * s / 4 - 4 * s * s * s / 5 + 5 * s * s * s * s / 6;
		CHECK_NEAR(f.acc[1] / (-2 / (log(2) - 0.5) / 0.25 * mu), 1, 1e-13);
		f = at("plummer m=2 a=0.5", 0, x, v);
		CHECK_NEAR(f.acc[1] / r / (-16 * pow(1 + 4 * r * r, -1.5)), 1, 1e-13);
		f = at("log v0=2 rc=0.5", 0, x, v);
		CHECK_NEAR(f.pot, 2 * log1p(4 * r * r), 1e-15 * f.pot);
	}
	/* the spheres of Hernquist and Jaffe are those of gamma 1 and 2, and that of gamma 0 has a core */
	for (double r = 1e-200; r < 1e151; r *= 1e3) {
		const double x[3] = {0, 0.6 * r, -0.8 * r};
		const struct felt want = at("hernquist m=2 a=0.5", 0, x, v);
		f = at("dehnen m=2 a=0.5 gamma=1", 0, x, v);
		CHECK_NEAR(f.pot / want.pot, 1, 1e-14);
		CHECK_NEAR(f.acc[2] / want.acc[2], 1, 1e-14);
		CHECK(!(fabs(f.jerk[1] / want.jerk[1] - 1) > 1e-14));
		f = at("dehnen m=2 a=0.5 gamma=2", 0, x, v);
		CHECK_NEAR(f.pot / (-2 * log1p(0.5 / r) / 0.5), 1, 1e-14);
		CHECK(!(fabs(f.acc[1] / (-2 / (r + 0.5) / r * 0.6) - 1) > 1e-14));
	}
	f = at("dehnen m=2 a=0.5 gamma=0", 0, o, v);
	CHECK_NEAR(f.pot, -2, 1e-15);
	CHECK_NEAR(f.jerk[0], -16 * 0.3, 1e-14);
	CHECK(f.acc[0] == 0 && isinf(at("dehnen m=2 a=0.5 gamma=2", 0, o, v).pot));
	f = at("dehnen m=2 a=0.5 gamma=1.5", 0, o, v);
	CHECK(f.acc[0] == 0 && f.jerk[2] == 0 && f.pot == -8);
	/* the series of the NFW sphere meets the formula: a step of Phi' at x = 0.1 would show */
	const double below[3] = {0.1 * (1 - 1e-12), 0, 0}, above[3] = {0.1 * (1 + 1e-12), 0, 0};
	CHECK_NEAR(at("nfw m=1 rs=1", 0, below, v).acc[0] / at("nfw m=1 rs=1", 0, above, v).acc[0], 1, 1e-11);
	/* a body in a point is not pulled */
	f = at("point m=1", 0, o, v);
	CHECK(f.acc[0] == 0 && f.acc[1] == 0 && f.acc[2] == 0 && f.pot == 0 && f.jerk[0] == 0);
	/* thin bar: within it and beyond its ends, where differences would cancel; values of 60 digits */
	const double in[3] = {0.3, 1e-6, 2e-6}, out[3] = {7.5, 1e-6, -3e-6};
	f = at("bar m=1 a=1 b=0 c=1e-5", 0, in, v);
	const double h2 = 1e-12 + 4e-12 + 1e-10; /* uniform rod: a_y = -G lambda y/h^2 (...) */
	const double rod = 0.5 / h2 * (0.7 / sqrt(0.49 + h2) + 1.3 / sqrt(1.69 + h2));
	CHECK_NEAR(f.acc[1] / (-1e-6 * rod), 1, 1e-12);
	CHECK_NEAR(f.pot / (-0.5 * (asinh(0.7 / sqrt(h2)) + asinh(1.3 / sqrt(h2)))), 1, 1e-12);
	f = at("bar m=1 a=1 b=0 c=1e-5", 0, out, v);
	CHECK_NEAR(f.acc[0] / (-1 / (6.5 * 8.5)), 1, 1e-9);
	CHECK_NEAR(f.pot / (-0.5 * log(8.5 / 6.5)), 1, 1e-9);
	/* integral of the rod over dx / d^3 in series of h: (1/6.5^2 - 1/8.5^2) / 4 */
	CHECK_NEAR(f.acc[1] / (-1e-6 * (1 / 42.25 - 1 / 72.25) / 4), 1, 1e-8);
}

/* ---- motion, sums, symmetry --------------------------------------------------------------------- */

static void moving(void)
{
	const double x[3] = {1, 2, 3}, v[3] = {0.1, 0.2, 0.3};
	/* at time 2 the centre is at (0.5, 0, -1) + 2 (1, -0.5, 0.25) */
	const struct felt a = at("nfw m=1 rs=0.3 x=0.5 z=-1 vx=1 vy=-0.5 vz=0.25", 2, x, v);
	const double y[3] = {1 - 2.5, 2 + 1, 3 + 0.5}, w[3] = {0.1 - 1, 0.2 + 0.5, 0.3 - 0.25};
	const struct felt b = at("nfw m=1 rs=0.3", 0, y, w);
	CHECK(memcmp(&a, &b, sizeof a) == 0);
	/* a bar that has turned by 90 degrees about z is another angle */
	const struct felt c = at("bar m=1 a=1 b=0.2 c=0.1 omega=0.5", M_PI, x, v);
	const double turned[3] = {2, -1, 3};
	const struct felt d = at("bar m=1 a=1 b=0.2 c=0.1", 0, turned, v);
	const struct felt e = at("bar m=1 a=1 b=0.2 c=0.1 angle=90", 7, x, v);
	CHECK_NEAR(c.pot, d.pot, 1e-15);
	CHECK_NEAR(c.pot, e.pot, 1e-15);
	CHECK_NEAR(c.acc[0], -d.acc[1], 1e-15);
	CHECK_NEAR(c.acc[1], d.acc[0], 1e-15);
	/* a disk on its side: its axis along -y for a node on x, along x for one on y */
	const struct felt flat = at("disk m=1 a=1 b=0.2", 0, (const double[3]){1, 3, -2}, v);
	const struct felt side = at("disk m=1 a=1 b=0.2 inc=90", 0, x, v);
	CHECK_NEAR(side.pot, flat.pot, 1e-15);
	CHECK_NEAR(side.acc[1], -flat.acc[2], 1e-15);
	const struct felt other = at("disk m=1 a=1 b=0.2 inc=90 node=90", 0, (const double[3]){2, 1, 3}, v);
	const struct felt same = at("disk m=1 a=1 b=0.2", 0, (const double[3]){1, 3, 2}, v);
	CHECK_NEAR(other.pot, same.pot, 1e-15);
	CHECK_NEAR(other.acc[0], same.acc[2], 1e-15);
	/* special cases of each other */
	const struct felt bar = at("bar m=1 a=1e-4 b=0.2 c=0.3", 0, x, v), disk = at("disk m=1 a=0.2 b=0.3", 0, x, v);
	CHECK_NEAR(bar.pot, disk.pot, 1e-9);
	CHECK_NEAR(bar.acc[2], disk.acc[2], 1e-9);
	/* two are the sum of both */
	const struct felt p = at("plummer m=1 a=1", 0, x, v), q = at("log v0=1 rc=2", 0, x, v);
	const struct felt sum = at("plummer m=1 a=1; log v0=1 rc=2", 0, x, v);
	for (int k = 0; k < 3; k++) {
		CHECK(sum.acc[k] == p.acc[k] + q.acc[k]);
		CHECK(sum.jerk[k] == p.jerk[k] + q.jerk[k]);
	}
	CHECK(sum.pot == p.pot + q.pot);
}

/* What is there is added to, where it is asked for. */
static void outputs(void)
{
	enum { N = 3001 };
	static double pos[3 * N], vel[3 * N], acc[3 * N], pot[N], part[N], jerk[3 * N];
	const struct nb_external external = parse("nfw m=1 rs=0.2; disk m=1 a=1 b=0.1", 1, 0);
	for (size_t i = 0; i < 3 * N; i++) {
		pos[i] = uniform() - 0.5;
		vel[i] = uniform() - 0.5;
		acc[i] = 1;
		jerk[i] = 2;
	}
	for (size_t i = 0; i < N; i++) {
		pot[i] = 3;
		part[i] = NAN;
	}
	const struct nb_external_bodies all = {N, pos, vel, acc, pot, part, jerk, 0, 1};
	CHECK(nb_external_add_cpu(&external, &all) == NB_OK);
	size_t good = 0;
	for (size_t i = 0; i < N; i++) {
		const struct felt f = feel(&external, pos + 3 * i, vel + 3 * i);
		good += acc[3 * i + 1] == 1 + f.acc[1] && jerk[3 * i + 2] == 2 + f.jerk[2] && pot[i] == 3 + f.pot &&
			part[i] == f.pot;
	}
	CHECK(good == N);
	const struct nb_external_bodies only_acc = {N, pos, NULL, acc, NULL, part, NULL, 1, 0};
	CHECK(nb_external_add_cpu(&external, &only_acc) == NB_OK);
	const struct felt f = feel(&external, pos, vel);
	CHECK(acc[0] == f.acc[0] && part[0] == f.pot + f.pot);
	const struct nb_external_bodies none = {0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0};
	CHECK(nb_external_add_cpu(&external, &none) == NB_OK);
}

/* ---- tables ------------------------------------------------------------------------------------- */

static struct felt of_table(size_t n, const double *row, double r)
{
	struct nb_external external = {.n = 1};
	external.term[0] = (struct nb_external_term){.kind = NB_POTENTIAL_TABLE, .nrow = n, .row = row};
	const double x[3] = {0, r, 0}, v[3] = {0, 1, 0};
	return feel(&external, x, v);
}

static void tables(void)
{
	/* third order in Phi, second in acc, where the table is smooth; exact on its rows */
	double error[2][2] = {{0, 0}, {0, 0}};
	static double r[400], phi[400], row[400 * NB_POTENTIAL_ROW];
	for (int fine = 0; fine < 2; fine++) {
		const size_t n = fine ? 81 : 41;
		for (size_t k = 0; k < n; k++) {
			r[k] = 4 * (double)k / (double)(n - 1);
			phi[k] = -1 / sqrt(1 + r[k] * r[k]);
		}
		nb_potential_table(n, r, phi, row);
		for (double x = 0.3; x < 3.9; x += 0.0137) {
			const struct felt f = of_table(n, row, x);
			error[fine][0] = fmax(error[fine][0], fabs(f.pot + 1 / sqrt(1 + x * x)));
			error[fine][1] = fmax(error[fine][1], fabs(f.acc[1] + x * pow(1 + x * x, -1.5)));
		}
		CHECK(of_table(n, row, r[7]).pot == phi[7]);
	}
	CHECK(error[0][0] / error[1][0] > 7 && error[0][0] < 2e-4);
	CHECK(error[0][1] / error[1][1] > 3.5 && error[0][1] < 5e-3);
	/* monotone where the table is, also at a step; continuous with its slope at rows, and at both ends */
	static const double rough_r[] = {0.5, 1, 1.1, 3, 3.5, 9}, rough[] = {-5, -4.99, -1, -0.99, -0.98, -0.1};
	nb_potential_table(6, rough_r, rough, row);
	double before = -INFINITY;
	int falls = 0;
	for (double x = 0; x < 12; x += 0.001) {
		const double now = of_table(6, row, x).pot;
		falls += now < before - 1e-15;
		before = now;
	}
	CHECK(falls == 0);
	for (int k = 0; k < 6; k++) {
		const struct felt a = of_table(6, row, rough_r[k] * (1 - 1e-13)), b = of_table(6, row, rough_r[k]);
		CHECK_NEAR(a.pot, b.pot, 1e-10);
		CHECK_NEAR(a.acc[1], b.acc[1], 1e-9);
	}
	/* no mass beyond the end, one density within the first row */
	CHECK_NEAR(of_table(6, row, 90).acc[1] / of_table(6, row, 9).acc[1], 0.01, 1e-14);
	CHECK_NEAR(of_table(6, row, 1e150).pot, -0.1 + row[5 * NB_POTENTIAL_ROW + 2] * 9, 1e-14);
	CHECK(of_table(6, row, 0).acc[1] == 0);
	/* acc and jerk are derivatives, between rows and beyond them */
	for (double x = 0.25; x < 14; x += 0.17) {
		const double h = 1e-4;
		const double d = (of_table(6, row, x + h).pot - of_table(6, row, x - h).pot) / (2 * h);
		const double j = (of_table(6, row, x + h).acc[1] - of_table(6, row, x - h).acc[1]) / (2 * h);
		int near = 0;
		for (int k = 0; k < 6; k++)
			near |= fabs(x - rough_r[k]) < 2 * h;
		if (near)
			continue;
		CHECK_NEAR(of_table(6, row, x).acc[1], -d, 1e-7 + 1e-5 * fabs(d));
		CHECK_NEAR(of_table(6, row, x).jerk[1], j, 1e-7 + 1e-5 * fabs(j));
	}
	/* two rows are a straight line */
	nb_potential_table(2, rough_r, rough, row);
	CHECK_NEAR(of_table(2, row, 0.7).acc[1], -0.02, 1e-13);
	CHECK_NEAR(of_table(2, row, 0.25).acc[1], -0.01, 1e-13);
}

/* ---- texts -------------------------------------------------------------------------------------- */

static void refused(const char *text, const char *want)
{
	struct nb_term potential[NB_TERMS_MOST];
	char why[NB_TERM_WHY] = "";
	int n;
	CHECK(nb_potentials_parse(text, potential, &n, why) == NB_EINVAL);
	snprintf(label, sizeof label, "'%.100s': %.250s", text, why);
	WANT(strstr(why, want) != NULL);
}

static void texts(void)
{
	struct nb_term p[NB_TERMS_MOST];
	char why[NB_TERM_WHY], many[400] = "";
	int n = 0;
	CHECK(nb_potentials_parse(
		      " \tnfw  rs=0.2\nm=1;disk m=.1 a=0.3 b=3e-2 ;table:file=a=b:c.txt,x=-1", p, &n, why) == NB_OK);
	CHECK(n == 3 && p[0].kind == NB_POTENTIAL_NFW && p[0].value[NB_KEY_RS] == 0.2 && p[1].value[NB_KEY_B] == 0.03);
	CHECK(p[2].file_length == 9 && memcmp(p[2].file, "a=b:c.txt", 9) == 0 && p[2].value[NB_KEY_X] == -1);
	CHECK(p[0].value[NB_KEY_QY] == 1 && !nb_potential_varies(&p[0]) && !nb_potential_leaves_plane(&p[2]));
	CHECK(nb_potentials_parse(
		      "bar m=1 a=1 b=0 c=1 omega=1; point m=0 vy=1; disk m=1 a=1 b=1 inc=180; point m=1 z=1", p, &n,
		      why) == NB_OK);
	CHECK(nb_potential_varies(&p[0]) && nb_potential_varies(&p[1]) && !nb_potential_varies(&p[2]));
	CHECK(!nb_potential_leaves_plane(&p[2]) && nb_potential_leaves_plane(&p[3]));
	refused("", "empty potential (want NAME KEY=VALUE ..., several divided by ';')");
	refused("point m=1;", "empty potential");
	refused("point m=1;;point m=1", "empty potential");
	refused("nwf m=1",
		"unknown potential 'nwf' (did you mean 'nfw'? want point, plummer, hernquist, dehnen, nfw, log, "
		"disk, bar, table; ");
	refused("nf m=1", "unknown potential 'nf'");
	refused("plummer m=1 a=1 q=2", "potential plummer: unknown key 'q' (want m, a, x, y, z, vx, vy, vz)");
	refused("nfw m=1 rs=1 inc=2", "potential nfw: unknown key 'inc' (want m, v, rs, x, y, z, vx, vy, vz)");
	refused("plummer m=1", "potential plummer: key 'a' is missing");
	refused("table x=1", "potential table: key 'file' is missing");
	refused("nfw rs=1", "potential nfw: no strength (want m or v)");
	refused("nfw m=1 v=1 rs=1", "potential nfw: two strengths (want m or v)");
	refused("plummer m=1 a=1 m=2", "potential plummer: key 'm' is given twice");
	refused("table file=a file=b", "potential table: key 'file' is given twice");
	refused("table file=", "potential table: key 'file' has no path");
	refused("plummer m=-1 a=1", "potential plummer: invalid m '-1' (want a number >= 0)");
	refused("plummer m=1 a=0", "potential plummer: invalid a '0' (want a number > 0)");
	refused("plummer m=1 a=-2", "invalid a '-2' (want a number > 0)");
	refused("disk m=1 a=1 b=0", "potential disk: invalid b '0' (want a number > 0)");
	refused("dehnen m=1 a=1", "potential dehnen: key 'gamma' is missing");
	refused("dehnen m=1 a=1 gamma=3", "potential dehnen: invalid gamma '3' (want a number >= 0 and < 3)");
	refused("dehnen m=1 a=1 gamma=-0.1", "potential dehnen: invalid gamma '-0.1'");
	refused("point m=1 x=nan", "potential point: invalid x 'nan' (want a number)");
	refused("point m=1 x=1e999", "invalid x '1e999'");
	refused("point m=1e", "invalid m '1e'");
	refused("point m=", "invalid m ''");
	refused("point m", "potential point: 'm' is not KEY=VALUE");
	refused("point : m=1", "potential point: ':' is not KEY=VALUE");
	refused("point =1", "potential point: '=1' is not KEY=VALUE");
	refused("point m=11111111111111111111111111111111111111111111111111111111111111111111111111111111",
		"invalid m '1111");
	for (int k = 0; k <= NB_TERMS_MOST; k++)
		strcat(many, k ? "; point m=1" : "point m=1");
	refused(many, "more than 16 potentials");
}

int main(void)
{
	for (size_t k = 0; k < sizeof smooth / sizeof *smooth; k++)
		derivatives(smooth[k]);
	masses();
	centre_and_far();
	moving();
	outputs();
	tables();
	texts();
	return unit_end();
}
