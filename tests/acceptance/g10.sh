#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# G10's evaluation on all its traces and our models: each claim has to hold, and the default policy stays
# at 1.01 (bert-256) and 1.10 (vit-1280) of the kernels' time. Skips without ../shared/data/traces.
. "$(dirname "$0")/../e2e/lib.bash"

traces=../shared/data/traces
if [ ! -d "$traces" ]; then
	echo "skipped: no $traces"
	finish
	exit
fi
works "all of it" repro g10 --json --traces "$traces"
while IFS=$'\t' read -r holds text; do
	if [ "$holds" = True ]; then ok "$text"; else not_ok "$text"; fi
done < <(python3 - "$work/out" <<'P'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
for c in rows:
    if "claim" in c:
        print(c["holds"], "%s: %s" % (c["claim"], c["numbers"]), sep="\t")
ours = {r["subject"]: r["beside"] for r in rows if r.get("shape") == "traces"}
for name, bar in (("bert-256", 1.01), ("vit-1280", 1.10)):
    print(ours[name] <= bar, "default policy on %s: %.4f of at most %.2f" % (name, ours[name], bar), sep="\t")
P
)
finish
