/* nb-render-ppm: a periodic box that is seen along an axis.  What lies beside a wall comes in by the opposite one, by
 * images of the bodies, and nothing is drawn outside of the box. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <math.h>
#include <string.h>

/* The axis of the frame that this one of the picture is, 0 to 2; -1: none. */
static int axis_of(const double direction[3])
{
	for (int k = 0; k < 3; k++)
		if (fabs(direction[k]) == 1)
			return k;
	return -1;
}

/* The box in the picture, if its walls are seen from their edge. */
static int find_walls(const struct render *r, struct walls *w)
{
	const struct nb_camera *c = &r->scene.camera;
	w->axis[0] = axis_of(c->right);
	w->axis[1] = axis_of(c->up);
	w->edge = w->axis[0] < 0 || w->axis[1] < 0 ? 0 : nb_render_walls(r) * c->pixels_per_length;
	if (!(w->edge > 0))
		return 0;
	for (int d = 0; d < 2; d++) {
		const int size = d ? c->height : c->width;
		w->along[d] = c->pixels_per_length * (d ? -c->up[w->axis[1]] : c->right[w->axis[0]]);
		w->start[d] = size / 2.0 - w->along[d] * c->centre[w->axis[d]];
		w->low[d] = fmin(w->start[d], w->start[d] + (w->along[d] > 0 ? 1 : -1) * w->edge);
	}
	return 1;
}

/* How far the light of a body goes, in pixels. */
static double reach_of(const struct render *r)
{
	const struct scene *scene = &r->scene;
	const int smaller = r->width < r->height ? r->width : r->height;
	double own = 0;
	if (!scene->discs)
		return smaller / 6.0;
	if (r->bodies.radius) {
		double *radius = nb_render_numbers(r, nb_require_field(r->bodies.frame, NB_RADIUS));
		for (size_t i = 0; i < r->bodies.n; i++)
			own = fmax(own, radius[i] * scene->camera.pixels_per_length);
		nb_free(radius);
	}
	return fmax(2 * fmax(scene->disc_size, 1.5), own) + r->height / 20.0 + 2;
}

/* Appends the images of all bodies that reach into the box within the picture; without arrays, only counts them. */
static size_t list_images(const struct render *r, const double *pos, double reach, struct images *im)
{
	const struct walls *w = &im->walls;
	double from[2], to[2];
	size_t count = 0;
	for (int d = 0; d < 2; d++) {
		from[d] = fmax(w->low[d], 0) - reach;
		to[d] = fmin(w->low[d] + w->edge, d ? r->height : r->width) + reach;
	}
	for (size_t i = 0; i < r->bodies.n; i++) {
		const double x = w->start[0] + w->along[0] * pos[3 * i + (size_t)w->axis[0]];
		const double y = w->start[1] + w->along[1] * pos[3 * i + (size_t)w->axis[1]];
		for (int k = 0; k < 9; k++) {
			const double u = x + (k % 3 - 1) * w->edge, v = y + (k / 3 - 1) * w->edge;
			if (k == 4 || !(u > from[0] && u < to[0] && v > from[1] && v < to[1]))
				continue;
			if (im->row) {
				im->row[count] = (uint32_t)i;
				im->x[count] = (float)u;
				im->y[count] = (float)v;
			}
			count++;
		}
	}
	return count;
}

void nb_render_find_images(struct render *r, struct images *im)
{
	const struct bodies *b = &r->bodies;
	const struct nb_space *space = r->backend->space;
	memset(im, 0, sizeof *im);
	if (b->n >= UINT32_MAX || !find_walls(r, &im->walls))
		return;
	const size_t bytes = 3 * b->n * sizeof(double);
	const double reach = fmin(reach_of(r), im->walls.edge / 2),
		     *pos = b->pos; /* half: one image of each is enough */
	double *copy = NULL;
	if (space->device >= 0) {
		pos = copy = nb_require_memory(b->frame, nb_alloc(3 * b->n, sizeof *copy));
		nb_render_require_ok(r, space->to_host(space, copy, b->pos, bytes));
	}
	im->n = list_images(r, pos, reach, im);
	im->row = nb_require_memory(b->frame, nb_alloc(im->n, sizeof *im->row + 2 * sizeof *im->x));
	im->x = (float *)(im->row + im->n);
	im->y = im->x + im->n;
	(void)list_images(r, pos, reach, im);
	nb_free(copy);
}

/* Of the column or row that begins there: how much of it is between the walls. */
static float share_within(const struct walls *w, int d, int at)
{
	const double share = fmin(w->low[d] + w->edge, at + 1) - fmax(w->low[d], at);
	return (float)fmin(fmax(share, 0), 1);
}

void nb_render_cut_at_walls(struct render *r, const struct walls *w)
{
	const int channels = nb_render_channels(r);
	for (int c = 0; c < channels && w->edge > 0; c++)
		for (int row = 0; row < r->height; row++) {
			float *at = r->canvas.image + ((size_t)c * (size_t)r->height + (size_t)row) * (size_t)r->width;
			const float here = share_within(w, 1, row);
			for (int column = 0; column < r->width; column++)
				at[column] *= here * share_within(w, 0, column);
		}
}

void nb_render_clear_beyond_walls(struct render *r, const float sky[3])
{
	struct walls w;
	if (!find_walls(r, &w))
		return;
	for (int p = 0; p < r->width * r->height; p++)
		if (!(share_within(&w, 0, p % r->width) * share_within(&w, 1, p / r->width) > 0))
			for (int k = 0; k < 3; k++)
				r->canvas.rgb[3 * p + k] = (uint8_t)(255 * sky[k] + 0.5f);
}
