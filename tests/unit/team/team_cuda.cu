/* Several devices: how parts are dealt and copies go, and the bytes of one device from direct sum, tree walk and near
 * field.  Exit 77 where there is no device.
 *   team_cuda [LIST]    e.g. 0,1; without it 0,0: one device that does the work of two */
#include <atomic>
#include <string>

#include <time.h>

#include "kernels/backend/backend.h"
#include "kernels/boxes/boxes.h"
#include "kernels/gravity/gravity.h"
#include "kernels/team/team.cuh"
#include "tests/unit/tree/bodies.cuh"

/* ---- what is computed --------------------------------------------------------------------------------- */

struct outcome {
	std::string label;
	uint64_t acc, pot, jerk; /* hashes of the bytes */
	bool finite;		 /* all that was wanted */
	struct nb_gravity_count count;
	int status;
};

/* Of the bytes. */
static uint64_t hash(const vector<double> &v)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (const double &x : v) {
		uint64_t bits;
		memcpy(&bits, &x, sizeof bits);
		h = (h ^ bits) * 0x100000001b3u;
		h ^= h >> 32;
	}
	return h;
}

static bool all_finite(const vector<double> &v)
{
	return std::all_of(v.begin(), v.end(), [](double x) { return isfinite(x); });
}

/* All that a case has, on the device. */
struct system_ {
	size_t n;
	int dim;
	device<double> pos, vel, mass, eps;
	vector<double> velocities;

	static vector<double> random(size_t count, double low, double high)
	{
		vector<double> v(count);
		for (double &x : v)
			x = low + (high - low) * uniform();
		return v;
	}
	explicit system_(const struct bodies &b)
	    : n(b.n), dim(b.dim), pos(b.pos), vel(random(3 * b.n, -0.5, 0.5)), mass(b.mass),
	      eps(random(b.n, 0.001, 0.01))
	{
	}
};

struct wanted {
	enum nb_precision precision;
	bool pot, jerk;
	double eps;
	enum nb_softening softening;
	bool own_eps; /* each body has a softening of its own */
};

static const char *const precision_name[] = {"f32", "mixed", "f64"};

template <class Compute>
static struct outcome compute(const struct system_ &s, const struct wanted &w, const char *what, Compute call)
{
	struct outcome o;
	char text[200];
	device<double> acc(3 * s.n), pot(s.n), jerk(3 * s.n);
	const struct nb_gravity g = {s.n, s.pos.p, w.jerk ? s.vel.p : nullptr, s.mass.p, acc.p, w.pot ? pot.p : nullptr,
		w.jerk ? jerk.p : nullptr, w.eps, 1, w.precision, w.softening, w.own_eps ? s.eps.p : nullptr};
	snprintf(text, sizeof text, "%s, n %zu, %s%s%s, eps %g%s%s", what, s.n, precision_name[w.precision],
		w.pot ? ", pot" : "", w.jerk ? ", jerk" : "", w.eps, w.own_eps ? ", own eps" : "",
		w.softening == NB_SPLINE ? ", spline" : "");
	o.label = text;
	o.count = {0, 0, 0, 0};
	o.status = call(&g, &o.count);
	const vector<double> a = acc.host(), p = pot.host(), j = jerk.host();
	o.acc = hash(a), o.pot = hash(p), o.jerk = hash(j);
	o.finite = all_finite(a) && (!w.pot || all_finite(p)) && (!w.jerk || all_finite(j));
	return o;
}

