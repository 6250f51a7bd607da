#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory policies side by side in virtual time: models x budgets x links, on the `gpu` cost book.

    bench/virtual.py [--models resnet50,...] [--budgets 75,50,torch,35,25] [--ratios 20,...] [--csv FILE]

Budgets are percents of the unbudgeted peak; `torch` is half of what PyTorch's resident memory grows by in the
same step (torch_rss.csv, for the models that it has). Where that holds our whole step, the row says so.

A ratio is peak FLOP per byte of the link: 20 is a CPU with its memory, 12000 a card of today. The link is half
duplex to a host tier that holds everything. Each model's trace is recorded once; all else is planning.
With --saved also what is saved at equal time: for each baseline's cell the least budget, on a grid of 32 between
the least one and the unbudgeted peak, at which tensile takes no more time, and its peak beside the baseline's.

Columns: EOR, extra time over a step without a budget; MSR, memory saved; bound, the larger of compute and of
what swapping alone has to move; ratio, step time over the bound.
"""
import argparse
import collections
import concurrent.futures
import csv
import functools
import json
import os
import subprocess
import sys
import tempfile

PEAK_FLOPS = 14e12
SAVED_LEVELS = 32
POLICIES = ["belady", "vdnn", "capuchin", "tensile"]
MODELS = {
    "resnet50": (16, []), "unet": (2, []), "gpt2": (4, ["--data", "synthetic:256"]), "densenet121": (8, []),
    "vgg16": (8, []), "convnet": (64, []), "resnet18": (8, []),
}
FIELDS = ["model", "batch", "budget_percent", "flop_per_byte", "policy", "feasible", "budget_bytes", "peak_bytes",
          "unbudgeted_peak_bytes",
          "base_ns", "iter_ns", "bound_ns", "swap_bytes", "bound_bytes", "recompute_ns", "plan_ms", "eor", "msr",
          "ratio"]
sluice = os.environ.get("SLUICE", "build/sluice")


def plan(args):
    """The last JSON line; None where the budget is not feasible or the policy is not there."""
    run = subprocess.run([sluice, "plan"] + args + ["--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         universal_newlines=True, check=False)
    rows = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    if run.returncode not in (0, 3) or not rows:
        sys.exit("plan %s: %s" % (" ".join(args), run.stderr.strip()))
    return rows[-1]


def record(folder, model):
    batch, options = MODELS[model]
    path = os.path.join(folder, model + ".trace")
    row = plan([model, "--batch", str(batch), "--costs", "gpu", "--budget", "1TiB", "--host", "4TiB", "--disk", "none",
                "--policy", "keep", "--record", path] + options)
    return path, row["unbudgeted_peak_bytes"]


def torch_halves():
    """By model, half of PyTorch's growth in bytes."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_rss.csv"), encoding="utf-8") as f:
        rows = csv.DictReader(line for line in f if not line.startswith("#"))
        return {r["model"]: int(r["growth_bytes"]) // 2 for r in rows if int(r["batch"]) == MODELS[r["model"]][0]}


def budget_of(name, peak, half):
    return max((half if name == "torch" else peak * int(name) // 100) // 4096 * 4096, 4096)


def share(name):
    return name + (" %" if name.isdigit() else "")


def policies_there():
    run = subprocess.run([sluice, "list", "policies"], stdout=subprocess.PIPE, universal_newlines=True, check=True)
    names = [line.split()[0] for line in run.stdout.splitlines() if line.strip() and not line.startswith(" ")]
    for name in POLICIES:
        if name not in names:
            print("note: this build has no policy %s; left out" % name, file=sys.stderr)
    return [name for name in POLICIES if name in names]


def cell(path, model, budget, percent, ratio, policy):
    rate = int(PEAK_FLOPS / ratio)
    # Belady's plan is a candidate of tensile: beside it the search stands alone, or nothing
    # could ever be slower.
    given = "tensile:simple=0" if policy == "tensile" else policy
    r = plan([path, "--budget", str(budget), "--policy", given, "--link", "%d/s" % rate, "--duplex", "half"])
    base, step = r["base_iter_ns"], r["iter_ns"]
    fits = r["feasible"]
    return {
        "model": model, "batch": MODELS[model][0], "budget_percent": percent, "flop_per_byte": ratio,
        "policy": policy, "feasible": int(fits), "budget_bytes": budget, "peak_bytes": r["peak_bytes"],
        "unbudgeted_peak_bytes": r["unbudgeted_peak_bytes"],
        "base_ns": base, "iter_ns": step, "bound_ns": r["bound_ns"],
        "swap_bytes": r["swap_in_bytes"] + r["swap_out_bytes"], "bound_bytes": r["bound_bytes"],
        "recompute_ns": r["recompute_ns"], "plan_ms": round(r["plan_ns"] / 1e6, 1),
        "eor": round(step / base - 1, 4) if fits else "", "ratio": round(step / r["bound_ns"], 4) if fits else "",
        "msr": round(1 - r["peak_bytes"] / r["unbudgeted_peak_bytes"], 4) if fits else "",
    }


def show(row):
    fits = row["feasible"]
    print("%-11s %5s %6d  %-8s %8s %6s %9s %9s %8.1f %8.1f %7s%s" % (
        row["model"], share(row["budget_percent"]), row["flop_per_byte"], row["policy"],
        "%.3f" % row["eor"] if fits else "no", "%.3f" % row["msr"] if fits else "-",
        "%.1f" % (row["swap_bytes"] / 2**20) if fits else "-", "%.1f" % (row["bound_bytes"] / 2**20),
        row["recompute_ns"] / 1e6, row["bound_ns"] / 1e6, "%.3f" % row["ratio"] if fits else "-",
        "  holds the whole step" if row["budget_bytes"] >= row["unbudgeted_peak_bytes"] else ""))


@functools.lru_cache(maxsize=None)
def at_budget(path, budget, ratio):
    """Time and peak of what tensile's search finds by itself; None where nothing works."""
    r = plan([path, "--budget", str(budget), "--policy", "tensile:simple=0", "--link",
              "%d/s" % int(PEAK_FLOPS / ratio), "--duplex", "half"])
    return (r["iter_ns"], r["peak_bytes"]) if r["feasible"] else None


def peak_at_equal_time(path, least, row):
    """The peak of tensile's plan for the least budget at which its iteration takes no more time than the row's; None:
    it takes more even with the row's own peak. Budgets are a grid that all rows share; bisection may miss one."""
    span = row["unbudgeted_peak_bytes"] - least
    grid = [(least + span * i // SAVED_LEVELS) // 4096 * 4096 for i in range(SAVED_LEVELS + 1)]
    grid = [b for b in grid if least <= b < row["peak_bytes"]] + [(row["peak_bytes"] + 4095) // 4096 * 4096]
    low, high, best = 0, len(grid) - 1, None
    while low <= high:
        at = high if best is None else (low + high) // 2
        found = at_budget(path, grid[at], row["flop_per_byte"])
        if found and found[0] <= row["iter_ns"]:
            best, high = found[1], at - 1
        elif best is None:
            return None
        else:
            low = at + 1
    return best


def saved_at_equal_time(pool, traces, rows):
    """A row for each cell of each baseline: by how much tensile's peak is lower, in no more time."""
    baselines = [r for r in rows if r["policy"] != "tensile" and r["feasible"]]
    least = {m: plan([path, "--budget", "100%", "--policy", "belady"])["least_budget_bytes"]
             for m, (path, _) in traces.items()}
    peaks = pool.map(lambda r: peak_at_equal_time(traces[r["model"]][0], least[r["model"]], r), baselines)
    # A choice: the baseline waits or recomputes, or holds more than the least there is.
    return [{"model": r["model"], "budget_percent": r["budget_percent"], "flop_per_byte": r["flop_per_byte"],
             "baseline": r["policy"], "baseline_peak": r["peak_bytes"], "peak": "" if peak is None else peak,
             "saved": -1 if peak is None else r["peak_bytes"] - peak,
             "choice": int(r["iter_ns"] > r["base_ns"] or r["peak_bytes"] > least[r["model"]])}
            for r, peak in zip(baselines, peaks)]


def show_saved(saved):
    """A line a model, budget and baseline: what is saved of the baseline's peak, in percent, by FLOP a byte."""
    ratios = sorted({r["flop_per_byte"] for r in saved})
    print("saved of the baseline's peak at no more time, percent, by FLOP a byte:")
    print("  %-11s %5s %-9s" % ("model", "of", "baseline") + "".join("%7d" % x for x in ratios))
    for key in dict.fromkeys((r["model"], r["budget_percent"], r["baseline"]) for r in saved):
        by = {r["flop_per_byte"]: r for r in saved if (r["model"], r["budget_percent"], r["baseline"]) == key}
        cells = ["%7s" % "-" if x not in by else "%7s" % "slower" if by[x]["saved"] < 0 else
                 "%7.1f" % (100 * by[x]["saved"] / by[x]["baseline_peak"]) for x in ratios]
        print("  %-11s %5s %-9s" % (key[0], share(key[1]), key[2]) + "".join(cells))
    ones = [r for r in saved if r["choice"]]
    print("tensile saves no less in %d of %d cells, more in %d of the %d with a choice" % (
        sum(r["saved"] >= 0 for r in saved), len(saved), sum(r["saved"] > 0 for r in ones), len(ones)))


def summary(rows):
    """Counts by baseline, and the cells where tensile is slower or far from a bound that compute hides."""
    cells = collections.defaultdict(dict)
    for r in rows:
        cells[r["model"], r["budget_percent"], r["flop_per_byte"]][r["policy"]] = r
    out = {"cells": 0, "worst_ratio": 0, "slower": [], "far": []}
    for name in POLICIES[:-1]:
        out[name] = {"at_most": 0, "of": 0, "infeasible": 0, "faster": 0}
    for key, by in sorted(cells.items()):
        ours = by.get("tensile")
        if ours is None or not ours["feasible"]:
            continue
        out["cells"] += 1
        # Swapping alone may suffice where its bytes fit beside the compute.
        if ours["bound_ns"] <= ours["base_ns"]:
            out["worst_ratio"] = max(out["worst_ratio"], ours["ratio"])
            if ours["ratio"] > 1.1:
                out["far"].append(key + (ours["ratio"],))
        for name in POLICIES[:-1]:
            other = by.get(name)
            if other is None:
                continue
            if not other["feasible"]:
                out[name]["infeasible"] += 1
                continue
            out[name]["of"] += 1
            out[name]["at_most"] += ours["iter_ns"] <= other["iter_ns"]
            out[name]["faster"] += ours["iter_ns"] < other["iter_ns"]
            if ours["iter_ns"] > other["iter_ns"]:
                out["slower"].append(key + (name, round(ours["iter_ns"] / other["iter_ns"], 4)))
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--models", default=",".join(MODELS))
    p.add_argument("--budgets", default="75,50,torch,35,25")
    p.add_argument("--ratios", default="20,200,1000,3000,12000")
    p.add_argument("--csv")
    p.add_argument("--saved", metavar="FILE", help="what is saved at equal time, as CSV")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--quiet", action="store_true", help="the summary alone")
    args = p.parse_args()
    names = policies_there()
    halves = torch_halves()
    rows = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        traces = {m: record(folder, m) for m in args.models.split(",")}
        cells = [(m, b) for m in traces for b in args.budgets.split(",") if b != "torch" or m in halves]
        todo = [pool.submit(cell, traces[m][0], m, budget_of(b, traces[m][1], halves.get(m)), b, int(r), policy)
                for m, b in cells for r in args.ratios.split(",") for policy in names]
        if not args.quiet:
            print("%-11s %5s %6s  %-8s %8s %6s %9s %9s %8s %8s %7s" % (
                "model", "of", "F/B", "policy", "EOR", "MSR", "MiB", "bound MiB", "again ms", "bound ms", "ratio"))
        for job in todo:
            rows.append(job.result())
            if not args.quiet:
                show(rows[-1])
        saved = saved_at_equal_time(pool, traces, rows) if args.saved else []
    if args.saved:
        show_saved(saved)
        with open(args.saved, "w", newline="", encoding="utf-8") as f:
            w = csv.DictWriter(f, list(saved[0]))
            w.writeheader()
            w.writerows(saved)
    if args.csv:
        with open(args.csv, "w", newline="") as f:
            w = csv.DictWriter(f, FIELDS)
            w.writeheader()
            w.writerows(rows)
    s = summary(rows)
    for name in POLICIES[:-1]:
        if name in names:
            print("tensile against %s: at most as slow in %d of %d cells, faster in %d; %s fits %d fewer" % (
                name, s[name]["at_most"], s[name]["of"], s[name]["faster"], name, s[name]["infeasible"]))
    for c in s["slower"]:
        print("  slower: %s at %s, %d FLOP a byte, than %s: %.4f times" % (c[0], share(c[1]), *c[2:]))
    print("worst step over the bound where the bytes fit beside compute: %.3f" % s["worst_ratio"])
    for c in s["far"]:
        print("  above 1.1: %s at %s, %d FLOP a byte: %.3f" % (c[0], share(c[1]), *c[2:]))
    print(json.dumps({"summary": s}))


main()
