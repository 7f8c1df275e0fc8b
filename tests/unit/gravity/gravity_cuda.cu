/* Direct sum and near field on the device against the oracle: every kernel, precision and output, odd n, hard cases,
 * and the same bytes twice.  Exit 77 where there is no device.  For slow checkers, two numbers may be given: a limit
 * of n, and that only every so many-th of the combinations is to run. */
#include <algorithm>
#include <numeric>
#include <vector>

#include <cuda_runtime.h>

#include "kernels/gravity/gravity.h"
#include "kernels/order/order.h"
#include "kernels/walk_gpu/walk_gpu.h"
#include "tests/unit/device.cuh"

using std::vector;

static size_t n_limit = SIZE_MAX, every = 1;
static char label[200];

static const char *const precision_name[] = {"f32", "mixed", "f64"};

/* Whether it is the turn of the next combination. */
static bool turn(void)
{
	static size_t combination;
	return combination++ % every == 0;
}

/* ---- data --------------------------------------------------------------------------------------------- */

static uint64_t random_state;

static double uniform(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

enum masses { EQUAL, SIMILAR, ANY, MASSES };
static const char *const masses_name[] = {"equal", "similar", "any"};

struct system_ {
	vector<double> pos, vel, mass, body_eps; /* body_eps: empty, or of each body */
	double eps, G;
	enum nb_softening softening = NB_PLUMMER;
	size_t n() const
	{
		return mass.size();
	}
};

/* n bodies in a cube of edge 1 about the origin, total mass 1 or so. */
static system_ cube(size_t n, enum masses masses, double eps)
{
	system_ s;
	random_state = 1000 * n + masses;
	s.eps = eps;
	s.G = 1;
	for (size_t i = 0; i < n; i++) {
		for (int c = 0; c < 3; c++) {
			s.pos.push_back(uniform() - 0.5);
			s.vel.push_back(uniform() - 0.5);
		}
		const double u = uniform();
		s.mass.push_back(masses == EQUAL     ? 1.0 / (double)n
				 : masses == SIMILAR ? (0.5 + u) / (double)n
				 : i % 5 == 2	     ? 0
						     : pow(10, -12 * u) / (double)n);
	}
	return s;
}

/* ---- on the device ------------------------------------------------------------------------------------- */

struct result {
	vector<double> acc, pot, jerk;
	int status;
	struct nb_gravity_count count;
};

/* Calls compute(g, count) with everything on the device. */
template <class Compute>
static result on_device(const system_ &s, enum nb_precision precision, bool pot, bool jerk, Compute compute)
{
	device<double> pos(s.pos), vel(s.vel), mass(s.mass), eps(s.body_eps), acc(3 * s.n()), p(s.n()), j(3 * s.n());
	struct nb_gravity g = {s.n(), pos.p, jerk ? vel.p : nullptr, mass.p, acc.p, pot ? p.p : nullptr,
		jerk ? j.p : nullptr, s.eps, s.G, precision, s.softening, s.body_eps.empty() ? nullptr : eps.p};
	result r;
	r.count = {0, 0, 0, 0};
	r.status = compute(&g, &r.count);
	r.acc = acc.host();
	r.pot = p.host();
	r.jerk = j.host();
	if (r.status != NB_OK)
		return r;
	/* and once more: the same bytes, every one of them written */
	acc.poison();
	p.poison();
	j.poison();
	struct nb_gravity_count again = {0, 0, 0, 0};
	WANT(compute(&g, &again) == NB_OK);
	const vector<double> acc2 = acc.host(), pot2 = p.host(), jerk2 = j.host();
	WANT(memcmp(acc2.data(), r.acc.data(), acc2.size() * sizeof(double)) == 0);
	WANT(memcmp(pot2.data(), r.pot.data(), pot2.size() * sizeof(double)) == 0);
	WANT(memcmp(jerk2.data(), r.jerk.data(), jerk2.size() * sizeof(double)) == 0);
	WANT(again.p2p == r.count.p2p);
	return r;
}

static result direct(const system_ &s, enum nb_direct_kernel kernel, enum nb_precision precision, bool pot, bool jerk)
{
	return on_device(s, precision, pot, jerk, [=](const struct nb_gravity *g, struct nb_gravity_count *count) {
		return nb_gravity_direct_cuda_with(g, kernel, count);
	});
}

/* rms of the error over rms of the value; a NaN gives a NaN. */
static double error(const vector<double> &got, const vector<double> &want)
{
	double wrong = 0, size = 0;
	for (size_t i = 0; i < want.size(); i++) {
		wrong += (got[i] - want[i]) * (got[i] - want[i]);
		size += want[i] * want[i];
	}
	return wrong == 0 ? 0 : sqrt(wrong / size);
}

static result oracle(const system_ &s)
{
	result r;
	r.acc.resize(3 * s.n());
	r.pot.resize(s.n());
	r.jerk.resize(3 * s.n());
	struct nb_gravity g = {s.n(), s.pos.data(), s.vel.data(), s.mass.data(), nullptr, nullptr, nullptr, s.eps, s.G,
		NB_F64, s.softening, s.body_eps.empty() ? nullptr : s.body_eps.data()};
	r.status = nb_gravity_ref(&g, nullptr, 0, r.acc.data(), r.pot.data(), r.jerk.data());
	CHECK(r.status == NB_OK);
	return r;
}

/* Tolerances: of acc and pot, jerk three times as much. */
struct tolerance {
	double by[3];
};

static void compare(const result &got, const result &want, bool pot, bool jerk, double by)
{
	WANT(got.status == NB_OK);
	WANT(error(got.acc, want.acc) <= by);
	if (pot)
		WANT(error(got.pot, want.pot) <= by);
	if (jerk)
		WANT(error(got.jerk, want.jerk) <= 3 * by);
}

/* Every direct kernel, precision and output. */
static void every_direct(const char *name, const system_ &s, const struct tolerance &tolerance, bool outputs)
{
	const result want = oracle(s);
	for (int kernel = NB_DIRECT_AUTO; nb_direct_kernel_name((enum nb_direct_kernel)kernel); kernel++)
		for (int precision = 0; precision < 3; precision++)
			for (int out = 0; out < (outputs ? 4 : 1); out++) {
				const bool pot = out & 1, jerk = out & 2;
				if (!turn())
					continue;
				snprintf(label, sizeof label, "%s, n = %zu, eps = %g, %s, %s%s%s", name, s.n(), s.eps,
					nb_direct_kernel_name((enum nb_direct_kernel)kernel), precision_name[precision],
					pot ? ", pot" : "", jerk ? ", jerk" : "");
				const result got = direct(
					s, (enum nb_direct_kernel)kernel, (enum nb_precision)precision, pot, jerk);
				compare(got, want, pot, jerk, tolerance.by[precision]);
				WANT(got.count.p2p == (uint64_t)s.n() * (s.n() - (s.n() > 0)));
			}
}

static void odd_sizes(void)
{
	static const size_t sizes[] = {0, 1, 2, 31, 33, 255, 257, 1000, 4097};
	for (size_t n : sizes) {
		if (n > n_limit)
			continue;
		for (int masses = 0; masses < MASSES; masses++) {
			every_direct(
				masses_name[masses], cube(n, (enum masses)masses, 0.05), {{1e-6, 1e-6, 1e-12}}, true);
			/* bodies meet at 1e-3 and less: f32 knows their places to 3e-8 */
			every_direct(masses_name[masses], cube(n, (enum masses)masses, 0), {{2e-4, 1e-6, 1e-12}},
				masses == ANY);
		}
	}
}

/* ---- hard cases ------------------------------------------------------------------------------------------ */

static void coincident(void)
{
	system_ s = cube(std::min<size_t>(300, n_limit), SIMILAR, 0);
	for (size_t i = 40; i < 45; i++)
		for (int c = 0; c < 3; c++)
			s.pos[3 * i + c] = s.pos[3 * 7 + c];
	every_direct("coincident", s, {{2e-4, 1e-6, 1e-12}}, true);
	for (double &x : s.pos)
		x = 0.25;
	every_direct("all in one place", s, {{0, 0, 0}}, true);
	s.eps = 0.1;
	every_direct("all in one place", s, {{1e-6, 1e-6, 1e-12}}, true);
	for (double &m : s.mass)
		m = 0;
	every_direct("no mass", s, {{0, 0, 0}}, true);
}

static void units(void)
{
	system_ s = cube(std::min<size_t>(1000, n_limit), SIMILAR, 0.05);
	for (double &x : s.pos)
		x *= 1e12;
	for (double &v : s.vel)
		v *= 3e4;
	for (double &m : s.mass)
		m *= 1e41;
	s.eps *= 1e12;
	s.G = 6.6743e-11;
	every_direct("SI", s, {{1e-6, 1e-6, 1e-12}}, true);
	for (double &x : s.pos)
		x *= 1e-42;
	for (double &m : s.mass)
		m *= 1e-71;
	s.eps *= 1e-42;
	every_direct("tiny", s, {{1e-6, 1e-6, 1e-12}}, true);
	/* an eps far below and far above the extent */
	s = cube(std::min<size_t>(257, n_limit), SIMILAR, 1e-30);
	every_direct("eps 1e-30", s, {{2e-4, 1e-6, 1e-12}}, true);
	s.eps = 1e6;
	every_direct("eps 1e6", s, {{1e-6, 1e-6, 1e-12}}, true);
	/* one light body, one heavy one */
	s = cube(std::min<size_t>(257, n_limit), EQUAL, 0.01);
	s.mass[3] = 1e9;
	s.mass[9] = 1e-25;
	every_direct("mass ratio 1e34", s, {{3e-6, 1e-6, 1e-12}}, true);
	s.mass[9] = -1;
	every_direct("a negative mass", s, {{3e-6, 1e-6, 1e-12}}, true);
}

/* Far from the origin, and a close pair: what mixed and f64 are for. */
static void places(void)
{
	system_ s = cube(std::min<size_t>(600, n_limit), SIMILAR, 0.05);
	for (size_t i = 0; i < s.pos.size(); i++)
		s.pos[i] += 1000;
	every_direct("far off", s, {{1e-6, 1e-6, 1e-12}}, true);
	s.eps = 0;
	for (int c = 0; c < 3; c++)
		s.pos[3 * 5 + c] = s.pos[3 * 11 + c] + 1e-9 * (c + 1);
	const result want = oracle(s);
	for (int precision = NB_MIXED; precision <= NB_F64; precision++) {
		snprintf(label, sizeof label, "close pair, %s", precision_name[precision]);
		compare(direct(s, NB_DIRECT_SYMMETRIC, (enum nb_precision)precision, true, true), want, true, true,
			precision == NB_F64 ? 1e-12 : 1e-6);
	}
	/* two clumps 1e6 apart, one after the other: f32 has an origin for each tile, of any size that divides 1536 */
	if (n_limit < 3072)
		return;
	s = cube(3072, SIMILAR, 0.05);
	for (size_t i = 1536; i < 3072; i++)
		s.pos[3 * i] += 1e6;
	const result clumps = oracle(s);
	snprintf(label, sizeof label, "two clumps");
	compare(direct(s, NB_DIRECT_SYMMETRIC, NB_F32, true, true), clumps, true, true, 1e-6);
	compare(direct(s, NB_DIRECT_BLOCKED, NB_F32, true, true), clumps, true, true, 1e-6);
}

static void refused(void)
{
	const size_t n = 70;
	auto status = [&](const system_ &s, enum nb_direct_kernel kernel, int precision, bool jerk) {
		return direct(s, kernel, (enum nb_precision)precision, false, jerk).status;
	};
	for (int kernel = NB_DIRECT_AUTO; nb_direct_kernel_name((enum nb_direct_kernel)kernel); kernel++)
		for (int precision = 0; precision < 3; precision++) {
			const enum nb_direct_kernel k = (enum nb_direct_kernel)kernel;
			snprintf(label, sizeof label, "refused, %s, %s", nb_direct_kernel_name(k),
				precision_name[precision]);
			system_ s = cube(n, SIMILAR, 0.1);
			s.pos[3 * 33 + 1] = NAN;
			WANT(status(s, k, precision, false) == NB_ENONFINITE);
			s = cube(n, SIMILAR, 0.1);
			s.mass[69] = INFINITY;
			WANT(status(s, k, precision, false) == NB_ENONFINITE);
			s = cube(n, SIMILAR, 0.1);
			s.vel[0] = -INFINITY;
			WANT(status(s, k, precision, true) == NB_ENONFINITE);
			WANT(status(s, k, precision, false) == NB_OK);
			s.eps = -1;
			WANT(status(s, k, precision, false) == NB_EINVAL);
			s.eps = NAN;
			WANT(status(s, k, precision, false) == NB_EINVAL);
			s.eps = 0;
			s.G = INFINITY;
			WANT(status(s, k, precision, false) == NB_EINVAL);
		}
	double one[3];
	struct nb_gravity g = {1, one, nullptr, one, one, nullptr, one, 0, 1, NB_F64, NB_PLUMMER, nullptr};
	CHECK(nb_gravity_direct_cuda(&g, nullptr) == NB_EINVAL); /* jerk without velocities */
	system_ s = cube(n, SIMILAR, 0.1);
	s.pos[0] = 1e308, s.pos[3] = -1e308;
	snprintf(label, sizeof label, "extent overflows");
	WANT(status(s, NB_DIRECT_AUTO, NB_F32, false) == NB_ELIMIT);
}

/* Partial sums in many panels, and bodies put in order first. */
static void large(void)
{
	if (n_limit < 70000)
		return;
	for (int precision = 0; precision < 3; precision++) {
		const system_ s = cube(3000, SIMILAR, 0.05);
		const result want = oracle(s);
		nb_gravity_direct_cuda_scratch(1);
		for (int out = 0; out < 4; out++) {
			snprintf(label, sizeof label, "panels, %s, %d", precision_name[precision], out);
			compare(direct(s, NB_DIRECT_SYMMETRIC, (enum nb_precision)precision, out & 1, out & 2), want,
				out & 1, out & 2, precision == NB_F64 ? 1e-12 : 1e-6);
		}
		nb_gravity_direct_cuda_scratch(0);
	}
	/* every tile size that the chooser has */
	for (size_t n : {7000, 13000, 70000, 110001}) {
		const system_ s = cube(n, n % 2 ? SIMILAR : EQUAL, 0);
		vector<size_t> target(100);
		for (size_t k = 0; k < target.size(); k++)
			target[k] = k * (n / 100) + k % 7;
		vector<double> want(3 * target.size());
		struct nb_gravity g = {n, s.pos.data(), nullptr, s.mass.data(), nullptr, nullptr, nullptr, 0, 1, NB_F64,
			NB_PLUMMER, nullptr};
		CHECK(nb_gravity_ref(&g, target.data(), target.size(), want.data(), nullptr, nullptr) == NB_OK);
		for (int kernel = NB_DIRECT_TILED; kernel <= NB_DIRECT_SYMMETRIC; kernel++)
			for (int precision = 0; precision < 3; precision++) {
				snprintf(label, sizeof label, "n = %zu, %s, %s", n,
					nb_direct_kernel_name((enum nb_direct_kernel)kernel),
					precision_name[precision]);
				const result got = direct(
					s, (enum nb_direct_kernel)kernel, (enum nb_precision)precision, false, false);
				vector<double> some;
				for (size_t i : target)
					some.insert(some.end(), got.acc.begin() + 3 * i, got.acc.begin() + 3 * i + 3);
				WANT(got.status == NB_OK);
				/* put in order, f32 needs no allowance for close pairs but the sizes of tiles */
				WANT(error(some, want) <= (precision == NB_F64		  ? 1e-12
								  : precision == NB_MIXED ? 1e-6
								  : n > 100000		  ? 3e-5
											  : 1e-4));
				for (double a : got.acc)
					if (!(fabs(a) < 1e12)) {
						WANT(!"finite");
						break;
					}
			}
	}
}

/* ---- near field --------------------------------------------------------------------------------------------- */

struct boxed {
	system_ s;
	vector<uint64_t> first;
	vector<int32_t> neighbour;
	int dim;
	size_t nbox() const
	{
		return first.size() - 1;
	}
	int nneighbour() const
	{
		return dim == 2 ? 8 : 26;
	}
};

/* Sorts the bodies into the boxes of a level. */
static boxed in_boxes(system_ s, int dim, int level)
{
	boxed b;
	b.dim = dim;
	const size_t n = s.n(), nbox = (size_t)1 << dim * level;
	if (dim == 2)
		for (size_t i = 0; i < n; i++)
			s.pos[3 * i + 2] = 0;
	struct nb_cube cube;
	size_t bad;
	vector<uint64_t> key(n);
	vector<uint32_t> perm(n);
	b.first.resize(nbox + 1);
	b.neighbour.resize(nbox * b.nneighbour());
	CHECK(nb_morton_cube_cpu(n, s.pos.data(), dim, &cube, &bad) == NB_OK);
	CHECK(nb_morton_keys_cpu(n, s.pos.data(), dim, &cube, key.data()) == NB_OK);
	CHECK(nb_sort_keys_cpu(n, key.data(), perm.data()) == NB_OK);
	CHECK(nb_boxes_build_cpu(n, key.data(), dim, level, b.first.data(), b.neighbour.data()) == NB_OK);
	b.s = s;
	for (size_t i = 0; i < n; i++) {
		for (int c = 0; c < 3; c++) {
			b.s.pos[3 * i + c] = s.pos[3 * (size_t)perm[i] + c];
			b.s.vel[3 * i + c] = s.vel[3 * (size_t)perm[i] + c];
		}
		b.s.mass[i] = s.mass[perm[i]];
		if (!s.body_eps.empty())
			b.s.body_eps[i] = s.body_eps[perm[i]];
	}
	return b;
}

/* The oracle on boxes begin .. end - 1 and what is around each. */
static result near_oracle(const boxed &b, size_t begin, size_t end, uint64_t *interactions)
{
	const size_t n = b.s.n();
	result r;
	r.acc.resize(3 * n);
	r.pot.resize(n);
	r.jerk.resize(3 * n);
	*interactions = 0;
	for (size_t box = begin; box < end; box++) {
		system_ part;
		auto take = [&](size_t which) {
			for (size_t i = b.first[which]; i < b.first[which + 1]; i++) {
				part.pos.insert(part.pos.end(), &b.s.pos[3 * i], &b.s.pos[3 * i] + 3);
				part.vel.insert(part.vel.end(), &b.s.vel[3 * i], &b.s.vel[3 * i] + 3);
				part.mass.push_back(b.s.mass[i]);
				if (!b.s.body_eps.empty())
					part.body_eps.push_back(b.s.body_eps[i]);
			}
		};
		take(box);
		const size_t own = part.n(), at = b.first[box];
		if (own == 0)
			continue;
		for (int k = 0; k < b.nneighbour(); k++)
			if (b.neighbour[box * b.nneighbour() + k] >= 0)
				take((size_t)b.neighbour[box * b.nneighbour() + k]);
		*interactions += own * (part.n() - 1);
		vector<size_t> target(own);
		std::iota(target.begin(), target.end(), 0);
		struct nb_gravity g = {part.n(), part.pos.data(), part.vel.data(), part.mass.data(), nullptr, nullptr,
			nullptr, b.s.eps, b.s.G, NB_F64, b.s.softening,
			part.body_eps.empty() ? nullptr : part.body_eps.data()};
		CHECK(nb_gravity_ref(&g, target.data(), own, &r.acc[3 * at], &r.pot[at], &r.jerk[3 * at]) == NB_OK);
	}
	r.status = NB_OK;
	return r;
}

static result near(const boxed &b, enum nb_near_kernel kernel, enum nb_precision precision, bool pot, bool jerk)
{
	device<uint64_t> first(b.first);
	device<int32_t> neighbour(b.neighbour);
	const struct nb_boxes boxes = {b.nbox(), first.p, neighbour.p, b.nneighbour()};
	return on_device(b.s, precision, pot, jerk, [&](const struct nb_gravity *g, struct nb_gravity_count *count) {
		return nb_gravity_near_cuda_with(g, &boxes, kernel, count);
	});
}

static void every_near(const char *name, const boxed &b, const struct tolerance &tolerance)
{
	uint64_t interactions;
	const result want = near_oracle(b, 0, b.nbox(), &interactions);
	for (int kernel = NB_NEAR_AUTO; nb_near_kernel_name((enum nb_near_kernel)kernel); kernel++)
		for (int precision = 0; precision < 3; precision++)
			for (int out = 0; out < 4; out++) {
				const bool pot = out & 1, jerk = out & 2;
				if (!turn())
					continue;
				snprintf(label, sizeof label, "%s, %d-D, %zu bodies in %zu boxes, %s, %s%s%s", name,
					b.dim, b.s.n(), b.nbox(), nb_near_kernel_name((enum nb_near_kernel)kernel),
					precision_name[precision], pot ? ", pot" : "", jerk ? ", jerk" : "");
				const result got = near(
					b, (enum nb_near_kernel)kernel, (enum nb_precision)precision, pot, jerk);
				compare(got, want, pot, jerk, tolerance.by[precision]);
				WANT(got.count.p2p == interactions);
			}
}

/* ---- softenings of single bodies, and splines -------------------------------------------------------------- */

/* As cube, softened from 0, every third body, to half of the edge. */
static system_ softened(size_t n, enum nb_softening softening)
{
	system_ s = cube(n, SIMILAR, 0);
	s.softening = softening;
	for (size_t i = 0; i < n; i++)
		s.body_eps.push_back(i % 3 == 2 ? 0 : 0.5 * pow(uniform(), 3));
	return s;
}

static const char *const softening_name[] = {"plummer", "spline"};
/* f32: unsoftened bodies meet, see odd_sizes */
static const struct tolerance softened_by = {{2e-4, 3e-6, 1e-12}};

static void direct_softened(const char *name, const system_ &s, const struct tolerance &tolerance)
{
	const result want = oracle(s);
	for (int precision = 0; precision < 3; precision++)
		for (int out = 0; out < 4; out++) {
			const bool pot = out & 1, jerk = out & 2;
			if (!turn())
				continue;
			snprintf(label, sizeof label, "%s, %s, n = %zu, %s%s%s", name, softening_name[s.softening],
				s.n(), precision_name[precision], pot ? ", pot" : "", jerk ? ", jerk" : "");
			const result got = direct(s, NB_DIRECT_AUTO, (enum nb_precision)precision, pot, jerk);
			compare(got, want, pot, jerk, tolerance.by[precision]);
			WANT(got.count.p2p == (uint64_t)s.n() * (s.n() - (s.n() > 0)));
		}
}

static void softenings(void)
{
	for (enum nb_softening softening : {NB_PLUMMER, NB_SPLINE}) {
		for (size_t n : {0, 1, 2, 31, 33, 127, 129, 1000, 4097})
			if (n <= n_limit)
				direct_softened("softened", softened(n, softening), softened_by);
		const size_t n = std::min<size_t>(1000, n_limit);
		system_ s = softened(n, softening);
		for (size_t i = 0; i < s.pos.size(); i++) /* all in one place */
			s.pos[i] = 0.25;
		direct_softened("in one place", s, {{1e-6, 1e-6, 1e-12}});
		for (double unit : {1e21, 1e-30, 1e100}) {
			s = softened(n, softening);
			for (double &x : s.pos)
				x *= unit;
			for (double &e : s.body_eps)
				e *= unit;
			s.G = unit; /* or accelerations leave the range of numbers */
			direct_softened("in other units", s, softened_by);
		}
		s = softened(n, softening);
		s.body_eps[0] = 1e6; /* far above the extent */
		direct_softened("one giant", s, {{3e-3, 3e-3, 1e-12}});
		/* one length for all */
		s = cube(n, SIMILAR, 0.05);
		s.softening = softening;
		const result want = oracle(s);
		if (softening == NB_SPLINE)
			direct_softened("common", s, {{2e-6, 2e-6, 1e-12}});
		s.body_eps.assign(n, 0.05);
		s.eps = 0;
		direct_softened("common", s, {{2e-6, 2e-6, 1e-12}});
		compare(direct(s, NB_DIRECT_AUTO, NB_F64, true, true), want, true, true, 1e-12);
		snprintf(label, sizeof label, "kernels by name");
		WANT(direct(s, NB_DIRECT_TILED, NB_F32, false, false).status == NB_EUNSUPPORTED);
		s.body_eps[n / 2] = -1;
		WANT(direct(s, NB_DIRECT_AUTO, NB_F32, false, false).status == NB_EINVAL);
		s.body_eps[n / 2] = NAN;
		WANT(direct(s, NB_DIRECT_AUTO, NB_F32, false, false).status == NB_ENONFINITE);
	}
}

/* After every_near: the near field with the only kernel that it has there. */
static void near_softened(void)
{
	for (enum nb_softening softening : {NB_PLUMMER, NB_SPLINE})
		for (int dim = 2; dim <= 3; dim++)
			for (size_t n : {5, 500, 5000}) {
				if (n > n_limit)
					continue;
				const boxed b = in_boxes(softened(n, softening), dim, 2);
				uint64_t interactions;
				const result want = near_oracle(b, 0, b.nbox(), &interactions);
				for (int precision = 0; precision < 3; precision++)
					for (int out = 0; out < 4; out++) {
						if (!turn())
							continue;
						snprintf(label, sizeof label, "near, softened, %s, %d-D, n = %zu, %s",
							softening_name[softening], dim, n, precision_name[precision]);
						const result got = near(b, NB_NEAR_AUTO, (enum nb_precision)precision,
							out & 1, out & 2);
						compare(got, want, out & 1, out & 2, softened_by.by[precision]);
						WANT(got.count.p2p == interactions);
					}
			}
}

static void near_field(void)
{
	const struct tolerance soft = {{1e-6, 1e-6, 1e-12}};
	/* every tile shape of the kernels: mean occupancies of 3 .. 600 */
	for (size_t mean : {3, 20, 50, 100, 200, 500, 600}) {
		if (16 * mean > n_limit)
			continue;
		every_near("uniform", in_boxes(cube(16 * mean, ANY, 0.05), 2, 2), soft);
		if (mean <= 200)
			every_near("uniform", in_boxes(cube(8 * mean, SIMILAR, 0.05), 3, 1), soft);
	}
	every_near("one box", in_boxes(cube(std::min<size_t>(1100, n_limit), SIMILAR, 0.05), 2, 0), soft);
	every_near("mostly empty boxes", in_boxes(cube(40, SIMILAR, 0.05), 3, 3), soft);
	every_near("no softening", in_boxes(cube(std::min<size_t>(400, n_limit), ANY, 0), 3, 1), {{2e-4, 1e-6, 1e-12}});
	every_near("one body", in_boxes(cube(1, EQUAL, 0.05), 2, 1), soft);
	every_near("no body", in_boxes(cube(0, EQUAL, 0.05), 2, 1), soft);
	if (n_limit >= 3000) {
		/* nearly all in one box: more than any block has threads; and the same for dense means */
		for (int level : {1, 3}) {
			system_ s = cube(3000, SIMILAR, 0.05);
			for (size_t i = 0; i < 2600; i++)
				for (int c = 0; c < 3; c++)
					s.pos[3 * i + c] = 0.3 + 0.05 * s.pos[3 * i + c];
			every_near("crowded", in_boxes(s, 2, level), soft);
			every_near("crowded", in_boxes(s, 3, level), soft);
		}
	}
	/* coincident bodies without softening */
	system_ s = cube(std::min<size_t>(200, n_limit), SIMILAR, 0);
	for (size_t i = 10; i < 50; i++)
		for (int c = 0; c < 3; c++)
			s.pos[3 * i + c] = s.pos[3 * (i % 4) + c];
	every_near("coincident", in_boxes(s, 2, 1), {{2e-4, 1e-6, 1e-12}});

	boxed b = in_boxes(cube(64, SIMILAR, 0.05), 2, 2);
	b.s.pos[5] = NAN;
	for (int kernel = NB_NEAR_AUTO; nb_near_kernel_name((enum nb_near_kernel)kernel); kernel++) {
		snprintf(label, sizeof label, "not finite, %s", nb_near_kernel_name((enum nb_near_kernel)kernel));
		WANT(near(b, (enum nb_near_kernel)kernel, NB_F32, false, false).status == NB_ENONFINITE);
	}
	b.s.pos[5] = 0;
	/* a neighbour that does not know of it */
	b.neighbour[0 * 8 + 0] = b.neighbour[0 * 8 + 1] = 15;
	snprintf(label, sizeof label, "neighbours that are none");
	WANT(near(b, NB_NEAR_N3, NB_F32, false, false).status == NB_EINVAL);
}

/* Many bodies, which are packed in a scale that is guessed from some of them, and again if it was wrong: with masses
 * alike, with one body that is heavier than all others, and with one that is far off. */
static void guessed(void)
{
	const size_t n = ((size_t)1 << 20) + 77, odd = 102401; /* not one of those */
	if (n > n_limit)
		return;
	boxed b = in_boxes(cube(n, SIMILAR, 0), 2, 8);
	const size_t box = (size_t)(std::upper_bound(b.first.begin(), b.first.end(), odd) - b.first.begin()) - 1;
	const double x = b.s.pos[3 * odd];
	uint64_t pairs = 0, unused;
	for (size_t k = 0; k < b.nbox(); k++)
		for (int q = -1; q < b.nneighbour(); q++) {
			const int32_t other = q < 0 ? (int32_t)k : b.neighbour[k * b.nneighbour() + q];
			if (other >= 0)
				pairs += (b.first[k + 1] - b.first[k]) *
					 (b.first[other + 1] - b.first[other] - (q < 0));
		}
	for (const char *which : {"alike", "one is heavy", "one is far off"}) {
		b.s.mass[odd] *= strcmp(which, "one is heavy") ? 1 : 1e9;
		b.s.pos[3 * odd] = strcmp(which, "one is far off") ? x : 1e3;
		const result want = near_oracle(b, box, box + 1, &unused);
		const auto some = [&](const vector<double> &acc) {
			return vector<double>(acc.begin() + 3 * b.first[box], acc.begin() + 3 * b.first[box + 1]);
		};
		for (int kernel = NB_NEAR_AUTO; nb_near_kernel_name((enum nb_near_kernel)kernel); kernel++)
			for (int precision = 0; precision < 3; precision++) {
				snprintf(label, sizeof label, "%zu bodies, %s, %s, %s", n, which,
					nb_near_kernel_name((enum nb_near_kernel)kernel), precision_name[precision]);
				const result got = near(
					b, (enum nb_near_kernel)kernel, (enum nb_precision)precision, false, false);
				WANT(got.status == NB_OK);
				WANT(got.count.p2p == pairs);
				WANT(error(some(got.acc), some(want.acc)) <= (precision == NB_F64 ? 1e-12 : 1e-4));
			}
		b.s.mass[odd] = b.s.mass[odd - 1];
	}
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	if (argc > 1)
		n_limit = (size_t)strtoull(argv[1], nullptr, 10);
	if (argc > 2)
		every = std::max<size_t>(1, (size_t)strtoull(argv[2], nullptr, 10));
	odd_sizes();
	coincident();
	units();
	places();
	refused();
	large();
	near_field();
	guessed();
	softenings();
	near_softened();
	return unit_end();
}
