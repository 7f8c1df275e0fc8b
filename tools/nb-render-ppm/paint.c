/* nb-render-ppm: bodies as a picture. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <math.h>
#include <string.h>

/* Planes: weight alone, or with its product with the speed (0..1), or with red, green and blue. */
static int channels(const struct render *r)
{
	return r->by == BY_SPECIES ? 4 : r->by == BY_SPEED ? 2 : 1;
}

void nb_render_open_canvas(struct render *r)
{
	struct canvas *c = &r->canvas;
	const struct nb_space *space = r->backend->space;
	const size_t pixels = (size_t)r->width * (size_t)r->height, numbers = pixels * (size_t)channels(r);
	c->image = nb_alloc(numbers, sizeof *c->image);
	c->bright = nb_alloc(pixels, sizeof *c->bright);
	c->rgb = nb_alloc(pixels, 3);
	c->planes = space->device < 0 ? c->image : space->alloc(space, numbers * sizeof *c->planes);
	if (!c->image || !c->bright || !c->rgb || !c->planes) {
		nb_blame_device();
		nb_die(NB_EXIT_FAILED, "out of memory for pictures of %d x %d pixels", r->width, r->height);
	}
}

void nb_render_close_canvas(struct render *r)
{
	struct canvas *c = &r->canvas;
	nb_render_wipe(r);
	if (c->planes && c->planes != c->image)
		r->backend->space->release(r->backend->space, c->planes);
	nb_free(c->image);
	nb_free(c->bright);
	nb_free(c->rgb);
}

/* ---- bodies to surface densities ------------------------------------------------------------------ */

/* Channels 1 to 3: the weight times red, green and blue of the species. */
static int set_species_weights(const struct render *r, float *weight)
{
	uint32_t colour[NSPECIES];
	for (unsigned kind = 0; kind < NSPECIES; kind++)
		colour[kind] = nb_hue_of_kind(kind);
	return r->backend->splat_colour_weights(r->bodies.n, r->bodies.species, colour, weight);
}

static int set_weights(const struct render *r, double cap, float *weight)
{
	const struct bodies *b = &r->bodies;
	const struct scene *scene = &r->scene;
	const struct nb_mass_scale equal = {.unit = 1, .massless = 1};
	int status = r->backend->splat_weights(
		b->n, b->mass, scene->discs ? &equal : &scene->masses, cap, channels(r), weight);
	if (!status && r->by == BY_SPEED)
		status = r->backend->splat_speed_weights(b->n, b->vel, scene->slow, scene->fast, channels(r), weight);
	else if (!status && r->by == BY_SPECIES)
		status = set_species_weights(r, weight);
	return status;
}

static int set_radii(const struct render *r, const struct canvas *c)
{
	const struct bodies *b = &r->bodies;
	const struct scene *scene = &r->scene;
	if (scene->discs)
		return r->backend->splat_disc_radii(b->n, b->mass, &scene->masses, b->radius,
			scene->camera.pixels_per_length, scene->disc_size, c->radius);
	int status = r->backend->splat_radii(b->n, c->x, c->y, r->width, r->height, scene->neighbours, c->radius);
	if (!status)
		status = r->backend->splat_sharpen(
			b->n, b->mass, scene->masses.heavy, (float)r->height / 180, c->radius);
	return status;
}

void nb_render_splat(struct render *r, double cap)
{
	const struct bodies *b = &r->bodies;
	const struct nb_space *space = r->backend->space;
	const size_t numbers = 3 + (size_t)channels(r);
	struct canvas *c = &r->canvas;
	nb_render_wipe(r);
	c->x = b->n <= SIZE_MAX / (numbers * sizeof *c->x) ? space->alloc(space, b->n * numbers * sizeof *c->x) : NULL;
	if (!c->x)
		nb_out_of_memory(b->frame);
	c->y = c->x + b->n;
	c->radius = c->y + b->n;
	c->weight = c->radius + b->n;
	int status = r->backend->splat_project(b->n, b->pos, &r->scene.camera, c->x, c->y);
	if (!status)
		status = set_radii(r, c);
	if (!status)
		status = set_weights(r, cap, c->weight);
	const struct nb_splat job = {.n = b->n,
		.x = c->x,
		.y = c->y,
		.radius = c->radius,
		.weight = c->weight,
		.nchannel = channels(r),
		.shape = r->scene.discs ? NB_SPLAT_DISC : NB_SPLAT_SMOOTH,
		.width = r->width,
		.height = r->height,
		.image = c->planes};
	if (!status)
		status = r->backend->splat(&job);
	nb_render_require_ok(r, status);
}

void nb_render_wipe(struct render *r)
{
	struct canvas *c = &r->canvas;
	if (c->x)
		r->backend->space->release(r->backend->space, c->x);
	c->x = c->y = c->radius = c->weight = NULL;
}

/* Planes to host memory. */
static void fetch(const struct render *r)
{
	const struct canvas *c = &r->canvas;
	const struct nb_space *space = r->backend->space;
	const size_t numbers = (size_t)r->width * (size_t)r->height * (size_t)channels(r);
	if (c->image != c->planes)
		nb_render_require_ok(r, space->to_host(space, c->image, c->planes, numbers * sizeof *c->image));
}

/* ---- surface densities to colours ----------------------------------------------------------------- */

/* Colour of pixel p, parts in [0, 1]. */
static void colour_of(const struct render *r, size_t p, float rgb[3])
{
	const size_t pixels = (size_t)r->width * (size_t)r->height;
	const float *image = r->canvas.image;
	float hue[3];
	if (!(image[p] > 0)) {
		rgb[0] = rgb[1] = rgb[2] = 0;
		return;
	}
	if (r->by == BY_SPEED) {
		nb_hue_of_speed(image[pixels + p] / image[p], hue);
	} else {
		for (size_t k = 0; k < 3; k++)
			hue[k] = image[(k + 1) * pixels + p];
		nb_hue_brighten(hue);
	}
	nb_hue_shade(hue, r->canvas.bright[p], rgb);
}

static void set_colours(const struct render *r)
{
	const struct canvas *c = &r->canvas;
	const struct scene *scene = &r->scene;
	const size_t pixels = (size_t)r->width * (size_t)r->height;
	const uint32_t *table = nb_colormap_table((enum nb_colormap)r->colormap);
	nb_splat_stretch_cpu(pixels, c->image, scene->discs ? NB_STRETCH_LINEAR : (enum nb_stretch)r->stretch,
		scene->discs ? 0 : scene->lo, scene->discs ? 1 : scene->hi, c->bright);
#pragma omp parallel for schedule(static)
	for (size_t p = 0; p < pixels; p++) {
		float rgb[3];
		if (r->by == BY_DENSITY)
			nb_colormap_at(table, c->bright[p], rgb);
		else
			colour_of(r, p, rgb);
		for (size_t k = 0; k < 3; k++)
			c->rgb[3 * p + k] = (uint8_t)(255 * rgb[k] + 0.5f);
	}
}

void nb_render_paint(struct render *r)
{
	if (r->scene.ready && r->bodies.n > 0) {
		nb_render_splat(r, INFINITY);
		fetch(r);
		nb_render_wipe(r);
	} else {
		memset(r->canvas.image, 0,
			(size_t)r->width * (size_t)r->height * (size_t)channels(r) * sizeof *r->canvas.image);
	}
	set_colours(r);
}
