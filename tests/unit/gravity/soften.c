/* Softenings of single bodies, and the spline: oracle by hand, direct sum and near field against the oracle for every
 * instruction set, precision and awkward n; momentum. */
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/gravity/gravity.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { MOST = 2100 };

static double pos[3 * MOST], vel[3 * MOST], mass[MOST], eps[MOST];
static double acc[3 * MOST], pot[MOST], jerk[3 * MOST];
static double ref_acc[3 * MOST], ref_pot[MOST], ref_jerk[3 * MOST];
static const char *const isa_name[] = {"plain", "avx2", "avx512"};
static const char *const law_name[] = {"plummer", "spline"};

/* Softenings from 0 to half of the cube; every third is 0. */
static struct nb_gravity problem(size_t n, enum nb_softening softening)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t d = 0; d < 3; d++) {
			pos[3 * i + d] = uniform() - 0.5;
			vel[3 * i + d] = uniform() - 0.5;
		}
		mass[i] = 0.1 + uniform();
		eps[i] = i % 3 == 2 ? 0 : 0.5 * pow(uniform(), 3);
	}
	return (struct nb_gravity){.n = n,
		.pos = pos,
		.vel = vel,
		.mass = mass,
		.acc = acc,
		.pot = pot,
		.jerk = jerk,
		.G = 1,
		.precision = NB_F64,
		.softening = softening,
		.body_eps = eps};
}

/* rms(|got - want|) / rms(|want|); 0 for 0 - 0 */
static double error_of(const double *got, const double *want, size_t count)
{
	double num = 0, den = 0;
	for (size_t k = 0; k < count; k++) {
		num += (got[k] - want[k]) * (got[k] - want[k]);
		den += want[k] * want[k];
	}
	return num == 0 ? 0 : sqrt(num / den);
}

static void ask_oracle(const struct nb_gravity *g)
{
	CHECK(nb_gravity_ref(g, NULL, 0, ref_acc, ref_pot, ref_jerk) == 0);
}

/* ---- the oracle ------------------------------------------------------------------------------------ */

/* The mass within u of a spline of mass 1 and support 1: the integral of its density, by Simpson's rule. */
static double mass_within(double u)
{
	enum { STEPS = 4000 };
	double sum = 0;
	for (int k = 0; k <= STEPS; k++) {
		const double t = u * k / STEPS, s = 1 - t;
		const double density = 8 / M_PI * (t < 0.5 ? 1 - 6 * t * t + 6 * t * t * t : 2 * s * s * s);
		sum += (k == 0 || k == STEPS ? 1 : k % 2 ? 4 : 2) * 4 * M_PI * t * t * density;
	}
	return sum * u / STEPS / 3;
}

/* Two bodies at distance r, of which the second has the larger softening. */
static void pair(double r, double e, enum nb_softening softening)
{
	struct nb_gravity g = problem(2, softening);
	memset(pos, 0, 6 * sizeof *pos);
	memset(vel, 0, 6 * sizeof *vel);
	pos[3] = r;
	vel[3] = 2;
	vel[4] = 3;
	mass[0] = mass[1] = 1;
	eps[0] = 0.25 * e;
	eps[1] = e;
	ask_oracle(&g);
}

static void oracle(void)
{
	const double e = 0.3, h = 2.8 * e, d = 1e-5;
	for (double u = 0.03; u < 1.2; u += 0.09) {
		const double r = u * h;
		pair(r, e, NB_SPLINE);
		/* Newton's theorem: what is within r pulls as if it were in the centre */
		CHECK_NEAR(ref_acc[0], (u < 1 ? mass_within(u) : 1) / (r * r), 1e-8 / (r * r));
		CHECK(ref_acc[3] == -ref_acc[0] && ref_pot[0] == ref_pot[1]);
		/* the potential is what the force follows from, and the jerk what it becomes */
		const double a = ref_acc[0], jx = ref_jerk[0], jy = ref_jerk[1];
		CHECK_NEAR(jy, 3 * a / r, 1e-12 * fabs(jy));
		pair(r + d, e, NB_SPLINE);
		const double pot_far = ref_pot[0], acc_far = ref_acc[0];
		pair(r - d, e, NB_SPLINE);
		CHECK_NEAR((pot_far - ref_pot[0]) / (2 * d), a, 1e-6 * a);
		CHECK_NEAR((acc_far - ref_acc[0]) / (2 * d) * 2, jx, 1e-6 * (fabs(jx) + a));
	}
	pair(h, e, NB_SPLINE);
	CHECK_NEAR(ref_pot[0], -1 / h, 1e-14 / h);
	pair(1e-9, e, NB_SPLINE);
	CHECK_NEAR(ref_pot[0], -1 / e, 1e-12 / e);
	pair(0.5, e, NB_PLUMMER);
	CHECK_NEAR(ref_acc[0], 0.5 / pow(0.25 + e * e, 1.5), 1e-14);
	CHECK_NEAR(ref_pot[1], -1 / sqrt(0.25 + e * e), 1e-14);
}

