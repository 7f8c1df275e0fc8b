/* The work on a frame: bodies are painted, meshes transformed, modes summed over shells. */
#include "tools/nb-power/power.h"

#include "common/mem.h"
#include "common/timer.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>

struct nb_power_bodies nb_power_load(struct nb_run *run, const struct nb_frame *frame)
{
	const struct nb_space *space = run->backend->space;
	struct nb_power_bodies bodies = {.n = frame->rows[NB_PARTICLE]};
	nb_require_valid(frame);
	if (nb_require_dim(frame) != 3)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " is two-dimensional (want bodies in space)", frame->number);
	if (space->device < 0)
		bodies.pos = nb_require_reals(frame, NB_POS);
	else
		bodies.pos.f64 = nb_require_f64(frame, NB_POS, space);
	double total = (double)bodies.n, square = total;
	if (nb_frame_field(frame, NB_MASS)) {
		struct nb_moments moments;
		bodies.mass = nb_require_f64(frame, NB_MASS, space);
		nb_require_done(run, run->backend->moments(bodies.n, bodies.mass, bodies.pos.f64, NULL, &moments),
			"masses of", frame);
		nb_require_done(run, run->backend->potential_energy(bodies.n, bodies.mass, bodies.mass, &square),
			"masses of", frame);
		total = moments.mass;
		square *= 2;
	}
	if (!isfinite(square) || (square == 0 && total > 0))
		nb_die(NB_EXIT_FAILED, "the squares of the masses of frame %" PRIu64 " are out of range",
			frame->number);
	bodies.total = total;
	bodies.shot = square / total / total;
	return bodies;
}

void nb_power_make_room(struct nb_run *run, struct nb_power *self)
{
	const int first = self->alone ? 1 : 2, count = self->cross ? 2 * first : first;
	const size_t bytes = nb_mesh_bytes(self->cells);
	if (self->shell)
		return;
	self->space = run->backend->space;
	self->shell = nb_alloc((size_t)self->cells, sizeof *self->shell);
	for (int k = 0; k < count; k++) {
		void **mesh = &self->mesh[first == 2 ? k : 2 * k];
		*mesh = self->shell ? self->space->alloc(self->space, bytes) : NULL;
		if (*mesh)
			continue;
		nb_blame_device();
		nb_die(NB_EXIT_FAILED,
			"out of memory: %d mesh%s of %d^3 cells take%s %.3g GB (want a smaller '--mesh'%s)", count,
			count > 1 ? "es" : "", self->cells, count > 1 ? "" : "s", (double)bytes * count * 1e-9,
			self->alone ? "" : ", or '--no-interlace'");
	}
}

void nb_power_release(struct nb_power *self)
{
	for (int k = 0; k < NB_POWER_MESHES; k++)
		if (self->mesh[k])
			self->space->release(self->space, self->mesh[k]);
	nb_free(self->shell);
}

/* The time since then belongs to a stage, once the device has done it. */
static void take_time(struct nb_run *run, const struct nb_frame *frame, double *start, double *stage)
{
	nb_require_done(run, run->backend->finish(), "spectrum of", frame);
	*stage += nb_now() - *start;
	*start = nb_now();
}

static struct nb_mesh_modes find_modes(struct nb_run *run, struct nb_power *self, const struct nb_frame *frame,
	const struct nb_power_bodies *bodies, double box, int fold, void *const mesh[2])
{
	const struct nb_mesh_paint paint = {bodies->n, bodies->pos.f64, bodies->mass, box, nb_mesh_unit(bodies->total),
		fold, self->cells, self->order};
	double start = nb_now();
	nb_require_done(run,
		bodies->pos.f32 ? nb_mesh_paint_reals_cpu(&paint, bodies->pos, mesh[0], mesh[1])
				: run->backend->mesh_paint(&paint, mesh[0], mesh[1]),
		"density of", frame);
	take_time(run, frame, &start, &self->seconds.paint);
	for (int k = 0; k < 2 && mesh[k]; k++)
		nb_require_done(run, run->backend->mesh_transform(self->cells, paint.unit, mesh[k]), "modes of", frame);
	take_time(run, frame, &start, &self->seconds.transform);
	return (struct nb_mesh_modes){mesh[0], mesh[1], 1 / bodies->total};
}

void nb_power_measure(struct nb_run *run, struct nb_power *self, const struct nb_frame *frame,
	const struct nb_power_bodies *bodies, double box, int fold)
{
	const struct nb_mesh_modes a = find_modes(run, self, frame, bodies, box, fold, self->mesh);
	const struct nb_mesh_modes b = self->cross
					       ? find_modes(run, self, frame, &self->with, box, fold, self->mesh + 2)
					       : (struct nb_mesh_modes){0};
	double start = nb_now();
	nb_require_done(run,
		run->backend->mesh_shells(self->cells, self->order, &a, self->cross ? &b : NULL, self->shell),
		"spectrum of", frame);
	take_time(run, frame, &start, &self->seconds.shells);
}
