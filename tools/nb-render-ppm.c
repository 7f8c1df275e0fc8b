/* nb-render-ppm: each frame of a particle stream as a picture; all together a movie. */
#include "common/die.h"
#include "common/mem.h"
#include "common/parse.h"
#include "formats/image/image.h"
#include "kernels/picture/picture.h"
#include "tools/filter/options.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum by { BY_DENSITY, BY_SPEED, BY_SPECIES };
enum draw { DRAW_AUTO, DRAW_DENSITY, DRAW_DISCS };
enum { FEW = 100, NSPECIES = 256 };

static struct options {
	int width, height, by, colormap, draw, stretch;
	const char *view, *center, *range, *speeds, *hide, *only;
	double zoom, size, neighbours;
	int colormap_given, stretch_given, size_given, neighbours_given;
} opt = {
	.width = 1280,
	.height = 720,
	.colormap = NB_INFERNO,
	.view = "xy",
	.zoom = 1,
	.neighbours = 64,
};

/* The texts among them, parsed. */
static struct parsed {
	double right[3], up[3]; /* axes of the picture */
	double center[3], range[2], speeds[2];
	unsigned char hidden[NSPECIES]; /* of --hide and --only */
} want;

static const struct nb_option options[] = {
	{'H', "height", NB_OPT_INT, &opt.height, 2, NB_SPLAT_MAX_SIZE, "PIXELS", "720", "height of a picture, even", 0,
		NULL},
	{'W', "width", NB_OPT_INT, &opt.width, 2, NB_SPLAT_MAX_SIZE, "PIXELS", "1280", "width of a picture, even", 0,
		NULL},
	{0, "by", NB_OPT_CHOICE, &opt.by, 0, 0, "density|speed|species", "density", "what the colour tells", 0, NULL},
	{0, "center", NB_OPT_TEXT, &opt.center, 0, 0, "X,Y,Z", "from the first frame",
		"place in the middle of the picture", 0, NULL},
	{0, "colormap", NB_OPT_CHOICE, &opt.colormap, 0, 0, NB_COLORMAP_WORDS, "inferno", "colours", 0,
		&opt.colormap_given},
	{0, "draw", NB_OPT_CHOICE, &opt.draw, 0, 0, "auto|density|discs", "auto: discs for at most 100 bodies",
		"surface density, or each body as a disc", 0, NULL},
	{0, "hide", NB_OPT_TEXT, &opt.hide, 0, 0, "LIST|none", "the halos of models disk and merger",
		"species to leave out, e.g. 2,5", 0, NULL},
	{0, "neighbours", NB_OPT_F64, &opt.neighbours, 0, 1e6, "K", "64, less below 10,000 bodies",
		"bodies to smooth over; 0: the least smoothing", 0, &opt.neighbours_given},
	{0, "only", NB_OPT_TEXT, &opt.only, 0, 0, "LIST", NULL, "species to show", 0, NULL},
	{0, "range", NB_OPT_TEXT, &opt.range, 0, 0, "LO,HI", "from the first frame",
		"surface densities between which brightness grows", 0, NULL},
	{0, "size", NB_OPT_F64_POS, &opt.size, 0, 1e300, "LENGTH", "from the first frame",
		"length that the smaller edge of the picture shows", 0, &opt.size_given},
	{0, "speed-range", NB_OPT_TEXT, &opt.speeds, 0, 0, "LO,HI", "from the first frame",
		"speeds between which the colour changes", 0, NULL},
	{0, "stretch", NB_OPT_CHOICE, &opt.stretch, 0, 0, "asinh|log|linear", "asinh",
		"how brightness grows with surface density", 0, &opt.stretch_given},
	{0, "view", NB_OPT_TEXT, &opt.view, 0, 0, "xy|xz|yz|AZIMUTH,ELEVATION", "xy",
		"axes of the picture, or where it is seen from in degrees", 0, NULL},
	{0, "zoom", NB_OPT_F64_POS, &opt.zoom, 0, 1e12, "FACTOR", "1", "enlargement", 0, NULL},
};

static const struct nb_command command = {
	.about = "draw each frame of a particle stream as a PPM picture",
	.operands = "",
	.max_operands = 0,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS,
};

