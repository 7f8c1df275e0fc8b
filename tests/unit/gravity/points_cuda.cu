/* The field at points on the device against that of the CPU: bodies as points, other points, every law of softening,
 * awkward numbers of both, hard cases, and the same bytes twice.  Exit 77 where there is no device. */
#include <vector>

#include "kernels/gravity/gravity.h"
#include "tests/unit/device.cuh"
#include "tests/unit/random.h"

using std::vector;

enum law { COMMON, UNSOFTENED, EACH, SPLINE, EACH_SPLINE, LAWS };
static char label[100];

struct system_ {
	vector<double> pos, mass, eps, at, at_eps;
	vector<uint32_t> target;
	struct nb_gravity g = {};
};

/* Every fifth body has no mass; the third is where the fourth is, and the second point where the first body is. */
static system_ make(size_t n, size_t points, enum law law)
{
	system_ s;
	for (size_t i = 0; i < n; i++) {
		for (int c = 0; c < 3; c++)
			s.pos.push_back(uniform() - 0.5);
		s.mass.push_back(i % 5 == 2 ? 0 : 0.1 + uniform());
		s.eps.push_back(i % 3 == 2 ? 0 : 0.5 * pow(uniform(), 3));
	}
	for (size_t k = 0; k < points; k++) {
		for (int c = 0; c < 3; c++)
			s.at.push_back(k == 1 && n ? s.pos[(size_t)c] : 1.5 * uniform() - 0.75);
		s.at_eps.push_back(k % 2 ? 0.2 * uniform() : 0);
		s.target.push_back(n ? (uint32_t)((n - 1 - k % n) * 7 % n) : 0);
	}
	for (size_t c = 0; n > 3 && c < 3; c++)
		s.pos[6 + c] = s.pos[9 + c];
	s.g.n = n;
	s.g.eps = law == COMMON || law == SPLINE ? 0.03 : 0;
	s.g.G = 1.5;
	s.g.precision = NB_F64;
	s.g.softening = law == SPLINE || law == EACH_SPLINE ? NB_SPLINE : NB_PLUMMER;
	return s;
}

/* Of host memory, or of a copy on the device.  kind: 0 bodies, 1 points, 2 points with softenings. */
static int on_device(const system_ &s, bool each, int kind, bool more, vector<double> *out)
{
	const size_t n = s.target.size();
	device<double> pos(s.pos), mass(s.mass), eps(s.eps), at(s.at), at_eps(s.at_eps), acc(3 * n), pot(n), f(n);
	device<uint32_t> target(s.target);
	struct nb_gravity g = s.g;
	g.pos = pos.p, g.mass = mass.p, g.body_eps = each ? eps.p : nullptr;
	const struct nb_gravity_points points = {n, kind ? at.p : nullptr, kind ? nullptr : target.p,
		kind == 2 ? at_eps.p : nullptr, acc.p, more ? pot.p : nullptr, more ? f.p : nullptr, nullptr, 0};
	const int status = nb_gravity_points_cuda(&g, &points);
	out[0] = acc.host(), out[1] = pot.host(), out[2] = f.host();
	acc.poison(), pot.poison(), f.poison();
	WANT(nb_gravity_points_cuda(&g, &points) == status);
	if (status)
		return status;
	struct nb_gravity_points jerks = points;
	jerks.jerk = acc.p; /* without velocities, or at places */
	WANT(nb_gravity_points_cuda(&g, &jerks) == NB_EINVAL);
	const vector<double> again[3] = {acc.host(), pot.host(), f.host()};
	for (int k = 0; k < 3; k++)
		WANT(memcmp(again[k].data(), out[k].data(), out[k].size() * sizeof(double)) == 0);
	return status;
}

static int on_cpu(const system_ &s, bool each, int kind, vector<double> *out)
{
	const size_t n = s.target.size();
	struct nb_gravity g = s.g;
	g.pos = s.pos.data(), g.mass = s.mass.data(), g.body_eps = each ? s.eps.data() : nullptr;
	out[0].resize(3 * n), out[1].resize(n), out[2].resize(n);
	const struct nb_gravity_points points = {n, kind ? s.at.data() : nullptr, kind ? nullptr : s.target.data(),
		kind == 2 ? s.at_eps.data() : nullptr, out[0].data(), out[1].data(), out[2].data(), nullptr, 0};
	return nb_gravity_points_cpu(&g, &points);
}

static void compare(size_t n, size_t points, enum law law)
{
	const system_ s = make(n, points, law);
	const bool each = law == EACH || law == EACH_SPLINE;
	for (int kind = n ? 0 : 1; kind < 3; kind++) {
		vector<double> got[3], want[3];
		WANT(on_cpu(s, each, kind, want) == NB_OK);
		for (int more = 0; more < 2; more++) {
			snprintf(label, sizeof label, "law %d, n %zu, %zu points of kind %d, more %d", law, n, points,
				kind, more);
			WANT(on_device(s, each, kind, more, got) == NB_OK);
			for (size_t k = 0; k < points; k++) {
				const double f = want[2][k];
				for (size_t c = 0; c < 3; c++)
					WANT(fabs(got[0][3 * k + c] - want[0][3 * k + c]) <= 2e-13 * f);
				if (more) {
					WANT(fabs(got[1][k] - want[1][k]) <= 2e-13 * fabs(want[1][k]));
					WANT(fabs(got[2][k] - f) <= 2e-13 * f);
				}
			}
		}
	}
}

/* Powers of two of other units come out as such. */
static void units(void)
{
	system_ s = make(700, 20, COMMON);
	vector<double> one[3], other[3];
	s.at[0] = 1e9;
	WANT(on_device(s, false, 1, true, one) == NB_OK);
	for (double &x : s.pos)
		x *= 0x1p300;
	for (double &x : s.at)
		x *= 0x1p300;
	for (double &m : s.mass)
		m *= 0x1p-500;
	s.g.eps *= 0x1p300;
	WANT(on_device(s, false, 1, true, other) == NB_OK);
	for (size_t k = 0; k < 20; k++) {
		for (size_t c = 0; c < 3; c++)
			WANT(other[0][3 * k + c] == one[0][3 * k + c] * 0x1p-500 * 0x1p-300 * 0x1p-300);
		WANT(other[1][k] == one[1][k] * 0x1p-500 * 0x1p-300);
	}
}

static void refused(void)
{
	vector<double> out[3];
	system_ s = make(10, 3, EACH);
	s.target[2] = 10;
	WANT(on_device(s, true, 0, true, out) == NB_EINVAL);
	s.at[8] = NAN;
	WANT(on_device(s, true, 1, true, out) == NB_ENONFINITE);
	s.at[8] = 0;
	s.at_eps[0] = -1;
	WANT(on_device(s, true, 2, true, out) == NB_EINVAL);
	WANT(on_device(s, true, 1, true, out) == NB_OK);
	s.mass[9] = INFINITY;
	WANT(on_device(s, true, 1, true, out) == NB_ENONFINITE);
	s.g.eps = -1;
	WANT(on_device(s, true, 1, true, out) == NB_EINVAL);
}

int main(void)
{
	/* places: by few_kernel and many_kernel of points_cuda.cu */
	static const size_t sources[] = {0, 1, 2, 7, 511, 513, 5000}, places[] = {0, 1, 3, 255, 257, 1024, 1025, 1300};
	if (no_device())
		return 77;
	for (int law = 0; law < LAWS; law++)
		for (size_t n : sources)
			for (size_t points : places)
				compare(n, points, (enum law)law);
	compare(200000, 1024, COMMON);
	compare(200000, 1025, COMMON);
	units();
	refused();
	return unit_end();
}
