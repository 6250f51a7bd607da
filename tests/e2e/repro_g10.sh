#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# G10's evaluation on our models, and on its traces where they are.
. "$(dirname "$0")/lib.bash"

works "a model of ours" repro g10 --quick --json
python3 - "$work/out" <<'P' && ok "its figures and claims" || not_ok "its figures and claims"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
rows = [l for l in lines if "shape" in l]
assert {r["shape"] for r in rows} == {"models"}, rows
assert all(r["ours"] >= 1 and r["beside"] <= r["ours"] and r["paper"] is None for r in rows), rows
assert [c["holds"] for c in lines if "claim" in c] == [True, True], lines
P
traces=../shared/data/traces
if [ -d "$traces" ]; then
	works "a trace of its own" repro g10 --quick --json --traces "$traces"
	python3 - "$work/out" <<'P' && ok "as published" || not_ok "as published"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
ours = {r["figure"]: r for r in lines if r.get("shape") == "traces"}
assert abs(ours["G10"]["ours"] / ours["G10"]["paper"] - 1) < 0.01, ours
assert ours["DeepUM+"]["ours"] is None and ours["DeepUM+"]["paper"] > 1.2
bytes = [r for r in lines if r.get("shape") == "bytes"][0]
assert 8.332 < bytes["beside"] <= bytes["ours"] < bytes["paper"], bytes
assert all(c["holds"] for c in lines if "claim" in c), lines
P
else
	echo "skipped: no $traces"
fi
refuses 4 "cannot open" "a folder without traces" repro g10 --quick --traces "$work"
refuses 2 "g10's traces" "traces for another paper" repro salus --traces "$work"
finish
