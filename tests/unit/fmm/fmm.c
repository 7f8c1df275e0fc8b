/* The fast multipole method on the CPU: each operator against the formula that it stands for, the whole field against
 * the oracle, and what must be refused. */
#include "kernels/fmm/fmm.h"
#include "common/cpu.h"
#include "kernels/fmm/cpu_internal.h"
#include "tests/unit/fmm/system.h"

static struct nb_fmm_basis basis;
static const struct nb_fmm_operators *use;
static int exponent[NB_FMM_TENSOR][3]; /* of T_n and of coefficients */

static double factorial(const int *a)
{
	double f = 1;
	for (int d = 0; d < 3; d++)
		for (int k = 2; k <= a[d]; k++)
			f *= k;
	return f;
}

/* x^a / a! */
static double monomial(const double *x, const int *a)
{
	return pow(x[0], a[0]) * pow(x[1], a[1]) * pow(x[2], a[2]) / factorial(a);
}

static void choose(int dim, int order)
{
	nb_fmm_basis_fill(&basis, dim, order);
	int count = 0;
	for (int k = 0; k <= order + 2; k++)
		for (int x = k; x >= 0; x--)
			for (int y = k - x; y >= (dim == 3 ? 0 : k - x); y--) {
				const int at = nb_fmm_term(dim, x, y, k - x - y);
				CHECK(at == count++);
				exponent[at][0] = x;
				exponent[at][1] = y;
				exponent[at][2] = k - x - y;
			}
	CHECK(count == basis.ntensor && nb_fmm_below(dim, order + 1) == basis.n);
}

static int degree(int a)
{
	return exponent[a][0] + exponent[a][1] + exponent[a][2];
}

/* ---- operators ---------------------------------------------------------------------------------------- */

static void tensor(int dim, double eps)
{
	const double x[3] = {2, -1.25, dim == 3 ? 0.5 : 0}, h[3] = {0.1, 0.07, dim == 3 ? -0.12 : 0};
	const int order = dim == 3 ? 10 : 14;
	double t[NB_FMM_TENSOR], r2 = eps * eps, sum = 0, moved = eps * eps;
	nb_fmm_tensor(dim, order, x, eps, t);
	for (int d = 0; d < 3; d++) {
		r2 += x[d] * x[d];
		moved += (x[d] + h[d]) * (x[d] + h[d]);
	}
	const double r = sqrt(r2), r7 = r2 * r2 * r2 * r;
	CHECK_NEAR(t[0], 1 / r, 1e-15);
	CHECK_NEAR(t[nb_fmm_term(dim, 1, 0, 0)], -x[0] / (r2 * r), 1e-15);
	CHECK_NEAR(t[nb_fmm_term(dim, 0, 2, 0)], (3 * x[1] * x[1] - r2) / (r2 * r2 * r), 1e-15);
	CHECK_NEAR(t[nb_fmm_term(dim, 2, 1, 0)], 3 * x[1] * (r2 - 5 * x[0] * x[0]) / r7, 1e-14);
	if (dim == 3)
		CHECK_NEAR(t[nb_fmm_term(dim, 1, 1, 1)], -15 * x[0] * x[1] * x[2] / r7, 1e-14);
	for (int k = 0; k <= order; k++)
		for (int a = 0; a <= k; a++)
			for (int b = dim == 3 ? 0 : k - a; b <= k - a; b++) {
				const int n[3] = {a, b, k - a - b};
				sum += t[nb_fmm_term(dim, a, b, k - a - b)] * monomial(h, n);
			}
	/* a Taylor series about x: the next term is below (|h| / R)^(order + 1) */
	CHECK_NEAR(sum, 1 / sqrt(moved), 2e-13);
}

static const struct nb_fmm_box box = {{-1, 2, 0.5}, 0.25, {3, 1, 2}};

/* A place in the box; where it is from the centre, in edges. */
static void place(int dim, double *pos, double *from)
{
	for (int d = 0; d < 3; d++) {
		from[d] = d < dim ? uniform() - 0.5 : 0;
		pos[d] = d < dim ? box.lo[d] + box.edge * (box.at[d] + 0.5 + from[d]) : 0;
	}
}

enum { BODIES = 21, FIRST = 2 };
static double pos[3 * BODIES], mass[BODIES], from[3 * BODIES], acc[3 * BODIES], pot[BODIES];

