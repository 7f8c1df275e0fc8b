#include "tools/filter/choose.h"

#include <string.h>

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
