# SPDX-License-Identifier: Apache-2.0
ifeq ($(origin CC),default)
CC := gcc
endif
ONLY ?= $(patsubst src/%/,%,$(sort $(dir $(wildcard src/*/*.c src/*/*/*.c))))

WARN := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-qual -Wundef -Wvla \
	-Wswitch-enum -Wformat=2 -Wwrite-strings -Wnull-dereference -Wdouble-promotion
OPT ?= -O2 -g
CFLAGS = -std=c17 -D_GNU_SOURCE $(WARN) $(OPT) $(SAN) -Iinclude -Isrc -MMD -MP -pthread
LDFLAGS = $(SAN) -pthread
LDLIBS = -ldl -lm -lz -lcrypto -ljansson -luring

SRC := $(foreach d,$(ONLY),$(wildcard src/$(d)/*.c))
OBJ := $(SRC:%.c=$(BUILD)/%.o)
LIB := $(BUILD)/libsluice.a

# Kernels are built for the machine that builds them; NaN and infinity still behave.
KERNEL_FLAGS := -O3 -march=native -ffp-contract=fast -fopenmp-simd -fno-math-errno -fno-trapping-math
$(BUILD)/src/kernel/cpu/%.o: CFLAGS += $(KERNEL_FLAGS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c $< -o $@

$(LIB): $(OBJ)
	@rm -f $@
	ar rcs $@ $^

-include $(OBJ:.o=.d)
