/* Keys, sort, tree and walk on the device against the CPU's keys, sort and tree and against direct sums in
 * f64.  Exit 77 where there is no device.
 *   tree_cuda [N [SHAPE]]    for slow checkers: n at most N, and bodies of one shape only */
#include "tests/unit/tree/bodies.cuh"
#include "tests/unit/tree/sound.h"

static size_t n_limit = SIZE_MAX;

/* ---- keys, sort, permutation -------------------------------------------------------------------------------- */

/* Sorts b on the host and checks that the device does the same; cube and keys of the sorted bodies. */
static void sort_both(struct bodies &b, struct nb_cube &cube, vector<uint64_t> &key)
{
	const size_t n = b.n;
	struct nb_cube cube_device;
	size_t bad = 0;
	device<double> pos(b.pos);
	OK(nb_morton_cube_cpu(n, b.pos.data(), b.dim, &cube, &bad));
	OK(nb_morton_cube_cuda(n, pos.p, b.dim, &cube_device, &bad));
	WANT(memcmp(&cube, &cube_device, sizeof cube) == 0);

	device<uint64_t> d_key(n);
	device<uint32_t> d_perm(n);
	vector<uint32_t> perm(n);
	key.resize(n);
	OK(nb_morton_keys_cpu(n, b.pos.data(), b.dim, &cube, key.data()));
	OK(nb_morton_keys_cuda(n, pos.p, b.dim, &cube, d_key.p));
	WANT(d_key.host() == key);
	OK(nb_sort_keys_cpu(n, key.data(), perm.data()));
	OK(nb_sort_keys_cuda(n, d_key.p, d_perm.p));
	WANT(d_key.host() == key);
	WANT(d_perm.host() == perm);
	OK(nb_sort_deep_cpu(n, key.data(), b.pos.data(), b.dim, perm.data()));
	OK(nb_sort_deep_cuda(n, d_key.p, pos.p, b.dim, d_perm.p));
	WANT(d_perm.host() == perm);

	for (size_t rowsize : {1, 2, 4, 8, 12, 16, 20, 24, 48}) {
		vector<char> from(n * rowsize), to(n * rowsize);
		for (char &c : from)
			c = (char)(uniform() * 256);
		device<char> d_from(from), d_to(n * rowsize);
		OK(nb_permute_cpu(n, perm.data(), rowsize, from.data(), to.data()));
		OK(nb_permute_cuda(n, d_perm.p, rowsize, d_from.p, d_to.p));
		WANT(d_to.host() == to);
		OK(nb_scatter_cpu(n, perm.data(), rowsize, from.data(), to.data()));
		OK(nb_scatter_cuda(n, d_perm.p, rowsize, d_from.p, d_to.p));
		WANT(d_to.host() == to);
	}
	vector<double> moved(3 * n);
	OK(nb_permute_cpu(n, perm.data(), 24, b.pos.data(), moved.data()));
	b.pos = moved;
	moved.resize(n);
	OK(nb_permute_cpu(n, perm.data(), 8, b.mass.data(), moved.data()));
	b.mass = moved;
}

/* ---- the tree ------------------------------------------------------------------------------------------------- */

/* A host copy whose arrays belong to the vectors. */
struct host_tree {
	struct nb_tree t;
	vector<uint32_t> first, count, child, nchild;
	vector<double> box, com, mass, quad;

	explicit host_tree(const struct nb_tree &d) : t(d)
	{
		const size_t n = d.nnode;
		first = from_device(d.first, n), count = from_device(d.count, n);
		child = from_device(d.child, n), nchild = from_device(d.nchild, n);
		box = from_device(d.box, 6 * n), com = from_device(d.com, 3 * n), mass = from_device(d.mass, n);
		t.first = first.data(), t.count = count.data(), t.child = child.data(), t.nchild = nchild.data();
		t.box = box.data(), t.com = com.data(), t.mass = mass.data();
		if (d.quad) {
			quad = from_device(d.quad, 6 * n);
			t.quad = quad.data();
		}
	}
};

static vector<size_t> by_bodies(const struct nb_tree &t)
{
	vector<size_t> order(t.nnode);
	std::iota(order.begin(), order.end(), (size_t)0);
	std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
		return t.first[a] != t.first[b] ? t.first[a] < t.first[b] : t.count[a] > t.count[b];
	});
	return order;
}

