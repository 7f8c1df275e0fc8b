/* The one program behind all names: nb-gen, nb-force and the others are links to it, so that they share their code, on
 * disk and in memory.  As nb it lists them, and "nb force ..." runs nb-force. */
#include "tools/filter/filter.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static int list(void)
{
	const struct nb_tool *tool;
	puts("usage: nb-TOOL [options], or nb TOOL [options]\nN-body gravity as a chain of Unix filters\n\ntools:");
	for (size_t k = 0; (tool = nb_tool_number(k)) != NULL; k++)
		printf("  %-16s%s\n", tool->name, tool->about);
	puts("\nEach tool has --help and a manual page; begin with 'man 7 nb'.");
	nb_require_flushed();
	return NB_EXIT_OK;
}

/* "force" or "nb-force" */
static const struct nb_tool *tool_named(const char *word)
{
	char name[64];
	const struct nb_tool *tool = nb_tool_find(word);
	snprintf(name, sizeof name, "nb-%s", word);
	return tool ? tool : nb_tool_find(name);
}

/* Beyond its end a stack would only raise a signal.  Threads get stacks of the same size. */
static void require_stack(void)
{
	enum { LEAST = 256 << 10 }; /* twice of what nb-gen merger needs */
	struct rlimit limit;
	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < LEAST)
		nb_die(NB_EXIT_FAILED, "stack limit of %lu KiB (want at least %d, see ulimit -s)",
			(unsigned long)limit.rlim_cur >> 10, LEAST >> 10);
}

int main(int argc, char **argv)
{
	require_stack();
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const struct nb_tool *tool = argc > 0 ? nb_tool_find(slash ? slash + 1 : argv[0]) : NULL;
	if (tool)
		return nb_tool_main(tool, argc, argv);
	if (argc < 2)
		nb_die(NB_EXIT_USAGE, "no tool given (see 'nb --help')");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return list();
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("nb " NB_VERSION);
		nb_require_flushed();
		return NB_EXIT_OK;
	}
	tool = tool_named(argv[1]);
	if (!tool)
		nb_die(NB_EXIT_USAGE, "unknown tool '%s' (see 'nb --help')", argv[1]);
	return nb_tool_main(tool, argc - 1, argv + 1);
}
