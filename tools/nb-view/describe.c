/* What pages are told of a frame, and of one of its bodies. */
#include "tools/nb-view/shot.h"

#include "formats/image/image.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void write_list(FILE *to, const char *name, const double *x, size_t n)
{
	fprintf(to, ",\"%s\":[", name);
	for (size_t k = 0; k < n; k++) {
		if (k)
			putc(',', to);
		nb_talk_real(to, x[k]);
	}
	putc(']', to);
}

static void write_real(FILE *to, const char *name, double x)
{
	fprintf(to, ",\"%s\":", name);
	nb_talk_real(to, x);
}

static void write_text(FILE *to, const char *name, const char *text)
{
	fprintf(to, ",\"%s\":", name);
	nb_json_string(to, text);
}

static void write_units(FILE *to, const struct nb_frame *frame)
{
	struct unit_names unit;
	char density[NB_LABEL_SIZE];
	nb_render_unit_names(frame, &unit);
	nb_render_density_unit(&unit, "²", density);
	fputs(",\"units\":{\"length\":", to);
	nb_json_string(to, unit.length);
	write_text(to, "mass", unit.mass);
	write_text(to, "velocity", unit.velocity);
	write_text(to, "time", unit.time);
	write_text(to, "density", density);
	putc('}', to);
}

static void write_species(FILE *to, const struct shot *shot)
{
	static const char *const part[] = {"disk", "bulge", "halo", "disk 2", "bulge 2", "halo 2"};
	const int galaxy = nb_frame_is_galaxy(&shot->host->frame);
	const double share = shot->n ? (double)shot->host->frame.rows[NB_PARTICLE] / (double)shot->n : 1;
	const char *before = "";
	fputs(",\"hidden\":", to);
	fputs(galaxy && shot->species ? "[2,5]" : "[]", to);
	fputs(",\"species\":[", to);
	for (unsigned k = 0; k < 256; k++) {
		char name[24];
		if (!shot->of_species[k])
			continue;
		snprintf(name, sizeof name, "species %u", k);
		fprintf(to, "%s{\"id\":%u,\"n\":%.0f,\"colour\":\"#%06x\"", before, k,
			round(share * (double)shot->of_species[k]),
			galaxy ? nb_hue_of_component(k) : nb_hue_of_kind(k));
		write_text(to, "name", galaxy && k < 6 ? part[k] : name);
		putc('}', to);
		before = ",";
	}
	putc(']', to);
}

static void write_columns(FILE *to, const struct nb_frame *frame)
{
	const char *before = "";
	fputs(",\"columns\":[", to);
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		if (column->table != NB_PARTICLE || !nb_dtype_is_number(column->dtype))
			continue;
		fprintf(to, "%s{\"components\":%u", before, column->ncomp);
		write_text(to, "name", column->name);
		write_text(to, "unit", column->unit);
		putc('}', to);
		before = ",";
	}
	putc(']', to);
}

static void write_quantities(FILE *to, const struct host *host)
{
	const struct quantities *q = &host->quantities;
	if (q->number != host->number + 1)
		return;
	fputs(",\"stats\":{\"energy_error\":", to);
	nb_talk_real(to, q->drift);
	write_real(to, "virial", q->virial);
	write_real(to, "etot", q->etot);
	write_list(to, "lagrangian", q->radius, 3);
	putc('}', to);
}

