# SPDX-License-Identifier: Apache-2.0
# Sluice: `make demo` runs the main job, `make check` passes the tests, `make help` lists the rest.

BUILD ?= build
RUN := tools/run-tests

# As many jobs as cores, unless the caller said how many.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

.DEFAULT_GOAL := all
.SUFFIXES:
.SECONDARY:
.DELETE_ON_ERROR:

include mk/packages.mk
include mk/flags.mk
include mk/programs.mk
include mk/cuda.mk
include mk/tests.mk
include mk/tools.mk

.PHONY: all demo train-text install uninstall clean help

all: $(PROGRAMS) $(PLUGIN) ## build build/libsluice.a and the programs
	@tools/stats --brief

# The main job: the same model with and without the budget, every bit compared.
demo: all ## the main job, under four minutes: a hard budget, and three jobs on one device
	@if [ -x examples/demo.sh ]; then SLUICE=$(BUILD)/sluice examples/demo.sh; \
	else echo "examples/demo.sh is missing"; exit 1; fi

# Debian's King James Bible as one text file.
TEXT := $(BUILD)/data/bible.txt
$(TEXT):
	@mkdir -p $(@D)
	@bible -f Gen1:1-Rev22:21 > $@.tmp && mv $@.tmp $@

# Twelve to twenty minutes on two cores; bits per byte of the whole held-out tenth fall to 2.13.
TEXT_STEPS ?= 4500
train-text: all $(TEXT) ## train a small GPT on the King James text (TEXT_STEPS=4500)
	$(BUILD)/sluice train gpt2:layers=4,width=256,dropout=0.05 --data text:$(TEXT) \
		--batch 8 --steps $(TEXT_STEPS) --lr 0.002 --schedule cosine --warmup 50 --clip 1 \
		--eval --save $(BUILD)/text.safetensors

PREFIX ?= /usr/local
install: all ## install programs, library, headers, manual and completion under PREFIX (/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib \
		$(DESTDIR)$(PREFIX)/include/sluice
	install -m 755 $(filter-out $(LIB),$(PROGRAMS)) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(LIB) $(DESTDIR)$(PREFIX)/lib
	install -d $(DESTDIR)$(PREFIX)/lib/sluice
	install -m 755 $(PLUGIN) $(DESTDIR)$(PREFIX)/lib/sluice
	install -m 644 include/sluice/* $(DESTDIR)$(PREFIX)/include/sluice
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/share/sluice
	sed 's|/usr/local|$(PREFIX)|' etc/sluiced.service > \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/sluiced.service
	install -m 644 etc/sluiced.socket $(DESTDIR)$(PREFIX)/lib/systemd/system
	install -m 644 etc/sluiced.conf $(DESTDIR)$(PREFIX)/share/sluice
	$(BUILD)/sluice help --man > $(DESTDIR)$(PREFIX)/share/man/man1/sluice.1
	$(BUILD)/sluice help --completion > \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/sluice

uninstall: ## remove what install put there
	rm -f $(patsubst $(BUILD)/%,$(DESTDIR)$(PREFIX)/bin/%,$(filter-out $(LIB),$(PROGRAMS)))
	rm -f $(DESTDIR)$(PREFIX)/lib/libsluice.a
	rm -rf $(DESTDIR)$(PREFIX)/include/sluice $(DESTDIR)$(PREFIX)/lib/sluice
	rm -f $(DESTDIR)$(PREFIX)/lib/systemd/system/sluiced.service \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/sluiced.socket
	rm -rf $(DESTDIR)$(PREFIX)/share/sluice
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/sluice.1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/sluice

clean: ## remove the build folders
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-cov $(BUILD)-count

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' Makefile mk/*.mk | \
		sed -E 's/^([a-z0-9-]+):.*## (.*)/  \1|\2/' | \
		awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'
