#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Policies in virtual time: at half the peak near the larger of compute and what has to move, where swapping alone
# can do it, and at half of what PyTorch's resident memory grows by (bench/torch_rss.csv); never slower than the
# baselines, on seven models, four budgets and five links; in no more time than theirs inside less than their peaks.
# DIR of traces of G10, if there is one: ../shared/data/traces.
. "$(dirname "$0")/../e2e/lib.bash"
export SLUICE=$sluice

# judge NAME FILE: the Python on standard input says nothing, or what is wrong.
judge()
{
	local said
	said=$(python3 - "$2" 2>&1)
	if [ -z "$said" ]; then ok "$1"; else not_ok "$1: $said"; fi
}

bench/virtual.py --csv "$work/cells.csv" --saved "$work/saved.csv" --quiet >"$work/out" 2>"$work/err" &&
	ok "every cell is planned" || not_ok "every cell is planned"
python3 - "$work/cells.csv" <<'P'
import csv, sys
every = list(csv.DictReader(open(sys.argv[1])))
for budget, name in (("50", "the peak"), ("torch", "PyTorch's growth of resident memory")):
    rows = [r for r in every if r["budget_percent"] == budget]
    ratios = sorted({int(r["flop_per_byte"]) for r in rows})
    print("EOR at half of %s, by FLOP a byte:" % name)
    print("  %-12s %9s %-9s" % ("model", "MiB", "policy") + "".join("%9d" % x for x in ratios))
    for model, policy in dict.fromkeys((r["model"], r["policy"]) for r in rows):
        mine = [r for r in rows if (r["model"], r["policy"]) == (model, policy)]
        eor = {int(r["flop_per_byte"]): r["eor"] for r in mine}
        size, peak = (int(mine[0][x]) for x in ("budget_bytes", "unbudgeted_peak_bytes"))
        print("  %-12s %9.1f %-9s" % (model, size / 2**20, policy) +
              "".join("%9.3f" % float(eor[x]) if eor[x] else "%9s" % "no" for x in ratios) +
              ("  holds the whole step" if size >= peak else ""))
P
judge "at both halves within 1.10 of the bound where swapping alone suffices" "$work/cells.csv" <<'P'
import csv, sys
for r in csv.DictReader(open(sys.argv[1])):
    half = r["budget_percent"] in ("50", "torch") and r["model"] in ("resnet50", "unet", "gpt2", "densenet121")
    suffices = float(r["bound_ns"]) <= float(r["base_ns"])
    if half and suffices and r["policy"] == "tensile" and float(r["ratio"]) > 1.1:
        print(r["model"], r["budget_percent"], r["flop_per_byte"], r["ratio"], end="; ")
P
judge "no extra time where half of PyTorch's growth holds the whole step" "$work/cells.csv" <<'P'
import csv, sys
rows = [r for r in csv.DictReader(open(sys.argv[1])) if r["budget_percent"] == "torch"]
for r in rows:
    if int(r["budget_bytes"]) >= int(r["unbudgeted_peak_bytes"]) and (r["eor"] == "" or float(r["eor"]) > 0):
        print(r["model"], r["flop_per_byte"], r["policy"], r["eor"], end="; ")
if len({r["model"] for r in rows}) < 4:
    print("only", len(rows), "cells")
P
for baseline in belady vdnn capuchin; do
	BASELINE=$baseline judge "never slower than $baseline" "$work/cells.csv" <<'P'
import csv, os, sys
cells = {}
for r in csv.DictReader(open(sys.argv[1])):
    if r["feasible"] == "1":
        cells.setdefault((r["model"], r["budget_percent"], r["flop_per_byte"]), {})[r["policy"]] = int(r["iter_ns"])
seen = 0
for key, by in cells.items():
    if os.environ["BASELINE"] not in by:
        continue
    seen += 1
    if by.get("tensile", 1 << 62) > by[os.environ["BASELINE"]]:
        print(*key, "%.4f times" % (by.get("tensile", 1 << 62) / by[os.environ["BASELINE"]]), end="; ")
if seen < 100:
    print("only", seen, "cells")
P
done

sed -n '/^saved of/,/^tensile saves/p' "$work/out"
judge "at equal time no baseline saves more" "$work/saved.csv" <<'P'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
for r in rows:
    if int(r["saved"]) < 0:
        print(*(r[x] for x in ("model", "budget_percent", "flop_per_byte", "baseline", "saved")), end="; ")
if len(rows) < 300 or len({r["model"] for r in rows}) < 6:
    print("only", len(rows), "cells")
P
judge "and tensile saves more wherever there is a choice" "$work/saved.csv" <<'P'
import csv, sys
for r in csv.DictReader(open(sys.argv[1])):
    if r["choice"] == "1" and int(r["saved"]) <= 0:
        print(*(r[x] for x in ("model", "budget_percent", "flop_per_byte", "baseline", "saved")), end="; ")
P

traces=../shared/data/traces
if [ -d "$traces" ]; then
	# The least bytes in of every swapping schedule, to three digits (GB, at 40 and 24 GiB).
	for want in bert-256:40:8.33 bert-256:24:25.51 vit-1280:40:18.68 vit-1280:24:35.86; do
		IFS=: read -r name gib bytes <<<"$want"
		run plan "$traces/g10-$name.kernels.csv" --budget "${gib}GiB" --policy belady --json
		got=$(field bound_in_bytes)
		[ "$code" = 0 ] && [ "$(awk -v g="$got" 'BEGIN {printf "%.2f", g / 1e9}')" = "$bytes" ] &&
			ok "$name in $gib GiB moves at least $bytes GB in" || not_ok "$name in $gib GiB: $got, not $bytes GB"
	done
fi
finish
