# SPDX-License-Identifier: Apache-2.0
# The programs: cli/ becomes build/sluice, daemon/ build/sluiced, where they exist.

PROGRAMS := $(LIB)
ifneq ($(wildcard cli/main.c),)
PROGRAMS += $(BUILD)/sluice
endif
ifneq ($(wildcard daemon/main.c),)
PROGRAMS += $(BUILD)/sluiced
endif

CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c))
DAEMON_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard daemon/*.c))

$(BUILD)/sluice: $(CLI_OBJ) $(LIB)
	$(call say,LD,$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS))

$(BUILD)/sluiced: $(DAEMON_OBJ) $(LIB)
	$(call say,LD,$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS))

-include $(CLI_OBJ:.o=.d) $(DAEMON_OBJ:.o=.d)

# Small programs that see the public headers alone.
EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(wildcard examples/*.c))
.PHONY: examples
examples: $(EXAMPLES) ## build the programs of examples/
$(BUILD)/examples/%.o: CFLAGS := $(filter-out -Isrc,$(CFLAGS))
$(EXAMPLES): $(BUILD)/%: $(BUILD)/%.o $(LIB)
	$(call say,LD,$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS))
-include $(EXAMPLES:=.d)

# Timings of single kernels (bench/kernels.sh); they too are built for this machine.
BENCH_COMMON := $(BUILD)/bench/measure.o
$(BUILD)/bench/%.o: CFLAGS += $(KERNEL_FLAGS)
$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BENCH_COMMON) $(LIB)
	$(call say,LD,$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS))
-include $(wildcard $(BUILD)/bench/*.d)
