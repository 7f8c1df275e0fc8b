/* Command lines: a line with the name of a program, then a line for each argument.  Each ends with 0, a failure or
 * wrong usage, and nothing else. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { MOST = 40 };
	char *argv[MOST + 1], *text = malloc(size + 1);
	const int null = fuzz_silence();
	int argc = 0;
	REQUIRE(text);
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *line = text, *next; line && argc < MOST; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		argv[argc++] = line;
	}
	argv[argc] = NULL;
	const struct nb_tool *tool = nb_tool_find(argv[0]);
	struct nb_run *run = tool ? nb_run_new(tool) : NULL;
	if (run) {
		run->voice.file = null;
		const int status = nb_run_prepare(run, argc, argv);
		REQUIRE(status == NB_EXIT_OK || status == NB_EXIT_FAILED || status == NB_EXIT_USAGE ||
			status == NB_RUN_LEFT);
		fflush(stdout);
	}
	nb_run_free(run);
	free(text);
	return 0;
}
