/* extra_cpu.c - forces between a body and others, beside gravity. */
#include "kernels/small/small.h"
#include "kernels/small/small_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const struct nb_term_kind nb_extra_info[NB_NEXTRA] = {
#define NB_EXTRA(id, name, keys, formula) {name, keys, formula},
#include "kernels/small/extra.def"
#undef NB_EXTRA
};

static const struct nb_term_key key_info[NB_NEXTRA_KEY] = {
#define NB_EXTRA_KEY(id, name, sign, value) {name, NB_TERM_##sign, value},
#include "kernels/small/extra.def"
#undef NB_EXTRA_KEY
};

_Static_assert((int)NB_NEXTRA_KEY <= (int)NB_TERM_KEYS_MOST, "keys");

#define FAIL(...) (snprintf(why, NB_TERM_WHY, __VA_ARGS__), NB_EINVAL)

/* Of degrees; multiples of 90 are exact, so that an axis may lie in a plane, or be normal to it. */
static double sine(double angle)
{
	const double turn = fmod(angle, 360);
	if (fmod(turn, 180) == 0)
		return 0;
	if (fmod(turn, 90) == 0)
		return turn == 90 || turn == -270 ? 1 : -1;
	return sin(turn * (3.14159265358979323846 / 180));
}

static double cosine(double angle)
{
	return sine(fmod(angle, 360) + 90);
}

/* What would do nothing. */
static int require_effect(const struct nb_term *t, char *why)
{
	static const int of_lag[] = {NB_EXTRA_KEY_OMEGA, NB_EXTRA_KEY_INC, NB_EXTRA_KEY_NODE};
	for (int j = 0; j < 3 && t->kind == NB_EXTRA_TIDES; j++)
		if (t->given >> of_lag[j] & 1 && t->value[j == 0 ? NB_EXTRA_KEY_TAU : NB_EXTRA_KEY_OMEGA] == 0)
			return FAIL("force tides: %s has no effect without %s", key_info[of_lag[j]].name,
				key_info[j == 0 ? NB_EXTRA_KEY_TAU : NB_EXTRA_KEY_OMEGA].name);
	if (t->kind == NB_EXTRA_GR_FULL && t->given >> NB_EXTRA_KEY_BODY & 1)
		return FAIL("force gr-full: it is of all pairs, and has no body");
	static const int times[] = {NB_EXTRA_KEY_TAU_A, NB_EXTRA_KEY_TAU_E, NB_EXTRA_KEY_TAU_I};
	unsigned given = 0;
	if (t->kind != NB_EXTRA_DAMP)
		return NB_OK;
	for (size_t j = 0; j < sizeof times / sizeof *times; j++) {
		given |= t->given & 1u << times[j];
		if (t->given >> times[j] & 1 && t->value[times[j]] == 0)
			return FAIL("force damp: %s is 0 (want a time, negative to grow)", key_info[times[j]].name);
	}
	return given ? NB_OK : FAIL("force damp: no time (want tau_a, tau_e or tau_i)");
}

int nb_extra_parse(const char *text, struct nb_extra *e, char why[NB_TERM_WHY])
{
	static const struct nb_term_language language = {.noun = "force",
		.nkind = NB_NEXTRA,
		.kind = nb_extra_info,
		.nkey = NB_NEXTRA_KEY,
		.key = key_info,
		.common = "body?",
		.positive_kind = -1};
	int status = nb_terms_parse(&language, text, e->term, &e->n, why);
	for (int k = 0; k < e->n && !status; k++) {
		const double inc = e->term[k].value[NB_EXTRA_KEY_INC], node = e->term[k].value[NB_EXTRA_KEY_NODE];
		e->axis[k][0] = sine(node) * sine(inc);
		e->axis[k][1] = -cosine(node) * sine(inc);
		e->axis[k][2] = cosine(inc);
		status = require_effect(&e->term[k], why);
	}
	return status;
}

int nb_extra_needs_velocities(const struct nb_extra *e)
{
	int needs = 0;
	for (int k = 0; k < e->n; k++)
		switch (e->term[k].kind) {
		case NB_EXTRA_GR_POTENTIAL:
		case NB_EXTRA_OBLATE: break;
		case NB_EXTRA_TIDES: needs |= e->term[k].value[NB_EXTRA_KEY_TAU] != 0; break;
		default: needs = 1;
		}
	return needs;
}

static size_t row_of(double id, size_t n, const uint64_t *ids)
{
	size_t row = 0;
	while (row < n && (ids ? (double)ids[row] : (double)row) != id)
		row++;
	return row;
}

