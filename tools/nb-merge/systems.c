/* Inputs that hold many systems, where nothing numbers these anew (--systems). */
#include "tools/filter/systems.h"
#include "tools/filter/require.h"
#include "tools/nb-merge/merge.h"

#include <inttypes.h>

void nb_merge_require_systems(const struct merge *opt)
{
	char name[NB_SOURCE_NAME];
	const struct input *has = NULL, *lacks = NULL;
	for (int k = 0; k < opt->ninput && !opt->systems; k++) {
		const struct input *input = &opt->input[k];
		if (input->frame.rows[NB_PARTICLE] == 0)
			continue;
		*(nb_frame_field(&input->frame, NB_SYSTEM) ? &has : &lacks) = input;
	}
	if (has && lacks)
		nb_die(NB_EXIT_FAILED,
			"missing in frame %" PRIu64
			" of %s: system (give '--systems' to keep systems apart, or put nb-calc 'system = 0' before "
			"for one)",
			lacks->frame.number, nb_source_name(&lacks->source, name));
}

static const struct input *input_of(const struct merge *opt, size_t row)
{
	int k = 0;
	while (k + 1 < opt->ninput && row >= opt->input[k + 1].first)
		k++;
	return &opt->input[k];
}

void nb_merge_warn_of_systems(struct merge *opt, struct nb_frame *frame)
{
	struct nb_systems systems;
	char name[2][NB_SOURCE_NAME];
	if (opt->systems || opt->ninput < 2 || !nb_frame_field(frame, NB_SYSTEM) ||
		nb_frame_attribute(&opt->reported, "systems"))
		return;
	nb_find_systems(frame, &systems);
	for (size_t k = 0; k < systems.n; k++) {
		const struct input *a = input_of(opt, systems.row[systems.first[k]]);
		const struct input *b = input_of(opt, systems.row[systems.first[k + 1] - 1]);
		if (a == b)
			continue;
		(void)nb_report_once(&opt->reported, "systems");
		nb_warn("system %" PRIu64
			" has bodies of %s and of %s, which pull each other (give '--systems' to keep them apart)",
			systems.number[k], nb_source_name(&a->source, name[0]), nb_source_name(&b->source, name[1]));
		break;
	}
	nb_free_systems(&systems);
}
