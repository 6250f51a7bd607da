#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shapes of TENSILE's tables on all its models (six minutes of a core): each has to hold. Warm beats cold
# where it saves no less in 12 of 15 cells, and more in the mean. Cells are searched for in steps of 1/64 of what
# can be saved (0.010 to 0.015 of MSR); one step is no difference there, nor from batch
# to batch, as no figure is known more finely.
. "$(dirname "$0")/../e2e/lib.bash"

works "all cells" repro tensile --json
while IFS=$'\t' read -r holds text; do
	if [ "$holds" = True ]; then ok "$text"; else not_ok "$text"; fi
done < <(python3 - "$work/out" <<'P'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
for c in rows:
    if "claim" in c:
        print(c["holds"], "%s: %s" % (c["claim"], c["numbers"]), sep="\t")
print(sum("table" in r for r in rows) == 58, "58 cells", sep="\t")
P
)
finish
