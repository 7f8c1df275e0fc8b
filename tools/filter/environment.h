/* environment.h - the environment variables of the suite; nb(7) lists them. */
#ifndef NB_FILTER_ENVIRONMENT_H
#define NB_FILTER_ENVIRONMENT_H

/* Ends the tool with status 2 and one line if NB_FOLD, NB_MAX_FRAME or NB_SIMD says what nobody knows: a word that is
 * mistyped would silently be the default.  One that is empty is not there. */
void nb_require_environment(void);

#endif
