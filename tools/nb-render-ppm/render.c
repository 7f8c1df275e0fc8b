/* nb-render-ppm: each frame of a particle stream as a picture; all together a movie. */
#include "tools/nb-render-ppm/render.h"

static const struct nb_option options[] = {
	{'H', "height", NB_INT(struct render, height), .min = 2, .max = NB_SPLAT_MAX_SIZE, .arg = "PIXELS",
		.fallback = "720", .help = "height of the pictures, an even number"},
	{'W', "width", NB_INT(struct render, width), .min = 2, .max = NB_SPLAT_MAX_SIZE, .arg = "PIXELS",
		.fallback = "1280", .help = "width of the pictures, an even number"},
	{0, "between", NB_INT(struct render, between), .max = 1000, .arg = "K", .fallback = "0",
		.help = "pictures between two frames, in which the bodies go on smoothly"},
	{0, "by", NB_TEXT(struct render, by_word), .arg = "density|speed|species|colour|id|COLUMN|EXPRESSION",
		.fallback = "density", .help = "what the colour shows"},
	{0, "by-range", NB_TEXT(struct render, hues), .arg = "LO,HI", .fallback = "from the first frame",
		.help = "numbers at which the colours of --by begin and end"},
	{0, "by-scale", NB_CHOICE(struct render, log_scale), .arg = "linear|log", .fallback = "linear",
		.help = "how the colours of --by go between them"},
	{0, "camera", NB_FILE(struct render, camera), .arg = "FILE",
		.help = "key frames of the camera, a line each: TIME AZIMUTH,ELEVATION ZOOM X,Y,Z"},
	{0, "center", NB_TEXT(struct render, center), .arg = "X,Y,Z", .fallback = "from the first frame",
		.help = "point at the centre of the picture"},
	{0, "colormap", NB_CHOICE(struct render, colormap), .arg = NB_COLORMAP_WORDS,
		.fallback = "inferno; blue, white and red for the latter two",
		.help = "colours for --by density, speed or a column"},
	{0, "disc-size", NB_POSITIVE(struct render, disc_size), .max = NB_SPLAT_MAX_SIZE, .arg = "PIXELS",
		.fallback = "1/180 of the height, less for more than 10 bodies",
		.help = "radius of a disc for a body of little mass; twice that for the heaviest"},
	{0, "draw", NB_CHOICE(struct render, draw), .arg = "auto|density|discs|points",
		.fallback = "auto: discs up to 100 bodies, points below 10,000",
		.help = "draw the surface density, each body as a disc, or as a point in a cloud"},
	{0, "expose", NB_CHOICE(struct render, expose), .arg = "smooth|frame|first", .fallback = "smooth",
		.help = "range of brightness: follows the frames slowly, is of each frame, or of the first one"},
	{0, "fit", NB_TEXT(struct render, fit), .arg = "all|PERCENT",
		.help = "choose the size so that each frame shows that share of the bodies"},
	{0, "follow", NB_TEXT(struct render, follow), .arg = "com|densest|id:N",
		.help = "move the centre with the centre of mass, the densest place or a body"},
	{0, "fps", NB_POSITIVE(struct render, fps), .max = 1000, .arg = "RATE", .fallback = "30",
		.help = "pictures a second of a film (-o FILE.mp4)"},
	{0, "hide", NB_TEXT(struct render, hide), .arg = "LIST|none",
		.fallback = "the halos of the models disk and merger", .help = "species to leave out, e.g. 2,5"},
	{0, "label", NB_TEXT(struct render, label), .arg = "time|scale|colour|name|axes|LIST",
		.help = "write the time, a scale bar, a bar of colours, names of bodies, axes; e.g. time,scale"},
	{0, "neighbours", NB_REAL(struct render, neighbours), .max = 1e6, .arg = "K",
		.fallback = "192 to 512; fewer below 10,000 bodies",
		.help = "number of neighbours to smooth over; 0: least smoothing"},
	{0, "only", NB_TEXT(struct render, only), .arg = "LIST", .help = "species to show; all others are left out"},
	{0, "pictures", NB_U64(struct render, pictures), .min = 1, .max = 1e9, .arg = "N",
		.fallback = "as many as the files give",
		.help = "number of pictures over which the camera moves, if need be about the last frame"},
	{0, "range", NB_TEXT(struct render, range), .arg = "LO,HI", .fallback = "from the first frame",
		.help = "range of surface densities over which brightness grows"},
	{0, "size", NB_POSITIVE(struct render, size), .arg = "LENGTH", .fallback = "from the first frame",
		.help = "length that the smaller edge of the picture shows"},
	{0, "sky", NB_CHOICE(struct render, light_sky), .arg = "dark|light", .fallback = "dark",
		.help = "what is behind the bodies; on a light sky, for print, darkness stands for density"},
	{0, "speed-range", NB_TEXT(struct render, speeds), .arg = "LO,HI", .fallback = "from the first frame",
		.help = "the same as --by-range, for --by speed"},
	{0, "stretch", NB_CHOICE(struct render, stretch), .arg = NB_STRETCH_WORDS, .fallback = "asinh",
		.help = "how brightness grows with surface density"},
	{0, "title", NB_TEXT(struct render, title), .arg = "TEXT", .help = "text at the top of each picture"},
	{0, "trail", NB_INT(struct render, trail), .min = 0, .max = 100000, .arg = "FRAMES", .fallback = "0",
		.help = "draw where each body was in the last frames"},
	{0, "view", NB_TEXT(struct render, view), .arg = "xy|xz|yz|AZIMUTH,ELEVATION", .fallback = "xy",
		.help = "axes of the picture, or the direction from which it is seen, in degrees; 0:360,25 turns"},
	{0, "zoom", NB_TEXT(struct render, zoom_word), .arg = "FACTOR", .fallback = "1",
		.help = "enlargement about the centre; 1:4 grows"},
};

