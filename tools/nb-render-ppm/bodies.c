/* nb-render-ppm: the bodies of a frame that are to be drawn. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Share of the bodies that must be in their periodic box to be shown as one. */
#define LEAST_IN_BOX 0.95

unsigned nb_render_kind(double species)
{
	return species >= 0 && species < NSPECIES ? (unsigned)species : 0;
}

/* Which species of this frame to leave out; NULL: none. */
static const unsigned char *hidden_species(const struct render *r, const struct nb_frame *frame)
{
	static const unsigned char halos[NSPECIES] = {[2] = 1, [5] = 1};
	if (r->hide || r->only)
		return r->hide && strcmp(r->hide, "none") == 0 ? NULL : r->parsed.hidden;
	/* the dark halo of nb-gen's galaxies, which would outshine the stars */
	if (!nb_frame_is_galaxy(frame) || !nb_frame_field(frame, NB_SPECIES))
		return NULL;
	return halos;
}

/* Copies the rows of all arrays to r->bodies.kept. */
static int keep(struct render *r, const uint32_t *row, size_t count)
{
	struct bodies *b = &r->bodies;
	const struct nb_space *space = r->backend->space;
	const struct {
		const double **field;
		size_t ncomp;
	} part[] = {{&b->mass, 1}, {&b->pos, 3}, {&b->vel, 3}, {&b->radius, 1}, {&b->species, 1}};
	double *at = b->kept = space->alloc(space, count * 9 * sizeof *at);
	if (!at)
		return nb_space_status();
	b->n = count;
	for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
		if (!*part[k].field)
			continue;
		int status = r->backend->permute(count, row, part[k].ncomp * sizeof *at, *part[k].field, at);
		if (status)
			return status;
		*part[k].field = at;
		at += part[k].ncomp * count;
	}
	return NB_OK;
}

static void drop_hidden(struct render *r, const unsigned char hidden[NSPECIES])
{
	const struct bodies *b = &r->bodies;
	const struct nb_space *space = r->backend->space;
	uint32_t *row = b->n <= SIZE_MAX / sizeof *row ? space->alloc(space, b->n * sizeof *row) : NULL;
	size_t count;
	int status = row ? r->backend->splat_visible(b->n, b->species, hidden, row, &count) : nb_space_status();
	if (!status) {
		r->bodies.row = nb_alloc(count, sizeof *row);
		status = r->bodies.row ? space->to_host(space, r->bodies.row, row, count * sizeof *row) : NB_ENOMEM;
	}
	if (!status)
		status = keep(r, row, count);
	if (row)
		space->release(space, row);
	nb_render_require_ok(r, status);
}

void nb_render_load(struct render *r, struct nb_frame *frame)
{
	const unsigned char *hidden = hidden_species(r, frame);
	const struct nb_space *space = r->backend->space;
	struct bodies *b = &r->bodies;
	nb_render_release_bodies(r);
	b->frame = frame;
	b->n = frame->rows[NB_PARTICLE];
	nb_require_valid(frame);
	b->pos = nb_require_f64(frame, NB_POS, space);
	b->mass = nb_require_f64(frame, NB_MASS, space);
	if (r->by == BY_SPEED)
		b->vel = nb_require_f64(frame, NB_VEL, space);
	if (r->by == BY_SPECIES || hidden)
		b->species = nb_require_f64(frame, NB_SPECIES, space);
	if (nb_frame_field(frame, NB_RADIUS))
		b->radius = nb_require_f64(frame, NB_RADIUS, space);
	if (hidden)
		drop_hidden(r, hidden);
}

double *nb_render_numbers(const struct render *r, struct nb_column *column)
{
	const struct bodies *b = &r->bodies;
	const size_t ncomp = column->ncomp;
	if (column->table != NB_PARTICLE || !nb_dtype_is_number(column->dtype))
		nb_die(NB_EXIT_FAILED, "field '%s' has no numbers of bodies in frame %" PRIu64, column->name,
			b->frame->number);
	const double *all = nb_column_read(column, &nb_space_host, NB_AS_F64);
	double *number = nb_require_memory(b->frame, all ? nb_alloc(b->n, ncomp * sizeof *number) : NULL);
	for (size_t i = 0; i < b->n; i++)
		memcpy(&number[ncomp * i], &all[ncomp * (b->row ? b->row[i] : i)], ncomp * sizeof *number);
	return number;
}

enum { SAMPLE = 4096 };

/* Positions of some of the bodies, all of them if they are few; returns how many. */
static size_t sample(const struct render *r, double pos[3 * SAMPLE])
{
	const struct bodies *b = &r->bodies;
	const struct nb_space *space = r->backend->space;
	const size_t n = b->n < SAMPLE ? b->n : SAMPLE, bytes = 3 * SAMPLE * sizeof *pos;
	uint32_t row[SAMPLE];
	for (size_t i = 0; i < n; i++)
		row[i] = (uint32_t)(i * b->n / n);
	double *block = nb_require_memory(b->frame, space->alloc(space, bytes + sizeof row));
	uint32_t *rows = (uint32_t *)(block + 3 * SAMPLE);
	int status = space->from_host(space, rows, row, n * sizeof *row);
	if (!status)
		status = r->backend->permute(n, rows, 3 * sizeof *pos, b->pos, block);
	if (!status)
		status = space->to_host(space, pos, block, 3 * n * sizeof *pos);
	space->release(space, block);
	nb_render_require_ok(r, status);
	return n;
}

double nb_render_walls_of(size_t n, const double *pos, double box)
{
	double inside = 0;
	for (size_t i = 0; box > 0 && i < n; i++) {
		const double *x = &pos[3 * i];
		inside += fmin(fmin(x[0], x[1]), x[2]) >= 0 && fmax(fmax(x[0], x[1]), x[2]) <= box;
	}
	return n > 0 && inside / (double)n >= LEAST_IN_BOX ? box : 0;
}

double nb_render_walls(const struct render *r)
{
	const double box = nb_box_of(r->bodies.frame);
	double pos[3 * SAMPLE];
	return box > 0 && r->bodies.n > 0 ? nb_render_walls_of(sample(r, pos), pos, box) : 0;
}

double nb_render_share_outside(const struct render *r)
{
	double pos[3 * SAMPLE], outside = 0;
	float x[SAMPLE], y[SAMPLE];
	const size_t n = sample(r, pos);
	nb_render_require_ok(r, nb_splat_project_cpu(n, pos, &r->scene.camera, x, y));
	for (size_t i = 0; i < n; i++)
		outside += !(x[i] >= 0 && x[i] < (float)r->width && y[i] >= 0 && y[i] < (float)r->height);
	return outside / (double)n;
}

void nb_render_release_bodies(struct render *r)
{
	if (r->bodies.kept)
		r->backend->space->release(r->backend->space, r->bodies.kept);
	nb_free_all(r->bodies.row, r->bodies.value, r->bodies.colour);
	memset(&r->bodies, 0, sizeof r->bodies);
}

void nb_render_require_ok(const struct render *r, int status)
{
	if (status)
		nb_die(NB_EXIT_FAILED, "cannot draw frame %" PRIu64 ": %s", r->bodies.frame->number,
			nb_backend_error(r->backend, status));
}

int nb_render_channels(const struct render *r)
{
	return r->by == BY_DENSITY ? 1 : r->by == BY_SPEED || r->by == BY_COLUMN ? 2 : 4;
}