int nb_extra_find(struct nb_extra *e, size_t n, const double *mass, const uint64_t *id, char why[NB_TERM_WHY])
{
	size_t heaviest = 0; /* of several the one with the lowest id: the order may be any */
	for (size_t i = 1; i < n; i++)
		if (mass[i] > mass[heaviest] || (mass[i] == mass[heaviest] && id && id[i] < id[heaviest]))
			heaviest = i;
	for (int k = 0; k < e->n; k++) {
		const struct nb_term *t = &e->term[k];
		const char *name = nb_extra_info[t->kind].name;
		const int keys[2] = {NB_EXTRA_KEY_BODY, NB_EXTRA_KEY_ON};
		size_t *const rows[2] = {&e->from[k], &e->on[k]};
		for (int j = 0; j < 2; j++) {
			*rows[j] = t->given >> keys[j] & 1 ? row_of(t->value[keys[j]], n, id) : heaviest;
			if (*rows[j] == n)
				return FAIL("force %s: no body with the id %.0f", name, t->value[keys[j]]);
		}
		const size_t from = e->from[k];
		if (t->kind == NB_EXTRA_GR_FULL && n > NB_SMALL_MOST)
			return FAIL("force gr-full: more than %d bodies", NB_SMALL_MOST);
		if (!(mass[from] > 0) && t->kind != NB_EXTRA_GR_FULL) /* others would be pulled without a reaction */
			return FAIL("force %s: the centre, body %" PRIu64 ", has no mass", name, id ? id[from] : from);
		if (t->kind == NB_EXTRA_DAMP && e->on[k] == from)
			return FAIL("force damp: on=%.0f is the centre itself", t->value[NB_EXTRA_KEY_ON]);
	}
	return NB_OK;
}

int nb_extra_is_inside(const struct nb_extra *e, size_t n, const double *pos, int *term, size_t *row)
{
	for (int k = 0; k < e->n; k++) {
		const double R = e->term[k].value[NB_EXTRA_KEY_R], *from = &pos[3 * e->from[k]]; /* 0 without key r */
		for (size_t i = 0; i < n; i++) {
			double r2 = 0;
			for (size_t d = 0; d < 3; d++)
				r2 += (pos[3 * i + d] - from[d]) * (pos[3 * i + d] - from[d]);
			*term = k;
			*row = i;
			if (i != e->from[k] && r2 < R * R)
				return 1;
		}
	}
	return 0;
}

