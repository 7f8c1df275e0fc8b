#include "kernels/backend/cost.h"

#include <math.h>

struct cost {
	double core; /* s */
	int widens, cores;
	double device, frame; /* s */
	int wide;
};

static const struct cost table[] = {
#define NB_COST(work, unit, core, widens, cores, device, frame, wide) \
	{(core)*1e-9, widens, cores, (device)*1e-9, (frame)*1e-6, wide},
#include "kernels/backend/cost.def"
#undef NB_COST
};

/* Of pair sums, by instruction set: see cost.def.  NEON, of which a core has four units, counts as AVX2. */
static const double slower[] = {3.3, 1.7, 1};

/* What so many cores are worth, of those of the table.  Beyond a few they are often two threads of one core, slower
 * when all are at work, and of a server, whose clock is lower: 4, 8 and 16 of the machine with the H100 are
 * worth 1.9, 3.3 and 4.4 in steps of 2^18 bodies at theta 0.7, the 16 of that with the H200 6 in steps of 10^6 at theta
 * 0.5. */
static double worth(int cores)
{
	static const int whole = 2;
	return cores <= whole ? fmax(cores, 1) : whole + 0.25 * (cores - whole);
}

/* What several threads take longer, as they wait for each other and parts of the work are for one: of 4 works in a step
 * at theta 0.7, 0.3, 0.9 and 1.4 ms of 0.46, 1.5 and 3.3 with 2^10, 2^12 and 2^14 bodies on the 16 cores beside an
 * H100. */
static double gather(double seconds)
{
	return fmin(0.24e-3, 0.4 * seconds);
}

double nb_cost(enum nb_work work, double amount, enum nb_place place, const struct nb_machine *machine)
{
	const struct cost *c = &table[work];
	const int cores = machine->cores < c->cores ? machine->cores : c->cores;
	const double seconds = amount * c->core * (c->widens ? slower[machine->isa] : 1);
	if (place == NB_ON_CPU)
		return seconds / worth(cores) + (cores > 1 ? gather(seconds) : 0);
	return amount * c->device / (c->wide ? machine->device.f64 : machine->device.f32) + c->frame;
}

/* Of memory that is not pinned.  8 and 4 GB/s are estimates: the way back also fills fresh pages.  20 us: a copy waits
 * for the kernels before it. */
double nb_cost_copy(double bytes, enum nb_place to)
{
	return 20e-6 + bytes / (to == NB_ON_DEVICE ? 8e9 : 4e9);
}

/* One pass of 1000 bodies takes 0.33 to 0.42 s with an H200 and 0.011 s on the 16 cores beside it: auto-h200.tsv. */
double nb_cost_context(void)
{
	return 0.34;
}

/* 0.35 + theta^-2 is what was measured from theta 0.2 to 0.8 on both, and n^(-1/8) from 10^4 to 10^7 bodies on the CPU
 * and from 2^16 to 2^24 on an H200.  n / 250: 1024 bodies on the CPU.  2.9 / theta: 10^5 and 10^6 bodies on the CPU at
 * 0.18 and 0.037 (auto-h200.tsv, accuracies of 1e-5 and 1e-7); an H200 takes twice that at 0.18. */
double nb_cost_angle(double theta, double n, int high)
{
	const double second = 0.35 + 1 / (theta * theta), each = high ? fmin(second, 2.9 / theta) : second;
	return n > 0 ? fmin(each * pow(n / 1e6, -0.125), n / 250) : 0;
}

/* On an H200, 0.002 at 2^20 takes as long as theta 0.5; the error of a cell goes with theta^4. */
double nb_cost_alpha(double alpha, double n)
{
	return nb_cost_angle(0.5 * sqrt(sqrt(alpha / 0.002)), n, 0);
}

/* 1.25 to 1.7, 2.1 to 2.3 and 2.5 to 3: direct-h200.tsv, cpu-zen5.txt. */
double nb_cost_outputs(int potential, int jerk)
{
	return potential && jerk ? 2.8 : jerk ? 2.2 : potential ? 1.5 : 1;
}