/* Saturated but not harsh; in the order of nb-gen's merger: disk, bulge, halo, and those of the second galaxy. */
static const uint32_t palette[] = {0xffc27a, 0xff8a52, 0x8a6fd1, 0x74b6ff, 0x4f7dff, 0x4fb0a5, 0xff7fa8, 0x9be564,
	0xf2e85c, 0xc792ea, 0x5ce1e6, 0xffa3a3};

/* From slow to fast, at equal steps; hues that stay pleasant where they are dim. */
static const uint32_t speed_hue[] = {0x3c6eff, 0x8fb2ff, 0xffefe6, 0xffb060, 0xff5028};

/* The bodies to draw. */
struct bodies {
	size_t n;
	const double *pos, *mass, *vel, *radius, *species; /* NULL where not needed */
	double *kept;					   /* memory of the above where some bodies are hidden */
};

/* What the first frame that has bodies decides for the whole movie. */
struct scene {
	int ready, discs;
	struct nb_camera camera;
	int massless;	  /* all masses are 0: bodies count equally */
	double mass_unit; /* mass of weight 1: the heaviest body */
	double heavy;	  /* the heaviest hundredth is heavier than this; INFINITY: there is none */
	int measuring;	  /* the range: those count as if they had this mass */
	float lo, hi;	  /* range of brightness, weight per pixel */
	double slow, fast;
	double neighbours; /* to smooth over */
	double disc_size;  /* radius of the lightest discs, pixels */
};

/* ---- options -------------------------------------------------------------------------------------- */

static void take_pair(const char *name, const char *text, double pair[2])
{
	size_t count;
	if (nb_parse_f64_list(text, 2, pair, &count) != NB_PARSE_OK || count != 2 || !(pair[0] < pair[1]))
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (want two numbers 'lo,hi' with lo < hi)", name, text);
}

static void take_center(const char *text, double center[3])
{
	size_t count;
	center[2] = 0;
	if (nb_parse_f64_list(text, 3, center, &count) != NB_PARSE_OK || count < 2)
		nb_die(NB_EXIT_USAGE, "invalid center '%s' (want 'x,y,z' or 'x,y')", text);
}

/* Unit vectors of the picture's axes. The camera stands at that azimuth from x towards y and that elevation from the
 * x-y plane, z upwards: xy is -90,90; xz is -90,0; yz is 0,0. */
static void take_view(const char *text, double right[3], double up[3])
{
	double angle[2] = {-90, 90};
	size_t count = 2;
	if (strcmp(text, "xz") == 0)
		angle[1] = 0;
	else if (strcmp(text, "yz") == 0)
		angle[0] = angle[1] = 0;
	else if (strcmp(text, "xy") != 0 && (nb_parse_f64_list(text, 2, angle, &count) != NB_PARSE_OK || count != 2 ||
						    fabs(angle[0]) > 360 || fabs(angle[1]) > 90))
		nb_die(NB_EXIT_USAGE,
			"invalid view '%s' (want xy, xz, yz or 'azimuth,elevation' within -360..360,-90..90 degrees)",
			text);
	/* sine and cosine of whole quarter turns exactly, so that the plain views keep coordinates as they are */
	double sine[2], cosine[2];
	for (int k = 0; k < 2; k++) {
		double quarter = angle[k] / 90, turns = nearbyint(quarter), rest = (quarter - turns) * M_PI_2;
		int turn = ((int)turns % 4 + 4) % 4;
		double s = sin(rest), c = cos(rest);
		sine[k] = turn == 0 ? s : turn == 1 ? c : turn == 2 ? -s : -c;
		cosine[k] = turn == 0 ? c : turn == 1 ? -s : turn == 2 ? -c : s;
	}
	right[0] = -sine[0];
	right[1] = cosine[0];
	right[2] = 0;
	up[0] = -sine[1] * cosine[0];
	up[1] = -sine[1] * sine[0];
	up[2] = cosine[1];
}

/* "0,3,5" marked in set. */
static void take_species(const char *name, const char *text, unsigned char set[NSPECIES])
{
	double list[NSPECIES];
	size_t count;
	int good = nb_parse_f64_list(text, NSPECIES, list, &count) == NB_PARSE_OK && count > 0;
	for (size_t i = 0; good && i < count; i++) {
		good = list[i] >= 0 && list[i] < NSPECIES && list[i] == floor(list[i]);
		if (good)
			set[(size_t)list[i]] = 1;
	}
	if (!good)
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (want species from 0 to %d, e.g. '0,3')", name, text,
			NSPECIES - 1);
}

