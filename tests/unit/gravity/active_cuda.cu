/* Forces on some of the bodies on the device against those of the CPU: which rows are marked; accelerations, potentials
 * and jerks in their places and 0 in all others; every law of softening, numbers of bodies and of active ones that take
 * each way through the kernels, other units, and the same bytes twice.  Exit 77 where there is no device. */
#include <string.h>

#include <vector>

#include "kernels/gravity/gravity.h"
#include "kernels/order/order.h"
#include "tests/unit/device.cuh"
#include "tests/unit/random.h"

using std::vector;

enum law { COMMON, UNSOFTENED, EACH, SPLINE, EACH_SPLINE, LAWS };
static char label[120];

struct system_ {
	vector<double> pos, vel, mass, eps;
	vector<unsigned char> mark;
	vector<uint32_t> row; /* of those that are marked */
	struct nb_gravity g = {};
	bool each;
};

/* acc, pot, jerk of all bodies */
struct forces {
	vector<double> of[3];
};

/* Every fifth body has no mass; the third is where the fourth is, with another velocity.  Of the bodies, count are
 * active, not side by side unless all are. */
static system_ make(size_t n, size_t count, enum law law)
{
	system_ s;
	for (size_t i = 0; i < n; i++) {
		for (int c = 0; c < 3; c++)
			s.pos.push_back(uniform() - 0.5);
		for (int c = 0; c < 3; c++)
			s.vel.push_back(4 * (uniform() - 0.5));
		s.mass.push_back(i % 5 == 2 ? 0 : 0.1 + uniform());
		s.eps.push_back(i % 3 == 2 ? 0 : 0.5 * pow(uniform(), 3));
		/* of equal pieces of the rows the last ones */
		s.mark.push_back((i + 1) * count / n != i * count / n ? (unsigned char)(1 + i % 255) : 0);
		if (s.mark.back())
			s.row.push_back((uint32_t)i);
	}
	for (size_t c = 0; n > 3 && c < 3; c++)
		s.pos[6 + c] = s.pos[9 + c];
	s.each = law == EACH || law == EACH_SPLINE;
	s.g.n = n;
	s.g.eps = law == COMMON || law == SPLINE ? 0.03 : 0;
	s.g.G = 1.5;
	s.g.precision = NB_F64;
	s.g.softening = law == SPLINE || law == EACH_SPLINE ? NB_SPLINE : NB_PLUMMER;
	return s;
}

/* wants: bit 0 potentials, bit 1 jerks.  What is not wanted stays as it was. */
static int on_device(const system_ &s, int wants, forces *out)
{
	const size_t n = s.g.n;
	device<double> pos(s.pos), vel(s.vel), mass(s.mass), eps(s.eps), acc(3 * n), pot(n), jerk(3 * n);
	device<unsigned char> mark(s.mark);
	device<uint32_t> row(n);
	size_t count;
	WANT(nb_marked_rows_cuda(n, mark.p, row.p, &count) == NB_OK);
	WANT(count == s.row.size());
	vector<uint32_t> rows = row.host();
	rows.resize(count);
	WANT(rows == s.row);
	struct nb_gravity g = s.g;
	g.pos = pos.p, g.vel = wants & 2 ? vel.p : nullptr, g.mass = mass.p, g.body_eps = s.each ? eps.p : nullptr;
	const struct nb_gravity_points points = {count, nullptr, row.p, nullptr, acc.p, wants & 1 ? pot.p : nullptr,
		nullptr, wants & 2 ? jerk.p : nullptr, 1};
	const int status = nb_gravity_points_cuda(&g, &points);
	out->of[0] = acc.host(), out->of[1] = pot.host(), out->of[2] = jerk.host();
	acc.poison(), pot.poison(), jerk.poison();
	WANT(nb_gravity_points_cuda(&g, &points) == status);
	const vector<double> again[3] = {acc.host(), pot.host(), jerk.host()};
	for (int k = 0; k < 3; k++)
		WANT(memcmp(again[k].data(), out->of[k].data(), again[k].size() * sizeof(double)) == 0);
	return status;
}

/* Of the bodies row, with the strength of the field at all. */
static int on_cpu(const system_ &s, const vector<uint32_t> &row, forces *out, vector<double> *strength)
{
	const size_t n = s.g.n;
	struct nb_gravity g = s.g;
	g.pos = s.pos.data(), g.vel = s.vel.data(), g.mass = s.mass.data();
	g.body_eps = s.each ? s.eps.data() : nullptr;
	out->of[0].assign(3 * n, NAN), out->of[1].assign(n, NAN), out->of[2].assign(3 * n, NAN);
	strength->assign(n, NAN);
	const struct nb_gravity_points points = {row.size(), nullptr, row.data(), nullptr, out->of[0].data(),
		out->of[1].data(), strength->data(), out->of[2].data(), 1};
	return nb_gravity_points_cpu(&g, &points);
}

/* What the jerk of body i could be without cancellation. */
static double turn_of(const system_ &s, size_t i)
{
	double sum = 0;
	for (size_t j = 0; j < s.g.n; j++) {
		const double *x = &s.pos[3 * i], *y = &s.pos[3 * j], *v = &s.vel[3 * i], *u = &s.vel[3 * j];
		const double e = s.each ? fmax(s.eps[i], s.eps[j]) : s.g.eps;
		const double r2 = (x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) +
				  (x[2] - y[2]) * (x[2] - y[2]) + e * e;
		const double speed = hypot(hypot(u[0] - v[0], u[1] - v[1]), u[2] - v[2]);
		sum += r2 > 0 ? 5 * s.g.G * s.mass[j] * speed / (r2 * sqrt(r2)) : 0;
	}
	return sum;
}

