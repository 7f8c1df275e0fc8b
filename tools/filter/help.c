#include "tools/filter/help.h"

#include "common/nearest.h"
#include "tools/filter/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* As in the line .Nd of the page. */
static const struct page {
	const char *name, *section, *about;
} pages[] = {
	{"nb", "7", "N-body simulation (nbody) of galaxy, star cluster and planets as a chain of Unix filters"},
	{"nb-collisions", "7", "what happens when bodies of an N-body simulation touch: collisions and mergers"},
	{"nb-cookbook", "7",
		"recipes for N-body simulation in the shell: restart, select, combine, units, films, snapshots, "
		"scripts"},
	{"nb-cosmology", "7", "N-body simulation of an expanding universe: units, attributes and equations of motion"},
	{"nb-equivalents", "7",
		"coming from NEMO, gyrfalcON, GADGET, N-GenIC, REBOUND, PeTar or AMUSE to N-body simulation with nb"},
	{"nb-filter", "7", "how a filter of one's own fits into a pipeline of nb programs"},
	{"nb-formats", "7", "formats of other programs: what each holds, which programs read it, how units and G map"},
	{"nb-hosts", "7", "a run of an N-body simulation on several hosts, by MPI"},
	{"nb-integrators", "7", "integrators and time steps of an N-body simulation, and how to choose them"},
	{"nb-papers", "7", "the five publications whose algorithms nb unites, and where its kernels differ from them"},
	{"nb-planets", "7", "N-body simulation of planets and few bodies: orbits, integrators, energy, encounters"},
	{"nb-python", "7", "streams and pipelines of nb in Python"},
	{"nb-stream", "5", "binary particle stream of the nb programs"},
};

enum { NPAGE = sizeof pages / sizeof *pages, INDENT = 30 };

int nb_help_list(void)
{
	const struct nb_tool *tool;
	puts("usage: nb-TOOL [options], or nb TOOL [options]\nN-body gravity as a chain of Unix filters\n\ntools:");
	for (size_t k = 0; (tool = nb_tool_number(k)) != NULL; k++)
		printf("  %-16s%s\n", tool->name, tool->about);
	puts("\nmanual pages:");
	for (int i = 0; i < NPAGE; i++)
		printf("  man %s %-15s %s\n", pages[i].section, pages[i].name, pages[i].about);
	puts("\n'nb help TOOL' shows the options of a program, and 'nb help WORD' every program, option, model, column "
	     "and\n"
	     "page with that word.  Each program has a manual page; begin with 'man 7 nb'.");
	nb_require_flushed();
	return NB_EXIT_OK;
}

/* ---- search ------------------------------------------------------------------------------------- */

struct search {
	struct nb_words words;
	const char *instead; /* of the words that were given: said before what is found */
	int any; /* items that have some of the words, of programs that have all; else items that have all */
	int found;
	const char *name, *about; /* of what is being searched */
	int named;		  /* it has been printed */
};

static int matches(const struct search *search, const char *text)
{
	int count = 0;
	for (int i = 0; i < search->words.n; i++)
		count += nb_words_has(&search->words, text, i);
	return search->any ? count > 0 : count == search->words.n;
}

/* Whether each word is somewhere in the name, the line about it, or the help. */
static int has_all(const struct search *search, const struct nb_tool *tool, FILE *help)
{
	const struct nb_words *words = &search->words;
	for (int i = 0; i < words->n; i++) {
		char line[1024];
		int there = nb_words_has(words, tool->name, i) || nb_words_has(words, tool->about, i);
		rewind(help);
		while (!there && fgets(line, sizeof line, help))
			there = nb_words_has(words, line, i);
		if (!there)
			return 0;
	}
	return 1;
}

/* Before each of the things that are found. */
static void print_gap(void *context)
{
	struct search *search = context;
	if (!search->found && search->instead)
		printf("what means the same: %s\n", search->instead);
	if (search->found || search->instead)
		putchar('\n');
	search->found = 1;
}

static void print_name(struct search *search)
{
	if (!search->named) {
		print_gap(search);
		printf("%s: %s\n", search->name, search->about);
	}
	search->named = 1;
}

static void begin(struct search *search, const char *name, const char *about)
{
	char line[512];
	search->name = name;
	search->about = about;
	search->named = 0;
	snprintf(line, sizeof line, "%s %s", name, about);
	if (matches(search, line))
		print_name(search);
}

/* An item as it is printed, which may have several lines. */
static void look_at(struct search *search, const char *item, int always)
{
	if (*item && (always || matches(search, item))) {
		print_name(search);
		fputs(item, stdout);
	}
}

/* What --help prints: the options one by one, then other lines; a heading that matches, as "models:", brings all that
 * it stands above. */
