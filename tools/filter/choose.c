#include "tools/filter/choose.h"

#include <inttypes.h>
#include <string.h>

void nb_choose_backend(struct nb_run *run, const char *name)
{
	char why[NB_BACKEND_WHY];
	int status = nb_backend_choose(name, &run->backend, why);
	if (status)
		nb_die(status == NB_EINVAL ? NB_EXIT_USAGE : NB_EXIT_FAILED, "backend '%s': %s", name, why);
}

void nb_require_done(const struct nb_run *run, int status, const char *what, const struct nb_frame *frame)
{
	if (status)
		nb_die(NB_EXIT_FAILED, "%s frame %" PRIu64 " on backend %s: %s", what, frame->number,
			run->backend->name, nb_backend_error(run->backend, status));
}

/* A tool that only looks at frames does so where they are: moving one costs more than looking at it. */
static const char *place_of(const struct nb_frame *frame)
{
	const struct nb_column *pos = nb_frame_field(frame, NB_POS);
	int device = 0;
	for (int i = 0; pos && i < NB_MAX_COPIES; i++) {
		const struct nb_copy *copy = &pos->copy[i];
		if (copy->space && copy->valid && copy->space->device < 0)
			return "cpu";
		device |= copy->space && copy->valid;
	}
	return device ? "cuda" : "cpu";
}

void nb_require_backend(struct nb_run *run, const struct nb_frame *frame)
{
	if (run->backend || !(run->tool->common & (NB_COMMON_BACKEND | NB_COMMON_LOOKER)))
		return;
	nb_choose_backend(run, run->tool->common & NB_COMMON_LOOKER ? place_of(frame) : run->common.backend);
}
