#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Figures of mimose, one task: no step without a plan, and plans by length ahead of one for all.
. "$(dirname "$0")/lib.bash"

works "one task" repro mimose --quick --json
python3 - "$work/out" <<'P' && ok "lengths find plans" || not_ok "lengths find plans"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
cells = {(l["shape"], l["figure"]): l for l in lines if "shape" in l}
claims = {l["claim"]: l["holds"] for l in lines if "claim" in l}
assert len(claims) == 6 and claims["no step runs out of memory"]
for name in ("mimose", "dtr", "ours"):
    assert cells["plans", name]["ours"] >= 0.98, name
    assert cells["throughput", name]["ours"] > 1, name
    assert cells["throughput", name]["beside"] >= 1, name
P
finish
