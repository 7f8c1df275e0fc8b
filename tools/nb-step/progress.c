/* Progress of a run: one line on a terminal, rewritten in place; elsewhere a line a minute. */
#include "common/timer.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

void nb_step_progress_clear(struct progress *p)
{
	if (p->width)
		dprintf(nb_voice_file(), "\r%*s\r", p->width, "");
	p->width = 0;
}

void nb_step_progress_start(struct step *s)
{
	struct progress *p = &s->progress;
	p->quiet = nb_verbosity() < 0;
	p->wanted = !p->quiet && isatty(nb_voice_file());
	p->start = p->shown = nb_now();
	p->first_time = s->clock.now.time;
}

void nb_step_progress_show(struct step *s, uint64_t done)
{
	struct progress *p = &s->progress;
	if (p->quiet)
		return;
	const double now = p->wanted ? nb_now() : nb_now_roughly(), elapsed = now - p->start;
	if (p->wanted ? elapsed < 1 || now - p->shown < 0.2 : now - p->shown < 60)
		return;
	p->shown = now;
	char line[200], total[32] = "", left[40] = "", energy[40] = "";
	double part = nb_step_share_done(s, p->first_time);
	if (s->opt.steps != UINT64_MAX) {
		snprintf(total, sizeof total, " of %" PRIu64, s->opt.steps);
		part = fmax(part, (double)done / (double)s->opt.steps);
	}
	if (part > 0 && part <= 1) {
		const double rest = fmin(elapsed / part - elapsed, 1e9);
		const unsigned long seconds = (unsigned long)(rest + 0.5);
		snprintf(left, sizeof left, ", %lu:%02lu:%02lu left", seconds / 3600, seconds / 60 % 60, seconds % 60);
	}
	if (s->energy.looks)
		snprintf(energy, sizeof energy, ", energy error %.1e", s->energy.error);
	const int width = snprintf(line, sizeof line, "%s: step %" PRIu64 "%s, %c = %.6g, %.3g steps/s%s%s",
		nb_program(), done, total, s->opt.cosmology ? 'a' : 't', s->clock.now.time, (double)done / elapsed,
		energy, left);
	dprintf(nb_voice_file(), p->wanted ? "\r%-*s" : "%-*s\n", p->width, line);
	p->width = p->wanted ? width : 0;
}
