/* held.h - programs that nb holds as data, for libraries that its own programs shall not carry or cannot load. */
#ifndef NB_HELD_H
#define NB_HELD_H

#include "common/status.h"

#include <stdint.h>
#include <sys/types.h>

/* Makes the file at path the constant bytes name, and their number name_size (uint64_t). */
#define NB_HELD_PROGRAM(name, path)                                                            \
	__asm__(".section .rodata\n.balign 8\n.globl " #name "\n.globl " #name "_size\n" #name \
		"_size:\n.quad 1f - " #name "\n" #name ":\n.incbin \"" path "\"\n1:\n.previous\n")

/* Starts a program of these bytes.  Its descriptor 0 is the other end of *socket, 3 is file (-1: closed); others are
 * closed, and signals as they are at the start of a program.  0, or an errno: of ENOENT, /proc is not there, or the
 * loader of a program with shared libraries. */
NB_MUST_CHECK int nb_held_start(
	const char *name, const unsigned char *program, uint64_t size, int file, int *socket, pid_t *process);

#endif
