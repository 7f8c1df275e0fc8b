/* How fast orbits part: a variation is the difference of two near runs, and that of a map keeps the symplectic form;
 * regular orbits have a MEGNO of 2, forth and back, and chaotic ones one that grows with the exponent of their parting.
 */
#include "kernels/small/small.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

enum { N = 3 };

static void start(
	struct nb_ias15 *s, const double *mass, const struct nb_extra *e, const double *x, const double *v, int way)
{
	CHECK(nb_ias15_begin(s, N, mass, 1, 0) == NB_OK);
	s->extra = e;
	CHECK(nb_ias15_load(s, x, v, 0.175, INFINITY, way) == NB_OK);
}

static void planets(double outer, double *x, double *v)
{
	memset(x, 0, 3 * N * sizeof *x);
	memset(v, 0, 3 * N * sizeof *v);
	x[3] = 1;
	v[4] = 1.02;
	x[7] = outer;
	v[6] = -1 / sqrt(outer);
	v[8] = 0.01;
}

/* extra: forces beside gravity, or NULL. */
static void test_difference(const struct nb_extra *extra)
{
	static const double mass[N] = {1, 1e-2, 1e-2};
	double x[3 * N], v[3 * N], y[3 * N], u[3 * N], z[3 * N], w[3 * N], most = 0, size = 0;
	struct nb_ias15 s, other;
	struct nb_variation d;
	planets(1.8, x, v);
	start(&s, mass, extra, x, v, 1);
	nb_variation_begin(&d, &s);
	memcpy(y, x, sizeof y);
	memcpy(u, v, sizeof u);
	for (int k = 0; k < 3 * N; k++) {
		y[k] += 1e-8 * d.d[k];
		u[k] += 1e-8 * d.u[k];
	}
	start(&other, mass, extra, y, u, 1);
	while (s.elapsed < 10) {
		CHECK(nb_ias15_step(&s) == NB_OK);
		nb_variation_follow(&d, &s);
	}
	while (other.elapsed < s.elapsed)
		CHECK(nb_ias15_step(&other) == NB_OK);
	nb_ias15_at(&s, s.last, x, v);
	nb_ias15_at(&other, other.last - (other.elapsed - s.elapsed), z, w);
	for (int k = 0; k < 3 * N; k++) {
		most = fmax(most, fabs((z[k] - x[k]) * 1e8 - d.d[k]));
		size = fmax(size, fabs(d.d[k]));
	}
	printf("off %.3g of %.3g\n", most, size);
	CHECK(size > 5 && most < 1e-5 * size);
}

static struct nb_variation follow(double planet, double outer, double time)
{
	const double mass[N] = {1, planet, planet};
	double x[3 * N], v[3 * N];
	struct nb_ias15 s;
	struct nb_variation d;
	planets(outer, x, v);
	start(&s, mass, NULL, x, v, time < 0 ? -1 : 1);
	nb_variation_begin(&d, &s);
	while (fabs(s.elapsed) < fabs(time)) {
		CHECK(nb_ias15_step(&s) == NB_OK);
		nb_variation_follow(&d, &s);
	}
	printf("%g: megno %.5g, exponent %.3g\n", outer, nb_variation_megno(&d), nb_variation_exponent(&d));
	return d;
}

static void test_megno(void)
{
	struct nb_variation d = follow(0, 1.8, UNIT_SANITIZED ? 1000 : 2000);
	CHECK_NEAR(nb_variation_megno(&d), 2, 0.05);
	CHECK_NEAR(nb_variation_exponent(&d), 0, 2e-4);
	if (UNIT_SANITIZED)
		return;
	d = follow(0, 1.8, -2000);
	CHECK_NEAR(nb_variation_megno(&d), 2, 0.03);
	d = follow(1e-3, 1.8, 2000);
	CHECK_NEAR(nb_variation_megno(&d), 2, 0.05);
	d = follow(1e-3, 1.15, 4000);
	CHECK(nb_variation_megno(&d) > 10 && d.d[0] * 0 == 0);
	CHECK_NEAR(nb_variation_megno(&d) * 2 / 4000 / nb_variation_exponent(&d), 1, 0.4);
}

/* ---- of Wisdom and Holman's map ------------------------------------------------------------------- */

enum { MOST = NB_WHFAST_MOST };

