#include "tools/filter/history.h"
#include "tools/filter/require.h"

#include <stdlib.h>
#include <string.h>

void nb_history_add(struct nb_run *run, const char *text)
{
	const size_t used = run->history ? strlen(run->history) : 0, more = strlen(text) + 1;
	char *grown = nb_require_memory(NULL, realloc(run->history, used + more));
	memcpy(grown + used, text, more);
	run->history = grown;
}

void nb_history_quote(struct nb_run *run, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
	if (*text && text[strspn(text, plain)] == '\0') {
		nb_history_add(run, text);
		return;
	}
	nb_history_add(run, "'");
	for (const char *quote; (quote = strchr(text, '\'')) != NULL; text = quote + 1) {
		char *part = nb_require_memory(NULL, strndup(text, (size_t)(quote - text)));
		nb_history_add(run, part);
		nb_history_add(run, "'\\''");
		free(part);
	}
	nb_history_add(run, text);
	nb_history_add(run, "'");
}

void nb_history_option(struct nb_run *run, const struct nb_option *row, const char *arg)
{
	if (row->silent)
		return;
	nb_history_add(run, " ");
	if (row->letter) {
		const char dash[3] = {'-', row->letter, '\0'};
		nb_history_add(run, dash);
	} else {
		nb_history_add(run, "--");
		nb_history_add(run, row->name);
	}
	if (arg) {
		nb_history_add(run, " ");
		nb_history_quote(run, arg);
	}
}
