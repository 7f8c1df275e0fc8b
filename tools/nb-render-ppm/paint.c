/* nb-render-ppm: bodies as a picture. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <math.h>
#include <string.h>

/* Of bodies that are points in a cloud: what of their light is in the points. */
#define POINT_LIGHT 0.4

void nb_render_open_canvas(struct render *r)
{
	struct canvas *c = &r->canvas;
	const struct nb_space *space = r->backend->space;
	const size_t pixels = (size_t)r->width * (size_t)r->height, numbers = pixels * (size_t)nb_render_channels(r);
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
	nb_free_all(c->image, c->bright, c->rgb);
}

/* ---- bodies to surface densities ------------------------------------------------------------------ */

/* Weights of a share of the light. */
static int set_weights(struct render *r, double cap, double share, float *weight)
{
	const struct bodies *b = &r->bodies;
	const struct scene *scene = &r->scene;
	const struct nb_mass_scale equal = {.unit = 1, .massless = 1};
	struct nb_mass_scale masses = scene->masses;
	masses.unit /= share;
	int status = r->backend->splat_weights(
		b->n, b->mass, scene->discs ? &equal : &masses, cap, nb_render_channels(r), weight);
	return status || r->by == BY_DENSITY ? status : nb_render_tint(r, weight);
}

static int set_radii(struct render *r)
{
	const struct bodies *b = &r->bodies;
	const struct scene *scene = &r->scene;
	const struct canvas *c = &r->canvas;
	if (scene->discs)
		return r->backend->splat_disc_radii(b->n, b->mass, &scene->masses, b->radius,
			scene->camera.pixels_per_length, scene->disc_size, c->radius);
	int status = nb_render_smooth(r);
	if (!status)
		status = r->backend->splat_sharpen(
			b->n, b->mass, scene->masses.heavy, (float)r->height / 180, c->radius);
	return status;
}

/* Radius of a point, less for more bodies. */
static double point_size(const struct render *r)
{
	return r->height / 300.0 * fmin(fmax(pow(4000 / (double)r->bodies.n, 0.25), 1), 2);
}

/* What behind the bodies belongs to their images is what belongs to them: ncomp numbers each. */
static int copy_to_images(const struct render *r, float *number, size_t ncomp)
{
	const struct canvas *c = &r->canvas;
	if (c->images.n == 0)
		return NB_OK;
	return r->backend->permute(c->images.n, c->row, ncomp * sizeof *number, number, number + r->bodies.n * ncomp);
}

/* Bodies and images once more, as points, behind those that are spread. */
static int add_points(struct render *r, double cap)
{
	const struct bodies *b = &r->bodies;
	const struct nb_space *space = r->backend->space;
	const struct canvas *c = &r->canvas;
	const size_t n = b->n + c->images.n, channels = (size_t)nb_render_channels(r);
	int status = space->copy(space, c->x + n, c->x, n * sizeof *c->x);
	if (!status)
		status = space->copy(space, c->y + n, c->y, n * sizeof *c->y);
	if (!status)
		status = r->backend->splat_disc_radii(
			b->n, b->mass, &r->scene.masses, NULL, 0, point_size(r), c->radius + n);
	if (!status)
		status = copy_to_images(r, c->radius + n, 1);
	if (!status)
		status = set_weights(r, cap, POINT_LIGHT, c->weight + n * channels);
	return status ? status : copy_to_images(r, c->weight + n * channels, channels);
}

/* Where the bodies are, and their images. */
static int set_places(const struct render *r)
{
	const struct bodies *b = &r->bodies;
	const struct nb_space *space = r->backend->space;
	const struct canvas *c = &r->canvas;
	const struct images *im = &c->images;
	int status = r->backend->splat_project(b->n, b->pos, &r->scene.camera, c->x, c->y);
	if (!status && im->n == 0)
		return NB_OK;
	if (!status)
		status = space->from_host(space, c->x + b->n, im->x, im->n * sizeof *im->x);
	if (!status)
		status = space->from_host(space, c->y + b->n, im->y, im->n * sizeof *im->y);
	return status ? status : space->from_host(space, c->row, im->row, im->n * sizeof *im->row);
}

/* Room for the bodies and their images. */
static void take_room(struct render *r)
{
	struct canvas *c = &r->canvas;
	const struct nb_space *space = r->backend->space;
	const size_t numbers = 3 + (size_t)nb_render_channels(r), each = r->scene.points ? 2 : 1;
	nb_render_wipe(r);
	nb_render_find_images(r, &c->images);
	const size_t n = r->bodies.n + c->images.n;
	if (n <= SIZE_MAX / ((each * numbers + 1) * sizeof *c->x))
		c->x = nb_require_memory(
			r->bodies.frame, space->alloc(space, (n * each * numbers + c->images.n) * sizeof *c->x));
	c->count = n * each;
	c->y = c->x + c->count;
	c->radius = c->y + c->count;
	c->weight = c->radius + c->count;
	c->row = (uint32_t *)(c->weight + c->count * (size_t)nb_render_channels(r));
}

