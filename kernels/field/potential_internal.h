/* The formulas of potential.def, for the CPU and the device.
 *
 * All write their result so that neither a small nor a large distance loses digits or overflows before the result does:
 * quotients come before products, and differences that cancel are expanded.  Sources: Plummer 1911, MNRAS 71, 460;
 * Hernquist 1990, ApJ 356, 359; Dehnen 1993, MNRAS 265, 250; Navarro, Frenk & White 1997, ApJ 490, 493; Miyamoto &
 * Nagai 1975, PASJ 27, 533; Binney & Tremaine 2008, section 2.3.2 (logarithmic); Long & Murali 1992, ApJ 397, 44 (bar).
 */
#ifndef NB_FIELD_POTENTIAL_INTERNAL_H
#define NB_FIELD_POTENTIAL_INTERNAL_H

#include <math.h>

#include "common/hd.h"
#include "kernels/field/field.h"

/* What a body feels. */
struct nb_felt {
	double acc[3], pot, jerk[3];
};

/* |(x, y, z)|, also where the squares leave the range of numbers. */
static NB_HD double nb_field_norm(double x, double y, double z)
{
	const double square = x * x + y * y + z * z;
	if (square > 1e-280 && square < 1e280)
		return sqrt(square);
	const double most = fmax(fmax(fabs(x), fabs(y)), fabs(z));
	if (most == 0)
		return 0;
	x /= most;
	y /= most;
	z /= most;
	return most * sqrt(x * x + y * y + z * z);
}

/* ---- spheres ------------------------------------------------------------------------------------ */

/* Of a sphere: Phi, Phi', Phi'/r (0 where it has no limit), Phi''. */
struct nb_radial {
	double pot, d1, d1r, d2;
};

static NB_HD struct nb_radial nb_field_plummer(double gm, double a, double r)
{
	const double s = nb_field_norm(r, a, 0);
	struct nb_radial f = {0, 0, 0, 0};
	if (s == 0)
		return f;
	const double q = r / s;
	f.pot = -gm / s;
	f.d1 = gm / s / s * q;
	f.d1r = gm / s / s / s;
	f.d2 = f.d1r * (1 - 3 * q * q);
	return f;
}

static NB_HD struct nb_radial nb_field_hernquist(double gm, double a, double r)
{
	const double s = r + a;
	struct nb_radial f;
	f.pot = -gm / s;
	f.d1 = gm / s / s;
	f.d1r = r > 0 ? f.d1 / r : 0;
	f.d2 = -2 * (gm / s / s / s);
	return f;
}

/* Phi' = G M(r) / r^2 with M = m q^(3 - gamma), q = r / (r + a); Phi has no limit at r = 0 from gamma = 2 on. */
static NB_HD struct nb_radial nb_field_dehnen(double gm, double a, double gamma, double r)
{
	const double s = r + a, q = r / s, fall = log1p(a / r), rest = 2 - gamma, core = gm / s / s / s;
	struct nb_radial f;
	f.pot = -gm / a * (rest == 0 ? fall : -expm1(-rest * fall) / rest);
	f.d1 = r > 0 ? gm / s / s * pow(q, 1 - gamma) : 0;
	f.d1r = r > 0 ? f.d1 / r : gamma == 0 ? core : 0;
	f.d2 = r > 0 ? core * pow(q, -gamma) * (1 - gamma - (3 - gamma) * q) : f.d1r;
	return f;
}

/* (ln(1 + x) - x / (1 + x)) / x^2: by its series where the difference cancels. */
static NB_HD double nb_field_nfw_mass(double x)
{
	if (x > 0.1)
		return (log1p(x) - x / (1 + x)) / x / x;
	double sum = 0;
	for (int k = 18; k >= 2; k--) /* sum of (-x)^(k-2) (k-1)/k */
		sum = (k - 1.0) / k - x * sum;
	return sum;
}

static NB_HD struct nb_radial nb_field_nfw(double gm, double rs, double r)
{
	const double x = r / rs;
	struct nb_radial f;
	f.pot = -gm * ((x > 0 ? log1p(x) / x : 1) / rs);
	f.d1 = gm / rs / rs * nb_field_nfw_mass(x);
	f.d1r = r > 0 ? f.d1 / r : 0;
	f.d2 = r > 0 ? gm / rs / rs / r / (1 + x) / (1 + x) - 2 * f.d1r : 0;
	return f;
}

