/* Diagnostics against values worked out by hand or by plain long double sums; the same bytes for 1, 2 and 3 threads. */
#include "kernels/measure/measure.h"
#include "common/cpu.h"
#include "tests/unit/unit.h"

#include <stdint.h>

enum { N = 20011 };

static double mass[N], pos[3 * N], vel[3 * N], pot[N], acc[3 * N];
static uint64_t id[N];

static double random_number(void)
{
	static uint64_t state = 7;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) * 0x1p-53;
}

static void make_bodies(void)
{
	for (size_t i = 0; i < N; i++) {
		mass[i] = random_number() / N;
		pot[i] = -random_number();
		id[i] = (i * 7919) % N; /* a permutation: N and 7919 are coprime */
		for (size_t k = 3 * i; k < 3 * i + 3; k++) {
			pos[k] = random_number() - 0.3;
			vel[k] = random_number() - 0.6;
			acc[k] = random_number() - 0.5;
		}
	}
}

static void against_plain_sums(size_t n)
{
	long double m = 0, e = 0, w = 0, c = 0, p = 0, l[3] = {0}, fastest = 0;
	for (size_t i = 0; i < n; i++) {
		const double *x = &pos[3 * i], *v = &vel[3 * i];
		long double v2 = (long double)v[0] * v[0] + (long double)v[1] * v[1] + (long double)v[2] * v[2];
		m += mass[i];
		e += mass[i] * v2 / 2;
		w += (long double)mass[i] * pot[i] / 2;
		c += (long double)mass[i] * x[1];
		p += (long double)mass[i] * v[2];
		for (int k = 0; k < 3; k++) {
			const int a = (k + 1) % 3, b = (k + 2) % 3;
			l[k] += mass[i] * ((long double)x[a] * v[b] - (long double)x[b] * v[a]);
		}
		fastest = v2 > fastest ? v2 : fastest;
	}
	struct nb_moments got;
	double epot;
	CHECK(nb_moments_cpu(n, mass, pos, vel, &got) == NB_OK);
	CHECK(nb_potential_energy_cpu(n, mass, pot, &epot) == NB_OK);
	CHECK_NEAR(got.mass, (double)m, 1e-15);
	CHECK_NEAR(got.ekin, (double)e, 1e-15);
	CHECK_NEAR(epot, (double)w, 1e-15);
	CHECK_NEAR(got.momentum[2], (double)p, 1e-15);
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(got.angular[k], (double)l[k], 1e-15);
	if (n == 0) {
		CHECK(isnan(got.com[1]) && isnan(got.speed_max));
		return;
	}
	CHECK_NEAR(got.com[1], (double)(c / m), 1e-14);
	CHECK_NEAR(got.speed_max, (double)sqrtl(fastest), 1e-15);
}

/* large terms in different chunks that cancel leave the small ones */
static void cancelling(void)
{
	double *m = calloc(N, sizeof *m), *p = calloc(N, sizeof *p), epot;
	const double term[4] = {1e17, 3, -1e17, 5};
	for (size_t c = 0; c < 4; c++) {
		m[4096 * c + 17] = 1;
		p[4096 * c + 17] = term[c];
	}
	CHECK(nb_potential_energy_cpu(N, m, p, &epot) == NB_OK && epot == 4);
	free(m);
	free(p);
}

static void two_bodies(void)
{
	const double m[2] = {3, 1}, x[6] = {1, 0, 0, -3, 0, 0}, v[6] = {0, 2, 0, 0, -6, 0};
	struct nb_moments got;
	CHECK(nb_moments_cpu(2, m, x, v, &got) == NB_OK);
	CHECK(got.mass == 4 && got.ekin == 0.5 * (3 * 4 + 1 * 36) && got.speed_max == 6);
	CHECK(got.com[0] == 0 && got.momentum[1] == 0 && got.angular[2] == 3 * 1 * 2 + 1 * -3 * -6);
	CHECK(nb_moments_cpu(2, m, x, NULL, &got) == NB_OK);
	CHECK(got.mass == 4 && got.com[0] == 0);
	CHECK(isnan(got.ekin) && isnan(got.momentum[0]) && isnan(got.angular[0]) && isnan(got.speed_max));
	const double none[2] = {0, 0};
	CHECK(nb_moments_cpu(2, none, x, v, &got) == NB_OK);
	CHECK(got.mass == 0 && got.ekin == 0 && isnan(got.com[0]));

	const double fraction[4] = {0.5, 0.75, 0.76, 1}, centre[3] = {0, 0, 0};
	double radius[4];
	CHECK(nb_lagrangian_radii_cpu(2, m, x, centre, 4, fraction, radius) == NB_OK);
	CHECK(radius[0] == 1 && radius[1] == 1 && radius[2] == 3 && radius[3] == 3);
	CHECK(nb_lagrangian_radii_cpu(2, none, x, centre, 1, fraction, radius) == NB_OK && isnan(radius[0]));
	CHECK(nb_lagrangian_radii_cpu(0, m, x, centre, 1, fraction, radius) == NB_OK && isnan(radius[0]));
}

