#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How long plans take: a first one for 1,000 and for 10,000 ops, and one with all effort.
set -eu
build=$(dirname "${SLUICE:-build/sluice}")
make -s BUILD="$build" "$build/bench/planning"
echo "load of this machine: $(cut -d ' ' -f 1-3 /proc/loadavg), cores: $(nproc)"
"$build/bench/planning"
