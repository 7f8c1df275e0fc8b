/* nb-render-ppm: bodies as a picture. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
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
	const size_t pixels = (size_t)r->width * (size_t)r->height;
	c->image = nb_alloc(pixels * (size_t)channels(r), sizeof *c->image);
	c->bright = nb_alloc(pixels, sizeof *c->bright);
	c->rgb = nb_alloc(pixels, 3);
	if (!c->image || !c->bright || !c->rgb)
		nb_die(NB_EXIT_FAILED, "out of memory for pictures of %d x %d pixels", r->width, r->height);
}

void nb_render_close_canvas(struct render *r)
{
	nb_render_wipe(r);
	nb_free(r->canvas.image);
	nb_free(r->canvas.bright);
	nb_free(r->canvas.rgb);
}

/* ---- bodies to surface densities ------------------------------------------------------------------ */

/* Channels 1 to 3: the weight times red, green and blue of the species. */
static void set_species_weights(const struct bodies *b, float *weight)
{
#pragma omp parallel for schedule(static) if (b->n > 10000)
	for (size_t i = 0; i < b->n; i++) {
		float *w = &weight[4 * i];
		const double species = b->species[i] >= 0 && b->species[i] < NSPECIES ? b->species[i] : 0;
		const uint32_t colour = nb_hue_of_kind((unsigned)species);
		for (int k = 0; k < 3; k++)
			w[1 + k] = w[0] * (float)(colour >> (16 - 8 * k) & 255) / 255;
	}
}

static void set_weights(const struct render *r, double cap, float *weight)
{
	const struct bodies *b = &r->bodies;
	const struct scene *scene = &r->scene;
	const struct nb_mass_scale equal = {.unit = 1, .massless = 1};
	nb_splat_weights_cpu(b->n, b->mass, scene->discs ? &equal : &scene->masses, cap, channels(r), weight);
	if (r->by == BY_SPEED)
		nb_splat_speed_weights_cpu(b->n, b->vel, scene->slow, scene->fast, channels(r), weight);
	else if (r->by == BY_SPECIES)
		set_species_weights(b, weight);
}

static int set_radii(const struct render *r, const struct canvas *c)
{
	const struct bodies *b = &r->bodies;
	const struct scene *scene = &r->scene;
	if (scene->discs) {
		nb_splat_disc_radii_cpu(b->n, b->mass, &scene->masses, b->radius, scene->camera.pixels_per_length,
			scene->disc_size, c->radius);
		return NB_OK;
	}
	int error = nb_splat_radii_cpu(b->n, c->x, c->y, r->width, r->height, scene->neighbours, c->radius);
	if (!error)
		nb_splat_sharpen_cpu(b->n, b->mass, scene->masses.heavy, (float)r->height / 180, c->radius);
	return error;
}

void nb_render_splat(struct render *r, double cap)
{
	const struct bodies *b = &r->bodies;
	struct canvas *c = &r->canvas;
	nb_render_wipe(r);
	c->x = nb_alloc(b->n, (3 + (size_t)channels(r)) * sizeof *c->x);
	if (!c->x)
		nb_out_of_memory(b->frame);
	c->y = c->x + b->n;
	c->radius = c->y + b->n;
	c->weight = c->radius + b->n;
	int error = nb_splat_project_cpu(b->n, b->pos, &r->scene.camera, c->x, c->y);
	if (!error)
		error = set_radii(r, c);
	set_weights(r, cap, c->weight);
	const struct nb_splat job = {.n = b->n,
		.x = c->x,
		.y = c->y,
		.radius = c->radius,
		.weight = c->weight,
		.nchannel = channels(r),
		.shape = r->scene.discs ? NB_SPLAT_DISC : NB_SPLAT_SMOOTH,
		.width = r->width,
		.height = r->height,
		.image = c->image};
	if (!error)
		error = nb_splat_cpu(&job);
	if (error)
		nb_die(NB_EXIT_FAILED, "cannot draw frame %" PRIu64 ": %s", b->frame->number, nb_status_text(error));
}

void nb_render_wipe(struct render *r)
{
	struct canvas *c = &r->canvas;
	nb_free(c->x);
	c->x = c->y = c->radius = c->weight = NULL;
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
		nb_render_wipe(r);
	} else {
		memset(r->canvas.image, 0,
			(size_t)r->width * (size_t)r->height * (size_t)channels(r) * sizeof *r->canvas.image);
	}
	set_colours(r);
}
