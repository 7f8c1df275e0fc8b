/* die.h - messages for people, and the end of a tool.  Only tools and the option code call these. */
#ifndef NB_DIE_H
#define NB_DIE_H

#include <stdarg.h>

/* exit statuses of every tool */
enum { NB_EXIT_OK = 0, NB_EXIT_FAILED = 1, NB_EXIT_USAGE = 2 };

/* The name that starts every message: the basename of argv[0]. */
void nb_program_init(const char *argv0);
const char *nb_program(void);

/* "program: message\n" on stderr, then exit(status).  A message that ends in ':' gets strerror(errno). */
_Noreturn void nb_die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nb_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Like nb_warn, but only after -v. */
void nb_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern int nb_verbosity; /* -1 after -q, 0, 1 after -v, 2 after -vv */

#endif