static void direct_sums(vector<struct outcome> &out)
{
	for (size_t n : {0, 1, 2, 3, 33, 1000, 100001, 200003, 400009}) {
		const struct system_ s(make(n % 2 ? PLUMMER : CUBE, n));
		for (int kernel = NB_DIRECT_AUTO; nb_direct_kernel_name((enum nb_direct_kernel)kernel); kernel++)
			for (int precision = 0; precision < 3; precision++)
				for (int k = 0; k < 8; k++) {
					if (n > 200000 && (kernel != NB_DIRECT_AUTO || k % 4 != 0))
						continue;
					const struct wanted w = {(enum nb_precision)precision, (k & 1) != 0,
						(k & 2) != 0, k & 4 ? 0.01 : 0, NB_PLUMMER, false};
					out.push_back(compute(s, w,
						nb_direct_kernel_name((enum nb_direct_kernel)kernel),
						[&](const struct nb_gravity *g, struct nb_gravity_count *count) {
							return nb_gravity_direct_cuda_with(
								g, (enum nb_direct_kernel)kernel, count);
						}));
				}
		for (int k = 0; k < 12 && n < 200000; k++) {
			const struct wanted w = {(enum nb_precision)(k % 3), k % 2 != 0, k % 4 == 3, 0.01,
				k < 6 ? NB_PLUMMER : NB_SPLINE, k < 6 || k % 2};
			out.push_back(compute(s, w, "softened", nb_gravity_direct_cuda));
		}
	}
}

/* Sorted bodies with their keys. */
static struct bodies sorted(enum shape shape, size_t n, struct nb_cube *cube, vector<uint64_t> &key)
{
	struct bodies b = make(shape, n);
	sort_bodies(b, *cube, key);
	return b;
}

static void walks(vector<struct outcome> &out)
{
	for (enum shape shape : {PLUMMER, CUBE, CLUMPS, NESTED})
		for (size_t n : {0, 1, 2, 33, 1000, 65536, 100001, 300007}) {
			struct nb_cube cube;
			vector<uint64_t> key;
			if (n > 200000 && shape != PLUMMER)
				continue;
			const struct bodies b = sorted(shape, n, &cube, key);
			const struct system_ s(b);
			const device<uint64_t> d_key(key);
			struct nb_tree tree;
			OK(nb_tree_build_cuda(n, d_key.p, s.pos.p, s.mass.p, b.dim, &cube, 16, 2, &tree));
			device<double> old(3 * n);
			OK(cudaMemcpy(old.p, s.vel.p, 3 * n * sizeof(double), cudaMemcpyDeviceToDevice) == cudaSuccess
					? NB_OK
					: NB_EDEVICE);
			for (int k = 0; k < 48; k += n < 60000 ? 1 : 5) {
				const struct wanted w = {(enum nb_precision)(k % 3), (k / 3) % 2 != 0, (k / 6) % 2 != 0,
					k % 5 ? 0.01 : 0, k / 12 == 3 ? NB_SPLINE : NB_PLUMMER, k / 12 == 2};
				const struct nb_tree_walk walk = {0.5,
					k % 7 == 3 ? NB_MAC_ACCELERATION : NB_MAC_GEOMETRIC, 0.002, old.p,
					k % 4 == 3   ? 1
					: w.jerk     ? 0
					: k % 4 == 1 ? 3
					: k % 4 == 2 ? 4
						     : 0,
					k % 3 ? 1 : 0};
				const std::string what = std::string("walk, ") + shape_name[shape] +
							 (walk.mac ? ", by acceleration" : "") + ", order " +
							 std::to_string(walk.order);
				out.push_back(compute(s, w, what.c_str(),
					[&](const struct nb_gravity *g, struct nb_gravity_count *count) {
						return nb_gravity_tree_cuda(g, &tree, &walk, k % 2 ? count : nullptr);
					}));
			}
			nb_tree_free_cuda(&tree);
		}
}

