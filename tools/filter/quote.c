#include "tools/filter/quote.h"

#include <stdio.h>
#include <string.h>

const char *nb_quote_hint(const struct nb_tool *tool, char **words, char hint[NB_QUOTE_HINT])
{
	size_t first = 1, used;
	hint[0] = '\0';
	while (words && words[first - 1] && words[first] && !nb_tool_find(words[first]))
		first++;
	if (!tool->quoted || !words || !words[first - 1] || !words[first] || !words[first + 1])
		return hint;
	used = (size_t)snprintf(hint, NB_QUOTE_HINT, " (quote %s: %s", tool->quoted, tool->name);
	for (size_t i = 1; words[i] && used < NB_QUOTE_HINT; i++) {
		/* a word that the shell has cut out of quotes does not look as it was typed */
		if (words[i][strcspn(words[i], " \t\n'\"\\")] != '\0')
			return strcpy(hint, " (is the whole command quoted?)");
		used += (size_t)snprintf(hint + used, NB_QUOTE_HINT - used, " %s%s", i == first ? "'" : "", words[i]);
	}
	if (used + 3 > NB_QUOTE_HINT)
		return strcpy(hint, " (is the whole command quoted?)");
	return strcat(hint, "')");
}
