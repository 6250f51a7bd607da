#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Matrix products and convolutions, GFLOP/s beside the machine's multiply-add peak of the same run;
# then kernels bound by memory, GB/s beside memcpy.
set -eu
build=$(dirname "${SLUICE:-build/sluice}")
make -s BUILD="$build" "$build/bench/gemm" "$build/bench/conv" "$build/bench/kernels"
"$build/bench/gemm"
"$build/bench/conv" "${BATCH:-8}"
"$build/bench/kernels"
