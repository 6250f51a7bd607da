#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/reference must be what the program prints: generated documentation is checked, not trusted.
if tools/gen-docs --check "${SLUICE:-build/sluice}"; then
	echo "1 passed, 0 failed"
else
	echo "0 passed, 1 failed"
	exit 1
fi