static double product(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* One body, with what it has relative to the one that the force comes from, both of G m, and that one's axis. */
struct pair {
	double from, gm, r2, r, x[3], v[3], along; /* along: x.v */
	const double *p, *axis;			   /* values of keys */
};

static void gr(const struct pair *b, double *a)
{
	const double c = b->p[NB_EXTRA_KEY_C], s = b->from / (c * c * b->r2 * b->r);
	for (int d = 0; d < 3; d++)
		a[d] = s * ((4 * b->from / b->r - product(b->v, b->v)) * b->x[d] + 4 * b->along * b->v[d]);
}

static double gr_potential(const struct pair *b, double *a)
{
	const double speed = b->from / (b->p[NB_EXTRA_KEY_C] * b->r);
	for (int d = 0; d < 3; d++)
		a[d] = -6 * speed * speed / b->r2 * b->x[d];
	return -3 * speed * speed;
}

/* Legendre's polynomials P_2 and P_4 of u, the cosine of the angle to the axis. */
static double oblate(const struct pair *b, double *a)
{
	const double u = product(b->x, b->axis) / b->r, u2 = u * u, q = b->p[NB_EXTRA_KEY_R] / b->r, q2 = q * q;
	const double two = b->p[NB_EXTRA_KEY_J2] * q2, four = b->p[NB_EXTRA_KEY_J4] * q2 * q2;
	const double p2 = 1.5 * u2 - 0.5, p4 = (35 * u2 * u2 - 30 * u2 + 3) / 8;
	const double slope2 = 3 * u, slope4 = (35 * u2 - 15) * u / 2;
	const double radial = two * (3 * p2 + u * slope2) + four * (5 * p4 + u * slope4);
	const double axial = two * slope2 + four * slope4;
	for (int d = 0; d < 3; d++)
		a[d] = b->from / b->r2 * (radial * b->x[d] / b->r - axial * b->axis[d]);
	return b->from / b->r * (two * p2 + four * p4);
}

/* The bulge is that which the other body raises. */
static double tides(const struct pair *b, double *a)
{
	const double q = b->p[NB_EXTRA_KEY_R] / b->r, tau = b->p[NB_EXTRA_KEY_TAU], *x = b->x, *v = b->v;
	const double s = 3 * b->p[NB_EXTRA_KEY_K2] * b->gm * q * q * q * q * q / (b->r2 * b->r);
	double spin[3]; /* beyond that of the orbit, x cross v / r^2 */
	for (int d = 0; d < 3; d++) {
		const int e = (d + 1) % 3, f = (d + 2) % 3;
		spin[d] = b->p[NB_EXTRA_KEY_OMEGA] * b->axis[d] - (x[e] * v[f] - x[f] * v[e]) / b->r2;
	}
	for (int d = 0; d < 3; d++) {
		const int e = (d + 1) % 3, f = (d + 2) % 3;
		a[d] = s * (tau * (spin[e] * x[f] - spin[f] * x[e]) - (1 + 3 * tau * b->along / b->r2) * x[d]);
	}
	return -s / 6 * b->r2;
}

static void radiation(const struct pair *b, double *a)
{
	const double c = b->p[NB_EXTRA_KEY_C], s = b->p[NB_EXTRA_KEY_BETA] * b->from / b->r2;
	for (int d = 0; d < 3; d++)
		a[d] = s * ((1 - b->along / (b->r * c)) * b->x[d] / b->r - b->v[d] / c);
}

static void damp(const struct pair *b, double *a)
{
	const double tau_a = b->p[NB_EXTRA_KEY_TAU_A], tau_e = b->p[NB_EXTRA_KEY_TAU_E],
		     tau_i = b->p[NB_EXTRA_KEY_TAU_I];
	for (int d = 0; d < 3; d++) {
		a[d] = tau_a != 0 ? -b->v[d] / (2 * tau_a) : 0;
		a[d] -= tau_e != 0 ? 2 * b->along * b->x[d] / (b->r2 * tau_e) : 0;
		a[d] -= tau_i != 0 && d == 2 ? 2 * b->v[d] / tau_i : 0;
	}
}

/* The variation of the acceleration -s x, with s as r^-power, from that of x, which b has in place of v. */
static void vary_central(const struct pair *b, double s, double power, double *a)
{
	for (int d = 0; d < 3; d++)
		a[d] = -s * (b->v[d] - power * b->along / b->r2 * b->x[d]);
}

static void vary_oblate(const struct pair *b, double *a)
{
	const double u = product(b->x, b->axis) / b->r, u2 = u * u, q = b->p[NB_EXTRA_KEY_R] / b->r, q2 = q * q;
	const double two = b->p[NB_EXTRA_KEY_J2] * q2, four = b->p[NB_EXTRA_KEY_J4] * q2 * q2;
	const double longer = b->along / b->r2, du = product(b->v, b->axis) / b->r - u * longer; /* longer: dr / r */
	const double radial2 = two * (7.5 * u2 - 1.5), radial4 = four * ((315 * u2 - 210) * u2 + 15) / 8;
	const double axial2 = two * 3 * u, axial4 = four * (17.5 * u2 - 7.5) * u;
	const double radial = -longer * (5 * radial2 + 7 * radial4) +
			      du * u *
				      (two * 15 +
					      four * (157.5 * u2 - 52.5)); /* of the factor of x, as r^-5 and r^-7 */
	const double axial = -longer * (4 * axial2 + 6 * axial4) + du * (two * 3 + four * (52.5 * u2 - 7.5));
	for (int d = 0; d < 3; d++)
		a[d] = b->from / b->r2 *
		       ((radial * b->x[d] + (radial2 + radial4) * b->v[d]) / b->r - axial * b->axis[d]);
}

/* As accelerate() below, of a variation, without an energy. */
static double vary(int kind, const struct pair *b, double *a)
{
	const double q = b->p[NB_EXTRA_KEY_R] / b->r;
	if (kind == NB_EXTRA_OBLATE)
		vary_oblate(b, a);
	else if (kind == NB_EXTRA_GR_POTENTIAL) {
		const double speed = b->from / (b->p[NB_EXTRA_KEY_C] * b->r);
		vary_central(b, 6 * speed * speed / b->r2, 4, a);
	} else /* a bulge without a lag */
		vary_central(b, 3 * b->p[NB_EXTRA_KEY_K2] * b->gm * q * q * q * q * q / (b->r2 * b->r), 8, a);
	return 0;
}

/* The energy of the pair over G m of the body is returned, 0 if it has none. */
static double accelerate(int kind, const struct pair *b, double *a)
{
	switch (kind) {
	case NB_EXTRA_GR_POTENTIAL: return gr_potential(b, a);
	case NB_EXTRA_OBLATE: return oblate(b, a);
	case NB_EXTRA_TIDES: return tides(b, a);
	case NB_EXTRA_RADIATION: radiation(b, a); return 0;
	case NB_EXTRA_DAMP: damp(b, a); return 0;
	default: gr(b, a); return 0;
	}
}

/* G m / r of all others at each body, and the accelerations by them. */
static void find_field(size_t n, const double *gm, const double *pos, double *depth, double *acc)
{
	memset(depth, 0, n * sizeof *depth);
	memset(acc, 0, 3 * n * sizeof *acc);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			const double d[3] = {pos[3 * j] - pos[3 * i], pos[3 * j + 1] - pos[3 * i + 1],
				pos[3 * j + 2] - pos[3 * i + 2]};
			const double r2 = product(d, d), by = gm[j] / sqrt(r2);
			if (r2 == 0)
				continue;
			depth[i] += by;
			for (size_t c = 0; c < 3; c++)
				acc[3 * i + c] += by / r2 * d[c];
		}
}

