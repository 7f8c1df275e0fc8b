# Ranks of Open MPI (MPI=1).
# With MPI=1 the program is that of build/cpu or build/cuda but for *_mpi.c, whose functions come before those of the library.
MPICC   ?= $(firstword $(foreach c,mpicc.openmpi mpicc,$(shell command -v $c)))
ifeq ($(MPI),1)
PROGRAMS = build/mpi$(if $(filter 1,$(CUDA)),-cuda)
MPI_O    = $(patsubst %.c,$(PROGRAMS)/%.o,$(wildcard kernels/*/*_mpi.c))
PROGRAM_LDFLAGS =
ifeq ($(MPICC),)
$(error MPI=1 needs Open MPI: apt-get install libopenmpi-dev openmpi-bin)
endif
MPI_CFLAGS := $(patsubst -I%,-isystem %,$(shell $(MPICC) --showme:compile))
MPI_LIBS   := $(shell $(MPICC) --showme:link)
endif