static struct nb_gravity some_bodies(void)
{
	for (size_t i = 0; i < BODIES; i++) {
		place(basis.dim, pos + 3 * i, from + 3 * i);
		mass[i] = uniform() - 0.3;
	}
	return (struct nb_gravity){
		.n = BODIES, .pos = pos, .mass = mass, .acc = acc, .pot = pot, .G = 1, .precision = NB_F64};
}

static void p2m(void)
{
	const struct nb_gravity g = some_bodies();
	double m[NB_FMM_TERMS];
	CHECK(use->p2m(&basis, &g, &box, FIRST, BODIES, m) == 0);
	for (int a = 0; a < basis.n; a++) {
		double want = 0;
		for (size_t i = FIRST; i < BODIES; i++)
			want += mass[i] * monomial(from + 3 * i, exponent[a]) * (degree(a) % 2 ? -1 : 1);
		CHECK_NEAR(m[a], want, 1e-13);
	}
	pos[3 * (BODIES - 1) + 1] += box.edge;
	CHECK(use->p2m(&basis, &g, &box, FIRST, BODIES, m) == 1);
	pos[3 * (BODIES - 1) + 1] = NAN;
	CHECK(use->p2m(&basis, &g, &box, FIRST, BODIES, m) == 1);
}

/* Multipoles of bodies about the centre of the box, and through its children. */
static void m2m(void)
{
	const struct nb_gravity g = some_bodies();
	double child[8][NB_FMM_TERMS] = {{0}}, m[NB_FMM_TERMS], want[NB_FMM_TERMS];
	const double *children[8] = {NULL};
	CHECK(use->p2m(&basis, &g, &box, 0, BODIES, want) == 0);
	for (size_t i = 0; i < BODIES; i++) {
		struct nb_fmm_box half = box;
		double one[NB_FMM_TERMS];
		int c = 0;
		half.edge /= 2;
		for (int d = 0; d < basis.dim; d++) {
			const int upper = from[3 * i + (size_t)d] > 0;
			half.at[d] = 2 * box.at[d] + (uint32_t)upper;
			c |= upper << (basis.dim - 1 - d);
		}
		CHECK(use->p2m(&basis, &g, &half, i, i + 1, one) == 0);
		for (int a = 0; a < basis.n; a++)
			child[c][a] += one[a];
		children[c] = child[c];
	}
	use->m2m(&basis, children, m);
	for (int a = 0; a < basis.n; a++)
		CHECK_NEAR(m[a], want[a], 1e-14);
}

static double evaluate(const double *l, int stride, const double *y)
{
	double sum = 0;
	for (int a = 0; a < basis.n; a++)
		sum += l[a * stride] * monomial(y, exponent[a]);
	return sum;
}

/* A polynomial has the same values about the centre of a box and about those of its children, which are in units of
 * 1 / edge. */
static void l2l(void)
{
	double l[NB_FMM_TERMS], local[NB_FMM_TERMS * 8];
	for (int a = 0; a < basis.n; a++)
		l[a] = uniform() - 0.5;
	use->l2l(&basis, l, local);
	for (int c = 0; c < basis.children; c++) {
		double y[3] = {0}, whole[3] = {0};
		for (int d = 0; d < basis.dim; d++) {
			y[d] = uniform() - 0.5;
			whole[d] = y[d] / 2 + (nb_fmm_bit(basis.dim, c, d) ? 0.25 : -0.25);
		}
		CHECK_NEAR(2 * evaluate(local + c, basis.children, y), evaluate(l, 1, whole), 1e-14);
	}
}

static void m2l(int total)
{
	enum { PAIRS = 8 + 4 + 2 + 1 };
	static double t[NB_FMM_TENSOR * 8], m[PAIRS][NB_FMM_TERMS], got[PAIRS][NB_FMM_TERMS * 8];
	static double want[PAIRS][NB_FMM_TERMS * 8];
	const double *source[PAIRS];
	double *local[PAIRS];
	for (int k = 0; k < basis.ntensor * basis.children; k++)
		t[k] = uniform() - 0.5;
	for (int k = 0; k < PAIRS; k++) {
		source[k] = m[k];
		local[k] = got[k];
		for (int a = 0; a < basis.n; a++)
			m[k][a] = uniform() - 0.5;
		for (int a = 0; a < basis.n * basis.children; a++)
			got[k][a] = want[k][a] = uniform();
		for (int a = 0; a < basis.n; a++)
			for (int b = 0; b < basis.n; b++) {
				const int *i = exponent[a], *j = exponent[b];
				if (degree(a) + degree(b) > total)
					continue;
				const int sum = nb_fmm_term(basis.dim, i[0] + j[0], i[1] + j[1], i[2] + j[2]);
				for (int c = 0; c < basis.children; c++)
					want[k][a * basis.children + c] += m[k][b] * t[sum * basis.children + c];
			}
	}
	use->m2l(&basis, total, t, PAIRS, source, local);
	double worst = 0;
	for (int k = 0; k < PAIRS; k++)
		for (int a = 0; a < basis.n * basis.children; a++)
			worst = fmax(worst, fabs(got[k][a] - want[k][a]));
	CHECK_NEAR(worst, 0, 2e-14);
}

