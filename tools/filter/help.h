/* help.h - what the command nb says about the suite. */
#ifndef NB_FILTER_HELP_H
#define NB_FILTER_HELP_H

/* Each prints to standard output, and returns an exit status. */
/* The programs and pages, one line each. */
int nb_help_list(void);
/* All of words, in any order and case of letters, in one line about a program, an option, a model, a page or a column,
 * and in the text of the pages: prints these places.  Whole words go before parts of words, and these before words that
 * mean the same.  None: a message, and NB_EXIT_FAILED. */
int nb_help_search(int nword, char **word);

/* ---- for help.c (pages.c) ---- */

struct nb_words {
	int n; /* less than 64 */
	char **word;
	int whole; /* none is only a part of a word, except of its plural */
};
/* Whether the text has word k, in any case of letters. */
int nb_words_has(const struct nb_words *words, const char *text, int k);
/* Prints where the pages have all words, each page with its best place, after begin; 0 if none has. */
int nb_pages_search(const struct nb_words *words, void (*begin)(void *context), void *context);

#endif
