/* unknown.h - one line about an option that there is not, with what may have been meant.  Private to options.c. */
#ifndef NB_FILTER_UNKNOWN_H
#define NB_FILTER_UNKNOWN_H

#include "tools/filter/filter.h"

struct nb_unknown {
	const struct nb_tool *tool;
	const struct nb_option *const *row; /* the n options that there are */
	size_t n;
	const char *given;	   /* the word of the command line */
	const char *hint, *before; /* nb_quote_hint, nb_quote_before */
};

/* Ends the tool if the option belongs to a command that is not quoted. */
void nb_unknown_before(const struct nb_unknown *unknown);
/* Ends the tool; letter: in a word of letters, or 0. */
_Noreturn void nb_unknown_option(const struct nb_unknown *unknown, int letter);

#endif
