/* nb-render-ppm: a camera that moves, from one end of '--view A:B' and '--zoom A:B' to the other, or through the key
 * frames of a file. */
#include "common/mem.h"
#include "common/named.h"
#include "common/parse.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What moves; of zoom the logarithm. */
enum { AZIMUTH, ELEVATION, ZOOM, X, NUMBERS = X + 3, MAX_KEYS = 10000 };
struct moves {
	int n, has_centre;
	struct key {
		double time, number[NUMBERS];
	} key[]; /* times ascend */
};

/* ---- A:B ------------------------------------------------------------------------------------------ */

/* One number, or two with a colon between them, before end. */
static int parse_way(const char *at, const char *end, double way[2])
{
	char text[128];
	snprintf(text, sizeof text, "%.*s", (int)(end - at), at);
	char *gap = strchr(text, ':');
	if (gap)
		*gap = '\0';
	return nb_parse_f64(text, &way[0]) == NB_PARSE_OK && nb_parse_f64(gap ? gap + 1 : text, &way[1]) == NB_PARSE_OK;
}

static int parse_view(const char *text, double azimuth[2], double elevation[2])
{
	const int plain = strcmp(text, "xy") == 0 ? 90 : strcmp(text, "xz") == 0 || strcmp(text, "yz") == 0 ? 0 : -1;
	const char *comma = strchr(text, ',');
	azimuth[0] = azimuth[1] = *text == 'y' ? 0 : -90;
	elevation[0] = elevation[1] = plain;
	if (plain < 0 &&
		(!comma || !parse_way(text, comma, azimuth) || !parse_way(comma + 1, comma + strlen(comma), elevation)))
		return 0;
	return fabs(azimuth[0]) <= 360 && fabs(azimuth[1]) <= 360 && fabs(elevation[0]) <= 90 &&
	       fabs(elevation[1]) <= 90;
}

static int zoom_possible(double zoom)
{
	return zoom > 0 && zoom <= 1e12;
}

void nb_render_take_moves(struct render *r)
{
	double way[3][2] = {{0}};
	const char *zoom = r->zoom_word;
	if (!parse_view(r->view, way[AZIMUTH], way[ELEVATION]))
		nb_die(NB_EXIT_USAGE,
			"invalid view '%s' (want xy, xz, yz or 'azimuth,elevation' within -360..360,-90..90 degrees; "
			"0:360,25 turns)",
			r->view);
	if (!parse_way(zoom, zoom + strlen(zoom), way[ZOOM]) || !zoom_possible(way[ZOOM][0]) ||
		!zoom_possible(way[ZOOM][1]))
		nb_die(NB_EXIT_USAGE, "invalid zoom '%s' (want a number > 0 and <= 1e12, or two: 1:4)", zoom);
	nb_camera_axes(way[AZIMUTH][0], way[ELEVATION][0], r->parsed.right, r->parsed.up);
	r->zoom = way[ZOOM][0];
	int moves = 0;
	for (int k = 0; k < 3; k++)
		moves |= way[k][0] != way[k][1];
	if (!moves)
		return;
	r->moves = nb_require_memory(NULL, nb_alloc_zero(1, sizeof *r->moves + 2 * sizeof *r->moves->key));
	r->moves->n = 2;
	for (int end = 0; end < 2; end++)
		r->moves->key[end] = (struct key){end, {way[AZIMUTH][end], way[ELEVATION][end], log(way[ZOOM][end])}};
}

/* ---- key frames ----------------------------------------------------------------------------------- */

