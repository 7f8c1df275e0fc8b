/* The one program behind all names: nb-gen, nb-force and the others are links to it, so that they share their code, on
 * disk and in memory.  As nb it lists them, "nb force ..." runs nb-force, and "nb help ..." finds what --help says.  A
 * copy may have a suffix, as nb-force-0.2. */
#include "common/descriptor.h"
#include "common/nearest.h"
#include "common/system.h"
#include "tools/filter/filter.h"
#include "tools/filter/help.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* "force" or "nb-force" */
static const struct nb_tool *tool_named(const char *word)
{
	char name[64];
	const struct nb_tool *tool = nb_tool_find(word);
	snprintf(name, sizeof name, "nb-%s", word);
	return tool ? tool : nb_tool_find(name);
}

static _Noreturn void unknown(const char *word)
{
	const struct nb_tool *tool;
	const size_t before = strncmp(word, "nb-", 3) == 0 ? 3 : 0;
	struct nb_nearest nearest = nb_nearest_to(word + before, strlen(word + before));
	nearest.before = "nb-";
	for (size_t k = 0; (tool = nb_tool_number(k)) != NULL; k++)
		nb_nearest_offer(&nearest, tool->name + 3, strlen(tool->name + 3));
	nb_die(NB_EXIT_USAGE, "unknown tool '%s' (%ssee 'nb --help' or 'nb help WORD')", word, nearest.hint);
}

/* Of a tool its --help; anything else is looked for. */
static int help(int nword, char **word)
{
	const struct nb_tool *tool = nword == 1 ? tool_named(word[0]) : NULL;
	if (tool)
		return nb_tool_main(tool, 2, (char *[]){word[0], "--help", NULL});
	return nword ? nb_help_search(nword, word) : nb_help_list();
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

static void do_nothing(int number)
{
	(void)number;
}

/* Beyond the size that ulimit -f allows a write then fails, as on a full disk, instead of ending the process.  A
 * program that this one starts gets the signal as usual. */
static void outlive_size_limit(void)
{
	struct sigaction action, old;
	memset(&action, 0, sizeof action);
	action.sa_handler = do_nothing;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(SIGXFSZ, &action, NULL);
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Without folder, and without the hyphen of a login shell. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	return base + (*base == '-');
}

/* That of this name, or of this with a suffix that no letter or digit begins. */
static const struct nb_tool *tool_called(const char *base)
{
	const struct nb_tool *tool;
	for (size_t k = 0; (tool = nb_tool_number(k)) != NULL; k++) {
		const size_t length = strlen(tool->name);
		if (strncmp(base, tool->name, length) == 0 && !isalnum((unsigned char)base[length]))
			return tool;
	}
	return NULL;
}

/* nb, nb.bin, nb-0.2 */
static int is_nb(const char *base)
{
	if (strncmp(base, "nb", 2) != 0)
		return 0;
	return !base[2] || base[2] == '.' || (strchr("-_", base[2]) && isdigit((unsigned char)base[3]));
}

/* The tool by what the program was called, or by its file if that says nothing; NULL: it is nb. */
static const struct nb_tool *tool_of_program(const char *called)
{
	const char *file = nb_system_program_file();
	const char *name[] = {base_of(called), base_of(file ? file : "")};
	for (int k = 0; k < 2; k++) {
		const struct nb_tool *tool = tool_called(name[k]);
		if (tool || is_nb(name[k]))
			return tool;
	}
	nb_die(NB_EXIT_USAGE, "'%s' is not the name of a program of nb (programs: see nb --help)",
		*name[0] ? name[0] : name[1]);
}

int main(int argc, char **argv)
{
	require_stack();
	outlive_size_limit();
	if (nb_hold_standard())
		nb_die(NB_EXIT_FAILED, "what stands for a standard stream that is closed:");
	const struct nb_tool *tool = tool_of_program(argc > 0 ? argv[0] : "");
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
		unknown(argv[1]);
	return nb_tool_main(tool, argc - 1, argv + 1);
}