enum kind { PLAIN, LAZY, DEMOCRATIC, RELATIVE = 4, FLAT = 8 }; /* flags */

/* A wide, flat star with a bulge. */
static const struct nb_extra *flat(size_t n, const double *mass)
{
	static struct nb_extra e;
	char why[NB_TERM_WHY];
	CHECK(nb_extra_parse("oblate j2=0.01 j4=-0.005 r=0.8 inc=40 node=20; tides k2=0.5 r=0.8; gr-potential c=30", &e,
		      why) == NB_OK);
	CHECK(nb_extra_find(&e, n, mass, NULL, why) == NB_OK);
	return &e;
}

/* n bodies, of which some have massless neighbours and one is on a long ellipse. */
static struct nb_whfast map_of(size_t n, double planet, double h, int corrector, int kind, double *pos)
{
	double mass[MOST], vel[3 * MOST] = {0};
	struct nb_whfast w;
	for (size_t i = 0; i < n; i++) {
		const double a = pow(1.5, (double)i), f = 2.4 * (double)(i * i),
			     speed = (i == 2 ? 0.5 : 0.98) / sqrt(a);
		mass[i] = i == 0 ? 1 : i % 4 == 3 ? 0 : planet * (double)i;
		for (size_t d = 0; d < 3; d++) {
			const double x[3] = {a * cos(f), a * sin(f), 0.1 * a * sin((double)i)};
			const double v[3] = {-speed * sin(f), speed * cos(f), 0.1 * speed};
			pos[3 * i + d] = (i == 0 ? 0 : x[d]) + 1;
			vel[3 * i + d] = i == 0 ? 0 : v[d];
		}
	}
	CHECK(nb_whfast_begin(&w, n, mass, 1, corrector, kind & LAZY) == NB_OK);
	if (kind & DEMOCRATIC)
		nb_whfast_democratic(&w);
	if (kind & RELATIVE)
		nb_whfast_relativity(&w, 30);
	if (kind & FLAT)
		nb_whfast_add_extra(&w, flat(n, mass));
	CHECK(nb_whfast_load(&w, pos, vel, h) == NB_OK);
	return w;
}

/* As the variation has it, times this. */
static void nudge(struct nb_whfast *w, const struct nb_variation *d, double scale)
{
	for (size_t i = 1; i < w->n; i++)
		for (size_t c = 0; c < 3; c++) {
			w->q[c][i - 1] += scale * d->d[3 * i + c];
			w->v[c][i - 1] += scale * d->u[3 * i + c];
		}
}

/* Half the difference of two runs that begin on either side of the first one. */
static void test_map_difference(size_t n, double planet, double h, int corrector, int kind, uint64_t steps)
{
	const double eps = 1e-6;
	double pos[3 * MOST], most = 0, size = 0;
	struct nb_whfast w = map_of(n, planet, h, corrector, kind, pos), ahead = w, behind = w, alone = w;
	struct nb_variation d;
	nb_variation_begin_whfast(&d, &w, pos);
	nudge(&ahead, &d, eps);
	nudge(&behind, &d, -eps);
	CHECK(nb_whfast_steps(&w, steps) == NB_OK && nb_whfast_steps(&alone, steps) == NB_OK);
	CHECK(nb_whfast_steps(&ahead, steps) == NB_OK && nb_whfast_steps(&behind, steps) == NB_OK);
	CHECK(memcmp(w.q, alone.q, sizeof w.q) == 0 && memcmp(w.v, alone.v, sizeof w.v) == 0 &&
		w.closest == alone.closest);
	for (size_t i = 1; i < n; i++)
		for (size_t c = 0; c < 3; c++) {
			const double q = (ahead.q[c][i - 1] - behind.q[c][i - 1]) / (2 * eps);
			const double v = (ahead.v[c][i - 1] - behind.v[c][i - 1]) / (2 * eps);
			most = fmax(most, fmax(fabs(q - d.d[3 * i + c]), fabs(v - d.u[3 * i + c])));
			size = fmax(size, fmax(fabs(d.d[3 * i + c]), fabs(d.u[3 * i + c])));
		}
	printf("%zu bodies, kind %d, steps of %g: off %.3g of %.3g\n", n, kind, h, most, size);
	CHECK(size > 0.5 && most < 1e-7 * size);
	CHECK_NEAR(d.megno.time, h * (double)steps, 1e-12); /* each step is counted once */
}

