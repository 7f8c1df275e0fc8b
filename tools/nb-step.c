/* nb-step: integrates the motion of the bodies, with the force pipeline as a co-process or one step a pass. */
#include "common/die.h"
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/backend/backend.h"
#include "kernels/motion/motion.h"
#include "tools/filter/coprocess.h"
#include "tools/filter/options.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARALLEL = 100000 /* numbers: fewer are not worth starting threads */ };

enum integrator { LEAPFROG, EULER, TAYLOR };
enum collide { NONE, ELASTIC, MERGE };

/* A pipeline that waits for the end of its input never answers, nor does one whose first program is alone
 * left: after so many seconds, or so many times the longest wait before, the user is told, once. */
static const double PATIENCE = 10, PATIENCE_FACTOR = 10;

static struct options {
	double dt, eta, until;
	uint64_t steps, every;
	int integrator, collide, send_velocities;
	int dt_given, eta_given, until_given, steps_given, every_given;
} opt = {.steps = 1, .every = 1, .integrator = LEAPFROG};

static const struct nb_option options[] = {
	{'d', "dt", NB_OPT_F64, &opt.dt, -1e300, 1e300, "DT", NULL,
		"time step; negative: back in time; with --eta the largest step", 0, &opt.dt_given},
	{'k', "steps", NB_OPT_U64, &opt.steps, 0, 0x1p53, "K", "1, or as many as --until needs",
		"steps to make; 0: only finish a pending kick", 0, &opt.steps_given},
	{0, "collide", NB_OPT_CHOICE, &opt.collide, 0, 0, "none|elastic|merge", "none",
		"what bodies do whose radii touch", 0, NULL},
	{0, "eta", NB_OPT_F64_POS, &opt.eta, 0, 1e300, "ETA", NULL,
		"adaptive step: ETA sqrt(softening / largest acceleration)", 0, &opt.eta_given},
	{0, "every", NB_OPT_U64, &opt.every, 0, 0x1p53, "N", "1",
		"write frames 0, N, 2N ... and the last; 0: only the last", 0, &opt.every_given},
	{0, "integrator", NB_OPT_CHOICE, &opt.integrator, 0, 0, "leapfrog|euler|taylor", "leapfrog",
		"how to step; taylor needs jerk", 0, NULL},
	{0, "send-velocities", NB_OPT_FLAG, &opt.send_velocities, 0, 0, NULL, NULL,
		"let the force pipeline see and change velocities", 0, NULL},
	{0, "until", NB_OPT_F64, &opt.until, -1e300, 1e300, "T", NULL, "stop at the step nearest to time T", 0,
		&opt.until_given},
};

static const struct nb_command command = {
	.about = "integrate the motion of the bodies of each frame of a particle stream",
	.operands = "['FORCE PIPELINE']",
	.max_operands = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.footer = "The force pipeline is a shell command that adds acc to the frames passed through it,\n"
		  "e.g. 'nb-sort-zorder | nb-build-tree | nb-force -t 0.6 -e 0.02'.\n"
		  "Without it one step a frame is made with the acc that the frame has.\n",
};

/* The bodies and where they are in time. */
struct state {
	struct nb_frame frame;
	struct nb_frame past;	/* history lines of the input; the pipeline's own are not kept */
	double time, time_rest; /* time is their sum: the rest is what rounding to one double loses */
	uint64_t step;
	double pending; /* vel lags behind pos by this time */
	uint64_t ids;	/* fingerprint of the set of ids */
	uint64_t nframe;
	uint64_t contacts; /* collisions or mergers of the run */
};

static const struct nb_backend *backend;
static const char *pipeline;
static struct nb_coprocess force;
static double force_seconds;

/* ---- progress, on a terminal only ---------------------------------------------------------------- */

static struct {
	int wanted, width;
	double start, shown;
	double first_time;
} meter;

static void meter_clear(void)
{
	if (meter.width)
		fprintf(stderr, "\r%*s\r", meter.width, "");
	meter.width = 0;
}

static void meter_start(const struct state *s)
{
	meter.wanted = nb_verbosity >= 0 && isatty(STDERR_FILENO);
	meter.start = meter.shown = nb_now();
	meter.first_time = s->time;
}

