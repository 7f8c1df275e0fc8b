/* Pictures on the CPU.
 *
 * Smoothing: with kernel radius R = (neighbours / number density)^(1/2) a body covers about 3.5 neighbours / density
 * pixels, so that all of them together cost at most 3.5 neighbours per pixel of the picture, whatever n, plus
 * about 25 pixels a body where R is at its minimum.
 *
 * Layout: a band of BAND rows is summed in a buffer that stays in the core's cache, with PAD columns to
 * spare, so that rows of a small kernel are added as 8 floats whatever their number.
 *
 * Sections, in the order in which nb-render-ppm calls them: where to look (centre and extent, by quantiles, so that
 * stray bodies move nothing), how wide (a radius for each body, from a pyramid of counts), spread (bodies are dealt to
 * bands of rows, a thread each, and added there in their order, so any number of threads gives the same bytes),
 * brightness. */
#include "kernels/picture/picture.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "common/mem.h"

enum {
	BAND = 16,	   /* rows summed at once */
	PAD = 8,	   /* floats added at once; a power of 2 */
	MAX_RADIUS = 1024, /* pixels */
	CELL = 2,	   /* pixels, of the finest counting grid */
	MAX_LEVEL = 16
};
static const float glow_height = 0.4f;

/* ---- how wide ------------------------------------------------------------------------------------- */

/* Counts of bodies in cells of one size. */
struct level {
	int width, height;
	uint32_t *count;
};

/* The counts: level l has cells of CELL 2^l pixels. */
struct pyramid {
	int nlevel;
	float left, right, top, bottom; /* pixels; bodies between them count */
	struct level level[MAX_LEVEL];
};

/* Bodies per pixel around (x, y), which are in cells of this level: bilinear between cell centres. */
static float level_density(const struct level *level, float x, float y, float cell)
{
	float u = x - 0.5f, v = y - 0.5f;
	int i = (int)floorf(u), j = (int)floorf(v);
	float p = u - (float)i, q = v - (float)j, sum = 0;
	for (int b = 0; b < 2; b++)
		for (int a = 0; a < 2; a++) {
			int c = i + a, r = j + b;
			if (c < 0 || r < 0 || c >= level->width || r >= level->height)
				continue;
			float count = (float)level->count[(size_t)r * (size_t)level->width + (size_t)c];
			sum += (a ? p : 1 - p) * (b ? q : 1 - q) * count;
		}
	return sum / (cell * cell);
}

static int inside(const struct pyramid *p, float x, float y)
{
	return x > p->left && x < p->right && y > p->top && y < p->bottom;
}

/* The grids for a picture in which no radius is above most.  Bodies up to that beyond the edge count, so that the
 * picture does not fade there.  The middle of the picture is a corner of cells on every level, so that its mirror image
 * is treated alike.  Counts are zero. */
static int pyramid_alloc(struct pyramid *p, int width, int height, float most)
{
	p->nlevel = 1;
	while ((float)(CELL << (p->nlevel - 1)) < most)
		p->nlevel++;
	const int coarsest = CELL << (p->nlevel - 1);
	const int across = (width / 2 + 1 + (int)most) / coarsest + 1,
		  down = (height / 2 + 1 + (int)most) / coarsest + 1;
	p->left = (float)width / 2 - (float)(across * coarsest), p->right = (float)width - p->left;
	p->top = (float)height / 2 - (float)(down * coarsest), p->bottom = (float)height - p->top;
	struct level *level = p->level;
	size_t cells = 0;
	for (int l = 0; l < p->nlevel; l++) {
		level[l].width = 2 * across << (p->nlevel - 1 - l);
		level[l].height = 2 * down << (p->nlevel - 1 - l);
		cells += (size_t)level[l].width * (size_t)level[l].height;
	}
	level[0].count = nb_alloc_zero(cells, sizeof *level[0].count);
	if (!level[0].count)
		return NB_ENOMEM;
	for (int l = 1; l < p->nlevel; l++)
		level[l].count = level[l - 1].count + (size_t)level[l - 1].width * (size_t)level[l - 1].height;
	return NB_OK;
}

