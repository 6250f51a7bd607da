#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Matrix products and convolutions, GFLOP/s beside the machine's multiply-add peak of the same run.
set -eu
build=$(dirname "${SLUICE:-build/sluice}")
make -s BUILD="$build" "$build/bench/gemm" "$build/bench/conv"
"$build/bench/gemm"
"$build/bench/conv" "${BATCH:-8}"