static void l2p(void)
{
	struct nb_gravity g = some_bodies();
	g.G = 3;
	double l[NB_FMM_TERMS];
	for (int a = 0; a < basis.n; a++)
		l[a] = uniform() - 0.5;
	for (int with_pot = 0; with_pot < 2; with_pot++) {
		for (size_t i = 0; i < BODIES; i++)
			acc[3 * i] = acc[3 * i + 1] = acc[3 * i + 2] = pot[i] = 1;
		g.pot = with_pot ? pot : NULL;
		use->l2p(&basis, &g, &box, FIRST, BODIES, l);
		for (size_t i = 0; i < BODIES; i++) {
			double want[3] = {0};
			for (int a = 0; a < basis.n; a++)
				for (int d = 0; d < 3; d++) {
					int lower[3] = {exponent[a][0], exponent[a][1], exponent[a][2]};
					if (lower[d]-- > 0)
						want[d] += l[a] * monomial(from + 3 * i, lower);
				}
			for (size_t d = 0; d < 3; d++)
				CHECK_NEAR(acc[3 * i + d], 1 + (i < FIRST ? 0 : 3 * want[d] / (box.edge * box.edge)),
					2e-12);
			CHECK_NEAR(pot[i],
				1 - (i < FIRST || !with_pot ? 0 : 3 * evaluate(l, 1, from + 3 * i) / box.edge), 1e-12);
		}
	}
}

/* From child s of neighbour q to child t: what the offsets say is where boxes.h has these boxes. */
static void offsets(int dim)
{
	const int children = 1 << dim, level = 2;
	const uint64_t parent = dim == 3 ? 7 : 3; /* all its neighbours are there */
	int32_t around[26];
	int apart_count = 0;
	nb_box_neighbours(parent, dim, level, around);
	for (int q = 0; q < (dim == 3 ? 26 : 8); q++)
		for (int s = 0; s < children; s++)
			for (int t = 0; t < children; t++) {
				const uint64_t source = (uint64_t)around[q] * (uint64_t)children + (uint64_t)s;
				const uint64_t target = parent * (uint64_t)children + (uint64_t)t;
				int got[3], right = 1, apart = 0;
				const int said = nb_fmm_offset(dim, q, s, t, got);
				for (int d = 0; d < dim; d++) {
					const int want = dim == 3 ? (int)nb_morton_gather3(target >> (2 - d)) -
									    (int)nb_morton_gather3(source >> (2 - d))
								  : (int)nb_morton_gather2(target >> (1 - d)) -
									    (int)nb_morton_gather2(source >> (1 - d));
					right &= want == got[d];
					apart |= abs(want) > 1;
				}
				CHECK(right && said == apart);
				apart_count += apart;
			}
	CHECK(apart_count == children * (dim == 3 ? 189 : 27));
}

static void operators(void)
{
	CHECK(nb_fmm_terms(3, 1) == 189 * 4 * 4 && nb_fmm_terms(2, 1) == 27 * 3 * 3);
	for (int dim = 2; dim <= 3; dim++) {
		offsets(dim);
		for (int soft = 0; soft < 2; soft++)
			tensor(dim, 0.9 * soft);
		for (int order = 1; order <= (dim == 3 ? NB_FMM_MAX_ORDER_3D : NB_FMM_MAX_ORDER_2D); order++) {
			choose(dim, order);
			p2m();
			m2m();
			l2l();
			for (int total = order; total <= order + 2; total++)
				m2l(total);
			l2p();
		}
	}
}

/* ---- the whole field ------------------------------------------------------------------------------------ */

/* Two bodies on a line in boxes of level 2 that are apart, the target in the centre of its box: the field is that of
 * the series sum_k (k + 1) d^k / D^(k + 2), up to the order. */
