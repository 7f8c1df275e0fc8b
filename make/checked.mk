# Builds that check themselves: sanitizers (SAN=1), coverage (COV=1) and libFuzzer (FUZZ=1).
ifeq ($(SAN),1)
# What UBSan finds ends a program by SIGILL: what it could say, 10 MB, takes as long at each start as all else (gdb shows
# the line).  Fixed addresses save relocations.  Oracles are not under test.
OPT     = $(if $(filter %_ref.c,$<),-O3,-O1 -fno-omit-frame-pointer) -g1 -fno-pie
CFLAGS  += $(if $(filter %_ref.c,$<),,-fsanitize=address,undefined,float-cast-overflow -fsanitize-undefined-trap-on-error)
LDFLAGS += -fsanitize=address -no-pie
# With all checks gcc takes minutes for the walk; what these find, AddressSanitizer or the compiler finds too.
SIMD_OPT = -g1 -fno-sanitize=null,alignment,object-size,pointer-overflow --param asan-instrumentation-with-call-threshold=3000
# Where programs choose AVX-512, addresses are checked in its variant of the kernels, and in the plain one what is undefined.
CHOOSES_AVX512 := $(shell grep -m1 -o avx512vl /proc/cpuinfo)
SIMD_OPT_plain = $(if $(CHOOSES_AVX512),-fno-sanitize=address)
SIMD_OPT_avx512 = -fno-sanitize=undefined -fno-sanitize=float-cast-overflow
# What is left is as in the plain build.
ISAS_PLAIN = $(if $(CHOOSES_AVX512),avx2,avx512)
$(foreach i,$(ISAS_PLAIN),build/simd/%-$(i).o): %.c
	$(Q)$(MAKE) SAN=0 CUDA=0 $@
endif
# Without inlining, as a branch would be counted again in each place; the tests and the oracles are not counted.
ifeq ($(COV),1)
OPT     = $(if $(filter tests/% %_ref.c,$<),-O2 -g,-O1 -g -fno-inline --coverage -fprofile-update=atomic)
CPPFLAGS += -DNB_COVERAGE
WARN    += -Wno-maybe-uninitialized
LDFLAGS += --coverage
endif
# What libFuzzer feeds with its inputs: with clang and its OpenMP.  Warnings are gcc's business.
ifeq ($(FUZZ),1)
override CC = clang
WARN    = -w
OPT     = -O1 -g -fno-omit-frame-pointer
FUZZ_SAN = address,undefined,float-cast-overflow
# vectors as gcc has them, and so without sanitizers
SIMD_CC := gcc
SIMD_CFLAGS := $(CFLAGS)
CFLAGS  += -fsanitize=fuzzer-no-link,$(FUZZ_SAN) -fno-sanitize-recover=all
LDFLAGS := -fsanitize=fuzzer,$(FUZZ_SAN) -fopenmp
LDLIBS  := $(filter-out -l:libgomp.a,$(LDLIBS))
endif