void nb_render_splat(struct render *r, double cap)
{
	const struct scene *scene = &r->scene;
	const size_t channels = (size_t)nb_render_channels(r);
	struct canvas *c = &r->canvas;
	take_room(r);
	int status = set_places(r);
	if (!status)
		status = set_radii(r);
	if (!status)
		status = copy_to_images(r, c->radius, 1);
	if (!status)
		status = set_weights(r, cap, scene->points ? 1 - POINT_LIGHT : 1, c->weight);
	if (!status)
		status = copy_to_images(r, c->weight, channels);
	if (!status && scene->points)
		status = add_points(r, cap);
	const struct nb_splat job = {.n = c->count,
		.x = c->x,
		.y = c->y,
		.radius = c->radius,
		.weight = c->weight,
		.nchannel = nb_render_channels(r),
		.shape = scene->discs ? NB_SPLAT_DISC : NB_SPLAT_SMOOTH,
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
	nb_free(c->images.row);
	memset(&c->images, 0, sizeof c->images);
}

/* Planes to host memory. */
static void fetch(const struct render *r)
{
	const struct canvas *c = &r->canvas;
	const struct nb_space *space = r->backend->space;
	const size_t numbers = (size_t)r->width * (size_t)r->height * (size_t)nb_render_channels(r);
	if (c->image != c->planes)
		nb_render_require_ok(r, space->to_host(space, c->image, c->planes, numbers * sizeof *c->image));
}

/* ---- surface densities to colours ----------------------------------------------------------------- */

/* On a light sky darkness stands for density, and nothing for none. */
void nb_render_colour_of_density(const struct render *r, float brightness, float rgb[3])
{
	const uint32_t *table = nb_colormap_table((enum nb_colormap)r->colormap);
	if (!r->light_sky) {
		nb_colormap_at(table, brightness, rgb);
		return;
	}
	const float t = brightness < 0.3f ? brightness / 0.3f : 1, ink = t * t * (3 - 2 * t);
	nb_colormap_at(table, 1 - brightness, rgb);
	for (size_t k = 0; k < 3; k++)
		rgb[k] = 1 - ink + ink * rgb[k];
}

void nb_render_colour_of_hue(const struct render *r, const float hue[3], float brightness, float rgb[3])
{
	if (!r->light_sky) {
		nb_hue_shade(hue, brightness, rgb);
		return;
	}
	for (size_t k = 0; k < 3; k++) /* as the page of nb-view */
		rgb[k] = 1 - brightness * (1 - 0.72f * hue[k] * hue[k]);
}

/* Colour of pixel p. */
static void colour_of(const struct render *r, size_t p, float rgb[3])
{
	const size_t pixels = (size_t)r->width * (size_t)r->height;
	const float *image = r->canvas.image;
	float hue[3];
	if (!(image[p] > 0)) {
		rgb[0] = rgb[1] = rgb[2] = (float)r->light_sky;
		return;
	}
	if (nb_render_channels(r) == 2) {
		nb_render_hue(r, image[pixels + p] / image[p], hue);
	} else {
		for (size_t k = 0; k < 3; k++)
			hue[k] = image[(k + 1) * pixels + p];
		nb_hue_brighten(hue);
	}
	nb_render_colour_of_hue(r, hue, r->canvas.bright[p], rgb);
}

static void set_colours(const struct render *r)
{
	const struct canvas *c = &r->canvas;
	const struct scene *scene = &r->scene;
	const size_t pixels = (size_t)r->width * (size_t)r->height;
	nb_splat_stretch_cpu(pixels, c->image, scene->discs ? NB_STRETCH_LINEAR : (enum nb_stretch)r->stretch,
		scene->discs ? 0 : scene->lo, scene->discs ? 1 : scene->hi, c->bright);
#pragma omp parallel for schedule(static)
	for (size_t p = 0; p < pixels; p++) {
		float rgb[3];
		if (r->by == BY_DENSITY)
			nb_render_colour_of_density(r, c->bright[p], rgb);
		else
			colour_of(r, p, rgb);
		for (size_t k = 0; k < 3; k++)
			c->rgb[3 * p + k] = (uint8_t)(255 * rgb[k] + 0.5f);
	}
}

void nb_render_paint(struct render *r)
{
	struct scene *scene = &r->scene;
	if (scene->ready && r->bodies.n > 0) {
		/* the masses of the heaviest hundredth are cut when the range is taken, so that a few heavy bodies,
		 * such as the black holes of galaxies, do not darken the rest */
		const int adapts = nb_render_adapts(r), cut = adapts && scene->masses.heavy < scene->masses.unit;
		if (cut) {
			nb_render_splat(r, scene->masses.heavy);
			nb_render_measure(r);
		}
		nb_render_splat(r, INFINITY);
		if (adapts && !cut)
			nb_render_measure(r);
		nb_render_watch_crop(r);
		fetch(r);
		nb_render_cut_at_walls(r, &r->canvas.images.walls);
		nb_render_wipe(r);
		nb_render_limit(r);
		if (!scene->exposed)
			nb_render_report(r);
		scene->exposed = 1;
	} else {
		memset(r->canvas.image, 0,
			(size_t)r->width * (size_t)r->height * (size_t)nb_render_channels(r) * sizeof *r->canvas.image);
	}
	set_colours(r);
}
