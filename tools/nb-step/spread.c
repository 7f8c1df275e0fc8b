/* Bodies that stay with the ranks of a run (kernels/domain/domain.h): each has those of a range of Morton keys, from
 * the first force of a frame on.
 *
 * Here the frame is then one of no bodies, with the same columns and attributes.  It goes through the force pipeline as
 * ever, which leaves in it what the pipeline says of a force; the forces themselves are computed where the bodies are.
 * Several devices of one process are ranks, too: threads of it.  The bodies come back where all are wanted: for a frame
 * that is written, an energy, the end of the run, and to name one that is out of range. */
#include "common/mem.h"
#include "kernels/ranks/ranks.h"
#include "tools/filter/choose.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <math.h>
#include <string.h>

/* ---- whether that can be ------------------------------------------------------------------------ */

/* NULL, or why the steps need all bodies in one place. */
static const char *why_not_steps(const struct step *s, const struct nb_frame *frame)
{
	if (s->opt.cosmology)
		return "--cosmology";
	if (s->opt.collide != COLLIDE_NONE)
		return "--collide";
	if (s->opt.levels_given)
		return "--levels";
	if (s->opt.send_velocities)
		return "--send-velocities";
	if (!s->opt.integrator->nstage || s->opt.integrator->needs_jerk || s->opt.integrator->corrections)
		return "the integrator";
	for (size_t k = 0; k < s->opt.integrator->nstage; k++)
		if (s->opt.integrator->stage[k].ahead != 0)
			return "the integrator";
	if (nb_frame_field(frame, NB_EPS))
		return "softenings of their own";
	return nb_frame_field(frame, NB_MASS) ? NULL : "no masses";
}

const char *nb_step_spread(
	const struct nb_run *run, const void *self, const struct nb_frame *frame, struct nb_domain_law *law)
{
	(void)run;
	(void)law;
	return why_not_steps(self, frame);
}

/* The same of the steps and the number of bodies. */
static const char *why_not_bodies(const struct step *s)
{
	const char *why = why_not_steps(s, s->frame);
	if (why || nb_spread_pays(s->frame->rows[NB_PARTICLE]))
		return why;
	return nb_ranks_size() > 1 ? "fewer than 8192 of them" : "too few of them";
}

int nb_step_may_spread(const struct step *s)
{
	return nb_spread_owners() > 1 && !s->spread.refused && !why_not_bodies(s);
}

/* NULL, or why the pipeline does, which must be folded. */
static const char *why_not_force(const struct step *s, struct nb_domain_law *law)
{
	if (!nb_coprocess_is_folded(s->force.process))
		return "the force pipeline is not of this process";
	const struct nb_run *run = nb_ring_first(&s->force.process->ring);
	for (size_t k = 0;; k++, run = run->next) {
		const char *why = nb_spread_stage(run, k, s->frame, law);
		if (why || !run)
			return why;
	}
}

/* ---- columns ------------------------------------------------------------------------------------ */

/* Not pos and vel, which ranks have as numbers; nor results. */
static int is_rest(const struct nb_column *column)
{
	return column->table == NB_PARTICLE && column->field != NB_POS && column->field != NB_VEL &&
	       column->field != NB_ACC && column->field != NB_POT;
}

/* The other columns, row by row: there, or back. */
static void pack(struct step *s, unsigned char *rest, size_t rest_size, int back)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	size_t at = 0;
	for (size_t k = 0; k < s->spread.ncolumn; k++) {
		struct nb_column *column = nb_frame_find(s->frame, s->spread.column[k].name);
		const size_t size = s->spread.column[k].size, offset = at;
		at += size;
		if (!column) /* dropped */
			continue;
		char *data = nb_require_memory(
			s->frame, back ? nb_column_write(column, &nb_space_host, NB_WIRE)
				       : (char *)(uintptr_t)nb_column_read(column, &nb_space_host, NB_WIRE));
#pragma omp parallel for schedule(static)
		for (size_t i = 0; i < n; i++)
			if (back)
				memcpy(data + i * size, rest + i * rest_size + offset, size);
			else
				memcpy(rest + i * rest_size + offset, data + i * size, size);
	}
}

