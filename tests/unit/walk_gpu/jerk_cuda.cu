/* The jerks of the device's tree walk against direct sums in f64 and against the CPU's walk, and how the nodes move
 * against sums over their bodies.  Exit 77 where there is no device.
 *   jerk_cuda [N]    for slow checkers: n at most N */
#include "kernels/walk_gpu/motion_internal.cuh"
#include "tests/unit/tree/bodies.cuh"

static size_t n_limit = SIZE_MAX;

/* Sorted bodies, how they move, their tree on the device, and the truth for some of them. */
struct flock {
	struct bodies b;
	vector<double> vel;
	double eps;
	struct nb_tree tree, host_tree;
	vector<size_t> target;
	vector<double> acc, pot, jerk;

	/* against: bodies of the two halves in x fly at each other so fast; unit: of length, mass, velocity */
	flock(enum shape shape, size_t n, int leaf_size, int order, double softening, double against = 0,
		const double (&unit)[3] = {1, 1, 1})
	    : b(make(shape, n)), vel(3 * n), eps(softening * unit[0])
	{
		for (double &x : b.pos)
			x *= unit[0];
		for (double &m : b.mass)
			m *= unit[1];
		struct nb_cube cube;
		vector<uint64_t> key;
		sort_bodies(b, cube, key);
		const double middle = n ? b.pos[3 * (n / 2)] : 0;
		for (size_t i = 0; i < 3 * n; i++) {
			vel[i] = 2 * uniform() - 1;
			if (i % 3 == 0)
				vel[i] += b.pos[i] < middle ? against : -against;
			vel[i] *= unit[2];
		}
		device<uint64_t> d_key(key);
		device<double> d_pos(b.pos), d_mass(b.mass);
		OK(nb_tree_build_cuda(n, d_key.p, d_pos.p, d_mass.p, b.dim, &cube, leaf_size, order, &tree));
		OK(nb_tree_build_cpu(
			n, key.data(), b.pos.data(), b.mass.data(), b.dim, &cube, leaf_size, order, &host_tree));
		ask_oracle();
	}
	flock(const flock &) = delete;
	~flock()
	{
		nb_tree_free_cuda(&tree);
		nb_tree_free(&host_tree);
	}

	struct nb_gravity gravity(enum nb_precision precision) const
	{
		struct nb_gravity g = {};
		g.n = b.n, g.pos = b.pos.data(), g.vel = vel.data(), g.mass = b.mass.data();
		g.eps = eps, g.G = 1, g.precision = precision;
		return g;
	}

	void ask_oracle()
	{
		const struct nb_gravity g = gravity(NB_F64);
		target.clear();
		for (size_t i = 0; i < b.n; i += b.n / 400 + 1)
			target.push_back(i);
		acc.resize(3 * target.size()), pot.resize(target.size()), jerk.resize(3 * target.size());
		OK(nb_gravity_ref(&g, target.data(), target.size(), acc.data(), pot.data(), jerk.data()));
	}
};

struct result {
	vector<double> acc, pot, jerk;
	struct nb_gravity_count count;
};

struct setting {
	enum nb_precision precision;
	double theta;
	bool pot, jerk, count;
};

static struct result walk(const struct flock &f, const struct setting &s)
{
	const size_t n = f.b.n;
	device<double> pos(f.b.pos), vel(f.vel), mass(f.b.mass), acc(3 * n), pot(n), jerk(3 * n);
	struct nb_gravity g = f.gravity(s.precision);
	g.pos = pos.p, g.vel = vel.p, g.mass = mass.p;
	g.acc = acc.p, g.pot = s.pot ? pot.p : nullptr, g.jerk = s.jerk ? jerk.p : nullptr;
	struct nb_tree_walk w = {};
	w.theta = s.theta;
	struct result r = {};
	OK(nb_gravity_tree_cuda(&g, &f.tree, &w, s.count ? &r.count : nullptr));
	r.acc = acc.host();
	if (s.pot)
		r.pot = pot.host();
	if (s.jerk)
		r.jerk = jerk.host();
	return r;
}