static void meter_show(const struct state *s, uint64_t done)
{
	double now = nb_now(), elapsed = now - meter.start;
	if (!meter.wanted || elapsed < 1 || now - meter.shown < 0.2)
		return;
	meter.shown = now;
	char line[160], total[32] = "", left[40] = "";
	double part = opt.until_given ? (s->time - meter.first_time) / (opt.until - meter.first_time) : 0;
	if (opt.steps != UINT64_MAX) {
		snprintf(total, sizeof total, " of %" PRIu64, opt.steps);
		part = fmax(part, (double)done / (double)opt.steps);
	}
	if (part > 0 && part <= 1) {
		double rest = fmin(elapsed / part - elapsed, 1e9);
		unsigned long seconds = (unsigned long)(rest + 0.5);
		snprintf(left, sizeof left, ", %lu:%02lu:%02lu left", seconds / 3600, seconds / 60 % 60, seconds % 60);
	}
	int width = snprintf(line, sizeof line, "%s: step %" PRIu64 "%s, t = %.6g, %.3g steps/s%s", nb_program(), done,
		total, s->time, (double)done / elapsed, left);
	fprintf(stderr, "\r%-*s", meter.width, line);
	meter.width = width;
	fflush(stderr);
}

/* ---- the end of the co-process, whatever ends the tool ---------------------------------------------- */

static volatile sig_atomic_t force_group;

static void pass_on(int signal)
{
	if (force_group > 0)
		kill(-(pid_t)force_group, signal);
	raise(signal); /* the handler is gone (SA_RESETHAND): this ends the tool */
}

static void kill_force(void)
{
	nb_coprocess_kill(&force);
}

static _Noreturn void force_failed(const struct state *s, const char *what)
{
	meter_clear();
	if (s)
		nb_die(NB_EXIT_FAILED, "force pipeline '%s' %s in step %" PRIu64, pipeline, what, s->step);
	nb_die(NB_EXIT_FAILED, "force pipeline '%s' %s", pipeline, what);
}

static void start_force(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	int status = nb_coprocess_start(&force, pipeline);
	atexit(kill_force);
	if (status)
		force_failed(NULL, force.error);
	force_group = force.group;
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct sigaction action, old;
		memset(&action, 0, sizeof action);
		action.sa_handler = pass_on;
		action.sa_flags = (int)SA_RESETHAND;
		sigemptyset(&action.sa_mask);
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

static void finish_force(void)
{
	if (nb_coprocess_finish(&force))
		force_failed(NULL, force.error);
	force_group = 0;
}

/* ---- columns ---------------------------------------------------------------------------------------- */

static _Noreturn void no_memory(const struct state *s)
{
	nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, s->nframe);
}

static double *updated_in(struct state *s, enum nb_field field, const struct nb_space *space)
{
	double *data = nb_column_update(nb_frame_field(&s->frame, field), space, NB_AS_F64);
	if (!data)
		no_memory(s);
	return data;
}

static const double *contents_in(struct state *s, enum nb_field field, const struct nb_space *space)
{
	const double *data = nb_column_read(nb_frame_field(&s->frame, field), space, NB_AS_F64);
	if (!data)
		no_memory(s);
	return data;
}

static double *updated(struct state *s, enum nb_field field)
{
	return updated_in(s, field, backend->space);
}

static double *updated_on_host(struct state *s, enum nb_field field)
{
	return updated_in(s, field, &nb_space_host);
}

static const double *contents(struct state *s, enum nb_field field)
{
	return contents_in(s, field, backend->space);
}

static const double *contents_on_host(struct state *s, enum nb_field field)
{
	return contents_in(s, field, &nb_space_host);
}

static void done(int status, const struct state *s)
{
	if (status)
		nb_die(NB_EXIT_FAILED, "backend %s failed in step %" PRIu64 ": %s", backend->name, s->step,
			nb_backend_error(backend, status));
}

/* Steps are small against positions: what changes is kept in f64 whatever the width of the input. */
static void widen(struct state *s, enum nb_field field)
{
	struct nb_column *column = nb_require_field(&s->frame, field, s->nframe);
	if (strcmp(column->dtype, "<f8") == 0)
		return;
	const size_t count = column->rows * column->ncomp;
	const double *narrow = nb_column_read(column, &nb_space_host, NB_AS_F64);
	double *wide = narrow ? nb_alloc(count, sizeof *wide) : NULL;
	if (!wide)
		no_memory(s);
	memcpy(wide, narrow, count * sizeof *wide);
	char unit[NB_UNIT_SIZE + 1];
	strcpy(unit, column->unit);
	column = nb_frame_add(
		&s->frame, nb_field_info[field].name, column->table, "<f8", column->ncomp, unit, column->flags);
	if (!column)
		no_memory(s);
	nb_column_adopt(column, wide);
}

