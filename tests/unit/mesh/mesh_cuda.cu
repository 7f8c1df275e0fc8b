/* The mesh of the device against that of the CPU: painted to the same bits, modes and shells within rounding; and the
 * kernels of devices with less shared memory.  Exit status 77: there is no device. */
#include "tests/unit/device.cuh"

#include <math.h>

#include "common/periodic.h"
#include "kernels/mesh/mesh_internal.cuh"
#include "tests/unit/random.h"

/* Bytes of shared memory: so few that each kernel takes as little as it can; of a block of several devices, where some
 * splines are gathered by tiles and others not. */
static const size_t LITTLE = 1, MIDDLE = 99 << 10;
static char label[80];

struct bodies {
	std::vector<double> pos, mass;
};

static bodies make_bodies(size_t n, bool clumps)
{
	bodies b;
	for (size_t i = 0; i < n; i++) {
		const double to = clumps && i % 2 ? 0.01 : 1.5;
		for (int c = 0; c < 3; c++)
			b.pos.push_back(2.5 * (to * uniform() - 0.2));
		b.mass.push_back(i == 7 ? 1e5 : decades(1e-3, 1));
	}
	return b;
}

/* Cells of rows, without what is behind them. */
static bool same_cells(int m, const std::vector<int64_t> &a, const std::vector<int64_t> &b)
{
	bool same = true;
	for (size_t k = 0; k < a.size(); k++)
		same &= k % nb_mesh_row(m) >= (size_t)m || a[k] == b[k];
	return same;
}

static void paint(size_t n, bool clumps, bool masses, int fold, int m)
{
	const bodies b = make_bodies(n, clumps);
	const device<double> pos(b.pos), mass(b.mass);
	const size_t numbers = nb_mesh_bytes(m) / 8;
	double total = masses ? 0 : (double)n;
	for (size_t i = 0; masses && i < n; i++)
		total += b.mass[i];
	for (int order = 1; order <= NB_MESH_ORDERS; order++) {
		snprintf(label, sizeof label, "n %zu, clumps %d, masses %d, fold %d, m %d, order %d", n, clumps, masses,
			fold, m, order);
		struct nb_mesh_paint job = {
			n, b.pos.data(), masses ? b.mass.data() : nullptr, 2.5, nb_mesh_unit(total), fold, m, order};
		std::vector<int64_t> plain(numbers), moved(numbers);
		device<int64_t> d_plain(numbers), d_moved(numbers);
		WANT(nb_mesh_paint_cpu(&job, plain.data(), moved.data()) == NB_OK);
		job.pos = pos.p;
		job.mass = masses ? mass.p : nullptr;
		WANT(nb_mesh_paint_cuda(&job, d_plain.p, d_moved.p) == NB_OK);
		WANT(same_cells(m, plain, d_plain.host()));
		WANT(same_cells(m, moved, d_moved.host()));
		d_plain.poison();
		WANT(nb_mesh_paint_cuda(&job, d_plain.p, nullptr) == NB_OK);
		WANT(same_cells(m, plain, d_plain.host()));
		d_plain.poison();
		d_moved.poison();
		WANT(nb_mesh_paint_within_cuda(LITTLE, &job, d_plain.p, d_moved.p) == NB_OK);
		WANT(same_cells(m, plain, d_plain.host()) && same_cells(m, moved, d_moved.host()));
	}
}

/* Largest difference, of the rms of all but mode 0. */
static double difference(const std::vector<double> &got, const std::vector<double> &want)
{
	double worst = 0, rms = 0;
	for (size_t k = 2; k < want.size(); k++) {
		worst = !(fabs(got[k] - want[k]) <= worst) ? fabs(got[k] - want[k]) : worst;
		rms += want[k] * want[k];
	}
	return worst / sqrt(2 * rms / (double)want.size());
}

static void transform(int m)
{
	std::vector<int64_t> cells(nb_mesh_bytes(m) / 8);
	for (int64_t &c : cells)
		c = (int64_t)(1e9 * uniform());
	const device<int64_t> mesh(cells), again(cells);
	std::vector<double> want(cells.size()), got(cells.size());
	snprintf(label, sizeof label, "m %d", m);
	memcpy(want.data(), cells.data(), nb_mesh_bytes(m));
	WANT(nb_mesh_transform_cpu(m, 0.5, want.data()) == NB_OK);
	WANT(nb_mesh_transform_cuda(m, 0.5, mesh.p) == NB_OK);
	WANT(nb_mesh_transform_within_cuda(LITTLE, m, 0.5, again.p) == NB_OK);
	CHECK(cudaMemcpy(got.data(), mesh.p, nb_mesh_bytes(m), cudaMemcpyDeviceToHost) == cudaSuccess);
	WANT(difference(got, want) < 1e-13);
	WANT(mesh.host() == again.host());
}

