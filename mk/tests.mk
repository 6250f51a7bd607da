# SPDX-License-Identifier: Apache-2.0
# Tests. A part (part-NAME) runs some programs through tools/run-tests and adds its counts to
# RESULTS; a check-target runs its parts and prints the sum as its last line.

HARNESS_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/harness/*.c))
# An archive, so that a program takes only the helpers it calls.
HARNESS := $(BUILD)/libharness.a
REPLAY_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/harness/replay/*.c))
UNIT_SRC := $(foreach d,$(ONLY),$(wildcard tests/unit/$(d)/test_*.c))
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
bins = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/$(1)/*.c))
CONFORM_BIN := $(call bins,conform)
MODEL_BIN := $(call bins,model)
FAULT_BIN := $(call bins,fault)
FUZZ_BIN := $(call bins,fuzz)
C_BIN := $(MODEL_BIN) $(FAULT_BIN) $(CONFORM_BIN) $(UNIT_BIN)
TOOLS_BIN := $(call bins,tools)
E2E := $(wildcard tests/e2e/*.sh tests/e2e/*.py)

# The CUDA back end on a driver of our own (tests/cuda): kernels are compiled for the host by g++,
# with the thread sanitizer's calls, which tests/cuda/emulate answers instead of its library.
CXX_FOUND := $(shell command -v $(CXX) 2>/dev/null)
CU_FLAGS := -std=c++17 -O2 -g -fPIC -Wall -Wextra -Werror -Wno-unknown-pragmas -fno-exceptions -fno-rtti \
	-fsanitize=thread,alignment -fno-tree-loop-distribute-patterns -fno-tree-vectorize -ffp-contract=off \
	-DSL_CUDA_EMULATE -Iinclude -Isrc -Itests -MMD -MP
CU_DIRS := src/kernel/cuda tests/cuda/samples
CU_OBJ := $(patsubst %,$(BUILD)/%.o,$(foreach d,$(CU_DIRS),$(if $(wildcard $(d)/entries.def),$(wildcard $(d)/*.cu))))
CUDA_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(foreach d,$(1),$(wildcard tests/cuda/$(d)/*.c)))
CUDA_BIN := $(if $(CXX_FOUND),$(call bins,cuda))
CUDA_DRIVER := $(BUILD)/tests/cuda/libcuda.so.1
$(BUILD)/.cu-flags: TEXT_OF = $(CXX) $(CU_FLAGS)
$(call CUDA_OBJ,emulate driver): CFLAGS += -fPIC -fvisibility=hidden
$(BUILD)/%.cu.o: %.cu tests/cuda/emulate/wrap.cpp $(BUILD)/.cu-flags
	@mkdir -p $(@D)
	$(call say,CU,$(CXX) $(CU_FLAGS) -DSL_CU='"$(patsubst src/%,%,$(<:tests/%=%))"' \
		-DSL_ENTRIES='"$(patsubst src/%,%,$(patsubst tests/%,%,$(dir $<)))entries.def"' -c tests/cuda/emulate/wrap.cpp -o $@)
$(CUDA_DRIVER): $(call CUDA_OBJ,emulate driver) $(CU_OBJ)
	$(call say,LD,$(CC) -shared -pthread -Wl$(comma)-soname$(comma)$(@F) -Wl$(comma)-z$(comma)defs -Wl$(comma)-z$(comma)nodelete -o $@ $^ -lm)
# The kernels' descriptors launch on the emulator, without a driver between.
CUDA_KERNEL_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/cuda/kernel/*.c src/kernel/cuda/*.c))
$(BUILD)/tests/cuda/test_kernels: $(BUILD)/tests/cuda/test_kernels.o $(CUDA_KERNEL_OBJ) $(HARNESS) $(LIB) $(CUDA_DRIVER)
	$(call say,LD,$(CC) $(LDFLAGS) -Wl$(comma)-rpath$(comma)'$$ORIGIN' -o $@ $^ -lcmocka $(LDLIBS))
$(filter-out %/test_kernels,$(CUDA_BIN)): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(call CUDA_OBJ,rig) $(HARNESS) $(LIB) $(CUDA_DRIVER)
	$(call say,LD,$(CC) $(LDFLAGS) -Wl$(comma)-rpath$(comma)'$$ORIGIN' -o $@ $^ -lcmocka $(LDLIBS))
-include $(CUDA_BIN:=.d) $(CU_OBJ:.o=.d) $(patsubst %.o,%.d,$(call CUDA_OBJ,emulate driver rig) $(CUDA_KERNEL_OBJ))

# Left out of check-fast, which is to take ten seconds.
SLOW := $(BUILD)/tests/unit/session/% $(BUILD)/tests/unit/model/zoo/% \
	$(BUILD)/tests/unit/kernel/cpu/test_dnnl_conv $(BUILD)/tests/unit/memory/test_engine
# Left out of the thread sanitizer's run: what starts no thread, and minutes of arithmetic in one.
TSAN_NOT := $(foreach d,op graph tensor memory/policy model/zoo,$(BUILD)/tests/unit/$(d)/%) \
	$(BUILD)/tests/unit/kernel/cpu/test_dnnl_conv $(BUILD)/tests/unit/session/test_virtual \
	$(BUILD)/tests/conform/plan_mutation \
	$(BUILD)/tests/conform/mem_policy $(foreach t,tiny_plans replay_price,$(BUILD)/tests/model/$(t))
# The slow ones begin, so that at the end no core waits for one of them.
FIRST := $(foreach d,model fault conform,$(BUILD)/tests/$(d)/%) $(SLOW)
slow_first = $(filter $(FIRST),$(1)) $(filter-out $(FIRST),$(1))

# Programs whose source calls one of the torture loops.
calls = $(filter $(C_BIN),$(patsubst %.c,$(BUILD)/%,$(shell grep -rlw --include=*.c \
	'$(1)' tests/unit tests/conform tests/model tests/fault 2>/dev/null)))

$(BUILD)/tests/%.o: CFLAGS += -Itests
$(HARNESS): $(HARNESS_OBJ)
	@rm -f $@
	$(call say,AR,ar rcs $@ $^)
$(C_BIN): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(HARNESS) $(LIB)
	$(call say,LD,$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS))
$(FUZZ_BIN): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(REPLAY_OBJ) $(LIB)
	$(call say,LD,$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS))
$(TOOLS_BIN): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(LIB)
	$(call say,LD,$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS))
-include $(TOOLS_BIN:=.d) $(C_BIN:=.d) $(FUZZ_BIN:=.d) $(HARNESS_OBJ:.o=.d) $(REPLAY_OBJ:.o=.d)

# While writing: the unit tests of the folders in ONLY, their output as it comes.
.PHONY: unit
unit: $(UNIT_BIN) ## unit tests with all their output; ONLY="base tensor" builds those alone
	@for t in $(UNIT_BIN); do echo "== $$t"; $$t || exit 1; done

RESULTS ?= $(BUILD)/results
JOBS ?= $(shell nproc)
# Above the harness's default: the machine may be busy.
export SL_TEST_TIMEOUT ?= 170
# Without its last setting gcc 12 loses track of thread-local blocks of opened libraries (oneDNN) and crashes.
export ASAN_OPTIONS ?= allocator_may_return_null=1:detect_stack_use_after_return=1:intercept_tls_get_addr=0
export UBSAN_OPTIONS ?= print_stacktrace=1:halt_on_error=1
export LSAN_OPTIONS ?= suppressions=tests/harness/lsan.supp:print_suppressions=0
export TSAN_OPTIONS ?= suppressions=tests/harness/tsan.supp:halt_on_error=1
run = @$(RUN) --results $(RESULTS) --logs $(BUILD)/logs --label $(1)
corpus = $(foreach b,$(FUZZ_BIN),"$(b) $(wildcard tests/fuzz/corpus/$(patsubst fuzz_%,%,$(notdir $(b))))")

PARTS := build lint tests unit fast fault e2e cuda gpu asan tsan san-unit oom oom-fs perf
.PHONY: $(PARTS:%=part-%)
part-build: all $(EXAMPLES)
part-lint:
	$(call run,lint) --jobs $(JOBS) $(LINTS)
part-tests: $(C_BIN) $(FUZZ_BIN)
	$(call run,test) --jobs $(JOBS) $(call slow_first,$(C_BIN)) $(corpus)
part-unit: $(UNIT_BIN)
	$(call run,unit) --jobs $(JOBS) $(UNIT_BIN)
part-fast: $(filter-out $(SLOW),$(UNIT_BIN))
	$(call run,unit) --jobs $(JOBS) $(filter-out $(SLOW),$(UNIT_BIN))
part-fault: $(FAULT_BIN)
	$(call run,fault) --jobs $(JOBS) $(FAULT_BIN)
part-e2e: all $(TOOLS_BIN)
	$(call run,e2e) --timeout 400 --env SLUICE=$(abspath $(BUILD))/sluice $(E2E)
# Devices' conformance is asked of the CUDA device too, under some delays.
CUDA_CONFORM := $(foreach s,0 1 2 3,"env SL_FAKE_SEED=$(s) $(BUILD)/tests/conform/device")
part-cuda: $(CUDA_BIN) $(BUILD)/tests/conform/device $(PLUGIN)
ifeq ($(CXX_FOUND),)
	@echo "SKIP cuda: $(CXX) is not installed"; echo "cuda 0 0 1" >> $(RESULTS)
else
	$(call run,cuda) --jobs $(JOBS) --env SLUICE_PLUGINS=$(abspath $(BUILD)) \
		--env SLUICE_CUDA_DRIVER=$(abspath $(CUDA_DRIVER)) $(CUDA_BIN) $(CUDA_CONFORM) \
		"tools/check-ptx $(BUILD)/cuda"
endif
# The same, and trainings, on the card of this machine.
part-gpu: all $(BUILD)/tests/conform/device
	$(call run,gpu) --timeout 1200 --env SLUICE_PLUGINS=$(abspath $(BUILD)) \
		--env SLUICE=$(abspath $(BUILD))/sluice $(BUILD)/tests/conform/device $(wildcard tests/gpu/*.sh)
part-acceptance: all $(TOOLS_BIN)
	$(call run,acceptance) --timeout 7200 --env SLUICE=$(abspath $(BUILD))/sluice \
		--env FULL=1 --env STEPS=20 --env KILLS=50 \
		tests/e2e/verify.sh tests/e2e/kill.py tests/e2e/storm.py $(wildcard tests/acceptance/*.sh tests/acceptance/*.py)
# Counts of instructions need kernels that valgrind can run, and that are the same on each machine.
COUNTS := $(BUILD)-count/tests/perf/counts
$(BUILD)/tests/perf/counts: $(BUILD)/tests/perf/counts.o $(HARNESS) $(LIB)
	$(call say,LD,$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS))
-include $(BUILD)/tests/perf/counts.d
.PHONY: counts perf-update
counts:
	@+$(MAKE) --no-print-directory BUILD=$(BUILD)-count MARCH=x86-64-v3 $(COUNTS)
perf-update: counts ## rewrite the counts of tests/perf/counts.txt; review the difference
	@COUNTS=$(abspath $(COUNTS)) tests/perf/counts.py --update
	@git --no-pager diff --stat -- tests/perf
part-perf: all counts $(TOOLS_BIN)
	$(call run,perf) --timeout 900 --env SLUICE=$(abspath $(BUILD))/sluice --env COUNTS=$(abspath $(COUNTS)) \
		$(wildcard tests/perf/*.sh tests/perf/*.py)
part-oom: $(C_BIN)
	$(call run,oom) --jobs $(JOBS) $(call calls,sl_torture)
part-oom-fs: $(C_BIN)
	$(call run,oom-fs) --jobs $(JOBS) $(call calls,sl_torture_fs)

# The same programs, compiled with the sanitizers into folders of their own. Line numbers are all
# the debugging information that reports need. Kernels stay at -O3: at -O1 they run four times as long.
SAN_OPT := OPT="-O1 -g1"
SAN_BIN := $(call slow_first,$(if $(filter tsan,$(LABEL)),$(filter-out $(TSAN_NOT),$(C_BIN)),$(C_BIN)))
SAN_FUZZ := $(if $(filter tsan,$(LABEL)),,$(FUZZ_BIN))
part-san-unit: $(SAN_BIN) $(SAN_FUZZ)
	$(call run,$(LABEL)) --jobs $(JOBS) --timeout 600 --env SL_TEST_TIMEOUT=590 \
		$(if $(PREFIX_RUN),--prefix "$(PREFIX_RUN)") $(SAN_BIN) $(if $(SAN_FUZZ),$(corpus))
part-asan:
	@+$(MAKE) --no-print-directory part-san-unit LABEL=asan BUILD=$(BUILD)-asan \
		RESULTS=$(abspath $(RESULTS)) $(SAN_OPT) \
		SAN="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
part-tsan: # without address randomisation, which the thread sanitizer of gcc 12 may refuse
	@+$(MAKE) --no-print-directory part-san-unit LABEL=tsan BUILD=$(BUILD)-tsan \
		RESULTS=$(abspath $(RESULTS)) $(SAN_OPT) SAN="-fsanitize=thread" \
		PREFIX_RUN="$$(setarch -R true 2>/dev/null && echo setarch -R)"

# Runs parts one after the other, whatever they say, and ends with the sum.
parts = @+mkdir -p $(BUILD); r=$(RESULTS).$@; rm -f $$r; for p in $(1); do \
	$(MAKE) --no-print-directory part-$$p RESULTS=$$r || { \
	echo "$$p 0 1 0" >> $$r; echo "FAIL $$p: does not build"; \
	[ $$p != build ] || break; }; done; $(RUN) --sum $$r

.PHONY: check check-fast check-asan check-tsan check-oom check-fault check-e2e check-perf \
	check-acceptance check-cuda check-gpu bench-gpu check-onnx
check: ## build, lint, every test, sanitizer runs; ends with "N passed, N failed"
	$(call parts,build lint tests cuda e2e asan tsan)
check-fast: ## the quick unit tests, ten seconds
	$(call parts,fast)
check-asan: ## all C tests under the address and undefined-behaviour sanitizers
	$(call parts,asan)
check-tsan: ## all C tests under the thread sanitizer
	$(call parts,tsan)
check-oom: ## tests in which allocation 1, 2, 3, ... fails
	$(call parts,oom)
check-fault: ## tests in which system calls, tiers and devices fail
	$(call parts,fault oom-fs)
check-e2e: ## the command line, end to end
	$(call parts,build e2e)
check-perf: ## performance limits, as ratios within one run, and counts of instructions
	$(call parts,build perf)

check-acceptance: ## the figures of a release: full sizes, memory, learning (an hour or two)
	$(call parts,build acceptance)

absent = @echo "$(1): this build has no such part yet"; echo "0 passed, 0 failed, 1 skipped"
check-cuda: ## the CUDA back end on a driver of our own, kernels and all
	$(call parts,cuda)
check-gpu: ## what needs a card; without one it counts as skipped
	$(call parts,gpu)
bench-gpu: ## timings on a card (no such part yet)
	$(call absent,GPU timings)
check-onnx: ## ONNX test vectors (no such part yet)
	$(call absent,ONNX)