static void count_finest(const struct pyramid *pyramid, size_t n, const float *x, const float *y)
{
	const struct pyramid p = *pyramid;
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++) {
		if (!inside(&p, x[i], y[i]))
			continue;
		int c = (int)((x[i] - p.left) / CELL), r = (int)((y[i] - p.top) / CELL);
		c = c < p.level[0].width ? c : p.level[0].width - 1; /* the difference may have been rounded up */
		r = r < p.level[0].height ? r : p.level[0].height - 1;
		uint32_t *at = &p.level[0].count[(size_t)r * (size_t)p.level[0].width + (size_t)c];
#pragma omp atomic
		++*at;
	}
}

/* Each level from the one below it, four cells a cell. */
static void count_coarser(const struct pyramid *p)
{
	for (int l = 1; l < p->nlevel; l++) {
		const struct level fine = p->level[l - 1], coarse = p->level[l];
#pragma omp parallel for schedule(static) if (coarse.height > 64)
		for (int r = 0; r < fine.height; r += 2)
			for (int c = 0; c < fine.width; c++) {
				size_t upper = (size_t)r * (size_t)fine.width + (size_t)c;
				uint32_t sum = fine.count[upper] + fine.count[upper + (size_t)fine.width];
				coarse.count[(size_t)(r / 2) * (size_t)coarse.width + (size_t)(c / 2)] += sum;
			}
	}
}

/* Radius of a body at (x, y), inside.  A density read from cells of edge s is smoothed by sigma = s / 2, as by a kernel
 * of radius 3^(1/2) s; and a kernel of radius R averages over 1 / integral(kernel^2) = 9/25 pi R^2 = 1.131 R^2 pixels.
 * The density is taken over three times the bodies wanted, or else each chance clump would get small kernels and stand
 * out the more. */
static float choose_radius(const struct pyramid *p, float x, float y, float wanted, float most)
{
	const float narrower = 1 / sqrtf(3), radius_of_cell = sqrtf(3), area = 1.131f;
	float before = 0, found = 0, r = 0, cell = CELL;
	int l = 0;
	for (; l < p->nlevel; l++, cell *= 2) {
		float u = (x - p->left) / cell, v = (y - p->top) / cell;
		before = found;
		r = cell * radius_of_cell;
		found = area * r * r * level_density(&p->level[l], u, v, cell);
		if (found >= wanted)
			break;
	}
	if (l == p->nlevel)
		r = most / narrower;
	else if (l == 0 || !(before > 0))
		r *= sqrtf(wanted / found);
	else
		r *= exp2f(log2f(wanted / before) / log2f(found / before) - 1);
	return fminf(fmaxf(r * narrower, NB_SPLAT_MIN_RADIUS), most);
}

int nb_splat_radii_cpu(
	size_t n, const float *x, const float *y, int width, int height, double neighbours, float *radius)
{
	if (width < 1 || height < 1 || width > NB_SPLAT_MAX_SIZE || height > NB_SPLAT_MAX_SIZE || !(neighbours >= 0))
		return NB_EINVAL;
	if (neighbours == 0) {
		for (size_t i = 0; i < n; i++)
			radius[i] = NB_SPLAT_MIN_RADIUS;
		return NB_OK;
	}
	const float most = fminf(fmaxf((float)(width < height ? width : height) / 6, NB_SPLAT_MIN_RADIUS), MAX_RADIUS);
	struct pyramid pyramid;
	int status = pyramid_alloc(&pyramid, width, height, most);
	if (status)
		return status;
	count_finest(&pyramid, n, x, y);
	count_coarser(&pyramid);
	const float wanted = 3 * (float)fmin(neighbours, 1e9);
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++)
		radius[i] = inside(&pyramid, x[i], y[i]) ? choose_radius(&pyramid, x[i], y[i], wanted, most)
							 : NB_SPLAT_MIN_RADIUS;
	nb_free(pyramid.level[0].count);
	return NB_OK;
}

/* ---- spread --------------------------------------------------------------------------------------- */

static float radius_of(const struct nb_splat *s, size_t i)
{
	float least = s->shape == NB_SPLAT_DISC ? 1 : NB_SPLAT_MIN_RADIUS, r = s->radius[i];
	return r > least ? (r < MAX_RADIUS ? r : MAX_RADIUS) : least;
}

/* Width of the glow around a disc: four radii, but not much of the picture. */
static float glow_of(const struct nb_splat *s, float radius)
{
	return fmaxf(1, fminf(4 * radius, (float)s->height / 20));
}