/* What does not go together is refused, not ignored. */
static void check_options(void)
{
	if (opt.width % 2 || opt.height % 2)
		nb_die(NB_EXIT_USAGE, "invalid %s '%d' (want an even number: most movie formats do)",
			opt.width % 2 ? "width" : "height", opt.width % 2 ? opt.width : opt.height);
	if (opt.hide && opt.only)
		nb_die(NB_EXIT_USAGE, "options '--hide' and '--only' exclude each other");
	if (opt.by != BY_DENSITY && opt.colormap_given)
		nb_die(NB_EXIT_USAGE, "option '--colormap' needs '--by density'");
	if (opt.by != BY_SPEED && opt.speeds)
		nb_die(NB_EXIT_USAGE, "option '--speed-range' needs '--by speed'");
	if (opt.stretch_given || opt.range || opt.neighbours_given) {
		if (opt.draw == DRAW_DISCS)
			nb_die(NB_EXIT_USAGE, "option '--%s' has no meaning with '--draw discs'",
				opt.range	    ? "range"
				: opt.stretch_given ? "stretch"
						    : "neighbours");
		opt.draw = DRAW_DENSITY;
	}
	take_view(opt.view, want.right, want.up);
	if (opt.center)
		take_center(opt.center, want.center);
	if (opt.range)
		take_pair("range", opt.range, want.range);
	if (opt.range && opt.stretch != NB_STRETCH_LINEAR && !(want.range[0] > 0))
		nb_die(NB_EXIT_USAGE, "invalid range '%s' (want lo > 0 unless the stretch is linear)", opt.range);
	if (opt.speeds)
		take_pair("speed-range", opt.speeds, want.speeds);
	if (opt.hide && strcmp(opt.hide, "none") != 0)
		take_species("hide", opt.hide, want.hidden);
	if (opt.only) {
		take_species("only", opt.only, want.hidden);
		for (int i = 0; i < NSPECIES; i++)
			want.hidden[i] = !want.hidden[i];
	}
}

/* ---- bodies --------------------------------------------------------------------------------------- */

static _Noreturn void no_memory(uint64_t nframe)
{
	nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, nframe);
}

/* Which species of this frame to leave out; NULL: none. */
static const unsigned char *hidden_species(const struct nb_frame *frame)
{
	static const unsigned char halos[NSPECIES] = {[2] = 1, [5] = 1};
	if (opt.hide || opt.only)
		return opt.hide && strcmp(opt.hide, "none") == 0 ? NULL : want.hidden;
	/* the dark halo of nb-gen's galaxies, which would outshine the stars */
	const char *model = nb_frame_attribute(frame, "model");
	if (!model || (strcmp(model, "disk") != 0 && strcmp(model, "merger") != 0) ||
		!nb_frame_field(frame, NB_SPECIES))
		return NULL;
	return halos;
}

/* The rows of from (n x ncomp) whose species is not hidden, in order; returns the end of to. */
static double *keep(double *to, const double *from, size_t n, size_t ncomp, const double *species,
	const unsigned char hidden[NSPECIES])
{
	for (size_t i = 0; i < n; i++) {
		if (species[i] >= 0 && species[i] < NSPECIES && hidden[(size_t)species[i]])
			continue;
		for (size_t k = 0; k < ncomp; k++)
			*to++ = from[ncomp * i + k];
	}
	return to;
}