/* Every column that steps change. */
static void widen_moving(struct state *s)
{
	widen(s, NB_POS);
	widen(s, NB_VEL);
	if (opt.collide == MERGE) {
		widen(s, NB_MASS);
		widen(s, NB_RADIUS);
	}
}

static inline uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u; /* a finaliser in the manner of splitmix64 */
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

/* The ids on the host, of whatever width they are; one of the two is NULL. */
struct ids {
	const uint64_t *exact;
	const double *narrow; /* in fewer bits than 64, which f64 holds exactly */
};

/* 0 where there are none. */
static int read_ids(const struct state *s, struct ids *ids)
{
	struct nb_column *column = nb_frame_field(&s->frame, NB_ID);
	if (!column)
		return 0;
	const int exact = strcmp(column->dtype, "<u8") == 0;
	const void *data = nb_column_read(column, &nb_space_host, exact ? NB_WIRE : NB_AS_F64);
	if (!data)
		no_memory(s);
	*ids = (struct ids){exact ? data : NULL, exact ? NULL : data};
	return 1;
}

static inline uint64_t id_at(const struct ids *ids, size_t i)
{
	return ids->exact ? ids->exact[i] : (uint64_t)ids->narrow[i];
}

/* Sum of a hash of each id: the same for any order, and hardly ever for other ids. */
static uint64_t fingerprint(const struct state *s)
{
	const size_t n = s->frame.rows[NB_PARTICLE];
	struct ids ids;
	uint64_t sum = 0;
	if (!read_ids(s, &ids))
		return 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum) if (n > PARALLEL)
	for (size_t i = 0; i < n; i++)
		sum += mixed(id_at(&ids, i));
	return sum;
}

/* ---- a frame in and out ----------------------------------------------------------------------------- */

static void load(struct state *s)
{
	nb_require_field(&s->frame, NB_POS, s->nframe);
	nb_require_field(&s->frame, NB_VEL, s->nframe);
	if (opt.collide != NONE) {
		nb_require_field(&s->frame, NB_MASS, s->nframe);
		if (!nb_frame_field(&s->frame, NB_RADIUS))
			nb_die(NB_EXIT_FAILED,
				"field 'radius' missing in frame %" PRIu64
				" ('--collide' needs it; 'nb-gen --radius' adds it)",
				s->nframe);
	}
	nb_require_finite(&s->frame, s->nframe);
	s->time = nb_require_attribute(&s->frame, "time", 0, s->nframe);
	s->time_rest = nb_require_attribute(&s->frame, "time_rest", 0, s->nframe);
	s->pending = nb_require_attribute(&s->frame, "pending_kick", 0, s->nframe);
	double step = nb_require_attribute(&s->frame, "step", 0, s->nframe);
	if (!(step >= 0 && step < 0x1p53) || step != floor(step))
		nb_die(NB_EXIT_FAILED, "attribute step='%s' of frame %" PRIu64 " (want an integer >= 0)",
			nb_frame_attribute(&s->frame, "step"), s->nframe);
	s->step = (uint64_t)step;
	s->ids = fingerprint(s);
}

/* Always after the other attributes, so that their order does not tell how a state was reached. */
static void set_attributes(struct state *s)
{
	char text[24];
	static const char *const ours[] = {"time", "time_rest", "step", "pending_kick"};
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		nb_frame_drop_attribute(&s->frame, ours[i]);
	snprintf(text, sizeof text, "%" PRIu64, s->step);
	nb_require_attribute_set_f64(&s->frame, "time", s->time);
	if (s->time_rest != 0)
		nb_require_attribute_set_f64(&s->frame, "time_rest", s->time_rest);
	nb_require_attribute_set(&s->frame, "step", text);
	if (s->pending != 0)
		nb_require_attribute_set_f64(&s->frame, "pending_kick", s->pending);
}

static void keep_history(struct state *s)
{
	nb_frame_clear(&s->past);
	for (size_t i = 0; i < s->frame.nattribute; i++)
		if (strcmp(s->frame.attribute[i].key, "history") == 0 &&
			nb_frame_add_attribute(&s->past, "history", s->frame.attribute[i].value))
			no_memory(s);
	nb_frame_drop_attribute(&s->frame, "history");
}