/* Positions or masses that change between the tree and its walk, and arrays that are not those of the tree. */
static void moved(vector<struct outcome> &out)
{
	struct nb_cube cube;
	vector<uint64_t> key;
	const struct bodies b = sorted(PLUMMER, 150001, &cube, key);
	struct bodies other = b;
	for (size_t i = 0; i < b.n; i += 1000) {
		other.pos[3 * i] += 1e-3;
		other.mass[i] *= 2;
	}
	const struct system_ s(b), t(other);
	const device<uint64_t> d_key(key);
	const struct wanted w = {NB_F32, true, false, 0.01, NB_PLUMMER, false};
	const struct nb_tree_walk walk = {0.5, NB_MAC_GEOMETRIC, 0, nullptr, 0, 1};
	for (int k = 0; k < 6; k++) {
		struct nb_tree tree;
		const bool pos = k % 3 == 1, mass = k % 3 == 2;
		const auto change = [&](const double *to_pos, const double *to_mass) {
			if (pos)
				CHECK(cudaMemcpy(s.pos.p, to_pos, 24 * b.n, cudaMemcpyDeviceToDevice) == cudaSuccess);
			if (mass)
				CHECK(cudaMemcpy(s.mass.p, to_mass, 8 * b.n, cudaMemcpyDeviceToDevice) == cudaSuccess);
		};
		OK(nb_tree_build_cuda(b.n, d_key.p, s.pos.p, s.mass.p, b.dim, &cube, 16, 2, &tree));
		change(t.pos.p, t.mass.p);
		out.push_back(compute(k < 3 ? s : t, w,
			pos    ? "moved"
			: mass ? "heavier"
			       : "as they were",
			[&](const struct nb_gravity *g, struct nb_gravity_count *count) {
				return nb_gravity_tree_cuda(g, &tree, &walk, count);
			}));
		const device<double> old_pos(b.pos), old_mass(b.mass);
		change(old_pos.p, old_mass.p);
		nb_tree_free_cuda(&tree);
	}
	CHECK(out[out.size() - 6].acc != out[out.size() - 5].acc); /* that much is felt */
	CHECK(out[out.size() - 6].acc != out[out.size() - 4].acc);
}

static void near_fields(vector<struct outcome> &out)
{
	static const struct {
		enum shape shape;
		size_t n;
		int level;
	} test[] = {{CUBE, 1000, 2}, {CUBE, 100001, 3}, {CUBE, 100001, 4}, {PLANE, 100001, 4}, {PLANE, 100001, 5},
		{PLANE, 100001, 7}, {CUBE, 65536, 5}, {CUBE, 3, 1}, {CUBE, 0, 1},
		/* few boxes of many bodies, which take long */
		{CUBE, 66001, 1}, {PLANE, 66001, 2}, {CLUMPS, 66001, 4}, {PLUMMER, 66001, 5},
		/* some boxes in one piece, others in parts */
		{PLANE, 2200001, 7}};
	for (const auto &t : test) {
		struct nb_cube cube;
		vector<uint64_t> key;
		const struct bodies b = sorted(t.shape, t.n, &cube, key);
		const struct system_ s(b);
		const device<uint64_t> d_key(key);
		const int nneighbour = b.dim == 2 ? 8 : 26;
		const size_t nbox = (size_t)1 << b.dim * t.level;
		device<uint64_t> first(nbox + 1);
		device<int32_t> neighbour(nbox * (size_t)nneighbour);
		OK(nb_boxes_build_cuda(t.n, d_key.p, b.dim, t.level, first.p, neighbour.p));
		const struct nb_boxes boxes = {nbox, first.p, neighbour.p, nneighbour};
		const bool heavy = &t - test >= 9;
		for (int kernel = heavy ? NB_NEAR_N3 : NB_NEAR_AUTO;
			nb_near_kernel_name((enum nb_near_kernel)kernel) && (!heavy || kernel == NB_NEAR_N3); kernel++)
			for (int k = 0; k < 12; k += heavy ? 7 : 1) {
				const struct wanted w = {(enum nb_precision)(k % 3), (k / 3) % 2 != 0, k / 6 != 0,
					k % 2 ? 0.01 : 0, NB_PLUMMER, false};
				char what[100];
				snprintf(what, sizeof what, "near %s, %s, level %d",
					nb_near_kernel_name((enum nb_near_kernel)kernel), shape_name[t.shape], t.level);
				out.push_back(compute(
					s, w, what, [&](const struct nb_gravity *g, struct nb_gravity_count *count) {
						return nb_gravity_near_cuda_with(
							g, &boxes, (enum nb_near_kernel)kernel, count);
					}));
			}
		for (int k = 0; k < 6; k += heavy ? 4 : 1) {
			const struct wanted w = {(enum nb_precision)(k % 3), k % 2 != 0, k == 5, 0.01,
				k < 3 ? NB_PLUMMER : NB_SPLINE, k < 3};
			out.push_back(compute(
				s, w, "near softened", [&](const struct nb_gravity *g, struct nb_gravity_count *count) {
					return nb_gravity_near_cuda(g, &boxes, count);
				}));
		}
	}
}

