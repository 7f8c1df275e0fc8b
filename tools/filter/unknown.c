#include "tools/filter/unknown.h"

#include "common/nearest.h"
#include "tools/filter/quote.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *name_of(const struct nb_unknown *unknown)
{
	return unknown->given + strspn(unknown->given, "-");
}

static struct nb_nearest nearest(const struct nb_unknown *unknown)
{
	const char *name = name_of(unknown);
	struct nb_nearest near = nb_nearest_to(name, strcspn(name, "="));
	near.before = "--";
	for (size_t k = 0; k < unknown->n; k++)
		nb_nearest_offer(&near, unknown->row[k]->name, strlen(unknown->row[k]->name));
	return near;
}

/* The option with this letter in the other case, or else with this letter as its name; NULL: none. */
static const struct nb_option *other_case(const struct nb_unknown *unknown, int letter)
{
	const struct nb_option *found = NULL;
	for (size_t k = 0; k < unknown->n; k++) {
		const struct nb_option *row = unknown->row[k];
		if (row->letter && tolower(row->letter) == tolower(letter))
			return row;
		if (!found && tolower(row->name[0]) == tolower(letter) && !row->name[1])
			found = row;
	}
	return found;
}

/* "did you mean '-k'? ", or nothing. */
static void hint_at_letter(const struct nb_unknown *unknown, int letter, char hint[40])
{
	const struct nb_option *row = other_case(unknown, letter);
	hint[0] = '\0';
	if (row && row->letter)
		snprintf(hint, 40, "did you mean '-%c'? ", row->letter);
	else if (row)
		snprintf(hint, 40, "did you mean '--%s'? ", row->name);
}

void nb_unknown_before(const struct nb_unknown *unknown)
{
	const char *given = unknown->given;
	char letter[40];
	hint_at_letter(unknown, name_of(unknown)[0], letter);
	if (nb_quote_is_before(given, unknown->before))
		nb_die(NB_EXIT_USAGE, "unknown option '%s' (%sone of %s stands within its quotes)", given,
			name_of(unknown) - given > 1 ? nearest(unknown).hint : letter, unknown->tool->quoted);
	if (*unknown->hint)
		nb_die(NB_EXIT_USAGE, "unknown option '%s'%s", given, unknown->hint);
}

static _Noreturn void unknown_letter(const struct nb_unknown *unknown, int letter)
{
	char hint[40];
	hint_at_letter(unknown, letter, hint);
	nb_die(NB_EXIT_USAGE, "unknown option '-%c' (%ssee '%s --help')", letter, hint, nb_program());
}

/* Whether the usage has the name as an operand, such as MODEL. */
static int is_operand(const struct nb_tool *tool, const char *name)
{
	const size_t n = strcspn(name, "=");
	for (const char *at = tool->operands; n > 1 && *at; at++)
		if (strncasecmp(at, name, n) == 0 && !isalpha((unsigned char)at[n]) &&
			(at == tool->operands || !isalpha((unsigned char)at[-1])))
			return 1;
	return 0;
}

/* Of a name with which several options begin. */
static void refuse_ambiguous(const struct nb_unknown *unknown, const char *name)
{
	char list[256] = "";
	size_t length = 0;
	int begun = 0;
	for (size_t k = 0; k < unknown->n && length < sizeof list; k++)
		if (strncmp(unknown->row[k]->name, name, strcspn(name, "=")) == 0)
			length += (size_t)snprintf(list + length, sizeof list - length, "%s'--%s'", begun++ ? ", " : "",
				unknown->row[k]->name);
	if (begun > 1)
		nb_die(NB_EXIT_USAGE, "ambiguous option '--%s' (%s%s)", name, list, length < sizeof list ? "" : " ...");
}

_Noreturn void nb_unknown_option(const struct nb_unknown *unknown, int letter)
{
	const char *name = name_of(unknown);
	nb_unknown_before(unknown);
	if (letter)
		unknown_letter(unknown, letter);
	refuse_ambiguous(unknown, name);
	if (is_operand(unknown->tool, name))
		nb_die(NB_EXIT_USAGE, "unknown option '--%s' (it is an operand: '%s %s')", name, nb_program(),
			unknown->tool->operands);
	if (unknown->tool->files && (strcmp(name, "frame") == 0 || strcmp(name, "frames") == 0))
		nb_die(NB_EXIT_USAGE, "unknown option '--%s' (frames are chosen by 'nb-select --frames' before)", name);
	nb_die(NB_EXIT_USAGE, "unknown option '--%s' (%ssee '%s --help')", name, nearest(unknown).hint, nb_program());
}