static void two_bodies(int dim)
{
	for (int order = 1; order <= 6; order++) {
		const double d = 0.07, edge = 0.25, D = 3 * edge;
		struct system_ s = {.fmm = {dim, 2, order, {{0, 0, 0}, 1}}, .n = 2, .G = 2};
		s.pos = nb_alloc_zero(6, sizeof *s.pos);
		s.mass = nb_alloc(2, sizeof *s.mass);
		s.mass[0] = 3, s.mass[1] = 0;
		s.pos[1] = s.pos[4] = s.pos[2] = s.pos[5] = 0.125;
		if (dim == 2)
			s.pos[2] = s.pos[5] = 0;
		s.pos[0] = edge / 2 + d, s.pos[3] = edge / 2 + D;
		finish(&s);
		compute(&s, NB_F64);
		double want = 0;
		for (int k = 0; k <= order; k++)
			want -= 2 * 3 * (k + 1) * pow(d, k) / pow(D, k + 2);
		CHECK_NEAR(s.acc[3], want, 1e-12);
		CHECK_NEAR(s.acc[4], 0, 1e-12);
		CHECK(s.acc[0] == 0 && s.acc[5] == 0);
		free_system(&s);
	}
}

/* rms errors of orders; at most half as much again as what was measured */
static const struct {
	enum model model;
	int level;
	double eps; /* in edges of the finest boxes */
	double rms[NB_FMM_MAX_ORDER_2D + 1];
} accuracy[] = {
	{UNIFORM, 2, 0, {0, 0.058, 0.0087, 0.003, 0.00072, 0.00026, 0.00012, 7.1e-05, 5e-05}},
	{UNIFORM, 3, 0, {0, 0.065, 0.01, 0.0038, 0.001, 0.00043, 0.00022, 0.00013, 8.9e-05}},
	{UNIFORM, 4, 0.1, {0, 0.078, 0.013, 0.0052, 0.0016, 0.00075, 0.00041, 0.00024, 0.00015}},
	{UNIFORM, 3, 3, {0, 0.13, 0.024, 0.0039, 0.00047, 0.00017, 5e-05, 2e-05, 8.6e-06}},
	{SPHERE, 4, 0.1, {0, 0.05, 0.012, 0.0034, 0.001, 0.00034, 0.00015, 8.2e-05, 5e-05}},
	{SPHERE, 5, 2, {0, 0.13, 0.032, 0.0088, 0.0024, 0.00075, 0.00029, 0.00013, 6.9e-05}},
	{PLANE, 4, 0.1,
		{0, 0.14, 0.022, 0.0085, 0.0019, 0.00085, 0.00031, 0.00015, 9.3e-05, 6.5e-05, 2.6e-05, 1.4e-05, 9e-06}},
	{PLANE, 5, 0.1,
		{0, 0.12, 0.019, 0.008, 0.0019, 0.00091, 0.00036, 0.0002, 0.00011, 7.1e-05, 3.5e-05, 2e-05, 1.3e-05}},
	{PLANE, 5, 3,
		{0, 0.11, 0.017, 0.0053, 0.001, 0.00037, 0.00018, 8.9e-05, 6.2e-05, 4.1e-05, 1.5e-05, 8.6e-06,
			6.2e-06}},
};

static void errors(void)
{
	for (size_t c = 0; c < sizeof accuracy / sizeof *accuracy; c += 1 + 3 * UNIT_SANITIZED) {
		struct system_ s = make(accuracy[c].model, 5000, accuracy[c].level, 1);
		s.eps = accuracy[c].eps * s.fmm.cube.size / (1 << s.fmm.level);
		truth(&s);
		const int most = s.fmm.dim == 3 ? NB_FMM_MAX_ORDER_3D : NB_FMM_MAX_ORDER_2D;
		for (s.fmm.order = 1; s.fmm.order <= most; s.fmm.order++) {
			compute(&s, NB_F64);
			const double got = rms_of(&s), want = accuracy[c].rms[s.fmm.order];
			if (!(got <= 1.5 * want))
				fprintf(stderr, "%s %d eps %g order %d: %.2g, want %.2g\n",
					model_name[accuracy[c].model], s.fmm.level, accuracy[c].eps, s.fmm.order, got,
					want);
			CHECK(got <= 1.5 * want);
			CHECK(rms_pot(&s) <= 0.2 * want);   /* 0.12 at most */
			CHECK(momentum(&s) <= 0.05 * want); /* 0.03 at most */
		}
		free_system(&s);
	}
}