/* Terms of 1/c^2 of all pairs, for velocities relative to the centre of mass; the accelerations in them are those of
 * gravity alone. */
static void gr_full(double c, size_t n, const double *gm, const double *pos, const double *vel, double *acc)
{
	double depth[NB_SMALL_MOST], pull[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST], drift[3];
	find_field(n, gm, pos, depth, pull);
	nb_small_centre(n, gm, vel, drift);
	for (size_t k = 0; k < 3 * n; k++)
		v[k] = vel[k] - drift[k % 3];
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			const double *vi = &v[3 * i], *vj = &v[3 * j], *aj = &pull[3 * j];
			double d[3], mixed[3], sum;
			for (size_t k = 0; k < 3; k++) {
				d[k] = pos[3 * i + k] - pos[3 * j + k];
				mixed[k] = 4 * vi[k] - 3 * vj[k];
			}
			const double r2 = product(d, d), r = sqrt(r2), s = gm[j] / (r2 * r * (c * c)),
				     along = product(d, vj);
			if (r2 == 0 || gm[j] == 0)
				continue;
			sum = 4 * depth[i] + depth[j] - product(vi, vi) - 2 * product(vj, vj) + 4 * product(vi, vj);
			sum += 1.5 * along * along / r2 + 0.5 * product(d, aj);
			for (size_t k = 0; k < 3; k++)
				acc[3 * i + k] += s *
						  (sum * d[k] + product(d, mixed) * (vi[k] - vj[k]) + 3.5 * r2 * aj[k]);
		}
}

static int is_acted_on(const struct nb_extra *e, int k, size_t i, double gm)
{
	const int kind = e->term[k].kind;
	return i != e->from[k] && (kind != NB_EXTRA_DAMP || i == e->on[k]) && (kind != NB_EXTRA_RADIATION || gm == 0);
}

/* varied: vel is a variation of the positions, and acc that of accelerations. */
static void add(const struct nb_extra *e, size_t n, const double *gm, const double *pos, const double *vel, int varied,
	double *acc, double *pot)
{
	for (int k = 0; k < e->n; k++) {
		const int kind = e->term[k].kind;
		const size_t from = e->from[k];
		if (kind == NB_EXTRA_GR_FULL)
			gr_full(e->term[k].value[NB_EXTRA_KEY_C], n, gm, pos, vel, acc);
		for (size_t i = 0; i < n && kind != NB_EXTRA_GR_FULL; i++) {
			struct pair b = {.from = gm[from], .gm = gm[i], .p = e->term[k].value, .axis = e->axis[k]};
			double a[3];
			if (!is_acted_on(e, k, i, gm[i]))
				continue;
			for (size_t d = 0; d < 3; d++) {
				b.x[d] = pos[3 * i + d] - pos[3 * from + d];
				b.v[d] = vel ? vel[3 * i + d] - vel[3 * from + d] : 0;
			}
			b.r2 = product(b.x, b.x);
			b.r = sqrt(b.r2);
			b.along = product(b.x, b.v);
			if (b.r2 == 0)
				continue;
			const double energy = (varied ? vary : accelerate)(kind, &b, a);
			/* the rest of the momentum is carried away by light, or by gas; G may be 0 */
			const double share = kind == NB_EXTRA_DAMP || b.from == 0 ? 0 : gm[i] / b.from;
			for (size_t d = 0; d < 3; d++) {
				acc[3 * i + d] += a[d];
				acc[3 * from + d] -= share * a[d];
			}
			if (pot) {
				pot[i] += energy;
				pot[from] += share * energy;
			}
		}
	}
}

void nb_extra_add(const struct nb_extra *e, size_t n, const double *gm, const double *pos, const double *vel,
	double *acc, double *pot)
{
	add(e, n, gm, pos, vel, 0, acc, pot);
}

void nb_extra_vary(
	const struct nb_extra *e, size_t n, const double *gm, const double *pos, const double *variation, double *acc)
{
	add(e, n, gm, pos, variation, 1, acc, NULL);
}
