/* render.h - an instance of nb-render-ppm, for the files of the tool. */
#ifndef NB_RENDER_H
#define NB_RENDER_H

#include "formats/image/image.h"
#include "kernels/picture/picture.h"
#include "tools/filter/filter.h"

enum by { BY_DENSITY, BY_SPEED, BY_SPECIES };
enum draw { DRAW_AUTO, DRAW_DENSITY, DRAW_DISCS };
enum { NSPECIES = NB_PICTURE_SPECIES };

/* The options whose arguments are lists, parsed. */
struct parsed {
	double right[3], up[3]; /* axes of the picture */
	double center[3], range[2], speeds[2];
	unsigned char hidden[NSPECIES]; /* of --hide and --only */
};

/* The bodies to draw; arrays are where the backend computes. */
struct bodies {
	const struct nb_frame *frame;
	size_t n;
	const double *pos, *mass, *vel, *radius, *species; /* NULL where not needed */
	double *kept;					   /* memory of the above where some bodies are hidden */
};

/* What the first frame that has bodies decides for the whole movie. */
struct scene {
	int ready, discs;
	struct nb_camera camera;
	struct nb_mass_scale masses;
	float lo, hi;	   /* range of brightness, weight per pixel */
	double slow, fast; /* speeds between which the colour changes */
	double neighbours; /* to smooth over */
	double disc_size;  /* radius of the lightest discs, pixels */
};

struct canvas {
	float *x, *y, *radius, *weight; /* of the bodies, where the backend computes; one block */
	float *planes;			/* of the picture, there */
	float *image, *bright;		/* planes and brightness, in host memory; image is planes if that is there */
	uint8_t *rgb;
};

struct render {
	const struct nb_backend *backend;
	int width, height, by, colormap, draw, stretch;
	const char *view, *center, *range, *speeds, *hide, *only;
	double zoom, size, neighbours;
	int size_given, neighbours_given;

	struct parsed parsed;
	struct bodies bodies;
	struct scene scene;
	struct canvas canvas;
};

/* Ends the tool if something failed with the frame whose bodies are loaded. */
void nb_render_require_ok(const struct render *r, int status);

/* Checks the options and parses those that are lists (arguments.c). */
void nb_render_check(struct nb_run *run, struct render *r);

/* r->bodies: those of a frame that are not hidden (bodies.c). */
void nb_render_load(struct render *r, const struct nb_frame *frame);
void nb_render_release_bodies(struct render *r);

/* r->scene, from bodies, of which there must be some (scene.c). */
void nb_render_choose_scene(struct render *r);

/* ---- paint.c ---- */

void nb_render_open_canvas(struct render *r);
void nb_render_close_canvas(struct render *r);
/* Sums the bodies into r->canvas.planes, those of a mass above cap as if they had that; x and y remain until the bodies
 * are wiped off. */
void nb_render_splat(struct render *r, double cap);
void nb_render_wipe(struct render *r);
/* r->canvas.rgb: the picture of r->bodies. */
void nb_render_paint(struct render *r);

#endif
