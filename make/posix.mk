# POSIX=1: without what Linux alone has (common/system.h), and without the flags of its linker.  What the sources take from
# the C library beyond POSIX.1-2008 and the BSDs the compiler then refuses.  Programs held
# as data (HDF5, cairo, the server of nb-view) do not run.
SYSTEM_NOT = %_posix.c
ifeq ($(POSIX),1)
LIBC       = -D_XOPEN_SOURCE=700 -D_DEFAULT_SOURCE -include common/posix.h
SYSTEM_NOT = %_linux.c common/openmp.c $(filter-out %_posix.c,$(wildcard tools/fold/*.c))
HDF5       = 0
MICROHTTPD = 0
LDFLAGS   := -fopenmp
override LDLIBS := -ldeflate $(PICTURE_LIBS) -lm -lpthread
endif

# Builds with POSIX=1, and runs what does not ask for folding.
check-posix:
	$(MAKE) $(ALL_CORES) POSIX=1 all
	NB_FOLD=off NB_CONFIG=posix NB_TOP=$(CURDIR) NB_BIN=$(CURDIR)/build/posix/bin $(BATS) --filter-tags !linux $(POSIX_TESTS)
POSIX_TESTS = $(patsubst %,tests/%.bats,files nb-build-tree nb-calc nb-diff nb-extra nb-field nb-force nb-gen nb-groups nb-merge \
	nb-neighbours nb-plot nb-power nb-select nb-sort-zorder nb-stats nb-transform pipelines stream convert-tables)
