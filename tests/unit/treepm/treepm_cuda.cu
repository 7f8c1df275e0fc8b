/* Gravity by a mesh and pairs on the device against that of the CPU, and the bytes of one device from several.  Exit
 * status 77: there is no device.
 *   treepm_cuda         all, with one device that does the work of two
 *   treepm_cuda LIST    several devices only, e.g. 0,1 */
#include "tests/unit/device.cuh"

#include <math.h>
#include <string.h>

#include "kernels/backend/backend.h"
#include "kernels/team/team.h"
#include "kernels/treepm/treepm.h"
#include "tests/unit/random.h"

static char label[120];

struct bodies {
	std::vector<double> pos, mass, eps;
};

/* Half of them in a clump astride a corner of the box. */
static bodies make_bodies(size_t n, double box, bool clump)
{
	bodies b;
	for (size_t i = 0; i < n; i++) {
		for (int c = 0; c < 3; c++) {
			const double x = i % 2 || !clump ? uniform() : 0.02 * (uniform() - 0.5);
			b.pos.push_back(box * (x < 0 ? x + 1 : x));
		}
		b.mass.push_back(i % 7 == 3 ? 0 : i % 50 == 1 ? -0.1 : 0.1 + uniform());
		b.eps.push_back(i % 3 == 2 ? 0 : box * (0.001 + 0.009 * uniform()));
	}
	if (n > 9) /* two in one place */
		std::copy_n(b.pos.begin() + 9, 3, b.pos.begin() + 6);
	return b;
}

static double rms(const std::vector<double> &x)
{
	double sum = 0;
	for (const double v : x)
		sum += v * v;
	return sqrt(sum / (double)std::max<size_t>(1, x.size()));
}

/* Whether they differ by this part of each, and of the rms of all or of what is typical, at most. */
static bool alike(const std::vector<double> &got, const std::vector<double> &want, double part, double least)
{
	const double typical = fmax(rms(want), least);
	bool good = got.size() == want.size();
	for (size_t k = 0; good && k < want.size(); k++)
		good = fabs(got[k] - want[k]) <= part * (typical + fabs(want[k]));
	return good;
}

struct field {
	std::vector<double> acc, pot;
	uint64_t pairs;
};

/* points.pos, target and eps are of the host, the other members are not read. */
static field on_cpu(nb_gravity g, const bodies &b, double box, const nb_treepm &how, const nb_gravity_points *of)
{
	const size_t n = of && !of->spread ? of->n : g.n;
	field f = {std::vector<double>(3 * n), std::vector<double>(n), 0};
	nb_gravity_count count = {0, 0, 0, 0};
	g.pos = b.pos.data(), g.mass = b.mass.data(), g.body_eps = g.body_eps ? b.eps.data() : nullptr;
	g.acc = f.acc.data(), g.pot = f.pot.data();
	nb_gravity_points points = of ? *of : nb_gravity_points();
	points.acc = f.acc.data(), points.pot = f.pot.data();
	WANT(nb_treepm_cpu(&g, box, &how, of ? &points : nullptr, nullptr, &count) == NB_OK);
	f.pairs = count.p2p;
	return f;
}

static field on_device(
	nb_gravity g, const bodies &b, double box, const nb_treepm &how, const nb_gravity_points *of, bool pot)
{
	const size_t n = of && !of->spread ? of->n : g.n, m = of ? of->n : 0;
	const device<double> pos(b.pos), mass(b.mass), eps(b.eps);
	device<double> acc(3 * n), potential(n);
	const device<double> at(of && of->pos ? std::vector<double>(of->pos, of->pos + 3 * m) : std::vector<double>());
	const device<double> own(of && of->eps ? std::vector<double>(of->eps, of->eps + m) : std::vector<double>());
	const device<uint32_t> rows(
		of && of->target ? std::vector<uint32_t>(of->target, of->target + m) : std::vector<uint32_t>());
	nb_gravity_count count = {0, 0, 0, 0};
	g.pos = pos.p, g.mass = mass.p, g.body_eps = g.body_eps ? eps.p : nullptr;
	g.acc = acc.p, g.pot = pot ? potential.p : nullptr;
	nb_gravity_points points = of ? *of : nb_gravity_points();
	points.pos = points.pos ? at.p : nullptr, points.eps = points.eps ? own.p : nullptr;
	points.target = points.target ? rows.p : nullptr;
	points.acc = acc.p, points.pot = g.pot;
	WANT(nb_treepm_cuda(&g, box, &how, of ? &points : nullptr, nullptr, &count) == NB_OK);
	return {acc.host(), pot ? potential.host() : std::vector<double>(), count.p2p};
}

