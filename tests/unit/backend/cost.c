/* What work costs: the table against figures that were measured with whole programs, and what must hold whatever the
 * table says. */
#include "kernels/backend/backend.h"

#include "tests/unit/unit.h"

enum { AVX512 = 2 }; /* of enum nb_isa, on x86-64 */

static const struct nb_machine h200 = {16, (enum nb_isa)AVX512, {1, 1}};

static double tree_force(double n, double theta, enum nb_place place, const struct nb_machine *machine)
{
	return nb_cost(NB_WORK_SORT, n, place, machine) + nb_cost(NB_WORK_TREE, n, place, machine) +
	       nb_cost(NB_WORK_WALK_F32, n * nb_cost_angle(theta, n, 0), place, machine);
}

static double tree_step(double n, enum nb_place place, const struct nb_machine *machine)
{
	return tree_force(n, 0.5, place, machine) + nb_cost(NB_WORK_MOVE, n, place, machine);
}

/* A pass from a stream to a stream, of bodies of 64 bytes. */
static double tree_pass(double n, enum nb_place place, const struct nb_machine *machine)
{
	const double away = nb_cost_context() + nb_cost_copy(64 * n, NB_ON_DEVICE) + nb_cost_copy(64 * n, NB_ON_CPU);
	return tree_force(n, 0.5, place, machine) + (place == NB_ON_DEVICE ? away : 0);
}

/* NVIDIA H200, nb-step with its pipeline folded, theta 0.5; direct sums, f32. */
static void measured_steps(void)
{
	CHECK_NEAR(tree_step(0x1p16, NB_ON_DEVICE, &h200), 0.79e-3, 0.2e-3);
	CHECK_NEAR(tree_step(0x1p20, NB_ON_DEVICE, &h200), 3.2e-3, 0.5e-3);
	CHECK_NEAR(tree_step(0x1p22, NB_ON_DEVICE, &h200), 9.8e-3, 2e-3);
	const double direct = nb_cost(NB_WORK_DIRECT_F32, 0x1p28, NB_ON_DEVICE, &h200);
	CHECK_NEAR(direct + nb_cost(NB_WORK_MOVE, 0x1p14, NB_ON_DEVICE, &h200), 0.163e-3, 0.05e-3);
}

/* cpu-zen5.txt, rows of 10^4 to 10^7 bodies at theta 0.65 */
static void measured_cpu(void)
{
	static const double n[] = {1e4, 1e5, 1e6, 1e7}, seconds[] = {0.0030, 0.0201, 0.1553, 1.3246};
	const struct nb_machine zen5 = {2, (enum nb_isa)AVX512, {1, 1}};
	for (int i = 0; i < 4; i++)
		CHECK_NEAR(tree_force(n[i], 0.65, NB_ON_CPU, &zen5) / seconds[i], 1, 0.25);
	CHECK_NEAR(1e3 / nb_cost(NB_WORK_DIRECT_F32, 1e12, NB_ON_CPU, &zen5), 29.2, 0.5);
	CHECK_NEAR(1e3 / nb_cost(NB_WORK_DIRECT_F64, 1e12, NB_ON_CPU, &zen5), 12.5, 0.5);
}

/* The 16 cores beside an NVIDIA H100: steps at theta 0.7, in s.  There 220 steps of 2^14 bodies are work for a device.
 */
static void measured_server(void)
{
	static const double seconds[] = {0.46e-3, 1.5e-3, 3.33e-3, 7.16e-3, 21.2e-3};
	for (int i = 0; i < 5; i++) {
		const double n = ldexp(1024, 2 * i);
		const double step = tree_force(n, 0.7, NB_ON_CPU, &h200) + nb_cost(NB_WORK_MOVE, n, NB_ON_CPU, &h200);
		CHECK(step > 0.5 * seconds[i] && step < 1.3 * seconds[i]);
	}
	CHECK(nb_cost_context() + 220 * tree_step(0x1p14, NB_ON_DEVICE, &h200) <
		220 * tree_step(0x1p14, NB_ON_CPU, &h200));
}

static int device_wins(double n, const struct nb_machine *machine)
{
	return tree_pass(n, NB_ON_DEVICE, machine) < tree_pass(n, NB_ON_CPU, machine);
}

