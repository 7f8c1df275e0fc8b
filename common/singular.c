#include "common/singular.h"

#include <string.h>

/* What messages count (tests/lint finds another noun), and what has a number behind it: "frame 1 bodies" is no count.
 */
static const char *const nouns[] = {"bins", "bodies", "boxes", "bytes", "cells", "characters", "columns", "components",
	"computations", "datasets", "devices", "dimensions", "expressions", "files", "frames", "groups", "ids",
	"inputs", "letters", "neighbours", "nodes", "numbers", "operations", "options", "parts", "pixels", "points",
	"ranks", "rows", "sets", "systems", "threads", "tiles", "times", "types", "values", "words"};
static const char *const labels[] = {"frame", "step", "id", "byte", "body", "row", "column", "line", "system", "device",
	"type", "level", "levels", "group", "sid", "sframe", "s"};

/* Whether a word of so many letters is in a list. */
static int has(const char *const *list, size_t n, const char *at, size_t length)
{
	for (size_t k = 0; k < n; k++)
		if (strlen(list[k]) == length && strncmp(list[k], at, length) == 0)
			return 1;
	return 0;
}

static int is_label(const char *text, const char *one)
{
	const char *end = one > text ? one - 1 : text, *begin = end;
	while (begin > text && begin[-1] != ' ')
		begin--;
	return has(labels, sizeof labels / sizeof *labels, begin, (size_t)(end - begin));
}

void nb_make_singular(char *text)
{
	int quoted = 0;
	for (char *c = text; *c; c++) {
		quoted ^= *c == '\'';
		if (quoted || c[0] != '1' || c[1] != ' ' || (c > text && c[-1] != ' ' && c[-1] != '(') ||
			is_label(text, c))
			continue;
		char *noun = c + 2, *end = noun + strspn(noun, "abcdefghijklmnopqrstuvwxyz");
		/* "1 files.csv" is a name */
		if ((*end && !strchr(" ,;:)", *end)) ||
			!has(nouns, sizeof nouns / sizeof *nouns, noun, (size_t)(end - noun)))
			continue;
		const int is_y = strncmp(end - 3, "ies", 3) == 0, is_x = strncmp(end - 3, "xes", 3) == 0;
		if (is_y)
			end[-3] = 'y';
		memmove(end - (is_y || is_x ? 2 : 1), end, strlen(end) + 1);
	}
}
