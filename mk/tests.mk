# SPDX-License-Identifier: Apache-2.0
HARNESS_SRC := $(wildcard tests/harness/*.c)
HARNESS_OBJ := $(HARNESS_SRC:%.c=$(BUILD)/%.o)
# An archive, so that a test links only what it uses (evaluate.c needs graph and op).
HARNESS := $(BUILD)/libharness.a
UNIT_SRC := $(foreach d,$(ONLY),$(wildcard tests/unit/$(d)/test_*.c))
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)

$(BUILD)/tests/%.o: CFLAGS += -Itests
$(HARNESS): $(HARNESS_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(HARNESS) $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

.PHONY: unit
unit: $(UNIT_BIN)
	@for t in $(UNIT_BIN); do echo "== $$t"; $$t || exit 1; done
-include $(UNIT_BIN:=.d)
