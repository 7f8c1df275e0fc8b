/* nb-render-ppm: what is said of bodies that cannot be seen. */
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
#include <stdio.h>

/* It is reported when the share rises above most, and may be reported again when it has fallen below half of that. */
static int begins(int *goes_on, double share, double most)
{
	const int before = *goes_on;
	*goes_on = share > most || (before && share > most / 2);
	return *goes_on && !before;
}

/* Pixels that can be seen, counted as far as a number, and whether they all lie in a small part of the picture. */
static size_t count_light(const struct render *r, size_t most, int *spot)
{
	const int w = r->width, h = r->height;
	int left = w, right = 0, top = h, bottom = 0;
	size_t light = 0;
	for (int y = 0; y < h && light <= most; y++)
		for (int x = 0; x < w; x++)
			if (r->canvas.bright[(size_t)y * (size_t)w + (size_t)x] > 0.1f) {
				light++;
				left = x < left ? x : left;
				right = x > right ? x : right;
				top = y < top ? y : top;
				bottom = y;
			}
	*spot = right - left < w / 30 && bottom - top < h / 30;
	return light;
}

/* Why there is next to no light, and the option that helps; 0: it is meant to be so. */
static int say_why(const struct render *r, size_t light, int spot, char why[160])
{
	const size_t n = r->bodies.n;
	const double out = n ? nb_render_share_outside(r) : 0;
	if (n == 0)
		snprintf(why, 160, "all bodies are %s",
			r->only	  ? "of species that --only leaves out (without it they are seen)"
			: r->hide ? "of species that --hide leaves out (without it they are seen)"
				  : "of dark halos (--hide none shows them)");
	else if (out > 0.9)
		snprintf(why, 160, "%.4g %% of the bodies are outside of it (%s--fit 99 shows them)", 100 * out,
			r->parsed.centered ? "another --center or "
			: r->zoom > 1	   ? "a smaller --zoom or "
			: r->follow	   ? ""
					   : "--follow com or ");
	else if (light == 0)
		snprintf(why, 160, "the bodies are too faint for %s",
			r->range		    ? "--range (without it they are seen)"
			: r->expose == EXPOSE_FIRST ? "the first frame's brightness (--expose smooth shows them)"
						    : "its range (--draw discs shows them)");
	else if (n > NB_PICTURE_FEW && spot)
		snprintf(why, 160, "the bodies fill %zu pixels of it (%s enlarges them)", light,
			r->size_given ? "a smaller --size" : "--fit 90");
	else
		return 0;
	return 1;
}

void nb_render_watch_empty(struct render *r)
{
	const size_t few = (size_t)r->width * (size_t)r->height / 2000;
	char why[160];
	int spot;
	if (r->watch.empty || r->bodies.frame->rows[NB_PARTICLE] == 0)
		return;
	const size_t light = count_light(r, few, &spot);
	if (light > few || !say_why(r, light, spot, why))
		return;
	r->watch.empty = 1;
	nb_warn("from frame %" PRIu64 " on the picture is %s: %s", r->bodies.frame->number,
		light ? "almost empty" : "empty", why);
}

void nb_render_watch_crop(struct render *r)
{
	const struct bodies *b = &r->bodies;
	if (nb_verbosity() < 1 || b->n == 0)
		return;
	const double share = nb_render_share_outside(r);
	if (begins(&r->watch.crops, share, 0.01))
		nb_verbose("from frame %" PRIu64 " on bodies are outside of the picture: %.1f %%%s", b->frame->number,
			100 * share, r->parsed.fit > 0 ? "" : " (--fit 99 shows 99 % of them)");
}

void nb_render_watch_clip(struct render *r, double share)
{
	if (begins(&r->watch.clips, share, 0.02))
		nb_verbose("from frame %" PRIu64
			   " on parts of the picture are overexposed: %.1f %% of what has light%s",
			r->bodies.frame->number, 100 * share,
			r->range ? " (a wider --range shows them)" : " (--expose smooth shows them)");
}
