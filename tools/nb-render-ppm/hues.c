/* nb-render-ppm: what the colour of a body shows. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

uint32_t nb_render_hue_of_kind(const struct render *r, unsigned kind)
{
	return nb_frame_is_galaxy(r->bodies.frame) ? nb_hue_of_component(kind) : nb_hue_of_kind(kind);
}

/* ---- what a frame has ----------------------------------------------------------------------------- */

static struct nb_column *require_column(const struct render *r, const char *name)
{
	const struct nb_frame *frame = r->bodies.frame;
	struct nb_column *column = nb_frame_find(frame, name);
	char list[512];
	if (!column)
		nb_die(NB_EXIT_FAILED, "field '%s' missing in frame %" PRIu64 " (stream has: %s)", name, frame->number,
			nb_frame_list(frame, list, sizeof list));
	return column;
}

double *nb_render_values(struct nb_expr *expr, struct nb_frame *frame)
{
	const size_t n = frame->rows[NB_PARTICLE];
	struct nb_scope scope = {.frame = frame, .also = "density|species|colour|id"};
	struct nb_expr_error error;
	if (nb_expr_bind(expr, n, 0, nb_scope_find, &scope, &error))
		nb_expression_failed(expr, frame, &error);
	if (nb_expr_kind(expr) == NB_EXPR_CONDITION || nb_expr_kind(expr) == NB_EXPR_TEXT)
		nb_die(NB_EXIT_FAILED, "'%.300s' is not a number (such as 'vy' or 'v2/2')", nb_expr_source(expr));
	double *value = nb_require_memory(frame, nb_alloc(n, 2 * sizeof *value)), *part = value + n;
	for (uint32_t k = 0; k < nb_expr_ncomp(expr); k++) {
		if (nb_expr_values(expr, 0, n, k, NB_ITEM_F64, part, sizeof *part, &error))
			nb_expression_failed(expr, frame, &error);
		for (size_t i = 0; i < n; i++)
			value[i] = k ? hypot(value[i], part[i]) : part[i];
	}
	return value;
}

/* The numbers of a column, or of an expression, of the bodies that are drawn; of a vector its length. */
static void load_values(struct render *r)
{
	struct bodies *b = &r->bodies;
	struct nb_column *column = nb_frame_find(b->frame, r->column);
	const size_t ncomp = column ? column->ncomp : 1;
	if (!column && !r->expression)
		nb_die(NB_EXIT_USAGE, "invalid by '%.300s' (no column in frame %" PRIu64 " has that name, and: %s)",
			r->column, b->frame->number, r->wrong.text);
	b->value = column ? nb_render_numbers(r, column) : nb_render_values(r->expression, b->frame);
	for (size_t i = 0; !column && b->row && i < b->n; i++) /* rows ascend */
		b->value[i] = b->value[b->row[i]];
	for (size_t i = 0; ncomp > 1 && i < b->n; i++) {
		double length = 0;
		for (size_t k = 0; k < ncomp; k++)
			length = hypot(length, b->value[ncomp * i + k]);
		b->value[i] = length; /* in place: what is overwritten has been read */
	}
}

static void load_colours(struct render *r)
{
	struct bodies *b = &r->bodies;
	struct nb_column *column = require_column(r, "colour");
	if (column->ncomp != 3 || strcmp(column->dtype, "|u1") != 0)
		nb_die(NB_EXIT_FAILED,
			"field 'colour' is %u x %s in frame %" PRIu64 " (want 3 x |u1: red, green, blue)",
			column->ncomp, column->dtype, b->frame->number);
	double *number = nb_render_numbers(r, column);
	b->colour = nb_alloc(b->n, 3);
	for (size_t i = 0; b->colour && i < 3 * b->n; i++)
		b->colour[i] = (uint8_t)number[i];
	nb_free(number);
	if (!b->colour)
		nb_out_of_memory(b->frame);
}

static void load_ids(struct render *r)
{
	struct bodies *b = &r->bodies;
	require_column(r, "id");
	const uint64_t *id = nb_require_ids(b->frame, &nb_space_host);
	b->colour = nb_require_memory(b->frame, nb_alloc(b->n, 3));
	for (size_t i = 0; i < b->n; i++) {
		const uint32_t rgb = nb_hue_of_kind((unsigned)(id[b->row ? b->row[i] : i] % NB_HUE_KINDS));
		for (int k = 0; k < 3; k++)
			b->colour[3 * i + (size_t)k] = (uint8_t)(rgb >> (16 - 8 * k) & 255);
	}
}

void nb_render_load_hues(struct render *r)
{
	if (r->by == BY_COLUMN)
		load_values(r);
	else if (r->by == BY_COLOUR)
		load_colours(r);
	else if (r->by == BY_ID)
		load_ids(r);
}

/* ---- range ---------------------------------------------------------------------------------------- */

/* Speeds, or the numbers of a column or an expression, in ascending order: those that few do not exceed, or fall below.
 * Returns how many there are. */
static size_t find_range(const struct render *r, double end[2])
{
	const struct bodies *b = &r->bodies;
	double *vel = r->by == BY_SPEED ? nb_render_numbers(r, nb_require_field(b->frame, NB_VEL)) : NULL;
	double *x = nb_require_memory(b->frame, nb_alloc(b->n, sizeof *x));
	size_t count = 0;
	for (size_t i = 0; i < b->n; i++) {
		const double value = vel ? hypot(hypot(vel[3 * i], vel[3 * i + 1]), vel[3 * i + 2]) : b->value[i];
		if (isfinite(value) && (!r->log_scale || value > 0))
			x[count++] = value;
	}
	const double few = count <= NB_PICTURE_FEW ? 0 : 0.02;
	end[0] = count ? nb_quantile(count, x, few) : 1;
	end[1] = count ? nb_quantile(count, x, 1 - few) : 1;
	nb_free_all(x, vel);
	return count;
}

