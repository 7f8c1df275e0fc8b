/* nb-render-ppm: arguments that are lists, and options that exclude each other. */
#include "common/parse.h"
#include "tools/nb-render-ppm/render.h"

#include <math.h>
#include <string.h>

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

static void take_view(const char *text, double right[3], double up[3])
{
	double angle[2] = {-90, 90}; /* azimuth and elevation of xy */
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
	nb_camera_axes(angle[0], angle[1], right, up);
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
static void refuse_contradictions(const struct nb_run *run, const struct render *r)
{
	const int stretch_given = nb_given(run, &r->stretch);
	if (r->width % 2 || r->height % 2)
		nb_die(NB_EXIT_USAGE, "invalid %s '%d' (want an even number, as most movie formats do)",
			r->width % 2 ? "width" : "height", r->width % 2 ? r->width : r->height);
	if (r->hide && r->only)
		nb_die(NB_EXIT_USAGE, "options '--hide' and '--only' exclude each other");
	if (r->by != BY_DENSITY && nb_given(run, &r->colormap))
		nb_die(NB_EXIT_USAGE, "option '--colormap' needs '--by density'");
	if (r->by != BY_SPEED && r->speeds)
		nb_die(NB_EXIT_USAGE, "option '--speed-range' needs '--by speed'");
	if (r->draw == DRAW_DISCS && (r->range || stretch_given || r->neighbours_given))
		nb_die(NB_EXIT_USAGE, "option '--%s' has no meaning with '--draw discs'",
			r->range	? "range"
			: stretch_given ? "stretch"
					: "neighbours");
}

void nb_render_check(struct nb_run *run, struct render *r)
{
	struct parsed *parsed = &r->parsed;
	r->size_given = nb_given(run, &r->size);
	r->neighbours_given = nb_given(run, &r->neighbours);
	refuse_contradictions(run, r);
	if (r->range || r->neighbours_given || nb_given(run, &r->stretch))
		r->draw = DRAW_DENSITY;

	take_view(r->view, parsed->right, parsed->up);
	if (r->center)
		take_center(r->center, parsed->center);
	if (r->range)
		take_pair("range", r->range, parsed->range);
	if (r->range && r->stretch != NB_STRETCH_LINEAR && !(parsed->range[0] > 0))
		nb_die(NB_EXIT_USAGE, "invalid range '%s' (want lo > 0 unless the stretch is linear)", r->range);
	if (r->speeds)
		take_pair("speed-range", r->speeds, parsed->speeds);
	if (r->hide && strcmp(r->hide, "none") != 0)
		take_species("hide", r->hide, parsed->hidden);
	if (r->only) {
		take_species("only", r->only, parsed->hidden);
		for (int i = 0; i < NSPECIES; i++)
			parsed->hidden[i] = !parsed->hidden[i];
	}
}
