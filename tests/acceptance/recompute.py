#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputation alone, in virtual time: the time of a step over its time without a budget, at shares of the peak.

`dtr` is the bar: `joint` where there is one, else `tensile`, is at most as slow at every point where dtr works, works
where it does, and its overhead is at most 0.7 of dtr's in geometric mean; unet works at 30 %. U-Net's batch is 8: the
floor of its order of ops (weights and what conv2d_dx and conv2d_dw of the widest level hold together) is 0.30 at 6.

DTR_LOGS: a folder of operator logs (*.log, JSON lines) to take instead of our models' traces.
SIMRD: a folder with the package `simrd` of DTR's authors; with it our dtr in plain bytes is held to 1 % of theirs.
MODELS, RATIOS and POLICIES (comma separated) and OURS (one of them) shorten a run.
"""
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
from plain_trace import Plain  # noqa: E402

SLUICE = os.environ.get("SLUICE", "build/sluice")
BYTES = os.path.join(os.path.dirname(SLUICE), "tests", "tools", "dtr_bytes")
RATIOS = [int(x) for x in os.environ.get("RATIOS", "90,80,70,60,50,40,30,20").split(",")]
MODELS = {
    "resnet50": (32, []), "unet": (8, []), "densenet121": (32, []), "inceptionv4": (32, []),
    "gpt2": (16, ["--data", "synthetic:256"]), "lstm": (256, []),
}
FAILED = []


def say(ok, text):
    print("%s - %s" % ("ok" if ok else "not ok", text), flush=True)
    if not ok:
        FAILED.append(text)


def run(words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)


def plan(words):
    """The last JSON line; None where the budget is not feasible."""
    done = run([SLUICE, "plan", *words, "--disk", "none", "--json"])
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode == 3:
        return None
    if done.returncode != 0 or not rows:
        sys.exit("plan %s: %s" % (" ".join(words), done.stderr.strip()))
    return rows[-1] if rows[-1]["feasible"] else None


def record(folder, model):
    """The trace of a step without tiers, by the book of costs."""
    batch, options = MODELS[model]
    path = os.path.join(folder, model + ".trace")
    if plan([model, "--batch", str(batch), "--optim", "sgd", "--costs", "gpu", "--budget", "8TiB", "--host", "32TiB",
             "--policy", "keep", "--record", path, *options]) is None:
        sys.exit(model + " does not fit without a budget")
    with open(path, encoding="utf-8") as f:
        lines = [line for line in f if not line.startswith(("tier", "link"))]
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(lines)
    return path


def traces(folder):
    logs = sorted(glob.glob(os.path.join(os.environ.get("DTR_LOGS", "/nonexistent"), "*.log")))
    if not logs:
        names = os.environ.get("MODELS", ",".join(MODELS)).split(",")
        return {name: record(folder, name) for name in names}
    found = {}
    for log in logs:
        name = os.path.basename(log)[:-4]
        found[name] = os.path.join(folder, name + ".trace")
        done = run([SLUICE, "convert", log, "--from", "dtr", "-o", found[name]])
        if done.returncode != 0:
            sys.exit("convert %s: %s" % (log, done.stderr.strip()))
    return found


def overhead(path, policy, ratio):
    row = plan([path, "--policy", policy, "--budget", "%d%%" % ratio])
    return row["iter_ns"] / row["base_iter_ns"] if row else None


def table(paths, policies):
    cells = {}
    print("%-12s %-8s" % ("model", "policy") + "".join("%8d%%" % r for r in RATIOS))
    for name, path in paths.items():
        for policy in policies:
            for ratio in RATIOS:
                cells[name, policy, ratio] = overhead(path, policy, ratio)
            row = [cells[name, policy, r] for r in RATIOS]
            print("%-12s %-8s" % (name, policy) + "".join("%9.4f" % x if x else "%9s" % "no" for x in row), flush=True)
    return cells


def judge(cells, paths, ours):
    worse, logs = [], []
    for name in paths:
        for ratio in RATIOS:
            bar, mine = cells[name, "dtr", ratio], cells[name, ours, ratio]
            if bar and (mine is None or mine > bar):
                worse.append("%s %d%%: %s and not %.4f" % (name, ratio, "%.4f" % mine if mine else "nothing", bar))
            if bar and mine and bar > 1 and mine > 1:
                logs.append(math.log((mine - 1) / (bar - 1)))
    say(not worse, "%s is at most as slow as dtr at every point%s" % (ours, ": " + "; ".join(worse) if worse else ""))
    mean = math.exp(sum(logs) / len(logs)) if logs else 0
    say(bool(logs) and mean <= 0.7, "overhead over dtr's in geometric mean of %d points: %.3f (bar 0.7)" % (
        len(logs), mean))
    if ("unet", ours, 30) in cells:
        say(cells["unet", ours, 30] is not None, "unet works at 30 %")


def simulated(log, budgets_of):
    """What the authors' simulator says: {percent: overhead or None}."""
    from simrd.heuristic import DTR, Heuristic
    from simrd.parse import parse_file
    from simrd.runtime import RuntimeV1, RuntimeV2EagerOptimized
    from simrd.runtime.runtime import RematExceededError
    sys.setrecursionlimit(100000)
    with open(log, encoding="utf-8") as f:
        steps = parse_file(f, start=True).get_closure()
    whole = RuntimeV1(math.inf, Heuristic(), stats=False, trace=False)
    steps(whole)
    peak, base = (whole.telemetry.summary[x] for x in ("max_memory", "model_compute"))
    said = {}
    for percent in budgets_of:
        rt = RuntimeV2EagerOptimized(int(peak * percent / 100), DTR(), remat_limit=base, stats=False, trace=False)
        try:
            steps(rt)
            said[percent] = 1 + rt.telemetry.summary["remat_compute"] / base
        except (MemoryError, RematExceededError):
            said[percent] = None
    return said