static void load_bodies(const struct nb_frame *frame, uint64_t nframe, struct bodies *b)
{
	const unsigned char *hidden = hidden_species(frame);
	memset(b, 0, sizeof *b);
	b->n = frame->rows[NB_PARTICLE];
	nb_require_finite(frame, nframe);
	b->pos = nb_require_f64(frame, NB_POS, &nb_space_host, nframe);
	b->mass = nb_require_f64(frame, NB_MASS, &nb_space_host, nframe);
	if (opt.by == BY_SPEED)
		b->vel = nb_require_f64(frame, NB_VEL, &nb_space_host, nframe);
	if (opt.by == BY_SPECIES || hidden)
		b->species = nb_require_f64(frame, NB_SPECIES, &nb_space_host, nframe);
	if (nb_frame_field(frame, NB_RADIUS))
		b->radius = nb_require_f64(frame, NB_RADIUS, &nb_space_host, nframe);
	if (!hidden)
		return;

	double *at = b->kept = nb_alloc(b->n, 9 * sizeof *at);
	if (!at)
		no_memory(nframe);
	const double *species = b->species;
	const struct {
		const double **field;
		size_t ncomp;
	} part[] = {{&b->mass, 1}, {&b->pos, 3}, {&b->vel, 3}, {&b->radius, 1}, {&b->species, 1}};
	size_t n = b->n;
	for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
		if (!*part[k].field)
			continue;
		double *end = keep(at, *part[k].field, n, part[k].ncomp, species, hidden);
		*part[k].field = at;
		b->n = (size_t)(end - at) / part[k].ncomp;
		at = end;
	}
}

static double speed_of(const struct bodies *b, size_t i)
{
	return hypot(hypot(b->vel[3 * i], b->vel[3 * i + 1]), b->vel[3 * i + 2]);
}

/* ---- drawing -------------------------------------------------------------------------------------- */

struct canvas {
	float *x, *y, *radius, *weight; /* of the bodies */
	float *image, *bright;		/* planes of the picture */
	uint8_t *rgb;
};

/* Planes: weight alone, or with its product with the speed (0..1), or with red, green and blue. */
static int channels(void)
{
	return opt.by == BY_SPECIES ? 4 : opt.by == BY_SPEED ? 2 : 1;
}

static void open_canvas(struct canvas *c)
{
	size_t pixels = (size_t)opt.width * (size_t)opt.height;
	c->x = c->y = c->radius = c->weight = NULL;
	c->image = nb_alloc(pixels * (size_t)channels(), sizeof *c->image);
	c->bright = nb_alloc(pixels, sizeof *c->bright);
	c->rgb = nb_alloc(pixels, 3);
	if (!c->image || !c->bright || !c->rgb)
		nb_die(NB_EXIT_FAILED, "out of memory for pictures of %d x %d pixels", opt.width, opt.height);
}

static void close_canvas(struct canvas *c)
{
	nb_free(c->image);
	nb_free(c->bright);
	nb_free(c->rgb);
}

static void set_weights(const struct bodies *b, const struct scene *scene, float *weight)
{
	const size_t nchannel = (size_t)channels();
#pragma omp parallel for schedule(static) if (b->n > 10000)
	for (size_t i = 0; i < b->n; i++) {
		float *w = &weight[i * nchannel];
		double mass = scene->measuring ? fmin(b->mass[i], scene->heavy) : b->mass[i];
		w[0] = scene->discs || scene->massless ? 1 : (float)fmin(mass / scene->mass_unit, 1e24);
		if (opt.by == BY_SPEED) {
			double t = (speed_of(b, i) - scene->slow) / (scene->fast - scene->slow);
			w[1] = w[0] * (float)(t > 0 ? (t < 1 ? t : 1) : 0);
		} else if (opt.by == BY_SPECIES) {
			double s = b->species[i] >= 0 && b->species[i] < NSPECIES ? b->species[i] : 0;
			uint32_t colour = palette[(size_t)fmod(s, sizeof palette / sizeof *palette)];
			for (int k = 0; k < 3; k++)
				w[1 + k] = w[0] * (float)(colour >> (16 - 8 * k) & 255) / 255;
		}
	}
}

/* Discs grow with the cube root of the mass, from 1/180 to 1/90 of the picture's height, less where there are many
 * (for the whole movie), unless their own radius is larger. */
static void set_disc_radii(const struct bodies *b, const struct scene *scene, float *radius)
{
	for (size_t i = 0; i < b->n; i++) {
		double share = scene->massless ? 1 : fmin(cbrt(b->mass[i] / scene->mass_unit), 2);
		double own = b->radius ? b->radius[i] * scene->camera.pixels_per_length : 0;
		radius[i] = (float)fmin(fmax(fmax((1 + share) * scene->disc_size, 1.5), own), 1e6);
	}
}

