/* nb-force --audit: the errors of the accelerations of some bodies, measured by direct sums in f64. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-force/force.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- memory, which a failure may leave ---------------------------------------------------------- */

void *nb_force_here(struct force *opt, const struct nb_frame *frame, size_t count, size_t size)
{
	void *memory = nb_alloc(count, size);
	if (!memory)
		nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, frame->number);
	return opt->scratch.here[opt->scratch.nhere++] = memory;
}

void *nb_force_there(struct force *opt, const struct nb_frame *frame, size_t count, size_t size)
{
	const struct nb_space *space = opt->scratch.space;
	void *memory = nb_require_memory(frame, count <= SIZE_MAX / size ? space->alloc(space, count * size) : NULL);
	return opt->scratch.there[opt->scratch.nthere++] = memory;
}

static double *fetch(struct force *opt, const struct nb_frame *frame, const double *from, size_t count)
{
	const struct nb_space *space = opt->scratch.space;
	double *to = nb_force_here(opt, frame, count, sizeof *to);
	if (space->to_host(space, to, from, count * sizeof *to))
		nb_out_of_memory(frame);
	return to;
}

void nb_force_scratch_clear(struct force *opt)
{
	const struct nb_space *space = opt->scratch.space;
	while (opt->scratch.nthere > 0)
		space->release(space, opt->scratch.there[--opt->scratch.nthere]);
	while (opt->scratch.nhere > 0)
		nb_free(opt->scratch.here[--opt->scratch.nhere]);
}

/* ---- which bodies ------------------------------------------------------------------------------- */

/* Of each of count equal pieces of the rows one, by the hash of the state, the number of rows and the piece: the same
 * on every run, also in one that goes on from a frame of another. */
static void choose(const struct nb_frame *frame, size_t n, size_t count, uint32_t *row)
{
	const double step = nb_require_attribute(frame, "step", (double)frame->number);
	const uint64_t state = step >= 0 && step < 0x1p63 ? (uint64_t)step : 0;
	const uint64_t seed = nb_id_hash(nb_id_hash(state + 1) ^ n);
	for (size_t k = 0; k < count; k++) {
		/* count and n are below 2^32 */
		const uint64_t first = (uint64_t)k * n / count, end = (uint64_t)(k + 1) * n / count;
		row[k] = (uint32_t)(first + ((nb_id_hash(seed + k + 1) >> 32) * (end - first) >> 32));
	}
}

/* ---- errors ------------------------------------------------------------------------------------- */

struct errors {
	double p50, p99, p9999, max, rms;
	double at_most; /* the 99th percentile of all bodies is not above, with SURE standard errors of the share */
};
static const double SURE = 2;

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* As numpy.percentile has it. */
static double percentile(size_t n, const double *sorted, double p)
{
	const double at = p * (double)(n - 1);
	const size_t k = (size_t)at;
	return k + 1 < n ? sorted[k] + (at - (double)k) * (sorted[k + 1] - sorted[k]) : sorted[n - 1];
}

/* The percentile of n of all bodies that the 99th of all does not exceed: the share of bodies above a limit has the
 * standard error of a sample without replacement. */
static double sure_percentile(size_t n, size_t all)
{
	const double left_out = 1 - (double)n / (double)all;
	return fmin(0.99 + SURE * sqrt(0.01 * 0.99 * left_out / (double)n), 1);
}

/* Of n bodies of all.  error: room for n numbers.  Squares are those of numbers near 1, whatever the units. */
static struct errors measure(
	size_t n, size_t all, const double *acc, const double *exact, const double *strength, double *error)
{
	double largest = 0, wrong = 0, size = 0;
	for (size_t k = 0; k < n; k++)
		largest = fmax(largest, strength[k]);
	for (size_t k = 0; k < n; k++) {
		double own = 0;
		for (size_t d = 3 * k; d < 3 * k + 3; d++) {
			const double da = acc[d] - exact[d], e = da == 0 ? 0 : da / strength[k];
			own += e * e;
			wrong += largest > 0 ? da / largest * (da / largest) : 0;
			size += largest > 0 ? exact[d] / largest * (exact[d] / largest) : 0;
		}
		error[k] = sqrt(own);
	}
	qsort(error, n, sizeof *error, by_value);
	return (struct errors){percentile(n, error, 0.5), percentile(n, error, 0.99), percentile(n, error, 0.9999),
		error[n - 1], wrong == 0 ? 0 : sqrt(wrong / size), percentile(n, error, sure_percentile(n, all))};
}