static void compare(nb_gravity g, const bodies &b, double box, const nb_treepm &how, const nb_gravity_points *of)
{
	const field want = on_cpu(g, b, box, how, of), got = on_device(g, b, box, how, of, true);
	const field again = on_device(g, b, box, how, of, true), less = on_device(g, b, box, how, of, false);
	WANT(alike(got.acc, want.acc, 1e-12, 1 / box / box));
	WANT(alike(got.pot, want.pot, 1e-12, 1 / box));
	WANT(alike(less.acc, want.acc, 1e-12, 1 / box / box));
	WANT(got.acc == again.acc && got.pot == again.pot);
	g.precision = NB_MIXED;
	const field mixed = on_device(g, b, box, how, of, true);
	WANT(alike(mixed.acc, want.acc, 4e-6, 1 / box / box));
	WANT(alike(mixed.pot, want.pot, 4e-6, 1 / box));
	WANT(mixed.pairs == got.pairs);
	WANT((got.pairs > 0) == (want.pairs > 0) && got.pairs == again.pairs);
}

static nb_gravity law_of(int law, size_t n, double box)
{
	nb_gravity g = {};
	g.n = n;
	g.G = 1.5;
	g.precision = NB_F64;
	g.softening = law > 2 ? NB_SPLINE : NB_PLUMMER;
	g.eps = (law == 0 ? 0 : law == 1 ? 0.002 : 0.01) * box;
	g.body_eps = law == 2 || law == 4 ? &g.eps : nullptr; /* that there are some */
	return g;
}

static void check_laws(void)
{
	static const nb_treepm how[] = {{40, 6, 1.3, 6.5}, {36, 5, 1.3, 6.5}, {32, 4, 1.3, 6.5}, {30, 3, 1.2, 6.5}};
	for (int law = 0; law < 5; law++)
		for (int clump = 0; clump < 2; clump++)
			for (const nb_treepm &mesh : how) {
				const size_t n = 4000;
				const bodies b = make_bodies(n, 2, clump);
				snprintf(label, sizeof label, "law %d, clump %d, mesh %d", law, clump, mesh.mesh);
				compare(law_of(law, n, 2), b, 2, mesh, nullptr);
			}
}

/* Few bodies; the smallest mesh, where groups have one target; more cells than fit into keys with places in them. */
static void check_sizes(void)
{
	for (const size_t n : {0, 1, 2, 3, 17, 255, 257, 1000})
		for (const nb_treepm &how : {nb_treepm{18, 6, 1.3, 6.5}, nb_treepm{24, 6, 1.3, 6.5}}) {
			snprintf(label, sizeof label, "%zu bodies, mesh %d", n, how.mesh);
			compare(law_of(1, n, 0x1p-40), make_bodies(n, 0x1p-40, n > 99), 0x1p-40, how, nullptr);
		}
	for (const size_t n : {30000, 300000}) {
		snprintf(label, sizeof label, "%zu bodies", n);
		compare(law_of(0, n, 1), make_bodies(n, 1, n < 99999), 1, nb_treepm_choose(n, 0), nullptr);
	}
}

static void check_points(void)
{
	const nb_treepm how = {32, 6, 1.3, 6.5};
	const bodies b = make_bodies(3000, 1, true);
	std::vector<uint32_t> rows;
	std::vector<double> at, own;
	for (uint32_t k = 0; k < 700; k++) {
		rows.push_back((k * 1237 + 5) % 3000);
		own.push_back(0.01 * uniform());
		for (int c = 0; c < 3; c++)
			at.push_back(k < 5 ? b.pos[3 * k + c] : 3 * uniform() - 1); /* also outside the box */
	}
	for (int law = 0; law < 5; law++) {
		nb_gravity_points points = {};
		points.n = rows.size();
		points.target = rows.data();
		for (int spread = 0; spread < 2; spread++) {
			points.spread = spread;
			snprintf(label, sizeof label, "law %d, targets, spread %d", law, spread);
			compare(law_of(law, 3000, 1), b, 1, how, &points);
		}
		points = {};
		points.n = rows.size();
		points.pos = at.data();
		for (int with = 0; with < 2; with++) {
			points.eps = with ? own.data() : nullptr;
			snprintf(label, sizeof label, "law %d, points, own softening %d", law, with);
			compare(law_of(law, 3000, 1), b, 1, how, &points);
		}
	}
}

