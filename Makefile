# nb: N-body gravity as a chain of Unix filters.  `make help` lists the targets.
#
# One word adds a part:
#   TOOLS    x: tools/x.c, man/x.1, tests/x.bats
#   KERNELS  x: whichever exist of kernels/x.c, kernels/x_ref.c, kernels/x_cpu.c, kernels/x_simd.c
#               (compiled once per instruction set, see common/cpu.h) and kernels/x_cuda.cu
#   FORMATS  x: formats/x.c        COMMON  x: common/x.c
TOOLS   = nb-gen nb-convert nb-sort-zorder nb-build-tree nb-force nb-step nb-stats nb-render-ppm
KERNELS = gravity_direct gravity_near morton sort tree tree_walk tree_check boxes model step diagnostics splat backend
FORMATS = field frame stream require ppm
COMMON  = status die mem timer cpu parse options space

# ---- configuration -------------------------------------------------------------------------------
PREFIX  ?= /usr/local
DESTDIR ?=
NVCC    ?= nvcc
CUDA    ?= $(if $(shell command -v $(NVCC) 2>/dev/null),1,0)
CUDA_ARCHS ?= 90
CUDA_PTX   ?= 75
SAN     ?= 0

CONFIG  = $(if $(filter 1,$(SAN)),san,$(if $(filter 1,$(CUDA)),cuda,cpu))
BUILD   = build/$(CONFIG)
ifeq ($(SAN),1)
override CUDA = 0
endif

VERSION = 0.1.0
WARN    = -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes
OPT     = -O3 -g
CPPFLAGS += -I. -D_GNU_SOURCE -DNB_VERSION='"$(VERSION)"'
CFLAGS  += -std=c17 $(WARN) $(OPT) -fopenmp -ffp-contract=off -fno-math-errno -fno-trapping-math
LDFLAGS += -fopenmp
LDLIBS  += -l:libdeflate.a -lm
ifeq ($(SAN),1)
OPT     = -O1 -g -fno-omit-frame-pointer
CFLAGS  += -fsanitize=address,undefined -fno-sanitize-recover=all
LDFLAGS += -fsanitize=address,undefined
endif
ISA_plain  =
ISA_avx2   = -mavx2 -mfma -mprefer-vector-width=256 -ffp-contract=fast
ISA_avx512 = -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma -mprefer-vector-width=512 -ffp-contract=fast
ISAS    = $(if $(filter x86_64,$(shell uname -m)),plain avx2 avx512,plain)

NVCCFLAGS = -std=c++17 -O3 -g -lineinfo -I. $(foreach a,$(CUDA_ARCHS),-gencode=arch=compute_$(a),code=sm_$(a)) \
            -gencode=arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX) -Xcompiler -Wall,-Wextra -DNB_CUDA=1
ifeq ($(CUDA),1)
CPPFLAGS += -DNB_CUDA=1
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC))))
LDLIBS  += -L$(CUDA_HOME)/lib64 -lcudart_static -l:libstdc++.a -ldl -lrt -lpthread
endif

# ---- objects -------------------------------------------------------------------------------------
KERNEL_C    = $(foreach k,$(KERNELS),$(wildcard kernels/$(k).c kernels/$(k)_ref.c kernels/$(k)_cpu.c))
KERNEL_SIMD = $(foreach k,$(KERNELS),$(wildcard kernels/$(k)_simd.c))
KERNEL_CU   = $(if $(filter 1,$(CUDA)),$(foreach k,$(KERNELS),$(wildcard kernels/$(k)_cuda.cu)))
LIB_C       = $(COMMON:%=common/%.c) $(FORMATS:%=formats/%.c) $(KERNEL_C)
LIB_O       = $(LIB_C:%.c=$(BUILD)/%.o) $(KERNEL_CU:%.cu=$(BUILD)/%.o) \
              $(foreach i,$(ISAS),$(KERNEL_SIMD:%.c=$(BUILD)/%-$(i).o))
LIB         = $(BUILD)/libnb.a
BINS        = $(TOOLS:%=$(BUILD)/bin/%)

.PHONY: all clean
.DELETE_ON_ERROR:
all: $(BINS)

$(LIB): $(LIB_O)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/bin/%: $(BUILD)/tools/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

define simd_rule
$(BUILD)/%-$(1).o: %.c
	@mkdir -p $$(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(ISA_$(1)) -DNB_ISA_NAME=$(1) -DNB_ISA_$(1)=1 -MMD -MP -c -o $$@ $$<
endef
$(foreach i,plain avx2 avx512,$(eval $(call simd_rule,$(i))))

$(BUILD)/%.o: %.cu
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# test and benchmark programs: tests/unit_x.c, tests/bench/x.c
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

clean:
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