/* What columns there are beside the numbers that ranks compute with. */
static void list_rest(struct step *s)
{
	s->spread.ncolumn = s->spread.rest_size = 0;
	s->spread.column = nb_require_memory(s->frame, nb_alloc_zero(s->frame->ncolumn, sizeof *s->spread.column));
	for (size_t c = 0; c < s->frame->ncolumn; c++) {
		const struct nb_column *column = &s->frame->column[c];
		if (!is_rest(column))
			continue;
		strcpy(s->spread.column[s->spread.ncolumn].name, column->name);
		s->spread.column[s->spread.ncolumn++].size = column->rowsize;
		s->spread.rest_size += column->rowsize;
	}
}

static double *numbers(struct step *s, enum nb_field field)
{
	struct nb_column *column = nb_frame_field(s->frame, field);
	double *data = nb_column_write(column, &nb_space_host, NB_AS_F64);
	if (column && !data)
		nb_out_of_memory(s->frame);
	return data;
}

/* The frame without its bodies. */
static void empty(struct step *s)
{
	static const uint32_t none[1];
	if (nb_frame_gather(s->frame, NB_PARTICLE, 0, none, &nb_space_host, nb_permute_cpu))
		nb_out_of_memory(s->frame);
}

/* ---- there and back ----------------------------------------------------------------------------- */

static void begin(struct step *s, const struct nb_domain_law *law)
{
	unsigned char *rest = NULL;
	list_rest(s);
	s->spread.n = s->frame->rows[NB_PARTICLE];
	rest = nb_require_memory(s->frame, nb_alloc(s->spread.n, s->spread.rest_size));
	pack(s, rest, s->spread.rest_size, 0);
	const struct nb_domain_bodies all = {.n = s->spread.n,
		.pos = nb_step_update(s, NB_POS, &nb_space_host),
		.vel = nb_step_update(s, NB_VEL, &nb_space_host),
		.mass = (double *)(uintptr_t)nb_step_read(s, NB_MASS, &nb_space_host),
		.rest = rest,
		.rest_size = s->spread.rest_size};
	nb_step_require(s, nb_domain_begin(&s->spread.domain, law, &all));
	nb_free(rest);
	s->spread.largest = 0;
	s->spread.finite = 1;
	empty(s);
}

/* Of devices of this process. */
static const char *why_not_threads(void)
{
	const int status = nb_backend_enlist();
	return !status			   ? NULL
	       : status == NB_EUNSUPPORTED ? "a program with MPI has a device for each rank"
					   : "no memory for threads";
}

void nb_step_spread_begin(struct step *s)
{
	struct nb_domain_law law = {.dim = 3};
	const int ranks = nb_ranks_size(), several = nb_spread_owners();
	if (several < 2 || s->spread.domain || s->spread.refused)
		return;
	const char *why = why_not_bodies(s);
	why = why ? why : why_not_force(s, &law);
	if (!why && ranks < 2)
		why = law.device ? why_not_threads() : "the force is not that of several devices";
	if (!why && !nb_domain_claim())
		why = "another nb-step of this process has its own spread";
	s->spread.refused = why != NULL; /* for this frame */
	if (why) {
		nb_verbose("the bodies stay with %s: %s", ranks > 1 ? "rank 0" : "the first device", why);
		return;
	}
	s->spread.device = law.device;
	s->spread.several = several;
	begin(s, &law);
	const int device = ranks > 1 && law.device;
	nb_verbose("each of %d %s has a part of the bodies%s%s", several, ranks > 1 ? "ranks" : "devices",
		device ? ", on a device" : "", device && nb_ranks_reach_devices() ? ", and MPI sends from there" : "");
}

void nb_step_spread_fill(struct step *s)
{
	if (!s->spread.domain)
		return;
	unsigned char *rest = nb_alloc(s->spread.n, s->spread.rest_size);
	s->frame->rows[NB_PARTICLE] = s->spread.n;
	for (size_t c = 0; c < s->frame->ncolumn; c++) {
		const struct nb_column old = s->frame->column[c];
		if (old.table == NB_PARTICLE &&
			!nb_frame_add(s->frame, old.name, old.table, old.dtype, old.ncomp, old.unit, old.flags))
			nb_out_of_memory(s->frame);
	}
	const struct nb_domain_bodies all = {.n = s->spread.n,
		.pos = numbers(s, NB_POS),
		.vel = numbers(s, NB_VEL),
		.acc = numbers(s, NB_ACC),
		.pot = numbers(s, NB_POT),
		.rest = rest,
		.rest_size = s->spread.rest_size};
	if (!rest)
		nb_out_of_memory(s->frame);
	nb_step_require(s, nb_domain_gather(s->spread.domain, &all));
	pack(s, rest, s->spread.rest_size, 1);
	nb_free(rest);
}

