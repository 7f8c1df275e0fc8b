/* render.h - an instance of nb-render-ppm, for the files of the tool. */
#ifndef NB_RENDER_H
#define NB_RENDER_H

#include "common/whole.h"
#include "formats/image/image.h"
#include "formats/stream/stream.h"
#include "kernels/picture/picture.h"
#include "tools/filter/expression.h"
#include "tools/filter/filter.h"

#include <math.h>
#include <sys/types.h>

enum by { BY_DENSITY, BY_SPEED, BY_SPECIES, BY_COLOUR, BY_ID, BY_COLUMN };
enum draw { DRAW_AUTO, DRAW_DENSITY, DRAW_DISCS, DRAW_POINTS };
enum expose { EXPOSE_SMOOTH, EXPOSE_FRAME, EXPOSE_FIRST };
enum follow { FOLLOW_NOTHING, FOLLOW_COM, FOLLOW_DENSEST, FOLLOW_ID };
/* Of enum nb_stretch, in its order. */
#define NB_STRETCH_WORDS "asinh|log|linear"
enum { NSPECIES = NB_PICTURE_SPECIES };

/* The options whose arguments are words, lists or numbers, parsed. */
struct parsed {
	double right[3], up[3]; /* axes of the picture */
	double center[3], range[2], hues[2];
	unsigned char hidden[NSPECIES]; /* of --hide and --only */
	enum follow follow;
	uint64_t followed;		      /* id, of FOLLOW_ID */
	int centered;			      /* by --center or --camera */
	double fit;			      /* share of the bodies to show; 0: as many as there are */
	int time, length, colour, name, axes; /* --label */
};

/* The bodies to draw; arrays are where the backend computes. */
struct bodies {
	struct nb_frame *frame;
	size_t n;
	const double *pos, *mass, *vel, *radius, *species; /* NULL where not needed */
	double *kept;					   /* memory of the above where some bodies are hidden */
	/* in host memory */
	uint32_t *row;	 /* of each body in its frame, NULL: its own number */
	double *value;	 /* what BY_COLUMN shows */
	uint8_t *colour; /* red, green and blue, of BY_COLOUR and BY_ID */
};

/* What the first frame that has bodies decides for the whole movie, except what options let change. */
struct scene {
	int ready, exposed, discs, points;
	struct nb_camera camera;
	double size; /* that the smaller edge of the picture shows at zoom 1 */
	struct nb_mass_scale masses;
	float lo, hi;	   /* range of brightness, weight per pixel */
	double slow, fast; /* speeds, or numbers of a column, between which the colour changes */
	int flat;	   /* all bodies of the first frame had the same: slow and fast follow */
	double neighbours; /* to smooth over */
	int shrinks;	   /* the size, towards what --fit wants */
	double inside;	   /* share of the bodies that the first picture shows */
	struct steady {
		double n, place[3], step[3]; /* pictures; where it was, and its way from picture to picture */
	} densest;
	int follows; /* the bodies, which have left the picture, with their centre behind by this: */
	double behind[3];
	double disc_size; /* radius of the lightest discs, pixels */
	/* species seen so far, where they are to be listed */
	unsigned char kinds[NSPECIES];
	uint64_t body[NSPECIES]; /* id of the first body of each */
};

/* A periodic box in the picture, whose walls are edges of it: in pixels, to the right and down. */
struct walls {
	int axis[2];		   /* of the frame */
	double start[2], along[2]; /* where the origin is, and how far a unit of length goes */
	double low[2], edge;	   /* 0: there are no walls */
};

/* Bodies that come in by the walls, in host memory; one block. */
struct images {
	struct walls walls;
	size_t n;
	uint32_t *row; /* of each, its body */
	float *x, *y;
};

struct canvas {
	float *x, *y, *radius, *weight; /* of the bodies, where the backend computes; one block */
	size_t count;			/* numbers in x; each body is there twice where points are drawn */
	struct images images;		/* they are behind the bodies */
	uint32_t *row;			/* that of the images, where the backend computes */
	float *planes;			/* of the picture, there */
	float *image, *bright;		/* planes and brightness, in host memory; image is planes if that is there */
	uint8_t *rgb;
};