static float reach_of(const struct nb_splat *s, size_t i)
{
	float radius = radius_of(s, i);
	return s->shape == NB_SPLAT_DISC ? radius + glow_of(s, radius) : radius;
}

/* Bands [*first, *end) that body i touches; none if it is not in the picture. */
static void bands_of(const struct nb_splat *s, size_t i, int nband, int *first, int *end)
{
	float reach = reach_of(s, i), x = s->x[i], y = s->y[i];
	*first = *end = 0;
	if (!(x + reach > 0 && x - reach < (float)s->width && y + reach > 0 && y - reach < (float)s->height))
		return;
	int top = (int)floorf(fmaxf(y - reach, 0)) / BAND, bottom = (int)floorf(y + reach) / BAND;
	*first = top;
	*end = bottom < nband ? bottom + 1 : nband;
}

/* Pixels whose centres lie within reach of at, cut to [0, size): [*first, *first + count). */
static int pixels_within(float at, float reach, int size, int *first)
{
	int a = (int)ceilf(at - reach - 0.5f), b = (int)floorf(at + reach - 0.5f);
	a = a > 0 ? a : 0;
	b = b < size - 1 ? b : size - 1;
	*first = a;
	return b - a + 1;
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
	const float reach = reach_of(s, i), x = s->x[i], y = s->y[i], inverse = 1 / (reach * reach);
	const float scale = 5 * inverse / (float)M_PI;
	int column, first;
	const int columns = pixels_within(x, reach, s->width, &column);
	const int rows = pixels_within(y, reach, s->height, &first);
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
	const float reach = reach_of(s, i), x = s->x[i], y = s->y[i];
	const float radius = radius_of(s, i), inverse = 1 / glow_of(s, radius);
	int column, first;
	int columns = pixels_within(x, reach, s->width, &column), rows = pixels_within(y, reach, s->height, &first);
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
			row[c] = core + (1 - core) * glow_height * t * t * t;
		}
		for (int c = 0; c < s->nchannel; c++)
			add_row(band + (size_t)(c * BAND + r - top) * stride + column, row,
				s->weight[i * (size_t)s->nchannel + (size_t)c], columns);
	}
}

/* Bodies of each band in the order of their index: list[start[b]..start[b + 1]).  Counted and filled in chunks
 * of bodies, one a thread; the result does not depend on the number of chunks. */
static int list_bands(const struct nb_splat *s, int nband, uint32_t **list, size_t *start)
{
	const size_t nchunk = s->n > 10000 ? (size_t)omp_get_max_threads() : 1, bands = (size_t)nband;
	size_t *count = nb_alloc_zero(nchunk * bands, sizeof *count);
	if (!count)
		return NB_ENOMEM;
#pragma omp parallel for schedule(static, 1)
	for (size_t k = 0; k < nchunk; k++)
		for (size_t i = s->n * k / nchunk; i < s->n * (k + 1) / nchunk; i++) {
			int first, end;
			bands_of(s, i, nband, &first, &end);
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
			bands_of(s, i, nband, &first, &end);
			for (int b = first; b < end; b++)
				(*list)[count[k * bands + (size_t)b]++] = (uint32_t)i;
		}
	nb_free(count);
	return NB_OK;
}

int nb_splat_cpu(const struct nb_splat *splat)
{
	const struct nb_splat s = *splat;
	if (s.nchannel < 1 || s.nchannel > NB_SPLAT_MAX_CHANNEL || s.width < 1 || s.height < 1 ||
		s.width > NB_SPLAT_MAX_SIZE || s.height > NB_SPLAT_MAX_SIZE)
		return NB_EINVAL;
	if (s.n > UINT32_MAX)
		return NB_ELIMIT;
	const int nband = (s.height + BAND - 1) / BAND;
	size_t start[NB_SPLAT_MAX_SIZE / BAND + 2];
	uint32_t *list;
	int error = list_bands(&s, nband, &list, start);
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
	for (int b = 0; b < nband; b++) {
		float *band = scratch + (size_t)omp_get_thread_num() * (band_size + row_size), *row = band + band_size;
		const int top = b * BAND, bottom = top + BAND < s.height ? top + BAND : s.height;
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
	nb_free(scratch);
	nb_free(list);
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
