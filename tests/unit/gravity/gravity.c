/* Forces on the CPU: oracle against extended precision; direct sum and near field against the oracle for every
 * instruction set, precision, awkward n and awkward data; same bytes for any number of threads. */
#include "kernels/gravity/gravity.h"
#include "common/cpu.h"
#include "common/mem.h"
#include "tests/unit/unit.h"

#include <stdint.h>

enum { MOST = 3000, GUARD = 64 };

static double pos[3 * MOST], vel[3 * MOST], mass[MOST];
static double acc[3 * MOST + GUARD], pot[MOST + GUARD], jerk[3 * MOST + GUARD];
static double ref_acc[3 * MOST], ref_pot[MOST], ref_jerk[3 * MOST];
static const char *const isa_name[] = {"plain", "avx2", "avx512"};
static const char *const precision_name[] = {"f32", "mixed", "f64"};

static double uniform(void)
{
	static uint64_t state = 20240607;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

enum masses { EQUAL, UNEQUAL, RUNS, SOME_ZERO, ALL_ZERO, BOTH_SIGNS }; /* RUNS: each mass for 192 bodies */

static void cube(size_t n, enum masses kind)
{
	for (size_t i = 0; i < n; i++) {
		for (int d = 0; d < 3; d++) {
			pos[3 * i + (size_t)d] = uniform() - 0.5;
			vel[3 * i + (size_t)d] = uniform() - 0.5;
		}
		const double some = 0.1 + uniform();
		mass[i] = kind == EQUAL	      ? 1.0 / (double)n
			  : kind == UNEQUAL   ? some
			  : kind == RUNS      ? (double)(i / 192 % 3 + 1)
			  : kind == SOME_ZERO ? (i % 3 ? some : 0)
			  : kind == ALL_ZERO  ? 0
					      : (i % 2 ? -some : 0.5 * some);
	}
}

static struct nb_gravity problem(size_t n, enum nb_precision p, double eps)
{
	return (struct nb_gravity){.n = n,
		.pos = pos,
		.vel = vel,
		.mass = mass,
		.acc = acc,
		.pot = pot,
		.jerk = jerk,
		.eps = eps,
		.G = 1,
		.precision = p};
}

static void use(int isa)
{
	setenv("NB_SIMD", isa_name[isa], 1);
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

static const double fill = 7.25;

static void dirty(void)
{
	for (size_t k = 0; k < 3 * MOST + GUARD; k++)
		acc[k] = jerk[k] = fill;
	for (size_t k = 0; k < MOST + GUARD; k++)
		pot[k] = fill;
}

static int clean_past(const double *x, size_t n)
{
	for (size_t k = n; k < n + GUARD; k++)
		if (memcmp(&x[k], &fill, sizeof fill) != 0)
			return 0;
	return 1;
}

/* Fails with the case's name, so that a table of cases stays readable. */
static void expect(const char *what, const struct nb_gravity *g, int isa, double got, double bound)
{
	unit_checked++;
	if (got <= bound)
		return;
	unit_failed++;
	fprintf(stderr, "%s: %s %s n %zu eps %g%s%s: error %.2e, want <= %.2e\n", what, isa_name[isa],
		precision_name[g->precision], g->n, g->eps, g->pot ? " pot" : "", g->jerk ? " jerk" : "", got, bound);
}

/* ---- the oracle ------------------------------------------------------------------------------------ */

static void oracle(void)
{
	enum { N = 40 };
	cube(N, UNEQUAL);
	struct nb_gravity g = problem(N, NB_F64, 0.1);
	g.G = 2.5;
	CHECK(nb_gravity_ref(&g, NULL, 0, ref_acc, ref_pot, ref_jerk) == 0);
	for (size_t i = 0; i < N; i++) {
		long double a[3] = {0}, s[3] = {0}, p = 0;
		for (size_t j = 0; j < N; j++) {
			if (j == i)
				continue;
			long double d[3], v[3], r2 = 0.1L * 0.1L, dv = 0;
			for (size_t c = 0; c < 3; c++) {
				d[c] = (long double)pos[3 * j + c] - (long double)pos[3 * i + c];
				v[c] = (long double)vel[3 * j + c] - (long double)vel[3 * i + c];
				r2 += d[c] * d[c];
				dv += d[c] * v[c];
			}
			const long double m = 2.5L * (long double)mass[j], r = sqrtl(r2);
			p -= m / r;
			for (size_t c = 0; c < 3; c++) {
				a[c] += m * d[c] / (r2 * r);
				s[c] += m * (v[c] / (r2 * r) - 3 * dv * d[c] / (r2 * r2 * r));
			}
		}
		CHECK_NEAR(ref_pot[i], (double)p, 1e-14 * fabs((double)p));
		for (size_t c = 0; c < 3; c++) {
			CHECK_NEAR(ref_acc[3 * i + c], (double)a[c], 1e-12);
			CHECK_NEAR(ref_jerk[3 * i + c], (double)s[c], 1e-11);
		}
	}
	/* a choice of targets gives those rows, in that order */
	const size_t target[] = {7, 0, 39, 7};
	double some[12], some_pot[4], some_jerk[12];
	CHECK(nb_gravity_ref(&g, target, 4, some, some_pot, some_jerk) == 0);
	for (size_t k = 0; k < 4; k++) {
		CHECK(memcmp(some + 3 * k, ref_acc + 3 * target[k], 3 * sizeof *some) == 0);
		CHECK(memcmp(some_jerk + 3 * k, ref_jerk + 3 * target[k], 3 * sizeof *some) == 0);
		CHECK(memcmp(some_pot + k, ref_pot + target[k], sizeof *some) == 0);
	}
	/* jerk is the time derivative of acc: central difference of two drifted states */
	static double plus[3 * N], minus[3 * N], here[3 * N];
	memcpy(here, pos, sizeof here);
	const double h = 1e-5;
	for (size_t k = 0; k < 3 * N; k++)
		pos[k] = here[k] + h * vel[k];
	CHECK(nb_gravity_ref(&g, NULL, 0, plus, NULL, NULL) == 0);
	for (size_t k = 0; k < 3 * N; k++)
		pos[k] = here[k] - h * vel[k];
	CHECK(nb_gravity_ref(&g, NULL, 0, minus, NULL, NULL) == 0);
	for (size_t k = 0; k < 3 * N; k++)
		plus[k] = (plus[k] - minus[k]) / (2 * h);
	CHECK(error_of(plus, ref_jerk, 3 * N) < 1e-6);
}

/* ---- direct sum ------------------------------------------------------------------------------------ */

static const double bound[] = {2e-6, 5e-7, 1e-14};

/* acc, and pot and jerk if asked for, against the oracle's rows in ref_* */
static void compare(const char *what, const struct nb_gravity *g, int isa, double factor)
{
	const double most = factor * bound[g->precision];
	expect(what, g, isa, error_of(acc, ref_acc, 3 * g->n), most);
	CHECK(clean_past(acc, 3 * g->n));
	if (g->pot)
		expect(what, g, isa, error_of(pot, ref_pot, g->n), most);
	CHECK(clean_past(pot, g->pot ? g->n : 0));
	if (g->jerk)
		expect(what, g, isa, error_of(jerk, ref_jerk, 3 * g->n), 10 * most);
	CHECK(clean_past(jerk, g->jerk ? 3 * g->n : 0));
}

static void direct(int best)
{
	static const size_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 31, 33, 191, 192, 193, 255, 257, 383, 385, 1023, 2049};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes - 2 * UNIT_SANITIZED; s++)
		for (int kind = EQUAL; kind <= BOTH_SIGNS; kind++) {
			const size_t n = sizes[s];
			if (n > 400 && kind > (UNIT_SANITIZED ? EQUAL : RUNS))
				continue;
			cube(n, (enum masses)kind);
			const double eps = 0.05;
			struct nb_gravity all = problem(n, NB_F64, eps);
			CHECK(nb_gravity_ref(&all, NULL, 0, ref_acc, ref_pot, ref_jerk) == 0);
			for (int isa = 0; isa <= best; isa++)
				for (int p = NB_F32; p <= NB_F64; p++)
					for (int more = 0; more < 4; more += 1 + 2 * UNIT_SANITIZED) {
						struct nb_gravity g = problem(n, (enum nb_precision)p, eps);
						struct nb_gravity_count count = {.p2p = 5};
						if (!(more & 1))
							g.pot = NULL;
						if (!(more & 2))
							g.jerk = NULL;
						use(isa);
						dirty();
						CHECK(nb_gravity_direct_cpu(&g, &count) == 0);
						CHECK(count.p2p == 5 + (n ? (uint64_t)n * (n - 1) : 0));
						compare("direct", &g, isa, kind == BOTH_SIGNS ? 3 : 1);
					}
		}
}

