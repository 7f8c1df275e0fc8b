/* Spectra of density: a table, or the fit of Eisenstein & Hu. */
#include "kernels/lpt/lpt.h"

#include "common/mem.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

/* What the fit needs of a universe; wave numbers in 1/Mpc, lengths in Mpc.  Names and equations are those of
 * Eisenstein & Hu 1998. */
struct fit {
	double h, ns, baryons, cold; /* shares of matter */
	double k_eq, s, k_silk, alpha_c, beta_c, alpha_b, beta_b, beta_node;
	double theta2, gamma, alpha_gamma, s_smooth; /* of the smooth form */
};

struct nb_lpt_spectrum {
	int form; /* enum form */
	struct fit fit;
	size_t n;
	double *log_k, *log_p, *bend; /* the table and its second derivatives */
};

enum form { TABLE, WIGGLES, SMOOTH };

/* ---- Eisenstein & Hu ---------------------------------------------------------------------------- */

static double cube(double x)
{
	return x * x * x;
}

static void set_fit(struct fit *f, const struct nb_lpt_shape *shape)
{
	const double h2 = shape->h * shape->h, m = shape->omega_m * h2, b = shape->omega_b * h2;
	const double theta = 2.7255 / 2.7, theta2 = theta * theta, theta4 = theta2 * theta2;
	f->h = shape->h;
	f->ns = shape->ns;
	f->baryons = shape->omega_b / shape->omega_m;
	f->cold = 1 - f->baryons;
	const double z_eq = 2.50e4 * m / theta4;				/* 2 */
	f->k_eq = 7.46e-2 * m / theta2;						/* 3 */
	const double b1 = 0.313 * pow(m, -0.419) * (1 + 0.607 * pow(m, 0.674)); /* 4 */
	const double b2 = 0.238 * pow(m, 0.223);
	const double z_d = 1291 * pow(m, 0.251) / (1 + 0.659 * pow(m, 0.828)) * (1 + b1 * pow(b, b2));
	const double R_d = 31.5 * b / theta4 * (1000 / z_d), R_eq = 31.5 * b / theta4 * (1000 / z_eq);		/* 5 */
	f->s = 2 / (3 * f->k_eq) * sqrt(6 / R_eq) * log((sqrt(1 + R_d) + sqrt(R_d + R_eq)) / (1 + sqrt(R_eq))); /* 6 */
	f->k_silk = 1.6 * pow(b, 0.52) * pow(m, 0.73) * (1 + pow(10.4 * m, -0.95));				/* 7 */
	const double a1 = pow(46.9 * m, 0.670) * (1 + pow(32.1 * m, -0.532));					/* 11 */
	const double a2 = pow(12.0 * m, 0.424) * (1 + pow(45.0 * m, -0.582));
	f->alpha_c = pow(a1, -f->baryons) * pow(a2, -cube(f->baryons));
	const double c1 = 0.944 / (1 + pow(458 * m, -0.708)), c2 = pow(0.395 * m, -0.0266); /* 12 */
	f->beta_c = 1 / (1 + c1 * (pow(f->cold, c2) - 1));
	const double y = (1 + z_eq) / (1 + z_d), root = sqrt(1 + y); /* 14, 15 */
	f->alpha_b = 2.07 * f->k_eq * f->s * pow(1 + R_d, -0.75) * y *
		     (-6 * root + (2 + 3 * y) * log((root + 1) / (root - 1)));
	f->beta_node = 8.41 * pow(m, 0.435);						       /* 23 */
	f->beta_b = 0.5 + f->baryons + (3 - 2 * f->baryons) * sqrt(17.2 * m * (17.2 * m) + 1); /* 24 */
	f->theta2 = theta2;
	f->s_smooth = 44.5 * log(9.83 / m) / sqrt(1 + 10 * pow(b, 0.75)); /* 26 */
	f->alpha_gamma = 1 - 0.328 * log(431 * m) * f->baryons +
			 0.38 * log(22.3 * m) * f->baryons * f->baryons; /* 31 */
	f->gamma = shape->omega_m * shape->h;
}

