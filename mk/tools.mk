# SPDX-License-Identifier: Apache-2.0
# Lint, format, docs, fuzzing, coverage, timings.

LINTS := tools/check-layers tools/check-budgets tools/check-names tools/check-banned \
	tools/check-docs tools/check-format tools/check-tidy tools/check-cppcheck

.PHONY: lint format docs hooks stats golden-update cov fuzz-smoke fuzz-build bench bench-peers bench-kernels \
	bench-virtual bench-handover peers
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

# Both take ROWS="gpt2 resnet50", ROUNDS, THREADS and QUICK=1 (bench/rows.py).
bench: all $(BUILD)/bench/loop ## steps of whole models: time, share of the peak, bytes (ROWS="gpt2 mlp" QUICK=1)
	@SLUICE=$(abspath $(BUILD))/sluice bench/table.py $(if $(JSON),--json)
bench-peers: all $(BUILD)/bench/loop ## the same beside PyTorch and ONNX Runtime of PEERS (`make peers` installs them)
	@SLUICE=$(abspath $(BUILD))/sluice PEERS=$(PEERS) bench/peers.py $(if $(JSON),--json)
PEERS ?= $(HOME)/.cache/sluice/peers
peers: ## install PyTorch and ONNX Runtime into PEERS (~/.cache/sluice/peers), some GB
	@bench/peers/install.sh $(PEERS)
bench-kernels: all ## timings of single kernels, the executor, planning
	@SLUICE=$(abspath $(BUILD))/sluice tools/bench $(KERNEL_BENCHES)
bench-handover: all ## from one shared job's turn to another's, beside two processes alone
	@SLUICE=$(abspath $(BUILD))/sluice bench/handover.sh
bench-virtual: all ## policies x models x budgets x links in virtual time, minutes (VIRTUAL="--csv FILE")
	@SLUICE=$(abspath $(BUILD))/sluice bench/virtual.py $(VIRTUAL)
KERNEL_BENCHES := $(wildcard bench/*.sh)
