/* Gravity by a mesh and pairs against Ewald's sum: errors, laws of softening, points, walls, small boxes. */
#include "kernels/treepm/treepm.h"
#include "common/cpu.h"
#include "kernels/ewald/ewald.h"
#include "kernels/mesh/mesh.h"
#include "kernels/treepm/treepm_internal.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { MOST = 1728 };
/* -psi(0) of ewald.h */
static const double OWN = 2.837297479480619614;

static double pos[3 * MOST], mass[MOST], eps[MOST], acc[3 * MOST], pot[MOST], acc2[3 * MOST], pot2[MOST];
static char label[100];

/* Half of them in a clump astride a corner of the box. */
static struct nb_gravity bodies(size_t n, double box)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t d = 0; d < 3; d++) {
			const double x = i % 2 ? uniform() : 0.1 * (uniform() - 0.5);
			pos[3 * i + d] = box * (x < 0 ? x + 1 : x);
		}
		mass[i] = i % 7 == 3 ? 0 : 0.1 + uniform();
		eps[i] = i % 3 == 2 ? 0 : 0.03 * box * pow(uniform(), 3);
	}
	return (struct nb_gravity){.n = n, .pos = pos, .mass = mass, .acc = acc, .pot = pot, .G = 1.5};
}

static double rms(size_t n, const double *x)
{
	double sum = 0;
	for (size_t k = 0; k < n; k++)
		sum += x[k] * x[k];
	return sqrt(sum / (double)n);
}

static double rms_difference(size_t n, const double *x, const double *y)
{
	double sum = 0;
	for (size_t k = 0; k < n; k++)
		sum += (x[k] - y[k]) * (x[k] - y[k]);
	return sqrt(sum / (double)n);
}

/* The sum that is the oracle, into acc2 and pot2. */
static void sum_exactly(const struct nb_gravity *g, double box)
{
	struct nb_gravity exact = *g;
	exact.acc = acc2;
	exact.pot = pot2;
	CHECK(nb_ewald_cpu(&exact, box, NB_EWALD_NEAREST, NULL, NULL) == NB_OK);
}

/* In mixed precision the field is that of f64 to what the header says; acc2 is that, and changes pot2. */
static void check_mixed(const struct nb_gravity *given, const struct nb_treepm *how)
{
	struct nb_gravity g = *given;
	g.pot = pot2;
	WANT(nb_treepm_cpu(&g, 2, how, NULL, NULL, NULL) == NB_OK);
	for (int with_pot = 0; with_pot < 2; with_pot++) {
		g.precision = NB_MIXED;
		g.pot = with_pot ? pot : NULL;
		WANT(nb_treepm_cpu(&g, 2, how, NULL, NULL, NULL) == NB_OK);
		const double error = rms_difference(3 * g.n, acc, acc2);
		WANT(error > 0 && error < 2e-7 * rms(3 * g.n, acc2));
	}
	WANT(rms_difference(g.n, pot, pot2) < 1e-6 * rms(g.n, pot2));
}

/* Each law of softening, with and without massless bodies, and two bodies in one place. */
static void check_laws(void)
{
	for (int law = 0; law < 5; law++) {
		struct nb_gravity g = bodies(400, 2);
		const struct nb_treepm how = {32, 6, 1.3, 6.5};
		g.softening = law > 2 ? NB_SPLINE : NB_PLUMMER;
		g.eps = law == 0 ? 0 : law == 1 ? 0.01 : 0.04;
		g.body_eps = law == 2 || law == 4 ? eps : NULL;
		for (size_t i = 0; law < 3 && i < g.n; i++) {
			mass[i] += 0.1;
			eps[i] *= 0.3;
		}
		memcpy(pos + 6, pos + 9, 3 * sizeof *pos);
		snprintf(label, sizeof label, "law %d", law);
		WANT(nb_treepm_cpu(&g, 2, &how, NULL, NULL, NULL) == NB_OK);
		sum_exactly(&g, 2);
		/* Plummer's softening goes on beyond the cut */
		const double most = law == 1 || law == 2 ? 4e-4 : 1e-5;
		WANT(rms_difference(3 * g.n, acc, acc2) < most * rms(3 * g.n, acc2));
		WANT(rms_difference(g.n, pot, pot2) < most * rms(g.n, pot2));
		memcpy(acc2, acc, sizeof acc);
		g.pot = NULL; /* another loop */
		WANT(nb_treepm_cpu(&g, 2, &how, NULL, NULL, NULL) == NB_OK);
		WANT(rms_difference(3 * g.n, acc, acc2) < 1e-14 * rms(3 * g.n, acc2));
		check_mixed(&g, &how);
	}
}