/* A body that is not finite among many. */
static void refused(vector<struct outcome> &out)
{
	struct bodies b = make(CUBE, 150000);
	b.pos[3 * 77777] = NAN;
	const struct system_ s(b);
	const struct wanted w = {NB_F32, false, false, 0.01, NB_PLUMMER, false};
	struct outcome o = compute(s, w, "not finite", nb_gravity_direct_cuda);
	CHECK(o.status == NB_ENONFINITE);
	o.acc = 0, o.finite = true; /* undefined */
	out.push_back(o);
}

static void compare(const struct outcome &one, const struct outcome &many)
{
	label = one.label.c_str();
	WANT(one.label == many.label);
	WANT(one.status == many.status);
	WANT(one.finite || one.status);
	WANT(one.acc == many.acc);
	WANT(one.pot == many.pot);
	WANT(one.jerk == many.jerk);
	WANT(memcmp(&one.count, &many.count, sizeof one.count) == 0);
}

/* All, or of the team's ways the tree and the near field alone; one: what one device has said, NULL for itself. */
static vector<struct outcome> everything(bool all, const vector<struct outcome> *one)
{
	vector<struct outcome> out;
	const struct {
		const char *name;
		void (*add)(vector<struct outcome> &);
		bool always;
	} part[] = {{"walks", walks, true}, {"moved", moved, true}, {"near fields", near_fields, true},
		{"direct sums", direct_sums, false}, {"refused", refused, false}};
	for (const auto &p : part) {
		if (!all && !p.always)
			continue;
		const size_t before = out.size();
		const time_t start = time(nullptr);
		p.add(out);
		for (size_t k = before; one && k < out.size() && k < one->size(); k++)
			compare((*one)[k], out[k]);
		printf("%s: %zu cases in %ld s\n", p.name, out.size() - before, (long)(time(nullptr) - start));
		fflush(stdout);
	}
	return out;
}

/* ---- parts and copies ------------------------------------------------------------------------------------ */

static void dealing(void)
{
	const size_t members = (size_t)nb_team_size();
	for (size_t parts : {(size_t)0, (size_t)1, members, members + 1, (size_t)1000}) {
		vector<std::atomic<int>> taken(parts ? parts : 1);
		std::atomic<int> calls(0), wrong(0);
		for (auto &t : taken)
			t = 0;
		OK(nb_team_run(parts, [&](struct nb_team_worker &worker) {
			struct nb_team_copies copies(worker);
			size_t first = parts;
			int device = -1;
			NB_TRY(copies.fetch());
			NB_CUDA_TRY(cudaGetDevice(&device));
			wrong += device != worker.device;
			for (size_t k; worker.next(&k);) {
				first = first == parts ? k : first;
				wrong += k >= parts;
				taken[k]++;
			}
			wrong += first != ((size_t)worker.member < parts ? (size_t)worker.member : parts);
			calls++;
			return worker.finish();
		}));
		CHECK((size_t)calls == (parts == 0 ? 1 : parts < members ? parts : members));
		CHECK(wrong == 0);
		for (size_t k = 0; k < parts; k++)
			CHECK(taken[k] == 1);
	}
}

/* Writes what others read, sets this member's flag, and waits for those of all, which a tool that runs one kernel after
 * the other would not see set. */