/* One context is dear: a pass over a newcomer's ten thousand bodies stays on the CPU, on any. */
static void crossovers(void)
{
	static const double few[] = {0, 1, 1000, 1e4};
	for (int isa = NB_ISA_PLAIN; isa <= AVX512; isa++) {
		const struct nb_machine one = {1, (enum nb_isa)isa, {1, 1}};
		for (int i = 0; i < 4; i++)
			CHECK(!device_wins(few[i], &one));
	}
	const struct nb_machine two = {2, (enum nb_isa)AVX512, {1, 1}};
	CHECK(!device_wins(1e6, &two) && device_wins(1e7, &two) && !device_wins(1e6, &h200));
	CHECK(nb_cost_context() + 10 * tree_step(0x1p20, NB_ON_DEVICE, &h200) <
		10 * tree_step(0x1p20, NB_ON_CPU, &two));
	CHECK(nb_cost_context() + 100 * tree_step(0x1p20, NB_ON_DEVICE, &h200) <
		100 * tree_step(0x1p20, NB_ON_CPU, &h200));
}

/* More work never takes less time, and more cores and wider instructions never more. */
static void monotone(void)
{
	for (int w = 0; w < NB_NWORK; w++)
		for (double amount = 1; amount < 1e18; amount *= 3)
			for (int place = NB_ON_CPU; place <= NB_ON_DEVICE; place++) {
				const double one = nb_cost((enum nb_work)w, amount, (enum nb_place)place, &h200);
				CHECK(one > 0 &&
					one < nb_cost((enum nb_work)w, 3 * amount, (enum nb_place)place, &h200));
				for (int isa = NB_ISA_PLAIN; isa <= AVX512; isa++) {
					const struct nb_machine less = {8, (enum nb_isa)isa, {1, 1}};
					CHECK(nb_cost((enum nb_work)w, amount, (enum nb_place)place, &less) >= one);
				}
			}
	for (double n = 1; n < 1e9; n *= 3)
		for (double theta = 0.1; theta < 2; theta *= 1.3) {
			CHECK(n * nb_cost_angle(theta, n, 0) < 3 * n * nb_cost_angle(theta, 3 * n, 0));
			CHECK(nb_cost_angle(theta, n, 0) <= nb_cost_angle(theta / 1.3, n, 0));
		}
	CHECK(nb_cost_angle(0.5, 0, 0) == 0);
	CHECK(isfinite(nb_cost_angle(0, 1e6, 0)) && nb_cost_angle(0, 1e6, 0) > nb_cost_angle(0.1, 1e6, 0));
	CHECK_NEAR(nb_cost_alpha(0.002, 1e6), nb_cost_angle(0.5, 1e6, 0), 1e-9);
	CHECK(nb_cost_copy(1e9, NB_ON_DEVICE) > nb_cost_copy(1e6, NB_ON_DEVICE));
}

/* A device with half the multiprocessors takes twice the time, and one with few f64 units more for those alone. */
static void other_devices(void)
{
	const struct nb_machine half = {16, (enum nb_isa)AVX512, {0.5, 0.5}},
				game = {64, (enum nb_isa)AVX512, {1, 1.0 / 32}};
	CHECK_NEAR(nb_cost(NB_WORK_DIRECT_F32, 1e12, NB_ON_DEVICE, &half) /
			   nb_cost(NB_WORK_DIRECT_F32, 1e12, NB_ON_DEVICE, &h200),
		2, 0.01);
	CHECK(nb_cost(NB_WORK_DIRECT_F32, 1e12, NB_ON_DEVICE, &game) ==
		nb_cost(NB_WORK_DIRECT_F32, 1e12, NB_ON_DEVICE, &h200));
	CHECK(nb_cost(NB_WORK_DIRECT_F64, 1e12, NB_ON_DEVICE, &game) >
		nb_cost(NB_WORK_DIRECT_F64, 1e12, NB_ON_CPU, &game));
}

int main(void)
{
	measured_steps();
	measured_cpu();
	measured_server();
	crossovers();
	monotone();
	other_devices();
	return unit_end();
}
