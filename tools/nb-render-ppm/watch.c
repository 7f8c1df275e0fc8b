/* nb-render-ppm: what -v says of bodies that cannot be seen. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>

/* It is told when the share rises above most, and may be told again when it has fallen below half of that. */
static int begins(int *goes_on, double share, double most)
{
	const int before = *goes_on;
	*goes_on = share > most || (before && share > most / 2);
	return *goes_on && !before;
}

void nb_render_watch_crop(struct render *r)
{
	const struct bodies *b = &r->bodies;
	struct canvas *c = &r->canvas;
	const struct nb_space *space = r->backend->space;
	if (nb_verbosity() < 1 || b->n == 0)
		return;
	c->host = nb_alloc(b->n, 2 * sizeof *c->host);
	if (!c->host)
		nb_out_of_memory(b->frame);
	float *x = c->host, *y = x + b->n;
	int status = space->to_host(space, x, c->x, b->n * sizeof *x);
	if (!status)
		status = space->to_host(space, y, c->y, b->n * sizeof *y);
	nb_render_require_ok(r, status);
	size_t out = 0;
	for (size_t i = 0; i < b->n; i++)
		out += !(x[i] >= 0 && x[i] < (float)r->width && y[i] >= 0 && y[i] < (float)r->height);
	nb_free(c->host);
	c->host = NULL;
	const double share = (double)out / (double)b->n;
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
