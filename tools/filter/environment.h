/* environment.h - the environment variables of the suite; nb(7) lists them. */
#ifndef NB_FILTER_ENVIRONMENT_H
#define NB_FILTER_ENVIRONMENT_H

/* Ends the tool with status 2 and one line if NB_FOLD, NB_MAX_FRAME or NB_SIMD says what nobody knows: a word that is
 * mistyped would silently be the default.  One that is empty is not there. */
void nb_require_environment(void);
/* Ends it if there are more threads than there may be, or if its stack is too small to start so many: beyond its end a
 * stack would only raise a signal.  Those that are started by a thread of nb have stacks of the same size; those of
 * OpenMP at least NB_STACK_LEAST bytes. */
void nb_require_stack(int threads);

#endif
