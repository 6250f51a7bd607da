#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Figures of autoswap and demand: every cell sound, the published shapes where they hold.
. "$(dirname "$0")/lib.bash"

works "autoswap's tables" repro autoswap --quick --json -o "$work/autoswap.md"
python3 - "$work/out" <<'P' && ok "addresses, peaks and times are possible" || not_ok "addresses, peaks and times are possible"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
cells = [l for l in lines if "shape" in l]
claims = {l["claim"]: l for l in lines if "claim" in l}
assert {c["shape"] for c in cells} == {"pool", "free", "limit"}
for c in cells:
    if c["figure"] == "height / load":
        assert 1 <= c["ours"] <= 1.01 and c["ours"] <= c["beside"], c
    if c["shape"] == "free":
        assert 0 <= c["ours"] < 1, c
    if c["shape"] == "limit" and c["ours"] is not None:
        assert c["ours"] >= -1e-9, c
assert len(claims) == 3
assert claims["swapping lowers the peak by a third without overhead (34.2 %)"]["holds"]
P
works "demand's tables" repro demand --json
python3 - "$work/out" <<'P' && ok "pipelines in their order" || not_ok "pipelines in their order"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
claims = [l for l in lines if "claim" in l]
cells = {(l["shape"], l["subject"], l["figure"]): l["ours"] for l in lines if "shape" in l}
assert len(claims) == 4 and all(c["holds"] for c in claims), claims
for model in ("resnet50", "densenet121", "inceptionv3", "inceptionv4", "mobilenetv2"):
    seq, sync = cells["delay", model, "seq"], cells["delay", model, "sync"]
    assert 0 <= sync < seq, model
    assert cells["memory", model, "sync"] < cells["memory", model, "async"], model
P
grep -q '^| resnet50 \|^| unet ' "$work/autoswap.md" && ok "as Markdown" || not_ok "as Markdown"
finish