/* sum m' (dq.v - dv.q) over two variations of a system, m' being what the momentum of a coordinate has as mass, of
 * democratic coordinates m. */
static double form(const struct nb_whfast *w, const struct nb_variation *a, const struct nb_variation *b)
{
	double sum = 0;
	for (size_t i = 1; i < w->n; i++)
		for (size_t c = 0; c < 3; c++)
			sum += w->gm[i - 1] / (w->democratic ? 1 : w->inner[i - 1] * w->mu[i - 1]) *
			       (a->d[3 * i + c] * b->u[3 * i + c] - a->u[3 * i + c] * b->d[3 * i + c]);
	return sum;
}

static void test_form(double planet, double h, int kind, uint64_t steps)
{
	double pos[3 * MOST];
	struct nb_whfast one = map_of(6, planet, h, 0, kind, pos), two = one;
	struct nb_variation a, b;
	nb_variation_begin_whfast(&a, &one, pos);
	nb_variation_begin_whfast(&b, &two, pos);
	for (size_t k = 3; k < 18; k++) {
		b.d[k] = a.d[20 - k];
		b.u[k] = a.u[20 - k];
	}
	const double before = form(&one, &a, &b);
	CHECK(nb_whfast_steps(&one, steps) == NB_OK && nb_whfast_steps(&two, steps) == NB_OK);
	double size = 0;
	for (size_t k = 0; k < 18; k++)
		size += fabs(a.d[k]);
	printf("kind %d: symplectic form %.17g, then %.17g; size %g\n", kind, before, form(&one, &a, &b), size);
	CHECK(fabs(form(&one, &a, &b) - before) < 1e-11 * fabs(before) * size);
}

/* By logarithms of the library, one step after the other. */
static double plain_megno(struct nb_whfast *w, uint64_t steps)
{
	const struct nb_variation *d = w->variation;
	double was = 0, part = 0, y = 0, whole = 0;
	for (uint64_t k = 0; k <= steps; k++) {
		double size2 = 0;
		CHECK(k == 0 || nb_whfast_steps(w, 1) == NB_OK);
		for (size_t i = 0; i < 3 * w->n; i++)
			size2 += d->d[i] * d->d[i] + d->megno.unit2 * d->u[i] * d->u[i];
		double now = log(size2) / 2;
		if (k > 0) {
			/* the map scales it by 2^-200 */
			const double change = now - was < -100 ? now - was + 200 * log(2) : now - was, before = y;
			part += ((double)k - 0.5) * change;
			y = 2 * part / (double)k;
			whole += (before + y) / 2;
		}
		was = now;
	}
	return whole / (double)steps;
}

static double follow_map(double planet, double outer, double h, uint64_t steps)
{
	const double mass[N] = {1, planet, planet};
	double x[3 * N], v[3 * N];
	struct nb_whfast w, other;
	struct nb_variation d, e;
	planets(outer, x, v);
	CHECK(nb_whfast_begin(&w, N, mass, 1, 0, 0) == NB_OK && nb_whfast_load(&w, x, v, h) == NB_OK);
	other = w;
	nb_variation_begin_whfast(&d, &w, x);
	nb_variation_begin_whfast(&e, &other, x);
	CHECK(nb_whfast_steps(&w, steps) == NB_OK);
	const double megno = nb_variation_megno(&d), exponent = nb_variation_exponent(&d);
	printf("%g: megno of the map %.5g, exponent %.3g\n", outer, megno, exponent);
	CHECK_NEAR(plain_megno(&other, steps) / megno, 1, 1e-11);
	CHECK(memcmp(&d, &e, sizeof d) == 0 && d.megno.time * h > 0);
	CHECK_NEAR(megno < 3 ? exponent : megno * 2 / d.megno.time / exponent - 1, 0, megno < 3 ? 2e-4 : 0.5);
	return megno;
}