static void output(struct state *s, struct nb_writer *out)
{
	set_attributes(s);
	for (size_t i = 0; i < s->past.nattribute; i++)
		if (nb_frame_add_attribute(&s->frame, "history", s->past.attribute[i].value))
			no_memory(s);
	nb_require_history(&s->frame);
	nb_require_written(out, &s->frame);
	nb_frame_drop_attribute(&s->frame, "history");
}

/* ---- physics ---------------------------------------------------------------------------------------- */

/* Velocities up to the time of the positions. */
static void finish_kick(struct state *s)
{
	if (s->pending == 0)
		return;
	double *vel = updated(s, NB_VEL);
	done(backend->kick(s->frame.rows[NB_PARTICLE], vel, contents(s, NB_ACC), s->pending), s);
	done(backend->finish(), s);
	s->pending = 0;
}

static void advance_clock(struct state *s, double dt)
{
	/* an exact sum of two (Knuth), so that any way of splitting a run gives the same times */
	double y = dt + s->time_rest, t = s->time + y, part = t - s->time;
	s->time_rest = (s->time - (t - part)) + (y - part);
	s->time = t;
	s->step++;
}

/* All fields that follow from positions, whether or not their writer flagged them so. */
static void drop_stale(struct state *s)
{
	static const enum nb_field fields[] = {NB_ACC, NB_POT, NB_JERK, NB_KEY};
	nb_frame_drop_derived(&s->frame);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		nb_frame_drop(&s->frame, nb_field_info[fields[i]].name);
}

/* ---- solid bodies ------------------------------------------------------------------------------------- */

/* The ids as integers, in memory of their own; NULL: there are none. */
static uint64_t *copy_of_ids(struct state *s)
{
	const size_t n = s->frame.rows[NB_PARTICLE];
	struct ids ids;
	if (!read_ids(s, &ids))
		return NULL;
	uint64_t *id = nb_alloc(n, sizeof *id);
	if (!id)
		no_memory(s);
	for (size_t i = 0; i < n; i++)
		id[i] = id_at(&ids, i);
	return id;
}

/* The velocities that a step of Euler or Taylor moves a body on, mean, and those that it ends with, end. */
static void straighten(struct state *s, double dt, double *mean, double *end)
{
	const size_t n = s->frame.rows[NB_PARTICLE], bytes = 3 * n * sizeof(double);
	const double *vel = contents_on_host(s, NB_VEL), *acc = contents_on_host(s, NB_ACC);
	memcpy(mean, vel, bytes);
	memcpy(end, vel, bytes);
	done(nb_kick_cpu(n, end, acc, dt), s);
	if (opt.integrator == TAYLOR) {
		const double *jerk = contents_on_host(s, NB_JERK);
		done(nb_kick_cpu(n, end, jerk, dt * dt / 2), s);
		done(nb_kick_cpu(n, mean, acc, dt / 2), s);
		done(nb_kick_cpu(n, mean, jerk, dt * dt / 6), s);
	}
}

/* The drift of a step as solid bodies, on the host whatever the backend.  Returns the rows of those that mergers
 * left, *left of them, in memory from nb_alloc, or NULL if all did. */
static uint32_t *drift_solid(struct state *s, double dt, size_t *left)
{
	static int warned;
	const size_t n = s->frame.rows[NB_PARTICLE];
	const int split = opt.integrator != LEAPFROG; /* two velocities */
	double *velocities = split ? nb_alloc(2 * 3 * n, sizeof *velocities) : NULL;
	uint32_t *keep = opt.collide == MERGE ? nb_alloc(n, sizeof *keep) : NULL;
	if ((split && !velocities) || (opt.collide == MERGE && !keep))
		no_memory(s);
	if (split)
		straighten(s, dt, velocities, velocities + 3 * n);
	uint64_t *id = copy_of_ids(s);
	const double *acc = contents_on_host(s, NB_ACC);
	double *vel = updated_on_host(s, NB_VEL);
	const struct nb_collide c = {
		.n = n,
		.mode = opt.collide == MERGE ? NB_COLLIDE_MERGE : NB_COLLIDE_ELASTIC,
		.dt = dt,
		.pos = updated_on_host(s, NB_POS),
		.vel = split ? velocities : vel,
		.later = split ? velocities + 3 * n : NULL,
		.mass = updated_on_host(s, NB_MASS),
		.radius = updated_on_host(s, NB_RADIUS),
		.id = id,
		.keep = keep,
		.acc = acc,
		.lag = opt.integrator == EULER ? 0 : dt / 2,
	};
	struct nb_collide_count count = {n, 0, 0};
	int status = nb_collide_cpu(&c, &count);
	if (status)
		meter_clear();
	if (status == NB_EINVAL) /* the pipeline's work: those that came in have been looked at */
		nb_require_finite(&s->frame, s->nframe);
	if (status == NB_ENONFINITE) /* as without radii, so that this is told in the same way */
		status = nb_drift_cpu(n, c.pos, c.vel, dt) ||
					 nb_column_first_nonfinite(nb_frame_field(&s->frame, NB_POS)) >= n
				 ? NB_ENONFINITE
				 : NB_OK;
	done(status, s);
	if (split)
		memcpy(vel, c.later, 3 * n * sizeof *vel);
	s->contacts += count.contacts;
	if (count.limited && !warned) {
		warned = 1;
		meter_clear();
		nb_warn("%" PRIu64 " bod%s collided %d times in step %" PRIu64
			" and passed through others from then on (time step too large?)",
			count.limited, count.limited == 1 ? "y" : "ies", NB_COLLIDE_MOST, s->step + 1);
	}
	nb_free(velocities);
	nb_free(id);
	*left = count.left;
	if (count.left < n)
		return keep;
	nb_free(keep);
	return NULL;
}

