/* nb-render-ppm: what the first frame that has bodies decides for the whole movie, and what follows the bodies. */
#include "common/mem.h"
#include "common/parse.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of the way to what suits a frame alone, which the range and the camera go in each frame. */
#define PACE 0.2
/* Share of the pixels with light that may have the top colour: less than what is said to be kept. */
#define MOST_AT_TOP 0.015
/* Room around the bodies that are to be seen. */
#define MARGIN 1.06
#define LEAST_MARGIN 1.02
#define LOOSE_MARGIN 1.3
/* Of the picture, how far from its middle the centre of bodies that are followed may be. */
#define EDGE 0.4

/* ---- camera --------------------------------------------------------------------------------------- */

static double scale_of(const struct render *r)
{
	return (r->width < r->height ? r->width : r->height) / r->scene.size * r->zoom;
}

static void point_camera(struct render *r)
{
	struct nb_camera *camera = &r->scene.camera;
	camera->pixels_per_length = scale_of(r);
	if (!(camera->pixels_per_length > 0 && isfinite(camera->pixels_per_length)))
		nb_die(NB_EXIT_FAILED, "a picture of size %g with zoom %g is out of scale", r->scene.size, r->zoom);
}

/* The body with that id.  Where it is no more, the camera stays; in the first frame it must be there. */
static void look_at_body(const struct render *r, double centre[3])
{
	const struct nb_frame *frame = r->bodies.frame;
	nb_require_field(frame, NB_ID);
	const uint64_t *id = nb_require_ids(frame, &nb_space_host);
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host);
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++)
		if (id[i] == r->parsed.followed) {
			memcpy(centre, &pos[3 * i], 3 * sizeof *centre);
			return;
		}
	if (!r->scene.ready)
		nb_die(NB_EXIT_FAILED, "no body with id %" PRIu64 " to follow in frame %" PRIu64, r->parsed.followed,
			frame->number);
}

static void look_at_densest(const struct render *r, double centre[3])
{
	double *pos = nb_render_numbers(r, nb_require_field(r->bodies.frame, NB_POS)), at[3];
	const int status = nb_camera_densest(r->bodies.n, pos, r->scene.ready ? centre : NULL, at);
	nb_free(pos);
	nb_render_require_ok(r, status);
	if (isfinite(at[0]) && isfinite(at[1]) && isfinite(at[2]))
		memcpy(centre, at, sizeof at);
}

static void choose_centre(struct render *r)
{
	const struct bodies *b = &r->bodies;
	double *centre = r->scene.camera.centre;
	switch (r->parsed.follow) {
	case FOLLOW_ID: look_at_body(r, centre); break;
	case FOLLOW_DENSEST:
		look_at_densest(r, centre);
		nb_render_steady(r, &r->scene.densest, centre);
		break;
	default: nb_render_require_ok(r, r->backend->splat_centre(b->n, b->pos, b->mass, centre)); break;
	}
}

/* The size that shows the bodies that are to be seen. */
static double size_to_fit(const struct render *r)
{
	double size;
	double *pos = nb_render_numbers(r, nb_require_field(r->bodies.frame, NB_POS));
	const int status = nb_camera_keep(r->bodies.n, pos, &r->scene.camera, r->parsed.fit, &size);
	nb_free(pos);
	nb_render_require_ok(r, status);
	return size > 0 ? size : 1;
}

/* Bodies that fill the periodic box of the frame, of this edge, are seen in it, unless they go beyond it. */
static void fit_box(struct render *r, double box)
{
	struct scene *scene = &r->scene;
	struct nb_camera *camera = &scene->camera;
	double across = 0, upward = 0;
	for (int k = 0; k < 3; k++) {
		across += box * fabs(camera->right[k]);
		upward += box * fabs(camera->up[k]);
	}
	const double size = fmax(across, upward);
	if (scene->size <= size || !(nb_render_walls(r) > 0))
		return;
	scene->size = size;
	for (int k = 0; k < 3 && !r->parsed.centered && r->parsed.follow == FOLLOW_NOTHING; k++)
		camera->centre[k] = box / 2;
}

static void choose_camera(struct render *r)
{
	const struct bodies *b = &r->bodies;
	const struct parsed *parsed = &r->parsed;
	struct scene *scene = &r->scene;
	struct nb_camera *camera = &scene->camera;
	const double box = nb_box_of(b->frame);
	memcpy(camera->right, parsed->right, sizeof parsed->right);
	memcpy(camera->up, parsed->up, sizeof parsed->up);
	memcpy(camera->centre, parsed->center, sizeof parsed->center);
	camera->width = r->width;
	camera->height = r->height;
	if (!parsed->centered)
		choose_centre(r);
	scene->size = r->size;
	if (parsed->fit > 0)
		scene->size = MARGIN * size_to_fit(r);
	else if (!r->size_given)
		nb_render_require_ok(r, r->backend->camera_size(b->n, b->pos, camera->centre, &scene->size));
	if (box > 0 && !r->size_given && !(parsed->fit > 0))
		fit_box(r, box);
	point_camera(r);
	scene->inside = 1 - nb_render_share_outside(r);
}