static NB_HD struct nb_radial nb_field_table(size_t n, const double *row, double r)
{
	const double *first = row, *last = row + NB_POTENTIAL_ROW * (n - 1);
	struct nb_radial f;
	if (r < first[0]) { /* as in a homogeneous sphere */
		f.d1r = f.d2 = first[2] / first[0];
		f.d1 = f.d1r * r;
		f.pot = first[1] + f.d1r * ((r - first[0]) * (r + first[0]) / 2);
		return f;
	}
	if (r >= last[0]) { /* no mass beyond */
		const double q = last[0] / r;
		f.pot = last[1] + last[2] * last[0] * (1 - q);
		f.d1 = last[2] * q * q;
		f.d1r = f.d1 / r;
		f.d2 = -2 * f.d1r;
		return f;
	}
	size_t low = 0, high = n - 1; /* row low <= r < row high */
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;
		if (row[NB_POTENTIAL_ROW * middle] <= r)
			low = middle;
		else
			high = middle;
	}
	const double *c = row + NB_POTENTIAL_ROW * low, u = r - c[0];
	f.pot = c[1] + u * (c[2] + u * (c[3] + u * c[4]));
	f.d1 = c[2] + u * (2 * c[3] + 3 * c[4] * u);
	f.d2 = 2 * c[3] + 6 * c[4] * u;
	f.d1r = r > 0 ? f.d1 / r : f.d2;
	return f;
}

/* acc = -Phi' n, jerk = -Phi'/r (v - (n v) n) - Phi'' (n v) n, where n = x / r */
static NB_HD void nb_field_sphere(
	const struct nb_external_term *t, const double x[3], const double v[3], struct nb_felt *felt)
{
	const double r = nb_field_norm(x[0], x[1], x[2]);
	struct nb_radial f;
	double along = 0;
	switch (t->kind) {
	case NB_POTENTIAL_HERNQUIST: f = nb_field_hernquist(t->strength, t->length[0], r); break;
	case NB_POTENTIAL_DEHNEN: f = nb_field_dehnen(t->strength, t->length[0], t->length[1], r); break;
	case NB_POTENTIAL_NFW: f = nb_field_nfw(t->strength, t->length[0], r); break;
	case NB_POTENTIAL_TABLE: f = nb_field_table(t->nrow, t->row, r); break;
	default: f = nb_field_plummer(t->strength, t->length[0], r); break;
	}
	felt->pot = f.pot;
	for (int k = 0; k < 3; k++) {
		const double n = r > 0 ? x[k] / r : 0;
		felt->acc[k] = -f.d1 * n;
		along += n * v[k];
	}
	for (int k = 0; k < 3; k++)
		felt->jerk[k] = -f.d1r * v[k] - (r > 0 ? (f.d2 - f.d1r) * along * (x[k] / r) : 0);
}

/* ---- others, in their own axes ------------------------------------------------------------------ */

static NB_HD void nb_field_log(
	const struct nb_external_term *t, const double x[3], const double v[3], struct nb_felt *felt)
{
	const double rc = t->length[0], q[3] = {1, t->length[1], t->length[2]};
	const double m = nb_field_norm(x[0], x[1] / q[1], x[2] / q[2]), s = nb_field_norm(rc, m, 0), w = m / rc;
	double rate = 0;
	felt->pot = w < 1e100 ? t->strength / 2 * log1p(w * w) : t->strength * (log(m) - log(rc));
	for (int k = 0; k < 3; k++)
		rate += x[k] / q[k] / s * (v[k] / q[k] / s);
	for (int k = 0; k < 3; k++) {
		const double a = x[k] / q[k] / q[k] / s, b = v[k] / q[k] / q[k] / s;
		felt->acc[k] = -t->strength / s * a;
		felt->jerk[k] = -t->strength / s * (b - 2 * a * rate);
	}
}

