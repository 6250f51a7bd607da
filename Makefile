# SPDX-License-Identifier: Apache-2.0
# Sluice: `make demo` runs the main job, `make check` passes the tests, `make help` lists the rest.

BUILD ?= build
include mk/flags.mk
include mk/tests.mk