/* What --fit makes of the size: it grows at once where bodies would leave, and shrinks slowly, but not for a little,
 * since bodies at the edge come and go. */
static void fit_size(struct render *r)
{
	struct scene *scene = &r->scene;
	const double fit = size_to_fit(r), pace = 1 - pow(1 - PACE, 1.0 / (r->between + 1));
	scene->shrinks = scene->size > (scene->shrinks ? MARGIN * LEAST_MARGIN : LOOSE_MARGIN) * fit;
	if (scene->shrinks)
		scene->size = pow(scene->size, 1 - pace) * pow(MARGIN * fit, pace);
	scene->size = fmax(scene->size, LEAST_MARGIN * fit);
}

/* How far from the middle of the picture what lies behind the centre by that is: 1 near an edge. */
static double way_to_edge(const struct render *r, const double behind[3])
{
	const struct nb_camera *c = &r->scene.camera;
	double u = 0, v = 0;
	for (int k = 0; k < 3; k++) {
		u += behind[k] * c->right[k] * c->pixels_per_length;
		v += behind[k] * c->up[k] * c->pixels_per_length;
	}
	return fmax(fabs(u) / (EDGE * r->width), fabs(v) / (EDGE * r->height));
}

/* The camera stays where it is until most of the bodies that it showed have left, with their centre; then it follows
 * that, and catches up with it. */
static void follow_if_they_leave(struct render *r)
{
	struct scene *scene = &r->scene;
	double *centre = scene->camera.centre, before[3];
	if (!scene->follows && 1 - nb_render_share_outside(r) > scene->inside / 2)
		return;
	memcpy(before, centre, sizeof before);
	choose_centre(r);
	for (int k = 0; k < 3; k++)
		scene->behind[k] = scene->follows ? (1 - PACE) * scene->behind[k] : before[k] - centre[k];
	const double way = way_to_edge(r, scene->behind);
	if (!scene->follows && way < 1) { /* they leave in all directions */
		memcpy(centre, before, sizeof before);
		return;
	}
	for (int k = 0; k < 3; k++)
		centre[k] += scene->behind[k] /= fmax(way, 1);
	if (!scene->follows)
		nb_warn("from frame %" PRIu64 " on the camera follows the bodies, most of which have left the picture "
			"(--follow com does so from the start, --center holds it)",
			r->bodies.frame->number);
	scene->follows = 1;
}

void nb_render_move_camera(struct render *r)
{
	struct scene *scene = &r->scene;
	struct nb_camera *camera = &scene->camera;
	const struct parsed *parsed = &r->parsed;
	const double before = camera->pixels_per_length;
	memcpy(camera->right, parsed->right, sizeof parsed->right);
	memcpy(camera->up, parsed->up, sizeof parsed->up);
	if (parsed->centered)
		memcpy(camera->centre, parsed->center, sizeof parsed->center);
	else if (parsed->follow != FOLLOW_NOTHING)
		choose_centre(r);
	else if (!(parsed->fit > 0))
		follow_if_they_leave(r);
	if (parsed->fit > 0)
		fit_size(r);
	point_camera(r);
	/* the same surface density stays as bright */
	const double change = before / camera->pixels_per_length;
	scene->lo = (float)(scene->lo * change * change);
	scene->hi = (float)(scene->hi * change * change);
}

/* ---- brightness ----------------------------------------------------------------------------------- */

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

int nb_render_adapts(const struct render *r)
{
	const struct scene *scene = &r->scene;
	return !scene->discs && !r->range && (!scene->exposed || r->expose != EXPOSE_FIRST);
}

void nb_render_measure(struct render *r)
{
	struct scene *scene = &r->scene;
	const struct canvas *c = &r->canvas;
	const int usable = scene->exposed && scene->hi > 0 && isfinite(scene->hi); /* after any change of the size */
	const float pace = usable && r->expose == EXPOSE_SMOOTH ? (float)PACE : 1;
	float lo, hi;
	nb_render_require_ok(r, r->backend->exposure_range(r->bodies.n, c->x, c->y, r->width, r->height, c->planes,
					(enum nb_stretch)r->stretch, &lo, &hi));
	if (pace < 1) {
		hi = scene->hi * powf(hi / scene->hi, pace);
		lo = lo > 0 && scene->lo > 0 ? nb_exposure_lowest((enum nb_stretch)r->stretch,
						       scene->lo * powf(lo / scene->lo, pace), hi)
					     : lo;
	}
	scene->lo = lo;
	scene->hi = hi;
}