/* ---- direct sum and near field ------------------------------------------------------------------------ */

static const double bound[] = {3e-6, 1e-6, 1e-13};

static void compare(const char *what, const struct nb_gravity *g, int isa)
{
	const double *const got[] = {g->acc, g->pot, g->jerk}, *const want[] = {ref_acc, ref_pot, ref_jerk};
	for (size_t k = 0; k < 3; k++) {
		const double error = got[k] ? error_of(got[k], want[k], (k == 1 ? 1 : 3) * g->n) : 0;
		const double most = bound[g->precision] * (k == 2 ? 20 : 1);
		unit_checked++;
		if (error <= most)
			continue;
		unit_failed++;
		fprintf(stderr, "%s %s %s precision %d n %zu, %zu: error %.2e, want <= %.2e\n", what,
			law_name[g->softening], isa_name[isa], (int)g->precision, g->n, k, error, most);
	}
}

static void choose(struct nb_gravity *g, int precision, int more)
{
	g->precision = (enum nb_precision)precision;
	g->pot = more & 1 ? pot : NULL;
	g->jerk = more & 2 ? jerk : NULL;
	memset(acc, 0xff, sizeof acc);
	memset(pot, 0xff, sizeof pot);
	memset(jerk, 0xff, sizeof jerk);
}

static void direct(int best)
{
	static const size_t sizes[] = {0, 1, 2, 3, 15, 17, 63, 65, 192, 193, 257, 385, 2049};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes - UNIT_SANITIZED; s++)
		for (int law = 0; law < 2; law++) {
			struct nb_gravity g = problem(sizes[s], (enum nb_softening)law);
			ask_oracle(&g);
			for (int isa = 0; isa <= best; isa++)
				for (int k = 0; k < 12; k++) {
					setenv("NB_SIMD", isa_name[isa], 1);
					choose(&g, k % 3, k / 3);
					CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
					compare("direct", &g, isa);
				}
		}
	unsetenv("NB_SIMD");
}

/* A box and its neighbour, in a row of three, against each of the two boxes that it feels. */
static void near_field(int best)
{
	enum { N = 1500 };
	const uint64_t first[] = {0, 100, 1100, N};
	const int32_t neighbour[] = {-1, 1, 0, 2, 1, -1};
	const struct nb_boxes boxes = {.nbox = 3, .box_first = first, .neighbour = neighbour, .nneighbour = 2};
	const struct {
		size_t begin, end, target, last; /* of what is felt, and by whom */
	} felt[] = {{0, 1100, 0, 100}, {0, N, 100, 1100}, {100, N, 1100, N}};
	for (int law = 0; law < 2; law++) {
		struct nb_gravity g = problem(N, (enum nb_softening)law);
		for (size_t k = 0; k < 3; k++) {
			static double some_acc[3 * N], some_pot[N], some_jerk[3 * N];
			struct nb_gravity part = g;
			const size_t at = felt[k].begin, n = felt[k].last - felt[k].target, to = felt[k].target;
			part.n = felt[k].end - at;
			part.pos += 3 * at;
			part.vel += 3 * at;
			part.mass += at;
			part.body_eps += at;
			CHECK(nb_gravity_ref(&part, NULL, 0, some_acc, some_pot, some_jerk) == 0);
			memcpy(ref_acc + 3 * to, some_acc + 3 * (to - at), 3 * n * sizeof *acc);
			memcpy(ref_pot + to, some_pot + (to - at), n * sizeof *pot);
			memcpy(ref_jerk + 3 * to, some_jerk + 3 * (to - at), 3 * n * sizeof *jerk);
		}
		for (int isa = 0; isa <= best; isa++)
			for (int k = 0; k < 12; k++) {
				setenv("NB_SIMD", isa_name[isa], 1);
				choose(&g, k % 3, k / 3);
				CHECK(nb_gravity_near_cpu(&g, &boxes, NULL) == 0);
				compare("near", &g, isa);
			}
	}
	unsetenv("NB_SIMD");
}

