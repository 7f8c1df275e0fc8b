/* Systems of a frame, each of which moves on its own: all bodies are one where there is no column system.  One that
 * cannot be followed any further ends alone: its bodies keep their last state, columns say when and why. */
#include "common/mem.h"
#include "kernels/ranks/ranks.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <string.h>

static const char stopped_name[] = "stopped", time_name[] = "system_time";

void nb_step_systems_free(struct systems *s)
{
	nb_free_systems(&s->of);
	nb_free_all(s->x, s->v, s->mass, s->stopped, s->ended, s->variation);
	*s = (struct systems){0};
}

/* What would make the steps of one system those of all, or let bodies of two touch. */
static const char *what_mixes(const struct step *s)
{
	return s->opt.collide != COLLIDE_NONE				    ? "option '--collide'"
	       : s->opt.cosmology					    ? "option '--cosmology'"
	       : s->opt.levels_given					    ? "option '--levels'"
	       : s->opt.eta_given && s->opt.integrator->few != NB_FEW_IAS15 ? "option '--eta'"
	       : nb_ranks_size() > 1					    ? "nb-step on several ranks"
									    : NULL;
}

/* A column with a number for each body. */
static struct nb_column *column_of(const struct step *s, const char *name)
{
	struct nb_column *column = nb_frame_find(s->frame, name);
	return column && column->table == NB_PARTICLE && column->ncomp == 1 && nb_dtype_is_number(column->dtype)
		       ? column
		       : NULL;
}

/* Steps that are those of all bodies would move systems that have ended. */
static void refuse_ended(const struct step *s)
{
	struct nb_column *column = column_of(s, stopped_name);
	const double *stopped = column ? nb_require_memory(s->frame, nb_column_read(column, &nb_space_host, NB_AS_F64))
				       : NULL;
	for (size_t i = 0; stopped && i < s->frame->rows[NB_PARTICLE]; i++)
		if (stopped[i] > 0)
			nb_die(NB_EXIT_FAILED,
				"the system of the body with id %" PRIu64 " of frame %" PRIu64
				" has ended, and would be moved (want '--stop-when', or nb-select --where 'stopped == "
				"0' "
				"before)",
				nb_body_id(s->frame, i), s->frame->number);
}

/* All bodies become one system, which can end. */
static void make_one(struct step *s)
{
	struct nb_column *column = nb_new_column(s->frame, NB_SYSTEM, NULL, 0);
	void *number = nb_require_memory(s->frame, nb_column_write(column, &nb_space_host, NB_WIRE));
	memset(number, 0, column->rows * column->rowsize);
}

void nb_step_systems_load(struct step *s)
{
	struct systems *all = &s->systems;
	nb_step_systems_free(all);
	if (s->stop.text && !nb_frame_field(s->frame, NB_SYSTEM))
		make_one(s);
	all->many = nb_frame_field(s->frame, NB_SYSTEM) != NULL;
	if (all->many && what_mixes(s)) {
		nb_refuse_systems(s->frame, what_mixes(s), "");
		refuse_ended(s);
		all->many = 0; /* one system is as none */
	}
	if (all->many && s->opt.integrator->has_own_steps &&
		(!s->opt.until_given || s->opt.steps_given || (s->opt.every_given && s->opt.every > 0)))
		nb_die(NB_EXIT_FAILED,
			"the systems of frame %" PRIu64
			" make steps of their own, so that states are at given times (want --until%s)",
			s->frame->number,
			s->opt.steps_given   ? " without -k"
			: s->opt.every_given ? " and --every-time without --every"
					     : "");
	if (all->many && !s->opt.integrator->few && !s->stop.text)
		refuse_ended(s);
	if (all->many || s->opt.integrator->few)
		nb_find_systems(s->frame, &all->of);
	nb_step_swarm_choose(s);
	if (all->many && s->backend->space->device >= 0 &&
		(s->planets.device || strcmp(s->run->common.backend, "auto") == 0)) {
		nb_choose_backend(s->run, "cpu"); /* as nb-force does */
		s->backend = s->run->backend;
	}
}

/* What an earlier run has left: a system that has ended stays as it is. */
static void read_stopped(struct step *s)
{
	struct systems *all = &s->systems;
	struct nb_column *stopped = column_of(s, stopped_name), *time = column_of(s, time_name);
	if (!all->many || !stopped || !time)
		return;
	const double *why = nb_require_memory(s->frame, nb_column_read(stopped, &nb_space_host, NB_AS_F64));
	const double *when = nb_require_memory(s->frame, nb_column_read(time, &nb_space_host, NB_AS_F64));
	for (size_t k = 0; k < all->of.n; k++) {
		const size_t first = all->of.row[all->of.first[k]];
		all->stopped[k] = (unsigned char)(why[first] > 0 && why[first] < 256 ? why[first] : NB_GOES_ON);
		all->ended[k] = when[first];
	}
}

