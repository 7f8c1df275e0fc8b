/* Wisdom and Holman's map for many systems on the device: each has the bytes that it has alone on the processor,
 * whatever its size, orbits and steps are; one that fails does so alone.  Exit 77 where there is no device. */
#include "kernels/small/small.h"
#include "tests/unit/device.cuh"
#include "tests/unit/random.h"

#include <math.h>
#include <string.h>
#include <vector>

using std::vector;

enum { MOST = NB_WHFAST_MOST };

/* n bodies.  Of every third system the innermost planet is nearly on a straight line, which takes the slow way; of
 * every fifth one escapes; every thirteenth is flat.  varied: a variation of it; null: none. */
static struct nb_whfast make(size_t n, size_t which, struct nb_variation *varied)
{
	double mass[MOST], pos[3 * MOST] = {}, vel[3 * MOST] = {};
	const double flat = which % 13 == 0 ? 0 : 1;
	struct nb_whfast w;
	for (size_t i = 0; i < n; i++) {
		const double a = pow(1.5, (double)i), f = 7 * uniform(), speed = (0.9 + 0.2 * uniform()) / sqrt(a);
		const double slow = i == 1 && which % 3 == 0 ? 0.05 : i == 2 && which % 5 == 0 ? 2 : 1;
		mass[i] = i == 0 ? 1 : i % 4 == 3 ? 0 : 1e-3 * uniform();
		for (int d = 0; d < 3; d++) {
			const double x[3] = {a * cos(f), a * sin(f), flat * 0.1 * a * uniform()};
			const double v[3] = {
				-slow * speed * sin(f), slow * speed * cos(f), flat * 0.1 * speed * uniform()};
			pos[3 * i + (size_t)d] = (i == 0 ? 0 : x[d]) + 1 + d;
			vel[3 * i + (size_t)d] = (i == 0 ? 0 : v[d]) - 0.1 * d;
		}
	}
	CHECK(nb_whfast_begin(&w, n, mass, 1, which % 2 == 0 ? 0 : 3, which % 4 == 0) == NB_OK);
	if (which % 7 == 0)
		nb_whfast_relativity(&w, 30);
	CHECK(nb_whfast_load(&w, pos, vel, which % 11 == 0 ? -0.1 : 0.05 + 0.3 * uniform()) == NB_OK);
	if (varied)
		nb_variation_begin_whfast(varied, &w, pos);
	return w;
}

/* Body 1 has fallen into the star, and has no way on. */
static void spoil(struct nb_whfast *w)
{
	for (int d = 0; d < 3; d++)
		w->q[d][1] = w->v[d][1] = 0;
}

static void check_same(const struct nb_whfast *got, const struct nb_whfast *want)
{
	if (want->variation)
		CHECK(memcmp(got->variation, want->variation, sizeof *want->variation) == 0);
	CHECK(memcmp(got->q, want->q, sizeof got->q) == 0 && memcmp(got->v, want->v, sizeof got->v) == 0);
	CHECK(memcmp(got->centre, want->centre, sizeof got->centre) == 0);
	CHECK(got->closest == want->closest && got->failed == 0);
}

static void test_systems(size_t systems, size_t least, size_t most, bool is_varied)
{
	vector<struct nb_whfast> want, got;
	vector<struct nb_variation> varied(systems), got_varied;
	vector<uint64_t> steps;
	struct nb_whfast_swarm *swarm;
	const size_t spoiled = systems > 20 ? 13 : SIZE_MAX;
	for (size_t k = 0; k < systems; k++) {
		want.push_back(make(
			least + (size_t)(uniform() * (double)(most + 1 - least)), k, is_varied ? &varied[k] : nullptr));
		steps.push_back((uint64_t)(300 * uniform()));
	}
	if (spoiled < systems) {
		want[spoiled] = make(4, spoiled, is_varied ? &varied[spoiled] : nullptr);
		steps[spoiled] = 9;
		spoil(&want[spoiled]);
	}
	got = want;
	got_varied = varied;
	for (size_t k = 0; k < systems && is_varied; k++)
		got[k].variation = &got_varied[k];
	CHECK(nb_whfast_swarm_begin_cuda(&swarm, want.data(), systems) == NB_OK);
	for (int call = 0; call < 2; call++) {
		int failed = 7;
		CHECK(nb_whfast_swarm_steps_cuda(swarm, steps.data(), &failed) == NB_OK);
		CHECK(nb_whfast_swarm_state_cuda(swarm, got.data()) == NB_OK);
		CHECK(failed == (call == 0 && spoiled < systems));
		for (size_t k = 0; k < systems; k++)
			if (k == spoiled) {
				struct nb_whfast other = want[k];
				struct nb_variation unused = varied[k];
				other.variation = is_varied ? &unused : nullptr;
				CHECK(nb_whfast_steps(&other, steps[k]) == NB_EUNSUPPORTED);
				CHECK(got[k].failed == other.failed);
				CHECK(memcmp(got[k].q, want[k].q, sizeof got[k].q) == 0);
				CHECK(memcmp(&got_varied[k], &varied[k], sizeof varied[k]) == 0);
			} else {
				CHECK(nb_whfast_steps(&want[k], steps[k]) == NB_OK);
				check_same(&got[k], &want[k]);
			}
	}
	nb_whfast_swarm_free_cuda(swarm);
}

int main(void)
{
	if (no_device())
		return 77;
	for (int varied = 0; varied < 2; varied++) {
		test_systems(0, 0, 0, varied);
		for (size_t n = 0; n <= MOST; n++)
			test_systems(1, n, n, varied);
		test_systems(1000, 0, MOST, varied);
	}

	const struct nb_extra none = {};
	struct nb_whfast_swarm *swarm;
	struct nb_whfast w = make(3, 1, nullptr);
	w.extra = &none;
	CHECK(nb_whfast_swarm_begin_cuda(&swarm, &w, 1) == NB_EUNSUPPORTED && !swarm);
	nb_whfast_swarm_free_cuda(swarm);
	return unit_end();
}
