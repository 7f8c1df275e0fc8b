/* Terms from a text. */
#include "common/terms.h"

#include "common/nearest.h"
#include "common/parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char blank[] = " \t\n,";

/* A part of a text. */
struct word {
	const char *at;
	size_t length;
};

static int is(struct word word, const char *name)
{
	return strlen(name) == word.length && memcmp(word.at, name, word.length) == 0;
}

/* The next word from *at, which goes behind it; length 0: there is none.  It ends before any of these. */
static struct word next_word(const char **at, const char *ends)
{
	const char *start = *at + strspn(*at, blank);
	const size_t length = strcspn(start, ends);
	*at = start + length;
	return (struct word){start, length};
}

/* ---- keys that a term takes -------------------------------------------------------------------- */

/* Calls of this go through the keys of a list, "m|v rs eps?": the next one, how it must be given, and where it stands.
 */
struct key_list {
	const char *at;
	struct word key;
	int optional, or_next;
};

static int next_key(struct key_list *list)
{
	list->at += strspn(list->at, " ?|");
	list->key = (struct word){list->at, strcspn(list->at, " ?|")};
	list->at += list->key.length;
	list->optional = *list->at == '?';
	list->or_next = *list->at == '|';
	return list->key.length > 0;
}

static int has_key(const char *keys, struct word key)
{
	struct key_list list = {.at = keys};
	while (next_key(&list))
		if (list.key.length == key.length && memcmp(list.key.at, key.at, key.length) == 0)
			return 1;
	return 0;
}

/* -1: none has it. */
static int find_key(const struct nb_term_language *l, struct word key)
{
	for (int k = 0; k < l->nkey; k++)
		if (is(key, l->key[k].name))
			return k;
	return -1;
}

static int is_given(const struct nb_term_language *l, const struct nb_term *term, struct word key)
{
	return is(key, "file") ? term->file != NULL : term->given >> find_key(l, key) & 1;
}

/* All keys of a list that are there: "m, v, rs". */
static void list_keys(const char *keys, char *text, size_t size)
{
	struct key_list list = {.at = keys};
	size_t used = strlen(text);
	while (next_key(&list) && used < size)
		used += (size_t)snprintf(
			text + used, size - used, "%s%.*s", used ? ", " : "", (int)list.key.length, list.key.at);
}

/* ---- one term ----------------------------------------------------------------------------------- */

#define FAIL(...) (snprintf(why, NB_TERM_WHY, __VA_ARGS__), NB_EINVAL)

static int take_number(const struct nb_term_language *l, struct nb_term *term, int key, struct word value, char *why)
{
	static const char *const want[] = {
		"a number", "a number >= 0", "a number > 0", "a number >= 0 and < 3", "a whole number below 2^53"};
	const int positive = term->kind == l->positive_kind && key == l->positive_key;
	const enum nb_term_sign sign = positive ? NB_TERM_POSITIVE : l->key[key].sign;
	char text[64];
	double x = 0;
	int good = value.length < sizeof text;
	if (good) {
		memcpy(text, value.at, value.length);
		text[value.length] = '\0';
		good = nb_parse_f64(text, &x) == NB_PARSE_OK &&
		       (sign == NB_TERM_ANY || x > 0 || (sign != NB_TERM_POSITIVE && x == 0)) &&
		       (sign != NB_TERM_SLOPE || x < 3) &&
		       (sign != NB_TERM_ID || (x == floor(x) && x < 9007199254740992));
	}
	if (!good)
		return FAIL("%s %s: invalid %s '%.*s' (want %s)", l->noun, l->kind[term->kind].name, l->key[key].name,
			(int)(value.length < 60 ? value.length : 60), value.at, want[sign]);
	term->value[key] = x;
	term->given |= 1u << key;
	return NB_OK;
}

