/* Which of the steps dt/2^level a body makes (step.h). */
#include "tools/nb-step/step.h"

#include <math.h>

double nb_step_level_length(const struct step *s, int level)
{
	return ldexp(1, s->opt.levels - 1 - level);
}

int nb_step_level_is_too_long(const struct step *s, int level, double scale, double rate)
{
	const double h = nb_step_level_length(s, level);
	return h > (rate != 0 ? 1.05 * scale * exp(rate * h * s->blocks.unit / 2) : scale);
}

int nb_step_choose_level(struct step *s, int level, double scale, double rate, double now)
{
	struct blocks *b = &s->blocks;
	scale *= sqrt(s->opt.eta) / fabs(b->unit);
	level = level < s->opt.levels ? level : s->opt.levels - 1;
	if (level > 0 && !nb_step_level_is_too_long(s, level - 1, scale, rate) &&
		fmod(now, nb_step_level_length(s, level - 1)) == 0)
		level--;
	while (level + 1 < s->opt.levels && nb_step_level_is_too_long(s, level, scale, rate))
		level++;
	if (level + 1 == s->opt.levels) {
		b->last++;
		b->hasty += nb_step_level_is_too_long(s, level, scale, rate);
	}
	b->deepest = level > b->deepest ? level : b->deepest;
	return level;
}

int nb_step_choose_level_by_field(struct step *s, const struct wish *w, size_t i, double now)
{
	struct blocks *b = &s->blocks;
	int level = 0, wants = 0;
	for (; level + 1 < s->opt.levels; level++) {
		wants = nb_step_wants_less(w, i, nb_step_level_length(s, level) * fabs(b->unit));
		if (!wants && fmod(now, nb_step_level_length(s, level)) == 0)
			break;
	}
	if (wants == 2)
		nb_step_refuse_wish(s);
	if (level + 1 == s->opt.levels) {
		b->last++;
		b->hasty += nb_step_wants_less(w, i, nb_step_level_length(s, level) * fabs(b->unit));
	}
	b->deepest = level > b->deepest ? level : b->deepest;
	return level;
}
