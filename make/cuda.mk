# Kernels for NVIDIA GPUs (CUDA=1).
NVCC_OPT  ?= -O3 -g -lineinfo
NVCCFLAGS = -std=c++17 $(NVCC_OPT) -I. $(foreach a,$(CUDA_ARCHS),-gencode=arch=compute_$(a),code=sm_$(a)) \
            -gencode=arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX) -Xcompiler -Wall,-Wextra -DNB_CUDA=1 $(NVCC_SMALL)
# whose splines are those of the CPU to the last bit
$(BUILD)/kernels/mesh/paint_cuda.o: NVCC_OPT += -fmad=false
ifeq ($(CUDA),1)
# compressed kernels take a fifth of the space; drivers of CUDA 13 and later can read them
NVCC_RELEASE := $(shell $(NVCC) --version 2>/dev/null | sed -n 's/.*release \([0-9]*\).*/\1/p')
NVCC_SMALL ?= $(if $(filter 13 14 15,$(NVCC_RELEASE)),--compress-mode=size)
CPPFLAGS += -DNB_CUDA=1
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC))))
LDLIBS  += -L$(CUDA_HOME)/lib64 -lcudart_static -l:libstdc++.a -ldl -lrt -lpthread
endif
