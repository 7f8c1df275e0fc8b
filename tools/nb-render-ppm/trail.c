/* nb-render-ppm: where the bodies have been. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = 1 << 22, PIECES = 16 };

/* Of its full colour, what a trail has where it begins. */
#define TRAIL_LIGHT 0.75

struct point {
	uint64_t id;
	double at[2][3]; /* position and velocity */
	float hue[3];	 /* not of BY_DENSITY */
};

/* The bodies of one frame, by id. */
struct moment {
	double time;
	size_t n;
	int moves; /* velocities are there */
	struct point *point;
};

/* A place on the way of a body. */
struct mark {
	double pos[3], age;
	float hue[3];
};

struct trail {
	double box, walls;	/* edge of the periodic box, and again if the bodies are in it; 0: none */
	int count;		/* moments, the newest first */
	struct moment moment[]; /* as many as the option says, and one */
};

void nb_render_release_trail(struct render *r)
{
	for (int k = 0; r->trails && k < r->trails->count; k++)
		nb_free(r->trails->moment[k].point);
	nb_free(r->trails);
	r->trails = NULL;
}

/* ---- what is noted -------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const uint64_t x = ((const struct point *)a)->id, y = ((const struct point *)b)->id;
	return (x > y) - (x < y);
}

static void set_vectors(const struct render *r, struct moment *m, enum nb_field field, size_t offset)
{
	double *number = nb_render_numbers(r, nb_require_field(r->bodies.frame, field));
	for (size_t i = 0; i < m->n; i++)
		memcpy((char *)&m->point[i] + offset, &number[3 * i], 3 * sizeof *number);
	nb_free(number);
}

static void set_hues(const struct render *r, struct moment *m)
{
	float *hue = nb_require_memory(r->bodies.frame, nb_alloc(m->n, 3 * sizeof *hue));
	nb_render_hues_of_bodies(r, hue);
	for (size_t i = 0; i < m->n; i++)
		memcpy(m->point[i].hue, &hue[3 * i], sizeof m->point[i].hue);
	nb_free(hue);
}

/* The place for a new moment, the oldest one having gone. */
static struct moment *make_room(struct render *r)
{
	struct trail *t = r->trails;
	const size_t size = sizeof *t + ((size_t)r->trail + 1) * sizeof *t->moment;
	if (!t)
		t = r->trails = nb_require_memory(r->bodies.frame, nb_alloc_zero(1, size));
	if (t->count == r->trail + 1)
		nb_free(t->moment[--t->count].point);
	memmove(&t->moment[1], &t->moment[0], (size_t)t->count * sizeof *t->moment);
	memset(&t->moment[0], 0, sizeof *t->moment);
	t->count++;
	return &t->moment[0];
}

static void note(struct render *r)
{
	const struct nb_frame *frame = r->bodies.frame;
	const size_t n = r->bodies.n;
	if (n > (size_t)MAX_POINTS / ((size_t)r->trail + 1))
		nb_die(NB_EXIT_FAILED,
			"trails of %d frames of %zu bodies are too long in frame %" PRIu64 " (want at most %d points)",
			r->trail, n, frame->number, MAX_POINTS);
	const uint64_t *id = nb_require_ids(frame, &nb_space_host);
	struct moment *m = make_room(r);
	m->point = nb_require_memory(frame, nb_alloc_zero(n, sizeof *m->point));
	m->n = n;
	m->time = nb_require_attribute(frame, "time", 0);
	m->moves = nb_frame_field(frame, NB_VEL) != NULL;
	for (size_t i = 0; i < n; i++) {
		const size_t row = r->bodies.row ? r->bodies.row[i] : i;
		m->point[i].id = id ? id[row] : row;
	}
	set_vectors(r, m, NB_POS, offsetof(struct point, at[0]));
	if (m->moves)
		set_vectors(r, m, NB_VEL, offsetof(struct point, at[1]));
	if (r->by != BY_DENSITY && n > 0)
		set_hues(r, m);
	qsort(m->point, n, sizeof *m->point, by_id);
}

/* ---- what is drawn -------------------------------------------------------------------------------- */

static void light_of(const struct render *r, const float hue[3], double age, float rgb[3])
{
	const double light = fmax(1 - age / r->trail, 0) * TRAIL_LIGHT;
	if (r->by == BY_DENSITY)
		nb_render_colour_of_density(r, (float)light, rgb);
	else
		nb_render_colour_of_hue(r, hue, 0.7f * (float)light, rgb); /* no white in it */
}

static void project(const struct nb_camera *c, const double pos[3], struct nb_line_end *end)
{
	end->x = c->width / 2.0;
	end->y = c->height / 2.0;
	for (int k = 0; k < 3; k++) {
		end->x += (pos[k] - c->centre[k]) * c->right[k] * c->pixels_per_length;
		end->y -= (pos[k] - c->centre[k]) * c->up[k] * c->pixels_per_length;
	}
}

