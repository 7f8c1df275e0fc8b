#include "tools/filter/stale.h"

#include "common/die.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const table_name[] = {[NB_NODE] = "tree", [NB_BOX] = "boxes"};

/* Names have no blanks; before each of a list is one. */
static int is_listed(const char *list, const char *name)
{
	const size_t length = strlen(name);
	for (const char *at = list; *at == ' '; at += strcspn(at, " ")) {
		at++;
		if (strcspn(at, " ") == length && strncmp(at, name, length) == 0)
			return 1;
	}
	return 0;
}

static void add(char list[NB_STALE_TEXT], const char *name)
{
	const size_t used = strlen(list);
	if (used + 1 + strlen(name) < NB_STALE_TEXT && !is_listed(list, name))
		snprintf(list + used, NB_STALE_TEXT - used, " %s", name);
}

void nb_list_derived(const struct nb_frame *frame, char list[NB_STALE_TEXT])
{
	int has[NB_NTABLE] = {0};
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		has[column->table] = 1;
		if (column->table == NB_PARTICLE && (column->flags & NB_DERIVED))
			add(list, column->name);
	}
	for (int table = NB_NODE; table <= NB_BOX; table++)
		if (has[table])
			add(list, table_name[table]);
}

int nb_tell_stale(const struct nb_frame *frame, const char before[NB_STALE_TEXT], const char *format, ...)
{
	char after[NB_STALE_TEXT] = "", lost[NB_STALE_TEXT] = "", name[NB_STALE_TEXT], cause[NB_STALE_TEXT];
	nb_list_derived(frame, after);
	for (const char *at = before; *at == ' ';) {
		const size_t length = strcspn(++at, " ");
		snprintf(name, sizeof name, "%.*s", (int)length, at);
		at += length;
		if (!is_listed(after, name))
			add(lost, name);
	}
	if (!*lost)
		return 0;
	va_list list;
	va_start(list, format);
	vsnprintf(cause, sizeof cause, format, list);
	va_end(list);
	nb_verbose("frame %" PRIu64 ": %s makes stale, and drops:%s", frame->number, cause, lost);
	return 1;
}
