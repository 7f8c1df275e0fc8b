/* nb-render-ppm: arguments that are lists, and options that exclude each other. */
#include "common/nearest.h"
#include "common/parse.h"
#include "tools/nb-render-ppm/render.h"

#include <math.h>
#include <string.h>

static void take_pair(const char *name, const char *text, double pair[2])
{
	pair[0] = pair[1] = NAN;
	if (nb_parse_range(text, text + strlen(text), pair) != NB_PARSE_OK || !(pair[0] < pair[1]))
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (want two numbers 'lo,hi' with lo < hi)", name, text);
}

static void take_center(const char *text, double center[3])
{
	size_t count;
	center[2] = 0;
	if (nb_parse_f64_list(text, 3, center, &count) != NB_PARSE_OK || count < 2)
		nb_die(NB_EXIT_USAGE, "invalid center '%s' (want 'x,y,z' or 'x,y')", text);
}

/* "0,3-5" marked in set. */
static void take_species(const char *name, const char *text, unsigned char set[NSPECIES])
{
	unsigned char list[NSPECIES];
	size_t count;
	if (nb_parse_species(text, list, &count) != NB_PARSE_OK)
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (%swant species from 0 to %d, each once, e.g. '0,3-5')", name,
			text, strcmp(name, "hide") == 0 ? nb_nearest_in(text, strlen(text), "none", "|").hint : "",
			NSPECIES - 1);
	for (size_t i = 0; i < count; i++)
		set[list[i]] = 1;
}

void nb_render_take_by(struct render *r)
{
	static const char *const word[] = {"density", "speed", "species", "colour", "id"};
	r->by = BY_COLUMN;
	r->column = r->by_word;
	for (size_t k = 0; k < sizeof word / sizeof *word; k++)
		if (strcmp(r->by_word, word[k]) == 0)
			r->by = (enum by)k;
	/* speed itself is linear; it is the length of a vector */
	if (r->by == BY_SPEED && r->log_scale) {
		r->by = BY_COLUMN;
		r->column = "vel";
	}
	/* a column may have any name, so only a frame says whether wrong text is one */
	if (r->by == BY_COLUMN && nb_expr_parse(&r->expression, r->column, &r->wrong)) {
		r->expression = NULL;
		if (!*r->wrong.text)
			nb_die(NB_EXIT_FAILED, "out of memory");
	}
}

static void take_follow(const char *text, struct parsed *parsed)
{
	parsed->follow = strcmp(text, "com") == 0	? FOLLOW_COM
			 : strcmp(text, "densest") == 0 ? FOLLOW_DENSEST
			 : strncmp(text, "id:", 3) == 0 ? FOLLOW_ID
							: FOLLOW_NOTHING;
	if (parsed->follow == FOLLOW_NOTHING ||
		(parsed->follow == FOLLOW_ID &&
			nb_parse_u64(text + 3, 0, UINT64_MAX, &parsed->followed) != NB_PARSE_OK))
		nb_die(NB_EXIT_USAGE, "invalid follow '%s' (%swant com, densest or id:N, e.g. id:0)", text,
			nb_nearest_in(text, strlen(text), "com|densest", "|").hint);
}

static void take_fit(const char *text, double *fit)
{
	double percent = 100;
	if (strcmp(text, "all") != 0 &&
		(nb_parse_f64(text, &percent) != NB_PARSE_OK || !(percent > 0 && percent <= 100)))
		nb_die(NB_EXIT_USAGE, "invalid fit '%s' (want all, or per cent of the bodies, e.g. 99)", text);
	*fit = percent / 100;
}

static void take_labels(const char *text, struct parsed *parsed)
{
	const struct {
		const char *word;
		int *to;
	} label[] = {{"time", &parsed->time}, {"scale", &parsed->length}, {"colour", &parsed->colour},
		{"name", &parsed->name}, {"axes", &parsed->axes}};
	const size_t nlabel = sizeof label / sizeof *label;
	for (const char *at = text;;) {
		const size_t length = strcspn(at, ",");
		size_t k = 0;
		while (k < nlabel && (strlen(label[k].word) != length || strncmp(at, label[k].word, length) != 0))
			k++;
		if (k == nlabel)
			nb_die(NB_EXIT_USAGE, "invalid label '%s' (%swant some of time,scale,colour,name,axes)", text,
				nb_nearest_in(at, length, "time,scale,colour,name,axes", ",").hint);
		*label[k].to = 1;
		if (!at[length])
			return;
		at += length + 1;
	}
}

static void refuse_discs(const struct nb_run *run, const struct render *r)
{
	const char *density = r->range			   ? "range"
			      : nb_given(run, &r->stretch) ? "stretch"
			      : nb_given(run, &r->expose)  ? "expose"
			      : r->neighbours_given	   ? "neighbours"
							   : NULL;
	if (r->draw == DRAW_DISCS && density)
		nb_die(NB_EXIT_USAGE, "option '--%s' has no meaning with '--draw discs'", density);
	if (r->draw != DRAW_DISCS && r->disc_size_given)
		nb_die(NB_EXIT_USAGE, "option '--disc-size' needs '--draw discs'");
}

