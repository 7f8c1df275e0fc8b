/* --stop-when: systems that end where a condition on their state holds, tested before every so many of their steps. */
#include "common/mem.h"
#include "tools/filter/expression.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

/* What names stand for, in the table of one row that the expression of a thread is bound to. */
static int find(void *context, const char *name, int in_formula, struct nb_expr_value *value, char why[NB_EXPR_MESSAGE])
{
	const struct state_of_system *state = context;
	(void)in_formula;
	*value = (struct nb_expr_value){.item = NB_ITEM_F64, .stride = sizeof(double), .ncomp = 1, .unit = ""};
	value->data = strcmp(name, "dmin") == 0	  ? &state->dmin
		      : strcmp(name, "rmax") == 0 ? &state->rmax
		      : strcmp(name, "time") == 0 ? &state->time
						  : NULL;
	if (value->data)
		return 1;
	snprintf(why, NB_EXPR_MESSAGE, "unknown name '%s' (want dmin, rmax or time)", name);
	return 0;
}

static struct nb_expr *bound(const char *text, struct state_of_system *state)
{
	struct nb_expr *expr = nb_expression(text);
	struct nb_expr_error error;
	if (nb_expr_takes_all_rows(expr) || nb_expr_is_random(expr))
		nb_die(NB_EXIT_USAGE,
			"'%.300s' has a function of many bodies, or random numbers (want numbers of one system: dmin, "
			"rmax, time)",
			text);
	if (nb_expr_bind(expr, 1, 1, find, state, &error))
		nb_die(NB_EXIT_USAGE, "'%.300s': %s", text, error.text);
	if (nb_expr_kind(expr) != NB_EXPR_CONDITION)
		nb_die(NB_EXIT_USAGE, "'%.300s' is not a condition (such as 'dmin < 0.01 || rmax > 100')", text);
	return expr;
}

void nb_step_stop_check(struct step *s, int every_given)
{
	const struct stop *stop = &s->stop;
	struct state_of_system state = {0};
	if (every_given && !stop->text)
		nb_die(NB_EXIT_USAGE, "option '--stop-every' needs '--stop-when'");
	if (!stop->text)
		return;
	if (!s->opt.command)
		nb_die(NB_EXIT_USAGE, "option '--stop-when' needs the force pipeline as operand");
	nb_expr_free(bound(stop->text, &state));
}

void nb_step_stop_begin(struct stop *stop)
{
	nb_step_stop_free(stop);
	stop->n = stop->text ? omp_get_max_threads() : 0;
	stop->of = nb_require_memory(NULL, nb_alloc_zero((size_t)stop->n, sizeof *stop->of));
	for (int t = 0; t < stop->n; t++)
		stop->of[t].expr = bound(stop->text, &stop->of[t].state);
}

void nb_step_stop_free(struct stop *stop)
{
	for (int t = 0; t < stop->n && stop->of; t++)
		nb_expr_free(stop->of[t].expr);
	nb_free(stop->of);
	stop->of = NULL;
}

/* Least distance of two bodies, and largest one from the centre of mass; of bodies without mass, the first. */
static void measure(size_t n, const double *mass, const double *x, struct state_of_system *state)
{
	double centre[3] = {0}, all = 0, dmin2 = INFINITY, rmax2 = 0;
	for (size_t i = 0; i < n; i++)
		all += mass[i];
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < 3; d++)
			centre[d] += (all > 0 ? mass[i] / all : i == 0) * x[3 * i + d];
	for (size_t i = 0; i < n; i++) {
		double r2 = 0;
		for (size_t d = 0; d < 3; d++)
			r2 += (x[3 * i + d] - centre[d]) * (x[3 * i + d] - centre[d]);
		rmax2 = r2 > rmax2 ? r2 : rmax2;
		for (size_t j = 0; j < i; j++) {
			double d2 = 0;
			for (size_t d = 0; d < 3; d++)
				d2 += (x[3 * i + d] - x[3 * j + d]) * (x[3 * i + d] - x[3 * j + d]);
			dmin2 = d2 < dmin2 ? d2 : dmin2;
		}
	}
	state->dmin = sqrt(dmin2);
	state->rmax = sqrt(rmax2);
}

int nb_step_stops(struct step *s, size_t k, double time, const double *x, const double *v)
{
	struct systems *all = &s->systems;
	struct stopper *own = &s->stop.of[omp_get_thread_num()];
	struct nb_expr_error error;
	double mass[NB_SMALL_MOST];
	uint8_t holds = 0;
	const size_t n = nb_step_system_gather(all, k, 1, all->mass, mass);
	measure(n, mass, x, &own->state);
	own->state.time = time;
	if (nb_expr_mask(own->expr, 0, 1, &holds, &error) || !holds)
		return 0;
	nb_step_system_scatter(all, k, x, all->x);
	nb_step_system_scatter(all, k, v, all->v);
	all->stopped[k] = NB_STOPPED;
	all->ended[k] = time;
	return 1;
}

void nb_step_stop_hold(struct step *s)
{
	const struct systems *all = &s->systems;
	if (!s->stop.text || s->opt.integrator->few)
		return;
	double *pos = nb_step_update(s, NB_POS, &nb_space_host), *vel = nb_step_update(s, NB_VEL, &nb_space_host);
	for (size_t k = 0; k < all->of.n; k++) {
		double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
		if (!all->stopped[k])
			continue;
		(void)nb_step_system_gather(all, k, 3, all->x, x);
		(void)nb_step_system_gather(all, k, 3, all->v, v);
		nb_step_system_scatter(all, k, x, pos);
		nb_step_system_scatter(all, k, v, vel);
	}
	nb_step_systems_mark(s);
}

void nb_step_stop_report(const struct step *s)
{
	size_t stopped = 0;
	for (size_t k = 0; s->stop.text && k < s->systems.of.n; k++)
		stopped += s->systems.stopped && s->systems.stopped[k] == NB_STOPPED;
	if (s->stop.text)
		nb_verbose("%zu of %zu systems ended where '%s'", stopped, s->systems.of.n, s->stop.text);
}