static void advance_solid(struct state *s, double dt)
{
	size_t left;
	if (opt.integrator == LEAPFROG) {
		done(backend->kick(s->frame.rows[NB_PARTICLE], updated(s, NB_VEL), contents(s, NB_ACC), dt / 2), s);
		done(backend->finish(), s);
		s->pending = dt / 2;
	}
	uint32_t *keep = drift_solid(s, dt, &left);
	drop_stale(s);
	if (!keep)
		return;
	if (nb_frame_keep_rows(&s->frame, NB_PARTICLE, left, keep))
		no_memory(s);
	nb_free(keep);
	s->ids = fingerprint(s);
}

/* ---- steps -------------------------------------------------------------------------------------------- */

static void advance_points(struct state *s, double dt)
{
	const size_t n = s->frame.rows[NB_PARTICLE];
	double *pos = updated(s, NB_POS), *vel = updated(s, NB_VEL);
	const double *acc = contents(s, NB_ACC);
	switch ((enum integrator)opt.integrator) {
	case LEAPFROG:
		done(backend->kick(n, vel, acc, dt / 2), s);
		done(backend->drift(n, pos, vel, dt), s);
		s->pending = dt / 2;
		break;
	case EULER:
		done(backend->drift(n, pos, vel, dt), s);
		done(backend->kick(n, vel, acc, dt), s);
		break;
	case TAYLOR: done(backend->taylor(n, pos, vel, acc, contents(s, NB_JERK), dt), s); break;
	}
	done(backend->finish(), s);
	drop_stale(s);
}

/* One step, short of the second half kick of leapfrog, which needs the force at the new positions. */
static void advance(struct state *s, double dt)
{
	if (opt.collide == NONE)
		advance_points(s, dt);
	else
		advance_solid(s, dt);
	advance_clock(s, dt);
	size_t bad = nb_column_first_nonfinite(nb_frame_field(&s->frame, NB_POS));
	if (bad == SIZE_MAX)
		no_memory(s);
	if (bad < s->frame.rows[NB_PARTICLE]) {
		meter_clear();
		nb_die(NB_EXIT_FAILED,
			"the body with id %" PRIu64 " leaves the range of numbers in step %" PRIu64
			" (time step %g too large?)",
			nb_require_body_id(&s->frame, bad), s->step, dt);
	}
}

/* Largest |acc|; a body whose acceleration is not finite ends the tool. */
static double largest_acc(struct state *s, const char *whose)
{
	static const enum nb_field fields[] = {NB_ACC, NB_JERK};
	double largest;
	done(backend->largest_acc(s->frame.rows[NB_PARTICLE], contents(s, NB_ACC), &largest), s);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		struct nb_column *column = nb_frame_field(&s->frame, fields[i]);
		if (!column || (fields[i] == NB_ACC ? isfinite(largest) : opt.integrator != TAYLOR))
			continue;
		size_t bad = nb_column_first_nonfinite(column);
		if (bad == SIZE_MAX)
			no_memory(s);
		if (bad < column->rows) {
			meter_clear();
			nb_die(NB_EXIT_FAILED,
				"field '%s' of the body with id %" PRIu64 " is not finite in %s %" PRIu64, column->name,
				nb_require_body_id(&s->frame, bad), whose, pipeline ? s->step : s->nframe);
		}
	}
	return largest;
}