static void refuse_hues(const struct nb_run *run, const struct render *r)
{
	const int speed = strcmp(r->by_word, "speed") == 0;
	if (r->by != BY_DENSITY && r->by != BY_SPEED && r->by != BY_COLUMN && r->colormap_given)
		nb_die(NB_EXIT_USAGE, "option '--colormap' has no meaning with '--by %s'", r->by_word);
	if (r->by != BY_DENSITY && r->colormap_given && r->colormap == NB_GRAY)
		nb_die(NB_EXIT_USAGE, "colormap 'gray' has no hues for '--by %s'", r->by_word);
	if (!speed && r->speeds)
		nb_die(NB_EXIT_USAGE, "option '--speed-range' needs '--by speed'");
	if (r->speeds && r->hues)
		nb_die(NB_EXIT_USAGE, "options '--by-range' and '--speed-range' exclude each other");
	if (r->by != BY_SPEED && r->by != BY_COLUMN && (r->hues || nb_given(run, &r->log_scale)))
		nb_die(NB_EXIT_USAGE, "option '--by-%s' needs '--by speed' or a column", r->hues ? "range" : "scale");
	if ((r->by == BY_COLOUR || r->by == BY_ID) && r->parsed.colour)
		nb_die(NB_EXIT_USAGE, "label 'colour' has no meaning with '--by %s'", r->by_word);
}

static void refuse_moves(const struct nb_run *run, const struct render *r)
{
	if (r->camera && (nb_given(run, &r->view) || nb_given(run, &r->zoom_word)))
		nb_die(NB_EXIT_USAGE, "options '--camera' and '--%s' exclude each other",
			nb_given(run, &r->view) ? "view" : "zoom");
	if (r->pictures && (!r->moves || r->camera))
		nb_die(NB_EXIT_USAGE,
			"option '--pictures' needs a camera that moves ('--view 0:360,25' or '--zoom 1:4')");
}

/* What does not go together is refused, not ignored. */
static void refuse_contradictions(const struct nb_run *run, const struct render *r)
{
	if (r->width % 2 || r->height % 2)
		nb_die(NB_EXIT_USAGE, "invalid %s '%d' (want an even number, as most movie formats do)",
			r->width % 2 ? "width" : "height", r->width % 2 ? r->width : r->height);
	if (r->hide && r->only)
		nb_die(NB_EXIT_USAGE, "options '--hide' and '--only' exclude each other");
	if (r->center && r->follow)
		nb_die(NB_EXIT_USAGE, "options '--center' and '--follow' exclude each other");
	if (r->size_given && r->fit)
		nb_die(NB_EXIT_USAGE, "options '--size' and '--fit' exclude each other");
	if (r->range && nb_given(run, &r->expose))
		nb_die(NB_EXIT_USAGE, "options '--range' and '--expose' exclude each other");
	refuse_discs(run, r);
	refuse_hues(run, r);
}

void nb_render_check(struct nb_run *run, struct render *r)
{
	struct parsed *parsed = &r->parsed;
	r->size_given = nb_given(run, &r->size);
	r->colormap_given = nb_given(run, &r->colormap);
	r->neighbours_given = nb_given(run, &r->neighbours);
	r->disc_size_given = nb_given(run, &r->disc_size);
	nb_render_take_by(r);
	if (r->label)
		take_labels(r->label, parsed);
	refuse_contradictions(run, r);
	if (r->draw == DRAW_AUTO && (r->range || r->neighbours_given || nb_given(run, &r->stretch)))
		r->draw = DRAW_DENSITY;
	if (r->follow)
		take_follow(r->follow, parsed);
	if (r->fit)
		take_fit(r->fit, &parsed->fit);
	if (r->title && !nb_text_possible(r->title))
		nb_die(NB_EXIT_USAGE, "invalid title '%s' (%s)", r->title, nb_text_wanted());

	parsed->centered = r->center != NULL;
	if (r->center)
		take_center(r->center, parsed->center);
	nb_render_take_moves(r);
	const int moves_centre = r->camera && nb_render_take_camera(r);
	if (moves_centre && (r->center || r->follow))
		nb_die(NB_EXIT_USAGE, "'%s' and option '--%s' both say where the centre is", r->camera,
			r->center ? "center" : "follow");
	parsed->centered |= moves_centre;
	refuse_moves(run, r);
	if (r->range)
		take_pair("range", r->range, parsed->range);
	if (r->range && r->stretch != NB_STRETCH_LINEAR && !(parsed->range[0] > 0))
		nb_die(NB_EXIT_USAGE, "invalid range '%s' (want lo > 0 unless the stretch is linear)", r->range);
	if (r->speeds)
		take_pair("speed-range", r->speeds, parsed->hues);
	if (r->hues)
		take_pair("by-range", r->hues, parsed->hues);
	if ((r->speeds || r->hues) && r->log_scale && !(parsed->hues[0] > 0))
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (want lo > 0 for a logarithmic scale)",
			r->hues ? "by-range" : "speed-range", r->hues ? r->hues : r->speeds);
	if (r->hide && strcmp(r->hide, "none") != 0)
		take_species("hide", r->hide, parsed->hidden);
	if (r->only) {
		take_species("only", r->only, parsed->hidden);
		for (int i = 0; i < NSPECIES; i++)
			parsed->hidden[i] = !parsed->hidden[i];
	}
}