static __global__ void flag_kernel(
	int members, int member, int *const *mark, uint32_t *flag, const int *stopped, int *wrong, int *let_go)
{
	mark[member][threadIdx.x] = 7 + member + (int)threadIdx.x;
	__syncthreads();
	if (threadIdx.x == 0)
		nb_team_flag_set(&flag[member], 3);
	__syncthreads();
	if ((int)threadIdx.x >= members)
		return;
	const int other = (int)threadIdx.x;
	if (nb_team_flag_wait(&flag[other], 3, stopped) == 0) {
		*let_go = 1;
		return;
	}
	for (int k = 0; k < (int)blockDim.x; k++)
		if (mark[other][k] != 7 + other + k)
			*wrong = 1;
}

/* Kernels of all members wait for each other and read what the others have written in their memory; they do not wait
 * for a member that fails. */
static void flags(void)
{
	enum { THREADS = 256 };
	const int members = nb_team_size();
	if (members < 2 || !nb_team_mutual())
		return;
	for (int failing = 0; failing < 2; failing++) {
		nb_team_buffer<int> mark;
		nb_cuda_buffer<int *> of;
		nb_cuda_buffer<uint32_t> flag;
		nb_cuda_buffer<int> found;
		OK(mark.alloc(THREADS));
		OK(of.alloc(NB_TEAM_MOST));
		OK(flag.alloc(NB_TEAM_MOST));
		OK(found.alloc(2));
		OK(nb_cuda_status(cudaMemcpy(of.ptr, mark.of, sizeof mark.of, cudaMemcpyHostToDevice), "", "", 0));
		OK(nb_cuda_status(cudaMemset(flag.ptr, 0, NB_TEAM_MOST * sizeof(uint32_t)), "", "", 0));
		OK(nb_cuda_status(cudaMemset(found.ptr, 0, 2 * sizeof(int)), "", "", 0));
		const int status = nb_team_run((size_t)members, [&](struct nb_team_worker &worker) {
			struct nb_team_copies copies(worker);
			size_t part;
			NB_TRY(copies.fetch());
			if (!worker.next(&part))
				return worker.finish();
			const struct timespec nap = {0, 2000000 * worker.member};
			nanosleep(&nap, nullptr);
			if (failing && worker.member == members - 1)
				return (int)NB_ELIMIT;
			flag_kernel<<<1, THREADS, 0, worker.stream()>>>(
				members, worker.member, of.ptr, flag.ptr, worker.stopped, found.ptr, found.ptr + 1);
			NB_CUDA_LAUNCHED();
			return worker.finish();
		});
		int wrong[2] = {1, 1};
		CHECK(status == (failing ? (int)NB_ELIMIT : (int)NB_OK));
		OK(nb_cuda_status(cudaMemcpy(wrong, found.ptr, sizeof wrong, cudaMemcpyDeviceToHost), "", "", 0));
		CHECK(wrong[0] == 0 && wrong[1] == failing);
	}
}

static void copying(void)
{
	const size_t n = 1000003, parts = 37;
	vector<uint32_t> numbers(n);
	std::iota(numbers.begin(), numbers.end(), 5u);
	const device<uint32_t> source(numbers);
	device<uint32_t> target(n);
	std::atomic<int> wrong(0);
	OK(nb_team_run(parts, [&](struct nb_team_worker &worker) {
		const uint32_t *in = source.p;
		nb_cuda_buffer<uint32_t> out;
		struct nb_team_copies copies(worker);
		NB_TRY(copies.add(&in, n));
		NB_TRY(out.alloc(worker.is_primary() ? 0 : n));
		NB_TRY(copies.fetch());
		wrong += worker.is_primary() != (in == source.p);
		uint32_t *const here = worker.is_primary() ? target.p : out.ptr;
		for (size_t k; worker.next(&k);) {
			const size_t first = n * k / parts, count = n * (k + 1) / parts - first;
			NB_CUDA_TRY(cudaMemcpyAsync(here + first, in + first, count * sizeof *in,
				cudaMemcpyDeviceToDevice, worker.stream()));
			NB_TRY(worker.copy_back(target.p + first, here + first, count * sizeof *in));
		}
		return worker.finish();
	}));
	CHECK(wrong == 0);
	CHECK(target.host() == numbers);
}