void nb_step_systems_begin(struct step *s)
{
	struct systems *all = &s->systems;
	const size_t n = s->frame->rows[NB_PARTICLE];
	all->x = nb_alloc(n, 3 * sizeof *all->x);
	all->v = nb_alloc(n, 3 * sizeof *all->v);
	all->mass = nb_alloc(n, sizeof *all->mass);
	all->stopped = nb_alloc_zero(all->of.n, sizeof *all->stopped);
	all->ended = nb_alloc_zero(all->of.n, sizeof *all->ended);
	if (!all->x || !all->v || !all->mass || !all->stopped || !all->ended)
		nb_out_of_memory(s->frame);
	if (n) {
		memcpy(all->x, nb_step_read(s, NB_POS, &nb_space_host), 3 * n * sizeof *all->x);
		memcpy(all->v, nb_step_read(s, NB_VEL, &nb_space_host), 3 * n * sizeof *all->v);
		memcpy(all->mass, nb_step_read(s, NB_MASS, &nb_space_host), n * sizeof *all->mass);
	}
	all->G = nb_require_attribute(s->frame, "G", 1);
	all->eps = nb_require_attribute(s->frame, "softening", 0);
	read_stopped(s);
}

size_t nb_step_system_gather(const struct systems *all, size_t k, size_t ncomp, const double *from, double *to)
{
	const size_t n = all->of.first[k + 1] - all->of.first[k];
	for (size_t i = 0; i < n; i++)
		memcpy(to + ncomp * i, from + ncomp * nb_step_system_row(all, k, i), ncomp * sizeof *to);
	return n;
}

void nb_step_system_scatter(const struct systems *all, size_t k, const double *from, double *to)
{
	const size_t n = all->of.first[k + 1] - all->of.first[k];
	for (size_t i = 0; i < n; i++)
		memcpy(to + 3 * nb_step_system_row(all, k, i), from + 3 * i, 3 * sizeof *to);
}

void nb_step_system_stop(struct step *s, size_t k, enum nb_stopped why, double time, const char *what)
{
	struct systems *all = &s->systems;
	all->stopped[k] = (unsigned char)why;
	all->ended[k] = time;
	if (all->reported++)
		return;
	nb_step_progress_clear(&s->progress);
	nb_warn("system %" PRIu64 " ends alone at the time %g: %s (columns 'stopped' and 'system_time' say which do)",
		all->of.number[k], time, what);
}

/* A column for a number of each body, to be written. */
void *nb_step_new_column(struct step *s, const char *name, const char *dtype, const char *unit)
{
	struct nb_column *column = nb_frame_find(s->frame, name);
	if (!column || column->table != NB_PARTICLE || strcmp(column->dtype, dtype) != 0 || column->ncomp != 1)
		column = nb_require_memory(s->frame, nb_frame_add(s->frame, name, NB_PARTICLE, dtype, 1, unit, 0));
	return nb_require_memory(s->frame, nb_column_write(column, &nb_space_host, NB_WIRE));
}

void nb_step_systems_note_time(struct step *s)
{
	struct nb_column *time = s->systems.many && !s->opt.integrator->few && !s->stop.text ? column_of(s, time_name)
											     : NULL;
	const size_t n = s->frame->rows[NB_PARTICLE];
	if (!time || strcmp(time->dtype, "<f8") != 0)
		return;
	double *when = nb_require_memory(s->frame, nb_column_write(time, &nb_space_host, NB_WIRE));
	for (size_t i = 0; i < n; i++)
		when[i] = s->clock.now.time;
}

void nb_step_systems_mark(struct step *s)
{
	const struct systems *all = &s->systems;
	if (!all->many)
		return;
	unsigned char *why = nb_step_new_column(s, stopped_name, "|u1", "");
	double *when = nb_step_new_column(s, time_name, "<f8", "time");
	for (size_t k = 0; k < all->of.n; k++)
		for (size_t i = all->of.first[k]; i < all->of.first[k + 1]; i++) {
			why[all->of.row[i]] = all->stopped[k];
			when[all->of.row[i]] = all->stopped[k] ? all->ended[k] : s->clock.now.time;
		}
}
