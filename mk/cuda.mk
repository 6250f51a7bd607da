# SPDX-License-Identifier: Apache-2.0
# The CUDA back end is a plug-in of its own, never part of the library.
# CUDA names a toolkit; where there is none, the plug-in is built all the same.
CUDA ?= /usr/local/cuda
CUDA_SRC := $(wildcard src/device/cuda/*.c src/kernel/cuda/*.c)

# A test compares our view of the driver's interface with the toolkit's.
ifneq ($(wildcard $(CUDA)/include/cuda.h),)
$(BUILD)/tests/unit/device/cuda/%.o: CFLAGS += -isystem $(CUDA)/include
endif
