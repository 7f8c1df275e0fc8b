/* The device's tree walk with a softening of each body, and with splines, against direct sums in f64; and the
 * softenings of nodes against those of their bodies.  Exit 77 where there is no device. soften_cuda [N]    for slow
 * checkers: n at most N */
#include "kernels/walk_gpu/softness_internal.cuh"
#include "tests/unit/tree/bodies.cuh"

static size_t n_limit = SIZE_MAX;

static const char *const softening_name[] = {"plummer", "spline"};
static const enum nb_precision precisions[] = {NB_F32, NB_MIXED, NB_F64};

/* As in soften.c: two kinds of bodies; over three decades; one giant; all the same. */
enum mix { TWO_KINDS, DECADES, GIANT, SAME, MIXES };
static const char *const mix_name[] = {"two kinds", "three decades", "a giant", "the same"};
static const double common = 0.02;

/* Sorted bodies and their tree on the device. */
struct flock {
	struct bodies b;
	vector<double> vel, eps;
	struct nb_tree tree;

	flock(enum shape shape, size_t n, enum mix mix, int leaf_size) : b(make(shape, n)), vel(3 * n), eps(n)
	{
		struct nb_cube cube;
		vector<uint64_t> key;
		sort_bodies(b, cube, key);
		for (size_t i = 0; i < n; i++) {
			for (int k = 0; k < 3; k++)
				vel[3 * i + k] = 2 * uniform() - 1;
			eps[i] = mix == TWO_KINDS ? (uniform() < 0.75 ? 5 : 1) * common
				 : mix == DECADES ? 0.1 * pow(10, -3 * uniform())
				 : mix == GIANT	  ? (i == n / 3 ? 0.3 : 0.1 * common)
						  : common;
		}
		device<uint64_t> d_key(key);
		device<double> d_pos(b.pos), d_mass(b.mass);
		OK(nb_tree_build_cuda(n, d_key.p, d_pos.p, d_mass.p, b.dim, &cube, leaf_size, 2, &tree));
	}
	flock(const flock &) = delete;
	~flock()
	{
		nb_tree_free_cuda(&tree);
	}
};

struct setting {
	enum nb_softening softening;
	enum nb_precision precision;
	double theta;
	bool pot, jerk, each; /* each: eps of the bodies, else common */
};

struct result {
	vector<double> acc, pot, jerk;
	struct nb_gravity_count count;
};

static struct nb_gravity law(const struct flock &f, const struct setting &s)
{
	struct nb_gravity g = {};
	g.n = f.b.n, g.pos = f.b.pos.data(), g.vel = f.vel.data(), g.mass = f.b.mass.data();
	g.eps = s.each ? 0 : common, g.G = 1, g.precision = s.precision, g.softening = s.softening;
	g.body_eps = s.each ? f.eps.data() : nullptr;
	return g;
}

static int regions; /* of walks: nb_tree_walk */

static struct result walk(const struct flock &f, const struct setting &s)
{
	const size_t n = f.b.n;
	device<double> pos(f.b.pos), vel(f.vel), mass(f.b.mass), eps(f.eps), acc(3 * n), pot(n), jerk(3 * n);
	struct nb_gravity g = law(f, s);
	g.pos = pos.p, g.vel = vel.p, g.mass = mass.p, g.body_eps = s.each ? eps.p : nullptr;
	g.acc = acc.p, g.pot = s.pot ? pot.p : nullptr, g.jerk = s.jerk ? jerk.p : nullptr;
	struct nb_tree_walk w = {};
	w.theta = s.theta, w.regions = regions;
	struct result r = {};
	OK(nb_gravity_tree_cuda(&g, &f.tree, &w, &r.count));
	r.acc = acc.host();
	r.pot = pot.host();
	r.jerk = jerk.host();
	return r;
}

struct errors {
	double acc, pot, jerk; /* rms of the error over rms of the value */
};

static double relative(const vector<double> &got, const vector<size_t> &target, const vector<double> &want, int width)
{
	double wrong = 0, size = 0;
	for (size_t t = 0; t < target.size(); t++)
		for (int k = 0; k < width; k++) {
			wrong += pow(got[width * target[t] + k] - want[width * t + k], 2);
			size += pow(want[width * t + k], 2);
		}
	return wrong == 0 ? 0 : sqrt(wrong / size);
}

static struct errors compare(const struct flock &f, const struct setting &s, const struct result &r)
{
	const struct nb_gravity g = law(f, s);
	vector<size_t> target;
	for (size_t i = 0; i < f.b.n; i += f.b.n / 400 + 1)
		target.push_back(i);
	vector<double> acc(3 * target.size()), pot(target.size()), jerk(3 * target.size());
	OK(nb_gravity_ref(&g, target.data(), target.size(), acc.data(), pot.data(), jerk.data()));
	struct errors e = {relative(r.acc, target, acc, 3), 0, 0};
	if (s.pot)
		e.pot = relative(r.pot, target, pot, 1);
	if (s.jerk)
		e.jerk = relative(r.jerk, target, jerk, 3);
	return e;
}

static void below(double got, double most, const char *what)
{
	if (!(got <= most))
		fprintf(stderr, "%s: %s %g, want <= %g\n", label, what, got, most);
	WANT(got <= most);
}

/* ---- softenings of nodes -------------------------------------------------------------------------------- */