static void two_bodies(int isa)
{
	for (int p = NB_F32; p <= NB_F64; p++) {
		struct nb_gravity g = problem(2, (enum nb_precision)p, 0);
		memset(pos, 0, 6 * sizeof *pos);
		memset(vel, 0, 6 * sizeof *vel);
		pos[0] = -1;
		pos[3] = 1;
		vel[4] = 3;
		mass[0] = 2;
		mass[1] = 5;
		g.G = 3;
		CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
		const double by = p == NB_F64 ? 1e-15 : 1e-6;
		CHECK_NEAR(acc[0], 3 * 5 / 4.0, 10 * by);
		CHECK_NEAR(acc[3], -3 * 2 / 4.0, 10 * by);
		CHECK(acc[1] == 0 && acc[2] == 0 && acc[4] == 0 && acc[5] == 0);
		CHECK_NEAR(pot[0], -3 * 5 / 2.0, 10 * by);
		CHECK_NEAR(pot[1], -3 * 2 / 2.0, 10 * by);
		CHECK_NEAR(jerk[1], 3 * 5 * 3 / 8.0, 10 * by);
		CHECK_NEAR(jerk[4], -3 * 2 * 3 / 8.0, 10 * by);
		CHECK_NEAR(jerk[0], 0, by);
	}
	(void)isa;
}

