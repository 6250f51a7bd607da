#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Plans are made in time: a first one for 1,000 ops in 50 ms, for 10,000 in 5 s, with all effort in 1 s;
# by the process's own time, as others use the machine too.
set -u
if out=$(bash "$(dirname "$0")/../../bench/planning.sh"); then
	echo "$out"
	echo "1 passed, 0 failed"
else
	echo "$out"
	echo "FAILED: a plan took longer than it may"
	echo "0 passed, 1 failed"
	exit 1
fi
