/* A frame as pages get it: a sample of its bodies, in whole numbers of 16 bits. */
#include "tools/nb-view/shot.h"

#include "common/mem.h"
#include "common/timer.h"
#include "kernels/picture/picture.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Edge of the cube that positions are told in, in sizes of the picture; what lies outside is not shown. */
static const double EDGE = 4;

/* ---- numbers ------------------------------------------------------------------------------------ */

static int is_wanted(void *context, const char *name)
{
	const struct shot *shot = context;
	const uint32_t columns = shot->host->needs.columns;
	return shot->others || strcmp(name, "pos") == 0 || strcmp(name, "mass") == 0 ||
	       (strcmp(name, "vel") == 0 && shot->speed) || strcmp(name, "species") == 0 ||
	       (strcmp(name, "id") == 0 && columns & TALK_ID);
}

static const double *numbers(struct shot *shot, enum nb_field field, size_t ncomp)
{
	struct nb_column *column = nb_frame_field(&shot->sample, field);
	return column && column->ncomp == ncomp ? nb_require_f64(&shot->sample, field, &nb_space_host) : NULL;
}

/* Of a part of the points, which all are finite. */
static void find_scales(struct shot *shot)
{
	const size_t n = shot->n;
	double *pos = nb_require_memory(&shot->sample, nb_alloc(SHOT_JUDGED, 4 * sizeof *pos));
	double *mass = pos + 3 * SHOT_JUDGED, sum[3] = {0, 0, 0}, total = 0;
	size_t m = 0;
	int status = NB_OK;
	for (size_t i = 0; i < n; i++) {
		const double *x = &shot->pos[3 * i], w = shot->mass[i];
		if (!isfinite(x[0] + x[1] + x[2] + w) || shot_hides(shot, i))
			continue;
		for (size_t k = 0; k < 3; k++)
			sum[k] += w * x[k];
		total += w;
		if (m < SHOT_JUDGED) {
			memcpy(&pos[3 * m], x, 3 * sizeof *x);
			mass[m++] = w;
		}
	}
	shot->size = 1;
	if (m)
		status = nb_splat_centre_cpu(m, pos, mass, shot->centre);
	if (m && !status)
		status = nb_camera_size_cpu(m, pos, shot->centre, &shot->size);
	if (m && !status)
		status = nb_camera_densest(m, pos, NULL, shot->densest);
	nb_free(pos);
	nb_require_ok(status, &shot->sample);
	for (size_t k = 0; k < 3; k++) {
		shot->com[k] = total > 0 ? sum[k] / total : shot->centre[k];
		shot->origin[k] = shot->centre[k] - EDGE / 2 * shot->size;
	}
	shot->edge = EDGE * shot->size;
}

static void put_positions(struct shot *shot)
{
	uint16_t *to = nb_shot_block(shot, talk_column(0, shot->n));
	const double per = SHOT_STEP / shot->edge;
	for (size_t i = 0; i < shot->n; i++) {
		int inside = 1;
		for (size_t k = 0; k < 3; k++) {
			const double x = (shot->pos[3 * i + k] - shot->origin[k]) * per;
			inside &= x >= 0 && x < SHOT_STEP; /* not for NaN */
			to[3 * i + k] = (uint16_t)(inside ? x + 0.5 : 0);
		}
		for (size_t k = 0; k < 3 && !inside; k++)
			to[3 * i + k] = SHOT_STEP;
		shot->outside += !inside;
	}
}

static void put_species(struct shot *shot)
{
	for (size_t i = 0; shot->species && i < shot->n; i++)
		shot->of_species[nb_render_kind(shot->species[i])]++;
	if (!shot->species || !(shot->host->needs.columns & TALK_SPECIES))
		return;
	unsigned char *to = nb_shot_block(shot, talk_column(TALK_SPECIES, shot->n));
	for (size_t i = 0; i < shot->n; i++)
		to[i] = (unsigned char)nb_render_kind(shot->species[i]);
	shot->head.columns |= TALK_SPECIES;
}

