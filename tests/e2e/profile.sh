#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Profiles from the command line: rows that add up, a timeline that parses, copies under a budget.
. "$(dirname "$0")/lib.bash"

# holds NAME CODE: python over the last output's JSON lines, `rows` and `total`.
holds()
{
	python3 - "$work/out" <<E2 && ok "$1" || not_ok "$1"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
total = lines[-1]["summary"]
rows = [line for line in lines[:-1] if "by" in line]
copies = [line for line in lines[:-1] if "from" in line]
assert all(line["schema"] == 1 for line in lines[:-1]) and total["schema"] == 1
$2
E2
}

for by in kernel op scope node; do
	works "lenet5 by $by" profile lenet5 --steps 3 --json --by $by --no-dropout
	holds "adds up" '
assert sum(r["ops"] for r in rows) == total["ops"] > 20
assert abs(sum(r["flops"] for r in rows) / total["flops"] - 1) < 1e-9
assert abs(sum(r["bytes"] for r in rows) / total["bytes"] - 1) < 1e-9
assert abs(sum(r["share"] for r in rows) - 1) < 1e-9
assert all(a["ms"] >= b["ms"] for a, b in zip(rows, rows[1:]))
assert total["mode"] == "train" and total["batch"] == 64 and total["steps"] == 3 and not copies
assert 0 < total["step_ms_min"] <= total["step_ms"] and 0 < total["op_ms"] <= total["step_ms"] * 1.5
assert total["peak_flops_per_s"] > 1e8 and total["peak_bytes_per_s"] > 1e7 and total["peak_fraction"] > 0'
done
holds "a row a node" 'assert len(rows) == total["ops"] and sorted(r["node"] for r in rows) == list(range(len(rows)))
assert all(r["kernel"] and r["op"] for r in rows)'
works "the longest alone" profile lenet5 --steps 2 --json --top 3
holds "are three" 'assert len(rows) == 3'
works "inference" profile lenet5 --infer --batch 5 --steps 2 --threads 1 --json
holds "has no optimizer" 'assert total["mode"] == "infer" and total["batch"] == 5 and total["threads"] == 1
assert not [r for r in rows if r["op"] == "adamw"] and [r for r in rows if r["op"] == "conv2d"]'
works "tokens" profile gpt2:layers=1,width=64,vocab=300,context=32 --infer --batch 2 --steps 2 --json
holds "too" 'assert total["mode"] == "infer" and total["flops"] > 0'

works "a budget" profile lenet5 --budget 60% --host 64MiB --disk none --policy belady --steps 3 --json \
	--trace "$work/trace.json"
holds "has its copies" '
assert {(c["from"], c["to"]) for c in copies} == {("device", "host"), ("host", "device")}
assert all(c["copies"] >= 1 and c["bytes"] >= 4096 and c["ms"] > 0 for c in copies)
assert 0 < total["peak_device_bytes"] <= total["budget_bytes"]'
python3 - "$work/trace.json" <<'E2' && ok "and a timeline" || not_ok "and a timeline"
import collections, json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
spans = collections.Counter(e["cat"] for e in events if e["ph"] == "X")
assert spans["step"] == 3 and spans["op"] % 3 == 0 and spans["op"] > 60
assert spans["out"] >= 3 and spans["in"] >= 3
tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
assert tracks[1] == "ops" and "copies device to host" in tracks.values()
assert all(e["tid"] in tracks for e in events)
steps = [e for e in events if e.get("cat") == "step"]
ops = [e for e in events if e.get("cat") == "op"]
inside = lambda o, s: s["ts"] - 1 <= o["ts"] and o["ts"] + o["dur"] <= s["ts"] + s["dur"] + 1
assert all(any(inside(o, s) for s in steps) for o in ops)
E2
works "a timeline alone" profile lenet5 --steps 1 --trace -
python3 -m json.tool "$work/out" >/dev/null && ok "is JSON" || not_ok "is JSON"
works "for people" profile lenet5 --steps 2 --quiet
grep -q "GFLOP/s" "$work/out" && ok "with rates" || not_ok "with rates"

refuses 2 "kernel, op, scope, node" "a grouping that is none" profile lenet5 --by colour
refuses 2 "virtual" "virtual time" profile lenet5 --device sim
refuses 2 "--steps" "epochs" profile lenet5 --epochs 2
refuses 2 "--save" "saving" profile lenet5 --save "$work/x"
refuses 2 "at most" "too many steps" profile lenet5 --steps 1000
refuses 6 "/nowhere" "a place that cannot be written to, at once" profile lenet5 --trace /nowhere/x.json
refuses 3 "" "a budget that is too small" profile lenet5 --budget 4096
finish
