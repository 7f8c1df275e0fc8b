/* singular.h - words of messages after the number 1. */
#ifndef NB_SINGULAR_H
#define NB_SINGULAR_H

/* "1 bodies" becomes "1 body" in a text, outside of single quotes, for the nouns that messages count. */
void nb_make_singular(char *text);

#endif
