/* Pictures on the CPU.
 *
 * Smoothing: with kernel radius R = (neighbours / number density)^(1/2) a body covers about 3.5 neighbours / density
 * pixels, so that all of them together cost at most 3.5 neighbours per pixel of the picture, whatever n, plus
 * about 25 pixels a body where R is at its minimum.
 *
 * Layout: a band of at most BAND rows is summed in a buffer that stays in the core's cache, with PAD columns to
 * spare, so that rows of a small kernel are added as 8 floats whatever their number.  Where bodies are dense, several
 * threads have bands of fewer rows.
 *
 * Sections, in the order in which nb-render-ppm calls them: where to look (centre and extent, by quantiles, so that
 * stray bodies move nothing), how wide (a radius for each body, from a pyramid of counts), spread (bodies are dealt to
 * bands of rows, a thread each, and added there in their order, so any number of threads gives the same bytes),
 * brightness. */
#include "kernels/picture/picture_internal.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "common/mem.h"

enum {
	BAND = 16, /* rows summed at once, at most, */
	THIN = 4,  /* and at least; it divides BAND */
	PAD = 8	   /* floats added at once; a power of 2 */
};

/* ---- how wide ------------------------------------------------------------------------------------- */

static void count_finest(const struct nb_pyramid *pyramid, size_t n, const float *x, const float *y)
{
	const struct nb_pyramid p = *pyramid;
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++) {
		if (!nb_pyramid_inside(&p, x[i], y[i]))
			continue;
		uint32_t *at = &p.level[0].count[nb_pyramid_cell(&p, x[i], y[i])];
#pragma omp atomic
		++*at;
	}
}

/* Each level from the one below it, four cells a cell. */
static void count_coarser(const struct nb_pyramid *p)
{
	for (int l = 1; l < p->nlevel; l++) {
		const struct nb_level fine = p->level[l - 1], coarse = p->level[l];
#pragma omp parallel for schedule(static) if (coarse.height > 64)
		for (int r = 0; r < fine.height; r += 2)
			for (int c = 0; c < fine.width; c++) {
				size_t upper = (size_t)r * (size_t)fine.width + (size_t)c;
				uint32_t sum = fine.count[upper] + fine.count[upper + (size_t)fine.width];
				coarse.count[(size_t)(r / 2) * (size_t)coarse.width + (size_t)(c / 2)] += sum;
			}
	}
}

int nb_splat_radii_cpu(
	size_t n, const float *x, const float *y, int width, int height, double neighbours, float *radius)
{
	if (!nb_radii_possible(width, height, neighbours))
		return NB_EINVAL;
	if (neighbours == 0) {
		for (size_t i = 0; i < n; i++)
			radius[i] = NB_SPLAT_MIN_RADIUS;
		return NB_OK;
	}
	struct nb_pyramid pyramid = nb_pyramid_over(width, height);
	uint32_t *count = nb_alloc_zero(nb_pyramid_cells(&pyramid), sizeof *count);
	if (!count)
		return NB_ENOMEM;
	nb_pyramid_counts(&pyramid, count);
	count_finest(&pyramid, n, x, y);
	count_coarser(&pyramid);
	const float wanted = nb_bodies_wanted(neighbours);
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++)
		radius[i] = nb_pyramid_inside(&pyramid, x[i], y[i]) ? nb_pyramid_radius(&pyramid, x[i], y[i], wanted)
								    : NB_SPLAT_MIN_RADIUS;
	nb_free(count);
	return NB_OK;
}

/* ---- spread --------------------------------------------------------------------------------------- */

/* Bands of a picture: each is some of the strips of THIN rows that the picture consists of. */
struct bands {
	int n, nstrip;
	int strip[NB_SPLAT_MAX_SIZE / THIN + 2]; /* the first strip of each, and the end */
	int of[NB_SPLAT_MAX_SIZE / THIN + 1];	 /* the band of each strip */
};

/* Strips [*first, *end) that body i touches; none if it is not in the picture. */
static void strips_of(const struct nb_splat *s, size_t i, int nstrip, int *first, int *end)
{
	const float reach = nb_body_reach(s, i), y = s->y[i];
	*first = *end = 0;
	if (!nb_body_seen(s, i, reach))
		return;
	int top = (int)floorf(fmaxf(y - reach, 0)) / THIN, bottom = (int)floorf(y + reach) / THIN;
	*first = top;
	*end = bottom < nstrip ? bottom + 1 : nstrip;
}

/* Bands [*first, *end) that body i touches. */
static void bands_of(const struct nb_splat *s, size_t i, const struct bands *bands, int *first, int *end)
{
	strips_of(s, i, bands->nstrip, first, end);
	*end = *first < *end ? bands->of[*end - 1] + 1 : 0;
	*first = *end ? bands->of[*first] : 0;
}

