/* nb-render-ppm: what the first frame that has bodies decides for the whole movie. */
#include "common/parse.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Returns the length that the smaller edge of the picture shows at zoom 1. */
static double choose_camera(const struct render *r, struct nb_camera *camera)
{
	const struct bodies *b = &r->bodies;
	const struct parsed *parsed = &r->parsed;
	double size = r->size;
	memcpy(camera->right, parsed->right, sizeof parsed->right);
	memcpy(camera->up, parsed->up, sizeof parsed->up);
	memcpy(camera->centre, parsed->center, sizeof parsed->center);
	camera->width = r->width;
	camera->height = r->height;
	if (!r->center)
		nb_render_require_ok(r, r->backend->splat_centre(b->n, b->pos, b->mass, camera->centre));
	if (!r->size_given)
		nb_render_require_ok(r, r->backend->camera_size(b->n, b->pos, camera->centre, &size));
	camera->pixels_per_length = (r->width < r->height ? r->width : r->height) / size * r->zoom;
	if (!(camera->pixels_per_length > 0 && isfinite(camera->pixels_per_length)))
		nb_die(NB_EXIT_FAILED, "a picture of size %g with zoom %g is out of scale", size, r->zoom);
	return size;
}

static void choose_speeds(const struct render *r, struct scene *scene)
{
	if (r->speeds) {
		scene->slow = r->parsed.speeds[0];
		scene->fast = r->parsed.speeds[1];
	} else {
		const struct bodies *b = &r->bodies;
		nb_render_require_ok(r, r->backend->exposure_speeds(b->n, b->vel, &scene->slow, &scene->fast));
	}
}

/* From the option; unit: surface density of a body of weight 1 on one pixel. */
static void take_range(const struct render *r, struct scene *scene, double unit)
{
	const double *range = r->parsed.range;
	scene->lo = (float)(range[0] / unit);
	scene->hi = (float)(range[1] / unit);
	if (!(scene->hi > scene->lo) || !isfinite(scene->hi) || (scene->lo == 0 && range[0] != 0))
		nb_die(NB_EXIT_FAILED, "range '%s' is out of scale: a body of mass %g on one pixel is %g", r->range,
			scene->masses.unit, unit);
}

/* From the bodies, with the masses of the heaviest hundredth cut, so that a few heavy bodies, such as the black holes
 * of galaxies, do not darken the rest. */
static void choose_range(struct render *r, struct scene *scene)
{
	const struct canvas *c = &r->canvas;
	nb_render_splat(r, scene->masses.heavy);
	nb_render_require_ok(r, r->backend->exposure_range(r->bodies.n, c->x, c->y, r->width, r->height, c->planes,
					(enum nb_stretch)r->stretch, &scene->lo, &scene->hi));
	nb_render_wipe(r);
}

/* After -v: the options that give the same scene for another stream. */
static void report_scene(const struct render *r, double size, double unit)
{
	const struct scene *scene = &r->scene;
	const uint64_t number = r->bodies.frame->number;
	const double *c = scene->camera.centre;
	char t[3][NB_F64_TEXT];
	nb_verbose("from frame %" PRIu64 ": --center %s,%s,%s", number, nb_format_f64(c[0], t[0]),
		nb_format_f64(c[1], t[1]), nb_format_f64(c[2], t[2]));
	nb_verbose("from frame %" PRIu64 ": --size %s", number, nb_format_f64(size, t[0]));
	if (!scene->discs)
		nb_verbose("from frame %" PRIu64 ": --range %s,%s", number, nb_format_f64(scene->lo * unit, t[0]),
			nb_format_f64(scene->hi * unit, t[1]));
	if (r->by == BY_SPEED)
		nb_verbose("from frame %" PRIu64 ": --speed-range %s,%s", number, nb_format_f64(scene->slow, t[0]),
			nb_format_f64(scene->fast, t[1]));
}

void nb_render_choose_scene(struct render *r)
{
	const struct bodies *b = &r->bodies;
	struct scene *scene = &r->scene;
	scene->discs = r->draw == DRAW_DISCS || (r->draw == DRAW_AUTO && b->n <= NB_PICTURE_FEW);
	scene->neighbours = r->neighbours_given ? r->neighbours : nb_exposure_neighbours(b->n);
	scene->disc_size = nb_exposure_disc_size(b->n, r->height);
	const double size = choose_camera(r, &scene->camera), scale = scene->camera.pixels_per_length;
	nb_render_require_ok(r, r->backend->exposure_masses(b->n, b->mass, &scene->masses));
	const double unit = scene->masses.unit * scale * scale;
	if (r->by == BY_SPEED)
		choose_speeds(r, scene);
	if (r->range)
		take_range(r, scene, unit);
	else if (!scene->discs)
		choose_range(r, scene);
	scene->ready = 1;
	report_scene(r, size, unit);
}
