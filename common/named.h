/* named.h - files that are opened by name, for this process or for another one.
 *
 * The work of a program may be done in another process (tools/fold).  A name such as /dev/fd/63 or /proc/self/fd/3
 * means another file there, and a relative one begins at another place.  So all that is opened to be read by a name
 * that somebody has typed is opened here. */
#ifndef NB_NAMED_H
#define NB_NAMED_H

/* From now on the names that this thread opens are those of the process with this working directory (O_PATH); AT_FDCWD,
 * as at the start of a thread: of this process.  Returns the one before. */
int nb_names_of(int directory);
/* The working directory that names begin at. */
int nb_names_directory(void);
/* As open() with O_CLOEXEC, which without O_DIRECTORY refuses a directory: EISDIR.  A name of another process that says
 * something else here than there is not opened: ELOOP. */
int nb_open_named(const char *path, int flags);
/* Whether a name means the same in every process with this working directory: a regular file, or nothing at all, on a
 * way that leads through no file of a process. */
int nb_name_is_shared(const char *path);

#endif
