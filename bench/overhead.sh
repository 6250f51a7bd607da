#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the executor adds to a node, in nanoseconds; the bar is 1000.
set -eu
build=$(dirname "${SLUICE:-build/sluice}")
make -s BUILD="$build" "$build/bench/overhead"
"$build/bench/overhead"
