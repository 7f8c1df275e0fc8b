/* The tools of this program.  The Makefile finds their files, and gives their names in NB_TOOLS as TOOL(build_tree) ...
 */
#include "tools/filter/filter.h"

#include <string.h>

#define TOOL(name) extern const struct nb_tool nb_tool_##name;
NB_TOOLS
#undef TOOL

static const struct nb_tool *const tools[] = {
#define TOOL(name) &nb_tool_##name,
	NB_TOOLS
#undef TOOL
};

const struct nb_tool *nb_tool_number(size_t k)
{
	return k < sizeof tools / sizeof *tools ? tools[k] : NULL;
}

const struct nb_tool *nb_tool_find(const char *name)
{
	const struct nb_tool *tool;
	for (size_t k = 0; (tool = nb_tool_number(k)) != NULL; k++)
		if (strcmp(tool->name, name) == 0)
			return tool;
	return NULL;
}