/* What has been said about bodies that cannot be seen. */
struct watch {
	int crops, clips; /* it goes on */
	int empty;	  /* the picture was */
};

struct trail;
struct kind;
struct moves;

/* Where pictures go (output.c). */
struct output {
	const struct kind *kind; /* of files of their own, or of a film; NULL: all to standard output */
	const char *path;
	char **environment;
	uint64_t count; /* pictures so far */
	uint8_t *first; /* the first one, encoded, while it may be the only one */
	size_t first_size;
	struct nb_whole file; /* the film */
	pid_t ffmpeg;	      /* 0: does not run */
	int socket;	      /* its standard input */
};

struct render {
	const struct nb_backend *backend;
	int width, height, colormap, draw, stretch, expose, log_scale, trail, light_sky;
	const char *by_word, *view, *center, *range, *speeds, *hues, *hide, *only, *follow, *fit, *label, *title,
		*zoom_word, *camera;
	double zoom, size, neighbours, disc_size, fps;
	int between;
	uint64_t pictures; /* over which the camera moves, 0: it does not */
	int colormap_given, size_given, neighbours_given, disc_size_given;

	enum by by;
	const char *column;	    /* of BY_COLUMN: the name of a column ... */
	struct nb_expr *expression; /* ... or what it says where no column has that name; NULL: nothing ... */
	struct nb_expr_error wrong; /* ... since this is wrong with it */
	struct parsed parsed;
	struct bodies bodies;
	struct scene scene;
	struct canvas canvas;
	struct watch watch;
	struct output output;
	struct moves *moves;  /* of the camera, NULL: none */
	struct nb_frame held; /* the last one, where pictures may follow that are made of it */
	int holds;
	struct trail *trails;
	struct nb_names names; /* of the bodies, while the legend is drawn */
};

/* Checks the options and parses those that are lists (arguments.c). */
void nb_render_check(struct nb_run *run, struct render *r);
/* r->by, and what follows from r->by_word. */
void nb_render_take_by(struct render *r);

/* ---- output.c ---- */

/* r->output, by the name of the output file, whose ending must be possible. */
void nb_render_choose_output(struct nb_run *run, struct render *r);
/* Writes the picture. */
void nb_render_put(struct render *r);
void nb_render_end_output(struct render *r);
/* After a failure: half a file goes, a film of several pictures stays under the name of its part. */
void nb_render_drop_output(struct render *r);

/* ---- movie.c ---- */

/* r->pictures, where frames can be counted, and must. */
void nb_render_begin_movie(struct nb_run *run, struct render *r);
/* Draws the pictures between the last frame and this one, and this one. */
void nb_render_movie(struct render *r, struct nb_frame *frame);
void nb_render_end_movie(struct render *r);
/* ---- camera.c ---- */

/* View and zoom of the options, and r->moves if they move. */
void nb_render_take_moves(struct render *r);
/* r->moves of the file of key frames.  Whether it says where the centre is. */
int nb_render_take_camera(struct render *r);
void nb_render_release_moves(struct render *r);
/* A place that does not tremble as that which is seen does, which goes on evenly; one far away is taken as it is. */
void nb_render_steady(const struct render *r, struct steady *s, double place[3]);
/* View, zoom and centre of the next picture, of a frame of that time. */
void nb_render_steer(struct render *r, double time);

/* ---- bodies.c ---- */