/* Three bodies at one place and one elsewhere, and many at one place. */
static void coincident(int isa)
{
	for (int p = NB_F32; p <= NB_F64; p++)
		for (int more = 0; more < 2; more++)
			for (int soft = 0; soft < 2; soft++) {
				struct nb_gravity g = problem(4, (enum nb_precision)p, soft ? 0.5 : 0);
				if (!more)
					g.pot = g.jerk = NULL;
				cube(4, UNEQUAL);
				memcpy(pos + 3, pos, 3 * sizeof *pos);
				memcpy(pos + 6, pos, 3 * sizeof *pos);
				CHECK(nb_gravity_ref(&g, NULL, 0, ref_acc, ref_pot, ref_jerk) == 0);
				dirty();
				CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
				compare("coincident", &g, isa, 1);

				for (size_t k = 0; k < 6; k++)
					pos[k] = 1.5e308;
				g.n = 2;
				CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
				for (size_t k = 0; k < 6; k++)
					CHECK(acc[k] == 0);

				g.n = 700;
				for (size_t i = 0; i < g.n; i++) {
					mass[i] = i % 2 ? 1 : 3;
					pos[3 * i] = 1e9;
					pos[3 * i + 1] = -3;
					pos[3 * i + 2] = 0.1;
					vel[3 * i] = uniform();
				}
				CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
				for (size_t k = 0; k < 3 * g.n; k++)
					CHECK(acc[k] == 0);
				for (size_t i = 0; more && i < g.n; i++)
					CHECK_NEAR(pot[i], soft ? -(1400 - mass[i]) / 0.5 : 0, soft ? 4e-3 : 0);
			}
}

