/* nearest.h - the word of a table that somebody may have meant who has written another one. */
#ifndef NB_NEAREST_H
#define NB_NEAREST_H

#include <stddef.h>

enum { NB_NEAREST_WORD = 48 }; /* longer words are not looked at */

struct nb_nearest {
	char given[NB_NEAREST_WORD];	 /* in lower case, "" if it is too long */
	const char *before;		 /* what the hint has before the word, such as "--"; set by the caller */
	int cost;			 /* of the best word, private */
	char hint[NB_NEAREST_WORD + 20]; /* "did you mean 'plummer'? ", or "" */
};

/* For a word of so many bytes that is in no table: offer all words of the table, and put the hint into the message. */
struct nb_nearest nb_nearest_to(const char *word, size_t length);
/* The word of a table, of so many bytes: the nearest is kept, if it is near enough: one that means the same, of which
 * the given one is a part, or that a few letters make of it. */
void nb_nearest_offer(struct nb_nearest *nearest, const char *word, size_t length);
/* The nearest to a word of so many bytes in a list that these characters divide. */
struct nb_nearest nb_nearest_in(const char *word, size_t length, const char *list, const char *dividers);
/* A word that means the same as this one, number k from 0, into to; 0: there is none. */
int nb_synonym(const char *word, size_t k, char to[NB_NEAREST_WORD]);
/* Whether a list of words with blanks or commas between them has this one; no list has none, and none the empty word.
 */
int nb_has_word(const char *list, const char *word);
/* Whether such a list of lower case has what stands behind the last point of a path, in capital letters or not. */
int nb_has_suffix(const char *list, const char *path);

#endif
