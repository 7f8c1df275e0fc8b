/* The program of hdf5/library.c, as data; lists.h says whether there is one. */
#include "formats/exchange/hdf5/hdf5.h"

#ifdef NB_HDF5

__asm__(".section .rodata\n"
	".balign 8\n"
	".globl nb_h5_program\n"
	".globl nb_h5_program_size\n"
	"nb_h5_program_size:\n"
	".quad 1f - nb_h5_program\n"
	"nb_h5_program:\n"
	".incbin \"" NB_HDF5_PROGRAM "\"\n"
	"1:\n"
	".previous\n");

#else

const unsigned char nb_h5_program[] = {0};
const uint64_t nb_h5_program_size = 0;

#endif
