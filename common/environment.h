/* environment.h - the environment of this process, and calls that see another one. */
#ifndef NB_COMMON_ENVIRONMENT_H
#define NB_COMMON_ENVIRONMENT_H

#include "common/status.h"

NB_C_BEGIN

/* The variables that this process was given, or has set: also during nb_environment_with. */
char **nb_environment(void);

/* call(context) while getenv(name) is value, for a library that can be told something in no other way.  Other threads
 * may look up variables meanwhile, but not set any.  One such call at a time.  NB_ENOMEM, with the call not made. */
NB_MUST_CHECK int nb_environment_with(const char *name, const char *value, void (*call)(void *), void *context);

NB_C_END
#endif