static void note(struct nb_frame *frame, const struct errors *e, size_t count, const char *measure)
{
	nb_set_attribute_f64(frame, "error_p50", e->p50);
	nb_set_attribute_f64(frame, "error_p99", e->p99);
	nb_set_attribute_f64(frame, "error_p9999", e->p9999);
	nb_set_attribute_f64(frame, "error_max", e->max);
	nb_set_attribute_f64(frame, "error_rms", e->rms);
	nb_set_attribute_f64(frame, "error_bodies", (double)count);
	nb_set_attribute(frame, "error_measure", measure);
}

/* ---- a frame ------------------------------------------------------------------------------------ */

void nb_force_audit_check(const struct force *opt, enum method method, const struct nb_frame *frame)
{
	if (opt->audit && method == METHOD_NEAR)
		nb_die(NB_EXIT_FAILED,
			"option '--audit' compares with the field of all bodies, and %s %s of frame %" PRIu64
			" sums over adjacent boxes only (want -m direct, tree or fmm)",
			opt->kernel ? "kernel" : "method", opt->kernel ? opt->kernel->name : "near", frame->number);
}

static int sum_in_box(double box, struct nb_frame *frame, struct nb_gravity g, const struct nb_gravity_points *points)
{
	g.pos = nb_require_f64(frame, NB_POS, &nb_space_host);
	g.mass = nb_require_f64(frame, NB_MASS, &nb_space_host);
	g.body_eps = g.body_eps ? nb_require_f64(frame, NB_EPS, &nb_space_host) : NULL;
	return nb_force_box_exact(&g, box, points);
}

void nb_force_audit(struct nb_run *run, struct force *opt, struct nb_frame *frame, const struct nb_gravity *g,
	char text[NB_FORCE_ERRORS])
{
	const struct nb_backend *backend = run->backend;
	const size_t count = g->n < (size_t)opt->audit ? g->n : (size_t)opt->audit;
	*text = '\0';
	opt->audited = 0;
	nb_frame_drop_errors(frame);
	if (count == 0)
		return;
	if (g->n > UINT32_MAX)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has %zu bodies (limit of '--audit': %" PRIu32 ")",
			frame->number, g->n, UINT32_MAX);
	/* Ewald's sums are the CPU's */
	const struct nb_space *space = opt->scratch.space = opt->box > 0 ? &nb_space_host : backend->space;
	uint32_t *row = nb_force_here(opt, frame, count, sizeof *row);
	uint32_t *target = nb_force_there(opt, frame, count, sizeof *target);
	choose(frame, g->n, count, row);
	if (space->from_host(space, target, row, count * sizeof *row))
		nb_out_of_memory(frame);
	double *exact = nb_force_there(opt, frame, count, 3 * sizeof *exact);
	double *strength = nb_force_there(opt, frame, count, sizeof *strength);
	double *acc = nb_force_there(opt, frame, count, 3 * sizeof *acc);
	const struct nb_gravity_points points = {.n = count, .target = target, .acc = exact, .strength = strength};
	const int status = opt->box > 0 ? sum_in_box(opt->box, frame, *g, &points)
					: backend->gravity_points(g, &points);
	nb_require_done(run, status, "direct sums of", frame);
	const double *all = nb_require_f64(frame, NB_ACC, space);
	nb_require_done(run,
		(opt->box > 0 ? nb_permute_cpu : backend->permute)(count, target, 3 * sizeof *acc, all, acc),
		"accelerations of", frame);
	const double *host_strength = fetch(opt, frame, strength, count);
	const struct errors e = measure(count, g->n, fetch(opt, frame, acc, 3 * count),
		fetch(opt, frame, exact, 3 * count), host_strength, nb_force_here(opt, frame, count, sizeof(double)));
	nb_force_scratch_clear(opt);
	note(frame, &e, count, opt->box > 0 ? "acc" : "strength");
	opt->audited = e.at_most;
	snprintf(text, NB_FORCE_ERRORS,
		", errors of %zu bodies: p50 %.3g, p99 %.3g (of all at most %.3g), largest %.3g", count, e.p50, e.p99,
		e.at_most, e.max);
}

void nb_force_require_in_range(
	struct nb_run *run, const char *name, struct nb_frame *frame, struct nb_column *column, const char *what)
{
	if (!column)
		return;
	const size_t bad = nb_column_first_bad(column, NB_BAD_NONFINITE);
	if (bad == SIZE_MAX) { /* where the device tells what went wrong in the kernels before */
		nb_require_done(run, run->backend->finish(), name, frame);
		nb_out_of_memory(frame);
	}
	if (bad < column->rows)
		nb_die(NB_EXIT_FAILED, "%s of frame %" PRIu64 " overflows (are the units extreme?)", what,
			frame->number);
}