/* As orbits by ias15 have it. */
static void test_map_megno(void)
{
	CHECK_NEAR(follow_map(0, 1.8, 0.2, 10000), 2, 0.05);
	CHECK_NEAR(follow_map(1e-3, 1.8, -0.2, 10000), 2, 0.05);
	if (UNIT_SANITIZED)
		return;
	struct nb_variation d = follow(1e-4, 1.21, 3000);
	CHECK_NEAR(nb_variation_megno(&d), 2, 0.12);
	CHECK_NEAR(follow_map(1e-4, 1.21, 0.1, 30000), 2, 0.05);
	d = follow(1e-4, 1.19, 3000);
	CHECK(nb_variation_megno(&d) > 10);
	CHECK(follow_map(1e-4, 1.19, 0.1, 60000) > 10);
}

/* Two maps, the second with half of the step of the first on the way: MEGNO does not notice. */
static void test_change_step(void)
{
	double pos[3 * MOST], x[3 * MOST], v[3 * MOST];
	struct nb_whfast w = map_of(4, 1e-3, 0.1, 5, PLAIN, pos), other = w;
	struct nb_variation d, e;
	nb_variation_begin_whfast(&d, &w, pos);
	nb_variation_begin_whfast(&e, &other, pos);
	CHECK(nb_whfast_steps(&w, 20) == NB_OK && nb_whfast_steps(&other, 10) == NB_OK);
	for (int k = 0; k < 2; k++) {
		const double h = k == 0 ? 0.05 : 0.1;
		CHECK(nb_whfast_store(&other, x, v) == NB_OK && nb_variation_change_step(&other, h) == NB_OK);
		CHECK(nb_whfast_load(&other, x, v, h) == NB_OK && !other.variation);
		other.variation = &e;
		CHECK(nb_whfast_steps(&other, k == 0 ? 10 : 5) == NB_OK);
	}
	for (size_t k = 3; k < 12; k++) {
		CHECK_NEAR(e.d[k], d.d[k], 2e-4);
		CHECK_NEAR(e.u[k], d.u[k], 2e-4);
	}
}

static void test_star(void)
{
	double pos[3 * MOST];
	struct nb_variation d;
	struct nb_whfast w = map_of(1, 1e-3, 0.1, 0, PLAIN, pos);
	nb_variation_begin_whfast(&d, &w, pos);
	CHECK(nb_whfast_steps(&w, 5) == NB_OK);
	CHECK(nb_variation_megno(&d) == 0 && nb_variation_exponent(&d) == 0);
}

static void test_few(void)
{
	const double mass[1] = {1}, x[3] = {0}, v[3] = {0};
	struct nb_ias15 s;
	struct nb_variation d;
	for (size_t n = 0; n < 2; n++) {
		CHECK(nb_ias15_begin(&s, n, mass, 1, 0) == NB_OK);
		CHECK(nb_ias15_load(&s, x, v, 0.175, 1, 1) == NB_OK);
		nb_variation_begin(&d, &s);
		CHECK(nb_ias15_step(&s) == NB_OK);
		nb_variation_follow(&d, &s);
		CHECK(nb_variation_megno(&d) == 0 && nb_variation_exponent(&d) == 0);
	}
}

int main(void)
{
	test_difference(NULL);
	test_difference(flat(N, (const double[N]){1, 1e-2, 1e-2}));
	test_megno();
	test_few();
	for (size_t n = 2; n <= MOST; n++)
		test_map_difference(n, 1e-3, n % 2 == 0 ? 0.1 : -0.15, n % 3 == 0 ? 5 : 0, PLAIN, 30);
	static const int kinds[] = {LAZY, DEMOCRATIC, RELATIVE, LAZY | RELATIVE, DEMOCRATIC | RELATIVE, FLAT,
		LAZY | FLAT, DEMOCRATIC | FLAT};
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		test_map_difference(2 + k, 1e-3, 0.1, 0, kinds[k], 30);
		test_map_difference(16 - k, 1e-3, -0.15, 0, kinds[k], 30);
		if (!(kinds[k] & LAZY)) /* which is not exactly symplectic */
			test_form(1e-3, 0.1, kinds[k], 300);
	}
	/* the slow way: long arcs, and several periods */
	for (double h = 1; h < 40; h *= 1.7) {
		test_map_difference(3, 1e-9, h, 0, PLAIN, 1);
		test_map_difference(3, 1e-9, -h, 0, PLAIN, 2);
	}
	test_form(1e-3, 0.1, PLAIN, 300);
	test_form(1e-9, 3, PLAIN, 100);
	test_change_step();
	test_map_megno();
	test_star();
	return unit_end();
}