static const char *missing_field(const struct state *s)
{
	if (!nb_frame_field(&s->frame, NB_ACC))
		return "acc";
	return opt.integrator == TAYLOR && !nb_frame_field(&s->frame, NB_JERK) ? "jerk" : NULL;
}

static double choose_dt(struct state *s)
{
	if (!opt.eta_given)
		return opt.dt;
	double eps = nb_require_attribute(&s->frame, "softening", 0, s->nframe);
	double a = largest_acc(s, pipeline ? "step" : "frame");
	double dt = opt.eta * sqrt(eps / a);
	if (!(eps > 0))
		nb_die(NB_EXIT_FAILED,
			"option '--eta' needs a softening, and attribute softening of frame %" PRIu64
			" is %g (give nb-force a softening > 0)",
			s->nframe, eps);
	if (opt.dt_given && !(dt <= fabs(opt.dt)))
		dt = fabs(opt.dt);
	if (!isfinite(dt) && !opt.until_given)
		nb_die(NB_EXIT_FAILED,
			"no body of frame %" PRIu64 " is accelerated, so '--eta' sets no time step "
			"(give -d as the largest one)",
			s->nframe);
	if (dt == 0)
		nb_die(NB_EXIT_FAILED, "an acceleration of frame %" PRIu64 " is too large for '--eta'", s->nframe);
	return opt.dt < 0 ? -dt : dt;
}

/* ---- with a force pipeline ---------------------------------------------------------------------------- */

/* Velocities stay here while the other columns go through the pipeline, for which they would be a third of the
 * load: in their place goes where each body is in the order of sending, and the pipeline permutes that. */
static const char row_name[] = "nb_step_row";

struct sent {
	struct nb_frame kept; /* vel */
	size_t n, ncolumn;
	char (*name)[NB_NAME_SIZE + 1]; /* of each column sent */
};

static void keep_velocities(struct state *s, struct sent *sent)
{
	struct nb_frame *kept = &sent->kept;
	nb_frame_init(kept);
	if (opt.send_velocities || opt.integrator == TAYLOR)
		return; /* jerks need velocities, too */
	if (sent->n > UINT32_MAX)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has %zu bodies (limit %" PRIu32 ")", s->nframe, sent->n,
			UINT32_MAX);
	kept->rows[NB_PARTICLE] = sent->n;
	struct nb_column *column = nb_frame_add(kept, row_name, NB_PARTICLE, "<u4", 1, "", 0);
	uint32_t *row = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
	if (!row)
		no_memory(s);
	for (size_t i = 0; i < sent->n; i++)
		row[i] = (uint32_t)i;
	nb_frame_exchange(&s->frame, "vel", kept, row_name);
}

/* Puts the velocities back, in the order in which the bodies came back. */
static void return_velocities(struct state *s, struct sent *sent)
{
	struct nb_frame sorted;
	struct nb_column *column = nb_frame_find(&s->frame, row_name);
	const size_t n = sent->n;
	if (!sent->kept.ncolumn)
		return;
	const uint32_t *row = NULL;
	if (strcmp(column->dtype, "<u4") == 0 && column->ncomp == 1)
		row = nb_column_read(column, &nb_space_host, NB_WIRE);
	uint64_t sum = 0, want = 0;
	size_t outside = 0, moved = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum, want, outside, moved) if (n > PARALLEL)
	for (size_t i = 0; i < (row ? n : 0); i++) {
		outside += row[i] >= n;
		moved += row[i] != i;
		sum += mixed(row[i]);
		want += mixed(i);
	}
	if (!row || outside || sum != want)
		force_failed(s, "changed the column 'nb_step_row'");
	nb_frame_drop(&s->frame, "vel"); /* should somebody have made one */
	if (!moved) {
		nb_frame_exchange(&s->frame, row_name, &sent->kept, "vel");
		nb_frame_clear(&sent->kept);
		return;
	}
	nb_frame_init(&sorted);
	sorted.rows[NB_PARTICLE] = n;
	struct nb_column *from = nb_frame_field(&sent->kept, NB_VEL);
	struct nb_column *to = nb_frame_add(
		&sorted, from->name, from->table, from->dtype, from->ncomp, from->unit, from->flags);
	const void *source = nb_column_read(from, backend->space, NB_WIRE);
	void *target = to ? nb_column_write(to, backend->space, NB_WIRE) : NULL;
	row = nb_column_read(nb_frame_find(&s->frame, row_name), backend->space, NB_WIRE);
	if (!source || !target || !row)
		no_memory(s);
	done(backend->permute(n, row, from->rowsize, source, target), s);
	done(backend->finish(), s);
	nb_frame_exchange(&s->frame, row_name, &sorted, "vel");
	nb_frame_clear(&sorted);
	nb_frame_clear(&sent->kept);
}

