#include "tools/filter/quote.h"

#include "tools/filter/files.h"

#include <stdio.h>
#include <string.h>

const char *nb_quote_hint(const struct nb_tool *tool, char **words, char hint[NB_QUOTE_HINT])
{
	size_t first = 1, used;
	hint[0] = '\0';
	while (words && words[first - 1] && words[first] && !nb_tool_find(words[first]))
		first++;
	if (!tool->quoted || !words || !words[first - 1] || !words[first])
		return hint;
	size_t end = first + 1; /* of the command: streams behind it are operands */
	while (words[end])
		end++;
	while (end > first + 1 && nb_file_is_stream(words[end - 1]))
		end--;
	if (end == first + 1)
		return hint;
	used = (size_t)snprintf(hint, NB_QUOTE_HINT, " (quote %s: %s", tool->quoted, tool->name);
	for (size_t i = 1; words[i] && used < NB_QUOTE_HINT; i++) {
		/* a word that the shell has cut out of quotes does not look as it was typed */
		if (words[i][strcspn(words[i], " \t\n'\"\\")] != '\0')
			return strcpy(hint, " (is the whole command quoted?)");
		used += (size_t)snprintf(hint + used, NB_QUOTE_HINT - used, " %s%s%s", i == first ? "'" : "", words[i],
			i == end - 1 ? "'" : "");
	}
	if (used + 2 > NB_QUOTE_HINT)
		return strcpy(hint, " (is the whole command quoted?)");
	return strcat(hint, ")");
}

void nb_quote_before(const struct nb_tool *tool, char **words, char before[NB_QUOTE_HINT])
{
	size_t used = 0, i = 1;
	before[0] = '\0';
	for (; tool->quoted && words && words[i - 1] && words[i] && !nb_tool_find(words[i]) && used < NB_QUOTE_HINT;
		i++)
		used += (size_t)snprintf(before + used, NB_QUOTE_HINT - used, "\n%s\n", words[i]);
	if (!tool->quoted || !words || !words[i - 1] || !words[i] || used >= NB_QUOTE_HINT)
		before[0] = '\0';
}

int nb_quote_is_before(const char *word, const char *before)
{
	char line[NB_QUOTE_HINT + 2];
	snprintf(line, sizeof line, "\n%.*s\n", NB_QUOTE_HINT - 1, word);
	return strstr(before, line) != NULL;
}
