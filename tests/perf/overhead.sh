#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The executor adds at most a microsecond to a node: bare kernels and the executor in turns, medians.
set -u
out=$(bash "$(dirname "$0")/../../bench/overhead.sh") || exit 1
echo "$out"
worst=$(echo "$out" | awk '$1 == "keep" || $1 == "belady" {print $4}' | sort -n | tail -n 1)
if [ -n "$worst" ] && [ "$worst" -le 1000 ]; then
	echo "1 passed, 0 failed"
else
	echo "FAILED: $worst ns a node, at most 1000"
	echo "0 passed, 1 failed"
	exit 1
fi