def compare_with_simulator(folder, paths):
    if "SIMRD" not in os.environ:
        print("skipped: SIMRD is not set, so our dtr is not held to its authors' simulator")
        return
    sys.path.insert(0, os.environ["SIMRD"])
    worst, differ = 0, []
    for name, path in paths.items():
        plain, log = (os.path.join(folder, name + x) for x in (".plain.trace", ".plain.log"))
        with open(path, encoding="utf-8") as f, open(plain, "w", encoding="utf-8") as out:
            out.write(Plain(f.read()).text())
        if run([SLUICE, "convert", plain, "--to", "dtr", "-o", log]).returncode != 0:
            sys.exit("no log of " + name)
        theirs = simulated(log, RATIOS)
        for line in run([BYTES, plain, "0", *map(str, RATIOS)]).stdout.splitlines():
            percent, _, fits, mine = line.split()
            bar = theirs[int(percent)]
            if (bar is not None) != (fits == "1"):
                differ.append("%s %s%%: only one of them works" % (name, percent))
            elif bar:
                worst = max(worst, abs(float(mine) / bar - 1))
    say(not differ and worst <= 0.01, "dtr in plain bytes is within 1 %% of its authors' simulator: %.2f %%%s" % (
        100 * worst, "".join("; " + x for x in differ)))


def main():
    listed = run([SLUICE, "list", "policies"]).stdout
    ours = "joint" if any(line.startswith("joint ") for line in listed.splitlines()) else "tensile"
    ours = os.environ.get("OURS", ours)
    policies = os.environ.get("POLICIES", "dtr,chen,tensile").split(",")
    if ours not in policies:
        policies.append(ours)
    with tempfile.TemporaryDirectory() as folder:
        paths = traces(folder)
        cells = table(paths, policies)
        for one in [x for x in (ours, "tensile") if x in policies]:
            judge(cells, paths, one)
            if ours == "tensile":
                break
        compare_with_simulator(folder, paths)
    print("%d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