void nb_render_limit(struct render *r)
{
	struct scene *scene = &r->scene;
	const int fixed = r->range || r->expose == EXPOSE_FIRST;
	float hi = scene->hi;
	double share;
	if (scene->discs || (fixed && nb_verbosity() < 1))
		return;
	nb_render_require_ok(r, nb_exposure_limit((size_t)r->width * (size_t)r->height, r->canvas.image,
					(enum nb_stretch)r->stretch, MOST_AT_TOP, scene->lo, &hi, &share));
	if (fixed) {
		nb_render_watch_clip(r, share);
	} else {
		scene->lo = nb_exposure_lowest((enum nb_stretch)r->stretch, scene->lo, hi);
		scene->hi = hi;
	}
}

/* ---- the whole ------------------------------------------------------------------------------------ */

void nb_render_report(const struct render *r)
{
	const struct scene *scene = &r->scene;
	const double scale = scene->camera.pixels_per_length, unit = scene->masses.unit * scale * scale;
	const uint64_t number = r->bodies.frame->number;
	const double *c = scene->camera.centre;
	char t[3][NB_F64_TEXT];
	nb_verbose("from frame %" PRIu64 ": --center %s,%s,%s", number, nb_format_f64(c[0], t[0]),
		nb_format_f64(c[1], t[1]), nb_format_f64(c[2], t[2]));
	nb_verbose("from frame %" PRIu64 ": --size %s", number, nb_format_f64(scene->size, t[0]));
	if (scene->points)
		nb_verbose("from frame %" PRIu64 ": --draw points", number);
	if (!scene->discs)
		nb_verbose("from frame %" PRIu64 ": --range %s,%s", number, nb_format_f64(scene->lo * unit, t[0]),
			nb_format_f64(scene->hi * unit, t[1]));
	if (r->by == BY_SPEED || r->by == BY_COLUMN)
		nb_verbose("from frame %" PRIu64 ": --by-range %s,%s", number, nb_format_f64(scene->slow, t[0]),
			nb_format_f64(scene->fast, t[1]));
}

/* Whether the masses are spread as those of stars are, not those of a few kinds of bodies.  Smoothed over its
 * neighbours a star of a hundred times the mass of others would be a large spot of its own. */
static int has_mass_function(const struct render *r)
{
	const struct bodies *b = &r->bodies;
	if (b->n <= NB_PICTURE_FEW || nb_frame_field(b->frame, NB_SPECIES))
		return 0;
	double *mass = nb_render_numbers(r, nb_require_field(b->frame, NB_MASS));
	const double middle = nb_quantile(b->n, mass, 0.5), high = nb_quantile(b->n, mass, 0.9);
	const double top = nb_quantile(b->n, mass, 0.99);
	nb_free(mass);
	return middle > 0 && high > 2 * middle && top > 2 * high;
}

/* What fills a periodic box is full of small things, which a third of the neighbours shows; fewer show the lattice from
 * which it began. */
static double neighbours_for(const struct render *r, size_t n)
{
	return nb_exposure_neighbours(n) / (n >= NB_PICTURE_MANY && nb_box_of(r->bodies.frame) > 0 ? 3 : 1);
}

/* Few bodies are discs; more are points in a faint cloud, many only that. */
static void choose_shape(struct render *r)
{
	struct scene *scene = &r->scene;
	const size_t n = r->bodies.n;
	scene->discs = r->draw == DRAW_DISCS || (r->draw == DRAW_AUTO && n <= NB_PICTURE_FEW);
	scene->points = r->draw == DRAW_POINTS || (r->draw == DRAW_AUTO && n > NB_PICTURE_FEW && n < NB_PICTURE_MANY);
	scene->neighbours = r->neighbours_given ? r->neighbours : has_mass_function(r) ? 0 : neighbours_for(r, n);
	scene->disc_size = r->disc_size_given ? r->disc_size : nb_exposure_disc_size(n, r->height);
}

void nb_render_choose_scene(struct render *r)
{
	const struct bodies *b = &r->bodies;
	struct scene *scene = &r->scene;
	choose_shape(r);
	choose_camera(r);
	const double scale = scene->camera.pixels_per_length;
	nb_render_require_ok(r, r->backend->exposure_masses(b->n, b->mass, &scene->masses));
	if (r->by == BY_SPEED || r->by == BY_COLUMN)
		nb_render_choose_hues(r);
	if (r->range)
		take_range(r, scene, scene->masses.unit * scale * scale);
	scene->ready = 1;
}
