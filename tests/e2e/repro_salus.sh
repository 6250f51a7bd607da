#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Salus's experiments in virtual time: figures that can be computed again, shapes, refusals.
. "$(dirname "$0")/lib.bash"

works "the quick tables" repro salus --quick --json -o "$work/tables.md"
python3 - "$work/out" <<'P' && ok "figures agree with each other" || not_ok "figures agree with each other"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
rows = [l for l in lines if "shape" in l]
claims = [l for l in lines if "claim" in l]
assert {r["shape"] for r in rows} == {"trace", "sweep", "packing", "rate", "beside"}, rows
at = {(r["subject"], r["figure"]): r for r in rows}
assert len(at) == len(rows)
jct = {p: at[p, "mean completion, min"] for p in ("fifo", "srtf", "pack", "fair")}
for p, r in jct.items():
    queue = at[p, "mean queue, min"]["ours"]
    assert 0 < queue < r["ours"] < at[p, "makespan, min"]["ours"], (p, r)
assert min(r["ours"] for r in jct.values()) == jct["srtf"]["ours"]
ratio = at["fifo / srtf", "mean completion"]
assert abs(ratio["ours"] - jct["fifo"]["ours"] / jct["srtf"]["ours"]) < 1e-3 and ratio["paper"] == 3.19
means = [r["ours"] for r in rows if r["shape"] == "rate" and r["figure"].startswith("mean")]
assert len(means) == 5 and means == sorted(means, reverse=True), means
for r in rows:
    if r["shape"] == "beside" and "percentile" in r["figure"]:
        assert r["ours"] < r["beside"], r
packing = [r["ours"] for r in rows if r["shape"] == "packing"]
assert packing[0] == 42 and packing[3] <= 14
assert len(claims) == 7 and all(c["holds"] for c in claims), claims
s = lines[-1]["summary"]
assert s["rows"] == len(rows) and s["claims"] == 7 and s["hold"] == 7
P
grep -q '^| srtf ' "$work/tables.md" && grep -q '^- \*\*holds\*\*' "$work/tables.md" &&
	ok "the same as Markdown" || not_ok "the same as Markdown"
salus=../shared/data/jobs/salus100.csv
if [ -e $salus ]; then
	works "the published trace" repro salus --quick --json --table $salus
	grep '"subject":"srtf","figure":"mean completion' "$work/out" | grep -q '"ours":49.9[67]' &&
		ok "srtf as published" || not_ok "srtf as published"
fi
printf 'submit_s,duration_s,persistent_mb,ephemeral_mb\n0,5,9000,9000\n' >"$work/large.csv"
refuses 3 "capacity" "a job above the device" repro salus --quick --table "$work/large.csv"
refuses 4 "none.csv" "a table that is not there" repro salus --table "$work/none.csv"
refuses 2 "salus" "a table for another paper" repro tensile --table "$work/large.csv"
finish