/* r->bodies: those of a frame that are not hidden. */
void nb_render_load(struct render *r, struct nb_frame *frame);
void nb_render_release_bodies(struct render *r);
/* The species that a number stands for; what is none counts as 0. */
unsigned nb_render_kind(double species);
/* The numbers of a column, of the bodies that are drawn, in host memory of nb_alloc. */
double *nb_render_numbers(const struct render *r, struct nb_column *column);
/* Share of the bodies that are outside of the picture, of a sample of 4,096. */
double nb_render_share_outside(const struct render *r);
/* The edge of the periodic box of the frame, if 95 % of such a sample, or of n bodies, are in it; else 0. */
double nb_render_walls(const struct render *r);
double nb_render_walls_of(size_t n, const double *pos, double box);
/* Planes: weight alone, or with its product with the number that is shown (0..1), or with red, green and blue. */
int nb_render_channels(const struct render *r);
/* Ends the tool if something failed with the frame whose bodies are loaded. */
void nb_render_require_ok(const struct render *r, int status);

/* ---- scene.c ---- */

/* r->scene, from bodies, of which there must be some. */
void nb_render_choose_scene(struct render *r);
/* Points the camera at the bodies of a later frame, where options say so. */
void nb_render_move_camera(struct render *r);
/* Whether the range of brightness is to be taken from this frame ... */
int nb_render_adapts(const struct render *r);
/* ... which it is from the bodies that are splatted ... */
void nb_render_measure(struct render *r);
/* ... and raised where too much of r->canvas.image would have the top colour, unless options fix it. */
void nb_render_limit(struct render *r);
/* After -v: the options that give the scene of this frame for another stream. */
void nb_render_report(const struct render *r);

/* ---- hues.c: --by speed, species, colour, id and a column ---- */

/* Red, green and blue of a kind of body, 0xrrggbb: species are those of galaxies, or of anything. */
uint32_t nb_render_hue_of_kind(const struct render *r, unsigned kind);
/* What an expression, which it binds, is for each body of a frame, of a vector its length; of nb_alloc, or nb_die. */
double *nb_render_values(struct nb_expr *expr, struct nb_frame *frame);
/* r->bodies.value or colour, where that is what is shown. */
void nb_render_load_hues(struct render *r);
/* scene->slow and fast, from the option or the bodies. */
void nb_render_choose_hues(struct render *r);
/* The same in a later frame, if those of the first had no range. */
void nb_render_widen_hues(struct render *r);
/* The colour of what lies there between slow and fast, in [0, 1]; its strongest part is 1. */
void nb_render_hue(const struct render *r, float at, float hue[3]);
/* Where a number lies between slow and fast, in [0, 1]. */
double nb_render_hue_at(const struct render *r, double value);
/* The other channels of weights whose channel 0 is there, all where the backend computes; not for BY_DENSITY. */
int nb_render_tint(struct render *r, float *weight);
/* n x 3: the colour of each body, its strongest part 1; not for BY_DENSITY. */
void nb_render_hues_of_bodies(const struct render *r, float *hue);

/* ---- paint.c ---- */

void nb_render_open_canvas(struct render *r);
void nb_render_close_canvas(struct render *r);
/* Sums the bodies into r->canvas.planes, those of a mass above cap as if they had that; x and y remain until the bodies
 * are wiped off. */
void nb_render_splat(struct render *r, double cap);
void nb_render_wipe(struct render *r);
/* The colour of a brightness in [0, 1], parts in [0, 1]: of a density, or of light of this hue. */
void nb_render_colour_of_density(const struct render *r, float brightness, float rgb[3]);
void nb_render_colour_of_hue(const struct render *r, const float hue[3], float brightness, float rgb[3]);
/* r->canvas.rgb: the picture of r->bodies. */
void nb_render_paint(struct render *r);

/* ---- images.c ---- */

/* None where no walls are seen. */
void nb_render_find_images(struct render *r, struct images *im);
/* Of r->canvas.image nothing is left outside of the walls. */
void nb_render_cut_at_walls(struct render *r, const struct walls *w);
/* Nor of r->canvas.rgb, which has the colour of the sky there. */
void nb_render_clear_beyond_walls(struct render *r, const float sky[3]);

/* r->canvas.radius of bodies that are smoothed over their neighbours, and of their images (smooth.c). */
int nb_render_smooth(struct render *r);

/* ---- trail.c ---- */