char *nb_shot_describe(const struct shot *shot, const struct note *note, const char *wrong, size_t *bytes)
{
	const struct host *host = shot->host;
	const struct nb_frame *frame = &host->frame;
	const char *title = nb_frame_attribute(frame, "title"), *names = nb_frame_attribute(frame, "names");
	double time = 0;
	char *text = NULL;
	FILE *to = open_memstream(&text, bytes);
	if (!to)
		nb_die(NB_EXIT_FAILED, "out of memory");
	(void)!nb_frame_attribute_f64(frame, "time", 0, &time);
	fprintf(to, "{\"frame\":%" PRIu64 ",\"n\":%" PRIu64 ",\"sent\":%zu,\"outside\":%zu,\"ended\":%d,\"drawn\":%d",
		host->number, frame->rows[NB_PARTICLE], shot->n, shot->outside, host->ended,
		frame->rows[NB_PARTICLE] > VIEW_POINTS);
	write_real(to, "time", time);
	write_real(to, "redshift", nb_render_redshift(frame));
	write_real(to, "box", nb_box_of(frame));
	write_real(to, "walls", nb_render_walls_of(shot->n, shot->pos, nb_box_of(frame)));
	write_text(to, "title", title ? title : "");
	if (names && frame->rows[NB_PARTICLE] <= NB_PICTURE_MANY)
		write_text(to, "names", names);
	write_units(to, frame);
	write_list(to, "centre", shot->centre, 3);
	write_list(to, "densest", shot->densest, 3);
	write_list(to, "com", shot->com, 3);
	write_real(to, "size", shot->size);
	write_list(to, "scale", (const double[]){shot->origin[0], shot->origin[1], shot->origin[2], shot->edge}, 4);
	write_real(to, "heaviest", shot->heaviest);
	write_text(to, "by", shot->by);
	if (wrong && *wrong)
		write_text(to, "wrong", wrong);
	if (note) {
		char unit[NB_UNIT_SIZE + 1];
		nb_render_value_unit(frame, shot->unit, unit);
		write_list(to, "range", (const double[]){note->low, note->high}, 2);
		fprintf(to, ",\"log\":%d", note->logarithmic);
		write_text(to, "unit", unit);
	}
	write_species(to, shot);
	write_quantities(to, host);
	write_columns(to, frame);
	putc('}', to);
	if (fclose(to) || !text)
		nb_die(NB_EXIT_FAILED, "out of memory");
	return text;
}

/* ---- a body ------------------------------------------------------------------------------------- */

struct body {
	struct host *host;
	uint64_t index;
	struct nb_frame row;
	char *text;
	size_t bytes;
	FILE *to;
};

static int is_any(void *context, const char *name)
{
	(void)context;
	(void)name;
	return 1;
}

/* JavaScript has no whole numbers above 2^53. */
static void write_whole(FILE *to, uint64_t x)
{
	fprintf(to, x >> 53 ? "\"%" PRIu64 "\"" : "%" PRIu64, x);
}

static void write_values(FILE *to, struct nb_column *column)
{
	const uint64_t *whole = column->dtype[1] == 'u' ? nb_column_read(column, &nb_space_host, NB_AS_U64) : NULL;
	const double *real = whole ? NULL : nb_column_read(column, &nb_space_host, NB_AS_F64);
	for (uint32_t k = 0; k < column->ncomp; k++) {
		if (k)
			putc(',', to);
		if (whole)
			write_whole(to, whole[k]);
		else
			nb_talk_real(to, real ? real[k] : NAN);
	}
}

static void find_body(void *context)
{
	struct body *body = context;
	struct host *host = body->host;
	const char *before = "";
	if (!host->row || body->index >= host->nrow || !host->has_frame)
		nb_die(NB_EXIT_FAILED, "no such body");
	const uint32_t row = host->row[body->index];
	nb_shot_rows(host, 1, &row, is_any, NULL, &body->row);
	double time = 0;
	(void)!nb_frame_attribute_f64(&host->frame, "time", 0, &time);
	fprintf(body->to, "{\"frame\":%" PRIu64 ",\"row\":%" PRIu32, host->number, row);
	write_real(body->to, "time", time);
	fputs(",\"columns\":[", body->to);
	for (size_t c = 0; c < body->row.ncolumn; c++) {
		struct nb_column *column = &body->row.column[c];
		if (!nb_dtype_is_number(column->dtype))
			continue;
		fprintf(body->to, "%s{\"values\":[", before);
		write_values(body->to, column);
		putc(']', body->to);
		write_text(body->to, "name", column->name);
		write_text(body->to, "unit", column->unit);
		putc('}', body->to);
		before = ",";
	}
	fputs("]}", body->to);
}

int nb_view_send_body(struct host *host, uint32_t request, const struct talk_ask *ask)
{
	struct body body = {.host = host, .index = ask->index};
	char why[300];
	nb_frame_init(&body.row);
	body.to = open_memstream(&body.text, &body.bytes);
	if (!body.to)
		return 0;
	if (nb_view_try(host, find_body, &body, why, sizeof why)) {
		rewind(body.to);
		fputs("{\"wrong\":", body.to);
		nb_json_string(body.to, why);
		putc('}', body.to);
	}
	nb_frame_clear(&body.row);
	if (fclose(body.to))
		return 0;
	const struct talk_part part = {body.text, body.bytes};
	const int status = nb_talk_send(host->socket, TALK_BODY, request, &part, 1);
	free(body.text);
	return status;
}