/* Bodies in the same place do not accelerate each other; their potential is that of their softening, or none. */
static void coincident(void)
{
	enum { N = 300 };
	for (int law = 0; law < 2; law++)
		for (int p = NB_F32; p <= NB_F64; p++) {
			struct nb_gravity g = problem(N, (enum nb_softening)law);
			for (size_t k = 0; k < 3 * N; k++)
				pos[k] = (double)(k % 3);
			ask_oracle(&g);
			choose(&g, p, 3);
			CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
			for (size_t k = 0; k < 3 * N; k++)
				CHECK(acc[k] == 0);
			compare("coincident", &g, 0);
		}
}

/* One softening for all is that of each; all of them the same; in any units. */
static void units(void)
{
	enum { N = 500 };
	for (int law = 0; law < 2; law++)
		for (int p = NB_F32; p <= NB_F64; p++) {
			static const double unit[] = {1, 1e21, 1e-30, 1e150};
			struct nb_gravity g = problem(N, (enum nb_softening)law);
			for (size_t i = 0; i < N; i++)
				eps[i] = 0.05;
			ask_oracle(&g);
			g.body_eps = NULL;
			for (size_t u = 0; u < 4; u++) {
				choose(&g, p, 1);
				for (size_t k = 0; k < 3 * N; k++)
					pos[k] *= unit[u];
				g.eps = 0.05 * unit[u];
				CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
				for (size_t k = 0; k < 3 * N; k++) {
					acc[k] *= unit[u] * unit[u];
					pos[k] /= unit[u];
				}
				for (size_t i = 0; i < N; i++)
					pot[i] *= unit[u];
				compare("units", &g, 0);
			}
		}
}

/* A spline without softening, and beyond its support, is Newton's to the last bit of the oracle's rounding. */
static void newton(void)
{
	enum { N = 200 };
	struct nb_gravity g = problem(N, NB_SPLINE);
	for (size_t i = 0; i < N; i++)
		eps[i] = 0;
	ask_oracle(&g);
	choose(&g, NB_F64, 3);
	g.softening = NB_PLUMMER;
	CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
	compare("newton", &g, 0);
	for (size_t i = 0; i < N; i++) { /* on a grid of unit width */
		pos[3 * i] = (double)(i % 6);
		pos[3 * i + 1] = (double)(i / 6 % 6);
		pos[3 * i + 2] = (double)(i / 36);
		eps[i] = (double)(i % 5) / 14.1;
	}
	g.softening = NB_SPLINE;
	CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
	g.softening = NB_PLUMMER;
	g.body_eps = NULL;
	ask_oracle(&g);
	compare("newton", &g, 0);
}

static void momentum(void)
{
	enum { N = 2000 };
	for (int law = 0; law < 2; law++) {
		struct nb_gravity g = problem(N, (enum nb_softening)law);
		double force[3] = {0}, most = 0;
		choose(&g, NB_F64, 0);
		CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
		for (size_t k = 0; k < 3 * N; k++) {
			force[k % 3] += mass[k / 3] * acc[k];
			most += mass[k / 3] * fabs(acc[k]);
		}
		for (size_t d = 0; d < 3; d++)
			CHECK_NEAR(force[d], 0, 1e-14 * most);
	}
}

static void refused(void)
{
	static const double bad[] = {NAN, INFINITY, -1};
	struct nb_gravity g = problem(100, NB_PLUMMER);
	for (size_t k = 0; k < 3; k++) {
		eps[37] = bad[k];
		CHECK(nb_gravity_direct_cpu(&g, NULL) == (k < 2 ? NB_ENONFINITE : NB_EINVAL));
		CHECK(nb_gravity_ref(&g, NULL, 0, ref_acc, NULL, NULL) == NB_EINVAL);
	}
}

int main(void)
{
	const int best = (int)nb_cpu_isa();
	oracle();
	direct(best);
	near_field(best);
	coincident();
	units();
	newton();
	momentum();
	refused();
	return unit_end();
}
