/* Which columns: --fields, --drop and --drop-table. */
#include "tools/nb-select/select.h"

#include "common/nearest.h"

#include "tools/filter/stale.h"

#include <inttypes.h>
#include <string.h>

static int is_one_of(char *const *words, const char *name)
{
	while (*words && strcmp(*words, name) != 0)
		words++;
	return *words != NULL;
}

int nb_select_names(const struct select *s, const char *name)
{
	return s->field && is_one_of(s->field, name);
}

static void require_columns(const struct nb_frame *frame, char *const *names)
{
	char list[400];
	for (; *names; names++) {
		const struct nb_column *column = nb_frame_find(frame, *names);
		if (!column) {
			nb_frame_list(frame, list, sizeof list);
			nb_die(NB_EXIT_FAILED, "column '%s' missing in frame %" PRIu64 " (%sstream has: %s)", *names,
				frame->number, nb_nearest_in(*names, strlen(*names), list, ", ").hint, list);
		}
		if (column->table != NB_PARTICLE)
			nb_die(NB_EXIT_FAILED,
				"column '%s' of frame %" PRIu64 " is one of the %s table, not of bodies (see "
				"'--drop-table')",
				*names, frame->number, nb_table_name[column->table]);
	}
}

static int has_table(const struct nb_frame *frame, enum nb_table table)
{
	for (size_t c = 0; c < frame->ncolumn; c++)
		if (frame->column[c].table == table)
			return 1;
	return 0;
}

/* A table without the attributes that describe it, which may be those of another. */
static void drop_table(struct nb_frame *frame, enum nb_table table)
{
	nb_frame_drop_table(frame, table);
	if (!has_table(frame, NB_NODE) && !has_table(frame, NB_BOX))
		nb_frame_drop_tree(frame);
}

/* What says something about a column that is no longer there. */
static void drop_dependent(struct nb_frame *frame, int had_pos, int had_mass)
{
	char before[NB_STALE_TEXT] = "";
	nb_list_derived(frame, before);
	const int lost_pos = had_pos && !nb_frame_field(frame, NB_POS);
	if (lost_pos)
		nb_frame_drop_field(frame, NB_KEY);
	if (!nb_frame_field(frame, NB_KEY))
		nb_frame_drop_attribute(frame, "key_cube");
	if (!nb_frame_field(frame, NB_KEY) || (had_mass && !nb_frame_field(frame, NB_MASS)))
		nb_frame_drop_tree(frame);
	(void)nb_tell_stale(frame, before, "leaving out columns");
}

int nb_select_drops_acc(const struct select *s)
{
	const char *const acc = nb_field_info[NB_ACC].name;
	return (s->field && !is_one_of(s->field, acc)) || (s->dropped && is_one_of(s->dropped, acc));
}

void nb_select_columns(const struct select *s, struct nb_frame *frame)
{
	const int had_pos = nb_frame_field(frame, NB_POS) != NULL, had_mass = nb_frame_field(frame, NB_MASS) != NULL;
	if (s->field) {
		require_columns(frame, s->field);
		nb_frame_drop_tree(frame);
		for (size_t c = frame->ncolumn; c-- > 0;)
			if (!is_one_of(s->field, frame->column[c].name))
				nb_frame_drop(frame, frame->column[c].name);
	}
	if (s->dropped) {
		require_columns(frame, s->dropped);
		for (size_t k = 0; s->dropped[k]; k++)
			nb_frame_drop(frame, s->dropped[k]);
	}
	if (s->field || s->dropped)
		drop_dependent(frame, had_pos, had_mass);
	if (s->drop_table)
		drop_table(frame, (enum nb_table)(s->drop_table - 1));
}
