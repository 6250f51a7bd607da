# SPDX-License-Identifier: Apache-2.0
# Debian packages, installed by name before anything is built; the table is tools/packages.
# Nothing happens when all are there. NEED=0 skips the look.

NEED_NOT := help clean stats format hooks uninstall
NEED_GROUPS := build
ifneq ($(filter lint check format part-lint,$(MAKECMDGOALS)),)
NEED_GROUPS += lint
endif
ifneq ($(filter fuzz-smoke,$(MAKECMDGOALS)),)
NEED_GROUPS += fuzz
endif
ifneq ($(filter bench-peers,$(MAKECMDGOALS)),)
NEED_GROUPS += torch
endif

NEED ?= 1
ifeq ($(NEED),1)
ifneq ($(filter-out $(NEED_NOT),$(or $(MAKECMDGOALS),all)),)
ifneq ($(shell tools/need $(NEED_GROUPS) >&2 && echo yes),yes)
$(error packages are missing, see above; NEED=0 goes on without them)
endif
endif
endif
# Sub-makes need not look again.
export NEED := 0
