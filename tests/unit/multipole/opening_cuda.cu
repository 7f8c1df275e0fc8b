/* The acceptance criterion of the device against what it means, in doubles: of random cells and hostile ones, without
 * size or mass, in one place, far, infinite.
 *
 *   opening_cuda host    compiled for the host: needs no device
 *   opening_cuda         on the device; exit 77 where there is none */
#include <vector>

#include "kernels/multipole/multipole.cuh"
#include "tests/unit/device.cuh"
#include "tests/unit/random.h"

using std::vector;

/* A cell, a target, and what its error may be; p: order of the cell and one. */
struct pair_ {
	float mass, size, root, radius, extent;
	int p;
	double limit;
};

struct answer {
	float reach, edge, eager;
};

static NB_HD answer ask(const pair_ &c)
{
	const float influence = nb_mac_influence(
		c.mass, c.size, 1.0f / (float)(c.p + 2), (float)c.p / (float)(c.p + 2));
	const float reach = nb_mac_reach(c.size, influence, c.root);
	return {reach, nb_mac_edge(reach, c.radius, c.extent), nb_mac_eager(c.radius)};
}

static __global__ void ask_all(size_t n, const pair_ *pair, answer *to)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i < n)
		to[i] = ask(pair[i]);
}

static pair_ any_pair(void)
{
	const int p = 2 + (int)(random_u64() % 4), hostile = (int)(random_u64() % 16);
	pair_ c = {(float)decades(1e-9, 1e3), (float)decades(1e-6, 1e3), 0, (float)decades(1e-6, 1e3), 0, p,
		decades(1e-12, 1)};
	if (hostile == 0)
		c.size = 0;
	if (hostile == 1)
		c.mass = 0;
	if (hostile == 2)
		c.radius = 0;
	if (hostile == 3)
		c.size = c.radius = 0;
	if (hostile == 4)
		c.extent = (float)decades(1e-6, 1e6);
	if (hostile == 5)
		c.limit = 0;
	if (hostile == 6)
		c.mass = INFINITY;
	if (hostile == 7)
		c.limit = INFINITY;
	if (hostile == 8)
		c.size = 1e-30f;
	c.root = (float)pow(c.limit, -1.0 / (p + 2));
	return c;
}

/* Whether a cell at that distance of a body acts on it as a whole: the criterion as opening.h says it. */
static bool accepts(const pair_ &c, double d)
{
	return d > NB_OPENING_LEAST_FAR * (double)c.size &&
	       (double)c.mass * pow((double)c.size / d, c.p) / (d * d) <= c.limit;
}

/* Beyond the reach cells are accepted, before it they are not, but for rounding; nothing is if no error is tolerated,
 * or the mass is infinite, unless the cell leaves nothing out. */
static void test_reach(const pair_ &c, const answer &a)
{
	const double round = 4e-6, far = fmin(a.reach, 1e30);
	if (isinf(a.reach)) {
		CHECK(!accepts(c, 1e30));
		return;
	}
	CHECK(a.reach >= 0 && accepts(c, far * (1 + round) + 1e-40));
	if (far > 0)
		CHECK(!accepts(c, far * (1 - round)));
}

/* What is beyond the edge of a sphere is beyond the reach of each body in it, and beyond what the sphere allows; the
 * longer any of it, the farther. */
static void test_edge(const pair_ &c, const answer &a)
{
	const float round = 1 + 1e-6f;
	CHECK(a.edge * round >= a.reach + c.radius && a.edge >= c.extent);
	CHECK(a.edge >= NB_OPENING_LEAST_LOCAL * c.radius);
	CHECK(isinf(a.edge) || a.edge <= round * (a.reach + NB_OPENING_LEAST_LOCAL * c.radius + c.extent));
	CHECK(a.eager >= 0 && a.eager <= c.radius && (c.radius == 0 || a.eager > 0));
	pair_ more = c;
	more.radius *= 2;
	more.extent *= 2;
	more.size *= 2;
	const answer b = ask(more);
	CHECK(b.edge >= a.edge && b.eager >= a.eager && b.reach >= a.reach);
}

int main(int argc, char **argv)
{
	enum { N = 200000 };
	const bool host = argc > 1 && strcmp(argv[1], "host") == 0;
	if (!host && no_device())
		return 77;
	vector<pair_> pairs;
	vector<answer> answers;
	for (int k = 0; k < N; k++) {
		pairs.push_back(any_pair());
		answers.push_back(ask(pairs.back()));
	}
	if (!host) {
		device<pair_> from(pairs);
		device<answer> to(N);
		ask_all<<<(N + 255) / 256, 256>>>(N, from.p, to.p);
		CHECK(cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
		answers = to.host();
	}
	for (int k = 0; k < N; k++) {
		test_reach(pairs[k], answers[k]);
		test_edge(pairs[k], answers[k]);
	}
	return unit_end();
}