/* The same bodies in other units must give the same numbers, to the last bits that powers of two leave. */
static void scales(int isa)
{
	static const struct {
		double length, mass, speed, G;
	} unit[] = {{1e12, 1e41, 1e5, 6.674e-11}, {1e21, 1e41, 1e5, 6.674e-11}, {1e-30, 1e-40, 1e-20, 1},
		{1e100, 1e100, 1e50, 1}, {1e-100, 1e-60, 1e-60, 1}};
	enum { N = 300 };
	static double x[3 * N], v[3 * N], m[N];
	cube(N, UNEQUAL);
	memcpy(x, pos, sizeof x);
	memcpy(v, vel, sizeof v);
	memcpy(m, mass, sizeof m);
	struct nb_gravity all = problem(N, NB_F64, 0.02);
	CHECK(nb_gravity_ref(&all, NULL, 0, ref_acc, ref_pot, ref_jerk) == 0);
	for (size_t u = 0; u < sizeof unit / sizeof *unit; u++)
		for (int p = NB_F32; p <= NB_F64; p++)
			for (int more = 0; more < 2; more++) {
				for (size_t k = 0; k < 3 * N; k++) {
					pos[k] = x[k] * unit[u].length;
					vel[k] = v[k] * unit[u].speed;
				}
				for (size_t i = 0; i < N; i++)
					mass[i] = m[i] * unit[u].mass;
				struct nb_gravity g = problem(N, (enum nb_precision)p, 0.02 * unit[u].length);
				g.G = unit[u].G;
				if (!more)
					g.pot = g.jerk = NULL;
				dirty();
				CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
				const double gm = unit[u].G * unit[u].mass / unit[u].length;
				for (size_t k = 0; k < 3 * N; k++) {
					acc[k] = acc[k] / gm * unit[u].length;
					if (more)
						jerk[k] = jerk[k] / gm * unit[u].length *
							  (unit[u].length / unit[u].speed);
				}
				for (size_t i = 0; more && i < N; i++)
					pot[i] /= gm;
				compare("scales", &g, isa, 2);
			}
}

/* Small things far away: the difference of coordinates is all that counts. */
static void far_away(int isa)
{
	enum { N = 500 };
	/* a cluster of size 1e-3 around (1e6, -1e6, 1e6); then half of it on the other side of the origin */
	for (int halves = 0; halves < 2; halves++) {
		cube(N, UNEQUAL);
		for (size_t k = 0; k < 3 * N; k++)
			pos[k] = 1e-3 * pos[k] + (k % 3 == 1 ? -1e6 : 1e6) * (halves && k / 3 % 2 ? -1 : 1);
		struct nb_gravity all = problem(N, NB_F64, 1e-5);
		CHECK(nb_gravity_ref(&all, NULL, 0, ref_acc, ref_pot, ref_jerk) == 0);
		for (int p = halves ? NB_MIXED : NB_F32; p <= NB_F64; p++) {
			struct nb_gravity g = problem(N, (enum nb_precision)p, 1e-5);
			dirty();
			CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
			compare("far away", &g, isa, 5);
		}
	}
	/* f32: two compact clusters, one after the other as a sorted frame has them, of one tile each; within
	 * each its tile's own origin serves */
	enum { TWO = 2 * 192 };
	cube(TWO, UNEQUAL);
	for (size_t k = 0; k < 3 * TWO; k++)
		pos[k] = 1e-3 * pos[k] + (k < 3 * TWO / 2 ? 1e6 : -1e6);
	struct nb_gravity g = problem(TWO, NB_F32, 1e-4);
	CHECK(nb_gravity_ref(&g, NULL, 0, ref_acc, ref_pot, ref_jerk) == 0);
	dirty();
	CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
	compare("far clusters", &g, isa, 5);
}

/* Pairs from 1e-3 to 1e-14 of the extent apart, eps = 0. */
static void close_pairs(int isa)
{
	enum { N = 24 };
	cube(N, UNEQUAL);
	double apart = 1e-3;
	for (size_t i = 0; i + 1 < N; i += 2, apart *= 0.1)
		pos[3 * i + 3] = pos[3 * i] + apart, pos[3 * i + 4] = pos[3 * i + 1], pos[3 * i + 5] = pos[3 * i + 2];
	for (int p = NB_MIXED; p <= NB_F64; p++) {
		struct nb_gravity g = problem(N, (enum nb_precision)p, 0);
		CHECK(nb_gravity_ref(&g, NULL, 0, ref_acc, ref_pot, ref_jerk) == 0);
		dirty();
		CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
		for (size_t i = 0; i < N; i++) {
			CHECK_NEAR(acc[3 * i], ref_acc[3 * i], 5 * bound[p] * fabs(ref_acc[3 * i]));
			CHECK_NEAR(pot[i], ref_pot[i], 5 * bound[p] * fabs(ref_pot[i]));
		}
	}
	(void)isa;
}

