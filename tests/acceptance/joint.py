#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joint in virtual time: swaps and runs again together beside each by itself, on six models, six budgets and five
links (none, three of 12000, 3000 and 1000 FLOP a byte, one without end); more budget or a faster link never makes a
step longer; and G10's traces at its device, if their folder is there (TRACES, ../shared/data/traces).

Budgets lie between the least one and the unbudgeted peak. Middle cells: the four budgets and three links between the
extremes. A cell counts as better by a tenth where the step takes at most 0.9 of the better part's time; where the
table says so, by a tenth of the time over a step without a budget.

MODELS (with semicolons; empty: none) shortens a run, CSV=FILE writes the cells.
"""
import collections
import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SLUICE = os.environ.get("SLUICE", "build/sluice")
TRACES = os.environ.get("TRACES", os.path.join(HERE, "..", "..", "..", "shared", "data", "traces"))
PEAK_FLOPS = 14e12
SHARES = [10, 25, 40, 55, 70, 85]
LINKS = ["none"] + [str(int(PEAK_FLOPS / x)) for x in (12000, 3000, 1000)] + [str(10**15)]
PARTS = ["joint:redo=0", "joint:swap=0", "joint"]
MODELS = {
    "resnet18": (32, []), "unet": (4, []), "gpt2:layers=4,width=512": (8, ["--data", "synthetic:256"]),
    "densenet121": (8, []), "vgg16": (32, []), "lstm": (128, []),
}
GIB = 1 << 30
IDEAL = {"bert-256": 7285466083, "vit-1280": 3715951615}
FAILED = []


def say(ok, text):
    print("%s - %s" % ("ok" if ok else "not ok", text), flush=True)
    if not ok:
        FAILED.append(text)


def plan(words):
    """The last JSON line; None where the budget is not feasible."""
    done = subprocess.run([SLUICE, "plan", *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode not in (0, 3) or not rows:
        sys.exit("plan %s: %s" % (" ".join(words), done.stderr.strip()))
    return rows[-1] if rows[-1]["feasible"] else None


def record(folder, model):
    """Paths of the trace with a host tier and without one, the least budget and the peak."""
    batch, options = MODELS[model]
    path = os.path.join(folder, model.split(":")[0] + ".trace")
    row = plan([model, "--batch", str(batch), "--costs", "gpu", "--budget", "8TiB", "--host", "32TiB", "--disk", "none",
                "--policy", "keep", "--record", path, *options])
    bare = path.replace(".trace", ".bare.trace")
    with open(path, encoding="utf-8") as f, open(bare, "w", encoding="utf-8") as g:
        g.writelines(line for line in f if not line.startswith(("tier", "link")))
    return path, bare, row["bound_budget_bytes"], row["unbudgeted_peak_bytes"]


def cell(trace, share, link, policy):
    path, bare, least, peak = trace
    budget = (least + (peak - least) * share // 100) // 4096 * 4096
    if link == "none":
        return plan([bare, "--budget", str(budget), "--policy", policy, "--disk", "none"])
    return plan([path, "--budget", str(budget), "--policy", policy, "--link", link + "/s", "--duplex", "full"])


def grid(pool, folder):
    """Step times by (model, share, link, policy); absent where there is no plan."""
    models = [m for m in os.environ.get("MODELS", ";".join(MODELS)).split(";") if m]
    traces = {m: record(folder, m) for m in models}
    keys = [(m, s, k, p) for m in models for s in SHARES for k in LINKS for p in PARTS]
    rows = pool.map(lambda key: cell(traces[key[0]], *key[1:]), keys)
    return {key: row for key, row in zip(keys, rows) if row is not None}


def check_parts(rows):
    worse, middle, better, better_over = [], 0, 0, 0
    cells = sorted({key[:3] for key in rows})
    for c in cells:
        own = rows.get(c + ("joint",))
        parts = [rows[c + (p,)] for p in PARTS[:2] if c + (p,) in rows]
        least = min((r["iter_ns"] for r in parts), default=None)
        if least is not None and (own is None or own["iter_ns"] > least):
            worse.append(c)
        if own is None or c[1] in (SHARES[0], SHARES[-1]) or c[2] in (LINKS[0], LINKS[-1]) or least is None:
            continue
        base = own["base_iter_ns"]
        middle += 1
        better += own["iter_ns"] <= 0.9 * least
        better_over += own["iter_ns"] - base <= 0.9 * (least - base) and least > base
    say(not worse, "joint is no slower than swapping and recomputing alone in %d cells%s" % (len(cells), "".join(
        "; slower: %s %s %s" % c for c in worse)))
    print("   a tenth of the time over the step without a budget: %d of %d" % (better_over, middle))
    say(3 * better >= middle > 0, "a tenth faster than both in %d of %d middle cells" % (better, middle))


def check_monotone(rows):
    wrong = collections.Counter()
    lines = []
    for (m, s, k, p), row in rows.items():
        if p != "joint":
            continue
        for at, values, name in ((1, SHARES, "budget"), (2, LINKS, "link")):
            more = values[values.index((s, k)[at - 1]) + 1:][:1]
            key = (m, more[0] if at == 1 and more else s, more[0] if at == 2 and more else k, p)
            if not more:
                continue
            wrong[name + " pairs"] += 1
            if key not in rows or rows[key]["iter_ns"] > row["iter_ns"]:
                wrong[name] += 1
                lines.append("%s: %s %s to %s: %.5f times" % (name, m, (s, k), more[0], rows[key]["iter_ns"] /
                                                             row["iter_ns"] if key in rows else 0))
    for line in lines:
        print("   " + line)
    for name in ("budget", "link"):
        say(wrong[name] == 0, "more %s is never slower: %d of %d pairs are" % (name, wrong[name], wrong[name + " pairs"]))


def written(folder, name):
    """The trace in which each parameter is changed by the first op that reads it: no eviction is free."""
    path = os.path.join(folder, name + ".written.trace")
    text = subprocess.run([SLUICE, "convert", kernels(name), "--to", "trace", "--quiet"], stdout=subprocess.PIPE,
                          universal_newlines=True, check=True).stdout
    left, lines = set(), []
    for line in text.splitlines():
        words = line.split()
        if words[0] == "value" and "class=param" in words:
            left.add(words[1])
        if words[0] == "op":
            fields = dict(w.split("=", 1) for w in words[2:])
            lists = {k: [v for v in fields[k].split(",") if v != "-"] for k in ("in", "out", "mutates")}
            first = [v for v in lists["in"] if v in left]
            left -= set(first) | set(lists["out"]) | set(lists["mutates"])
            lists["in"] = [v for v in lists["in"] if v not in first]
            lists["mutates"] += first
            fields.update((k, ",".join(v) or "-") for k, v in lists.items())
            line = " ".join(words[:2] + ["%s=%s" % item for item in fields.items()])
        lines.append(line)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path


def kernels(name):
    return os.path.join(TRACES, "g10-%s.kernels.csv" % name)


def g10(path, gib, policy):
    return plan([path, "--budget", "%dGiB" % gib, "--policy", policy])


def check_g10(folder):
    if not os.path.isdir(TRACES):
        print("skip - no folder of G10's traces")
        return
    for name, policy, most, dirty in (("bert-256", "joint", 1.01, False), ("vit-1280", "joint", 1.10, False),
                                      ("vit-1280", "joint:redo=0", 1.10, False),
                                      ("vit-1280", "joint:redo=0", 1.20, True)):
        row = g10(written(folder, name) if dirty else kernels(name), 40, policy)
        ratio = row["iter_ns"] / IDEAL[name]
        say(ratio <= most, "%s %s%s in 40 GiB: %.4f of the bare time, at most %.2f" % (
            name, policy, " every eviction written" if dirty else "", ratio, most))
    for name in IDEAL:
        last = None
        for gib in (40, 32, 24, 16):
            row = g10(kernels(name), gib, "joint")
            share = row["swap_in_bytes"] / row["bound_in_bytes"]
            say(share <= 1.1, "%s in %d GiB: %.3f of the bound in bytes, %.4f of the bare time" % (
                name, gib, share, row["iter_ns"] / IDEAL[name]))
            say(last is None or row["iter_ns"] >= last, "%s in %d GiB takes no less than in more" % (name, gib))
            last = row["iter_ns"]


def main():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, \
            concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        check_g10(folder)
        rows = grid(pool, folder)
        if os.environ.get("CSV"):
            with open(os.environ["CSV"], "w", newline="", encoding="utf-8") as f:
                w = csv.writer(f)
                w.writerow(["model", "share", "link", "policy", "base_ns", "iter_ns"])
                w.writerows([*key, r["base_iter_ns"], r["iter_ns"]] for key, r in rows.items())
        if rows:
            check_parts(rows)
            check_monotone(rows)
    print("%d failed" % len(FAILED))
    sys.exit(1 if FAILED else 0)


main()