/* Modes to numbers, and to the numbers that they came from. */
static void transform_back(int m)
{
	std::vector<double> numbers(nb_mesh_bytes(m) / 8);
	for (double &v : numbers)
		v = uniform() - 0.5;
	std::vector<double> want = numbers;
	snprintf(label, sizeof label, "back, m %d", m);
	WANT(nb_mesh_transform_real_cpu(m, want.data()) == NB_OK);
	const device<double> mesh(want), again(want);
	WANT(nb_mesh_transform_back_cuda(m, mesh.p) == NB_OK);
	WANT(nb_mesh_transform_back_within_cuda(LITTLE, m, again.p) == NB_OK);
	const std::vector<double> got = mesh.host();
	double worst = 0;
	for (size_t k = 0; k < numbers.size(); k++) {
		const double error = fabs(got[k] / m / m / m - numbers[k]);
		if (k % nb_mesh_row(m) < (size_t)m)
			worst = !(error <= worst) ? error : worst;
	}
	WANT(worst < 1e-14);
	WANT(got == again.host());
}

/* Positions in the order of cells of a grid, some of them where two cells meet. */
static void gather_by_cells(bodies b, nb_mesh_gather of, const std::vector<double> &mesh, int side)
{
	const size_t n = b.pos.size() / 3;
	for (size_t i = 0; i < 300; i++)
		b.pos[i] = of.box * (double)(i / 3 * (1 + i % 3) % (side + 1)) / side;
	std::vector<std::vector<double>> at((size_t)side * side * side);
	std::vector<double> pos;
	std::vector<uint32_t> begin = {0};
	for (size_t i = 0; i < n; i++) {
		size_t cell = 0;
		for (int c = 0; c < 3; c++)
			cell = cell * side +
			       std::min(side - 1, (int)(nb_periodic_wrap(b.pos[3 * i + c], of.box) / of.box * side));
		at[cell].insert(at[cell].end(), &b.pos[3 * i], &b.pos[3 * i] + 3);
	}
	for (const std::vector<double> &here : at) {
		pos.insert(pos.end(), here.begin(), here.end());
		begin.push_back((uint32_t)(pos.size() / 3));
	}
	const device<double> there(pos);
	const device<uint32_t> cells(begin);
	std::vector<double> sum(n, 1.0);
	const device<double> value(sum), again(sum);
	nb_mesh_gather host = of;
	host.pos = pos.data(), host.mesh = mesh.data();
	nb_mesh_gather_cpu(&host, sum.data(), 1);
	of.pos = there.p, of.begin = cells.p, of.side = side;
	WANT(nb_mesh_gather_cuda(&of, value.p, 1) == NB_OK);
	WANT(nb_mesh_gather_cuda(&of, again.p, 1) == NB_OK);
	WANT(difference(value.host(), sum) < 1e-14);
	WANT(value.host() == again.host());
	for (const size_t shared : {LITTLE, MIDDLE}) {
		const device<double> other(std::vector<double>(n, 1.0));
		WANT(nb_mesh_gather_within_cuda(shared, &of, other.p, 1) == NB_OK);
		WANT(difference(other.host(), sum) < 1e-14);
	}
}

/* Of a mesh, what is not behind its rows. */
static std::vector<double> cells_of(int m, const std::vector<double> &mesh)
{
	std::vector<double> cells;
	for (size_t k = 0; k < mesh.size(); k++)
		if (k % nb_mesh_row(m) < (size_t)m)
			cells.push_back(mesh[k]);
	return cells;
}