static void refused(void)
{
	struct nb_gravity g = problem(100, NB_F32, 0);
	const struct nb_boxes one = {.nbox = 1, .box_first = (const uint64_t[]){0, 100}, .nneighbour = 0};
	static const double odd[] = {NAN, INFINITY, -INFINITY};
	for (int p = NB_F32; p <= NB_F64; p++)
		for (size_t k = 0; k < 3; k++)
			for (size_t at = 0; at < 300; at += 23) {
				cube(100, UNEQUAL);
				g.precision = (enum nb_precision)p;
				pos[at] = odd[k];
				CHECK(nb_gravity_direct_cpu(&g, NULL) == NB_ENONFINITE);
				CHECK(nb_gravity_near_cpu(&g, &one, NULL) == NB_ENONFINITE);
				CHECK(nb_gravity_ref(&g, NULL, 0, ref_acc, NULL, NULL) == NB_ENONFINITE);
				pos[at] = 0;
				mass[at / 3] = odd[k];
				CHECK(nb_gravity_direct_cpu(&g, NULL) == NB_ENONFINITE);
				CHECK(nb_gravity_ref(&g, NULL, 0, ref_acc, NULL, NULL) == NB_ENONFINITE);
				mass[at / 3] = 0;
				vel[at] = odd[k]; /* read for jerk only */
				CHECK(nb_gravity_direct_cpu(&g, NULL) == NB_ENONFINITE);
				g.jerk = NULL;
				CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
				g.jerk = jerk;
			}
	cube(100, EQUAL);
	static const double bad[] = {NAN, -1, INFINITY};
	for (size_t k = 0; k < 3; k++) {
		g.eps = bad[k];
		CHECK(nb_gravity_direct_cpu(&g, NULL) == NB_EINVAL);
		CHECK(nb_gravity_ref(&g, NULL, 0, ref_acc, NULL, NULL) == NB_EINVAL);
	}
	g.eps = 0;
	g.G = NAN;
	CHECK(nb_gravity_direct_cpu(&g, NULL) == NB_EINVAL);
	g.G = 1;
	g.vel = NULL;
	CHECK(nb_gravity_direct_cpu(&g, NULL) == NB_EINVAL);
	g.jerk = NULL;
	CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
	/* as large as f64 goes: finite in, finite out */
	for (size_t k = 0; k < 300; k++)
		pos[k] = (uniform() - 0.5) * 1.7e308 * 2;
	CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
	for (size_t k = 0; k < 300; k++)
		CHECK(isfinite(acc[k]));

	/* boxes that do not add up */
	cube(100, EQUAL);
	const int32_t beyond[] = {2}, negative[] = {-2};
	CHECK(nb_gravity_near_cpu(&g, &one, NULL) == 0);
	struct nb_boxes boxes = one;
	boxes.box_first = (const uint64_t[]){0, 99};
	CHECK(nb_gravity_near_cpu(&g, &boxes, NULL) == NB_EINVAL);
	boxes.box_first = (const uint64_t[]){1, 100};
	CHECK(nb_gravity_near_cpu(&g, &boxes, NULL) == NB_EINVAL);
	boxes = (struct nb_boxes){.nbox = 2, .box_first = (const uint64_t[]){0, 101, 100}, .nneighbour = 0};
	CHECK(nb_gravity_near_cpu(&g, &boxes, NULL) == NB_EINVAL);
	boxes = (struct nb_boxes){.nbox = 1, .box_first = one.box_first, .neighbour = beyond, .nneighbour = 1};
	CHECK(nb_gravity_near_cpu(&g, &boxes, NULL) == NB_EINVAL);
	boxes.neighbour = negative;
	CHECK(nb_gravity_near_cpu(&g, &boxes, NULL) == NB_EINVAL);
	boxes.nbox = 0;
	CHECK(nb_gravity_near_cpu(&g, &boxes, NULL) == NB_EINVAL);
	g.n = 0;
	CHECK(nb_gravity_near_cpu(&g, &boxes, NULL) == 0);
}

/* ---- near field ------------------------------------------------------------------------------------ */

enum { BOXES = 512 };
static uint64_t box_first[BOXES + 1];
static int32_t neighbour[26 * BOXES];