int nb_render_way_is_smooth(const double from[2][3], const double to[2][3], double dt)
{
	double way = 0, miss = 0;
	for (int k = 0; k < 3; k++) {
		const double d = to[0][k] - from[0][k];
		way = hypot(way, d);
		miss = hypot(miss, d - dt * (from[1][k] / 2 + to[1][k] / 2));
	}
	return miss <= way / 2;
}

void nb_render_way_at(const double from[2][3], const double to[2][3], double dt, double t, double pos[3])
{
	const double s = 1 - t;
	for (int k = 0; k < 3; k++)
		pos[k] = s * s * (1 + 2 * t) * from[0][k] + t * t * (1 + 2 * s) * to[0][k] +
			 s * t * dt * (s * from[1][k] - t * to[1][k]);
}

/* At part t of a straight piece. */
static struct mark mark_between(const struct mark piece[2], double t)
{
	struct mark m = {.age = (1 - t) * piece[0].age + t * piece[1].age};
	for (int k = 0; k < 3; k++) {
		m.pos[k] = (1 - t) * piece[0].pos[k] + t * piece[1].pos[k];
		m.hue[k] = (float)(1 - t) * piece[0].hue[k] + (float)t * piece[1].hue[k];
	}
	return m;
}

/* Straight, but cut at each wall, behind which it goes on at the opposite one. */
static void draw_piece(struct render *r, const struct mark piece[2])
{
	const double walls = r->trails->walls;
	double cut[3] = {0, 0, 0};
	for (int k = 0; k < 3 && walls > 0; k++) {
		const double from = piece[0].pos[k], to = piece[1].pos[k], wall = walls * floor(fmax(from, to) / walls);
		if (fmin(from, to) < wall)
			cut[k] = (wall - from) / (to - from);
	}
	for (double t = 0, next; t < 1; t = next) {
		struct nb_line_end end[2];
		next = 1;
		for (int k = 0; k < 3; k++)
			next = cut[k] > t ? fmin(next, cut[k]) : next;
		const struct mark middle = mark_between(piece, (t + next) / 2);
		for (int e = 0; e < 2; e++) {
			struct mark m = mark_between(piece, e ? next : t);
			for (int k = 0; k < 3 && walls > 0; k++)
				m.pos[k] -= walls * floor(middle.pos[k] / walls);
			project(&r->scene.camera, m.pos, &end[e]);
			light_of(r, m.hue, m.age, end[e].rgb);
		}
		nb_line_draw(r->canvas.rgb, r->width, r->height, end, fmax(r->height / 360.0, 1.5));
	}
}

static void draw_way(struct render *r, const struct point *from, const struct point *to, double dt, int smooth, int age)
{
	struct point end = *to;
	struct mark piece[2];
	for (int k = 0; k < 3; k++)
		end.at[0][k] = nb_render_image(from->at[0][k], to->at[0][k], r->trails->box);
	const int pieces = smooth && nb_render_way_is_smooth(from->at, end.at, dt) ? PIECES : 1;
	for (int k = 0; k <= pieces; k++) {
		const double t = (double)k / pieces;
		struct mark *m = &piece[1];
		m->age = age + 1 - t;
		nb_render_way_at(from->at, end.at, pieces > 1 ? dt : 0, t, m->pos);
		if (k == 0 || k == pieces)
			memcpy(m->pos, k ? end.at[0] : from->at[0], sizeof m->pos);
		for (int c = 0; c < 3; c++)
			m->hue[c] = (float)(1 - t) * from->hue[c] + (float)t * to->hue[c];
		if (k)
			draw_piece(r, piece);
		piece[0] = piece[1];
	}
}

/* From an older moment to the newer one, which is age frames old. */
static void draw_ways(struct render *r, const struct moment *older, const struct moment *newer, int age)
{
	const double dt = newer->time - older->time;
	const int smooth = older->moves && newer->moves && isfinite(dt);
	for (size_t i = 0, j = 0; i < older->n && j < newer->n;) {
		const struct point *from = &older->point[i], *to = &newer->point[j];
		if (from->id == to->id)
			draw_way(r, from, to, dt, smooth, age);
		i += from->id <= to->id;
		j += to->id <= from->id;
	}
}

void nb_render_trail(struct render *r)
{
	if (r->trail == 0)
		return;
	note(r);
	if (!r->scene.ready)
		return;
	struct trail *t = r->trails;
	float sky[3]; /* of no light, as the oldest trails have */
	t->box = nb_box_of(r->bodies.frame);
	t->walls = nb_render_walls(r);
	for (int k = t->count - 1; k > 0; k--)
		draw_ways(r, &t->moment[k], &t->moment[k - 1], k - 1);
	light_of(r, (const float[3]){1, 1, 1}, r->trail, sky);
	nb_render_clear_beyond_walls(r, sky);
}
