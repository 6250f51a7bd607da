#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Five hundred random graphs of at most twelve ops: the default policy takes the least time there is (an exhaustive
# search) in 95 % of them, and at most 1.05 x. Some minutes.
. "$(dirname "$0")/../e2e/lib.bash"
build=$(dirname "$sluice")
make -s BUILD="$build" "$build/tests/model/tiny_plans" || exit 1
name="the default policy equals the exhaustive search in 95 %, worst 1.05"
if SL_TEST_TIMEOUT=3600 SL_TINY_POLICY=joint SL_TINY_EQUAL=95 "$build/tests/model/tiny_plans" >"$work/out" 2>&1; then
	ok "$name"
else
	not_ok "$name"
fi
grep '^#' "$work/out"
finish
