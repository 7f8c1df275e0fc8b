/* Memory-bound passes: a chunk of bodies is summed plainly by one thread, the partial sums of the chunks are added in
 * order with compensation.  Measures that the device has too add up in its order (measure_internal.h), so both give the
 * same bytes.  Order statistics sort the bit patterns of non-negative numbers, which ascend
 * as the numbers do, by radix. */
#include "kernels/measure/measure.h"
#include "kernels/measure/measure_internal.h"

#include <math.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/order/order.h"

enum { CHUNK = 4096 };

static size_t chunks_of(size_t n)
{
	return (n + CHUNK - 1) / CHUNK;
}

static size_t chunk_end(size_t chunk, size_t n)
{
	return (chunk + 1) * CHUNK < n ? (chunk + 1) * CHUNK : n;
}

/* ---- sums in the order of the device ------------------------------------------------------------ */

struct range {
	size_t begin, end;
};

static size_t sum_chunks(size_t n)
{
	return (n + nb_sum_chunk(n) - 1) / nb_sum_chunk(n);
}

static struct range sum_range(size_t c, size_t n)
{
	const size_t chunk = nb_sum_chunk(n), begin = c * chunk;
	return (struct range){begin, n - begin < chunk ? n : begin + chunk};
}

static double sum_lanes(double lane[NB_SUM_LANES])
{
	double sum = 0;
	for (int w = 0; w < NB_SUM_LANES; w += 32) {
		for (int half = 16; half > 0; half /= 2)
			for (int k = w; k < w + half; k++)
				lane[k] += lane[k + half];
		sum += lane[w];
	}
	return sum;
}

/* x[k] y[k], or where y is NULL x[perm[k]], for k in a range. */
static double sum_range_of(struct range r, const double *x, const double *y, const uint32_t *perm)
{
	double lane[NB_SUM_LANES] = {0};
	for (size_t i = r.begin; i < r.end; i++)
		lane[(i - r.begin) % NB_SUM_LANES] += y ? x[i] * y[i] : x[perm[i]];
	return sum_lanes(lane);
}

/* ---- moments ------------------------------------------------------------------------------------ */

static void chunk_moments(struct range r, const double *mass, const double *pos, const double *vel, double *p)
{
	static const double origin[3];
	double lane[NB_MOMENT_SPEED2][NB_SUM_LANES] = {{0}}, fastest = 0;
	for (size_t i = r.begin; i < r.end; i++) {
		const size_t l = (i - r.begin) % NB_SUM_LANES;
		const double m = mass[i], *x = pos ? &pos[3 * i] : origin;
		lane[NB_MOMENT_MASS][l] += m;
		for (int k = 0; k < 3; k++)
			lane[NB_MOMENT_COM + k][l] += m * x[k];
		if (!vel)
			continue;
		const double *v = &vel[3 * i], v2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
		lane[NB_MOMENT_EKIN][l] += m * v2;
		for (int k = 0; k < 3; k++)
			lane[NB_MOMENT_MOMENTUM + k][l] += m * v[k];
		lane[NB_MOMENT_ANGULAR][l] += m * (x[1] * v[2] - x[2] * v[1]);
		lane[NB_MOMENT_ANGULAR + 1][l] += m * (x[2] * v[0] - x[0] * v[2]);
		lane[NB_MOMENT_ANGULAR + 2][l] += m * (x[0] * v[1] - x[1] * v[0]);
		fastest = v2 > fastest ? v2 : fastest;
	}
	for (int k = 0; k < NB_MOMENT_SPEED2; k++)
		p[k] = sum_lanes(lane[k]);
	p[NB_MOMENT_SPEED2] = fastest;
}

int nb_moments_cpu(size_t n, const double *mass, const double *pos, const double *vel, struct nb_moments *moments)
{
	const size_t nchunk = sum_chunks(n);
	double *partial = nb_alloc(nchunk, NB_MOMENT_WIDTH * sizeof *partial);
	if (!partial)
		return NB_ENOMEM;
#pragma omp parallel for schedule(static) if (nchunk > 1)
	for (size_t c = 0; c < nchunk; c++)
		chunk_moments(sum_range(c, n), mass, pos, vel, &partial[c * NB_MOMENT_WIDTH]);

	nb_moments_of(n, vel != NULL, nchunk, partial, moments);
	nb_free(partial);
	return NB_OK;
}

