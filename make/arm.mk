# For 64-bit ARM (ARM=1), by a cross compiler: static programs, which qemu runs without the libraries of that processor.
CROSS   ?= aarch64-linux-gnu-
OBJCOPY ?= objcopy
ifeq ($(ARM),1)
override CC := $(CROSS)gcc
override AR := $(CROSS)ar
OBJCOPY := $(CROSS)objcopy
LDFLAGS += -static -Wl,--wrap=dlopen
# gcc 12 breaks down while it makes vectors of a loop of a unit test
$(BUILD)/tests/unit/models/model.o: CFLAGS += -fno-tree-vectorize
endif
ARM_MISSING = $(strip $(foreach p,$(CROSS)gcc qemu-aarch64,$(if $(shell command -v $p),,$p)) \
	$(if $(filter /%,$(shell $(CROSS)gcc -print-file-name=libdeflate.a 2>/dev/null)),,libdeflate-dev:arm64))
ARM_PACKAGES = dpkg --add-architecture arm64; apt-get update; \
	apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross libdeflate-dev:arm64 qemu-user

# the programs for ARM, in qemu: tests/check-arm
check-arm:
	@$(if $(ARM_MISSING),echo 'ok check-arm # skip: no $(ARM_MISSING) ($(ARM_PACKAGES))'; exit 0;) \
		$(MAKE) $(ALL_CORES) ARM=1 all test-programs && \
		$(MAKE) $(ALL_CORES) CUDA=0 all && tests/check-arm
