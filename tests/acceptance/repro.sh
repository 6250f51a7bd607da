#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shapes of TENSILE's tables on all its models (three minutes of a core): each has to hold.
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