/* Better meshes have smaller errors, as the header says. */
static void check_orders(void)
{
	static const struct {
		struct nb_treepm how;
		double least, most;
	} known[] = {{{40, 4, 1.3, 6.5}, 5e-5, 4e-4}, {{40, 6, 1.3, 6.5}, 5e-6, 3e-5}, {{40, 6, 2, 7}, 3e-7, 3e-6}};
	struct nb_gravity g = bodies(500, 1);
	for (size_t i = 0; i < 3 * g.n; i++)
		pos[i] = uniform();
	g.eps = 0.03;
	g.softening = NB_SPLINE;
	sum_exactly(&g, 1);
	for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
		double momentum[3] = {0};
		snprintf(label, sizeof label, "mesh %zu", k);
		WANT(nb_treepm_cpu(&g, 1, &known[k].how, NULL, NULL, NULL) == NB_OK);
		const double error = rms_difference(3 * g.n, acc, acc2) / rms(3 * g.n, acc2);
		WANT(error > known[k].least && error < known[k].most);
		for (size_t i = 0; i < 3 * g.n; i++)
			momentum[i % 3] += mass[i / 3] * acc[i];
		WANT(rms(3, momentum) < 30 * known[k].most * rms(3 * g.n, acc2));
	}
}

/* Two bodies at distances to and beyond the cut, where the force does not jump. */
static void check_pairs(void)
{
	struct nb_gravity g = bodies(2, 1);
	const struct nb_treepm how = {48, 6, 1.3, 6.5};
	const double cut = nb_treepm_reach(&how, 1);
	mass[0] = 1;
	mass[1] = 3;
	for (int k = 0; k < 24; k++) {
		const double r = k < 12 ? cut * pow(0.4, k) : cut * (1 + (k - 18) * 0.01), way[3] = {0.48, -0.6, 0.64};
		for (int c = 0; c < 3; c++) {
			pos[c] = 0.002;
			pos[3 + c] = 0.002 + r * way[c] + (0.002 + r * way[c] < 0);
		}
		snprintf(label, sizeof label, "pair at %g of the cut", r / cut);
		WANT(nb_treepm_cpu(&g, 1, &how, NULL, NULL, NULL) == NB_OK);
		sum_exactly(&g, 1);
		/* the mesh's errors of a pair; at the cut, what is cut off */
		WANT(rms_difference(6, acc, acc2) < (k < 12 ? 1e-3 : 3e-4) / (cut * cut) + 1e-9 * rms(6, acc2));
		WANT(rms_difference(2, pot, pot2) < 7e-4 / cut + 1e-9 * rms(2, pot2));
		g.precision = NB_MIXED; /* also of a pair that is much closer than its place is told in f32 */
		WANT(nb_treepm_cpu(&g, 1, &how, NULL, NULL, NULL) == NB_OK);
		g.precision = NB_F64;
		WANT(rms_difference(6, acc, acc2) < (k < 12 ? 1e-3 : 3e-4) / (cut * cut) + 3e-7 * rms(6, acc2));
		WANT(rms_difference(2, pot, pot2) < 7e-4 / cut + 1e-6 * rms(2, pot2));
	}
}

/* A lattice that divides the mesh is at rest wherever it is, with the potential of its images. */
static void check_lattice(void)
{
	struct nb_gravity g = bodies(0, 1);
	const struct nb_treepm how = {24, 6, 1.3, 6.5};
	for (int k = 0; k < 12 * 12 * 12; k++, g.n++) {
		pos[3 * g.n] = 4.0 * (0.1 + k % 12) / 12;
		pos[3 * g.n + 1] = 4.0 * (0.7 + k / 12 % 12) / 12;
		pos[3 * g.n + 2] = 4.0 * (0.3 + k / 144) / 12;
		mass[g.n] = 2;
	}
	CHECK(nb_treepm_choose(g.n, 0).mesh == 24 && nb_treepm_choose(1, 0).mesh == 24);
	CHECK(nb_treepm_choose(1, 2).mesh == 35 && nb_treepm_choose(125 * 125 * 125, 1.5).mesh == 250);
	CHECK(nb_treepm_choose(SIZE_MAX, 0).mesh == NB_MESH_MOST);
	CHECK(nb_treepm_choose((size_t)1 << 28, 0).mesh == 1344 && nb_treepm_choose((size_t)1 << 27, 0).mesh == 1024);
	CHECK(nb_treepm_choose(600 * 600 * 600, 0).mesh == 1200 &&
		nb_treepm_choose(600 * 600 * 600 + 1, 0).mesh == 1225);
	CHECK(nb_treepm_choose(255 * 255 * 255 + 1, 0).mesh == 512);
	CHECK(nb_treepm_cpu(&g, 4, &how, NULL, NULL, NULL) == NB_OK);
	for (size_t i = 0; i < g.n; i++) {
		CHECK(fabs(pot[i] - g.G * 2 * OWN * 12 / 4) < 1e-5 * pot[i]);
		CHECK(fabs(acc[3 * i]) + fabs(acc[3 * i + 1]) + fabs(acc[3 * i + 2]) < 1e-10);
	}
	for (int k = 3; k > 0; k--) { /* displaced by a share of its spacing: pulls cancel, but their errors do not */
		const double share = pow(10, -k);
		for (size_t i = 0; i < 3 * g.n; i++)
			pos[i] += share * 4 / 12 * sqrt(12) * (uniform() - 0.5);
		CHECK(nb_treepm_cpu(&g, 4, &how, NULL, NULL, NULL) == NB_OK);
		memcpy(acc2, acc, sizeof acc);
		g.precision = NB_MIXED;
		CHECK(nb_treepm_cpu(&g, 4, &how, NULL, NULL, NULL) == NB_OK);
		g.precision = NB_F64;
		snprintf(label, sizeof label, "lattice, %g", share);
		WANT(rms_difference(3 * g.n, acc, acc2) < 6e-8 / share * rms(3 * g.n, acc2));
	}
}