/* Bands that about as many bodies touch, for several threads. */
static void find_bands(const struct nb_splat *s, struct bands *bands)
{
	enum { SAMPLE = 1 << 16, EACH = 8 /* bands, for each thread, if all were alike */ };
	const int threads = omp_get_max_threads();
	const size_t step = s->n / SAMPLE + 1;
	size_t load[NB_SPLAT_MAX_SIZE / THIN + 1] = {0}, total = 0, now = 0;
	bands->nstrip = (s->height + THIN - 1) / THIN;
	bands->n = 0;
	for (size_t i = 0; i < s->n && threads > 1; i += step) {
		int first, end;
		strips_of(s, i, bands->nstrip, &first, &end);
		for (int k = first; k < end; k++, total++)
			load[k]++;
	}
	for (int k = 0; k < bands->nstrip; k++) {
		const int rows = bands->n ? (k - bands->strip[bands->n - 1]) * THIN : BAND;
		if (rows == BAND || (now + load[k]) * EACH * (size_t)threads > total) {
			bands->strip[bands->n++] = k;
			now = 0;
		}
		now += load[k];
		bands->of[k] = bands->n - 1;
	}
	bands->strip[bands->n] = bands->nstrip;
}

static void add_row(float *to, const float *row, float factor, int padded)
{
	if (padded == PAD) {
		for (int k = 0; k < PAD; k++)
			to[k] += factor * row[k];
		return;
	}
	for (int k = 0; k < padded; k++)
		to[k] += factor * row[k];
}

/* (1 - (dx^2 + dy^2) / radius^2)^4 of a row of pixels; dx2 = dx^2 / radius^2, rest = 1 - dy^2 / radius^2 */
static void smooth_row(float *row, const float *dx2, float rest, int padded)
{
	for (int k = 0; k < padded; k++) {
		float t = rest - dx2[k];
		t = t > 0 ? t : 0;
		t *= t;
		row[k] = t * t;
	}
}

/* A body's share of rows [top, bottom) of the picture; band: nchannel planes of BAND rows of stride floats;
 * row: room for two rows. */
static void add_smooth(const struct nb_splat *s, size_t i, int top, int bottom, float *band, size_t stride, float *row)
{
	const float reach = nb_body_reach(s, i), x = s->x[i], y = s->y[i], inverse = 1 / (reach * reach);
	const float scale = 5 * inverse / (float)M_PI;
	int column, first;
	const int columns = nb_pixels_within(x, reach, s->width, &column);
	const int rows = nb_pixels_within(y, reach, s->height, &first);
	if (columns <= 0 || rows <= 0)
		return;
	const int padded = (columns + PAD - 1) / PAD * PAD;
	float *const dx2 = row + stride;
	for (int k = 0; k < padded; k++) {
		float dx = (float)(column + k) + 0.5f - x;
		dx2[k] = k < columns ? dx * dx * inverse : 2;
	}
	const int from = first > top ? first : top, to = first + rows < bottom ? first + rows : bottom;
	for (int r = from; r < to; r++) {
		const float dy = (float)r + 0.5f - y, rest = 1 - dy * dy * inverse;
		smooth_row(row, dx2, rest, padded);
		for (int c = 0; c < s->nchannel; c++)
			add_row(band + (size_t)(c * BAND + r - top) * stride + column, row,
				scale * s->weight[i * (size_t)s->nchannel + (size_t)c], padded);
	}
}

static void add_disc(const struct nb_splat *s, size_t i, int top, int bottom, float *band, size_t stride, float *row)
{
	const float reach = nb_body_reach(s, i), x = s->x[i], y = s->y[i];
	const float radius = nb_body_radius(s, i), inverse = 1 / nb_body_glow(s, radius);
	int column, first;
	int columns = nb_pixels_within(x, reach, s->width, &column),
	    rows = nb_pixels_within(y, reach, s->height, &first);
	if (columns <= 0 || rows <= 0)
		return;
	const int from = first > top ? first : top, to = first + rows < bottom ? first + rows : bottom;
	for (int r = from; r < to; r++) {
		const float dy = (float)r + 0.5f - y;
		for (int c = 0; c < columns; c++) {
			const float dx = (float)(column + c) + 0.5f - x, beyond = sqrtf(dx * dx + dy * dy) - radius;
			float core = 0.5f - beyond, t = 1 - beyond * inverse;
			core = core > 0 ? (core < 1 ? core : 1) : 0;
			t = t > 0 ? (t < 1 ? t : 1) : 0;
			row[c] = core + (1 - core) * NB_GLOW_HEIGHT * t * t * t;
		}
		for (int c = 0; c < s->nchannel; c++)
			add_row(band + (size_t)(c * BAND + r - top) * stride + column, row,
				s->weight[i * (size_t)s->nchannel + (size_t)c], columns);
	}
}

