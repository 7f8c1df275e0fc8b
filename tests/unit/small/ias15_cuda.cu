/* Steps of order 15 of many systems on the device: each has the bytes that it has alone on the processor, whatever its
 * size and its orbits are, and whenever somebody looks; those that fail do so alone.  Exit 77 where there is no device.
 */
#include "kernels/small/small.h"
#include "tests/unit/device.cuh"
#include "tests/unit/random.h"

#include <math.h>
#include <string.h>
#include <vector>

using std::vector;

struct systems {
	vector<size_t> first = {0};
	vector<double> mass, pos, vel;

	size_t count() const
	{
		return first.size() - 1;
	}
	void add(double m, const double x[3], const double v[3])
	{
		mass.push_back(m);
		pos.insert(pos.end(), x, x + 3);
		vel.insert(vel.end(), v, v + 3);
	}
	void end()
	{
		first.push_back(mass.size());
	}
};

/* Bodies that fall together from rest or nearly so, around a centre that moves; some have no mass. */
static void add_random(struct systems *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double x[3], v[3];
		on_sphere(1 + uniform(), x);
		on_sphere(0.5 * uniform(), v);
		x[0] += 3;
		v[1] -= 0.25;
		all->add(i % 5 == 4 ? 0 : uniform() / (double)n, x, v);
	}
	all->end();
}

/* Two bodies on a line into each other, or at one place. */
static void add_failing(struct systems *all, double apart)
{
	const double x[2][3] = {{0, 0, 0}, {apart, 0, 0}}, v[3] = {0, 0, 0};
	all->add(1, x[0], v);
	all->add(0.3, x[1], v);
	all->end();
}

struct run {
	struct nb_ias15 s;
	struct nb_ias15_time begun, ended;
	uint64_t steps;
	bool failed;
};

static void go(struct run *r, double time)
{
	const double way = r->s.next < 0 ? -1 : 1;
	while (!r->failed && (r->s.last == 0 || way * nb_ias15_ahead(r->ended, time) < 0)) {
		if (nb_ias15_step(&r->s)) {
			r->failed = true;
			return;
		}
		r->begun = r->ended;
		r->ended = nb_ias15_later(r->begun, r->s.last);
		r->failed = fabs(r->s.last) <= NB_IAS15_SHORTEST * fabs(r->s.elapsed);
		r->steps += !r->failed;
	}
}

static void test_systems(const struct systems &all, int way, double eps)
{
	const size_t systems = all.count(), bodies = all.mass.size();
	const struct nb_ias15_time begun = {0.1, 1e-18};
	const struct nb_ias15_bodies from = {systems, all.first.data(), all.mass.data(), all.pos.data(), all.vel.data(),
		1, eps, 0.175, INFINITY, way, begun};
	vector<double> x(3 * bodies), v(3 * bodies), time(systems);
	vector<struct nb_ias15_ended> ended(systems);
	vector<struct run> want(systems);
	struct nb_ias15_swarm *swarm;
	CHECK(nb_ias15_swarm_begin_cuda(&swarm, &from) == NB_OK);
	for (size_t k = 0; k < systems; k++) {
		const size_t row = all.first[k], n = all.first[k + 1] - row;
		struct run *r = &want[k];
		r->begun = r->ended = begun;
		CHECK(nb_ias15_begin(&r->s, n, &all.mass[row], 1, eps) == NB_OK);
		r->failed = nb_ias15_load(&r->s, &all.pos[3 * row], &all.vel[3 * row], 0.175, INFINITY, way) != NB_OK;
	}
	for (int call = 1; call <= 3; call++) {
		for (size_t k = 0; k < systems; k++)
			time[k] = begun.time + way * call * (1 + (double)(k % 7)) / 4;
		size_t left = 1, rounds = 0;
		for (; left > 0; rounds++)
			CHECK(nb_ias15_swarm_until_cuda(swarm, time.data(), 50, &left) == NB_OK);
		CHECK(rounds > 1 || systems == 0);
		CHECK(nb_ias15_swarm_at_cuda(swarm, time.data(), x.data(), v.data(), ended.data()) == NB_OK);
		for (size_t k = 0; k < systems; k++) {
			const size_t row = all.first[k], numbers = 3 * (all.first[k + 1] - row);
			double want_x[3 * NB_SMALL_MOST], want_v[3 * NB_SMALL_MOST];
			struct run *r = &want[k];
			go(r, time[k]);
			CHECK(ended[k].failed == r->failed);
			CHECK(ended[k].steps == r->steps && ended[k].elapsed == r->s.elapsed);
			CHECK(ended[k].next == r->s.next && ended[k].repeated == r->s.repeated);
			if (r->failed || numbers == 0)
				continue;
			CHECK(ended[k].forces == r->s.forces);
			CHECK(ended[k].ended.time == r->ended.time && ended[k].ended.rest == r->ended.rest);
			nb_ias15_at(&r->s, nb_ias15_within(r->begun, r->ended, r->s.last, time[k]), want_x, want_v);
			CHECK(memcmp(&x[3 * row], want_x, numbers * sizeof(double)) == 0);
			CHECK(memcmp(&v[3 * row], want_v, numbers * sizeof(double)) == 0);
		}
	}
	nb_ias15_swarm_free_cuda(swarm);
}

int main(void)
{
	struct systems none, mixed, close;
	struct nb_ias15_swarm *swarm;
	if (no_device())
		return 77;
	test_systems(none, 1, 0);
	for (size_t k = 0; k < 200; k++)
		add_random(&mixed, 1 + k % NB_SMALL_MOST);
	test_systems(mixed, -1, 0.05);
	for (size_t k = 0; k < 400; k++)
		if (k % 50 == 13)
			add_failing(&close, k % 100 == 13 ? 1 : 0);
		else
			add_random(&close, 2 + k % 3);
	test_systems(close, 1, 0);
	const size_t many[2] = {0, NB_SMALL_MOST + 1};
	const struct nb_ias15_bodies refused = {1, many, nullptr, nullptr, nullptr, 1, 0, 0.175, INFINITY, 1, {0, 0}};
	CHECK(nb_ias15_swarm_begin_cuda(&swarm, &refused) == NB_EUNSUPPORTED && !swarm);
	nb_ias15_swarm_free_cuda(swarm);
	return unit_end();
}
