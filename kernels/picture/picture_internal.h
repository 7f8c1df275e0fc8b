/* picture_internal.h - what both backends share: which quantiles decide what is shown, where a body reaches on the
 * pixels, and the pyramid of counts. */
#ifndef NB_PICTURE_INTERNAL_H
#define NB_PICTURE_INTERNAL_H

#include <math.h>

#include "common/hd.h"
#include "kernels/picture/picture.h"

NB_C_BEGIN

/* ---- what is shown (scene.c) ---------------------------------------------------------------------- */

/* Quantiles: of the distance from the median, within which bodies make the centre; of the masses, above which they are
 * heavy; of the surface densities at the bodies, between which brightness grows. */
#define NB_CENTRE_SHARE 0.98
#define NB_HEAVY_SHARE 0.99
#define NB_FAINT_SHARE 0.05
#define NB_BRIGHT_SHARE 0.98

/* Of the distance from the centre, which the size shows, and of the speeds, for n bodies. */
double nb_size_share(size_t n);
double nb_slow_share(size_t n);
double nb_fast_share(size_t n);
/* The scene from what these quantiles are. */
void nb_centre_of(const double sum[3], double total, const double median[3], double centre[3]);
double nb_size_of(double radius);
void nb_masses_of(double heaviest, double heavy, struct nb_mass_scale *scale);
void nb_speeds_of(double low, double high, double *slow, double *fast);
/* count: bodies on pixels with light; 0: least and most mean nothing. */
void nb_range_of(size_t count, double least, double most, enum nb_stretch stretch, float *lo, float *hi);

NB_C_END

/* What is no species is drawn as species 0, and never hidden. */
static NB_HD unsigned nb_species_of(double species)
{
	return species >= 0 && species < NB_PICTURE_SPECIES ? (unsigned)species : 0;
}

static NB_HD int nb_species_hidden(double species, const unsigned char *hidden)
{
	return species >= 0 && species < NB_PICTURE_SPECIES && hidden[(unsigned)species];
}

/* ---- where a body reaches ------------------------------------------------------------------------- */

#define NB_MAX_RADIUS 1024.0f /* pixels */
#define NB_GLOW_HEIGHT 0.4f

static NB_HD float nb_body_radius(const struct nb_splat *s, size_t i)
{
	float least = s->shape == NB_SPLAT_DISC ? 1 : NB_SPLAT_MIN_RADIUS, r = s->radius[i];
	return r > least ? (r < NB_MAX_RADIUS ? r : NB_MAX_RADIUS) : least;
}

/* Width of the glow around a disc: four radii, but not much of the picture. */
static NB_HD float nb_body_glow(const struct nb_splat *s, float radius)
{
	return fmaxf(1, fminf(4 * radius, (float)s->height / 20));
}

static NB_HD float nb_body_reach(const struct nb_splat *s, size_t i)
{
	float radius = nb_body_radius(s, i);
	return s->shape == NB_SPLAT_DISC ? radius + nb_body_glow(s, radius) : radius;
}

/* Whether body i may touch the picture; false for NaN. */
static NB_HD int nb_body_seen(const struct nb_splat *s, size_t i, float reach)
{
	const float x = s->x[i], y = s->y[i];
	return x + reach > 0 && x - reach < (float)s->width && y + reach > 0 && y - reach < (float)s->height;
}

/* Pixels whose centres lie within reach of at, cut to [0, size): [*first, *first + count). */
static NB_HD int nb_pixels_within(float at, float reach, int size, int *first)
{
	int a = (int)ceilf(at - reach - 0.5f), b = (int)floorf(at + reach - 0.5f);
	a = a > 0 ? a : 0;
	b = b < size - 1 ? b : size - 1;
	*first = a;
	return b - a + 1;
}

/* ---- counts of bodies ----------------------------------------------------------------------------- */

enum {
	NB_CELL = 2, /* pixels, of the finest counting grid */
	NB_MAX_LEVEL = 16
};

/* Counts of bodies in cells of one size. */
struct nb_level {
	int width, height;
	uint32_t *count;
};

/* The counts: level l has cells of NB_CELL 2^l pixels. */
struct nb_pyramid {
	int nlevel;
	float most;			/* no radius is above it */
	float left, right, top, bottom; /* pixels; bodies between them count */
	struct nb_level level[NB_MAX_LEVEL];
};

/* Number of cells of all levels. */
static inline size_t nb_pyramid_cells(const struct nb_pyramid *p)
{
	size_t cells = 0;
	for (int l = 0; l < p->nlevel; l++)
		cells += (size_t)p->level[l].width * (size_t)p->level[l].height;
	return cells;
}

/* The grids for a picture, without counts.  Bodies up to the largest radius beyond the edge count, so that the picture
 * does not fade there.  The middle of the picture is a corner of cells on every level, so that its mirror image is
 * treated alike. */