/* Copies that are on their way before a round: sent, sent early and asked for or not, and changed since.  Large enough
 * for several pieces. */
static void sending(void)
{
	const size_t n = (size_t)10000001, members = (size_t)nb_team_size();
	vector<double> first(n), second(n);
	std::iota(first.begin(), first.end(), 1.0);
	std::iota(second.begin(), second.end(), 2.0);
	const device<double> later(second);
	for (int k = 0; k < 8; k++) {
		const bool changed = k & 1, asked = k & 2, sent = k & 4;
		const device<double> early(first), also(first);
		device<double> back(n * members), also_back(n * members);
		{
			struct nb_team_early guard(true, early.p, 8 * n, also.p, 8 * n);
			guard.begin();
		}
		if (changed) /* the one word in the middle */
			CHECK(cudaMemcpy(early.p + n / 2, later.p + n / 2, 8, cudaMemcpyDeviceToDevice) == cudaSuccess);
		if (asked)
			OK(nb_team_send(early.p, 8 * n));
		if (sent)
			OK(nb_team_send(later.p, 8 * n));
		OK(nb_team_run(members, [&](struct nb_team_worker &worker) {
			struct nb_team_copies copies(worker);
			const double *one = early.p, *two = later.p;
			NB_TRY(copies.add(&one, n));
			NB_TRY(copies.add(&two, n));
			NB_TRY(copies.fetch());
			for (size_t part; worker.next(&part);) {
				NB_CUDA_TRY(cudaMemcpyPeerAsync(back.p + part * n, worker.primary_device, one,
					worker.device, 8 * n, worker.stream()));
				NB_CUDA_TRY(cudaMemcpyPeerAsync(also_back.p + part * n, worker.primary_device, two,
					worker.device, 8 * n, worker.stream()));
			}
			return worker.finish();
		}));
		vector<double> want = first;
		if (changed)
			want[n / 2] = second[n / 2];
		const vector<double> got = back.host(), got_also = also_back.host();
		for (size_t m = 0; m < members; m++) {
			CHECK(memcmp(got.data() + m * n, want.data(), 8 * n) == 0);
			CHECK(memcmp(got_also.data() + m * n, second.data(), 8 * n) == 0);
		}
	}
	for (int changed = 0; changed < 2; changed++) { /* parts do not wait for the comparison */
		const device<double> early(first), also(first);
		vector<int> wrong(members);
		{
			struct nb_team_early guard(true, early.p, 8 * n, also.p, 8 * n);
			guard.begin();
		}
		if (changed)
			CHECK(cudaMemcpy(early.p, later.p, 8, cudaMemcpyDeviceToDevice) == cudaSuccess);
		OK(nb_team_send(early.p, 8 * n));
		OK(nb_team_run(members, [&](struct nb_team_worker &worker) {
			struct nb_team_copies copies(worker);
			const double *one = early.p;
			bool differs;
			NB_TRY(copies.add(&one, n));
			NB_TRY(copies.queue(true));
			NB_TRY(copies.wait());
			for (size_t part; worker.next(&part);)
				;
			NB_TRY(worker.finish());
			NB_TRY(copies.differ(&differs));
			wrong[(size_t)worker.member] = differs;
			return (int)NB_OK;
		}));
		for (size_t m = 0; m < members; m++)
			CHECK(wrong[m] == (changed && m > 0 && nb_team_direct()));
	}
	{ /* there is room for the sums of two arrays */
		const device<double> early(first), also(first);
		{
			struct nb_team_early guard(true, early.p, 8 * n, also.p, 8 * n);
			guard.begin();
		}
		OK(nb_team_send(early.p, 8 * n));
		const int status = nb_team_run(members, [&](struct nb_team_worker &worker) {
			struct nb_team_copies copies(worker);
			const double *one[3] = {early.p, early.p, early.p};
			for (int k = 0; k < 3; k++)
				NB_TRY(copies.add(&one[k], n));
			return copies.fetch();
		});
		CHECK(status == (members > 1 && nb_team_direct() ? NB_ELIMIT : NB_OK));
	}
	OK(nb_team_send(nullptr, 8));
	OK(nb_team_send(later.p, 0));
}