/* Bodies of each band in the order of their index: list[start[b]..start[b + 1]).  Counted and filled in chunks
 * of bodies, one a thread; the result does not depend on the number of chunks. */
static int list_bands(const struct nb_splat *s, const struct bands *of, uint32_t **list, size_t *start)
{
	const size_t nchunk = s->n > 10000 ? (size_t)omp_get_max_threads() : 1, bands = (size_t)of->n;
	size_t *count = nb_alloc_zero(nchunk * bands, sizeof *count);
	if (!count)
		return NB_ENOMEM;
#pragma omp parallel for schedule(static, 1)
	for (size_t k = 0; k < nchunk; k++)
		for (size_t i = s->n * k / nchunk; i < s->n * (k + 1) / nchunk; i++) {
			int first, end;
			bands_of(s, i, of, &first, &end);
			for (int b = first; b < end; b++)
				count[k * bands + (size_t)b]++;
		}
	size_t total = 0;
	for (size_t b = 0; b < bands; b++) {
		start[b] = total;
		for (size_t k = 0; k < nchunk; k++) {
			size_t here = count[k * bands + b];
			count[k * bands + b] = total;
			total += here;
		}
	}
	start[bands] = total;
	*list = nb_alloc(total, sizeof **list);
	if (!*list) {
		nb_free(count);
		return NB_ENOMEM;
	}
#pragma omp parallel for schedule(static, 1)
	for (size_t k = 0; k < nchunk; k++)
		for (size_t i = s->n * k / nchunk; i < s->n * (k + 1) / nchunk; i++) {
			int first, end;
			bands_of(s, i, of, &first, &end);
			for (int b = first; b < end; b++)
				(*list)[count[k * bands + (size_t)b]++] = (uint32_t)i;
		}
	nb_free(count);
	return NB_OK;
}

int nb_splat_cpu(const struct nb_splat *splat)
{
	const struct nb_splat s = *splat;
	int error = nb_splat_possible(&s);
	if (error)
		return error;
	struct bands bands;
	size_t start[NB_SPLAT_MAX_SIZE / THIN + 2];
	uint32_t *list;
	find_bands(&s, &bands);
	error = list_bands(&s, &bands, &list, start);
	if (error)
		return error;

	const size_t stride = ((size_t)s.width + 2 * PAD - 1) / PAD * PAD, plane = (size_t)s.width * (size_t)s.height;
	const size_t band_size = (size_t)s.nchannel * BAND * stride;
	const size_t row_size = 2 * stride;
	float *scratch = nb_alloc((size_t)omp_get_max_threads() * (band_size + row_size), sizeof *scratch);
	if (!scratch) {
		nb_free(list);
		return NB_ENOMEM;
	}
#pragma omp parallel for schedule(dynamic, 1)
	for (int b = 0; b < bands.n; b++) {
		float *band = scratch + (size_t)omp_get_thread_num() * (band_size + row_size), *row = band + band_size;
		const int top = bands.strip[b] * THIN, end = bands.strip[b + 1] * THIN;
		const int bottom = end < s.height ? end : s.height;
		memset(band, 0, band_size * sizeof *band);
		for (size_t k = start[b]; k < start[b + 1]; k++) {
			if (s.shape == NB_SPLAT_DISC)
				add_disc(&s, list[k], top, bottom, band, stride, row);
			else
				add_smooth(&s, list[k], top, bottom, band, stride, row);
		}
		for (int c = 0; c < s.nchannel; c++)
			for (int r = top; r < bottom; r++)
				memcpy(s.image + (size_t)c * plane + (size_t)r * (size_t)s.width,
					band + (size_t)(c * BAND + r - top) * stride, (size_t)s.width * sizeof *band);
	}
	nb_free_all(scratch, list);
	return NB_OK;
}

/* ---- brightness ----------------------------------------------------------------------------------- */

void nb_splat_stretch_cpu(size_t n, const float *s, enum nb_stretch stretch, float lo, float hi, float *v)
{
	const float linear = 1 / (hi - lo), logarithm = 1 / logf(hi / lo), arc = 1 / asinhf(hi / lo), in_lo = 1 / lo;
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++) {
		float t;
		switch (stretch) {
		case NB_STRETCH_LINEAR: t = (s[i] - lo) * linear; break;
		case NB_STRETCH_LOG: t = s[i] > lo ? logf(s[i] * in_lo) * logarithm : 0; break;
		default: t = asinhf(s[i] * in_lo) * arc; break;
		}
		v[i] = t > 0 ? (t < 1 ? t : 1) : 0;
	}
}