static inline struct nb_pyramid nb_pyramid_over(int width, int height)
{
	struct nb_pyramid p;
	p.most = fminf(fmaxf((float)(width < height ? width : height) / 6, NB_SPLAT_MIN_RADIUS), NB_MAX_RADIUS);
	p.nlevel = 1;
	while ((float)(NB_CELL << (p.nlevel - 1)) < p.most)
		p.nlevel++;
	const int coarsest = NB_CELL << (p.nlevel - 1);
	const int across = (width / 2 + 1 + (int)p.most) / coarsest + 1,
		  down = (height / 2 + 1 + (int)p.most) / coarsest + 1;
	p.left = (float)width / 2 - (float)(across * coarsest);
	p.right = (float)width - p.left;
	p.top = (float)height / 2 - (float)(down * coarsest);
	p.bottom = (float)height - p.top;
	for (int l = 0; l < p.nlevel; l++) {
		p.level[l].width = 2 * across << (p.nlevel - 1 - l);
		p.level[l].height = 2 * down << (p.nlevel - 1 - l);
	}
	return p;
}

/* Deals an array of all cells to the levels. */
static inline void nb_pyramid_counts(struct nb_pyramid *p, uint32_t *count)
{
	for (int l = 0; l < p->nlevel; l++) {
		p->level[l].count = count;
		count += (size_t)p->level[l].width * (size_t)p->level[l].height;
	}
}

static NB_HD int nb_pyramid_inside(const struct nb_pyramid *p, float x, float y)
{
	return x > p->left && x < p->right && y > p->top && y < p->bottom;
}

/* The cell of the finest level around (x, y), which is inside. */
static NB_HD size_t nb_pyramid_cell(const struct nb_pyramid *p, float x, float y)
{
	const int width = p->level[0].width, height = p->level[0].height;
	int c = (int)((x - p->left) / NB_CELL), r = (int)((y - p->top) / NB_CELL);
	c = c < width ? c : width - 1; /* the difference may have been rounded up */
	r = r < height ? r : height - 1;
	return (size_t)r * (size_t)width + (size_t)c;
}

/* Bodies per pixel around (x, y), which are in cells of this level: bilinear between cell centres. */
static NB_HD float nb_level_density(const struct nb_level *level, float x, float y, float cell)
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

/* Radius of a body at (x, y), inside.  A density read from cells of edge s is smoothed by sigma = s / 2, as by a kernel
 * of radius 3^(1/2) s; and a kernel of radius R averages over 1 / integral(kernel^2) = 9/25 pi R^2 = 1.131 R^2 pixels.
 * The density is taken over three times the bodies wanted, or else each chance clump would get small kernels and stand
 * out the more.  Bodies along a line, such as a disk seen from its edge, are those of half the radius once more and not
 * four times: they would be spread far beside it, and get a quarter of the radius. */
static NB_HD float nb_pyramid_radius(const struct nb_pyramid *p, float x, float y, float wanted)
{
	const float narrower = 1 / sqrtf(3), radius_of_cell = sqrtf(3), area = 1.131f;
	float before = 0, found = 0, r = 0, cell = NB_CELL, grows = 2;
	int l = 0;
	for (; l < p->nlevel; l++, cell *= 2) {
		float u = (x - p->left) / cell, v = (y - p->top) / cell;
		before = found;
		r = cell * radius_of_cell;
		found = area * r * r * nb_level_density(&p->level[l], u, v, cell);
		if (found >= wanted)
			break;
	}
	if (l == p->nlevel)
		r = p->most / narrower;
	else if (l == 0 || !(before > 0))
		r *= sqrtf(wanted / found);
	else {
		grows = log2f(found / before); /* 2 in a plane, 1 along a line; up to 0.4 less is chance */
		r *= exp2f(log2f(wanted / before) / grows - 1);
		grows = fminf(fmaxf(grows + 0.4f, 1), 2);
	}
	r *= exp2f(2 - 4 / grows);
	return fminf(fmaxf(r * narrower, NB_SPLAT_MIN_RADIUS), p->most);
}

/* The bodies over which the density is taken. */
static inline float nb_bodies_wanted(double neighbours)
{
	return 3 * (float)fmin(neighbours, 1e9);
}

static inline int nb_radii_possible(int width, int height, double neighbours)
{
	return width >= 1 && height >= 1 && width <= NB_SPLAT_MAX_SIZE && height <= NB_SPLAT_MAX_SIZE &&
	       neighbours >= 0;
}

/* NB_OK, NB_EINVAL, NB_ELIMIT. */
static inline int nb_splat_possible(const struct nb_splat *s)
{
	if (s->nchannel < 1 || s->nchannel > NB_SPLAT_MAX_CHANNEL || s->width < 1 || s->height < 1 ||
		s->width > NB_SPLAT_MAX_SIZE || s->height > NB_SPLAT_MAX_SIZE)
		return NB_EINVAL;
	return s->n > UINT32_MAX ? NB_ELIMIT : NB_OK;
}

#endif
