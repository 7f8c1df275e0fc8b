/* help.h - what the command nb says about the suite. */
#ifndef NB_FILTER_HELP_H
#define NB_FILTER_HELP_H

/* Each prints to standard output, and returns an exit status. */
/* The programs and pages, one line each. */
int nb_help_list(void);
/* All of words in one line about a program, an option, a model, a page or a column, in any case of letters: prints
 * these lines.  None: a message, and NB_EXIT_FAILED. */
int nb_help_search(int nword, char **word);

#endif