/* A heavy body among few light ones, such as a black hole, is a small spot and no cloud. */
static void sharpen_heavy(const struct bodies *b, const struct scene *scene, float *radius)
{
	const float spot = (float)opt.height / 180;
#pragma omp parallel for schedule(static) if (b->n > 10000)
	for (size_t i = 0; i < b->n; i++)
		if (b->mass[i] > scene->heavy)
			radius[i] = fminf(radius[i], fmaxf(radius[i] * (float)sqrt(scene->heavy / b->mass[i]), spot));
}

/* Sums the bodies into canvas->image. */
static void splat(const struct bodies *b, const struct scene *scene, struct canvas *c, uint64_t nframe)
{
	c->x = nb_alloc(b->n, (3 + (size_t)channels()) * sizeof *c->x);
	if (!c->x)
		no_memory(nframe);
	c->y = c->x + b->n;
	c->radius = c->y + b->n;
	c->weight = c->radius + b->n;
	int error = nb_splat_project_cpu(b->n, b->pos, &scene->camera, c->x, c->y);
	if (scene->discs) {
		set_disc_radii(b, scene, c->radius);
	} else {
		if (!error)
			error = nb_splat_radii_cpu(
				b->n, c->x, c->y, opt.width, opt.height, scene->neighbours, c->radius);
		sharpen_heavy(b, scene, c->radius);
	}
	set_weights(b, scene, c->weight);
	const struct nb_splat job = {.n = b->n,
		.x = c->x,
		.y = c->y,
		.radius = c->radius,
		.weight = c->weight,
		.nchannel = channels(),
		.shape = scene->discs ? NB_SPLAT_DISC : NB_SPLAT_SMOOTH,
		.width = opt.width,
		.height = opt.height,
		.image = c->image};
	if (!error)
		error = nb_splat_cpu(&job);
	if (error)
		nb_die(NB_EXIT_FAILED, "cannot draw frame %" PRIu64 ": %s", nframe, nb_status_text(error));
}

/* Colour of hue at brightness v; above 0.7 it turns towards white, as overexposed light does. */
static void shade(const float hue[3], float v, float rgb[3])
{
	float white = v > 0.7f ? (v - 0.7f) / 0.6f : 0, light = v < 0.7f ? v / 0.7f : 1;
	for (int k = 0; k < 3; k++)
		rgb[k] = light * (hue[k] + white * (1 - hue[k]));
}

/* Hue of a speed from 0 (slow) to 1 (fast). */
static void speed_colour(float speed, float rgb[3])
{
	const int last = sizeof speed_hue / sizeof *speed_hue - 1;
	float at = speed < 1 ? speed * (float)last : (float)last;
	int i = at < (float)last ? (int)at : last - 1;
	for (int k = 0; k < 3; k++) {
		float a = (float)(speed_hue[i] >> (16 - 8 * k) & 255),
		      b = (float)(speed_hue[i + 1] >> (16 - 8 * k) & 255);
		rgb[k] = a + (at - (float)i) * (b - a);
	}
}

/* The same hue with its strongest part at 1. */
static void brighten(float rgb[3])
{
	float most = fmaxf(rgb[0], fmaxf(rgb[1], rgb[2]));
	for (int k = 0; k < 3; k++)
		rgb[k] = most > 0 ? rgb[k] / most : 1;
}

static void paint(const struct scene *scene, struct canvas *c)
{
	const size_t pixels = (size_t)opt.width * (size_t)opt.height;
	const uint32_t *table = nb_colormap_table((enum nb_colormap)opt.colormap);
	const float *image = c->image;
	nb_splat_stretch_cpu(pixels, image, scene->discs ? NB_STRETCH_LINEAR : (enum nb_stretch)opt.stretch,
		scene->discs ? 0 : scene->lo, scene->discs ? 1 : scene->hi, c->bright);
#pragma omp parallel for schedule(static)
	for (size_t p = 0; p < pixels; p++) {
		float rgb[3], hue[3];
		if (opt.by == BY_DENSITY) {
			nb_colormap_at(table, c->bright[p], rgb);
		} else if (!(image[p] > 0)) {
			rgb[0] = rgb[1] = rgb[2] = 0;
		} else {
			if (opt.by == BY_SPEED)
				speed_colour(image[pixels + p] / image[p], hue);
			else
				for (size_t k = 0; k < 3; k++)
					hue[k] = image[(k + 1) * pixels + p];
			brighten(hue);
			shade(hue, c->bright[p], rgb);
		}
		for (size_t k = 0; k < 3; k++)
			c->rgb[3 * p + k] = (uint8_t)(255 * rgb[k] + 0.5f);
	}
}

