/* system.h - what Linux has and POSIX has not, or not yet.
 *
 * system_linux.c does it; in a build with POSIX=1, system_posix.c does what can be done without Linux.  More of Linux
 * is used in the files named common/..._linux.c, and in the folders tools/fold, formats/exchange/hdf5 and kernels/ranks
 * alone (make lint), which such a build does without: there programs do not fold. */
#ifndef NB_SYSTEM_H
#define NB_SYSTEM_H

#include <stddef.h>

/* A file that a thread or a signal handler makes readable, by writing 8 bytes into end[1]; reading 8 bytes from end[0]
 * takes them back.  Neither waits.  Close-on-exec, above standard error, and perhaps the same.  0, or -1 with errno. */
int nb_system_event(int end[2]);
/* Makes it readable, also in a signal handler; takes that back. */
void nb_system_raise(const int end[2]);
void nb_system_lower(const int end[2]);

/* Bytes of memory that the machine has, with swap space; SIZE_MAX if that is unknown. */
size_t nb_system_memory(void);

/* The path of this program, of at most size - 1 bytes: 0; -1 if it cannot be told. */
int nb_system_program(char *path, size_t size);
/* The path that this program was started by; NULL if it cannot be told. */
const char *nb_system_program_file(void);

/* What the children of this process leave behind become its children. */
void nb_system_adopt(void);

int nb_system_is_first_thread(void);

/* The heap grows by pad bytes and gives its free end back if that is longer than trim; blocks from mapped bytes on are
 * no part of it. */
void nb_system_set_heap(size_t mapped, size_t trim, size_t pad);
/* Asks for huge pages, of so many bytes: of the heap, as far as it has grown by steps of pad since the last call; and
 * of a block that begins with one.  That nothing comes of it is harmless. */
void nb_system_widen_heap(size_t huge, size_t pad);
void nb_system_widen(void *p, size_t bytes);
/* Whole pages take no memory until they are used again: of a mapped file, unchanged; or memory, which is 0 then. */
void nb_system_forget(void *p, size_t bytes);

#endif
