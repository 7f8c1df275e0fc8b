/* nb-force -m and -p: the method; the order of the multipoles, or of the expansions of fmm. */
#include "tools/nb-force/force.h"

#include <inttypes.h>

const char *const nb_method_name[] = {"auto", "direct", "tree", "near", "fmm", "treepm"};

enum method nb_force_method(const struct force *opt, int tree, int boxes)
{
	if (opt->kernel)
		return opt->kernel->traits & NB_PAPER_BOXES ? METHOD_NEAR : METHOD_DIRECT;
	if (opt->method != METHOD_AUTO)
		return (enum method)opt->method;
	if (tree || opt->theta_given || opt->mac_given || opt->accuracy > 0)
		return METHOD_TREE;
	return boxes ? METHOD_NEAR : METHOD_DIRECT;
}

enum method nb_force_at_method(const struct force *opt)
{
	return nb_force_method(opt, 0, 0);
}

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
