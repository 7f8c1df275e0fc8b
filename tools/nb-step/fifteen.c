/* The last step of a system by ias15 or ar, and states in it. */
#include "tools/nb-step/step.h"

double nb_step_fifteen_last(const struct fifteen_of *of)
{
	return of->is_ar ? of->ar.last : of->fifteen.last;
}

double nb_step_fifteen_ahead(const struct fifteen_of *of, const struct moment *now)
{
	return (of->ended.time - now->time) + (of->ended.rest - now->rest);
}

int nb_step_fifteen_at(const struct fifteen_of *of, const struct moment *now, double *x, double *v)
{
	const double after = (now->time - of->begun.time) - of->begun.rest;
	const double time = nb_step_fifteen_ahead(of, now) != 0 ? after : nb_step_fifteen_last(of);
	if (of->is_ar)
		return nb_ar_at(&of->ar, time, x, v);
	nb_ias15_at(&of->fifteen, time, x, v);
	return NB_OK;
}