/* At most `some` of the active bodies are compared: the others only have numbers. */
static void compare(size_t n, size_t count, enum law law, size_t some)
{
	const system_ s = make(n, count, law);
	vector<uint32_t> row;
	vector<double> strength, turn;
	forces want, got[4];
	row.reserve(1); /* not NULL if none is active */
	for (size_t k = 0; k < count && k < some; k++)
		row.push_back(s.row[count <= some ? k : k * count / some]);
	snprintf(label, sizeof label, "law %d, n %zu, %zu active", law, n, count);
	WANT(s.row.size() == count);
	WANT(on_cpu(s, row, &want, &strength) == NB_OK);
	for (const uint32_t i : row)
		turn.push_back(turn_of(s, i));
	for (int wants = 0; wants < 4; wants++) {
		snprintf(label, sizeof label, "law %d, n %zu, %zu active, wants %d", law, n, count, wants);
		forces &f = got[wants];
		WANT(on_device(s, wants, &f) == NB_OK);
		for (size_t i = 0; i < n; i++)
			for (size_t c = 0; c < 7; c++) {
				const double x = c < 3	 ? f.of[0][3 * i + c]
						 : c < 6 ? f.of[2][3 * i + c - 3]
							 : f.of[1][i];
				const bool wanted = c < 3 || (c < 6 ? wants & 2 : wants & 1);
				WANT(wanted ? s.mark[i] ? isfinite(x) : x == 0 : isnan(x));
			}
		for (size_t k = 0; k < row.size(); k++) {
			const size_t i = row[k];
			for (size_t c = 3 * i; c < 3 * i + 3; c++) {
				WANT(fabs(f.of[0][c] - want.of[0][c]) <= 2e-13 * strength[i]);
				if (wants & 2)
					WANT(fabs(f.of[2][c] - want.of[2][c]) <= 2e-13 * turn[k]);
			}
			if (wants & 1)
				WANT(fabs(f.of[1][i] - want.of[1][i]) <= 2e-13 * fabs(want.of[1][i]));
		}
	}
}

/* Powers of two of other units come out as such. */
static void units(void)
{
	system_ s = make(3000, 20, EACH);
	forces one, other;
	WANT(on_device(s, 3, &one) == NB_OK);
	for (double &x : s.pos)
		x *= 0x1p300;
	for (double &x : s.eps)
		x *= 0x1p300;
	for (double &v : s.vel)
		v *= 0x1p-200;
	for (double &m : s.mass)
		m *= 0x1p500;
	snprintf(label, sizeof label, "other units");
	WANT(on_device(s, 3, &other) == NB_OK);
	for (size_t k = 0; k < 9000; k++) {
		WANT(other.of[0][k] == one.of[0][k] * 0x1p-100);
		WANT(other.of[2][k] == one.of[2][k] * 0x1p-600);
	}
	for (size_t i = 0; i < 3000; i++)
		WANT(other.of[1][i] == one.of[1][i] * 0x1p200);
}

static void refused(void)
{
	forces out;
	system_ s = make(100, 3, COMMON);
	snprintf(label, sizeof label, "refused");
	s.vel[7] = NAN;
	WANT(on_device(s, 2, &out) == NB_ENONFINITE);
	WANT(on_device(s, 1, &out) == NB_OK);
	s.vel[7] = 0;
	s.mass[50] = INFINITY;
	WANT(on_device(s, 3, &out) == NB_ENONFINITE);

	/* a row that is none is not written */
	device<double> pos(s.pos), vel(s.vel), mass(vector<double>(100, 1.0)), acc(300), jerk(300);
	device<uint32_t> row(vector<uint32_t>{1, 100, 99});
	struct nb_gravity g = s.g;
	g.pos = pos.p, g.vel = vel.p, g.mass = mass.p;
	struct nb_gravity_points points = {3, nullptr, row.p, nullptr, acc.p, nullptr, nullptr, jerk.p, 1};
	WANT(nb_gravity_points_cuda(&g, &points) == NB_EINVAL);
	points.target = nullptr, points.pos = pos.p;
	WANT(nb_gravity_points_cuda(&g, &points) == NB_EINVAL);
	points.jerk = nullptr;
	WANT(nb_gravity_points_cuda(&g, &points) == NB_EINVAL);
	points.spread = 0;
	WANT(nb_gravity_points_cuda(&g, &points) == NB_OK);
	g.vel = nullptr, points.pos = nullptr, points.target = row.p, points.jerk = jerk.p, points.n = 1;
	WANT(nb_gravity_points_cuda(&g, &points) == NB_EINVAL);
}

int main(void)
{
	/* of points_cuda.cu: up to 1024 by few_kernel, whose warps share points up to 2 and up to 4 */
	static const size_t sizes[] = {1, 2, 33, 1000, 2500, 100001};
	if (no_device())
		return 77;
	for (int law = 0; law < LAWS; law++)
		for (const size_t n : sizes) {
			const size_t counts[] = {0, 1, 2, 3, 4, 5, n / 7, n / 2, n};
			for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
				if (counts[k] <= n && (k < 6 || counts[k] > 5))
					compare(n, counts[k], (enum law)law, n > 10000 ? 40 : n);
		}
	units();
	refused();
	return unit_end();
}