/* Levels 0 and 1 have no far field: all boxes touch.  And on each instruction set, precision and number of threads. */
static void same_everywhere(void)
{
	static const char *const isa[] = {"plain", "avx2", "avx512"};
	struct system_ s;
	for (int level = 0; level <= 1; level++) {
		s = make(UNIFORM, 3000, level, 1);
		s.eps = 0.01;
		s.G = 2.5;
		truth(&s);
		compute(&s, NB_F64);
		CHECK(rms_of(&s) <= 1e-14);
		free_system(&s);
	}
	s = make(SPHERE, 4000, 4, 1e5);
	s.eps = 1000;
	s.G = 6.7e-11;
	double *want_acc = nb_alloc(s.n, 3 * sizeof *want_acc), *want_pot = nb_alloc(s.n, sizeof *want_pot);
	compute(&s, NB_F64);
	memcpy(want_acc, s.acc, 3 * s.n * sizeof *want_acc);
	memcpy(want_pot, s.pot, s.n * sizeof *want_pot);
	for (int k = 0; k < 3; k++) {
		setenv("NB_SIMD", isa[k], 1);
		compute(&s, NB_F64);
		CHECK(error_of(s.acc, want_acc, 3 * s.n) <= 1e-14);
		CHECK(error_of(s.pot, want_pot, s.n) <= 1e-14);
		compute(&s, NB_MIXED);
		CHECK(error_of(s.acc, want_acc, 3 * s.n) <= 3e-7);
		compute(&s, NB_F32);
		CHECK(error_of(s.acc, want_acc, 3 * s.n) <= 1e-6);
	}
	compute(&s, NB_F64);
	memcpy(want_acc, s.acc, 3 * s.n * sizeof *want_acc);
	memcpy(want_pot, s.pot, s.n * sizeof *want_pot);
	for (int threads = 1; threads <= 7; threads += 2) {
		nb_cpu_set_threads(threads);
		compute(&s, NB_F64);
		CHECK(memcmp(s.acc, want_acc, 3 * s.n * sizeof *want_acc) == 0);
		CHECK(memcmp(s.pot, want_pot, s.n * sizeof *want_pot) == 0);
	}
	nb_cpu_set_threads(0);
	nb_free(want_acc);
	nb_free(want_pot);
	free_system(&s);
}

static void odd_cases(void)
{
	static const size_t counts[] = {0, 1, 2, 7, 255, 257};
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
		for (int model = UNIFORM; model <= PLANE; model++) {
			struct system_ s = make((enum model)model, counts[k], 3, 1);
			s.fmm.order = 8;
			truth(&s);
			compute(&s, NB_F64);
			if (s.n > 1)
				CHECK(rms_of(&s) <= 1e-3);
			else if (s.n)
				CHECK(s.acc[0] == 0 && s.pot[0] == 0);
			free_system(&s);
		}
	/* all bodies in one box, coincident */
	struct system_ s = {.fmm = {3, 4, 6, {{0, 0, 0}, 1}}, .n = 20, .G = 1, .eps = 0.1};
	s.pos = nb_alloc(60, sizeof *s.pos);
	s.mass = nb_alloc(20, sizeof *s.mass);
	for (size_t i = 0; i < 60; i++)
		s.pos[i] = 0.7;
	for (size_t i = 0; i < 20; i++)
		s.mass[i] = 1;
	finish(&s);
	compute(&s, NB_F64);
	for (size_t i = 0; i < 20; i++) {
		CHECK_NEAR(s.acc[3 * i], 0, 1e-15);
		CHECK_NEAR(s.pot[i], -190, 1e-11);
	}
	free_system(&s);
	/* masses 0, of both signs, and extreme units */
	for (int kind = 0; kind < 5; kind++) {
		static const double unit[] = {1, 1, 1e60, 1e-60, 1e308}, length[] = {1, 1, 1e-30, 1e40, 1e10};
		s = make(UNIFORM, 2000, 3, length[kind]);
		s.fmm.order = 6;
		s.G = kind == 4 ? 1e-300 : 1;
		for (size_t i = 0; i < s.n; i++)
			s.mass[i] = kind == 0 ? 0 : kind == 1 ? (i % 2 ? -1 : 0.5) : unit[kind] * s.mass[i];
		truth(&s);
		compute(&s, NB_F64);
		if (kind)
			CHECK(rms_of(&s) <= 1e-3);
		else
			CHECK(momentum(&s) != 0 && s.acc[0] == 0 && s.pot[s.n - 1] == 0);
		free_system(&s);
	}
	/* a softening beyond everything: a harmonic force; and one beyond reason */
	s = make(UNIFORM, 1000, 3, 1);
	s.eps = 1e6;
	s.fmm.order = 2;
	truth(&s);
	compute(&s, NB_F64);
	CHECK(rms_of(&s) <= 1e-11);
	s.eps = 1e200;
	compute(&s, NB_F64);
	CHECK(s.acc[0] == 0 || fabs(s.acc[0]) < 1e-300);
	free_system(&s);
}

