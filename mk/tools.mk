# SPDX-License-Identifier: Apache-2.0
# Lint, format, docs, fuzzing, coverage, timings.

LINTS := tools/check-layers tools/check-budgets tools/check-names tools/check-banned \
	tools/check-docs tools/check-format tools/check-tidy tools/check-cppcheck

.PHONY: lint format docs hooks stats golden-update cov fuzz-smoke fuzz-build bench bench-peers bench-virtual \
	bench-handover
lint: ## layers, budgets, names, banned functions, docs, format, clang-tidy, cppcheck
	$(call parts,lint)

format: ## clang-format over the tree
	@tools/check-format --fix

docs: all ## regenerate docs/reference from `sluice list`
	@tools/gen-docs $(BUILD)/sluice

hooks: ## use tools/hooks in this clone
	git config core.hooksPath tools/hooks

stats: ## lines a folder
	@tools/stats

golden-update: $(C_BIN) ## rewrite tests/golden; review the difference
	@SL_GOLDEN_UPDATE=1 $(RUN) --label golden --jobs 1 $(C_BIN)
	@git --no-pager diff --stat -- tests/golden

cov: ## line coverage of src/ by the C tests
	@+$(MAKE) --no-print-directory cov-run BUILD=$(BUILD)-cov OPT="-O0 -g" SAN=--coverage
.PHONY: cov-run
cov-run: $(C_BIN)
	@find $(BUILD) -name '*.gcda' -delete
	@$(RUN) --label cov --jobs $(JOBS) $(C_BIN)
	@tools/cov $(BUILD)

# libFuzzer: each target for FUZZ_SECONDS, starting from its corpus; finds stay in the folder.
FUZZ_SECONDS ?= 60
fuzz-smoke: ## each fuzz target for FUZZ_SECONDS (60) under clang's libFuzzer
	@+$(MAKE) --no-print-directory fuzz-build BUILD=$(BUILD)-fuzz CC=clang \
		OPT="-O1 -g -Wno-error" \
		SAN="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
	@tools/fuzz-smoke $(BUILD)-fuzz $(FUZZ_SECONDS)
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/bin/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz-build: $(FUZZERS)
$(FUZZERS): $(BUILD)/bin/%: $(BUILD)/tests/fuzz/%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$(CC) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS))

bench: all ## timings of this build, as ratios within one run
	@SLUICE=$(abspath $(BUILD))/sluice tools/bench $(filter-out bench/peers% bench/virtual%,$(BENCHES))
bench-peers: all ## the same beside PyTorch
	@SLUICE=$(abspath $(BUILD))/sluice tools/bench $(filter bench/peers%,$(BENCHES))
bench-handover: all ## from one shared job's turn to another's, beside two processes alone
	@SLUICE=$(abspath $(BUILD))/sluice bench/handover.sh
bench-virtual: all ## policies x models x budgets x links in virtual time, minutes (VIRTUAL="--csv FILE")
	@SLUICE=$(abspath $(BUILD))/sluice bench/virtual.py $(VIRTUAL)
BENCHES := $(wildcard bench/*.sh bench/*.py)