static void choose_column_range(struct render *r, const double end[2])
{
	struct scene *scene = &r->scene;
	scene->slow = end[0];
	scene->fast = end[1];
	if (scene->flat) { /* the middle of the scale */
		const double middle = scene->slow, wide = r->log_scale || middle == 0 ? 1 : fabs(middle) / 2;
		scene->slow = r->log_scale ? middle / 2 : middle - wide;
		scene->fast = r->log_scale ? middle * 2 : middle + wide;
	}
}

void nb_render_choose_hues(struct render *r)
{
	struct scene *scene = &r->scene;
	const struct bodies *b = &r->bodies;
	double end[2];
	if (r->speeds || r->hues) {
		scene->slow = r->parsed.hues[0];
		scene->fast = r->parsed.hues[1];
		return;
	}
	if (find_range(r, end) == 0)
		nb_die(NB_EXIT_FAILED, "field '%s' has no number%s in frame %" PRIu64, r->column,
			r->log_scale ? " above 0 for a logarithmic scale" : "", b->frame->number);
	scene->flat = !(end[1] > end[0]);
	if (r->by == BY_SPEED)
		nb_render_require_ok(r, r->backend->exposure_speeds(b->n, b->vel, &scene->slow, &scene->fast));
	else
		choose_column_range(r, end);
}

/* A collapse begins at rest: the range is that of the first frame that has one, and grows with those that follow. */
void nb_render_widen_hues(struct render *r)
{
	enum { WIDENS = 2 };
	struct scene *scene = &r->scene;
	double end[2];
	if (!scene->flat || find_range(r, end) == 0 || (scene->flat != WIDENS && !(end[1] > end[0])))
		return;
	scene->slow = scene->flat == WIDENS ? fmin(scene->slow, end[0]) : end[0];
	scene->fast = scene->flat == WIDENS ? fmax(scene->fast, end[1]) : end[1];
	scene->flat = WIDENS;
}

double nb_render_hue_at(const struct render *r, double value)
{
	const double slow = r->scene.slow, fast = r->scene.fast;
	double t;
	if (r->log_scale)
		t = value > 0 ? log(value / slow) / log(fast / slow) : 0;
	else
		t = (value / 2 - slow / 2) / (fast / 2 - slow / 2); /* halves, against overflow */
	return t > 0 ? (t < 1 ? t : 1) : 0;
}

void nb_render_hue(const struct render *r, float at, float hue[3])
{
	if (!r->colormap_given) {
		nb_hue_of_speed(at, hue);
		return;
	}
	nb_colormap_at(nb_colormap_table((enum nb_colormap)r->colormap), at, hue);
	nb_hue_brighten(hue);
}

/* ---- weights and hues ----------------------------------------------------------------------------- */

static int tint_by_species(const struct render *r, float *weight)
{
	uint32_t colour[NSPECIES];
	for (unsigned kind = 0; kind < NSPECIES; kind++)
		colour[kind] = nb_render_hue_of_kind(r, kind);
	return r->backend->splat_colour_weights(r->bodies.n, r->bodies.species, colour, weight);
}

/* In host memory. */
static void tint(const struct render *r, float *weight)
{
	const struct bodies *b = &r->bodies;
	for (size_t i = 0; i < b->n; i++)
		if (b->value) {
			weight[2 * i + 1] = weight[2 * i] * (float)nb_render_hue_at(r, b->value[i]);
		} else {
			for (size_t k = 0; k < 3; k++)
				weight[4 * i + 1 + k] = weight[4 * i] * (float)b->colour[3 * i + k] / 255;
		}
}

int nb_render_tint(struct render *r, float *weight)
{
	const struct bodies *b = &r->bodies;
	const struct nb_space *space = r->backend->space;
	const size_t bytes = b->n * (size_t)nb_render_channels(r) * sizeof *weight;
	if (r->by == BY_SPEED)
		return r->backend->splat_speed_weights(
			b->n, b->vel, r->scene.slow, r->scene.fast, nb_render_channels(r), weight);
	if (r->by == BY_SPECIES)
		return tint_by_species(r, weight);
	float *host = nb_alloc(bytes, 1);
	if (!host)
		return NB_ENOMEM;
	int status = space->to_host(space, host, weight, bytes);
	if (!status) {
		tint(r, host);
		status = space->from_host(space, weight, host, bytes);
	}
	nb_free(host);
	return status;
}

void nb_render_hues_of_bodies(const struct render *r, float *hue)
{
	const struct bodies *b = &r->bodies;
	double *number = NULL;
	if (r->by == BY_SPECIES || r->by == BY_SPEED)
		number = nb_render_numbers(r, nb_require_field(b->frame, r->by == BY_SPEED ? NB_VEL : NB_SPECIES));
	for (size_t i = 0; i < b->n; i++) {
		float *h = &hue[3 * i];
		if (r->by == BY_SPEED || r->by == BY_COLUMN) {
			const double *v = &number[3 * i];
			const double value = number ? hypot(hypot(v[0], v[1]), v[2]) : b->value[i];
			nb_render_hue(r, (float)nb_render_hue_at(r, value), h);
			continue;
		}
		const uint32_t rgb = number ? nb_render_hue_of_kind(r, nb_render_kind(number[i])) : 0;
		for (int k = 0; k < 3; k++)
			h[k] = number ? (float)(rgb >> (16 - 8 * k) & 255) : (float)b->colour[3 * i + (size_t)k];
		nb_hue_brighten(h);
	}
	nb_free(number);
}
