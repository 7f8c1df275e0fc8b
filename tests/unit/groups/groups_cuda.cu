/* Groups on the device are those of the CPU, and have the same bytes. */
#include <math.h>
#include <string.h>

#include "kernels/groups/groups.h"
#include "tests/unit/device.cuh"
#include "tests/unit/random.h"

#define OK(call) CHECK((call) == NB_OK)

struct bodies {
	std::vector<double> pos, mass;
	std::vector<uint64_t> id;
};

/* n bodies in the unit cube, with masses of many magnitudes and ids in no order. */
static struct bodies make(size_t n)
{
	struct bodies b;
	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < 3; k++)
			b.pos.push_back(uniform());
		b.mass.push_back(exp(20 * uniform() - 10));
		b.id.push_back((i * 0x9e3779b97f4a7c15u) >> 1);
	}
	return b;
}

/* The last half in balls of this radius about some of the others. */
static struct bodies clumps(size_t n, size_t count, double radius)
{
	struct bodies b = make(n);
	for (size_t i = n / 2; i < n; i++)
		for (size_t k = 0; k < 3; k++)
			b.pos[3 * i + k] = b.pos[3 * (i % count) + k] + radius * (b.pos[3 * i + k] - 0.5);
	return b;
}

static void compare(const char *what, const struct bodies &b, double length, double box, uint32_t least, int dim = 3)
{
	const size_t n = b.mass.size();
	const device<double> pos(b.pos), mass(b.mass);
	const device<uint64_t> id(b.id);
	std::vector<uint32_t> want(n);
	for (int with = 0; with < 2; with++) {
		const struct nb_groups_job on_cpu = {n, b.pos.data(), with ? b.mass.data() : nullptr,
			with ? b.id.data() : nullptr, dim, length, box, least};
		const struct nb_groups_job on_device = {
			n, pos.p, with ? mass.p : nullptr, with ? id.p : nullptr, dim, length, box, least};
		struct nb_groups cpu, gpu;
		device<uint32_t> group(n);
		OK(nb_groups_find_cpu(&on_cpu, want.data(), &cpu));
		OK(nb_groups_find_cuda(&on_device, group.p, &gpu));
		const std::vector<uint32_t> got = group.host();
		const size_t bytes = cpu.count * sizeof(double);
		const bool same = cpu.count == gpu.count && got == want && memcmp(cpu.mass, gpu.mass, bytes) == 0 &&
				  memcmp(cpu.id, gpu.id, bytes) == 0 &&
				  memcmp(cpu.begin, gpu.begin, (cpu.count + 1) * sizeof *cpu.begin) == 0;
		if (!same)
			fprintf(stderr, "%s, n %zu, length %g, box %g: %zu groups, want %zu\n", what, n, length, box,
				gpu.count, cpu.count);
		CHECK(same);
		nb_groups_free(&cpu);
		nb_groups_free(&gpu);
	}
}

/* Linking lengths in mean distances, of bodies in the unit cube. */
static void lengths(const char *what, const struct bodies &b)
{
	const double mean = 1 / cbrt((double)b.mass.size());
	for (double part : {0.0, 1e-9, 0.05, 0.2, 0.8, 1.2, 3.0, 30.0, 1e9})
		for (double box : {0.0, 1.0}) {
			compare(what, b, part * mean, box, 20);
			compare(what, b, part * mean, box, 1);
		}
}

static struct bodies lattice(size_t edge, double step)
{
	struct bodies b = make(edge * edge * edge);
	for (size_t i = 0; i < b.mass.size(); i++) {
		const size_t at[3] = {i % edge, i / edge % edge, i / edge / edge};
		for (size_t k = 0; k < 3; k++)
			b.pos[3 * i + k] = (double)(at[k] * 7 % edge) * step;
	}
	return b;
}

/* Places that keys cannot tell apart, one in another, and many bodies in one. */
static void crowds(void)
{
	struct bodies b = make(20000);
	for (size_t i = 5000; i < 20000; i++) {
		const double size = i < 10000 ? 1e-9 : i < 15000 ? 1e-14 : 0;
		for (size_t k = 0; k < 3; k++)
			b.pos[3 * i + k] = 0.5 + size * b.pos[3 * i + k];
	}
	for (double length : {0.0, 1e-16, 1e-15, 1e-10, 1e-9, 0.01, 0.3})
		for (double box : {0.0, 1.0})
			compare("crowds", b, length, box, 1);
	/* nested: each half as far from the corner as the one before it */
	struct bodies deep = make(3000);
	for (size_t i = 0; i < 3000; i++)
		for (size_t k = 0; k < 3; k++)
			deep.pos[3 * i + k] = ldexp(deep.pos[3 * i + k], -(int)(i / 3));
	for (double length : {0.0, 1e-280, 1e-30, 1e-3})
		compare("nested", deep, length, 0, 1);
}

static void edges(void)
{
	for (size_t n : {0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 255, 256, 257, 300})
		lengths("few", make(n));
	struct bodies b = make(3000);
	for (size_t i = 0; i < 3000; i++) { /* outside, and on faces */
		b.pos[3 * i] = i % 3 == 0 ? -b.pos[3 * i] : b.pos[3 * i];
		b.pos[3 * i + 1] = i % 5 == 0 ? 1 : b.pos[3 * i + 1] + 3;
		b.pos[3 * i + 2] = i % 7 == 0 ? -0.0 : b.pos[3 * i + 2];
	}
	lengths("outside", b);
	for (double scale : {1e-300, 1e150, 1e-155}) {
		struct bodies scaled = make(3000);
		for (double &x : scaled.pos)
			x *= scale;
		for (double part : {0.2, 0.9, 1e9})
			compare("scaled", scaled, part * scale / 14, 0, 1);
	}
	struct bodies flat = make(5000);
	for (double part : {0.2, 0.9, 2.0})
		for (double box : {0.0, 1.0})
			compare("flat", flat, part / sqrt(5000.0), box, 1, 2);
	/* far away: f32 would not see what all others are */
	struct bodies far = make(20000);
	far.pos[0] = 1e9;
	lengths("far", far);
	for (double &m : far.mass)
		m = 1 / 3.0;
	compare("equal masses", far, 0.04, 0, 1);
	for (size_t i = 0; i < 20000; i++)
		far.mass[i] = i % 2 ? -1e-300 * (double)i : 0;
	compare("masses below 0", far, 0.04, 0, 1);
}

int main(void)
{
	if (no_device())
		return 77;
	for (size_t n : {1000, 30000, 300000})
		lengths("uniform", make(n));
	lengths("clumps", clumps(100000, 50, 0.02));
	lengths("ball", clumps(50000, 1, 3 / cbrt(50000.0) / 5));
	lengths("point", clumps(50000, 1, 0));
	for (double step : {0.1, 0.125}) {
		const struct bodies b = lattice(10, step);
		for (double length : {step, nextafter(step, 0), nextafter(step, 1), step * sqrt(2.0), step * sqrt(3.0)})
			for (double box : {0.0, 10 * step, 11 * step})
				compare("lattice", b, length, box, 1);
	}
	crowds();
	edges();
	return unit_end();
}