static int status_of(const struct system_ *s, const struct nb_boxes *boxes, const struct nb_fmm *fmm)
{
	const struct nb_gravity g = gravity_of(s, NB_F64);
	return nb_gravity_fmm_cpu(&g, boxes, fmm, NULL);
}

/* Pairs of boxes with bodies of a level that do not touch, but whose parents do. */
static uint64_t far_pairs(const struct system_ *s, int level)
{
	const int shift = 3 * (s->fmm.level - level);
	uint64_t pairs = 0;
	for (uint64_t a = 0; a < 1u << 3 * level; a++)
		for (uint64_t b = 0; b < 1u << 3 * level; b++) {
			int apart = 0, parents_apart = 0;
			for (int d = 0; d < 3; d++) {
				const int x = (int)nb_morton_gather3(a >> d), y = (int)nb_morton_gather3(b >> d);
				apart |= abs(x - y) > 1;
				parents_apart |= abs(x / 2 - y / 2) > 1;
			}
			pairs += apart && !parents_apart && s->first[a << shift] < s->first[(a + 1) << shift] &&
				 s->first[b << shift] < s->first[(b + 1) << shift];
		}
	return pairs;
}

static void refusals(void)
{
	struct system_ s = make(UNIFORM, 500, 3, 1), plane = make(PLANE, 500, 3, 1);
	const struct nb_boxes boxes = boxes_of(&s), flat = boxes_of(&plane);
	const struct nb_fmm good = s.fmm;
	struct nb_gravity g = gravity_of(&s, NB_F64);
	struct nb_gravity_count count = {0, 0, 0, 0};
	CHECK(nb_gravity_fmm_cpu(&g, &boxes, &good, &count) == NB_OK);
	CHECK(count.p2p > 0 && count.m2l == far_pairs(&s, 2) + far_pairs(&s, 3));
	double jerk[3 * 500];
	g.jerk = jerk;
	g.vel = s.pos;
	CHECK(nb_gravity_fmm_cpu(&g, &boxes, &good, NULL) == NB_EUNSUPPORTED);
	for (int k = 0; k < 8; k++) {
		struct nb_fmm bad = good;
		struct nb_boxes odd = boxes;
		switch (k) {
		case 0: bad.dim = 2; break;
		case 1: bad.level = 4; break;
		case 2: bad.order = 0; break;
		case 3: bad.order = NB_FMM_MAX_ORDER_3D + 1; break;
		case 4: bad.cube.size = 0.5; break;
		case 5: bad.cube.lo[1] = NAN; break;
		case 6: odd.nneighbour = 8; break;
		case 7: bad.level = -1; break;
		}
		CHECK(status_of(&s, &odd, &bad) == NB_EINVAL);
	}
	/* a neighbour that is another box, a body that is in another box */
	const int32_t neighbour = s.neighbour[26 * 200 + 5];
	s.neighbour[26 * 200 + 5] = neighbour == 3 ? 4 : 3;
	CHECK(status_of(&s, &boxes, &good) == NB_EINVAL);
	s.neighbour[26 * 200 + 5] = neighbour;
	const uint64_t first = s.first[256];
	s.first[256]++;
	CHECK(status_of(&s, &boxes, &good) == NB_EINVAL);
	s.first[256] = first;
	CHECK(status_of(&s, &boxes, &good) == NB_OK);
	CHECK(status_of(&plane, &flat, &plane.fmm) == NB_OK);
	plane.pos[3 * 77 + 2] = 1e-9;
	CHECK(status_of(&plane, &flat, &plane.fmm) == NB_EINVAL);
	s.mass[3] = NAN;
	CHECK(status_of(&s, &boxes, &good) == NB_ENONFINITE);
	free_system(&s);
	free_system(&plane);
}

int main(void)
{
	static const char *const isa[] = {"plain", "avx2", "avx512"};
	for (int k = 0; k < 3; k++) {
		setenv("NB_SIMD", isa[k], 1);
		use = nb_fmm_operators_cpu();
		operators();
	}
	unsetenv("NB_SIMD");
	two_bodies(2);
	two_bodies(3);
	errors();
	same_everywhere();
	odd_cases();
	refusals();
	return unit_end();
}