/* ---- the scene ------------------------------------------------------------------------------------ */

/* Surface densities at the bodies: each body counts once, and the masses of the heaviest hundredth are cut, so
 * that a few heavy bodies, such as the black holes of galaxies, do not darken the rest. */
static void measure_range(const struct bodies *b, struct scene *scene, struct canvas *c, uint64_t nframe)
{
	double *s = nb_alloc(b->n, sizeof *s);
	size_t count = 0;
	if (!s)
		no_memory(nframe);
	scene->measuring = 1;
	splat(b, scene, c, nframe);
	scene->measuring = 0;
	for (size_t i = 0; i < b->n; i++)
		if (c->x[i] >= 0 && c->x[i] < (float)opt.width && c->y[i] >= 0 && c->y[i] < (float)opt.height) {
			float at = c->image[(size_t)c->y[i] * (size_t)opt.width + (size_t)c->x[i]];
			if (at > 0)
				s[count++] = at;
		}
	nb_free(c->x);
	double hi = count ? nb_splat_quantile(count, s, 0.98) : 1;
	double lo = count ? nb_splat_quantile(count, s, 0.05) / 2 : 0.01;
	nb_free(s);
	scene->hi = (float)fmax(hi, 1e-30);
	scene->lo = opt.stretch == NB_STRETCH_LINEAR ? 0 : (float)fmin(fmax(lo, scene->hi * 1e-4), scene->hi / 4);
}

static void measure_masses(const struct bodies *b, struct scene *scene, uint64_t nframe)
{
	double *m = nb_alloc(b->n, sizeof *m);
	if (!m)
		no_memory(nframe);
	for (size_t i = 0; i < b->n; i++) {
		m[i] = b->mass[i];
		scene->mass_unit = fmax(scene->mass_unit, m[i]);
	}
	scene->massless = !(scene->mass_unit > 0);
	if (scene->massless)
		scene->mass_unit = 1;
	scene->heavy = nb_splat_quantile(b->n, m, 0.99);
	if (!(scene->heavy > 0))
		scene->heavy = INFINITY;
	nb_free(m);
}

static void measure_speeds(const struct bodies *b, struct scene *scene, uint64_t nframe)
{
	double *s = nb_alloc(b->n, sizeof *s);
	if (!s)
		no_memory(nframe);
	for (size_t i = 0; i < b->n; i++)
		s[i] = fmin(speed_of(b, i), 1e300);
	scene->slow = nb_splat_quantile(b->n, s, b->n > FEW ? 0.02 : 0);
	scene->fast = nb_splat_quantile(b->n, s, b->n > FEW ? 0.98 : 1);
	nb_free(s);
	if (!(scene->fast > scene->slow))
		scene->slow = 0;
	if (!(scene->fast > scene->slow))
		scene->fast = 1;
}

/* The options that give the same scene for another stream. */
static void say_scene(const struct scene *scene, double size, double unit, uint64_t nframe)
{
	const double *c = scene->camera.centre;
	char t[3][NB_F64_TEXT];
	nb_verbose("from frame %" PRIu64 ": --center %s,%s,%s", nframe, nb_format_f64(c[0], t[0]),
		nb_format_f64(c[1], t[1]), nb_format_f64(c[2], t[2]));
	nb_verbose("from frame %" PRIu64 ": --size %s", nframe, nb_format_f64(size, t[0]));
	if (!scene->discs)
		nb_verbose("from frame %" PRIu64 ": --range %s,%s", nframe, nb_format_f64(scene->lo * unit, t[0]),
			nb_format_f64(scene->hi * unit, t[1]));
	if (opt.by == BY_SPEED)
		nb_verbose("from frame %" PRIu64 ": --speed-range %s,%s", nframe, nb_format_f64(scene->slow, t[0]),
			nb_format_f64(scene->fast, t[1]));
}

