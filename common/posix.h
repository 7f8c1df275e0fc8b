/* posix.h - what the sources take from the C library beyond POSIX.1-2008, for a build with POSIX=1, which includes this
 * file before every source.  It says what the manual pages of Linux say; system_posix.c has it. */
#ifndef NB_POSIX_H
#define NB_POSIX_H

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#define program_invocation_short_name "nb"
extern char **environ;

void *memmem(const void *in, size_t n, const void *what, size_t length);
int asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *), void *context);
int scandirat(int directory, const char *path, struct dirent ***entry, int (*select)(const struct dirent *),
	int (*compare)(const struct dirent **, const struct dirent **));
int pipe2(int end[2], int flags);
int ppoll(struct pollfd *file, nfds_t n, const struct timespec *timeout, const sigset_t *blocked);
int posix_spawn_file_actions_addfchdir_np(posix_spawn_file_actions_t *actions, int directory);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *lock, clockid_t clock, const struct timespec *until);
int memfd_create(const char *name, unsigned flags);
#define MFD_CLOEXEC 0u

#endif