static void check_nodes(size_t n, enum mix mix, int leaf_size)
{
	label = "softenings of nodes";
	struct flock f(PLUMMER, n, mix, leaf_size);
	device<double> mass(f.b.mass), eps(f.eps);
	struct nb_gravity g = law(f, {NB_PLUMMER, NB_F64, 0, false, false, true});
	g.mass = mass.p, g.body_eps = eps.p;
	nb_cuda_buffer<double> node_eps;
	OK(nb_tree_softness_cuda(&g, &f.tree, &node_eps));
	const size_t nnode = f.tree.nnode;
	const vector<double> got = from_device(node_eps.ptr, 3 * nnode);
	const vector<uint32_t> first = from_device(f.tree.first, nnode), count = from_device(f.tree.count, nnode);
	size_t wrong = 0;
	for (size_t j = 0; j < nnode; j++) {
		double low = INFINITY, high = 0, sum = 0, total = 0;
		for (size_t i = first[j]; i < (size_t)first[j] + count[j]; i++) {
			low = fmin(low, f.eps[i]);
			high = fmax(high, f.eps[i]);
			sum += f.b.mass[i] * f.eps[i] * f.eps[i];
			total += f.b.mass[i];
		}
		wrong += got[3 * j] != low || got[3 * j + 2] != high;
		wrong += !(fabs(got[3 * j + 1] - sqrt(sum / total)) <= 1e-12 * high);
	}
	WANT(wrong == 0);
}

/* ---- the walk ------------------------------------------------------------------------------------------------ */

/* Theta 0 is the direct sum; at 0.5 errors are bounded; the same bytes twice. */
static void check_walk(enum shape shape, size_t n, enum mix mix, int leaf_size)
{
	if (n > n_limit)
		return;
	struct flock f(shape, n, mix, leaf_size);
	for (enum nb_softening softening : {NB_PLUMMER, NB_SPLINE})
		for (enum nb_precision precision : precisions)
			for (int out = 0; out < 4; out++) {
				static char text[120];
				snprintf(text, sizeof text, "%s n %zu, %s, %s, precision %d, outputs %d",
					shape_name[shape], n, mix_name[mix], softening_name[softening], (int)precision,
					out);
				label = text;
				struct setting s = {softening, precision, 0, (out & 1) != 0, (out & 2) != 0, true};
				const struct result direct = walk(f, s);
				const struct errors e = compare(f, s, direct);
				const double bound = precision == NB_F32 ? 1e-4 : precision == NB_MIXED ? 1e-5 : 1e-11;
				below(e.acc, bound, "acc");
				below(e.pot, bound, "pot");
				below(e.jerk, 10 * bound, "jerk");
				s.theta = 0.5;
				const struct result r = walk(f, s), again = walk(f, s);
				const struct errors walked = compare(f, s, r);
				below(walked.acc, 5e-4, "acc");
				below(walked.pot, 2e-4, "pot");
				below(walked.jerk, 1e-2, "jerk");
				WANT(memcmp(r.acc.data(), again.acc.data(), 3 * n * sizeof(double)) == 0);
			}
}

/* Errors beside those of one softening, of the work too. */
static void check_accuracy(void)
{
	const size_t n = std::min<size_t>(n_limit, 30000);
	for (enum shape shape : {PLUMMER, CUBE})
		for (int mix = 0; mix < MIXES; mix++) {
			struct flock f(shape, n, (enum mix)mix, 16);
			for (double theta : {0.3, 0.5, 0.8}) {
				const struct setting one = {NB_PLUMMER, NB_F32, theta, true, false, false};
				const struct result r = walk(f, one);
				const double want = compare(f, one, r).acc;
				for (enum nb_softening softening : {NB_PLUMMER, NB_SPLINE}) {
					const struct setting s = {softening, NB_F32, theta, true, false, true};
					const struct result each = walk(f, s);
					const struct errors e = compare(f, s, each);
					printf("%s, %s, %s, theta %.1f: acc %.1e (one softening %.1e) pot %.1e, bodies "
					       "%.2f "
					       "cells %.2f far %.2f\n",
						shape_name[shape], mix_name[mix], softening_name[softening], theta,
						e.acc, want, e.pot, (double)each.count.p2p / (double)r.count.p2p,
						(double)each.count.m2p / (double)r.count.m2p,
						(double)each.count.m2l / (double)r.count.m2l);
					label = mix_name[mix];
					below(e.acc, 2 * want + 1e-6, "acc");
				}
			}
		}
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	if (argc > 1)
		n_limit = strtoul(argv[1], nullptr, 10);
	for (int mix = 0; mix < MIXES; mix++) {
		for (size_t n : {1, 2, 65, 1000})
			for (int leaf_size : {1, 16, 100})
				check_nodes(n, (enum mix)mix, leaf_size);
		for (size_t n : {1, 2, 3, 63, 65, 257, 1000, 9999})
			check_walk(PLUMMER, n, (enum mix)mix, n % 2 ? 16 : 1);
		check_walk(POINT, 500, (enum mix)mix, 16);
		check_walk(CUBE, 3000, (enum mix)mix, 16);
	}
	check_accuracy();
	regions = 1;
	for (int mix = 0; mix < MIXES; mix++) {
		check_walk(PLUMMER, 9999, (enum mix)mix, 16);
		check_walk(CUBE, 3000, (enum mix)mix, 16);
	}
	check_accuracy();
	return unit_end();
}
