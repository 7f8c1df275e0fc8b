/* The text of the pages (man/plain.awk), as data, and the search in it. */
#include "tools/filter/help.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

__asm__(".section .rodata\n"
	".balign 8\n"
	"nb_pages_size:\n"
	".quad 1f - nb_pages\n"
	"nb_pages:\n"
	".incbin \"" NB_PAGES "\"\n"
	"1:\n"
	".previous\n");
extern const char nb_pages[] __attribute__((visibility("hidden")));
extern const uint64_t nb_pages_size __attribute__((visibility("hidden")));

struct line {
	const char *text;
	size_t length;
};

/* Where a page has the words: at its best in one sentence, else in one section, else somewhere. */
struct place {
	enum { NOWHERE, IN_PAGE, IN_SECTION, IN_SENTENCE } level;
	struct line page, heading, sentence;
};

/* ---- words -------------------------------------------------------------------------------------- */

/* Letters that are no ASCII belong to words, too. */
static int is_in_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static int has(const char *text, size_t size, const char *word, int whole)
{
	const size_t length = strlen(word);
	for (size_t i = 0; i + length <= size; i++) {
		if (strncasecmp(text + i, word, length) != 0)
			continue;
		if (!whole)
			return 1;
		const size_t end = i + length, plural = end < size && tolower((unsigned char)text[end]) == 's';
		if ((i == 0 || !is_in_word(text[i - 1])) && (end + plural == size || !is_in_word(text[end + plural])))
			return 1;
	}
	return 0;
}

int nb_words_has(const struct nb_words *words, const char *text, int k)
{
	return has(text, strlen(text), words->word[k], words->whole);
}

static uint64_t found_in(const struct nb_words *words, struct line line)
{
	uint64_t bits = 0;
	for (int k = 0; k < words->n; k++)
		bits |= (uint64_t)has(line.text, line.length, words->word[k], words->whole) << k;
	return bits;
}

/* ---- pages -------------------------------------------------------------------------------------- */

static struct line line_at(const char *at)
{
	return (struct line){at, strcspn(at, "\n")};
}

static const char *next(struct line line)
{
	return line.text + line.length + 1;
}

/* What is being read. */
struct reading {
	const struct nb_words *words;
	const char *end;
	uint64_t all;
};

/* A section from its heading on, of a page that has these words in its name: the first sentence with the most. */
static const char *read_section(const struct reading *r, const char *at, struct place *place, uint64_t *of_page)
{
	const struct line heading = line_at(at);
	struct line best = {"", 0};
	uint64_t section = found_in(r->words, heading);
	int most = 0;
	for (at = next(heading); at < r->end && *at != '\f' && *at != '\t'; at = next(line_at(at))) {
		const uint64_t bits = found_in(r->words, line_at(at));
		section |= bits;
		if (__builtin_popcountll(bits) > most)
			best = line_at(at);
		most = __builtin_popcountll(bits) > most ? __builtin_popcountll(bits) : most;
	}
	*of_page |= section;
	const int level = most == r->words->n ? IN_SENTENCE : section == r->all ? IN_SECTION : NOWHERE;
	if (level > (int)place->level) {
		place->level = level;
		place->heading = heading;
		place->sentence = best;
	}
	return at;
}

static const char *read_page(const struct reading *r, const char *at, struct place *place)
{
	uint64_t bits = found_in(r->words, line_at(at));
	*place = (struct place){.page = line_at(at)};
	at = next(place->page);
	while (at < r->end && *at != '\f')
		at = *at == '\t' ? read_section(r, at, place, &bits) : next(line_at(at));
	if (place->level == NOWHERE && bits == r->all)
		place->level = IN_PAGE;
	return at;
}

static void print_place(const struct place *place)
{
	const char *open = memchr(place->page.text, '(', place->page.length);
	printf("  man %c %.*s", open[1], (int)(open - place->page.text - 1), place->page.text + 1);
	if (place->level > IN_PAGE)
		printf(", %.*s", (int)place->heading.length - 1, place->heading.text + 1);
	putchar('\n');
	if (place->level > IN_PAGE && place->sentence.length)
		printf("      %.*s\n", (int)place->sentence.length, place->sentence.text);
}

int nb_pages_search(const struct nb_words *words, void (*begin)(void *context), void *context)
{
	struct place place;
	const struct reading r = {words, nb_pages + nb_pages_size, ((uint64_t)1 << words->n) - 1};
	int best = NOWHERE;
	for (const char *at = nb_pages; at < r.end;) {
		at = read_page(&r, at, &place);
		best = (int)place.level > best ? (int)place.level : best;
	}
	if (best == NOWHERE)
		return 0;
	begin(context);
	for (const char *at = nb_pages; at < r.end;) {
		at = read_page(&r, at, &place);
		if (place.level != NOWHERE && (place.level > IN_PAGE || best == IN_PAGE))
			print_place(&place);
	}
	return 1;
}
