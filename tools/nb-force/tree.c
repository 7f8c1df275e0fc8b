/* nb-force of a tree that the frame does not have: nb-sort-zorder and nb-build-tree are instances of this one, so that
 * the forces are those of the three programs, wherever they compute. */
#include "tools/filter/plan.h"
#include "tools/filter/require.h"
#include "tools/filter/views.h"
#include "tools/nb-force/force.h"

#include <inttypes.h>
#include <stdio.h>

enum { SORT, BUILD };

/* NULL ends the list of arguments. */
static struct nb_run *new_maker(struct nb_run *run, const char *tool, char **argv)
{
	int argc = 0;
	while (argv[argc])
		argc++;
	struct nb_run *maker = nb_require_memory(NULL, nb_run_new(nb_tool_find(tool)));
	maker->voice.program = nb_program();
	const int status = nb_run_prepare(maker, argc, argv);
	if (status) { /* it has said why */
		nb_run_free(maker);
		nb_stop(run, status);
	}
	maker->common.no_history = 1;
	maker->placed.decided = 1; /* what it does is part of the plan for this one */
	maker->placed.fits = UINT64_MAX;
	return maker;
}

void nb_force_tree_check(struct nb_run *run, struct force *opt)
{
	const int wants = nb_force_method(opt, 0, 0) == METHOD_TREE, leaf = nb_given(run, &opt->leaf_size);
	if (leaf && !wants)
		nb_die(NB_EXIT_USAGE, "option '--leaf-size' needs '--method tree', '--theta' or '--accuracy'");
	if (!wants && opt->method != METHOD_AUTO)
		return;
	snprintf(opt->tree.size, sizeof opt->tree.size, "%d", opt->leaf_size);
	opt->tree.maker[SORT] = new_maker(run, "nb-sort-zorder", (char *[]){"nb-sort-zorder", NULL});
	opt->tree.maker[BUILD] = new_maker(run, "nb-build-tree",
		leaf ? (char *[]){"nb-build-tree", "-l", opt->tree.size, NULL} : (char *[]){"nb-build-tree", NULL});
}

void nb_force_tree_clear(struct force *opt)
{
	nb_run_free(opt->tree.maker[SORT]);
	nb_run_free(opt->tree.maker[BUILD]);
}

/* Works where this instance does, and speaks in its name. */
static struct nb_run *maker_of(const struct nb_run *run, const struct force *opt, int k)
{
	struct nb_run *maker = opt->tree.maker[k];
	maker->backend = run->backend;
	maker->common.threads = run->common.threads;
	maker->voice.program = run->voice.program;
	maker->voice.file = run->voice.file;
	maker->voice.verbosity = run->voice.verbosity;
	maker->voice.place = run->voice.place;
	return maker;
}

static void pass(struct nb_run *run, const struct force *opt, int k, struct nb_frame *frame)
{
	const int status = nb_run_frame(maker_of(run, opt, k), frame);
	if (status)
		nb_stop(run, status);
}

void nb_force_tree_make(struct nb_run *run, struct force *opt, struct nb_frame *frame)
{
	const int sorted = nb_keys_are_current(frame, run->backend);
	opt->tree.sorted = !sorted;
	opt->tree.built = !sorted || !nb_frame_field(frame, NB_NODE_FIRST);
	if (opt->tree.sorted)
		pass(run, opt, SORT, frame);
	if (opt->tree.built)
		pass(run, opt, BUILD, frame);
	else if (nb_given(run, &opt->leaf_size))
		nb_die(NB_EXIT_FAILED,
			"frame %" PRIu64 " has a tree: option '--leaf-size' is for one that nb-force builds",
			frame->number);
}

void nb_force_tree_drop(struct force *opt, struct nb_frame *frame)
{
	if (opt->tree.sorted)
		nb_frame_drop_order(frame);
	else if (opt->tree.built)
		nb_frame_drop_tree(frame);
}

void nb_force_tree_plan(struct nb_run *run, const struct force *opt, struct nb_plan *plan)
{
	for (int k = SORT; k <= BUILD; k++) {
		struct nb_run *maker = maker_of(run, opt, k);
		maker->tool->work(maker, maker->self, plan);
	}
}

const char *nb_force_tree_spread(
	const struct nb_run *run, const struct force *opt, const struct nb_frame *frame, struct nb_domain_law *law)
{
	const char *why = NULL;
	for (int k = SORT; k <= BUILD && !why; k++) {
		const struct nb_run *maker = maker_of(run, opt, k);
		why = maker->tool->spread(maker, maker->self, frame, law);
	}
	return why;
}
