#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A paper's tables: two models, every cell within its limits, the shapes judged, refusals.
. "$(dirname "$0")/lib.bash"

works "the quick tables" repro tensile --quick --json -o "$work/tables.md"
python3 - "$work/out" <<'P' && ok "cells keep to their limits" || not_ok "cells keep to their limits"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
rows = [l for l in lines if "table" in l]
claims = [l for l in lines if "claim" in l]
assert {r["table"] for r in rows} == {"single", "copies", "batch"}, rows
assert {r["model"] for r in rows} == {"vgg16", "resnet50"}
for r in rows:
    assert 0 <= r["msr"] < 1 and -0.001 <= r["eor"] <= r["eor_limit"], r
    assert 0 < r["paper_msr"] < 1
    assert r["cold"] or 0 <= r["greedy_msr"] < 1
alone = {(r["model"], r["batch"]): r["msr"] for r in rows if r["table"] == "single"}
swept = {(r["model"], r["batch"]): r["msr"] for r in rows if r["table"] == "batch"}
assert all(swept[k] == v for k, v in alone.items())
assert alone["vgg16", 16] < alone["resnet50", 16]
assert swept["resnet50", 2] < swept["resnet50", 16]
assert len(claims) == 5 and all("of" in c["numbers"] for c in claims)
s = lines[-1]["summary"]
assert s["rows"] == len(rows) and s["claims"] == 5 and s["hold"] == sum(c["holds"] for c in claims)
assert s["hold"] >= 4, claims
P
grep -q '^| resnet50 ' "$work/tables.md" && grep -q '^- \*\*holds\*\*' "$work/tables.md" &&
	ok "the same as Markdown" || not_ok "the same as Markdown"
[ ! -s "$work/err" ] && ok "nothing else is said with --json" || not_ok "nothing else is said with --json"
works "jobs together" repro tensile --quick --jobs 2 --json
tail -n 1 "$work/out" | grep -q '"rows":1,"claims":1' && grep -q '"shape":"joint"' "$work/out" &&
	ok "one set, one budget" || not_ok "one set, one budget"
refuses 2 "2 or 3" "too many together" repro tensile --jobs 4
refuses 2 "there are those of" "another paper" repro nonesuch
refuses 2 "operand" "no paper" repro
refuses 6 "" "a file nowhere, before anything is planned" repro tensile -o "$work/none/there.md"
finish