static void put_weights(struct shot *shot)
{
	double most = 0;
	if (!(shot->host->needs.columns & TALK_WEIGHT))
		return;
	uint16_t *to = nb_shot_block(shot, talk_column(TALK_WEIGHT, shot->n));
	for (size_t i = 0; i < shot->n; i++)
		most = fmax(most, shot->mass[i]);
	shot->heaviest = most;
	for (size_t i = 0; i < shot->n; i++)
		to[i] = (uint16_t)(most > 0 ? SHOT_STEP * sqrt(shot->mass[i] / most) + 0.5 : SHOT_STEP);
	shot->head.columns |= TALK_WEIGHT;
}

static void put_ids(struct shot *shot)
{
	if (!(shot->host->needs.columns & TALK_ID) || !nb_frame_field(&shot->sample, NB_ID))
		return;
	const uint64_t *id = nb_require_ids(&shot->sample, &nb_space_host);
	memcpy(nb_shot_block(shot, talk_column(TALK_ID, shot->n)), id, shot->n * sizeof *id);
	shot->head.columns |= TALK_ID;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static void make(void *context)
{
	struct shot *shot = context;
	struct host *host = shot->host;
	const size_t n = host->frame.rows[NB_PARTICLE], most = n > VIEW_POINTS ? VIEW_SAMPLE : n;
	shot->n = host->needs.most < most ? (size_t)host->needs.most : most;
	for (uint32_t k = 0; k < host->needs.nview; k++)
		if (strcmp(host->needs.view[k].text, "speed") == 0)
			shot->speed = 1;
		else
			shot->others |= nb_shot_has_values(host->needs.view[k].text);
	nb_shot_choose_rows(host, n, shot->n);
	nb_shot_rows(host, shot->n, host->row, is_wanted, shot, &shot->sample);
	nb_require_field(&shot->sample, NB_POS);
	nb_require_field(&shot->sample, NB_MASS);
	shot->pos = nb_require_f64(&shot->sample, NB_POS, &nb_space_host);
	shot->mass = nb_require_f64(&shot->sample, NB_MASS, &nb_space_host);
	shot->species = numbers(shot, NB_SPECIES, 1);
	shot->galaxy = shot->species && nb_frame_is_galaxy(&host->frame);
	shot->head = (struct talk_frame){.number = host->number, .n = shot->n};
	find_scales(shot);
	put_positions(shot);
	put_species(shot);
	put_weights(shot);
	put_ids(shot);
	nb_view_measure(host);
	for (uint32_t k = 0; k < host->needs.nview; k++)
		nb_shot_view(shot, k);
}

int nb_view_send_frame(struct host *host)
{
	struct shot *shot = calloc(1, sizeof *shot);
	struct talk_part part[1 + 2 * TALK_VIEWS + TALK_COLUMNS + 1];
	char why[600];
	size_t n = 0;
	int status = 0;
	if (!shot)
		return 0;
	shot->host = host;
	nb_frame_init(&shot->sample);
	const double begun = nb_now(), worked = nb_view_seconds(CLOCK_THREAD_CPUTIME_ID);
	const int failed = nb_view_try(host, make, shot, why, sizeof why);
	/* who waits for a device seems to work */
	host->alone = host->now && host->now->space->device < 0 &&
		      nb_now() - begun < 1.5 * (nb_view_seconds(CLOCK_THREAD_CPUTIME_ID) - worked) + 2e-3;
	if (failed) {
		nb_warn("frame %" PRIu64 " cannot be shown: %s", host->number, why);
	} else {
		part[n++] = (struct talk_part){&shot->head, sizeof shot->head};
		for (uint32_t k = 0; k < shot->head.nview; k++)
			part[n++] = (struct talk_part){shot->json[k], shot->njson[k]};
		for (int b = 0; b < shot->nblock; b++)
			part[n++] = (struct talk_part){shot->block[b], shot->bytes[b]};
		status = nb_talk_send(host->socket, TALK_FRAME, 0, part, n);
	}
	for (uint32_t k = 0; k < TALK_VIEWS; k++)
		free(shot->json[k]);
	for (int b = 0; b < shot->nblock; b++)
		free(shot->block[b]);
	nb_shot_release_view(shot);
	nb_frame_clear(&shot->sample);
	free(shot);
	return status;
}