void nb_step_spread_empty(struct step *s)
{
	if (s->spread.domain)
		empty(s);
}

void nb_step_spread_end(struct step *s)
{
	nb_step_spread_fill(s);
	nb_step_spread_free(&s->spread);
	s->spread.refused = 0;
}

void nb_step_spread_free(struct spread *spread)
{
	nb_domain_end(spread->domain);
	nb_free(spread->column);
	spread->domain = NULL;
	spread->column = NULL;
}

/* ---- steps -------------------------------------------------------------------------------------- */

void nb_step_spread_move(struct step *s, double kick, double drift)
{
	nb_step_require(s, nb_domain_kick_drift(s->spread.domain, kick, drift, &s->spread.finite));
}

/* What there is to say in the end. */
static void keep_shares(struct step *s)
{
	if (!s->spread.device)
		return;
	if (!s->spread.share)
		s->spread.share = nb_alloc_zero((size_t)s->spread.several, sizeof *s->spread.share);
	for (int k = 0; s->spread.share && k < s->spread.several; k++)
		s->spread.share[k] = *nb_domain_usage_of(s->spread.domain, k);
}

int nb_step_spread_force(struct step *s)
{
	struct nb_domain_tally tally;
	const int status = nb_domain_force(s->spread.domain, &s->spread.largest, &tally);
	if (status == NB_EUNSUPPORTED || status == NB_ELIMIT || status == NB_ENONFINITE) {
		/* the pipeline can compute these forces, or says why it cannot */
		nb_verbose("the bodies go back to %s: %s", nb_ranks_size() > 1 ? "rank 0" : "the first device",
			status == NB_ELIMIT ? "some rank would have too many, or too many nodes"
					    : "their distances are extreme");
		nb_step_spread_end(s);
		s->spread.refused = 1;
		return 0;
	}
	nb_step_require(s, status);
	s->spread.forces++;
	keep_shares(s);
	s->spread.most.bodies = fmax(s->spread.most.bodies, tally.bodies);
	s->spread.most.asked = fmax(s->spread.most.asked, tally.asked);
	s->spread.most.cells = fmax(s->spread.most.cells, tally.cells);
	s->spread.most.all_cells = fmax(s->spread.most.all_cells, tally.all_cells);
	s->spread.most.bytes = fmax(s->spread.most.bytes, tally.bytes);
	return 1;
}

/* What each device has done. */
static void report_devices(const struct step *s)
{
	const int ranks = nb_ranks_size() > 1;
	for (int k = 0; k < s->spread.several; k++) {
		const struct nb_domain_usage *share = &s->spread.share[k];
		nb_verbose("%s %d, device %d: %.0f bodies, %.4g s in walks, waited %.4g s, %.4g GB of memory at most",
			ranks ? "rank" : "member", k, share->device, share->bodies, share->worked, share->waited,
			1e-9 * share->bytes);
	}
}

void nb_step_spread_report(const struct step *s)
{
	if (nb_ranks_size() < 2 && !s->spread.forces)
		return;
	if (nb_ranks_size() > 1)
		nb_verbose("%d ranks shared %zu computations of forces", nb_ranks_size(),
			nb_ranks_jobs() + s->spread.forces);
	else
		nb_verbose("%d devices shared %zu computations of forces", s->spread.several, s->spread.forces);
	if (s->spread.forces)
		nb_verbose("a %s had %.0f bodies and got %.0f of others, and %.0f of %.0f %s, at most, in %.3g MB",
			nb_ranks_size() > 1 ? "rank" : "device", s->spread.most.bodies, s->spread.most.asked,
			s->spread.most.cells, s->spread.most.all_cells, s->spread.device ? "nodes" : "divided cells",
			1e-6 * s->spread.most.bytes);
	if (s->spread.share)
		report_devices(s);
}