static void search_help(struct search *search, FILE *help)
{
	char line[1024], item[4096] = "";
	int options = 0, all = 0, more = 1;
	while (more) {
		more = fgets(line, sizeof line, help) != NULL;
		const size_t length = more ? strlen(line) : 0;
		if (more && *item && strspn(line, " ") >= INDENT && strlen(item) + length < sizeof item) {
			strcat(item, line);
			continue;
		}
		look_at(search, item, all);
		*item = '\0';
		const int heading = length > 2 && *line != ' ' && strcmp(line + length - 2, ":\n") == 0;
		if (heading) {
			all = options && matches(search, line);
			options = 1;
		} else if (options && length > 1) {
			strcpy(item, line);
			all = all && *line == ' ';
		}
	}
}

/* What the tool prints goes to standard output, which is a file meanwhile. */
static void search_tool(struct search *search, const struct nb_tool *tool)
{
	struct nb_voice voice = {.program = tool->name, .file = 2};
	FILE *help = tmpfile();
	fflush(stdout);
	const int kept = help ? dup(1) : -1;
	if (kept < 0 || dup2(fileno(help), 1) < 0)
		nb_die(NB_EXIT_FAILED, "cannot make a temporary file:");
	struct nb_voice *own = nb_speak_as(&voice);
	nb_options_help(tool);
	nb_speak_as(own);
	const int status = fflush(stdout);
	if (dup2(kept, 1) < 0 || status)
		nb_die(NB_EXIT_FAILED, "cannot write a temporary file:");
	close(kept);
	if (!search->any || has_all(search, tool, help)) {
		rewind(help);
		begin(search, tool->name, tool->about);
		search_help(search, help);
	}
	fclose(help);
}

static void search_columns(struct search *search)
{
	const int all = search->words.n == 1 && strcasecmp(search->words.word[0], "columns") == 0;
	for (int i = 0; i < NB_NFIELD; i++) {
		const struct nb_field_info *field = &nb_field_info[i];
		char item[256];
		snprintf(item, sizeof item, "  column %-15s%s%s%s\n", field->name, field->meaning,
			*field->unit ? "; unit: " : "", field->unit);
		look_at(search, item, all);
	}
}

static void search_pages(struct search *search)
{
	for (int i = 0; i < NPAGE; i++) {
		char name[32];
		snprintf(name, sizeof name, "%s(%s)", pages[i].name, pages[i].section);
		begin(search, name, pages[i].about);
		if (strcmp(pages[i].name, "nb") == 0)
			look_at(search,
				"  bash completion  loaded by 'source PREFIX/share/bash-completion/completions/nb'\n",
				0);
		if (strcmp(pages[i].name, "nb-stream") == 0)
			search_columns(search);
	}
}

static void print_texts(void *context)
{
	print_gap(context);
	puts("manual pages:");
}

static void search_tools(struct search *search, int any)
{
	const struct nb_tool *tool;
	search->any = any;
	for (size_t k = 0; (tool = nb_tool_number(k)) != NULL; k++)
		search_tool(search, tool);
	search->any = 0;
}

/* Whole words, or words of which these are parts; in one place, or where that is nowhere, in one program. */
static void search_by_words(struct search *search, int whole)
{
	search->words.whole = whole;
	search_tools(search, 0);
	search_pages(search);
	if (!search->found && search->words.n > 1)
		search_tools(search, 1);
	(void)nb_pages_search(&search->words, print_texts, search);
}

/* One word by another that means the same. */
static void search_by_meaning(struct search *search)
{
	char synonym[NB_NEAREST_WORD];
	for (int i = 0; i < search->words.n; i++) {
		char *given = search->words.word[i];
		search->words.word[i] = synonym;
		search->instead = synonym;
		for (size_t k = 0; !search->found && nb_synonym(given, k, synonym); k++)
			search_by_words(search, 1);
		search->words.word[i] = given;
	}
	search->instead = NULL;
}

enum { MOST_WORDS = 63 }; /* one bit each */

/* The words of an argument that was quoted are several. */
static int split(int nargument, char **argument, char *word[MOST_WORDS])
{
	int n = 0;
	for (int i = 0; i < nargument; i++)
		for (char *rest, *at = strtok_r(argument[i], " \t\n", &rest); at; at = strtok_r(NULL, " \t\n", &rest)) {
			if (n == MOST_WORDS)
				nb_die(NB_EXIT_USAGE, "more than %d words to look for", MOST_WORDS);
			word[n++] = at;
		}
	return n;
}

int nb_help_search(int nword, char **word)
{
	char *each[MOST_WORDS], all[256] = "";
	struct search search = {.words.word = each};
	search.words.n = split(nword, word, each);
	for (int whole = 1; whole >= 0 && !search.found; whole--)
		search_by_words(&search, whole);
	if (!search.found)
		search_by_meaning(&search);
	nb_require_flushed();
	for (int i = 0; i < search.words.n; i++)
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? " " : "", each[i]);
	if (!search.found)
		nb_die(NB_EXIT_FAILED, "nothing about '%s'%s (%ssee 'nb help', or 'man -k nbody')", all,
			search.words.n > 1 ? " in one place" : "", search.words.n > 1 ? "try one word; " : "");
	return NB_EXIT_OK;
}