/* Some of the bodies, points where they are and elsewhere. */
static void check_points(void)
{
	struct nb_gravity g = bodies(400, 1);
	const struct nb_treepm how = {32, 6, 1.3, 6.5};
	uint32_t target[] = {399, 0, 17, 18, 255};
	double some[3 * MOST], some_pot[MOST], at[15], want[15], want_pot[5], own[5];
	g.eps = 0.01;
	g.softening = NB_SPLINE;
	CHECK(nb_treepm_cpu(&g, 1, &how, NULL, NULL, NULL) == NB_OK);
	struct nb_gravity_points points = {.n = 5, .target = target, .acc = some, .pot = some_pot};
	CHECK(nb_treepm_cpu(&g, 1, &how, &points, NULL, NULL) == NB_OK);
	for (size_t k = 0; k < 5; k++) {
		CHECK(rms_difference(3, some + 3 * k, acc + 3 * (size_t)target[k]) < 1e-12 * rms(3 * g.n, acc));
		CHECK(fabs(some_pot[k] - pot[target[k]]) < 1e-12 * rms(g.n, pot));
	}
	points.spread = 1;
	CHECK(nb_treepm_cpu(&g, 1, &how, &points, NULL, NULL) == NB_OK);
	for (size_t i = 0; i < g.n; i++) {
		const int in = i == 399 || i == 0 || i == 17 || i == 18 || i == 255;
		CHECK(in ? some[3 * i] != 0 && some_pot[i] != 0 : some[3 * i] == 0 && some_pot[i] == 0);
	}
	for (int law = 0; law < 3; law++) {
		for (size_t k = 0; k < 15; k++)
			at[k] = 4 * uniform() - 1; /* also outside the box */
		memcpy(at, pos, 3 * sizeof *at);
		for (size_t k = 0; k < 5; k++)
			own[k] = 0.03 * uniform();
		g.softening = law ? NB_SPLINE : NB_PLUMMER;
		g.eps = law ? 0.01 : 0;
		points = (struct nb_gravity_points){
			.n = 5, .pos = at, .acc = some, .pot = some_pot, .eps = law == 1 ? NULL : own};
		CHECK(nb_treepm_cpu(&g, 1, &how, &points, NULL, NULL) == NB_OK);
		points.acc = want;
		points.pot = want_pot;
		CHECK(nb_ewald_cpu(&g, 1, NB_EWALD_NEAREST, &points, NULL) == NB_OK);
		snprintf(label, sizeof label, "points, law %d", law);
		WANT(rms_difference(15, some, want) < (law ? 1e-5 : 1e-3) * rms(3 * g.n, acc));
		WANT(rms_difference(5, some_pot, want_pot) < (law ? 1e-5 : 1e-3) * rms(g.n, pot));
	}
}

