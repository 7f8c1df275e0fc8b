/* descriptor.h - file descriptors of a program that may have been started with some of the first three closed. */
#ifndef NB_DESCRIPTOR_H
#define NB_DESCRIPTOR_H

/* The same descriptor above standard error, close-on-exec, so that nothing is taken for standard input, output or
 * error; one that is there already stays as it is.  -1, with errno, and closed where that is not possible; -1 stays -1.
 */
int nb_above_standard(int fd);
/* Those of 0, 1 and 2 that are closed become ones that cannot be read or written either, so that no file that is opened
 * later takes their place: "-" would be that file.  First in a program; 0, or -1 and errno. */
int nb_hold_standard(void);
int nb_is_fifo(int fd);
/* The same descriptor; that of a directory is closed, as only the first read would fail: -1, EISDIR.  -1 stays -1. */
int nb_unless_directory(int fd);

#endif