static size_t parts_of(int member)
{
	char line[300];
	size_t parts = 0;
	OK(nb_team_report(member, line, sizeof line));
	const char *at = strstr(line, ": ");
	CHECK(at && sscanf(at, ": %zu parts", &parts) == 1);
	return parts;
}

/* All members walk groups, and each group is walked once. */
static void drawing(void)
{
	struct nb_cube cube;
	vector<uint64_t> key;
	const struct bodies b = sorted(PLUMMER, 400009, &cube, key);
	const struct system_ s(b);
	const device<uint64_t> d_key(key);
	const struct wanted w = {NB_F64, false, false, 0.01, NB_PLUMMER, false};
	const struct nb_tree_walk walk = {0.3, NB_MAC_GEOMETRIC, 0, nullptr, 4, 1};
	struct nb_tree tree;
	vector<size_t> before;
	size_t drawn = 0;
	if (!nb_team_direct())
		return;
	for (int k = 0; k < nb_team_size(); k++)
		before.push_back(parts_of(k));
	OK(nb_tree_build_cuda(b.n, d_key.p, s.pos.p, s.mass.p, b.dim, &cube, 16, 2, &tree));
	const struct outcome o = compute(
		s, w, "drawn", [&](const struct nb_gravity *g, struct nb_gravity_count *count) {
			return nb_gravity_tree_cuda(g, &tree, &walk, count);
		});
	nb_tree_free_cuda(&tree);
	OK(o.status);
	for (int k = 0; k < nb_team_size(); k++) {
		const size_t more = parts_of(k) - before[(size_t)k];
		printf("member %d drew %zu groups of %zu\n", k, more, (size_t)o.count.groups);
		CHECK(more > 10);
		drawn += more;
	}
	CHECK(drawn == (size_t)o.count.groups);
}

static void failing(void)
{
	const int last = nb_team_size() - 1;
	std::atomic<int> endless(0);
	CHECK(nb_team_run((size_t)1 << 60, [&](struct nb_team_worker &worker) {
		size_t k;
		if (worker.member == last)
			return (int)NB_ELIMIT;
		while (worker.next(&k))
			if (worker.parts > 100000) {
				endless++;
				break;
			}
		return worker.finish();
	}) == NB_ELIMIT);
	CHECK(endless == 0); /* the others stop, too */
	nb_cuda_error_text[0] = '\0';
	CHECK(nb_team_run(100, [&](struct nb_team_worker &worker) {
		if (worker.member == last)
			NB_CUDA_TRY(cudaSetDevice(9999));
		return worker.finish();
	}) == NB_ENODEV);
	CHECK(strncmp(nb_cuda_error_text, "device ", 7) == 0);
	dealing(); /* the next round is as if nothing had been */
}