/* Any threads; a box of another power of two: the same bits. */
static void check_bytes(enum nb_precision precision)
{
	static double big[3 * MOST];
	struct nb_gravity g = bodies(MOST, 1);
	g.precision = precision;
	const struct nb_treepm how = nb_treepm_choose(g.n, 0);
	g.eps = 0.01;
	nb_cpu_set_threads(1);
	CHECK(nb_treepm_cpu(&g, 1, &how, NULL, NULL, NULL) == NB_OK);
	struct nb_gravity other = g;
	struct nb_treepm_kept kept = {0, NULL, NULL};
	other.acc = acc2;
	other.pot = pot2;
	for (int threads = 2; threads < 5; threads++) {
		const struct nb_treepm coarse = {20, 6, 1.3, 6.5};
		nb_cpu_set_threads(threads);
		if (threads == 3) /* the meshes that are kept are others */
			CHECK(nb_treepm_cpu(&other, 1, &coarse, NULL, &kept, NULL) == NB_OK);
		CHECK(nb_treepm_cpu(&other, 1, &how, NULL, &kept, NULL) == NB_OK);
		CHECK(kept.mesh == how.mesh);
		CHECK(memcmp(acc, acc2, sizeof acc) == 0);
		CHECK(memcmp(pot, pot2, sizeof pot) == 0);
	}
	nb_treepm_free(&kept);
	nb_cpu_set_threads(0);
	for (size_t k = 0; k < 3 * g.n; k++)
		big[k] = pos[k] * 0x1p100;
	other.pos = big;
	other.eps = g.eps * 0x1p100;
	CHECK(nb_treepm_cpu(&other, 0x1p100, &how, NULL, NULL, NULL) == NB_OK);
	for (size_t k = 0; k < 3 * g.n; k++)
		acc2[k] *= 0x1p200;
	CHECK(memcmp(acc, acc2, sizeof acc) == 0);
}

/* Few bodies; the smallest mesh, where lists reach around the box; bodies on walls; all in one place. */
static void check_hard(void)
{
	static const size_t few[] = {0, 1, 2, 3, 17};
	for (size_t k = 0; k < 5; k++)
		for (int place = 0; place < 3; place++) {
			struct nb_gravity g = bodies(few[k], 1);
			const struct nb_treepm how = {18, 6, 1.3, 6.5};
			for (size_t i = 0; i < 3 * g.n; i++)
				pos[i] = place == 0 ? uniform() : place == 1 ? (i % 2 ? 0 : nextafter(1, 0)) : 0.25;
			g.eps = 0.001;
			snprintf(label, sizeof label, "%zu bodies, place %d", few[k], place);
			WANT(nb_treepm_cpu(&g, 1, &how, NULL, NULL, NULL) == NB_OK);
			sum_exactly(&g, 1);
			const double size = rms(g.n, pot2) + 1;
			WANT(g.n == 0 || rms_difference(3 * g.n, acc, acc2) < 2e-3 * size);
			WANT(g.n == 0 || rms_difference(g.n, pot, pot2) < 2e-4 * size);
			g.precision = NB_MIXED;
			WANT(nb_treepm_cpu(&g, 1, &how, NULL, NULL, NULL) == NB_OK);
			WANT(g.n == 0 || rms_difference(3 * g.n, acc, acc2) < 2e-3 * size);
			WANT(g.n == 0 || rms_difference(g.n, pot, pot2) < 2e-4 * size);
		}
}

/* Two bodies of a cell see two images of a third one, both within the cut: the group is too wide to have one list. */
static void check_wide(void)
{
	struct nb_gravity g = bodies(3, 1);
	const struct nb_treepm how = {18, 6, 1.3, 6.5};
	const double x[] = {0.02, 0.48, 0.74};
	for (size_t i = 0; i < 3; i++) {
		pos[3 * i] = x[i];
		pos[3 * i + 1] = pos[3 * i + 2] = 0.1;
		mass[i] = 1;
	}
	CHECK(nb_treepm_cpu(&g, 1, &how, NULL, NULL, NULL) == NB_OK);
	sum_exactly(&g, 1);
	CHECK(rms_difference(9, acc, acc2) < 1e-3 * rms(9, acc2));
}

