/* Expansion, integrals of time and growth: closed forms of one or two components, and numbers of 30 digits. */
#include "kernels/cosmology/cosmology.h"
#include "tests/unit/unit.h"

#include <math.h>

#define PI 3.14159265358979323846

static const struct nb_cosmology empty_of_light = {.omega_m = 0.32, .omega_l = 0.68, .w0 = -1};

/* Relative error. */
static void near(double got, double want, double error)
{
	CHECK_NEAR(got, want, error * fabs(want));
}

/* A flat universe of matter and Lambda, H0 = sqrt(8 pi / 3): power series in a^3 and an ODE of 30 digits, each checked
 * by the hypergeometric function of D1. */
static void test_truths(void)
{
	static const struct {
		double a, D[NB_NGROWTH], f[NB_NGROWTH];
	} truth[] = {
		{1,
			{0.7906690232585584832998, 0.2701133944314383201497, 0.1676117839123708194886,
				0.2395809685407689188337, 0.07178807906506082168296},
			{0.5318013687990280260197, 1.078089545977398900465, 1.626311770673296182906,
				1.627283775288108765568, 1.625213099283631649361}},
		{0.5,
			{0.4784574745634472700102, 0.09827238584411265821173, 0.03663645029814882367806,
				0.05234400494762083428985, 0.01569925960093149541632},
			{0.8790616360998347765, 1.762597619826111237752, 2.646537509064282032578,
				2.646855254579443797509, 2.646183238967468812334}},
		{0.1,
			{0.09996140222282510052055, 0.004282470118950211993691, 0.0003329577859858353030583,
				0.0004756544883699315757004, 0.0001426960245281295994349},
			{0.9988427761210278238471, 1.997730045882878450883, 2.996620879162613958782,
				2.996624082314500135992, 2.996617319995662405721}},
	};
	struct nb_cosmology c = empty_of_light;
	c.H0 = sqrt(8 * PI / 3);
	CHECK(nb_cosmology_check(&c, 1) == NB_OK);
	near(nb_cosmology_hubble(&c, 0.01), 1637.324472368860899647, 1e-15);
	near(nb_cosmology_time(&c, 1), 0.3271034094340954560685, 1e-14);
	near(nb_cosmology_time(&c, 0.1), 0.01287125090772049676463, 1e-14);
	near(nb_cosmology_time(&c, 0.01), 0.0004071686157136353597404, 1e-14);
	const double a0 = nb_cosmology_later(&c, 0.1, 0.1 - nb_cosmology_time(&c, 0.1));
	const double a1 = nb_cosmology_later(&c, a0, 0.01);
	near(a0, 0.3977797401582867632945, 1e-14);
	near(a1, 0.4251327563324629054965, 1e-14);
	near(nb_cosmology_drift(&c, a0, a1), 0.05912002238902039355676, 2e-14);
	near(nb_cosmology_kick(&c, a0, a1), 0.02431012964186251526814, 2e-14);
	near(nb_cosmology_later(&c, a1, -0.01), a0, 1e-14);
	CHECK(isnan(nb_cosmology_later(&c, a0, -0.2)));
	for (size_t k = 0; k < sizeof truth / sizeof *truth; k++) {
		struct nb_growth growth;
		nb_cosmology_growth(&c, truth[k].a, &growth);
		for (int i = 0; i < NB_NGROWTH; i++) {
			near(growth.D[i], truth[k].D[i], 5e-13);
			near(growth.f[i], truth[k].f[i], 5e-13);
		}
	}
}

