/* nb-render-ppm: pictures between the frames, and behind the last one, where the camera still moves. */
#include "common/mem.h"
#include "tools/filter/cosmology.h"
#include "tools/filter/files.h"
#include "tools/filter/interrupt.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a frame between two -------------------------------------------------------------------------- */

struct pair {
	uint64_t id;
	size_t row;
};

static int by_id(const void *a, const void *b)
{
	const uint64_t x = ((const struct pair *)a)->id, y = ((const struct pair *)b)->id;
	return (x > y) - (x < y);
}

/* The row in the later frame of each body of this one, SIZE_MAX: it is gone. */
static size_t *match(struct nb_frame *frame, struct nb_frame *later)
{
	const size_t n = frame->rows[NB_PARTICLE], m = later->rows[NB_PARTICLE];
	const uint64_t *id = nb_require_ids(frame, &nb_space_host), *other = nb_require_ids(later, &nb_space_host);
	size_t *row = nb_require_memory(frame, nb_alloc(n, sizeof *row));
	int same = n <= m;
	for (size_t i = 0; i < n; i++) {
		row[i] = i < m ? i : SIZE_MAX;
		same = same && (!id || !other || id[i] == other[i]);
	}
	if (same || !id || !other)
		return row;
	struct pair *pair = nb_require_memory(frame, nb_alloc(m, sizeof *pair));
	for (size_t j = 0; j < m; j++)
		pair[j] = (struct pair){other[j], j};
	qsort(pair, m, sizeof *pair, by_id);
	for (size_t i = 0; i < n; i++) {
		const struct pair *found = bsearch(&(struct pair){id[i], 0}, pair, m, sizeof *pair, by_id);
		row[i] = found ? found->row : SIZE_MAX;
	}
	nb_free(pair);
	return row;
}

/* Positions at t in [0, 1], in a periodic box by the nearest images; a body that is gone later goes on straight. */
static void place(struct nb_frame *frame, struct nb_frame *later, const size_t *row, double t, double *to)
{
	const struct nb_space *host = &nb_space_host;
	const double *x = nb_require_f64(frame, NB_POS, host), *x1 = nb_require_f64(later, NB_POS, host);
	const int moves = nb_frame_field(frame, NB_VEL) && nb_frame_field(later, NB_VEL);
	const double *v = moves ? nb_require_f64(frame, NB_VEL, host) : NULL;
	const double *v1 = moves ? nb_require_f64(later, NB_VEL, host) : NULL;
	const double dt = nb_require_attribute(later, "time", 0) - nb_require_attribute(frame, "time", 0);
	const double box = nb_require_attribute(frame, "box", 0);
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++) {
		const size_t j = row[i];
		double from[2][3], end[2][3];
		int within[3]; /* the walls, where what is between shall be, too */
		for (size_t k = 0; k < 3; k++) {
			const double straight = x[3 * i + k] + (moves ? dt * v[3 * i + k] : 0);
			const double last = j == SIZE_MAX ? straight : x1[3 * j + k];
			from[0][k] = x[3 * i + k];
			end[0][k] = nb_render_image(from[0][k], last, box);
			within[k] = box > 0 && fmin(from[0][k], last) >= 0 && fmax(from[0][k], last) < box;
			from[1][k] = moves ? v[3 * i + k] : 0;
			end[1][k] = moves && j != SIZE_MAX ? v1[3 * j + k] : from[1][k];
		}
		if (moves && nb_render_way_is_smooth(from, end, dt))
			nb_render_way_at(from, end, dt, t, &to[3 * i]);
		else
			for (size_t k = 0; k < 3; k++)
				to[3 * i + k] = (1 - t) * from[0][k] + t * end[0][k];
		for (size_t k = 0; k < 3; k++)
			if (within[k])
				to[3 * i + k] -= box * floor(to[3 * i + k] / box);
	}
}

