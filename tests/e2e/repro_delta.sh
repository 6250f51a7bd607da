#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# DELTA's comparison: ways and batches in their order, drops on slow links and copies on fast ones.
. "$(dirname "$0")/lib.bash"

works "the quick tables" repro delta --quick --json -o "$work/tables.md"
python3 - "$work/out" <<'P' && ok "figures agree with each other" || not_ok "figures agree with each other"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
cells = {(l["shape"], l["subject"], l["figure"]): l for l in lines if "shape" in l}
claims = [l for l in lines if "claim" in l]
assert {k[0] for k in cells} == {"saved", "batch", "link"}
saved = {k[2]: v["ours"] for k, v in cells.items() if k[0] == "saved"}
batch = {k[2]: v["ours"] for k, v in cells.items() if k[0] == "batch"}
assert set(saved) == set(batch) == {"delta", "dtr", "swap only"}
for by in (saved, batch):
    assert by["delta"] >= 0.98 * max(by.values()), by
assert all(v["beside"] <= 1.3 for k, v in cells.items() if k[0] == "saved")
times = [v["beside"] for k, v in cells.items() if k[0] == "link"]
assert times[0] >= times[-1] and min(times) >= 1, times
assert len(claims) == 4 and all(c["holds"] for c in claims), claims
P
grep -q '^| resnet50, ' "$work/tables.md" && ok "as Markdown" || not_ok "as Markdown"
finish
