/* One pass: a chunk of bodies adds to its own row of sums for each bin; the rows are then added in order. */
#include "kernels/measure/measure_internal.h"

#include <math.h>

#include "common/mem.h"

/* Sums of a bin: bodies, masses, weights w, w r; of bodies off the centre w, w v and w v^2 along r, theta, phi; w v. */
enum { COUNT, MASS, WEIGHT, DISTANCE, TURNING, ALONG, SQUARE = ALONG + 3, VELOCITY = SQUARE + 3, WIDTH = VELOCITY + 3 };

static double distance(const struct nb_profile *of, size_t i, double d[3])
{
	for (int k = 0; k < 3; k++)
		d[k] = of->pos[3 * i + k] - of->centre.pos[k];
	return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

static void cross(const double a[3], const double b[3], double c[3])
{
	c[0] = a[1] * b[2] - a[2] * b[1];
	c[1] = a[2] * b[0] - a[0] * b[2];
	c[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Some unit vector at right angles to the axis, for bodies on it. */
static void across(const double axis[3], double x[3])
{
	const double unit[3] = {fabs(axis[0]) <= 0.6, fabs(axis[0]) > 0.6, 0};
	cross(axis, unit, x);
	const double length = sqrt(dot(x, x));
	for (int k = 0; k < 3; k++)
		x[k] /= length;
}

/* The velocity v at d, at the distance r > 0, along r, theta and phi. */
static void spherical(const double axis[3], const double d[3], double r, const double v[3], double along[3])
{
	double radial[3], phi[3], theta[3];
	for (int k = 0; k < 3; k++)
		radial[k] = d[k] / r;
	cross(axis, radial, phi);
	const double sine = sqrt(dot(phi, phi));
	if (sine > 0)
		for (int k = 0; k < 3; k++)
			phi[k] /= sine;
	else
		across(axis, phi);
	cross(phi, radial, theta);
	along[0] = dot(v, radial);
	along[1] = dot(v, theta);
	along[2] = dot(v, phi);
}

/* The first bin k with r <= edge[k + 1], where r > edge[0]; nbin if there is none. */
static size_t bin_of(double r, size_t nbin, const double *edge)
{
	const double *base = edge + 1;
	size_t left = nbin;
	while (left > 1) { /* without branches: radii come in no order */
		const size_t half = left / 2;
		base += base[half - 1] < r ? half : 0;
		left -= half;
	}
	return (size_t)(base - (edge + 1)) + (*base < r);
}

static void add(const struct nb_profile *of, size_t i, const double d[3], double r, double *sum)
{
	const double w = of->by_number ? 1 : of->mass[i];
	sum[COUNT] += 1;
	sum[MASS] += of->mass[i];
	sum[WEIGHT] += w;
	sum[DISTANCE] += w * r;
	if (!of->vel)
		return;
	double v[3], along[3];
	for (int k = 0; k < 3; k++) {
		v[k] = of->vel[3 * i + k] - of->centre.vel[k];
		sum[VELOCITY + k] += w * v[k];
	}
	if (r == 0)
		return;
	spherical(of->axis, d, r, v, along);
	sum[TURNING] += w;
	for (int k = 0; k < 3; k++) {
		sum[ALONG + k] += w * along[k];
		sum[SQUARE + k] += w * along[k] * along[k];
	}
}

/* Bodies begin to end; row 0 of the sums is for what lies inside of the first bin, row 1 + k for bin k. */
static void add_chunk(
	const struct nb_profile *of, size_t begin, size_t end, size_t nbin, const double *edge, double *sum)
{
	double d[3];
	for (size_t i = begin; i < end; i++) {
		const double r = distance(of, i, d);
		if (!(r >= edge[0])) { /* or there is no centre */
			sum[MASS] += r < edge[0] ? of->mass[i] : 0;
			continue;
		}
		const size_t k = bin_of(r, nbin, edge);
		if (k < nbin)
			add(of, i, d, r, &sum[(k + 1) * WIDTH]);
	}
}

static double volume(double inner, double outer, int dim)
{
	const double pi = 3.14159265358979323846;
	if (dim == 2)
		return pi * (outer - inner) * (outer + inner);
	return 4 * pi / 3 * (outer - inner) * (outer * outer + outer * inner + inner * inner);
}

/* Means and dispersions from sums. */
static void finish(const struct nb_profile *of, const double *sum, struct nb_profile_bin *bin)
{
	const double weight = sum[WEIGHT], turning = of->vel ? sum[TURNING] : 0;
	double variance[3];
	bin->n = (uint64_t)sum[COUNT];
	bin->mass = sum[MASS];
	bin->radius = weight > 0 ? sum[DISTANCE] / weight : NAN;
	bin->density = bin->outer > bin->inner ? bin->mass / volume(bin->inner, bin->outer, of->dim) : NAN;
	for (int k = 0; k < 3; k++) {
		bin->vel[k] = of->vel && weight > 0 ? sum[VELOCITY + k] / weight : NAN;
		bin->v[k] = turning > 0 ? sum[ALONG + k] / turning : NAN;
		variance[k] = sum[SQUARE + k] / turning - bin->v[k] * bin->v[k];
		/* of a cold flow, rounding may leave less than nothing */
		variance[k] = turning > 0 ? (variance[k] > 0 ? variance[k] : 0) : NAN;
		bin->sigma[k] = sqrt(variance[k]);
	}
	const double tangential = of->dim == 2 ? variance[2] : (variance[1] + variance[2]) / 2;
	bin->sigma_t = sqrt(tangential);
	bin->beta = variance[0] > 0 ? 1 - tangential / variance[0] : NAN;
}

int nb_profile_bins(const struct nb_profile *of, size_t nbin, const double *edge, struct nb_profile_bin *bin)
{
	if (nbin == 0 || nbin > NB_PROFILE_BINS)
		return NB_EINVAL;
	const size_t n = of->n, chunk = nb_wide_chunk(n), nchunk = nb_wide_chunks(n), row = (nbin + 1) * WIDTH;
	double *partial = nb_alloc_zero(nchunk, row * sizeof *partial), sum[WIDTH];
	if (!partial)
		return NB_ENOMEM;
#pragma omp parallel for schedule(dynamic) if (nchunk > 1)
	for (size_t c = 0; c < nchunk; c++)
		add_chunk(of, c * chunk, (c + 1) * chunk < n ? (c + 1) * chunk : n, nbin, edge, &partial[c * row]);

	double within = nb_sum_column(nchunk, partial, row, MASS);
	for (size_t k = 0; k < nbin; k++) {
		for (size_t s = 0; s < WIDTH; s++)
			sum[s] = nb_sum_column(nchunk, partial, row, (k + 1) * WIDTH + s);
		bin[k].inner = edge[k];
		bin[k].outer = edge[k + 1];
		finish(of, sum, &bin[k]);
		bin[k].within = within += sum[MASS];
	}
	nb_free(partial);
	return NB_OK;
}

/* ---- edges -------------------------------------------------------------------------------------- */

void nb_profile_extent(const struct nb_profile *of, double *nearest, double *farthest)
{
	double least = INFINITY, most = 0;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : most) if (of->n > 100000)
	for (size_t i = 0; i < of->n; i++) {
		double d[3];
		const double r = distance(of, i, d);
		least = r > 0 && r < least ? r : least;
		most = r > most ? r : most;
	}
	*nearest = most > 0 ? least : 0;
	*farthest = most;
}

void nb_profile_edges_log(double lo, double hi, size_t nbin, double *edge)
{
	for (size_t k = 0; k <= nbin; k++)
		edge[k] = lo * pow(hi / lo, (double)k / (double)nbin);
	edge[0] = lo;
	edge[nbin] = hi;
}

void nb_profile_edges_linear(double lo, double hi, size_t nbin, double *edge)
{
	for (size_t k = 0; k <= nbin; k++)
		edge[k] = lo + (hi - lo) * ((double)k / (double)nbin);
	edge[nbin] = hi;
}

/* Of the bodies between lo and hi: their weights, 0 for all others. */
static void weigh(const struct nb_profile *of, double lo, double hi, double *weight)
{
#pragma omp parallel for schedule(static) if (of->n > 100000)
	for (size_t i = 0; i < of->n; i++) {
		double d[3];
		const double r = distance(of, i, d);
		weight[i] = r >= lo && r <= hi ? (of->by_number ? 1 : of->mass[i]) : 0;
	}
}

int nb_profile_edges_equal(const struct nb_profile *of, double lo, double hi, size_t nbin, double *edge)
{
	double *weight = nb_alloc(of->n, sizeof *weight), *fraction = nb_alloc(nbin, sizeof *fraction);
	int status = weight && fraction ? NB_OK : NB_ENOMEM;
	if (!status) {
		weigh(of, lo, hi, weight);
		for (size_t k = 0; k < nbin; k++)
			fraction[k] = (double)(k + 1) / (double)nbin;
		status = nb_lagrangian_radii_cpu(of->n, weight, of->pos, of->centre.pos, nbin - 1, fraction, edge + 1);
	}
	const double none = !status && nbin > 1 && isnan(edge[1]) ? NAN : 0;
	edge[0] = lo + none;
	edge[nbin] = hi + none;
	nb_free_all(weight, fraction);
	return status;
}