static void check(struct nb_run *run, void *self)
{
	nb_render_check(run, self);
	nb_render_choose_output(run, self);
}

static void begin(struct nb_run *run, void *self)
{
	nb_render_begin_movie(run, self);
}

static void render(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct render *r = self;
	if (!r->backend) {
		r->backend = run->backend;
		nb_render_open_canvas(r);
	}
	nb_render_movie(r, frame);
}

static void end(struct nb_run *run, void *self)
{
	const struct render *r = self;
	if (!r->output.kind)
		nb_warn_of_no_frames(run);
	nb_render_end_movie(self);
	nb_render_end_output(self);
}

static void abandon(void *self)
{
	nb_render_drop_output(self);
}

static void clear(void *self)
{
	nb_render_drop_output(self);
	nb_render_release_bodies(self);
	nb_render_close_canvas(self);
	nb_render_release_trail(self);
	nb_render_release_moves(self);
	nb_frame_clear(&((struct render *)self)->held);
	nb_expr_free(((struct render *)self)->expression);
}

const struct nb_tool nb_tool_render_ppm = {
	.name = "nb-render-ppm",
	.about = "draw each frame of a particle stream as a picture, or all as a film",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.footer =
		"The name of the output says what it is: .png, .jpg, .webp, a film by ffmpeg (.mp4, .webm, .mkv, .mov, "
		".avi, .gif), or else PPM.\n",
	.common = NB_COMMON_LOOKER | NB_COMMON_THREADS | NB_COMMON_OUTPUT,
	.size = sizeof(struct render),
	.defaults =
		&(const struct render){
			.width = 1280,
			.height = 720,
			.colormap = NB_INFERNO,
			.by_word = "density",
			.view = "xy",
			.zoom_word = "1",
			.neighbours = 64,
			.fps = 30,
			.scene = {.lo = 1, .hi = 2},
		},
	.streams = NB_READS,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.begin = begin,
	.frame = render,
	.end = end,
	.abandon = abandon,
	.clear = clear,
};
