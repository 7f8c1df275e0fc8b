/* nb-render-ppm: how wide to spread bodies.  Each species that has many is smoothed over its own neighbours: of one
 * that is sparse and heavy every body would stand out as a speckle if those of a dense one narrowed it. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <math.h>
#include <string.h>

enum { MANY = 256 };

/* Bodies of species with many of them, species by species. */
struct groups {
	size_t start[NSPECIES + 1]; /* in grouped, of each species, and the end */
	uint32_t *grouped;	    /* bodies */
	uint32_t *from;		    /* for each body, its place in grouped, or that of all bodies behind it */
};

/* 1 if there are groups, 0 if all bodies are smoothed together. */
static int find_groups(size_t n, const double *species, struct groups *g)
{
	size_t count[NSPECIES] = {0}, next[NSPECIES], all = 0;
	for (size_t i = 0; i < n; i++)
		count[nb_render_kind(species[i])]++;
	for (size_t k = 0; k < NSPECIES; k++) {
		next[k] = g->start[k] = all;
		if (count[k] == n)
			return 0;
		all += count[k] >= MANY ? count[k] : 0;
	}
	g->start[NSPECIES] = all;
	g->grouped = nb_alloc(all + n, sizeof *g->grouped);
	if (all == 0 || !g->grouped)
		return 0;
	g->from = g->grouped + all;
	for (size_t i = 0; i < n; i++) {
		const unsigned k = nb_render_kind(species[i]);
		g->from[i] = (uint32_t)(all + i);
		if (count[k] >= MANY) {
			g->from[i] = (uint32_t)next[k];
			g->grouped[next[k]++] = (uint32_t)i;
		}
	}
	return 1;
}

/* A part of many bodies gets not much less than all of them. */
static double neighbours_of(const struct render *r, size_t count)
{
	const size_t n = r->bodies.n;
	return r->neighbours_given   ? r->neighbours
	       : n < NB_PICTURE_MANY ? nb_exposure_neighbours(count)
				     : r->scene.neighbours * pow((double)count / (double)n, 0.3);
}

/* Radii of the groups, in the block of memory, which is where the backend computes: rows, x and y of the groups, then
 * radii of the groups and of all bodies. */
static int smooth_groups(struct render *r, const struct groups *g, void *block)
{
	const struct nb_backend *be = r->backend;
	const struct nb_space *space = be->space;
	const struct canvas *c = &r->canvas;
	const size_t n = r->bodies.n + c->images.n, m = g->start[NSPECIES], size = sizeof(float);
	uint32_t *row = block;
	float *x = (float *)(row + m + n), *y = x + m, *radius = y + m;
	int status = space->from_host(space, row, g->grouped, (m + n) * sizeof *row);
	if (!status)
		status = be->permute(m, row, size, c->x, x);
	if (!status)
		status = be->permute(m, row, size, c->y, y);
	if (!status)
		status = space->copy(space, radius + m, c->radius, n * size);
	for (size_t k = 0; k < NSPECIES && !status; k++) {
		const size_t first = g->start[k], count = g->start[k + 1] - first;
		if (count)
			status = be->splat_radii(count, x + first, y + first, r->width, r->height,
				neighbours_of(r, count), radius + first);
	}
	return status ? status : be->permute(n, row + m, size, radius, c->radius);
}

/* Of the bodies, and then of their images, in host memory. */
static double *numbers_with_images(const struct render *r, struct nb_column *column)
{
	const struct images *im = &r->canvas.images;
	const size_t n = r->bodies.n;
	double *own = nb_render_numbers(r, column);
	if (im->n == 0)
		return own;
	double *all = nb_require_memory(r->bodies.frame, nb_alloc(n + im->n, sizeof *all));
	memcpy(all, own, n * sizeof *all);
	for (size_t k = 0; k < im->n; k++)
		all[n + k] = own[im->row[k]];
	nb_free(own);
	return all;
}

int nb_render_smooth(struct render *r)
{
	const struct bodies *b = &r->bodies;
	const struct canvas *c = &r->canvas;
	const struct nb_space *space = r->backend->space;
	const size_t n = b->n + c->images.n;
	int status = r->backend->splat_radii(n, c->x, c->y, r->width, r->height, r->scene.neighbours, c->radius);
	struct nb_column *column = nb_frame_field(b->frame, NB_SPECIES);
	if (status || !column || r->scene.neighbours == 0 || b->n <= MANY || n >= UINT32_MAX / 2)
		return status;
	double *species = numbers_with_images(r, column);
	struct groups groups = {.grouped = NULL};
	const int there = find_groups(n, species, &groups);
	nb_free(species);
	if (there) {
		void *block = space->alloc(space, (2 * n + 4 * groups.start[NSPECIES]) * sizeof(float));
		status = block ? smooth_groups(r, &groups, block) : nb_space_status();
		if (block)
			space->release(space, block);
	}
	nb_free(groups.grouped);
	return status;
}
