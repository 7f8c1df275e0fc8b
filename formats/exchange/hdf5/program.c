/* The program of hdf5/library.c, as data; lists.h says whether there is one. */
#include "formats/exchange/hdf5/hdf5.h"

#include "common/held.h"

#ifdef NB_HDF5

NB_HELD_PROGRAM(nb_h5_program, NB_HDF5_PROGRAM);

#else

const unsigned char nb_h5_program[] = {0};
const uint64_t nb_h5_program_size = 0;

#endif