static void gravity(int m, int order)
{
	const bodies b = make_bodies(1000, false);
	const device<double> pos(b.pos);
	std::vector<double> modes(nb_mesh_bytes(m) / 8), want(modes.size());
	for (double &v : modes)
		v = uniform() - 0.5;
	const nb_mesh_poisson poisson = {m, order, 2.5, 0.2};
	WANT(nb_mesh_transform_real_cpu(m, modes.data()) == NB_OK);
	const device<double> mass(modes), field(modes.size());
	for (int c = 0; c < 4; c++) {
		snprintf(label, sizeof label, "m %d, order %d, field %d", m, order, c);
		WANT(nb_mesh_poisson_cpu(&poisson, (enum nb_mesh_field)c, modes.data(), want.data()) == NB_OK);
		WANT(nb_mesh_transform_back_cpu(m, want.data()) == NB_OK);
		WANT(nb_mesh_field_cuda(&poisson, (enum nb_mesh_field)c, mass.p, field.p) == NB_OK);
		const std::vector<double> first = field.host();
		WANT(difference(cells_of(m, first), cells_of(m, want)) < 1e-14);
		for (const size_t shared : {LITTLE, MIDDLE}) {
			WANT(nb_mesh_field_within_cuda(shared, &poisson, (enum nb_mesh_field)c, mass.p, field.p) ==
				NB_OK);
			WANT(field.host() == first);
		}
	}
	std::vector<double> sum(3000, 1.0);
	const device<double> there(sum);
	nb_mesh_gather of = {1000, b.pos.data(), 2.5, m, order, modes.data(), nullptr, 0};
	nb_mesh_gather_cpu(&of, sum.data() + 1, 3);
	of.pos = pos.p, of.mesh = mass.p;
	WANT(nb_mesh_gather_cuda(&of, there.p + 1, 3) == NB_OK);
	WANT(difference(there.host(), sum) < 1e-14);
	for (int side : {1, 2, m / 6, m / 4 + 1, m / 2})
		if (side > 0)
			gather_by_cells(b, of, modes, side);
}

static void shells(int m, bool shifted, bool other)
{
	std::vector<double> mode[3];
	const size_t numbers = nb_mesh_bytes(m) / 8, count = (size_t)(m + 1) / 2;
	for (std::vector<double> &of : mode)
		for (size_t k = 0; k < numbers; k++)
			of.push_back(uniform() - 0.5);
	const device<double> a(mode[0]), b(mode[1]), c(mode[2]);
	const nb_mesh_modes host[2] = {
		{mode[0].data(), shifted ? mode[1].data() : nullptr, 3}, {mode[2].data(), nullptr, 2}};
	const nb_mesh_modes there[2] = {{a.p, shifted ? b.p : nullptr, 3}, {c.p, nullptr, 2}};
	std::vector<nb_mesh_shell> want(count), got(count), again(count);
	snprintf(label, sizeof label, "m %d, shifted %d, other %d", m, shifted, other);
	WANT(nb_mesh_shells_cpu(m, 3, &host[0], other ? &host[1] : nullptr, want.data()) == NB_OK);
	WANT(nb_mesh_shells_cuda(m, 3, &there[0], other ? &there[1] : nullptr, got.data()) == NB_OK);
	WANT(nb_mesh_shells_cuda(m, 3, &there[0], other ? &there[1] : nullptr, again.data()) == NB_OK);
	WANT(memcmp(got.data(), again.data(), count * sizeof got[0]) == 0);
	for (size_t k = 0; k < count; k++) {
		const double most = 1e-12 * want[k].modes * 9;
		WANT(got[k].modes == want[k].modes);
		WANT(fabs(got[k].distance - want[k].distance) <= 1e-12 * want[k].distance);
		WANT(fabs(got[k].power[0] - want[k].power[0]) <= most);
		WANT(fabs(got[k].power[1] - want[k].power[1]) <= most);
		WANT(fabs(got[k].cross - want[k].cross) <= most);
	}
}

int main(void)
{
	if (no_device())
		return 77;
	for (const int m : {8, 20, 30, 63, 64, 80}) {
		paint(30000, false, true, 1, m);
		paint(30000, true, false, 4, m);
	}
	paint(3000000, true, false, 1, 64);
	paint(0, false, false, 1, 8);
	paint(1, false, true, 1, 8);
	for (const int m :
		{8, 9, 10, 12, 14, 15, 16, 21, 25, 32, 49, 60, 63, 64, 70, 96, 100, 128, 135, 192, 210, 243, 256}) {
		transform(m);
		transform_back(m);
	}
	for (const int m : {8, 9, 20, 35})
		for (int order = 1; order <= NB_MESH_ORDERS; order++)
			gravity(m, order);
	for (const int m : {8, 9, 31, 64, 65, 130})
		for (int k = 0; k < 4; k++)
			shells(m, k % 2, k / 2);
	return unit_end();
}