/* side^dim boxes of random occupancy up to most, some empty, bodies uniform in each. */
static struct nb_boxes boxes_of(int dim, int side, size_t most, enum masses kind)
{
	const int deep = dim == 3 ? side : 1;
	const int nnext = dim == 3 ? 26 : 8;
	cube(MOST, kind);
	size_t n = 0, b = 0;
	for (int z = 0; z < deep; z++)
		for (int y = 0; y < side; y++)
			for (int x = 0; x < side; x++, b++) {
				box_first[b] = n;
				size_t here = uniform() < 0.2 && side > 1 ? 0
									  : (size_t)((double)(most + 1) * uniform());
				if (side == 1)
					here = most;
				for (; here > 0 && n < MOST; here--, n++) {
					pos[3 * n] = (x + uniform()) / side;
					pos[3 * n + 1] = (y + uniform()) / side;
					pos[3 * n + 2] = dim == 3 ? (z + uniform()) / side : 0;
					if (n > box_first[b] && n % 7 == 0) /* some coincide */
						memcpy(pos + 3 * n, pos + 3 * n - 3, 3 * sizeof *pos);
				}
				int k = 0;
				for (int dz = dim == 3 ? -1 : 0; dz <= (dim == 3 ? 1 : 0); dz++)
					for (int dy = -1; dy <= 1; dy++)
						for (int dx = -1; dx <= 1; dx++) {
							if (!dx && !dy && !dz)
								continue;
							const int u = x + dx, v = y + dy, w = z + dz;
							const int in = u >= 0 && u < side && v >= 0 && v < side &&
								       w >= 0 && w < deep;
							neighbour[b * (size_t)nnext + (size_t)k++] =
								in ? (w * side + v) * side + u : -1;
						}
			}
	box_first[b] = n;
	return (struct nb_boxes){.nbox = b, .box_first = box_first, .neighbour = neighbour, .nneighbour = nnext};
}

/* The oracle of each box: its bodies as targets, a problem of its own with the bodies around. */
static uint64_t near_ref(const struct nb_gravity *g, const struct nb_boxes *boxes)
{
	static double x[3 * MOST], v[3 * MOST], m[MOST];
	static size_t target[MOST];
	uint64_t p2p = 0;
	for (size_t b = 0; b < boxes->nbox; b++) {
		size_t n = 0;
		for (int k = -1; k < boxes->nneighbour; k++) {
			const int64_t o = k < 0 ? (int64_t)b
						: boxes->neighbour[b * (size_t)boxes->nneighbour + (size_t)k];
			for (size_t i = o < 0 ? 0 : box_first[o]; o >= 0 && i < box_first[o + 1]; i++, n++) {
				memcpy(x + 3 * n, g->pos + 3 * i, 3 * sizeof *x);
				memcpy(v + 3 * n, g->vel + 3 * i, 3 * sizeof *v);
				m[n] = g->mass[i];
			}
		}
		const size_t own = box_first[b + 1] - box_first[b];
		for (size_t k = 0; k < own; k++)
			target[k] = k;
		struct nb_gravity part = *g;
		part.n = n;
		part.pos = x;
		part.vel = v;
		part.mass = m;
		CHECK(nb_gravity_ref(&part, target, own, ref_acc + 3 * box_first[b], ref_pot + box_first[b],
			      ref_jerk + 3 * box_first[b]) == 0);
		p2p += own ? own * (n - 1) : 0;
	}
	return p2p;
}

static void near_field(int best)
{
	static const struct {
		int dim, side;
		size_t most;
		double eps;
	} cases[] = {{2, 1, 1, 0}, {2, 1, 2500, 0.01}, {2, 2, 700, 0.01}, {2, 8, 30, 0.01}, {2, 8, 30, 0},
		{2, 16, 3, 0}, {2, 4, 250, 0.01}, {3, 2, 5, 0}, {3, 4, 60, 0.01}, {3, 8, 9, 0.01}, {3, 2, 700, 0.01}};
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		const size_t most = UNIT_SANITIZED && cases[c].most > 100 ? cases[c].most / 4 : cases[c].most;
		const struct nb_boxes boxes = boxes_of(cases[c].dim, cases[c].side, most, c % 2 ? UNEQUAL : SOME_ZERO);
		struct nb_gravity all = problem(box_first[boxes.nbox], NB_F64, cases[c].eps);
		const uint64_t p2p = near_ref(&all, &boxes);
		for (int isa = 0; isa <= best; isa++)
			for (int p = NB_F32; p <= NB_F64; p++)
				for (int more = 0; more < 4; more++) {
					struct nb_gravity g = problem(all.n, (enum nb_precision)p, cases[c].eps);
					struct nb_gravity_count count = {0};
					if (!(more & 1))
						g.pot = NULL;
					if (!(more & 2))
						g.jerk = NULL;
					use(isa);
					dirty();
					CHECK(nb_gravity_near_cpu(&g, &boxes, &count) == 0);
					CHECK(count.p2p == p2p);
					/* without softening a close pair leaves f32 what its coordinates leave */
					const double factor = cases[c].eps == 0 && p == NB_F32 ? 100 : 5;
					compare("near", &g, isa, factor);
				}
	}
}

