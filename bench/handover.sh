#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From one job's turn to another's, and the gate alone; the bars are printed with the figures.
set -eu
build=$(dirname "${SLUICE:-build/sluice}")
make -s BUILD="$build" "$build/bench/handover" "$build/sluiced"
"$build/bench/handover" "$build/sluiced"