/* Real numbers other than positions: straight from one to the other. */
static void mix(
	struct nb_frame *frame, struct nb_column *a, struct nb_column *b, const size_t *row, double t, double *to)
{
	const double *x = nb_require_memory(frame, nb_column_read(a, &nb_space_host, NB_AS_F64));
	const double *x1 = nb_require_memory(frame, nb_column_read(b, &nb_space_host, NB_AS_F64));
	for (size_t i = 0; i < a->rows; i++)
		for (size_t k = 0; k < a->ncomp; k++) {
			const double now = x[a->ncomp * i + k];
			to[a->ncomp * i + k] = row[i] == SIZE_MAX ? now : (1 - t) * now + t * x1[a->ncomp * row[i] + k];
		}
}

/* The bodies of frame, where and what they are between it and the later one. */
static void make_between(
	struct nb_frame *frame, struct nb_frame *later, const size_t *row, double t, struct nb_frame *to)
{
	const double time = nb_require_attribute(frame, "time", 0);
	nb_require_ok(nb_frame_share(to, frame), frame);
	nb_set_attribute_f64(to, "time", (1 - t) * time + t * nb_require_attribute(later, "time", time));
	if (nb_is_cosmological(frame) && nb_frame_attribute(frame, "redshift"))
		nb_set_attribute_f64(to, "redshift", nb_redshift_of(nb_require_attribute(to, "time", 0)));
	for (size_t c = 0; c < to->ncolumn; c++) {
		struct nb_column *column = &to->column[c], *a = nb_frame_find(frame, column->name);
		struct nb_column *b = nb_frame_find(later, column->name);
		if (column->table != NB_PARTICLE || column->dtype[1] != 'f' || !b || b->ncomp != column->ncomp ||
			b->table != NB_PARTICLE || b->dtype[1] != 'f')
			continue;
		double *number = nb_require_memory(frame, nb_column_write(column, &nb_space_host, NB_AS_F64));
		if (column->field == NB_POS)
			place(frame, later, row, t, number);
		else
			mix(frame, a, b, row, t, number);
	}
}

/* ---- a picture --------------------------------------------------------------------------------- */

static void follow_bodies(struct render *r)
{
	nb_render_move_camera(r);
	nb_render_widen_hues(r);
}

static void draw(struct render *r, struct nb_frame *frame)
{
	nb_render_steer(r, nb_require_attribute(frame, "time", 0));
	nb_render_load(r, frame);
	nb_render_load_hues(r);
	if (!r->scene.ready && r->bodies.n > 0)
		nb_render_choose_scene(r);
	else if (r->bodies.n > 0)
		follow_bodies(r);
	nb_render_paint(r);
	nb_render_watch_empty(r);
	nb_render_trail(r);
	nb_render_legend(r);
	nb_render_release_bodies(r);
	nb_render_put(r);
}

/* ---- the order of pictures ------------------------------------------------------------------------ */

static void draw_between(struct render *r, struct nb_frame *later)
{
	size_t *row = match(&r->held, later);
	for (int k = 1; k <= r->between; k++) {
		struct nb_frame frame;
		nb_frame_init(&frame);
		make_between(&r->held, later, row, (double)k / (r->between + 1), &frame);
		draw(r, &frame);
		nb_frame_clear(&frame);
	}
	nb_free(row);
}

void nb_render_begin_movie(struct nb_run *run, struct render *r)
{
	uint64_t frames;
	if (!r->moves || r->camera || r->pictures)
		return;
	if (!run->in_open || nb_files_count_frames(run, &frames))
		nb_die(NB_EXIT_USAGE, "nobody knows how many frames come through a pipe, in which the camera moves "
				      "(want --pictures N)");
	r->pictures = frames ? (frames - 1) * ((uint64_t)r->between + 1) + 1 : 0;
}

void nb_render_movie(struct render *r, struct nb_frame *frame)
{
	if (r->holds)
		draw_between(r, frame);
	draw(r, frame);
	if (!r->between && !r->moves)
		return;
	nb_require_ok(nb_frame_share(&r->held, frame), frame);
	r->holds = 1;
}

void nb_render_end_movie(struct render *r)
{
	if (!r->holds || r->output.count >= r->pictures)
		return;
	nb_interrupt_watch();
	(void)nb_interrupt_hold_input(); /* what is there shall be a film */
	while (r->output.count < r->pictures && !nb_interrupted())
		draw(r, &r->held);
}
