/* The numbers that colours stand for. */
#include "tools/nb-view/shot.h"

#include "common/mem.h"
#include "kernels/measure/measure.h"
#include "kernels/picture/picture.h"
#include "tools/filter/expression.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int nb_shot_has_values(const char *by)
{
	return *by && strcmp(by, "density") != 0 && strcmp(by, "species") != 0;
}

void nb_shot_release_view(struct shot *shot)
{
	nb_free(shot->value);
	nb_expr_free(shot->expr);
	shot->value = NULL;
	shot->expr = NULL;
}

static void compute(void *context)
{
	struct shot *shot = context;
	shot->expr = nb_expression(shot->by);
	shot->value = nb_render_values(shot->expr, &shot->sample);
	snprintf(shot->unit, sizeof shot->unit, "%s", nb_expr_unit(shot->expr));
}

/* What is known of a text from the frames before. */
static struct note *note_of(struct host *host, uint32_t by)
{
	for (size_t k = 0; k < host->nnote; k++)
		if (host->note[k].by == by)
			return &host->note[k];
	struct note *note = &host->note[host->nnote < VIEW_NOTES ? host->nnote++ : by % VIEW_NOTES];
	*note = (struct note){.by = by};
	return note;
}

const struct note *nb_shot_note(const struct host *host, const char *by)
{
	for (uint32_t k = 0; k < host->needs.nview; k++)
		for (size_t i = 0; i < host->nnote; i++)
			if (host->note[i].by == host->needs.view[k].by && strcmp(host->needs.view[k].text, by) == 0)
				return &host->note[i];
	return NULL;
}

/* Between which numbers colours change: as found in the first frame that has a range. */
static void find_range(struct shot *shot, struct note *note)
{
	const size_t m = shot->n < 4 * SHOT_JUDGED ? shot->n : 4 * SHOT_JUDGED;
	size_t count = 0;
	if (note->fixed)
		return;
	double *x = nb_require_memory(&shot->sample, nb_alloc(m, sizeof *x));
	for (size_t i = 0; i < m; i++)
		if (isfinite(shot->value[i]) && !shot_hides(shot, i))
			x[count++] = shot->value[i];
	const double few = count <= NB_PICTURE_FEW ? 0 : 0.02;
	note->low = count ? nb_quantile(count, x, few) : 0;
	note->high = count ? nb_quantile(count, x, 1 - few) : 1;
	nb_free(x);
	note->fixed = note->high > note->low;
	if (!note->fixed) {
		note->low -= 0.5 * (note->low ? fabs(note->low) : 1);
		note->high += 0.5 * (note->high ? fabs(note->high) : 1);
	}
	note->logarithmic = note->fixed && note->low > 0 && note->high > 100 * note->low;
}

static void put_values(struct shot *shot, const struct note *note)
{
	uint16_t *to = nb_shot_block(shot, talk_column(TALK_VALUE, shot->n));
	const double low = note->logarithmic ? log(note->low) : note->low;
	const double wide = (note->logarithmic ? log(note->high) : note->high) - low;
	for (size_t i = 0; i < shot->n; i++) {
		const double x = note->logarithmic ? log(shot->value[i]) : shot->value[i], t = (x - low) / wide;
		to[i] = (uint16_t)(t > 0 ? (t < 1 ? SHOT_STEP * t + 0.5 : SHOT_STEP) : 0); /* 0 for NaN */
	}
}

void nb_shot_view(struct shot *shot, uint32_t k)
{
	const struct talk_needs *needs = &shot->host->needs;
	struct note *note = NULL;
	char wrong[600] = "";
	shot->by = needs->view[k].text;
	if (nb_shot_has_values(shot->by) && !nb_view_try(shot->host, compute, shot, wrong, sizeof wrong)) {
		note = note_of(shot->host, needs->view[k].by);
		find_range(shot, note);
		put_values(shot, note);
	}
	nb_shot_release_view(shot);
	shot->head.view[k].by = needs->view[k].by;
	shot->head.view[k].values = note != NULL;
	shot->json[k] = nb_shot_describe(shot, note, wrong, &shot->njson[k]);
	shot->head.view[k].bytes = (uint32_t)shot->njson[k];
	shot->head.nview = k + 1;
}
