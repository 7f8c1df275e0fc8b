/* Bodies spread over ranks, which are threads of this process, in the memory of the device: after each of some steps
 * the bytes of one process, whose sort, tree and walk are the device's.  Exit 77 where there is no device. domain_cuda
 * [N]    for slow checkers: n at most N tests/unit/team/spread_cuda.cu includes this file with NB_UNIT_TEAM: the ranks
 * are then those of a team of devices. */
#include "kernels/backend/backend.h"
#include "kernels/domain/domain.h"
#include "kernels/motion/motion.h"
#include "kernels/ranks/ranks.h"
#include "kernels/team/team.cuh"
#include "tests/unit/tree/bodies.cuh"
#ifdef NB_UNIT_TEAM
enum { MOST = 7 };

static void begin(int size)
{
	OK(nb_ranks_begin_threads(size, nb_domain_serve));
}

static void end(void)
{
	OK(nb_ranks_begin_threads(1, nb_domain_serve));
}
#else
#include "tests/unit/tree/world.h"
#endif

static size_t n_limit = SIZE_MAX;

/* All that a run has of its bodies, on the host. */
struct state {
	vector<double> pos, vel, mass, acc, pot;
	vector<uint16_t> rest;

	explicit state(size_t n) : pos(3 * n), vel(3 * n), mass(n), acc(3 * n), pot(n), rest(n)
	{
	}
};

template <class T> static void permute(const vector<uint32_t> &perm, size_t components, vector<T> &rows)
{
	vector<T> copy(rows);
	OK(nb_permute_cpu(perm.size(), perm.data(), components * sizeof(T), copy.data(), rows.data()));
}

/* Sort, tree and walk of one process. */
static void force_of_one(struct state &s, const struct nb_domain_law &law)
{
	const size_t n = s.mass.size();
	struct nb_cube cube;
	size_t bad;
	vector<uint32_t> perm;
	{
		device<double> pos(s.pos);
		device<uint64_t> key(n);
		device<uint32_t> order(n);
		OK(nb_morton_cube_cuda(n, pos.p, law.dim, &cube, &bad));
		OK(nb_morton_keys_cuda(n, pos.p, law.dim, &cube, key.p));
		OK(nb_sort_keys_cuda(n, key.p, order.p));
		OK(nb_sort_deep_cuda(n, key.p, pos.p, law.dim, order.p));
		perm = order.host();
	}
	permute(perm, 3, s.pos);
	permute(perm, 3, s.vel);
	permute(perm, 1, s.mass);
	permute(perm, 1, s.rest);
	device<double> pos(s.pos), mass(s.mass), acc(3 * n), pot(n);
	device<uint64_t> key(n);
	struct nb_tree tree;
	struct nb_gravity g = {};
	OK(nb_morton_keys_cuda(n, pos.p, law.dim, &cube, key.p));
	OK(nb_tree_build_cuda(n, key.p, pos.p, mass.p, law.dim, &cube, law.leaf_size, law.tree_order, &tree));
	g.n = n, g.pos = pos.p, g.mass = mass.p, g.acc = acc.p, g.pot = law.potential ? pot.p : nullptr;
	g.eps = law.eps, g.G = law.G, g.precision = law.precision;
	OK(nb_gravity_tree_cuda(&g, &tree, &law.walk, nullptr));
	s.acc = acc.host();
	if (law.potential)
		s.pot = pot.host();
	nb_tree_free_cuda(&tree);
}

template <class T> static size_t differing(const vector<T> &a, const vector<T> &b)
{
	size_t n = 0;
	for (size_t i = 0; i < a.size(); i++)
		n += memcmp(&a[i], &b[i], sizeof a[i]) != 0;
	return n;
}

/* Some leapfrog steps by one process and by so many ranks.  Returns the tally of the last one. */
static struct nb_domain_tally check_steps(
	const struct bodies &b, const struct nb_domain_law &law, int size, double dt, int steps, const char *what)
{
	const size_t n = b.n;
	struct state one(n), all(n);
	struct nb_domain *domain = nullptr;
	struct nb_domain_tally tally = {};
	char text[200];
	int finite = 0;
	double largest = -1, largest_of_one;
	one.pos = b.pos, one.mass = b.mass;
	for (size_t i = 0; i < n; i++)
		one.rest[i] = (uint16_t)i;
	for (double &v : one.vel)
		v = uniform() - 0.5;
	const struct nb_domain_bodies rows = {n, one.pos.data(), one.vel.data(), one.mass.data(), nullptr, nullptr,
		(unsigned char *)one.rest.data(), sizeof one.rest[0]};
	label = text;
	begin(size);
	OK(nb_domain_begin(&domain, &law, &rows));
	for (int step = 0; step < steps; step++) {
		const struct nb_domain_bodies to = {n, all.pos.data(), all.vel.data(), all.mass.data(), all.acc.data(),
			law.potential ? all.pot.data() : nullptr, (unsigned char *)all.rest.data(), sizeof all.rest[0]};
		snprintf(text, sizeof text, "%s, %zu bodies, %d ranks, theta %g, precision %d, step %d", what, n, size,
			law.walk.theta, (int)law.precision, step);
		OK(nb_domain_force(domain, &largest, &tally));
		OK(nb_domain_gather(domain, &to));
		force_of_one(one, law);
		WANT(differing(one.pos, all.pos) == 0);
		WANT(differing(one.vel, all.vel) == 0);
		WANT(differing(one.mass, all.mass) == 0);
		WANT(differing(one.rest, all.rest) == 0);
		WANT(differing(one.acc, all.acc) == 0);
		WANT(differing(one.pot, all.pot) == 0);
		OK(nb_largest_acc_cpu(n, one.acc.data(), &largest_of_one));
		WANT(largest == largest_of_one);
		OK(nb_domain_kick_drift(domain, dt / 2, dt, &finite));
		CHECK(finite);
		OK(nb_kick_cpu(n, one.vel.data(), one.acc.data(), dt / 2));
		OK(nb_drift_cpu(n, one.pos.data(), one.vel.data(), dt));
	}
	nb_domain_end(domain);
	end();
	printf("%s: a rank has %.0f bodies and %.0f of others, %.0f nodes of %.0f, %.0f walks\n", text, tally.bodies,
		tally.asked, tally.cells, tally.all_cells, tally.rounds);
	return tally;
}

