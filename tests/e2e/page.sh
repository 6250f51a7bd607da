#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A plan as a page, and all policies at all budgets as a table.
. "$(dirname "$0")/lib.bash"
model="convnet --batch 8 --link 200MB/s --disk-rate 200MB/s"

works "a page" plan $model --budget 40% --html "$work/page.html" --json
python3 - "$work/page.html" <<'P' && ok "drawings are well formed, nothing is fetched" || not_ok "drawings are well formed, nothing is fetched"
import re, sys
import xml.etree.ElementTree as tree
text = open(sys.argv[1], encoding="utf-8").read()
drawings = re.findall(r"<svg.*?</svg>", text, re.S)
assert len(drawings) == 4, len(drawings)
for drawing in drawings:
    tree.fromstring(drawing)
assert "<script" not in text and "http" not in text and "src=" not in text
assert "tensile" in text and "belady" in text and "nan" not in text
P
works "a page without a budget" plan $model --html "$work/free.html" --json
refuses 3 "budget" "a page of what does not fit" plan $model --budget 8KiB --html "$work/none.html"
refuses 6 "" "a page nowhere" plan $model --budget 40% --html "$work/no/there.html"

works "every policy at every budget" plan $model --pareto --policy all --json
python3 - "$work/out" <<'P' && ok "more budget is never slower, for each" || not_ok "more budget is never slower, for each"
import collections, json, sys
rows = collections.defaultdict(list)
for line in open(sys.argv[1]):
    cell = json.loads(line)
    rows[cell["policy"]].append(cell)
assert len({len(r) for r in rows.values()}) == 1 and len(rows) >= 5, rows.keys()
for cells in rows.values():
    cells.sort(key=lambda c: c["budget_bytes"])
    times = [c["iter_ns"] for c in cells if c["feasible"]]
    assert times == sorted(times, reverse=True)
P
works "and as a table" plan $model --pareto --policy all
grep -q '\*' "$work/out" && ok "the quickest is marked" || not_ok "the quickest is marked"
finish