static NB_HD void nb_field_disk(
	const struct nb_external_term *t, const double x[3], const double v[3], struct nb_felt *felt)
{
	const double gm = t->strength, a = t->length[0], b = t->length[1];
	const double s = nb_field_norm(x[2], b, 0), h = a + s, d = nb_field_norm(x[0], x[1], h);
	const double ds = x[2] / s * v[2]; /* time derivatives, d' / d for the last */
	const double rate = x[0] / d * (v[0] / d) + x[1] / d * (v[1] / d) + h / d * (ds / d);
	const double f = gm / d / d, z = h / s * (x[2] / d), dz = h / s * (v[2] / d) - a / s * (ds / s) * (x[2] / d);
	felt->pot = -gm / d;
	felt->acc[0] = -f * (x[0] / d);
	felt->acc[1] = -f * (x[1] / d);
	felt->acc[2] = -f * z;
	felt->jerk[0] = -f * (v[0] / d - 3 * (x[0] / d) * rate);
	felt->jerk[1] = -f * (v[1] / d - 3 * (x[1] / d) * rate);
	felt->jerk[2] = -f * (dz - 3 * z * rate);
}

/* With S = T+ + T-, P = T+ T-, h^2 = y^2 + (b + sqrt(z^2 + c^2))^2:
 *     Phi = -G m / (2 a) ln((S + 2 a) / (S - 2 a)),    a_x = -2 G m x / (P S),
 *     (a_y, a_z) = -G m (y, z (b + s) / s) (S^2 - 4 x^2) / (2 P S h^2),    s = sqrt(z^2 + c^2).
 * One of S^2 - 4 a^2 and S^2 - 4 x^2 cancels, the first within the bar and the second beyond its ends: it is
 * 2 h^2 (1 + (2 (a^2 + x^2) + h^2) / (P + |a^2 - x^2|)), and the other 2 (|a^2 - x^2| + h^2 + P). */
static NB_HD void nb_field_bar(
	const struct nb_external_term *t, const double x[3], const double v[3], struct nb_felt *felt)
{
	const double gm = t->strength, a = t->length[0], b = t->length[1], c = t->length[2];
	const double r = nb_field_norm(x[0], x[1], x[2]);
	if (r > 1e18 * (a + b + c)) { /* a point to the last bit, where squares of squares would overflow */
		struct nb_external_term point = *t;
		point.kind = NB_POTENTIAL_POINT;
		point.length[0] = 0;
		nb_field_sphere(&point, x, v, felt);
		return;
	}
	const double s = nb_field_norm(x[2], c, 0), ds = x[2] / s * v[2], bs = b + s;
	const double h2 = x[1] * x[1] + bs * bs, hdh = x[1] * v[1] + bs * ds;
	const double plus = sqrt((a + x[0]) * (a + x[0]) + h2), minus = sqrt((a - x[0]) * (a - x[0]) + h2);
	const double rate_plus = ((a + x[0]) * v[0] + hdh) / plus / plus; /* T+' / T+ */
	const double rate_minus = (-(a - x[0]) * v[0] + hdh) / minus / minus;
	const double S = plus + minus, P = plus * minus, rate_P = rate_plus + rate_minus;
	const double rate_S = (rate_plus * plus + rate_minus * minus) / S;
	const int within = fabs(x[0]) < a;
	const double D = fabs((a - x[0]) * (a + x[0])), dD = (within ? -2 : 2) * x[0] * v[0];
	const double E = 2 * (a * a + x[0] * x[0]) + h2, dE = 4 * x[0] * v[0] + 2 * hdh;
	const double cancels = 2 * (1 + E / (P + D)); /* times h^2 */
	const double other = 2 * (D + h2 + P);
	felt->pot = 2 * a < S / 2 ? -gm / a * atanh(2 * a / S)
				  : -gm / (2 * a) * log((S + 2 * a) / (within ? cancels * h2 : other) * (S + 2 * a));
	/* N = (S^2 - 4 x^2) / h^2 and its time derivative */
	const double N = within ? other / h2 : cancels;
	const double dN = within ? 2 * ((dD + P * rate_P + 2 * hdh) / h2) - N * (2 * hdh / h2)
				 : 2 * ((dE - E / (P + D) * (P * rate_P + dD)) / (P + D));
	const double f = gm / P, K = N / 2, dK = dN / 2, rate = rate_P + rate_S;
	const double z = x[2] * (bs / s), dz = v[2] * (bs / s) - x[2] * (b / s) * (ds / s);
	felt->acc[0] = -f * (2 * x[0] / S);
	felt->acc[1] = -f * (x[1] / S * K);
	felt->acc[2] = -f * (z / S * K);
	felt->jerk[0] = -f * (2 * v[0] / S - 2 * x[0] / S * rate);
	felt->jerk[1] = -f * (v[1] / S * K + x[1] / S * (dK - K * rate));
	felt->jerk[2] = -f * (dz / S * K + z / S * (dK - K * rate));
}

