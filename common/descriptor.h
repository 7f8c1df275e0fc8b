/* descriptor.h - file descriptors of a program that may have been started with some of the first three closed. */
#ifndef NB_DESCRIPTOR_H
#define NB_DESCRIPTOR_H

/* The same descriptor above standard error, close-on-exec, so that nothing is taken for standard input, output or
 * error; one that is there already stays as it is.  -1, with errno, and closed where that is not possible; -1 stays -1.
 */
int nb_above_standard(int fd);
int nb_is_fifo(int fd);

#endif
