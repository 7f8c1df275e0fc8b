/* What an assignment makes stale, and how one fails. */
#include "tools/nb-calc/calc.h"

#include "tools/filter/stale.h"

#include <stdarg.h>
#include <stdio.h>

_Noreturn void nb_calc_fail(const struct assignment *assignment, const char *format, ...)
{
	char text[512];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	nb_die(NB_EXIT_FAILED, "'%.300s': %s", nb_expr_source(assignment->expr), text);
}

static int is_stale(const struct nb_column *column, enum nb_calc_change change)
{
	if (!(column->flags & NB_DERIVED) || column->table != NB_PARTICLE)
		return 0;
	switch (change) {
	case NB_CHANGED_POS: return 1;
	case NB_CHANGED_VEL: return column->field == NB_JERK || column->field == NB_TIMESCALE;
	default: return column->field != NB_KEY;
	}
}

void nb_calc_drop(struct nb_scope *scope, const struct assignment *assignment, enum nb_calc_change change)
{
	struct nb_frame *frame = scope->frame;
	const char *text = nb_expr_source(assignment->expr);
	char before[NB_STALE_TEXT] = "";
	nb_list_derived(frame, before);
	nb_drop_run_attributes(frame);
	for (size_t c = frame->ncolumn; c-- > 0;)
		if (is_stale(&frame->column[c], change))
			nb_frame_drop(frame, frame->column[c].name);
	if (change == NB_CHANGED_POS)
		nb_frame_drop_derived(frame); /* the tree or boxes, and what describes the keys */
	else if (change == NB_CHANGED_MASS && nb_frame_field(frame, NB_NODE_FIRST))
		nb_frame_drop_tree(frame);
	if (nb_tell_stale(frame, before, "'%.300s'", text))
		scope->dropped_by = text;
}