/* ---- all ---------------------------------------------------------------------------------------- */

static NB_HD void nb_field_in_axes(
	const struct nb_external_term *t, const double x[3], const double v[3], struct nb_felt *felt)
{
	switch (t->kind) {
	case NB_POTENTIAL_LOG: nb_field_log(t, x, v, felt); break;
	case NB_POTENTIAL_DISK: nb_field_disk(t, x, v, felt); break;
	case NB_POTENTIAL_BAR: nb_field_bar(t, x, v, felt); break;
	default: nb_field_sphere(t, x, v, felt); break;
	}
}

/* In axes that turn with omega about their z: the field there sees v - omega x X, and omega x acc is added to the
 * derivative that it gives. */
static NB_HD void nb_field_turned(
	const struct nb_external_term *t, const double x[3], const double v[3], struct nb_felt *felt)
{
	double own_x[3], own_v[3], acc[3], jerk[3];
	for (int k = 0; k < 3; k++) {
		own_x[k] = t->axes[0][k] * x[0] + t->axes[1][k] * x[1] + t->axes[2][k] * x[2];
		own_v[k] = t->axes[0][k] * v[0] + t->axes[1][k] * v[1] + t->axes[2][k] * v[2];
	}
	own_v[0] += t->omega * own_x[1];
	own_v[1] -= t->omega * own_x[0];
	nb_field_in_axes(t, own_x, own_v, felt);
	felt->jerk[0] -= t->omega * felt->acc[1];
	felt->jerk[1] += t->omega * felt->acc[0];
	for (int k = 0; k < 3; k++) {
		acc[k] = t->axes[k][0] * felt->acc[0] + t->axes[k][1] * felt->acc[1] + t->axes[k][2] * felt->acc[2];
		jerk[k] = t->axes[k][0] * felt->jerk[0] + t->axes[k][1] * felt->jerk[1] + t->axes[k][2] * felt->jerk[2];
	}
	for (int k = 0; k < 3; k++) {
		felt->acc[k] = acc[k];
		felt->jerk[k] = jerk[k];
	}
}

/* Of all potentials, in their order.  vel NULL: the jerk is of no meaning. */
static NB_HD void nb_field_feel(
	const struct nb_external *external, const double *pos, const double *vel, struct nb_felt *sum)
{
	for (int k = 0; k < 3; k++)
		sum->acc[k] = sum->jerk[k] = 0;
	sum->pot = 0;
	for (int i = 0; i < external->n; i++) {
		const struct nb_external_term *t = &external->term[i];
		struct nb_felt felt;
		double x[3], v[3];
		for (int k = 0; k < 3; k++) {
			x[k] = pos[k] - t->centre[k];
			v[k] = vel ? vel[k] - t->velocity[k] : 0;
		}
		if (t->turned)
			nb_field_turned(t, x, v, &felt);
		else
			nb_field_in_axes(t, x, v, &felt);
		for (int k = 0; k < 3; k++) {
			sum->acc[k] += felt.acc[k];
			sum->jerk[k] += felt.jerk[k];
		}
		sum->pot += felt.pot;
	}
}

/* Adds it to body i. */
static NB_HD void nb_field_add(const struct nb_external *external, const struct nb_external_bodies *b, size_t i)
{
	struct nb_felt felt;
	nb_field_feel(external, b->pos + 3 * i, b->jerk ? b->vel + 3 * i : (const double *)0, &felt);
	for (size_t k = 0; k < 3; k++) {
		b->acc[3 * i + k] = felt.acc[k] + (b->fresh ? 0 : b->acc[3 * i + k]);
		if (b->jerk)
			b->jerk[3 * i + k] = felt.jerk[k] + (b->fresh ? 0 : b->jerk[3 * i + k]);
	}
	if (b->pot)
		b->pot[i] = felt.pot + (b->fresh ? 0 : b->pot[i]);
	if (b->part)
		b->part[i] = felt.pot + (b->fresh_part ? 0 : b->part[i]);
}

#endif