static void check_edges(void)
{
	struct nb_gravity g = bodies(20, 1);
	const struct nb_treepm good = {18, 6, 1.3, 6.5},
			       bad[] = {{16, 6, 1.3, 6.5}, {22, 6, 1.3, 6.5}, {18, 7, 1.3, 6.5}, {18, 2, 1.3, 6.5},
				       {18, 6, 0, 6.5}, {18, 6, NAN, 6.5}, {7, 6, 0.1, 6.5}, {8192, 6, 1.3, 6.5}};
	static const double box[] = {0, -1, NAN, INFINITY};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
		CHECK(nb_treepm_cpu(&g, 1, &bad[k], NULL, NULL, NULL) == NB_EINVAL);
	for (size_t k = 0; k < 4; k++)
		CHECK(nb_treepm_cpu(&g, box[k], &good, NULL, NULL, NULL) == NB_EINVAL);
	g.eps = nb_treepm_reach(&good, 1) * 1.001;
	CHECK(nb_treepm_cpu(&g, 1, &good, NULL, NULL, NULL) == NB_EINVAL);
	g.eps = nb_treepm_reach(&good, 1) / 2;
	CHECK(nb_treepm_cpu(&g, 1, &good, NULL, NULL, NULL) == NB_OK);
	g.softening = NB_SPLINE;
	CHECK(nb_treepm_cpu(&g, 1, &good, NULL, NULL, NULL) == NB_EINVAL);
	g.eps = 0;
	const uint32_t row = 20;
	double strength;
	const struct nb_gravity_points none = {.n = 1, .target = &row, .acc = acc},
				       strong = {.n = 1, .pos = pos, .strength = &strength};
	CHECK(nb_treepm_cpu(&g, 1, &good, &none, NULL, NULL) == NB_EINVAL);
	CHECK(nb_treepm_cpu(&g, 1, &good, &strong, NULL, NULL) == NB_EINVAL);
	pos[4] = NAN;
	CHECK(nb_treepm_cpu(&g, 1, &good, NULL, NULL, NULL) == NB_ENONFINITE);
}

/* Cells are so wide that few of them are within reach, however quotients are rounded. */
static void check_cells(void)
{
	struct nb_gravity g = bodies(MOST, 1);
	for (int mesh = 18; mesh < 400; mesh++)
		for (int k = 4; k < 60; k++)
			for (int cut = 10; cut < 15; cut++) {
				const struct nb_treepm how = {mesh, 6, 0.05 * k, 0.5 * cut};
				struct nb_treepm_plan plan;
				nb_treepm_make_plan(&g, 1 + 0.1 * (k % 10), &how, NULL, 1, &plan);
				const double width = plan.box / (double)plan.side;
				snprintf(label, sizeof label, "mesh %d, split %g, cut %g", mesh, how.split, how.cut);
				WANT(plan.around <= NB_TREEPM_AROUND);
				WANT(plan.reach <= (double)plan.around * width * (1 + 1e-12));
			}
}

/* The potential of a body at itself is taken out, or was not there: also if its softening is as good as none. */
static void check_short(void)
{
	for (int k = 0; k < 40; k++) {
		struct nb_gravity g = bodies(2, 1);
		const struct nb_treepm how = {24, 6, 1.3, 6.5};
		g.softening = k % 2 ? NB_SPLINE : NB_PLUMMER;
		g.precision = NB_MIXED;
		mass[0] = mass[1] = 1;
		WANT(nb_treepm_cpu(&g, 1, &how, NULL, NULL, NULL) == NB_OK);
		memcpy(pot2, pot, 2 * sizeof *pot);
		eps[0] = 0.01;
		eps[1] = 0x1p-58 * pow(2, -0.25 * k);
		g.body_eps = eps;
		snprintf(label, sizeof label, "short %d", k);
		WANT(nb_treepm_cpu(&g, 1, &how, NULL, NULL, NULL) == NB_OK);
		WANT(fabs(pot[1] - pot2[1]) < 1e-15 / eps[1]);
	}
}

/* How groups are dealt to several devices: each once, the larger parts first, the last one small. */
static void check_parts(void)
{
	static const size_t of[] = {1, 2, 1023, 4095, 4096, 30000, 1 << 20, 26843546, INT32_MAX};
	for (size_t c = 0; c < sizeof of / sizeof *of; c++) {
		const size_t groups = of[c], parts = nb_treepm_parts(groups);
		size_t before = groups;
		snprintf(label, sizeof label, "%zu groups in %zu parts", groups, parts);
		WANT(parts >= 1 && parts <= NB_TREEPM_PARTS && nb_treepm_part(groups, parts, 0) == 0);
		WANT(nb_treepm_part(groups, parts, parts) == groups);
		for (size_t k = 0; k < parts; k++) {
			const size_t first = nb_treepm_part(groups, parts, k),
				     end = nb_treepm_part(groups, parts, k + 1);
			WANT(first < end && end - first <= before + 1);
			before = end - first;
		}
		WANT(parts == 1 || (before >= 1024 && before <= groups / (parts * parts) + 1));
		WANT(groups < 4096 ? parts == 1 : groups < 1 << 24 || parts == NB_TREEPM_PARTS);
	}
}

int main(void)
{
	check_parts();
	check_laws();
	check_orders();
	check_pairs();
	check_lattice();
	check_points();
	check_bytes(NB_F64);
	check_bytes(NB_MIXED);
	check_hard();
	check_wide();
	check_edges();
	check_short();
	check_cells();
	return unit_end();
}