static int status_of(const nb_gravity &model, bodies b, double box, const nb_treepm &how)
{
	const device<double> pos(b.pos), mass(b.mass), eps(b.eps);
	device<double> acc(b.pos.size());
	nb_gravity g = model;
	g.pos = pos.p, g.mass = mass.p, g.acc = acc.p, g.body_eps = g.body_eps ? eps.p : nullptr;
	return nb_treepm_cuda(&g, box, &how, nullptr, nullptr, nullptr);
}

static void check_edges(void)
{
	const nb_treepm good = {18, 6, 1.3, 6.5};
	bodies b = make_bodies(20, 1, false);
	nb_gravity g = law_of(2, 20, 1);
	snprintf(label, sizeof label, "edges");
	WANT(status_of(g, b, 1, good) == NB_OK);
	WANT(status_of(g, b, 1, {16, 6, 1.3, 6.5}) == NB_EINVAL);
	WANT(status_of(g, b, NAN, good) == NB_EINVAL);
	bodies bad = b;
	bad.eps[19] = nb_treepm_reach(&good, 1) * 1.001;
	WANT(status_of(g, bad, 1, good) == NB_EINVAL);
	bad.eps[19] = -1;
	WANT(status_of(g, bad, 1, good) == NB_EINVAL);
	bad = b;
	bad.pos[59] = INFINITY;
	WANT(status_of(g, bad, 1, good) == NB_ENONFINITE);
	bad = b;
	bad.mass[0] = NAN;
	WANT(status_of(g, bad, 1, good) == NB_ENONFINITE);
	const device<double> pos(b.pos), mass(b.mass);
	const device<uint32_t> rows(std::vector<uint32_t>{3, 20});
	device<double> acc(6);
	nb_gravity_points points = {};
	points.n = 2, points.target = rows.p, points.acc = acc.p;
	g = law_of(0, 20, 1);
	g.pos = pos.p, g.mass = mass.p;
	WANT(nb_treepm_cuda(&g, 1, &good, &points, nullptr, nullptr) == NB_EINVAL);
}

/* ---- several devices ---------------------------------------------------------------------------- */

/* Each law in f64 and in mixed precision, with and without the potential; no masses; some bodies alone. */
static std::vector<field> shared_fields(void)
{
	const size_t n = 300007;
	const nb_treepm how = nb_treepm_choose(n, 0);
	std::vector<field> all;
	std::vector<uint32_t> rows;
	for (uint32_t k = 0; k < 70000; k++)
		rows.push_back(k * 4);
	nb_gravity_points points = {};
	points.n = rows.size();
	points.target = rows.data();
	for (int law = 0; law < 5; law++) {
		random_state = (uint64_t)law; /* the same each time */
		bodies b = make_bodies(n, 2, law % 2);
		nb_gravity g = law_of(law, n, 2);
		for (int mixed = 0; mixed < 2; mixed++) {
			g.precision = mixed ? NB_MIXED : NB_F64;
			all.push_back(on_device(g, b, 2, how, nullptr, law > 1));
		}
		all.push_back(on_device(g, b, 2, how, &points, true));
		std::fill(b.mass.begin(), b.mass.end(), 0);
		all.push_back(on_device(g, b, 2, how, nullptr, true));
	}
	return all;
}

static bool same_bytes(const std::vector<double> &a, const std::vector<double> &b)
{
	return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

/* of: as in -b cuda:LIST */
static void check_shared(const char *of)
{
	char name[200], why[200] = "", line[300];
	nb_device_list list;
	snprintf(name, sizeof name, "cuda:%s", of);
	snprintf(label, sizeof label, "devices %s", of);
	WANT(nb_device_list_read(name, &list, why, sizeof why) == NB_OK && list.n > 1);
	WANT(cudaSetDevice(list.id[0]) == cudaSuccess);
	const std::vector<field> one = shared_fields();
	WANT(nb_team_open(list.n, list.id, why, sizeof why) == NB_OK && nb_team_size() == list.n);
	const std::vector<field> many = shared_fields();
	for (size_t k = 0; k < one.size(); k++) {
		snprintf(label, sizeof label, "devices %s, case %zu", of, k);
		WANT(same_bytes(one[k].acc, many[k].acc) && same_bytes(one[k].pot, many[k].pot));
		WANT(one[k].pairs == many[k].pairs && one[k].acc == one[k].acc); /* no NaN */
	}
	for (int k = 0; k < nb_team_size(); k++) {
		WANT(nb_team_report(k, line, sizeof line) == NB_OK && !strstr(line, ": 0 parts"));
		printf("%s\n", line);
	}
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	if (argc < 2) {
		check_laws();
		check_sizes();
		check_points();
		check_edges();
	}
	check_shared(argc > 1 ? argv[1] : "0,0");
	return unit_end();
}