/* rms |got - want| over rms |want|, of rows of three; NaN if a number is. */
static double relative(const vector<double> &got, const vector<size_t> &target, const vector<double> &want)
{
	double d2 = 0, w2 = 0, nan = 0;
	for (double x : got)
		nan += x - x;
	for (size_t t = 0; t < target.size(); t++)
		for (int k = 0; k < 3; k++) {
			d2 += pow(got[3 * target[t] + k] - want[3 * t + k], 2);
			w2 += pow(want[3 * t + k], 2);
		}
	return (d2 == 0 ? 0 : sqrt(d2 / w2)) + nan;
}

static vector<size_t> all(size_t n)
{
	vector<size_t> v(n);
	std::iota(v.begin(), v.end(), (size_t)0);
	return v;
}

static bool same(const vector<double> &a, const vector<double> &b)
{
	return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

/* got < most, or says what it was; a NaN is not */
static void below(double got, double most, const char *what, enum nb_precision precision, double theta)
{
	if (!(got <= most))
		fprintf(stderr, "%s, precision %d, theta %g: %s %g, want <= %g\n", label, precision, theta, what, got,
			most);
	WANT(got <= most);
}

/* ---- how nodes move ---------------------------------------------------------------------------------------- */

/* Velocity and rates of second moments of a node, by its bodies. */
static void node_motion(const struct flock &f, const struct nb_tree &tree, size_t j, double *v, double *rate)
{
	double total = 0;
	std::fill(v, v + 3, 0);
	std::fill(rate, rate + 6, 0);
	for (size_t i = tree.first[j]; i < (size_t)tree.first[j] + tree.count[j]; i++) {
		total += f.b.mass[i];
		for (int k = 0; k < 3; k++)
			v[k] += f.b.mass[i] * f.vel[3 * i + k];
	}
	for (int k = 0; k < 3; k++)
		v[k] /= total;
	for (size_t i = tree.first[j]; i < (size_t)tree.first[j] + tree.count[j]; i++)
		for (int s = 0, k = 0; k < 3; k++)
			for (int l = k; l < 3; l++)
				rate[s++] += f.b.mass[i] *
					     ((f.b.pos[3 * i + k] - tree.com[3 * j + k]) * (f.vel[3 * i + l] - v[l]) +
						     (f.b.pos[3 * i + l] - tree.com[3 * j + l]) *
							     (f.vel[3 * i + k] - v[k]));
}

static void check_motion(enum shape shape, size_t n, int leaf_size)
{
	char text[80];
	snprintf(text, sizeof text, "motion of %s n %zu leaf %d", shape_name[shape], n, leaf_size);
	label = text;
	struct flock f(shape, n, leaf_size, 2, 0);
	device<double> pos(f.b.pos), vel(f.vel), mass(f.b.mass);
	struct nb_gravity g = f.gravity(NB_F64);
	g.pos = pos.p, g.vel = vel.p, g.mass = mass.p;
	struct nb_tree_motion motion;
	OK(nb_tree_motion_cuda(&g, &f.tree, &motion));
	const size_t nnode = f.tree.nnode;
	const vector<double> velocity = from_device(motion.velocity.ptr, 3 * nnode),
			     rate = from_device(motion.quad_rate.ptr, 6 * nnode);
	struct nb_tree tree = f.tree;
	const vector<uint32_t> first = from_device(f.tree.first, nnode), count = from_device(f.tree.count, nnode);
	const vector<double> com = from_device(f.tree.com, 3 * nnode), box = from_device(f.tree.box, 6 * nnode),
			     node_mass = from_device(f.tree.mass, nnode);
	tree.first = const_cast<uint32_t *>(first.data()), tree.count = const_cast<uint32_t *>(count.data());
	tree.com = const_cast<double *>(com.data());
	size_t wrong = 0;
	for (size_t j = 0; j < nnode; j++) {
		double v[3], r[6], size = 0;
		node_motion(f, tree, j, v, r);
		for (int k = 0; k < 3; k++)
			size = fmax(size, box[6 * j + 3 + k] - box[6 * j + k]);
		for (int k = 0; k < 3; k++)
			wrong += !(fabs(velocity[3 * j + k] - v[k]) <= 1e-12);
		for (int k = 0; k < 6; k++)
			wrong += !(fabs(rate[6 * j + k] - r[k]) <= 1e-12 * node_mass[j] * (size + 1e-2));
	}
	WANT(wrong == 0);
	double fastest = 0;
	for (size_t i = 0; i < 3 * n; i++)
		fastest = fmax(fastest, fabs(f.vel[i] - velocity[i % 3]));
	unsigned long long bits = from_device(motion.fastest.ptr, 1)[0];
	double got;
	memcpy(&got, &bits, sizeof got);
	WANT(got == fastest);
	struct nb_tree_motion again;
	OK(nb_tree_motion_cuda(&g, &f.tree, &again));
	WANT(same(from_device(again.velocity.ptr, 3 * nnode), velocity));
	WANT(same(from_device(again.quad_rate.ptr, 6 * nnode), rate));
}

/* ---- the walk ------------------------------------------------------------------------------------------------ */

static const enum nb_precision precisions[] = {NB_F32, NB_MIXED, NB_F64};

/* Theta 0 is the direct sum; at 0.5 errors are bounded; what else is wanted changes no bytes of the jerk but for the
 * potential, with which another kernel computes. */
static void check_walk(enum shape shape, size_t n, int leaf_size, int order)
{
	if (n > n_limit)
		return;
	char text[80];
	snprintf(text, sizeof text, "%s n %zu leaf %d order %d", shape_name[shape], n, leaf_size, order);
	label = text;
	struct flock f(shape, n, leaf_size, order, shape == CUBE || shape == CLUMPS ? 0 : 0.01);
	for (enum nb_precision precision : precisions) {
		/* f32 does not resolve clumps and close pairs */
		const bool coarse = precision == NB_F32 && (shape == CLUMPS || shape == PAIRS);
		const double bound = coarse		   ? INFINITY
				     : precision == NB_F32 ? 1e-3
				     : precision == NB_F64 ? 1e-11
							   : 3e-5;
		const struct result direct = walk(f, {precision, 0, false, true, true});
		below(relative(direct.jerk, f.target, f.jerk), bound, "jerk", precision, 0);
		below(relative(direct.acc, f.target, f.acc), bound, "acc", precision, 0);

		const struct result r = walk(f, {precision, 0.5, false, true, true});
		below(relative(r.jerk, f.target, f.jerk),
			coarse	     ? INFINITY
			: order == 2 ? 1e-2
				     : 3e-2,
			"jerk", precision, 0.5);
		WANT(same(r.jerk, walk(f, {precision, 0.5, false, true, true}).jerk));
		const struct result uncounted = walk(f, {precision, 0.5, false, true, false});
		WANT(same(r.jerk, uncounted.jerk) && same(r.acc, uncounted.acc));
		const struct result with_pot = walk(f, {precision, 0.5, true, true, true}),
				    pot = walk(f, {precision, 0.5, true, false, true});
		const double rounding = coarse ? INFINITY : precision == NB_F64 ? 1e-12 : 1e-4;
		below(relative(with_pot.jerk, all(n), r.jerk), rounding, "jerk beside pot", precision, 0.5);
		below(relative(with_pot.acc, all(n), pot.acc), rounding, "acc beside jerk", precision, 0.5);
		double dp = 0;
		for (size_t i = 0; i < n; i++)
			dp = fmax(dp, with_pot.pot[i] == pot.pot[i] ? 0 : fabs(with_pot.pot[i] / pot.pot[i] - 1));
		below(dp, rounding, "pot beside jerk", precision, 0.5);
	}
}

/* Errors by theta, at rest and with two halves that fly at each other. */
static void check_accuracy()
{
	label = "accuracy";
	const size_t n = std::min<size_t>(n_limit, 30000);
	for (enum shape shape : {PLUMMER, CUBE})
		for (double against : {0.0, 100.0}) {
			struct flock f(shape, n, 16, 2, 0.01, against);
			for (double theta : {0.3, 0.5, 0.8})
				for (enum nb_precision precision : precisions) {
					const struct result r = walk(f, {precision, theta, false, true, true});
					const double jerk = relative(r.jerk, f.target, f.jerk),
						     acc = relative(r.acc, f.target, f.acc);
					printf("%s, halves at %g, theta %.1f precision %d: jerk rms %.1e acc rms "
					       "%.1e\n",
						shape_name[shape], against, theta, precision, jerk, acc);
					below(jerk,
						theta == 0.3   ? 1.2e-3
						: theta == 0.5 ? 4.5e-3
							       : 1.8e-2,
						"jerk", precision, theta);
				}
		}
}

/* The CPU's walk of the host's tree gives the same to the opening angle's accuracy. */
static void check_backends()
{
	label = "backends";
	const size_t n = std::min<size_t>(n_limit, 20000);
	struct flock f(PLUMMER, n, 16, 2, 0.01);
	for (double theta : {0.3, 0.6})
		for (enum nb_precision precision : precisions) {
			vector<double> acc(3 * n), jerk(3 * n);
			struct nb_gravity g = f.gravity(precision);
			g.acc = acc.data(), g.jerk = jerk.data();
			struct nb_tree_walk w = {};
			w.theta = theta;
			OK(nb_gravity_tree_cpu(&g, &f.host_tree, &w, nullptr));
			const struct result r = walk(f, {precision, theta, false, true, false});
			const double e = relative(r.jerk, all(n), jerk);
			printf("theta %.1f precision %d, device against CPU: jerk rms %.1e\n", theta, precision, e);
			below(e, theta == 0.3 ? 1.2e-4 : 1.5e-3, "jerk", precision, theta);
		}
}

/* A velocity that all have changes nothing, and alone it gives no jerk. */
static void check_galilean()
{
	label = "common velocity";
	const size_t n = std::min<size_t>(n_limit, 10000);
	struct flock f(PLUMMER, n, 16, 2, 0.01);
	const vector<double> before = f.vel;
	for (enum nb_precision precision : precisions) {
		f.vel = before;
		const struct result rest = walk(f, {precision, 0.6, false, true, false});
		for (size_t i = 0; i < 3 * n; i++)
			f.vel[i] += 1024 * (double)(1 + i % 3);
		const struct result moved = walk(f, {precision, 0.6, false, true, false});
		below(relative(moved.jerk, all(n), rest.jerk), precision == NB_F64 ? 1e-10 : 1e-6, "jerk", precision,
			0.6);
		WANT(same(moved.acc, rest.acc));
		for (size_t i = 0; i < 3 * n; i++)
			f.vel[i] = 1e3 * (double)(1 + i % 3);
		size_t moving = 0;
		for (double j : walk(f, {precision, 0.6, false, true, false}).jerk)
			moving += j != 0;
		WANT(moving == 0);
	}
}

/* Units whose squares and cubes leave the range of f32. */
static void check_units()
{
	const double units[][3] = {{1e12, 1e41, 1e5}, {1e-30, 1e-20, 1e30}, {1e60, 1e100, 1e-60}, {1, 1e30, 1}};
	const size_t n = std::min<size_t>(n_limit, 3000);
	for (const auto &u : units) {
		char text[60];
		snprintf(text, sizeof text, "units %g %g %g", u[0], u[1], u[2]);
		label = text;
		struct flock f(PLUMMER, n, 16, 2, 0.01, 0, u);
		for (enum nb_precision precision : precisions) {
			below(relative(walk(f, {precision, 0, false, true, false}).jerk, f.target, f.jerk), 1e-3,
				"jerk", precision, 0);
			below(relative(walk(f, {precision, 0.5, false, true, false}).jerk, f.target, f.jerk), 1e-2,
				"jerk", precision, 0.5);
		}
	}
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	if (argc > 1)
		n_limit = strtoul(argv[1], nullptr, 10);
	for (int shape = 0; shape < SHAPES; shape++) {
		for (size_t n : {1, 2, 3, 64, 65, 257, 1000})
			for (int leaf_size : {1, 16, 100})
				check_motion((enum shape)shape, n, leaf_size);
		for (size_t n : {0, 1, 2, 3, 63, 64, 65, 257, 1000, 9999})
			check_walk((enum shape)shape, n, n % 2 ? 16 : 1, 2);
	}
	check_motion(POINT, 20000, 16);
	check_walk(CUBE, 5000, 8, 1);
	check_walk(PLUMMER, 100000, 16, 2);
	check_walk(POINT, 100000, 16, 2);
	check_accuracy();
	check_backends();
	check_galilean();
	check_units();
	return unit_end();
}