/* eq. 19 and 20 */
static double pressureless(double q, double alpha, double beta)
{
	const double l = log(exp(1) + 1.8 * beta * q), c = 14.2 / alpha + 386 / (1 + 69.9 * pow(q, 1.08));
	return l / (l + c * q * q);
}

/* k in 1/Mpc */
static double with_wiggles(const struct fit *f, double k)
{
	const double q = k / (13.41 * f->k_eq), ks = k * f->s;	   /* 10 */
	const double part = 1 / (1 + (ks / 5.4) * cube(ks / 5.4)); /* 18 */
	const double cold = part * pressureless(q, 1, f->beta_c) +
			    (1 - part) * pressureless(q, f->alpha_c, f->beta_c); /* 17 */
	const double x = ks / cbrt(1 + cube(f->beta_node / ks));		 /* k times eq. 22 */
	const double wave = x > 1e-4 ? sin(x) / x : 1;
	const double baryons = pressureless(q, 1, 1) / (1 + (ks / 5.2) * (ks / 5.2)) +
			       f->alpha_b / (1 + cube(f->beta_b / ks)) * exp(-pow(k / f->k_silk, 1.4)); /* 21 */
	return f->baryons * baryons * wave + f->cold * cold;						/* 16 */
}

static double without_wiggles(const struct fit *f, double k)
{
	const double x = 0.43 * k * f->s_smooth;
	const double gamma = f->gamma * (f->alpha_gamma + (1 - f->alpha_gamma) / (1 + x * cube(x))); /* 30 */
	const double q = k / f->h * f->theta2 / gamma;						     /* 28 */
	const double l = log(2 * exp(1) + 1.8 * q), c = 14.2 + 731 / (1 + 62.5 * q);		     /* 29 */
	return l / (l + c * q * q);
}

/* ---- tables ------------------------------------------------------------------------------------- */

/* Second derivatives of the natural spline: a tridiagonal system.  work: n numbers. */
static void bend_spline(size_t n, const double *x, const double *y, double *bend, double *work)
{
	bend[0] = work[0] = 0;
	for (size_t i = 1; i + 1 < n; i++) {
		const double before = x[i] - x[i - 1], after = x[i + 1] - x[i];
		const double turn = (y[i + 1] - y[i]) / after - (y[i] - y[i - 1]) / before;
		const double pivot = 2 * (before + after) - before * work[i - 1];
		work[i] = after / pivot;
		bend[i] = (6 * turn - before * bend[i - 1]) / pivot;
	}
	bend[n - 1] = 0;
	for (size_t i = n - 1; i-- > 1;)
		bend[i] -= work[i] * bend[i + 1];
}

static double spline_slope(const struct nb_lpt_spectrum *s, size_t i, int right)
{
	const double h = s->log_k[i + 1] - s->log_k[i], rise = (s->log_p[i + 1] - s->log_p[i]) / h;
	return right ? rise + h * (s->bend[i] + 2 * s->bend[i + 1]) / 6
		     : rise - h * (2 * s->bend[i] + s->bend[i + 1]) / 6;
}

static double spline(const struct nb_lpt_spectrum *s, double x)
{
	const size_t n = s->n;
	if (x <= s->log_k[0])
		return s->log_p[0] + (x - s->log_k[0]) * spline_slope(s, 0, 0);
	if (x >= s->log_k[n - 1])
		return s->log_p[n - 1] + (x - s->log_k[n - 1]) * spline_slope(s, n - 2, 1);
	size_t low = 0, high = n - 1;
	while (high - low > 1) {
		const size_t middle = (low + high) / 2;
		if (x < s->log_k[middle])
			high = middle;
		else
			low = middle;
	}
	const double h = s->log_k[high] - s->log_k[low], b = (x - s->log_k[low]) / h, a = 1 - b;
	return a * s->log_p[low] + b * s->log_p[high] +
	       (a * (a * a - 1) * s->bend[low] + b * (b * b - 1) * s->bend[high]) * h * h / 6;
}