static void settle(const struct bodies *b, struct scene *scene, struct canvas *c, uint64_t nframe)
{
	struct nb_camera *camera = &scene->camera;
	double size = opt.size, radius = 0;
	int error = 0;
	if (b->n == 0)
		return;

	memcpy(camera->right, want.right, sizeof want.right);
	memcpy(camera->up, want.up, sizeof want.up);
	memcpy(camera->centre, want.center, sizeof want.center);
	camera->width = opt.width;
	camera->height = opt.height;
	scene->discs = opt.draw == DRAW_DISCS || (opt.draw == DRAW_AUTO && b->n <= FEW);
	/* many bodies can afford to be smoothed, few would be a single blot */
	scene->neighbours = opt.neighbours_given ? opt.neighbours : fmin(fmax(0.64 * sqrt((double)b->n), 8), 64);
	scene->disc_size = opt.height / 180.0 * fmin(pow(10 / (double)b->n, 0.25), 1);
	if (!opt.center)
		error = nb_splat_centre_cpu(b->n, b->pos, b->mass, camera->centre);
	if (!error && !opt.size_given) {
		error = nb_splat_extent_cpu(b->n, b->pos, camera->centre, b->n <= FEW ? 1 : 0.95, &radius);
		size = radius > 0 ? fmin(2.4 * radius, 1e300) : 1;
	}
	if (error)
		nb_die(NB_EXIT_FAILED, "cannot draw frame %" PRIu64 ": %s", nframe, nb_status_text(error));
	camera->pixels_per_length = (opt.width < opt.height ? opt.width : opt.height) / size * opt.zoom;
	if (!(camera->pixels_per_length > 0 && isfinite(camera->pixels_per_length)))
		nb_die(NB_EXIT_FAILED, "a picture %g across with zoom %g is out of scale", size, opt.zoom);

	measure_masses(b, scene, nframe);
	if (opt.by == BY_SPEED && !opt.speeds) {
		measure_speeds(b, scene, nframe);
	} else if (opt.by == BY_SPEED) {
		scene->slow = want.speeds[0];
		scene->fast = want.speeds[1];
	}
	const double unit = scene->mass_unit * camera->pixels_per_length * camera->pixels_per_length;
	if (opt.range) {
		scene->lo = (float)(want.range[0] / unit);
		scene->hi = (float)(want.range[1] / unit);
		if (!(scene->hi > scene->lo) || !isfinite(scene->hi) || (scene->lo == 0 && want.range[0] != 0))
			nb_die(NB_EXIT_FAILED, "range '%s' is out of scale: a body of mass %g on one pixel is %g",
				opt.range, scene->mass_unit, unit);
	} else if (!scene->discs) {
		measure_range(b, scene, c, nframe);
	}
	scene->ready = 1;

	say_scene(scene, size, unit, nframe);
}

static void draw(const struct bodies *b, const struct scene *scene, struct canvas *c, uint64_t nframe)
{
	if (scene->ready && b->n > 0) {
		splat(b, scene, c, nframe);
		nb_free(c->x);
	} else {
		memset(c->image, 0, (size_t)opt.width * (size_t)opt.height * (size_t)channels() * sizeof *c->image);
	}
	paint(scene, c);
}

int main(int argc, char **argv)
{
	struct nb_reader in;
	struct nb_frame frame;
	struct bodies bodies;
	struct canvas canvas;
	struct scene scene = {.lo = 1, .hi = 2};

	nb_options_parse(&command, argc, argv);
	check_options();
	if (isatty(STDOUT_FILENO))
		nb_die(NB_EXIT_USAGE,
			"standard output is a terminal and pictures are binary (redirect it, or pipe it into ffmpeg)");
	nb_require_input(&in);
	open_canvas(&canvas);
	nb_frame_init(&frame);
	while (nb_require_frame(&in, &frame)) {
		uint64_t nframe = in.nframe - 1;
		load_bodies(&frame, nframe, &bodies);
		if (!scene.ready)
			settle(&bodies, &scene, &canvas, nframe);
		draw(&bodies, &scene, &canvas, nframe);
		if (nb_ppm_write(stdout, opt.width, opt.height, canvas.rgb))
			nb_die(NB_EXIT_FAILED, "cannot write picture %" PRIu64 ":", nframe);
		nb_free(bodies.kept);
	}
	if (fclose(stdout))
		nb_die(NB_EXIT_FAILED, "cannot write pictures:");
	close_canvas(&canvas);
	nb_frame_clear(&frame);
	nb_reader_close(&in);
	return NB_EXIT_OK;
}