static void send_frame(struct state *s, struct sent *sent)
{
	sent->n = s->frame.rows[NB_PARTICLE];
	keep_velocities(s, sent);
	sent->ncolumn = s->frame.ncolumn;
	sent->name = calloc(sent->ncolumn + 1, sizeof *sent->name);
	if (!sent->name)
		no_memory(s);
	for (size_t i = 0; i < sent->ncolumn; i++) {
		struct nb_column *column = &s->frame.column[i];
		memcpy(sent->name[i], column->name, sizeof column->name);
		/* the thread that writes finds all of it in host memory */
		if (!nb_column_read(column, &nb_space_host, NB_WIRE))
			no_memory(s);
		nb_column_trim(column);
	}
	set_attributes(s);
	if (nb_coprocess_send(&force, &s->frame))
		force_failed(s, force.error);
}

/* The frame that came back must be the one that was sent, with a force added, in any order. */
static void check_answer(const struct state *s, const struct sent *sent)
{
	char what[160];
	double step;
	const char *tag = nb_frame_attribute(&s->frame, "step"), *missing = missing_field(s);
	if (nb_frame_attribute_f64(&s->frame, "step", -1, &step) || step != (double)s->step) {
		snprintf(what, sizeof what, "returned a frame of step %.20s", tag ? tag : "none");
		force_failed(s, what);
	}
	if (s->frame.rows[NB_PARTICLE] != sent->n) {
		snprintf(what, sizeof what, "returned %" PRIu64 " bodies for %zu", s->frame.rows[NB_PARTICLE], sent->n);
		force_failed(s, what);
	}
	int had_id = 0;
	for (size_t i = 0; i < sent->ncolumn; i++) {
		had_id |= strcmp(sent->name[i], "id") == 0;
		if (!missing && !nb_frame_find(&s->frame, sent->name[i]))
			missing = sent->name[i];
	}
	if (missing) {
		const char *hint = strcmp(missing, "jerk") == 0 ? " (want nb-force --jerk)" : "";
		snprintf(what, sizeof what, "returned no field '%s'%s", missing, hint);
		force_failed(s, what);
	}
	if (had_id && fingerprint(s) != s->ids)
		force_failed(s, "returned other ids than it was given");
}

/* Waits for the pipeline to begin its answer. */
static void wait_for_answer(const struct state *s)
{
	static double longest;
	static int warned;
	const double start = nb_now();
	if (!warned && !nb_coprocess_answers(&force, fmax(PATIENCE, PATIENCE_FACTOR * longest))) {
		warned = 1;
		meter_clear();
		nb_warn("no answer from the force pipeline '%s' in %.0f seconds in step %" PRIu64
			" (does a program in it wait for the end of its input?)",
			pipeline, nb_now() - start, s->step);
	}
	longest = fmax(longest, nb_now() - start);
}

/* Passes the frame through the pipeline; what comes back is the frame from then on. */
static void compute_force(struct state *s)
{
	/* what sorting and tree building leave belongs to one force alone and is larger than all else */
	static const char *const left_over[] = {"key_cube", "tree", "leaf_size", "order", "level"};
	const double start = nb_now();
	struct sent sent;
	drop_stale(s);
	send_frame(s, &sent);
	wait_for_answer(s);
	if (nb_coprocess_receive(&force, &s->frame))
		force_failed(s, force.error);
	check_answer(s, &sent);
	return_velocities(s, &sent);
	free(sent.name);
	widen_moving(s);
	nb_frame_drop(&s->frame, "key");
	nb_frame_drop_table(&s->frame, NB_NODE);
	nb_frame_drop_table(&s->frame, NB_BOX);
	for (size_t i = 0; i < sizeof left_over / sizeof *left_over; i++)
		nb_frame_drop_attribute(&s->frame, left_over[i]);
	nb_frame_drop_attribute(&s->frame, "history");
	largest_acc(s, "step");
	force_seconds += nb_now() - start;
}

/* Time until --until in the direction of dt; <= 0 once it is reached. */
static double time_left(const struct state *s, double dt)
{
	double left = (opt.until - s->time) - s->time_rest;
	return dt < 0 ? -left : left;
}