/* Two boxes that do not touch, each with an origin of its own for f32. */
static void near_far_away(int isa)
{
	enum { N = 400 };
	cube(N, UNEQUAL);
	for (size_t k = 0; k < 3 * N; k++)
		pos[k] = 1e-3 * pos[k] + (k < 3 * N / 2 ? 1e6 : -1e6);
	static const uint64_t first[] = {0, N / 2, N};
	static const int32_t nobody[2] = {-1, -1};
	const struct nb_boxes boxes = {.nbox = 2, .box_first = first, .neighbour = nobody, .nneighbour = 1};
	memcpy(box_first, first, sizeof first);
	struct nb_gravity g = problem(N, NB_F32, 1e-4);
	near_ref(&g, &boxes);
	dirty();
	CHECK(nb_gravity_near_cpu(&g, &boxes, NULL) == 0);
	compare("near far away", &g, isa, 5);
}

/* ---- threads --------------------------------------------------------------------------------------- */

static void threads(int isa)
{
	static double one_acc[3 * MOST], one_pot[MOST], one_jerk[3 * MOST];
	for (int p = NB_F32; p <= NB_F64; p++)
		for (int near = 0; near < 2; near++)
			for (int more = 0; more < 2; more++) {
				const struct nb_boxes boxes = boxes_of(2, 8, 90, more ? UNEQUAL : EQUAL);
				struct nb_gravity g = problem(box_first[boxes.nbox], (enum nb_precision)p, 0.01);
				if (!more)
					g.pot = g.jerk = NULL;
				for (int t = 1; t <= 5; t += 1 + UNIT_SANITIZED) {
					nb_cpu_set_threads(t);
					dirty();
					CHECK((near ? nb_gravity_near_cpu(&g, &boxes, NULL)
						    : nb_gravity_direct_cpu(&g, NULL)) == 0);
					if (t == 1) {
						memcpy(one_acc, acc, sizeof one_acc);
						memcpy(one_pot, pot, sizeof one_pot);
						memcpy(one_jerk, jerk, sizeof one_jerk);
					}
					CHECK(memcmp(one_acc, acc, sizeof one_acc) == 0);
					CHECK(memcmp(one_pot, pot, sizeof one_pot) == 0);
					CHECK(memcmp(one_jerk, jerk, sizeof one_jerk) == 0);
				}
				nb_cpu_set_threads(2);
			}
	(void)isa;
}

/* Newton's third law: the forces of all bodies cancel. */
static void momentum(int isa)
{
	for (int p = NB_F32; p <= NB_F64; p++) {
		cube(2000, UNEQUAL);
		struct nb_gravity g = problem(2000, (enum nb_precision)p, 0.01);
		CHECK(nb_gravity_direct_cpu(&g, NULL) == 0);
		double sum[3] = {0}, size = 0;
		for (size_t k = 0; k < 3 * g.n; k++) {
			sum[k % 3] += mass[k / 3] * acc[k];
			size += fabs(mass[k / 3] * acc[k]);
		}
		for (int d = 0; d < 3; d++)
			expect("momentum", &g, isa, fabs(sum[d]) / size, p == NB_F64 ? 1e-16 : 5e-8);
	}
}

int main(void)
{
	unsetenv("NB_SIMD");
	const int best = (int)nb_cpu_isa();
	nb_cpu_set_threads(2);
	oracle();
	direct(best);
	near_field(best);
	for (int isa = 0; isa <= best; isa++) {
		use(isa);
		CHECK((int)nb_cpu_isa() == isa);
		two_bodies(isa);
		coincident(isa);
		scales(isa);
		far_away(isa);
		close_pairs(isa);
		near_far_away(isa);
		threads(isa);
		momentum(isa);
	}
	refused();
	return unit_end();
}
