# SPDX-License-Identifier: Apache-2.0
# The CUDA back end: a plug-in of its own, never part of the library, found at run time. It is
# built without CUDA's toolkit too. CUDA names one; NVCC= builds as if there were no compiler.
CUDA ?= /usr/local/cuda
# Code for cards comes with plain builds alone: no test runs it.
NVCC ?= $(if $(SAN),,$(wildcard $(CUDA)/bin/nvcc))
PLUGIN := $(BUILD)/libsluice_cuda.so
PLUGIN_SRC := $(wildcard src/device/cuda/*.c src/kernel/cuda/*.c)
# Pure functions of the library that the plug-in has copies of.
PLUGIN_COPIES := src/base/buf.c src/base/units.c src/device/device.c src/tensor/dtype.c src/tensor/shape.c
PLUGIN_OBJ := $(patsubst src/%.c,$(BUILD)/pic/%.o,$(PLUGIN_SRC) $(PLUGIN_COPIES)) \
	$(BUILD)/pic/image.o $(BUILD)/pic/stamp.o
PLUGIN_CU := $(wildcard src/kernel/cuda/*.cu)
PLUGIN_TEXTS := $(PLUGIN_CU) $(wildcard src/kernel/cuda/*.cuh src/kernel/cuda/*.h src/kernel/cuda/*.def)
PLUGIN_FATBINS := $(if $(NVCC),$(patsubst src/kernel/cuda/%.cu,$(BUILD)/cuda/%.fatbin,$(PLUGIN_CU)))

$(BUILD)/pic/%.o: PIC := -fPIC -fvisibility=hidden
$(BUILD)/pic/%.o: src/%.c $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC,$(CC) $(CFLAGS) $(PIC) -c $< -o $@)
$(BUILD)/pic/image.o: $(BUILD)/cuda/image.c $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC,$(CC) $(CFLAGS) $(PIC) -c $< -o $@)
$(BUILD)/cuda/image.c: tools/cuda-image $(PLUGIN_TEXTS) $(PLUGIN_FATBINS) $(BUILD)/.cuda-files
	@mkdir -p $(@D)
	$(call say,GEN,CC="$(CC)" tools/cuda-image $(if $(NVCC),$(BUILD)/cuda,none) > $@.tmp && mv $@.tmp $@)

# For the cards of each generation since Ampere, and as text for those to come.
NVCC_FLAGS := -std=c++17 -O3 -Isrc -gencode arch=compute_80,code=sm_80 \
	-gencode arch=compute_90,code=[sm_90,compute_90]
$(BUILD)/cuda/%.fatbin: src/kernel/cuda/%.cu src/kernel/cuda/args.h $(wildcard src/kernel/cuda/*.cuh)
	@mkdir -p $(@D)
	$(call say,NVCC,$(NVCC) $(NVCC_FLAGS) -Xptxas -v -fatbin -o $@ $< 2> $(@:.fatbin=.log) || { cat $(@:.fatbin=.log); exit 1; })

# A program and a plug-in know each other by a sum over what they share.
STAMP_TEXTS := $(sort $(wildcard include/sluice/* $(foreach d,base device device/cuda graph kernel \
	tensor,src/$(d)/*.h src/$(d)/*.def)))
$(BUILD)/stamp.c: $(STAMP_TEXTS) $(BUILD)/.cuda-files
	@mkdir -p $(@D)
	@printf '#include "device/plugin.h"\nconst uint32_t sl_plugin_stamp = %su;\n' \
		"$$(cat $(STAMP_TEXTS) | cksum | cut -d' ' -f1)" > $@
$(BUILD)/stamp.o: $(BUILD)/stamp.c $(BUILD)/.flags
	@$(CC) $(CFLAGS) -c $< -o $@
$(BUILD)/pic/stamp.o: $(BUILD)/stamp.c $(BUILD)/.flags
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(PIC) -c $< -o $@
$(BUILD)/.cuda-files: TEXT_OF = $(PLUGIN_TEXTS) $(STAMP_TEXTS) $(PLUGIN_OBJ) $(NVCC)
$(BUILD)/.cuda-files: force
	@mkdir -p $(@D)
	@echo '$(TEXT_OF)' | cmp -s - $@ || echo '$(TEXT_OF)' > $@

# Symbols that are nowhere are found now; with a sanitizer they come from its runtime.
$(PLUGIN): $(PLUGIN_OBJ) $(BUILD)/.cuda-files
	$(call say,LD,$(CC) $(LDFLAGS) -shared $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ $(PLUGIN_OBJ) -ldl -lm)
comma := ,

-include $(PLUGIN_OBJ:.o=.d) $(BUILD)/stamp.d

# A test compares our view of the driver's interface with the toolkit's.
# NVRTC needs no card.
$(BUILD)/tests/unit/device/cuda/test_nvrtc: $(addprefix $(BUILD)/pic/,image.o \
	device/cuda/cache.o device/cuda/library.o device/cuda/nvrtc.o)
ifneq ($(wildcard $(CUDA)/include/cuda.h),)
$(BUILD)/tests/unit/device/cuda/%.o: CFLAGS += -isystem $(CUDA)/include
endif
