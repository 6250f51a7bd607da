#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Address planning on the public hard instances: heights, times, refusals.

Usage: place.py PROGRAM FOLDER [FILE.csv ...]
FOLDER holds A.1048576.csv to F.1048576.csv, resnet50.csv and G_1.csv; further files are
tried at a capacity of 1048576, each in 15 s.
"""
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time

CAPACITY = 1048576
HARD = "ABCDEF"
failures = []


def expect(ok, text):
    print(("ok    " if ok else "FAIL  ") + text, flush=True)
    if not ok:
        failures.append(text)


def read(path):
    with open(path, newline="", encoding="ascii") as f:
        return [(r.get("id") or r.get("buffer"), int(r["lower"]), int(r["upper"]), int(r["size"]))
                for r in csv.DictReader(f)]


def write(path, rows):
    with open(path, "w", encoding="ascii") as f:
        f.write("id,lower,upper,size\n")
        for row in rows:
            f.write("%s,%d,%d,%d\n" % row)


def load_of(rows):
    times = sorted({r[1] for r in rows})
    return max(sum(r[3] for r in rows if r[1] <= t < r[2]) for t in times)


def sound(path, rows, capacity):
    """Pair by pair, from the file that was written."""
    with open(path, newline="", encoding="ascii") as f:
        at = {r["id"]: int(r["offset"]) for r in csv.DictReader(f)}
    if any(at[i] < 0 or at[i] + size > capacity for i, _, _, size in rows):
        return False
    rows = sorted(rows, key=lambda r: r[1])
    for k, (i, _, upper, size) in enumerate(rows):
        for j, lower, _, other in rows[k + 1:]:
            if lower >= upper:
                break
            if at[i] < at[j] + other and at[j] < at[i] + size:
                return False
    return True


def place(program, path, *options):
    start = time.monotonic()
    p = subprocess.run([program, "place", path, "--json", "--quiet", *options],
                       capture_output=True, text=True, timeout=120, check=False)
    seconds = time.monotonic() - start
    summary = json.loads(p.stdout.splitlines()[-1])["summary"] if p.stdout else {}
    return p.returncode, summary, seconds


def variants(rows):
    last = max(r[2] for r in rows)
    turned = [(i, last - upper, last - lower, size) for i, lower, upper, size in rows]
    for name, base in (("", rows), (" reversed", turned)):
        yield name, base
        for seed in (1, 2):
            shuffled = base[:]
            random.Random(seed).shuffle(shuffled)
            yield "%s shuffled %d" % (name, seed), [
                (str(k),) + r[1:] for k, r in enumerate(shuffled)]


def try_hard(program, path, name, folder):
    total = 0
    rows = read(path)
    capacity = 1039360 if name == "C" else CAPACITY
    table, out = os.path.join(folder, "in.csv"), os.path.join(folder, "out.csv")
    for what, given in variants(rows):
        write(table, given)
        rc, s, seconds = place(program, table, "--capacity", str(capacity), "-o", out)
        good = rc == 0 and sound(out, given, capacity)
        expect(good and seconds <= 15, "%s%s at %d: %s, %.2f s, %s nodes" % (
            name, what, capacity, "sound" if good else "not found", seconds, s.get("nodes")))
        total = seconds if what == "" else total
    rc, s, seconds = place(program, path, "--capacity", str(load_of(rows) - 1))
    expect(rc == 1 and "impossible" in s.get("reason", "") and seconds < 1,
           "%s below its load is refused in %.2f s" % (name, seconds))
    return total


def main():
    program, data = sys.argv[1:3]
    total, product = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name in HARD:
            path = os.path.join(data, name + ".1048576.csv")
            total += try_hard(program, path, name, folder)
            rc, s, seconds = place(program, path, "--fast")
            expect(rc == 0 and s["seconds"] <= 0.05,
                   "%s fast: %.3f x load in %.1f ms" % (name, s["ratio"], s["seconds"] * 1e3))
            product += math.log(s["ratio"])
        expect(total <= 42, "A to F: %.2f s in all" % total)
        expect(math.exp(product / 6) <= 1.10,
               "fast: %.3f x load in geometric mean" % math.exp(product / 6))
        for name in ("resnet50", "G_1"):
            rc, s, seconds = place(program, os.path.join(data, name + ".csv"))
            expect(rc == 0 and s["ratio"] <= 1.01 and seconds <= 2,
                   "%s: %.4f x load in %.2f s" % (name, s["ratio"], seconds))
        for path in sys.argv[3:]:
            try_hard(program, path, os.path.basename(path), folder)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
