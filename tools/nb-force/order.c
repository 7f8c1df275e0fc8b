/* nb-force -p: the order of the multipoles, or of the expansions of fmm. */
#include "tools/nb-force/force.h"

#include <inttypes.h>

enum { MOST = 4 };

void nb_force_check_order(const struct force *opt)
{
	if (!opt->order_given)
		return;
	const int tree = nb_force_method(opt, 0, 0) == METHOD_TREE;
	if (opt->method != METHOD_FMM && !tree)
		nb_die(NB_EXIT_USAGE, "option '--order' needs '--method tree' or fmm");
	if (tree && opt->order > MOST)
		nb_die(NB_EXIT_USAGE, "option '--order' is %d (limit %d for method tree)", opt->order, MOST);
	if (tree && opt->order > 2 && opt->jerk)
		nb_die(NB_EXIT_USAGE, "option '--jerk' of method tree goes with '--order' 1 or 2");
}

void nb_force_refuse_order(const struct nb_run *run, const struct force *opt, const struct nb_frame *frame)
{
	nb_die(NB_EXIT_FAILED,
		"method tree has no order %d for frame %" PRIu64 " on backend %s (want nb-build-tree -p 2 for order 2)",
		opt->order, frame->number, run->backend->name);
}