/* body i of n equal ones lies at distance i + 1, in shuffled order; a far one has no mass */
static void shells(void)
{
	const double centre[3] = {5, -300, 20}, fraction[3] = {0.1, 0.5, 1};
	double radius[3], *x = calloc(3 * (N + 1), sizeof *x), *m = malloc((N + 1) * sizeof *m);
	for (size_t i = 0; i < N; i++) {
		m[i] = 0.1; /* not a binary number: sums round */
		memcpy(x + 3 * i, centre, sizeof centre);
		x[3 * i + i % 3] += (double)(id[i] + 1);
	}
	m[N] = 0;
	x[3 * N] = 1e6;
	CHECK(nb_lagrangian_radii_cpu(N + 1, m, x, centre, 3, fraction, radius) == NB_OK);
	CHECK_NEAR(radius[0], ceil(0.1 * N), 0);
	CHECK_NEAR(radius[1], ceil(0.5 * N), 0);
	CHECK_NEAR(radius[2], N, 0);
	free(x);
	free(m);
}

static void errors(void)
{
	/* relative errors 0, 0.1, 0.2, 0.3, 0.4 of vectors of length 10 */
	double ref[15], a[15];
	struct nb_vector_error e;
	const uint32_t row[5] = {4, 3, 2, 1, 0};
	memset(ref, 0, sizeof ref);
	for (int k = 0; k < 5; k++)
		ref[3 * k + k % 3] = 10;
	for (int k = 0; k < 5; k++) {
		memcpy(&a[3 * (4 - k)], &ref[3 * k], 3 * sizeof *a);
		a[3 * (4 - k) + (k + 1) % 3] = (double)k;
	}
	CHECK(nb_vector_find_error(5, a, row, ref, &e) == NB_OK);
	CHECK_NEAR(e.median, 0.2, 1e-15);
	CHECK_NEAR(e.p99, 0.3 + 0.96 * 0.1, 1e-15);
	CHECK_NEAR(e.max, 0.4, 1e-15);
	CHECK_NEAR(e.rms, sqrt((0.01 + 0.04 + 0.09 + 0.16) / 5), 1e-15);
	CHECK_NEAR(e.rms_ratio, e.rms, 1e-15);
	CHECK(nb_vector_find_error(5, ref, NULL, ref, &e) == NB_OK);
	CHECK(e.median == 0 && e.max == 0 && e.rms == 0 && e.rms_ratio == 0);
	memset(ref, 0, sizeof ref);
	CHECK(nb_vector_find_error(1, ref, NULL, ref, &e) == NB_OK && e.max == 0 && e.rms_ratio == 0);
	CHECK(nb_vector_find_error(1, a, row, ref, &e) == NB_OK && isinf(e.max) && isinf(e.median) &&
		isinf(e.rms_ratio));
	CHECK(nb_vector_find_error(0, a, row, ref, &e) == NB_OK && isnan(e.median) && isnan(e.rms_ratio));
}

