/* The tree of boxes around the paths of bodies (collide_cpu.c). */
#include "kernels/motion/collide_work_internal.h"

#include <string.h>

/* Around what is left of the path, with room for the rounding errors of nb_path_contact. */
static struct box path_box(const struct nb_path *path)
{
	struct box box = {{0}};
	double size = path->r, from[3];
	nb_path_place(path, path->t, from);
	for (int k = 0; k < 3; k++)
		size += fabs(path->q[k]) + fabs(path->u[k]);
	const double r = path->r + size * 0x1p-46;
	for (int k = 0; k < 3; k++) {
		const double to = path->q[k] + path->u[k];
		box.c[k] = fmin(from[k], to) - r;
		box.c[3 + k] = -fmax(from[k], to) - r;
	}
	return box;
}

static void set_lane(struct leaf *leaf, unsigned lane, const struct box *box)
{
	for (int k = 0; k < 6; k++)
		leaf->c[k][lane] = box->c[k];
}

static const struct box nowhere = {{INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}};

static void fit_leaf(struct nb_collide_work *w, size_t l)
{
	struct box all = nowhere;
	for (unsigned lane = 0; lane < LANES; lane++) {
		const size_t a = l * LANES + lane;
		const struct box box = a < w->x.c->n ? path_box(&w->x.path[a]) : nowhere;
		set_lane(&w->leaf[l], lane, &box);
		for (int k = 0; k < 6; k++)
			all.c[k] = fmin(all.c[k], box.c[k]);
	}
	w->node[w->top + l] = all;
}

static inline struct box joined(const struct box *a, const struct box *b)
{
	struct box both = {{0}};
	for (int k = 0; k < 6; k++)
		both.c[k] = a->c[k] < b->c[k] ? a->c[k] : b->c[k];
	return both;
}

void nb_collide_fit_all(struct nb_collide_work *w)
{
#pragma omp parallel for schedule(static) if (w->x.c->n > NB_COLLIDE_PARALLEL)
	for (size_t l = 0; l < w->top; l++) {
		if (l < w->nleaf)
			fit_leaf(w, l);
		else
			w->node[w->top + l] = nowhere;
	}
	for (size_t level = w->top / 2; level > 0; level /= 2) {
#pragma omp parallel for schedule(static) if (level > NB_COLLIDE_PARALLEL)
		for (size_t i = level; i < 2 * level; i++)
			w->node[i] = joined(&w->node[2 * i], &w->node[2 * i + 1]);
	}
}

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void label_leaf(struct nb_collide_work *w, size_t l)
{
	const size_t end = (l + 1) * LANES < w->x.c->n ? (l + 1) * LANES : w->x.c->n;
	uint64_t least = LAST;
	for (size_t a = l * LANES; a < end; a++)
		least = smaller(least, w->label[a]);
	w->least[w->top + l] = least;
}

static void set_course(struct nb_collide_work *w, uint32_t a)
{
	const struct nb_path *path = &w->x.path[a];
	struct course *course = &w->course[a / LANES];
	for (int k = 0; k < 3; k++) {
		course->q[k][a % LANES] = path->q[k];
		course->u[k][a % LANES] = path->u[k];
	}
	course->t[a % LANES] = path->t;
}

void nb_collide_label_all(struct nb_collide_work *w)
{
	const uint64_t *id = w->x.c->id;
	for (uint32_t a = 0; a < w->x.c->n; a++) {
		const uint32_t row = w->x.mark[a].row;
		w->label[a] = !nb_collide_may_touch(&w->x, a) ? LAST : id ? id[row] : row;
		set_course(w, a);
	}
	for (size_t l = 0; l < w->top; l++)
		label_leaf(w, l);
	for (size_t i = w->top - 1; i > 0; i--)
		w->least[i] = smaller(w->least[2 * i], w->least[2 * i + 1]);
	w->labelled = 1;
}

/* After the body has had its last contact: nothing finds it any more. */
static void leave(struct nb_collide_work *w, uint32_t a)
{
	w->label[a] = LAST;
	size_t i = w->top + a / LANES;
	label_leaf(w, a / LANES);
	for (i /= 2; i > 0; i /= 2)
		w->least[i] = smaller(w->least[2 * i], w->least[2 * i + 1]);
}

void nb_collide_fit_one(struct nb_collide_work *w, uint32_t a)
{
	const int touches = nb_collide_may_touch(&w->x, a);
	const struct box box = touches ? path_box(&w->x.path[a]) : nowhere;
	struct leaf *leaf = &w->leaf[a / LANES];
	size_t i = w->top + a / LANES;
	set_lane(leaf, a % LANES, &box);
	w->node[i] = nowhere;
	for (unsigned lane = 0; lane < LANES; lane++) {
		const struct box other = nb_collide_lane_box(leaf, lane);
		w->node[i] = joined(&w->node[i], &other);
	}
	if (w->labelled) {
		set_course(w, a);
		if (!touches)
			leave(w, a);
	}
	for (i /= 2; i > 0; i /= 2) {
		const struct box both = joined(&w->node[2 * i], &w->node[2 * i + 1]);
		if (memcmp(&both, &w->node[i], sizeof both) == 0)
			break;
		w->node[i] = both;
	}
}