/* KEY=VALUE */
static int take(const struct nb_term_language *l, struct nb_term *term, struct word word, char *why)
{
	const char *name = l->kind[term->kind].name, *equal = memchr(word.at, '=', word.length);
	const int shown = (int)(word.length < 60 ? word.length : 60);
	if (!equal || equal == word.at)
		return FAIL("%s %s: '%.*s' is not KEY=VALUE", l->noun, name, shown, word.at);
	const struct word key = {word.at, (size_t)(equal - word.at)};
	const struct word value = {equal + 1, word.length - key.length - 1};
	if (!has_key(l->kind[term->kind].keys, key) && !has_key(l->common, key)) {
		char list[200] = "";
		list_keys(l->kind[term->kind].keys, list, sizeof list);
		list_keys(l->common, list, sizeof list);
		return FAIL("%s %s: unknown key '%.*s' (%swant %s)", l->noun, name,
			(int)(key.length < 60 ? key.length : 60), key.at,
			nb_nearest_in(key.at, key.length, list, ", ").hint, list);
	}
	if (is_given(l, term, key))
		return FAIL("%s %s: key '%.*s' is given twice", l->noun, name, (int)key.length, key.at);
	if (!is(key, "file"))
		return take_number(l, term, find_key(l, key), value, why);
	if (value.length == 0)
		return FAIL("%s %s: key 'file' has no path", l->noun, name);
	term->file = value.at;
	term->file_length = value.length;
	return NB_OK;
}

/* What must be given is, once. */
static int require_keys(const struct nb_term_language *l, const struct nb_term *term, char *why)
{
	const struct nb_term_kind *info = &l->kind[term->kind];
	struct key_list list = {.at = info->keys};
	while (next_key(&list)) {
		const struct word first = list.key;
		const int alternative = list.or_next, given = is_given(l, term, first);
		if (alternative) {
			(void)next_key(&list);
			if (given + is_given(l, term, list.key) != 1)
				return FAIL("%s %s: %s (want %.*s or %.*s)", l->noun, info->name,
					given ? "two strengths" : "no strength", (int)first.length, first.at,
					(int)list.key.length, list.key.at);
		} else if (!given && !list.optional) {
			return FAIL("%s %s: key '%.*s' is missing", l->noun, info->name, (int)first.length, first.at);
		}
	}
	return NB_OK;
}

static int find_kind(const struct nb_term_language *l, struct word name, int *kind, char *why)
{
	char list[200] = "";
	for (int k = 0; k < l->nkind; k++) {
		const size_t used = strlen(list);
		if (is(name, l->kind[k].name)) {
			*kind = k;
			return NB_OK;
		}
		snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "", l->kind[k].name);
	}
	return FAIL("unknown %s '%.*s' (%swant %s; 'help' lists their keys)", l->noun,
		(int)(name.length < 60 ? name.length : 60), name.at,
		nb_nearest_in(name.at, name.length, list, ", ").hint, list);
}

/* From *at to a semicolon or the end. */
static int parse_one(const struct nb_term_language *l, const char **at, struct nb_term *term, char *why)
{
	static const char ends[] = " \t\n,;";
	const struct word name = next_word(at, " \t\n,;:");
	*at += **at == ':';
	if (name.length == 0)
		return FAIL("empty %s (want NAME KEY=VALUE ..., several divided by ';')", l->noun);
	memset(term, 0, sizeof *term);
	int status = find_kind(l, name, &term->kind, why);
	for (int k = 0; k < l->nkey; k++)
		term->value[k] = l->key[k].fallback;
	struct word word;
	while (!status && (word = next_word(at, ends)).length > 0)
		status = take(l, term, word, why);
	return status ? status : require_keys(l, term, why);
}

int nb_terms_parse(const struct nb_term_language *language, const char *text, struct nb_term term[NB_TERMS_MOST],
	int *n, char why[NB_TERM_WHY])
{
	const char *at = text;
	for (*n = 0;; at++) {
		if (*n == NB_TERMS_MOST)
			return FAIL("more than %d %ss in a text", NB_TERMS_MOST, language->noun);
		const int status = parse_one(language, &at, &term[*n], why);
		if (status)
			return status;
		++*n;
		if (*at == '\0')
			return NB_OK;
	}
}

char *nb_terms_squeeze(const char *text)
{
	char *to = malloc(strlen(text) + 1);
	size_t n = 0;
	if (!to)
		return NULL;
	for (const char *at = text; *at; at++) {
		const int gap = strchr(" \t\n", *at) != NULL;
		if (!gap)
			to[n++] = *at;
		else if (n > 0 && to[n - 1] != ' ')
			to[n++] = ' ';
	}
	to[n - (n > 0 && to[n - 1] == ' ')] = '\0';
	return to;
}