static void differences(void)
{
	const double a[6] = {0, 0, 0, 3, 4, 0}, b[6] = {3, 4, 0, 0, 0, 12}, nan[2] = {NAN, 1}, none[2] = {0, 1};
	const uint32_t swap[2] = {1, 0};
	struct nb_difference d = {0};
	CHECK(nb_difference_cpu(2, 3, a, NULL, b, NULL, &d) == NB_OK && d.beyond == 2);
	d.absolute = 5;
	CHECK(nb_difference_cpu(2, 3, a, NULL, b, NULL, &d) == NB_OK && d.beyond == 1);
	d.relative = 13.1 / sqrt(12.5);
	CHECK(nb_difference_cpu(2, 3, a, NULL, b, NULL, &d) == NB_OK && d.beyond == 0);
	CHECK(d.max == 13 && d.worst == 1); /* (-3, -4, 12) */
	CHECK_NEAR(d.median, 9, 1e-14);	    /* of 5 and 13 */
	CHECK_NEAR(d.p99, 12.92, 1e-14);
	CHECK_NEAR(d.rms, sqrt(97), 1e-14);
	CHECK_NEAR(d.scale, sqrt(12.5), 1e-14);
	CHECK(nb_difference_cpu(2, 3, a, swap, b, NULL, &d) == NB_OK);
	CHECK(d.max == 12 && d.worst == 1);
	CHECK(nb_difference_cpu(2, 3, a, NULL, b, swap, &d) == NB_OK);
	CHECK(d.max == 12 && d.worst == 0);
	CHECK(nb_difference_cpu(6, 1, a, NULL, b, NULL, &d) == NB_OK);
	CHECK(d.max == 12 && d.worst == 5 && d.median == 3.5);
	CHECK(nb_difference_cpu(2, 1, nan, NULL, none, NULL, &d) == NB_OK);
	CHECK(isinf(d.max) && d.worst == 0 && isinf(d.rms));
	CHECK(nb_difference_cpu(2, 1, nan, NULL, nan, NULL, &d) == NB_OK && isinf(d.max));
	CHECK(nb_difference_cpu(2, 1, none, NULL, nan, NULL, &d) == NB_OK && isinf(d.max));
	CHECK(nb_difference_cpu(0, 1, a, NULL, b, NULL, &d) == NB_OK && isnan(d.max) && isnan(d.scale));
	/* squares of these would be 0 and infinite */
	const double tiny[3] = {0, 1e-200, 0}, huge[3] = {3e200, 4e200, 0}, zero[3] = {0, 0, 0};
	CHECK(nb_difference_cpu(1, 3, zero, NULL, tiny, NULL, &d) == NB_OK);
	CHECK(d.max == 1e-200 && d.rms == 1e-200 && d.scale == 0);
	CHECK(nb_difference_cpu(1, 3, huge, NULL, zero, NULL, &d) == NB_OK);
	CHECK_NEAR(d.max / 5e200, 1, 1e-15);
	CHECK_NEAR(d.scale / 5e200, 1, 1e-15);
}

static void same_bytes_for_any_threads(void)
{
	const double fraction[3] = {0.1, 0.5, 0.9};
	struct {
		struct nb_difference difference;
		struct nb_moments moments;
		struct nb_vector_error error;
		double epot, radius[3];
	} result[3];
	memset(result, 0, sizeof result);
	for (int t = 0; t < 3; t++) {
		nb_cpu_set_threads(t + 1);
		CHECK(nb_moments_cpu(N, mass, pos, vel, &result[t].moments) == NB_OK);
		CHECK(nb_vector_find_error(N, acc, NULL, vel, &result[t].error) == NB_OK);
		CHECK(nb_difference_cpu(N, 3, acc, NULL, vel, NULL, &result[t].difference) == NB_OK);
		CHECK(nb_potential_energy_cpu(N, mass, pot, &result[t].epot) == NB_OK);
		CHECK(nb_lagrangian_radii_cpu(N, mass, pos, result[t].moments.com, 3, fraction, result[t].radius) ==
			NB_OK);
	}
	nb_cpu_set_threads(0);
	CHECK(memcmp(&result[0], &result[1], sizeof result[0]) == 0);
	CHECK(memcmp(&result[0], &result[2], sizeof result[0]) == 0);
}

int main(void)
{
	make_bodies();
	static const size_t count[] = {0, 1, 2, 255, 257, 4095, 4096, 4097, N};
	for (size_t i = 0; i < sizeof count / sizeof *count; i++)
		against_plain_sums(count[i]);
	cancelling();
	two_bodies();
	shells();
	errors();
	differences();
	same_bytes_for_any_threads();
	return unit_end();
}