static void integrate(struct state *s, struct nb_writer *out)
{
	uint64_t k = 0;
	int written = 0;
	keep_history(s);
	widen_moving(s);
	if (missing_field(s))
		compute_force(s);
	else
		largest_acc(s, "step");
	finish_kick(s);
	for (;; k++) {
		written = opt.every && k % opt.every == 0;
		if (written)
			output(s, out);
		if (k == opt.steps)
			break;
		double dt = choose_dt(s);
		int last = 0;
		if (opt.until_given) {
			double left = time_left(s, dt);
			if (!(left > (opt.eta_given ? 0 : fabs(dt) / 2)))
				break;
			last = opt.eta_given && left <= fabs(dt);
			if (last)
				dt = dt < 0 ? -left : left;
		}
		advance(s, dt);
		if (last) {
			s->time = opt.until;
			s->time_rest = 0;
		}
		compute_force(s);
		finish_kick(s);
		meter_show(s, k + 1);
	}
	if (!written)
		output(s, out);
	meter_clear();
}

/* ---- as a filter -------------------------------------------------------------------------------------- */

static void step_once(struct state *s, struct nb_writer *out)
{
	const char *missing = opt.steps						      ? missing_field(s)
			      : s->pending != 0 && !nb_frame_field(&s->frame, NB_ACC) ? "acc"
										      : NULL;
	if (missing)
		nb_die(NB_EXIT_FAILED,
			"field '%s' missing in frame %" PRIu64
			" (put 'nb-force%s' before, or give the force pipeline as operand)",
			missing, s->nframe, strcmp(missing, "jerk") == 0 ? " --jerk" : "");
	if (opt.steps || s->pending != 0) {
		widen_moving(s);
		largest_acc(s, "frame");
		finish_kick(s);
		if (opt.steps)
			advance(s, choose_dt(s));
	}
	keep_history(s);
	output(s, out);
}

static void check_options(void)
{
	if (opt.dt_given && opt.dt == 0)
		nb_die(NB_EXIT_USAGE, "invalid dt '0' (want a finite number other than 0)");
	if (!opt.dt_given && !opt.eta_given && !(opt.steps_given && opt.steps == 0))
		nb_die(NB_EXIT_USAGE, "no time step (give -d or --eta)");
	if (!pipeline && (opt.until_given || opt.every_given || opt.steps > 1))
		nb_die(NB_EXIT_USAGE,
			"option '%s' needs the force pipeline as operand (without it one step a frame is made)",
			opt.until_given	  ? "--until"
			: opt.every_given ? "--every"
					  : "--steps");
	if (!pipeline && opt.send_velocities)
		nb_die(NB_EXIT_USAGE, "option '--send-velocities' needs the force pipeline as operand");
	if (opt.until_given && !opt.steps_given)
		opt.steps = UINT64_MAX;
}

int main(int argc, char **argv)
{
	struct nb_reader in;
	struct nb_writer out;
	struct state s;
	char why[NB_BACKEND_WHY];

	int operand = nb_options_parse(&command, argc, argv);
	pipeline = operand < argc ? argv[operand] : NULL;
	check_options();
	/* frames come and go through the host's memory, and a step costs less than a transfer */
	const char *name = strcmp(nb_common.backend, "auto") == 0 ? "cpu" : nb_common.backend;
	int status = nb_backend_choose(name, &backend, why);
	if (status)
		nb_die(status == NB_EINVAL ? NB_EXIT_USAGE : NB_EXIT_FAILED, "backend '%s': %s", name, why);
	nb_require_input(&in);
	nb_require_output(&out);
	memset(&s, 0, sizeof s);
	if (pipeline)
		start_force();
	double start = nb_now();
	while (nb_require_frame(&in, &s.frame)) {
		s.nframe = in.nframe - 1;
		load(&s);
		if (!pipeline) {
			step_once(&s, &out);
			continue;
		}
		meter_start(&s);
		integrate(&s, &out);
	}
	if (pipeline) {
		finish_force();
		nb_verbose("%.4g s, of which %.4g s in the force pipeline", nb_now() - start, force_seconds);
	}
	if (opt.collide != NONE)
		nb_verbose("%" PRIu64 " %s%s", s.contacts, opt.collide == MERGE ? "merger" : "collision",
			s.contacts == 1 ? "" : "s");
	nb_require_closed(&out);
	nb_frame_clear(&s.frame);
	nb_frame_clear(&s.past);
	nb_reader_close(&in);
	return NB_EXIT_OK;
}
