# SPDX-License-Identifier: Apache-2.0
# How a source becomes an object and the library.
ifeq ($(origin CC),default)
CC := gcc
endif
ONLY ?= $(patsubst src/%/,%,$(sort src/device/cuda/ $(dir $(wildcard src/*/*.c src/*/*/*.c))))

WARN := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-qual -Wundef -Wvla \
	-Wswitch-enum -Wformat=2 -Wwrite-strings -Wnull-dereference -Wdouble-promotion
OPT ?= -O2 -g
CFLAGS = -std=c17 -D_GNU_SOURCE $(WARN) $(OPT) $(SAN) -Iinclude -Isrc -MMD -MP -pthread
LDFLAGS = $(SAN) -pthread -Wl,--as-needed
LDLIBS = -ldl -lm -lz -lspng -lturbojpeg -lcrypto -luring

# Plug-ins are linked apart (mk/cuda.mk).
SRC := $(filter-out src/device/cuda/% src/kernel/cuda/%,$(foreach d,$(ONLY),$(wildcard src/$(d)/*.c)))
OBJ := $(SRC:%.c=$(BUILD)/%.o)
LIB := $(BUILD)/libsluice.a

# Kernels are built for the machine that builds them; NaN and infinity still behave.
MARCH ?= native
KERNEL_FLAGS := -O3 -march=$(MARCH) -ffp-contract=fast -fopenmp-simd -fno-math-errno \
	-fno-trapping-math -Wno-pass-failed
$(BUILD)/src/kernel/cpu/%.o: CFLAGS += $(KERNEL_FLAGS)

# V=1 shows the commands.
ifeq ($(V),1)
say = $(2)
else
say = @printf '  %-4s %s\n' '$(1)' '$@'; $(2)
endif

# Objects are built anew when the compiler or a flag changed, the library when a source went.
FLAGS_TEXT := $(CC) $(WARN) $(OPT) $(SAN)
.PHONY: force
$(BUILD)/.flags $(BUILD)/.kernel-flags $(BUILD)/.cu-flags $(BUILD)/.sources: force
	@mkdir -p $(@D)
	@echo '$(TEXT_OF)' | cmp -s - $@ || echo '$(TEXT_OF)' > $@
$(BUILD)/.flags: TEXT_OF = $(FLAGS_TEXT)
$(BUILD)/.kernel-flags: TEXT_OF = $(KERNEL_FLAGS)
$(BUILD)/.sources: TEXT_OF = $(SRC)
$(filter $(BUILD)/src/kernel/cpu/%,$(OBJ)): $(BUILD)/.kernel-flags

$(BUILD)/%.o: %.c $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC,$(CC) $(CFLAGS) -c $< -o $@)

$(LIB): $(OBJ) $(BUILD)/stamp.o $(BUILD)/.sources
	@rm -f $@
	$(call say,AR,ar rcs $@ $(OBJ) $(BUILD)/stamp.o)

-include $(OBJ:.o=.d)