/* Matter alone, radiation and matter, a constant w, and curvature, all in closed form. */
static void test_closed_forms(void)
{
	struct nb_growth g;
	const struct nb_cosmology matter = {.H0 = 2, .omega_m = 1, .w0 = -1};
	near(nb_cosmology_time(&matter, 0.3), pow(0.3, 1.5) / 3, 1e-14);
	near(nb_cosmology_kick(&matter, 0.2, 0.8), sqrt(0.8) - sqrt(0.2), 1e-14);
	near(nb_cosmology_drift(&matter, 0.2, 0.8), 1 / sqrt(0.2) - 1 / sqrt(0.8), 1e-14);
	near(nb_cosmology_drift(&matter, 0.8, 0.2), 1 / sqrt(0.8) - 1 / sqrt(0.2), 1e-14);
	nb_cosmology_growth(&matter, 0.25, &g);
	near(g.D[NB_D1], 0.25, 5e-13);
	near(g.D[NB_D2], 3 * pow(0.25, 2) / 7, 5e-13);
	near(g.D[NB_D3A], pow(0.25, 3) / 3, 5e-13);
	near(g.D[NB_D3B], 10 * pow(0.25, 3) / 21, 5e-13);
	near(g.D[NB_D3C], pow(0.25, 3) / 7, 5e-13);

	/* Meszaros: D = a + 2/3 a_eq; t by sqrt(a + a_eq) */
	const double a = 0.01, eq = 3e-4 / 0.9997;
	const struct nb_cosmology light = {.H0 = 1, .omega_m = 0.9997, .omega_r = 3e-4, .w0 = -1};
	const double root = sqrt(a + eq);
	near(nb_cosmology_time(&light, a), 2 * (root * (a - 2 * eq) + 2 * pow(eq, 1.5)) / (3 * sqrt(light.omega_m)),
		1e-13);
	near(nb_cosmology_kick(&light, 0.001, a), 2 * (root - sqrt(0.001 + eq)) / sqrt(light.omega_m), 1e-13);
	nb_cosmology_growth(&light, a, &g);
	near(g.D[NB_D1], a + 2 * eq / 3, 5e-13);
	near(g.f[NB_D1], a / (a + 2 * eq / 3), 5e-13);
	/* the second order by its power series in y = a / a_eq < 1: m^2 c_m + (m - 2)(m + 1/2) c_(m-1) = s_m */
	const double y = 0.2, source[] = {0, 2. / 3, 2, 1.5};
	double before = 0, sum = 0;
	for (int m = 1; m < 60; m++) {
		before = ((m < 4 ? source[m] : 0) - (m - 2) * (m + 0.5) * before) / (m * m);
		sum += before * pow(y, m);
	}
	nb_cosmology_growth(&light, y * eq, &g);
	near(g.D[NB_D2], sum * eq * eq, 1e-9); /* of beginning at 1e-14 */

	/* E^2 = om a^-3 + ol a^-1.5: with u = a^1.5, t = int du / (1.5 sqrt(om + ol u)) */
	const struct nb_cosmology wide = {.H0 = 1, .omega_m = 0.3, .omega_l = 0.7, .w0 = -0.5};
	near(nb_cosmology_time(&wide, 0.5), (sqrt(0.3 + 0.7 * pow(0.5, 1.5)) - sqrt(0.3)) * 2 / (1.5 * 0.7), 1e-13);
	/* and w = w0 + wa (1 - a) is constant where wa = 0, and acts as exp(-3 wa (1 - a)) */
	struct nb_cosmology moving = wide;
	moving.w0 = -0.9, moving.wa = 0.4;
	near(nb_cosmology_hubble(&moving, 0.5), sqrt(0.3 * 8 + 0.7 * pow(0.5, -1.5) * exp(-0.6)), 1e-15);

	/* open: E^2 = om a^-3 + (1 - om) a^-2, int dt/a = acosh(...) */
	const struct nb_cosmology open = {.H0 = 1, .omega_m = 0.3, .w0 = -1};
	const double far = acosh(1 + 2 * 0.7 / 0.3), close = acosh(1 + 2 * 0.7 / 0.3 * 0.1);
	near(nb_cosmology_kick(&open, 0.1, 1), (far - close) / sqrt(0.7), 1e-13);
	/* D1 = 5/2 om^... in closed form (Peebles 1980, eq. 11.16), x = (1 - om) a / om */
	const double x = 0.7 / 0.3, D = 1 + 3 / x + 3 * sqrt((1 + x) / (x * x * x)) * log(sqrt(1 + x) - sqrt(x));
	nb_cosmology_growth(&open, 1, &g);
	near(g.D[NB_D1], 2.5 * D / x, 1e-12);
}

/* The equation of a mode of w is that of the definition: by differences of what it gives. */
static void test_growth_of_dark_energy(void)
{
	const struct nb_cosmology c = {
		.H0 = 1, .omega_m = 0.3, .omega_l = 0.6999, .omega_r = 1e-4, .w0 = -0.8, .wa = 0.3};
	const double h = 1e-3, a[3] = {0.6 * exp(-h), 0.6, 0.6 * exp(h)};
	struct nb_growth g[3];
	for (int k = 0; k < 3; k++)
		nb_cosmology_growth(&c, a[k], &g[k]);
	const double slope = (log(nb_cosmology_hubble(&c, a[2])) - log(nb_cosmology_hubble(&c, a[0]))) / (2 * h);
	for (int i = 0; i < NB_NGROWTH; i++) {
		const double *D = g[1].D, D1 = D[NB_D1], pull = 1.5 * nb_cosmology_omega_m(&c, 0.6);
		const double source[] = {
			0, D1 * D1, 2 * D1 * D1 * D1, 2 * (D1 * D1 * D1 + D1 * D[NB_D2]), D1 * D1 * D1};
		const double second = (g[2].D[i] * g[2].f[i] - g[0].D[i] * g[0].f[i]) / (2 * h);
		near((g[2].D[i] - g[0].D[i]) / (2 * h), D[i] * g[1].f[i], 1e-5);
		near(second + (2 + slope) * D[i] * g[1].f[i], pull * ((i == NB_D3C ? 0 : D[i]) + source[i]), 1e-5);
	}
}

static void test_refused(void)
{
	const struct nb_cosmology bad[] = {
		{.H0 = 0, .omega_m = 0.3, .w0 = -1},
		{.H0 = 1, .omega_m = 0, .w0 = -1},
		{.H0 = NAN, .omega_m = 0.3, .w0 = -1},
		{.H0 = 1, .omega_m = 0.3, .omega_l = 1.9, .w0 = -1}, /* has no beginning */
		{.H0 = 1, .omega_m = 0.3, .omega_r = -1, .w0 = -1},
		{.H0 = 1, .omega_m = 0.3, .omega_l = 0.7, .w0 = 0.2},
	};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
		CHECK(nb_cosmology_check(&bad[k], 1) == NB_EINVAL);
	const struct nb_cosmology c = {.H0 = 1, .omega_m = 0.3, .omega_l = 0.7, .w0 = -1};
	const struct nb_cosmology closed = {.H0 = 1, .omega_m = 2, .w0 = -1}; /* comes to rest at a = 2 */
	CHECK(nb_cosmology_check(&closed, 1.9) == NB_OK && nb_cosmology_check(&closed, 2.1) == NB_EINVAL);
	CHECK(nb_cosmology_check(&c, 0) == NB_EINVAL && nb_cosmology_check(&c, INFINITY) == NB_EINVAL);
	CHECK(nb_cosmology_check(&c, 1e-9) == NB_OK && nb_cosmology_check(&c, 100) == NB_OK);
}

int main(void)
{
	test_truths();
	test_closed_forms();
	test_growth_of_dark_energy();
	test_refused();
	return unit_end();
}
