/* quote.h - a command of several words that should be one operand. */
#ifndef NB_FILTER_QUOTE_H
#define NB_FILTER_QUOTE_H

#include "tools/filter/filter.h"

enum { NB_QUOTE_HINT = 400 };

/* " (quote the force pipeline: nb-step -d 0.1 'nb-force -e 0.05')" where a command that should be one operand begins
 * among these words, or "". */
const char *nb_quote_hint(const struct nb_tool *tool, char **words, char hint[NB_QUOTE_HINT]);
/* The words before that command, each between line ends; "" if there is none. */
void nb_quote_before(const struct nb_tool *tool, char **words, char before[NB_QUOTE_HINT]);
/* Whether this word is among them: an unknown option there cannot be one of the words of the command. */
int nb_quote_is_before(const char *word, const char *before);

#endif
