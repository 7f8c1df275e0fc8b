/* The one program behind all names: nb-gen, nb-force and the others are links to it, so that they share their code, on
 * disk and in memory.  As nb it lists them, "nb force ..." runs nb-force, and "nb help ..." finds what --help says. */
#include "tools/filter/environment.h"
#include "tools/filter/filter.h"
#include "tools/filter/help.h"

#include <stdio.h>
#include <string.h>

/* "force" or "nb-force" */
static const struct nb_tool *tool_named(const char *word)
{
	char name[64];
	const struct nb_tool *tool = nb_tool_find(word);
	snprintf(name, sizeof name, "nb-%s", word);
	return tool ? tool : nb_tool_find(name);
}

/* Of a tool its --help; anything else is looked for. */
static int help(int nword, char **word)
{
	const struct nb_tool *tool = nword == 1 ? tool_named(word[0]) : NULL;
	if (tool)
		return nb_tool_main(tool, 2, (char *[]){word[0], "--help", NULL});
	return nword ? nb_help_search(nword, word) : nb_help_list();
}

int main(int argc, char **argv)
{
	nb_require_stack(1);
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const struct nb_tool *tool = argc > 0 ? nb_tool_find(slash ? slash + 1 : argv[0]) : NULL;
	if (tool)
		return nb_tool_main(tool, argc, argv);
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return nb_help_list();
	if (strcmp(argv[1], "help") == 0)
		return help(argc - 2, argv + 2);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("nb " NB_VERSION);
		nb_require_flushed();
		return NB_EXIT_OK;
	}
	tool = tool_named(argv[1]);
	if (!tool)
		nb_die(NB_EXIT_USAGE, "unknown tool '%s' (see 'nb --help' or 'nb help WORD')", argv[1]);
	return nb_tool_main(tool, argc - 1, argv + 1);
}
