/* Pictures for pages, drawn where the bodies are, as nb-render-ppm draws them. */
#include "kernels/picture/picture.h"
#include "common/mem.h"
#include "tools/nb-render-ppm/render.h"
#include "tools/nb-view/shot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Neighbours to smooth over: so many bodies that they cannot travel make a smooth picture of their own. */
enum { QUALITY = 85, FEW = 8 };

/* What draws, for as long as a page turns its camera. */
struct painter {
	struct host *host;
	struct render render;
	struct talk_want want;
	uint64_t number; /* of the frame whose bodies are loaded: 1 more, 0: none are */
	uint8_t *bytes;	 /* of the picture */
	size_t size;
};

static void release(struct painter *p)
{
	struct render *r = &p->render;
	if (r->backend) {
		nb_render_release_bodies(r);
		nb_render_close_canvas(r);
	}
	nb_expr_free(r->expression);
	memset(r, 0, sizeof *r);
	p->number = 0;
}

/* Anything but the camera and the number of a want. */
static int is_same(const struct talk_want *a, const struct talk_want *b)
{
	return a->width == b->width && a->height == b->height && strcmp(a->by, b->by) == 0 &&
	       a->stretch == b->stretch && a->map == b->map && a->paper == b->paper &&
	       memcmp(a->hidden, b->hidden, sizeof a->hidden) == 0;
}

/* The options that a user of nb-render-ppm would give. */
static void prepare(struct painter *p)
{
	static const unsigned char none[sizeof p->want.hidden];
	struct render *r = &p->render;
	const struct talk_want *want = &p->want;
	const struct note *note = nb_shot_note(p->host, want->by);
	const size_t n = p->host->frame.rows[NB_PARTICLE];
	*r = *(const struct render *)nb_tool_find("nb-render-ppm")->defaults;
	r->width = want->width > 2 ? (int)want->width & ~1 : 2; /* JPEG halves the resolution of colours */
	r->height = want->height > 2 ? (int)want->height & ~1 : 2;
	r->by_word = *want->by ? want->by : "density";
	r->colormap = want->map < NB_NCOLORMAP ? (int)want->map : 0;
	r->stretch = want->stretch <= NB_STRETCH_LINEAR ? (int)want->stretch : 0;
	r->expose = EXPOSE_FRAME;
	r->zoom = r->size_given = r->parsed.centered = 1;
	r->light_sky = want->paper != 0;
	if (n > VIEW_POINTS) {
		r->draw = DRAW_DENSITY;
		r->neighbours_given = 1;
		r->neighbours = FEW;
	}
	r->hide = memcmp(want->hidden, none, sizeof none) ? "some" : "none";
	memcpy(r->parsed.hidden, want->hidden, sizeof want->hidden);
	if (note) {
		r->hues = "some";
		r->parsed.hues[0] = note->low;
		r->parsed.hues[1] = note->high;
		r->log_scale = note->logarithmic;
	}
	nb_render_take_by(r);
	r->backend = p->host->now;
	nb_render_open_canvas(r);
}

static void point_camera(struct painter *p)
{
	struct render *r = &p->render;
	const struct talk_want *want = &p->want;
	const double edge = r->width < r->height ? r->width : r->height;
	memcpy(r->parsed.right, want->right, sizeof want->right);
	memcpy(r->parsed.up, want->up, sizeof want->up);
	memcpy(r->parsed.center, want->centre, sizeof want->centre);
	r->size = r->scene.size = edge / want->scale;
	if (r->bodies.n == 0)
		return;
	if (r->scene.ready)
		nb_render_move_camera(r);
	else
		nb_render_choose_scene(r);
	r->range = want->range[1] > 0 ? "some" : NULL;
	if (r->range) {
		const double unit = r->scene.masses.unit * r->scene.camera.pixels_per_length * want->scale;
		r->scene.lo = (float)(want->range[0] / unit);
		r->scene.hi = (float)(want->range[1] / unit);
	}
}

static void draw(void *context)
{
	struct painter *p = context;
	struct render *r = &p->render;
	struct host *host = p->host;
	if (host->now->space->device >= 0)
		nb_view_enter(host);
	if (!r->backend)
		prepare(p);
	if (p->number != host->number + 1) {
		nb_render_load(r, &host->frame);
		nb_render_load_hues(r);
	}
	p->number = host->number + 1;
	point_camera(p);
	nb_render_paint(r);
	const int status = nb_jpeg_encode(r->width, r->height, r->canvas.rgb, QUALITY, &p->bytes, &p->size);
	if (status == NB_EUNSUPPORTED)
		nb_die(NB_EXIT_FAILED, "this program was built without libjpeg");
	nb_render_require_ok(r, status);
	if (!host->ended) { /* whose frame may go at any time */
		nb_render_release_bodies(r);
		p->number = 0;
	}
}

int nb_view_send_picture(struct host *host, uint32_t client, const struct talk_want *want)
{
	struct painter *p = host->painter ? host->painter : calloc(1, sizeof *p);
	char why[600];
	int status = 0;
	host->painter = p;
	if (!p || !host->has_frame || !host->now)
		return nb_talk_send(host->socket, TALK_PICTURE, client, NULL, 0);
	p->host = host;
	if (!is_same(&p->want, want) || p->render.backend != host->now)
		release(p);
	p->want = *want;
	p->bytes = NULL;
	if (nb_view_try(host, draw, p, why, sizeof why)) {
		release(p);
		if (!host->warned++)
			nb_warn("frame %" PRIu64 " cannot be drawn: %s", host->number, why);
		status = nb_talk_send(host->socket, TALK_PICTURE, client, NULL, 0);
	} else {
		const uint32_t head[2] = {want->number, 0};
		const struct talk_part part[] = {{head, sizeof head}, {p->bytes, p->size}};
		status = nb_talk_send(host->socket, TALK_PICTURE, client, part, 2);
	}
	nb_free(p->bytes);
	return status;
}

void nb_view_release_painter(struct host *host)
{
	if (host->painter)
		release(host->painter);
	free(host->painter);
	host->painter = NULL;
}