/* 1: a key frame; 0: none, as in a comment. */
static int parse_key(const struct render *r, int line, char *text, struct key *key)
{
	double number[1 + NUMBERS];
	size_t count = 0;
	char joined[512] = "";
	text[strcspn(text, "#\r\n")] = '\0';
	for (char *rest, *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
		snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", *joined ? "," : "", word);
	if (!*joined)
		return 0;
	if (nb_parse_f64_list(joined, 1 + NUMBERS, number, &count) != NB_PARSE_OK || (count != 4 && count != 7) ||
		!zoom_possible(number[3]) || !(fabs(number[2]) <= 90))
		nb_die(NB_EXIT_USAGE,
			"'%s': line %d is no key frame (want TIME AZIMUTH,ELEVATION ZOOM X,Y,Z, "
			"such as '2.5 30,20 2' with or without a centre)",
			r->camera, line);
	const int has_centre = count == 7;
	if (r->moves->n && (r->moves->has_centre != has_centre || !(number[0] > key[-1].time)))
		nb_die(NB_EXIT_USAGE, "'%s': line %d %s", r->camera, line,
			r->moves->has_centre != has_centre ? "has a centre, or none, unlike those before"
							   : "is not later than the one before");
	r->moves->has_centre = has_centre;
	number[3] = log(number[3]);
	memcpy(key, number, count * sizeof *number);
	return 1;
}

int nb_render_take_camera(struct render *r)
{
	const int fd = nb_open_named(r->camera, O_RDONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char text[512];
	if (!file)
		nb_die(NB_EXIT_FAILED, "'%s':", r->camera);
	r->moves = nb_require_memory(NULL, nb_alloc_zero(1, sizeof *r->moves + MAX_KEYS * sizeof *r->moves->key));
	for (int line = 1; fgets(text, sizeof text, file) && r->moves->n < MAX_KEYS; line++)
		r->moves->n += parse_key(r, line, text, &r->moves->key[r->moves->n]);
	const int failed = ferror(file), more = !feof(file);
	fclose(file);
	if (failed || more || r->moves->n == 0)
		nb_die(NB_EXIT_FAILED, "'%s' %s", r->camera,
			failed ? "cannot be read"
			: more ? "has more than 10000 key frames"
			       : "has no key frame");
	return r->moves->has_centre;
}

void nb_render_release_moves(struct render *r)
{
	nb_free(r->moves);
	r->moves = NULL;
}

/* ---- where it is ---------------------------------------------------------------------------------- */

/* Slope of number c at key k: no curve between two keys leaves their range, and at both ends the camera rests.  Source:
 * F. N. Fritsch and J. Butland 1984, SIAM J. Sci. Stat. Comput. 5, 300. */
static double slope_at(const struct moves *m, int k, int c)
{
	if (k == 0 || k + 1 == m->n)
		return 0;
	const struct key *key = &m->key[k];
	const double h0 = key[0].time - key[-1].time, h1 = key[1].time - key[0].time;
	const double d0 = (key[0].number[c] - key[-1].number[c]) / h0, d1 = (key[1].number[c] - key[0].number[c]) / h1;
	const double a = (h0 + 2 * h1) / (3 * (h0 + h1));
	return d0 * d1 > 0 ? d0 * d1 / (a * d1 + (1 - a) * d0) : 0;
}

/* The numbers at a time: before the first key frame and after the last the camera stands. */
static void find_numbers(const struct moves *m, double time, int smooth, double number[NUMBERS])
{
	int k = 0;
	while (k < m->n && m->key[k].time <= time)
		k++;
	const struct key *a = &m->key[k ? k - 1 : 0], *b = &m->key[k < m->n ? k : m->n - 1];
	const double h = b->time - a->time, s = h > 0 ? (time - a->time) / h : 0;
	for (int c = 0; c < NUMBERS; c++) {
		const double step = b->number[c] - a->number[c];
		number[c] = a->number[c] + s * step;
		if (smooth && h > 0)
			number[c] += s * (1 - s) *
				     ((2 * s - 1) * step + (1 - s) * h * slope_at(m, k - 1, c) -
					     s * h * slope_at(m, k, c));
	}
}

/* The end of the straight line through the last places by least squares, by the gains for n of them. */
void nb_render_steady(const struct render *r, struct steady *s, double place[3])
{
	enum { MEMORY = 16 };
	const double jump = r->scene.size / r->zoom / 4, most = MEMORY * (r->between + 1.0);
	double off[3], far = 0;
	for (int k = 0; k < 3; k++) {
		off[k] = place[k] - s->place[k] - s->step[k];
		far = hypot(far, off[k]);
	}
	s->n = s->n > 0 && far < jump ? fmin(s->n + 1, most) : 1;
	for (int k = 0; k < 3; k++) {
		const double step = s->n > 1 ? s->step[k] : 0, seen = s->n > 1 ? off[k] : 0;
		s->place[k] = place[k] - seen + 2 * (2 * s->n - 1) / (s->n * (s->n + 1)) * seen;
		s->step[k] = step + 6 / (s->n * (s->n + 1)) * seen;
		place[k] = s->place[k];
	}
}

void nb_render_steer(struct render *r, double time)
{
	const double last = (double)r->pictures - 1;
	double number[NUMBERS];
	if (!r->moves)
		return;
	find_numbers(r->moves,
		r->camera  ? time
		: last > 0 ? fmin((double)r->output.count / last, 1)
			   : 0,
		r->camera != NULL, number);
	nb_camera_axes(number[AZIMUTH], number[ELEVATION], r->parsed.right, r->parsed.up);
	r->zoom = exp(number[ZOOM]);
	if (r->moves->has_centre)
		memcpy(r->parsed.center, &number[X], sizeof r->parsed.center);
}