static struct nb_domain_law law_of(int dim, double theta, enum nb_precision precision)
{
	struct nb_domain_law law = {};
	law.dim = dim, law.leaf_size = 16, law.tree_order = 2;
	law.walk.theta = theta, law.eps = 0.01, law.G = 1.5;
	law.precision = precision, law.device = 1;
	return law;
}

static void same_bytes(void)
{
	static const enum nb_precision precisions[] = {NB_F32, NB_MIXED, NB_F64};
	static const int sizes[] = {2, 3, 4, MOST, 3, 2}, orders[] = {0, 0, 0, 1, 3, 4};
	for (int m = 0; m < SHAPES; m++) {
		const struct bodies b = make((enum shape)m, std::min<size_t>(20000, n_limit));
		for (int s = 0; s < 6; s++) {
			struct nb_domain_law law = law_of(b.dim, 0.3 + 0.2 * (double)(s % 3), precisions[(m + s) % 3]);
			law.potential = s % 2, law.eps = s == 1 || (s + m) % 6 == 4 ? 0 : 0.01;
			law.tree_order = m == 1 ? 1 : 2, law.leaf_size = s == 2 ? 48 : 16;
			law.walk.order = orders[s];
			check_steps(b, law, sizes[s], 0.001, 2, shape_name[m]);
		}
	}
}

/* So many that regions are walked first, and that a rank gets a part of the others' trees. */
static void many_bodies(void)
{
	static const enum shape shapes[] = {CUBE, PLUMMER};
	for (int m = 0; m < 2; m++) {
		const struct bodies b = make(shapes[m], std::min<size_t>(600000, n_limit));
		for (int size = 2; size <= 4; size += 2) {
			const struct nb_domain_tally tally = check_steps(
				b, law_of(3, 0.5, NB_F32), size, 0.001, 3, shape_name[shapes[m]]);
			if (b.n < 600000)
				continue;
			/* ranks that share a device do not tell well how long they took */
			CHECK(tally.bodies < 2 * (double)b.n / size);
			CHECK(tally.asked < 0.7 * (double)b.n);
			CHECK(tally.rounds == 1);
		}
	}
}

/* The same with moments of third and fourth order, which have regions from fewer bodies on. */
static void high_orders(void)
{
	for (int order = 3; order <= 4; order++) {
		const struct bodies b = make(order == 3 ? PLUMMER : CUBE, std::min<size_t>(300000, n_limit));
		struct nb_domain_law law = law_of(3, order == 3 ? 0.35 : 0.2, order == 3 ? NB_F32 : NB_F64);
		law.walk.order = order, law.eps = order == 3 ? 0 : 0.01, law.potential = order == 4;
		const struct nb_domain_tally tally = check_steps(b, law, 6 - order, 0.001, 2, "high order");
		CHECK(b.n < 300000 || tally.rounds == 1);
	}
}

/* Fewer bodies than ranks, as many as no cut goes through, one more; and where nothing is taken as a whole. */
static void few_bodies(void)
{
	for (const size_t n : {0, 1, 3, 1024, 1025, 3000})
		check_steps(make(CUBE, n), law_of(3, 0.5, NB_F32), 4, 0.01, 2, "few bodies");
	const struct nb_domain_tally tally = check_steps(
		make(PLUMMER, 5000), law_of(3, 0, NB_F32), 3, 0.001, 2, "theta 0");
	CHECK(tally.cells >= tally.all_cells);
}

/* Numbers that no walk can use are told to rank 0. */
static void bad_bodies(void)
{
	const struct bodies b = make(CUBE, 5000);
	struct nb_domain *domain = nullptr;
	double largest;
	int finite;
	vector<double> vel(3 * b.n);
	vel[3 * 2900] = INFINITY;
	const struct nb_domain_law law = law_of(3, 0.5, NB_F32);
	const struct nb_domain_bodies rows = {
		b.n, (double *)b.pos.data(), vel.data(), (double *)b.mass.data(), nullptr, nullptr, nullptr, 0};
	begin(3);
	OK(nb_domain_begin(&domain, &law, &rows));
	OK(nb_domain_force(domain, &largest, nullptr));
	OK(nb_domain_kick_drift(domain, 0, 1, &finite));
	CHECK(!finite);
	CHECK(nb_domain_force(domain, &largest, nullptr) == NB_ENONFINITE);
	nb_domain_end(domain);
	end();
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	n_limit = argc > 1 ? strtoull(argv[1], nullptr, 10) : SIZE_MAX;
	nb_backend_offer();
#ifdef NB_UNIT_TEAM
	int count, id[MOST];
	char why[200];
	CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
	for (int k = 0; k < MOST; k++)
		id[k] = k % count;
	OK(nb_team_open(MOST, id, why, sizeof why));
	nb_team_let_direct(false); /* as where devices do not reach each other's memory */
	few_bodies();
	same_bytes();
	nb_team_let_direct(true);
#endif
	few_bodies();
	same_bytes();
	bad_bodies();
	many_bodies();
	high_orders();
	return unit_end();
}