/* Draws where the bodies have been, and notes where they are. */
void nb_render_trail(struct render *r);
void nb_render_release_trail(struct render *r);
/* The image of a coordinate that is nearest to from, in a periodic box of this edge; 0: there is none. */
static inline double nb_render_image(double from, double to, double box)
{
	return box > 0 ? to - box * nearbyint((to - from) / box) : to;
}
/* Of a body, which has place and velocity from, and to after a time dt.  Whether the velocities say how it came from
 * the one to the other: their mean would lead there, more or less, so it has neither gone round meanwhile nor bounced.
 */
int nb_render_way_is_smooth(const double from[2][3], const double to[2][3], double dt);
/* Hermite's cubic through both places with both velocities, at t in [0, 1]. */
void nb_render_way_at(const double from[2][3], const double to[2][3], double dt, double t, double pos[3]);

/* ---- units.c ---- */

/* Empty where the frame does not say. */
enum { NB_LABEL_SIZE = 64 };
struct unit_names {
	char length[NB_UNIT_SIZE + 1], mass[NB_UNIT_SIZE + 1], velocity[NB_UNIT_SIZE + 1], time[NB_UNIT_SIZE + 1];
};
void nb_render_unit_names(const struct nb_frame *frame, struct unit_names *names);
/* Of a surface density: "Msun/pc^2" with square "^2"; of Mpc/h and Msun/h "Msun h/Mpc^2".  Empty where it is unknown.
 */
void nb_render_density_unit(const struct unit_names *names, const char *square, char to[NB_LABEL_SIZE]);
/* NaN of a frame that is not of an expanding universe. */
double nb_render_redshift(const struct nb_frame *frame);
/* The time in days, years ... or billions of them, whose name takes the place of a unit such as kpc/(km/s); else as it
 * is. */
double nb_render_time(struct unit_names *names, double time);
/* A number of at most so many digits, at most 9, with a power of ten as in print. */
void nb_render_number(char text[NB_LABEL_SIZE], int digits, double x);
/* A length of one digit as people write it: 2 Mpc of 2e6 pc, and 2×10⁶ where there is no such unit.  Returns where the
 * number ends. */
size_t nb_render_length_text(double length, const char *unit, char text[NB_LABEL_SIZE]);
/* How to write the unit of a column or an expression. */
void nb_render_value_unit(const struct nb_frame *frame, const char *unit, char to[NB_UNIT_SIZE + 1]);

/* ---- legend.c ---- */

/* Title, time, scale, colours, names and axes. */
void nb_render_legend(struct render *r);
/* ---- axes.c ---- */

void nb_render_axes(struct render *r);
/* Pixels that they take from the lower edge and the left one; 0: there are none. */
int nb_render_axes_room(const struct render *r);

/* ---- names.c ---- */

/* Size of a dot of the letters, and their colour, which is dark where the sky is light. */
int nb_render_dot(const struct render *r);
const uint8_t *nb_render_ink(const struct render *r);
/* The upper left corner of the text, or of the rectangle, is at (x, y). */
void nb_render_write(struct render *r, int x, int y, const char *text);
void nb_render_fill(struct render *r, int x, int y, int width, int height, const uint8_t colour[3]);
/* 1, 2 or 5 times a power of ten, at most x > 0. */
double nb_render_round_length(double x);
/* Notes the species of the bodies as seen. */
void nb_render_note_kinds(struct render *r);
/* The name of the only body of a species, if that has one, or the number of the species. */
void nb_render_name_kind(const struct render *r, unsigned kind, char text[NB_LABEL_SIZE]);
/* Writes that of each body that has one beside it, unless it would lie on another. */
void nb_render_names(struct render *r);

/* ---- watch.c ---- */

/* Says once when there is next to nothing in the picture. */
void nb_render_watch_empty(struct render *r);
/* After -v: says when bodies are outside of the picture, and when a larger share of the pixels with light has the top
 * colour. */
void nb_render_watch_crop(struct render *r);
void nb_render_watch_clip(struct render *r, double share);

#endif