int nb_potential_energy_cpu(size_t n, const double *mass, const double *pot, double *epot)
{
	const size_t nchunk = sum_chunks(n);
	double *partial = nb_alloc(nchunk, sizeof *partial);
	if (!partial)
		return NB_ENOMEM;
#pragma omp parallel for schedule(static) if (nchunk > 1)
	for (size_t c = 0; c < nchunk; c++)
		partial[c] = sum_range_of(sum_range(c, n), mass, pot, NULL);
	*epot = 0.5 * nb_sum_column(nchunk, partial, 1, 0);
	nb_free(partial);
	return NB_OK;
}

/* ---- Lagrangian radii --------------------------------------------------------------------------- */

static uint64_t bits_of(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static double double_of(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* The place in sorted order of the body whose mass fills up the target; inside[c] is the mass up to the end of
 * chunk c. */
static size_t place_of_mass(
	double target, size_t n, const double *mass, const uint32_t *perm, size_t nchunk, const double *inside)
{
	const size_t c = nb_chunk_of_mass(target, nchunk, inside);
	const struct range r = sum_range(c, n);
	double within = c ? inside[c - 1] : 0;
	size_t i = r.begin;
	while ((within += mass[perm[i]]) < target && i + 1 < r.end)
		i++;
	return i;
}

int nb_lagrangian_radii_cpu(size_t n, const double *mass, const double *pos, const double centre[3], size_t nfraction,
	const double *fraction, double *radius)
{
	const size_t nchunk = sum_chunks(n);
	uint64_t *key = nb_alloc(n, sizeof *key);
	uint32_t *perm = nb_alloc(n, sizeof *perm);
	double *inside = nb_alloc(nchunk, sizeof *inside);
	int status = key && perm && inside ? NB_OK : NB_ENOMEM;
	for (size_t k = 0; k < nfraction; k++)
		radius[k] = NAN;
	if (status)
		goto done;
#pragma omp parallel for schedule(static) if (nchunk > 1)
	for (size_t i = 0; i < n; i++) {
		double x = pos[3 * i] - centre[0], y = pos[3 * i + 1] - centre[1], z = pos[3 * i + 2] - centre[2];
		key[i] = bits_of(x * x + y * y + z * z);
	}
	status = nb_sort_keys_cpu(n, key, perm);
	if (status)
		goto done;
#pragma omp parallel for schedule(static) if (nchunk > 1)
	for (size_t c = 0; c < nchunk; c++)
		inside[c] = sum_range_of(sum_range(c, n), mass, NULL, perm);
	const double total = nb_sum_running(nchunk, inside);
	for (size_t k = 0; k < nfraction && total > 0; k++) {
		const double target = nb_mass_target(fraction[k], total);
		radius[k] = sqrt(double_of(key[place_of_mass(target, n, mass, perm, nchunk, inside)]));
	}
done:
	nb_free_all(key, perm, inside);
	return status;
}

/* ---- force errors ------------------------------------------------------------------------------- */

/* As numpy.percentile: linear between neighbours in sorted order. */
static double percentile(size_t n, const uint64_t *sorted, double fraction)
{
	double at = (double)(n - 1) * fraction;
	size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
	double a = double_of(sorted[low]), b = double_of(sorted[high]), t = at - (double)low;
	return t > 0 && a < b ? a + (b - a) * t : a;
}

int nb_vector_find_error(
	size_t n, const double *a, const uint32_t *row, const double *ref, struct nb_vector_error *error)
{
	enum { E2, DIFFERENCE2, REF2, WIDTH };
	*error = (struct nb_vector_error){NAN, NAN, NAN, NAN, NAN};
	if (n == 0)
		return NB_OK;
	const size_t nchunk = chunks_of(n);
	uint64_t *key = nb_alloc(n, sizeof *key);
	uint32_t *perm = nb_alloc(n, sizeof *perm);
	double *partial = nb_alloc(nchunk, WIDTH * sizeof *partial);
	int status = key && perm && partial ? NB_OK : NB_ENOMEM;
	if (status)
		goto done;
#pragma omp parallel for schedule(static) if (nchunk > 1)
	for (size_t c = 0; c < nchunk; c++) {
		double *p = &partial[c * WIDTH];
		p[E2] = p[DIFFERENCE2] = p[REF2] = 0;
		for (size_t k = c * CHUNK; k < chunk_end(c, n); k++) {
			const double *x = &a[3 * (row ? (size_t)row[k] : k)], *y = &ref[3 * k];
			double dx = x[0] - y[0], dy = x[1] - y[1], dz = x[2] - y[2];
			double d2 = dx * dx + dy * dy + dz * dz, y2 = y[0] * y[0] + y[1] * y[1] + y[2] * y[2];
			double e2 = d2 > 0 ? d2 / y2 : 0;
			key[k] = bits_of(sqrt(e2));
			p[E2] += e2;
			p[DIFFERENCE2] += d2;
			p[REF2] += y2;
		}
	}
	double d2 = nb_sum_column(nchunk, partial, WIDTH, DIFFERENCE2),
	       y2 = nb_sum_column(nchunk, partial, WIDTH, REF2);
	error->rms = sqrt(nb_sum_column(nchunk, partial, WIDTH, E2) / (double)n);
	error->rms_ratio = d2 > 0 ? sqrt(d2 / y2) : 0;
	status = nb_sort_keys_cpu(n, key, perm);
	if (status)
		goto done;
	error->median = percentile(n, key, 0.5);
	error->p99 = percentile(n, key, 0.99);
	error->max = double_of(key[n - 1]);
done:
	nb_free_all(key, perm, partial);
	return status;
}

/* ---- differences -------------------------------------------------------------------------------- */

/* Without overflow or underflow on the way; infinite where it is not finite. */
static double length_of(size_t ncomp, const double *x, const double *minus)
{
	double largest = 0, sum = 0;
	for (size_t k = 0; k < ncomp; k++) {
		const double d = fabs(minus ? x[k] - minus[k] : x[k]);
		if (!isfinite(d))
			return INFINITY;
		largest = d > largest ? d : largest;
	}
	if (ncomp == 1 || largest == 0)
		return largest;
	for (size_t k = 0; k < ncomp; k++) {
		const double d = (minus ? x[k] - minus[k] : x[k]) / largest;
		sum += d * d;
	}
	return largest * sqrt(sum);
}

/* Root of the mean square of n > 0 numbers >= 0, none of which exceeds largest. */
static double rms_of(size_t n, const uint64_t *key, double largest, double *partial)
{
	const size_t nchunk = chunks_of(n);
	if (largest == 0 || isinf(largest))
		return largest;
#pragma omp parallel for schedule(static) if (nchunk > 1)
	for (size_t c = 0; c < nchunk; c++) {
		double sum = 0;
		for (size_t k = c * CHUNK; k < chunk_end(c, n); k++) {
			const double x = double_of(key[k]) / largest;
			sum += x * x;
		}
		partial[c] = sum;
	}
	return largest * sqrt(nb_sum_column(nchunk, partial, 1, 0) / (double)n);
}

/* key[k] = bits of |a_k|, or of |b_k - a_k|. */
static void lengths(size_t n, size_t ncomp, const double *a, const uint32_t *row_a, const double *b,
	const uint32_t *row_b, uint64_t *key)
{
#pragma omp parallel for schedule(static) if (n > CHUNK)
	for (size_t k = 0; k < n; k++) {
		const double *x = &a[ncomp * (row_a ? row_a[k] : k)];
		key[k] = bits_of(
			b ? length_of(ncomp, &b[ncomp * (row_b ? row_b[k] : k)], x) : length_of(ncomp, x, NULL));
	}
}

int nb_difference_cpu(size_t n, size_t ncomp, const double *a, const uint32_t *row_a, const double *b,
	const uint32_t *row_b, struct nb_difference *difference)
{
	*difference = (struct nb_difference){difference->absolute, difference->relative, NAN, NAN, NAN, NAN, NAN, 0, 0};
	if (n == 0)
		return NB_OK;
	uint64_t *key = nb_alloc(n, sizeof *key), largest = 0;
	uint32_t *perm = nb_alloc(n, sizeof *perm);
	double *partial = nb_alloc(chunks_of(n), sizeof *partial);
	int status = key && perm && partial ? NB_OK : NB_ENOMEM;
	if (status)
		goto done;
	lengths(n, ncomp, a, row_a, NULL, NULL, key);
#pragma omp parallel for schedule(static) reduction(max : largest) if (n > CHUNK)
	for (size_t k = 0; k < n; k++)
		largest = key[k] > largest ? key[k] : largest;
	difference->scale = rms_of(n, key, double_of(largest), partial);
	lengths(n, ncomp, a, row_a, b, row_b, key);
	status = nb_sort_keys_cpu(n, key, perm);
	if (status)
		goto done;
	difference->max = double_of(key[n - 1]);
	difference->worst = perm[n - 1];
	difference->rms = rms_of(n, key, difference->max, partial);
	difference->median = percentile(n, key, 0.5);
	difference->p99 = percentile(n, key, 0.99);
	/* relative 0 of an infinite scale is 0 */
	const double share = difference->relative > 0 ? difference->relative * difference->scale : 0;
	const double limit = fmax(difference->absolute, share);
	while (difference->beyond < n && double_of(key[n - 1 - difference->beyond]) > limit)
		difference->beyond++;
done:
	nb_free_all(key, perm, partial);
	return status;
}
