#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs: strace
# A job that has the device to itself: its gate makes no system call, and costs at most 5
# microseconds an iteration; between two jobs, the median hand-over takes at most 50.
. "$(dirname "$0")/../e2e/lib.bash"
build=$(dirname "$sluice")
make -s BUILD="$build" "$build/bench/handover" "$build/sluiced" || exit 1

# The job's own thread, between the two marks; its reader sleeps in one call meanwhile.
strace -f -o "$work/calls" "$build/bench/handover" "$build/sluiced" alone 100000 \
	>"$work/out" 2>"$work/err"
mark='close(-7'
calls=$(awk -v m="$mark" '
	index($0, m) { job = $1; on = !on; marks++; next }
	on && $1 == job && !/resumed>/ { n++; print "    " $0 > "/dev/stderr" }
	END { print marks == 2 ? n + 0 : "no marks" }' "$work/calls")
if [ "$calls" = 0 ]; then
	ok "100000 iterations alone make no system call"
else
	not_ok "100000 iterations alone make no system call ($calls)"
fi

if "$build/bench/handover" "$build/sluiced" >"$work/out" 2>"$work/err"; then
	ok "hand-overs and the gate keep to their bars"
else
	not_ok "hand-overs and the gate keep to their bars"
fi
cat "$work/out"
finish