static void check_tree(const struct bodies &b, const struct nb_tree &got, const struct nb_tree &want)
{
	const size_t n = b.n;
	const char *why = tree_fault(&got, n, b.pos.data(), b.mass.data());
	if (why)
		fprintf(stderr, "%s: %s\n", label, why);
	WANT(!why);
	WANT(got.nnode == want.nnode);
	if (got.nnode != want.nnode)
		return;
	const vector<size_t> g = by_bodies(got), w = by_bodies(want);
	size_t shape = 0, box = 0, com = 0, mass = 0, quad = 0;
	for (size_t i = 0; i < g.size(); i++) {
		const size_t a = g[i], o = w[i];
		shape += got.first[a] != want.first[o] || got.count[a] != want.count[o] ||
			 got.nchild[a] != want.nchild[o];
		double size = 0;
		for (int k = 0; k < 6; k++)
			box += got.box[6 * a + k] != want.box[6 * o + k];
		for (int k = 0; k < 3; k++)
			size = fmax(size, want.box[6 * o + 3 + k] - want.box[6 * o + k]);
		for (int k = 0; k < 3; k++)
			com += !(fabs(got.com[3 * a + k] - want.com[3 * o + k]) <=
				 1e-13 * size + 4e-16 * fabs(want.com[3 * o + k]));
		mass += !(fabs(got.mass[a] - want.mass[o]) <= 1e-13 * want.mass[o]);
		for (int k = 0; k < 6 && want.quad; k++)
			quad += !(fabs(got.quad[6 * a + k] - want.quad[6 * o + k]) <=
				  1e-12 * want.mass[o] * size * size + 4e-15 * want.mass[o] * size);
	}
	WANT(shape == 0);
	WANT(box == 0);
	WANT(com == 0);
	WANT(mass == 0);
	WANT(quad == 0);
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */

struct result {
	vector<double> acc, pot;
	struct nb_gravity_count count;
};

struct setting {
	double theta, eps, G;
	enum nb_precision precision;
	bool pot, count;
	enum nb_mac mac;
	double alpha;
	const double *acc_old;
};

static int regions; /* of walks: nb_tree_walk */

static struct result walk(const struct bodies &b, const struct nb_tree &tree, const struct setting &s)
{
	const size_t n = b.n;
	device<double> pos(b.pos), mass(b.mass), acc(3 * n), pot(n);
	struct nb_gravity g = {};
	g.n = n, g.pos = pos.p, g.mass = mass.p, g.acc = acc.p, g.pot = s.pot ? pot.p : nullptr;
	g.eps = s.eps, g.G = s.G, g.precision = s.precision;
	struct nb_tree_walk w = {};
	w.theta = s.theta, w.mac = s.mac, w.alpha = s.alpha, w.acc_old = s.acc_old, w.regions = regions;
	struct result r;
	memset(&r.count, 0, sizeof r.count);
	OK(nb_gravity_tree_cuda(&g, &tree, &w, s.count ? &r.count : nullptr));
	r.acc = acc.host();
	if (s.pot)
		r.pot = pot.host();
	return r;
}

/* rms(|da|) / rms(|a|) and the 99th percentile of |da| / |a| over the targets */
struct error {
	double rms, p99, pot;
};

static struct error compare(
	const struct result &r, const vector<size_t> &target, const vector<double> &acc, const vector<double> &pot)
{
	double d2 = 0, a2 = 0, dp2 = 0, p2 = 0;
	vector<double> each;
	bool finite = true;
	for (size_t t = 0; t < target.size(); t++) {
		double d = 0, a = 0;
		for (int k = 0; k < 3; k++) {
			const double want = acc[3 * t + k], got = r.acc[3 * target[t] + k];
			finite &= isfinite(got);
			d += (got - want) * (got - want);
			a += want * want;
		}
		d2 += d, a2 += a;
		each.push_back(a > 0 ? sqrt(d / a) : d > 0 ? INFINITY : 0);
		if (!r.pot.empty()) {
			finite &= isfinite(r.pot[target[t]]);
			dp2 += pow(r.pot[target[t]] - pot[t], 2), p2 += pot[t] * pot[t];
		}
	}
	std::sort(each.begin(), each.end());
	struct error e;
	e.rms = a2 > 0 ? sqrt(d2 / a2) : sqrt(d2);
	e.p99 = each.empty() ? 0 : each[each.size() * 99 / 100];
	e.pot = p2 > 0 ? sqrt(dp2 / p2) : sqrt(dp2);
	if (!finite)
		e.rms = e.p99 = e.pot = NAN;
	return e;
}

static bool same(const vector<double> &a, const vector<double> &b)
{
	return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

/* Whether a group may hold bodies that are far closer to each other than f32 of the group's extent. */
static bool has_tight_cells(enum shape shape)
{
	return shape == CLUMPS || shape == NESTED || shape == DEEP_PLANE;
}

static void check_walk(const struct bodies &b, const struct nb_tree &tree, enum shape shape)
{
	const size_t n = b.n, ntarget = std::min<size_t>(n, 300);
	vector<size_t> target(ntarget);
	for (size_t t = 0; t < ntarget; t++)
		target[t] = t * n / ntarget;
	const double eps = shape == CUBE || shape == CLUMPS ? 0 : 0.01;
	struct nb_gravity g = {};
	g.n = n, g.pos = b.pos.data(), g.mass = b.mass.data(), g.eps = eps, g.G = 1;
	vector<double> acc(3 * ntarget), pot(ntarget);
	OK(nb_gravity_ref(&g, target.data(), ntarget, acc.data(), pot.data(), nullptr));

	/* Theta 0 is the direct sum, of n terms of an f32 sum; in f32 a clump is not resolved.
	 * Bodies in one place may be counted as one. */
	const struct {
		enum nb_precision precision;
		double bound;
	} kinds[] = {{NB_F32, shape == CLUMPS || shape == PAIRS ? INFINITY : 2e-5}, {NB_MIXED, 2e-5}, {NB_F64, 1e-12}};
	/* the pulls of the two cores cancel in places */
	const double wide = shape == DEEP_PLANE ? 1e-2 : 5e-3;
	const bool points = shape == CLUMPS || shape == POINT || shape == PAIRS;
	for (const auto &kind : kinds) {
		struct setting s = {0, eps, 1, kind.precision, true, true, NB_MAC_GEOMETRIC, 0, nullptr};
		struct result r = walk(b, tree, s);
		struct error e = compare(r, target, acc, pot);
		if (!(e.rms <= kind.bound && e.pot <= kind.bound) && isfinite(kind.bound))
			fprintf(stderr, "%s precision %d theta 0: rms %g pot %g\n", label, kind.precision, e.rms,
				e.pot);
		WANT(!(e.rms > kind.bound) && !isnan(e.rms));
		WANT(!(e.pot > kind.bound) && !isnan(e.pot));
		WANT(points ? r.count.p2p <= (uint64_t)n * n : r.count.p2p == (uint64_t)n * n);
		WANT(r.count.m2p == 0 && r.count.m2l == 0);
		WANT(r.count.groups >= (n + 63) / 64 && r.count.groups <= n);

		/* the potential changes nothing else, nor does counting; every run gives the same bytes */
		s.theta = 0.5;
		r = walk(b, tree, s);
		e = compare(r, target, acc, pot);
		if (!(e.rms < wide && e.pot < 2e-3))
			fprintf(stderr, "%s precision %d theta 0.5: rms %g p99 %g pot %g\n", label, kind.precision,
				e.rms, e.p99, e.pot);
		WANT(e.rms < wide || (has_tight_cells(shape) && kind.precision == NB_F32));
		WANT(e.pot < 2e-3 || (shape == CLUMPS && kind.precision == NB_F32));
		const struct result again = walk(b, tree, s);
		WANT(same(r.acc, again.acc) && same(r.pot, again.pot));
		s.count = false;
		const struct result uncounted = walk(b, tree, s);
		WANT(same(r.acc, uncounted.acc) && same(r.pot, uncounted.pot));
		s.pot = false;
		const struct result bare = walk(b, tree, s);
		s.count = true;
		const struct result counted = walk(b, tree, s);
		WANT(same(bare.acc, counted.acc));
		const struct error e_bare = compare(bare, target, acc, pot);
		WANT(e_bare.rms < wide || (has_tight_cells(shape) && kind.precision == NB_F32));
	}
}

/* ---- one case: n bodies of a shape, in a tree ----------------------------------------------------------------------
 */

static void check_case(enum shape shape, size_t n, int leaf_size, int order)
{
	if (n > n_limit)
		return;
	char text[100];
	snprintf(text, sizeof text, "%s n %zu leaf %d order %d", shape_name[shape], n, leaf_size, order);
	label = text;
	struct bodies b = make(shape, n);
	struct nb_cube cube;
	vector<uint64_t> key;
	sort_both(b, cube, key);
	struct nb_tree want, tree;
	OK(nb_tree_build_cpu(n, key.data(), b.pos.data(), b.mass.data(), b.dim, &cube, leaf_size, order, &want));
	device<uint64_t> d_key(key);
	device<double> pos(b.pos), mass(b.mass);
	OK(nb_tree_build_cuda(n, d_key.p, pos.p, mass.p, b.dim, &cube, leaf_size, order, &tree));
	if (n == 0) {
		WANT(tree.nnode == 0);
	} else {
		struct host_tree got(tree);
		check_tree(b, got.t, want);
		struct nb_tree tree2;
		OK(nb_tree_build_cuda(n, d_key.p, pos.p, mass.p, b.dim, &cube, leaf_size, order, &tree2));
		struct host_tree again(tree2);
		WANT(same(got.com, again.com) && same(got.quad, again.quad) && got.first == again.first &&
			got.child == again.child);
		nb_tree_free_cuda(&tree2);
		struct nb_tree bare; /* of order 0: the shape alone */
		OK(nb_tree_build_cuda(n, d_key.p, pos.p, nullptr, b.dim, &cube, leaf_size, 0, &bare));
		WANT(bare.nnode == tree.nnode && !bare.box && !bare.com && !bare.mass && !bare.quad);
		WANT(got.first == from_device(bare.first, bare.nnode) &&
			got.count == from_device(bare.count, bare.nnode) &&
			got.child == from_device(bare.child, bare.nnode) &&
			got.nchild == from_device(bare.nchild, bare.nnode));
		nb_tree_free_cuda(&bare);
	}
	if (order == 2)
		check_walk(b, tree, shape);
	nb_tree_free_cuda(&tree);
	nb_tree_free(&want);
	WANT(tree.nnode == 0 && tree.first == nullptr);
}

/* ---- properties of the walk ----------------------------------------------------------------------------------------
 */

/* A Plummer sphere, sorted, with its tree and the truth for some bodies. */
struct sphere {
	struct bodies b;
	struct nb_tree tree;
	vector<size_t> target;
	vector<double> acc, pot;

	explicit sphere(size_t n, double length = 1, double mass_unit = 1, double G = 1, double eps = 0)
	    : b(make(PLUMMER, n))
	{
		for (double &x : b.pos)
			x *= length;
		for (double &m : b.mass)
			m *= mass_unit;
		struct nb_cube cube;
		vector<uint64_t> key;
		sort_both(b, cube, key);
		device<uint64_t> d_key(key);
		device<double> d_pos(b.pos), d_mass(b.mass);
		OK(nb_tree_build_cuda(n, d_key.p, d_pos.p, d_mass.p, 3, &cube, 16, 2, &tree));
		for (size_t i = 0; i < n; i += n / 400 + 1)
			target.push_back(i);
		acc.resize(3 * target.size());
		pot.resize(target.size());
		struct nb_gravity g = {};
		g.n = n, g.pos = b.pos.data(), g.mass = b.mass.data(), g.eps = eps, g.G = G;
		OK(nb_gravity_ref(&g, target.data(), target.size(), acc.data(), pot.data(), nullptr));
	}
	~sphere()
	{
		nb_tree_free_cuda(&tree);
	}
};

static void check_accuracy()
{
	label = "accuracy";
	const size_t n = std::min<size_t>(n_limit, 100000);
	sphere s(n);
	double last = INFINITY;
	for (double theta : {0.9, 0.7, 0.5, 0.35, 0.2}) {
		struct setting set = {theta, 0, 1, NB_F32, true, true, NB_MAC_GEOMETRIC, 0, nullptr};
		const struct result r = walk(s.b, s.tree, set);
		const struct error e = compare(r, s.target, s.acc, s.pot);
		printf("theta %.2f: rms %.2e p99 %.2e pot %.2e; a body %.0f p2p %.0f m2p, a group %.0f m2l\n", theta,
			e.rms, e.p99, e.pot, (double)r.count.p2p / (double)n, (double)r.count.m2p / (double)n,
			(double)r.count.m2l / (double)r.count.groups);
		WANT(e.rms < 0.5 * last); /* the third power of theta, and some */
		WANT(e.p99 < 1.2e-2 * theta * theta * theta);
		WANT(e.pot < 5e-3 * theta * theta * theta);
		last = e.rms;
	}
	WANT(last < 2e-5);

	/* the criterion by acceleration: the error falls with alpha, and cost for cost it beats the geometric one at
	 * p99 */
	vector<double> truth(3 * n);
	device<double> acc_old(walk(s.b, s.tree, {0.5, 0, 1, NB_F32, false, false, NB_MAC_GEOMETRIC, 0, nullptr}).acc);
	last = INFINITY;
	for (double alpha : {2e-2, 4e-3, 8e-4}) {
		struct setting set = {0, 0, 1, NB_F32, false, true, NB_MAC_ACCELERATION, alpha, acc_old.p};
		const struct result r = walk(s.b, s.tree, set);
		const struct error e = compare(r, s.target, s.acc, s.pot);
		printf("alpha %.0e: rms %.2e p99 %.2e; a body %.0f p2p %.0f m2p, a group %.0f m2l\n", alpha, e.rms,
			e.p99, (double)r.count.p2p / (double)n, (double)r.count.m2p / (double)n,
			(double)r.count.m2l / (double)r.count.groups);
		WANT(e.rms < 0.6 * last);
		WANT(e.p99 < 0.5 * alpha);
		last = e.rms;
	}
	/* no acceleration known: everything is opened */
	vector<double> zero(3 * n, 0.0);
	device<double> none(zero);
	if (n <= 20000) {
		const struct result r = walk(
			s.b, s.tree, {0, 0, 1, NB_F32, false, true, NB_MAC_ACCELERATION, 1e-3, none.p});
		WANT(r.count.p2p == (uint64_t)n * n);
	}
}

/* The CPU walks the device's tree: both are as near to the truth as theta promises, so to each other. */
static void check_backends()
{
	label = "backends";
	const size_t n = std::min<size_t>(n_limit, 30000);
	sphere s(n);
	struct host_tree tree(s.tree);
	for (double theta : {0.3, 0.6})
		for (enum nb_precision precision : {NB_F32, NB_MIXED, NB_F64}) {
			struct result r;
			r.acc.resize(3 * n), r.pot.resize(n);
			struct nb_gravity g = {};
			g.n = n, g.pos = s.b.pos.data(), g.mass = s.b.mass.data(), g.acc = r.acc.data(),
			g.pot = r.pot.data();
			g.G = 1, g.precision = precision;
			struct nb_tree_walk w = {};
			w.theta = theta;
			OK(nb_gravity_tree_cpu(&g, &tree.t, &w, nullptr));
			vector<size_t> all(n);
			std::iota(all.begin(), all.end(), (size_t)0);
			const struct result d = walk(
				s.b, s.tree, {theta, 0, 1, precision, true, false, NB_MAC_GEOMETRIC, 0, nullptr});
			const struct error e = compare(d, all, r.acc, r.pot);
			printf("theta %.1f precision %d, device against CPU: rms %.2e p99 %.2e pot %.2e\n", theta,
				precision, e.rms, e.p99, e.pot);
			WANT(e.rms < 8e-3 * theta * theta * theta && e.p99 < 2e-2 * theta * theta * theta);
			WANT(e.pot < 2e-3 * theta * theta * theta);
		}
}

/* The worst case for the walk's stack: of each level's 256 nodes the last 32 have 8 children each.  NB_TREE_LEVELS must
 * work; more, which the check refuses, give NaN. */
static void check_deep_tree(size_t levels, bool fits)
{
	label = fits ? "deep tree" : "too deep a tree";
	vector<size_t> begin = {0}, size = {1}, parents;
	for (size_t l = 0; l + 1 < levels; l++) {
		parents.push_back(std::min<size_t>(size[l], 32));
		begin.push_back(begin[l] + size[l]);
		size.push_back(8 * parents[l]);
	}
	const size_t nnode = begin.back() + size.back();
	vector<uint32_t> first(nnode, 0), count(nnode, 1), child(nnode, 0), nchild(nnode, 0);
	for (size_t l = levels - 1; l-- > 0;)
		for (size_t k = 0; k < parents[l]; k++) {
			const size_t j = begin[l] + size[l] - parents[l] + k;
			child[j] = (uint32_t)(begin[l + 1] + 8 * k), nchild[j] = 8, count[j] = 0;
			for (size_t c = child[j]; c < child[j] + 8; c++)
				count[j] += count[c];
		}
	for (size_t j = 0; j < nnode; j++)
		for (uint32_t c = child[j], at = first[j]; c < child[j] + nchild[j]; at += count[c++])
			first[c] = at;
	const size_t n = count[0];
	struct bodies b = make(CUBE, n);
	vector<double> box, com, mass;
	for (size_t j = 0; j < nnode; j++) {
		box.insert(box.end(), {0, 0, 0, 1, 1, 1});
		com.insert(com.end(), {0.5, 0.5, 0.5});
		mass.push_back((double)count[j] / (double)n);
	}
	device<uint32_t> d_first(first), d_count(count), d_child(child), d_nchild(nchild);
	device<double> d_box(box), d_com(com), d_mass(mass);
	struct nb_tree tree = {};
	tree.nnode = nnode, tree.dim = 3, tree.leaf_size = 1, tree.order = 1;
	tree.first = d_first.p, tree.count = d_count.p, tree.child = d_child.p, tree.nchild = d_nchild.p;
	tree.box = d_box.p, tree.com = d_com.p, tree.mass = d_mass.p;
	struct nb_tree on_host = tree;
	on_host.first = first.data(), on_host.count = count.data(), on_host.child = child.data();
	on_host.nchild = nchild.data();
	on_host.box = box.data(), on_host.com = com.data(), on_host.mass = mass.data();
	const char *why = tree_fault(&on_host, n, b.pos.data(), b.mass.data());
	WANT(why && strstr(why, fits ? "box" : "levels")); /* else sound */
	const struct result r = walk(b, tree, {0, 0, 1, NB_F32, false, true, NB_MAC_GEOMETRIC, 0, nullptr});
	size_t bad = 0;
	for (double a : r.acc)
		bad += !isfinite(a);
	WANT(fits ? bad == 0 && r.count.p2p == (uint64_t)n * n : bad == 3 * n);
}

/* Keys of which runs of `run` have the same leading bits, then some of equal keys, in an order that is mixed: as the
 * sort on the CPU; more than once, since a sort that met long runs goes another way the next times. */
static void check_sort(size_t n, size_t run)
{
	char text[60];
	snprintf(text, sizeof text, "sort of %zu keys, runs of %zu", n, run);
	label = text;
	vector<uint64_t> key(n);
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t mixed = (i * 0x9e3779b97f4a7c15u) >> 20, lead = i * 2654435761u % n / run;
		key[i] = lead * (UINT64_MAX / n) & ~(uint64_t)0xffffff;
		key[i] |= i % 5 == 0 ? 7 : mixed & 0xffff; /* a fifth of them are equal in a run */
	}
	vector<uint64_t> want = key;
	vector<uint32_t> want_perm(n);
	OK(nb_sort_keys_cpu(n, want.data(), want_perm.data()));
	for (int turn = 0; turn < 3; turn++) {
		device<uint64_t> d_key(key);
		device<uint32_t> d_perm(n);
		OK(nb_sort_keys_cuda(n, d_key.p, d_perm.p));
		WANT(d_key.host() == want);
		WANT(d_perm.host() == want_perm);
	}
}

/* Millions of bodies in one place, one elsewhere: no loop over pairs, and the two places attract each other. */
static void check_tie()
{
	label = "tie";
	const size_t n = 3000001;
	vector<double> x(3 * n, 0.125), m(n, 1.0 / (double)(n - 1));
	x[3 * 1000] = 2.125;
	device<double> pos(x), mass(m), sorted(3 * n), acc(3 * n), pot(n);
	device<uint64_t> key(n);
	device<uint32_t> perm(n);
	struct nb_cube cube;
	struct nb_tree tree;
	size_t bad;
	OK(nb_morton_cube_cuda(n, pos.p, 3, &cube, &bad));
	OK(nb_morton_keys_cuda(n, pos.p, 3, &cube, key.p));
	OK(nb_sort_keys_cuda(n, key.p, perm.p));
	OK(nb_permute_cuda(n, perm.p, 24, pos.p, sorted.p));
	OK(nb_tree_build_cuda(n, key.p, sorted.p, mass.p, 3, &cube, 16, 2, &tree));
	WANT(tree.nnode == 3);
	struct nb_gravity g = {};
	g.n = n, g.pos = sorted.p, g.mass = mass.p, g.acc = acc.p, g.G = 1;
	struct nb_tree_walk w = {};
	w.theta = 0.5, w.regions = regions;
	for (int with_pot = 0; with_pot < 2; with_pot++) {
		g.pot = with_pot ? pot.p : nullptr;
		struct nb_gravity_count count = {};
		OK(nb_gravity_tree_cuda(&g, &tree, &w, &count));
		WANT(count.p2p + count.m2p <= 4 * n);
		const vector<double> a = acc.host();
		size_t wrong = 0;
		for (size_t i = 0; i + 1 < n; i++)
			wrong += !(
				fabs(a[3 * i] - 0.25 * m[0]) <= 1e-6 * m[0] && a[3 * i + 1] == 0 && a[3 * i + 2] == 0);
		WANT(wrong == 0);
		WANT(fabs(a[3 * n - 3] + 0.25) < 1e-6);
	}
	WANT(fabs(pot.host()[n - 1] + 0.5) < 1e-6);
	nb_tree_free_cuda(&tree);
}

/* Softening of the size of the cells: the multipoles must feel it. */
static void check_softening()
{
	for (double eps : {1e-3, 3e-2, 0.3, 10.0}) {
		char text[40];
		snprintf(text, sizeof text, "softening %g", eps);
		label = text;
		sphere s(std::min<size_t>(n_limit, 20000), 1, 1, 1, eps);
		const struct error e = compare(
			walk(s.b, s.tree, {0.4, eps, 1, NB_F32, true, false, NB_MAC_GEOMETRIC, 0, nullptr}), s.target,
			s.acc, s.pot);
		if (!(e.rms < 4e-4 && e.p99 < 2e-3 && e.pot < 2e-4))
			fprintf(stderr, "%s: rms %g p99 %g pot %g\n", label, e.rms, e.p99, e.pot);
		WANT(e.rms < 4e-4 && e.p99 < 2e-3 && e.pot < 2e-4);
	}
}

/* Units whose squares and cubes leave the range of f32. */
static void check_units()
{
	const double units[][3] = {{1e12, 1e41, 6.67e-11}, {1e-30, 1e-20, 1e5}, {1e100, 1e-100, 1}, {1, 1e30, 1}};
	for (const auto &u : units)
		for (double theta : {0.0, 0.6}) {
			char text[80];
			snprintf(text, sizeof text, "units %g %g %g theta %g", u[0], u[1], u[2], theta);
			label = text;
			sphere s(std::min<size_t>(n_limit, 3000), u[0], u[1], u[2]);
			const struct error e = compare(
				walk(s.b, s.tree, {theta, 0, u[2], NB_F32, true, false, NB_MAC_GEOMETRIC, 0, nullptr}),
				s.target, s.acc, s.pot);
			const double bound = theta > 0 ? 3e-3 : 3e-6;
			if (!(e.rms < bound && e.pot < bound))
				fprintf(stderr, "%s: rms %g pot %g\n", label, e.rms, e.pot);
			WANT(e.rms < bound && e.pot < bound);
		}
}

/* A light body between and a cluster far away; a massless cluster. */
static void check_lopsided()
{
	label = "two bodies and a far cluster";
	struct bodies b = make(CUBE, 2002);
	for (size_t i = 2; i < b.n; i++) {
		for (int k = 0; k < 3; k++)
			b.pos[3 * i + k] = 1e4 + b.pos[3 * i + k];
		b.mass[i] = i % 2 ? 0 : 1;
	}
	const double two[] = {0, 0, 0, 1e-3, 0, 0};
	std::copy(two, two + 6, b.pos.begin());
	b.mass[0] = 1, b.mass[1] = 1e-6;
	struct nb_cube cube;
	vector<uint64_t> key;
	sort_both(b, cube, key);
	device<uint64_t> d_key(key);
	device<double> pos(b.pos), mass(b.mass);
	struct nb_tree tree;
	OK(nb_tree_build_cuda(b.n, d_key.p, pos.p, mass.p, 3, &cube, 8, 2, &tree));
	vector<size_t> target(b.n);
	std::iota(target.begin(), target.end(), (size_t)0);
	vector<double> acc(3 * b.n), pot(b.n);
	struct nb_gravity g = {};
	g.n = b.n, g.pos = b.pos.data(), g.mass = b.mass.data(), g.G = 1;
	OK(nb_gravity_ref(&g, nullptr, 0, acc.data(), pot.data(), nullptr));
	for (enum nb_precision precision : {NB_F32, NB_MIXED, NB_F64}) {
		const struct result r = walk(
			b, tree, {0.5, 0, 1, precision, true, false, NB_MAC_GEOMETRIC, 0, nullptr});
		const struct error e = compare(r, target, acc, pot);
		if (!(e.p99 < 5e-3))
			fprintf(stderr, "%s, precision %d: p99 %g\n", label, precision, e.p99);
		WANT(e.p99 < 5e-3);
		for (size_t t : {0, 1}) {
			double d = 0, a = 0;
			for (int k = 0; k < 3; k++)
				d += pow(r.acc[3 * t + k] - acc[3 * t + k], 2), a += pow(acc[3 * t + k], 2);
			WANT(sqrt(d / a) < 1e-5);
		}
	}
	nb_tree_free_cuda(&tree);
}

static void check_errors()
{
	label = "errors";
	struct bodies b = make(CUBE, 1000);
	struct nb_cube cube;
	struct nb_tree tree;
	size_t bad = 0;
	for (double x : {(double)NAN, (double)INFINITY, -(double)INFINITY}) {
		struct bodies c = b;
		c.pos[3 * 700 + 1] = x;
		c.pos[3 * 901] = x;
		device<double> pos(c.pos);
		WANT(nb_morton_cube_cuda(1000, pos.p, 3, &cube, &bad) == NB_ENONFINITE);
		WANT(bad == 700);
	}
	vector<uint64_t> key;
	sort_both(b, cube, key);
	device<uint64_t> d_key(key);
	device<double> pos(b.pos);
	for (double m : {(double)NAN, (double)INFINITY, -1.0}) {
		vector<double> mass = b.mass;
		mass[500] = m;
		device<double> d_mass(mass);
		WANT(nb_tree_build_cuda(1000, d_key.p, pos.p, d_mass.p, 3, &cube, 16, 2, &tree) ==
			(m < 0 ? NB_EINVAL : NB_ENONFINITE));
		WANT(tree.nnode == 0 && tree.com == nullptr);
	}
	device<double> mass(b.mass), acc(3000);
	WANT(nb_tree_build_cuda(1000, d_key.p, pos.p, mass.p, 4, &cube, 16, 2, &tree) == NB_EINVAL);
	WANT(nb_tree_build_cuda(1000, d_key.p, pos.p, mass.p, 3, &cube, 0, 2, &tree) == NB_EINVAL);
	WANT(nb_tree_build_cuda(1000, d_key.p, pos.p, mass.p, 3, &cube, 16, 3, &tree) == NB_EINVAL);
	WANT(nb_tree_build_cuda((size_t)1 << 31, d_key.p, pos.p, mass.p, 3, &cube, 16, 2, &tree) == NB_ELIMIT);
	/* a tie, but not in order */
	const vector<uint64_t> one_key(1000, 5);
	device<uint64_t> d_one_key(one_key);
	WANT(nb_tree_build_cuda(1000, d_one_key.p, pos.p, mass.p, 3, &cube, 16, 2, &tree) == NB_EORDER);
	WANT(tree.nnode == 0 && tree.first == nullptr);
	OK(nb_tree_build_cuda(1000, d_key.p, pos.p, mass.p, 3, &cube, 16, 2, &tree));
	struct nb_gravity g = {};
	g.n = 1000, g.pos = pos.p, g.mass = mass.p, g.acc = acc.p, g.G = 1;
	struct nb_tree_walk w = {};
	w.theta = -1;
	WANT(nb_gravity_tree_cuda(&g, &tree, &w, nullptr) == NB_EINVAL);
	w.theta = NAN;
	WANT(nb_gravity_tree_cuda(&g, &tree, &w, nullptr) == NB_EINVAL);
	w.theta = 0.5, w.mac = NB_MAC_ACCELERATION, w.alpha = 1e-3;
	WANT(nb_gravity_tree_cuda(&g, &tree, &w, nullptr) == NB_EINVAL);
	w.mac = NB_MAC_GEOMETRIC;
	g.jerk = acc.p;
	WANT(nb_gravity_tree_cuda(&g, &tree, &w, nullptr) == NB_EINVAL); /* without velocities */
	nb_tree_free_cuda(&tree);
	nb_tree_free_cuda(&tree);
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	if (argc > 1)
		n_limit = strtoul(argv[1], nullptr, 10);
	for (int shape = 0; shape < SHAPES; shape++)
		for (size_t n : {0, 1, 2, 3, 63, 64, 65, 257, 1000, 9999})
			for (int leaf_size : {1, 16, 100})
				if (argc < 3 || strcmp(argv[2], shape_name[shape]) == 0)
					check_case((enum shape)shape, n, leaf_size, 2);
	if (argc > 2)
		return unit_end();
	for (size_t n : {1000, 65535, 65536, 70001, 1 << 18}) /* short runs, then long ones, then short ones again */
		for (size_t run : {1, 2, 33, 64, 65, 1000, 1 << 30, 3, 3, 3, 3, 3, 3})
			if (n <= n_limit)
				check_sort(n, run);
	check_errors();
	for (regions = 0; regions < 2; regions++) {
		for (int shape = 0; shape < SHAPES && regions; shape++)
			check_case((enum shape)shape, 9999, 16, 2);
		check_case(PLUMMER, 100000, 16, 2);
		check_case(CLUMPS, 100000, 7, 2);
		check_case(POINT, 100000, 16, 2);
		check_case(CUBE, 5000, 8, 1);
		check_units();
		check_softening();
		check_lopsided();
		if (n_limit > 100000) {
			check_accuracy();
			check_backends();
			check_tie();
			check_deep_tree(40, true);
			check_deep_tree(NB_TREE_LEVELS, true);
			check_deep_tree(NB_TREE_LEVELS + 400, false);
		}
	}
	return unit_end();
}