/* Where the devices have no memory left, a call fails or gets by, and the next one is as if nothing had been. */
static void full(void)
{
	const struct system_ s(make(PLUMMER, 100001));
	const struct wanted w = {NB_F32, true, true, 0.01, NB_PLUMMER, false};
	const struct outcome want = compute(s, w, "before", nb_gravity_direct_cuda);
	vector<void *> hog;
	int primary;
	CHECK(cudaGetDevice(&primary) == cudaSuccess);
	{
		device<double> acc(3 * s.n), pot(s.n), jerk(3 * s.n);
		const struct nb_gravity g = {
			s.n, s.pos.p, s.vel.p, s.mass.p, acc.p, pot.p, jerk.p, 0.01, 1, NB_F32, NB_PLUMMER, nullptr};
		OK(nb_team_run(0, [&](struct nb_team_worker &worker) {
			cudaMemPool_t pool;
			NB_CUDA_TRY(cudaDeviceGetDefaultMemPool(&pool, worker.device));
			nb_cuda_trim();
			NB_CUDA_TRY(cudaDeviceSynchronize());
			NB_CUDA_TRY(cudaMemPoolTrimTo(pool, 0));
			return worker.finish();
		}));
		for (size_t bytes = (size_t)1 << 36; bytes >= (size_t)1 << 20; bytes /= 2)
			for (void *p; cudaMalloc(&p, bytes) == cudaSuccess;)
				hog.push_back(p);
		(void)cudaGetLastError();
		const int status = nb_gravity_direct_cuda(&g, nullptr);
		CHECK(status == NB_ENOMEM);
		for (void *p : hog)
			CHECK(cudaFree(p) == cudaSuccess);
	}
	int now;
	CHECK(cudaGetDevice(&now) == cudaSuccess && now == primary);
	compare(want, compute(s, w, "before", nb_gravity_direct_cuda));
}

static void opening(const struct nb_device_list *list)
{
	char why[200] = "", line[300];
	int missing[2] = {list->id[0], 9999}, other[3] = {list->id[0], list->id[0], list->id[0]}, n = 0,
	    all[NB_DEVICES_MOST];
	CHECK(nb_team_size() == 1 && nb_team_report(0, line, sizeof line) == NB_EINVAL);
	CHECK(nb_team_open(2, missing, why, sizeof why) == NB_ENODEV && strstr(why, "no CUDA device 9999 (there "));
	CHECK(nb_team_size() == 1);
	OK(nb_team_list_all(NB_DEVICES_MOST, all, &n, why, sizeof why));
	CHECK(n > 0 && all[n - 1] == n - 1);
	OK(nb_team_open(list->n, list->id, why, sizeof why));
	OK(nb_team_open(list->n, list->id, why, sizeof why));
	if (list->n != 3)
		CHECK(nb_team_open(3, other, why, sizeof why) == NB_ENODEV && strstr(why, nb_team_name()));
	CHECK(nb_team_size() == list->n);
}

static void reporting(void)
{
	char line[300];
	for (int k = 0; k < nb_team_size(); k++) {
		OK(nb_team_report(k, line, sizeof line));
		printf("%s\n", line);
		CHECK(strstr(line, " parts in ") && !strstr(line, ": 0 parts"));
	}
	CHECK(nb_team_report(nb_team_size(), line, sizeof line) == NB_EINVAL);
	CHECK(nb_team_report(-1, line, sizeof line) == NB_EINVAL);
}

int main(int argc, char **argv)
{
	char name[200], why[200] = "";
	struct nb_device_list list;
	if (no_device())
		return 77;
	snprintf(name, sizeof name, "cuda:%s", argc > 1 ? argv[1] : "0,0");
	if (nb_device_list_read(name, &list, why, sizeof why) || list.n < 2 ||
		cudaSetDevice(list.id[0]) != cudaSuccess) {
		fprintf(stderr, "%s: %s\n", name, *why ? why : "want several devices that are there");
		return 1;
	}
	const vector<struct outcome> one = everything(true, nullptr);
	opening(&list);
	if (nb_team_size() != list.n)
		return unit_end();
	dealing();
	flags();
	copying();
	sending();
	drawing();
	failing();
	for (const bool direct : {true, false}) {
		nb_team_let_direct(direct);
		printf("direct: %s\n", nb_team_direct() ? "yes" : "no");
		const vector<struct outcome> many = everything(direct, &one);
		CHECK(direct ? one.size() == many.size() : one.size() > many.size() && many.size() > 100);
	}
	nb_team_let_direct(true);
	full();
	reporting();
	printf("%zu cases on %s\n", one.size(), nb_team_name());
	return unit_end();
}
