/* --resume: the last whole frame of a saved stream, which may have been cut, is where the run goes on. */
#include "common/named.h"
#include "common/whole.h"
#include "tools/filter/choose.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

void nb_step_check_saved(const struct step *s)
{
	const char *output = s->run->common.output;
	char part[PATH_MAX];
	struct stat file, out;
	if (!output || fstatat(nb_names_directory(), s->opt.resume, &file, 0))
		return;
	snprintf(part, sizeof part, "%s" NB_WHOLE_PART, output);
	if ((stat(output, &out) == 0 && is_same(&file, &out)) || (stat(part, &out) == 0 && is_same(&file, &out)))
		nb_die(NB_EXIT_USAGE,
			"'--output' is the file of '--resume', whose frames would be lost (want another file, or '>> "
			"%s' where it is whole)",
			s->opt.resume);
}

void nb_step_open_saved(struct step *s)
{
	char part[PATH_MAX];
	struct stat file;
	s->saved.file = nb_open_named(s->opt.resume, O_RDONLY);
	if (s->saved.file < 0 && errno == ENOENT) {
		snprintf(part, sizeof part, "%s" NB_WHOLE_PART, s->opt.resume);
		if (fstatat(nb_names_directory(), part, &file, 0) == 0)
			nb_die(NB_EXIT_FAILED,
				"'%s' is not there, but '%s' of a run that was stopped (want --resume %s)",
				s->opt.resume, part, part);
		errno = ENOENT;
	}
	if (s->saved.file < 0)
		nb_die(NB_EXIT_FAILED, "'%s':", s->opt.resume);
}

/* Whether standard output is a file, which this gives. */
static int writes_to_file(const struct step *s, struct stat *out)
{
	return s->run->files.link < 0 && fstat(STDOUT_FILENO, out) == 0 && S_ISREG(out->st_mode);
}

static int is_own_output(const struct step *s)
{
	struct stat file, out;
	return fstat(s->saved.file, &file) == 0 && writes_to_file(s, &out) && is_same(&file, &out);
}

static uint64_t step_of(const struct nb_frame *frame, const char *key)
{
	return (uint64_t)nb_require_integer_attribute(frame, key, 0, (int64_t)1 << 53, 0);
}

/* The frame, and the step with which its run began: that of the first frame, or of the first after which the count of
 * steps does not grow, as that is another run.  Returns why reading ended too early, NULL: it did not. */
static const char *read_last(struct step *s, struct nb_reader *in, struct nb_frame *last, uint64_t *count)
{
	struct nb_frame next;
	uint64_t before = 0;
	enum nb_answer answer;
	nb_frame_init(&next);
	for (*count = 0; (answer = nb_reader_next(in, &next)) == NB_FRAME; ++*count) {
		const uint64_t step = step_of(&next, "step");
		const int begins = *count == 0 || step <= before;
		if (begins)
			s->clock.first_step = step;
		s->saved.before_step = begins ? step : before;
		s->saved.before_time = s->saved.time;
		s->saved.time = nb_require_attribute(&next, "time", 0);
		before = step;
		nb_frame_clear(last);
		if (nb_frame_give(last, &next, 1))
			nb_out_of_memory(last);
	}
	nb_frame_clear(&next);
	return answer == NB_ERROR ? in->error : NULL;
}

static void refuse_own_output(const struct step *s, const char *cut, int empty)
{
	if (!is_own_output(s) || !cut)
		return;
	if (empty)
		nb_die(NB_EXIT_FAILED,
			"standard output is '%s' itself, which the shell has emptied (want another file)",
			s->opt.resume);
	nb_die(NB_EXIT_FAILED,
		"standard output is '%s' itself, whose end is cut: what is appended could not be read (want another "
		"file)",
		s->opt.resume);
}

/* A run without --every writes its first state; else it is noted in the frame that an interrupt has left. */
static void find_beginning(struct step *s, struct nb_frame *last)
{
	if (!s->opt.every && !s->opt.every_time_given)
		s->clock.first_step = step_of(last, "first_step");
}

void nb_step_read_saved(struct step *s, struct nb_frame *frame)
{
	struct nb_reader in;
	struct stat file;
	uint64_t count;
	if (nb_reader_open(&in, s->saved.file))
		nb_die(NB_EXIT_FAILED, "out of memory");
	const char *cut = read_last(s, &in, frame, &count);
	const int empty = fstat(s->saved.file, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == 0;
	refuse_own_output(s, cut, empty);
	if (empty)
		cut = "that run had not written any yet (--every, --every-time and --at write states)";
	if (count == 0)
		nb_die(NB_EXIT_FAILED, "'%s' has no whole frame to go on from%s%s", s->opt.resume, cut ? ": " : "",
			cut ? cut : "");
	find_beginning(s, frame);
	const uint64_t step = s->saved.step = s->clock.step = step_of(frame, "step");
	if (cut)
		nb_warn("'%s': %s; the run goes on from frame %" PRIu64 ", step %" PRIu64, s->opt.resume, cut,
			frame->number, step);
	else
		nb_verbose("the run goes on from frame %" PRIu64 " of '%s', step %" PRIu64, frame->number,
			s->opt.resume, step);
	nb_reader_close(&in);
	close(s->saved.file);
	s->saved.file = -1;
	nb_require_backend(s->run, frame);
}

/* The last two states of the saved run tell the length of its steps, unless it had several.  In an expanding universe
 * the last ones may be shorter, by less than half, to meet --until. */
static void warn_of_other_steps(const struct step *s)
{
	const struct saved *saved = &s->saved;
	const double most = s->opt.dt, least = s->opt.cosmology ? most / 2 : most;
	if (!s->opt.dt_given || s->opt.eta_given || s->opt.every_time_given || s->opt.at ||
		s->opt.integrator->has_own_steps || saved->before_step == saved->step)
		return;
	const double way = s->opt.cosmology ? nb_step_span(s, saved->before_time, saved->time)
					    : saved->time - saved->before_time;
	const double dt = way / (double)(saved->step - saved->before_step);
	const double off = 1e-6 + DBL_EPSILON * fabs(saved->time / most); /* times that are large are rounded by more */
	if (dt / most < 0 || (dt / most <= 1 + off && dt / least >= 1 - off)) /* or it goes back */
		return;
	nb_warn("'%s' was computed in steps of %.6g, and this run in steps of %.6g", s->opt.resume, dt, s->opt.dt);
}

void nb_step_begin_count(struct step *s)
{
	if (s->saved.resumed)
		warn_of_other_steps(s);
	else
		s->clock.first_step = s->clock.step;
}

void nb_step_warn_if_over(const struct step *s)
{
	if (s->run->passed_on && s->clock.step == s->saved.step && !s->run->interrupted)
		nb_warn("nothing is left to do: the run has all its steps in '%s'", s->opt.resume);
}

void nb_step_say_how_to_go_on(const struct step *s, int interrupted)
{
	const char *output = s->run->common.output;
	const int named = output && nb_whole_is_named(output);
	struct stat out;
	if (!interrupted || !s->opt.command || !(named || (!output && writes_to_file(s, &out))))
		return;
	if (nb_step_restart_needed(s) && !s->opt.restartable)
		nb_warn("the run ends with the whole state of step %" PRIu64
			", time %g (with '--restartable' it could go on from there)",
			s->clock.step, s->clock.now.time);
	else
		nb_warn("the run ends with the whole state of step %" PRIu64
			", time %g (the same command with '--resume %s'%s goes on, into another file)",
			s->clock.step, s->clock.now.time, named ? output : "FILE",
			named ? "" : ", the file of this output,");
}
