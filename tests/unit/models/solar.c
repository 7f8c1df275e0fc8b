/* The solar system at J2000.0 against published figures that the model does not read. */
#include "tests/unit/models/bodies.h"

enum { PLANETS = 8 };

struct planet {
	const char *name;
	double elements[3]; /* AU: from the elements of Standish & Williams, by true anomaly and argument of latitude */
	double vsop[3];	    /* AU: Bretagnon & Francou 1988, A&A 202, 309: file vsop87.chk, VSOP87A, JD 2451545.0 */
	double GM;	    /* km^3 / s^2, with moons: DE440, Park et al. 2021, AJ 161, 105, table 2 */
	double equator, pole; /* radii in km: Archinal et al. 2018, Cel. Mech. 130, 22, table 4 */
};

/* clang-format off */
static const struct planet planets[PLANETS] = {
	{"Mercury", {-0.13009, -0.44729, -0.02460}, {-0.1300934115, -0.4472876716, -0.0245983802}, 22031.868551, 2440.53, 2438.26},
	{"Venus", {-0.71832, -0.03271, 0.04102}, {-0.7183022797, -0.0326546017, 0.0410142975}, 324858.592000, 6051.8, 6051.8},
	{"Earth and Moon", {-0.17717, 0.96721, 0}, {-0.1771354586, 0.9672416237, -0.0000039000}, 403503.235625, 6378.1366, 6356.7519},
	{"Mars", {1.39067, -0.01339, -0.03446}, {1.3907159264, -0.0134157043, -0.0344677967}, 42828.375816, 3396.19, 3376.20},
	{"Jupiter", {3.99832, 2.94571, -0.10172}, {4.0011740268, 2.9385810077, -0.1017837501}, 126712764.100000, 71492, 66854},
	{"Saturn", {6.41478, 6.54567, -0.36915}, {6.4064068573, 6.5699929449, -0.3690768029}, 37940584.841800, 60268, 54364},
	{"Uranus", {14.42547, -13.73765, -0.23803}, {14.4318934159, -13.7343162527, -0.2381421963}, 5794556.400000, 25559, 24973},
	{"Neptune", {16.80476, -24.99271, 0.12740}, {16.8121116576, -24.9916630908, 0.1272190171}, 6836527.100580, 24764, 24341}};
/* clang-format on */
static const double sun_GM = 132712440041.279419, sun_radius = 695700, au_km = 149597870.7;

/* from the Sun */
static double apart(const struct bodies *b, size_t i, const double *x)
{
	double d[3];
	for (int c = 0; c < 3; c++)
		d[c] = b->pos[3 * i + c] - b->pos[c] - x[c];
	return norm(d);
}

static void test_positions(const struct bodies *b)
{
	double weight[3] = {0}, sun[3] = {0};
	for (size_t i = 1; i <= PLANETS; i++) {
		const struct planet *p = &planets[i - 1];
		const double off = apart(b, i, p->elements), true_off = apart(b, i, p->vsop);
		EXPECT(off < 1e-4, "%s is %g AU from where its elements put it", p->name, off);
		/* The elements are good to 600 arc seconds for Saturn, and to some tens for those up to Mars. */
		EXPECT(true_off < (i <= 4 ? 1e-3 : 600 / 206265. * norm(p->vsop)), "%s is %g AU from where it was",
			p->name, true_off);
		for (int c = 0; c < 3; c++)
			weight[c] += p->GM / sun_GM * p->elements[c];
	}
	double total = 1;
	for (size_t i = 0; i < PLANETS; i++)
		total += planets[i].GM / sun_GM;
	for (int c = 0; c < 3; c++)
		sun[c] = b->pos[c] + weight[c] / total;
	EXPECT(norm(sun) < 1e-6, "the Sun is %g AU from where it balances the planets", norm(sun));
}

static void test_masses_and_radii(const struct bodies *b)
{
	double radius[PLANETS + 1];
	struct nb_model *model;
	const char *why;
	const struct nb_model_param param = defaults(NB_MODEL_SOLAR);
	if (nb_model_create(&param, &model, &why)) {
		EXPECT(0, "%s", why ? why : "no memory");
		return;
	}
	EXPECT(nb_model_fill(model, NB_MODEL_RADIUS, 0, PLANETS + 1, radius) == NB_OK, "radii");
	EXPECT(b->mass[0] == 1 && fabs(radius[0] * au_km / sun_radius - 1) < 1e-6, "Sun: mass %g, radius %g km",
		b->mass[0], radius[0] * au_km);
	for (size_t i = 1; i <= PLANETS; i++) {
		const struct planet *p = &planets[i - 1];
		/* the sphere of the same volume */
		const double mean = cbrt(p->equator * p->equator * p->pole);
		EXPECT(fabs(b->mass[i] * sun_GM / p->GM - 1) < 1e-5, "%s: 1 / %.9g of the Sun's mass", p->name,
			1 / b->mass[i]);
		EXPECT(fabs(radius[i] * au_km / mean - 1) < 2e-4, "%s: radius %.9g km, want %.9g", p->name,
			radius[i] * au_km, mean);
	}
	nb_model_free(model);
}

int main(void)
{
	const struct nb_model_param param = defaults(NB_MODEL_SOLAR);
	struct bodies b = make(&param);
	EXPECT(b.n == PLANETS + 1, "%zu bodies", b.n);
	test_positions(&b);
	test_masses_and_radii(&b);
	drop(&b);
	return unit_end();
}
