# nb: N-body gravity as a chain of Unix filters.  `make help` lists the targets.
#
# Sources are found, not listed:
#   tools/nb-x.c or tools/nb-x/*.c   a program; needs man/nb-x.1 and tests/nb-x.bats
#   kernels/ROOM/                    *.c; *_simd.c is compiled once per instruction set (see common/cpu.h); *_cuda.cu;
#                                    x_mpi.c, in place of x.c with MPI=1
#   formats/exchange/FOLDER/*.c      formats of nb-convert: a line 'const struct nb_format nb_format_x = {' makes one
#   formats/ROOM/*.c, tools/filter/*.c, tools/fold/*.c, common/*.c
#   tests/unit/ROOM/*.c, *.cu        unit test programs; tests/bench/*.c, *.cu  benchmarks; tests/filters/*.c  programs
#                                    that tests put into pipelines; tests/torture/*.c  drivers of make torture
# a make within this one does not say which folder it enters, in `make -C nb check` neither: tests read what it prints
MAKEFLAGS += --no-print-directory
# `make` alone, whatever target the parts below begin with
.DEFAULT_GOAL = all

TOOLS   = $(sort $(patsubst tools/%.c,%,$(wildcard tools/nb-*.c)) $(patsubst tools/%/,%,$(wildcard tools/nb-*/)))
TOOL_C  = $(wildcard tools/nb-*.c tools/nb-*/*.c)
FORMATS := $(sort $(shell sed -n 's/^const struct nb_format nb_format_\([a-z0-9_]*\) = .*/\1/p' formats/exchange/*/*.c))

# ---- configuration -------------------------------------------------------------------------------
# of the programs, the pages of pkg-config and the archive; the first line of NEWS has it, too
VERSION = 0.2.0
PREFIX  ?= /usr/local
DESTDIR ?=
NVCC    ?= nvcc
CUDA    ?= $(if $(shell command -v $(NVCC) 2>/dev/null),1,0)
CUDA_ARCHS ?= 90
CUDA_PTX   ?= 75
SAN     ?= 0
TSAN    ?= 0
FUZZ    ?= 0
COV     ?= 0
MPI     ?= 0
ARM     ?= 0

CHECKED = $(if $(filter 1,$(FUZZ)),fuzz,$(if $(filter 1,$(SAN)),san,$(if $(filter 1,$(TSAN)),tsan,$(if $(filter 1,$(COV)),cov))))
CONFIG  = $(or $(CHECKED),$(if $(filter 1,$(ARM)),arm,$(if $(filter 1,$(POSIX)),posix,$(if $(filter 1,$(CUDA)),cuda,cpu))))
BUILD   = build/$(CONFIG)
MADE    = build/made
ifneq ($(filter 1,$(SAN) $(TSAN) $(FUZZ) $(COV) $(ARM) $(POSIX)),)
override CUDA = 0
endif
ifeq ($(MPI),1)
ifeq ($(filter cpu cuda,$(CONFIG)),)
$(error MPI=1 has no variant with SAN, TSAN, FUZZ, COV, ARM or POSIX)
endif
endif

WARN    = -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes
# Unit tests are compiled oftener than they run long; oracles do most of their work.
OPT     = $(if $(filter tests/unit/%,$<),$(if $(filter %_ref.c,$<),-O3,-O1),-O3) -g
CPPFLAGS += -I. -I$(MADE) $(LIBC)
LIBC     = -D_GNU_SOURCE
CFLAGS  += -std=c17 $(WARN) $(OPT) -fopenmp -ffp-contract=off -fno-math-errno -fno-trapping-math
# libgomp is linked statically: see spin_briefly in common/cpu.c, and common/openmp.c.  -u takes both out of the library,
# for tests that use nothing of them, too.
# Processes compare build ids to know whether they are the same program: see tools/fold/meet.h
LDFLAGS += -Wl,--wrap=gomp_fatal,--wrap=gomp_error,--wrap=pthread_attr_setstacksize,-u,__wrap_gomp_fatal,-u,nb_cpu_threads
LDLIBS  += -Wl,--build-id -l:libdeflate.a $(PICTURE_LIBS) -l:libgomp.a -lm -ldl -lpthread
# For pictures, static too: encoders, and letters with their font.  Without one, or with JPEG=0, WEBP=0 or FREETYPE=0,
# nb-render-ppm says that it is not built in.
there = $(foreach f,$(1),$(filter /%,$(shell $(CC) -print-file-name=$f)))
JPEG ?= $(if $(call there,libjpeg.a),1,0)
WEBP ?= $(if $(call there,libwebp.a),1,0)
FREETYPE_A = $(call there,libfreetype.a libpng16.a libz.a libbz2.a libbrotlidec.a libbrotlicommon.a)
FONT     ?= $(wildcard /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf)
FREETYPE ?= $(if $(and $(word 6,$(FREETYPE_A)),$(FONT)),1,0)
PICTURE_LIBS = $(call there,$(if $(filter 1,$(JPEG)),libjpeg.a) $(if $(filter 1,$(WEBP)),libwebp.a libsharpyuv.a)) \
               $(if $(filter 1,$(FREETYPE)),$(FREETYPE_A))
include make/checked.mk
include make/arm.mk
include make/posix.mk

# Instruction sets of the processor's family: NB_ISAS in common/cpu.h.
MACHINE := $(if $(filter 1,$(ARM)),aarch64,$(shell uname -m))
ISAS    = plain $(ISAS_$(MACHINE))
ISAS_x86_64  = avx2 avx512
ISAS_aarch64 = neon
# Where there are others, nearly nobody runs the plain variant, which takes longest to compile.
ISA_plain := -Wno-psabi $(if $(ISAS_$(MACHINE)),-O1 -Wno-maybe-uninitialized)
ISA_avx2   = -Wno-psabi -mavx2 -mfma -mpopcnt -mbmi -mbmi2 -mprefer-vector-width=256 -ffp-contract=fast
ISA_avx512 = -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma -mpopcnt -mbmi -mbmi2 \
             -mprefer-vector-width=512 -ffp-contract=fast
ISA_neon   = -Wno-psabi -ffp-contract=fast
# Functions of thousands of lines, in which gcc would follow each variable for the debugger.
ifneq ($(filter cpu cuda posix arm,$(CONFIG)),)
SIMD_OPT = -g1
endif
# The same with CUDA and without.
SIMD_BUILD = $(if $(filter cpu cuda posix,$(CONFIG)),build/simd,$(BUILD))

# ThreadSanitizer wants libomp, which tells it what waits for what (libarcher); libgomp does not
ifeq ($(TSAN),1)
CC      = clang
OPT     = -O1 -g
CFLAGS  += -fsanitize=thread -w -include tests/torture/clang.h
LDFLAGS += -fsanitize=thread -fopenmp
override LDLIBS := $(filter-out -l:libgomp.a,$(LDLIBS))
endif

include make/cuda.mk

# A program of a pipeline is started often, and without shared libraries in half the time.  CUDA finds its driver by
# dlopen, and sanitizers want the libraries.  (The linker warns of dlopen in static programs; its option -w would keep it
# quiet, and make programs with undefined functions, too.)
STATIC := $(if $(filter /%,$(shell $(CC) -print-file-name=libc.a)),-static-pie -Xlinker --wrap=dlopen)
ifeq ($(CONFIG),cpu)
PROGRAM_LDFLAGS ?= $(STATIC)
endif

# libhdf5 is in a program of its own (formats/exchange/hdf5), which nb holds as data: the programs start as fast as without it.
# Without it, or with HDF5=0, nb-convert says that it is not built in.
HDF5_C  = formats/exchange/hdf5/library.c
HDF5_A := $(firstword $(filter /%,$(foreach f,hdf5/serial/libhdf5.a libhdf5.a,$(shell $(CC) -print-file-name=$f))))
HDF5   ?= $(if $(HDF5_A),1,0)
HDF5_INCLUDE = $(if $(filter %/hdf5/serial/libhdf5.a,$(HDF5_A)),-isystem /usr/include/hdf5/serial)
HDF5_LIBS = $(HDF5_A) $(filter /%,$(foreach f,libsz.a libaec.a libz.a,$(shell $(CC) -print-file-name=$f)))
HDF5_LDFLAGS = -s $(STATIC)

# cairo is loaded by a program of its own, too, which draws for nb: formats/canvas/canvas.h.
CAIRO_C = formats/canvas/cairo.c

# The page of nb-view is served by another such program, which finds libmicrohttpd when it starts.
VIEW_C = $(wildcard tools/nb-view/server/*.c)
MICROHTTPD ?= $(if $(filter /%,$(shell $(CC) -print-file-name=libmicrohttpd.so)),1,0)

include make/mpi.mk

PROGRAMS ?= $(BUILD)

# one short line for each file; V=1 prints the commands
ifeq ($(V),1)
Q =
say =
else
Q = @
say = @printf '  %-5s %s\n' '$(1)' '$(patsubst $(BUILD)/%,%,$(2))'
endif

# ---- objects -------------------------------------------------------------------------------------
KERNEL_SIMD = $(wildcard kernels/*/*_simd.c)
KERNEL_CU   = $(if $(filter 1,$(CUDA)),$(wildcard kernels/*/*_cuda.cu))
LIB_C       = $(filter-out $(KERNEL_SIMD) $(HDF5_C) $(CAIRO_C) %_mpi.c $(SYSTEM_NOT),$(wildcard common/*.c formats/*/*.c \
              formats/exchange/*/*.c kernels/*/*.c tools/filter/*.c tools/fold/*.c)) $(TOOL_C)
# what compiles longest comes first
LIB_O       = $(foreach i,$(ISAS),$(KERNEL_SIMD:%.c=$(if $(filter $(i),$(ISAS_PLAIN)),build/simd,$(SIMD_BUILD))/%-$(i).o)) \
              $(KERNEL_CU:%.cu=$(BUILD)/%.o) $(LIB_C:%.c=$(BUILD)/%.o)
LIB         = $(BUILD)/libnb.a
# What is installed for programs of others: all that nb.h needs in one object, which shows no other name.
LIBRARY     = $(BUILD)/library/libnb.a
LIBRARY_O   = $(patsubst %.c,$(BUILD)/library/%.o,$(filter-out $(SYSTEM_NOT),$(wildcard common/*.c formats/stream/*.c)))
# all tools are one program under several names: tools/main.c
PROGRAM     = $(PROGRAMS)/bin/nb
BINS        = $(PROGRAM) $(TOOLS:%=$(PROGRAMS)/bin/%)

.DELETE_ON_ERROR:
.SECONDARY:
all: $(BINS) $(LIBRARY)

# The new contents, which the same shell wrote, take a file's place if they differ.  Each make has a name of its own for
# them, as several may run at a time.
replace = if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi

# the objects of the library; written anew when a source came or went
$(BUILD)/lib.list: FORCE
	@mkdir -p $(@D)
	@echo '$(LIB_O)' >$@.$$$$ && $(replace)

$(LIB): $(LIB_O) $(BUILD)/lib.list
	$(call say,AR,$@)
	$(Q)rm -f $@.$$$$ && $(AR) rcs $@.$$$$ $(LIB_O) && mv $@.$$$$ $@

$(BUILD)/library/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=c17 -w -O2 -fPIC -MMD -MP -c -o $@ $<

$(LIBRARY): $(LIBRARY_O) formats/stream/nb.h
	$(call say,AR,$@)
	$(Q)rm -f $@ $@.all && $(AR) rcs $@.all $(LIBRARY_O)
	$(Q)$(CC) -r -nostdlib -o $@.o $(BUILD)/library/formats/stream/nb.o $@.all $(filter -L%,$(LDFLAGS)) -l:libdeflate.a
	$(Q)grep -o 'nb_[a-z0-9_]*(' formats/stream/nb.h | tr -d '(' >$@.names
	$(Q)$(OBJCOPY) --keep-global-symbols=$@.names $@.o && $(AR) rcs $@ $@.o

$(PROGRAM): $(BUILD)/tools/main.o $(MPI_O) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(PROGRAM_LDFLAGS) -o $@ $^ $(LDLIBS) $(MPI_LIBS)
	@for l in $(@D)/nb-*; do case ' $(TOOLS) ' in *" $${l##*/} "*) ;; *) rm -f "$$l" ;; esac; done # tools that are gone

$(PROGRAMS)/bin/nb-%: $(PROGRAM)
	$(Q)ln -sf nb $@

$(MPI_O): $(PROGRAMS)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(MPI_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The tools and formats that there are, for the files that list them, which libraries are, and the version; written anew
# when a file came or went.
# nb-sort-zorder is nb_tool_sort_zorder.
$(BUILD)/lists.h: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '#define NB_VERSION "$(VERSION)"' '#define NB_TOOLS $(foreach t,$(subst -,_,$(TOOLS)),TOOL($(t:nb_%=%)))' \
		'#define NB_FORMATS $(foreach f,$(FORMATS),FORMAT($f))' $(if $(filter 1,$(HDF5)),'#define NB_HDF5 1') \
		$(if $(filter 1,$(JPEG)),'#define NB_JPEG 1') $(if $(filter 1,$(WEBP)),'#define NB_WEBP 1') \
		$(if $(filter 1,$(FREETYPE)),'#define NB_FREETYPE 1') \
		$(if $(filter 1,$(MICROHTTPD)),'#define NB_MICROHTTPD 1') >$@.$$$$ && $(replace)
LISTED = $(patsubst %,$(BUILD)/%.o,tools/main tools/filter/registry tools/filter/options formats/exchange/exchange \
	formats/exchange/hdf5/program tools/nb-view/program $(addprefix formats/image/,glyphs jpeg text webp) \
	tests/unit/filter/places tests/unit/image/image)
$(LISTED): CPPFLAGS += -include $(BUILD)/lists.h
$(LISTED): $(BUILD)/lists.h

$(BUILD)/formats/exchange/hdf5/library: $(HDF5_C) $(BUILD)/lists.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS) $(HDF5_INCLUDE) -std=c17 $(WARN) -O2 -MMD -MP -MF $@.d \
		$(HDF5_LDFLAGS) -o $@ $< $(HDF5_LIBS) -lm -ldl -lpthread
$(BUILD)/formats/exchange/hdf5/program.o: CPPFLAGS += -DNB_HDF5_PROGRAM='"$(BUILD)/formats/exchange/hdf5/library"'
$(BUILD)/formats/exchange/hdf5/program.o: $(if $(filter 1,$(HDF5)),$(BUILD)/formats/exchange/hdf5/library)

$(BUILD)/formats/canvas/cairo: $(CAIRO_C)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=c17 $(WARN) -O2 -s -MMD -MP -MF $@.d -o $@ $< -ldl
$(BUILD)/formats/canvas/canvas.o: CPPFLAGS += -DNB_CAIRO_PROGRAM='"$(BUILD)/formats/canvas/cairo"'
$(BUILD)/formats/canvas/canvas.o: $(BUILD)/formats/canvas/cairo

$(BUILD)/formats/image/glyphs.o: CPPFLAGS += -isystem /usr/include/freetype2 -DNB_FONT='"$(FONT)"'

$(BUILD)/tools/nb-view/server: $(VIEW_C) tools/nb-view/server/server.h tools/nb-view/talk.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=c17 $(WARN) -O2 -s -o $@ $(VIEW_C) -lmicrohttpd
$(BUILD)/tools/nb-view/program.o: CPPFLAGS += -DNB_VIEW_SERVER='"$(BUILD)/tools/nb-view/server"'
$(BUILD)/tools/nb-view/program.o: CPPFLAGS += -DNB_VIEW_PAGE='"$(MADE)/view/page.html"'
$(BUILD)/tools/nb-view/program.o: $(MADE)/view/page.html $(if $(filter 1,$(MICROHTTPD)),$(BUILD)/tools/nb-view/server)

# the page of nb-view, of the files beside it
$(MADE)/view/page.html: $(sort $(wildcard tools/nb-view/page/*))
	@mkdir -p $(@D)
	@awk -f tools/nb-view/page/join.awk tools/nb-view/page/page.html >$@.$$$$ && mv $@.$$$$ $@

# the text of the pages, for 'nb help'
$(MADE)/man/pages.txt: man/plain.awk $(sort $(wildcard man/*.[1-9]))
	@mkdir -p $(@D)
	$(call say,AWK,$@)
	$(Q)awk -f $^ >$@.$$$$ && mv $@.$$$$ $@
$(BUILD)/tools/filter/pages.o: CPPFLAGS += -DNB_PAGES='"$(MADE)/man/pages.txt"'
$(BUILD)/tools/filter/pages.o: $(MADE)/man/pages.txt

# expansions, written out term by term
$(MADE)/kernels/multipole/high_terms.h: kernels/multipole/high_terms.awk
	@mkdir -p $(@D)
	$(call say,AWK,$@)
	$(Q)awk -f $< >$@.$$$$ && mv $@.$$$$ $@
$(patsubst %.c,$(BUILD)/%.o,$(wildcard kernels/walk/*.c kernels/domain/*.c)) \
$(foreach i,$(ISAS),$(SIMD_BUILD)/kernels/walk/walk_simd-$(i).o) \
$(patsubst %.cu,$(BUILD)/%.o,$(wildcard kernels/walk_gpu/*.cu)) $(BUILD)/tests/unit/multipole/multipole.o: \
| $(MADE)/kernels/multipole/high_terms.h

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

SIMD_CC     ?= $(CC)
SIMD_CFLAGS ?= $(CFLAGS)
define simd_rule
$(SIMD_BUILD)/%-$(1).o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$< ($(1)))
	$$(Q)$(SIMD_CC) $(filter-out -DNB_CUDA=1,$(CPPFLAGS)) $(SIMD_CFLAGS) $(SIMD_OPT) $(SIMD_OPT_$(1)) $(ISA_$(1)) $$(SIMD_LAST) \
		-DNB_ISA_NAME=$(1) -DNB_ISA_$(1)=1 -MMD -MP -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call simd_rule,$(i))))
$(BUILD)/kernels/small/small_cpu.o: CFLAGS += -fno-tree-vectorize
# distances, and orbits, that every instruction set rounds alike
$(SIMD_BUILD)/kernels/near/%.o: SIMD_LAST = -ffp-contract=off
$(SIMD_BUILD)/kernels/mesh/paint_simd-%.o: SIMD_LAST = -ffp-contract=off
$(SIMD_BUILD)/kernels/small/%.o: SIMD_LAST = -ffp-contract=off -Wno-psabi
$(BUILD)/kernels/near/%.o $(BUILD)/kernels/small/%.o: NVCC_LAST = -fmad=false

$(BUILD)/%.o: %.cu
	@mkdir -p $(@D)
	$(call say,NVCC,$<)
	$(Q)$(NVCC) $(NVCCFLAGS) $(NVCC_LAST) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# test and benchmark programs
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# without libFuzzer: the corpus once
ifneq ($(FUZZ),1)
$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/replay/main.o $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)
endif

include make/torture.mk

# so that it sees for how many threads tasks are made
$(BUILD)/tests/unit/papers/threads: LDFLAGS += -Wl,--wrap=GOMP_task

# whose calls fail, and those of libc where that is static: tests/unit/scarce.h
$(BUILD)/tests/unit/%/scarce: LDFLAGS += $(PROGRAM_LDFLAGS) \
	$(foreach f,malloc calloc realloc strdup nb_alloc nb_alloc_zero,-Wl,--wrap=$f)
$(BUILD)/tests/unit/exchange/scarce: LDFLAGS += $(foreach f,output_bytes output_text output_f64 output_goes_back \
	output_again bytes_peek bytes_read bytes_skip bytes_seek,-Wl,--wrap=nb_$f)

# which has a clock of its own
$(BUILD)/tests/unit/filter/progress: LDFLAGS += -Wl,--wrap=nb_now,--wrap=nb_now_roughly

# which answers for the process that reads HDF5
$(BUILD)/tests/fuzz/hdf5: LDFLAGS += $(foreach f,socketpair posix_spawn kill waitpid send,-Wl,--wrap=$f)

UNITS      = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*/*.c))
UNITS_CUDA = $(if $(filter 1,$(CUDA)),$(patsubst %.cu,$(BUILD)/%,$(wildcard tests/unit/*/*.cu)))
FILTERS    = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/filters/*.c))
BENCHES    = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
BENCHES_CUDA = $(if $(filter 1,$(CUDA)),$(patsubst %.cu,$(BUILD)/%,$(wildcard tests/bench/*.cu)))
FUZZERS    = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/*.c))
test-programs: $(UNITS) $(UNITS_CUDA) $(FILTERS) $(foreach p,loop measure papers,$(BUILD)/tests/bench/$p)
bench-programs: $(BENCHES) $(BENCHES_CUDA)
fuzz-programs: $(FUZZERS)

include make/packages.mk

# ---- what people type ------------------------------------------------------------------------------
# Test files run side by side, a job more than there are processors, as tests wait for many small processes.  Two of them
# say when programs must start, or judge how they share time: they come last, one after the other.
BATS  ?= tests/bats-parallel $(shell expr $$(nproc) + 1)
TESTS ?= $(sort $(wildcard tests/*.bats))
ALONE  = tests/fold.bats tests/ranks.bats
# as many jobs as there are processors, unless -j says otherwise
ALL_CORES = $(if $(filter -j% --jobs%,$(MAKEFLAGS)),,-j$(shell nproc))

# The picture is made by the CPU: kernels for devices take most of the time of a build, which whoever has a GPU spends next.
demo: deps-build
	@$(MAKE) $(ALL_CORES) CUDA=0 all
	@NB_BIN=$(abspath build/cpu)/bin examples/demo build/cpu/demo
	@[ '$(CUDA)' != 1 ] || echo "with kernels for GPUs: make -j$$(nproc)"

# What tests need besides is installed meanwhile, which takes one processor and the network; who is not root is told first.
BUILD_BESIDE_PACKAGES = mkdir -p $(BUILD); log=$(BUILD)/packages.log; packages=; \
	if [ "$$(id -u)" -ne 0 ]; then $(MAKE) deps-check || exit 1; \
	else $(MAKE) deps-check >$$log 2>&1 & packages=$$!; fi; \
	$(MAKE) $(ALL_CORES) all test-programs || exit 1; \
	[ -z "$$packages" ] || wait "$$packages" || { cat $$log; exit 1; }

# Tests start Python thousands of times, and what finds it on some machines takes longer than it.
PYTHON_FIRST = python=$$(python3 -c 'import sys; print(sys.executable)'); \
	[ "$$(command -v python3)" = "$$python" ] || export PATH="$${python%/*}:$$PATH"
check: deps-build
	@$(BUILD_BESIDE_PACKAGES)
	$(Q)$(PYTHON_FIRST); export NB_BIN=$(abspath $(BUILD))/bin NB_CONFIG=$(CONFIG); status=0; \
		$(if $(filter-out $(ALONE),$(TESTS)),$(BATS) $(filter-out $(ALONE),$(TESTS)) || status=1;) \
		$(foreach f,$(filter $(ALONE),$(TESTS)),$(BATS) $f || status=1;) exit $$status

# every room's unit tests and the main pipelines
check-fast: deps-check
	@$(MAKE) $(ALL_CORES) all test-programs
	$(Q)tests/check-fast $(BUILD)

# gcov comes with gcc.  What no test reached is then in build/cov/uncovered.txt.
.PHONY: coverage deps-coverage
coverage: deps-coverage
	@$(MAKE) COV=1 all test-programs build/cov/tests/bench/measure \
		$(if $(wildcard tests/torture/inject.c),torture-programs)
	tests/coverage-run build/cov
	tests/coverage --list build/cov/uncovered.txt build/cov

# on a machine with a GPU: a test that needs one fails instead of being skipped
check-gpu:
	@$(MAKE) CUDA=1 all test-programs
	@[ -z '$(MPICC)' ] || $(MAKE) CUDA=1 MPI=1 all
	NB_BIN=$(abspath build/cuda)/bin NB_CONFIG=cuda NB_REQUIRE_GPU=1 bats $(TESTS)

# the attack on a machine with a GPU; PARTS="faults hostile", ARGS="-t 300"
PARTS ?= all
TORTURE_GPU = build/cuda/tests/torture/driver.so build/cuda/tests/torture/hog
torture-gpu:
	@$(MAKE) CUDA=1 all test-programs $(TORTURE_GPU)
	tests/torture/run-gpu $(ARGS) build/cuda $(PARTS)

include make/bench.mk

# TORTURE_SECONDS=N: so long at most for each part
torture: deps-build
	@$(MAKE) CUDA=0 torture-programs test-programs
	@$(MAKE) SAN=1 torture-sanitized
	$(if $(CAN_TSAN),@$(MAKE) TSAN=1 torture-sanitized)
	tests/torture/run $(if $(TORTURE_SECONDS),--seconds $(TORTURE_SECONDS))

torture-short: deps-build
	@$(MAKE) CUDA=0 torture-programs
	@$(MAKE) SAN=1 torture-sanitized
	tests/torture/run --short

# FUZZ_SECONDS for each target; 0: the corpus once.  TARGETS="csv tree": these only
FUZZ_SECONDS ?= 60
fuzz: deps-fuzz
	@$(MAKE) FUZZ=1 fuzz-programs
	tests/fuzz/run build/fuzz $(FUZZ_SECONDS) $(TARGETS)

# the corpus once, through the programs of the build under sanitizers
fuzz-corpus: deps-build
	@$(MAKE) SAN=1 fuzz-programs
	tests/fuzz/run build/san 0 $(TARGETS)

# It needs programs, but no code for devices, which takes nvcc minutes.
lint: deps-lint
	@$(MAKE) $(if $(wildcard build/cuda/bin),,CUDA=0) all
	tests/lint $(if $(wildcard build/cuda/bin),$(BUILD),build/cpu) "$(TOOLS)"

# the manual for a browser, with a picture of each script in examples/
html: deps-html
	@$(MAKE) all
	man/make-html build/html $(BUILD)/bin
	@echo "build/html/index.html"

# the table of columns in nb-stream(5) comes from formats/stream/field.def
man: man/nb-stream.5
man/nb-stream.5: formats/stream/field.def man/field-table.awk
	awk -f man/field-table.awk formats/stream/field.def $@ >$@.new && mv $@.new $@

include make/install.mk
include make/release.mk

clean:
	rm -rf build

help:
	@echo 'make            build into build/cuda, or build/cpu if there is no nvcc (CUDA=0 leaves CUDA out); V=1 shows the commands'
	@echo 'make MPI=1      build into build/mpi or build/mpi-cuda programs whose work several processes can share, by Open MPI'
	@echo 'make demo       install missing packages, build, run a simulation, draw a picture'
	@echo 'make check-fast the unit tests of every room and the main pipelines, in a minute or so'
	@echo 'make check      run every test; SAN=1: under AddressSanitizer and UBSan'
	@echo 'make POSIX=1    build into build/posix, without what Linux alone has, and without folding; check-posix: test that'
	@echo 'make ARM=1      build into build/arm, for 64-bit ARM; check-arm: run that in qemu, beside the programs of this machine'
	@echo 'make coverage   which branches the tests reach, in each folder, against the aims; the rest is in build/cov/uncovered.txt'
	@echo 'make check-gpu  run every test on a machine with a GPU; none is skipped'
	@echo 'make torture-gpu  attack all programs on a GPU: faults of the driver, hostile trees, compute-sanitizer, a full card'
	@echo 'make bench      run the CPU benchmarks; bench-gpu: those of the GPU, bench-devices: several GPUs'
	@echo 'make bench-ranks  one process and several ranks of MPI'
	@echo 'make bench-scaling  steps by number of bodies and threads, with the time of each stage'
	@echo 'make bench-pipes  pipelines folded and unfolded, beside their kernels alone; ARGS=--quick takes 20 seconds'
	@echo 'make bench-python   nb.run() and nb.pipe() of Python beside the pipes of a shell'
	@echo 'make bench-formats  formats of other programs read and written; ARGS=--quick only runs them'
	@echo 'make bench-orbits DATA=FOLDER  orbits of few bodies beside states that are known to more digits'
	@echo 'make bench-papers  the tables of the five papers beside the figures of this machine; PLOT=1 draws them,'
	@echo '                SHORT=1 runs every row with few bodies, in about a minute'
	@echo 'make torture    faults of every call, every cut and flipped bit, hostile streams; torture-short: a sample'
	@echo '                TORTURE_SECONDS=N: so long at most for each part'
	@echo 'make fuzz       feed readers, options and trees with hostile input; fuzz-corpus: what they found before'
	@echo '                FUZZ_SECONDS ($(FUZZ_SECONDS)) for each target; 0: the corpus once'
	@echo 'make lint       check code layout, includes, names, scripts and pages'
	@echo 'make install    install programs, pages and a library for filters into PREFIX ($(PREFIX)), below DESTDIR'
	@echo '                LINKS=hard or copy: no soft links; make uninstall removes all'
	@echo 'make dist       the archive of the release, as build/release/nb-$(VERSION).tar.gz; the same commit gives the same bytes'
	@echo 'make distcheck  build, test (check-fast), install and uninstall what it holds, without CUDA unless CUDA=1 is given'
	@echo 'make deb        packages for Debian and Ubuntu, in build/deb; check-deb: install, try and remove them in fresh roots'
	@echo '                with nvcc nb-cuda, too, which works without a GPU; DEBFULLNAME, DEBEMAIL: who makes them'
	@echo 'make wheel      a wheel with the programs and the Python module, without CUDA, in build/wheel'
	@echo 'make recipes    write recipes of conda, Spack, Homebrew and containers into build/recipes; URL=where the archive will be'
	@echo 'make deps       install the Debian packages for all of this'
	@echo 'make html       the manual for a browser, with pictures of the examples, in build/html'
	@echo 'make man        bring nb-stream(5) up to date with formats/stream/field.def'

.PHONY: FORCE all test-programs bench-programs fuzz-programs fuzz deps deps-ci deps-build deps-check deps-deb \
	deps-fuzz deps-html deps-lint deps-plot html demo check check-arm check-posix check-fast check-gpu torture torture-short \
	torture-programs torture-sanitized torture-gpu bench bench-gpu bench-devices bench-ranks bench-pipes bench-formats bench-orbits \
	bench-papers bench-python bench-scaling lint man install uninstall dist distcheck deb check-deb wheel recipes fuzz-corpus \
	clean help

-include $(shell find $(sort $(BUILD) $(SIMD_BUILD) $(PROGRAMS) $(if $(ISAS_PLAIN),build/simd)) -name '*.d' 2>/dev/null)