static int take_table(struct nb_lpt_spectrum *s, const struct nb_lpt_table *table)
{
	const size_t n = s->n = table->n;
	if (n < 2)
		return NB_EINVAL;
	s->log_k = nb_alloc(n, sizeof *s->log_k);
	s->log_p = nb_alloc(n, sizeof *s->log_p);
	s->bend = nb_alloc(n, sizeof *s->bend);
	double *work = nb_alloc(n, sizeof *work);
	int status = s->log_k && s->log_p && s->bend && work ? NB_OK : NB_ENOMEM;
	for (size_t i = 0; i < n && !status; i++) {
		s->log_k[i] = log(table->k[i]);
		s->log_p[i] = log(table->power[i]);
		if (!isfinite(s->log_k[i]) || !isfinite(s->log_p[i]) || (i > 0 && !(s->log_k[i] > s->log_k[i - 1])))
			status = NB_EINVAL;
	}
	if (!status)
		bend_spline(n, s->log_k, s->log_p, s->bend, work);
	nb_free(work);
	return status;
}

/* ---- all ---------------------------------------------------------------------------------------- */

int nb_lpt_spectrum_create(const struct nb_lpt_shape *shape, struct nb_lpt_spectrum **spectrum)
{
	*spectrum = NULL;
	struct nb_lpt_spectrum *s = nb_alloc_zero(1, sizeof *s);
	if (!s)
		return NB_ENOMEM;
	s->form = shape->table ? TABLE : shape->smooth ? SMOOTH : WIGGLES;
	int status = NB_OK;
	if (shape->table)
		status = take_table(s, shape->table);
	else
		set_fit(&s->fit, shape);
	const double sigma = status ? 0 : nb_lpt_spectrum_sigma(s, 8);
	if (!status && !(sigma > 0 && isfinite(sigma)))
		status = NB_EINVAL;
	if (status) {
		nb_lpt_spectrum_free(s);
		return status;
	}
	*spectrum = s;
	return NB_OK;
}

void nb_lpt_spectrum_free(struct nb_lpt_spectrum *spectrum)
{
	if (spectrum)
		nb_free_all(spectrum->log_k, spectrum->log_p, spectrum->bend);
	nb_free(spectrum);
}

double nb_lpt_spectrum_power(const struct nb_lpt_spectrum *s, double k)
{
	if (s->form == TABLE)
		return exp(spline(s, log(k)));
	const double T = s->form == SMOOTH ? without_wiggles(&s->fit, k * s->fit.h)
					   : with_wiggles(&s->fit, k * s->fit.h);
	return pow(k, s->fit.ns) * T * T;
}

/* sigma^2 = int P W^2 k^2 dk / (2 pi^2), W = 3 (sin x - x cos x) / x^3 of x = k R: by Simpson's rule in log x, from
 * 1e-5 to 1e3.  What is beyond is a share of 1e-9: the integrand falls as 1/x^4 there, and below as x^(3 + ns). */
double nb_lpt_spectrum_sigma(const struct nb_lpt_spectrum *s, double radius)
{
	enum { STEPS = 1 << 14 };
	const double low = log(1e-5), h = (log(1e3) - low) / STEPS;
	double sum = 0;
	for (int i = 0; i <= STEPS; i++) {
		const double x = exp(low + h * i), k = x / radius;
		const double W = x < 0.01 ? 1 - x * x / 10 : 3 * (sin(x) - x * cos(x)) / cube(x);
		const int weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
		sum += weight * nb_lpt_spectrum_power(s, k) * W * W * cube(k);
	}
	return sqrt(sum * h / 3 / (2 * PI * PI));
}
